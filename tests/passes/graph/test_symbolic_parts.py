"""Functions made of others have symbolic dimensions of their own; loops that are inlined count in their own dtype."""

from __future__ import annotations

from textwrap import indent

import numpy as np
import pytest

import tirscript
from tirscript.ir import For, Module, differences, structural_equal, walk
from tirscript.ir.graph import GraphFunc
from tirscript.ir.verify import verify
from tirscript.passes import get_pass
from tirscript.passes.graph import fuse_by_pattern, fuse_ops, legalize_ops
from tirscript.passes.graph.patterns import is_op, wildcard
from tirscript.script import parse

SYMBOLIC = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32")):
        with G.dataflow():
            a = G.abs(x)
            b = G.nn.relu(a)
            G.output(b)
        return b
"""
DERIVED = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 4), "float32")):
        with G.dataflow():
            a = G.concat((x, x))
            b = G.nn.relu(a)
            G.output(b)
        return b
"""


def module(text: str) -> Module:
    found = parse(text)
    assert isinstance(found, Module)
    return found


def test_a_function_made_of_bindings_has_symbols_of_its_own() -> None:
    whole = module(SYMBOLIC)
    for made in (
        fuse_ops(legalize_ops(whole)),
        fuse_by_pattern(whole, {"my.abs": is_op("nn.relu")(is_op("abs")(wildcard()))}),
    ):
        assert len(made.functions) > len(whole.functions)
        assert [str(found) for found in differences(made, parse(made.script()))] == []
        parts = [one for one in made.functions if isinstance(one, GraphFunc)]
        assert len({id(symbol) for one in parts for symbol in one.symbols}) == len(parts) == 2


def test_a_pattern_whose_dimensions_no_parameter_has_stays() -> None:
    """A function of `a` would have a parameter of `n * 2` rows, and no way to know `n`."""
    derived = module(DERIVED)
    assert fuse_by_pattern(derived, {"my.relu": is_op("nn.relu")(wildcard())}) is derived
    whole = fuse_by_pattern(derived, {"my.relu": is_op("nn.relu")(is_op("concat")(wildcard()))})
    assert len(whole.functions) == 2
    assert verify(whole) == []


def test_inlined_loops_to_a_dimension_count_in_their_own_dtype() -> None:
    given = module("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def grow(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
        for i in range(n):
            B[i] = A[i] + T.float32(1)

    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        cls = M
        cls.grow(A, B)
""")
    made = get_pass("inline_private_functions")(given)
    assert [one.name for one in made.functions] == ["main"]
    assert [str(found) for found in verify(made)] == []
    loop = next(node for node in walk(made) if type(node) is For)
    assert loop.var.dtype is loop.stop.dtype
    out = np.zeros(4, np.float32)
    tirscript.interpret(made, np.arange(4, dtype=np.float32), out)
    assert out.tolist() == [1, 2, 3, 4]


PADDED = """
@G.graph_func
def main(x: G.Tensor(("n", 2), "float32")):
    with G.dataflow():
        parts = (n + 3) // 4
        whole = parts * 4
        padded = G.concat((x, G.zeros((whole - n, 2), "float32")))
        windows = G.reshape(padded, (parts, 4, 2))
        flipped = G.reshape(G.flip(windows, axis=1), (whole, 2))
        y = G.add(x, G.strided_slice(flipped, axes=[0], begin=[0], end=[n]))
        G.output(y)
    return y
"""


@pytest.mark.parametrize("rows", [1, 4, 7])
def test_what_is_padded_to_whole_windows_is_cut_to_its_size_again(rows: int) -> None:
    """`parts` is what it is computed of, and `(n + 3) // 4 * 4` no less than `n`: the sum is of one size."""
    x = np.arange(rows * 2, dtype="float32").reshape(rows, 2)
    padded = np.zeros((-(-rows // 4) * 4, 2), "float32")
    padded[:rows] = x
    wanted = x + padded.reshape(-1, 4, 2)[:, ::-1].reshape(-1, 2)[:rows]
    program = parse(PADDED)
    np.testing.assert_array_equal(tirscript.interpret(program, x), wanted)
    np.testing.assert_array_equal(tirscript.build(program)(x), wanted)
    named = get_pass("measure_sizes")(module("@I.ir_module\nclass M:\n" + indent(PADDED.strip(), "    ")))
    assert structural_equal(named, parse(named.script()))
    assert "y: G.Tensor((n, 2)" in named.script()
