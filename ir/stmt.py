"""Statements. A body is a tuple of statements; a definition is in scope from its statement to the end of its body."""

from __future__ import annotations

from typing import Any, ClassVar

from .buffer import Buffer
from .constant import ConstantTensor
from .dtype import INT32, INT64, dtype
from .expr import BufferRegion, Const, Expr, Var
from .node import NO_ATTRS, Attrs, Node
from .span import Heads, Trivia

UINT64 = dtype("uint64")
# kinds of loop, by the name that T has for them
LOOP_KINDS = ("serial", "parallel", "vectorized", "unroll", "thread_binding")
# kinds of block axis, with the letter that T.axis.remap has for them
AXIS_KINDS = {"spatial": "S", "reduce": "R", "scan": "C", "opaque": "O"}


class Stmt(Node, frozen=True, eq=False, kw_only=True):
    """A step of a program. `trivia` holds the comments and blank lines at it and is never compared."""

    trivia: Trivia | None = None


def distance(start: Expr, stop: Expr) -> Expr:
    """`stop - start`, folded where both are numbers: at least 0 then, and of a wider dtype where theirs is too small,
    as of `range(T.int8(-100), T.int8(100))`."""
    if type(start) is Const:
        if start.value == 0:
            return stop
        if type(stop) is Const:
            count = max(0, int(stop.value) - int(start.value))
            return Const(count, next(one for one in (stop.dtype, INT32, INT64, UINT64) if count <= one.int_range()[1]))
    return stop - start


class For(Stmt, frozen=True, eq=False):
    """`for var in range(start, stop, step)`; `kind` is one of LOOP_KINDS, `thread` the tag of a thread_binding."""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    start: Expr
    stop: Expr
    body: tuple[Stmt, ...]
    step: Expr | None = None
    kind: str = "serial"
    thread: str | None = None
    annotations: Attrs = NO_ATTRS

    @property
    def extent(self) -> Expr:
        """The number of iterations where there is no step, see `distance`."""
        return distance(self.start, self.stop)


class While(Stmt, frozen=True, eq=False):
    """`while condition:`"""

    condition: Expr
    body: tuple[Stmt, ...]


class If(Stmt, frozen=True, eq=False):
    """`if condition: ... else: ...`; an `elif` is an If alone in `orelse`."""

    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


class Break(Stmt, frozen=True, eq=False):
    """`break`"""


class Continue(Stmt, frozen=True, eq=False):
    """`continue`"""


class Return(Stmt, frozen=True, eq=False):
    """`return value`, or a bare `return`."""

    value: Expr | None = None


