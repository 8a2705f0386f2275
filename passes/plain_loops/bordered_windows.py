"""Windows that ask at each step whether they are inside of an image go over a copy with a border.

before:                                            after:
    for i, k in T.grid(8, 3):                          A_border = T.alloc_buffer((10,), "float32")
        with T.block("m"):                             for a0 in range(10):
            vi, vk = T.axis.remap("SR", [i, k])            with T.block("A_border"):
            ...                                                v0 = T.axis.spatial(10, a0)
            m[vi] = T.max(                                     A_border[v0] = (
                A[vi + vk - 1]                                     A[v0 - 1] if v0 >= 1 and v0 < 9 else -inf
                if 0 <= vi + vk - 1                            )
                and vi + vk - 1 < 8                    for i, k in T.grid(8, 3):
                else -inf,                                 with T.block("m"):
                m[vi],                                         ...
            )                                                  m[vi] = T.max(A_border[vi + vk], m[vi])

The border holds what the choice gives there, so all that is computed of it is the same. To leave a term out, as in
`if c: s += A[i]`, is to add -0.0; a product that is left out is none with zero, as its other factor may be infinite
(`masked_sums.py`). `if c: m = T.max(m, A[i])` becomes `m = T.max(A[i] if c else -inf, m)` where floats may be reduced
in another order: it depends on this which numbers around a nan come through, and here nan is left out.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.linear import Linear, combine, expression, linear
from tirscript.ir.arith.logic import comparison, conjuncts
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import NO_ATTRS
from tirscript.ir.op import OPS, cast, const, get_op
from tirscript.ir.op_sets import CHOICES, DIVISIONS, EXTREMES
from tirscript.ir.rewrite import free_vars, map_except_buffers, rewrite, uses, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, Stmt

from ..statements import conjunction, may_overlap, reads_memory
from .nest_blocks import LONGEST
from .plain import allocated_before

# each element of the copy is read so often, or the copy does not pay
READ = 2
# stands for sizes that only the call knows
UNKNOWN = 509
# the numbers that symbols are within
Sizes: TypeAlias = dict[Var, tuple[int, int]]
# what is asked of an index, and what is asked of it where it is negated
_TURNED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def with_borders(func: PrimFunc, *, ordered: bool) -> PrimFunc:
    """The function with copies for the windows that reach over a border; itself where there are none. Floats are not
    reduced in another order where these are to stay `ordered`."""
    if may_overlap(func) or not any(type(node) is Call and node.op in CHOICES for node in walk(func.body)):
        return func
    own = {*func.param_buffers, *(stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer)}
    sizes = {size: (0, min(LONGEST, size.dtype.int_range()[1])) for size in func.symbols if size.dtype.kind == "int"}
    sizes |= {
        param: param.dtype.int_range() for param in func.params if type(param) is Var and param.dtype.kind == "int"
    }
    body: list[Stmt] = []
    for stmt in func.body:
        body += _bordered(stmt, own, sizes, ordered)
    return allocated_before(func, body)


def _bordered(stmt: Stmt, own: set[Buffer], symbols: Sizes, ordered: bool) -> list[Stmt]:
    """A nest behind a copy of what it reads with a border; the statement itself where it is no such nest."""
    found = block_of(stmt, symbols)
    if found is None:
        return [stmt]
    block, store = found
    value, choice = _choosing(block, store, ordered)
    if value is None or choice is None:
        return [stmt]
    condition, load, other = choice.args
    assert type(load) is BufferLoad
    if store.buffer not in own or load.buffer not in own or store.buffer is load.buffer:
        return [stmt]
    ranges = ranges_of(block, load)
    if ranges is None:
        return [stmt]
    lows, sizes, forms = ranges
    instances = math.prod(map(_about, block.axes))
    if READ * math.prod(size.constant + sum(c * UNKNOWN for c in size.terms.values()) for size in sizes) > instances:
        return [stmt]
    if not are_exact(block, symbols, (*load.indices, *(side for one in conjuncts(condition) for side in _sides(one)))):
        return [stmt]
    places = [Var(f"v{at}", index.dtype) for at, index in enumerate(load.indices)]
    asked = [_asked(one, symbols, forms, lows, places) for one in conjuncts(condition)]
    inside = conjunction([one for one in asked if one is not None])
    if inside is None or None in asked:
        return [stmt]
    known = _knowing(block, symbols)
    copy = Buffer(f"{load.buffer.name}_border", tuple([_length(size, known) for size in sizes]), load.dtype)
    read = BufferLoad(load.buffer, tuple([_plus(place, low) for place, low in zip(places, lows, strict=True)]))
    if not _is_there(read, inside, copy, places, known):
        return [stmt]
    made = BufferStore(copy, tuple(places), Call(choice.op, (inside, read, other), choice.dtype), span=store.span)
    there = BufferLoad(copy, tuple([expression(form.shifted(-low)) for form, low in zip(forms, lows, strict=True)]))

    def visit(node: Any) -> Any:
        return there if _is_same(node, choice) else map_except_buffers(node, visit)

    new = block.replace(body=(store.replace(value=visit(value)),), reads=None)
    return [AllocBuffer(copy, NO_ATTRS), _nest(copy, places, made), with_block(stmt, new)]


def block_of(stmt: Stmt, symbols: Sizes) -> tuple[Block, BufferStore] | None:
    """The block that alone stands in loops over its axes, with its only store; None for other statements. The loops are
    as long as numbers or `symbols` say."""
    loops: list[For] = []
    while type(stmt) is For:
        plain = stmt.kind == "serial" and stmt.step is None and not stmt.annotations
        if not plain or len(stmt.body) != 1:
            return None
        loops.append(stmt)
        stmt = stmt.body[0]
    if type(stmt) is not Block or stmt.predicate is not None or len(stmt.body) != 1 or len(loops) != len(stmt.axes):
        return None
    store = stmt.body[0]
    if type(store) is not BufferStore or store.predicate is not None:
        return None
    for axis in stmt.axes:
        loop = next((one for one in loops if one.var is axis.value), None)
        if loop is None or type(axis.start) is not Const:
            return None
        if type(axis.extent) is Const:
            if axis.extent.value < 1:
                return None
        elif axis.start.value != 0 or not _is_told(axis.stop, symbols):
            return None
        if not structural_equal((loop.start, loop.stop), (axis.start, axis.stop), map_free_vars=False):
            return None
    return stmt, store


def _is_told(size: Expr, symbols: Sizes) -> bool:
    """Whether symbols alone tell a size, and it is no error to ask for it where no loop does."""
    if not symbols.keys() >= set(free_vars(size)) or reads_memory(size):
        return False
    divisors = (node.args[1] for node in walk(size, Call) if node.op in DIVISIONS)
    return all(type(divisor) is Const and divisor.value > 0 for divisor in divisors)


def _choosing(block: Block, store: BufferStore, ordered: bool) -> tuple[Expr | None, Call | None]:
    """What a block stores, and the only choice in it, of an element or a number; None where it is another."""
    from ..schedule.reducers import update_by

    update, value = update_by(store), store.value
    if update is None or not any(axis.kind == "reduce" for axis in block.axes):
        return None, None
    if type(value) is not Call or value.op in CHOICES:
        new = _at_once(update.value) if type(update.value) is Call else update.value
        if type(new) is not Call or new.op is not OPS["if_then_else"] or type(new.args[1]) is not BufferLoad:
            return None, None
        mine, extreme = BufferLoad(store.buffer, store.indices), update.op in EXTREMES
        if extreme and new.dtype.is_float and update.first:
            if ordered:
                return None, None
            value = Call(update.op, (new, mine), new.dtype)
        else:
            value = update.combine(mine, new)
    value = rewrite(value, {Call: _at_once})
    choices = [node for node in walk(value, Call) if node.op in CHOICES]
    if not choices or not all(_is_same(one, choices[0]) for one in choices) or choices[0].op is not OPS["if_then_else"]:
        return None, None
    _, load, other = choices[0].args
    if type(load) is not BufferLoad or load.predicate is not None or type(other) is not Const or load.dtype.is_vector:
        return None, None
    spatial = [axis for axis in block.axes if axis.kind == "spatial" and _about(axis) > 1]
    if not all(uses(load.indices, axis.var) for axis in spatial):
        return None, None  # what several results share is as well asked for: once for all of them
    return value, choices[0]


def _at_once(node: Call) -> Call:
    """A choice in another one, both with the same number for what is outside, as one."""
    if node.op is not OPS["if_then_else"]:
        return node
    condition, inner, other = node.args
    if type(inner) is not Call or inner.op is not node.op or type(other) is not Const:
        return node
    second, value, same = inner.args
    if type(same) is not Const or repr(same.value) != repr(other.value):
        return node
    return node.replace(args=(get_op("logical_and")(condition, second), value, other))


def ranges_of(block: Block, load: BufferLoad) -> tuple[list[int], list[Linear], list[Linear]] | None:
    """Where the indices of a load begin, how many they are, and their linear forms; None unless each takes all numbers
    between its least and its greatest, whatever the others are, and one goes with results and with what is reduced."""
    axes: dict[Any, Axis] = {axis.var: axis for axis in block.axes}
    taken: set[Any] = set()
    windows = False
    lows: list[int] = []
    sizes: list[Linear] = []
    forms: list[Linear] = []
    for index in load.indices:
        form: Linear = linear(index)
        steps = [(_plain(atom), step) for atom, step in form.terms.items()]
        if not all(var in axes and var not in taken for var, _ in steps):
            return None
        taken.update(var for var, _ in steps)
        low = form.constant
        reach = 0
        size = Linear({}, 1, index.dtype)
        for var, step in sorted(steps, key=lambda item: (abs(item[1]), _count(axes[item[0]]) is None)):
            count = _count(axes[var])
            if abs(step) > reach + 1 or not size.is_constant or (count is None and step < 0):
                return None
            if count is None:
                # one line of them at least: of none nothing is read
                size = size + linear(cast(axes[var].stop, index.dtype)).shifted(-1).scaled(step)
                continue
            last = (count - 1) * abs(step)
            reach += last
            size = size.shifted(last)
            low += step * int(axes[var].start.value) - (last if step < 0 else 0)  # type: ignore[attr-defined]
        lowest, highest = index.dtype.int_range()
        if not lowest <= low <= low + reach <= highest:
            return None
        kinds = {axes[var].kind for var, _ in steps}
        windows = windows or {"spatial", "reduce"} <= kinds
        lows.append(low)
        sizes.append(size)
        forms.append(form)
    return (lows, sizes, forms) if windows else None


def _plain(atom: Expr) -> Expr:
    """What an atom widens, or the atom."""
    if type(atom) is Call and atom.op is OPS["cast"] and atom.args[0].dtype.is_int:
        inner = atom.args[0].dtype
        if inner.kind == atom.dtype.kind and inner.bits <= atom.dtype.bits:
            return atom.args[0]
    return atom


def _length(size: Linear, analyzer: Analyzer) -> Expr:
    """How many there are of a dimension of the copy: a loop without iterations may make it less than none."""
    length, zero = expression(size), const(0, size.dtype)
    return length if analyzer.can_prove(get_op("greater_equal")(length, zero)) else get_op("max")(length, zero)


def _is_there(read: BufferLoad, inside: Expr, copy: Buffer, places: list[Var], analyzer: Analyzer) -> bool:
    """Whether a copy reads nothing that is not there: of a loop without iterations it reads some that nothing did."""
    sides = [side for one in conjuncts(inside) for side in _sides(one)]
    if set(free_vars((*copy.shape, *sides))) <= set(places):
        return True  # the loops have iterations, in which they read all of it
    for place, size in zip(places, copy.shape, strict=True):
        analyzer.bind(place, (const(0, place.dtype), size))
    if any(map(analyzer.can_overflow, sides)):
        return False
    with analyzer.scope(inside):
        return all(
            analyzer.can_prove(get_op("greater_equal")(index, const(0, index.dtype)))
            and analyzer.can_prove(get_op("less")(cast(index, INT64), cast(dim, INT64)))
            for index, dim in zip(read.indices, read.buffer.shape, strict=True)
        )


def _asked(condition: Expr, symbols: Sizes, forms: list[Linear], lows: list[int], places: list[Var]) -> Expr | None:
    """What a condition asks of an index, asked of a place in the copy; None where it asks something else."""
    found = comparison(condition)
    if found is None or found[0] not in _TURNED:
        return None
    name, left, right = found
    difference = combine(linear(left), linear(right), -1)
    axes = {var for form in forms for var in form.terms}
    asked = {var: step for var, step in difference.terms.items() if var in axes}
    rest = Linear({size: step for size, step in difference.terms.items() if size not in axes}, 0, difference.dtype)
    if not all(_is_told(size, symbols) for size in rest.terms):
        return None  # not one number wherever the copy is made
    for form, low, place in zip(forms, lows, places, strict=True):
        if not form.terms or form.dtype is not difference.dtype:
            continue
        for sign in (1, -1):
            if {var: sign * step for var, step in form.terms.items()} == asked:
                # sign * (index - its constant) + the constant of the difference, and the sizes in it: compared to 0
                number = form.constant - low - sign * difference.constant
                asks = get_op(name if sign > 0 else _TURNED[name])
                if rest.is_constant:
                    return asks(place, const(number, place.dtype))
                return asks(_plus(place, -number), expression(rest.scaled(-sign)))  # a size may be the greatest number
    return None


def _sides(condition: Expr) -> tuple[Expr, ...]:
    """The two integers that a condition compares; none where it is another condition."""
    found = comparison(condition)
    return found[1:] if found is not None else ()


def are_exact(block: Block, symbols: Sizes, values: tuple[Expr, ...]) -> bool:
    """Whether nothing wraps around in values of a block's axes, so that their differences are those of numbers."""
    analyzer = _knowing(block, symbols)
    for axis in block.axes:
        if type(axis.stop) is Var:
            analyzer.bind(axis.stop, (1, min(LONGEST, axis.stop.dtype.int_range()[1])))
        analyzer.enter_axis(axis)
    return not any(map(analyzer.can_overflow, values))


