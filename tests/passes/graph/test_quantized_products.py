"""Products of dequantized tensors: by their integers, with the same results, and where they stay products of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module
from tirscript.ir.graph import OpCall
from tirscript.ir.rewrite import walk
from tirscript.ir.verify import verify
from tirscript.passes import get_pass
from tirscript.passes.graph import bind_params, dead_code_elimination, quantized_products
from tirscript.script import parse

SCALE = 'G.const(0.5, "float32")'


def module(params: str, *lines: str) -> Module:
    body = "".join(f"            {line}\n" for line in lines)
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main({params}):
        with G.dataflow():
{body}            G.output(y)
        return y
""")
    assert isinstance(found, Module)
    return found


def dequantized(name: str, scale: float, zero: int, kind: str) -> str:
    return f'G.dequantize({name}, G.const({scale}, "float32"), G.const({zero}, "{kind}"), axis=0)'


def drawn(shape: tuple[int, ...], kind: str, seed: int) -> Any:
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(kind)


def products(given: Module, name: str) -> set[str]:
    """The dtypes of the results of the products of a module."""
    calls = [node for node in walk(given["main"]) if type(node) is OpCall and node.op.name == name]
    return {str(call.attrs["out_dtype"]) for call in calls}


def both(given: Module, *arguments: Any) -> Module:
    """The module with products of integers, whose results are those of floats but for their rounding."""
    made = quantized_products(given)
    assert [str(found) for found in verify(made)] == []
    wanted = np.asarray(tirscript.interpret(given, *arguments))
    built = tirscript.build(given)(*arguments)
    for found in (tirscript.interpret(made, *arguments), built):
        if wanted.dtype.kind == "f":
            scale = np.abs(wanted).max()
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * scale)
        else:  # what lies halfway may be rounded either way
            assert np.abs(np.asarray(found).astype(int) - wanted.astype(int)).max() <= 1
    return made


@pytest.mark.parametrize(
    ("kinds", "zeros"),
    [
        (("uint8", "int8"), (0, 0)),
        (("uint8", "int8"), (121, 0)),
        (("int8", "int8"), (-128, 0)),
        (("uint8", "uint8"), (0, 17)),
        (("uint8", "uint8"), (255, 255)),
        (("int8", "uint8"), (-3, 200)),
    ],
)
@pytest.mark.parametrize("shapes", [((6, 20), (20, 18)), ((2, 3, 20), (20, 18)), ((2, 5, 20), (2, 20, 7))])
def test_products_of_matrices(kinds: tuple[str, str], zeros: tuple[int, int], shapes: Any) -> None:
    given = module(
        f'x: G.Tensor({shapes[0]}, "{kinds[0]}"), w: G.Tensor({shapes[1]}, "{kinds[1]}")',
        f"a = {dequantized('x', 0.03, zeros[0], kinds[0])}",
        f"b = {dequantized('w', 0.007, zeros[1], kinds[1])}",
        "y = G.matmul(a, b)",
    )
    made = both(given, drawn(shapes[0], kinds[0], 1), drawn(shapes[1], kinds[1], 2))
    assert products(made, "matmul") == {"int32"}


def test_scales_and_zero_points_of_rows_and_columns() -> None:
    rng = np.random.default_rng(3)
    given = module(
        'x: G.Tensor((4, 20), "int8"), s: G.Tensor((4,), "float32"), p: G.Tensor((4,), "int8"), '
        'w: G.Tensor((20, 6), "uint8"), t: G.Tensor((6,), "float32"), q: G.Tensor((6,), "uint8")',
        "a = G.dequantize(x, s, p, axis=0)",
        "b = G.dequantize(w, t, q, axis=-1)",
        "y = G.matmul(a, b)",
    )
    known = {"s": rng.random(4).astype("f") + 0.01, "p": drawn((4,), "int8", 4)}
    known |= {"t": rng.random(6).astype("f") + 0.01, "q": drawn((6,), "uint8", 5)}
    arguments = drawn((4, 20), "int8", 6), drawn((20, 6), "uint8", 7)
    made = both(bind_params(given, known), *arguments)
    assert products(made, "matmul") == {"int32"}
    # what is not known when it is compiled stays
    assert quantized_products(given) is given
    # and what differs along the sum
    along = module(
        'x: G.Tensor((4, 6), "int8"), w: G.Tensor((6, 6), "int8"), t: G.Tensor((6,), "float32")',
        f"a = {dequantized('x', 0.5, 0, 'int8')}",
        'b = G.dequantize(w, t, G.const(0, "int8"), axis=0)',
        "y = G.matmul(a, b)",
    )
    assert products(
        both(bind_params(along, {"t": known["t"]}), drawn((4, 6), "int8", 1), drawn((6, 6), "int8", 2)), "matmul"
    ) == {"None"}


