"""Random histograms with the default schedule, natively with each index checked, on several threads: what they leave is
what the interpreter leaves. `make fuzz-native` runs 1,000."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from msgspec import Struct

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.backend.llvm import parallel
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, histograms
from tirscript.script import parse
from tirscript.testing import assert_same_result

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 12
DTYPES = ("int8", "uint8", "int32", "int64", "uint16", "float32", "float64")
OPS = ("{a} + {b}", "{b} + {a}", "T.max({a}, {b})", "T.min({b}, {a})", "{a} * {b}", "{a} ^ {b}", "{a} | {b}")


@pytest.fixture(autouse=True, scope="module")
def small() -> Any:
    """Few iterations are enough for parts, and for threads."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("PART", 4), ("OFTEN", 1), ("APART", 2), ("LINES", 8), ("AHEAD", 2), ("LEAST", 64)):
            patch.setattr(histograms, name, value)
        patch.setattr(parallel, "WORK", 0.0)
        patch.setattr(parallel, "ROUSE", 0.0)
        patch.setenv("TIRSCRIPT_CACHE", "0")
        before = tirscript.get_num_threads()
        tirscript.set_num_threads(3)
        yield
        tirscript.set_num_threads(before)


class Histogram(Struct, frozen=True):
    """A kernel that updates bins, as text; `rows` of 0 is one loop, of a size that is known or not."""

    rows: int
    n: int
    bins: tuple[int, ...]
    dtype: str
    index: str
    ops: tuple[str, ...]
    masked: bool
    named: bool
    block: bool
    symbolic: bool

    @property
    def text(self) -> str:
        size = "n" if self.symbolic else str(self.n)
        shape = f"({self.rows}, {size})" if self.rows else f"({size},)"
        bins = f"({', '.join(map(str, self.bins))},)"
        at = ("vi, vj" if self.block else "i, j") if self.rows else ("vj" if self.block else "j")
        loops = f"for i, j in T.grid({self.rows}, {size}):" if self.rows else f"for j in range({size}):"
        out = ["@T.prim_func", f'def main(a: T.handle, w: T.handle, H: T.Buffer({bins}, "{self.dtype}"),']
        out += [f'         G: T.Buffer({bins}, "{self.dtype}")):']
        out += ["    n = T.int32()"] if self.symbolic else []
        out += [
            f'    A = T.match_buffer(a, {shape}, "{self.index}")',
            f'    W = T.match_buffer(w, {shape}, "{self.dtype}")',
        ]
        out += [f"    {loops}"]
        body = []
        if self.block:
            axes = 'vi, vj = T.axis.remap("RR", [i, j])' if self.rows else f"vj = T.axis.reduce({size}, j)"
            body += ['with T.block("count"):', f"    {axes}"]
        pad = "    " if self.block else ""
        where = f"A[{at}]"
        if self.named:
            body.append(f"{pad}b = A[{at}]")
            where = "b"
        if self.masked:
            body.append(f"{pad}if A[{at}] < 5 and W[{at}] != T.{self.dtype}(2):")
            pad += "    "
        for op, buffer in zip(self.ops, "HG"):
            element = f"{buffer}[{', '.join([where] + [f'({where} + {k}) % {size}' for k, size in enumerate(self.bins[1:])])}]"
            body.append(f"{pad}{element} = " + op.format(a=element, b=f"W[{at}]"))
        return "\n".join([*out, *("        " + line for line in body)]) + "\n"


@st.composite
def drawn(draw: Any) -> Histogram:
    dtype = draw(st.sampled_from(DTYPES))
    ops = st.sampled_from(OPS[:2] if dtype.startswith("float") else OPS)
    return Histogram(
        draw(st.sampled_from((0, 0, 2, 5, 17))),
        draw(st.sampled_from((1, 2, 7, 16, 23, 64, 65, 130, 333))),
        tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=2))),
        dtype,
        draw(st.sampled_from(("int32", "uint8", "int64"))),
        tuple(draw(st.lists(ops, min_size=1, max_size=2))),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
    )


@pytest.mark.long
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn(), st.sampled_from((1, 2, 8)))
def test_they_count_what_the_loops_count(one: Histogram, threads: int) -> None:
    note(one.text)
    func = parse(one.text)
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, CpuFacts(512, threads)).func
    note(made.script())
    rng = np.random.default_rng(one.n + one.rows)
    shape = (one.rows, one.n) if one.rows else (one.n,)
    given_at = rng.integers(0, one.bins[0], shape).astype(one.index)
    weights = rng.integers(0, 4, shape).astype(one.dtype)
    bins = [rng.integers(0, 9, one.bins).astype(one.dtype) for _ in range(2)]
    wanted, found, also = ([array.copy() for array in bins] for _ in range(3))
    interpret(func, given_at, weights, *wanted)
    interpret(made, given_at, weights, *also)
    tirscript.build(made, pipeline=DEFAULT_LOWERING, debug=True)(given_at, weights, *found)
    for array, other, right in zip(found, also, wanted, strict=True):
        assert (array == right).all() and (other == right).all()  # whole numbers are exact in any order


def test_most_of_them_are_done_in_parts() -> None:
    """What the property is about: of the drawn kernels, those with enough iterations are."""
    plain = Histogram(0, 333, (7,), "int32", "int32", OPS[:1], True, True, False, False)
    for one in (plain, Histogram(17, 65, (3, 4), "float32", "uint8", OPS[:2], False, False, True, False)):
        func = parse(one.text)
        assert isinstance(func, PrimFunc)
        made = default_schedule(func, CpuFacts(512, 2)).func
        assert "H_parts" in made.script() and "T.parallel" in made.script()
        if one is plain:
            assert "T.prefetch" in made.script() and "H_own_3" in made.script()
            assert_same_result(func, made)
