"""Operators of TVM's graphs that are kept: what is known of their results."""

from __future__ import annotations

import pytest

from tirscript.ir import GraphFunc, structural_equal
from tirscript.ir.graph import GraphBind, GraphVar
from tirscript.script import parse

TEXT = """
@R.function(pure=False)
def main(x: R.Tensor((2, 3), dtype="float32"), s: R.Shape(ndim=2), t: R.Shape(["n", 4])):
    n = T.int64()
    storage = R.memory.alloc_storage(R.shape([24]), virtual_device_index=0, storage_scope="global", dtype="float32")
    y = {call}
    return y
"""
SAME = 'R.Tensor((2, 3), dtype="float32")'


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ('R.builtin.alloc_tensor(R.shape([2, 3]), dtype="float32", runtime_device_index=0)', SAME),
        ('R.builtin.alloc_tensor(R.shape([2, 3]), R.dtype("float32"), R.prim_value(0), R.str("global"))', SAME),
        ('R.builtin.alloc_tensor(t, dtype="int8", runtime_device_index=0)', 'R.Tensor((n, 4), dtype="int8")'),
        ('R.builtin.alloc_tensor(s, dtype="int8", runtime_device_index=0)', 'R.Tensor(dtype="int8", ndim=2)'),
        ('R.builtin.alloc_tensor(R.shape([2]), dtype="no such", runtime_device_index=0)', "R.Tensor((2,))"),
        ("R.builtin.alloc_tensor(x)", "R.Object"),
        ('R.memory.alloc_tensor(storage, 0, R.shape([2, 3]), dtype="float32")', SAME),
        ('R.memory.alloc_tensor(storage, offset=0, shape=R.shape([2, 3]), dtype="float32")', SAME),
        ('R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([2, 3]), R.dtype("float32"))', SAME),
        ("R.memory.ensure_zero_offset(x)", SAME),
        ('R.ccl.allreduce(x, op_type="sum", in_group=True)', SAME),
        ('R.hint_on_device(x, R.device(1, 0), "global")', SAME),
        ("R.vm.kill_object(x)", "R.Tuple()"),
        ("R.memory.view(x, R.shape([6]))", 'R.Tensor((6,), "float32")'),
    ],
)
def test_what_is_known_of_a_result(call: str, kind: str) -> None:
    made = parse(TEXT.format(call=call))
    assert isinstance(made, GraphFunc)
    told = parse(TEXT.format(call=call).replace("y =", f"y: {kind} ="))
    assert structural_equal(made, told)
    for text in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(parse(text), made)


def test_an_annotation_says_more_than_the_rule() -> None:
    made = parse(TEXT.format(call="R.vm.call_tir_dyn(x)").replace("y =", 'y: R.Tensor((6,), "float32") ='))
    assert isinstance(made, GraphFunc)
    last = made.body[-1]
    assert isinstance(last, GraphBind) and isinstance(last.var, GraphVar)
    assert 'y: G.Tensor((6,), "float32") = G.vm.call_tir_dyn(x)' in made.script()
