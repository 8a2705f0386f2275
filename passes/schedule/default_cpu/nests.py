"""A block with the loops around it as numbers: what the rules of the default schedule ask."""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.linear import Linear, linear
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, is_const
from tirscript.ir.node import Node
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import Axis, Bind, Block, BufferStore, For, If, ScalarDecl

from ...lower.flatten_buffer import flat_index
from ..primitive import BlockHandle, LoopHandle
from ..reducers import Update, update_of
from ..schedule import Schedule

# elements of a record of which lanes take one each
RECORD = 4
# what loops hold that lanes, or rows beside each other, take
TAKEN = frozenset((For, If, BufferStore, ScalarDecl, Bind))


class Dim(Struct, frozen=True, eq=False):
    """An axis of a block that is a loop alone: the axis, the loop, and how many iterations it has.

    Where that is not known, `known` is False and `extent` a number that is neither small nor a multiple of anything;
    the iterations are a multiple of `multiple`.
    """

    axis: Axis
    loop: LoopHandle
    extent: int
    known: bool = True
    multiple: int = 1

    @property
    def var(self) -> Var:
        return self.axis.var

    @property
    def reduces(self) -> bool:
        return self.axis.kind == "reduce"

    def divides(self, size: int) -> bool:
        """Whether `size` is known to divide the iterations."""
        return size == 1 or (self.known and self.extent % size == 0)


class Nest(Struct, frozen=True, eq=False):
    """A block whose axes are the loops around it one by one, outermost loop first, and nothing beside it in them.

    `update` is what a reduction does, None for a block that computes each element once; `store` its only statement.
    """

    handle: BlockHandle
    block: Block
    dims: tuple[Dim, ...]
    store: BufferStore
    update: Update | None

    @property
    def name(self) -> str:
        return self.handle.name

    @property
    def spatial(self) -> tuple[Dim, ...]:
        return tuple(dim for dim in self.dims if not dim.reduces)

    @property
    def reduced(self) -> tuple[Dim, ...]:
        return tuple(dim for dim in self.dims if dim.reduces)

    @property
    def dtype(self) -> DType:
        return self.store.buffer.dtype

    @property
    def value(self) -> Expr:
        """What is stored, or what a reduction combines its result with."""
        return self.update.value if self.update is not None else self.store.value

    def loads(self) -> list[BufferLoad]:
        """The elements that an instance reads, its result not among them."""
        return [node for node in walk(self.value, BufferLoad) if node.indices]

    def dim(self, var: Expr) -> Dim | None:
        """The dimension that an index is, None where it is something else."""
        return next((dim for dim in self.dims if dim.var is var), None)

    @property
    def known(self) -> bool:
        """Whether the numbers of iterations are known."""
        return all(dim.known for dim in self.dims)

    @property
    def instances(self) -> int:
        """How often the block runs."""
        count = 1
        for dim in self.dims:
            count *= dim.extent
        return count

    @property
    def work(self) -> float:
        """How often the block runs, without end where it is not known: a kernel decides that when it runs."""
        return float(self.instances) if self.known else math.inf


# stands for extents that are not known
UNKNOWN = 509


def nest_of(
    schedule: Schedule,
    handle: BlockHandle,
    depth: int = 0,
    *,
    symbolic: bool = False,
    begun: Set[str] = frozenset(),
) -> Nest | None:
    """The nest of a block inside its `depth` outermost loops; None where the block is not as simple as that.

    All extents are numbers, unless it is `symbolic`; blocks of names in `begun` begin where they have no terms, too.
    """
    block: Block = schedule.get(handle)
    store = block.body[0] if len(block.body) == 1 else None
    if type(store) is not BufferStore or store.predicate is not None or block.predicate is not None:
        return None
    if block.init is not None and not (len(block.init) == 1 and type(block.init[0]) is BufferStore):
        return None
    loops = schedule.get_loops(handle)[depth:]
    if not loops or len(loops) > len(block.axes):
        return None
    dims: list[Dim] = []
    for loop in loops:
        stmt: For = schedule.get(loop)
        axis = next((axis for axis in block.axes if axis.value is stmt.var), None)
        extent = extent_of(stmt)
        known, multiple = extent is not None, 1
        if not known and symbolic and axis is not None and _plain(stmt) and axis.stop == stmt.stop:
            extent, multiple = UNKNOWN, _divisor(stmt.stop)
        if (
            axis is None
            or any(axis is dim.axis for dim in dims)
            or axis.kind not in ("spatial", "reduce")
            or extent is None
            or len(stmt.body) != 1
            or type(stmt.body[0]) not in (For, Block)
        ):
            return None
        if not is_const(axis.start, 0) or (known and not is_const(axis.stop, extent)):
            return None
        dims.append(Dim(axis, loop, extent, known, multiple))
    own = [dim.axis for dim in dims]
    if any(all(axis is not one for one in own) and (depth == 0 or axis.kind != "spatial") for axis in block.axes):
        return None
    update = update_of(block)
    if any(dim.reduces for dim in dims) and update is None:
        return None
    if update is not None and (block.init is None or not any(dim.reduces for dim in dims)):
        return None
    if any(dim.reduces and not dim.known for dim in dims) and not begins_anyway(block, begun):
        return None
    return Nest(handle, block, tuple(dims), store, update)


def _divisor(size: Expr) -> int:
    """A number that divides a size, whatever its symbols are."""
    if type(size) is Var:
        return 1
    coefficient, base = Analyzer().modular_set(size)
    return coefficient if base == 0 else 1


