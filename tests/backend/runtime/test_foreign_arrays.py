"""What a call makes of objects that are, or pretend to be, arrays of somebody else: their memory counts, not their word."""

from __future__ import annotations

import ctypes
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tirscript
from tirscript.backend.build import build
from tirscript.backend.interpreter import interpret
from tirscript.ir import DiagnosticError, constant
from tirscript.script import parse


class Lying:
    """An object whose array interface is wrong."""

    def __init__(self, **fields: Any) -> None:
        array = np.zeros(4, "float32")
        good = {"shape": (4,), "typestr": "<f4", "data": (array.ctypes.data, False), "version": 3}
        self.__array_interface__ = {**good, **fields}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"typestr": "nope"}, "not understood"),
        ({"shape": (-4,)}, "negative dimensions"),
        ({"shape": (1 << 62, 4)}, "too big"),
        ({"shape": "ab"}, "must be a tuple"),
        ({"data": ("x", False)}, "must be an integer"),
        ({"shape": (10**30,)}, "too large"),
        ({"data": (0, False)}, "NULL"),
        ({"strides": (4, 4)}, "mismatch in length"),
        ({"data": bytearray(4)}, "describes 16 bytes at 0 of an object of 4 bytes"),
        ({"data": bytearray(16), "offset": 4}, "describes 16 bytes at 4 of an object of 16 bytes"),
        ({"data": bytearray(16), "strides": (-4,)}, "describes 16 bytes at -12 of an object of 16 bytes"),
    ],
)
def test_an_array_interface_that_lies_is_told(fields: dict[str, Any], words: str) -> None:
    function = build(parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = T.float32(1)\n'))
    function(Lying())
    with pytest.raises(DiagnosticError) as caught:
        function(Lying(**fields))
    message = caught.value.diagnostics[0].message
    assert "expected an object whose `__array_interface__` describes an array, got " in message
    assert words in message


class Raising:
    """An object that raises whatever it is asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name == self.name:
            raise RuntimeError(f"no {name}")
        raise AttributeError(name)


def released() -> memoryview:
    memory = memoryview(bytearray(16))
    memory.release()
    return memory


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Raising("__dlpack__"), "got a Raising: no __dlpack__"),
        (Raising("__array_interface__"), "got a Raising: no __array_interface__"),
        (released(), "got a memoryview: operation forbidden on released memoryview"),
    ],
)
def test_what_an_object_raises_that_is_asked_for_its_memory_is_told(value: Any, words: str) -> None:
    for runs in (build, lambda func: partial(interpret, func)):
        function = runs(parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = T.float32(1)\n'))
        with pytest.raises(DiagnosticError) as caught:
            function(value)
        assert words in caught.value.diagnostics[0].message


class Boasting(np.ndarray[Any, Any]):
    """An array that says wrong things of itself."""

    shape = property(lambda self: (1000, 1000))  # type: ignore[assignment]
    strides = property(lambda self: (1 << 40,))  # type: ignore[assignment]
    dtype = property(lambda self: np.dtype("float64"))  # type: ignore[assignment]
    __array_interface__ = property(lambda self: {})  # type: ignore[assignment]


@pytest.mark.parametrize("runs", [build, lambda func: partial(interpret, func)], ids=["native", "interpreted"])
def test_of_subclasses_the_memory_counts_and_no_word_of_theirs(runs: Any) -> None:
    function = runs(parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[3] = A[0] + T.float32(1)\n'))
    array = np.zeros(4, "float32")
    function(array.view(Boasting))
    function(array.view(np.recarray))
    assert array.tolist() == [0.0, 0.0, 0.0, 1.0]
    with pytest.raises(DiagnosticError, match="expected shape"):
        function(np.zeros(5, "float32").view(Boasting))
    with pytest.raises(DiagnosticError) as caught:
        function(np.ma.masked_array(array, [False, True, False, False]))
    (problem,) = caught.value.diagnostics
    assert "expected an array without a mask, got a masked array" in problem.message
    assert "array.filled" in (problem.hint or "")


@pytest.mark.parametrize(
    ("value", "words", "hint"),
    [
        (ctypes.pointer(ctypes.c_float(1)), "got elements of the format '&<f'", "numpy.ctypeslib.as_array"),
        (as_strided(np.zeros(8, "float32"), (4,), (6,)), "got one with strides of (6,) bytes", "array.copy()"),
    ],
)
def test_pointers_and_elements_between_elements_are_refused(value: Any, words: str, hint: str) -> None:
    text = """
@T.prim_func
def f(a: T.handle):
    s = T.int64()
    A = T.match_buffer(a, (4,), "float32", strides=(s,))
    A[0] = T.float32(1)
"""
    for run in (build(parse(text)), partial(interpret, parse(text))):
        with pytest.raises(DiagnosticError) as caught:
            run(value)
        said = caught.value.diagnostics[0]
        assert said.code == "T301" and words in said.message and hint in str(said.hint)


def test_memory_of_objects_is_no_memory_of_numbers() -> None:
    text = """
@T.prim_func
def f(a: T.handle):
    T.evaluate(T.isnullptr(a))
"""
    for run in (build(parse(text)), partial(interpret, parse(text))):
        for value in (np.zeros(3), np.zeros(3, "f4, i1"), np.zeros(0, "V4"), None):
            run(value)
        for value in (np.array([None, "a"], dtype=object), np.zeros(3, "f4, O"), np.ma.masked_array(np.zeros(3))):
            with pytest.raises(DiagnosticError, match="expected an array"):
                run(value)


def test_a_constant_is_an_array_that_is_read() -> None:
    copy = parse("""
@T.prim_func
def copy(A: T.Buffer((2,), "bfloat16"), B: T.Buffer((2,), "bfloat16")):
    for i in range(2):
        B[i] = A[i]
""")
    given = constant(np.array([1, 2], ml_dtypes.bfloat16))
    out = np.zeros(2, ml_dtypes.bfloat16)
    for run in (build(copy), partial(interpret, copy)):
        out[:] = 0
        run(given, out)
        assert out.tolist() == [1, 2]
        with pytest.raises(DiagnosticError, match="an array that can be written, got a read-only one"):
            run(out, given)


PAIRS = """
@G.graph_func
def f(x: G.Tensor(("n", 6), "float32"), y: G.Tuple(G.Tensor(("n", 6), "float32"))):
    return G.add(x, y[0])
"""
UNIQUE = """
@G.graph_func
def f(x: G.Tensor(("n", 6), "float32"), y: G.Tuple(G.Tensor(("n", 6), "float32"))):
    a = G.nonzero(G.add(x, y[0]))
    return a
"""


def as_values() -> list[Any]:
    """The same 4 by 6 numbers in arrays that lie in all ways."""
    plain = np.arange(24, dtype="float32").reshape(4, 6)
    odd = np.zeros(97, "uint8")[1:].view("float32").reshape(4, 6)
    odd[:] = plain
    turned = np.ascontiguousarray(plain[::-1])[::-1]
    return [plain, np.asfortranarray(plain), np.repeat(plain, 2, 1)[:, ::2], turned, odd]


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("text", [PAIRS, UNIQUE], ids=["whole", "in steps"])
def test_tensors_of_graph_functions_are_values_wherever_they_lie(text: str, target: str) -> None:
    func, native = parse(text), build(parse(text), target=target)
    expected = interpret(func, as_values()[0], (as_values()[0],))
    for value in as_values():
        for first, second in ((value, as_values()[0]), (as_values()[0], value)):
            assert np.array_equal(native(first, (second,)), expected)
    with pytest.raises(DiagnosticError, match=r"expected shape \(n, 6\) = \(6, 6\), got \(6, 4\)"):
        native(as_values()[0].T, (as_values()[0],))


def test_tensors_of_exported_graph_functions_are_values_too(tmp_path: Path) -> None:
    text = '@G.graph_func\ndef f(x: G.Tensor(("n", 6), "float32")):\n    return G.add(x, x)\n'
    build(parse(text)).export(tmp_path / "f.so")
    f = tirscript.load(tmp_path / "f.so")["f"]
    for value in as_values():
        assert np.array_equal(f(value), as_values()[0] * 2)


def test_bytes_have_the_shape_of_a_parameter_of_an_exported_function_too(tmp_path: Path) -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((2, 3), "int8"), B: T.Buffer((2, 3), "int8")):\n    B[1, 2] = A[1, 1]\n'
    build(parse(text)).export(tmp_path / "f.so")
    out = bytearray(6)
    tirscript.load(tmp_path / "f.so")["f"](bytes(range(6)), out)
    assert out == bytes([0, 0, 0, 0, 0, 4])


def test_there_is_no_memory_for_a_result() -> None:
    wide = np.broadcast_to(np.float32(1), (1 << 40, 6))
    text = '@G.graph_func\ndef f(x: G.Tensor(("n", 6), "float32")):\n    return G.add(x, x)\n'
    with pytest.raises(DiagnosticError, match=r"no memory for a result of `f` of shape \(1099511627776, 6\)"):
        build(parse(text))(wide)
