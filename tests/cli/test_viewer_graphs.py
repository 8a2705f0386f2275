"""What the viewer knows of graph functions: nodes and edges with their places, and what stands on them."""

from __future__ import annotations

import itertools

import pytest
from helpers.viewer import make
from hypothesis import given
from hypothesis import strategies as st

from tirscript.cli import drawing
from tirscript.cli.viewer import layered
from tirscript.passes import DEFAULT_LOWERING, Sequential
from tirscript.passes.graph import GRAPH_LOWERING
from tirscript.script import parse_python

BLOCK = """from tirscript.script import graph as G, ir as I


@I.ir_module
class Model:
    @G.graph_func
    def main(
        x: G.Tensor((1, 4, 8, 8), "float32"), w: G.Tensor((4, 4, 3, 3), "float32"), flag: G.Tensor((), "bool")
    ):
        with G.dataflow():
            conv = G.nn.conv2d(x, w, padding=1)
            scaled = G.multiply(conv, G.const(2.0, "float32"))
            inner = G.nn.relu(scaled)
            total = G.add(inner, x)
            flat = G.reshape(total, (4, 64))
            G.output(flat)
        if flag:
            out = G.nn.relu(flat)
        else:
            out = flat
        return out
"""
WHOLE = str(Sequential([GRAPH_LOWERING, DEFAULT_LOWERING]))


def drawn(page, stage, name="Model.main"):
    """The drawing of a function, and its nodes by what they are called."""
    found = page.listing(name, stage)["drawing"]
    return found, {node["name"] or node["title"]: node for node in found["nodes"]}


@pytest.fixture(scope="module")
def page():
    return make(BLOCK, passes=WHOLE)


def stage_after(page, name):
    return [one["name"] for one in page.manifest["passes"]].index(name)


def test_a_kernel_beside_a_module_of_graphs():
    text = BLOCK.replace("I\n", "I, tir as T\n", 1)
    found = make(
        f'{text}\n\n@T.prim_func\ndef halve(A: T.Buffer((8,), "float32")):\n    for i in range(8):\n        A[i] *= 0.5\n',
        passes=WHOLE,
        compiled=True,
    )
    assert found.listing("halve", 0)["text"].startswith("@T.prim_func\ndef halve(")
    assert found.function("halve")["code"] and not found.function("halve")["problem"]
    assert found.function("Model.main")["code"]


def test_nodes_and_what_stands_in_them(page):
    found, nodes = drawn(page, 0)
    assert nodes["conv"]["title"] == "nn.conv2d" and "padding=[1, 1, 1, 1]" in nodes["conv"]["details"]
    assert nodes["scaled"]["details"] == ["const float32[]"], "constants stand in what takes them"
    assert nodes["flat"]["details"] == ["[4, 64]"], "and so do shapes"
    assert nodes["conv"]["label"] == ["float32[1, 4, 8, 8]"] and nodes["flat"]["label"] == ["float32[4, 64]"]
    assert nodes["x"]["kind"] == "input" and nodes["result"]["kind"] == "output"
    number = {id(node): at for at, node in enumerate(found["nodes"])}
    edges = {(edge["from"], edge["to"], edge["role"]) for edge in found["edges"]}
    assert (number[id(nodes["x"])], number[id(nodes["total"])], "") in edges
    branch = next(node for node in found["nodes"] if node["kind"] == "if")
    roles = {(found["nodes"][edge["from"]]["title"], edge["role"]) for edge in found["edges"] if edge["role"]}
    assert roles == {("flag", "condition"), ("nn.relu", "then"), ("reshape", "else")}
    assert branch["name"] == "out"


def test_nothing_lies_on_anything_else(page):
    found, _ = drawn(page, 0)
    boxes = [
        (node["x"] - node["w"] / 2, node["y"], node["x"] + node["w"] / 2, node["y"] + node["h"])
        for node in found["nodes"]
    ]
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1], (one, other)
    for edge in found["edges"]:
        assert found["nodes"][edge["from"]]["y"] < found["nodes"][edge["to"]]["y"]


def test_a_value_that_a_pass_keeps_has_its_number_before_and_after_it(page):
    _, before = drawn(page, stage_after(page, "annotate_pattern"))
    after, nodes = drawn(page, stage_after(page, "fuse_tir"))
    kernels = [node for node in after["nodes"] if node["kind"] == "kernel"]
    assert [(node["title"], node["key"]) for node in kernels][:2] == [
        ("conv2d", before["conv"]["key"]),
        ("fused_multiply_relu_add_reshape", before["flat"]["key"]),
    ]
    assert before["inner"]["key"] not in [node["key"] for node in after["nodes"]]
    assert nodes["x"]["key"] == before["x"]["key"]
    assert any(one["name"] == f"Model.{kernels[0]['calls']}" for one in page.manifest["functions"])


