"""Names of functions that passes add to a module."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """Names of new functions in a module."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def fresh(self, base: str) -> str:
        """`base`, with a number behind it where a function has that name."""
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


__all__ = ["Names"]
