"""Graph functions as the page needs them: the drawing with its places, and what is known of the variables."""

from __future__ import annotations

from typing import Any

from tirscript.ir import GraphFunc, Module, Var, walk
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphIf,
    GraphVar,
    MatchCast,
    OpCall,
    TensorType,
)

from ..drawing import Drawing, type_words
from .facts import Symbol, Words
from .layered import cut, layout

# pixels, as style.css has them
TITLE, DETAIL, LABEL = 7.6, 6.7, 6.7  # the width of a character
TITLE_LINE, LINE, LABEL_LINE = 20.0, 15.0, 17.0
PADDING = 11.0
MOST_DETAILS, LONGEST_DETAIL = 6, 44


def graph_symbols(func: GraphFunc, names: dict[int, str], words: Words) -> dict[int, Symbol]:
    """What is known of everything that has a name in the listing of a graph function, by id."""
    kinds = {id(param): "parameter" for param in func.params}
    outputs = {id(var) for node in walk(func) if type(node) is Dataflow for var in node.outputs}
    found: dict[int, Symbol] = {}
    binders: dict[int, Any] = {}
    for node in walk(func):
        if isinstance(node, (GraphBind, MatchCast, GraphIf)):
            kinds.setdefault(id(node.var), _MADE[type(node)](node))
        if type(node) in (GraphVar, Var):
            binders.setdefault(id(node), node)
    for key, node in binders.items():
        if key not in names:
            continue
        if type(node) is Var:
            found[key] = Symbol(names[key], "symbolic dimension", str(node.dtype), [])
            continue
        facts = [*_bytes(node), *(["seen behind its dataflow"] if key in outputs else [])]
        found[key] = Symbol(names[key], kinds.get(key, "variable"), type_words(node.type), facts)
    return found


_MADE: dict[type, Any] = {
    GraphBind: lambda node: f"value of {node.value.op.spelling}" if type(node.value) is OpCall else "value",
    MatchCast: lambda node: "value whose type is checked",
    GraphIf: lambda node: "value of a branch",
}


def _bytes(var: GraphVar) -> list[str]:
    kind = var.type
    if type(kind) is not TensorType or kind.shape is None or kind.dtype is None:
        return []
    size = kind.dtype.itemsize
    for dim in kind.shape:
        value = getattr(dim, "value", None)
        if not isinstance(value, int):
            return []
        size *= value
    return [f"{size:,} bytes"]