def test_a_layer_is_a_product_of_bytes_and_one_vector_of_constants() -> None:
    """The weights stand the other way round, as those of Gemm do, and a bias, an activation and a quantization follow."""
    given = module(
        'x: G.Tensor((8, 32), "uint8"), w: G.Tensor((24, 32), "int8"), t: G.Tensor((24,), "float32"), '
        'bias: G.Tensor((24,), "float32")',
        f"a = {dequantized('x', 0.03, 120, 'uint8')}",
        'b = G.dequantize(w, t, G.const(0, "int8"), axis=0)',
        "turned = G.permute_dims(b, axes=[1, 0])",
        "h = G.nn.relu(G.add(G.matmul(a, turned), bias))",
        'y = G.quantize(h, G.const(0.25, "float32"), G.const(3, "uint8"), axis=0, out_dtype="uint8")',
    )
    rng = np.random.default_rng(1)
    known = {"w": drawn((24, 32), "int8", 1), "t": rng.random(24).astype("f") / 99, "bias": rng.random(24).astype("f")}
    made = both(bind_params(given, known), drawn((8, 32), "uint8", 2))
    assert products(made, "matmul") == {"int32"}
    folded = dead_code_elimination(get_pass("fold_graph_constant")(made))
    text = folded["main"].script()
    assert "G.sum(" not in text and "permute_dims" not in text and "dequantize" not in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "zero", "attributes"),
    [
        ("uint8", 0, ""),
        ("uint8", 131, ""),
        ("uint8", 131, ", padding=[1, 0, 2, 1]"),
        ("int8", -128, ", padding=[1, 1, 1, 1], strides=[2, 2]"),
        ("int8", 5, ", padding=[2, 1, 0, 3], dilation=[1, 2]"),
        ("int8", 0, ", padding=[1, 1, 1, 1]"),
    ],
)
@pytest.mark.parametrize("by_filter", [False, True])
def test_convolutions(kind: str, zero: int, attributes: str, by_filter: bool) -> None:
    scale = "t" if by_filter else SCALE
    given = module(
        f'x: G.Tensor((2, 5, 9, 8), "{kind}"), w: G.Tensor((6, 5, 3, 3), "int8"), t: G.Tensor((6,), "float32")',
        f"a = {dequantized('x', 0.03, zero, kind)}",
        f'b = G.dequantize(w, {scale}, G.const(0, "int8"), axis=0)',
        f"y = G.nn.conv2d(a, b{attributes})",
    )
    bound = bind_params(given, {"t": np.random.default_rng(1).random(6).astype("f") + 0.01})
    made = both(bound, drawn((2, 5, 9, 8), kind, 1), drawn((6, 5, 3, 3), "int8", 2))
    assert products(made, "nn.conv2d") == {"int32"}


@pytest.mark.parametrize("layout", ["NHWC", "NWHC"])
def test_convolutions_of_other_layouts(layout: str) -> None:
    given = module(
        'x: G.Tensor((2, 9, 8, 5), "uint8"), w: G.Tensor((3, 3, 5, 6), "int8"), t: G.Tensor((6,), "float32")',
        f"a = {dequantized('x', 0.03, 7, 'uint8')}",
        'b = G.dequantize(w, t, G.const(0, "int8"), axis=3)',
        f'y = G.nn.conv2d(a, b, padding=[1, 2, 0, 1], data_layout="{layout}", kernel_layout="HWIO", out_layout="NCHW")',
    )
    bound = bind_params(given, {"t": np.random.default_rng(1).random(6).astype("f") + 0.01})
    made = both(bound, drawn((2, 9, 8, 5), "uint8", 1), drawn((3, 3, 5, 6), "int8", 2))
    assert products(made, "nn.conv2d") == {"int32"}


@pytest.mark.parametrize(
    ("weights", "zero", "attributes"),
    [("(6, 5, 3, 3)", 4, ""), ("(5, 1, 3, 3)", 0, ", groups=5")],
)
def test_convolutions_that_stay(weights: str, zero: int, attributes: str) -> None:
    given = module(
        f'x: G.Tensor((1, 5, 6, 6), "uint8"), w: G.Tensor({weights}, "int8")',
        f"a = {dequantized('x', 0.03, 7, 'uint8')}",
        f"b = {dequantized('w', 0.03, zero, 'int8')}",
        f"y = G.nn.conv2d(a, b{attributes})",
    )
    assert quantized_products(given) is given


