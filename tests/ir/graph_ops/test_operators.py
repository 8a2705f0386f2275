"""Every operator has a type, samples, a sentence and a kernel that can be printed; test_special_values.py runs them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.graph_calls import CALLS, REFERENCED, drawn, expected, legalized, results
from helpers.graph_samples_images import SAMPLES

from tirscript import build, interpret
from tirscript.ir import Module, dtype
from tirscript.ir.constant import numpy_dtype
from tirscript.ir.graph import (
    ShapeType,
    TensorType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, GraphOp, dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.script import parse

ROUNDS = 3  # random calls of each operator


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_halves_are_rounded_to_even(kind: str) -> None:
    """As R.round and R.quantize do in TVM 0.27."""
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((8,), "{kind}")):
        y = G.round(x)
        z = G.quantize(x, G.const(0.5, "float32"), G.const(3, "int8"), axis=0, out_dtype="int8")
        return y, z
""")
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.25, -0.75], numpy_dtype(dtype(kind)))
    for run in (build(found), lambda *args: interpret(found, *args)):
        y, z = run(x)
        assert y.tolist() == [-2, -2, 0, 0, 2, 2, 0, -1] and y.dtype == x.dtype
        assert z.tolist() == [-2, 0, 2, 4, 6, 8, 3, 1]


def test_pixels_as_near_as_the_next() -> None:
    """As in TVM 0.27: the even one of resized images, the upper one of regions."""
    found = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(line: G.Tensor((1, 1, 1, 4), "float32"), image: G.Tensor((1, 1, 6, 6), "float32"), rois: G.Tensor((1, 5), "float32")):
        larger = G.image.resize2d(line, G.shape([1, 8]), method="nearest_neighbor", coordinate_transformation_mode="asymmetric")
        part = G.vision.roi_pool(image, rois, pooled_size=(2, 2), spatial_scale=0.5)
        return larger, part
""")
    line, image = (np.arange(n, dtype="float32") for n in (4, 36))
    rois = np.array([[0, -3, -1, 5, 9]], "float32")
    for run in (build(found), lambda *args: interpret(found, *args)):
        larger, part = run(line.reshape(1, 1, 1, 4), image.reshape(1, 1, 6, 6), rois)
        assert larger.ravel().tolist() == [0, 0, 1, 2, 2, 2, 3, 3]
        assert part.ravel().tolist() == [13, 15, 31, 33]


@pytest.mark.parametrize("name", REFERENCED)
def test_the_inferred_type_is_that_of_the_reference(name: str) -> None:
    for seed in range(ROUNDS):
        call, values = drawn(name, seed)
        kinds = results(type_of(call))
        wanted = expected(call, values)
        assert len(kinds) == len(wanted)
        for kind, one in zip(kinds, wanted, strict=True):
            if isinstance(kind, ShapeType):
                assert kind.rank == len(one)
                continue
            assert isinstance(kind, TensorType)
            assert kind.dtype is dtype(one.dtype.name), call.attrs
            assert kind.rank == one.ndim
            if kind.shape is not None:
                assert dims.numbers(kind.shape) == one.shape, call.attrs


def test_every_entry_is_documented_and_has_a_meaning() -> None:
    without = [op.name for op in GRAPH_OPS.values() if not entry_is_whole(op)]
    assert without == []


def entry_is_whole(op: GraphOp) -> bool:
    """Whether an entry tells what it is; calls of functions have no meaning of their own."""
    if not op.doc.endswith("."):
        return False
    return op.name in CALLS or (op.reference is not None and op.example.startswith(f"G.{op.name}("))


def test_every_reference_has_samples() -> None:
    assert [name for name in REFERENCED if name not in SAMPLES] == []
    assert [name for name in SAMPLES if name not in GRAPH_OPS] == []


def test_kernels_print_and_parse_again() -> None:
    from tirscript import parse
    from tirscript.ir import structural_equal

    functions = []
    for name in REFERENCED:
        call, _ = drawn(name, 0)
        found = legalized(call) if call.op.legalize is not None else None
        if found is not None:
            functions.append(found.func.replace(name=name.replace(".", "_")))
    module = Module(tuple(functions))
    assert len(functions) > 100
    assert structural_equal(parse(module.script()), module)


@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        ("G.reshape(a, (0,))", [(0, 0)]),
        ("G.reshape(a, (3, 0))", [(0, 5, 0)]),
        ("G.flatten(a)", [(2, 0, 0)]),
        ("G.nn.batch_flatten(a)", [(0, 3, 4)]),
        ("G.nn.max_pool2d(a, pool_size=[2, 2])", [(0, 2, 4, 4)]),
        ("G.nn.adaptive_avg_pool2d(a, output_size=[1, 1])", [(2, 0, 4, 4)]),
        ("G.nn.softmax(a, axis=-1)", [(2, 0)]),
        ("G.nn.log_softmax(a, axis=-1)", [(2, 0)]),
        ("G.median(a, axis=[1])", [(0, 5)]),
        ('G.gather_nd(a, G.zeros((5, 0), "int64"))', [(4, 3)]),
    ],
)
def test_tensors_without_elements(call: str, shapes: list[tuple[int, ...]]) -> None:
    params = ", ".join(f'{name}: G.Tensor({shape}, "float32")' for name, shape in zip("abc", shapes, strict=False))
    found = parse(f"""
@I.ir_module
class M:
    @G.graph_func
    def main({params}):
        return {call}
""")
    given = [np.arange(np.prod(shape), dtype="float32").reshape(shape) for shape in shapes]
    one, other = interpret(found, *given), build(found)(*given)
    for a, b in zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]:
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b)
