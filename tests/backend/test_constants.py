"""Constants at run time: the interpreter and native code read the same elements, from the one array there is."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.script import HEADER, function

import tirscript
from tirscript.ir import (
    AllocateConst,
    Buffer,
    BufferLoad,
    BufferStore,
    ConstantTensor,
    DiagnosticError,
    For,
    PrimFunc,
    Var,
    constant,
    structural_hash,
)
from tirscript.ir import const as number
from tirscript.ir import dtype as dtype_of
from tirscript.passes import DEFAULT_LOWERING, Sequential
from tirscript.passes.constants.placement import SHORT
from tirscript.passes.simplify import simplify
from tirscript.script import parse

KINDS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
)


def copying(array: Any, **options: Any) -> PrimFunc:
    """A function that copies a constant into its parameter, element by element."""
    kind = dtype_of(array.dtype)
    flat = Buffer("K", (number(array.size),), kind, **options)
    out = Buffer("B", (number(array.size),), kind)
    i = Var("i")
    copy = For(i, number(0), number(array.size), (BufferStore(out, (i,), BufferLoad(flat, (i,))),))
    return PrimFunc("copying", (out,), (AllocateConst(flat, constant(array)), copy))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [5, 5000])
def test_every_dtype_short_and_long(kind: str, count: int) -> None:
    raw = np.random.default_rng(count).integers(0, 256, count * 8, dtype=np.uint8)
    raw = raw & 1 if kind == "bool" else raw
    array = raw.view(np.dtype(getattr(ml_dtypes, kind, kind)))[:count].copy()
    if array.dtype.kind in "fV":
        with np.errstate(invalid="ignore"):
            array[array != array] = 1  # the bits of nans need not survive a move
    program = copying(array)
    native, interpreted = np.zeros_like(array), np.zeros_like(array)
    tirscript.build(program)(native)
    tirscript.interpret(program, interpreted)
    assert native.tobytes() == interpreted.tobytes() == array.tobytes()


def test_short_ones_are_in_the_code_and_long_ones_are_not() -> None:
    for count, inside in ((SHORT, True), (SHORT + 1, False)):
        array = np.arange(count, dtype=np.uint8) | 1
        built = tirscript.build(copying(array))
        assert (f"= external local_unnamed_addr constant [{count} x i8]" in built.llvm_ir()) is not inside
        assert (f"constant [{count} x i8] c" in built.llvm_ir()) is inside


def test_native_code_reads_the_array_itself_and_keeps_it() -> None:
    array = np.arange(100_000, dtype=np.int64)
    program = copying(array)
    built = tirscript.build(program)
    held = built._core.compiled.constants
    assert [np.shares_memory(found, array) for found in held.values()] == [True]
    del array, program, held
    gc.collect()
    result = np.zeros(100_000, np.int64)
    built(result)
    assert np.array_equal(result, np.arange(100_000))


def test_two_modules_share_the_array_and_two_functions_of_one() -> None:
    first, second = tirscript.build(copying(np.arange(9000))), tirscript.build(copying(np.arange(9000)))
    arrays = [one for built in (first, second) for one in built._core.compiled.constants.values()]
    assert len(arrays) == 2 and arrays[0] is arrays[1]


@pytest.mark.parametrize("align", [64, 4096])
@pytest.mark.parametrize("count", [16, 5000])
def test_alignment_is_what_the_buffer_asks_for(align: int, count: int) -> None:
    array = np.arange(count, dtype=np.int32)
    text = HEADER + (
        '@T.prim_func\ndef f(X: T.Buffer((1,), "int64")):\n'
        f'    K = T.allocate_const(k, "int32", ({count},), align={align})\n'
        '    X[0] = T.reinterpret("int64", T.address_of(K[0])) % T.int64(4096)\n'
    )
    result = np.full(1, -1)
    tirscript.build(parse(text, names={"k": array}))(result)
    assert result[0] % align == 0


LOOKUP = """
K = T.allocate_const(k, "float32", (8, 16))
V = T.decl_buffer((128,), "float32", data=K.data)
for i in range(16):
    with T.block("b"):
        vi = T.axis.spatial(16, i)
        A[vi] = K[vi % 8, 15 - vi] + V[vi * 8]
