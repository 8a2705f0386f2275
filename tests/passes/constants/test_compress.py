"""Compression: codecs that give back every byte, and networks whose outputs do not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.script import HEADER, function
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import DiagnosticError, Module, structural_equal
from tirscript.ir.constant import constants_of
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.constants import (
    CODECS,
    Codec,
    compress_constants,
    compress_slices,
    compression_report,
    compression_table,
    register_codec,
    slice_constants,
)
from tirscript.passes.constants.codecs import pack_palette, pack_zero_run
from tirscript.script import parse
from tirscript.script import tir as T


def unpacked(name: str, packed: Any, size: int, native: bool = False) -> bytes:
    func = CODECS[name].function()
    out = np.full(size, 0xEE, np.uint8)
    if native:
        tirscript.build(func)(packed, out)
    else:
        tirscript.interpret(func, packed, out)
    return out.tobytes()


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from((0, 0, 1, 255)), st.sampled_from((1, 2, 3, 4, 254, 255, 256, 600))), max_size=8)
)
def test_zero_run_gives_back_every_byte(stretches: list[tuple[int, int]]) -> None:
    data = b"".join(bytes([value]) * count for value, count in stretches)
    packed = pack_zero_run(np.frombuffer(data, np.uint8), 1)
    assert unpacked("zero_run", packed, len(data)) == data
    assert packed.nbytes <= len(data) + 2 * (len(data) // 255 + 2)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 255), min_size=1, max_size=40), st.sampled_from((1, 2, 4, 8)), st.integers(1, 300))
def test_palette_gives_back_every_byte(values: list[int], itemsize: int, count: int) -> None:
    table = [bytes([value]) * (itemsize - 1) + bytes([value ^ 1]) for value in values]
    data = b"".join(table[(at * 7) % len(table)] for at in range(count))
    packed = pack_palette(np.frombuffer(data, np.uint8), itemsize)
    assert packed is not None and unpacked("palette", packed, len(data)) == data


def test_sizes() -> None:
    assert pack_zero_run(np.zeros(1000, np.uint8), 1).nbytes == 8
    assert pack_zero_run(np.array([0, 0, 0, 5, 6, 0, 7], np.uint8), 1).tolist() == [3, 4, 5, 6, 0, 7]
    two = np.array([3, 9] * 400, np.uint8)
    assert pack_palette(two, 1).tolist() == [1, 1, 1, 3, 9] + [0b10101010] * 100
    assert pack_palette(np.arange(257 * 2, dtype=np.uint16).view(np.uint8), 2) is None


def test_native_code_unpacks_the_same() -> None:
    rng = np.random.default_rng(0)
    data = (rng.integers(0, 256, 5000) * (rng.random(5000) < 0.1)).astype(np.uint8)
    for name, pack in (("zero_run", pack_zero_run), ("palette", pack_palette)):
        packed = pack(data, 1)
        assert unpacked(name, packed, 5000, native=True) == unpacked(name, packed, 5000) == data.tobytes()


# a network of two quantized convolutions, 3x3 and 1x1, with a ReLU between
NETWORK = (
    HEADER
    + """@I.ir_module
class Network:
    @T.prim_func
    def main(X: T.Buffer((8, 10, 10), "int8"), Y: T.Buffer((20, 8, 8), "int32")):
        W = T.allocate_const(w, "int8", (20, 8, 3, 3))
        V = T.allocate_const(v, "int8", (20, 20))
        scale = T.allocate_const(s, "int32", (20,))
        H = T.alloc_buffer((20, 8, 8), "int32")
        for t in range(3):  # tiles of 8 channels, the last one of 4
            for c, y, x in T.grid(T.min(8, 20 - t * 8), 8, 8):
                H[t * 8 + c, y, x] = 0
                for k, i, j in T.grid(8, 3, 3):
                    H[t * 8 + c, y, x] += W[t * 8 + c, k, i, j].astype("int32") * X[k, y + i, x + j].astype("int32")
                H[t * 8 + c, y, x] = T.max(H[t * 8 + c, y, x] * scale[t * 8 + c], 0) >> 4
        for t in range(2):
            for c, y, x in T.grid(10, 8, 8):
                Y[t * 10 + c, y, x] = 0
                for k in range(20):
                    Y[t * 10 + c, y, x] += V[t * 10 + c, k].astype("int32") * H[k, y, x]
