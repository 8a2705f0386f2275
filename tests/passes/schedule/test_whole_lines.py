"""Convolutions of lines that no tile divides: rounded up to whole tiles, with the results of plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module, PrimFunc
from tirscript.passes.graph import GRAPH_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

WIDE = CpuFacts(512, 1)


def network(
    height: int | str,
    width: int | str,
    *,
    filters: int = 32,
    window: int = 3,
    step: int = 1,
    groups: int = 1,
    dtype: str = "float32",
    behind: str = "G.nn.relu",
) -> Module:
    height, width = (f'"{size}"' if isinstance(size, str) else size for size in (height, width))
    border = window // 2
    found = parse(f"""
from tirscript.script import graph as G, ir as I

@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((1, 8, {height}, {width}), "{dtype}"), k: G.Tensor(({filters}, {8 // groups}, {window}, {window}), "{dtype}")):
        with G.dataflow():
            y = G.nn.conv2d(x, k, strides={step}, padding={border}, groups={groups})
            z = {behind}(y)
            G.output(z)
        return z
""")
    assert isinstance(found, Module)
    return found


def schedule_of(module: Module, threads: int = 1) -> str:
    (kernel,) = [one for one in GRAPH_LOWERING(module).prim_funcs if one.name != "main"]
    return default_schedule(kernel, CpuFacts(512, threads)).func.script()


def check(module: Module, height: int, width: int) -> None:
    """The built network, with whole numbers, as it is interpreted."""
    kernels = module["main"].params[1].type.shape  # type: ignore[attr-defined]
    dtype = str(module["main"].params[1].type.dtype)  # type: ignore[attr-defined]
    random = np.random.default_rng(height * 100 + width)
    x = random.integers(-4, 5, (1, 8, height, width)).astype(dtype)
    k = random.integers(-4, 5, [int(dim.value) for dim in kernels]).astype(dtype)
    np.testing.assert_array_equal(tirscript.build(module)(x, k), tirscript.interpret(module, x, k))


@pytest.mark.parametrize("step", [1, 2])
def test_lines_of_unknown_length_are_whole_tiles(step: int) -> None:
    module = network("h", "w", step=step)
    text = schedule_of(module)
    # eight pixels of a tile, of which the last are left where the results are stored
    assert "T.unroll(T.int64(8))" in text and "T.where(" in text
    # the border is made with the room behind the lines, in one copy; nothing goes through memory between
    assert text.count("alloc_buffer") == 3 and 'scope="local"' in text
    for height, width in ((1, 1), (3, 7), (4, 8), (9, 17)):
        check(module, height, width)


def test_more_threads_than_panels_of_filters_share_the_lines() -> None:
    module = network("h", "w", filters=64)
    assert "in T.parallel(2):" in schedule_of(module, threads=2)
    assert "in T.parallel(h):" in schedule_of(module, threads=16)


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{"filters": 30}, {"window": 5}, {"window": 2}, {"dtype": "int32"}, {"dtype": "float64"}]
)
def test_other_convolutions_of_unknown_lines(options: dict) -> None:
    module = network("h", "w", **options)
    assert "T.unroll(T.int64(8))" in schedule_of(module)
    for height, width in ((2, 5), (6, 16)):
        check(module, height, width)


def test_known_lines_are_rounded_up_where_no_tile_divides_them() -> None:
    assert "64" in schedule_of(network(40, 61)).split("y_pad = ", 1)[1].split("\n", 1)[0]
    check(network(9, 61), 9, 61)
    for width in (56, 13, 60):
        assert "_pad" not in schedule_of(network(40, width)), width


def test_groups_of_unknown_lines_are_convolutions_in_tiles() -> None:
    module = network("h", "w", filters=32, groups=2)
    assert "T.unroll(T.int64(8))" in schedule_of(module)
    for height, width in ((1, 1), (5, 11), (7, 16)):
        check(module, height, width)


GREATEST = """
@T.prim_func
def main(X: T.Buffer((32, "w"), "float32"), K: T.Buffer((32, 16, 3), "float32"), Y: T.Buffer((32, "w - 2"), "float32")):
    for f, x, c, u in T.grid(32, w - 2, 16, 3):
        with T.block("Y"):
            f, x, c, u = T.axis.remap("SSRR", [f, x, c, u])
            with T.init():
                Y[f, x] = T.min_value("float32")
            Y[f, x] = T.max(Y[f, x], X[f // 16 * 16 + c, x + u] * K[f, c, u])
"""


def test_lines_that_no_tile_takes_stay_as_they_are() -> None:
    func = parse(GREATEST)  # no convolution, though it has the indices of one
    assert isinstance(func, PrimFunc)
    assert "T.ceildiv(w - 2, 8)" not in default_schedule(func, WIDE).func.script()
    x, k = (np.random.default_rng(1).normal(size=shape).astype("float32") for shape in ((32, 9), (32, 16, 3)))
    made, expected = np.zeros((2, 32, 7), "float32")
    tirscript.build(func)(x, k, made)
    tirscript.interpret(func, x, k, expected)
    np.testing.assert_array_equal(made, expected)


def test_windows_of_unknown_lines_stay_in_registers() -> None:
    module = network("h", "w", filters=8, groups=8, window=7)
    text = schedule_of(module)
    assert "T.vectorized(T.int64(16))" in text and "T.unroll(7)" in text
    for height, width in ((1, 1), (9, 17), (20, 33)):
        check(module, height, width)
    # what LLVM makes of a few steps beside each other is quicker
    assert "T.vectorized" not in schedule_of(network("h", "w", filters=8, groups=8, window=3))


POOL = """
@T.prim_func
def main(X: T.Buffer((4, "h", "w"), "float32"), Y: T.Buffer((4, "(h - 1) // 2 + 1", "(w - 1) // 2 + 1"), "float32")):
    for c, y, x in T.grid(4, (h - 1) // 2 + 1, (w - 1) // 2 + 1):
        Y[c, y, x] = T.min_value("float32")
        for u, v in T.grid(3, 3):
            if y * 2 + u >= 1 and y * 2 + u - 1 < h and x * 2 + v >= 1 and x * 2 + v - 1 < w:
                Y[c, y, x] = T.max(Y[c, y, x], X[c, y * 2 + u - 1, x * 2 + v - 1])
"""


def test_pooling_over_a_border_of_unknown_size() -> None:
    func = parse(POOL)
    assert isinstance(func, PrimFunc)
    assert "X_border" in default_schedule(func, WIDE).func.script()
    native = tirscript.build(func)
    for height, width in ((1, 1), (2, 3), (16, 33), (0, 4)):
        x = np.random.default_rng(height).normal(size=(4, height, width)).astype("float32")
        made = np.zeros((4, (height - 1) // 2 + 1, (width - 1) // 2 + 1), "float32")
        expected = made.copy()
        native(x, made)
        tirscript.interpret(func, x, expected)
        np.testing.assert_array_equal(made, expected)


def test_borders_that_memory_tells_are_asked_for_at_each_step() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer(("n",), "float32"), L: T.Buffer((1,), "int64"), Y: T.Buffer(("n",), "float32")):
    for x in range(n):
        Y[x] = T.min_value("float32")
        for u in range(7):
            if x + u >= 3 and x + u - 3 < L[0]:
                Y[x] = T.max(Y[x], X[x + u - 3])
""")
    assert isinstance(func, PrimFunc)
    assert "X_border" not in default_schedule(func, WIDE).func.script()
    x, made, expected = np.arange(40, dtype="float32"), np.zeros(40, "float32"), np.zeros(40, "float32")
    tirscript.build(func)(x, np.array([30]), made)
    tirscript.interpret(func, x, np.array([30]), expected)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("short", [5, 40])
def test_lines_of_less_than_no_results_have_none(short: int) -> None:
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((4, "m"), "int32"), W: T.Buffer((3, 5), "int32"), C: T.Buffer(("u", "v"), "int32")):
    for i in range(4):
        for j in range((m - {short}) // 3 + 1):
            s: T.int32 = 0
            for k, l in T.grid(3, 5):
                s += T.if_then_else(i + k < 4 and j * 3 + l <= m - 1, A[i + k, j * 3 + l], T.int32(0)) * W[k, l]
            C[i, j] = s
""")
    assert isinstance(func, PrimFunc)
    native = tirscript.build(func)
    for m in (0, 1, short - 1, short, short + 20):
        A, W = np.arange(4 * m, dtype="int32").reshape(4, m), np.arange(15, dtype="int32").reshape(3, 5)
        made, expected = np.zeros((2, 4, max(0, (m - short) // 3 + 1)), "int32")
        native(A, W, made)
        tirscript.interpret(func, A, W, expected)
        np.testing.assert_array_equal(made, expected)
