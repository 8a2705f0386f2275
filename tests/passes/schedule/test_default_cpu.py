"""The default schedule: what it makes of each kind of kernel, what it leaves alone, and what it promises."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.default_pipeline import default_pipeline
from tirscript.backend.interpreter import interpret
from tirscript.ir import AllocBuffer, Attrs, DiagnosticError, For, PrimFunc, structural_equal, walk
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, rules, scheduled, tidied
from tirscript.passes.schedule.default_cpu.work import Work
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result, copies

SMALL = CpuFacts(vector_bits=128, threads=1)
WIDE = CpuFacts(vector_bits=512, threads=2)


@T.prim_func
def matmul(A: T.Buffer((10, 9), "float32"), B: T.Buffer((9, 8), "float32"), D: T.Buffer((10, 8), "float32")):
    C = T.alloc_buffer((10, 8), "float32")
    for i, j, k in T.grid(10, 8, 9):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
    for i, j in T.grid(10, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@T.prim_func
def softmax(A: T.Buffer((6, 40), "float32"), B: T.Buffer((6, 40), "float32")):
    for i in range(6):
        most: T.float32 = T.min_value("float32")
        for j in range(40):
            most = T.max(most, A[i, j])
        total: T.float32 = 0.0
        for j in range(40):
            B[i, j] = T.exp(A[i, j] - most)
            total += B[i, j]
        for j in range(40):
            B[i, j] = B[i, j] / total


@T.prim_func
def conv2d(X: T.Buffer((3, 9, 9), "float32"), W: T.Buffer((8, 3, 2, 2), "float32"), Y: T.Buffer((8, 8, 8), "float32")):
    for f, y, x in T.grid(8, 8, 8):
        Y[f, y, x] = T.float32(0)
        for c, u, v in T.grid(3, 2, 2):
            Y[f, y, x] += X[c, y + u, x + v] * W[f, c, u, v]


@T.prim_func
def transpose(A: T.Buffer((64, 128), "float32"), B: T.Buffer((128, 64), "float32")):
    for i, j in T.grid(128, 64):
        B[i, j] = A[j, i]


@T.prim_func
def elementwise(A: T.Buffer((512, 256), "float32"), b: T.Buffer((256,), "float32"), D: T.Buffer((512, 256), "float32")):
    C = T.alloc_buffer((512, 256), "float32")
    for i, j in T.grid(512, 256):
        C[i, j] = A[i, j] * b[j]
    for i, j in T.grid(512, 256):
        D[i, j] = C[i, j] + A[i, j]


@T.prim_func
def total(A: T.Buffer((300,), "float32"), S: T.Buffer((1,), "float32")):
    S[0] = T.float32(0)
    for i in range(300):
        S[0] += A[i]


@T.prim_func
def columns(A: T.Buffer((40, 32), "float32"), S: T.Buffer((32,), "float32")):
    for j in range(32):
        S[j] = T.float32(0)
        for i in range(40):
            S[j] += A[i, j]


@T.prim_func
def swinging(A: T.Buffer((50,), "int32"), B: T.Buffer((50,), "int32")):
    B[0] = A[0]
    for i in range(1, 50):
        B[i] = A[i] - B[i - 1]


KERNELS: dict[str, Any] = {
    "matmul": matmul,
    "softmax": softmax,
    "conv2d": conv2d,
    "transpose": transpose,
    "total": total,
    "columns": columns,
}


@pytest.mark.parametrize("name", KERNELS)
def test_what_becomes_of(name: str, golden: Any) -> None:
    schedule = default_schedule(KERNELS[name], SMALL)
    assert_same_result(KERNELS[name], schedule.func)
    golden.check(schedule.func)


@pytest.mark.parametrize("name", KERNELS)
def test_the_blocks_of(name: str, golden: Any) -> None:
    made = with_blocks(KERNELS[name])
    assert_same_result(KERNELS[name], made, tolerance=0.0, native=False)
    golden.check(made)


def kinds(func: PrimFunc) -> set[str]:
    return {node.kind for node in walk(func.body) if type(node) is For}


def test_outer_loops_of_enough_work_run_in_parallel_and_chains_are_one_nest() -> None:
    made = default_schedule(elementwise, WIDE).func
    assert kinds(made) == {"parallel", "serial"} and len(made.body) == 1
    assert kinds(default_schedule(elementwise, SMALL).func) == {"serial"}
    assert "parallel" not in kinds(default_schedule(total, WIDE).func)  # less than it takes to begin


@pytest.mark.parametrize(("option", "known"), [("float_tiles", "'amx' or 'avx512'"), ("dots", "'vnni' or 'madd'")])
def test_what_multiplies_tiles_is_one_of_what_is_known(option: str, known: str) -> None:
    with pytest.raises(DiagnosticError, match=f"T404.*`{option}` of pass `default_cpu` is {known}, not 'vnnii'"):
        get_pass("default_cpu", **{option: "vnnii"})(matmul)
    for value in ("", *known.replace("'", "").split(" or ")):
        assert_same_result(matmul, get_pass("default_cpu", **{option: value})(matmul))


def test_a_function_that_says_how_it_runs_is_left_alone() -> None:
    @T.prim_func
    def mine(A: T.Buffer((512, 256), "float32"), B: T.Buffer((512, 256), "float32")):
        for i in T.unroll(512):
            for j in range(256):
                B[i, j] = A[i, j] + T.float32(1)

    assert get_pass("default_cpu", vector_bits=512, threads=2)(mine) is mine
    assert get_pass("default_cpu")(swinging) is swinging
    assert len(default_schedule(mine, WIDE).trace) == 0


@T.prim_func
def any_matmul(A: T.Buffer(("m", "k"), "int32"), B: T.Buffer(("k", "n"), "int32"), C: T.Buffer(("m", "n"), "int32")):
    for i, j, p in T.grid(m, n, k):
        with T.block("C"):
            vi, vj, vp = T.axis.remap("SSR", [i, j, p])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += A[vi, vp] * B[vp, vj]


@T.prim_func
def any_linear(X: T.Buffer(("m", 24), "int32"), W: T.Buffer((20, 24), "int32"), Y: T.Buffer(("m", 20), "int32")):
    for i in range(m):
        for j in range(20):
            total: T.int32 = 0
            for k in range(24):
                total += X[i, k] * W[j, k]
            Y[i, j] = T.max(total, 0)


@T.prim_func
def any_loops(A: T.Buffer(("m", "k"), "int32"), B: T.Buffer(("k", "n"), "int32"), C: T.Buffer(("m", "n"), "int32")):
    for i in range(m):
        for j in range(n):
            C[i, j] = 0
            for p in range(k):
                C[i, j] += A[i, p] * B[p, j]


@pytest.mark.parametrize("kernel", [any_matmul, any_linear, any_loops], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("facts", [SMALL, WIDE], ids=["small", "wide"])
def test_products_of_symbolic_shapes_are_tiled(kernel: PrimFunc, facts: CpuFacts) -> None:
    made = default_schedule(kernel, facts).func
    assert {"vectorized", "unroll"} <= kinds(made)
    lowered = DEFAULT_LOWERING(made)
    tiles = [node.buffer for node in walk(lowered.body) if type(node) is AllocBuffer and node.buffer.scope == "local"]
    assert tiles and all(tile.constant_shape() is not None for tile in tiles)
    function, rng = tirscript.build(made, pipeline=DEFAULT_LOWERING), np.random.default_rng(5)
    for m, n, k in ((1, 1, 1), (7, 31, 5), (8, 32, 16), (9, 33, 17), (0, 3, 4), (5, 0, 3), (40, 70, 24), (3, 5, 0)):
        shapes = {"m": m, "n": n, "k": k}
        arguments = [
            rng.integers(
                -9, 9, [shapes.get(getattr(dim, "name", ""), getattr(dim, "value", 0)) for dim in b.shape], "int32"
            )
            for b in kernel.param_buffers
        ]
        left, right, result = arguments
        right = right.T if kernel is any_linear else right
        function(*arguments)
        wanted = left @ right
        assert np.array_equal(result, np.maximum(wanted, 0) if kernel is any_linear else wanted)


@T.prim_func
def whole_tiles(
    A: T.Buffer(("m * 8", 24), "int32"), B: T.Buffer((24, 20), "int32"), C: T.Buffer(("m * 8", 20), "int32"), m: T.int64
):
    for i in range(m * 8):
        for j, k in T.grid(20, 24):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += A[vi, vk] * B[vk, vj]


@pytest.mark.parametrize("facts", [SMALL, WIDE], ids=["small", "wide"])
def test_symbolic_rows_that_are_whole_tiles_are_not_padded(facts: CpuFacts) -> None:
    made = default_schedule(whole_tiles, facts).func
    assert {"vectorized", "unroll"} <= kinds(made)
    names = {node.buffer.name for node in walk(made.body) if type(node) is AllocBuffer}
    assert not any(name.startswith("A") for name in names)  # the rows, which are read as they lie
    function, rng = tirscript.build(made, pipeline=DEFAULT_LOWERING), np.random.default_rng(5)
    for m in (0, 1, 3):
        left, right = rng.integers(-9, 9, (m * 8, 24), "int32"), rng.integers(-9, 9, (24, 20), "int32")
        result = np.zeros((m * 8, 20), "int32")
        function(left, right, result, m)
        assert np.array_equal(result, left @ right)


def test_sums_of_symbolic_shapes_go_along_memory() -> None:
    @T.prim_func
    def rows(A: T.Buffer(("m", "n"), "int32"), S: T.Buffer(("n",), "int32")):
        for j, i in T.grid(n, m):
            with T.block("S"):
                vj, vi = T.axis.remap("SR", [j, i])
                with T.init():
                    S[vj] = 0
                S[vj] += A[vi, vj]

    made = default_schedule(rows, WIDE)
    assert [made.get(loop).var.name for loop in made.get_loops("S_update")] == ["i", "j"]
    assert_same_result(rows, made.func)


@T.prim_func
def pointwise(X: T.Buffer((6, 5, 7), "int32"), W: T.Buffer((9, 6), "int32"), Y: T.Buffer((9, 5, 7), "int32")):
    for f, y, x, c in T.grid(9, 5, 7, 6):
        with T.block("Y"):
            vf, vy, vx, vc = T.axis.remap("SSSR", [f, y, x, c])
            with T.init():
                Y[vf, vy, vx] = 0
            Y[vf, vy, vx] += X[vc, vy, vx] * W[vf, vc]


def test_dimensions_beside_each_other_are_columns_as_one(golden: Any) -> None:
    schedule = default_schedule(pointwise, SMALL)
    assert_same_result(pointwise, schedule.func, tolerance=0.0)
    golden.check(schedule.func)
    exact = default_schedule(pointwise, WIDE)
    assert_same_result(pointwise, exact.func, tolerance=0.0)


def check_natively(kernel: PrimFunc, made: PrimFunc) -> None:
    """That a schedule of whole numbers is its kernel, where the interpreter would take long."""
    rng = np.random.default_rng(7)
    given = [rng.integers(-99, 99, buffer.constant_shape(), "int32") for buffer in kernel.param_buffers]
    plain, scheduled = (bits(tirscript.build(one, pipeline=DEFAULT_LOWERING), given) for one in (kernel, made))
    assert all(np.array_equal(a, b) for a, b in zip(plain, scheduled, strict=True))


def windows(size: int, filters: int, step: int) -> PrimFunc:
    reach = (size - 1) * step + 3

    @T.prim_func
    def windows(
        X: T.Buffer((4, reach, reach), "int32"),
        W: T.Buffer((filters, 4, 3, 3), "int32"),
        bias: T.Buffer((filters,), "int32"),
        Y: T.Buffer((filters, size, size), "int32"),
    ):
        for f, y, x in T.grid(filters, size, size):
            total: T.int32 = 0
            for c, u, v in T.grid(4, 3, 3):
                total += X[c, y * step + u, x * step + v] * W[f, c, u, v]
            Y[f, y, x] = T.max(total + bias[f], 0)

    return windows


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("facts", [SMALL, WIDE], ids=["small", "wide"])
def test_windows_of_few_pixels_are_written_out_in_panels(step: int, facts: CpuFacts) -> None:
    kernel = windows(4, 64, step)
    made = default_schedule(kernel, facts)
    check_natively(kernel, made.func)
    assert "reindex" in str(made.trace)
    # the weights are read where they lie, the pixels are one dimension of a panel, and what comes behind is done there
    allocated = [node.buffer for node in walk(DEFAULT_LOWERING(made.func).body) if type(node) is AllocBuffer]
    assert not any(buffer.name.startswith("W") for buffer in allocated)
    assert {buffer.scope for buffer in allocated} == {"global", "local"}
    many = default_schedule(windows(12, 16, step), facts)
    assert "reindex" not in str(many.trace)
    check_natively(windows(12, 16, step), many.func)


def test_few_rows_read_the_other_operand_where_it_lies() -> None:
    def product(rows: int, columns: int) -> PrimFunc:
        @T.prim_func
        def product(
            A: T.Buffer((rows, 64), "int32"), B: T.Buffer((64, columns), "int32"), C: T.Buffer((rows, columns), "int32")
        ):
            for i, j, k in T.grid(rows, columns, 64):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        C[vi, vj] = 0
                    C[vi, vj] += A[vi, vk] * B[vk, vj]

        return product

    for rows, columns, copied in ((4, 64, False), (4, 65, True), (200, 128, True)):
        made = default_schedule(product(rows, columns), WIDE)
        assert any(block.name.startswith("B_") for block in made.get_child_blocks("root")) is copied
        check_natively(product(rows, columns), made.func)


@pytest.mark.parametrize(("lines", "copies"), [(64, False), (128, True)])
def test_panels_are_read_where_they_lie(lines: int, copies: bool) -> None:
    """A product in tiles has panels already; in wide ones the lines of a tile lie apart."""
    tile = f"""
