"""Sizes that only the call knows: kernels ask for what they rely on, before they read behind an array."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.ir import Assert, DiagnosticError, Module, PrimFunc, walk
from tirscript.passes.graph import legalize_ops
from tirscript.script import parse

Shapes = tuple[tuple[int, ...], ...]
V = 'v: G.Tensor(("n", "m"), "float32"), '
# what is called, arguments that agree, and some that do not
CALLS: dict[str, tuple[str, str, Shapes, Shapes]] = {
    "a product": (V + 'w: G.Tensor(("k", 4), "float32")', "G.matmul(v, w)", ((2, 5), (5, 4)), ((2, 5), (3, 4))),
    "of less": (V + 'w: G.Tensor(("k", 4), "float32")', "G.matmul(v, w)", ((2, 5), (5, 4)), ((2, 3), (5, 4))),
    "ranks alone": (
        'v: G.Tensor(ndim=2, dtype="float32"), w: G.Tensor(ndim=2, dtype="float32")',
        "G.matmul(v, w)",
        ((2, 5), (5, 4)),
        ((2, 5), (3, 4)),
    ),
    "a layer": (V + 'w: G.Tensor((4, "k"), "float32")', "G.linear(v, w)", ((2, 5), (4, 5)), ((2, 5), (4, 3))),
    "a shape": (V, "G.broadcast_to(v, (4, 6))", ((4, 6),), ((2, 6),)),
    "along an axis": (
        V + 'y: G.Tensor(("k",), "float32")',
        "G.nn.prelu(v, y, axis=1)",
        ((2, 5), (5,)),
        ((2, 5), (3,)),
    ),
    "a norm": (
        V + 'y: G.Tensor(("k",), "float32")',
        "G.nn.layer_norm(v, y, y, axes=[1])",
        ((2, 5), (5,)),
        ((2, 5), (3,)),
    ),
    "a norm of batches": (
        'x: G.Tensor((2, "c", 4), "float32"), g: G.Tensor(("k",), "float32")',
        "G.nn.batch_norm(x, g, g, g, g, axis=1)[0]",
        ((2, 4, 4), (4,)),
        ((2, 4, 4), (2,)),
    ),
    "a stack": (V + 'y: G.Tensor(("k", "l"), "float32")', "G.stack((v, y))", ((2, 5), (2, 5)), ((2, 5), (3, 4))),
    "names of axes": (
        V + 'b: G.Tensor(("k", "l"), "float32")',
        "G.einsum((v, b), 'ij,jk->ik')",
        ((2, 5), (5, 4)),
        ((2, 5), (3, 4)),
    ),
    "channels": (
        'x: G.Tensor((1, "c", 8, 8), "float32"), w: G.Tensor((4, "d", 3, 3), "float32")',
        "G.nn.conv2d(x, w, groups=2)",
        ((1, 6, 8, 8), (4, 3, 3, 3)),
        ((1, 6, 8, 8), (4, 5, 3, 3)),
    ),
    "transposed channels": (
        'x: G.Tensor((1, "c", 8, 8), "float32"), w: G.Tensor(("d", 4, 3, 3), "float32")',
        "G.nn.conv2d_transpose(x, w)",
        ((1, 3, 8, 8), (3, 4, 3, 3)),
        ((1, 3, 8, 8), (5, 4, 3, 3)),
    ),
    "a slice": (
        V + 'y: G.Tensor(("k", "m"), "float32")',
        "G.slice_scatter(v, y, 1, 3, 1, axis=0)",
        ((4, 5), (2, 5)),
        ((4, 5), (4, 5)),
    ),
    "tensors that are joined": (
        V + 'y: G.Tensor(("k", "l"), "float32")',
        "G.concat((v, y), axis=0)",
        ((2, 5), (3, 5)),
        ((2, 5), (3, 4)),
    ),
    "keys and values": (
        'q: G.Tensor((1, "s", 2, 8), "float32"), k: G.Tensor((1, "t", 2, 8), "float32"), '
        'v: G.Tensor((1, "u", 2, 8), "float32")',
        "G.nn.attention(q, k, v)",
        ((1, 3, 2, 8), (1, 5, 2, 8), (1, 5, 2, 8)),
        ((1, 3, 2, 8), (1, 5, 2, 8), (1, 2, 2, 8)),
    ),
}


def main(params: str, call: str) -> Module:
    made = parse(f"@I.ir_module\nclass M:\n    @G.graph_func\n    def main({params}):\n        return {call}\n")
    assert isinstance(made, Module)
    return made


def arrays(shapes: Shapes) -> list[Any]:
    return [np.linspace(0.5, 1.5, int(np.prod(shape)), dtype="float32").reshape(shape) for shape in shapes]


@pytest.mark.parametrize("case", CALLS)
def test_kernels_ask_for_sizes_that_have_to_agree(case: str) -> None:
    """They read behind the shorter array."""
    params, call, good, bad = CALLS[case]
    module = main(params, call)
    built = tirscript.build(module)["main"]
    np.testing.assert_allclose(built(*arrays(good)), tirscript.interpret(module, *arrays(good)), rtol=1e-5)
    with pytest.raises((AssertionError, DiagnosticError)):
        tirscript.interpret(module, *arrays(bad))
    operator = call.partition("(")[0]
    with pytest.raises(AssertionError, match=f"`{operator}`: .*\n"):
        built(*arrays(bad))


@pytest.mark.parametrize(
    ("params", "call"),
    [
        (V + 'w: G.Tensor(("m", 4), "float32")', "G.matmul(v, w)"),
        (V + 'w: G.Tensor(("m",), "float32")', "G.nn.layer_norm(v, w, w, axes=[1])"),
        (V, "G.strided_slice(v, [0], [0], [3])"),
        (V + 'w: G.Tensor(("k", "m"), "float32")', "G.concat((v, w), axis=0)"),
        (V, "G.split(G.concat((v, v), axis=0), 2, axis=0)"),
        (V, "G.nn.pad(v, [1, 1, 0, 2])"),
        (V, "G.permute_dims(G.repeat(v, 2, axis=0))"),
    ],
)
def test_they_ask_for_nothing_that_is_known(params: str, call: str) -> None:
    made = legalize_ops(main(params, call))
    assert not any(type(node) is Assert for func in made.functions if type(func) is PrimFunc for node in walk(func))


@pytest.mark.parametrize(
    ("params", "call", "good", "bad"),
    [
        ('x: G.Tensor((1, 2, "h", "w"), "float32")', "avg_pool2d", (1, 2, 3, 4), (1, 2, 9, 9)),
        ('x: G.Tensor((1, 2, "h", "w"), "float32")', "max_pool2d", (1, 2, 3, 4), (1, 2, 9, 9)),
        ('x: G.Tensor((6, "w"), "float32"), i: G.Tensor(("n",), "int64")', "take", (2, 8), (3, 8)),
    ],
)
def test_gradients_are_of_the_size_of_results(params: str, call: str, good: Any, bad: Any) -> None:
    """The kernels go over all of a gradient, and wrote behind what they made."""
    given = "g, x, i, axis=0" if call == "take" else "g, x, pool_size=[2, 2], strides=[2, 2]"
    dims = ", ".join(f'"{name}"' for name in "abcd"[: len(good)])
    module = main(f"g: G.Tensor(({dims}), 'float32'), {params}", f"G.grad.{call}_backward({given})")
    built = tirscript.build(module)["main"]
    rest = arrays(((6, 8),)) if call == "take" else arrays(((1, 2, 6, 8),))
    rest += [np.array([1, 3])] if call == "take" else []
    (right,), (wrong,) = arrays((good,)), arrays((bad,))
    np.testing.assert_allclose(built(right, *rest), tirscript.interpret(module, right, *rest), rtol=1e-6)
    with pytest.raises(AssertionError, match=f"`G.grad.{call}_backward`: dimension . of"):
        built(wrong, *rest)


def test_a_part_may_be_read_of_more() -> None:
    params = V + 'y: G.Tensor(("k", "l"), "int64")'
    module = main(params, "G.gather_elements(v, y, axis=0)")
    built = tirscript.build(module)["main"]
    v, y = np.arange(10, dtype="float32").reshape(2, 5), np.ones((3, 4), "int64")
    np.testing.assert_array_equal(built(v, y), tirscript.interpret(module, v, y))
    with pytest.raises(AssertionError, match="dimension 1 of `data` has to be `l` or more"):
        built(v, np.ones((3, 6), "int64"))


@pytest.mark.parametrize(("low", "high"), [("0.0", "h"), ("h", "6.0"), ("0.0", "b"), ("t", "6.0")])
def test_bounds_broadcast_to_what_they_bound(low: str, high: str) -> None:
    """A larger shape was read behind the bound."""
    params = (
        'x: G.Tensor((4, 6), "float32"), h: G.Tensor((6, 4), "float32"), b: G.Tensor((4,), "float32"), '
        't: G.Tensor((2, 4, 6), "float32")'
    )
    with pytest.raises(DiagnosticError, match=r"T207.*`(min|max)` .* does not broadcast to \(4, 6\)"):
        main(params, f"G.clip(x, {low}, {high})")
    x, h = arrays(((4, 6), (6,)))
    module = main('x: G.Tensor((4, 6), "float32"), h: G.Tensor((6,), "float32")', "G.clip(x, 0.7, h)")
    np.testing.assert_array_equal(tirscript.build(module)["main"](x, h), tirscript.interpret(module, x, h))


@pytest.mark.parametrize("shape", ["(2, 3, 5)", "(3, 5)", "(4,)"])
def test_a_bias_broadcasts_to_the_product(shape: str) -> None:
    """One of more dimensions failed in the kernel, one of more elements gave a result of another type."""
    params = f'x: G.Tensor((1, 4), "float32"), w: G.Tensor((5, 4), "float32"), b: G.Tensor({shape}, "float32")'
    with pytest.raises(DiagnosticError, match=r"T207.*`bias` .* does not broadcast to \(1, 5\)"):
        main(params, "G.linear(x, w, b)")


def test_updates_lie_within_the_data() -> None:
    """They were written behind it."""
    params = 'x: G.Tensor((2, 4), "float32"), i: G.Tensor((3, 2), "int64"), u: G.Tensor((3, 2), "float32")'
    with pytest.raises(DiagnosticError, match=r"T207.*dimension 0 of `indices` is 3, beyond the 2 of `data`"):
        main(params, "G.scatter_elements(x, i, u, axis=1)")


def test_places_of_unknown_length_have_no_kernel() -> None:
    """The kernel was read, and its own lines were called wrong."""
    params = 'x: G.Tensor((2, 4), "float32"), i: G.Tensor((3, "k"), "int64"), u: G.Tensor((3,), "float32")'
    with pytest.raises(DiagnosticError, match=r"T401.*`G.scatter_nd` is no kernel"):
        tirscript.build(main(params, "G.scatter_nd(x, i, u)"))


def test_parts_of_a_split_are_counted_when_it_runs() -> None:
    """More than two of a size that only the call knows were no kernel. The last one has what is left, which may be none."""
    module = main('x: G.Tensor(("n", 2), "float32")', "G.split(x, 4)")
    run = tirscript.build(module)
    for count in (0, 4, 6, 7, 8, 12):
        x = np.arange(2 * count, dtype="float32").reshape(count, 2)
        for found in (run(x), tirscript.interpret(module, x)):
            for one, wanted in zip(found, np.split(x, [-(-count // 4) * at for at in (1, 2, 3)]), strict=True):
                np.testing.assert_array_equal(one, wanted)
    for count in (1, 2, 5):  # the parts before the last one do not have the size that their types say
        with pytest.raises(AssertionError, match="axis 0 has too few elements for 4 parts"):
            run(np.zeros((count, 2), "float32"))
        with pytest.raises(DiagnosticError, match="T207"):
            tirscript.interpret(module, np.zeros((count, 2), "float32"))


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (4, 5), (4, 1), (1, 1)])
def test_one_element_that_only_the_call_knows_goes_to_all_places(rows: int, columns: int) -> None:
    module = main(V + 'k: G.Prim("int64"), l: G.Prim("int64")', "G.broadcast_to(v, (2, k, l))")
    (v,) = arrays(((rows, columns),))
    built = tirscript.build(module)["main"]
    for run in (built, lambda *args: tirscript.interpret(module, *args)):
        np.testing.assert_array_equal(run(v, 4, 5), np.broadcast_to(v, (2, 4, 5)))
    if (rows, columns) != (1, 1):
        with pytest.raises(AssertionError, match=r"dimension . of `x` has to be 1 or [kl]"):
            built(v, 3, 3)


def test_ranges_of_steps_that_only_the_call_knows() -> None:
    params = 'a: G.Prim("int64"), b: G.Prim("int64"), s: G.Prim("int32")'
    module = main(params, "G.arange(a, b, s), G.arange(a, b, s * 2, dtype='float32')")
    built = tirscript.build(module)["main"]
    for start, end, step in itertools.product(range(-4, 5, 2), range(-3, 4, 2), (-3, -2, -1, 1, 2, 3)):
        wanted = np.arange(start, end, step), np.arange(start, end, step * 2).astype("float32")
        for found in (built(start, end, step), tirscript.interpret(module, start, end, step)):
            for one, other in zip(found, wanted, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
    for run in (built, lambda *args: tirscript.interpret(module, *args)):
        with pytest.raises(DiagnosticError) as caught:
            run(0, 4, 0)
        assert caught.value.diagnostics[0].code == "T304"
