"""Proofs by Presburger arithmetic: right by brute force, None where unknown, counterexamples that are ones."""

from __future__ import annotations

import itertools
import sys
from unittest import mock

import islpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.ir import Buffer, BufferLoad, Call, Expr, Let, Var, const, dtype, get_op
from tirscript.ir.arith.evaluate import evaluate
from tirscript.ir.arith.presburger import counterexample, prove
from tirscript.ir.arith.presburger.limits import Unknown, bounded, context
from tirscript.ir.arith.presburger.points import point_in

equal, either, both, minimum, maximum = map(get_op, ("equal", "logical_or", "logical_and", "min", "max"))
i, j, n, m = (Var(name) for name in "ijnm")
A = Buffer("A", (const(16),), dtype("int32"))
F = Buffer("F", (const(16),), dtype("float32"))
LET = Let(m, i % 5, m + 1)
POSITIVE = (0, 2**31 - 1)

PROVED = {
    "affine": (4 * i + j < 16, {i: (0, 3), j: (0, 3)}, []),
    "a range beyond the type": (i >= 1, {i: (1, 1 << 31)}, []),
    "under a fact": (4 * i + j < 14, {i: (0, 3), j: (0, 3)}, [either(i < 3, j < 2)]),
    "a symbolic extent": (i < n + 1, {}, [i < n, n <= 1000, i >= 0]),
    "quotient of a fused index": (equal((i * 16 + j) // 16, i), {i: (0, 100), j: (0, 15)}, []),
    "remainder of a fused index": (equal((i * 16 + j) % 16, j), {i: (0, 100), j: (0, 15)}, []),
    "a negative divisor": (equal(i // -3 * -3 + i % -3, i), {i: (-(10**8), 10**8)}, []),
    "remainder by a symbol": (i % n < n, {i: (-9, 10**9)}, [n > 0]),
    "quotient by a symbol": (i // n <= i, {i: POSITIVE}, [n > 0]),
    "extremes": (minimum(i, j) + maximum(i, j) <= i + j, {i: (0, 1000), j: (-500, 500)}, []),
    "not affine, in bounds": (i * j <= 90, {i: (0, 10), j: (0, 9)}, []),
    "not affine, by trying": (get_op("not_equal")(i * j, 13), {i: (0, 10), j: (0, 9)}, []),
    "equal loads": (BufferLoad(A, (i,)) <= 5, {i: (0, 7)}, [BufferLoad(A, (i,)) < 3]),
    "equal comparisons of floats": (BufferLoad(F, (i,)) < 1.0, {i: (0, 7)}, [BufferLoad(F, (i,)) < 1.0]),
    "sums that cancel whatever wraps": (equal(i + 5 - j - i + j, 5), {}, []),
    "a let": (Let(n, i + 1, n > i), {i: (0, 5)}, []),
    "a let that is read behind": (both(LET < 6, equal(BufferLoad(A, (LET,)), BufferLoad(A, (LET,)))), {}, []),
    "contradicting facts": (i < 0, {i: (0, 5)}, [i > 3, i < 2]),
    "rounding up": (get_op("ceildiv")(i, 4) * 4 - i < 4, {i: (-100, 100)}, []),
    "a mask": (get_op("bitwise_and")(i, 7) < 8, {}, []),
    "wide casts": (equal(i.astype("int64") + 1, j.astype("int64")), {}, [equal(i + 1, j), i < 100]),
}
REFUTED = {
    "affine": (4 * i + j < 14, {i: (0, 3), j: (0, 3)}, [], {i: 3, j: 2}),
    "wrapping": (i + 1 > i, {}, [], {i: 2**31 - 1}),
    "wrapping of an extent": (i < n + 1, {i: POSITIVE}, [i < n], {i: None, n: 2**31 - 1}),
    "a narrow cast": (equal(i.astype("int8").astype("int32"), i), {i: (-200, 127)}, [], {i: None}),
    "not affine": (i * j < 90, {i: (0, 10), j: (0, 9)}, [], {i: 10, j: 9}),
    "what is read": (BufferLoad(A, (i,)) < 5, {i: (0, 7)}, [], {i: None}),
    "an unsigned difference": (
        Var("u", dtype("uint8")) - Var("v", dtype("uint8")) <= Var("u", dtype("uint8")),
        {},
        [],
        {},
    ),
}
UNKNOWN = {
    "floats": (BufferLoad(F, (i,)) < 1.0, {i: (0, 7)}, []),
    "floats that contradict": (either(BufferLoad(F, (i,)) < 1.0, BufferLoad(F, (i,)) >= 1.0), {i: (0, 7)}, []),
    "two undefs": (equal(Call(get_op("undef"), (), dtype("int32")), Call(get_op("undef"), (), dtype("int32"))), {}, []),
    "products of symbols": (i * j < n * m, {}, [i < n, j < m, i >= 0, j >= 0]),
    "division by what may be zero": (i // n <= i, {i: (0, 5000), n: (0, 5000)}, []),
}


@pytest.mark.parametrize("case", PROVED)
def test_is_proved(case: str) -> None:
    condition, ranges, facts = PROVED[case]
    assert prove(condition, ranges, facts) is True
    assert counterexample(condition, ranges, facts) is None


@pytest.mark.parametrize("case", REFUTED)
def test_is_refuted(case: str) -> None:
    condition, ranges, facts, expected = REFUTED[case]
    assert prove(condition, ranges, facts) is False
    found = counterexample(condition, ranges, facts)
    assert found is not None
    for var, value in expected.items():
        assert var in found.values and value in (None, found.values[var])
    assert evaluate(condition, found.values, found.memory) == 0
    assert all(evaluate(fact, found.values, found.memory) for fact in facts)


@pytest.mark.parametrize("case", UNKNOWN)
def test_is_unknown(case: str) -> None:
    condition, ranges, facts = UNKNOWN[case]
    assert prove(condition, ranges, facts) is None
    assert counterexample(condition, ranges, facts) is None


def test_the_counterexample_says_what_is_read() -> None:
    found = counterexample(BufferLoad(A, (i + 1,)) < 5, {i: (2, 7)})
    assert str(found) == "i = 2, A[3] = 5"


def test_loads_of_one_element_have_one_value() -> None:
    # only with i == j, where both loads are of the same element, could the condition be false
    condition = equal(BufferLoad(A, (i,)), BufferLoad(A, (j,)))
    assert prove(condition, {i: (2, 2), j: (2, 2)}) is None


def test_bound_names_stand_for_their_values() -> None:
    k = Var("k")
    assert prove(k % 4 < 3, {i: (0, 2), j: (0, 9)}, values={k: j * 4 + i}) is True
    found = counterexample(k < 38, {i: (0, 2), j: (0, 9)}, values={k: j * 4 + i})
    assert found is not None and found.values == {i: 2, j: 9}


def test_too_large_is_unknown() -> None:
    total: Expr = const(0)
    for at in range(5000):
        total = total + minimum(Var(f"v{at}"), 3) % 5
    assert prove(total >= 0) is None


def test_too_much_work_is_unknown_and_silent(capfd: pytest.CaptureFixture[str]) -> None:
    names = [Var(f"v{at}") for at in range(6)]
    a, b, c, d, e, f = names
    facts = [
        equal((7 * a + 11 * b + 13 * c) % 17, (5 * d + 3 * e) % 19),
        (9 * a + 2 * f) % 23 + (3 * b + c) % 29 < (d + 31 * e) % 37,
        (41 * a + b + 43 * f) % 47 < (c + 53 * d) % 59,
    ]
    condition = get_op("not_equal")((a * 3 + b * 5 + c * 7 + d * 11 + e * 13 + f) % 61, 3)
    assert prove(condition, dict.fromkeys(names, (0, 1000)), facts, operations=2_000) is None
    assert capfd.readouterr() == ("", "")


# brute force: a random condition over a few small variables, of narrow dtypes so that much wraps around

NARROW = tuple(map(dtype, ("int8", "uint8", "int16")))
BINARY = ("add", "sub", "mul", "min", "max")
DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod", "ceildiv")
SHIFTS = ("shift_left", "shift_right")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


@st.composite
def questions(draw: st.DrawFn) -> tuple[Expr, dict[Var, tuple[int, int]], list[Expr]]:
    kind = draw(st.sampled_from(NARROW))
    least, greatest = kind.int_range()
    ranges: dict[Var, tuple[int, int]] = {}
    for name in draw(st.sampled_from(("a", "ab", "abc"))):
        low = draw(st.one_of(st.integers(max(least, -5), 5), st.sampled_from((least, greatest - 11))))
        ranges[Var(name, kind)] = (low, low + draw(st.integers(0, 11)))

    def number(depth: int) -> Expr:
        if depth == 0 or draw(st.integers(0, 5)) == 0:
            return draw(
                st.one_of(st.sampled_from(list(ranges)), st.integers(max(least, -9), 9).map(lambda v: const(v, kind)))
            )
        shape = draw(st.integers(0, 9))
        if shape < 5:
            return get_op(draw(st.sampled_from(BINARY)))(number(depth - 1), number(depth - 1))
        if shape < 7:
            by = draw(st.integers(max(least, -6), 6).filter(bool))
            return get_op(draw(st.sampled_from(DIVISIONS)))(number(depth - 1), const(by, kind))
        if shape == 7:
            which = draw(st.sampled_from((*SHIFTS, "bitwise_and")))
            return get_op(which)(number(depth - 1), const(draw(st.sampled_from((0, 1, 3, 7, 9))), kind))
        if shape == 8:
            return get_op(draw(st.sampled_from(("Select", "if_then_else"))))(
                truth(depth - 1), number(depth - 1), number(depth - 1)
            )
        return draw(
            st.sampled_from(
                (
                    lambda x: get_op("abs")(x) if kind.kind == "int" else x,
                    lambda x: get_op("negative")(x),
                    lambda x: get_op("bitwise_not")(x),
                    lambda x: x.astype("int8").astype(kind),
                    lambda x: get_op("less")(x, 3).astype(kind),
                )
            )
        )(number(depth - 1))

    def truth(depth: int) -> Expr:
        if depth <= 0 or draw(st.integers(0, 2)) == 0:
            return get_op(draw(st.sampled_from(COMPARISONS)))(number(max(depth, 1)), number(max(depth, 1)))
        shape = draw(st.integers(0, 4))
        if shape == 0:
            return get_op("logical_not")(truth(depth - 1))
        if shape == 1:
            return get_op(draw(st.sampled_from(("equal", "bitwise_xor", "not_equal"))))(
                truth(depth - 1), truth(depth - 1)
            )
        return (both if shape < 4 else either)(truth(depth - 1), truth(depth - 1))

    return truth(draw(st.integers(1, 3))), ranges, [truth(1) for _ in range(draw(st.integers(0, 2)))]


def refuted_by(condition: Expr, ranges: dict[Var, tuple[int, int]], facts: list[Expr]) -> dict[Var, int] | None:
    for point in itertools.product(*(range(low, high + 1) for low, high in ranges.values())):
        values = dict(zip(ranges, point))
        if all(evaluate(fact, values) for fact in facts) and not evaluate(condition, values):
            return values
    return None


@settings(max_examples=120, deadline=None)
@given(questions())
def test_brute_force(question: tuple[Expr, dict[Var, tuple[int, int]], list[Expr]]) -> None:
    condition, ranges, facts = question
    with mock.patch.object(sys.modules[prove.__module__], "TRIED", 0):  # without trying all values
        answer = prove(condition, ranges, facts)
    refuted = refuted_by(condition, ranges, facts)
    if answer is not None:
        assert answer is (refuted is None)
    found = counterexample(condition, ranges, facts)
    if found is not None:
        assert refuted is not None and not evaluate(condition, found.values)
        assert all(evaluate(fact, found.values) for fact in facts)
        assert all(low <= found.values[var] <= high for var, (low, high) in ranges.items() if var in found.values)


@pytest.mark.parametrize("size", [1, 6])
def test_a_point_whose_numbers_take_too_much_work_is_unknown(size: int) -> None:
    """Wherever the bound on isl's work is reached, also as a number is written."""
    names = "abcdef"[:size]
    wanted = [100_000 + at for at in range(size)]
    text = " and ".join(f"{name} = {value}" for name, value in zip(names, wanted, strict=True))
    told = set()
    for operations in range(1, 200):
        fresh = context()
        found = islpy.Set.read_from_str(fresh, f"{{[{', '.join(names)}]: {text}}}")
        try:
            with bounded(fresh, operations):
                assert point_in(found) == wanted
        except Unknown as problem:
            told.add(str(problem).partition(":")[0])
    assert len(told) > 1  # it is reached here and there
