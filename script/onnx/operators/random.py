"""Random numbers. They are those of a generator that counts: element `i` is what a hash makes of `i` and of a seed, so
that a model is a function still, and gives the same numbers each time it is called with the same inputs. Each node has
other ones than the rest, and so has each round of a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from tirscript.ir.constant import constant
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphConst, GraphExpr, PrimValue, ShapeExpr
from tirscript.ir.graph_ops import dims

from ..node import Node
from .table import onnx_op

# the steps of a hash of 32 bits: what is shifted right and xored in, and what is multiplied by then
_STEPS = ((16, 0x7FEB352D), (15, 0x846CA68B))
_LAST = 16
_FLOAT = dtype("float32")


@onnx_op("RandomUniform", "RandomUniformLike")
def random_uniform(node: Node) -> GraphExpr:
    shape, kind = _wanted(node)
    low, high = float(node.attr("low", 0.0)), float(node.attr("high", 1.0))
    found = _scaled(node, _unit(node, shape, 0), high - low, low)
    return node.last("astype", found, str(kind))


@onnx_op("RandomNormal", "RandomNormalLike")
def random_normal(node: Node) -> GraphExpr:
    """The transform of Box and Muller of two uniform numbers."""
    shape, kind = _wanted(node)
    away = _scaled(node, _unit(node, shape, 0), -1.0, 1.0)  # above 0, which has no logarithm
    size = node.op("sqrt", node.op("multiply", node.op("log", away), _number(-2.0)))
    turn = node.op("cos", node.op("multiply", _unit(node, shape, 1), _number(2 * math.pi)))
    mean, scale = float(node.attr("mean", 0.0)), float(node.attr("scale", 1.0))
    found = _scaled(node, node.op("multiply", size, turn), scale, mean)
    return node.last("astype", found, str(kind))


@onnx_op("Bernoulli")
def bernoulli(node: Node) -> GraphExpr:
    """Ones, as often as the input says; by the definition that the standard has for it, zeros would be."""
    x = node.tensor(0)
    code = node.attr("dtype", 0)
    kind = node.importer.dtype(int(code), "its result") if code else node.dtype(x)
    found = node.op("less", _unit(node, node.shape(x), 0), node.op("astype", x, "float32"))
    return node.last("astype", found, str(kind))


@onnx_op("Multinomial")
def multinomial(node: Node) -> GraphExpr:
    """Classes, drawn by the logarithms of how likely each is: the greatest of these with noise of Gumbel added."""
    x, count = node.tensor(0), int(node.attr("sample_size", 1))
    batch, classes = node.shape(x, 2)
    kind = node.importer.dtype(int(node.attr("dtype", 6)), "its result")
    if count < 1 or not kind.is_int:
        raise node.wrong(f"it draws {count} samples of the type {kind}")
    unit = _scaled(node, _unit(node, (batch, dims.dim(count), classes), 0), -1.0, 1.0)
    # 1 is no noise at all; the logarithm of the least number below it is not 0
    waiting = node.op("negative", node.op("log", node.op("minimum", unit, _number(1 - 2.0**-24))))
    scores = node.op("astype", node.op("expand_dims", x, [1]), "float32")
    chosen = node.op("argmax", node.op("subtract", scores, node.op("log", waiting)), axis=2)
    return node.last("astype", chosen, str(kind))


def _wanted(node: Node) -> tuple[Sequence[Expr], DType]:
    """The shape and the dtype of the result."""
    if node.has(0):
        shape, kind = node.shape(node.tensor(0)), node.dtype(node.tensor(0))
    else:
        shape, kind = dims.shape(node.attr("shape", [])), _FLOAT
    if "dtype" in node.attrs:
        kind = node.importer.dtype(int(node.attr("dtype")), "its result")
    if any((dims.number(one) or 0) < 0 for one in shape):
        raise node.wrong("its shape has a number below 0")
    if not kind.is_float:
        raise node.wrong(f"random numbers of the type {kind} are not supported", "those of floats are")
    return shape, kind


def _unit(node: Node, shape: Sequence[Expr], stream: int) -> GraphExpr:
    """Numbers from 0 to 1, without that, of 24 bits."""
    count = node.op("arange", PrimValue(dims.dim(0)), PrimValue(dims.product(shape)), PrimValue(dims.ONE), "int64")
    bits = _hashed(node, node.op("astype", count, "uint32"))
    bits = _hashed(node, node.op("bitwise_xor", bits, _seed(node, stream)))
    real = node.op("astype", node.op("right_shift", bits, _word(8)), "float32")
    return node.op("reshape", node.op("multiply", real, _number(2.0**-24)), ShapeExpr(tuple(shape)))


def _seed(node: Node, stream: int) -> GraphExpr:
    """What makes the numbers of a node others than those of the rest: its seed or its name, how often that was
    drawn from before, and the rounds of the loops that run around it."""
    importer = node.importer
    said = node.attr("seed", 0.0) if "seed" in node.attrs else node.output
    name = f"{said}/{stream}"
    importer.drawn[name] += 1
    seed: GraphExpr = _word(crc32(f"{name}/{importer.drawn[name]}".encode()))
    for number in importer.rounds:
        seed = _hashed(node, node.op("bitwise_xor", seed, _hashed(node, node.op("astype", number, "uint32"))))
    return seed


def _hashed(node: Node, bits: GraphExpr) -> GraphExpr:
    for shift, factor in _STEPS:
        bits = node.op("bitwise_xor", bits, node.op("right_shift", bits, _word(shift)))
        bits = node.op("multiply", bits, _word(factor))
    return node.op("bitwise_xor", bits, node.op("right_shift", bits, _word(_LAST)))


def _scaled(node: Node, x: GraphExpr, factor: float, shift: float) -> GraphExpr:
    return node.op("add", node.op("multiply", x, _number(factor)), _number(shift))


def _number(value: float) -> GraphExpr:
    return GraphConst(constant(value, "float32"))


def _word(value: int) -> GraphExpr:
    return GraphConst(constant(value, "uint32"))


__all__: list[Any] = []
