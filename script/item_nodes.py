"""The places in the source of the items of a shape and of the indices of a subscript."""

from __future__ import annotations

import ast


def shape_nodes(node: ast.expr, count: int) -> list[ast.expr]:
    """The places of the dimensions of a buffer that `node` makes: the items of its shape where they stand there."""
    shape = node
    if isinstance(node, ast.Call):
        named = [keyword.value for keyword in node.keywords if keyword.arg == "shape"]
        at = 1 if isinstance(node.func, ast.Attribute) and node.func.attr == "match_buffer" else 0
        shape = named[0] if named else node.args[at] if len(node.args) > at else node
    if isinstance(shape, (ast.Tuple, ast.List)) and len(shape.elts) == count:
        starred = any(isinstance(item, ast.Starred) for item in shape.elts)
        return [node] * count if starred else shape.elts
    return [shape if count == 1 and isinstance(node, ast.Call) else node] * count


def index_nodes(node: ast.Subscript) -> list[ast.expr]:
    """The syntax nodes of the indices of a subscript; none for `A[()]`."""
    return node.slice.elts if type(node.slice) is ast.Tuple else [node.slice]
