from tirscript.script import tir as T

# --- before ---


@T.prim_func
def crop(A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
    for io, ii in T.grid(4, 4):
        with T.block("crop"):
            vo, vi = T.axis.remap("SS", [io, ii])
            T.where(io * 4 + ii < 14)
            T.block_attr({"postproc": ("crop", 0)})
            B[vo * 4 + vi] = A[vo, vi]


# --- after lowered ---


@T.prim_func
def crop(A: T.Buffer((4, 4), "int32"), B: T.Buffer((14,), "int32")):
    A_1 = T.decl_buffer((16,), "int32", data=A.data)
    for io, ii in T.grid(4, 4):
        if io * 4 + ii < 14:
            B[io * 4 + ii] = A_1[io * 4 + ii]
