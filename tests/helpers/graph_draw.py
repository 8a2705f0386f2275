"""Random arrays, shapes and axes, drawn from a seed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
INTS = ("int32", "int8", "int64", "uint8")


class Draw:
    """Draws arrays and choices."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *choices: Any) -> Any:
        """One of some values."""
        return choices[int(self.rng.integers(len(choices)))]

    def int(self, low: int, high: int) -> int:
        """An int from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self) -> bool:
        """True or False."""
        return bool(self.rng.integers(2))

    def shape(self, low: int = 0, high: int = 3, most: int = 4) -> tuple[int, ...]:
        """A shape of low to high dimensions."""
        return tuple(self.int(1, most) for _ in range(self.int(low, high)))

    def floats(self) -> str:
        """A float dtype."""
        return str(self.one(*FLOATS))

    def numbers(self) -> str:
        """A dtype of numbers."""
        return str(self.one(*FLOATS, *INTS))

    def array(self, shape: Any, kind: str = "float32", low: float = -3, high: float = 3) -> Any:
        """An array of random elements."""
        if kind == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind.startswith(("int", "uint")):
            least = 0 if kind.startswith("u") else int(low)
            return self.rng.integers(max(least, int(low)), int(high) + 1, shape).astype(kind)
        to = ml_dtypes.bfloat16 if kind == "bfloat16" else kind
        return np.asarray(self.rng.uniform(low, high, shape)).astype(to)

    def indices(self, shape: Any, extent: int, negative: bool = False) -> Any:
        """Indices of an axis."""
        return self.rng.integers(-extent if negative else 0, extent, shape).astype(self.one("int32", "int64"))

    def axis(self, rank: int) -> int:
        """An axis, from the front or the back."""
        return self.int(-rank, rank - 1)

    def axes(self, rank: int) -> Any:
        """Axes, or None for all."""
        if rank == 0 or self.int(0, 3) == 0:
            return None
        count = self.int(1, rank)
        return [int(at) - (rank if self.chance() else 0) for at in self.rng.permutation(rank)[:count]]

    def broadcast(self, count: int) -> list[tuple[int, ...]]:
        """Shapes that broadcast."""
        whole = self.shape()
        found = [whole]
        for _ in range(count - 1):
            part = whole[self.int(0, len(whole)) :]
            found.append(tuple(1 if self.int(0, 2) == 0 else one for one in part))
        return [found[at] for at in self.rng.permutation(count)]
