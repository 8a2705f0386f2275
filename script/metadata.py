"""What TVM prints beside a text: `metadata = tvm.ir.load_json("...")`, used as `metadata["ffi.String"][0]`.

The JSON is a list of nodes; arrays, maps and objects name others by their places. Strings, numbers, arrays and maps of
these are read, a literal of a string, as which parts of messages with several lines are kept, as that string, and the
tensors of graph functions as constants.
Anything else is kept by the name of its class, which a use of it is told by.

Until 2025 nodes were written otherwise: their numbers as strings, keys of maps as they are, tensors apart.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
import struct
from typing import Any

from tirscript.ir.constant import ConstantTensor, constant, view_of
from tirscript.ir.dtype import DType, dtype
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
        if "root" in graph:
            graph = _renewed(graph)
        found, _ = _value(graph["nodes"], graph["root_index"], {}, 0)
    except (KeyError, TypeError, IndexError, RecursionError, AttributeError) as problem:
        raise ValueError(f"{type(problem).__name__}: {problem}") from None
    if not isinstance(found, dict) or not all(isinstance(item, list) for item in found.values()):
        raise ValueError("it is no map from classes to lists")
    return found


def _renewed(graph: dict[str, Any]) -> dict[str, Any]:
    """A graph of the form until 2025, `{"root": 1, "nodes": [{"type_key": "Array", "data": [0]}], "b64ndarrays": []}`,
    as it would be written now."""
    more: list[dict[str, Any]] = [{"type": "ffi.Tensor", "data": held} for held in graph["b64ndarrays"]]
    old: list[dict[str, Any]] = graph["nodes"]
    nodes: list[dict[str, Any]] = []
    for node in old:
        kind, attrs, data = node["type_key"], node.get("attrs", {}), node.get("data", [])
        if kind == "runtime.String":
            nodes.append({"type": "ffi.String", "data": _string(node)})
        elif kind in _LITERALS:
            nodes.append({"type": kind, "data": {"value": int(attrs["value"])}})
        elif kind in _CONSTANTS:
            nodes.append({"type": kind, "data": {"data": len(old) + int(attrs["data"])}})
        elif kind == "Map" and "keys" in node:
            pairs = [(len(old) + len(more) + at, item) for at, item in enumerate(data)]
            more += [{"type": "ffi.String", "data": key} for key in node["keys"]]
            nodes.append({"type": "ffi.Map", "data": [place for pair in pairs for place in pair]})
        else:
            nodes.append({"type": _RENAMED.get(kind, kind), "data": data})
    return {"nodes": nodes + more, "root_index": graph["root"]}


def _string(node: dict[str, Any]) -> str:
    """A string, or the bytes of one behind how many they are."""
    if "repr_str" in node:
        return str(node["repr_str"])
    return base64.b64decode(node["repr_b64"], validate=True)[8:].decode()


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
    elif kind == "ffi.Tensor":
        made = (tensor(data), 1)
    elif kind in _CONSTANTS:
        at_value = data["value"] if "value" in data else data["data"]  # until 2026
        held = _value(nodes, at_value, known, depth + 1)
        made = held if isinstance(held[0], ConstantTensor) else (Unread(str(kind)), 1)
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


def tensor(text: str) -> ConstantTensor:
    """A tensor as TVM writes one: a head with the shape and dtype, then the elements; ValueError for anything else."""
    try:
        raw = base64.b64decode(text, validate=True)
        magic, _, _, _, ndim, code, bits, lanes = struct.unpack_from("<QQiiiBBH", raw)
        if magic != _MAGIC or not 0 <= ndim <= 32 or lanes != 1:
            raise ValueError("it holds no plain tensor")
        start = struct.calcsize("<QQiiiBBH")
        shape = struct.unpack_from(f"<{ndim}q", raw, start)
        (size,) = struct.unpack_from("<q", raw, start + 8 * ndim)
        kind = _element(code, bits)
        array = view_of(raw[start + 8 * ndim + 8 :], shape, kind)
    except (struct.error, binascii.Error, TypeError) as problem:
        raise ValueError(f"a tensor is damaged: {problem}") from None
    if size != array.nbytes:
        raise ValueError(f"a tensor says that it has {size} bytes, and has {array.nbytes}")
    return constant(array.copy(), kind)


def _element(code: int, bits: int) -> DType:
    """A dtype by the numbers of DLPack."""
    name = _CODES.get(code)
    if name is None:
        raise ValueError(f"a tensor has elements of an unknown kind, {code}")
    return dtype(f"{name}{bits}" if name != "bool" else name)


_MAGIC = 0xDD5E40F096B4A13F
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}
_CONSTANTS = ("ir.GenericConst", "relax.expr.Constant")
_LITERALS = ("ir.StringImm", "tirx.StringImm", "tir.StringImm")
_RENAMED = {"": "None", "Array": "ffi.Array", "Map": "ffi.Map"}
_PLAIN = ("ffi.String", "str", "int", "float", "bool", "None")
