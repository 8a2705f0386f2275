from tirscript.script import tir as T

# --- before ---


@T.prim_func
def pad(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        with T.block("pad"):
            vo, vi = T.axis.remap("SS", [io, ii])
            # a hint to layout passes; the program means the same without it
            T.block_attr({"preproc": "pad"})
            B[vo, vi] = A[vo * 4 + vi] if vo * 4 + vi < 14 else 0


# --- after lowered ---


@T.prim_func
def pad(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    B_1 = T.decl_buffer((16,), "int32", data=B.data)
    for io, ii in T.grid(4, 4):
        # a hint to layout passes; the program means the same without it
        B_1[io * 4 + ii] = A[io * 4 + ii] if io * 4 + ii < 14 else 0
