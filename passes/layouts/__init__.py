"""Layouts across the graph: lifted out of functions, moved, cancelled, and folded into constants."""

from .lift_layout_blocks import lift_layout_blocks
from .mapping import PadMapping, conversion_of
from .planning import Decision
from .preprocessing import split_preprocessing
from .reflow_layouts import Reflowed, reflow, reflow_layouts
from .value_layouts import value_layouts

__all__ = [
    "Decision",
    "PadMapping",
    "Reflowed",
    "conversion_of",
    "lift_layout_blocks",
    "reflow",
    "reflow_layouts",
    "split_preprocessing",
    "value_layouts",
]
