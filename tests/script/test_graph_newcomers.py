"""What people who know torch or numpy write in graph functions: the hint says what it is called here."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.script import graph as G
from tirscript.testing import assert_structural_equal

GRAPH = """
@G.graph_func
def f(x: G.Tensor((2, 4), "float32"), w: G.Tensor((2, 4), "float32")):
    return {value}
"""


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("relu(x)", "did you mean `G.nn.relu`?"),
        ("exp(x)", "did you mean `G.exp`?"),
        ("transpose(x)", "did you mean `G.permute_dims(x)`?"),
        ("F.relu(x)", "did you mean `G.nn.relu`?"),
        ("nn.Linear(4, 4)(x)", "did you mean `G.linear(x, weight, bias)`?"),
        ("torch.unsqueeze(x, 0)", "did you mean `G.expand_dims(x, axis)`?"),
        ("torch.matmul(x, w)", "did you mean `G.matmul`?"),
        ("x.T", "did you mean `G.permute_dims(x)`?"),
        ("x.view(-1)", "did you mean `G.reshape(x, shape)`?"),
        ('x.to("float16")', 'did you mean `x.astype("float16")`?'),
        ("x.relu()", "did you mean `G.nn.relu(x)`?"),
        ("x.reshape(4, 1)", "did you mean `G.reshape(x, shape)`?"),
        ("G.nn.embedding(x, w)", "did you mean `G.take(weight, indices, axis=0)`?"),
        ("G.nn.functional.softmax(x)", "the functions are in `G.nn` itself"),
        ("G.nn.scaled_dot_product_attention(x, x, x)", "did you mean `G.nn.attention(query, key, value)`?"),
        ("G.sum(x, w)", "G.sum(x, axis=None, keepdims=False)"),
        ("G.sum(x, 0, axis=1)", "G.sum(x, axis=None, keepdims=False)"),
        ("G.transpose(w)", "did you mean `G.permute_dims(x)`?"),
        ("G.dot(x, w)", "did you mean `G.matmul`?"),
        ("G.unsqueeze(x, 0)", "did you mean `G.expand_dims(x, axis)`?"),
        ("G.cat([x, w], 0)", "did you mean `G.concat([x, y], axis)`?"),
        ("G.nn.linear(x, w)", "did you mean `G.linear`?"),
        ("G.relu(x)", "did you mean `G.nn.relu`?"),
        ("print(x)", "did you mean `G.print`?"),
        ("G.split(x, 2, axis=0).append(x)", "a longer one is `parts = [*parts, x]`"),
        ("[x, x].append(x)", "a longer one is `parts = [*parts, x]`"),
        ("x + np.array([1.0, 2.0])", "`G.const(values, dtype)`"),
        ("x + [1.0, 2.0, 3.0, 4.0]", "`G.const(values, dtype)`"),
        ("G.call_tir(helper, (x,))", "stands in the same `@I.ir_module` and is called as `M.helper`"),
    ],
)
def test_the_hint_names_the_operator(value: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(GRAPH.format(value=value))
    (one,) = caught.value.diagnostics
    assert hint in str(one.hint)


@pytest.mark.parametrize(
    ("body", "name", "hint"),
    [
        ("for i in range(4):\n        s += A[i]", "s", "`s = 0.0`"),
        ("self.g(A)", "self", "a module has no `self`: its functions are called as `M.name(...)`"),
    ],
)
def test_names_that_are_not_there(body: str, name: str, hint: str) -> None:
    lines = body.replace("\n", "\n    ")
    text = f'@I.ir_module\nclass M:\n    @T.prim_func\n    def f(A: T.Buffer((4,), "float32")):\n        {lines}\n'
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text)
    (one,) = caught.value.diagnostics
    assert one.code == "T010" and f"`{name}`" in one.message and hint in str(one.hint)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("G.where(x > 0, x, 0)", lambda x: np.where(x > 0, x, 0)),
        ("G.where(x > 0, 0.5, x)", lambda x: np.where(x > 0, np.float32(0.5), x)),
        ("G.where(x > w, 1.5, 2.0)", lambda x: np.where(x > 1, 1.5, 2)),
        ("G.take(x, 1, axis=0)", lambda x: x[1]),
    ],
)
def test_numbers_beside_conditions_and_indices_are_of_the_dtype_of_the_values(value: str, wanted: object) -> None:
    program = tirscript.parse(GRAPH.format(value=value))
    x, w = np.arange(-4, 4, dtype="float32").reshape(2, 4), np.ones((2, 4), "float32")
    assert callable(wanted)
    for run in (tirscript.build(program), lambda *args: tirscript.interpret(program, *args)):
        np.testing.assert_array_equal(run(x, w), wanted(x))


@pytest.mark.parametrize(
    ("annotation", "code", "place", "hint"),
    [
        ('G.Tensor(2, 3, "float32")', "T101", 'G.Tensor(2, 3, "float32")', '`G.Tensor((2, 3), "float32")`'),
        ('G.Tensor("float32", (2, 3))', "T032", 'G.Tensor("float32", (2, 3))', 'G.Tensor((128,), "float32")'),
        ("G.Tensor(T.float32, 3)", "T032", "G.Tensor(T.float32, 3)", 'G.Tensor((128,), "float32")'),
        ('G.Tensor((2, 3), "flot32")', "T109", '"flot32"', "`float32`"),
        ('G.Tensor((2, 3), dtype="flot32")', "T109", '"flot32"', "`float32`"),
        ("\"G.Tensor((2, 3), 'flot32')\"", "T109", "\"G.Tensor((2, 3), 'flot32')\"", "`float32`"),
    ],
)
def test_types_of_tensors(annotation: str, code: str, place: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(f"@G.graph_func\ndef f(x: {annotation}):\n    return x\n")
    (one,) = caught.value.diagnostics
    assert one.span is not None and (one.code, one.span.text) == (code, place) and hint in str(one.hint)


@pytest.mark.parametrize(
    ("call", "params", "code", "place", "hint"),
    [
        ("M.g(A)", 'B: T.Buffer((5,), "float32")', "T204", "M.g(A)", ""),
        ("M.g(A[0:2])", "b: T.handle", "T204", "A[0:2]", "`T.address_of(A[0])`"),
        ("M.g(A[n:])", "b: T.handle", "T204", "A[n:]", "`T.address_of(A[n])`"),
        ("M.g(A[2])", "b: T.handle", "T204", "A[2]", "`T.address_of(A[2])`"),
        ("A[0] = M.g(A)", 'B: T.Buffer((4,), "float32")', "T110", "M.g(A)", "the elements of its parameters"),
    ],
)
def test_calls_between_tensor_functions(call: str, params: str, code: str, place: str, hint: str) -> None:
    text = f"""
