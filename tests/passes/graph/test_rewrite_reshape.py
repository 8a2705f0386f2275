"""Kernels that move nothing become views."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir.stmt import DeclBuffer
from tirscript.passes import Sequential
from tirscript.passes.graph import graph_to_tensor, legalize_ops, rewrite_reshape
from tirscript.passes.graph.rewrite_reshape import moves_nothing
from tirscript.script import parse


def module(shape, call):
    shown = ", ".join(f'"{one}"' if str(one).isalpha() else str(one) for one in shape)
    return parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(({shown},), "float32")):
        with G.dataflow():
            y = {call}
            G.output(y)
        return y
""")


@pytest.mark.parametrize(
    ("shape", "call", "still"),
    [
        ((2, 3, 4), "G.reshape(x, (6, 4))", True),
        ((6, 8), "G.reshape(x, (3, 2, 2, 4))", True),
        (("n", 4), "G.reshape(x, (n, 2, 2))", True),
        (("n", 4), "G.reshape(x, (n * 2, 2))", True),
        ((1, 7), "G.squeeze(x, axis=[0])", True),
        ((7,), "G.expand_dims(x, axis=[0, 2])", True),
        ((2, 3, 4), "G.flatten(x)", True),
        ((3, 4), "G.permute_dims(x)", False),
        ((1, 4), "G.permute_dims(x)", True),
        ((3, 4), "G.flip(x, axis=0)", False),
        ((3, 4), "G.strided_slice(x, [0], [0], [2])", False),
        ((3, 4), "G.exp(x)", False),
        ((3, 4), 'G.astype(x, "float16")', False),
    ],
)
def test_which_kernels_move_nothing(shape, call, still):
    before = legalize_ops(module(shape, call))
    (kernel,) = before.prim_funcs
    assert moves_nothing(kernel) is still
    after = rewrite_reshape(before)
    assert (after is before) is not still
    if still:
        assert list(after.prim_funcs) == [] and "G.reshape(x" in after["main"].script()
        lowered = graph_to_tensor(after)
        assert any(type(stmt) is DeclBuffer for stmt in lowered["main"].body)
        x = np.random.default_rng(0).standard_normal([3 if one == "n" else one for one in shape]).astype("float32")
        expected = tirscript.interpret(before, x)
        np.testing.assert_array_equal(tirscript.interpret(after, x), expected)
        np.testing.assert_array_equal(tirscript.build(after)(x), expected)


WRITTEN = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def flat(A: T.Buffer((4, 6), "float32"), B: T.Buffer((24,), "float32")):
        for i in range({count}):
            with T.block("B"):
                v = T.axis.spatial({count}, i)
                {store}

    @T.prim_func(private=True)
    def addone(A: T.Buffer((4, 6), "float32")):
        for i, j in T.grid(4, 6):
            A[i, j] = A[i, j] + 1.0

    @G.graph_func
    def main(x: G.Tensor((4, 6), "float32")):
        with G.dataflow():
            h = G.exp(x)
            y = G.call_tir(M.flat, (h,), out=G.Tensor((24,), "float32"))
            {more}
            G.output(y)
        return y
