"""Statements of graph functions: assignments, dataflows, branches."""

from __future__ import annotations

import ast
from typing import Any

from tirscript.ir.constant import ConstantTensor
from tirscript.ir.diagnostic import Label
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import Expr, Var
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphExpr,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    ObjectType,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, GraphOp
from tirscript.ir.graph_types import join
from tirscript.ir.rewrite import walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import Stmt
from tirscript.ir.words import counted

from .advice import advise_graph
from .context import Abort, FunctionRef, Macro, Poison
from .graph_forms import GraphFormLowering
from .graph_marks import Matched, is_leaf
from .graph_names import GraphForm, TypeSpec
from .known import Known
from .loop import MAX_UNROLLED
from .scope import Names, targets_of
from .trivia import header_end


class Branch:
    """The end of a branch: its last statement, and what that gives the `if`."""

    def __init__(self, last: ast.stmt | None) -> None:
        self.last = last
        self.value: GraphExpr | None = None
        self.type: GraphType | None = None


class GraphStmtLowering(GraphFormLowering):
    """Lowers one graph function. `local` ones stand in the body of another, whose names they see."""

    result: GraphExpr | None = None
    result_type: GraphType | None = None
    branch: Branch | None = None
    local = False
    declared: frozenset[str] = frozenset()  # the symbols that lines of the body have declared
    ended: ast.stmt | None = None  # the return

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = Known()
        self.hidden: dict[str, ast.stmt] = {}  # names of dataflows that are behind, and these
        self.spoiled: set[str] = set()  # outputs of the dataflow whose values are wrong

    # -- assignments

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.fail("T012", "an assignment in a graph function has one target", node.targets[1])
        self.graph_assign(node.targets[0], node.value, None, node)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            kind = self.type_at(node.annotation) if self.theirs else None
            if type(kind) is TupleType and not kind.fields and isinstance(node.target, ast.Name):
                # TVM writes no value where it can only be the empty tuple
                self.bind(node.target, TupleExpr((), span=self.span(node)), kind, node.target, node)
                return
            raise self.fail("T020", "a variable is declared by its value", node, hint="`y: G.Tensor((4,)) = ...`")
        known = len(self.symbols)
        kind = self.type_at(node.annotation)
        self.graph_assign(node.target, node.value, kind, node, known)

    def graph_assign(
        self, target: ast.expr, value: ast.expr, kind: GraphType | None, node: ast.stmt, known: int = 0
    ) -> None:
        """`target = value`, with an annotation or without; `known` symbols were there before an annotation."""
        if isinstance(target, (ast.Tuple, ast.List)):
            self.several(target, value, node)
            return
        if not isinstance(target, ast.Name):
            raise self.fail("T012", "only names are assigned in a graph function", target, hint="y = G.add(x, x)")
        match value:
            case ast.Call(func=ast.Attribute(attr="meta_var"), args=[inner], keywords=[]):
                self.define(target.id, self.value(inner))
                return
        named = len(self.symbols) > known
        self.told = kind.dtype if type(kind) is PrimType else None
        found = self.value(value)
        self.told = None
        if kind is not None and self.bare and named:
            found = self.annotated_value(found, kind, value)
        if type(found) is Var and not found.name:
            if isinstance(value, ast.Call):
                self.declare(target, found)
            return
        self.bind(target, found, kind, value, node)

    def declare(self, target: ast.Name, var: Var) -> None:
        """`n = T.int64()`: the symbol of that name, or a new one, as it is where a line declared it before."""
        name = target.id
        self.refuse_narrow(target, var.dtype)
        known = self.symbols.get(name)
        if known is None or known.dtype is not var.dtype or name in self.declared:
            known = self.symbols[name] = Var(name, var.dtype, span=var.span)
        self.declared |= {name}
        self.define(name, known)

    def symbol_named(self, node: ast.Name, dtype: DType) -> Var:
        self.refuse_narrow(node, dtype)
        return super().symbol_named(node, dtype)

    def refuse_narrow(self, node: ast.Name, dtype: DType) -> None:
        """Refuse a symbolic dimension of another integer type than those of graphs, but where nothing is checked."""
        if dtype.is_int and dtype is not INT64 and self.options.get("check_well_formed", True):
            hint = f"declare it `{node.id} = T.int64()`"
            raise self.fail("T207", f"a dimension of a graph is int64, and `{node.id}` is {dtype}", node, hint=hint)

    def bind(self, target: ast.Name, found: Any, kind: GraphType | None, value: ast.expr, node: ast.stmt) -> None:
        """`name = value` for a value that has been read."""
        name = target.id
        if isinstance(found, Matched):
            self.match(target, found, kind, node)
            return
        branch = self.branch
        made = self.binding_value(found, kind, value)
        if made is None and branch is not None and branch.last is node:
            made = self.as_graph(found, value)
        if made is None:
            self.define(name, found)
            return
        if type(made) is TupleExpr:
            made = self.leaf(made, value)
        if branch is not None and branch.last is node and is_leaf(made):
            branch.value, branch.type = made, kind
            return
        annotated = kind is not None
        if kind is None:
            kind = self.type_at_place(made, value)
            if self.theirs and type(kind) is ObjectType and self.calls_kernel(made):
                kind = TupleType(())
        # `_` names nothing, so no dimension is called so
        told = name == "_" or (annotated and type(kind) is PrimType and kind.value is not None)
        var = GraphVar(name, kind, span=self.span(target)) if told else self.variable(name, kind, target)
        self.emit(GraphBind(var, made, span=self.span(node)))
        self.define(name, var)
        if branch is not None and branch.last is node:
            branch.value = var

    def binding_value(self, found: Any, kind: GraphType | None, node: ast.expr) -> GraphExpr | None:
        """What a name is bound to; None for a value of Python, which is used while parsing."""
        if isinstance(found, (GraphExpr, Expr, ConstantTensor, TypeSpec)):
            return self.as_graph(found, node)
        if isinstance(found, (bool, int, float)):
            if type(kind) is PrimType:
                return PrimValue(self.scalar_constant(found, kind.dtype, node), span=self.span(node))
            if kind is not None or self.theirs:
                elements = kind.dtype if type(kind) is TensorType else None
                return self.constant(found, elements, node)
            return None
        if type(kind) is ShapeType and isinstance(found, (tuple, list)):  # `sh: R.Shape = x.shape`
            return ShapeExpr(self.dimensions(found, node), span=self.span(node))
        if self.theirs and type(found) is FunctionRef and found.graph is not None:
            return self.as_graph(found, node)
        if self.theirs and type(found) is tuple and not found:
            return self.as_graph(found, node)
        if isinstance(found, (tuple, list)) and (kind is not None or _holds_values(found)):
            return self.as_graph(tuple(found), node)
        return None if kind is None else self.as_graph(found, node)

    def match(self, target: ast.Name, found: Matched, kind: GraphType | None, node: ast.stmt) -> None:
        var = self.variable(target.id, found.type if kind is None else kind, target)
        if type(found.type) is PrimType and found.type.value is not None:
            var = GraphVar(target.id, found.type, span=self.span(target))
        self.emit(MatchCast(var, found.value, found.type, span=self.span(node)))
        self.define(target.id, var)
        if self.branch is not None and self.branch.last is node:
            self.branch.value = var

    def several(self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.stmt) -> None:
        """`a, b = t`: fields by name."""
        if any(isinstance(item, ast.Starred) for item in target.elts):
            raise self.fail("T012", "`*` unpacks nothing here", target, hint="name every field")
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            found = self.values(value.elts)  # all of them before any name changes
            for name, item, place in zip(target.elts, found, value.elts, strict=True):
                if type(item) is Var and not item.name and isinstance(name, ast.Name):
                    self.declare(name, item)
                elif isinstance(name, ast.Name):
                    self.bind(name, item, None, place, node)
                else:
                    raise self.fail("T012", "only names are assigned in a graph function", name)
            return
        given = self.value(value)
        if not isinstance(given, GraphExpr):
            self.unpack(target, given)
            return
        owner = self.leaf(given, value)
        kind = self.type_at_place(owner, value)
        if type(kind) is TupleType and len(kind.fields) != len(target.elts):
            count = counted(len(kind.fields), "field")
            hint = "give each a name, or the tuple one: `parts = ...`, then `parts[0]`"
            raise self.fail(
                "T033", f"the tuple has {count}, but {len(target.elts)} names stand here", target, hint=hint
            )
        for at, name in enumerate(target.elts):
            if not isinstance(name, ast.Name):
                raise self.fail("T012", "only names are assigned in a graph function", name)
            self.bind(name, self.field_of(owner, kind, at, value), None, value, node)

    # -- macros

    def called(self, function: Any, node: ast.Call) -> Any:
        return self.macro_value(function, node) if type(function) is Macro else super().called(function, node)

    def macro_value(self, macro: Macro, node: ast.Call) -> GraphExpr:
        """Write out a macro's statements here; the call is what it returns."""
        place = {name: getattr(self, name) for name in ("result", "ended", "branch", "own_scopes")}
        self.result = self.ended = self.branch = None
        self.own_scopes = 1 if macro.hygienic else len(self.scopes) + 1
        self.names = Names([])  # nothing is assigned twice
        try:
            self.call_macro(macro, node)
            found, mistakes = self.result, self.diagnostics
        finally:
            for name, value in place.items():
                setattr(self, name, value)
        if found is None:
            if mistakes:
                raise Abort
            hint = "end it with `return y`"
            raise self.fail("T311", f"the macro `{macro.name}` returns nothing", node, hint=hint)
        return found

    # -- other statements

    def _expression(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Constant) and (isinstance(call.value, str) or call.value is Ellipsis):
            return
        if isinstance(call, ast.Call):
            function = self.value(call.func)
            rule = _STATEMENTS.get(function.name) if isinstance(function, GraphForm) else None
            if rule is not None:
                rule(self, call)
                return
            found = self.called(function, call)
        else:
            found = self.value(call)
        if isinstance(found, Matched) and self.theirs:
            self.match(ast.copy_location(ast.Name("_"), call), found, None, node)
            return
        if isinstance(found, Matched):
            raise self.fail("T022", "`G.match_cast` gives a value a name", node, hint="y = G.match_cast(x, ...)")
        if not isinstance(found, GraphExpr):
            if found is None or isinstance(found, (str, int, tuple, list)):
                return
            raise self.fail("T020", "this value is not used", node, hint="give it a name")
        kind = self.type_at_place(found, call)
        if type(kind) is ObjectType:
            kind = TupleType(())  # TVM prints a call as a statement where its result is nothing
        self.emit(GraphBind(GraphVar("_", kind, span=self.span(node)), found, span=self.span(node)))
        if self.branch is not None and self.branch.last is node:
            self.branch.value = self.out[-1].var  # type: ignore[attr-defined]

    def _graph_attr(self, call: ast.Call) -> None:
        if len(call.args) != 1 or call.keywords:
            raise self.fail("T032", "`G.func_attr` takes one dict", call, hint='G.func_attr({"key": 1})')
        self.attrs_found.update(self.function_attrs(call.args[0]))
        self.part = self.heads, "func_attr"

    def _output(self, call: ast.Call) -> None:
        if self.flow is None:
            raise self.fail("T022", "`G.output` stands in a dataflow", call, hint="with G.dataflow():")
        self.part = self.flow_heads, "output"
        if call.keywords:
            raise self.fail("T032", "`G.output` takes names", call)
        for arg in call.args:
            try:
                value = self.value(arg)
            except Abort:  # its mistake has been told
                self.spoiled.update(part.id for part in call.args if isinstance(part, ast.Name))
                raise
            if not isinstance(arg, ast.Name) or type(value) is not GraphVar:
                raise self.fail("T022", "an output of a dataflow is one of its variables", arg, hint="give it a name")
            if not any(value is known for scope in self.scopes[self.flow_scope :] for known in scope.values()):
                what = f"`{arg.id}` is no variable of this dataflow"
                raise self.fail("T022", what, arg, hint="it is in scope anyway")
            if arg.id in self.flow:
                raise self.fail("T202", f"`{arg.id}` is an output twice", arg)
            self.flow[arg.id] = value
        inside = [known for scope in self.scopes[self.flow_scope :] for known in scope.values()]
        scalars = {
            known.type.value: known for known in inside if type(known) is GraphVar and type(known.type) is PrimType
        }
        for arg in call.args:
            assert isinstance(arg, ast.Name)
            named = list(walk(self.flow[arg.id].type, Var))
            for scalar in (scalars[var] for var in named if var in scalars):
                if scalar not in self.flow.values():
                    what = f"the type of `{arg.id}` names `{scalar.name}`, which is not known behind the dataflow"
                    raise self.fail("T011", what, arg, hint=f"make it an output too: `G.output(..., {scalar.name})`")

    flow_scope = 0
    flow_heads: dict[str, Trivia]  # of the dataflow that is read

    def _with(self, node: ast.With) -> None:
        call = node.items[0].context_expr
        function = self.value(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(function, GraphForm) or function.name != "dataflow" or len(node.items) != 1:
            raise self.fail("T022", "`with` opens a dataflow in a graph function", call, hint="with G.dataflow():")
        assert isinstance(call, ast.Call)
        if call.args or call.keywords or node.items[0].optional_vars is not None:
            raise self.fail("T032", "`G.dataflow` takes nothing and has no name", call, hint="with G.dataflow():")
        if self.flow is not None:
            raise self.fail("T022", "a dataflow does not stand in another one", call)
        outputs: dict[str, GraphVar] = {}
        self.flow, self.flow_scope, self.spoiled = outputs, len(self.scopes), set()
        heads: dict[str, Trivia] = {}
        self.flow_heads = heads
        branch, self.branch = self.branch, None
        end = self.end
        try:
            body = self.body(node.body, header_end(node), end)
        finally:
            self.flow, self.branch = None, branch
        for name, var in outputs.items():
            self.define(name, var)
        for name in {*self.spoiled, *(_names_of(node.body) if self.spoiled else ())} - outputs.keys():
            self.define(name, Poison())
        self.hidden.update({name: node for name in _names_of(node.body) if name not in outputs})
        if body or outputs:
            self.emit(Dataflow(body, tuple(outputs.values()), tuple(heads.items()), span=self.span(node)))
        if branch is not None and branch.last is node and outputs:
            branch.value = list(outputs.values())[-1]

    def assigned_later(self, use: ast.Name) -> Any:
        block = self.hidden.get(use.id)
        return None if block is None else self.span(block.items[0].context_expr)  # type: ignore[attr-defined]

    def undefined(self, node: ast.Name, advice: str | None = None) -> Abort:
        block = self.hidden.get(node.id)
        if block is not None:
            place = self.span(block.items[0].context_expr)  # type: ignore[attr-defined]
            return self.fail(
                "T011",
                f"`{node.id}` is a variable of a dataflow and is not in scope behind it",
                node,
                hint=f"make it an output at the end of the dataflow: `G.output({node.id})`",
                notes=(Label(place, "the dataflow is here"),),
            )
        return super().undefined(node, advice)

    def advised(self, name: str) -> str | None:
        if name not in self.known_names():
            hint = advise_graph(name, GRAPH_OPS)
            if hint is not None:
                return hint
        return super().advised(name)

    def _if(self, node: ast.If) -> None:
        try:
            self.branches(node)
        except Abort:
            for name in filter(None, (_last_name(node.body[-1]), _last_name((node.orelse or node.body)[-1]))):
                self.define(name, Poison())
            raise

    def branches(self, node: ast.If) -> None:
        """`if` on a value, or on what is known while parsing."""
        test = self.value(node.test)
        if not isinstance(test, (GraphExpr, Expr)):
            branch = node.body if self.decisive(test, node.test) else node.orelse
            if branch:
                opener = header_end(node) if test else self.open_else(node, node.body[-1].end_lineno or 0)
                self.statements(branch, opener, 0)
            return
        if self.flow is not None:
            raise self.fail("T022", "a branch does not stand in a dataflow", node, hint="put it behind the dataflow")
        if not node.orelse:
            hint = "both branches end in an assignment of the same name"
            raise self.fail("T020", "an `if` on a value of the graph has an `else`", node.test, hint=hint)
        condition = self.leaf(test, node.test)
        kind = self.type_at_place(condition, node.test)
        if not _is_condition(kind):
            hint = 'an `if` runs one branch, by a `G.Tensor((), "bool")`'
            if getattr(kind, "rank", 0) != 0:
                hint += "; to choose for each element, `G.where(condition, a, b)`"
            raise self.fail("T102", "the condition is no bool scalar", node.test, hint=hint)
        last = self.end
        end = self.else_line(node) - 1
        then, first = self.one_branch(node.body, header_end(node), end)
        opener = self.open_else(node, max(node.body[-1].end_lineno or 0, self.taken))
        other, second = self.one_branch(node.orelse, opener, last, node.orelse[0].col_offset == node.col_offset)
        name = self.name_of_branches(node)
        if first.value is None or second.value is None:
            raise Abort
        joined = join(self.type_at_place(first.value, node), self.type_at_place(second.value, node))
        var = self.variable(name, first.type or second.type or joined, node)
        self.emit(GraphIf(var, condition, then, first.value, other, second.value, span=self.span(node)))
        self.define(name, var)
        if self.branch is not None and self.branch.last is node:
            self.branch.value = var

    def one_branch(
        self, stmts: list[ast.stmt], opener: int, end: int, elif_: bool = False
    ) -> tuple[tuple[Stmt, ...], Branch]:
        """The statements of a branch, and what it gives."""
        outer, self.branch = self.branch, Branch(stmts[-1])
        own, mistakes = self.branch, len(self.diagnostics)
        try:
            made = self.body(stmts, opener, end, elif_)
        finally:
            self.branch = outer
        told = len(self.diagnostics) > mistakes or (_last_name(stmts[-1]) is not None and self.diagnostics)
        if own.value is None and not told:
            hint = "the last statement of each branch gives the name its value"
            self.report("T020", "this branch does not end in an assignment", stmts[-1], hint=hint)
        return made, own

    def name_of_branches(self, node: ast.If) -> str:
        """The name that both branches end with."""
        first, second = _last_name(node.body[-1]), _last_name(node.orelse[-1])
        if first is None or second is None:
            return first or second or "_"
        if first != second:
            hint = f"call both `{first}`"
            what = f"one branch ends with `{first}`, the other with `{second}`"
            raise self.fail("T020", what, node.orelse[-1], hint=hint)
        return first

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.fail("T012", "only names are assigned in a graph function", node.target)
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        self.graph_assign(node.target, value, None, node)

    def _refused(self, node: ast.stmt) -> None:
        what, hint = _REFUSED[type(node)]
        raise self.fail("T020", f"{what} is not part of a graph function", node, hint=hint)

    def _for(self, node: ast.For) -> None:
        values = self.iterate(self.value(node.iter), node.iter)
        mistakes = len(self.diagnostics)
        for value in values:
            self.copies += 1
            try:
                self.unpack(node.target, value)
                self.statements(node.body, header_end(node), node.end_lineno or 0)
            finally:
                self.copies -= 1
            if len(self.diagnostics) > mistakes:
                return  # the next round would make the same ones
            if len(self.out) > MAX_UNROLLED:
                raise self.fail("T004", f"this loop writes out over {MAX_UNROLLED:,} statements", node)

    def _return(self, node: ast.Return) -> None:
        flow = self.flow is not None and len(self.scopes) == self.own_scopes + 1
        if self.branch is not None or (len(self.scopes) > self.own_scopes and not flow):
            hint = "assign the result in both branches and return it behind them"
            raise self.fail("T020", "`return` stands at the end of a graph function", node, hint=hint)
        self.ended = node
        self.part = self.heads, "return"
        if node.value is None:
            self.result = TupleExpr(())
            return
        self.result = self.leaf(self.value(node.value), node.value)
        if flow and self.flow is not None:  # what is returned in a dataflow is known behind it
            known = {id(var) for var in self.flow.values()}
            own = {id(bind.var) for bind in self.out if isinstance(bind, (GraphBind, MatchCast))}
            for var in dict.fromkeys(walk(self.result, GraphVar)):
                if id(var) in own - known:
                    self.flow[f"{var.name} {len(self.flow)}"] = var

    own_scopes = 1  # how many there are at the level of the function

    def statement(self, node: ast.stmt) -> None:
        if self.ended is not None and not isinstance(node, ast.Pass):
            self.report("T605", "this statement stands behind the `return`", node, hint="remove it")
            return
        super().statement(node)

    def _pass(self, node: ast.Pass) -> None:
        pass

    def takes_values(self, function: ast.expr) -> bool:
        try:
            return isinstance(self.value(function), GraphOp)
        except Abort:
            return False

    def read_bodies(self, node: ast.stmt) -> None:
        if not isinstance(node, (ast.For, ast.With)):
            return
        for name in targets_of(node):
            self.define(name, Poison())
        state = self.flow, self.flow_scope, self.spoiled, self.branch
        if isinstance(node, ast.With):  # it may be a dataflow
            self.flow, self.flow_scope, self.spoiled, self.branch = {}, len(self.scopes), set(), None
            self.flow_heads = {}
        try:
            self.body(node.body, header_end(node), self.end)
        finally:
            self.flow, self.flow_scope, self.spoiled, self.branch = state
        for name in _names_of(node.body):
            self.define(name, Poison())


def _is_condition(kind: GraphType) -> bool:
    """Whether a value of that type may decide."""
    if type(kind) is TensorType:
        return kind.rank in (0, None) and (kind.dtype is None or kind.dtype.is_bool)
    return type(kind) is ObjectType or (type(kind) is PrimType and kind.dtype.is_bool)


def _holds_values(values: Any) -> bool:
    return any(
        isinstance(one, (GraphExpr, Expr)) or (isinstance(one, (tuple, list)) and _holds_values(one)) for one in values
    )


def _names_of(body: list[ast.stmt]) -> list[str]:
    return [name for stmt in body for name in targets_of(stmt)]


def _last_name(node: ast.stmt) -> str | None:
    """The name that the last statement of a branch assigns."""
    if isinstance(node, ast.If):
        return _last_name(node.body[-1])
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.With):
        last = node.body[-1]
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and last.value.args:
            name = last.value.args[-1]
            return name.id if isinstance(name, ast.Name) else None
        return None
    names = targets_of(node)
    return names[-1] if names else None


_REFUSED: dict[type, tuple[str, str]] = {
    ast.While: ("`while`", "a loop that the values decide stands in a tensor function, called by `G.call_tir`"),
    ast.Assert: ("`assert`", "`G.assert_op(condition)` checks when the program runs"),
    ast.Break: ("`break`", "loops are written out while the program is read"),
    ast.Continue: ("`continue`", "loops are written out while the program is read"),
}
_STATEMENTS = {"output": GraphStmtLowering._output, "func_attr": GraphStmtLowering._graph_attr}
GraphStmtLowering.stmt_rules = {
    ast.Assign: GraphStmtLowering._assign,
    ast.AnnAssign: GraphStmtLowering._annotated,
    ast.Expr: GraphStmtLowering._expression,
    ast.With: GraphStmtLowering._with,
    ast.If: GraphStmtLowering._if,
    ast.For: GraphStmtLowering._for,
    ast.AugAssign: GraphStmtLowering._augmented,
    **dict.fromkeys(_REFUSED, GraphStmtLowering._refused),
    ast.Return: GraphStmtLowering._return,
    ast.Pass: GraphStmtLowering._pass,
}
