"""Graph functions as tensor functions, and called from Python."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.runtime.graph_function import GraphFunction
from tirscript.ir.constant import constant
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import dtype
from tirscript.ir.expr import Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    Dataflow,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    PrimType,
    ShapeExpr,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops.calls import CALL_DPS_PACKED, CALL_TIR, CALL_TIR_INPLACE
from tirscript.ir.module import Module
from tirscript.ir.stmt import Stmt
from tirscript.ir.verify import verify
from tirscript.passes.graph import bind_symbolic_vars, legalize_ops
from tirscript.passes.graph.graph_to_tensor import graph_to_tensor
from tirscript.script import parse

addone = parse("""
@T.prim_func(private=True)
def addone(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        B[i] = A[i] + 1.0
""")
halves = parse("""
@T.prim_func(private=True)
def halves(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), C: T.Buffer(("n",), "int64"), k: T.int64):
    for i in range(n):
        B[i] = A[i] / 2.0
        C[i] = k
""")
assert isinstance(addone, PrimFunc) and isinstance(halves, PrimFunc)


n, m = Var("n", dtype("int64")), Var("m", dtype("int64"))


def tensor(*shape: Expr | int, kind: str = "float32") -> TensorType:
    return TensorType(tuple(one if isinstance(one, Expr) else const(one, "int64") for one in shape), dtype(kind))


def var(name: str, kind: GraphType | None = None) -> GraphVar:
    return GraphVar(name, kind or tensor(n))


def call(name: str, *args: GraphExpr, out: Any = None, **more: Any) -> GraphExpr:
    return CALL_TIR(FunctionRef(name), args, out=out or tensor(n), **more)


def function(
    name: str, params: tuple[GraphVar, ...], body: tuple[Stmt, ...], value: GraphExpr, result: GraphType
) -> GraphFunc:
    return GraphFunc(name, params, body, value, result)


def built(func: GraphFunc, *others: PrimFunc | GraphFunc) -> Callable[..., Any]:
    lowered = graph_to_tensor(Module((addone, halves, *others, func)))
    assert tirscript.parse(lowered.script()) is not None
    main = lowered[func.name]
    assert isinstance(main, PrimFunc)
    return GraphFunction(func, main, tirscript.build(lowered)[func.name])


X = np.arange(5, dtype="float32")
x, h, y = var("x"), var("h"), var("y")


def test_calls_of_kernels_write_results_at_once() -> None:
    body = (Dataflow((GraphBind(h, call("addone", x)), GraphBind(y, call("addone", h))), (y,)),)
    func = function("main", (x,), body, y, y.type)
    text = graph_to_tensor(Module((addone, func)))["main"].script()
    assert text.count("T.alloc_buffer") == 1 and "copy" not in text
    run = built(func)
    np.testing.assert_array_equal(run(X), X + 2)
    np.testing.assert_array_equal(run(x=X[:0]), X[:0])


class Evasive:
    """An object that does not say what class it is of."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no answer")


def test_tuples_scalars_shapes_and_constants() -> None:
    k, t, s = (
        var("k", PrimType(dtype("int64"), m)),
        var("t", TupleType((tensor(n), tensor(n)))),
        var("s", ShapeType((n,))),
    )
    both = TupleType((tensor(n), tensor(n, kind="int64")))
    p, c = var("p", both), var("c", tensor(2))
    body = (
        GraphBind(h, TupleItem(t, 1)),
        GraphBind(p, CALL_TIR(FunctionRef("halves"), (h,), out=both, tir_vars=ShapeExpr((m,)))),
        GraphBind(c, GraphConst(constant(np.array([1.5, 2.5], "float32")))),
    )
    value = TupleExpr((p, TupleExpr((c, k)), s, h))
    result = TupleType((both, TupleType((c.type, k.type)), s.type, h.type))
    run = built(function("main", (k, t, s), body, value, result))
    (half, sevens), (data, seven), shape, same = run(7, (X, X + 2), (5,))
    np.testing.assert_array_equal(half, (X + 2) / 2)
    assert sevens.tolist() == [7] * 5 and data.tolist() == [1.5, 2.5] and (seven, shape) == (7, (5,))
    np.testing.assert_array_equal(same, X + 2)
    with pytest.raises(DiagnosticError, match="takes a tuple of 2 as `t`, not a tuple of 1"):
        run(7, (X,), (5,))
    with pytest.raises(DiagnosticError, match="takes a tuple of 2 as `t`, not an Evasive"):
        run(7, Evasive(), (5,))
    with pytest.raises(DiagnosticError, match=r"expected shape \(n,\) = \(4,\), got \(5,\)"):
        run(7, (X, X), (4,))


