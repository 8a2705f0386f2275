"""Graph functions as text: as ruff lays it out, the same bytes when read back, constants in each way."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.printer import formatted

import tirscript
from tirscript.ir import Attrs, ConstantStore, DiagnosticError, GraphFunc, Module, differences, structural_equal
from tirscript.printer import diff, script
from tirscript.script import parse

LONG = '''\
from tirscript.script import ir as I, tir as T, graph as G


@I.ir_module
class Model:
    """Two layers and a branch."""

    I.module_attrs({"opset": 18})
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice({"kind": "cuda"}, 1, "global")]})

    @T.prim_func(private=True)
    def relu(x: T.Buffer(("n",), "float32"), y: T.Buffer(("n",), "float32")):
        for i in range(n):
            y[i] = T.max(x[i], 0.0)

    # the whole model
    @G.graph_func
    def main(
        image: G.Tensor((1, 3, "height", "width"), "float32"),
        weight: G.Tensor((8, 3, 3, 3), "float32"),
        flag: G.Tensor((), "bool"),
        unknown: G.Tensor(dtype="float32", ndim=1, vdevice="llvm:0:global"),
        callback: G.Callable((G.Tensor((4,)), G.Shape(ndim=2)), G.Object, True),
    ) -> G.Tuple(G.Tensor(dtype="float32"), G.Tensor(dtype="float32", ndim=1)):
        G.func_attr({"opset": 18, "names": ["a", "b"]})
        length = T.int64()

        @G.graph_func
        def helper(a: G.Tensor(("k",), "float32")) -> G.Tensor(("k",), "float32"):
            b = G.call_tir(Model.relu, (a,), out=G.Tensor((k,), "float32"))
            return b

        # a convolution and what follows it
        with G.dataflow():
            conv: G.Tensor((1, 8, height, width), "float32") = G.nn.conv2d(
                image, weight, padding=[1, 1, 1, 1]
            )  # with padding
            flat: G.Tensor((8 * height * width,), "float32") = G.reshape(
                conv, (8 * height * width,)
            )
            known = G.match_cast(unknown, G.Tensor((length,), "float32"))
            G.output(flat, known)

        if flag:
            result: G.Tensor((length,), "float32") = helper(known)
        else:
            result: G.Tensor((8 * height * width,), "float32") = helper(flat)
        return (result, known)
'''


def test_a_model() -> None:
    made = parse(LONG)
    assert isinstance(made, Module)
    text = made.script()
    assert formatted(text) == text
    again = parse(text)
    assert not differences(made, again) and again.script() == text
    theirs = made.script(dialect="tvm")
    assert formatted(theirs) == theirs
    assert structural_equal(parse(theirs), made)


@pytest.mark.parametrize("width", [40, 60, 79, 100, 140])
def test_every_width_is_laid_out_as_ruff_does_it(width: int) -> None:
    made = parse(LONG)
    for dialect in ("tirscript", "tvm"):
        text = made.script(width=width, dialect=dialect)
        assert formatted(text, width) == text
        assert structural_equal(parse(text), made)


def test_what_was_written_stays_as_it_was() -> None:
    text = parse(LONG).script()
    for part in (
        "# the whole model",
        "# a convolution and what follows it",
        "# with padding",
        '"""Two layers and a branch."""',
    ):
        assert part in text
    assert 'G.Tensor(dtype="float32", ndim=1, vdevice="llvm:0:global")' in text
    assert "padding=[1, 1, 1, 1]" in text and "strides" not in text  # defaults are left away
    assert "strides=[1, 1]" in parse(LONG).script(dialect="tvm")  # TVM may have others


SMALL = """\
from tirscript.script import graph as G


@G.graph_func
def main(x: G.Tensor((40,), "float32")):
    y = G.add(x, G.const(weights))  # adds
    return (y, G.const(weights))
