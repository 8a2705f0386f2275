"""What statements and expressions do under the interpreter."""

from __future__ import annotations

import builtins
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.script import function

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.backend.runtime.library import get_library, register_library, unregister_library
from tirscript.ir import DiagnosticError
from tirscript.script import parse

HEADER = "from tirscript.script import ir as I, tir as T\n\n\n"


def program(text: str) -> Any:
    """A function or module from its text, without the header."""
    return parse(HEADER + text.lstrip("\n"))


def unchecked(text: str) -> Any:
    """One that the verifier would refuse."""
    return program(text.replace("@T.prim_func\n", "@T.prim_func(check_well_formed=False)\n"))


def failure(*args: Any, **kwargs: Any) -> Any:
    """The one diagnostic of a run."""
    with pytest.raises(DiagnosticError) as caught:
        interpret(*args, **kwargs)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


# -- statements


def test_vector_add_with_a_symbolic_size() -> None:
    f = program("""
@T.prim_func
def add(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] + T.float32(n)
""")
    b = np.zeros(5, np.float32)
    assert interpret(f, f32(5), b) is None
    assert b.tolist() == [5, 6, 7, 8, 9]
    interpret(f, a=f32(5), b=b[:5])


def test_blocks_with_init_predicate_and_reduction() -> None:
    f = program("""
@T.prim_func
def matmul(A: T.Buffer((3, 5), "float32"), B: T.Buffer((5, 4), "float32"), C: T.Buffer((3, 4), "float32")):
    for i, j, k in T.grid(3, 8, 5):
        with T.block("C"):
            vi = T.axis.spatial(3, i)
            vj = T.axis.spatial(4, j)
            vk = T.axis.reduce(5, k)
            T.where(j < 4)
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")
    c = np.full((3, 4), np.nan, np.float32)
    interpret(f, f32(3, 5), f32(5, 4), c)
    assert np.array_equal(c, f32(3, 5) @ f32(5, 4))


def test_axis_outside_of_its_domain() -> None:
    f = unchecked("""
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("b"):
            v = T.axis.spatial(4, i)
            A[v] = i
""")
    problem = failure(f, np.zeros(8, np.int32))
    assert problem.code == "T302" and "axis `v` of block `b` is 4, which is not within 0 to 3" in problem.message


def test_while_break_continue_and_return() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((10,), "int32"), limit: T.int32) -> T.int32:
    total = 0
    for i in range(10):
        if A[i] < 0:
            continue
        if A[i] > limit:
            break
        j = 0
        while j < A[i]:
            j += 1
            total += 1
            if total >= 20:
                return -1
    return total
""")
    a = np.array([1, -5, 2, 3, 100, 7, 7, 7, 7, 7], np.int32)
    assert interpret(f, a, 50) == 6
    assert interpret(f, a, 1000) == -1
    assert type(interpret(f, a, 50)) is int


def test_loop_kinds_start_and_step() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((12,), "int32")):
    for i in T.parallel(0, 3):
        A[i] = i
    for i in T.vectorized(3, 6):
        A[i] = i
    for i in T.unroll(6, 8):
        A[i] = i
    for i in T.thread_binding(2, thread="threadIdx.x"):
        A[8 + i] = i + 8
    for i in range(11, 9, -1):
        A[i] = i
""")
    a = np.zeros(12, np.int32)
    interpret(f, a)
    assert a.tolist() == list(range(12))


def test_step_of_zero() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), s: T.int32):
    for i in range(0, 4, s):
        A[i] = i
""")
    a = np.zeros(4, np.int32)
    interpret(f, a, 2)
    assert a.tolist() == [0, 0, 2, 0]
    assert failure(f, a, 0).code == "T304"


def test_lazy_and_strict_choice() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.if_then_else(i < 4, A[i], -1)
        if i < 4 and A[i] > 0 or i == 7:
            B[i] = B[i] + 100
""")
    b = np.zeros(8, np.int32)
    interpret(f, np.array([0, 1, 2, 3], np.int32), b)
    assert b.tolist() == [0, 101, 102, 103, -1, -1, -1, 99]
    g = program("""
