"""Windows that ask whether they are inside of an image: copies with a border that leave every result as it is."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Attrs, PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2)
PLACE = "I[c, y * {s} + u - {p}, x * {s} + v - {p}]"
INSIDE = (
    "0 <= y * {s} + u - {p} and y * {s} + u - {p} < {n} and x * {s} + v >= {p} and not (x * {s} + v - {p} > {n} - 1)"
)
CHOICE = f"T.if_then_else({INSIDE}, {PLACE}, T.{{dtype}}({{other}}))"
STYLES = {
    "chosen": f"m = T.max(m, {CHOICE})",
    "kept": f"if {INSIDE}:\n    if {PLACE} > m:\n        m = {PLACE}",
    "least": f"if {INSIDE}:\n    m = T.min({PLACE}, m)",
    "added": f"if {INSIDE}:\n    m += {PLACE}",
    "product": f"m += {CHOICE} * W[c, u, v]",
    "nested": f"if 0 <= y * {{s}} + u - {{p}}:\n    if {INSIDE}:\n        m += {PLACE}",
}


def windows(style: str, n: int = 11, s: int = 1, p: int = 1, dtype: str = "float32", other: int = 0) -> PrimFunc:
    """Windows of three by three over images of `n` by `n`."""
    size = (n + 2 * p - 3) // s + 1
    lines = style.format(s=s, p=p, n=n, dtype=dtype, other=other)
    body = "\n".join(" " * 12 + line for line in lines.splitlines())
    found = parse(f"""
@T.prim_func
def main(
    I: T.Buffer((5, {n}, {n}), "{dtype}"), W: T.Buffer((5, 3, 3), "{dtype}"),
    O: T.Buffer((5, {size}, {size}), "{dtype}"),
):
    for c, y, x in T.grid(5, {size}, {size}):
        m: T.{dtype} = 2
        for u, v in T.grid(3, 3):
{body}
        O[c, y, x] = m + T.{dtype}(1)
""")
    assert isinstance(found, PrimFunc)
    return found


def copies(func: PrimFunc, **options: bool) -> bool:
    return "I_border" in with_blocks(func, **options).script()


def arrays(func: PrimFunc, strange: float) -> list[np.ndarray]:
    """Whole numbers, and where floats are `strange` infinities, nan and zeros of both signs."""
    random, made = np.random.default_rng(len(func.script())), []
    for buffer in func.param_buffers:
        shape = [int(dim.value) for dim in buffer.shape]  # type: ignore[attr-defined]
        array = random.integers(0, 4, shape).astype(str(buffer.dtype))
        if strange:
            other = random.choice(np.array([np.nan, np.inf, -np.inf, -0.0], array.dtype), shape)
            array = np.where(random.random(shape) < strange, other, array)
        made.append(array)
    return made


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "s", "p", "dtype"),
    [(1, 1, 1, "int32"), (11, 1, 1, "float32"), (13, 2, 1, "uint8"), (8, 1, 2, "float16"), (7, 3, 1, "float64")],
)
@pytest.mark.parametrize("name", STYLES)
def test_styles(name: str, n: int, s: int, p: int, dtype: str) -> None:
    func = windows(STYLES[name], n, s, p, dtype, other=3)
    assert_same_result(func, with_blocks(func))
    assert_same_result(func, default_schedule(func, FACTS).func)


@pytest.mark.parametrize("name", STYLES)
def test_windows_that_overlap_get_a_copy(name: str) -> None:
    assert copies(windows(STYLES[name]))
    assert not copies(windows(STYLES[name], s=3))
    apart = windows(STYLES[name]).replace(attrs=Attrs({"tir.noalias": False}))
    assert not copies(apart)


@pytest.mark.parametrize("name", [name for name in STYLES if name != "least"])
@pytest.mark.parametrize("strange", [0.05, 0.6])
def test_infinities_and_nan(name: str, strange: float) -> None:
    """Each of these styles gives the same whatever numbers are around a nan."""
    func = windows(STYLES[name], 13)
    I, W, O = arrays(func, strange)
    want = O.copy()
    tirscript.interpret(func, I, W, want)
    for one in (with_blocks(func, reassociate=False), scheduled(func, CpuFacts(vector_bits=512, reassociate=False))):
        found = O.copy()
        tirscript.build(one, pipeline=DEFAULT_LOWERING)(I, W, found)
        np.testing.assert_array_equal(found, want)
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(want)[numbers])


def test_extremes_under_a_condition_keep_their_order_where_it_counts() -> None:
    """T.max(m, x) takes x where m is nan: leaving a term out is not the same as any number."""
    turned = "if " + INSIDE + ":\n    m = T.max(m, " + PLACE + ")"
    func = windows(turned)
    assert copies(func) and not copies(func, reassociate=False)
    assert not copies(func.replace(attrs=Attrs({"fastmath": False})))
    assert copies(windows(turned, dtype="int32"), reassociate=False)
    made = with_blocks(func).script()
    assert "T.max(I_border" in made and "-inf" in made
    I, W, O = arrays(func, 0.3)
    want, found = O.copy(), O.copy()
    tirscript.interpret(windows(STYLES["kept"]), I, W, want)  # which leaves nan out
    tirscript.build(func)(I, W, found)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("style", "is_copied"),
    [
        ("if u + y >= 1 and y + u < {n} and x + v < {n}:\n    m += I[c, y + u, x + v]", True),  # not just the border
        ("if y + u + x < {n} and x + v < {n}:\n    m += I[c, y + u, x + v]", False),  # of two indices
        ("if y + u < {n} and W[c, u, v] > 0:\n    m += I[c, y + u, x]", False),
        ("if y + u < {n} and x + v < {n}:\n    m += I[c, y + u, x + v] * W[c, u, v]", False),  # W may be infinite
        ("if y + u < {n} and u + v < 3:\n    m += I[c, y + u, u + v]", False),  # u in two indices
        ("if y * 2 + u * 4 < {n} and x + v < {n}:\n    m += I[c, y * 2 + u * 4, x + v]", False),  # leaves lines out
        ("if y * 65536 * 65536 + u >= 0 and y + u < {n} and x + v < {n}:\n    m += I[c, y + u, x + v]", False),
    ],
)
def test_what_is_copied(style: str, is_copied: bool) -> None:
    func = windows(style)
    assert copies(func) is is_copied
    assert_same_result(func, with_blocks(func))
    assert_same_result(func, default_schedule(func, FACTS).func)


def test_blocks_of_their_own() -> None:
    """Blocks with a region of what they read, axes that begin at 1, and an image that the function itself fills."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((12, 9), "float32"), B: T.Buffer((12, 8), "float32")):
    C = T.alloc_buffer((12, 9), "float32")
    for i, j in T.grid(12, 9):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0
    for i in range(12):
        for j in range(1, 8):
            for k in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(12, i)
                    vj = T.axis.spatial((1, 8), j)
                    vk = T.axis.reduce(4, k)
                    T.reads(C[vi, 0:9])
                    T.writes(B[vi, vj])
                    with T.init():
                        B[vi, vj] = 1.0
                    B[vi, vj] = T.min(T.if_then_else(vj - vk >= 0, C[vi, vj - vk], -4.0), B[vi, vj])
