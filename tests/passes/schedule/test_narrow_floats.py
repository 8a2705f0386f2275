"""Products of float16 and bfloat16 that are added up in float32: the operands are converted once, where they are copied."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import OPS, BufferLoad, Call, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

FACTS = CpuFacts(vector_bits=512, threads=2)
KINDS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7, -6e-8, 1e-39, 65504.0]


def product(m: object, n: object, k: object, dtype: str, right: str = "B[p, j]", result: str = "float32") -> PrimFunc:
    shape = (k, n) if right == "B[p, j]" else (n, k)
    sizes = [f"({m!r}, {k!r})", f"({shape[0]!r}, {shape[1]!r})", f"({m!r}, {n!r})"]
    found = parse(f"""
@T.prim_func
def main(A: T.Buffer({sizes[0]}, "{dtype}"), B: T.Buffer({sizes[1]}, "{dtype}"), C: T.Buffer({sizes[2]}, "{result}")):
    for i, j in T.grid(C.shape[0], C.shape[1]):
        total: T.float32 = 0.0
        for p in range(A.shape[1]):
            total += T.cast(A[i, p], "float32") * T.cast({right}, "float32")
        C[i, j] = T.cast(T.max(total, T.float32(-1)), "{result}")
""")
    assert isinstance(found, PrimFunc)
    return found


def conversions(func: PrimFunc) -> set[str]:
    """The buffers of which elements are converted."""
    calls = [node for node in walk(func.body) if type(node) is Call and node.op is OPS["cast"]]
    return {call.args[0].buffer.name for call in calls if type(call.args[0]) is BufferLoad}


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("right", ["B[p, j]", "B[j, p]"])
@pytest.mark.parametrize("sizes", [(64, 256, 64), (37, 131, 29), (300, 129, 257)], ids=str)
def test_operands_are_converted_where_they_are_copied(dtype: str, right: str, sizes: tuple[int, int, int]) -> None:
    kernel = product(*sizes, dtype, right)
    made = default_schedule(kernel, FACTS).func
    assert conversions(made) <= {"A", "B"}
    (m, n, k), rng = sizes, np.random.default_rng(1)
    A = rng.integers(-8, 9, (m, k)).astype(KINDS[dtype])
    B = rng.integers(-8, 9, (k, n)).astype(KINDS[dtype])
    A[0, : len(SPECIAL)] = SPECIAL
    B[: len(SPECIAL), 1] = SPECIAL[::-1]
    given = np.ascontiguousarray(B if right == "B[p, j]" else B.T)
    C = np.full((m, n), -1, "float32")
    tirscript.build(made, pipeline=DEFAULT_LOWERING)(A, given, C)
    with np.errstate(all="ignore"):
        wanted = A.astype("float32") @ B.astype("float32")
    wanted[0], wanted[:, 1] = C[0], C[:, 1]
    assert np.array_equal(C, np.maximum(wanted, -1))
    few = (slice(0, 2), slice(0, 3))
    small = np.full((2, 3), -1, "float32")
    interpret(product(2, 3, k, dtype), A[:2].copy(), B[:, :3].copy(), small)
    np.testing.assert_allclose(C[few], small, rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize(("columns", "copied"), [(4, False), (8, True), (32, True)])
def test_rows_that_few_columns_read_are_not_copied_for_it(columns: int, copied: bool) -> None:
    made = default_schedule(product(64, columns, 64, "float16"), FACTS).func
    assert conversions(made) == {"A", "B"}
    assert ("A_global" in made.script()) is copied


def test_integers_are_left_to_llvm() -> None:
    text = product(64, 256, 64, "float16").script().replace("float16", "int16").replace("float32", "int32")
    kernel = parse(text.replace("-1.0", "-1").replace("0.0", "0"))
    assert isinstance(kernel, PrimFunc)
    assert conversions(default_schedule(kernel, FACTS).func) & {"B_global"}


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("right", ["B[p, j]", "B[j, p]"])
def test_rows_that_only_the_call_knows(dtype: str, right: str) -> None:
    kernel = product("m", 200, 48, dtype, right)
    made = default_schedule(kernel, FACTS).func
    assert conversions(made) <= {"A", "B"}
    code, rng = tirscript.build(made, pipeline=DEFAULT_LOWERING), np.random.default_rng(2)
    for m in (0, 1, 2, 17, 64):
        A = rng.integers(-8, 9, (m, 48)).astype(KINDS[dtype])
        B = rng.integers(-8, 9, (48, 200)).astype(KINDS[dtype])
        C = np.full((m, 200), -9, "float32")
        code(A, np.ascontiguousarray(B if right == "B[p, j]" else B.T), C)
        assert np.array_equal(C, np.maximum(A.astype("float32") @ B.astype("float32"), -1))
