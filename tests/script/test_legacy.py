"""Spellings of TVMScript from 2021 to 2024: each program is the one in our words, and runs as that.

The third column is what `B` holds after a run with `A` of 0.0, 0.5, 1.0, ..., 7.5, `B` of zeros and `n` of 3.
"""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import Assert, Attr, DiagnosticError, LaunchThread, PrimFunc, structural_equal, walk
from tirscript.script import parse
from tirscript.script.extract import extract

HEADER = "from tvm.script import tir as T\n\n\n@T.prim_func\n"
SIGNATURE = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32'
A = np.arange(16, dtype="float32") / 2


def program(body: str, signature: str = SIGNATURE, header: str = HEADER) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    found = parse(f"{header}def main({signature}) -> None:\n{lines}")
    assert isinstance(found, PrimFunc)
    return found


def ours(body: str, signature: str = SIGNATURE) -> PrimFunc:
    return program(body, signature, "@T.prim_func\n")


def stored(*pairs: tuple[int, float]) -> np.ndarray:
    found = np.zeros(16, dtype="float32")
    for place, value in pairs:
        found[place] = value
    return found


BODIES = [
    # the dtype of a call, which TVM printed behind its arguments
    ('B[0] = T.exp(A[2], dtype="float32")', "B[0] = T.exp(A[2])", stored((0, np.exp(np.float32(1.0))))),
    ('B[0] = T.max(A[1], T.float32(2), dtype="float32")', "B[0] = T.max(A[1], 2.0)", stored((0, 2.0))),
    ('B[T.floordiv(n, 2, dtype="int32")] = 1.0', "B[n // 2] = 1.0", stored((1, 1.0))),
    ('B[T.shift_left(n, 1, dtype="int32")] = 1.0', "B[n << 1] = 1.0", stored((6, 1.0))),
    ('B[0] = T.if_then_else(n > 2, A[1], T.float32(4), dtype="float32")', "B[0] = T.if_then_else(n > 2, A[1], 4.0)", stored((0, 0.5))),
    ('if T.likely(n > 2, dtype="bool"):\n    B[0] = 1.0', "if T.likely(n > 2):\n    B[0] = 1.0", stored((0, 1.0))),
    ('B[0] = T.reinterpret(T.int32(1065353216), dtype="float32")', 'B[0] = T.reinterpret("float32", T.int32(1065353216))', stored((0, 1.0))),
    ('B[0] = T.call_pure_extern("sinf", A[2], dtype="float32")', 'B[0] = T.call_pure_extern("float32", "sinf", A[2])', stored((0, np.sin(np.float32(1.0))))),
    ('B[0] = T.cast(n, dtype="float32")', 'B[0] = T.cast(n, "float32")', stored((0, 3.0))),
    # integers where a function takes floats
    ("B[0] = T.sqrt(n + 1)", 'B[0] = T.sqrt(T.cast(n + 1, "float32"))', stored((0, 2.0))),
    ("B[0] = T.exp(n)", 'B[0] = T.exp(T.cast(n, "float32"))', stored((0, np.exp(np.float32(3.0))))),
    # intrinsics by name
    ('B[0] = T.call_intrin("float32", "tir.sqrt", A[2])', "B[0] = T.sqrt(A[2])", stored((0, 1.0))),
    ('B[T.call_intrin("int32", "tirx.popcount", n)] = 1.0', "B[T.popcount(n)] = 1.0", stored((2, 1.0))),
    ('B[0] = T.call_intrin("float32", "tir.reinterpret", T.int32(1065353216))', 'B[0] = T.reinterpret("float32", T.int32(1065353216))', stored((0, 1.0))),
    # memory
    ('C = T.allocate([4], "float32", "global")\nC[0] = 1.0\nB[0] = C[0]', 'C = T.alloc_buffer((4,), "float32")\nC[0] = 1.0\nB[0] = C[0]', stored((0, 1.0))),
    ('with T.allocate([4], "float32", "global") as C:\n    C[0] = 1.0\n    B[0] = C[0]', 'C = T.alloc_buffer((4,), "float32")\nC[0] = 1.0\nB[0] = C[0]', stored((0, 1.0))),
    ('C = T.allocate([4], "float32", "local", True)\nC[0] = 1.0\nB[0] = C[0]', 'C = T.alloc_buffer((4,), "float32", scope="local")\nC[0] = 1.0\nB[0] = C[0]', stored((0, 1.0))),
    ('C_data = T.allocate([4], "float32", "global")\nC = T.buffer_decl([2, 2], dtype="float32", data=C_data)\nC[1, 0] = 1.0\nB[0] = C[1, 0]',
     'C_data = T.alloc_buffer((4,), "float32")\nC = T.decl_buffer((2, 2), "float32", data=C_data.data)\nC[1, 0] = 1.0\nB[0] = C[1, 0]', stored((0, 1.0))),
    ('C_data = T.allocate([4], "float32", "global")\nC = T.Buffer([4], dtype="float32", data=C_data)\nC[1] = 1.0\nB[0] = C[1]',
     'C_data = T.alloc_buffer((4,), "float32")\nC = T.decl_buffer((4,), "float32", data=C_data.data)\nC[1] = 1.0\nB[0] = C[1]', stored((0, 1.0))),
    ('with T.decl_buffer([4], "float32") as C:\n    C[0] = 1.0\n    B[0] = C[0]', 'C = T.alloc_buffer((4,), "float32")\nC[0] = 1.0\nB[0] = C[0]', stored((0, 1.0))),
    ("T.store(B.data, n, 2.0)", "B[n] = 2.0", stored((3, 2.0))),
    ('T.store(B.data, n, T.load("float32", A.data, n + 1), True)', "B[n] = A[n + 1]", stored((3, 2.0))),
    ('C = T.allocate([4], "float32", "global")\nT.store(C, 1, 3.0)\nB[0] = T.load("float32", C, 1)',
     'C = T.alloc_buffer((4,), "float32")\nC[1] = 3.0\nB[0] = C[1]', stored((0, 3.0))),
    ('T.store(B.data, T.ramp(0, 1, 4), T.load("float32x4", A.data, T.ramp(4, 1, 4)), T.broadcast(True, 4))',
     'B[T.ramp(0, 1, 4)] = A[T.ramp(4, 1, 4)]', stored((0, 2.0), (1, 2.5), (2, 3.0), (3, 3.5))),
    ('T.store(B.data, 0, T.load("int32", A.data, 2))', 'C = T.decl_buffer((16,), "int32", data=A.data)\nD = T.decl_buffer((16,), "int32", data=B.data)\nD[0] = C[2]', stored((0, 1.0))),
    # bindings and statements
    ('x = T.var("int32")\nwith T.let(x, n + 1):\n    B[x] = 1.0', "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ("x = T.int32()\nwith T.LetStmt(n + 1, var=x):\n    B[x] = 1.0", "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ("x = T.int32()\nT.LetStmt(n + 1, var=x)\nB[x] = 1.0", "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ("with T.LetStmt(n + 1, T.int32) as x:\n    B[x] = 1.0", "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ("with T.LetStmt(n + 1, type_annotation=T.int64) as x:\n    B[x] = 1.0", 'x = T.cast(n + 1, "int64")\nB[x] = 1.0', stored((4, 1.0))),
    ('with T.LetStmt(A.data, T.handle("float32", "global")) as p:\n    C = T.Buffer([16], data=p)\n    B[0] = C[2]',
     'p = A.data\nC = T.decl_buffer((16,), "float32", data=p)\nB[0] = C[2]', stored((0, 1.0))),
    # how to unroll what is in a loop, said around it, also where nothing but this is left of the loop
    ('i = T.int32()\nwith T.attr(i, "pragma_unroll_explicit", 1):\n    for i in range(2):\n        B[i] = 1.0',
     'with T.attr(0, "pragma_unroll_explicit", 1):\n    for i in range(2):\n        B[i] = 1.0', stored((0, 1.0), (1, 1.0))),
    ('i = T.int32()\nT.attr(i, "pragma_auto_unroll_max_step", 16)\nT.attr(i, "pragma_unroll_explicit", 1)\nB[n] = 1.0',
     'with T.attr(0, "pragma_auto_unroll_max_step", 16):\n    with T.attr(0, "pragma_unroll_explicit", 1):\n        B[n] = 1.0', stored((3, 1.0))),
    ('with T.attr(n, "pragma_unroll_explicit", 1):\n    B[n] = 1.0', 'with T.attr(n, "pragma_unroll_explicit", 1):\n    B[n] = 1.0', stored((3, 1.0))),
    # a call by name that is a statement
    ('T.call_intrin("int32", "tir.popcount", n)\nB[0] = 1.0', "T.evaluate(T.popcount(n))\nB[0] = 1.0", stored((0, 1.0))),
    ('with T.let("x", n + 1) as x:\n    B[x] = 1.0', "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ("x = T.bind(n + 1)\nB[x] = 1.0", "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ("x = T.Bind(n + 1)\nB[x] = 1.0", "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ("x = T.int32()\nT.Bind(n + 1, var=x)\nB[x] = 1.0", "x = n + 1\nB[x] = 1.0", stored((4, 1.0))),
    ('with T.Assert(n > 0, "n is positive"):\n    B[0] = 1.0', 'assert n > 0, "n is positive"\nB[0] = 1.0', stored((0, 1.0))),
    ('T.Assert(n > 0, "n is positive")\nB[0] = 1.0', 'assert n > 0, "n is positive"\nB[0] = 1.0', stored((0, 1.0))),
    ("with T.While(B[0] < 2.0):\n    B[0] = B[0] + 1.0", "while B[0] < 2.0:\n    B[0] = B[0] + 1.0", stored((0, 2.0))),
    ('T.attr(0, "key", 1)\nB[0] = 1.0', 'with T.attr(0, "key", 1):\n    B[0] = 1.0', stored((0, 1.0))),
    ('with T.attr(T.iter_var(n, None, "DataPar", ""), "pragma_unroll", 1):\n    B[0] = 1.0', 'with T.attr(n, "pragma_unroll", 1):\n    B[0] = 1.0', stored((0, 1.0))),
    ('T.hint("words", key=1)\nB[0] = 1.0', 'with T.attr({"message": "words", "key": 1}, "tirx_hint", 1):\n    B[0] = 1.0', stored((0, 1.0))),
    # loops and threads
    ("for i in T.serial(0, 2):\n    B[i] = A[i + 1]", "for i in range(2):\n    B[i] = A[i + 1]", stored((0, 0.5), (1, 1.0))),
    ("for i in T.serial(2, unroll=True):\n    B[i] = A[i + 1]", 'for i in T.serial(2, annotations={"pragma_unroll": True}):\n    B[i] = A[i + 1]', stored((0, 0.5), (1, 1.0))),
    ('for i in T.thread_binding(0, 2, "threadIdx.x"):\n    B[i] = A[i + 1]', 'for i in T.thread_binding(2, thread="threadIdx.x"):\n    B[i] = A[i + 1]', stored((0, 0.5), (1, 1.0))),
    ('tx = T.env_thread("threadIdx.x")\nT.launch_thread(tx, 2)\nB[tx] = A[tx + 1]', 'with T.launch_thread("threadIdx.x", 2) as tx:\n    B[tx] = A[tx + 1]', stored((0, 0.5), (1, 1.0))),
    ('tx = T.env_thread("threadIdx.x")\nT.attr(tx, "pragma_unroll_explicit", 1)\nT.launch_thread(tx, 2)\nB[tx] = A[tx + 1]',
     'with T.attr(0, "pragma_unroll_explicit", 1):\n    with T.launch_thread("threadIdx.x", 2) as tx:\n        B[tx] = A[tx + 1]', stored((0, 0.5), (1, 1.0))),
    ('with T.attr(T.iter_var(T.var("int32"), None, "ThreadIndex", "threadIdx.x"), "thread_extent", 2):\n    B[0] = A[1]',
     'with T.launch_thread("threadIdx.x", 2) as tx:\n    B[0] = A[1]', stored((0, 0.5))),
    ('for i in range(2, annotations={"key": 1}):\n    B[i] = A[i + 1]', 'for i in T.serial(2, annotations={"key": 1}):\n    B[i] = A[i + 1]', stored((0, 0.5), (1, 1.0))),
    # blocks
    ('for i, k in T.grid(2, 3):\n    with T.block("b"):\n        vi = T.axis.S(2, i)\n        vk = T.axis.R(3, k)\n        T.reads([B[vi], A[vk]])\n'
     "        T.writes([B[vi]])\n        with T.init():\n            B[vi] = T.float32(0)\n        B[vi] = B[vi] + A[vk]",
     'for i, k in T.grid(2, 3):\n    with T.block("b"):\n        vi, vk = T.axis.remap("SR", [i, k])\n        T.reads(B[vi], A[vk])\n'
     "        T.writes(B[vi])\n        with T.init():\n            B[vi] = 0.0\n        B[vi] = B[vi] + A[vk]", stored((0, 1.5), (1, 1.5))),
    ('for i, k in T.grid(2, 3):\n    with T.block([2, T.reduce_axis(0, 3)], "b") as [vi, vk]:\n        T.bind(vi, i)\n        T.bind(vk, k)\n'
     "        with T.init():\n            B[vi] = T.float32(0)\n        B[vi] = B[vi] + A[vk]",
     'for i, k in T.grid(2, 3):\n    with T.block("b"):\n        vi, vk = T.axis.remap("SR", [i, k])\n'
     "        with T.init():\n            B[vi] = 0.0\n        B[vi] = B[vi] + A[vk]", stored((0, 1.5), (1, 1.5))),
    ('with T.block([2, T.reduce_axis(0, 3)], "b") as [vi, vk]:\n    with T.init():\n        B[vi] = T.float32(0)\n    B[vi] = B[vi] + A[vk]',
     'for i, k in T.grid(2, 3):\n    with T.block("b"):\n        vi, vk = T.axis.remap("SR", [i, k])\n'
     "        with T.init():\n            B[vi] = 0.0\n        B[vi] = B[vi] + A[vk]", stored((0, 1.5), (1, 1.5))),
    ('for i in T.serial(2, annotations=None):\n    with T.block("b"):\n        vi = T.axis.spatial(T.Range(0, 2), i)\n        B[vi] = A[vi + 1]',
     'for i in range(2):\n    with T.block("b"):\n        vi = T.axis.spatial(2, i)\n        B[vi] = A[vi + 1]', stored((0, 0.5), (1, 1.0))),
    # a block whose axes have no value takes the loops around it
    ('for i in range(2):\n    with T.block([2], "b") as [vi]:\n        B[vi] = B[vi] + A[2]',
     'for i in range(2):\n    with T.block("b"):\n        vi = T.axis.spatial(2, i)\n        B[vi] = B[vi] + A[2]', stored((0, 1.0), (1, 1.0))),
    ('for i in range(2):\n    for k in range(3):\n        with T.block([2, T.reduce_axis(0, 3)], "b") as [vi, vk]:\n            B[vi] = B[vi] + A[vk]',
     'for i, k in T.grid(2, 3):\n    with T.block("b"):\n        vi, vk = T.axis.remap("SR", [i, k])\n        B[vi] = B[vi] + A[vk]',
     stored((0, 1.5), (1, 1.5))),
    ('for i in range(2):\n    with T.block([2], "o") as [vo]:\n        with T.block([3], "b") as [vi]:\n            B[vo * 3 + vi] = A[vi]',
     'for i in range(2):\n    with T.block("o"):\n        vo = T.axis.spatial(2, i)\n        for j in range(3):\n            with T.block("b"):\n'
     "                vi = T.axis.spatial(3, j)\n                B[vo * 3 + vi] = A[vi]",
     stored((1, 0.5), (2, 1.0), (4, 0.5), (5, 1.0))),
    ('with T.block("b"):\n    C = T.match_buffer_region(A[4:8])\n    B[0] = C[1]', 'with T.block("b"):\n    C = T.match_buffer(A[4:8], (4,))\n    B[0] = C[1]', stored((0, 2.5))),
    ('with T.block("b"):\n    C = T.alloc_buffer([4], dtype="float32")\n    C[0] = 1.0\n    B[0] = C[0]',
     'with T.block("b"):\n    C = T.alloc_buffer((4,), "float32")\n    C[0] = 1.0\n    B[0] = C[0]', stored((0, 1.0))),
    # vectors by the dtype they have
    ('x = A.vload([2], "float32x4")\nB.vstore([0], x)', "x = A[2:6]\nB[0:4] = x", stored((0, 1.0), (1, 1.5), (2, 2.0), (3, 2.5))),
    ('x = A.vload([2], dtype="float32x2")\nB.vstore([0], x)', "x = A[2:4]\nB[0:2] = x", stored((0, 1.0), (1, 1.5))),
    ("B[0] = A.vload(3)", "B[0] = A[3]", stored((0, 1.5))),
    ('C = T.allocate([2, 3], "float32")\nfor both in T.grid(2, 3):\n    C[both] = 2.0\nB[0] = C[1, 2]',
     'C = T.alloc_buffer((2, 3), "float32")\nfor i, j in T.grid(2, 3):\n    C[i, j] = 2.0\nB[0] = C[1, 2]', stored((0, 2.0))),
    ('C = T.allocate([2, 3], "float32")\nfor *outer, k in T.grid(2, 3, 1):\n    C[outer] = A[k + 4]\nB[0] = C[1, 2]',
     'C = T.alloc_buffer((2, 3), "float32")\nfor i, j, k in T.grid(2, 3, 1):\n    C[i, j] = A[k + 4]\nB[0] = C[1, 2]', stored((0, 2.0))),
    # one name for the variables of several loops, and names that inner loops have too
    ('for both in T.grid(2, 3):\n    with T.block("b"):\n        vi, vj = T.axis.remap("SS", both)\n        B[vi * 3 + vj] = A[vj]',
     'for i, j in T.grid(2, 3):\n    with T.block("b"):\n        vi, vj = T.axis.remap("SS", [i, j])\n        B[vi * 3 + vj] = A[vj]',
     stored((1, 0.5), (2, 1.0), (4, 0.5), (5, 1.0))),
    ("for i in range(2):\n    for i in range(3):\n        B[i] = B[i] + 1.0\n    B[i + 4] = 1.0",
     "for i in range(2):\n    for j in range(3):\n        B[j] = B[j] + 1.0\n    B[i + 4] = 1.0",
     stored((0, 2.0), (1, 2.0), (2, 2.0), (4, 1.0), (5, 1.0))),
    # numbers
    ("B[-T.int32(-2)] = A[1] * -T.float32(3)", "B[2] = A[1] * -3.0", stored((2, -1.5))),
    ("if T.boolean(True):\n    B[0] = T.f32(2)", "if T.bool(True):\n    B[0] = T.float32(2)", stored((0, 2.0))),
    ("B[T.i64(1)] = T.Cast(\"float32\", T.u8(7))", 'B[T.int64(1)] = T.cast(T.uint8(7), "float32")', stored((1, 7.0))),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "same", "wanted"), BODIES, ids=[theirs[:50] for theirs, _, _ in BODIES])
def test_statements(theirs: str, same: str, wanted: np.ndarray) -> None:
    made = program(theirs)
    assert structural_equal(made, ours(same)), made.script()
    assert structural_equal(parse(made.script()), made)
    found = np.zeros(16, dtype="float32")
    tirscript.interpret(made, A.copy(), found, 3)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


SIGNATURES = [
    ('A: T.Buffer[(16,), "float32"]', 'A: T.Buffer((16,), "float32")'),
    ('A: T.Buffer[16, "float32"]', 'A: T.Buffer((16,), "float32")'),
    ("A: T.Buffer[16]", 'A: T.Buffer((16,), "float32")'),
    ('A: T.Buffer(shape=(16,), dtype="float32")', 'A: T.Buffer((16,), "float32")'),
    ('A: T.Buffer[(16,), "float32"], p: T.Ptr[T.float32]', 'A: T.Buffer((16,), "float32"), p: T.handle("float32")'),
    ('A: T.Buffer[(16,), "float32"], p: T.Ptr(T.int8, "shared")', 'A: T.Buffer((16,), "float32"), p: T.handle("int8", "shared")'),
    ('A: T.Buffer[(16,), "float32"], p: T.handle(storage_scope="shared")', 'A: T.Buffer((16,), "float32"), p: T.handle(storage_scope="shared")'),
    ('A: T.Buffer[(16,), "float32"], x: T.boolean', 'A: T.Buffer((16,), "float32"), x: T.bool'),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "same"), SIGNATURES, ids=[theirs for theirs, _ in SIGNATURES])
def test_parameters(theirs: str, same: str) -> None:
    made = program("A[0] = 1.0", theirs)
    assert structural_equal(made, ours("A[0] = 1.0", same))
    assert structural_equal(parse(made.script()), made)


def test_a_parameter_that_was_flattened_has_its_shape_again() -> None:
    made = program(
        'T.preflattened_buffer(A, (4, 4), "float32", data=A.data)\nA[5] = 1.0', 'A: T.Buffer[(16,), "float32"]'
    )
    same = ours(
        'B = T.decl_buffer((16,), "float32", data=A.data)\nB[5] = 1.0', signature='A: T.Buffer((4, 4), "float32")'
    )
    assert structural_equal(made, same)
    found = np.zeros((4, 4), dtype="float32")
    tirscript.build(made)(found)
    assert found[1, 1] == 1.0 and found.sum() == 1.0
    unchanged = program("T.preflattened_buffer(A, (16,), data=A.data)\nA[5] = 1.0", 'A: T.Buffer[(16,), "float32"]')
    assert structural_equal(unchanged, ours("A[5] = 1.0", 'A: T.Buffer((16,), "float32")'))


def test_a_matched_buffer_that_was_flattened_has_its_shape_again() -> None:
    made = program(
        'A = T.match_buffer(a, [16], dtype="float32")\nT.preflattened_buffer(A, (4, 4), data=A.data)\nA[5] = 1.0',
        "a: T.handle",
    )
    same = ours(
        'A = T.match_buffer(a, (4, 4), "float32")\nB = T.decl_buffer((16,), "float32", data=A.data)\nB[5] = 1.0',
        "a: T.handle",
    )
    assert structural_equal(made, same)


def test_matched_buffers_with_the_options_of_then() -> None:
    made = program(
        'A = T.match_buffer(a, [2, 4], dtype="float32", elem_offset=0, align=16, offset_factor=1, type="auto")\n'
        "A[1, 0] = 1.0",
        "a: T.handle",
    )
    found = np.zeros((2, 4), dtype="float32")
    tirscript.interpret(made, found)
    assert found[1, 0] == 1.0


def test_the_name_of_an_llvm_intrinsic() -> None:
    made = program('B[0] = T.call_llvm_pure_intrin("float32", T.llvm_lookup_intrinsic_id("llvm.exp"), A[0])')
    assert 'T.call_llvm_pure_intrin("float32", "llvm.exp", A[0])' in made.script()


@pytest.mark.parametrize(
    "header", ["import tvm\nfrom tvm.script import tir as T, ir as I\n\n", "# from tvm.script import tir as T\n"]
)
def test_modules_of_then(header: str) -> None:
    decorator = "@tvm.script.ir_module" if header.startswith("import") else "@I.ir_module"
    text = (
        f"{header}\n{decorator}\nclass Module:\n    @T.prim_func\n"
        '    def main(a: T.handle) -> None:\n        T.func_attr({"global_symbol": "main", "tir.noalias": True})\n'
        '        A = T.match_buffer(a, [4], dtype="float32")\n        for i in T.serial(0, 4):\n'
        '            with T.block("A"):\n                vi = T.axis.spatial(4, i)\n                A[vi] = T.float32(vi)\n'
    )
    found = np.zeros(4, dtype="float32")
    tirscript.interpret(parse(text), found)
    assert found.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_an_axis_of_threads_is_a_launch_and_another_its_variable() -> None:
    made = program('T.attr(T.iter_var(n, None, "DataPar", ""), "pragma_unroll", 1)\nB[0] = 1.0')
    (attr,) = made.body
    assert isinstance(attr, Attr) and attr.target is made.params[2]
    launched = program(
        'T.attr(T.iter_var(T.var("int32"), None, "ThreadIndex", "vthread"), "virtual_thread", 4)\nB[0] = 1.0'
    )
    assert [node.thread for node in walk(launched) if isinstance(node, LaunchThread)] == ["vthread"]


def test_the_error_of_an_assertion_is_kept() -> None:
    made = program('assert n > 0, ("ValueError", ["n is ", "positive"])\nB[0] = 1.0')
    check = made.body[0]
    assert isinstance(check, Assert)
    assert (check.message, check.kind, check.parts) == ("n is positive", "ValueError", ("n is ", "positive"))
    for text in (made.script(), made.script(dialect="tvm")):
        assert '("ValueError", ["n is ", "positive"])' in text
    with pytest.raises(AssertionError, match="n is positive"):
        tirscript.interpret(made, A.copy(), A.copy(), 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("T.store(n, 0, 1.0)", "takes the address of a buffer"),
        ("T.store(A.data, 0)", "`value` is missing"),
        ("B[0] = T.load(\"float32\", A.data, 0, n > 0)", "a vector of bools"),
        ("T.preflattened_buffer(n, (4,))", "takes a parameter that is a buffer"),
        ("T.preflattened_buffer()", "takes a parameter and its shape"),
        ("T.preflattened_buffer(A, (4, 4), data=B.data)", "the data of this buffer is `A.data`"),
        ('with T.block([2], "b"):\n    B[0] = 1.0', "the axes of this block need names"),
        ('with T.block([2], "b") as [vi, vj]:\n    B[0] = 1.0', "2 names stand here for 1 axis"),
        ('with T.block([2], "b") as [vi]:\n    T.bind(n, 1)', "this is no axis of the block"),
        ('with T.block([2, 2], "b") as [vi, vj]:\n    T.bind(vi, 1)', "the axis `vj` has no value"),
        ('for i in range(2):\n    with T.block([2, 2], "b") as [vi, vj]:\n        B[vi + vj] = 1.0', "1 loops stand around a block of 2 axes"),
        ('B[0] = T.call_intrin("float32", "tir.sqr", A[2])', "did you mean `T.sqrt`"),
        ('B[0] = T.call_intrin("int32", "tir.sqrt", A[2])', "gives float32, not int32"),
        ("B[0] = T.call_intrin(A[2])", "takes a dtype, a name and the arguments"),
        ("x = T.bind(1, 2)", "binds one value"),
        ("T.hint(1)", "takes a message and named values"),
        ("T.evaluate(A.access_ptr('x'))", "takes \"r\", \"w\" or \"rw\""),
        ("T.evaluate(A.offset_of([1, 2])[0])", "has 1 dimension"),
        ("B[0] = T.llvm_lookup_intrinsic_id(3)", "takes the name of an LLVM intrinsic"),
    ],
)  # fmt: skip
def test_mistakes(body: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        program(body)
    assert message in str(caught.value)


@pytest.mark.parametrize("call", ['T.Var("num", "int64")', 'T.SizeVar("num", "int64")', "T.int64(is_size_var=True)"])
def test_a_symbolic_variable_with_a_name(call: str) -> None:
    made = program(f'm = {call}\nA = T.match_buffer(a, (m,), "float32")\nA[0] = 1.0', "a: T.handle")
    assert structural_equal(
        made, ours('m = T.int64()\nA = T.match_buffer(a, (m,), "float32")\nA[0] = 1.0', "a: T.handle")
    )
    with pytest.raises(DiagnosticError, match="takes a name and a dtype"):
        program("m = T.Var(1, 'int64')")


OF_2021 = """
import tvm
from tvm import tir
from tvm.script import ty


@tvm.script.tir
def scale(a: ty.handle, b: ty.handle) -> None:
    A = tir.match_buffer(a, (16,))
    B = tir.match_buffer(b, (16,))
    with tir.block([16], "b") as [vi]:
        B[vi] = A[vi] * 2.0
"""
OF_2021_AS_MODULE = """
import tvm
from tvm import tir
from tvm.script import ty


@tvm.script.tir
class Module:
    # what the first does
    def scale(a: ty.handle) -> None:
        A = tir.match_buffer(a, (16,))
        A[0] = 2.0

    # what the second does
    def shift(a: ty.handle) -> None:
        A = tir.match_buffer(a, (16,))
        A[1] = 3.0
"""


def test_the_first_decorator() -> None:
    """`@tvm.script.tir` stood above functions, and above classes whose functions had no decorator."""
    found = parse(OF_2021)
    signature = "a: T.handle, b: T.handle"
    body = (
        'A = T.match_buffer(a, (16,), "float32")\nB = T.match_buffer(b, (16,), "float32")\n'
        'for i in range(16):\n    with T.block("b"):\n        vi = T.axis.spatial(16, i)\n        B[vi] = A[vi] * 2.0'
    )
    assert isinstance(found, PrimFunc) and found.name == "scale"
    assert structural_equal(found.replace(name="main"), ours(body, signature))
    module = parse(OF_2021_AS_MODULE)
    text = str(module)
    assert text.count("@T.prim_func") == 2
    assert "    # what the second does\n    @T.prim_func\n    def shift(" in text
    assert structural_equal(parse(text), module)
    assert list(extract("print(3)\n" + OF_2021).definitions()) == ["scale"]
    for text in ("from tirscript.script import tir, ty\n", "@T\ndef f():\n    pass\n"):
        with pytest.raises(DiagnosticError):
            parse(text)


@pytest.mark.parametrize(
    ("theirs", "now"),
    [
        ('T.evaluate(T.call_extern("f", C, 3, dtype="int32"))', 'T.evaluate(T.call_extern("int32", "f", C.data, 3))'),
        (
            'T.evaluate(T.tvm_fill_fragment(C, 16, 16, 16, 0, T.float32(0), dtype="handle"))',
            "T.evaluate(T.tvm_fill_fragment(C.data, 16, 16, 16, 0, T.float32(0)))",
        ),
        ("C[0] = 1.0", "C[0] = 1.0"),
    ],
)
def test_what_is_allocated_is_an_address(theirs: str, now: str) -> None:
    """TVM's `T.allocate` names an address, in either form of the statement."""
    wanted = ours(f'C = T.alloc_buffer((256,), "float32")\n{now}')
    assert structural_equal(program(f'C = T.allocate([256], "float32", "global")\n{theirs}'), wanted)
    assert structural_equal(program(f'with T.allocate([256], "float32", "global") as C:\n    {theirs}'), wanted)
    made = program('K = T.allocate_const([1, 2], "int32", [2])\nT.evaluate(T.tvm_call_cpacked("f", K, dtype="int32"))')
    same = 'K = T.allocate_const([1, 2], "int32", (2,))\nT.evaluate(T.call_cpacked("f", K.data))'
    assert structural_equal(made, ours(same))
    with pytest.raises(DiagnosticError, match="the whole buffer `A` is not a value"):
        program('T.evaluate(T.call_extern("f", A, dtype="int32"))')


@pytest.mark.parametrize("declared", ["T.Buffer((256,), data=p)", "T.decl_buffer((256,), data=p)"])
@pytest.mark.parametrize(
    ("memory", "now"),
    [
        ('p = T.allocate([256], "float32", "global")\n', 'M = T.alloc_buffer((256,), "float32")\n'),
        ('with T.allocate([256], "float32", "global") as p:\n    ', 'M = T.alloc_buffer((256,), "float32")\n'),
        ('T.LetStmt(T.call_extern("f", dtype="handle"), var=p)\n', 'M = T.call_extern("handle", "f")\n'),
        ('with T.LetStmt(T.call_extern("f", dtype="handle"), var=p):\n    ', 'M = T.call_extern("handle", "f")\n'),
    ],
)
def test_buffers_stand_in_front_of_the_memory_of_their_pointers(declared: str, memory: str, now: str) -> None:
    """Until 2026 TVM printed buffers at the top of the body that holds all their uses, above `T.allocate`."""
    made = program(f'p = T.handle("float32", "global")\nC = {declared}\nB[0] = A[1]\n{memory}C[3] = A[2]')
    data = "M.data" if "alloc_buffer" in now else "M"
    wanted = ours(f'B[0] = A[1]\n{now}C = T.decl_buffer((256,), "float32", data={data})\nC[3] = A[2]')
    assert structural_equal(made, wanted)
    assert structural_equal(parse(made.script()), made)
    assert structural_equal(parse(made.script(dialect="tvm")), made)
    with pytest.raises(DiagnosticError, match="`C` is used outside of its scope"):
        program(f'p = T.handle("float32", "global")\nC = {declared}\nC[0] = A[1]\n{memory}C[3] = A[2]')
    with pytest.raises(DiagnosticError, match="nothing defines the variable `p`"):
        program(f'p = T.handle("float32", "global")\nC = {declared}\nC[3] = A[2]')


def test_names_of_annotated_bindings_recur() -> None:
    """TVM's `tir` bound by `x: T.float32 = value`, and host code checks one result of a call after the other."""
    made = program("x: T.float32 = A[0]\nB[0] = x\nx: T.float32 = x + A[1]\nB[1] = x")
    wanted = ours("x: T.float32 = A[0]\nB[0] = x\ny: T.float32 = x + A[1]\nB[1] = y")
    assert structural_equal(made, wanted)
    assert structural_equal(parse(made.script()), made)
    assert structural_equal(parse(made.script(dialect="tvm")), made)
    with pytest.raises(DiagnosticError, match="`x` is declared twice"):
        ours("x: T.float32 = A[0]\nx: T.float32 = A[1]\nB[1] = x")


def test_what_headers_of_tvm_import_is_left_alone() -> None:
    header = "import tvm\nimport tvm.testing\nfrom tvm import relax, te, tir\n" + HEADER
    assert structural_equal(program("B[0] = A[1]", header=header), ours("B[0] = A[1]"))
    header = "from tvm.script import tirx as T\nfrom tvm.script import s_tir as Ts\n@Ts.prim_func\n"
    assert structural_equal(
        program("with Ts.sblock():\n    B[0] = A[1]", header=header), ours("with T.block():\n    B[0] = A[1]")
    )
    text = 'from tvm import relax\nfrom tvm.script import relax as R\n@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    return '
    assert structural_equal(parse(text + "relax.op.nn.relu(x)\n"), parse(text + "R.nn.relu(x)\n"))
    with pytest.raises(DiagnosticError, match="`from tvm import` does not stand"):
        program("B[0] = A[1]", header="from tvm import os\n" + HEADER)


def test_packages_of_tvm_are_namespaces() -> None:
    header = "import tvm\nfrom tvm import tirx\n" + HEADER
    for call in ("tirx.exp(A[1])", "tvm.tirx.exp(A[1])", "tvm.tir.exp(A[1])", "tvm.s_tir.exp(A[1])"):
        assert structural_equal(program(f"B[0] = {call}", header=header), ours("B[0] = T.exp(A[1])"))
    body = 'T.func_attr({{"target": {}("cuda", host="llvm")}})\nB[0] = A[1]'
    assert structural_equal(
        program(body.format("tvm.target.Target"), header=header), program(body.format("T.target"), header=header)
    )
    for line, spelling in (
        ("from tvm import target", "target.Target"),
        ("from tvm.target import Target", "Target"),
        ("import tvm.target", "tvm.target.Target"),
        ("import tvm.target as of_tvm", "of_tvm.Target"),
    ):
        made = program(body.format(spelling), header=f"{line}\n{HEADER}")
        assert structural_equal(made, program(body.format("T.target"), header=header)), line
    for line, spelling in (
        ("import tvm.tirx", "tvm.tirx.exp"),
        ("import tvm.tir as tir", "tir.exp"),
        ("import tvm.s_tir as apart, tvm.relax as relax, tvm.meta_schedule as ms, tvm.te", "apart.exp"),
        ("from tvm import meta_schedule as ms, sym", "T.exp"),
    ):
        made = program(f"B[0] = {spelling}(A[1])", header=f"{line}\n{HEADER}")
        assert structural_equal(made, ours("B[0] = T.exp(A[1])")), line
    with pytest.raises(DiagnosticError, match=r"`import tvm\.os` does not stand"):
        program("B[0] = A[1]", header="import tvm.os as os\n" + HEADER)
    with pytest.raises(DiagnosticError, match=r"`from tvm\.target import` does not stand"):
        program("B[0] = A[1]", header="from tvm.target import codegen\n" + HEADER)


def test_a_symbolic_variable_of_a_module() -> None:
    signature = 'A: T.Buffer((M, M * 2), "float32")'
    made = program(
        "A[0, 0] = 1.0", signature, 'from tvm.script import ir as I, tir as T\nM = I.dynamic("M")\n@T.prim_func\n'
    )
    assert structural_equal(made, ours("A[0, 0] = 1.0", 'A: T.Buffer(("M", "M * 2"), "float32")'))
    with pytest.raises(DiagnosticError, match=r"`I\.dynamic` is not a function of I"):
        program("A[0, 0] = 1.0", signature, 'M = I.dynamic("M")\n@T.prim_func\n')


@pytest.mark.parametrize(
    ("then", "now"),
    [("e4m3_float8", "float8_e4m3fn"), ("e5m2_float8", "float8_e5m2"), ("int1", "bool"), ("uint1", "bool")],
)
def test_names_of_dtypes_of_then(then: str, now: str) -> None:
    assert structural_equal(
        program("pass", f'A: T.Buffer((4,), "{then}"), B: T.Buffer((4,), "{then}x4")'),
        ours("pass", f'A: T.Buffer((4,), "{now}"), B: T.Buffer((4,), "{now}x4")'),
    )


@pytest.mark.parametrize("name", ["cta_id", "warpgroup", "TMEMPool", "cooperative_tensor_load"])
def test_tile_primitives_of_gpus_are_named(name: str) -> None:
    with pytest.raises(DiagnosticError, match=f"`T.{name}`, a tile primitive of TVM for GPUs, is not supported"):
        program(f"T.evaluate(T.{name}(A.data))")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("T.store(A.data, 0, 1.0)", None),
        ("B[0] = T.f32(1)", "did you mean `T.float32`?"),
        ("x = T.uint1(1)", "did you mean `T.bool`?"),
        ("T.ptx_commit_group()", "did you mean `T.ptx.cp_async_commit_group`?"),
        ("x = T.bind(n)", None),
        ('m = T.Var("m", "int64")', None),
    ],
)
def test_our_own_dialect_does_not_read_them(word: str, hint: str | None) -> None:
    with pytest.raises(DiagnosticError, match="is not a function of T") as caught:
        ours(word)
    assert hint is None or caught.value.diagnostics[0].hint == hint


