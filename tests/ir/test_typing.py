"""How operators type their operands: every sentence of the language's rules of mixed dtypes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tirscript.ir import (
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Const,
    DiagnosticError,
    Expr,
    Ramp,
    StringImm,
    Var,
    cast,
    const,
    dtype,
    get_op,
)
from tirscript.ir.op import OPS, as_expr, convert, op


def var(kind: str) -> Var:
    return Var(name=kind, dtype=dtype(kind))


def fails(code: str, message: str, make: Any, hint: str | None = None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        make()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message
    if hint is not None:
        assert hint in (diagnostic.hint or "")


def call(expr: Expr) -> Call:
    assert type(expr) is Call
    return expr


def test_an_int_literal_takes_the_other_operands_dtype() -> None:
    for kind in ("int8", "uint64", "float16", "bfloat16", "float64"):
        node = call(var(kind) + 1)
        assert node.dtype.name == kind
        assert node.args[1].dtype.name == kind
        assert call(1 + var(kind)).args[0].dtype.name == kind


def test_a_literal_that_does_not_fit() -> None:
    fails(
        "T103",
        "200 does not fit int8, which holds -128 to 127",
        lambda: var("int8") + 200,
        'int16 holds it: cast what stands beside it, `x.astype("int16")`, or declare that so; as int8 its bits are `-56`',
    )
    fails("T103", "-1 does not fit uint8", lambda: var("uint8") * -1, "as uint8 its bits are `255`")


@pytest.mark.parametrize(
    ("value", "kind", "hint"),
    [
        (300, "int8", 'int16 holds it: cast what stands beside it, `x.astype("int16")`, or declare that so'),
        (1 << 63, "int64", "as int64 its bits are `-9223372036854775808`"),
        (-1, "uint64", "as uint64 its bits are `18446744073709551615`"),
        (1 << 70, "int64", None),
        (1 << 40, None, "give the literal a type that holds it, such as `T.int64(...)`"),
        (1 << 63, None, "give the literal a type that holds it, such as `T.uint64(...)`"),
        (1 << 70, None, None),
    ],
)
def test_the_way_out_for_a_literal_is_one(value: int, kind: str | None, hint: str | None) -> None:
    """`T.int64(...)` beside an int8 made the whole sum an int64, and 2**70 is none."""
    with pytest.raises(DiagnosticError) as caught:
        as_expr(value, None if kind is None else dtype(kind))
    assert caught.value.diagnostics[0].hint == hint


def test_the_way_out_is_that_of_numbers_of_numpy_too() -> None:
    with pytest.raises(DiagnosticError) as caught:
        as_expr(np.int64(200), dtype("int8"))
    assert "as int8 its bits are `-56`" in str(caught.value.diagnostics[0].hint)


def test_a_float_literal_beside_an_integer_makes_it_float32() -> None:
    node = call(var("int64") * 2.5)
    assert node.dtype.name == "float32"
    assert call(node.args[0]).op is get_op("cast")
    assert node.args[0].dtype.name == "float32"
    assert node.args[1] == const(2.5)


def test_int_with_float_gives_the_float() -> None:
    for float_, int_ in [("float16", "int64"), ("bfloat16", "uint8"), ("float64", "int8")]:
        for node in (call(var(int_) + var(float_)), call(var(float_) + var(int_))):
            assert node.dtype.name == float_
            assert {arg.dtype.name for arg in node.args} == {float_}


def test_two_of_one_kind_give_the_wider() -> None:
    for narrow, wide in [
        ("int8", "int32"),
        ("uint16", "uint64"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float8_e4m3fn", "float16"),
    ]:
        for node in (call(var(narrow) + var(wide)), call(var(wide) + var(narrow))):
            assert node.dtype.name == wide
            assert {arg.dtype.name for arg in node.args} == {wide}


def test_floats_of_one_width_meet_nowhere() -> None:
    fails(
        "T107",
        "`+` of float16 and bfloat16: neither holds the other",
        lambda: var("float16") + var("bfloat16"),
        "cast one of them",
    )


def test_signed_with_unsigned_needs_a_cast() -> None:
    fails(
        "T107",
        "`+` of int32 and uint32: signed with unsigned",
        lambda: var("int32") + var("uint32"),
        'cast both: `x.astype("int64")`',
    )
    fails("T107", "`<` of int8 and uint64", lambda: var("int8") < var("uint64"))


def test_int_by_int_is_no_division() -> None:
    fails(
        "T105",
        "`/` takes floats, not int32",
        lambda: var("int32") / var("int32"),
        "use `//` (floor), `T.truncdiv`, or cast",
    )
    assert (var("float32") / 2).dtype.name == "float32"


def test_bools_are_no_numbers() -> None:
    fails("T105", "`+` takes numbers, not bool", lambda: var("bool") + var("bool"), 'x.astype("int32")')
    fails("T107", "`+` of bool and int32", lambda: var("bool") + var("int32"))
    fails("T105", "of a bool and int32", lambda: var("int32") + True, "write 1 or 0")
    fails(
        "T105",
        "`and` takes bools, not int32",
        lambda: get_op("logical_and")(var("int32"), var("int32")),
        "compare it: `x != 0`",
    )
    fails("T105", "`&` takes integers or bools, not float32", lambda: var("float32") & var("float32"))
    fails("T105", "`<<` takes integers, not float32", lambda: var("float32") << var("float32"), 'x.astype("int32")')


def test_comparisons_are_bool() -> None:
    for make in (lambda x: x < 1, lambda x: x >= 1, lambda x: get_op("equal")(x, 1)):
        assert make(var("float16")).dtype.name == "bool"
    assert (var("int32x4") < var("int32x4")).dtype.name == "boolx4"
    assert get_op("equal")(var("bool"), True).dtype.name == "bool"


def test_selection() -> None:
    node = call(get_op("if_then_else")(var("bool"), 1, var("int64")))
    assert (node.dtype.name, node.args[1].dtype.name) == ("int64", "int64")
    fails(
        "T102",
        "the condition of `T.Select` is int32, not bool",
        lambda: get_op("Select")(var("int32"), 1, 2),
        "compare it",
    )


def test_vectors() -> None:
    node = call(var("float32x4") * 2)
    assert node.dtype.name == "float32x4"
    assert type(node.args[1]) is Broadcast
    assert (var("float32") + var("float32x4")).dtype.name == "float32x4"
    assert (var("int8x4") + var("int32")).dtype.name == "int32x4"
    fails(
        "T106",
        "`+` of float32x4 and float32x8: the numbers of lanes differ",
        lambda: var("float32x4") + var("float32x8"),
    )
    ramp = Ramp(base=var("int32"), stride=const(1), lanes=4)
    assert (ramp.dtype.name, Broadcast(value=const(1.0), lanes=8).dtype.name) == ("int32x4", "float32x8")
    a = Buffer(name="A", shape=(const(16),), dtype=dtype("float16"))
    assert BufferLoad(buffer=a, indices=(ramp,)).dtype.name == "float16x4"


def test_an_integer_behind_floats() -> None:
    """The power of `T.ldexp` is an integer, with as many lanes as the value."""
    ldexp: Any = OPS["ldexp"]
    x, n = var("float32"), var("int64")
    assert ldexp(x, n).args == (x, n)
    assert ldexp(x, 2).args[1] == const(2)
    lanes = ldexp(var("float32x4"), 2)
    assert lanes.args[1] == Broadcast(const(2), 4, False)
    for power in (x, 2.0, True, var("handle")):
        fails(
            "T105", "the last argument of `T.ldexp` is an integer, not", lambda power=power: ldexp(x, power), "cast it"
        )
    fails("T106", "`T.ldexp` of float32 and int32x4", lambda: ldexp(x, var("int32x4")))


def test_numbers_of_arguments() -> None:
    fails("T101", "`T.exp` takes 1 argument, not 2", lambda: get_op("exp")(1.0, 2.0))
    fails("T101", "`T.fma` takes 3 arguments, not 0", lambda: get_op("fma")())
    assert get_op("exp")(x=1.0) == get_op("exp")(1.0)
    assert get_op("atan2")(x2=2.0, x1=1.0) == get_op("atan2")(1.0, x2=2.0) == get_op("atan2")(1.0, 2.0)
    for name, args, named, message in (
        ("exp", (), {"y": 1.0}, "`T.exp` has no argument `y`; it takes `x`"),
        ("exp", (1.0,), {"dtype": "float32"}, "`T.exp` has no argument `dtype`; it takes `x`"),
        ("exp", (1.0,), {"x": 1.0}, "`T.exp`: `x` is given twice"),
        ("add", (), {"a": 1.0}, "`T.add`: `b` is missing"),
    ):
        with pytest.raises(TypeError) as caught:
            get_op(name)(*args, **named)
        assert str(caught.value) == message


def test_the_words_of_an_operator_name_its_parameters() -> None:
    for name, entry in OPS.items():
        named = re.findall(r"\b(?:[bcxyz]|x[12])\b", entry.doc)
        assert entry.make is not None or set(named) <= set(entry.parameters), name


def test_an_array_is_no_value() -> None:
    array: Any = np.ones(3)
    fails("T104", "a numpy array is not a value of the program", lambda: as_expr(array), "T.allocate_const(array")
    assert as_expr(np.array(2.5), dtype("float64")) == const(2.5, "float64")


def test_no_values() -> None:
    fails(
        "T104", "the whole buffer `A` is not a value of the program", lambda: var("int32") + Buffer(name="A", shape=())
    )
    fails("T104", "a Python list is not a value", lambda: as_expr([]))
    fails("T104", "`len` is not a value", lambda: as_expr(len))
    assert as_expr("text") == StringImm(value="text")


def test_literals_alone() -> None:
    assert get_op("exp")(1).dtype.name == "float32"
    assert get_op("max")(1, 2).dtype.name == "int32"
    assert get_op("max")(1, 2.0).dtype.name == "float32"
    assert get_op("logical_not")(True).dtype.name == "bool"


@pytest.mark.parametrize(
    ("have", "to", "right"),
    [
        ("int32", "float32", True),
        ("int32", "int64", True),
        ("int8", "float16", True),
        ("float16", "float32", True),
        ("bfloat16", "float64", True),
        ("float32", "int32", False),
        ("int64", "int32", False),
        ("float64", "float32", False),
        ("uint8", "int32", False),
        ("int32", "bool", False),
        ("bool", "int32", False),
    ],
)
def test_stores_and_bindings_convert(have: str, to: str, right: bool) -> None:
    if right:
        converted = call(convert(var(have), dtype(to)))
        assert (converted.op.name, converted.dtype.name) == ("cast", to)
    else:
        fails(
            "T110",
            f"the value is {have}, but its place holds {to}",
            lambda: convert(var(have), dtype(to)),
            f'cast it: `x.astype("{to}")`',
        )


def test_literals_convert_where_they_fit() -> None:
    assert convert(1, dtype("float32")) == const(1.0)
    assert convert(1, dtype("uint8")) == const(1, "uint8")
    assert convert(1.5, dtype("float32x4")).dtype.name == "float32x4"
    fails("T110", "the value is the float 1.5, but its place holds int32", lambda: convert(1.5, dtype("int32")))
    fails(
        "T110", "the value is a bool, but its place holds int32", lambda: convert(True, dtype("int32")), "write 1 or 0"
    )
    fails("T103", "300 does not fit int8", lambda: convert(300, dtype("int8")))
    same = var("float32")
    assert convert(same, dtype("float32")) is same
    assert convert(same, dtype("float32x4")) == Broadcast(value=same, lanes=4)
    handle = var("handle")
    assert convert(handle, dtype("handle")) is handle


def test_casts() -> None:
    x = var("float32")
    assert cast(x, "float32") is x
    assert x.astype("int8").dtype.name == "int8"
    assert cast(var("float32x4"), "int32").dtype.name == "int32x4"
    assert cast(x, "int32x4").dtype.name == "int32x4"
    fails("T108", "cannot cast handle to int64", lambda: cast(var("handle"), "int64"), "use `T.reinterpret`")
    fails(
        "T106",
        "cannot cast float32x4 to int32x8: the numbers of lanes differ",
        lambda: cast(var("float32x4"), "int32x8"),
    )
    fails("T109", "'flot' is not an element type", lambda: get_op("cast")(x, "flot"))
    assert get_op("cast")(1, "float16") == const(1, "float16")
    assert type(get_op("cast")(300, "int8")) is Call


def test_reinterpret() -> None:
    assert get_op("reinterpret")("int32", var("float32")).dtype.name == "int32"
    fails(
        "T108",
        "cannot reinterpret float32 as int64: the sizes differ",
        lambda: get_op("reinterpret")("int64", var("float32")),
    )


def test_calls_out_of_the_program() -> None:
    node = call(get_op("call_extern")("float32", "sinf", var("float32")))
    assert (node.dtype.name, node.args[0]) == ("float32", StringImm(value="sinf"))
    fails(
        "T104",
        "`T.call_extern` takes a dtype, then the function's name as a string",
        lambda: get_op("call_extern")("float32", 1),
    )
    assert get_op("call_packed")("f", 1).dtype.name == "int32"
    fails("T104", "takes the function's name as a string", lambda: get_op("call_packed")(1))
    a = Buffer(name="A", shape=(const(4),))
    assert get_op("address_of")(BufferLoad(buffer=a, indices=(const(0),))).dtype.pointee is dtype("float32")
    fails("T104", "takes an element of a buffer", lambda: get_op("address_of")(1))
    assert get_op("isnullptr")(var("handle")).dtype.name == "bool"
    assert get_op("print")("x", 1).dtype.name == "void"
    assert get_op("breakpoint")().dtype.name == "void"
    assert get_op("undef")("float32").dtype.name == "float32"


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_entry(name: str) -> None:
    entry = OPS[name]
    assert entry.doc.endswith((".", ")"))
    assert entry.spelling == (entry.symbol or f"T.{name}")
    assert repr(entry) == f"<op {name}>"
    assert entry.effect in ("pure", "read", "write", "opaque")
    assert (entry.symbol is None) == (entry.precedence == 0)
    assert get_op(name) is entry


def test_the_table() -> None:
    with pytest.raises(ValueError, match="operator add is defined twice"):
        op("add", 2, "nums", doc="")
    assert get_op("minimum") is get_op("min")
    with pytest.raises(KeyError):
        get_op("nothing")
    assert type(-var("int32")) is Call
    assert type(~var("int32")) is Call
    assert isinstance(const(1), Const)
