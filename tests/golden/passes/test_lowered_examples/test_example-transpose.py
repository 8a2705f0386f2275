from tirscript.script import tir as T

# --- before ---


@T.prim_func
def transpose(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    for i, j in T.grid(n, m):
        with T.block("transpose"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


# --- after lowered ---


@T.prim_func
def transpose(A: T.Buffer(("m", "n"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    A_1 = T.decl_buffer((m * n,), "float32", data=A.data)
    B_1 = T.decl_buffer((n * m,), "float32", data=B.data)
    for i, j in T.grid(n, m):
        B_1[i * m + j] = A_1[j * n + i]
