"""Windows of the default schedule: convolutions of channels by themselves and pooling, in tiles of lines and vectors."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import AllocBuffer, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

WIDE = CpuFacts(vector_bits=512)


def depthwise(
    channels: int,
    size: tuple[int, int],
    window: tuple[int, int],
    *,
    step: int = 1,
    apart: int = 1,
    border: int = 0,
    reader: str = "",
    kind: str = "float32",
) -> PrimFunc:
    """Each channel by itself, of images of `size` with a border around them; `reader` is what is made of the sums."""
    whole = [one + 2 * border for one in size]
    h, w = ((one - (taps - 1) * apart - 1) // step + 1 for one, taps in zip(whole, window, strict=True))
    padded = f"""
    padded = T.alloc_buffer(({channels}, {whole[0]}, {whole[1]}), "{kind}")
    for c, y, x in T.grid({channels}, {whole[0]}, {whole[1]}):
        with T.block("pad"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            padded[vc, vy, vx] = T.if_then_else(
                {border} <= vy and vy < {border + size[0]} and {border} <= vx and vx < {border + size[1]},
                X[vc, vy - {border}, vx - {border}],
                T.cast(0, "{kind}"),
            )"""
    behind = f"""
    for c, y, x in T.grid({channels}, {h}, {w}):
        with T.block("reader"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            Y[vc, vy, vx] = {reader}"""
    sums = "S" if reader else "Y"
    func = parse(f"""
from tirscript.script import tir as T
@T.prim_func
def main(
    X: T.Buffer(({channels}, {size[0]}, {size[1]}), "{kind}"),
    W: T.Buffer(({channels}, {window[0]}, {window[1]}), "{kind}"),
    Y: T.Buffer(({channels}, {h}, {w}), "{kind}"),
):
{f'    S = T.alloc_buffer(({channels}, {h}, {w}), "{kind}")' if reader else ""}{padded if border else ""}
    for c, y, x, u, v in T.grid({channels}, {h}, {w}, {window[0]}, {window[1]}):
        with T.block("sum"):
            vc, vy, vx, vu, vv = T.axis.remap("SSSRR", [c, y, x, u, v])
            with T.init():
                {sums}[vc, vy, vx] = T.cast(0, "{kind}")
            {sums}[vc, vy, vx] += (
                {"padded" if border else "X"}[vc, vy * {step} + vu * {apart}, vx * {step} + vv * {apart}] * W[vc, vu, vv]
            )
{behind if reader else ""}
""")
    assert isinstance(func, PrimFunc)
    return func


def compared(func: PrimFunc) -> None:
    """Native code with and without the schedule leaves the same, which small whole numbers make exact."""
    rng = np.random.default_rng(0)
    given = [
        rng.integers(-3, 4, buffer.constant_shape()).astype(buffer.dtype.name) for buffer in func.param_buffers[:-1]
    ]
    result = func.param_buffers[-1]
    found, plain = (np.full(result.constant_shape(), 77, result.dtype.name) for _ in range(2))
    tirscript.build(func)(*given, found)
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(*given, plain)
    np.testing.assert_array_equal(found, plain)


def lanes_of(func: PrimFunc, facts: CpuFacts = WIDE) -> list[int]:
    """The lanes of the vectors in which the sums are made."""
    made = default_schedule(func, facts)
    return [made.get(made.get_loops("sum_update")[-1]).stop.value]


@pytest.mark.long
@pytest.mark.parametrize("reader", ["", "T.max(S[vc, vy, vx] + W[vc, 0, 0], 0.0)"])
@pytest.mark.parametrize("border", [0, 1, 2])
@pytest.mark.parametrize(
    ("channels", "size", "window", "step", "apart"),
    [
        (24, (14, 14), (3, 3), 1, 1),
        (24, (14, 14), (3, 3), 2, 1),
        (96, (7, 7), (3, 3), 1, 1),
        (33, (13, 11), (5, 5), 1, 1),
        (3, (64, 64), (3, 3), 1, 1),
        (7, (29, 31), (5, 3), 2, 1),
        (5, (40, 21), (7, 7), 1, 1),
        (5, (37, 23), (3, 3), 1, 2),
        (5, (37, 50), (3, 2), 3, 1),
        (3, (41, 73), (2, 5), 4, 2),
        (2, (9, 200), (1, 9), 1, 1),
        (64, (9, 5), (4, 1), 1, 1),
        (2, (100, 60), (11, 1), 5, 1),
        (1, (113, 117), (3, 3), 1, 1),
    ],
)
def test_the_results_are_those_of_plain_loops(
    channels: int,
    size: tuple[int, int],
    window: tuple[int, int],
    step: int,
    apart: int,
    border: int,
    reader: str,
) -> None:
    compared(depthwise(channels, size, window, step=step, apart=apart, border=border, reader=reader))


@pytest.mark.parametrize("kind", ["float64", "float16", "int32", "int16", "int8"])
def test_of_other_numbers(kind: str) -> None:
    compared(depthwise(19, (15, 14), (3, 3), border=1, kind=kind))
    compared(depthwise(19, (15, 27), (3, 3), step=2, border=1, kind=kind))


@pytest.mark.parametrize(("width", "lanes"), [(14, 16), (7, 8), (28, 16), (56, 16), (20, 8), (4, 4), (64, 16), (24, 8)])
def test_lines_are_cut_into_vectors_that_they_fill(width: int, lanes: int) -> None:
    assert lanes_of(depthwise(64, (14, width), (3, 3), border=1)) == [lanes]


def test_what_a_window_reads_is_copied_with_room_for_whole_vectors_near_its_tiles() -> None:
    func = depthwise(24, (14, 14), (3, 3), border=1, reader="S[vc, vy, vx] + 1.0")
    made = default_schedule(func, WIDE)
    assert_same_result(func, made.func, tolerance=1e-5)
    sizes = [node.buffer.constant_shape() for node in walk(made.func.body) if type(node) is AllocBuffer]
    assert sizes == [(24, 16, 18), (24, 14, 16)]  # the border is in the copy
    (channel, *_), (other, *_) = made.get_loops("padded_pad"), made.get_loops("sum_update")
    assert channel == other and len(made.get_loops("reader")) > 3


def test_images_that_no_near_cache_holds_are_copied_for_a_tile_at_a_time() -> None:
    small, large = (default_schedule(depthwise(4, (size, size), (3, 3), border=1), WIDE) for size in (32, 160))
    assert "compute_at" in str(small.trace) and "compute_at" in str(large.trace)
    shared = [
        len([loop for loop in made.get_loops(copy) if loop in made.get_loops("sum_update")])
        for made, copy in ((small, "pad"), (large, "pad"))
    ]
    assert shared == [1, 2]


@pytest.mark.parametrize("reassociate", [True, False])
def test_sums_of_large_windows_go_down_the_lines_last_where_their_order_is_free(reassociate: bool) -> None:
    made = default_schedule(depthwise(8, (20, 20), (7, 7)), CpuFacts(vector_bits=512, reassociate=reassociate))
    block = made.get(made.get_block("sum_update"))
    order = [axis.value for axis in block.axes if axis.kind == "reduce"]
    places = [made.get(loop).var for loop in made.get_loops("sum_update")]
    assert (places.index(order[0]) > places.index(order[1])) == reassociate


@pytest.mark.parametrize(
    ("width", "window", "step", "border", "lanes"), [(14, 3, 1, 1, 16), (37, 3, 2, 1, 8), (33, 3, 2, 0, 16)]
)
@pytest.mark.parametrize(("of", "least"), [("max", '"-inf"'), ("add", "0.0")])
def test_pooling(width: int, window: int, step: int, border: int, lanes: int, of: str, least: str) -> None:
    whole = width + 2 * border
    size = (whole - window) // step + 1
    func = parse(f"""
from tirscript.script import tir as T
@T.prim_func
def main(X: T.Buffer((9, {width}, {width}), "float32"), Y: T.Buffer((9, {size}, {size}), "float32")):
    P = T.alloc_buffer((9, {whole}, {whole}), "float32")
    for c, y, x in T.grid(9, {whole}, {whole}):
        with T.block("pad"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = T.if_then_else(
                {border} <= vy and vy < {width + border} and {border} <= vx and vx < {width + border},
                X[vc, vy - {border}, vx - {border}],
                T.float32({least}),
            )
    for c, y, x, u, v in T.grid(9, {size}, {size}, {window}, {window}):
        with T.block("sum"):
            vc, vy, vx, vu, vv = T.axis.remap("SSSRR", [c, y, x, u, v])
            with T.init():
                Y[vc, vy, vx] = T.float32({least})
            Y[vc, vy, vx] = T.{of}(Y[vc, vy, vx], P[vc, vy * {step} + vu, vx * {step} + vv])
""")
    assert isinstance(func, PrimFunc)
    compared(func)
    assert lanes_of(func) == [lanes]


def test_images_that_several_filters_share_are_read_by_tiles_of_filters() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((34, 34), "float32"), W: T.Buffer((3, 3, 3), "float32"), Y: T.Buffer((3, 32, 32), "float32")):
    for f, y, x, u, v in T.grid(3, 32, 32, 3, 3):
        with T.block("sum"):
            vf, vy, vx, vu, vv = T.axis.remap("SSSRR", [f, y, x, u, v])
            with T.init():
                Y[vf, vy, vx] = 0.0
            Y[vf, vy, vx] += X[vy + vu, vx + vv] * W[vf, vu, vv]
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE)
    assert [made.get(loop).stop.value for loop in made.get_loops("sum_update")][-3:] == [3, 2, 16]
    compared(func)


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("width", [18, 23])
@pytest.mark.parametrize(
    "maker",
    [
        """
    for c, y, x, k in T.grid(8, 18, {width}, 8):
        with T.block("product"):
            vc, vy, vx, vk = T.axis.remap("SSSR", [c, y, x, k])
            with T.init():
                P[vc, vy, vx] = 0.0
            P[vc, vy, vx] += X[vk, vy, vx] * W[vc, vk]""",
        """
    for c, y in T.grid(8, 18):
        with T.block("line"):
            vc, vy = T.axis.remap("SS", [c, y])
            for x in range({width}):
                P[vc, vy, x] = X[vc, vy, x] + W[0, vc]""",
        """
    for c, y, x in T.grid(8, 18, {width}):
        with T.block("scaled"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = X[vc, vy, vx] * W[0, vc]""",
    ],
    ids=["product", "line", "scaled"],
)
def test_images_may_be_more_than_copies_and_be_seen_by_the_caller(maker: str, width: int, seen: bool) -> None:
    image = f'T.Buffer((8, 18, {width}), "float32")'
    given, own = ("", f"P = T.alloc_buffer((8, 18, {width}), 'float32')") if not seen else (f"P: {image},", "")
    func = parse(f"""
@T.prim_func
def main(X: {image}, W: T.Buffer((8, 8), "float32"), {given} Y: T.Buffer((8, 16, {width - 2}), "float32")):
    {own}{maker.format(width=width)}
    for c, y, x, u, v in T.grid(8, 16, {width - 2}, 3, 3):
        with T.block("sum"):
            vc, vy, vx, vu, vv = T.axis.remap("SSSRR", [c, y, x, u, v])
            with T.init():
                Y[vc, vy, vx] = 0.0
            Y[vc, vy, vx] += P[vc, vy + vu, vx + vv]
""")
    assert isinstance(func, PrimFunc)
    compared(func)
    assert lanes_of(func) == [8 if width == 23 else 16]


def test_loops_may_stand_in_another_order_than_the_axes() -> None:
    text = depthwise(7, (29, 31), (5, 3), border=1).script()
    inner = parse(
        text.replace("for c, y, x, u, v in T.grid(7, 27, 31, 5, 3)", "for u, y, v, c, x in T.grid(5, 27, 3, 7, 31)")
    )
    assert isinstance(inner, PrimFunc) and inner.script() != text
    compared(inner)
    assert lanes_of(inner) == lanes_of(depthwise(7, (29, 31), (5, 3), border=1))


@pytest.mark.parametrize(("window", "tiled"), [(2, False), (3, True)])
def test_windows_beside_each_other_share_nothing(window: int, tiled: bool) -> None:
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer((4, 34, 34), "float32"), Y: T.Buffer((4, 16, 16), "float32")):
    for c, y, x in T.grid(4, 16, 16):
        Y[c, y, x] = T.min_value("float32")
        for u, v in T.grid({window}, {window}):
            Y[c, y, x] = T.max(Y[c, y, x], X[c, y * 2 + u, x * 2 + v])
""")
    assert isinstance(func, PrimFunc)
    assert ("T.vectorized(" in default_schedule(func, WIDE).func.script()) == tiled
    compared(func)


def test_results_may_be_stored_beside_a_border() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((4, 18, 18)), W: T.Buffer((4, 3, 3)), Y: T.Buffer((4, 20, 20))):
    S = T.alloc_buffer((4, 16, 16), "float32")
    for c, y, x in T.grid(4, 16, 16):
        S[c, y, x] = 0.0
        for u, v in T.grid(3, 3):
            S[c, y, x] += X[c, y + u, x + v] * W[c, u, v]
    for c, y, x in T.grid(4, 16, 16):
        Y[c, y + 2, x + 1] = T.max(S[c, y, x], 0.0)
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    scopes = [node.buffer.scope for node in walk(made) if type(node) is AllocBuffer and "S" in node.buffer.name]
    assert scopes == ["local"]
    compared(func)


@pytest.mark.parametrize(
    ("lines", "columns", "steps", "apart", "tiled"),
    [
        (1, 5000, 8, 3, False),  # lanes that are apart, which LLVM picks for several steps at once
        (1, 5000, 32, 2, False),
        (1, 5000, 90, 3, False),
        (1, 5000, 120, 3, True),  # too long to be written out
        (1, 4096, 8, 1, True),
        (64, 100, 8, 1, False),  # no whole vectors
        (64, 100, 32, 1, True),
        (64, 112, 8, 1, True),
    ],
)
def test_few_steps_along_a_line_by_itself(lines: int, columns: int, steps: int, apart: int, tiled: bool) -> None:
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer(({lines}, {columns * apart + steps}), "float32"), W: T.Buffer(({steps},), "float32"),
         Y: T.Buffer(({lines}, {columns}), "float32")):
    for c, x, k in T.grid({lines}, {columns}, {steps}):
        with T.block("Y"):
            vc, vx, vk = T.axis.remap("SSR", [c, x, k])
            with T.init():
                Y[vc, vx] = 0.0
            Y[vc, vx] += X[vc, vx * {apart} + vk] * W[vk]
""")
    assert isinstance(func, PrimFunc)
    schedule = default_schedule(func, WIDE)
    # of a tile the vectors are innermost; else the steps, which are written out
    assert schedule.get(schedule.get_loops("Y_update")[-1]).kind == ("vectorized" if tiled else "unroll")
    compared(func)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_windows_of_unknown_length_are_read_along_their_results(blocks: bool, threads: int) -> None:
    """Along the window each result would be added up from the lanes of vectors."""
    plain = """
        Y[y, x] = 0.0
        for u, v in T.grid(p, q):
            Y[y, x] += X[y + u, x + v] * F[u, v]"""
    block = """
        for u, v in T.grid(p, q):
            with T.block("Y"):
                vy, vx, vu, vv = T.axis.remap("SSRR", [y, x, u, v])
                with T.init():
                    Y[vy, vx] = 0.0
                Y[vy, vx] += X[vy + vu, vx + vv] * F[vu, vv]"""
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer(("h", "w")), F: T.Buffer(("p", "q")), Y: T.Buffer(("h - p + 1", "w - q + 1"))):
    for y, x in T.grid(h - p + 1, w - q + 1):{block if blocks else plain}
""")
    assert isinstance(func, PrimFunc)
    facts = CpuFacts(vector_bits=512, threads=threads)
    made = default_schedule(func, facts).func
    assert "_rf" not in made.script() and "T.vectorized(T.int64(16))" in made.script()
    built = tirscript.build(made, bounds_check=True)
    random = np.random.default_rng(threads)
    for size, window in (
        ((9, 70), (1, 1)),
        ((4, 5), (4, 5)),
        ((1, 200), (1, 23)),
        ((37, 131), (5, 7)),
        ((3, 4), (4, 5)),
    ):
        x, f = (random.integers(-4, 5, shape).astype("float32") for shape in (size, window))
        shape = tuple(one - taps + 1 for one, taps in zip(size, window, strict=True))
        found, wanted = np.full(shape, 9, "float32"), np.full(shape, 9, "float32")
        tirscript.interpret(func, x, f, wanted)
        built(x, f, found)
        np.testing.assert_array_equal(found, wanted)


