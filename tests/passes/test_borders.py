"""Sums of windows that reach over a border under a condition: masks and branches that leave the bits as they are."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Block, PrimFunc, structural_equal, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
NAMES = "p = y + u - 1\nq = x + v - 1\n"
INSIDE = "0 <= p and p < {n} and 0 <= q and q < {n}"
TERM = "{acc} += I[c, p, q] * W[f, c, u, v]"
LOOPS = "for c, u, v in T.grid(3, 3, 3):\n"
STYLES = {
    "named": LOOPS + f"{NAMES}if {INSIDE}:\n    {TERM}",
    "chained": LOOPS + f"{NAMES}if 0 <= p < {{n}} and 0 <= q < {{n}}:\n    {TERM}",
    "variables": LOOPS + f"p: T.int32 = y + u - 1\nq: T.int32 = x + v - 1\nif {INSIDE}:\n    {TERM}",
    "written out": LOOPS
    + "if y + u >= 1 and y + u < {n} + 1 and x + v >= 1 and x + v <= {n}:\n"
    + "    {acc} += I[c, y + u - 1, x + v - 1] * W[f, c, u, v]",
    "nested": LOOPS + f"{NAMES}if p >= 0:\n    if p < {{n}}:\n        if q >= 0 and q < {{n}}:\n            {TERM}",
    "denied": LOOPS + f"{NAMES}if not (p < 0 or p >= {{n}} or q < 0 or q >= {{n}}):\n    {TERM}",
    "turned": LOOPS + f"{NAMES}if {INSIDE}:\n    {{acc}} = W[f, c, u, v] * I[c, p, q] + {{acc}}",
    "a choice": LOOPS + f"{NAMES}{{acc}} += T.if_then_else({INSIDE}, I[c, p, q] * W[f, c, u, v], T.{{dtype}}(0))",
    "all a choice": LOOPS + f"{NAMES}{{acc}} = {{acc}} + I[c, p, q] * W[f, c, u, v] if {INSIDE} else {{acc}}",
}
ROWS = """
for c in range(3):
    for u in range(3):
        p = y + u - 1
        if p >= 0 and p < {n}:
            for v in range(3):
                q = x + v - 1
                if q >= 0 and q < {n}:
                    {acc} += I[c, p, q] * W[f, c, u, v]
"""
VALUE = LOOPS + f"{NAMES}value: T.{{dtype}} = 0\nif {INSIDE}:\n    value = I[c, p, q]\n{{acc}} += value * W[f, c, u, v]"


def indented(text: str, spaces: int) -> str:
    return "\n".join(" " * spaces + line for line in text.strip().splitlines())


def convolution(style: str, n: int, filters: int = 8, dtype: str = "float32", variable: bool = True) -> PrimFunc:
    """A convolution of three channels by windows of three by three, with a border of one."""
    acc = "acc" if variable else "O[f, y, x]"
    lines = style.format(n=n, acc=acc, dtype=dtype)
    if lines.startswith(LOOPS):
        lines = LOOPS + indented(lines.removeprefix(LOOPS), 4)
    head = f"acc: T.{dtype} = 0" if variable else f"O[f, y, x] = T.{dtype}(0)"
    found = parse(f"""
@T.prim_func
def main(
    I: T.Buffer((3, {n}, {n}), "{dtype}"), W: T.Buffer(({filters}, 3, 3, 3), "{dtype}"),
    O: T.Buffer(({filters}, {n}, {n}), "{dtype}"),
):
    for f, y, x in T.grid({filters}, {n}, {n}):
        {head}
{indented(lines, 8)}
        {"O[f, y, x] = acc" if variable else ""}
