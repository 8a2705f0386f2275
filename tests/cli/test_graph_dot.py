"""`tirscript graph`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.cli import run

SOURCE = """
from tirscript.script import graph as G, ir as I, tir as T

@I.ir_module
class M:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @G.graph_func
    def inner(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
        y = G.call_tir(M.double, (x,), out=G.Tensor((4,), "float32"))
        return y

    @G.graph_func
    def main(a: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")) -> G.Tensor((4,), "float32"):
        b = M.inner(a)
        if c:
            d = G.add(b, a)
        else:
            d = G.call_dps_packed("lib.f", (b,), out=G.Tensor((4,), "float32"))
        t = (d, b)
        e = t[0]
        return e
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(SOURCE)
    return tmp_path / "model.py"


def test_nodes_and_edges(file: Path) -> None:
    inner, main = json.loads(run("graph", file, "--json").output)
    assert [(one["kind"], one["label"]) for one in inner["nodes"]] == [
        ("input", "x"),
        ("kernel", "double"),
        ("output", "result"),
    ]
    assert [(one["from"], one["to"]) for one in inner["edges"]] == [(0, 1), (1, 2)]
    labels = [one["label"] for one in main["nodes"]]
    assert labels == ["a", "c", "inner", "add", "lib.f", "if", "t", "item 0", "result"]
    drawn = [(labels[one["from"]], labels[one["to"]]) for one in main["edges"]]
    assert ("a", "inner") in drawn and ("c", "if") in drawn and ("add", "if") in drawn and ("lib.f", "if") in drawn
    assert drawn[-3:] == [("inner", "t"), ("t", "item 0"), ("item 0", "result")]


def test_dot(file: Path) -> None:
    shown = run("graph", file, "--dot").output
    assert shown == run("graph", file).output
    assert shown.startswith("digraph {") and shown.count("subgraph cluster_") == 2
    assert 'f0_0 -> f0_1 [label="float32[4]"]' in shown
    assert 'f1_1 -> f1_5 [label="condition\\nbool[]"]' in shown
    assert "f1_2 -> f0_0 [style=dashed, lhead=cluster_0]" in shown
    assert shown.count("{") == shown.count("}")


def test_calls_in_calls_tell_what_they_give(file: Path) -> None:
    nested = SOURCE.replace("G.add(b, a)", "G.add(M.inner(G.exp(b)), a)")
    file.write_text(nested)
    _, main = json.loads(run("graph", f"{file}:M", "--json").output)
    labels = [one["label"] for one in main["nodes"]]
    told = {(labels[one["from"]], labels[one["to"]]): one["label"] for one in main["edges"]}
    assert told["exp", "inner"] == told["inner", "add"] == "float32[4]"
    assert told["c", "if"] == "bool[]"


def test_mistakes(file: Path) -> None:
    assert run("graph", file, "--dot", "--json").exit_code == 2
    file.write_text(SOURCE[: SOURCE.index("    @G.graph_func")])
    result = run("graph", file)
    assert result.exit_code == 1 and "has no graph function" in result.stderr


def test_one_function_by_its_name(file: Path) -> None:
    (only,) = json.loads(run("graph", f"{file}:inner", "--json").output)
    assert only["function"] == "inner"
