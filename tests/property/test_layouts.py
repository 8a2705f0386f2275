"""Random graphs with random layouts: what is moved leaves the results, in the interpreter and natively."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Buffer, Const, IndexMap, Var
from tirscript.ir.dtype import INT64
from tirscript.ir.graph import Dataflow, GraphBind, GraphVar
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block
from tirscript.passes.graph import legalize_ops
from tirscript.passes.layouts import Decision, lift_layout_blocks, reflow
from tirscript.passes.layouts.calls import called_for
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.testing import graphs

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0"))
SETTINGS = settings(max_examples=CASES or 6, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def layouts(draw: Any, rank: int) -> IndexMap:
    """Tiles of some dimensions, offsets, gaps, and another order."""
    params = tuple(Var(f"i{at}", INT64) for at in range(rank))
    outer, inner = [], []
    for at in draw(st.permutations(range(rank))):
        tile, index = draw(st.sampled_from([1, 1, 2, 3, 4, 8])), params[at]
        offset, step = draw(st.sampled_from([0, 0, 0, 1, 3])), draw(st.sampled_from([1, 1, 1, 1, 2, 3]))
        moved = index * step if step > 1 else index
        moved = moved + offset if offset else moved
        outer.append(moved if tile == 1 else moved // tile)
        inner += [] if tile == 1 else [moved % tile]
    return IndexMap(params, tuple([*inner, *outer] if draw(st.booleans()) else [*outer, *inner]))


@st.composite
def asked(draw: Any, module: Module) -> dict[GraphVar, dict[str, IndexMap]]:
    """Layouts for parameters of some kernels of `main`."""
    found: dict[GraphVar, dict[str, IndexMap]] = {}
    blocks = [stmt for stmt in module["main"].body if type(stmt) is Dataflow]
    for bind in (bind for block in blocks for bind in block.body if type(bind) is GraphBind):
        target = called_for(bind.value, module)
        if target is None or draw(st.integers(0, 2)):
            continue
        params = [param for param in target[0].params if type(param) is Buffer and param.ndim and _is_known(param)]
        if params:
            param = draw(st.sampled_from(params))
            found[bind.var] = {param.name: draw(layouts(param.ndim))}
    return found


def _is_known(buffer: Buffer) -> bool:
    return all(type(dim) is Const and dim.value for dim in buffer.shape)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f"))


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_near, a, b))
    return bool(np.allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-4, equal_nan=True))


def moved(module: Module, data: Any) -> Module:
    """The module with layouts asked for and decided at random."""
    decisions = data.draw(st.sampled_from(["cost", "all", "any"]))

    def decide(one: Decision) -> bool | None:
        return {"cost": None, "all": True}.get(decisions, decisions == "any" and data.draw(st.booleans()))

    return reflow(module, layouts=data.draw(asked(module)), decide=decide).module


@given(graphs(), st.data())
@SETTINGS
def test_layouts_that_move_leave_the_results(drawn: Any, data: Any) -> None:
    module, arguments = drawn
    kernels = legalize_ops(module)
    made = moved(kernels, data)
    # exactly: sums keep their order
    assert _same(tirscript.interpret(kernels, *arguments), tirscript.interpret(made, *arguments)), made


def scheduled(module: Module, data: Any) -> Module:
    """The module with some parameters of kernels in other layouts inside of them."""
    if not module.prim_funcs:
        return module
    sch = Schedule(module)
    for func in module.prim_funcs:
        blocks = [node.name for node in walk(func.body) if type(node) is Block]
        for param in func.params:
            if not blocks or type(param) is not Buffer or not param.ndim or not _is_known(param):
                continue
            if data.draw(st.booleans()):
                continue
            pad_value = data.draw(st.sampled_from([None, 0, 1]))
            layout = data.draw(layouts(param.ndim))
            for block in blocks:
                try:
                    sch.work_on(func.name)
                    sch.transform_layout(block, param.name, layout, pad_value=pad_value, keep_interface=True)
                except ScheduleError:
                    continue
                break
    return sch.mod


@given(graphs(), st.data())
@SETTINGS
def test_layouts_that_are_lifted_leave_the_results(drawn: Any, data: Any) -> None:
    module, arguments = drawn
    kernels = legalize_ops(module)
    inside = scheduled(kernels, data)
    lifted = lift_layout_blocks(inside)
    done = reflow(lifted).module
    expected = tirscript.interpret(kernels, *arguments)
    for made in (inside, lifted, done):
        assert _same(expected, tirscript.interpret(made, *arguments)), made


@given(graphs(operators=6), st.data())
@settings(SETTINGS, max_examples=CASES // 10 or 1)
def test_native_code_agrees(drawn: Any, data: Any) -> None:
    module, arguments = drawn
    made = moved(legalize_ops(module), data)
    assert _near(tirscript.interpret(module, *arguments), tirscript.build(made)(*arguments)), made
