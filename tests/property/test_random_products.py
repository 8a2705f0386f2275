"""Random reductions that combine what is computed of rows with what is computed of columns, in the styles people write
them, with the default schedule: natively they leave what the interpreter leaves of the loops as they stand.
`make fuzz-native` runs 1,000."""

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
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 40
LEFT = (
    "A[{i}, {k}]",
    "T.max(A[{i}, {k}], {zero})",
    "(A[{i}, {k}] - m[{i}])",
    "A[{i}, {k}] * A[{i}, {k}]",
    "A[x[{i}], {k}]",
    "(A[{i}, {k}] + m[{i}] * A[{i}, {k}])",
    "T.if_then_else({k} <= {i}, A[{i}, {k}], {zero})",
    "-A[{i}, {k}]",
    "c * A[{i}, {k}]",
)
RIGHT = (
    "B[{k}, {j}]",
    "(T.cast(W[{k}, {j}], '{dtype}') * s[{j}])",
    "(T.cast(W[{k}, {j}], '{dtype}') - t[{k} // 2, {j}])",
    "B[{k}, {j}] * B[{k}, {j}]",
    "V[{j}, {k}]",
    "T.cast(T.cast(P[{j}, {k} // 2], 'int32') >> (T.cast({k}, 'int32') % 2 * 4) & 15, '{dtype}')",
    "T.if_then_else({k} < {j}, B[{k}, {j}], s[{j}])",
)
COMBINED = (
    "{l} * {r}",
    "{l} * {r}",
    "({l} - {r}) * ({l} - {r})",
    "T.abs({l} - {r})",
    "{l} * {r} * q[{k}]",
    "{l} * {r} * c",
    "T.max({l} + {r}, {zero})",
    "T.if_then_else({l} > {r}, {l}, {r})",
)
UPDATES = ("{a} + {v}", "{a} + {v}", "{v} + {a}", "{a} - {v}", "T.max({a}, {v})")
STYLES = ("block", "loops", "variable", "onward", "onward block", "ikj", "first", "tiles", "one loop")
# the loops of a triangle: over terms or over columns, and whether what it makes is a variable first
TRIANGLES = ("lower terms", "upper terms", "lower columns", "upper columns", "lower lines")


