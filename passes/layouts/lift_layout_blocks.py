"""Blocks that pack and crop parameters become functions of their own, which the graph calls.

before:                                            after:
    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def grow(A: ..., B: ...):                          def grow_pad_A(A: (14,), A_packed: (4, 4)): ...
        A_packed = T.alloc_buffer((4, 4), "int32")
        ... with T.block("A_pad"):                     @T.prim_func(private=True)
                T.block_attr({"preproc": "pad"})       def grow_packed(A_packed: (4, 4), B_packed: (4, 4)): ...
        ... B_packed[...] = A_packed[...] * 2
        ... with T.block("B_crop"):                    @T.prim_func(private=True)
                T.block_attr({"postproc": ("crop",)})   def grow_crop_B(B_packed: (4, 4), B: (14,)): ...
    ...
    y = G.call_tir(cls.grow, (x,))                     lv = G.call_tir(cls.grow_pad_A, (x,))
                                                       lv_1 = G.call_tir(cls.grow_packed, (lv,))
                                                       y = G.call_tir(cls.grow_crop_B, (lv_1,))

What a crop says of the padding, `("crop", 0)`, is assumed at the head of the new function. A block is lifted where it
is all that touches the parameter, a pad in front of and a crop behind all other uses of the packed buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import Const, Expr, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphBind, GraphExpr, GraphFunc, TensorType
from tirscript.ir.module import Module
from tirscript.ir.rewrite import refresh, rewrite, walk
from tirscript.ir.span import Span
from tirscript.ir.stmt import AllocBuffer, Block, For, Stmt
from tirscript.ir.written import written_params

from ..names import Names
from ..pipeline import module_pass
from .calls import Instances, buffer_type, call, closed
from .converters import claim_of
from .mapping import PadMapping, conversion_of
from .value_layouts import with_layouts

PREPROC, POSTPROC, PAD, CROP = "preproc", "postproc", "pad", "crop"


class Part(Struct, frozen=True, eq=False):
    """A new function, the type of what it gives, and the sizes that it takes as scalars, in those of the graph."""

    func: PrimFunc
    kind: TensorType
    scalars: tuple[Expr, ...]

    @staticmethod
    def of(func: PrimFunc) -> Part:
        """The part that a function in the sizes of the graph is."""
        made, scalars = closed(func)
        return Part(refresh(made), buffer_type(_result(func)), scalars)

    def bind(self, name: str, args: Sequence[GraphExpr], kind: TensorType, span: Span | None) -> GraphBind:
        """A call of it."""
        return call(name, self.func.name, args, kind, span=span, scalars=self.scalars)


class Lifted(Struct, frozen=True, eq=False):
    """A function in parts: `pads` by the place of the parameter, the packed one, and the crop of the result."""

    pads: dict[int, Part]
    packed: Part
    crop: Part | None


@module_pass()
def lift_layout_blocks(module: Module) -> Module:
    """`y = G.call_tir(cls.f, (x,))` becomes calls of `f_pad_A`, `f_packed` and `f_crop_B`, where f has such blocks."""
    names = Names(function.name for function in module.functions)
    instances = Instances(module)
    parts: dict[PrimFunc, Lifted | None] = {}
    made: list[PrimFunc] = []

    def lifted(func: PrimFunc) -> Lifted | None:
        if func not in parts:
            found = parts[func] = _split(func, names, module)
            if found is not None:
                new = (*found.pads.values(), found.packed, *(() if found.crop is None else (found.crop,)))
                made.extend(part.func for part in new)
        return parts[func]

    def bind(stmt: GraphBind) -> Any:
        found = instances.called(stmt.value)
        split = None if found is None else lifted(found[0])
        if found is None or split is None:
            return stmt
        args = found[1]
        kind = stmt.var.type
        assert type(kind) is TensorType
        binds: list[GraphBind] = []
        given = list(args)
        for at, pad in split.pads.items():
            one = pad.bind(f"{stmt.var.name}_pad", (args[at],), pad.kind, stmt.span)
            binds.append(one)
            given[at] = one.var
        if split.crop is None:
            last = split.packed.bind(stmt.var.name, given, kind, stmt.span)
        else:
            binds.append(split.packed.bind(f"{stmt.var.name}_packed", given, split.packed.kind, stmt.span))
            last = split.crop.bind(stmt.var.name, (binds[-1].var,), kind, stmt.span)
        return (*binds, stmt.replace(value=last.value))

    functions = []
    for function in module.functions:
        functions.append(rewrite(function, {GraphBind: bind}) if type(function) is GraphFunc else function)
    if not made:
        return module
    gone = {func.name for func, found in parts.items() if found is not None}
    kept = [one for one in functions if not (one.name in gone and one.private and not _is_called(one.name, functions))]
    return module.replace(functions=(*made, *kept))


def _result(func: PrimFunc) -> Buffer:
    last = func.params[-1]
    assert type(last) is Buffer
    return last


def _is_called(name: str, functions: list[Any]) -> bool:
    return any(getattr(node, "function", None) == name for function in functions for node in walk(function))


def _split(func: PrimFunc, names: Names, module: Module) -> Lifted | None:
    """The parts of a function; None where it has nothing to lift."""
    params = [param for param in func.params if type(param) is Buffer]
    held = {stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer}
    body = list(func.body)
    stand_in: dict[Buffer, Buffer] = {}
    layouts: dict[Buffer, PadMapping | None] = {}
    pads: dict[int, Part] = {}
    crop: Part | None = None
    for stmt in func.body:
        block = _marked(stmt)
        if block is None:
            continue
        pad = block.annotations.get(PREPROC) == PAD
        mark = block.annotations.get(POSTPROC)
        for source, target in _copies(stmt, params, held, pad):
            rest = [other for other in body if other is not stmt]
            outer, inner = (source, target) if pad else (target, source)
            at = body.index(stmt)
            beside = body[:at] if pad else body[at + 1 :]
            if inner in stand_in or outer in stand_in or _touches(rest, outer) or _uses(beside, inner):
                continue
            if pad and _writes(rest, inner, module):
                continue  # as an argument it may be another call's too
            prologue = () if pad else _claim(stmt, block, source, mark)
            name = f"{func.name}_{PAD if pad else CROP}_{outer.name}"
            made = PrimFunc(name, (source, target), (*prologue, stmt), private=True)
            found = conversion_of(made)
            if found is None or (not pad and outer is not params[-1]):
                continue
            layouts[inner] = found.mapping
            part = Part.of(made.replace(name=names.fresh(name)))
            body = rest
            stand_in[outer] = inner
            if pad:
                pads[params.index(outer)] = part
            else:
                crop = part
    if not stand_in:
        return None
    inner_buffers = set(stand_in.values())
    left = tuple(stmt for stmt in body if type(stmt) is not AllocBuffer or stmt.buffer not in inner_buffers)
    packed = func.replace(
        name=names.fresh(f"{func.name}_packed"),
        params=tuple(stand_in.get(param, param) for param in func.params),  # type: ignore[arg-type]
        body=left,
        attrs=with_layouts(func.attrs.without("op_pattern"), layouts),
        private=True,
        docstring=None,
        trivia=None,
    )
    return Lifted(pads, Part.of(packed), crop)


def _marked(stmt: Stmt) -> Block | None:
    """The only block in loops, where it is marked."""
    while type(stmt) is For and len(stmt.body) == 1:
        stmt = stmt.body[0]
    if type(stmt) is not Block:
        return None
    mark = stmt.annotations.get(POSTPROC)
    crops = isinstance(mark, (list, tuple)) and len(mark) > 0 and mark[0] == CROP
    return stmt if stmt.annotations.get(PREPROC) == PAD or crops or mark == CROP else None


def _copies(stmt: Stmt, params: list[Buffer], held: set[Buffer], pad: bool) -> list[tuple[Buffer, Buffer]]:
    """The buffers that a nest copies from and to: a parameter and one that the function allocates."""
    used = list(dict.fromkeys(walk(stmt, Buffer)))
    outer, inner = [one for one in used if one in params], [one for one in used if one in held]
    if len(outer) != 1 or len(inner) != 1:
        return []
    return [(outer[0], inner[0]) if pad else (inner[0], outer[0])]


def _touches(stmts: list[Stmt], buffer: Buffer) -> bool:
    return any(node is buffer for stmt in stmts for node in walk(stmt))


def _uses(stmts: list[Stmt], buffer: Buffer) -> bool:
    """Whether statements do more with a buffer than to allocate it."""
    return _touches([stmt for stmt in stmts if type(stmt) is not AllocBuffer], buffer)


def _writes(stmts: list[Stmt], buffer: Buffer, module: Module) -> bool:
    """Whether statements may write a buffer that they do not allocate."""
    body = tuple(stmt for stmt in stmts if type(stmt) is not AllocBuffer or stmt.buffer is not buffer)
    return buffer in written_params(PrimFunc("rest", (buffer,), body), module)


def _claim(stmt: Stmt, block: Block, source: Buffer, mark: object) -> tuple[Stmt, ...]:
    """What a crop says of the padding of `source`, as loops around an assumption."""
    if not isinstance(mark, (list, tuple)) or len(mark) < 2:
        return ()
    said = mark[1]
    bare = conversion_of(PrimFunc("crop", tuple(_ends(stmt, source)), (stmt,)))
    if bare is None or bare.packs or not bare.mapping.padded:
        return ()
    try:
        value = said if type(said) is Const else const(said, source.dtype)
    except (TypeError, ValueError) as problem:
        message = f"`{block.name}` says of the padding of `{source.name}` what is no number of it: {problem}"
        hint = f'write ("crop", x) where x is {source.dtype}, or ("crop",)'
        raise DiagnosticError([error("T301", message, block.span, hint=hint)]) from None
    if value.dtype is not source.dtype:
        return ()
    return (claim_of(source, bare.mapping, value),)


def _ends(stmt: Stmt, source: Buffer) -> list[Buffer]:
    used = list(dict.fromkeys(walk(stmt, Buffer)))
    return [source, *(one for one in used if one is not source)]


__all__ = ["Lifted", "lift_layout_blocks"]