for i in T.vectorized(4):
    B[0, i] = K[1, i]
B[1, 0:4] = K[2, 0:4]
B[2, 0:4] = V[T.ramp(0, 3, 4)]
for i in range(4):
    B[3, i] = K[i, n]
"""


def test_views_vectors_and_gathers_agree() -> None:
    k = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)
    program = function(LOOKUP, k=k)
    results = []
    for run in (tirscript.build(program), tirscript.build(program, debug=True), None):
        args = [np.zeros(16, np.float32), np.zeros((4, 4), np.float32), np.zeros(16, np.int32), 3]
        if run is None:
            tirscript.interpret(program, *args)
        else:
            run(*args)
        results.append([item.tobytes() for item in args[:2]])
    a, b = np.frombuffer(results[0][0], np.float32), np.frombuffer(results[0][1], np.float32).reshape(4, 4)
    assert results[0] == results[1] == results[2]
    rows = np.arange(16)
    assert np.array_equal(a, k[rows % 8, 15 - rows] + k.reshape(-1)[rows * 8])
    assert np.array_equal(b, [k[1, :4], k[2, :4], k.reshape(-1)[:12:3], k[:4, 3]])


def test_indices_are_checked() -> None:
    program = function('K = T.allocate_const([1.0, 2.0], "float32", (2,))\nA[0] = K[n]')
    args = [np.zeros(16, np.float32), np.zeros((4, 4), np.float32), np.zeros(16, np.int32), 2]
    for run in (lambda: tirscript.interpret(program, *args), lambda: tirscript.build(program, debug=True)(*args)):
        with pytest.raises(DiagnosticError, match=r"`K\[2\]` is out of bounds"):
            run()


CALLS = (
    HEADER
    + """@I.ir_module
