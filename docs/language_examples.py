"""The examples of the tables in docs/language.md: every construct, in the smallest program that shows it.

`code` is the body of a function of `params`, or a whole text where it begins with a decorator or a comment that says
where it stands. `gives` is what the last argument holds (or what the function returns) after a run on `args`, in the
interpreter and natively; None where there is nothing to run. make_language.py does all that and writes the tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

A = 'A: T.Buffer((4,), "float32")'
X = 'X: T.Buffer((4,), "int32")'
B44 = 'B: T.Buffer((4, 4), "float32")'
FLOATS = "np.array([1, 2, 3, 4], 'float32')"
INTS = "np.array([1, 2, 3, 4], 'int32')"
COUNT = "np.arange(16, dtype='float32').reshape(4, 4)"


class Example(NamedTuple):
    """A construct and a program that shows it.

    what:   the construct, in Markdown
    code:   the program
    gives:  the expected result, None where there is none; an exception's class name where it must be raised
    params: the parameters around a body
    args:   the arguments of a run, as Python
    live:   the text is Python that is executed, and `f` what it defines
    tvm:    False where TVM's dialect has no form of it
    native: False where the interpreter alone runs it
    """

    what: str
    code: str
    gives: Any = None
    params: str = A
    args: str = FLOATS
    live: bool = False
    tvm: bool = True
    native: bool = True


def on_ints(what: str, code: str, gives: Any = None, **more: Any) -> Example:
    """An example over the int32 buffer X."""
    return Example(what, code, gives, X, INTS, **more)


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
        Example("several loops at once", "for i, j in T.grid(2, 2):\n    A[i * 2 + j] = 0.0\n", [0.0] * 4),
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
            tvm=False,
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
    "Metaprogramming": (
        Example(
            "a closure, and a function that returns a parsed function",
            """\
def scaled_by(factor):
    @T.prim_func
    def f(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] * factor

    return f


f = scaled_by(3.0)
""",
            [3.0, 6.0, 9.0, 12.0],
            live=True,
        ),
        Example(
            "a Python function, called while parsing",
            """\
def poly(x, coefficients):
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    A[0] = poly(A[1], [1.0, 2.0])
""",
            [4.0, 2.0, 3.0, 4.0],
            live=True,
        ),
        Example(
            "a macro",
            """\
@T.macro
def twice(buffer, i):
    buffer[i] = buffer[i] * 2.0


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    twice(A, 1)
""",
            [1.0, 4.0, 3.0, 4.0],
        ),
        Example(
            "a macro that sees the names at its call",
            """\
@T.macro(hygienic=False)
def clear():
    A[i] = 0.0


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    for i in range(2):
        clear()
""",
            [0.0, 0.0, 3.0, 4.0],
        ),
        Example(
            "a condition of Python values: decided while parsing",
            "if 2 > 1:\n    A[0] = 0.0\nelse:\n    A[1] = 0.0\n",
            [0.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "comprehensions, generator expressions and `sum`",
            "A[0] = sum(A[i] * c for i, c in enumerate([1.0, 10.0]))\n",
            [21.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "`*`-unpacking and f-strings",
            'at = [2]\nwith T.block(f"store_{at[0]}"):\n    A[*at] = 0.0\n',
            [1.0, 2.0, 0.0, 4.0],
        ),
        Example("a walrus over parse-time values", "A[(k := 2) + 1] = float(k)\n", [1.0, 2.0, 3.0, 2.0]),
        Example("a value used while parsing", "x = T.meta_var(A[1])\nA[0] = x + x\n", [4.0, 2.0, 3.0, 4.0]),
    ),
    "Modules": (
        Example(
            "functions that call each other",
            """\
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        M.fill(A, 7.0)

    @T.prim_func(private=True)
    def fill(A: T.Buffer((4,), "float32"), value: T.float32):
        for i in range(4):
            A[i] = value
""",
            [7.0] * 4,
        ),
        Example(
            "`cls`, attributes, a docstring, a symbol that functions share",
            """\
@I.ir_module
class M:
    \"\"\"What it is.\"\"\"

    n = T.int32()
    I.module_attrs({"version": 1})

    @T.prim_func
    def main(A: T.Buffer((n,), "float32")):
        cls = M
        cls.last(A)

    @T.prim_func(private=True)
    def last(A: T.Buffer((n,), "float32")):
        A[n - 1] = 0.0
""",
            [1.0, 2.0, 3.0, 0.0],
        ),
        Example(
            "regions, pointers and addresses as arguments",
            """\
@I.ir_module
class M:
    @T.prim_func
    def main(C: T.Buffer((1,), "float32"), B: T.Buffer((4, 4), "float32")):
        M.row(B[1, 0:4])
        M.first(C.data)
        M.first(T.address_of(B[2, 0]))

    @T.prim_func(private=True)
    def row(A: T.Buffer((4,), "float32")):
        A[3] = -1.0

    @T.prim_func(private=True)
    def first(a: T.handle):
        A = T.match_buffer(a, (1,), "float32")
        A[0] = -2.0
