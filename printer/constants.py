"""Constants as text: short ones as lists of their numbers, others by their digest, with or without the data.

K = T.allocate_const([1, 2, 3, 4], "int32", (4,))
W = T.constant("sha256:…", (64, 64), "float32")                                "elide": the data is elsewhere
W = T.constant("sha256:…", (64, 64), "float32", base64=\"\"\"…\"\"\")                "inline", where it is used first
W = T.constant("sha256:…", (64, 64), "float32", file="model.safetensors")      "file"
"""

from __future__ import annotations

import base64
import math
import os
from typing import TYPE_CHECKING, Any

from tirscript.ir.constant import ConstantTensor
from tirscript.ir.constant_lists import encode
from tirscript.ir.dtype import INT32
from tirscript.ir.expr import Const
from tirscript.ir.stmt import AllocateConst
from tirscript.ir.words import parenthesized

from .expr import top
from .literals import dtype_name, float_text, quote
from .stmt import TAB, value

if TYPE_CHECKING:
    from .core import Printer

LISTED = 16  # elements that are written as a list
_LINE = 84  # characters of base64 in a line


class Constants:
    """How a printer writes the data that no list holds: "elide", "inline", or "file" with the file's name."""

    __slots__ = ("file", "mode", "saved", "written")

    def __init__(self, mode: str = "elide", file: str = "") -> None:
        self.mode = mode
        self.file = file
        self.saved: dict[str, ConstantTensor] = {}  # what the file must hold
        self.written: set[str] = set()  # whose data the text has

    def are_written(self, data: ConstantTensor) -> bool:
        """Whether the data is written here: once in a text, where the digest finds it for the other uses."""
        if not data.size or not (self.mode == "inline" or _is_short(data)) or data.digest in self.written:
            return False
        self.written.add(data.digest)
        return True

    def are_saved(self, data: ConstantTensor) -> bool:
        """Whether the data stands in the file, which is told."""
        if not data.size or self.mode != "file" or data.digest in self.written:
            return False
        self.saved[data.digest] = data
        return True

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file."""
        from tirscript.ir.constant_file import write

        write(path, self.saved.values())


def allocate_const(p: Printer, node: AllocateConst, indent: str) -> None:
    """The definition of a constant, in the shortest form that says all of it."""
    buffer, data = node.buffer, node.data
    options = _options(p, node)
    more = "".join([f", {option}" for option in options])
    listed = number_list(data)
    kind = dtype_name(buffer.dtype)
    shape = parenthesized([top(p, dim) for dim in buffer.shape])
    if listed is not None:
        text = f"T.allocate_const({listed}, {kind}, {shape}{more})"
    else:
        plain = all(type(dim) is Const and dim.dtype is INT32 for dim in buffer.shape)
        alone = plain and data.shape == buffer.constant_shape() and data.dtype is buffer.dtype
        head = f"T.constant({quote(data.digest)}, {parenthesized(data.shape)}, {dtype_name(data.dtype)}"
        if p.constants.are_written(data):
            if alone:
                _inline(p, node, [quote(data.digest), parenthesized(data.shape), kind], options, indent)
            else:
                _nested(p, node, [kind, shape, *options], indent)
            return
        if p.constants.are_saved(data):
            head += f", file={quote(p.constants.file)}"
        text = f"{head}{more})" if alone else f"T.allocate_const({head}), {kind}, {shape}{more})"
    p.out.append(f"{indent}{p.names.define(buffer, buffer.name)} = {text}")


def _options(p: Printer, node: AllocateConst) -> list[str]:
    buffer = node.buffer
    found = []
    if node.annotations:
        found.append(f"annotations={value(p, node.annotations)}")
    if buffer.scope != "global":
        found.append(f"scope={quote(buffer.scope)}")
    if buffer.align:
        found.append(f"align={buffer.align}")
    return found


def _is_short(data: ConstantTensor) -> bool:
    """Whether the data is short, and is no list only for the bits of its nans."""
    return 0 < data.size <= LISTED and data.resolved


def _inline(p: Printer, node: AllocateConst, parts: list[str], options: list[str], indent: str) -> None:
    """`K = T.constant(...)` with its data, an argument on every line, as a string of several lines has it."""
    name = p.names.define(node.buffer, node.buffer.name)
    inner = indent + TAB
    p.out.append(f"{indent}{name} = T.constant(")
    _data(p, node.data, parts, inner)
    p.out += [f"{inner}{part}," for part in options]
    p.out.append(f"{indent})")


def _nested(p: Printer, node: AllocateConst, parts: list[str], indent: str) -> None:
    """`K = T.allocate_const(T.constant(...), dtype, shape)` with its data, for a buffer of another shape."""
    data = node.data
    name = p.names.define(node.buffer, node.buffer.name)
    inner, deep = indent + TAB, indent + 2 * TAB
    p.out += [f"{indent}{name} = T.allocate_const(", f"{inner}T.constant("]
    _data(p, data, [quote(data.digest), parenthesized(data.shape), dtype_name(data.dtype)], deep)
    p.out.append(f"{inner}),")
    p.out += [f"{inner}{part}," for part in parts]
    p.out.append(f"{indent})")


def _data(p: Printer, data: ConstantTensor, parts: list[str], indent: str) -> None:
    """The first arguments of a constant, and its data."""
    text = base64.b64encode(data.array.reshape(-1).view("u1").data).decode()
    lines = [indent + text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    # one item, since lines within a string are not laid out, however deep they stand, nor is a digest too wide
    given = [f"{indent}{part}," for part in parts]
    p.out.append("\n".join((*given, f'{indent}base64="""', *lines, f'{indent}""",')))


def constant_text(p: Printer, data: ConstantTensor) -> str:
    """`G.constant("sha256:…", (64, 64), "float32")`, or, where its data is written too, the name that has it.

    A string of several lines stands in no expression: `name = T.meta_var(G.constant(...))` stands before the statement.
    """
    parts = [quote(data.digest), parenthesized(data.shape), dtype_name(data.dtype)]
    if p.constants.are_written(data):
        return _named_constant(p, data, parts, p.graph_indent)
    if p.constants.are_saved(data):
        parts.append(f"file={quote(p.constants.file)}")
    return f"G.constant({', '.join(parts)})"


def _named_constant(p: Printer, data: ConstantTensor, parts: list[str], indent: str) -> str:
    """The name of a constant that is written before the statement."""
    name = p.names.define(data, "constant")
    inner, deep = indent + TAB, indent + 2 * TAB
    p.out += [f"{indent}{name} = T.meta_var(", f"{inner}G.constant("]
    _data(p, data, parts, deep)
    p.out += [f"{inner})", f"{indent})"]
    return name


def number_list(data: ConstantTensor, limit: int | None = LISTED) -> str | None:
    """The elements as nested lists that read back to the same bits; None where these do not say it, or are long."""
    if (limit is not None and data.size > limit) or not data.resolved or (not data.size and data.shape != (0,)):
        return None
    flat: list[Any] = data.array.reshape(-1).tolist()
    kind = data.dtype
    if kind.is_float:
        flat = [float(item) for item in flat]
        if any(item != item for item in flat):
            written = [math.copysign(math.nan, item) if item != item else item for item in flat]
            if encode(written, kind).tobytes() != data.array.tobytes():
                return None  # a nan with bits of its own
        texts = [_float(item, data) for item in flat]
    else:
        texts = [str(item) for item in flat]
    return _lists(texts, data.shape)


def _float(item: float, data: ConstantTensor) -> str:
    text = float_text(item, data.dtype)
    if text is not None:
        return text
    sign = "-" if math.copysign(1.0, item) < 0 else ""
    return f'{sign}float("{"nan" if item != item else "inf"}")'


def _lists(texts: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return texts[0]
    if len(shape) == 1:
        return f"[{', '.join(texts)}]"
    step = len(texts) // shape[0]
    return f"[{', '.join([_lists(texts[at : at + step], shape[1:]) for at in range(0, len(texts), step)])}]"


CONSTANT_RULES: dict[type, Any] = {AllocateConst: allocate_const}
