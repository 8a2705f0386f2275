from tirscript.script import tir as T

# --- before ---


@T.prim_func
def bit_hash(
    A: T.Buffer(("n",), "uint32"), H: T.Buffer(("n",), "uint32"), digest: T.Buffer((1,), "uint32")
):
    digest[0] = 625341585
    for i in range(n):
        x: T.uint32 = A[i]
        x = x ^ x >> 16
        x = x * 2654435761
        x = x ^ x >> 13
        x = x * 2246822507
        x = x ^ x >> 16
        H[i] = x
        digest[0] = digest[0] ^ x


# --- after lowered ---


@T.prim_func
def bit_hash(
    A: T.Buffer(("n",), "uint32"), H: T.Buffer(("n",), "uint32"), digest: T.Buffer((1,), "uint32")
):
    digest[0] = 625341585
    for i in range(n):
        x: T.uint32 = A[i]
        x = x ^ x >> 16
        x = x * 2654435761
        x = x ^ x >> 13
        x = x * 2246822507
        x = x ^ x >> 16
        H[i] = x
        digest[0] = digest[0] ^ x
