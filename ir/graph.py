"""Graph functions: whole models as bindings of tensors, shapes and tuples.

A value has a type (`GraphType`); dimensions are expressions of the tensor language over symbolic variables. In normal
form every argument is a variable, a constant or a tuple of such, so each step of a model is one binding with a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from .constant import ConstantTensor
from .dtype import DType
from .expr import Expr, Var
from .node import NO_ATTRS, Attrs, Binder, Node
from .span import Heads, Trivia
from .stmt import Stmt
from .words import call_it, refuse_call

if TYPE_CHECKING:
    from .graph_op import GraphOp


# -- types


class GraphType(Node, frozen=True, eq=False):
    """What is known of a value."""


class Sharding(Node, frozen=True, eq=False):
    """Where the parts of a tensor lie: `mesh` is the name of devices in the module, `mesh[0]`, and `placement` says for
    each axis of the mesh what is along it: `S[1]`, parts of the tensor's axis 1, or `R`, all of it. Where the placement
    is empty it is not known."""

    mesh: str
    placement: tuple[str, ...] = ()


class TensorType(GraphType, frozen=True, eq=False):
    """`G.Tensor((n, 4), "float32")`: `shape` and `dtype` are None where unknown; `ndim` counts where no shape is.

    With a `sharding` it is `G.DTensor((n, 4), "float32", "mesh[0]", "S[0]")`: the shape is that of all parts together.
    """

    shape: tuple[Expr, ...] | None = None
    dtype: DType | None = None
    ndim: int | None = None
    vdevice: str | None = None
    sharding: Sharding | None = None

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None where unknown."""
        return self.ndim if self.shape is None else len(self.shape)


