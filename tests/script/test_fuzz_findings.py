"""What fuzzing found (`make fuzz-parse`), each made small. None of it may come back."""

from __future__ import annotations

import pytest
from helpers.script import HEADER, PARAMS, body_text

from tirscript.ir import DiagnosticError, structural_equal
from tirscript.script import parse

# text -> a word of the diagnostic it ends in
REFUSED = [
    (body_text("A[0] = 0x" + "f" * 300), "an integer of 1,200 bits does not fit float32"),
    (body_text("A[0] = A[0] + 0x" + "f" * 5000), "an integer of 20,000 bits does not fit float32"),
    (body_text("x = T.int32(0x" + "f" * 5000 + ")"), "an integer of 20,000 bits does not fit int32"),
    (body_text("A[0]++"), r"write `i \+= 1`"),
    (body_text("x = A[0:()]"), "a bound of a slice"),
    (body_text("x = A['i':4]"), "a bound of a slice"),
    (body_text("x = A[0.5:4]"), "a bound of a slice"),
    (body_text("x = A[A[0]:4]"), "the bound of a slice is float32"),
    (body_text("x = A[0]", params=PARAMS.replace("16", str(1 << 64))), "too large for int64"),
    (body_text("A.vstore([T.ramp(0, 1, 4)], 1.0, predicate=T.truncdiv)"), "is not a value"),
    (body_text("B2 = T.match_buffer(A[0:4], (4,), strides=T)"), "the strides of a buffer are a list"),
    (body_text("A[0] = 1.0", params=PARAMS.replace('"float32")', '"float32", align=1 << 80)')), "an int of 31 bits"),
    (
        body_text("A[0] = 1.0", params=PARAMS.replace('"float32")', '"float32", axis_separators=["a"])')),
        "the separator of",
    ),
    (body_text("T.func_attr({'a': 10**5000})"), "an integer of over 4,096 bits"),
    (body_text("x = f'{1:>" + "9" * 5000 + "}'"), "a format of over 1,000 characters"),
    (
        body_text(
            'with T.block("b"):\n    A[0] = 1.0\n    y = T.alloc_buffer((2,), "float32")\n'
            "    with T.init():\n        y[0] = 1.0\n    A[1] = y[0]"
        ),
        "outside of its scope",
    ),
    (body_text("for i in range(int): pass"), "the bound of a loop is `int`"),
    (body_text("C = T.alloc_buffer((int,), 'int8')"), "a dimension is `int`"),
    (body_text("for i, j in T.grid(4, T.ramp(0, 1, 4)): pass"), "the bound of a loop is int32x4"),
    (body_text("X[T.ramp(0, 1, 2)] = T.Select(T.ramp(0, 1, 4) > 1, X[0:2], X[0:2])"), "the numbers of lanes differ"),
    (body_text("pass", params="A: T.Buffer((4,), *'int32')"), "the memory of a parameter is its caller's"),
    (body_text("for i in T.void(1): pass"), "void has no values"),
    (body_text("x = T.void()"), "void has no values"),
    (body_text("x = T.undef('void')"), "void has no values"),
    (body_text("A[0] = T.cast(T.call_extern('void', 'f'), 'float32')"), "cannot cast void to float32"),
    (body_text("A[0:4] = T.broadcast(T.call_extern('void', 'f'), 4)"), "void has no values"),
    (body_text("x = T.call_extern('void', 'f')"), "what `x` would stand for is of dtype void"),
    (body_text("A[0] = T.let('x', T.call_extern('void', 'f'), lambda x: 1.0)"), "what `x` would stand for"),
    (body_text("T.evaluate(T.call_extern('void', 'f') if n > 0 else T.call_extern('void', 'g'))"), "takes values"),
    (body_text("A[0 : T.vscale() * -1] = T.float32(1)"), "this slice has -1 times vscale elements"),
    (body_text("A[T.ramp(0, 1, T.vscale() * -1)] = T.float32(1)"), "vscale times 1 to 65536"),
    (body_text("A.vstore([1e400], A[1], predicate=n > 2)"), "float32"),
    (body_text('with T.attr(T.int32(0), "a", T.floor_divide):\n    A[0] = 1.0'), "is an operator, not a value"),
    (body_text('with T.attr(T.int32(0), "a", [{"b": T.exp}]):\n    A[0] = 1.0'), "is an operator, not a value"),
    (
        body_text('Z = T.Buffer((4,))\nwith T.attr(Z, "a", 1):\n    A[0] = 1.0'),
        "the type of a buffer, which is in no memory yet",
    ),
    (
        HEADER
        + "@I.ir_module\nclass M:\n    @T.prim_func\n    def main(C: T.Buffer((1,), M.first(1))):\n        pass\n\n"
        '    @T.prim_func(private=True)\n    def first(a: T.handle):\n        A = T.match_buffer(a, (1,), "float32")\n',
        "cannot stand in an annotation",
    ),
    (body_text('bx = T.launch_thread("blockIdx.x", ())\nbx = 3'), "the number of threads is one value"),
    (
        body_text('T.attr(T.iter_var(T.var("int32"), None, "ThreadIndex", "vthread"), "virtual_thread", [4, 4])'),
        "the number of threads is one value",
    ),
    (
        body_text('T.attr(T.iter_var(T.var("int32"), None, "ThreYdIndex", "vthread"), "virtual_thread", 4)'),
        "is a new variable, which nothing defines",
    ),
    (
        HEADER.replace("tir as T", "tir as T, graph as R") + "@I.ir_module\nclass M:\n"
        '    norm = R.ExternFunc("lib.norm", R.Callable((R.Tensor(ndim=1),), norm(ndim=1), True))\n',
        "`norm` is not defined",
    ),
    (body_text('for x in [0] * 5000:\n    T.attr(0, "k", [0] * 5000)'), "more work than a text may ask for"),
]


