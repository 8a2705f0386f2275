"""Arithmetic with Python's operators, and the divisions, minimum and maximum."""

from ..op import FLOATS, INTS, NUMS, op

add = op("add", 2, NUMS, numpy="add", symbol="+", precedence=11, method="add", doc="Sum; integers wrap.")
sub = op(
    "sub",
    2,
    NUMS,
    numpy="subtract",
    symbol="-",
    precedence=11,
    method="sub",
    aliases=("subtract",),
    doc="Difference; integers wrap.",
)
mul = op(
    "mul",
    2,
    NUMS,
    numpy="multiply",
    symbol="*",
    precedence=12,
    method="mul",
    aliases=("multiply",),
    doc="Product; integers wrap.",
)
div = op("div", 2, FLOATS, numpy="divide", symbol="/", precedence=12, method="truediv", doc="Quotient of floats.")
floordiv = op(
    "floordiv",
    2,
    NUMS,
    numpy="floor_divide",
    symbol="//",
    precedence=12,
    method="floordiv",
    aliases=("floor_divide",),
    doc="Quotient rounded down.",
)
floormod = op(
    "floormod",
    2,
    NUMS,
    numpy="remainder",
    symbol="%",
    precedence=12,
    method="mod",
    doc="Remainder with the divisor's sign.",
)
negative = op(
    "negative",
    1,
    NUMS,
    numpy="negative",
    symbol="-",
    precedence=13,
    method="neg",
    doc="The value with its sign changed; the least integer wraps.",
)
power = op(
    "pow",
    2,
    FLOATS,
    params="x y",
    numpy="power",
    llvm="libm:pow",
    symbol="**",
    precedence=14,
    method="pow",
    aliases=("power",),
    doc="x raised to y.",
)

truncdiv = op("truncdiv", 2, INTS, doc="Quotient rounded toward zero.")
truncmod = op("truncmod", 2, NUMS, numpy="fmod", doc="Remainder of truncdiv, with the dividend's sign; of floats fmod.")
ceildiv = op("ceildiv", 2, INTS, params="lhs rhs", doc="Quotient rounded up.")
minimum = op("min", 2, NUMS, aliases=("minimum",), doc="`a if a < b else b`.")
maximum = op("max", 2, NUMS, aliases=("maximum",), doc="`a if a > b else b`.")
absolute = op(
    "abs", 1, NUMS, numpy="absolute", aliases=("fabs",), doc="The value without its sign; the least integer wraps."
)
fma = op("fma", 3, FLOATS, params="x y z", llvm="llvm.fma", doc="x * y + z, rounded once.")
