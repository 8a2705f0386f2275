"""Reductions that LLVM unrolls into long chains of choices are compiled like others, in time that does not double with
each."""

from __future__ import annotations

import subprocess
import sys

KERNEL = """
import numpy as np
import tirscript

f = tirscript.parse('''
@T.prim_func
def f(A: T.Buffer((320, 16, 9, 4), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((320,), "float32")):
    M = T.alloc_buffer((320,), "float32")
    for i in range(320):
        M[i] = T.min_value("float32")
    for i, a, b, c in T.grid(320, 16, 9, 4):
        M[i] = T.max(M[i], A[i, a, b, c] * B[a])
    for i in range(320):
        C[i] = M[i] * 2.0
''')
A = np.random.default_rng(1).standard_normal((320, 16, 9, 4), "float32")
B, C = A[0, :, 0, 0].copy(), np.zeros(320, "float32")
tirscript.build(f)(A, B, C)
assert np.array_equal(C, (A * B[:, None, None]).max((1, 2, 3)) * 2)
"""


def test_a_maximum_of_small_dimensions_is_compiled() -> None:
    # in a process of its own, which can be ended: it would be years
    subprocess.run([sys.executable, "-c", KERNEL], check=True, timeout=120)
