"""Every operator of the table on edge values of every dtype it accepts, beside numpy."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirscript.backend.interpreter import interpret
from tirscript.backend.interpreter.expressions import EXPRESSIONS
from tirscript.backend.interpreter.ops import MAKERS, NOT_SCALAR, operators_without_rule, scalar_rule
from tirscript.backend.interpreter.statements import STATEMENTS
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import (
    OPS,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    PrimFunc,
    Ramp,
    Stmt,
    Var,
    const,
    dtype,
)
from tirscript.ir.op import _ACCEPTS

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
SCALARS = ("bool", *INTS, *FLOATS)


def edge_values(name: str) -> np.ndarray[Any, Any]:
    kind = numpy_dtype(dtype(name))
    if name == "bool":
        return np.array([False, True])
    if name in INTS:
        low, high = dtype(name).int_range()
        values = {low, low + 1, high, high - 1, 0, 1, 2, 3, 7, 31, 100, high // 2 + 1}
        if low < 0:
            values |= {-1, -2, -7, -100}
        return np.array(sorted(value for value in values if low <= value <= high), kind)
    info = ml_dtypes.finfo(kind)
    numbers = [
        0.0,
        1.0,
        1.5,
        2.0,
        2.5,
        3.5,
        0.5,
        0.1,
        0.49999997,
        7.0,
        float(info.max),
        float(info.tiny),
        float(info.smallest_subnormal),
        math.inf,
        math.nan,
    ]
    with np.errstate(all="ignore"):
        return np.array([sign * number for number in numbers for sign in (1, -1)]).astype(kind)


def run_elementwise(
    op: str, arrays: list[np.ndarray[Any, Any]], names: list[str], result: str, *, vector: bool = False
) -> np.ndarray[Any, Any]:
    """`out[i] = op(a[i], b[i], ...)` under the interpreter, one element at a time or all as one vector."""
    count = len(arrays[0])
    inputs = [Buffer(f"a{at}", (const(count),), dtype(name)) for at, name in enumerate(names)]
    out = Buffer("out", (const(count),), dtype(result))
    i = Var("i")
    index: Expr = Ramp(const(0), const(1), count) if vector else i
    args = tuple(BufferLoad(buffer, (index,)) for buffer in inputs)
    kind = dtype(result).with_lanes(count) if vector else dtype(result)
    store = BufferStore(out, (index,), Call(OPS[op], args, kind))
    body: tuple[Stmt, ...] = (store,) if vector else (For(i, const(0), const(count), (store,)),)
    values = np.zeros(count, numpy_dtype(dtype(result)))
    interpret(PrimFunc("f", (*inputs, out), body), *arrays, values)
    return values


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Equal bit for bit, nan as nan."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    return bool((nan_a == nan_b).all() and (a.view(bits)[~nan_a] == b.view(bits)[~nan_b]).all())


def operand_dtypes(op: str) -> list[str]:
    accepts = _ACCEPTS[OPS[op].operands]
    return [name for name in SCALARS if accepts(dtype(name))]


# -- references in numpy, written independently of the rules


def wide(function: Any) -> Any:
    """The reference of a float function: computed in float32 for the narrow dtypes."""

    def run(*args: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        kind = args[0].dtype
        if kind.itemsize >= 4:
            return np.asarray(function(*args))
        out = np.asarray(function(*[arg.astype(np.float32) for arg in args]))
        return out if out.dtype == bool else out.astype(kind)

    return run


def as_python(function: Any) -> Any:
    """The reference of an integer function: exact in Python, then wrapped."""

    def run(*args: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        kind = args[0].dtype
        bits = kind.itemsize * 8
        out = [function(*map(int, lane)) & ((1 << bits) - 1) for lane in zip(*args, strict=True)]
        return np.array(out, np.dtype(f"u{kind.itemsize}")).view(kind)

    return run


def trunc_div(a: int, b: int) -> int:
    return math.trunc(Fraction(a, b))


def round_away(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(np.isfinite(x), np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x), x).astype(x.dtype)


def shift(left: bool) -> Any:
    def run(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.left_shift(a, b) if left else np.right_shift(a, b)

    return run


def unary_sigmoid(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, x.dtype.type(1)) / (1 + power)


LIBM_POW = ctypes.CDLL(ctypes.util.find_library("m")).pow
LIBM_POW.argtypes, LIBM_POW.restype = [ctypes.c_double] * 2, ctypes.c_double


def power(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array([LIBM_POW(float(a), float(b)) for a, b in zip(x, y, strict=True)]).astype(x.dtype)


INT_REFERENCES: dict[str, Any] = {
    "truncdiv": as_python(trunc_div),
    "truncmod": as_python(lambda a, b: a - trunc_div(a, b) * b),
    "ceildiv": as_python(lambda a, b: math.ceil(Fraction(a, b))),
    "floordiv": as_python(lambda a, b: math.floor(Fraction(a, b))),
    "popcount": lambda a: np.array([bin(int(x) & ((1 << a.itemsize * 8) - 1)).count("1") for x in a], a.dtype),
    "shift_left": shift(True),
    "shift_right": shift(False),
}
REFERENCES: dict[str, Any] = {
    "clz": lambda a: np.array(
        [a.itemsize * 8 - len(bin(int(x) & ((1 << a.itemsize * 8) - 1))[2:].lstrip("0")) for x in a], np.int32
    ),
    "min": lambda a, b: np.where(a < b, a, b),
    "max": lambda a, b: np.where(a > b, a, b),
    "round": wide(round_away),
    "rsqrt": wide(lambda x: (1 / np.sqrt(x)).astype(x.dtype)),
    "sigmoid": wide(unary_sigmoid),
    "exp10": wide(lambda x: np.power(x.dtype.type(10), x)),
    "erf": lambda x: (
        np.array([math.erf(float(v)) for v in x]).astype(np.float32 if x.itemsize < 4 else x.dtype).astype(x.dtype)
    ),
    "nextafter": lambda a, b: np.where(a == b, b, np.nextafter(a, b)).astype(a.dtype)[()],
    "pow": wide(power),
}
DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv")
ELEMENTWISE = [
    name
    for name in OPS
    if name not in NOT_SCALAR and name not in ("cast", "if_then_else", "Select", "likely", "ldexp", "fma", "isnullptr")
]


def arguments(op: str, name: str) -> list[np.ndarray[Any, Any]]:
    values = edge_values(name)
    if OPS[op].arity[0] == 1:
        return [values]
    left, right = (grid.ravel() for grid in np.meshgrid(values, values, indexing="ij"))
    if op in DIVISIONS and name in INTS:
        left, right = left[right != 0], right[right != 0]
    return [left, right]


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_operator_is_numpys(op: str) -> None:
    names = operand_dtypes(op)
    assert names, f"{op} takes no dtype"
    for name in names:
        if name == "bool" and op in ("min", "max"):
            continue
        args = arguments(op, name)
        entry = OPS[op]
        result = name if entry.result == "same" else entry.result
        with np.errstate(all="ignore"):
            reference = REFERENCES.get(op)
            if reference is None and name in INTS:
                reference = INT_REFERENCES.get(op)
            if reference is None:
                assert entry.numpy is not None, f"{op} has no reference"
                function = getattr(np, entry.numpy)
                reference = wide(function) if name in FLOATS else function
            # numpy's vector and scalar code may differ in the last place, so it is asked one element at a time
            want = np.concatenate(
                [np.atleast_1d(reference(*[arg[at : at + 1] for arg in args])) for at in range(len(args[0]))]
            )
        got = run_elementwise(op, args, [name] * len(args), result)
        assert got.dtype == want.dtype, f"{op} of {name}"
        assert same(got, want), (
            f"{op} of {name}: {[tuple(map(str, row)) for row in zip(*args, got, want, strict=True) if str(row[-1]) != str(row[-2])][:5]}"
        )
        assert same(run_elementwise(op, args, [name] * len(args), result, vector=True), want), f"vector {op} of {name}"


@pytest.mark.parametrize("name", INTS)
def test_integers_wrap(name: str) -> None:
    low, high = dtype(name).int_range()
    kind = np.dtype(name)
    top, one = np.array([high, low], kind), np.array([1, 1], kind)
    assert run_elementwise("add", [top, one], [name] * 2, name).tolist() == [low, low + 1]
    assert run_elementwise("sub", [top[::-1].copy(), one], [name] * 2, name).tolist() == [high, high - 1]
    assert run_elementwise("negative", [top], [name], name).tolist() == [
        (-high) % (high + 1) if low == 0 else -high,
        low,
    ]


def test_fma_rounds_once() -> None:
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 needs 25 bits: two roundings give 1 + 2^-11 - 1 = 2^-11
    x = np.float32(1 + 2**-12)
    args = [np.array([x]), np.array([x]), np.array([np.float32(-1 - 2**-11)])]
    assert run_elementwise("fma", args, ["float32"] * 3, "float32").tolist() == [2**-24]
    rng = np.random.default_rng(0)
    for name in FLOATS:
        kind = numpy_dtype(dtype(name))
        values = [rng.standard_normal(64).astype(kind) for _ in range(3)]
        got = run_elementwise("fma", values, [name] * 3, name)
        for a, b, c, out in zip(*values, got, strict=True):
            exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
            error = abs(Fraction(float(out)) - exact)
            with np.errstate(all="ignore"):
                for direction in (math.inf, -math.inf):
                    other = float(np.nextafter(out, kind.type(direction)))
                    assert math.isnan(other) or math.isinf(other) or error <= abs(Fraction(other) - exact)
    # the product lies between two numbers of float32, and what is added is too small for a float64 beside it
    middle = [np.full(3, x), np.full(3, x), np.array([2**-80, 0, -(2**-80)], np.float32)]
    up, even = 1 + 2**-11 + 2**-23, 1 + 2**-11
    assert run_elementwise("fma", middle, ["float32"] * 3, "float32").tolist() == [up, even, even]
    middle[0] = np.full(3, np.float32(1 + 2**-11 + 2**-23))
    middle[1], middle[2] = np.full(3, np.float32(1.5)), middle[2] * np.float32(-1)
    got = run_elementwise("fma", middle, ["float32"] * 3, "float32").tolist()
    down, whole = 1.5 + 3 * 2**-12 + 2**-23, 1.5 + 3 * 2**-12 + 2**-22
    assert got == [down, whole, whole]
    special = [
        np.array([math.inf, 0.0, -0.0, 1.0], np.float32),
        np.array([0.0, 1.0, 1.0, 1.0], np.float32),
        np.array([1.0, -0.0, -0.0, -1.0], np.float32),
    ]
    got = run_elementwise("fma", special, ["float32"] * 3, "float32")
    assert math.isnan(got[0]) and str(got[1]) == "0.0" and str(got[2]) == "-0.0" and str(got[3]) == "0.0"


def test_ldexp() -> None:
    x, n = np.array([1.5, -3.0, 1.0, 1.0, 0.0], np.float32), np.array([4, -1, 200, -200, 7], np.int32)
    assert run_elementwise("ldexp", [x, n], ["float32", "int32"], "float32").tolist() == [
        24.0,
        -1.5,
        math.inf,
        0.0,
        0.0,
    ]
    assert run_elementwise("ldexp", [x.astype(np.float16), n], ["float16", "int32"], "float16").tolist() == [
        24.0,
        -1.5,
        math.inf,
        0.0,
        0.0,
    ]
    big = np.array([1 << 40, -(1 << 40)])
    assert run_elementwise("ldexp", [np.ones(2, np.float32), big], ["float32", "int64"], "float32").tolist() == [
        math.inf,
        0.0,
    ]


@pytest.mark.parametrize("to", SCALARS)
@pytest.mark.parametrize("have", SCALARS)
def test_cast(have: str, to: str) -> None:
    values = edge_values(have)
    got = run_elementwise("cast", [values], [have], to)
    with np.errstate(all="ignore"):
        want = [cast_reference(value, have, to) for value in values]
    assert same(got, np.array(want, numpy_dtype(dtype(to))))


def cast_reference(value: Any, have: str, to: str) -> Any:
    if to == "bool":
        return bool(value != 0)
    if to in INTS:
        low, high = dtype(to).int_range()
        if have in FLOATS:
            number = float(value)
            return 0 if math.isnan(number) else low if number < low else high if number > high else int(number)
        bits = dtype(to).bits
        number = int(value) & ((1 << bits) - 1)
        return number - (1 << bits) if number > high else number
    kind = numpy_dtype(dtype(to)).type
    if have in FLOATS:
        return kind(float(value)) if to in ("float16", "float32", "float64") else nearest_narrow(float(value), kind)
    return kind(np.float32(np.asarray(value))) if dtype(to).bits < 32 else kind(np.asarray(value))


def nearest_narrow(value: float, kind: Any) -> Any:
    """The nearest value of a small float type, ties to even, found by looking at the neighbours."""
    near = kind(value)
    if not math.isfinite(value) or not math.isfinite(float(near)):
        return near
    around = [
        near,
        np.nextafter(near, kind(math.inf if kind is not ml_dtypes.float8_e4m3fn else 448)),
        np.nextafter(near, kind(-math.inf if kind is not ml_dtypes.float8_e4m3fn else -448)),
    ]
    finite = [one for one in around if math.isfinite(float(one))]
    bits = np.dtype(f"u{np.dtype(kind).itemsize}")
    best: Any = min(
        finite, key=lambda one: (abs(Fraction(float(one)) - Fraction(value)), int(np.asarray(one).view(bits)) & 1)
    )
    return kind(math.copysign(0.0, value)) if float(best) == 0 else best


def test_float64_to_bfloat16_is_rounded_once() -> None:
    value = np.array([1 + 2**-8 + 2**-40])
    assert run_elementwise("cast", [value], ["float64"], "bfloat16").astype(float).tolist() == [1 + 2**-7]
    assert run_elementwise("cast", [np.array([1 + 2**-4 + 2**-40])], ["float64"], "float8_e4m3fn").astype(
        float
    ).tolist() == [1.125]


def test_large_integers_round_once_to_float32() -> None:
    number = (1 << 60) + (1 << 36) + 1
    got = run_elementwise("cast", [np.array([number])], ["int64"], "float32")
    assert got.tolist() == [float((1 << 60) + (1 << 37))]
    assert run_elementwise("cast", [np.array([2**64 - 1], np.uint64)], ["uint64"], "float64").tolist() == [2.0**64]


def test_select_and_choice() -> None:
    c, a, b = np.array([True, False]), np.array([1, 2], np.int32), np.array([3, 4], np.int32)
    for op in ("Select", "if_then_else"):
        for vector in (False, True):
            assert run_elementwise(op, [c, a, b], ["bool", "int32", "int32"], "int32", vector=vector).tolist() == [1, 4]


def test_min_max_with_nan_take_the_second() -> None:
    a, b = np.array([math.nan, 1.0], np.float32), np.array([1.0, math.nan], np.float32)
    for op in ("min", "max"):
        got = run_elementwise(op, [a, b], ["float32"] * 2, "float32")
        assert got[0] == 1.0 and math.isnan(got[1])


def test_small_floats_round_after_every_operation() -> None:
    one = np.array([1.0], np.float16)
    tiny = np.array([2**-11], np.float16)
    assert run_elementwise("add", [one, tiny], ["float16"] * 2, "float16").tolist() == [1.0]
    narrow = np.array([1.0], ml_dtypes.bfloat16), np.array([2**-9], ml_dtypes.bfloat16)
    assert run_elementwise("add", list(narrow), ["bfloat16"] * 2, "bfloat16").astype(float).tolist() == [1.0]
    big = np.array([3e38], ml_dtypes.bfloat16)
    assert run_elementwise("mul", [big, big], ["bfloat16"] * 2, "bfloat16").astype(float).tolist() == [math.inf]


def test_every_operator_has_a_rule() -> None:
    assert operators_without_rule() == []
    assert not set(MAKERS) - set(OPS), "rules for operators that are not in the table"
    assert set(NOT_SCALAR) <= set(OPS)
    for name in ELEMENTWISE:
        for kind in operand_dtypes(name):
            element = dtype(kind)
            result = element if OPS[name].result == "same" else dtype(OPS[name].result)
            assert callable(scalar_rule(OPS[name], (element,) * OPS[name].arity[0], result))


def subclasses(cls: type) -> set[type]:
    found = set(cls.__subclasses__())
    return found.union(*(subclasses(one) for one in found))


def test_every_class_has_a_rule() -> None:
    # those of graphs have rules of their own: tests/ir/test_graph_rules.py
    assert {cls for cls in subclasses(Stmt) if cls.__module__ == Stmt.__module__} == set(STATEMENTS)
    assert {cls for cls in subclasses(Expr) if cls.__module__ == Expr.__module__} == set(EXPRESSIONS)
    assert Const in EXPRESSIONS
