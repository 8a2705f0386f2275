"""Expressions. Operators and intrinsics are all `Call`s of an entry of the table in `op.py`."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, ClassVar

from .dtype import HANDLE, INT32, DType, dtype, pointer
from .node import Binder, Node
from .words import with_article, words

if TYPE_CHECKING:
    from .buffer import Buffer
    from .op import Op


class Expr(Node, frozen=True, eq=False):
    """A value. Every expression has a `dtype`.

    Python's operators build calls with the typing rules of the language; `==` and `!=` compare programs, so
    equality as an expression is `op.equal(a, b)`, but in a Python function that a kernel calls with its values they
    build calls, too.
    """

    if TYPE_CHECKING:

        @property
        def dtype(self) -> DType: ...

        # installed from the table of operators, see op.py

        def __add__(self, other: object) -> Expr: ...
        def __radd__(self, other: object) -> Expr: ...
        def __sub__(self, other: object) -> Expr: ...
        def __rsub__(self, other: object) -> Expr: ...
        def __mul__(self, other: object) -> Expr: ...
        def __rmul__(self, other: object) -> Expr: ...
        def __truediv__(self, other: object) -> Expr: ...
        def __rtruediv__(self, other: object) -> Expr: ...
        def __floordiv__(self, other: object) -> Expr: ...
        def __rfloordiv__(self, other: object) -> Expr: ...
        def __mod__(self, other: object) -> Expr: ...
        def __rmod__(self, other: object) -> Expr: ...
        def __pow__(self, other: object) -> Expr: ...
        def __rpow__(self, other: object) -> Expr: ...
        def __and__(self, other: object) -> Expr: ...
        def __rand__(self, other: object) -> Expr: ...
        def __or__(self, other: object) -> Expr: ...
        def __ror__(self, other: object) -> Expr: ...
        def __xor__(self, other: object) -> Expr: ...
        def __rxor__(self, other: object) -> Expr: ...
        def __lshift__(self, other: object) -> Expr: ...
        def __rlshift__(self, other: object) -> Expr: ...
        def __rshift__(self, other: object) -> Expr: ...
        def __rrshift__(self, other: object) -> Expr: ...
        def __lt__(self, other: object) -> Expr: ...
        def __le__(self, other: object) -> Expr: ...
        def __gt__(self, other: object) -> Expr: ...
        def __ge__(self, other: object) -> Expr: ...
        def __neg__(self) -> Expr: ...
        def __invert__(self) -> Expr: ...

    def __bool__(self) -> bool:
        raise TypeError(
            "the value of an expression is not known while the program is built; "
            "use T.Select or `if` in a kernel; structural_equal compares programs"
        )

    def astype(self, to: object) -> Expr:
        """This value converted to the dtype `to`."""
        from .op import cast

        return cast(self, to)


class Var(Binder, Expr, frozen=True, eq=False):
    """A scalar variable, equal only to itself; the name is a hint."""

    name: str
    dtype: DType = INT32


class Const(Expr, frozen=True, eq=False):
    """A number of a known type. Make one with `const`, which checks and rounds the value.

    `told` is TVM's: the number that a program gives for a float, before it is rounded. It means nothing here, but TVM
    keeps and compares all its digits.
    """

    not_compared: ClassVar[tuple[str, ...]] = ("told",)

    value: int | float | bool
    dtype: DType
    told: float | None = None

    @staticmethod
    def scalar_key(node: Const) -> tuple[Any, ...]:
        """What equality compares: nan equals nan and -0.0 differs from 0.0."""
        value = node.value
        if type(value) is float and (value != value or value == 0.0):
            return struct.pack("<d", value), node.dtype
        return value, node.dtype

    @staticmethod
    def same_scalars(x: Const, y: Const, *_: object) -> bool:
        """Whether two constants are the same; what equality asks, quicker than two keys."""
        if x.dtype is not y.dtype:
            return False
        value, other = x.value, y.value
        return bool(value) if value == other and value else Const.scalar_key(x) == Const.scalar_key(y)


class StringImm(Expr, frozen=True, eq=False):
    """A string, as an argument of a call."""

    value: str

    @property
    def dtype(self) -> DType:
        return HANDLE


class Call(Expr, frozen=True, eq=False):
    """An operator or intrinsic of the table applied to arguments."""

    op: Op
    args: tuple[Expr, ...]
    dtype: DType


class CallFunction(Expr, frozen=True, eq=False):
    """A call of another prim_func of the module, by name. Buffers and whole regions are passed as such."""

    function: str
    args: tuple[Expr | Buffer | BufferRegion, ...]
    dtype: DType


class BufferLoad(Expr, frozen=True, eq=False):
    """`buffer[indices]`; a vector where the last index is one. A scalar variable is a buffer of scope "scalar"."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    predicate: Expr | None = None

    @property
    def dtype(self) -> DType:
        return access_dtype(self.buffer, self.indices)


class BufferData(Expr, frozen=True, eq=False):
    """`buffer.data`: the address of a buffer's first element."""

    buffer: Buffer

    @property
    def dtype(self) -> DType:
        return pointer(self.buffer.dtype, self.buffer.scope)


class Ramp(Expr, frozen=True, eq=False):
    """`T.ramp(base, stride, lanes)`: base, base + stride, and so on; lanes times vscale where scalable."""

    base: Expr
    stride: Expr
    lanes: int
    scalable: bool = False

    @property
    def dtype(self) -> DType:
        return self.base.dtype.with_lanes(self.lanes, self.scalable)


