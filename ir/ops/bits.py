"""Operations on bits."""

from ..op import INTBOOLS, INTS, op

bitwise_and = op(
    "bitwise_and",
    2,
    INTBOOLS,
    params="x y",
    numpy="bitwise_and",
    symbol="&",
    precedence=9,
    method="and",
    doc="Bits set in both.",
)
bitwise_or = op(
    "bitwise_or",
    2,
    INTBOOLS,
    params="x y",
    numpy="bitwise_or",
    symbol="|",
    precedence=7,
    method="or",
    doc="Bits set in either.",
)
bitwise_xor = op(
    "bitwise_xor",
    2,
    INTBOOLS,
    params="x y",
    numpy="bitwise_xor",
    symbol="^",
    precedence=8,
    method="xor",
    doc="Bits set in one.",
)
bitwise_not = op(
    "bitwise_not",
    1,
    INTBOOLS,
    numpy="invert",
    symbol="~",
    precedence=13,
    method="invert",
    aliases=("bitwise_invert",),
    doc="Every bit changed.",
)
shift_left = op(
    "shift_left",
    2,
    INTS,
    params="x y",
    numpy="left_shift",
    symbol="<<",
    precedence=10,
    method="lshift",
    doc="Bits moved up; 0 where moved by the width or more.",
)
shift_right = op(
    "shift_right",
    2,
    INTS,
    params="x y",
    numpy="right_shift",
    symbol=">>",
    precedence=10,
    method="rshift",
    doc="Bits moved down, the sign copied; 0 or -1 where moved by the width or more.",
)
popcount = op("popcount", 1, INTS, doc="The number of bits set.")
clz = op("clz", 1, INTS, result="int32", doc="The number of leading zero bits; the width for 0.")
