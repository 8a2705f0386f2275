from tirscript.script import tir as T

# --- before ---


@T.prim_func
def matmul(
    A: T.Buffer(("m", "k"), "float32"),
    B: T.Buffer(("k", "n"), "float32"),
    C: T.Buffer(("m", "n"), "float32"),
):
    for i, p, j in T.grid(m, k, n):
        with T.block("matmul"):
            vi, vp, vj = T.axis.remap("SRS", [i, p, j])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vp] * B[vp, vj]


# --- after lowered ---


@T.prim_func
def matmul(
    A: T.Buffer(("m", "k"), "float32"),
    B: T.Buffer(("k", "n"), "float32"),
    C: T.Buffer(("m", "n"), "float32"),
):
    A_1 = T.decl_buffer((m * k,), "float32", data=A.data)
    B_1 = T.decl_buffer((k * n,), "float32", data=B.data)
    C_1 = T.decl_buffer((m * n,), "float32", data=C.data)
    for i in range(m):
        if k <= 0:
            for j in range(n):
                C_1[i * n + j] = 0.0
        for p, j in T.grid(k, n):
            if p == 0:
                C_1[i * n + j] = 0.0
            C_1[i * n + j] = C_1[i * n + j] + A_1[i * k + p] * B_1[p * n + j]