@I.ir_module
class M:
    @T.prim_func
    def f(A: T.Buffer((4,), "float32"), n: T.int32):
        {call}

    @T.prim_func
    def g({params}):
        pass
"""
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text)
    (one,) = caught.value.diagnostics
    assert one.span is not None and (one.code, one.span.text) == (code, place) and hint in str(one.hint)


def test_an_if_of_a_comparison_of_tensors_names_the_choice_by_element() -> None:
    text = GRAPH.format(value="x").replace(
        "return x", "if x > w:\n        y = x\n    else:\n        y = w\n    return y"
    )
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text)
    (one,) = caught.value.diagnostics
    assert (one.code, one.span.text) == ("T102", "x > w")
    assert "`G.where(condition, a, b)`" in str(one.hint)


def test_a_wrong_type_of_the_result_is_underlined_where_it_stands() -> None:
    kind = 'G.Tensor((4, 2), "float32")'
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(GRAPH.format(value="x").replace("):", f") -> {kind}:"))
    (one,) = caught.value.diagnostics
    assert (one.code, one.span.text) == ("T207", kind)


HINTED = 'x + G.const([1, 2, 3, 4]).astype("float32")'


@pytest.mark.parametrize(
    ("value", "hint", "fixed"),
    [
        ("max(x, 0.0)", "did you mean `G.maximum`?", "G.maximum(x, 0.0)"),  # `G.max(x, 0)` would reduce the axis 0
        ("min(x, w)", "did you mean `G.minimum`?", "G.minimum(x, w)"),
        ("min([x, x])", "did you mean `G.minimum`?", "G.minimum(x, x)"),
        ("sum(x)", "did you mean `G.sum`?", "G.sum(x)"),
        ("max(x)", "did you mean `G.max`?", "G.max(x)"),
        ("pow(x, 2)", "`x ** 2.0`, or `G.power(x, y)`", "x ** 2.0"),
        ("x + i", '`i.astype("float32")`', 'x + i.astype("float32")'),
        ("x + G.const([1, 2, 3, 4])", '`G.const([1, 2, 3, 4]).astype("float32")`', HINTED),
        ("x + (i + i)", '`(i + i).astype("float32")`', 'x + (i + i).astype("float32")'),
        ("x + G.abs(i)", '`G.abs(i).astype("float32")`', 'x + G.abs(i).astype("float32")'),
        ("G.concat([x, i - 1])", '`(i - 1).astype("float32")`', 'G.concat([x, (i - 1).astype("float32")])'),
        ("G.concat([x, i])", '`i.astype("float32")`', 'G.concat([x, i.astype("float32")])'),
        ("G.exp(i)", '`i.astype("float32")`', 'G.exp(i.astype("float32"))'),
        ("G.emit(x + x)", "bound by its assignment: `y = G.add(x, x)`", "G.add(x, x)"),
        ("torch.nn.functional.relu(x)", "did you mean `G.nn.relu`?", "G.nn.relu(x)"),
    ],
)
def test_what_the_help_says_is_read(value: str, hint: str, fixed: str) -> None:
    text = GRAPH.replace("w: G", 'i: G.Tensor((2, 4), "int32"), w: G')
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text.format(value=value))
    (one,) = caught.value.diagnostics
    assert hint in str(one.hint)
    tirscript.parse(text.format(value=fixed))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("sum([x, x, 2.0])", "x + x + 2.0"),
        ("sum([x, x], x)", "x + x + x"),
        ("sum(G.exp(part) for part in (x, x))", "G.exp(x) + G.exp(x)"),
        ("sum(G.split(x, 2))", "parts[0] + parts[1]"),
        ("abs(x)", "G.abs(x)"),
        ("x + G.prim_value(max(n, 3))", "x + G.prim_value(T.max(n, 3))"),
    ],
)
def test_pythons_functions_join_what_a_graph_computes(value: str, written: str) -> None:
    """`sum` of a list said `did you mean G.sum?`, which reduces one tensor."""
    text = GRAPH.replace("w: G", 'n: G.Prim("float32"), w: G')
    split = "    parts = G.split(x, 2)\n" if "parts[" in written else ""
    wanted = tirscript.parse(text.replace("    return", f"{split}    return").format(value=written))
    assert_structural_equal(tirscript.parse(text.format(value=value)), wanted)


@pytest.mark.parametrize("callee", ["foo", "cls.foo"])
def test_a_callee_that_is_not_defined_is_no_function_of_t(callee: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(GRAPH.format(value=f"G.call_tir({callee}, (x,))"))
    (one,) = caught.value.diagnostics
    assert "stands in the same `@I.ir_module` and is called as `M.foo`" in str(one.hint)


def test_a_misspelt_callee_is_sought_in_the_module() -> None:
    text = (
        "@I.ir_module\nclass M:\n    @T.prim_func\n    def add_one(A: T.Buffer((4,)), B: T.Buffer((4,))):\n"
        "        B[0] = A[0]\n\n    @G.graph_func\n    def main(x: G.Tensor((4,), 'float32')):\n"
        "        return G.call_tir(add_on, (x,))\n"
    )
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text)
    assert caught.value.diagnostics[0].hint == "did you mean `M.add_one`?"


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ('G.Tensor[(4, 8), "float32"]', '`G.Tensor((4, 8), "float32")`'),
        ("G.Tensor[4, 8]", G.Tensor.__doc__),
        ("torch.Tensor", 'a tensor is `G.Tensor((4, 4), "float32")`'),
        ("G.Tensor((-1, 8))", "a dimension is 0 or more; one that is not known has a name"),
    ],
)
def test_a_type_as_others_write_it(kind: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(f"@G.graph_func\ndef f(x: {kind}):\n    return x\n")
    assert caught.value.diagnostics[0].hint == hint


def test_brackets_of_a_type_that_python_evaluates() -> None:
    with pytest.raises(TypeError, match=r"`G\.Tensor` takes its arguments in round brackets"):
        G.Tensor[(4, 8), "float32"]


@pytest.mark.parametrize(
    "index",
    [
        *("x[0]", "x[-1]", "x[n]", "x[:, 2]", "x[..., 0]", "x[ids]", "x[:, ids]", "(x + x)[-1]"),
        *("x[1:3]", "x[1:]", "x[:-1]", "x[-3:-1]", "x[::2]", "x[:, ::3]", "x[..., :2]", "x[1:3, 2:4]", "(x + x)[1:]"),
        *("x[None]", "x[..., None]", "x[:, None]", "x[::-1]", "x[:, ::-1]"),
    ],
)
def test_the_operator_that_is_told_for_an_index_takes_what_numpy_would(index: str) -> None:
    text = (
        "from tirscript.script import graph as G, tir as T\n\n\n@G.graph_func\n"
        'def f(x: G.Tensor((4, 8), "float32"), ids: G.Tensor((2,), "int64"), n: T.int64):\n    return {}\n'
    )
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text.format(index))
    (one,) = caught.value.diagnostics
    assert one.message == "a tensor is not indexed in a graph function" and one.hint is not None
    given = {"x": np.arange(32, dtype="float32").reshape(4, 8), "ids": np.array([3, 1]), "n": 2}
    found = tirscript.interpret(tirscript.parse(text.format(one.hint.strip("`"))), *given.values())
    assert np.array_equal(found, eval(index, dict(given)))


@pytest.mark.parametrize("index", ["x[0, 1]", "x[:]", "x[...]", "x[3:0:-1]", "x[::-1, ::-1]", "x[0, :, None]"])
def test_an_index_that_is_no_one_operator_has_both_named(index: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(GRAPH.format(value=index))
    assert caught.value.diagnostics[0].hint == "take a slice with `G.strided_slice`, or elements with `G.take`"


@pytest.mark.parametrize(
    ("statement", "word", "hint"),
    [
        ("T.assume(n > 3)", "T.assume", "`G.call_tir` calls one from here"),
        ('T.static_assert(n > 3, "m")', "T.static_assert", "`G.assert_op(condition)`"),
        ("y = T.alloc_buffer((4,))", "T.alloc_buffer", "`G.call_tir` calls one from here"),
        ('T.func_attr({"a": 1})', "T.func_attr", "`G.func_attr({...})`"),
    ],
)
def test_statements_of_tensor_functions_are_told_to_be_theirs(statement: str, word: str, hint: str) -> None:
    """It was said of a statement that it does not stand in an expression."""
    text = f'@G.graph_func\ndef f(x: G.Tensor(("n", 4), "float32")):\n    {statement}\n    return x\n'
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text)
    (one,) = caught.value.diagnostics
    assert one.message == f"`{word}` is not part of a graph function" and hint in str(one.hint)


def test_self_is_left_out_of_graph_functions_too() -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(GRAPH.format(value="x").replace("f(x", "f(self, x"))
    (one,) = caught.value.diagnostics
    assert one.hint == "leave `self` out: the functions of a module take their arguments alone"


def test_a_tuple_that_has_more_parts_than_names_is_taken_as_the_hint_says() -> None:
    text = GRAPH.replace("    return {value}\n", "    {}\n    return a + b\n")
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text.format("a, b = G.split(x, 4, axis=1)"))
    (one,) = caught.value.diagnostics
    assert one.hint == "give each a name, or the tuple one: `parts = ...`, then `parts[0]`"
    tirscript.parse(text.format("parts = G.split(x, 4, axis=1)\n    a = parts[0]\n    b = parts[1]"))