"""


def test_constants_by_their_digest_in_the_text_and_in_a_file(tmp_path: Path) -> None:
    weights = np.arange(40, dtype="float32")
    made = parse(SMALL, names={"weights": weights})
    elided = made.script()
    assert elided.count("sha256:") == 2 and "base64" not in elided
    inline = made.script(constants="inline")
    assert inline.count('base64="""') == 1 and inline.count("T.meta_var(") == 1 and inline.count("sha256:") == 2
    path = tmp_path / "model.safetensors"
    filed = made.script(constants="file", constants_file=path)
    assert 'file="model.safetensors"' in filed
    for text in (elided, inline):
        assert formatted(text) == text
        again = parse(text)
        assert structural_equal(again, made) and "# adds" in again.script()
    assert parse(inline).script(constants="inline") == inline
    (tmp_path / "model.py").write_text(filed)
    assert structural_equal(parse(filed, folder=tmp_path), made)
    assert structural_equal(parse(elided, constants=ConstantStore(made)), made)
    numbers = made.script(dialect="tvm")
    assert "sha256" not in numbers and structural_equal(parse(numbers), made)


def test_a_constant_without_its_data_has_no_text_for_tvm() -> None:
    text = 'from tirscript.script import graph as G\n\n\n@G.graph_func\ndef main():\n    return G.constant("sha256:{}", (64,), "float32")\n'
    made = parse(text.format("0" * 64))
    assert structural_equal(parse(made.script()), made)
    with pytest.raises(DiagnosticError, match="TVM has no text for this constant"):
        made.script(dialect="tvm")


def test_pieces_of_functions_print() -> None:
    made = parse(LONG)
    assert isinstance(made, Module)
    main = made.graph_funcs[0]
    assert script(main.body[1].body[1]).startswith("# ") is False  # type: ignore[attr-defined]
    assert str(main.params[1].type) == 'G.Tensor((8, 3, 3, 3), "float32")'
    assert str(main.value) == "(result, known)"
    assert script(main.body[2]).startswith("if flag:\n")
    assert "with G.dataflow():" in script(main.body)


def test_a_renamed_variable_is_no_difference() -> None:
    text = parse(LONG).script()
    left, right = parse(text), parse(re.sub(r"\bconv\b", "made", text))
    assert text != right.script()
    assert diff(left, right) == ""
    changed = diff(
        left, parse(text.replace("padding=[1, 1, 1, 1]", "padding=[1, 1, 1, 1], groups=1, data_layout='NCHW'"))
    )
    assert changed == ""
    other = diff(left, parse(text.replace('"opset": 18, "names"', '"opset": 19, "names"')))
    assert [line for line in other.split("\n") if line.startswith(("- ", "+ "))] == [
        '-        G.func_attr({"opset": 18, "names": ("a", "b")})',
        '+        G.func_attr({"opset": 19, "names": ("a", "b")})',
    ]


def test_names_that_clash_and_names_that_mean_something() -> None:
    made = parse(
        "from tirscript.script import graph as G\n\n\n@G.graph_func\ndef main(x: G.Tensor((4,))):\n"
        "    y = G.exp(x)\n    y = G.exp(y)\n    return y\n"
    )
    assert isinstance(made, GraphFunc)
    odd = made.replace(params=(made.params[0].replace(name="T"),), attrs=Attrs({"a": 1}))
    assert "T_1: G.Tensor((4,))" in odd.script()


def test_a_function_name_that_is_no_name_is_refused() -> None:
    made = parse(
        "from tirscript.script import graph as G\n\n\n@G.graph_func\ndef main(x: G.Tensor((4,))):\n    return x\n"
    )
    for name, words in (("a b", "no identifier"), ("del", "a word of Python's own"), ("\ufb01", "'fi' to Python")):
        with pytest.raises(DiagnosticError, match=f"the function name {name!r} is {words}"):
            made.replace(name=name).script()


def test_local_functions_stand_apart() -> None:
    made = parse("""\
from tirscript.script import graph as G

@G.graph_func
def main(x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")):
    @G.graph_func
    def first(y: G.Tensor((4,), "float32")):
        return y
    with G.dataflow():
        @G.graph_func
        def second(y: G.Tensor((4,), "float32")):
            return y
        z = second(x)
        # above the third
        @G.graph_func
        def third(y: G.Tensor((4,), "float32")):
            return y
        # behind it
        G.output(z)
    if c:
        @G.graph_func
        def fourth(y: G.Tensor((4,), "float32")):
            return y
        w = fourth(z)
    else:
        w = first(z)
    return w
""")
    for dialect in ("tirscript", "tvm"):
        text = made.script(dialect=dialect)
        assert formatted(text) == text
        again = parse(text)
        assert structural_equal(again, made) and again.script(dialect=dialect) == text


