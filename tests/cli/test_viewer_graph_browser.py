"""Drawings of graph functions on the viewer's page, in a real browser."""

from __future__ import annotations

import pytest
from helpers import browser as browsers
from helpers.browser import Viewer, until, write
from helpers.viewer import render

from tirscript.passes.graph import GRAPH_LOWERING

MISSING = browsers.missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=f"no browser: {MISSING}")

SOURCE = """from tirscript.script import graph as G, ir as I


@I.ir_module
class Model:
    @G.graph_func
    def main(x: G.Tensor((4, 8), "float32"), w: G.Tensor((8, 8), "float32")):
        with G.dataflow():
            product = G.matmul(x, w)
            unused = G.exp(x)
            shifted = G.add(product, G.const(1.0, "float32"))
            y = G.nn.relu(shifted)
            total = G.add(y, x)
            G.output(total)
        return total
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with browsers.browser(tmp_path_factory.mktemp("browser")) as found:
        yield found
        assert [entry for entry in found.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pages"), "model", render(SOURCE, passes=str(GRAPH_LOWERING), compiled=False))


@pytest.fixture
def viewer(driver, model):
    viewer = Viewer(driver, model)
    viewer.open("legalize_ops")
    return viewer


def titles(viewer, side, kind=""):
    return viewer.texts(f".pane.{side} .node{kind} .title")


def node(viewer, side, name):
    """The title of a node, by the name of its variable."""
    boxes = viewer.all(f".pane.{side} .node")
    texts = [[part.text for part in one.find_elements("css selector", ".name, .title")] for one in boxes]
    found = [one for one, words in zip(boxes, texts, strict=True) if name in words]
    return found[0].find_element("css selector", ".title")


def test_operators_become_kernels(viewer):
    assert sorted(titles(viewer, "left", ".operator")) == ["add", "add", "exp", "matmul", "nn.relu"]
    assert sorted(titles(viewer, "right", ".kernel")) == ["add", "add_1", "exp", "matmul", "relu"]
    assert "float32[4, 8]" in viewer.texts(".pane.left .label") and not viewer.all(".pane.left .row")
    assert "const float32[]" in viewer.texts(".pane.left .detail")
    assert not viewer.all(".node.removed") and len(viewer.all(".pane.right .node.changed")) == 5


def test_what_a_pass_takes_away_and_puts_in(viewer):
    viewer.open("dead_code_elimination")
    assert titles(viewer, "left", ".removed") == ["exp"] and titles(viewer, "right", ".added") == []
    viewer.open("fuse_tir")
    assert titles(viewer, "right", ".kernel") == ["fused_matmul_add_relu_add_1"]
    viewer.open("graph_to_tensor")
    assert any("fused_matmul_add_relu_add_1" in line for line in viewer.lines("right").values()), "no graph any more"
    assert titles(viewer, "left", ".kernel")


def test_boxes_and_edges_are_where_they_can_be_seen(viewer):
    boxes = viewer.run(
        "return [...document.querySelectorAll('.pane.left .node rect:not(.behind)')].map((one) => {"
        " const box = one.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; })"
    )
    pane = viewer.run(
        "const b = viewer.left.scroller.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]"
    )
    assert len(boxes) == 8 and all(pane[0] <= box[0] and box[2] <= pane[2] and pane[1] <= box[1] for box in boxes)
    texts = viewer.run(
        "return [...document.querySelectorAll('.pane.left .node .title')].every((one) => {"
        " const text = one.getBoundingClientRect(), box = one.parentNode.querySelector('rect').getBoundingClientRect();"
        " return box.left <= text.left && text.right <= box.right; })"
    )
    assert texts, "titles are inside of their boxes"
    assert len(viewer.all(".pane.left .edge")) == 8


def test_a_click_marks_a_value_on_both_sides(viewer):
    node(viewer, "left", "y").click()
    picked = viewer.texts(".node.picked .title")
    assert picked == ["nn.relu", "relu"] and len(viewer.all(".pane.left .edge.picked")) == 2
    assert viewer.texts("#places .what") == ["y = nn.relu"]
    assert [one.text.split("\n")[0] for one in viewer.all("#places button")] == ["sourceline 12", "textline 9"]
    node(viewer, "left", "y").click()
    assert viewer.texts(".node.picked .title") == []
    node(viewer, "right", "y").click()
    until(lambda: viewer.texts(".node.picked .title"), "marks")
    viewer.press("\ue00c")
    until(lambda: not viewer.texts(".node.picked .title"), "Escape takes them away")


def test_from_a_kernel_to_its_function_and_to_the_text(viewer):
    node(viewer, "right", "y").click()
    viewer.all("#places button")[0].click()
    viewer.settled(lambda: viewer.run("return viewer.func.name") == "Model.relu", "the function")
    viewer.press("[")
    viewer.press("[")
    viewer.settled(lambda: viewer.run("return viewer.func.name") == "Model.exp", "functions before it")
    viewer.run("return viewer.pickFunction(0)")
    viewer.settled(lambda: viewer.run("return viewer.func.name") == "Model.main", "main")
    viewer.open("legalize_ops")
    node(viewer, "left", "y").click()
    viewer.all("#places button")[-1].click()
    until(lambda: any(line.strip().startswith("y: ") for line in viewer.lines("left", ".linked").values()), "its line")
    assert not viewer.all(".node"), "both sides are texts now"
    viewer.press("g")
    until(lambda: viewer.all(".node"), "drawings again")


def test_drawing_or_text(viewer):
    button = viewer.one("#drawn")
    assert button.text == "text"
    button.click()
    assert viewer.lines("left") and viewer.lines("right", ".changed") and not viewer.all(".node")
    assert viewer.driver.current_url.endswith("&text=1")
    viewer.hover(viewer.name("left", "product"))
    tip = until(lambda: viewer.one("#tip").is_displayed() and viewer.one("#tip").text, "what is known of product")
    assert "float32[4, 8]" in tip and "value of G.matmul" in tip and "128 bytes" in tip
    again = Viewer(viewer.driver, *_parted(viewer.driver.current_url))
    assert again.lines("left") and not again.all(".node")
    again.press("g")
    until(lambda: again.all(".node"), "drawings")


def _parted(address):
    from pathlib import Path

    path, _, anchor = address.removeprefix("file://").partition("#")
    return Path(path), f"#{anchor}"


def test_searching_a_drawing(viewer):
    viewer.press("/")
    viewer.press("relu")
    until(lambda: viewer.one("#hits").text == "1 of 2", "hits on both sides")
    assert viewer.texts(".node.current .title") == ["nn.relu"]
    viewer.one("#query").send_keys("\n")
    assert viewer.texts(".node.current .title") == ["relu"] and len(viewer.all(".node.found")) == 2
    viewer.press("\ue00c")
    assert not viewer.all(".node.found")


def test_zooming(viewer):
    def width():
        return viewer.run("return viewer.left.picture.element.getBoundingClientRect().width")

    first = width()
    viewer.one(".pane.left .zooms button:last-child").click()
    larger = width()
    viewer.one(".pane.left .zooms button:first-child").click()
    viewer.one(".pane.left .zooms button:first-child").click()
    assert larger > first > width()


@pytest.mark.parametrize(("anchor", "at"), [("", 1), ("#f=0", 0), ("#f=1", 1), ("#f=-1", 0), ("#f=99", 0), ("#f=x", 0)])
def test_a_page_opens_on_the_main_function(driver, tmp_path, anchor, at):
    kernel = (
        '    @T.prim_func(private=True)\n    def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
        "        for i in range(4):\n            B[i] = A[i]\n\n"
    )
    text = SOURCE.replace("ir as I", "ir as I, tir as T").replace("    @G.graph_func", f"{kernel}    @G.graph_func")
    page = write(tmp_path, "both", render(text, passes="legalize_ops", compiled=False))
    viewer = Viewer(driver, page, anchor)
    assert viewer.run("return viewer.at") == at
    assert viewer.one("#functions").get_attribute("value") == str(at)