PARTS = """
@G.graph_func
def main(
    x: G.Tuple(G.Tensor(("n", 8), "float32"), G.Tuple(G.Tensor(("n",), "int32"), G.Prim("int64"))),
    s: G.Shape(["n", 3]),
):
    return G.add(x[0], x[0])
"""


def test_parts_of_arguments_are_named_as_the_caller_takes_them() -> None:
    run = tirscript.build(tirscript.parse(PARTS))
    a, b = np.ones((4, 8), "float32"), np.ones(4, "int32")
    assert run((a, (b, 3)), (4, 3)).tolist() == (a + a).tolist()
    for wrong, message in (
        (((a, (a, 3)), (4, 3)), "argument `x[1][0]` of `main`: expected an array of int32, got an array of float32"),
        (((a[0], (b, 3)), (4, 3)), "argument `x[0]` of `main`: expected 2 dimensions, of shape (n, 8)"),
        (((a, (b[:3], 3)), (4, 3)), "argument `x[1][0]` of `main`: expected shape (n,) = (4,), got (3,)"),
        (((a, (b, 1.5)), (4, 3)), "argument `x[1][1]` of `main`: expected an integer (int64), got 1.5"),
        (((a, (b, 3)), (5, 3)), "argument `x[0]` of `main`: expected shape (n, 8) = (5, 8), got (4, 8)"),
        (((a, (b, 3)), (4, "3")), "argument `s[1]` of `main`: expected an integer (int64), got '3'"),
        (((a, (b, 3)), (4, 2)), "`main` takes 3 as `s[1]`, not 2"),
        (((a, None), (4, 3)), "`main` takes a tuple of 2 as `x[1]`, not None"),
    ):
        with pytest.raises(DiagnosticError) as told:
            run(*wrong)
        assert told.value.diagnostics[0].code == "T301"
        assert told.value.diagnostics[0].message.startswith(message)


def test_branches_write_to_one_place() -> None:
    b = var("b", tensor(kind="bool"))
    a, c = var("a"), var("c")
    branch = GraphIf(
        y,
        b,
        (GraphBind(a, call("addone", x)),),
        a,
        (GraphBind(c, call("addone", x)), GraphBind(h, call("addone", c))),
        h,
    )
    func = function("main", (x, b), (branch,), y, y.type)
    assert "copy" not in graph_to_tensor(Module((addone, func)))["main"].script()
    run = built(func)
    assert run(X, np.array(True)).tolist() == (X + 1).tolist()
    assert run(X, np.array(False)).tolist() == (X + 2).tolist()
    keep = GraphIf(y, b, (), x, (GraphBind(c, call("addone", x)),), c)
    run = built(function("main", (x, b), (keep,), y, y.type))
    assert run(X, np.array(True)).tolist() == X.tolist()


def test_match_cast_is_checked() -> None:
    z = var("z", TensorType(None, dtype("float32"), 1))
    cast = MatchCast(x, z, tensor(m))
    w = var("w", tensor(m))
    run = built(function("main", (z,), (cast, GraphBind(w, call("addone", x, out=tensor(m)))), w, w.type))
    assert run(X).tolist() == (X + 1).tolist()
    fixed = MatchCast(x, z, tensor(4))
    w = var("w", tensor(4))
    run = built(function("main", (z,), (fixed, GraphBind(w, call("addone", x, out=tensor(4)))), w, w.type))
    with pytest.raises(AssertionError, match=r"dimension 0 of the value of `G\.match_cast`: expected 4"):
        run(X)
    assert run(X[:4]).tolist() == (X[:4] + 1).tolist()


