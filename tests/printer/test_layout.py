"""Long lines are laid out as ruff does it."""

from __future__ import annotations

import pytest
from helpers.long_lines import LongLines
from helpers.printer import dedent, formatted

from tirscript.ir import recursion_room
from tirscript.printer import layout
from tirscript.printer.outline import quick_fit

CASES = [
    # one bracket: its content on one line, else an item a line
    (
        'some_target = T.call_extern("float32", "a_function", first_argument)',
        """
        some_target = T.call_extern(
            "float32", "a_function", first_argument
        )
        """,
    ),
    (
        'some_target = T.call_extern("float32", "a_function", first_argument, second_argument)',
        """
        some_target = T.call_extern(
            "float32",
            "a_function",
            first_argument,
            second_argument,
        )
        """,
    ),
    # one argument gets no comma
    (
        "T.evaluate(some_long_name_of_something + another_long_name_of_it)",
        """
        T.evaluate(
            some_long_name_of_something
            + another_long_name_of_it
        )
        """,
    ),
    # operators: parentheses, on one line or before the loosest operators
    (
        "some_target_name = first_operand_of_all + second_operand",
        """
        some_target_name = (
            first_operand_of_all + second_operand
        )
        """,
    ),
    (
        "some_target = first_operand + second_one * third_operand - fourth_one",
        """
        some_target = (
            first_operand
            + second_one * third_operand
            - fourth_one
        )
        """,
    ),
    (
        "x = first_value_of_two if the_condition_holds < 3 else second_value",
        """
        x = (
            first_value_of_two
            if the_condition_holds < 3
            else second_value
        )
        """,
    ),
    # the brackets at the end break before parentheses are added
    (
        "some_target = first + T.max(second_operand_here, third_operand)",
        """
        some_target = first + T.max(
            second_operand_here, third_operand
        )
        """,
    ),
    # a value that begins behind the end of the line
    (
        "A[first_index, second_index, third_index_here] = T.exp(x)",
        """
        A[first_index, second_index, third_index_here] = (
            T.exp(x)
        )
        """,
    ),
    (
        "A[first_index, second_index, third_index_here] = name",
        """
        A[first_index, second_index, third_index_here] = (
            name
        )
        """,
    ),
    (
        "if first_condition_here < 10 and second_condition > 3:",
        """
        if (
            first_condition_here < 10
            and second_condition > 3
        ):
        """,
    ),
    (
        'assert a_condition_name, "a message that is longer than it"',
        """
        assert a_condition_name, (
            "a message that is longer than it"
        )
        """,
    ),
    (
        "for first_loop, second_loop in T.grid(100, 200, 300):",
        """
        for first_loop, second_loop in T.grid(
            100, 200, 300
        ):
        """,
    ),
    (
        "for first_loop_variable_here, second_loop_variable in T.grid(1, 2):",
        """
        for (
            first_loop_variable_here,
            second_loop_variable,
        ) in T.grid(1, 2):
        """,
    ),
    (
        "def name(first: T.int64, second: T.int64, c: T.int64):",
        """
        def name(
            first: T.int64, second: T.int64, c: T.int64
        ):
        """,
    ),
    (
        "def name_of_function_that_is_long(the_first_one: T.int64):",
        """
        def name_of_function_that_is_long(
            the_first_one: T.int64,
        ):
        """,
    ),
    (
        'T.func_attr({"first": "a value", "second": "another"})',
        """
        T.func_attr(
            {"first": "a value", "second": "another"}
        )
        """,
    ),
    (
        'A[i] = T.let("x", a_value, lambda x: x + something)',
        """
        A[i] = T.let(
            "x", a_value, lambda x: x + something
        )
        """,
    ),
    # wide characters take two columns, accents none
    (
        'x = T.call_extern("int32", "名前名前名前名前名前名前名")',
        'x = T.call_extern(\n    "int32", "名前名前名前名前名前名前名"\n)\n',
    ),
    # parentheses help a loop's variable, and no value behind a target that is too long itself
    ("for " + "x" * 40 + " in range(4):", "for (\n    " + "x" * 40 + "\n) in range(4):\n"),
    ("for " + "x" * 36 + " in range(4):", "for " + "x" * 36 + " in range(\n    4\n):\n"),
    ("x" * 50 + " = 1", "x" * 50 + " = 1\n"),
    ("x" * 46 + " = 12", "x" * 46 + " = (\n    12\n)\n"),
    ("x" * 47 + " = 12", "x" * 47 + " = 12\n"),
    # the names of an import get parentheses and a line each
    (
        "from tirscript.script import graph as G, ir as I, tir as T",
        """
        from tirscript.script import (
            graph as G,
            ir as I,
            tir as T,
        )
        """,
    ),
    (
        "from tirscript.script import tensors_of_" + "x" * 20,
        "from tirscript.script import (\n    tensors_of_" + "x" * 20 + ",\n)\n",
    ),
    # what has no rule stays as it is
    ("class " + "X" * 50 + ":", "class " + "X" * 50 + ":\n"),
    ('x = T.call_extern("int32", "' + "e\u0301" * 20 + '")', 'x = T.call_extern("int32", "' + "e\u0301" * 20 + '")\n'),
]


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line[:40] for line, _ in CASES])
def test_long_lines(line: str, expected: str) -> None:
    found = layout.fit(line, 50) + "\n"
    assert found == dedent(expected)
    body = "\n    pass\n" if line.endswith(":") else ""
    assert formatted(f"{line}{body}", 50) == found.rstrip("\n") + (body or "\n")


def test_what_cannot_break_stays() -> None:
    for line in ("# " + "word " * 20, '"""' + "word " * 20 + '"""', "A" * 60, "x = " + "A" * 60):
        assert layout.fit(line, 50) == line


def pieces(seed: int, count: int, width: int) -> tuple[list[str], list[str]]:
    """Random lines at random indentations, each with what makes a program of it; as they are and laid out."""
    maker = LongLines(seed)
    before, after = [], []
    for _ in range(count):
        line = maker.statement()
        depth = maker.pick((1, 2, 5))
        indent = " " * 4 * depth
        around = [" " * 4 * at + "if 1:" for at in range(depth)]
        below = [f"{indent}    pass"] if line.endswith(":") else []
        with recursion_room():
            found = layout.fit(indent + line, width)
        before.append("\n".join([*around, indent + line, *below]))
        after.append("\n".join([*around, found, *below]))
    return before, after


@pytest.mark.parametrize("line", ["else:", "return", "break", "continue", "pass"])
def test_lines_of_one_word_stay(line: str) -> None:
    assert layout.fit(" " * 100 + line, 100) == " " * 100 + line


@pytest.mark.parametrize("width", [100, 60])
def test_random_lines_as_ruff_does_it(width: int) -> None:
    mark = "\nMARK()\n"
    before, after = pieces(width, 400, width)
    theirs = formatted(mark.join(before), width).split("\nMARK()\n")
    for ours, wanted in zip(after, theirs, strict=True):
        # ruff parts nested definitions from their neighbours by blank lines
        assert ours.split("\n") == [line for line in wanted.split("\n") if line.strip()]


@pytest.mark.parametrize("width", [100, 60])
def test_the_quick_way_agrees_with_the_full_one(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    maker = LongLines(width)
    lines = [" " * maker.pick((4, 8, 20)) + maker.statement() for _ in range(1500)]
    quick = {line: found for line in lines if len(line) > width and (found := quick_fit(line, width)) is not None}
    assert len(quick) > 200
    monkeypatch.setattr(layout, "quick_fit", lambda line, width: None)
    for line, found in quick.items():
        assert found == layout.fit(line, width)
