"""Graph functions built step by step, for importers and passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .check import public
from .dtype import DType, dtype
from .expr import Var
from .func import PrimFunc
from .graph import (
    Dataflow,
    FunctionCall,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    MatchCast,
    OpCall,
    PrimType,
    TensorType,
    TupleExpr,
    TupleItem,
)
from .graph_ops import dims
from .graph_ops.infer import type_of, with_dimensions
from .graph_types import as_annotated
from .module import Function, Module
from .node import NO_ATTRS, Attrs, are_same
from .rewrite import walk
from .stmt import Stmt
from .verify import check_well_formed


class BlockBuilder:
    """Builds the functions of a module, each statement with its inferred type, in normal form.

    ```python
    from tirscript import BlockBuilder
    from tirscript.script import graph as G

    bb = BlockBuilder()
    x = bb.tensor("x", ("n", 4), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(G.nn.relu(G.add(x, x)), "y")
            out = bb.emit_output(G.multiply(y, 2.0))
        bb.emit_func_output(out)
    module = bb.get()
    ```

    A call in a call gets a name of its own. Names are hints: the printer makes them unique.
    """

    def __init__(self, module: Module | None = None) -> None:
        """A builder that adds to `module`, or begins an empty one."""
        self._module = module or Module(())
        self._symbols: dict[str, Var] = {}
        self._bodies: list[list[Stmt]] = []
        self._outputs: list[GraphVar] | None = None
        self._name = ""
        self._params: tuple[GraphVar, ...] = ()
        self._attrs: Attrs = NO_ATTRS
        self._options: dict[str, Any] = {}
        self._made: GraphFunc | None = None

    def __repr__(self) -> str:
        names = ", ".join(function.name for function in self._module.functions) or "no function"
        return f"<block builder: {names}{f', {self._name} is open' if self._bodies else ''}>"

    # -- variables

    def symbol(self, name: str) -> Var:
        """The symbolic dimension of that name, one for each function; int64."""
        return self._symbols.setdefault(name, Var(name, dtype("int64")))

    def tensor(self, name: str, shape: Sequence[Any] | None, kind: object, ndim: int | None = None) -> GraphVar:
        """A new variable for a tensor: dimensions are ints, expressions, or names of symbols; None is any shape."""
        elements = None if kind is None else dtype(kind)
        if shape is None:
            return GraphVar(name, TensorType(None, elements, ndim))
        sizes = [self.symbol(dim) if isinstance(dim, str) else dims.dim(dim) for dim in shape]
        return GraphVar(name, TensorType(tuple(sizes), elements))

    def scalar(self, name: str, kind: object = "int64") -> GraphVar:
        """A new variable for a scalar; dimensions may use the symbol of its name."""
        own: DType = dtype(kind)
        var = self.symbol(name) if own is dtype("int64") else Var(name, own)
        return GraphVar(name, PrimType(own, var))

    # -- functions

    @public
    def add_func(self, func: PrimFunc | GraphFunc, name: str | None = None) -> str:
        """Add a function to the module; the name that it has there, with a number where its own is taken.

        A tensor function that is there already, by that name and equal, is not added twice.
        """
        wanted = name or func.name
        found, number = wanted, 0
        while found in self._module or found == self._name:
            if found in self._module and self._module[found] == func.replace(name=found):
                return found
            number += 1
            found = f"{wanted}_{number}"
        self._module = self._module.with_function(func if func.name == found else func.replace(name=found))
        return found

    @public
    @contextmanager
    def function(
        self,
        name: str,
        params: Sequence[GraphVar] = (),
        *,
        attrs: dict[str, Any] | None = None,
        private: bool = False,
        pure: bool = True,
    ) -> Iterator[None]:
        """The body of a new function, which ends with `emit_func_output`. ValueError where one is open already,
        DiagnosticError at its end where it is not well-formed: a value of a dataflow that is used behind it."""
        if self._bodies:
            raise ValueError("a function is open already; its body ends before the next begins")
        self._name, self._params, self._attrs = name, tuple(params), Attrs(attrs) if attrs else NO_ATTRS
        self._options = {"private": private, "pure": pure}
        self._bodies, self._made = [[]], None
        try:
            yield
            if self._made is None:
                raise ValueError(f"the function `{name}` has no result: end it with `emit_func_output(value)`")
            check_well_formed(self._made)
            self._module = self._module.with_function(self._made)
        finally:
            self._bodies, self._outputs, self._name, self._symbols = [], None, "", {}

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """A stretch of bindings without effects; what `emit_output` binds is known behind it."""
        body = self._open()
        if self._outputs is not None:
            raise ValueError("a dataflow does not stand in another one")
        outputs: list[GraphVar] = []
        self._outputs = outputs
        self._bodies.append([])
        try:
            yield
            body.append(Dataflow(tuple(self._bodies[-1]), tuple(outputs)))
        finally:
            self._bodies.pop()
            self._outputs = None

    def _open(self) -> list[Stmt]:
        if not self._bodies:
            raise ValueError("no function is open: statements stand inside of `with builder.function(name, params):`")
        if self._made is not None:
            raise ValueError(f"the function `{self._name}` has its result: nothing stands behind `emit_func_output`")
        return self._bodies[-1]

    # -- statements

    @public
    def emit(self, value: GraphExpr, name: str = "", kind: GraphType | None = None) -> GraphVar:
        """Bind a value to a new variable, of its inferred type or `kind`.

        Raises DiagnosticError where the value has no type: shapes that do not fit and the like.
        """
        body = self._open()
        made = self.normalize(value)
        found = as_annotated(type_of(made, self._module)) if kind is None else kind
        hint = name or ("lv" if self._outputs is not None else "gv")
        if type(found) is PrimType:
            found = PrimType(found.dtype, Var(hint, found.dtype))
        var = GraphVar(hint, found)
        body.append(GraphBind(var, made))
        return var

    @public
    def emit_output(self, value: GraphExpr, name: str = "") -> GraphVar:
        """`emit` in a dataflow, of what is known behind it. ValueError outside of one."""
        if self._outputs is None:
            raise ValueError("an output is one of a dataflow: `with builder.dataflow():`")
        var = self.emit(value, name or "gv")
        self._outputs.append(var)
        return var

    @public
    def match_cast(self, value: GraphExpr, kind: GraphType, name: str = "") -> GraphVar:
        """Bind a value that is checked at run time; the symbols of `kind` that are not known yet are defined by it."""
        body = self._open()
        var = GraphVar(name or ("lv" if self._outputs is not None else "gv"), kind)
        body.append(MatchCast(var, self._leaf(value), kind))
        return var

    @public
    def emit_func_output(self, value: GraphExpr | Sequence[GraphExpr]) -> GraphFunc:
        """End the function with its result; several values are a tuple."""
        body = self._open()
        if self._outputs is not None:
            raise ValueError("a function ends behind its dataflows")
        given = value if isinstance(value, GraphExpr) else TupleExpr(tuple(value))
        result = self._leaf(given)
        kind = as_annotated(type_of(result, self._module))
        known = {id(var) for param in self._params for var in walk(param.type, Var)}
        inner = [var for var in walk(kind, Var) if id(var) not in known]
        kind = with_dimensions(kind, {}, inner) if inner else kind
        self._made = GraphFunc(self._name, self._params, tuple(body), result, kind, self._attrs, **self._options)
        return self._made

    # -- values

    def normalize(self, value: GraphExpr) -> GraphExpr:
        """A value whose arguments are variables, constants or tuples of such; calls in it are bound before."""
        if isinstance(value, (OpCall, FunctionCall)):
            args = tuple(map(self._leaf, value.args))
            return value if are_same(args, value.args) else value.replace(args=args)
        if type(value) is TupleItem:
            return value.replace(value=self._leaf(value.value))
        return self._leaf(value) if type(value) is TupleExpr else value

    def _leaf(self, value: GraphExpr) -> GraphExpr:
        if type(value) is TupleExpr:
            fields = tuple(map(self._leaf, value.fields))
            return value if are_same(fields, value.fields) else value.replace(fields=fields)
        if isinstance(value, (OpCall, FunctionCall, TupleItem)):
            return self.emit(value)
        return value

    @public
    def infer_type(self, value: GraphExpr) -> GraphType:
        """The type that a value has here; DiagnosticError where it has none."""
        return type_of(value, self._module)

    @public
    def get(self, name: str = "Module") -> Module:
        """The module with all functions so far."""
        return self._module.replace(name=name)

    def __contains__(self, name: object) -> bool:
        return name in self._module

    def __getitem__(self, name: str) -> Function:
        return self._module[name]
