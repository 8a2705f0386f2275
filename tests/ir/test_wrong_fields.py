"""Nodes made by hand whose fields hold something else than they declare: a diagnostic from whoever reads them first."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.script import function
from msgspec.structs import force_setattr

import tirscript
from tirscript.ir import (
    Const,
    DiagnosticError,
    Evaluate,
    Module,
    PrimFunc,
    Var,
    const,
    dtype,
    get_op,
    structural_equal,
    structural_hash,
    verify,
)
from tirscript.ir.graph import GraphBind, GraphFunc, GraphVar, TensorType
from tirscript.passes import get_pass
from tirscript.script import parse

LOOP = 'for i in T.serial(16, annotations={"k": 1}):\n    A[i] = A[i] + 1.0'

MODULE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def k(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            C[i] = A[i]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        cls = M
        return G.call_tir(cls.k, (x,), out=G.Tensor((4,), "float32"))
"""


def broken(field: str, value: Any, of: Callable[[PrimFunc], Any] = lambda func: func.body[0]) -> PrimFunc:
    """The function of one loop with a field that holds `value`, which constructors do not look at outside of tests."""
    made = function(LOOP)
    force_setattr(of(made), field, value)
    return made


def store(func: PrimFunc) -> Any:
    loop: Any = func.body[0]
    return loop.body[0]


def codes(tell: Callable[[], object]) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        tell()
    str(caught.value)
    return [each.code for each in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("field", "value", "of"),
    [
        ("body", None, lambda func: func.body[0]),
        ("body", (None,), lambda func: func.body[0]),
        ("var", None, lambda func: func.body[0]),
        ("value", None, store),
        ("value", "1.0", store),
        ("indices", 3, store),
        ("buffer", None, store),
        ("args", (1, 2), lambda func: store(func).value),
        ("op", "add", lambda func: store(func).value),
        ("params", None, lambda func: func),
    ],
)
def test_the_verifier_and_the_printer_tell(field: str, value: Any, of: Any) -> None:
    func = broken(field, value, of)
    found = verify(func)
    assert found and {each.code for each in found} <= {"T210", "T204", "T112"}
    assert codes(lambda: tirscript.build(func)) == [each.code for each in found]
    try:
        assert func.script()  # where the field plays no part
    except DiagnosticError as told:
        assert {each.code for each in told.diagnostics} == {"T210"}


def test_the_printer_tells() -> None:
    for field, value, of in (("indices", 3, store), ("value", object(), store)):
        func = broken(field, value, of)
        assert codes(func.script) == ["T210"]
        assert codes(functools.partial(tirscript.printer.script, func.body)) == ["T210"]


@pytest.mark.skipif(os.environ.get("TIRSCRIPT_CHECK") == "arguments", reason="the arguments of functions are checked")
def test_operators_tell() -> None:
    n, seven = Var("n", dtype("int64")), Const(7, dtype("int32"))
    force_setattr(n, "dtype", "int64")
    force_setattr(seven, "dtype", "int32")
    for wrong in (n, seven):
        for tell in (lambda: wrong + 1, lambda: const(1) < wrong, lambda: get_op("exp")(wrong), lambda: -wrong):  # noqa: B023
            assert codes(tell) == ["T210"]
    with pytest.raises(DiagnosticError, match=r'Var.dtype takes a dtype, not a str \(write `dtype\("int64"\)`\)'):
        n + 1


def test_what_a_field_takes_is_said_at_its_place() -> None:
    func = broken("body", None)
    (each,) = verify(func)
    assert each.message.startswith("For.body takes a tuple of statements (Stmt), not None")
    assert each.span is func.body[0].span


def test_comparing_and_printing_for_tvm_tell() -> None:
    def module() -> Module:
        made = parse(MODULE)
        assert isinstance(made, Module) and isinstance(made["main"], GraphFunc)
        force_setattr(made["main"].params[0].type, "shape", {"a": 1})
        return made

    one, other = module(), module()
    for tell in (
        lambda: one.script(dialect="tvm"),
        lambda: tirscript.printer.diff(one, other),
        lambda: structural_equal(one, other),
    ):
        assert set(codes(tell)) == {"T210"}
    assert codes(lambda: structural_hash(broken("op", {}, lambda func: store(func).value))) == ["T210"]


class Refusing(tuple[Any, ...]):
    def _refuse(self) -> Any:
        raise RuntimeError("refused")

    __len__ = __iter__ = _refuse


@pytest.mark.parametrize("field", ["value", "indices"])
def test_objects_that_raise_when_they_are_looked_at(field: str) -> None:
    func = broken(field, Refusing((1,)), store)
    assert codes(func.script) == codes(lambda: tirscript.build(func)) == ["T210"]
    assert [each.code for each in verify(func)] == ["T210"]


def test_passes_and_the_interpreter_tell() -> None:
    def data() -> Any:
        return np.zeros(16, "float32")

    func = broken("annotations", None)
    assert codes(lambda: get_pass("unroll_loop")(broken("body", 3))) == ["T210"]
    assert codes(lambda: tirscript.build(func)) == ["T210"]
    assert codes(lambda: tirscript.interpret(broken("body", None), data())) == ["T210"]
    assert codes(lambda: tirscript.Schedule(broken("body", None)).unroll("i")) == ["T210"]


def test_a_place_that_is_none_is_not_shown() -> None:
    func = broken("value", const(1), store)
    force_setattr(store(func), "span", "here")
    (each,) = verify(func)
    # where tests run with typeguard, the place itself is what is wrong
    code = "T210" if os.environ.get("TIRSCRIPT_CHECK") == "arguments" else "T204"
    assert each.code == code and f"error[{code}]" in str(each)


def test_nodes_of_graphs_in_tensor_functions() -> None:
    kind = TensorType((const(4, "int64"),), dtype("float32"))
    x = GraphVar("x", kind)
    func = function(LOOP)
    (each,) = verify(func.replace(body=(GraphBind(x, x), *func.body)))
    assert (each.code, each.message) == ("T210", "a tensor function holds a GraphBind, which is of graph functions")


def test_constants_that_are_no_dimensions() -> None:
    module = parse(MODULE)
    assert isinstance(module, Module)
    for value, kind in ((1 << 63, "uint64"), (1.5, "int32")):
        wrong = Const(value, dtype(kind))
        kernel = module["k"]
        assert isinstance(kernel, PrimFunc)
        force_setattr(kernel.params[0], "shape", (wrong,))
        assert all(each.code != "T499" for each in verify(module))


def test_half_a_character_in_a_string() -> None:
    call = get_op("call_extern")("int32", "\ud800")
    func = function(LOOP)
    (each,) = verify(func.replace(body=(Evaluate(call), *func.body)))
    assert each.code == "T210" and "holds half a character" in each.message
