"""Layouts that leave places free between elements: strides, pitches, offsets at both ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Const, Module, const
from tirscript.ir.graph import GraphBind
from tirscript.ir.rewrite import walk
from tirscript.passes.graph import legalize_ops
from tirscript.passes.layouts import PadMapping, conversion_of, lift_layout_blocks, reflow
from tirscript.passes.layouts.converters import crop_function, pad_function
from tirscript.passes.layouts.filling import fill_statements
from tirscript.passes.schedule import Schedule
from tirscript.script import parse

MODEL = """
@I.ir_module
class Model:
    @T.prim_func(private=True)
    def grow(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
        for i in range(14):
            with T.block("grow"):
                vi = T.axis.spatial(14, i)
                B[vi] = A[vi] * 2

    @T.prim_func(private=True)
    def addone(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
        for i in range(14):
            B[i] = A[i] + 1

    @G.graph_func
    def main(x: G.Tensor((14,), "int32")):
        with G.dataflow():
            a = G.call_tir(Model.grow, (x,))
            b = G.call_tir(Model.addone, (a,))
            c = G.call_tir(Model.grow, (b,))
            G.output(c)
        return c
"""
Map = Callable[..., Any]
# the map, the shape it takes, the shape of the places, and how many are free
GAPS: dict[str, tuple[Map, tuple[int, ...], tuple[int, ...], int]] = {
    "every second place": (lambda i: i * 2, (14,), (27,), 13),
    "pairs of three": (lambda i: i // 2 * 3 + i % 2, (14,), (20,), 6),
    "both ends": (lambda i: i * 2 + 3, (14,), (30,), 16),
    "tiles far apart": (lambda i: (i // 4 * 2, i % 4 * 3 + 1), (14,), (7, 11), 63),
    "a pitch of 17": (lambda i, j: i * 17 + j, (4, 16), (67,), 3),
    "a pitch in rows": (lambda i, j: (j * 2, i), (3, 4), (7, 3), 9),
}


@pytest.mark.parametrize("name", GAPS)
def test_what_is_free(name: str) -> None:
    layout, shape, places, free = GAPS[name]
    mapping = PadMapping.of(layout, shape, const(9, "int32"))
    assert mapping is not None and mapping.padded
    assert tuple(int(dim.value) for dim in mapping.packed_shape if type(dim) is Const) == places
    data = np.arange(1, 1 + np.prod(shape), dtype="int32").reshape(shape)
    expected = mapping.packed(data, const(9, "int32"))
    assert (expected == 9).sum() == free + (data == 9).sum()
    pad = pad_function("pad", mapping, mapping.pad_value.dtype, mapping.pad_value)  # type: ignore[union-attr]
    packed, again = np.zeros(places, "int32"), np.zeros(shape, "int32")
    tirscript.interpret(pad, data, packed)
    assert np.array_equal(packed, expected)
    crop = crop_function("crop", mapping, pad.params[0].dtype)  # type: ignore[union-attr]
    tirscript.interpret(crop, packed, again)
    assert np.array_equal(again, data)
    for func, packs in ((pad, True), (crop, False)):
        found = conversion_of(func)
        assert found is not None and found.packs is packs and found.mapping.same_layout(mapping)
    stored = np.zeros(places, "int32")
    tirscript.interpret(
        pad.replace(params=pad.params[1:], body=tuple(fill_statements(mapping, pad.params[1], const(9, "int32")))),  # type: ignore[arg-type]
        stored,
    )
    assert np.array_equal(stored == 9, (expected == 9) & (mapping.packed(np.ones(shape, "int32")) == 0))


def program(text: str) -> Module:
    made = parse(text)
    assert isinstance(made, Module)
    return made


def calls(module: Module) -> list[str]:
    """The functions that `main` calls."""
    return [bind.value.args[0].function for bind in walk(module["main"]) if type(bind) is GraphBind and bind.value.args]  # type: ignore[attr-defined]


def check(before: Module, after: Module) -> None:
    x = np.arange(-3, 11, dtype="int32")
    expected = tirscript.interpret(before, x)
    assert np.array_equal(tirscript.interpret(after, x), expected)
    assert np.array_equal(tirscript.build(after)(x), expected)


@pytest.mark.parametrize("name", [name for name in GAPS if GAPS[name][1] == (14,)])
def test_each_step(name: str) -> None:
    layout = GAPS[name][0]
    sch = Schedule(program(MODEL))
    sch.work_on("grow")
    for buffer in "AB":
        sch.transform_layout("grow", buffer, layout, pad_value=0, keep_interface=True)
    lifted = lift_layout_blocks(sch.mod)
    assert [one for one in calls(lifted) if "pad" in one or "crop" in one] == ["grow_pad_A", "grow_crop_B"] * 2
    done = reflow(lifted, decide=lambda one: True)
    # the one kernel between runs over elements: it reads no padding, and stores what others may read
    assert calls(done.module) == ["grow_pad_A", "grow_packed", "addone_packed", "grow_packed", "grow_crop_B"]
    assert (done.report.selects, done.report.branches, done.report.fills) == (0, 0, 1)
    check(sch.mod, done.module)


def test_sums_over_gaps_count_each_element_once() -> None:
    module = legalize_ops(
        program("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((14,), "int32")):
        with G.dataflow():
            y = G.sum(x, axis=[0], keepdims=True)
            G.output(y)
        return y
""")
    )
    done = reflow(module, layouts={"y": {"x": lambda i: i * 2}})
    assert done.report.conversions == 1 and done.decisions[0].packed
    check(module, done.module)


ORDERED = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def running(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + 1.0

    @T.prim_func(private=True)
    def sums(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for i in range(8):
            with T.block("sum"):
                v0 = T.axis.reduce(8, i)
                with T.init():
                    B[0] = 0.0
                B[0] = B[0] + A[v0]

    @T.prim_func(private=True)
    def scan(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
        for i in range(4):
            if A[0] > 0.0:
                B[0] = A[0]
            else:
                B[0] = -A[0]

    @G.graph_func
    def main(x: G.Tensor((8,), "float32")):
        with G.dataflow():
            a = G.call_tir(M.running, (x,))
            b = G.call_tir(M.sums, (a,))
            c = G.call_tir(M.scan, (b,))
            G.output(c)
        return c
"""


def test_what_cannot_be_packed_says_why() -> None:
    module = program(ORDERED)
    turned: Map = lambda i: (i % 2, i // 2)
    asked = {"a": {"A": turned}, "b": {"A": turned}, "c": {"A": lambda i: (i // 4, i % 4)}}
    done = reflow(module, layouts=asked, decide=lambda one: True)
    reasons = {one.name: one.reason for one in done.decisions}
    assert reasons["a"] is None
    assert "order" in reasons["b"] and "blocks" in reasons["c"]  # type: ignore[operator]
    assert f"b = sums: plain ({reasons['b']})" in str(done)
    x = np.arange(8, dtype="float32")
    assert tirscript.interpret(done.module, x) == tirscript.interpret(module, x)
