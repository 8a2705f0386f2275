from tirscript.script import tir as T

# --- before ---


@T.prim_func
def f(
    A: T.Buffer((4, 8), "int32", strides=(-8, 1)), B: T.Buffer((4, 8), "int32", strides=("s", "t"))
):
    for i in range(4):
        B[i, 0:8] = A[i, 0:8] + T.broadcast(1, 8)


# --- after flatten_buffer ---


@T.prim_func
def f(
    A: T.Buffer((4, 8), "int32", strides=(-8, 1)), B: T.Buffer((4, 8), "int32", strides=("s", "t"))
):
    A_1 = T.decl_buffer((32,), "int32", data=A.data, elem_offset=-24)
    B_1 = T.decl_buffer(
        (1 + T.max(3 * s, 0) - T.min(3 * s, 0) + T.max(7 * t, 0) - T.min(7 * t, 0),),
        "int32",
        data=B.data,
        elem_offset=T.min(3 * s, 0) + T.min(7 * t, 0),
    )
    for i in range(4):
        B_1[T.ramp(T.cast(i, "int64") * s - T.min(3 * s, 0) - T.min(7 * t, 0), t, 8)] = A_1[
            24 - i * 8 : 24 - i * 8 + 8
        ] + T.broadcast(1, 8)
