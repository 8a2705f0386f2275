"""Graph functions in place of their calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Module, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes import PassContext, Sequential, get_pass
from tirscript.passes.graph import (
    bind_params,
    canonicalize_bindings,
    fold_graph_constant,
    inline_graph_functions,
)
from tirscript.script import parse

LINEAR = """
    @G.graph_func(private=True)
    def linear(x: G.Tensor(("n", "k"), "float32"), w: G.Tensor(("m", "k"), "float32")):
        with G.dataflow():
            y = G.matmul(x, G.permute_dims(w))
            G.output(y)
        return y
"""
MAIN = """
    @G.graph_func
    def main(x: G.Tensor(("s", 4), "float32"), w: G.Tensor((6, 4), "float32"), v: G.Tensor((4, 6), "float32")):
        cls = M
        with G.dataflow():
{body}
            G.output(y)
        return y
"""


def module(functions: str, *body: str) -> Module:
    lines = "\n".join(f"            {line}" for line in body)
    found = parse(f"@I.ir_module\nclass M:{functions}{MAIN.format(body=lines) if body else ''}")
    assert isinstance(found, Module)
    return found


def arrays() -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype("float32") for shape in ((3, 4), (6, 4), (4, 6))]


def assert_same(given: Module, made: Module, *args: Any) -> None:
    assert [str(found) for found in verify(made)] == []
    assert structural_equal(parse(made.script()), made)
    wanted = tirscript.interpret(given, *args)
    for found in (tirscript.interpret(made, *args), tirscript.build(made)(*args)):
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-5)


def test_dimensions_are_those_of_the_arguments_at_each_call() -> None:
    given = module(LINEAR, "h = cls.linear(x, w)", "y = G.nn.relu(cls.linear(h, v))")
    made = inline_graph_functions(given)
    assert [one.name for one in made.functions] == ["main"]
    assert "G.Tensor((4, 6)" in made.script() and "G.Tensor((6, 4)" in made.script()
    assert_same(given, made, *arrays())


def test_weights_are_prepared_when_they_are_constants() -> None:
    given = bind_params(module(LINEAR, "y = cls.linear(x, w)", "u = v"), dict(zip("wv", arrays()[1:], strict=True)))
    assert "permute_dims" not in fold_graph_constant(inline_graph_functions(given)).script()
    assert "permute_dims" in fold_graph_constant(given).script()


def other(shape: str = '("n", 4)', how: str = "(private=True)", attrs: str = "") -> str:
    return f"""
    @G.graph_func{how}
    def other(x: G.Tensor({shape}, "float32")) -> G.Tensor({shape}, "float32"):
        {attrs or "# as its caller"}
        with G.dataflow():
            z = G.exp(x)
            y = G.sin(z)
            G.output(y)
        return y
"""


BRANCHES = """
    @G.graph_func(private=True)
    def other(x: G.Tensor(("n", 4), "float32")):
        c = G.less(G.sum(x), G.const(0.0))
        if c:
            y = G.exp(x)
        else:
            y = G.sin(x)
        return y
"""
CALLED = """
    @G.graph_func
    def main(x: G.Tensor((3, 4), "float32")):
        a = M.other(x)
        y = G.negative(a)
        return y
