"""The default schedule: from the blocks of a kernel as they were written to tiles, vectors and threads of a processor.

Each block is classified by its IR alone, and the rules are tried in order; what a primitive refuses is left as it was.
Functions that say themselves how they run, by a loop that is parallel, vectorized, unrolled, bound to threads or
annotated, are left alone.
"""

from __future__ import annotations

from tirscript.ir.func import PrimFunc
from tirscript.ir.node import recursion_room

from ...blocks_from_loops import with_blocks
from ..schedule import Schedule
from .facts import CpuFacts
from .rules import apply_rules, may_schedule


def default_schedule(func: PrimFunc, facts: CpuFacts | None = None) -> Schedule:
    """The schedule that the pass `default_cpu` makes of a function; no step where the function says how it runs.

    Its `trace` can be printed, edited and replayed on
    `Schedule(blocks_from_loops(func))`. The attribute "fastmath" of False keeps sums of floats in their
    order, as `reassociate` of False does.
    """
    facts = facts or CpuFacts()
    if func.attrs.get("fastmath") is False:
        facts = CpuFacts(facts.vector_bits, facts.threads, reassociate=False)
    with recursion_room():
        if not may_schedule(func):
            return Schedule(func)
        return apply_rules(Schedule(with_blocks(func)), facts)


__all__ = ["CpuFacts", "default_schedule"]