""")
    assert isinstance(found, PrimFunc)
    return found


def wanted(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    n = image.shape[1]
    out = np.zeros((len(weights), n, n), weights.dtype)
    for y, x, u, v in np.ndindex(n, n, 3, 3):
        p, q = y + u - 1, x + v - 1
        if 0 <= p < n and 0 <= q < n:
            out[:, y, x] += (weights[:, :, u, v] * image[:, p, q]).sum(axis=1)
    return out


def arrays(func: PrimFunc, seed: int, strange: float = 0.0) -> list[np.ndarray]:
    """Whole numbers, and where floats are `strange` infinities, nan and zeros of both signs."""
    random, made = np.random.default_rng(seed), []
    for buffer in func.param_buffers:
        shape = [int(dim.value) for dim in buffer.shape]  # type: ignore[attr-defined]
        array = random.integers(-3, 4, shape).astype(str(buffer.dtype))
        if strange:
            other = random.choice(np.array([np.nan, np.inf, -np.inf, -0.0], array.dtype), shape)
            array = np.where(random.random(shape) < strange, other, array)
        made.append(array)
    return made


@pytest.mark.long
@pytest.mark.parametrize(("n", "variable"), [(1, True), (7, False), (8, True), (12, False)])
@pytest.mark.parametrize("name", [*STYLES, "rows", "a value"])
def test_styles_of_one_convolution(name: str, n: int, variable: bool) -> None:
    style = {**STYLES, "rows": ROWS, "a value": VALUE}[name]
    func = convolution(style, n, variable=variable)
    made, scheduled = with_blocks(func), default_schedule(func, FACTS)
    sums = [node for node in walk(made.body) if type(node) is Block and node.init]
    assert len(sums) == 1
    if n > 1:
        assert "T.vectorized" in scheduled.func.script() and "T.fma" in scheduled.func.script()
    I, W, O = arrays(func, n)
    for one in (func, made, scheduled.func):
        found = O.copy()
        tirscript.build(one, pipeline=DEFAULT_LOWERING)(I, W, found)
        np.testing.assert_array_equal(found, wanted(I, W))


@pytest.mark.long
@pytest.mark.parametrize("n", [7, 8])
@pytest.mark.parametrize("name", [*STYLES, "rows"])
def test_nothing_is_added_where_nothing_was(name: str, n: int) -> None:
    """A weight that is infinite or nan shows in no pixel whose window it is not in: zeros times it would be nan."""
    func = convolution({**STYLES, "rows": ROWS}[name], n)
    I, W, O = arrays(func, 3)
    W[1, 0, 0, 0], W[2, 1, 2, 1], W[3, 2, 1, 2] = np.nan, np.inf, -np.inf
    want, made, found = O.copy(), O.copy(), O.copy()
    tirscript.interpret(func, I, W, want)
    tirscript.interpret(with_blocks(func), I, W, made)
    tirscript.build(func)(I, W, found)
    assert np.isnan(want[1]).any() and not np.isnan(want[1, 0]).any()
    assert made.tobytes() == want.tobytes()
    np.testing.assert_array_equal(found, want)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["int32", "float64", "uint8"])
@pytest.mark.parametrize("n", [7, 8])
def test_other_numbers(dtype: str, n: int) -> None:
    for name in ("named", "a choice"):
        func = convolution(STYLES[name], n, 5, dtype)
        assert_same_result(func, with_blocks(func))
        assert_same_result(func, default_schedule(func, FACTS).func)


def masks(func: PrimFunc) -> str:
    return with_blocks(func).script()


def test_what_masks_are_made_of() -> None:
    """The axis along memory is a mask, the other one a branch; lines that lanes do not divide leave filters to vectors."""
    text = masks(convolution(STYLES["named"], 8))
    assert "T.Select(" in text and "if 0 <= vy + vu - 1" in text
    assert "T.Select(" not in masks(convolution(STYLES["named"], 7))
    # lines of half of large vectors leave them to filters that fill vectors
    assert "T.Select(" in masks(convolution(STYLES["named"], 12, filters=5))
    assert all("T.Select(" not in masks(convolution(STYLES["named"], 12, filters=count)) for count in (8, 10, 16, 30))
    # what cannot be read wrongly keeps its form
    assert "T.Select(" not in masks(convolution(LOOPS + "if u < v:\n    {acc} += I[c, y, x] * W[f, c, u, v]", 8))


def test_a_sum_that_begins_with_minus_zero_keeps_it() -> None:
    """Adding the zero of a choice makes it positive, leaving a term out does not."""
    for term, sign in (
        ("acc += T.if_then_else({}, A[i + k - 1], T.float32(0))", False),
        ("if {}:\n    acc += A[i + k - 1]", True),
    ):
        lines = term.format("i + k >= 1 and i + k <= 8").replace("\n", "\n            ")
        func = parse(f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    for i in range(8):
        acc: T.float32 = -0.0
        for k in range(3):
            {lines}
        O[i] = acc
""")
        assert isinstance(func, PrimFunc)
        A, want, found = np.full(8, -0.0, "float32"), np.zeros(8, "float32"), np.zeros(8, "float32")
        tirscript.interpret(func, A, want)
        tirscript.interpret(with_blocks(func), A, found)
        assert want.tobytes() == found.tobytes() and np.signbit(want[0]) == sign


STRIDED = {
    "every second": ("p = y * 2 + u - 1", "q = x * 2 + v - 1", 16, "0 <= p < 16 and 0 <= q < 16", "p, q"),
    "between": (
        "p = y + 1 - u",
        "q = x + 1 - v",
        4,
        "p % 2 == 0 and q % 2 == 0 and 0 <= p < 8 and 0 <= q < 8",
        "p // 2, q // 2",
    ),
    "with gaps": ("p = y + u * 2 - 2", "q = x + v * 2 - 2", 8, "0 <= p < 8 and 0 <= q < 8", "p, q"),
}


