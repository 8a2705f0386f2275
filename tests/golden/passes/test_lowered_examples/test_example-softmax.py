from tirscript.script import tir as T

# --- before ---


@T.prim_func
def softmax(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m", "n"), "float32")):
    for i in range(m):
        # the greatest element of the row, so that exp cannot overflow
        top: T.float32 = -3.4028235e38
        for j in range(n):
            top = T.max(top, A[i, j])

        total: T.float32 = 0.0
        for j in range(n):
            B[i, j] = T.exp(A[i, j] - top)
            total = total + B[i, j]

        for j in range(n):
            B[i, j] = B[i, j] / total


# --- after lowered ---


@T.prim_func
def softmax(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("m", "n"), "float32")):
    A_1 = T.decl_buffer((m * n,), "float32", data=A.data)
    B_1 = T.decl_buffer((m * n,), "float32", data=B.data)
    for i in range(m):
        # the greatest element of the row, so that exp cannot overflow
        top: T.float32 = -3.4028235e38
        for j in range(n):
            top = T.max(top, A_1[i * n + j])

        total: T.float32 = 0.0
        for j in range(n):
            B_1[i * n + j] = T.exp(A_1[i * n + j] - top)
            total = total + B_1[i * n + j]

        for j in range(n):
            B_1[i * n + j] = B_1[i * n + j] / total
