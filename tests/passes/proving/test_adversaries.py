"""Each pass that proves something, on programs in which it is tempting to believe what does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.adversaries import ADVERSARIES
from helpers.outcomes import outcome

from tirscript.ir import PrimFunc
from tirscript.ir.verify import verify
from tirscript.passes.pipeline import Sequential
from tirscript.script import parse

PASSES = (
    "check_constraints",
    "remove_no_op",
    "hoist_expression",
    "hoist_expression{largest=10000}",
    "reduce_loop_extents",
    "reduce_loop_extents{symbolic=true}",
    "remove_branching_through_overcompute",
    "remove_overcompute_through_branching",
    "remove_assume",
    "remove_undef",
    "common_subexpression",
    "merge_conditionals",
    "merge_adjacent_loops",
    "loop_partition",
    "simplify",
    "simplify{contents=true}",
)
HEAD = "@T.prim_func\ndef main({params}):\n{body}"
PARAMS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), P: T.Buffer((16,), "int32"), n: T.int32'


def program(body: str, params: str = PARAMS) -> PrimFunc:
    lines = body.strip("\n").split("\n")
    func = parse(HEAD.format(params=params, body="".join(f"    {line}\n" if line else "\n" for line in lines)))
    assert isinstance(func, PrimFunc)
    return func


def arguments() -> list[list[Any]]:
    """Zeros of both signs, which every assumption of the programs allows, and nan where nothing is assumed."""
    zero, negative = np.zeros(16, "float32"), np.full(16, -0.0, "float32")
    mixed = np.arange(16).astype("float32")
    mixed[::2], mixed[5] = -0.0, np.nan
    count, none = np.arange(16).astype("int32"), np.zeros(16, "int32")
    return [
        [zero, mixed, none, 3],
        [negative, negative, count, 3],
        [zero, negative, none, 0],
        [negative, mixed, none, 5],
    ]


def is_excluded(result: Any) -> bool:
    """Whether inputs are none of the function's: it divides by 0 for them, or they break its assumptions."""
    kind = result[0]
    return kind[0] == "error" or (kind[0] == "assert" and kind[1].startswith("the assumption"))


def agree(func: PrimFunc, inputs: list[list[Any]]) -> None:
    """Every pass leaves a legal program with the same outcome for all inputs that the function takes."""
    wanted = [outcome(func, one) for one in inputs]
    assert not all(map(is_excluded, wanted)), "the program runs for none of the inputs"
    for name in PASSES:
        (entry,) = Sequential.parse(name)
        after = entry(func)
        if after is func:
            continue
        assert verify(after) == [], f"{name}\n{after.script()}"
        parse(after.script(constants="inline"))
        for one, want in zip(inputs, wanted, strict=True):
            if not is_excluded(want):
                assert outcome(after, one) == want, f"{name} changed the result to that of\n{after.script()}"


@pytest.mark.parametrize("name", ADVERSARIES)
def test_passes_are_not_led_astray(name: str) -> None:
    agree(program(ADVERSARIES[name]), arguments())


def test_parameters_that_may_overlap() -> None:
    func = program(
        'T.func_attr({"noalias": False})\nA[0] = 1.0\nB[0] = 2.0\nA[1] = A[0]\nA[0] = 1.0\n',
        'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")',
    )
    one = np.zeros(16, "float32")
    copy = one.copy()

    def run(candidate: PrimFunc) -> list[float]:
        from tirscript.backend.interpreter import interpret

        both = copy.copy()
        interpret(candidate, both, both)
        return both.tolist()  # type: ignore[no-any-return]

    wanted = run(func)
    assert wanted[:2] == [1.0, 2.0]
    for name in PASSES:
        (entry,) = Sequential.parse(name)
        assert run(entry(func)) == wanted, name


def test_an_index_that_wraps_comes_back_to_an_element() -> None:
    func = program(
        "for i in T.serial(T.uint8(4)):\n"
        '    Q[i * T.uint8(128)] = T.cast(i, "int32")\n'
        "Q[1] = Q[0]\nQ[2] = Q[128]\nQ[3] = Q[n * 128]\n",
        'Q: T.Buffer((256,), "int32"), n: T.int32',
    )
    agree(func, [[np.zeros(256, "int32"), 1]])


def test_copies_of_a_loop_stay_below_the_bound() -> None:
    ifs = "".join(f"    if n % {k + 2} == {k % 2}:\n        P[i] = {k}\n" for k in range(12))
    (entry,) = Sequential.parse("hoist_expression")
    after = entry(program("for i in range(16):\n" + ifs))
    assert len(after.script().split("\n")) < 200
    alone = program("for i in range(16):\n    P[i] = i\n")
    assert entry(alone) is alone


def test_iterations_at_the_same_time_keep_to_their_elements() -> None:
    """A sum that one iteration of a parallel loop adds to is not added to by all of them, not even zeros."""
    body = (
        "for i in range(16):\n    T.assume(i == 0 or A[i] == 0.0)\n"
        "B[0] = 0.0\nfor i in T.{kind}(16):\n    B[i] = 0.0\n    if i == 0:\n        B[{at}] = B[{at}] + A[i]\n"
    )
    (entry,) = Sequential.parse("remove_branching_through_overcompute")
    for kind, at, changed in (("parallel", "0", False), ("parallel", "i", True), ("serial", "i", True)):
        func = program(body.format(kind=kind, at=at))
        assert (entry(func) is not func) is changed, (kind, at)
