"""The check of graph functions: scopes, types, calls, effects, normal form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ..diagnostic import Diagnostic, DiagnosticError, Label, error
from ..expr import Const, Expr, Var
from ..func import PrimFunc
from ..graph import (
    CallableType,
    Dataflow,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    ObjectType,
    OpCall,
    PrimType,
    ShapeExpr,
    TensorType,
    TupleExpr,
    TupleItem,
    scalar_symbols,
)
from ..graph_calls import Signature
from ..graph_ops.calls import CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD
from ..graph_ops.foreign import is_foreign
from ..graph_ops.infer import type_of
from ..graph_types import conflict
from ..module import Module
from ..rewrite import children, definitions, walk
from ..span import Span
from ..stmt import Stmt
from ..words import counted, parenthesized
from ..written import only_reads, written_params
from .places import bad_function_attrs, in_order, pointing

_TENSOR_CALLS = (CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD)
FORCED = ("relax.force_pure", "force_pure")  # attributes that call a function pure whatever it does


class GraphVerifier:
    """The check of one graph function. `module` is where it finds the functions that it calls."""

    def __init__(self, func: GraphFunc, module: Module | None) -> None:
        self.func = func
        self.module = module
        self.found: list[Diagnostic] = []
        self.scope: set[int] = set()
        self.symbols: set[int] = set()
        self.defined: dict[int, Stmt | GraphFunc] = {}
        self.flow: Dataflow | None = None  # the dataflow around
        self.hidden: dict[int, Dataflow] = {}  # variables that are gone with their dataflow
        self.pure = func.pure and not any(func.attrs.get(name) for name in FORCED)

    def run(self) -> list[Diagnostic]:
        """Everything that is wrong."""
        self.function(self.func)
        return in_order(self.found)

    def report(self, code: str, message: str, at: Any, *, notes: Any = (), hint: str | None = None) -> None:
        """A diagnostic at a node."""
        span = at if isinstance(at, Span) else getattr(at, "span", None) or self.func.span
        self.found.append(error(code, message, span, notes=notes, hint=hint))

    # -- functions and bodies

    def function(self, func: GraphFunc) -> None:
        """Parameters, body and result of a function, whose names end with it."""
        scope, symbols = set(self.scope), set(self.symbols)
        for param in func.params:
            self.define(param, func)
        self.symbols.update(map(id, func.defined_symbols()))
        for param in func.params:
            self.type(param.type, param)
        self.body(func.body)
        self.value(func.value, func)
        self.leaf(func.value, func)
        self.type(func.result, func)
        said = func.result if func.result.span is not None else func
        name = f"`{func.name}`" if func.name else "the function"
        self.fits(func.value, func.result, f"what {name} returns", said)
        for name, why, hint in bad_function_attrs(func.attrs):
            self.report("T210", f"attribute {name} of the function: {why}", func, hint=hint)
        self.scope, self.symbols = scope, symbols

    def body(self, stmts: tuple[Stmt, ...]) -> None:
        """Statements in order."""
        for stmt in stmts:
            rule = _STATEMENTS.get(type(stmt))
            if rule is None:
                self.report("T210", f"a {type(stmt).__name__} stands in a graph function", stmt)
            else:
                rule(self, stmt)

    def define(self, var: GraphVar, at: Any) -> None:
        """A variable comes into scope."""
        if id(var) in self.defined:
            first = self.defined[id(var)]
            notes = pointing(first.span, f"`{var.name}` is defined here first")
            self.report("T202", f"`{var.name}` is defined twice", at, notes=notes)
        self.defined[id(var)] = at
        self.scope.add(id(var))
        self.symbols.update(map(id, scalar_symbols((var,))))

    # -- statements

    def bind(self, node: GraphBind) -> None:
        value = node.value
        if type(value) is GraphFunc:
            self.scope.add(id(node.var))  # it may call itself
            pure, self.pure, flow, self.flow = self.pure, value.pure and self.pure, self.flow, None
            self.function(value)
            self.pure, self.flow = pure, flow
        else:
            self.value(value, node)
            for part in self.arguments(value):
                self.leaf(part, node)
        self.symbols.update(map(id, scalar_symbols((node.var,))))
        self.type(node.var.type, node)
        self.fits(value, node.var.type, f"the value of `{node.var.name}`", node)
        self.define(node.var, node)

    def match(self, node: MatchCast) -> None:
        self.value(node.value, node)
        self.leaf(node.value, node)
        self.symbols.update(map(id, node.defined_symbols()))
        self.type(node.type, node)
        self.fits(node.value, node.type, f"the value of `{node.var.name}`", node)
        found = conflict(node.type, node.var.type)
        if found is not None:
            self.report(found[0], f"`{node.var.name}` is cast to a type that {found[1]}", node)
        self.define(node.var, node)

    def dataflow(self, node: Dataflow) -> None:
        if self.flow is not None:
            self.report("T210", "a dataflow stands in another one", node)
        before, outer, self.flow = set(self.scope), self.flow, node
        self.body(node.body)
        self.flow = outer
        inner = self.scope - before
        for var in node.outputs:
            if id(var) not in inner:
                self.report("T201", f"the output `{var.name}` is no variable of the dataflow", node)
        outputs = set(map(id, node.outputs))
        self.hidden.update(dict.fromkeys(inner - outputs, node))
        self.scope = before | (inner & outputs)

    def branch(self, node: GraphIf) -> None:
        if self.flow is not None:
            self.report("T210", "a branch stands in a dataflow", node)
        self.value(node.condition, node)
        self.leaf(node.condition, node)
        kind = self.type_of(node.condition, node)
        scalar = (
            kind.rank in (0, None) if type(kind) is TensorType else type(kind) in (PrimType, ObjectType, type(None))
        )
        elements = getattr(kind, "dtype", None)
        if not scalar or (elements is not None and not elements.is_bool):
            self.report("T102", "the condition is no bool scalar", node.condition)
        for stmts, value in ((node.then_body, node.then_value), (node.else_body, node.else_value)):
            scope, symbols = set(self.scope), set(self.symbols)
            self.body(stmts)
            self.value(value, node)
            self.leaf(value, node)
            self.fits(value, node.var.type, f"the value of `{node.var.name}`", node)
            self.scope, self.symbols = scope, symbols
        self.define(node.var, node)

    # -- values

    def value(self, value: GraphExpr, at: Any) -> None:
        """Names and effects of a value."""
        self.names(value, at)
        if isinstance(value, (OpCall, FunctionCall)):
            self.effect(value)
            if type(value) is OpCall and value.op in _TENSOR_CALLS:
                self.tensor_call(value, at)

    def names(self, value: Any, at: Any) -> None:
        """Everything that a value names is in scope."""
        own = {id(var) for var in definitions(value)}  # of index maps
        for node in walk(value):
            if id(node) in own:
                continue
            if type(node) is GraphVar and id(node) not in self.scope:
                self.unknown(node, at)
            elif type(node) is Var and id(node) not in self.symbols:
                self.symbols.add(id(node))
                hint = "use it alone as a dimension of a parameter, or in a `G.match_cast`"
                self.report("T206", f"nothing defines the dimension `{node.name}`", _place(value, at), hint=hint)

    def unknown(self, var: GraphVar, at: Any) -> None:
        """A variable that is not in scope."""
        flow = self.hidden.get(id(var))
        if flow is not None:
            hint = f"make it an output at the end of the dataflow: `G.output({var.name})`"
            notes = pointing(flow.span, "the dataflow is here")
            self.report("T201", f"`{var.name}` is used outside of its dataflow", at, notes=notes, hint=hint)
        else:
            notes = pointing(var.span, f"`{var.name}` is made here")
            self.report("T201", f"nothing before defines `{var.name}`", at, notes=notes)
        self.scope.add(id(var))

    def arguments(self, value: GraphExpr) -> Iterator[GraphExpr]:
        """What must be a leaf in a value that is bound."""
        if isinstance(value, (OpCall, FunctionCall, TupleItem, TupleExpr)):
            yield from (part for part in children(value) if isinstance(part, GraphExpr))

    def leaf(self, value: GraphExpr, at: Any) -> None:
        """Normal form: a value that stands where only a variable, a constant or a tuple of such does."""
        if type(value) is TupleExpr:
            for field in value.fields:
                self.leaf(field, at)
        elif isinstance(value, (OpCall, FunctionCall, TupleItem, GraphIf, GraphFunc)):
            message = "a call stands inside of a value: every step of a graph has a name of its own"
            self.report("T210", message, at, hint="`tirscript.BlockBuilder` brings values to this form")

    def type(self, kind: GraphType, at: Any) -> None:
        """The dimensions of a type."""
        self.names(kind, at)
        for node in walk(kind):
            for dim in getattr(node, "shape", None) or getattr(node, "values", None) or ():
                if isinstance(dim, Expr) and not dim.dtype.is_int:
                    self.report("T207", f"a dimension is {dim.dtype}, not an integer", at)
                elif type(dim) is Const and dim.value < 0 and id(dim) not in self.defined:
                    self.defined[id(dim)] = self.func  # told once
                    hint = "a dimension is 0 or more" + (
                        "; one that is not known has a name" if dim.value == -1 else ""
                    )
                    self.report("T207", f"a dimension is {dim.value}", at, hint=hint)

    def type_of(self, value: GraphExpr, at: Any) -> GraphType | None:
        """The type of a value; what is wrong with it is reported."""
        try:
            return type_of(value, self.module)
        except DiagnosticError as problem:
            for found in problem.diagnostics:
                if not found.labels and getattr(at, "span", None) is not None:
                    found = Diagnostic(found.code, found.message, (Label(at.span),), found.notes, found.hint)
                self.found.append(found)
            return None

    def fits(self, value: GraphExpr, want: GraphType, what: str, at: Any) -> None:
        """The type of a value is a case of the one that is written."""
        have = self.type_of(value, at)
        found = None if have is None else conflict(have, want)
        if found is not None:
            self.report(found[0], f"{what} {found[1]}", _place(value, at))

    # -- calls

    def effect(self, call: OpCall | FunctionCall) -> None:
        """A call that does more than give its value stands where that is allowed."""
        name = self.impure(call)
        if name is None or not self.pure:
            return
        kernel = None if isinstance(call, OpCall) else self.kernel(call)
        written = None
        if kernel is not None and kernel.returns is None:
            given = parenthesized(arg.name if type(arg) is GraphVar else "..." for arg in call.args)
            written = f"what a tensor function writes is given by `G.call_tir(cls.{kernel.name}, {given})`"
        if self.flow is not None:
            hint = "put it before or behind the dataflow, and say that the function has effects: `pure=False`"
            notes = pointing(self.flow.span, "the dataflow is here")
            self.report(
                "T216", f"{name} has effects, which a dataflow has not", call, notes=notes, hint=written or hint
            )
        else:
            hint = written or "say that it has some: `@G.graph_func(pure=False)`"
            self.report("T216", f"{name} has effects, but `{self.func.name}` is a pure function", call, hint=hint)

    def kernel(self, call: FunctionCall) -> PrimFunc | None:
        """The tensor function that is called, None where it is something else."""
        function: Any = call.function
        name = function.function if type(function) is FunctionRef else None
        found = self.module[name] if self.module is not None and name is not None and name in self.module else None
        return found if isinstance(found, PrimFunc) else None

    def impure(self, call: OpCall | FunctionCall) -> str | None:
        """What has effects, None where nothing is known to have any."""
        if isinstance(call, OpCall):
            return None if call.op.pure or is_foreign(call.op) else f"`{call.op.spelling}`"
        function: Any = call.function
        if type(function) is ExternFunction:
            return None if function.type is not None and function.type.pure else f"`{function.symbol}`"
        if type(function) is FunctionRef:
            found = self.module[function.function] if self.module and function.function in self.module else None
            if isinstance(found, PrimFunc):
                return None if found.returns is not None and only_reads(found) else f"`{function.function}`"
            pure = found is None or (isinstance(found, GraphFunc) and found.pure)
            return None if pure else f"`{function.function}`"
        kind = getattr(function, "type", None)
        return f"`{function.name}`" if type(kind) is CallableType and not kind.pure else None

    def tensor_call(self, call: OpCall, at: Any) -> None:
        """The arguments and results of a call of a tensor function against its parameters."""
        callee = self.callee(call)
        given, tir_vars = call.args[1], call.args[2] if len(call.args) > 2 else None
        if callee is None or type(given) is not TupleExpr:
            return
        kinds = [self.type_of(one, call) for one in given.fields]
        if None in kinds:
            return
        scalars = tir_vars.values if type(tir_vars) is ShapeExpr else ()
        places = call.attrs.get("inplace_indices", ()) if call.op is CALL_TIR_INPLACE else ()
        try:
            results = list(Signature(callee).results(tuple(kinds), scalars))  # type: ignore[arg-type]
        except DiagnosticError as problem:
            for found in problem.diagnostics:
                self.report(
                    found.code,
                    found.message,
                    call,
                    notes=pointing(callee.span, f"`{callee.name}` is here"),
                    hint=found.hint,
                )
            return
        fresh = iter(results)
        expected = [kinds[at] if 0 <= at < len(kinds) else next(fresh, None) for at in places]
        expected += fresh
        if self.results(call, callee, expected):
            self.written(call, callee, given, places)

    def callee(self, call: OpCall) -> PrimFunc | None:
        """The tensor function that a call names; what is no such function is reported."""
        function = call.args[0]
        if type(function) is not FunctionRef or self.module is None:
            return None
        name = function.function
        if name not in self.module:
            return None  # told with its type
        found = self.module[name]
        if isinstance(found, PrimFunc):
            return found
        hint = f"call it as `cls.{name}(...)`"
        self.report(
            "T022", f"`{name}` is a graph function, but `{call.op.spelling}` calls tensor functions", call, hint=hint
        )
        return None

    def results(self, call: OpCall, callee: PrimFunc, expected: list[Any]) -> bool:
        """The result types that the call is told against what the function writes; whether there are as many."""
        notes = pointing(callee.span, f"`{callee.name}` is here")
        if len(call.types) != len(expected):
            count, results = len(callee.params) - len(expected), len(call.types)
            passed = f"{counted(count, 'argument')} and {counted(results, 'result')}"
            message = f"`{callee.name}` has {counted(len(callee.params), 'parameter')}, but {passed} stand here"
            self.report("T101", message, call, notes=notes, hint=Signature(callee).order())
            return False
        for at, (told, known) in enumerate(zip(call.types, expected, strict=True)):
            found = None if known is None else conflict(told, known)
            if found is not None:
                self.report(found[0], f"result {at + 1} of `{callee.name}` {found[1]}", call, notes=notes)
        return True

    def written(self, call: OpCall, callee: PrimFunc, given: TupleExpr, places: tuple[int, ...]) -> None:
        """A tensor function writes its results, and of its arguments those that it is told to. What it hands to
        foreign code, that may write or only read."""
        written = written_params(callee, self.module, foreign=False)
        for at, (param, arg) in enumerate(zip(callee.params, given.fields, strict=False)):
            if param not in written:
                continue
            shown = f"argument {at + 1} of `{callee.name}`" if type(arg) is not GraphVar else f"`{arg.name}`"
            notes = pointing(callee.span, f"`{callee.name}` writes `{param.name}`")
            if at not in places:
                hint = "copy it in the function, or call `G.call_tir_inplace`"
                self.report(
                    "T214", f"{shown} is an argument, but `{callee.name}` writes it", call, notes=notes, hint=hint
                )
            elif type(arg) is GraphConst:
                self.report("T213", f"{shown} is a constant, but `{callee.name}` writes it", call, notes=notes)
            elif any(arg is other for i, other in enumerate(given.fields) if i != at):
                message = f"{shown} is written while `{callee.name}` reads it as another argument"
                self.report("T214", message, call, notes=notes, hint="pass a copy")


def _place(value: Any, at: Any) -> Any:
    return value if getattr(value, "span", None) is not None and type(value) is not GraphVar else at


_STATEMENTS: dict[type, Callable[[GraphVerifier, Any], None]] = {
    GraphBind: GraphVerifier.bind,
    MatchCast: GraphVerifier.match,
    Dataflow: GraphVerifier.dataflow,
    GraphIf: GraphVerifier.branch,
}


# -- of whole modules


def _circle(shown: str, span: Span | None) -> Diagnostic:
    hint = "write the repetition out, or put the loop into a tensor function"
    return error("T215", f"{shown}: a graph function does not call itself", span, hint=hint)


def local_circles(func: GraphFunc) -> Iterator[Diagnostic]:
    """Functions in a graph function that call themselves."""
    for bind in walk(func, GraphBind):
        name = bind.var.name
        if type(bind.value) is GraphFunc and any(part is bind.var for part in walk(bind.value)):
            yield _circle(f"`{name}` calls `{name}`", bind.value.span or bind.span)


def circles(module: Module) -> Iterator[Diagnostic]:
    """Graph functions that call each other in a circle, each circle once, at the call that closes it."""
    for func in module.graph_funcs:
        yield from local_circles(func)
    calls = {func.name: list(walk(func, FunctionRef)) for func in module.graph_funcs}
    done: set[str] = set()
    for start in calls:
        if start in done:
            continue
        path: list[str] = []
        stack: list[tuple[str, Iterator[FunctionRef]]] = [(start, iter(calls[start]))]
        path.append(start)
        while stack:
            name, rest = stack[-1]
            ref = next(rest, None)
            if ref is None:
                stack.pop()
                path.pop()
                done.add(name)
            elif ref.function in path:
                circle = [*path[path.index(ref.function) :], ref.function]
                shown = " calls ".join(f"`{one}`" for one in circle)
                yield _circle(shown, ref.span or module[name].span)
            elif ref.function in calls and ref.function not in done:
                path.append(ref.function)
                stack.append((ref.function, iter(calls[ref.function])))


def graph_warnings(func: GraphFunc) -> Iterator[Diagnostic]:
    """Outputs of dataflows that nothing behind them uses, neither as values nor as dimensions."""
    uses = Counter(id(node) for node in walk(func))
    for node in walk(func):
        if type(node) is Dataflow:
            inside = Counter(id(part) for part in walk(node))
            for var in node.outputs:
                names = (var, *scalar_symbols((var,)))
                if all(uses[id(name)] == inside[id(name)] for name in names):
                    hint = f"leave `{var.name}` out of `G.output`"
                    found = error("T217", f"nothing uses the output `{var.name}` of the dataflow", var.span, hint=hint)
                    yield Diagnostic(found.code, found.message, found.labels, found.notes, found.hint, "warning")
