"""Comments, docstrings and blank lines: where they go, and that they come back."""

from __future__ import annotations

import re
import textwrap

import pytest
from helpers.printer import formatted
from helpers.script import HEADER

from tirscript.ir import PrimFunc
from tirscript.script import parse, parse_all
from tirscript.script import tir as T
from tirscript.testing import assert_round_trip

KERNEL = (
    HEADER
    + textwrap.dedent(
        '''
    # above the function
    @T.prim_func
    def f(A: T.Buffer((16,), "float32"), n: T.int32):  # beside the head
        """What it does.

        # not a comment
        """
        # first
        x = A[0]  # beside x: "a # in a string"

        # before the loop
        # on two lines
        for i in range(n):  # beside the loop
            # in the loop
            if i > 1:
                A[i] = x
                # end of then
            # before elif
            elif i > 0:  # beside elif
                A[i] = 0.0
            else:  # beside else
                # in else
                A[i] = 1.0
            # end of the loop

        with T.block("b"):
            # axes
            v = T.axis.spatial(16, n)
            # store
            A[v] = T.max(
                A[v],  # inside
                1.0,
            )
        T.evaluate(T.call_extern("int32", "puts", "# no comment"))
        # end of the function
    '''
    ).lstrip()
)


def kernel(text: str = KERNEL) -> PrimFunc:
    found = parse(text)
    assert isinstance(found, PrimFunc)
    return found


def test_comments_stand_at_their_statements() -> None:
    made = kernel()
    bind, loop, block, call = made.body
    assert made.trivia.before == ("# above the function",) and made.trivia.beside == "# beside the head"
    assert made.docstring == "What it does.\n\n    # not a comment\n    "
    assert bind.trivia.before == ("# first",) and bind.trivia.beside == '# beside x: "a # in a string"'
    assert (
        loop.trivia.before == ("", "# before the loop", "# on two lines") and loop.trivia.beside == "# beside the loop"
    )
    (branch,) = loop.body
    assert branch.trivia.before == ("# in the loop",) and branch.trivia.after == ("# end of the loop",)
    assert branch.then[0].trivia.after == ("# end of then",)
    (inner,) = branch.orelse
    assert inner.trivia.before == ("# before elif",) and inner.trivia.beside == "# beside elif"
    assert inner.orelse[0].trivia.before == ("# beside else", "# in else")
    assert block.trivia.before == ("",)
    assert block.axes[0].trivia.before == ("# axes",)
    assert block.body[0].trivia.before == ("# store",) and block.body[0].trivia.beside == "# inside"
    assert call.trivia.before == () and call.trivia.after == ("# end of the function",)


def test_every_comment_is_printed_back() -> None:
    printed = kernel().script()
    for line in KERNEL.splitlines():
        if "#" in line and "not a comment" not in line:
            comment = line[line.index("# beside x") :] if "# beside x" in line else line[line.rindex("#") :]
            assert comment.rstrip() in printed, comment


def test_printing_is_a_fixed_point_with_comments() -> None:
    printed = kernel().script()
    assert kernel(printed).script() == printed


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_of_other_systems(newline: str) -> None:
    assert kernel(KERNEL.replace("\n", newline)).script() == kernel().script()


def test_a_text_without_comments_has_no_trivia() -> None:
    made = kernel(HEADER + '@T.prim_func\ndef f(A: T.Buffer((1,), "int8")):\n    A[0] = 1\n    A[0] = 2\n')
    assert made.trivia is None and all(stmt.trivia is None for stmt in made.body)


def test_comments_of_the_file_stand_at_its_definitions() -> None:
    text = (
        "# licence\n\n"
        + HEADER
        + "# a group\n\n# another\n\n@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n)\n\n\n# between\n"
        "@T.prim_func\ndef g(n: T.int32):\n    T.evaluate(n)\n\n\n# the end\n"
    )
    found = parse_all(text)
    assert found["f"].trivia.before == ("# licence", "", "# a group", "", "# another")
    assert found["g"].trivia.before == ("# between",) and found["g"].trivia.after == ("# the end",)
    for made in found.values():
        assert kernel(made.script()).script() == made.script()
        assert all(line in made.script() for line in (*made.trivia.before, *made.trivia.after))


def test_comments_of_a_module_stand_at_its_functions() -> None:
    text = (
        HEADER
        + "# the module\n@I.ir_module\nclass M:\n    # first\n    I.module_attrs({'a': 1})\n\n    # f\n    @T.prim_func\n"
        "    def f(n: T.int32):\n        T.evaluate(n)\n        # in f\n\n    # g\n    @T.prim_func\n    def g(n: T.int32):\n        T.evaluate(n)\n"
    )
    made = parse(text)
    assert made.trivia.before == ("# the module",)
    assert made["f"].trivia.before == ("# first", "", "# f") and made["g"].trivia.before == ("# g",)
    assert made["f"].body[0].trivia.after == ("# in f",)
    assert parse(made.script()).script() == made.script() and made.script().count("#") == 5


