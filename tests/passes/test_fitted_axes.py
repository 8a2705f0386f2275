"""Passes that take a condition away from around a block leave its axes with the values that their loops have."""

from __future__ import annotations

import pytest
from helpers.script import function

from tirscript.ir import verify
from tirscript.passes import get_pass
from tirscript.testing import assert_round_trip, assert_same_result

BLOCK = """
with T.block("b"):
    vi = T.axis.spatial(16, i)
    A[vi] = A[vi] + 1.0"""
SUM = """
with T.block("sum"):
    vk = T.axis.reduce(16, k)
    with T.init():
        B[0, 0] = 0.0
    B[0, 0] = B[0, 0] + A[vk]"""


def under(head: str, block: str = BLOCK) -> str:
    """A block in a loop and whatever else."""
    lines = head.split("\n")
    depth = len(lines[-1]) - len(lines[-1].lstrip()) + (4 if lines[-1].endswith(":") else 0)
    return head + block.replace("\n", "\n" + " " * depth)


@pytest.mark.parametrize(
    ("name", "text", "domain"),
    [
        ("simplify", under("for i in range(15):\n    if i < 16:"), "T.axis.spatial(15, i)"),
        ("simplify", under("for i in range(3, 14, 4):\n    if i < 16:"), "T.axis.spatial((3, 12), i)"),
        ("simplify", under("for i in range(14):\n    if i == 14:\n        break\n    pass"), "T.axis.spatial(14, i)"),
        ("simplify", under("for i in range(14 + n - n):\n    pass"), "T.axis.spatial(14, i)"),
        ("simplify", under("for k in range(14):\n    if k < 16:", SUM), "T.axis.reduce(14, k)"),
        ("simplify", under("for k in range(2, 14):\n    if k < 16:", SUM), "T.axis.reduce((2, 14), k)"),
        ("reduce_loop_extents", under("for i in range(16):\n    if i < 14:"), "T.axis.spatial(14, i)"),
        ("reduce_loop_extents", under("for k in range(16):\n    if k >= 2:", SUM), "T.axis.reduce((2, 16), k)"),
        ("hoist_expression", under("for i in range(14):\n    if n > 3:"), "T.axis.spatial(14, i)"),
        (
            "remove_branching_through_overcompute",
            under("for i in range(14):\n    T.assume(n > 3)\n    if n > 3:"),
            "T.axis.spatial(14, i)",
        ),
    ],
)
def test_axes_take_the_values_of_their_loops(name: str, text: str, domain: str) -> None:
    func = function(text)
    new = get_pass(name)(func)
    assert verify(new) == [] and domain in new.script()
    assert_round_trip(new)
    if "T.assume" not in text:
        assert_same_result(func, new, native=False)


@pytest.mark.parametrize("head", ["for i in range(15):\n    if n > 3:", "for i in range(16):\n    pass"])
def test_axes_that_may_be_wider_stay(head: str) -> None:
    func = function(under(head))
    assert "T.axis.spatial(16, i)" in get_pass("reduce_loop_extents")(func).script()


def test_what_memory_holds_takes_conditions_away_too() -> None:
    func = function(under("for i in range(15):\n    if i < 16:"))
    assert "T.axis.spatial(15, i)" in get_pass("simplify")(func, contents=True).script()