def test_graph_functions_and_libraries_are_called() -> None:
    inner = function("inner", (x,), (GraphBind(h, call("addone", x)),), h, h.type)
    u, v, w = var("u"), var("v"), var("w")
    body = (
        GraphBind(v, FunctionCall(FunctionRef("inner"), (u,))),
        GraphBind(w, CALL_DPS_PACKED("test.negate", (v,), out=tensor(n))),
    )
    tirscript.register_library("test.negate", lambda a, out: np.negative(a, out=out))
    run = built(function("main", (u,), body, w, w.type), inner)
    assert run(X).tolist() == (-(X + 1)).tolist()
    place = CALL_TIR_INPLACE(FunctionRef("addone"), (h,), inplace_indices=[0], out=tensor(n))
    body = (GraphBind(h, call("addone", x)), GraphBind(y, place))
    lowered = graph_to_tensor(Module((addone, function("main", (x,), body, y, y.type))))["main"]
    assert lowered.script().count("addone(") == 2


def test_functions_that_call_themselves_as_those_of_tvm_may_are_compiled() -> None:
    module = parse("""
from tvm.script import ir as I, relax as R

@I.ir_module
class M:
    @R.function(private=True)
    def grow(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        cls = M
        c = R.greater(i, R.const(0, "int32"))
        if c:
            j = R.subtract(i, R.const(1, "int32"))
            y = cls.shrink(j, R.add(x, R.sin(x)))
        else:
            y = x
        return y

    @R.function(private=True)
    def shrink(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        cls = M
        h = cls.grow(i, x)
        y = R.multiply(h, R.const(0.5, "float32"))
        return y

    @R.function
    def main(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        cls = M
        y = cls.grow(i, x)
        return y
""")
    run, data = tirscript.build(module)["main"], np.linspace(0, 1, 5, dtype="float32")
    for rounds in (0, 1, 5):
        wanted = tirscript.interpret(module, np.int32(rounds), data)
        np.testing.assert_allclose(run(np.int32(rounds), data), wanted, rtol=1e-5)
    with pytest.raises(DiagnosticError, match="calls are nested more than 2000 deep"):
        run(np.int32(100_000), data)


def test_what_cannot_be_compiled_is_told() -> None:
    blind = GraphVar("x", TensorType(None, dtype("float32")))
    with pytest.raises(DiagnosticError, match="number of dimensions of the parameter `x` is not known"):
        graph_to_tensor(Module((function("main", (blind,), (), blind, blind.type),)))
    lost = function("main", (x,), (GraphBind(y, call("gone", x)),), y, y.type)
    with pytest.raises(DiagnosticError, match="no function `gone`"):
        graph_to_tensor(Module((lost,)))


def test_a_size_that_a_branch_decides_is_told_in_the_source() -> None:
    module = parse(
        "from tirscript.script import graph as G, ir as I\n@I.ir_module\nclass M:\n    @G.graph_func\n"
        "    def main(k: G.Prim('int64'), c: G.Tensor((), 'bool')):\n        if c:\n            p = k + 1\n"
        "        else:\n            p = k + 2\n        return G.zeros((p,), 'float32')\n"
    )
    with pytest.raises(DiagnosticError, match="the size `p` is known only when the function has run") as caught:
        tirscript.build(module)
    assert caught.value.diagnostics[0].labels


def test_wrong_calls_say_what_is_expected() -> None:
    run = built(function("main", (x,), (GraphBind(y, call("addone", x)),), y, y.type))
    for args, kwargs, words in [
        ((), {}, "`x` is missing"),
        ((X, X), {}, r"takes 1 argument \(x\), but 2 are given"),
        ((), {"z": X}, "has no parameter `z`"),
        ((X,), {"x": X}, "is given `x` twice"),
        ((X.reshape(1, 5),), {}, "expected 1 dimension"),
        ((X.astype("float64"),), {}, "expected an array of float32"),
    ]:
        with pytest.raises(DiagnosticError, match=words):
            run(*args, **kwargs)
    shown = str(inspect.signature(run))
    assert shown == f"(x: {x.type.script()}) -> {y.type.script()}"
    assert repr(run) == f"<tirscript graph function main{shown}>"


@pytest.mark.parametrize(
    ("value", "way_out"),
    [
        ("G.unique(x, axis=0)", "run `measure_sizes` before; what it leaves, `tirscript.interpret` executes"),
        ("G.add(x, y)", "dimensions with one name where they have to be equal: `G.match_cast` gives them"),
    ],
)
def test_operators_without_a_kernel_say_what_to_do(value: str, way_out: str) -> None:
    params = 'x: G.Tensor(("n",), "float32"), y: G.Tensor(("m",), "float32")'
    graph = parse(f"@G.graph_func\ndef main({params}):\n    return {value}\n")
    with pytest.raises(DiagnosticError, match="is no kernel") as raised:
        tirscript.build(graph)
    assert way_out in str(raised.value)
    with pytest.raises(DiagnosticError, match="is no kernel") as raised:
        graph_to_tensor(Module((parse(graph.script().replace('"m"', '"n"')),)))
    assert ("run `legalize_ops` before" if "add" in value else way_out) in str(raised.value)


