"""What each check finds, and what it leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tirscript.ir import Evaluate, PrimFunc, Var, dtype, get_op
from tirscript.ir.codes import CODES
from tirscript.passes.lint import LINTS, lint, lint_check
from tirscript.script import parse
from tirscript.testing import programs

ONE = 'A: T.Buffer((4,), "float32")'


def found(*body: str, params: str = ONE) -> list[tuple[str, int]]:
    """The codes of a kernel's warnings with their lines, the body's counted from 1."""
    lines = ["@T.prim_func", f"def kernel({params}):", *(f"    {line}" for line in body)]
    program = parse("\n".join(lines) + "\n")
    result = []
    for one in lint(program):
        assert one.severity == "warning" and one.span is not None and one.hint
        result.append((one.code, one.span.line - 2))
    return result


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (['B = T.alloc_buffer((4,), "float32")', "A[0] = 1.0"], 1),
        (["B = T.decl_buffer((4,), data=A.data)", "A[0] = 1.0"], 1),
        (['with T.block("b"):', "    B = T.match_buffer(A[0:2], (2,))", "    A[0] = 1.0"], 2),
    ],
)
def test_unused_buffers(body: list[str], line: int) -> None:
    assert found(*body) == [("T601", line)]


def test_used_buffers() -> None:
    assert found('B = T.alloc_buffer((4,), "float32")', "B[0] = 1.0", "A[0] = B[0]") == []
    assert found('_B = T.alloc_buffer((4,), "float32")', "A[0] = 1.0") == []
    assert found("B = T.decl_buffer((4,), data=A.data)", "B[0] = 1.0") == []
    body = ['B = T.alloc_buffer((4,), "float32")', "B[0] = 1.0", 'T.evaluate(T.call_extern("int32", "f", B.data))']
    assert found(*body, "A[0] = 2.0") == []
    body = ['B = T.alloc_buffer((4,), "float32")', "B[0] = 1.0", "C = T.decl_buffer((4,), data=B.data)", "A[0] = C[0]"]
    assert found(*body) == []


def test_what_is_written_and_never_read() -> None:
    body = [
        'B = T.alloc_buffer((4,), "float32")',
        "for i in range(4):",
        "    B[i] = A[i]",
        "    B[i] += 1.0",
        "A[0] = 1.0",
    ]
    assert found(*body) == [("T602", 1)]
    assert found("s: T.float32 = 0.0", "for i in range(4):", "    s += A[i]") == [("T602", 1)]
    assert found("s: T.float32 = 0.0", "for i in range(4):", "    s += A[i]", "A[0] = s") == []
    assert found("i: T.int32 = 0", "while i < 4:", "    A[i] = 1.0", "    i += 1") == []
    regions = ['with T.block("b"):', "    T.reads(A[0])", "    T.writes(B[0])", "    B[0] = A[0]"]
    assert found('B = T.alloc_buffer((4,), "float32")', *regions) == [("T602", 1)]


def test_unused_variables() -> None:
    assert found("x = A[0]", "A[1] = 2.0") == [("T603", 1)]
    assert found("_x = A[0]", "A[1] = 2.0") == []
    assert found("x = A[0]", "y = x", "A[1] = y") == []


def test_unused_parameters() -> None:
    assert found("A[0] = 1.0", params=f"{ONE}, n: T.int32") == [("T604", 0)]
    assert found("A[0] = 1.0", params=f"{ONE}, _n: T.int32") == []
    assert found("A[0] = 1.0", params='n: T.int32, A: T.Buffer(("n",), "float32")') == []
    assert found("A[0] = 1.0", params=f"{ONE}, h: T.handle") == [("T604", 0)]
    assert found('H = T.match_buffer(h, (4,), "int8")', "A[0] = 1.0", params=f"{ONE}, h: T.handle") == [("T604", 0)]
    assert found('H = T.match_buffer(h, (4,), "int8")', "H[0] = 1", params="h: T.handle") == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["A[0] = 1.0", "return", "A[1] = 2.0", "A[2] = 2.0"], [3]),
        (["for i in range(4):", "    break", "    A[i] = 1.0"], [3]),
        (["for i in range(4):", "    A[i] = 1.0", "    continue", "    A[i] = 2.0"], [4]),
        (["while True:", "    A[0] = A[0] + 1.0", "A[1] = 2.0"], [3]),
        (["while True:", "    for i in range(4):", "        break", "A[1] = 2.0"], [4]),
        (["while True:", "    if A[0] > 1.0:", "        break", "A[1] = 2.0"], []),
        (["if A[0] > 1.0:", "    return", "else:", "    return", "A[1] = 2.0"], [5]),
        (["if A[0] > 1.0:", "    return", "A[1] = 2.0"], []),
        (["for i in range(2, 2):", "    A[i] = 1.0"], [1]),
        (["for i in range(2, 3):", "    A[i] = 1.0"], []),
        (["for i in range(3, 0, -1):", "    A[i] = 1.0"], []),
        (["for i in range(0, 3, -1):", "    A[i] = 1.0"], [1]),
        (["A[0] = 1.0", "return"], []),
    ],
)
def test_what_is_never_executed(body: list[str], lines: list[int]) -> None:
    assert found(*body) == [("T605", line) for line in lines]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["if n < 3:", "    if n > 5:", "        A[0] = 1.0"], [3]),
        (["for i in range(4):", "    if i > 5:", "        A[i] = 1.0"], [3]),
        (["for i in range(4):", "    if i == n and n > 3:", "        A[i] = 1.0"], [3]),
        (["for i in range(4):", "    if i >= 3:", "        A[i] = 1.0"], []),
        # what conditions read may change between them
        (["if X[0] < 3:", "    X[0] = n", "    if X[0] > 5:", "        A[0] = 1.0"], []),
        (["x: T.int32 = n", "if x < 3:", "    x = x + n", "    if x > 5:", "        A[0] = 1.0"], []),
        (["if X[n] < 3:", "    X[X[0]] = n", "    if X[n] > 5:", "        A[0] = 1.0"], []),
        (
            [
                "if T.call_extern('int32', 'rand') < 3:",
                "    if T.call_extern('int32', 'rand') > 5:",
                "        A[0] = 1.0",
            ],
            [],
        ),
        (["for i in range(4):", "    if m == 0 or m > 2000000:", "        A[i] = 1.0"], []),
    ],
)
def test_conditions_that_never_hold_together(body: list[str], lines: list[int]) -> None:
    params = f'{ONE}, X: T.Buffer((4,), "int32"), n: T.int32, _M: T.Buffer(("m",), "int8")'
    told = [one for one in found(*body, params=params) if one[0] not in ("T604", "T609", "T610")]
    assert told == [("T605", line) for line in lines]


def test_constant_conditions() -> None:
    from tirscript.ir import If, While, const

    kernel = parse(
        f"@T.prim_func\ndef kernel({ONE}):\n    if A[0] > 1.0:\n        A[1] = 1.0\n    else:\n        A[2] = 1.0\n"
    )
    assert isinstance(kernel, PrimFunc)
    (branch,) = kernel.body
    assert isinstance(branch, If)
    for value in (True, False):
        (one,) = lint(kernel.replace(body=(branch.replace(condition=const(value, "bool")),)))
        assert one.code == "T605" and f"always {value}, so the `{'else' if value else 'if'}` branch" in one.message
    once = branch.replace(condition=const(True, "bool"), orelse=())
    assert lint(kernel.replace(body=(once,))) == []
    (one,) = lint(kernel.replace(body=(While(const(False, "bool"), branch.then),)))
    assert one.code == "T605" and "never entered" in one.message


def test_names_of_the_language() -> None:
    assert found("min = A[0]", "A[1] = min") == [("T606", 1)]
    assert found("for range in T.serial(4):", "    A[range] = 1.0") == [("T606", 1)]
    assert found("T[0] = 1.0", params='T: T.Buffer((4,), "float32")') == [("T606", 0)]
    assert found("minimum = A[0]", "A[1] = minimum") == []


HALF = 'A: T.Buffer((1024,), "float16"), B: T.Buffer((64,), "float16")'
BYTES = (
    'A: T.Buffer((4,), "float32"), W: T.Buffer((4,), "int8"), U: T.Buffer((4,), "uint8"), X: T.Buffer((4,), "int32")'
)


@pytest.mark.parametrize(
    ("body", "params", "lines"),
    [
        (["for i in range(1024):", "    B[0] = B[0] + A[i]"], HALF, [2]),
        (["for i in range(64):", "    B[i] = B[i] + A[i]"], HALF, []),
        (["for i in range(100):", "    B[0] += A[i]"], HALF, []),
        (["for i, j in T.grid(64, 16):", "    B[i] += A[i * 16 + j]"], HALF, []),
        (["for i, j in T.grid(16, 64):", "    B[i] += A[i * 16]", "    B[0] = A[j]"], HALF, []),
        (["for i, j in T.grid(4, 256):", "    B[i] += A[i * 256 + j]"], HALF, [2]),
        (["for i in range(1024):", "    B[0] = A[i] + B[0]"], HALF.replace("float16", "float32"), []),
        (["for i in range(n):", "    B[0] += A[i]"], HALF + ", n: T.int32", [2]),
        (["for i in range(1024):", "    B[0] = B[0] + A[i]"], HALF.replace("float16", "int8"), [2]),
        (["for i in range(1024):", "    B[0] = B[0] + A[i]"], HALF.replace("float16", "int16"), []),
        (
            [
                "for i, k in T.grid(2, 512):",
                '    with T.block("sum"):',
                '        vi, vk = T.axis.remap("SR", [i, k])',
                "        with T.init():",
                "            B[vi] = T.float16(0)",
                "        B[vi] = B[vi] + A[vi * 512 + vk]",
            ],
            HALF,
            [6],
        ),
        *(
            ([*body, "B[0] = s"], HALF, [3])
            for body in (
                ["s = T.float16(0)", "for i in range(1022, -1, -2):", "    s += A[i]"],
                ["s = T.float16(0)", "for i in range(0, 1024, 8):", "    s += A[i]"],
            )
        ),
        # iterations that are counted, loops that are never entered, and sums that begin anew in each iteration
        (["s = T.float16(0)", "for i in range(99, -1, -1):", "    s += A[i]", "B[0] = s"], HALF, []),
        (
            [
                "for i in range(64):",
                "    s = T.float16(0)",
                "    for k in range(16):",
                "        s += A[i * 16 + k]",
                "    B[i] = s",
            ],
            HALF,
            [],
        ),
        (
            [
                "for t in range(64):",
                "    for i in range(64):",
                "        B[i] = A[i]",
                "    for i, k in T.grid(64, 2):",
                "        B[i] += A[k]",
            ],
            HALF,
            [],
        ),
        (
            [
                "for i in range(1024):",
                "    if A[i] > T.float16(0):",
                "        B[0] = T.float16(0)",
                "    B[0] += T.float16(1)",
            ],
            HALF,
            [],
        ),
        (
            [
                "for t, i, k in T.grid(64, 2, 16):",
                '    with T.block("sum"):',
                '        vi, vk = T.axis.remap("SR", [i, k])',
                "        with T.init():",
                "            B[vi] = T.float16(0)",
                "        B[vi] = B[vi] + A[vi * 512 + vk]",
            ],
            HALF,
            [],
        ),
        # elements of their own, by a name, by a variable, and by what is read
        (["for i in range(1024):", "    k = 1023 - i", "    A[k] += B[0]"], HALF, []),
        (["k = 0", "for i in range(1024):", "    A[k] += B[0]", "    k += 1"], HALF, []),
        (["k = 0", "while k < 1024:", "    A[k] += B[0]", "    k += 1"], HALF, []),
        (["for t in range(200):", "    for i in range(64):", "        k = 63 - i", "        B[k] += A[i]"], HALF, [4]),
        (['A[0] = A[1].astype("float16").astype("float32")'], ONE, [1]),
        (['A[0] = A[1].astype("float64").astype("float32")'], ONE, []),
        (['X[0] = X[1].astype("int8").astype("int32")'], 'X: T.Buffer((4,), "int32")', [1]),
        (['X[0] = X[1].astype("float16").astype("int32")'], 'X: T.Buffer((4,), "int32")', []),
        # of bytes, in 32 bits: what may not fit 8, and what always does
        (["X[0] = W[0] * W[1]", "X[0] += W[0] * W[1]"], BYTES, [1, 2]),
        (
            ["X[0] = (U[0] - U[1]).astype('int32')", "X[0] = (W[0] + W[1]).astype('int64').astype('int32')"],
            BYTES,
            [1, 2],
        ),
        (
            ["X[0] = W[0].astype('int32') * W[1]", "X[0] = X[1] * X[2]", "A[0] = (W[0] * W[0]).astype('float32')"],
            BYTES,
            [3],
        ),
        (["X[0] = ((U[0] & 15) * (U[0] >> 4)).astype('int32')", "W[0] = W[1] * W[2]"], BYTES, []),
        (["for i in T.serial(T.int8(0), T.int8(11)):", "    X[0] = (i * i).astype('int32')"], BYTES, []),
        (["for i in T.serial(T.int8(0), T.int8(13)):", "    X[0] = (i * i).astype('int32')"], BYTES, [2]),
        (["A[0] = 1.0 if A[1] == A[2] * 3.0 else 2.0"], ONE, [1]),
        (["A[0] = 1.0 if A[1] == A[2] else 2.0"], ONE, []),
        (["A[0] = 1.0 if A[1] == T.infinity('float32') else 2.0"], ONE, []),
        (["A[0] = 1.0 if A[1] != 0.1 else 2.0"], ONE, [1]),
        (["A[0] = 1.0 if A[1] == 3.0 else 2.0"], ONE, []),
        (["A[0] = 1.0 if A[1] != A[1] else 2.0"], ONE, []),
    ],
)
def test_precision(body: list[str], params: str, lines: list[int]) -> None:
    assert [one for one in found(*body, params=params) if one[0] == "T607"] == [("T607", line) for line in lines]


INTS = 'A: T.Buffer((4,), "int32"), n: T.int32'


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["for i in range(n):", "    A[i] = A[i]"], [2]),
        (["for i in range(n):", "    A[i] = A[0]"], []),
        (["A[0] = 1 if n < n else 2"], [1]),
        (["A[0] = 1 if n < A[1] and n < A[1] else 2"], [1]),
        (["A[0] = T.max(A[n], A[n])"], [1]),
        (["A[0] = A[n] - A[n]"], [1]),
        (["A[0] = A[n] + A[n]"], []),
    ],
)
def test_without_effect(body: list[str], lines: list[int]) -> None:
    assert [one for one in found(*body, params=INTS) if one[0] != "T609"] == [("T608", line) for line in lines]


TWO = 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")'


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["for i in range(n):", "    B[i] = A[i + 1]"], [2]),
        (["for i in range(n + 1):", "    B[i] = 1.0", "    B[0] = A[0]"], [2]),
        (["for i in range(n - 1):", "    B[i] = A[i + 1]"], []),
        (["for i in range(n):", "    if i + 1 < n:", "        B[i] = A[i + 1]"], []),
        (["for i in range(n):", "    B[i] = A[i + 1] if i + 1 < n else 0.0"], []),
        (["T.assume(n % 4 == 0)", "for i in range(n // 4):", "    B[i * 4 + 3] = A[i]"], []),
        (["for i in range(n // 4):", "    B[i * 4 + 4] = A[i]"], [2]),
        (["for i in range(n):", "    B[i] = A[n - i]"], [2]),
        (["for i in range(n):", "    j = i * 2", "    B[i] = A[j]"], [3]),
        (["i: T.int64 = 0", "while i < n:", "    B[i] = A[i]", "    i += 1"], []),
    ],
)
def test_indices(body: list[str], lines: list[int]) -> None:
    assert [one for one in found(*body, params=TWO) if one[0] != "T604"] == [("T609", line) for line in lines]


def test_the_values_are_told() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((4,), 'int8'){}):\n    for i in range({}):\n        A[i + 1] = 1\n"
    for params, size, severity, code, may in (
        (", n: T.int32", "T.min(n, 4)", "warning", "T609", "may be"),
        ("", "4", "error", "T113", "is"),
    ):
        (one,) = lint(parse(text.format(params, size)))
        assert (one.severity, one.code) == (severity, code)
        assert one.message.startswith(f"the index of `A` {may} out of bounds: i = 3")
        assert one.message.endswith(" gives `i + 1` = 4, not < 4")
        assert one.labels[1].message == "`A` is declared here"


def test_a_variable_that_is_an_index_is_pointed_at() -> None:
    (one,) = lint(parse("@T.prim_func\ndef f(A: T.Buffer((4,), 'int8'), k: T.int32):\n    A[k] = 1\n"))
    assert one.code == "T609" and one.span is not None and (one.span.text, one.span.column) == ("k", 6)


def test_sizes_that_nobody_has_are_not_told() -> None:
    flat = "for i in range(n):", "    for j in range(64):", "        A[i * 64 + j] = 1.0"
    assert found(*flat, params='A: T.Buffer(("n * 64",), "float32"), n: T.int64') == []


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint32", "uint64"])
def test_indices_of_another_dtype_than_the_sizes(dtype: str) -> None:
    params = f'A: T.Buffer((4,), "float32"), k: T.{dtype}'
    assert found("A[k] = 1.0", params=params) == [("T609", 1)]
    assert found("if 0 <= k < 4:", "    A[k] = 1.0", params=params) == []


def test_vectors_of_indices() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'int8'), k: T.int8):\n    for i in range(2):\n        if k > 0:\n            A[T.ramp(i * {}, 1, 4)] = T.broadcast(T.int8(1), 4)\n"
    assert lint(parse(text.format(4))) == []
    (one,) = lint(parse(text.format(5)))
    assert one.code == "T609" and "i = 1" in one.message and "= 8, not < 8" in one.message
    rows = text.replace("(8,)", "(2, 8)").replace("A[", "A[0, ")
    assert lint(parse(rows.format(5))) == []


GATHER = 'A: T.Buffer(("n",), "float32"), index: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")'


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["for i in range(4):", "    B[i] = A[index[i]]"], [2]),
        (["for i in range(4):", "    at = index[i]", "    B[i] = A[at]"], [3]),
        (["for i in range(4):", "    for j in range(index[i]):", "        B[i] = A[j]"], [3]),
        (
            [
                "for i in range(4):",
                "    if 0 <= index[i] and index[i].astype('int64') < n:",
                "        B[i] = A[index[i]]",
            ],
            [],
        ),
        (["for i in range(4):", "    T.assume(0 <= index[i] and index[i] < 4)", "    A[0] = B[index[i]]"], []),
        (["C = T.alloc_buffer((4,), 'int32')", "C[0] = index[0]", "B[0] = A[C[0]]"], []),
    ],
)
def test_indices_of_memory(body: list[str], lines: list[int]) -> None:
    assert found(*body, params=GATHER) == [("T610", line) for line in lines]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["for i in T.parallel(n - 1):", "    B[i + 1] = B[i]"], [2]),
        (["for i in T.vectorized(4):", "    B[i // 2] = A[i]"], [2]),
        (["for i in T.vectorized(4):", "    B[0] = B[0] + A[i]"], [2]),
        (["for i in T.parallel(4):", "    B[0] = B[0] + A[i]"], []),  # T209 says it
        (["for i in T.parallel(n):", "    B[i] = A[i]"], []),
        (["for i in range(n - 1):", "    B[i + 1] = B[i]"], []),
        (["for i in T.parallel(n // 2):", "    B[i * 2] = A[i]", "    B[i * 2 + 1] = A[i]"], []),
        (["for i in T.parallel(n // 2):", "    B[i * 2] = A[i]", "    B[i + 2] = B[i]"], [3]),
    ],
)
def test_races(body: list[str], lines: list[int]) -> None:
    assert [one for one in found(*body, params=TWO) if one[0] == "T611"] == [("T611", line) for line in lines]


def test_a_race_shows_two_iterations() -> None:
    text = "@T.prim_func\ndef f(A: T.Buffer((4,), 'int8')):\n    for i in T.parallel(3):\n        A[i + 1] = A[i]\n"
    (one,) = lint(parse(text))
    assert one.code == "T611" and "i = 0 and i = 1" in one.message
    assert one.labels[1].message == "the iterations of `i` run at once"


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["for i in range(3):", "    C[i] = A[i]", "for i in range(4):", "    A[i] = C[i]"], [5]),
        (["for i in range(4):", "    C[i] = A[i]", "for i in range(4):", "    A[i] = C[i]"], []),
        (["if A[0] > 0.0:", "    C[0] = 1.0", "A[0] = C[0]"], [4]),
        (['T.evaluate(T.call_packed("fill", C.data))', "A[0] = C[0]"], []),
        (['K = T.allocate_const([1.0, 2.0], "float32", (2,))', "A[0] = K[1]"], []),
    ],
)
def test_reads_of_what_nothing_wrote(body: list[str], lines: list[int]) -> None:
    body = ['C = T.alloc_buffer((4,), "float32")', *body]
    assert [one for one in found(*body) if one[0] == "T612"] == [("T612", line) for line in lines]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["A[0] = 1.0", "A[0] = 2.0"], [1]),
        (["A[0] = 1.0", "A[1] = A[0]", "A[0] = 2.0"], []),
        (["for i in range(4):", "    A[i] = 1.0", "for i in range(4):", "    A[i] = 2.0"], [2]),
        (["for i in range(4):", "    A[i] = 1.0", "for i in range(3):", "    A[i] = 2.0"], []),
    ],
)
def test_lost_stores(body: list[str], lines: list[int]) -> None:
    assert found(*body) == [("T613", line) for line in lines]


def test_reductions_in_expressions() -> None:
    body = "A[0] = T.Reduce(T.comm_reducer(lambda x, y: x + y, [0.0]), lambda k: [A[k + 1]], [4])"
    assert [code for code, _ in found(body)] == ["T609"]


@pytest.mark.parametrize(("comparison", "always"), [("<", "False"), (">", "False"), ("<=", "True"), (">=", "True")])
def test_what_a_comparison_of_a_value_with_itself_always_is(comparison: str, always: str) -> None:
    program = parse(f"@T.prim_func\ndef kernel({ONE}, n: T.int32):\n    if n {comparison} n:\n        A[0] = 1.0\n")
    (told,) = [one for one in lint(program) if one.code == "T608"]
    assert told.message == f"a value is compared with itself: this is always {always}"


def test_a_sum_at_a_place_that_another_buffer_tells_counts_every_iteration() -> None:
    params = 'H: T.Buffer((4,), "float16"), A: T.Buffer((1000,), "float16"), at: T.Buffer((1,), "int32")'
    for before, codes in ((), [("T607", 2)]), (("    at[0] = i % 4",), []):
        body = ("for i in range(1000):", *before, "    H[at[0]] = H[at[0]] + A[i]")
        assert [one for one in found(*body, params=params) if one[0] == "T607"] == codes


def test_lanes_that_a_predicate_leaves_out_may_be_anywhere() -> None:
    store = "        A.vstore([T.ramp(i * 2, 1, 4)], T.broadcast(T.float32(1), 4){})"
    loop = ("for i in range(2):", "    if n > 0:")
    params = f"{ONE}, n: T.int32"
    assert found(*loop, store.format(""), params=params) == [("T609", 3)]
    assert found(*loop, store.format(", predicate=T.ramp(i * 2, 1, 4) < 4"), params=params) == []


def test_programs_without_places_are_checked_too() -> None:
    hidden = Var("min", dtype("int32"))
    i = Var("i", dtype("int32"))
    both = get_op("bitwise_and")(i, hidden)
    chain = get_op("logical_and")(get_op("less")(0, both), get_op("less")(both, 4))
    func = PrimFunc("kernel", (hidden, i), (Evaluate(chain),))
    told = [one for one in lint(func) if one.code in ("T606", "T615")]
    assert [(one.code, one.span) for one in told] == [("T606", None)]
    span = parse("@T.prim_func\ndef kernel(n: T.int32):\n    T.evaluate(n)\n").span
    (told_there,) = [one for one in lint(func.replace(span=span)) if one.code == "T606"]
    assert told_there.span is span


def test_large_functions_are_left_out_of_what_takes_long() -> None:
    stores = ["A[0] = 1.0", "A[0] = 2.0"] * 30
    assert found(*stores) == []
    # nor are contradicting conditions and parallel loops looked for
    never = ["if n < 3:", "    if n > 5:", "        A[1] = 1.0"]
    at_once = ["for i in T.parallel(4):", "    A[0] = A[0] + 1.0"]
    params = f"{ONE}, n: T.int32"
    assert found(*never, params=params) != [] and found(*at_once, params=params) != []
    assert [one for one in found(*stores, *never, *at_once, params=params) if one[0].startswith("T6")] == []


def test_constraints_that_are_not_proved_are_errors() -> None:
    text = "@T.prim_func\ndef f(n: T.int32, A: T.Buffer((4,), 'int8')):\n    T.static_assert(n > 0)\n    A[0] = 1\n"
    (one,) = lint(parse(text))
    assert one.code == "T403" and one.severity == "error"


def test_few_places_of_one_function_are_told() -> None:
    assert found(*[f"A[n + {at}] = 1.0" for at in range(30)], params=f"{ONE.replace('4', '40')}, n: T.int32") == [
        ("T609", line) for line in range(1, 21)
    ]


def test_the_verifiers_warnings_come_with_them() -> None:
    body = ["for i in T.parallel(4):", "    B[0] = A[i]", "x = A[0]"]
    assert found(*body, params=f'{ONE}, B: T.Buffer((1,), "float32")') == [("T209", 2), ("T603", 3)]


def test_modules_are_checked_function_by_function() -> None:
    text = f"@I.ir_module\nclass M:\n    @T.prim_func\n    def f({ONE}):\n        x = A[0]\n        A[1] = 2.0\n"
    assert [one.code for one in lint(parse(text))] == ["T603"]


def test_the_table() -> None:
    assert sorted(LINTS) == [code for code in CODES if code.startswith("T6")]
    with pytest.raises(ValueError, match="T601 is defined twice"):
        lint_check("T601")(lambda func: iter(()))
    with pytest.raises(ValueError, match="no docstring"):
        lint_check("T699")(lambda func: iter(()))


@settings(max_examples=20, deadline=None)
@given(programs())
def test_every_program_can_be_linted(func: PrimFunc) -> None:
    for one in lint(func):
        assert one.severity == "warning" and one.render()


BLOCK_PARAMS = 'A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"), X: T.Buffer((4,), "int32")'


def block(*body: str, kinds: str = "SS") -> list[str]:
    head = ["for i, j in T.grid(4, 8):", '    with T.block("b"):', f'        vi, vj = T.axis.remap("{kinds}", [i, j])']
    return [*head, *(f"        {line}" for line in body)]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (["T.reads(A[vi, 0])", "T.writes(B[vi, vj])", "B[vi, vj] = A[vi, vj] + A[vi, 0]"], [6]),
        (["T.reads(A[vi, vj])", "T.writes()", "B[vi, vj] = A[vi, vj]"], [6]),
        (["T.reads()", "T.writes(A[vi, vj])", "B[vi, vj] = A[vi, vj]"], [6]),
        (["T.reads(A[vi, 0:7])", "T.writes(B[vi, vj])", "B[vi, vj] = A[vi, vj]"], [6]),
        (["T.reads(A[vi, 0:4], A[vi, 5:8])", "B[vi, vj] = A[vi, vj]"], [5]),
        (["T.writes(B[vi, 0:4])", "if vj < 5:", "    B[vi, vj] = A[vi, vj]"], [6]),
        (
            ["T.reads(A[0, vj])", "T.writes(B[vi, 0])", "with T.init():", "    B[vi, 1] = 0.0", "B[vi, 0] += A[0, vj]"],
            [7],
        ),
    ],
)
def test_accesses_that_a_block_does_not_say(body: list[str], lines: list[int]) -> None:
    told = found(*block(*body), "X[0] = 0", params=BLOCK_PARAMS)
    assert [one for one in told if one[0] == "T614"] == [("T614", line) for line in lines]


@pytest.mark.parametrize(
    "body",
    [
        ["T.reads(A[vi, vj])", "T.writes(B[vi, vj])", "B[vi, vj] = A[vi, vj]"],
        ["T.reads(A[vi, 0:8])", "T.writes(B[0:4, 0:8])", "B[vi, vj] = A[vi, 7 - vj]"],
        ["T.reads(A[vi, 0:4], A[vi, 4:8])", "B[vi, vj] = A[vi, vj]"],
        ["T.reads(A[vi, vj])", "T.writes(B[vi, 0])", "B[vi, 0] += A[vi, vj]"],  # the update of a reduction
        ["T.reads(A[vi, vj])", "B[vi, 0] += A[vi, vj]"],
        ["T.reads(A[X[vi], vj], X[vi])", "T.writes(B[vi, vj])", "B[vi, vj] = A[X[vi], vj]"],
        ["T.writes(B[vi, 0:4])", "if vj < 4:", "    B[vi, vj] = A[vi, vj]"],
        ["T.reads(A[vi, 0:4])", "for k in range(4):", "    B[vi, vj] = A[vi, k]"],
        ["T.reads(A)", "T.writes(B)", "B[vi, vj] = A[vi, vj]"],
        ["T.reads(A[vi, vj])", "T.writes(B[vi, vj])", 'C = T.alloc_buffer((1,), "float32")', "C[0] = A[vi, vj]"]
        + ["B[vi, vj] = C[0]"],
        ["T.reads(A[vi, vj])", "T.writes(B[vi, vj])", "s = A[vi, vj]", "s += 1.0", "B[vi, vj] = s"],
        ["T.reads(A[vi, 0:8])", "T.writes(B[vi, 4:8])", "B[vi, T.ramp(4, 1, 4)] = A[vi, T.ramp(0, 2, 4)]"],
        # which lanes are stored is not asked
        ["T.writes(B[vi, 0:4])", "B.vstore([vi, 4], T.float32(1), predicate=vj < 0)"],
    ],
)
def test_accesses_that_a_block_says(body: list[str]) -> None:
    told = found(*block(*body), "X[0] = 0", params=BLOCK_PARAMS)
    assert [one for one in told if one[0] == "T614"] == []


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("B[0] = 1.0", "`B` is read before it is written: i = 1"),
        ("if A[0] > 0.0:\n        B[0] = 1.0", "`B` is read before it is written: i = 1"),
        (
            "for j in range(4):\n        if A[j] > 0.0:\n            B[j] = 1.0",
            "it is not known whether `B` is written before it is read here",
        ),
        ("for j in range(4):\n        B[X[j]] = 1.0", "it is not known whether `B` is written before it is read here"),
    ],
)
def test_what_is_certain_of_a_read_before_any_write(store: str, message: str) -> None:
    program = parse(
        f'@T.prim_func\ndef f({ONE}, X: T.Buffer((4,), "int32")):\n    B = T.alloc_buffer((4,), "float32")\n    {store}\n'
        "    for i in range(4):\n        A[i] = B[i]\n"
    )
    (one,) = (one for one in lint(program) if one.code == "T612")
    assert one.message == message
