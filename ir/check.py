"""Checks of arguments and fields against their annotations, with errors in the user's words.

A right value passes by an `isinstance` that was worked out once from the annotation, well under a microsecond a call.
Only where that fails does typeguard, which knows all of Python's annotations, decide; it is loaded then.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# what a value must be an instance of, or a test of it, or None where anything goes
Test = tuple[type, ...] | Callable[[Any], bool] | None

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
# how a class is called in a message, where its name does not say it
_WORDS: dict[str, str] = {
    "Node": "a program (Node)",
    "PrimFunc": "a function (PrimFunc)",
    "GraphFunc": "a graph function (GraphFunc)",
    "Module": "a module (Module)",
    "Stmt": "a statement (Stmt)",
    "Expr": "an expression (Expr)",
    "Buffer": "a buffer (Buffer)",
    "Var": "a variable (Var)",
    "DType": "a dtype",
    "str": "a string",
    "bytes": "bytes",
    "int": "an int",
    "float": "a float",
    "bool": "True or False",
    "dict": "a dict",
    "list": "a list",
    "tuple": "a tuple",
    "Mapping": "a mapping",
    "Sequence": "a sequence",
    "Iterable": "an iterable",
    "Path": "a path",
    "PathLike": "a path",
    "NoneType": "None",
    "Callable": "a function",
    "type": "a class",
}


def public(function: F) -> F:
    """Check the arguments of a public function at each call against its annotations.

    A wrong one raises a TypeError that names the function, the argument, what it takes and what it got; so does a
    keyword that it does not take, with the nearest one that it does, or all of them.
    """
    plan: list[Any] = []

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not plan:
            plan.extend(_plan(function))
        for value, test in zip(args, plan[0]):
            if test is not None and not (isinstance(value, test) if type(test) is tuple else test(value)):
                _refuse(function, plan, args, kwargs)
        if kwargs:
            tests = plan[1]
            for name, value in kwargs.items():
                test = tests.get(name)
                if test is None and name not in tests:
                    _refuse_name(function, name)
                if test is not None and not (isinstance(value, test) if type(test) is tuple else test(value)):
                    _refuse(function, plan, args, kwargs)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def keywords_known(function: F) -> F:
    """Refuse a keyword that a public function does not take, with the nearest one that it does.

    For functions that tell of wrong values themselves.
    """
    names: set[str] = set()

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            names.update(names or inspect.signature(function).parameters)
            for name in kwargs.keys() - names:
                _refuse_name(function, name)
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def _plan(function: Callable[..., Any]) -> tuple[list[Test], dict[str, Test], dict[str, Any]]:
    """The tests of a function's arguments by position and by name, and its annotations."""
    hints = hints_of(function)
    positional: list[Test] = []
    named: dict[str, Test] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        test: Test = test_of(hint)
        named[name] = test
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(test)
    return positional, named, hints


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """A function's annotations; names imported for type checkers only are looked up in the IR."""
    import pathlib

    import tirscript.ir

    scope = {**vars(collections.abc), **vars(typing), **vars(pathlib), **vars(tirscript.ir)}
    return typing.get_type_hints(function, localns={**scope, **getattr(function, "__globals__", {})})


@functools.cache
def _classes(hint: Any) -> tuple[type, ...]:
    return (float, int) if hint is float else (complex, float, int) if hint is complex else (hint,)


def test_of(hint: Any) -> Test:
    """A quick test of a value against an annotation: whatever it accepts is right, what it refuses may still be."""
    if hint is Any or hint is object or isinstance(hint, TypeVar):
        return None
    if hint is None:
        return (type(None),)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return _any_of([test_of(part) for part in typing.get_args(hint)])
    if origin is typing.Literal:
        values = typing.get_args(hint)
        return lambda value: value in values
    if origin in (tuple, list, collections.abc.Sequence, collections.abc.Iterable, set, frozenset):
        return _items(origin, typing.get_args(hint))
    if isinstance(origin, type):
        return (origin,)
    if isinstance(hint, type) and not getattr(hint, "_is_protocol", False):
        return _classes(hint)
    return lambda value: False  # typeguard decides


