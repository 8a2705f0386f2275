"""Convolutions in another layout, and what follows them: the same results, with few tensors that are turned."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from helpers.graph_calls import drawn, expected, results, value_of
from helpers.graph_samples_images import SAMPLES

import tirscript
from tirscript.ir import DiagnosticError, Module, dtype, structural_equal
from tirscript.ir.graph import GraphConst, GraphExpr, GraphVar, TensorType, TupleExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.verify import verify
from tirscript.passes import Sequential, get_pass
from tirscript.passes.graph import bind_params, convert_layout, dead_code_elimination, fold_graph_constant
from tirscript.passes.graph.orders import RULES, Order, following, is_plain
from tirscript.script import parse


def rank_of(arg: GraphExpr) -> int | None:
    first = arg.fields[0] if isinstance(arg, TupleExpr) else arg
    kind = type_of(first)
    return kind.rank if isinstance(kind, TensorType) else None


def turned(arg: Any, order: Order | None, values: dict[int, Any], kept: list[Any]) -> Any:
    """An argument with its axes in an order; `kept` keeps what `values` knows by its id."""
    if isinstance(arg, TupleExpr) and order is not None:
        return TupleExpr(tuple(turned(one, order, values, kept) for one in arg.fields))
    if order is None or not isinstance(arg, (GraphVar, GraphConst)):
        return arg
    array = value_of(arg, values)
    if array.ndim == 0:
        return arg
    array = array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)
    var = GraphVar("t", TensorType(dims.shape(array.shape), dtype(array.dtype.name)))
    kept.append(var)
    values[id(var)] = array
    return var


def other_order(rank: int, numbers: random.Random) -> Order | None:
    """An order of so many axes in which not all are where they were; None where there is none."""
    others = [order for order in itertools.permutations(range(rank)) if not is_plain(order)]
    return numbers.choice(others) if others else None


def test_each_rule_has_a_sample() -> None:
    assert RULES.keys() <= SAMPLES.keys()


@pytest.mark.parametrize("name", sorted(RULES))
def test_calls_of_turned_tensors_give_turned_results(name: str) -> None:
    numbers = random.Random(name)
    followed = 0
    for seed in range(12):
        call, values = drawn(name, seed)
        ranks = [rank_of(arg) for arg in call.args]
        order = other_order(max((rank for rank in ranks if rank is not None), default=0), numbers)
        found = following(call, ranks, order) if order else None
        if found is None:
            continue
        followed += order in found.args
        known, kept = dict(values), list[Any]()
        args = (turned(arg, wanted, known, kept) for arg, wanted in zip(call.args, found.args, strict=True))
        made = call.replace(
            args=tuple(found.instead.get(at) or arg for at, arg in enumerate(args)),
            attrs=type(call.attrs)({**call.attrs, **found.attrs}),
        )
        pairs = zip(expected(made, known), expected(call, values), found.results, results(type_of(made)), strict=True)
        for one, other, result, kind in pairs:
            wanted = np.transpose(other, result)
            assert one.shape == wanted.shape
            assert isinstance(kind, TensorType) and (kind.shape is None or dims.numbers(kind.shape) == one.shape)
            exact = one.dtype.kind in "iub"
            close = 0 if exact else 2e-2 if one.dtype.itemsize < 4 else 1e-5
            np.testing.assert_allclose(one.astype("float64"), wanted.astype("float64"), rtol=close, atol=close)
    assert followed


BLOCK = """
@I.ir_module
class M:
    @G.graph_func
    def main(
        x: G.Tensor(("n", 3, 12, 12), "float32"), w: G.Tensor((8, 3, 3, 3), "float32"),
        v: G.Tensor((8, 4, 3, 3), "float32"), u: G.Tensor((8, 6, 2, 2), "float32"), c: G.Tensor((8,), "float32"),
    ):
        with G.dataflow():
{body}
            G.output(y)
        return y
"""
BODIES = {
    "residual": """
h = G.nn.relu(G.nn.conv2d(x, w, padding=1))
b = G.nn.batch_norm(h, c, c, c, G.abs(c), axis=1, training=False)[0]
g = G.nn.conv2d(b, v, padding=1, groups=2)
s = g + h
y = G.squeeze(G.nn.adaptive_avg_pool2d(s, (1, 1)), [2, 3])
""",
    "concat": """
