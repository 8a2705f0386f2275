"""Calls out of a kernel: C functions, Python functions, printing, functions of the module."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.native import call, compiled, run
from helpers.script import function

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.backend.llvm.aliasing import noalias_functions
from tirscript.backend.runtime import packed
from tirscript.backend.runtime.library import register_library, unregister_library
from tirscript.ir import DiagnosticError, Module, PrimFunc
from tirscript.script import parse


def module_of(body: str) -> Module:
    """The module whose functions stand in `body`."""
    lines = "\n".join("    " + line if line else "" for line in body.strip("\n").split("\n"))
    found = parse(f"from tirscript.script import ir as I, tir as T\n\n\n@I.ir_module\nclass M:\n{lines}\n")
    assert isinstance(found, Module)
    return found


def kernel(body: str, params: str, returns: str = "") -> PrimFunc:
    return function(body, params, returns)


# C


def test_c_functions_are_called_by_their_dtypes() -> None:
    assert (
        run(kernel('return T.call_extern("float64", "fmin", x, T.float64(2))', "x: T.float64", " -> T.float64"), 27.0)
        == 2.0
    )
    assert run(kernel('return T.call_pure_extern("int32", "abs", x)', "x: T.int32", " -> T.int32"), -5) == 5
    assert run(
        kernel('return T.call_extern("int32", "toupper", T.cast(x, "int32"))', "x: T.int8", " -> T.int32"), ord("a")
    ) == ord("A")
    assert run(kernel('return T.call_extern("uint64", "strlen", "größe")', "", " -> T.uint64")) == 7


def test_c_functions_get_addresses_and_variable_arguments() -> None:
    body = """
        T.evaluate(T.call_extern("handle", "memcpy", B.data, T.address_of(A[1]), T.uint64(8)))
        return T.call_extern("int32", "snprintf", C.data, T.uint64(16), "%d %.2f", B[0], x)
    """
    params = 'A: T.Buffer((4,), "int32"), B: T.Buffer((2,), "int32"), C: T.Buffer((16,), "uint8"), x: T.float32'
    copied, text = np.zeros(2, "int32"), np.zeros(16, "uint8")
    assert run(kernel(body, params, " -> T.int32"), np.array([1, 20, 3, 4], "int32"), copied, text, 1.25) == 7
    assert list(copied) == [20, 3] and bytes(text[:8]) == b"20 1.25\0"


def test_an_unknown_c_function_is_told_when_building() -> None:
    func = kernel('return T.call_extern("int32", "no_such_function_here", x)', "x: T.int32", " -> T.int32")
    with pytest.raises(DiagnosticError, match=r"T307.*no_such_function_here(.|\n)*RTLD_GLOBAL"):
        compiled(func)
    assert "no_such_function_here" in emit_ir(func)


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e5m2", "float32x4"])
def test_c_has_no_type_for_some_dtypes(kind: str) -> None:
    with pytest.raises(DiagnosticError, match="T402"):
        compiled(kernel('T.evaluate(T.call_extern("int32", "abs", A[0]))', f'A: T.Buffer((4,), "{kind}")'))


# Python


@pytest.fixture
def record() -> Iterator[list[Any]]:
    """A library function `test.record` that keeps its arguments, and returns their number."""
    seen: list[Any] = []

    def keep(*args: Any) -> int:
        seen.append(tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args))
        return len(args)

    register_library("test.record", keep)
    yield seen
    unregister_library("test.record")


def test_python_functions_get_scalars_strings_vectors_and_arrays(record: list[Any]) -> None:
    body = """
        k = T.call_packed("test.record", "word", T.int8(-3), x, T.uint64(18446744073709551615), x > T.float32(0), A[T.ramp(0, 1, 2)], A.data, T.address_of(A[1]))
        return k
    """
    func = kernel(body, 'A: T.Buffer(("n",), "int32"), x: T.float32', " -> T.int32")
    assert run(func, np.array([7, 8, 9], "int32"), 0.5) == 8
    word, small, x, large, positive, lanes, whole, rest = record[0]
    assert (word, small, x, large, positive, lanes) == ("word", -3, 0.5, 2**64 - 1, True, (7, 8))
    assert type(positive) is bool and list(whole) == [7, 8, 9] and list(rest) == [8, 9]
    assert whole.dtype == "int32"


def test_python_functions_write_into_the_memory_of_the_program() -> None:
    def double(array: np.ndarray[Any, Any]) -> None:
        array *= 2

    register_library("test.double", double)
    try:
        body = """
            B = T.alloc_buffer((2, 3), "bfloat16")
            for i, j in T.grid(2, 3):
                B[i, j] = A[i * 3 + j]
            T.evaluate(T.call_packed("test.double", B.data))
            for i, j in T.grid(2, 3):
                A[i * 3 + j] = B[i, j]
        """
        from tirscript.backend.runtime.arrays import numpy_dtype
        from tirscript.ir import dtype

        data = np.arange(6).astype(numpy_dtype(dtype("bfloat16")))
        run(kernel(body, 'A: T.Buffer((6,), "bfloat16")'), data)
        assert list(data.astype(int)) == [0, 2, 4, 6, 8, 10]
        run(
            kernel(
                'B = T.match_buffer(a, (2, 2), "int32", strides=(4, 2), elem_offset=1)\nT.evaluate(T.call_packed("test.double", B.data))',
                "a: T.handle",
            ),
            strided := np.ones(8, "int32"),
        )
        assert list(strided) == [1, 2, 1, 2, 1, 2, 1, 2]
    finally:
        unregister_library("test.double")


def test_an_exception_in_python_ends_the_kernel_and_frees_its_memory() -> None:
    def fail(value: int) -> None:
        raise KeyError(value)

    register_library("test.fail", fail)
    try:
        body = """
            B = T.alloc_buffer((100000,), "int32")
            for i in range(10):
                B[i] = i
                T.evaluate(T.call_packed("test.fail", B[i] + 3))
            A[0] = B[1]
        """
        func = kernel(body, 'A: T.Buffer((1,), "int32")')
        assert emit_ir(func, optimized=False).count("@free(ptr %") == 2
        data = np.zeros(1, "int32")
        with pytest.raises(KeyError, match="3"):
            run(func, data)
        assert data[0] == 0 and not packed._raised
    finally:
        unregister_library("test.fail")


def test_an_unregistered_function_and_a_wrong_result_are_told(record: list[Any]) -> None:
    with pytest.raises(DiagnosticError, match=r"T307.*`test.rekord`(.|\n)*did you mean `test.record`"):
        run(kernel('T.evaluate(T.call_packed("test.rekord", 1))', ""))
    register_library("test.word", lambda: "word")
    try:
        with pytest.raises(DiagnosticError, match=r"T301.*`test.word` returned 'word'"):
            run(kernel('T.evaluate(T.call_packed("test.word"))', ""))
    finally:
        unregister_library("test.word")


def test_printing_is_what_the_interpreter_prints(capsys: pytest.CaptureFixture[str]) -> None:
    from tirscript.backend.interpreter import interpret

    func = kernel(
        'T.print("x is", x, A[T.ramp(0, 1, 2)], n, n > 2)', 'A: T.Buffer((2,), "float16"), x: T.float32, n: T.int32'
    )
    data = np.array([0.1, 2], "float16")
    interpret(func, data, 0.1, 3)
    wanted = capsys.readouterr().out
    run(func, data, 0.1, 3)
    assert capsys.readouterr().out == wanted == "x is 0.1 [0.1, 2.0] 3 True\n"


def test_the_calls_of_a_module_are_forgotten_with_it() -> None:
    gc.collect()
    before = len(packed._modules)
    module = compiled(kernel('T.print("word")', ""))
    assert len(packed._modules) == before + 1
    del module
    gc.collect()
    assert len(packed._modules) == before


# functions of the module

GROW = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        M.row(A[i, 0:8], B[i, 0:8], T.float32(i))

@T.prim_func(private=True)
def row(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32"), by: T.float32):
    for j in range(8):
        Y[j] = X[j] * by
"""


