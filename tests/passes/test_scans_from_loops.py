"""Plain loops that scan: the blocks that they become, what they compute, and what stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import Attrs, Block, PrimFunc, walk
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

ROWS = 3
SIZES = (1, 2, 15, 16, 17, 1000)
FACTS = CpuFacts(vector_bits=256, threads=2)


def kernel(body: str, m: int, dtype: str = "int32", rows: int | str = ROWS) -> PrimFunc:
    """Rows of A, and what `body` makes of each in B, C (one element more) and S; `m` and `dtype` stand in it."""
    rest = f'S: T.Buffer(("{rows}",), "{dtype}")' if isinstance(rows, str) else f'S: T.Buffer(({rows},), "{dtype}")'
    n = f'"{rows}"' if isinstance(rows, str) else rows
    buffers = ", ".join(f'{name}: T.Buffer(({n}, {size}), "{dtype}")' for name, size in zip("ABC", (m, m, m + 1)))
    lines = indent(body.strip().replace("DT", dtype).replace("M", str(m)), " " * 8)
    found = parse(f"@T.prim_func\ndef main({buffers}, {rest}):\n    for i in range({rows}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def flat(body: str, m: int, dtype: str = "int32") -> PrimFunc:
    """The same of one row, without a loop around it."""
    lines = indent(
        body.strip().replace("DT", dtype).replace("M", str(m)).replace("i, ", "").replace("[i]", "[0]"), "    "
    )
    sizes = zip("ABCS", (m, m, m + 1, 1), strict=True)
    buffers = ", ".join(f'{name}: T.Buffer(({size},), "{dtype}")' for name, size in sizes)
    found = parse(f"@T.prim_func\ndef main({buffers}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


def scans(func: PrimFunc) -> int:
    """How many blocks scan."""
    return sum(type(node) is Block and any(axis.kind == "scan" for axis in node.axes) for node in walk(func.body))


def arrays(m: int, dtype: str, rows: int = ROWS) -> list[Any]:
    rng = np.random.default_rng(m)
    return [rng.integers(-3, 4, shape).astype(dtype) for shape in ((rows, m), (rows, m), (rows, m + 1), (rows,))]


def up_to(a: Any) -> Any:
    return a.cumsum(axis=1, dtype=a.dtype)


def before(a: Any) -> Any:
    return up_to(a) - a


# what a row does, and what is then in which array
FORMS: dict[str, tuple[str, dict[str, Callable[[Any], Any]]]] = {
    "variable": ("s: T.DT = 0\nfor k in range(M):\n    s = s + A[i, k]\n    B[i, k] = s", {"B": up_to}),
    "flipped": ("s: T.DT = 0\nfor k in range(M):\n    s = A[i, k] + s\n    B[i, k] = s", {"B": up_to}),
    "named": ("s: T.DT = 0\nfor k in range(M):\n    x = s + A[i, k]\n    B[i, k] = x\n    s = x", {"B": up_to}),
    "begun": (
        "s: T.DT = A[i, 0]\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s",
        {"B": lambda a: up_to(a) + a[:, :1]},
    ),
    "used behind": (
        "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\nS[i] = s * 2",
        {"B": up_to, "S": lambda a: a.sum(axis=1, dtype=a.dtype) * 2},
    ),
    "element": (
        "S[i] = 0\nfor k in range(M):\n    S[i] = S[i] + A[i, k]\n    B[i, k] = S[i]",
        {"B": up_to, "S": lambda a: a.sum(axis=1, dtype=a.dtype)},
    ),
    "exclusive": (
        "s: T.DT = 0\nfor k in range(M):\n    B[i, k] = s\n    s = s + A[i, k]\nS[i] = s",
        {"B": before, "S": lambda a: a.sum(axis=1, dtype=a.dtype)},
    ),
    "offsets": (
        "C[i, 0] = 0\nfor k in range(M):\n    C[i, k + 1] = C[i, k] + A[i, k]",
        {"C": lambda a: np.pad(up_to(a), ((0, 0), (1, 0)))},
    ),
    "offsets of a variable": (
        "C[i, 0] = 0\ns: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    C[i, k + 1] = s",
        {"C": lambda a: np.pad(up_to(a), ((0, 0), (1, 0)))},
    ),
    "element before": ("B[i, 0] = A[i, 0]\nfor k in range(1, M):\n    B[i, k] = B[i, k - 1] + A[i, k]", {"B": up_to}),
    "element before, flipped": (
        "B[i, 0] = A[i, 0] + 5\nfor k in range(1, M):\n    B[i, k] = A[i, k] + B[i, k - 1]",
        {"B": lambda a: up_to(a) + 5},
    ),
    "from elsewhere": (
        "B[i, 0] = 7\nfor k in range(1, M):\n    B[i, k] = B[i, k - 1] + A[i, k]",
        {"B": lambda a: up_to(a) - a[:, :1] + 7},
    ),
    "chosen": ("for k in range(M):\n    B[i, k] = A[i, k] + (B[i, k - 1] if k > 0 else 0)", {"B": up_to}),
    "chosen, flipped": (
        "for k in range(M):\n    B[i, k] = T.if_then_else(k < 1, 4, B[i, k - 1]) + A[i, k]",
        {"B": lambda a: up_to(a) + 4},
    ),
    "branches": (
        "for k in range(M):\n    if k == 0:\n        B[i, 0] = A[i, 0]\n    else:\n        B[i, k] = B[i, k - 1] + A[i, k]",
        {"B": up_to},
    ),
    "branches the other way": (
        "for k in range(M):\n    if k >= 1:\n        B[i, k] = B[i, k - 1] + A[i, k]\n    else:\n        B[i, k] = 1",
        {"B": lambda a: up_to(a) - a[:, :1] + 1},
    ),
    "a variable with branches": (
        "s: T.DT = 9\nfor k in range(M):\n    if k == 0:\n        s = A[i, 0]\n    else:\n        s += A[i, k]\n"
        "    B[i, k] = s",
        {"B": up_to},
    ),
    "shifted": (
        "s: T.DT = 0\nfor k in range(2, M + 2):\n    s += A[i, k - 2]\n    B[i, k - 2] = s",
        {"B": up_to},
    ),
    "counted": (
        "s: T.DT = 0\nfor k in range(M):\n    if A[i, k] > 1:\n        s += 1\n    B[i, k] = s",
        {"B": lambda a: up_to((a > 1).astype(a.dtype))},
    ),
    "less and less": (
        "s: T.DT = 100\nfor k in range(M):\n    s = s - A[i, k]\n    B[i, k] = s",
        {"B": lambda a: 100 - up_to(a)},
    ),
    "sums of sums": (
        "s: T.DT = 0\nt: T.DT = 1\nfor k in range(M):\n    s += A[i, k]\n    t += s\n    B[i, k] = s\n    C[i, k] = t",
        {"B": up_to, "C": lambda a: up_to(up_to(a)) + 1},
    ),
    "what else it stores": (
        "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\n    C[i, k] = s * 2 - A[i, k]",
        {"B": up_to, "C": lambda a: up_to(a) * 2 - a},
    ),
    "squares too": (
        "s: T.DT = 0\nq: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    q += A[i, k] * A[i, k]\n    B[i, k] = s\n"
        "S[i] = q",
        {"B": up_to, "S": lambda a: (a * a).sum(axis=1, dtype=a.dtype)},
    ),
}


def in_one(given: list[Any]) -> list[Any]:
    """The first row of each array, for `flat`."""
    return [array[0] for array in given[:3]] + [given[3][:1]]


def left_by(run: Callable[..., Any], given: list[Any]) -> list[Any]:
    found = [array.copy() for array in given]
    run(*found)
    return found


def interpreted(func: PrimFunc, given: list[Any]) -> list[Any]:
    return left_by(lambda *args: interpret(func, *args), given)


def same(left: list[Any], right: list[Any]) -> bool:
    """Whether arrays are the same bits."""
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("form", list(FORMS))
def test_a_form_becomes_a_scan(form: str, dtype: str) -> None:
    func = kernel(FORMS[form][0], 200, dtype)
    made = with_blocks(func)
    assert scans(made) == (2 if form == "sums of sums" else 1)
    assert "blocked_scan" in str(default_schedule(func, FACTS).trace)
    assert scans(with_blocks(flat(FORMS[form][0], 200, dtype))) == scans(made)


@pytest.mark.long
@pytest.mark.parametrize("form", list(FORMS))
def test_all_sizes_are_what_numpy_says(form: str) -> None:
    text, makes = FORMS[form]
    for m in SIZES:
        func, given = kernel(text, m), arrays(m, "int32")
        wanted = [array.copy() for array in given]
        for name, make in makes.items():
            found = make(given[0])
            wanted["ABCS".index(name)][..., : found.shape[-1]] = found
        if m <= 17:
            assert same(interpreted(with_blocks(func), given), wanted)
            assert same(interpreted(with_blocks(flat(text, m)), in_one(given)), in_one(wanted))
        if m >= 17:
            assert same(left_by(tirscript.build(func), given), wanted)


@pytest.mark.parametrize("form", list(FORMS))
def test_floats_are_rounded_as_in_the_loops(form: str) -> None:
    func = kernel(FORMS[form][0], 30, "float32")
    rng = np.random.default_rng(3)
    given = [np.where(rng.random(a.shape) < 0.3, -0.0, rng.standard_normal(a.shape)) for a in arrays(30, "float32")]
    given = [array.astype("float32") for array in given]
    given[0][0, :2], given[0][1], given[0][2, 7] = -0.0, -0.0, np.inf
    made = with_blocks(func)
    assert same(interpreted(func, given), interpreted(made, given))


OPERATORS = {
    "product": ("s * A[i, k]", lambda a: a.cumprod(axis=1, dtype=a.dtype) * a.dtype.type(3)),
    "most": ("T.max(s, A[i, k])", lambda a: np.maximum(np.maximum.accumulate(a, axis=1), a.dtype.type(3))),
    "least": ("T.min(A[i, k], s)", lambda a: np.minimum(np.minimum.accumulate(a, axis=1), a.dtype.type(3))),
    "least by a choice": (
        "(A[i, k] if A[i, k] < s else s)",
        lambda a: np.minimum(np.minimum.accumulate(a, axis=1), a.dtype.type(3)),
    ),
    "most by a choice": (
        "(s if s >= A[i, k] else A[i, k])",
        lambda a: np.maximum(np.maximum.accumulate(a, axis=1), a.dtype.type(3)),
    ),
    "several terms": ("s + A[i, k] + A[i, 0]", lambda a: up_to(a + a[:, :1]) + a.dtype.type(3)),
    "bits": ("s ^ A[i, k]", lambda a: np.bitwise_xor.accumulate(a, axis=1) ^ a.dtype.type(3)),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", list(OPERATORS))
def test_integers_wrap_in_all_operators(name: str, dtype: str) -> None:
    value, make = OPERATORS[name]
    func = kernel(f"s: T.DT = 3\nfor k in range(M):\n    s = {value}\n    B[i, k] = s", 300, dtype)
    assert scans(with_blocks(func)) == 1 and "blocked_scan" in str(default_schedule(func, FACTS).trace)
    given = arrays(300, "int64")
    given = [(array * 77).astype(dtype) for array in given]
    assert same(left_by(tirscript.build(func), given)[1:2], [make(given[0])])


def test_an_if_that_keeps_the_greater() -> None:
    text = "s: T.DT = 0\nfor k in range(M):\n    if A[i, k] > s:\n        s = A[i, k]\n    B[i, k] = s"
    func, given = kernel(text, 300), arrays(300, "int32")
    assert scans(with_blocks(func)) == 1
    assert same(left_by(tirscript.build(func), given)[1:2], [np.maximum.accumulate(given[0], axis=1).clip(0)])
    assert scans(with_blocks(kernel(text, 300, "float32"))) == 0  # what of a nan?


REFUSED = {
    "in place": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    A[i, k] = s",
    "the element before, in place": "for k in range(1, M):\n    A[i, k] = A[i, k] + A[i, k - 1]",
    "no first element": "for k in range(1, M):\n    B[i, k] = B[i, k - 1] + A[i, k]",
    "another first element": "B[i, 1] = 0\nfor k in range(1, M):\n    B[i, k] = B[i, k - 1] + A[i, k]",
    "begun after": "for k in range(1, M):\n    B[i, k] = B[i, k - 1] + A[i, k]\nB[i, 0] = 0",
    "two before": "B[i, 0] = 0\nB[i, 1] = 0\nfor k in range(2, M):\n    B[i, k] = B[i, k - 2] + A[i, k]",
    "no sum": "s: T.DT = 0\nfor k in range(M):\n    s = A[i, k] - s\n    B[i, k] = s",
    "a decay": "s: T.DT = 0\nfor k in range(M):\n    s = s * 2 + A[i, k]\n    B[i, k] = s",
    "stored elsewhere too": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\n    B[i, 0] = 3",
    "a variable set again": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\n    s = 0",
    "read behind": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\n    C[i, k] = B[i, 0]",
    "read before": "s: T.DT = 0\nfor k in range(M):\n    C[i, k] = B[i, k]\n    s += A[i, k]\n    B[i, k] = s",
    "where to store": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    C[i, T.max(B[i, k], 0)] = 1\n    B[i, k] = s",
    "before and behind": ("s: T.DT = 0\nfor k in range(M):\n    C[i, k] = s * 3\n    s += A[i, k]\n    B[i, k] = s"),
    "only sometimes": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    if A[i, k] > 0:\n        B[i, k] = s",
    "across a stride": "s: T.DT = 0\nfor k in range(M // 2):\n    s += A[i, k]\n    B[i, k * 2] = s",
    "not from its first element": "s: T.DT = 0\nfor k in range(5, M):\n    s += A[i, k]\n    B[i, k] = s",
    "offsets from another start": (
        "C[i, 0] = 5\ns: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    C[i, k + 1] = s"
    ),
    "another first step": (
        "s: T.DT = 0\nfor k in range(M):\n    B[i, k] = s\n    if k == 0:\n        s = 1\n    else:\n        s += A[i, k]"
    ),
    "another value of the first": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s if k > 0 else 5",
    "more than one begins": "for k in range(M):\n    B[i, k] = A[i, k] + (B[i, k - 1] if k > 5 else 0)",
    "one in the middle begins": "B[i, 0] = 0\nfor k in range(1, M):\n    B[i, k] = A[i, k] + (B[i, k - 1] if k != 3 else 0)",
    "something else in the first": (
        "for k in range(M):\n    B[i, k] = A[i, k] + (B[i, k - 1] if k > 0 else 0)\n    C[i, k] = 1 if k == 0 else 2"
    ),
    "the first of another": (
        "s: T.DT = 0\nfor k in range(M):\n    C[i, k] = B[i, 0] if k == 0 else C[i, k - 1] + A[i, k]\n"
        "    s += A[i, k]\n    B[i, k] = s"
    ),
    "a sum of what was there": (
        "s: T.DT = 0\nq: T.DT = 0\nfor k in range(M):\n    q += B[i, k]\n    s += A[i, k]\n    B[i, k] = s\nS[i] = q"
    ),
    "a sum of a decay": (
        "s: T.DT = 0\nq: T.DT = 0\nfor k in range(M):\n    s = s // 2 + A[i, k]\n    q += s\n    B[i, k] = q\nS[i] = s"
    ),
    "a start that the loop stores": (
        "s: T.DT = 0\nt: T.DT = B[i, 1]\nfor k in range(M):\n    s += A[i, k]\n    t += A[i, k] * 2\n    C[i, k] = t\n"
        "    B[i, k] = s - 1"
    ),
    "stops": "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\n    if s > 90:\n        break",
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_left_alone(name: str) -> None:
    given = arrays(40, "int32")
    for func, mine in ((kernel(REFUSED[name], 40), given), (flat(REFUSED[name], 40), in_one(given))):
        made = with_blocks(func)
        assert scans(made) == 0
        wanted = interpreted(func, mine)
        assert same(interpreted(made, mine), wanted)
        assert same(left_by(tirscript.build(func), mine), wanted)


BETWEEN = {
    "a start that the loop changes": "S[i] = 1\ns: T.DT = S[i]\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\n    S[i] = S[i] - s",
    "a start that changes": "S[i] = 1\ns: T.DT = S[i]\nS[i] = 7\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s",
    "a start that another scan stores": (
        "s: T.DT = 0\nt: T.DT = B[i, 0]\nfor k in range(M):\n    s += A[i, k]\n    t += A[i, k]\n    B[i, k] = s\n"
        "    C[i, k] = t"
    ),
    "an element that is read before": (
        "B[i, 0] = 7\nS[i] = B[i, 0]\nfor k in range(1, M):\n    B[i, k] = B[i, k - 1] + A[i, k]"
    ),
    "another loop": (
        "s: T.DT = S[i]\nfor j in range(3):\n    S[i] = S[i] + A[i, j]\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s"
    ),
    "two sums with one name": (
        "s: T.DT = 0\nfor k in range(M):\n    s += A[i, k]\n    B[i, k] = s\nfor k in range(M):\n    s += A[i, k]\n"
        "    C[i, k] = s\nS[i] = s"
    ),
}


@pytest.mark.parametrize("name", list(BETWEEN))
def test_what_stands_before_the_loop(name: str) -> None:
    given = [array + np.int32(10 * at) for at, array in enumerate(arrays(40, "int32"))]
    for func, mine in ((kernel(BETWEEN[name], 40), given), (flat(BETWEEN[name], 40), in_one(given))):
        wanted = interpreted(func, mine)
        assert same(interpreted(with_blocks(func), mine), wanted)
        assert same(left_by(tirscript.build(func), mine), wanted)


def test_a_loop_that_may_not_be_reached() -> None:
    func = flat(
        "B[i, 0] = 7\nif A[i, 0] > 0:\n    return\nfor k in range(1, M):\n    B[i, k] = B[i, k - 1] + A[i, k]", 40
    )
    for first in (0, 1):
        given = in_one(arrays(40, "int32"))
        given[0][0] = first
        assert same(interpreted(with_blocks(func), given), interpreted(func, given))


def test_variables_that_live_longer() -> None:
    """A variable outside of the rows is that of all of them; one that each row begins is read behind them."""
    across = parse("""
