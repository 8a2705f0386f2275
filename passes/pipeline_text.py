"""Pipelines as text: `lower_blocks,unroll_loop{limit=4}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error

# compiled for the first text that is more than a name
_NAME = r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*"
_VALUE = r'\s*("(?:[^"\\]|\\.)*"|[^\s,{}"]+)\s*'


def entries_of(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names in a text, each with its options; DiagnosticError T404 where it says something else."""
    name_at, value_at = re.compile(_NAME).match, re.compile(_VALUE).match
    at = 0

    def fail(what: str) -> DiagnosticError:
        return DiagnosticError([error("T404", f"expected {what} at column {at + 1} of the pipeline `{text}`")])

    while text.strip():
        name = name_at(text, at)
        if name is None:
            raise fail("the name of a pass")
        at = name.end()
        options: dict[str, Any] = {}
        if text[at : at + 1] == "{":
            at += 1
            while True:
                key = name_at(text, at)
                if key is None:
                    raise fail("the name of an option")
                at = key.end()
                if text[at : at + 1] != "=":
                    raise fail("`=`")
                at += 1
                value = value_at(text, at)
                if value is None:
                    raise fail("the value of an option")
                at = value.end()
                if key[1] in options:
                    message = f"option `{key[1]}` of pass `{name[1]}` is given twice in the pipeline `{text}`"
                    raise DiagnosticError([error("T404", message)])
                try:
                    options[key[1]] = _read_value(value[1])
                except ValueError:  # a backslash that JSON does not know
                    at = value.start(1)
                    raise fail("a string as JSON has it") from None
                if text[at : at + 1] not in (",", "}"):
                    raise fail("`,` or `}`")
                at += 1
                if text[at - 1] == "}":
                    break
            at = re.compile(r"\s*").match(text, at).end()  # type: ignore[union-attr]
        yield name[1], options
        if at == len(text):
            break
        if text[at] != ",":
            raise fail("`,`")
        at += 1


def options_text(options: Mapping[str, Any]) -> str:
    """Options as a text has them: `limit=4,kind="a b"`."""
    return ",".join(f"{name}={_value_text(value)}" for name, value in options.items())


_WORDS_OF_VALUES = {"true": True, "false": False, "none": None}


def _read_value(text: str) -> Any:
    if text.startswith('"'):
        return json.loads(text)
    if text in _WORDS_OF_VALUES:
        return _WORDS_OF_VALUES[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _value_text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return next(word for word, meant in _WORDS_OF_VALUES.items() if meant is value)
    text = str(value)
    plain = re.fullmatch(r"[A-Za-z_][\w.-]*", text) and _read_value(text) == text
    return json.dumps(value) if isinstance(value, str) and not plain else text


__all__ = ["entries_of", "options_text"]
