"""Dependences of random loop nests, against a trace of what each iteration touches."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
from helpers.nests import Writer, func_of, nests
from helpers.tracing import Event, Trace
from hypothesis import given, settings
from hypothesis import strategies as st

from tirscript.ir import For, PrimFunc, Var, walk
from tirscript.ir.arith.presburger import (
    Dependences,
    dead_stores,
    last_writes,
    may_merge,
    may_parallel,
    may_permute,
    may_swap,
    uncovered_reads,
)
from tirscript.script import parse


def touches(event: Event, kind: int) -> list[Any]:
    return event.writes if kind else event.reads


def shared_loops(a: Event, b: Event) -> int:
    count = 0
    for one, other in zip(a.loops, b.loops):
        if one is not other:
            break
        count += 1
    return count


def level_of(a: Event, b: Event) -> int | None:
    shared = shared_loops(a, b)
    return next((at for at in range(shared) if a.iteration[at] != b.iteration[at]), None)


def true_pairs(events: list[Event]) -> set[Any]:
    """(source, sink, kind, level, iteration, iteration) of all pairs of events that touch one element in order."""
    found = set()
    for a, b in itertools.combinations(events, 2):
        for writes, also in ((1, 0), (0, 1), (1, 1)):
            if set(touches(a, writes)) & set(touches(b, also)):
                kind = "output" if writes and also else "flow" if writes else "anti"
                found.add((id(a.stmt), id(b.stmt), kind, level_of(a, b), a.iteration, b.iteration))
    return found


def points(relation: Any, split: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    import islpy

    found: list[Any] = []

    def add(point: Any) -> None:
        values = [point.get_coordinate_val(islpy.dim_type.set, at).to_python() for at in range(size)]
        found.append((tuple(values[:split]), tuple(values[split:])))

    wrapped = relation.wrap()
    size = wrapped.dim(islpy.dim_type.set)
    wrapped.foreach_point(add)
    return found


@settings(max_examples=12, deadline=None)
@given(nests())
def test_dependences_are_those_of_the_trace(func: PrimFunc) -> None:
    expected = true_pairs(Trace(func).events)
    found = set()
    for one in Dependences(func).all():
        assert one.exact and one.relation is not None and one.iterations is not None
        for first, second in points(one.relation, len(one.source.loops)):
            found.add((id(one.source.node), id(one.sink.node), one.kind, one.level, first, second))
        example = (tuple(one.iterations.first.values()), tuple(one.iterations.second.values()))
        assert (id(one.source.node), id(one.sink.node), one.kind, one.level, *example) in expected
    assert found == expected


@settings(max_examples=12, deadline=None)
@given(nests())
def test_distances_and_directions(func: PrimFunc) -> None:
    deps = Dependences(func)
    for one in deps.all():
        shared = deps.relations.common(one.source, one.sink)
        signs = [-1 if loop.backward else 1 for loop in one.source.loops[:shared]]
        pairs = points(one.relation, len(one.source.loops))
        for at, (distance, direction) in enumerate(zip(deps.distance(one), deps.direction(one), strict=True)):
            gaps = {(second[at] - first[at]) * signs[at] for first, second in pairs}
            assert distance == (gaps.pop() if len(gaps) == 1 else None) or len(gaps) == 0
            gaps = {(second[at] - first[at]) * signs[at] for first, second in pairs}
            low, high = min(gaps), max(gaps)
            words = (
                "<"
                if low > 0
                else ">"
                if high < 0
                else "="
                if low == high
                else "<="
                if low == 0
                else ">="
                if high == 0
                else "*"
            )
            assert direction == words


def conflicting(a: Event, b: Event) -> bool:
    return any(set(touches(a, w)) & set(touches(b, v)) for w, v in ((1, 0), (0, 1), (1, 1)))


@settings(max_examples=12, deadline=None)
@given(nests())
def test_parallel_loops_are_those_without_a_carried_conflict(func: PrimFunc) -> None:
    events = Trace(func).events
    deps = Dependences(func)
    for loop in (node for node in walk(func) if type(node) is For):
        inside = [event for event in events if any(one is loop for one in event.loops)]
        carried = any(
            conflicting(a, b) and (level := level_of(a, b)) is not None and a.loops[level] is loop
            for a, b in itertools.combinations(inside, 2)
        )
        verdict = may_parallel(deps, loop)
        assert verdict.legal is (not carried)
        assert bool(verdict.violations) is carried
        steps = [step for step in deps.steps_in(loop) if any(one.node is loop for one in step.loops)]
        if steps:
            level = next(at for at, one in enumerate(steps[0].loops) if one.node is loop)
            assert deps.apart(steps, level) is (not carried)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_permutations_keep_conflicts_in_order(data: st.DataObject) -> None:
    writer = Writer(data.draw)
    count = data.draw(st.integers(2, 3))
    names = [f"i{at}" for at in range(count)]
    ranges = ["range(4)", "range(1, 5)", "range(4, -1, -1)"]
    lines = [f"{'    ' * at}for {name} in {data.draw(st.sampled_from(ranges))}:" for at, name in enumerate(names)]
    inner = [f"{writer.target(names, [])} = {writer.value(names, [])}" for _ in range(data.draw(st.integers(1, 2)))]
    func = func_of(lines + ["    " * count + line for line in inner])
    loops = [node for node in walk(func) if type(node) is For]
    order = data.draw(st.permutations(loops))
    events = Trace(func).events
    signs = {id(loop): -1 if loop.step is not None else 1 for loop in loops}

    def key(event: Event) -> tuple[Any, ...]:
        at = dict(zip(map(id, event.loops), event.iteration))
        return tuple(at[id(loop)] * signs[id(loop)] for loop in order)

    turned = any(conflicting(a, b) and key(b) < key(a) for a, b in itertools.combinations(events, 2))
    verdict = may_permute(Dependences(func), loops, order)
    assert verdict.legal is (not turned)
    for violation in verdict.violations:
        assert violation.iterations is not None


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_merging_and_swapping_keep_conflicts_in_order(data: st.DataObject) -> None:
    writer = Writer(data.draw)
    span = data.draw(st.sampled_from(("range(4)", "range(4, -1, -1)", "range(0, 6, 2)")))
    lines = ["for o in range(3):"]
    for name in ("i", "j"):
        lines += [f"    for {name} in {span}:", *(f"        {line}" for line in writer.body(1, ["o", name], []))]
    func = func_of(lines)
    outer = func.body[0]
    assert type(outer) is For
    first, second = outer.body
    assert type(first) is For and type(second) is For
    events = Trace(func).events
    sign = -1 if "-1" in span else 1
    before = [event for event in events if event.loops[1] is first]
    after = [event for event in events if event.loops[1] is second]
    pairs = [(a, b) for a in before for b in after if a.iteration[0] == b.iteration[0] and conflicting(a, b)]
    deps = Dependences(func)
    assert may_merge(deps, first, second).legal is not any(
        b.iteration[1] * sign < a.iteration[1] * sign for a, b in pairs
    )
    assert may_swap(deps, first, second).legal is (not pairs)


@settings(max_examples=12, deadline=None)
@given(nests())
def test_stores_and_reads_over_time(func: PrimFunc) -> None:
    events = Trace(func).events
    deps = Dependences(func, operations=50_000_000)  # what it finds is compared with all that there is
    params = set(func.params)
    live: set[int] = set()
    last: dict[Any, Event] = {}
    uncovered: set[tuple[int, tuple[int, ...]]] = set()
    for event in events:
        for element in event.reads:
            if element in last:
                live.add(id(last[element].stmt))
            elif element[0] not in params:
                uncovered.add((id(event.stmt), event.iteration))
        for element in event.writes:
            last[element] = event
    final = {element: event for element, event in last.items() if element[0] in params}
    live |= {id(event.stmt) for event in final.values()}
    run = {id(event.stmt) for event in events}
    for step in dead_stores(deps):
        assert id(step.node) not in live
    dead = {id(step.node) for step in dead_stores(deps)}
    assert {at for at in run if at not in live and not any(s.reduction for s in deps.steps if id(s.node) == at)} <= dead
    for buffer in func.params:
        steps = {id(step.node) for step in last_writes(deps, buffer)}  # type: ignore[arg-type]
        assert steps & run == {id(event.stmt) for element, event in final.items() if element[0] is buffer}
    found = uncovered_reads(deps)
    assert {id(one.step.node) for one in found} == {at for at, _ in uncovered}
    for one in found:
        assert (id(one.step.node), tuple(one.values.values())) in uncovered


@st.composite
def flat_nests(draw: st.DrawFn) -> PrimFunc:
    """Nests whose indices are sums, quotients and vectors, such as layouts and tiles make them."""
    extents = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3))
    names = [f"i{at}" for at in range(len(extents))]
    factor = st.sampled_from((0, 1, 1, 2, 3, 4, 4, 8, 12))

    def place(deep: int) -> str:
        total = " + ".join(f"{name} * {draw(factor)}" for name in names[:deep]) + f" + {draw(st.integers(0, 3))}"
        kind = draw(st.integers(0, 3))
        if kind == 0:
            return f"C[({total}) // 4, ({total}) % 4]"
        if kind == 1:
            return f"C[{total}, {draw(st.sampled_from(names[:deep]))}]"
        if kind == 2:
            return f"A[n * {draw(st.integers(0, 2))} + {total}]"
        return f"A[T.Ramp({total}, {draw(st.integers(1, 2))}, {draw(st.sampled_from((2, 4)))})]"

    def statement(deep: int) -> str:
        target, value = place(deep), place(deep)
        if "Ramp" in target:
            lanes = target[-3]
            value = f"T.Broadcast({value}, {lanes})" if "Ramp" not in value else target
        elif "Ramp" in value:
            value = "B[0]"
        return f"{target} = {value}"

    lines = []
    for deep, (name, extent) in enumerate(zip(names, extents)):
        lines.append("    " * deep + f"for {name} in range({extent}):")
        for _ in range(draw(st.integers(deep == len(names) - 1, 2))):
            lines.append("    " * (deep + 1) + statement(deep + 1))
    return func_of(
        lines,
        'n: T.int32, A: T.Buffer((400,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((80, 80), "float32")',
    )


@settings(max_examples=40, deadline=None)
@given(flat_nests())
def test_what_is_seen_from_coefficients_is_what_isl_finds(func: PrimFunc) -> None:
    def found() -> set[tuple[object, ...]]:
        accesses = ("source_access", "sink_access")
        return {
            (one.source.number, one.sink.number, one.level, one.exact, *(id(getattr(one, name)) for name in accesses))
            for one in deps.all()
        }

    deps = Dependences(func)
    quick = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[Dependences.__module__], "separate", lambda *args: False)
        assert found() == quick


def test_sizes_are_those_that_their_type_holds() -> None:
    """No loop over 2**31 in int32 runs, so `1 << 31` for the greatest size read what was never written."""
    func = parse("""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), n: T.int32):
    C = T.alloc_buffer((4,), "float32")
    for i in range(n):
        C[0] = T.float32(1)
    A[0] = C[0]
""")
    assert isinstance(func, PrimFunc)
    size = func.params[1]
    assert isinstance(size, Var)
    assert [one.symbols for one in uncovered_reads(Dependences(func))] == [{size: 0}]
    assert uncovered_reads(Dependences(func, {size: (1, 1 << 31)})) == []


def test_bounds_by_extremes_fall_into_no_pieces() -> None:
    lines = [
        "for y, x in T.grid(9, 9):",
        "    for a in range(T.max(y - n, 0), T.min(y + 2, n)):",
        "        for b in range(T.max(T.max(x - n, 1), y), T.min(x + 2, n)):",
        "            A[a] = A[a] + A[b]",
    ]
    deps = Dependences(func_of(lines, 'n: T.int32, A: T.Buffer((9,), "float32")'))
    assert [deps.relations.domain(step)[0].n_basic_set() for step in deps.steps] == [1]
