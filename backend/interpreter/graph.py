"""Graph functions executed value by value: operators by their numpy references, kernels by the tensor interpreter.

Tensors are numpy arrays, tuples Python tuples, shapes tuples of ints, scalars Python numbers. Symbolic dimensions are
bound where the function is called and by `G.match_cast`, and every value is checked against the type of its variable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tirscript.ir import (
    Buffer,
    Const,
    DiagnosticError,
    DType,
    Expr,
    Label,
    Module,
    PrimFunc,
    Stmt,
    Var,
    dtype,
    error,
    recursion_room,
    suggest,
)
from tirscript.ir.computed import require_computed
from tirscript.ir.constant import numpy_dtype, require_constants
from tirscript.ir.graph import (
    Dataflow,
    DeviceValue,
    DTypeValue,
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
    MetadataConst,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    StringValue,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops.foreign import ALLOCATIONS, ENDS, PLACES, STORAGE, is_foreign
from tirscript.ir.graph_ops.views import parts as view_parts
from tirscript.ir.graph_ops.views import view_of
from tirscript.ir.graph_types import NO_SIZE, scalars_in_shapes
from tirscript.ir.span import Span
from tirscript.ir.words import counted, miscounted
from tirscript.ir.written import written_params
from tirscript.passes.layouts.unwritten import is_marked

from ..runtime.arguments import described, has_parts, scalar_argument
from ..runtime.arrays import ArrayProblem, array_of, as_array, new_array
from ..runtime.library import call_library, get_library, library_names
from .graph_arrays import as_arrays, can_be_written, with_own_memory, without_gaps
from .graph_types import problem_of, sizes_of
from .marks import Marks
from .ops import number
from .program import DEEPEST_CALL, Program, run_program
from .virtual_machine import BUILTINS, new_tensor

Frame = dict[GraphVar, Any]
_DIMENSION = PrimType(dtype("int64"))


class GraphRun:
    """One execution of a graph function of a module."""

    def __init__(self, module: Module, max_steps: int | None) -> None:
        self.functions = {one.name: one for one in module.functions}
        self.tensor = Program(module.prim_funcs, module, max_steps is not None)
        self.limit, self.left = max_steps, max_steps
        self.depth = 0
        self.marks = Marks()
        self.sizes: dict[int, list[tuple[str, Var]]] = {}  # of functions by identity

    def call(self, func: GraphFunc, args: Sequence[Any], outer: _Scope | None = None, at: Span | None = None) -> Any:
        """The value that a function gives for arguments."""
        scope = _Scope(self, func, outer)
        if len(args) != len(func.params):
            takes = counted(len(func.params), "argument")
            raise _wrong("T301", f"`{func.name}` takes {takes}, not {len(args)}", at or func.span)
        self.depth += 1
        if self.depth > DEEPEST_CALL:
            raise _wrong("T309", f"calls are nested more than {DEEPEST_CALL} deep", func.span)
        try:
            for param, value in zip(func.params, args, strict=True):
                made = scope.taken(value, param.type, f"argument `{param.name}` of `{func.name}`", at or param.span)
                scope.bind(param, made)
            scope.bind_dimensions(func.params)
            scope.body(func.body)
            return scope.value(func.value)
        finally:
            self.depth -= 1

    def scalars_in_shapes(self, func: GraphFunc) -> list[tuple[str, Var]]:
        """The scalar parameters of a function that stand in shapes."""
        if id(func) not in self.sizes:
            self.sizes[id(func)] = scalars_in_shapes(func)
        return self.sizes[id(func)]

    def step(self, stmt: Stmt) -> None:
        """Count one statement."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                message = f"the program was stopped after {self.limit} steps, at this statement"
                raise _wrong(
                    "T309", message, stmt.span, "raise `max_steps=`, or look for a recursion that does not end"
                )


