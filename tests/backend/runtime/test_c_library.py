"""C functions as library functions: called natively and by the interpreter, checked, kept in the cache, and BLAS."""

from __future__ import annotations

import ctypes
import runpy
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typeguard

import tirscript
from tirscript.backend.cache_key import c_functions
from tirscript.backend.llvm import emit_ir
from tirscript.backend.llvm.effects import needs_gil, releases_gil
from tirscript.backend.runtime.blas import register_blas
from tirscript.backend.runtime.c_library import read_signature
from tirscript.backend.runtime.library import get_library, unregister_library
from tirscript.backend.runtime.packed import CALLBACK
from tirscript.ir import DiagnosticError, PrimFunc

ROOT = Path(__file__).resolve().parents[3]
SOURCE = """
#include <stdint.h>
void scale(const float *x, int64_t n, float by, float *out) { for (int64_t i = 0; i < n; i++) out[i] = x[i] * by; }
int32_t small(int8_t a, uint16_t b, _Bool c, double d) { return a * 1000 + b * 10 + c + (int32_t)d; }
void sizes(const int8_t *x, int32_t m, int32_t most, int32_t fixed, int64_t *out) {
    out[0] = m; out[1] = most; out[2] = fixed;
}
"""
WAYS: list[Callable[..., Any]] = [tirscript.build, lambda program: lambda *args: tirscript.interpret(program, *args)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared library with the functions above."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("library")
    (folder / "tiny.c").write_text(SOURCE)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", folder / "libtiny.so", folder / "tiny.c"], check=True, timeout=60
    )
    return folder / "libtiny.so"


@pytest.fixture
def functions(library: Path) -> Iterator[None]:
    """The functions of the library, registered."""
    tirscript.register_library(
        "test.scale", symbol="scale", library=library, signature=["float32[n]", "n: int64", "float32", "float32[n]"]
    )
    tirscript.register_library(
        "test.small", symbol="small", library=library, signature=["int8", "uint16", "bool", "float64"], returns="int32"
    )
    tirscript.register_library(
        "test.sizes",
        symbol="sizes",
        library=ctypes.CDLL(str(library)),
        signature=["int8[m, n]", "m: int32", "max(n, 3): int32", "-7: int32", "int64[3]"],
    )
    yield
    for name in ("test.scale", "test.small", "test.sizes"):
        unregister_library(name)


def parsed(params: str, body: str, returns: str = "") -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    found = tirscript.parse(
        f"from tirscript.script import tir as T\n\n@T.prim_func\ndef f({params}){returns}:\n{lines}\n"
    )
    assert isinstance(found, PrimFunc)
    return found


def scaled(params: str = 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("m",), "float32")') -> PrimFunc:
    return parsed(params, 'T.evaluate(T.call_packed("test.scale", A.data, T.float32(3), B.data))')


@pytest.mark.parametrize("way", WAYS, ids=["native", "interpreted"])
def test_arrays_sizes_and_scalars_are_passed(functions: None, way: Any) -> None:
    a, b = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    way(scaled())(a, b)
    assert b.tolist() == [0, 3, 6, 9, 12]
    small = parsed(
        "a: T.int8, b: T.uint16, c: T.bool",
        'return T.call_packed("test.small", a, b, c, T.float64(0.5) + T.float64(4))',
        " -> T.int32",
    )
    assert way(small)(-3, 60000, True) == -3000 + 600000 + 1 + 4
    sizes = parsed(
        'A: T.Buffer(("m", "n"), "int8"), out: T.Buffer((3,), "int64")',
        'T.evaluate(T.call_packed("test.sizes", A.data, out.data))',
    )
    for shape, most in (((4, 2), 3), ((0, 9), 9)):
        out = np.zeros(3, "int64")
        way(sizes)(np.zeros(shape, "int8"), out)
        assert out.tolist() == [shape[0], most, -7]
    with pytest.raises(DiagnosticError, match=r"T301.*`m` of `test.sizes` is larger than int32 holds"):
        way(sizes)(np.zeros((2**31, 0), "int8"), out)


@pytest.mark.parametrize("way", WAYS, ids=["native", "interpreted"])
@pytest.mark.parametrize("number", ["2", "2.0", "x"])
def test_a_number_of_another_dtype_is_told_with_the_way_it_is_written(functions: None, number: str, way: Any) -> None:
    program = tirscript.parse(
        "@G.graph_func\ndef main(x: G.Tensor((4,), 'float32')):\n"
        f"    y = G.call_dps_packed('test.scale', (x, {number}), out=G.Tensor((4,), 'float32'))\n    return y\n"
    )
    with pytest.raises(DiagnosticError, match=r"T301.*argument 2 of `test.scale` is `float32`") as caught:
        way(program)(np.ones(4, "float32"))
    assert caught.value.diagnostics[0].hint == "a number of that dtype is written `T.float32(2)`"


