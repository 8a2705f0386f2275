"""What an index map does to a domain: injective or not, its image, its inverse, the padding it leaves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...dtype import BOOL, INT64, DType
from ...expr import Const, Expr, Var, is_const
from ...index_map import IndexMap
from ...op import as_expr, get_op
from ...rewrite import free_vars
from ...words import counted, parenthesized
from ..bounds import Interval, within_types
from ..evaluate import Undecided, evaluate
from ..linear import Linear, linear
from ..logic import comparison, conjuncts
from .back import Back
from .build import Build
from .digits import digit_ranges
from .form import Compare, Dim, Sum, at_least_zero, column, dims_of
from .limits import LARGEST, OPERATIONS, Unknown, as_int, bounded, context, or_none
from .points import small_point
from .translate import Translation

if TYPE_CHECKING:
    import islpy


# what is spent on saying an inverse in fewer words
EXTRA = 20_000
# the elements of a map that is not affine are tried one by one where they are so many at most
TRIED = 4096
Place = tuple[int, ...]


class Collision(Struct, frozen=True, eq=False):
    """Two elements that an index map puts at one place, for these values of the symbols."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    place: tuple[int, ...]
    symbols: dict[Var, int]

    def __str__(self) -> str:
        text = f"{parenthesized(self.first)} and {parenthesized(self.second)} both go to {parenthesized(self.place)}"
        if self.symbols:
            text += " where " + ", ".join(f"{var.name} = {value}" for var, value in self.symbols.items())
        return text


