"""Conversions that text in TVM's dialect leaves out: each is read as the program of ours that writes them.

What TVM makes of every pair of dtypes is compared with apache-tvm itself in tests/interop.
"""

from __future__ import annotations

import pytest
from helpers.script import HEADER, body_text

from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import parse

KINDS = ("bool", "int8", "int32", "int64", "uint8", "uint32", "float16", "bfloat16", "float32", "float64")
PARAMS = ", ".join(f'{kind}: T.Buffer((4,), "{kind}")' for kind in KINDS)
SAME = [
    ("int64[0] = int32[1] + int64[1]", 'int64[0] = T.cast(int32[1], "int64") + int64[1]'),
    ("uint8[0] = int8[1] + uint8[1]", 'uint8[0] = T.cast(int8[1], "uint8") + uint8[1]'),
    ("int64[0] = uint32[1] - int64[1]", 'int64[0] = T.cast(uint32[1], "int64") - int64[1]'),
    ("int32[0] = bool[1] + int32[1]", 'int32[0] = T.cast(bool[1], "int32") + int32[1]'),
    ("float16[0] = int64[1] * float16[1]", 'float16[0] = T.cast(int64[1], "float16") * float16[1]'),
    ("float16[0] = bfloat16[1] * float16[1]", 'float16[0] = T.cast(bfloat16[1], "float16") * float16[1]'),
    ("float32[0] = float16[1] + float32[1]", 'float32[0] = T.cast(float16[1], "float32") + float32[1]'),
    ("int32[0] = int8[1] + 1", 'int32[0] = T.cast(int8[1], "int32") + 1'),
    ("int64[0] = int32[1] + 300000000000", 'int64[0] = T.cast(int32[1], "int64") + 300000000000'),
    ("float32[0] = float16[1] * 1.5", 'float32[0] = T.cast(float16[1], "float32") * 1.5'),
    ("float64[0] = float64[1] * 1.5", "float64[0] = float64[1] * 1.5"),
    ("bool[0] = int8[1] == 1", "bool[0] = int8[1] == T.int8(1)"),
    ("bool[0] = 1 < int8[1]", "bool[0] = T.int8(1) < int8[1]"),
    ("bool[0] = int8[1] < 1", 'bool[0] = T.cast(int8[1], "int32") < 1'),
    ("int8[0] = int8[1] & 1", "int8[0] = int8[1] & T.int8(1)"),
    ("int8[0] = int8[1] - True", "int8[0] = int8[1] - T.int8(1)"),
    ("uint8[0] = uint8[1] / uint8[2]", "uint8[0] = T.truncdiv(uint8[1], uint8[2])"),
    ("uint8[0] = uint8[1] / int8[2]", 'uint8[0] = T.truncdiv(uint8[1], T.cast(int8[2], "uint8"))'),
    ("uint8[0] = uint8[1] / 3", 'uint8[0] = T.cast(T.truncdiv(T.cast(uint8[1], "int32"), 3), "uint8")'),
    ("int32[0] = int32[1] / uint8[2]", 'int32[0] = T.truncdiv(int32[1], T.cast(uint8[2], "int32"))'),
    ("float16[0] = T.pow(int8[1], float16[1])", 'float16[0] = T.cast(int8[1], "float16") ** float16[1]'),
    ("float64[0] = T.pow(float64[1], int32[1])", 'float64[0] = float64[1] ** T.cast(int32[1], "float64")'),
    ("float32[0] = T.pow(int8[1], int32[1])", 'float32[0] = T.cast(int8[1], "float32") ** T.cast(int32[1], "float32")'),
    ("float32[0] = T.max(float16[1], float32[1])", 'float32[0] = T.max(T.cast(float16[1], "float32"), float32[1])'),
    ("int64[0] = T.if_then_else(bool[0], int32[1], int64[1])",
     'int64[0] = T.if_then_else(bool[0], T.cast(int32[1], "int64"), int64[1])'),
    ("bool[0] = bool[1] < bool[2]", 'bool[0] = T.cast(bool[1], "int8") < T.cast(bool[2], "int8")'),
    ("bool[0:4] = bool[0:4] >= bool[0:4]",
     'bool[0:4] = T.cast(bool[0:4], "int8x4") >= T.cast(bool[0:4], "int8x4")'),
    ("bool[0] = bool[1] + bool[2] - bool[3]", "bool[0] = bool[1] ^ bool[2] ^ bool[3]"),
    ("bool[0] = bool[1] * bool[2]", "bool[0] = bool[1] & bool[2]"),
    ("bool[0] = T.max(T.min(bool[1], bool[2]), bool[3])", "bool[0] = bool[1] & bool[2] | bool[3]"),
    ("int32[0] = T.floor(int32[1])", "int32[0] = int32[1]"),
    ("int8[0] = int64[1]", 'int8[0] = T.cast(int64[1], "int8")'),
    ("int8[0] = float32[1]", 'int8[0] = T.cast(float32[1], "int8")'),
    ("int8[0] = T.float32(3.75)", "int8[0] = 3"),
    ("float32[0] = float64[1]", 'float32[0] = T.cast(float64[1], "float32")'),
    ("bool[0] = int32[1]", 'bool[0] = T.cast(int32[1], "bool")'),
    ("float32[0:4] = 1", "float32[0:4] = T.broadcast(1.0, 4)"),
    ("float32[0:4] = int32[0:4]", 'float32[0:4] = T.cast(int32[0:4], "float32x4")'),
    ('int8[0] = T.Cast("int8", 0)', 'int8[0] = T.cast(T.int32(0), "int8")'),
    ("int64[0] = T.IntImm(\"int64\", 3)", "int64[0] = 3"),
    ("float64[0] = T.FloatImm(\"float64\", 1e300)", "float64[0] = 1e300"),
    ("if int32[0]:\n    int8[0] = 1", "if int32[0] != 0:\n    int8[0] = 1"),
    ("while int32[0]:\n    int32[0] -= 1", "while int32[0] != 0:\n    int32[0] = int32[0] - 1"),
    ("for i in range(int32[0], int64[0]):\n    int64[0] = i",
     'for i in range(T.cast(int32[0], "int64"), int64[0]):\n    int64[0] = i'),
    ("x: T.int8 = int32[0]\nx = int64[0]", 'x: T.int8 = T.cast(int32[0], "int8")\nx = T.cast(int64[0], "int8")'),
    ('T.attr({"a": 1, "b": "c"})\nint8[0] = 1', 'with T.attr(0, "a", 1):\n    with T.attr(0, "b", "c"):\n        int8[0] = 1'),
    ('with T.attr({"a": 1}):\n    int8[0] = 1', 'with T.attr(0, "a", 1):\n    int8[0] = 1'),
    ("float32[0] = T.exp(int32[0])", 'float32[0] = T.exp(T.cast(int32[0], "float32"))'),
    ("T.exp(float32[0])", "T.evaluate(T.exp(float32[0]))"),
    ("float32[0] + 1.0", "T.evaluate(float32[0] + 1.0)"),
    ("float32[0] = T.truncmod(float32[1], float32[2])", "float32[0] = T.truncmod(float32[1], float32[2])"),
]  # fmt: skip


