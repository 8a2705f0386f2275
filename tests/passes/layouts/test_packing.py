"""Kernels on packed tensors: what each kind makes of padding, what it asks for, and what it costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Buffer, Const, Module, PrimFunc, const
from tirscript.ir.dtype import FLOAT32
from tirscript.passes.graph import legalize_ops
from tirscript.passes.layouts import PadMapping
from tirscript.passes.layouts.groups import inferred
from tirscript.passes.layouts.numbers import values_at
from tirscript.passes.layouts.packing import Packing
from tirscript.passes.layouts.padding import OrNan
from tirscript.passes.layouts.stages import Staged, staged
from tirscript.script import parse


def kernel(call: str, *shapes: tuple[int, ...]) -> PrimFunc:
    """The tensor function of an operator."""
    params = ", ".join(f'x{at}: G.Tensor({shape}, "float32")' for at, shape in enumerate(shapes))
    module = parse(f"""
from tirscript.script import graph as G
from tirscript.script import ir as I


@I.ir_module
class M:
    @G.graph_func
    def main({params}):
        with G.dataflow():
            y = {call}
            G.output(y)
        return y
""")
    assert isinstance(module, Module)
    (func,) = legalize_ops(module).prim_funcs
    return func


def channels(n: Any, c: Any, h: Any, w: Any) -> tuple[Any, ...]:
    return n, c // 4, h, w, c % 4


def rows(m: Any, k: Any) -> tuple[Any, ...]:
    return m // 8, k // 8, m % 8, k % 8


IMAGE = (1, 6, 4, 4)
# the operator, the shapes, the layouts given, what of all wants for 0 in the padding of the result, and the number of
# selects, branches and stages that fill padding: where nothing is needed of the result, and where 0 is
CASES: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], dict[str, float], tuple[int, ...], tuple[int, ...]]] = {
    "relu keeps 0": ("G.nn.relu(x0)", (IMAGE,), {"data": channels}, {"data": 0.0}, (0, 0, 0), (0, 0, 0)),
    "exp does not": ("G.exp(x0)", (IMAGE,), {"x": channels}, {}, (0, 0, 0), (1, 0, 0)),
    "one less asks for 1": (
        'G.subtract(x0, G.const(1.0, "float32"))',
        (IMAGE,),
        {"x1": channels},
        {"x1": 1.0},
        (0, 0, 0),
        (0, 0, 0),
    ),
    "a bias is packed too": (
        "G.add(x0, x1)",
        (IMAGE, (1, 6, 1, 1)),
        {"x1": channels},
        {"x1": 0.0, "x2": 0.0},
        (0, 0, 0),
        (0, 0, 0),
    ),
    "a broadcast that the layout does not touch": (
        "G.multiply(x0, x1)",
        (IMAGE, (4, 4)),
        {"x1": channels},
        {},
        (0, 0, 0),
        (1, 0, 0),
    ),
    "a convolution over packed channels": (
        "G.nn.conv2d(x0, x1, padding=[1, 1, 1, 1])",
        (IMAGE, (5, 6, 3, 3)),
        {"data": channels, "out": channels},
        {"data": 0.0, "weight": 0.0},
        (0, 0, 0),
        (0, 0, 1),
    ),
    "a matrix product": (
        "G.matmul(x0, x1)",
        ((11, 13), (13, 9)),
        {"x1": rows, "out": rows},
        {"x1": 0.0, "x2": 0.0},
        (0, 0, 0),
        (0, 0, 1),
    ),
    "a sum asks for 0": ("G.sum(x0, axis=[1])", (IMAGE,), {"x": channels}, {"x": 0.0}, (0, 0, 0), (0, 0, 0)),
    "a product asks for 1": ("G.prod(x0, axis=[1])", (IMAGE,), {"x": channels}, {"x": 1.0}, (0, 0, 0), (0, 0, 0)),
    "a maximum asks for what is below all": (
        "G.max(x0, axis=[1])",
        (IMAGE,),
        {"x": channels},
        {"x": -math.inf},
        (0, 0, 0),
        (0, 0, 0),
    ),
    "a mean divides by what is there": (
        "G.mean(x0, axis=[1])",
        (IMAGE,),
        {"x": channels},
        {"x": 0.0},
        (0, 0, 0),
        (0, 0, 0),
    ),
    "pooling beside the layout": (
        "G.nn.max_pool2d(x0, pool_size=[2, 2], strides=[2, 2])",
        (IMAGE,),
        {"data": channels},
        {"data": 0.0},
        (0, 0, 0),
        (0, 0, 0),
    ),
    "a softmax over packed channels": (
        "G.nn.softmax(x0, axis=1)",
        (IMAGE,),
        {"data": channels},
        {},
        (1, 1, 0),
        (2, 1, 0),
    ),
    "a concatenation of packed channels": (
        "G.concat((x0, x1), axis=1)",
        (IMAGE, IMAGE),
        {"tensors_0": channels, "out": channels},
        {},
        (0, 1, 0),
        (0, 1, 0),
    ),
    "a concatenation beside the layout": (
        "G.concat((x0, x1), axis=2)",
        (IMAGE, IMAGE),
        {"tensors_0": channels},
        {"tensors_0": 0.0, "tensors_1": 0.0},
        (0, 0, 0),
        (0, 0, 0),
    ),
    "a transpose": ("G.permute_dims(x0, [0, 2, 3, 1])", (IMAGE,), {"x": channels}, {"x": 0.0}, (0, 0, 0), (0, 0, 0)),
    "division does not trap": ("G.divide(x0, x1)", (IMAGE, IMAGE), {"x1": channels}, {}, (0, 0, 0), (1, 0, 0)),
}


def cropped(mapping: PadMapping, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    axes = np.indices(shape, sparse=True)
    values = dict(zip(mapping.index_map.params, axes, strict=True))
    return array[tuple(values_at(index, values) for index in mapping.index_map.indices)]


def run(program: Staged, layouts: dict[Buffer, PadMapping], needs: bool) -> tuple[dict[str, float], tuple[int, ...]]:
    """Pack a kernel, compare what it computes, and tell what it wants and what it costs."""
    out = program.params[-1]
    wanted = {out: const(0.0, FLOAT32)} if needs and out in layouts and layouts[out].padded else {}
    wants = Packing(program, layouts, {}).wants(wanted)
    padding = {one: wants.get(one, const(7.0, FLOAT32)) for one in program.params[:-1] if one in layouts}
    made = Packing(program, layouts, dict(padding)).function("packed", wanted, list(wanted))
    assert made is not None
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(shape).astype("float32") for one in program.params if (shape := one.constant_shape())]
    plain = [array.copy() for array in given]
    tirscript.interpret(program.func, *plain)
    packed = [
        layouts[one].packed(array, padding.get(one, const(9.0, FLOAT32))) if one in layouts else array.copy()
        for one, array in zip(program.params, given, strict=True)
    ]
    tirscript.interpret(made.func, *packed)
    shape = out.constant_shape()
    assert shape is not None
    result = cropped(layouts[out], packed[-1], shape) if out in layouts else packed[-1]
    assert np.array_equal(result, plain[-1])
    state = made.padding[out]
    if out in layouts and state is not None:
        # what is said to be in the padding is there
        number = state.value if isinstance(state, OrNan) else state
        assert np.array_equal(layouts[out].packed(plain[-1], number), packed[-1])
    assert not wanted or (type(state) is Const and state.value == 0)
    asked = {one.name: float(wants[one].value) for one in program.params[:-1] if one in wants}
    return asked, (made.selects, made.branches, made.fills)


@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str) -> None:
    call, shapes, given, wants, free, needed = CASES[name]
    program = staged(kernel(call, *shapes))
    assert program is not None
    buffers = {one.name: one for one in program.params}
    layouts = {}
    for param, layout in given.items():
        mapping = PadMapping.of(layout, buffers[param].shape)
        assert mapping is not None
        layouts[buffers[param]] = mapping
    found = inferred(program, layouts)
    assert run(program, found, False)[1] == free
    assert run(program, found, True) == (wants, needed)


def test_a_division_of_integers_that_could_fail_has_a_condition() -> None:
    func = parse("""