class MappedDomain:
    """An index map on the indices of a shape. Every answer may be None, which says that it is not known.

    `shape` holds a number or an expression for each of the map's indices, which run from 0; `ranges` bounds the
    symbols in it and in the map, which are not negative where there is no bound. `predicate` (in terms of the map's
    indices) leaves a part of the domain.
    """

    def __init__(
        self,
        index_map: IndexMap,
        shape: Sequence[Expr | int],
        ranges: Mapping[Var, Interval] | None = None,
        *,
        predicate: Expr | None = None,
        operations: int = OPERATIONS,
    ) -> None:
        if len(shape) != len(index_map.params):
            takes = counted(len(index_map.params), "index")
            raise ValueError(f"the index map takes {takes}, the shape has {len(shape)}")
        self.index_map = index_map
        self.shape = tuple(as_expr(dim, INT64) for dim in shape)
        self.operations = operations
        inside = (*self.shape, *index_map.indices, *(() if predicate is None else (predicate,)))
        self.symbols = [var for var in free_vars(inside) if var not in index_map.params]
        self.ranges = {var: (0, _greatest(var.dtype)) for var in self.symbols if var.dtype.is_int}
        self.ranges.update(within_types(ranges or {}))
        self._predicate = predicate
        self._ctx: Any = None
        self._made: Any = None
        self._table: dict[Place, Place] | None = None

    # questions

    def is_injective(self) -> bool | None:
        """Whether no two elements go to one place."""
        if self._digits() is not None:
            return True
        found = self._ask(lambda: self._map().is_injective())
        return self._tried(lambda table: len(set(table.values())) == len(table)) if found is None else found

    def collision(self) -> Collision | None:
        """Two elements that go to one place, with small values where there are such."""
        if self.is_injective():
            return None
        return self._ask(self._collision) or self._tried(_repeated)

    def is_bijective(self, shape: Sequence[Expr | int]) -> bool | None:
        """Whether the map is injective and every place of the new `shape` is taken, and none outside of it."""

        digits = self._digits()
        if digits is not None and len(digits) == len(shape) and all(map(_same, digits, shape)):
            return True

        def answer() -> bool:
            return bool(self._map().is_injective() and self._map().range().is_equal(self._box(shape)))

        found = self._ask(answer)
        if found is not None:
            return found
        inside, injective = self.stays_within(shape), self.is_injective()
        if inside is None or injective is None:
            return False if inside is False or injective is False else None
        sizes = [dim if isinstance(dim, int) else dim.value for dim in shape if isinstance(dim, (int, Const))]
        if len(sizes) < len(shape):
            return None
        return self._tried(lambda table: inside and injective and len(table) == math.prod(sizes))

    def is_filled(self, shape: Sequence[int]) -> bool:
        """Whether places are taken as digits of a number are, all of a box of `shape` among them; False is unknown.

        A condition may leave out what is beyond the box: `i * 8 + j < 30` of a place that is below 32.
        """
        digits = digit_ranges(self.index_map.params, self.shape, self.index_map.indices)
        if digits is None or len(digits) != len(shape):
            return False
        if not all(isinstance(digit, int) and digit >= size for digit, size in zip(digits, shape)):
            return False
        forms = [linear(index) for index in self.index_map.indices]
        return self._predicate is None or all(_is_beyond(one, forms, shape) for one in conjuncts(self._predicate))

    def stays_within(self, shape: Sequence[Expr | int]) -> bool | None:
        """Whether every element goes to a place inside of `shape`."""
        found = self._ask(lambda: self._map().range().is_subset(self._box(shape)))
        sizes = [dim if isinstance(dim, int) else dim.value for dim in shape if isinstance(dim, (int, Const))]
        if found is not None or len(sizes) < len(shape):
            return found
        return self._tried(
            lambda table: all(0 <= one < size for place in table.values() for one, size in zip(place, sizes))
        )

    def is_empty(self) -> bool | None:
        """Whether the domain has no element, whatever the symbols are."""
        return self._ask(lambda: self._map().is_empty())

    def image_shape(self) -> tuple[Expr, ...] | None:
        """The least shape that holds all places: of each new index its greatest value plus one.

        None where an element may go to a place below 0, which no shape holds.
        """

        def answer() -> tuple[Expr, ...]:
            image = self._map().range()
            if image.is_empty():
                raise Unknown("nothing is mapped")
            kind, zero = self._isl().dim_type.set, self._value(0)
            if not all(image.is_subset(image.lower_bound_val(kind, at, zero)) for at in range(self._places)):
                raise Unknown("places below 0")
            back, sizes = self._back(()), image.params()
            greatest = [image.dim_max(at).add_constant_val(self._value(1)) for at in range(self._places)]
            return tuple(back.function(one.gist_params(sizes)) for one in greatest)

        found = self._ask(answer)
        return found and tuple(map(self._from_zero, found))

    def _from_zero(self, size: Expr) -> Expr:
        """A size that is right where there are elements; where there are none it may be below 0, and is 0 then."""
        from ..analyzer import Analyzer

        known = Analyzer()
        for var, (low, high) in self.ranges.items():
            known.bind(var, (as_expr(low, var.dtype), as_expr(high, var.dtype)))
        return size if known.can_prove(size >= 0) else get_op("max")(size, as_expr(0, size.dtype))

    def image(self, places: Sequence[Var]) -> Expr | None:
        """Where a place, given by the variables `places`, is taken, as a condition."""

        def answer() -> Expr:
            image, intervals = self._image()
            return self._back(places, intervals).condition(image.gist_params(image.params()))

        return self._ask(answer)

    def padding(self, shape: Sequence[Expr | int], places: Sequence[Var]) -> Expr | None:
        """Where a place of the new `shape` is taken by no element; the constant False where all are."""

        def answer() -> Expr:
            box = self._box(shape)
            free = box.subtract(self._map().range()).coalesce()
            if free.is_empty():
                return Const(False, BOOL)
            translation, _ = self._translation()
            highs = [translation.number(as_expr(dim, INT64)).high for dim in shape]
            return self._back(places, [(0, max(0, high - 1)) for high in highs]).condition(free.gist(box))

        return self._ask(answer)

    def inverse(self, names: Sequence[str] | None = None) -> IndexMap | None:
        """The map back from the image; None where the map is not injective or its inverse is not known."""

        def answer() -> tuple[IndexMap, int]:
            if not self._map().is_injective():
                raise Unknown("not injective")
            image, intervals = self._image()
            function = self._isl().PwMultiAff.from_map(self._map().reverse()).coalesce()
            pieces = [function.get_pw_aff(at).gist(image) for at in range(len(self.shape))]
            indices = tuple(self._back(params, intervals).function(piece) for piece in pieces)
            return IndexMap(params, indices), max(piece.n_piece() for piece in pieces)

        hints = names or [f"i{at}" for at in range(self._places)]
        params = tuple(Var(hint, index.dtype) for hint, index in zip(hints, self.index_map.indices))
        found = self._ask(answer)
        if found is None:
            return None
        # a choice between pieces may be nothing but a division of the element's number
        other = self._ask(lambda: self._through_number(params), EXTRA) if found[1] > 1 else None
        return other or found[0]

    def is_inverse(self, candidate: IndexMap) -> bool | None:
        """Whether `candidate` takes every place of the image back to the element that went there."""
        if len(candidate.params) != self._places or len(candidate.indices) != len(self.shape):
            return False
        composed = candidate.apply(self.index_map.indices)

        def answer() -> bool:
            there = MappedDomain(
                IndexMap(self.index_map.params, composed), self.shape, self.ranges, predicate=self._predicate
            )
            there._ctx, there.symbols = self._context(), self.symbols
            found = there._map()
            identity = self._isl().Map.identity(found.get_space())
            return bool(found.is_subset(identity))

        return self._ask(answer)

    def cardinality(self) -> int | None:
        """The number of places that are taken, where it does not depend on symbols."""

        def answer() -> int:
            if self.symbols:
                raise Unknown("it depends on symbols")
            image = self._map().range()
            lows = [as_int(image.dim_min_val(at)) for at in range(self._places)]
            highs = [as_int(image.dim_max_val(at)) for at in range(self._places)]
            box = self._isl().Set.universe(image.get_space())
            total = 1
            for at, (low, high) in enumerate(zip(lows, highs)):
                kind = self._isl().dim_type.set
                box = box.lower_bound_val(kind, at, self._value(low)).upper_bound_val(kind, at, self._value(high))
                total *= high - low + 1
            return total if box.is_subset(image) else as_int(image.count_val())

        found = self._ask(lambda: 0 if self._map().is_empty() else answer())
        return self._tried(lambda table: len(set(table.values()))) if found is None else found

    # machinery

    def _tried(self, question: Callable[[dict[Place, Place]], Any]) -> Any:
        """What `question` says of the places of all elements, where they are few enough to be tried one by one."""
        sizes = [int(dim.value) for dim in self.shape if type(dim) is Const]
        if self.symbols or len(sizes) < len(self.shape) or math.prod(sizes) > TRIED:
            return None
        if self._table is None:
            self._table = {}
            try:
                for element in itertools.product(*map(range, sizes)):
                    values = dict(zip(self.index_map.params, element))
                    if self._predicate is None or evaluate(self._predicate, values):
                        self._table[element] = tuple([evaluate(index, values) for index in self.index_map.indices])
            except Undecided:
                return None
        return question(self._table)

    @property
    def _places(self) -> int:
        return len(self.index_map.indices)

    def _digits(self) -> list[Expr | int] | None:
        if self._predicate is not None:
            return None
        return digit_ranges(self.index_map.params, self.shape, self.index_map.indices)

    def _isl(self) -> Any:
        import islpy

        return islpy

    def _context(self) -> islpy.Context:
        if self._ctx is None:
            self._ctx = context()
        return self._ctx

    def _value(self, value: int) -> islpy.Val:
        return self._isl().Val.read_from_str(self._context(), str(value))

    def _ask(self, question: Any, operations: int | None = None) -> Any:
        def within() -> Any:
            with bounded(self._context(), operations or self.operations):
                return question()

        return or_none(within)

    def _translation(self) -> tuple[Translation, list[Dim]]:
        """A translation whose symbols are columns already, in the order that all sets here have them."""
        known = {**self.ranges, **{var: (0, max(0, _greatest(var.dtype) - 1)) for var in self.index_map.params}}
        for var, dim in zip(self.index_map.params, self.shape):
            if type(dim) is Const:
                known[var] = (0, max(0, int(dim.value) - 1))
        translation = Translation(known)
        return translation, [translation.dim(var) for var in self.symbols]

    def _map(self) -> islpy.Map:
        if self._made is None:
            self._made = self._build()
        return self._made

    def _build(self) -> islpy.Map:
        translation, symbols = self._translation()
        params = [translation.dim(var) for var in self.index_map.params]
        conditions = []
        for param, dim in zip(params, self.shape):
            size = translation.number(dim)
            conditions += [at_least_zero(column(param)), at_least_zero((size - column(param)).plus(-1))]
        if self._predicate is not None:
            conditions.append(translation.condition(self._predicate))
        numbers = [translation.number(index) for index in self.index_map.indices]
        if any(dim not in symbols and dim not in params for dim in dims_of((*conditions, *numbers))):
            raise Unknown("the map is not affine")
        build = Build(self._context(), [*symbols, *params], len(symbols))
        domain = build.bounds((*symbols, *params))
        for condition in conditions:
            domain = build.meet(domain, condition)
        made = None
        for value in numbers:
            one = self._isl().Map.from_pw_aff(build.sum(value))
            made = one if made is None else made.flat_range_product(one)
        if made is None:
            raise Unknown("the map has no indices")
        return made.intersect_domain(domain)

    def _box(self, shape: Sequence[Expr | int]) -> islpy.Set:
        """All places inside of a shape."""
        if len(shape) != self._places:
            raise ValueError(f"the index map gives {self._places} indices, the shape has {len(shape)}")
        translation, symbols = self._translation()
        places = [Dim(Var(f"place{at}"), 0, 0) for at in range(self._places)]
        build = Build(self._context(), [*symbols, *places], len(symbols))
        found = build.bounds(symbols)
        for place, dim in zip(places, shape):
            size = translation.number(as_expr(dim, INT64))
            if any(dim not in symbols for dim in dims_of((size,))):
                raise Unknown("the shape is not affine in the symbols of the map")
            place.high = max(0, size.high - 1)
            one = Sum({place: 1}, 0, place.low, place.high)
            found = build.meet(found, Compare(one))
            found = build.meet(found, Compare((size - one).plus(-1)))
        return found

    def _collision(self) -> Collision | None:
        made = self._map()
        isl = self._isl()
        pairs = made.apply_range(made.reverse())
        pairs = pairs.intersect(isl.Map.lex_lt(pairs.get_space().domain()))
        point = small_point(pairs.wrap())
        if point is None:
            return None
        count, size = len(self.symbols), len(self.shape)
        symbols = dict(zip(self.symbols, point))
        first, second = tuple(point[count : count + size]), tuple(point[count + size :])
        values = {**symbols, **dict(zip(self.index_map.params, first))}
        try:
            place = tuple(evaluate(index, values) for index in self.index_map.indices)
        except Undecided:
            raise Unknown("the map cannot be evaluated") from None
        return Collision(first, second, place, symbols)

    def _through_number(self, params: tuple[Var, ...]) -> IndexMap | None:
        """The way back where an element's number in row-major order is one affine function of its place."""
        sizes = [int(dim.value) for dim in self.shape if type(dim) is Const]
        if len(sizes) < len(self.shape) or 0 in sizes:
            return None
        isl = self._isl()
        image, intervals = self._image()
        back = self._map().reverse()
        number = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(back.get_space().range()))
        strides = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
        for at, stride in enumerate(strides):
            number = number.set_coefficient_val(isl.dim_type.in_, at, self._value(stride))
        numbers = isl.PwMultiAff.from_map(back.apply_range(isl.Map.from_aff(number))).coalesce()
        piece = numbers.get_pw_aff(0).gist(image)
        if piece.n_piece() != 1:
            return None
        total = self._back(params, intervals).function(piece)
        found: list[Expr] = []
        for at, (size, stride) in enumerate(zip(sizes, strides)):
            index = total // stride if stride > 1 else total
            found.append(Const(0, total.dtype) if size == 1 else index % size if at else index)
        return IndexMap(params, tuple(found))

    def _image(self) -> tuple[islpy.Set, list[Interval]]:
        """The image and the bounds of its indices."""
        image = self._map().range()
        if image.is_empty():
            raise Unknown("nothing is mapped")
        found: list[Interval] = []
        for at, index in enumerate(self.index_map.indices):
            least, greatest = index.dtype.int_range()
            low, high = image.dim_min_val(at), image.dim_max_val(at)
            ends = [least if low.is_neginfty() else as_int(low), greatest if high.is_infty() else as_int(high)]
            found.append((max(least, ends[0]), min(greatest, ends[1])))
        return image, found

    def _back(self, places: Sequence[Var], intervals: Sequence[Interval] = ()) -> Back:
        dtype = max((index.dtype for index in self.index_map.indices), key=lambda one: one.bits)
        ranges = {**self.ranges, **dict(zip(places, intervals))}
        return Back(self.symbols, places, dtype, ranges)


