"""Layouts across a graph: convolutions in blocks of 16 channels, and matrix products in tiles, padded once at the edge.

Channels of 3, 24 and 50 and matrices of 511 and 1023 are no multiples of anything. A layout is asked for at the
convolutions and products alone; what lies between follows, weights are packed when the model is compiled, and one
conversion is left where the data comes in and one where it goes out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tirscript
from tirscript import BlockBuilder
from tirscript.ir import Module, constant
from tirscript.ir.graph import GraphBind, GraphConst, GraphVar
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.ir.rewrite import walk
from tirscript.passes.graph import legalize_ops
from tirscript.passes.graph.annotate_pattern import CONTRACTION, pattern_of
from tirscript.passes.layouts import Reflowed, reflow
from tirscript.passes.layouts.calls import called


def weights(rng: np.random.Generator, *shape: int) -> GraphConst:
    """A constant of random numbers."""
    return GraphConst(constant((rng.standard_normal(shape) / 10).astype("float32")))


def network(size: int = 32) -> Module:
    """Four convolutions with biases, relus and a pooling, on one image of 3 channels."""
    rng, bb = np.random.default_rng(0), BlockBuilder()
    conv, add, relu, pool = (GRAPH_OPS[name] for name in ("nn.conv2d", "add", "nn.relu", "nn.max_pool2d"))
    x = bb.tensor("x", (1, 3, size, size), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            value = x
            for at, (given, made) in enumerate(((3, 24), (24, 50), (50, 50), (50, 24))):
                value = bb.emit(conv(value, weights(rng, made, given, 3, 3), padding=[1, 1, 1, 1]), f"conv{at}")
                value = bb.emit(add(value, weights(rng, 1, made, 1, 1)), f"bias{at}")
                value = bb.emit(relu(value), f"relu{at}")
                if at == 1:
                    value = bb.emit(pool(value, pool_size=[2, 2], strides=[2, 2]), "pool")
            out = bb.emit_output(value, "out")
        bb.emit_func_output(out)
    return bb.get()


def chain(rows: int = 511, wide: int = 1023) -> Module:
    """Three matrix products with relus between them."""
    rng, bb = np.random.default_rng(0), BlockBuilder()
    matmul, relu = GRAPH_OPS["matmul"], GRAPH_OPS["nn.relu"]
    x = bb.tensor("x", (rows, wide), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            value = x
            for at, (given, made) in enumerate(((wide, rows), (rows, wide), (wide, rows))):
                value = bb.emit(matmul(value, weights(rng, given, made)), f"product{at}")
                value = bb.emit(relu(value), f"relu{at}")
            out = bb.emit_output(value, "out")
        bb.emit_func_output(out)
    return bb.get()


def blocks_of_16(n: Any, c: Any, h: Any, w: Any) -> tuple[Any, ...]:
    """NCHW in blocks of 16 channels: NCHW16c."""
    return n, c // 16, h, w, c % 16


def tiles_of_64(m: Any, k: Any) -> tuple[Any, ...]:
    """A matrix in tiles of 64 by 64."""
    return m // 64, k // 64, m % 64, k % 64


def with_layout(model: Module, layout: Callable[..., Any]) -> tuple[Module, Reflowed]:
    """The kernels of a model, and them with a layout for the data and the result of every sum of products."""
    kernels = legalize_ops(model)
    asked: dict[GraphVar, dict[str, Callable[..., Any]]] = {}
    for bind in walk(kernels["main"]):
        found = called(bind.value, kernels) if type(bind) is GraphBind else None
        if found is not None and pattern_of(found[0]) == CONTRACTION:
            data, result = found[0].params[0], found[0].params[-1]
            asked[bind.var] = {data.name: layout, result.name: layout}  # type: ignore[attr-defined]
    return kernels, reflow(kernels, layouts=asked)


def main() -> None:
    """Move the layouts, say what is left, and compare."""
    small: dict[str, tuple[Module, Callable[..., Any], tuple[int, ...]]] = {
        "network": (network(8), blocks_of_16, (1, 3, 8, 8)),
        "chain": (chain(31, 45), tiles_of_64, (31, 45)),
    }
    for name, (model, layout, shape) in small.items():
        kernels, done = with_layout(model, layout)
        x = np.random.default_rng(1).standard_normal(shape).astype("float32")
        expected = tirscript.interpret(model, x) if name == "chain" else tirscript.build(kernels)(x)
        assert np.allclose(tirscript.build(done.module)(x), expected, atol=1e-4)
        left = done.report
        assert (left.conversions, left.branches) == (2, 0)
        print(f"{name}: {done}\n")


if __name__ == "__main__":
    main()
