"""The greatest or least element, kept by a condition: `if x > m: m = x` means what `T.max(x, m)` does, of nan as well."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tirscript
from tirscript.ir import Block, PrimFunc, walk
from tirscript.ir.stmt import BufferStore
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.passes.schedule.reducers import update_by
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)


def function(params: str, body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}\n")
    assert isinstance(found, PrimFunc)
    return found


# what is done with an element `x` and the best so far, `m`
KEPT = {
    "if {x} > {m}:\n    {m} = {x}": ">",
    "if {m} < {x}:\n    {m} = {x}": ">",
    "if {x} >= {m}:\n    {m} = {x}": ">=",
    "if {m} <= {x}:\n    {m} = {x}": ">=",
    "if {x} < {m}:\n    {m} = {x}": "<",
    "if {m} > {x}:\n    {m} = {x}": "<",
    "if {x} <= {m}:\n    {m} = {x}": "<=",
    "v = {x}\nif v > {m}:\n    {m} = v": ">",
    "v: T.{dtype} = {x}\nif {m} >= v:\n    {m} = v": "<=",
    "{m} = {x} if {x} > {m} else {m}": ">",
    "{m} = T.Select({m} > {x}, {x}, {m})": "<",
    "{m} = {m} if {m} > {x} else {x}": "not <",
    "{m} = T.if_then_else({x} <= {m}, {x}, {m})": "<=",
}
ORDERS = {
    ">": np.greater,
    ">=": np.greater_equal,
    "<": np.less,
    "<=": np.less_equal,
    "not <": lambda x, m: not m > x,
}


def rows(kept: str, variable: bool, shape: tuple[int, int], dtype: str, exact: bool = False) -> PrimFunc:
    """The best element of each row of a matrix, in a variable or in the result itself."""
    m, (n, k) = "m" if variable else "Y[i]", shape
    step = kept.format(x="A[i, j]", m=m, dtype=dtype).replace("\n", "\n        ")
    head = f"m: T.{dtype} = A[i, 0]" if variable else "Y[i] = A[i, 0]"
    end = "\n    Y[i] = m" if variable else ""
    attrs = 'T.func_attr({"fastmath": False})\n' if exact else ""
    params = f'A: T.Buffer(({n}, {k}), "{dtype}"), Y: T.Buffer(({n},), "{dtype}")'
    return function(params, f"{attrs}for i in range({n}):\n    {head}\n    for j in range({k}):\n        {step}{end}")


def values(shape: tuple[int, int], dtype: str, seed: int) -> np.ndarray:
    """Few different values, with nan, infinities and zeros of both signs among floats; nan first in one row."""
    random = np.random.default_rng(seed)
    A = random.integers(-2, 3, shape).astype(dtype)
    if A.dtype.kind == "f":
        special = random.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape).astype(dtype)
        A = np.where(random.random(shape) < 0.05, special, A)
        A[shape[0] // 2, 0] = np.nan
    return A


def wanted(A: np.ndarray, order: str) -> np.ndarray:
    best = A[:, 0].copy()
    for i, row in enumerate(A):
        for x in row:
            if ORDERS[order](x, best[i]):
                best[i] = x
    return best


@pytest.mark.long
@pytest.mark.parametrize(("kept", "variable"), list(itertools.product(KEPT, (True, False))))
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "uint8"])
def test_it_is_found_in_lanes(kept: str, variable: bool, dtype: str) -> None:
    func = rows(kept, variable, (3, 333), dtype)
    made = default_schedule(func, FACTS).func.script()
    # LLVM puts integers in lanes
    assert "T.vectorized" in made if dtype.startswith("float") else "T.max(" in made or "T.min(" in made
    plain = rows(kept, variable, (3, 333), dtype, exact=True)
    for seed in range(4):
        A = values((3, 333), dtype, seed)
        want, found, exact = wanted(A, KEPT[kept]), np.zeros(3, dtype), np.zeros(3, dtype)
        tirscript.build(func)(A, found)
        tirscript.build(plain)(A, exact)
        assert exact.tobytes() == want.tobytes()
        if KEPT[kept] != "not <":  # whether a nan is taken depends on what is there then
            np.testing.assert_array_equal(found, want)


@pytest.mark.long
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("shape", [(1, 1), (5, 2), (2, 7), (7, 37)])
def test_blocks_mean_the_same(kept: str, shape: tuple[int, int]) -> None:
    func = rows(kept, shape[1] == 7, shape, "float32")
    made = with_blocks(func)
    assert made is not func
    for seed in range(3):
        A = values(shape, "float32", seed)
        results = [np.zeros(shape[0], "float32") for _ in range(3)]
        tirscript.interpret(func, A, results[0])
        tirscript.interpret(made, A, results[1])
        assert results[0].tobytes() == results[1].tobytes() == wanted(A, KEPT[kept]).tobytes()
        tirscript.build(func)(A, results[2])
        if KEPT[kept] != "not <":
            np.testing.assert_array_equal(results[2], results[0])


def test_lanes_leave_nan_out_as_the_loops_do() -> None:
    """`T.max(x, m)` of a nan is m, in each lane and where lanes are combined; `T.max(m, x)` takes it."""
    func = function(
        'A: T.Buffer((256,), "float32"), Y: T.Buffer((1,), "float32")',
        "for k in range(256):\n    with T.block('Y'):\n        vk = T.axis.reduce(256, k)\n        with T.init():\n"
        "            Y[0] = T.float32(-9)\n        Y[0] = T.max(A[vk], Y[0])",
    )
    schedule = Schedule(func)
    schedule.rfactor(schedule.split(schedule.get_loops("Y")[0], [None, 16])[1])
    A = np.full(256, np.nan, "float32")
    A[[3, 200]] = 5, 7
    for one in (func, schedule.func, default_schedule(func, FACTS).func):
        found = np.zeros(1, "float32")
        tirscript.build(one)(A, found)
        assert found[0] == 7


POOLS = {
    "T.max({m}, {x})": "{m} = T.max({m}, {x})",
    "a condition": "if {x} > {m}:\n    {m} = {x}",
    "the least": "if {x} <= {m}:\n    {m} = {x}",
    "a product": "{m} = {m} * {x}",
}


@pytest.mark.long
@pytest.mark.parametrize("kept", POOLS)
@pytest.mark.parametrize("style", ["nested", "one", "variable"])
def test_under_another_condition(kept: str, style: str) -> None:
    """A window that reaches over the border: what is outside of it is not read."""
    m, x = "m" if style == "variable" else "Y[i, j]", "A[i * 2 + u - 1, j * 2 + v - 1]"
    inside = "0 <= i * 2 + u - 1 and i * 2 + u - 1 < 9 and 0 <= j * 2 + v - 1 < 11"
    step = POOLS[kept].format(m=m, x=x)
    if style == "one" and step.startswith("if"):
        step = step.replace("if ", f"if {inside} and ")
    else:
        step = f"if {inside}:\n    " + step.replace("\n", "\n    ")
    step = step.replace("\n", "\n        ")
    head, end = ("m: T.float32 = 1.0", "\n    Y[i, j] = m") if style == "variable" else (f"{m} = T.float32(1)", "")
    loops = f"for i, j in T.grid(5, 6):\n    {head}\n    for u, v in T.grid(3, 3):\n        {step}{end}"
    func = function('A: T.Buffer((9, 11), "float32"), Y: T.Buffer((5, 6), "float32")', loops)
    made = with_blocks(func)
    assert any(type(node) is Block and node.init for node in walk(made.body))
    for seed in range(3):
        A = values((9, 11), "float32", seed)
        results = [np.zeros((5, 6), "float32") for _ in range(3)]
        tirscript.interpret(func, A, results[0])
        tirscript.interpret(made, A, results[1])
        tirscript.build(func)(A, results[2])
        assert results[0].tobytes() == results[1].tobytes()
        np.testing.assert_array_equal(results[2], results[0])


@pytest.mark.parametrize(
    "body",
    [
        "if A[i, j] > Y[i]:\n    Y[i] = A[i, j] + T.float32(1)",  # another value than was compared
        "if A[i, j] > Y[3 - i]:\n    Y[i] = A[i, j]",  # with another element
        "if A[i, j] > Y[i]:\n    Y[i] = A[i, j]\nelse:\n    Y[i] = T.float32(0)",
        "if A[i, j] != Y[i]:\n    Y[i] = A[i, j]",
        "if A[i, j] > Y[i] * T.float32(2):\n    Y[i] = A[i, j]",
    ],
)
def test_what_is_no_extreme(body: str) -> None:
    lines = body.replace("\n", "\n    ")
    func = function(
        'A: T.Buffer((4, 40), "float32"), Y: T.Buffer((4,), "float32")', f"for i, j in T.grid(4, 40):\n    {lines}"
    )
    assert "T.max" not in with_blocks(func).script()
    assert_same_result(func, default_schedule(func, FACTS).func)


@pytest.mark.parametrize(
    ("value", "op", "first"),
    [
        ("A[i] if A[i] > Y[0] else Y[0]", "max", False),
        ("Y[0] if A[i] > Y[0] else A[i]", "min", True),
        ("A[i] if Y[0] >= A[i] else Y[0]", "min", False),
        ("Y[0] if Y[0] >= A[i] else A[i]", "max", True),
        ("Y[0] + A[i] if A[i] > T.float32(0) else Y[0]", "add", True),
        ("Y[0] if A[i] > T.float32(0) else T.max(A[i], Y[0])", "max", False),
        ("A[i] if A[i] > Y[1] else Y[0]", None, None),
        ("A[i] if A[i] > T.float32(0) else Y[0]", None, None),
        ("Y[0] if Y[0] > A[i] else Y[0]", None, None),
        ("Y[0] + A[i] if A[i] > Y[0] else Y[0]", None, None),
    ],
)
def test_the_updates_that_choices_are(value: str, op: str | None, first: bool | None) -> None:
    func = function(
        'A: T.Buffer((4,), "float32"), Y: T.Buffer((2,), "float32")', f"for i in range(4):\n    Y[0] = {value}"
    )
    (store,) = (node for node in walk(func.body) if type(node) is BufferStore)
    found = update_by(store)
    assert (found and (found.op.name, found.first)) == (op and (op, first))


SEARCHES = {
    "rows": "for i in range(5):\n    m: T.float32 = A[i, 0]\n    at: T.int32 = 0\n    for j in range(333):\n"
    "        if A[i, j] {order} m:\n            m = A[i, j]\n            at = j\n    Y[i] = at",
    "named": "for i in range(5):\n    m: T.float32 = A[i, 0]\n    at: T.int32 = 0\n    for j in range(1, 333):\n"
    "        x = A[i, j]\n        if x {order} m:\n            at = j\n            m = x\n    Y[i] = at",
    "the result": "for i in range(5):\n    m: T.float32 = A[i, 0]\n    Y[i] = 0\n    for j in range(333):\n"
    "        if A[i, j] {order} m:\n            m = A[i, j]\n            Y[i] = j",
    "turned": "for i in range(5):\n    m: T.float32 = A[i, 0]\n    at: T.int32 = -1\n    for j in range(333):\n"
    "        if m {turned} A[i, j]:\n            m = A[i, j]\n            at = j\n    Y[i] = at",
}


@pytest.mark.long
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("order", [">", "<"])
def test_where_the_greatest_is(name: str, order: str) -> None:
    text = SEARCHES[name].format(order=order, turned="<" if order == ">" else ">")
    func = function('A: T.Buffer((5, 333), "float32"), Y: T.Buffer((5,), "int32")', text)
    assert "T.vectorized" in default_schedule(func, FACTS).func.script()
    for seed in range(5):
        A = values((5, 333), "float32", seed)
        found, want = np.zeros(5, "int32"), np.zeros(5, "int32")
        tirscript.build(func)(A, found)
        tirscript.interpret(func, A, want)
        assert found.tolist() == want.tolist()


@pytest.mark.parametrize("begin", ["0", "-1"])
def test_where_the_greatest_of_everything_is(begin: str) -> None:
    text = f"m: T.float32 = A[0]\nat: T.int32 = {begin}\nfor k in range(1000):\n    if A[k] > m:\n        m = A[k]\n"
    func = function('A: T.Buffer((1000,), "float32"), Y: T.Buffer((1,), "int32")', text + "        at = k\nY[0] = at")
    assert "T.vectorized" in default_schedule(func, FACTS).func.script()
    assert_same_result(func, default_schedule(func, FACTS).func)


@pytest.mark.parametrize(
    "text",
    [
        # the second of equal ones, of which the index that stands there first is one
        "m: T.float32 = A[0]\nat: T.int32 = 0\nfor k in range(99):\n    if A[k] >= m:\n        m = A[k]\n        at = k",
        # an index that does not grow, another value, more that is kept
        "m: T.float32 = A[0]\nat: T.int32 = 0\nfor k in range(99):\n    if A[k] > m:\n        m = A[k]\n        at = 98 - k",
        "m: T.float32 = A[0]\nat: T.int32 = 0\nfor k in range(99):\n    if A[k] > m:\n        m = A[98 - k]\n        at = k",
        "m: T.float32 = A[0]\nat: T.int32 = 0\nfor k in range(99):\n    if A[k] > m:\n        m = A[k]\n        at += k",
    ],
)
def test_searches_that_stay(text: str) -> None:
    func = function('A: T.Buffer((99,), "float32"), Y: T.Buffer((1,), "int32")', f"{text}\nY[0] = at")
    assert "better" not in default_schedule(func, FACTS).func.script()
    assert_same_result(func, default_schedule(func, FACTS).func)


TOGETHER = {
    "sums of rows": "s: T.float32 = 0.0\nfor i in range(33):\n    r: T.float32 = 0.0\n    for j in range(77):\n"
    "        r += A[i, j]\n    s += r\nY[0] = s",
    "two sums": "s: T.float32 = 0.0\nq: T.float32 = 0.0\nfor i in range(33):\n    for j in range(77):\n"
    "        s += A[i, j]\n        q += A[i, j] * A[i, j]\nY[0] = s - q",
    "both ends": "m: T.float32 = A[0, 0]\nn: T.float32 = A[0, 0]\nfor i, j in T.grid(33, 77):\n"
    "    if A[i, j] > m:\n        m = A[i, j]\n    if A[i, j] < n:\n        n = A[i, j]\nY[0] = m - n",
}


@pytest.mark.parametrize("name", TOGETHER)
def test_several_in_nests(name: str) -> None:
    func = function('A: T.Buffer((33, 77), "float32"), Y: T.Buffer((1,), "float32")', TOGETHER[name])
    made = default_schedule(func, FACTS).func.script()
    assert made.count("T.vectorized") >= 2
    A = np.random.default_rng(0).integers(-4, 5, (33, 77)).astype("float32")
    found, want = np.zeros(1, "float32"), np.zeros(1, "float32")
    tirscript.build(func)(A, found)
    tirscript.interpret(func, A, want)
    assert found[0] == want[0]


def test_what_a_later_sum_begins_with_is_read_in_time() -> None:
    """The second begins with what the first loop would have changed by then."""
    func = function(
        'A: T.Buffer((900,), "float32"), Y: T.Buffer((2,), "float32")',
        "m: T.float32 = A[0]\nn: T.float32 = A[1]\nfor k in range(900):\n    m = m + A[k]\n    A[1] = n * T.float32(2)\nY[0] = m + n",
    )
    assert_same_result(func, default_schedule(func, FACTS).func)
