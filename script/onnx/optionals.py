"""Tensors that may be missing, of which it is known while the model is read whether they are: what is known of the
tensor, or that there is none. They are no values of the graph; operators on them choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .model_file import wrong

if TYPE_CHECKING:
    from .importer import Importer
    from .node import Node


class Missing(Struct, frozen=True, eq=False):
    """A tensor or a sequence that is not there."""


def tensor_type(info: Any) -> Any:
    """What an input is said to be; an optional one, what it holds."""
    told = info.type.optional_type.elem_type if info.type.HasField("optional_type") else info.type
    if not told.HasField("tensor_type"):
        raise wrong(f"the input `{info.name}` is no tensor")
    return told.tensor_type


def _is_missing(importer: Importer, node: Node) -> bool:
    return not node.has(0) or type(importer.sequences.get(node.proto.input[0])) is Missing


def _optional(importer: Importer, node: Node) -> None:
    importer.take(node.output, importer.known(node.proto.input[0]) if node.has(0) else ())
    if not node.has(0):
        importer.sequences[node.output] = Missing()


def _has_element(importer: Importer, node: Node) -> None:
    import numpy as np

    importer.keep(node.output, np.asarray(not _is_missing(importer, node)))


def _get_element(importer: Importer, node: Node) -> None:
    if _is_missing(importer, node):
        raise node.wrong("it gets what is not there")
    importer.take(node.output, importer.known(node.proto.input[0]))


OPTIONALS: dict[str, Callable[[Importer, Node], None]] = {
    "Optional": _optional,
    "OptionalGetElement": _get_element,
    "OptionalHasElement": _has_element,
}

__all__ = ["OPTIONALS", "Missing", "tensor_type"]
