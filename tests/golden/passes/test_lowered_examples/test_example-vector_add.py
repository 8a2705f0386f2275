from tirscript.script import tir as T

# --- before ---


@T.prim_func
def vector_add(
    A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")
):
    # `n` is bound by A at the call, and checked against B and C
    for i in range(n):
        C[i] = A[i] + B[i]


# --- after lowered ---


@T.prim_func
def vector_add(
    A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "float32")
):
    # `n` is bound by A at the call, and checked against B and C
    for i in range(n):
        C[i] = A[i] + B[i]
