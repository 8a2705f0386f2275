"""Exported libraries: what C and Python programs find in them, and what they are told of mistakes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, Module
from tirscript.ir.target_kinds import TargetKind, register_target_kind, unregister_target_kind
from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import tir as T

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
STRICT = ["-Wall", "-Wextra", "-Werror"]


@T.prim_func
def affine(A: T.Buffer(("n", 4), "float32"), alpha: T.float32, flag: T.bool, B: T.Buffer(("n", 4), "float32")):
    """Twice alpha where the flag is set."""
    for i, j in T.grid(n, 4):
        B[i, j] = A[i, j] * (alpha * 2.0 if flag else alpha)


@T.prim_func
def total(a: T.handle, limit: T.int64) -> T.int64:
    n = T.int64()
    A = T.match_buffer(a, (n,), "int64", strides=("s",))
    found = T.int64(0)
    for i in range(n):
        assert A[i] < limit, "all elements are below the limit"
        found += A[i]
    return found


@T.prim_func
def parallel(A: T.Buffer((64, 512), "float32"), B: T.Buffer((64, 512), "float32")):
    for i in T.parallel(64, annotations={"grain": 1}):
        for j in range(512):
            B[i, j] = T.exp(A[i, j])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    """A folder with a library of the functions above, in both targets, and their headers."""
    made = tmp_path_factory.mktemp("library")
    module = Module((affine, total, parallel), name="K")
    tirscript.build(module).export(made / "libk.so", header=made / "k.h")
    tirscript.build(module, target="c").export(made / "libc_k.so", header=made / "c_k.h")
    return Path(made)


MAIN = """
#include <stdio.h>
#include "%(stem)s.h"
#include "%(stem)s.h"