class _Scope:
    """The values of the variables of one call."""

    def __init__(self, run: GraphRun, func: GraphFunc, outer: _Scope | None) -> None:
        self.run, self.func = run, func
        self.values: Frame = dict(outer.values) if outer else {}
        self.symbols: dict[Var, Any] = dict(outer.symbols) if outer else {}

    # -- statements

    def body(self, body: tuple[Stmt, ...]) -> None:
        """Execute statements."""
        for stmt in body:
            self.run.step(stmt)
            _STATEMENTS[type(stmt)](self, stmt)

    def assign(self, stmt: GraphBind) -> None:
        """`var = value`"""
        value = stmt.value
        made = _Closure(value, self) if type(value) is GraphFunc else self.value(value)
        self.check(made, stmt.var.type, f"`{stmt.var.name}`", stmt.span)
        self.bind(stmt.var, made)

    def match(self, stmt: MatchCast) -> None:
        """`var = G.match_cast(value, type)`"""
        value = self.value(stmt.value)
        self.learn(value, stmt.type)
        self.check(value, stmt.type, "the value of `G.match_cast`", stmt.span)
        self.bind(stmt.var, value)

    def branch(self, stmt: GraphIf) -> None:
        """`if condition: ... else: ...`"""
        condition = self.value(stmt.condition)
        if np.ndim(condition):
            shape = np.shape(condition)
            raise _wrong("T102", f"the condition of an `if` is a scalar, not a tensor {shape}", stmt.condition.span)
        taken = bool(condition)
        self.body(stmt.then_body if taken else stmt.else_body)
        self.bind(stmt.var, self.value(stmt.then_value if taken else stmt.else_value))

    def bind(self, var: GraphVar, value: Any) -> None:
        """Give a variable its value, and the scalar it is known by in dimensions."""
        self.values[var] = value
        kind = var.type
        if type(kind) is PrimType and type(kind.value) is Var:
            self.symbols.setdefault(kind.value, value)

    # -- values

    def value(self, expr: GraphExpr) -> Any:
        """What an expression stands for."""
        return _VALUES[type(expr)](self, expr)

    def variable(self, expr: GraphVar) -> Any:
        try:
            return self.values[expr]
        except KeyError:
            raise _wrong("T201", f"`{expr.name}` has no value here", expr.span) from None

    def const(self, expr: GraphConst) -> Any:
        return expr.data.array

    def item(self, expr: TupleItem) -> Any:
        return self.value(expr.value)[expr.index]

    def number(self, expr: Expr) -> Any:
        """The value of a scalar expression of dimensions."""
        found = number(expr, self.symbols, self.func.span)
        return found.item() if isinstance(found, np.generic) else found

    def operand(self, expr: GraphExpr, tensor: bool) -> Any:
        """The value of an operator's argument, which may be a `tensor`; a scalar has the dtype that its type says."""
        value = self.value(expr)
        dtype = _scalar_dtype(expr)
        if dtype is None or not isinstance(value, (bool, int, float)):
            return value
        if not tensor and dtype.name in ("bool", "int64", "float64"):
            return value  # numpy takes Python's own for these
        return np.asarray(value, numpy_dtype(dtype))[()]

    def op_call(self, expr: OpCall) -> Any:
        op = expr.op
        special = _SPECIAL.get(op.name)
        if special is not None:
            return special(self, expr)
        if op.reference is None:
            why = "an operator of TVM's that has no meaning here" if is_foreign(op) else "not executed"
            raise _wrong("T308", f"`{op.spelling}` is {why}", expr.span)
        kinds = [one.kind for one in op.values]
        args = [self.operand(arg, kinds[at : at + 1] == ["tensor"]) for at, arg in enumerate(expr.args)]
        self.run.marks.check(tuple(args))
        try:
            found = op.reference(*args, **expr.attrs)
        except DiagnosticError:
            raise
        except IndexError as problem:
            raise _wrong("T302", f"`{op.spelling}`: {problem}", expr.span) from None
        except ZeroDivisionError as problem:
            raise _wrong("T304", f"`{op.spelling}`: {problem}", expr.span) from None
        except (ValueError, TypeError, OverflowError, MemoryError) as problem:
            raise _wrong("T301", f"`{op.spelling}`: {problem}", expr.span) from problem
        return with_own_memory(as_arrays(found), args)

    def function_call(self, expr: FunctionCall) -> Any:
        args = [self.value(arg) for arg in expr.args]
        callee = expr.function
        if type(callee) is ExternFunction:
            found = self.library(callee.symbol, args, expr)
            nothing = len(expr.types) == 1 and type(expr.types[0]) is TupleType and not expr.types[0].fields
            return () if nothing else found
        if type(callee) is FunctionRef:
            func = self.function(callee)
            if isinstance(func, PrimFunc):  # it is called for what it writes, and the scalar that it returns
                found = self.kernel(expr, callee, args)
                return () if func.returns is None else found
            return self.run.call(func, args, at=expr.span)
        found = self.value(callee)
        if not isinstance(found, _Closure):
            raise _wrong("T022", f"a value of {type(found).__name__} cannot be called", expr.span)
        return self.run.call(found.func, [*found.given, *args], found.scope, expr.span)

    def reference(self, expr: FunctionRef) -> Any:
        """A graph function of the module as a value."""
        func = self.function(expr)
        if isinstance(func, PrimFunc):
            raise _wrong("T022", f"the tensor function `{expr.function}` is no value", expr.span)
        return _Closure(func, None)

    def function(self, expr: FunctionRef) -> PrimFunc | GraphFunc:
        """A function of the module."""
        found = self.run.functions.get(expr.function)
        if found is None:
            near = suggest(expr.function, self.run.functions)
            hint = f"did you mean `{near}`?" if near else None
            raise _wrong("T307", f"the module has no function `{expr.function}`", expr.span, hint)
        return found

    def library(self, name: str, args: Sequence[Any], expr: GraphExpr, given: Sequence[GraphExpr] = ()) -> Any:
        """What a registered library function returns; `given` are the first arguments as the call writes them."""
        function = get_library(name)
        if function is None and name in BUILTINS:
            self.run.marks.forget(args)
            return BUILTINS[name](args, expr.span)
        if function is None:
            near = suggest(name, library_names())
            hint = f"did you mean `{near}`?" if near else "name it with `tirscript.register_library(name, function)`"
            raise _wrong("T307", f"no library function is registered as `{name}`", expr.span, hint)
        self.run.marks.check(tuple(args))
        self.run.marks.forget(args)
        return call_library(function, args, expr.span, [_scalar_dtype(one) for one in given])

    # -- kernels and libraries

    def call_tir(self, expr: OpCall) -> Any:
        """`G.call_tir(cls.f, (x,), out=...)`: the arguments, new tensors, then `tir_vars`."""
        args = [*self.value(expr.args[1])]
        outs = [self.new(kind, expr) for kind in expr.types]
        extra = self.value(expr.args[2]) if len(expr.args) > 2 else ()
        self.kernel(expr, expr.args[0], [*args, *outs, *extra], outs)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def call_tir_inplace(self, expr: OpCall) -> Any:
        """Result i is argument `inplace_indices[i]`, or a new tensor where that is -1."""
        args = [*self.value(expr.args[1])]
        places = expr.attrs["inplace_indices"]
        outs = [
            self.new(kind, expr) if place < 0 else args[place] for kind, place in zip(expr.types, places, strict=True)
        ]
        fresh = [out for out, place in zip(outs, places, strict=True) if place < 0]
        extra = self.value(expr.args[2]) if len(expr.args) > 2 else ()
        self.kernel(expr, expr.args[0], [*args, *fresh, *extra], fresh)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def symbol(self, expr: OpCall) -> str:
        """The name of the library function that a call is of."""
        callee = expr.args[0]
        found = self.value(callee) if type(callee) is GraphVar else callee
        if type(found) is ExternFunction:
            return found.symbol
        raise _wrong("T308", f"the function of `{expr.op.spelling}` is named by a string", expr.span)

    def kernel(self, expr: GraphExpr, callee: GraphExpr, args: list[Any], fresh: Sequence[Any] = ()) -> Any:
        """What a tensor function returns, or a library function of that name; `fresh` are arguments that are new."""
        if type(callee) is ExternFunction:
            return self.library(callee.symbol, args, expr)
        if type(callee) is not FunctionRef:
            raise _wrong("T308", "the function of `G.call_tir` is one of the module", expr.span)
        func = self.function(callee)
        if not isinstance(func, PrimFunc):
            raise _wrong("T022", f"`{callee.function}` is no tensor function", expr.span)
        given = self.apart(func, [without_gaps(arg) for arg in args])
        self.run.marks.allocate(fresh)
        try:
            found = run_program(self.run.tensor, func.name, given, {}, self.run.left, self.run.marks)
        except DiagnosticError as problem:
            raise _called(problem, expr.span, func.name) from None
        self.run.marks.settle(fresh)
        if is_marked(func):
            self.run.marks.pack(func, args[-1])
        return found

    def apart(self, func: PrimFunc, args: list[Any]) -> tuple[Any, ...]:
        """The arguments of a kernel; what cannot be written is copied where it is handed to foreign code, which may
        only read it."""
        if all(can_be_written(arg) for arg in args):
            return tuple(args)
        module = self.run.tensor.module
        handed = written_params(func, module) - written_params(func, module, foreign=False)
        params = zip(func.params, args, strict=False)  # that their numbers differ is told by the call
        copies = [arg.copy() if param in handed and not can_be_written(arg) else arg for param, arg in params]
        return (*copies, *args[len(copies) :])

    def call_dps(self, expr: OpCall) -> Any:
        """`G.call_dps_packed("name", (x,), out=...)`"""
        args = self.value(expr.args[1])
        outs = [self.new(kind, expr) for kind in expr.types]
        given = args if isinstance(args, tuple) else (args,)
        if type(expr.args[0]) is FunctionRef:
            self.kernel(expr, expr.args[0], [*given, *outs], outs)
        else:
            written = expr.args[1]
            self.library(self.symbol(expr), [*given, *outs], expr, getattr(written, "fields", (written,)))
        return outs[0] if len(outs) == 1 else tuple(outs)

    def call_packed(self, expr: OpCall) -> Any:
        """`G.call_pure_packed("name", x, ...)`"""
        rest = [self.value(arg) for arg in expr.args[1:]]
        args = rest[0] if len(rest) == 1 and type(expr.args[1]) is TupleExpr else rest
        given = expr.args[1:] if args is rest else getattr(expr.args[1], "fields", ())
        return as_arrays(self.library(self.symbol(expr), args, expr, given))

    def call_dynamic(self, expr: OpCall) -> Any:
        """`R.vm.call_tir_dyn(cls.f, (x, y, R.shape([n])))`"""
        args = [self.value(arg) for arg in getattr(expr.args[1], "fields", ())]
        self.kernel(expr, expr.args[0], [part for arg in args for part in (arg if type(arg) is tuple else (arg,))])
        return ()

    def make_closure(self, expr: OpCall) -> Any:
        func = self.function(expr.args[0]) if type(expr.args[0]) is FunctionRef else None
        if not isinstance(func, GraphFunc):
            raise _wrong("T308", "`G.make_closure` takes a graph function of the module", expr.span)
        return _Closure(func, None, tuple(self.value(expr.args[1])))

    def invoke_closure(self, expr: OpCall) -> Any:
        closure = self.value(expr.args[0])
        if not isinstance(closure, _Closure):
            raise _wrong("T308", f"`{expr.op.spelling}` takes what `G.make_closure` gives", expr.span)
        return self.run.call(closure.func, [*closure.given, *self.value(expr.args[1])], closure.scope, expr.span)

    def show(self, expr: OpCall) -> Any:
        """`G.print(x, format="{}")`"""
        values = [value for arg in expr.args for value in _spread(self.value(arg), arg)]
        text = expr.attrs["format"]
        sys.stdout.write((text.format(*values) if text else " ".join(map(str, values))) + "\n")
        return ()

    def require(self, expr: OpCall) -> Any:
        """`G.assert_op(condition, x, format="...")`"""
        if not bool(self.value(expr.args[0])):
            values = [value for arg in expr.args[1:] for value in _spread(self.value(arg), arg)]
            text = expr.attrs["format"]
            raise AssertionError(text.format(*values) if text else "the condition of `G.assert_op` is false")
        return ()

    def view(self, expr: OpCall) -> Any:
        """`G.memory.view(x, shape, dtype, offset)`"""
        x, (shape, kind, begin) = self.value(expr.args[0]), view_parts(expr)
        self.run.marks.check((x,))
        sizes, first = (None if one is None else self.value(one) for one in (shape, begin))
        try:
            return view_of(x, sizes, None if kind is None else numpy_dtype(kind), first)
        except ValueError as problem:
            raise _wrong("T301", f"`{expr.op.spelling}`: {problem}", expr.span) from None

    def new(self, kind: GraphType, expr: GraphExpr) -> Any:
        """Memory for a result."""
        if type(kind) is not TensorType or kind.shape is None or kind.dtype is None:
            raise _wrong("T308", "the result of a call has no known shape and dtype", expr.span)
        sizes = [int(self.number(dim)) for dim in kind.shape]
        if min(sizes, default=0) < 0:
            raise _wrong("T207", f"a result would have the shape {tuple(sizes)}", expr.span)
        return new_array(tuple(sizes), numpy_dtype(kind.dtype), "a result", expr.span, zeros=True)

    # -- types

    def taken(self, value: Any, kind: GraphType, what: str, span: Span | None) -> Any:
        """An argument of the caller's as a value; its dimensions are learnt."""
        if type(kind) in (TupleType, ShapeType):
            return self.parts_taken(value, kind, what, span)
        try:
            if type(kind) is PrimType:
                return scalar_argument(value, kind.dtype)
            if type(kind) is not TensorType or type(value) is np.ndarray:
                return value
            if kind.dtype is not None:
                return as_array(value, Buffer(what.split("`")[1], (), kind.dtype))
            return array_of(value)
        except ArrayProblem as problem:
            message = f"{what}: expected {problem.expected}, got {problem.got}"
            raise _wrong("T301", message, span, problem.hint) from None

    def parts_taken(self, value: Any, kind: GraphType, what: str, span: Span | None) -> tuple[Any, ...]:
        """An argument that is a tuple or a shape: each of its parts as a value."""
        if not has_parts(value):
            noun = "a tuple" if type(kind) is TupleType else "a shape, which is a tuple of ints"
            raise _wrong("T301", f"{what}: expected {noun}, got {described(value)}", span)
        types = kind.fields if type(kind) is TupleType else [_DIMENSION] * len(value)
        if len(value) != len(types):
            raise _wrong("T301", f"{what}: expected a tuple of {len(types)}, got one of {len(value)}", span)
        name = "field" if type(kind) is TupleType else "dimension"
        pairs = enumerate(zip(value, types, strict=True))
        return tuple([self.taken(one, each, f"{name} {at} of {what}", span) for at, (one, each) in pairs])

    def bind_dimensions(self, params: Sequence[GraphVar]) -> None:
        """The symbolic dimensions of the parameters, and a check of all."""
        for param in params:
            self.learn(self.values[param], param.type)
        for param in params:
            what = f"argument `{param.name}` of `{self.func.name}`"
            self.check(self.values[param], param.type, what, param.span, "T301")
        for name, scalar in self.run.scalars_in_shapes(self.func):
            if self.symbols[scalar] < 0:
                what = f"argument `{name}` of `{self.func.name}`"
                raise _wrong("T301", f"{what} {NO_SIZE}, and it is {self.symbols[scalar]}", self.func.span)

    def learn(self, value: Any, kind: GraphType) -> None:
        """Bind the plain variables of a type that are not known yet."""
        if type(kind) is TupleType and isinstance(value, tuple):
            for one, field in zip(value, kind.fields, strict=False):
                self.learn(one, field)
            return
        for dim, size in sizes_of(value, kind):
            if type(dim) is Var:
                self.symbols.setdefault(dim, size)

    def check(self, value: Any, kind: GraphType, what: str, span: Span | None, code: str = "") -> None:
        """Raise where a value is not of a type, by the code of the caller's mistake where one is given."""
        problem = problem_of(value, kind)
        if problem is not None:
            raise _wrong(code or problem[0], f"{what}: {problem[1]}", span)
        if type(kind) is TupleType:
            for at, (one, field) in enumerate(zip(value, kind.fields, strict=True)):
                self.check(one, field, f"field {at} of {what}", span, code)
            return
        for at, (dim, size) in enumerate(sizes_of(value, kind)):
            try:
                want = self.number(dim)
            except KeyError:
                continue
            if want != size:
                where = f"dimension {at} of {what}" if type(kind) is not PrimType else what
                known = want if type(dim) is Const else f"`{dim.script()}`, which is {want}"
                raise _wrong(code or "T207", f"{where}: expected {known}, got {size}", span)


