"""Conversions of a graph's inputs as a function of their own, which the caller runs once.

before:                                            after `split_preprocessing(module, ["w"])`:
    def main(x, w):                                    def main_preprocess(w):
        with G.dataflow():                                 with G.dataflow():
            w_packed = G.call_tir(cls.pack, (w,))              w_packed = G.call_tir(cls.pack, (w,))
            y = G.call_tir(cls.f_packed, (x, w_packed))        G.output(w_packed)
            G.output(y)                                    return w_packed
        return y
                                                       def main(x, w_packed):
                                                           with G.dataflow():
                                                               y = G.call_tir(cls.f_packed, (x, w_packed))
                                                               G.output(y)
                                                           return y
"""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.check import public
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    TupleExpr,
    TupleType,
    plain_dimensions,
)
from tirscript.ir.module import Module
from tirscript.ir.rewrite import free_vars, refresh, uses
from tirscript.ir.stmt import Stmt

from ..graph.replacing import written_in_place
from ..names import Names
from .calls import called
from .mapping import conversion_of


@public
def split_preprocessing(module: Module, params: Sequence[str], *, function: str = "main") -> Module:
    """The module whose `function` takes parameters in the layouts that it converts them to.

    The function `<function>_preprocess` takes the named parameters as they were, and gives what `function` takes in
    their place: a tensor, or a tuple where there are several. A parameter that is used otherwise too stays beside, if
    only for a size that its shape tells; one that a call writes in place stays as it is.
    Raises DiagnosticError (T307, T301) where there is no such graph function or parameter, or none is converted.
    """
    if isinstance(params, str):
        raise TypeError(f"split_preprocessing() takes a sequence of names as `params`, not one name: [{params!r}]")
    func = next((one for one in module.graph_funcs if one.name == function), None)
    if func is None:
        names = ", ".join(one.name for one in module.graph_funcs) or "none"
        raise DiagnosticError(
            [
                error(
                    "T307",
                    f"`{function}` is no graph function of the module",
                    None,
                    hint=f"its graph functions: {names}",
                )
            ]
        )
    by_name = {param.name: param for param in func.params}
    for name in params:
        if name not in by_name:
            near = suggest(name, by_name)
            hint = f"did you mean `{near}`?" if near else f"its parameters: {', '.join(by_name)}"
            raise DiagnosticError([error("T301", f"`{function}` has no parameter `{name}`", func.span, hint=hint)])
    written = written_in_place(func, module)
    chosen = [by_name[name] for name in dict.fromkeys(params) if by_name[name] not in written]
    moved: list[GraphBind] = []
    body: list[Stmt] = []
    for stmt in func.body:
        if type(stmt) is Dataflow:
            here = [bind for bind in stmt.body if _converts(bind, chosen, module, stmt.outputs)]
            moved += [bind for bind in here if type(bind) is GraphBind]
            stmt = stmt.replace(body=tuple(bind for bind in stmt.body if not any(bind is one for one in here)))
        body.append(stmt)
    if not moved:
        names = ", ".join(f"`{name}`" for name in params)
        hint = "conversions reach the parameters by `reflow_layouts`"
        raise DiagnosticError([error("T301", f"`{function}` converts none of {names}", func.span, hint=hint)])
    made = {param: [bind.var for bind in moved if uses(bind.value, param)] for param in func.params}
    stays = {param for param in func.params if not made[param] or any(uses(one, param) for one in (*body, func.value))}
    rest = func.replace(body=tuple(body))
    while True:
        inputs = tuple(var for param in func.params for var in ([param] if param in stays else []) + made[param])
        rest = rest.replace(params=inputs)
        # sizes that only parameters tell which are gone
        untold = set(free_vars(rest)).difference(free_vars(func))
        if not untold:
            break
        stays.add(next(param for param in func.params if untold.intersection(plain_dimensions((param.type,)))))
    results = tuple(var for var in inputs if any(bind.var is var for bind in moved))
    value: GraphExpr = results[0] if len(results) == 1 else TupleExpr(results)
    kind: GraphType = results[0].type if len(results) == 1 else TupleType(tuple(var.type for var in results))
    taken = tuple(param for param in chosen if any(uses(bind.value, param) for bind in moved))
    name = Names(one.name for one in module.functions).fresh(f"{function}_preprocess")
    first = refresh(GraphFunc(name, taken, (Dataflow(tuple(moved), results),), value, kind))
    functions = module.with_function(rest).functions
    at = next(at for at, one in enumerate(functions) if one is rest)
    return module.replace(functions=(*functions[:at], first, *functions[at:]))


def _converts(bind: Stmt, params: Sequence[GraphVar], module: Module, outputs: tuple[GraphVar, ...]) -> bool:
    """Whether a binding is the conversion of a parameter, whose shape tells all sizes in it."""
    found = called(bind.value, module) if type(bind) is GraphBind and bind.var not in outputs else None
    if found is None or len(found[1]) != 1 or not any(found[1][0] is param for param in params):
        return False
    param = next(param for param in params if param is found[1][0])
    known = plain_dimensions((param.type,))
    if any(size not in known for size in free_vars((param.type, bind))):
        return False
    conversion = conversion_of(found[0])
    return conversion is not None and conversion.packs


__all__ = ["split_preprocessing"]
