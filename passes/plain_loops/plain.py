"""Rewriting loops that hold no blocks: what people wrote in blocks says already what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import Block, For, Stmt


def in_plain_loops(body: tuple[Stmt, ...], rules: Mapping[type, Callable[[Any], Any]]) -> tuple[Stmt, ...]:
    """The body of a function with rules, by classes of nodes, applied in its loops without blocks."""

    def is_plain(stmt: Stmt) -> bool:
        return type(stmt) is For and not any(type(node) is Block for node in walk(stmt))

    return tuple([rewrite(stmt, rules) if is_plain(stmt) else stmt for stmt in body])


__all__ = ["in_plain_loops"]
