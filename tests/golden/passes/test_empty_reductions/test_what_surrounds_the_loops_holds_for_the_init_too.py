from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer(("m", "n"), "int32"), B: T.Buffer(("m",), "int32")):
    for k, i in T.grid(n, m):
        if i % 2 == 0:
            with T.block("B"):
                vk, vi = T.axis.remap("RS", [k, i])
                with T.init():
                    B[vi] = 1
                B[vi] = B[vi] * A[vi, vk]


# --- after lower_init_block ---


@T.prim_func
def f(A: T.Buffer(("m", "n"), "int32"), B: T.Buffer(("m",), "int32")):
    if n <= 0:
        for i in range(m):
            if i % 2 == 0:
                with T.block("B_init"):
                    vi = T.axis.spatial(m, i)
                    B[vi] = 1
    for k, i in T.grid(n, m):
        if i % 2 == 0:
            with T.block("B"):
                vk, vi = T.axis.remap("RS", [k, i])
                if vk == 0:
                    B[vi] = 1
                B[vi] = B[vi] * A[vi, vk]
