from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(C: T.Buffer((14,), "int32"), D: T.Buffer((1,), "int32")):
    P = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        P[io, ii] = C[4 * io + ii] if 4 * io + ii < 14 else 0
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or P[io, ii] == 0)
    D[0] = 0
    for io, ii in T.grid(4, 4):
        if 4 * io + ii < 14:
            D[0] = D[0] + P[io, ii]


# --- after remove_branching_through_overcompute ---


@T.prim_func
def main(C: T.Buffer((14,), "int32"), D: T.Buffer((1,), "int32")):
    P = T.alloc_buffer((4, 4), "int32")
    for io, ii in T.grid(4, 4):
        P[io, ii] = C[4 * io + ii] if 4 * io + ii < 14 else 0
    for io, ii in T.grid(4, 4):
        T.assume(4 * io + ii < 14 or P[io, ii] == 0)
    D[0] = 0
    for io, ii in T.grid(4, 4):
        D[0] = D[0] + P[io, ii]
