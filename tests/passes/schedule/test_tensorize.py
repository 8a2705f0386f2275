"""tensorize, and the intrinsics that come with the package."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.processor import runs

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.ir import Attrs, MatchBuffer, PrimFunc, walk
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.rewrite import defined_by
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule import (
    Schedule,
    ScheduleError,
    TensorIntrin,
    Trace,
    register_tensor_intrin,
    tensor_intrins,
)
from tirscript.script import parse
from tirscript.script import tir as T
from tirscript.testing import assert_same_result


@T.prim_func
def matmul(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += B[vk, vj] * A[vi, vk]


@T.prim_func
def dot(A: T.Buffer((3, 24), "uint8"), B: T.Buffer((32, 24), "int8"), C: T.Buffer((3, 32), "int32")):
    for i, j, k in T.grid(3, 32, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(B[vj, vk], "int32")


def _product_with_offsets() -> str:
    """The name of an intrinsic: a product of tiles, whose regions say where they begin and how far lines are apart."""
    sizes = {"A": (4, 16), "B": (16, 16), "C": (4, 16)}

    def text(name: str, body: str) -> str:
        params = ", ".join(f'{one.lower()}: T.Buffer({shape}, "float32")' for one, shape in sizes.items())
        matches = "".join(
            f"""
        {one}_stride, {one}_offset = T.int32(), T.int32()
        {one} = T.match_buffer({one.lower()}[0:{rows}, 0:{columns}], ({rows}, {columns}), "float32", \
strides=[{one}_stride, 1], elem_offset={one}_offset)"""
            for one, (rows, columns) in sizes.items()
        )
        return f"""
@T.prim_func
def {name}({params}):
    with T.block("root"):
        T.reads(c[0:4, 0:16], a[0:4, 0:16], b[0:16, 0:16])
        T.writes(c[0:4, 0:16]){matches}
        for i, j, k in T.grid(4, 16, 16):
            {body}
"""

    step = """with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + B[vk, vj] * A[vi, vk]"""
    plain = re.sub(r".*match_buffer.*\n|.*_offset = .*\n", "", text("desc", step)).replace("C_", "")
    for one in sizes:
        plain = plain.replace(f"{one}[v", f"{one.lower()}[v")
    impl = text("impl", "C[i, j] = C[i, j] + B[k, j] * A[i, k]")
    register_tensor_intrin("product_with_offsets", parse(plain), parse(impl))
    return "product_with_offsets"


def tiled(m: int, n: int, k: int, func: Any = matmul) -> tuple[Schedule, Any]:
    s = Schedule(func, verify=True)
    i, j, r = s.get_loops("C")
    i0, i1 = s.split(i, factors=[None, m])
    j0, j1 = s.split(j, factors=[None, n])
    k0, k1 = s.split(r, factors=[None, k])
    s.reorder(i0, j0, k0, i1, j1, k1)
    s.decompose_reduction("C", k0)
    return s, i1


@pytest.mark.parametrize("name", ["fma_f32_4x4x4", "fma_f32_8x16x16"])
def test_tiles_of_a_product(name: str) -> None:
    m, n, k = map(int, re.findall(r"\d+", name)[1:])
    s, loop = tiled(m, n, k)
    s.tensorize(loop, name)
    assert_same_result(matmul, s.func, tolerance=1e-5, runs=1)
    assert "T.fma" in s.script() and Trace.parse(str(s.trace)).replay(Schedule(matmul)).script() == s.script()


def test_dot_product(golden: Any) -> None:
    s, _ = tiled(1, 16, 4, dot)
    s.tensorize(s.get_loops("C_update")[-2], "dot_16x4_u8i8s32")
    assert_same_result(dot, s.func)
    golden.check(s.func)


def test_a_loop_around_an_intrinsic_that_names_offsets_is_cut() -> None:
    """Each part has regions with offsets and strides of its own."""
    s, _ = tiled(4, 16, 16)
    s.tensorize(s.get_loops("C_update")[-3], _product_with_offsets())
    s.loop_partition(s.get_loops("C_update_o")[0], [1, None])
    assert_same_result(matmul, s.func, tolerance=1e-5, runs=1)
    assert parse(s.script()).script() == s.script()
    matched = [node for node in walk(s.func) if type(node) is MatchBuffer and node.defined_symbols()]
    offsets = [node.buffer.elem_offset for node in matched]
    assert len(matched) == 12 and len({id(offset) for offset in offsets}) == 12
    assert all(var in defined_by(node) for node, var in zip(matched, offsets, strict=True))


BUILT_IN = [name for name in tensor_intrins() if name[:3] in ("fma", "dot", "tra")]
# tiles of so many elements that the interpreter takes seconds for each
LARGE = [name for name in BUILT_IN if re.search(r"_\d{3,}x\d{3,}$", name)]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in LARGE])
def test_intrinsics_do_what_they_describe(name: str) -> None:
    intrin = TensorIntrin.get(name)
    assert_same_result(intrin.desc, intrin.impl, tolerance=1e-5, native=runs(intrin.impl))


@pytest.mark.long
@pytest.mark.parametrize("name", LARGE)
def test_large_tiles_are_transposed(name: str) -> None:
    dtype, rows, columns = re.fullmatch(r"transpose_(\w+)_(\d+)x(\d+)", name).groups()  # type: ignore[union-attr]
    given = np.random.default_rng(1).integers(0, 100, (int(columns), int(rows)))
    given = given.astype(getattr(ml_dtypes, dtype, dtype))
    found = np.zeros(given.shape[::-1], given.dtype)
    impl = TensorIntrin.get(name).impl
    tirscript.build(impl, pipeline=DEFAULT_LOWERING)(given, found)
    assert (found == given.T).all()


def one_off(index: str = "vi", value: str = "+ 1") -> Any:
    return parse(
        f"""
