"""Statements in native code: loops of all kinds, ways out of them, memory, views, checks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from helpers.native import call, compiled, run
from helpers.script import function

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.backend.llvm.codegen import EXPRS, STMTS
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import Buffer, BufferStore, DiagnosticError, Expr, For, PrimFunc, Stmt, Var, const, dtype


def kernel(body: str, params: str, returns: str = "") -> PrimFunc:
    return function(body, params, returns)


def subclasses(cls: type) -> set[type]:
    return {cls, *(inner for sub in cls.__subclasses__() for inner in subclasses(sub))}


def test_every_class_of_statement_and_expression_has_a_rule() -> None:
    # those of graphs are lowered before
    assert {cls for cls in subclasses(Stmt) if cls.__module__ == Stmt.__module__} - {Stmt} == set(STMTS)
    assert {cls for cls in subclasses(Expr) if cls.__module__ == Expr.__module__} - {Expr} == set(EXPRS)


LOOPS = [
    (0, 5, 1),
    (3, 3, 1),
    (5, 2, 1),
    (0, 10, 3),
    (0, 9, 3),
    (10, 0, -3),
    (9, 0, -3),
    (0, 5, -1),
    (-4, 4, 5),
    (4, -5, -4),
]


@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
@pytest.mark.parametrize(("start", "stop", "step"), LOOPS)
def test_a_loop_has_the_values_of_range(start: int, stop: int, step: int, kind: str) -> None:
    body = f"""
        k = 0
        for i in range(T.{kind}({start}), T.{kind}({stop}), T.{kind}({step})):
            A[k] = i
            k += 1
        return k
    """
    dynamic = """
        k = 0
        for i in range(start, stop, step):
            A[k] = i
            k += 1
        return k
    """
    wanted = list(range(start, stop, step))
    for text, params, args in (
        (body, f'A: T.Buffer((16,), "{kind}")', ()),
        (
            dynamic,
            f'A: T.Buffer((16,), "{kind}"), start: T.{kind}, stop: T.{kind}, step: T.{kind}',
            (start, stop, step),
        ),
        (
            dynamic.replace(", step)", f", T.{kind}({step}))"),
            f'A: T.Buffer((16,), "{kind}"), start: T.{kind}, stop: T.{kind}',
            (start, stop),
        ),
    ):
        data = np.zeros(16, kind)
        assert run(kernel(text, params, " -> T.int32"), data, *args) == len(wanted)
        assert list(data[: len(wanted)]) == wanted and not data[len(wanted) :].any()


@pytest.mark.parametrize(
    ("kind", "start", "stop", "step"),
    [
        ("int64", 2**63 - 4, 2**63 - 1, 2),
        ("uint64", 2**64 - 5, 2**64 - 1, 1),
        ("uint64", 2**63 - 1, 2**63 + 2, 1),
        ("int8", 120, 127, 4),
    ],
)
def test_a_loop_at_the_limits_of_its_dtype_ends(kind: str, start: int, stop: int, step: int) -> None:
    """The next value would wrap around; the loop ends all the same."""
    body = "k = 0\nfor i in range(start, stop, step):\n    A[k] = i\n    k += 1\nreturn k"
    func = kernel(body, f'A: T.Buffer((16,), "{kind}"), start: T.{kind}, stop: T.{kind}, step: T.{kind}', " -> T.int32")
    data = np.zeros(16, kind)
    count = run(func, data, start, stop, step)
    assert [int(x) for x in data[:count]] == list(range(start, stop, step))


def test_a_step_of_zero_is_reported() -> None:
    func = kernel("for i in range(0, 4, step):\n    A[i] = 1", 'A: T.Buffer((16,), "int32"), step: T.int32')
    with pytest.raises(DiagnosticError, match=r"T304.*the step of the loop is zero"):
        run(func, np.zeros(16, "int32"), 0)
    with pytest.raises(DiagnosticError, match=r"T304.*the step of the loop is zero"):
        compiled(PrimFunc("f", (), (For(Var("i"), const(0), const(4), (), step=const(0)),)))


@pytest.mark.parametrize("kind", ["serial", "parallel", "vectorized", "unroll"])
def test_all_kinds_of_loops_compute_the_same(kind: str) -> None:
    func = kernel(f"for i in T.{kind}(2, 16):\n    A[i] = A[i] * 2 + i", 'A: T.Buffer((16,), "int32")')
    data = np.arange(16, dtype="int32")
    run(func, data)
    assert list(data) == [0, 1, *(3 * i for i in range(2, 16))]


def test_an_unrolled_loop_is_written_out_with_its_breaks() -> None:
    body = """
        for i in T.unroll(8):
            if A[i] == 0:
                continue
            if A[i] == 9:
                break
            B[i] = A[i] + i
    """
    func = kernel(body, 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")')
    assert "llvm.loop" not in emit_ir(func, optimized=False)
    into = np.zeros(8, "int32")
    run(func, np.array([1, 0, 1, 9, 1, 1, 1, 1], "int32"), into)
    assert list(into) == [1, 0, 3, 0, 0, 0, 0, 0]


def test_a_very_long_unrolled_loop_stays_a_loop() -> None:
    func = kernel("for i in T.unroll(100000):\n    A[i] = i", 'A: T.Buffer((100000,), "int32")')
    assert "llvm.loop" in emit_ir(func, optimized=False)


def test_threads_are_refused_with_a_way_out() -> None:
    func = kernel('for i in T.thread_binding(16, thread="threadIdx.x"):\n    A[i] = 0', 'A: T.Buffer((16,), "int32")')
    with pytest.raises(DiagnosticError, match=r"T402.*threadIdx.x(.|\n)*T.serial"):
        compiled(func)


def test_while_break_continue_and_return() -> None:
    body = """
        k = 0
        total = 0
        while True:
            k += 1
            if k > n:
                break
            if k % 2 == 0:
                continue
            if k == 99:
                return -1
            total += k
        return total
    """
    func = kernel(body, "n: T.int32", " -> T.int32")
    module = compiled(func)
    assert [call(module, "f", n) for n in (0, 1, 5, 98, 200)] == [0, 1, 9, sum(range(1, 99, 2)), -1]


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64", "float8_e5m2"])
def test_scalars_of_every_dtype_cross_the_call(kind: str) -> None:
    func = kernel("return x", f"x: T.{kind}", f" -> T.{kind}")
    value: Any = True if kind == "bool" else 3
    assert run(func, value) == value


# memory


def test_allocations_end_on_every_way_out() -> None:
    """Heap memory in a loop, left by the end of the body, break, continue, and by a return and a failed check, which share
    their end: as many frees as ways out."""
    body = """
        for i in range(100):
            B = T.alloc_buffer((n + i,), "float32")
            B[0] = A[i]
            if B[0] == T.float32(1):
                continue
            if B[0] == T.float32(2):
                break
            if B[0] == T.float32(3):
                return 3
            assert B[0] != T.float32(4), "four"
            A[i] = B[0] + T.float32(1)
        return 0
    """
    func = kernel(body, 'A: T.Buffer((100,), "float32"), n: T.int64', " -> T.int32")
    text = emit_ir(func, optimized=False)
    assert text.count("call ptr @aligned_alloc") == 1
    assert text.count("call void @free") == 4
    module = compiled(func)
    ones = np.ones(100, "float32")
    for _ in range(200):
        assert call(module, "f", ones, 100_000) == 0
    for value, status in ((2, 0), (3, 3)):
        assert call(module, "f", np.full(100, value, "float32"), 1000) == status
    with pytest.raises(AssertionError, match="four"):
        call(module, "f", np.full(100, 4, "float32"), 1000)


def test_small_allocations_are_in_the_frame_and_large_ones_on_the_heap() -> None:
    def text(size: int) -> str:
        return emit_ir(
            kernel(f'B = T.alloc_buffer(({size},), "int8")\nB[0] = x\nreturn B[0]', "x: T.int8", " -> T.int8"),
            optimized=False,
        )

    assert "alloca [16384 x i8], align 64" in text(16384) and "aligned_alloc" not in text(16384)
    assert "aligned_alloc(i64 64, i64 16448)" in text(16385)


def test_the_frame_is_bounded() -> None:
    lines = [f'B{k} = T.alloc_buffer((16384,), "int8")\nB{k}[x] = T.int8(0)' for k in range(20)]
    text = emit_ir(kernel("\n".join(lines), "x: T.int32"), optimized=False)
    assert text.count("x i8], align 64") == 16 and text.count("call ptr @aligned_alloc") == 4


def test_memory_that_cannot_be_had_is_an_error() -> None:
    func = kernel(
        'B = T.alloc_buffer((n,), "float32")\nB[0] = T.float32(1)\nreturn B[0]', "n: T.int64", " -> T.float32"
    )
    module = compiled(func, opt_level=0)
    with pytest.raises(DiagnosticError, match="no memory for the buffer `B`"):
        call(module, "f", 2**60)
    assert call(module, "f", 0 + 1) == 1.0


def test_strides_and_offsets_are_honoured() -> None:
    body = """
        A = T.match_buffer(a, (3, 4), "int32", strides=(s, 2), elem_offset=5)
        for i, j in T.grid(3, 4):
            A[i, j] = i * 10 + j
    """
    func = kernel("s = T.int64()\n" + body.replace("\n        ", "\n"), "a: T.handle")
    data = np.full(64, -1, "int32")
    run(func, data, symbols={"s": 9})
    wanted = np.full(64, -1, "int32")
    for i in range(3):
        for j in range(4):
            wanted[5 + 9 * i + 2 * j] = i * 10 + j
    assert (data == wanted).all()


def test_views_of_other_shape_and_dtype() -> None:
    body = """
        B = T.decl_buffer((4, 8), "uint8", data=A.data)
        for i, j in T.grid(4, 8):
            B[i, j] = T.cast(i * 8 + j, "uint8")
    """
    data = np.zeros(8, "uint32")
    run(kernel(body, 'A: T.Buffer((8,), "uint32")'), data)
    assert (data.view("uint8") == np.arange(32)).all()
    wide = kernel('B = T.decl_buffer((8,), "uint32", data=A.data)\nB[1] = T.uint32(7)', 'A: T.Buffer((32,), "uint8")')
    text = emit_ir(wide, optimized=False)
    assert "store i32 7" in text and "align 1" in text.split("store i32 7")[1].split("\n")[0]


def test_bools_are_bytes_in_memory() -> None:
    func = kernel("for i in range(8):\n    B[i] = not A[i]", 'A: T.Buffer((8,), "bool"), B: T.Buffer((8,), "bool")')
    data, into = np.array([0, 1, 2, 255, 0, 1, 0, 1], "uint8"), np.full(8, 99, "uint8")
    run(func, data, into)
    assert list(into) == [1, 0, 0, 0, 1, 0, 1, 0]


# vectors


def test_contiguous_vectors_are_loaded_whole() -> None:
    func = kernel(
        "B[T.ramp(n, 1, 8)] = A[T.ramp(4, 1, 8)] + T.broadcast(T.float32(1), 8)",
        'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32',
    )
    text = emit_ir(func, optimized=False)
    assert "load <8 x float>" in text and "store <8 x float>" in text and "gather" not in text
    data, into = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    run(func, data, into, 3)
    assert (into[3:11] == data[4:12] + 1).all() and not into[:3].any() and not into[11:].any()


@pytest.mark.parametrize(
    ("index", "wanted"),
    [
        ("T.ramp(1, 3, 4)", [1, 4, 7, 10]),
        ("T.ramp(9, -2, 4)", [9, 7, 5, 3]),
        ("T.broadcast(5, 4)", [5] * 4),
        ("X[T.ramp(0, 1, 4)]", [2, 2, 0, 15]),
        ("T.ramp(k, 1, 4) + 2", [5, 6, 7, 8]),
        ("T.ramp(k, s, 4)", [3, 5, 7, 9]),
    ],
)
def test_vectors_of_any_indices(index: str, wanted: list[int]) -> None:
    params = 'A: T.Buffer((16,), "{0}"), B: T.Buffer((16,), "{0}"), X: T.Buffer((4,), "int32"), k: T.int32, s: T.int32'
    places = np.array([2, 2, 0, 15], "int32")
    for kind in ("float32", "bool", "int8", "bfloat16"):
        data = (np.arange(16) % (2 if kind == "bool" else 16)).astype(numpy_dtype(dtype(kind)))
        gathered, scattered = np.zeros(16, data.dtype), np.zeros(16, data.dtype)
        run(kernel(f"B[T.ramp(0, 1, 4)] = A[{index}]", params.format(kind)), data, gathered, places, 3, 2)
        assert (gathered[:4] == data[wanted]).all()
        run(kernel(f"B[{index}] = A[T.ramp(0, 1, 4)]", params.format(kind)), data, scattered, places, 3, 2)
        expected = np.zeros(16, data.dtype)
        for lane, place in enumerate(wanted):
            expected[place] = data[lane]
        assert (scattered == expected).all()


def test_predicated_vectors_touch_only_their_lanes() -> None:
    body = """
        mask = T.ramp(0, 1, 8) < T.broadcast(n, 8)
        B.vstore([T.ramp(0, 1, 8)], A.vload([T.ramp(0, 1, 8)], predicate=mask), predicate=mask)
        C.vstore([T.ramp(0, 2, 8)], A.vload([T.ramp(0, 1, 8)], predicate=mask), predicate=mask)
    """
    func = kernel(
        body, 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((16,), "int32"), n: T.int32'
    )
    assert "masked.load" in emit_ir(func, optimized=False)
    data, into, spread = np.arange(1, 9, dtype="int32"), np.full(8, -1, "int32"), np.full(16, -1, "int32")
    run(func, data, into, spread, 3)
    assert list(into) == [1, 2, 3, -1, -1, -1, -1, -1]
    assert list(spread[:8]) == [1, -1, 2, -1, 3, -1, -1, -1]


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A[0:4] = T.Select(T.ramp(0, 1, 4) < n, 7, 8)", [7, 7, 8, 8]),
        ("A[0:4] = 7 if T.ramp(0, 1, 4) < n else A[0]", [7, 7, 1, 1]),
        ("A.vstore([T.ramp(0, 1, 4)], 7, predicate=n > 1)", [7, 7, 7, 7]),
        ("A.vstore([T.ramp(0, 1, 4)], A.vload([T.ramp(1, 0, 4)], predicate=True), predicate=n > 2)", [1, 2, 3, 4]),
    ],
)
def test_one_value_or_predicate_is_for_all_lanes(body: str, expected: list[int], target: str) -> None:
    func = kernel(body, 'A: T.Buffer((4,), "int32"), n: T.int32')
    native, interpreted = np.arange(1, 5, dtype="int32"), np.arange(1, 5, dtype="int32")
    tirscript.build(func, target=target, bounds_check=target == "llvm")(native, 2)
    tirscript.interpret(func, interpreted, 2)
    assert list(native) == list(interpreted) == expected


def test_buffers_of_vectors() -> None:
    body = "for i in range(4):\n    B[3 - i] = A[i] + A[i]"
    func = kernel(body, 'A: T.Buffer((4,), "float32x3"), B: T.Buffer((4,), "float32x3")')
    data, into = np.arange(12, dtype="float32"), np.zeros(12, "float32")
    run(func, data, into)
    assert (into.reshape(4, 3) == 2 * data.reshape(4, 3)[::-1]).all()


# checks


def test_a_failed_assert_tells_the_values() -> None:
    body = """
        for i in range(8):
            assert A[i] < limit, "too large"
            A[i] = 0
    """
    func = kernel(body, 'A: T.Buffer((8,), "int32"), limit: T.int32')
    data = np.array([1, 2, 7, 1, 1, 1, 1, 1], "int32")
    with pytest.raises(AssertionError) as caught:
        run(func, data, 5)
    text = str(caught.value)
    assert "too large" in text and "A[2] = 7, limit = 5" in text and "i = 2" in text and "assert A[i] < limit" in text
    assert list(data[:3]) == [0, 0, 7]


def test_an_assert_tells_floats_as_their_dtype_shows_them_and_does_not_evaluate_lazy_sides() -> None:
    func = kernel(
        "assert x > T.float32(1) and A[n] > T.float32(0)", 'A: T.Buffer((4,), "float32"), x: T.float32, n: T.int64'
    )
    with pytest.raises(AssertionError, match=r"x = 0\.1$"):
        run(func, np.zeros(4, "float32"), 0.1, 10**12)


def test_asserts_that_bounds_prove_cost_nothing() -> None:
    func = kernel("for i in range(16):\n    assert i * 2 < 32\n    A[i] = 0", 'A: T.Buffer((16,), "int32")')
    assert "failed" not in emit_ir(func, optimized=False)


def test_static_asserts_are_proved_or_told() -> None:
    compiled(kernel("for i in range(4):\n    T.static_assert(i < 4)\n    A[i] = 0", 'A: T.Buffer((4,), "int32")'))
    with pytest.raises(
        DiagnosticError,
        match=r"T403.*could not be proved: why(.|\n)*`n` is known to be between -2147483648 and 2147483647(.|\n)*use `assert`",
    ):
        compiled(kernel('T.static_assert(n > 3, "why")', "n: T.int32"))
    with pytest.raises(DiagnosticError, match=r"T403.*is false"):
        compiled(kernel("for i in range(4):\n    T.static_assert(i > 4)\n    A[i] = 0", 'A: T.Buffer((4,), "int32")'))


def test_an_assumption_reaches_the_optimizer() -> None:
    func = kernel(
        "T.assume(n > 0)\nif n > 0:\n    A[0] = 1\nelse:\n    A[0] = 12345", 'A: T.Buffer((4,), "int32"), n: T.int32'
    )
    assert "12345" not in emit_ir(func)
    data = np.zeros(4, "int32")
    run(func, data, 1)
    assert data[0] == 1


@pytest.mark.parametrize(("index", "bad"), [("n", 16), ("n", -1), ("n - 20", 5)])
def test_a_debug_build_reports_indices_out_of_bounds(index: str, bad: int) -> None:
    func = kernel(
        f"A[0, {index}] = B[{index}]", 'A: T.Buffer((2, 16), "int32"), B: T.Buffer((16,), "int32"), n: T.int32'
    )
    value = bad - 20 if "20" in index else bad
    with pytest.raises(DiagnosticError) as caught:
        run(func, np.zeros((2, 16), "int32"), np.zeros(16, "int32"), bad, debug=True)
    assert f"read of `B[{value}]` is out of bounds: index {value} is not within 0 to 15" in str(caught.value)
    assert "[T302]" in str(caught.value)


def test_a_debug_build_names_the_dimension_and_the_lane() -> None:
    func = kernel("for i in range(3):\n    A[i, n] = 1", 'A: T.Buffer((2, 16), "int32"), n: T.int32')
    with pytest.raises(
        DiagnosticError,
        match=r"write of `A\[2, 3\]` is out of bounds: index 2 is not within 0 to 1, in dimension 0(.|\n)*i = 2",
    ):
        run(func, np.zeros((2, 16), "int32"), 3, debug=True)
    lanes = kernel("A[T.ramp(n, 3, 4)] = T.broadcast(1, 4)", 'A: T.Buffer((16,), "int32"), n: T.int32')
    with pytest.raises(DiagnosticError, match=r"write of `A\[17\]` is out of bounds"):
        run(lanes, np.zeros(16, "int32"), 8, debug=True)
    run(lanes, np.zeros(16, "int32"), 6, debug=True)


def test_indices_known_to_be_inside_are_not_checked() -> None:
    func = kernel("for i, j in T.grid(4, 4):\n    A[i * 4 + j] = 1", 'A: T.Buffer((16,), "int32")')
    assert "failed" not in emit_ir(func, optimized=False, debug=True)
    assert "failed" in emit_ir(
        kernel("for i in range(17):\n    A[i] = 1", 'A: T.Buffer((16,), "int32")'), optimized=False, debug=True
    )


@pytest.mark.parametrize("operator", ["//", "%"])
def test_division_by_zero_is_0_and_an_error_in_a_debug_build(operator: str) -> None:
    func = kernel(f"return x {operator} y", "x: T.int32, y: T.int32", " -> T.int32")
    assert run(func, 7, 0) == 0
    with pytest.raises(DiagnosticError, match=r"T304.*integer division by zero(.|\n)*x = 7, y = 0"):
        run(func, 7, 0, debug=True)
    assert "failed" not in emit_ir(kernel(f"return x {operator} 3", "x: T.int32", " -> T.int32"), debug=True)


def test_only_one_side_of_a_choice_is_evaluated() -> None:
    func = kernel(
        "return A[n] if n < 4 else T.float32(-1)", 'A: T.Buffer((4,), "float32"), n: T.int64', " -> T.float32"
    )
    module = compiled(func, opt_level=0)
    assert call(module, "f", np.ones(4, "float32"), 2) == 1
    assert call(module, "f", np.ones(4, "float32"), 10**13) == -1
    both = kernel(
        "if n < 4 and A[n] > T.float32(0):\n    return 1\nif n >= 4 or A[n] > T.float32(5):\n    return 2\nreturn 3",
        'A: T.Buffer((4,), "float32"), n: T.int64',
        " -> T.int32",
    )
    module = compiled(both, opt_level=0)
    assert [call(module, "f", np.array([1, 9, -1, -1], "float32"), n) for n in (0, 2, 10**13)] == [1, 3, 2]


def test_cheap_choices_are_selects() -> None:
    func = kernel("B[0] = x if x < y else y + 1", 'B: T.Buffer((1,), "int32"), x: T.int32, y: T.int32')
    text = emit_ir(func, optimized=False)
    assert "select" in text and "phi" not in text


def test_a_block_must_be_lowered_first() -> None:
    func = kernel('with T.block("b"):\n    A[0] = 0', 'A: T.Buffer((16,), "int32")')
    with pytest.raises(DiagnosticError, match=r"T401.*block `b`"):
        compiled(func)


def test_fast_math_is_on_only_where_asked() -> None:
    params = 'A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")'
    body = "B[0] = T.float32(0)\nfor i in range(64):\n    B[0] = B[0] + A[i]"
    assert not re.search(r"fadd (fast|reassoc|contract)", emit_ir(kernel(body, params)))
    assert "fadd fast" in emit_ir(kernel('T.func_attr({"fastmath": True})\n' + body, params), optimized=False)
    assert "fadd reassoc nsz float" in emit_ir(
        kernel('T.func_attr({"fastmath": ["reassoc", "nsz"]})\n' + body, params), optimized=False
    )
    for wrong in ('"quick"', '("nsz", "contarct")', "3", '{"nsz": 1}', "(1,)"):
        with pytest.raises(DiagnosticError, match=r"T404.*fast-?math"):
            compiled(kernel(f'T.func_attr({{"fastmath": {wrong}}})\n' + body, params))
    for none in ("False", "None", "()", "T.bool(False)"):
        text = emit_ir(kernel(f'T.func_attr({{"fastmath": {none}}})\n' + body, params), optimized=False)
        assert "fadd float" in text


def test_a_thousand_nested_expressions() -> None:
    func = kernel("return " + " + ".join(["x"] * 1001), "x: T.int32", " -> T.int32")
    assert run(func, 3) == 3 * 1001


@pytest.mark.parametrize("name", ["3d", "", "x y", "größe", 'a"b\\', "entry", "error"])
def test_any_name_is_possible(name: str) -> None:
    """Names are hints: programs made by other means may hold what no text can."""
    var, buffer = Var(name), Buffer(name, (const(4),), dtype("int32"))
    func = PrimFunc(name, (buffer,), (For(var, const(0), const(4), (BufferStore(buffer, (var,), var + 1),)),))
    data = np.zeros(4, "int32")
    run(func, data)
    assert list(data) == [1, 2, 3, 4]


@pytest.mark.parametrize(("depth", "left"), [(100, False), (140, True)])
def test_loops_that_llvm_would_not_come_to_an_end_with_are_left_as_they_are(depth: int, left: bool) -> None:
    """Its time grows with the cube of how many are in each other."""
    names = [f"i{at}" for at in range(depth)]
    sizes = ["2" if at % 16 == 3 else "1" for at in range(depth)]
    func = kernel(
        f"""
        for {", ".join(names)} in T.grid({", ".join(sizes)}):
            A[0] = A[0] + 1.0
        return 0
        """,
        'A: T.Buffer((1,), "float32")',
        " -> T.int32",
    )
    text = emit_ir(func, optimized=False)
    assert ("optnone" in text) is left
    found = np.zeros(1, "float32")
    assert call(compiled(func), "f", found) == 0
    assert found == 2 ** sizes.count("2")
