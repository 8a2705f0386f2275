"""Functions that the C source brings along: arithmetic that C leaves undefined, conversions, narrow floats.

A helper is made for a dtype when an expression needs it: `helper("add", INT32)` is the name `add_int32` and the text of
that function, with the helpers that it calls itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tirscript.ir import DType
from tirscript.ir.dtype import dtype

from .types import C_TYPES

# a helper: the other helpers that it needs, and its text with T for the type, N for the dtype's name, U for the
# unsigned type of its size, B for its bits and X for the suffix of functions of libm
Helper = tuple[tuple[tuple[str, str], ...], str]

_WRAPPING = {"add": "+", "sub": "-", "mul": "*"}

_TEXTS: dict[str, Helper] = {
    **{
        # small types are computed in int, whose products of 16 bits may be too large
        name: ((), f"T {name}_N(T a, T b) {{ return (T)((U)a {sign} (U)b); }}")
        for name, sign in _WRAPPING.items()
    },
    "negative": ((), "T negative_N(T a) { return (T)(0u - (U)a); }"),
    "abs": ((), "T abs_N(T a) { return (T)(a < 0 ? 0u - (U)a : (U)a); }"),
    "min": ((), "T min_N(T a, T b) { return a < b ? a : b; }"),
    "max": ((), "T max_N(T a, T b) { return a > b ? a : b; }"),
    # the quotient by zero and its remainder are 0; the least integer by -1 wraps
    "truncdiv": (
        (),
        "T truncdiv_N(T a, T b) { return b == 0 ? 0 : b == (T)-1 && (T)-1 < 0 ? (T)(0u - (U)a) : (T)(a / b); }",
    ),
    "truncmod": ((), "T truncmod_N(T a, T b) { return b == 0 || (b == (T)-1 && (T)-1 < 0) ? 0 : (T)(a % b); }"),
    "floordiv": (
        (("truncdiv", ""), ("truncmod", "")),
        "T floordiv_N(T a, T b) {\n"
        "  T rest = truncmod_N(a, b);\n"
        "  return (T)((U)truncdiv_N(a, b) - (rest != 0 && (rest < 0) != (b < 0)));\n"
        "}",
    ),
    "floormod": (
        (("truncmod", ""),),
        "T floormod_N(T a, T b) {\n"
        "  T rest = truncmod_N(a, b);\n"
        "  return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;\n"
        "}",
    ),
    "ceildiv": (
        (("truncdiv", ""), ("truncmod", "")),
        "T ceildiv_N(T a, T b) {\n"
        "  T rest = truncmod_N(a, b);\n"
        "  return (T)((U)truncdiv_N(a, b) + (rest != 0 && (rest < 0) == (b < 0)));\n"
        "}",
    ),
    # what is moved by the width or more is gone, down to the sign
    "shift_left": ((), "T shift_left_N(T a, T b) { return b >= 0 && b < B ? (T)((U)a << b) : 0; }"),
    "shift_right": ((), "T shift_right_N(T a, T b) { return b >= 0 && b < B ? (T)(a >> b) : a < 0 ? (T)-1 : 0; }"),
    "popcount": (
        (),
        "T popcount_N(T a) {\n"
        "  T count = 0;\n"
        "  for (U rest = (U)a; rest != 0; rest &= (U)(rest - 1)) ++count;\n"
        "  return count;\n"
        "}",
    ),
    "clz": (
        (),
        "int32_t clz_N(T a) {\n"
        "  int32_t count = B;\n"
        "  for (U rest = (U)a; rest != 0; rest = (U)(rest >> 1)) --count;\n"
        "  return count;\n"
        "}",
    ),
    # floats: numpy's quotient and remainder, whose sign is the divisor's
    "floormod_float": (
        (),
        "T floormod_N(T a, T b) {\n"
        "  T rest = fmodX(a, b);\n"
        "  if (b == 0) return rest;\n"
        "  if (rest != 0) return (b < 0) != (rest < 0) ? rest + b : rest;\n"
        "  return copysignX(0, b);\n"
        "}",
    ),
    "floordiv_float": (
        (),
        "T floordiv_N(T a, T b) {\n"
        "  T rest = fmodX(a, b), quotient, whole;\n"
        "  if (b == 0) return a / b;\n"
        "  quotient = (a - rest) / b;\n"
        "  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;\n"
        "  if (quotient == 0) return copysignX(0, a / b);\n"
        "  whole = floorX(quotient);\n"
        "  return quotient - whole > (T)0.5 ? whole + 1 : whole;\n"
        "}",
    ),
    "sigmoid": (
        (),
        "T sigmoid_N(T x) {\n"
        "  T power = expX(-fabsX(x)); /* the exponential that does not overflow */\n"
        "  return (x < 0 ? power : 1) / (1 + power);\n"
        "}",
    ),
    "ldexp": (
        (),
        "T ldexp_N(T x, int64_t n) {\n"
        "  /* beyond these powers every float has left its range */\n"
        "  int power = n > 5000 ? 5000 : n < -5000 ? -5000 : (int)n;\n"
        "  return (T)ldexp((double)x, power);\n"
        "}",
    ),
    # bits
    "bits": ((), "U bits_N(T x) {\n  U made;\n  memcpy(&made, &x, sizeof made);\n  return made;\n}"),
    "from_bits": ((), "T from_bits_N(U x) {\n  T made;\n  memcpy(&made, &x, sizeof made);\n  return made;\n}"),
    # a double as a float whose last bit says that something was cut off, so that rounding it again rounds only once
    "odd": (
        (("bits", "float32"), ("from_bits", "float32")),
        "float odd_N(double x) {\n"
        "  float near = (float)x;\n"
        "  uint32_t bits = bits_float32(near);\n"
        "  if (x != x || isinf(near) || (double)near == x || (bits & 1) != 0) return isinf(near) && !isinf(x) ?\n"
        "    from_bits_float32(bits - 1) : near;\n"
        "  return from_bits_float32(fabs((double)near) > fabs(x) ? bits - 1 : bits + 1);\n"
        "}",
    ),
    # narrow floats are computed in float32 and rounded, half to even
    "widen_float16": (
        (("from_bits", "float32"),),
        "float widen_float16(float16 x) {\n"
        "  uint32_t sign = (uint32_t)(x & 0x8000) << 16, size = x & 0x7fff;\n"
        "  if (size >= 0x7c00) return from_bits_float32(sign | 0x7f800000 | size << 13);\n"
        "  if (size < 0x400) return (sign ? -1 : 1) * (float)size * 0x1p-24f;\n"
        "  return from_bits_float32(sign | ((size << 13) + 0x38000000));\n"
        "}",
    ),
    "narrow_float16": (
        (("bits", "float32"),),
        "float16 narrow_float16(float x) {\n"
        "  uint32_t bits = bits_float32(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;\n"
        "  if (size > 0x7f800000) return (float16)(sign | 0x7e00 | (size >> 13 & 0x3ff));\n"
        "  if (size >= 0x477ff000) return (float16)(sign | 0x7c00);\n"
        "  if (size < 0x38800000) return (float16)(sign | (uint32_t)nearbyintf(fabsf(x) * 0x1p24f));\n"
        "  return (float16)(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);\n"
        "}",
    ),
    "widen_bfloat16": (
        (("from_bits", "float32"),),
        "float widen_bfloat16(bfloat16 x) { return from_bits_float32((uint32_t)x << 16); }",
    ),
    "narrow_bfloat16": (
        (("bits", "float32"),),
        "bfloat16 narrow_bfloat16(float x) {\n"
        "  uint32_t bits = bits_float32(x);\n"
        "  if (x != x) return (bfloat16)(bits >> 16 | 0x40);\n"
        "  return (bfloat16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);\n"
        "}",
    ),
    "widen_float8_e5m2": (
        (("widen_float16", ""),),
        "float widen_float8_e5m2(float8_e5m2 x) { return widen_float16((float16)(x << 8)); }",
    ),
    "widen_float8_e4m3fn": (
        (),
        "float widen_float8_e4m3fn(float8_e4m3fn x) {\n"
        "  int size = x & 0x7f;\n"
        "  float made = size == 0x7f ? NAN : size < 8 ? ldexpf((float)size, -9)\n"
        "    : ldexpf((float)(8 + (size & 7)), (size >> 3) - 10);\n"
        "  return x & 0x80 ? -made : made;\n"
        "}",
    ),
    "narrow_float8": (
        (("bits", "float32"),),
        "uint8_t narrow_float8(float x, int mantissa, int bias, uint32_t top, uint32_t nan) {\n"
        "  /* top is what too large values become: infinity, or nan where the type has none */\n"
        "  uint32_t bits = bits_float32(x), sign = bits >> 24 & 0x80, size = bits & 0x7fffffff, made;\n"
        "  int drop = 23 - mantissa;\n"
        "  if (x != x) return (uint8_t)(sign | nan);\n"
        "  if (size < (uint32_t)(128 - bias) << 23)\n"
        "    made = (uint32_t)nearbyintf(ldexpf(fabsf(x), bias - 1 + mantissa));\n"
        "  else\n"
        "    made = ((size + (size >> drop & 1) + (1u << (drop - 1)) - 1) >> drop) - ((127u - bias) << mantissa);\n"
        "  return (uint8_t)(sign | (made > top ? top : made));\n"
        "}",
    ),
    "narrow_float8_e5m2": (
        (("narrow_float8", ""),),
        "float8_e5m2 narrow_float8_e5m2(float x) { return narrow_float8(x, 2, 15, 0x7c, 0x7e); }",
    ),
    "narrow_float8_e4m3fn": (
        (("narrow_float8", ""),),
        "float8_e4m3fn narrow_float8_e4m3fn(float x) { return narrow_float8(x, 3, 7, 0x7f, 0x7f); }",
    ),
    # one step of the bits: away from zero where the target lies farther out, toward it otherwise
    "nextafter_bits": (
        (),
        "U nextafter_bits_N(U x, U y, float a, float b) {\n"
        "  const U sign = (U)((U)1 << (B - 1));\n"
        "  if (a == b) return y;\n"
        "  if ((x & (U)~sign) == 0) return (U)((y & sign) | 1);\n"
        "  return (U)((a < b) != (a < 0) ? x + 1 : x - 1);\n"
        "}",
    ),
    # a sum rounded to odd in double, which the narrow type then rounds once
    "fma_odd": (
        (("bits", "float64"), ("from_bits", "float64")),
        "double fma_odd_N(double a, double b, double c) {\n"
        "  double product = a * b, near = product + c, part = near - product;\n"
        "  double lost = (product - (near - part)) + (c - part); /* what the sum lost, by Knuth */\n"
        "  uint64_t bits = bits_float64(near);\n"
        "  if (lost == 0 || lost != lost || (bits & 1) != 0) return near;\n"
        "  return from_bits_float64((lost > 0) == (near > 0) ? bits + 1 : bits - 1);\n"
        "}",
    ),
    # memory, aligned to 64 bytes; the pointer that malloc gave stands before it
    "allocate": (
        (),
        "void *allocate(uint64_t bytes) {\n"
        "  char *memory = bytes < UINT64_C(1) << 62 ? (char *)malloc((size_t)bytes + 128) : NULL, *made;\n"
        "  if (memory == NULL) return NULL;\n"
        "  made = memory + 128 - (uintptr_t)memory % 64;\n"
        "  memcpy(made - sizeof memory, &memory, sizeof memory);\n"
        "  return made;\n"
        "}",
    ),
    "release": (
        (),
        "void release(void *made) {\n"
        "  char *memory;\n"
        "  memcpy(&memory, (char *)made - sizeof memory, sizeof memory);\n"
        "  free(memory);\n"
        "}",
    ),
}


def _saturating(source: DType, target: DType) -> str:
    """Floats to integers truncate and stop at the limits; nan is 0."""
    low, high = target.int_range()
    kind, to = C_TYPES[source.name], C_TYPES[target.name]
    suffix = "f" if source.bits == 32 else ""
    least, past = f"{float(low).hex()}{suffix}", f"{float(high + 1).hex()}{suffix}"
    word = target.name.upper()
    lowest = "0" if low == 0 else f"{word}_MIN"
    return (
        f"{to} {target.name}_from_{source.name}({kind} x) {{\n"
        f"  return x != x ? 0 : x <= {least} ? {lowest} : x >= {past} ? {word}_MAX : ({to})x;\n"
        "}"
    )


class Helpers:
    """The helpers that a source needs, in an order in which each stands behind those that it calls."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def need(self, base: str, kind: DType | None = None) -> str:
        """The name of the helper `base` for a dtype."""
        wants, text = _TEXTS[base]
        for other, its in wants:
            self.need(other, dtype(its) if its else kind)
        made = _filled(text, kind, base in _EXACT)
        name = made.partition("(")[0].rpartition(" ")[2].lstrip("*")
        self.texts.setdefault(name, f"static inline {made}")
        return name

    def saturating(self, source: DType, target: DType) -> str:
        """The name of the conversion of a float to an integer."""
        name = f"{target.name}_from_{source.name}"
        self.texts.setdefault(name, f"static inline {_saturating(source, target)}")
        return name


# whose unsigned type has the size of the dtype
_EXACT = frozenset(("bits", "from_bits", "popcount", "clz", "nextafter_bits"))


def _filled(text: str, kind: DType | None, exact: bool) -> str:
    if kind is None:
        return text
    bits = kind.bits
    # small types are computed in 32 bits, unsigned, where nothing overflows
    wide = f"uint{bits if exact else max(32, bits)}_t"
    fill: dict[str, Callable[[], str]] = {
        "T": lambda: C_TYPES[kind.name],
        "U": lambda: wide,
        "B": lambda: str(bits),
    }
    text = re.sub(r"\b([TUB])\b", lambda match: fill[match[1]](), text)
    text = re.sub(r"_N\b", f"_{kind.name}", text)
    return re.sub(r"\b(fmod|copysign|floor|exp|fabs)X\b", rf"\1{'f' if kind.bits == 32 else ''}", text)


NAMES = frozenset(_TEXTS)

__all__ = ["NAMES", "Helpers"]