class Broadcast(Expr, frozen=True, eq=False):
    """`T.broadcast(value, lanes)`: the value in every lane."""

    value: Expr
    lanes: int
    scalable: bool = False

    @property
    def dtype(self) -> DType:
        return self.value.dtype.with_lanes(self.lanes, self.scalable)


class Let(Expr, frozen=True, eq=False):
    """`T.let(var, value, body)`: body with var bound to value."""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    value: Expr
    body: Expr

    @property
    def dtype(self) -> DType:
        return self.body.dtype


class Shuffle(Expr, frozen=True, eq=False):
    """`T.Shuffle(vectors, indices)`: the lanes at `indices` of the vectors behind each other; a scalar is one lane."""

    vectors: tuple[Expr, ...]
    indices: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        element = self.vectors[0].dtype.element
        return element.with_lanes(len(self.indices)) if len(self.indices) > 1 else element


class CommReducer(Node, frozen=True, eq=False):
    """`T.comm_reducer(lambda x, y: x + y, [identity])`: how two partial results (each of one or more values) are one.

    It is commutative and associative; `identity` is what a reduction starts from.
    """

    defines: ClassVar[tuple[str, ...]] = ("lhs", "rhs")

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    results: tuple[Expr, ...]
    identity: tuple[Expr, ...]


class Reduce(Expr, frozen=True, eq=False):
    """`T.Reduce(combiner, lambda k: [A[k]], [16])`: the sources combined over all values of the axes.

    `domains` says where each axis runs, `condition` which of the combinations count (None: all), `init` what the
    reduction starts from (none: the combiner's identity). Of its results this is the one at `value_index`.
    """

    defines: ClassVar[tuple[str, ...]] = ("axes",)

    combiner: CommReducer
    source: tuple[Expr, ...]
    axes: tuple[Var, ...] = ()
    domains: tuple[Range, ...] = ()
    condition: Expr | None = None
    value_index: int = 0
    init: tuple[Expr, ...] = ()

    @property
    def dtype(self) -> DType:
        return self.source[self.value_index].dtype


class Range(Node, frozen=True, eq=False):
    """`start:stop` along one dimension of a region; one element where `stop` is None."""

    start: Expr
    stop: Expr | None = None


class BufferRegion(Node, frozen=True, eq=False):
    """A box of a buffer, `A[0:4, i]`."""

    buffer: Buffer
    ranges: tuple[Range, ...]


def access_dtype(buffer: Buffer, indices: tuple[Expr, ...]) -> DType:
    """The dtype of `buffer[indices]`: the element's, with the lanes of the vector index where there is one."""
    if indices:
        last: DType = indices[-1].dtype
        if last.is_vector:
            element = buffer.dtype
            return element.with_lanes(last.lanes * element.lanes, last.scalable)
    return buffer.dtype


def const(value: Any, type_: object = None) -> Const:
    """The constant `value` of dtype `type_` (int32, float32 or bool for a bare number).

    Floats are rounded to the type. Raises ValueError where the value does not fit, TypeError where it is no number.
    """
    if type(value) not in (int, float, bool):
        value = _plain(value)
    to = dtype(type(value) if type_ is None else type_)
    if to.is_vector or to.kind in ("handle", "void"):
        raise TypeError(f"{to} has no scalar constants")
    if to.is_float:
        try:
            return Const(round_float(float(value), to), to)
        except OverflowError:  # of an int; a literal such as 1e400 is Python's infinity
            raise ValueError(f"{integer_text(value)} does not fit {to}, whose integers end before 2**1024") from None
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(f"{value!r} is not {with_article(to.name)}; cast it explicitly")
        value = int(value)
    low, high = to.int_range()
    if not low <= value <= high:
        raise ValueError(f"{integer_text(value)} does not fit {to}, which holds {low} to {high}")
    return Const(bool(value) if to.is_bool else int(value), to)


def literal(value: Any, type_: object = None) -> Const:
    """The constant that a number of a program stands for: as `const`, but what its float type does not hold is refused,
    where a computed value becomes infinite, or nan. Raises ValueError or TypeError."""
    made = const(value, type_)
    if made.dtype.is_float and not math.isfinite(made.value) and made.value != value and not math.isnan(value):
        shown = integer_text(value) if isinstance(value, int) else repr(float(value))
        raise ValueError(f"{shown} does not fit {made.dtype}: it would be {made.value}")
    return Const(made.value, made.dtype, value) if type(value) is float and type(made.value) is float else made


def integer_text(value: int) -> str:
    """An integer for a message: its digits, or its size where nobody would read them (Python refuses over 4,300)."""
    return str(value) if value.bit_length() <= 256 else f"an integer of {value.bit_length():,} bits"


def _plain(value: Any) -> int | float | bool:
    item = getattr(value, "item", None)  # numpy scalars
    if item is not None and getattr(value, "shape", None) == ():
        value = item()
        if type(value) not in (int, float, bool):
            value = float(value)
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{words(value)} is not a number")


def round_float(value: float, to: DType) -> float:
    """`value` rounded to the float type `to` (half to even), as a Python float.

    Overflow gives infinity, and nan in a type without one.
    """
    if to.bits == 64 or value != value:
        return value
    if to.name in _PACK:
        try:
            return float(struct.unpack(_PACK[to.name], struct.pack(_PACK[to.name], value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    import ml_dtypes

    return float(getattr(ml_dtypes, to.name)(value))


_PACK = {"float32": "<f", "float16": "<e"}


def is_const(expr: object, value: object = None) -> bool:
    """Whether `expr` is a constant (equal to `value` where that is given)."""
    return type(expr) is Const and (value is None or expr.value == value)
