"""Blocks, values, vectors and calls: the examples of docs/language.md."""

from __future__ import annotations

from language_example import B44, COUNT, FLOATS, A, Example, on_ints

SECTIONS: dict[str, tuple[Example, ...]] = {
    "Blocks": (
        Example(
            "axes of loops around, and a reduction's init",
            """\
for i, j in T.grid(4, 4):
    with T.block("sum"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            A[vi] = 0.0
        A[vi] = A[vi] + B[vi, vj]
""",
            [6.0, 22.0, 38.0, 54.0],
            f"{B44}, {A}",
            f"{COUNT}, {FLOATS}",
        ),
        Example(
            "axes with a domain and a value each",
            """\
for i in range(8):
    with T.block("copy"):
        vi = T.axis.spatial(4, i // 2)
        vj = T.axis.opaque((0, 2), i % 2)
        A[vi] = T.cast(vj, "float32")
""",
            [1.0] * 4,
        ),
        Example(
            "`T.axis.reduce` and `T.axis.scan`",
            """\
for k, s in T.grid(2, 4):
    with T.block("steps"):
        vk = T.axis.reduce(2, k)
        vs = T.axis.scan(4, s)
        A[vs] = A[vs] + T.float32(1)
""",
            [3.0, 4.0, 5.0, 6.0],
        ),
        Example(
            "`T.axis.opaque`, and a domain with a start",
            """\
for i, j in T.grid(1, 2):
    with T.block("b"):
        vi = T.axis.opaque(1, i)
        vj = T.axis.spatial((1, 3), j + 1)
        A[vi + vj] = 0.0
""",
            [1.0, 0.0, 0.0, 4.0],
        ),
        Example(
            "a predicate",
            """\
for i in range(8):
    with T.block("some"):
        vi = T.axis.spatial(8, i)
        T.where(i < 4)
        A[vi] = 0.0
""",
            [0.0] * 4,
        ),
        Example(
            "what a block reads and writes, where it is said",
            """\
for i in range(4):
    with T.block("copy"):
        vi = T.axis.spatial(4, i)
        T.reads(B[vi, 0:2])
        T.writes(A[vi])
        A[vi] = B[vi, 1]
""",
            [1.0, 5.0, 9.0, 13.0],
            f"{B44}, {A}",
            f"{COUNT}, {FLOATS}",
        ),
        Example(
            "attributes, in both forms",
            """\
with T.block("opaque"):
    T.block_attr({"order": [1, 2]})
    T.block_attr("preproc", "pad")
    A[0] = 0.0
""",
            [0.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "memory of a block",
            """\
with T.block("work"):
    C = T.alloc_buffer((4,), "float32")
    C[0] = A[1]
    A[0] = C[0]
""",
            [2.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "a region with a name of its own, with symbolic strides",
            """\
for i in range(2):
    with T.block("row"):
        vi = T.axis.spatial(2, i)
        T.reads(B[vi, 0:4])
        T.writes(B[vi, 0:4])
        s = T.int64()
        W = T.match_buffer(B[vi, 0:4], (1, 4), "float32", strides=(s, 1), offset_factor=1)
        W[0, 3] = W[0, 0] - 1.0
""",
            [[0.0, 1.0, 2.0, -1.0], [4.0, 5.0, 6.0, 3.0], [8.0, 9.0, 10.0, 11.0], [12.0, 13.0, 14.0, 15.0]],
            B44,
            COUNT,
        ),
        Example(
            "a block with neither name nor axes",
            "with T.block():\n    A[0] = 0.0\n",
            [0.0, 2.0, 3.0, 4.0],
        ),
    ),
    "Values": (
        on_ints("arithmetic", "X[0] = (X[1] + X[2]) * X[3] - 1\n", [19, 2, 3, 4]),
        on_ints("`//` and `%` floor", "X[0] = -7 // X[1]\nX[3] = -7 % X[2]\n", [-4, 2, 3, 2]),
        on_ints(
            "division that truncates", "X[0] = T.truncdiv(-7, X[1])\nX[3] = T.truncmod(-7, X[2])\n", [-3, 2, 3, -1]
        ),
        on_ints("bits", "X[0] = X[1] << 3 | X[2] & 1 ^ ~X[3]\n", [-6, 2, 3, 4]),
        Example("division of floats, powers, negation", "A[0] = -A[1] / A[3] + A[2] ** 2.0\n", [8.5, 2.0, 3.0, 4.0]),
        on_ints(
            "comparisons in a chain", "for i in range(4):\n    if 1 < X[i] <= 3:\n        X[i] = 0\n", [1, 0, 0, 4]
        ),
        on_ints(
            "`and`, `or`, `not`: the second is evaluated where it counts",
            "for i in range(4):\n    if not (i > 0 and X[i - 1] > 1) or i == 3:\n        X[i] = 7\n",
            [7, 2, 3, 7],
        ),
        Example(
            "one side of two is evaluated",
            "for i in range(4):\n    A[i] = A[i - 1] if i > 0 else T.float32(0)\n",
            [0.0, 0.0, 0.0, 0.0],
        ),
        Example(
            "the same as a function",
            "for i in range(4):\n    A[i] = T.if_then_else(i > 0, A[i - 1], T.float32(0))\n",
            [0.0, 0.0, 0.0, 0.0],
        ),
        Example("both sides are evaluated", "A[0] = T.Select(A[1] > A[2], A[1], A[2])\n", [3.0, 2.0, 3.0, 4.0]),
        Example("a function of T", "A[0] = T.sqrt(A[3])\n", [2.0, 2.0, 3.0, 4.0]),
        Example("arguments by name", "A[0] = T.max(b=A[1], a=T.exp(x=A[2]) - T.exp(A[2]))\n", [2.0, 2.0, 3.0, 4.0]),
        Example(
            "Python's `min`, `max`, `abs`, `round`", "A[0] = max(min(A[1], A[2]), abs(-A[0]))\n", [2.0, 2.0, 3.0, 4.0]
        ),
        Example(
            "casts",
            'A[0] = T.cast(3.7 + T.int32(0), "float32")\nA[1] = T.float32(T.int32(7))\n'
            'A[2] = A[3].astype("int32").astype("float32")\n',
            [3.7, 7.0, 4.0, 4.0],
        ),
        Example(
            "limits of a dtype",
            'A[0] = T.infinity("float32")\nA[1] = T.min_value("float32")\n',
            [float("inf"), -3.4028234663852886e38, 3.0, 4.0],
        ),
        Example(
            "the bits of a value as another dtype",
            'A[0] = T.reinterpret("float32", T.int32(1065353216))\n',
            [1.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "nan and the infinities",
            'A[0] = T.float32("-inf")\nA[1] = T.float32("inf")\n',
            [float("-inf"), float("inf"), 3.0, 4.0],
        ),
        on_ints("an int and a float of a dtype", 'X[0] = T.cast(T.int64(5) + T.int64(6), "int32")\n', [11, 2, 3, 4]),
        Example("a binding in an expression", 'A[0] = T.let("x", A[1] + 1.0, lambda x: x * x)\n', [9.0, 2.0, 3.0, 4.0]),
        Example(
            "an address, and whether it is null", "if not T.isnullptr(A.data):\n    A[0] = 0.0\n", [0.0, 2.0, 3.0, 4.0]
        ),
        Example("a condition expected to hold", "if T.likely(A[0] > 0.0):\n    A[0] = 0.0\n", [0.0, 2.0, 3.0, 4.0]),
    ),
    "Vectors": (
        Example("a slice is a vector", "A[0:2] = A[2:4]\n", [3.0, 4.0, 3.0, 4.0]),
        Example("a slice with a step", "A[0:4:2] = A[1:4:2]\n", [2.0, 2.0, 4.0, 4.0]),
        Example(
            "a vector that runs on into the next rows",
            "A[0:4] = B[1, T.ramp(2, 1, 4)]\n",
            [6.0, 7.0, 8.0, 9.0],
            f"{B44}, {A}",
            f"{COUNT}, {FLOATS}",
        ),
        Example(
            "`T.ramp` as an index, `T.broadcast` as a value",
            "A[T.ramp(0, 2, 2)] = T.broadcast(T.float32(7), 2)\n",
            [7.0, 2.0, 7.0, 4.0],
        ),
        Example("dtypes with lanes", "v: T.float32x4 = A[0:4]\nA[0:4] = v + T.float32x4(1)\n", [2.0, 3.0, 4.0, 5.0]),
        Example(
            "predicated accesses",
            "A.vstore(\n    [T.ramp(0, 1, 4)],\n"
            "    A.vload([T.ramp(0, 1, 4)], predicate=T.ramp(0, 1, 4) < 4) * T.float32(2),\n"
            "    predicate=T.ramp(0, 1, 4) < 2,\n)\n",
        ),
        Example("scalable vectors", "A[T.ramp(0, 1, 4 * T.vscale())] = T.broadcast(T.float32(0), 4 * T.vscale())\n"),
        Example(
            "lanes put together anew", "A[0:4] = T.Shuffle([A[0:2], A[2:4]], [3, 2, 1, 0])\n", [4.0, 3.0, 2.0, 1.0]
        ),
    ),
    "Reductions, index maps, targets": (
        Example(
            "a reduction in an expression",
            "A[0] = T.Reduce(\n    T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), lambda k: [B[1, k]], [4]\n)\n",
            [22.0, 2.0, 3.0, 4.0],
            f"{B44}, {A}",
            f"{COUNT}, {FLOATS}",
        ),
        Example(
            "an index map as an attribute",
            'T.func_attr({"layout": T.index_map(lambda i, j: (j, i // 4, i % 4))})\nA[0] = 0.0\n',
            [0.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "a target", 'T.func_attr({"target": T.target("llvm -mcpu=skylake")})\nA[0] = 0.0\n', [0.0, 2.0, 3.0, 4.0]
        ),
    ),
    "Calls": (
        Example("a C function by symbol", 'A[0] = T.call_extern("float32", "sqrtf", A[3])\n', [2.0, 2.0, 3.0, 4.0]),
        Example("one without effects", 'A[0] = T.call_pure_extern("float32", "fabsf", -A[3])\n', [4.0, 2.0, 3.0, 4.0]),
        Example("a registered function by name", 'T.call_packed("docs.clear", A.data)\n'),
        Example("an intrinsic of another machine: kept, and not run here", 'T.tvm_storage_sync("shared")\n'),
    ),
}
