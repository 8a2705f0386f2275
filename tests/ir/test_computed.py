"""Element types that are kept: read, printed and compared, and refused where the program is run."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, Module, PrimFunc, structural_equal
from tirscript.ir.dtype import KEPT, dtype
from tirscript.ir.graph import GraphFunc
from tirscript.passes import get_pass
from tirscript.script import parse

OURS, THEIRS = "from tirscript.script import tir as T", "from tvm.script import tirx as T"
CAST = {OURS: 'T.cast(T.float32(1.5), "{0}")', THEIRS: 'T.Cast("{0}", T.float32(1.5))'}
KERNEL = """{1}

@T.prim_func
def f(A: T.Buffer((16,), "{0}"), x: T.{0}, C: T.Buffer((4,), "{0}x4")):
    A[0] = T.{0}(1)
    A[1] = {2}
    if A[0] < A[1]:
        A[2] = T.max(A[2], x) * A[3]
    A[3] = T.max_value("{0}")
    C[0] = C[1]
"""


@pytest.mark.parametrize("header", [OURS, THEIRS])
@pytest.mark.parametrize("name", KEPT)
def test_they_are_read_and_printed(name: str, header: str) -> None:
    made = parse(KERNEL.format(name, header, CAST[header].format(name)))
    for choices in ({}, {"dialect": "tvm"}):
        text = made.script(**choices)  # type: ignore[arg-type]
        again = parse(text)
        assert structural_equal(again, made) and again.script(**choices) == text  # type: ignore[arg-type]


@pytest.mark.parametrize("name", KEPT)
def test_they_are_those_of_ml_dtypes(name: str) -> None:
    kind = dtype(name)
    assert kind is dtype(getattr(ml_dtypes, name)) and kind.is_kept and dtype(f"{name}x4").is_kept
    assert (kind.is_int, kind.is_float) == ("int" in name, "float" in name)
    if kind.is_int:
        assert kind.int_range() == (ml_dtypes.iinfo(name).min, ml_dtypes.iinfo(name).max)
    for limit in ("min", "max"):
        kernel = f'{OURS}\n@T.prim_func\ndef f(A: T.Buffer((1,), "{name}")):\n    A[0] = T.{limit}_value("{name}")\n'
        known: Any = (ml_dtypes.iinfo if kind.is_int else ml_dtypes.finfo)(name)
        assert parse(kernel).body[0].value.value == float(getattr(known, limit))


def test_their_literals_have_to_fit() -> None:
    kernel = f'{OURS}\n@T.prim_func\ndef f(A: T.Buffer((1,), "int4")):\n    A[0] = 8\n'
    with pytest.raises(DiagnosticError, match="T103"):
        parse(kernel)


def test_running_them_is_refused() -> None:
    made = parse(KERNEL.format("int4", OURS, "A[2]"))
    values = np.zeros(16, np.int8)
    with pytest.raises(DiagnosticError, match=r"T308.*values of int4") as caught:
        tirscript.interpret(made, values, 1, values)
    assert caught.value.diagnostics[0].span is not None
    for target in ("llvm", "c"):
        with pytest.raises(DiagnosticError, match=r"T402.*values of int4"):
            tirscript.build(made, target=target)


GRAPH = """from tirscript.script import graph as G

@G.graph_func
def main(x: G.Tensor((4,), "float32"), w: G.Tensor((4,), "float4_e2m1fn")):
    y = G.astype(x, "float8_e4m3fnuz")
    z = G.add(w, w)
    return (y, z)
"""


def test_graphs_hold_them() -> None:
    made = parse(GRAPH)
    assert structural_equal(parse(made.script()), made) and structural_equal(parse(made.script(dialect="tvm")), made)
    for run in (lambda: tirscript.build(made), lambda: tirscript.interpret(made, np.zeros(4, np.float32), np.zeros(4))):
        with pytest.raises(DiagnosticError) as caught:
            run()
        found = caught.value.diagnostics
        assert [one.message.split()[2] for one in found] == ["float4_e2m1fn", "float8_e4m3fnuz"]
        assert all(one.span is not None for one in found)


def test_constants_have_no_data() -> None:
    with pytest.raises(DiagnosticError, match=r"T109.*constants of int4 have no data"):
        tirscript.constant(np.array([1], ml_dtypes.int4))
    with pytest.raises(DiagnosticError, match=r"T109.*constants of int4 have no data") as caught:
        parse(GRAPH.replace("G.add(w, w)", 'G.const([1], "int4")'))
    assert caught.value.diagnostics[0].span is not None


def test_passes_keep_them() -> None:
    graph = parse(GRAPH.replace("G.add(w, w)", 'G.zeros((4,), "int4")'))
    assert isinstance(graph, GraphFunc)
    assert structural_equal(get_pass("fold_graph_constant")(Module((graph,))).functions[0], graph)
    kernel = parse(KERNEL.format("uint2", OURS, "A[2]"))
    assert isinstance(kernel, PrimFunc) and '"uint2"' in get_pass("simplify")(kernel).script()
