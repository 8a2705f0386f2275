"""Values of the graph language: a syntax node becomes a value of the graph, an expression of the tensor language, or a
Python value where all of it is known while parsing.

Programs are brought to normal form while they are read: what is no variable, constant or tuple of such gets a name
where it stands as an argument.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import force_setattr

from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, suggest
from tirscript.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType
from tirscript.ir.expr import Const, Expr, StringImm, Var, const, literal
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    DTypeValue,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    MatchCast,
    MetadataConst,
    OpCall,
    PrimType,
    PrimValue,
    StringValue,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, GraphOp, graph_op
from tirscript.ir.graph_ops.call import least
from tirscript.ir.graph_ops.foreign import find_op
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_types import as_annotated
from tirscript.ir.node import are_same
from tirscript.ir.op import OPS
from tirscript.ir.words import counted, words

from . import context
from .advice import GRAPH_ADVICE, LIBRARIES, advise_graph, advise_indexed, advise_test, taken_in
from .context import _MISSING
from .expr import _BINARY_OPS, _COMPARE_OPS, _UNARY_OPS
from .graph_legacy import GraphLegacyLowering
from .graph_marks import Matched, Metadata, Method, is_leaf
from .graph_names import THEIR_FORMS, GraphForm, GraphNamespace, TypeForm, TypeSpec, UnsupportedForm
from .known import Known
from .namespace import TypeName
from .plain import argument_place, refuse_depth
from .python import BINARY, COMPARE, UNARY

# Python's operators on tensors
_BINARY: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "floor_mod",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}
_UNARY: dict[type, str] = {ast.USub: "negative", ast.Invert: "bitwise_not", ast.Not: "logical_not"}
_COMPARE: dict[type, str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
_AND, _OR, _IF = OPS["logical_and"], OPS["logical_or"], OPS["if_then_else"]
# what TVM calls the type of a value, now and before
_TYPE_NAMES = ("ty", "struct_info")
NUMBERS = (bool, int, float)


class GraphExprLowering(GraphLegacyLowering):
    """Lowers values."""

    known: Known  # the functions of the module
    example_type = 'G.Tensor((4, 4), "float32")'
    flow: dict[str, GraphVar] | None = None  # the outputs of the dataflow that is being read

    # -- values of the graph

    def as_graph(self, value: Any, node: ast.expr) -> GraphExpr:
        """A value of the graph from what a syntax node means."""
        if isinstance(value, GraphExpr) and type(value) is not GraphFunc:
            return value
        if isinstance(value, TypeSpec) and (fields := self.tuple_of(value, node)) is not None:
            return fields
        rule = next((_GRAPH_VALUES[cls] for cls in type(value).__mro__ if cls in _GRAPH_VALUES), None)
        if rule is None:
            if hasattr(value, "__array_interface__"):
                return self.constant(value, None, node)
            hint = value.__doc__ if isinstance(value, GraphForm) else None
            if isinstance(value, GraphOp):
                hint = f"call it: `{value.spelling}(...)`"
            raise self.fail("T104", f"{words(value)} is not a value of the graph", node, hint=hint)
        return self.at(rule(self, value, node), node)

    def at(self, value: GraphExpr, node: ast.AST) -> GraphExpr:
        """Give a new value the span of its syntax node."""
        if value.span is None and type(value) is not GraphVar:
            force_setattr(value, "span", self.span(node))
        return value

    def leaf(self, value: Any, node: ast.expr) -> GraphExpr:
        """A value as an argument: what is no leaf gets a name before the statement."""
        made = self.as_graph(value, node)
        if type(made) is TupleExpr:
            fields = tuple(self.leaf(field, node) for field in made.fields)
            return made if are_same(fields, made.fields) else made.replace(fields=fields)
        return self.step(made, node)

    def value_behind(self, found: list[Any], node: ast.expr, value: Callable[[Any], Any] | None = None) -> Any:
        before = len(self.out)
        made = super().value_behind(found, node, value)
        if found and len(self.out) > before:
            steps = self.out[before:]
            del self.out[before:]
            found[:] = [self.step(one, node) for one in found]
            self.out += steps
        return made

    def held(self, node: ast.expr) -> Any:
        return self.step(self.value(node), node)

    def step(self, value: Any, node: ast.expr) -> Any:
        """A value as a step of its own where it is no leaf: before what follows. `node` is for mistakes."""
        if isinstance(value, (tuple, list)):
            return type(value)([self.step(one, node) for one in value])
        if type(value) is TupleExpr:
            return value.replace(fields=tuple(self.step(one, node) for one in value.fields))
        if not isinstance(value, GraphExpr) or type(value) is GraphFunc or is_leaf(value):
            return value
        var = self.variable("gv" if self.flow is None else "lv", self.type_at_place(value, node), node)
        if value.span is not None:
            var = var.replace(span=value.span)
        self.emit(GraphBind(var, value, span=var.span))
        return var

    def variable(self, name: str, kind: GraphType, node: ast.AST) -> GraphVar:
        """A new variable; a scalar is known to dimensions by a variable of its name."""
        if type(kind) is PrimType:
            kind = PrimType(kind.dtype, Var(name, kind.dtype))
        return GraphVar(name, kind, span=self.span(node))

    def type_at_place(self, value: GraphExpr, node: ast.AST) -> GraphType:
        """The type of a value."""
        try:
            return as_annotated(self.sized(type_of(value, self.known.module), node))
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def cast_value(self, found: Matched, node: ast.AST) -> GraphVar:
        """A `G.match_cast` that stands in a value: a step of its own."""
        var = self.variable("gv" if self.flow is None else "lv", found.type, node)
        self.emit(MatchCast(var, found.value, found.type, span=self.span(node)))
        return var

    def constant(self, value: Any, kind: Any, node: ast.expr) -> GraphConst:
        """A constant of an array, a number or lists."""
        if isinstance(value, Const):
            value, kind = value.value, kind or value.dtype
        try:
            return GraphConst(constant(value, kind), span=self.span(node))
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def scalar_constant(self, value: bool | int | float, kind: DType | None, node: ast.expr) -> Const:
        """A number as a constant of a dtype, where that holds it."""
        try:
            return literal(value, kind)
        except (ValueError, TypeError) as problem:
            raise self.fail("T103", str(problem), node) from None

    def number(self, value: bool | int | float, like: DType | None, node: ast.expr) -> GraphExpr:
        """A number of TVM's text as a scalar."""
        try:
            return self.at(PrimValue(number_like(value, like)), node)
        except ValueError as problem:
            raise self.fail("T103", str(problem), node) from None

    def attr_value(self, value: Any, node: ast.expr) -> Any:
        """Tensors too, as models keep their parameters in an attribute."""
        if isinstance(value, ConstantTensor):
            return GraphConst(value, span=self.span(node))
        return value if type(value) is GraphConst else super().attr_value(value, node)

    def condition(self, node: ast.expr) -> Any:
        value = self.value(node)
        return value if isinstance(value, GraphExpr) else super().condition(node)

    # -- names and operators

    def _name(self, node: ast.Name) -> Any:
        if node.id == "metadata" and self.lookup("metadata") is _MISSING:
            return Metadata()
        if self.theirs and self.lookup(node.id) is _MISSING:
            found = self.bare_name(node.id)
            if found is not _MISSING:
                return found
        value = self.name_value(node)
        if isinstance(value, (GraphExpr, Var)):
            return value
        return self.used(value, node)

    def expr(self, node: ast.expr, to: DType | None = None) -> Expr:
        value = self.scalar(self.value(node))
        if isinstance(value, Expr):
            return value
        if isinstance(value, GraphExpr):
            raise self.fail("T104", f"{words(value)} is no scalar", node, hint='a scalar is `n: G.Prim("int64")`')
        if isinstance(value, (int, float)):
            return self.scalar_constant(value, to, node)
        raise self.fail("T104", f"{words(value)} is no scalar", node)

    def tensors(self, *values: Any) -> bool:
        """Whether one of the operands is a value of the graph that is no scalar."""
        return any(isinstance(self.scalar(value), GraphExpr) for value in values)

    def graph_operator(self, name: str, args: tuple[Any, ...], node: ast.expr, nodes: tuple[ast.expr, ...]) -> OpCall:
        """A Python operator on tensors."""
        entry = graph_op(name)
        given = [self.leaf(arg, at) if isinstance(arg, GraphExpr) else arg for arg, at in zip(args, nodes, strict=True)]
        return self.checked(entry, given, {}, node)

    def iterable(self, value: Any, node: ast.expr) -> bool:
        if isinstance(value, GraphExpr):
            return type(self.type_at_place(value, node)) is TupleType
        return super().iterable(value, node)

    def folds(self, name: str, items: list[Any]) -> bool:
        """Tensors are added, as numpy's arrays are; of two, none is the lesser."""
        if self.tensors(*items):
            return name in ("add", "abs")
        return super().folds(name, [self.scalar(item) for item in items])

    def joined(self, name: str, items: list[Any], node: ast.Call) -> Any:
        if self.tensors(*items):
            return self.graph_operator(name, tuple(items), node, (node,) * len(items))
        return super().joined(name, [self.scalar(item) for item in items], node)

    def values(self, nodes: list[ast.expr]) -> list[Any]:
        """The values of nodes that stand side by side."""
        found: list[Any] = []
        for node in nodes:
            found.append(self.value_behind(found, node))
        return found

    def operand(self, node: ast.expr) -> Any:
        """An operand; a call that gives a scalar, which TVM prints in expressions, is a step of its own."""
        value = self.value(node)
        call = self.theirs and isinstance(value, (FunctionCall, OpCall))
        return self.leaf(value, node) if call and type(self.type_at_place(value, node)) is PrimType else value

    def _binary(self, node: ast.BinOp) -> Any:
        first, kind = [self.operand(node.left)], type(node.op)
        right = self.value_behind(first, node.right, self.operand)
        (left,) = first
        if kind is ast.Add and (isinstance(left, GraphExpr) or isinstance(right, GraphExpr)):
            these, others = self.fields_of(left, node.left), self.fields_of(right, node.right)
            if these is not None and others is not None:
                return (*these, *others)
        if self.tensors(left, right):
            # `%` of tensors is TVM's `R.mod`, whose quotient is rounded toward zero; ours floors, as of numbers
            name = "mod" if self.theirs and kind is ast.Mod else _BINARY[kind]
            return self.graph_operator(name, (left, right), node, (node.left, node.right))
        left, right = self.scalar(left), self.scalar(right)
        if isinstance(left, Expr) or isinstance(right, Expr):
            if kind not in _BINARY_OPS:
                raise self.fail("T021", "`@` is an operator of tensors", node)
            return self.operator(_BINARY_OPS[kind], [left, right], node, (node.left, node.right))
        return self.plain(lambda: BINARY[kind](left, right), node, (left, right), (node.left, node.right))

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if self.tensors(operand):
            if isinstance(node.op, ast.UAdd):
                return operand
            return self.graph_operator(_UNARY[type(node.op)], (operand,), node, (node.operand,))
        operand = self.scalar(operand)
        if isinstance(operand, Expr):
            if isinstance(node.op, ast.UAdd):
                return operand
            return self.operator(_UNARY_OPS[type(node.op)], [operand], node)
        return self.plain(lambda: UNARY[type(node.op)](operand), node, (operand,))

    def _compare(self, node: ast.Compare) -> Any:
        places = [node.left, *node.comparators]
        values = self.values(places)
        if self.tensors(*values):
            kind = type(node.ops[0])
            if len(values) != 2 or kind not in _COMPARE:
                hint = "join comparisons of tensors with `G.logical_and`"
                raise self.fail("T021", "a chain of comparisons is none of tensors", node, hint=hint)
            return self.graph_operator(_COMPARE[kind], tuple(values), node, (places[0], places[1]))
        values = [self.scalar(value) for value in values]
        if not any(isinstance(value, Expr) for value in values):
            result = True
            for at, operation in enumerate(node.ops):
                left, right = values[at], values[at + 1]
                work = partial(COMPARE[type(operation)], left, right)
                result = result and self.plain(work, node, (left, right))
            return result
        made: Any = None
        for at, operation in enumerate(node.ops):
            entry = _COMPARE_OPS.get(type(operation))
            if entry is None:
                hint = advise_test(type(operation), places[at], places[at + 1])
                raise self.fail("T021", "`is` and `in` do not apply to values of the program", node, hint=hint)
            part = self.operator(entry, [values[at], values[at + 1]], node, (places[at], places[at + 1]))
            made = part if made is None else self.operator(_AND, [made, part], node)
        return made

    def _conditional(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        if self.tensors(test):
            hint = "write the statement `if`, or `G.where(condition, a, b)`"
            raise self.fail("T021", "`a if c else b` chooses while parsing", node.test, hint=hint)
        test = self.scalar(test)
        if isinstance(test, Expr):
            args = [test, self.scalar(self.value(node.body)), self.scalar(self.value(node.orelse))]
            return self.operator(_IF, args, node, (node.test, node.body, node.orelse))
        return self.value(node.body if test else node.orelse)

    def _boolean(self, node: ast.BoolOp) -> Any:
        values = self.values(node.values)
        if self.tensors(*values):
            name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
            made = values[0]
            for at, value in enumerate(values[1:], 1):
                made = self.graph_operator(name, (made, value), node, (node.values[at - 1], node.values[at]))
            return made
        values = [self.scalar(value) for value in values]
        decides = isinstance(node.op, ast.Or)
        result = values[0]
        for value in values[1:]:
            if not isinstance(result, Expr):
                if bool(result) == decides:
                    return result
                result = value
            else:
                result = self.operator(_OR if decides else _AND, [result, value], node)
        return result

    # -- members and items

    def attribute(self, owner: Any, name: str, node: ast.Attribute) -> Any:
        if isinstance(owner, GraphExpr):
            return self.member(owner, name, node)
        return super().attribute(owner, name, node)

    def graph_attribute(self, owner: GraphNamespace, name: str, node: ast.Attribute) -> Any:
        found = owner.find(name)
        if found is None and self.theirs and owner._letter in ("G", "relax"):
            found = THEIR_FORMS.get(name)
        unknown = found is None or type(found) is UnsupportedForm
        return super().graph_attribute(owner, name, node) if unknown else found

    def builtin_advice(self, name: str) -> str | None:
        """What a graph has in place of a function of Python's own."""
        return GRAPH_ADVICE.get(name)

    def member(self, owner: GraphExpr, name: str, node: ast.Attribute) -> Any:
        """`x.shape`, `x.dtype`, `x.ndim` as they are known, and `x.astype`."""
        if name == "astype":
            return Method(owner, name)
        if name in ("value", "data") and self.theirs and type(owner) is GraphConst:
            return owner.data
        kind = self.type_at_place(owner, node)
        if self.theirs and name in _TYPE_NAMES:
            return kind
        if type(kind) is TensorType and name in ("shape", "dtype", "ndim"):
            found: Any = kind.rank if name == "ndim" else getattr(kind, name)
            if found is None and name == "shape" and self.theirs:
                return self.checked(graph_op("shape_of"), [self.leaf(owner, node)], {}, node)
            if found is None:
                raise self.fail(
                    "T022", f"the {name} of this tensor is not known", node, hint="use `G.match_cast` first"
                )
            if name == "shape":
                return tuple(int(dim.value) if type(dim) is Const else dim for dim in found)
            return found
        near = suggest(name, ("shape", "dtype", "ndim", "astype"))
        hint = f"did you mean `{near}`?" if near else "it has `shape`, `dtype`, `ndim` and `astype`"
        operator = next((known for known in GRAPH_OPS if known.rpartition(".")[2] == name), None)
        if operator is not None:
            hint = f"did you mean `{least(GRAPH_OPS[operator], 'x')}`?"
        elif near is None and name in GRAPH_ADVICE:
            hint = GRAPH_ADVICE[name]
        raise self.fail("T030", f"a value of the graph has no `{name}`", node, hint=hint)

    def item_of(self, owner: Any, node: ast.Subscript) -> Any:
        if isinstance(owner, Metadata):
            return self.metadata_item(owner, node)
        if type(owner) is TypeForm:
            given = isinstance(node.slice, ast.Tuple) and isinstance(node.slice.elts[0], (ast.Tuple, ast.List))
            way = f"`{self.span(node.value).text}({self.span(node.slice).text})`" if given else owner.__doc__
            raise self.fail("T041", f"`G.{owner.name}` takes its arguments in round brackets", node, hint=way)
        if not isinstance(owner, GraphExpr):
            if isinstance(node.value, (ast.Tuple, ast.List)):
                owner = self.step(owner, node.value)  # what is not taken is done as well
            return super().item_of(owner, node)
        kind = self.type_at_place(owner, node)
        if type(kind) is TensorType:
            message = "a tensor is not indexed in a graph function"
            raise self.fail("T022", message, node, hint=advise_indexed(node))
        item = self._item(node.slice)
        index = item.value if type(item) is Const else item
        if type(index) is not int:
            raise self.fail("T112", "the index of a tuple is an int known while parsing", node.slice)
        return self.field_of(owner, kind, index, node)

    def field_of(self, owner: GraphExpr, kind: GraphType, index: int, node: ast.expr) -> GraphExpr:
        """One field of a tuple; `index` may count from the end."""
        if type(kind) is TupleType:
            count = len(kind.fields)
            if not -count <= index < count:
                has = counted(count, "field")
                raise self.fail("T113", f"there is no field {index}: the tuple has {has}", node)
            index %= count
        if index < 0:
            raise self.fail("T113", "how many fields this tuple has is not known", node)
        return TupleItem(self.leaf(owner, node), index, span=self.span(node))

    def fields_of(self, value: Any, node: ast.expr) -> list[Any] | None:
        """The items of a tuple or list, also of one in the graph whose fields are known; None of anything else."""
        if isinstance(value, (tuple, list)):
            return list(value)
        kind = self.type_at_place(value, node) if isinstance(value, GraphExpr) else None
        if type(kind) is not TupleType:
            return None
        owner = self.leaf(value, node)
        return [self.field_of(owner, kind, at, node) for at in range(len(kind.fields))]

    def iterate(self, values: Any, node: ast.AST) -> list[Any]:
        found = self.fields_of(values, node) if isinstance(values, GraphExpr) and isinstance(node, ast.expr) else None
        return super().iterate(values, node) if found is None else found

    def metadata_item(self, owner: Metadata, node: ast.Subscript) -> Any:
        """`metadata["ir.GenericConst"][0]` of a text that came without its metadata."""
        if owner.kind is None:
            return Metadata(self.python(node.slice, "the class", (str,)))
        index = self.python(node.slice, "the number", (int,))
        if index < 0:
            raise self.fail("T113", "metadata is counted from 0", node.slice)
        return MetadataConst(owner.kind, index, span=self.span(node))

    def _library(self, node: ast.Attribute, owner: ast.Name) -> None:
        if owner.id in LIBRARIES and self.lookup(owner.id) is _MISSING:
            hint = f"did you mean `G.{node.attr}`?" if find_op(node.attr) is not None else None
            hint = hint or advise_graph(node.attr, GRAPH_OPS)
            raise self.fail("T010", f"`{owner.id}` is not defined: a graph calls the functions of G", owner, hint=hint)

    def checked(self, entry: GraphOp, args: list[Any], kwargs: dict[str, Any], node: ast.expr) -> OpCall:
        """The call with its arguments bound; what does not fit is reported here."""
        try:
            made = entry(*args, **kwargs)
            found = made.replace(span=self.span(node))
            type_of(found, self.known.module)
        except DiagnosticError as problem:
            place = _blamed(problem, entry, len(args), node)
            if place is not node:
                (one,) = problem.diagnostics
                problem = DiagnosticError([Diagnostic(one.code, one.message, (), one.notes, one.hint)])
            raise self.located(problem, place) from None
        return found


def _blamed(problem: DiagnosticError, entry: GraphOp, count: int, node: ast.expr) -> ast.expr:
    """Where the argument stands that a message about the call of an operator is about; the call where it is several.

    Of a method's call the first of the `count` arguments stands before the dot.
    """
    begins = rf"(?:`{re.escape(entry.spelling)}`: )?`(\w+)` (?:of|is(?! of)|names|must have) "
    said = re.match(begins, problem.diagnostics[0].message)
    names = [one.name for one in entry.parameters]
    if said is None or said[1] not in names or type(node) is not ast.Call or len(problem.diagnostics) > 1:
        return node
    if any(type(arg) is ast.Starred for arg in node.args):
        return node
    at = names.index(said[1]) - (count - len(node.args))
    return argument_place(node, at, said[1]) if at >= 0 else node


def number_like(value: bool | int | float, like: DType | None) -> Const:
    """A number as TVM reads it: an int32 or a float32; or of the dtype that it stands for, where that holds it."""
    if isinstance(value, bool):
        return const(value)
    if like is not None and (like.is_float or (like.is_int and isinstance(value, int))):
        return const(value, like)
    if isinstance(value, float):
        return const(value, FLOAT32)
    return const(value, INT32 if -(1 << 31) <= value < 1 << 31 else INT64)


def _number(self: GraphExprLowering, value: Any, node: ast.expr) -> GraphExpr:
    kind = BOOL if isinstance(value, bool) else FLOAT64 if isinstance(value, float) else INT64
    return PrimValue(self.scalar_constant(value, kind, node))


def _tuple_value(self: GraphExprLowering, value: Any, node: ast.expr) -> GraphExpr:
    refuse_depth(value)
    places: Any = getattr(node, "elts", None) or ()
    nodes = places if len(places) == len(value) else [node] * len(value)
    return TupleExpr(tuple(self.as_graph(item, at) for item, at in zip(value, nodes, strict=True)))


def _reference(self: GraphExprLowering, value: context.FunctionRef, node: ast.expr) -> GraphExpr:
    self.known.find_result(value.name)
    return FunctionRef(value.name)


def _foreign_function(self: GraphExprLowering, value: Any, node: ast.expr) -> GraphExpr:
    what = "graph" if isinstance(value, GraphFunc) else "tensor"
    message = f"`{value.name}` is a {what} function outside of this module"
    raise self.fail("T022", message, node, hint=taken_in(value.name, ""))


_GRAPH_VALUES: dict[type, Callable[[GraphExprLowering, Any, ast.expr], GraphExpr]] = {
    Expr: lambda self, value, node: PrimValue(value),
    StringImm: lambda self, value, node: StringValue(value.value),
    bool: _number,
    int: _number,
    float: _number,
    str: lambda self, value, node: StringValue(value),
    DType: lambda self, value, node: DTypeValue(value),
    TypeName: lambda self, value, node: DTypeValue(value.dtype),
    Matched: lambda self, value, node: self.cast_value(value, node),
    tuple: _tuple_value,
    list: _tuple_value,
    ConstantTensor: lambda self, value, node: GraphConst(value),
    context.FunctionRef: _reference,
    PrimFunc: _foreign_function,
    GraphFunc: _foreign_function,
}
GraphExprLowering.open_rules = {}
GraphExprLowering.rules = {
    **GraphLegacyLowering.rules,
    ast.Call: GraphExprLowering.bare_type,
    ast.Subscript: GraphExprLowering.bare_subscript,
    ast.Name: GraphExprLowering._name,
    ast.BinOp: GraphExprLowering._binary,
    ast.UnaryOp: GraphExprLowering._unary,
    ast.BoolOp: GraphExprLowering._boolean,
    ast.Compare: GraphExprLowering._compare,
    ast.IfExp: GraphExprLowering._conditional,
}
