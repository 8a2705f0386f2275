"""Conversions between element types, lane by lane.

float16 is LLVM's half; bfloat16 and float8 are carried as their bits. These are converted with integer arithmetic,
rounding half to even, and float16 is where the processor has no instructions for it.
"""

from __future__ import annotations

from tirscript.ir.dtype import FLOAT32, FLOAT64, DType

from .builder import FunctionText
from .types import float_literal, scalar_type, splat, value_type, vector


def compute_dtype(dtype: DType) -> DType:
    """The float type that arithmetic on `dtype` is done in: itself for float32 and float64, else float32."""
    return FLOAT64 if dtype.bits == 64 else FLOAT32


def widen(b: FunctionText, value: str, dtype: DType) -> str:
    """A float of any type in the type it is computed in."""
    rule = _WIDEN.get(dtype.element.name)
    return value if rule is None else rule(b, value, dtype.lanes)


def narrow(b: FunctionText, value: str, dtype: DType) -> str:
    """A computed float rounded to `dtype`."""
    rule = _NARROW.get(dtype.element.name)
    return value if rule is None else rule(b, value, dtype.lanes)


def _half_to_float(b: FunctionText, value: str, n: int) -> str:
    if b.host.converts_half:
        return b.op(f"fpext {vector('half', n)} {value} to {vector('float', n)}")
    i16, i32, f32 = vector("i16", n), vector("i32", n), vector("float", n)
    half = b.op(f"bitcast {vector('half', n)} {value} to {i16}")
    bits = b.op(f"zext {i16} {half} to {i32}")
    magnitude = b.op(f"and {i32} {bits}, {splat('i32', '32767', n)}")
    sign = b.op(f"shl {i32} {b.op(f'xor {i32} {bits}, {magnitude}')}, {splat('i32', '16', n)}")
    # as the bits of a float32 the value is too small by the difference of the biases; denormals come out right
    raised = b.op(f"shl {i32} {magnitude}, {splat('i32', '13', n)}")
    small = b.op(f"bitcast {i32} {raised} to {f32}")
    scaled = b.op(f"fmul {f32} {small}, {splat('float', float_literal(2.0**112, 'float'), n)}")
    finite = b.op(f"bitcast {f32} {scaled} to {i32}")
    infinite = b.op(f"or {i32} {raised}, {splat('i32', str(0x7F800000), n)}")
    quiet = b.op(f"or {i32} {infinite}, {splat('i32', str(0x00400000), n)}")
    is_nan = b.op(f"icmp ugt {i32} {magnitude}, {splat('i32', str(0x7C00), n)}")
    is_finite = b.op(f"icmp ult {i32} {magnitude}, {splat('i32', str(0x7C00), n)}")
    above = b.select(is_nan, i32, quiet, infinite, vector_condition=n)
    found = b.select(is_finite, i32, finite, above, vector_condition=n)
    return b.op(f"bitcast {i32} {b.op(f'or {i32} {found}, {sign}')} to {f32}")


def _bfloat_to_float(b: FunctionText, value: str, n: int) -> str:
    wide = b.op(f"zext {vector('i16', n)} {value} to {vector('i32', n)}")
    bits = b.op(f"shl {vector('i32', n)} {wide}, {splat('i32', '16', n)}")
    return b.op(f"bitcast {vector('i32', n)} {bits} to {vector('float', n)}")


def _e5m2_to_float(b: FunctionText, value: str, n: int) -> str:
    # float8_e5m2 is the upper half of a float16
    wide = b.op(f"zext {vector('i8', n)} {value} to {vector('i16', n)}")
    bits = b.op(f"shl {vector('i16', n)} {wide}, {splat('i16', '8', n)}")
    return _half_to_float(b, b.op(f"bitcast {vector('i16', n)} {bits} to {vector('half', n)}"), n)


def _e4m3_to_float(b: FunctionText, value: str, n: int) -> str:
    # as the bits of a float16 the value is too small by 2 ** 8, the difference of the biases; denormals come out right
    i16 = vector("i16", n)
    wide = b.op(f"zext {vector('i8', n)} {value} to {i16}")
    magnitude = b.op(f"and {i16} {wide}, {splat('i16', '127', n)}")
    sign = b.op(f"and {i16} {wide}, {splat('i16', '128', n)}")
    low = b.op(f"shl {i16} {magnitude}, {splat('i16', '7', n)}")
    high = b.op(f"shl {i16} {sign}, {splat('i16', '8', n)}")
    bits = b.op(f"or {i16} {low}, {high}")
    small = _half_to_float(b, b.op(f"bitcast {i16} {bits} to {vector('half', n)}"), n)
    f32 = vector("float", n)
    scaled = b.op(f"fmul {f32} {small}, {splat('float', float_literal(256.0, 'float'), n)}")
    is_nan = b.op(f"icmp eq {i16} {magnitude}, {splat('i16', '127', n)}")
    return b.select(is_nan, f32, splat("float", float_literal(float("nan"), "float"), n), scaled, vector_condition=n)


