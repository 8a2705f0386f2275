"""Maps of iterators: are some indices a one-to-one map of some loops, and what is the map back.

Indices that layouts and loop transformations make are sums of digits: `i * 4 + j`, `k // 8`, `k % 8`, and the digits of
such sums again. `detect` reads them as digits (a source, the weight of the digit in it, how many values it has). They
are a one-to-one map of the loops where the digits of every source lie side by side without gap or overlap. What is
beyond that (skewed loops, digits that overlap but never collide) is for `presburger.MappedDomain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..dtype import BOOL, DType
from ..expr import Call, Const, Expr, Var
from ..node import recursion_room
from ..op import OPS, cast, get_op
from .analyzer import Analyzer
from .bounds import exact, kept
from .linear import linear
from .logic import comparison, conjuncts


class Source(Struct, frozen=True, eq=False):
    """What digits are taken of: a loop's variable, or a sum of digits (`parts`) that takes every value once."""

    expr: Expr
    extent: int
    parts: tuple[Term, ...] = ()


class Digit(Struct, frozen=True, eq=False):
    """`source // weight % extent`."""

    source: Source
    weight: int
    extent: int


class Term(Struct, frozen=True, eq=False):
    """`scale * digit`."""

    digit: Digit
    scale: int


class Index(Struct, frozen=True, eq=False):
    """One index: `base` plus its terms, the largest scale first; it takes `extent` values, one each `step`."""

    terms: tuple[Term, ...]
    base: int
    extent: int
    step: int = 1


class IterMap(Struct, frozen=True, eq=False):
    """A one-to-one map from loops to indices.

    `loops` are the variables with their extents (each runs from 0), `shape` how many values each index has;
    `padded` says that not all of `shape` is taken, because an extent is no multiple of a digit's weight.
    """

    loops: dict[Var, int]
    indices: tuple[Index, ...]
    padded: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each index."""
        return tuple([index.extent for index in self.indices])

    @property
    def is_bijective(self) -> bool:
        """Whether every place of `shape` is taken, and indices begin at 0 without steps."""
        return not self.padded and all(index.base == 0 and index.step == 1 for index in self.indices)

    @property
    def padded_loops(self) -> dict[Var, int]:
        """The least extents of the loops, none smaller than it is, with which every place of `shape` is taken."""
        grown = dict(self.loops)
        digits: dict[int, list[Digit]] = {}
        for index in self.indices:
            for term in index.terms:
                digits.setdefault(id(term.digit.source), []).append(term.digit)
        for found in digits.values():
            source = found[0].source
            top = max(found, key=lambda digit: digit.weight)
            need = top.weight * top.extent
            if need == source.extent:
                continue
            if type(source.expr) is Var:
                grown[source.expr] = need
                continue
            first = source.parts[0]
            var = first.digit.source.expr
            if type(var) is Var and first.digit.weight == 1:
                grown[var] = -(-need // first.scale)
        return grown

    def inverse(self, places: Sequence[Expr]) -> dict[Var, Expr]:
        """The loops' variables in terms of the indices `places`, for places that are taken."""
        values: dict[tuple[int, int], Expr] = {}
        for index, place in zip(self.indices, places, strict=True):
            rest = place - index.base if index.base else place
            for at, term in enumerate(index.terms):
                value = rest // term.scale if term.scale != 1 else rest
                if at:
                    value = value % term.digit.extent
                values[id(term.digit.source), term.digit.weight] = value
        found: dict[Var, Expr] = {}
        pending = self._sources()
        ends = [(one.base, one.base + (one.extent - 1) * one.step) for one in self.indices]
        analyzer = Analyzer({p: end for p, end in zip(places, ends, strict=True) if type(p) is Var})
        for source in pending:
            total: Expr | None = None
            digits = sorted(((w, v) for (key, w), v in values.items() if key == id(source)), key=lambda d: -d[0])
            for weight, value in digits:
                part = value * weight if weight != 1 else value
                total = part if total is None else total + part
            dtype = places[0].dtype if places else source.expr.dtype
            whole = Const(0, dtype) if total is None else analyzer.simplify(total)
            if type(source.expr) is Var:
                found[source.expr] = cast(whole, source.expr.dtype)
                continue
            for at, term in enumerate(source.parts):
                value = whole // term.scale if term.scale != 1 else whole
                if at:
                    value = value % term.digit.extent
                values[id(term.digit.source), term.digit.weight] = value
        for var in self.loops:
            found.setdefault(var, Const(0, var.dtype))
        return {var: analyzer.simplify(found[var]) for var in self.loops}

    def _sources(self) -> list[Source]:
        """The sources, fused ones before what they are fused of."""
        order: dict[int, Source] = {}
        queue = [term.digit.source for index in self.indices for term in index.terms]
        while queue:
            source = queue.pop(0)
            if id(source) in order:
                del order[id(source)]
            order[id(source)] = source
            queue += [term.digit.source for term in source.parts]
        return list(order.values())

    def padding(self, places: Sequence[Expr]) -> Expr:
        """The condition that a place of `shape` is taken by no iteration; the constant False where all are."""
        outside: list[Expr] = []
        if self.padded:
            grown = self.padded_loops
            for var, value in self.inverse(places).items():
                if grown[var] != self.loops[var]:
                    outside.append(get_op("greater_equal")(value, Const(self.loops[var], value.dtype)))
        result: Expr = Const(False, BOOL)
        for condition in outside:
            result = (
                condition if len(outside) == 1 or type(result) is Const else get_op("logical_or")(result, condition)
            )
        return result