def _is_beyond(condition: Expr, places: Sequence[Linear], shape: Sequence[int]) -> bool:
    """Whether a condition holds for all places in a box, as it bounds one of the indices from above."""
    compared = comparison(condition)
    if compared is None or compared[0] != "less" or type(compared[2]) is not Const:
        return is_const(condition, True)
    if compared[1].dtype.bits < 32:
        return False  # it may wrap
    form, bound = linear(compared[1]), int(compared[2].value)
    apart = [(form - place, size) for place, size in zip(places, shape) if place.dtype is form.dtype]
    return any(more.is_constant and size + more.constant <= bound for more, size in apart)


def _same(a: Expr | int, b: Expr | int) -> bool:
    """Whether two sizes are one, as they are written."""
    left, right = (int(one.value) if isinstance(one, Const) else one for one in (a, b))
    return type(left) is type(right) and left == right


def _repeated(table: dict[Place, Place]) -> Collision | None:
    first: dict[Place, Place] = {}
    for element, place in table.items():
        if place in first:
            return Collision(first[place], element, place, {})
        first[place] = element
    return None


def _greatest(dtype: DType) -> int:
    """The greatest size in a dtype."""
    return min(LARGEST, dtype.int_range()[1])


__all__ = ["Collision", "MappedDomain"]
