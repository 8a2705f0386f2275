"""Convolutions of the default schedule: their tiles, what leaves them, and the copies of their weights."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import AllocBuffer, Block, Const, For, Module, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.graph import GRAPH_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

WIDE = CpuFacts(vector_bits=512)


def convolution(
    channels: int,
    filters: int,
    size: int,
    *,
    weights: np.ndarray | None = None,
    relu: bool = False,
    last: bool = False,
    total: str = "total",
) -> PrimFunc:
    """Of a window of three by three; `last`: the filters of weights and results lie beside each other; `total`: where the
    sums are made."""
    shape = (3, 3, channels, filters) if last else (filters, channels, 3, 3)
    place, at = ("y, x, f", "u, v, c, f") if last else ("f, y, x", "f, c, u, v")
    whole = f"({size}, {size}, {filters})" if last else f"({filters}, {size}, {size})"
    given = "" if weights is not None else f'W: T.Buffer({shape}, "float32"), '
    body = f"""
    for f, y, x in T.grid({filters}, {size}, {size}):
        {total}{": T.float32" if total == "total" else ""} = 0.0
        for c, u, v in T.grid({channels}, 3, 3):
            {total} += X[c, y + u, x + v] * W[{at}]
        {"" if total != "total" else f"Y[{place}] = " + ("T.max(total, 0.0)" if relu else "total")}
"""
    head = "" if weights is None else f'    W = T.allocate_const(w, "float32", {shape})\n'
    text = f"""
from tirscript.script import tir as T
@T.prim_func
def main(X: T.Buffer(({channels}, {size + 2}, {size + 2}), "float32"), {given}Y: T.Buffer({whole}, "float32")):
{head}{body}"""
    found = parse(text, names={} if weights is None else {"w": weights.tolist()})
    assert isinstance(found, PrimFunc)
    return found


def steps(made: Schedule) -> list[str]:
    return [step.primitive for step in made.trace.steps]


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small whole numbers: sums of them are exact in any order."""
    return rng.integers(-4, 5, shape).astype("float32")


@pytest.mark.long
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("channels", "filters", "size"),
    [
        (3, 16, 32),
        (3, 32, 28),
        (2, 64, 16),
        (5, 48, 30),
        (2, 8, 20),
        (3, 16, 7),
        (4, 32, 13),
        (1, 24, 9),
        (2, 96, 14),
        (3, 30, 11),
        (2, 21, 16),
        (4, 58, 9),
        (3, 13, 8),
        (5, 6, 12),
    ],
)
def test_the_results_are_those_of_plain_loops(channels: int, filters: int, size: int, last: bool, relu: bool) -> None:
    func, rng = convolution(channels, filters, size, relu=relu, last=last), np.random.default_rng(size)
    X = whole(rng, channels, size + 2, size + 2)
    W = whole(rng, *((3, 3, channels, filters) if last else (filters, channels, 3, 3)))
    shape = (size, size, filters) if last else (filters, size, size)
    got, plain = np.full(shape, np.nan, "float32"), np.full(shape, np.nan, "float32")
    tirscript.build(func)(X, W, got)
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(X, W, plain)
    np.testing.assert_array_equal(got, plain)


@pytest.mark.parametrize(("filters", "lanes"), [(58, 64), (30, 32), (13, 16), (6, 8), (3, 0), (17, 0)])
@pytest.mark.parametrize("relu", [False, True])
def test_filters_are_rounded_up_where_vectors_are_mostly_full(filters: int, lanes: int, relu: bool) -> None:
    made = default_schedule(convolution(4, filters, 13, relu=relu), WIDE)
    assert ("pad_einsum" in steps(made)) == bool(lanes)
    if lanes:
        (weights,) = (
            node.buffer for node in walk(made.func.body) if type(node) is AllocBuffer and "W" in node.buffer.name
        )
        assert np.prod(weights.constant_shape()) == lanes * 4 * 9


@pytest.mark.parametrize(("filters", "size", "stays"), [(32, 13, True), (16, 32, False)])
def test_windows_of_tiles_that_fill_the_registers_are_not_unrolled(filters: int, size: int, stays: bool) -> None:
    made = default_schedule(convolution(3, filters, size), WIDE)
    assert made.func.script().count("disable_unroll") == (3 if stays else 0)


