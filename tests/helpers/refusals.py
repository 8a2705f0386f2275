"""Tables of refusals: a program, a step that is refused, and what the message says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tirscript.ir.func import PrimFunc
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import parse

# by name: the program, the step, and words of the message
Refusals = Mapping[str, tuple[PrimFunc, Callable[[Schedule], Any], str]]

BUFFERS = {"A": "(16, 16)", "B": "(16, 16)", "V": "(16,)", "W": "(16,)", "S": "(1,)"}


def program(body: str, **dtypes: str) -> PrimFunc:
    """The body of a function of the buffers A, B (16, 16), V, W (16,), S (1,) of int32, and what else it uses."""
    params = [f'{name}: T.Buffer({shape}, "{dtypes.get(name, "int32")}")' for name, shape in BUFFERS.items()]
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    func = parse(f"@T.prim_func\ndef main({', '.join(params)}):\n{lines}")
    assert isinstance(func, PrimFunc)
    return func


def check(refusals: Refusals, golden: Any) -> None:
    """Each step is refused in those words, and changes nothing; all the messages, without the program, are a golden."""
    texts: list[str] = []
    for name, (func, step, words) in refusals.items():
        schedule = Schedule(func, verify=True)
        try:
            step(schedule)
        except ScheduleError as problem:
            text = str(problem).strip()
        else:
            pytest.fail(f"{name} is not refused:\n{schedule}")
        assert words in text, f"{name}: {text}"
        # the labels show the lines that are meant; the listing shows them once more
        text = re.sub(r"\n *= note: the program now:\n(    .*\n?|\n)*", "\n", text + "\n")
        texts.append(f"# {name}\n{text.strip()}\n")
    golden.check_text("\n".join(texts))