from tirscript.script import tir as T


@T.prim_func
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        B[i] = 100 // A[i]
""")
    assert isinstance(func, PrimFunc)
    program = staged(func)
    mapping = PadMapping.of(lambda i: (i // 4, i % 4), (14,))
    assert program is not None and mapping is not None
    found = inferred(program, {program.params[0]: mapping})
    made = Packing(program, found, {program.params[0]: const(0)}).function("packed", {})
    assert made is not None and made.branches == 1
    a, b = mapping.packed(np.arange(1, 15, dtype="int32")), np.zeros((4, 4), "int32")
    tirscript.interpret(made.func, a, b)
    assert (b.reshape(16)[:14] == 100 // np.arange(1, 15)).all()


def test_an_order_that_matters_is_not_changed() -> None:
    texts = {
        "B[i] = A[i] + (B[i - 1] if i > 0 else 0)": ("float32", "a running sum"),
        "B[0] = B[0] + A[i]": ("float32", "a sum in tiles that are turned"),
        "B[0] = A[i] - B[0]": ("int32", "an alternating sum"),
        "B[0] = A[i]": ("int32", "the last element"),
    }
    for line, (dtype, _) in texts.items():
        func = parse(f"""
from tirscript.script import tir as T


@T.prim_func
def f(A: T.Buffer((14,), "{dtype}"), B: T.Buffer((14,), "{dtype}")):
    for i in range(14):
        with T.block("b"):
            vi = T.axis.{"spatial" if "i - 1" in line else "reduce"}(14, i)
            {line.replace("[i", "[vi").replace("i > 0", "vi > 0")}
""")
        assert isinstance(func, PrimFunc)
        program = staged(func)
        mapping = PadMapping.of(lambda i: (i % 4, i // 4), (14,))
        assert program is not None and mapping is not None
        assert Packing(program, inferred(program, {program.params[0]: mapping}), {}).function("packed", {}) is None


def test_parts_that_store_other_padding() -> None:
    """Two stages store two halves: what is in the padding of both is known only where it is the same."""
    for second, known in (("0.0", True), ("1.0", False)):
        func = parse(f"""
from tirscript.script import tir as T


@T.prim_func
def f(A: T.Buffer((2, 14), "float32"), B: T.Buffer((2, 14), "float32")):
    for i in range(14):
        with T.block("first"):
            vi = T.axis.spatial(14, i)
            B[0, vi] = A[0, vi] * 2.0
    for i, k in T.grid(14, 2):
        with T.block("second"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[1, vi] = {second}
            B[1, vi] = B[1, vi] + A[vk, vi]
""")
        assert isinstance(func, PrimFunc)
        program = staged(func)
        mapping = PadMapping.of(lambda i, j: (i, j // 4, j % 4), (2, 14))
        assert program is not None and mapping is not None
        found = inferred(program, {program.params[0]: mapping})
        zero = const(0.0, FLOAT32)
        made = Packing(program, found, {program.params[0]: zero}).function("packed", {})
        assert made is not None and (made.padding[program.params[1]] is not None) == known
        a, b = mapping.packed(np.arange(28, dtype="float32").reshape(2, 14), zero), np.zeros((2, 4, 4), "float32")
        tirscript.interpret(made.func, a, b)
        assert (b[:, 3, 2:] == [[0.0, 0.0], [float(second)] * 2]).all()
