"""Graph functions: signatures, local functions and whole definitions."""

from __future__ import annotations

import ast
from typing import Any

from tirscript.ir.diagnostic import error
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Var
from tirscript.ir.graph import (
    CallableType,
    GraphBind,
    GraphFunc,
    GraphType,
    GraphVar,
    ObjectType,
    PrimType,
)
from tirscript.ir.graph_ops.infer import seen_from_outside
from tirscript.ir.graph_types import conflict
from tirscript.ir.node import NO_ATTRS, Attrs, recursion_room
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from .advice import advise_type
from .context import Abort, Poison
from .function import first_name, read_options
from .graph_names import TypeForm, TypeSpec
from .graph_stmt import GraphStmtLowering
from .namespace import TypeName

OPTIONS = ("private", "pure", "check_well_formed")


class GraphLowering(GraphStmtLowering):
    """Lowers one graph function. `local` ones stand in the body of another, whose names they see."""

    def _local_function(self, node: ast.FunctionDef) -> None:
        """A function in a function, bound to a variable of its name."""
        if len(node.decorator_list) != 1:
            raise self.fail("T022", "a local function has the decorator `@G.graph_func`", node)
        decorator = node.decorator_list[0]
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr == "prim_func":  # as Relax allowed in 2022
            message = f"the tensor function `{node.name}` stands in a graph function"
            hint = f"define it beside the graph function, in a module, and call `cls.{node.name}` with `call_tir`"
            raise self.fail("T022", message, decorator, hint=hint)
        inner = GraphLowering(
            node,
            self.source,
            self.outer,
            trusted=self.trusted,
            comments=self.comments,
            namespace=self.namespace,
            module=self.module,
        )
        inner.inherit(self)
        inner.bare, inner.old = self.bare, self.old
        inner.options = read_options(node.decorator_list[0], inner, "G.graph_func", OPTIONS)
        inner.signature()
        var = None
        if inner.result_type is not None:
            # known before its body is read, so that it may call itself
            kinds = tuple(param.type for param in inner.graph_params)
            var = GraphVar(node.name, CallableType(kinds, inner.result_type, inner.pure()), span=self.span(node))
            inner.scopes[0][node.name] = var
        made = inner.lower(node.lineno, self.end)
        self.taken = max(self.taken, inner.taken)
        self.diagnostics += inner.diagnostics
        self.orphans += inner.orphans
        if made is None:
            raise Abort
        made = made.replace(name="", private=False, trivia=None)
        if var is None:
            kinds = tuple(param.type for param in made.params)
            var = GraphVar(node.name, CallableType(kinds, made.result, made.pure), span=self.span(node))
        self.emit(GraphBind(var, made, span=self.span(node)))
        self.define(node.name, var)

    def inherit(self, outer: GraphLowering) -> None:
        """Become local to another function."""
        self.local = True
        self.budget, self.theirs, self.sources, self.tiles = outer.budget, outer.theirs, outer.sources, outer.tiles
        self.known = outer.known
        self.copies, self.diagnostics = outer.copies, []
        around: dict[str, Any] = dict(outer.symbols)
        for scope in outer.scopes:
            around.update(scope)
        self.scopes = [around, {}]

    def emit(self, stmt: Stmt) -> None:
        """Append a step. Outside of functions, where no definition is read, none can be done."""
        if self.node is None:
            message = "this is computed when the program runs, and stands outside of its functions"
            self.diagnostics.append(error("T022", message, stmt.span, hint="write it in the function that uses it"))
            raise Abort(None)
        super().emit(stmt)

    # -- the definition

    def pure(self) -> bool:
        """What the decorator says."""
        return bool(self.options.get("pure", True))

    def signature(self) -> None:
        """Read the parameters and the annotated result; mistakes are reported."""
        node = self.node
        self.graph_params: list[GraphVar] = []
        self.own_scopes = len(self.scopes)
        arguments = node.args
        self.refuse_parameters(arguments)
        given = [*arguments.posonlyargs, *arguments.args]
        for item in getattr(node, "type_params", ()):
            self.symbol(item.name, self._bound(item))
        self._their_symbols(given)
        scope = self.scopes[-1]
        # scalars first: a dimension may be named after any of them
        for param in given:
            kind = self.scalar_annotation(param)
            if kind is not None:
                scope[param.arg] = self.variable(param.arg, kind, param)
        for param in given:
            if param.arg not in scope:
                scope[param.arg] = self.parameter(param)
            if isinstance(scope[param.arg], GraphVar):
                self.graph_params.append(scope[param.arg])
                self.foreign_params += _is_matched(scope[param.arg], node)
            if sum(other.arg == param.arg for other in given) > 1:
                self.report("T202", f"two parameters are named `{param.arg}`", param)
        if not any(type(param.type) is not PrimType for param in self.graph_params):
            failed = sum(isinstance(scope[param.arg], Poison) for param in given)
            if self.other_kind("buffers", "prim_func", failed):
                return
        if node.returns is not None:
            try:
                self.in_signature = True
                self.result_type = self.type_at(node.returns).replace(span=self.span(node.returns))
            except Abort:
                self.result_type = ObjectType()
            finally:
                self.in_signature = False

    def scalar_annotation(self, param: ast.arg) -> PrimType | None:
        """The type of a parameter that is a plain scalar, however it is written; None for any other, whose mistakes are
        told later.
        """
        if param.annotation is None:
            return None
        mistakes = len(self.diagnostics)
        try:
            written = param.annotation
            if type(written) is ast.Call and type(written.func) is ast.Attribute:
                form = self.value(written.func)
                if type(form) is TypeForm and form.name != "Prim":
                    return None  # which most are: it is read once, as what it is
            value = self.value(self.unquoted(param.annotation, "this annotation"))
            if isinstance(value, (TypeName, DType)) or (isinstance(value, TypeSpec) and value.is_plain_scalar()):
                kind = self.type_of_value(value, param.annotation)
                return kind if type(kind) is PrimType else None
        except Abort:
            pass
        del self.diagnostics[mistakes:]
        return None

    def parameter(self, param: ast.arg) -> Any:
        """A parameter of any other type."""
        if param.annotation is None:
            hint = advise_type(param.arg, 'G.Tensor((4, 4), "float32")')
            self.report("T041", f"the parameter `{param.arg}` has no type", param, hint=hint)
            return Poison()
        try:
            self.in_signature, self.annotation_name = True, first_name(param.annotation)
            return GraphVar(param.arg, self.type_at(param.annotation), span=self.span(param))
        except Abort:
            return Poison()
        finally:
            self.in_signature = False

    def lower(self, first_line: int, last_line: int) -> GraphFunc | None:
        """The function, or None where mistakes were reported; its comments stand between these lines of the text."""
        node = self.node
        docstring, body, opener = self.opening(node, last_line)
        with recursion_room():
            if body and self.body_is_read:
                self.statements(body, opener, max(last_line, node.end_lineno or 0))
        if self.ended is None and not self.diagnostics:
            self.report("T311", f"`{node.name}` returns nothing", node, hint="end it with `return y`")
        if self.diagnostics or self.result is None:  # of what a mistake elsewhere made unknown
            return None
        params = tuple(self.graph_params)
        kind, told = self.result_type, None
        if kind is None:
            try:
                kind = self.seen_from_outside(self.type_at_place(self.result, self.ended or node), params)
            except Abort:  # reported
                return None
        elif self.theirs and type(self.result) is GraphVar and conflict(self.result.type, kind) is not None:
            if kind is self.seen_from_outside(kind, params):  # TVM compares what is said with nothing
                kind, told = self.seen_from_outside(self.result.type, params), kind
        options = {name: bool(self.options.get(name, name != "private")) for name in OPTIONS}
        options["pure"] &= not self.unsaid_effects()
        attrs = self.attrs_found
        return GraphFunc(
            node.name,
            params,
            tuple(self.out),
            self.result,
            kind,
            Attrs(attrs) if attrs else NO_ATTRS,
            options["pure"],
            options["private"],
            options["check_well_formed"],
            docstring,
            self._header_trivia(first_line),
            told,
            tuple(self.heads.items()),
            span=self.span(node),
        )

    def seen_from_outside(self, kind: GraphType, params: tuple[GraphVar, ...]) -> GraphType:
        """The type of a result: dimensions that only the body knows are unknown to callers."""
        known = {id(var) for param in params for var in walk(param.type, Var)}
        for value in (value for scope in self.scopes[: self.own_scopes - 1] for value in scope.values()):
            scalar = type(value) is GraphVar and type(value.type) is PrimType
            known.add(id(value.type.value if scalar else value))
        return seen_from_outside(kind, known)


def _is_matched(param: GraphVar, node: ast.FunctionDef) -> bool:
    """Whether a parameter is a handle that the body gives a shape, as tensor functions do."""
    if type(param.type) is not PrimType or not param.type.dtype.is_handle:
        return False
    calls = (item.func for item in ast.walk(node) if isinstance(item, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr == "match_buffer" for func in calls)


GraphLowering.stmt_rules = {**GraphStmtLowering.stmt_rules, ast.FunctionDef: GraphLowering._local_function}