@pytest.mark.parametrize("text, words", REFUSED, ids=range(len(REFUSED)))
def test_findings_end_in_diagnostics(text: str, words: str) -> None:
    with pytest.raises(DiagnosticError, match=words) as caught:
        parse(text)
    assert "T499" not in [found.code for found in caught.value.diagnostics]


def test_rounds_without_statements_keep_the_comments_of_one() -> None:
    # each round used to add its comments to those of the rounds before it
    text = body_text("for x in [0] * 5000:\n    # said once\n    y = 'nothing of the program'")
    assert parse(text).script().count("# said once") == 1
    written = parse(body_text("for x in [0, 1]:\n    # each\n    X[x] = x")).script()
    assert written.count("# each") == 2


def test_a_mistake_of_the_parser_is_a_diagnostic_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("tirscript.script.entry.Reader.all", broken)
    with pytest.raises(DiagnosticError, match=r"T499.*the parser failed on this text: KeyError") as caught:
        parse(HEADER)
    assert isinstance(caught.value.__cause__, KeyError)


# programs whose text was not that program
KEPT: list[str] = [
    body_text("pass", params=f'{"x" * 3000}: T.Buffer((4,), "float32")'),
    body_text("A.vstore([T.ramp(0, 1, 4)], 1.0, predicate=True)"),
    body_text(
        "if A[0] < 1.0:\n    x = 1.0\n" + "elif A[1] < 2.0:\n    x = 2.0\n" * 1500 + "else:\n    x = 3.0\nA[2] = x"
    ),
    body_text(
        "s, t = T.int64(), T.int64()\n# above\nA = T.match_buffer(a, (s,), strides=(t,))  # beside",
        params="a: T.handle",
    ),
    body_text(
        's = T.int64()  #\nA = T.match_buffer(a, (2, 2), "float32", strides=(s, 1))  # ' + "long " * 12,
        params="a: T.handle",
    ),
]


@pytest.mark.parametrize("text", KEPT, ids=range(len(KEPT)))
def test_findings_round_trip(text: str) -> None:
    program = parse(text)
    printed = program.script()
    again = parse(printed)
    assert structural_equal(program, again)
    assert again.script() == printed


def test_a_literal_too_large_is_pointed_at_beside_an_operator() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(body_text("A[0] = A[1] + 0x" + "f" * 5000))
    span = caught.value.diagnostics[0].span
    assert span is not None and span.text.startswith("0xfff")


@pytest.mark.parametrize(
    ("line", "code", "shown", "message"),
    [
        ("x = '\u00e9\ud800'", "T001", "x = '\u00e9\ufffd'", "U+D800"),
        ("x = Q # \x1b[2J\u202e\x9b", "T010", "x = Q # \u241b[2J\ufffd\ufffd", "`Q` is not defined"),
        ("x = \x07", "T001", "x = \u2407", "non-printable"),
    ],
)
def test_no_character_of_a_text_reaches_the_terminal_as_a_command(
    line: str, code: str, shown: str, message: str
) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(body_text(line))
    text = str(caught.value)
    text.encode()  # half a character cannot be written
    assert message in text and code in text
    source, carets = next((a, b) for a, b in zip(text.split("\n"), text.split("\n")[1:]) if a.endswith(shown))
    assert carets.index("^") == source.index(shown) + (6 if code == "T001" and "\u00e9" in shown else 4)
