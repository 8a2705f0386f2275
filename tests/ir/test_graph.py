"""Graph functions as data: equality, hashing, pickling, rewriting, building; what the verifier says of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tirscript import BlockBuilder
from tirscript.ir import (
    DiagnosticError,
    GraphFunc,
    GraphVar,
    Module,
    Var,
    const,
    definitions,
    differences,
    dtype,
    free_vars,
    refresh,
    rewrite,
    structural_equal,
    structural_hash,
    substitute,
    verify,
    walk,
)
from tirscript.ir.graph import (
    CallableType,
    Dataflow,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphIf,
    GraphType,
    MatchCast,
    ObjectType,
    OpCall,
    PrimType,
    ShapeType,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, graph_op
from tirscript.ir.graph_types import conflict, join
from tirscript.ir.verify import warnings
from tirscript.script import graph as G
from tirscript.script import parse

TEXT = """\
from tirscript.script import ir as I, tir as T, graph as G


@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(x: T.Buffer(("n",), "float32"), y: T.Buffer(("n",), "float32")):
        for i in range(n):
            y[i] = x[i]

    @G.graph_func
    def main(x: G.Tensor(("n",), "float32"), k: G.Prim("int64"), c: G.Tensor((), "bool")):
        m = T.int64()

        @G.graph_func
        def inner(a: G.Tensor(("w",), "float32")):
            return G.exp(a)

        with G.dataflow():
            a = G.call_tir(M.f, (x,), out=G.Tensor((n,), "float32"))
            b = G.match_cast(a, G.Tensor((m,), "float32"))
            p = k + 1
            G.output(b, p)
        if c:
            d = inner(b)
        else:
            d = G.zeros((p,), "float32")
        return (d, M.other(x))

    @G.graph_func
    def other(x: G.Tensor(("n",), "float32")):
        return G.sqrt(x)
