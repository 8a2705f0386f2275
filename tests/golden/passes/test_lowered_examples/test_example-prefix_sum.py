from tirscript.script import tir as T

# --- before ---


@T.prim_func
def prefix_sum(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "int32")):
    total: T.int32 = 0  # assigned again below, so it is a mutable scalar
    for i in range(n):
        total = total + A[i]
        B[i] = total


# --- after lowered ---


@T.prim_func
def prefix_sum(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "int32")):
    total: T.int32 = 0  # assigned again below, so it is a mutable scalar
    for i in range(n):
        total = total + A[i]
        B[i] = total