@pytest.mark.parametrize(
    ("filters", "size", "variable", "lines"),
    [
        (16, 32, True, 16),
        (16, 32, False, 16),
        (64, 20, False, 4),
        (64, 20, True, 0),
        (16, 12, False, 12),
        (16, 12, True, 0),
    ],
)
def test_pixels_leave_together_where_a_tile_is_a_line_of_them(
    filters: int, size: int, variable: bool, lines: int
) -> None:
    # nobody reads sums that are made where the results lie
    func = convolution(3, filters, size, total="total" if variable else "Y[f, y, x]")
    made = default_schedule(func, WIDE).func.script()
    behind = made[made.rindex("T.fma") :]
    assert (f"T.vectorized({lines})" in behind) == bool(lines) and behind.count("T.vectorized") == bool(lines)


def test_weights_are_copied_by_the_vectors_of_a_tile() -> None:
    made = default_schedule(convolution(3, 64, 32), WIDE)
    assert made.get(made.get_loops("W_global")[-1]).kind == "vectorized"
    filters_last = default_schedule(convolution(3, 64, 32, last=True), WIDE)
    assert "vectorized" not in {filters_last.get(loop).kind for loop in filters_last.get_loops("W_global")}


@pytest.mark.parametrize(("channels", "filters", "kind"), [(64, 64, "parallel"), (3, 16, "serial")])
@pytest.mark.parametrize("last", [False, True])
def test_many_weights_are_copied_by_all_threads(channels: int, filters: int, kind: str, last: bool) -> None:
    made = default_schedule(convolution(channels, filters, 32, last=last), CpuFacts(512, 2))
    assert made.get(made.get_loops("W_global")[0]).kind == kind


def test_constant_weights_are_copied_when_they_are_compiled() -> None:
    rng = np.random.default_rng(0)
    weights = whole(rng, 64, 3, 3, 3)
    given, fixed = convolution(3, 64, 4), convolution(3, 64, 4, weights=weights)
    assert "reindex" in steps(default_schedule(given, WIDE))
    assert "reindex" not in steps(default_schedule(fixed, WIDE))
    assert "reindex" not in steps(default_schedule(given.replace(private=True), WIDE))
    X, a, b = whole(rng, 3, 6, 6), np.zeros((64, 4, 4), "float32"), np.zeros((64, 4, 4), "float32")
    built = tirscript.build(fixed)
    built(X, a)
    tirscript.build(given)(X, weights, b)
    np.testing.assert_array_equal(a, b)
    allocated = [node.buffer.name for node in walk(built.lowered.body) if type(node) is AllocBuffer]
    assert not any(name.startswith("W") for name in allocated)


def test_a_border_is_copied_before_a_window_that_takes_steps():
    """Each channel by itself, every second pixel: with the border's condition in it, the sum would be no vectors."""
    kernel = parse("""
@T.prim_func
def main(X: T.Buffer((8, 32, 32), "float32"), W: T.Buffer((8, 3, 3), "float32"), Y: T.Buffer((8, 16, 16), "float32")):
    padded = T.alloc_buffer((8, 34, 34), "float32")
    for c, y, x in T.grid(8, 34, 34):
        with T.block("pad"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            padded[vc, vy, vx] = X[vc, vy - 1, vx - 1] if 1 <= vy < 33 and 1 <= vx < 33 else 0
    for c, y, x, u, v in T.grid(8, 16, 16, 3, 3):
        with T.block("sum"):
            vc, vy, vx, vu, vv = T.axis.remap("SSSRR", [c, y, x, u, v])
            with T.init():
                Y[vc, vy, vx] = 0.0
            Y[vc, vy, vx] += padded[vc, vy * 2 + vu, vx * 2 + vv] * W[vc, vu, vv]
""")
    assert "compute_inline" not in str(default_schedule(kernel, WIDE).trace)


def test_padding_leaves_factors_that_its_axes_do_not_index() -> None:
    func = convolution(2, 6, 5, total="Y[f, y, x]")
    s = Schedule(with_blocks(func), verify=True)
    s.pad_einsum("Y", [4, 1, 1, 1, 1, 1])
    assert "X_pad" not in s.script() and "W_pad" in s.script() and "Y_pad" in s.script()
    assert_same_result(func, s.func, tolerance=1e-5)


