"""What is allowed and probably not meant."""

from __future__ import annotations

import pytest
from helpers.script import function, mistakes, one_mistake

from tirscript.ir import Diagnostic
from tirscript.ir.verify import warnings


def block(*lines: str, loops: str = "for i, j in T.grid(4, 4):") -> str:
    """A block in two loops."""
    return f'{loops}\n    with T.block("b"):\n' + "".join(f"        {line}\n" for line in lines)


def one_warning(body: str) -> Diagnostic:
    found = warnings(function(body))
    assert len(found) == 1, [str(each) for each in found]
    assert found[0].severity == "warning" and found[0].render().startswith(f"warning[{found[0].code}]: ")
    return found[0]


@pytest.mark.parametrize(
    ("body", "code", "text", "message", "hint"),
    [
        (
            block('vi, vj = T.axis.remap("SS", [i, j])', "B[vi, 0] = 1.0"),
            "T211",
            'vi, vj = T.axis.remap("SS", [i, j])',
            "the axis `vj` of the block `b` is never used",
            "index with `vj`",
        ),
        (
            block("vi = T.axis.spatial(4, j)", "vj = T.axis.spatial(4, i)", "B[vi, vj] = 1.0"),
            "T212",
            "vi = T.axis.spatial(4, j)",
            "`vi` is bound to `j`, and `vj` to `i`",
            "exchange the loops",
        ),
        (
            block("vi = T.axis.spatial(4, i)", "vk = T.axis.spatial(4, i)", "B[vi, vk] = 1.0"),
            "T212",
            "vk = T.axis.spatial(4, i)",
            "the axes `vi` and `vk` are both bound to `i`",
            "a loop of its own",
        ),
        (
            block("vi = T.axis.spatial(4, i)", "with T.init():", "    A[vi] = 0.0", "A[vi] = A[vi] + 1.0"),
            "T212",
            "A[vi] = 0.0",
            "a `T.init` but no reduce axis",
            "T.axis.reduce",
        ),
        (
            block('vi, vk = T.axis.remap("SS", [i, j])', "A[vi] += B[vi, vk]"),
            "T212",
            'vi, vk = T.axis.remap("SS", [i, j])',
            "all iterations of the spatial axis `vk` of the block `b` go on from the same element of `A`",
            "make `vk` an axis `T.axis.reduce`",
        ),
        (
            block(
                "vi = T.axis.reduce(4, i)",
                "vk = T.axis.reduce(4, j)",
                "with T.init():",
                "    A[vi] = 0.0",
                "A[vi] += B[vi, vk]",
            ),
            "T212",
            "A[vi] = 0.0",
            "in the first iteration of its reduce axis `vi` alone",
            "make it spatial",
        ),
        (
            "for i in T.parallel(4):\n    A[0] = A[0] + B[i, 0]",
            "T209",
            "A[0] = A[0] + B[i, 0]",
            "adds to the same element of `A`",
            "index with `i`",
        ),
        ("for i in T.parallel(4):\n    A[0] = B[i, 0]", "T209", "A[0] = B[i, 0]", "writes the same element", "serial"),
    ],
)
def test_warning(body: str, code: str, text: str, message: str, hint: str) -> None:
    found = one_warning(body)
    assert (found.code, found.span and found.span.text) == (code, text), str(found)
    assert message in found.message and hint in (found.hint or ""), str(found)


@pytest.mark.parametrize(
    "body",
    [
        block('vi, vj = T.axis.remap("SS", [i, j])', "B[vi, vj] = 1.0"),
        block('vi, vj = T.axis.remap("SR", [i, j])', "with T.init():", "    A[vi] = 0.0", "A[vi] += B[vi, vj]"),
        block("vi = T.axis.spatial(4, i)", "vo = T.axis.spatial(1, 0)", "A[vi] = 1.0"),
        block("vi = T.axis.spatial(4, i)", "vo = T.axis.spatial(1, 0)", "A[vi] += 1.0"),
        block('vi, vj = T.axis.remap("SS", [i, j])', "x = vi + vj", "A[x] += 1.0"),
        block('vi, vj = T.axis.remap("SS", [i, j])', "A[vi] = A[vj] + 1.0"),
        block('vi, vj = T.axis.remap("SS", [i, j])', "T.where(vj < 2)", "A[vi] = 1.0"),
        block('vi, vj = T.axis.remap("SS", [i, j])', 'T.block_attr({"at": vj})', "A[vi] = 1.0"),
        block(
            'vi, vj = T.axis.remap("SS", [i, j])',
            "T.reads(B[vi, 0])",
            "T.writes(A[vj])",
            'T.evaluate(T.call_extern("int32", "f"))',
        ),
        block("vi = T.axis.spatial(4, j)", "A[vi] = 1.0"),
        "for i in T.parallel(4):\n    A[i] = 1.0",
        'for i in T.parallel(4):\n    C = T.alloc_buffer((1,), "float32")\n    C[0] = A[i]\n    A[i] = C[0]',
        "for i in range(4):\n    A[0] = A[0] + 1.0",
    ],
)
def test_no_warning(body: str) -> None:
    assert warnings(function(body)) == []


