"""Random schedules, for hypothesis: programs of blocks, and sequences of primitives on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tirscript.ir.func import PrimFunc
from tirscript.ir.stmt import AllocBuffer
from tirscript.passes.schedule import BlockHandle, LoopHandle, Schedule, ScheduleError
from tirscript.script import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[st.SearchStrategy[Any]], Any]

KINDS = ("elementwise", "transpose", "shift", "sum", "contraction", "choice")


@st.composite
def schedulable_programs(draw: Any) -> PrimFunc:
    """Functions of one to five blocks on int32 buffers, each reading what an earlier one made or an argument."""
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    lines: list[str] = []
    params = [f'A: T.Buffer(({rows}, {columns}), "int32")']
    known: list[tuple[str, int, int]] = [("A", rows, columns)]
    stages = draw(st.integers(1, 5))
    allocations: list[str] = []
    for stage in range(stages):
        # mostly what was made last, so that there are producers and consumers
        source, m, n = known[-1] if draw(st.integers(0, 3)) else draw(st.sampled_from(known))
        kind = draw(st.sampled_from(KINDS))
        name = f"B{stage}"
        last = stage == stages - 1
        shape, body = _stage(draw, kind, name, source, m, n, known)
        conditional = draw(st.integers(0, 4)) == 0
        if conditional:  # what it leaves out stays what it was, so the buffer is a parameter
            body = _conditional(draw, body)
        if last or conditional:
            params.append(f'{name}: T.Buffer({shape}, "int32")')
        else:
            allocations.append(f'{name} = T.alloc_buffer({shape}, "int32")')
        lines += body
        known.append((name, *shape))
    text = "\n".join(f"    {line}" for line in (*allocations, *lines))
    func = parse(f"@T.prim_func\ndef main({', '.join(params)}):\n{text}\n")
    assert isinstance(func, PrimFunc)
    return func


def _stage(
    draw: Draw, kind: str, name: str, source: str, m: int, n: int, known: list[tuple[str, int, int]]
) -> tuple[tuple[int, int], list[str]]:
    """The shape of what a block makes, and its lines."""
    factor = draw(st.integers(-2, 3))
    if kind == "elementwise":
        same = [other for other, *shape in known if shape == [m, n]]
        other = draw(st.sampled_from(same))
        value = f"{source}[vi, vj] * {factor} + {other}[vi, vj] - vi"
        return (m, n), _nest(name, [m, n], "SS", ["vi", "vj"], value)
    if kind == "choice":
        cut, element = draw(st.integers(0, n)), f"{name}[vi, vj]"
        lines = _nest(name, [m, n], "SS", ["vi", "vj"], f"{source}[vi, vj] * {factor}")
        return (m, n), [
            *lines[:-1],
            f"        if vj < {cut}:",
            f"            {lines[-1].strip()}",
            "        else:",
            f"            {element} = {source}[vi, vj] - vj",
        ]
    if kind == "transpose":
        return (n, m), _nest(name, [m, n], "SS", ["vj", "vi"], f"{source}[vi, vj] + {factor}")
    if kind == "shift":
        width = draw(st.integers(1, n))
        if width == n:
            return (m, 1), _nest(name, [m, 1], "SS", ["vi", "vj"], f"{source}[vi, vj] * {factor}")
        value = f"{source}[vi, vj] + {source}[vi, vj + {n - width}]"
        return (m, width), _nest(name, [m, width], "SS", ["vi", "vj"], value)
    if kind == "sum":
        return (m, 1), _nest(name, [m, 1, n], "SSR", ["vi", "vj"], f"{source}[vi, vk]", combine=draw(_COMBINERS))
    value = f"{source}[vi, vk] * {source}[vj, vk]"
    return (m, m), _nest(name, [m, m, n], "SSR", ["vi", "vj"], value, combine="+")


def _conditional(draw: Draw, lines: list[str]) -> list[str]:
    """The lines of a nest with an `if` around the block, around some of its loops, or around all of them."""
    head, *inside = lines
    names, _, extents = head.removeprefix("for ").removesuffix("):").partition(" in T.grid(")
    loops = [
        f"for {name} in range({extent}):" for name, extent in zip(names.split(", "), extents.split(", "), strict=True)
    ]
    depth = draw(st.integers(0, len(loops)))
    condition = draw(st.sampled_from(("A[0, 0] > 0", *_CONDITIONS[depth])))
    loops.insert(depth, f"if {condition}:")
    nest = [f"{'    ' * at}{line}" for at, line in enumerate(loops)]
    return [*nest, *("    " * (len(loops) - 1) + line for line in inside)]


# by how many loops are around them
_CONDITIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("i < 3", "i % 2 == 0"),
    ("j % 2 == 0", "i + j < 4"),
    ("k > 0", "k % 2 == 1", "i + k < 4"),
)


_COMBINERS = st.sampled_from(("+", "max", "min"))
_INITS = {"+": "0", "max": "T.min_value('int32')", "min": "T.max_value('int32')"}


def _nest(
    name: str, extents: list[int], kinds: str, at: list[str], value: str, combine: str | None = None
) -> list[str]:
    loops = ["i", "j", "k"][: len(extents)]
    axes = [f"v{loop}" for loop in loops]
    element = f"{name}[{', '.join(at)}]"
    lines = [
        f"for {', '.join(loops)} in T.grid({', '.join(map(str, extents))}):",
        f'    with T.block("{name}"):',
        f'        {", ".join(axes)} = T.axis.remap("{kinds}", [{", ".join(loops)}])',
    ]
    if combine is None:
        return [*lines, f"        {element} = {value}"]
    made = f"{element} + {value}" if combine == "+" else f"T.{combine}({element}, {value})"
    return [
        *lines,
        "        with T.init():",
        f"            {element} = {_INITS[combine]}",
        f"        {element} = {made}",
    ]


@st.composite
def schedules(draw: Any, *, steps: int = 8) -> tuple[PrimFunc, Schedule]:
    """A program, and a schedule of it after up to `steps` random steps; refused ones leave no trace."""
    program = draw(schedulable_programs())
    schedule = Schedule(program, seed=0, verify=True)
    for _ in range(draw(st.integers(1, steps))):
        move = draw(st.sampled_from(_MOVES))
        try:
            move(draw, schedule)
        except ScheduleError:
            continue
    return program, schedule


def _block(draw: Draw, schedule: Schedule) -> BlockHandle:
    blocks: list[BlockHandle] = schedule.get_child_blocks("root")
    block: BlockHandle = draw(st.sampled_from(blocks))
    return block


def _loops(draw: Draw, schedule: Schedule) -> list[LoopHandle]:
    loops: list[LoopHandle] = schedule.get_loops(_block(draw, schedule))
    return loops


def _loop(draw: Draw, schedule: Schedule) -> LoopHandle:
    loops = _loops(draw, schedule)
    if not loops:
        raise _nothing(schedule)
    loop: LoopHandle = draw(st.sampled_from(loops))
    return loop


def _nothing(schedule: Schedule) -> ScheduleError:
    """The refusal of a step that there is nothing for."""
    from tirscript.passes.schedule.refusal import refusal

    return refusal("T501", "there is no such loop", None)


def _split(draw: Draw, schedule: Schedule) -> None:
    factors: list[int | None] = [None, draw(st.integers(1, 5))]
    if draw(st.booleans()):
        factors.append(draw(st.integers(1, 3)))
    schedule.split(_loop(draw, schedule), factors=factors, preserve_unit_iters=draw(st.booleans()))


def _fuse(draw: Draw, schedule: Schedule) -> None:
    loops = _loops(draw, schedule)
    if len(loops) < 2:
        raise _nothing(schedule)
    first = draw(st.integers(0, len(loops) - 2))
    schedule.fuse(*loops[first : draw(st.integers(first + 2, len(loops)))])


def _reorder(draw: Draw, schedule: Schedule) -> None:
    loops = _loops(draw, schedule)
    if len(loops) < 2:
        raise _nothing(schedule)
    schedule.reorder(*draw(st.permutations(loops)))


def _cache_read(draw: Draw, schedule: Schedule) -> None:
    schedule.cache_read(_block(draw, schedule), draw(st.integers(0, 1)), draw(st.sampled_from(("local", "global"))))


def _cache_write(draw: Draw, schedule: Schedule) -> None:
    schedule.cache_write(_block(draw, schedule), 0, draw(st.sampled_from(("local", "global"))))


def _transform_layout(draw: Draw, schedule: Schedule) -> None:
    factor = draw(st.integers(1, 4))
    maps = (
        lambda i, j: (j, i),
        lambda i, j: (i // factor, j, i % factor),
        lambda i, j: (i, (j + 1) // factor, (j + 1) % factor),
    )
    block = _block(draw, schedule)
    inner = {alloc.name for alloc in _allocated(schedule)}
    names = [name for name in _buffers(schedule, block) if name in inner]
    if not names:
        raise _nothing(schedule)
    pad = draw(st.sampled_from((None, 0, 7)))
    schedule.transform_layout(block, draw(st.sampled_from(names)), draw(st.sampled_from(maps)), pad_value=pad)


def _allocated(schedule: Schedule) -> list[Any]:
    return [stmt.buffer for stmt in schedule.func.body if isinstance(stmt, AllocBuffer)]


def _buffers(schedule: Schedule, block: BlockHandle) -> list[str]:
    from tirscript.ir.buffer import Buffer
    from tirscript.ir.rewrite import walk

    found = {node.name: None for node in walk(schedule.get(block), Buffer) if node.ndim == 2}
    return list(found)


def _compute_at(draw: Draw, schedule: Schedule) -> None:
    _move(draw, schedule, schedule.get_consumers, schedule.compute_at)


def _reverse_compute_at(draw: Draw, schedule: Schedule) -> None:
    _move(draw, schedule, schedule.get_producers, schedule.reverse_compute_at)


def _move(draw: Draw, schedule: Schedule, others: Any, move: Any) -> None:
    """Move a block into a loop, mostly one around a block that it has to do with."""
    block = _block(draw, schedule)
    found = others(block)
    loops = schedule.get_loops(found[-1]) if found else []
    loop = draw(st.sampled_from(loops)) if loops else _loop(draw, schedule)
    move(block, loop, preserve_unit_loops=draw(st.booleans()))


def _roll(draw: Draw, schedule: Schedule) -> None:
    """Roll what a block makes, mostly in a loop over parts of its last reader, which it moves into before."""
    block = _block(draw, schedule)
    readers = schedule.get_consumers(block)
    if readers and draw(st.integers(0, 3)):
        loops = schedule.get_loops(readers[-1])
        if not loops:
            raise _nothing(schedule)
        outer, _ = schedule.split(draw(st.sampled_from(loops)), [None, draw(st.integers(1, 3))])
        schedule.compute_at(block, outer, preserve_unit_loops=draw(st.booleans()))
    schedule.rolling_buffer(block, 0)


def _sequential(draw: Draw, schedule: Schedule) -> None:
    block = _block(draw, schedule)
    inner = {alloc.name for alloc in _allocated(schedule)}
    names = [name for name in _buffers(schedule, block) if name in inner]
    if not names:
        raise _nothing(schedule)
    schedule.sequential_buffer_access(block, draw(st.sampled_from(names)))


def _merge(draw: Draw, schedule: Schedule) -> None:
    """Merge the loops around two blocks, mostly neighbours."""
    blocks = schedule.get_child_blocks("root")
    at = draw(st.integers(0, len(blocks) - 1))
    loops = [schedule.get_loops(block) for block in blocks[at : at + 2]]
    if len(loops) < 2 or not all(loops):
        raise _nothing(schedule)
    schedule.merge(loops[0][0], loops[1][0])


_MOVES: tuple[Any, ...] = (
    _split,
    _split,
    _fuse,
    _reorder,
    _cache_read,
    _cache_write,
    _compute_at,
    _compute_at,
    _reverse_compute_at,
    _transform_layout,
    lambda draw, s: s.parallel(_loop(draw, s)),
    lambda draw, s: s.vectorize(_loop(draw, s)),
    lambda draw, s: s.unroll(_loop(draw, s)),
    lambda draw, s: s.add_unit_loop(_block(draw, s)),
    lambda draw, s: s.compute_inline(_block(draw, s)),
    lambda draw, s: s.reverse_compute_inline(_block(draw, s)),
    lambda draw, s: s.rfactor(_loop(draw, s), draw(st.integers(0, 2))),
    lambda draw, s: s.decompose_reduction(_block(draw, s), _loop(draw, s)),
    lambda draw, s: s.reindex(_block(draw, s), (draw(st.sampled_from(("read", "write"))), 0)),
    lambda draw, s: s.storage_align(_block(draw, s), 0, 0, draw(st.sampled_from((4, 8))), draw(st.integers(0, 3))),
    lambda draw, s: s.loop_partition(_loop(draw, s), [draw(st.integers(1, 3)), None]),
    lambda draw, s: s.reorder_block_iter_var(_block(draw, s), [1, 0]),
    lambda draw, s: s.read_at(_loop(draw, s), _block(draw, s), 0, "local"),
    lambda draw, s: s.write_at(_loop(draw, s), _block(draw, s), 0, "local"),
    _sequential,
    _roll,
    _merge,
    lambda draw, s: s.fuse_reduction_epilogue(_block(draw, s), _block(draw, s)),
    lambda draw, s: s.cache_inplace(_block(draw, s), 0, "local"),
    lambda draw, s: s.reindex_cache_read(_block(draw, s), draw(st.integers(0, 1)), "local", lambda i, j: (j, i)),
    lambda draw, s: s.reindex_cache_read(_block(draw, s), 0, "local", lambda i, j, k: (k, i // 2, i % 2, j)),
    lambda draw, s: s.reindex_cache_write(_block(draw, s), 0, "local", lambda i, j: (j // 2, i, j % 2)),
    lambda draw, s: s.reindex_cache_write(_block(draw, s), 0, "local", lambda i, j, k: (j, i)),
    lambda draw, s: s.pad_einsum(_block(draw, s), [draw(st.integers(1, 4)) for _ in range(3)]),
    lambda draw, s: s.vectorize_inner(_block(draw, s), draw(st.integers(1, 4))),
    lambda draw, s: s.pack(_block(draw, s), draw(st.integers(0, 1)), "local"),
    lambda draw, s: s.blockize(_loop(draw, s), preserve_unit_iters=draw(st.booleans())),
    lambda draw, s: s.blockize(list({_block(draw, s), _block(draw, s)})),
    lambda draw, s: s.transform_block_layout(_block(draw, s), lambda i, j: (j, i)),
)

__all__ = ["schedulable_programs", "schedules"]