def test_padding_grows_factors_by_the_steps_of_their_indices() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((2, 13, 9), "float32"), W: T.Buffer((2, 3, 2), "float32"), Y: T.Buffer((2, 6, 7), "float32")):
    for c, y, x, u, v in T.grid(2, 6, 7, 3, 2):
        with T.block("Y"):
            vc, vy, vx, vu, vv = T.axis.remap("SSSRR", [c, y, x, u, v])
            with T.init():
                Y[vc, vy, vx] = 0.0
            Y[vc, vy, vx] += X[vc, vy * 2 + vu, vx + vv * 2] * W[vc, vu, vv]
""")
    s = Schedule(func, verify=True)
    s.pad_einsum("Y", [1, 4, 8, 1, 1])
    shapes = {node.buffer.name: node.buffer.constant_shape() for node in walk(s.func.body) if type(node) is AllocBuffer}
    assert shapes == {"X_pad": (2, 17, 10), "Y_pad": (2, 8, 8)}
    assert_same_result(func, s.func, tolerance=1e-5)


@pytest.mark.parametrize(
    "value",
    ["X[c, 14 - y + v] * W[c, v]", "X[c, y // 2 + v] * W[c, v]", "T.if_then_else(y + v < 15, X[c, y + v], 0.0)"],
)
def test_padding_needs_indices_that_step_forward_and_are_always_read(value: str) -> None:
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer((2, 17), "float32"), W: T.Buffer((2, 3), "float32"), Y: T.Buffer((2, 15), "float32")):
    for i, j, k in T.grid(2, 15, 3):
        with T.block("Y"):
            c, y, v = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[c, y] = 0.0
            Y[c, y] += {value}
""")
    with pytest.raises(ScheduleError, match="`X` is not accessed at plain axes that go through all of it"):
        Schedule(func).pad_einsum("Y", [1, 4, 1])


@pytest.mark.parametrize(
    ("channels", "filters", "size", "known", "along"),
    [
        (96, 32, 7, True, True),
        (60, 32, 7, True, False),  # sums too short to pay for how results are stored
        (160, 48, 14, True, True),
        (96, 48, 14, True, False),
        (400, 32, 16, True, False),  # lines that are whole vectors
        (96, 32, 7, False, False),  # weights that would have to be copied
    ],
)
def test_filters_go_along_vectors_that_lines_would_not_fill(
    channels: int, filters: int, size: int, known: bool, along: bool
) -> None:
    rng = np.random.default_rng(0)
    weights = whole(rng, filters, channels)
    given = "" if known else f'W: T.Buffer(({filters}, {channels}), "float32"), '
    head = f'    W = T.allocate_const(w, "float32", ({filters}, {channels}))\n' if known else ""
    func = parse(
        f"""
@T.prim_func
def main(X: T.Buffer(({channels}, {size}, {size}), "float32"), {given}Y: T.Buffer(({filters}, {size}, {size}), "float32")):
{head}    S = T.alloc_buffer(({filters}, {size}, {size}), "float32")
    for f, y, x, c in T.grid({filters}, {size}, {size}, {channels}):
        with T.block("S"):
            vf, vy, vx, vc = T.axis.remap("SSSR", [f, y, x, c])
            with T.init():
                S[vf, vy, vx] = 0.0
            S[vf, vy, vx] += X[vc, vy, vx] * W[vf, vc]
    for f, y, x in T.grid({filters}, {size}, {size}):
        with T.block("Y"):
            vf, vy, vx = T.axis.remap("SSS", [f, y, x])
            Y[vf, vy, vx] = T.max(S[vf, vy, vx], 0.0)
""",
        names={"w": weights.tolist()} if known else {},
    )
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE)
    # else the lines become one
    assert ("transform_block_layout" in steps(made)) != along
    X, found, plain = whole(rng, channels, size, size), *(np.zeros((filters, size, size), "float32") for _ in range(2))
    arguments = (X,) if known else (X, weights)
    tirscript.build(func)(*arguments, found)
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(*arguments, plain)
    np.testing.assert_array_equal(found, plain)


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    ("channels", "filters", "size", "step", "groups", "lines"),
    [
        (3, 16, 32, 1, 1, "32, 32"),
        (8, 32, 14, 2, 1, "14, 14"),
        (3, 20, 9, 1, 1, "9, 9"),
        (16, 32, 10, 1, 4, "10, 10"),
        (8, 28, 20, 1, 1, "20, 20"),
        (4, 16, 6, 1, 1, "6, 6"),
        (8, 32, 9, 1, 1, '"h", "w"'),
        (5, 64, 7, 1, 1, '7, "w"'),
        (5, 48, 7, 1, 1, '"h", 7'),
    ],
)
def test_images_whose_number_only_the_call_knows(
    channels: int, filters: int, size: int, step: int, groups: int, lines: str, threads: int
) -> None:
    module = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", {channels}, {lines}), "float32"), w: G.Tensor(({filters}, {channels // groups}, 3, 3), "float32"), b: G.Tensor((1, {filters}, 1, 1), "float32")):
        with G.dataflow():
            y = G.nn.conv2d(x, w, strides=[{step}, {step}], padding=[1, 1, 1, 1], groups={groups})
            z = G.nn.relu(G.add(y, b))
            G.output(z)
        return z
