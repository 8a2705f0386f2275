"""Products of bfloat16 by the tiles of AMX and by pairs in lanes: what the default schedule makes of kernels, and where it
may not use them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from helpers.bytes import product as byte_product
from helpers.bytes import words
from helpers.processor import has

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import AllocBuffer, PrimFunc, walk
from tirscript.ir.target import Target
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.schedule import Schedule, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.passes.schedule.tensor_intrin import TensorIntrin
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


class Way(NamedTuple):
    """How tiles are multiplied: the fact that says so, the instruction, and the features of a processor that has it."""

    kind: str
    instruction: str
    features: tuple[str, ...]

    @property
    def facts(self) -> CpuFacts:
        return CpuFacts(vector_bits=512, threads=2, float_tiles=self.kind)

    @property
    def here(self) -> bool:
        """Whether this processor has the instruction; elsewhere the interpreter runs what is made."""
        return has(*self.features)

    @property
    def intrin(self) -> TensorIntrin:
        return TensorIntrin.get(f"dot_16x16x32_bfloat16_{self.kind}")


TILES = Way("amx", "llvm.x86.tdpbf16ps", ("amx-bf16",))
WAYS = [TILES, Way("avx512", "llvm.x86.avx512bf16.dpbf16ps.512", ("avx512bf16", "avx512vl"))]


@pytest.fixture(params=WAYS, ids=lambda way: way.kind)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


def bits(rng: np.random.Generator, shape: tuple[int, ...], low: int, high: int) -> np.ndarray:
    """Numbers of both signs whose exponents, as they are stored, are from `low` to below `high`."""
    made = rng.integers(0, 2, shape) << 15 | rng.integers(low, high, shape) << 7 | rng.integers(0, 128, shape)
    return made.astype("uint16").view(ml_dtypes.bfloat16)


def product(m: int, n: int, k: int, right: str = "B[p, j]", epilogue: str = "s", result: str = "float32") -> PrimFunc:
    shape = (k, n) if right == "B[p, j]" else (n, k)
    found = parse(f"""
@T.prim_func
def main(
    A: T.Buffer(({m}, {k}), "bfloat16"), B: T.Buffer({shape}, "bfloat16"), bias: T.Buffer(({n},), "float32"),
    C: T.Buffer(({m}, {n}), "{result}"),
):
    for i, j in T.grid({m}, {n}):
        s: T.float32 = 0.0
        for p in range({k}):
            s += T.cast(A[i, p], "float32") * T.cast({right}, "float32")
        C[i, j] = {epilogue}