@T.prim_func
def main(A: T.Buffer((3, 40), "int32"), B: T.Buffer((3, 40), "int32"), S: T.Buffer((1,), "int32")):
    s: T.int32 = 5
    for i in range(3):
        for k in range(40):
            s += A[i, k]
            B[i, k] = s
    S[0] = s
""")
    whole = parse("""
@T.prim_func
def main(A: T.Buffer((120,), "int32"), B: T.Buffer((120,), "int32"), S: T.Buffer((1,), "int32")):
    s = T.alloc_buffer((1,), "int32", scope="local")
    s[0] = 5
    for k in range(120):
        s[0] = s[0] + A[k]
        B[k] = s[0]
    S[0] = s[0]
""")
    assert isinstance(across, PrimFunc) and isinstance(whole, PrimFunc)
    assert scans(with_blocks(across)) == 0 and scans(with_blocks(whole)) == 1
    a = np.arange(120, dtype="int32")
    for func, shape in ((across, (3, 40)), (whole, (120,))):
        found = left_by(tirscript.build(func), [a.reshape(shape), np.zeros(shape, "int32"), np.zeros(1, "int32")])
        assert same(
            found[1:], [a.cumsum(dtype="int32").reshape(shape) + np.int32(5), a.sum(dtype="int32")[None] + np.int32(5)]
        )


def test_a_variable_of_all_rows() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((3, 40), "int32"), B: T.Buffer((3, 40), "int32")):
    s: T.int32 = 0
    for i in range(3):
        for k in range(40):
            s += A[i, k]
            B[i, k] = s
""")
    assert isinstance(func, PrimFunc)
    a = np.arange(120, dtype="int32").reshape(3, 40)
    assert same(interpreted(with_blocks(func), [a, a])[1:], [a.cumsum(dtype="int32").reshape(3, 40)])