@T.prim_func
def add(A: T.Buffer((40,), "int32"), B: T.Buffer((32,), "int32")):
    for i0, i1 in T.grid(4, 8):
        with T.block("B"):
            vi = T.axis.spatial(32, i0 * 8 + i1)
            B[vi] = A[{index}] {value}
"""
    )


ADD = """
@T.prim_func
def f(X: T.Buffer(({n},), "int32"), Y: T.Buffer(({n},), "int32")):
"""
DESC = '    for i in range({n}):\n        with T.block("Y"):\n            v = T.axis.spatial({n}, i)\n'
DESC += "            Y[v] = X[v] + 1\n"
IMPL = "    Y[0:{n}] = X[0:{n}] + T.broadcast(1, {n})\n"


def add_intrin(n: int = 8, impl_n: int = 0) -> TensorIntrin:
    desc = parse((ADD + DESC).format(n=n))
    body = parse((ADD + IMPL).format(n=impl_n or n))
    return register_tensor_intrin(f"test_add_{n}", desc, body, override=True)  # type: ignore[arg-type]


NAMED = """
@T.prim_func
def rows(x: T.handle, y: T.handle):
    {x} = T.int32()
    {y} = T.int32()
    offset = T.int32()
    X = T.match_buffer(x, (4, 8), "int32", strides=({x}, 1), elem_offset=offset, offset_factor=1)
    Y = T.match_buffer(y, (4, 8), "int32", strides=({y}, 1), offset_factor=1)
    for i in range(4):
        Y[i, 0:8] = X[i, 0:8] + T.broadcast({x}, 8)
"""
ROWS = """
@T.prim_func
def rows(X: T.Buffer((4, 8), "int32"), Y: T.Buffer((4, 8), "int32")):
    for i, j in T.grid(4, 8):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] + 24
"""


@pytest.mark.parametrize("columns", [16, 32])
def test_strides_that_an_intrinsic_has_names_for(columns: int) -> None:
    """They are those of the boxes, as in TVM's own intrinsics; one name for two is one stride."""
    func = parse(f"""
@T.prim_func
def main(A: T.Buffer((9, 24), "int32"), B: T.Buffer(("n", 8, {columns}), "int32")):
    for b, i, j in T.grid(n, 8, 16):
        with T.block("B"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            B[vb, vi, vj] = A[vi + 1, vj] + 24
""")
    assert isinstance(func, PrimFunc)
    for y in ("s_y", "s_x"):
        register_tensor_intrin("test_rows", parse(ROWS), parse(NAMED.format(x="s_x", y=y)), override=True)  # type: ignore[arg-type]
        s = Schedule(func, verify=True)
        _, i, j = s.get_loops("B")
        (i0, i1), (j0, j1) = s.split(i, [None, 4]), s.split(j, [None, 8])
        s.reorder(i0, j0, i1, j1)
        if y == "s_x":
            with pytest.raises(ScheduleError, match=rf"wants the strides \(24, 1\) of `Y`.*are \({columns}, 1\)"):
                s.tensorize(i1, "test_rows")
            continue
        s.tensorize(i1, "test_rows")
        assert "T.broadcast(24, 8)" in s.script()
        assert_same_result(func, s.func)