def test_views_of_sizes_that_only_the_call_knows_are_asked_for() -> None:
    graph = parse('@G.graph_func\ndef main(x: G.Tensor(("n",), "float32")):\n    return G.reshape(x, (4,))\n')
    built = tirscript.build(graph_to_tensor(Module((graph,))))
    found = np.zeros(4, "float32")
    built(np.arange(4, dtype="float32"), found)
    np.testing.assert_array_equal(found, np.arange(4))
    with pytest.raises(AssertionError, match=r"\(4,\) has not as many elements as \(n,\)"):
        built(np.arange(3, dtype="float32"), found)


def test_the_shape_of_a_tensor_is_a_result() -> None:
    module = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4, "n"), "float32")):
        return G.shape_of(x)
""")
    assert [str(found) for found in verify(graph_to_tensor(legalize_ops(module)))] == []
    assert tuple(tirscript.build(module)(np.zeros((4, 3), np.float32))) == (4, 3)
    whole = bind_symbolic_vars(module, {"n": 3})
    assert tuple(tirscript.build(whole)(np.zeros((4, 3), np.float32))) == (4, 3)


@pytest.mark.parametrize("value", ["G.clip(x, 0.0, 1.0)", "G.nn.relu6(x)", "G.nn.relu(x)", "G.maximum(x, x)"])
def test_kernels_choose_of_nan_what_the_interpreter_does(value: str) -> None:
    text = '@G.graph_func\ndef main(x: G.Tensor((6,), "float32")):\n    return ' + value + "\n"
    x = np.array([np.nan, -1, 0.5, 7, np.inf, -np.inf], np.float32)
    module = Module((parse(text),))
    np.testing.assert_array_equal(tirscript.build(module)(x), tirscript.interpret(module, x))


@pytest.mark.parametrize("value", ["z", "(x, z)", "((z, x), z)"])
def test_what_a_call_that_returns_nothing_gives_is_a_result_of_no_tensors(value: str) -> None:
    module = parse(f"""
@I.ir_module
class M:
    @T.prim_func
    def copy(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        B[0] = A[0]

    @G.graph_func(pure=False)
    def main(x: G.Tensor((2,), "float32"), y: G.Tensor((2,), "float32")):
        z = M.copy(x, y)
        return {value}
""")
    x, y = np.ones(2, np.float32), np.zeros(2, np.float32)
    assert str(tirscript.build(module)["main"](x, y)) == str(tirscript.interpret(module, x, np.zeros(2, np.float32)))
    assert y.tolist() == [1, 0]


def test_arrays_that_are_too_small_for_a_result_are_told() -> None:
    text = """
@G.graph_func
def main(x: G.Tensor((1, 2, "h", "w"), "float32"), k: G.Tensor((3, 2, 6, 3), "float32")):
    return G.nn.conv2d(x, k)
"""
    function = tirscript.build(parse(text))
    with pytest.raises(DiagnosticError) as caught:
        function(np.ones((1, 2, 4, 5), np.float32), np.ones((3, 2, 6, 3), np.float32))
    (found,) = caught.value.diagnostics
    assert found.code == "T301" and "the shape (1, 3, -1, 3), where `h` is 4, `w` is 5" in found.message
    assert function(np.ones((1, 2, 5, 3), np.float32), np.ones((3, 2, 6, 3), np.float32)).shape == (1, 3, 0, 1)


def test_arrays_that_are_too_large_for_a_result_are_told() -> None:
    function = tirscript.build(
        parse("""
@G.graph_func
def main(x: G.Tensor(("n",), "int8")):
    n = T.int64()
    return G.full((n * 4611686018427387904,), G.const(1.0, "float32"))
""")
    )
    with pytest.raises(DiagnosticError, match=r"would have the shape \(4611686018427387904,\), where `n` is 1"):
        function(np.zeros(1, np.int8))
    assert function(np.zeros(0, np.int8)).shape == (0,)


def test_a_name_for_a_known_size_is_a_scalar_of_its_dtype() -> None:
    """A kernel's `tir_vars` are int64, and the size that a `match_cast` names may be a plain number."""
    module = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def add_size(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), k: T.int64):
        for i in range(n):
            B[i] = A[i] + T.cast(k, "float32")

    @G.graph_func
    def main(x: G.Tensor((3,), "float32")):
        m = T.int64()
        y = G.match_cast(x, G.Tensor((m,), "float32"))
        return G.call_tir(M.add_size, (y,), out=G.Tensor((m,), "float32"), tir_vars=G.shape([m]))
