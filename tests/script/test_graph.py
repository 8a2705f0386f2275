"""What graph functions mean: each program is read and compared with its canonical text, which is read back."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import DiagnosticError, GraphFunc, Module, structural_equal
from tirscript.ir.graph import Dataflow, GraphBind, GraphIf, OpCall, PrimType, TensorType
from tirscript.script import graph as G
from tirscript.script import parse
from tirscript.script import tir as T

HEAD = "from tirscript.script import ir as I, tir as T, graph as G\n\n\n"


def body_of(text: str, params: str = 'x: G.Tensor((4, "n"), "float32")', **names: Any) -> list[str]:
    """The lines that a body prints as, without what surrounds it; they read back as the same function."""
    lines = "".join(f"    {line}\n" for line in text.strip().split("\n"))
    made = parse(f"{HEAD}@G.graph_func\ndef main({params}):\n{lines}", names=names or None)
    assert isinstance(made, GraphFunc)
    printed = made.script()
    again = parse(printed)
    assert structural_equal(made, again) and again.script() == printed
    inner = printed[printed.index(":\n", printed.index("->")) + 2 :].rstrip("\n").split("\n")
    return [line.removeprefix("    ") for line in inner]


def same(text: str, expected: str, **options: Any) -> None:
    assert body_of(text, **options) == expected.strip("\n").split("\n")


def test_nested_calls_get_names_and_operators_are_calls() -> None:
    same(
        "return -(x * 2.0) + G.exp(x)",
        """
gv: G.Tensor((4, n), "float32") = G.multiply(x, G.const(2.0, "float32"))
gv_1: G.Tensor((4, n), "float32") = G.negative(gv)
gv_2: G.Tensor((4, n), "float32") = G.exp(x)
gv_3: G.Tensor((4, n), "float32") = G.add(gv_1, gv_2)
return gv_3
""",
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x + x", "add"),
        ("x - x", "subtract"),
        ("x / x", "divide"),
        ("x // x", "floor_divide"),
        ("x % x", "floor_mod"),
        ("x ** x", "power"),
        ("x < x", "less"),
        ("x <= x", "less_equal"),
        ("x > x", "greater"),
        ("x >= x", "greater_equal"),
        ("x == x", "equal"),
        ("x != x", "not_equal"),
        ('x.astype("int32") & 3', "bitwise_and"),
        ('x.astype("int32") | 3', "bitwise_or"),
        ('x.astype("int32") ^ 3', "bitwise_xor"),
        ('x.astype("int32") << 3', "left_shift"),
        ('x.astype("int32") >> 3', "right_shift"),
        ("x < 1.0 and x > 0.0", "logical_and"),
        ("x < 1.0 or x > 0.0", "logical_or"),
        ("not (x < 1.0)", "logical_not"),
        ("1.0 - x", "subtract"),
    ],
)
def test_python_operators(text: str, name: str) -> None:
    made = parse(f'{HEAD}@G.graph_func\ndef main(x: G.Tensor((4,), "float32")):\n    return {text}\n')
    assert isinstance(made, GraphFunc)
    last = made.body[-1]
    assert isinstance(last, GraphBind) and isinstance(last.value, OpCall) and last.value.op.name == name


def test_names_are_assigned_again_and_added_to() -> None:
    same(
        "y = G.exp(x)\ny = G.exp(y)\ny += x\nreturn y",
        """
y: G.Tensor((4, n), "float32") = G.exp(x)
y_1: G.Tensor((4, n), "float32") = G.exp(y)
y_2: G.Tensor((4, n), "float32") = G.add(y_1, x)
return y_2
""",
    )


def test_tuples() -> None:
    same(
        "t = (x, G.exp(x))\na, b = t\nc, d = b, a\nreturn (t[-1], (c,), d)",
        """
