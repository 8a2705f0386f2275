"""The attributes of functions that all parts read alike, with TVM's prefix or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .expr import Const

_NOALIAS = ("noalias", "tir.noalias", "tirx.noalias")


def noalias(attrs: Mapping[str, Any]) -> bool:
    """Whether a buffer argument that is written must overlap no other: unless one of the attributes says otherwise."""
    return all(_truth(attrs.get(name, True)) is not False for name in _NOALIAS)


def attribute_problem(name: str, value: Any) -> tuple[str, str] | None:
    """Why a function cannot have this value as an attribute, and the way out; None where it can."""
    if name == "global_symbol" and (not isinstance(value, str) or not value):
        return "it is the name of the function, a string that is not empty", f'`"{name}": "main"`'
    if name in _NOALIAS and _truth(value) is None:
        return "it is True or False", f'`"{name}": False` where arguments may overlap'
    return None


def _truth(value: Any) -> bool | None:
    """A bool, which TVM also writes as 1 or `T.bool(True)`; None for what is no bool."""
    if type(value) is Const:
        value = value.value
    return bool(value) if isinstance(value, int) and value in (0, 1) else None


__all__ = ["attribute_problem", "noalias"]
