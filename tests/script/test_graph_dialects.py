"""Spellings of graphs in TVM's dialect that apache-tvm's printer does not write: of 2022, of hand, of 2026; and macros."""

from __future__ import annotations

import numpy as np
import pytest

from tirscript import build, interpret, register_library
from tirscript.backend.runtime.library import unregister_library
from tirscript.ir import DiagnosticError, GraphFunc, Module, structural_equal
from tirscript.ir.graph import GraphBind, MatchCast, OpCall, ShapeType, TensorType
from tirscript.script import graph as G
from tirscript.script import parse

HEAD = "from tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import tir as T\n\n"
FUNCTION = '@R.function\ndef main(x: R.Tensor((4, "n"), "float32"), s: R.Shape(ndim=2)):\n    n = T.int64()\n    '


def same(theirs: str, ours: str, head: str = HEAD) -> Module | GraphFunc:
    """Both texts are one program, which both dialects give back."""
    made = parse(head + theirs)
    assert structural_equal(made, parse(HEAD + ours))
    for text in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(made, parse(text))
    assert isinstance(made, (Module, GraphFunc))
    return made


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("return R.reshape(x, R.ShapeExpr((n * 4,)))", "return R.reshape(x, R.shape([n * 4]))"),
        (
            'y = R.call_pure_packed("lib.f", x, sinfo_args=[x.struct_info])\n    return y',
            'y = R.call_pure_packed("lib.f", x, ty_args=R.Tensor((4, n), "float32"))\n    return y',
        ),
        (
            'y = R.call_pure_packed("lib.f", x, ty_args=[x.ty])\n    return y',
            'y = R.call_pure_packed("lib.f", x, ty_args=R.Tensor((4, n), "float32"))\n    return y',
        ),
        (
            'y = R.call_pure_packed("lib.f", x, type_args=(R.Tensor(ndim=2, dtype="float32")))\n    return y',
            'y = R.call_pure_packed("lib.f", x, ty_args=R.Tensor(ndim=2, dtype="float32"))\n    return y',
        ),
        (
            'y = R.call_pure_packed("lib.f", x, type_args=R.Void)\n    return y',
            'y = R.call_pure_packed("lib.f", x, ty_args=R.Tuple())\n    return y',
        ),
        (
            'y: R.Tensor(s, "float32") = R.reshape(x, s)\n    return y',
            'y: R.Tensor(ndim=2, dtype="float32") = R.reshape(x, s)\n    return y',
        ),
        (
            "k = T.int64()\n    y = R.match_shape(x, (k, 8))\n    return y",
            'k = T.int64()\n    y = R.match_cast(x, R.Tensor((k, 8), "float32"))\n    return y',
        ),
        (
            "k = T.int64()\n    R.match_shape(s, (k, 8))\n    return R.zeros((k,), 'float32')",
            "k = T.int64()\n    _ = R.match_cast(s, R.Shape((k, 8)))\n    return R.zeros((k,), 'float32')",
        ),
        ("return relax.op.add(x, x)", "return R.add(x, x)"),
        ("return relax.nn.relu(relax.exp(x))", "return R.nn.relu(R.exp(x))"),
    ],
)
def test_spellings_of_values(then: str, now: str) -> None:
    same(FUNCTION + then, FUNCTION + now)


def test_a_shape_that_is_known_is_the_shape_of_a_tensor() -> None:
    text = 'def f(s: R.Shape((2, "m")), x: R.Tensor(s, "float32")):\n    return x\n'
    made = parse(f"{HEAD}@R.function\n{text}")
    assert isinstance(made, GraphFunc)
    kind = made.params[1].type
    assert isinstance(kind, TensorType) and isinstance(made.params[0].type, ShapeType)
    assert kind.shape == made.params[0].type.values


def test_match_shape_of_a_tensor_keeps_its_dtype() -> None:
    made = parse(FUNCTION.replace('"float32"', '"int8"') + "y = R.match_shape(x, (4, 8))\n    return y\n")
    assert isinstance(made, GraphFunc)
    cast = made.body[0]
    assert isinstance(cast, MatchCast) and isinstance(cast.type, TensorType)
    assert cast.type.dtype is not None and cast.type.dtype.name == "int8"


MODULE = """
@I.ir_module
class M:
    @{decorator}
    def double(A: {type}((4,), "float32"), B: {type}((4,), "float32")):
        for i in range(4):
            with {block}("b"):
                v = {axis}.spatial(4, i)
                B[v] = A[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = M
        y = R.builtin.alloc_tensor(R.shape([4]), dtype="float32", runtime_device_index=0)
        {call}
        return R.call_tir(cls.double, {args}, {out}=[R.Tensor((4,), "float32")])
"""


