from tirscript.script import tir as T


@T.prim_func
def conv2d(
    X: T.Buffer((3, 9, 9), "float32"),
    W: T.Buffer((8, 3, 2, 2), "float32"),
    Y: T.Buffer((8, 8, 8), "float32"),
):
    for f, y, x, c, u, v in T.grid(8, 8, 8, 3, 2, 2):
        with T.block("Y"):
            vf, vy, vx, vc, vu, vv = T.axis.remap("SSSRRR", [f, y, x, c, u, v])
            with T.init():
                Y[vf, vy, vx] = 0.0
            Y[vf, vy, vx] = Y[vf, vy, vx] + X[vc, vy + vu, vx + vv] * W[vf, vc, vu, vv]
