from tirscript.script import tir as T

# --- before ---


@T.prim_func
def stencil(
    rod: T.Buffer(("n",), "float64"),
    tolerance: T.float64,
    limit: T.int32,
    steps: T.Buffer((1,), "int32"),
):
    next = T.alloc_buffer((n,), "float64")
    step: T.int32 = 0
    change: T.float64 = tolerance + 1.0
    while change > tolerance and step < limit:
        # the ends are held
        for i in range(1, n - 1):
            next[i] = (rod[i - 1] + 2.0 * rod[i] + rod[i + 1]) / 4.0
        change = 0.0
        for i in range(1, n - 1):
            change = T.max(change, T.abs(next[i] - rod[i]))
            rod[i] = next[i]
        step = step + 1
    steps[0] = step


# --- after lowered ---


@T.prim_func
def stencil(
    rod: T.Buffer(("n",), "float64"),
    tolerance: T.float64,
    limit: T.int32,
    steps: T.Buffer((1,), "int32"),
):
    step: T.int32 = 0
    change: T.float64 = tolerance + 1.0
    while change > tolerance and step < limit:
        next = T.alloc_buffer((n,), "float64")
        # the ends are held
        for i in range(1, n - 1):
            next[i] = (rod[i - 1] + 2.0 * rod[i] + rod[i + 1]) / 4.0
        change = 0.0
        for i in range(1, n - 1):
            change = T.max(change, T.abs(next[i] - rod[i]))
            rod[i] = next[i]
        step = step + 1
    steps[0] = step
