"""Mistakes of people who come from elsewhere in the types of parameters: what is said of them."""

from __future__ import annotations

import re

import pytest
from helpers.script import HEADER, one_mistake

from tirscript.ir import DiagnosticError
from tirscript.script import parse

SIGNATURES = [
    ('A: "float32[4, 4]"', "T041", '"float32[4, 4]"', "not a type of T", '`T.Buffer((4, 4), "float32")`'),
    ('A: "int8"', "T010", '"int8"', "`int8` is not defined", "`T.int8`"),
    ("*A: T.float32", "T040", "A: T.float32", "`*args`", "by place or name"),
    ('A: T.Tensor((4,), "float32")', "T031", "T.Tensor", "not a function of T", "T.Buffer"),
    ('A: T.Buffer("float32", (4,))', "T032", 'T.Buffer("float32", (4,))', "the shape comes first", "(128,)"),
    ("A: T.Buffer(4, 4)", "T109", "4", "not an element type", "(4, 4)"),
    ('A: T.Buffer((4,), "flot32")', "T109", '"flot32"', "not an element type", "`float32`"),
    ('A: T.Buffer((4,), "float32", scop="local")', "T032", '"local"', "no `scop`", "`scope`"),
    ('A: T.Buffer((4,), "float32", "local")', "T032", '"local"', "it takes no `data`", "scope"),
    ('A: T.Buffer((4.0,), "float32")', "T207", "4.0", "a float, not an integer", "`//` gives an integer"),
    ('A: T.Buffer((m,), "float32")', "T010", "m", "`m` is not defined", '`"m"`'),
    ("A: T.Buffer()", "T032", "T.Buffer()", "needs a shape", "(128, 128)"),
    ("A: np.ndarray", "T010", "np", "functions of T", "T.Buffer"),
    ("n: T.int", "T031", "T.int", "not a function", "`T.int32`"),
    ("A: list", "T041", "list", "not a type of T", "T.Buffer"),
    ("A: float32[:]", "T010", "float32", "`float32` is not defined", "`T.float32`"),
    ("A: f64[:, :]", "T010", "f64", "`f64` is not defined", "`T.float64`"),
    ("A: T.float32[:]", "T207", "T.float32[:]", "a Python slice, not an integer", '`"n"`'),
    ('A: Buffer[(4, 4), "float32"]', "T010", "Buffer", "`Buffer` is not defined", "`T.Buffer`"),
    ('A: Tensor[Array, "n m"]', "T010", "Tensor", "`Tensor` is not defined", "a tensor is `T.Buffer("),
    ("A: npt.NDArray[np.float32]", "T010", "npt", "`npt` is not defined", "a tensor is `T.Buffer("),
    ("A: wp.array(dtype=float)", "T010", "wp", "`wp` is not defined", "a tensor is `T.Buffer("),
    ("A: T.Buffer((4,), f32)", "T010", "f32", "`f32` is not defined", "`T.float32`"),
]


@pytest.mark.parametrize(("params", "code", "text", "message", "hint"), SIGNATURES)
def test_signature(params: str, code: str, text: str, message: str, hint: str) -> None:
    found = one_mistake("pass", params)
    assert found.span is not None
    assert (found.code, found.span.text) == (code, text), str(found)
    assert message in found.message and hint in (found.hint or ""), str(found)


@pytest.mark.parametrize(
    ("dim", "message", "advice"),
    [
        ("None", "a dimension is `None`", 'has a name, as a string: `"n"`'),
        ("-1", "a dimension of the buffer `A` is -1", "one that is not known has a name"),
        ("-4", "a dimension of the buffer `A` is -4", "a dimension is 0 or more"),
    ],
)
def test_a_dimension_that_is_not_known_has_a_name(dim: str, message: str, advice: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(f"@T.prim_func\ndef f(A: T.Buffer(({dim}, 4), 'float32')):\n    A[0, 0] = 1.0\n")
    (found,) = caught.value.diagnostics
    assert message in found.message and (found.hint or "").endswith(advice)


@pytest.mark.parametrize("result", ['"float32"', "float32", "torch.float32", "list"])
def test_a_wrong_type_of_the_result_says_nothing_of_what_is_returned(result: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(f"{HEADER}@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')) -> {result}:\n    return A[0]\n")
    (found,) = caught.value.diagnostics
    assert found.code in ("T010", "T041") and found.span is not None and found.span.line == 5


@pytest.mark.parametrize(("kind", "way"), [("int", "int64"), ("float", "float32"), ("bool", "bool")])
def test_a_number_of_a_graph_is_told_by_its_kind(kind: str, way: str) -> None:
    text = HEADER + "@G.graph_func\ndef f(n: {}, x: G.Tensor((4,), 'float32')):\n    return x\n"
    with pytest.raises(DiagnosticError) as caught:
        parse(text.format(kind))
    (found,) = caught.value.diagnostics
    assert found.code == "T041" and f'`G.Prim("{way}")`' in str(found.hint)
    parse(text.format(f'G.Prim("{way}")'))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("T.int", "`T.int32`"),
        ("T.double", "`T.float64`"),
        ("T.tensor", "`T.Buffer((128, 128), "),
        ("T.Tensor", "`T.Buffer((128, 128), "),
        ("T.constexpr", "no parameter"),
        ("T.pointer", '`T.handle("float32")`'),
        ("T.ir_module", "`@I.ir_module`"),
        ("T.flaot32", "did you mean `T.float32`?"),
        ("G.Buffer", "did you mean `T.Buffer`?"),
        ("G.float32", "did you mean `T.float32`?"),
        ("I.prim_func", "did you mean `T.prim_func`?"),
    ],
)
def test_a_type_that_a_namespace_has_not_is_told_what_it_is_called_here(name: str, advice: str) -> None:
    from tirscript.script import graph, ir, tir

    letter, _, attribute = name.partition(".")
    with pytest.raises(AttributeError, match=re.escape(f"`{name}` does not exist; ")) as caught:
        getattr({"T": tir, "G": graph, "I": ir}[letter], attribute)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "annotation", "hint"),
    [
        ("T.prim_func", 'Buffer((4,), "float32")', "did you mean `T.Buffer`?"),
        ("T.prim_func", "handle", "did you mean `T.handle`?"),
        ("T.prim_func", 'T.Buffer((m,), "float32")', 'a symbolic dimension is a string: `"m"`'),
        ("G.graph_func", 'Tensor((4,), "float32")', "did you mean `G.Tensor`?"),
        ("G.graph_func", 'G.Tuple(Tensor((4,), "float32"))', "did you mean `G.Tensor`?"),
    ],
)
def test_a_type_without_its_namespace_is_no_symbolic_dimension(kind: str, annotation: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(f"{HEADER}@{kind}\ndef f(A: {annotation}):\n    return\n")
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].hint) == ("T010", hint)


@pytest.mark.parametrize(
    ("kind", "help"),
    [
        ("list[float]", 'a tensor is `T.Buffer((128, 128), "float32")`'),
        ("T.Pointer('float32')", '`T.handle("float32")` is a typed pointer'),
    ],
)
def test_a_type_as_others_write_it(kind: str, help: str) -> None:
    assert one_mistake("pass", f"A: {kind}").hint == help
