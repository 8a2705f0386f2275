"""What the tests of passes share: programs as text, and comparison of what a pass makes with the text of what it should."""

from __future__ import annotations

from typing import Any

from tirscript.ir.equal import differences
from tirscript.ir.func import PrimFunc
from tirscript.script import parse
from tirscript.testing import Golden

HEADER = "from tirscript.script import tir as T\n\n@T.prim_func\n"


def program(text: str, **options: Any) -> PrimFunc:
    """The function whose `def` stands in `text`."""
    import textwrap

    found = parse(HEADER + textwrap.dedent(text).strip() + "\n", **options)
    assert isinstance(found, PrimFunc)
    return found


def unchecked(text: str) -> PrimFunc:
    """As `program`, for functions the verifier would refuse."""
    import textwrap

    found = parse(
        HEADER.replace("prim_func", "prim_func(check_well_formed=False)") + textwrap.dedent(text).strip() + "\n"
    )
    assert isinstance(found, PrimFunc)
    return found.replace(check_well_formed=True)


def same(found: Any, wanted: Any) -> None:
    """Fail with both texts where two programs differ."""
    problems = differences(found, wanted)
    assert not problems, "\n".join(map(str, problems)) + f"\n\nfound:\n{found.script()}\nwanted:\n{wanted.script()}"


def rewrites(golden: Golden, entry: Any, before: str, name: str | None = None) -> None:
    """Check what the pass makes of a program against its golden, and that it makes nothing more of that."""
    found = golden.check_pass(program(before), entry, name=name)
    assert entry(found) is found


def keeps(entry: Any, text: str) -> None:
    """Check that the pass returns the identical function."""
    func = program(text)
    assert entry(func) is func
