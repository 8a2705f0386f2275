"""Models computed in narrow floats where it is worth it."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, walk
from tirscript.ir.graph import GraphBind, OpCall, TensorType
from tirscript.ir.graph_op import ALWAYS, FOLLOW, NEVER
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.ir.verify import verify
from tirscript.passes.graph import to_mixed_precision
from tirscript.script import parse


def module(body, result="y"):
    lines = "".join(f"            {line}\n" for line in body.strip().split("\n"))
    return parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(
        x: G.Tensor((1, 3, 8, 8), "float32"), w: G.Tensor((4, 3, 3, 3), "float32"),
        v: G.Tensor((4, 4, 1, 1), "float32"), c: G.Tensor((4, 1, 1), "float32"),
    ):
        with G.dataflow():
{lines}            G.output({result})
        return {result}
""")


def kinds(program):
    """The dtypes of the values of `main` by the operator that makes them, in order."""
    return [
        (stmt.value.op.name, str(stmt.var.type.dtype))
        for stmt in walk(program["main"])
        if type(stmt) is GraphBind and type(stmt.value) is OpCall and type(stmt.var.type) is TensorType
    ]


def assert_kept(before, after, tolerance=1e-2):
    assert verify(after) == []
    assert parse(after.script()).script() == after.script()
    rng = np.random.default_rng(0)
    given = [
        rng.standard_normal([int(one.value) for one in p.type.shape]).astype("float32") for p in before["main"].params
    ]
    one, other = tirscript.interpret(before, *given), tirscript.interpret(after, *given)
    assert one.dtype == other.dtype
    np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance * np.abs(one).max())
    assert not np.array_equal(one, other), "it is computed otherwise"
    np.testing.assert_allclose(tirscript.build(after)(*given), other, rtol=2e-3, atol=2e-3 * np.abs(one).max())


def test_products_are_narrow_and_their_sums_are_not():
    before = module("y = G.nn.conv2d(x, w)")
    after = to_mixed_precision(before)
    assert kinds(after) == [("astype", "float16"), ("astype", "float16"), ("nn.conv2d", "float32")]
    assert 'out_dtype="float32"' in after.script()
    assert_kept(before, after)


def test_what_follows_is_narrow_between_products():
    before = module("h = G.nn.conv2d(x, w)\nb = G.nn.relu(G.add(h, c))\ny = G.nn.conv2d(b, v)")
    after = to_mixed_precision(before)
    found = kinds(after)
    assert ("add", "float16") in found and ("nn.relu", "float16") in found
    assert found[-1] == ("nn.conv2d", "float32") and found.count(("astype", "float16")) == 5
    assert_kept(before, after)


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("y = G.nn.conv2d(b, v)", "float16"),
        ("y = G.nn.softmax(b)", "float32"),  # never narrow
        ("y = G.nn.relu(b)", "float32"),  # a result is what it was
        ("z = G.nn.conv2d(b, v)\ny = G.add(z, G.exp(b))", "float32"),  # one of its uses is never narrow
        ("z = G.nn.conv2d(G.negative(b), v)\ny = G.add(z, z)", "float16"),
    ],
)
def test_what_follows_is_narrow_where_all_its_uses_are(use, kind):
    before = module(f"h = G.nn.conv2d(x, w)\nb = G.nn.relu(h)\n{use}")
    after = to_mixed_precision(before)
    assert next(found for name, found in kinds(after) if name == "nn.relu") == kind
    assert_kept(before, after)


def test_what_no_product_made_stays():
    before = module("b = G.nn.relu(x)\nh = G.nn.conv2d(b, w)\ny = G.add(h, c)")
    after = to_mixed_precision(before)
    assert kinds(after)[0] == ("nn.relu", "float32") and kinds(after)[-1] == ("add", "float32")
    assert_kept(before, after)


def test_tuples_of_narrow_values():
    before = module(
        "h = G.nn.conv2d(x, w)\ns = G.split(h, 2, axis=1)\na = s[0]\nb = s[1]\nt = G.concat((b, a), axis=1)\n"
        "y = G.nn.conv2d(t, v)"
    )
    after = to_mixed_precision(before)
    assert ("concat", "float16") in kinds(after) and "a_1" not in after.script()
    assert_kept(before, after)


def test_outside_of_dataflow_and_in_branches():
    before = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4, 4), "float32"), flag: G.Tensor((), "bool")):
        h = G.matmul(x, x)
        if flag:
            a = G.matmul(h, x)
            b = G.nn.relu(a)
            r = G.matmul(b, h)
        else:
            r = G.exp(h)
        return G.add(r, h)
""")
    after = to_mixed_precision(before)
    assert verify(after) == []
    x = np.random.default_rng(0).standard_normal((4, 4)).astype("float32")
    for flag in (True, False):
        one, other = (tirscript.interpret(program, x, np.array(flag)) for program in (before, after))
        np.testing.assert_allclose(other, one, rtol=1e-2, atol=1e-2 * np.abs(one).max())
    assert "relu(a" in after.script() and '("float16")' not in after.script()


def test_bfloat16_and_attention():
    before = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(q: G.Tensor((1, 3, 2, 8), "float32"), k: G.Tensor((1, 5, 2, 8), "float32")):
        with G.dataflow():
            a = G.nn.attention(q, k, k)
            y = G.nn.softmax(a)
            G.output(y)
        return y
""")
    after = to_mixed_precision(before, dtype="bfloat16")
    assert kinds(after) == [
        ("astype", "bfloat16"),
        ("astype", "bfloat16"),
        ("nn.attention", "bfloat16"),
        ("astype", "float32"),
        ("nn.softmax", "float32"),
    ]
    assert_kept(before, after, 2e-2)


def test_nothing_to_narrow():
    untouched = module("y = G.nn.softmax(G.add(x, x))")
    assert to_mixed_precision(untouched)["main"] is untouched["main"]
    with pytest.raises(DiagnosticError, match="computes in float16 or bfloat16, not in float64"):
        to_mixed_precision(untouched, dtype="float64")


def test_every_operator_has_its_place():
    found = {name: op.precision for name, op in GRAPH_OPS.items()}
    assert set(found.values()) == {ALWAYS, FOLLOW, NEVER}
    wanted = {
        "matmul": ALWAYS, "nn.conv2d": ALWAYS, "einsum": ALWAYS, "nn.attention": ALWAYS,
        "add": FOLLOW, "nn.relu": FOLLOW, "reshape": FOLLOW, "concat": FOLLOW, "nn.max_pool2d": FOLLOW,
        "exp": NEVER, "nn.softmax": NEVER, "nn.layer_norm": NEVER, "sum": NEVER, "power": NEVER, "astype": NEVER,
        "quantize": NEVER, "call_tir": NEVER,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