class _No(Exception):
    """The indices are no such map, as far as is seen here."""


def detect(
    indices: Sequence[Expr], loops: Mapping[Var, int], *, predicate: Expr | None = None, padding: bool = True
) -> IterMap | None:
    """The indices as a one-to-one map of loops that run from 0 to their extents; None where they are not seen as one.

    `predicate` says which iterations run: `i * 4 + j < 14` is understood where that sum is an index, or indices are
    digits of it (`(i * 4 + j) // 7`); others make the answer None. With `padding` not all places need be taken.
    """
    with recursion_room():
        try:
            found = _Reader(loops).map(indices, predicate)
        except _No:
            return None
    return found if padding or not found.padded else None


class _Reader:
    def __init__(self, loops: Mapping[Var, int]) -> None:
        self.loops = dict(loops)
        if any(extent <= 0 for extent in self.loops.values()):
            raise _No
        self.analyzer = Analyzer({var: (0, extent - 1) for var, extent in self.loops.items()})
        self.sources: dict[Expr, Source] = {var: Source(var, extent) for var, extent in self.loops.items()}
        self.ends: dict[Expr, Source] = {}  # those of which the predicate leaves fewer values

    def map(self, indices: Sequence[Expr], predicate: Expr | None) -> IterMap:
        limits = self.limits(predicate)
        simple = [self.analyzer.simplify(index) for index in indices]
        found, left = self.ended(simple, limits)
        if left:  # what ends early is no index, but what digits are taken of: these are fewer, too
            for sum_, bound in left:
                self.end(sum_, bound)
            self.sources = {expr: one for expr, one in self.sources.items() if type(expr) is Var or expr in self.ends}
            found, left = self.ended(simple, [limit for limit in limits if limit not in left])
        if left:
            raise _No  # iterations are left out in another way
        padded = self.tile(found)
        if padded and (limits or self.ends):
            raise _No
        return IterMap(self.loops, found, padded)

    def limits(self, predicate: Expr | None) -> list[tuple[Expr, int]]:
        """The sums of which the predicate leaves so many values; of variables that is taken up at once."""
        found: list[tuple[Expr, int]] = []
        for condition in [] if predicate is None else conjuncts(self.analyzer.simplify(predicate)):
            if type(condition) is Const and condition.value:
                continue
            sides = comparison(condition)
            if sides is None or sides[0] not in ("less", "less_equal") or type(sides[2]) is not Const:
                raise _No
            bound = int(sides[2].value) + (sides[0] == "less_equal")
            terms, base = self.sum(sides[1])
            if base:
                raise _No
            digit = terms[0].digit if len(terms) == 1 and terms[0].scale == 1 else None
            if digit is not None and digit.weight == 1 and digit.extent == digit.source.extent:
                self.end(digit.source.expr, bound)
            else:
                found.append((sides[1], bound))
        return found

    def end(self, expr: Expr, bound: int) -> None:
        """Let what digits are taken of have no more than so many values."""
        source = self.sources.get(expr)
        if source is None or bound < 1:
            raise _No
        if bound < source.extent:
            self.sources[expr] = self.ends[expr] = Source(expr, bound, source.parts)

    def ended(
        self, exprs: Sequence[Expr], limits: Sequence[tuple[Expr, int]]
    ) -> tuple[tuple[Index, ...], list[tuple[Expr, int]]]:
        """The indices, of which some end where a limit of the same sum does, and the limits of other sums."""
        found = [self.index(*self.sum(expr)) for expr in exprs]
        keys = [self.key(index.terms) for index in found]
        left: list[tuple[Expr, int]] = []
        for sum_, bound in limits:
            key = self.key(self.sum(sum_)[0])
            if key not in keys or bound < 1:
                left.append((sum_, bound))
                continue
            index = found[keys.index(key)]
            extent = min(-(-bound // index.step), index.extent)
            found[keys.index(key)] = Index(index.terms, index.base, extent, index.step)
        return tuple(found), left

    def key(self, terms: Sequence[Term]) -> tuple[tuple[int, int, int, int], ...]:
        return tuple(sorted((id(t.digit.source), t.digit.weight, t.digit.extent, t.scale) for t in terms))

    # reading

    def sum(self, expr: Expr) -> tuple[list[Term], int]:
        """An index as terms and a constant."""
        form = linear(expr, None, self.keeps)
        if not exact(form, self.analyzer.known):
            raise _No
        terms: list[Term] = []
        for atom, c in form.terms.items():
            if c <= 0:
                raise _No
            terms += [Term(term.digit, term.scale * c) for term in self.atom(atom)]
        return self.joined(terms), form.constant

    def keeps(self, inner: Expr, dtype: DType) -> bool:
        return kept(linear(inner), dtype, self.analyzer.known)

    def atom(self, atom: Expr) -> list[Term]:
        if type(atom) is Var:
            source = self.sources.get(atom)
            if source is None:
                raise _No
            return [Term(Digit(source, 1, source.extent), 1)] if source.extent > 1 else []
        if type(atom) is Call and atom.op in (_DIV, _MOD) and type(atom.args[1]) is Const and atom.args[1].value > 0:
            by = int(atom.args[1].value)
            terms, base = self.sum(atom.args[0])
            if base:
                raise _No
            digit = self.fused(terms, atom.args[0])
            return self.quotient(digit, by) if atom.op is _DIV else self.remainder(digit, by)
        raise _No

    def quotient(self, digit: Digit, by: int) -> list[Term]:
        extent = -(-digit.extent // by)
        return [Term(Digit(digit.source, digit.weight * by, extent), 1)] if extent > 1 else []

    def remainder(self, digit: Digit, by: int) -> list[Term]:
        if by >= digit.extent:
            return [Term(digit, 1)]
        top = digit.weight * digit.extent >= digit.source.extent
        if digit.extent % by and not top:
            raise _No  # the remainder of a digit that wraps around in the middle
        return [Term(Digit(digit.source, digit.weight, by), 1)] if by > 1 else []

    def fused(self, terms: list[Term], expr: Expr) -> Digit:
        """A sum as one digit: of its only source, or of a source made for it."""
        if len(terms) == 1 and terms[0].scale == 1:
            return terms[0].digit
        known = self.sources.get(expr)
        if known is None:
            index = self.index(terms, 0)
            if index.step != 1:
                raise _No
            known = self.sources[expr] = Source(expr, index.extent, index.terms)
        return Digit(known, 1, known.extent)

    def joined(self, terms: list[Term]) -> list[Term]:
        """Neighbouring digits of one source put together: `i // 4 % 2 * 4 + i % 4` is `i % 8`."""
        terms = sorted(terms, key=lambda term: term.scale)
        out: list[Term] = []
        for term in terms:
            low = next((one for one in out if _continues(one, term)), None)
            if low is None:
                out.append(term)
                continue
            source, weight = low.digit.source, low.digit.weight
            extent = min(low.digit.extent * term.digit.extent, -(-source.extent // weight))
            out[out.index(low)] = Term(Digit(source, weight, extent), low.scale)
        return out

    def index(self, terms: list[Term], base: int) -> Index:
        """Terms that lie side by side: each scale is what the smaller ones can count to."""
        ordered = sorted(terms, key=lambda term: term.scale)
        step = ordered[0].scale if ordered else 1
        size = step
        for term in ordered:
            if term.scale != size:
                raise _No
            size *= term.digit.extent
        return Index(tuple(reversed(ordered)), base, size // step, step)

    # judging

    def tile(self, indices: Sequence[Index]) -> bool:
        """Check that the digits of every source lie side by side and all loops are used; whether there is padding."""
        digits: dict[int, list[Digit]] = {}
        sources: dict[int, Source] = {}
        queue = [term.digit for index in indices for term in index.terms]
        while queue:
            digit = queue.pop()
            source = digit.source
            if id(source) not in sources:
                sources[id(source)] = source
                queue += [term.digit for term in source.parts]
            digits.setdefault(id(source), []).append(digit)
        padded = False
        for key, source in sources.items():
            weight = 1
            for digit in sorted(digits[key], key=lambda digit: digit.weight):
                if digit.weight != weight:
                    raise _No
                weight *= digit.extent
            if weight < source.extent:
                raise _No  # two values of the source have the same digits
            padded |= weight > source.extent
        used = {source.expr for source in sources.values()}
        if any(self.sources[var].extent > 1 and var not in used for var in self.loops):
            raise _No
        if any(source.extent > 1 and id(source) not in sources for source in self.ends.values()):
            raise _No  # iterations are left out in another way
        return padded


def _continues(low: Term, high: Term) -> bool:
    a, b = low.digit, high.digit
    return a.source is b.source and a.weight * a.extent == b.weight and low.scale * a.extent == high.scale


_DIV, _MOD = OPS["floordiv"], OPS["floormod"]

__all__ = ["Digit", "Index", "IterMap", "Source", "Term", "detect"]