int main(void) {
  float a[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, b[2][4];
  int64_t shape[2] = {2, 4}, four[1] = {4}, every_other[1] = {2}, limits[4] = {1, 50, 3, 70}, sum = 0;
  int got;
  tirscript_array A = tirscript_array_of(a, TIRSCRIPT_FLOAT32, 2, shape);
  tirscript_array B = tirscript_array_of(b, TIRSCRIPT_FLOAT32, 2, shape);
  tirscript_array L = tirscript_array_of(limits, TIRSCRIPT_INT64, 1, four);
  got = affine(&A, 1.5f, true, &B);
  printf("%%d %%g %%g\\n", got, b[0][0], b[1][3]);
  got = total(&L, 100, &sum);
  printf("%%d %%lld\\n", got, (long long)sum);
  L.strides = every_other;
  four[0] = 2;
  got = total(&L, 50, &sum);
  printf("%%d %%lld\\n", got, (long long)sum);
  L.byte_offset = 8;
  got = total(&L, 60, &sum) == TIRSCRIPT_ASSERTION;
  printf("%%d %%s\\n", got, %(stem)s_message());
  got = affine(&A, 1, true, &A) == TIRSCRIPT_ARGUMENT;
  printf("%%d %%s\\n", got, %(stem)s_message());
  A.dtype_bits = 64;
  got = affine(&A, 1, true, &B) == TIRSCRIPT_ARGUMENT;
  printf("%%d %%s\\n", got, %(stem)s_message());
  got = affine(NULL, 1, true, &B) == TIRSCRIPT_ARGUMENT;
  printf("%%d %%s\\n", got, %(stem)s_message());
  return 0;
}
"""


@pytest.mark.parametrize("stem", ["k", "c_k"])
@pytest.mark.parametrize("compiler", [["gcc", "-std=c99"], ["g++", "-x", "c++", "-std=c++11"]])
def test_a_program_in_c_and_in_cpp(folder: Path, stem: str, compiler: list[str]) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"there is no {compiler[0]}")
    source, program = folder / f"{stem}_main.c", folder / f"{stem}_{compiler[0]}"
    source.write_text(MAIN % {"stem": stem})
    there = [f"-I{folder}", source, "-x", "none", folder / f"lib{stem}.so", f"-Wl,-rpath,{folder}"]
    subprocess.run([*compiler, *STRICT, *there, "-o", program], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[:3] == ["0 3 24", "0 124", "0 4"]
    assert "all elements are below the limit" in lines[3] and "70" in lines[3] and "60" in lines[3]
    assert "is written and must not overlap" in lines[4]
    assert "must hold float32" in lines[5]
    assert "must not be null" in lines[6]
    assert all(line.startswith("1 ") for line in lines[3:])


def test_python_loads_it_without_the_front_end_and_llvm(folder: Path) -> None:
    code = (
        "import sys, numpy, tirscript\n"
        f"k = tirscript.load({str(folder / 'libk.so')!r})\n"
        "a, b = numpy.ones((3, 4), 'float32'), numpy.zeros((3, 4), 'float32')\n"
        "k.affine(a, 2.0, flag=False, B=b)\n"
        "print(b.sum(), k['total'](numpy.arange(10)[::3], 100), len(k), 'affine' in k)\n"
        "print([name for name in sys.modules if name.startswith(('llvmlite', 'tirscript.script', 'tirscript.passes'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["24.0 18 3 True", "[]"]


def test_mistakes_of_python_callers(folder: Path) -> None:
    k = tirscript.load(folder / "libk.so")
    a, b = np.ones((3, 4), "float32"), np.zeros((3, 4), "float32")

    def said(function: Any, *args: Any, **kwargs: Any) -> str:
        with pytest.raises((DiagnosticError, AssertionError)) as caught:
            function(*args, **kwargs)
        return str(caught.value)

    assert "`A` of `affine` must have 2 dimensions" in said(k.affine, a[0], 1.0, True, b)
    assert "dimension 1 of `A` of `affine` does not agree" in said(k.affine, a[:, :3], 1.0, True, b)
    assert "stride 0 of `A` of `affine` does not agree" in said(
        k.affine, np.ones((3, 8), "float32")[:, :4], 1.0, True, b
    )
    assert "dimension 0 of `B` of `affine` does not agree" in said(k.affine, a, 1.0, True, b[:2])
    assert "must not overlap" in said(k.affine, b, 1.0, True, b)
    assert "expected an array of float32, got an array of float64" in said(k.affine, a.astype("f8"), 1.0, True, b)
    assert "float32 in foreign byte order" in said(k.affine, a.astype(">f4"), 1.0, True, b)
    assert "argument `A` of `affine`: expected an array for `A`, got a list" in said(k.affine, [1], 1.0, True, b)
    assert "expected an array without a mask" in said(k.affine, np.ma.masked_array(a), 1.0, True, b)
    assert "got a type: unbound method" in said(k.affine, np.ndarray, 1.0, True, b)
    assert "4 arguments (A, alpha, flag, B), but 2 are given" in said(k.affine, a, 1.0)
    assert "has no parameter `beta`" in said(k.affine, a, beta=1.0, flag=True, B=b)
    b.flags.writeable = False
    assert "expected an array that can be written, got a read-only one" in said(k.affine, a, 1.0, True, b)
    assert "all elements are below the limit" in said(k.total, np.arange(10), 5)
    with pytest.raises(AttributeError, match="did you mean 'affine'"):
        _ = k.afine
    with pytest.raises(KeyError, match="no function 'other'"):
        k["other"]


def test_parallel_loops_have_threads_of_their_own(folder: Path) -> None:
    k = tirscript.load(folder / "libk.so")
    assert k.plan.threads and not tirscript.load(folder / "libc_k.so").plan.threads
    a = np.random.default_rng(0).random((64, 512), "float32")
    for threads in (1, 2, 4):
        k.set_num_threads(threads)
        b = np.zeros_like(a)
        k.parallel(a, b)
        np.testing.assert_allclose(b, np.exp(a), rtol=1e-6)
    alone = tirscript.build(parallel, target="llvm -threads=none").export(folder / "libalone.so")
    assert not tirscript.load(alone).plan.threads


WIDE = np.random.default_rng(1).random((600, 512), "float32")  # over the size that is read from a file
NARROW = WIDE[:, :9]  # C has its elements in the text
SMALL = np.arange(4, dtype="float32")


def model(weight):
    @I.ir_module
    class Model:
        @G.function
        def main(
            x: G.Tensor(("n", 600), "float32"), pair: G.Tuple(G.Tensor((4,), "float32"), G.Tensor((4,), "float32"))
        ):
            with G.dataflow():
                y = G.matmul(x, G.const(weight))
                z = G.add(G.add(pair[0], pair[1]), G.const(SMALL))
                G.output(y, z)
            return (y, (z, y))

    return Model


@pytest.mark.parametrize(("target", "weight"), [("llvm", WIDE), ("c", NARROW)], ids=["llvm", "c"])
def test_graph_functions_with_constants_and_symbolic_shapes(tmp_path: Path, target: str, weight: Any) -> None:
    built = tirscript.build(model(weight), target=target)
    built.export(tmp_path / "libmodel.so", header=tmp_path / "model.h")
    k = tirscript.load(tmp_path / "libmodel.so")
    for n in (3, 5):
        x, p, q = np.random.default_rng(n).random((n, 600), "float32"), SMALL * 2, SMALL * 3
        y, (z, again) = k.main(x, (p, q))
        np.testing.assert_allclose(y, x @ weight, rtol=1e-4)
        np.testing.assert_allclose(z, p + q + SMALL)
        assert (again == y).all()
    header = (tmp_path / "model.h").read_text()
    assert "int32_t model_main(" in header and "int32_t model_main_shapes(" in header  # C has `main` for itself
    with pytest.raises(DiagnosticError, match="tuple of 2"):
        k.main(x, (p,))


@pytest.mark.parametrize("suffix", [".o", ".a", ".s", ".ll", ".bc"])
def test_forms_that_are_linked_or_compiled_later(tmp_path: Path, suffix: str) -> None:
    path = tirscript.build(affine).export(tmp_path / f"k{suffix}", header=tmp_path / "k.h")
    if suffix in (".ll", ".bc"):
        if shutil.which("llvm-as") is None and suffix == ".bc":
            assert path.read_bytes()[:2] == b"BC"
            return
        text = path.read_text() if suffix == ".ll" else ""
        assert suffix == ".bc" or ("define " in text and "@affine(" in text and "@k_message(" in text)
        return
    source = tmp_path / "main.c"
    source.write_text(
        '#include "k.h"\nint main(void) {\n  float a[1][4] = {{1, 2, 3, 4}}, b[1][4];\n  int64_t shape[2] = {1, 4};\n'
        "  tirscript_array A = tirscript_array_of(a, TIRSCRIPT_FLOAT32, 2, shape);\n"
        "  tirscript_array B = tirscript_array_of(b, TIRSCRIPT_FLOAT32, 2, shape);\n"
        "  return affine(&A, 2, false, &B) == 0 && b[0][3] == 8 ? 7 : 1;\n}\n"
    )
    program = tmp_path / "program"
    subprocess.run(["cc", *STRICT, source, path, "-lm", "-o", program], check=True)
    assert subprocess.run([program], check=False).returncode == 7


def test_library_calls_are_resolved_by_the_linker(tmp_path: Path) -> None:
    source, library = tmp_path / "own.c", tmp_path / "libown.so"
    source.write_text("void own_double(double *x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    name = "tests.export_own_double"
    tirscript.register_library(
        name, symbol="own_double", library=str(library), signature=["float64[n]", "n: int64"], override=True
    )
    try:
        text = (
            "from tirscript.script import tir as T\n@T.prim_func\ndef f(A: T.Buffer((3,), 'float64')):\n"
            f"    T.evaluate(T.call_packed('{name}', A.data))\n"
        )
        program = tirscript.parse(text)
        for target in ("llvm", "c"):
            made = tirscript.build(program, target=target).export(tmp_path / f"lib{target}_f.so")
            code = (
                f"import numpy, tirscript\nx = numpy.ones(3)\ntirscript.load({str(made)!r}).f(x)\nprint(x.tolist())\n"
            )
            done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            assert done.stdout.strip() == "[2.0, 2.0, 2.0]"
    finally:
        from tirscript.backend.runtime.library import unregister_library

        unregister_library(name)


def test_what_needs_python_is_refused(tmp_path: Path) -> None:
    text = "from tirscript.script import tir as T\n@T.prim_func\ndef f(A: T.Buffer((3,), 'int32')):\n    {}\n"
    printing = tirscript.build(tirscript.parse(text.format("T.print(A[0])")))
    with pytest.raises(DiagnosticError, match="prints, and an exported library runs without Python"):
        printing.export(tmp_path / "f.o")
    plain = tirscript.build(tirscript.parse(text.format("A[0] = 1")))
    with pytest.raises(DiagnosticError, match="does not say what to export by its suffix"):
        plain.export(tmp_path / "f.obj")
    with pytest.raises(DiagnosticError, match="C source comes from the target `c`"):
        plain.export(tmp_path / "f.c")
    with pytest.raises(DiagnosticError, match="cannot begin a name of C"):
        plain.export(tmp_path / "f.o", prefix="a-b")
    with pytest.raises(DiagnosticError, match="which the library has for itself"):
        tirscript.build(affine.replace(name="k_message")).export(tmp_path / "k.o")


def test_what_is_loaded_is_what_was_exported_last(tmp_path: Path) -> None:
    text = "from tirscript.script import tir as T\n@T.prim_func\ndef f() -> T.int32:\n    return {}\n"
    for number in (1, 2, 3):
        tirscript.build(tirscript.parse(text.format(number))).export(tmp_path / "libf.so")
        assert tirscript.load(tmp_path / "libf.so").f() == number


def test_load_says_what_is_no_library_of_ours(tmp_path: Path) -> None:
    source, library = tmp_path / "x.c", tmp_path / "libx.so"
    source.write_text("int f(void) { return 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    with pytest.raises(DiagnosticError, match=r"T307.*libx\.so.*no function `x_functions`"):
        tirscript.load(library)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_bounds_checks_in_libraries(tmp_path: Path, target: str) -> None:
    text = (
        "from tirscript.script import tir as T\n@T.prim_func\n"
        "def f(A: T.Buffer((3,), 'int32'), i: T.int32, d: T.int32) -> T.int32:\n    return A[i] // d\n"
    )
    built = tirscript.build(tirscript.parse(text), target=target, bounds_check=True)
    built.export(tmp_path / f"lib{target}.so", prefix="tirscript_")
    k = tirscript.load(tmp_path / f"lib{target}.so")
    A = np.array([7, 8, 9], "int32")
    assert k.f(A, 2, 2) == built(A, 2, 2) == 4
    for function in (k.f, built):
        with pytest.raises(DiagnosticError, match=r"T302.*`A\[3\]` is out of bounds.* 0 to 2"):
            function(A, 3, 1)
        with pytest.raises(DiagnosticError, match=r"T304.*division by zero"):
            function(A, 0, 0)


def test_the_example_in_c_prints_what_it_should() -> None:
    example = Path(__file__).resolve().parents[3] / "examples" / "c" / "run.py"
    done = subprocess.run([sys.executable, example], check=True, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["0.032059 0.087144 0.236883 0.643914", "0.250000 0.250000 0.250000 0.250000"]
    assert "dimension 1 of `B` of `softmax` does not agree" in lines[2]
    assert lines[-1] == "the C program printed what numpy computes"


def test_other_kinds_load_their_own_files(folder: Path, tmp_path: Path) -> None:
    assert "affine" in [one.name for one in tirscript.load(folder / "libk.so", target="llvm").plan.functions]
    with pytest.raises(DiagnosticError, match=r"T402.*files for the target `c` are not loaded here"):
        tirscript.load(folder / "libk.so", target="c")
    with pytest.raises(DiagnosticError, match=r"T402.*there is no kind of target `test_npu`"):
        tirscript.load(tmp_path / "k.npu", target="test_npu")
    kind = TargetKind("test_npu", "A kind of this test.", load=lambda path, target: (path.name, target.kind))
    register_target_kind(kind)
    try:
        assert tirscript.load(tmp_path / "k.npu", target="test_npu") == ("k.npu", "test_npu")
    finally:
        unregister_target_kind("test_npu")


@pytest.mark.skipif(sys.platform != "linux", reason="ELF is the format of Linux")
def test_a_library_that_was_cut_off_is_refused(folder: Path, tmp_path: Path) -> None:
    """The system's loader would map what is not there, and reading it ends the process."""
    whole = (folder / "libk.so").read_bytes()
    cut = tmp_path / "libk.so"
    refused = 0
    for share in range(1, 8):
        cut.write_bytes(whole[: len(whole) * share // 16])
        with pytest.raises(DiagnosticError, match=r"`libk.so` is cut off: it has [\d,]+ bytes") as caught:
            tirscript.load(cut)
        refused += caught.value.diagnostics[0].code == "T307"
    assert refused == 7
    for junk in (b"", b"\x7fELF\x02\x01", b"no library"):
        cut.write_bytes(junk)
        with pytest.raises(OSError, match=r"libk\.so"):
            tirscript.load(cut)
    cut.write_bytes(whole)
    assert "affine" in tirscript.load(cut)


LOOP = """
@T.prim_func
def {name}(A: T.Buffer((64,), "int64")):
    for i in T.parallel(64, annotations={{"grain": 1}}):
        A[i] = T.call_extern("int64", "{called}", A[i])
"""


@pytest.mark.parametrize("name", ["add", "wait", "busy", "move"])
def test_a_function_may_be_called_what_the_pool_calls_its_own(name: str, tmp_path: Path) -> None:
    lib = tirscript.load(
        tirscript.build(tirscript.parse(LOOP.format(name=name, called="labs"))).export(tmp_path / "a.so")
    )
    a = np.arange(-32, 32)
    lib[name](a)
    assert (a == abs(np.arange(-32, 32))).all()


@pytest.mark.parametrize("called", ["wait", "getenv", "sysconf", "syscall"])
def test_a_function_may_call_what_the_pool_calls(called: str, tmp_path: Path) -> None:
    made = tirscript.build(tirscript.parse(LOOP.format(name="caller", called=called))).export(tmp_path / "a.so")
    assert "caller" in tirscript.load(made)
