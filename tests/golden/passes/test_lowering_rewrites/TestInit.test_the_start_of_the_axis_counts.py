from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(C: T.Buffer((1,), "int32")):
    for k in range(2, 8):
        with T.block("C"):
            vk = T.axis.reduce((2, 8), k)
            with T.init():
                C[0] = 0
            C[0] = C[0] + vk


# --- after lower_init_block ---


@T.prim_func
def f(C: T.Buffer((1,), "int32")):
    for k in range(2, 8):
        with T.block("C"):
            vk = T.axis.reduce((2, 8), k)
            if vk == 2:
                C[0] = 0
            C[0] = C[0] + vk
