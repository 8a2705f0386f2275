"""Builds from the cache: the same functions without a pass or LLVM, and compiled again where anything differs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend import build as build_module
from tirscript.backend import cache as store
from tirscript.backend import cache_key, request
from tirscript.backend.default_pipeline import lowering_of
from tirscript.backend.llvm import compiling, image, module
from tirscript.backend.request import Request
from tirscript.backend.runtime import layout
from tirscript.backend.targets import chosen_target
from tirscript.ir import AllocateConst, DiagnosticError, Target, walk
from tirscript.passes import DEFAULT_LOWERING, PassContext, Sequential, get_pass
from tirscript.passes.instruments import Timing
from tirscript.passes.pipeline import PASSES, prim_func_pass
from tirscript.testing import copies, examples

ROOT = Path(__file__).resolve().parent.parent.parent
SCALE = """
from tirscript.script import tir as T

@T.prim_func
def scale(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), a: T.float32):
    for i in range(n):
        with T.block("scale"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * a
"""


@pytest.fixture(scope="module", autouse=True)
def threads() -> None:
    """The pool of threads is made by the first kernel of a process, and would be one more file of a test's cache."""
    tirscript.build(tirscript.parse(SCALE))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TIRSCRIPT_CACHE")
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("??/*"))


def refuse(*args: object, **kwargs: object) -> Any:
    raise AssertionError("compiled, though it is in the cache")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`build`, where no pass and nothing of LLVM may run."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(Sequential, "__call__", refuse)
            patch.setattr(request, "require_right", refuse)
            patch.setattr(module, "generate", refuse)
            patch.setattr(module, "optimize", refuse)
            patch.setattr(compiling, "object_of", refuse)
            return tirscript.build(*args, **kwargs)

    return run


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_examples_from_the_cache_compute_the_same(example: Any, loads: Callable[..., Any]) -> None:
    first = tirscript.build(example.kernel)
    second = loads(tirscript.parse(example.kernel.script()))
    inputs = list(example.inputs(np.random.default_rng(3)))
    one, two = copies(inputs), copies(inputs)
    assert first(*one) == second(*two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    assert second.llvm_ir() == first.llvm_ir() and second.assembly() == first.assembly()
    assert first._core.compiled.text == second._core.compiled.text
    assert tirscript.ir.structural_equal(first.lowered, second.lowered)


def test_jit_takes_from_the_cache(loads: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tirscript.build(tirscript.parse(SCALE))
    monkeypatch.setattr(build_module, "build", loads)
    f = tirscript.jit(tirscript.parse(SCALE))
    B = np.zeros(3, "float32")
    f(np.ones(3, "float32"), B, 2.0)
    assert B.tolist() == [2, 2, 2]


# -- keys


def key(text: str, **options: Any) -> str | None:
    passes = build_module._pipeline(options.pop("pipeline", "default"))
    target = chosen_target(None, options.pop("target", None))
    return cache_key.key(
        Request(tirscript.parse(text), passes, target, options.pop("opt_level", 3), options.pop("debug", False))
    )


def test_names_places_and_comments_do_not_count() -> None:
    other = SCALE.replace("vi", "other").replace("a:", "factor:").replace("* a", "* factor").replace("A", "Given")
    other = "\n\n# a comment\n" + other.replace("for i", "# about\n    for index").replace("n, i)", "n, index)")
    assert key(other) == key(SCALE) is not None


@pytest.mark.parametrize(
    "old,new",
    [
        ("scale(A", "other(A"),
        ('"float32"', '"float64"'),
        ("A[vi] * a", "a * A[vi]"),
        ("A[vi] * a", "A[vi] * a * T.float32(0.0)"),
        ("for i", 'T.func_attr({"fastmath": True})\n    for i'),
        ('("n",), "float32"), B', '("n",), "float32", align=64), B'),
        ("range(n)", "T.parallel(n)"),
        ('T.block("scale")', 'T.block("other")'),
    ],
)
def test_what_is_another_program_has_another_key(old: str, new: str) -> None:
    assert old in SCALE and None is not key(SCALE.replace(old, new)) != key(SCALE)


def test_zeros_and_nans_of_another_sign_have_other_keys() -> None:
    texts = [SCALE.replace("* a", f"* T.float32({value})") for value in ('"nan"', '"-nan"', "0.0", "-0.0", "1.0")]
    texts = [text for text in texts if _parses(text)]
    assert len(texts) >= 3 and len({key(text) for text in texts}) == len(texts)


def _parses(text: str) -> bool:
    try:
        tirscript.parse(text)
    except DiagnosticError:
        return False
    return True


def test_options_count(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = str(DEFAULT_LOWERING)
    keys = {
        "default": key(SCALE),
        "opt_level": key(SCALE, opt_level=1),
        "debug": key(SCALE, debug=True),
        "cores": key(SCALE, target="llvm -num-cores=77"),
        "processor": key(SCALE, target="llvm -mcpu=x86-64-v2"),
        "passes": key(SCALE, pipeline=[*DEFAULT_LOWERING, "simplify"]),
        "option": key(SCALE, pipeline=lowered.replace("unroll_loop", "unroll_loop{limit=3}")),
    }
    assert None not in keys.values() and len(set(keys.values())) == len(keys)
    assert (
        key(SCALE, pipeline=lowered)
        == key(SCALE, pipeline=list(DEFAULT_LOWERING))
        == key(SCALE, debug=False, pipeline=DEFAULT_LOWERING)
    )
    assert key(SCALE, pipeline=str(lowering_of(Target.parse("llvm")))) == keys["default"]


def test_sources_and_surroundings_count(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = key(SCALE)
    for at in range(len(cache_key.surroundings())):
        changed = list(cache_key.surroundings())
        changed[at] += "?"
        with monkeypatch.context() as patch:
            patch.setattr(cache_key, "surroundings", lambda changed=changed: tuple(changed))
            assert key(SCALE) not in (usual, None)
    assert key(SCALE) == usual


def test_sources_are_those_that_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("__init__.py", "ir/op.py", "passes/lower/a.py", "backend/llvm/b.py", "cli/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(cache_key, "__file__", str(tmp_path / "backend" / "cache_key.py"))
    digest = cache_key.sources.__wrapped__
    seen = [digest()]
    for name in ("__init__.py", "ir/op.py", "passes/lower/a.py", "backend/llvm/b.py"):
        (tmp_path / name).write_text("x = 2\n")
        seen.append(digest())
    (tmp_path / "ir/op.py").rename(tmp_path / "ir/other.py")
    seen.append(digest())
    assert len(set(seen)) == len(seen)
    (tmp_path / "cli/c.py").write_text("x = 2\n")
    assert digest() == seen[-1]


def test_constants_count_by_what_they_hold(folder: Path, loads: Callable[..., Any]) -> None:
    text = """
from tirscript.script import tir as T

@T.prim_func
def add(A: T.Buffer((2000,), "float32"), B: T.Buffer((2000,), "float32")):
    W = T.allocate_const(w, "float32", (2000,))
    for i in range(2000):
        B[i] = A[i] + W[i]
"""
    values = np.arange(2000, dtype="float32")
    tirscript.build(tirscript.parse(text, names={"w": values}))
    shifted = np.frombuffer(b"\0" * 4 + values.tobytes(), "float32", offset=4)  # elsewhere in memory, aligned to 4
    f = loads(tirscript.parse(text, names={"w": shifted}))
    B = np.zeros(2000, "float32")
    f(np.ones(2000, "float32"), B)
    np.testing.assert_array_equal(B, values + 1)
    tirscript.build(tirscript.parse(text, names={"w": values + 1}))
    assert len(files(folder)) == 2


def test_code_with_constants_that_passes_make_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are packed when the function is compiled: the passes make them again, and LLVM has nothing to do."""
    text = """
from tirscript.script import tir as T

@T.prim_func
def product(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    W = T.allocate_const(w, "float32", (64, 64))
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * W[vk, vj]
"""
    rng = np.random.default_rng(1)
    w, a = (rng.integers(-3, 4, (64, 64)).astype("float32") for _ in range(2))
    given = w.copy()
    first = tirscript.build(tirscript.parse(text, names={"w": given}))
    assert "64, 64" not in str([stmt.buffer.shape for stmt in walk(first.lowered) if type(stmt) is AllocateConst])
    assert files(folder)
    monkeypatch.setattr(module, "compile_functions", refuse)
    again = tirscript.build(tirscript.parse(text, names={"w": given}))
    for built in (first, again):
        found = np.zeros((64, 64), "float32")
        built(a, found)
        np.testing.assert_array_equal(found, a @ w)


def test_nothing_of_the_process_is_in_the_code(folder: Path) -> None:
    """Two processes, whose memory lies elsewhere, make the same file."""
    code = """
import sys
import numpy as np, tirscript
from tirscript.script import tir as T
held = [bytearray(100_000 * at) for at in range(int(sys.argv[1]))]  # other addresses
text = '''
from tirscript.script import tir as T

@T.prim_func
def f(A: T.Buffer((2000,), "float32"), n: T.int32, x: T.bool) -> T.int64:
    W = T.allocate_const(w, "float32", (2000,))
    S = T.allocate_const(s, "int8", (7,))
    for i in range(2000):
        A[i] = A[i] + W[i] + T.exp(W[i])
    T.call_packed("nothing", A[0], n)
    assert n > 0, "n"
    return T.int64(S[n])
'''
names = {"w": np.arange(2000, dtype="float32"), "s": np.arange(7, dtype="int8")}
tirscript.build(tirscript.parse(text, names=names), debug=True)
"""
    found = []
    for count, seed in (("1", "1"), ("30", "77")):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, count], env=environment, check=True)
        (file,) = files(folder)
        found.append(file.read_bytes())
        file.unlink()
    assert found[0] == found[1]


# -- passes from elsewhere, and watched ones


@pytest.fixture
def negate() -> Any:
    @prim_func_pass(name="cached_builds_negate")
    def negate(func: tirscript.ir.PrimFunc) -> tirscript.ir.PrimFunc:
        """`B[i] = x` becomes `B[i] = x * factor`."""
        from tirscript.ir import BufferStore, rewrite

        return rewrite(func, {BufferStore: lambda store: store.replace(value=store.value * negate_by[0])})

    negate_by = [-1.0]
    yield negate, negate_by
    del PASSES["cached_builds_negate"]


def test_passes_from_elsewhere_run_at_every_build(negate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, by = negate
    pipeline = [entry, *DEFAULT_LOWERING]
    A, B = np.ones(2, "float32"), np.zeros(2, "float32")
    for factor in (-1.0, 3.0, -1.0):
        by[0] = factor
        if factor == -1.0 and B.any():
            monkeypatch.setattr(module, "optimize", refuse)  # LLVM has nothing to do the second time
        tirscript.build(tirscript.parse(SCALE), pipeline=pipeline)(A, B, 2.0)
        assert B.tolist() == [2 * factor] * 2


def test_instruments_see_the_passes_of_a_cached_kernel() -> None:
    program = tirscript.parse(SCALE)
    tirscript.build(program)
    for _ in range(2):
        with PassContext([timing := Timing()]):
            tirscript.build(program)
        assert [str(entry) for entry in lowering_of(Target.parse("llvm"))] == [name for name, _ in timing.seconds]


def test_disabled_passes_and_configuration_count() -> None:
    usual = key(SCALE)
    with PassContext(disabled=["simplify"]):
        assert key(SCALE) != usual
    with PassContext(config={"unroll_loop.limit": 2}):
        assert key(SCALE) != usual
    assert get_pass("simplify") in DEFAULT_LOWERING and key(SCALE) == usual


# -- what is made again when it is asked for

WRONG = """
from tirscript.script import tir as T

@T.prim_func
def check(A: T.Buffer((4,), "int32"), k: T.int32):
    for row in range(2):
        assert A[k] > row, "too small"
"""


def test_what_fails_in_a_cached_kernel_is_told_in_the_words_of_this_program(loads: Callable[..., Any]) -> None:
    tirscript.build(tirscript.parse(WRONG), debug=True)
    f = loads(tirscript.parse("\n\n" + WRONG.replace("row", "line").replace("A", "Data")), debug=True)
    with pytest.raises(AssertionError) as small:
        f(np.array([5, 1, 0, 0], "int32"), 1)
    assert "too small" in str(small.value) and "line = 1" in str(small.value) and "Data[1] = 1" in str(small.value)
    with pytest.raises(DiagnosticError) as outside:
        f(np.zeros(4, "int32"), 4)
    (problem,) = outside.value.diagnostics
    assert problem.code == "T302" and "Data" in problem.message and problem.span.line == 9


def test_a_cached_kernel_calls_python_back(loads: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = """
from tirscript.script import tir as T

@T.prim_func
def f(A: T.Buffer((3,), "float32"), n: T.int32):
    T.call_packed("cached_builds.double", A.data, n)
    T.print(A[0], n)
"""
    seen = []

    def double(array: Any, n: int) -> None:
        seen.append(n)
        array *= 2

    tirscript.register_library("cached_builds.double", double, override=True)
    tirscript.build(tirscript.parse(text))
    f, A = loads(tirscript.parse(text)), np.array([1.5, 2, 3], "float32")
    f(A, 7)
    assert A.tolist() == [3, 4, 6] and seen == [7] and capsys.readouterr().out == "3.0 7\n"


def test_code_that_is_not_of_its_program_is_found_out(
    folder: Path, loads: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tirscript.build(tirscript.parse(WRONG))
    (file,) = files(folder)
    cache = store.cache()
    assert cache is not None
    data = cache.read(file.name)
    held = image.Image.decoded(data or b"")
    assert held is not None
    other = image.Image(held.code, held.entries, held.slots, held.externs, held.constants, held.calls, "other")
    cache.write(file.name, other.encoded())
    f = loads(tirscript.parse(WRONG))
    with pytest.raises(DiagnosticError, match="TIRSCRIPT_CACHE=0 avoids it"):
        f(np.zeros(4, "int32"), 1)


# -- modules, other ways of calling


def test_modules_from_the_cache(loads: Callable[..., Any]) -> None:
    text = """
from tirscript.script import ir as I, tir as T

@I.ir_module
class M:
    @T.prim_func(private=True)
    def square(A: T.Buffer(("n",), "float32")):
        for i in range(n):
            A[i] = A[i] * A[i]

    @T.prim_func
    def fourth(A: T.Buffer(("n",), "float32")):
        M.square(A)
        M.square(A)

    @T.prim_func
    def rows(S: T.Buffer(("m", "n"), "float32", strides=("s", 1)), n_: T.int64) -> T.int64:
        return T.int64(m) * 1000 + T.int64(s) * 10 + n_
"""
    tirscript.build(tirscript.parse(text))
    built = loads(tirscript.parse(text.replace("class M", "class Other").replace("M.square", "Other.square")))
    A = np.array([2, 3], "float32")
    built.fourth(A)
    assert A.tolist() == [16, 81] and [f.__name__ for f in built] == ["fourth", "rows"]
    assert built["rows"](np.zeros((4, 9), "float32")[:, :3], 5) == 4095


def test_a_call_through_ctypes_is_other_code(monkeypatch: pytest.MonkeyPatch, loads: Callable[..., Any]) -> None:
    usual = key(SCALE)
    monkeypatch.setattr(layout, "direct_calls", lambda: False)
    cache_key.surroundings.cache_clear()
    try:
        assert key(SCALE) != usual
        tirscript.build(tirscript.parse(SCALE))
        B = np.zeros(3, "float32")
        loads(tirscript.parse(SCALE))(np.ones(3, "float32"), B, 2.0)
        assert B.tolist() == [2, 2, 2]
    finally:
        cache_key.surroundings.cache_clear()


def test_a_symbol_that_this_process_lacks_is_a_diagnostic(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SCALE.replace("A[vi] * a", 'A[vi] * T.call_extern("float32", "fabsf", a)')
    f = tirscript.build(tirscript.parse(text))
    B = np.zeros(2, "float32")
    f(np.ones(2, "float32"), B, -2.0)
    assert B.tolist() == [2, 2] and len(files(folder)) == 1
    for where in (module, image):
        monkeypatch.setattr(where, "symbol_exists", lambda name: name != "fabsf")
    with pytest.raises(DiagnosticError, match="there is no C function `fabsf`"):
        tirscript.build(tirscript.parse(text))


# -- damage, and several processes


@pytest.mark.parametrize("damage", ["no image", "checksum", "empty"])
def test_damage_is_compiled_again(folder: Path, damage: str, loads: Callable[..., Any]) -> None:
    tirscript.build(tirscript.parse(SCALE))
    (file,) = files(folder)
    cache = store.cache()
    assert cache is not None
    whole, data = file.read_bytes(), cache.read(file.name)
    if damage == "no image":
        cache.write(file.name, b"\xff" + (data or b""))
    else:
        file.write_bytes(whole[:-1] + b"?" if damage == "checksum" else b"")
    B = np.zeros(3, "float32")
    tirscript.build(tirscript.parse(SCALE))(np.ones(3, "float32"), B, 3.0)
    assert B.tolist() == [3, 3, 3] and file.read_bytes() == whole
    loads(tirscript.parse(SCALE))


def test_a_folder_that_cannot_be_used_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    for _ in range(2):
        B = np.zeros(3, "float32")
        tirscript.build(tirscript.parse(SCALE))(np.ones(3, "float32"), B, 3.0)
        assert B.tolist() == [3, 3, 3]
    cache = store.cache()
    assert cache is not None and cache.problem is not None and cache.problem.startswith("Not a directory")


TOGETHER = """
import sys, time
import numpy as np, tirscript
from tirscript.examples import matmul
from tirscript.passes import DEFAULT_LOWERING
program = matmul.matmul
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    f = tirscript.build(program, pipeline=DEFAULT_LOWERING)  # without threads, whose pool would be a second file
    A, B = np.eye(128, dtype="float32"), np.arange(128 * 128, dtype="float32").reshape(128, 128)
    C = np.zeros((128, 128), "float32")
    f(A, B, C)
    assert (C == B).all()
print(type(f._core.compiled).__name__)
"""


def test_processes_that_build_the_same_at_once(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TIRSCRIPT_CHECK": "0"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    said = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, _ = worker.communicate()
        said.append((worker.returncode, out))
    assert said == [(0, "LoadedModule\n")] * 3
    (file,) = [file for file in folder.glob("??/*") if file.is_file()]
    assert not list(folder.rglob("*.tmp")) and len(file.name) == 64