gv: G.Tensor((4, n), "float32") = G.exp(x)
t: G.Tuple(G.Tensor((4, n), "float32"), G.Tensor((4, n), "float32")) = (x, gv)
a: G.Tensor((4, n), "float32") = t[0]
b: G.Tensor((4, n), "float32") = t[1]
c: G.Tensor((4, n), "float32") = b
d: G.Tensor((4, n), "float32") = a
gv_1: G.Tensor((4, n), "float32") = t[1]
return (gv_1, (c,), d)
""",
    )


def test_dataflow_and_match_cast() -> None:
    same(
        """
m = T.int64()
with G.dataflow():
    y = G.match_cast(x, G.Tensor((m, 8), "float32"))
    z = G.reshape(y, (m * 8,))
    G.output(z)
return z
""",
        """
m = T.int64()
with G.dataflow():
    y = G.match_cast(x, G.Tensor((m, 8), "float32"))
    z: G.Tensor((m * 8,), "float32") = G.reshape(y, (m * 8,))
    G.output(z)
return z
""",
        params='x: G.Tensor(ndim=2, dtype="float32")',
    )


def test_what_only_the_body_knows_is_unknown_outside() -> None:
    made = parse(
        f"{HEAD}@G.graph_func\ndef main(x: G.Tensor(ndim=1, dtype='float32')):\n"
        "    m = T.int64()\n    return G.match_cast(x, G.Tensor((m,), 'float32'))\n"
    )
    assert isinstance(made, GraphFunc) and isinstance(made.result, TensorType)
    assert (made.result.shape, made.result.ndim) == (None, 1)


def test_branches() -> None:
    same(
        """
if c:
    y = G.exp(x)
    z = G.add(y, x)
elif d:
    z = x
else:
    z = G.exp(x)
return z
""",
        """
if c:
    y: G.Tensor((4,), "float32") = G.exp(x)
    z: G.Tensor((4,), "float32") = G.add(y, x)
elif d:
    z = x
else:
    z: G.Tensor((4,), "float32") = G.exp(x)
return z
""",
        params='x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool"), d: G.Prim("bool")',
    )


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        ("()", "G.Tuple()", ()),
        ("(x, ())[1]", "G.Tuple()", ()),
        ("3", 'G.Prim("int64")', 3),
        ("2.5", 'G.Prim("float64")', 2.5),
        ("True", 'G.Prim("bool")', True),
    ],
)
def test_values_of_python_end_branches(value: str, kind: str, found: Any) -> None:
    """They are values of the graph there, as they are in what is returned."""
    head = 'def main(x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool"))'
    text = (
        f"{HEAD}@G.graph_func\n{head}:\n    if c:\n        z = {value}\n    else:\n        z = {value}\n    return z\n"
    )
    made = parse(text)
    assert f"{head} -> {kind}:" in made.script()
    assert structural_equal(parse(made.script()), made)
    x, c = np.zeros(4, np.float32), np.array(True)
    assert tirscript.interpret(made, x, c) == tirscript.build(made)(x, c) == found


def test_the_type_after_branches_is_what_they_have_in_common() -> None:
    made = parse(
        f"{HEAD}@G.graph_func\ndef main(x: G.Tensor((4,), 'float32'), y: G.Tensor((5,), 'float32'), c: G.Tensor((), 'bool')):\n"
        "    if c:\n        z = x\n    else:\n        z = y\n    return z\n"
    )
    assert isinstance(made, GraphFunc) and isinstance(made.body[0], GraphIf)
    found = made.body[0].var.type
    assert isinstance(found, TensorType)
    assert (found.shape, found.ndim, found.dtype) == (None, 1, tirscript.ir.dtype("float32"))


def test_a_type_that_is_wider_than_the_branches_is_kept() -> None:
    same(
        'if c:\n    z: G.Tensor(ndim=1, dtype="float32") = x\nelse:\n    z = x\nreturn z',
        'if c:\n    z: G.Tensor(dtype="float32", ndim=1) = x\nelse:\n    z = x\nreturn z',
        params='x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")',
    )


def test_branches_and_loops_that_are_known_while_parsing() -> None:
    same(
        "for i in range(2):\n    if i == 1:\n        x = G.exp(x)\n    else:\n        x = G.sqrt(x)\nreturn x",
        'x_1: G.Tensor((4, n), "float32") = G.sqrt(x)\nx_2: G.Tensor((4, n), "float32") = G.exp(x_1)\nreturn x_2',
    )


def test_scalars_are_dimensions() -> None:
    same(
        "m = n * 2\ny = G.zeros((m, n + 1), 'float32')\nreturn (y, m, n, n * m)",
        """
