"""Macros: `@T.macro` functions whose statements are written out at each call, with names of their own."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Any

from tirscript.ir.diagnostic import Diagnostic, Label, suggest
from tirscript.ir.stmt import Stmt
from tirscript.ir.words import counted

from .builders import BuilderLowering
from .context import Macro
from .scope import Names
from .trivia import header_end

MAX_DEPTH = 100  # macros that call macros
MAX_CALLS = 6  # shown of a mistake in macros that call each other: the innermost ones, and the outermost
# what says where the lowering is; a macro's statements are lowered in another place
_PLACE = ("source", "outer", "comments", "definition", "scopes", "fixed", "names")
# what is of one call alone: where its statements go, and how far the comments of its text are read
_OF_CALLS = ("macro_out", "taken", "end")


class LeaveMacro(Exception):
    """A `return` of a macro that is written out: the rest of it makes no statements."""


class MacroLowering(BuilderLowering):
    """Lowers calls of macros."""

    depth = 0

    def leave_macro(self, node: ast.Return, out: list[Stmt]) -> None:
        """Leave the macro whose statements go to `out`, as a function of Python is left."""
        if node.value is not None:
            hint = "write the result into an element of a buffer that it is given"
            raise self.fail("T022", "the call of a macro is a statement, which has no value to return", node, hint=hint)
        if self.out is out:
            raise LeaveMacro
        what = "a macro is written out where it is called, where no value of the program can decide on its `return`"
        raise self.fail("T022", what, node, hint="put what is left of it under the other condition, by `else`")

    def call_macro(self, macro: Macro, call: ast.Call) -> None:
        """Write out the macro's statements, with its parameters standing for the arguments."""
        if self.depth >= MAX_DEPTH:
            raise self.fail("T004", f"the macro `{macro.name}` calls itself without end", call)
        args, kwargs = self.arguments(call)
        scope = self.bind_macro(macro, [*macro.given, *args], kwargs, call)
        definition = macro.node.body
        place = {name: getattr(self, name) for name in (*_PLACE, *_OF_CALLS)}
        reported = len(self.diagnostics)
        top = self.block is not None and self.block.depth == len(self.scopes)
        at = self.span(call)
        self.depth += 1
        self.copies += 1
        self.macro_out = self.out
        self.source, self.outer, self.comments, self.definition = (
            macro.source,
            macro.names(),
            macro.comments,
            definition,
        )
        self.taken = 0
        self.scopes = [scope] if macro.hygienic else [*self.scopes, scope]
        self.fixed = {} if macro.hygienic else dict(self.fixed)
        self.names = Names(definition)
        if self.block is not None:
            self.block.depth = len(self.scopes) if top else -1
        try:
            with suppress(LeaveMacro):
                self.statements(definition, header_end(macro.node), macro.last_line)
        finally:
            for name, value in place.items():
                setattr(self, name, value)
            self.depth -= 1
            self.copies -= 1
            if self.block is not None:
                self.block.depth = len(self.scopes) if top else -1
        called = Label(at, f"the macro `{macro.name}` is called here")
        self.diagnostics[reported:] = [
            Diagnostic(found.code, found.message, _with_call(found.labels, called), found.notes, found.hint)
            for found in self.diagnostics[reported:]
        ]

    def bind_macro(self, macro: Macro, args: list[Any], kwargs: dict[str, Any], call: ast.Call) -> dict[str, Any]:
        """The macro's parameters with what the call gives them."""
        params = macro.node.args
        names = [param.arg for param in [*params.posonlyargs, *params.args]]
        scope: dict[str, Any] = dict(zip(names, args, strict=False))
        extra = args[len(names) :]
        if params.vararg is not None:
            scope[params.vararg.arg] = tuple(extra)
        elif extra:
            raise self.fail(
                "T032", f"the macro `{macro.name}` takes {counted(len(names), 'argument')}, not {len(args)}", call
            )
        accepted = {param.arg for param in [*params.args, *params.kwonlyargs]}
        further: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name in accepted and name not in scope:
                scope[name] = value
            elif params.kwarg is not None and name not in accepted:
                further[name] = value
            else:
                place = next((word for word in call.keywords if word.arg == name), call)
                if name in accepted:
                    raise self.fail("T032", f"the macro `{macro.name}` is given `{name}` twice", place)
                near = suggest(name, accepted)
                hint = f"did you mean `{near}`?" if near else None
                raise self.fail("T032", f"the macro `{macro.name}` has no argument `{name}`", place, hint=hint)
        if params.kwarg is not None:
            scope[params.kwarg.arg] = further
        defaults = dict(zip(names[len(names) - len(params.defaults) :], params.defaults, strict=True))
        defaults.update({p.arg: d for p, d in zip(params.kwonlyargs, params.kw_defaults, strict=True) if d is not None})
        for name in [*names, *(param.arg for param in params.kwonlyargs)]:
            if name in scope:
                continue
            if name not in defaults:
                raise self.fail("T032", f"the macro `{macro.name}` needs the argument `{name}`", call)
            scope[name] = self.default(macro, defaults[name])
        return scope

    def default(self, macro: Macro, node: ast.expr) -> Any:
        """The default value of a parameter, which means what it does where the macro is defined."""
        place = {name: getattr(self, name) for name in _PLACE}
        self.source, self.outer, self.scopes = macro.source, macro.names(), [{}]
        try:
            return self.value(node)
        finally:
            for name, value in place.items():
                setattr(self, name, value)


def _with_call(labels: tuple[Label, ...], called: Label) -> tuple[Label, ...]:
    """The places of a mistake with one more call around them; a recursion passes a place many times."""
    at = called.span
    places = [(one.span.source, one.span.start_line, one.span.start_column) for one in labels[1:]]
    if (at.source, at.start_line, at.start_column) in places:
        return labels
    return (*labels[:MAX_CALLS], called)
