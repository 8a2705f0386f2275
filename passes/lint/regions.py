"""What a block says that it reads and writes, and does not: passes and schedules rely on T.reads and T.writes."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Block,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    DeclBuffer,
    Diagnostic,
    Expr,
    Label,
    MatchBuffer,
    Node,
    PrimFunc,
    Range,
    Stmt,
    get_op,
    walk,
)
from tirscript.ir.arith import Analyzer, walk_with_context
from tirscript.ir.rewrite import holds

from ..statements import conjunction
from .table import lint_check, warning

MOST = 20  # accesses of one function that are told

_OWN = (AllocBuffer, AllocateConst, DeclBuffer, MatchBuffer)


@lint_check("T614")
def left_out(func: PrimFunc) -> Iterator[Diagnostic]:
    """An access of a block that none of the regions contains which the block says that it reads or writes."""
    search = _Search()
    for block in walk(func.body, Block):
        if block.reads is not None or block.writes is not None:
            search.enter(block)
    if search.around:
        walk_with_context(func, search.visit, Analyzer())
    yield from search.found


class _Search:
    """Compares the accesses with the regions of the blocks around them."""

    def __init__(self) -> None:
        self.around: dict[int, list[Block]] = {}  # the blocks with regions around an access
        self.found: list[Diagnostic] = []
        self.told: set[tuple[int, int, bool]] = set()

    def enter(self, block: Block) -> None:
        """Note what a block accesses of memory that is not its own."""
        parts: list[Node] = [*block.body, *(block.init or ())]
        nodes = [node for part in parts for node in walk(part)]
        own = {id(node.buffer) for node in nodes if isinstance(node, _OWN)}
        own |= {id(stmt.buffer) for stmt in block.body if isinstance(stmt, _OWN)}
        regions = {id(node) for inner in nodes if type(inner) is Block for node in _regions(inner)}
        for node in nodes:
            if isinstance(node, (BufferLoad, BufferStore)) and id(node) not in regions:
                if id(node.buffer) not in own and not node.buffer.is_scalar:
                    self.around.setdefault(id(node), []).append(block)

    def visit(self, node: Node, analyzer: Analyzer) -> None:
        """Look at one access."""
        for block in self.around.get(id(node), ()):
            assert isinstance(node, (BufferLoad, BufferStore))
            if len(self.found) < MOST and not analyzer.facts.unreachable:
                self.access(block, node, analyzer)

    def access(self, block: Block, node: BufferLoad | BufferStore, analyzer: Analyzer) -> None:
        """An access in a block."""
        writes = isinstance(node, BufferStore)
        said = block.writes if writes else block.reads
        if said is None:
            return
        # what a reduction reads to update it is said as written
        regions = [one for one in (*said, *(() if writes else block.writes or ())) if one.buffer is node.buffer]
        if not writes and block.writes is None and any(_stores(stmt, node.buffer) for stmt in block.body):
            return
        where = None if not regions else _outside(node, regions, analyzer)
        if (regions and where is None) or (id(block), id(node.buffer), writes) in self.told:
            return
        self.told.add((id(block), id(node.buffer), writes))
        form, verb = ("T.writes", "writes") if writes else ("T.reads", "reads")
        name = f"block `{block.name}`" if block.name else "block"
        text = node.span.text.partition(" =")[0] if node.span is not None else node.buffer.name
        values = f": {where}" if where else ""
        message = f"the {name} {verb} `{text}`, which its `{form}` leaves out{values}"
        notes = [] if block.span is None else [Label(block.span, "the block is here")]
        hint = f"say it in `{form}(...)`, or leave `{form}` out: it is found in the block"
        self.found.append(warning("T614", message, node.span, notes=notes, hint=hint))


def _regions(block: Block) -> Iterator[Node]:
    for region in (*(block.reads or ()), *(block.writes or ())):
        yield from walk(region)


def _stores(stmt: Stmt, buffer: Buffer) -> bool:
    return any(isinstance(node, BufferStore) and node.buffer is buffer for node in walk(stmt))


def _outside(node: BufferLoad | BufferStore, regions: list[BufferRegion], analyzer: Analyzer) -> str | None:
    """Values for which an access is in no region; None where none were found."""
    if node.predicate is not None or any(index.dtype.is_vector for index in node.indices):
        return None
    if any(type(part) is BufferLoad for index in node.indices for part in walk(index)):
        return None  # an index from memory
    inside: Expr | None = None
    for region in regions:
        bounds = [one for index, part in zip(node.indices, region.ranges, strict=True) for one in _between(index, part)]
        whole = conjunction([one for one in bounds if not analyzer.can_prove(one)])
        if whole is None:
            return None
        inside = whole if inside is None else get_op("logical_or")(inside, whole)
    if inside is None or holds(inside, BufferLoad) or analyzer.can_prove(inside):
        return None
    return analyzer.explain(inside).counterexample


def _between(index: Expr, part: Range) -> list[Expr]:
    """That an index is in a range."""
    ends = [part.start, part.stop] if part.stop is not None else [part.start]
    wide = max((index.dtype, *(end.dtype for end in ends)), key=lambda kind: kind.bits)
    index, *ends = (
        Const(int(one.value), wide) if type(one) is Const else one if one.dtype is wide else get_op("cast")(one, wide)
        for one in (index, *ends)
    )
    if part.stop is None:
        return [get_op("equal")(index, ends[0])]
    return [get_op("less_equal")(ends[0], index), get_op("less")(index, ends[1])]


__all__ = ["left_out"]
