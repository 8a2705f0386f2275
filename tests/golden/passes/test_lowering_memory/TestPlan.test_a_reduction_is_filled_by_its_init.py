from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for io in range(2):
        for ii, k in T.grid(4, 8):
            with T.block("B"):
                vi = T.axis.spatial(8, io * 4 + ii)
                vk = T.axis.reduce(8, k)
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
        for ii in range(4):
            C[io * 4 + ii] = B[io * 4 + ii]


# --- after plan_buffer_allocation ---


@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for io in range(2):
        B = T.alloc_buffer((8,), "float32")
        for ii, k in T.grid(4, 8):
            with T.block("B"):
                vi = T.axis.spatial(8, io * 4 + ii)
                vk = T.axis.reduce(8, k)
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
        for ii in range(4):
            C[io * 4 + ii] = B[io * 4 + ii]