def test_flags_of_one_bit() -> None:
    flags = "x: T.int1 = T.int1(1)\ny = T.uint1(0)\nif x:\n    A[0] = T.float32(y)"
    assert structural_equal(program(flags), ours(flags.replace("uint1", "bool").replace("int1", "bool")))


def test_a_declared_variable_gets_its_value_by_a_call() -> None:
    made = program(
        "m = T.int32()\nT.bind(n + 1, var=m)\nB[m] = A[0]", "A: T.buffer((4,)), B: T.buffer((9,)), n: T.int32"
    )
    signature = 'A: T.Buffer((4,), "float32"), B: T.Buffer((9,), "float32"), n: T.int32'
    assert structural_equal(made, ours("m = n + 1\nB[m] = A[0]", signature))


def test_what_two_calls_say_of_a_block_is_joined() -> None:
    made = program(
        'with T.block():\n    T.block_attr({"k": {"a": 1}})\n    T.block_attr({"k": {"b": 2}})\n    B[0] = A[0]'
    )
    assert structural_equal(made, ours('with T.block():\n    T.block_attr({"k": {"a": 1, "b": 2}})\n    B[0] = A[0]'))


@pytest.mark.parametrize(
    "body",
    [
        'T.preflattened_buffer(A, (4, 4), "float32", data=A.data)\nA[5] = 1.0',
        'C = T.buffer_decl((16,), "float32", data=A.data)\nC[5] = 1.0',
        'with T.block("b"):\n    C = T.match_buffer_region(A[0:4])\n    C[3] = 1.0',
    ],
)
def test_what_only_they_ever_said_tells_their_dialect(body: str) -> None:
    """A text without its imports, as one that was cut out of a file."""
    assert structural_equal(ours(body), program(body))
