"""Expressions as the parser reads them: operators, dtypes, calls, and what is known while parsing."""

from __future__ import annotations

from math import isinf, isnan
from typing import Any

import numpy as np
import pytest
from helpers.script import PARAMS, function, one_mistake, statements

from tirscript.ir import (
    OPS,
    Broadcast,
    BufferData,
    BufferLoad,
    Call,
    CallFunction,
    Const,
    Expr,
    Let,
    PrimFunc,
    Ramp,
    StringImm,
    Var,
    const,
    dtype,
    structural_equal,
)
from tirscript.ir.op import BOOLS, FLOATS, INTBOOLS, INTS, Op
from tirscript.script import parse, tir


def value(text: str, extra: str = "", **names: Any) -> Expr:
    """The expression `text` as an argument of T.evaluate."""
    made = function(f"T.evaluate({text})", PARAMS + extra, **names)
    return made.body[0].value


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("n + 1", "add"), ("n - 1", "sub"), ("n * 2", "mul"), ("n // 2", "floordiv"), ("n % 2", "floormod"), ("A[0] / 2", "div"),
        ("A[0] ** 2", "pow"), ("n << 1", "shift_left"), ("n >> 1", "shift_right"), ("n & 1", "bitwise_and"), ("n | 1", "bitwise_or"),
        ("n ^ 1", "bitwise_xor"), ("-n", "negative"), ("~n", "bitwise_not"), ("not n > 0", "logical_not"), ("n == 1", "equal"),
        ("n != 1", "not_equal"), ("n < 1", "less"), ("n <= 1", "less_equal"), ("n > 1", "greater"), ("n >= 1", "greater_equal"),
        ("n > 0 and n < 4", "logical_and"), ("n > 0 or n < 4", "logical_or"), ("1 if n > 0 else 2", "if_then_else"), ("abs(n)", "abs"),
        ("min(n, 3)", "min"), ("max(n, 3, 4)", "max"), ("T.truncdiv(n, 3)", "truncdiv"), ("T.fabs(A[0])", "abs"), ("T.Select(n > 0, 1, n)", "Select"),
    ],
)  # fmt: skip
def test_operators_are_calls_of_the_table(text: str, op: str) -> None:
    found = value(text)
    assert isinstance(found, Call) and found.op.name == op
    assert found.span is not None and found.span.text == text


def test_chains_of_comparisons() -> None:
    found = value("0 <= n < 16")
    assert found.op.name == "logical_and" and [part.op.name for part in found.args] == ["less_equal", "less"]


def test_literals_take_the_dtype_of_the_other_operand() -> None:
    assert value("A[0] + 1").args[1] == Const(1.0, dtype("float32"))
    assert value("m + 1", ", m: T.uint8").args[1] == Const(1, dtype("uint8"))
    assert value("n * 0.5").args[0].op.name == "cast"
    assert (
        value("1.5") == Const(1.5, dtype("float32"))
        and value("7") == Const(7, dtype("int32"))
        and value("True") == Const(True, dtype("bool"))
    )


def test_parse_time_arithmetic_stays_in_python() -> None:
    assert value("2 ** 10 + K // 3", K=7) == Const(1026, dtype("int32"))
    assert value("len([1, 2]) + sum(range(4)) + int(2.9) + round(1.6) + max(1, 5)") == Const(
        2 + 6 + 2 + 2 + 5, dtype("int32")
    )
    assert value("[x * 2 for x in (1, 2, 3) if x != 2][1] + {'a': 4}['a'] + (5, 6)[-1]") == Const(16, dtype("int32"))
    assert value("(y := 3) + y + {k: k for k in range(3)}[2]") == Const(8, dtype("int32"))
    assert value("f'{K:03d}' == '007' and 'a' in 'abc' and not None", K=7) == Const(True, dtype("bool"))


def test_numpy_scalars_and_dtypes_are_values() -> None:
    assert value("A[0] * scale", scale=np.float32(0.5)).args[1] == Const(0.5, dtype("float32"))
    assert value("T.cast(n, kind)", kind=np.dtype("int8")).dtype is dtype("int8")
    assert value("T.cast(n, kind)", kind=np.float64).dtype is dtype("float64")


