"""Loops that annotations ask to unroll: which are marked, and which are written out."""

from __future__ import annotations

import pytest
from helpers.passes import program

from tirscript.ir import DiagnosticError, For, PrimFunc, structural_equal, walk
from tirscript.ir.verify import verify
from tirscript.passes.lower import lower_blocks, unroll_loop
from tirscript.testing import assert_same_result


def nest(annotations: str, extents: tuple[int, ...] = (3, 2, 4), inner: str = "A[i, j, k] = T.float32(1)") -> PrimFunc:
    m, n, o = extents
    return program(
        f'def f(A: T.Buffer(({m}, {n}, {o}), "float32"), n: T.int32):\n'
        f"    for i in T.serial({m}, annotations={annotations}):\n"
        f"        for j in range({n}):\n            for k in range({o}):\n                {inner}\n"
    )


def kinds(func: PrimFunc) -> list[str]:
    return [node.kind for node in walk(func) if type(node) is For]


@pytest.mark.parametrize(
    "most, wanted",
    [(0, "sss"), (3, "sss"), (4, "ssu"), (7, "ssu"), (8, "suu"), (23, "suu"), (24, "uuu"), (1000, "uuu")],
)
def test_loops_are_marked_innermost_first_up_to_the_number(most: int, wanted: str) -> None:
    made = unroll_loop(nest(f'{{"pragma_auto_unroll_max_step": {most}}}'), limit=0)
    assert kinds(made) == [{"s": "serial", "u": "unroll"}[letter] for letter in wanted]


def test_explicit_ones_are_written_out() -> None:
    made = unroll_loop(nest('{"pragma_auto_unroll_max_step": 8, "pragma_unroll_explicit": True}'))
    assert kinds(made) == ["serial"] and len(made.body[0].body) == 8  # type: ignore[attr-defined]
    # longer than those that T.unroll writes out by itself
    made = unroll_loop(nest('{"pragma_auto_unroll_max_step": 99, "pragma_unroll_explicit": True}', (1, 1, 40)), limit=4)
    assert kinds(made) == [] and len(made.body) == 40


@pytest.mark.parametrize(
    "inner",
    ["for l in range(n):\n                    A[i, j, k] = T.float32(1)", "if n > 1:\n                    break"],
)
def test_what_holds_a_loop_or_leaves_one_stays(inner: str) -> None:
    func = nest('{"pragma_auto_unroll_max_step": 100}', inner=inner)
    if "break" in inner:
        assert kinds(unroll_loop(func, limit=0))[-1] == "serial"
    else:
        assert set(kinds(unroll_loop(func, limit=0))) == {"serial"}


def test_loops_around_blocks_with_axes_stay_until_these_are_lowered() -> None:
    func = program(
        'def f(A: T.Buffer((8,), "float32")):\n'
        "    for i in T.unroll(2):\n        for j in range(4):\n"
        '            with T.block("b"):\n                v = T.axis.spatial(8, i * 4 + j)\n'
        "                A[v] = T.float32(1)\n"
        '    for i in T.unroll(2):\n        with T.block("o"):\n            A[i] = T.float32(2)\n'
    )
    made = unroll_loop(func)  # a copy for i = 0 would have an axis of 8 values in a loop of 4
    assert verify(made) == [] and kinds(made) == ["unroll", "serial"]
    assert_same_result(func, made)
    assert kinds(unroll_loop(lower_blocks(func))) == ["serial", "serial"]


def test_an_annotation_of_a_block_counts_for_what_is_in_it() -> None:
    text = """
    def f(A: T.Buffer((4,), "float32")):
        with T.attr(0, "pragma_auto_unroll_max_step", {most}):
            for i in range(4):
                A[i] = T.float32(1)
        for i in range(4):
            A[i] = T.float32(2)
    """
    assert kinds(unroll_loop(program(text.format(most=4)), limit=0)) == ["unroll", "serial"]
    func = program(text.format(most=3))
    assert structural_equal(unroll_loop(func, limit=0), func)


@pytest.mark.parametrize("value", ["-1", '"4"', "1.5"])
def test_the_number_is_one(value: str) -> None:
    with pytest.raises(DiagnosticError, match=r"T404.*pragma_auto_unroll_max_step"):
        unroll_loop(nest(f'{{"pragma_auto_unroll_max_step": {value}}}'))
