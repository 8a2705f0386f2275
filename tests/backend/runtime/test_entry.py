"""The native entry and its slow path, around kernels that do nothing: what is accepted, and what is refused how."""

from __future__ import annotations

import copy as copying
import math
import os
import pickle
import sys
import threading
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirscript.backend.runtime import layout
from tirscript.backend.runtime.function import Function
from tirscript.backend.runtime.slow import SlowPath
from tirscript.ir import DiagnosticError
from tirscript.script import parse

COPY = """
def copy(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32")) -> T.int64:
    for i, j in T.grid(n, 4):
        B[i, j] = A[i, j]
    return n
"""


def arrays(rows: int = 3) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.ones((rows, 4), np.float32), np.zeros((rows, 4), np.float32)


def told(function: Any, *args: Any, **kwargs: Any) -> str:
    """The messages and hints of the diagnostics that a call raises."""
    with pytest.raises(DiagnosticError) as caught:
        function(*args, **kwargs)
    return "\n".join(d.message + (f" | {d.hint}" if d.hint else "") for d in caught.value.diagnostics)


@pytest.fixture
def copy(probing: Any) -> Any:
    return probing(COPY, "n")


def test_arrays_by_position_and_by_name(copy: Any) -> None:
    a, b = arrays(3)
    assert copy(a, b) == 3
    assert copy(a, B=b) == 3
    assert copy(B=b, A=a) == 3
    assert copy(*arrays(0)) == 0
    assert copy(*arrays(70000)) == 70000


def test_wrong_number_and_names(copy: Any) -> None:
    a, b = arrays()
    assert told(copy, a) == "`copy` takes 2 arguments (A, B), but `B` is missing"
    assert told(copy) == "`copy` takes 2 arguments (A, B), but `A`, `B` are missing"
    assert told(copy, a, b, b) == "`copy` takes 2 arguments (A, B), but 3 are given"
    assert told(copy, a, b, C=b) == "`copy` has no parameter `C`; it takes 2 arguments (A, B)"
    assert told(copy, a, A=b) == "argument `A` of `copy` is given twice"
    assert "did you mean `B`?" in told(copy, a, B2=b)


def test_wrong_arrays(copy: Any) -> None:
    a, b = arrays()
    assert told(copy, a.astype(np.float64), b) == (
        "argument `A` of `copy`: expected an array of float32, got an array of float64"
        ' | `array.astype("float32")` converts the values into a new array'
    )
    assert told(copy, a, b.ravel()) == (
        "argument `B` of `copy`: expected 2 dimensions, of shape (n, 4), got 1 dimension, of shape (12,)"
    )
    assert told(copy, np.ones((3, 5), np.float32), b) == (
        "argument `A` of `copy`: expected shape (n, 4) = (3, 4), got (3, 5)"
    )
    assert told(copy, a, np.zeros((5, 4), np.float32)) == (
        "argument `B` of `copy`: expected shape (n, 4) = (3, 4), got (5, 4); `n` is 3, dimension 0 of `A`"
    )
    assert told(copy, a, None) == "argument `B` of `copy`: expected an array for `B`, got None"
    assert "got a list | make an array of it" in told(copy, a, [1.0])
    assert "float32 in foreign byte order" in told(copy, a.astype(">f4"), b)
    assert "got a complex" in told(copy, 1j, b)


def test_layout_of_arrays(copy: Any) -> None:
    a, b = arrays(6)
    gaps = np.ones((6, 8), np.float32)[:, ::2]
    assert "row-major order, got strides (8, 2) for shape (6, 4)" in told(copy, gaps, b)
    assert "`numpy.ascontiguousarray(array)`" in told(copy, gaps, b)
    assert "strides (1, 6)" in told(copy, np.asfortranarray(a), b)
    assert copy(np.ones((1, 4), np.float32)[::-1], b[:1]) == 1  # one row: its stride takes no step
    assert copy(np.empty((0, 8), np.float32)[:, ::2], b[:0]) == 0
    b.flags.writeable = False
    words = "argument `B` of `copy`: expected an array that can be written, got a read-only one"
    assert told(copy, a, b) == f"{words} | pass a copy: `array.copy()`"
    assert copy(b, a) == 6  # A is only read
    raw = np.zeros(6 * 16 + 1, np.uint8)
    assert "aligned to 4 bytes" in told(copy, raw[1:].view(np.float32).reshape(6, 4), a)


