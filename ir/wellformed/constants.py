"""The rules of constants: the data fits the buffer, and nothing writes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..buffer import Buffer
from ..expr import BufferRegion, CallFunction
from ..func import PrimFunc
from ..module import Module
from ..node import Node
from ..rewrite import walk
from ..stmt import AllocateConst, BufferStore, DeclBuffer, MatchBuffer
from ..written import roots, written_params


def constant_problems(node: AllocateConst) -> Iterator[str]:
    """What is wrong with the buffer of a constant."""
    buffer, data = node.buffer, node.data
    name = f"the constant `{buffer.name}`"
    if buffer.dtype is not data.dtype:
        yield f"{name} is declared {buffer.dtype}, but its data is {data.dtype}"
    if buffer.strides is not None or buffer.elem_offset is not None:
        yield f"{name} has strides or an offset; it lies in row-major order without gaps"
    shape = buffer.constant_shape()
    if shape is None:
        yield f"{name} has a symbolic dimension"
    elif shape != data.shape and (math.prod(shape) != data.size or 1 not in (len(shape), data.ndim)):
        yield f"{name} is declared of shape {shape}, but its data has the shape {data.shape}"


def written_constants(function: PrimFunc, functions: dict[str, PrimFunc]) -> Iterator[tuple[str, Any, Buffer]]:
    """Every statement or call that writes a constant, itself or through a view: what to say, the node, the constant."""
    # a buffer or address that lies in a constant -> that constant
    inside: dict[Node, Buffer] = {}

    def find(value: Any) -> Buffer | None:
        return next((inside[root] for root in roots(value) if root in inside), None)

    module: Module | None = None
    for found in walk(function.body):
        node: Any = found
        cls = type(node)
        if cls is AllocateConst:
            inside[node.buffer] = node.buffer
        elif cls is DeclBuffer or (cls is MatchBuffer and type(node.source) is BufferRegion):
            constant = find(node.data if cls is DeclBuffer else node.source)
            if constant is not None:
                inside[node.buffer] = constant
        elif getattr(cls, "defines", ()) == ("var",) and hasattr(node, "value"):
            constant = find(node.value)
            if constant is not None:
                inside[node.var] = constant
        elif cls is BufferStore and node.buffer in inside:
            constant = inside[node.buffer]
            through = "" if constant is node.buffer else f", through its view `{node.buffer.name}`"
            yield f"the constant `{constant.name}` is written{through}", node, constant
        elif cls is CallFunction and node.function in functions:
            module = module or Module(tuple(functions.values()))
            callee = functions[node.function]
            written = written_params(callee, module, foreign=False)  # nor is it told of code called at once
            for param, arg in zip(callee.params, node.args):
                constant = find(arg) if param in written else None
                if constant is not None:
                    what = f"the constant `{constant.name}` is passed to `{callee.name}`, which writes `{param.name}`"
                    yield what, node, constant
