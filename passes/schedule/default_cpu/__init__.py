"""The default schedule: from the blocks of a kernel as they were written to tiles, vectors and threads of a processor.

Each block is classified by its IR alone, and the rules are tried in order; what a primitive refuses is left as it was.
Functions that say themselves how they run, by a loop that is vectorized, unrolled, bound to threads or annotated, or
by a parallel one around blocks, are left alone.
"""

from __future__ import annotations

from collections.abc import Set

from msgspec import structs

from tirscript.ir.expr import Const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import recursion_room
from tirscript.ir.op import const, get_op
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block, For

from ...plain_loops.blocks_from_loops import regular_loops, with_blocks
from ...statements import sizes_of
from ..naming import named_apart
from ..primitive import PRIMITIVES
from ..schedule import Schedule
from ..trace import Name, Step, Trace
from .clamped_lines import with_clamped_lines
from .cut_ends import cut_ends
from .facts import CpuFacts
from .idle_casts import without_idle_casts
from .joined_lines import with_joined_lines
from .kept_loads import kept_loads
from .lane_sums import lane_sums
from .outer_vectors import has_vectors, outer_vectors
from .parallel_loops import with_serial_loops
from .rules import apply_rules, may_schedule
from .several_results import with_several_results
from .versions import beside, is_known, may_have_versions, with_few_rows, with_one_row
from .whole_axes import best_in_tiles, counts_otherwise, with_whole_axes
from .work import Work


def default_schedule(func: PrimFunc, facts: CpuFacts | None = None) -> Schedule:
    """The schedule that the pass `default_cpu` makes of a function; no step where the function says how it runs.

    The pass puts versions for short lines of symbolic length (`for_lengths`) and for products of one row and of few
    beside it, which are in no trace.
    Its `trace` (`tidied` makes it shorter) can be printed, edited and replayed on
    `Schedule(with_joined_lines(with_clamped_lines(blocks_from_loops(with_several_results(plain)))))`, where `plain` is
    `with_whole_axes(with_serial_loops(without_idle_casts(func)))`.
    The attribute "fastmath" of False keeps sums of floats in their order, as `reassociate` of False does.
    """
    return _scheduled(func, facts or CpuFacts()).sch


def scheduled(func: PrimFunc, facts: CpuFacts) -> PrimFunc:
    """What the pass `default_cpu` makes of a function: schedules, and vectors of what stayed plain loops."""
    with recursion_room():
        plain = with_serial_loops(without_idle_casts(func))
        if not may_schedule(plain):
            return func
        made = cut_ends(kept_loads(lane_sums(_with_vectors(with_several_results(plain), facts), facts)))
        return func if made is plain else made


def _with_vectors(func: PrimFunc, facts: CpuFacts) -> PrimFunc:
    """A function whose loops are serial with schedules of its blocks, and vectors of loops around others."""
    schedule = _scheduled(func, facts)
    if _steps(schedule) <= {"fuse", "parallel", "decompose_reduction", "unroll"}:
        # no more than threads: loops around vectors have these, too
        made = outer_vectors(func, facts, _with_vectors)
        if not _changes(schedule) or (has_vectors(made.body) and _has_threads(made) >= _has_threads(schedule.sch.func)):
            return made
    made = outer_vectors(_for_lengths(func, facts, schedule), facts, _with_vectors)
    few = with_few_rows(schedule.given, schedule.few)
    if few is not None:
        made = beside(_with_vectors(few[0], facts), few[1], made, "_few")
    one = with_one_row(func, schedule.rows)
    return made if one is None else beside(_with_vectors(one[0], facts), one[1], made, "_row")


def for_lengths(func: PrimFunc, facts: CpuFacts) -> PrimFunc:
    """What `default_schedule` makes of a function, and beside it, where it reduces lines of symbolic length in lanes, a
    version for short ones; the function itself where there is nothing to do."""
    return _for_lengths(func, facts, _scheduled(func, facts))


def _for_lengths(func: PrimFunc, facts: CpuFacts, made: Work) -> PrimFunc:
    if not _changes(made):
        return func
    lines, long = {n: least for n, least in made.lines.items() if is_known(func, n)}, made.sch.func
    if not lines or not may_have_versions(func):
        return long
    short = _scheduled(func, structs.replace(facts, long_lines=False)).sch.func
    with recursion_room():
        conditions = [get_op("less")(extent, const(least, extent.dtype)) for extent, least in lines.items()]
        return beside(short, conditions, long, "_short")


def _has_threads(func: PrimFunc) -> bool:
    return any(type(node) is For and node.kind == "parallel" for node in walk(func.body))


def _steps(made: Work) -> set[str]:
    """The primitives that a schedule consists of."""
    return {step.primitive for step in made.sch.trace.steps if not PRIMITIVES[step.primitive].query}


def _changes(made: Work) -> bool:
    """Whether a schedule makes another function."""
    return made.moved or bool(_steps(made))


def _scheduled(func: PrimFunc, facts: CpuFacts) -> Work:
    """The schedule of a function, with what was found out for it."""
    if func.attrs.get("fastmath") is False:
        facts = structs.replace(facts, reassociate=False)
    with recursion_room():
        plain = with_serial_loops(without_idle_casts(func))
        if not may_schedule(plain):
            return Work(Schedule(func), facts)
        whole = with_whole_axes(plain, ordered=not facts.reassociate)
        made = _of_loops(whole, facts)
        if whole is not plain and (kept := best_in_tiles(made)):
            whole = with_whole_axes(plain, ordered=not facts.reassociate, kept=kept)
            made = _of_loops(whole, facts)
        # loops that run once are no reason to say that the function is another
        made.moved |= whole is not plain and counts_otherwise(whole, plain)
        return made


def _of_loops(func: PrimFunc, facts: CpuFacts) -> Work:
    """The schedule of a function whose loops are those of the axes where they can be."""
    func = regular_loops(with_several_results(func))
    found = _symbolic(func, facts) if sizes_of(func) or not facts.long_lines else None
    return found or _ruled(named_apart(with_blocks(func, reassociate=facts.reassociate)), facts)


def _ruled(blocks: PrimFunc, facts: CpuFacts, begun: Set[str] = frozenset()) -> Work:
    """What the rules make of blocks."""
    given = with_joined_lines(with_clamped_lines(blocks))
    work = apply_rules(Schedule(given), facts, begun)
    work.moved = given is not blocks
    return work


def _symbolic(func: PrimFunc, facts: CpuFacts) -> Work | None:
    """The schedule of a function whose loops have symbolic sizes; None where there are none, or sums remain.

    The init of a sum without terms would be left out by its block: so none that was made of a loop may be left.
    """
    blocks = named_apart(with_blocks(func, symbolic=True, long_lines=facts.long_lines, reassociate=facts.reassociate))
    if not any(type(node) is Block and _symbolic_axes(node) for node in walk(blocks.body)):
        return None
    names = [node.name for node in walk(func.body, Block)]
    given = set(names)
    # those that share a name have been named apart, and are not known among those made of loops
    apart = len(given) == len(names)
    begun = {node.name for node in walk(blocks.body, Block) if apart and node.name not in given}
    made = _ruled(blocks, facts, begun)
    for node in walk(made.sch.func.body):
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


__all__ = [
    "CpuFacts",
    "default_schedule",
    "for_lengths",
    "scheduled",
    "tidied",
    "with_clamped_lines",
    "with_joined_lines",
    "with_serial_loops",
    "with_several_results",
    "with_whole_axes",
    "without_idle_casts",
]
