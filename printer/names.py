"""Names in printed text: the user's, made unique by a suffix only where they clash.

A name is taken until the body that defines it ends, so that two loops one after the other may both be `i`. The reader
tells a binding from a mutable scalar by the assignments it sees in one body and those inside of it, so inside of a
scope no name stands for two things.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

# what the parser gives a meaning of its own; a program's names keep clear of them
RESERVED = frozenset(
    (
        *keyword.kwlist,
        "__debug__",  # a constant, to which Python assigns nothing
        *("T", "cls"),
        *("range", "len", "min", "max", "abs", "int", "float", "bool", "tuple", "list", "zip", "enumerate"),
        *("round", "sum", "breakpoint"),
    )
)
_BAD = re.compile(r"\W")
_SPELLED: dict[str, str] = {}


def spelled(hint: str) -> str:
    """The hint as an identifier that means nothing else."""
    found = _SPELLED.get(hint)
    if found is None:
        if len(_SPELLED) > 1 << 16:
            _SPELLED.clear()
        found = _SPELLED[hint] = _spell(hint)
    return found


def _spell(hint: str) -> str:
    name = unicodedata.normalize("NFKC", hint)
    if not name.isidentifier():
        name = _BAD.sub("_", name)
        name = next((each for each in (name, f"_{name}") if name and each.isidentifier()), "v")
    return f"{name}_1" if name in RESERVED else name


class Names:
    """The names of one function, or of one fragment. A name is free again at the end of the body that defines it."""

    __slots__ = ("_hints", "_root", "known", "stack", "taken")

    def __init__(self, root: object, reserved: Iterable[str] = ()) -> None:
        self.known: dict[int, str] = {}  # by the id of the binder: hashing one would call Python
        self.taken = set(reserved)
        self.stack: list[str] = []
        self._root = root
        self._hints: frozenset[str] | None = None

    def define(self, binder: Any, hint: str) -> str:
        """Name a binder until the scope that is open now is released."""
        name = _SPELLED.get(hint) or spelled(hint)
        taken = self.taken
        if name in taken:
            name = self._another(name)
        taken.add(name)
        self.stack.append(name)
        self.known[id(binder)] = name
        return name

    def fix(self, binder: Any, hint: str) -> str:
        """Name a binder that the text uses without defining it; its name stays taken."""
        name = self.define(binder, hint)
        self.stack.pop()
        return name

    def release(self, mark: int) -> None:
        """End the scopes opened since the stack was `mark` long."""
        stack = self.stack
        self.taken.difference_update(stack[mark:])
        del stack[mark:]

    def _another(self, name: str) -> str:
        # a suffixed name that is some binder's own hint is left to it, so that adding one binder renames no other
        hints, taken = self._all_hints(), self.taken
        number = 1
        while (new := f"{name}_{number}") in taken or new in hints:
            number += 1
        return new

    def _all_hints(self) -> frozenset[str]:
        if self._hints is None:
            from tirscript.ir.node import Node
            from tirscript.ir.rewrite import definitions

            root = self._root
            found = definitions(root) if isinstance(root, (Node, tuple)) else []
            self._hints = frozenset(spelled(binder.name) for binder in found)
        return self._hints