""")
    assert isinstance(module, Module)
    lowered = GRAPH_LOWERING(module)
    (kernel,) = [one for one in lowered.prim_funcs if one.private]
    made = default_schedule(kernel, CpuFacts(vector_bits=512, threads=threads))
    # in tiles that stay in registers, whose weights are copied
    assert {"reverse_compute_at", "set_scope", "vectorize", "unroll"} <= set(steps(made))
    assert any(type(node) is For and node.kind == "parallel" for node in walk(made.func.body)) == (threads > 1)
    rng = np.random.default_rng(0)
    W, B = whole(rng, filters, channels // groups, 3, 3), whole(rng, 1, filters, 1, 1)
    kept = [one if one.name != kernel.name else made.func for one in lowered.functions]
    run = tirscript.build(lowered.replace(functions=tuple(kept)))
    plain = tirscript.build(lowered, pipeline=DEFAULT_LOWERING)
    for count in (0, 1, 3):
        X = whole(rng, count, channels, size, size)
        found, expected = (np.full((count, filters, *[-(-size // step)] * 2), np.nan, "float32") for _ in range(2))
        run(X, W, B, found)
        plain(X, W, B, expected)
        np.testing.assert_array_equal(found, expected)


def test_images_of_an_unknown_number_share_their_threads() -> None:
    """Threads go into the loop over the images where one of them is worth it, as there may be one alone."""
    for size, inside in ((64, True), (4, False)):
        func = parse(f"""
@T.prim_func
def main(X: T.Buffer(("n", 8, {size + 2}, {size + 2}), "float32"), W: T.Buffer((16, 8, 3, 3), "float32"), Y: T.Buffer(("n", 16, {size}, {size}), "float32")):
    for i, f, y, x, c, u, v in T.grid(n, 16, {size}, {size}, 8, 3, 3):
        with T.block("Y"):
            vi, vf, vy, vx, vc, vu, vv = T.axis.remap("SSSSRRR", [i, f, y, x, c, u, v])
            with T.init():
                Y[vi, vf, vy, vx] = 0.0
            Y[vi, vf, vy, vx] += X[vi, vc, vy + vu, vx + vv] * W[vf, vc, vu, vv]
""")
        assert isinstance(func, PrimFunc)
        made = default_schedule(func, CpuFacts(vector_bits=512, threads=4)).func
        parallel = [node for node in walk(made.body) if type(node) is For and node.kind == "parallel"]
        symbolic = [node for node in parallel if type(node.stop) is not Const]
        assert (not symbolic) == inside and parallel


def images(
    batch: str, channels: int, filters: int, size: tuple[int, int], window: int, *, weights: np.ndarray, last: bool
) -> PrimFunc:
    """A convolution of a batch with constant weights, and what is left of its results above 0; `last`: channels and
    filters are the last dimensions."""
    high, wide = size
    shapes = [[channels, high + window - 1, wide + window - 1], [filters, high, wide]]
    given, made = [[*shape[1:], shape[0]] if last else shape for shape in shapes]
    at = "vi, vy, vx, vf" if last else "vi, vf, vy, vx"
    loops = f"{high}, {wide}, {filters}" if last else f"{filters}, {high}, {wide}"
    names = "i, y, x, f" if last else "i, f, y, x"
    image = "vi, vy + vu, vx + vv, vc" if last else "vi, vc, vy + vu, vx + vv"
    shape = (window, window, channels, filters) if last else (filters, channels, window, window)
    extent = batch.strip('"')
    found = parse(
        f"""