@pytest.mark.parametrize("length", ["33026", '"k"'])
def test_sums_that_may_leave_int32_stay(length: str) -> None:
    """33,025 products of 255 by 255 are less than 2 ** 31."""

    def made(size: str) -> Module:
        given = module(
            f'x: G.Tensor((2, {size}), "uint8"), w: G.Tensor(({size}, 2), "uint8")',
            f"a = {dequantized('x', 0.5, 0, 'uint8')}",
            f"b = {dequantized('w', 0.5, 0, 'uint8')}",
            "y = G.matmul(a, b)",
        )
        found: Module = quantized_products(given)
        return found

    assert products(made(length), "matmul") == {"None"}
    assert products(made("33025"), "matmul") == {"int32"}
    most = np.full((2, 33025), 255, "uint8")
    found = tirscript.interpret(made("33025"), most, np.ascontiguousarray(most.T))
    np.testing.assert_allclose(found, np.full((2, 2), 33025 * 255.0 * 255.0 / 4), rtol=1e-6)


@pytest.mark.parametrize(
    "scale",
    [
        *map(np.float32, (0.0, -0.5, 1e-39, 1e37, np.inf, np.nan)),
        np.float16(3e-4),  # the product of two of them is no more than some digits of a float16
        np.float64(0.5),
        np.full(0, 0.5, "float32"),
    ],
)
def test_odd_scales_stay(scale: Any) -> None:
    columns = scale.size if scale.ndim else 2
    given = module(
        f'x: G.Tensor(({columns}, 4), "uint8"), w: G.Tensor((4, 2), "uint8"), s: G.Tensor({scale.shape}, '
        f'"{scale.dtype}")',
        'a = G.dequantize(x, s, G.const(0, "uint8"), axis=0)',
        f"b = {dequantized('w', 0.5, 0, 'uint8')}",
        "y = G.matmul(a, b)",
    )
    bound = bind_params(given, {"s": scale})
    assert products(quantized_products(bound), "matmul") == {"None"}


@pytest.mark.parametrize(
    "zero", [np.int32(256), np.int32(-1), np.int64(1 << 40), np.float32(2.5), np.float32(np.nan), np.ones(0, "uint8")]
)
def test_zero_points_that_are_no_bytes_stay(zero: Any) -> None:
    """A border of them is no border of bytes, and a quantization does not undo what it does with them."""
    batch = zero.size if zero.ndim else 2
    given = module(
        f'x: G.Tensor(({batch}, 4, 5, 5), "uint8"), w: G.Tensor((4, 4, 3, 3), "uint8"), p: G.Tensor({zero.shape}, '
        f'"{zero.dtype}")',
        'a = G.dequantize(x, G.const(0.5, "float32"), p, axis=0)',
        'c = G.quantize(a, G.const(0.5, "float32"), p, axis=0, out_dtype="uint8")',
        f"b = {dequantized('w', 0.5, 0, 'uint8')}",
        "d = G.nn.conv2d(a, b, padding=[1, 1, 1, 1])",
        "y = (c, d)",
    )
    bound = bind_params(given, {"p": zero})
    assert quantized_products(bound) is bound


def test_functions_that_keep_the_order_of_sums_stay() -> None:
    given = module(
        'x: G.Tensor((2, 4), "uint8"), w: G.Tensor((4, 2), "uint8")',
        f"a = {dequantized('x', 0.5, 0, 'uint8')}",
        f"b = {dequantized('w', 0.5, 0, 'uint8')}",
        "y = G.matmul(a, b)",
    )
    text = given.script().replace(
        "        with G.dataflow", '        G.func_attr({"fastmath": False})\n        with G.dataflow'
    )
    exact = parse(text)
    assert isinstance(exact, Module) and quantized_products(exact) is exact


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("m = G.reshape(a, (1, 4, 36))", True),
        ("m = G.permute_dims(a, axes=[0, 2, 3, 1])", True),
        ("m = G.nn.max_pool2d(a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])", True),
        # a window without elements of the data has no greatest one
        ("m = G.nn.max_pool2d(a, pool_size=[2, 2], strides=[2, 2], padding=[2, 2, 2, 2])", False),
        ("m = G.nn.avg_pool2d(a, pool_size=[2, 2])", False),
    ],
)
def test_what_gives_elements_is_done_to_bytes(line: str, gone: bool) -> None:
    given = module(
        'x: G.Tensor((1, 4, 6, 6), "int8")',
        f"a = {dequantized('x', 0.3, -7, 'int8')}",
        line,
        'y = G.quantize(m, G.const(0.3, "float32"), G.const(-7, "int8"), axis=0, out_dtype="int8")',
    )
    made = dead_code_elimination(quantized_products(given))
    assert ("quantize" not in made["main"].script()) == gone
    x = drawn((1, 4, 6, 6), "int8", 1)
    np.testing.assert_array_equal(tirscript.interpret(made, x), tirscript.interpret(given, x))