def test_functions_of_the_module_get_regions_and_scalars() -> None:
    module = module_of(GROW)
    data, into = np.arange(32, dtype="float32").reshape(4, 8), np.zeros((4, 8), "float32")
    run(module, data, into, name="main")
    assert (into == data * np.arange(4)[:, None]).all()
    assert "define internal i32" in emit_ir(module, optimized=False)


def test_shapes_and_strides_are_bound_by_a_call() -> None:
    module = module_of("""
@T.prim_func
def main(A: T.Buffer(("n", "m"), "int32")):
    M.fill(A[1:3, 1:5], 5)

@T.prim_func
def fill(X: T.Buffer(("r", "c"), "int32", strides=("s", 1)), value: T.int32):
    for i, j in T.grid(r, c):
        X[i, j] = value + T.cast(r * 100 + c, "int32")
""")
    data = np.zeros((4, 5), "int32")
    run(module, data, name="main")
    wanted = np.zeros((4, 5), "int32")
    wanted[1:3, 1:5] = 5 + 204
    assert (data == wanted).all()


def test_results_and_failures_come_back_from_calls() -> None:
    module = module_of("""
@T.prim_func
def main(n: T.int32) -> T.int32:
    if n <= 1:
        return 1
    return n * M.main(n - 1)

@T.prim_func
def checked(n: T.int32) -> T.bool:
    B = T.alloc_buffer((100000,), "int32")
    B[n] = 1
    return M.inner(n)

@T.prim_func
def inner(n: T.int32) -> T.bool:
    assert n < 5, "too many"
    return n > 2
""")
    assert run(module, 5, name="main") == 120
    assert [bool(run(module, n, name="checked")) for n in (2, 3)] == [False, True]
    with pytest.raises(AssertionError, match=r"too many(.|\n)*n = 7"):
        run(module, 7, name="checked")


