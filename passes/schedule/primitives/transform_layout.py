"""transform_layout: a buffer of another shape, its elements at other places."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.expr import BufferLoad, BufferRegion, Call, Const, Expr, Var, is_const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS, as_expr, cast, get_op
from tirscript.ir.rewrite import holds, substitute, uses, walk
from tirscript.ir.stmt import Assume, Axis, Block, BufferStore, For, Stmt
from tirscript.ir.wellformed.places import binding_parts
from tirscript.ir.words import counted

from ...access import access_regions
from ...layout import index_dtype, with_dtype
from ...statements import same_number
from ..blocks import reads_of, writes_of
from ..dataflow import allocation, check_not_viewed, loads_of, scope_of, stores_of, top, writers
from ..edit import Edit
from ..layout_copies import check_kept, copy_in, copy_out
from ..maps import function_of, index_map_of
from ..primitive import BlockAt, primitive
from ..refusal import said
from ..tree import Place
from .cache import chosen

PadValue = int | float | bool | Expr | IndexMap | Callable[..., Any] | None


@primitive
def transform_layout(
    edit: Edit,
    block: BlockAt,
    buffer: str | int | tuple[str, int | str],
    index_map: IndexMap | Callable[..., Any],
    pad_value: PadValue = None,
    *,
    keep_interface: bool = False,
) -> None:
    """Store a buffer with its element `i, j` at `index_map(i, j)`; every access of the function follows.

    before:                                    after `transform_layout("B", "B", lambda i: (i // 4, i % 4), 0.0)`:
        B = T.alloc_buffer((14,), "float32")       B = T.alloc_buffer((4, 4), "float32")
        for i in range(14):                        for i in range(14):
            with T.block("B"):                         with T.block("B"):
                vi = T.axis.spatial(14, i)                 vi = T.axis.spatial(14, i)
                B[vi] = A[vi]                              B[vi // 4, vi % 4] = A[vi]
                                                   for ax0, ax1 in T.grid(4, 4):
                                                       with T.block("B_pad"):
                                                           v0, v1 = T.axis.remap("SS", [ax0, ax1])
                                                           T.where(ax0 == 3 and ax1 >= 2)
                                                           B[v0, v1] = 0.0

    `buffer` is a name, or ("read", 0) or ("write", 0) for one that the block reads or writes. The map must be
    injective. The places that it leaves free are padding: nothing reads them, and where `pad_value` (a number, an
    expression, a function of the new indices, or T.undef) is given, the block that makes the buffer is followed by one
    that stores it there; for a parameter that is only read, it is assumed to be there. The pad value may read the same
    buffer at its old indices: then the padding repeats elements.

    With `keep_interface` a parameter stays as it is: a new buffer is stored in that way, a block with the annotation
    `"preproc": "pad"` packs the parameter in front, and one with `"postproc": ("crop", 0)` takes it out behind. Without
    `pad_value` the padding is never written, and the interpreter reports who reads it.
    """
    target = chosen_buffer(edit, block, buffer)
    check_not_viewed(edit, block, target)
    if allocation(edit, target) is None and target not in edit.func.param_buffers:
        edit.refuse(f"`{target.name}` is a view of other memory, whose layout it has", block)
    if target.strides is not None or target.elem_offset is not None:
        edit.refuse(f"`{target.name}` has strides or an offset of its own", block)
    mapping = _mapping(edit, target, index_map)
    _check_lanes(edit, target, mapping)
    injective = mapping.is_injective(target.shape)
    if injective is None:
        edit.refuse(f"it is not known whether the map keeps the elements of `{target.name}` apart", block)
    if not injective:
        edit.refuse(
            f"the map puts two elements of `{target.name}` at one place", block, notes=_collision(mapping, target)
        )
    shape = mapping.map_shape(target.shape)
    back = mapping.non_surjective_inverse(target.shape)
    if shape is None or back is None:
        hint = "no element may go to a place below 0, and the last places must be known"
        edit.refuse(f"the shape of `{target.name}` behind the map is not known", block, hint=hint)
    places = _moving(mapping, target).indices
    new = target.replace(shape=tuple(with_dtype(dim, place.dtype) for dim, place in zip(shape, places, strict=True)))
    padded = not is_const(back[1], False)
    if keep_interface:
        _keep(edit, block, target, new.replace(name=f"{target.name}_packed"), mapping, back, pad_value)
        return
    made = None if pad_value is None else _value(edit, new, pad_value, back[0].params, target)
    value = made if padded else None
    moved = Moved(target, new, mapping)
    func = substitute(moved.function(edit.func), {target: new})
    told = {part for param in func.param_buffers for part in binding_parts(param)}
    untold = [size for size in func.symbols if size not in told and size in target.shape]
    if untold:
        names = ", ".join(f"`{size.name}`" for size in untold)
        hint = f"`keep_interface=True` leaves the parameter as it is; or make {names} a parameter of the function"
        edit.refuse(f"no other parameter than `{target.name}` tells {names}", block, hint=hint)
    edit.tree.reset(func)
    if value is not None:
        _pad(edit, edit.block(block.stmt.name), new, back[0], back[1], moved.visit(value))


def _keep(
    edit: Edit,
    block: Place,
    target: Buffer,
    new: Buffer,
    mapping: IndexMap,
    back: tuple[IndexMap, Expr],
    pad_value: PadValue,
) -> None:
    """The function on a buffer of its own, packed in front and taken out behind."""
    goes_in, comes_out = check_kept(edit, block, target)
    padded = not is_const(back[1], False)
    made = None if pad_value is None else _value(edit, new, pad_value, back[0].params, target)
    value = made if padded else None
    wraps = value is not None and holds(value, BufferLoad)
    if wraps and comes_out:
        edit.refuse(f"the padding would repeat elements of `{target.name}`, which the function writes", block)
    name = block.stmt.name
    edit.tree.reset(Moved(target, new, mapping).function(edit.func))
    if value is not None and comes_out:
        _pad(edit, edit.block(name), new, back[0], back[1], value)
    places = []
    if goes_in:
        places.append(copy_in(edit, target, new, mapping, back[0], back[1], value))
    if comes_out:
        places.append(copy_out(edit, new, target, mapping, value))
    edit.allocate(new, edit.block(places[0]))


def chosen_buffer(edit: Edit, block: Place, which: str | int | tuple[str, int | str]) -> Buffer:
    """The buffer of a block that is named, or counted among those that it reads or writes."""
    buffers = {"read": reads_of(block.stmt), "write": writes_of(block.stmt)}
    both = list(dict.fromkeys((*buffers["read"], *buffers["write"])))
    names = ", ".join(f"`{one.name}`" for one in both)
    if isinstance(which, tuple):
        kind, at = which
        if kind not in buffers:
            edit.wrong(f"`buffer` names {kind!r}", hint='write ("read", 0), ("write", 0) or the name of a buffer')
        return chosen(edit, block, buffers[kind], at, f"{kind}s")
    if isinstance(which, int):
        if isinstance(which, bool) or not 0 <= which < len(both):
            edit.refuse(f"the block `{block.stmt.name}` has no buffer at {which}", block, hint=f"it uses {names}")
        return both[which]
    found = [one for one in both if one.name == which]
    if not found:
        edit.refuse(f"the block `{block.stmt.name}` does not use `{which}`", block, hint=f"it uses {names}")
    return found[0]


def _mapping(edit: Edit, buffer: Buffer, given: IndexMap | Callable[..., Any]) -> IndexMap:
    has = f"`{buffer.name}` has {counted(buffer.ndim, 'dimension')}"
    return index_map_of(edit, given, index_dtype(buffer.shape), buffer.ndim, has)


def _check_lanes(edit: Edit, buffer: Buffer, mapping: IndexMap) -> None:
    """Refuse where the elements of a vector would not lie behind each other any more."""
    if not mapping.params:
        return
    lane, others = mapping.params[-1], mapping.indices[:-1]
    if mapping.indices and mapping.indices[-1] is lane and not any(uses(index, lane) for index in others):
        return
    accesses: list[BufferLoad | BufferStore] = [*loads_of(edit.func.body, buffer), *stores_of(edit.func.body, buffer)]
    for node in accesses:
        if any(index.dtype.is_vector for index in node.indices):
            edit.refuse(
                f"`{buffer.name}` is accessed by vectors, whose elements the map takes apart",
                (node, "here"),
                hint="a map that leaves the last index alone keeps them together",
            )


def _collision(mapping: IndexMap, buffer: Buffer) -> list[str]:
    from tirscript.ir.arith.presburger import MappedDomain

    found = MappedDomain(mapping, buffer.shape).collision()
    return [] if found is None else [str(found)]


def _moving(mapping: IndexMap, buffer: Buffer) -> IndexMap:
    """The map on indices as wide as the buffer has them: behind casts, axes would not be seen as such any more."""
    return mapping.with_dtypes([dim.dtype for dim in buffer.shape])


class Moved(Scoped):
    """Rewrites the accesses of a buffer."""

    def __init__(self, old: Buffer, new: Buffer, mapping: IndexMap) -> None:
        super().__init__()
        self.old, self.new, self.mapping = old, new, _moving(mapping, old)

    def visit(self, node: Any) -> Any:
        kind = type(node)
        if (kind is BufferLoad or kind is BufferStore) and node.buffer is self.old:
            inner = self.descend(node)
            return inner.replace(buffer=self.new, indices=self.places(inner.indices))
        if kind is Block:
            return self.renewed(node)
        return self.descend(node)

    def places(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        given = tuple(cast(index, param.dtype) for index, param in zip(indices, self.mapping.params, strict=True))
        return tuple(map(self.simplified, self.mapping.apply(given), self.new.shape))

    def simplified(self, place: Expr, dim: Expr) -> Expr:
        """A place, left as it is where it would be a number outside of its dimension: then nothing ever gets there."""
        found = self.analyzer.simplify(place)
        if type(found) is Const and (found.value < 0 or (type(dim) is Const and found.value >= dim.value)):
            return place
        return found

    def renewed(self, block: Block) -> Block:
        """A block whose regions, where it has them, say where the accesses are now."""
        uses = [
            region for regions in (block.reads, block.writes) for region in regions or () if region.buffer is self.old
        ]
        bare = block
        if uses:
            bare = block.replace(reads=_less(block.reads, self.old), writes=_less(block.writes, self.old))
        made = self.descend(bare)
        if not uses:
            return made
        reads, writes = access_regions(made.replace(reads=None, writes=None))
        return made.replace(
            reads=None if block.reads is None else _merged(block.reads, reads, self.old, self.new),
            writes=None if block.writes is None else _merged(block.writes, writes, self.old, self.new),
        )


def _less(regions: tuple[BufferRegion, ...] | None, buffer: Buffer) -> tuple[BufferRegion, ...] | None:
    return None if regions is None else tuple(region for region in regions if region.buffer is not buffer)


def _merged(
    old: tuple[BufferRegion, ...], new: tuple[BufferRegion, ...], buffer: Buffer, moved: Buffer
) -> tuple[BufferRegion, ...]:
    """The regions as they were, with that of the buffer as it is accessed now."""
    found = [region for region in new if region.buffer is moved]
    return tuple(part for region in old for part in (found if region.buffer is buffer else [region]))


def _pad(edit: Edit, block: Place, buffer: Buffer, back: IndexMap, free: Expr, value: Expr) -> None:
    """Store the padding behind the block that makes the buffer, or assume it of a parameter."""
    loops: list[tuple[Var, Expr]] = []
    axes: list[Axis] = []
    for at, dim in enumerate(buffer.shape):
        loop = Var(f"ax{at}", dim.dtype)
        loops.append((loop, dim))
        start = as_expr(0, dim.dtype)
        axes.append(Axis(Var(f"v{at}", dim.dtype), "spatial", start, dim, loop))
    at_place = {param: cast(axis.var, param.dtype) for param, axis in zip(back.params, axes, strict=True)}
    condition = substitute(free, at_place)
    plain = {axis.var: axis.value for axis in axes}
    value = substitute(value, at_place)
    makers = writers(scope_of(edit, block), buffer)
    indices = tuple(axis.var for axis in axes)
    if makers:
        name = edit.fresh_block_name(f"{buffer.name}_pad")
        predicate = substitute(condition, plain)
        stmt: Stmt = Block(name, tuple(axes), (BufferStore(buffer, indices, value),), predicate=predicate)
    else:
        if allocation(edit, buffer) is not None:
            edit.refuse(f"nothing writes `{buffer.name}`", block)
        element = BufferLoad(buffer, tuple(axis.value for axis in axes))
        negated = get_op("logical_not")(substitute(condition, plain))
        claim = same_number(element, substitute(value, plain))
        stmt = Assume(get_op("logical_or")(negated, claim))
    for loop, dim in reversed(loops):
        stmt = For(loop, as_expr(0, dim.dtype), dim, (stmt,))
    if makers:
        home = allocation(edit, buffer)
        around = scope_of(edit, block) if home is None or home.parent is None else home.parent
        last = max(makers, key=lambda place: top(around, place).index)
        edit.tree.insert(top(around, last), after=(stmt,))
    else:
        at = edit.head(edit.tree.root)
        edit.tree.splice(edit.tree.root, "body", at, at, (stmt,))


def _value(edit: Edit, buffer: Buffer, given: PadValue, places: tuple[Var, ...], old: Buffer) -> Expr:
    """The pad value at `places`; it may read `old`, the buffer as it was, and nothing else."""
    made = _made(edit, buffer, given, places)
    if callable(given) and not isinstance(given, (Expr, IndexMap)):
        inside = any(uses(made, place) for place in places)
        edit.called[given] = IndexMap.of(given, ndim=len(places)) if inside else made
    for node in walk(made):
        if type(node) is BufferLoad and node.buffer is not old:
            edit.wrong(f"`pad_value` reads `{node.buffer.name}`; it may read `{old.name}` alone")
        if type(node) is Var and node not in places:
            edit.wrong(f"`pad_value` uses `{node.name}`, which has no value where the padding is stored")
    return made


def _made(edit: Edit, buffer: Buffer, given: PadValue, places: tuple[Var, ...]) -> Expr:
    value: Any = given
    if isinstance(given, IndexMap):
        if len(given.params) != len(places) or len(given.indices) != 1:
            edit.wrong(f"`pad_value` is a function of the {len(places)} indices of the new buffer to one value")
        value = function_of(edit, given, places[0].dtype, len(places)).apply(places)[0]
        if value.dtype is not buffer.dtype:
            value = cast(value, buffer.dtype)
    elif callable(given) and not isinstance(given, Expr):
        parameters = inspect.signature(given).parameters
        count = len(parameters)
        if count != len(places) and all(one.kind is not one.VAR_POSITIONAL for one in parameters.values()):
            edit.wrong(f"`pad_value` is a function of {counted(count, 'index')}, and the new buffer has {len(places)}")
        try:
            value = given(*places)
        except Exception as problem:  # a user's function raises what it likes
            edit.wrong(f"`pad_value` cannot be evaluated: {type(problem).__name__}: {said(problem)}")
    try:
        made = as_expr(value, buffer.dtype)
        if made.dtype is buffer.dtype:
            return made
        if type(made) is Call and made.op is OPS["undef"]:
            return Call(OPS["undef"], (), buffer.dtype)
        return cast(made, buffer.dtype)
    except (TypeError, ValueError, DiagnosticError) as problem:
        edit.wrong(f"`pad_value` cannot be stored as {buffer.dtype}: {said(problem)}")
