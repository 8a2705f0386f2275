"""The table of ONNX operators, and how a rule enters it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirscript.ir.graph import GraphExpr

from ..node import Node

# a node to its output, or the tuple of its outputs
Rule = Callable[[Node], GraphExpr | tuple[GraphExpr, ...]]
# those of the standard by their names, others with the domain before it
OPERATORS: dict[str, Rule] = {}
MICROSOFT = "com.microsoft"


def onnx_op(*names: str) -> Callable[[Any], Any]:
    """Register a rule under the names of the operators it is for."""

    def register(rule: Any) -> Any:
        for name in names:
            if name in OPERATORS:
                raise ValueError(f"ONNX operator {name} is defined twice")
            OPERATORS[name] = rule
        return rule

    return register


def microsoft_op(*names: str) -> Callable[[Any], Any]:
    """Register a rule for operators of onnxruntime's own domain, which optimized models have."""
    return onnx_op(*(f"{MICROSOFT}.{name}" for name in names))


__all__ = ["MICROSOFT", "OPERATORS", "Rule", "microsoft_op", "onnx_op"]