""")
    assert isinstance(found, PrimFunc)
    return found


@T.prim_func
def batched(
    X: T.Buffer((2, 44, 92), "bfloat16"), W: T.Buffer((2, 40, 92), "bfloat16"), Y: T.Buffer((2, 44, 40), "float32")
):
    for b, i, j, p in T.grid(2, 44, 40, 92):
        with T.block("Y"):
            vb, vi, vj, vp = T.axis.remap("SSSR", [b, i, j, p])
            with T.init():
                Y[vb, vi, vj] = T.float32(0)
            Y[vb, vi, vj] += T.cast(W[vb, vj, vp], "float32") * T.cast(X[vb, vi, vp], "float32")


def run(way: Way, kernel: PrimFunc, *arrays: np.ndarray) -> None:
    made = default_schedule(kernel, way.facts).func
    assert way.instruction in words(made)
    (tirscript.build(made, pipeline=DEFAULT_LOWERING) if way.here else lambda *given: interpret(made, *given))(*arrays)


@pytest.mark.parametrize("low", [0, 40, 64, 71, 120])
def test_the_instruction_is_what_is_described(way: Way, low: int) -> None:
    """The interpreter does what the processor does, to the bit; both are the loops where nothing is denormal."""
    intrin, rng = way.intrin, np.random.default_rng(low)
    for _ in range(8):
        A, B = bits(rng, (16, 32), low, 256 if low == 0 else low + 20), bits(rng, (16, 16, 2), low, low + 30)
        A[rng.random(A.shape) < 0.1] = 0
        start = bits(rng, (256,), max(low, 1), low + 40).astype("float32") if low != 71 else np.zeros(256, "float32")
        results = [start.copy() for _ in range(3)]
        interpret(intrin.impl, A, B, results[0])
        if way.here:
            tirscript.build(intrin.impl)(A, B, results[1])
            np.testing.assert_array_equal(
                results[0].view("int32")[~np.isnan(results[0])], results[1].view("int32")[~np.isnan(results[0])]
            )
            assert np.array_equal(np.isnan(results[0]), np.isnan(results[1]))
        if low >= 71:
            interpret(intrin.desc, A, B, results[2])
            exact = np.abs(A.astype("float64")) @ np.abs(B.astype("float64").transpose(0, 2, 1).reshape(32, 16))
            assert (np.abs(results[0] - results[2]) <= 1e-5 * (exact.reshape(-1) + np.abs(start))).all()


def test_lines_in_turn() -> None:
    intrin = TensorIntrin.get("interleave_2x16_bfloat16")
    assert_same_result(intrin.desc, intrin.impl)


SHAPES = [
    (32, 32, 32),
    (512, 64, 96),
    (45, 30, 93),
    (13, 66, 64),
    (40, 512, 90),
    (300, 131, 130),
    (27, 16, 130),
    (12, 1030, 64),
]


@pytest.mark.long
@pytest.mark.parametrize("right", ["B[p, j]", "B[j, p]"])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_products_are_tiles(way: Way, sizes: tuple[int, int, int], right: str) -> None:
    (m, n, k), rng = sizes, np.random.default_rng(1)
    A, B = bits(rng, (m, k), 118, 128), bits(rng, (k, n), 118, 128)
    A[rng.random(A.shape) < 0.2], B[rng.random(B.shape) < 0.2] = -0.0, 0.0
    bias, C = rng.standard_normal(n).astype("float32"), np.full((m, n), np.nan, "float32")
    run(way, product(m, n, k, right), A, np.ascontiguousarray(B if right == "B[p, j]" else B.T), bias, C)
    exact = A.astype("float64") @ B.astype("float64")
    assert (np.abs(C - exact) <= 1e-5 * (np.abs(A.astype("float64")) @ np.abs(B.astype("float64")))).all()
    assert not (np.signbit(C) & (C == 0)).any()


@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "low"),
    [((64, 48, 64), 60), *itertools.product([(64, 16, 32), (28, 40, 60)], [1, 20, 54, 60, 70, 71, 72])],
    ids=str,
)
def test_nothing_denormal_is_lost(way: Way, low: int, sizes: tuple[int, int, int]) -> None:
    """Numbers around the bound, of one digit: their products and sums are exact, in float32 and in any order."""
    (m, n, k), rng = sizes, np.random.default_rng(low)
    A, B = (bits(rng, shape, low, low + 3).view("uint16") & 0xFFC0 for shape in ((m, k), (k, n)))
    A, B = A.view(ml_dtypes.bfloat16), B.view(ml_dtypes.bfloat16)
    A[5, 7], B[9, 11] = 1e-40, -1e-39
    A[rng.random(A.shape) < 0.8] = 0
    C = np.zeros((m, n), "float32")
    run(way, product(m, n, k), A, B, np.zeros(n, "float32"), C)
    exact = A.astype("float64") @ B.astype("float64")
    np.testing.assert_array_equal(C, exact.astype("float32"))
    assert low < 50 or (np.abs(C[C != 0]) < 2.0**-126).any() or low > 60


@pytest.mark.long
@pytest.mark.parametrize(("left", "right"), [(70, 71), (71, 71), (1, 140), (1, 141), (2, 140), (140, 1), (141, 1)])
def test_the_bound_is_the_least_one(way: Way, left: int, right: int) -> None:
    """Two products whose difference is the last digit that a product can have, at the bound and below it."""
    A, B = np.zeros((32, 32)), np.zeros((32, 32))
    A[3, 4], A[3, 6], B[4, 5], B[6, 5] = 129 / 128, -1, 129 / 128, 130 / 128
    A, B = A * 2.0 ** (left - 127), B * 2.0 ** (right - 127)
    C = np.zeros((32, 32), "float32")
    given = [array.astype(ml_dtypes.bfloat16) for array in (A, B)]
    run(way, product(32, 32, 32), *given, np.zeros(32, "float32"), C)
    assert np.array_equal(C, A @ B)
    assert C[3, 5] == 2.0 ** (left + right - 254 - 14)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_denormal_number_times_a_large_one(way: Way, side: str) -> None:
    """All other terms are 0, so that nothing hides it."""
    A, B = np.zeros((45, 32)), np.zeros((32, 35))
    A[7, 9], B[9, 11] = (2.0**-130, 2.0**100) if side == "left" else (2.0**100, 2.0**-130)
    C = np.zeros((45, 35), "float32")
    run(
        way, product(45, 35, 32), A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16), np.zeros(35, "float32"), C
    )
    assert C[7, 11] == 2.0**-30 and np.count_nonzero(C) == 1


@pytest.mark.long
@pytest.mark.parametrize("where", ["left", "right", "both"])
def test_numbers_that_are_no_numbers(way: Way, where: str) -> None:
    rng = np.random.default_rng(3)
    A, B = bits(rng, (70, 64), 110, 130), bits(rng, (64, 50), 110, 130)
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, -1e-38, 3e38], ml_dtypes.bfloat16)
    if where != "right":
        A[3, :8], A[40, 20] = special, np.inf
    if where != "left":
        B[:8, 5], B[:, 33], B[20, 9] = special[::-1], 0, 1e-40
    C = np.zeros((70, 50), "float32")
    run(way, product(70, 50, 64), A, B, np.zeros(50, "float32"), C)
    few = ([3, 40, 41, 69], [0, 5, 9, 33, 49])
    wanted = np.zeros((4, 5), "float32")
    interpret(product(4, 5, 64), A[few[0]], np.ascontiguousarray(B[:, few[1]]), np.zeros(5, "float32"), wanted)
    np.testing.assert_allclose(C[np.ix_(*few)], wanted, rtol=1e-4)


def test_the_interpreter_runs_them_too(way: Way) -> None:
    """The scheduled program and the lowered one give what native code gives, to the bit."""
    made, rng = default_schedule(product(29, 44, 90), way.facts).func, np.random.default_rng(6)
    A, B = bits(rng, (29, 90), 100, 128), bits(rng, (90, 44), 100, 128)
    B[3, 32], results = 1e-39, [np.zeros((29, 44), "float32") for _ in range(3)]
    bias = np.zeros(44, "float32")
    interpret(made, A, B, bias, results[0])
    interpret(DEFAULT_LOWERING(made), A, B, bias, results[1])
    assert np.array_equal(results[0], results[1])
    if way.here:
        tirscript.build(made, pipeline=DEFAULT_LOWERING)(A, B, bias, results[2])
        assert np.array_equal(results[0], results[2])


def test_results_are_finished_in_their_tiles(way: Way) -> None:
    epilogue = 'T.cast(T.max(s + bias[j], T.float32(0)), "bfloat16")'
    kernel = product(65, 40, 64, "B[j, p]", epilogue, "bfloat16")
    rng = np.random.default_rng(2)
    A, B = (rng.integers(-8, 9, shape).astype(ml_dtypes.bfloat16) for shape in ((65, 64), (40, 64)))
    A[2, 2] = 1e-39  # one tile in vectors, the others by the instruction
    bias, C = rng.integers(-9, 9, 40).astype("float32"), np.zeros((65, 40), ml_dtypes.bfloat16)
    run(way, kernel, A, B, bias, C)
    wanted = np.maximum(A.astype("float32") @ B.astype("float32").T + bias, 0).astype(ml_dtypes.bfloat16)
    assert np.array_equal(C, wanted)
    made = DEFAULT_LOWERING(default_schedule(kernel, way.facts).func)
    local = [node.buffer for node in walk(made.body) if type(node) is AllocBuffer and node.buffer.scope == "local"]
    assert local and all(np.prod(buffer.constant_shape() or (1 << 20,)) <= 4 * 256 for buffer in local)


@pytest.mark.long
def test_batches_and_operands_that_are_swapped(way: Way) -> None:
    rng = np.random.default_rng(4)
    X, W = (rng.integers(-8, 9, shape).astype(ml_dtypes.bfloat16) for shape in ((2, 44, 92), (2, 40, 92)))
    X[1, 43, 91], Y = -1e-40, np.zeros((2, 44, 40), "float32")
    run(way, batched, X, W, Y)
    wanted = np.einsum("bik,bjk->bij", X.astype("float32"), W.astype("float32"))
    assert np.array_equal(Y, wanted.astype("float32"))


def test_what_is_made_before_is_an_operand_too(way: Way) -> None:
    kernel = parse("""
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "bfloat16"), D: T.Buffer((64, 64), "float32")):
    H = T.alloc_buffer((64, 64), "bfloat16")
    for i, j in T.grid(64, 64):
        total: T.float32 = 0.0
        for p in range(64):
            total += A[p, i] * A[p, j]
        H[i, j] = T.cast(total, "bfloat16")
    for i, j in T.grid(64, 64):
        D[i, j] = 0.0
        for p in range(64):
            D[i, j] += T.cast(H[i, p], "float32") * T.cast(B[p, j], "float32")
