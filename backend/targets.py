"""What a program is built for, and what makes code of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirscript.ir import DiagnosticError, Module, PrimFunc, Target, error
from tirscript.ir.graph import GraphFunc
from tirscript.ir.target import COMPOSITE
from tirscript.ir.target_kinds import check_target, target_kind
from tirscript.ir.wellformed.fields import refuse_unreadable
from tirscript.ir.words import words
from tirscript.passes.targets import outer_target, read_target, target_of

from .not_programs import SEVERAL
from .request import Request


def chosen_target(x: PrimFunc | GraphFunc | Module | None, given: Any) -> Target:
    """What a program is for: it says so itself, or `given` does, or the `with target:` around; else this machine.

    Raises DiagnosticError T402 and T404 where that is no target, or one with options that its kind does not have.
    """
    asked = found = asked_target(given)
    if x is not None:
        with asked:
            own = outer_target(x) if isinstance(x, Module) else target_of(x)
        found = own or asked
    check_target(found, None if x is None or found in (asked, asked.main) else x.span)
    return completed(found)


def asked_target(given: Any) -> Target:
    """The target that an argument says; without one that of the `with target:` around, else this machine.

    Raises DiagnosticError T402 and T404 for what is no target.
    """
    if given is None:
        return Target.current() or Target.parse("llvm")
    if not isinstance(given, (str, dict, Target)):
        message = f"a target is a Target, a string or a dict, not {type(given).__name__}"
        hint = SEVERAL if isinstance(given, PrimFunc | GraphFunc) else '"llvm" is the processor this runs on'
        raise DiagnosticError([error("T402", message, hint=hint)])
    return read_target(given)


def completed(target: Target) -> Target:
    """A target with what is known of this machine, where it means this machine."""
    main = target.main
    if main.resolved().kind != "llvm":
        return target
    from .llvm.machine import complete

    made = complete(main)
    if not target.targets:
        return made
    return Target.composite(**{**target.targets, "host": made})


def build_request(request: Request) -> dict[str, Any]:
    """The functions by name that the kind of the target makes; T402 where it makes none of tensor functions."""
    target = request.target
    compiler = target_kind(target.resolved().kind, target.span).hook("tir_to_runtime")
    if compiler is None:
        message = f"the target `{target.kind}` does not compile tensor functions"
        hint = "it takes graph functions that carry it as `target`, in a module for a host"
        if target.kind == COMPOSITE:
            hint = "it names none: `Target.composite(host=..., accel=...)`"
        raise DiagnosticError([error("T402", message, request.program.span, hint=hint)])
    try:
        made = compiler(request)
    except DiagnosticError:
        raise
    except Exception:
        refuse_unreadable(vars(request).get("lowered", request.program))  # which passes of the user's own made
        raise
    if not isinstance(made, Mapping):
        message = f"`tir_to_runtime` of `{target.kind}` made {words(made)}, not functions by their names"
        hint = "it gives a dict: `{name: function}`"
        raise DiagnosticError([error("T402", message, request.program.span, hint=hint)])
    lost = [func.name for func in request.public if func.name not in made]
    if lost:
        message = f"the target `{target.kind}` made no function `{lost[0]}`"
        raise DiagnosticError(
            [error("T402", message, request.program.span, hint="its `tir_to_runtime` is to give all")]
        )
    return dict(made)


__all__ = ["build_request", "chosen_target", "completed"]
