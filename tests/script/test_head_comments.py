"""Comments at lines that are no statements of the IR, as those of a block's head are: they stay where they were written."""

from __future__ import annotations

import re
import textwrap

import pytest
from helpers.script import HEADER

from tirscript.ir import Block, DiagnosticError, rewrite, structural_equal, walk
from tirscript.ir.digest import structural_digest
from tirscript.passes import get_pass
from tirscript.script import parse
from tirscript.testing import assert_round_trip

HEAD = HEADER + textwrap.dedent(
    """

        @T.prim_func
        def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
            for i, k in T.grid(4, 4):
                with T.block("b"):  # the block
                    # row
                    vi = T.axis.spatial(4, i)  # beside the row

                    # column
                    vk = T.axis.reduce(4, k)
                    # few rows
                    T.where(i < 3)  # beside where
                    T.reads(A[vi, vk])  # beside reads

                    T.writes(B[vi])
                    # attributes
                    T.block_attr({"a": 1})
                    # begin
                    with T.init():  # beside init
                        # nothing yet
                        B[vi] = 0.0
                    # sum
                    B[vi] = B[vi] + A[vi, vk]
        """
).lstrip("\n")


def test_comments_of_a_head_stay() -> None:
    func = parse(HEAD)
    assert func.script(header=False) == HEAD.removeprefix(HEADER)
    assert_round_trip(func)


def test_axes_between_which_nothing_stands_are_one_line() -> None:
    text = re.sub(r"\n *# column\n", "", HEAD)
    lines = parse(text).script().split("\n")
    assert '            vi, vk = T.axis.remap("SR", [i, k])  # beside the row' in lines


def test_comments_of_a_head_mean_nothing() -> None:
    bare = "\n".join(line.partition("  #")[0] for line in HEAD.split("\n") if not line.strip().startswith("#"))
    one, other = parse(HEAD), parse(bare)
    assert structural_equal(one, other)
    assert structural_digest(one) == structural_digest(other)


def test_what_two_lines_say_of_one_part_has_the_comments_of_both() -> None:
    text = HEAD.replace(
        'T.block_attr({"a": 1})', 'T.block_attr({"a": 1})  # one\n            T.block_attr("b", 2)  # two'
    )
    lines = [line.strip() for line in parse(text).script().split("\n")]
    at = lines.index('T.block_attr({"a": 1, "b": 2})  # two')
    assert lines[at - 2 : at] == ["# attributes", "# one"]


def test_comments_of_lines_that_a_pass_takes_away_stay() -> None:
    made = get_pass("lower_init_block")(parse(HEAD))
    block = next(node for node in walk(made) if type(node) is Block)
    assert block.init is None
    text = made.script()
    assert (
        text.index("# attributes") < text.index("# begin") < text.index("# beside init") < text.index("# nothing yet")
    )
    assert parse(text).script() == text
    loops = get_pass("lower_blocks")(made).script()
    words = ["the block", "row", "column", "few rows", "beside where", "beside reads", "attributes", "begin", "sum"]
    places = [loops.index(f"# {word}\n") for word in words]
    assert places == sorted(places)


def test_comments_of_lines_that_a_pass_takes_away_are_no_body() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            # where
            T.where(i < 2)
            A[i] = 1.0
"""
    (block,) = walk(parse(text), Block)
    left = block.replace(predicate=None, reads=None, writes=None, body=())
    func = rewrite(parse(text), {Block: lambda block: left})
    assert func.script().endswith("            # where\n            pass\n")
    assert structural_equal(parse(func.script()), func)


def test_comments_of_a_graph_function_stay() -> None:
    body = """
    # what it is for
    G.func_attr({"a": 1})  # beside the attributes

    # a local function
    @G.graph_func
    def inner(y: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
        z: G.Tensor((4,), "float32") = G.exp(y)
        # of the inner one
        return z

    with G.dataflow():
        a: G.Tensor((4,), "float32") = G.add(x, x)

        # outputs
        G.output(a)  # beside the outputs
        # end of the flow
    b: G.Tensor((4,), "float32") = inner(a)

    # the result
    return b  # beside the result
    # the end
"""
    text = '@G.graph_func\ndef f(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):' + body
    func = assert_round_trip(parse(text))
    assert func.script(header=False) == text
    made = get_pass("canonicalize_bindings")(parse(text.replace("(x, x)", "(x, G.exp(x))"))).script()
    for line in ("G.output(a)  # beside the outputs", "return b  # beside the result\n    # the end"):
        assert line in made


def test_comments_of_the_attributes_of_a_function_stay() -> None:
    text = """@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    # what it is for
    T.func_attr({"a": 1})  # beside the attributes

    # the store
    A[0] = 1.0
"""
    func = assert_round_trip(parse(text))
    assert func.script(header=False) == text
    (part,) = func.heads
    assert part[0] == "func_attr" and part[1].lines == ("# what it is for", "# beside the attributes")


def test_comments_above_and_beside_else_keep_their_order() -> None:
    text = HEADER + textwrap.dedent(
        """

        @T.prim_func
        def f(A: T.Buffer((4,), "float32"), n: T.int32):
            if n > 1:
                A[0] = 1.0
            # above
            else:  # beside
                # inside
                A[1] = 1.0
        """
    ).lstrip("\n")
    lines = [line.strip() for line in parse(text).script().split("\n")]
    at = lines.index("else:")
    assert lines[at + 1 : at + 4] == ["# above", "# beside", "# inside"]


@pytest.mark.parametrize(
    ("opening", "words"), [("if True:", "stands in a dataflow"), ("with G.flow():", "`G.flow` is not a function of G")]
)
def test_outputs_of_what_is_no_dataflow_are_a_mistake(opening: str, words: str) -> None:
    text = f"""
@G.graph_func
def f(x: G.Tensor((4,), "float32")):
    {opening}
        y = G.exp(x)
        # outputs
        G.output(y)
    return x
"""
    with pytest.raises(DiagnosticError, match=words):
        parse(text)
