"""Products of bytes by the tiles of AMX: the instructions, what the default schedule makes of kernels, and who may."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.bytes import BYTES, KERNELS, product, words
from helpers.processor import has

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.backend.runtime import tiles
from tirscript.ir import AllocBuffer, DiagnosticError, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.passes.schedule.tensor_intrin import TensorIntrin
from tirscript.script import parse
from tirscript.testing import assert_same_result

FACTS = CpuFacts(vector_bits=512, threads=2, tiles=True)
HERE = has("amx-int8")


@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_the_instruction_is_what_is_described(left: str, right: str) -> None:
    intrin = TensorIntrin.get(f"dot_16x16x64_{left}_{right}_amx")
    rng = np.random.default_rng(1)
    whole = {"int8": (-128, 128), "uint8": (0, 256)}
    A = rng.integers(*whole[left], (16, 64), left)
    B = rng.integers(*whole[right], (16, 16, 4), right)
    A[0], B[:, 0] = whole[left][0] or 255, whole[right][0] or 255
    start = rng.integers(-(1 << 31), 1 << 31, 256).astype("int32")
    start[:2] = (1 << 31) - 1, -(1 << 31)  # sums wrap
    results = []
    for function in (intrin.desc, intrin.impl):
        results.append(start.copy())
        interpret(function, A, B, results[-1])
    if HERE:
        results.append(start.copy())
        tirscript.build(intrin.impl)(A, B, results[-1])
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("dtype", BYTES)
def test_lines_in_turn(dtype: str) -> None:
    intrin = TensorIntrin.get(f"interleave_4x16_{dtype}")
    assert_same_result(intrin.desc, intrin.impl)


@pytest.mark.parametrize("name", KERNELS)
def test_products_of_bytes_are_tiles(name: str) -> None:
    kernel = KERNELS[name]
    made = default_schedule(kernel, FACTS).func
    assert "llvm.x86.tdpb" in words(made)
    assert_same_result(kernel, made, tolerance=0.0, native=HERE)
    # results are two by two tiles in registers, and lines behind them
    lowered = DEFAULT_LOWERING(made)
    local = [node.buffer for node in walk(lowered.body) if type(node) is AllocBuffer and node.buffer.scope == "local"]
    assert len(local) == 2
    assert all(np.prod(buffer.constant_shape() or (1 << 20,)) <= 4 * 256 for buffer in local)


@pytest.mark.parametrize(
    ("m", "n", "k", "parallel"),
    [(300, 300, 130, 2), (256, 512, 64, 2), (40, 512, 70, 3), (256, 4096, 320, 3)],
    ids=["odd", "small", "few rows", "wide"],
)
def test_rows_are_packed_where_they_are_read(m: int, n: int, k: int, parallel: int) -> None:
    """Each thread copies its own rows where there are enough, unless the other operand is too large to be read again."""
    kernel = product(m, n, k)
    made = default_schedule(kernel, FACTS).func
    assert words(made).count("T.parallel(") == parallel
    if HERE:
        rng = np.random.default_rng(1)
        A, B = rng.integers(-128, 128, (m, k), "int8"), rng.integers(-128, 128, (k, n), "int8")
        C = np.full((m, n), -1, "int32")
        tirscript.build(made, pipeline=DEFAULT_LOWERING)(A, B, C)
        assert np.array_equal(C, A.astype("int32") @ B.astype("int32"))


def test_other_products_are_not() -> None:
    plain = CpuFacts(vector_bits=512, threads=2)
    for kernel, facts in (
        (KERNELS["whole"], plain),
        (product(64, 64, 8), FACTS),
        (product(4, 64, 128), FACTS),
        (product(64, 64, 64, "int16", "int8"), FACTS),
    ):
        assert "llvm.x86" not in words(default_schedule(kernel, facts).func)


NARROW = """
@T.prim_func
def main(A: T.Buffer((32, 64), "int8"), B: T.Buffer((64, 16), "int8"), C: T.Buffer((32, 16), "int32")):
    for i, j, k in T.grid(32, 16, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] += T.cast({value}, "int32")
"""


@pytest.mark.parametrize("value", ["A[vi, vk] * B[vk, vj]", 'T.cast(A[vi, vk], "int16") * T.cast(B[vk, vj], "int16")'])
def test_products_that_are_rounded_before_they_are_added_are_not(value: str) -> None:
    kernel = parse(NARROW.format(value=value))
    assert isinstance(kernel, PrimFunc)
    made = default_schedule(kernel, FACTS).func
    assert "llvm.x86" not in words(made)
    assert_same_result(kernel, made, tolerance=0.0)


CALL = """
@T.prim_func
def main(A: T.Buffer((1024,), "int8"), B: T.Buffer((1024,), "int8"), C: T.Buffer((256,), "int32")):
    C[0:256] = T.call_llvm_pure_intrin(
        "int32x256", "llvm.x86.tdpbssd.internal", T.int16({rows}), T.int16(64), T.int16(64),
        C[0:256], A[0:1024], B[0:1024],
    )
"""


@pytest.mark.skipif(not HERE, reason="the processor has no tiles")
def test_a_tile_has_one_size() -> None:
    for build in (tirscript.build, lambda f: interpret(f, *(np.zeros(n, d) for n, d in SIZES))):
        with pytest.raises(DiagnosticError) as info:
            build(parse(CALL.format(rows=8)))
        assert info.value.diagnostics[0].code == "T204"


SIZES = ((1024, "int8"), (1024, "int8"), (256, "int32"))


@pytest.mark.skipif(not HERE, reason="the processor has no tiles")
def test_code_asks_for_the_right_to_use_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE", "0")
    monkeypatch.setattr(tiles, "permitted", lambda: False)
    with pytest.raises(DiagnosticError) as info:
        tirscript.build(parse(CALL.format(rows=16)))
    assert info.value.diagnostics[0].code == "T402"
    assert "dot_16x4_vnni" in str(info.value)


def test_a_system_without_tiles_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refuses:
        def syscall(self, number: int, what: int, argument: Any) -> int:
            assert what == 0x1021  # a question, no request
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Refuses())
    assert not tiles.supported.__wrapped__()
    monkeypatch.setattr(tiles.sys, "platform", "darwin")
    assert not tiles.supported.__wrapped__()


LOADS = """
import numpy as np, sys, tirscript
from tirscript.backend.runtime import tiles
A, B = np.ones((32, 128), "int8"), np.full((128, 16), 2, "int8")
C = np.zeros((32, 16), "int32")
tirscript.load(sys.argv[1])["product"](A, B, C)
print((C == 256).all(), tiles.permitted.cache_info().misses)
"""


@pytest.mark.skipif(
    not HERE or shutil.which("cc") is None, reason="the processor has no tiles, or there is no compiler"
)
def test_a_library_asks_itself(tmp_path: Path) -> None:
    path = tmp_path / "product.so"
    tirscript.build(KERNELS["whole"]).export(path)
    done = subprocess.run([sys.executable, "-c", LOADS, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "0"], done.stderr
