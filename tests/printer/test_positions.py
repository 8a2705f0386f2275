"""Where nodes stand in printed text."""

from __future__ import annotations

import ast
import itertools

import pytest
from hypothesis import given, settings

from tirscript import ir
from tirscript.ir.dtype import INT32
from tirscript.ir.op import OPS
from tirscript.passes import DEFAULT_LOWERING
from tirscript.printer import script
from tirscript.printer.positions import print_with_positions
from tirscript.script import parse
from tirscript.testing import examples, programs

KERNELS = {example.name: example.kernel for example in examples()}


def check(node, **options):
    """All that holds of the positions of any program; the stretches by what is at them."""
    text, stretches = print_with_positions(node, **options)
    assert text == script(node, **options)
    ends = []
    for one in stretches:
        piece = text[one.start : one.end]
        assert piece and (piece == piece.strip() or type(one.node) is ir.Module), one
        assert piece.count("(") == piece.count(")") or '"' in piece or "'" in piece or "#" in piece, piece
        while ends and ends[-1] <= one.start:
            ends.pop()
        assert not ends or one.end <= ends[-1], "stretches overlap"
        ends.append(one.end)
    return text, stretches


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("width", [100, 40])
def test_examples(name, width):
    check(KERNELS[name], width=width)
    check(DEFAULT_LOWERING(KERNELS[name]), width=width)


@given(programs())
@settings(max_examples=60, deadline=None)
def test_random_programs(func):
    check(func)
    check(func, width=60, dialect="tirscript")


@given(programs())
@settings(max_examples=30, deadline=None)
def test_every_use_of_a_name_is_found(func):
    """Wherever Python sees a name of a variable or buffer, there is a stretch of it."""
    text, stretches = check(func)
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    places = {(one.start, one.end) for one in stretches if isinstance(one.node, (ir.Var, ir.Buffer))}
    names = {text[start:end] for start, end in places}
    for node in ast.walk(ast.parse(text)):
        name = {ast.Name: "id", ast.arg: "arg"}.get(type(node))
        if name is not None and getattr(node, name) in names:
            line = text[starts[node.lineno - 1] :].split("\n", 1)[0]
            start = starts[node.lineno - 1] + len(line.encode()[: node.col_offset].decode())
            assert (start, start + len(getattr(node, name))) in places


def stretches_of(source, **options):
    text, stretches = check(parse(source), **options)
    return {(type(one.node).__name__, text[one.start : one.end], one.definition) for one in stretches}


HEAD = "from tirscript.script import tir as T\n\n\n@T.prim_func\n"


def test_what_stands_where():
    found = stretches_of(
        HEAD
        + """def f(A: T.Buffer((4, 4), "int32"), n: T.int32):
    for i, j in T.grid(4, 4):  # each (one, by one
        # "before
        A[i, j] = (A[i, j] + n) * 2  # $5? and (
    T.print("$0? ($?", n)
"""
    )
    for name in ("A", "n"):
        kind = "Buffer" if name == "A" else "Var"
        assert {(kind, name, True), (kind, name, False)} <= found
    assert {("Var", "i", True), ("Var", "i", False), ("BufferLoad", "A[i, j]", False)} <= found
    assert ("Call", "(A[i, j] + n)", False) in found
    assert ("Call", "(A[i, j] + n) * 2", False) in found
    assert ("Const", "2", False) in found
    assert ("BufferStore", "A[i, j] = (A[i, j] + n) * 2", False) in found
    assert ("StringImm", '"$0? ($?"', False) in found
    assert ("Const", "4", False) in found
    assert {name for name, *_ in found} >= {"PrimFunc", "For", "Evaluate"}


def test_lines_that_were_laid_out():
    found = stretches_of(
        HEAD
        + """def f(A: T.Buffer((4,), "int32"), much_longer: T.int32):
    A[0] = (A[1] + much_longer) * much_longer + much_longer
    A[1] = T.max(A[2] * much_longer, A[3] * much_longer)
""",
        width=40,
    )
    assert ("Call", "(\n        A[1] + much_longer\n    ) * much_longer", False) in found
    assert ("Call", "(\n        A[1] + much_longer\n    )", False) in found
    assert ("Call", "A[2] * much_longer", False) in found
    assert ("Call", "T.max(\n        A[2] * much_longer,\n        A[3] * much_longer,\n    )", False) in found


