"""From kernels of a graph to fewer kernels: kinds, groups, one function each, and what nothing uses."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module, PrimFunc, structural_equal
from tirscript.ir.graph import GraphFunc
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING, Sequential
from tirscript.passes.graph import (
    GRAPH_LOWERING,
    annotate_pattern,
    dead_code_elimination,
    fuse_ops,
    fuse_tir,
    graph_to_tensor,
    legalize_ops,
)
from tirscript.passes.graph.annotate_pattern import pattern_of
from tirscript.passes.inline_private_functions import inline_private_functions
from tirscript.script import parse

KERNELS = """
from tirscript.script import graph as G, ir as I, tir as T

@I.ir_module
class M:
    @T.prim_func(private=True)
    def matmul(A: T.Buffer(("n", 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer(("n", 8), "float32")):
        for i, j, k in T.grid(n, 8, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] += A[vi, vk] * B[vk, vj]

    @T.prim_func(private=True)
    def relu(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n", 8), "float32")):
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], 0.0)

    @T.prim_func(private=True)
    def bias(A: T.Buffer(("n", 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer(("n", 8), "float32")):
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vj]

    @T.prim_func(private=True)
    def add(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n", 8), "float32"), C: T.Buffer(("n", 8), "float32")):
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vi, vj]

    @T.prim_func(private=True)
    def flip(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n", 8), "float32")):
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, 7 - vj]

    @T.prim_func(private=True)
    def rowsum(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n",), "float32")):
        for i, j in T.grid(n, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = 0.0
                B[vi] += A[vi, vj]

    @T.prim_func(private=True)
    def turn(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @T.prim_func(private=True)
    def pairs(A: T.Buffer(("n", 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer(("n", 8), "float32")):
        for i, j, k in T.grid(n, 8, 4):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] += A[vi, vk * 2] * B[vk * 2 + 1, vj]

    @T.prim_func(private=True)
    def steps(A: T.Buffer(("n", 8), "float32"), B: T.Buffer(("n", 8), "float32")):
        for i, j in T.grid(n, 8):
            B[i, j] = A[i, j]

"""
T2 = 'G.Tensor((n, 8), "float32")'
X, W, V = (np.random.default_rng(7).random(shape, "float32") for shape in ((5, 8), (8, 8), (8,)))


def module(body: str, output: str, shape: str = "(n, 8)") -> Module:
    lines = "".join(f"            {line}\n" for line in body.strip().split("\n"))
    text = f"""{KERNELS}    @G.graph_func
    def main(x: G.Tensor(("n", 8), "float32"), w: G.Tensor((8, 8), "float32"), v: G.Tensor((8,), "float32")):
        cls = M
        n = T.int64()
        with G.dataflow():
{lines}            G.output({output})
        return {output if "," not in output else f"({output})"}
"""
    found = parse(text)
    assert isinstance(found, Module)
    return found


def call(name: str, *args: str, out: str = T2) -> str:
    return f"G.call_tir(cls.{name}, ({', '.join(args)},), out={out})"


def fused(given: Module) -> list[str]:
    made = fuse_ops(dead_code_elimination(given))
    return [one.name for one in made.functions if one.attrs.get("primitive")]


def run(given: Module) -> object:
    expected = tirscript.build(given, pipeline=[graph_to_tensor, *DEFAULT_LOWERING.passes])(X, W, V)
    lowered = GRAPH_LOWERING(given)
    parse(lowered.script())
    found = tirscript.build(given)(X, W, V)
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    return expected


def test_kinds_of_kernels() -> None:
    kernels = module(f"a = {call('relu', 'x')}", "a")
    found = {one.name: pattern_of(one) for one in kernels.functions if isinstance(one, PrimFunc)}
    assert found == {
        "matmul": 4,
        "relu": 0,
        "bias": 1,
        "add": 0,
        "flip": 2,
        "rowsum": 3,
        "turn": 2,
        "pairs": 4,
        "steps": 8,
    }
    marked = annotate_pattern(kernels)
    assert {one.name: one.attrs["op_pattern"] for one in marked.functions if isinstance(one, PrimFunc)} == found
    assert annotate_pattern(marked) is marked
    told = parse(KERNELS.replace("        for i, j in", '        T.func_attr({"op_pattern": 8})\n        for i, j in'))
    assert isinstance(told, Module)
    assert not fused(told.replace(functions=(*told.functions, kernels["main"])))


@pytest.mark.parametrize(
    ("body", "output", "groups"),
    [
        (["matmul x w", "relu a", "bias b v"], "c", ["fused_matmul_relu_bias"]),
        (["relu x", "flip a", "relu b"], "c", ["fused_relu_flip_relu"]),
        (["relu x", "rowsum a"], "b", ["fused_relu_rowsum"]),
        # what feeds a reduction behind a contraction is done by the latter, once
        (["matmul x w", "relu a", "bias b v", "rowsum c"], "d", ["fused_matmul_relu_bias"]),
        (["matmul x w", "relu a", "flip b", "rowsum c"], "d", ["fused_matmul_relu", "fused_flip_rowsum"]),
        # unless something else needs the contraction's own result
        (["matmul x w", "relu a", "rowsum b"], "a, c", ["fused_relu_rowsum"]),
        # a contraction takes no producers, and only elementwise work behind it
        (["relu x", "matmul a w"], "b", []),
        (["matmul x w", "flip a"], "b", []),
        # a transposition is none: the product reads the matrix as it lies
        (["turn w", "matmul x a", "relu b"], "c", ["fused_turn_matmul_relu"]),
        (["turn w", "matmul x a"], "a, b", []),
        (["turn w", "turn a", "matmul x b"], "c", ["fused_turn_turn_matmul"]),
        (["turn w", "pairs x a"], "b", []),
        # one contraction in a function
        (["matmul x w", "relu a", "matmul b w", "relu c"], "d", ["fused_matmul_relu", "fused_matmul_relu_1"]),
        (["steps x", "relu a", "relu b"], "c", ["fused_relu_relu"]),
        # a result that is needed elsewhere stays
        (["relu x", "relu a"], "a, b", []),
        (["relu x", "flip a", "flip a"], "b, c", []),
        # all uses of `a` are in the function of `c`
        (["relu x", "flip a", "add a b"], "c", ["fused_relu_flip_add"]),
        (["relu x", "matmul a w", "add a b"], "c", ["fused_matmul_add"]),
    ],
)
def test_groups(body: list[str], output: str, groups: list[str]) -> None:
    lines = []
    for at, words in enumerate(body):
        name, *args = words.split()
        out = {"rowsum": 'G.Tensor((n,), "float32")', "turn": 'G.Tensor((8, 8), "float32")'}.get(name, T2)
        lines.append(f"{'abcd'[at]} = {call(name, *args, out=out)}")
    given = module("\n".join(lines), output)
    assert sorted(fused(given)) == sorted(groups)
    run(given)


def test_one_kernel_of_a_group() -> None:
    given = module(f"a = {call('matmul', 'x', 'w')}\nb = {call('relu', 'a')}", "b")
    made = fuse_tir(fuse_ops(given))
    kernel = made["fused_matmul_relu"]
    assert isinstance(kernel, PrimFunc)
    text = kernel.script()
    assert text.count("T.block") == 2 and text.count("T.alloc_buffer") == 1 and "primitive" not in text
    assert "G.call_tir(M.fused_matmul_relu, (x, w)," in made.script()
    assert [one.name for one in made.functions] == ["fused_matmul_relu", "main"]


def test_a_limit_of_kernels() -> None:
    given = module("\n".join(f"{a} = {call('relu', b)}" for a, b in zip("abcd", "xabc", strict=True)), "d")
    names = [one.name for one in fuse_ops(given, most=2).functions if one.attrs.get("primitive")]
    assert names == ["fused_relu_relu", "fused_relu_relu_1"]


def test_dead_code() -> None:
    given = module(f"a = {call('relu', 'x')}\nb = {call('flip', 'a')}\nc = {call('relu', 'x')}", "a, c")
    made = dead_code_elimination(given)
    assert [one.name for one in made.functions] == ["relu", "main"]
    main = made["main"]
    assert isinstance(main, GraphFunc) and "flip" not in main.script()
    assert dead_code_elimination(made) is made


def test_calls_of_private_functions_are_inlined() -> None:
    text = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def addone(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "int32"), k: T.int32):
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + k

    @T.prim_func(private=True)
    def strided(A: T.Buffer((4,), "int32", strides=(1,))):
        A[0] = 1

    @T.prim_func
    def main(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
        a = T.alloc_buffer((4,), "int32")
        # once
        M.addone(x, a, 1)
        M.addone(a, y, 2)
        M.strided(y)
        M.addone(x, a, y[0])
"""
    given = parse(text)
    made = inline_private_functions(given)
    assert isinstance(made, Module)
    shown = made["main"].script()
    assert shown.count("M.") == 0 and shown.count("addone(") == 1 and "strided(y)" in shown  # y[0] is read at the call
    assert '"B_1"' in shown and "# once" in shown
    assert [one.name for one in made.functions] == ["addone", "strided", "main"]
    results = []
    for program in (given, made):
        y = np.zeros(4, "int32")
        tirscript.interpret(program, np.arange(4, dtype="int32"), y)
        results.append(y.tolist())
    assert results == [[1, 4, 5, 6]] * 2


def test_sizes_that_no_tensor_tells_are_handed_on() -> None:
    given = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def half(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n // 2", "m // 3"), "float32")):
        for i, j in T.grid(n // 2, m // 3):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi * 2, vj * 3]

    @T.prim_func(private=True)
    def relu(
        A: T.Buffer(("n // 2", "m // 3"), "float32"), B: T.Buffer(("n // 2", "m // 3"), "float32"), m: T.int64, n: T.int64
    ):
        for i, j in T.grid(n // 2, m // 3):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], 0.0)

    @G.graph_func
    def main(x: G.Tensor(("n", "m"), "float32")):
        with G.dataflow():
            a = G.call_tir(M.half, (x,), out=G.Tensor((n // 2, m // 3), "float32"))
            b = G.call_tir(M.relu, (a,), out=G.Tensor((n // 2, m // 3), "float32"), tir_vars=(m, n))
            c = G.call_tir(M.relu, (b,), out=G.Tensor((n // 2, m // 3), "float32"), tir_vars=(m, n))
            G.output(a, c)
        return a, c
""")
    assert isinstance(given, Module)
    grouped = fuse_ops(given)
    assert 'sizes: G.Shape(["n", "m"])' in grouped["fused_relu_relu"].script()
    made = fuse_tir(parse(grouped.script()))
    kernel = made["fused_relu_relu"]
    assert isinstance(kernel, PrimFunc)
    assert [param.name for param in kernel.params] == ["a", "c", "n", "m"] and "relu(" not in kernel.script().split(
        ":", 1
    )[1]
    assert "tir_vars=(n, m)" in made.script()
    parse(made.script())
    x = np.random.default_rng(2).normal(size=(7, 9)).astype("float32")
    for program in (given, grouped, made):
        for one, other in zip(tirscript.build(program)(x), (x[:6:2, ::3], np.maximum(x[:6:2, ::3], 0)), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kind", ['G.Prim("float32")', 'G.Shape(["k"])'])
def test_arguments_of_a_fused_function_keep_their_order(kind: str, last: bool) -> None:
    params = ['y: G.Tensor(("n",), "float32")', f"s: {kind}"][:: 1 if last else -1]
    scalar, value = ("T.float32", 2.0) if "Prim" in kind else ("T.int64", (2,))
    given = parse(f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(A: T.Buffer(("n",), "float32"), s: {scalar}, B: T.Buffer(("n",), "float32")):
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] * T.cast(s, "float32")

    @G.graph_func(private=True)
    def twice(x: G.Tensor(("n",), "float32"), {", ".join(params)}):
        G.func_attr({{"primitive": True}})
        with G.dataflow():
            a = G.call_tir(M.scale, (x, s), out=G.Tensor((n,), "float32"))
            b = G.call_tir(M.scale, (a, s), out=G.Tensor((n,), "float32"))
            G.output(b)
        return b

    @G.graph_func
    def main(x: G.Tensor(("n",), "float32"), s: {kind}):
        with G.dataflow():
            b = M.twice(x, {"x, s" if last else "s, x"})
            G.output(b)
        return b
""")
    x = np.arange(4, dtype="float32")
    made = fuse_tir(given)
    assert isinstance(made["twice"], PrimFunc)
    np.testing.assert_array_equal(tirscript.build(made)(x, value), 4 * x)


def test_narrow_scalars_are_sizes_of_fused_functions() -> None:
    """A shape holds int64: the text of a function that takes one of int32 was that of another."""
    module = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32"), k: T.int32):
        for i in range(2):
            with T.block("B"):
                v = T.axis.spatial(2, i)
                B[v] = A[v] * 10 + k

    @G.graph_func
    def main(x: G.Tensor((2,), "int32"), q: G.Prim("int32")):
        with G.dataflow():
            a = G.call_tir(M.f, (x,), out=G.Tensor((2,), "int32"), tir_vars=(q,))
            b = G.call_tir(M.f, (a,), out=G.Tensor((2,), "int32"), tir_vars=(q + 1,))
            G.output(b)
        return b
""")
    grouped = fuse_ops(annotate_pattern(module))
    assert structural_equal(parse(grouped.script()), grouped) and 'sizes: G.Shape(["q"])' in grouped.script()
    x = np.array([1, 2], "int32")
    for made in (grouped, fuse_tir(grouped)):
        assert verify(made) == []
        np.testing.assert_array_equal(tirscript.interpret(made, x, 3), [134, 234])
        np.testing.assert_array_equal(tirscript.build(made)(x, 3), [134, 234])


def test_kernels_of_sizes_that_are_products_are_written_out() -> None:
    module = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", "m", 4), "float32")):
        with G.dataflow():
            b = G.nn.relu(G.reshape(x, (n * m, 4)))
            y = G.add(G.reshape(b, (n, m * 4)), G.const(1.0, "float32"))
            G.output(y)
        return y
""")
    fused = fuse_tir(fuse_ops(legalize_ops(module)))
    assert len(fused.functions) == 2  # the kernel calls none
    x = np.arange(24, dtype="float32").reshape(3, 2, 4) - 12
    np.testing.assert_array_equal(tirscript.interpret(fused, x), np.maximum(x, 0).reshape(3, 8) + 1)


def test_a_norm_of_parameters_is_done_where_a_convolution_is() -> None:
    given = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(
        x: G.Tensor((1, 4, 6, 6), "float32"), w: G.Tensor((8, 4, 3, 3), "float32"),
        g: G.Tensor((8,), "float32"), v: G.Tensor((8,), "float32"),
    ):
        with G.dataflow():
            h = G.nn.conv2d(x, w)
            n = G.nn.relu(G.nn.batch_norm(h, g, g, g, v, axis=1, training=False)[0])
            G.output(n)
        return n
""")
    assert isinstance(given, Module)
    names = [
        one.name
        for one in Sequential(GRAPH_LOWERING.passes[: [one.name for one in GRAPH_LOWERING].index("rewrite_reshape")])(
            given
        ).functions
    ]
    assert "fused_conv2d_multiply_1_add_1_relu" in names and "conv2d" not in names
    random = np.random.default_rng(0)
    arrays = [random.random(shape, dtype=np.float32) for shape in ((1, 4, 6, 6), (8, 4, 3, 3), (8,), (8,))]
    np.testing.assert_allclose(
        tirscript.build(given)(*arrays), tirscript.interpret(given, *arrays), rtol=1e-4, atol=1e-5
    )
