"""Names of what passes add: functions to a module, blocks to a function."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """Names beside those that are taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def fresh(self, base: str) -> str:
        """`base`, with a number behind it where that is taken; it is from then on."""
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name


__all__ = ["Names"]