def test_a_symbol_of_several_local_functions_is_declared_before_them() -> None:
    program = parse(
        """
@G.graph_func
def main(x: G.Tensor(("m", 4), "float32")):
    n = T.int64()

    @G.graph_func
    def first(a: G.Tensor((n, 4), "float32")) -> G.Tensor((n, 4), "float32"):
        k = T.int64()

        @G.graph_func
        def within(b: G.Tensor((k, n), "float32")) -> G.Tensor((k, n), "float32"):
            return b

        return within(a)

    @G.graph_func
    def second(a: G.Tensor((n, 4), "float32")) -> G.Tensor((n, 4), "float32"):
        return G.exp(a)

    @G.graph_func
    def third(a: G.Tensor((n, 4), "float32")) -> G.Tensor((n, 4), "float32"):
        return G.exp(a)

    return third(second(first(x)))
"""
    )
    text = program.script()
    assert text.count("n = T.int64()") == 1 and '"n"' not in text
    assert text.index("n = T.int64()") < text.index("def first(")
    assert structural_equal(parse(text), program) and parse(text).script() == text


def test_functions_that_are_values_have_dimensions_of_their_own() -> None:
    """They were those of the function itself, which nothing where it is used defines."""
    program = parse(
        """
@I.ir_module
class M:
    @G.graph_func(private=True)
    def rows(x: G.Tensor(("n", "m"), "float32"), k: G.Shape(["k"])) -> G.Tensor(("n",), "float32"):
        return G.sum(x, axis=1)

    @G.graph_func
    def chosen(x: G.Tensor(("n",), "float32")):
        return M.rows

    @G.graph_func
    def main(x: G.Tensor(("n", "n"), "float32"), c: G.Tensor((), "bool")):
        @G.graph_func
        def local(a: G.Tensor(("m", "n"), "float32"), k: G.Shape(["k"])) -> G.Tensor(("m",), "float32"):
            return G.sum(a, axis=1)

        t = (M.rows, local, (M.rows, x))
        if c:
            f = t[0]
        else:
            f = t[1]
        g = M.chosen(f(x, G.shape([1])))
        return (f(x, G.shape([1])), g(x, G.shape([2])))
"""
    )
    assert isinstance(program, Module)
    for dialect in ("tirscript", "tvm"):
        text = program.script(dialect=dialect)
        again = parse(text)
        assert differences(again, program) == [] and again.script(dialect=dialect) == text
    x = np.arange(4, dtype="float32").reshape(2, 2)
    for found in tirscript.interpret(again, x, np.array(True), entry="main"):
        assert (found == x.sum(1)).all()


def test_dimensions_that_nothing_defines_are_declared() -> None:
    made = parse(
        """
@G.graph_func(check_well_formed=False)
def main(x: G.Tensor(("m",), "float32")):
    n = T.int64()
    k = T.int32()
    y = G.call_dps_packed("f", (x,), out=G.Tensor((m, n), "float32"))
    z = G.layout_transform(y, lambda i, j: (j, i))
    w = G.call_dps_packed("f", (x,), out=G.Tensor((k, n), "float32"))
    return w
"""
    )
    for text in (script(made), script(made, dialect="tvm")):
        assert structural_equal(parse(text), made, map_free_vars=True)
    assert "    n = T.int64()\n    k = T.int32()\n" in script(made)


@pytest.mark.parametrize("dialect", ["tirscript", "tvm"])
def test_a_condition_that_is_known_is_decided_when_it_runs(dialect: str) -> None:
    """It was written `if False:`, which is decided while parsing: passes make such of functions that are written out."""
    found = parse(
        '@G.graph_func\ndef f(x: G.Tensor((4,), "float32")):\n    if G.prim_value(False):\n        y = G.exp(x)\n'
        "    else:\n        y = x\n    return y\n"
    )
    text = found.script(dialect=dialect)
    assert ".prim_value(T.bool(False)):" in text
    again = parse(text)
    assert structural_equal(again, found) and again.script(dialect=dialect) == text
