"""A text that is no Python has one mistake: where reading it stops."""

from tirscript.script import tir as T


@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in range(16)  # error: [T001]
        A[i] = 1.0
