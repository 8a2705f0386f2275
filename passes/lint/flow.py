"""What goes from statement to statement through memory: races, reads of what nothing wrote, stores that are lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Assume,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    Diagnostic,
    For,
    If,
    Label,
    Node,
    PrimFunc,
    Stmt,
    Var,
    While,
    walk,
)

from .table import lint_check, warning, without_regions
from .unreachable import empty

if TYPE_CHECKING:
    from tirscript.ir.arith.presburger.dependences import Dependence, Dependences
    from tirscript.ir.arith.presburger.steps import Step

LARGEST = 1 << 20  # sizes are taken to be from 1 to this
MOST_STEPS = 40  # of a function that is looked at; the work grows with their square
_AT_ONCE = {"parallel": "run at once", "vectorized": "are the lanes of vectors"}


def _dependences(func: PrimFunc, sizes: tuple[int, int] = (1, LARGEST)) -> Dependences | None:
    """The dependences of a function, for symbolic dimensions of these sizes; None of one that is too large."""
    from tirscript.ir.arith.presburger.dependences import Dependences

    ranges = dict.fromkeys(func.symbols, sizes)
    if sum(isinstance(node, BufferStore) for node in walk(func.body)) > MOST_STEPS:
        return None
    # arrays that are the same memory are the caller's mistake
    found = Dependences(func, ranges, noalias=True)
    return found if len(found.steps) <= MOST_STEPS else None


@lint_check("T611")
def race(func: PrimFunc) -> Iterator[Diagnostic]:
    """Iterations of a parallel or vectorized loop that certainly touch the same element, and one of them writes."""
    loops = [node for node in walk(func.body) if isinstance(node, For) and node.kind in _AT_ONCE]
    deps = _dependences(func) if loops else None
    if deps is None:
        return
    from tirscript.ir.arith.presburger.legality import may_parallel

    for loop in loops:
        verdict = may_parallel(deps, loop)
        for one in verdict.violations:
            if one.exact and not (loop.kind == "parallel" and _constant(one)):
                yield _race(loop, one)
                break


def _constant(one: Dependence) -> bool:
    """Whether it is one element that every iteration writes, which the verifier tells (T209)."""
    node: Any = one.source.node
    return isinstance(node, BufferStore) and all(type(index) is Const for index in node.indices)


def _race(loop: For, one: Dependence) -> Diagnostic:
    source, sink = one.source_access.node, one.sink_access.node
    notes = (
        [] if loop.span is None else [Label(loop.span, f"the iterations of `{loop.var.name}` {_AT_ONCE[loop.kind]}")]
    )
    if sink is not source and sink.span is not None:
        notes.append(Label(sink.span, "the other access"))
    message = f"iterations of `{loop.var.name}` race: {one}"
    return warning(
        "T611",
        message,
        source.span or loop.span,
        notes=notes,
        hint="make the loop serial, or let each iteration write elements of its own",
    )


@lint_check("T612")
def unwritten(func: PrimFunc) -> Iterator[Diagnostic]:
    """A read of an element of the function's own memory that nothing has certainly written before."""
    deps = _dependences(func) if any(isinstance(node, AllocBuffer) for node in walk(func.body)) else None
    if deps is None:
        return
    from tirscript.ir.arith.presburger.legality import uncovered_reads

    # what is given away may be written anywhere, and constants hold their elements
    apart = (BufferData, BufferRegion, AllocateConst)
    given = {id(node.buffer) for node in walk(without_regions(func)) if isinstance(node, apart)}
    seen: set[int] = set()
    found = uncovered_reads(deps)
    certain = {id(one.access.node): one for one in uncovered_reads(deps, proved=True)} if found else {}
    for one in found:
        node: Node = one.access.node
        if id(node) in seen or id(one.access.root.buffer) in given:
            continue
        seen.add(id(node))
        name, place = one.access.root.name, node.span or one.step.node.span
        if id(node) not in certain:  # a permutation that is read from memory writes all, and nothing says so
            message = f"it is not known whether `{name}` is written before it is read here"
            hint = "which elements are written depends on memory or conditions: fill it before, if that may be fewer"
            yield warning("T612", message, place, hint=hint)
            continue
        one = certain[id(node)]
        values = _values(
            {**one.values, **{symbol: value for symbol, value in one.symbols.items() if isinstance(symbol, Var)}}
        )
        message = f"`{name}` is read before it is written{values}"
        yield warning("T612", message, place, hint="write the elements before, or read fewer")


def _values(values: dict[Any, int]) -> str:
    return f": {', '.join(f'{var.name} = {value}' for var, value in values.items())}" if values else ""


@lint_check("T613")
def lost(func: PrimFunc) -> Iterator[Diagnostic]:
    """A store all of whose elements are overwritten before anything reads them."""
    deps = _dependences(func)
    if deps is None:
        return
    from tirscript.ir.arith.presburger.legality import dead_stores

    # buffers that nothing reads at all, and what is never executed, are told as that
    known = {id(node.buffer) for node in walk(func.body) if isinstance(node, BufferLoad)}
    known |= set(map(id, func.param_buffers))
    for step in dead_stores(deps):
        node: Stmt = step.node
        if not isinstance(node, BufferStore) or id(node.buffer) not in known or any(map(_never, step.path)):
            continue
        if _has_no_iterations(deps, step):
            continue
        name = node.buffer.name
        yield warning("T613", f"what is stored in `{name}` here is never read", node.span, hint="leave the store out")


def never_run(func: PrimFunc) -> Iterator[BufferStore]:
    """The stores whose conditions never hold together, such as in `if n < 3:` within `if n > 5:`.

    Not of a function with assumptions: where those contradict each other they are the mistake.
    """
    nodes = list(walk(func.body))
    if any(isinstance(node, Assume) for node in nodes) or not any(isinstance(node, If) for node in nodes):
        return
    deps = _dependences(func, (0, (1 << 31) - 1))  # of int32 at least, and empty ones too
    if deps is None:
        return
    for step in deps.steps:
        if isinstance(step.node, BufferStore) and not any(map(_never, step.path)) and _has_no_iterations(deps, step):
            yield step.node


def _has_no_iterations(deps: Dependences, step: Step) -> bool:
    """Whether no values of the variables let a statement run."""
    from tirscript.ir.arith.presburger.relations import Unknown

    try:
        with deps.relations.bounded():
            return bool(deps.relations.within(deps.relations.domain(step)[0]).is_empty())
    except Unknown:
        return False


def _never(stmt: Stmt) -> bool:
    """Whether a statement has a body that is certainly not executed."""
    if isinstance(stmt, (If, While)):
        return isinstance(stmt.condition, Const)
    return isinstance(stmt, For) and empty(stmt)
