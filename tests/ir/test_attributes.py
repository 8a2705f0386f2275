"""The attributes of functions that mean something to all parts."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, verify
from tirscript.ir.node import Attrs
from tirscript.ir.span import Span
from tirscript.ir.written import noalias
from tirscript.script import parse

SHIFT = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((7,), "int32")):
    T.func_attr({attrs})
    for i in range(7):
        A[i + 1] = B[i]
"""


@pytest.mark.parametrize("value", ["False", "0", "T.bool(False)", "T.int32(0)"])
@pytest.mark.parametrize("prefix", ["", "tir.", "tirx."])
def test_arguments_may_overlap_however_false_is_written(value: str, prefix: str) -> None:
    """All but the plain False was taken for a promise."""
    func = parse(SHIFT.replace("{attrs}", f'{{"{prefix}noalias": {value}}}'))
    assert not noalias(func)
    for run in (tirscript.build(func), lambda *args: tirscript.interpret(func, *args)):
        array = np.arange(8, dtype="int32")
        run(array, array[:7])
        assert not array.any()


@pytest.mark.parametrize("value", ["True", "1", "T.bool(True)"])
def test_a_promise_is_one_however_true_is_written(value: str) -> None:
    func = parse(SHIFT.replace("{attrs}", f'{{"tir.noalias": {value}}}'))
    array = np.arange(8, dtype="int32")
    with pytest.raises(DiagnosticError, match="T305"):
        tirscript.build(func)(array, array[:7])


@pytest.mark.parametrize(
    ("attrs", "place", "why"),
    [
        ('{"global_symbol": 3}', "3", "the attribute `global_symbol`: it is the name of the function"),
        ('{"a": 3, "global_symbol": ""}', '""', "the attribute `global_symbol`: it is the name of the function"),
        ('{"noalias": None}', "None", "the attribute `noalias`: it is True or False"),
        ('{"tir.noalias": "no"}', '"no"', "the attribute `tir.noalias`: it is True or False"),
        ('{**{"global_symbol": 3}}', '{**{"global_symbol": 3}}', "the attribute `global_symbol`"),
    ],
)
@pytest.mark.parametrize("graph", [False, True], ids=["tensor", "graph"])
def test_what_they_cannot_be_is_told_at_the_value(attrs: str, place: str, why: str, graph: bool) -> None:
    text = SHIFT.replace("{attrs}", attrs)
    if graph:
        text = f'@G.graph_func\ndef f(x: G.Tensor((4,), "int8")):\n    G.func_attr({attrs})\n    return x\n'
    with pytest.raises(DiagnosticError, match=why) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    span = found.labels[0].span
    assert isinstance(span, Span) and found.hint
    assert text.split("\n")[span.line - 1][span.column : span.end] == place


def test_the_verifier_tells_it_of_programs_that_no_text_was() -> None:
    func = parse(SHIFT.replace("{attrs}", "{}")).replace(attrs=Attrs({"global_symbol": 3}))
    graph = parse('@G.graph_func\ndef f(x: G.Tensor((4,), "int8")):\n    return x\n')
    for program, name in ((func, "global_symbol"), (graph.replace(attrs=Attrs({"noalias": "x"})), "noalias")):
        (found,) = verify(program)
        assert found.code == "T210" and f"attribute `{name}` of the function" in found.message and found.hint
