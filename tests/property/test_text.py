"""Random programs: print, parse, equal, print again; and what equality, hashing and formatting promise of them."""

from __future__ import annotations

import pickle
import subprocess
import sys

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tirscript.ir import DiagnosticError, PrimFunc, differences, refresh, structural_equal, structural_hash
from tirscript.ir.verify import verify
from tirscript.printer import diff
from tirscript.script import parse
from tirscript.testing import programs

ANY = programs(runnable=False)


@given(ANY)
def test_random_programs_are_well_formed(program: PrimFunc) -> None:
    assert [str(found) for found in verify(program)] == []


@given(ANY)
def test_the_text_is_the_program(program: PrimFunc) -> None:
    text = program.script()
    again = parse(text)
    assert structural_equal(program, again), "\n".join(map(str, differences(program, again)))
    assert again.script() == text


@given(ANY)
def test_names_do_not_matter(program: PrimFunc) -> None:
    other = refresh(program)
    assert other is not program
    assert structural_equal(program, other)
    assert structural_hash(program) == structural_hash(other)
    assert other.script() == program.script()
    assert diff(program, other) == ""


@given(programs(budget=40), programs(budget=40))
def test_equal_hash_and_text_agree(left: PrimFunc, right: PrimFunc) -> None:
    same = structural_equal(left, right)
    assert same == (not differences(left, right))
    # a diff may show a comment, which is no difference of programs
    if not diff(left, right):
        assert same
    if same:
        assert structural_hash(left) == structural_hash(right)


@given(ANY)
def test_programs_can_be_pickled(program: PrimFunc) -> None:
    again = pickle.loads(pickle.dumps(program))
    assert structural_equal(program, again)
    assert again.script() == program.script()


# to make twenty programs smaller takes longer than to read them
@settings(max_examples=max(5, settings().max_examples // 50), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(ANY, min_size=20, max_size=20))
def test_the_text_is_formatted(many: list[PrimFunc]) -> None:
    for dialect in ("tirscript", "tvm"):
        texts = [text for program in many if (text := printed(program, dialect))]
        # one file for all, to start ruff once
        body = "\n\n".join(text.partition("\n\n\n")[2] for text in texts)
        whole = f"from tirscript.script import tir as T\n\n\n{body}"
        command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "100", "-"]
        done = subprocess.run(command, input=whole, capture_output=True, text=True, encoding="utf-8")
        assert not done.stderr, f"{done.stderr}\n{whole}"
        assert done.stdout == whole


def printed(program: PrimFunc, dialect: str) -> str:
    """The text of a program, empty where TVM's dialect has none."""
    try:
        return program.script(dialect=dialect)
    except DiagnosticError as problem:
        assert dialect == "tvm"
        assert [found.code for found in problem.diagnostics] == ["T405"]
        return ""