@T.prim_func
def g(A: T.Buffer((4,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.Select(i < 4, A[i], -1)
""")
    assert failure(g, np.zeros(4, np.int32), b).code == "T302"


def test_let_and_bindings() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), x: T.float32):
    y = x * 2.0
    A[0] = y
    a: T.float32 = y
    a += 1.0
    A[1] = a
    a, b = a * 2.0, a
    A[2] = a - b
    A[3] = T.float32(T.bfloat16(3.14159))
""")
    a = np.zeros(4, np.float32)
    interpret(f, a, 1.5)
    assert a.tolist() == [3.0, 4.0, 4.0, 3.140625]


def test_returned_values_are_pythons() -> None:
    for kind, value in (
        ("int8", -3),
        ("uint64", 2**64 - 1),
        ("float16", 0.5),
        ("float32", float(np.float32(0.1))),
        ("bool", True),
    ):
        f = program(f"""
@T.prim_func
def f(x: T.{kind}) -> T.{kind}:
    return x
""")
        got = interpret(f, value)
        assert got == value and type(got) is type(value)


def test_end_reached_without_return() -> None:
    f = unchecked("""
@T.prim_func
def f(x: T.int32) -> T.int32:
    if x > 0:
        return x
""")
    assert interpret(f, 4) == 4
    assert "returns int32" in failure(f, -1).message


# -- memory


def test_match_buffer_of_a_region_is_a_view() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(2, 2):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            s0 = T.int32()
            s1 = T.int32()
            B = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), strides=[s0, s1], offset_factor=1)
            for x, y in T.grid(4, 4):
                B[x, y] = T.cast(vi * 1000 + vj * 100 + x * 10 + y + s0 - s1 * 8, "float32")
""")
    a = np.zeros((8, 8), np.float32)
    interpret(f, a)
    assert a[5, 6] == 1112 and a[2, 7] == 123 and a[7, 0] == 1030


def test_region_outside_of_its_buffer() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((6,), "int32"), n: T.int32):
    B = T.match_buffer(A[n:n + 4], (4,), "int32")
    B[0] = 1
""")
    a = np.zeros(6, np.int32)
    interpret(f, a, 2)
    assert a.tolist() == [0, 0, 1, 0, 0, 0]
    problem = failure(f, a, 3)
    assert problem.code == "T302" and "3:7 is not within 0:6" in problem.message


def test_views_of_other_dtypes_and_shapes() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), out: T.Buffer((4,), "uint8")):
    S = T.alloc_buffer((4,), "float32")
    flat = T.decl_buffer((2, 2), "float32", data=S.data)
    bits = T.decl_buffer((16,), "uint8", data=S.data)
    for i in range(4):
        S[i] = A[i]
    flat[1, 0] = 1.0
    for i in range(4):
        out[i] = bits[8 + i]
""")
    out = np.zeros(4, np.uint8)
    interpret(f, f32(4), out)
    assert out.tobytes() == np.float32(1).tobytes()


def test_bytes_of_a_partly_written_element_are_uninitialized() -> None:
    f = program("""
@T.prim_func
def f(out: T.Buffer((1,), "int32"), n: T.int32):
    S = T.alloc_buffer((4,), "uint8")
    W = T.decl_buffer((1,), "int32", data=S.data)
    for i in range(n):
        S[i] = T.uint8(1)
    out[0] = W[0]
""")
    out = np.zeros(1, np.int32)
    interpret(f, out, 4)
    assert out[0] == 0x01010101
    problem = failure(f, out, 3)
    assert problem.code == "T303" and "`W[0]`" in problem.message


def test_view_larger_than_its_memory() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    B = T.decl_buffer((100,), "int32", data=A.data)
    for i in range(n):
        B[i] = i
""")
    a = np.zeros(4, np.int32)
    interpret(f, a, 4)
    assert a.tolist() == [0, 1, 2, 3]
    problem = failure(f, a, 5)
    assert problem.code == "T302" and "the memory of `A` has no such element" in problem.message


def test_uninitialized_read_names_buffer_element_and_iteration() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4, 2), "float32")
    for i in range(3):
        B[i, 1] = A[i]
    for i in range(4):
        A[i] = B[i, 1]
""")
    problem = failure(f, f32(4))
    assert problem.code == "T303"
    assert "`B[3, 1]` is read" in problem.message and "i = 3" in problem.notes
    assert problem.span.line == 10 and problem.span.text == "B[i, 1]"


def test_allocation_in_a_loop_is_new_memory() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2,), "int32")):
    for i in range(2):
        B = T.alloc_buffer((1,), "int32")
        if i == 0:
            B[0] = 1
        A[i] = B[0]
""")
    problem = failure(f, np.zeros(2, np.int32))
    assert problem.code == "T303" and "i = 1" in problem.notes


