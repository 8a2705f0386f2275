"""Layouts on the edges of graphs: in drawings, for Graphviz, and on the viewer's page."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import browser as browsers
from helpers.browser import Viewer, until, write
from helpers.cli import run
from helpers.viewer import render

from tirscript.cli.drawing import Drawing
from tirscript.ir import Module
from tirscript.passes import Sequential
from tirscript.script import parse

MISSING = browsers.missing()
PASSES = "lift_layout_blocks,reflow_layouts"
KERNEL = """
    @T.prim_func(private=True)
    def grow(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        A_packed = T.alloc_buffer((4, 4), "float32")
        B_packed = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("A_pad"):
                v0, v1 = T.axis.remap("SS", [i, j])
                T.block_attr({"preproc": "pad"})
                A_packed[v0, v1] = A[v0 * 4 + v1] if v0 * 4 + v1 < 14 else 0.0
        for i, j in T.grid(4, 4):
            with T.block("grow"):
                v0, v1 = T.axis.remap("SS", [i, j])
                B_packed[v0, v1] = A_packed[v0, v1] * 2.0
        for i in range(14):
            with T.block("B_crop"):
                v0 = T.axis.spatial(14, i)
                T.block_attr({"postproc": ["crop", 0.0]})
                B[v0] = B_packed[v0 // 4, v0 % 4]
"""
SOURCE = f"""from tirscript.script import graph as G, ir as I, tir as T


@I.ir_module
class Model:
    @G.graph_func
    def main(x: G.Tensor((14,), "float32")):
        cls = Model
        with G.dataflow():
            a = G.call_tir(cls.grow, (x,))
            b = G.call_tir(cls.addone, (a,))
            e = G.call_tir(cls.exp, (b,))
            c = G.call_tir(cls.grow, (e,))
            G.output(c)
        return c
{KERNEL}
    @T.prim_func(private=True)
    def addone(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(14):
            B[i] = A[i] + 1.0

    @T.prim_func(private=True)
    def exp(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(14):
            B[i] = T.exp(A[i])
"""
TILES = "[i] -> [i//4, i%4]"


def labels(module: Module) -> list[tuple[str, str]]:
    made = Drawing(module["main"], module)
    return [(made.nodes[edge["from"]]["label"], edge["label"]) for edge in made.edges]


@pytest.fixture(scope="module")
def reflowed() -> Module:
    made = Sequential.parse(PASSES)(parse(SOURCE))
    assert isinstance(made, Module)
    return made


def test_plain_values_say_nothing_of_layouts() -> None:
    assert {label for _, label in labels(parse(SOURCE))} == {"float32[14]"}


def test_each_value_tells_its_map_and_what_is_in_the_padding(reflowed: Module) -> None:
    assert labels(reflowed) == [
        ("x", "float32[14]"),
        ("grow_pad_A", f"float32[4, 4]\n{TILES}, pad 0"),
        ("grow_packed", f"float32[4, 4]\n{TILES}, pad 0"),
        ("addone_packed", f"float32[4, 4]\n{TILES}, pad 1"),
        ("exp_packed", f"float32[4, 4]\n{TILES}, padded"),  # exp(1) has digits that are not worked out here
        ("grow_packed", f"float32[4, 4]\n{TILES}, padded"),
        ("crop", "float32[14]"),
    ]


def test_a_module_that_was_read_back_tells_the_same(reflowed: Module) -> None:
    again = parse(reflowed.script())
    assert labels(again) == labels(reflowed)


def test_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SOURCE)
    after = run("opt", tmp_path / "model.py", "--passes", PASSES).output
    (tmp_path / "after.py").write_text(after)
    shown = run("graph", tmp_path / "after.py", "--dot").output
    assert f'[label="float32[4, 4]\\n{TILES}, pad 1"]' in shown
    assert TILES not in run("graph", tmp_path / "model.py", "--dot").output


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pages"), "model", render(SOURCE, passes=PASSES, compiled=False))


@pytest.mark.skipif(MISSING is not None, reason=f"no browser: {MISSING}")
def test_before_and_after_in_a_browser(page, tmp_path):
    with browsers.browser(tmp_path) as driver:
        viewer = Viewer(driver, page, "#f=0")
        viewer.open("reflow_layouts")
        left, right = viewer.texts(".pane.left .label"), viewer.texts(".pane.right .label")
        assert left.count("float32[14]") == 5 and left.count(f"{TILES}, pad 0") == 4
        assert right.count("float32[14]") == 2 and right.count(f"{TILES}, pad 1") == 1
        assert right.count(f"{TILES}, padded") == 2 and viewer.texts(".pane.right .node.added .title") != []
        (box,) = [one for one in viewer.all(".pane.right .node .title") if one.text == "addone_packed"]
        box.click()
        until(lambda: "b_packed" in viewer.one("#places").text, "its places")
        viewer.press("/")
        viewer.press("addone")
        until(lambda: viewer.all(".node.found"), "found on both sides")
        assert sorted(viewer.texts(".node.found .title")) == ["addone", "addone_packed"]
        assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
