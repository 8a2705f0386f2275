"""Programs at the edges: very deep, very long, very odd. All of them are text that reads back to the same program."""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.script import HEADER, function

from tirscript.ir import (
    AllocBuffer,
    Attrs,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    DiagnosticError,
    Expr,
    For,
    If,
    Module,
    PrimFunc,
    Var,
    const,
    dtype,
    structural_equal,
)
from tirscript.ir.op import OPS
from tirscript.script import parse

ROOT = Path(__file__).resolve().parents[2]
BASE = function("B[0, 0] = A[0]")
LOAD = BASE.body[0].value
WHOLE = BASE.body[0]


def same_again(program: PrimFunc | Module) -> str:
    """The text of a program, which reads back to it and prints as it was."""
    text = program.script()
    again = parse(text)
    assert structural_equal(program, again)
    assert again.script() == text
    return text


def storing(value: Expr) -> PrimFunc:
    return BASE.replace(body=(WHOLE.replace(value=value),))


# --- deep -------------------------------------------------------------------------------------------------------------

LEVELS: dict[str, Callable[[Expr], Expr]] = {
    "to the left": lambda e: e + LOAD,
    "to the right": lambda e: LOAD - e,
    "in a call": lambda e: OPS["exp"](e),
    "second in a call": lambda e: OPS["max"](LOAD, e),
    "first of a conditional": lambda e: OPS["if_then_else"](LOAD > 0, e, LOAD),
    "last of a conditional": lambda e: OPS["if_then_else"](LOAD > 0, LOAD, e),
    "condition of a conditional": lambda e: OPS["if_then_else"](e > 0, LOAD, LOAD),
    "in a Select": lambda e: OPS["Select"](LOAD > 0, LOAD, e),
    "behind a sign": lambda e: -e,
    "in casts": lambda e: OPS["cast"](OPS["cast"](e, "int32"), "float32"),
    "in a power": lambda e: OPS["pow"](LOAD, e),
}


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
def test_a_thousand_levels_of_expression(level: str) -> None:
    value: Expr = LOAD
    for _ in range(1000):
        value = LEVELS[level](value)
    same_again(storing(value))


def test_a_thousand_indices_in_one_another() -> None:
    program = function("X[0] = X[0]")
    store = program.body[0]
    value = store.value
    for _ in range(1000):
        value = BufferLoad(value.buffer, (value,))
    same_again(program.replace(body=(store.replace(value=value),)))


def test_deep_conditions_of_every_branch_stand_before_the_if() -> None:
    value: Expr = LOAD
    for _ in range(400):
        value = OPS["max"](LOAD, value)
    inner = If(value > 1, (WHOLE,), (If(value > 2, (WHOLE,), (WHOLE,)),))
    text = same_again(BASE.replace(body=(If(LOAD > 0, (WHOLE,), (inner,)), WHOLE)))
    lines = [line for line in text.splitlines() if line.startswith("    ") and not line.startswith("     ")]
    assert [line.split()[0] for line in lines if line.split()[0] in ("if", "elif", "else:")] == [
        "if",
        "elif",
        "elif",
        "else:",
    ]
    assert text.index("deep_1 = T.meta_var(") < text.index("    if ")


def test_names_that_are_given_to_what_is_deep_are_free() -> None:
    program = function("deep_1 = A[0]\nB[0, 0] = deep_1")
    value: Expr = program.body[0].var
    for _ in range(300):
        value = OPS["exp"](value)
    text = same_again(program.replace(body=(program.body[0], program.body[1].replace(value=value))))
    assert "deep__1 = T.meta_var(" in text


def test_what_is_deep_in_a_let_is_a_diagnostic() -> None:
    program = function('B[0, 0] = T.let("x", A[0], lambda x: T.exp(x))')
    store = program.body[0]
    let = store.value
    value = let.body
    for _ in range(400):
        value = OPS["exp"](value)
    with pytest.raises(DiagnosticError, match=r"T004.*nested too deeply to be text"):
        program.replace(body=(store.replace(value=let.replace(body=value)),)).script()