def test_uninitialized_scalar() -> None:
    f = unchecked("""
@T.prim_func
def f(A: T.Buffer((1,), "int32"), c: T.bool):
    x: T.int32
    if c:
        x = 1
    A[0] = x
""")
    a = np.zeros(1, np.int32)
    interpret(f, a, True)
    assert a[0] == 1
    problem = failure(f, a, False)
    assert problem.code == "T303" and "`x` is read" in problem.message


@pytest.mark.parametrize("index", [-1, 4, 2**31 - 1])
def test_indices_never_wrap_around(index: int) -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), i: T.int32, write: T.bool) -> T.int32:
    if write:
        A[i] = 1
    return A[i]
""")
    for write in (True, False):
        problem = failure(f, np.zeros(4, np.int32), index, write)
        assert problem.code == "T302" and f"`A[{index}]`" in problem.message
        assert ("a write of" in problem.message) is write


def test_out_of_bounds_in_each_dimension_and_rank() -> None:
    for rank in (2, 3):
        f = program(f"""
@T.prim_func
def f(A: T.Buffer({(3,) * rank}, "int32"), {", ".join(f"i{d}: T.int32" for d in range(rank))}, w: T.bool) -> T.int32:
    if w:
        A[{", ".join(f"i{d} + 0" for d in range(rank))}] = 1
    return A[{", ".join(f"i{d}" for d in range(rank))}]
""")
        a = np.zeros((3,) * rank, np.int32)
        for dim in range(rank):
            for bad in (-1, 3):
                index = [bad if d == dim else 0 for d in range(rank)]
                for write in (True, False):
                    problem = failure(f, a, *index, write)
                    assert f"index {bad} is not within 0 to 2, in dimension {dim}" in problem.message
        assert not a.any()
        assert interpret(f, a, *[2] * rank, True) == 1


def test_division_by_zero() -> None:
    for symbol in ("a // b", "a % b", "T.truncdiv(a, b)", "T.truncmod(a, b)", "T.ceildiv(a, b)"):
        f = program(f"""
@T.prim_func
def f(a: T.int32, b: T.int32) -> T.int32:
    return {symbol}
""")
        problem = failure(f, 1, 0)
        assert problem.code == "T304" and problem.span.text == symbol
    f = program("""
@T.prim_func
def f(a: T.float32, b: T.float32) -> T.float32:
    return a / b
""")
    assert interpret(f, 1.0, 0.0) == math.inf


def test_vector_loads_and_stores() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(2):
        B[T.ramp(i * 4, 1, 4)] = A[T.ramp(i * 4 + 3, -1, 4)] + T.broadcast(1.0, 4)
    B[8:12] = A[0:4] * A[0:4]
""")
    b = np.zeros(16, np.float32)
    interpret(f, f32(16), b)
    assert b.tolist() == [4, 3, 2, 1, 8, 7, 6, 5, 0, 1, 4, 9, 0, 0, 0, 0]


def test_vector_access_out_of_bounds_names_the_lane() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((6,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    B[T.ramp(0, 1, 4)] = A[T.ramp(n, 1, 4)]
""")
    problem = failure(f, f32(6), f32(8), 4)
    assert "`A[6]` is out of bounds" in problem.message


def test_predicated_vector_access() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(2):
        mask = T.ramp(i * 4, 1, 4) < T.broadcast(6, 4)
        B.vstore([T.ramp(i * 4, 1, 4)], A.vload([T.ramp(i * 4, 1, 4)], predicate=mask) * 2.0, predicate=mask)
""")
    b = np.zeros(6, np.float32)
    interpret(f, f32(6), b)
    assert b.tolist() == [0, 2, 4, 6, 8, 10]


def test_buffers_of_vectors() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((3,), "float32x4"), B: T.Buffer((3, 4), "float32")):
    for i in range(3):
        A[i] = A[i] + T.broadcast(1.0, 4)
        B[i, T.ramp(0, 1, 4)] = A[i]
""")
    a, b = f32(3, 4), np.zeros((3, 4), np.float32)
    interpret(f, a, b)
    assert np.array_equal(a, f32(3, 4) + 1) and np.array_equal(a, b)


def test_strided_and_overlapping_arguments() -> None:
    f = program("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    n, s, t = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (n,), "int32", strides=(s,))
    B = T.match_buffer(b, (n,), "int32", strides=(t,))
    for i in range(n):
        B[i] = A[i] + T.cast(s, "int32")
""")
    data = np.arange(10, dtype=np.int32)
    out = np.zeros(4, np.int32)
    interpret(f, data[1:9:2], out)
    assert out.tolist() == [3, 5, 7, 9]
    interpret(f, data[4::-1][:4], out)  # backwards
    assert out.tolist() == [3, 2, 1, 0]
    interpret(f, data[:4], data[1:5])  # each element is written before it is read
    assert data.tolist()[:5] == [0, 1, 2, 3, 4]


