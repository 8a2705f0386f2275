"""Assignments and loops mean what they mean in Python: each body is run by Python itself on an array, by the interpreter
and natively; what cannot mean the same is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.script import HEADER, body_text

import tirscript
from tirscript.ir import DiagnosticError
from tirscript.testing import assert_round_trip

PARAMS = 'A: T.Buffer((4,), "float32")'

BODIES = [
    # what a list, a tuple or a dict holds is what was read when it was made
    "xs = [A[0], A[1]]\nA[0] = 5.0\nA[1] = xs[0]",
    "xs = (A[0], A[1])\nA[0] = 5.0\nA[1] = xs[0]",
    "xs = {'a': A[0]}\nA[0] = 5.0\nA[1] = xs['a']",
    "a, *rest = [A[3], A[2], A[1]]\nA[1] = 5.0\nA[0] = rest[1]\nA[3] = a",
    "xs = [A[i] * 2.0 for i in range(4)]\nfor i in range(4):\n    A[i] = 0.0\nA[3] = sum(xs)",
    "rows = [[A[i + 2 * j] for i in range(2)] for j in range(2)]\nA[0] = 0.0\nA[1] = rows[0][0] + rows[1][1]",
    "s = A[0]\nxs = [s, s + 1.0]\ns = s + 10.0\nA[1] = xs[0]\nA[2] = xs[1]\nA[3] = s",
    "t = ((A[0], A[1]), A[2])\nA[0] = 9.0\n(a, b), c = t\nA[1] = a + b + c",
    "for i, x in enumerate([A[3], A[2], A[1], A[0]]):\n    A[i] = x",
    "for i, x in zip([0, 1, 2, 3], [A[3], A[2], A[1], A[0]]):\n    A[i] = x * 2.0",
    "for x in (A[i] for i in range(4)):\n    A[0] = 5.0\n    A[1] = x\n    A[2] = x + 1.0",
    # several targets
    "A[0], *r = A[1], A[0], A[2]\nA[3] = r[0]",
    "(A[0], A[1]), x = (A[1], A[0]), 3.0\nA[2] = x",
    "x, (y, *z) = A[0], (A[1], A[2], A[3])\nA[2] = 0.0\nA[3] = z[0] + x + y",
    "*(a, b), c = A[0], A[1], A[2]\nA[3] = a + 2.0 * b + 4.0 * c",
    "a = A[0]\nb = A[1]\nfor i in range(3):\n    (a, b), c = (b, a), a\n    A[i] = a + c\nA[3] = b",
    "for a, *b in [(0, 1.0, 2.0), (1, 3.0)]:\n    A[a] = b[0] + len(b)",
    "A[0] = sum(b[0] for a, *b in [(0, 1.0, 2.0), (1, 3.0)])",
    "A[0] = A[1] = A[2] + 1.0",
    "a = A[0] = A[1]\nA[1] = 9.0\nA[2] = a",
    # what a loop over a sequence assigns to names around it stays
    "t = [A[0]]\nfor k in [0, 1, 2]:\n    t = [t[0] + 1.0]\nA[1] = t[0]",
    "t = []\nfor k in [0, 1, 2]:\n    t = t + [k]\nA[len(t)] = 7.0",
    "t = [1.0]\nfor k in [1.0, 2.0]:\n    if 2 > 1:\n        t = [t[0] + k]\nA[0] = t[0]",
    "d = {}\nfor k in [1, 2]:\n    d = {**d, k: k * 2.0}\nA[0] = d[2]",
    "for i in range(4):\n    t = [A[i], 1.0]\n    A[i] = t[0] + t[1]\nt = [2.0]\nA[0] = t[0]",
    "t = [1.0]\nA[0] = t[0]\nfor i in range(4):\n    t = [A[i], 1.0]\n    A[i] = t[0] + t[1]",
    # leaving one
    "for k in [0, 1, 2, 3]:\n    if k == 2:\n        break\n    A[k] = 7.0\nA[3] = 9.0",
    "for k in [0, 1, 2, 3]:\n    if k == 2:\n        continue\n    A[k] = 7.0",
    "for i in range(4):\n    for k in [1.0, 2.0]:\n        if k > 1.0:\n            break\n        A[i] = A[i] + k",
    "for k in [1.0, 2.0]:\n    for i in range(4):\n        if A[i] > 3.0:\n            break\n        A[i] = A[i] + k",
    "for k in [1, 2]:\n    for j in [0, 1, 2]:\n        if j == k:\n            break\n        A[j] = A[j] + k",
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_means_what_python_means(body: str) -> None:
    start = np.array([1, 2, 3, 4], "float32")
    wanted = start.copy()
    exec(body, {"A": wanted, "T": SimpleNamespace(float32=np.float32)})
    func = tirscript.parse(body_text(body, PARAMS))
    assert_round_trip(func)
    for run in (tirscript.build(func), lambda array: tirscript.interpret(func, array)):
        found = start.copy()
        run(found)
        assert found.tolist() == wanted.tolist()


def test_an_index_is_not_read_between_the_targets_of_a_chain() -> None:
    func = tirscript.parse(body_text("X[X[0]] = X[0] = 3", 'X: T.Buffer((4,), "int32")'))
    found = np.zeros(4, "int32")
    tirscript.build(func)(found)
    assert found.tolist() == [3, 0, 0, 0]


# body, code, what is said, the text that is underlined
REFUSED = [
    ("t = (1.0, 2.0)\nfor i in range(4):\n    t = (t[1], 2.0)", "T011", "from turn to turn", "t"),
    ("t = [1.0]\ni = 0\nwhile i < 3:\n    A[0] = t[0]\n    t = [5.0]\n    i += 1", "T011", "from turn to turn", "t"),
    ("t = [1.0]\nif A[0] > 0.0:\n    t = [2.0]\nA[1] = t[0]", "T011", "one of two meanings", "t"),
    ("if A[0] > 5.0:\n    t = [2.0]\nelse:\n    t = [3.0]\nA[1] = t[0]", "T011", "one of two meanings", "t"),
    ("t = [1.0]\nfor i in range(2):\n    if A[i] > 0.0:\n        t = [2.0]\nA[1] = t[0]", "T011", "one of two", "t"),
    ("i = 3\nfor i in range(2):\n    A[i] = 7.0\nA[i] = 9.0", "T011", "one of two meanings", "i"),
    ("i = 3\ni = i - 1\nfor i in range(2):\n    A[i] = 7.0\ni += 1", "T011", "one of two meanings", "i"),
    ("x = 5.0\nfor x in [1.0, 2.0]:\n    A[0] = x\nA[1] = x", "T011", "one of two meanings", "x"),
    ("y = 1.0\nif A[0] > 0.0:\n    A[0] = (y := 3.0)\nA[3] = y", "T012", "`:=` does not change", "y"),
    ("for k in [1.0, 2.0]:\n    if A[0] > k:\n        break", "T022", "decide on a `break`", "break"),
    (
        "for i in range(4):\n    for k in [1.0]:\n        if A[i] > k:\n            continue",
        "T022",
        "`continue`",
        "continue",
    ),
    (
        'if 0 <= T.call_extern("int32", "rand") < 5:\n    A[0] = 1.0',
        "T021",
        "made twice",
        'T.call_extern("int32", "rand")',
    ),
    ("a, *b, *c = A[0], A[1]", "T001", "one target takes what the others leave", "*c"),
    ("a, (b, *c) = A[0], ()", "T033", "0 values for at least 1 target", None),
]


@pytest.mark.parametrize(("body", "code", "message", "under"), REFUSED)
def test_what_cannot_mean_the_same_is_refused(body: str, code: str, message: str, under: str | None) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(body_text(body, PARAMS))
    first = caught.value.diagnostics[0]
    assert first.code == code
    assert message in first.message
    assert under is None or (first.span is not None and first.span.text == under)


@pytest.mark.parametrize("body", ["i = 3\nfor i in range(2):\n    A[i] = 7.0\ni = 1\nA[i] = 9.0"])
def test_an_assignment_settles_which_meaning_a_name_has(body: str) -> None:
    found = np.zeros(4, "float32")
    tirscript.build(tirscript.parse(body_text(body, PARAMS)))(found)
    assert found.tolist() == [7, 9, 0, 0]


LOOPS = {
    "T.serial(8, step=2)": range(0, 8, 2),
    "T.serial(stop=8, step=3)": range(0, 8, 3),
    "T.serial(2, step=3, stop=8)": range(2, 8, 3),
    "T.unroll(stop=8, start=2)": range(2, 8),
    "T.serial(start=5)": range(5),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_bounds_by_name_are_those_of_their_names(loop: str) -> None:
    func = tirscript.parse(body_text(f"for i in {loop}:\n    X[i] = 1", 'X: T.Buffer((8,), "int32")'))
    found = np.zeros(8, "int32")
    tirscript.interpret(func, found)
    assert np.flatnonzero(found).tolist() == list(LOOPS[loop])


TWICE = [
    ("for i in T.serial(8, start=2):\n    A[i] = 1.0", "2"),
    ("for i in T.serial(2, annotations={}, annotations={'a': 1}):\n    A[i] = 1.0", "annotations={'a': 1}"),
    ("A[0] = T.cast(1, dtype='int8', dtype='float32')", "dtype='float32'"),
    ("for i in range(4):\n    with T.block():\n        v = T.axis.spatial(i, dom=4)\n        A[v] = 1.0", "dom=4"),
]


@pytest.mark.parametrize(("body", "under"), TWICE)
def test_an_argument_is_given_once(body: str, under: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(body_text(body, PARAMS))
    first = caught.value.diagnostics[0]
    assert (first.code, first.span and first.span.text) == ("T032", under)
    assert "is given twice" in first.message


def test_allocate_takes_no_other_argument() -> None:
    with pytest.raises(DiagnosticError, match=r"`T\.allocate` has no argument `scop`"):
        tirscript.parse(body_text("C = T.allocate([4], 'float32', scop='local')\nC[0] = 1.0", PARAMS))


@pytest.mark.parametrize(
    "params",
    [
        'n: T.float32, A: T.Buffer(("n",), "float32")',
        'A: T.Buffer(("n",), "float32"), n: T.handle',
        'n: T.Buffer((4,), "float32"), A: T.Buffer(("n",), "float32")',
        'n: T.Buffer(("n",), "float32")',
    ],
)
def test_a_dimension_is_no_parameter_of_another_kind(params: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(body_text("pass", params))
    (found,) = caught.value.diagnostics
    assert found.code == "T207"
    assert found.span is not None and found.span.text.startswith("n: T.")


def test_several_targets_of_tvms_text_take_what_was_there_before() -> None:
    text = body_text("A[0], A[1] = A[1], A[0]", PARAMS).replace(HEADER, "from tvm.script import tirx as T\n")
    found = np.array([1, 2, 3, 4], "float32")
    tirscript.build(tirscript.parse(text))(found)
    assert found.tolist() == [2, 1, 3, 4]