def _float_to_half(b: FunctionText, value: str, n: int) -> str:
    if b.host.converts_half:
        return b.op(f"fptrunc {vector('float', n)} {value} to {vector('half', n)}")
    bits = _float_to_bits(b, value, n, size=16, mantissa=10, bias=15, top=0x7C00, nan=0x7E00)
    return b.op(f"bitcast {vector('i16', n)} {bits} to {vector('half', n)}")


def _float_to_bfloat(b: FunctionText, value: str, n: int) -> str:
    i32, f32 = vector("i32", n), vector("float", n)
    bits = b.op(f"bitcast {f32} {value} to {i32}")
    upper = b.op(f"lshr {i32} {bits}, {splat('i32', '16', n)}")
    odd = b.op(f"and {i32} {upper}, {splat('i32', '1', n)}")
    bias = b.op(f"add {i32} {odd}, {splat('i32', '32767', n)}")
    rounded = b.op(f"lshr {i32} {b.op(f'add {i32} {bits}, {bias}')}, {splat('i32', '16', n)}")
    quiet = b.op(f"or {i32} {upper}, {splat('i32', '64', n)}")
    is_nan = b.op(f"fcmp uno {f32} {value}, {value}")
    chosen = b.select(is_nan, i32, quiet, rounded, vector_condition=n)
    return b.op(f"trunc {i32} {chosen} to {vector('i16', n)}")


def _float_to_e5m2(b: FunctionText, value: str, n: int) -> str:
    return _float_to_bits(b, value, n, size=8, mantissa=2, bias=15, top=0x7C, nan=0x7E)


def _float_to_e4m3(b: FunctionText, value: str, n: int) -> str:
    return _float_to_bits(b, value, n, size=8, mantissa=3, bias=7, top=0x7F, nan=0x7F)


def _float_to_bits(
    b: FunctionText, value: str, n: int, *, size: int, mantissa: int, bias: int, top: int, nan: int
) -> str:
    """The bits of a narrow float; `top` is what too large values become: infinity, or nan where the type has none."""
    i32, f32 = vector("i32", n), vector("float", n)
    bits = b.op(f"bitcast {f32} {value} to {i32}")
    magnitude = b.op(f"and {i32} {bits}, {splat('i32', '2147483647', n)}")
    sign = b.op(f"lshr {i32} {b.op(f'xor {i32} {bits}, {magnitude}')}, {splat('i32', str(32 - size), n)}")
    # normal results: round the mantissa to its upper bits, half to even, and change the bias
    drop = 23 - mantissa
    upper = b.op(f"lshr {i32} {magnitude}, {splat('i32', str(drop), n)}")
    odd = b.op(f"and {i32} {upper}, {splat('i32', '1', n)}")
    biased = b.op(f"add {i32} {b.op(f'add {i32} {magnitude}, {odd}')}, {splat('i32', str((1 << (drop - 1)) - 1), n)}")
    shifted = b.op(f"lshr {i32} {biased}, {splat('i32', str(drop), n)}")
    normal = b.op(f"sub {i32} {shifted}, {splat('i32', str((127 - bias) << mantissa), n)}")
    # denormal results: adding a number whose last place is the least denormal rounds to it
    base = 2.0 ** (1 - bias - mantissa + 23)
    absolute = b.op(f"bitcast {i32} {magnitude} to {f32}")
    aligned = b.op(f"fadd {f32} {absolute}, {splat('float', float_literal(base, 'float'), n)}")
    base_bits = b.op(f"bitcast {f32} {splat('float', float_literal(base, 'float'), n)} to {i32}")
    denormal = b.op(f"sub {i32} {b.op(f'bitcast {f32} {aligned} to {i32}')}, {base_bits}")
    is_small = b.op(f"icmp ult {i32} {magnitude}, {splat('i32', str((128 - bias) << 23), n)}")
    found = b.select(is_small, i32, denormal, normal, vector_condition=n)
    is_large = b.op(f"icmp ugt {i32} {found}, {splat('i32', str(top), n)}")
    # also what is so large that the exponent left the field: the comparison sees it, as found is not cut yet
    bounded = b.select(is_large, i32, splat("i32", str(top), n), found, vector_condition=n)
    is_nan = b.op(f"icmp ugt {i32} {magnitude}, {splat('i32', str(0x7F800000), n)}")
    chosen = b.select(is_nan, i32, splat("i32", str(nan), n), bounded, vector_condition=n)
    return b.op(f"trunc {i32} {b.op(f'or {i32} {chosen}, {sign}')} to {vector(f'i{size}', n)}")


_WIDEN = {
    "float16": _half_to_float,
    "bfloat16": _bfloat_to_float,
    "float8_e5m2": _e5m2_to_float,
    "float8_e4m3fn": _e4m3_to_float,
}
_NARROW = {
    "float16": _float_to_half,
    "bfloat16": _float_to_bfloat,
    "float8_e5m2": _float_to_e5m2,
    "float8_e4m3fn": _float_to_e4m3,
}


