"""What the interpreter does with memory: regions, views, what was written, vectors, strides."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from helpers.interpreter import f32, failure, program, unchecked

import tirscript
from tirscript.backend.interpreter import interpret


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


@pytest.mark.parametrize("run", [interpret, lambda f, *args: tirscript.build(f)(*args)], ids=["interpreter", "native"])
def test_vectors_run_on_into_the_next_rows(run: Any) -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((2, 2, 2), "float32"), i: T.int32):
    B[0, 0, T.ramp(0, 1, 8)] = A[i, T.ramp(i, 1, 8)]
""")
    out = f32(2, 2, 2) * 0
    run(f, f32(4, 4), out, 1)
    assert out.ravel().tolist() == [5, 6, 7, 8, 9, 10, 11, 12]


@pytest.mark.parametrize(
    ("i", "j", "odd"), [(3, 1, "A[3, 4]"), (2, 1, "A[2, 8]"), (0, -1, "A[0, -1]"), (-1, 4, "A[-1, 4]")]
)
def test_vectors_end_in_their_buffer(i: int, j: int, odd: str) -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((8,), "float32"), i: T.int32, j: T.int32):
    B[0:8] = A[i, T.ramp(j, 1, 8)]
""")
    assert f"`{odd}` is out of bounds" in failure(f, f32(4, 4), f32(8), i, j).message


def test_vectors_run_on_only_where_rows_follow_each_other() -> None:
    f = program("""
@T.prim_func
def f(a: T.handle, n: T.int32):
    s = T.int64()
    A = T.match_buffer(a, (2, 2), "float32", strides=(s, 1))
    A[0, T.ramp(n, 1, 4)] = T.broadcast(T.float32(1), 4)
""")
    assert "`A[0, 2]` is out of bounds" in failure(f, f32(2, 2), 0).message
    g = program("""
@T.prim_func
def g(A: T.Buffer((4, 4), "float32"), n: T.int32):
    for k in range(1):
        with T.block("b"):
            vk = T.axis.spatial(1, k)
            R = T.match_buffer(A[vk:vk + 2, 0:2], (2, 2), "float32", strides=("s", 1), offset_factor=1)
            R[0, T.ramp(n, 1, 4)] = T.broadcast(T.float32(1), 4)
""")
    assert "`R[0, 2]` is out of bounds" in failure(g, f32(4, 4), 0).message


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
    T.func_attr({"noalias": False})
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


def test_arguments_may_overlap_where_the_function_expects_it_only() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = A[i] + 1
""")
    data = np.arange(10, dtype=np.int32)
    with pytest.raises(tirscript.DiagnosticError, match="arguments `A` and `B` of `f` overlap in memory, and `B` is"):
        interpret(f, data[0:4], data[2:6])
    assert data.tolist() == list(range(10))
    interpret(f, data[0:4], data[4:8])
    assert data.tolist() == [0, 1, 2, 3, 1, 2, 3, 4, 8, 9]


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
