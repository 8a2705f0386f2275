"""The simplifier with what is known of memory: an element whose value is known is that value."""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.simplifier import Simplifier
from tirscript.ir.expr import BufferLoad
from tirscript.ir.rewrite import distinct

from .contents import Contents
from .simplify import Simplify


class KnowingSimplifier(Simplifier):
    """Simplifies loads to the values that contents say they have."""

    def __init__(self, analyzer: Analyzer, contents: Contents) -> None:
        super().__init__(analyzer)
        self.contents = contents
        self._inside = False

    def visit(self, node: Any) -> Any:
        """An expression simplified."""
        if type(node) is BufferLoad:
            return self.load(node)
        if self._inside:
            return super().visit(node)
        # what was as simple as it gets may be simpler with what is known of memory by now
        self._inside = True
        self.known.simple.clear()
        try:
            return super().visit(node)
        finally:
            self._inside = False

    def load(self, node: BufferLoad) -> Any:
        """The value of an element where it is known; else what is claimed of it is known from here on."""
        new = super().access(node)
        if type(new) is not BufferLoad or not self.contents.contents:
            return new
        for known in self.contents.of(new):
            if known.value is not None and known.exact:
                return self.visit(distinct(known.value))
            if not known.written:
                self.analyzer.assume(known.claim)
        return new


class KnowingSimplify(Simplify, Contents):
    """Simplifies a program with what is known of memory."""

    def __init__(self, analyzer: Analyzer | None = None) -> None:
        super().__init__(analyzer)
        self.expressions = KnowingSimplifier(self.analyzer, self)


__all__ = ["KnowingSimplifier", "KnowingSimplify"]
