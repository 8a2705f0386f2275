"""Modules on their way to functions: lowered as far as one target takes them, and each part given to its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import Call, StringImm
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import ExternFunction, GraphFunc
from tirscript.ir.module import Function, Module
from tirscript.ir.node import Attrs
from tirscript.ir.rewrite import walk
from tirscript.ir.target import Target
from tirscript.ir.target_kinds import check_target, target_kind
from tirscript.passes.lowering import STEPS
from tirscript.passes.pipeline import Sequential
from tirscript.passes.placement import has_targets
from tirscript.passes.targets import EXTERNAL, own_target

from .default_pipeline import front_passes, lowering_of
from .request import Request, require_right
from .runtime.library import linked
from .targets import build_request


class Stages:
    """One module that is built. It may be at any stage: graphs, tensor functions, both, split or not."""

    def __init__(
        self, module: Module, target: Target, passes: Sequential | None, opt_level: int, debug: bool, default: bool
    ) -> None:
        self.module, self.target, self.passes = module, target, passes
        self.opt_level, self.debug, self.default = opt_level, debug, default
        self.host = target.main.resolved().kind

    def functions(self) -> dict[str, Any]:
        """The functions that callers may see, by name."""
        graphs = {one.name: one for one in self.module.functions if type(one) is GraphFunc}
        module, rest = self.lowered()
        apart = {one.name: one for one in module.functions if EXTERNAL in one.attrs}
        stepped = {one.name: one for one in module.functions if type(one) is GraphFunc and one.attrs.get(STEPS)}
        inside = tuple(one for one in module.functions if one.name not in apart and one.name not in stepped)
        main = module.replace(functions=inside)
        externals = Externals(tuple(apart.values()), self) if apart else None
        found: dict[str, Any] = {} if externals is None else externals.public()
        if main.functions or not found:
            by_name = {} if externals is None else externals.called(main.functions)
            with linked(by_name):
                request = Request(main, rest, self.target.main, self.opt_level, self.debug, by_name)
                found.update(build_request(request))
        return _wrapped(graphs, main, stepped, found, {one.name for one in self.module.functions})

    def lowered(self) -> tuple[Module, Sequential | None]:
        """The module without graph functions and calls over to other targets, and the passes that are left."""
        module, passes = self.module, self.passes
        if not self.unfinished(module):
            return module, passes
        require_right(module)
        with self.target:
            if self.default:
                return front_passes()(module), passes
            rest = () if passes is None else passes.passes
            while rest and self.unfinished(module):
                module, rest = rest[0](module), rest[1:]
        self.check(module)
        return module, passes if passes is None else Sequential(rest)

    def unfinished(self, module: Module) -> bool:
        """Whether a module has graph functions, or functions for other targets that are not yet apart."""
        inside = [one for one in module.functions if EXTERNAL not in one.attrs]
        if any(type(one) is GraphFunc and not one.attrs.get(STEPS) for one in inside):
            return True
        return has_targets(module) and any(self.elsewhere(one) for one in inside)

    def elsewhere(self, func: Function) -> bool:
        """Whether a function is for a target of another kind than the module."""
        own = own_target(func, self.target)
        return own is not None and own.resolved().kind != self.host

    def check(self, module: Module) -> None:
        """T401 where passes that the user gave leave what no code is made of."""
        inside = [one for one in module.functions if EXTERNAL not in one.attrs]
        left = [one for one in inside if type(one) is GraphFunc and not one.attrs.get(STEPS)]
        if left:
            names = ", ".join(f"`{one.name}`" for one in left)
            hint = "let the pipeline hold `graph_to_tensor`, and `legalize_ops` before it, or leave it away"
            raise DiagnosticError([error("T401", f"the passes leave graph functions: {names}", module.span, hint=hint)])
        other = [one for one in inside if self.elsewhere(one)]
        if other:
            names = ", ".join(f"`{one.name}`" for one in other)
            hint = "let the pipeline hold `bind_targets` and `split_targets`, or leave it away"
            message = f"the passes leave functions for other targets: {names}"
            raise DiagnosticError([error("T401", message, other[0].span or module.span, hint=hint)])


class Externals:
    """Functions of a module for other targets: compiled by their kinds, each target's together, when first called."""

    def __init__(self, functions: tuple[Function, ...], stages: Stages) -> None:
        self.stages = stages
        self.by_symbol = {str(one.attrs[EXTERNAL]): one for one in functions}
        self.targets = {one.name: self.target(one) for one in functions}
        self.all = functions
        self.made: dict[str, Any] = {}
        self.open: list[Target] = []

    def target(self, func: Function) -> Target:
        own = own_target(func, self.stages.target)
        if own is None:
            message = f"`{func.name}` is called as `{func.attrs[EXTERNAL]}` and says no target"
            raise DiagnosticError([error("T402", message, func.span, hint='give it the attribute "target"')])
        check_target(own, func.span)
        return own

    def public(self) -> dict[str, Any]:
        """Those that callers may see: tensor functions, which are called as they are."""
        return {one.name: self.function(one) for one in self.all if not one.private and isinstance(one, PrimFunc)}

    def called(self, functions: tuple[Function, ...]) -> dict[str, Callable[..., Any]]:
        """What stands behind the names by which functions call others."""
        symbols: dict[str, None] = {}
        for node in (node for one in functions for node in walk(one)):
            symbol = node.symbol if type(node) is ExternFunction else None
            if type(node) is Call and node.op.name == "call_packed" and type(node.args[0]) is StringImm:
                symbol = node.args[0].value
            if symbol in self.by_symbol:
                symbols[symbol] = None
        return {symbol: self.function(self.by_symbol[symbol]) for symbol in symbols}

    def function(self, func: Function) -> Any:
        """A function that takes arrays, compiled."""
        if func.name not in self.made:
            target = self.targets[func.name]
            if target in self.open:
                message = f"functions for `{target.kind}` and for another target call each other in a circle"
                raise DiagnosticError([error("T402", message, func.span, hint="let the host call both")])
            self.open.append(target)
            try:
                self.made.update(self.graph(func, target) if isinstance(func, GraphFunc) else self.tensors(target))
            finally:
                self.open.pop()
        return self.made[func.name]

    def graph(self, func: GraphFunc, target: Target) -> dict[str, Any]:
        kind = target_kind(target.resolved().kind)
        compiler = kind.hook("graph_to_runtime")
        if compiler is None:
            message = f"the target `{kind.name}` does not compile graph functions"
            hint = f"lower `{func.name}` first: without the attribute `{EXTERNAL}`, `build` does"
            raise DiagnosticError([error("T402", message, func.span, hint=hint)])
        inside = tuple(one for one in self.all if self.targets[one.name] == target)
        made = compiler(func, Module(inside, self.stages.module.name), target)
        if not callable(made):
            message = f"`graph_to_runtime` of `{kind.name}` made {type(made).__name__} of `{func.name}`"
            raise DiagnosticError([error("T402", message, func.span, hint="it gives a function")])
        return {func.name: made}

    def tensors(self, target: Target) -> dict[str, Any]:
        """All tensor functions for a target."""
        stages = self.stages
        inside = [one for one in self.all if self.targets[one.name] == target and isinstance(one, PrimFunc)]
        functions = tuple(one.replace(private=False, attrs=Attrs(one.attrs.without(EXTERNAL))) for one in inside)
        by_name = self.called(tuple(inside))
        passes = None if stages.passes is None else lowering_of(target, schedule=not stages.debug)
        with linked(by_name):
            part = Module(functions, stages.module.name)
            return build_request(Request(part, passes, target, stages.opt_level, stages.debug, by_name))


def _wrapped(
    graphs: Mapping[str, GraphFunc],
    lowered: Module,
    stepped: Mapping[str, GraphFunc],
    native: dict[str, Any],
    given: set[str],
) -> dict[str, Any]:
    """The functions that were built, those of graph functions as Python calls them; steps where `given` names them."""
    if not graphs:
        return native
    from .runtime.graph_function import GraphFunction

    found = dict(native)
    tensors = {one.name: one for one in lowered.functions if isinstance(one, PrimFunc)}
    for name, func in graphs.items():
        if name in native and name in tensors:
            found[name] = GraphFunction(func, tensors[name], native[name])
    if stepped:
        from tirscript.passes.graph.graph_to_tensor import signature

        from .runtime.stepped_function import SteppedFunction

        steps: set[str] = set()
        for name, main in stepped.items():
            made = SteppedFunction(graphs[name], main, signature(main, lowered), native)
            steps.update(made.natives)
            found[name] = made
        # those that the program had stay, as where it is built at a later stage
        found = {name: one for name, one in found.items() if name not in steps or name in given}
    return found


__all__ = ["Externals", "Stages"]
