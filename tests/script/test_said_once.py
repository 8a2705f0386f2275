"""One mistake is one message: what follows from it is not told, and a name that nothing defines is told once."""

from __future__ import annotations

import pytest
from helpers.script import HEADER, PARAMS, mistakes, one_mistake

from tirscript.ir import Diagnostic, DiagnosticError
from tirscript.script import parse
from tirscript.script import tir as T


def mistakes_of(text: str) -> list[Diagnostic]:
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    return list(caught.value.diagnostics)


def test_a_name_that_is_used_often_is_told_once() -> None:
    found = one_mistake("A[M] = 1.0\nfor i in range(M):\n    A[i + M] = 1.0")
    assert found.code == "T010" and found.span is not None and found.span.line == 6


def test_each_name_and_each_function_is_told() -> None:
    assert len(mistakes("A[M] = 1.0\nA[N] = 1.0\nA[M] = A[N]")) == 2
    body = "    A[M] = 1.0\n    A[M] = 2.0\n"
    text = "".join(f"@T.prim_func\ndef {name}(A: T.Buffer((4,), 'float32')):\n{body}" for name in "fg")
    assert [found.message for found in mistakes_of(text)] == ["`M` is not defined"] * 2


@pytest.mark.parametrize(
    "made",
    ["def g(x):\n    return x", "class g:\n    pass", "import g", "from os import path as g", "async def g(): pass"],
)
def test_a_definition_that_is_refused_is_known(made: str) -> None:
    assert one_mistake(f"{made}\nA[0] = g(A[1])").code == "T020"


def test_parameters_that_are_refused_are_known() -> None:
    found = mistakes("A[0] = x[0] + y + z", "A: T.Buffer((4,), 'float32'), *x, y: T.float32, **z")
    assert [each.code for each in found] == ["T040"] * 3
    text = '@G.graph_func\ndef f(x: G.Tensor((4,), "float32"), *y, z, **w):\n    return G.add(x, y), z, w\n'
    assert [each.code for each in mistakes_of(text)] == ["T040"] * 3


def test_a_value_at_the_top_that_is_refused_is_known() -> None:
    text = f"{HEADER}N = nothing(4)\n\n\n@T.prim_func\ndef f(A: T.Buffer((N,), 'float32')):\n    A[N - 1] = N\n"
    (found,) = mistakes_of(text)
    assert found.message == "`nothing` is not defined"


def test_a_dataflow_whose_output_is_wrong() -> None:
    text = """
@G.graph_func
def f(x: G.Tensor((4,), "float32")):
    with G.dataflow():
        y = G.add(x, x)
        G.output(z)
    return y
"""
    (found,) = mistakes_of(text)
    assert found.message == "`z` is not defined"


MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), S: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * 2.0 + S[i]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32"), y: G.Tensor((4,), "float32")):
        with G.dataflow():
            z = CALL
            G.output(z)
        return z