""")
    assert isinstance(func, PrimFunc)
    made = with_blocks(func)
    assert "C_border = T.alloc_buffer((12, 10)" in made.script()
    assert_same_result(func, made)
    assert_same_result(func, default_schedule(func, FACTS).func)


LINE = """
@T.prim_func
def main(A: T.Buffer(("n", "m"), "int32"), B: T.Buffer(("n", "m"), "int32"), limit: T.int64):
    for i in range({lines}):
        for j in range({pixels}):
            s: T.int32 = 0
            for k, l in T.grid(3, 3):
                if {asked}:
                    s += A[i + k - 1, {column}]
            B[i, j] = s
"""
BOTH = "0 <= i + k - 1 and i + k - 1 < n and 0 <= j + l - 1 and j + l - 1 < m"


@pytest.mark.parametrize(
    ("lines", "pixels", "asked", "column", "is_copied"),
    [
        ("n", "m", BOTH, "j + l - 1", True),
        # a limit as great as its dtype is none
        ("n", "m", BOTH + " and i + k - 1 < limit", "j + l - 1", True),
        # lines of less pixels than a window has no results: of them the copy would read what is not there
        ("n", "T.max(m - 2, 0)", "0 <= i + k - 1 and i + k - 1 < n", "j + l", False),
        # less than no lines
        ("n - 5", "m - 7", BOTH, "j + l - 1", True),
        # what a loop asks that goes over nothing of the image
        ("n", "m", BOTH + " and i + k - 1 <= k", "j + l - 1", False),
    ],
)
def test_sizes_that_the_call_tells(lines: str, pixels: str, asked: str, column: str, is_copied: bool) -> None:
    func = parse(LINE.format(lines=lines, pixels=pixels, asked=asked, column=column))
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, FACTS).func
    assert ("A_border" in made.script()) is is_copied
    built = tirscript.build(func, bounds_check=True)
    for n, m in [(0, 0), (0, 9), (1, 1), (2, 2), (5, 0), (7, 1), (3, 8), (12, 13)]:
        for limit in (-(2**63), -1, 3, 2**63 - 1):
            A = np.arange(1, n * m + 1, dtype="int32").reshape(n, m)
            want, found = np.zeros_like(A), np.zeros_like(A)
            tirscript.interpret(func, A, want, limit)
            built(A, found, limit)
            np.testing.assert_array_equal(found, want)


def test_a_limit_that_a_loop_tells() -> None:
    """The copy stands before the loops: it cannot ask what is another number in each of their iterations."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        s: T.float32 = 0
        for r in range(n):
            for k in range(3):
                if 0 <= i + k - 1 and i + k - 1 < r:
                    s += A[i + k - 1]
        B[i] = s
""")
    assert isinstance(func, PrimFunc)
    A = np.arange(9, dtype="float32")
    want, found = np.zeros_like(A), np.zeros_like(A)
    tirscript.interpret(func, A, want)
    tirscript.build(func)(A, found)
    np.testing.assert_array_equal(found, want)
