"""Copies of constants in another layout become constants in that layout.

before:                                            after:
    W = T.constant("sha256:...", (64, 32))             P = T.constant("sha256:...", (2, 64, 16))
    P = T.alloc_buffer((2, 64, 16))                    for ...:
    for i, j in T.grid(64, 32):                            ... P[...]
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vj // 16, vi, vj % 16] = W[vi, vj]
    for ...:
        ... P[...]

What schedules copy for speed at every call is so copied once, when the function is compiled. A private function that
copies a parameter, and is called with constants for it everywhere, takes the copies instead: `cls.f(x, W)` becomes
`cls.f(x, W_packed)`. Copies may be padded with a number, and be bytes of the other sign, with their
highest bits turned. Those of over `limit` elements stay. A private function that hands a parameter on to such a
function takes the copy as well.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import ConstantTensor, known, room
from tirscript.ir.expr import BufferData, BufferLoad, Call, CallFunction, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.op import OPS, Op
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Block, BufferStore, DeclBuffer, For, Stmt

from ..pipeline import module_pass
from ..statements import keep_comments
from .constant_parameters import MARK, Given
from .strided_copy import Padding, strided_copy

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
    Copied = Callable[[Array], Array]  # from the elements of a source, in row-major order, to a target

LIMIT = 1 << 28


@module_pass(opt_level=1)
def pack_constants(module: Module, *, limit: int = LIMIT) -> Module:
    """`P[j // 16, i, j % 16] = W[i, j]` for all of a constant `W` becomes a constant `P`."""
    functions: dict[str, Any] = {
        one.name: _pack_own(one, limit) if type(one) is PrimFunc else one for one in module.functions
    }
    given = Given(functions)
    for one in module.functions:
        if type(one) is PrimFunc and one.private:
            _pack_parameters(one.name, given, limit)
            functions[one.name] = _without_mark(functions[one.name])
    if all(functions[one.name] is one for one in module.functions):
        return module
    return module.replace(functions=tuple(functions.values()))


def _without_mark(func: PrimFunc) -> PrimFunc:
    """A function whose parameters are not what they were."""
    return func.replace(attrs=func.attrs.without(MARK)) if MARK in func.attrs else func


def _pack_own(func: PrimFunc, limit: int) -> PrimFunc:
    """A function with the copies of its constants made."""
    constants = {stmt.buffer: stmt for stmt in func.body if type(stmt) is AllocateConst and stmt.data.resolved}
    packed: dict[Buffer, AllocateConst] = {}
    copies = _copies(func, constants)
    for copy in copies:
        copied = copy.copied(limit)
        if copied is not None:
            data = _copied(constants[copy.source].data, copied, copy.target)
            packed[copy.target] = AllocateConst(copy.target, data, span=copy.block.span)
    if not packed:
        return func
    sources, body = _without_copies(func, copies, packed)
    kept = [stmt for stmt in body if type(stmt) is not AllocateConst or stmt.buffer not in sources or _used(stmt, body)]
    return func.replace(body=tuple(kept))


def _pack_parameters(name: str, given: Given, limit: int) -> None:
    """Let a function take the copies of its parameters, where all that call it have constants for them."""
    func = given.functions[name]
    copies = _copies(func, func.params)
    if not copies:
        return
    # by the new parameter: whose copy it is, and how that is made
    packed: dict[Buffer, tuple[Buffer, Copied]] = {}
    for copy in copies:
        if given.constant(name, func.params.index(copy.source)):
            copied = copy.copied(limit)
            if copied is not None:
                packed[copy.target] = (copy.source, copied)
    if packed:
        _, body = _without_copies(func, copies, dict.fromkeys(packed))
        _take_copies(func, func.replace(body=tuple(body)), packed, given)


def _take_copies(
    func: PrimFunc, without: PrimFunc, packed: Mapping[Buffer, tuple[Buffer, Copied]], given: Given
) -> None:
    """Give a function that is `without` copies these as parameters, in place of those that it does not use any more."""
    used = set(map(id, walk(without.body)))
    gone = {source for source, _ in packed.values() if id(source) not in used}
    kept = [at for at, param in enumerate(func.params) if param not in gone]
    given.put(without.replace(params=(*(func.params[at] for at in kept), *packed)))
    for caller in given.calls[func.name]:
        before = given.functions[caller]
        made, more = _with_copies(before, func, kept, packed)
        if more:
            _take_copies(before, made, more, given)
        else:
            given.put(made)


def _with_copies(
    caller: PrimFunc,
    callee: PrimFunc,
    kept: Sequence[int],
    packed: Mapping[Buffer, tuple[Buffer, Copied]],
) -> tuple[PrimFunc, dict[Buffer, tuple[Buffer, Copied]]]:
    """A function that calls another with the parameters that are `kept`, and copies of the constants in the others;
    and the copies of its own parameters that it takes for that."""
    constants = {stmt.buffer: stmt for stmt in caller.body if type(stmt) is AllocateConst}
    made: dict[tuple[Buffer, Buffer], AllocateConst] = {}
    more: dict[tuple[Buffer, Buffer], Buffer] = {}

    def copied(target: Buffer, given: Any) -> Buffer:
        name = f"{given.name}_packed"
        if given not in constants:
            return more.setdefault((target, given), target.replace(name=name))
        found = made.get((target, given))
        if found is None:
            stmt = constants[given]
            data = _copied(stmt.data, packed[target][1], target)
            found = made[target, given] = AllocateConst(target.replace(name=name), data, span=stmt.span)
        return found.buffer

    def call(node: CallFunction) -> CallFunction:
        if node.function != callee.name:
            return node
        copies = (copied(target, node.args[callee.params.index(source)]) for target, (source, *_) in packed.items())
        return node.replace(args=(*(node.args[at] for at in kept), *copies))

    body: tuple[Stmt, ...] = rewrite(caller.body, {CallFunction: call})
    copies: dict[Buffer, list[Stmt]] = {}
    for (_, source), copy in made.items():
        copies.setdefault(source, []).append(copy)
    used = set(map(id, walk(tuple(stmt for stmt in body if type(stmt) is not AllocateConst))))
    out: list[Stmt] = []
    for stmt in body:
        new = copies.get(stmt.buffer, []) if type(stmt) is AllocateConst else []
        unused = new and id(stmt.buffer) not in used  # type: ignore[attr-defined]
        out += keep_comments(stmt, tuple(new)) if unused else [stmt, *new]
    own = {buffer: (given, packed[target][1]) for (target, given), buffer in more.items()}
    return caller.replace(body=tuple(out)), own


def _copied(data: ConstantTensor, made: Copied, target: Buffer) -> ConstantTensor:
    return known(made(data.array.reshape(-1)), target.dtype)


def _copies(func: PrimFunc, sources: Collection[Any]) -> list[_Copy]:
    """The statements of a function that copy one of `sources` into a buffer that is written nowhere else."""
    if not sources:
        return []
    found = [copy for copy in _all_copies(func.body, ()) if copy.source in sources]
    if not found:
        return []
    allocated = {stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer and _is_plain(stmt)}
    return [
        copy
        for copy in found
        if copy.target in allocated and _writers(func, copy.target) == 1 and not _is_viewed(func, copy.target)
    ]


def _all_copies(stmts: tuple[Stmt, ...], loops: tuple[For, ...]) -> Iterator[_Copy]:
    """The copies among statements, and in their loops."""
    for stmt in stmts:
        copy = _copy(stmt, loops)
        if copy is not None:
            yield copy
        elif type(stmt) is For and stmt.kind != "thread_binding":
            yield from _all_copies(stmt.body, (*loops, stmt))


def _without_copies(
    func: PrimFunc, copies: list[_Copy], packed: Mapping[Buffer, AllocateConst | None]
) -> tuple[set[Buffer], list[Stmt]]:
    """What the copies to some buffers read, and the body without them; statements stand for the allocations."""
    done = [copy for copy in copies if copy.target in packed]
    gone = {id(copy.stmt) for copy in done}

    def without(stmts: tuple[Stmt, ...]) -> list[Stmt]:
        body: list[Stmt] = []
        waiting: Stmt | None = None
        for stmt in stmts:
            made: Stmt | None = stmt
            if id(stmt) in gone:
                waiting, made = stmt, None
            elif type(stmt) is AllocBuffer and stmt.buffer in packed:
                found = packed[stmt.buffer]
                made = None if found is None else found.replace(trivia=stmt.trivia)
            elif type(stmt) is For:
                inner = tuple(without(stmt.body))
                if len(inner) != len(stmt.body) or any(map(operator.is_not, inner, stmt.body)):
                    made = stmt.replace(body=inner) if inner else None
            if made is not None:
                body += (made,) if waiting is None else keep_comments(waiting, (made,))
                waiting = None
        return body

    return {copy.source for copy in done}, without(func.body)


class _Copy:
    """A nest of loops around one block that stores elements of one buffer into another; `loops` are also those around
    the nest."""

    def __init__(self, stmt: Stmt, loops: list[For], block: Block, store: BufferStore, read: _Read) -> None:
        self.stmt, self.block, self.store, self.load = stmt, block, store, read.load
        self.condition, self.padding, self.flipped = read.condition, read.padding, read.flipped
        values = [axis.value for axis in block.axes]
        used = {node for part in (*values, *store.indices, store.value) for node in walk(part, Var)}
        self.loops = [loop for loop in loops if loop.var in used]

    @property
    def target(self) -> Buffer:
        return self.store.buffer

    @property
    def source(self) -> Buffer:
        return self.load.buffer

    def copied(self, limit: int) -> Copied | None:
        """What makes the target of the source's elements; None where the target is too large, or not copied whole, each
        element once, at known indices."""
        import numpy as np

        shape = self.target.constant_shape()
        given = self.source.constant_shape()
        steps: dict[Var, Array] = {}
        count = 1
        for loop in self.loops:
            if type(loop.start) is not Const or type(loop.stop) is not Const or loop.step is not None:
                return None
            steps[loop.var] = np.arange(int(loop.start.value), int(loop.stop.value))
            count *= len(steps[loop.var])
        if shape is None or given is None or count > limit or count == 0 or count != math.prod(shape):
            return None
        axes = [(axis.var, axis.value) for axis in self.block.axes]
        padding = None
        if self.condition is not None and self.padding is not None:
            padding = Padding(self.condition, self.padding.value)
        found = strided_copy(steps, axes, (self.store.indices, shape), (self.load.indices, given), padding)
        made = self._gathered(steps, shape, given) if found is None else found
        return made if self.flipped is None or made is None else _with_flipped(made, self.flipped, self.target)

    def _gathered(self, steps: Mapping[Var, Array], shape: tuple[int, ...], given: tuple[int, ...]) -> Copied | None:
        """The copy by the place of each element."""
        import numpy as np

        values: dict[Var, Any] = {
            var: axis.reshape([-1 if place == at else 1 for place in range(len(steps))])
            for at, (var, axis) in enumerate(steps.items())
        }
        try:
            for one in self.block.axes:
                values[one.var] = _value(one.value, values)
            there = tuple(_value(index, values) for index in self.store.indices)
            here = tuple(_value(index, values) for index in self.load.indices)
            copied = True if self.condition is None else _value(self.condition, values)
        except LookupError:
            return None
        inside: Any = True
        for index, size in zip(here, given, strict=True):
            inside = inside & (index >= 0) & (index < size)
        if not _inside(there, shape) or not bool(np.all(inside | np.logical_not(copied))):
            return None
        # by element of the target, in row-major order: -1 where it is padding, -2 where it is not written
        places = np.full(shape, -2, np.intp)
        *target, source = np.broadcast_arrays(*there, np.where(copied, _row_major(here, given), -1))
        places[tuple(target)] = source
        if bool((places < -1).any()):
            return None

        def made(elements: Array) -> Array:
            found = room(shape, elements.dtype)
            found[...] = elements[places]
            if self.padding is not None:
                found[places < 0] = self.padding.value
            return found

        return made


def _copy(nest: Stmt, around: tuple[For, ...]) -> _Copy | None:
    loops, stmt = list(around), nest
    while type(stmt) is For and len(stmt.body) == 1 and stmt.kind != "thread_binding":
        loops.append(stmt)
        stmt = stmt.body[0]
    if type(stmt) is not Block or stmt.init is not None or stmt.predicate is not None or len(stmt.body) != 1:
        return None
    store = stmt.body[0]
    if type(store) is not BufferStore or store.predicate is not None:
        return None
    read = _read(store.value)
    if read is None or any(axis.kind != "spatial" for axis in stmt.axes):
        return None
    same = read.load.buffer.dtype is store.buffer.dtype or read.flipped is not None
    plain = read.load.predicate is None and same
    return _Copy(nest, loops, stmt, store, read) if plain else None


class _Read(NamedTuple):
    """What is stored: an element, or the padding where a condition is false; some of its bits may be turned, and it be
    of another dtype of whole numbers then."""

    load: BufferLoad
    condition: Expr | None = None
    padding: Const | None = None
    flipped: Const | None = None


def _with_flipped(made: Copied, bits: Const, target: Buffer) -> Copied:
    """A copy whose bits are turned where those of a number are set, as the target's dtype."""
    import numpy as np

    def flipped(elements: Array) -> Array:
        found = made(elements)
        np.bitwise_xor(found, bits.value, out=found)
        return found.view(str(target.dtype))

    return flipped