def _round_to_odd(b: FunctionText, value: str, n: int) -> str:
    """A double as a float whose last bit says that something was cut off, so that rounding it again rounds only
    once."""
    i32, f32, f64 = vector("i32", n), vector("float", n), vector("double", n)
    near = b.op(f"fptrunc {f64} {value} to {f32}")
    back = b.op(f"fpext {f32} {near} to {f64}")
    bits = b.op(f"bitcast {f32} {near} to {i32}")
    inexact = b.op(f"fcmp one {f64} {back}, {value}")
    size = b.intrinsic("llvm.fabs", [f64], f64, [(f64, value)])
    went = b.intrinsic("llvm.fabs", [f64], f64, [(f64, back)])
    above = b.op(f"fcmp ogt {f64} {went}, {size}")
    down = b.op(f"sub {i32} {bits}, {b.op('zext ' + vector('i1', n) + f' {above} to {i32}')}")
    odd = b.op(f"or {i32} {down}, {b.op('zext ' + vector('i1', n) + f' {inexact} to {i32}')}")
    return b.op(f"bitcast {i32} {odd} to {f32}")


def float_to_float(b: FunctionText, value: str, source: DType, target: DType) -> str:
    """A float as another float type, rounded half to even."""
    n = source.lanes
    wide = widen(b, value, source)
    have, want = source.element.name, target.element.name
    if have == "float64":
        if want == "float64":
            return wide
        if want == "float32":
            return b.op(f"fptrunc {vector('double', n)} {wide} to {vector('float', n)}")
        wide = _round_to_odd(b, wide, n)
    elif want == "float64":
        return b.op(f"fpext {vector('float', n)} {wide} to {vector('double', n)}")
    return narrow(b, wide, target)


def _float_to_int(b: FunctionText, value: str, scalar: str, want: DType, n: int) -> str:
    """A float or double as an integer, truncated and stopped at the limits, nan as 0.

    It is brought between the limits before it is converted: LLVM takes `llvm.fptosi.sat` apart lane by lane.
    """
    kind, test = vector(scalar, n), "fcmp {} " + vector(scalar, n) + " {}, {}"
    least, most = want.int_range()
    top = _float_not_above(most, 24 if scalar == "float" else 53)
    low, high, zero = (splat(scalar, float_literal(float(limit), scalar), n) for limit in (least, top, 0))
    # in this order nan becomes `low`
    held = b.select(b.op(test.format("ogt", value, low)), kind, value, low, vector_condition=n)
    held = b.select(b.op(test.format("olt", held, high)), kind, held, high, vector_condition=n)
    if least:
        held = b.select(b.op(test.format("uno", value, value)), kind, zero, held, vector_condition=n)
    if want.bits < 32:  # processors convert to 32 bits
        wide = b.op(f"fptosi {kind} {held} to {vector('i32', n)}")
        return b.op(f"trunc {vector('i32', n)} {wide} to {vector(scalar_type(want), n)}")
    whole = vector(scalar_type(want), n)
    found = b.op(f"{'fptosi' if least else 'fptoui'} {kind} {held} to {whole}")
    if top == most:
        return found
    limit = splat(scalar_type(want), str(most if least else -1), n)
    return b.select(b.op(test.format("ogt", value, high)), whole, limit, found, vector_condition=n)


def _float_not_above(limit: int, digits: int) -> int:
    """The greatest whole number up to `limit` that a float of so many binary digits holds."""
    surplus = max(0, limit.bit_length() - digits)
    return limit >> surplus << surplus


def convert(b: FunctionText, value: str, source: DType, target: DType) -> str:
    """A value of `source` as `target`: floats to integers truncate and stop at the limits (nan is 0), integers wrap."""
    have, want = source.element, target.element
    if have is want:
        return value
    n = source.lanes
    from_type, to_type = value_type(source), value_type(target)
    if want.is_bool:
        if have.is_float:
            kind = vector(scalar_type(compute_dtype(have)), n)
            return b.op(
                f"fcmp une {kind} {widen(b, value, source)}, zeroinitializer"
                if n > 1
                else f"fcmp une {kind} {widen(b, value, source)}, 0.0"
            )
        return b.op(f"icmp ne {from_type} {value}, {splat(scalar_type(have), '0', n)}")
    if have.is_float:
        if want.is_float:
            return float_to_float(b, value, source, target)
        return _float_to_int(b, widen(b, value, source), scalar_type(compute_dtype(have)), want, n)
    if want.is_float:
        computed = compute_dtype(want)
        kind = vector(scalar_type(computed), n)
        wide = b.op(f"{'sitofp' if have.kind == 'int' else 'uitofp'} {from_type} {value} to {kind}")
        return narrow(b, wide, target)
    if have.is_bool or have.bits < want.bits:
        return b.op(f"{'sext' if have.kind == 'int' else 'zext'} {from_type} {value} to {to_type}")
    return value if have.bits == want.bits else b.op(f"trunc {from_type} {value} to {to_type}")
