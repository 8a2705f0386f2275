"""Calls of Python's functions: run while parsing, but for those that make an expression of expressions."""

from __future__ import annotations

import ast
import linecache
import traceback
from types import FunctionType
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphExpr, GraphVar
from tirscript.ir.module import Module
from tirscript.ir.op import OPS, Op, comparisons_as_values
from tirscript.ir.words import words

from .advice import ADVICE, ADVICE_IN_PYTHON, BUILTIN_ADVICE, in_words
from .choices import Choice
from .context import Abort
from .graph_names import TypeForm
from .namespace import DialectFunction, TypeName
from .plain import of_the_program, part_of_the_program
from .python import BUILTINS
from .subscript import SubscriptLowering

MAX_TERMS = 1 << 12  # of a sum, min or max of expressions, each of which nests one deeper


class PythonCallLowering(SubscriptLowering):
    """Calls functions of the user's own Python, and Python's `min`, `max`, `sum` and `abs` of expressions."""

    def open_python(self, function: Any, node: ast.Call) -> Any:
        """What a function of the user's own Python returns, or a Choice of `min` and `max`."""
        if isinstance(function, Expr):
            raise self.fail("T022", f"this is a value of {function.dtype}, which cannot be called", node.func)
        if not callable(function) or isinstance(function, (PrimFunc, GraphExpr, Module)):
            hint = None
            if isinstance(function, (tuple, list)) and len(node.args) == 1:
                hint = f"an item stands in brackets: `{self.span(node.func).text}[{self.span(node.args[0]).text}]`"
            elif isinstance(function, DType) and len(node.args) == 1:
                hint = f'cast to it: `T.cast({self.span(node.args[0]).text}, "{function}")`'
            raise self.fail("T022", f"this is {words(function)}, which cannot be called", node.func, hint=hint)
        if not self.trusted and function not in _SAFE and not isinstance(function, TypeForm):
            name = getattr(function, "__name__", type(function).__name__)
            raise self.fail("T003", f"`{name}` is not available to text that is parsed", node)
        chooses = function is min or function is max
        args, kwargs = self.arguments(node, self.open_value if chooses and not node.keywords else None)
        if Choice in map(type, args):
            return self.among(OPS[function.__name__], args, node)
        self.sized((args, kwargs), node)
        special = _EXPR_BUILTINS.get(function) if function.__hash__ is not None else None
        if special is not None and not kwargs:
            items = self._operands(special, args, node)
            if self.folds(special, items):
                return self._fold(special, items, node)
        held = next((arg for arg in [*args, *kwargs.values()] if of_the_program(arg)), None)
        if held is None:
            return self.plain(lambda: function(*args, **kwargs), node, ())
        module = str(getattr(function, "__module__", None) or "")
        texts = getattr(function, "__name__", "") in _TEXTS and not isinstance(function, FunctionType)
        place = _place(held, args, kwargs, node)
        if texts or (isinstance(held, (Buffer, GraphExpr)) and module.partition(".")[0] == "numpy"):
            raise self._early(function, held, node, place, None)
        try:
            with comparisons_as_values():
                return function(*args, **kwargs)
        except (DiagnosticError, Abort):
            raise
        except Exception as problem:
            raise self._early(function, held, node, place, problem) from None

    def _early(self, function: Any, held: Any, node: ast.Call, place: ast.expr, problem: Exception | None) -> Abort:
        """A Python function that cannot take the value of the program at `place`: what is to be raised."""
        name = str(getattr(function, "__name__", type(function).__name__)).lstrip("_")
        text = self.span(place).text
        word = f"`{text}`" if len(text) < 40 else "its argument"
        part = part_of_the_program(held)
        hint = BUILTIN_ADVICE.get(name) if name != "print" or not isinstance(held, GraphExpr) else None
        if hint is None:
            own = isinstance(node.func, ast.Name) and name not in BUILTINS
            of_several = isinstance(part, GraphExpr) and (part is not held or len(node.args) > 1)
            spelt = self.spelling(_OF_SEVERAL.get(function, name) if of_several else name)
            hint = f"did you mean `{spelt}`?" if spelt is not None and not own else self.instead(name)
        if isinstance(part, Buffer) and name in ("sum", "min", "max", "abs", "list", "tuple", "enumerate", "zip"):
            hint = f"loop over the elements: `for i in range({part.name}.shape[0]):`"
        notes = (f"{type(problem).__name__}: {problem}",) if problem is not None and hint is None else ()
        failed = _what_failed(function, problem)
        if failed is not None:
            inside, what = failed
            notes = (f"in `{inside}`, `{what}`: {type(problem).__name__}: {problem}",)
            spelt = self.spelling(_called(what))
            there = f"call `{spelt}` there, which takes the values of a program" if spelt is not None else None
            hint = there or BUILTIN_ADVICE.get(_called(what)) or hint
        if hint is None and isinstance(function, FunctionType) and isinstance(held, (Expr, Buffer)):
            hint = ADVICE_IN_PYTHON
        if hint and isinstance(held, (Buffer, GraphVar)):
            hint = hint.replace("A.shape", f"{held.name}.shape")
        return self.fail(
            "T033",
            f"`{name}` is Python, which runs while parsing: {word} has no value yet",
            node,
            hint=in_words(hint, place, text),
            notes=notes,
        )

    def spelling(self, name: str) -> str | None:
        """The function of the language that is called as a function of Python or numpy is; None where there is none."""
        return f"T.{name}" if type(vars(self.namespace).get(name)) in (Op, TypeName, DialectFunction) else None

    def instead(self, name: str) -> str | None:
        """What is written in the language in place of a function of Python or numpy."""
        return ADVICE.get(name)

    def _operands(self, name: str, args: list[Any], node: ast.Call) -> list[Any]:
        """What Python's function joins by the operator `name`: what a list holds, or several arguments (the second of
        `sum` is what it starts with); nothing where Python would refuse."""
        one = bool(args) and self.iterable(args[0], node)
        if name == "add":
            return [*args[1:], *self.iterate(args[0], node)] if one and len(args) < 3 else []
        if name == "abs" or len(args) > 1:
            return args
        return self.iterate(args[0], node) if one else []

    def iterable(self, value: Any, node: ast.expr) -> bool:
        """Whether a value holds others, one after the other."""
        return hasattr(value, "__iter__") and not isinstance(value, Buffer)

    def folds(self, name: str, items: list[Any]) -> bool:
        """Whether the operator `name` joins these items, among which are values of the program."""
        return any(isinstance(item, Expr) for item in items)

    def joined(self, name: str, items: list[Any], node: ast.Call) -> Any:
        """The operator `name` on one or two items."""
        if any(isinstance(item, Expr) for item in items):
            return self.operator(OPS[name], items, node)
        return BUILTINS["sum" if name == "add" else name](items)

    def _fold(self, name: str, items: list[Any], node: ast.Call) -> Any:
        if name == "abs":
            return self.joined(name, items, node)
        if len(items) > MAX_TERMS:
            raise self.fail(
                "T004", f"this makes one expression of over {MAX_TERMS:,} terms", node, hint="add them up in a loop"
            )
        result = items[0]
        for item in items[1:]:
            result = self.joined(name, [result, item], node)
        return result