@T.prim_func
def main(X: T.Buffer(({batch}, {str(given)[1:-1]}), "float32"), Y: T.Buffer(({batch}, {str(made)[1:-1]}), "float32")):
    W = T.allocate_const(w, "float32", {shape})
    S = T.alloc_buffer(({extent}, {str(made)[1:-1]}), "float32")
    for {names}, c, u, v in T.grid({extent}, {loops}, {channels}, {window}, {window}):
        with T.block("S"):
            {at}, vc, vu, vv = T.axis.remap("SSSSRRR", [{names}, c, u, v])
            with T.init():
                S[{at}] = 0.0
            S[{at}] += X[{image}] * W[{"vu, vv, vc, vf" if last else "vf, vc, vu, vv"}]
    for {names} in T.grid({extent}, {loops}):
        with T.block("Y"):
            {at} = T.axis.remap("SSSS", [{names}])
            Y[{at}] = T.max(S[{at}], 0.0)
""",
        names={"w": weights.tolist()},
    )
    assert isinstance(found, PrimFunc)
    return found


def loops_around(func: PrimFunc, name: str) -> list[str]:
    """The lengths of the loops around the block of a name that are not written out, outermost first."""
    around = [
        node
        for node in walk(func.body)
        if type(node) is For
        and node.kind in ("serial", "parallel")
        and any(type(inner) is Block and inner.name == name for inner in walk(node.body))
    ]
    return [loop.stop.script().strip() for loop in around]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("batch", "size", "window"),
    [('"n"', (2, 2), 3), ('"n"', (2, 2), 2), ('"n"', (3, 3), 2), ('"n"', (2, 3), 3), ("2", (3, 2), 3)],
)
def test_short_lines_of_pixels_are_one(batch: str, size: tuple[int, int], window: int, last: bool) -> None:
    """All pixels of an image are in a tile then, and weights are read once for it."""
    rng = np.random.default_rng(0)
    channels, filters = 96, 32
    around = [one + window - 1 for one in size]
    image, result = ([*around, channels], [*size, filters]) if last else ([channels, *around], [filters, *size])
    shape = (window, window, channels, filters) if last else (filters, channels, window, window)
    func = images(batch, channels, filters, size, window, weights=whole(rng, *shape), last=last)
    made = default_schedule(func, WIDE)
    assert "transform_block_layout" in steps(made)
    outside = loops_around(made.func, "S_update")
    outside = outside[: outside.index(str(channels))]
    assert not {"2", "3"} & set(outside) - {batch}
    run, plain = (tirscript.build(one, pipeline=DEFAULT_LOWERING) for one in (made.func, func))
    for count in (0, 1, 2, 3, 5, 7) if batch == '"n"' else (int(batch),):
        X = whole(rng, count, *image)
        found, expected = (np.full((count, *result), np.nan, "float32") for _ in range(2))
        run(X, found)
        plain(X, expected)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.long
@pytest.mark.parametrize(
    ("channels", "filters", "size", "threads", "again"),
    [
        (64, 128, 7, 2, True),
        (64, 128, 7, 1, True),
        (64, 128, 7, 3, False),  # so that threads share each image
        (8, 64, 32, 2, False),  # an image is more than the weights
        (16, 64, 3, 1, False),  # weights that stay near
    ],
)
def test_small_images_are_read_again_rather_than_many_weights(
    channels: int, filters: int, size: int, threads: int, again: bool
) -> None:
    """A batch of unknown length runs for each panel of weights then."""
    rng = np.random.default_rng(0)
    weights = whole(rng, filters, channels, 3, 3)
    func = images('"n"', channels, filters, (size, size), 3, weights=weights, last=False)
    made = default_schedule(func, CpuFacts(vector_bits=512, threads=threads)).func
    around = loops_around(made, "S_update")
    assert (around.index("n") > 0) == again
    run, plain = (tirscript.build(one, pipeline=DEFAULT_LOWERING) for one in (made, func))
    for count in (0, 1, 2, 5):
        X = whole(rng, count, channels, size + 2, size + 2)
        found, expected = (np.full((count, filters, size, size), np.nan, "float32") for _ in range(2))
        run(X, found)
        plain(X, expected)
        np.testing.assert_array_equal(found, expected)


def test_filters_go_along_vectors_in_a_batch_of_unknown_length() -> None:
    """As they do where the length is known: the lines of few pixels would fill vectors badly."""
    rng = np.random.default_rng(0)
    func = images('"n"', 96, 64, (7, 7), 1, weights=whole(rng, 64, 96, 1, 1), last=False)
    assert "n" == loops_around(default_schedule(func, WIDE).func, "S_update")[0]
    assert "transform_block_layout" not in steps(default_schedule(func, WIDE))
