"""Large constants are kept compressed, and unpacked in the kernel before they are used.

before:                                            after:
    W = T.allocate_const(..., "int8", (64, 64))        W_packed = T.allocate_const(..., "uint8", (910,))
    for i, j in T.grid(64, 64):                        W = T.alloc_buffer((64, 64), "int8")
        B[i] += W[i, j] * A[j]                         W_bytes = T.decl_buffer((4096,), "uint8", data=W.data)
                                                       Module.unpack_zero_run(W_packed, W_bytes)
                                                       for i, j in T.grid(64, 64):
                                                           B[i] += W[i, j] * A[j]

Each constant is packed by itself. What one statement alone uses is unpacked before that statement and freed behind it,
so that after `slice_constants` one slice at a time takes memory. `W_packed` is annotated with the codec and the bytes
that it had. The function that unpacks joins the module. The codecs are those of `codecs.py` and the user's own.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.check import public
from tirscript.ir.constant import ConstantTensor, constant, constants_of
from tirscript.ir.dtype import VOID, dtype
from tirscript.ir.expr import BufferData, CallFunction, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs, are_same
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Attr,
    Bind,
    DeclBuffer,
    Evaluate,
    MatchBuffer,
    ScalarDecl,
    Stmt,
)

from ..names import Names
from ..pipeline import module_pass
from .codecs import CODECS, Codec, get_codec, give_back, packed_by

_UINT8 = dtype("uint8")
# statements whose names are seen behind them
_DEFINITIONS = frozenset((AllocBuffer, AllocateConst, Bind, DeclBuffer, MatchBuffer, ScalarDecl))


@module_pass(requires=("lower_blocks",))
def compress_constants(module: Module, *, codec: str = "best", least: int = 256, ratio: float = 0.9) -> Module:
    """`W = T.allocate_const(...)` becomes `W_packed`, `W = T.alloc_buffer(...)` and `Module.unpack(W_packed, W_bytes)`.

    `codec` is one of the table, or "best" of all; constants of fewer than `least` bytes stay, and those that would take
    more than `ratio` of what they take now.
    """
    codecs = list(CODECS.values()) if codec == "best" else [get_codec(codec)]
    work = _Compression(Packing(module, codecs), least, ratio)
    functions = tuple([work.function(func) if isinstance(func, PrimFunc) else func for func in module.functions])
    if not work.packing.used:
        return module
    return module.replace(functions=(*work.packing.added, *functions))


class Packing:
    """The codecs of a pass, and the functions that unpack, which join the module that it works on."""

    def __init__(self, module: Module, codecs: list[Codec]) -> None:
        self.module, self.codecs = module, codecs
        self.names = Names(func.name for func in module.functions)
        self.used: dict[str, str] = {}  # by codec: the name of the function that unpacks
        self.added: list[PrimFunc] = []

    def unpacking(self, codec: Codec) -> str:
        """The name of the function that unpacks, which joins the module."""
        name = self.used.get(codec.name)
        if name is None:
            function = codec.function()
            own = [func for func in self.module.functions if func.name == function.name]
            name = function.name
            if not own or own[0] != function:
                name = self.names.fresh(name)
                self.added.append(function.replace(name=name, private=True))
            self.used[codec.name] = name
        return name


class _Compression:
    def __init__(self, packing: Packing, least: int, ratio: float) -> None:
        self.packing, self.least, self.ratio = packing, least, ratio
        self.packed: dict[str, tuple[Codec, ConstantTensor] | None] = {}

    def pack(self, data: ConstantTensor) -> tuple[Codec, ConstantTensor] | None:
        """The best codec for a constant and what it makes of it; None where nothing is gained."""
        import numpy as np

        if data.digest in self.packed:
            return self.packed[data.digest]
        best: tuple[Codec, Any] | None = None
        raw = data.array.reshape(-1).view(np.uint8)
        for codec in self.packing.codecs:
            made = packed_by(codec, raw, data.dtype.itemsize)
            if (
                made is not None
                and made.nbytes <= self.ratio * data.nbytes
                and (best is None or made.nbytes < best[1].nbytes)
            ):
                best = codec, made
        found = None
        if best is not None:
            give_back(best[0], [(best[1], raw)])
            found = best[0], constant(best[1].copy())
        self.packed[data.digest] = found
        return found

    def function(self, func: PrimFunc) -> PrimFunc:
        """A function with its large constants packed."""
        for stmt in constants_of(func):
            if not stmt.data.resolved or stmt.data.nbytes < max(1, self.least) or "codec" in stmt.annotations:
                continue
            found = self.pack(stmt.data)
            if found is not None:
                func = self.replace(func, stmt, *found)
        return func

    def replace(self, func: PrimFunc, stmt: AllocateConst, codec: Codec, packed: ConstantTensor) -> PrimFunc:
        buffer, data = stmt.buffer, stmt.data
        plain = buffer if buffer.scope in ("global", "local") else buffer.replace(scope="global")
        kept = Buffer(f"{buffer.name}_packed", (const(packed.size),), _UINT8, span=buffer.span)
        notes = Attrs({**stmt.annotations, "codec": codec.name, "bytes": data.nbytes})
        whole = Buffer(f"{buffer.name}_bytes", (const(data.nbytes),), _UINT8, scope=plain.scope, span=buffer.span)
        call = CallFunction(self.packing.unpacking(codec), (kept, whole), VOID, span=stmt.span)
        made: tuple[Stmt, ...] = (
            AllocBuffer(plain, span=stmt.span),
            DeclBuffer(whole, BufferData(plain), span=stmt.span),
            Evaluate(call, span=stmt.span),
        )
        constant_ = AllocateConst(kept, packed, notes, span=stmt.span, trivia=stmt.trivia)

        def body(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            at = next((place for place, one in enumerate(stmts) if one is stmt), None)
            if at is None:
                return stmts
            users = [place for place in range(at + 1, len(stmts)) if any(node is buffer for node in walk(stmts[place]))]
            if not users:
                return (*stmts[:at], *stmts[at + 1 :])
            first = users[0]
            head, user, rest = stmts[at + 1 : first], stmts[first], stmts[first + 1 :]
            if len(users) == 1 and type(user) not in _DEFINITIONS:
                # the memory is there for this statement only
                user = user.replace(trivia=None) if user.trivia is not None else user
                around = Attr(
                    const(0), "unpacked", buffer.name, (*made, user), span=stmt.span, trivia=stmts[first].trivia
                )
                return (*stmts[:at], constant_, *head, around, *rest)
            return (*stmts[:at], constant_, *head, *made, user, *rest)

        changed = _in_bodies(func, body)
        if plain is not buffer:
            changed = rewrite(changed, {Buffer: lambda one: plain if one is buffer else one})
        return changed


def _in_bodies(func: PrimFunc, change: Any) -> PrimFunc:
    """The function with `change` applied to each of its bodies."""

    def visit(stmt: Stmt) -> Stmt:
        fields = {}
        for name in ("body", "then", "orelse", "init"):
            inner = getattr(stmt, name, None)
            if inner:
                new = bodies(inner)
                if new is not inner:
                    fields[name] = new
        return stmt.replace(**fields) if fields else stmt

    def bodies(stmts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        new = tuple([visit(stmt) for stmt in stmts])
        same = are_same(new, stmts)
        result: tuple[Stmt, ...] = change(stmts if same else new)
        return result

    body = bodies(func.body)
    return func if body is func.body else func.replace(body=body)


class Compressed(Struct, frozen=True):
    """A constant that is kept compressed: its slices, the bytes before, and those after with the table of slices."""

    function: str
    name: str
    codec: str
    slices: int
    before: int
    after: int


@public
def compression_report(program: PrimFunc | Module) -> list[Compressed]:
    """The compressed constants of a program, in source order."""
    functions = program.functions if isinstance(program, Module) else (program,)
    found = []
    for func in functions:
        for stmt in constants_of(func) if isinstance(func, PrimFunc) else ():
            notes = stmt.annotations
            if "codec" in notes and "bytes" in notes:
                after = stmt.data.nbytes + notes.get("table", 0)
                row = func.name, stmt.buffer.name, notes["codec"], notes.get("slices", 1), notes["bytes"], after
                found.append(Compressed(*row))
    return found


@public
def compression_table(program: PrimFunc | Module) -> str:
    """The compressed constants as a table: function, constant, codec, slices, bytes before and after, and the sums."""
    found = compression_report(program)
    rows: list[tuple[object, ...]] = [("function", "constant", "codec", "slices", "bytes", "packed", "part")]
    for one in found:
        part = f"{one.after / one.before:.0%}"
        rows.append((one.function, one.name, one.codec, one.slices, one.before, one.after, part))
    if found:
        slices, before, after = (sum(getattr(one, name) for one in found) for name in ("slices", "before", "after"))
        rows.append(("all", "", "", slices, before, after, f"{after / before:.0%}"))
    return as_table(rows, left=3)


def as_table(rows: list[tuple[object, ...]], left: int) -> str:
    """Rows as lines of columns, the first `left` of which begin at one place; the others end there."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        sized = zip(row, widths, strict=True)
        aligned = [cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(sized)]
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)