class BufferStore(Stmt, frozen=True, eq=False):
    """`buffer[indices] = value`; `name = value` where the buffer is a scalar variable."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    predicate: Expr | None = None


class Bind(Stmt, frozen=True, eq=False):
    """`var = value`: a name assigned once, in scope to the end of the body."""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    value: Expr


class ScalarDecl(Stmt, frozen=True, eq=False):
    """`x: T.float32 = value`: a mutable scalar; `value` of None leaves it uninitialized (`x: T.float32`)."""

    defines: ClassVar[tuple[str, ...]] = ("buffer",)

    buffer: Buffer
    value: Expr | None = None


class AllocBuffer(Stmt, frozen=True, eq=False):
    """`A = T.alloc_buffer(shape, dtype, scope=)`: memory that lives to the end of the enclosing body.

    `of_block` is TVM's: whether a block has the memory, also where the text says nothing of one: at the head of a
    function; None where the text did not tell. It means nothing here, but TVM's text needs it back.
    """

    defines: ClassVar[tuple[str, ...]] = ("buffer",)
    not_compared: ClassVar[tuple[str, ...]] = ("of_block",)

    buffer: Buffer
    annotations: Attrs = NO_ATTRS
    of_block: bool | None = None


class AllocateConst(Stmt, frozen=True, eq=False):
    """`K = T.allocate_const(data, dtype, shape)`: a buffer of constants, which nothing writes.

    Its elements are those of `data` in row-major order, whose shape may be another one of as many elements.
    """

    defines: ClassVar[tuple[str, ...]] = ("buffer",)

    buffer: Buffer
    data: ConstantTensor
    annotations: Attrs = NO_ATTRS


class DeclBuffer(Stmt, frozen=True, eq=False):
    """`B = T.decl_buffer(shape, dtype, data=A.data)`: another view of memory that exists."""

    defines: ClassVar[tuple[str, ...]] = ("buffer",)

    buffer: Buffer
    data: Expr


class MatchBuffer(Stmt, frozen=True, eq=False):
    """`B = T.match_buffer(source, shape, ...)`.

    At the head of a function the source is a handle parameter; in a block it is a region of another buffer.
    """

    defines: ClassVar[tuple[str, ...]] = ("buffer",)

    buffer: Buffer
    source: Var | BufferRegion

    def defined_symbols(self) -> tuple[Var, ...]:
        """The strides and the offset of a matched region that are named there, as its buffer is."""
        if type(self.source) is Var:
            return ()
        parts = (*(self.buffer.strides or ()), self.buffer.elem_offset)
        return tuple(dict.fromkeys(part for part in parts if type(part) is Var))


class Evaluate(Stmt, frozen=True, eq=False):
    """`T.evaluate(value)`: for effect."""

    value: Expr


class Assert(Stmt, frozen=True, eq=False):
    """`assert condition, message`: proved away, or checked at run time.

    `kind` is the error that TVM raises for it (here always an AssertionError), `parts` the pieces that TVM holds the
    message in, where they are several.
    """

    not_compared: ClassVar[tuple[str, ...]] = ("parts",)

    condition: Expr
    message: str = ""
    kind: str = "RuntimeError"
    parts: tuple[str, ...] = ()


class StaticAssert(Stmt, frozen=True, eq=False):
    """`T.static_assert(condition, message)`: must be proved when compiled."""

    condition: Expr
    message: str = ""


class Assume(Stmt, frozen=True, eq=False):
    """`T.assume(condition)`: trusted by every later simplification."""

    condition: Expr


class Attr(Stmt, frozen=True, eq=False):
    """`with T.attr(node, key, value):`; a number is a `Const`, whose dtype it has."""

    target: Any
    key: str
    value: Any
    body: tuple[Stmt, ...]


class Axis(Node, frozen=True, eq=False):
    """`var = T.axis.kind((start, stop), value)`: an axis of a block, bound to `value` at the block's place.

    `trivia` holds the comments and blank lines at it, as that of a statement does.

    `bare` is TVM's: the extent was a number of int32 beside a value of int64. It means nothing here, but TVM, which
    keeps the dtypes apart, needs it back.
    """

    defines: ClassVar[tuple[str, ...]] = ("var",)
    not_compared: ClassVar[tuple[str, ...]] = ("bare",)

    var: Var
    kind: str
    start: Expr
    stop: Expr
    value: Expr
    bare: bool = False
    trivia: Trivia | None = None

    @property
    def extent(self) -> Expr:
        """How many values the axis takes, see `distance`."""
        return distance(self.start, self.stop)


class LaunchThread(Stmt, frozen=True, eq=False):
    """`with T.launch_thread("blockIdx.x", 64) as bx:`, the body run by `extent` threads of the tag `thread` at once.

    One variable may be launched by several statements, one after the other or one in the other.
    """

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    thread: str
    extent: Expr
    body: tuple[Stmt, ...]


class Block(Stmt, frozen=True, eq=False):
    """`with T.block(name):`, the unit that schedules move.

    `predicate` (`T.where`) of None is true; `reads` or `writes` of None is "as inferred from the body";
    `init` of None is no init. `heads` holds the trivia at the lines of its head: "where", "reads", "writes",
    "block_attr", "init".
    """

    name: str
    axes: tuple[Axis, ...]
    body: tuple[Stmt, ...]
    init: tuple[Stmt, ...] | None = None
    predicate: Expr | None = None
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    annotations: Attrs = NO_ATTRS
    heads: Heads = ()
