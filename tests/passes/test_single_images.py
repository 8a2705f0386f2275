"""Windows over the one image of a batch are scheduled as those over several are."""

from __future__ import annotations

import pytest
from helpers.nests import func_of

from tirscript.ir import For, PrimFunc
from tirscript.ir.expr import is_const
from tirscript.passes.plain_loops.single_images import with_single_images
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.testing import assert_same_result

PARAMS = "A: T.Buffer((1, 4, 10, 10)), W: T.Buffer((16, 4, 3, 3)), C: T.Buffer((1, 16, 8, 8))"
TAKEN = {
    "in one nest": """
for o, y, x in T.grid(16, 8, 8):
    C[0, o, y, x] = 0.0
    for c, p, q in T.grid(4, 3, 3):
        C[0, o, y, x] += A[0, c, y + p, x + q] * W[o, c, p, q]
""",
    "in several": """
for o, y, x in T.grid(16, 8, 8):
    C[0, o, y, x] = 0.0
for o, y, x, c, p, q in T.grid(16, 8, 8, 4, 3, 3):
    C[0, o, y, x] += A[0, c, y + p, x + q] * W[o, c, p, q]
for o, y, x in T.grid(16, 8, 8):
    C[0, o, y, x] = T.max(C[0, o, y, x], 0.0)
""",
    "in a variable": """
for o, y, x in T.grid(16, 8, 8):
    s: T.float32 = 0.0
    for c, p, q in T.grid(4, 3, 3):
        s += A[0, c, y + p, x + q] * W[o, c, p, q]
    C[T.int64(0), o, y, x] = s
""",
}
LEFT = {
    "no windows": "for o, y, x in T.grid(16, 8, 8):\n    C[0, o, y, x] = A[0, 0, y, x]",
    "one element": "for y, x in T.grid(8, 8):\n    C[0, 0, 0, 0] = C[0, 0, 0, 0] + A[0, 0, y + x % 3, x]",
}


def kernel(body: str) -> PrimFunc:
    return func_of(body.strip().split("\n"), PARAMS)


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", TAKEN)
def test_one_image_is_a_batch(name: str, threads: int) -> None:
    func = kernel(TAKEN[name])
    made = scheduled(func, CpuFacts(512, threads))
    assert "W_global" in made.script()  # the copy of the weights
    assert_same_result(func, made)


@pytest.mark.parametrize("name", TAKEN)
def test_the_loop_is_around_all_that_touches_the_image(name: str) -> None:
    made = with_single_images(kernel(TAKEN[name]))
    assert all(type(nest) is For and is_const(nest.stop, 1) for nest in made.body)
    assert "C[0" not in made.script() and "C[T.int64(0)" not in made.script() and "A[0" in made.script()
    assert_same_result(kernel(TAKEN[name]), made)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name: str) -> None:
    func = kernel(LEFT[name])
    assert with_single_images(func) is func