"""


@pytest.mark.parametrize(
    ("call", "code", "text", "message", "hint"),
    [
        ("cls.twice(x, y)", "T010", "cls", "not defined", "`cls = M` before it"),
        (
            'G.call_tir(M.twice, x, y, out=G.Tensor((4,), "float32"))',
            "T032",
            "y",
            "takes the arguments of the function as one tuple",
            "write `(x, y)`",
        ),
        ("G.nn.relu(x, y, y)", "T101", "G.nn.relu(x, y, y)", "takes 1 argument, not 3", "G.nn.relu(data)"),
        (
            'G.call_tir(M.twice, (x,), out=G.Tensor((4,), "float32"))',
            "T101",
            'G.call_tir(M.twice, (x,), out=G.Tensor((4,), "float32"))',
            "`twice` has 3 parameters, but 1 argument and 1 result stand here",
            "the parameters are `A`, `S`, `B`",
        ),
        ("M.twice(x, y)", "T216", "M.twice(x, y)", "has effects", "`G.call_tir(cls.twice, (x, y))`"),
    ],
)
def test_calls_of_tensor_functions(call: str, code: str, text: str, message: str, hint: str) -> None:
    (found,) = mistakes_of(MODULE.replace("CALL", call))
    assert found.span is not None
    assert (found.code, found.span.text) == (code, text), str(found)
    assert message in found.message and hint in (found.hint or ""), str(found)


def test_the_decorator_that_is_missing_is_that_of_its_types() -> None:
    for wanted in ("@T.prim_func", "@G.graph_func"):
        text = MODULE.replace("CALL", "G.add(x, y)").replace(f"    {wanted}\n", "")
        assert mistakes_of(text)[0].hint == f"write `{wanted}` above it"


def test_pythons_own_names_that_the_language_has_not_are_not_suggested() -> None:
    with pytest.raises(DiagnosticError) as caught:

        @T.prim_func
        def f(A: T.Buffer((4,), "float32")):
            A[0] = local_(A[1])

    (found,) = caught.value.diagnostics
    assert "locals" not in (found.hint or "")


def test_constant_indices_below_zero_are_told_where_the_size_is_unknown() -> None:
    found = one_mistake("A[0] = A[-1]", 'A: T.Buffer(("m",), "float32")')
    assert found.code == "T113" and found.span is not None and found.span.text == "-1"
    assert found.hint == "indices do not wrap around; the last element is `m - 1`"
    found = one_mistake("A[T.ramp(2, -1, 4)] = T.broadcast(T.float32(0), 4)", 'A: T.Buffer(("m",), "float32")')
    assert found.code == "T113"


def test_arguments_of_macros() -> None:
    text = (
        HEADER
        + """
@T.macro
def put(out, value):
    out[0] = value


@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    CALL
"""
    )
    (found,) = mistakes_of(text.replace("CALL", "put(out=A, valu=3)"))
    assert found.hint == "did you mean `value`?"
    (found,) = mistakes_of(text.replace("CALL", "x = put(A, 1)"))
    assert found.hint is not None and "on a line of its own" in found.hint


READ_ON = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in T.seriall(8):
        A[i] = b + T.epx(A[c])
        with T.blok("x"):
            vi = T.axis.spatial(8, i)
            with T.init():
                A[vi] = d
            A[vi] = A[vi] + T.max(e, 1.0) * (g - h)
    for j in range(k, m):
        A[j] = o
    while n < p:
        A[0, 1] = A[q]
    with T.launch_thread("blockIdx.q", 4) as bx:
        A[bx] = r
    if A[s] > 0.0:
        A[0] = t
    else:
        A[0] = u
"""


def test_values_beside_mistakes_and_bodies_behind_them_are_read() -> None:
    found = mistakes_of(READ_ON)
    names = [each.message.split("`")[1] for each in found if each.code == "T010"]
    assert names == list("bcdeghkmopqrstu")
    others = [each.message for each in found if each.code != "T010"]
    assert others == [
        "`T.seriall` is not a function of T",
        "`T.epx` is not a function of T",
        "`T.blok` is not a function of T",
        "`A` has 1 dimension, but 2 indices stand here",
        'there is no thread "blockIdx.q"',
    ]


@pytest.mark.parametrize(
    "body",
    [
        "A[0] = sum([M * x for x in [1.0, 2.0]])",  # `x` means nothing beside the comprehension
        "A[0] = M if n > 0 else A[99 - n]",
        "if M:\n    A[0] = N",  # Python may decide that `N` is never read
        "for i in M:\n    A[i] = A[i] + i",
        "with T.blok('x'):\n    vi = T.axis.spatial(16, n)\n    T.reads(A[vi])\n    A[vi] = 1.0",
        "x, (A.shape, z) = 1, (2, 3)",
    ],
)
def test_what_may_follow_from_a_mistake_is_not_told(body: str) -> None:
    one_mistake(body)


