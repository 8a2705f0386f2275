"""The state of one function's lowering: scopes, diagnostics, spans."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import force_setattr

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, Label, error, suggest
from tirscript.ir.dtype import INT64, DType, scalar_names
from tirscript.ir.expr import BufferLoad, Expr, Var, const, is_const
from tirscript.ir.graph import GraphFunc
from tirscript.ir.span import Source, Span
from tirscript.ir.words import call_it

from .advice import ADVICE, BUILTIN_ADVICE, OF_A_VALUE, TYPES, advise, in_words
from .budget import Budget
from .python import BUILTINS, is_numpy_scalar
from .source import quiet_parse
from .trivia import Comments

_MISSING = object()
_NAMESPACES = frozenset(f"did you mean `{letter}`?" for letter in "TIGR")  # near to any index of one letter
MAX_MISTAKES = 200  # of one function; behind these, the rest of it is not read
FIRST = (const(0),)  # the index of the one element that a ScalarView names


class Abort(Exception):
    """Leaves the statement that is being lowered; its diagnostic, if any, is reported already. `node` is what could not
    be read, where that is a part of the statement."""

    def __init__(self, node: ast.AST | None = None) -> None:
        self.node = node


class Poison:
    """The value of a name whose definition failed: using it says nothing more."""


class Pending:
    """A name that both branches of an `if` assign, before the first of them does."""


class Stale:
    """A name that some runs of a body give another meaning, where it could have either: behind that body, and in a loop
    before it. `value` is what it stood for; an assignment at this place settles it."""

    def __init__(self, value: Any, why: str) -> None:
        self.value = value
        self.why = why


class Round(dict[str, Any]):
    """The scope of what is written out while parsing, once for each item: what it assigns to names around it stays."""


def is_single(value: Any) -> bool:
    """Whether a value is a buffer of one element, whose name alone means that element in TVM's text since 2026."""
    return type(value) is Buffer and len(value.shape) == 1 and is_const(value.shape[0], 1)


class ScalarView:
    """A name for the one element of a buffer: `x = T.decl_scalar(...)`."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer


class Loop:
    """Marks a name as a loop variable or parameter, which cannot be assigned."""


class FunctionRef:
    """A function of the module that is being parsed, known by name; `signature` is filled before bodies are lowered.

    `graph` is a graph function without its body, whose result may not be known yet.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.signature: Any = None
        self.graph: GraphFunc | None = None


class ModuleRef:
    """The module that is being parsed, as its functions see it (`Module.f`, `cls.f`); some are of libraries."""

    def __init__(self, name: str, functions: dict[str, Any]) -> None:
        self.name = name
        self.functions = functions


class Called(NamedTuple):
    """The decorator of the language that live Python called, and the options that are not the usual ones."""

    decorator: str
    options: dict[str, bool]


class OfSymbols:
    """A value at the top of a text that names symbolic dimensions, which each function has of its own:
    `shape = (n, 4)`. It is evaluated where it is used."""

    def __init__(self, node: ast.expr) -> None:
        self.node = node


class Macro:
    """A macro. `names` gives those of the place that defines it, at the time of the call, as Python's functions see
    theirs; a hygienic one sees them and its parameters only, another one also what is in scope at the call. Its
    `comments` stand with the statements wherever these are written out."""

    def __init__(
        self,
        node: ast.FunctionDef,
        source: Source,
        names: Callable[[], dict[str, Any]],
        *,
        hygienic: bool,
        comments: Comments | None = None,
    ) -> None:
        self.node = node
        self.source = source
        self.names = names
        self.hygienic = hygienic
        self.comments = comments
        self.last_line = max(node.end_lineno or 0, *(comments.whole if comments else ()), 0)
        self.name = node.name
        self.__name__ = node.name
        self.given: tuple[Any, ...] = ()  # the arguments before those of a call: the object whose method it is

    def __get__(self, instance: Any, owner: type | None = None) -> Macro:
        if instance is None:
            return self
        bound = Macro(self.node, self.source, self.names, hygienic=self.hygienic, comments=self.comments)
        bound.given = (instance,)
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"the macro `{self.name}` is called inside of a function decorated with @T.prim_func")

    def __repr__(self) -> str:
        return f"<macro {self.name}>"


