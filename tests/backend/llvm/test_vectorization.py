"""Simple kernels become vector code, and indices are computed in 64 bits exactly where that is the same."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.native import compiled, run
from helpers.script import function

from tirscript.backend.llvm import Host, emit_assembly, emit_ir, host
from tirscript.backend.llvm.ranges import Ranges
from tirscript.ir import Const, Var, const, dtype
from tirscript.ir.op import OPS, cast
from tirscript.script import parse

WIDE = host().register_bits
LANES = WIDE // 32


def vector_ops(text: str, name: str) -> int:
    """How many instructions of that name work on vectors."""
    return len(re.findall(rf"= {name} (?:\w+ )*<\d+ x ", text))


@pytest.mark.parametrize("size", ["16384", '"n"'])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_vector_add_is_vector_code(size: str, index: str) -> None:
    extent = size.strip('"')
    stop = f"T.{index}({extent})" if size.isdigit() else "n" if index == "int64" else 'T.cast(n, "int32")'
    func = function(
        f"for i in range({stop}):\n    C[i] = A[i] + B[i]",
        ", ".join(f'{b}: T.Buffer(({size},), "float32")' for b in "ABC"),
    )
    text = emit_ir(func)
    assert f"fadd <{LANES} x float>" in text


@pytest.mark.parametrize("shape", ["(128, 128)", '("n", "n")'])
def test_the_inner_loop_of_a_matmul_is_vector_code(shape: str) -> None:
    extent = "128" if "128" in shape else "n"
    body = f"for i, k, j in T.grid({extent}, {extent}, {extent}):\n    C[i, j] = C[i, j] + A[i, k] * B[k, j]"
    text = emit_ir(function(body, ", ".join(f'{b}: T.Buffer({shape}, "float32")' for b in "ABC")))
    assert f"fmul <{LANES} x float>" in text and f"fadd <{LANES} x float>" in text
    assert "fma" not in text  # nothing is contracted unless it is asked for


@pytest.mark.parametrize("kind", ["range", "T.parallel"])
def test_threads_read_at_a_distance_as_one_does(kind: str) -> None:
    """A part begins at no negative number: rows of eight at a distance of three are loaded whole, and shuffled."""
    body = f"for i in {kind}(n):\n    Y[i] = 0.0\n    for k in range(8):\n        Y[i] += X[i * 3 + k] * W[k]"
    params = 'X: T.Buffer(("n * 3 + 7",), "float32"), W: T.Buffer((8,), "float32"), Y: T.Buffer(("n",), "float32")'
    text = emit_ir(function(body, params))
    assert f"load <{3 * LANES} x float>" in text and "masked.gather" not in text


@pytest.mark.parametrize("kind", ["range", "T.parallel"])
def test_threads_know_the_rest_of_their_first_iteration(kind: str) -> None:
    """It is a multiple of 256, so the 32 bits of a word are shifted out of one, which is loaded once."""
    body = f"for i in {kind}(n * 32):\n    B[i] = T.cast(A[i // 32] >> T.cast(i % 32, 'uint32') & T.uint32(1), 'uint8')"
    text = emit_ir(function(body, 'A: T.Buffer(("n",), "uint32"), B: T.Buffer(("n * 32",), "uint8")'))
    assert "masked.gather" not in text and vector_ops(text, "lshr")


def test_flat_indices_of_constant_ranges_are_vector_code() -> None:
    """What flattening makes of `A[i, j]`: int32 arithmetic, proved not to wrap."""
    body = "for i, j in T.grid(100, 128):\n    B[i * 128 + j] = A[i * 128 + j] * T.float32(2)"
    func = function(body, 'A: T.Buffer((12800,), "float32"), B: T.Buffer((12800,), "float32")')
    written = emit_ir(func, optimized=False)
    assert "mul nsw i64" in written and "sext" not in written
    assert f"fmul <{LANES} x float>" in emit_ir(func)


def test_a_choice_between_cheap_values_is_vector_code() -> None:
    body = "for i in range(n):\n    B[i] = T.if_then_else(A[i] > T.float32(0), A[i] * T.float32(2), T.float32(1))"
    text = emit_ir(function(body, 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")'))
    assert re.search(rf"select <{LANES} x i1>", text) or f"fmul <{LANES} x float>" in text


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float16"])
def test_narrow_floats_are_vector_code(kind: str) -> None:
    text = emit_ir(
        function(
            "for i in range(n):\n    B[i] = A[i] * A[i]",
            f'A: T.Buffer(("n",), "{kind}"), B: T.Buffer(("n",), "{kind}")',
        )
    )
    assert re.search(r"fmul <\d+ x (float|half)>", text)


def test_sums_stay_in_order() -> None:
    body = "B[0] = T.float32(0)\nfor i in range(1024):\n    B[0] += A[i]"
    params = 'A: T.Buffer((1024,), "float32"), B: T.Buffer((1,), "float32")'
    func = function(body, params)
    assert not vector_ops(emit_ir(func), "fadd")
    data, into = np.random.default_rng(0).standard_normal(1024).astype("float32"), np.zeros(1, "float32")
    run(func, data, into)
    total = np.float32(0)
    for value in data:
        total += value
    assert into[0] == total
    assert vector_ops(emit_ir(function('T.func_attr({"fastmath": ["reassoc"]})\n' + body, params)), "fadd")


def test_indices_that_may_wrap_do_wrap() -> None:
    """int32 arithmetic wraps in an index too: 65536 * 65536 + 3 is 3."""
    func = function("A[n * n + 3] = 1", 'A: T.Buffer((8,), "int32"), n: T.int32')
    assert "mul i32" in emit_ir(func, optimized=False)
    data = np.zeros(8, "int32")
    run(func, data, 65536)
    assert list(data) == [0, 0, 0, 1, 0, 0, 0, 0]
    unsigned = function("A[m - T.uint8(250)] = 1", 'A: T.Buffer((8,), "int32"), m: T.uint8')
    data[:] = 0
    run(unsigned, data, 1)
    assert list(data) == [0, 0, 0, 0, 0, 0, 0, 1]


def test_parameters_carry_what_is_known_of_them() -> None:
    params = 'A: T.Buffer((4, "n"), "float32", align=64), B: T.Buffer((16,), "float64")'
    func = function('A[0, 0] = T.cast(n, "float32")\nB[0] = T.float64(1)', params)
    head = emit_ir(func, optimized=False).split("\n")[0]
    assert "ptr noalias noundef align 64 %$0" in head
    assert "ptr noalias noundef align 8 dereferenceable(128) %$1" in head
    assert "i64 noundef range(i64 0, -9223372036854775808) %$2" in head
    off = function('T.func_attr({"noalias": False})\nA[0] = T.float32(1)', 'A: T.Buffer((4,), "float32")')
    assert "ptr noundef align 4" in emit_ir(off, optimized=False).split("\n")[0]


def test_intervals_of_expressions() -> None:
    ranges = Ranges()
    i, j, n = Var("i"), Var("j"), Var("n")
    ranges.enter(i, (0, 9))
    ranges.enter(j, (-3, 4))
    cases = {
        "add": (i + j, (-3, 13)),
        "sub": (i - j, (-4, 12)),
        "mul": (i * j, (-27, 36)),
        "floordiv": (j // 2, (-2, 2)),
        "ceildiv": (OPS["ceildiv"](j, 2), (-1, 2)),
        "floormod": (j % 4, (0, 3)),
        "same": (i % 16, (0, 9)),
        "truncmod": (OPS["truncmod"](j, 3), (-2, 2)),
        "min": (OPS["min"](i, j), (-3, 4)),
        "max": (OPS["max"](i, j), (0, 9)),
        "shift": (i << 2, (0, 36)),
        "and": (n & 7, (0, 7)),
        "cast": (cast(i, "int64") * 1_000_000_000, (0, 9_000_000_000)),
        "choice": (OPS["if_then_else"](n > 0, i, j), (-3, 9)),
        "wraps": (i * 1_000_000_000, (-(2**31), 2**31 - 1)),
        "unknown": (n, (-(2**31), 2**31 - 1)),
        "negative": (-j, (-4, 3)),
    }
    for name, (expr, wanted) in cases.items():
        assert ranges.of(expr) == wanted, name
    assert ranges.exact(i + j) and not ranges.exact(i * 1_000_000_000) and not ranges.exact(n + 1)
    assert ranges.proves(i < 10) is True and ranges.proves(i >= 10) is False and ranges.proves(i < 9) is None
    equal, both = OPS["equal"], OPS["logical_and"]
    assert ranges.proves(equal(i, 10)) is False and ranges.proves(OPS["not_equal"](j, 5)) is True
    assert ranges.proves(both(i < 10, j < 5)) is True and ranges.proves(both(n > 0, i > 9)) is False
    assert ranges.proves(OPS["logical_not"](i < 10)) is False and ranges.proves(Const(True, dtype("bool"))) is True
    ranges.forget()
    ranges.enter(i, (5, 5))
    assert ranges.of(i + const(1)) == (6, 6)


def test_the_text_of_the_machine_code() -> None:
    func = function(
        "for i in range(n):\n    C[i] = A[i] + B[i]", ", ".join(f'{b}: T.Buffer(("n",), "float32")' for b in "ABC")
    )
    module = compiled(func)
    assert "tirscript_kernel_f" in emit_assembly(func) and "tirscript_kernel_f" in module.assembly()
    if host().triple.startswith("x86_64"):
        plain = Host(host().triple, "x86-64", "")
        assert "zmm" not in emit_assembly(func, target=plain) and "xmm" in emit_assembly(func, target=plain)


def test_optimization_levels_agree() -> None:
    func = parse("""
from tirscript.script import tir as T
@T.prim_func
def f(A: T.Buffer((37,), "float32"), B: T.Buffer((37,), "float32")):
    for i in range(37):
        B[36 - i] = T.exp(A[i]) // T.float32(0.3) + T.cast(i % 5, "float32")
""")
    data = np.linspace(-3, 3, 37, dtype="float32")
    results = []
    for level in range(4):
        into = np.zeros(37, "float32")
        run(func, data, into, opt_level=level)
        results.append(into.tobytes())
    assert len(set(results)) == 1
