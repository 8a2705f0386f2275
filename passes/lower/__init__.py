"""From blocks to loops and flat memory."""

from __future__ import annotations

from ..lowering import DEFAULT_LOWERING
from ..simplify import simplify
from .compact_buffer_allocation import compact_buffer_allocation
from .flatten_buffer import flatten_buffer
from .infer_regions import infer_regions
from .lower_blocks import lower_blocks
from .lower_init_block import lower_init_block
from .lower_match_buffer import lower_match_buffer
from .lower_reduce import lower_reduce
from .plan_buffer_allocation import plan_buffer_allocation
from .serialize_races import serialize_races
from .unroll_loop import unroll_loop
from .vectorize_loop import vectorize_loop

__all__ = [
    "DEFAULT_LOWERING",
    "compact_buffer_allocation",
    "flatten_buffer",
    "infer_regions",
    "lower_blocks",
    "lower_init_block",
    "lower_match_buffer",
    "lower_reduce",
    "plan_buffer_allocation",
    "serialize_races",
    "simplify",
    "unroll_loop",
    "vectorize_loop",
]
