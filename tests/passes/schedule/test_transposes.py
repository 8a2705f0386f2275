"""What reads across the lines that it writes: squares in registers, of known and of symbolic sizes."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import tirscript
from tirscript import Schedule, ScheduleError
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocBuffer, For
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.testing import assert_same_result

WIDE, HALF, NARROW = CpuFacts(512, 1), CpuFacts(256, 1), CpuFacts(128, 1)


def kernel(body: str, params: str) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    found = parse(f"@T.prim_func\ndef main({params}):\n{lines}")
    assert isinstance(found, PrimFunc)
    return found


def squares(func: PrimFunc, facts: CpuFacts = WIDE) -> bool:
    return "'transpose_" in str(default_schedule(func, facts).trace)


def run(func: PrimFunc, *arrays: np.ndarray, facts: CpuFacts = WIDE) -> None:
    tirscript.build(default_schedule(func, facts).func, pipeline=DEFAULT_LOWERING)(*arrays)


def transposed(dtype: str, sizes: str = '"m", "n"') -> PrimFunc:
    m, n = sizes.split(", ")
    params = f'A: T.Buffer(({m}, {n}), "{dtype}"), B: T.Buffer(({n}, {m}), "{dtype}")'
    return kernel(f"for i, j in T.grid({n}, {m}):\n    B[i, j] = A[j, i]".replace('"', ""), params)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint16", "uint32", "int64"])
@pytest.mark.parametrize("facts", [WIDE, HALF, NARROW], ids=["512", "256", "128"])
def test_every_size_comes_out_whole(dtype: str, facts: CpuFacts) -> None:
    symbolic = transposed(dtype)
    # squares of two doubles are not worth it
    assert squares(symbolic, facts) == (facts is not NARROW or dtype not in ("float64", "int64"))
    built = tirscript.build(default_schedule(symbolic, facts).func, pipeline=DEFAULT_LOWERING)
    rng = np.random.default_rng(0)
    for m, n in [*itertools.product((0, 1, 15, 16, 35), (0, 1, 16, 63, 64, 147)), (70, 300)]:
        given = rng.integers(0, 100, (m, n)).astype(getattr(ml_dtypes, dtype, dtype))
        memory = np.zeros(given.size + 9, given.dtype)
        found = memory[3 : given.size + 3].reshape(n, m)
        built(given, found)
        assert (found == given.T).all()
        assert not memory[:3].any() and not memory[given.size + 3 :].any()


@pytest.mark.parametrize("sizes", ["16, 16", "20, 40", "17, 100", "64, 64", "65, 129"])
def test_known_sizes(sizes: str) -> None:
    func = transposed("float32", sizes)
    assert squares(func)
    assert_same_result(func, default_schedule(func, WIDE).func)


@pytest.mark.parametrize(("dtype", "lanes", "kind"), [("float64", 2, "vectorized"), ("bool", 4, "serial")])
def test_what_no_squares_move_goes_in_small_tiles(dtype: str, lanes: int, kind: str) -> None:
    func = transposed(dtype, "64, 256")
    made = default_schedule(func, NARROW).func
    loops = [(node.extent.value, node.kind) for node in walk(made.body, For)]
    # 64 lines at a time, whose pieces stay in the nearest cache until all vectors of the others have read them
    assert loops == [(4, "serial"), (64 // lanes, "serial"), (64, "serial"), (lanes, kind)]
    assert not squares(func, NARROW)
    assert_same_result(func, made)


def test_many_matrices_and_the_order_of_loops() -> None:
    params = 'A: T.Buffer((3, 40, 33), "float32"), B: T.Buffer((3, 33, 40), "float32")'
    for loops in ("b, i, j in T.grid(3, 33, 40)", "j, b, i in T.grid(40, 3, 33)"):
        func = kernel(f"for {loops}:\n    B[b, i, j] = A[b, j, i]", params)
        assert squares(func)
        assert_same_result(func, default_schedule(func, WIDE).func)


COMPUTED = 'A: T.Buffer(("m", "n"), "{a}"), C: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")'


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        ("A[j, i] * T.float32(2) + C[i, j]", "float32", True),
        ("T.cast(A[j, i], 'float32') - C[i, 0]", "uint8", True),
        ("T.cast(A[j, i], 'float32') + C[i, j]", "float64", True),
        ("T.if_then_else(C[i, j] > A[j, i], A[j, i], C[i, j])", "float32", True),
        ("T.if_then_else(i + j < 9, A[j, i], C[i, j])", "float32", True),
        ("A[j, i] + A[0, i]", "float32", False),  # other elements of what would be copied
        ("A[m - 1 - j, i] + C[i, j]", "float32", False),
        ("A[j, n - 1 - i] + C[i, j]", "float32", False),
    ],
)
def test_more_than_a_transposition(value: str, dtype: str, wanted: bool) -> None:
    func = kernel(f"for i, j in T.grid(n, m):\n    B[i, j] = {value}", COMPUTED.format(a=dtype))
    assert squares(func) == wanted
    plain = tirscript.build(func, pipeline=DEFAULT_LOWERING)
    for m, n in ((1, 1), (16, 16), (35, 70), (40, 100)):
        rng = np.random.default_rng(m)
        a, c = rng.integers(0, 50, (m, n)).astype(dtype), rng.integers(0, 50, (n, m)).astype("float32")
        found, expected = np.zeros((n, m), "float32"), np.zeros((n, m), "float32")
        run(func, a, c, found)
        plain(a, c, expected)
        assert (found == expected).all()


def test_what_is_not_there_is_not_read() -> None:
    # a window that ends before the matrix, and one of which a condition leaves out what lies behind it
    params = 'A: T.Buffer((40, 50), "float32"), B: T.Buffer((64, 64), "float32")'
    func = kernel(
        "for i, j in T.grid(64, 64):\n    B[i, j] = T.if_then_else(i < 50 and j < 40, A[j, i], T.float32(0))", params
    )
    assert not squares(func)
    assert_same_result(func, default_schedule(func, WIDE).func)
    inside = kernel("for i, j in T.grid(32, 32):\n    B[i, j] = A[j, i]", params)
    assert not squares(inside)
    in_place = kernel("for i, j in T.grid(64, 64):\n    B[i, j] = B[i, j] + B[j, i]", params)
    assert not squares(in_place)


def test_the_square_is_kept_beside_its_reader() -> None:
    func = kernel("for i, j in T.grid(n, m):\n    B[i, j] = A[j, i] + C[i, j]", COMPUTED.format(a="float32"))
    lowered = DEFAULT_LOWERING(default_schedule(func, WIDE).func)
    copies = [node.buffer for node in walk(lowered.body) if type(node) is AllocBuffer]
    assert copies and all(one.constant_shape() == (256,) for one in copies)


def test_a_view_that_is_stored_in_parts_is_not_moved() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    kept = T.alloc_buffer((8, 4), "float32", scope="local")
    for i in range(8):
        with T.block("fill"):
            vi = T.axis.spatial(8, i)
            line = T.match_buffer(kept[vi : vi + 1, 0:4], (1, 4), "float32", offset_factor=1)
            {stores}
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi, 0:4] = kept[vi, 0:4]
"""
    whole = parse(text.format(stores="line[0, 0:4] = A[vi, 0:4]"))
    half = parse(text.format(stores="line[0, 0:2] = A[vi, 0:2]"))
    twice = parse(text.format(stores="line[0, 0:4] = A[vi, 0:4] + line[0, 0:4]"))
    lines = "for j in range(4):\n                {}line[0, j] = A[vi, j]"
    each = parse(text.format(stores=lines.format("")))
    some = parse(text.format(stores=lines.format("if A[vi, j] > 0.0:\n                    break\n                ")))
    plan = get_pass("plan_buffer_allocation")
    for func, moves in ((whole, True), (half, False), (twice, False), (each, True), (some, False)):
        loop = next(node for node in walk(plan(func).body) if type(node) is For)
        assert any(type(stmt) is AllocBuffer for stmt in loop.body) == moves


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((2, 24, 5, 7), (0, 2, 3, 1)),
        ((2, 5, 7, 24), (0, 3, 1, 2)),
        ((1, 64, 14, 14), (0, 2, 3, 1)),
        ((20, 3, 4, 5), (1, 2, 3, 0)),
    ],
)
def test_pixels_are_one_dimension_before_and_behind_their_channels(
    shape: tuple[int, ...], order: tuple[int, ...]
) -> None:
    made, names = tuple(shape[at] for at in order), "abcd"
    read = ", ".join(names[order.index(at)] for at in range(4))
    func = kernel(
        f"for a, b, c, d in T.grid{made}:\n    B[a, b, c, d] = A[{read}] + T.float32(1)",
        f'A: T.Buffer({shape}, "float32"), B: T.Buffer({made}, "float32")',
    )
    assert squares(func)
    a = np.random.default_rng(0).random(shape, "float32")
    b = np.zeros(made, "float32")
    run(func, a, b)
    assert (b == a.transpose(order) + np.float32(1)).all()