@pytest.mark.parametrize("way", WAYS, ids=["native", "interpreted"])
def test_scalars_of_a_kernel_have_the_dtype_that_the_signature_says(functions: None, way: Any) -> None:
    """The interpreter handed any integer to C, which took its low bits."""
    small = parsed(
        "a: T.int32", 'return T.call_packed("test.small", a, T.uint16(1), True, T.float64(0))', " -> T.int32"
    )
    with pytest.raises(DiagnosticError, match=r"T301.*argument 1 of `test.small` is `int8`, not int32"):
        way(small)(1)


def test_signatures_are_of_strings_and_numbers_of_their_types() -> None:
    assert read_signature("f", ["-128: int8"])[0].value == -128
    with pytest.raises(ValueError, match="'128' is no size and no int8"):
        read_signature("f", ["128: int8"])
    odd: Any = ["int32", 3]
    with pytest.raises(TypeError, match="a list of strings; one is a Python int"):
        read_signature("f", odd)


@pytest.mark.parametrize("way", WAYS, ids=["native", "interpreted"])
def test_what_does_not_fit_is_told_before_the_library_is_called(functions: None, way: Any) -> None:
    a, b = np.ones(5, "float32"), np.zeros(6, "float32")
    with pytest.raises(DiagnosticError, match=r"T301.*argument 3 of `test.scale`(.|\n)*call_packed"):
        way(scaled())(a, b)
    assert not b.any()
    gaps = 'A: T.Buffer((4,), "float32", strides=("s",)), B: T.Buffer((4,), "float32")'
    program = parsed(
        gaps,
        'T.evaluate(T.call_packed("test.scale", A.data, T.float32(3), B.data))',
    )
    memory, out = np.arange(8, dtype="float32"), np.zeros(4, "float32")
    with pytest.raises(DiagnosticError, match=r"T301.*argument 1 of `test.scale`.*(gaps|row by row)"):
        way(program)(memory[::2], out)
    assert not out.any()
    way(program)(memory[:4], out)
    assert out.tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize("way", WAYS, ids=["native", "interpreted"])
@pytest.mark.parametrize(
    ("params", "args", "words"),
    [
        ('A: T.Buffer((2,), "float32")', "A.data", "takes 3 arguments, not 1"),
        ('A: T.Buffer((2,), "float64")', "A.data, T.float32(1), A.data", "argument 1 .*float64"),
        ('A: T.Buffer((2, 2), "float32")', "A.data, T.float32(1), A.data", "argument 1 .*"),
        ('A: T.Buffer((2,), "float32")', 'A.data, "word", A.data', "argument 2 .*is `float32`, not a str"),
        ('A: T.Buffer((2,), "float32")', "A.data, T.float32(1), T.int32(0)", "argument 3 of"),
    ],
)
def test_wrong_calls(functions: None, way: Any, params: str, args: str, words: str) -> None:
    program = parsed(params, f'T.evaluate(T.call_packed("test.scale", {args}))')
    shape = (2, 2) if "2, 2" in params else (2,)
    with pytest.raises(DiagnosticError, match=words):
        way(program)(np.ones(shape, "float64" if "float64" in params else "float32"))


def test_native_code_calls_without_python(functions: None) -> None:
    program = scaled()
    text = emit_ir(program)
    assert CALLBACK not in text and "tirscript_library_" + b"test.scale".hex() in text
    assert not needs_gil(program) and releases_gil(program)
    unregister_library("test.scale")
    assert needs_gil(program) and CALLBACK in emit_ir(program)


def test_a_python_function_may_take_its_place(functions: None) -> None:
    c = get_library("test.scale")
    assert c is not None
    a, b = np.ones(4, "float32"), np.zeros(4, "float32")
    kept = tirscript.build(scaled())
    with pytest.raises(ValueError, match="registered already"):
        tirscript.register_library("test.scale", print)
    tirscript.register_library("test.scale", lambda x, by, out: np.add(x, by, out=out), override=True)
    late = tirscript.build(scaled())
    kept(a, b)
    assert b.tolist() == [3] * 4
    late(a, b)
    assert b.tolist() == [4] * 4
    tirscript.register_library("test.scale", c, override=True)
    late(a, b)  # asks by name
    assert b.tolist() == [3] * 4


