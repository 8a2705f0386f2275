"""LLVM's intrinsics by name: their meaning in both backends, and what is said of wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.processor import has, has_intrinsic
from helpers.script import function

import tirscript
from tirscript.backend.llvm import Host, emit_ir, host
from tirscript.backend.llvm.machine import architecture
from tirscript.backend.llvm_intrinsics import KNOWN
from tirscript.ir import DiagnosticError
from tirscript.ir.dtype import DType


def numpy_name(kind: DType) -> str:
    return str(kind.element)


def known_call(name: str, *, count: str = "", old: bool = False) -> Any:
    """A kernel that calls an intrinsic of the table; with `old`, on int32 vectors as older versions of LLVM had it."""
    known = KNOWN[name]
    vectors = known.params[len(known.tile) :]
    buffers = [*vectors, known.result]
    params = ", ".join(f'P{k}: T.Buffer(({kind.lanes},), "{kind.element}")' for k, kind in enumerate(buffers))
    given = [f"P{k}[0:{kind.lanes}]" for k, kind in enumerate(vectors)]
    if old:
        given = [
            f'T.reinterpret("int32x{kind.bits * kind.lanes // 32}", {word})'
            for kind, word in zip(vectors, given, strict=True)
        ]
    given = [*(f"T.int16({size})" for size in known.tile), *given]
    result = f"P{len(buffers) - 1}[0:{known.result.lanes}]"
    call = f'T.call_llvm_pure_intrin("{known.result}", "{name}", {count}{", ".join(given)})'
    return function(f"{result} = {call}", params)


def values(rng: np.random.Generator, kind: DType) -> np.ndarray:
    if kind.element.is_float:  # of all exponents; nan, infinities and denormal numbers are among them
        return np.frombuffer(rng.bytes(kind.lanes * kind.bits // 8), numpy_name(kind)).copy()
    low, high = kind.element.int_range()
    edge = rng.choice([low, high, 0, 1], kind.lanes)  # sums of extremes saturate
    return np.where(rng.random(kind.lanes) < 0.6, edge, rng.integers(low, high + 1, kind.lanes)).astype(
        numpy_name(kind)
    )


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_those_of_the_table_mean_what_the_processor_does(name: str) -> None:
    known = KNOWN[name]
    if not has_intrinsic(name):
        pytest.skip("this processor does not have it")
    rng = np.random.default_rng(0)
    spellings: list[dict[str, Any]] = [{}, {"count": f"T.uint32({len(known.params)}), "}]
    if known.result.element.is_int:
        spellings.append({"old": True})
    for options in spellings:
        func = known_call(name, **options)
        native = tirscript.build(func)
        for _ in range(5):
            given = [values(rng, kind) for kind in known.params[len(known.tile) :]]
            outs = [np.zeros(known.result.lanes, numpy_name(known.result)) for _ in range(2)]
            native(*given, outs[0])
            tirscript.interpret(func, *given, outs[1])
            np.testing.assert_array_equal(outs[0], outs[1])


def one(expr: str, returns: str = "float32", params: str = "x: T.float32, n: T.int32") -> Any:
    return function(f"return {expr}", params, f" -> T.{returns}")


@pytest.mark.parametrize(
    "call, result",
    [
        ('"llvm.fma", x, x, T.float32(1)', 7.25),
        ('"llvm.fma.f32", T.uint32(3), x, x, T.float32(1)', 7.25),
        ('"llvm.sqrt.f32", x * x', 2.5),
        ('"llvm.floor", T.uint32(1), x', 2.0),
        ('"llvm.copysign", x, T.float32(-1)', -2.5),
    ],
)
def test_those_that_are_operators_run_everywhere(call: str, result: float) -> None:
    func = one(f'T.call_llvm_pure_intrin("float32", {call})')
    assert tirscript.interpret(func, 2.5, 3) == result
    assert tirscript.build(func)(2.5, 3) == result


@pytest.mark.parametrize(
    "call, returns, result",
    [
        ('"llvm.maximum", x, T.float32(7)', "float32", 7.0),
        ('"llvm.maximum.f32", T.uint32(2), x, T.float32(7)', "float32", 7.0),
        ('"llvm.ctlz.i32", n, T.bool(False)', "int32", 30),
        ('"llvm.bitreverse", n', "int32", -(1 << 30)),
        ('"llvm.vector.reduce.add", T.broadcast(n, 8)', "int32", 24),
        ('"llvm.umax", T.uint32(1), T.uint32(9)', "uint32", 9),
    ],
)
def test_others_are_what_llvm_says(call: str, returns: str, result: float) -> None:
    func = one(f'T.call_llvm_pure_intrin("{returns}", {call})', returns)
    assert tirscript.build(func)(2.5, 3) == result
    with pytest.raises(DiagnosticError, match=r"T308.*does not know what the LLVM intrinsic"):
        tirscript.interpret(func, 2.5, 3)


def test_bfloat16_is_what_llvm_takes_it_for() -> None:
    func = function(
        'B[0] = T.call_llvm_pure_intrin("bfloat16", "llvm.maximum", A[0], A[1])',
        'A: T.Buffer((2,), "bfloat16"), B: T.Buffer((1,), "bfloat16")',
    )
    import ml_dtypes

    out = np.zeros(1, ml_dtypes.bfloat16)
    if architecture(host().triple) == "x86-64" and not has("avx512bf16"):
        with pytest.raises(DiagnosticError, match=r"T402.*no instruction(.|\n)*LLVM calls `__truncsfbf2` for it"):
            tirscript.build(func)
        return
    tirscript.build(func)(np.array([1.5, -3], ml_dtypes.bfloat16), out)
    assert out[0] == 1.5


def test_one_that_calls_a_compilers_library_is_refused() -> None:
    func = one('T.call_llvm_pure_intrin("float32", "llvm.powi.f32.i32", x, n)')
    with pytest.raises(DiagnosticError, match=r"T402.*no instruction(.|\n)*LLVM calls `__powisf2` for it"):
        tirscript.build(func)


def test_memory_and_prefetching() -> None:
    func = function(
        'T.call_llvm_intrin("void", "llvm.memset", T.address_of(A[1]), T.uint8(7), T.int64(8), T.bool(False))\n'
        "T.prefetch(T.address_of(A[0]), 1, locality=2)",
        'A: T.Buffer((4,), "int32")',
    )
    a = np.zeros(4, "int32")
    tirscript.build(func)(a)
    assert list(a) == [0, 0x7070707, 0x7070707, 0]
    assert "prefetch" in emit_ir(func)
    near = function("T.prefetch(T.address_of(A[0]))\nA[1] = 3", 'A: T.Buffer((4,), "int32")')
    tirscript.interpret(near, a)
    assert a[1] == 3
    for wrong in ("A[0]", "T.address_of(A[0]), 2", "T.address_of(A[0]), 0, 9"):
        with pytest.raises(DiagnosticError, match="T104"):
            function(f"T.prefetch({wrong})", 'A: T.Buffer((4,), "int32")')


@pytest.mark.parametrize(
    "returns, call, code, words",
    [
        ("float32", '"llvm.exq", x', "T307", "no intrinsic `llvm.exq`"),
        ("float32", '"sinf", x', "T307", "no intrinsic `sinf`"),
        ("float32", "T.uint32(97), T.uint32(1), x", "T104", "write its name"),
        ("float32", '"llvm.maximum", x, n', "T204", r"is \(float32, float32\) -> float32, not \(float32, int32\)"),
        ("int32", '"llvm.maximum", x, x', "T204", r"-> float32, not \(float32, float32\) -> int32|is not"),
        ("float32", '"llvm.exp", x, x', "T204", r"is \(float32\) -> float32, not \(float32, float32\)"),
        ("int32", '"llvm.ctlz.i32", x', "T204", "cannot convert"),
        ("int32", '"llvm.ctlz.i32", n, n > 2', "T204", "must be a constant"),
        ("int32", '"llvm.sadd.with.overflow", n, n', "T204", "is not"),
        ("int32", '"llvm.x86.avx2.pmadd.wd", n, n', "T204", r"is \(int16x16, int16x16\) -> int32x8, not \(int32, int32\)"),
        ("float32", '"llvm.nvvm.ex2.approx.f", x', "T402", "no instruction for `llvm.nvvm.ex2.approx.f`"),
    ],
)  # fmt: skip
def test_wrong_calls_are_told_and_end_nothing(returns: str, call: str, code: str, words: str) -> None:
    func = one(f'T.call_llvm_pure_intrin("{returns}", {call})', returns)
    with pytest.raises(DiagnosticError, match=words) as found:
        tirscript.build(func)
    assert found.value.diagnostics[0].code == code and found.value.diagnostics[0].span is not None


def test_a_processor_without_the_instruction_is_told() -> None:
    plain = Host(host().triple, "x86-64", "+sse2")
    with pytest.raises(DiagnosticError, match=r"T402.*needs avx512vnni with avx512vl or avxvnni"):
        emit_ir(known_call("llvm.x86.avx512.vpdpbusd.256"), target=plain)


def test_where_no_process_can_be_started_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(DiagnosticError, match=r"T402.*cannot be checked"):
        tirscript.build(one('T.call_llvm_pure_intrin("float32", "llvm.minimumnum", x, x)'))


def test_the_interpreter_checks_what_it_runs() -> None:
    func = function(
        'A[0:4] = T.call_llvm_pure_intrin("int32x4", "llvm.x86.sse2.pmadd.wd", A[0:4], A[0:2])',
        'A: T.Buffer((4,), "int32")',
    )
    with pytest.raises(DiagnosticError, match=r"T204.*\(int16x8, int16x8\) -> int32x4, not \(int32x4, int32x2\)"):
        tirscript.interpret(func, np.zeros(4, "int32"))


def test_a_vectorized_loop_keeps_them_scalar() -> None:
    func = function(
        'for i in T.vectorized(4):\n    A[i] = T.call_llvm_pure_intrin("float32", "llvm.fabs", A[i])',
        'A: T.Buffer((4,), "float32")',
    )
    a = np.array([-1, 2, -3, 4], "float32")
    tirscript.build(func)(a)
    assert list(a) == [1, 2, 3, 4]