def test_overlap_is_refused(copy: Any, probing: Any) -> None:
    memory = np.zeros((10, 4), np.float32)
    assert told(copy, memory, memory).startswith(
        "arguments `A` and `B` of `copy` overlap in memory, and `B` is written |"
    )
    assert "overlap" in told(copy, memory[:5], memory[4:9])
    assert copy(memory[:5], memory[5:]) == 5
    assert copy(memory[5:], memory[:5]) == 5
    assert copy(memory[:0], memory[:0]) == 0
    inplace = probing(COPY.replace("    for", '    T.func_attr({"noalias": False})\n    for', 1), "n")
    assert inplace(memory, memory) == 10
    reads = probing("""
    def reads(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.evaluate(A[0] + B[0])
    """)
    reads(memory[0], memory[0])


def test_elements_between_elements_do_not_overlap(probing: Any) -> None:
    weave = probing("""
    def weave(A: T.Buffer((8,), "float32", strides=(2,)), B: T.Buffer((8,), "float32", strides=(2,))):
        for i in range(8):
            B[i] = A[i]
    """)
    memory = np.zeros(17, np.float32)
    weave(memory[0:16:2], memory[1:17:2])
    assert "overlap" in told(weave, memory[0:16:2], memory[2::2])
    assert "expected stride 2 in dimension 0, got 1" in told(weave, memory[:8], np.zeros(8, np.float32))


STRIDED = """
def strided(a: T.handle, B: T.Buffer(("n",), "float32")) -> T.int64:
    s = T.int64()
    A = T.match_buffer(a, ("n", "m"), "float32", strides=(s, 1))
    for i in range(n):
        B[i] = A[i, 0]
    return s
"""


def test_declared_strides_bind_symbols(probing: Any) -> None:
    strided = probing(STRIDED, "s")
    whole, b = np.zeros((6, 10), np.float32), np.zeros(6, np.float32)
    assert strided(whole, b) == 10
    assert strided(whole[:, 2:5], b) == 10
    assert strided(whole[::2], b[:3]) == 20
    assert strided(whole[::-1], b) == -10
    assert strided(A=whole, B=b) == strided(a=whole, B=b) == 10
    assert "expected stride 1 in dimension 1, got 2" in told(strided, whole[:, ::2], b)
    assert told(strided, whole, b[:5]) == (
        "argument `B` of `strided`: expected shape (n,) = (6,), got (5,); `n` is 6, dimension 0 of `A`"
    )
    odd = np.zeros((6, 41), np.uint8)[:, :40].view(np.float32)
    assert "aligned" in told(strided, odd, b) or "whole elements" in told(strided, odd, b)


def test_expressions_in_shapes(probing: Any) -> None:
    grow = probing(
        """
    def grow(
        A: T.Buffer(("n * 2 + 1", "n // 2"), "int8"), n: T.int32, B: T.Buffer(("m",), "int8"),
        C: T.Buffer(("m % 5",), "int8"),
    ) -> T.int64:
        return m
    """,
        "m",
    )

    def call(rows: int, columns: int, n: int, m: int, rest: int) -> Any:
        return grow(*[np.zeros(s, np.int8) if isinstance(s, tuple) else s for s in ((rows, columns), n, (m,), (rest,))])

    assert call(9, 2, 4, 13, 3) == 13
    assert call(11, 2, 5, 10, 0) == 10
    with pytest.raises(DiagnosticError, match=r"expected shape \(n \* 2 \+ 1, n // 2\) = \(9, 2\), got \(9, 3\)"):
        call(9, 3, 4, 13, 3)
    with pytest.raises(DiagnosticError, match=r"= \(3,\), got \(4,\); `m` is 13, dimension 0 of `B`"):
        call(9, 2, 4, 13, 4)


@pytest.mark.parametrize("operation, value", [
    ("n // k", 3), ("n % k", 2), ("T.truncdiv(n, k)", 3), ("T.truncmod(n, k)", 2), ("T.ceildiv(n, k)", 4), ("n - k", 8),
    ("T.min(n, k)", 3), ("T.max(n, k)", 11), ("n & k", 3), ("n | k", 11), ("n ^ k", 8), ("-k + n", 8),
    ('T.cast(n + k, "int64")', 14),
])  # fmt: skip
def test_every_operation_of_shapes(probing: Any, operation: str, value: int) -> None:
    function = probing(f"""
    def f(n: T.int32, k: T.int32, a: T.handle):
        A = T.match_buffer(a, ({operation},), "int8")
        T.evaluate(A[0])
    """)
    function(11, 3, np.zeros(value, np.int8))
    assert f"got ({value + 1},)" in told(function, 11, 3, np.zeros(value + 1, np.int8))


