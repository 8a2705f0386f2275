"""Passes over graph functions, and their way to tensor functions."""

from .graph_to_tensor import graph_to_tensor
from .static_memory_plan import static_memory_plan

__all__ = ["graph_to_tensor", "static_memory_plan"]
