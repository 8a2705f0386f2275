"""What the default schedule leaves as it was written, since its own form took longer than the plain loops."""

from __future__ import annotations

import textwrap

import pytest

from tirscript.ir import For, PrimFunc, walk
from tirscript.ir.stmt import Block
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result

ONE = CpuFacts(vector_bits=128, threads=1)
TWO = CpuFacts(vector_bits=128, threads=2)


def program(text: str) -> PrimFunc:
    found = parse(textwrap.dedent(text))
    assert isinstance(found, PrimFunc)
    return found


def runs(schedule: Schedule, block: str) -> int:
    """How often a block runs."""
    count = 1
    for loop in schedule.get_loops(block):
        count *= int(schedule.get(loop).stop.value)
    return count


def names(schedule: Schedule) -> list[str]:
    return [node.name for node in walk(schedule.func.body) if type(node) is Block]


def primitives(schedule: Schedule) -> set[str]:
    return {step.primitive for step in schedule.trace.steps}


@T.prim_func
def group_norm(X: T.Buffer((2, 8, 32), "float32"), Y: T.Buffer((2, 8, 32), "float32")):
    mean = T.alloc_buffer((2, 2), "float32")
    for n, g, c, x in T.grid(2, 2, 4, 32):
        with T.block("mean"):
            vn, vg, vc, vx = T.axis.remap("SSRR", [n, g, c, x])
            with T.init():
                mean[vn, vg] = 0.0
            mean[vn, vg] += X[vn, vg * 4 + vc, vx] / 128.0
    for n, c, x in T.grid(2, 8, 32):
        with T.block("Y"):
            vn, vc, vx = T.axis.remap("SSS", [n, c, x])
            Y[vn, vc, vx] = X[vn, vc, vx] - mean[vn, vc // 4]


def test_what_several_rows_share_is_made_once() -> None:
    made = default_schedule(group_norm, ONE)
    lanes = 16
    assert "mean_rf_update" in names(made)
    assert runs(made, "mean_rf_update") == 2 * 2 * 4 * 32
    assert runs(made, "mean_rf_init") == 2 * 2 * lanes
    assert_same_result(group_norm, made.func)


@T.prim_func
def unpacked(X: T.Buffer((36,), "float32"), P: T.Buffer((2100, 18), "uint8"), Y: T.Buffer((2100,), "float32")):
    for j in range(2100):
        total: T.float32 = 0.0
        for k in range(36):
            total += X[k] * T.cast(P[j, k // 2] >> T.cast(k % 2 * 4, "uint8") & 15, "float32")
        Y[j] = total


def test_a_sum_that_no_rule_takes_begins_before_its_loop() -> None:
    made = default_schedule(unpacked, TWO)
    assert names(made) == ["total_init", "total_update", "Y"]
    assert all(node.init is None for node in walk(made.func.body) if type(node) is Block)
    assert_same_result(unpacked, made.func, runs=1)


@T.prim_func
def clipped(A: T.Buffer((80, 80), "float32"), B: T.Buffer((80,), "float32")):
    for i, k in T.grid(80, 80):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 1.0
            B[vi] += A[vi, T.min(vk * vk, 79)]


def test_so_does_a_block_and_a_sum_along_its_result_does_not() -> None:
    made = default_schedule(clipped, TWO)
    assert names(made) == ["B_init", "B_update"]
    assert_same_result(clipped, made.func)
    across = program("""
        @T.prim_func
        def across(A: T.Buffer((8, 90), "bool"), B: T.Buffer((90,), "bool")):
            for k, i in T.grid(8, 90):
                with T.block("B"):
                    vk, vi = T.axis.remap("RS", [k, i])
                    with T.init():
                        B[vi] = False
                    B[vi] = B[vi] or A[vk, vi]
    """)
    assert "decompose_reduction" not in primitives(default_schedule(across, TWO))


def test_a_reader_that_is_a_sum_itself_keeps_its_rows() -> None:
    func = program("""
        @T.prim_func
        def weighted(S: T.Buffer((4, 64), "float32"), V: T.Buffer((4, 64, 5), "float32"), O: T.Buffer((4, 5), "float32")):
            M = T.alloc_buffer((4,), "float32")
            for i, j in T.grid(4, 64):
                with T.block("M"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    with T.init():
                        M[vi] = T.min_value("float32")
                    M[vi] = T.max(M[vi], S[vi, vj])
            for i, d, j in T.grid(4, 5, 64):
                with T.block("O"):
                    vi, vd, vj = T.axis.remap("SSR", [i, d, j])
                    with T.init():
                        O[vi, vd] = 0.0
                    O[vi, vd] += T.exp(S[vi, vj] - M[vi]) * V[vi, vj, vd]
    """)
    made = default_schedule(func, TWO)
    assert made.get_loops("M")[0] == made.get_loops("O_update")[0]
    assert_same_result(func, made.func)


@T.prim_func
def bilateral(X: T.Buffer((44, 44), "float32"), Y: T.Buffer((40, 40), "float32")):
    for i, j in T.grid(40, 40):
        total: T.float32 = 0.0
        weights: T.float32 = 0.0
        for a, b in T.grid(5, 5):
            weight = T.exp(X[i + a, j + b] - X[i + 2, j + 2])
            total += weight * X[i + a, j + b]
            weights += weight
        Y[i, j] = total / weights


def test_short_sums_of_one_loop_stay_in_it() -> None:
    made = Schedule(with_blocks(bilateral))
    assert names(made) == ["total", "weights", "total_1", "weights_1", "Y"]
    assert made.get_loops("total_1") == made.get_loops("weights_1")
    assert "parallel" in primitives(default_schedule(bilateral, TWO))
    assert_same_result(bilateral, default_schedule(bilateral, TWO).func)


def test_what_sees_how_far_a_sum_is_stays_behind_it() -> None:
    func = program("""
        @T.prim_func
        def partial(A: T.Buffer((6, 5), "int32"), S: T.Buffer((6,), "int32"), P: T.Buffer((6,), "int32")):
            for i in range(6):
                S[i] = 0
                P[i] = 0
                for j in range(5):
                    S[i] += A[i, j]
                    P[i] = T.max(P[i], S[i])
    """)
    assert with_blocks(func) is func
    assert_same_result(func, default_schedule(func, TWO).func)


def test_stores_that_share_a_quotient_stay_in_one_loop() -> None:
    func = program("""
        @T.prim_func
        def divided(A: T.Buffer((40, 50), "int32"), D: T.int32, Y: T.Buffer((3, 40, 50), "int32")):
            assert D > 0
            for i in range(40):
                for j in range(50):
                    Y[0, i, j] = A[i, j] // D
                    Y[1, i, j] = A[i, j] % D
                    Y[2, i, j] = T.truncdiv(A[i, j], D)
    """)
    made = Schedule(with_blocks(func))
    assert made.get_loops("Y") == made.get_loops("Y_1") == made.get_loops("Y_2")
    assert_same_result(func, default_schedule(func, TWO).func)


def row_sums(shape: str, result: str, kind: str, out: str, at: int = 0) -> PrimFunc:
    """The sums over all dimensions but one."""
    extents = [int(part) for part in shape.split(",") if part.strip()]
    loops = [f"i{place}" for place in range(len(extents))]
    given = "0" if result == "1" else loops[at]
    return program(f"""
        @T.prim_func
        def sums(A: T.Buffer(({shape}), "{kind}"), S: T.Buffer(({result},), "{out}")):
            for i in range({result}):
                S[i] = T.{out}(0)
            for {", ".join(loops)} in T.grid({", ".join(map(str, extents))}):
                S[{given}] += T.cast(A[{", ".join(loops)}], "{out}")
    """)


@pytest.mark.parametrize(
    ("shape", "result", "kind", "out", "lanes"),
    [
        ("4, 300", "4", "int32", "int32", False),
        ("4, 300", "4", "int8", "int32", False),
        ("4, 300", "4", "float32", "float32", True),
        ("4, 30, 30", "4", "int32", "int32", False),  # a line of 900
        ("4, 3, 300", "4", "int32", "int32", True),
        ("4, 30, 30", "4", "uint8", "int64", False),
    ],
)
def test_integers_are_left_to_llvm_where_it_sums_them_in_lanes(
    shape: str, result: str, kind: str, out: str, lanes: bool
) -> None:
    func = row_sums(shape, result, kind, out)
    made = default_schedule(func, TWO)
    assert ("rfactor" in primitives(made)) == lanes
    assert_same_result(func, made.func)


def test_short_lines_are_summed_in_lanes_where_there_are_many_of_them() -> None:
    lines = {count: row_sums(f"{count}, 4, 5", "4", "float32", "float32", at=1) for count in (12, 13)}
    made = {count: "rfactor" in primitives(default_schedule(func, ONE)) for count, func in lines.items()}
    assert made == {12: False, 13: True}  # 64 terms, in vectors of 4, are as many as lanes need
    assert_same_result(lines[13], default_schedule(lines[13], ONE).func)


@pytest.mark.parametrize(("count", "equal"), [(1 << 17, True), (3 * 65537, True), (131101, False)])
def test_a_sum_of_all_integers_has_equal_parts(count: int, equal: bool) -> None:
    func = program(f"""
        @T.prim_func
        def everything(A: T.Buffer(({count},), "int32"), S: T.Buffer((1,), "int32")):
            S[0] = 0
            for j in range({count}):
                S[0] += A[j]
    """)
    made = default_schedule(func, TWO)
    assert ("vectorize" not in primitives(made)) == equal
    assert any(node.kind == "parallel" for node in walk(made.func.body) if type(node) is For)


def test_products_of_bytes_with_one_vector_are_left_to_llvm() -> None:
    for kind, left in (("int8", True), ("int32", False)):
        func = program(f"""
            @T.prim_func
            def gemv(A: T.Buffer((8, 64), "{kind}"), x: T.Buffer((64,), "{kind}"), y: T.Buffer((8,), "int32")):
                for i in range(8):
                    y[i] = 0
                    for j in range(64):
                        y[i] += T.cast(A[i, j], "int32") * T.cast(x[j], "int32")
        """)
        made = default_schedule(func, ONE)
        assert ("vectorize" not in primitives(made)) == left
        assert_same_result(func, made.func)


def test_lines_of_integers_that_llvm_would_write_out_are_summed_in_lanes() -> None:
    """It unrolls loops of 64 iterations before it looks for vectors."""
    made = {
        count: "rfactor" in primitives(default_schedule(row_sums(f"4, {count}", "4", "int32", "int32"), ONE))
        for count in (11, 12, 64, 65)
    }
    assert made == {11: False, 12: True, 64: True, 65: False}


@pytest.mark.parametrize("count", [1, 3])
def test_products_of_bytes_with_few_vectors_keep_their_sums_innermost(count: int) -> None:
    func = program(f"""
        @T.prim_func
        def few(A: T.Buffer((8, 64), "int8"), x: T.Buffer(({count}, 64), "int8"), y: T.Buffer(({count}, 8), "int32")):
            for n, i, j in T.grid({count}, 8, 64):
                with T.block("y"):
                    vn, vi, vj = T.axis.remap("SSR", [n, i, j])
                    with T.init():
                        y[vn, vi] = 0
                    y[vn, vi] += T.cast(A[vi, vj], "int32") * T.cast(x[vn, vj], "int32")
    """)
    made = default_schedule(func, ONE)
    assert names(made) == ["y_init", "y_update"]
    assert_same_result(func, made.func)


def products(narrow: str, wide: str, first: str, triangle: bool = False) -> PrimFunc:
    begin = "i" if triangle else "0"
    return program(
        f"""
        @T.prim_func
        def main(A: T.Buffer((40, 64), "{narrow}"), B: T.Buffer((64, 64), "{narrow}"), C: T.Buffer((40, 48), "{wide}")):
            for i in range(40):
                for j in range({begin}, 48):
                    C[i, j] = T.{wide}(0)
                    for k in range(64):
                        C[i, j] += T.{wide}(A[i, k]) * T.{wide}({first})
        """
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("narrow", "wide", "second", "tiled"),
    [
        ("int16", "int32", "B[j, k]", False),
        ("int16", "int32", "B[k, j]", True),
        ("int16", "int64", "B[j, k]", True),
        ("uint16", "uint32", "B[j, k]", True),
        ("int32", "int32", "B[j, k]", True),
    ],
)
def test_words_along_lines_are_multiplied_and_added_by_llvm(narrow: str, wide: str, second: str, tiled: bool) -> None:
    kernel = products(narrow, wide, second)
    made = default_schedule(kernel, CpuFacts(vector_bits=256, threads=2))
    assert ("pad_einsum" in primitives(made) or "cache_read" in primitives(made)) == tiled
    assert "parallel" in primitives(made)
    assert_same_result(kernel, made.func)


@pytest.mark.parametrize(
    ("dtype", "second", "square"),
    [
        ("int32", "B[j, k]", False),
        ("int64", "B[j, k]", False),
        ("int32", "B[k, j]", True),
        ("float32", "B[j, k]", True),
    ],
)
def test_triangles_of_whole_numbers_along_lines_stay_triangles(dtype: str, second: str, square: bool) -> None:
    kernel = products(dtype, dtype, second, triangle=True)
    made = default_schedule(kernel, CpuFacts(vector_bits=256, threads=1))
    assert bool(primitives(made)) == square
    assert_same_result(kernel, made.func)


def test_sums_of_integers_in_one_loop_stay_in_it() -> None:
    """LLVM makes vectors of both at once, and reads what they share once."""
    for extents in ("4, 400", "n, m"):
        n, m = extents.split(", ")
        shapes = f'("{n}", "{m}")' if n == "n" else f"({n}, {m})"
        kernel = program(
            f"""
            @T.prim_func
            def main(A: T.Buffer({shapes}, "int32"), B: T.Buffer(({n!r},), "int32"), C: T.Buffer(({n!r},), "int32")):
                for i in range({n}):
                    B[i] = 0
                    C[i] = 0
                    for j in range({m}):
                        B[i] += A[i, j] * 3
                        C[i] = C[i] ^ A[i, j]
            """.replace("'4'", "4")
        )
        made = default_schedule(kernel, ONE)
        loops = [node for node in walk(made.func.body) if type(node) is For and len(node.body) == 2]
        assert any(all(type(stmt) is Block for stmt in loop.body) for loop in loops)
        if n == "4":
            assert_same_result(kernel, made.func)


def test_or_of_and_keeps_its_loops() -> None:
    kernel = program(
        """
        @T.prim_func
        def main(A: T.Buffer(("n", "k"), "bool"), B: T.Buffer(("k", "m"), "bool"), C: T.Buffer(("n", "m"), "bool")):
            for i, j in T.grid(n, m):
                C[i, j] = False
                for p in range(k):
                    C[i, j] = C[i, j] or (A[i, p] and B[p, j])
        """
    )
    made = default_schedule(kernel, ONE)
    assert "reorder" not in primitives(made)


SMALL = """
@T.prim_func
def f(A: T.Buffer((2000, {n}, {n})), B: T.Buffer((2000, {n}, {n})), C: T.Buffer((2000, {n}, {n}))):
    for b, i, j in T.grid(2000, {n}, {n}):
        C[b, i, j] = 0.0
        for k in range({n}):
            C[b, i, j] += A[b, i, k] * B[b, k, j]
"""
POINTS = """
@T.prim_func
def f(A: T.Buffer((5000, 4)), B: T.Buffer((4, 4)), C: T.Buffer((5000, 4))):
    for i, j in T.grid(5000, 4):
        C[i, j] = 0.0
        for k in range(4):
            C[i, j] += B[j, k] * A[i, k]
"""


@pytest.mark.parametrize(("text", "plain"), [(SMALL.format(n=4), False), (POINTS, True)])
def test_products_of_four_by_four_are_not_padded(text: str, plain: bool) -> None:
    made = default_schedule(program(text), CpuFacts(vector_bits=512, threads=1))
    assert not primitives(made) & {"pad_einsum", "cache_read"}
    assert ("vectorize" not in primitives(made)) == plain


@pytest.mark.parametrize(("n", "lanes"), [(5, 8), (8, 8), (9, 16)])
def test_vectors_are_as_short_as_the_columns(n: int, lanes: int) -> None:
    func = program(SMALL.format(n=n).replace("2000", "20"))
    made = default_schedule(func, CpuFacts(vector_bits=512, threads=1))
    kinds = {int(node.stop.value) for node in walk(made.func.body) if type(node) is For and node.kind == "vectorized"}
    assert lanes in kinds and max(kinds) == lanes
    assert_same_result(func, made.func, tolerance=1e-5)


MOMENTS = """
@T.prim_func
def f(p: T.Buffer((256, 260)), g: T.Buffer((256, 260)), m: T.Buffer((256, 260)), q: T.Buffer((256, 260))):
    for i in range(256):
        for j in range(260):
            m[i, j] = T.float32(0.5) * m[i, j] + g[i, j]
            p[i, j] -= m[i, j] * T.float32(0.25)
            q[i, j] = m[i, j] - p[i, j]
"""


def test_what_one_loop_computed_stays_in_one() -> None:
    func = program(MOMENTS)
    made = default_schedule(func, TWO)
    assert [node.kind for node in walk(made.func.body) if type(node) is For] == ["parallel", "serial"]
    assert_same_result(func, made.func, runs=1)


LOOKED_UP = """
@T.prim_func
def f(A: T.Buffer((32, 32)), X: T.Buffer((32, 32)), B: T.Buffer((32, 32))):
    for i, j in T.grid(32, 32):
        x = X[i, j] * T.float32(7)
        at = T.cast(T.floor(x), "int32")
        B[i, j] = T.float32(0)
        for u, v in T.grid(2, 2):
            if 0 <= at + u and at + u < 32 and 0 <= at + v and at + v < 32:
                B[i, j] += A[at + u, at + v] * (x - T.cast(at, "float32"))
"""


def test_places_that_are_looked_up_are_no_windows_that_reach_over_a_border() -> None:
    """Where the places were computed in a loop of their own, they went through memory."""
    func = program(LOOKED_UP)
    made = default_schedule(func, ONE)
    assert [int(node.stop.value) for node in walk(made.func.body) if type(node) is For] == [32, 32, 2, 2]
    assert_same_result(func, made.func, runs=1)


@pytest.mark.parametrize("size", [200, "n"])
def test_sums_of_what_the_library_computes_stay_in_one_lane(size: int | str) -> None:
    made = default_schedule(
        program(f"""
            @T.prim_func
            def main(x: T.Buffer(({size!r},), "float64"), y: T.Buffer((9,), "float64")):
                for k in range(9):
                    y[k] = T.float64(0)
                    for n in range({size}):
                        y[k] += x[n] * T.cos(T.cast(n * k, "float64"))
        """),
        ONE,
    )
    assert names(made) == ["y_init", "y_update"]


def convolved(width: int, window: int, step: int) -> PrimFunc:
    return program(f"""
        @T.prim_func
        def main(
            X: T.Buffer(({(width - 1) * step + window},), "float32"), W: T.Buffer((16, {window}), "float32"),
            Y: T.Buffer((16, {width}), "float32"),
        ):
            for f, x in T.grid(16, {width}):
                Y[f, x] = 0.0
                for k in range({window}):
                    Y[f, x] += X[x * {step} + k] * W[f, k]
    """)


@pytest.mark.long
@pytest.mark.parametrize(
    ("width", "window", "step", "tiled"),
    [
        (1000, 3, 1, False),  # 8.2 µs with results stored across lines, 1.5 as it stands
        (1000, 9, 1, False),
        (1000, 9, 2, False),
        (1000, 5, 3, False),
        (1000, 9, 3, True),
        (1000, 16, 1, True),
        (60, 9, 1, True),
    ],
)
def test_short_windows_of_long_lines_are_no_tiles(width: int, window: int, step: int, tiled: bool) -> None:
    func = convolved(width, window, step)
    made = default_schedule(func, CpuFacts(vector_bits=512, threads=1)).func
    assert ("T.vectorized(" in made.script()) == tiled
    assert_same_result(func, made)


@pytest.mark.parametrize(
    ("terms", "columns", "tiled"), [(2, 100, False), (4, 100, False), (5, 100, True), (4, 60, True)]
)
def test_products_of_few_terms_in_long_lines_are_no_tiles(terms: int, columns: int, tiled: bool) -> None:
    func = program(f"""
        @T.prim_func
        def main(
            A: T.Buffer((64, {terms}), "float32"), B: T.Buffer(({terms}, {columns}), "float32"),
            C: T.Buffer((64, {columns}), "float32"),
        ):
            for i, j in T.grid(64, {columns}):
                C[i, j] = 0.0
                for k in range({terms}):
                    C[i, j] += A[i, k] * B[k, j]
    """)
    made = default_schedule(func, CpuFacts(vector_bits=512, threads=1)).func
    assert ("T.fma(" in made.script()) == tiled
    assert_same_result(func, made)
