"""Reductions that LLVM unrolls into long chains of choices are compiled like others, in time that does not double with
each."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


# on a thread of half a megabyte of stack, of which this condition takes more in LLVM
CONDITION = """
import tempfile, threading
import numpy as np
import tirscript

threading.stack_size(1 << 19)

def compiled():
    condition = " and ".join(f"A[{at % 8}] != {at}" for at in range(2000))
    f = tirscript.build(tirscript.parse(f'''
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = 2
    if {condition}:
        B[0] = 1
'''))
    WORK
    done.append(True)

def run(f):
    B = np.zeros(1, "int32")
    for value, expected in ((-1, 1), (1999, 2)):
        f(np.full(8, value, "int32"), B)
        assert B[0] == expected

def export(f):
    with tempfile.TemporaryDirectory() as folder:
        f.export(folder + "/f.o")

done = []
thread = threading.Thread(target=compiled)
thread.start()
thread.join()
assert done
"""


@pytest.mark.parametrize("work", ["run(f)", "f.assembly()", "export(f)"])
def test_a_condition_deeper_than_the_stack_is_compiled(work: str) -> None:
    program = CONDITION.replace("WORK", work)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
