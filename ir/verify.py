"""Whether a program is well formed: scopes, dtypes, shapes, calls, block bindings.

The parser runs it on what it has read. One pass in source order, a rule per class of node (`wellformed/`); a class
without a rule of its own is walked by its field declarations. The check of graphs, with all operators of graphs, is
loaded for the first graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .check import public
from .diagnostic import Diagnostic, DiagnosticError, error
from .func import PrimFunc
from .graph import GraphFunc
from .module import Function, Module
from .node import recursion_room
from .wellformed.fields import wrong_fields
from .wellformed.places import bad_attrs, in_order, pointing
from .wellformed.statements import Verifier
from .wellformed.warnings import warnings_of


@public
def verify(x: PrimFunc | GraphFunc | Module) -> list[Diagnostic]:
    """Everything that is wrong with a function or module, in source order; empty where it is well formed."""
    return _verify(x, whole=True)


@public
def check_well_formed(x: PrimFunc | GraphFunc | Module) -> None:
    """Raise DiagnosticError with everything that `verify` finds, but for functions with `check_well_formed=False`."""
    found = _verify(x, whole=False)
    if found:
        raise DiagnosticError(found)


@contextmanager
def telling_mistakes(x: PrimFunc | GraphFunc | Module) -> Iterator[None]:
    """While code is made of a program: where that fails, and the program is one that asked for no check, what the check
    finds is told, rather than that the fault is ours."""
    try:
        yield
    except Exception as problem:
        ours = not isinstance(problem, DiagnosticError) or any(one.code == "T499" for one in problem.diagnostics)
        if ours and (found := verify(x)):
            raise DiagnosticError(found) from problem
        raise


def verify_function(x: PrimFunc, functions: dict[str, PrimFunc] | None = None) -> list[Diagnostic]:
    """Everything that is wrong with a function of a module with these tensor functions, by name."""
    with recursion_room():
        return Verifier(x, functions).run()


@public
def warnings(x: PrimFunc | GraphFunc | Module) -> list[Diagnostic]:
    """What is allowed and probably not meant, in source order, as diagnostics of severity "warning"."""
    functions = x.functions if isinstance(x, Module) else (x,)
    with recursion_room():
        found = [item for function in functions if isinstance(function, PrimFunc) for item in warnings_of(function)]
        for function in functions:
            if isinstance(function, GraphFunc):
                from .wellformed.graph import graph_warnings

                found += graph_warnings(function)
    return in_order(found)


def _verify(x: PrimFunc | GraphFunc | Module, whole: bool) -> list[Diagnostic]:
    try:
        with recursion_room():
            if isinstance(x, Module):
                return _verify_module(x, whole)
            if not whole and not x.check_well_formed:
                return []
            return _verify_graph_alone(x) if isinstance(x, GraphFunc) else Verifier(x, None).run()
    except RecursionError:
        return [error("T004", f"`{x.name}` is nested too deeply", x.span)]
    except Exception:
        wrong = wrong_fields(x)
        if not wrong:
            raise
        return wrong


def _verify_module(module: Module, whole: bool) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    functions: dict[str, PrimFunc] = {}
    names: dict[str, Function] = {}
    for function in module.functions:
        if isinstance(function, PrimFunc):
            functions.setdefault(function.name, function)
        first = names.get(function.name)
        names[function.name] = first or function
        if first is not None:  # also where it is the same function twice
            notes = pointing(first.span, f"`{function.name}` is defined here first")
            found.append(
                error("T202", f"the module has two functions named `{function.name}`", function.span, notes=notes)
            )
    for function in module.functions:
        if isinstance(function, PrimFunc) and (whole or function.check_well_formed):
            found += Verifier(function, functions).run()
        elif isinstance(function, GraphFunc) and (whole or function.check_well_formed):
            found += _verify_graph(function, module)
    if module.graph_funcs and (whole or all(function.check_well_formed for function in module.graph_funcs)):
        from .wellformed.graph import circles

        found += circles(module)
    found += [
        error("T210", f"attribute {name} of the module: {why}", module.span) for name, why in bad_attrs(module.attrs)
    ]
    return in_order(found)


def _verify_graph_alone(func: GraphFunc) -> list[Diagnostic]:
    from .wellformed.graph import local_circles

    return in_order([*_verify_graph(func, None), *local_circles(func)])


def _verify_graph(func: GraphFunc, module: Module | None) -> list[Diagnostic]:
    from .wellformed.graph import GraphVerifier

    return GraphVerifier(func, module).run()
