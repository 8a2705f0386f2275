"""What calls do under the interpreter: of functions, of C symbols, of registered functions, of handles."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import pytest
from helpers.interpreter import f32, failure, program

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.backend.runtime.library import get_library, register_library, unregister_library
from tirscript.ir import DiagnosticError, structural_equal

MODULE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), x: T.float32):
        for i in range(n):
            B[i] = A[i] * x

    @T.prim_func(private=True)
    def fact(n: T.int64) -> T.int64:
        if n <= 1:
            return T.int64(1)
        return n * M.fact(n - 1)

    @T.prim_func
    def go(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in range(4):
            M.scale(A[i, 0:8], B[i, 0:8], T.cast(M.fact(T.cast(i, "int64")), "float32"))
"""


def test_calls_between_functions() -> None:
    m = program(MODULE)
    b = np.zeros((4, 8), np.float32)
    interpret(m, f32(4, 8), b)
    assert np.array_equal(b, f32(4, 8) * np.array([[1], [1], [2], [6]], np.float32))
    assert interpret(m, 5, entry="fact") == 120
    assert failure(m, 5, entry="fakt").hint == "did you mean `fact`?"


def test_shapes_are_checked_between_functions() -> None:
    m = program(MODULE.replace("B[i, 0:8]", "B[i, 0:7]"))
    problem = failure(m, f32(4, 8), f32(4, 8))
    assert problem.code == "T301" and "argument `B` of `scale`: expected shape (n,) = (8,), got (7,)" in problem.message


def test_endless_recursion() -> None:
    m = program("""
@I.ir_module
class M:
    @T.prim_func
    def f(n: T.int32) -> T.int32:
        return M.f(n + 1)
""")
    assert failure(m, 0).code == "T309"