@pytest.mark.parametrize(
    ("call_text", "code"),
    [
        ("M.g(A)", None),
        ("M.g(B)", "T204"),
        ("M.g(C)", "T207"),
        ("M.g(D)", "T207"),
        ("M.g(D[0, 0:8])", None),
        ("M.g(D[0:8, 0])", "T207"),
    ],
)
def test_arguments_that_do_not_fit_are_told_when_building(call_text: str, code: str | None) -> None:
    text = f"""
@T.prim_func(check_well_formed=False)
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32"), C: T.Buffer((9,), "int32"), D: T.Buffer((8, 8), "int32")):
    {call_text}

@T.prim_func
def g(X: T.Buffer((8,), "int32")):
    X[0] = 1
"""
    try:
        emit_ir(module_of(text))
        found = None
    except DiagnosticError as problem:
        found = problem.diagnostics[0].code
    assert found == code


def test_shapes_that_are_not_known_are_compared_when_running() -> None:
    module = compiled(
        module_of("""
@T.prim_func
def main(A: T.Buffer(("n",), "int32"), B: T.Buffer(("m",), "int32")):
    M.add(A, B)

@T.prim_func
def add(X: T.Buffer(("k",), "int32"), Y: T.Buffer(("k",), "int32")):
    for i in range(k):
        Y[i] += X[i]
""")
    )
    data = np.arange(4, dtype="int32")
    into = data.copy()
    call(module, "main", data, into)
    assert (into == 2 * data).all()
    with pytest.raises(DiagnosticError, match=r"T301.*dimension 0 of `Y` of `add`(.|\n)*wanted = 4, given = 5"):
        call(module, "main", data, np.zeros(5, "int32"))


def test_symbols_that_a_call_cannot_bind_are_told() -> None:
    module = module_of("""
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    M.g(T.address_of(A[0]))

@T.prim_func
def g(x: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n,), "int32")
    X[0] = 1
""")
    with pytest.raises(DiagnosticError, match=r"T206.*`n` of `g`"):
        emit_ir(module)


