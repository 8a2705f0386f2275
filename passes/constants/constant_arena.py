"""The constants of a module in one piece of memory.

before:                                        after:
    def f(B):                                      def f(B):
        W = T.constant("sha256:...", (99,), ...)       constants = T.constant("sha256:...", (192,), "uint8", align=64)
                                                       W = T.decl_buffer((99,), ..., data=constants.data)
    def g(B):                                      def g(B):
        V = T.constant("sha256:...", (16,), ...)       constants = T.constant("sha256:...", (192,), "uint8", align=64)
                                                       V = T.decl_buffer(..., data=T.address_of(constants[128]))

Each begins at a multiple of 64 bytes, equal ones are there once. What the code holds itself (`place_of`) stays: where
elements are read at known indices, LLVM and `simplify` need the constant, so this is a pass for the end of a pipeline,
and for code that is exported with one file of constants beside it.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import ConstantTensor, constant, constants_of
from tirscript.ir.dtype import dtype
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.rewrite import rewrite
from tirscript.ir.stmt import AllocateConst, DeclBuffer, MatchBuffer

from ..arenas import ALIGN, address_in, number_of
from ..pipeline import module_pass
from .placement import place_of


@module_pass()
def constant_arena(module: Module) -> Module:
    """`W = T.constant(...)` becomes `W = T.decl_buffer(..., data=T.address_of(constants[64]))`."""
    found: dict[str, ConstantTensor] = {}
    for func in module.prim_funcs:
        for stmt in constants_of(func):
            if _moves(stmt, func):
                found.setdefault(stmt.data.digest, stmt.data)
    if len(found) < 2:
        return module
    offsets, size = {}, 0
    for digest, data in sorted(found.items(), key=lambda item: (-item[1].nbytes, item[0])):
        offsets[digest] = size
        size += -(-data.nbytes // ALIGN) * ALIGN
    arena = _filled(found, offsets, size)
    functions = tuple(_moved(one, arena, offsets) if isinstance(one, PrimFunc) else one for one in module.functions)
    return module.replace(functions=functions)


def _moves(stmt: AllocateConst, func: PrimFunc) -> bool:
    plain = stmt.buffer.scope in ("global", "global.const") and stmt.buffer.align <= ALIGN and not stmt.annotations
    return plain and stmt.data.resolved and place_of(stmt, func) == "memory"


def _filled(found: dict[str, ConstantTensor], offsets: dict[str, int], size: int) -> ConstantTensor:
    import numpy as np

    memory = np.zeros(size, np.uint8)
    for digest, at in offsets.items():
        data = found[digest]
        memory[at : at + data.nbytes] = data.array.reshape(-1).view(np.uint8)
    return constant(memory)


def _moved(func: PrimFunc, arena: ConstantTensor, offsets: dict[str, int]) -> PrimFunc:
    """A function whose constants are views of the arena."""
    buffer = Buffer("constants", (number_of(arena.size),), dtype("uint8"), align=ALIGN)
    views: list[AllocateConst] = []

    def view(stmt: AllocateConst) -> Any:
        if not _moves(stmt, func):
            return stmt
        views.append(stmt)
        place = address_in(buffer, offsets[stmt.data.digest])
        return DeclBuffer(stmt.buffer, place, span=stmt.span, trivia=stmt.trivia)

    body = rewrite(func.body, {AllocateConst: view})
    if not views:
        return func
    head = next((at for at, stmt in enumerate(body) if type(stmt) is not MatchBuffer), len(body))
    return func.replace(body=(*body[:head], AllocateConst(buffer, arena, span=views[0].span), *body[head:]))


__all__ = ["constant_arena"]
