"""`tirscript ops --graph`."""

from __future__ import annotations

import json

from helpers.cli import run

from tirscript.ir.graph_ops import GRAPH_OPS


def test_it_lists_all() -> None:
    found = json.loads(run("ops", "--graph", "--json").output)
    assert [one["name"] for one in found] == sorted(GRAPH_OPS)
    assert run("ops", "--graph").output.endswith(f"\n{len(GRAPH_OPS)} operators\n")
    assert len(json.loads(run("ops", "--graph", "--json", "--foreign").output)) > len(found)


def test_one_entry_tells_how_it_is_called() -> None:
    (found,) = json.loads(run("ops", "--graph", "--json", "nn.softmax").output)
    assert found["signature"] == "G.nn.softmax(data, axis=-1)"
    assert found["values"] == ["data"] and found["attributes"] == ["axis"]
    assert found["kernel"] is True and found["fusion"] == "reduction"


def test_words_choose() -> None:
    shown = run("ops", "--graph", "R.cumsum").output
    assert "G.cumsum(data, axis=None, dtype=None, exclusive=False)" in shown
    assert "\n1 operator\n" in shown


def test_an_unknown_one() -> None:
    result = run("ops", "--graph", "cumsun")
    assert result.exit_code == 1 and "did you mean `cumsum`?" in result.stderr
