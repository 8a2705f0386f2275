"""Where the parts of a program stand in its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from tirscript.ir import Buffer, BufferLoad, DiagnosticError, Evaluate, Node, PrimFunc, Stmt, children, const
from tirscript.ir.node import shape_of
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import parse
from tirscript.testing import programs
from tirscript.testing.places import Text, printed_text, read_text, steps

PROGRAM = """\
from tirscript.script import ir as I, tir as T


@I.ir_module
class Mod:
    I.module_attrs({"version": 1})

    @T.prim_func
    def main(A: T.Buffer((8, "n"), "float32"), B: T.Buffer((8, 8), "float32"), h: T.handle, k: T.int32):
        H = T.match_buffer(h, (4, 2), "int32", scope="shared")
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(vi < k)
                T.reads(A[vi, 0:4])
                T.writes(B[vi, vj])
                B[vi, vj] = T.exp(A[vi, vj] + 1.0) * 2.0 if k > 1 and k < 9 else -A[0, 0]
        D = T.alloc_buffer((4,), "int32", scope="local")
        for q in T.parallel(1, k, annotations={"x": 1}):
            with T.block("D"):
                vq = T.axis.spatial((1, 4), q - 1)
                D[vq] = T.cast(vq, "int32") // 2
            x: T.int32 = D[q] + q
            y = x * 3
            assert y < 7, "a message"
            T.evaluate(T.max(y, 5))
            while x < k:
                x = x + 1
        Mod.other(B)

    @T.prim_func(private=True)
    def other(B: T.Buffer((8, 8), "float32")):
        if B[0, 1] == 2.0:
            B[1, 0:4] = T.broadcast(3.0, 4)
        for p in range(4):
            T.static_assert(p < 4, "in bounds")
            T.assume(B[p, 0] > 1.0)