""")
    assert verify(graph_to_tensor(module)) == []
    assert tirscript.build(module)(np.zeros(3, "float32")).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ('G.assert_op(G.less(G.max(x), G.const(5.0)), x, G.str("why"), format="big: {} {}")', "big: x why"),
        ('G.assert_op(n > 2, format="few")', "few"),
        ("G.assert_op(n > 2)", "the condition of `G.assert_op` is false"),
        ('G.assert_op(n > 2, x, format="{")', "{"),
    ],
)
def test_checks_of_a_model_are_made_natively(check: str, said: str) -> None:
    head = '@G.graph_func(pure=False)\ndef main(x: G.Tensor((2, 3), "float32"), n: G.Prim("int64")):\n'
    model = tirscript.build(parse(f"{head}    {check}\n    y = G.add(x, x)\n    return y\n"))
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(model(x, 3), x + x)
    with pytest.raises(AssertionError) as raised:
        model(9 * x, 1)
    assert str(raised.value).startswith(f"{said}\n")


def test_what_is_checked_is_one_bool() -> None:
    head = '@G.graph_func(pure=False)\ndef main(x: G.Tensor((2,), "bool"), y: G.Tensor((), "int32")):\n'
    for value in ("x", "y"):
        with pytest.raises(DiagnosticError, match="the condition is no single bool"):
            tirscript.build(parse(f"{head}    G.assert_op({value})\n    return x\n"))


def test_sizes_of_results_are_read_off_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The native function checks the arguments: they are bound in Python where a size is in no array alone."""
    run = tirscript.build(
        parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(a: G.Tensor((2, "n"), "float32"), x: G.Tensor(("m", "n"), "float32")):
        return G.matmul(x, G.permute_dims(a)), G.concat((x, x), axis=1)
""")
    )
    a, x = np.ones((2, 3), "float32"), np.ones((4, 3), "float32")
    with monkeypatch.context() as patch:
        patch.setattr("tirscript.backend.runtime.graph_function.bind_arguments", lambda *_: pytest.fail("bound"))
        assert [one.shape for one in run(a, x)] == [(4, 2), (4, 6)]
    for given in (memoryview(x), x.reshape(4, 3).__array__()):
        assert [one.shape for one in run(a, given)] == [(4, 2), (4, 6)]
    for wrong in (x[0], np.ones((4, 2), "float32"), x.astype("int32"), [1.0]):
        with pytest.raises(DiagnosticError, match="x"):
            run(a, wrong)


@pytest.mark.parametrize(
    ("params", "chosen", "message"),
    [
        ("x, c: G.Tensor((), 'bool')", "M.first", "this value has no tensor form"),
        ("x, c: G.Tensor((), 'bool'), f: G.Callable((G.Tensor((4,)),), G.Object, True)", "f", "the parameter `f`"),
    ],
)
def test_functions_as_values_are_left_to_the_interpreter(params: str, chosen: str, message: str) -> None:
    made = parse(f"""
@I.ir_module
class M:
    @G.graph_func(private=True)
    def first(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
        return G.exp(x)

    @G.graph_func(private=True)
    def second(x: G.Tensor((4,), "float32")) -> G.Tensor((4,), "float32"):
        return G.sin(x)

    @G.graph_func
    def main({params.replace("x,", 'x: G.Tensor((4,), "float32"),')}):
        if c:
            h = {chosen}
        else:
            h = M.second
        return h(x)
""")
    with pytest.raises(DiagnosticError, match=message) as raised:
        tirscript.build(made)
    assert raised.value.diagnostics[0].hint == "`tirscript.interpret` executes it"


NARROW_SIZES = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32"), k: T.int32, j: T.uint8):
        for i in range(2):
            B[i] = A[i] * 100 + k * 10 + T.cast(j, "int32")

    @G.graph_func
    def main(x: G.Tensor((2,), "int32"), z: G.Tensor(("n",), "int32"), q: G.Prim("int32")):
        with G.dataflow():
            y = G.call_tir(M.f, (x,), out=G.Tensor((2,), "int32"), tir_vars=(n * 100000000, 2))
            w = G.call_tir(M.f, (y,), out=G.Tensor((2,), "int32"), tir_vars=(q, n))
            u = G.astype(w, "float32")
            v = G.broadcast_to(u, (q, 2))
            G.output(v)
        return v
"""


def test_sizes_are_passed_to_scalars_of_other_integer_types() -> None:
    module = parse(NARROW_SIZES.replace("n * 100000000", "n"))
    x, z = np.array([1, 2], "int32"), np.zeros(3, "int32")
    expected = np.array([[13243, 23243]] * 4, "float32")
    lowered = graph_to_tensor(legalize_ops(module))
    assert verify(lowered) == []
    np.testing.assert_array_equal(tirscript.interpret(module, x, z, 4), expected)
    np.testing.assert_array_equal(tirscript.build(module)(x, z, 4), expected)


def test_a_size_that_its_scalar_does_not_hold_is_told() -> None:
    built = tirscript.build(parse(NARROW_SIZES))
    built(np.zeros(2, "int32"), np.zeros(21, "int32"), 4)
    with pytest.raises(AssertionError, match="argument `k` of `f`: int32 holds -2147483648 to 2147483647"):
        built(np.zeros(2, "int32"), np.zeros(22, "int32"), 4)


def test_comments_stand_at_what_computes_not_at_memory_that_goes() -> None:
    text = (
        "from tirscript.script import graph as G, ir as I\n\n\n@I.ir_module\nclass M:\n    @G.graph_func\n"
        '    def main(x: G.Tensor((4, 4), "float32")):\n        # one\n        y = G.matmul(x, x)  # two\n'
        "        # three\n        z = G.exp(y)  # four\n        return z\n"
    )
    legal = tirscript.passes.get_pass("legalize_ops")(tirscript.parse(text))
    main = tirscript.passes.get_pass("graph_to_tensor")(legal)["main"].script(header=False)
    at = [main.index(part) for part in ("# one", "matmul(", "# two", "# three", "exp(", "# four")]
    assert at == sorted(at) and main.index("alloc_buffer") < at[0]


SLICED = """
@G.graph_func
def f(x: G.Tensor((4, 4), "float32"), {param}):{symbol}
    y = G.strided_slice(x, [0], [n], [4])
    return y
"""


@pytest.mark.parametrize(
    ("param", "symbol", "name", "given"),
    [
        ('n: G.Prim("int64")', "", "n", lambda n: n),
        ('s: G.Shape(["n"])', "\n    n = T.int64()", "s[0]", lambda n: (n,)),
        ('t: G.Tuple(G.Prim("bool"), G.Shape(["n"]))', "\n    n = T.int64()", "t[1][0]", lambda n: (True, (n,))),
    ],
)
def test_a_scalar_in_a_shape_is_no_less_than_0(param: str, symbol: str, name: str, given: Callable[[int], Any]) -> None:
    """A slice from -3 has the 7 rows `4 - T.min(n, 4)`, of which native code read those before the tensor."""
    f = parse(SLICED.format(param=param, symbol=symbol))
    x = np.arange(16, dtype="float32").reshape(4, 4)
    message = re.escape(f"argument `{name}` of `f` stands in a shape, where no size is negative")
    with pytest.raises(AssertionError, match=message):
        tirscript.build(f)(x, given(-3))
    with pytest.raises(DiagnosticError, match=message):
        tirscript.interpret(f, x, given(-3))
    for run in (tirscript.build(f), functools.partial(tirscript.interpret, f)):
        np.testing.assert_array_equal(run(x, given(1)), x[1:])


def test_a_scalar_that_is_no_size_may_be_negative() -> None:
    f = parse(
        '@G.graph_func\ndef f(n: G.Prim("int64")):\n    y = G.full((2,), G.prim_value(n), "int64")\n    return y\n'
    )
    np.testing.assert_array_equal(tirscript.build(f)(-3), [-3, -3])
    np.testing.assert_array_equal(tirscript.interpret(f, -3), [-3, -3])
