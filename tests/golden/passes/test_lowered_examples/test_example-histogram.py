from tirscript.script import tir as T

# --- before ---


@T.prim_func
def histogram(A: T.Buffer(("n",), "int32"), counts: T.Buffer(("bins",), "int32")):
    for b in range(bins):
        counts[b] = 0
    for i in range(n):
        value = A[i]
        if 0 <= value and T.cast(value, "int64") < bins:
            counts[value] = counts[value] + 1


# --- after lowered ---


@T.prim_func
def histogram(A: T.Buffer(("n",), "int32"), counts: T.Buffer(("bins",), "int32")):
    for b in range(bins):
        counts[b] = 0
    for i in range(n):
        value = A[i]
        if 0 <= value and T.cast(value, "int64") < bins:
            counts[value] = counts[value] + 1
