"""Built graph functions whose results have sizes that they compute: steps, between which memory is made.

`passes/graph/split_at_sizes.py` leaves a graph function that calls a tensor function for each step. It is executed
here; the steps are native.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphVar,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    TensorType,
    TupleExpr,
    TupleItem,
)
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.passes.lowering import STEPS

from ..interpreter.ops import evaluate
from .arguments import bind_arguments
from .graph_function import GraphFunction, memory


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
        names = called(main)
        if names is None or not natives.keys() >= set(names):
            message = f"`{main.name}` has the attribute `{STEPS}`, and is no series of calls of tensor functions"
            raise DiagnosticError(
                [error("T401", message, main.span, hint="leave it away: `split_at_sizes` gives it to what it makes")]
            )
        self.natives = {name: natives[name] for name in names}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = self._given(args, kwargs)
        bound = bind_arguments(self._head, self._tensors(given), {})
        values: dict[Any, Any] = {**bound.symbols, **bound.scalars, **dict(zip(self.main.params, given, strict=True))}
        for stmt in self.main.body:
            assert type(stmt) is GraphBind
            found = values[stmt.var] = self._value(stmt.value, values)
            kind = stmt.var.type
            if type(kind) is PrimType and type(kind.value) is Var:
                values[kind.value] = found
        return _copied(self._value(self.main.value, values), given)

    def _value(self, expr: GraphExpr, values: dict[Any, Any]) -> Any:
        rule = _VALUES.get(type(expr))
        assert rule is not None, expr
        return rule(self, expr, values)

    def _all(self, exprs: Iterable[GraphExpr], values: dict[Any, Any]) -> tuple[Any, ...]:
        return tuple(self._value(one, values) for one in exprs)

    def _step(self, call: OpCall, values: dict[Any, Any]) -> Any:
        """A call of a step: memory for its results, which are given."""
        assert call.op is CALL_TIR
        function, given, *rest = call.args
        outs = [memory(kind, values, self.func) for kind in call.types if isinstance(kind, TensorType)]
        scalars = self._value(rest[0], values) if rest else ()
        assert type(function) is FunctionRef
        self.natives[function.function](*self._value(given, values), *outs, *scalars)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _read(self, call: FunctionCall, values: dict[Any, Any]) -> Any:
        assert type(call.function) is FunctionRef
        return self.natives[call.function.function](*self._all(call.args, values))

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
    for stmt in main.body:
        value = stmt.value if type(stmt) is GraphBind else None
        if type(value) not in _VALUES or (type(value) is OpCall and value.op is not CALL_TIR):
            return None
        function = value.args[0] if type(value) is OpCall else getattr(value, "function", None)
        if type(function) is FunctionRef:
            found[function.function] = None
    return list(found)


def _number(expr: Expr, values: dict[Any, Any]) -> Any:
    if type(expr) is Const:
        return expr.value
    return values[expr] if type(expr) is Var else evaluate(expr, values)


def _copied(value: Any, given: Any) -> Any:
    """Results that are the caller's arrays, or constants of the program, as arrays of their own."""
    if type(value) is tuple:
        return tuple(_copied(one, given) for one in value)
    own = isinstance(value, np.ndarray) and value.flags.writeable and all(value is not one for one in given)
    return value if own or not hasattr(value, "__array__") else np.array(value)


_VALUES: dict[type, Callable[[SteppedFunction, Any, dict[Any, Any]], Any]] = {
    GraphVar: lambda function, expr, values: values[expr],
    GraphConst: lambda function, expr, values: expr.data.array,
    TupleExpr: lambda function, expr, values: function._all(expr.fields, values),
    TupleItem: lambda function, expr, values: function._value(expr.value, values)[expr.index],
    ShapeExpr: lambda function, expr, values: tuple(int(_number(one, values)) for one in expr.values),
    PrimValue: lambda function, expr, values: _number(expr.value, values),
    OpCall: SteppedFunction._step,
    FunctionCall: SteppedFunction._read,
}

__all__ = ["SteppedFunction", "called"]