@T.prim_func
def product(A: T.Buffer((4, 4, 64, 64), "float32"), B: T.Buffer((4, 4, 64, {lines}), "float32"),
            C: T.Buffer((4, 4, 64, {lines}), "float32")):
    for i0, i1, i2, i3, k0, k1 in T.grid(4, 4, 64, {lines}, 4, 64):
        with T.block("product"):
            v0, v1, v2, v3, r0, r1 = T.axis.remap("SSSSRR", [i0, i1, i2, i3, k0, k1])
            with T.init():
                C[v0, v1, v2, v3] = 0.0
            C[v0, v1, v2, v3] = C[v0, v1, v2, v3] + A[v0, r0, v2, r1] * B[r0, v1, r1, v3]
"""
    func = tirscript.parse(tile)
    made = default_schedule(func, CpuFacts(vector_bits=512)).func
    scopes = [node.buffer.scope for node in walk(made) if type(node) is AllocBuffer]
    assert scopes == (["global", "local"] if copies else ["local"])


def test_buffers_that_may_overlap_are_left_alone() -> None:
    kernel = matmul.replace(attrs=Attrs({"noalias": False}))
    assert get_pass("default_cpu", vector_bits=512)(kernel) is kernel


def test_the_trace_is_a_program_that_can_be_edited() -> None:
    schedule = default_schedule(matmul, WIDE)
    again = Trace.parse(str(schedule.trace)).replay(Schedule(with_blocks(matmul)))
    assert again.script() == schedule.script()
    short = tidied(schedule.trace)
    assert len(short) < len(schedule.trace)
    assert Trace.parse(str(short)).replay(Schedule(with_blocks(matmul))).script() == schedule.script()
    fewer = "\n".join(line for line in str(schedule.trace).split("\n") if ".contract(" not in line)
    assert fewer != str(schedule.trace)
    other = Trace.parse(fewer).replay(Schedule(with_blocks(matmul))).func
    assert not structural_equal(other, schedule.func)
    assert_same_result(matmul, other)


def bits(function: Any, arguments: list[Any]) -> list[Any]:
    given = copies(arguments)
    function(*given)
    return given


@pytest.mark.parametrize("name", ["matmul", "softmax", "conv2d", "total", "columns"])
def test_sums_keep_their_order_where_the_function_wants_it(name: str) -> None:
    kernel = KERNELS[name]
    exact = kernel.replace(attrs=Attrs({**kernel.attrs, "fastmath": False}))
    rng = np.random.default_rng(3)
    arguments = [rng.standard_normal(b.constant_shape()).astype("float32") for b in kernel.param_buffers]
    wanted = bits(lambda *given: interpret(kernel, *given), arguments)
    found = bits(tirscript.build(exact), arguments)
    close = 1e-6 if name == "softmax" else 0.0  # its exponentials are not the interpreter's
    assert all(np.allclose(a, b, rtol=close, atol=0) for a, b in zip(wanted, found, strict=True))
    option = get_pass("default_cpu", vector_bits=512, reassociate=False)(kernel)
    assert "T.fma" not in option.script()
    assert all(
        np.allclose(a, b, rtol=close, atol=0)
        for a, b in zip(wanted, bits(tirscript.build(option, pipeline=DEFAULT_LOWERING), arguments), strict=True)
    )


def test_nan_and_infinity_come_through() -> None:
    arguments = [np.ones(b.constant_shape(), "float32") for b in matmul.param_buffers]
    arguments[0][3, 2], arguments[1][4, 5] = np.nan, np.inf
    wanted = bits(lambda *given: interpret(matmul, *given), arguments)
    found = bits(tirscript.build(default_schedule(matmul, WIDE).func), arguments)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(wanted, found, strict=True))


def test_build_schedules_unless_it_is_told_how() -> None:
    assert kinds(tirscript.build(elementwise, pipeline=DEFAULT_LOWERING).lowered) == {"serial"}
    assert str(default_pipeline()).endswith(f"default_cpu,pack_constants,{DEFAULT_LOWERING}")
    assert str(default_pipeline(schedule=False)).endswith(f"split_targets,{DEFAULT_LOWERING}")
    # a target is said as to `build`
    by_c = default_pipeline(tirscript.Target("c"))
    assert str(by_c) == str(default_pipeline("c")) == str(default_pipeline({"kind": "c"}))
    with tirscript.Target.parse("c"):
        assert str(default_pipeline()) == str(by_c)
    for wrong in (3, "nothing"):
        with pytest.raises(tirscript.DiagnosticError, match="T402"):
            default_pipeline(wrong)
    assert "T.fma" in tirscript.build(matmul).lowered.script()
    assert "T.fma" not in tirscript.build(matmul, debug=True).lowered.script()
    assert (
        "T.fma" not in tirscript.build(matmul, pipeline="lower_reduce,lower_init_block,lower_blocks").lowered.script()
    )


def chain(length: int) -> PrimFunc:
    """Values that are used twice each, one after the other."""
    names = ["A", *(f"X{at}" for at in range(length - 1)), "Z"]
    lines = [f'    {name} = T.alloc_buffer((9,), "int32")' for name in names[1:-1]]
    for source, target in itertools.pairwise(names):
        lines += ["    for i in range(9):", f"        {target}[i] = {source}[i] * 3 + {source}[i]"]
    head = '@T.prim_func\ndef main(A: T.Buffer((9,), "int32"), Z: T.Buffer((9,), "int32")):\n'
    found = tirscript.parse(head + "\n".join(lines) + "\n")
    assert isinstance(found, PrimFunc)
    return found


def test_long_chains_do_not_grow() -> None:
    program = chain(16)
    made = get_pass("default_cpu")(program)
    assert made is not program and len(made.script()) < 10_000  # written out, it would be 65,536 times A
    assert_same_result(program, made)
    many = chain(rules.MOST + 1)
    assert get_pass("default_cpu")(many) is many


def test_a_refusal_takes_back_what_was_done() -> None:
    work = Work(Schedule(with_blocks(matmul)), SMALL)
    before = work.sch.script()

    def rule(work: Work) -> None:
        work.done.add("C")
        work.sch.split(work.sch.get_loops("C")[0], [None, 2])
        work.sch.parallel(work.sch.get_loops("C")[-1])

    assert not work.attempt(rule)
    assert work.sch.script() == before and not work.done and len(work.sch.trace) == 0


def test_faults_of_rules_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(work: Work, nest: Any) -> bool:
        work.sch.split("no such loop", [None, 2])
        return True

    monkeypatch.setattr(rules, "RULES", (broken,))
    with pytest.raises(DiagnosticError) as info:
        get_pass("default_cpu")(matmul)
    assert info.value.diagnostics[0].code == "T502"


@pytest.mark.parametrize("extents", ["2, 4, 0", "0, 4, 2", "2, 0, 4"])
def test_products_of_nothing_stay(extents: str) -> None:
    m, n, k = map(int, extents.split(", "))
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer({m, k}, "float32"), B: T.Buffer({k, n}, "float32"), C: T.Buffer({m, n}, "float32")):
    for i, j, k in T.grid({extents}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")
    assert isinstance(func, PrimFunc)
    assert default_schedule(func, CpuFacts(512, 2)).func is func


def test_maxima_keep_their_order_where_the_function_wants_it() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((2, 256), "float32"), S: T.Buffer((2,), "float32")):
    T.func_attr({"fastmath": False})
    for i, k in T.grid(2, 256):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = -99.0
            S[vi] = T.max(S[vi], A[vi, vk])
""")
    assert isinstance(func, PrimFunc)
    A, S = np.zeros((2, 256), "float32"), np.zeros(2, "float32")
    A[0, 30], A[0, 100], A[1, 255] = 7, np.nan, np.nan
    tirscript.build(func)(A, S)
    assert S[0] == 0 and np.isnan(S[1])