def test_shapes_divided_by_nothing_do_not_trap(probing: Any) -> None:
    function = probing("""
    def f(n: T.int64, k: T.int64, A: T.Buffer(("n // k",), "int8")):
        T.evaluate(A[0])
    """)
    function(8, 2, np.zeros(4, np.int8))
    function(-8, -2, np.zeros(4, np.int8))
    assert told(function, 8, 0, np.zeros(4, np.int8)) == "argument `A` of `f`: its shape (n // k,) divides by zero"
    assert "expected shape (n // k,) = " in told(function, -(1 << 63), -1, np.zeros(4, np.int8))


SCALARS = [
    (name, value)
    for name, values in {
        "bool": (True, False),
        "int8": (-128, 127),
        "int16": (-32768,),
        "int32": (2**31 - 1, -5),
        "int64": (-(2**63), 2**63 - 1),
        "uint8": (255,),
        "uint16": (65535,),
        "uint32": (2**32 - 1,),
        "uint64": (2**64 - 1, 7, 0),
        "float64": (1 / 3, -0.0),
        "float32": (0.5, math.nan, 1e300),
        "float16": (0.1, 65504.0, 1e9, -6e-8),
        "bfloat16": (1.0, 0.1, -3e38, math.inf, math.nan, 1e-40),
        "float8_e4m3fn": (448.0, 0.3, 2.0**-9, -2.5, math.nan, 1e6, 0.0),
        "float8_e5m2": (57344.0, 0.3, 2.0**-16, -math.inf, math.nan),
    }.items()
    for value in values
]


@pytest.mark.parametrize("name, value", SCALARS)
def test_scalars_pass_through(probing: Any, name: str, value: Any) -> None:
    echo = probing(f"def echo(x: T.{name}) -> T.{name}:\n    return x\n")
    kind = np.dtype(getattr(ml_dtypes, name, None) or name)
    with np.errstate(over="ignore"):
        want = np.array(value).astype(kind).item() if kind.kind != "V" else float(np.array(value).astype(kind))
        scalar = np.array(value).astype(kind)[()]
    for given in (value, scalar):
        got = echo(given)
        assert type(got) is type(want)
        assert got == want or (got != got and want != want)
    assert math.copysign(1, got) == math.copysign(1, want) or want != want or want == 0 != value


def test_wrong_scalars(probing: Any) -> None:
    small = probing("def f(x: T.int8) -> T.int8:\n    return x\n")
    words = "argument `x` of `f`: expected an integer of int8, which holds -128 to 127, got"
    assert told(small, 128) == f"{words} 128"
    assert told(small, -129) == f"{words} -129"
    assert told(small, 1 << 80) == f"{words} {1 << 80}"
    assert told(small, np.int64(1000)) == f"{words} 1000"
    assert "expected an integer (int8), got 1.0 | convert it: `int(x)`" in told(small, 1.0)
    assert "expected an integer (int8), got None" in told(small, None)
    assert small(True) == 1 and type(small(True)) is int
    unsigned = probing("def f(x: T.uint64) -> T.uint64:\n    return x\n")
    assert "holds 0 to 18446744073709551615, got -1" in told(unsigned, -1)
    assert "got 18446744073709551616" in told(unsigned, 1 << 64)
    flag = probing("def f(x: T.bool) -> T.bool:\n    return x\n")
    assert "expected a bool, got 1" in told(flag, 1)
    assert flag(np.bool_(True)) is True
    real = probing("def f(x: T.float32) -> T.float32:\n    return x\n")
    assert real(3) == 3.0
    assert "expected a number (float32), got 'a'" in told(real, "a")
    assert "expected a number (float32), got an array of float64 and shape (2,)" in told(real, np.zeros(2))


def test_all_mistakes_are_told(copy: Any) -> None:
    a, _ = arrays()
    text = told(copy, a.astype("f8"), None)
    assert "argument `A`" in text and "argument `B`" in text


def test_handles_without_a_shape(probing: Any) -> None:
    where = probing('def f(p: T.handle) -> T.uint64:\n    return T.reinterpret("uint64", p)\n')
    array = np.zeros((3, 4))
    assert where(array) == array.ctypes.data
    assert where(None) == 0
    assert "an array without gaps" in told(where, array[:, ::2])
    assert "got an int" in told(where, array.ctypes.data)
    typed = probing('def f(p: T.handle("float32")) -> T.uint64:\n    return T.reinterpret("uint64", p)\n')
    assert "array of float32, got an array of float64" in told(typed, array)


