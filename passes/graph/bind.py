"""Parameters and symbolic dimensions of graph functions get values: a model's weights, a batch size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tirscript.ir.check import public
from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.constant_file import load_tensors
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.expr import Const, Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphConst, GraphFunc, GraphVar, TensorType
from tirscript.ir.module import Module
from tirscript.ir.rewrite import substitute
from tirscript.ir.words import counted, identifier

from ..constants.parameters import buffer_at, with_constants
from ..simplify import simplified
from .replacing import with_sizes

Bound = TypeVar("Bound", Module, GraphFunc, PrimFunc)


@public
def bind_params(
    program: Bound,
    params: Mapping[str, Any] | str | os.PathLike[str],
    *,
    function: str = "main",
    strict: bool = True,
) -> Bound:
    """The program whose `function` has constants for the parameters that `params` names.

    before:  def main(x: G.Tensor((4,)), w: G.Tensor((4,))): ... G.add(x, w)
    after:   def main(x: G.Tensor((4,))): ... G.add(x, G.const(...))        with bind_params(module, {"w": array})

    `params` is a table of arrays, or the path of a safetensors file, whose large tensors stay mapped;
    `tirscript.onnx_params` gives the table of a model. Names that are no identifiers stand for parameters as
    `from_onnx` calls them: `fc.weight` is `fc_weight`. The function is one of a graph or a tensor function. Arrays come
    in without a copy. A symbolic dimension that a constant is the first to have becomes a number. Raises
    DiagnosticError for a name that is no parameter (unless `strict` is False), and an array of another dtype or shape.
    """
    table: Mapping[str, Any] = params if isinstance(params, Mapping) else load_tensors(params)
    if isinstance(program, Module):
        return _bound(program, table, function, strict)  # type: ignore[return-value]
    return _bound(Module((program,)), table, program.name, strict)[program.name]  # type: ignore[return-value]


def _bound(module: Module, params: Mapping[str, Any], function: str, strict: bool) -> Module:
    func = _function(module, function)
    given: dict[int, ConstantTensor] = {}
    for name, value, at in _named(func, params, strict):
        data = value if isinstance(value, ConstantTensor) else constant(value)
        if at in given and given[at] != data:
            raise _wrong(func, f"`{func.params[at].name}` is given two constants, one as `{name}`")
        given[at] = data
    return module.with_function(_BIND[type(func)](func, given, module))


def _named(func: Any, params: Mapping[str, Any], strict: bool) -> Iterator[tuple[str, Any, int]]:
    """What is given, with the position of the parameter it is for."""
    names: dict[str, int] = {}
    for at, param in enumerate(func.params):
        buffer = buffer_at(func, at) if isinstance(func, PrimFunc) else None
        for one in (param, buffer):
            if one is not None:
                names.setdefault(one.name, at)
    for name, value in params.items():
        known = name if name in names else identifier(name)
        if known in names:
            yield name, value, names[known]
        elif strict:
            near = suggest(known, names)
            hint = f"did you mean `{near}`?" if near else f"its parameters: {', '.join(names)}"
            raise _wrong(func, f"`{func.name}` has no parameter `{name}`", hint)


def _bind_graph(func: GraphFunc, given: Mapping[int, ConstantTensor], module: Module) -> GraphFunc:
    values: dict[Any, Any] = {}
    sizes: dict[Var, Expr] = {}
    for at, data in given.items():
        _fit(func, func.params[at], data, sizes)
        values[func.params[at]] = GraphConst(data)
    for at, data in given.items():
        _check_sizes(func, func.params[at], data, sizes)
    kept = tuple(param for param in func.params if param not in values)
    bound = func.replace(params=kept, body=substitute(func.body, values), value=substitute(func.value, values))
    return with_sizes(bound, sizes)


_BIND: dict[type, Any] = {GraphFunc: _bind_graph, PrimFunc: with_constants}


@public
def bind_symbolic_vars(module: Module, sizes: Mapping[str, int], *, function: str = "main") -> Module:
    """The module whose `function` has numbers for the symbolic dimensions that `sizes` names.

    before:  def main(x: G.Tensor(("n", 4))): ...
    after:   def main(x: G.Tensor((2, 4))): ...        with bind_symbolic_vars(module, {"n": 2})

    Raises DiagnosticError for a name that is no symbolic dimension.
    """
    func = _function(module, function)
    if not isinstance(func, GraphFunc):
        raise _wrong(func, f"`{function}` is no graph function")
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
    return module.with_function(with_sizes(func, found))


def _function(module: Module, name: str) -> GraphFunc | PrimFunc:
    found = next((one for one in module.functions if one.name == name), None)
    if found is None:
        names = [one.name for one in module.functions]
        hint = f"its functions: {', '.join(names)}" if names else None
        raise DiagnosticError([error("T307", f"`{name}` is not in the module", module.span, hint=hint)])
    return found


def _fit(func: GraphFunc, param: GraphVar, data: ConstantTensor, sizes: dict[Var, Expr]) -> None:
    """Refuse data that is not of the parameter's type; finds the dimensions that it decides."""
    kind = param.type
    if type(kind) is not TensorType:
        raise _wrong(func, f"`{param.name}` is no tensor")
    if kind.dtype is not None and kind.dtype is not data.dtype:
        raise _wrong(func, f"`{param.name}` is of {kind.dtype}, and the array of {data.dtype}")
    if kind.rank is not None and kind.rank != len(data.shape):
        raise _wrong(func, f"`{param.name}` has {counted(kind.rank, 'dimension')}, and the array {len(data.shape)}")
    for dim, size in zip(kind.shape or (), data.shape, strict=False):
        if type(dim) is Var:
            sizes.setdefault(dim, const(size, dim.dtype))


def _check_sizes(func: GraphFunc, param: GraphVar, data: ConstantTensor, sizes: dict[Var, Expr]) -> None:
    """Refuse data of another shape than the parameter has with the dimensions that all data decides."""
    kind = param.type
    assert type(kind) is TensorType
    for axis, (dim, size) in enumerate(zip(kind.shape or (), data.shape, strict=False)):
        known = simplified(substitute(dim, sizes))
        if type(known) is Const and known.value != size:
            raise _wrong(func, f"dimension {axis} of `{param.name}` is {known.value}, and that of the array {size}")


def _wrong(func: GraphFunc | PrimFunc, message: str, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([error("T301", message, func.span, hint=hint)])


__all__ = ["bind_params", "bind_symbolic_vars"]
