"""A digest of a program: the same in every process for programs that are structurally equal."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from typing import Any

from .constant import ConstantTensor
from .dtype import DType
from .equal import defined_by
from .node import Node, shape_of
from .op import Op
from .rewrite import MANY, refuse_too_large

# a plain value as bytes; each begins with a letter of its own and tells its length, so that no two sequences are alike
_SPELLINGS: dict[type, Callable[[Any], str]] = {
    type(None): lambda value: "N",
    bool: lambda value: "T" if value else "F",
    int: lambda value: f"i{value};",
    float: lambda value: f"f{struct.pack('<d', value).hex()}",
    str: lambda value: f"s{len(value)};{value}",
    bytes: lambda value: f"b{len(value)};{value.hex()}",
    DType: lambda value: f"d{value};",
    Op: lambda value: f"o{value.name};",
}


class _NotSpelled(Exception):
    """A value in a program has no spelling that every process would give it."""


def structural_digest(program: Node) -> str | None:
    """The sha256 of what counts in a program, in hexadecimal: names of what it defines, spans and comments do not.

    Programs of one digest are `structural_equal`. None where a program holds something that only this process knows:
    a variable that it does not define, a constant whose data is not at hand, an attribute of a foreign type.
    """
    try:
        text = "".join(_spelled(program))
    except _NotSpelled:
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _spelled(root: Node) -> list[str]:
    out: list[str] = []
    stack: list[Any] = [root]
    numbers: dict[int, int] = {}  # of what is defined, in the order of first meeting; 0 before that
    count, most = 0, MANY
    while stack:
        node = stack.pop()
        cls: Any = type(node)
        if not isinstance(node, Node):
            if cls is tuple or cls is list:
                out.append(f"t{len(node)};")
                stack.extend(reversed(node))
            elif isinstance(node, dict):
                names = sorted(node, key=str)
                out.append(f"m{len(names)};")
                for name in reversed(names):
                    stack += (node[name], name)
            else:
                out.append(_plain(node))
            continue
        if len(out) > most:
            refuse_too_large(root)
            most *= 4
        shape = shape_of(cls)
        if shape.binder:
            number = numbers.get(id(node))
            if number is None:  # defined nowhere
                raise _NotSpelled
            if number:
                out.append(f"v{number};")
                continue
            count += 1
            numbers[id(node)] = count
        elif cls.defines:
            for defined in defined_by(node):
                numbers.setdefault(id(defined), 0)
        out.append(f"n{cls.__name__};")
        out += map(_plain, shape.get_scalars(node))
        stack.extend(reversed(shape.get_children(node)))
    return out


def _plain(value: Any) -> str:
    spell = _SPELLINGS.get(type(value))
    if spell is not None:
        return spell(value)
    if type(value) is ConstantTensor:
        if not value.resolved:
            raise _NotSpelled
        return f"c{value.digest}{_plain(value.shape)}{_plain(value.dtype)}"
    if type(value) is tuple:
        return f"t{len(value)};{''.join(map(_plain, value))}"
    raise _NotSpelled
