from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(A: T.Buffer((16, 4, 4), "float32"), B: T.Buffer((16,), "float32")):
    for i, io, ii in T.grid(16, 4, 4):
        T.assume(4 * io + ii < 14 or A[i, io, ii] == 0.0)

    for i in range(16):
        # B may hold -0.0, which adding 0.0 would change
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[i] = B[i] + A[i, io, ii]
        B[i] = 0.0
        A[i, 3, 2] = 1.0
        for io, ii in T.grid(4, 4):
            # the assumption does not hold any more
            if 4 * io + ii < 14:
                B[i] = B[i] + A[i, io, ii]


# --- after remove_branching_through_overcompute ---


@T.prim_func
def main(A: T.Buffer((16, 4, 4), "float32"), B: T.Buffer((16,), "float32")):
    for i, io, ii in T.grid(16, 4, 4):
        T.assume(4 * io + ii < 14 or A[i, io, ii] == 0.0)

    for i in range(16):
        # B may hold -0.0, which adding 0.0 would change
        for io, ii in T.grid(4, 4):
            if 4 * io + ii < 14:
                B[i] = B[i] + A[i, io, ii]
        B[i] = 0.0
        A[i, 3, 2] = 1.0
        for io, ii in T.grid(4, 4):
            # the assumption does not hold any more
            if 4 * io + ii < 14:
                B[i] = B[i] + A[i, io, ii]
