"""Files of models: what is read of one before its nodes are, and what is said where it is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.whole_files import reason

OLDEST, NEWEST = 7, 28  # versions of the operators; older ones are converted
_NO_TEXT = "the file is no ONNX model: names in it are not UTF-8"


@contextmanager
def told_texts() -> Iterator[None]:
    """Tells of a text in a model that is none: protobuf looks at it when it is asked for."""
    try:
        yield
    except UnicodeDecodeError:
        raise wrong(_NO_TEXT) from None


def model_of(model: Any) -> Any:
    """A model, which is a path, its bytes or an `onnx.ModelProto`, as the last of these."""
    try:
        import onnx
    except ImportError:
        raise DiagnosticError(
            [error("T402", "models are read by the package onnx", hint="pip install tirscript[onnx]")]
        ) from None
    return model if isinstance(model, onnx.ModelProto) else _read(model)


def _read(model: Any) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        if isinstance(model, (bytes, bytearray)):
            found = onnx.load_model_from_string(bytes(model))
        elif isinstance(model, (str, os.PathLike)):
            if not os.path.isfile(model) and os.path.exists(model):  # a pipe or a device may have no end
                raise ValueError(f"{os.fspath(model)} is no regular file")
            found = onnx.load(model)
        else:
            raise TypeError(f"from_onnx takes a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    except DecodeError:
        raise wrong("the file is no ONNX model, or not all of one") from None
    except (OSError, ValueError, onnx.checker.ValidationError) as problem:  # ValueError: short files of weights
        of_system = isinstance(problem, OSError) and problem.strerror
        said = f"{problem.filename}: {reason(problem)}" if of_system else str(problem)  # type: ignore[arg-type,union-attr]
        raise wrong(f"the model cannot be read: {said}") from None
    if not found.graph.node and not found.graph.output:
        raise wrong("the file is no ONNX model, or not all of one")
    if any(isinstance(name, bytes) for name in _names(found.graph)):
        raise wrong(_NO_TEXT)
    return found


def _names(graph: Any) -> Iterator[str | bytes]:
    """The names in a graph, which protobuf gives as bytes where they are not UTF-8."""
    for one in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        yield one.name
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            yield attribute.name
            if attribute.HasField("g"):
                yield from _names(attribute.g)


def newer(model: Any, version: int) -> Any:
    """A model of the first versions of the operators, converted to the oldest that the rules are for."""
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, OLDEST)
    except Exception as problem:  # what onnx raises has no common type
        said = (str(problem).strip().splitlines() or ["?"])[0]
        message = f"the model has version {version} of the operators, which cannot be converted to {OLDEST}: {said}"
        raise wrong(message, "export it again with newer operators") from None


def wrong(message: str, hint: str | None = None) -> DiagnosticError:
    """What is said of a model that is not read."""
    return DiagnosticError([error("T402", message, hint=hint)])


__all__ = ["NEWEST", "OLDEST", "model_of", "newer", "told_texts", "wrong"]
