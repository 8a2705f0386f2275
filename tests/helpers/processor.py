"""What the processor that the tests run on can do."""

from __future__ import annotations

from tirscript.backend.llvm import host
from tirscript.backend.llvm_intrinsics import KNOWN
from tirscript.backend.runtime import tiles
from tirscript.ir import PrimFunc


def has(*features: str) -> bool:
    """Whether it has all these features, and the system lets the process use them."""
    there = set(host().features.split(","))
    return all(f"+{feature}" in there for feature in features) and (
        not any(feature.startswith("amx") for feature in features) or tiles.permitted()
    )


def has_intrinsic(name: str) -> bool:
    """Whether it has the instruction of an LLVM intrinsic of the table."""
    return any(has(*group) for group in KNOWN[name].features)


def runs(func: PrimFunc) -> bool:
    """Whether it has the instructions that a function asks for by name."""
    text = func.script()
    return all(has_intrinsic(name) for name in KNOWN if f'"{name}"' in text)
