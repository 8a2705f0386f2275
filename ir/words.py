"""Values in the user's words: messages say what a thing is, and never which class of ours holds it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

# class -> (what a thing of it is, how this one is named or None)
_WORDS: dict[type, tuple[str, Callable[[Any], str] | None]] = {type(None): ("None", None)}


def call_it(cls: type, noun: str, name: Callable[[Any], str] | None = None) -> None:
    """Say how messages call the things of a class: "the {noun} `{name}`", or "a {noun}" where they have no name."""
    _WORDS[cls] = (noun, name)


def refuse_call(name: str) -> NoReturn:
    """What the call of a program raises, which is no function yet: TypeError with what makes one of it."""
    known = name if name.isidentifier() else "program"
    raise TypeError(
        f"`{known}` is a program, not compiled: call what `tirscript.build({known})` gives, or "
        f"`tirscript.interpret({known}, ...)`"
    )


def documentation(function: Callable[..., Any], what: str) -> str:
    """The docstring of an entry of a table; ValueError where it has none, but under `python -OO`, which keeps none."""
    doc = inspect.getdoc(function) or ""
    if not doc and sys.flags.optimize < 2:
        raise ValueError(f"{what} has no docstring, which says what it does where it is listed")
    return doc


class EntryDoc:
    """The `__doc__` of a class whose instances are documented by their field `doc`, so that `help(T.exp)` shows it."""

    def __init__(self, of_class: str | None, called: Callable[[Any], str]) -> None:
        self.of_class, self.called = of_class, called

    def __get__(self, entry: Any, cls: type) -> str | None:
        if entry is None:
            return self.of_class
        return f"{entry.doc}\n\n`{self.called(entry)}{inspect.signature(entry)}`"


class EntrySignature:
    """The `__signature__` of the entries of a table, which help and notebooks show; that of their class is its own."""

    def __init__(self, of_entry: Callable[[Any], inspect.Signature]) -> None:
        self.of_entry = of_entry

    def __get__(self, entry: Any, cls: type) -> inspect.Signature:
        if entry is None:
            raise AttributeError("__signature__")
        return self.of_entry(entry)


def without_annotations(signature: inspect.Signature) -> inspect.Signature:
    """A signature with the names and defaults of its parameters alone."""
    plain = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return inspect.Signature(plain)


def identifier(name: str) -> str:
    """An identifier like a name of elsewhere: `fc_weight` for `fc.weight`, `v0` for `0`."""
    made = re.sub(r"\W+", "_", name).strip("_") or "v"
    return f"v{made}" if made[0].isdigit() else made


def words(value: object) -> str:
    """What a value is: "the whole buffer `A`", "the function `T.exp`", "a Python list"."""
    if value is None:
        return "`None`"
    for cls in type(value).__mro__:
        known = _WORDS.get(cls)
        if known is not None:
            noun, name = known
            return with_article(noun) if name is None else f"the {noun} `{name(value)}`"
    if inspect.isroutine(value) or isinstance(value, type):
        return f"`{value.__name__.lstrip('_')}`"
    cls = type(value)
    return "a numpy array" if (cls.__module__, cls.__name__) == ("numpy", "ndarray") else f"a Python {cls.__name__}"


def without_classes(text: str) -> str:
    """A message of Python with our class names replaced by what they stand for."""
    nouns = {cls.__name__: noun for cls, (noun, _) in _WORDS.items()}
    return re.sub(r"'(\w+)'( object)?", lambda match: _replaced(match, nouns), text)


def _replaced(match: re.Match[str], nouns: dict[str, str]) -> str:
    noun = nouns.get(match[1])
    if noun is None:
        return match[0]
    return noun if noun == "None" else with_article(noun)


def with_article(noun: str) -> str:
    """A noun with its indefinite article."""
    return f"{'an' if noun[0] in 'aeiouAEIO' else 'a'} {noun}"


_PLURALS = {"axis": "axes", "index": "indices", "pass": "passes"}


def counted(count: int | str, noun: str) -> str:
    """A number of things: "1 argument", "2 indices", "1 to 3 arguments"."""
    one = str(count).removeprefix("at least ").removeprefix("at most ") == "1"
    return f"{count} {noun if one else _PLURALS.get(noun, noun + 's')}"


def parenthesized(items: Iterable[object]) -> str:
    """Items as Python writes a tuple of them: `(n, 4)`, `(4,)`, `()`."""
    texts = [str(item) for item in items]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def arguments_named(names: Sequence[str]) -> str:
    """What a function takes: "2 arguments (A, n)"."""
    return f"{counted(len(names), 'argument')} ({', '.join(names)})" if names else "no arguments"


def miscounted(names: Sequence[str], given: int) -> str:
    """What is wrong with a call: "takes 2 arguments (A, n), but 3 are given"."""
    return f"takes {arguments_named(names)}, but {given} {'is' if given == 1 else 'are'} given"