"""


@pytest.mark.parametrize(
    ("count", "store", "still"),
    [
        (24, "B[v] = A[v // 6, v % 6]", True),
        (24, "B[v] = A[v % 4, v // 4]", False),
        (24, "B[v] = A[v // 6, v % 6] + 1.0", False),
        (20, "B[v] = A[v // 6, v % 6]", False),
        (24, "B[23 - v] = A[(23 - v) // 6, (23 - v) % 6]", False),
    ],
)
def test_kernels_of_ones_own(count, store, still):
    made = parse(WRITTEN.format(count=count, store=store, more="pass"))
    assert moves_nothing(made["flat"]) is still
    assert ("G.reshape(h, (24,))" in rewrite_reshape(made)["main"].script()) is still


def test_memory_that_is_written_in_place_keeps_its_copies():
    more = "z = G.call_tir_inplace(M.addone, (h,), inplace_indices=[0], out=G.Tensor((4, 6), 'float32'))"
    made = parse(WRITTEN.format(count=24, store="B[v] = A[v // 6, v % 6]", more=more))
    assert rewrite_reshape(made) is made


def test_fused_kernels_around_a_view():
    before = module((4, 6), "G.matmul(G.reshape(G.matmul(x, G.permute_dims(x)), (2, 8)), G.reshape(x, (8, 3)))")
    steps = "legalize_ops,dead_code_elimination,annotate_pattern,fuse_ops,fuse_tir,rewrite_reshape"
    after = Sequential.parse(steps)(before)
    assert after["main"].script().count("G.reshape(") == 2
    x = np.random.default_rng(0).standard_normal((4, 6)).astype("float32")
    np.testing.assert_allclose(tirscript.build(after)(x), tirscript.interpret(before, x), rtol=1e-5)


def test_a_kernel_that_another_kernel_calls_stays():
    made = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def flat(A: T.Buffer((2, 3), "float32"), B: T.Buffer((6,), "float32")):
        for i in range(6):
            with T.block("B"):
                v = T.axis.spatial(6, i)
                B[v] = A[v // 3, v % 3]

    @T.prim_func(private=True)
    def double(A: T.Buffer((2, 3), "float32"), B: T.Buffer((6,), "float32")):
        C = T.alloc_buffer((2, 3), "float32")
        for i, j in T.grid(2, 3):
            C[i, j] = A[i, j] * 2.0
        M.flat(C, B)

    @G.graph_func
    def main(x: G.Tensor((2, 3), "float32")):
        with G.dataflow():
            y = G.call_tir(M.flat, (x,), out=G.Tensor((6,), "float32"))
            z = G.call_tir(M.double, (x,), out=G.Tensor((6,), "float32"))
            G.output(y, z)
        return y, z
""")
    after = rewrite_reshape(made)
    assert "G.reshape(x, (6,))" in after["main"].script()
    x = np.arange(6, dtype="float32").reshape(2, 3)
    for found, wanted in zip(tirscript.build(after)(x), tirscript.interpret(made, x), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("written", "kept", "shape", "loops"),
    [("h", "r", "(4,)", "i in range(4)"), ("r", "h", "(2, 2)", "i, j in T.grid(2, 2)")],
)
def test_reshaped_tensors_are_values_of_their_own(written: str, kept: str, shape: str, loops: str) -> None:
    """What is written in place later is seen through none of them."""
    element = f"A[{loops.partition(' in ')[0]}]"
    found = parse(f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def grow(A: T.Buffer({shape}, "float32")):
        for {loops}:
            {element} = {element} + T.float32(1)

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        h = G.multiply(x, x)
        r = G.reshape(h, (2, 2))
        e = G.expand_dims(h, 0)
        p = G.split(h, 2)
        y = G.call_tir_inplace(M.grow, ({written},), inplace_indices=[0], out=G.Tensor({shape}, "float32"))
        return {kept}, e, p[1], y
""")
    x = np.arange(4, dtype="float32")
    wanted = [[0, 1, 4, 9], [0, 1, 4, 9], [4, 9], [1, 2, 5, 10]]
    for results in (tirscript.interpret(found, x), tirscript.build(found)(x)):
        assert [one.ravel().tolist() for one in results] == wanted


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ('"n", "m", 4', "n * m, 4"),
        ('"n", "m", 4', "n, m * 4"),
        ('"n", "m", "k"', "n * m * k,"),
        ('"n * m", 4', "n, m * 4"),
        ('"n * m * k", 4', "n, m, k, 4"),
        ('"n", 2, "m", 8', "2 * n, m * 8"),
    ],
)
def test_sizes_that_are_not_known_are_joined_and_divided(shape: str, target: str) -> None:
    module = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(({shape}), "float32"), s: G.Shape(["n", "m", "k"])):
        y = G.reshape(x, ({target}))
        return y
""")
    assert [one.name for one in rewrite_reshape(legalize_ops(module)).functions] == ["main"]


def test_sizes_divided_otherwise_move_elements() -> None:
    module = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def odd(x: T.Buffer(("n", "m"), "float32"), y: T.Buffer(("n * m",), "float32")):
        for i in range(n * m):
            with T.block("y"):
                v = T.axis.spatial(n * m, i)
                y[v] = x[v // n, v % m]

    @G.graph_func
    def main(x: G.Tensor(("n", "m"), "float32")):
        y = G.call_tir(M.odd, (x,), out=G.Tensor((n * m,), "float32"))
        return y
""")
    assert rewrite_reshape(module) is module