def test_zero_sized_arrays() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer(("n", 3), "int32"), B: T.Buffer(("n",), "float32")):
    for i in range(T.cast(n, "int32")):
        B[i] = T.cast(A[i, 0], "float32")
""")
    interpret(f, np.zeros((0, 3), np.int32), np.zeros(0, np.float32))


def test_bool_and_small_float_buffers() -> None:
    f = program("""
@T.prim_func
def f(M: T.Buffer((3,), "bool"), H: T.Buffer((3,), "bfloat16")):
    for i in range(3):
        M[i] = not M[i]
        H[i] = T.Select(M[i], H[i] * H[i], H[i])
""")
    m, h = np.array([True, False, True]), np.array([1.0, 1.0078125, 3.0], ml_dtypes.bfloat16)
    interpret(f, m, h)
    assert m.tolist() == [False, True, False]
    assert h.astype(float).tolist() == [1.0, 1.015625, 3.0]


# -- undefined values


def test_undef_is_no_store() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = T.if_then_else(i < 2, A[i], 0)
    B[3] = T.undef("int32")
    B[0] = 0 * T.undef("int32")
""")
    b = np.full(4, 7, np.int32)
    interpret(f, np.array([5, 6, 7, 8], np.int32), b)
    assert b.tolist() == [0, 6, 0, 0]


def test_output_that_depends_on_undef() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), fix: T.bool):
    S = T.alloc_buffer((4,), "int32")
    for i in range(4):
        S[i] = T.undef("int32")
    S[1] = 1
    for i in range(4):
        A[i] = S[i] + 1
    if fix:
        A[0] = 0
        A[2] = 0
        A[3] = 0
""")
    problem = failure(f, np.zeros(4, np.int32), False)
    assert problem.code == "T306" and "`A[0]`" in problem.message and problem.span.text == "A[i] = S[i] + 1"
    a = np.zeros(4, np.int32)
    interpret(f, a, True)
    assert a.tolist() == [0, 2, 0, 0]


@pytest.mark.parametrize(
    "line",
    [
        "A[T.undef('int32')] = 1",
        "A[0] = A[T.undef('int32')]",
        "if T.undef('bool'):\n        A[0] = 1",
        "for i in range(T.undef('int32')):\n        A[0] = 1",
        "assert T.undef('bool'), 'no'",
        "A[0] = T.if_then_else(T.undef('bool'), 1, 2)",
        "A[0] = T.call_extern('int32', 'abs', T.undef('int32'))",
    ],
)
def test_undef_may_not_decide(line: str) -> None:
    f = unchecked(f"""
@T.prim_func
def f(A: T.Buffer((4,), "int32")):
    {line}
""")
    assert failure(f, np.zeros(4, np.int32)).code == "T306"


def test_two_undefs_are_not_equal() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((3,), "bool")):
    A[0] = T.undef("int32") == T.undef("int32")
    A[1] = T.undef("int32") != T.undef("int32")
    A[2] = T.Select(True, False, T.undef("bool"))
""")
    a = np.ones(3, bool)
    interpret(f, a)
    assert a.tolist() == [False, True, False]


# -- checks of the program's own


def test_assert_tells_message_values_and_place() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    for i in range(4):
        assert A[i] < n, "too large"
""")
    interpret(f, np.arange(4, dtype=np.int32), 10)
    with pytest.raises(AssertionError) as caught:
        interpret(f, np.arange(4, dtype=np.int32), 2)
    text = str(caught.value)
    assert (
        text.startswith("too large\n") and "A[2] = 2" in text and "n = 2" in text and "i = 2" in text and ":7:" in text
    )
    assert "A[i] < n" in text


def test_assume_and_static_assert_are_checked() -> None:
    f = program("""
@T.prim_func(check_well_formed=False)
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    T.assume(n > 0)
    A[0] = 1
