"""least_magnitude, denormals_apart: instructions that take denormal numbers for zero, only where none can come up.

The least magnitude other than zero of each operand bounds how small the terms of a sum of products can be. A bfloat16
of exponent e is a multiple of 2^(e-7), so products of numbers of exponents of at least e and f are multiples of
2^(e+f-14), and so are sums of them, however often these are rounded: rounding drops low digits alone. Where that is
2^-126 or more, the least normal number, nothing on the way is denormal but what is 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var
from tirscript.ir.op import OPS, cast, const, get_op
from tirscript.ir.ops.special import reinterpret
from tirscript.ir.rewrite import refresh, substitute, uses, walk
from tirscript.ir.stmt import Axis, Block, BufferStore, For, If, Stmt

from ..blocks import writes_of
from ..dataflow import allocation, before, check_not_viewed, is_viewed, loads_of, stores_of
from ..edit import Edit
from ..loops import plain, plus
from ..primitive import BlockAt, LoopAt, primitive
from ..reducers import update_of
from ..tree import Place
from .cache import chosen
from .loop_partition import renamed

CODE, WIDEST = dtype("uint16"), 65535
# the digits of bfloat16 behind its first, and the least sum of two exponents, as they are stored, that goes
DIGITS, LEAST = 7, 2 * 127 + 2 * 7 - 126


@primitive
def least_magnitude(edit: Edit, block: BlockAt, panels: Sequence[int]) -> Place:
    """Find the least magnitude but 0 in panels of the bfloat16 numbers that a block stores, behind its loops; the block
    that does.

    before:                                    after `least_magnitude("B", [4, 0])`:
        for i, j in T.grid(8, 6):                  for i, j in T.grid(8, 6):
            with T.block("B"):                         with T.block("B"): ...
                B[vi, vj] = A[vi, vj]              for p0, r0, r1 in T.grid(2, 4, 6):
                                                       with T.block("B_least"):
                                                           v0, w0, w1 = T.axis.remap("SRR", [p0, r0, r1])
                                                           with T.init():
                                                               B_least[v0] = T.uint16(65535)
                                                           bits = T.reinterpret("uint16", B[v0 * 4 + w0, w1])
                                                           B_least[v0] = T.min(B_least[v0], bits * 2 - 1)

    `panels` has a number for each dimension: how many elements are looked at together, 0 for all of them. The least
    magnitude is told as the number that it is in its sign and digits, times 2, less 1; where all are 0, as 65535.
    """
    stmt: Block = block.stmt
    buffer = chosen(edit, block, writes_of(stmt), 0, "writes")
    if buffer.dtype.name != "bfloat16" or allocation(edit, buffer) is None:
        edit.refuse(f"`{buffer.name}` is no buffer of bfloat16 that is allocated in the function", block)
    check_not_viewed(edit, block, buffer)
    shape = buffer.constant_shape()
    if shape is None or len(panels) != len(shape):
        edit.wrong(f"`panels` has {len(panels)} numbers; `{buffer.name}` has {buffer.ndim} dimensions of known sizes")
    if any(panel < 0 or (panel and size % panel) for panel, size in zip(panels, shape, strict=True)):
        edit.wrong("a panel is a number that divides its dimension, or 0 for all of it")
    if not any(panels) or all(panel == 1 for panel in panels):
        edit.wrong("`panels` is 0 in all dimensions, or 1: that is no panel")
    nest, box = _stored(edit, block)
    index = buffer.shape[0].dtype
    least = Buffer(f"{buffer.name}_least", tuple(const(s // p, index) for s, p in zip(shape, panels) if p), CODE)
    outer: list[tuple[Var, int]] = []
    inner: list[tuple[Var, int]] = []
    axes: list[Axis] = []
    places: list[Expr] = []
    stored: list[Expr] = []
    known = edit.analyzer(nest)
    for at, (size, panel, (start, extent)) in enumerate(zip(shape, panels, box, strict=True)):
        step = panel or size
        first = known.simplify(get_op("floordiv")(start, step))
        if extent % step or not known.prove_equal(first * step, start):
            edit.refuse(f"the loops of `{stmt.name}` do not store whole panels of `{buffer.name}`", block)
        place: Expr = const(0, index)
        if panel:
            loop, axis = Var(f"p{at}", index), Var(f"v{at}", index)
            outer.append((loop, extent // step))
            axes.append(Axis(axis, "spatial", const(0, index), const(size // panel, index), plus(first, loop)))
            stored.append(axis)
            place = axis * panel if panel > 1 else axis
        if step > 1:
            loop, axis = Var(f"r{at}", index), Var(f"w{at}", index)
            inner.append((loop, step))
            axes.append(Axis(axis, "reduce", const(0, index), const(step, index), loop))
            place = axis if not panel else place + axis
        places.append(place)
    so_far = BufferLoad(least, tuple(stored))
    body = BufferStore(least, tuple(stored), get_op("min")(so_far, _code(BufferLoad(buffer, tuple(places)))))
    init = BufferStore(least, tuple(stored), const(WIDEST, CODE))
    name = edit.fresh_block_name(least.name)
    made: Stmt = Block(name, tuple(axes), (body,), init=(init,))
    for loop, extent in reversed([*outer, *inner]):
        made = For(loop, const(0, index), const(extent, index), (made,))
    edit.tree.insert(nest, after=(made,))
    edit.allocate(least, edit.block(name))
    return edit.block(name)


def _code(element: Expr) -> Expr:
    """The magnitude of a bfloat16 as a number that is the greatest for 0."""
    return reinterpret(CODE, element) * const(2, CODE) - const(1, CODE)


def _stored(edit: Edit, block: Place) -> tuple[Place, list[tuple[Expr, int]]]:
    """The loops that hold nothing but a block, and the box of what they store: the start and the extent of each
    dimension."""
    stmt: Block = block.stmt
    nest, loops = block, []
    while nest.parent is not None and type(nest.parent.stmt) is For and len(nest.parent.stmt.body) == 1:
        nest = nest.parent
        loops.append(plain(edit, nest, "looked at"))
    store = stmt.body[0] if len(stmt.body) == 1 else None
    if type(store) is not BufferStore or store.predicate is not None or stmt.predicate is not None or stmt.init:
        edit.refuse(f"the block `{stmt.name}` is not one store that is always done", block)
    values = {axis.var: axis.value for axis in stmt.axes}
    extents = {loop.var: loop for loop in loops}
    box: list[tuple[Expr, int]] = []
    seen: set[Var] = set()
    for index in store.indices:
        place = substitute(index, values)
        mine = [var for var in extents if uses(place, var)]
        start, extent = place, 1
        if mine:
            (var,) = mine if len(mine) == 1 else (None,)
            loop = extents.get(var) if var is not None else None
            if loop is None or var in seen or linear(place).terms.get(loop.var) != 1 or type(loop.extent) is not Const:
                edit.refuse(f"the loops of `{stmt.name}` are not the dimensions of what it stores", block)
            seen.add(loop.var)
            start, extent = substitute(place, {loop.var: loop.start}), int(loop.extent.value)
        box.append((start, extent))
    return nest, box


@primitive
def denormals_apart(edit: Edit, loop: LoopAt, left: BlockAt, right: BlockAt) -> list[Place]:
    """Run what is in a loop as it stands where nothing denormal can come up in the products of a block in it, and a
    copy of it elsewhere; the blocks of the copy.

    before:                                    after `denormals_apart("i", "X_least", "Y_least")`:
        for i in range(8):                         for i in range(8):
            for k in range(64):                        if ... X_least[i] ... Y_least[0] ...:
                with T.block("C"):                         for k in range(64):
                    vi, vk = ...                               with T.block("C"): ...
                    C[vi] += (                             for j in range(4):
                        T.cast(X[vi, vk], "float32")           with T.block("D"): ...
                        * T.cast(Y[0, vk], "float32")      else:
                    )                                          for k in range(64):
            for j in range(4):                                     with T.block("C_1"): ...
                with T.block("D"): ...                         for j in range(4):
                                                                   with T.block("D_1"): ...

    `left` and `right` are blocks of `least_magnitude` for the operands. So the products can be done by an instruction
    that takes denormal numbers for zero (AMX). The sum begins with 0. The copy has temporaries of its own for those
    that each iteration has a part of for itself.
    """
    stmt = plain(edit, loop, "doubled")
    products = [place for place in loop.below(Block, nested=False) if _operands(place.stmt) is not None]
    if len(products) != 1:
        what = "sums of products of bfloat16 that begin with 0"
        edit.refuse(f"in the loop `{stmt.var.name}` are {len(products)} {what}, not one", loop)
    if any(type(place.stmt) not in (For, Block) for place in loop.below(nested=False)):
        edit.refuse(f"in the loop `{stmt.var.name}` stands something else than loops and blocks", loop)
    exponents = []
    for block in (left, right):
        if not before(block, loop.children["body"][0]) or loop.contains(block):
            edit.refuse(f"the block `{block.stmt.name}` does not stand before the loop `{stmt.var.name}`", block, loop)
        exponents.append(_exponent(edit, loop, products[0], block))
    found = {id(load.buffer) for load in _operands(products[0].stmt) or ()}
    if found != {id(_summary(edit, block)[0].buffer) for block in (left, right)}:
        edit.refuse(f"the operands of `{products[0].stmt.name}` are others than what was looked at", products[0])
    both, enough = get_op("logical_and"), get_op("greater_equal")
    one = const(1, exponents[0].dtype)
    normal = both(enough(exponents[0], one), enough(exponents[1], one))
    condition = both(normal, enough(exponents[0] + exponents[1], const(LEAST, one.dtype)))
    own = {buffer: buffer.replace() for buffer in _temporaries(edit, loop)}
    old = stmt.body
    new = renamed(edit, refresh(substitute(old, own)), [])
    edit.tree.splice(loop, "body", 0, len(old), (If(condition, old, new),))
    for buffer in own.values():
        edit.allocate(buffer)
    return [edit.block(node.name) for node in walk(new, Block)]


def _operands(block: Block) -> tuple[BufferLoad, BufferLoad] | None:
    """The elements of bfloat16 whose product, as a float32, a block adds to a sum that begins with 0."""
    update = update_of(block)
    if update is None or update.op is not OPS["add"] or type(update.value) is not Call or block.init is None:
        return None
    begin = block.init[0]
    zero = type(begin) is BufferStore and type(begin.value) is Const and str(begin.value.value) == "0.0"
    if update.value.op is not OPS["mul"] or not zero or update.value.dtype.name != "float32":
        return None
    found = []
    for value in update.value.args:
        element = value.args[0] if type(value) is Call and value.op is OPS["cast"] else None
        if type(element) is not BufferLoad or element.dtype.name != "bfloat16" or element.predicate is not None:
            return None
        found.append(element)
    return found[0], found[1]


def _summary(edit: Edit, block: Place) -> tuple[BufferLoad, Buffer, list[int]]:
    """What a block of `least_magnitude` reads and stores, and its panels; refused for another block."""
    stmt: Block = block.stmt
    update = update_of(stmt)
    loads = [] if update is None else list(walk(update.value, BufferLoad))
    if update is None or update.op is not OPS["min"] or update.store.buffer.dtype is not CODE or len(loads) != 1:
        edit.refuse(f"`{stmt.name}` is not as `least_magnitude` makes blocks", block)
    (load,) = loads
    reduced = {axis.var: axis for axis in stmt.axes if axis.kind == "reduce"}
    panels: list[int] = []
    whole = stmt.predicate is None and load.dtype.name == "bfloat16" and update.value == _code(load)
    given = list(update.store.indices)
    for index, size in zip(load.indices, load.buffer.constant_shape() or (), strict=False):
        form = linear(index)
        outer = [atom for atom in form.terms if any(atom is one for one in update.store.indices)]
        inner = [atom for atom in form.terms if atom in reduced]
        panel = form.terms[outer[0]] if outer else 0
        step = panel or size
        stops = [axis.stop for axis in reduced.values() if any(axis.var is atom for atom in inner)]
        steps = [int(stop.value) for stop in stops if type(stop) is Const]
        whole &= len(form.terms) == len(outer) + len(inner) and form.constant == 0 and len(outer) < 2
        whole &= (steps or [1]) == [step] and all(form.terms[atom] == 1 for atom in inner)
        whole &= not outer or given.pop(0) is outer[0]
        panels.append(panel)
    if not whole or given or len(panels) != len(load.indices):
        edit.refuse(f"`{stmt.name}` is not as `least_magnitude` makes blocks", block)
    return load, update.store.buffer, panels


def _exponent(edit: Edit, loop: Place, product: Place, block: Place) -> Expr:
    """The least exponent, as it is stored, of what a block of products reads of an operand in an iteration."""
    load, least, panels = _summary(edit, block)
    for buffer in (load.buffer, least):
        makers = [place for place in edit.tree.root.below(Block) if buffer in writes_of(place.stmt)]
        if len(makers) != 1 or not (makers[0] is block or before(makers[0], block)):
            edit.refuse(f"`{buffer.name}` is not written by one block alone, before it is looked at", block, *makers)
    values = {axis.var: axis.value for axis in product.stmt.axes}
    found = [operand for operand in _operands(product.stmt) or () if operand.buffer is load.buffer]
    if not found:
        edit.refuse(f"`{product.stmt.name}` does not read what `{block.stmt.name}` does", product, block)
    inside = {name: place.stmt for place in loop.below(For, nested=False) for name in (place.stmt.var,)}
    known = edit.analyzer(product)
    places: list[list[Expr]] = []
    for operand in found:
        indices = []
        for index, panel in zip(operand.indices, panels, strict=True):
            if panel:
                place = get_op("floordiv")(substitute(index, values), panel)
                first = substitute(place, {var: node.start for var, node in inside.items()})
                if not known.prove_equal(place, first):
                    edit.refuse(f"an iteration of `{loop.stmt.var.name}` reads several panels", product, block)
                indices.append(edit.analyzer(loop, inside=True).simplify(first))
        places.append(indices)
    if any(one != places[0] for one in places):
        edit.refuse(f"`{product.stmt.name}` reads several panels of `{load.buffer.name}`", product)
    number: DType = dtype("int32")
    twice = cast(BufferLoad(least, tuple(places[0])), number) + const(1, number)
    return get_op("shift_right")(twice, const(DIGITS + 1, number))


def _temporaries(edit: Edit, loop: Place) -> list[Buffer]:
    """The buffers that are used in a loop alone, each element in one iteration of it and of the loops around it."""
    around = [loop, *(place for place in loop.above() if type(place.stmt) is For)]
    made = dict.fromkeys(buffer for place in loop.below(Block, nested=False) for buffer in writes_of(place.stmt))
    return [buffer for buffer in made if _is_own(edit, loop, buffer, around)]


def _is_own(edit: Edit, loop: Place, buffer: Buffer, around: list[Place]) -> bool:
    """Whether iterations of loops use elements of a temporary for themselves alone: for each loop, its variable is one
    of the indices by some number."""
    if allocation(edit, buffer) is None or is_viewed(edit.func, buffer):
        return False
    seen: list[tuple[Expr, ...]] = []
    for place in loop.below(Block, nested=False):
        values = {axis.var: axis.value for axis in place.stmt.axes}
        accesses = _accesses((*(place.stmt.init or ()), *place.stmt.body), buffer)
        seen += [tuple(substitute(index, values) for index in node.indices) for node in accesses]
    if len(seen) != len(_accesses(edit.func.body, buffer)):
        return False
    known = edit.analyzer(loop, inside=True)
    for place in loop.below(For, nested=False):
        known.enter_loop(place.stmt)
    return all(any(_tells(known, seen, at, outer.stmt.var) for at in range(buffer.ndim)) for outer in around)


def _accesses(root: tuple[Stmt, ...], buffer: Buffer) -> list[BufferLoad | BufferStore]:
    """The loads and stores of a buffer."""
    return [*loads_of(root, buffer), *stores_of(root, buffer)]


def _tells(known: object, seen: list[tuple[Expr, ...]], at: int, var: Var) -> bool:
    """Whether an index of all accesses, divided by some number, is a loop's variable."""
    size = abs(linear(seen[0][at]).terms.get(var, 0))
    divided = get_op("floordiv")
    return size > 0 and all(known.prove_equal(divided(indices[at], size), var) for indices in seen)  # type: ignore[attr-defined]


__all__ = ["denormals_apart", "least_magnitude"]