def test_a_dataflow_that_is_misspelt_is_read() -> None:
    text = """
@G.graph_func
def f(x: G.Tensor((4,), "float32")):
    with G.dataflw():
        y = G.nn.relu(G.add(x, a))
        z = G.add(b, y) + G.multiply(c, x)
        w = G.add(x, x)
        G.output(w)
    return G.add(w, d)
"""
    found = mistakes_of(text)
    assert [each.message.split("`")[1] for each in found] == ["G.dataflw", *"abcd"]


def test_long_statements_with_mistakes_are_read_in_bounded_time() -> None:
    many = " + ".join(f"(x{at} * A[y{at}])" for at in range(2000))
    assert len(mistakes(f"A[0] = {many}")) > 100
    deep = "".join(f"{'    ' * at}for i{at} in range(x{at}):\n" for at in range(60))
    assert len(mistakes(deep + "    " * 60 + "A[0] = z")) == 61


@pytest.mark.parametrize(
    ("body", "params", "what"),
    [
        ("for i in T.grid(4):\n    T[i] = T.exp(T[i])", "T: T.Buffer((4,), 'float32')", "a parameter"),
        ("for T in range(4):\n    A[T] = T.exp(A[T]) + T.sqrt(A[0])\n    A[0] = T.tan(A[0])", None, "a loop variable"),
        ("T = A[0]\nA[0] = T.exp(T)\nA[1] = T.sqrt(T.exp(T))", None, "a variable"),
        ("for T in (1, 2):\n    A[0] = T.exp(A[0])", None, "a variable"),
    ],
)
def test_a_name_that_hides_the_namespace(body: str, params: str | None, what: str) -> None:
    found = one_mistake(body, params or PARAMS)
    assert (found.code, found.message) == ("T030", f"`T` is {what} here, which hides the namespace `T`")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("A[0] = (y := A[1]) + y", "T021"),
        ("x: int = 0\nx += 1\nA[0] = x", "T041"),
        ("C = T.alloc_buffer((-4,), 'float32')\nC[0] = 1.0\nA[0] = C[0]", "T207"),
    ],
)
def test_what_follows_from_a_wrong_name_is_not_told(body: str, code: str) -> None:
    assert one_mistake(body).code == code


TENSOR_FUNCTION = """
@{0}
def f({1}):
    for i, j in T.grid(4, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + missing
"""
GRAPH_FUNCTION = """
@T.prim_func
def f(x: G.Tensor((2, 3), "float32"), n: T.int64) -> G.Tensor((2, 3), "float32"):
    with G.dataflow():
        y = G.nn.relu(x)
        G.output(y)
    return y
"""
BUFFERS = 'A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), n: T.int64'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (TENSOR_FUNCTION.format("G.graph_func", BUFFERS), "`f` takes buffers: it is a tensor function", "T.prim_func"),
        (TENSOR_FUNCTION.format("R.function", BUFFERS), "`f` takes buffers: it is a tensor function", "T.prim_func"),
        (
            TENSOR_FUNCTION.format("G.graph_func", "a: T.handle").replace(
                "    for", "    A = T.match_buffer(a, (4, 4))\n    for"
            ),
            "`f` takes buffers: it is a tensor function",
            "T.prim_func",
        ),
        (GRAPH_FUNCTION, "`f` takes tensors: it is a graph function", "G.graph_func"),
    ],
)
def test_the_decorator_of_the_other_kind_of_function(text: str, message: str, hint: str) -> None:
    header = "from tirscript.script import ir as I, tir as T, graph as G, relax as R\n"
    (found,) = mistakes_of(header + text)
    assert (found.code, found.message) == ("T022", message) and hint in str(found.hint)
    assert found.span is not None and "func" in found.span.text


def test_a_call_with_too_many_arguments_is_told_once() -> None:
    text = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        return G.call_tir(M.k, (x, x), out=G.Tensor((4,), "float32"))
"""
    assert [found.code for found in mistakes_of(text)] == ["T101"]
