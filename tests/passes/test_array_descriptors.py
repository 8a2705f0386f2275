"""Libraries get the arrays that TVM's descriptors tell of, native and in the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.runtime.library import unregister_library
from tirscript.ir import DiagnosticError, PrimFunc
from tirscript.ir.array_descriptor import declared_array
from tirscript.ir.op import const
from tirscript.passes import get_pass
from tirscript.script import parse

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"
BUFFERS = 'A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")'
SHAPE = "T.tvm_stack_make_shape"


def program(body: str, params: str = BUFFERS) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    made = parse(f"{HEAD}def main({params}):\n{lines}\n")
    assert isinstance(made, PrimFunc)
    return made


def descriptor(name: str, shape: str, strides: str = "0", offset: str = "0", kind: str = "T.float32(0)") -> str:
    rank = len(shape.split(","))
    return f"T.tvm_stack_make_array({name}.data, {SHAPE}({shape}), {strides}, {rank}, {kind}, {offset})"


WHOLE = f'T.call_packed("test.turn", {descriptor("A", "4, 6")}, {descriptor("B", "4, 6")}, 1)'
PART = descriptor("A", "2, 3", f"{SHAPE}(12, 2)", "1")  # every other row and column
# memory of its own, handed over in a block that is said to touch nothing
BETWEEN = f"""C = T.sblock_alloc_buffer((4, 6))
for i, j in T.grid(4, 6):
    with T.sblock("c"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] * T.float32(2)
with T.sblock("turn"):
    T.reads()
    T.writes()
    {WHOLE.replace("A.data", "C.data")}"""


@pytest.fixture(autouse=True)
def libraries() -> Iterator[None]:
    def turn(data: Any, out: Any, axis: int) -> None:
        out[...] = np.flip(data, axis)

    def part(data: Any, out: Any) -> int:
        assert data.shape == (2, 3)
        out[...] = data.reshape(out.shape)
        return 7

    functions: dict[str, Callable[..., Any]] = {"test.turn": turn, "test.part": part}
    functions["test.sum"] = lambda data, out: out.fill(data.sum())
    for name, function in functions.items():
        tirscript.register_library(name, function)
    yield
    for name in functions:
        unregister_library(name)


def both(func: PrimFunc, *given: Any) -> list[Any]:
    """The last array after each way of running a function."""
    found = []
    for run in (tirscript.build(func), lambda *args: tirscript.interpret(func, *args)):
        args = [array.copy() for array in given]
        run(*args)
        found.append(args[-1].tolist())
    return found


def parts(a: Any) -> Any:
    """What "test.part" writes of PART, and 7 behind it."""
    return np.concatenate([a[::2, 1::2].ravel(), np.zeros(17), [7]]).reshape(4, 6)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (WHOLE, lambda a: np.flip(a, 1)),
        (BETWEEN, lambda a: np.flip(a * 2, 1)),
        (
            f'n: T.int32 = T.call_packed("test.part", {PART}, {descriptor("B", "6")})\nB[3, 5] = T.cast(n, "float32")',
            parts,
        ),
        (
            f'if T.call_packed("test.part", {PART}, {descriptor("B", "2, 3")}) == 7:\n    B[3, 5] = T.float32(7)',
            parts,
        ),
        (
            f'B[3, 5] = T.cast(T.call_packed("test.part", {PART}, {descriptor("B", "3, 2")}), "float32")',
            parts,
        ),
    ],
)
def test_libraries_get_the_arrays(body: str, wanted: Callable[[Any], Any]) -> None:
    func = program(body)
    a = np.arange(24, dtype="float32").reshape(4, 6)
    assert both(func, a, np.zeros_like(a)) == [wanted(a).tolist()] * 2
    assert parse(func.script(dialect="tvm")).script() == func.script()


def test_sizes_are_those_of_the_call() -> None:
    params = 'A: T.Buffer((n, n * 2), "int32"), B: T.Buffer((1,), "int32")'
    call = f'T.call_packed("test.sum", {descriptor("A", "n, n * 2", kind="0")}, {descriptor("B", "1", kind="0")})'
    func = parse(f"from typing import TypeVar\n\nn = TypeVar('n')\n{HEAD}def main({params}):\n    {call}\n")
    assert isinstance(func, PrimFunc)
    a = np.arange(18, dtype="int32").reshape(3, 6)
    assert both(func, a, np.zeros(1, "int32")) == [[a.sum()]] * 2


def test_descriptors_become_buffers() -> None:
    def lowered(body: str) -> str:
        return str(get_pass("flatten_buffer")(program(body)).script())

    assert 'T.call_packed("test.turn", A.data, B.data, 1)' in lowered(WHOLE)
    view = lowered(f'T.call_packed("test.part", {PART}, B.data)')
    assert 'array = T.decl_buffer((2, 3), "float32", data=A.data, strides=(12, 2), elem_offset=1)' in view
    assert 'T.call_packed("test.part", array.data, B.data)' in view
    bits = lowered(f'T.call_packed("test.part", {descriptor("A", "4, 6", kind="0")}, B.data)')
    assert 'array = T.decl_buffer((4, 6), "int32", data=A.data)' in bits


def test_what_describes_no_shape_is_no_array() -> None:
    assert declared_array(const(0)) is None
    for shape, strides in (("A.data", "0"), (f"{SHAPE}(4)", "A.data"), (f"{SHAPE}(4)", f"{SHAPE}(1, 2)")):
        array = f"T.tvm_stack_make_array(A.data, {shape}, {strides}, 1, T.float32(0), 0)"
        with pytest.raises(DiagnosticError, match=r"`T.tvm_stack_make_array` is not supported by the target"):
            tirscript.build(program(f'T.call_packed("test.part", {array})'))
