"""Elementary functions of floats."""

from ..op import FLOATS, op

exp = op("exp", 1, FLOATS, numpy="exp", llvm="llvm.exp", doc="e raised to x.")
exp2 = op("exp2", 1, FLOATS, numpy="exp2", llvm="llvm.exp2", doc="2 raised to x.")
exp10 = op("exp10", 1, FLOATS, llvm="libm:exp10", doc="10 raised to x.")
expm1 = op("expm1", 1, FLOATS, numpy="expm1", llvm="libm:expm1", doc="exp(x) - 1, exact near zero.")
log = op("log", 1, FLOATS, numpy="log", llvm="llvm.log", doc="Natural logarithm.")
log2 = op("log2", 1, FLOATS, numpy="log2", llvm="llvm.log2", doc="Logarithm to base 2.")
log10 = op("log10", 1, FLOATS, numpy="log10", llvm="llvm.log10", doc="Logarithm to base 10.")
log1p = op("log1p", 1, FLOATS, numpy="log1p", llvm="libm:log1p", doc="log(1 + x), exact near zero.")
sqrt = op("sqrt", 1, FLOATS, numpy="sqrt", llvm="llvm.sqrt", doc="Square root.")
rsqrt = op("rsqrt", 1, FLOATS, doc="1 / sqrt(x).")
sigmoid = op("sigmoid", 1, FLOATS, doc="1 / (1 + exp(-x)).")
erf = op("erf", 1, FLOATS, llvm="libm:erf", doc="The error function.")
sin = op("sin", 1, FLOATS, numpy="sin", llvm="llvm.sin", doc="Sine of radians.")
cos = op("cos", 1, FLOATS, numpy="cos", llvm="llvm.cos", doc="Cosine of radians.")
tan = op("tan", 1, FLOATS, numpy="tan", llvm="libm:tan", doc="Tangent of radians.")
asin = op("asin", 1, FLOATS, numpy="arcsin", llvm="libm:asin", doc="Inverse sine.")
acos = op("acos", 1, FLOATS, numpy="arccos", llvm="libm:acos", doc="Inverse cosine.")
atan = op("atan", 1, FLOATS, numpy="arctan", llvm="libm:atan", doc="Inverse tangent.")
atan2 = op(
    "atan2",
    2,
    FLOATS,
    params="x1 x2",
    numpy="arctan2",
    llvm="libm:atan2",
    doc="The angle of the point (x2, x1).",
)
sinh = op("sinh", 1, FLOATS, numpy="sinh", llvm="libm:sinh", doc="Hyperbolic sine.")
cosh = op("cosh", 1, FLOATS, numpy="cosh", llvm="libm:cosh", doc="Hyperbolic cosine.")
tanh = op("tanh", 1, FLOATS, numpy="tanh", llvm="libm:tanh", doc="Hyperbolic tangent.")
asinh = op("asinh", 1, FLOATS, numpy="arcsinh", llvm="libm:asinh", doc="Inverse hyperbolic sine.")
acosh = op("acosh", 1, FLOATS, numpy="arccosh", llvm="libm:acosh", doc="Inverse hyperbolic cosine.")
atanh = op("atanh", 1, FLOATS, numpy="arctanh", llvm="libm:atanh", doc="Inverse hyperbolic tangent.")
floor = op("floor", 1, FLOATS, numpy="floor", llvm="llvm.floor", doc="Rounded down.")
ceil = op("ceil", 1, FLOATS, numpy="ceil", llvm="llvm.ceil", doc="Rounded up.")
round_ = op("round", 1, FLOATS, llvm="llvm.round", doc="Rounded to the nearest whole number, halves away from zero.")
trunc = op("trunc", 1, FLOATS, numpy="trunc", llvm="llvm.trunc", doc="Rounded toward zero.")
nearbyint = op(
    "nearbyint",
    1,
    FLOATS,
    numpy="rint",
    llvm="llvm.nearbyint",
    doc="Rounded to the nearest whole number, halves to even.",
)
copysign = op(
    "copysign", 2, FLOATS, params="x1 x2", numpy="copysign", llvm="llvm.copysign", doc="x1 with the sign of x2."
)
hypot = op(
    "hypot",
    2,
    FLOATS,
    params="x1 x2",
    numpy="hypot",
    llvm="libm:hypot",
    doc="sqrt(x1*x1 + x2*x2) without overflow between.",
)
nextafter = op(
    "nextafter",
    2,
    FLOATS,
    params="x1 x2",
    numpy="nextafter",
    llvm="libm:nextafter",
    doc="The next value after x1 toward x2.",
)
fmod = op("fmod", 2, FLOATS, params="x y", numpy="fmod", llvm="libm:fmod", doc="Remainder with the dividend's sign.")
ldexp = op("ldexp", 2, FLOATS, params="x1 x2", group=(0, 1), doc="x1 times 2 raised to the integer x2.")
