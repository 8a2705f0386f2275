"""What `build` does before a code generator takes over, where it is not told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tirscript.ir.target import Target
    from tirscript.passes import Sequential


def default_pipeline(target: Any = None, *, schedule: bool = True) -> Sequential:
    """The passes of `pipeline="default"` for a target, in their order; graphs and several targets included.

    `target` is what `build` takes. Without `schedule` each statement stays where it was written. Raises DiagnosticError
    where that is no target.
    """
    from tirscript.passes import Sequential

    from .targets import asked_target

    return Sequential((front_passes(), lowering_of(asked_target(target), schedule=schedule)))


def front_passes() -> Sequential:
    """From graph functions, and functions for several targets, to tensor functions for one."""
    from tirscript.passes import Sequential, get_pass
    from tirscript.passes.lowering import GRAPH_LOWERING

    names = [entry.name for entry in GRAPH_LOWERING]
    # bindings are in their normal form then, and nothing has looked into functions for other targets
    at = names.index("canonicalize_bindings") + 1
    parts = (*GRAPH_LOWERING.passes[:at], get_pass("run_codegen"), *GRAPH_LOWERING.passes[at:])
    return Sequential((*parts, "bind_targets", "split_targets"))


def lowering_of(target: Target, *, schedule: bool = True) -> Sequential:
    """The passes over tensor functions that the kind of a target asks for."""
    from tirscript.ir.target_kinds import target_kind
    from tirscript.passes import DEFAULT_LOWERING

    hook = target_kind(target.main.resolved().kind, target.span).hook("lowering")
    found: Sequential = DEFAULT_LOWERING if hook is None else hook(target.main, schedule)
    return found


def lowering(target: Target, schedule: bool) -> Sequential:
    """That of processors: the default schedule for the target of each function, and the lowering."""
    from tirscript.passes import DEFAULT_LOWERING, Sequential

    if not schedule:
        return DEFAULT_LOWERING
    return Sequential(("mark_constant_parameters", "default_cpu", "pack_constants", DEFAULT_LOWERING))


__all__ = ["default_pipeline", "front_passes", "lowering", "lowering_of"]