def test_handles_between_functions() -> None:
    m = program("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def fill(p: T.handle("int32"), n: T.int32):
        P = T.match_buffer(p, (n,), "int32")
        for i in range(n):
            P[i] = i + 1

    @T.prim_func
    def main(A: T.Buffer((6,), "int32")):
        M.fill(A.data, 2)
        M.fill(T.address_of(A[3]), 3)
""")
    a = np.zeros(6, np.int32)
    interpret(m, a)
    assert a.tolist() == [1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize("run", [interpret, lambda f, *args: tirscript.build(f)(*args)], ids=["interpreter", "native"])
@pytest.mark.parametrize(
    ("given", "shape", "index", "changed"),
    [
        ("B.data", "(1,)", "0", [0, 0]),
        ("B.data", "(16,)", "6", [1, 2]),
        ("B.data", "(2, 8)", "1, 1", [2, 1]),
        ("T.address_of(B[1, 2])", "(2, 2)", "1, 1", [2, 1]),
        ("C.data", "(3,)", "2", [2, 2]),
        ("D.data", "(3,)", "2", [0, 2]),
    ],
)
def test_an_address_has_no_shape(run: Any, given: str, shape: str, index: str, changed: list[int]) -> None:
    module = program(f"""
@I.ir_module
class M:
    @T.prim_func
    def main(B: T.Buffer((4, 4), "float32")):
        D = T.decl_buffer((2,), "float32", data=B.data, elem_offset=6)
        with T.block("row"):
            T.reads(B[2, 0:4])
            T.writes(B[0:4, 0:4])
            C = T.match_buffer(B[2, 0:4], (4,), "float32", offset_factor=1)
            M.first({given})
    @T.prim_func(private=True)
    def first(a: T.handle):
        A = T.match_buffer(a, {shape}, "float32")
        A[{index}] = -1.0
""")
    out = np.zeros((4, 4), np.float32)
    run(module, out)
    assert np.argwhere(out).tolist() == [changed]


@pytest.mark.parametrize("run", [interpret, lambda f, *args: tirscript.build(f)(*args)], ids=["interpreter", "native"])
def test_an_address_binds_no_dimension(run: Any) -> None:
    module = program("""
@I.ir_module
class M:
    @T.prim_func
    def main(B: T.Buffer((4,), "float32")):
        M.first(B.data)
    @T.prim_func(private=True)
    def first(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        A[0] = -1.0
""")
    with pytest.raises(DiagnosticError, match=r"T206.*`n` of `first` "):
        run(module, np.zeros(4, np.float32))


@pytest.mark.parametrize("run", [interpret, lambda f, *args: tirscript.build(f)(*args)], ids=["interpreter", "native"])
def test_a_whole_buffer_binds_the_dimensions_of_a_handle(run: Any) -> None:
    text = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer(("m", 2), "float32"), B: T.Buffer(("m", 2), "float32")):
        C = T.alloc_buffer((m, 2), "float32")
        M.double(A, C)
        M.double(C, B)
    @T.prim_func(private=True)
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 2), "float32")
        B = T.match_buffer(b, (n, 2), "float32")
        for i, j in T.grid(n, 2):
            B[i, j] = A[i, j] * 2.0
"""
    module = program(text)
    again = program(module.script())
    assert structural_equal(again, module) and "M.double(A, C)" in again.script()
    out = np.zeros((3, 2), np.float32)
    run(again, np.ones((3, 2), np.float32), out)
    assert out.tolist() == [[4.0, 4.0]] * 3
    flat = program(text.replace("(n, 2), ", "(n,), ").replace("T.grid(n, 2)", "T.grid(n, 1)").replace("[i, j]", "[i]"))
    with pytest.raises(DiagnosticError, match=r"1 dimension,[\s\S]*`\.data` of it passes the address alone"):
        run(flat, out, out.copy())


def test_module_entry() -> None:
    two = program("""
@I.ir_module
class M:
    @T.prim_func
    def a() -> T.int32:
        return 1

    @T.prim_func
    def b() -> T.int32:
        return 2
""")
    assert interpret(two, entry="b") == 2
    problem = failure(two)
    assert problem.code == "T307" and problem.hint == "name one: `entry='a'`"


def test_extern_functions() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.call_extern("float32", "cosf", A[i])
    T.evaluate(T.call_extern("handle", "memcpy", B.data, A.data, T.int64(16)))
""")
    a, b = f32(4), np.zeros(4, np.float32)
    with pytest.raises(DiagnosticError, match="returned an address"):
        interpret(f, a, b)
    assert np.array_equal(a, b) and abs(a[1] - math.cos(1)) < 1e-6
    g = program("""
@T.prim_func
def g(x: T.float32) -> T.float32:
    return T.call_extern("float32", "no_such_function_anywhere", x)
""")
    assert failure(g, 1.0).code == "T307"


def test_packed_functions() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2, 2), "float32"), B: T.Buffer((1,), "int32")):
    S = T.alloc_buffer((2, 2), "float32")
    T.call_packed("test.fill", S.data, 2.5)
    for i, j in T.grid(2, 2):
        A[i, j] = S[i, j]
    B[0] = T.call_packed("test.answer")
""")

    def fill(array: np.ndarray[Any, Any], value: float) -> None:
        assert array.shape == (2, 2) and type(value) is float
        array[...] = value

    register_library("test.fill", fill)
    register_library("test.answer", lambda: 42)
    try:
        a, b = np.zeros((2, 2), np.float32), np.zeros(1, np.int32)
        interpret(f, a, b)
        assert a.tolist() == [[2.5, 2.5], [2.5, 2.5]] and b[0] == 42
        with pytest.raises(ValueError, match="registered already"):
            register_library("test.fill", print)
    finally:
        unregister_library("test.fill")
    problem = failure(f, a, b)
    assert problem.code == "T307" and "`test.fill`" in problem.message
    unregister_library("test.answer")
    assert get_library("test.answer") is None


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2,), "float32")):
    for i in range(2):
        T.print("A of", i, A[i], A[i] > 0.0)
    T.print(T.ramp(0, 2, 3))
""")
    interpret(f, np.array([0.1, -2.0], np.float32))
    assert capsys.readouterr().out == "A of 0 0.1 True\nA of 1 -2.0 False\n[0, 2, 4]\n"


def test_breakpoint_shows_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2,), "float32")):
    for i in range(2):
        x = A[i] * 2.0
        T.breakpoint()
        A[i] = x
""")
    seen = []

    def hook() -> None:
        import sys

        frame = sys._getframe(1)
        kernel = frame.f_locals["kernel"]
        seen.append(({**kernel, "A": kernel["A"].copy()}, frame.f_locals["place"]))

    monkeypatch.setattr(builtins, "breakpoint", hook)
    interpret(f, np.array([1, 2], np.float32))
    (first, place), (second, _) = seen
    assert first["i"] == 0 and first["x"] == 2.0 and first["A"].shape == (2,) and ":8:" in place and "i = 0" in place
    assert second["i"] == 1 and second["A"].tolist() == [2.0, 2.0]
