"""What an operator of the graph language is. The table of all is in `graph_ops/`, which is loaded for graphs alone.

An operator is one entry: its parameters, its type rule, its meaning as a numpy function, its implementation as a
kernel, and how it may be fused. The parser, the printer, the passes, the interpreter and the documentation read it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from .diagnostic import DiagnosticError
from .expr import Expr, Var
from .func import PrimFunc
from .graph import GraphExpr, GraphType, GraphVar, OpCall, TensorType
from .words import EntryDoc, EntrySignature, call_it

# how an operator may be fused: by what an element of its result needs
ELEMENTWISE = "elementwise"  # the same element of each argument
BROADCAST = "broadcast"  # an element of each argument, found by dropping or repeating axes
INJECTIVE = "injective"  # one element of each argument, anywhere: transpose, reshape, concat
REDUCTION = "reduction"  # all elements along some axes
CONTRACTION = "contraction"  # sums of products, into which elementwise tails fuse: matmul, conv2d
OPAQUE = "opaque"  # is not fused
FUSION_KINDS = (ELEMENTWISE, BROADCAST, INJECTIVE, REDUCTION, CONTRACTION, OPAQUE)

# what a pass to narrow floats does with an operator (`to_mixed_precision`)
ALWAYS = "always"  # worth it: many products a result, summed in float32
FOLLOW = "follow"  # as its arguments are: computing it narrow costs no more accuracy than storing them did
NEVER = "never"  # its result or its sums leave the range or the accuracy of narrow floats
_PRECISION = {CONTRACTION: ALWAYS, ELEMENTWISE: FOLLOW, BROADCAST: FOLLOW, INJECTIVE: FOLLOW}

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()


class Parameter(Struct, frozen=True, eq=False):
    """One parameter of an operator, in the order of the call.

    kind:    "tensor", "tensors" (a tuple of them), "shape", "prim" (a scalar), "prims" (a tuple of scalars), "value"
             (any value of the graph), "spread" (any number of values, kept as a tuple), "function", "type" (a type or a
             list of them, kept as `OpCall.types`), "attr" (a Python value known while the program is read)
    default: what stands where the call has none: an attribute's value, or None for a value that may be left away
    normal:  makes the one form in which an attribute is kept, whatever way it was written (`1` and `[1, 1]`); raises
             DiagnosticError without a place
    apart:   a tensor whose dtype says nothing of that of the others, as a condition or indices
    """

    name: str
    kind: str = "tensor"
    default: Any = REQUIRED
    normal: Callable[[Any], Any] | None = None
    apart: bool = False

    @property
    def is_attr(self) -> bool:
        """Whether it is known while the program is read."""
        return self.kind == "attr"

    def is_default(self, worth: Any) -> bool:
        """Whether an attribute is what a call without it has."""
        default = self.default
        if self.normal is not None and default is not None:
            try:
                default = self.normal(default)
            except DiagnosticError:
                return False
        return type(worth) is type(default) and bool(worth == default)


class Legalized(Struct, frozen=True, eq=False):
    """What a call of an operator is in terms of `call_tir`: a tensor function, and what it is called on."""

    func: PrimFunc
    args: tuple[GraphExpr, ...]
    symbols: tuple[Expr, ...]
    results: tuple[TensorType, ...]


class Bindings(Protocol):
    """Where a rule puts what it makes."""

    def op(self, name: str, *args: Any, **attrs: Any) -> GraphVar:
        """A binding of an operator's call; its variable."""

    def number(self, vector: GraphExpr, index: int) -> Var:
        """The int64 that a vector has at an index, as a scalar of the program."""


class GraphOp(Struct, frozen=True, eq=False, weakref=True):
    """One operator. Calling it makes an `OpCall`.

    name:       what G calls it: `nn.conv2d` is `G.nn.conv2d`
    parameters: values and attributes in the order of the call
    infer:      (call, types of its args) -> type of the result; raises DiagnosticError without a place
    example:    a call on arguments whose shapes stand in the text: `G.sum(x: (2, 3), axis=[1])`
    reference:  (*arrays and tuples of them, **attrs) -> array or tuple: its meaning, in numpy
    bind:       (arguments by name) -> the same, where what one means depends on another (`arange(4)` ends at 4)
    complete:   (attrs) -> attrs where the form of one depends on another (`out_layout` is `data_layout` unless given)
    legalize:   (call, types of its args, name) -> the call as a tensor function and what it is called on; None where
                the shapes or dtypes do not say enough. Operators without it are no kernels (`call_tir`, `print`).
    measured:   (call, types of its args, where bindings go) -> the call in terms of operators whose results' sizes are
                scalars of the program; None where it has no rule (`computed_sizes`)
    fusion:     one of FUSION_KINDS
    symbol:     Python's operator for it on tensors
    pure:       False where a call does more than give its value
    tvm:        its name under R where that differs
    narrow:     ALWAYS, FOLLOW or NEVER where it is not what the kind of fusion tells (`precision`)
    """

    name: str
    parameters: tuple[Parameter, ...]
    infer: Callable[[OpCall, tuple[GraphType, ...]], GraphType]
    doc: str
    example: str = ""
    reference: Callable[..., Any] | None = None
    bind: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    complete: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    legalize: Callable[[OpCall, tuple[GraphType, ...], str], Legalized | None] | None = None
    measured: Callable[[OpCall, tuple[GraphType, ...], Bindings], GraphExpr | None] | None = None
    fusion: str = OPAQUE
    symbol: str | None = None
    pure: bool = True
    tvm: str | None = None
    narrow: str | None = None

    @property
    def precision(self) -> str:
        """What becomes of it where a model is computed in narrow floats: ALWAYS, FOLLOW or NEVER."""
        return self.narrow or _PRECISION.get(self.fusion, NEVER)

    @property
    def spelling(self) -> str:
        """How messages name it."""
        return f"G.{self.name}"

    @property
    def values(self) -> tuple[Parameter, ...]:
        """The parameters that take values of the graph: `OpCall.args` in their order."""
        return tuple(one for one in self.parameters if one.kind not in ("attr", "type"))

    @property
    def attributes(self) -> tuple[Parameter, ...]:
        """The parameters that are known while the program is read: `OpCall.attrs` has each of them."""
        return tuple(one for one in self.parameters if one.is_attr)

    def __call__(self, *args: Any, **kwargs: Any) -> OpCall:
        """A call of it, as Python's calls bind arguments; DiagnosticError where they do not fit."""
        from .graph_ops.call import call

        return call(self, args, kwargs)

    def _signature(self) -> inspect.Signature:
        found: list[inspect.Parameter] = []
        for one in self.parameters:
            spread = any(before.kind is before.VAR_POSITIONAL for before in found)
            kind = inspect.Parameter.KEYWORD_ONLY if spread else inspect.Parameter.POSITIONAL_OR_KEYWORD
            default = inspect.Parameter.empty if one.default is REQUIRED else one.default
            here = inspect.Parameter.VAR_POSITIONAL if one.kind == "spread" else kind
            found.append(inspect.Parameter(one.name, here, default=default))
        return inspect.Signature(found)

    __signature__ = EntrySignature(_signature)

    def __repr__(self) -> str:
        return f"<graph op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        from .graph_ops import graph_op

        return graph_op, (self.name,)


GraphOp.__doc__ = EntryDoc(GraphOp.__doc__, lambda entry: entry.spelling)  # type: ignore[assignment]
call_it(GraphOp, "graph operator", lambda entry: entry.spelling)