h = G.nn.conv2d(x, w, padding=1)
p = G.nn.max_pool2d(h, 3, 1, 1)
t = G.split(G.concat((h, p), axis=1), 4, axis=1)
y = G.nn.softmax(G.concat((t[3], t[0]), axis=-3), axis=1)
""",
    "tuple": """
h = G.nn.conv2d(x, w, padding=1)
t = G.split(h, 2, axis=1)
k = (t, h)
y = k
""",
    "turned": """
a = G.permute_dims(x, [0, 2, 3, 1])
h = G.nn.conv2d(a, w, padding=1, data_layout="NHWC", out_layout="NCHW")
p = G.permute_dims(G.exp(h * 0.1), [0, 2, 3, 1])
y = G.nn.layer_norm(p, c, c, axes=[-1])
""",
    "transposed": """
h = G.nn.conv2d(x, w, padding=1)
d = G.nn.conv2d_transpose(h, u, strides=2)
y = G.image.resize2d(d, (20, 20), method="nearest_neighbor")
""",
    "sums": """
h = G.nn.conv2d(x, w, padding=1)
m = G.mean(h, [2, 3], keepdims=True)
a = G.argmax(h, axis=1)
q = G.nn.pad(h * m, [0, 0, 0, 0, 1, 1, 2, 2])
y = (G.max(q, axis=[1, -1]), a, G.sum(h))
""",
    "norms": """
h = G.nn.conv2d(x, w, padding=1) + G.reshape(c, (1, 8, 1, 1))
g = G.nn.group_norm(h, c, c, num_groups=2, channel_axis=1, axes=[2, 3])
z = G.nn.prelu(g, c, axis=1)
y = G.strided_slice(z, [1, 3], [1, 0], [5, 12], [2, 1])
""",
    "before": """
h = G.nn.conv2d(x, w, padding=1)
r = G.reshape(h, (n, 8, 144))
p = G.nn.max_pool2d(G.nn.relu(h), 2, 2)
z = G.nn.conv2d(p, v, groups=2)
y = (r, z)
""",
    "behind": """
h = G.nn.conv2d(x, w, padding=1)
p = G.nn.max_pool2d(G.nn.relu(h), 2, 2)
z = G.nn.conv2d(p, v, groups=2)
r = G.reshape(h, (n, 8, 144))
y = (r, z)
""",
    "checked": """