""")
    interpret(f, np.zeros(4, np.int32), 1)
    with pytest.raises(AssertionError, match="assumption does not hold: n > 0"):
        interpret(f, np.zeros(4, np.int32), 0)


def test_step_limit() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((1,), "int32")):
    while A[0] == 0:
        pass
""")
    problem = failure(f, np.zeros(1, np.int32), max_steps=1000)
    assert problem.code == "T309"
    interpret(f, np.ones(1, np.int32), max_steps=1000)
    with pytest.raises(TypeError, match="max_steps"):
        interpret(f, np.ones(1, np.int32), max_steps=-1)


# -- calls


MODULE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), x: T.float32):
        for i in range(n):
            B[i] = A[i] * x

    @T.prim_func(private=True)
    def fact(n: T.int64) -> T.int64:
        if n <= 1:
            return T.int64(1)
        return n * M.fact(n - 1)

    @T.prim_func
    def go(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in range(4):
            M.scale(A[i, 0:8], B[i, 0:8], T.cast(M.fact(T.cast(i, "int64")), "float32"))
"""


def test_calls_between_functions() -> None:
    m = program(MODULE)
    b = np.zeros((4, 8), np.float32)
    interpret(m, f32(4, 8), b)
    assert np.array_equal(b, f32(4, 8) * np.array([[1], [1], [2], [6]], np.float32))
    assert interpret(m, 5, entry="fact") == 120
    assert failure(m, 5, entry="fakt").hint == "did you mean `fact`?"


def test_shapes_are_checked_between_functions() -> None:
    m = program(MODULE.replace("B[i, 0:8]", "B[i, 0:7]"))
    problem = failure(m, f32(4, 8), f32(4, 8))
    assert problem.code == "T301" and "argument `B` of `scale`: expected shape (n,) = (8,), got (7,)" in problem.message


def test_endless_recursion() -> None:
    m = program("""
@I.ir_module
class M:
    @T.prim_func
    def f(n: T.int32) -> T.int32:
        return M.f(n + 1)
""")
    assert failure(m, 0).code == "T309"


def test_handles_between_functions() -> None:
    m = program("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def fill(p: T.handle("int32"), n: T.int32):
        P = T.match_buffer(p, (n,), "int32")
        for i in range(n):
            P[i] = i + 1

    @T.prim_func
    def main(A: T.Buffer((6,), "int32")):
        M.fill(A.data, 2)
        M.fill(T.address_of(A[3]), 3)
""")
    a = np.zeros(6, np.int32)
    interpret(m, a)
    assert a.tolist() == [1, 2, 0, 1, 2, 3]


def test_module_entry() -> None:
    two = program("""
@I.ir_module
class M:
    @T.prim_func
    def a() -> T.int32:
        return 1

    @T.prim_func
    def b() -> T.int32:
        return 2
""")
    assert interpret(two, entry="b") == 2
    problem = failure(two)
    assert problem.code == "T307" and problem.hint == "name one: `entry='a'`"


def test_extern_functions() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.call_extern("float32", "cosf", A[i])
    T.evaluate(T.call_extern("handle", "memcpy", B.data, A.data, T.int64(16)))
""")
    a, b = f32(4), np.zeros(4, np.float32)
    with pytest.raises(DiagnosticError, match="returned an address"):
        interpret(f, a, b)
    assert np.array_equal(a, b) and abs(a[1] - math.cos(1)) < 1e-6
    g = program("""
@T.prim_func
def g(x: T.float32) -> T.float32:
    return T.call_extern("float32", "no_such_function_anywhere", x)
""")
    assert failure(g, 1.0).code == "T307"


def test_packed_functions() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2, 2), "float32"), B: T.Buffer((1,), "int32")):
    S = T.alloc_buffer((2, 2), "float32")
    T.call_packed("test.fill", S.data, 2.5)
    for i, j in T.grid(2, 2):
        A[i, j] = S[i, j]
    B[0] = T.call_packed("test.answer")
""")

    def fill(array: np.ndarray[Any, Any], value: float) -> None:
        assert array.shape == (2, 2) and type(value) is float
        array[...] = value

    register_library("test.fill", fill)
    register_library("test.answer", lambda: 42)
    try:
        a, b = np.zeros((2, 2), np.float32), np.zeros(1, np.int32)
        interpret(f, a, b)
        assert a.tolist() == [[2.5, 2.5], [2.5, 2.5]] and b[0] == 42
        with pytest.raises(ValueError, match="registered already"):
            register_library("test.fill", print)
    finally:
        unregister_library("test.fill")
    problem = failure(f, a, b)
    assert problem.code == "T307" and "`test.fill`" in problem.message
    unregister_library("test.answer")
    assert get_library("test.answer") is None


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2,), "float32")):
    for i in range(2):
        T.print("A of", i, A[i], A[i] > 0.0)
    T.print(T.ramp(0, 2, 3))
