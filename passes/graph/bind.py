"""Parameters and symbolic dimensions of graph functions get values: a model's weights, a batch size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirscript.ir.check import public
from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.expr import Const, Expr, Var, const
from tirscript.ir.graph import GraphConst, GraphFunc, GraphType, GraphVar, TensorType
from tirscript.ir.module import Module
from tirscript.ir.rewrite import substitute, walk


@public
def bind_params(module: Module, params: Mapping[str, Any], *, function: str = "main") -> Module:
    """The module whose `function` has constants for the parameters that `params` names.

    before:  def main(x: G.Tensor((4,)), w: G.Tensor((4,))): ... G.add(x, w)
    after:   def main(x: G.Tensor((4,))): ... G.add(x, G.const(...))        with bind_params(module, {"w": array})

    Arrays come in without a copy. A symbolic dimension that a constant is the first to have becomes a number. Raises
    DiagnosticError for a name that is no parameter, and an array of another dtype or shape.
    """
    func = _graph_function(module, function)
    names = {param.name: param for param in func.params}
    values: dict[Any, Any] = {}
    sizes: dict[Var, Expr] = {}
    for name, given in params.items():
        param = names.get(name)
        if param is None:
            near = suggest(name, names)
            hint = f"did you mean `{near}`?" if near else f"its parameters: {', '.join(names)}"
            raise _wrong(func, f"`{function}` has no parameter `{name}`", hint)
        data = given if isinstance(given, ConstantTensor) else constant(given)
        _fit(func, param, data, sizes)
        values[param] = GraphConst(data)
    kept = tuple(param for param in func.params if param not in values)
    bound = func.replace(params=kept, body=substitute(func.body, values), value=substitute(func.value, values))
    return module.with_function(_with_sizes(bound, sizes))


@public
def bind_symbolic_vars(module: Module, sizes: Mapping[str, int], *, function: str = "main") -> Module:
    """The module whose `function` has numbers for the symbolic dimensions that `sizes` names.

    before:  def main(x: G.Tensor(("n", 4))): ...
    after:   def main(x: G.Tensor((2, 4))): ...        with bind_symbolic_vars(module, {"n": 2})

    Raises DiagnosticError for a name that is no symbolic dimension.
    """
    func = _graph_function(module, function)
    names = {var.name: var for var in func.symbols}
    found: dict[Var, Expr] = {}
    for name, size in sizes.items():
        if name not in names:
            near = suggest(name, names)
            known = f"its dimensions: {', '.join(names)}" if names else "all its dimensions are numbers"
            hint = f"did you mean `{near}`?" if near else known
            raise _wrong(func, f"`{function}` has no symbolic dimension `{name}`", hint)
        if size < 0:
            raise _wrong(func, f"`{name}` would be {size}, and no dimension is negative")
        found[names[name]] = const(size, names[name].dtype)
    return module.with_function(_with_sizes(func, found))


def _graph_function(module: Module, name: str) -> GraphFunc:
    found = next((one for one in module.functions if one.name == name), None)
    if isinstance(found, GraphFunc):
        return found
    what = "is no graph function" if found is not None else "is not in the module"
    names = [one.name for one in module.functions if isinstance(one, GraphFunc)]
    hint = f"its graph functions: {', '.join(names)}" if names else None
    raise DiagnosticError([error("T307", f"`{name}` {what}", module.span, hint=hint)])


def _fit(func: GraphFunc, param: GraphVar, data: ConstantTensor, sizes: dict[Var, Expr]) -> None:
    """Refuse data that is not of the parameter's type; finds the dimensions that it decides."""
    kind = param.type
    if type(kind) is not TensorType:
        raise _wrong(func, f"`{param.name}` is no tensor")
    if kind.dtype is not None and kind.dtype is not data.dtype:
        raise _wrong(func, f"`{param.name}` is of {kind.dtype}, and the array of {data.dtype}")
    if kind.rank is not None and kind.rank != len(data.shape):
        raise _wrong(func, f"`{param.name}` has {kind.rank} dimensions, and the array {len(data.shape)}")
    for axis, (dim, size) in enumerate(zip(kind.shape or (), data.shape, strict=False)):
        known = sizes.get(dim, dim) if type(dim) is Var else dim
        if type(known) is Const and known.value != size:
            raise _wrong(func, f"dimension {axis} of `{param.name}` is {known.value}, and that of the array {size}")
        if type(dim) is Var:
            sizes[dim] = const(size, dim.dtype)


def _wrong(func: GraphFunc, message: str, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([error("T301", message, func.span, hint=hint)])


def _with_sizes(func: GraphFunc, sizes: Mapping[Var, Expr]) -> GraphFunc:
    """The function with other dimensions, in the types of its variables too."""
    if not sizes:
        return func
    fresh: dict[Any, Any] = dict(sizes)
    for node in dict.fromkeys(walk(func)):
        if type(node) is GraphVar:
            kind: GraphType = substitute(node.type, sizes)
            if kind is not node.type:
                fresh[node] = node.replace(type=kind)
    made: GraphFunc = substitute(func, fresh)
    return made


__all__ = ["bind_params", "bind_symbolic_vars"]
