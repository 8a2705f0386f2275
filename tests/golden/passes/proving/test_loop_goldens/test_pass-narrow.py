from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(
    A: T.Buffer((T.int64(1024),), "float32"), B: T.Buffer((T.int64(1024),), "float32"), n: T.int64
):
    for i in range(T.int64(128)):
        B[i * 4] = A[i * 4 + 1] + T.cast(i, "float32")
        for j in range(i, n):
            if i * 4 + j < 14:
                B[i + j] = A[T.min(i, j)]
        k = i * 3
        h = i * 33554432
        with T.block("b"):
            vi = T.axis.spatial(T.int64(128), i)
            T.where(vi < 3)
            A[vi] = B[k + h // 33554432]


# --- after narrow_index_types ---


@T.prim_func
def main(
    A: T.Buffer((T.int64(1024),), "float32"), B: T.Buffer((T.int64(1024),), "float32"), n: T.int64
):
    for i in range(128):
        B[i * 4] = A[i * 4 + 1] + T.cast(T.cast(i, "int64"), "float32")
        for j in range(T.cast(i, "int64"), n):
            if T.cast(i, "int64") * 4 + j < 14:
                B[T.cast(i, "int64") + j] = A[T.min(T.cast(i, "int64"), j)]
        k = i * 3
        h = T.cast(i, "int64") * 33554432
        with T.block("b"):
            vi = T.axis.spatial(128, i)
            T.where(vi < 3)
            A[vi] = B[k + T.cast(h // 33554432, "int32")]
