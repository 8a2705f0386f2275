"""Programs made to break what passes over layouts take for granted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.ir import Module
from tirscript.passes.graph import fuse_ops
from tirscript.passes.layouts import Reflowed, conversion_of, lift_layout_blocks, reflow, split_preprocessing
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import parse

INC = """
    @T.prim_func(private=True)
    def inc(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(14):
            with T.block("B"):
                vi = T.axis.spatial(14, i)
                B[vi] = A[vi] + T.float32(1)
"""


def tiles(i: Any) -> tuple[Any, ...]:
    return i // 4, i % 4


def module(kernels: str, params: str, lines: str, results: str) -> Module:
    """A module of kernels and a graph of one dataflow that calls them."""
    body = "\n            ".join(line.strip() for line in lines.strip().splitlines())
    made = parse(f"""
@I.ir_module
class M:
{kernels.strip(chr(10))}

    @G.graph_func
    def main({params}):
        cls = M
        with G.dataflow():
            {body}
            G.output({results})
        return {results}
""")
    assert isinstance(made, Module)
    return made


def moved(before: Module, *given: Any, layouts: Any = None) -> Reflowed:
    """The graph with all kernels packed, which gives the same bits."""
    done = reflow(before, layouts=layouts, decide=lambda one: True)
    expected, got = tirscript.interpret(before, *given), tirscript.interpret(done.module, *given)
    for a, b in zip(*((one if isinstance(one, tuple) else (one,)) for one in (expected, got)), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    return done


def test_a_maximum_over_nothing_is_its_beginning() -> None:
    """Where `n` is 0 the padding of `m` is -inf, not the largest of what is in the padding of `x`."""
    before = module(
        """
    @T.prim_func(private=True)
    def largest(A: T.Buffer((T.int64(13), "n"), "float32"), B: T.Buffer((T.int64(13),), "float32")):
        for i, j in T.grid(T.int64(13), n):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32("-inf")
                B[vi] = T.max(B[vi], A[vi, vj])
    @T.prim_func(private=True)
    def product(A: T.Buffer((13,), "float32"), B: T.Buffer((1,), "float32")):
        for u, i in T.grid(1, 13):
            with T.block("B"):
                vu, vi = T.axis.remap("SR", [u, i])
                with T.init():
                    B[vu] = T.float32(1)
                B[vu] = B[vu] * A[vi]
""",
        'x: G.Tensor((13, "n"), "float32")',
        'm = G.call_tir(cls.largest, (x,), out=G.Tensor((13,), "float32"))\n'
        'p = G.call_tir(cls.product, (m,), out=G.Tensor((1,), "float32"))',
        "p",
    )
    for n in (0, 3):
        moved(before, np.full((13, n), -2, "float32"), layouts={"m": {"B": tiles}, "p": {"A": tiles}})


@pytest.mark.parametrize(
    "size", ["n << 1", "T.truncdiv(n, 2)", "T.bitwise_and(n, 15)", "T.ceildiv(n, 3)", "T.abs(n)", "T.truncmod(n, 9)"]
)
def test_sizes_of_any_operator_have_a_cost(size: str) -> None:
    before = module(
        """
    @T.prim_func(private=True)
    def inc(A: T.Buffer(("k",), "float32"), B: T.Buffer(("k",), "float32")):
        for i in range(k):
            with T.block("B"):
                vi = T.axis.spatial(k, i)
                B[vi] = A[vi] + T.float32(1)
""",
        f'n: G.Prim("int64"), x: G.Tensor(("{size}",), "float32")',
        f'y = G.call_tir(cls.inc, (x,), out=G.Tensor(("{size}",), "float32"))',
        "y",
    )
    n = 23
    sizes = {"n << 1": n << 1, "T.truncdiv(n, 2)": n // 2, "T.bitwise_and(n, 15)": n & 15, "T.ceildiv(n, 3)": 8}
    done = moved(
        before,
        n,
        np.arange(sizes.get(size, n if "abs" in size else n % 9), dtype="float32"),
        layouts={"y": {"A": tiles}},
    )
    assert [one.packed for one in done.decisions] == [True]


BELOW: dict[str, Callable[[Any], Any]] = {"below": lambda i: (i - 3,), "mirrored": lambda i: (5 - i,)}


@pytest.mark.parametrize("name", BELOW)
def test_no_element_goes_below_0(name: str) -> None:
    before = module(
        INC, 'x: G.Tensor((14,), "float32")', 'y = G.call_tir(cls.inc, (x,), out=G.Tensor((14,), "float32"))', "y"
    )
    with pytest.raises(DiagnosticError, match="not proved to keep its elements apart, at places from 0"):
        reflow(before, layouts={"y": {"A": BELOW[name]}})
    sch = Schedule(before)
    sch.work_on("inc")
    with pytest.raises(ScheduleError, match="no element may go to a place below 0"):
        sch.transform_layout("B", "A", BELOW[name])


def test_places_are_integers() -> None:
    before = module(
        INC, 'x: G.Tensor((14,), "float32")', 'y = G.call_tir(cls.inc, (x,), out=G.Tensor((14,), "float32"))', "y"
    )
    sch = Schedule(before)
    sch.work_on("inc")
    with pytest.raises(ScheduleError, match="a place is an integer, not float32"):
        sch.transform_layout("B", "A", lambda i: (i * 1.5,))
    with pytest.raises(DiagnosticError, match="a place is an integer, not float32"):
        reflow(before, layouts={"y": {"A": lambda i: (i * 1.5,)}})


def test_indices_that_wrap_around_are_no_layout() -> None:
    """As int8 the indices from 128 are negative: the halves change places."""
    before = module(
        """
    @T.prim_func(private=True)
    def halves(A: T.Buffer((384,), "float32"), B: T.Buffer((256,), "float32")):
        for i in range(256):
            with T.block("B"):
                vi = T.axis.spatial(256, i)
                T.block_attr({"postproc": ("crop",)})
                B[vi] = A[T.Cast("int32", T.Cast("int8", vi)) + 128]
    @T.prim_func(private=True)
    def inc(A: T.Buffer((384,), "float32"), B: T.Buffer((384,), "float32")):
        for i in range(384):
            with T.block("B"):
                vi = T.axis.spatial(384, i)
                B[vi] = A[vi] + T.float32(1)
    @T.prim_func(private=True)
    def pad(A: T.Buffer((256,), "float32"), B: T.Buffer((384,), "float32")):
        for i in range(384):
            with T.block("B"):
                vi = T.axis.spatial(384, i)
                B[vi] = T.if_then_else(vi >= 128, A[vi - 128], T.float32(0))
    @T.prim_func(private=True)
    def last(A: T.Buffer((384,), "float32"), B: T.Buffer((256,), "float32")):
        for i in range(256):
            with T.block("B"):
                vi = T.axis.spatial(256, i)
                B[vi] = A[vi + 128] * T.float32(2)
""",
        'x: G.Tensor((384,), "float32")',
        """
        a = G.call_tir(cls.inc, (x,), out=G.Tensor((384,), "float32"))
        b = G.call_tir(cls.halves, (a,), out=G.Tensor((256,), "float32"))
        c = G.call_tir(cls.pad, (b,), out=G.Tensor((384,), "float32"))
        d = G.call_tir(cls.last, (c,), out=G.Tensor((256,), "float32"))
        """,
        "d",
    )
    moved(before, np.arange(384, dtype="float32"))
    func = before.prim_func("halves")
    assert func is not None and conversion_of(func) is None


IN_PLACE = """
    @T.prim_func(private=True)
    def pad(A: T.Buffer((14,), "float32"), P: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = T.if_then_else(vi * 4 + vj < 14, A[vi * 4 + vj], T.float32(0))
    @T.prim_func(private=True)
    def crop(P: T.Buffer((4, 4), "float32"), A: T.Buffer((14,), "float32")):
        for i in range(14):
            with T.block("A"):
                vi = T.axis.spatial(14, i)
                A[vi] = P[vi // 4, vi % 4]
    @T.prim_func(private=True)
    def bump(A: T.Buffer((14,), "float32")):
        for i in range(14):
            with T.block("A"):
                vi = T.axis.spatial(14, i)
                A[vi] = A[vi] + T.float32(100)
    @T.prim_func(private=True)
    def rows(P: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + P[vi, vj]
"""
BUMPED = """z = G.call_tir_inplace(cls.bump, (y,), inplace_indices=[0], out=G.Tensor((14,), "float32"))"""


@pytest.mark.parametrize(
    "lines",
    [
        f"""
        y = G.call_tir(cls.inc, (x,), out=G.Tensor((14,), "float32"))
        p = G.call_tir(cls.pad, (y,), out=G.Tensor((4, 4), "float32"))
        {BUMPED}
        s = G.call_tir(cls.rows, (p,), out=G.Tensor((4,), "float32"))
        """,
        f"""
        p = G.call_tir(cls.pad, (x,), out=G.Tensor((4, 4), "float32"))
        y = G.call_tir(cls.crop, (p,), out=G.Tensor((14,), "float32"))
        {BUMPED}
        s = G.call_tir(cls.inc, (x,), out=G.Tensor((14,), "float32"))
        """,
        f"""
        w = G.call_tir(cls.inc, (x,), out=G.Tensor((14,), "float32"))
        y = w
        p = G.call_tir(cls.pad, (w,), out=G.Tensor((4, 4), "float32"))
        {BUMPED}
        s = G.call_tir(cls.rows, (p,), out=G.Tensor((4,), "float32"))
        """,
    ],
    ids=["behind it", "a copy that goes", "another name"],
)
def test_what_is_written_in_place_was_read_before(lines: str) -> None:
    before = module(INC + IN_PLACE, 'x: G.Tensor((14,), "float32")', lines, "z, s")
    x = np.arange(14, dtype="float32")
    moved(before, x)
    for one in (before, reflow(before).module, fuse_ops(before)):
        kept = x.copy()
        for a, b in zip(tirscript.build(one)(kept), tirscript.interpret(before, x), strict=True):
            assert np.array_equal(a, b)
        assert np.array_equal(kept, x)


def test_what_a_conversion_assumes_is_not_said_of_others() -> None:
    """`pad` takes what is not negative, `plain_pad` anything."""
    kernels = IN_PLACE.replace(
        'P: T.Buffer((4, 4), "float32")):\n        for i, j',
        'P: T.Buffer((4, 4), "float32")):\n        LOOP\n        for i, j',
    ) + IN_PLACE.replace("def ", "def plain_")
    kernels = kernels.replace(
        "        LOOP\n", "        for i in range(14):\n            T.assume(A[i] >= T.float32(0))\n"
    )
    lines = """
        p = G.call_tir(cls.pad, (x,), out=G.Tensor((4, 4), "float32"))
        q = G.call_tir(cls.plain_pad, (y,), out=G.Tensor((4, 4), "float32"))
        s = G.call_tir(cls.rows, (p,), out=G.Tensor((4,), "float32"))
        t = G.call_tir(cls.rows, (q,), out=G.Tensor((4,), "float32"))
    """
    before = module(kernels, 'x: G.Tensor((14,), "float32"), y: G.Tensor((14,), "float32")', lines, "s, t")
    x = np.arange(14, dtype="float32")
    moved(before, x, -x)


HOLES = {
    "a temporary with holes": """
        T_1 = T.alloc_buffer((16,), "float32")
        for i in range(5):
            with T.block("T"):
                vi = T.axis.spatial(5, i)
                T_1[vi * 2] = A[vi] + T.float32(1)
        for i in range(5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                B[vi] = T_1[vi * 2] * T.float32(2)
""",
    "padding that is stored last": """
        for i in range(5):
            with T.block("low"):
                vi = T.axis.spatial(5, i)
                T.where(i < 2)
                B[vi] = A[vi]
        for i in range(5):
            with T.block("high"):
                vi = T.axis.spatial(5, i)
                T.where(i >= 2)
                B[vi] = A[vi] * T.float32(3)
        for i in range(5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                B[vi] = B[vi] + T.float32(1)
""",
    "halves, a whole": """
        T_1 = T.alloc_buffer((10,), "float32")
        for i in range(5):
            with T.block("low"):
                vi = T.axis.spatial(5, i)
                T_1[vi] = A[vi]
        for i in range(5):
            with T.block("high"):
                vi = T.axis.spatial(5, i)
                T_1[vi + 5] = A[vi] * T.float32(3)
        for i in range(5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                B[vi] = T_1[vi + 2] + T.float32(1)
""",
}


@pytest.mark.parametrize(("name", "branches"), [*zip(HOLES, (1, 3, 0), strict=True)])
def test_nothing_is_read_that_is_not_stored(name: str, branches: int) -> None:
    """Padding computes with what is in range and stored, or has a condition."""
    before = module(
        f"""
    @T.prim_func(private=True)
    def f(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
{HOLES[name].strip(chr(10))}
""",
        'x: G.Tensor((5,), "float32")',
        'y = G.call_tir(cls.f, (x,), out=G.Tensor((5,), "float32"))',
        "y",
    )
    done = moved(before, np.arange(5, dtype="float32"), layouts={"y": {"B": tiles}})
    assert done.report.branches == branches


def test_sizes_that_a_call_compares_are_compared() -> None:
    """13 and 14 elements are as many tiles of 4."""
    before = module(
        """
    @T.prim_func(private=True)
    def add(A: T.Buffer(("k",), "float32"), B: T.Buffer(("k",), "float32"), C: T.Buffer(("k",), "float32")):
        for i in range(k):
            with T.block("C"):
                vi = T.axis.spatial(k, i)
                C[vi] = A[vi] + B[vi]
""",
        'x: G.Tensor(("n",), "float32"), y: G.Tensor(("m",), "float32")',
        """
        a = G.call_tir(cls.add, (x, x), out=G.Tensor(("n",), "float32"))
        b = G.call_tir(cls.add, (a, y), out=G.Tensor(("n",), "float32"))
        """,
        "b",
    )
    done = moved(before, np.ones(13, "float32"), np.ones(13, "float32"), layouts={"a": {"A": tiles}})
    assert [one.name for one in done.decisions] == ["a"]
    with pytest.raises(DiagnosticError, match="expected shape"):
        tirscript.interpret(done.module, np.ones(14, "float32"), np.ones(13, "float32"))
    with pytest.raises(DiagnosticError, match="known to have the shapes of what is passed"):
        reflow(before, layouts={"b": {"A": tiles}})


@pytest.mark.parametrize(
    ("said", "why"), [('"none"', "a Python str"), ("300", "does not fit int8"), ("[1]", "a Python tuple")]
)
def test_a_crop_says_a_number(said: str, why: str) -> None:
    before = module(
        f"""
    @T.prim_func(private=True)
    def f(A: T.Buffer((14,), "int8"), B: T.Buffer((14,), "int8")):
        P = T.alloc_buffer((4, 4), "int8")
        for i in range(14):
            with T.block("P"):
                vi = T.axis.spatial(14, i)
                P[vi // 4, vi % 4] = A[vi]
        for i in range(14):
            with T.block("B"):
                vi = T.axis.spatial(14, i)
                T.block_attr({{"postproc": ("crop", {said})}})
                B[vi] = P[vi // 4, vi % 4]
""",
        'x: G.Tensor((14,), "int8")',
        'y = G.call_tir(cls.f, (x,), out=G.Tensor((14,), "int8"))',
        "y",
    )
    with pytest.raises(DiagnosticError, match=f"of the padding of `P` what is no number of it: .*{why}") as caught:
        lift_layout_blocks(before)
    (found,) = caught.value.diagnostics
    assert found.code == "T301" and found.span is not None and found.span.text.startswith('with T.block("B")')


def test_a_packed_copy_that_is_changed_stays_inside() -> None:
    """Lifted, both calls would change the one copy."""
    before = module(
        """
    @T.prim_func(private=True)
    def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        P = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"preproc": "pad"})
                P[vi, vj] = T.if_then_else(vi * 4 + vj < 14, A[vi * 4 + vj], T.float32(0))
        for i, j in T.grid(4, 4):
            with T.block("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = P[vi, vj] * T.float32(2)
        for i in range(14):
            with T.block("B"):
                vi = T.axis.spatial(14, i)
                B[vi] = P[vi // 4, vi % 4] + T.float32(1)
""",
        'x: G.Tensor((14,), "float32")',
        """
        y = G.call_tir(cls.f, (x,), out=G.Tensor((14,), "float32"))
        z = G.call_tir(cls.f, (x,), out=G.Tensor((14,), "float32"))
        """,
        "y, z",
    )
    x = np.arange(14, dtype="float32")
    lifted = lift_layout_blocks(before)
    moved(lifted, x)
    for one in tirscript.build(reflow(lifted).module)(x):
        assert np.array_equal(one, x * 2 + 1)


def test_preprocessing_is_of_what_is_given() -> None:
    lines = f"""
    {BUMPED.replace("(y,)", "(x,)")}
    p = G.call_tir(cls.pad, (x,), out=G.Tensor((4, 4), "float32"))
    s = G.call_tir(cls.rows, (p,), out=G.Tensor((4,), "float32"))
    """
    before = module(IN_PLACE, 'x: G.Tensor((14,), "float32")', lines, "s")
    with pytest.raises(DiagnosticError, match="`main` converts none of `x`"):
        split_preprocessing(before, ["x"])


@pytest.mark.parametrize(("size", "index", "layout"), [(0, "vi", tiles), (1, "()", lambda: ())])
def test_tensors_of_no_or_one_element(size: int, index: str, layout: Any) -> None:
    shape = "(0,)" if size == 0 else "()"
    before = module(
        f"""
    @T.prim_func(private=True)
    def f(A: T.Buffer({shape}, "float32"), B: T.Buffer({shape}, "float32")):
        for i in range({size}):
            with T.block("B"):
                vi = T.axis.spatial({size}, i)
                B[{index}] = A[{index}] + T.float32(1)
""",
        f'x: G.Tensor({shape}, "float32")',
        f'y = G.call_tir(cls.f, (x,), out=G.Tensor({shape}, "float32"))',
        "y",
    )
    sch = Schedule(before)
    sch.work_on("f")
    if size:
        sch.transform_layout("B", "A", layout, keep_interface=True)
        moved(lift_layout_blocks(sch.mod), np.ones((), "float32"))
        return
    with pytest.raises(ScheduleError, match="the shape of `A` behind the map is not known"):
        sch.transform_layout("B", "A", layout)
    with pytest.raises(DiagnosticError, match="not proved to keep its elements apart"):
        reflow(before, layouts={"y": {"A": layout}})


def test_a_layout_with_gaps_of_nothing_is_nothing() -> None:
    """`2 * n - 1` places are no places where `n` is 0, not -1."""
    before = module(
        """
    @T.prim_func(private=True)
    def inc(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.float32(1)
""",
        'x: G.Tensor(("n",), "float32")',
        'y = G.call_tir(cls.inc, (x,), out=G.Tensor(("n",), "float32"))\n'
        'z = G.call_tir(cls.inc, (y,), out=G.Tensor(("n",), "float32"))',
        "z",
    )
    for n in (0, 1, 5):
        done = moved(before, np.arange(n, dtype="float32"), layouts={"y": {"B": lambda i: (i * 2,)}})
        assert all(one.packed for one in done.decisions)
        assert np.array_equal(tirscript.build(done.module)(np.arange(n, dtype="float32")), np.arange(n) + 2)
