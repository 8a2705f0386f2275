"""The verifier on text: what is wrong, where exactly, and what it leaves alone."""

from __future__ import annotations

import pytest

from tests.helpers.script import HEADER, PARAMS
from tirscript.ir import Diagnostic, DiagnosticError, check_well_formed, verify
from tirscript.script import parse


def text_of(body: str, params: str = PARAMS, returns: str = "") -> str:
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return f"{HEADER}@T.prim_func(check_well_formed=False)\ndef f({params}){returns}:\n{lines}\n"


def found(body: str, params: str = PARAMS, returns: str = "") -> list[Diagnostic]:
    return verify(parse(text_of(body, params, returns)))


WRONG = [
    # block bindings
    (
        'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n        A[vi] = 0.0',
        "T203",
        "vi = T.axis.spatial(8, i)",
        "the axis `vi` takes 0 to 7, but `i` goes from 0 to 15",
    ),
    (
        'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 0.0',
        "T203",
        "vi = T.axis.spatial(16, i)",
        "the axis `vi` takes 0 to 15, but `i` only goes from 0 to 7",
    ),
    (
        'for i in range(1, 17):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 0.0',
        "T203",
        "vi = T.axis.spatial(16, i)",
        "the axis `vi` takes 0 to 15, but `i` goes from 1 to 16",
    ),
    (
        'for i, j in T.grid(4, 5):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i * 4 + j)\n        A[vi] = 0.0',
        "T203",
        "vi = T.axis.spatial(16, i * 4 + j)",
        "the axis `vi` takes 0 to 15, but its value goes from 0 to 16",
    ),
    (
        'for i in range(40):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i // 2)\n        A[vi] = 0.0',
        "T203",
        "vi = T.axis.spatial(16, i // 2)",
        "its value goes from 0 to 19",
    ),
    (
        'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(16, 16 - i)\n        A[vi] = 0.0',
        "T203",
        "vi = T.axis.spatial(16, 16 - i)",
        "its value goes from 1 to 16",
    ),
    (
        'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.reduce(16, i)\n        T.writes(B[0, 0])\n'
        "        with T.init():\n            A[0] = 0.0\n        B[0, 0] = A[vi]",
        "T203",
        "A[0] = 0.0",
        "the `T.init` of the block `b` writes `A`, which is not in its `T.writes`",
    ),
    (
        'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[i] = 0.0',
        "T203",
        "i",
        "the block `b` uses the variable `i` of a loop around it",
    ),
    (
        'for i in range(20):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i % 32)\n        A[vi] = 0.0',
        "T203",
        "vi = T.axis.spatial(16, i % 32)",
        "the axis `vi` takes 0 to 15, but its value goes from 0 to 19",
    ),
    # scopes, writes and races
    ('x = T.alloc_buffer((4,), "float32")\nA[0] = x[0]', "T208", "x[0]", "`x` is read but never written"),
    ("s: T.float32\nA[0] = s", "T208", "s", "`s` is read but never written"),
    (
        "s: T.float32 = 0.0\nfor i in T.parallel(16):\n    s = s + A[i]\nA[0] = s",
        "T209",
        "s = s + A[i]",
        "the parallel loop over `i` races on the scalar `s`",
    ),
    (
        "for i in T.parallel(16):\n    for j in range(4):\n        if A[i] > 0.0:\n            break\n    if A[i] > 1.0:\n        break",
        "T022",
        "break",
        "`break` in a parallel loop",
    ),
    ('x = T.alloc_buffer((4,), "float32", scope="sharde")\nx[0] = 1.0', "T205", "x", 'the unknown scope "sharde"'),
]


@pytest.mark.parametrize(
    ("body", "code", "text", "message"), WRONG, ids=[f"{case[1]}-{case[3][:40]}" for case in WRONG]
)
def test_wrong(body: str, code: str, text: str, message: str) -> None:
    diagnostics = found(body)
    assert [each.code for each in diagnostics] == [code], [str(each) for each in diagnostics]
    (each,) = diagnostics
    assert message in each.message
    assert each.span is not None
    assert each.span.text == text