def _read(value: Expr) -> _Read | None:
    if type(value) is Call and value.op is OPS["reinterpret"] and value.dtype.is_int and value.dtype.lanes == 1:
        (turned,) = value.args
        if type(turned) is Call and turned.op is OPS["bitwise_xor"] and type(turned.args[1]) is Const:
            inner = _read(turned.args[0])
            return None if inner is None or inner.flipped is not None else inner._replace(flipped=turned.args[1])
    if type(value) is BufferLoad:
        return _Read(value)
    if type(value) is Call and value.op in CHOICES:
        condition, load, padding = value.args
        if type(load) is BufferLoad and type(padding) is Const:
            return _Read(load, condition, padding)
    return None


def _value(expr: Expr, values: dict[Var, Any]) -> Any:
    """An index for all iterations at once; LookupError where it is not one of their variables alone."""
    if type(expr) is Const:
        return int(expr.value)
    if type(expr) is Var:
        return values[expr]
    if type(expr) is Call and expr.op in _RULES and (expr.dtype.is_int or expr.dtype.is_bool):
        return _RULES[expr.op](*(_value(arg, values) for arg in expr.args))
    raise LookupError


def _inside(indices: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    import numpy as np

    return all(
        int(np.min(index)) >= 0 and int(np.max(index)) < size for index, size in zip(indices, shape, strict=True)
    )


def _row_major(indices: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """The place of an element in row-major order."""
    place: Any = 0
    for index, size in zip(indices, shape, strict=True):
        place = place * size + index
    return place


_RULES: dict[Op, Callable[..., Any]] = {
    OPS["add"]: lambda a, b: a + b,
    OPS["sub"]: lambda a, b: a - b,
    OPS["mul"]: lambda a, b: a * b,
    OPS["floordiv"]: lambda a, b: a // b,
    OPS["floormod"]: lambda a, b: a % b,
    OPS["cast"]: lambda a: a,
    OPS["less"]: lambda a, b: a < b,
    OPS["less_equal"]: lambda a, b: a <= b,
    OPS["logical_and"]: lambda a, b: a & b,
}


def _is_plain(stmt: AllocBuffer) -> bool:
    buffer = stmt.buffer
    return (
        buffer.strides is None
        and buffer.elem_offset is None
        and buffer.scope == "global"
        and buffer.dtype.lanes == 1
        and not stmt.annotations
    )


def _writers(func: PrimFunc, buffer: Buffer) -> int:
    return sum(type(node) is BufferStore and node.buffer is buffer for node in walk(func.body))


def _is_viewed(func: PrimFunc, buffer: Buffer) -> bool:
    """Whether the memory of a buffer is reached otherwise than by loads and stores of its elements, or by loads of
    another buffer that is laid over it."""
    addresses = 0
    for node in walk(func.body):
        if type(node) is BufferData and node.buffer is buffer:
            return True
        if type(node) is CallFunction and any(getattr(arg, "buffer", arg) is buffer for arg in node.args):
            return True
        if type(node) is Call and node.op is OPS["address_of"] and any(part is buffer for part in walk(node)):
            addresses += 1
        elif type(node) is DeclBuffer and _lies_over(node, buffer):
            if _writers(func, node.buffer) or _is_viewed(func, node.buffer):
                return True
            addresses -= 1
    return addresses != 0


def _lies_over(stmt: DeclBuffer, buffer: Buffer) -> bool:
    """Whether a declared buffer begins at an element of another one."""
    data = stmt.data
    element = data.args[0] if type(data) is Call and data.op is OPS["address_of"] else None
    return type(element) is BufferLoad and element.buffer is buffer


def _used(stmt: AllocateConst, body: list[Stmt]) -> bool:
    """Whether anything but the statement itself names its buffer."""
    return any(node is stmt.buffer for other in body if other is not stmt for node in walk(other))


__all__ = ["LIMIT", "pack_constants"]
