"""What all nodes share: frozen, checked, copied, pickled, shown; and attributes that cannot change."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import typing
from typing import Any

import pytest
from msgspec.structs import force_setattr

import tirscript.ir as ir
from tests.helpers.nodes import func, loop, n, store
from tests.helpers.script import function
from tirscript.ir import (
    Attrs,
    Buffer,
    BufferLoad,
    Call,
    Const,
    DiagnosticError,
    Module,
    Node,
    Op,
    PrimFunc,
    Var,
    const,
    definitions,
    get_op,
    structural_equal,
    walk,
)
from tirscript.ir.arith.patterns import Side
from tirscript.ir.check import check_fields
from tirscript.ir.graph import OpCall
from tirscript.ir.graph_op import GraphOp, Legalized
from tirscript.ir.node import CHECK, nodes_in, recursion_room, shape_of
from tirscript.passes.schedule.primitive import Primitive


def program() -> PrimFunc:
    return function(
        "for i in range(n):\n    x = A[i]\n    A[i] = x + 1.0  # beside\n", 'A: T.Buffer(("n",), "float32")'
    )


def classes() -> list[type[Node]]:
    found = {value for value in vars(ir).values() if isinstance(value, type) and issubclass(value, Node)}
    return sorted(found, key=lambda cls: cls.__name__)


def test_frozen() -> None:
    x = Var(name="x")
    with pytest.raises(AttributeError):
        x.name = "y"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        x.other = 1  # type: ignore[attr-defined]


def test_replace() -> None:
    f = program()
    g = f.replace(name="g")
    assert (g.name, g.body, g.span) == ("g", f.body, f.span)
    with pytest.raises(TypeError, match=r"PrimFunc has no field `bdoy`; did you mean `body`\?"):
        f.replace(bdoy=())
    with pytest.raises(TypeError, match="Var has no field `qqq`; its fields are name, dtype, span"):
        Var(name="x").replace(qqq=1)


def test_a_copied_binder_is_another() -> None:
    x = Var(name="x")
    assert x != x.replace()
    assert x == x
    assert len({x, x.replace(), x}) == 2
    assert copy.copy(x) is x


@pytest.mark.parametrize("how", [copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))], ids=["deepcopy", "pickle"])
def test_copies_keep_who_is_who(how: Any) -> None:
    f = program()
    g = how(f)
    assert structural_equal(f, g)
    assert f != g
    assert not {id(binder) for binder in definitions(f)} & {id(binder) for binder in definitions(g)}
    assert [binder.name for binder in definitions(g)] == ["A", "n", "i", "x"]
    calls = [node for node in walk(g) if type(node) is Call]
    assert all(call.op is get_op(call.op.name) for call in calls)
    assert all(call.dtype is ir.dtype(call.dtype.name) for call in calls)
    assert g.span is not None
    assert str(g.span) == str(f.span)


HOW = {"deepcopy": copy.deepcopy, "pickle": lambda f: pickle.loads(pickle.dumps(f))}


@pytest.mark.parametrize("how", HOW)
def test_deep_programs_are_copied(how: str) -> None:
    """Sums and bodies are nodes in one another; Python goes down a few hundred only."""
    value: Any = n
    for _ in range(20_000):
        value = Call(op=get_op("add"), args=(value, n), dtype=n.dtype)
    body: Any = store(value)
    for _ in range(500):
        body = loop(Var("i", n.dtype), body)
    one = func(body)
    other = HOW[how](one)
    assert structural_equal(one, other) and not structural_equal(one, func(loop(Var("i", n.dtype), body)))


@pytest.mark.parametrize("how", HOW)
def test_what_is_shared_is_copied_once(how: str) -> None:
    value: Any = n
    for _ in range(60):
        value = Call(op=get_op("add"), args=(value, value), dtype=n.dtype)
    copied = HOW[how](value)
    assert copied.args[0] is copied.args[1]
    var, other = HOW[how]((n, store(n)))
    assert other.value is var
    value = Call(op=get_op("add"), args=(n, n), dtype=n.dtype)
    force_setattr(value, "args", (value, n))
    with pytest.raises(DiagnosticError, match="has no end"):
        HOW[how](value)


def test_shown() -> None:
    f = program()
    assert repr(f) == "<PrimFunc f>"
    assert repr(const(1)) == "<Const>"
    assert str(f) == f.script()
    assert "A[i] = x + 1.0" in str(f) or "A[i] = x + T.float32(1.0)" in str(f)


def test_show_prints(capsys: pytest.CaptureFixture[str]) -> None:
    program().show()
    assert "def f(" in capsys.readouterr().out


def test_expressions_are_no_conditions() -> None:
    with pytest.raises(TypeError, match="the value of an expression is not known"):
        bool(Var(name="x") < 1)


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
def test_annotations_are_understood(cls: type[Node]) -> None:
    hints = typing.get_type_hints(cls)
    assert set(cls.__struct_fields__) <= set(hints)  # type: ignore[attr-defined]
    shape_of(cls)
    assert all(name in cls.__struct_fields__ for name in cls.defines)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "cls", [*classes(), Op, GraphOp, OpCall, Legalized, Side, Primitive], ids=lambda cls: cls.__name__
)
def test_help_shows_the_fields(cls: type) -> None:
    assert f"class {cls.__name__}" in pydoc.plain(pydoc.render_doc(cls))
    assert set(inspect.signature(cls).parameters) == set(cls.__struct_fields__)  # type: ignore[attr-defined]


WRONG_FIELDS = [
    (lambda: Var(name=1), r"Var.name takes a string, not an int"),  # type: ignore[arg-type]
    (lambda: Var(name="x", dtype="int32"), r"Var.dtype takes a dtype, not a str"),  # type: ignore[arg-type]
    (lambda: Buffer(name="A", shape=(1,)), r"Buffer.shape takes a tuple of expressions \(Expr\), not a tuple of int"),  # type: ignore[arg-type]
    (
        lambda: Buffer(name="A", shape=[const(1)]),
        r"Buffer.shape takes a tuple of expressions \(Expr\), not a list of Const",
    ),  # type: ignore[arg-type]
    (lambda: BufferLoad(buffer=Var(name="x"), indices=()), r"BufferLoad.buffer takes a buffer \(Buffer\), not a Var"),  # type: ignore[arg-type]
    (lambda: PrimFunc(name="f", params=(), body=(), attrs={}), r"PrimFunc.attrs takes an Attrs, not a dict"),  # type: ignore[arg-type]
    (lambda: Call(op="add", args=(), dtype=ir.dtype("int32")), r"Call.op takes an Op, not a str"),  # type: ignore[arg-type]
    (lambda: const(1).replace(value="1"), r"Const.value takes an int, a float or True or False, not a str"),
]


@pytest.mark.skipif(not CHECK, reason="nodes are checked under TIRSCRIPT_CHECK=1")
@pytest.mark.parametrize(("make", "message"), WRONG_FIELDS)
def test_fields_are_checked(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_right_fields_pass() -> None:
    for node in walk(program()):
        check_fields(node)


def test_attributes_cannot_change() -> None:
    attrs = Attrs({"a": 1, "b": [2]})
    changes: list[Any] = [
        lambda: attrs.update(a=2),
        lambda: attrs.pop("a"),
        lambda: attrs.popitem(),
        lambda: attrs.clear(),
        lambda: attrs.setdefault("c", 1),
        lambda: attrs.__setitem__("a", 2),
        lambda: attrs.__delitem__("a"),
        lambda: attrs.__ior__({"a": 2}),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="Attrs are immutable"):
            change()
    assert attrs == {"a": 1, "b": (2,)}
    assert attrs.without("a") == Attrs({"b": [2]})
    assert type(attrs.without("a")) is Attrs
    assert pickle.loads(pickle.dumps(attrs)) == attrs
    assert copy.deepcopy(attrs) == attrs


def test_sequences_in_attributes_are_tuples() -> None:
    given = {"a": [1, (2, [3])], "b": {"c": [4], "d": {"e": 5}}}
    attrs = Attrs(given)
    assert attrs == {"a": (1, (2, (3,))), "b": {"c": (4,), "d": {"e": 5}}}
    assert given["b"]["c"] == [4]  # type: ignore[index]  # what was given is left as it is
    inner = (1, (2,))
    assert Attrs({"a": inner})["a"] is inner


def test_attributes_hash_by_value() -> None:
    assert hash(Attrs({"a": [1, {"b": 2}], "c": 1})) == hash(Attrs({"c": 1, "a": [1, {"b": 2}]}))
    assert hash(Attrs({"a": {1, 2}})) == hash(Attrs({"a": {1, 2}}))
    assert hash(Attrs({"a": 1})) != hash(Attrs({"a": 2}))


def test_nodes_in_values() -> None:
    x, y = Var(name="x"), Var(name="y")
    assert list(nodes_in({"a": [x, (1, y)], "b": 2})) == [x, y]


def test_room_for_recursion_is_given_back() -> None:
    import sys

    usual = sys.getrecursionlimit()
    with recursion_room():
        assert sys.getrecursionlimit() > 100_000
        with recursion_room():
            pass
        assert sys.getrecursionlimit() > 100_000
    assert sys.getrecursionlimit() == usual


def test_modules() -> None:
    f, g = program(), program().replace(name="g")
    module = Module(functions=(f, g))
    assert module["g"] is g
    assert "f" in module
    assert "h" not in module
    assert list(module) == [f, g]
    with pytest.raises(AttributeError, match=r"no attribute 'f'; its function is `module\['f'\]`"):
        module.f  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="a module has no attribute 'h'"):
        module.h  # type: ignore[attr-defined]
    near = module.replace(functions=(program().replace(name="scale"),))
    with pytest.raises(AttributeError, match=r"no attribute 'scael'; did you mean its function `module\['scale'\]`\?"):
        near.scael  # type: ignore[attr-defined]
    assert not hasattr(module, "__array__") and copy.copy(module) is not None
    with pytest.raises(KeyError, match="the module has no function 'h'; it has f, g"):
        module["h"]
    other = f.replace(private=True)
    assert module.with_function(other).functions == (other, g)
    assert module.with_function(f.replace(name="h"))["h"].name == "h"
    assert structural_equal(module, module.replace(name="Other"))


def test_functions_know_their_buffers() -> None:
    f = function(
        'm = T.int64()\nA = T.match_buffer(a, (m, k), "float32", strides=(s, 1))\nA[0, 0] = B[0]'.replace(
            "strides=(s, 1)", "offset_factor=1"
        ),
        'a: T.handle, k: T.int64, B: T.Buffer(("n * 2", "n"), "float32")'.replace('("n * 2", "n")', '("n",)'),
    )
    assert [buffer.name for buffer in f.param_buffers] == ["A", "B"]
    assert [var.name for var in f.symbols] == ["m", "n"]
    n, s, o = (Var(name=name) for name in "nso")
    a = Buffer(name="A", shape=(n + 1, n), strides=(s, const(1)), elem_offset=o)
    assert [var.name for var in PrimFunc(name="f", params=(a,), body=()).symbols] == ["n", "s", "o"]


def test_buffers() -> None:
    a = Buffer(name="A", shape=(const(4), const(5)))
    assert (a.ndim, a.is_scalar, a.constant_shape()) == (2, False, (4, 5))
    assert a.data.dtype == ir.pointer("float32")
    assert Buffer(name="A", shape=(Var(name="n"),)).constant_shape() is None
    assert Buffer(name="s", shape=(), scope="scalar").is_scalar
    assert isinstance(a.shape[0], Const)