def test_a_parameter_that_is_matched_keeps_its_total() -> None:
    func = parse("""
@T.prim_func
def main(a: T.handle, b: T.handle, s: T.handle):
    A = T.match_buffer(a, (40,), "int32")
    B = T.match_buffer(b, (40,), "int32")
    S = T.match_buffer(s, (1,), "int32")
    S[0] = 2
    for k in range(40):
        S[0] = S[0] + A[k]
        B[k] = S[0]
""")
    assert isinstance(func, PrimFunc)
    a = np.arange(40, dtype="int32")
    assert scans(with_blocks(func)) == 1
    found = left_by(tirscript.build(func), [a, a, a[:1]])
    assert same(found[1:], [a.cumsum(dtype="int32") + np.int32(2), a.sum(dtype="int32")[None] + np.int32(2)])


def test_what_the_function_says() -> None:
    text, _ = FORMS["variable"]
    for dtype, attrs, expected in (
        ("float32", {"fastmath": False}, 0),
        ("int32", {"fastmath": False}, 1),
        ("int32", {"tir.noalias": False}, 0),
        ("float32", {"tir.noalias": True}, 1),
    ):
        func = kernel(text, 100, dtype).replace(attrs=Attrs(attrs))
        assert scans(with_blocks(func)) == expected
    product = "s: T.DT = 1\nfor k in range(M):\n    s = s * A[i, k]\n    B[i, k] = s"
    assert scans(with_blocks(kernel(product, 100, "float32"))) == 0