class ShapeType(GraphType, frozen=True, eq=False):
    """`G.Shape((n, 4))`, or `G.Shape(ndim=2)`: `values` are None where unknown."""

    values: tuple[Expr, ...] | None = None
    ndim: int | None = None

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None where unknown."""
        return self.ndim if self.values is None else len(self.values)


class PrimType(GraphType, frozen=True, eq=False):
    """`G.Prim("int64")`, a scalar; `G.Prim(value=n)` where its value is known as an expression.

    The value of a variable's type is how the tensor language names it: a parameter `n: G.Prim("int64")` has a `Var` of
    its name, which stands in dimensions.
    """

    dtype: DType
    value: Expr | None = None


class TupleType(GraphType, frozen=True, eq=False):
    """`G.Tuple(G.Tensor(...), ...)`"""

    fields: tuple[GraphType, ...]


class ObjectType(GraphType, frozen=True, eq=False):
    """`G.Object`: a value of which nothing is known."""


class CallableType(GraphType, frozen=True, eq=False):
    """`G.Callable((G.Tensor(...),), G.Tensor(...))`: `params` are None where unknown.

    Symbolic dimensions of the parameters are its own, unless something around defines them.
    """

    defines: ClassVar[tuple[str, ...]] = ("symbols",)

    params: tuple[GraphType, ...] | None = None
    result: GraphType = ObjectType()
    pure: bool = True

    @property
    def symbols(self) -> tuple[Var, ...]:
        """The symbolic dimensions that the parameters bind."""
        return () if self.params is None else plain_dimensions(self.params)


# -- values


class GraphExpr(Node, frozen=True, eq=False):
    """A value of a graph function. `graph_ops.infer.type_of` tells its type."""


class GraphVar(Binder, GraphExpr, frozen=True, eq=False):
    """A variable of a graph function, equal only to itself; the name is a hint."""

    name: str
    type: GraphType = ObjectType()


class GraphConst(GraphExpr, frozen=True, eq=False):
    """`G.const(array)`: a tensor that is part of the program; `G.dist.const(array, type)` where it has a sharding."""

    data: ConstantTensor
    sharding: Sharding | None = None


class MetadataConst(GraphExpr, frozen=True, eq=False):
    """`metadata["ir.GenericConst"][0]`: a constant that TVM printed apart from the text, which came without it."""

    kind: str
    index: int


class TupleExpr(GraphExpr, frozen=True, eq=False):
    """`(a, b)`"""

    fields: tuple[GraphExpr, ...]


class TupleItem(GraphExpr, frozen=True, eq=False):
    """`t[0]`; `index` counts from the front."""

    value: GraphExpr
    index: int


class ShapeExpr(GraphExpr, frozen=True, eq=False):
    """`G.shape([n, 4])`"""

    values: tuple[Expr, ...]


class PrimValue(GraphExpr, frozen=True, eq=False):
    """`G.prim_value(n * 2)`: a scalar of the tensor language."""

    value: Expr


class StringValue(GraphExpr, frozen=True, eq=False):
    """`G.str("text")`"""

    value: str


class DTypeValue(GraphExpr, frozen=True, eq=False):
    """`G.dtype("float32")`"""

    value: DType


class DeviceValue(GraphExpr, frozen=True, eq=False):
    """`G.device(device_type=1, index=0)`: a device by its number in DLPack."""

    device_type: int
    index: int = 0


class FunctionRef(GraphExpr, frozen=True, eq=False):
    """`cls.f`: a function of the module, by name."""

    function: str


class ExternFunction(GraphExpr, frozen=True, eq=False):
    """`G.ExternFunc("name")`, and the name in `G.call_packed("name", ...)`: a function of a library or of the host."""

    symbol: str
    type: CallableType | None = None


class OpCall(GraphExpr, frozen=True, eq=False):
    """An entry of the table of graph operators applied to values.

    `args` are the values in the order of the entry's value parameters, `attrs` its attributes, each present (defaults
    filled in). `types` are the result types that `G.call_tir` and its kind are told (`out=`). `told_void` is TVM's: the
    dtype that is not told was written as "void". It means nothing here, but TVM's text needs it back.
    """

    not_compared: ClassVar[tuple[str, ...]] = ("told_void",)

    op: GraphOp
    args: tuple[GraphExpr, ...]
    attrs: Attrs = NO_ATTRS
    types: tuple[GraphType, ...] = ()
    told_void: bool = False


class FunctionCall(GraphExpr, frozen=True, eq=False):
    """A call of a function of the module, of an external one, or of a variable that holds one."""

    function: GraphExpr
    args: tuple[GraphExpr, ...]
    attrs: Attrs = NO_ATTRS
    types: tuple[GraphType, ...] = ()


# -- statements


class GraphBind(Stmt, frozen=True, eq=False):
    """`var = value`"""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: GraphVar
    value: GraphExpr

    def defined_symbols(self) -> tuple[Var, ...]:
        """The variable that stands for a scalar in dimensions, where it is not known before."""
        return scalar_symbols((self.var,))


class MatchCast(Stmt, frozen=True, eq=False):
    """`var = G.match_cast(value, type)`: checked at run time; variables that `type` alone holds are defined by it."""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: GraphVar
    value: GraphExpr
    type: GraphType

    # which variables of `type` are new depends on the place: equality takes each at its first occurrence
    def defined_symbols(self) -> tuple[Var, ...]:
        """The plain variables among the dimensions of `type`, and that of a scalar; those known before are used."""
        return tuple(dict.fromkeys((*plain_dimensions((self.type,)), *scalar_symbols((self.var,)))))


class Dataflow(Stmt, frozen=True, eq=False):
    """`with G.dataflow(): ...; G.output(...)`: pure bindings; only `outputs` are in scope after it.

    `heads` holds the trivia at "output".
    """

    body: tuple[Stmt, ...]
    outputs: tuple[GraphVar, ...]
    heads: Heads = ()


class GraphIf(Stmt, frozen=True, eq=False):
    """`if condition: ... else: ...`, whose branches both end in a value for `var`."""

    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: GraphVar
    condition: GraphExpr
    then_body: tuple[Stmt, ...]
    then_value: GraphExpr
    else_body: tuple[Stmt, ...]
    else_value: GraphExpr

    def defined_symbols(self) -> tuple[Var, ...]:
        """The variable that stands for a scalar in dimensions."""
        return scalar_symbols((self.var,))


# -- functions


class GraphFunc(GraphExpr, frozen=True, eq=False):
    """`@G.graph_func`, of a module or inside another one (bound to a variable).

    A plain variable in a parameter's type that no parameter holds as a value is a symbolic dimension, bound at the
    call. `result` is the type of `value`; `pure` says that a call does nothing but give its value. The name of a local
    function is that of its variable; its own is empty. `heads` holds the trivia at "func_attr" and "return".
    `told_result` is TVM's: the type that its text says though the value is of another one, which it never compares. It
    means nothing here, but TVM's text needs it back.
    """

    defines: ClassVar[tuple[str, ...]] = ("params",)
    not_compared: ClassVar[tuple[str, ...]] = ("told_result",)

    name: str
    params: tuple[GraphVar, ...]
    body: tuple[Stmt, ...]
    value: GraphExpr
    result: GraphType = ObjectType()
    attrs: Attrs = NO_ATTRS
    pure: bool = True
    private: bool = False
    check_well_formed: bool = True
    docstring: str | None = None
    trivia: Trivia | None = None
    told_result: GraphType | None = None
    heads: Heads = ()

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a program is built, or interpreted. Raises TypeError, which says so."""
        refuse_call(self.name)

    def defined_symbols(self) -> tuple[Var, ...]:
        """What the function defines besides its parameters (asked by equality)."""
        return plain_dimensions(tuple(param.type for param in self.params))

    @property
    def symbols(self) -> tuple[Var, ...]:
        """The symbolic dimensions that the parameters' types define and no parameter holds, in order."""
        given = set(map(id, scalar_symbols(self.params)))
        return tuple(var for var in self.defined_symbols() if id(var) not in given)


def scalar_symbols(params: tuple[GraphVar, ...]) -> tuple[Var, ...]:
    """The variables of the tensor language that scalars of the graph are known by in dimensions."""
    values = (param.type.value for param in params if type(param.type) is PrimType)
    return tuple(value for value in values if type(value) is Var)


def plain_dimensions(types: tuple[GraphType, ...]) -> tuple[Var, ...]:
    """The variables that stand alone as a dimension or a value in `types`, each once, in order."""
    found: dict[int, Var] = {}
    for kind in types:
        for dimension in _dimensions(kind):
            if type(dimension) is Var:
                found.setdefault(id(dimension), dimension)
    return tuple(found.values())


def _dimensions(kind: GraphType) -> tuple[Expr, ...]:
    if type(kind) is TensorType:
        return kind.shape or ()
    if type(kind) is ShapeType:
        return kind.values or ()
    if type(kind) is PrimType:
        return () if kind.value is None else (kind.value,)
    if type(kind) is TupleType:
        return tuple(dimension for field in kind.fields for dimension in _dimensions(field))
    return ()


call_it(GraphType, "type")
call_it(GraphExpr, "value of the graph")
call_it(GraphVar, "variable", lambda var: var.name)
call_it(GraphFunc, "graph function", lambda program: program.name)
