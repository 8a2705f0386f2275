"""Where constants are, what functions take, and all constants in one arena."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.script import HEADER

import tirscript
from tirscript.ir import DiagnosticError, Module, PrimFunc, structural_equal
from tirscript.ir.constant import constants_of
from tirscript.ir.verify import verify
from tirscript.passes.constants import constant_arena, memory_report, place_of
from tirscript.passes.constants.placement import READ_ONLY, SHORT
from tirscript.script import parse

TEXT = (
    HEADER
    + """@I.ir_module
class M:
    @T.prim_func
    def first(B: T.Buffer((9,), "int8")):
        W = T.allocate_const(w, "int8", (3, 3333))
        S = T.allocate_const([1, 2, 3], "int8", (3,))
        for i in range(9):
            B[i] = W[i % 3, i * 100] + S[i % 3]

    @T.prim_func
    def second(B: T.Buffer((9,), "int32")):
        V = T.allocate_const(v, "int32", (2000,))
        U = T.allocate_const(w, "int8", (3, 3333))
        for i in range(9):
            B[i] = V[i * 200] + U[0, i].astype("int32")
"""
)


def module(text: str = TEXT) -> tuple[Module, Any, Any]:
    rng = np.random.default_rng(2)
    w = rng.integers(-100, 100, (3, 3333)).astype(np.int8)
    v = rng.integers(0, 1 << 30, 2000).astype(np.int32)
    found = parse(text, names={"w": w, "v": v})
    assert isinstance(found, Module)
    return found, w, v


def one(size: int, options: str = "", attrs: str = "") -> PrimFunc:
    lines = [
        *("@T.prim_func", 'def f(B: T.Buffer((1,), "uint8")):', *([attrs] if attrs else [])),
        *(f'    K = T.allocate_const(k, "uint8", ({size},){options})', f"    B[0] = K[B[0] % {min(size, 200)}]"),
    ]
    found = parse("\n".join(lines), names={"k": np.arange(size, dtype=np.uint32).astype(np.uint8)})
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(
    ("size", "options", "attrs", "place"),
    [
        (SHORT, "", "", "code"),
        (SHORT + 1, "", "", "memory"),
        (SHORT + 1, ', scope="global.const"', "", "code"),
        (READ_ONLY, ', scope="global.const"', "", "code"),
        (READ_ONLY + 1, ', scope="global.const"', "", "memory"),
        (20, "", '    T.func_attr({"constants_in": "memory"})', "memory"),
        (SHORT + 1, "", '    T.func_attr({"constants_in": "code"})', "code"),
    ],
)
def test_places(size: int, options: str, attrs: str, place: str) -> None:
    func = one(size, options, attrs)
    (stmt,) = constants_of(func)
    assert place_of(stmt, func) == place
    built = tirscript.build(func)
    assert len(built._core.compiled.constants) == (place == "memory")
    out = np.full(1, 7, np.uint8)
    built(out)
    assert out[0] == 7


def test_another_place_is_refused() -> None:
    with pytest.raises(DiagnosticError, match='in "code" or in "memory"'):
        tirscript.build(one(20, "", '    T.func_attr({"constants_in": "rom"})'))


def test_one_function_has_in_its_code_what_another_has_outside() -> None:
    text = TEXT.replace("        V =", '        T.func_attr({"constants_in": "code"})\n        V =')
    found, w, v = module(text.replace("(3, 3333))", "(3, 3333), align=64)"))
    built = tirscript.build(found)
    assert len(built["first"]._core.compiled.constants) == 1
    a, b = np.zeros(9, np.int8), np.zeros(9, np.int32)
    built["first"](a)
    built["second"](b)
    at = np.arange(9)
    assert np.array_equal(a, w[at % 3, at * 100] + np.array([1, 2, 3] * 3, np.int8))
    assert np.array_equal(b, v[at * 200] + w[0, at])


def test_what_functions_take() -> None:
    found, _, _ = module()
    report = memory_report(found)
    assert [(row.name, row.temporaries, row.code, row.memory) for row in report.functions] == [
        ("first", 0, 64, 10048),
        ("second", 0, 0, 8000 + 10048),
    ]
    assert report.constants == 64 + 8000 + 10048
    assert str(report).split("\n")[1].split() == ["first", "0", "64", "10048"]
    assert str(report).endswith("18112 bytes")


def test_graphs_are_lowered_for_their_report() -> None:
    text = """
@G.graph_func
def main(x: G.Tensor((16, 64), "float32")):
    with G.dataflow():
        a = G.matmul(x, G.const(w))
        b = G.exp(a)
        c = G.matmul(b, G.const(w))
        d = G.matmul(c, G.const(w))
        G.output(d)
    return d
"""
    report = memory_report(parse(text, names={"w": np.ones((64, 64), "float32")}))
    (row,) = [row for row in report.functions if row.name == "main"]
    assert row.memory == report.constants == 64 * 64 * 4
    assert row.temporaries == 2 * 16 * 64 * 4


def test_an_arena_of_all_constants() -> None:
    found, w, v = module()
    made = constant_arena(found)
    assert verify(made) == []
    arenas = [stmt.data for stmt in constants_of(made) if stmt.buffer.name == "constants"]
    assert len(arenas) == 2 and arenas[0] == arenas[1] and arenas[0].nbytes == 10048 + 8000
    assert [stmt.buffer.name for stmt in constants_of(made)] == ["constants", "S", "constants"]
    text = made.script()
    assert 'V = T.decl_buffer((2000,), "int32", data=T.address_of(constants[10048]))' in text
    assert 'W = T.decl_buffer((3, 3333), "int8", data=constants.data)' in text
    assert structural_equal(parse(text), made) and parse(text).script() == text
    at = np.arange(9)
    for run in (tirscript.build(made), tirscript.build(made, debug=True), None):
        a, b = np.zeros(9, np.int8), np.zeros(9, np.int32)
        if run is None:
            tirscript.interpret(made, a, entry="first")
            tirscript.interpret(made, b, entry="second")
        else:
            run["first"](a)
            run["second"](b)
        assert np.array_equal(a, w[at % 3, at * 100] + np.array([1, 2, 3] * 3, np.int8))
        assert np.array_equal(b, v[at * 200] + w[0, at])
    assert constant_arena(made) is made


def test_one_constant_needs_no_arena() -> None:
    func = one(SHORT + 1)
    assert constant_arena(func) is func