def test_casts_and_typed_literals() -> None:
    assert value("T.float16(0.1)") == Const(float(np.float16(0.1)), dtype("float16"))
    assert value("T.int64(3)") == Const(3, dtype("int64"))
    assert value('T.float32("nan")') == Const(float("nan"), dtype("float32"))
    assert value('T.float64("-inf")') == Const(float("-inf"), dtype("float64"))
    for text in ('T.cast(n, "int8")', 'n.astype("int8")', "T.int8(n)", "n.astype(T.int8)"):
        assert value(text).op.name == "cast" and value(text).dtype is dtype("int8")
    for kind in ("int64", "uint32", "float64"):  # a literal has the dtype that it is cast to, not int32 first
        assert value(f'T.cast(3000000000, "{kind}")') == const(3000000000, kind)
    assert value('T.Cast("uint32", 3000000000)') == OPS["cast"](const(3000000000, "int64"), "uint32")  # as TVM reads it
    assert value('T.cast(n, "int32")').name == "n"
    assert value('T.reinterpret("float32", n)').dtype is dtype("float32")
    assert value("T.float32x4(A[0])") == Broadcast(value("A[0]"), 4) or isinstance(
        value("T.float32x4(A[0])"), Broadcast
    )


def test_limits() -> None:
    assert value('T.max_value("int8")').value == 127 and value('T.min_value("uint16")').value == 0
    assert value('T.max_value("float16")').value == 65504.0 and value(
        'T.min_value("bfloat16")'
    ).value == -float.fromhex("0x1.fep127")
    assert value('T.infinity("float32")').value == float("inf")
    assert one_mistake('T.evaluate(T.infinity("int32"))').code == "T109"
    for text in ('T.infinity("float8_e4m3fn")', 'T.float8_e4m3fn("-inf")', 'T.float8_e4m3fn("infinity")'):
        assert "float8_e4m3fn has no infinity; its greatest value is" in one_mistake(f"T.evaluate({text})").message
        assert isinf(value(text.replace("e4m3fn", "e5m2")).value)
    assert value('T.max_value("float8_e4m3fn")').value == 448 and isnan(value('T.float8_e4m3fn("nan")').value)
    with pytest.raises(ValueError, match="has no infinity"):
        tir.float8_e4m3fn("inf")


def test_attributes_of_buffers() -> None:
    assert value("B.shape[1] + A.shape[0]") == Const(20, dtype("int32"))
    assert isinstance(value("A.data"), BufferData)
    assert value("T.cast(n, A.dtype)").dtype is dtype("float32")
    assert value("T.address_of(B[0, n])").op.name == "address_of"
    made = function("T.evaluate(A.vload([T.ramp(0, 1, 4)]))").body[0].value
    assert isinstance(made, BufferLoad) and made.dtype is dtype("float32x4")


def test_vectors_and_let() -> None:
    ramp = value("T.ramp(n, 2, 4)")
    assert isinstance(ramp, Ramp) and (ramp.lanes, ramp.dtype) == (4, dtype("int32x4"))
    mixed = value("T.ramp(m, 1, 8) + 1", ", m: T.int64")
    assert mixed.dtype is dtype("int64x8") and isinstance(mixed.args[1], Broadcast)
    let = value('T.let("x", n + 1, lambda x: x * x)')
    assert isinstance(let, Let) and let.body.args[0] is let.var


def test_calls_out_of_the_program() -> None:
    call = value('T.call_extern("float32", "sinf", A[0])')
    assert call.dtype is dtype("float32") and call.args[0] == StringImm("sinf")
    packed = value('T.call_packed("my.fn", n, 1)')
    assert packed.op.name == "call_packed" and len(packed.args) == 3


