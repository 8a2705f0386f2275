"""Typeguard's verdicts, sooner: what an annotation certainly accepts passes by a test made once for the annotation.

Whatever that test does not accept goes to typeguard, which accepts it or raises; so nothing is checked less.
"""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

import typeguard

# what a value may be an instance of, or a test of it, or None where anything goes
Test = tuple[type, ...] | Callable[[Any], bool] | None

ABC = collections.abc
# generics of which typeguard sees the class alone
CLASSES = (ABC.Iterable, ABC.Iterator, ABC.Generator, ABC.Collection)
# those of which it sees the first item
ITEMS = {list: (list,), ABC.Sequence: (list, tuple), set: (set,), frozenset: (frozenset,), ABC.Set: (set, frozenset)}

_quick: dict[Any, Test] = {}
_functions: set[Any] = set()  # what of them typeguard has accepted
_typeguard = typeguard.check_type_internal


def install() -> None:
    """Let all of typeguard's checks begin with `check`."""
    for name, module in list(sys.modules.items()):
        if name.startswith("typeguard.") and getattr(module, "check_type_internal", None) is _typeguard:
            module.check_type_internal = check  # type: ignore[attr-defined]


def check(value: Any, annotation: Any, memo: Any) -> None:
    """What `typeguard.check_type_internal` does; `memo` is its own."""
    if memo.config is not typeguard.config:  # all items may be asked for
        _typeguard(value, annotation, memo)
        return
    try:
        test = _quick[annotation]
    except KeyError:
        test = _quick[annotation] = quick(annotation)
    except TypeError:  # an annotation that cannot be hashed
        _typeguard(value, annotation, memo)
        return
    if test is None or (isinstance(value, test) if type(test) is tuple else test(value)):
        return
    if type(value) is not types.FunctionType or value.__dict__:
        _typeguard(value, annotation, memo)
        return
    # typeguard makes the signature of a function each time, which these decide
    signature = (annotation, value.__code__, len(value.__defaults__ or ()), frozenset(value.__kwdefaults__ or ()))
    if signature not in _functions:
        _typeguard(value, annotation, memo)
        _functions.add(signature)


def quick(annotation: Any) -> Test:
    """A test that accepts nothing that typeguard refuses, and may refuse what it accepts."""
    if annotation is Any or annotation is object:
        return None
    if annotation is None:
        return (type(None),)
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return _of_class(annotation)
    if isinstance(annotation, TypeVar):
        if annotation.__constraints__:
            return _any_of([quick(one) for one in annotation.__constraints__])
        return None if annotation.__bound__ is None else quick(annotation.__bound__)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _any_of([quick(part) for part in args])
    if origin is tuple and args:
        return _first_of((tuple,), quick(args[0])) if args[-1] is ... else _each_of([quick(part) for part in args])
    if origin in ITEMS:
        return _first_of(ITEMS[origin], quick(args[0]))
    if origin in (dict, ABC.Mapping):
        return _first_pair(dict if origin is dict else ABC.Mapping, *map(quick, args))
    return (origin,) if origin in CLASSES else ()


def _of_class(cls: type) -> Test:
    if cls is float:
        return (float, int)
    if getattr(cls, "_is_protocol", False) or typing.is_typeddict(cls):
        return ()
    if cls is tuple or not issubclass(cls, tuple):
        return (cls,)
    try:
        fields = [quick(hint) for hint in typing.get_type_hints(cls).values()]
    except NameError:  # imported for type checkers only
        return ()
    return lambda value: isinstance(value, cls) and all(map(_passes, value, fields))


def _passes(value: Any, test: Test) -> bool:
    return test is None or (isinstance(value, test) if type(test) is tuple else test(value))  # type: ignore[operator]


def _any_of(tests: list[Test]) -> Test:
    if None in tests:
        return None
    classes = tuple(cls for test in tests if type(test) is tuple for cls in test)
    others = [test for test in tests if callable(test)]
    return (lambda value: isinstance(value, classes) or any(test(value) for test in others)) if others else classes


def _first_of(kinds: tuple[type, ...], inner: Test) -> Test:
    if inner is None:
        return kinds

    def accepts(value: Any) -> bool:
        if not isinstance(value, kinds):
            return False
        for item in value:
            return _passes(item, inner)
        return True

    return accepts


def _each_of(tests: list[Test]) -> Test:
    return lambda value: isinstance(value, tuple) and len(value) == len(tests) and all(map(_passes, value, tests))


def _first_pair(cls: type, key: Test, item: Test) -> Test:
    def accepts(value: Any) -> bool:
        if not isinstance(value, cls):
            return False
        for one, other in value.items():
            return _passes(one, key) and _passes(other, item)
        return True

    return accepts