def test_lines_of_unknown_length_are_done_in_four_vectors() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer(("n",)), F: T.Buffer(("m",)), Y: T.Buffer(("n - m + 1",))):
    for x in range(n - m + 1):
        Y[x] = 0.0
        for v in range(m):
            Y[x] += X[x + v] * F[v]
""")
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, WIDE).func
    assert "T.unroll(T.int64(4))" in made.script() and "T.ceildiv(n - m + 1, 64)" in made.script()
    for size, window in ((1, 1), (63, 1), (64, 1), (65, 1), (500, 200), (5, 0), (4, 5)):
        x, f = np.arange(size, dtype="float32"), np.arange(window, dtype="float32") - 2
        found = np.full(size - window + 1, 9, "float32")
        tirscript.build(made)(x, f, found)
        wanted = np.array([x[at : at + window] @ f for at in range(size - window + 1)], "float32")
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("columns", "height", "width", "apart", "tiled"),
    [
        (34, 3, 3, 2, False),  # lanes that are apart, in no whole vectors
        (32, 3, 3, 2, True),
        (34, 5, 5, 2, True),
        (34, 5, 1, 1, False),  # down lines that would have to be copied
        (32, 5, 1, 1, True),
        (34, 3, 3, 1, True),
    ],
)
def test_few_steps_of_lines_that_are_no_whole_vectors(
    columns: int, height: int, width: int, apart: int, tiled: bool
) -> None:
    func = parse(f"""
@T.prim_func
def main(X: T.Buffer(({16 * apart + height}, {columns * apart + width}), "float32"),
         W: T.Buffer(({height}, {width}), "float32"), Y: T.Buffer((16, {columns}), "float32")):
    for y, x in T.grid(16, {columns}):
        s: T.float32 = 0.0
        for u, v in T.grid({height}, {width}):
            s += X[y * {apart} + u, x * {apart} + v] * W[u, v]
        Y[y, x] = T.max(s, 0.0)
""")
    assert isinstance(func, PrimFunc)
    schedule = default_schedule(func, WIDE)
    assert schedule.get(schedule.get_loops("s_update")[-1]).kind == ("vectorized" if tiled else "unroll")
    if not tiled:  # what reads the sums stands with them
        assert schedule.get_loops("Y")[-1] == schedule.get_loops("s_update")[-2 if width == 1 else -3]
    compared(func)
