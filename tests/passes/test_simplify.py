"""The simplifier: what it does, what it must not do, and that values never change, wrap-around included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.passes import keeps, program, rewrites
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tirscript.backend.interpreter import interpret
from tirscript.ir import (
    AllocBuffer,
    Buffer,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    PrimFunc,
    Var,
    cast,
    const,
    dtype,
    get_op,
    verify,
)
from tirscript.ir.arith import bounds, constant_difference, expression, linear
from tirscript.ir.arith.folding import fold
from tirscript.ir.op import OPS
from tirscript.passes import get_pass, simplified
from tirscript.testing import Golden

simplify = get_pass("simplify")
i, j, n = Var("i"), Var("j"), Var("n")
RANGES = {i: (0, 7), j: (0, 3)}


def shown(expr: Any) -> str:
    return str(simplified(expr, RANGES).script(fragment=True)).strip()


def test_a_product_of_constants_in_a_sum_is_its_value() -> None:
    product = Call(OPS["mul"], (const(1), const(512)), const(1).dtype)
    assert shown(product + n * 8) == "n * 8 + 512"


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (n + 0, "n"),
        (0 + n, "n"),
        (n * 1, "n"),
        (n * 0, "0"),
        (n - n, "0"),
        (n + 3 + 4, "n + 7"),
        (n + 3 - 4, "n - 1"),
        (n * 3 * 4, "n * 12"),
        (n + i - n, "i"),
        (n * 2 - n, "n"),
        (i - (i - n), "n"),
        ((i * 4 + j) // 4, "i"),
        ((i * 4 + j) % 4, "j"),
        ((i * 4 + j + 3) // 4, "i + (j + 3) // 4"),
        ((i * 8 + j) % 4, "j"),
        ((i * 4 + j + 4) // 4, "i + 1"),
        ((j - 4) // 4, "-1"),
        ((j - 4) % 4, "j"),
        (n // 1, "n"),
        (n % 1, "0"),
        (n // 4 // 3, "n // 12"),
        ((n * 4 + j) // 4, "(n * 4 + j) // 4"),
        (n // 4 * 4, "n // 4 * 4"),
        (get_op("min")(i, 7), "i"),
        (get_op("max")(j, i + 3), "i + 3"),
        (get_op("min")(i, 6), "T.min(i, 6)"),
        (get_op("less")(i * 4 + j, 32), "True"),
        (get_op("less")(i * 4 + j, 31), "i * 4 + j < 31"),
        (get_op("greater")(i, 7), "False"),
        (get_op("less")(i, i + 1), "True"),
        (get_op("less")(n, n + 1), "n < n + 1"),
        (get_op("equal")(n, n), "True"),
        (get_op("not_equal")(i, j + 8), "True"),
        (get_op("logical_and")(i < 8, n < 3), "n < 3"),
        (get_op("logical_or")(n < 3, i < 8), "True"),
        (get_op("logical_not")(get_op("logical_not")(n < 3)), "n < 3"),
        (get_op("if_then_else")(i < 8, n, j), "n"),
        (get_op("Select")(i > 8, n, j), "j"),
        (cast(const(300), "int8"), "T.int8(44)"),
        (const(7) // const(-2), "-4"),
        (const(7) % const(-2), "-1"),
        (const(2**31 - 1) + const(1), "-2147483648"),
    ],
)
def test_expressions(expr: Expr, wanted: str) -> None:
    assert shown(expr) == wanted


def test_what_may_fail_or_differ_is_left_alone() -> None:
    keeps(
        simplify,
        """
        def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32"), n: T.int32):
            if n > 9:
                A[0] = n // 0
            A[1] = A[0] * 0 + A[1]
            B[0] = B[1] + T.float32(0)
            B[1] = B[2] * T.float32(0)
            B[2] = B[3] - B[3]
            A[3] = (n * 2) // 2
            for i in range(n):
                A[2] = i
        """,
    )


def test_statements(golden: Golden) -> None:
    rewrites(
        golden,
        simplify,
        """
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            for i in range(8):
                if i < 8:
                    A[i] = 0
                else:
                    A[i] = 1
                if i > 8:
                    A[i] = 2
            for i in range(3, 4):
                A[i] = i
            for i in range(n, n):
                A[i] = i
            for i in T.parallel(n, n + 1):
                A[i] = i
            for i in range(A[0], A[0] + 1):
                A[i] = i
            while 1 > 2:
                A[0] = 0
            assert n == n, "never"
            for i in range(4):
                if n > 0:
                    T.evaluate(0)
            for i in range(4):
                if A[i] > 0:
                    break
        """,
    )


def test_a_loop_of_one_iteration_with_a_break_stays() -> None:
    keeps(
        simplify,
        """
        def f(A: T.Buffer((8,), "int32")):
            for i in range(1):
                if A[0] > 0:
                    break
                A[0] = 1
            for t in T.thread_binding(1, thread="threadIdx.x"):
                A[t] = 1
        """,
    )


def test_axes_are_known_by_their_domains(golden: Golden) -> None:
    rewrites(
        golden,
        simplify,
        """
        def f(A: T.Buffer((4,), "int32")):
            for i in range(4):
                with T.block("A"):
                    v = T.axis.spatial(4, i)
                    T.where(i < 4)
                    A[(v * 2 + 1) // 2] = T.min(v, 5)
        """,
    )


def test_an_index_in_dead_code_stays_legal() -> None:
    func = program("""
    def f(A: T.Buffer((4,), "int32"), n: T.int32):
        for i in range(5, 6):
            if n > i:
                A[i] = 1
                A[i + 0 * n] = 2
    """)
    from tirscript.ir.verify import verify

    assert verify(simplify(func)) == []


def test_comments_of_what_goes_away_stay() -> None:
    func = program("""
    def f(A: T.Buffer((8,), "int32")):
        # why it is so
        if 1 < 2:
            A[0] = 1
        # the only one
        for i in range(1):
            # inside
            A[1] = i  # beside
    """)
    text = simplify(func).script()
    assert [text.index(word) for word in ("# why it is so", "# the only one", "# inside", "# beside")] == sorted(
        text.index(word) for word in ("# why it is so", "# the only one", "# inside", "# beside")
    )


def test_deep_sums_take_linear_time() -> None:
    total: Expr = n
    for _ in range(3000):
        total = total + i
    assert shown(total) == "n + i * 3000"
    wide: Expr = n
    for number in range(1000):
        wide = wide + Var(f"v{number}")
    assert simplified(wide) is wide


def test_folding_keeps_to_the_dtype() -> None:
    assert fold(get_op("add"), (const(200, "uint8"), const(100, "uint8")), dtype("uint8")).value == 44  # type: ignore[union-attr]
    assert fold(get_op("floordiv"), (const(1), const(0)), dtype("int32")) is None
    assert fold(get_op("shift_left"), (const(1), const(32)), dtype("int32")).value == 0  # type: ignore[union-attr]
    assert fold(get_op("shift_right"), (const(-8), const(40)), dtype("int32")).value == -1  # type: ignore[union-attr]
    assert fold(get_op("cast"), (const(3.9),), dtype("int32")).value == 3  # type: ignore[union-attr]
    assert fold(get_op("cast"), (const(1e20),), dtype("int32")) is None
    assert fold(get_op("cast"), (const(2**53 + 1, "int64"),), dtype("float32")) is None
    assert fold(get_op("div"), (const(1.0), const(0.0)), dtype("float32")) is None
    assert fold(get_op("mul"), (const(1e30), const(1e30)), dtype("float32")) is None
    small = fold(get_op("add"), (const(0.1), const(0.2)), dtype("float32"))
    assert small is not None
    assert small.value == float(np.float32(0.1) + np.float32(0.2))


def test_linear_forms() -> None:
    form = linear(i * 4 + j - 3 - (j * 2 - i))
    assert form.terms == {i: 5, j: -1}
    assert form.constant == -3
    assert expression(form).script(fragment=True).strip() == "i * 5 - j - 3"
    assert constant_difference(i * 2 + 5, i + i) == 5
    assert constant_difference(i, j) is None
    assert expression(linear(5 - i)).script(fragment=True).strip() == "5 - i"
    assert expression(linear(-i)).script(fragment=True).strip() == "-i"


def test_bounds_do_not_believe_in_sums_that_wrap() -> None:
    assert bounds(i * 4 + j, RANGES) == (0, 31)
    assert bounds(n + 1, RANGES) == (-(2**31), 2**31 - 1)
    assert bounds(i - i, RANGES) == (0, 0)
    assert bounds(n % 5, RANGES) == (0, 4)
    assert bounds(n & 6, RANGES) == (0, 6)
    assert bounds(get_op("min")(n, 3), RANGES) == (-(2**31), 3)
    assert bounds(cast(i, "int8") * const(100, "int8"), RANGES) == (-128, 127)
    assert bounds(i // -2, RANGES) == (-4, 0)


KINDS = ("int8", "uint8", "int32", "int64", "uint16")
TWO = (
    "add",
    "sub",
    "mul",
    "min",
    "max",
    "floordiv",
    "floormod",
    "truncdiv",
    "truncmod",
    "ceildiv",
    "bitwise_and",
    "shift_right",
)
TESTS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")


@st.composite
def integers(draw: Any, kind: str, names: tuple[Var, ...], depth: int) -> Expr:
    """An integer expression of small and of large parts; divisors are constants other than 0."""
    what = draw(st.integers(0, 7)) if depth else draw(st.integers(0, 1))
    if what == 0:
        low, high = dtype(kind).int_range()
        small = st.integers(max(low, -9), min(high, 9))
        return const(draw(small | st.sampled_from([low, high, high // 2])), kind)
    if what == 1:
        return cast(draw(st.sampled_from(names)), kind)
    if what == 2:
        other = draw(st.sampled_from(KINDS))
        return cast(draw(integers(other, names, depth - 1)), kind)
    if what == 3:
        test = get_op(draw(st.sampled_from(TESTS)))
        sides = [draw(integers(kind, names, depth - 1)) for _ in range(4)]
        choose = get_op(draw(st.sampled_from(("Select", "if_then_else"))))
        return choose(test(sides[0], sides[1]), sides[2], sides[3])
    name = draw(st.sampled_from(TWO))
    left = draw(integers(kind, names, depth - 1))
    if "div" in name or "mod" in name or name == "shift_right":
        right: Expr = const(draw(st.sampled_from([1, 2, 3, 4, 7])), kind)
    else:
        right = draw(integers(kind, names, depth - 1))
    return get_op(name)(left, right)


@st.composite
def kernels(draw: Any) -> PrimFunc:
    """`for i: for j: out[...] = expression of i and j`, with ranges that may be at the ends of the dtype."""
    kind = draw(st.sampled_from(KINDS))
    spans = []
    for _ in range(2):
        low = draw(st.integers(-5, 5) | st.sampled_from([2**31 - 9, -(2**31)]))
        spans.append((low, draw(st.integers(1, 5))))
    first, second = Var("i"), Var("j")
    value = draw(integers(kind, (first, second), 4))
    out = Buffer("out", (const(spans[0][1]), const(spans[1][1])), dtype(kind))
    store = BufferStore(out, (first - spans[0][0], second - spans[1][0]), value)
    loops = store
    for var, (low, count) in ((second, spans[1]), (first, spans[0])):
        loops = For(var, const(low), const(low + count), (loops,))  # type: ignore[assignment]
    return PrimFunc("f", (out,), (loops,))


@given(kernels())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_values_never_change(func: PrimFunc) -> None:
    (out,) = func.params
    assert isinstance(out, Buffer)
    small = simplify(func)
    results = []
    for one in (func, small):
        array = np.zeros(out.constant_shape(), out.dtype.name)
        interpret(one, array)
        results.append(array)
    np.testing.assert_array_equal(*results, err_msg=f"{func.script()}\n{small.script()}")


def test_the_simplifier_leaves_buffers_alone() -> None:
    buffer = Buffer("B", (Const(2, dtype("int32")) + 2,))
    func = PrimFunc("f", (), (AllocBuffer(buffer),), check_well_formed=False)
    assert simplify(func) is func


def nest_of_ones(count: int) -> PrimFunc:
    """A nest of loops that run once, in which one of them starts where another one is, around a loop that runs twice."""
    names = [f"i{at}" for at in range(count)]
    found = program(f"""
def f(A: T.Buffer(({count + 1},), "int32")):
    for {", ".join(names)} in T.grid({", ".join("1" * count)}):
        for k in range({names[0]}, {names[0]} + 1):
            for j in range(2):
                A[{" + ".join(names)} + k + j] = {names[-1]} + k
""")
    assert isinstance(found, PrimFunc)
    return found


def test_a_nest_of_loops_that_run_once_is_written_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop was written out by itself, with all below it: 2,000 took 25 seconds."""
    from tirscript.passes import simplify as module

    made = []

    def substitute(*args: Any) -> Any:
        made.append(args)
        return substitute_itself(*args)

    substitute_itself = module.substitute
    monkeypatch.setattr(module, "substitute", substitute)
    found = simplify(nest_of_ones(60))
    assert len(made) == 2  # the loop that does not start at a number is one apart
    (loop,) = found.body
    assert isinstance(loop, For)
    assert shown(loop.body[0].value) == "0"  # type: ignore[attr-defined]
    assert shown(loop.body[0].indices[0]) == "j"  # type: ignore[attr-defined]


def test_what_an_inner_loop_of_one_iteration_does_outside_stays_as_it_was() -> None:
    """An index that is out of bounds is legal where it is a variable, and not where it is a number."""
    func = program("""
def f(A: T.Buffer((4,), "int32"), n: T.int32):
    if n > 9:
        for i in range(1):
            for j in range(7, 8):
                A[i + j] = 1
""")
    assert not verify(simplify(func))