def test_no_memory_with_two_names() -> None:
    """An intrinsic may read all of its operands before it stores a result."""
    add_intrin()
    func = one_off("vi + 5")
    s = Schedule(func.replace(attrs=Attrs({"noalias": False})), verify=True)
    with pytest.raises(ScheduleError, match="`A` may be the memory of `B`"):
        s.tensorize("i1", "test_add_8")


def test_a_registered_intrinsic(golden: Any) -> None:
    add_intrin()
    func = one_off("vi + 5")
    s = Schedule(func, verify=True)
    s.tensorize("i1", "test_add_8")
    assert_same_result(func, s.func)
    golden.check(s.func)


@pytest.mark.parametrize(
    ("func", "loop", "intrin", "words"),
    [
        (one_off(value="+ 2"), "i1", "test_add_8", "`2` stands where `1` is described"),
        (one_off(value="* 1"), "i1", "test_add_8", "`A["),
        (one_off("vi * 1 % 32 // 2"), "i1", "test_add_8", "at other indices than described"),
        (one_off("39 - vi"), "i1", "test_add_8", "at other indices than described"),
        (one_off(), "i1", "test_add_4", "`8` stands where `4` is described"),
        (one_off(), "i1", "test_add_9", "no tensor intrinsic `test_add_9`"),
    ],
)
def test_refusals(func: Any, loop: str, intrin: str, words: str) -> None:
    add_intrin()
    add_intrin(4)
    s = Schedule(func)
    before = s.script()
    with pytest.raises(DiagnosticError, match=re.escape(words)):
        s.tensorize(loop, intrin)
    assert s.script() == before


def test_a_product_with_its_init_is_refused() -> None:
    s = Schedule(matmul)
    i, j, k = s.get_loops("C")
    for loop in (i, j, k):
        s.split(loop, factors=[None, 4])
    i0, i1, j0, j1, k0, k1 = s.get_loops("C")
    s.reorder(i0, j0, k0, i1, j1, k1)
    with pytest.raises(ScheduleError, match="decompose_reduction takes it apart"):
        s.tensorize(i1, "fma_f32_4x4x4")


@T.prim_func
def in_place(A: T.Buffer((32,), "int32")):
    for i0, i1 in T.grid(2, 8):
        with T.block("B"):
            vi = T.axis.spatial(16, i0 * 8 + i1)
            A[vi] = A[vi + 16] + 1


def test_one_buffer_for_two_that_is_written_is_refused() -> None:
    add_intrin()
    with pytest.raises(ScheduleError, match="two buffers of the intrinsic at once"):
        Schedule(in_place).tensorize("i1", "test_add_8")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: add_intrin(8, impl_n=4), "not the same constants"),
        (lambda: register_tensor_intrin("test_one", matmul, dot), "are not the same constants"),  # type: ignore[arg-type]
        (lambda: register_tensor_intrin("test_add_8", matmul, matmul), "the name is taken"),  # type: ignore[arg-type]
    ],
)
def test_registration_is_checked(make: Any, words: str) -> None:
    add_intrin()
    with pytest.raises(DiagnosticError, match=words):
        make()


def test_registration_takes_functions() -> None:
    # a diagnostic, or typeguard's error where tests run with it
    with pytest.raises(Exception, match=r"not a str|\(str\) is not an instance"):
        register_tensor_intrin("test_x", "a", matmul)  # type: ignore[arg-type]


def test_an_intrinsic_that_names_strides_wants_them() -> None:
    s, _ = tiled(1, 16, 4, dot)
    with pytest.raises(DiagnosticError, match=r"wants the strides \(4, 1\) of `B`.*are \(\d+, 1\)"):
        s.tensorize(s.get_loops("C_update")[-2], "dot_16x4_vnni")


def test_a_transposition_in_registers() -> None:
    text = """
@T.prim_func
def main(A: T.Buffer((32, 48), "float32"), B: T.Buffer((48, 32), "float32")):
    for i, j in T.grid(48, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""
    func = parse(text)
    s = Schedule(func)
    i, j = s.get_loops("B")
    i0, i1 = s.split(i, factors=[None, 16])
    j0, j1 = s.split(j, factors=[None, 16])
    s.reorder(i0, j0, i1, j1)
    s.tensorize(i1, "transpose_f32_16x16")
    assert_same_result(func, s.func)
    lowered = emit_ir(DEFAULT_LOWERING(s.func), optimized=False)
    assert lowered.count("shufflevector <16 x float>") == 64 and "extractelement" not in lowered
