"""Random nests of plain loops, most of which stay loops, leave the same with vectors, rows and blocks made of them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 100
ROWS, COLUMNS = 21, 37
Item = TypeVar("Item")
HEAD = f"""
@T.prim_func
def main(
    A: T.Buffer(({ROWS}, {COLUMNS}), "float32"), B: T.Buffer(({ROWS}, {COLUMNS}), "float32"),
    X: T.Buffer(({COLUMNS},), "float32"), Y: T.Buffer(({ROWS},), "float32"), L: T.Buffer(({COLUMNS},), "int32"),
    C: T.Buffer(({ROWS}, {COLUMNS}), "float32"), D: T.Buffer(({COLUMNS},), "float32"), E: T.Buffer(({ROWS},), "float32"),
):
"""


class Names(NamedTuple):
    """What a statement may use: indices of rows and of columns, integers, floats that are variables, and the indices,
    with whether they are rows, that are never 0."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    later: tuple[tuple[str, bool], ...] = ()

    def loop(self, name: str, is_row: bool, later: bool) -> Names:
        """The same in a loop over rows or columns."""
        return self._replace(
            rows=(*self.rows, name) if is_row else self.rows,
            columns=self.columns if is_row else (*self.columns, name),
            integers=(*self.integers, name),
            later=(*self.later, (name, is_row)) if later else self.later,
        )


class Writer:
    """Writes statements as a seed has it: what hypothesis draws itself are mostly the shortest programs there are.

    Values read `results` where these cannot grow beyond all bounds.
    """

    def __init__(self, seed: int, *, results: bool) -> None:
        self.random, self.count, self.results = random.Random(seed), 0, results

    def one(self, choices: Iterable[Item]) -> Item:
        return self.random.choice(tuple(choices))

    def maybe(self) -> bool:
        return self.random.random() < 0.5

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def value(self, names: Names, depth: int = 0) -> str:
        leaves = [*names.variables, *names.variables, "T.float32(0.5)", "T.float32(-0.75)"]
        leaves += [f"{array}[{i}, {j}]" for array in "AB" for i in names.rows for j in names.columns]
        leaves += [*(f"X[{j}]" for j in names.columns), *(f"Y[{i}]" for i in names.rows)]
        if self.results:
            leaves += [f"C[{i}, {j}]" for i in names.rows for j in names.columns]
            leaves += [*(f"D[{j}]" for j in names.columns), *(f"E[{i}]" for i in names.rows)]
        leaves += [f'T.cast({name}, "float32") * T.float32(0.1)' for name in names.integers[:2]]
        left = self.one(leaves)
        form = self.one(("leaf", "leaf", "+", "-", "*", "max", "choice")) if depth < 2 else "leaf"
        if form == "leaf":
            return left
        right = self.value(names, depth + 1)
        if form == "max":
            return f"T.max({left}, {right})"
        return (
            f"T.if_then_else({self.condition(names)}, {left}, {right})"
            if form == "choice"
            else f"({left} {form} {right})"
        )

    def condition(self, names: Names) -> str:
        found = [
            f"{a} {op} {b}" for a in names.integers for b in (*names.integers, "7") for op in ("<", ">=") if a != b
        ]
        found += [f"A[{i}, {j}] > T.float32(0)" for i in names.rows for j in names.columns]
        found += [f"L[{j}] > 5" for j in names.columns]
        return self.one(found)

    def statements(self, names: Names, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            made, names = self.statement(names, depth)
            lines += made
        return lines

    def statement(self, names: Names, depth: int) -> tuple[list[str], Names]:
        """The lines of a statement, and what those behind it may use."""
        kind = self.one(("variable", "length", "if", "loop", "loop", "loop", "store", "store", "store"))
        if kind == "variable":
            name = self.name("s")
            value = "0.0" if self.maybe() else self.value(names)
            return [f"{name}: T.float32 = {value}"], names._replace(variables=(*names.variables, name))
        if kind == "length":
            name, given_by = self.name("n"), self.one(names.integers)
            forms = [f"{given_by} + 1", f"{given_by} * 2", f"T.min({given_by}, 11)"]
            forms += [f"T.max(T.min(L[{j}], 15), 0)" for j in names.columns]
            return [f"{name}: T.let[T.int32] = {self.one(forms)}"], names._replace(integers=(*names.integers, name))
        if kind == "if":
            lines = [f"if {self.condition(names)}:", *self.inner(self.statements(names, depth + 1))]
            if self.maybe():
                lines += ["else:", *self.inner(self.statements(names, depth + 1))]
            return lines, names
        if kind == "loop" and depth < 4:
            return self.loop(names, depth), names
        return [self.store(names)], names

    def loop(self, names: Names, depth: int) -> list[str]:
        name, is_row = self.name("k"), self.maybe()
        extent = ROWS if is_row else COLUMNS
        length = f"T.max(T.min({self.one(names.integers)} + 1, {extent}), 0)" if names.integers else ""
        own = names.rows if is_row else names.columns
        triangle = self.one([f"{other} + 1" for other in own] + [f"{other}, {extent}" for other in own]) if own else ""
        bounds = self.one((f"{extent}", f"{extent}", f"1, {extent}", length or f"{extent}", triangle or f"{extent}"))
        body = self.statements(names.loop(name, is_row, bounds.startswith("1, ")), depth + 1)
        return [f"for {name} in range({bounds}):", *self.inner(body)]

    def store(self, names: Names) -> str:
        elements = [f"C[{i}, {j}]" for i in names.rows for j in names.columns]
        targets = [*elements, *elements, *names.variables, *names.variables]
        targets += [*(f"D[{j}]" for j in names.columns), *(f"E[{i}]" for i in names.rows)]
        target, value = self.one(targets), self.value(names)
        before = [
            f"C[{i}, {j}] = C[{i}{' - 1' * is_row}, {j}{' - 1' * (not is_row)}] * T.float32(0.5) + {value}"
            for late, is_row in names.later
            for i in (names.rows if not is_row else (late,))
            for j in (names.columns if is_row else (late,))
        ]
        changed = [f"{target} + {value}", f"T.max({target}, {value})", f"{target} * T.float32(0.5) + {value}"]
        return str(self.one([*before, *(f"{target} = {one}" for one in (value, value, *changed))]))

    @staticmethod
    def inner(lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]


# what stands in the text of floats for an integer
NUMBERS = {"(0.5)": "(3)", "(-0.75)": "(2)", "(0.1)": "(7)", "= 0.0": "= 1"}


def nests(seed: int, dtype: str) -> PrimFunc:
    """One or two nests, each of a loop with several statements."""
    writer, lines = Writer(seed, results=dtype != "float32"), []
    for _ in range(writer.random.randint(1, 2)):
        lines += writer.loop(Names(), 1)
    text = HEAD + "\n".join(writer.inner(lines)) + "\n"
    if dtype != "float32":
        for number, other in {**NUMBERS, "float32": dtype}.items():
            text = text.replace(number, other)
    note(text)
    found = parse(text)
    assert isinstance(found, PrimFunc)
    return found


@pytest.mark.long
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 2**32),
    st.sampled_from(("float32", "int32", "uint8")),
    st.sampled_from((128, 512)),
    st.sampled_from((1, 2)),
)
def test_nests_do_what_they_did(seed: int, dtype: str, bits: int, threads: int) -> None:
    func = nests(seed, dtype)
    made = scheduled(func, CpuFacts(vector_bits=bits, threads=threads))
    if made is func:
        return
    note(made.script())
    assert not verify(made) and structural_equal(parse(made.script()), made)
    assert_same_result(func, made, tolerance=2e-3)