"""


@pytest.mark.parametrize(
    "functions",
    [
        other(attrs='G.func_attr({"fastmath": False})'),
        other("(3, 4)"),
        other("ndim=2").replace('ndim=2, "float32"', 'ndim=2, dtype="float32"'),
        BRANCHES,
    ],
    ids=["attributes", "when it runs", "rank", "branches"],
)
def test_what_stays_a_function(functions: str) -> None:
    given = module(functions, "a = cls.other(x)", "y = G.negative(a)")
    assert inline_graph_functions(given) is given


def test_dataflows_stay_what_is_fused() -> None:
    given = module(other() + CALLED)
    made = inline_graph_functions(given)
    kernels = Sequential.parse("legalize_ops,annotate_pattern,fuse_ops,fuse_tir")(made)
    assert [one.name for one in kernels.prim_funcs if "exp" in one.name] == ["fused_exp_sin"]
    assert_same(given, made, np.ones((3, 4), "float32"))


def test_calls_that_stay_take_no_room() -> None:
    unlike = other(attrs='G.func_attr({"fastmath": False})').replace("other", "unlike")
    calls = [f"a{at} = cls.unlike(x)" for at in range(9)] + ["y = cls.other(x)"]
    made = inline_graph_functions(module(unlike + other(), *calls), most=30)
    assert [one.name for one in made.functions] == ["unlike", "main"]


def test_less_is_inlined_where_passes_are_asked_for_less() -> None:
    given = module(other() + CALLED)
    with PassContext(opt_level=0):
        assert get_pass("inline_graph_functions")(given) is given
        assert len(get_pass("inline_private_functions")(given).functions) == 1
    assert get_pass("inline_private_functions", most=1)(given) is given


def test_branches_outside_of_dataflows_and_public_functions() -> None:
    branches = module(BRANCHES + CALLED)
    made = inline_graph_functions(branches)
    assert [one.name for one in made.functions] == ["main"]
    for sign in (1, -1):
        assert_same(branches, made, sign * np.ones((3, 4), "float32"))

    public = module(other(how="") + CALLED)
    made = inline_graph_functions(public)
    assert [one.name for one in made.functions] == ["other", "main"] and "other(x)" not in made["main"].script()
    assert_same(public, made, np.ones((3, 4), "float32"))
    assert get_pass("inline_private_functions")(public) is public
    assert len(get_pass("inline_private_functions")(branches).functions) == 1


def test_calls_of_calls_and_no_more_than_there_is_room_for() -> None:
    functions = other(how="").replace("other", "f0")
    for at in range(1, 40):
        functions += f"""
    @G.graph_func(private=True)
    def f{at}(x: G.Tensor(("n", 4), "float32")) -> G.Tensor(("n", 4), "float32"):
        with G.dataflow():
            a = M.f{at - 1}(x)
            y = M.f{at - 1}(a)
            G.output(y)
        return y
"""
    given = parse(f"@I.ir_module\nclass M:{functions}")
    assert isinstance(given, Module)
    made = inline_graph_functions(given, most=100)
    assert [str(found) for found in verify(made)] == []
    assert sum(len(one.body[0].body) for one in made.functions) < 100 + 3 * 40  # those of dataflows
    assert 2 < len(made.functions) < 40


def test_functions_that_call_each_other_or_themselves_stay() -> None:
    given = parse("""
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function(private=True)
    def even(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        done = R.equal(n, R.const(0, "int64"))
        if done:
            r = R.const(True, "bool")
        else:
            r = M.odd(R.subtract(n, R.const(1, "int64")))
        return r

    @R.function(private=True)
    def odd(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        done = R.equal(n, R.const(0, "int64"))
        if done:
            r = R.const(False, "bool")
        else:
            r = M.even(R.subtract(n, R.const(1, "int64")))
        return r

    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        r = M.even(n)
        return r
""")
    assert isinstance(given, Module)
    assert inline_graph_functions(given) is given
    assert bool(np.asarray(tirscript.build(given)(np.int64(4)))) is True
    itself = parse("""
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function(private=True)
    def down(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        done = R.less(n, R.const(1, "int64"))
        if done:
            r = n
        else:
            r = M.down(R.subtract(n, R.const(3, "int64")))
        return r

    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        r = M.down(n)
        return r
""")
    assert isinstance(itself, Module)
    assert inline_graph_functions(itself) is itself
    assert int(np.asarray(tirscript.build(itself)(np.int64(7)))) == -2


def test_values_stand_for_themselves() -> None:
    given = module(
        """
    @G.graph_func(private=True)
    def pick(x: G.Tensor(("n", 4), "float32"), t: G.Tuple(G.Tensor((6, 4), "float32"), G.Tensor((4, 6), "float32"))):
        k = (t[1], x)
        return k
""",
        "k = cls.pick(x, (w, v))",
        "y = G.matmul(k[1], k[0])",
    )
    made = inline_graph_functions(given)
    assert len(made.functions) == 1
    assert_same(given, canonicalize_bindings(made), *arrays())