def _knowing(block: Block, symbols: Sizes) -> Analyzer:
    """What is known of symbols wherever a block stands: none that tells how long its loops are has more than `LONGEST`.
    One that is only compared to may be as great as its dtype, for no limit."""
    analyzer = Analyzer()
    told = {var for axis in block.axes if not _has_limits(axis.stop) for var in free_vars(axis.stop)}
    for size, (low, high) in symbols.items():
        analyzer.bind(size, (max(low, -LONGEST), min(high, LONGEST)) if size in told else (low, high))
    return analyzer


def _has_limits(size: Expr) -> bool:
    return any(type(node) is Call and node.op in EXTREMES | CHOICES for node in walk(size))


def _nest(copy: Buffer, places: list[Var], store: BufferStore) -> For:
    """The loops that make a copy."""
    loops = [Var(f"a{at}", place.dtype) for at, place in enumerate(places)]
    zeros = [const(0, place.dtype) for place in places]
    axes = [
        Axis(place, "spatial", zero, stop, loop)
        for place, zero, stop, loop in zip(places, zeros, copy.shape, loops, strict=True)
    ]
    made: Stmt = Block(copy.name, tuple(axes), (store,))
    for loop, zero, stop in reversed(list(zip(loops, zeros, copy.shape, strict=True))):
        made = For(loop, zero, stop, (made,))
    assert type(made) is For
    return made


def with_block(stmt: Stmt, block: Block) -> Stmt:
    """Loops that stand in each other alone around another block."""
    return stmt.replace(body=(with_block(stmt.body[0], block),)) if type(stmt) is For else block


def _count(axis: Axis) -> int | None:
    """How many an axis goes through; None where a symbol says that."""
    return int(axis.extent.value) if type(axis.extent) is Const else None


def _about(axis: Axis) -> int:
    return _count(axis) or UNKNOWN


def _plus(expr: Expr, number: int) -> Expr:
    if number == 0:
        return expr
    return get_op("add" if number > 0 else "sub")(expr, const(abs(number), expr.dtype))


def _is_same(node: Any, choice: Call) -> bool:
    return node is choice or (type(node) is Call and structural_equal(node, choice, map_free_vars=False))


__all__ = ["READ", "are_exact", "block_of", "ranges_of", "with_block", "with_borders"]