def nest(count: int, make: Callable[[Var, int, tuple[object, ...]], tuple[object, ...]]) -> PrimFunc:
    body: tuple[object, ...] = (WHOLE,)
    for at in reversed(range(count)):
        body = make(Var(f"i{at}"), at, body)
    return BASE.replace(body=body)


def test_two_hundred_loops() -> None:
    text = same_again(nest(200, lambda var, at, body: (For(var, const(0), const(2), body),)))
    assert "T.grid(" in text


def test_as_many_bodies_as_python_reads() -> None:
    same_again(nest(97, lambda var, at, body: (For(var, const(0), const(2), body), WHOLE)))


def test_more_bodies_than_python_reads_are_a_diagnostic() -> None:
    with pytest.raises(DiagnosticError, match=r"T004.*over 99 bodies in one another"):
        nest(200, lambda var, at, body: (For(var, const(0), const(2), body), WHOLE)).script()


# --- long -------------------------------------------------------------------------------------------------------------

_LONG = """
import cProfile, json, resource
from tirscript.ir import structural_equal
from tirscript.script import parse

def text(count):
    lines = "".join(f"    A[{at % 16}] = A[{at % 15}] + T.float32({at})\\n    x{at} = A[{at % 7}]\\n" for at in range(count // 2))
    return f'from tirscript.script import tir as T\\n\\n\\n@T.prim_func\\ndef f(A: T.Buffer((16,), "float32")):\\n{lines}'

def there_and_back(count):
    program = parse(text(count))
    printed = program.script()
    again = parse(printed)
    assert structural_equal(program, again) and again.script() == printed and len(program.body) == count

resource.setrlimit(resource.RLIMIT_CPU, (120, 120))  # some 5 seconds are enough
there_and_back(50000)
calls = []
for count in (1000, 10000):
    profile = cProfile.Profile()
    profile.runcall(there_and_back, count)
    calls.append(sum(entry.callcount for entry in profile.getstats()))
print(json.dumps(calls))
"""


@pytest.mark.long
def test_fifty_thousand_statements_in_linear_time() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TIRSCRIPT_CHECK": "0"}
    done = subprocess.run([sys.executable, "-c", _LONG], env=env, capture_output=True, text=True, check=True)
    short, long = json.loads(done.stdout)
    assert long < 11 * short  # calls, for ten times the statements


# --- odd --------------------------------------------------------------------------------------------------------------

