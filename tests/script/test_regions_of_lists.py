"""`T.reads` and `T.writes` of what a list holds while parsing, and signatures with `/`."""

from __future__ import annotations

import pytest

import tirscript
from tirscript import DiagnosticError

BLOCK = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    regions = T.meta_var([A, B])
    for i in range(4):
        with T.block("x"):
            v = T.axis.spatial(4, i)
            T.reads({reads})
            T.writes(B[v])
            B[v] = A[v, 0]
"""


@pytest.mark.parametrize(
    ("reads", "printed"),
    [
        ("*[A[v, 0], A[v, 1]]", "A[v, 0], A[v, 1]"),
        ("*(A[v, 0:2],), B[v]", "A[v, 0:2], B[v]"),
        ("B[v], *[A[v, k] for k in range(2)]", "B[v], A[v, 0], A[v, 1]"),
        ("*[A[v, k : k + 2] for k in (0, 4)]", "A[v, 0:2], A[v, 4:6]"),
        ("[A[v, 0], *[B[v]]]", "A[v, 0], B[v]"),
        ("*regions", "A[0:4, 0:8], B[0:4]"),
    ],
)
def test_regions_may_be_unpacked(reads: str, printed: str) -> None:
    program = tirscript.parse(BLOCK.format(reads=reads))
    assert f"T.reads({printed})" in program.script()
    assert tirscript.parse(program.script()).script() == program.script()


@pytest.mark.parametrize(
    ("reads", "message"),
    [
        ("*[1, 2]", "a region is a buffer or a slice of one"),
        ("*A", "this is not a sequence known while parsing"),
        ("*[A[v, 0:8:2] for k in range(1)]", "a slice of a buffer without gaps"),
    ],
)
def test_what_is_no_region_is_told(reads: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        tirscript.parse(BLOCK.format(reads=reads))


@pytest.mark.parametrize(
    "text",
    [
        '@T.prim_func\ndef f(A: T.Buffer((4,), "float32"), /, n: T.int32):\n    A[0] = 1.0\n',
        '@G.graph_func\ndef f(x: G.Tensor((4,), "float32"), /, y: G.Tensor((4,), "float32")):\n    return x + y\n',
    ],
)
def test_parameters_by_place_alone_are_refused(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.parse(text)
    (one,) = caught.value.diagnostics
    assert one.code == "T040" and "`/`" in one.message and "by place or name" in str(one.hint)