class M:
    @T.prim_func(private=True)
    def add(B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = B[i] + C[i]

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        K = T.allocate_const(k, "float32", (4,))
        L = T.allocate_const(l, "float32", (3, 4))
        M.add(A, K)
        M.add(A, L[2, 0:4])
"""
)


def test_constants_are_passed_to_functions_that_read_them() -> None:
    module = parse(CALLS, names={"k": np.ones(4, np.float32), "l": np.arange(12, dtype=np.float32).reshape(3, 4)})
    for run in (tirscript.build(module), lambda array: tirscript.interpret(module, array)):
        result = np.zeros(4, np.float32)
        run(result)
        assert result.tolist() == [9, 10, 11, 12]


def test_foreign_code_gets_the_address() -> None:
    text = 'K = T.allocate_const(k, "uint8", (4,))\nX[0] = T.call_extern("int32", "strlen", K.data)'
    program = function(text, k=np.array([65, 66, 67, 0], np.uint8))
    args = [np.zeros(16, np.float32), np.zeros((4, 4), np.float32), np.zeros(16, np.int32), 2]
    tirscript.build(program)(*args)
    assert args[2][0] == 3


# -- lowering


def lowered(body: str, **names: Any) -> str:
    return DEFAULT_LOWERING(function(body, **names)).script()


def test_elements_at_known_indices_fold() -> None:
    body = """
    K = T.allocate_const([[1, 2], [3, 4]], "int32", (2, 2))
    V = T.decl_buffer((4,), "int32", data=K.data)
    for i in T.unroll(2):
        X[i] = K[i, 1] * V[3]
    """
    text = lowered(body)
    assert "X[0] = 8\n" in text and "X[1] = 16\n" in text


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ('K = T.allocate_const([1.0, float("nan")], "float32", (2,))\nA[0] = K[1]', "A[0] = K[1]"),
        ('K = T.allocate_const([1.0, 2.0], "float32", (2,))\nA[0] = K[n]', "A[0] = K[n]"),
        (
            'K = T.allocate_const([1, 2], "int32", (2,))\nV = T.decl_buffer((8,), "uint8", data=K.data)\nX[0] = V[0]',
            "V[0]",
        ),
        (
            'K = T.allocate_const([1, 2], "int32", (2,))\nV = T.decl_buffer((1,), data=K.data, elem_offset=1)\nA[0] = V[0]',
            "V[0]",
        ),
        ('K = T.allocate_const([1, 2], "int32", (2,))\nT.evaluate(T.address_of(K[1]))', "T.address_of(K[1])"),
    ],
)
def test_what_does_not_fold(body: str, kept: str) -> None:
    body = body.replace("X[0] = V[0]", 'X[0] = V[0].astype("int32")')
    assert kept in simplify(function(body)).script()


def test_the_data_stays_itself_through_lowering() -> None:
    k = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)
    program = function(LOOKUP, k=k)
    for step in DEFAULT_LOWERING:
        program = Sequential((step,))(program)
        (stmt,) = [stmt for stmt in program.body if type(stmt) is AllocateConst]
        assert stmt.data.array is constant(k).array
    assert stmt.buffer.constant_shape() == (128,)


# -- large ones

MODEL = """
@G.graph_func
def main(x: G.Tensor((2, 64), "float32")):
    with G.dataflow():
        a = G.matmul(x, G.const(w[0]))
        b = G.nn.relu(G.matmul(a, G.const(w[1])))
        G.output(b)
    return b
"""


def weights(first: int = 1) -> list[Any]:
    return [np.full((64, 4096), first, np.float32), np.full((4096, 64), 2, np.float32)]


def test_nothing_is_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse(MODEL, names={"w": weights()})
    text = program.script()
    store = tirscript.ConstantStore(program)
    hashed = []
    module = sys.modules[ConstantTensor.__module__]
    taken = module.digest_of
    monkeypatch.setattr(module, "digest_of", lambda *args: hashed.append(args) or taken(*args))
    again = parse(text, constants=store)
    assert again.script() == text
    tirscript.build(again)(np.ones((2, 64), np.float32))
    pickle.loads(pickle.dumps(again))
    structural_hash(again)
    assert not hashed


MEMORY = """
import resource, sys
import numpy as np
import tirscript
tirscript.build(tirscript.parse("@T.prim_func\\ndef f(A: T.Buffer((1,), 'int32')):\\n    A[0] = 1\\n"))
weights = [np.full((64, 1 << 18), 1, np.float32), np.full((1 << 18, 64), 2, np.float32)]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
before = peak()
program = tirscript.parse(sys.stdin.read(), names={"w": weights})
tirscript.build(program)(np.ones((2, 64), np.float32))
program.script()
print(peak() - before)
"""


def test_building_takes_no_second_copy() -> None:
    environment = {**os.environ, "TIRSCRIPT_CACHE": "0", "TIRSCRIPT_CHECK": "0"}
    found = subprocess.run(
        [sys.executable, "-c", MEMORY], input=MODEL, capture_output=True, text=True, check=True, env=environment
    )
    assert int(found.stdout) < 100  # MB, where the constants are 128


def test_code_from_the_cache_finds_large_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE", "1")
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path))
    names = {"w": weights()}
    x = np.ones((2, 64), np.float32)
    wanted = tirscript.build(parse(MODEL, names=names))(x)
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert kept and sum(file.stat().st_size for file in kept) < 1 << 20  # the data is not in it
    assert np.array_equal(tirscript.build(parse(MODEL, names=names))(x), wanted)
    other = {"w": weights(5)}
    assert np.array_equal(
        tirscript.build(parse(MODEL, names=other))(x), tirscript.interpret(parse(MODEL, names=other), x)
    )