TEXTS = [
    "",
    "\"'\\\n\r\t\0\x07\x1b",
    '"""' * 3,
    "'''" * 3,
    "{x} {{}} %s \\N{DASH} \\x41",
    "\ud800 \udfff alone",
    "é \u2028 \u2029 \x85 \xa0 \ufeff \u202e \U0001f600 e\u0301",
    "#!not a comment",
    "a\\",
    "line\n" * 20_000,
    "x" * 1_000_000,
    "\\\"'" * 100_000,
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_strings_keep_every_character(text: str) -> None:
    program = function("assert n > 0, 'm'\nA[0] = 1.0")
    check = program.body[0].replace(message=text)
    attrs = Attrs({"key": text, "list": ({"k": text},)})
    made = program.replace(body=(check, program.body[1]), attrs=attrs)
    printed = same_again(made)
    again = parse(printed)
    assert again.attrs["key"] == text and again.body[0].message == text


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_docstrings_settle(text: str) -> None:
    made = BASE.replace(docstring=text)
    printed = same_again(made)
    assert parse(printed).script() == printed


NAMES = [
    *("if", "None", "lambda", "T", "I", "G", "R", "cls", "min", "range", "int", "breakpoint", "print", "open", "self"),
    *(
        "",
        " ",
        "a b",
        "1x",
        "_",
        "__",
        "x.y",
        "x-y",
        "é",
        "größe",
        "变量",
        "ﬁx",
        "ｘ",
        "x²",
        "\u2118",
        "a\u0301",
        "ª",
        "\ud800",
    ),
    *("a\nb", "deep_1", "A", "f", "x_1", "__class__", "__debug__", "T_1", "match", "type", "case", "x" * 3000),
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_odd_names(name: str) -> None:
    kind = dtype("float32")
    buffer, n, i, x, j = Buffer(name, (const(4),), kind), Var(name), Var(name), Var(name, kind), Var(name)
    local = Buffer(name, (const(4),), kind)
    body = (
        AllocBuffer(local),
        For(i, const(0), const(4), (Bind(x, BufferLoad(buffer, (i,))), BufferStore(local, (i,), x))),
        For(j, const(0), const(4), (BufferStore(buffer, (j,), BufferLoad(local, (j,)) + OPS["cast"](n, kind)),)),
    )
    compile(same_again(PrimFunc("f", (buffer, n), body)), "printed.py", "exec")


def test_two_names_that_python_reads_as_one() -> None:
    same_again(PrimFunc("f", (Var("ﬁx"), Var("fix"), Var("ｆix")), ()))


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_floats_to_the_last_bit(kind: str) -> None:
    to = dtype(kind)
    values = [
        0.0,
        -0.0,
        math.nan,
        math.inf,
        -math.inf,
        0.1,
        1 / 3,
        5e-324,
        1e-45,
        2.0**-149,
        6e-8,
        65504.0,
        1e308,
        math.pi,
    ]
    values += [1.0 + 2.0**-k for k in (2, 3, 7, 10, 23, 52)] + [2.0**k for k in (-1074, -126, -14, 53, 127, 1023)]
    values += [struct.unpack("<d", struct.pack("<q", at * 0x123456789ABCDEF % (1 << 63)))[0] for at in range(1, 200)]
    stores = []
    buffer = Buffer("A", (const(1),), to)
    for value in values:
        made = const(value, to)
        stores.append(BufferStore(buffer, (const(0),), made))
        stores.append(BufferStore(buffer, (const(0),), OPS["max"](BufferLoad(buffer, (const(0),)), made)))
    made = PrimFunc("f", (buffer,), tuple(stores))
    again = parse(same_again(made))
    for old, new in zip(made.body, again.body, strict=True):
        for a, b in zip(constants(old.value), constants(new.value), strict=True):
            assert a.dtype is b.dtype and struct.pack("<d", a.value) == struct.pack("<d", b.value)


def constants(value: Expr) -> list[Const]:
    return [value] if isinstance(value, Const) else [one for one in value.args if isinstance(one, Const)]


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_the_limits_of_integers(kind: str) -> None:
    to = dtype(kind)
    low, high = to.int_range()
    buffer = Buffer("A", (const(1),), to)
    stores: list[BufferStore] = []
    for value in (low, low + 1, 0, 1, high - 1, high):
        one = const(value, to)
        load = BufferLoad(buffer, (const(0),))
        for made in (one, load + one, one - load, OPS["cast"](one, "int64"), OPS["cast"](one, "bool")):
            if made.dtype is to:
                stores.append(BufferStore(buffer, (const(0),), made))
            else:
                stores.append(BufferStore(buffer, (const(0),), OPS["cast"](made, to)))
    again = parse(same_again(PrimFunc("f", (buffer,), tuple(stores))))
    assert isinstance(again.body[1].value, Call)
    assert {store.value.value for store in again.body if isinstance(store.value, Const)} == {
        low,
        low + 1,
        0,
        1,
        high - 1,
        high,
    }


EMPTY = [
    "pass",
    "for i in range(4):\n    pass",
    "for i, j in T.grid(4, 4):\n    pass",
    "if n > 0:\n    pass",
    "if n > 0:\n    pass\nelse:\n    A[0] = 1.0",
    "if n > 0:\n    pass\nelif n > 1:\n    pass\nelse:\n    pass",
    "while n > 0:\n    pass",
    'with T.block("b"):\n    pass',
    'with T.block(""):\n    T.reads()\n    T.writes()',
    'with T.block("b"):\n    with T.init():\n        pass',
    'with T.attr(0, "k", 1):\n    pass',
    "for i in T.grid(0):\n    pass",
]


@pytest.mark.parametrize("body", EMPTY, ids=range(len(EMPTY)))
def test_empty_bodies(body: str) -> None:
    same_again(function(body))


def test_empty_definitions() -> None:
    same_again(parse(f"{HEADER}@T.prim_func\ndef f():\n    pass\n"))
    same_again(parse(f"{HEADER}@I.ir_module\nclass M:\n    pass\n"))
    same_again(PrimFunc("f", (), (), Attrs({})))
