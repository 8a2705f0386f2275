"""The interpreter's messages: what went wrong in which element, at which source line, in which iteration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tirscript.ir import Buffer, DiagnosticError, Label, Node, Var, error
from tirscript.ir.diagnostic import assertion
from tirscript.ir.words import parenthesized

from .memory import View

# the loops and axes around a place, innermost first: (variable, slot, the rest)
Loops = tuple[Var, int, Any] | None


class Unset:
    """The value of what was never given one."""

    def __repr__(self) -> str:
        return "uninitialized"


UNSET = Unset()


def loop_values(frame: list[Any], loops: Loops) -> list[str]:
    """`i = 3, j = 0`: a note with the values of the loop variables, outermost first; nothing where there are none."""
    words: dict[str, str] = {}
    while loops is not None:
        var, slot, loops = loops
        words.setdefault(var.name, f"{var.name} = {show(frame[slot])}")
    return [", ".join(reversed(words.values()))] if words else []


def show(value: Any) -> str:
    """A value as the user would write it."""
    if type(value) is tuple:
        return f"[{', '.join(map(show, value))}]"
    return str(value)


def element(buffer: Buffer, indices: Iterable[Any]) -> str:
    """`A[3, 4]`."""
    inside = ", ".join(map(show, indices))
    return f"{buffer.name}[{inside}]" if inside else buffer.name


def _declared(buffer: Buffer) -> list[str | Label]:
    return [] if buffer.span is None else [Label(buffer.span, f"`{buffer.name}` is declared here")]


def out_of_bounds(
    node: Node, buffer: Buffer, view: View, indices: tuple[Any, ...], frame: list[Any], loops: Loops, verb: str
) -> DiagnosticError:
    """An index outside of its dimension, or an element outside of the memory."""
    where = f"{verb} of `{element(buffer, indices)}` is out of bounds"
    for dim, (index, size) in enumerate(zip(indices, view.shape, strict=True)):
        if not 0 <= index < size:
            many = len(view.shape) > 1
            limit = "an empty dimension" if size == 0 else f"0 to {size - 1}"
            where += f": index {index} is not within {limit}{f', in dimension {dim}' if many else ''}"
            break
    else:
        where += f": the memory of `{view.pointer.storage.name}` has no such element"
    notes: list[str | Label] = [
        f"the shape of `{buffer.name}` is {parenthesized(view.shape)}",
        *loop_values(frame, loops),
        *_declared(buffer),
    ]
    return DiagnosticError([error("T302", where, node.span, notes=notes)])


def never_written(
    node: Node, buffer: Buffer, indices: tuple[Any, ...], frame: list[Any], loops: Loops
) -> DiagnosticError:
    """A read of an element before anything was stored there."""
    what = f"`{element(buffer, indices)}` is read, but nothing was stored there"
    return DiagnosticError([error("T303", what, node.span, notes=[*loop_values(frame, loops), *_declared(buffer)])])


def division_by_zero(node: Node, frame: list[Any], loops: Loops, what: str = "division by zero") -> DiagnosticError:
    """An integer division or a step by zero."""
    return DiagnosticError([error("T304", what, node.span, notes=loop_values(frame, loops))])


def null_pointer(node: Node, what: str) -> DiagnosticError:
    """Memory behind a null handle."""
    return DiagnosticError([error("T302", f"{what} is null", node.span)])


def failed_assertion(node: Node, message: str, values: list[str], frame: list[Any], loops: Loops) -> AssertionError:
    """A condition that does not hold: the user's message, the place, and the values that made it fail."""
    notes = [note for note in (", ".join(dict.fromkeys(values)), *loop_values(frame, loops)) if note]
    what = message or "the condition does not hold"
    return assertion(error("T310", what, node.span, notes=list(dict.fromkeys(notes))))


def undefined_used(node: Node, what: str) -> DiagnosticError:
    """A decision, an index or an effect that depends on T.undef."""
    hint = "store a value before it is used, or guard the use with a condition"
    return DiagnosticError([error("T306", f"{what} depends on an undefined value (`T.undef`)", node.span, hint=hint)])


def unsupported(node: Node, what: str, hint: str | None = None) -> DiagnosticError:
    """Something that only the native backend can do."""
    return DiagnosticError([error("T308", what, node.span, hint=hint)])


def malformed(node: Node, code: str, what: str) -> DiagnosticError:
    """A program that the verifier would have refused."""
    return DiagnosticError([error(code, what, node.span)])