call_it(FunctionRef, "function", lambda function: function.name)
call_it(ModuleRef, "module", lambda module: module.name)
call_it(Macro, "macro", lambda macro: macro.name)


class Context:
    """What all parts of the lowering share. `namespace` is T."""

    namespace: Any
    example_type = "T.float32"  # of a parameter
    theirs = False  # the text is in TVM's dialect, which converts what ours refuses (meet.py)
    older = False  # it is in TVM's dialect before `tirx`, whose printer wrote some defaults out
    tiles = False  # its functions are of TVM's tile dialect unless they say `s_tir=True`

    options: dict[str, bool]  # of the decorator

    def __init__(self, source: Source, outer: dict[str, Any], *, trusted: bool) -> None:
        self.source = source
        self.outer = outer
        self.trusted = trusted
        self.budget = Budget(trusted)
        self.copies = 0  # the loops over sequences and macros that are being written out around the statement
        self.diagnostics: list[Diagnostic] = []
        self.scopes: list[dict[str, Any]] = [{}]
        self.fixed: dict[str, str] = {}  # names that may not be assigned, and what they are
        self.symbols: dict[str, Var] = {}
        self.unknown: dict[str, Diagnostic] = {}  # what was said of names that are defined nowhere
        self.evaluated: dict[OfSymbols, Any] = {}
        self.named_strides: set[str] = set()  # of these, what only strides of TVM's buffers are called
        self.in_indices: frozenset[ast.AST] | None = None  # what stands in indices, found when it is first asked for
        self.callee: ast.expr | None = None  # what is being called by the call that is read
        self.in_signature = False
        self.annotation_name: ast.expr | None = None  # with which the annotation begins that is read
        self.symbol_mode = False  # unknown names are symbolic dimensions

    # places and messages

    def span(self, node: ast.AST) -> Span:
        """The span of a syntax node."""
        return Span(self.source, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def unquoted(self, node: ast.expr, what: str, hint: str | None = None) -> ast.expr:
        """An annotation, read from its quotes where the whole of it stands in some."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return node
        try:
            inner: ast.expr = quiet_parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.fail("T041", f"{what} is not an expression", node, hint=hint) from None
        for part in ast.walk(inner):
            ast.copy_location(part, node)
        return inner

    def fail(
        self,
        code: str,
        message: str,
        node: ast.AST | None,
        hint: str | None = None,
        notes: tuple[str | Label, ...] = (),
    ) -> Abort:
        """Report a diagnostic; the result is to be raised."""
        self.report(code, message, node, hint, notes)
        return Abort(node)

    def report(
        self,
        code: str,
        message: str,
        node: ast.AST | None,
        hint: str | None = None,
        notes: tuple[str | Label, ...] = (),
    ) -> None:
        """Report a diagnostic and go on."""
        if len(self.diagnostics) > MAX_MISTAKES:
            return
        span = self.span(node) if node is not None else None
        if span is not None and code in OF_A_VALUE:
            hint = in_words(hint, node, span.text)
        self.diagnostics.append(error(code, message, span, notes=notes, hint=hint))

    def located(self, problem: DiagnosticError, node: ast.AST, x: ast.AST | None = None) -> Abort:
        """Report the diagnostics of the typing rules at a syntax node; the result is to be raised.

        What hints call `x` is the value at `x`, or at the place itself where its code says that this is the value.
        """
        for found in problem.diagnostics:
            if not found.labels:
                span = self.span(node)
                value = node if x is None and found.code in OF_A_VALUE else x
                hint = found.hint if value is None else in_words(found.hint, value, self.span(value).text)
                found = Diagnostic(found.code, found.message, (Label(span),), found.notes, hint)
            self.diagnostics.append(found)
        return Abort(node)

    def placed(self, expr: Any, node: ast.AST) -> Any:
        """Give a new expression the span of its syntax node."""
        if isinstance(expr, Expr) and expr.span is None and type(expr) is not Var:
            force_setattr(expr, "span", self.span(node))
        return expr

    # names

    def lookup(self, name: str) -> Any:
        """What a name stands for, or the private mark of an unknown one."""
        for scope in reversed(self.scopes):
            found = scope.get(name, _MISSING)
            if found is not _MISSING:
                return found
        found = self.symbols.get(name)
        return self.outer.get(name, _MISSING) if found is None else found

    def name_value(self, node: ast.Name) -> Any:
        """The value of a name as an operand."""
        name = node.id
        value = self.lookup(name)
        cls = type(value)
        if cls is Var:
            return value if value.name else self.symbol_named(node, value.dtype)
        if cls is Buffer:
            return BufferLoad(value, (), span=self.span(node)) if value.scope == "scalar" else value
        if cls is Poison:
            raise Abort(node)
        if cls is ScalarView:
            return BufferLoad(value.buffer, FIRST, span=self.span(node))
        if cls is Pending:
            raise self.fail(
                "T011", f"`{name}` may be used before it is assigned", node, hint="assign it before this use"
            )
        if cls is Stale:
            hint = "give what the body assigns a name of its own; what changes while the program runs is a number"
            raise self.fail("T011", f"`{name}` {value.why}", node, hint=hint)
        if value is _MISSING:
            if self.symbol_mode:
                return self.symbol(name)
            if self.unknown.get(name) in self.diagnostics:
                raise Abort(node)  # a name is told once
            problem = self.undefined(node)
            self.unknown[name] = self.diagnostics[-1]
            raise problem
        if cls.__name__ == "TypeVar" and cls.__module__ == "typing":
            return self.symbol(name)
        if cls is OfSymbols:
            if value not in self.evaluated:
                self.evaluated[value] = self.of_symbols(value)
            return self.evaluated[value]
        return value if self.trusted or not is_numpy_scalar(value) else value.item()

    def of_symbols(self, value: OfSymbols) -> Any:
        """What a value at the top of the text is with the symbolic dimensions of this function."""
        raise AssertionError("given by PlainLowering")

    def symbol_named(self, node: ast.Name, dtype: DType) -> Var:
        """The symbolic dimension that a name at the top of the text stands for."""
        return self.symbol(node.id, dtype)

    def symbol(self, name: str, dtype: DType | None = None) -> Var:
        """The symbolic dimension of that name, made where it is new (int64 unless a dtype is given)."""
        found = self.symbols.get(name)
        if found is None:
            found = self.symbols[name] = Var(name, dtype or INT64)
        return found

    def symbol_advice(self, text: str) -> str | None:
        """The way out where a string stands for a number: of signatures alone are dimensions strings."""
        return None if self.lookup(text) is _MISSING else f"in the body it is a name, without quotes: `{text}`"

    def builtin_advice(self, name: str) -> str | None:
        """What is written in place of a function of Python's own."""
        return ADVICE.get(name) or BUILTIN_ADVICE.get(name)

    def function_advice(self, name: str) -> str:
        """Where a function stands that is called."""
        module: ModuleRef | None = getattr(self, "module", None)
        if module is not None:
            return f"define it in `{module.name}`, and call it as `{module.name}.{name}`"
        given = "a macro or a Python function is defined before" if self.trusted else "macros stand before"
        return f"a tensor function stands in the same `@I.ir_module` and is called as `M.{name}`; {given}"

    def undefined(self, node: ast.Name, advice: str | None = None) -> Abort:
        """An undefined name, with the nearest known one, or else with some advice."""
        later = self.assigned_later(node)
        if later is not None:
            return self.fail(
                "T011",
                f"`{node.id}` is used outside of the scope of its assignment",
                node,
                hint="assign it before, at this level or an outer one",
                notes=(Label(later, "it is assigned here"),),
            )
        import builtins

        if hasattr(builtins, node.id) and not self.trusted:
            return self.fail(
                "T003",
                f"`{node.id}` is not available to text that is parsed",
                node,
                hint=self.builtin_advice(node.id)
                or "only T, G, I and a few plain builtins are; use the decorator in Python for more",
            )
        hint = self.advised(node.id)
        module: ModuleRef | None = getattr(self, "module", None)
        if module is not None and node.id == "cls":
            hint = f"`cls = {module.name}` before it, or `{module.name}` in its place"
        elif module is not None and node.id == "self":
            hint = f"a module has no `self`: its functions are called as `{module.name}.name(...)`"
        elif module is not None and node.id in module.functions:
            hint = f"the functions of the module are called as `{module.name}.{node.id}(...)`"
        elif node.id == "self":
            hint = "a tensor function has no `self`: what it needs are its parameters"
        elif node.id == getattr(getattr(self, "node", None), "name", None):
            hint = "a tensor function does not call itself; write a loop"
        elif self.in_signature:
            hint = self.signature_advice(node)
        elif hint is None and advice is not None:
            hint = advice
        elif hint is None and node is self.callee:
            hint = self.function_advice(node.id)
        elif (hint is None or hint in _NAMESPACES) and self.is_index(node):
            hint = f"a loop gives it: `for {node.id} in range(n):`"
        elif hint is None and "prim_func" in vars(self.namespace):
            hint = "assign it before, or make it a parameter"
            if len(node.id) > 2:  # the shortest are of sizes as often as of values
                hint += f", such as `{node.id}: {self.example_type}`"
        return self.fail("T010", f"`{node.id}` is not defined", node, hint=hint)

    def signature_advice(self, node: ast.Name) -> str | None:
        """What is probably meant by a name of a signature: a type where the annotation begins with it, or a size."""
        name, own = node.id, self.example_type[0]
        home = TYPES.get(name, "T" if name in scalar_names() else None)
        near = suggest(name, scalar_names())
        if home in (own, "T"):
            return f"did you mean `{home}.{name}`?"
        if near is not None:
            return f"did you mean `T.{near}`?"
        if node is self.annotation_name:
            return self.builtin_advice("Tensor")
        return f'a symbolic dimension is a string: `"{name}"`'

    def advised(self, name: str) -> str | None:
        """What is probably meant by a name that is not defined."""
        return advise(name, vars(self.namespace), near=self.known_names())

    def is_index(self, use: ast.Name) -> bool:
        """Whether a name stands in an index of the function that is read."""
        whole = getattr(self, "node", None)
        if self.in_indices is None and whole is not None:
            indices = (node.slice for node in ast.walk(whole) if isinstance(node, ast.Subscript))
            self.in_indices = frozenset(part for index in indices for part in ast.walk(index))
        return self.in_indices is not None and use in self.in_indices

    def assigned_later(self, use: ast.Name) -> Span | None:
        """Where a name that is unknown here is assigned elsewhere in the function."""
        return None

    def known_names(self) -> list[str]:
        """Every name that could have been meant: of Python's own those that the language has."""
        import builtins

        names = [name for scope in self.scopes for name in scope]
        python = vars(builtins).keys() - BUILTINS.keys()
        return [*names, *(name for name in self.outer if not name.startswith("__") and name not in python)]

    def define(self, name: str, value: Any) -> None:
        """Let a name stand for `value` in the innermost scope."""
        self.scopes[-1][name] = value

    def keep(self, name: str, value: Any) -> None:
        """Let a name stand for `value` where it is known already, if what is written out alone lies between."""
        for scope in reversed(self.scopes):
            if name in scope:
                scope[name] = value
                return
            if type(scope) is not Round:
                break
        self.define(name, value)

    def leave(self) -> None:
        """End the innermost scope. A name around it that had another meaning in it may have either behind it."""
        inner = self.scopes.pop()
        if self.theirs:  # in TVM's dialect names are those of their scope
            return
        for name, value in inner.items():
            if type(value) in (Poison, Pending):
                continue
            found = next((scope[name] for scope in reversed(self.scopes) if name in scope), _MISSING)
            if found is not _MISSING and type(found) not in (Poison, Stale) and found is not value:
                self.define(name, Stale(found, "has one of two meanings here: a body before this gave it another"))
