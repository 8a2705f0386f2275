"""Targets as values: the kind of machine that code is made for, and the options that say which one."""

from __future__ import annotations

import re
from typing import Any

from .check import public
from .node import NO_ATTRS, Attrs, Node
from .words import call_it

# options that hold several words, written with commas in a target's string
LISTS = ("keys", "mattr", "libs")
_KIND = re.compile(r"[\w./-]+")
_OPTION = re.compile(r"[A-Za-z_][\w-]*")
_INT = re.compile(r"-?\d+")
_WORD = re.compile(r"[^\s\"'\\]+")


class Target(Node, frozen=True, eq=False):
    """`T.target("llvm -mcpu=skylake")`: a kind of machine, what it is also known as, its host and its other options.

    Options keep the order they were given in and are compared without it. A kind or option that nothing here knows is
    kept.
    """

    kind: str
    keys: tuple[str, ...] = ()
    host: Target | None = None
    attrs: Attrs = NO_ATTRS

    @staticmethod
    @public
    def parse(spec: str | dict[str, Any] | Target, host: str | dict[str, Any] | Target | None = None) -> Target:
        """The target that a string (`"llvm -mcpu=skylake -num-cores=4"`) or a dict (`{"kind": "llvm", ...}`) says.

        Raises ValueError where it says none.
        """
        if isinstance(spec, Target):
            made = spec
        else:
            made = _from_dict(_options_of(spec) if isinstance(spec, str) else spec)
        if host is None:
            return made
        if made.host is not None:
            raise ValueError("the host is given twice")
        return made.replace(host=Target.parse(host))

    def options(self) -> dict[str, Any]:
        """The kind, keys and other options as one dict, the host left out."""
        keys = {"keys": self.keys} if self.keys else {}
        return {"kind": self.kind, **keys, **self.attrs}

    def text(self) -> str | None:
        """The string that `parse` reads as this target without its host, or None where there is none."""
        parts = [self.kind]
        for name, value in self.options().items():
            if name != "kind":
                word = _word(name, value)
                if word is None:
                    return None
                parts.append(f"-{name}" if value is True else f"-{name}={word}")
        text = " ".join(parts)
        # a dict may hold what the string would say otherwise, such as a number in quotes
        try:
            again = Target.parse(text)
        except ValueError:
            return None
        return text if again == self.replace(host=None) else None


def _word(name: str, value: Any) -> str | None:
    if isinstance(value, (str, bool, int)):
        return str(value)
    if name in LISTS and isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return None


def _options_of(text: str) -> dict[str, Any]:
    kind, *words = text.split() or [""]
    if not _KIND.fullmatch(kind) or kind.startswith("-"):
        raise ValueError(f"a target begins with its kind, such as llvm, not {kind!r}")
    found: dict[str, Any] = {"kind": kind}
    for word in words:
        name, given, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not _OPTION.fullmatch(name) or (given and not _WORD.fullmatch(value)):
            raise ValueError(f"an option of a target is written -name=value, not {word!r}")
        if name in found:
            raise ValueError(f"the option {name!r} is given twice")
        found[name] = _value(name, value) if given else True
    return found


def _value(name: str, text: str) -> Any:
    if name in LISTS:
        return tuple(text.split(","))
    return int(text) if _INT.fullmatch(text) else text


def _from_dict(given: dict[str, Any]) -> Target:
    options = dict(given)
    kind, host, keys = options.pop("kind", None), options.pop("host", None), options.pop("keys", ())
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ValueError('a target names its kind, as in {"kind": "llvm"}')
    if isinstance(keys, str) or not isinstance(keys, (tuple, list)) or not all(isinstance(key, str) for key in keys):
        raise ValueError("the keys of a target are a list of strings")
    attrs = {str(name): _plain(str(name), value) for name, value in options.items()}
    return Target(kind, tuple(keys), None if host is None else Target.parse(host), Attrs(attrs) if attrs else NO_ATTRS)


def _plain(name: str, value: Any) -> Any:
    """A value of an option: lists are tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(_plain(name, item) for item in value)
    if isinstance(value, dict):
        return Attrs({str(key): _plain(name, item) for key, item in value.items()})
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise ValueError(f"the option {name!r} of a target is a {type(value).__name__}, not plain data")


__all__ = ["LISTS", "Target"]


call_it(Target, "target")
