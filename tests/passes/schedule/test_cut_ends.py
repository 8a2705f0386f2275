"""Innermost plain loops of which only the first and last iterations differ are cut there."""

from __future__ import annotations

import pytest

from tirscript.ir import For, PrimFunc, structural_equal, verify, walk
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.passes.schedule.default_cpu.cut_ends import cut_ends
from tirscript.script import parse
from tirscript.testing import assert_same_result

# what a loop over 77 elements does, and the lengths of what becomes of it
BODIES = {
    "conditions": (
        """
        m: T.int32 = A[i, j]
        if j > 0:
            m = T.min(m, A[i, j - 1])
        if j < 76:
            m = T.min(m, A[i, j + 1])
        B[i, j] = m
        """,
        [1, 75, 1],
    ),
    "bounds": ("B[i, j] = B[i, j] + A[i, T.max(j - 2, 0)] - A[i, T.min(j + 3, 76)]", [2, 72, 3]),
    "a bound in short loops": (
        """
        for k in range(3):
            B[i, j] += A[i, T.max(j - k, 0)]
        """,
        [2, 75],
    ),
    "one end": ("B[i, j] = A[i, j - 1] * B[i, j] if j != 0 else 3", [1, 76]),
    "a bound that is asked still": ("B[i, j] = T.max(A[i, T.max(j - 1, 0)], T.min(j, 40))", [1, 76]),
    "half": ("B[i, j] = A[i, j] if j < 40 else B[i, j]", [77]),
    "unknown": ("B[i, j] = A[i, j] if j < A[i, 0] else B[i, j]", [77]),
    "most": ("B[i, j] = A[i, T.max(j - 30, 0)] + B[i, j]", [77]),
    "around": ("B[i, j] = A[i, j] + B[i, j] if i > 0 else B[i, j]", [77]),
    "a bound of memory": ("B[i, j] = A[i, j] + T.min(A[i, 0], j)", [77]),
}


def kernel(body: str) -> PrimFunc:
    lines = "\n".join("            " + line.removeprefix("        ") for line in body.strip("\n").split("\n"))
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer((9, 77), "int32"), B: T.Buffer((9, 77), "int32")):
    for i in range(9):
        for j in range(77):
{lines}
""")
    assert isinstance(found, PrimFunc)
    return found


def lengths(func: PrimFunc) -> list[int]:
    return [
        int(loop.stop.value) - int(loop.start.value)  # type: ignore[attr-defined]
        for loop in walk(func.body)
        if type(loop) is For and loop.var.name.startswith("j")
    ]


@pytest.mark.parametrize("name", BODIES)
def test_loops_are_cut_where_their_ends_differ(name: str) -> None:
    body, wanted = BODIES[name]
    func = kernel(body)
    made = cut_ends(func)
    assert lengths(made) == wanted, made.script()
    assert (made is func) == (len(wanted) == 1)
    assert not verify(made) and structural_equal(parse(made.script()), made)
    assert_same_result(func, made)


def test_what_is_decided_is_asked_no_more_and_other_bounds_stay_bounds() -> None:
    between = cut_ends(kernel(BODIES["conditions"][0])).script().split("range(1, 76)")[1].split("for j")[0]
    assert "if " not in between and between.count("T.min(") == 2
    between = cut_ends(kernel(BODIES["a bound that is asked still"][0])).script().split("range(1, 77)")[1]
    assert "if " not in between and "A[i, j - 1]" in between and "T.min(j, 40)" in between


@pytest.mark.parametrize(
    "loop",
    ["range(n)", "range(1, 20)", "range(0, 76, 2)", "T.vectorized(76)", "range(A[0, 0])"],
)
def test_other_loops_stay_whole(loop: str) -> None:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((9, "n"), "int32"), B: T.Buffer((9, "n"), "int32")):
    for j in {loop}:
        B[0, j] = A[0, T.max(j - 1, 0)] + B[0, j]
""")
    assert isinstance(func, PrimFunc) and cut_ends(func) is func


def test_only_what_is_between_is_left_to_threads() -> None:
    func = kernel(BODIES["conditions"][0])
    (outer,) = func.body
    inner = outer.body[0].replace(kind="parallel")  # type: ignore[attr-defined]
    made = cut_ends(func.replace(body=(outer.replace(body=(inner,)),)))
    kinds = [loop.kind for loop in walk(made.body) if type(loop) is For and loop.var.name.startswith("j")]
    assert kinds == ["serial", "parallel", "serial"]


def test_loops_around_others_and_long_bodies_stay_whole() -> None:
    rows = kernel(BODIES["a bound in short loops"][0].replace("range(3)", "range(30)"))
    assert cut_ends(rows) is rows
    many = kernel("\n".join(f"        B[i, j] += A[i, T.max(j - {at % 3}, 0)]" for at in range(60)))
    assert cut_ends(many) is many


def test_the_default_schedule_cuts_what_stays_plain_loops() -> None:
    func = kernel(BODIES["conditions"][0])
    made = scheduled(func, CpuFacts(vector_bits=512, threads=2))
    assert lengths(made) == [1, 75, 1], made.script()
    assert_same_result(func, made)
