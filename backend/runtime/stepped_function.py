"""Built graph functions whose results have sizes that they compute: steps, between which memory is made.

`passes/graph/split_at_sizes.py` leaves a graph function that calls a tensor function for each step. It is executed
here; the steps are native.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import numpy_dtype
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import Call, Const, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
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
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.rewrite import walk
from tirscript.passes.lowering import STEPS

from ..interpreter.ops import evaluator, number
from .arguments import bind_arguments
from .graph_function import GraphFunction, memory

Value = Callable[[dict[Any, Any]], Any]  # from the values of variables to that of an expression
Done = Callable[[dict[Any, Any]], None]  # gives values to more variables


class SteppedFunction(GraphFunction):
    """A built graph function that makes the memory of its results on its way. It is called like any other."""

    def __init__(
        self, func: GraphFunc, main: GraphFunc, head: PrimFunc, natives: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.func, self.main = func, main
        self.__name__ = self.__qualname__ = func.name
        self.__doc__ = func.docstring
        self._head = head
        self._flat = all(type(param.type) is TensorType for param in func.params)
        self._shapes = _plain_shapes(head) if self._flat else None
        names = called(main)
        if names is None or not natives.keys() >= set(names):
            message = f"`{main.name}` has the attribute `{STEPS}`, and is no series of calls of tensor functions"
            raise DiagnosticError(
                [error("T401", message, main.span, hint="leave it away: `split_at_sizes` gives it to what it makes")]
            )
        self.natives = {name: natives[name] for name in names}
        # what is done in turn, looked up once: a call does nothing but make memory and enter the steps
        self._steps = self._done(main.body)
        self._result = self._value(main.value)

    def _result_of(self, given: Sequence[Any]) -> Any:
        values: dict[Any, Any] | None = None if self._shapes is None else _sizes(self._shapes, given)
        if values is None:  # which says what is wrong
            flat = self._tensors(given)
            try:
                bound = bind_arguments(self._head, flat, {})
            except DiagnosticError:
                self._check(flat)
                raise
            values = {**bound.symbols, **bound.scalars}
        values.update(zip(self.main.params, given, strict=True))
        for run in self._steps:
            run(values)
        return _copied(self._result(values), given)

    def _done(self, body: Iterable[Any]) -> list[Done]:
        return [_STATEMENTS[type(stmt)](self, stmt) for stmt in body]

    def _bind(self, stmt: GraphBind) -> Done:
        var, kind, value = stmt.var, stmt.var.type, self._value(stmt.value)
        size = kind.value if type(kind) is PrimType and type(kind.value) is Var else var

        def run(values: dict[Any, Any]) -> None:
            values[var] = values[size] = value(values)

        return run

    def _match(self, stmt: MatchCast) -> Done:
        """Name the sizes of a value."""
        value, parts = self._value(stmt.value), list(_sized(stmt.type))

        def run(values: dict[Any, Any]) -> None:
            found = values[stmt.var] = value(values)
            for place, axis, dim in parts:
                part = found
                for at in place:
                    part = part[at]
                values[dim] = part.shape[axis]

        return run

    def _choose(self, stmt: GraphIf) -> Done:
        condition = self._value(stmt.condition)
        then, orelse = self._done(stmt.then_body), self._done(stmt.else_body)
        first, second = self._value(stmt.then_value), self._value(stmt.else_value)

        def run(values: dict[Any, Any]) -> None:
            steps, value = (then, first) if condition(values) else (orelse, second)
            for step in steps:
                step(values)
            values[stmt.var] = value(values)

        return run

    def _value(self, expr: GraphExpr) -> Value:
        rule = _VALUES.get(type(expr))
        if rule is None:  # of a result: texts and dtypes are no values of compiled functions
            message = (
                f"`{self.func.name}`: a function that is compiled returns tensors, scalars, shapes and tuples of them"
            )
            hint = "`tirscript.interpret` executes it"
            raise DiagnosticError([error("T401", message, expr.span or self.func.span, hint=hint)])
        return rule(self, expr)

    def _all(self, exprs: Iterable[GraphExpr]) -> Callable[[dict[Any, Any]], tuple[Any, ...]]:
        parts = [self._value(one) for one in exprs]
        return lambda values: tuple([part(values) for part in parts])

    def _item(self, expr: TupleItem) -> Value:
        whole, index = self._value(expr.value), expr.index
        return lambda values: whole(values)[index]

    def _shape(self, expr: ShapeExpr) -> Value:
        sizes = [self._number(PrimValue(one)) for one in expr.values]
        return lambda values: tuple([int(size(values)) for size in sizes])

    def _number(self, expr: PrimValue) -> Value:
        size, span = evaluator(expr.value), self.func.span
        if type(expr.value) is not Call:
            return size

        def run(values: dict[Any, Any]) -> Any:
            try:
                return size(values)
            except ZeroDivisionError:
                return number(expr.value, values, span)  # which says what divides

        return run

    def _step(self, call: OpCall) -> Value:
        """A call of a step: memory for its results, which are given."""
        assert call.op is CALL_TIR
        function, given, *rest = call.args
        assert type(function) is FunctionRef
        native = self.natives[function.function]
        makers = [memory(kind, self.func) for kind in call.types if isinstance(kind, TensorType)]
        args, scalars = self._value(given), self._value(rest[0]) if rest else self._all(())

        def run(values: dict[Any, Any]) -> Any:
            outs = [make(values) for make in makers]
            native(*args(values), *outs, *scalars(values))
            return outs[0] if len(outs) == 1 else tuple(outs)

        return run

    def _read(self, call: FunctionCall) -> Value:
        assert type(call.function) is FunctionRef
        native, args = self.natives[call.function.function], self._all(call.args)
        return lambda values: native(*args(values))

    def llvm_ir(self) -> str:
        """The LLVM IR of the optimized code of all steps."""
        return self._of_steps("llvm_ir")

    def assembly(self) -> str:
        """The machine code of all steps as assembly text."""
        return self._of_steps("assembly")

    def source(self) -> str:
        """The source that the code generator wrote for all steps, where it writes one."""
        return self._of_steps("source")

    def _of_steps(self, what: str) -> str:
        return "\n".join(dict.fromkeys(getattr(native, what)() for native in self.natives.values()))

    def export(self, path: str | Path, *, header: str | Path | None = None, prefix: str | None = None) -> Path:
        """Refused: raises DiagnosticError T402."""
        self.refuse_export()

    def refuse_export(self) -> NoReturn:
        """Raise DiagnosticError T402: a C program could not know how much memory the results take."""
        names = ", ".join(f"`{name}`" for name in self.natives)
        message = f"the sizes of what `{self.func.name}` returns are known only when it has run"
        hint = f"export the steps, {names}, of the module that `split_at_sizes` makes, and call them in turn"
        raise DiagnosticError([error("T402", message, self.func.span, hint=hint)])


def called(main: GraphFunc) -> list[str] | None:
    """The tensor functions that a function of steps calls; None where something else is in it."""
    found: dict[str, None] = {}
    for stmt in _in_turn(main.body):
        value = stmt.value if type(stmt) is GraphBind or _is_chosen(stmt) else None
        if type(value) not in _VALUES or (type(value) is OpCall and value.op is not CALL_TIR):
            return None
        function = value.args[0] if type(value) is OpCall else getattr(value, "function", None)
        if type(function) is FunctionRef:
            found[function.function] = None
    return list(found)


def _is_chosen(stmt: Any) -> bool:
    """Whether a statement names the sizes of what a choice gives, in which its branches differ."""
    kind = stmt.value.type if type(stmt) is MatchCast and type(stmt.value) is GraphVar else None
    return kind is not None and any(type(one) is TensorType and one.shape is None for one in walk(kind))


def _in_turn(body: Iterable[Any]) -> Iterator[Any]:
    """Statements with those of both branches in place of a choice."""
    for stmt in body:
        if type(stmt) is GraphIf:
            yield from _in_turn((*stmt.then_body, *stmt.else_body))
        else:
            yield stmt


def _sized(kind: GraphType, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], int, Var]]:
    """The dimensions with names of the tensors in a value: where the tensor is, and the axis."""
    if type(kind) is TupleType:
        for at, field in enumerate(kind.fields):
            yield from _sized(field, (*place, at))
    elif type(kind) is TensorType:
        yield from ((place, axis, dim) for axis, dim in enumerate(kind.shape or ()) if type(dim) is Var)


Shapes = list[tuple[np.dtype[Any], int, tuple[Var | int, ...]]]


def _plain_shapes(head: PrimFunc) -> Shapes | None:
    """The dtype, rank and dimensions of each parameter; None where one is no array, or of computed dimensions."""
    found: Shapes = []
    for param in head.params:
        if not isinstance(param, Buffer):
            return None
        shape = [int(dim.value) if type(dim) is Const else dim if type(dim) is Var else None for dim in param.shape]
        if None in shape:
            return None
        found.append((numpy_dtype(param.dtype), len(shape), tuple(one for one in shape if one is not None)))
    return found


def _sizes(shapes: Shapes, given: Sequence[Any]) -> dict[Any, Any] | None:
    """The values of the dimensions of arrays that are what they should be; None where one is not known to be."""
    values: dict[Any, Any] = {}
    for array, (dtype, rank, shape) in zip(given, shapes, strict=True):
        if type(array) is not np.ndarray or array.dtype != dtype or array.ndim != rank or not array.flags.c_contiguous:
            return None
        for have, dim in zip(array.shape, shape, strict=True):
            if (dim if type(dim) is int else values.setdefault(dim, have)) != have:
                return None
    return values


def _copied(value: Any, given: Any) -> Any:
    """Results that are the caller's arrays, or constants of the program, as arrays of their own."""
    if type(value) is tuple:
        return tuple(_copied(one, given) for one in value)
    own = isinstance(value, np.ndarray) and value.flags.writeable and all(value is not one for one in given)
    return value if own or not hasattr(value, "__array__") else np.array(value)


def _constant(function: SteppedFunction, expr: GraphConst) -> Value:
    return lambda values: expr.data.array


_VALUES: dict[type, Callable[[SteppedFunction, Any], Value]] = {
    GraphVar: lambda function, expr: itemgetter(expr),
    GraphConst: _constant,
    TupleExpr: lambda function, expr: function._all(expr.fields),
    TupleItem: SteppedFunction._item,
    ShapeExpr: SteppedFunction._shape,
    PrimValue: SteppedFunction._number,
    OpCall: SteppedFunction._step,
    FunctionCall: SteppedFunction._read,
}

_STATEMENTS: dict[type, Callable[[SteppedFunction, Any], Done]] = {
    GraphBind: SteppedFunction._bind,
    MatchCast: SteppedFunction._match,
    GraphIf: SteppedFunction._choose,
}

__all__ = ["SteppedFunction", "called"]
