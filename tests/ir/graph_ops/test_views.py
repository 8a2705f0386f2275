"""Views of TVM's memory: their bytes, and where a tensor ends before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import structural_equal
from tirscript.script import parse

X = (np.arange(16, dtype="float32") - 7) / 3


def program(call: str, length: str) -> Any:
    return parse(f"""
@R.function
def main(x: R.Tensor(({length},), "float32")):
    nothing: R.Any = R.null_value()
    y = {call}
    return y
""")


@pytest.mark.parametrize("length", ["16", '"n"'])
@pytest.mark.parametrize(
    ("call", "begin", "kind", "shape"),
    [
        ("R.memory.view(x, R.shape([2, 8]), nothing, R.tuple())", 0, "float32", (2, 8)),
        ("R.memory.view(x, R.shape([4]), nothing, 16)", 16, "float32", (4,)),
        ("R.memory.view(x, R.tuple(), R.dtype('int32'), R.tuple())", 0, "int32", (16,)),
        ("R.memory.view(x, dtype='uint32')", 0, "uint32", (16,)),
        ("R.memory.view(x, R.shape([64]), R.dtype('uint8'))", 0, "uint8", (64,)),
        ("R.memory.view(x, R.shape([2, 4]), 'int64')", 0, "int64", (2, 4)),
        ("R.memory.view(x, [2, 4], 'int64')", 0, "int64", (2, 4)),
        ("R.memory.view(x, shape=(4,), relative_byte_offset=16)", 16, "float32", (4,)),
        ("R.memory.view(x, R.shape([3, 2]), 'float16', 2)", 2, "float16", (3, 2)),
        ("R.memory.view(x, R.shape([5]), 'int32', 3)", 3, "int32", (5,)),
        ("R.memory.view(x, R.shape([]), 'float64', R.prim_value(8))", 8, "float64", ()),
    ],
)
def test_bytes_of_a_view(call: str, begin: int, kind: str, shape: tuple[int, ...], length: str) -> None:
    made = program(call, length)
    for text in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(parse(text), made)
    count = int(np.prod(shape)) * np.dtype(kind).itemsize
    wanted = X.view("uint8")[begin : begin + count]
    for found in (tirscript.interpret(made, X), tirscript.build(made)(X)):
        assert (found.dtype, found.shape) == (kind, shape)
        np.testing.assert_array_equal(found.reshape(-1).view("uint8"), wanted)


def test_a_view_of_symbolic_size_and_place() -> None:
    made = parse("""
@R.function
def main(x: R.Tensor(("n",), "float32"), s: R.Shape(["m"])):
    m = T.int64()
    y = R.memory.view(x, R.shape([m]), R.dtype("int16"), m)
    return y
""")
    for run in (lambda *given: tirscript.interpret(made, *given), tirscript.build(made)):
        np.testing.assert_array_equal(run(X, (20,)), X.view("uint8")[20:60].view("int16"))
        with pytest.raises((tirscript.DiagnosticError, AssertionError), match="the view ends behind the tensor"):
            run(X, (22,))


def test_a_view_that_ends_behind_the_tensor() -> None:
    with pytest.raises(tirscript.DiagnosticError, match="ends behind the tensor: bytes 4 to 68 of 64"):
        program("R.memory.view(x, R.shape([16]), nothing, 4)", "16")