m: G.Prim("int64") = n * 2
y: G.Tensor((m, n + 1), "float32") = G.zeros((m, n + 1), dtype="float32")
return (y, m, n, n * m)
""",
        params='n: G.Prim("int64")',
    )


def test_constants() -> None:
    array = np.arange(40, dtype="int8")
    lines = body_of("y = G.const(array)\nreturn (y, G.const(2), G.const([[1.5], [2]], 'float16'))", array=array)
    joined = "".join(line.strip() for line in lines[:-1])
    assert joined.startswith('y: G.Tensor((40,), "int8") = G.constant("sha256:')
    assert lines[-1] == 'return (y, G.const(2, "int32"), G.const([[1.5], [2.0]], "float16"))'


@pytest.mark.parametrize("given", [np.float64(0.1), np.array(0.1), np.int8(-3), np.array(True), np.uint64(2**64 - 1)])
def test_constants_keep_the_dtype_of_numbers_of_numpy(given: Any) -> None:
    @G.graph_func
    def decorated(x: G.Tensor((), "bool")):
        return G.const(given)

    text = "@G.graph_func\ndef main(x: G.Tensor((), 'bool')):\n    y = G.const(given)\n    return y\n"
    for made in (parse(text, names={"given": given}), decorated):
        found = tirscript.interpret(made, np.array(True))
        assert (found.dtype, found.shape, found) == (given.dtype, (), given)


@pytest.mark.parametrize("given", [np.float64(0.1), np.array(0.1), np.int8(-3), np.uint64(7), np.float32(1.5)])
@pytest.mark.parametrize("declared", ["float32", "float64", "int8", "uint64"])
def test_numbers_of_numpy_become_of_the_dtype_that_is_declared_as_others_do(given: Any, declared: str) -> None:
    def made(value: Any) -> Any:
        def one() -> Any:
            @G.graph_func
            def decorated(x: G.Tensor((), "bool")):
                return G.const(value, declared)

            return tirscript.interpret(decorated, np.array(True))

        try:
            return one()
        except tirscript.DiagnosticError as problem:
            return problem.diagnostics[0].message

    found, wanted = made(given), made(given.item())
    assert found == wanted
    assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)


def test_values_of_other_kinds() -> None:
    same(
        'return (G.shape([4, n]), G.prim_value(3), G.prim_value(n), G.str("s"), G.dtype("int8"), 0.5, True, G.tuple())',
        'return (G.shape([4, n]), 3, G.prim_value(n), G.str("s"), G.dtype("int8"), 0.5, True, G.tuple())',
    )


def test_local_functions_see_the_names_around_them() -> None:
    same(
        """
@G.graph_func
def inner(y: G.Tensor((4, "n"), "float32"), z: G.Tensor(("k",), "float32")):
    return (G.add(x, y), z)
return inner(x, G.zeros((8,), "float32"))
""",
        """
@G.graph_func
def inner(y: G.Tensor((4, n), "float32"), z: G.Tensor(("k",), "float32")) -> G.Tuple(
    G.Tensor((4, n), "float32"), G.Tensor(("k",), "float32")
):
    gv: G.Tensor((4, n), "float32") = G.add(x, y)
    return (gv, z)