""")
    assert isinstance(kernel, PrimFunc)
    rng = np.random.default_rng(5)
    A, B = rng.integers(-2, 3, (64, 64)).astype("float32"), rng.integers(-2, 3, (64, 64)).astype(ml_dtypes.bfloat16)
    D = np.zeros((64, 64), "float32")
    run(way, kernel, A, B, D)
    assert np.array_equal(D, (A.T @ A) @ B.astype("float32"))


@pytest.mark.skipif(not TILES.here, reason="the processor has no tiles")
def test_tiles_of_bytes_and_of_floats_take_turns() -> None:
    """Both use the same registers of each thread, three tiles deep, whose casts LLVM cannot take (see tile_values)."""
    facts = CpuFacts(vector_bits=512, threads=2, tiles=True, float_tiles="amx")
    kernels = product(130, 70, 70), byte_product(130, 70, 140)
    functions = [tirscript.build(default_schedule(one, facts).func, pipeline=DEFAULT_LOWERING) for one in kernels]
    rng, threads = np.random.default_rng(7), tirscript.get_num_threads()
    try:
        for turn in range(200):
            tirscript.set_num_threads(1 + turn % 2)
            A, B = rng.integers(-8, 9, (130, 70)), rng.integers(-8, 9, (70, 70))
            C = np.full((130, 70), np.nan, "float32")
            functions[0](*(one.astype(ml_dtypes.bfloat16) for one in (A, B)), np.zeros(70, "float32"), C)
            assert np.array_equal(C, A @ B)
            A, B = rng.integers(-128, 128, (130, 140)), rng.integers(-128, 128, (140, 70))
            D = np.full((130, 70), -1, "int32")
            functions[1](A.astype("int8"), B.astype("int8"), D)
            assert np.array_equal(D, A @ B)
    finally:
        tirscript.set_num_threads(threads)


def test_steps_are_replayed(way: Way) -> None:
    from tirscript.passes.plain_loops.blocks_from_loops import with_blocks

    kernel = product(64, 64, 64)
    made = default_schedule(kernel, way.facts)
    again = Trace.parse(str(made.trace)).replay(Schedule(with_blocks(kernel)))
    assert again.script() == made.script()


def test_other_products_are_not(way: Way) -> None:
    half = product(64, 64, 64).script()
    others = {
        "no tiles": (product(64, 64, 64), CpuFacts(vector_bits=512, threads=2, tiles=True)),
        "an order of sums": (product(64, 64, 64), CpuFacts(vector_bits=512, reassociate=False, float_tiles=way.kind)),
        "begins with something": (half.replace("s: T.float32 = 0.0", "s: T.float32 = -0.0"), way.facts),
        "float16": (half.replace("bfloat16", "float16"), way.facts),
        "few rows": (product(11, 64, 64), way.facts),
        "mostly padding": (product(17, 33, 70), WAYS[1].facts),
        "few rows of a large operand": (product(31, 1024, 1024), way.facts),
    }
    for why, (kernel, facts) in others.items():
        func = parse(kernel) if isinstance(kernel, str) else kernel
        assert isinstance(func, PrimFunc)
        assert "llvm.x86" not in words(default_schedule(func, facts).func), why


def test_sums_of_bfloat16_are_rounded_at_each_step(way: Way) -> None:
    text = product(64, 64, 64).script().replace('T.cast(A[i, p], "float32")', "A[i, p]")
    text = text.replace('T.cast(B[p, j], "float32")', "B[p, j]").replace("T.float32 = 0.0", "T.bfloat16 = 0.0")
    kernel = parse(text.replace("C[i, j] = s", 'C[i, j] = T.cast(s, "float32")'))
    assert isinstance(kernel, PrimFunc)
    assert "llvm.x86" not in words(default_schedule(kernel, way.facts).func)


@pytest.mark.parametrize(
    ("target", "there"),
    [("sapphirerapids", WAYS[0]), ("icelake-server", None), ("cooperlake", WAYS[1]), ("znver4", WAYS[1])],
)
def test_the_target_says_what_multiplies_tiles(target: str, there: Way | None) -> None:
    kernel = product(64, 64, 64)
    with Target.parse(f"llvm -mcpu={target}"):
        text = words(get_pass("default_cpu")(kernel))
    assert [way for way in WAYS if way.instruction in text] == [way for way in WAYS if way is there]
    without = words(get_pass("default_cpu").configure(vector_bits=512, float_tiles="")(kernel))
    assert "llvm.x86" not in without