def _place(held: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> ast.expr:
    """Where the argument `held` of a call stands: behind a star, the star's."""
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    for name, value in kwargs.items():
        if value is held:
            return named.get(name, node.keywords[-1].value)
    for place, value in zip(node.args, args, strict=False):
        if value is held or isinstance(place, ast.Starred):
            return place
    return node.func


def _what_failed(function: Any, problem: Exception | None) -> tuple[str, str] | None:
    """Which function of the user's own file raised, and by which expression; None where that is not on one line."""
    if problem is None or not isinstance(function, FunctionType):
        return None
    if (function.__module__ or "").startswith("tirscript."):  # what `exec` made has no module
        return None
    frames = traceback.extract_tb(problem.__traceback__)
    last = next((one for one in reversed(frames) if one.filename == function.__code__.co_filename), None)
    if last is None or last.lineno is None or last.lineno != last.end_lineno:
        return None
    line = linecache.getline(last.filename, last.lineno).encode()  # columns count bytes
    return last.name, line[last.colno : last.end_colno].decode().strip()


def _called(text: str) -> str:
    """The last name of the function that an expression calls: `exp` of `np.exp(x)`; nothing where it is no call."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", "") or getattr(function, "id", "")


_SAFE = set(BUILTINS.values())
_TEXTS = ("print", "str", "repr", "ascii", "format")  # what would show how a value is written, not what it is
_OF_SEVERAL: dict[Any, str] = {min: "minimum", max: "maximum"}  # operators of graphs that take tensors one by one
_EXPR_BUILTINS: dict[Any, str] = {min: "min", max: "max", sum: "add", BUILTINS["sum"]: "add", abs: "abs"}