def test_warnings_of_a_function_are_in_source_order() -> None:
    two = block('vi, vj = T.axis.remap("SS", [i, j])', "A[0] = 1.0")
    assert [found.message.split("`")[1] for found in warnings(function(two))] == ["vi", "vj"]


# what TVM lets pass: body, code, the underlined text, a part of the message, the text that the note underlines
@pytest.mark.parametrize(
    ("body", "code", "text", "message", "note"),
    [
        ("A[16] = 1.0", "T113", "16", "index 16 is outside of dimension 0 of `A`", "A: T.Buffer"),
        ("A[0] = B[1, -1]", "T113", "-1", "index -1 is outside of dimension 1 of `B`", "B: T.Buffer"),
        ("X[0] = A[0]", "T110", "A[0]", "the value is float32, but its place holds int32", "X: T.Buffer"),
        ("X[0] = 1.5", "T110", "1.5", "the float 1.5", "X: T.Buffer"),
        ("X[n] = X[0] + A[1]", "T110", "X[0] + A[1]", "float32", "X: T.Buffer"),
        (
            'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[vi] = 1.0\nA[vi] = 2.0',
            "T011",
            "vi",
            "outside of the scope",
            "vi",
        ),
        (
            'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        A[i] = 1.0',
            "T203",
            "i",
            "the block `b` uses the variable `i` of a loop around it",
            "for i in range(16):",
        ),
        ('C = T.alloc_buffer((4,), "float32")\nA[0] = C[1]', "T208", "C[1]", "`C` is read but never written", "C"),
        ("B[0] = 1.0", "T111", "B[0]", "2 dimensions, but 1 index", "B: T.Buffer"),
        ("A[0] = B[0][1]", "T111", "B[0]", "2 dimensions, but 1 index", "B: T.Buffer"),
        (
            'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(i, 16)\n        A[vi] = 1.0',
            "T203",
            "vi = T.axis.spatial(i, 16)",
            "has the loop `i` as its domain and 16 as its value",
            "for i in range(16):",
        ),
        (
            'for i, j in T.grid(4, 8):\n    with T.block("b"):\n        vi = T.axis.spatial(4, j)\n        A[vi] = 1.0',
            "T203",
            "vi = T.axis.spatial(4, j)",
            "the axis `vi` takes 0 to 3, but `j` goes from 0 to 7",
            "for i, j in T.grid(4, 8):",
        ),
        (
            "x: T.float32 = 0.0\nfor i in T.parallel(4):\n    x = x + A[i]\nA[0] = x",
            "T209",
            "x = x + A[i]",
            "races on the scalar `x`",
            "x",
        ),
        (
            'C = T.match_buffer(A[0:4], (4,), "int32")\nC[0] = 1',
            "T204",
            "A[0:4]",
            "`C` is int32, but it matches a region of `A`, which is float32",
            "A: T.Buffer",
        ),
    ],
)
def test_what_tvm_lets_pass_is_caught(body: str, code: str, text: str, message: str, note: str) -> None:
    found = one_mistake(body)
    assert found.span is not None
    assert (found.code, found.span.text) == (code, text), str(found)
    assert message in found.message, str(found)
    assert found.labels[1].span.text.startswith(note), str(found)


def test_several_findings_of_one_function() -> None:
    body = 'C = T.alloc_buffer((4,), "float32")\nA[16] = C[0]\nfor i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n        A[vi] = 1.0\nA[-1] = 1.0'
    assert [found.code for found in mistakes(body)] == ["T113", "T208", "T203", "T113"]
