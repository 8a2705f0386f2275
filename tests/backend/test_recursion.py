"""Functions that call each other in a cycle: recursion that ends runs, one that goes too deep is told so everywhere."""

import threading
from pathlib import Path

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.backend.recursion import DEEPEST_CALL, recursive_functions
from tirscript.ir import Module
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.passes import DEFAULT_LOWERING

SUM = """
from tirscript.script import tir as T, ir as I

@I.ir_module
class M:
    @T.prim_func
    def main(n: T.int32, A: T.Buffer((2,), "int64")):
        M.down(n, A)

    @T.prim_func(private=True)
    def down(n: T.int32, A: T.Buffer((2,), "int64")):
        L = T.alloc_buffer((100,), "int64")  # in the frame
        H = T.alloc_buffer((1000,), "int64")  # too large for the frame of a function that calls itself
        for i in range(5):
            H[i * 200] = n * i
            L[i * 20] = H[i * 200]
        if n > 0:
            M.up(n, A)
        A[1] += L[n % 5 * 20]

    @T.prim_func(private=True)
    def up(n: T.int32, A: T.Buffer((2,), "int64")):
        for p in PARTS(4):
            if p == 3:
                M.down(n - 1, A)
        M.leaf(n, A)

    @T.prim_func(private=True)
    def leaf(n: T.int32, A: T.Buffer((2,), "int64")):
        L = T.alloc_buffer((2000,), "int64")  # 16 KB, which must not become a part of 2,000 frames
        for i in range(20):
            L[i * 100] = n + i
        A[0] += L[n % 20 * 100]
"""


def _module(parts: str) -> Module:
    module = tirscript.parse(SUM.replace("PARTS", parts))
    assert isinstance(module, Module)
    return module


def _expected(n: int) -> list[int]:
    return [sum(k + k % 20 for k in range(1, n + 1)), sum(k * (k % 5) for k in range(n + 1))]


@pytest.mark.parametrize(
    ("parts", "options"), [("range", {}), ("T.parallel", {}), ("T.parallel", {"opt_level": 0, "debug": True})]
)
def test_a_recursion_with_an_end_runs_and_one_too_deep_is_told(parts: str, options: dict) -> None:
    module = _module(parts)
    native = tirscript.build(module, **options)
    for n in (0, 1, 37, (DEEPEST_CALL - 1) // 2):
        A = np.zeros(2, "int64")
        native(n, A)
        assert A.tolist() == _expected(n)
    A = np.zeros(2, "int64")
    tirscript.interpret(module, 37, A)
    assert A.tolist() == _expected(37)
    for run in (lambda: native(10**6, A), lambda: tirscript.interpret(module, 10**6, A)):
        with pytest.raises(DiagnosticError, match="nested more than 2000 deep") as refused:
            run()
        (told,) = refused.value.diagnostics
        assert told.code == "T309" and told.hint is not None
        assert told.span is not None and "M." in SUM.splitlines()[told.span.line - 1]


def test_a_thread_of_python_is_told_as_the_main_one() -> None:
    native = tirscript.build(_module("range"))
    told: list[str] = []

    def run() -> None:
        try:
            native(10**6, np.zeros(2, "int64"))
        except DiagnosticError as refused:
            told.append(refused.diagnostics[0].code)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == ["T309"] * 4


def test_the_deepest_call_is_the_same_natively_and_interpreted() -> None:
    text = """
from tirscript.script import tir as T, ir as I

@I.ir_module
class M:
    @T.prim_func
    def main(n: T.int32) -> T.int32:
        if n == 0:
            return 0
        return M.main(n - 1) + 1
"""
    module = tirscript.parse(text)
    native = tirscript.build(module)
    again = tirscript.build(module)  # from the cache where there is one
    for run in (native, again, lambda n: tirscript.interpret(module, n)):
        assert run(DEEPEST_CALL) == DEEPEST_CALL
        with pytest.raises(DiagnosticError, match="T309"):
            run(DEEPEST_CALL + 1)


def test_c_source_and_libraries_tell_it_too(tmp_path: Path) -> None:
    module = _module("range")
    native = tirscript.build(module)
    native.export(tmp_path / "librecursion.so")
    library = tirscript.load(tmp_path / "librecursion.so")
    for run in (library["main"], tirscript.build(module, target="c")):
        A = np.zeros(2, "int64")
        run(500, A)
        assert A.tolist() == _expected(500)
        with pytest.raises(DiagnosticError, match="nested more than 2000 deep") as refused:
            run(10**6, A)
        assert refused.value.diagnostics[0].code == "T309"


def test_functions_outside_of_cycles_carry_nothing() -> None:
    text = emit_ir(DEFAULT_LOWERING(_module("range")), optimized=False)
    heads = [line for line in text.splitlines() if line.startswith("define") and "tirscript_kernel" in line]
    assert len(heads) == 4
    carrying = [line for line in heads if "%depth" in line]
    assert len(carrying) == 2 and '_down"(' in carrying[0] and '_up"(' in carrying[1]


def test_what_a_cycle_is() -> None:
    calls = [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "e"), ("e", "e"), ("e", "f"), ("g", "a")]
    assert recursive_functions(calls) == {"b", "c", "e"}
    assert recursive_functions([]) == frozenset()
    assert recursive_functions([(str(k), str(k + 1)) for k in range(5000)]) == frozenset()
    # between two cycles, and in none
    assert recursive_functions([("a", "a"), ("a", "m"), ("m", "z"), ("z", "z")]) == {"a", "z"}


COUNTED = """
from tirscript.script import tir as T, ir as I

@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((3,), "KIND"), C: T.Buffer((1,), "int32")):
        A[0] = M.add(M.tick(C), M.tick(C) + M.tick(C))
        for i in range(M.tick(C) % 5):
            A[1] += M.tick(C) // M.tick(C)
        A[2] = T.if_then_else(M.tick(C) > 2, M.tick(C), M.tick(C))

    @T.prim_func(private=True)
    def add(a: T.KIND, b: T.KIND) -> T.KIND:
        return a + b

    @T.prim_func(private=True)
    def tick(C: T.Buffer((1,), "int32")) -> T.KIND:
        C[0] += 1
        return T.cast(C[0], "KIND")
"""


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "int64"])
def test_what_calls_others_is_evaluated_once(kind: str) -> None:
    module = tirscript.parse(COUNTED.replace("KIND", kind))
    found = []
    for run in (
        tirscript.build(module),
        tirscript.build(module, target="c"),
        lambda *a: tirscript.interpret(module, *a),
    ):
        A, C = np.zeros(3, kind), np.zeros(1, "int32")
        run(A, C)
        found.append([*A.tolist(), *C.tolist()])
    assert found[0] == found[1] == found[2]
    assert found[0][0] == 6  # 1 + (2 + 3)
