from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            T.where(i < 3)
            T.block_attr({"pragma_import": "x.ll", "script": 1, "pragma_unroll": 4})
            B[v] = 1.0


# --- after lower_blocks ---


@T.prim_func
def f(B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.attr(T.int32(0), "pragma_import", "x.ll"):
            with T.attr(T.int32(0), "pragma_unroll", T.int32(4)):
                if i < 3:
                    B[i] = 1.0