def _any_of(tests: list[Test]) -> Test:
    if None in tests:
        return None
    classes = tuple(cls for test in tests if type(test) is tuple for cls in test)
    others = [test for test in tests if type(test) is not tuple]
    if not others:
        return classes
    return lambda value: isinstance(value, classes) or any(test(value) for test in others)  # type: ignore[misc, operator]


def _passes(value: Any, test: Test) -> bool:
    return test is None or (isinstance(value, test) if isinstance(test, tuple) else test(value))


def _items(origin: Any, args: tuple[Any, ...]) -> Test:
    if origin is tuple and args and args[-1] is not ...:
        tests = [test_of(arg) for arg in args]
        return lambda value: isinstance(value, tuple) and len(value) == len(tests) and all(map(_passes, value, tests))
    inner = test_of(args[0]) if args else None
    if inner is None or origin is collections.abc.Iterable:
        return (origin,)
    if type(inner) is tuple:
        return lambda value: isinstance(value, origin) and all(isinstance(item, inner) for item in value)
    return lambda value: isinstance(value, origin) and all(inner(item) for item in value)  # type: ignore[misc, operator]


def _is_whole(hint: Any) -> bool:
    """Whether what the quick test of an annotation accepts is right in all its parts; it does not look into a dict."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return hint is Any or hint is None or (isinstance(hint, type) and not getattr(hint, "_is_protocol", False))
    if origin in (typing.Union, types.UnionType, list, tuple, set, frozenset, collections.abc.Sequence):
        return all(_is_whole(arg) for arg in args if arg is not ...)
    return origin is collections.abc.Callable and (not args or args[0] is ...)  # of others the parameters count


def fits(value: Any, hint: Any) -> str | None:
    """None where `value` is of the annotated type, else what typeguard says about it."""
    if hint is None or hint is type(None):
        return None if value is None else f"{type(value).__name__} is not None"
    if _is_whole(hint):
        if _passes(value, test_of(hint)):
            return None
    import typeguard

    try:
        typeguard.check_type(
            value,
            hint,
            forward_ref_policy=typeguard.ForwardRefPolicy.IGNORE,
            collection_check_strategy=typeguard.CollectionCheckStrategy.ALL_ITEMS,
        )
    except typeguard.TypeCheckError as error:
        return str(error)
    return None


def _refuse(function: Callable[..., Any], plan: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise the TypeError for the first argument that is wrong; return where typeguard finds none."""
    hints, names = plan[2], named_parameters(function)
    first = int(names[:1] in (["self"], ["cls"]))  # the object is no argument to whoever calls its method
    for at, (name, value) in enumerate([*zip(names, args), *kwargs.items()], -first):
        if name not in hints or fits(value, hints[name]) is None:
            continue
        which = f"as its {_ORDINALS[at]} argument" if at < min(len(args) - first, len(_ORDINALS)) else f"as `{name}`"
        message = f"{_called(function)}() takes {in_words(hints[name])} {which}, not {describe(value)}"
        advice = _advice(hints[name], value)
        raise TypeError(f"{message}; {advice}" if advice else message) from None


def _refuse_name(function: Callable[..., Any], name: str) -> None:
    """Raise the TypeError for a keyword argument that the function does not take, unless it takes any."""
    from .diagnostic import suggest

    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    taken = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    near = suggest(name, [one.name for one in taken])
    options = [one.name for one in taken if one.kind is one.KEYWORD_ONLY] or [one.name for one in taken]
    names = ", ".join(f"`{one}`" for one in options if one not in ("self", "cls")) or "none"
    hint = f"; did you mean `{near}`?" if near is not None else f"; it takes {names}"
    raise TypeError(f"{_called(function)}() got an unexpected keyword argument {name!r}{hint}") from None


