"""Comparisons, logic and selection."""

from ..op import ANY, BOOLS, FLOATS, NUMS, op

equal = op(
    "equal",
    2,
    ANY,
    result="bool",
    numpy="equal",
    symbol="==",
    precedence=6,
    aliases=("EQ",),
    method="eq",
    doc="Whether the values are equal (nan to nothing).",
)
not_equal = op(
    "not_equal",
    2,
    ANY,
    result="bool",
    numpy="not_equal",
    symbol="!=",
    precedence=6,
    aliases=("NE",),
    method="ne",
    doc="Whether the values differ.",
)
less = op(
    "less",
    2,
    NUMS,
    result="bool",
    numpy="less",
    symbol="<",
    precedence=6,
    method="lt",
    aliases=("LT",),
    doc="a below b.",
)
less_equal = op(
    "less_equal",
    2,
    NUMS,
    result="bool",
    numpy="less_equal",
    symbol="<=",
    precedence=6,
    method="le",
    aliases=("LE",),
    doc="a below or equal to b.",
)
greater = op(
    "greater",
    2,
    NUMS,
    result="bool",
    numpy="greater",
    symbol=">",
    precedence=6,
    method="gt",
    aliases=("GT",),
    doc="a above b.",
)
greater_equal = op(
    "greater_equal",
    2,
    NUMS,
    result="bool",
    numpy="greater_equal",
    symbol=">=",
    precedence=6,
    method="ge",
    aliases=("GE",),
    doc="a above or equal to b.",
)
logical_and = op(
    "logical_and",
    2,
    BOOLS,
    numpy="logical_and",
    symbol="and",
    precedence=4,
    aliases=("And",),
    doc="Both; the second is evaluated where the first is true.",
)
logical_or = op(
    "logical_or",
    2,
    BOOLS,
    numpy="logical_or",
    symbol="or",
    precedence=3,
    aliases=("Or",),
    doc="Either; the second is evaluated where the first is false.",
)
logical_not = op(
    "logical_not",
    1,
    BOOLS,
    params="a",
    numpy="logical_not",
    symbol="not",
    precedence=5,
    aliases=("Not",),
    doc="The opposite.",
)
if_then_else = op(
    "if_then_else",
    3,
    ANY,
    params="cond t f",
    group=(1, None),
    symbol="if",
    precedence=2,
    doc="`t if cond else f`: only the taken side is evaluated.",
)
select = op(
    "Select",
    3,
    ANY,
    params="condition true_value false_value",
    group=(1, None),
    aliases=("select",),
    doc="`true_value` if `condition`, else `false_value`; both sides are evaluated.",
)
isnan = op("isnan", 1, FLOATS, result="bool", numpy="isnan", doc="Whether the value is not a number.")
isinf = op("isinf", 1, FLOATS, result="bool", numpy="isinf", doc="Whether the value is an infinity.")
isfinite = op(
    "isfinite", 1, FLOATS, result="bool", numpy="isfinite", doc="Whether the value is neither infinite nor nan."
)
likely = op("likely", 1, BOOLS, params="cond", doc="The condition, with the hint that it is mostly true.")