"""


def module() -> Module:
    found = parse(TEXT)
    assert isinstance(found, Module)
    return found


def main_of(found: Module) -> GraphFunc:
    return next(func for func in found.graph_funcs if func.name == "main")


def test_equal_up_to_names() -> None:
    one, two = module(), module()
    assert one != two and structural_equal(one, two) and structural_hash(one) == structural_hash(two)
    renamed = parse(
        one.script()
        .replace("inner", "local")
        .replace("b:", "bb:")
        .replace("(b)", "(bb)")
        .replace("(m,)", "(q,)")
        .replace("m = T", "q = T")
        .replace(" b = ", " bb = ")
        .replace("(b, p)", "(bb, p)")
    )
    assert structural_equal(one, renamed) and structural_hash(one) == structural_hash(renamed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("G.sqrt(x)", "G.exp(x)"),
        ("k + 1", "k + 2"),
        ("G.output(b, p)", "G.output(p, b)"),
        ("d = inner(b)", "d = inner(x)"),
        ("return (d, M.other(x))", "return (M.other(x), d)"),
        ('k: G.Prim("int64")', 'k: G.Prim("int32")'),
        ("G.zeros((p,), ", "G.zeros((k,), "),
    ],
)
def test_what_differs_is_told(old: str, new: str) -> None:
    one, two = module(), parse(TEXT.replace(old, new).replace("k + 1", "k + 1"))
    assert not structural_equal(one, two)
    found = differences(one, two)
    assert found and all(difference.reason for difference in found)


def test_a_builder_says_what_it_holds() -> None:
    builder = BlockBuilder()
    assert repr(builder) == "<block builder: no function>"
    x = builder.tensor("x", (4,), "float32")
    with builder.function("main", [x]):
        assert repr(builder) == "<block builder: no function, main is open>"
        builder.emit_func_output(x)
    assert repr(builder) == "<block builder: main>"


def test_copies_and_pickles() -> None:
    one = module()
    for made in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert structural_equal(one, made) and made.script() == one.script()
    entry = graph_op("nn.relu")
    assert pickle.loads(pickle.dumps(entry)) is entry
    foreign = graph_op("vm.kill_object")
    assert pickle.loads(pickle.dumps(foreign)) is foreign and "vm.kill_object" not in GRAPH_OPS


def test_everything_that_is_defined_can_be_renamed() -> None:
    func = main_of(module())
    names = [binder.name for binder in definitions(func)]
    assert [name for name in names if names.count(name) == 1] and {
        "x",
        "k",
        "c",
        "n",
        "m",
        "a",
        "b",
        "p",
        "d",
        "w",
    } <= set(names)
    assert free_vars(func) == []
    fresh = refresh(func)
    assert structural_equal(func, fresh)
    old = {id(node) for node in walk(func) if isinstance(node, (GraphVar, Var))}
    assert not old & {id(node) for node in walk(fresh) if isinstance(node, (GraphVar, Var))}


def test_substitution_reaches_types() -> None:
    func = main_of(module())
    (n,) = [var for var in func.symbols if var.name == "n"]
    made = substitute(func, {n: const(8, "int64")})
    kind = made.params[0].type
    assert isinstance(kind, TensorType) and kind.shape is not None and kind.shape[0] == const(8, "int64")
    assert made.body[1].body[0].var.type.shape[0] == const(8, "int64")


def test_rewriting_by_class() -> None:
    func = main_of(module())
    made = rewrite(func, {OpCall: lambda call: call.replace(op=graph_op("sin")) if call.op.name == "exp" else call})
    assert "G.sin(a)" in made.script() and "G.exp" not in made.script()
    assert rewrite(func, {OpCall: lambda call: call}) is func


# --- the verifier -----------------------------------------------------------------------------------------------------

FLOATS = TensorType((const(4, "int64"),), dtype("float32"))


def variable(name: str, kind: GraphType = FLOATS) -> GraphVar:
    return GraphVar(name, kind)


def broken(
    *body: Any, value: Any = None, params: tuple[GraphVar, ...] = (), result: GraphType | None = None
) -> list[str]:
    """The codes of what is wrong with a function."""
    value = value if value is not None else params[0]
    func = GraphFunc("main", params, tuple(body), value, result or ObjectType())
    return [found.code for found in verify(func)]


X, Y, Z = variable("x"), variable("y"), variable("z")
EXP: Callable[[Any], OpCall] = graph_op("exp")


@pytest.mark.parametrize(
    ("body", "value", "codes"),
    [
        ((), X, []),
        ((GraphBind(Y, EXP(X)),), Y, []),
        ((), Y, ["T201"]),
        ((GraphBind(Y, EXP(Z)),), Y, ["T201"]),
        ((GraphBind(Y, EXP(X)), GraphBind(Y, EXP(X))), Y, ["T202"]),
        ((Dataflow((GraphBind(Y, EXP(X)),), ()),), Y, ["T201"]),
        ((Dataflow((GraphBind(Y, EXP(X)),), (Y,)),), Y, []),
        ((Dataflow((GraphBind(Y, EXP(X)),), (Z,)),), X, ["T201"]),
        ((Dataflow((Dataflow((), ()),), ()),), X, ["T210"]),
        ((GraphBind(Y, EXP(EXP(X))),), Y, ["T210"]),
        ((), EXP(X), ["T210"]),
        ((), TupleExpr((X, EXP(X))), ["T210"]),
        ((GraphBind(Y, TupleItem(TupleExpr((X,)), 0)),), Y, []),
        ((GraphBind(Y, TupleItem(TupleExpr((X,)), 1)),), Y, ["T113"]),
        ((GraphBind(variable("y", TensorType(None, dtype("int8"))), EXP(X)),), X, ["T204"]),
        ((GraphBind(variable("y", TensorType((const(5, "int64"),))), EXP(X)),), X, ["T207"]),
        ((GraphBind(variable("y", TensorType(None, None, 2)), EXP(X)),), X, ["T207"]),
        ((GraphBind(variable("y", TensorType()), EXP(X)),), X, []),
        ((GraphBind(variable("y", TupleType(())), EXP(X)),), X, ["T104"]),
        ((GraphBind(variable("y", TensorType((Var("q", dtype("int64")),))), EXP(X)),), X, ["T206"]),
        ((GraphBind(Y, FunctionCall(X, ())),), X, ["T022"]),
        ((MatchCast(Y, X, TensorType((Var("q", dtype("int64")),))),), Y, []),
        ((MatchCast(Y, X, TensorType((const(5, "int64"),))),), Y, ["T207", "T207"]),
        ((GraphIf(Y, X, (), X, (), X),), Y, ["T102"]),
    ],
)
def test_what_the_verifier_says(body: tuple[Any, ...], value: Any, codes: list[str]) -> None:
    assert broken(*body, value=value, params=(X,)) == codes


def test_a_result_of_another_type() -> None:
    assert broken(params=(X,), result=TensorType(None, dtype("int8"))) == ["T204"]


def test_a_negative_dimension_is_told_once() -> None:
    bad = variable("x", TensorType((const(-1, "int64"),)))
    assert broken(params=(bad,), result=bad.type) == ["T207"]


def test_a_call_of_a_missing_function() -> None:
    func = GraphFunc("main", (X,), (GraphBind(Y, FunctionCall(FunctionRef("gone"), (X,))),), Y, ObjectType())
    found = verify(Module((func,)))
    assert {one.code for one in found} == {"T307"} and "`gone`" in found[0].message
    assert verify(func) == []  # alone it may be put into a module that has it


def test_circles_of_functions() -> None:
    def calling(name: str, other: str) -> GraphFunc:
        made = variable("y")
        return GraphFunc(name, (X,), (GraphBind(made, FunctionCall(FunctionRef(other), (X,))),), made, FLOATS)

    found = [
        one for one in verify(Module((calling("a", "b"), calling("b", "c"), calling("c", "a")))) if one.code == "T215"
    ]
    assert [one.message.partition(":")[0] for one in found] == ["`a` calls `b` calls `c` calls `a`"]
    assert verify(Module((calling("a", "b"), GraphFunc("b", (X,), (), X, FLOATS)))) == []


def test_an_output_without_use_is_a_warning() -> None:
    text = TEXT.replace("G.output(b, p)", "G.output(a, b, p)")
    found = warnings(parse(text))
    assert [(one.code, one.severity) for one in found] == [("T217", "warning")] and "`a`" in found[0].message
    assert warnings(module()) == []


# --- types ------------------------------------------------------------------------------------------------------------

N = Var("n", dtype("int64"))
SYMBOLIC = TensorType((N,), dtype("float32"))


@pytest.mark.parametrize(
    ("a", "b", "common", "code"),
    [
        (FLOATS, FLOATS, FLOATS, None),
        (FLOATS, SYMBOLIC, TensorType(None, dtype("float32"), 1), None),
        (SYMBOLIC, TensorType((N + 1,), dtype("float32")), TensorType(None, dtype("float32"), 1), "T207"),
        (FLOATS, TensorType(None, dtype("int8"), 1), TensorType(None, None, 1), "T204"),
        (FLOATS, TensorType(None, None, 2), TensorType(), "T207"),
        (FLOATS, ShapeType((N,)), ObjectType(), "T104"),
        (ShapeType((N,)), ShapeType(None, 1), ShapeType(None, 1), None),
        (ShapeType((N,)), ShapeType(None, 2), ShapeType(), "T207"),
        (PrimType(dtype("int64"), N), PrimType(dtype("int64")), PrimType(dtype("int64")), None),
        (PrimType(dtype("int64")), PrimType(dtype("int32")), ObjectType(), "T204"),
        (TupleType((FLOATS,)), TupleType((SYMBOLIC,)), TupleType((TensorType(None, dtype("float32"), 1),)), None),
        (TupleType((FLOATS,)), TupleType(()), ObjectType(), "T104"),
        (CallableType((FLOATS,), FLOATS), CallableType((), FLOATS), CallableType(None, FLOATS), "T101"),
        (ObjectType(), FLOATS, ObjectType(), None),
    ],
)
def test_what_types_have_in_common_and_where_they_conflict(
    a: GraphType, b: GraphType, common: GraphType, code: str | None
) -> None:
    assert structural_equal(join(a, b), common) and structural_equal(join(b, a), common)
    for found in (conflict(a, b), conflict(b, a)):
        assert (None if found is None else found[0]) == code


# --- the builder ------------------------------------------------------------------------------------------------------


def test_the_builder_refuses_what_no_text_says() -> None:
    bb = BlockBuilder()
    x, z = bb.tensor("x", (4,), "float32"), bb.tensor("z", (4,), "float32")
    with pytest.raises(DiagnosticError, match="`lv` is used outside of its dataflow"):
        with bb.function("main", [x]):
            with bb.dataflow():
                inner = bb.emit(G.exp(x))
            bb.emit_func_output(inner)
    with pytest.raises(DiagnosticError, match="nothing before defines `z`"):
        with bb.function("main", [x]):
            bb.emit_func_output(bb.emit(G.add(x, z)))
    assert not bb.get().functions
    with pytest.raises(TypeError, match=r"^function\(\) takes a sequence of \w+s? as its second argument, not"):
        with bb.function("main", x):  # type: ignore[arg-type]
            pass


def test_the_builder_makes_what_the_text_says() -> None:
    bb = BlockBuilder()
    f = bb.add_func(module().prim_funcs[0])
    x = bb.tensor("x", ("n",), "float32")
    k = bb.scalar("k")
    with bb.function("main", [x, k], attrs={"a": 1}):
        with bb.dataflow():
            a = bb.emit(G.call_tir(FunctionRef(f), (x,), out=x.type), "a")
            b = bb.emit_output(G.exp(G.add(a, 1.0)), "b")
        c = bb.match_cast(b, TensorType((bb.symbol("m"),), dtype("float32")), "c")
        t = bb.emit(TupleExpr((b, x)), "t")
        bb.emit_func_output([c, TupleItem(t, 1)])
    expected = parse(
        TEXT[: TEXT.index("    @G.graph_func")]
        + """\
    @G.graph_func
    def main(x: G.Tensor(("n",), "float32"), k: G.Prim("int64")):
        G.func_attr({"a": 1})
        m = T.int64()
        with G.dataflow():
            a = G.call_tir(M.f, (x,), out=G.Tensor((n,), "float32"))
            b = G.exp(a + 1.0)
            G.output(b)
        c = G.match_cast(b, G.Tensor((m,), "float32"))
        t = (b, x)
        return (c, t[1])
