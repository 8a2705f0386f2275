"""What a kind of target takes: its options, each with a type and what it means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

_Type = type  # by this name in `TargetOption`, whose field is called `type`

# what a target's string and dict hold for a type of option
_TYPES: dict[type, tuple[str, Callable[[Any], bool]]] = {
    str: ("a word", lambda value: isinstance(value, str)),
    int: ("an int", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    bool: ("true or false", lambda value: isinstance(value, bool) or value in (0, 1)),
    tuple: ("a list of words", lambda value: isinstance(value, tuple) and all(isinstance(one, str) for one in value)),
}


class TargetOption(Struct, frozen=True):
    """An option of a kind of target: `-name=value`.

    type:    str, int, bool, or tuple for words with commas between them
    choices: the words that it may be, where these are few
    least:   the smallest int that makes sense
    """

    name: str
    type: _Type
    doc: str
    choices: tuple[str, ...] = ()
    least: int | None = None

    def __post_init__(self) -> None:
        if not any(self.type is known for known in _TYPES):
            known = ", ".join(one.__name__ for one in _TYPES)
            raise TypeError(f"the type of the option `{self.name}` is one of {known}, not {self.type!r}")

    def wrong(self, value: Any) -> str | None:
        """What the option takes, where that is not `value`."""
        said, holds = _TYPES[self.type]
        if not holds(value):
            return said
        if self.choices and value not in self.choices:
            return " or ".join(map(repr, self.choices))
        if self.least is not None and value < self.least:
            return f"{self.least} or more"
        return None


__all__ = ["TargetOption"]