"""
)


def network() -> tuple[Module, Any]:
    rng = np.random.default_rng(5)
    w = (rng.integers(-20, 20, (20, 8, 3, 3)) * (rng.random((20, 8, 3, 3)) < 0.15)).astype(np.int8)
    v = rng.choice(np.array([-3, 0, 2], np.int8), (20, 20))
    s = rng.integers(1, 9, 20).astype(np.int32)
    x = rng.integers(-128, 128, (8, 10, 10)).astype(np.int8)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64), (3, 3), axis=(1, 2))
    hidden = np.einsum("okij,kyxij->oyx", w.astype(np.int64), windows)
    hidden = np.maximum(hidden * s[:, None, None], 0) >> 4
    expected = np.einsum("ok,kyx->oyx", v.astype(np.int64), hidden)
    return parse(NETWORK, names={"w": w, "v": v, "s": s}), (x, expected)


def test_a_quantized_network_sliced_and_compressed() -> None:
    module, (x, expected) = network()
    sliced = slice_constants(module, unroll=4)
    found = compress_constants(sliced, least=64)
    assert verify(sliced) == [] and verify(found) == []
    calls = [tirscript.build(program) for program in (module, sliced, found)]
    for call in (*calls, lambda *args: tirscript.interpret(found, *args)):
        result = np.zeros((20, 8, 8), np.int32)
        call(x, result)
        assert np.array_equal(result, expected)
    rows = compression_report(found)
    assert [row.name for row in rows] == ["W_0_packed", "W_1_packed", "W_2_packed", "V_0_packed", "V_1_packed"]
    assert [row.before for row in rows] == [8 * 72, 8 * 72, 4 * 72, 200, 200]
    assert {row.codec for row in rows} == {"zero_run", "palette"}
    assert all(row.after < row.before for row in rows)
    assert sum(row.after for row in rows) < 0.6 * sum(row.before for row in rows)
    table = compression_table(found).split("\n")
    assert table[0].split() == ["function", "constant", "codec", "slices", "bytes", "packed", "part"]
    assert len(table) == 7 and table[-1].startswith("all") and " 1840 " in table[-1]
    text = found.script()
    assert max(map(len, text.split("\n"))) <= 100
    again = parse(text)
    assert structural_equal(found, again) and again.script() == text


def test_the_printed_program() -> None:
    data = np.zeros(300, np.uint8)
    data[7] = 5
    text = HEADER + (
        '@I.ir_module\nclass M:\n    @T.prim_func\n    def main(A: T.Buffer((300,), "uint8")):\n'
        '        # the data\n        K = T.allocate_const(k, "uint8", (300,))\n'
        "        for i in range(300):\n            A[i] = K[i]\n"
    )
    found = compress_constants(parse(text, names={"k": data}), codec="zero_run")
    assert found.script().partition("    @T.prim_func\n    def main")[2] == (
        '(A: T.Buffer((300,), "uint8")):\n'
        "        # the data\n"
        "        K_packed = T.allocate_const(\n"
        '            [7, 1, 5, 255, 0, 37, 0], "uint8", (7,), annotations={"codec": "zero_run", "bytes": 300}\n'
        "        )\n"
        '        with T.attr(T.int32(0), "unpacked", "K"):\n'
        '            K = T.alloc_buffer((300,), "uint8")\n'
        '            K_bytes = T.decl_buffer((300,), "uint8", data=K.data)\n'
        "            M.unpack_zero_run(K_packed, K_bytes)\n"
        "            for i in range(300):\n"
        "                A[i] = K[i]\n"
    )
    assert compress_constants(found) is found
    lowered = DEFAULT_LOWERING(found)
    assert verify(lowered) == []


def module_of(body: str, **names: Any) -> Module:
    return Module((function(body, **names),))


def test_constants_that_stay() -> None:
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 256, 4000).astype(np.uint8).view(np.int32)
    for names in ({"k": noise}, {"k": np.zeros(8, np.int32)}):
        size = names["k"].size
        module = module_of(f'K = T.allocate_const(k, "int32", ({size},))\nX[0] = K[n]', **names)
        assert compress_constants(module) is module
    zeros = module_of('K = T.allocate_const(k, "int32", (800,))\nX[0] = K[n]', k=np.zeros(800, np.int32))
    assert compress_constants(zeros, least=1 << 20) is zeros
    assert compress_constants(zeros, ratio=0.0) is zeros
    missing = module_of(f'K = T.constant("sha256:{"0" * 64}", (800,), "int32")\nX[0] = K[n]')
    assert compress_constants(missing) is missing


def test_uses_in_several_statements_views_and_scopes() -> None:
    body = """
    K = T.allocate_const(k, "int32", (800,), scope="global.const")
    if n > 0:
        L = T.allocate_const(k, "int32", (800,))
        V = T.decl_buffer((8, 100), "int32", data=L.data)
        X[0] = V[1, n] + L[2]
    X[1] = K[n]
    x = K[5]
    X[2] = x + K[6]
    """
    data = np.repeat(np.arange(8, dtype=np.int32), 100)
    module = module_of(body, k=data)
    found = compress_constants(module)
    assert verify(found) == [] and len(compression_report(found)) == 2
    results = []
    for program in (module, found):
        for call in (tirscript.build(program), lambda *args, program=program: tirscript.interpret(program, *args)):
            args = np.zeros(16, np.float32), np.zeros((4, 4), np.float32), np.zeros(16, np.int32)
            call(*args, 3)
            results.append(args[2].tolist())
    assert results == [results[0]] * 4 and results[0][:3] == [1, 0, 0]


def test_unused_constants_go() -> None:
    found = compress_constants(
        module_of('K = T.allocate_const(k, "int32", (800,))\nX[0] = 1', k=np.zeros(800, np.int32))
    )
    assert constants_of(found) == []


def test_a_codec_of_ones_own() -> None:
    @T.prim_func
    def unpack_repeat(packed: T.Buffer(("m",), "uint8"), out: T.Buffer(("n",), "uint8")):
        for i in range(n):
            out[i] = packed[0]

    def pack(data: Any, itemsize: int) -> Any:
        return data[:1].copy() if (data == data[0]).all() else None

    register_codec(Codec("repeat", pack, unpack_repeat))
    try:
        module = module_of(
            'K = T.allocate_const(k, "uint8", (800,))\nX[0] = K[n].astype("int32")', k=np.full(800, 7, np.uint8)
        )
        found = compress_constants(module)
        (row,) = compression_report(found)
        assert (row.codec, row.before, row.after) == ("repeat", 800, 1)
        args = np.zeros(16, np.float32), np.zeros((4, 4), np.float32), np.zeros(16, np.int32)
        tirscript.build(found)["f"](*args, 3)
        assert args[2][0] == 7
        with pytest.raises(DiagnosticError, match="there already"):
            register_codec(Codec("repeat", pack, unpack_repeat))
    finally:
        del CODECS["repeat"]


def test_wrong_codecs() -> None:
    @T.prim_func
    def unpack(packed: T.Buffer((4,), "float32"), out: T.Buffer(("n",), "uint8")):
        out[0] = 0

    with pytest.raises(DiagnosticError, match="other parameters"):
        register_codec(Codec("wrong", pack_zero_run, unpack))
    module = module_of(
        'K = T.allocate_const(k, "uint8", (800,))\nX[0] = K[n].astype("int32")', k=np.zeros(800, np.uint8)
    )
    with pytest.raises(DiagnosticError, match="did you mean `palette`"):
        compress_constants(module, codec="pallete")


@pytest.mark.parametrize("compress", [compress_constants, compress_slices])
@pytest.mark.parametrize(
    ("pack", "words"),
    [
        (lambda data, itemsize: bytes(data[:3]), r"does not give back what it packed: byte 3 is 0, not 4"),
        (lambda data, itemsize: data.astype(np.int64), "packs into a numpy array, which is no flat array of uint8"),
        (lambda data, itemsize: "text", "packs into a Python str, which is no flat array of uint8"),
        (lambda data, itemsize: None, None),
    ],
)
def test_codecs_are_found_out(compress: Any, pack: Any, words: str | None) -> None:
    @T.prim_func
    def unpack_first(packed: T.Buffer(("m",), "uint8"), out: T.Buffer(("n",), "uint8")):
        for i in range(m):
            out[i] = packed[i]

    module = module_of(
        'K = T.allocate_const(k, "uint8", (800,))\nfor t in range(4):\n    X[t] = 0\n    for i in range(200):\n'
        '        X[t] = X[t] + K[t * 200 + i].astype("int32")',
        k=(np.arange(800) + 1).astype(np.uint8),
    )
    register_codec(Codec("first", pack, unpack_first))
    try:
        if words is None:
            assert compress(module, codec="first", ratio=2.0) is module
            return
        with pytest.raises(DiagnosticError, match=words):
            compress(module, codec="first", ratio=9.0)
    finally:
        del CODECS["first"]


def test_a_function_alone_has_no_room_for_another() -> None:
    func = function('K = T.allocate_const(k, "int32", (800,))\nX[0] = K[n]', k=np.zeros(800, np.int32))
    with pytest.raises(DiagnosticError, match="apply it to a module"):
        compress_constants(func)


def test_the_name_of_the_unpacking_function_is_free() -> None:
    text = HEADER + (
        '@I.ir_module\nclass M:\n    @T.prim_func\n    def unpack_zero_run(A: T.Buffer((800,), "uint8"), n: T.int32):\n'
        '        K = T.allocate_const(k, "uint8", (800,))\n        A[0] = K[n]\n'
    )
    found = compress_constants(parse(text, names={"k": np.zeros(800, np.uint8)}), codec="zero_run")
    assert [func.name for func in found.functions] == ["unpack_zero_run_1", "unpack_zero_run"]
    assert verify(found) == []
    tirscript.build(found)(np.zeros(800, np.uint8), 3)