def test_functions_of_ctypes(library: Path) -> None:
    loaded = ctypes.CDLL(str(library))
    loaded.scale.restype = None
    with pytest.raises(TypeError, match="without `argtypes`"):
        tirscript.register_library("test.pointers", loaded.scale)
    floats = ctypes.POINTER(ctypes.c_float)
    loaded.scale.argtypes = [floats, ctypes.c_int64, ctypes.c_float, floats]
    tirscript.register_library("test.pointers", loaded.scale)
    try:
        program = parsed(
            'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")',
            'T.evaluate(T.call_packed("test.pointers", T.address_of(A[1]), T.int64(2), T.float32(2), B.data))',
        )
        for way in WAYS:
            out = np.zeros(4, "float32")
            way(program)(np.arange(4, dtype="float32"), out)
            assert out.tolist() == [2, 4, 0, 0]
    finally:
        unregister_library("test.pointers")


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (["float32[n", "n: int64"], "in the signature of f: .* is not an element type"),
        (["m: int64"], "no shape in it has a dimension 'm'"),
        (["float3"], "in the signature of f: .* is not an element type"),
        (["float16"], "C has no scalar like float16"),
        (["float32[n+1]"], "dimensions are names and numbers"),
        (["1.5: int32"], "is no size and no int32"),
        (["float32[n]", "n: float32"], "sizes are integers"),
        (["float32x4*"], "no arrays of float32x4"),
    ],
)
def test_signatures_that_cannot_be_read(signature: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_signature("f", signature)


def test_what_is_not_there(library: Path) -> None:
    with pytest.raises(AttributeError, match="has no C function 'nothing'"):
        tirscript.register_library("test.x", symbol="nothing", library=library, signature=[])
    with pytest.raises(OSError):
        tirscript.register_library("test.x", symbol="scale", library="no/such/library.so", signature=[])
    with pytest.raises((TypeError, typeguard.TypeCheckError), match=r"3 cannot be called|is not callable"):
        tirscript.register_library("test.x", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one of them is missing"):
        tirscript.register_library("test.x", symbol="scale", library=library)
    with pytest.raises(ValueError, match="return nothing, or a status"):
        tirscript.register_library("test.x", symbol="scale", library=library, signature=[], returns="float32")
    with pytest.raises(OSError, match="there is no BLAS"):
        register_blas(library)
    assert get_library("test.x") is None


def test_the_cache_holds_nothing_of_the_process(
    functions: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIRSCRIPT_CACHE", raising=False)
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path))
    a, b = np.ones(4, "float32"), np.zeros(4, "float32")
    tirscript.build(scaled())(a, b)
    (file,) = tmp_path.glob("??/*")
    address = get_library("test.scale").address  # type: ignore[union-attr]
    assert address.to_bytes(8, "little") not in file.read_bytes()

    def refuse(*args: object, **kwargs: object) -> Any:
        raise AssertionError("compiled, though it is in the cache")

    with monkeypatch.context() as patched:
        patched.setattr("tirscript.backend.llvm.compile_functions", refuse)
        # where the function is elsewhere in the next process, the code calls it there
        twice = ctypes.CFUNCTYPE(
            None, *[ctypes.POINTER(ctypes.c_float), ctypes.c_int64, ctypes.c_float, ctypes.POINTER(ctypes.c_float)]
        )(lambda x, n, by, out: [out.__setitem__(i, x[i] + by) for i in range(n)] and None)
        signature = ["float32[n]", "n: int64", "float32", "float32[n]"]
        tirscript.register_library("test.scale", twice, signature=signature, override=True)
        tirscript.build(scaled())(a, b)
    assert b.tolist() == [4] * 4
    described = c_functions(scaled())
    tirscript.register_library("test.scale", twice, signature=["float32*", "float32", "float32*"], override=True)
    assert len(described) == 1 and c_functions(scaled()) != described
    unregister_library("test.scale")
    assert c_functions(scaled()) == []


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_blas(kind: str) -> None:
    try:
        register_blas()
    except OSError:
        pytest.skip("there is no BLAS")
    program = parsed(
        f'A: T.Buffer(("m", "k"), "{kind}"), B: T.Buffer(("k1", "n"), "{kind}"), C: T.Buffer(("m", "n"), "{kind}")',
        f'T.evaluate(T.call_packed("blas.matmul_{kind}", A.data, B.data, C.data))',
    )
    rng = np.random.default_rng(0)
    for way in WAYS:
        run = way(program)
        for m, k, n in ((3, 4, 5), (1, 7, 1), (3, 0, 2), (0, 4, 5), (2, 4, 0)):
            a, b, c = rng.random((m, k)).astype(kind), rng.random((k, n)).astype(kind), np.ones((m, n), kind)
            run(a, b, c)
            np.testing.assert_allclose(c, a @ b, rtol=1e-5)
        with pytest.raises(DiagnosticError, match=r"T301.*argument 2"):
            run(np.ones((2, 3), kind), np.ones((2, 3), kind), np.ones((2, 3), kind))


def test_the_example_runs_with_either(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        register_blas()
    except OSError:
        pytest.skip("there is no BLAS")
    runpy.run_path(str(ROOT / "examples" / "graph" / "library_matmul.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert shown.count("relative error") == 3 and shown.count('G.call_dps_packed("blas.matmul_float32"') == 2