def test_modules_of_2026() -> None:
    head = HEAD.replace("tir as T", "tirx as T\nfrom tvm.script import s_tir as Ts")
    new = MODULE.format(
        decorator="Ts.function",
        type="T.Tensor",
        block="Ts.sblock",
        axis="Ts.axis",
        call="_: R.Tuple() = R.call_tir_packed(cls.double, (x, y))",
        args="(x,)",
        out="ty_args",
    )
    old = MODULE.format(
        decorator="T.prim_func",
        type="T.Buffer",
        block="T.block",
        axis="T.axis",
        call="_: R.Tuple() = cls.double(x, y)",
        args="x",
        out="out_sinfo",
    )
    made = same(new, old, head)
    assert isinstance(made, Module)
    assert made.prim_funcs[0].s_tir  # `tirx` alone is the tile dialect
    tiles = parse(head + new.replace("Ts.function", "T.prim_func"))
    assert isinstance(tiles, Module) and not tiles.prim_funcs[0].s_tir


def test_symbols_and_scalars_of_2026() -> None:
    new = """
n = T.dynamic("n", "int64")

@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((n * 2,), "float32"), k: R.Tensor((n,), "float32")):
        cls = M
        return R.call_tir(cls.copy, (x, n), ty_args=[R.Tensor((n * 2,), "float32")])

    size = T.int64()

    @T.prim_func
    def copy(X: T.Buffer((size * 2,), "float32"), n: size, Y: T.Buffer((size * 2,), "float32")):
        for i in range(n * 2):
            Y[i] = X[i]
"""
    old = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n * 2",), "float32"), k: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = M
        return R.call_tir(cls.copy, (x, n), ty_args=[R.Tensor((n * 2,), "float32")])

    @T.prim_func
    def copy(X: T.Buffer(("size * 2",), "float32"), size: T.int64, Y: T.Buffer(("size * 2",), "float32")):
        for i in range(size * 2):
            Y[i] = X[i]
"""
    same(new, old)


def test_a_parameter_is_of_no_value() -> None:
    with pytest.raises(DiagnosticError, match="the annotation of `n` is not a type of T"):
        parse(f"{HEAD}@T.prim_func\ndef f(n: 3):\n    pass\n")


def test_pieces_without_imports() -> None:
    text = "@tvm.script.ir_module\nclass M:\n    @{0}.function\n    def f(x: {0}.Tensor((4,))):\n        return {0}.op.exp(x)\n"
    made = parse(text.format("relax"))
    assert structural_equal(made, parse(HEAD + text.format("R").replace("R.op", "R").replace("tvm.script", "I")))
    with pytest.raises(DiagnosticError, match="`tvm` is not defined"):
        parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = tvm.tir.exp(A[0])\n')


@pytest.mark.parametrize(
    "line",
    ["G.match_shape(x, (4, 8))", "G.reshape(x, G.ShapeExpr((4,)))", "G.call_tir_packed(main, (x,))", "G.Void"],
)
def test_our_own_dialect_does_not_read_them(line: str) -> None:
    with pytest.raises(DiagnosticError, match="is not a function of G"):
        parse(f'@G.graph_func\ndef main(x: G.Tensor((4, 8), "float32")):\n    return {line}\n')


# -- macros

MACROS = """
two = R.prim_value(2)

@R.macro
def halves(x, axis=0):
    parts = R.split(x, two, axis)
    return parts[0]

@R.macro(hygienic=False)
def shifted(x):
    y = R.add(x, bias)
    return y