class Keys:
    """Numbers of the variables of all stages: a variable that a pass keeps has its number before and after it."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.kept: list[GraphVar] = []  # so that no other gets their ids

    def of(self, var: GraphVar) -> int:
        """The number of a variable."""
        found = self.numbers.get(id(var))
        if found is None:
            found = self.numbers[id(var)] = len(self.kept)
            self.kept.append(var)
        return found


def drawn(
    func: GraphFunc, module: Module | None, keys: Keys, names: dict[int, str], lines: dict[int, int]
) -> dict[str, Any]:
    """The drawing of a function; `names` and `lines` are those of its variables in the listing, by id.

    Constants stand in the nodes that take them. What is needed far below where it is made has a node of its own there,
    which refers to it.
    """
    drawing = Drawing(func, module)
    variables = {number: var for var, number in reversed(drawing.made.items())}
    nodes, edges = _without_constants(drawing)
    order = _forward(len(nodes), edges)
    nodes = [nodes[old] for old in order]
    place = {old: new for new, old in enumerate(order)}
    edges = [{**edge, "from": place[edge["from"]], "to": place[edge["to"]]} for edge in edges]
    made = []
    for node in nodes:
        var = variables.get(node["number"])
        name = "" if var is None else names.get(id(var), var.name)
        details = [_short(line) for line in node["details"][:MOST_DETAILS]]
        if len(node["details"]) > MOST_DETAILS:
            details.append(f"… {len(node['details']) - MOST_DETAILS} more")
        made.append(
            {
                "kind": node["kind"],
                "title": name or node["label"] if node["kind"] == "input" else node["label"],
                "name": name if node["kind"] not in ("input", "output") else "",
                "details": details,
                "calls": node["calls"],
                "key": -1 if var is None else keys.of(var),
                "line": -1 if var is None else lines.get(id(var), -1),
                "label": [],
            }
        )
    for edge in edges:
        made[edge["from"]]["label"] = edge["label"].split("\n") if edge["label"] else []
    _refer(made, edges)
    boxes = [_size(node) for node in made]
    sizes = [
        (max(box[0], box[2]), box[1] + LABEL_LINE * len(node["label"])) for box, node in zip(boxes, made, strict=True)
    ]
    found = layout(sizes, [(edge["from"], edge["to"]) for edge in edges])
    for node, (x, y), box in zip(made, found.places, boxes, strict=True):
        node.update(x=round(x), y=round(y), w=round(box[0]), h=round(box[1]))
    paths = [
        {"from": edge["from"], "to": edge["to"], "role": edge["role"], "path": [[round(x), round(y)] for x, y in path]}
        for edge, path in zip(edges, found.paths, strict=True)
    ]
    return {"nodes": made, "edges": paths, "width": round(found.width), "height": round(found.height)}


def _without_constants(drawing: Drawing) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The nodes and edges without constants, which are details of what takes them."""
    constants = {at for at, node in enumerate(drawing.nodes) if node["kind"] == "constant"}
    kept = [at for at in range(len(drawing.nodes)) if at not in constants]
    nodes = {at: {**drawing.nodes[at], "number": at, "details": list(drawing.nodes[at]["details"])} for at in kept}
    edges = []
    for edge in drawing.edges:
        if edge["from"] not in constants:
            edges.append(edge)
            continue
        inner = drawing.nodes[edge["from"]]
        words = inner["label"] if inner["label"] != "constant" else "const"
        told = " ".join(filter(None, (words, *(inner["details"] or [edge["label"].partition("\n")[0]]))))
        nodes[edge["to"]]["details"].append(told)
    place = {old: new for new, old in enumerate(kept)}
    return [nodes[at] for at in kept], [
        {**edge, "from": place[edge["from"]], "to": place[edge["to"]]} for edge in edges
    ]


def _forward(count: int, edges: list[dict[str, Any]]) -> list[int]:
    """An order of the nodes in which edges go forward; a node is made before what its arguments are made of."""
    below: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for edge in edges:
        below[edge["from"]].append(edge["to"])
        waits[edge["to"]] += 1
    ready = [at for at in range(count) if not waits[at]]
    found = []
    for at in ready:
        found.append(at)
        for to in below[at]:
            waits[to] -= 1
            if not waits[to]:
                ready.append(to)
    return found


def _refer(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    """Cut the edges that are too long: at their end stands a node that refers to their beginning."""
    made: list[dict[str, Any]] = []
    for at in cut(len(nodes), [(edge["from"], edge["to"]) for edge in edges]):
        source = nodes[edges[at]["from"]]
        reference = {**source, "kind": "reference", "title": f"↑ {source['name'] or source['title']}", "name": ""}
        made.append({**reference, "details": [], "calls": None, "for": at})
    count = len(made)
    if not count:
        return
    # references take nothing, so they come first
    nodes[:0] = made
    for edge in edges:
        edge["from"] += count
        edge["to"] += count
    for number, node in enumerate(made):
        edges[node.pop("for")]["from"] = number


def _size(node: dict[str, Any]) -> tuple[float, float, float]:
    """The width and the height of the box, and the width of the label below it."""
    small = [*([node["name"]] if node["name"] else []), *node["details"]]
    width = max([TITLE * len(node["title"]), *(DETAIL * len(line) for line in small)]) + 2 * PADDING
    label = max((LABEL * len(line) for line in node["label"]), default=0.0)
    return width, TITLE_LINE + LINE * len(small) + PADDING, label + PADDING


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_DETAIL else f"{line[: LONGEST_DETAIL - 1]}…"


__all__ = ["Keys", "drawn", "graph_symbols"]