RIGHT = {
    "exact tiles": 'for i, j in T.grid(4, 4):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i * 4 + j)\n        A[vi] = 0.0',
    "predicate": 'for i, j in T.grid(4, 5):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i * 5 + j)\n        T.where(i * 5 + j < 16)\n        A[vi] = 0.0',
    "predicate on a plain loop": 'for i in range(20):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        T.where(i < 16)\n        A[vi] = 0.0',
    "condition": 'for i in range(20):\n    if i < 16:\n        with T.block("b"):\n            vi = T.axis.spatial(16, i)\n            A[vi] = 0.0',
    "early exit": 'for i in range(20):\n    if i >= 16:\n        break\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 0.0',
    "skipped": 'for i in range(20):\n    if i >= 16:\n        continue\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 0.0',
    "symbolic loop": 'for i in range(n):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 0.0',
    "symbolic axis": 'for i in range(20):\n    with T.block("b"):\n        vi = T.axis.spatial(n, i)\n        A[vi] = 0.0',
    "wrapped": 'for i in range(40):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i % 16)\n        A[vi] = 0.0',
    "correlated": 'for i in range(40):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i - i)\n        A[vi] = 0.0',
    "remainders reached or not": 'for i in range(5):\n    with T.block("b"):\n        vi = T.axis.spatial(13, i * 4 % 16)\n        A[vi] = 0.0',
    "offset": 'for i in range(1, 15):\n    with T.block("b"):\n        vi = T.axis.spatial((1, 15), i)\n        A[vi] = 0.0',
    "empty loop": 'for i in range(0):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 0.0',
    "opaque part": 'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.opaque(16, i)\n        A[vi] = 0.0',
    "part through an expression": 'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i * 2)\n        A[vi] = 0.0',
    "minimum": 'for i in range(40):\n    with T.block("b"):\n        vi = T.axis.spatial(16, T.min(i, 15))\n        A[vi] = 0.0',
    "nested blocks": 'for i in range(4):\n    with T.block("outer"):\n        vi = T.axis.spatial(4, i)\n        for j in range(4):\n            with T.block("inner"):\n'
    "                vo = T.axis.spatial(4, vi)\n                vj = T.axis.spatial(4, j)\n                A[vo * 4 + vj] = 0.0",
    "opaque block sees loops": 'for i in range(16):\n    with T.block("b"):\n        A[i] = 0.0',
    "two axes of one loop, as on a diagonal": 'for i in range(4):\n    with T.block("b"):\n        vi, vj = T.axis.remap("SS", [i, i])\n        B[vi, vj] = 0.0',
    "an init without a reduction": 'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        with T.init():\n            A[vi] = 0.0\n        A[vi] = A[vi] + 1.0',
    "two axes of one iteration": 'for i in range(1):\n    with T.block("b"):\n        vi, vj = T.axis.remap("SS", [i, i])\n        B[vi, vj] = 0.0',
    "reduction": 'for i, k in T.grid(4, 4):\n    with T.block("b"):\n        vi, vk = T.axis.remap("SR", [i, k])\n        T.reads(B[vi, vk])\n        T.writes(A[vi])\n'
    "        with T.init():\n            A[vi] = 0.0\n        A[vi] = A[vi] + B[vi, vk]",
    "parallel, scalar inside": "for i in T.parallel(16):\n    s: T.float32 = 0.0\n    s = s + A[i]\n    A[i] = s",
    "serial, scalar outside": "s: T.float32 = 0.0\nfor i in range(16):\n    s = s + A[i]\nA[0] = s",
    "parallel reads a scalar": "s: T.float32 = 0.0\ns = s + 1.0\nfor i in T.parallel(16):\n    A[i] = s",
    "break of a loop in a parallel one": "for i in T.parallel(16):\n    for j in range(4):\n        if A[i] > 0.0:\n            break\n        A[i] = 1.0",
    "written by a call": 'x = T.alloc_buffer((4,), "float32")\nT.evaluate(T.call_extern("int32", "fill", x.data))\nA[0] = x[0]',
    "written through an address": 'x = T.alloc_buffer((4,), "float32")\nT.evaluate(T.call_extern("int32", "fill", T.address_of(x[0])))\nA[0] = x[0]',
    "written later": 'x = T.alloc_buffer((4,), "float32")\nfor i in range(4):\n    if i > 0:\n        A[i] = x[i - 1]\n    x[i] = A[i]',
    "read of a scope of the target": 'x = T.alloc_buffer((4,), "float32", scope="wmma.accumulator")\nx[0] = 1.0\nA[0] = x[0]',
    "undef stored": 'A[0] = T.undef("float32")',
    "undef index not taken": 'A[T.if_then_else(n > 0, n, T.undef("int32"))] = 0.0',
    "empty buffer": 'x = T.alloc_buffer((0,), "float32")\nfor i in range(0):\n    x[i] = 0.0',
    "memory of a block in its init": 'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.reduce(16, i)\n        s = T.alloc_buffer((1,), "float32")\n'
    "        with T.init():\n            s[0] = 0.0\n        s[0] = s[0] + A[vi]",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    assert [str(each) for each in found(RIGHT[name])] == []


def test_symbols() -> None:
    bound = 'A: T.Buffer(("n", "n * 2"), "float32")'
    assert found("A[0, 0] = 0.0", bound) == []
    assert found("A[0] = 0.0", 'A: T.Buffer(("n * 2",), "float32"), n: T.int64') == []
    assert found("A[0] = 0.0", 'n: T.int64, A: T.Buffer(("n * 2",), "float32")') == []


def test_bare_return_and_values() -> None:
    (bare,) = found("if n > 0:\n    return\nreturn n", returns=" -> T.int32")
    assert (bare.code, bare.span.text) == ("T204", "return")
    assert "`f` returns int32, but this `return` has no value" in bare.message
    assert found("if n > 0:\n    return 1\nreturn n", returns=" -> T.int32") == []
    assert found("if n > 0:\n    return\nA[0] = 0.0") == []


def test_all_problems_in_source_order() -> None:
    body = (
        'x = T.alloc_buffer((4,), "float32")\n'
        'for i in range(8):\n    with T.block("one"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = x[0]\n'
        'for i in range(17):\n    with T.block("two"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 0.0'
    )
    diagnostics = found(body)
    assert [each.code for each in diagnostics] == ["T203", "T208", "T203"]
    lines = [each.span.line for each in diagnostics]
    assert lines == sorted(lines)


def test_rendered() -> None:
    (each,) = found(
        "s: T.float32 = 0.0\nfor i in T.parallel(16):\n    s = s + A[i]\nA[0] = s", 'A: T.Buffer((16,), "float32")'
    )
    assert each.render() == (
        "error[T209]: the parallel loop over `i` races on the scalar `s`\n"
        " --> <text>:8:9\n"
        "  |\n"
        "8 |         s = s + A[i]\n"
        "  |         ^^^^^^^^^^^^\n"
        "  = note: `s` is declared here\n"
        " ::: <text>:6:5\n"
        "  |\n"
        "6 |     s: T.float32 = 0.0\n"
        "  |     ^\n"
        "  = note: the iterations of `i` run at once\n"
        " ::: <text>:7:5\n"
        "  |\n"
        "7 |     for i in T.parallel(16):\n"
        "  |     ^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  |\n"
        "  = help: declare `s` inside of the loop, or make the loop serial"
    )


MODULE = """
@I.ir_module
class M:
    @T.prim_func{option}
    def g(A: T.Buffer((4,), "float32"), n: T.int32):
        A[0] = T.float32(n)

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((5,), "float32"), C: T.Buffer((4,), "int32")):
        M.g({args})
"""


def module_text(args: str, option: str = "") -> str:
    return HEADER + MODULE.format(args=args, option=option)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("A", "`g` takes 2 arguments, not 1"),
        ("B, 1", "argument `A` of `g` is 4 long in dimension 0, but `B` is 5"),
        ("C, 1", "argument `A` of `g` is a buffer of float32, but `C` is one of int32"),
    ],
)
def test_calls_between_functions(args: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(module_text(args))
    assert message in str(caught.value)


def test_right_calls_between_functions() -> None:
    for args in ("A, 1", "B[0:4], 1"):
        check_well_formed(parse(module_text(args)))


def test_functions_may_opt_out() -> None:
    text = module_text("A, 1", "(check_well_formed=False)").replace(
        "A[0] = T.float32(n)", "s: T.float32\n        A[0] = s"
    )
    module = parse(text)
    check_well_formed(module)
    assert [each.code for each in verify(module)] == ["T208"]
    check_well_formed(module["g"])
    assert [each.code for each in verify(module["g"])] == ["T208"]


def test_a_vector_may_run_on_into_the_next_rows_of_a_buffer() -> None:
    from helpers.script import function, one_mistake

    assert function("B[0, 0:16] = T.broadcast(1.0, 16)").body
    assert one_mistake("B[0, 0:32] = T.broadcast(1.0, 32)").code == "T113"
