"""Operators on each element: arithmetic, elementary functions, comparisons, logic, bits.

One line an operator: its name, what an element of the result is (a tensor operator by name, or a function of the
elements), the numpy reference, a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtype import BOOL, FLOAT64, DType
from ..dtype import dtype as as_dtype
from ..expr import Const, Expr, const
from ..graph import GraphType, OpCall, PrimType
from ..graph_op import BROADCAST, ELEMENTWISE, NEVER, GraphOp, Legalized, Parameter
from ..op import OPS
from ..op import cast as cast_to
from . import dims
from . import reference as ref
from .attrs import DTYPE
from .kernel import Legalize, T, element, elementwise, kernel
from .reference import Reference, numpy, wide
from .rules import (
    ANY,
    FLOATS,
    INTS,
    INTS_OR_BOOLS,
    NUMBERS,
    Types,
    common_device,
    common_dtype,
    common_shape,
    compared_dtype,
    like,
    meeting,
    of_rank,
    refuse,
    tensor,
)
from .table import register

Value = str | Callable[..., Expr]


def _rule(kinds: tuple[str, ...], result: DType | None) -> Callable[[OpCall, Types], GraphType]:
    """The type rule: shapes broadcast, dtypes agree unless they are only compared, when they have one that holds both
    as in tensor functions; `result` is another dtype.

    Of scalars alone the result is a scalar.
    """

    def infer(call: OpCall, types: Types) -> GraphType:
        count = len([one for one in call.op.values if one.kind == "tensor"])
        found = [tensor(call, types, at, kinds) for at in range(count)]
        if count == 1:
            return like(found[0], dtype=result or found[0].dtype)
        names = [f"`{one.name}`" for one in call.op.values]
        kind = result or common_dtype(call, found, names[:count])
        if result is not None:
            compared_dtype(call, found)
        if kind is not None and all(type(one) is PrimType for one in types):
            return PrimType(kind)
        shape, rank = common_shape(call, found)
        made = of_rank(rank, kind, common_device(found))
        return made if shape is None else like(made, shape=shape, ndim=None)

    return infer


def unary(
    name: str,
    value: Value,
    reference: Reference,
    doc: str,
    *attrs: Parameter,
    kinds: tuple[str, ...] = FLOATS,
    result: DType | None = None,
    operand: str = "x",
    example: str = "",
    symbol: str | None = None,
    narrow: str | None = None,
) -> GraphOp:
    """An operator on each element of one tensor."""
    return register(
        GraphOp(
            name,
            (Parameter(operand), *attrs),
            _rule(kinds, result),
            doc,
            example or f"G.{name}({operand}: (2, 3))",
            reference=reference,
            legalize=elementwise(value),
            fusion=ELEMENTWISE,
            symbol=symbol,
            narrow=narrow,
        )
    )


def binary(
    name: str,
    value: Value,
    reference: Reference,
    doc: str,
    *,
    kinds: tuple[str, ...] = NUMBERS,
    result: DType | None = None,
    symbol: str | None = None,
    narrow: str | None = None,
) -> GraphOp:
    """An operator on the elements of two tensors, which broadcast."""
    return register(
        GraphOp(
            name,
            (Parameter("x1"), Parameter("x2")),
            _rule(kinds, result),
            doc,
            f"G.{name}(x1: (2, 3), x2: (3,))",
            reference=reference,
            legalize=_of_tensors(elementwise(value)),
            fusion=BROADCAST,
            symbol=symbol,
            narrow=narrow,
        )
    )


def _of_tensors(legalize: Legalize) -> Legalize:
    """No kernel for scalars alone, whose result is a scalar."""

    def found(call: OpCall, types: Types, name: str) -> Legalized | None:
        return None if all(type(one) is PrimType for one in types) else legalize(call, types, name)

    return found


# -- arithmetic of two


def _divided(a: Expr, b: Expr) -> Expr:
    return a / b if a.dtype.is_float else OPS["truncdiv"](a, b)


def _np_divided(function: Reference) -> Reference:
    """Quotients and remainders; those of integers by zero are errors."""

    def reference(a: Any, b: Any) -> Any:
        if a.dtype.kind in "iu" and not b.all():
            raise ZeroDivisionError("division by zero")
        return function(a, b)

    return reference


def _np_divide(a: Any, b: Any) -> Any:
    return ref.quotient(a, b) if a.dtype.kind in "iu" else a / b


def _or_of_bools(numbers: str, bools: str) -> Callable[[Expr, Expr], Expr]:
    """The operator of numbers, and what it is of bools, as numpy, PyTorch and TVM have it."""
    return lambda a, b: OPS[bools if a.dtype.is_bool else numbers](a, b)


def _chosen(above: bool) -> Reference:
    def reference(a: Any, b: Any) -> Any:
        import numpy as np

        return np.where(a > b if above else a < b, a, b)

    return reference


def _log_add_exp(a: Expr, b: Expr) -> Expr:
    high = OPS["max"](a, b)
    apart = OPS["log1p"](OPS["exp"](-OPS["abs"](a - b)))
    # where both are the same infinity their difference is nan, and the sum is that infinity
    return OPS["Select"](OPS["equal"](a, b), a + const(0.6931471805599453, a.dtype), high + apart)


binary("add", "add", numpy("add"), "The sum.", symbol="+")
binary("subtract", "sub", numpy("subtract"), "The difference.", symbol="-")
binary(
    "multiply",
    _or_of_bools("mul", "logical_and"),
    numpy("multiply"),
    "The product; of bools, whether both are true.",
    kinds=ANY,
    symbol="*",
)
binary("divide", _divided, _np_divided(_np_divide), "The quotient; of integers rounded toward zero.", symbol="/")
binary("floor_divide", "floordiv", _np_divided(numpy("floor_divide")), "The quotient rounded down.", symbol="//")
binary(
    "floor_mod",
    "floormod",
    _np_divided(numpy("mod")),
    "The remainder of `floor_divide`, with the divisor's sign.",
    symbol="%",
)
binary(
    "mod",
    "truncmod",
    _np_divided(numpy("fmod")),
    "The remainder of a quotient rounded toward zero, with the dividend's sign.",
)
binary("maximum", _or_of_bools("max", "logical_or"), _chosen(True), "`x1 if x1 > x2 else x2`.", kinds=ANY)
binary("minimum", _or_of_bools("min", "logical_and"), _chosen(False), "`x1 if x1 < x2 else x2`.", kinds=ANY)


def _in_float64(function: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    """`function`, of integers computed in float64 and rounded toward zero."""

    def value(a: Expr, b: Expr) -> Expr:
        if a.dtype.is_float:
            return function(a, b)
        return cast_to(function(cast_to(a, FLOAT64), cast_to(b, FLOAT64)), a.dtype)

    return value


def _np_in_float64(function: Reference) -> Reference:
    def reference(a: Any, b: Any) -> Any:
        if a.dtype.kind not in "iu":
            return wide(function)(a, b)
        return ref.converted(function(a.astype("float64"), b.astype("float64")), a.dtype)

    return reference


binary(
    "atan2",
    _in_float64(OPS["atan2"]),
    _np_in_float64(numpy("arctan2")),
    "The angle of the point (x2, x1); of integers rounded toward zero.",
)
binary(
    "log_add_exp",
    _in_float64(_log_add_exp),
    _np_in_float64(numpy("logaddexp")),
    "log(exp(x1) + exp(x2)); of integers rounded toward zero.",
    narrow=NEVER,
)


def _infer_power(call: OpCall, types: Types) -> GraphType:
    return _rule(NUMBERS, None)(call, types)


def _integer_power(x1: Any, x2: Any, out: Any) -> None:
    for (*i,) in T.grid(*out.shape):
        with T.block("power"):
            (*v,) = T.axis.remap("S" * len(i), i)
            base = T.cast(element(x1, v, out.shape), out.dtype)
            rest = T.cast(element(x2, v, out.shape), out.dtype)
            result = T.cast(1, out.dtype)
            if out.dtype.is_signed:
                # 1 / x ** -y, rounded toward zero
                if rest < 0:
                    result = T.Select(base == 1, 1, T.Select(base == -1, 1 - (rest & 1) * 2, 0))
            while rest > 0:
                if (rest & 1) == 1:
                    result = result * base
                base = base * base
                rest = rest >> 1
            out[*v] = result


def _np_power(a: Any, b: Any) -> Any:
    import numpy as np

    if a.dtype.kind not in "iu":
        return wide(numpy("power"))(a, b)
    a, b = np.broadcast_arrays(a, b)
    found = np.power(a, np.maximum(b, 0))
    if a.dtype.kind == "u":
        return found
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - (b & 1) * 2, 0))
    return np.where(b < 0, inverse, found).astype(a.dtype)


_of_floats, _of_integers = elementwise("pow"), kernel(_integer_power, inline=True)


def _legalize_power(call: OpCall, types: Types, name: str) -> Legalized | None:
    kind = tensor(call, types, 0).dtype
    return None if kind is None else _of_tensors(_of_floats if kind.is_float else _of_integers)(call, types, name)


register(
    GraphOp(
        "power",
        (Parameter("x1"), Parameter("x2")),
        _infer_power,
        "x1 raised to x2; of integers rounded toward zero where x2 is negative.",
        "G.power(x1: (2, 3), x2: (3,))",
        reference=_np_power,
        legalize=_legalize_power,
        fusion=BROADCAST,
        narrow=NEVER,
        symbol="**",
    )
)

# -- comparisons


def _compared(name: str) -> Callable[..., Expr]:
    def value(a: Expr, b: Expr) -> Expr:
        kind = meeting(name, a.dtype, b.dtype)
        if kind.is_bool and name not in ("equal", "not_equal"):
            kind = as_dtype("int8")  # `T` has no order of bools
        return OPS[name](cast_to(a, kind), cast_to(b, kind))

    return value


def _np_compared(name: str) -> Reference:
    def reference(a: Any, b: Any) -> Any:
        import numpy as np

        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype:
            to = ref.numpy_dtype(meeting(name, *[as_dtype(one.dtype.name) for one in (a, b)]))
            a, b = a.astype(to), b.astype(to)
        return getattr(np, name)(a, b)

    return reference


for _name, _symbol, _doc in (
    ("equal", None, "Whether the elements are equal."),
    ("not_equal", None, "Whether the elements differ."),
    ("less", "<", "Whether x1 is below x2."),
    ("less_equal", "<=", "Whether x1 is below or equal to x2."),
    ("greater", ">", "Whether x1 is above x2."),
    ("greater_equal", ">=", "Whether x1 is above or equal to x2."),
):
    binary(_name, _compared(_name), _np_compared(_name), _doc, kinds=ANY, result=BOOL, symbol=_symbol)

# -- logic: of numbers, whether they are not zero, in their own dtype


def _truth(x: Expr) -> Expr:
    return x if x.dtype.is_bool else OPS["not_equal"](x, const(0, x.dtype))


def _logic(name: str) -> Callable[..., Expr]:
    return lambda *values: cast_to(OPS[name](*map(_truth, values)), values[0].dtype)


def _np_logic(name: str) -> Reference:
    def reference(*values: Any) -> Any:
        import numpy as np

        return getattr(np, f"logical_{name}")(*values).astype(values[0].dtype)

    return reference


def _xor(a: Expr, b: Expr) -> Expr:
    return cast_to(OPS["not_equal"](_truth(a), _truth(b)), a.dtype)


binary("logical_and", _logic("logical_and"), _np_logic("and"), "Both; of numbers 1 or 0.", kinds=ANY)
binary("logical_or", _logic("logical_or"), _np_logic("or"), "Either; of numbers 1 or 0.", kinds=ANY)
binary("logical_xor", _xor, _np_logic("xor"), "One of both; of numbers 1 or 0.", kinds=ANY)
unary("logical_not", _logic("logical_not"), _np_logic("not"), "The opposite; of numbers 1 or 0.", kinds=ANY)

# -- bits


def _np_shift(left: bool) -> Reference:
    def reference(a: Any, b: Any) -> Any:
        import numpy as np

        return np.left_shift(a, b) if left else np.right_shift(a, b)

    return reference


binary("bitwise_and", "bitwise_and", numpy("bitwise_and"), "The bits set in both.", kinds=INTS_OR_BOOLS)
binary("bitwise_or", "bitwise_or", numpy("bitwise_or"), "The bits set in either.", kinds=INTS_OR_BOOLS)
binary("bitwise_xor", "bitwise_xor", numpy("bitwise_xor"), "The bits set in one.", kinds=INTS_OR_BOOLS)
binary("left_shift", "shift_left", _np_shift(True), "The bits moved up.", kinds=INTS)
binary("right_shift", "shift_right", _np_shift(False), "The bits moved down, the sign copied.", kinds=INTS)
unary("bitwise_not", "bitwise_not", numpy("invert"), "Every bit changed.", kinds=INTS_OR_BOOLS)

# -- elementary functions

# whose values soon leave the range of float16, or whose slope makes much of a small error
_STEEP = ("exp", "log", "tan", "sinh", "cosh", "atanh")
for _name, _numpy, _doc in (
    ("exp", "exp", "e raised to x."),
    ("log", "log", "The natural logarithm."),
    ("sqrt", "sqrt", "The square root."),
    ("sin", "sin", "The sine of radians."),
    ("cos", "cos", "The cosine of radians."),
    ("tan", "tan", "The tangent of radians."),
    ("asin", "arcsin", "The inverse sine."),
    ("acos", "arccos", "The inverse cosine."),
    ("atan", "arctan", "The inverse tangent."),
    ("sinh", "sinh", "The hyperbolic sine."),
    ("cosh", "cosh", "The hyperbolic cosine."),
    ("tanh", "tanh", "The hyperbolic tangent."),
    ("asinh", "arcsinh", "The inverse hyperbolic sine."),
    ("acosh", "arccosh", "The inverse hyperbolic cosine."),
    ("atanh", "arctanh", "The inverse hyperbolic tangent."),
):
    unary(_name, _name, wide(numpy(_numpy)), _doc, narrow=NEVER if _name in _STEEP else None)


def _np_rsqrt(x: Any) -> Any:
    import numpy as np

    return 1 / np.sqrt(x)


def np_sigmoid(x: Any) -> Any:
    import numpy as np

    return 1 / (1 + np.exp(-x))


unary("rsqrt", "rsqrt", wide(_np_rsqrt), "1 / sqrt(x).", narrow=NEVER)
unary("sigmoid", "sigmoid", wide(np_sigmoid), "1 / (1 + exp(-x)).")
unary("erf", "erf", wide(ref.erf), "The error function.")


def _sign(x: Expr) -> Expr:
    zero = const(0, x.dtype)
    positive = OPS["Select"](x > zero, const(1, x.dtype), zero)
    if not x.dtype.is_signed:
        return positive
    found = OPS["Select"](x < zero, const(-1, x.dtype), positive)
    return found if x.dtype.is_int else OPS["Select"](OPS["isnan"](x), x, found)  # nan stays


def _rounded(name: str) -> Callable[[Expr], Expr]:
    return lambda x: OPS[name](x) if x.dtype.is_float else x


def _kept(function: Reference) -> Reference:
    """Integers stay as they are."""
    return lambda x: x if x.dtype.kind in "iu" else wide(function)(x)


unary("abs", "abs", numpy("abs"), "The value without its sign.", kinds=NUMBERS)
unary("negative", lambda x: -x, numpy("negative"), "The opposite number.", kinds=NUMBERS)
unary("square", lambda x: x * x, numpy("square"), "x * x.", kinds=NUMBERS)
unary("sign", _sign, numpy("sign"), "-1, 0 or 1.", kinds=NUMBERS)
unary("floor", _rounded("floor"), _kept(numpy("floor")), "Rounded down.", kinds=NUMBERS)
unary("ceil", _rounded("ceil"), _kept(numpy("ceil")), "Rounded up.", kinds=NUMBERS)
unary("trunc", _rounded("trunc"), _kept(numpy("trunc")), "Rounded toward zero.", kinds=NUMBERS)
unary(
    "round",
    _rounded("nearbyint"),
    _kept(numpy("rint")),
    "Rounded to the nearest whole number, halves to even.",
    kinds=NUMBERS,
)


def _asked(name: str, of_integers: bool) -> Callable[[Expr], Expr]:
    return lambda x: OPS[name](x) if x.dtype.is_float else const(of_integers)


for _name, _otherwise, _doc in (
    ("isnan", False, "Whether the element is not a number."),
    ("isinf", False, "Whether the element is an infinity."),
    ("isfinite", True, "Whether the element is neither infinite nor nan."),
):
    unary(_name, _asked(_name, _otherwise), numpy(_name), _doc, kinds=NUMBERS, result=BOOL)


# -- conversions and choices


def _np_cast(x: Any, dtype: DType) -> Any:
    import numpy as np

    with np.errstate(over="ignore"):
        return ref.converted(x, ref.numpy_dtype(dtype))


def _infer_cast(call: OpCall, types: Types) -> GraphType:
    return like(tensor(call, types, 0), dtype=call.attrs["dtype"])


register(
    GraphOp(
        "astype",
        (Parameter("x"), DTYPE),
        _infer_cast,
        "The elements converted to a dtype; floats to integers truncate toward zero.",
        'G.astype(x: (2, 3), dtype="int32")',
        reference=_np_cast,
        legalize=elementwise(lambda x, *, dtype: cast_to(x, dtype)),
        fusion=ELEMENTWISE,
        narrow=NEVER,
    )
)


def _infer_where(call: OpCall, types: Types) -> GraphType:
    condition = tensor(call, types, 0, ("bool",))
    found = [tensor(call, types, at) for at in (1, 2)]
    kind = common_dtype(call, found, ("`x1`", "`x2`"))
    shape, rank = common_shape(call, [condition, *found])
    made = of_rank(rank, kind, common_device([condition, *found]))
    return made if shape is None else like(made, shape=shape, ndim=None)


register(
    GraphOp(
        "where",
        (Parameter("condition", apart=True), Parameter("x1"), Parameter("x2")),
        _infer_where,
        "x1 where the condition is true, x2 where it is false.",
        "G.where(condition: (2, 3) bool, x1: (2, 3), x2: (3,))",
        reference=numpy("where"),
        legalize=elementwise(lambda condition, a, b: OPS["Select"](condition, a, b)),
        fusion=BROADCAST,
    )
)
register(
    GraphOp(
        "ewise_fma",
        (Parameter("x1"), Parameter("x2"), Parameter("x3")),
        _rule(NUMBERS, None),
        "x1 * x2 + x3.",
        "G.ewise_fma(x1: (2, 3), x2: (2, 3), x3: (2, 3))",
        reference=wide(lambda a, b, c: a * b + c),
        legalize=elementwise(lambda a, b, c: a * b + c),
        fusion=BROADCAST,
    )
)


def _infer_clip(call: OpCall, types: Types) -> GraphType:
    kind = tensor(call, types, 0, NUMBERS)
    for at in range(1, len(types)):
        bound = tensor(call, types, at)
        if kind.shape is not None and bound.shape is not None and not dims.broadcasts_to(bound.shape, kind.shape):
            name = call.op.values[at].name
            refuse(call, f"`{name}` {dims.text(bound.shape)} does not broadcast to {dims.text(kind.shape)}")
    return like(kind)


def _clip(x: Expr, low: Any, high: Any) -> Expr:
    return OPS["min"](OPS["max"](x, _bound(low, x.dtype)), _bound(high, x.dtype))


def _bound(value: Expr, kind: DType) -> Expr:
    """A bound in the dtype of what it bounds: one beyond the integers of the dtype is the last of them."""
    if kind.is_float:
        return cast_to(value, kind)
    least, greatest = kind.int_range()
    if type(value) is Const:
        return const(int(min(max(value.value, least), greatest)), kind)
    if value.dtype.is_int:
        low, high = value.dtype.int_range()
        value = value if low >= least else OPS["max"](value, const(least, value.dtype))
        value = value if high <= greatest else OPS["min"](value, const(greatest, value.dtype))
    return cast_to(value, kind)


def _np_clip(x: Any, low: Any, high: Any) -> Any:
    import numpy as np

    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        low, high = (int(min(max(np.asarray(one).item(), limits.min), limits.max)) for one in (low, high))
    bottom, top = (np.asarray(one).astype(x.dtype) for one in (low, high))
    found = np.where(x > bottom, x, bottom)
    return np.where(found < top, found, top)


register(
    GraphOp(
        "clip",
        (Parameter("x"), Parameter("min", "prim"), Parameter("max", "prim")),
        _infer_clip,
        "x within min and max.",
        "G.clip(x: (2, 3), 0, 6)",
        reference=_np_clip,
        legalize=elementwise(_clip),
        fusion=ELEMENTWISE,
    )
)