def test_a_cast_keeps_the_loop() -> None:
    text = 's: T.float64 = 0.0\nfor k in range(M):\n    s += T.cast(A[i, k], "float64")\n    B[i, k] = T.cast(s, "DT")'
    assert scans(with_blocks(kernel(text, 100, "float32"))) == 0


def test_another_name_for_memory_keeps_the_loop() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    V = T.decl_buffer((64,), "int32", data=B.data)
    s: T.int32 = 0
    for k in range(64):
        s += V[63 - k]
        B[k] = s
""")
    assert isinstance(func, PrimFunc)
    assert with_blocks(func) is func


def test_any_number_of_rows() -> None:
    func = kernel(FORMS["variable"][0], 100, "int32", "n")
    assert "blocked_scan" in str(default_schedule(func, FACTS).trace)
    run = tirscript.build(func)
    for rows in (0, 1, 5):
        given = arrays(100, "int32", rows)
        assert same(left_by(run, given)[1:2], [up_to(given[0])])


def test_lines_of_any_length_are_scans() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "int32")):
    s: T.int32 = 0
    for k in range(n):
        s += A[k]
        B[k] = s
""")
    assert isinstance(func, PrimFunc)
    assert with_blocks(func) is func
    assert "T.axis.scan(n, k)" in with_blocks(func, symbolic=True).script()
    run = tirscript.build(func)
    for n in (0, 1, 17, 1000):
        a = np.arange(n, dtype="int32")
        assert same(left_by(run, [a, a])[1:], [a.cumsum(dtype="int32")])


def test_comments_stay_with_what_they_are_about() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    # up to here
    s: T.int32 = 0
    # one after the other
    for k in range(64):
        s += A[k]
        # the sum
        B[k] = s
""")
    assert isinstance(func, PrimFunc)
    lines = [line.strip() for line in with_blocks(func).script().splitlines()]
    assert [line for line in lines if line.startswith("#")] == ["# up to here", "# one after the other", "# the sum"]
