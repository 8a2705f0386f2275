from tirscript.script import tir as T


@T.prim_func
def of_bytes(
    A: T.Buffer((6, 8), "int8"), B: T.Buffer((8, 5), "int8"), C: T.Buffer((6, 5), "int32")
):
    B_local = T.alloc_buffer((8, 5), "uint8", scope="local")
    A_sum = T.alloc_buffer((6,), "int32")
    for ax0, ax1 in T.grid(8, 5):
        with T.block("B_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_local[v0, v1] = T.reinterpret("uint8", B[v0, v1] ^ -128)
    for i0, k0 in T.grid(6, 8):
        with T.block("A_sum"):
            v0, w0 = T.axis.remap("SR", [i0, k0])
            with T.init():
                A_sum[v0] = 0
            A_sum[v0] = A_sum[v0] + T.cast(A[v0, w0], "int32")
    for i, j, k in T.grid(6, 5, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = A_sum[vi] * -128
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(B_local[vk, vj], "int32")
