from tirscript.script import tir as T

# --- before ---


@T.prim_func
def layer_norm(
    A: T.Buffer((32, 48), "float32"),
    weight: T.Buffer((48,), "float32"),
    bias: T.Buffer((48,), "float32"),
    B: T.Buffer((32, 48), "float32"),
):
    mean = T.alloc_buffer((32,), "float32")
    square = T.alloc_buffer((32,), "float32")
    for i, j in T.grid(32, 48):
        with T.block("moments"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                mean[vi] = 0.0
                square[vi] = 0.0
            # divided at once: the sums stay small
            mean[vi] = mean[vi] + A[vi, vj] / 48.0
            square[vi] = square[vi] + A[vi, vj] * A[vi, vj] / 48.0
    for i, j in T.grid(32, 48):
        with T.block("normalize"):
            vi, vj = T.axis.remap("SS", [i, j])
            variance = square[vi] - mean[vi] * mean[vi]
            B[vi, vj] = (A[vi, vj] - mean[vi]) * T.rsqrt(variance + 1e-05) * weight[vj] + bias[vj]


# --- after lowered ---


@T.prim_func
def layer_norm(
    A: T.Buffer((32, 48), "float32"),
    weight: T.Buffer((48,), "float32"),
    bias: T.Buffer((48,), "float32"),
    B: T.Buffer((32, 48), "float32"),
):
    A_1 = T.decl_buffer((1536,), "float32", data=A.data)
    B_1 = T.decl_buffer((1536,), "float32", data=B.data)
    mean = T.alloc_buffer((32,), "float32")
    square = T.alloc_buffer((32,), "float32")
    for i, j in T.grid(32, 48):
        if j == 0:
            mean[i] = 0.0
            square[i] = 0.0
        # divided at once: the sums stay small
        mean[i] = mean[i] + A_1[i * 48 + j] / 48.0
        square[i] = square[i] + A_1[i * 48 + j] * A_1[i * 48 + j] / 48.0
    for i, j in T.grid(32, 48):
        variance = square[i] - mean[i] * mean[i]
        B_1[i * 48 + j] = (A_1[i * 48 + j] - mean[i]) * T.rsqrt(variance + 1e-05) * weight[
            j
        ] + bias[j]
