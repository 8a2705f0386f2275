"""Sets and functions of isl as expressions of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...dtype import BOOL, INT64, DType
from ...expr import Const, Expr, Var
from ...op import cast, get_op
from ..bounds import Interval, linear_bounds, whole
from ..linear import Linear, expression
from .limits import Unknown, as_int

if TYPE_CHECKING:
    import islpy

# more pieces than this make no condition that a person would read
MOST_PIECES = 32


class Back:
    """Writes what isl found in terms of `exprs`: first those of the parameters, then those of the dimensions.

    Everything is computed in `dtype`, or in int64 where that could wrap given `ranges`.
    """

    def __init__(
        self,
        parameters: Sequence[Expr],
        dims: Sequence[Expr],
        dtype: DType,
        ranges: Mapping[Var, Interval] | None = None,
    ) -> None:
        import islpy

        self._isl = islpy
        self.parameters, self.dims = tuple(parameters), tuple(dims)
        self.dtype = dtype
        self.ranges = dict(ranges or {})

    # sets

    def condition(self, found: islpy.Set) -> Expr:
        """Where a point is in a set, as a bool."""
        found = found.compute_divs().coalesce()
        if found.n_basic_set() > MOST_PIECES:
            raise Unknown("a condition falls into too many pieces")
        pieces = [self._basic(piece) for piece in found.get_basic_sets()]
        result: Expr | None = None
        for piece in pieces:
            result = piece if result is None else get_op("logical_or")(result, piece)
        return Const(False, BOOL) if result is None else result

    def _basic(self, piece: islpy.BasicSet) -> Expr:
        result: Expr | None = None
        for constraint in piece.remove_redundancies().get_constraints():
            part = self._constraint(constraint)
            result = part if result is None else get_op("logical_and")(result, part)
        return Const(True, BOOL) if result is None else result

    def _constraint(self, constraint: islpy.Constraint) -> Expr:
        form = self._form(constraint.get_aff())
        left, right = _sides(form)
        if constraint.is_equality():
            return self._compare("equal", left, right)
        # left - right >= 0
        if right.terms and not left.terms:
            return self._compare("less_equal", right, left)
        if right.terms:
            # `i + 1 <= n` reads as `i < n`
            if right.constant == 1:
                return self._compare("less", right.shifted(-1), left)
            return self._compare("less_equal", right, left)
        return self._compare("greater_equal", left, right)

    def _compare(self, name: str, a: Linear, b: Linear) -> Expr:
        if name == "less_equal" and not b.terms:
            # `i <= 13` reads as `i < 14`
            name, b = "less", Linear({}, b.constant + 1, b.dtype)
        dtype = self._wide((a, b))
        return get_op(name)(self._expr(a, dtype), self._expr(b, dtype))

    # functions

    def function(self, found: islpy.PwAff) -> Expr:
        """The value of a function; where pieces differ, a choice between them."""
        pieces = found.coalesce().get_pieces()
        if not pieces or len(pieces) > MOST_PIECES:
            raise Unknown("a function falls into too many pieces")
        result = self.aff(pieces[-1][1])
        for domain, aff in reversed(pieces[:-1]):
            result = get_op("Select")(self.condition(domain), self.aff(aff), result)
        return result

    def aff(self, aff: islpy.Aff) -> Expr:
        """The value of an affine function, rounded down."""
        denominator = as_int(aff.get_denominator_val())
        form = self._form(aff.scale_val(aff.get_denominator_val()))
        dtype = self._wide((form,))
        result = self._expr(form, dtype)
        return result if denominator == 1 else result // Const(denominator, dtype)

    def _wide(self, forms: tuple[Linear, ...]) -> DType:
        """The dtype in which no part of the forms wraps."""
        least, greatest = whole(self.dtype)
        for form in forms:
            low = high = 0
            if any(atom.dtype.bits > self.dtype.bits for atom in form.terms):
                return INT64
            for atom, c in (*form.terms.items(), (Const(1, form.dtype), form.constant)):
                ends = linear_bounds(Linear({atom: c}, 0, form.dtype), self.ranges)
                low, high = low + min(ends[0], 0), high + max(ends[1], 0)
            if low < least or high > greatest:
                if low < -(1 << 63) or high >= 1 << 63:
                    raise Unknown("a number does not fit int64")
                return INT64
        return self.dtype

    def _expr(self, form: Linear, dtype: DType) -> Expr:
        terms = {cast(atom, dtype): c for atom, c in form.terms.items()}
        return expression(Linear(terms, form.constant, dtype))

    def _form(self, aff: islpy.Aff) -> Linear:
        """An affine function with integer coefficients as a linear form, quotients and remainders as atoms."""
        kind = self._isl.dim_type
        terms: dict[Expr, int] = {}
        constant = as_int(aff.get_constant_val())
        for which, exprs in ((kind.param, self.parameters), (kind.in_, self.dims)):
            for at, expr in enumerate(exprs):
                c = as_int(aff.get_coefficient_val(which, at))
                if c:
                    _add(terms, expr, c)
        for at in range(aff.dim(kind.div)):
            c = as_int(aff.get_coefficient_val(kind.div, at))
            if c:
                constant += self._quotient(terms, aff.get_div(at), c)
        return Linear({atom: c for atom, c in terms.items() if c}, constant, self.dtype)

    def _quotient(self, terms: dict[Expr, int], inner: islpy.Aff, c: int) -> int:
        """Add `c * floor(inner)` to the terms, as a remainder where the rest of it is there; returns the constant."""
        by = as_int(inner.get_denominator_val())
        form = self._form(inner.scale_val(inner.get_denominator_val()))
        dtype = self._wide((form,))
        value = self._expr(form, dtype)
        if c % by == 0 and form.terms:
            times = -c // by
            if all(terms.get(atom) == times * factor for atom, factor in form.terms.items()):
                # times * (e - by * (e // by)) is times * (e % by)
                for atom in form.terms:
                    del terms[atom]
                _add(terms, value % Const(by, dtype), times)
                return -times * form.constant
        _add(terms, value // Const(by, dtype), c)
        return 0


def _add(terms: dict[Expr, int], atom: Expr, c: int) -> None:
    terms[atom] = terms.get(atom, 0) + c


def _sides(form: Linear) -> tuple[Linear, Linear]:
    """`form` as a difference of two forms with positive coefficients."""
    left = {atom: c for atom, c in form.terms.items() if c > 0}
    right = {atom: -c for atom, c in form.terms.items() if c < 0}
    constant = form.constant
    if left and right:
        one, other = (constant, 0) if constant > 0 else (0, -constant)
    elif right:
        one, other = constant, 0
    else:
        one, other = 0, -constant
    return Linear(left, one, form.dtype), Linear(right, other, form.dtype)


__all__ = ["Back"]
