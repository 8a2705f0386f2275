"""Patterns of graphs, and functions made of what they find."""

from __future__ import annotations

import pytest

from tirscript.ir import Module
from tirscript.ir.graph import GraphBind, GraphFunc, GraphVar
from tirscript.ir.rewrite import walk
from tirscript.passes.graph import fuse_by_pattern
from tirscript.passes.graph.patterns import (
    Match,
    Pattern,
    is_constant,
    is_function_call,
    is_item,
    is_op,
    is_tuple,
    wildcard,
)
from tirscript.script import parse

TEXT = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 8), "float32"), w: G.Tensor((8, 8), "float32"), b: G.Tensor((8,), "float32")):
        with G.dataflow():
            a = G.matmul(x, w)
            c = G.add(b, a)
            d = G.nn.relu(c)
            e = G.matmul(d, w)
            f = G.add(e, b)
            g = G.nn.relu(f)
            h = G.add(f, g)
            k = G.multiply(h, G.const(2.0))
            t = (k, h)
            i = t[1]
            s = G.sum(i, axis=[1], keepdims=True)
            G.output(s)
        return s
"""


def module() -> Module:
    found = parse(TEXT)
    assert isinstance(found, Module)
    return found


def found(pattern: Pattern) -> list[str]:
    """The names of the variables whose values the pattern matches."""
    main = module()["main"]
    binds = [node for node in walk(main) if type(node) is GraphBind]
    values = {bind.var: bind.value for bind in binds}
    return [bind.var.name for bind in binds if pattern.match(bind.var, Match(values))]


def dense() -> Pattern:
    product = is_op("matmul")(wildcard(), wildcard().named("weight")).named("product")
    return is_op("nn.relu")(is_op("add")(product, wildcard().named("bias")))


def test_forms() -> None:
    x, same = wildcard(), wildcard()
    assert found(is_op("add")) == ["c", "f", "h"]
    assert found(dense()) == ["d", "g"]  # the sum in either order
    assert found(is_op("add")(same, is_op("nn.relu")(same))) == ["h"]  # one value at both places
    assert found(is_op("add")(x, is_op("nn.relu")(wildcard()))) == ["h"]
    assert found(is_op("multiply")(x, is_constant())) == found(is_op("multiply")(is_constant(), x)) == ["k"]
    assert found(is_op("subtract") | is_op("sum")) == ["s"]
    assert found(is_tuple(is_op("multiply"), x)) == ["t"]
    assert found(is_item(wildcard(), 1)) == ["i"] and found(is_item(wildcard(), 0)) == []
    assert found(is_function_call(x)) == []
    # not commutative
    assert found(is_op("matmul")(is_op("nn.relu"), x)) == ["e"]
    assert found(is_op("matmul")(x, is_op("nn.relu"))) == []


def test_conditions() -> None:
    assert found(is_op("sum")(wildcard(), keepdims=True)) == ["s"]
    assert found(is_op("sum")(wildcard(), keepdims=False)) == []
    assert found(is_op("sum")(wildcard(), axis=[1])) == ["s"]
    assert found(is_op("matmul").has_dtype("float32")) == ["a", "e"]
    assert found(is_op("matmul").has_dtype("float16")) == []
    assert found(is_op("sum").has_shape((None, 1))) == ["s"]
    assert found(wildcard().has_shape((8,))) == []
    assert found(is_op("add").where(lambda expr: isinstance(expr, GraphVar) and expr.name > "d")) == ["f", "h"]
    with pytest.raises(KeyError, match=r"did you mean `nn.relu`"):
        is_op("nn.rel")
    with pytest.raises(TypeError, match="did you mean `keepdims`"):
        is_op("sum")(wildcard(), keepdim=True)


def test_what_was_matched_is_told() -> None:
    main = module()["main"]
    binds = {node.var.name: node for node in walk(main) if type(node) is GraphBind}
    match = Match({bind.var: bind.value for bind in binds.values()})
    pattern = dense()
    assert pattern.match(binds["d"].var, match)
    assert isinstance(main, GraphFunc)
    assert match["bias"] is main.params[2] and match["product"] is binds["a"].var and match[pattern] is binds["d"].var
    with pytest.raises(KeyError):
        match["nothing"]


def test_functions_of_what_is_found() -> None:
    made = fuse_by_pattern(module(), {"my.dense": dense(), "my.sum": is_op("add")}, attrs={"codegen": "my"})
    names = sorted((one.name, str(one.attrs.get("composite"))) for one in made.functions)
    # `f` is used twice, so the second dense layer is no function, and its sum is one
    assert names == [("dense", "my.dense"), ("main", "None"), ("sum", "my.sum"), ("sum_1", "my.sum")]
    assert made["dense"].attrs["codegen"] == "my"
    text = made.script()
    assert 'd: G.Tensor((n, 8), "float32") = M.dense(x, w, b)' in text
    assert parse(text).script() == text
    assert fuse_by_pattern(made, {"my.other": is_op("nn.dropout")}) is made