def two_products(first: str, second: str) -> PrimFunc:
    """Two products one behind the other, in blocks of these names."""
    text = f"""
@T.prim_func
def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("{first}"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] += A[vi, vk] * A[vk, vj]
    for i, j, k in T.grid(16, 16, 16):
        with T.block("{second}"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
"""
    found = parse(text)
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.parametrize(("first", "second"), [("", ""), ("C", "C"), ("", "block")])
def test_blocks_without_a_name_of_their_own_are_scheduled(first: str, second: str) -> None:
    def kinds(func: PrimFunc) -> list[str]:
        return [node.kind for node in walk(default_schedule(func, SMALL).func.body) if type(node) is For]

    found, apart = two_products(first, second), two_products("one", "other")
    assert kinds(found) == kinds(apart) and kinds(apart).count("vectorized") >= 2
    values = np.random.default_rng(0).integers(-3, 4, (16, 16)).astype("float32")
    once, twice = np.zeros((16, 16), "float32"), np.zeros((16, 16), "float32")
    tirscript.build(found)(values, once, twice)
    assert (once == values @ values).all() and (twice == values @ values @ values).all()


def test_conditions_of_variables_that_nobody_reads() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer((40, 40)), B: T.Buffer((40,))):
    for i in range(40):
        for j in range(40):
            if j < i:
                s: T.float32 = A[i, j]
                n: T.let[T.int32] = i + 1
            B[i] = B[i] + A[i, j]
""")
    assert isinstance(func, PrimFunc)
    assert_same_result(func, default_schedule(func, WIDE).func, tolerance=1e-4)


@pytest.mark.parametrize("target", ["total", "B[i]"])
def test_many_conditions_one_after_the_other_are_no_obstacle(target: str) -> None:
    """Written out as choices, each would hold the one before twice."""
    lines = "\n".join(
        f"        if A[i, {k}] > 0.5:\n            {target} = {target} * 0.5 - A[i, {k}]" for k in range(30)
    )
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((8, 30)), B: T.Buffer((8,))):
    for i in range(8):
        total: T.float32 = 0.0
{lines}
        B[i] = B[i] + total
""")
    assert isinstance(func, PrimFunc)
    assert_same_result(func, scheduled(func, CpuFacts(512, 1)))