def test_the_text_and_its_names_are_there_as_well(page):
    listing = page.listing("Model.main", 0)
    lines = listing["text"].split("\n")
    _, nodes = drawn(page, 0)
    assert lines[nodes["inner"]["line"]].strip().startswith("inner: ")
    assert BLOCK.split("\n")[listing["source"][nodes["inner"]["line"]] - 1].strip() == "inner = G.nn.relu(scaled)"
    known = {name: (kind, type_, facts) for name, kind, type_, facts in listing["symbols"]}
    assert known["x"] == ("parameter", "float32[1, 4, 8, 8]", ["1,024 bytes"])
    assert known["flat"] == ("value of G.reshape", "float32[4, 64]", ["1,024 bytes", "seen behind its dataflow"])
    last = page.function("Model.main")["stages"][-1]
    assert "drawing" not in page.value(last), "it is a tensor function in the end"


def test_passes_that_leave_graph_functions_leave_no_code():
    page = make(BLOCK, passes="legalize_ops", compiled=True)
    assert "The passes leave graph functions: main." in page.function("Model.main")["problem"]


def test_a_function_without_a_module():
    body = BLOCK[BLOCK.index("    @G.graph_func") :]
    alone = "from tirscript.script import graph as G\n\n\n" + "\n".join(line[4:] for line in body.split("\n"))
    page = make(alone, passes="legalize_ops")
    names = [one["name"] for one in page.manifest["functions"]]
    assert names == ["main", "conv2d", "multiply", "relu", "add", "reshape", "relu_1"]
    assert "call_tir(main.conv2d" in page.listing("main", 1)["text"]


def test_what_is_needed_far_below_is_referred_to():
    steps = "\n".join(f"    y{at + 1} = G.nn.relu(y{at})" for at in range(layered.LONGEST + 3))
    source = (
        "from tirscript.script import graph as G\n\n\n@G.graph_func\n"
        'def main(x: G.Tensor((4,), "float32")):\n'
        f"    y0 = G.exp(x)\n{steps}\n    return G.add(y0, y{layered.LONGEST + 3})\n"
    )
    found, nodes = drawn(make(source, passes=""), 0, "main")
    (reference,) = [node for node in found["nodes"] if node["kind"] == "reference"]
    assert reference["title"] == "↑ y0" and reference["key"] == nodes["y0"]["key"]
    longest = max(len(edge["path"]) for edge in found["edges"])
    assert longest == 1, "no edge passes a layer any more"


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(1, 15)), max_size=30), st.data())
def test_places_of_any_graph(pairs, data):
    edges = [(start, start + step) for start, step in pairs if start + step < 16]
    sizes = [(data.draw(st.integers(10, 300)), 30) for _ in range(16)]
    found = layered.layout(sizes, edges)
    assert len(found.places) == 16 and len(found.paths) == len(edges)
    for start, stop in edges:
        assert found.places[start][1] < found.places[stop][1]
    rows = {}
    for (x, y), (width, _) in zip(found.places, sizes, strict=True):
        assert -0.01 <= x - width / 2 and x + width / 2 <= found.width + 0.01
        rows.setdefault(y, []).append((x - width / 2, x + width / 2))
    for row in rows.values():
        row.sort()
        assert all(b[0] - a[1] >= layered.GAP - 0.01 for a, b in itertools.pairwise(row))


def test_two_edges_that_need_not_cross_do_not():
    found = layered.layout([(20, 20)] * 4, [(0, 3), (1, 2)])
    assert (found.places[0][0] < found.places[1][0]) == (found.places[3][0] < found.places[2][0])


def test_a_line_of_ones_own_on_the_edges(monkeypatch):
    module = parse_python(BLOCK)["Model"]

    def bytes_of(func, module, value):
        return "one of main" if func.name == "main" and getattr(value, "name", "") == "inner" else None

    monkeypatch.setattr(drawing, "EDGE_LABELS", [*drawing.EDGE_LABELS, bytes_of])
    made = drawing.Drawing(module["main"], module)
    labels = {made.nodes[edge["from"]]["label"]: edge["label"] for edge in made.edges}
    assert labels["nn.conv2d"] == "float32[1, 4, 8, 8]"
    assert "float32[1, 4, 8, 8]\none of main" in [edge["label"] for edge in made.edges]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('G.Tensor(("n + 1", 4), "float32")', "float32[n + 1, 4]"),
        ('G.Tensor(ndim=2, dtype="int8")', "int8[?, ?]"),
        ("G.Tensor", "?[…]"),
        ('G.Tuple(G.Tensor((), "bool"), G.Shape([1, 2]))', "(bool[], shape[1, 2])"),
        ('G.Prim("int64")', "int64"),
        ("G.Object", "object"),
    ],
)
def test_types_in_few_words(text, words):
    names = "n: G.Prim('int64'), " if "n +" in text else ""
    source = f"from tirscript.script import graph as G\n\n\n@G.graph_func\ndef f({names}x: {text}):\n    return x\n"
    (func,) = parse_python(source).values()
    assert drawing.type_words(func.params[-1].type) == words
