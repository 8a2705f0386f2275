"""Reads of padding in which nothing is stored: `pad_value=None` says that nobody does that."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import Diagnostic, Label, error
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphBind, GraphVar
from tirscript.ir.module import Module
from tirscript.ir.node import recursion_room
from tirscript.ir.rewrite import refresh, substitute, walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore

from .calls import called, called_for
from .lift_layout_blocks import PAD, PREPROC
from .mapping import PadMapping, conversion_of

MOST = 40  # stores of functions that are looked at; the work grows with their square


def padding_errors(module: Module) -> list[Diagnostic]:
    """What functions certainly read of padding that the function before has left without a value, in graphs.

    An error (T612) each, at the read, with iterations that reach the padding. What is read under conditions that
    depend on data is not looked at; the interpreter tells it when it happens.
    """
    found: list[Diagnostic] = []
    with recursion_room():
        for func in module.graph_funcs:
            bare: dict[GraphVar, PrimFunc] = {}
            for node in walk(func):
                target = called_for(node.value, module) if type(node) is GraphBind else None
                if type(node) is not GraphBind or target is None:
                    continue
                for param, arg in zip(target[0].params, target[1], strict=False):
                    if type(arg) is GraphVar and arg in bare and type(param) is Buffer:
                        found += _reads(bare[arg], target[0], param)
                one = called(node.value, module)
                if one is not None and bare_padding(one[0]) is not None:
                    bare[node.var] = one[0]
    unique = {(one.span, one.message): one for one in found}
    return list(unique.values())


def bare_padding(func: PrimFunc) -> PadMapping | None:
    """The mapping of a function that packs its argument and stores nothing in the padding; None of any other."""
    found = conversion_of(func) if len(func.params) == 2 else None
    if found is None or not found.packs or not found.mapping.padded or found.mapping.pad_value is not None:
        return None
    return found.mapping


def is_marked(func: PrimFunc) -> bool:
    """Whether a function says that it packs its argument."""
    return any(type(node) is Block and node.annotations.get(PREPROC) == PAD for node in walk(func.body))


def _reads(pad: PrimFunc, func: PrimFunc, param: Buffer) -> Iterator[Diagnostic]:
    """The reads of `param` in `func` that reach what `pad` does not store."""
    from tirscript.ir.arith.presburger.dependences import Dependences
    from tirscript.ir.arith.presburger.legality import uncovered_reads

    if sum(type(node) is BufferStore for node in walk(func.body)) > MOST or any(one is param for one in _written(func)):
        return
    pad = refresh(pad)
    source, packed = pad.params
    body = substitute(func.body, {param: packed})
    params = (source, *(one for one in func.params if one is not param))
    assert type(packed) is Buffer
    both = func.replace(params=params, body=(AllocBuffer(packed), *pad.body, *body))
    for one in uncovered_reads(Dependences(both, noalias=True)):
        if one.access.root.buffer is not packed or one.symbols:
            continue  # for some sizes only
        places = ", ".join(f"{var.name} = {value}" for var, value in one.values.items())
        made = next((node.span for node in walk(pad.body, Block)), None)
        yield error(
            "T612",
            f"`{func.name}` reads padding of `{param.name}`, in which nothing is stored: {places}",
            one.access.node.span,
            notes=[] if made is None else [Label(made, f"`{pad.name}` packs it without a pad value")],
            hint="give `transform_layout` a `pad_value`, or read elements alone",
        )


def _written(func: PrimFunc) -> list[Buffer]:
    return [node.buffer for node in walk(func.body, BufferStore)]


__all__ = ["bare_padding", "is_marked", "padding_errors"]
