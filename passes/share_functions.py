"""Private functions that are equal up to their names and constants become one.

before:                                            after:
    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def scale(x, y):                                   def scale(x, y, w):
        w = T.constant("sha256:1...", ...)                 ... y[i] = x[i] * w[i]
        ... y[i] = x[i] * w[i]
                                                       @T.prim_func
    @T.prim_func(private=True)                         def main(x, y):
    def scale_1(x, y):                                     w = T.constant("sha256:1...", ...)
        v = T.constant("sha256:2...", ...)                 v = T.constant("sha256:2...", ...)
        ... y[i] = x[i] * v[i]                             h = T.alloc_buffer(...)
                                                           cls.scale(x, h, w)
    @T.prim_func                                           cls.scale(h, y, v)
    def main(x, y):
        h = T.alloc_buffer(...)
        cls.scale(x, h)
        cls.scale_1(h, y)

Models repeat their layers, which differ in weights alone: what becomes one function is scheduled and compiled once.
Constants that are the same in all of them stay where they are, so that what is computed from them folds as before.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import CallFunction
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef
from tirscript.ir.hashing import structural_hash
from tirscript.ir.module import Module
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import AllocateConst, MatchBuffer, Stmt

from .pipeline import module_pass


@module_pass()
def share_functions(module: Module) -> Module:
    """`cls.scale_1(h, y)` becomes `cls.scale(h, y, v)` where the two functions differ in a constant `v` alone."""
    # what is merged may make its callers equal
    while (merged := _merged(module)) is not None:
        module = merged
    return module


class _Open(Struct, frozen=True, eq=False):
    """A function, and the same one with its constants as further parameters."""

    func: PrimFunc
    constants: tuple[AllocateConst, ...]
    opened: PrimFunc


def _merged(module: Module) -> Module | None:
    """The module with equal functions as one; None where no two are equal."""
    named = {node.function for node in walk(module.functions, FunctionRef)}
    private = [one for one in module.functions if type(one) is PrimFunc and one.private and one.name not in named]
    alike: dict[int, list[list[_Open]]] = {}
    for opened in map(_open, private):
        groups = alike.setdefault(structural_hash(opened.opened), [])
        for group in groups:
            if structural_equal(opened.opened, group[0].opened):
                group.append(opened)
                break
        else:
            groups.append([opened])
    kept: dict[str, PrimFunc] = {}
    replaced: dict[str, tuple[str, tuple[AllocateConst, ...]]] = {}
    for group in (group for groups in alike.values() for group in groups if len(group) > 1):
        places = [
            at
            for at, stmts in enumerate(zip(*(one.constants for one in group), strict=True))
            if any(stmt.data != stmts[0].data for stmt in stmts)
        ]
        first = group[0]
        kept[first.func.name] = _taking(first, places)
        for one in group:
            replaced[one.func.name] = (first.func.name, tuple(one.constants[at] for at in places))
    if not replaced:
        return None
    functions = []
    for function in module.functions:
        if function.name in replaced and function.name not in kept:
            continue
        if type(function) is PrimFunc:
            function = _calling(kept.get(function.name, function), replaced)
        functions.append(function)
    return module.replace(functions=tuple(functions))


def _open(func: PrimFunc) -> _Open:
    constants = tuple(stmt for stmt in func.body if type(stmt) is AllocateConst and _is_plain(stmt))
    gone = set(map(id, constants))
    opened = func.replace(
        name="",
        params=(*func.params, *(stmt.buffer for stmt in constants)),
        body=tuple(stmt for stmt in func.body if id(stmt) not in gone),
    )
    return _Open(func, constants, opened)


def _is_plain(stmt: AllocateConst) -> bool:
    """Whether a constant can as well be a parameter."""
    buffer = stmt.buffer
    return (
        not stmt.annotations
        and buffer.constant_shape() is not None
        and buffer.strides is None
        and buffer.elem_offset is None
        and buffer.scope == "global"
    )


def _taking(one: _Open, places: Sequence[int]) -> PrimFunc:
    """The function with the constants at these places as its last parameters."""
    if not places:
        return one.func
    func, lifted = one.func, [one.constants[at] for at in places]
    gone = set(map(id, lifted))
    return func.replace(
        params=(*func.params, *(stmt.buffer for stmt in lifted)),
        body=tuple(stmt for stmt in func.body if id(stmt) not in gone),
    )


def _calling(func: PrimFunc, replaced: dict[str, tuple[str, tuple[AllocateConst, ...]]]) -> PrimFunc:
    """A function whose calls are those of the functions that are left, with the constants at its head."""
    heads: dict[tuple[object, ...], AllocateConst] = {}

    def constant(stmt: AllocateConst) -> Buffer:
        buffer = stmt.buffer
        key = (stmt.data, buffer.constant_shape(), buffer.dtype, buffer.align, buffer.offset_factor)
        if key not in heads:
            heads[key] = stmt.replace(buffer=buffer.replace(), trivia=None)
        return heads[key].buffer

    def call(node: CallFunction) -> CallFunction:
        if node.function not in replaced:
            return node
        name, constants = replaced[node.function]
        return node.replace(function=name, args=(*node.args, *map(constant, constants)))

    made: PrimFunc = rewrite(func, {CallFunction: call})
    if not heads:
        return made
    at = next((at for at, stmt in enumerate(made.body) if type(stmt) is not MatchBuffer), len(made.body))
    body: tuple[Stmt, ...] = (*made.body[:at], *heads.values(), *made.body[at:])
    return made.replace(body=body)


__all__ = ["share_functions"]
