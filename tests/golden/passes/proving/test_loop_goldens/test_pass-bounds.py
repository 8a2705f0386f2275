from tirscript.script import tir as T

# --- before ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    for i in range(16):
        B[i] = A[i + n]
        A[i + 1] = A[i - 1] if i >= 1 else A[C[i]]
        A[i * 2 : i * 2 + 4] = T.broadcast(T.float32(1.0), 4)
    x: T.int32 = 0
    while A[x] > 0.0:
        x = x + 1
    if n >= 0 and n < 16:
        B[n] = 0.0


# --- after bounds_check ---


@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    B: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "int32"),
    n: T.int32,
):
    for i in range(16):
        assert 0 <= i + n and i + n < 16, "out of bounds: `A[i + n]`"
        B[i] = A[i + n]
        assert i >= 1 or 0 <= C[i] and C[i] < 16, "out of bounds: `A[C[i]]`"
        assert i + 1 < 16, "out of bounds: `A[i + 1]`"
        A[i + 1] = A[i - 1] if i >= 1 else A[C[i]]
        assert i * 2 < 16, "out of bounds: `A[T.ramp(i * 2, 1, 4)]`, lane 0"
        assert i * 2 + 3 < 16, "out of bounds: `A[T.ramp(i * 2, 1, 4)]`, lane 3"
        A[i * 2 : i * 2 + 4] = T.broadcast(T.float32(1.0), 4)
    x: T.int32 = 0
    while True:
        assert 0 <= x and x < 16, "out of bounds: `A[x]`"
        if not A[x] > 0.0:
            break
        x = x + 1
    if n >= 0 and n < 16:
        B[n] = 0.0