class Product(Struct, frozen=True):
    """A kernel over `m` by `n` results of `k` terms each, as text."""

    m: int
    n: int
    k: int
    left: str
    right: str
    combined: str
    update: str
    style: str
    dtype: str
    symbolic: bool

    @property
    def text(self) -> str:
        m, n, k = ("m_", "n_", "k_") if self.symbolic else (self.m, self.n, self.k)
        of, zero = f'"{self.dtype}"', f"T.{self.dtype}(0)"

        def update(i: str, j: str, p: str, element: str) -> str:
            names = {"i": i, "j": j, "k": p, "zero": zero, "dtype": self.dtype}
            sides = {"l": self.left.format(**names), "r": self.right.format(**names)}
            value = self.combined.format(**sides, **names)
            return f"{element} = " + self.update.format(a=element, v=value)

        out = [
            "@T.prim_func",
            "def main(a: T.handle, b: T.handle, v: T.handle, w: T.handle, p_: T.handle, c_: T.handle,",
        ]
        out += ["         m1: T.handle, s1: T.handle, q1: T.handle, t1: T.handle, x1: T.handle,"]
        out += [f"         c: T.{self.dtype}):"]
        body = ["m_ = T.int32()", "n_ = T.int32()", "k_ = T.int32()", "h_ = T.int32()"] if self.symbolic else []
        half = "h_" if self.symbolic else (self.k + 1) // 2
        for name, handle, shape, dtype in (
            ("A", "a", f"({m}, {k})", of),
            ("B", "b", f"({k}, {n})", of),
            ("V", "v", f"({n}, {k})", of),
            ("W", "w", f"({k}, {n})", '"int8"'),
            ("P", "p_", f"({n}, {half})", '"uint8"'),
            ("C", "c_", f"({m}, {n})", of),
            ("m", "m1", f"({m},)", of),
            ("s", "s1", f"({n},)", of),
            ("q", "q1", f"({k},)", of),
            ("t", "t1", f"({half}, {n})", of),
            ("x", "x1", f"({m},)", '"int32"'),
        ):
            body.append(f"{name} = T.match_buffer({handle}, {shape}, {dtype})")
        if self.style in ("block", "onward block"):
            body += [f"for i, j, k in T.grid({m}, {n}, {k}):", "    with T.block('C'):"]
            body += ["        vi, vj, vk = T.axis.remap('SSR', [i, j, k])"]
            body += ["        with T.init():", f"            C[vi, vj] = {zero}"] if self.style == "block" else []
            body += ["        " + update("vi", "vj", "vk", "C[vi, vj]")]
        elif self.style == "loops":
            body += [f"for i, j in T.grid({m}, {n}):", f"    C[i, j] = {zero}", f"    for k in range({k}):"]
            body += ["        " + update("i", "j", "k", "C[i, j]")]
        elif self.style == "variable":
            body += [f"for i, j in T.grid({m}, {n}):", f"    total: T.{self.dtype} = {zero}"]
            body += [f"    for k in range({k}):", "        " + update("i", "j", "k", "total"), "    C[i, j] = total"]
        elif self.style == "onward":
            body += [f"for i, k, j in T.grid({m}, {k}, {n}):", "    " + update("i", "j", "k", "C[i, j]")]
        elif self.style == "ikj":
            body += [f"for i in range({m}):", f"    for j in range({n}):", f"        C[i, j] = {zero}"]
            body += [f"    for k, j in T.grid({k}, {n}):", "        " + update("i", "j", "k", "C[i, j]")]
        elif self.style == "first":
            body += [f"for i, j, k in T.grid({m}, {n}, {k}):", "    if k == 0:", f"        C[i, j] = {zero}"]
            body += ["    " + update("i", "j", "k", "C[i, j]")]
        elif self.style == "tiles":
            body += [f"for i, j in T.grid({m}, {n}):", f"    C[i, j] = {zero}"]
            body += [f"for io, ko, ii, j, ki in T.grid({self.m // 2}, {self.k // 2}, 2, {n}, 2):"]
            body += ["    i = io * 2 + ii", "    k = ko * 2 + ki", "    " + update("i", "j", "k", "C[i, j]")]
        elif self.style.endswith("terms"):
            terms = "i + 1" if self.style.startswith("lower") else f"i, {k}"
            body += [f"for i, j in T.grid({m}, {n}):", f"    total: T.{self.dtype} = {zero}"]
            body += [
                f"    for k in range({terms}):",
                "        " + update("i", "j", "k", "total"),
                "    C[i, j] = total",
            ]
        elif self.style.endswith("columns"):
            columns = "i + 1" if self.style.startswith("lower") else f"i, {n}"
            body += [
                f"for i in range({m}):",
                f"    for j in range({columns}):",
                f"        total: T.{self.dtype} = {zero}",
            ]
            body += [f"        for k in range({k}):", "            " + update("i", "j", "k", "total")]
            body += ["        C[i, j] = total"]
        elif self.style == "lower lines":
            body += [f"for i in range({m}):", "    for j in range(i + 1):", f"        C[i, j] *= T.{self.dtype}(2)"]
            body += [f"    for k in range({k}):", "        for j in range(i + 1):"]
            body += ["            " + update("i", "j", "k", "C[i, j]")]
        else:
            body += [f"for f in range({self.m * self.n}):", f"    i = f // {self.n}", f"    j = f % {self.n}"]
            body += [
                f"    C[i, j] = {zero}",
                f"    for k in range({k}):",
                "        " + update("i", "j", "k", "C[i, j]"),
            ]
        return "\n".join([*out, *("    " + line for line in body)]) + "\n"


@st.composite
def drawn(draw: Any) -> Product:
    style = draw(st.sampled_from(STYLES + TRIANGLES))
    sizes = [draw(st.sampled_from((1, 2, 3, 5, 8, 13, 34))) for _ in range(3)]
    if style == "tiles":
        sizes = [2 * size for size in sizes[:2]] + [sizes[2] * 2]
    if style in TRIANGLES:
        rows, columns, terms = sizes
        sizes = [rows, max(rows, columns), max(rows, terms)]
    symbolic = style not in TRIANGLES and style not in ("tiles", "one loop") and draw(st.booleans())
    return Product(
        *sizes,
        draw(st.sampled_from(LEFT)),
        draw(st.sampled_from(RIGHT)),
        draw(st.sampled_from(COMBINED)),
        draw(st.sampled_from(UPDATES)),
        style,
        draw(st.sampled_from(("float32", "int32", "float64"))),
        symbolic,
    )


def arguments(one: Product) -> list[Any]:
    rng = np.random.default_rng(one.m * 7 + one.n * 3 + one.k)
    m, n, k, half = one.m, one.n, one.k, (one.k + 1) // 2
    shapes = [(m, k), (k, n), (n, k), (k, n), (n, half), (m, n), (m,), (n,), (k,), (half, n)]
    dtypes = [one.dtype] * 3 + ["int8", "uint8"] + [one.dtype] * 5
    found = [
        rng.integers(0 if dtype[0] == "u" else -3, 200 if dtype[0] == "u" else 4, shape).astype(dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    return [*found, rng.integers(0, m, m).astype("int32"), 2]


@pytest.mark.long
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn(), st.sampled_from((128, 256, 512)), st.sampled_from((1, 3)))
def test_they_give_what_the_loops_give(one: Product, bits: int, threads: int) -> None:
    note(one.text)
    func = parse(one.text)
    assert isinstance(func, PrimFunc)
    made = default_schedule(func, CpuFacts(bits, threads)).func
    note(made.script())
    wanted, got = arguments(one), arguments(one)
    interpret(func, *wanted)
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(*got)
    for a, b in zip(wanted[:-1], got[:-1], strict=True):
        np.testing.assert_array_equal(a, b)
