"""Random loops over variables and elements leave the same with scans made of them: the same bits, and natively."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import Block, DiagnosticError, PrimFunc, walk
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 30
WIDTH = 40
VALUES = ("A[{i}k]", "A[{i}k] * 2", "1", "(A[{i}k] if A[{i}k] > 1 else 3)", "A[{i}{low}]", "k")


@st.composite
def loops(draw: Any) -> PrimFunc:
    """A loop of a few statements that could scan, alone or in rows, with stores before and reads behind it."""
    rows, dtype = draw(st.booleans()), draw(st.sampled_from(("int32", "float32")))
    at = "i, " if rows else ""
    low = draw(st.sampled_from((0, 0, 0, 1, 1, 2)))
    high = low + draw(st.integers(2, 33))

    def value() -> str:
        found = draw(st.sampled_from(VALUES)).format(i=at, low=low)
        return f'T.cast({found}, "{dtype}")' if found == "k" else str(found)

    def element(name: str) -> str:
        return f"{name}[{at}k{draw(st.sampled_from(('', '', '', '', ' + 1', ' - 1')))}]"

    def step(name: str) -> list[str]:
        """What may be done to a variable."""
        kind = draw(st.sampled_from(("add", "add", "add", "flip", "other", "sub", "most", "count", "first", "wild")))
        other = draw(st.sampled_from("st"))
        most = f"{name} = T.max({value()}, {name})" if draw(st.booleans()) else f"{name} = {value()}"
        return {
            "add": [f"{name} = {name} + {value()}"],
            "flip": [f"{name} = {value()} + {name}"],
            "other": [f"{name} = {name} + {other}"],
            "sub": [f"{name} = {name} - {value()}"],
            "most": [most] if "max" in most else [f"if {most[4:]} > {name}:", f"    {most}"],
            "count": [f"if A[{at}k] > 1:", f"    {name} = {name} + {value()}"],
            "first": [f"if k == {low}:", f"    {name} = {value()}", "else:", f"    {name} = {name} + {value()}"],
            "wild": [f"{name} = {value()} - {name}"],
        }[kind]

    def store() -> list[str]:
        name = draw(st.sampled_from("BC"))
        here, first = element(name), f"k {draw(st.sampled_from(('==', '<=', '<', '!=')))} {low}"
        kind = draw(st.sampled_from(("held", "held", "held", "used", "again", "chosen", "branch", "bound")))
        again = f"{name}[{at}k - 1]"
        return {
            "held": [f"{here} = {draw(st.sampled_from('st'))}"],
            "used": [f"{here} = {draw(st.sampled_from('st'))} * {value()}"],
            "again": [f"{name}[{at}k] = {again} + {value()}"],
            "chosen": [f"{name}[{at}k] = {value()} + ({value()} if {first} else {again})"],
            "branch": [
                f"if {first}:",
                f"    {name}[{at}{low}] = {value()}",
                "else:",
                f"    {name}[{at}k] = {again} + {value()}",
            ],
            "bound": [f"x = s + {value()}", f"{here} = x", "s = x"],
        }[kind]

    core = [step("s"), [f"{element('B')} = s"]] if draw(st.booleans()) else [store()]
    parts = draw(st.permutations(core))
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        extra = store() if draw(st.booleans()) else step(draw(st.sampled_from("stt")))
        parts.insert(draw(st.integers(0, len(parts))), extra)
    body = [line for part in parts for line in part]
    head = [f"s: T.{dtype} = {draw(st.sampled_from(('0', '2', f'A[{at}0]')))}", f"t: T.{dtype} = s"]
    begin = (f"B[{at}0] = A[{at}0]", f"B[{at}0] = 0", f"C[{at}1] = 2", f"B[{at}0] = s", "s = 3")
    head += draw(st.lists(st.sampled_from(begin), max_size=2))
    rest = (f"D[{at}0] = s", f"D[{at}1] = t * 2", f"B[{at}3] = s", "s = 0")
    tail = draw(st.lists(st.sampled_from(rest), max_size=2))
    lines = [*head, f"for k in range({low}, {high}):", *(f"    {line}" for line in body), *tail]
    if rows:
        lines = ["for i in range(3):", *(f"    {line}" for line in lines)]
    shape = f"(3, {WIDTH})" if rows else f"({WIDTH},)"
    parameters = ", ".join(f'{name}: T.Buffer({shape}, "{dtype}")' for name in "ABCD")
    text = "\n".join(("@T.prim_func", f"def main({parameters}):", *(f"    {line}" for line in lines)))
    try:
        found = parse(text)
    except DiagnosticError:
        assume(False)
    assert isinstance(found, PrimFunc)
    return found


def run(func: PrimFunc, given: list[Any]) -> list[Any]:
    found = [array.copy() for array in given]
    interpret(func, *found)
    return found


@given(loops(), st.integers(0, 99))
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_scans_are_the_loops(func: PrimFunc, seed: int) -> None:
    note(func.script())
    made = with_blocks(func)
    note(made.script())
    assert not verify(made)
    assume(any(type(node) is Block and node.axes[-1].kind == "scan" for node in walk(made.body)))
    dtype = str(func.param_buffers[0].dtype)
    rng = np.random.default_rng(seed)
    shape = (3, WIDTH)[-len(func.param_buffers[0].shape) :]
    given = [rng.integers(-3, 4, shape).astype(dtype) for _ in range(4)]
    try:
        wanted = run(func, given)
    except DiagnosticError:
        assume(False)
    assert all(map(np.array_equal, wanted, run(made, given)))
    if seed % 8 == 0:
        fast = default_schedule(func, CpuFacts(128, 1)).func
        found = [array.copy() for array in given]
        tirscript.build(fast, pipeline=DEFAULT_LOWERING)(*found)
        assert all(map(np.array_equal, wanted, found))
