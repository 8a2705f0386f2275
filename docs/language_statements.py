"""Functions, loops, statements and memory: the examples of docs/language.md."""

from __future__ import annotations

from language_example import FLOATS, Example, on_ints

SECTIONS: dict[str, tuple[Example, ...]] = {
    "Ways in": (
        Example(
            "`@T.prim_func` over live Python: names have their Python values",
            """\
scale = 0.5


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] *= scale
""",
            [0.5, 1.0, 1.5, 2.0],
            live=True,
        ),
        Example(
            "`tirscript.parse(text)`: text alone, which is never run",
            """\
text = '''
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    A[0] = 7.0
'''
f = tirscript.parse(text)
""",
            [7.0, 2.0, 3.0, 4.0],
            live=True,
        ),
        Example(
            "`parse(text, names=...)`: values that the text may use",
            """\
text = '''
@T.prim_func
def f(A: T.Buffer((size,), "float32")):
    A[size - 1] = 7.0
'''
f = tirscript.parse(text, names={"size": 4})
""",
            [1.0, 2.0, 3.0, 7.0],
            live=True,
        ),
        Example(
            "`parse_file(path)`: all that a file defines, by name",
            """\
Path("kernels.py").write_text(
    "from tirscript.script import tir as T\\n"
    "\\n\\n@T.prim_func\\n"
    "def one(A: T.Buffer((4,), 'float32')):\\n"
    "    A[0] = 8.0\\n"
)
f = tirscript.parse_file("kernels.py")["one"]
""",
            [8.0, 2.0, 3.0, 4.0],
            live=True,
        ),
        Example(
            "comments, docstrings and blank lines are kept",
            """\
# above the function
@T.prim_func
def f(A: T.Buffer((4,), "float32")):  # beside
    \"\"\"What it does.\"\"\"
    # above a statement
    A[0] = 1.0

    A[1] = 1.0  # beside it
    # at the end
""",
            [1.0, 1.0, 3.0, 4.0],
        ),
    ),
    "Parameters": (
        Example(
            "a buffer",
            '@T.prim_func\ndef f(A: T.Buffer((2, 2), "float32")):\n    A[1, 0] = 5.0\n',
            [[0.0, 0.0], [5.0, 0.0]],
            args="np.zeros((2, 2), 'float32')",
        ),
        Example(
            "the older form of a buffer",
            '@T.prim_func\ndef f(A: T.Buffer[(2, 2), "int32"], B: T.Buffer[4, "int32"]):\n    B[0] = A[1, 1]\n',
            [3, 0, 0, 0],
            args="np.full((2, 2), 3, 'int32'), np.zeros(4, 'int32')",
        ),
        Example(
            "a shape of one dimension, the dtype float32 where there is none",
            "@T.prim_func\ndef f(A: T.Buffer(4)):\n    A[0] = 5.0\n",
            [5.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "all options of a buffer",
            """\
@T.prim_func
def f(
    A: T.Buffer(
        (2, 2), "float32", strides=(4, 1), elem_offset=0, scope="global", align=64, offset_factor=1
    ),
):
    A[1, 0] = 5.0
""",
        ),
        Example(
            "axis separators of a buffer",
            '@T.prim_func\ndef f(A: T.Buffer((2, 2), "float32", axis_separators=[1])):\n    A[1, 0] = 5.0\n',
            [[0.0, 0.0], [5.0, 0.0]],
            tvm=False,
            args="np.zeros((2, 2), 'float32')",
        ),
        Example(
            "symbolic dimensions as strings; the body may use them",
            """\
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n * 2",), "float32")):
    for i in range(n):
        B[n + i] = A[i]
""",
            [0.0, 0.0, 5.0, 6.0],
            args="np.array([5, 6], 'float32'), np.zeros(4, 'float32')",
        ),
        Example(
            "a symbolic dimension of another dtype",
            """\
n = T.int32()


@T.prim_func
def f(A: T.Buffer((n,), "float32")):
    A[n - 1] = 9.0
""",
            [1.0, 2.0, 3.0, 9.0],
        ),
        Example(
            "a scalar parameter as a dimension",
            '@T.prim_func\ndef f(n: T.int32, A: T.Buffer(("n",), "float32")):\n    A[n - 1] = 9.0\n',
            [1.0, 2.0, 3.0, 9.0],
            args=f"4, {FLOATS}",
        ),
        Example(
            "a `TypeVar` as a dimension",
            """\
from typing import TypeVar

n = TypeVar("n")


@T.prim_func
def f(A: T.Buffer((n,), "float32")):
    A[n - 1] = 9.0
""",
            [1.0, 2.0, 3.0, 9.0],
        ),
        Example(
            "type parameters as dimensions, of Python 3.12",
            """\
@T.prim_func
def f[n](A: T.Buffer((n,), "float32")):
    A[n - 1] = 9.0
""",
            [1.0, 2.0, 3.0, 9.0],
            syntax=(
                '@T.prim_func\ndef f(A: T.Buffer(("n",), "float32")):\n    A[n - 1] = 9.0\n',
                "n = T.int64()\n\n\n@T.prim_func(s_tir=True)\n"
                'def f(A: T.Buffer((n,), "float32")):\n    A[n - T.int64(1)] = T.float32(9.0)\n',
            ),
        ),
        Example(
            "scalars",
            '@T.prim_func\ndef f(n: T.int64, alpha: T.float32, A: T.Buffer((4,), "float32")):\n    A[n] = alpha\n',
            [1.0, 2.0, 0.5, 4.0],
            args=f"2, 0.5, {FLOATS}",
        ),
        Example(
            "a handle and its buffer, with a symbolic dimension",
            """\
@T.prim_func
def f(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    A[n - 1] = 6.0
""",
            [1.0, 2.0, 3.0, 6.0],
        ),
        Example(
            "all that a handle's buffer says",
            """\
@T.prim_func
def f(a: T.handle):
    n = T.int64()
    A = T.match_buffer(
        a,
        (2, n),
        dtype="float32",
        strides=(n, 1),
        elem_offset=0,
        scope="global",
        align=4,
        offset_factor=1,
    )
    A[1, n - 1] = 6.0
""",
            [[1.0, 2.0], [3.0, 6.0]],
            args="np.array([[1, 2], [3, 4]], 'float32')",
        ),
        Example(
            '`T.var("int64")`: a symbol, as `T.int64()`',
            """\
@T.prim_func
def f(a: T.handle):
    n = T.var("int64")
    A = T.match_buffer(a, (n,), "float32")
    A[n - 1] = 6.0
""",
            [1.0, 2.0, 3.0, 6.0],
        ),
        Example(
            "a symbolic stride",
            """\
@T.prim_func
def f(a: T.handle):
    s = T.int64()
    A = T.match_buffer(a, (2, 2), "float32", strides=(s, 1))
    A[1, 0] = A[0, 1]
""",
            [[1.0, 2.0], [2.0, 4.0]],
            args="np.array([[1, 2], [3, 4]], 'float32')",
        ),
        Example(
            "a typed pointer",
            """\
@T.prim_func
def f(a: T.handle("float32", "global")):
    A = T.match_buffer(a, (4,), "float32")
    A[0] = 6.0
""",
            [6.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "a private function",
            '@T.prim_func(private=True)\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 6.0\n',
            [6.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "a function that the verifier leaves alone",
            '@T.prim_func(check_well_formed=False)\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 6.0\n',
            [6.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "TVM's option, which means nothing",
            '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 6.0\n',
            [6.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "attributes of the function, of any nested value",
            """\
T.func_attr({"global_symbol": "f", "noalias": True, "sizes": [1, 2.5, {"key": None}]})
A[0] = 6.0
""",
            [6.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "TVM's names of attributes",
            'T.func_attr({"tir.noalias": True, "tirx.is_entry_func": True})\nA[0] = 6.0\n',
            [6.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "a scalar that is returned",
            """\
@T.prim_func
def f(n: T.int32) -> T.int32:
    if n > 2:
        return n * 2
    return 0
""",
            6,
            args="3",
        ),
    ),
    "Loops": (
        Example("a loop", "for i in range(4):\n    A[i] = A[i] + 1.0\n", [2.0, 3.0, 4.0, 5.0]),
        Example("bounds and a step", "for i in range(1, 4, 2):\n    A[i] = 0.0\n", [1.0, 0.0, 3.0, 0.0]),
        Example("a step down", "for i in range(3, 0, -2):\n    A[i] = 0.0\n", [1.0, 0.0, 3.0, 0.0]),
        Example(
            "bounds and a step by name",
            "for i in T.serial(start=1, stop=4, step=2):\n    A[i] = 0.0\n",
            [1.0, 0.0, 3.0, 0.0],
        ),
        Example(
            "a loop whose variable has another dtype",
            "for i in range(T.int64(4)):\n    A[i] = 0.0\n",
            [0.0] * 4,
        ),
        Example(
            "`T.serial`, with annotations",
            'for i in T.serial(1, 4, annotations={"unroll": 2}):\n    A[i] = 0.0\n',
            [1.0, 0.0, 0.0, 0.0],
        ),
        Example("a loop whose turns run at once", "for i in T.parallel(4):\n    A[i] = 0.0\n", [0.0] * 4),
        Example(
            "a loop that becomes vectors", "for i in T.vectorized(4):\n    A[i] = A[i] * 2.0\n", [2.0, 4.0, 6.0, 8.0]
        ),
        Example("a loop that is written out", "for i in T.unroll(4):\n    A[i] = 0.0\n", [0.0] * 4),
        Example(
            "a loop over threads, which the interpreter runs one after the other",
            'for i in T.thread_binding(4, thread="threadIdx.x"):\n    A[i] = 0.0\n',
            [0.0] * 4,
            native=False,
        ),
        Example(
            "annotations of any loop",
            'for i in T.parallel(0, 2, annotations={"chunk": 1}):\n    A[i] = 0.0\n'
            'for i in T.unroll(2, 3, annotations={"pragma": {"deep": (1, "x")}}):\n    A[i] = 0.0\n'
            'for i in T.thread_binding(3, 4, "threadIdx.x", annotations={"k": None}):\n    A[i] = 0.0\n',
            [0.0] * 4,
            native=False,
        ),
        Example("several loops at once", "for i, j in T.grid(2, 2):\n    A[i * 2 + j] = 0.0\n", [0.0] * 4),
        Example(
            "as many loops as there are dimensions",
            "shape = (2, 2)\nfor *i, j in T.grid(*shape):\n    A[i[0] * 2 + j] = 0.0\n",
            [0.0] * 4,
        ),
        Example(
            "a loop over a Python sequence, written out while parsing",
            "for i, x in enumerate([0.5, 1.5]):\n    A[i] = x\n",
            [0.5, 1.5, 3.0, 4.0],
        ),
        Example("`while`", "i = 0\nwhile i < 3:\n    A[i] = 0.0\n    i += 1\n", [0.0, 0.0, 0.0, 4.0]),
        Example(
            "`break` and `continue`",
            "for i in range(4):\n    if i == 1:\n        continue\n    if i == 3:\n        break\n    A[i] = 0.0\n",
            [0.0, 2.0, 0.0, 4.0],
        ),
        Example(
            "many threads, launched around a body",
            """\
with T.launch_thread("blockIdx.x", 2) as bx:
    with T.launch_thread("threadIdx.x", 2) as tx:
        A[bx * 2 + tx] = 0.0
""",
            [0.0] * 4,
            native=False,
        ),
        Example(
            "many threads over the rest of the body",
            'bx = T.launch_thread("blockIdx.x", 4)\nA[bx] = 0.0\n',
            [0.0] * 4,
            native=False,
        ),
        Example(
            "a thread that several statements launch",
            """\
tx = T.env_thread("threadIdx.x")
with T.launch_thread(tx, 4):
    A[tx] = 1.0
with T.launch_thread(tx, 4):
    A[tx] = A[tx] + 1.0
""",
            [2.0] * 4,
            native=False,
        ),
    ),
    "Statements": (
        Example("a store", "A[2] = 5.0\n", [1.0, 2.0, 5.0, 4.0]),
        Example("augmented assignment of an element", "A[1] += 1.0\nA[2] *= A[3]\n", [1.0, 3.0, 12.0, 4.0]),
        on_ints(
            "all augmented assignments",
            "X[0] += 7\nX[0] -= 1\nX[0] *= 3\nX[0] //= 2\nX[0] %= 8\nX[0] <<= 3\nX[0] >>= 1\nX[0] |= 2\nX[0] &= 7\n"
            "X[0] ^= 1\n",
            [3, 2, 3, 4],
        ),
        Example("those of floats", "A[3] /= 2.0\nA[2] **= 2.0\n", [1.0, 2.0, 9.0, 2.0]),
        Example("a name assigned once: an immutable binding", "x = A[0] + A[1]\nA[2] = x * x\n", [1.0, 2.0, 9.0, 4.0]),
        Example("a binding with its dtype", "x: T.let[T.float32] = A[0]\nA[2] = x\n", [1.0, 2.0, 1.0, 4.0]),
        Example(
            "a name assigned again: a mutable scalar",
            "s = T.float32(0)\nfor i in range(4):\n    s += A[i]\nA[0] = s\n",
            [10.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "the explicit form of a mutable scalar",
            "s: T.float32 = A[0]\ns = s + 1.0\nA[3] = s\n",
            [1.0, 2.0, 3.0, 2.0],
        ),
        Example("a mutable scalar without a first value", "s: T.float32\ns = A[1]\nA[3] = s\n", [1.0, 2.0, 3.0, 2.0]),
        Example("several targets", "a, b = A[0], A[1]\nA[2], A[3] = b, a\n", [1.0, 2.0, 2.0, 1.0]),
        Example("one value for several names", "a = b = A[3]\nA[0] = a + b\n", [8.0, 2.0, 3.0, 4.0]),
        on_ints(
            "the right side is evaluated first, also of scalars",
            "a = 0\nb = 1\nfor i in range(5):\n    a, b = b, a + b\nX[0] = a\n",
            [5, 2, 3, 4],
        ),
        Example("elements exchanged: the right side is read first", "A[0], A[1] = A[1], A[0]\n", [2.0, 1.0, 3.0, 4.0]),
        Example("a starred target", "a, *rest = [A[3], A[2], A[1]]\nA[0] = rest[1]\n", [2.0, 2.0, 3.0, 4.0]),
        Example(
            "branches",
            "if A[0] > 2.0:\n    A[1] = 0.0\nelif A[2] > 2.0:\n    A[1] = 1.0\nelse:\n    A[1] = 2.0\n",
            [1.0, 1.0, 3.0, 4.0],
        ),
        Example(
            "a name that every branch assigns",
            "if A[0] > 2.0:\n    x = A[1]\nelse:\n    x = A[2]\nA[0] = x\n",
            [3.0, 2.0, 3.0, 4.0],
        ),
        Example("`assert`", 'assert A[0] > 5.0, "the first is small"\nA[0] = 0.0\n', "AssertionError"),
        Example("`assert` without words", "assert A[0] > 0.0\nA[0] = 0.0\n", [0.0, 2.0, 3.0, 4.0]),
        Example(
            "a condition proved when compiled",
            'for i in range(4):\n    T.static_assert(i < 4, "inside")\n    A[i] = 0.0\n',
            [0.0] * 4,
            tvm=False,
        ),
        Example("a condition that is trusted", "n: T.int32 = 3\nT.assume(n < 4)\nA[n] = 0.0\n", [1.0, 2.0, 3.0, 0.0]),
        Example("`pass`", "pass\n", [1.0, 2.0, 3.0, 4.0]),
        Example(
            "an early `return`", "A[0] = 0.0\nif A[1] > 1.0:\n    return\nA[1] = 0.0\n", [0.0, 2.0, 3.0, 4.0], tvm=False
        ),
        Example("a call for its effect", 'T.evaluate(T.call_extern("int32", "abs", -3))\n', [1.0, 2.0, 3.0, 4.0]),
        Example("printing", 'T.print("A[0] is", A[0])\n', [1.0, 2.0, 3.0, 4.0], tvm=False),
        Example("a stop in the debugger, under the interpreter", "breakpoint()\n", tvm=False),
        Example(
            "an attribute around statements",
            'with T.attr(0, "pragma", "fast"):\n    A[0] = 0.0\n',
            [0.0, 2.0, 3.0, 4.0],
        ),
    ),
    "Memory": (
        Example(
            "memory of the function",
            'B = T.alloc_buffer((4,), "float32")\nB[0] = A[3]\nA[0] = B[0]\n',
            [4.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "its scope",
            'B = T.alloc_buffer((4,), "float32", scope="local")\nB[0] = A[3]\nA[0] = B[0]\n',
            [4.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "an annotation that declares memory",
            "B: T.float32[2, 2]\nB[0, 1] = A[3]\nA[0] = B[0, 1]\n",
            [4.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "another view of memory",
            'B = T.decl_buffer((2, 2), "float32", data=A.data)\nB[1, 0] = 9.0\n',
            [1.0, 2.0, 9.0, 4.0],
        ),
        Example(
            "a view from an element on",
            'B = T.decl_buffer((2,), "float32", data=A.data, elem_offset=2)\nB[0] = 9.0\n',
            [1.0, 2.0, 9.0, 4.0],
        ),
        Example(
            "a view from an address",
            'B = T.decl_buffer((2,), "float32", data=T.address_of(A[1]))\nB[0] = 9.0\n',
            [1.0, 9.0, 3.0, 4.0],
        ),
        Example(
            "constants",
            'K = T.allocate_const([[1.5, 2.0], [float("inf"), -0.0]], "float32", (2, 2))\nA[0] = K[0, 0] + K[0, 1]\n',
            [3.5, 2.0, 3.0, 4.0],
            tvm=False,
        ),
        Example(
            "an array as a constant",
            """\
import numpy as np

weights = np.arange(20, dtype="float32").reshape(5, 4)


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    W = T.allocate_const(weights, "float32", (5, 4))
    for i in range(4):
        A[i] = W[2, i]
""",
            [8.0, 9.0, 10.0, 11.0],
            live=True,
            tvm=False,
        ),
        Example(
            "constants by their digest, whose data is in the text, in a file, or in a store",
            'K = T.constant(\n    "sha256:d0a594b030e22e36a64545f968c07978fb90234c948f0dd684d1eda9b54e5900",\n'
            '    (3,),\n    "uint8",\n    base64="AQID",\n)\nA[0] = K[1].astype("float32")\n',
            [2.0, 2.0, 3.0, 4.0],
            tvm=False,
        ),
        Example("`A.view(...)`", "B = A.view(2, 2)\nB[0, 1] = 9.0\n", [1.0, 9.0, 3.0, 4.0]),
        Example(
            "a region with a name",
            """\
with T.block("part"):
    T.reads()
    T.writes(A[1:3])
    P = T.match_buffer(A[1:3], (2,), "float32", offset_factor=1)
    P[0] = 9.0
""",
            [1.0, 9.0, 3.0, 4.0],
        ),
        Example(
            "the shape and the dtype of a buffer",
            "for i in range(A.shape[0]):\n    A[i] = T.max_value(A.dtype)\n",
            [3.4028234663852886e38] * 4,
        ),
        Example("storing a value that is any value: no store", 'A[0] = T.undef("float32")\n', tvm=False),
    ),
}