def test_blank_lines_are_kept_one_at_a_time() -> None:
    made = kernel(HEADER + '@T.prim_func\ndef f(A: T.Buffer((1,), "int8")):\n    A[0] = 1\n\n\n\n    A[0] = 2\n')
    assert made.body[1].trivia.before == ("",)


@pytest.mark.parametrize("definition", ["function", "module"])
def test_groups_of_comments_above_a_definition(definition: str) -> None:
    kernel = '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n'
    if definition == "module":
        kernel = f"@I.ir_module\nclass M:\n{textwrap.indent(kernel, '    ')}"
    text = f"{HEADER}# one\n\n# two\n# three\n\n\n# four\n{kernel}"
    text = parse(text).script()
    assert "T\n\n\n# one\n\n# two\n# three\n\n\n# four\n@" in text
    assert formatted(text) == text and parse(text).script() == text


def test_comments_of_a_branch_without_statements_stand_above_the_whole() -> None:
    head = "@T.prim_func\ndef f(n: T.int32):\n    if n > 0:\n        # empty\n        pass\n    {}:\n        T.evaluate(n)\n"
    for other in ("else", "elif n > 1"):
        text = parse(HEADER + head.format(other)).script()
        assert "    # empty\n    if n > 0:\n        pass\n" in text and parse(text).script() == text


def test_comments_survive_a_body_with_nothing_else() -> None:
    made = kernel(HEADER + '@T.prim_func\ndef f(A: T.Buffer((1,), "int8")):\n    # only this\n    pass\n')
    assert made.body == () and made.trivia.before == ("# only this",)
    made = kernel(
        HEADER + "@T.prim_func\ndef f(n: T.int32):\n    for i in range(n):\n        # only this\n        pass\n"
    )
    assert made.body[0].trivia.before == ("# only this",)


# ruled


# above, in live Python
@T.prim_func
def live(A: T.Buffer((4,), "float32")):
    A[0] = 1.0


unrelated = 1  # of another statement