""")
    interpret(f, np.array([0.1, -2.0], np.float32))
    assert capsys.readouterr().out == "A of 0 0.1 True\nA of 1 -2.0 False\n[0, 2, 4]\n"


def test_breakpoint_shows_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2,), "float32")):
    for i in range(2):
        x = A[i] * 2.0
        T.breakpoint()
        A[i] = x
""")
    seen = []

    def hook() -> None:
        import sys

        frame = sys._getframe(1)
        kernel = frame.f_locals["kernel"]
        seen.append(({**kernel, "A": kernel["A"].copy()}, frame.f_locals["place"]))

    monkeypatch.setattr(builtins, "breakpoint", hook)
    interpret(f, np.array([1, 2], np.float32))
    (first, place), (second, _) = seen
    assert first["i"] == 0 and first["x"] == 2.0 and first["A"].shape == (2,) and ":8:" in place and "i = 0" in place
    assert second["i"] == 1 and second["A"].tolist() == [2.0, 2.0]


def test_reinterpret_and_casts() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "uint32"), x: T.float32):
    A[0] = T.reinterpret("uint32", x)
    A[1] = T.cast(x, "uint32")
    A[2] = T.cast(T.reinterpret("float32", T.uint32(0x40490FDB)), "uint32")
    A[3] = T.cast(T.cast(x, "int8"), "uint32")
""")
    a = np.zeros(4, np.uint32)
    interpret(f, a, -1000.5)
    assert a.tolist() == [int(np.float32(-1000.5).view(np.uint32)), 0, 3, 2**32 - 128]


def test_null_handles() -> None:
    f = program("""
@T.prim_func
def f(p: T.handle) -> T.bool:
    return T.isnullptr(p)
""")
    assert interpret(f, None) is True
    assert interpret(f, np.zeros(3)) is False


def test_attributes_are_transparent() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2,), "int32")):
    with T.attr(A.data, "pragma", 1):
        A[0] = 3
""")
    a = np.zeros(2, np.int32)
    interpret(f, a)
    assert a.tolist() == [3, 0]


def test_deep_expressions() -> None:
    f = program(f"""
@T.prim_func
def f(x: T.int32) -> T.int32:
    return {"(" * 150}x{" + 1)" * 150}
""")
    assert interpret(f, 1) == 151
    from tirscript.ir import Expr, PrimFunc, Return, Var

    x = Var("x")
    total: Expr = x
    for _ in range(5000):
        total = total + 1
    assert interpret(PrimFunc("deep", (x,), (Return(total),), returns=total.dtype), 2) == 5002


def test_wrong_uses_of_interpret() -> None:
    with pytest.raises(TypeError, match="takes a prim_func or a module, not a str"):
        interpret("nothing")
    f = program("""
@T.prim_func
def f() -> T.int32:
    return 1
""")
    with pytest.raises(TypeError, match="`entry` names a function of a module"):
        interpret(f, entry="g")
    assert interpret(f, entry="f") == 1


def test_the_same_program_runs_again_with_other_arguments() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer(("n",), "int32")):
    for i in range(n):
        A[i] = A[i] + T.cast(n, "int32")
""")
    for size in (1, 3, 2):
        a = np.zeros(size, np.int32)
        interpret(f, a)
        assert a.tolist() == [size] * size


def test_scalar_whose_address_is_taken() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((2,), "float64"), v: T.float64):
    x: T.float64 = 1.5
    A[0] = T.call_extern("float64", "modf", v, T.address_of(x))
    A[1] = x
""")
    a = np.zeros(2)
    interpret(f, a, 2.75)
    assert a.tolist() == [0.75, 2.0]


def test_an_assertion_may_bind_names_of_its_own() -> None:
    made = function(
        'assert T.let("x", n + 1, lambda x: X[x % 2] + x) < 4, "small"', 'X: T.Buffer((2,), "int32"), n: T.int32'
    )
    values = np.zeros(2, np.int32)
    for run in (lambda n: interpret(made, values, n), lambda n: tirscript.build(made)(values, n)):
        run(1)
        with pytest.raises(AssertionError, match=r"small(.|\n)*n = 5"):
            run(5)
