"""Programs that manage their memory, as apache-tvm lowers them, become programs of values, and are executed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirscript import build, interpret, register_library
from tirscript.backend.runtime.library import unregister_library
from tirscript.ir import DiagnosticError, Module, structural_equal
from tirscript.passes.graph import forget_memory
from tirscript.script import parse

HEAD = """
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.exp(A[i])

    @T.prim_func(private=True, s_tir=True)
    def both(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(1)
            C[i] = A[i] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), k: T.int64):
        for i in range(4):
            B[i] = A[i] * T.Cast("float32", k)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), b: R.Tensor((), "bool"), k: R.Prim("int64")):
        cls = M
"""
ALLOC = 'R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))'
OUT = 'out_ty=R.Tensor((4,), "float32")'
X = np.linspace(-1, 1, 4, dtype="float32")


def module(body: str) -> Module:
    lines = "".join(
        f"        {line}\n" for line in body.strip().replace("ALLOC", ALLOC).replace("OUT", OUT).split("\n")
    )
    made = parse(HEAD + lines)
    assert isinstance(made, Module)
    return made


CASES = {
    "one": ("a = ALLOC\ncls.exp(x, a)\nreturn a", "a = R.call_tir(cls.exp, (x,), OUT)\nreturn a"),
    "two results": (
        "a = ALLOC\nc = ALLOC\n_: R.Tuple = cls.both(x, a, c)\nreturn (c, a)",
        "t = R.call_tir(cls.both, (x,), out_ty=[R.Tensor((4,), 'float32'), R.Tensor((4,), 'float32')])\n"
        "a = t[0]\nc = t[1]\nreturn (c, a)",
    ),
    "storage": (
        's: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))\n'
        'a: R.Tensor((4,), "float32") = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))\n'
        "cls.exp(x, a)\nc = ALLOC\ncls.exp(a, c)\nR.memory.kill_tensor(a)\nR.memory.kill_storage(s)\nreturn c",
        "a = R.call_tir(cls.exp, (x,), OUT)\nc = R.call_tir(cls.exp, (a,), OUT)\nreturn c",
    ),
    "virtual machine": (
        's: R.Any = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("uint8"), R.str("global"))\n'
        'a: R.Tensor((4,), "float32") = R.vm.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))\n'
        "R.vm.kill_object(s)\nR.vm.call_tir_dyn(cls.scale, (x, a, R.shape([3])))\nreturn a",
        "a = R.call_tir(cls.scale, (x,), OUT, tir_vars=R.shape([3]))\nreturn a",
    ),
    "scalars": ("a = ALLOC\ncls.scale(x, a, k)\nreturn a", "a = R.call_tir(cls.scale, (x,), OUT, tir_vars=R.shape([k]))\nreturn a"),
    "a number": ("a = ALLOC\ncls.scale(x, a, R.prim_value(2))\nreturn a", "a = R.call_tir(cls.scale, (x,), OUT, tir_vars=R.shape([2]))\nreturn a"),
    "branches": (
        "if b:\n    a = ALLOC\n    cls.exp(x, a)\n    r = a\nelse:\n    c = ALLOC\n    cls.exp(x, c)\n    r = R.add(c, c)\nreturn r",
        "if b:\n    a = R.call_tir(cls.exp, (x,), OUT)\n    r = a\nelse:\n    c = R.call_tir(cls.exp, (x,), OUT)\n    r = R.add(c, c)\nreturn r",
    ),
    "devices": (
        "a = R.hint_on_device(x, R.cpu())\nc = R.to_vdevice(a, 'llvm')\nd = R.memory.ensure_zero_offset(c)\ne = R.add(d, a)\nreturn e",
        "a = x\nc: R.Tensor((4,), 'float32', 'llvm') = a\nd = c\ne = R.add(d, a)\nreturn e",
    ),
    "a library": (
        "a = ALLOC\nR.call_packed('memory.twice', x, a, ty_args=(R.Tuple,))\nreturn a",
        "a = R.call_dps_packed('memory.twice', (x,), OUT)\nreturn a",
    ),
    "checks of the virtual machine": (
        'h = R.null_value()\n'
        'R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str("main"), ty_args=(R.Tuple,))\n'
        'R.call_packed("vm.builtin.check_tensor_info", x, 1, R.str("main"), ty_args=(R.Tuple,))\n'
        'R.call_packed("vm.builtin.check_prim_value_info", k, R.dtype("int64"), R.str("main"), ty_args=(R.Tuple,))\n'
        'R.call_packed("vm.builtin.match_shape", x, h, 1, 0, 4, R.str("main"), ty_args=(R.Tuple,))\n'
        'R.call_packed("vm.builtin.match_shape", x, h, 1, 2, 9, R.str("main"), ty_args=(R.Tuple,))\n'
        'y: R.Tensor((2, 2), "float32") = R.call_packed("vm.builtin.reshape", x, R.shape([2, 2]), ty_args=(R.Tensor((2, 2), "float32"),))\n'
        "return y",
        "h = R.null_value()\ny = R.reshape(x, R.shape([2, 2]))\nreturn y",
    ),
    "local functions": (
        '@R.function(pure=False)\ndef f(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):\n    a = ALLOC\n    M.exp(y, a)\n    return a\n'
        "r = f(x)\nreturn r",
        '@R.function(pure=False)\ndef f(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):\n    a = R.call_tir(M.exp, (y,), OUT)\n    return a\n'
        "r = f(x)\nreturn r",
    ),
}  # fmt: skip


def _twice(x: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
    out[:] = x * 2


@pytest.mark.parametrize("name", CASES)
def test_calls_give_what_they_wrote(name: str) -> None:
    given, wanted = (module(text) for text in CASES[name])
    made = forget_memory(given)
    assert structural_equal(made, wanted), made.script()
    assert structural_equal(parse(made.script()), made)
    assert forget_memory(wanted) is wanted
    register_library("memory.twice", _twice)
    try:
        for taken in (True, False):
            args = (X, np.array(taken), 3)
            first, second, third = interpret(given, *args), interpret(wanted, *args), build(given)(*args)
            for one, other, native in zip(
                *(each if isinstance(each, tuple) else (each,) for each in (first, second, third)), strict=True
            ):
                assert (one == other).all() and np.allclose(one, native, rtol=1e-6)
    finally:
        unregister_library("memory.twice")


@pytest.mark.parametrize(
    "body",
    [
        "a = ALLOC\nreturn a",  # it was never written
        "a = ALLOC\nc = R.add(a, x)\ncls.exp(x, a)\nreturn c",
        "a = ALLOC\nif b:\n    cls.exp(x, a)\n    r = a\nelse:\n    r = x\nreturn r",
        "cls.exp(x, x)\nreturn x",
        "a = ALLOC\ncls.exp(a, x)\nreturn a",
        "a = ALLOC\nc = ALLOC\ncls.both(a, x, c)\nreturn c",
        "a = ALLOC\ncls.both(x, a, a)\nreturn a",
        "a = ALLOC\nR.call_packed('memory.twice', a, x, ty_args=(R.Tuple,))\nreturn a",
    ],
)
def test_what_is_not_clear_stays(body: str) -> None:
    given = module(body)
    made = forget_memory(given)
    assert made is given or structural_equal(made, given)


@pytest.mark.parametrize(
    "line",
    [
        'R.call_packed("vm.builtin.match_shape", x, h, 1, 1, 0, R.str("main"), ty_args=(R.Tuple,))',
        'R.call_packed("vm.builtin.match_shape", x, h, 1, 0, 5, R.str("main"), ty_args=(R.Tuple,))',
        'R.call_packed("vm.builtin.match_shape", x, h, 2, 0, 4, 0, 4, R.str("main"), ty_args=(R.Tuple,))',
        'R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), R.str("main"), ty_args=(R.Tuple,))',
        'R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("int32"), R.str("main"), ty_args=(R.Tuple,))',
        'R.call_packed("vm.builtin.check_prim_value_info", k, R.dtype("int32"), R.str("main"), ty_args=(R.Tuple,))',
    ],
)
def test_checks_of_what_no_type_says_stay(line: str) -> None:
    given = module(f"h = R.null_value()\n{line}\nreturn x")
    assert structural_equal(forget_memory(given), given)


def test_other_operators_of_the_virtual_machine_are_refused_by_name() -> None:
    given = module("a = R.ccl.allreduce(x)\nreturn a")
    for run in (interpret, lambda made, *args: build(made)(*args)):
        with pytest.raises(DiagnosticError, match=r"G\.ccl\.allreduce"):
            run(given, X, np.array(True), 1)
