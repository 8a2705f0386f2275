"""The ends of indices while loops run: nothing lies outside of them, and where variables stand once they are reached."""

from __future__ import annotations

import itertools

import pytest

from tirscript.ir import Buffer, Call, Expr, Var, cast, const, dtype, get_op
from tirscript.ir.arith import Analyzer
from tirscript.ir.arith.evaluate import evaluate
from tirscript.ir.arith.sets import region

i, j, n = Var("i"), Var("j"), Var("n")
DOMAIN = {i: (const(0), const(7)), j: (n, n + 3)}
least, greatest = get_op("min"), get_op("max")


def text(expr: Expr) -> str:
    return str(expr.script(fragment=True)).strip()


@pytest.mark.parametrize(
    ("expr", "ends", "tight"),
    [
        (i * 4 + j, ("n", "n + 31"), True),
        (j - i, ("n - 7", "n + 3"), True),
        ((i + 2) // 4, ("0", "2"), True),
        (i % 4, ("0", "3"), True),
        ((i + 8) % 16, ("8", "15"), True),
        (least(i, n), ("T.min(0, n)", "T.min(7, n)"), True),
        (greatest(i * 2, j), ("T.max(0, n)", "T.max(14, n + 3)"), True),
        (get_op("Select")(get_op("less")(n, 3), i, j), ("T.min(0, n)", "T.max(7, n + 3)"), False),
        (cast(i, "int64") * 3, ("T.int64(0)", "T.int64(21)"), True),
        (n * 2, ("n * 2", "n * 2"), True),
    ],
)
def test_ends(expr: Expr, ends: tuple[str, str], tight: bool) -> None:
    analyzer = Analyzer({i: (0, 7), n: (-5, 20), j: (-5, 23)})
    found = analyzer.int_set(expr, DOMAIN)
    assert found is not None
    assert (text(found[0]), text(found[1])) == ends
    for size in range(-5, 21):
        values = [evaluate(expr, {n: size, i: a, j: b}) for a, b in itertools.product(range(8), range(size, size + 4))]
        low, high = (evaluate(end, {n: size}) for end in found)
        assert low <= min(values) and max(values) <= high
        assert not tight or (low, high) == (min(values), max(values))


def test_what_is_not_known() -> None:
    analyzer = Analyzer({i: (0, 7)})
    assert analyzer.int_set(j + 1, DOMAIN) is None  # n + 3 may wrap
    assert analyzer.int_set(i * i, DOMAIN) is None
    assert analyzer.int_set(i // n, DOMAIN) is None
    assert analyzer.int_set(Buffer("A", (const(8),), dtype("int32"))[i], DOMAIN) is None
    for divided in ("floordiv", "floormod"):
        assert analyzer.int_set(Call(get_op(divided), (i, const(0)), i.dtype), DOMAIN) is None
    assert region((i, i * i), DOMAIN, analyzer) == ((const(0), const(7)), None)
