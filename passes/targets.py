"""What a function is for: its own target, else that of its module, else that of the `with target:` around."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.expr import CallFunction
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef, GraphFunc
from tirscript.ir.module import Module
from tirscript.ir.rewrite import rewrite
from tirscript.ir.span import Span
from tirscript.ir.target import EXTERNAL, Target
from tirscript.ir.target_kinds import TARGET_KINDS

from .names import Names

TARGET = "target"
# attributes in which Relax names the kind of target that a function is for
_CODEGEN = ("codegen", "Codegen")

_passed = threading.local()


class passing_over:
    """Inside of a `with`, functions without a target of their own have that of this module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def __enter__(self) -> None:
        self.before = getattr(_passed, "module", None)
        _passed.module = self.module

    def __exit__(self, *exception: object) -> None:
        _passed.module = self.before


def own_target(func: PrimFunc | GraphFunc | Module, names: Target | None = None) -> Target | None:
    """The target that the attributes of a function or module say, None where they say none.

    A word may be the name of a target in the composite `names`. T402 where it is no target.
    """
    value = func.attrs.get(TARGET)
    if value is None:
        value = next((func.attrs[name] for name in _CODEGEN if name in func.attrs), None)
    return None if value is None else read_target(value, func.span, names)


def read_target(value: Any, span: Span | None = None, names: Target | None = None) -> Target:
    """A target as attributes hold it: a Target, a string, a dict, or a name in the composite `names`."""
    if isinstance(value, Target):
        return value
    if names is not None and isinstance(value, str) and value in names.targets:
        return names.targets[value]
    if names is not None and names.targets and isinstance(value, str) and value.isidentifier():
        near = suggest(value, names.targets)
        if near is not None and value not in TARGET_KINDS:
            message = f"the composite target has no target `{value}`"
            raise DiagnosticError([error("T402", message, span, hint=f"did you mean `{near}`?")])
    try:
        return Target.parse(dict(value) if isinstance(value, dict) else value)
    except (TypeError, ValueError) as problem:
        message = f"no target: {str(problem).removeprefix('parse() ')}"
        raise DiagnosticError([error("T402", message, span, hint='T.target("llvm -mcpu=skylake")')]) from None


def outer_target(module: Module | None = None) -> Target | None:
    """What functions without a target of their own are for: the module says it, else the `with target:` around.

    Where that is a composite and the module names one target, it is the composite with this one for its host, since
    functions of the module may name the others.
    """
    module = module if module is not None else getattr(_passed, "module", None)
    around = Target.current()
    own = own_target(module, around) if module is not None else None
    if own is None or around is None or not around.targets or own.targets:
        return own if own is not None else around
    return Target.composite(**{**around.targets, "host": own})


def target_of(func: PrimFunc | GraphFunc, module: Module | None = None) -> Target | None:
    """What a function is for; None where neither it nor anything around it says so.

    Inside of a pass the module is the one that the pass runs over.
    """
    outer = outer_target(module)
    names = outer if outer is not None and outer.targets else Target.current()
    own = own_target(func, names)
    if own is not None:
        return own.main
    return None if outer is None else outer.main


def under_free_names(outside: Sequence[Any], module: Module) -> list[Any]:
    """Functions that are compiled by themselves, under names that are free in a module, by which they call each other;
    the module calls them by their attribute."""
    names = Names(one.name for one in module.functions)
    renamed = {one.name: names.fresh(one.name) for one in outside}
    if all(new == old for old, new in renamed.items()):
        return list(outside)

    def follow(node: Any) -> Any:
        name = renamed.get(node.function, node.function)
        return node if name == node.function else node.replace(function=name)

    rules: Any = {CallFunction: follow, FunctionRef: follow}
    return [rewrite(one, rules).replace(name=renamed[one.name]) for one in outside]


__all__ = [
    "EXTERNAL",
    "TARGET",
    "outer_target",
    "own_target",
    "passing_over",
    "read_target",
    "target_of",
    "under_free_names",
]
