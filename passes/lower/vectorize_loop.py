"""Loops marked T.vectorized become vector code.

before:                                            after:
    for i in T.vectorized(4):                          B[0:4] = A[0:4] + T.broadcast(T.float32(1.0), 4)
        B[i] = A[i] + 1.0

An `if` or a conditional expression that differs between lanes becomes a predicate on the loads and stores in it. A loop
longer than `lanes` becomes a serial loop of vectors, and one shorter vector for the iterations that are left. A loop
stays a loop, a serial one, where its length is not constant, where lanes may touch the same element, or where its body
has something without a vector form (a call with effects, an allocation, a `while`). With `checked` so does an access of
several indices that may leave its row: a vector may run on into the next one, the lanes of a loop may not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.arith.bounds import Interval, bounds, exact
from tirscript.ir.arith.linear import Linear, linear, wrap
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Broadcast, BufferData, BufferLoad, Call, Const, Expr, Let, Ramp, StringImm, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS, cast, get_op
from tirscript.ir.op_sets import DIVISIONS
from tirscript.ir.rewrite import definitions, holds, map_tuple, refresh, substitute, walk
from tirscript.ir.stmt import Attr, Bind, BufferStore, DeclBuffer, For, If, ScalarDecl, Stmt

from ..access import Accesses, Extent, box, constant_extent, constant_ranges, loop_range
from ..pipeline import prim_func_pass
from ..simplify import simplified
from ..statements import keep_comments, map_except_buffers
from .kept_loads import always_loaded, with_kept_loads

EIGHT = 8  # lanes of the smallest vectors that are worth a loop


@prim_func_pass(requires=("lower_blocks", "lower_match_buffer"))
def vectorize_loop(func: PrimFunc, *, lanes: int = 64, checked: bool = False) -> PrimFunc:
    """`for i in T.vectorized(4): B[i] = A[i]` becomes `B[T.ramp(0, 1, 4)] = A[T.ramp(0, 1, 4)]`."""
    roots = _roots(func)

    def visit(node: Any, around: tuple[For, ...]) -> Any:
        if not isinstance(node, Stmt):
            return node
        if type(node) is For:
            if node.kind == "vectorized":
                return _vectorize(
                    node, around, func, roots, lanes, checked, lambda inner: visit(inner, (*around, node))
                )
            around = (*around, node)
        return map_except_buffers(node, lambda child: visit(child, around))

    body = map_tuple(func.body, lambda stmt: visit(stmt, ()))
    return func if body is func.body else func.replace(body=body)


def _roots(func: PrimFunc) -> dict[Buffer, Buffer | None]:
    """The memory that each view is of: another buffer, or None where that is not known."""
    found: dict[Buffer, Buffer | None] = {}
    for node in walk(func.body):
        if type(node) is DeclBuffer:
            source: Any = node.data
            if type(source) is Call and source.op is OPS["address_of"]:
                source = source.args[0]
            root = source.buffer if type(source) in (BufferData, BufferLoad) else None
            found[node.buffer] = found.get(root, root) if root is not None else None
    return found


class _Refuse(Exception):
    """The loop has no vector form."""


def _vectorize(
    loop: For,
    around: tuple[For, ...],
    func: PrimFunc,
    roots: dict[Buffer, Buffer | None],
    most: int,
    checked: bool,
    visit: Callable[[Stmt], Any],
) -> Any:
    extent = constant_extent(loop)
    if extent == 0:
        return ()
    if extent is not None and extent > 1 and most > 1:
        try:
            made = _pieces(loop, around, extent, _width(extent, most), checked)
            if _in_stretches(loop, around, roots) or _is_proved(loop, around, func):
                return keep_comments(loop, made)
        except _Refuse:
            pass
    serial = loop.replace(kind="serial")
    return map_except_buffers(serial, visit)


def in_vectors(loop: For, first: Expr, lanes: int) -> tuple[Stmt, ...] | None:
    """So many iterations of a loop, which the caller knows to be independent, from `first` on as one vector;
    None where they have no vector form."""
    try:
        return _Vectorizer(loop, first, lanes, ()).body(loop.body, None)
    except _Refuse:
        return None


def _pieces(loop: For, around: tuple[For, ...], extent: int, width: int, checked: bool) -> tuple[Stmt, ...]:
    """Vectors of `width` lanes in a loop, and what is left in one shorter vector."""
    kind, count, rest = loop.var.dtype, extent // width, extent % width
    pieces: list[Stmt] = []
    if count == 1:
        pieces += _Vectorizer(loop, loop.start, width, around, checked).body(loop.body, None)
    else:
        chunk = Var(f"{loop.var.name}_outer", kind)
        base = simplified(loop.start + chunk * Const(wrap(width, kind), kind))
        body = _Vectorizer(loop, base, width, around, checked).body(loop.body, None)
        plain = loop.replace(var=chunk, start=Const(0, kind), stop=Const(count, kind), kind="serial", body=body)
        pieces.append(plain.replace(trivia=None))
    if rest:
        body, first = refresh(loop.body), simplified(loop.start + Const(wrap(count * width, kind), kind))
        if rest == 1:
            pieces += substitute(body, {loop.var: first})
        else:
            pieces += _Vectorizer(loop, first, rest, around, checked).body(body, None)
    return tuple(pieces)


def _width(extent: int, most: int) -> int:
    """How many lanes: all, or at most `most`, better a number that divides the extent and fills registers."""
    if extent <= most:
        return extent
    whole = most - most % EIGHT or most
    return next((width for width in range(whole, EIGHT, -EIGHT) if extent % width == 0), most)


def _in_stretches(loop: For, around: tuple[For, ...], roots: dict[Buffer, Buffer | None]) -> bool:
    """Whether bounds of indices say that no lane touches an element that another lane writes."""
    seen = Accesses(loop.body, known=constant_ranges((*around, loop)))
    private = {stmt.buffer for stmt in walk(loop.body, ScalarDecl)}
    inner = frozenset(node for node in definitions(loop.body) if type(node) is Var)
    found = [access for access in seen.found if access.buffer not in private]
    written = {roots.get(access.buffer, access.buffer) for access in found if access.write}
    touched = {roots.get(access.buffer, access.buffer) for access in found}
    if None in touched and written:
        return False
    for root in written:
        mine = [access for access in found if roots.get(access.buffer, access.buffer) is root]
        if len({access.buffer for access in mine}) != 1:
            return False
        areas = [box(access, seen, inner) for access in mine]
        known = [area for area in areas if area is not None]
        if len(known) != len(areas) or not any(
            _apart([area[dim] for area in known], loop) for dim in range(len(known[0]))
        ):
            return False
    return True


def _is_proved(loop: For, around: tuple[For, ...], func: PrimFunc) -> bool:
    """Whether no lane touches an element that another lane writes, by all that is known: each lane may read the plane
    `t % 2` and write the plane `(t + 1) % 2`."""
    from tirscript.ir.arith.presburger import Dependences, is_parallel

    return is_parallel(Dependences((loop,), constant_ranges(around), within=func), loop)


def _apart(extents: list[Extent], loop: For) -> bool:
    """Whether in one dimension the lanes stay in stretches of their own."""
    first: Linear | None = None
    low = high = step = 0
    for extent in extents:
        if extent is None or (first is not None and extent[0].dtype is not first.dtype):
            return False
        if first is None:
            first = extent[0].without(loop.var)
            step = extent[0].terms.get(loop.var, 0)
        a, b = extent[0].without(loop.var) - first, extent[1].without(loop.var) - first
        same = all(end.terms.get(loop.var, 0) == step for end in extent)
        if not (same and a.is_constant and b.is_constant):
            return False
        low, high = min(low, a.constant), max(high, b.constant)
    count = constant_extent(loop) or 0
    bits = loop.var.dtype.bits if first is None else first.dtype.bits
    return high - low < abs(step) and abs(step) * count + high - low < 1 << (bits - 1)


_NOT_BY_LANE = frozenset(OPS[name] for name in ("undef", "isnullptr"))
_BY_NAME = ("call_pure_extern", "call_llvm_pure_intrin")


class _Vectorizer:
    """Makes all lanes of a body at once. Scalars that are the same in all lanes stay scalars."""

    def __init__(self, loop: For, base: Expr, lanes: int, around: tuple[For, ...], checked: bool = False) -> None:
        self.loop, self.base, self.lanes, self.checked = loop, base, lanes, checked
        self.vars: dict[Var, Expr] = {loop.var: Ramp(base, Const(1, loop.var.dtype), lanes)}
        self.scalars: dict[Buffer, Buffer] = {}
        self.ranges: dict[Var, Interval] = constant_ranges((*around, loop))

    # statements; `mask` says which lanes run them, None for all

    def body(self, stmts: tuple[Stmt, ...], mask: Expr | None) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in stmts:
            rule = _STMTS.get(type(stmt))
            if rule is None:
                raise _Refuse
            out += rule(self, stmt, mask)
        return tuple(out)

    def store(self, stmt: BufferStore, mask: Expr | None) -> tuple[Stmt, ...]:
        if stmt.predicate is not None or stmt.buffer.dtype.is_vector:
            raise _Refuse
        value = self.wide(self.expr(stmt.value, mask))
        private = self.scalars.get(stmt.buffer)
        if private is not None:
            if mask is not None:
                value = get_op("Select")(mask, value, BufferLoad(private, ()))
            return (stmt.replace(buffer=private, value=value),)
        indices = self.indices(stmt.indices, mask)
        if not indices or not indices[-1].dtype.is_vector:
            raise _Refuse
        return (stmt.replace(indices=indices, value=value, predicate=mask),)

    def declare(self, stmt: ScalarDecl, mask: Expr | None) -> tuple[Stmt, ...]:
        if stmt.buffer.dtype.is_vector or stmt.buffer.dtype.is_handle:
            raise _Refuse
        value = None if stmt.value is None else self.wide(self.expr(stmt.value, mask))
        wide = self.scalars[stmt.buffer] = stmt.buffer.replace(dtype=stmt.buffer.dtype.with_lanes(self.lanes))
        return (stmt.replace(buffer=wide, value=value),)

    def bind(self, stmt: Bind, mask: Expr | None) -> tuple[Stmt, ...]:
        value = self.expr(stmt.value, mask)
        if not value.dtype.is_vector:
            return (stmt if value is stmt.value else stmt.replace(value=value),)
        if stmt.var.dtype.is_vector:
            raise _Refuse
        if type(value) is Ramp:
            self.vars[stmt.var] = value  # an index stays a ramp where it is used
            return ()
        wide = stmt.var.replace(dtype=value.dtype)
        self.vars[stmt.var] = wide
        return (stmt.replace(var=wide, value=value),)

    def branch(self, stmt: If, mask: Expr | None) -> tuple[Stmt, ...]:
        condition = self.expr(stmt.condition, mask)
        if not condition.dtype.is_vector:
            return (
                stmt.replace(condition=condition, then=self.body(stmt.then, mask), orelse=self.body(stmt.orelse, mask)),
            )
        values, stmt = with_kept_loads(stmt)
        before = [part for value in values for part in self.bind(value, mask)]
        condition = self.expr(stmt.condition, mask)
        # stores in `then` may change what the condition reads, so it is kept where the other side asks for it again
        if holds(condition, BufferLoad):
            kept = Var("mask", condition.dtype)
            before.append(Bind(kept, condition, span=stmt.span))
            condition = kept
        then = self.body(stmt.then, self.both(mask, condition))
        other = get_op("logical_not")(condition)
        orelse = self.body(stmt.orelse, self.both(mask, other)) if stmt.orelse else ()
        return keep_comments(stmt, (*before, *then, *orelse))

    def attribute(self, stmt: Attr, mask: Expr | None) -> tuple[Stmt, ...]:
        if not stmt.key.startswith("pragma_"):
            raise _Refuse
        return (stmt.replace(body=self.body(stmt.body, mask)),)

    def loop_inside(self, stmt: For, mask: Expr | None) -> tuple[Stmt, ...]:
        parts = [self.expr(part, mask) for part in (stmt.start, stmt.stop, stmt.step) if part is not None]
        if stmt.kind not in ("serial", "unroll") or any(part.dtype.is_vector for part in parts):
            raise _Refuse
        interval = loop_range(stmt, self.ranges)
        if interval is not None:
            self.ranges[stmt.var] = interval
        step = parts[2] if len(parts) == 3 else None
        return (stmt.replace(start=parts[0], stop=parts[1], step=step, body=self.body(stmt.body, mask)),)

    # expressions

    def wide(self, value: Expr) -> Expr:
        return value if value.dtype.is_vector else Broadcast(value, self.lanes)

    def both(self, mask: Expr | None, condition: Expr) -> Expr:
        return condition if mask is None else get_op("logical_and")(mask, condition)

    def where(self, mask: Expr | None, condition: Expr, asked: Expr, node: Expr) -> Expr | None:
        """The mask for an expression in lanes where the condition of `asked` holds: all lanes do where the expression
        loads no more than is loaded for what is asked, so that each element is loaded once."""
        there = always_loaded(asked)
        for part in walk(node):
            if type(part) is BufferLoad and part.indices:
                if not any(structural_equal(part, one, map_free_vars=False) for one in there):
                    return self.both(mask, condition)
            elif type(part) is Call and (part.op in DIVISIONS or part.op in _NOT_BY_LANE):
                return self.both(mask, condition)
        return mask

    def indices(self, indices: tuple[Expr, ...], mask: Expr | None) -> tuple[Expr, ...]:
        new = tuple(self.expr(index, mask) for index in indices)
        if any(index.dtype.is_vector for index in new[:-1]):
            raise _Refuse  # memory is flat where this matters
        if self.checked and len(new) > 1 and new[-1].dtype.is_vector:
            raise _Refuse
        return new

    def expr(self, node: Expr, mask: Expr | None) -> Expr:
        """The value in all lanes: a scalar where it is the same in all of them."""
        if node.dtype.is_vector:
            raise _Refuse
        rule = _EXPRS.get(type(node))
        if rule is None:
            raise _Refuse
        return rule(self, node, mask)

    def same(self, node: Expr, mask: Expr | None) -> Expr:
        return node

    def var(self, node: Var, mask: Expr | None) -> Expr:
        return self.vars.get(node, node)

    def load(self, node: BufferLoad, mask: Expr | None) -> Expr:
        if node.predicate is not None:
            raise _Refuse
        private = self.scalars.get(node.buffer)
        if private is not None:
            return node.replace(buffer=private)
        indices = self.indices(node.indices, mask)
        varies = bool(indices) and indices[-1].dtype.is_vector
        if mask is not None and indices:
            # lanes that are off must not load, not even the element that all lanes share
            return node.replace(indices=(*indices[:-1], self.wide(indices[-1])), predicate=mask)
        if not varies and are_same(indices, node.indices):
            return node
        return node.replace(indices=indices)

    def let(self, node: Let, mask: Expr | None) -> Expr:
        value = self.expr(node.value, mask)
        if not value.dtype.is_vector:
            return node.replace(value=value, body=self.expr(node.body, mask))
        wide = node.var.replace(dtype=value.dtype)
        self.vars[node.var] = wide
        return node.replace(var=wide, value=value, body=self.wide(self.expr(node.body, mask)))

    def call(self, node: Call, mask: Expr | None) -> Expr:
        op = node.op
        if op.effect != "pure" or op.name in _BY_NAME:
            raise _Refuse
        if (
            op in DIVISIONS
            and node.dtype.is_int
            and mask is not None
            and (type(node.args[1]) is not Const or is_const(node.args[1], 0))
        ):
            raise _Refuse  # a lane that is off must not divide by zero
        rule = _CALLS.get(op.name)
        if rule is not None:
            result = rule(self, node, mask)
            if result is not None:
                return result
        args = tuple(self.expr(arg, mask) for arg in node.args)
        if not any(arg.dtype.is_vector for arg in args):
            return node if are_same(args, node.args) else node.replace(args=args)
        if op in _NOT_BY_LANE:
            raise _Refuse
        folded = self.ramp(node, args, mask)
        if folded is not None:
            return folded
        return node.replace(args=tuple(map(self.wide, args)), dtype=node.dtype.with_lanes(self.lanes))

    def ramp(self, node: Call, args: tuple[Expr, ...], mask: Expr | None) -> Expr | None:
        """Sums and multiples of ramps are ramps, wrap-around included."""
        if not node.dtype.is_int:
            return None
        name = node.op.name
        if name == "cast":
            return self.cast_ramp(node, args[0], mask)
        if name not in ("add", "sub", "mul"):
            return None
        a, b = args
        if any(arg.dtype.is_vector and type(arg) is not Ramp for arg in args):
            return None
        if name == "mul":
            if type(a) is Ramp and type(b) is Ramp:
                return None
            one, factor = (a, b) if type(a) is Ramp else (b, a)
            return Ramp(simplified(one.base * factor), simplified(one.stride * factor), self.lanes)  # type: ignore[attr-defined]
        op = get_op(name)
        zero = Const(0, node.dtype)
        (p, s), (q, t) = ((x.base, x.stride) if type(x) is Ramp else (x, zero) for x in (a, b))
        stride = simplified(op(s, t))
        base = simplified(op(p, q))
        return Broadcast(base, self.lanes) if is_const(stride, 0) else Ramp(base, stride, self.lanes)

    def cast_ramp(self, node: Call, arg: Expr, mask: Expr | None) -> Expr | None:
        """A wider ramp, where the narrow one does not wrap in lanes that are on."""
        kind: DType = node.dtype
        source: DType = node.args[0].dtype
        if type(arg) is not Ramp or not source.is_int or type(arg.stride) is not Const:
            return None
        if exact(linear(node.args[0]), self.ranges):
            low, high = bounds(node.args[0], self.ranges)
        elif self.kept_below(arg, mask):
            low, high = source.int_range()
        else:
            return None
        least, greatest = kind.int_range()
        if not least <= low <= high <= greatest or not least <= arg.stride.value <= greatest:
            return None
        return Ramp(cast(arg.base, kind), Const(arg.stride.value, kind), self.lanes)

    def kept_below(self, ramp: Ramp, mask: Expr | None) -> bool:
        """Whether a mask keeps lanes from wrapping: by `x < bound` where those of the ramp are a number more than x."""
        conditions, stride = [] if mask is None else [mask], ramp.stride
        greatest = ramp.base.dtype.int_range()[1]
        while conditions:
            one = conditions.pop()
            if type(one) is not Call or one.op not in (get_op("logical_and"), get_op("less")):
                continue
            if one.op is get_op("logical_and"):
                conditions += one.args
                continue
            mine, bound = one.args
            if type(mine) is not Ramp or type(bound) is not Broadcast or mine.base.dtype is not ramp.base.dtype:
                continue
            if type(mine.stride) is not Const or mine.stride.value != stride.value or stride.value <= 0:  # type: ignore[attr-defined]
                continue
            form: Linear = linear(mine.base)
            more = linear(ramp.base) - form
            reach = int(mine.stride.value) * (self.lanes - 1)
            if not more.is_constant or more.constant < 0:
                continue
            if not exact(form, self.ranges) or not exact(form.shifted(reach), self.ranges):
                continue
            if bounds(bound.value, self.ranges)[1] - 1 + more.constant <= greatest:
                return True
        return False

    def choice(self, node: Call, mask: Expr | None) -> Expr | None:
        condition = self.expr(node.args[0], mask)
        if not condition.dtype.is_vector:  # and stays so: lanes do not load what it keeps from being loaded
            a, b = (self.expr(arg, mask) for arg in node.args[1:])
            if a.dtype.is_vector or b.dtype.is_vector:
                a, b = self.wide(a), self.wide(b)
            elif condition is node.args[0] and a is node.args[1] and b is node.args[2]:
                return node
            return get_op("if_then_else")(condition, a, b)
        asked = node.args[0]
        a = self.wide(self.expr(node.args[1], self.where(mask, condition, asked, node.args[1])))
        other = get_op("logical_not")(condition)
        b = self.wide(self.expr(node.args[2], self.where(mask, other, asked, node.args[2])))
        return get_op("Select")(condition, a, b)

    def conditional(self, node: Call, mask: Expr | None) -> Expr | None:
        first = self.expr(node.args[0], mask)
        if not first.dtype.is_vector:
            second = self.expr(node.args[1], mask)
            if not second.dtype.is_vector:
                return None
            # the scalar decides alone whether the second side may be evaluated
            short = Broadcast(Const(node.op.name == "logical_or", node.dtype), self.lanes)
            sides = (second, short) if node.op.name == "logical_and" else (short, second)
            return get_op("if_then_else")(first, *sides)
        runs = first if node.op.name == "logical_and" else get_op("logical_not")(first)
        second = self.wide(self.expr(node.args[1], self.where(mask, runs, *node.args)))
        return node.op(first, second)

    def likely(self, node: Call, mask: Expr | None) -> Expr | None:
        value = self.expr(node.args[0], mask)
        return value if value.dtype.is_vector else None


_STMTS: dict[type, Any] = {
    BufferStore: _Vectorizer.store,
    ScalarDecl: _Vectorizer.declare,
    Bind: _Vectorizer.bind,
    If: _Vectorizer.branch,
    For: _Vectorizer.loop_inside,
    Attr: _Vectorizer.attribute,
}
_EXPRS: dict[type, Any] = {
    Var: _Vectorizer.var,
    Const: _Vectorizer.same,
    StringImm: _Vectorizer.same,
    BufferLoad: _Vectorizer.load,
    Let: _Vectorizer.let,
    Call: _Vectorizer.call,
}
_CALLS: dict[str, Any] = {
    "if_then_else": _Vectorizer.choice,
    "logical_and": _Vectorizer.conditional,
    "logical_or": _Vectorizer.conditional,
    "likely": _Vectorizer.likely,
}


__all__ = ["in_vectors", "vectorize_loop"]
