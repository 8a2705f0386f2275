from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(A: T.Buffer((4, 8, 2), "float32"), C: T.Buffer((4,), "float32")):
    for i, k, l in T.grid(4, 8, 2):
        with T.block("C"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk, vl]


# --- after lower_init_block ---


@T.prim_func
def f(A: T.Buffer((4, 8, 2), "float32"), C: T.Buffer((4,), "float32")):
    for i, k, l in T.grid(4, 8, 2):
        with T.block("C"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            if vk == 0 and vl == 0:
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk, vl]
