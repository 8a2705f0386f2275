from tirscript.script import tir as T

# --- before ---


@T.prim_func
def addone(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    for io, ii in T.grid(4, 4):
        with T.block("addone"):
            vo, vi = T.axis.remap("SS", [io, ii])
            B[vo, vi] = A[vo, vi] + 1


# --- after lowered ---


@T.prim_func
def addone(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
    A_1 = T.decl_buffer((16,), "int32", data=A.data)
    B_1 = T.decl_buffer((16,), "int32", data=B.data)
    for io, ii in T.grid(4, 4):
        B_1[io * 4 + ii] = A_1[io * 4 + ii] + 1
