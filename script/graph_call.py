"""Calls in graphs: of operators, of functions of the module, and of values that are functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, suggest
from tirscript.ir.dtype import INT64, VOID, DType
from tirscript.ir.expr import Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    CallableType,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    ObjectType,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    TensorType,
    TupleExpr,
)
from tirscript.ir.graph_ops import GraphOp, graph_op
from tirscript.ir.graph_ops.attrs import TOLD_DTYPES, index_map
from tirscript.ir.graph_ops.foreign import SHAPE_NAMES, SHAPE_PLACES, find_op, keeps_arguments
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import VDevice
from tirscript.ir.node import NO_ATTRS, Attrs
from tirscript.ir.op import Op
from tirscript.ir.words import words

from . import context
from .advice import taken_in
from .context import _MISSING, Abort, ModuleRef
from .graph_expr import NUMBERS, GraphExprLowering, number_like
from .graph_marks import Method, plain_value
from .graph_names import GraphForm, TypeForm, TypeSpec, construct_doc
from .namespace import Form, ModuleForm, TypeName

# what a tuple of arguments holds beside numbers
_PARTS = (GraphExpr, context.FunctionRef, tuple, list)
# arguments that operators of TVM had until 2025, and the mode of `take_backward`, which it prints and does not read;
# they say nothing where they are empty
_DROPPED = ("axis_separators", "input_axis_separators", "mode")
# how the argument that tells the result types is named
_RESULT_NAMES = ("out", "out_ty", "out_sinfo", "ty_args", "sinfo_args", "type_args")


class GraphCallLowering(GraphExprLowering):
    """Lowers calls."""

    told: DType | None = None  # of the scalar that an annotation says the statement gives
    # the constructs that are values, and what completes the arguments of an operator
    form_values: ClassVar[dict[str, Callable[[Any, ast.Call], Any]]] = {}
    prepared: ClassVar[dict[str, Callable[..., None]]] = {}

    def misplaced(self, function: Form, node: ast.Call) -> Abort:
        hint = "`G.assert_op(condition)` checks when the program runs" if function.name == "static_assert" else None
        hint = hint or construct_doc(function.name) or "a tensor function may hold it; `G.call_tir` calls one from here"
        return self.fail("T022", f"`T.{function.name}` is not part of a graph function", node, hint=hint)

    def called(self, function: Any, node: ast.Call) -> Any:
        if type(function) is Op:
            return self.scalar_operator(function, node)
        if type(function) is GraphOp:
            return self.operator_call(function, node)
        if isinstance(function, (GraphForm, ModuleForm)):
            rule = self.form_values.get(function.name)
            if rule is None:
                raise self.fail("T022", f"`G.{function.name}` does not stand here", node, hint=function.__doc__)
            return rule(self, node)
        if isinstance(function, TypeForm):
            args, kwargs = self.arguments(node)
            return TypeSpec(function.name, tuple(args), kwargs)
        if isinstance(function, Method):
            args, kwargs = self.arguments(node)
            return self.checked(graph_op("astype"), [self.leaf(function.owner, node), *args], kwargs, node)
        if type(function) is context.FunctionRef:
            return self.function_call(function, node)
        if isinstance(function, GraphExpr) and type(function) is not GraphFunc:
            return self.value_call(function, node)
        if type(function) is GraphFunc:
            self.as_graph(function, node.func)
        return super().called(function, node)

    def spelling(self, name: str) -> str | None:
        """The operator of graphs that is called as a function of Python or numpy is; None where there is none."""
        return f"G.{name}" if find_op(name) is not None else None

    def instead(self, name: str) -> str | None:
        return "a graph calls the operators of `G` and functions of its module"

    def scalar_operator(self, entry: Op, node: ast.Call) -> Expr:
        """An operator of the tensor language, which takes scalars."""
        node = self.by_place(entry, node)
        args, kwargs = self.arguments(node)
        args = [self.scalar(arg) for arg in args]
        kwargs = {name: self.scalar(arg) for name, arg in kwargs.items()}
        if any(isinstance(arg, GraphExpr) for arg in (*args, *kwargs.values())):
            hint = f"did you mean `G.{entry.name}`?" if find_op(entry.name) is not None else None
            raise self.fail(
                "T104", f"`{entry.spelling}` takes scalars, and this is a value of the graph", node, hint=hint
            )
        return self.call_entry(entry, args, kwargs, node)

    def operator_call(self, entry: GraphOp, node: ast.Call) -> GraphExpr:
        """A call of an operator."""
        if entry.name.startswith("call_tir") and node.args:
            self._callee_known(node.args[0])
        args, kwargs = self.with_index_map(entry, node)
        told = [kwargs[name] for name in TOLD_DTYPES if name in kwargs] if self.theirs else []
        void = any(one is VOID or (isinstance(one, str) and one == "void") for one in told)
        made = self.called_with(entry, args, kwargs, node)
        return made.replace(told_void=True) if void and type(made) is OpCall else made

    def _callee_known(self, node: ast.expr) -> None:
        """Refuse `f` and `cls.f` where neither is defined: what `G.call_tir` calls is a function of a module."""
        self.callee = node
        owner = node.value if type(node) is ast.Attribute else node
        if type(owner) is not ast.Name or self.lookup(owner.id) is not _MISSING:
            return
        module: ModuleRef | None = getattr(self, "module", None)
        if module is not None and (owner is not node or owner.id in module.functions):
            return  # what stands in a module is told of by its own names
        beside = {} if module is None else {name: f"{module.name}.{name}" for name in module.functions}
        near = suggest(owner.id, beside) or suggest(owner.id, self.known_names())
        name = node.attr if type(node) is ast.Attribute else owner.id
        hint = f"did you mean `{beside.get(near, near)}`?" if near is not None else self.function_advice(name)
        raise self.fail("T010", f"`{owner.id}` is not defined", owner, hint=hint)

    def called_with(self, entry: GraphOp, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> GraphExpr:
        """A call of an operator: values become leaves, attributes plain values, types types."""
        for name in _DROPPED if self.theirs else ():
            if not kwargs.get(name, True):
                del kwargs[name]
        self.moved(entry, args, kwargs)
        if self.theirs and entry.name == "call_tir" and args and isinstance(args[0], str):
            entry = graph_op("call_dps_packed")  # what Relax of 2022 wrote for both
        nodes: list[ast.expr] = list(node.args) if len(node.args) == len(args) else [node] * len(args)
        if keeps_arguments(entry):
            if args and type(args[-1]) is VDevice:  # TVM prints it by its name, and reads it without
                kwargs["dst_vdevice"] = args.pop()
            place = SHAPE_PLACES.get(entry.name)
            if place is not None and place < len(args):
                args[place] = self.listed_shape(args[place], nodes[place])
            for name in SHAPE_NAMES if place is not None else ():
                if name in kwargs:
                    kwargs[name] = self.listed_shape(kwargs[name], node)
            values = tuple(self.leaf(arg, at) for arg, at in zip(args, nodes, strict=False))
            attrs = {name: self.foreign_attr(value, node) for name, value in kwargs.items()}
            return OpCall(entry, values, Attrs(attrs) if attrs else NO_ATTRS, span=self.span(node))
        parameters = entry.parameters
        spread = next((at for at, one in enumerate(parameters) if one.kind == "spread"), None)
        if spread is not None:
            rest = zip(args[spread:], nodes[spread:], strict=True)
            args[spread:] = [TupleExpr(tuple(self.leaf(arg, at) for arg, at in rest))]
            nodes[spread:] = [node]
        names = {one.name: one for one in parameters}
        if self.theirs:  # of a truth value None is TVM's word for what is not given
            plain = {one.name for one in parameters if isinstance(one.default, bool)}
            kwargs = {name: value for name, value in kwargs.items() if value is not None or name not in plain}
        result = next((one.name for one in parameters if one.kind == "type"), None)
        for name in _RESULT_NAMES:
            if name in kwargs and result is not None and name not in names:
                if result in kwargs:
                    raise self.fail("T032", f"the result types are given twice, by `{name}` too", node)
                kwargs[result] = kwargs.pop(name)
        at_name = {keyword.arg: keyword.value for keyword in node.keywords}
        of_tuple = [one.name for one in parameters[1:2]] == ["args"]
        if of_tuple and len(args) > 2 and isinstance(args[2], GraphVar):
            given_apart = ", ".join(self.span(one).text for one in nodes[1:])
            message = f"`{entry.spelling}` takes the arguments of the function as one tuple"
            raise self.fail("T032", message, nodes[2], hint=f"write `({given_apart})`")
        given = [
            self.argument(entry, parameters[at].kind if at < len(parameters) else "value", arg, place)
            for at, (arg, place) in enumerate(zip(args, nodes, strict=True))
        ]
        named = {
            name: self.argument(entry, names[name].kind, value, at_name.get(name, node)) if name in names else value
            for name, value in kwargs.items()
        }
        prepare = self.prepared.get(entry.name)
        if prepare is not None:
            prepare(self, entry, given, named, node)
        if self.theirs:
            tensors = {at for number, one in enumerate(parameters) if one.kind == "tensor" for at in (number, one.name)}
            places: list[tuple[Any, Any]] = [*enumerate(given), *named.items()]
            numbers = {at: one for at, one in places if at in tensors and type(one) in NUMBERS}
            if numbers:
                return self.with_numbers(entry, given, named, numbers, node)
        return self.checked(entry, given, named, node)

    def with_index_map(self, entry: GraphOp, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call, of which one may be a lambda where the operator takes a map of indices."""
        at = next((at for at, one in enumerate(entry.parameters) if one.normal is index_map), None)
        if at is None or any(isinstance(one, ast.Starred) for one in node.args):
            return self.arguments(node)
        name = entry.parameters[at].name
        rest = [word for word in node.keywords if word.arg != name]
        if len(rest) < len(node.keywords):
            args, kwargs = self.arguments(ast.copy_location(ast.Call(node.func, node.args, rest), node))
            value = next(word.value for word in node.keywords if word.arg == name)
            return args, {**kwargs, name: self.map_of(value, INT64)}
        if len(node.args) <= at:
            return self.arguments(node)
        others = [*node.args[:at], *node.args[at + 1 :]]
        args, kwargs = self.arguments(ast.copy_location(ast.Call(node.func, others, rest), node))
        return [*args[:at], self.map_of(node.args[at], INT64), *args[at:]], kwargs

    def with_numbers(
        self, entry: GraphOp, given: list[Any], named: dict[str, Any], numbers: dict[Any, Any], node: ast.expr
    ) -> GraphExpr:
        """A call where numbers stand for tensors; in TVM's text they are scalars.

        TVM reads them as int32 and float32, and prints integers of every dtype alike: where these do not go with what
        stands beside them, they are of its dtype; where nothing does, of that of the annotated result.
        """

        def replaced(made: dict[Any, Any]) -> tuple[list[Any], dict[str, Any]]:
            values = [made.get(at, one) for at, one in enumerate(given)]
            return values, {name: made.get(name, one) for name, one in named.items()}

        beside = [self.type_at_place(one, node) for one in (*given, *named.values()) if isinstance(one, GraphExpr)]
        told = self.told if not beside else None
        for like in (told, None, *[kind.dtype for kind in beside if isinstance(kind, (TensorType, PrimType))]):
            try:
                args, kwargs = replaced({at: PrimValue(number_like(one, like)) for at, one in numbers.items()})
                type_of(entry(*args, **kwargs), self.known.module)
            except (DiagnosticError, ValueError):
                continue
            return self.checked(entry, args, kwargs, node)
        args, kwargs = replaced({at: self.number(one, None, node) for at, one in numbers.items()})
        return self.checked(entry, args, kwargs, node)

    def argument(self, entry: GraphOp, kind: str, value: Any, node: ast.expr) -> Any:
        """An argument of an operator by the kind of its parameter."""
        if kind == "attr":
            return plain_value(value)
        if kind == "type":
            return self.result_types(value, node)
        if kind == "function" and isinstance(value, PrimFunc):
            message = f"`{value.name}` is a tensor function outside of this module"
            raise self.fail("T022", message, node, hint=taken_in(value.name, ""))
        if isinstance(value, (GraphExpr, Buffer, context.FunctionRef, TypeName)):
            return self.leaf(value, node)
        if isinstance(value, (tuple, list)):
            if kind != "shape" and any(isinstance(item, (GraphExpr, context.FunctionRef)) for item in value):
                return tuple(self.leaf(item, node) if isinstance(item, _PARTS) else item for item in value)
            return tuple(self.scalar(item) for item in value)
        return value

    def result_types(self, value: Any, node: ast.expr) -> Any:
        """The result types that a call is told; shapes alone are left to who knows the dtype."""
        if isinstance(value, (tuple, list)) and any(
            isinstance(one, (TypeSpec, TypeForm, GraphType, TypeName)) for one in value
        ):
            return tuple(self.type_of_value(one, node) for one in value)
        if value is None or isinstance(value, (tuple, list, ShapeExpr)):
            return value
        return self.type_of_value(value, node)

    def listed_shape(self, value: Any, node: ast.expr) -> Any:
        """A list as the shape that it is where an operator takes one; anything else as it is."""
        if not isinstance(value, (tuple, list)):
            return value
        return ShapeExpr(self.dimensions(value, node), span=self.span(node))

    def foreign_attr(self, value: Any, node: ast.expr) -> Any:
        """A named argument of an operator that is kept as it is."""
        if isinstance(value, GraphExpr):
            return self.leaf(value, node)
        if isinstance(value, (TypeSpec, TypeForm)):
            return self.type_of_value(value, node)
        if isinstance(value, (tuple, list)):
            return tuple(self.foreign_attr(item, node) for item in value)
        return plain_value(value)

    def function_call(self, function: context.FunctionRef, node: ast.Call) -> GraphExpr:
        """A call of a function of the module; a tensor function is called for what it writes."""
        self.known.find_result(function.name)
        return self.value_call(FunctionRef(function.name, span=self.span(node.func)), node)

    def value_call(self, function: GraphExpr, node: ast.Call) -> GraphExpr:
        """A call of a value that is a function."""
        args, kwargs = self.arguments(node)
        types: tuple[GraphType, ...] = ()
        for name in _RESULT_NAMES:
            if name in kwargs:
                self.old |= name == "type_args"
                found = self.result_types(kwargs.pop(name), node)
                told = found if isinstance(found, (tuple, list)) else (found,)
                types = tuple([self.type_of_value(one, node) for one in told])
        attrs = NO_ATTRS
        if kwargs:
            if type(function) is not ExternFunction:
                raise self.fail("T032", "calls of graph functions take no keyword arguments", node)
            attrs = Attrs({name: self.foreign_attr(value, node) for name, value in kwargs.items()})
        kind = self.type_at_place(function, node)
        if type(kind) not in (CallableType, ObjectType):
            raise self.fail("T022", f"{words(function)} is no function", node.func)
        places: list[ast.expr] = list(node.args) if len(node.args) == len(args) else [node] * len(args)
        if self.theirs and not (type(function) is ExternFunction and function.type is None):
            params = kind.params if type(kind) is CallableType and kind.params is not None else ()
            like = [one.dtype if type(one) is PrimType else None for one in params]
            args = [
                self.number(arg, like[at] if at < len(like) else None, place) if type(arg) in NUMBERS else arg
                for at, (arg, place) in enumerate(zip(args, places, strict=True))
            ]
        values = tuple(self.leaf(arg, at) for arg, at in zip(args, places, strict=True))
        made = FunctionCall(self.leaf(function, node), values, attrs, types, span=self.span(node))
        self.type_at_place(made, node)
        return made