def test_the_decorator_sees_the_comments_above_it() -> None:
    comments = [line for line in live.script().splitlines() if line.startswith("#")]
    assert comments == ["# ruled", "# above, in live Python"]

    # above, indented
    @T.prim_func
    def inner(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    # of what comes then
    assert inner.trivia is not None and inner.trivia.before == ("# above, indented",) and inner.trivia.after == ()


@pytest.mark.parametrize("text", ["# above\n", "# far\n\n\n# above\n", ""], ids=["one", "two", "none"])
def test_comments_around_a_definition_come_back_where_python_runs_its_text(text: str) -> None:
    body = "def f(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n# below\n\n# at the end\n"
    assert_round_trip(parse(f"{HEADER}\n{text}@T.prim_func\n{body}"))
    assert_round_trip(
        parse(
            f"{HEADER}\n{text}@I.ir_module\nclass M:\n    @T.prim_func\n    {body[: -len('# below')]}".replace(
                "\n    A[0]", "\n        A[0]"
            )
        )
    )


HEADS = """
@I.ir_module
class M:  # the module
    @T.prim_func
    def f(
        A: T.Buffer((8,), "int32"),
        n: T.int32,
    ):  # the function
        for i in range(
            3
        ):  # the loop
            A[i] = 1
        if (
            n > 3
            and n < 5
        ):  # the branch
            A[0] = 1
        elif (
            n > 2  # above
        ):  # the other
            A[0] = 2
        while (
            n > A[0]
        ):  # the while
            A[0] = 3
        with T.block(
            "b"
        ):  # the block
            A[0] = 4

    @T.prim_func
    def g(
        n: T.int32,
    ) -> (
        T.int32
    ):  # the result
        # not of the head
        return n
"""


def test_comments_beside_the_end_of_a_head_of_several_lines() -> None:
    module = parse(HEADER + HEADS)
    lines = [line.strip() for line in module.script().splitlines() if "#" in line]
    assert lines == [
        "class M:  # the module",
        'def f(A: T.Buffer((8,), "int32"), n: T.int32):  # the function',
        "for i in range(3):  # the loop",
        "if n > 3 and n < 5:  # the branch",
        "# above",
        "elif n > 2:  # the other",
        "while n > A[0]:  # the while",
        'with T.block("b"):  # the block',
        "def g(n: T.int32) -> T.int32:  # the result",
        "# not of the head",
    ]
    assert_round_trip(module)


BETWEEN = """
from typing import Any  # beside an import


@I.ir_module
class M:
    I.module_attrs({"a": 1})  # beside attributes
    # above a number
    N = 4  # beside a number

    @T.prim_func
    def f(A: T.Buffer((N,), "int32")):
        A[0] = 1
"""


def test_comments_beside_what_is_no_part_of_the_program_stand_above_what_follows() -> None:
    module = parse(HEADER + BETWEEN)
    lines = [line.strip() for line in module.script().splitlines()]
    assert lines[lines.index("@I.ir_module") - 1] == "# beside an import"
    at = lines.index("@T.prim_func")
    assert lines[at - 3 : at] == ["# beside attributes", "# above a number", "# beside a number"]
    assert_round_trip(module)


def test_comments_around_a_docstring_stand_below_it() -> None:
    head = 'def f(A: T.Buffer((1,), "int8")):\n    # above\n    """Doc."""  # beside\n'
    made = kernel(f"{HEADER}@T.prim_func\n{head}    # first\n    A[0] = 1\n")
    assert made.trivia is None and made.body[0].trivia.before == ("# above", "# beside", "# first")
    head = 'def f(x: G.Tensor((1,), "int8")):\n    # above\n    """Doc."""  # beside\n'
    graph = parse(f"{HEADER}@G.graph_func\n{head}    y = G.add(x, x)\n    return y\n")
    assert '    """Doc."""\n    # above\n    # beside\n    y: ' in graph.script()


def test_comments_of_a_docstring_alone_stand_above_its_function() -> None:
    head = 'def f(A: T.Buffer((1,), "int8")):\n    # above\n    """Doc."""  # beside\n    # below\n'
    found = parse_all(f"{HEADER}@T.prim_func\n{head}\n\n# the end\n@T.prim_func\n{head.replace('f(', 'g(')}")
    assert found["f"].trivia.before == ("# above", "# beside", "# below")
    assert found["g"].trivia.before == ("# the end", "# above", "# beside", "# below")
    for made in found.values():
        assert kernel(made.script()).script() == made.script()


def test_what_looks_like_a_comment_in_a_string_of_several_lines_is_none() -> None:
    text = HEADER + textwrap.dedent(
        '''
    @T.prim_func
    def f():
        T.evaluate(T.call_extern("int32", "puts", """one
        # no comment
        two # neither
        """))  # beside
        T.evaluate(0)
    '''
    )
    printed = kernel(text).script(header=False)
    assert printed.count("#") == 3
    assert r'T.call_extern("int32", "puts", "one\n' in printed and printed.count("# beside") == 1
    assert_round_trip(kernel(text))


def test_comments_in_data_of_many_lines_stand_at_its_statement_alone() -> None:
    rows = "".join(f"            {number}.0,{'  # the third' if number == 3 else ''}\n" for number in range(12))
    text = (
        f'{HEADER}\n\n@T.prim_func\ndef f(A: T.Buffer((12,), "float32")):\n    # first\n    A[0] = 1.0\n'
        f'    w = T.allocate_const(\n        [\n{rows}        ], "float32", (12,)\n    )\n'
        "    # last\n    A[1] = w[1]  # beside\n"
    )
    lines = kernel(text).script(header=False).splitlines()
    comments = [line.partition("#")[2].strip() for line in lines if "#" in line]
    assert comments == ["first", "the third", "last", "beside"]


ON_ONE_LINE = """
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    if A[0] > 1.0: A[0] = 1.0  # then
    else: A[1] = 1.0  # else
    for i in range(4): A[i] = 3.0  # round
    with T.block("b"): A[0] = 1.0  # block
    A[2] = 1.0; A[3] = 2.0  # both
"""


def test_a_comment_on_a_line_of_several_statements_stands_once() -> None:
    """It stood at each of them."""
    module = parse(HEADER + ON_ONE_LINE)
    lines = [line.strip() for line in module.script().splitlines() if "#" in line]
    assert lines == [
        "A[0] = 1.0  # then",
        "A[1] = 1.0  # else",
        "A[i] = 3.0  # round",
        "A[0] = 1.0  # block",
        "A[3] = 2.0  # both",
    ]
    assert_round_trip(module)


WRITTEN_OUT = """
@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    for i in [1, 2]:  # the loop
        A[i] = 1.0  # a round
    if False:  # never
        A[0] = 1.0
    else:  # always
        A[0] = 2.0  # so


@G.graph_func
def g(x: G.Tensor((), "float32"), c: G.Tensor((), "bool")):
    if c:  # the branch
        y = x + x
    else:  # the other
        y = x * x  # squared
    for i in range(2):  # the loop
        y = y + x  # a round
    if False:  # never
        y = x
    else:  # always
        z = y + y  # so
    return z
"""


def test_comments_of_what_is_written_out_and_of_else_stand_above_what_is_made_of_it() -> None:
    """Those with a comment beside the first statement inside were lost, and those of `else:` in graph functions."""
    found = parse_all(HEADER + WRITTEN_OUT)
    comments = {
        name: [line.strip() for line in made.script().splitlines() if "#" in line] for name, made in found.items()
    }
    assert comments == {
        "f": [
            "# the loop",
            "A[1] = 1.0  # a round",
            "A[2] = 1.0  # a round",
            "# never",
            "# always",
            "A[0] = 2.0  # so",
        ],
        "g": [
            "if c:  # the branch",
            "# the other",
            'y: G.Tensor((), "float32") = G.multiply(x, x)  # squared',
            "# the loop",
            'y_1: G.Tensor((), "float32") = G.add(y, x)  # a round',
            'y_2: G.Tensor((), "float32") = G.add(y_1, x)  # a round',
            "# never",
            "# always",
            'z: G.Tensor((), "float32") = G.add(y_2, y_2)  # so',
        ],
    }
    for made in found.values():
        assert_round_trip(made)


LOCAL = """@G.graph_func
def f(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
    # above
    @G.graph_func  # decorator
    # between
    def g(
        y: G.Tensor((4,), "float32"),  # parameter
    ) -> G.Tensor(  # result
        # its shape
        (4,), "float32"
    ):  # head
        # first
        return y  # value

        # last

    # behind
    z = g(x)
    return z
"""


def test_comments_of_a_function_in_a_function_stay() -> None:
    """Those of its head over several lines were lost, and all those of a body that only returns."""
    found = parse_all(HEADER + LOCAL)["f"]
    comments = [line[line.index("#") :] for line in LOCAL.splitlines() if "#" in line]
    written = [line[line.index("#") :] for line in found.script().splitlines() if "#" in line]
    assert sorted(written) == sorted(comments)
    assert_round_trip(found)


MACRO = """@T.macro
def twice(A, i):
    # twice
    t = A[i]  # what is there

    # and back
    A[i] = t * 2
    # done


# above the function
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    # first
    twice(A, 0)  # call
    A[1] = 1  # between
    twice(A, 2)
    # last
"""


def test_comments_of_a_macro_stand_with_its_statements() -> None:
    """They stood above the function that follows the macro."""
    body = parse(HEADER + MACRO).script().split("# above the function\n", 1)[1]
    assert body == textwrap.dedent(
        """\
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            # first
            # call
            # twice
            t = A[0]  # what is there

            # and back
            A[0] = t * 2
            # done
            A[1] = 1  # between
            # twice
            t_1 = A[2]  # what is there

            # and back
            A[2] = t_1 * 2
            # done
            # last
        """
    )


@T.macro
def _halves(A, i):
    # half
    A[i] = A[i] // 2  # of it


def test_comments_of_a_live_macro_stand_with_its_statements() -> None:
    """They were lost."""

    @T.prim_func
    def halve(A: T.Buffer((8,), "int32")):
        _halves(A, 0)
        # behind the call
        A[1] = 0

    assert halve.script().endswith("# half\n    A[0] = A[0] // 2  # of it\n    # behind the call\n    A[1] = 0\n")


def test_comments_of_a_branch_that_makes_no_statement_do_not_go_into_the_other() -> None:
    text = HEADER + (
        '@G.graph_func\ndef f(x: G.Tensor((4,), "float32"), c: G.Prim("bool")):\n    # above\n    if c:\n'
        "        # as it is\n        y = x\n    else:\n        # another\n        y = x + 1.0\n    return y\n"
    )
    body = parse(text).script()
    assert "    # above\n    # as it is\n    if c:\n        y = x\n    else:\n        # another\n" in body


def test_a_blank_line_that_is_not_printed_keeps_no_loops_apart() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4, 4), "float32")):
    for i in range(4):

        for j in range(4):
            A[i, j] = 0.0
"""
    printed = assert_round_trip(parse(text)).script()
    assert "for i, j in T.grid(4, 4):" in printed


def test_comments_above_an_init_stay_above_it() -> None:
    """They do not change places with those of the init itself, nor come behind it."""
    text = """
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])  # 1

            # 2
            with T.init():  # 3
                # 4
                B[vi] = 0.0  # 5
            # 6
            B[vi] += A[vi, vk]  # 7
"""
    printed = parse(text).script()
    assert re.findall(r"# (\d)", printed) == list("1234567")
    assert printed.index("# 2") < printed.index("T.init") < printed.index("# 3") < printed.index("= 0.0")
    assert parse(printed).script() == printed


def test_comments_of_the_call_of_a_macro_stay_above_its_init() -> None:
    text = """
@T.macro
def head(B, vi):
    with T.init():
        B[vi] = 0.0


@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            # 1
            head(B, vi)
            # 2
            B[vi] += A[vi, vk]
"""
    printed = parse(text).script()
    assert re.findall(r"# (\d)", printed) == list("12")
    assert parse(printed).script() == printed