class _Closure:
    """A local graph function with what is around it, or a function with its first arguments."""

    def __init__(self, func: GraphFunc, scope: _Scope | None, given: tuple[Any, ...] = ()) -> None:
        self.func, self.scope, self.given = func, scope, given


def _scalar_dtype(expr: GraphExpr) -> DType | None:
    """The dtype of a scalar; None for anything else."""
    kind = PrimType(expr.value.dtype) if type(expr) is PrimValue else getattr(expr, "type", None)
    return kind.dtype if type(kind) is PrimType else None


def _spread(value: Any, arg: GraphExpr) -> Sequence[Any]:
    return value if type(arg) is TupleExpr else [value]


def _wrong(code: str, message: str, span: Span | None, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([error(code, message, span, hint=hint)])


def _called(problem: DiagnosticError, span: Span | None, name: str) -> DiagnosticError:
    from msgspec import structs

    if span is None:
        return problem
    label = Label(span, f"`{name}` is called here")
    return DiagnosticError(structs.replace(one, labels=(*one.labels, label)) for one in problem.diagnostics)


def _not_here(scope: _Scope, expr: GraphExpr) -> NoReturn:
    raise _wrong("T308", "a constant whose data is not in the text has no value", expr.span)


_STATEMENTS: dict[type, Callable[[_Scope, Any], None]] = {
    GraphBind: _Scope.assign,
    MatchCast: _Scope.match,
    Dataflow: lambda scope, stmt: scope.body(stmt.body),
    GraphIf: _Scope.branch,
}
_VALUES: dict[type, Callable[[_Scope, Any], Any]] = {
    GraphVar: _Scope.variable,
    GraphConst: _Scope.const,
    MetadataConst: _not_here,
    TupleExpr: lambda scope, expr: tuple([scope.value(one) for one in expr.fields]),
    TupleItem: _Scope.item,
    ShapeExpr: lambda scope, expr: tuple([int(scope.number(one)) for one in expr.values]),
    PrimValue: lambda scope, expr: scope.number(expr.value),
    StringValue: lambda scope, expr: expr.value,
    DTypeValue: lambda scope, expr: expr.value,
    DeviceValue: lambda scope, expr: expr,
    FunctionRef: _Scope.reference,
    ExternFunction: lambda scope, expr: expr,
    GraphFunc: lambda scope, expr: _Closure(expr, scope),
    OpCall: _Scope.op_call,
    FunctionCall: _Scope.function_call,
}
_SPECIAL: dict[str, Callable[[_Scope, OpCall], Any]] = {
    "call_tir": _Scope.call_tir,
    "call_tir_with_grad": _Scope.call_tir,
    "dist.call_tir": _Scope.call_tir,
    "call_tir_inplace": _Scope.call_tir_inplace,
    "call_dps_packed": _Scope.call_dps,
    "call_pure_packed": _Scope.call_packed,
    "call_inplace_packed": _Scope.call_packed,
    "make_closure": _Scope.make_closure,
    "invoke_closure": _Scope.invoke_closure,
    "invoke_pure_closure": _Scope.invoke_closure,
    "print": _Scope.show,
    "assert_op": _Scope.require,
    "call_builtin_with_ctx": _Scope.call_packed,
    "memory.view": _Scope.view,
    "null_value": lambda scope, expr: None,
    # where values lie is nothing to the interpreter, which has memory of its own for each
    **dict.fromkeys(ALLOCATIONS, lambda scope, expr: new_tensor(expr, scope.value)),
    **dict.fromkeys(STORAGE, lambda scope, expr: None),
    **dict.fromkeys(ENDS, lambda scope, expr: ()),
    **dict.fromkeys(PLACES, lambda scope, expr: scope.value(expr.args[0])),
    "vm.call_tir_dyn": _Scope.call_dynamic,
}


def run_graph(module: Module, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], max_steps: int | None) -> Any:
    """Execute a graph function of a module on the caller's arguments; see `interpret`."""
    func = module[name]
    assert isinstance(func, GraphFunc)
    require_constants(module)
    require_computed(module, "T308")
    names = [param.name for param in func.params]
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names):
        raise _wrong("T301", f"`{name}` {miscounted(names, len(args))}", func.span)
    for key, value in kwargs.items():
        if key not in names or key in given:
            near = suggest(key, names)
            message = f"`{name}` is given `{key}` twice" if key in given else f"`{name}` has no parameter `{key}`"
            raise _wrong("T301", message, func.span, f"did you mean `{near}`?" if near and key not in names else None)
        given[key] = value
    absent = [one for one in names if one not in given]
    if absent:
        raise _wrong("T301", f"`{name}` is not given `{absent[0]}`", func.span)
    with recursion_room(), np.errstate(all="ignore"):
        run = GraphRun(module, max_steps)
        found = run.call(func, [given[one] for one in names])
        run.marks.check(found)
        return found


__all__ = ["run_graph"]