def _called(function: Callable[..., Any]) -> str:
    """What is written in front of the brackets: the class where that is what makes an object."""
    return function.__qualname__.removesuffix(".__init__").rpartition(".")[2]


def named_parameters(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters that can be given by position."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def in_words(hint: Any) -> str:
    """An annotation as a reader would say it: `a string or None`."""
    if hint is Any or hint is object:
        return "any value"
    if hint is None:
        return "None"
    if isinstance(hint, TypeVar):
        bounds = hint.__constraints__ or ((hint.__bound__,) if hint.__bound__ is not None else ())
        return _either(bounds) if bounds else "any value"
    origin = typing.get_origin(hint)
    args = typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _either(args)
    if origin is typing.Literal:
        return " or ".join(repr(value) for value in args)
    if origin in (tuple, list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable):
        kinds = [in_words(arg) for arg in args if arg is not ... and arg is not Any]
        return f"{_named(origin)} of {_plural(kinds[0])}" if len(set(kinds)) == 1 else _named(origin)
    return _named(origin or hint)


def _either(hints: tuple[Any, ...]) -> str:
    parts = list(dict.fromkeys(in_words(hint) for hint in hints))
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"


def _named(cls: Any) -> str:
    name = getattr(cls, "__name__", None) or str(cls)
    return _WORDS.get(name) or f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def _plural(words: str) -> str:
    article, _, rest = words.partition(" ")
    if article not in ("a", "an") or " or " in rest:
        return words
    noun, bracket, tail = rest.partition(" (")
    return f"{noun}s{bracket}{tail}"


def describe(value: Any) -> str:
    """What a wrong argument is: `a str`, `None`, `the function f`, `a list of int`."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.isroutine(value):
        return f"the Python function {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"the Python module {value.__name__}"
    name = type(value).__name__
    inside = ""
    if isinstance(value, (list, tuple)) and value:
        kinds = dict.fromkeys(type(item).__name__ for item in value)
        inside = f" of {' and '.join(kinds)}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}{inside}"


def held_in(value: Any, cls: type | tuple[type, ...]) -> str | None:
    """Where a value that is no program holds one of such a class: a schedule or a built function, what a pass tells."""
    for name, words in (("func", "its function is `.func`"), ("module", "its module is `.module`")):
        try:
            if isinstance(getattr(value, name, None), cls):
                return words
        except Exception:  # a schedule of several functions, of which none is chosen
            continue
    return None


def _advice(hint: Any, value: Any) -> str | None:
    """What somebody who passed `value` probably wanted."""
    from .dtype import DType
    from .node import Node

    wanted = {part for part in (hint, *typing.get_args(hint)) if isinstance(part, type)}
    if DType in wanted and isinstance(value, str):
        return f'write `dtype("{value}")`'
    programs = any(issubclass(cls, Node) for cls in wanted)
    if programs and isinstance(value, str):
        return "did you mean parse(text)?"
    if inspect.isroutine(value) and programs:
        return "decorate it with @T.prim_func first"
    held = held_in(value, Node) if programs else None
    if held is not None:
        return held
    if hint is str and isinstance(value, Node):
        return "it is a program already"
    if str in wanted and inspect.isroutine(value):
        return "decorate it with @T.prim_func instead"
    return None


def check_fields(node: Any) -> None:
    """Raise TypeError where a field of `node` is not of its declared type."""
    cls: Any = type(node)
    for name, test, hint in _field_tests(cls):
        value = getattr(node, name)
        if test is None or (isinstance(value, test) if isinstance(test, tuple) else test(value)):
            continue
        if (why := fits(value, hint)) is not None:
            advice = _advice(hint, value) or why
            raise TypeError(f"{cls.__name__}.{name} takes {in_words(hint)}, not {describe(value)} ({advice})")


@functools.cache
def _field_tests(cls: Any) -> list[tuple[str, Test, Any]]:
    hints = typing.get_type_hints(cls)
    return [(name, test_of(hints[name]), hints[name]) for name in cls.__struct_fields__]