"""
    )
    found = bb.get("M")
    assert not differences(found, expected)
    assert verify(found) == [] and found.name == "M"


def test_the_builder_keeps_names_apart_and_functions_once() -> None:
    kernel = module().prim_funcs[0]
    bb = BlockBuilder()
    assert (bb.add_func(kernel), bb.add_func(kernel), bb.add_func(kernel.replace(private=False))) == ("f", "f", "f_1")
    assert "f_1" in bb and bb["f_1"].name == "f_1"
    assert BlockBuilder(bb.get()).add_func(kernel.replace(private=False), "f") == "f_1"


def test_the_builder_says_what_is_wrong() -> None:
    bb = BlockBuilder()
    x, y = bb.tensor("x", (4,), "float32"), bb.tensor("y", (5,), "float32")
    with pytest.raises(ValueError, match="no function is open"):
        bb.emit(EXP(x))
    with pytest.raises(ValueError, match="has no result"), bb.function("main", [x]):
        bb.emit(EXP(x))
    assert "main" not in bb
    with pytest.raises(DiagnosticError, match="do not broadcast"), bb.function("main", [x, y]):
        bb.emit(G.add(x, y))
    with pytest.raises(ValueError, match="an output is one of a dataflow"), bb.function("main", [x]):
        bb.emit_output(EXP(x))
    with (
        pytest.raises(ValueError, match="does not stand in another"),
        bb.function("m", [x]),
        bb.dataflow(),
        bb.dataflow(),
    ):
        pass
    with pytest.raises(ValueError, match="open already"), bb.function("m", [x]), bb.function("m2", [x]):
        pass
    for late in (bb.emit, bb.emit_func_output):
        with pytest.raises(ValueError, match="`m` has its result: nothing stands behind"), bb.function("m", [x]):
            bb.emit_func_output(x)
            late(EXP(x))
    assert "m" not in bb
    with pytest.raises(TypeError, match=r"emit\(\) takes"):
        bb.emit("text")  # type: ignore[arg-type]
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(EXP(x)))
    assert bb.infer_type(EXP(x)) == FLOATS and verify(bb.get()) == []
