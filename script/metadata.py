"""What TVM prints beside a text: `metadata = tvm.ir.load_json("...")`, used as `metadata["ffi.String"][0]`.

The JSON is a list of nodes; arrays, maps and objects name others by their places. Strings, numbers, arrays and maps of
these are read, and a literal of a string, as which parts of messages with several lines are kept, as that string.
Anything else is kept by the name of its class, which a use of it is told by.
"""

from __future__ import annotations

import ast
import json
from typing import Any

from tirscript.ir.words import call_it

MAX_DEPTH = 64
MAX_ITEMS = 100_000


class Unread:
    """A value of the metadata that stands for an object of TVM's."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


call_it(Unread, "object of TVM", lambda held: f"metadata of the class {held.kind}")


def stored_metadata(node: ast.expr) -> str | None:
    """The JSON of `tvm.ir.load_json("...")`, or None where a node is something else."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="tvm"), attr="ir"), attr="load_json"),
            args=[ast.Constant(value=str() as text)],
            keywords=[],
        ):
            return text
    return None


def read_metadata(text: str) -> dict[str, list[Any]]:
    """The values by class and number, as `metadata[class][number]`; ValueError where the text is no such JSON."""
    try:
        graph = json.loads(text)
        found, _ = _value(graph["nodes"], graph["root_index"], {}, 0)
    except (KeyError, TypeError, IndexError, RecursionError, AttributeError) as problem:
        raise ValueError(f"{type(problem).__name__}: {problem}") from None
    if not isinstance(found, dict) or not all(isinstance(item, list) for item in found.values()):
        raise ValueError("it is no map from classes to lists")
    return found


def _value(nodes: list[Any], at: int, known: dict[int, tuple[Any, int]], depth: int) -> tuple[Any, int]:
    """The value of a node and how many items are in it, each node being read once: they may share others."""
    if at in known:
        return known[at]
    node = nodes[at]
    kind, data = node["type"], node.get("data")
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    if kind in _LITERALS:
        made = _value(nodes, data["value"], known, depth + 1)
    elif kind not in ("ffi.Array", "ffi.Map"):
        made = (data if kind in _PLAIN else Unread(str(kind)), 1)
    else:
        items = [_value(nodes, item, known, depth + 1) for item in data]
        size = 1 + sum(weight for _, weight in items)
        if size > MAX_ITEMS:
            raise ValueError(f"it holds over {MAX_ITEMS:,} items")
        values = [item for item, _ in items]
        made = (values if kind == "ffi.Array" else dict(zip(values[::2], values[1::2], strict=True)), size)
    known[at] = made
    return made


_LITERALS = ("ir.StringImm", "tirx.StringImm", "tir.StringImm")
_PLAIN = ("ffi.String", "str", "int", "float", "bool", "None")
