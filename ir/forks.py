"""Locks in processes that fork: the child has those that other threads hold, and nobody who gives them back."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def renew_in_children(names: dict[str, Any], name: str, make: Callable[[], Any]) -> None:
    """Make the lock anew that a module (its `globals()`) keeps under a name, in every child that is forked."""

    def renew() -> None:
        names[name] = make()

    in_children(renew)


def in_children(function: Callable[[], object]) -> None:
    """Call a function in every child that is forked, where the system forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


__all__ = ["in_children", "renew_in_children"]
