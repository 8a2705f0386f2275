"""Slices of a constant that are packed apart, with a table of where each is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.script import HEADER
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Module, structural_equal
from tirscript.ir.constant import constants_of
from tirscript.ir.verify import verify
from tirscript.passes.constants import compress_slices, compression_report, compression_table
from tirscript.script import parse

LAYER = (
    HEADER
    + """@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((40,), "int32"), B: T.Buffer((20,), "int32")):
        W = T.allocate_const(w, "int8", (20, 40))
        for t in range(3):
            for i in range(T.min(8, 20 - t * 8)):
                B[t * 8 + i] = 0
                for j in range(40):
                    B[t * 8 + i] = B[t * 8 + i] + W[t * 8 + i, j].astype("int32") * A[j]
"""
)
A = np.arange(-20, 20, dtype=np.int32)


def sparse() -> Any:
    rng = np.random.default_rng(3)
    return (rng.integers(-9, 9, (20, 40)) * (rng.random((20, 40)) < 0.1)).astype(np.int8)


def module(text: str = LAYER, **names: Any) -> Module:
    found = parse(text, names={"w": sparse(), **names})
    assert isinstance(found, Module)
    return found


def results(given: Module, size: int = 20) -> list[Any]:
    found = []
    for run in (
        tirscript.build(given, debug=True),
        lambda *args: tirscript.interpret(given, *args),
    ):
        out = np.full(size, -1, np.int32)
        run(A, out)
        found.append(out)
    return found


def test_a_loop_over_tiles_of_unequal_sizes() -> None:
    made = compress_slices(module())
    for out in results(made):
        assert np.array_equal(out, sparse().astype(np.int32) @ A)
    text = made.script()
    assert "M.unpack_zero_run(W_packed[W_offsets[t] : W_offsets[t + 1]], W_bytes)" in text
    assert 'W = T.alloc_buffer((8, 40), "int8")' in text and "T.cast(W[i, j]" in text
    packed, offsets = constants_of(made["main"])
    assert offsets.data.array[0] == 0 and offsets.data.array[-1] == packed.data.size
    assert np.all(np.diff(offsets.data.array) > 0)
    assert verify(made) == [] and structural_equal(parse(text), made)
    (row,) = compression_report(made)
    assert (row.slices, row.before, row.after) == (3, 800, packed.data.nbytes + offsets.data.nbytes)
    assert compression_table(made).split("\n")[1].split()[:5] == ["main", "W_packed", "zero_run", "3", "800"]
    assert compress_slices(made) is made


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("for t in range(3):", "for t in T.parallel(3):"),
        ("for t in range(3):", "for t in T.parallel(0, 3):"),
        ("for j in range(40):", "for j in range(1, 40):"),
    ],
)
def test_other_loops(was: str, now: str) -> None:
    given = module(LAYER.replace(was, now))
    made = compress_slices(given)
    assert made is not given
    for out, wanted in zip(results(made), results(given), strict=True):
        assert np.array_equal(out, wanted)


def test_a_loop_that_begins_elsewhere_and_slices_from_behind() -> None:
    text = LAYER.replace("range(3)", "range(2, 5)").replace("t * 8", "(4 - t) * 8")
    made = compress_slices(module(text))
    assert "W_offsets[t - 2]" in made.script()
    for out in results(made):
        assert np.array_equal(out, sparse().astype(np.int32) @ A)


def test_columns_and_several_reads() -> None:
    text = LAYER.replace("range(3)", "range(4)").replace("T.min(8, 20 - t * 8)", "20")
    text = text.replace("t * 8 + i", "i").replace("B[i] = 0", "B[i] = 0 if t == 0 else B[i]")
    text = text.replace("for j in range(40)", "for j in range(9)").replace(
        "W[i, j]", "(W[i, t * 10 + j] + W[i, t * 10 + j + 1])"
    )
    given = module(text.replace("A[j]", "A[t * 10 + j]"))
    made = compress_slices(given)
    assert 'W = T.alloc_buffer((20, 10), "int8")' in made.script()
    for out, wanted in zip(results(made), results(given), strict=True):
        assert np.array_equal(out, wanted)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("W[t * 8 + i, j]", "W[19 - i, j]"),  # each iteration reads the same
        ("range(T.min(8, 20 - t * 8))", "range(T.min(9, 20 - t * 8))"),  # slices overlap
        ("W[t * 8 + i, j]", "W[(t * 8 + i) % 20, j]"),
        ("for t in range(3):", "W_ = T.decl_buffer((800,), 'int8', data=W.data)\n        for t in range(3):"),
        ("            for i in", "            if t == 2:\n                break\n            for i in"),
        ("        for t in range(3):", "        B[0] = W[0, 0].astype('int32')\n        for t in range(3):"),
    ],
)
def test_what_is_no_loop_over_slices_stays(was: str, now: str) -> None:
    given = module(LAYER.replace(was, now))
    assert compress_slices(given) is given


def test_what_gains_nothing_stays() -> None:
    noise = np.random.default_rng(0).integers(-128, 127, (20, 40)).astype(np.int8)
    for program, options in ((module(w=noise), {}), (module(), {"least": 801}), (module(), {"ratio": 0.01})):
        assert compress_slices(program, **options) is program


def test_unresolved_data_stays() -> None:
    text = module().script().replace(tirscript.constant(sparse()).digest, "sha256:" + "0" * 64)
    lost = parse(text)
    assert compress_slices(lost) is lost


@settings(max_examples=6, deadline=None)
@given(
    st.integers(2, 5), st.integers(1, 6), st.integers(0, 5), st.sampled_from(["int8", "int32"]), st.integers(0, 1 << 30)
)
def test_any_tiles(tiles: int, rows: int, cut: int, kind: str, seed: int) -> None:
    total = max(1, tiles * rows - min(cut, rows - 1))
    rng = np.random.default_rng(seed)
    w = (rng.integers(-3, 3, (total, 40)) * (rng.random((total, 40)) < 0.2)).astype(kind)
    text = (
        LAYER.replace("range(3)", f"range({tiles})").replace("t * 8", f"t * {rows}").replace("T.min(8", f"T.min({rows}")
    )
    text = text.replace('"int8", (20, 40)', f'"{kind}", ({total}, 40)').replace("20 - t", f"{total} - t")
    given = module(text.replace("(20,)", f"({total},)"), w=w)
    made = compress_slices(given, least=1, ratio=10.0)
    assert made is not given
    for out in results(made, total):
        assert np.array_equal(out, w.astype(np.int32) @ A)