@pytest.mark.parametrize("name", STRIDED)
def test_windows_of_every_stride_are_tiles(name: str) -> None:
    """Lines that are not read one element after the other leave the filters to vectors, as a padded image does."""
    p, q, size, inside, place = STRIDED[name]
    func = parse(f"""
@T.prim_func
def main(
    I: T.Buffer((3, {size}, {size}), "float32"), W: T.Buffer((16, 3, 3, 3), "float32"), O: T.Buffer((16, 8, 8), "float32")
):
    for f, y, x in T.grid(16, 8, 8):
        acc: T.float32 = 0.0
        for c, u, v in T.grid(3, 3, 3):
            {p}
            {q}
            if {inside}:
                acc += I[c, {place}] * W[f, c, u, v]
        O[f, y, x] = acc
""")
    assert isinstance(func, PrimFunc)
    trace = str(default_schedule(func, FACTS).trace)
    assert "T.fma" in default_schedule(func, FACTS).func.script()
    assert ("sch.cache_read" in trace) == (name != "with gaps")  # the packed weights
    I, W, O = arrays(func, 1)
    W[3, 1, 0, 0] = np.inf
    want = O.copy()
    tirscript.interpret(func, I, W, want)
    tirscript.build(func)(I, W, O)
    np.testing.assert_array_equal(O, want)


def test_divisions_stay_behind_what_guards_them() -> None:
    """The remainder is asked only where the divisor is not zero, whichever axis that is said of."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), w: T.Buffer((3,), "float32"), O: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        acc: T.float32 = 0.0
        for k in range(3):
            if j + k < 8 and j >= 4 - i and 12 % (i + k + j - 3) == 0:
                acc += A[j + k] * w[k]
        O[i, j] = acc
""")
    assert isinstance(func, PrimFunc)
    assert "T.Select(" not in with_blocks(func).script()
    assert_same_result(func, with_blocks(func))


KEPT = {
    "the condition reads what is summed": LOOPS + f"{NAMES}if {INSIDE} and {{acc}} < 9.0:\n    {TERM}",
    "a quotient": LOOPS + f"{NAMES}if {INSIDE}:\n    {{acc}} += I[c, p, q] / W[f, c, u, v]",
    "else": LOOPS + f"{NAMES}if {INSIDE}:\n    {TERM}\nelse:\n    {{acc}} += T.float32(1)",
    "memory decides": LOOPS + f"{NAMES}if {INSIDE} and I[c, y, x] > T.float32(0):\n    {TERM}",
}


@pytest.mark.parametrize("name", KEPT)
def test_other_sums_mean_what_they_did(name: str) -> None:
    func = convolution(KEPT[name], 8)
    made = with_blocks(func)
    assert "T.Select(" not in made.script()
    for seed in range(2):
        I, W, O = arrays(func, seed)
        W[W == 0] = 1
        want, found = O.copy(), O.copy()
        tirscript.interpret(func, I, W, want)
        tirscript.interpret(made, I, W, found)
        assert want.tobytes() == found.tobytes()


INWARD = {
    # the condition is another one in the loop
    "it changes": "for i in range(4):\n    if s[0] < T.float32(9):\n        for k in range(8):\n            s[0] += A[i, k]",
    "it reads the result": "for i in range(4):\n    if O[i] > T.float32(0):\n        for k in range(8):\n            O[i] += A[i, k]",
    "a variable": "for i in range(4):\n    v: T.float32 = 2.0\n    if A[i, 0] > T.float32(0):\n        v = A[i, 1]\n    for k in range(8):\n        O[i] += A[i, k] * v",
    "it is used before": "for i in range(4):\n    v: T.float32 = 2.0\n    w: T.float32 = v\n    if A[i, 0] > w:\n        v = A[i, 1] + v\n    O[i] = v + w",
    "twice": "for i in range(4):\n    v: T.float32 = 2.0\n    if A[i, 0] > v:\n        v = A[i, 1]\n    if A[i, 2] > v:\n        v = v + A[i, 3]\n    O[i] = v",
    "around two loops": "for i in range(4):\n    if i > 1:\n        for k, j in T.grid(8, 2):\n            O[i] += A[i, k] * T.cast(j, 'float32')",
    "around a loop of no iterations": "for i in range(4):\n    if i > 1:\n        for k in range(0):\n            O[i] += A[i, k]\n    O[i] += A[i, 0]",
}


@pytest.mark.parametrize("name", INWARD)
def test_conditions_around_loops(name: str) -> None:
    body = INWARD[name].replace("\n", "\n    ")
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), O: T.Buffer((4,), "float32"), s: T.Buffer((1,), "float32")):
    {body}
""")
    assert isinstance(func, PrimFunc)
    made = with_blocks(func)
    if name in ("around two loops", "twice"):
        assert "T.block" in made.script()
    for seed in range(4):
        start = arrays(func, seed)
        want, found = [a.copy() for a in start], [a.copy() for a in start]
        tirscript.interpret(func, *want)
        tirscript.interpret(made, *found)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(want, found, strict=True))
        assert_same_result(func, default_schedule(func, FACTS).func)


def test_blocks_that_have_masks_stay() -> None:
    made = with_blocks(convolution(STYLES["named"], 8))
    assert structural_equal(with_blocks(made), made)
