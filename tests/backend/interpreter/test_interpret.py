"""What statements and expressions do under the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.interpreter import f32, failure, program, unchecked
from helpers.script import function

import tirscript
from tirscript.backend.interpreter import interpret

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
    with pytest.raises(TypeError, match="takes a PrimFunc, a GraphFunc or a Module, not a str; read a text with"):
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


def test_intrinsics_without_arguments_are_told() -> None:
    found = function("X[0] = T.vscale()", 'X: T.Buffer((4,), "int32")')
    with pytest.raises(tirscript.DiagnosticError, match=r"T308.*does not run `T.vscale`"):
        interpret(found, np.zeros(4, "int32"))
