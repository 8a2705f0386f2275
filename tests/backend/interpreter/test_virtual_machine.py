"""Programs whose shapes apache-tvm's virtual machine computes: sizes in a tensor, memory by shapes that are values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirscript import interpret
from tirscript.ir import DiagnosticError, Module
from tirscript.script import parse

PROGRAM = """
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def sizes(H: T.Buffer((4,), "int64")):
        H[2] = H[0] * H[1]
        H[3] = H[1] + T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def add(a: T.handle, k: T.int64, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        for i, j in T.grid(n, m):
            B[i, j] = A[i, j] + T.Cast("float32", k)

    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2), s: R.Shape(ndim=2), k: R.Prim("int64"), t: R.Tuple(R.Tensor)) -> R.Tensor:
        R.func_attr({"relax.force_pure": True})
        cls = M
        heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (4,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", x, RANK, R.dtype("DTYPE"), R.str("of x"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_shape_info", s, 2, R.str("of s"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_prim_value_info", k, R.dtype("int64"), R.str("of k"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tuple_info", t, COUNT, R.str("of t"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, heap, 2, 1, 0, 1, 1, R.str("of x"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", s, heap, 2, 3, 0, HOW, R.str("of s"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_prim_value", k, heap, 3, 1, R.str("of k"), ty_args=(R.Tuple,))
        cls.sizes(heap)
        shape: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", heap, 2, 1, 0, 1, 1, ty_args=(R.Shape(ndim=2),))
        storage: R.Any = R.vm.alloc_storage(shape, 0, R.dtype("uint8"), R.str("global"))
        y: R.Tensor(dtype="float32", ndim=2) = R.vm.alloc_tensor(storage, 0, shape, R.dtype("float32"), 0)
        R.vm.kill_object(storage)
        one: R.Prim("int64") = R.call_packed("vm.builtin.make_prim_value", heap, 1, 3, ty_args=(T.int64,))
        cls.add(x, one, y)
        flat: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", heap, 1, 1, 2, ty_args=(R.Shape(ndim=1),))
        z: R.Tensor(dtype="float32", ndim=1) = R.call_packed("vm.builtin.reshape", y, flat, ty_args=(R.Tensor(dtype="float32", ndim=1),))
        w: R.Tensor(dtype="float32", ndim=1) = R.call_packed("vm.builtin.copy", z, ty_args=(R.Tensor(dtype="float32", ndim=1),))
        return w
"""
X = np.arange(6, dtype="float32").reshape(2, 3)


def run(args: tuple[Any, ...] | None = None, given: dict[str, str] | None = None) -> Any:
    text = PROGRAM
    for name, value in {"RANK": "2", "DTYPE": "float32", "COUNT": "1", "HOW": "2, 0", **(given or {})}.items():
        text = text.replace(name, value)
    made = parse(text)
    assert isinstance(made, Module)
    return interpret(made, *(args or (X, (2, 5), 3, (X,))))


def test_shapes_are_computed() -> None:
    assert (run() == (X + 4).reshape(6)).all()
    assert (run((X[:1], (1, 9), 3, (X,))) == (X[0] + 4)).all()


@pytest.mark.parametrize(
    ("given", "args", "message"),
    [
        ({"RANK": "3"}, None, "expected 3 dimensions, got 2"),
        ({"DTYPE": "int32"}, None, "expected int32, got float32"),
        ({"COUNT": "2"}, None, "expected a tuple of 2"),
        ({"HOW": "0, 4"}, None, "dimension 1: expected 4, got 5"),
        ({}, (X, (3, 5), 3, (X,)), "dimension 0: expected 2, got 3"),
        ({}, (X, (2, 5), 4, (X,)), "the scalar: expected 3, got 4"),
    ],
)
def test_what_does_not_fit_is_told(given: dict[str, str], args: tuple[Any, ...] | None, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as problem:
        run(args, given)
    (found,) = problem.value.diagnostics
    assert found.labels and found.hint is not None and found.hint.startswith("of ")