def theirs(body: str) -> str:
    return body_text(body, PARAMS).removeprefix(HEADER).replace("@T.prim_func", "@T.prim_func(s_tir=True)")


@pytest.mark.parametrize(("body", "ours"), SAME, ids=[body for body, _ in SAME])
def test_conversions(body: str, ours: str) -> None:
    assert structural_equal(parse(theirs(body)), parse(body_text(ours, PARAMS)))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("int8[0] = 300", "300 does not fit int8"),
        ("int32[0] = int32[1] / int32[2]", "takes floats"),
        ("bool[0] = bool[1] // bool[2]", "takes numbers, not bool"),
        ("float32[0] = float32[1] & 1", "takes integers"),
    ],
)
def test_what_tvm_refuses_too(body: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        parse(theirs(body))


@pytest.mark.parametrize(
    "head",
    [
        "from tvm.script import tirx as T\n\n@T.prim_func",
        "from tvm.script import tir as T\n\n@T.prim_func",
        "# from tvm.script import tirx as T\n\n@T.prim_func",
        "@T.prim_func(s_tir=True)",
        "import tvm\nfrom tvm.script import ir as I, tirx as T\n\n@T.prim_func(private=True)",
    ],
)
def test_the_dialect_is_known_by_its_head(head: str) -> None:
    text = f'{head}\ndef f(A: T.Buffer((4,), "int8"), n: T.int32):\n    A[0] = n\n'
    made = parse(text)
    assert "A[0] = T.cast(n, " in made.script().replace("T.int8(n)", 'T.cast(n, "int8")')
    assert "tvm" not in made.script()


def test_the_dialect_is_known_by_its_words() -> None:
    made = parse(
        '@T.prim_func\ndef f(A: T.Buffer((4,), "int8"), n: T.int32):\n    with T.sblock("b"):\n        A[0] = n\n'
    )
    assert structural_equal(parse(made.script()), made)


def test_our_own_dialect_stays_strict() -> None:
    for head in ("@T.prim_func", "from tirscript.script import tir as T  # not tvm\n\n@T.prim_func"):
        with pytest.raises(DiagnosticError, match="the value is int32, but its place holds int8"):
            parse(f'{head}\ndef f(A: T.Buffer((4,), "int8"), n: T.int32):\n    A[0] = n  # s_tir\n')