def test_functions_of_a_module_call_each_other() -> None:
    module = parse(
        """
from tirscript.script import ir as I, tir as T
@I.ir_module
class M:
    I.module_attrs({"k": 1})
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 4), "float32")):
        cls = M
        cls.g(A, 3)
        M.g(B[1, 0:4], cls.h(2))
    @T.prim_func(private=True)
    def g(A: T.Buffer(("n",), "float32"), k: T.int64):
        A[0] = T.cast(k, "float32")
    @T.prim_func
    def h(k: T.int32) -> T.int64:
        return k
"""
    )
    first, second = (stmt.value for stmt in module["main"].body)
    assert isinstance(first, CallFunction) and first.function == "g" and first.args[1] == Const(3, dtype("int64"))
    assert second.args[0].ranges[1].stop.value == 4
    assert second.args[1].function == "h" and second.args[1].dtype is dtype("int64")
    assert module["g"].private and dict(module.attrs) == {"k": 1}


def test_folds_over_sequences_of_expressions() -> None:
    total = value("sum([A[k] for k in range(3)])")
    assert total.op.name == "add" and total.args[0].op.name == "add"
    assert value("max(A[k] for k in range(3))").op.name == "max"


def test_closures_of_plain_python_run_while_parsing() -> None:
    from tirscript.script import tir as T

    def scale(x: int) -> int:
        return x * 3

    table = {"w": (1, 2)}

    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        A[table["w"][1]] = scale(2) + table["w"][0]

    assert f.body[0].indices[0].value == 2 and f.body[0].value == Const(7.0, dtype("float32"))


def test_a_symbol_made_outside_is_one_symbol_of_each_function() -> None:
    from tirscript.script import tir as T

    n = T.int32()

    @T.prim_func
    def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n, 2), "float32")):
        for i in range(n):
            A[i] = B[i, 0]

    (symbol,) = f.symbols
    assert isinstance(symbol, Var) and symbol.name == "n" and symbol.dtype is dtype("int32")
    assert f.params[1].shape[0] is symbol and f.body[0].stop is symbol


def test_starred_indices_and_arguments() -> None:
    (store,) = statements("B[*place] = T.max(*pair)", place=(1, 2), pair=(1.0, 2.0))
    assert [index.value for index in store.indices] == [1, 2] and store.value.op.name == "max"


def test_a_call_may_say_the_dtype_that_it_has() -> None:
    assert structural_equal(function('A[0] = T.exp(A[1], dtype="float32")'), function("A[0] = T.exp(A[1])"))
    told = function("A[0] = T.if_then_else(n > 2, A[1], 0.0, dtype=T.float32)")
    assert structural_equal(told, function("A[0] = T.if_then_else(n > 2, A[1], 0.0)"))
    found = one_mistake('A[0] = T.exp(A[1], dtype="float16")')
    assert found.code == "T108" and found.message == "`T.exp` of these gives float32, not float16"


def whole(text: str) -> PrimFunc:
    """A function of the expression `text` alone."""
    return function(f"T.evaluate({text})")


@pytest.mark.parametrize("entry", [entry for entry in OPS.values() if entry.parameters], ids=lambda entry: entry.name)
def test_operators_take_their_arguments_by_name_too(entry: Op) -> None:
    values = {FLOATS: "A[0]", INTS: "n", BOOLS: "n > 0", INTBOOLS: "n"}
    first, last = entry.group
    args = [values.get(entry.operands, "A[0]")] * entry.arity[0]
    args[:first] = ["n > 0"] * first
    if last is not None:
        args[last:] = ["n"] * (len(args) - last)
    named = [f"{name}={arg}" for name, arg in zip(entry.parameters, args, strict=True)]
    expected = whole(f"T.{entry.name}({', '.join(args)})")
    assert structural_equal(whole(f"T.{entry.name}({', '.join(reversed(named))})"), expected)
    if len(args) > 1:
        assert structural_equal(whole(f"T.{entry.name}({', '.join([args[0], *named[1:]])})"), expected)


def test_literals_by_name_are_chosen_as_by_place() -> None:
    head = 'B: T.Buffer((4,), "uint8"), n: T.int32'
    by_place = function("B[0] = T.if_then_else(n > 0, 255, T.min(1, 2))", head)
    by_name = function("B[0] = T.if_then_else(cond=n > 0, t=255, f=T.min(b=2, a=1))", head)
    assert structural_equal(by_place, by_name) and by_place.body[0].value.dtype == dtype("uint8")