"""


def test_macros_are_written_out() -> None:
    signature = '@R.function\ndef main(x: R.Tensor((4, 4), "float32"), bias: R.Tensor((4,), "float32")):\n    '
    calls = "with R.dataflow():\n        z = R.exp(shifted(x) * shifted(bias))\n        R.output(z)\n    return z\n"
    plain = (
        "with R.dataflow():\n        a = R.add(x, bias)\n        b = R.add(bias, bias)\n        z = R.exp(a * b)\n"
        "        R.output(z)\n    return z\n"
    )
    same(MACROS + signature + calls, signature + plain)


def test_a_macro_sees_the_names_where_it_is_defined() -> None:
    made = parse(
        f'{HEAD}{MACROS}@R.function\ndef main(x: R.Tensor((4, 6), "float32")):\n    return halves(x, axis=1)\n'
    )
    assert isinstance(made, GraphFunc)
    split = made.body[0]
    assert isinstance(split, GraphBind) and isinstance(split.value, OpCall)
    assert split.value.attrs["indices_or_sections"] == 2 and split.value.attrs["axis"] == 1


@G.macro
def doubled(x, by):
    scaled = G.add(x, x)
    return G.multiply(scaled, by)


@G.graph_func
def fourfold(x: G.Tensor((3,), "float32")):
    return doubled(doubled(x, 1.0), 2.0)


def test_macros_of_python() -> None:
    x = np.array([1, 2, 3], "float32")
    assert interpret(fourfold, x).tolist() == [8.0, 16.0, 24.0]


@pytest.mark.parametrize(
    ("macro", "message"),
    [
        ("y = G.exp(x)", "the macro `m` returns nothing"),
        ("return m(x)", "the macro `m` calls itself without end"),
        ("y = G.expp(x)\n    return y", r"`G.expp` is not a function of G(.|\n)*the macro `m` is called here"),
        ("if G.less(x, 1.0):\n        return x\n    else:\n        y = x\n    return y", "`return` stands at the end"),
        ("return x\n    return x", "this statement stands behind the `return`"),
    ],
)
def test_mistakes_in_macros(macro: str, message: str) -> None:
    text = f"@G.macro\ndef m(x):\n    {macro}\n\n@G.graph_func\ndef f(x: G.Tensor((), 'float32')):\n    y = m(x)\n    return y\n"
    with pytest.raises(DiagnosticError, match=message):
        parse(text)


def test_names_of_a_macro_are_its_own() -> None:
    text = (
        "@G.macro\ndef m(x):\n    y = G.exp(x)\n    return y\n\n@G.graph_func\ndef f(x: G.Tensor((4,), 'float32')):\n"
    )
    with pytest.raises(DiagnosticError, match="`y` is not defined"):
        parse(f"{text}    z = m(x)\n    return y\n")


# -- names of functions

ALIASES = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((3,), "float32"), up: R.Tensor((), "bool")):
        cls = M
        inner = cls.twice
        with R.dataflow():
            same = inner
            y = same(x)
            R.output(y)
        if up:
            z = inner(y)
        else:
            z = cls.twice(x)
        return z

    @R.function
    def twice(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.add(x, x)
"""


def test_a_name_of_a_function_is_a_binding() -> None:
    made = parse(ALIASES)
    assert isinstance(made, Module)
    first = made.graph_funcs[0].body[0]
    assert isinstance(first, GraphBind) and first.var.name == "inner"
    for text in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(made, parse(text))
    x = np.array([1, 2, 3], "float32")
    for up, factor in ((True, 4), (False, 2)):
        for found in (interpret(made, x, np.array(up), entry="main"), build(made)["main"](x, np.array(up))):
            assert found.tolist() == (x * factor).tolist()


def test_a_name_of_a_library_function_runs() -> None:
    text = f'{HEAD}@R.function\ndef main(x: R.Tensor((3,), "float32")):\n    f = R.ExternFunc("test.aliased")\n'
    made = parse(text + '    return R.call_dps_packed(f, (x,), R.Tensor((3,), "float32"))\n')
    register_library("test.aliased", lambda x, out: np.negative(x, out=out))
    try:
        x = np.array([1, 2, 3], "float32")
        for found in (interpret(made, x), build(made)(x)):
            assert found.tolist() == [-1, -2, -3]
    finally:
        unregister_library("test.aliased")


def test_the_empty_tuple_is_a_binding() -> None:
    made = same(
        "@R.function\ndef main(x: R.Tensor((3,))):\n    gv = ()\n    return gv\n",
        "@R.function\ndef main(x: R.Tensor((3,))):\n    gv: R.Tuple() = R.tuple()\n    return gv\n",
    )
    assert isinstance(made, GraphFunc) and len(made.body) == 1


UNFIT = """
@I.ir_module({options})
class M:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        return R.call_tir(M.double, x, out_ty=R.Tensor((16,), "float32"))

    @T.prim_func
    def double(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            B[i] = A[i] * T.float32(2)
"""


def test_a_module_may_say_that_nothing_is_checked() -> None:
    made = parse(UNFIT.format(options="check_well_formed=False, s_tir=True"))
    assert isinstance(made, Module)
    assert not any(one.check_well_formed for one in made.functions)
    assert structural_equal(parse(made.script()), made)
    for options, message in (
        ("s_tir=True", "argument 1 of `double` must have 1 dimension, not 2"),
        ("check=False", "`I.ir_module` has no option `check`"),
        ("check_well_formed=3", "`check_well_formed`"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            parse(UNFIT.format(options=options))


def test_a_call_with_a_gradient_runs() -> None:
    made = parse("""
@I.ir_module
class M:
    @T.prim_func(s_tir=True)
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = M
        return R.call_tir_with_grad(
            cls.double, (x,), R.Tensor((4,), "float32"), te_grad_name="double_grad", te_grad_kwargs={"k": 1.0}
        )
""")
    x = np.array([1, 2, 3, 4], "float32")
    for found in (interpret(made, x, entry="main"), build(made)["main"](x)):
        assert found.tolist() == [2, 4, 6, 8]