h = G.nn.conv2d(x, w, padding=1)
k = G.match_cast(h, G.Tensor((n, 8, 12, 12), "float32"))
r = G.reshape(G.nn.silu(k), (n, 8, 144))
y = G.matmul(r, G.permute_dims(r, [0, 2, 1]))
""",
}


def block(name: str) -> Module:
    lines = "\n".join(f"            {line}" for line in BODIES[name].strip().split("\n"))
    found = parse(BLOCK.format(body=lines))
    assert isinstance(found, Module)
    return found


def arrays() -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = ((2, 3, 12, 12), (8, 3, 3, 3), (8, 4, 3, 3), (8, 6, 2, 2), (8,))
    return [(rng.standard_normal(shape) / 4).astype("float32") for shape in shapes]


def leaves(value: Any) -> list[Any]:
    return [leaf for one in value for leaf in leaves(one)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"kernel_layout": "OHWI"},
    {"data_layout": "CHWN", "out_layout": "NHWC"},
    {"data_layout": "NHWC", "kernel_layout": "OIHW", "out_layout": "NCHW"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_results_stay(name: str, options: dict[str, Any]) -> None:
    given = block(name)
    made = convert_layout(given, **options)
    assert [str(found) for found in verify(made)] == []
    assert structural_equal(parse(made.script()), made)
    assert convert_layout(made, **options) is made
    wanted = leaves(tirscript.interpret(given, *arrays()))
    ways = [tirscript.interpret(made, *arrays())]
    if not options:
        ways.append(tirscript.build(made)(*arrays()))
    for found in ways:
        for one, other in zip(leaves(found), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("residual", 3),  # x and both weights; nothing of the result
        ("concat", 3),
        ("turned", 2),  # x, as it was, and the weight; not the result
        ("checked", 4),
        ("before", 5),  # x, both weights, h and the result: what somebody has as it was may be followed still
        ("behind", 5),
    ],
)
def test_few_tensors_are_turned(name: str, count: int) -> None:
    made = dead_code_elimination(convert_layout(block(name)))
    assert made.script().count("permute_dims") == count


def test_transposed_convolutions_are_converted_by_name_and_weights_folded() -> None:
    pipeline = (
        "convert_layout,convert_layout{ops=nn.conv2d_transpose,kernel_layout=HWIO},dead_code_elimination,"
        "common_graph_subexpression"
    )
    text = Sequential.parse(pipeline)(block("transposed")).script()
    assert text.count('data_layout="NHWC"') == 2 and text.count('layout="NHWC"') >= 4
    assert text.count("permute_dims") == 4  # x, both weights and the result

    constant = bind_params(block("residual"), {"w": arrays()[1], "v": arrays()[2]})
    assert fold_graph_constant(convert_layout(constant)).script().count("permute_dims") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ops": "nn.relu"}, "`convert_layout` converts convolutions, and `nn.relu` is none"),
        ({"ops": "nn.conv2"}, "there is no operator `nn.conv2` of graphs"),
        ({"data_layout": "NHW"}, "`data_layout` of `nn.conv2d` names the axes N, C, H, W, each once; 'NHW' does not"),
        ({"data_layout": "NCHW16c"}, "`reflow_layouts` moves layouts in blocks"),
        ({"kernel_layout": "HWCO"}, '"OIHW" in any order'),
        ({"ops": "nn.conv1d"}, "`data_layout` of `nn.conv1d` names the axes N, C, W"),
    ],
)
def test_layouts_that_are_none_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(DiagnosticError) as found:
        get_pass("convert_layout", **options)(block("residual"))
    assert says in str(found.value)


IN_PLACE = """
@I.ir_module
class M:
    @T.prim_func
    def double(x: T.Buffer((1, 3, 4, 4), "float32")):
        for n, c, i, j in T.grid(1, 3, 4, 4):
            x[n, c, i, j] = x[n, c, i, j] * 2.0

    @G.graph_func
    def main(x: G.Tensor((1, 3, 4, 4), "float32"), w: G.Tensor((2, 3, 1, 1), "float32")):
        a = G.nn.conv2d(x, w)
        x2 = G.call_tir_inplace(M.double, (x,), inplace_indices=[0], out=G.Tensor((1, 3, 4, 4), "float32"))
        b = G.nn.conv2d(x, w)
        y = G.subtract(b, a)
        return y
"""


def test_functions_that_write_in_place_stay() -> None:
    """What was turned before the tensor was written would be read after it."""
    given = parse(IN_PLACE)
    assert isinstance(given, Module)
    assert convert_layout(given) is given
    x, w = np.ones((1, 3, 4, 4), "float32"), np.ones((2, 3, 1, 1), "float32")
    np.testing.assert_array_equal(np.asarray(tirscript.interpret(given, x, w)), np.full((1, 2, 4, 4), 3, "float32"))


@pytest.mark.parametrize(
    "body", ["y = G.nn.conv2d(s, w)", "y = G.concat((G.nn.conv2d(x, w), s), axis=1)", "y = G.nn.conv2d(x, w) + s"]
)
def test_tensors_of_unknown_rank_stay_as_they_are(body: str) -> None:
    given = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((1, 3, 4, 4), "float32"), w: G.Tensor((2, 3, 1, 1), "float32"), s: G.Tensor(dtype="float32")):
        {body}
        return y
""")
    assert isinstance(given, Module)
    made = convert_layout(given)
    assert [str(found) for found in verify(made)] == []
    rng = np.random.default_rng(4)
    s = rng.standard_normal((1, 3 if "(s, w)" in body else 2, 4, 4)).astype("float32")
    arrays = [rng.standard_normal(shape).astype("float32") for shape in ((1, 3, 4, 4), (2, 3, 1, 1))]
    wanted, found = (np.asarray(tirscript.interpret(one, *arrays, s)) for one in (given, made))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
