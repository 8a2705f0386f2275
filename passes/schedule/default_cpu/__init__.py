"""The default schedule: from the blocks of a kernel as they were written to tiles, vectors and threads of a processor.

Each block is classified by its IR alone, and the rules are tried in order; what a primitive refuses is left as it was.
Functions that say themselves how they run, by a loop that is parallel, vectorized, unrolled, bound to threads or
annotated, are left alone.
"""

from __future__ import annotations

from msgspec import structs

from tirscript.ir.expr import Const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import recursion_room
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block

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
        facts = structs.replace(facts, reassociate=False)
    with recursion_room():
        if not may_schedule(func):
            return Schedule(func)
        found = _symbolic(func, facts)
        if found is not None:
            return found
        return apply_rules(Schedule(with_blocks(func)), facts)


def _symbolic(func: PrimFunc, facts: CpuFacts) -> Schedule | None:
    """The schedule of a function whose loops have symbolic sizes; None where there are none, or sums remain.

    The init of a sum without terms would be left out by its block: so none that was made of a loop may be left.
    """
    blocks = with_blocks(func, symbolic=True)
    if not any(type(node) is Block and _symbolic_axes(node) for node in walk(blocks.body)):
        return None
    made = apply_rules(Schedule(blocks), facts)
    given = {node.name for node in walk(func.body) if type(node) is Block}
    for node in walk(made.func.body):
        if type(node) is Block and node.init is not None and "reduce" in _symbolic_axes(node):
            if node.name not in given:
                return None
    return made


def _symbolic_axes(block: Block) -> set[str]:
    """The kinds of the axes whose lengths are not known."""
    return {axis.kind for axis in block.axes if type(axis.stop) is not Const}


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