def test_vectors_are_the_last_dimension(probing: Any) -> None:
    lanes = probing("def f(A: T.Buffer((\"n\",), 'float32x4')) -> T.int64:\n    return n\n", "n")
    assert lanes(np.zeros((3, 4), np.float32)) == 3
    assert "the last of 4 lanes" in told(lanes, np.zeros((3, 5), np.float32))
    assert "the last of 4 lanes" in told(lanes, np.zeros(12, np.float32))


@pytest.mark.parametrize(
    "name", ["bool", "int8", "int64", "uint16", "float16", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
def test_arrays_of_every_kind(probing: Any, name: str) -> None:
    function = probing(f"def f(A: T.Buffer(('n',), '{name}')) -> T.int64:\n    return n\n", "n")
    kind = np.dtype(getattr(ml_dtypes, name, None) or name)
    assert function(np.zeros(5, kind)) == 5
    assert function(pickle.loads(pickle.dumps(np.zeros(5, kind)))) == 5
    wrong = np.zeros(5, np.int32)
    assert f"an array of {name}, got an array of int32" in told(function, wrong)


def test_other_names_of_a_dtype(copy: Any, probing: Any) -> None:
    wide = probing("def f(A: T.Buffer(('n',), 'int64')) -> T.int64:\n    return n\n", "n")
    assert wide(np.zeros(3, np.longlong)) == wide(np.zeros(3, "l")) == 3

    class Special(np.ndarray):
        pass

    a, b = arrays()
    assert copy(a.view(Special), b.view(Special)) == 3


def test_alignment_that_a_buffer_declares(probing: Any) -> None:
    function = probing(
        """
    def f(a: T.handle) -> T.int64:
        A = T.match_buffer(a, ("n",), "float32", align=64)
        return n
    """,
        "n",
    )
    memory = np.zeros(64, np.float32)
    start = (-memory.ctypes.data % 64) // 4
    assert function(memory[start : start + 16]) == 16
    assert function(memory[start + 1 : start + 1]) == 0
    assert "aligned to 64 bytes" in told(function, memory[start + 1 : start + 9])


def test_offset_of_a_buffer_is_nothing(probing: Any) -> None:
    function = probing(
        """
    def f(a: T.handle) -> T.int64:
        o = T.int64()
        A = T.match_buffer(a, (4,), "float32", elem_offset=o)
        return o
    """,
        "o",
    )
    assert function(np.zeros(4, np.float32)) == 0


class Exporter:
    """An object that has DLPack and nothing else."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_dlpack_shares_memory(probing: Any) -> None:
    where = probing('def f(A: T.Buffer((4,), "float32")) -> T.uint64:\n    return T.reinterpret("uint64", A.data)\n')
    array = np.zeros(4, np.float32)
    assert where(Exporter(array)) == array.ctypes.data
    assert "array of float32, got an array of float64" in told(where, Exporter(np.zeros(4)))


def test_bytes(probing: Any) -> None:
    where = probing('def f(A: T.Buffer((4,), "uint8")) -> T.uint64:\n    return T.reinterpret("uint64", A.data)\n')
    data = bytearray(4)
    assert where(data) == np.frombuffer(data, np.uint8).ctypes.data
    assert where(memoryview(data)) == where(data) and where(bytes(4))
    assert "got (5,)" in told(where, bytes(5))
    fill = probing('def f(A: T.Buffer((4,), "int32")):\n    A[0] = 1\n')
    fill(bytearray(16))
    assert "expected an array that can be written, got a read-only one" in told(fill, bytes(16))
    assert "whole elements of int32" in told(fill, bytearray(15))


def test_a_failed_check_raises(make_native: Any, probing: Any) -> None:
    class Check:
        def exception(self, values: Any) -> Exception:
            return AssertionError(f"values {values}")

    func = probing("def f(n: T.int32):\n    T.evaluate(n)\n").func
    kernel = """define i32 @kernel(i32 %n, ptr %error) {
    %odd = trunc i32 %n to i1
    br i1 %odd, label %bad, label %good
    good:
      ret i32 0
    bad:
      store i32 1, ptr %error
      %count = getelementptr i8, ptr %error, i64 4
      store i32 2, ptr %count
      %first = getelementptr i8, ptr %error, i64 8
      store i64 -7, ptr %first
      %second = getelementptr i8, ptr %error, i64 16
      store i64 9, ptr %second
      ret i32 1
    }"""
    for options in ({}, {"release": True}, {"portable": True}, {"portable": True, "release": True}):
        function = make_native(func, kernel, sites=(Check(), Check()), **options)
        assert function(2) is None
        with pytest.raises(AssertionError, match=r"values \(-7, 9\)"):
            function(3)


def test_references_are_kept(probing: Any) -> None:
    function = probing(COPY, "n")
    a, b = arrays()
    extra = np.zeros((3, 5), np.float32)

    def calls() -> None:
        for _ in range(200):
            function(a, b)
            function(a, B=b)
            function(Exporter(a), b)
            for wrong in ((a, extra), (a, a), (None, b), (a,)):
                with pytest.raises(DiagnosticError):
                    function(*wrong)

    calls()
    before = [sys.getrefcount(x) for x in (a, b, extra, function, function._slow)]
    calls()
    after = [sys.getrefcount(x) for x in (a, b, extra, function, function._slow)]
    assert before == after


def test_none_and_bools_are_not_used_up(probing: Any) -> None:
    nothing = probing("def f(n: T.int32):\n    T.evaluate(n)\n")
    truth = probing("def f(x: T.bool) -> T.bool:\n    return x\n")
    before = [sys.getrefcount(x) for x in (None, True, False)]
    for _ in range(2000):
        nothing(1), truth(True), truth(False)
    after = [sys.getrefcount(x) for x in (None, True, False)]
    assert all(abs(x - y) < 500 for x, y in zip(before, after))


@pytest.mark.parametrize("release", [False, True])
def test_threads(probing: Any, release: bool) -> None:
    function = probing(COPY, "n", release=release)
    wrong: list[Any] = []

    def work(rows: int) -> None:
        a, b = arrays(rows)
        for _ in range(300):
            if function(a, b) != rows:
                wrong.append(rows)
        try:
            function(a, a)
            wrong.append("overlap")
        except DiagnosticError:
            pass

    threads = [threading.Thread(target=work, args=(rows,)) for rows in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_calls_work_after_fork(copy: Any) -> None:
    a, b = arrays(4)
    child = os.fork()
    if child == 0:
        os._exit(copy(a, b))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4


def test_an_entry_that_refuses_what_is_right_is_an_internal_error(make_native: Any, probing: Any) -> None:
    func = probing("def f(n: T.int32):\n    T.evaluate(n)\n").func
    function = make_native(func, "define i32 @kernel(i32 %n, ptr %error) { ret i32 0 }")
    path = function._slow
    path.direct, path.again = path.direct._slow, path.again._slow  # what a call comes to where the entry refuses it
    with pytest.raises(DiagnosticError) as caught:
        function(np.int32(1))
    assert caught.value.diagnostics[0].code == "T499"
    assert "report" in str(caught.value)


def test_the_type_of_functions(make_native: Any) -> None:
    func = parse("from tirscript.script import tir as T\n@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n)\n")
    function = make_native(func, "define i32 @kernel(i32 %n, ptr %error) { ret i32 0 }")
    assert isinstance(function, Function) and isinstance(function._slow, SlowPath)
    assert function.__name__ == function.__qualname__ == "f" and callable(function)
    function.note = "mine"
    assert function.note == "mine"
    with pytest.raises(
        TypeError, match="'f' is machine code of this process and cannot be pickled; pickle the program"
    ):
        pickle.dumps(function)
    assert copying.copy(function) is copying.deepcopy(function) is function
    function._entry = 1  # an attribute like any other, not the address
    assert function(1) is None
    alive = weakref.ref(function)
    del function
    assert alive() is None
    with pytest.raises(TypeError):
        object.__new__(Function)(1)


def test_layout_of_structs_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert layout.check_layout()
    monkeypatch.setattr(layout, "OB_TYPE", 0)
    assert not layout.check_layout()
    layout.direct_calls.cache_clear()
    assert not layout.direct_calls()
    monkeypatch.undo()
    layout.direct_calls.cache_clear()
    assert layout.direct_calls()
    layout.direct_calls.cache_clear()
    monkeypatch.setattr(sys, "byteorder", "big")
    assert not layout.direct_calls()
    layout.direct_calls.cache_clear()
