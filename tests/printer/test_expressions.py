"""What every expression prints: precedence, literals, operators."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.printer import assert_body

from tirscript.ir import (
    OPS,
    Axis,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Const,
    Evaluate,
    Expr,
    Let,
    Ramp,
    Range,
    StringImm,
    Var,
    const,
    dtype,
    get_op,
)
from tirscript.printer import script

I, J = Var("i"), Var("j")
X, Y = Var("x", dtype("float32")), Var("y", dtype("float32"))
P, Q = Var("p", dtype("bool")), Var("q", dtype("bool"))


def test_precedence() -> None:
    assert_body(
        """
        x = A[0]
        A[0] = -(A[1] ** 2.0)
        A[0] = (-A[1]) ** 2.0
        A[0] = A[1] ** -2.0
        A[0] = (-2.0) ** A[1]
        A[0] = A[1] ** A[2] ** A[3]
        A[0] = (A[1] ** A[2]) ** A[3]
        A[0] = x**2.0
        A[0] = x**-x
        A[0] = (x + 1.0) ** x
        A[0] = A[0] - (A[1] - A[2]) - A[3]
        A[0] = A[0] - -3.0
        A[0] = A[0] / (A[1] * A[2])
        A[0] = -(-A[0])
        X[0] = ~X[1] & (X[2] | 3) ^ X[0] << 2
        X[0] = (X[1] & X[2]) * 3
        X[0] = X[1] // (X[2] % 3) // 2
        """
    )


def test_conditions() -> None:
    assert_body(
        """
        b[0] = (n < 3) == (n > 4)
        b[0] = not (n < 3 and (n > 4 or n == 7)) or b[1]
        b[0] = n < 3 and (n > 4 and n == 7)
        b[0] = n < 3 and n > 4 and n == 7
        b[0] = b[1] == True
        b[0] = b[1] and T.bool(True)
        b[0] = not T.bool(False)
        b[0] = (not b[1]) == b[2]
        A[0] = A[1] if n > 3 else (A[2] if n > 4 else A[3])
        A[0] = (A[1] if n > 3 else A[2]) if n > 4 else A[3]
        A[0] = A[1] if (b[0] if n > 3 else b[1]) else 0.0
        A[0] = (A[1] if n > 3 else A[2]) + 1.0
        A[0] = T.if_then_else(T.bool(True), A[1], A[2])
        A[0] = T.Select(n > 3, A[1], 2.0)
        A[0] = T.Select(n > 3, T.float32(1.0), 2.0)
        A[0] = T.Select(T.bool(True), A[1], 2.0)
        """
    )


def test_literals_are_bare_where_the_place_gives_the_dtype() -> None:
    assert_body(
        """
        A[0] = T.max(1.0, A[1]) + T.exp(T.float32(1.5))
        A[0] = T.float32("nan") + T.float32("-inf")
        A[0] = A[1] + T.float32("inf")
        A[0] = T.float32("-nan")
        A[0] = -0.0
        A[0] = 0.1
        A[0] = 1e-10
        A[0] = 1e20
        A[0] = 3.4028235e38
        A[0] = T.fma(A[0], 2.0, 3.0)
        X[0] = -T.int32(3)
        X[0] = T.int32(3) + 4
        X[0] = T.cast(T.int64(3) + 4, "int32")
        X[0] = T.cast(T.int64(3), "int32")
        X[0] = T.cast(T.float64(1e300), "int32")
        A[0] = T.ldexp(A[0], 3)
        """
    )


def test_functions_of_the_table() -> None:
    assert_body(
        """
        A[0] = T.reinterpret("float32", X[0])
        A[0] = T.undef("float32")
        A[0] = T.call_pure_extern("float32", "sinf", A[0])
        b[0] = T.isnullptr(A.data)
        b[1] = T.address_of(A[0]) == T.address_of(A[1])
        x = T.let("t", A[0] + 1.0, lambda t: t * t)
        y = T.let("a b", A[0], lambda a_b: T.let("u", a_b, lambda u: u + a_b))
        A[0] = x + y
        """,
        to="""
        A[0] = T.reinterpret("float32", X[0])
        A[0] = T.undef("float32")
        A[0] = T.call_pure_extern("float32", "sinf", A[0])
        b[0] = T.isnullptr(A.data)
        b[1] = T.address_of(A[0]) == T.address_of(A[1])
        x = T.let("t", A[0] + 1.0, lambda t: t * t)
        y = T.let("a_b", A[0], lambda a_b: T.let("u", a_b, lambda u: u + a_b))
        A[0] = x + y
        """,
    )


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_operator_prints_what_builds_it(name: str) -> None:
    entry = OPS[name]
    if entry.make is not None:
        return
    kind = {"floats": "float32", "ints": "int32", "bools": "bool", "intbools": "int32"}.get(entry.operands, "float32")
    first, last = entry.group
    args: list[Expr] = []
    for at in range(entry.arity[0]):
        type_ = "bool" if at < first else "int32" if last is not None and at >= last else kind
        args.append(Var(f"v{at}", dtype(type_)))
    made = entry(*args)
    names = {arg.name: arg for arg in args if isinstance(arg, Var)}
    text = script(made)
    if entry.symbol is None:
        assert text == f"T.{name}({', '.join(names)})"
    elif entry.arity == (1, 1):
        assert text == f"{entry.symbol}{' ' if entry.symbol.isalpha() else ''}v0"
    else:
        expected = {"if": "v1 if v0 else v2", "**": "v0**v1"}.get(entry.symbol, f"v0 {entry.symbol} v1")
        assert text == expected


FRAGMENTS: list[tuple[Any, str]] = [
    (const(3), "3"),
    (const(3, "int64"), "T.int64(3)"),
    (const(200, "uint8"), "T.uint8(200)"),
    (const(True), "True"),
    (const(1.5), "T.float32(1.5)"),
    (const(0.1, "float16"), "T.float16(0.1)"),
    (const(0.1, "float64"), "T.float64(0.1)"),
    (const(1e10, "float64"), "T.float64(10000000000.0)"),
    (const(16777216.0), "T.float32(16777216.0)"),
    (const(3, "bfloat16"), "T.bfloat16(3.0)"),
    (StringImm('say "hi"'), "'say \"hi\"'"),
    (StringImm("a'b\"c\\d\n\x00é"), '"a\'b\\"c\\\\d\\n\\x00é"'),
    (I + 1, "i + 1"),
    (1 - I, "1 - i"),
    (I + const(1, "int64"), 'T.cast(i, "int64") + 1'),
    (Call(OPS["add"], (I, Const(1, dtype("int64"))), dtype("int32")), "i + T.int64(1)"),
    (-(I + J), "-(i + j)"),
    (get_op("logical_and")(P, get_op("logical_or")(P, Q)), "p and (p or q)"),
    (get_op("less")(const(1), I), "1 < i"),
    (get_op("less")(const(1), const(2)), "T.int32(1) < 2"),
    (get_op("pow")(const(2.0), const(3.0)), "T.float32(2.0) ** 3.0"),
    (get_op("pow")(const(-2.0), X), "(-2.0) ** x"),
    (Ramp(I, const(1), 4), "T.ramp(i, 1, 4)"),
    (Ramp(I, const(1), 4, True), "T.ramp(i, 1, T.vscale() * 4)"),
    (Broadcast(X, 4), "T.broadcast(x, 4)"),
    (get_op("cast")(X, "float32x4"), "T.broadcast(x, 4)"),
    (Let(Var("i"), I, I + J), 'T.let("i_1", i, lambda i_1: i + j)'),
    (CallFunction("g", (Buffer("A", ()), X), dtype("void")), "g(A, x)"),
    (BufferLoad(Buffer("s", (), scope="scalar"), ()), "s"),
    (BufferLoad(Buffer("A", ()), ()), "A[()]"),
    (BufferRegion(Buffer("A", (const(4),)), (Range(const(0), const(4)),)), "A[0:4]"),
    (BufferRegion(Buffer("A", (const(4),)), (Range(I, I + 2),)), "A[i : i + 2]"),
    (BufferRegion(Buffer("A", ()), ()), "A[()]"),
    (BufferRegion(Buffer("s", (), scope="scalar"), ()), "s"),
    (Range(const(0), const(4)), "0:4"),
    (Range(I), "i"),
    (Buffer("A", (const(4),)).data, "A.data"),
    (get_op("reinterpret")("uint64", Var("h", dtype("handle"))), 'T.reinterpret("uint64", h)'),
]


@pytest.mark.parametrize(("node", "expected"), FRAGMENTS, ids=[text for _, text in FRAGMENTS])
def test_fragments(node: Any, expected: str) -> None:
    assert script(node) == expected
    assert str(node) == expected


def test_a_slice_is_used_only_where_it_reads_back_as_the_ramp() -> None:
    a = Buffer("A", (const(16),))
    wide = Var("w", dtype("int64"))

    def text(ramp: Ramp) -> str:
        return script(BufferLoad(a, (ramp,)))

    assert text(Ramp(I, const(1), 4)) == "A[i : i + 4]"
    assert text(Ramp(const(4), const(1), 4)) == "A[4:8]"
    assert text(Ramp(I, const(2), 4)) == "A[T.ramp(i, 2, 4)]"
    assert text(Ramp(I, J, 4)) == "A[T.ramp(i, j, 4)]"
    assert text(Ramp(wide, const(1, "int64"), 4)) == "A[T.ramp(w, T.int64(1), 4)]"
    assert text(Ramp(I, const(1), 4, True)) == "A[T.ramp(i, 1, T.vscale() * 4)]"


def test_floats_are_shortest() -> None:
    for kind in ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"):
        for value in (0.1, 1 / 3, 2.5, 1e-3, 448.0, 5e-324, math.pi):
            found = const(value, kind)
            text = script(found)
            inner = float(text[text.index("(") + 1 : -1])
            assert const(inner, kind).value == found.value
            assert len(repr(inner)) <= len(repr(found.value))


def test_no_literal_of_8_bits_lies_beyond_the_greatest() -> None:
    """Fewest digits may lie beyond the greatest number, 450 and 60000, which TVM refuses; others are as short as before."""
    assert script(const(448.0, "float8_e4m3fn")) == "T.float8_e4m3fn(448.0)"
    assert script(const(-57344.0, "float8_e5m2")) == "T.float8_e5m2(-57000.0)"
    assert script(const(49152.0, "float8_e5m2")) == "T.float8_e5m2(49000.0)"


def test_fragments_of_definitions() -> None:
    n = Var("n", dtype("int64"))
    assert script(Buffer("A", (n, const(4)), scope="shared")) == 'A: T.Buffer((n, 4), "float32", scope="shared")'
    assert script(Buffer("x", (), dtype("int8"), scope="scalar")) == "x: T.int8"
    assert script(Axis(Var("vi"), "reduce", const(0), const(4), I)) == "vi = T.axis.reduce(4, i)"
    assert script(I) == "i"
    assert script((Evaluate(I), Evaluate(I + 1))) == "T.evaluate(i)\nT.evaluate(i + 1)"
    assert script(()) == "pass"
    with pytest.raises(TypeError, match="not a list"):
        script([I])  # type: ignore[arg-type]


def test_an_operator_that_is_added_later_prints() -> None:
    from tirscript.ir.op import op

    entry = op("an_operator_of_a_test", 2, "floats", doc="Nothing.")
    try:
        assert script(entry(X, 1.0)) == "T.an_operator_of_a_test(x, 1.0)"
    finally:
        del OPS["an_operator_of_a_test"]