@pytest.mark.parametrize(("scale", "zero", "kind"), [(0.25, -7, "int8"), (0.3, -6, "int8"), (0.3, 7, "uint8")])
def test_other_quantizations_stay(scale: float, zero: int, kind: str) -> None:
    given = module(
        'x: G.Tensor((3, 40), "int8")',
        f"a = {dequantized('x', 0.3, -7, 'int8')}",
        f'y = G.quantize(a, G.const({scale}, "float32"), G.const({zero}, "{kind}"), axis=0, out_dtype="{kind}")',
    )
    assert quantized_products(given) is given


def test_every_byte_survives_a_quantization_that_undoes_its_dequantization() -> None:
    for kind in ("int8", "uint8"):
        x = np.arange(256, dtype="uint8").view(kind)
        for scale in (0.1, 1 / 3, 1e-5, 7.77):
            given = module(
                f'x: G.Tensor((256,), "{kind}")',
                f"a = {dequantized('x', scale, 5, kind)}",
                f'y = G.quantize(a, G.const({scale}, "float32"), G.const(5, "{kind}"), axis=0, out_dtype="{kind}")',
            )
            np.testing.assert_array_equal(tirscript.interpret(given, x), x)
            assert quantized_products(given)["main"].value is quantized_products(given)["main"].params[0]


def test_what_is_not_seen_behind_a_dataflow_is_not_used() -> None:
    text = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4, 4), "uint8")):
        with G.dataflow():
            t = G.abs(x)
            a = G.dequantize(t, G.const(0.5, "float32"), G.const(0, "uint8"), axis=0)
            G.output(a{0})
        y = G.matmul(a, a)
        return y
"""
    for more, kind in (("", "None"), (", t", "int32")):
        given = parse(text.replace("{0}", more))
        assert isinstance(given, Module)
        made = quantized_products(given)
        assert [str(found) for found in verify(made)] == [] and products(made, "matmul") == {kind}
        x = drawn((4, 4), "uint8", 1)
        np.testing.assert_allclose(tirscript.interpret(made, x), tirscript.interpret(given, x), rtol=1e-6)


@pytest.mark.parametrize("use", ["y = G.permute_dims(a)", "y = G.matmul(a, a)"])
def test_scales_that_are_not_seen_behind_a_dataflow_are_not_used(use: str) -> None:
    given = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4, 4), "uint8")):
        with G.dataflow():
            s = G.const(0.5, "float32")
            a = G.dequantize(x, s, G.const(0, "uint8"), axis=0)
            G.output(a)
        {use}
        return y
""")
    assert isinstance(given, Module) and quantized_products(given) is given


@pytest.mark.parametrize("written", ["t", "q"])
def test_bytes_that_are_written_in_place_stay_apart(written: str) -> None:
    """What is dequantized before they are written, is what they were; and what is written is not the bytes."""
    given = parse(f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def clear(A: T.Buffer((4, 4), "uint8")):
        for i, j in T.grid(4, 4):
            A[i, j] = T.uint8(0)

    @G.graph_func
    def main(x: G.Tensor((4, 4), "uint8")):
        with G.dataflow():
            t = G.add(x, x)
            a = G.dequantize(t, G.const(0.5, "float32"), G.const(0, "uint8"), axis=0)
            q = G.quantize(a, G.const(0.5, "float32"), G.const(0, "uint8"), axis=0, out_dtype="uint8")
            c = G.call_tir_inplace(M.clear, ({written},), inplace_indices=[0], out=G.Tensor((4, 4), "uint8"))
            m = G.matmul(a, a)
            y = (m, G.add(t, c))
            G.output(y)
        return y
""")
    assert isinstance(given, Module)
    x = np.arange(16, dtype="uint8").reshape(4, 4)
    m = (x.astype("float32") @ x.astype("float32"), 2 * x if written == "q" else 0 * x)
    for run in (given, quantized_products(given)):
        for found in (tirscript.interpret(run, x), tirscript.build(run)(x)):
            for one, wanted in zip(found, m, strict=True):
                np.testing.assert_array_equal(one, wanted)