def test_overlapping_arguments_of_a_call_take_the_promise_back() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    M.copy({0})

@T.prim_func
def copy(X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in range(8):
        Y[i] = X[i]
"""
    assert noalias_functions(module_of(text.format("A, B"))) == {"main": True, "copy": True}
    assert noalias_functions(module_of(text.format("A, A"))) == {"main": True, "copy": False}
    local = text.replace(
        "    M.copy({0})",
        '    C = T.alloc_buffer((8,), "int32")\n    D = T.decl_buffer((8,), "int32", data=A.data)\n    M.copy({0})',
    )
    assert noalias_functions(module_of(local.format("A, C")))["copy"]
    assert not noalias_functions(module_of(local.format("D, A")))["copy"]
    arena = text.replace(
        "    M.copy({0})",
        '    C = T.alloc_buffer((20,), "int32")\n    D = T.decl_buffer((8,), "int32", data=C.data)\n'
        '    E = T.decl_buffer((8,), "int32", data=T.address_of(C[{1}]))\n    M.copy({0})',
    )
    assert noalias_functions(module_of(arena.format("D, E", 8)))["copy"]
    assert noalias_functions(module_of(arena.format("E, D", 12)))["copy"]
    assert not noalias_functions(module_of(arena.format("D, E", 7)))["copy"]
    off = text.replace("    M.copy({0})", '    T.func_attr({{"noalias": False}})\n    M.copy({0})')
    assert noalias_functions(module_of(off.format("A, B"))) == {"main": False, "copy": False}
    reading = text.replace("Y[i] = X[i]", "T.evaluate(X[i] + Y[i])")
    assert noalias_functions(module_of(reading.format("A, A")))["copy"]
    assert (
        "noalias"
        in emit_ir(module_of(text.format("A, B")), optimized=False).split("tirscript_kernel_copy")[2].split("\n")[0]
    )


@pytest.mark.parametrize("options", [{"debug": True}, {"bounds_check": True}, {"debug": True, "target": "c"}])
@pytest.mark.parametrize(
    ("region", "at", "told"),
    [
        ("A[i : i + 2, 0]", 7, "7:9 is not within 0:8, in dimension 0"),
        ("A[i : i + 2, 0]", -1, "-1:1 is not within 0:8, in dimension 0"),
        ("A[i : 2, 0]", 9, "9:2 is not within 0:8, in dimension 0"),
        ("A[2, i : i + 2]", 3, "3:5 is not within 0:4, in dimension 1"),
        ("A[i, 0:2]", 8, "8:9 is not within 0:8, in dimension 0"),
        ("A[i, 0:2]", -1, "-1:0 is not within 0:8, in dimension 0"),
        ("A[i, 0:2]", 7, None),
        ("A[6 : i, 3]", 8, None),
    ],
)
def test_a_debug_build_reports_regions_out_of_bounds(
    region: str, at: int, told: str | None, options: dict[str, Any]
) -> None:
    module = parse(f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def take(A: T.Buffer(("n",), "float32", strides=("s",)), B: T.Buffer((2,), "float32")):
        for i in range(n):
            B[i] = A[i]

    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((2,), "float32"), i: T.int32):
        M.take({region}, B)
""")
    array, wanted, found = np.arange(32, dtype="float32").reshape(8, 4), np.zeros(2, "float32"), np.zeros(2, "float32")
    built = tirscript.build(module, **options)
    if told is None:
        tirscript.interpret(module, array, wanted, at)
        built(array, found, at)
        assert found.tolist() == wanted.tolist() != [0, 0]
        return
    with pytest.raises(DiagnosticError) as caught:
        built(array, found, at)
    (problem,) = caught.value.diagnostics
    assert problem.code == "T302" and f"the region of `A` is out of bounds: {told}" in problem.message
    with pytest.raises(DiagnosticError, match=f"the region of `A` is out of bounds: {told}"):
        tirscript.interpret(module, array, wanted, at)
