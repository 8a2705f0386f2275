"""`tirscript run` and `bench` of graph functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
from helpers.cli import run

SOURCE = """
from tirscript.script import graph as G, ir as I, tir as T

@I.ir_module
class M:
    @T.prim_func(private=True)
    def double(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
        for i in range(n):
            B[i] = A[i] * T.float32(2)

    @G.graph_func
    def main(x: G.Tensor(("n",), "float32"), y: G.Tensor(("n",), "float32")):
        with G.dataflow():
            d = G.call_tir(M.double, (x,), out=G.Tensor((n,), "float32"))
            out = G.add(d, y)
            G.output(out)
        return out

    @G.graph_func
    def several(
        pair: G.Tuple(G.Tensor((2,), "float32"), G.Tensor((2,), "int64")), shape: G.Shape(["a", 2]), k: G.Prim("int64")
    ):
        a = T.int64()
        with G.dataflow():
            first = pair[0]
            wide = G.broadcast_to(first, (a, 2))
            both = (wide, pair[1])
            G.output(both)
        return (both, G.prim_value(k + 1))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(SOURCE)
    return tmp_path / "model.py"


def report(*arguments: object) -> Any:
    result = run("run", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_what_a_graph_function_gives(file: Path, tmp_path: Path) -> None:
    x, y = np.arange(3, dtype="float32"), np.ones(3, "float32")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    output = tmp_path / "out.npy"
    result = run("run", file, "--input", tmp_path / "x.npy", "--input", f"y={tmp_path / 'y.npy'}", "--output", output)
    assert result.exit_code == 0, result.stderr
    np.testing.assert_array_equal(np.load(output), 2 * x + y)
    assert "result: float32 (3,), written: 1 to 5, mean 3\n" in result.stdout


def test_random_numbers_and_both_ways_of_running(file: Path) -> None:
    found = report(file, "--random", "--check", "--size", "n=5")
    assert found["function"] == "main" and found["check"]["same"]
    assert [(one["name"], one["shape"]) for one in found["parameters"]] == [("x", [5]), ("y", [5]), ("result", [5])]


@pytest.mark.parametrize("way", [[], ["--interpret"]])
def test_tuples_shapes_and_numbers(file: Path, way: list[str]) -> None:
    found = report(f"{file}:several", "--random", "--size", "a=3", "--set", "k=4", *way)
    shapes = {one["name"]: one.get("shape", one.get("value")) for one in found["parameters"]}
    assert shapes["k"] == 4 and shapes["result_0"] == [3, 2] and shapes["result_1"] == [2]
    assert next(one for one in found["parameters"] if one["name"] == "result_2")["max"] == 5


def test_mistakes(file: Path) -> None:
    result = run("run", file)
    assert result.exit_code == 1 and "no value is given for `x`, `y` of `main`" in result.stderr
    result = run("run", f"{file}:mian", "--random")
    assert "did you mean `M.main`?" in result.stderr


def test_bench(file: Path) -> None:
    result = run("bench", file, "--size", "n=8", "--rounds", 3, "--against", "interpreter", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["bytes"] == 3 * 8 * 4 and len(found["results"]) == 2


def test_bench_refuses_what_computes_something_else(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(SOURCE.replace("T.float32(2)", "T.float32(3)"))
    result = run("bench", file, "--size", "n=8", "--rounds", 3, "--against", other)
    assert result.exit_code == 1 and "does not compute what `main` computes" in result.stderr


@pytest.mark.parametrize("module", [True, False], ids=["module", "function"])
def test_build_compiles_graph_functions(file: Path, tmp_path: Path, module: bool) -> None:
    text = SOURCE
    if not module:
        text = (
            "from tirscript.script import graph as G\n\n\n@G.graph_func\n"
            'def main(x: G.Tensor(("n",), "float32")):\n    y = G.nn.relu(x)\n    return y\n'
        )
    file.write_text(text)
    (program,) = json.loads(run("build", "--json", file).stdout)["programs"]
    assert program["entry_points"][0]["name"] == "main"
    assert "def main(" in run("build", file, "--emit", "ir").stdout
    assert "define" in run("build", file, "--emit", "llvm").stdout
    refused = run("build", file, "--passes", "lower_blocks")
    assert refused.exit_code == 1 and "the passes leave graph functions" in refused.stderr


def test_a_module_stands_for_its_main_function(file: Path) -> None:
    both = ("--random", "--size", "n=3")
    assert report(f"{file}:M", *both) == {**report(f"{file}:M.main", *both), "seconds": ANY}
    assert run("bench", f"{file}:M", "--rounds", "3", "--against", f"{file}:M.main").exit_code == 0
    file.write_text(SOURCE.replace("def main", "def first"))
    result = run("run", f"{file}:M", "--random")
    assert result.stderr.splitlines() == [
        f"error[T307]: `M` of {file} has 2 functions: M.first, M.several",
        f"  = help: name one: {file}:M.first",
    ]
    told = run("run", f"{file}:N", "--random").stderr
    assert "has no function or module `N`\n  = help: it has M, M.double, M.first, M.several\n" in told