""",
            [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, -1.0], [-2.0, 9.0, 10.0, 11.0], [12.0, 13.0, 14.0, 15.0]],
            args=f"np.zeros(1, 'float32'), {COUNT}",
            tvm=False,
        ),
    ),
    "Meaning": (
        on_ints("integers wrap", "X[0] = X[0] + 2147483647\n", [-2147483648, 2, 3, 4]),
        on_ints("shifts by the width or more", "X[0] = X[1] << 32\nX[3] = -X[3] >> 40\n", [0, 2, 3, -1]),
        on_ints("an integer divided by zero", "X[0] = X[1] // (X[2] - 3)\n", "DiagnosticError"),
        Example(
            "`T.min(a, b)` is `a if a < b else b`, nan included",
            'A[0] = T.min(T.float32("nan"), A[1])\nA[3] = T.max(T.float32("nan"), A[2])\n',
            [2.0, 2.0, 3.0, 3.0],
        ),
        Example(
            "halves: `T.round` away from zero, `T.nearbyint` to even",
            "A[0] = T.round(A[1] + 0.5)\nA[1] = T.nearbyint(A[1] + 0.5)\n",
            [3.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "an int literal takes the other operand's dtype, a store converts int to float",
            "A[0] = A[1] + 1\nA[2] = T.int32(9)\n",
            [3.0, 2.0, 9.0, 4.0],
        ),
        Example(
            "two of one kind give the wider, int with float the float",
            'X[0] = T.cast(X[1], "int16") + T.int32(1)\nY[0] = X[1] + Y[1]\n',
            [4.0, 2.0, 3.0, 4.0],
            f'{X}, Y: T.Buffer((4,), "float32")',
            f"{INTS}, {FLOATS}",
        ),
        on_ints(
            "bodies that do not contain each other have names of their own",
            "for i in range(2):\n    x = X[i]\n    X[i] = x + 1\n"
            "for i in range(2, 4):\n    x = X[i] * 2\n    X[i] = x\n",
            [2, 3, 6, 8],
        ),
    ),
    "TVM's and older spellings": (
        Example(
            "TVM's block names",
            'with T.sblock("b"):\n    T.sblock_attr({"k": 1})\n    C = T.sblock_alloc_buffer((4,))\n'
            "    C[0] = A[1]\n    A[0] = C[0]\n",
            [2.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "`T.allocate`", 'C = T.allocate([4], "float32", "global")\nC[0] = A[1]\nA[0] = C[0]\n', [2.0, 2.0, 3.0, 4.0]
        ),
        Example(
            "`with T.allocate_const(...)`, and buffers over it",
            'with T.allocate_const([5, 6], "float32", [2]) as K:\n    C = T.Buffer((2,), "float32", data=K)\n'
            "    A[0] = C[1]\n",
            [6.0, 2.0, 3.0, 4.0],
            tvm=False,
        ),
        Example(
            "`T.alloc_local`, `T.alloc_shared`",
            'C = T.alloc_local((4,), "float32")\nD = T.alloc_shared((4,), "float32")\n'
            "C[0] = A[1]\nD[0] = C[0]\nA[0] = D[0]\n",
            [2.0, 2.0, 3.0, 4.0],
        ),
        Example(
            "`T.Buffer(..., data=)` in a body",
            'C = T.Buffer((2, 2), "float32", data=A.data)\nC[0, 1] = 0.0\n',
            [1.0, 0.0, 3.0, 4.0],
        ),
        Example(
            "`T.alloc_scalar`, `T.local_scalar`",
            's = T.local_scalar("float32")\nr = T.alloc_scalar("float32", "local")\ns = A[1]\nr = s\nA[0] = r\n',
            [2.0, 2.0, 3.0, 4.0],
        ),
        Example("`T.shared_scalar`", 's = T.shared_scalar("float32")\ns = A[1]\nA[0] = s\n', [2.0, 2.0, 3.0, 4.0]),
        Example(
            "`T.decl_scalar`: a name for an element",
            's = T.decl_scalar("float32", A.data, "global", 2)\ns = A[1]\n',
            [1.0, 2.0, 2.0, 4.0],
        ),
        Example("`T.Ramp`, `T.Broadcast`", "A[T.Ramp(0, 2, 2)] = T.Broadcast(T.float32(7), 2)\n", [7.0, 2.0, 7.0, 4.0]),
        Example(
            "`T.Let`", "x = T.float32()\nA[0] = T.Let(x * x, where={x: A[1] + T.float32(1)})\n", [9.0, 2.0, 3.0, 4.0]
        ),
        Example(
            "`with T.let`, `with T.LetStmt`",
            "x = T.float32()\nwith T.let(x, A[1]):\n    A[0] = x\nwith T.LetStmt(A[2]) as y:\n    A[3] = y\n",
            [2.0, 2.0, 3.0, 3.0],
        ),
        Example(
            "`T.attr` over the rest of the body", 'T.attr(0, "pragma", "fast")\nA[0] = 0.0\n', [0.0, 2.0, 3.0, 4.0]
        ),
        Example(
            "`T.break_loop`, `T.continue_loop`",
            "for i in range(4):\n    if i == 0:\n        T.evaluate(T.continue_loop())\n"
            "    if i == 2:\n        T.evaluate(T.break_loop())\n    A[i] = 0.0\n",
            [1.0, 0.0, 3.0, 4.0],
        ),
        Example("`T.ret`", "@T.prim_func\ndef f(n: T.int32) -> T.int32:\n    T.evaluate(T.ret(n + 1))\n", 4, args="3"),
        on_ints(
            "expressions by name",
            'X[0] = T.Cast("int32", T.Add(X[1], T.Mul(X[2], 2)))\nX[1] = T.Div(-7, X[3])\n',
            [8, -1, 3, 4],
        ),
        Example(
            "TVM's `T.reduce` with `T.iter_var`",
            "k = T.int32()\nA[0] = T.reduce(\n    T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),\n"
            '    source=[B[0, k]],\n    axis=[T.iter_var(k, T.Range(0, 4), "CommReduce", "")],\n)\n',
            [6.0, 2.0, 3.0, 4.0],
            f"{B44}, {A}",
            f"{COUNT}, {FLOATS}",
        ),
        Example(
            "TVM's header",
            """\
# from tvm.script import tirx as T

@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    with T.sblock("root"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1)
""",
            [1.0, 2.0, 3.0, 4.0],
        ),
    ),
}
