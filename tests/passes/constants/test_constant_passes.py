"""The passes over constants: what becomes of programs, that they are well formed, and that results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.passes import same
from helpers.script import HEADER, function

import tirscript
from tirscript.ir import BufferLoad, DiagnosticError, Module, PrimFunc, walk
from tirscript.ir.constant import constants_of
from tirscript.ir.stmt import For
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING, Sequential
from tirscript.passes.constants import (
    constants_report,
    deduplicate_constants,
    fold_constant,
    slice_constants,
    sparsify_report,
)
from tirscript.passes.lint import lint
from tirscript.passes.remove_no_op import remove_no_op
from tirscript.script import parse
from tirscript.testing import examples

PARAMS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32"), X: T.Buffer((16,), "int32"), n: T.int32'


def results(program: PrimFunc | Module) -> list[list[bytes]]:
    """What interpreter and native code leave in the arguments of a function of `helpers.script`."""
    found = []
    for call in (lambda *args: tirscript.interpret(program, *args), tirscript.build(program)):
        args = [
            np.arange(16, dtype=np.float32),
            np.ones((4, 4), np.float32),
            np.arange(16, dtype=np.int32),
        ]
        call(*args, 3)
        found.append([arg.tobytes() for arg in args])
    return found


def becomes(entry: Any, before: str, after: str, **names: Any) -> None:
    """The pass rewrites one body into the other, which is well formed, computes the same, and stays."""
    program = function(before, PARAMS, **names)
    found = entry(program)
    same(found, function(after, PARAMS, **names))
    assert verify(found) == []
    first, second = results(program), results(found)
    assert first[0] == first[1] == second[0] == second[1]
    assert entry(found).script() == found.script()


def stays(entry: Any, body: str, **names: Any) -> None:
    program = function(body, PARAMS, **names)
    assert entry(program) is program


# -- deduplicate_constants


def test_equal_constants_become_one() -> None:
    becomes(
        deduplicate_constants,
        """
        # the first
        K = T.allocate_const([1, 2], "int32", (2,))
        for i in range(2):
            L = T.allocate_const([1, 2], "int32", (2,), align=64)
            X[i] = K[i] + L[1 - i]
        """,
        """
        # the first
        K = T.allocate_const([1, 2], "int32", (2,), align=64)
        for i in range(2):
            X[i] = K[i] + K[1 - i]
        """,
    )


def test_constants_of_bodies_beside_each_other_move_to_the_head() -> None:
    becomes(
        deduplicate_constants,
        """
        if n > 2:
            K = T.allocate_const([5], "int32", (1,))
            X[0] = K[0]
        else:
            L = T.allocate_const([5], "int32", (1,))
            X[1] = L[0]
        """,
        """
        K = T.allocate_const([5], "int32", (1,))
        if n > 2:
            X[0] = K[0]
        else:
            X[1] = K[0]
        """,
    )


def test_the_same_bytes_in_two_shapes_share_one_array() -> None:
    array = np.arange(64, dtype=np.int32)
    program = function(
        """
        K = T.allocate_const(k, "int32", (4, 16))
        L = T.allocate_const(l, "int32", (8, 8))
        for i in range(16):
            X[i] = K[1, i] + L[i // 2, 3]
        """,
        k=array.reshape(4, 16),
        l=array.copy().reshape(8, 8),
    )
    found = deduplicate_constants(program)
    first, second = constants_of(found)
    assert first.data == second.data and first.data.array is second.data.array
    assert (first.buffer.constant_shape(), second.buffer.constant_shape()) == ((4, 16), (8, 8))
    assert verify(found) == [] and results(program) == results(found)


@pytest.mark.parametrize(
    "other",
    [
        '[1, 3], "int32", (2,)',
        '[1, 2], "uint32", (2,)',
        '[1, 2], "int32", (2,), scope="local"',
        '[1, 2], "int32", (2,), annotations={"a": 1}',
        '[1, 2], "int32", (T.int64(2),)',
    ],
)
def test_other_constants_are_kept(other: str) -> None:
    stays(
        deduplicate_constants,
        f'K = T.allocate_const([1, 2], "int32", (2,))\nL = T.allocate_const({other})\nX[0] = K[0]',
    )


def test_equal_zeros_of_other_sign_are_other_constants() -> None:
    stays(
        deduplicate_constants,
        'K = T.allocate_const([0.0], "float32", (1,))\nL = T.allocate_const([-0.0], "float32", (1,))\nA[0] = K[0] + L[0]',
    )


# -- reports


def test_the_report() -> None:
    program = function(
        'K = T.allocate_const([[0, 7], [0, 0]], "int8", (2, 2))\nL = T.allocate_const(l, "float32", (3,))',
        l=np.array([0.0, -0.0, np.nan], np.float32),
    )
    first, second = constants_report(program)
    assert (first.name, first.nbytes, first.zeros, first.values, first.sparsity) == ("L", 12, 2, 3, 2 / 3)
    assert str(second) == "f.K: int8 2x2, 4 bytes, 75.0% zero, 2 values"
    missing = function(f'K = T.constant("sha256:{"0" * 64}", (2,), "int8")')
    assert constants_report(missing) == [] and sparsify_report(missing) is missing


def test_the_report_of_a_graph() -> None:
    text = """
@G.graph_func
def main(x: G.Tensor((2, 3), "float32")):
    with G.dataflow():
        w = G.const([[0.0, -0.0, 1.0], [2.0, 2.0, 0.0]])
        y = G.add(G.multiply(x, w), G.const(1.5))
        G.output(y)
    return y
"""
    assert list(map(str, constants_report(parse(text)))) == [
        "main.w: float32 2x3, 24 bytes, 50.0% zero, 4 values",
        "main: float32 scalar, 4 bytes, 0.0% zero, 1 value",
    ]


def test_sparse_constants_are_annotated() -> None:
    becomes(
        sparsify_report,
        'K = T.allocate_const([0, 0, 7], "int32", (3,))\nL = T.allocate_const([1, 0, 7], "int32", (3,))\nX[0] = K[2] + L[2]',
        'K = T.allocate_const([0, 0, 7], "int32", (3,), annotations={"zeros": 2})\n'
        'L = T.allocate_const([1, 0, 7], "int32", (3,))\nX[0] = K[2] + L[2]',
    )
    stays(sparsify_report.configure(threshold=0.9), 'K = T.allocate_const([0, 0, 7], "int32", (3,))\nX[0] = K[2]')


# -- fold_constant

SQUARES = """
K = T.allocate_const([1, 2, 3], "int32", (3,))
# the squares
L = T.alloc_buffer((3,), "int32")
for i in range(3):
    L[i] = K[i] * K[i]
for i in range(3):
    X[i] = L[i] + n
"""


def test_what_is_computed_from_constants_folds() -> None:
    becomes(
        fold_constant,
        SQUARES,
        """
        K = T.allocate_const([1, 2, 3], "int32", (3,))
        # the squares
        L = T.allocate_const([1, 4, 9], "int32", (3,))
        for i in range(3):
            X[i] = L[i] + n
        """,
    )


def test_reductions_in_blocks_branches_scalars_and_chains_fold() -> None:
    becomes(
        fold_constant,
        """
        G = T.allocate_const([[1.0, 0.5], [2.0, -1.0]], "float32", (2, 2))
        P = T.alloc_buffer((2, 2), "float32", scope="local")
        Q = T.alloc_buffer((2, 2), "float32")
        for i, j, k in T.grid(2, 2, 2):
            with T.block("p"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(G[vi, vk], G[vj, vk])
                T.writes(P[vi, vj])
                with T.init():
                    P[vi, vj] = 0.0
                P[vi, vj] = P[vi, vj] + G[vi, vk] * G[vj, vk]
        for i, j in T.grid(2, 2):
            x: T.float32 = P[j, i]
            if i == j:
                x = x + 1.0
            y = x if j > 0 and i > 0 else -x
            Q[i, j] = y
        for i, j in T.grid(2, 2):
            B[i, j] = Q[i, j]
        """,
        """
        G = T.allocate_const([[1.0, 0.5], [2.0, -1.0]], "float32", (2, 2))
        P = T.allocate_const([[1.25, 1.5], [1.5, 5.0]], "float32", (2, 2))
        Q = T.allocate_const([[-2.25, -1.5], [-1.5, 6.0]], "float32", (2, 2))
        for i, j in T.grid(2, 2):
            B[i, j] = Q[i, j]
        """,
    )


def test_folding_inside_of_other_bodies() -> None:
    becomes(
        fold_constant,
        """
        for t in range(2):
            L = T.alloc_buffer((2,), "int32")
            for i in range(2):
                L[i] = i + 5
            X[t] = L[t]
        """,
        """
        for t in range(2):
            L = T.allocate_const([5, 6], "int32", (2,))
            X[t] = L[t]
        """,
    )


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("K[i] * K[i]", "K[i] * n"),  # not known
        ("for i in range(3):\n    L[i]", "for i in range(n):\n    L[i]"),  # as often as the caller says
        ("for i in range(3):\n    L[i]", "for i in range(2):\n    L[i]"),  # not all is written
        ("for i in range(3):\n    X", "L[0] = n\nfor i in range(3):\n    X"),  # written again
        ("    L[i] = K[i] * K[i]", "    L[i] = K[i] * K[i]\n    X[i] = 0"),  # something else is written with it
        ("    L[i] = K[i] * K[i]", '    L[i] = K[i] * K[i]\n    T.print("x", i)'),  # an effect
        ("X[i] = L[i] + n", 'X[i] = L[i] + n\nT.evaluate(T.call_extern("int32", "puts", L.data))'),  # its address
        ("K[i] * K[i]", 'T.exp(K[i].astype("float32")).astype("int32")'),  # an operator that does not fold
        ("# the squares", "X[5] = 1\nif X[5] > 9:\n    return"),  # nothing wrong: still folds
    ],
)
def test_what_does_not_fold(was: str, now: str) -> None:
    assert was in SQUARES
    program = function(SQUARES.replace(was, now))
    folds = "return" in now
    assert ("L = T.allocate_const" in fold_constant(program).script()) is folds


def test_the_limit_of_steps() -> None:
    program = function(SQUARES)
    for steps in range(4):
        assert fold_constant(program, steps=steps, limit=0) is program
    assert fold_constant(program, steps=4, limit=0) is not program


# -- slice_constants

WEIGHTS = np.random.default_rng(3).integers(-9, 9, (50, 16)).astype(np.int32)
TILES = """
W = T.allocate_const(w, "int32", (50, 16))
for t in range(4):
    for i in range(T.min(16, 50 - t * 16)):
        for j in range(16):
            X[j] = X[j] + W[t * 16 + i, j]
"""


def sliced(body: str, **options: Any) -> tuple[PrimFunc, list[tuple[int, ...]]]:
    program = function(body, w=WEIGHTS)
    found = slice_constants(program, **options)
    assert verify(found) == []
    before, after = results(program), results(found)
    assert before[0] == before[1] == after[0] == after[1]
    return found, [stmt.buffer.constant_shape() for stmt in constants_of(found)]


def test_tiles_of_unequal_sizes_become_constants_of_their_own() -> None:
    found, shapes = sliced(TILES)
    assert shapes == [(16, 16), (16, 16), (16, 16), (2, 16)]
    names = [stmt.buffer.name for stmt in constants_of(found)]
    assert names == ["W_0", "W_1", "W_2", "W_3"]
    starts = (0, 16, 32, 48)
    for stmt, start in zip(constants_of(found), starts, strict=True):
        assert np.array_equal(stmt.data.array, WEIGHTS[start : start + 16])


def test_no_loop_is_written_out_where_that_is_not_wanted() -> None:
    program = function(TILES, w=WEIGHTS)
    assert slice_constants(program, unroll=3) is program
    assert slice_constants(program, least=1000) is program


def test_tiles_of_columns() -> None:
    body = """
    W = T.allocate_const(w, "int32", (50, 16))
    for t in range(2):
        for i, j in T.grid(50, 8):
            X[t * 8 + j] = X[t * 8 + j] + W[i, t * 8 + j]
    """
    assert sliced(body)[1] == [(50, 8), (50, 8)]


def test_pieces_that_overlap_stay_together_and_what_is_not_read_goes() -> None:
    body = """
    W = T.allocate_const(w, "int32", (50, 16))
    for i in range(16):
        X[i] = W[3, i] + W[5, i]
    for i, j in T.grid(2, 16):
        X[j] = X[j] + W[i + 4, j]
    """
    assert sliced(body)[1] == [(1, 16), (2, 16)]
    whole = 'W = T.allocate_const(w, "int32", (50, 16))\nfor i in range(16):\n    X[i] = W[i + 9, 1]'
    assert sliced(whole)[1] == [(16, 1)]


def test_vectors_are_moved_into_their_piece() -> None:
    body = 'W = T.allocate_const(w, "int32", (50, 16))\nX[0:4] = W[7, 4:8] + W[9, 0:4]'
    assert sliced(body)[1] == [(1, 4), (1, 4)]


@pytest.mark.parametrize(
    "body",
    [
        'W = T.allocate_const(w, "int32", (50, 16))\nX[0] = W[n, 0]',
        'W = T.allocate_const(w, "int32", (50, 16))\nfor i, j in T.grid(50, 16):\n    X[j] = X[j] + W[i, j]',
        'W = T.allocate_const(w, "int32", (50, 16))\nV = T.decl_buffer((800,), "int32", data=W.data)\nX[0] = V[0] + W[1, 1]',
    ],
)
def test_what_is_not_sliced(body: str) -> None:
    program = function(body, w=WEIGHTS)
    assert [stmt.data for stmt in constants_of(slice_constants(program))] == [constants_of(program)[0].data] or (
        constants_of(slice_constants(program))[0].buffer.constant_shape() == (50, 1)
    )
    assert results(program) == results(slice_constants(program))


def test_blocks_are_lowered_before() -> None:
    program = function('W = T.allocate_const(w, "int32", (50, 16))\nwith T.block("b"):\n    X[0] = W[0, 0]', w=WEIGHTS)
    with pytest.raises(DiagnosticError, match="lower_blocks"):
        slice_constants(program)


def test_constants_that_nothing_reads() -> None:
    program = function(
        'K = T.allocate_const([1, 2], "int32", (2,))\nL = T.allocate_const([1], "int32", (1,))\nX[0] = L[0]'
    )
    found = [one.message for one in lint(program) if one.code == "T601"]
    assert found == ["the buffer `K` is never used"]
    same(remove_no_op(program), function('L = T.allocate_const([1], "int32", (1,))\nX[0] = L[0]'))


def test_the_passes_stand_in_pipelines() -> None:
    pipeline = Sequential.parse("fold_constant,deduplicate_constants,lower_blocks,slice_constants{unroll=4}")
    assert str(pipeline) == "fold_constant,deduplicate_constants,lower_blocks,slice_constants{unroll=4}"
    found = pipeline(function(TILES, w=WEIGHTS))
    assert len(constants_of(found)) == 4
    assert not any(type(node) is For and node.annotations for node in walk(found))


# -- Winograd

WINOGRAD = (
    HEADER
    + """@T.prim_func
def winograd(d: T.Buffer((4, 4), "float32"), g: T.Buffer((3, 3), "float32"), Y: T.Buffer((2, 2), "float32")):
    # F(2x2, 3x3): A and B of Lavin and Gray, https://arxiv.org/abs/1509.09308
    BT = T.allocate_const([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], "float32", (4, 4))
    G = T.allocate_const([[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]], "float32", (4, 3))
    AT = T.allocate_const([[1, 1, 1, 0], [0, 1, -1, -1]], "float32", (2, 4))
    U = T.alloc_buffer((4, 4), "float32")
    V = T.alloc_buffer((4, 4), "float32")
    for i in T.unroll(4):
        for j in T.unroll(4):
            U[i, j] = 0.0
            V[i, j] = 0.0
            for k in T.unroll(3):
                for l in T.unroll(3):
                    U[i, j] = U[i, j] + G[i, k] * g[k, l] * G[j, l]
            for k in T.unroll(4):
                for l in T.unroll(4):
                    V[i, j] = V[i, j] + BT[i, k] * d[k, l] * BT[j, l]
    for i in T.unroll(2):
        for j in T.unroll(2):
            Y[i, j] = 0.0
            for k in T.unroll(4):
                for l in T.unroll(4):
                    Y[i, j] = Y[i, j] + AT[i, k] * (U[k, l] * V[k, l]) * AT[j, l]
"""
)


def test_winograd_with_its_matrices_folded_into_unrolled_code() -> None:
    program = parse(WINOGRAD)
    lowered = DEFAULT_LOWERING(program)
    text = lowered.script()
    assert not any(f" {name}[" in text.split("BT = ")[1] for name in ("BT", "G_1", "AT"))
    rng = np.random.default_rng(0)
    d, g = rng.standard_normal((4, 4)).astype(np.float32), rng.standard_normal((3, 3)).astype(np.float32)
    expected = np.array([[np.sum(d[i : i + 3, j : j + 3] * g) for j in range(2)] for i in range(2)])
    for call in (tirscript.build(program), lambda *args: tirscript.interpret(program, *args)):
        result = np.zeros((2, 2), np.float32)
        call(d, g, result)
        assert np.allclose(result, expected, atol=1e-5)


def test_the_example_of_winograd_reads_no_matrix_and_is_the_direct_convolution() -> None:
    (example,) = [one for one in examples() if one.name == "winograd"]
    lowered = DEFAULT_LOWERING(example.kernel)
    matrices = {stmt.buffer for stmt in constants_of(lowered)}
    assert len(matrices) == 3
    assert not any(type(node) is BufferLoad and node.buffer in matrices for node in walk(lowered))
    assert not constants_of(remove_no_op(lowered))
    image, weight, out = example.inputs(np.random.default_rng(1))
    direct = np.zeros_like(out)
    for y in range(3):
        for x in range(3):
            window = image[:, y : y + out.shape[1], x : x + out.shape[2]]
            direct += np.einsum("cyx,kc->kyx", window, weight[:, :, y, x])
    for call in (tirscript.build(example.kernel), lambda *args: tirscript.interpret(example.kernel, *args)):
        call(image, weight, out)
        assert np.allclose(out, direct, atol=1e-4)
