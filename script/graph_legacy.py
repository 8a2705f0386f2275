"""Graph functions as Relax wrote them in 2022: types and operators without `R.`, dimensions that no line declares.

A dimension was new wherever a shape named it first. In a signature that is a symbol of the function; in the body it
stands for what the value turns out to be, which is a `G.match_cast`. Functions said nothing of their effects.
"""

from __future__ import annotations

import ast
from typing import Any

from tirscript.ir.graph import ExternFunction, FunctionCall, GraphConst, GraphType, OpCall, TupleExpr
from tirscript.ir.graph_ops import GraphOp
from tirscript.ir.graph_ops.foreign import is_foreign
from tirscript.ir.node import Node
from tirscript.ir.rewrite import walk

from . import context
from .context import _MISSING
from .graph_marks import Matched
from .graph_names import GraphNamespace, TypeSpec
from .graph_types import GraphTypeLowering

# types of the graph that were spelt without `R.`
_BARE_TYPES = ("Tensor", "Tuple", "Shape", "Object")


# arguments that stood second until 2025, and the one that is named beside them
_SECOND = {"nn.pad": ("pad_value", "pad_width")}


class GraphLegacyLowering(GraphTypeLowering):
    """Reads names and types of 2022, in text of TVM's dialect."""

    bare = False  # whether a type stood without `R.`, so that operators and dimensions may as well
    old = False  # whether something stood that is older than what functions say of their effects

    def bare_name(self, name: str) -> Any:
        """What a name that nothing defines stood for."""
        module: context.ModuleRef | None = getattr(self, "module", None)
        if module is not None and name in module.functions:
            return module.functions[name]
        relax = self.lookup("R")
        if relax is _MISSING:
            return _MISSING
        if name in _BARE_TYPES:
            self.bare = self.old = True
            return getattr(relax, name)
        found = relax.find(name) if self.bare and isinstance(relax, GraphNamespace) else None
        return found if isinstance(found, GraphOp) else _MISSING

    def introduce(self, shape: ast.expr) -> None:
        """Make symbols of the names in a shape that nothing defines."""
        for part in ast.walk(shape) if isinstance(shape, (ast.Tuple, ast.List)) else ():
            if isinstance(part, ast.Name) and self.lookup(part.id) is _MISSING:
                self.symbol(part.id)

    def bare_type(self, node: ast.Call) -> Any:
        """`Tensor((n, 4), _)`, `Tensor(_, "float32")`: a line for what is not known."""
        match node.func:
            case ast.Name(id=name) if self.theirs and name in _BARE_TYPES and self.lookup(name) is _MISSING:
                unknown = [isinstance(arg, ast.Name) and arg.id == "_" for arg in node.args]
                args = [
                    ast.copy_location(ast.Constant(None), arg) if missing else arg
                    for arg, missing in zip(node.args, unknown, strict=True)
                ]
                if args and name != "Tuple":
                    self.introduce(args[0])
                node = ast.copy_location(ast.Call(node.func, args, node.keywords), node)
        return self._call(node)

    def bare_subscript(self, node: ast.Subscript) -> Any:
        """`Tensor[(n, 4), "float32"]`, the spelling before `Tensor((n, 4), "float32")`."""
        match node.value:
            case ast.Name(id=name) if self.theirs and name in _BARE_TYPES and self.lookup(name) is _MISSING:
                args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return self.bare_type(ast.copy_location(ast.Call(node.value, args, []), node))
        return self._subscript(node)

    def annotated_value(self, value: Any, kind: GraphType, node: ast.expr) -> Any:
        """The value of a variable whose annotation names new dimensions: it checks the value."""
        return value if isinstance(value, Matched) else Matched(self.leaf(value, node), kind)

    def moved(self, entry: GraphOp, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Name an argument by what it is now: `R.nn.pad(x, R.const(0.5), pad_width=[1, 1])`.

        `R.call_py_func(R.str("f"), (x, y), ty_args=...)` is how TVM prints `R.call_py_func("f", x, y, out_ty=...)`.
        """
        last = args[-1] if args else None
        if self.theirs and entry.name == "call_py_func" and {"ty_args", "sinfo_args"} & kwargs.keys():
            if isinstance(last, (tuple, list, TupleExpr)):
                args[-1:] = last.fields if isinstance(last, TupleExpr) else last
        name, beside = _SECOND.get(entry.name, (None, None))
        if self.theirs and name is not None and beside in kwargs and len(args) == 2 and name not in kwargs:
            value = args.pop()
            scalar = isinstance(value, GraphConst) and value.data.resolved and value.data.shape == ()
            kwargs[name] = value.data.array.item() if scalar else value

    def tuple_of(self, spec: TypeSpec, node: ast.expr) -> TupleExpr | None:
        """`relax.Tuple((x, y))` as a value."""
        if not self.theirs or spec.name != "Tuple" or spec.kwargs or len(spec.args) != 1:
            return None
        fields = spec.args[0]
        if not isinstance(fields, (tuple, list)):
            return None
        return TupleExpr(tuple(self.leaf(field, node) for field in fields), span=self.span(node))

    def leaf(self, value: Any, node: ast.expr) -> Any:
        raise NotImplementedError

    def unsaid_effects(self) -> bool:
        """Whether the function has effects, and is older than the option by which functions say so."""
        return self.old and "pure" not in self.options and any(_acts(node) for stmt in self.out for node in walk(stmt))


def _acts(node: Node) -> bool:
    if type(node) is OpCall:
        return not node.op.pure and not is_foreign(node.op)
    callee = node.function if type(node) is FunctionCall else None
    return type(callee) is ExternFunction and not (callee.type is not None and callee.type.pure)