def begins_anyway(block: Block, begun: Set[str] = frozenset()) -> bool:
    """Whether the init may run where the reduction has no terms: it reads nothing but by the axes of the result, or is
    a statement of its own in the loops that the block was made of, as those of the names in `begun` are."""
    if block.name in begun:
        return True
    spatial = [axis.var for axis in block.axes if axis.kind == "spatial"]
    loads = list(walk(block.init or (), BufferLoad))
    return all(any(index is var for var in spatial) for load in loads for index in load.indices)


def extent_of(loop: For) -> int | None:
    """The iterations of a serial loop from 0 to a number, at least 1; None for any other loop."""
    if not _plain(loop) or type(loop.stop) is not Const or int(loop.stop.value) < 1:
        return None
    return int(loop.stop.value)


def _plain(loop: For) -> bool:
    return loop.kind == "serial" and loop.step is None and not loop.annotations and is_const(loop.start, 0)


def factors(value: Expr) -> list[BufferLoad] | None:
    """The elements that a value is the product of, cast and negated or not; None where it is something else."""
    found: list[BufferLoad] = []
    stack = [value]
    while stack:
        node = stack.pop()
        if type(node) is Call and node.op in (OPS["mul"], OPS["cast"], OPS["negative"]):
            stack += node.args
        elif type(node) is BufferLoad and node.predicate is None:
            found.append(node)
        else:
            return None
    return found


def term(value: Expr) -> tuple[Expr, tuple[Expr, ...]]:
    """What a sum adds with its choices taken, and the conditions of these, where else something constant is."""
    conditions: list[Expr] = []

    def taken(node: Any) -> Any:
        if type(node) is not Call or node.op not in _IN_TERMS:
            return node
        if node.op is not OPS["if_then_else"]:
            return node.replace(args=tuple([taken(arg) for arg in node.args]))
        if type(node.args[2]) is not Const:
            return node
        conditions.append(node.args[0])
        return taken(node.args[1])

    return taken(value), tuple(conditions)


_IN_TERMS = frozenset(OPS[name] for name in ("if_then_else", "mul", "cast", "negative"))


def stride_of(load: BufferLoad | BufferStore, var: Var) -> int | None:
    """How many elements further a step of `var` reads or writes: 0 for the same, 1 the next; None for another."""
    if not any(uses(index, var) for index in load.indices):
        return 0
    strides = load.buffer.strides
    if any(uses(index, var) for index in load.indices[:-1]) or (strides is not None and not is_const(strides[-1], 1)):
        return None
    last: Linear = linear(load.indices[-1])
    terms = [term for term in last.terms if uses(term, var)]
    return int(last.terms[var]) if terms == [var] else None


def step_of(access: BufferLoad | BufferStore, var: Var) -> int | None:
    """How many elements of memory a step of `var` goes further, in whatever index; None where that is no number."""
    terms = linear(flat_index(access.buffer, access.indices)).terms if access.indices else {}
    apart = [term for term in terms if uses(term, var)]
    return 0 if not apart else int(terms[var]) if apart == [var] else None


def goes_along_fields(loads: Iterable[BufferLoad], var: Var) -> bool:
    """Whether loads go along fields of small records, such as real parts: lanes pick these from whole registers."""
    steps = {step_of(load, var) if load.dtype.bits >= 32 else None for load in loads}
    return bool(steps - {0}) and all(step is not None and 0 <= step <= RECORD for step in steps)


def is_plain(load: BufferLoad | BufferStore, nest: Nest) -> bool:
    """Whether the indices are axes of the nest, each another one, and 0 in dimensions of one element."""
    pairs = zip(load.indices, load.buffer.shape, strict=True)
    axes = [index for index, size in pairs if not (is_const(index, 0) and is_const(size, 1))]
    return all(nest.dim(index) is not None for index in axes) and len({id(index) for index in axes}) == len(axes)


def indices_of(count: int) -> tuple[Var, ...]:
    """So many variables, for the indices that a layout maps."""
    return tuple(Var(f"i{at}", INT64) for at in range(count))


def heavy(value: Expr) -> bool:
    """Whether a value is dear: it has a function such as exp."""
    return any(type(node) is Call and node.op.name in DEAR for node in walk(value))


def takes_long(node: Node) -> bool:
    """Whether a node takes about as long as many sums: a quotient of floats, or a function such as exp."""
    if type(node) is not Call:
        return False
    return node.op.name in DEAR or (node.op is OPS["div"] and type(node.args[1]) is not Const)


# the functions that are dear
DEAR = frozenset(
    f"{arc}{name}{hyperbolic}" for arc in ("", "a") for name in ("sin", "cos", "tan") for hyperbolic in ("", "h")
) | frozenset(
    ("exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "expm1", "sigmoid", "erf", "pow", "rsqrt", "sqrt")
)


def by_library(value: Expr) -> bool:
    """Whether a value calls the C library, for each lane of a vector (docs/mathematics.md): vectors gain nothing."""
    return any(type(node) is Call and node.dtype.bits > 32 and node.op.name in _BY_LIBRARY for node in walk(value))


_BY_LIBRARY = frozenset(("sin", "cos", "tan", "asinh", "acosh", "atanh", "pow", "hypot"))


__all__ = [
    "DEAR",
    "TAKEN",
    "Dim",
    "Nest",
    "begins_anyway",
    "by_library",
    "extent_of",
    "factors",
    "goes_along_fields",
    "heavy",
    "indices_of",
    "is_plain",
    "nest_of",
    "step_of",
    "stride_of",
    "takes_long",
    "term",
]
