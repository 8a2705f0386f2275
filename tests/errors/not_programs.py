"""A text is read, never run: what only Python could mean is refused."""

import os  # error: [T003]

from tirscript.script import tir as T

print("hello")  # error: [T003]


@T.prim_func
def main(A: T.Buffer((16,), "float32"), *rest):
    #                                    ^ error: [T040]
    A[0] = os.getpid()  # error: [T010] `os` is not defined
    A[1] = open("/etc/passwd")
    #      ^ error: `open`
    A[2] = ().__class__
    #      ^^^^^^^^^^^^ error: [T003] the attribute `__class__` is not available
