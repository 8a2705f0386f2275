"""Integer expressions as sums of multiples: `i * 4 + j - 3` is {i: 4, j: 1} and the constant -3.

Sums, differences and constant multiples of integers wrap, so a linear form is exact modulo 2 to the width of its dtype,
whatever overflows between; it equals the expression as a number where its bounds fit the dtype (see bounds.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ..dtype import DType
from ..expr import Call, Const, Expr, Var
from ..op import OPS, cast


class Linear(Struct, frozen=True, eq=False):
    """A sum of `coefficient * atom` plus a constant; atoms are expressions of the dtype that are no sums themselves."""

    terms: dict[Expr, int]
    constant: int
    dtype: DType

    def __add__(self, other: Linear) -> Linear:
        return combine(self, other, 1)

    def __sub__(self, other: Linear) -> Linear:
        return combine(self, other, -1)

    def scaled(self, factor: int) -> Linear:
        """This form times a number."""
        if factor == 0:
            return Linear({}, 0, self.dtype)
        return Linear(
            {atom: wrap(c * factor, self.dtype) for atom, c in self.terms.items()},
            wrap(self.constant * factor, self.dtype),
            self.dtype,
        ).clean()

    def shifted(self, by: int) -> Linear:
        """This form plus a number."""
        return Linear(self.terms, wrap(self.constant + by, self.dtype), self.dtype) if by else self

    def clean(self) -> Linear:
        """This form without terms of coefficient 0."""
        if all(self.terms.values()):
            return self
        return Linear({atom: c for atom, c in self.terms.items() if c}, self.constant, self.dtype)

    def without(self, atom: Expr) -> Linear:
        """This form less the term of `atom`."""
        return Linear({a: c for a, c in self.terms.items() if a is not atom}, self.constant, self.dtype)

    @property
    def is_constant(self) -> bool:
        return not self.terms


def wrap(value: int, dtype: DType) -> int:
    """`value` as an integer of `dtype` holds it."""
    low, high = dtype.int_range()
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


def combine(a: Linear, b: Linear, sign: int) -> Linear:
    """`a + sign * b`."""
    terms = dict(a.terms)
    for atom, c in b.terms.items():
        total = wrap(terms.get(atom, 0) + sign * c, a.dtype)
        if total:
            terms[atom] = total
        else:
            terms.pop(atom, None)
    return Linear(terms, wrap(a.constant + sign * b.constant, a.dtype), a.dtype)


_ADD, _SUB, _MUL, _NEG = OPS["add"], OPS["sub"], OPS["mul"], OPS["negative"]
_CAST = OPS["cast"]


def linear(
    expr: Expr, values: Mapping[Var, Expr] | None = None, kept: Callable[[Expr, DType], bool] | None = None
) -> Linear:
    """The linear form of an integer scalar; variables in `values` stand for their values.

    A cast is seen through where `kept` says of what is cast that it is the same number in a dtype: in its own, which
    does for a cast to the dtype of the form, else in that of the cast. Atoms may then be of other dtypes than the form.
    """
    dtype = expr.dtype
    terms: dict[Expr, int] = {}
    constant = 0
    stack: list[tuple[Expr, int]] = [(expr, 1)]
    while stack:
        node, factor = stack.pop()
        kind = type(node)
        if kind is Const:
            constant += factor * int(node.value)  # type: ignore[attr-defined]
            continue
        if kind is Call:
            op, args = node.op, node.args  # type: ignore[attr-defined]
            if op is _ADD:
                stack += ((args[1], factor), (args[0], factor))
                continue
            if op is _SUB:
                stack += ((args[1], -factor), (args[0], factor))
                continue
            if op is _NEG:
                stack.append((args[0], -factor))
                continue
            if op is _MUL:
                left, right = args
                if type(right) is Const:
                    stack.append((left, factor * int(right.value)))
                    continue
                if type(left) is Const:
                    stack.append((right, factor * int(left.value)))
                    continue
            if op is _CAST and kept is not None and args[0].dtype.is_int:
                inner = args[0]
                if kept(inner, inner.dtype if node.dtype is dtype else node.dtype):
                    stack.append((inner, factor))
                    continue
        elif kind is Var and values is not None and node in values:
            stack.append((values[node], factor))  # type: ignore[index]
            continue
        terms[node] = terms.get(node, 0) + factor
    low, high = dtype.int_range()
    if all(c and low <= c <= high for c in terms.values()):  # mostly, and hashing the atoms again would cost more
        return Linear(terms, constant if low <= constant <= high else wrap(constant, dtype), dtype)
    wrapped = {atom: wrap(c, dtype) for atom, c in terms.items()}
    return Linear({atom: c for atom, c in wrapped.items() if c}, wrap(constant, dtype), dtype)


def leaves(expr: Expr) -> int:
    """How many summands `expr` is written with: more than its linear form has terms where something cancels."""
    count = 0
    stack = [expr]
    while stack:
        node = stack.pop()
        if (type(node) is Call and node.op in (_ADD, _SUB)) or (
            type(node) is Call and (node.op is _NEG or (node.op is _MUL and Const in map(type, node.args)))
        ):
            stack += node.args
        elif type(node) is not Const:
            count += 1
    return count


def expression(form: Linear) -> Expr:
    """The expression of a linear form: positive terms first, in the order of the form, the constant last."""
    dtype = form.dtype
    terms = list(form.terms.items())
    if terms and terms[0][1] < 0:
        first = next((at for at, (_, c) in enumerate(terms) if c > 0), None)
        if first is not None:
            terms.insert(0, terms.pop(first))
    low = dtype.int_range()[0]
    result: Expr | None = None
    constant = form.constant
    if terms and terms[0][1] < 0 and constant > 0:
        result, constant = Const(constant, dtype), 0
    for atom, c in terms:
        if c < 0 and c != low and result is not None:
            result = Call(_SUB, (result, _times(atom, -c, dtype)), dtype)
        elif result is None:
            result = _times(atom, c, dtype)
        else:
            result = Call(_ADD, (result, _times(atom, c, dtype)), dtype)
    if result is None:
        return Const(constant, dtype)
    if constant < 0 and constant != low:
        return Call(_SUB, (result, Const(-constant, dtype)), dtype)
    return result if constant == 0 else Call(_ADD, (result, Const(constant, dtype)), dtype)


def _times(atom: Expr, factor: int, dtype: DType) -> Expr:
    atom = cast(atom, dtype)
    if factor == -1 and dtype.kind == "int":
        return Call(_NEG, (atom,), dtype)
    return atom if factor == 1 else Call(_MUL, (atom, Const(factor, dtype)), dtype)


def constant_difference(a: Expr, b: Expr) -> int | None:
    """`a - b` where it is the same number whatever the variables hold, else None."""
    if a.dtype is not b.dtype or not a.dtype.is_int or a.dtype.is_vector:
        return None
    form = linear(a) - linear(b)
    return form.constant if form.is_constant else None