"""
# path -> (line, text)
PLACES = {
    "attrs['version']": (5, "class Mod:"),
    "main": (9, None),
    "main.params[0].shape[1]": (9, '"n"'),
    "main.params[1].dtype": (9, '"float32"'),
    "main.params[3]": (9, "k: T.int32"),
    "main.body[0]": (10, 'H = T.match_buffer(h, (4, 2), "int32", scope="shared")'),
    "main.body[0].source": (10, "h"),
    "main.body[0].buffer.shape[1]": (10, "2"),
    "main.body[0].buffer.dtype": (10, '"int32"'),
    "main.body[0].buffer.scope": (10, '"shared"'),
    "main.body[1].var": (11, "i"),
    "main.body[1].kind": (11, "for i, j in T.grid(8, 8):"),
    "main.body[1].body[0].stop": (11, "8"),
    "main.body[1].body[0].body[0].axes[1].value": (13, "j"),
    "main.body[1].body[0].body[0].axes[1].kind": (13, 'vi, vj = T.axis.remap("SS", [i, j])'),
    "main.body[1].body[0].body[0].predicate.args[1]": (14, "k"),
    "main.body[1].body[0].body[0].reads[0].ranges[1].stop": (15, "4"),
    "main.body[1].body[0].body[0].reads[0].ranges[0].start": (15, "vi"),
    "main.body[1].body[0].body[0].writes[0].buffer": (16, "B"),
    "main.body[1].body[0].body[0].body[0].buffer": (17, "B"),
    "main.body[1].body[0].body[0].body[0].indices[1]": (17, "vj"),
    "main.body[1].body[0].body[0].body[0].value.args[0].args[1].args[1]": (17, "9"),
    "main.body[1].body[0].body[0].body[0].value.args[1].args[1]": (17, "2.0"),
    "main.body[1].body[0].body[0].body[0].value.args[1].args[0].args[0].args[0].indices[0]": (17, "vi"),
    "main.body[1].body[0].body[0].body[0].value.args[1].args[0].args[0].args[1]": (17, "1.0"),
    "main.body[1].body[0].body[0].body[0].value.args[2].args[0].buffer": (17, "A"),
    "main.body[2].buffer.shape[0]": (18, "4"),
    "main.body[2].buffer.scope": (18, '"local"'),
    "main.body[2].buffer.dtype": (18, '"int32"'),
    "main.body[3].start": (19, "1"),
    "main.body[3].stop": (19, "k"),
    "main.body[3].annotations['x']": (19, 'for q in T.parallel(1, k, annotations={"x": 1}):'),
    "main.body[3].body[0].axes[0].stop": (21, "(1, 4)"),
    "main.body[3].body[0].axes[0].value.args[1]": (21, "1"),
    "main.body[3].body[0].body[0].value.args[0]": (22, 'T.cast(vq, "int32")'),
    "main.body[3].body[1].value.args[0].indices[0]": (23, "q"),
    "main.body[3].body[2].value.args[1]": (24, "3"),
    "main.body[3].body[3].condition.args[1]": (25, "7"),
    "main.body[3].body[3].message": (25, 'assert y < 7, "a message"'),
    "main.body[3].body[4].value.args[1]": (26, "5"),
    "main.body[3].body[5].condition.args[1]": (27, "k"),
    "main.body[3].body[5].body[0].value.args[1]": (28, "1"),
    "main.body[4].value.args[0]": (29, "B"),
    "other.private": (32, None),
    "other.body[0].condition.args[0].indices[1]": (33, "1"),
    "other.body[0].then[0].indices[1]": (34, "0:4"),
    "other.body[0].then[0].value.value": (34, "3.0"),
    "other.body[1].body[0].condition.args[1]": (36, "4"),
    "other.body[1].body[1].condition.args[1]": (37, "1.0"),
    "nothing.like[3].this": (5, "class Mod:"),
}


def test_places() -> None:
    module: Any = parse(PROGRAM)
    text = read_text(PROGRAM, "<printed>")
    assert text.source.text == PROGRAM
    for path, (line, words) in PLACES.items():
        span = text.span(path)
        assert span is not None and str(span).startswith(f"<printed>:{line}:"), path
        if words is not None:
            assert (path, span.text) == (path, words)


def _paths(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    yield path, node
    shape = shape_of(type(node))
    for (name, many), value in zip(shape.children, shape.get_children(node), strict=True):
        where = f"{path}.{name}" if path else name
        if many == 1 and value is not None:
            for at, item in enumerate(value):
                yield from _paths(item, f"{where}[{at}]")
        elif isinstance(value, Node):
            yield from _paths(value, where)


@settings(max_examples=12, deadline=None)
@given(programs())
def test_every_part_of_a_program_has_a_place_within_its_parent(func: PrimFunc) -> None:
    for program in (func, DEFAULT_LOWERING(func)):
        text = printed_text(program, "<printed>")
        for path, node in _paths(program, ""):
            *_, (reached, _, _) = steps(program, path)
            assert reached is node
            span = text.span(path)
            assert span is not None
            if isinstance(node, Stmt) and path.count(".") and type(node).__name__ not in ("For", "If"):
                inside = [text.span(f"{path}.{name}") for name, many in shape_of(type(node)).children if many == 0]
                assert all(one is None or one.start_line >= span.start_line for one in inside)


def test_a_variable_is_marked_where_it_is_used() -> None:
    """The node of a variable knows the place of its definition only."""
    text = "from tirscript.script import tir as T\n\n\n@T.prim_func\ndef f(A: T.Buffer((4, 4), 'int32'), n: T.int32):\n"
    read = read_text(f"{text}    A[n, n] = n\n", "<text>")
    columns = [read.span(path) for path in ("body[0].indices[0]", "body[0].indices[1]", "body[0].value")]
    assert [span.column for span in columns if span is not None] == [6, 9, 14]


def test_programs_that_the_verifier_refuses_have_places() -> None:
    text = "from tirscript.script import tir as T\n\n\n@T.prim_func(check_well_formed=False)\ndef f(A: T.Buffer((4,), 'int32')):\n"
    func: Any = parse(f"{text}    for i in range(4):\n        with T.block('b'):\n            A[9] = 1\n")
    program = func.replace(check_well_formed=True)
    with pytest.raises(DiagnosticError):
        parse(program.script())
    span = printed_text(program, "<printed>").span("body[0].body[0].body[0].indices[0]")
    assert span is not None and (span.text, span.line) == ("9", 8)
    assert "check_well_formed" not in span.source.text


def test_what_cannot_be_read_has_none() -> None:
    free = Buffer(name="free", shape=(const(4),))
    func = PrimFunc("f", (), (Evaluate(BufferLoad(free, (const(0),))),))
    with pytest.raises(DiagnosticError, match="free"):
        printed_text(func, "<printed>")
    assert len(list(children(func))) == 1
    assert isinstance(printed_text(func.replace(body=()), "<printed>"), Text)
