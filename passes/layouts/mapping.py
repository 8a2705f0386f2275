"""Layouts in memory: where the elements of a tensor lie in another one, what fills the rest, and how TIR says so.

`PadMapping` is rebuilt from the statements of a function that copies a tensor from one layout to another, whatever
its name and its hints are: a pad, a crop, a transpose, a reshape, a re-tiling.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, const, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.op import OPS, cast, get_op
from tirscript.ir.op_sets import CHOICES
from tirscript.ir.rewrite import holds, rewrite, substitute, uses, walk
from tirscript.ir.stmt import Assume, For, Stmt

from ..statements import conjunction
from .numbers import values_at
from .stages import Stage, staged

FALSE = const(False)
# mappings that were made, by what they are made of: proofs take long
_MADE: dict[Any, PadMapping | None] = {}
KEPT = 1024


class Component(Struct, frozen=True, eq=False):
    """Dimensions `dims` of a tensor that become the dimensions `outs` of its packed form, and no others do."""

    dims: tuple[int, ...]
    outs: tuple[int, ...]


class PadMapping(Struct, frozen=True, eq=False):
    """How a tensor of `shape` lies in a packed one of `packed_shape`, all in int64.

    `index_map` takes its indices to places, `inverse` places to indices. `pad_predicate`, in the params of `inverse`,
    says where a place is padding; `pad_value` is what stands there, None where nothing is promised.
    """

    index_map: IndexMap
    inverse: IndexMap
    pad_predicate: Expr
    pad_value: Const | None
    shape: tuple[Expr, ...]
    packed_shape: tuple[Expr, ...]

    @staticmethod
    def of(
        mapping: IndexMap | Callable[..., Any],
        shape: Sequence[Expr | int],
        pad_value: Const | None = None,
        packed_shape: Sequence[Expr | int] | None = None,
    ) -> PadMapping | None:
        """The mapping of a tensor of `shape`; None where the map is not proved to be injective or has no inverse.

        Without `packed_shape` tiles are whole: `i % 16` takes 16 places, also where there are fewer elements.
        """
        given = mapping if isinstance(mapping, IndexMap) else IndexMap.of(mapping)
        given = given.with_dtype(INT64)
        sizes = tuple(size_of(dim) for dim in shape)
        if not all(type(dim) in (Const, Var) for dim in sizes):
            return _of_sums(given, sizes, pad_value, packed_shape)
        if len(given.params) != len(sizes):
            return None
        places = None if packed_shape is None else _content(*map(size_of, packed_shape))
        key = (_content(*given.apply(_STANDING[: len(sizes)])), _content(*sizes), places, given.inverse)
        if key not in _MADE:
            if len(_MADE) >= KEPT:
                _MADE.clear()
            _MADE[key] = PadMapping._of(given, sizes, packed_shape)
        made = _MADE[key]
        return made if made is None or pad_value is None else made.with_value(pad_value)

    @staticmethod
    def _of(given: IndexMap, sizes: tuple[Expr, ...], packed_shape: Sequence[Expr | int] | None) -> PadMapping | None:
        """What `of` makes, without a pad value."""
        if not given.is_injective(sizes):
            return None
        least, back = given.map_shape(sizes), given.inverse_of(sizes)
        if least is None or back is None:
            return None
        places = tuple(map(size_of, _whole(given, least) if packed_shape is None else packed_shape))
        given = _named(given, "i")
        known = _known(given.params, sizes)
        given = IndexMap(given.params, tuple(_sum(index, known) for index in given.indices))
        for one in (back, given.inverse_of(_filling(given, sizes, places))):
            if one is not None:
                back = _named(one.with_dtype(INT64), "p")
                if _is_dense(given, back, places):
                    break
        free = free_places(given, back, sizes, places)
        return None if free is None else PadMapping(given, back, free, None, sizes, places)

    @property
    def padded(self) -> bool:
        """Whether there is padding at all."""
        return not is_const(self.pad_predicate, False)

    def apply(self, indices: tuple[Expr, ...], dtype: DType) -> tuple[Expr, ...]:
        """The places of an element, in `dtype`."""
        return self.index_map.with_dtype(dtype).apply(tuple(cast(index, dtype) for index in indices))

    def back(self, places: tuple[Expr, ...], dtype: DType) -> tuple[Expr, ...]:
        """The indices of the element at a place, in `dtype`."""
        return self.inverse.with_dtype(dtype).apply(tuple(cast(place, dtype) for place in places))

    def pads(self, places: tuple[Expr, ...], dtype: DType) -> Expr:
        """The condition that a place is padding."""
        kept = IndexMap(self.inverse.params, (self.pad_predicate,)).with_dtype(dtype)
        found: Expr = substitute(kept.indices[0], dict(zip(kept.params, places, strict=True)))
        return found

    def same_layout(self, other: PadMapping) -> bool:
        """Whether both put every element at the same place of equal tensors; pad values do not count."""
        if self is other:
            return True
        if len(self.shape) != len(other.shape) or len(self.packed_shape) != len(other.packed_shape):
            return False
        known = Analyzer()
        for a, b in zip((*self.shape, *self.packed_shape), (*other.shape, *other.packed_shape), strict=True):
            if not known.prove_equal(a, b):
                return False
        for param, dim in zip(self.index_map.params, self.shape, strict=True):
            known.bind(param, (const(0, INT64), dim))
        theirs = other.index_map.apply(self.index_map.params)
        return all(
            structural_equal(a, b, map_free_vars=False) or known.prove_equal(a, b)
            for a, b in zip(self.index_map.indices, theirs, strict=True)
        )

    def with_value(self, value: Const | None) -> PadMapping:
        """The same layout with another pad value."""
        return PadMapping(self.index_map, self.inverse, self.pad_predicate, value, self.shape, self.packed_shape)

    def substituted(self, values: Mapping[Var, Expr]) -> PadMapping:
        """The mapping with other dimensions for variables."""

        def placed(one: IndexMap) -> IndexMap:
            return IndexMap(one.params, substitute(one.indices, values))

        return PadMapping(
            placed(self.index_map),
            placed(self.inverse),
            substitute(self.pad_predicate, values),
            self.pad_value,
            substitute(self.shape, values),
            substitute(self.packed_shape, values),
        )

    def turned(self) -> PadMapping:
        """The mapping of the packed tensor to the plain one; only where nothing is padded."""
        there, back = _named(self.inverse, "i"), _named(self.index_map, "p")
        return PadMapping(there, back, FALSE, None, self.packed_shape, self.shape)

    def components(self) -> tuple[Component, ...]:
        """The groups of dimensions that are packed apart from each other."""
        found: list[tuple[set[int], list[int]]] = []
        for out, index in enumerate(self.index_map.indices):
            dims = {at for at, param in enumerate(self.index_map.params) if uses(index, param)}
            joined = [one for one in found if one[0] & dims]
            found = [one for one in found if not one[0] & dims]
            merged = (dims.union(*[one[0] for one in joined]), [*itertools.chain(*[one[1] for one in joined]), out])
            found.append(merged)
        return tuple(Component(tuple(sorted(dims)), tuple(sorted(outs))) for dims, outs in found)

    def is_plain(self) -> bool:
        """Whether every element stays where it is."""
        known = _known(self.index_map.params, self.shape)
        pairs = (*zip(self.index_map.indices, self.index_map.params), *zip(self.packed_shape, self.shape))
        return len(self.shape) == len(self.packed_shape) and all(known.prove_equal(a, b) for a, b in pairs)

    def then(self, second: PadMapping) -> PadMapping | None:
        """The mapping of one after the other, `second` one of the packed tensor without padding of its own."""
        known = _known(self.index_map.params, self.shape)
        places = tuple(map(known.simplify, second.index_map.apply(self.index_map.indices)))
        return PadMapping.of(IndexMap(self.index_map.params, places), self.shape, self.pad_value, second.packed_shape)

    def has_gaps(self, component: Component) -> bool:
        """Whether a component leaves places free between its elements, as `2 * i` does.

        Elsewhere packing the indices of any place, padding too, gives the place again.
        """
        return not set(component.outs) <= _without_gaps(self)

    def packed(self, array: Any, fill: Const | None = None) -> Any:
        """A numpy array of `shape` in the packed layout, with `fill` (0 where None) as padding."""
        import numpy as np

        places = [int(dim.value) for dim in self.packed_shape if type(dim) is Const]
        made = np.full(places, 0 if fill is None else fill.value, array.dtype)
        axes = np.indices(array.shape, sparse=True)
        values = dict(zip(self.index_map.params, axes, strict=True))
        # a tensor of one element has places of constants alone, which numpy would not take for places of an array
        made[tuple(np.broadcast_to(values_at(index, values), array.shape) for index in self.index_map.indices)] = array
        return made

    def __str__(self) -> str:
        params = ", ".join(param.name for param in self.index_map.params)
        value = "" if self.pad_value is None or not self.padded else f", pad {self.pad_value.value}"
        shape = ", ".join(str(dim.value) if type(dim) is Const else str(dim) for dim in self.packed_shape)
        return f"({params}) -> ({', '.join(map(str, self.index_map.indices))}) in ({shape}){value}"


def _content(*exprs: Expr) -> tuple[Any, ...]:
    """What expressions are: their text, and the variables that it names."""
    variables = dict.fromkeys(walk(exprs, Var))
    return *map(str, exprs), *variables


# variables for the dimensions, or the indices, of one tensor
_STANDING = tuple(Var(f"n{at}", INT64) for at in range(64))


@lru_cache(256)
def _without_gaps(mapping: PadMapping) -> frozenset[int]:
    """The packed dimensions whose places packing gives again."""
    known = _known(mapping.inverse.params, mapping.packed_shape)
    again = mapping.index_map.apply(mapping.inverse.indices)
    places = zip(again, mapping.inverse.params, strict=True)
    return frozenset(out for out, (index, place) in enumerate(places) if known.prove_equal(index, place))


def _of_sums(
    given: IndexMap, sizes: tuple[Expr, ...], pad_value: Const | None, packed_shape: Sequence[Expr | int] | None
) -> PadMapping | None:
    """The mapping of a tensor with dimensions such as `n * 2`: made with variables for these."""
    stands: list[tuple[Expr, Var]] = []
    for dim in sizes:
        if type(dim) not in (Const, Var) and _standing(dim, stands) is dim and len(stands) < len(_STANDING):
            stands.append((dim, _STANDING[len(stands)]))
    instead = {var: dim for dim, var in stands}
    plain = tuple(_standing(dim, stands) for dim in sizes)
    found = PadMapping.of(given, plain, pad_value)
    made = None if found is None else found.substituted(instead)
    if packed_shape is None or made is None:
        return made
    known = Analyzer()
    if all(known.prove_equal(a, size_of(b)) for a, b in zip(made.packed_shape, packed_shape, strict=True)):
        return made
    places = tuple(rewrite(size_of(dim), {Call: lambda node: _standing(node, stands)}) for dim in packed_shape)
    found = PadMapping.of(given, plain, pad_value, places)
    return None if found is None else found.substituted(instead)


def _standing(dim: Expr, stands: list[tuple[Expr, Var]]) -> Expr:
    """The variable that stands for a dimension, or this."""
    return next((var for one, var in stands if structural_equal(dim, one, map_free_vars=False)), dim)


def _sum(index: Expr, known: Analyzer) -> Expr:
    """An index with its constants added up; a whole simplification would lose digits that are 0 here."""
    if type(index) is not Call or index.op.name not in ("add", "sub"):
        return index
    found = known.simplify(index)
    if type(found) is Call and found.op.name == "sub" and type(found.args[1]) is Const and found.args[1].value < 0:
        return found.args[0] + Const(-found.args[1].value, found.dtype)
    return found


def _is_dense(given: IndexMap, back: IndexMap, places: Sequence[Expr]) -> bool:
    known = _known(back.params, places)
    return all(known.prove_equal(a, b) for a, b in zip(given.apply(back.indices), back.params, strict=True))


def _filling(given: IndexMap, shape: tuple[Expr, ...], places: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """A shape with so many elements in each dimension that they could fill the tiles, whose inverse has all digits."""
    found = list(shape)
    for at, param in enumerate(given.params):
        sizes = [place for index, place in zip(given.indices, places, strict=True) if uses(index, param)]
        numbers = [int(place.value) for place in sizes if type(place) is Const]
        size = shape[at]
        if type(size) is Const and len(numbers) == len(sizes):
            found[at] = const(max(int(size.value), min(math.prod(numbers), 1 << 40)), INT64)
    return tuple(found)


def _whole(given: IndexMap, least: Sequence[Expr]) -> list[Expr]:
    """The least shape, or more in dimensions whose index has a bound of its own."""
    known = Analyzer()
    for param in given.params:
        known.bind(param, (0, 1 << 40))
    found = []
    for index, size in zip(given.indices, least, strict=True):
        own = known.const_int_bound(index)[1] + 1
        more = type(size) is not Const or size.value < own
        found.append(const(own, INT64) if more and own < 1 << 20 else size)
    return found


def _named(mapping: IndexMap, letter: str) -> IndexMap:
    params = tuple(Var(f"{letter}{at}", param.dtype) for at, param in enumerate(mapping.params))
    return IndexMap(params, mapping.apply(params))


def free_places(given: IndexMap, back: IndexMap, shape: tuple[Expr, ...], places: tuple[Expr, ...]) -> Expr | None:
    """Where a place is taken by no element, in the params of `back`; None where that is not known."""
    known = _known(back.params, places)
    if _is_dense(given, back, places):
        inside = conjunction(
            part
            for index, dim in zip(back.indices, shape, strict=True)
            for part in (get_op("less_equal")(const(0, INT64), index), get_op("less")(index, dim))
            if not known.can_prove(part)
        )
        if inside is None:
            return FALSE
        return known.simplify(get_op("logical_not")(known.simplify(inside)))
    from tirscript.ir.arith.presburger import MappedDomain

    return MappedDomain(given, shape).padding(places, back.params)


class Conversion(Struct, frozen=True, eq=False):
    """A function that copies its one argument to its result: from the plain layout to the packed one, or back."""

    mapping: PadMapping
    packs: bool


def conversion_of(func: PrimFunc) -> Conversion | None:
    """The mapping that a function carries out, read in its statements; None where it does something else."""
    if len(func.params) != 2:
        return None
    claims = tuple(stmt for stmt in func.body if _assumed(stmt) is not None)
    found = staged(func.replace(body=tuple(stmt for stmt in func.body if stmt not in claims)))
    if found is None or found.temporaries or found.constants:
        return None
    source, target = found.params
    if any(stage.buffer is not target for stage in found.stages) or len(found.stages) > 2:
        return None
    if source.dtype is not target.dtype:
        return None
    main, *rest = found.stages
    made = _read(main, source, target)
    if made is None:
        return None
    if made.packs:
        return _filled(made, rest)
    assumed = _claimed(made.mapping, claims, source)
    return None if rest else Conversion(made.mapping.with_value(assumed), False)


def _read(stage: Stage, source: Any, target: Any) -> Conversion | None:
    """A stage that copies elements, each to one place."""
    if stage.init is not None or any(axis.kind != "spatial" for axis in stage.axes):
        return None
    value: Expr = stage.store.value
    condition = stage.where
    other: Const | None = None
    if type(value) is Call and value.op in CHOICES:
        if condition is not None:
            return None
        condition, value, last = value.args
        if type(value) is Const:
            condition, value, last = Analyzer().simplify(get_op("logical_not")(condition)), last, value
        if type(last) is not Const:
            return None
        other = last
    if type(value) is not BufferLoad or value.buffer is not source:
        return None
    if condition is not None and holds(condition, BufferLoad):
        return None
    if _covers(stage, stage.store.indices, target.shape):
        made = _mapping(stage, stage.store.indices, value.indices, target.shape, source.shape, condition)
        # the places of the result are the iterations: under a condition it is the packed side
        return None if made is None else _turned(made, other, condition is not None)
    if _covers(stage, value.indices, source.shape) and other is None:
        made = _mapping(stage, value.indices, stage.store.indices, source.shape, target.shape, condition)
        if made is None:
            return None
        return Conversion(made, condition is None)
    return None


def _turned(made: PadMapping, other: Const | None, conditional: bool) -> Conversion:
    if conditional:
        return Conversion(made.with_value(other), True)
    if made.padded:
        return Conversion(made, False)
    # without padding both sides are packed forms of each other: the result is
    return Conversion(made.turned(), True)


def _covers(stage: Stage, indices: tuple[Expr, ...], shape: tuple[Expr, ...]) -> bool:
    """Whether plain axes as indices reach every element of a shape once, in all iterations."""
    axes = {axis.var: axis for axis in stage.axes}
    free = [axis.var for axis in stage.axes if not is_const(axis.stop, 1)]
    known = Analyzer()
    for index, dim in zip(indices, shape, strict=True):
        if type(index) is Var and index in axes and known.prove_equal(axes[index].stop, dim):
            if index in free:
                free.remove(index)
            elif not is_const(dim, 1):
                return False
        elif not (is_const(index, 0) and is_const(dim, 1)):
            return False
    return not free


def _mapping(
    stage: Stage,
    own: tuple[Expr, ...],
    there: tuple[Expr, ...],
    shape: tuple[Expr, ...],
    other: tuple[Expr, ...],
    condition: Expr | None,
) -> PadMapping | None:
    """The mapping between the places `own`, plain axes, and `there`, where `condition` holds.

    Without a condition `own` is the plain side; with one it is the packed side, which has padding elsewhere.
    """
    params = tuple(Var(f"i{at}", INT64) for at in range(len(own)))
    values: dict[Any, Any] = {}
    for index, param in zip(own, params, strict=True):
        if type(index) is Var:
            values.setdefault(index, param)
    for axis in stage.axes:
        values.setdefault(axis.var, const(0, INT64))
    taken = tuple(axis.var for axis in stage.axes)
    told = there if condition is None else (*there, condition)
    if not _is_exact(told, stage.analyzer()):
        return None
    parts = IndexMap(taken, told).with_dtype(INT64)
    placed = parts.apply(tuple(values[var] for var in taken))
    if any(type(node) is BufferLoad for part in placed for node in walk(part)):
        return None
    sizes, others = tuple(map(size_of, shape)), tuple(map(size_of, other))
    known = _known(params, sizes)
    there_map = IndexMap(params, tuple(map(known.simplify, placed[: len(there)])))
    if condition is None:
        return PadMapping.of(there_map, sizes, None, others)
    back = there_map
    forward = back.inverse_of(sizes) if back.is_injective(sizes) else _where_held(back, sizes, placed[-1])
    if forward is None:
        return None
    made = PadMapping.of(forward.with_dtype(INT64), others, None, sizes)
    if made is None:
        return None
    # what is copied is exactly what is no padding
    free = made.pads(params, INT64)
    held = known.simplify(placed[-1])
    with known.scope(held):
        if known.decide(free) is not False:
            return None
    with known.scope(get_op("logical_not")(held)):
        if not (known.facts.unreachable or known.decide(free)):
            return None
    return made


def _is_exact(exprs: tuple[Expr, ...], known: Analyzer) -> bool:
    """Whether no integer in expressions wraps around, so that they mean the same in int64."""
    for node in walk(exprs):
        if type(node) is not Call or not node.dtype.is_int or (node.dtype.bits == 64 and node.dtype.is_signed):
            continue
        if node.op.name == "cast":
            low, high = known.const_int_bound(node.args[0])
            least, greatest = node.dtype.int_range()
            if node.args[0].dtype.is_float or low < least or high > greatest:
                return False
        elif known.can_overflow(node):
            return False
    return True


def _where_held(back: IndexMap, sizes: tuple[Expr, ...], held: Expr) -> IndexMap | None:
    """The inverse of a map on the places where a condition holds."""
    from tirscript.ir.arith.presburger import MappedDomain

    return MappedDomain(back, sizes, predicate=held).inverse()


def _filled(made: Conversion, rest: list[Stage]) -> Conversion | None:
    """A conversion whose second stage stores a number in the padding."""
    if not rest:
        return made
    (stage,) = rest
    value, target = stage.store.value, stage.buffer
    if type(value) is not Const or stage.init is not None or not _covers(stage, stage.store.indices, target.shape):
        return None
    places = tuple(cast(index, INT64) for index in stage.store.indices)
    known = stage.analyzer()
    free = made.mapping.pads(places, INT64)
    held = const(True) if stage.where is None else stage.where
    if not made.mapping.padded or made.mapping.pad_value is not None:
        return None
    with known.scope(held):
        if not (known.facts.unreachable or known.decide(free)):
            return None
    with known.scope(free):
        if not (known.facts.unreachable or known.decide(held)):
            return None
    return Conversion(made.mapping.with_value(value), made.packs)


def _assumed(stmt: Stmt) -> tuple[tuple[For, ...], Assume] | None:
    loops: list[For] = []
    while type(stmt) is For and len(stmt.body) == 1:
        loops.append(stmt)
        stmt = stmt.body[0]
    return (tuple(loops), stmt) if type(stmt) is Assume else None


def _claimed(mapping: PadMapping, claims: tuple[Stmt, ...], source: Any) -> Const | None:
    """The number that assumptions say is everywhere in the padding of `source`."""
    for claim in claims:
        loops, stmt = _assumed(claim) or ((), None)
        condition = None if stmt is None else stmt.condition
        if type(condition) is not Call or condition.op is not OPS["logical_or"]:
            continue
        held, said = condition.args
        if type(said) is Call and said.op is OPS["isnan"]:
            said = said.replace(op=OPS["equal"], args=(*said.args, Const(math.nan, said.args[0].dtype)))
        if type(said) is not Call or said.op is not OPS["equal"]:
            continue
        element, value = said.args
        plain = [loop.var for loop in loops if is_const(loop.start, 0) and loop.step is None]
        if type(element) is not BufferLoad or element.buffer is not source or type(value) is not Const:
            continue
        known = Analyzer()
        for loop in loops:
            known.enter_loop(loop)
        sizes = {loop.var: loop.stop for loop in loops}
        if len(plain) != len(loops) or set(element.indices) != set(plain) or len(plain) != len(element.indices):
            continue
        if not all(known.prove_equal(sizes[i], d) for i, d in zip(element.indices, source.shape, strict=True)):  # type: ignore[index]
            continue
        free = mapping.pads(tuple(cast(index, INT64) for index in element.indices), INT64)
        with known.scope(free):
            if known.facts.unreachable or known.decide(held) is False:
                return value
    return None


def _known(params: Sequence[Var], shape: Sequence[Expr]) -> Analyzer:
    known = Analyzer()
    for param, dim in zip(params, shape, strict=True):
        known.bind(param, (const(0, param.dtype), cast(dim, param.dtype)))
    return known


def resized(dim: Expr, dtype: DType) -> Expr:
    """A dimension in another dtype."""
    return Const(dim.value, dtype) if type(dim) is Const else cast(dim, dtype)


def size_of(dim: Expr | int) -> Expr:
    """A dimension in int64."""
    return resized(dim, INT64) if isinstance(dim, Expr) else const(dim, INT64)


__all__ = ["Component", "Conversion", "PadMapping", "conversion_of", "resized", "size_of"]
