"""Random graphs on tensors of a size that is known when they run, with random layouts: moved and not, they agree."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tirscript
from tirscript import BlockBuilder
from tirscript.ir import Const, IndexMap, Module, Var, constant
from tirscript.ir.dtype import INT64
from tirscript.ir.graph import Dataflow, GraphBind, GraphConst, GraphExpr, GraphVar
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.passes.graph import legalize_ops
from tirscript.passes.layouts import reflow
from tirscript.passes.layouts.calls import Instances

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0"))
SETTINGS = settings(max_examples=CASES or 4, deadline=None, suppress_health_check=list(HealthCheck))


def _op(name: str, *args: Any, **attrs: Any) -> GraphExpr:
    return GRAPH_OPS[name](*args, **attrs)


class Chain:
    """A graph on tensors of two dimensions, of which the first or the second follows from `n`."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 99)))

    def weights(self, *shape: int) -> GraphConst:
        return GraphConst(constant(self.rng.integers(-2, 3, shape).astype("float32")))

    def known(self, value: GraphVar, axis: int) -> int | None:
        dim = value.type.shape[axis]  # type: ignore[union-attr, index]
        return int(dim.value) if type(dim) is Const else None

    def step(self, value: GraphVar) -> GraphExpr:
        """An operator on a value."""
        rows, columns = self.known(value, 0), self.known(value, 1)
        ways: list[Callable[[], GraphExpr]] = [
            lambda: _op("nn.relu", value),
            lambda: _op("abs", value),
            lambda: _op("exp", _op("clip", value, 0.0, 1.0)),
            lambda: _op("add", value, self.weights(1, columns or 1)),
            lambda: _op("multiply", value, self.weights(rows or 1, 1)),
            lambda: _op("permute_dims", value, axes=[1, 0]),
            lambda: _op("concat", (value, value), axis=self.draw(st.sampled_from([0, 1]))),
            lambda: _op("add", value, value),
            lambda: _op("nn.softmax", value, axis=self.draw(st.sampled_from([0, 1]))),
            lambda: _op("sum", value, axis=[self.draw(st.sampled_from([0, 1]))], keepdims=True),
            lambda: _op("max", value, axis=[self.draw(st.sampled_from([0, 1]))], keepdims=True),
        ]
        if columns is not None:
            wide = self.draw(st.integers(1, 6))
            ways += [lambda: _op("matmul", value, self.weights(columns, wide))] * 3
        return self.draw(st.sampled_from(ways))()  # type: ignore[no-any-return]

    def module(self) -> tuple[Module, tuple[Any, ...]]:
        """The graph and the shape of its argument; `n` stands for what is not known."""
        bb, size = BlockBuilder(), self.draw(st.integers(1, 7))
        shape: tuple[Any, ...] = self.draw(st.sampled_from([("n", size), (size, "n"), ("n", "n")]))
        x = bb.tensor("x", shape, "float32")
        with bb.function("main", [x]):
            with bb.dataflow():
                values = [x]
                for at in range(self.draw(st.integers(3, 8))):
                    value = values[-1] if self.draw(st.integers(0, 3)) else self.draw(st.sampled_from(values))
                    values.append(bb.emit(self.step(value), f"v{at}"))
                out = bb.emit_output(values[-1], "out")
            bb.emit_func_output(out)
        return bb.get(), shape


@st.composite
def layouts(draw: Any) -> IndexMap:
    """Tiles of some dimensions, offsets, gaps, and another order."""
    params = (Var("i", INT64), Var("j", INT64))
    outer, inner = [], []
    for at in draw(st.permutations([0, 1])):
        tile = draw(st.sampled_from([1, 2, 3, 4, 8]))
        moved = params[at] * draw(st.sampled_from([1, 1, 1, 2])) + draw(st.sampled_from([0, 0, 3]))
        outer.append(moved if tile == 1 else moved // tile)
        inner += [] if tile == 1 else [moved % tile]
    return IndexMap(params, tuple([*inner, *outer] if draw(st.booleans()) else [*outer, *inner]))


def moved(module: Module, data: Any) -> Module:
    """The kernels of a module with layouts asked for at some of them."""
    asked: dict[GraphVar, dict[str, IndexMap]] = {}
    instances = Instances(module)
    for block in [stmt for stmt in module["main"].body if type(stmt) is Dataflow]:  # type: ignore[union-attr]
        for bind in block.body:
            target = instances.called(bind.value) if type(bind) is GraphBind else None
            if type(bind) is not GraphBind or target is None or not data.draw(st.integers(0, 1)):
                continue
            params = [param for param in target[0].params if param.ndim == 2]  # type: ignore[union-attr]
            param = data.draw(st.sampled_from(params)) if params else None
            if param is not None:
                asked[bind.var] = {param.name: data.draw(layouts())}
    everything = data.draw(st.booleans())
    return reflow(module, layouts=asked, decide=lambda one: True if everything else None).module


def arguments(shape: tuple[Any, ...], n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(-3, 4, [n if one == "n" else one for one in shape]).astype("float32")


def agree(data: Any, native: bool) -> None:
    module, shape = Chain(data.draw).module()
    kernels = legalize_ops(module)
    made = moved(kernels, data)
    built = tirscript.build(made) if native else None
    for n in data.draw(st.lists(st.integers(0, 19), min_size=2, max_size=2)):
        x = arguments(shape, n)
        expected = tirscript.interpret(kernels, x)
        # exactly: sums keep their order
        assert np.array_equal(tirscript.interpret(made, x), expected, equal_nan=True), made
        if built is not None:
            assert np.allclose(built(x), expected, rtol=1e-4, atol=1e-4, equal_nan=True), made


@given(st.data())
@SETTINGS
def test_layouts_of_symbolic_shapes_leave_the_results(data: Any) -> None:
    agree(data, False)


@given(st.data())
@settings(SETTINGS, max_examples=CASES // 10 or 1)
def test_native_code_agrees(data: Any) -> None:
    agree(data, True)
