"""The options of passes: which there are, and what they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError, error, suggest

if TYPE_CHECKING:
    from .pipeline import Pass

NONE = type(None)


class Option(Struct, frozen=True, eq=False):
    """A keyword-only parameter of a pass: its name, its type and its default."""

    name: str
    type: Any  # a class, or several with `|` between them
    default: Any

    @property
    def kinds(self) -> tuple[type, ...]:
        """The classes of which a value is one."""
        return get_args(self.type) or (self.type,)


def check_option(entry: Pass, name: str, value: Any) -> None:
    """Raise T404 unless `entry` has an option `name` that takes `value`."""
    option = entry.options.get(name)
    if option is None:
        near = suggest(name, entry.options)
        known = f"it has {', '.join(entry.options)}" if entry.options else "it has none"
        hint = f"did you mean `{near}`?" if near else None
        raise DiagnosticError([error("T404", f"pass `{entry.name}` has no option `{name}`; {known}", hint=hint)])
    kinds = option.kinds
    fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    if not fits and not (float in kinds and type(value) is int):
        wanted = " or ".join("none" if kind is NONE else kind.__name__ for kind in kinds)
        message = f"option `{name}` of pass `{entry.name}` is of type {wanted}, not {type(value).__name__}"
        raise DiagnosticError([error("T404", message)])


__all__ = ["Option", "check_option"]