def test_symbols_that_are_declared_outside():
    source = HEAD.replace("@T", "n = T.int32()\n\n\n@T") + "def f(A: T.Buffer((n,), 'int32')):\n    A[0] = n\n"
    func = parse(source)
    for program in (func, ir.Module(functions=(func,), name="M")):
        text, stretches = check(program)
        found = [one for one in stretches if type(one.node) is ir.Var]
        assert [one.definition for one in found] == [True, False, False]
        assert text[found[0].start :].startswith("n = T.int32()")


def test_constants_with_a_sign():
    found = stretches_of(
        HEAD
        + """def f(A: T.Buffer((4,), "float32")):
    A[0] = T.float32(-2.5) ** A[1] + A[2] * -1.5
    A[1] = (-2.5) ** A[1]
"""
    )
    assert {("Call", "(-2.5) ** A[1]", False), ("Const", "-2.5", False), ("Const", "-1.5", False)} <= found
    assert ("Call", "A[2] * -1.5", False) in found


def test_dimensions_in_strings():
    found = stretches_of(HEAD + 'def f(a: T.int64, A: T.Buffer(("n", "n + a"), "int32")):\n    A[0, a] = 1\n')
    assert {("Call", "n + a", False), ("Var", "n", True), ("Var", "n", False), ("Var", "a", True)} <= found


def test_functions_of_a_module():
    source = """from tirscript.script import ir as I, tir as T


@I.ir_module
class M:
    @T.prim_func
    def f(A: T.Buffer((4,), "int32")):
        A[0] = 1

    @T.prim_func
    def g(A: T.Buffer((4,), "int32")):
        M.f(A)
"""
    text, stretches = check(parse(source))
    assert [text[one.start : one.end].split("\n")[1].strip() for one in stretches if type(one.node) is ir.PrimFunc] == [
        'def f(A: T.Buffer((4,), "int32")):',
        'def g(A: T.Buffer((4,), "int32")):',
    ]
    assert stretches[0].node.name == "M" and stretches[0].end == len(text)


@pytest.mark.parametrize("depth", [160, 420])
def test_what_is_too_deep_for_one_line(depth):
    a = ir.Var(name="a", dtype=INT32)
    total = a
    for _ in range(depth):
        total = ir.Call(op=OPS["max"], args=(a, total * 2), dtype=INT32)
    func = ir.PrimFunc(name="f", params=(a,), body=(ir.Evaluate(value=total),))
    text, stretches = print_with_positions(func)
    assert text == script(func) and "deep_1" in text
    assert len([one for one in stretches if one.node is a and not one.definition]) == depth + 1
    for one in stretches:
        piece = text[one.start : one.end]
        assert piece == "a" if one.node is a else piece.count("(") == piece.count(")")


def test_other_dialects_and_pieces():
    kernel = KERNELS["matmul"]
    check(kernel, dialect="tvm")
    check(kernel.body)
    check(kernel.params[0])
    check(kernel, fragment=True)
    check(kernel, header=False)


@pytest.mark.parametrize("constants", ["elide", "inline", "file"])
def test_constants(constants, tmp_path):
    import numpy as np

    source = (
        HEAD
        + "def f(A: T.Buffer((64,), 'float32')):\n    K = T.allocate_const(DATA, 'float32', (64,))\n    A[0] = K[0]\n"
    )
    literal = repr([float(number) for number in np.arange(64)])
    func = parse(source.replace("DATA", literal))
    options = {"constants": constants} | (
        {"constants_file": tmp_path / "data.safetensors"} if constants == "file" else {}
    )
    text, stretches = check(func, **options)
    assert {text[one.start : one.end] for one in stretches if isinstance(one.node, ir.Buffer)} == {"A", "K"}
