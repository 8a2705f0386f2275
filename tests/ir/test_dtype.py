"""Element types and constants, against numpy and ml_dtypes."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirscript.ir import DType, Var, const, dtype, is_const, pointer
from tirscript.ir.dtype import scalar_names
from tirscript.ir.expr import round_float

FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
INTS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def numpy_type(name: str) -> Any:
    return getattr(np, name, None) or getattr(ml_dtypes, name)


@pytest.mark.parametrize("name", [name for name in scalar_names() if name not in ("void", "handle", "bool")])
def test_scalars_agree_with_numpy(name: str) -> None:
    kind = dtype(name)
    assert kind.name == str(kind) == name
    assert kind is dtype(numpy_type(name)) is dtype(np.dtype(numpy_type(name))) is dtype(kind)
    assert kind.itemsize == np.dtype(numpy_type(name)).itemsize
    assert (kind.lanes, kind.is_vector, kind.element) == (1, False, kind)
    assert kind.is_float == (name in FLOATS)
    assert kind.is_int == (name in INTS)
    assert kind.is_signed == (not name.startswith("uint"))
    if kind.is_int:
        info = np.iinfo(name)
        assert kind.int_range() == (info.min, info.max)


def test_bool_handle_void() -> None:
    assert (dtype("bool").itemsize, dtype("bool").int_range(), dtype(bool), dtype(np.bool_)) == (
        1,
        (0, 1),
        dtype("bool"),
        dtype("bool"),
    )
    assert dtype("handle").is_handle
    assert dtype("void").itemsize == 0
    assert dtype(int) is dtype("int32")
    assert dtype(float) is dtype("float32")


def test_lanes() -> None:
    vector = dtype("float32x8")
    assert (vector.lanes, vector.bits, vector.itemsize, vector.is_vector, vector.element) == (
        8,
        32,
        32,
        True,
        dtype("float32"),
    )
    assert dtype("float32x1") is dtype("float32")
    assert dtype("float32").with_lanes(8) is vector
    assert vector.with_lanes(4) is dtype("float32x4")
    assert vector.with_lanes(1) is dtype("float32")
    scalable = dtype("int8xvscalex4")
    assert (scalable.lanes, scalable.scalable, scalable.element) == (4, True, dtype("int8"))
    assert dtype("int8").with_lanes(4, True) is scalable
    assert dtype("int8").with_lanes(1, True).name == "int8xvscalex1"
    assert dtype("float8_e4m3fnx2").element is dtype("float8_e4m3fn")


@pytest.mark.parametrize(
    ("text", "name"),
    [("int", "int32"), ("uintx4", "uint32x4"), ("float", "float32"), ("floatx2", "float32x2"), ("bfloat", "bfloat16")],
)
def test_names_without_a_width(text: str, name: str) -> None:
    """As TVM reads them."""
    assert dtype(text) is dtype(name)


@pytest.mark.parametrize(
    "text",
    [
        "float31",
        "float32x0",
        "float32x",
        "xfloat32",
        "",
        "Float32",
        "float32 ",
        "float32x8x2",
        "int128",
        "voidx2",
        "float32x01",
    ],
)
def test_no_such_type(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an element type|has no lanes|is not supported"):
        dtype(text)


@pytest.mark.parametrize("value", [3, None, [], np.dtype("complex64"), str])
def test_no_type(value: object) -> None:
    with pytest.raises(ValueError, match="is not an element type"):
        dtype(value)


def test_the_message_names_the_types() -> None:
    with pytest.raises(ValueError, match=r"'flot32' is not an element type; the types are bfloat16, bool, float16"):
        dtype("flot32")


@pytest.mark.parametrize(
    "kind",
    [
        dtype("int8"),
        dtype("float32x4"),
        dtype("int8xvscalex4"),
        dtype("handle"),
        pointer("float32"),
        pointer("int8", "shared"),
    ],
    ids=repr,
)
def test_one_object_a_type(kind: DType) -> None:
    for other in (pickle.loads(pickle.dumps(kind)), copy.copy(kind), copy.deepcopy(kind)):
        assert other is kind
    assert repr(kind) == f"dtype({kind.name!r})"


def test_pointers() -> None:
    assert pointer("float32") is pointer(dtype("float32"), "global")
    assert pointer("float32") is not pointer("float32", "shared")
    assert pointer("float32").pointee is dtype("float32")
    assert pointer("float32").is_handle


@pytest.mark.parametrize("name", INTS)
def test_integer_constants(name: str) -> None:
    low, high = dtype(name).int_range()
    for value in (low, high, 0, 1):
        node = const(value, name)
        assert (node.value, type(node.value), node.dtype.name) == (value, int, name)
        assert const(numpy_type(name)(value), name).value == value
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=f"{value} does not fit {name}, which holds {low} to {high}"):
            const(value, name)
    assert const(2.0, name).value == 2
    with pytest.raises(ValueError, match=f"1.5 is not an? {name}; cast it explicitly"):
        const(1.5, name)


def test_constants_without_a_dtype() -> None:
    assert [const(value).dtype.name for value in (1, 1.0, True)] == ["int32", "float32", "bool"]
    assert const(np.int64(5)).dtype.name == "int32"
    assert const(np.float64(0.1)).value == float(np.float32(0.1))
    assert const(ml_dtypes.bfloat16(1.5), "bfloat16").value == 1.5
    assert const(np.bool_(True)).value is True
    assert const(1, "bool").value is True
    with pytest.raises(ValueError, match="2147483648 does not fit int32"):
        const(2**31)
    with pytest.raises(ValueError, match="2 does not fit bool"):
        const(2, "bool")


@pytest.mark.parametrize("value", ["1", None, 1j, np.zeros(2), [1]])
def test_no_number(value: object) -> None:
    with pytest.raises(TypeError, match="is not a number"):
        const(value)


@pytest.mark.parametrize("name", ["float32x4", "handle", "void"])
def test_types_without_constants(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} has no scalar constants"):
        const(1, name)


def same_float(a: float, b: float) -> bool:
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.parametrize("name", FLOATS)
@given(value=st.floats())
def test_rounding_is_numpys(name: str, value: float) -> None:
    with np.errstate(all="ignore"):
        wanted = float(numpy_type(name)(value))
    assert same_float(round_float(value, dtype(name)), wanted)
    assert same_float(const(value, name).value, wanted)


@pytest.mark.parametrize("name", FLOATS)
def test_special_values(name: str) -> None:
    for value in (0.0, -0.0, 1.0, math.nan, 65504.0, 65520.0, 1e-8, 3e38, 1e300, math.inf, -math.inf):
        with np.errstate(all="ignore"):
            wanted = float(numpy_type(name)(value))
        assert same_float(round_float(value, dtype(name)), wanted), (name, value)


def test_is_const() -> None:
    assert is_const(const(3))
    assert is_const(const(3), 3)
    assert not is_const(const(3), 4)
    assert not is_const(Var(name="x"))