def test_pixels_that_are_read_by_themselves_stay_two_dimensions() -> None:
    params = 'A: T.Buffer((24, 5, 7), "float32"), B: T.Buffer((5, 7, 24), "float32"), C: T.Buffer((5,), "float32")'
    func = kernel("for a, b, c in T.grid(5, 7, 24):\n    B[a, b, c] = A[c, a, b] + C[a]", params)
    assert_same_result(func, default_schedule(func, WIDE).func)
    flipped = kernel("for a, b, c in T.grid(5, 7, 24):\n    B[a, b, c] = A[c, a, 6 - b]", params)
    assert_same_result(flipped, default_schedule(flipped, WIDE).func)


def test_loops_are_cut_at_multiples_that_only_the_call_knows() -> None:
    func = kernel(
        "for i in range(n):\n    with T.block('B'):\n        vi = T.axis.spatial(n, i)\n        B[vi] = A[vi]",
        'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")',
    )
    schedule = Schedule(func)
    (loop,) = schedule.get_loops("B")
    size = schedule.get(loop).stop
    whole, rest = schedule.loop_partition(loop, [size // 8 * 8, None])
    schedule.vectorize(schedule.split(whole, [None, 8])[1])
    assert "T.where" not in schedule.func.script()
    for n in (0, 5, 8, 21):
        a, b = np.arange(n, dtype="float32"), np.zeros(n, "float32")
        tirscript.build(schedule.func)(a, b)
        assert (a == b).all()
    with pytest.raises(ScheduleError, match="not proved to be 0 or more"):
        schedule.loop_partition(rest, [size // 8 * 8 - 9, None])


def test_a_reduction_begins_in_the_first_part_which_may_not_be_empty() -> None:
    func = kernel(
        "for k in range(n):\n    with T.block('S'):\n        vk = T.axis.reduce(n, k)\n        with T.init():\n"
        "            S[0] = T.float32(0)\n        S[0] = S[0] + A[vk]",
        'A: T.Buffer(("n",), "float32"), S: T.Buffer((1,), "float32")',
    )
    schedule = Schedule(func)
    (loop,) = schedule.get_loops("S")
    with pytest.raises(ScheduleError, match="not proved to be 1 or more"):
        schedule.loop_partition(loop, [schedule.get(loop).stop // 8 * 8, None])


def by_lines(m: int, n: int, k: int, dtype: str, given: str = "") -> PrimFunc:
    source = f'W = T.allocate_const([[1] * {k}] * {n}, "{dtype}", ({n}, {k}))\n' if given else ""
    params = f'A: T.Buffer(({m}, {k}), "{dtype}"), C: T.Buffer(({m}, {n}), "{dtype}")'
    if not given:
        params = f'W: T.Buffer(({n}, {k}), "{dtype}"), {params}'
    body = f"for i, j in T.grid({m}, {n}):\n    C[i, j] = 0\n    for k in range({k}):\n        C[i, j] += A[i, k] * W[j, k]"
    return kernel(source + body, params)


@pytest.mark.parametrize("facts", [WIDE, HALF, CpuFacts(512, 2)], ids=["512", "256", "two threads"])
@pytest.mark.parametrize(
    ("m", "n", "k", "dtype"), [(24, 64, 80, "int32"), (20, 96, 75, "int32"), (30, 48, 70, "int64")]
)
def test_operands_of_products_that_lie_the_other_way_round(m: int, n: int, k: int, dtype: str, facts: CpuFacts) -> None:
    func = by_lines(m, n, k, dtype)
    assert squares(func, facts)
    rng = np.random.default_rng(1)
    left, right = (rng.integers(-50, 50, shape).astype(dtype) for shape in ((m, k), (n, k)))
    found = np.zeros((m, n), dtype)
    run(func, right, left, found, facts=facts)
    assert (found == left @ right.T).all()


def test_constant_operands_are_copied_once_by_plain_loops() -> None:
    assert not squares(by_lines(24, 64, 80, "int32", "constant"))
    assert squares(by_lines(24, 64, 80, "int32").replace(private=False))
    assert not squares(by_lines(24, 64, 80, "int32").replace(private=True))