gv: G.Tensor((8,), "float32") = G.zeros((8,), dtype="float32")
gv_1: G.Tuple(G.Tensor((4, n), "float32"), G.Tensor((8,), "float32")) = inner(x, gv)
return gv_1
""",
    )


MODULE = """\
@I.ir_module
class M:
    @T.prim_func(private=True)
    def scale(x: T.Buffer(("n", 4), "float32"), y: T.Buffer(("n", 4), "float32"), z: T.Buffer(("n",), "int32")):
        for i, j in T.grid(n, 4):
            y[i, j] = x[i, j] * 2.0
        for i in range(n):
            z[i] = 1

    @G.graph_func
    def main(x: G.Tensor((8, 4), "float32")):
        cls = M
        return {}

    @G.graph_func(private=True)
    def later(x: G.Tensor(("k", 4), "float32")):
        return G.sum(x, axis=1)
"""


@pytest.mark.parametrize(
    ("call", "types"),
    [
        ("G.call_tir(cls.scale, (x,))", ["(8, 4) float32", "(8,) int32"]),
        ("G.call_tir(cls.scale, x)", ["(8, 4) float32", "(8,) int32"]),
        ("G.call_tir(M.scale, [x], [(8, 4), (8,)])", ["(8, 4) float32", "(8,) int32"]),
        (
            'R.call_tir(cls.scale, (x,), out_sinfo=[R.Tensor((8, 4), "float32"), R.Tensor((8,), "int32")])',
            ["(8, 4) float32", "(8,) int32"],
        ),
        (
            'G.call_tir(cls.scale, (x,), out_ty=[G.Tensor((8, 4), "float32"), G.Tensor((8,), "int32")])',
            ["(8, 4) float32", "(8,) int32"],
        ),
        ('G.call_dps_packed("lib.f", (x,), out=G.Tensor((3,), "int8"))', ["(3,) int8"]),
        ('G.call_dps_packed("lib.f", x, (3, 2), dtype="int8")', ["(3, 2) int8"]),
        ('G.call_pure_packed("lib.f", x, 1, ty_args=G.Tensor((3,), "int8"))', ["(3,) int8"]),
        ("cls.later(x)", ["(8,) float32"]),
    ],
)
def test_calls_of_functions(call: str, types: list[str]) -> None:
    made = parse(HEAD + MODULE.format(call))
    assert isinstance(made, Module)
    last = made.graph_funcs[0].body[-1]
    assert isinstance(last, GraphBind)
    kind: Any = last.var.type
    fields = kind.fields if hasattr(kind, "fields") else (kind,)
    shapes = [tuple(int(dim.value) for dim in field.shape) for field in fields]
    assert [f"{shape} {field.dtype}" for shape, field in zip(shapes, fields, strict=True)] == types
    assert structural_equal(parse(made.script()), made)


def scalars_behind(given: str) -> str:
    return (
        f"{HEAD}@I.ir_module\nclass M:\n    @T.prim_func\n    def f(x: T.Buffer((4,), 'float32'), y: T.Buffer(('m',), 'float32'), m: T.int64):\n"
        "        for i in range(m):\n            y[i] = x[0]\n    @G.graph_func\n    def main(x: G.Tensor((4,), 'float32')):\n"
        f"        return G.call_tir(M.f, (x,), tir_vars={given})\n"
    )


def test_scalars_behind_the_results() -> None:
    made = parse(scalars_behind("(6,)"))
    assert isinstance(made, Module)
    assert 'out=G.Tensor((6,), "float32"), tir_vars=(6,)' in made.script()
    assert structural_equal(parse(scalars_behind("6")), made)  # as with `out`


@pytest.mark.parametrize("out", ["", ', out=G.Tensor((6,), "float32")'])
@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ("M.f, (x,)", "T101", "nothing gives the scalar `m` of `f`"),
        ("M.f, (x, x), tir_vars=(4,)", "T101", "`f` has"),
        ("M.g, (x,)", "T022", "`g` is a graph function, but `G.call_tir` calls tensor functions"),
    ],
)
def test_what_a_call_lacks_is_told_with_its_results_and_without(out: str, call: str, code: str, words: str) -> None:
    """Without `out`, it was said that the results are not known."""
    text = scalars_behind("(6,)").replace("M.f, (x,), tir_vars=(6,)", call + out)
    text += "    @G.graph_func\n    def g(x: G.Tensor((4,), 'float32')):\n        return x\n"
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    found = caught.value.diagnostics[0]
    assert found.code == code and words in found.message


@pytest.mark.parametrize("given", ["(T.init,)", "[T.init]", "(x,)", "(1.5,)", "(*[T.init],)"])
def test_scalars_behind_the_results_that_are_none(given: str) -> None:
    with pytest.raises(DiagnosticError, match="T207") as caught:
        parse(scalars_behind(given))
    span = caught.value.diagnostics[0].labels[0].span
    assert span is not None and span.text in given


def test_a_call_for_its_effect_is_a_statement() -> None:
    made = parse(
        f"{HEAD}@G.graph_func(pure=False)\ndef main(x: G.Tensor((4,), 'float32')):\n"
        "    G.print(x, format='{}')\n    G.call_packed('log', x)\n    _ = G.call_packed('f', x, ty_args=G.Object)\n    return x\n"
    )
    text = made.script()
    assert '    G.print(x, format="{}")\n    G.call_packed("log", x)\n' in text
    assert '    _: G.Object = G.call_packed("f", x, ty_args=G.Object)\n' in text
    assert structural_equal(parse(text), made)


def test_comments_and_docstrings_stay() -> None:
    text = f'''{HEAD.replace(", tir as T", "").replace("ir as I, ", "")}# above
@G.graph_func
def main(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
    """What it does."""
    # the first step
    with G.dataflow():  # a dataflow
        y: G.Tensor((4,), "float32") = G.exp(x)  # e to the x
        # behind the steps
        G.output(y)

    # at the end
    return y
'''
    assert parse(text).script() == text


@G.graph_func
def decorated(x: G.Tensor((T.int64(4), "n"), "float32")):  # type: ignore[no-untyped-def]
    return G.exp(x)


def test_decorated_functions_and_modules() -> None:
    assert isinstance(decorated, GraphFunc)
    assert 'G.Tensor((4, "n"), "float32")' in decorated.script()
    depth = 2

    @tirscript.graph_func(private=True)
    def closure(x: G.Tensor((4,), "float32")):  # type: ignore[no-untyped-def]
        for _ in range(depth):
            x = G.exp(x)
        return x

    assert isinstance(closure, GraphFunc) and closure.private and len(closure.body) == depth

    @tirscript.ir_module
    class Both:
        @G.graph_func
        def main(x: G.Tensor((4,), "float32")):  # type: ignore[no-untyped-def]
            return Both.other(x)

        @G.graph_func
        def other(x: G.Tensor((4,), "float32")):  # type: ignore[no-untyped-def]
            return G.exp(x)

    assert isinstance(Both, Module) and [func.name for func in Both] == ["main", "other"]


def test_the_symbol_of_a_scalar_parameter_is_that_of_dimensions_before_it() -> None:
    made = parse(f'{HEAD}@G.graph_func\ndef main(x: G.Tensor(("n",), "float32"), n: G.Prim("int64")):\n    return x\n')
    named = parse(
        f'{HEAD}@G.graph_func\ndef main(x: G.Tensor(("n",), "float32"), n: G.Prim(dtype="int64")):\n    return x\n'
    )
    assert structural_equal(made, named)
    assert isinstance(made, GraphFunc)
    first, second = (param.type for param in made.params)
    assert isinstance(first, TensorType) and first.shape is not None
    assert isinstance(second, PrimType) and first.shape[0] is second.value
    assert made.symbols == ()


def test_a_dataflow_holds_what_it_says() -> None:
    made = parse(
        f"{HEAD}@G.graph_func\ndef main(x: G.Tensor((4,), 'float32')):\n    with G.dataflow():\n        y = G.exp(G.exp(x))\n        G.output(y)\n    return y\n"
    )
    assert isinstance(made, GraphFunc) and isinstance(made.body[0], Dataflow)
    assert [stmt.var.name for stmt in made.body[0].body] == ["lv", "y"]  # type: ignore[attr-defined]
    assert made.body[0].outputs[0] is made.value


@pytest.mark.parametrize(
    "text",
    [
        "return __import__('os')",
        "return x.__class__",
        "return (lambda: x)()",
        "return open('f')",
        "import os\nreturn x",
        "return [f for f in ().__class__.__mro__]",
        "return eval('x')",
    ],
)
def test_text_runs_nothing(text: str) -> None:
    with pytest.raises(DiagnosticError):
        body_of(text)


def test_recursion_is_read_from_tvm_and_comes_back() -> None:
    text = (
        "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((), 'bool')) -> R.Tensor((), 'bool'):\n"
        "        cls = M\n        if x:\n            y = cls.f(x)\n        else:\n            y = x\n        return y\n"
    )
    made = parse(text)
    assert isinstance(made, Module)
    assert structural_equal(parse(made.script()), made)
    with pytest.raises(DiagnosticError, match=r"T215.*`f` calls `f`"):
        parse(text.replace("R.", "G."))


@pytest.mark.parametrize("alone", [False, True])
def test_local_functions_do_not_call_themselves(alone: bool) -> None:
    main = """
