"""The default schedule: from the blocks of a kernel as they were written to tiles, vectors and threads of a processor.

Each block is classified by its IR alone, and the rules are tried in order; what a primitive refuses is left as it was.
Functions that say themselves how they run, by a loop that is parallel, vectorized, unrolled, bound to threads or
annotated, are left alone.
"""

from __future__ import annotations

from tirscript.ir.func import PrimFunc
from tirscript.ir.node import recursion_room

from ...blocks_from_loops import with_blocks
from ..primitive import PRIMITIVES
from ..schedule import Schedule
from ..trace import Name, Step, Trace
from .facts import CpuFacts
from .rules import apply_rules, may_schedule


def default_schedule(func: PrimFunc, facts: CpuFacts | None = None) -> Schedule:
    """The schedule that the pass `default_cpu` makes of a function; no step where the function says how it runs.

    Its `trace` (`tidied` makes it shorter) can be printed, edited and replayed on
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


def tidied(trace: Trace) -> Trace:
    """A trace without the questions whose answers no step uses: shorter to read, and does the same."""
    kept: list[Step] = []
    used: set[str] = set()
    for step in reversed(trace.steps):
        results = {step.results} if isinstance(step.results, str) else set(step.results)
        if PRIMITIVES[step.primitive].query and not results & used:
            continue
        kept.append(step)
        used |= _names((*step.args, *step.kwargs.values()))
    return Trace(tuple(kept[::-1]))


def _names(values: tuple[object, ...]) -> set[str]:
    found: set[str] = set()
    for value in values:
        if type(value) is Name:
            found.add(value.name)
        elif isinstance(value, (list, tuple)):
            found |= _names(tuple(value))
    return found


__all__ = ["CpuFacts", "default_schedule", "tidied"]
