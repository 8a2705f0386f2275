"""Metaprogramming, modules, meaning and TVM's spellings: the examples of docs/language.md."""

from __future__ import annotations

from language_example import B44, COUNT, FLOATS, INTS, A, Example, X, on_ints

SECTIONS: dict[str, tuple[Example, ...]] = {
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
            "one that reads elements of a buffer",
            """\
def ends(buffer, n):
    return buffer[0] + buffer[n - 1]


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    A[0] = ends(A, 3)
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
            "a macro that calls itself; a `return` leaves it, where that is decided while parsing",
            """\
@T.macro
def doubled(buffer, i, times):
    if times == 0:
        return
    buffer[i] = buffer[i] * 2.0
    doubled(buffer, i, times - 1)


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    doubled(A, 1, 3)
""",
            [1.0, 16.0, 3.0, 4.0],
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
            "macros as methods of a Python object, called on it",
            """\
class Rows:
    def __init__(self, memory, width):
        self.memory, self.width = memory, width

    @T.macro
    def fill(self, row, value):
        for i in range(self.width):
            self.memory[row * self.width + i] = value


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    rows = T.meta_var(Rows(A, width=2))
    rows.fill(1, 7.0)
""",
            [1.0, 2.0, 7.0, 7.0],
            live=True,
        ),
        Example(
            "`T.inline`, with defaults, `*` and `**`; names of its own are fresh",
            """\
@T.inline
def put(buffer, at=1, *more, value=7.0, **rest):
    x = buffer[at]
    buffer[at] = x * value + len(more) + len(rest)


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    put(A)
    x = A[1]
    put(A, 2, 8, 9, value=x, other=1)
""",
            [1.0, 14.0, 45.0, 4.0],
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
            "`min` and `max` over a comprehension of values of the program",
            "A[0] = max(A[i] for i in range(4))\nA[1] = min([A[i] for i in range(2)])\n",
            [4.0, 2.0, 3.0, 4.0],
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
            "a function that calls itself, at most 2,000 deep: what goes deeper is told (T309)",
            """\
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        A[0] = M.power(A[1], 10)

    @T.prim_func(private=True)
    def power(x: T.float32, n: T.int32) -> T.float32:
        if n == 0:
            return 1.0
        return x * M.power(x, n - 1)
""",
            [1024.0, 2.0, 3.0, 4.0],
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
        Example(
            "a whole buffer given to a handle, whose shape gives the dimensions of what the handle is matched as",
            """\
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        M.fill(A)

    @T.prim_func(private=True)
    def fill(a: T.handle):
        n = T.int64()
        B = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            B[i] = 7.0
""",
            [7.0, 7.0, 7.0, 7.0],
        ),
        Example(
            "a function that was parsed before, taken into a module",
            """\
@T.prim_func(private=True)
def twice(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = A[i] * 2.0


@I.ir_module
class M:
    double = twice

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        M.double(A)
        M.double(A)


f = M
""",
            [4.0, 8.0, 12.0, 16.0],
            live=True,
        ),
    ),
    "Meaning": (
        on_ints("integers wrap", "X[0] = X[0] + 2147483647\n", [-2147483648, 2, 3, 4]),
        on_ints("shifts by the width or more", "X[0] = X[1] << 32\nX[3] = -X[3] >> 40\n", [0, 2, 3, -1]),
        on_ints("an integer divided by zero", "X[0] = X[1] // (X[2] - 3)\n", "DiagnosticError"),
        Example(
            "floats are IEEE: nan is not itself, and `not (x < y)` is not `x >= y`",
            'x = T.float32("nan")\nif x != x:\n    A[0] = 0.0\n'
            "if not (x < A[1]):\n    A[1] = 0.0\nif x >= A[2]:\n    A[2] = 0.0\n",
            [0.0, 0.0, 3.0, 4.0],
        ),
        on_ints(
            "`//` and `%` floor, `T.truncdiv` and `T.truncmod` truncate",
            "X[0] = -7 // X[1]\nX[1] = -7 % X[3]\nX[2] = T.truncdiv(-7, X[3])\nX[3] = T.truncmod(-7, X[3])\n",
            [-4, 1, -1, -3],
        ),
        on_ints(
            "an output that depends on undef is an error",
            'X[1] = T.undef("int32") + 1\n',
            "DiagnosticError",
            native=False,
        ),
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
            "`T.axis.S`, `T.axis.R`, and a thread by place",
            'for i in T.thread_binding(4, "threadIdx.x"):\n    with T.sblock("b"):\n        vi = T.axis.S(4, i)\n'
            "        A[vi] = 0.0\n",
            [0.0] * 4,
            native=False,
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
            "`T.Buffer(..., data)` in a body, with arguments by place in TVM's order",
            'C = T.Buffer((2, 2), "float32", data=A.data)\nD = T.Buffer((2,), "float32", A.data, [1], None, 8)\n'
            "C[0, 1] = 0.0\nD[0] = 7.0\n",
            [1.0, 0.0, 7.0, 4.0],
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

@T.prim_func(s_tir=True)
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
