"""What is allowed and probably not meant: axes without use, bindings that look exchanged, races on one element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..diagnostic import Diagnostic, Label
from ..expr import BufferLoad, Const, Var, is_const
from ..func import PrimFunc
from ..node import nodes_in
from ..rewrite import walk
from ..stmt import Axis, Block, BufferStore, For
from .places import pointing


def warnings_of(function: PrimFunc) -> Iterator[Diagnostic]:
    """The warnings of one function, in no order."""
    for node in walk(function):
        rule = _RULES.get(type(node))
        if rule is not None:
            yield from rule(node)


def _warning(code: str, message: str, at: Any, notes: list[Label], hint: str) -> Diagnostic:
    labels = [*pointing(at.span, ""), *notes]
    return Diagnostic(code, message, tuple(labels), hint=hint, severity="warning")


def _block(block: Block) -> Iterator[Diagnostic]:
    yield from _unused(block)
    yield from _exchanged(block)
    yield from _wrong_kinds(block)
    taken: dict[int, Axis] = {}
    for axis in block.axes:
        if type(axis.value) is Var and axis.kind != "opaque":
            first = taken.setdefault(id(axis.value), axis)
            if first is not axis:
                yield _warning(
                    "T212",
                    f"the axes `{first.var.name}` and `{axis.var.name}` are both bound to `{axis.value.name}`",
                    axis,
                    pointing(first.span, f"`{first.var.name}` is bound here"),
                    "bind each axis to a loop of its own",
                )
    if block.init is not None and not any(axis.kind == "reduce" for axis in block.axes):
        yield _warning(
            "T212",
            f"the block `{block.name}` has a `T.init` but no reduce axis: its init runs before every iteration",
            block.init[0] if block.init else block,
            [],
            "make an axis `T.axis.reduce`, or leave the init out",
        )


def _unused(block: Block) -> Iterator[Diagnostic]:
    parts: list[Any] = [block.predicate, *(block.reads or ()), *(block.writes or ()), *(block.init or ()), *block.body]
    parts += nodes_in(block.annotations)
    used = {id(node) for part in parts if part is not None for node in walk(part, Var)}
    for axis in block.axes:
        if id(axis.var) not in used and not is_const(axis.stop, 1):
            yield _warning(
                "T211",
                f"the axis `{axis.var.name}` of the block `{block.name}` is never used",
                axis,
                [],
                f"index with `{axis.var.name}`, or leave the axis out: each of its iterations does the same",
            )


def _exchanged(block: Block) -> Iterator[Diagnostic]:
    """`vi` bound to `j` and `vj` to `i`."""
    bound = {axis.var.name: axis for axis in block.axes if type(axis.value) is Var}
    for name, axis in bound.items():
        other = bound.get(f"v{axis.value.name}")  # type: ignore[attr-defined]
        if other is None or other is axis or name != f"v{other.value.name}":  # type: ignore[attr-defined]
            continue
        if other.var.name < name:
            continue  # said at the first of the two
        yield _warning(
            "T212",
            f"`{name}` is bound to `{axis.value.name}`, and `{other.var.name}` to `{other.value.name}`",  # type: ignore[attr-defined]
            axis,
            [],
            "exchange the loops, or the names of the axes",
        )


def _wrong_kinds(block: Block) -> Iterator[Diagnostic]:
    """A reduce axis by which the init stores, a spatial one whose iterations all add to one element."""
    axes = {id(axis.var): axis for axis in block.axes if not is_const(axis.stop, 1)}
    for store in block.init or ():
        for node in walk(store.indices) if type(store) is BufferStore else ():
            axis = axes.get(id(node))
            if axis is not None and axis.kind == "reduce":
                name = axis.var.name
                yield _warning(
                    "T212",
                    f"the init of the block `{block.name}` runs in the first iteration of its reduce axis `{name}` "
                    f"alone, and stores at `{name}`",
                    store,
                    pointing(axis.span, f"`{name}` is bound here"),
                    f"make it spatial: each `{name}` has a result of its own",
                )
    for store in block.body:
        if type(store) is not BufferStore or store.buffer.is_scalar:
            continue
        named = {id(node) for node in walk(store.indices, Var)}
        onward = any(load.indices == store.indices for load in _loads(store))
        for key, axis in axes.items():
            if onward and axis.kind == "spatial" and key not in named and named <= axes.keys():
                name = axis.var.name
                yield _warning(
                    "T212",
                    f"all iterations of the spatial axis `{name}` of the block `{block.name}` go on from the same "
                    f"element of `{store.buffer.name}`",
                    axis,
                    pointing(store.span, "it is written here"),
                    f"make `{name}` an axis `T.axis.reduce`, or index with it",
                )


def _loads(store: BufferStore) -> Iterator[BufferLoad]:
    """The loads in a stored value of the buffer that it is stored in."""
    return (node for node in walk(store.value, BufferLoad) if node.buffer is store.buffer)


def _parallel(loop: For) -> Iterator[Diagnostic]:
    if loop.kind != "parallel":
        return
    inside = {id(buffer) for node in walk(loop.body) for buffer in _defined(node)}
    for node in walk(loop.body):
        if type(node) is not BufferStore or node.buffer.is_scalar or id(node.buffer) in inside:
            continue
        if all(type(index) is Const for index in node.indices):
            reads = any(type(part) is BufferLoad and part.buffer is node.buffer for part in walk(node.value))
            what = "adds to" if reads else "writes"
            yield _warning(
                "T209",
                f"every iteration of the parallel loop over `{loop.var.name}` {what} the same element of "
                f"`{node.buffer.name}`",
                node,
                pointing(loop.span, f"the iterations of `{loop.var.name}` run at once"),
                f"index with `{loop.var.name}`, or make the loop serial",
            )


def _defined(node: Any) -> Iterator[Any]:
    for name in getattr(type(node), "defines", ()):
        value = getattr(node, name)
        yield from value if isinstance(value, tuple) else (value,)


_RULES: dict[type, Any] = {Block: _block, For: _parallel}
