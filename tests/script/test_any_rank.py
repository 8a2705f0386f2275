"""Kernels written once for every number of dimensions: starred loops, axes and indices."""

from __future__ import annotations

import pytest

from tirscript.ir import DiagnosticError, PrimFunc, structural_equal
from tirscript.script import parse
from tirscript.script import tir as T


def total(shape: tuple[int, ...]) -> PrimFunc:
    """Sums over the last dimension."""

    @T.prim_func
    def kernel(A: T.Buffer(shape, "float32"), B: T.Buffer(shape[:-1], "float32")):
        for *i, k in T.grid(*shape):
            with T.block("sum"):
                *v, vk = T.axis.remap("S" * len(i) + "R", [*i, k])
                with T.init():
                    B[*v] = 0.0
                B[*v] += A[*v, vk]

    return kernel


def test_starred_variables_are_as_many_as_the_extents_need() -> None:
    written = parse(
        """
@T.prim_func
def kernel(A: T.Buffer((2, 3, 4), "float32"), B: T.Buffer((2, 3), "float32")):
    for i0, i1, k in T.grid(2, 3, 4):
        with T.block("sum"):
            v0, v1, vk = T.axis.remap("SSR", [i0, i1, k])
            with T.init():
                B[v0, v1] = 0.0
            B[v0, v1] += A[v0, v1, vk]
"""
    )
    made = total((2, 3, 4))
    assert structural_equal(made, written)
    assert made.script() == written.script()


def test_a_star_may_stand_for_nothing() -> None:
    text = total((4,)).script()
    assert "for k in range(4)" in text
    assert "B[()] = B[()] + A[vk]" in text


def test_no_extents_run_the_body_once() -> None:
    shape = ()

    @T.prim_func
    def kernel(A: T.Buffer(shape, "float32")):
        for (*i,) in T.grid(*shape):
            with T.block("one"):
                (*v,) = T.axis.remap("S" * len(i), i)
                A[*v] = 1.0

    assert "for" not in kernel.script().partition("def ")[2]


def test_a_star_in_the_middle_takes_what_is_left() -> None:
    made = parse(
        """
@T.prim_func
def kernel(A: T.Buffer((2, 3, 4, 5), "float32")):
    for a, *i, z in T.grid(*A.shape):
        A[a, *i[::-1][::-1], z] = 1.0
"""
    )
    assert "for a, i0, i1, z in T.grid(2, 3, 4, 5)" in made.script()
    assert "A[a, i0, i1, z] = 1.0" in made.script()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("for *i, j, k in T.grid(4): pass", "`T.grid` has 1 extent for 2 variables"),
        ("for *i, i0 in T.grid(4, 4): pass", "two variables of this loop have one name"),
        ("for *i, in T.grid(4, 4): A[*i, 0] = 1.0", "`A` has 2 dimensions, but 3 indices stand here"),
        ("for *i, in T.grid(4): A[*i] = 1.0", "`A` has 2 dimensions, but 1 index stands here"),
        ("for i in T.grid(4, 4): pass", "`T.grid` has 2 extents for 1 variable"),
        ("for i in T.grid(): pass", "`T.grid` has 0 extents for 1 variable"),
    ],
)
def test_mistakes_name_the_counts(line: str, message: str) -> None:
    text = f'@T.prim_func\ndef f(A: T.Buffer((4, 4), "float32")):\n    {line}\n'
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    assert message in caught.value.diagnostics[0].message


def test_two_stars_are_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse('@T.prim_func\ndef f(A: T.Buffer((4, 4), "float32")):\n    for *i, *j in T.grid(4, 4):\n        pass\n')
    assert "one" in caught.value.diagnostics[0].message
