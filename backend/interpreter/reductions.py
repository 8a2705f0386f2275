"""Reductions and shuffles as closures over a frame."""

from __future__ import annotations

from itertools import product
from typing import Any

from tirscript.ir import Reduce, Shuffle

from .context import Closure, Context


def shuffle(ctx: Context, node: Shuffle) -> Closure:
    """The lanes at the indices of all the vectors behind each other."""
    vectors = [(ctx.expr(vector), vector.dtype.is_vector) for vector in node.vectors]
    indices = node.indices

    def run(f: list[Any]) -> Any:
        lanes: list[Any] = []
        for vector, wide in vectors:
            if wide:
                lanes += vector(f)
            else:
                lanes.append(vector(f))
        return lanes[indices[0]] if len(indices) == 1 else tuple([lanes[index] for index in indices])

    return run


def reduce(ctx: Context, node: Reduce) -> Closure:
    """The sources over all values of the axes, in the order of nested loops, combined from the left."""
    start = [ctx.expr(item) for item in node.init or node.combiner.identity]
    ends = [(ctx.expr(domain.start), ctx.expr(domain.stop)) for domain in node.domains if domain.stop is not None]
    with ctx.scope():
        slots = [ctx.enter_loop(var) for var in node.axes]
        source = [ctx.expr(item) for item in node.source]
        condition = None if node.condition is None else ctx.expr(node.condition)
    with ctx.scope():
        lhs = [ctx.define(var) for var in node.combiner.lhs]
        rhs = [ctx.define(var) for var in node.combiner.rhs]
        results = [ctx.expr(item) for item in node.combiner.results]
    index = node.value_index

    def run(f: list[Any]) -> Any:
        values = [item(f) for item in start]
        for point in product(*[range(low(f), high(f)) for low, high in ends]):
            for slot, at in zip(slots, point):
                f[slot] = at
            if condition is not None and not condition(f):
                continue
            fresh = [item(f) for item in source]
            for slot, value in zip(lhs, values):
                f[slot] = value
            for slot, value in zip(rhs, fresh):
                f[slot] = value
            values = [item(f) for item in results]
        return values[index]

    return run