@G.graph_func
def main(x: G.Tensor((4,), "float32")):
    @G.graph_func
    def f(a: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
        if G.greater(G.sum(a), G.const(10.0, "float32")):
            r = a
        else:
            r = f(G.add(a, a))
        return r

    b = f(x)
    return b
"""
    text = main if alone else f"@I.ir_module\nclass M:{indent(main, '    ')}"
    with pytest.raises(DiagnosticError, match=r"T215.*`f` calls `f`"):
        parse(text)
    theirs = parse(text.replace("G.", "R.").replace("graph_func", "function"))  # which TVM allows
    assert structural_equal(parse(theirs.script()), theirs)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('"foo"', '(G.str("foo"),)'),
        ('G.str("foo")', '(G.str("foo"),)'),
        ("3", "(3,)"),
        ('["foo", x]', '(G.str("foo"), x)'),
        ("x", "(x,)"),
        ("t", "(t,)"),
        ("()", "()"),
    ],
)
def test_one_argument_of_a_library_function_is_a_tuple_of_one(given: str, kept: str) -> None:
    """A bare string was kept as it was, and read back as a tuple."""
    kind = 'G.Tensor((4,), "float32")'
    made = parse(
        f"@G.graph_func\ndef f(x: {kind}, t: G.Tuple({kind}, {kind})):\n"
        f'    y = G.call_dps_packed("lib.f", {given}, out={kind})\n    return y\n'
    )
    text = made.script()
    assert f'G.call_dps_packed("lib.f", {kept}, out={kind})' in text
    assert structural_equal(parse(text), made) and parse(text).script() == text


@pytest.mark.parametrize(
    "written",
    [
        "\"G.Prim('int64')\"",
        '"T.int64"',
        "KIND",
        'G.Prim("int64", None)',
        '(G.Prim if 1 else G.Prim)(**{"dtype": "int64"})',
    ],
)
def test_a_scalar_parameter_names_a_dimension_however_it_is_written(written: str) -> None:
    """Quoted and named ones did not: they printed as a program with a dimension more."""
    text = f'{HEAD}KIND = G.Prim("int64")\n\n\n@G.graph_func\ndef main(x: G.Tensor(("n",), "float32"), n: {{}}):\n    return x\n'
    found, plain = parse(text.format(written)), parse(text.format('G.Prim("int64")'))
    assert structural_equal(found, plain) and structural_equal(parse(found.script()), found)
