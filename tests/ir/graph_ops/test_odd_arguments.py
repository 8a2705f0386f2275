"""Arguments that models seldom have: indices of 8 bits, unsigned ones, scalars of other dtypes, bounds beyond a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirscript import DiagnosticError, build, interpret
from tirscript.script import parse


def run(params: str, value: str, *args: Any) -> Any:
    """What native code and the interpreter give, which is the same."""
    graph = parse(f"@G.graph_func\ndef main({params}):\n    return {value}\n")
    found, wanted = build(graph)(*args), interpret(graph, *args)
    for one, other in zip(fields(found), fields(wanted), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
    return found


def fields(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


LONG = np.arange(300, dtype="float32")


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "uint64"])
@pytest.mark.parametrize("length", ["300", '"n"'])
def test_indices_of_a_dtype_that_does_not_hold_the_length(kind: str, length: str) -> None:
    back = -3 if kind.startswith("i") else 3
    i = np.array([5, 100, 0, back]).astype(kind)
    x, at = f'x: G.Tensor(({length},), "float32")', f'i: G.Tensor((4,), "{kind}")'
    updates, ones = f'{x}, {at}, u: G.Tensor((4,), "float32")', np.ones(4, "float32")
    wanted = [5, 100, 0, back % 300]
    for value in (
        "G.gather_elements(x, i, axis=0)",
        "G.gather_nd(x, G.expand_dims(i, axis=1))",
        "G.index_tensor(x, (i,))",
        'G.take(x, i, axis=0, mode="wrap")',
    ):
        assert run(f"{x}, {at}", value, LONG, i).tolist() == wanted
    found = run(f"{x}, {at}", 'G.take(x, i, axis=0, mode="nan")', LONG, i)
    np.testing.assert_array_equal(found, [5, 100, 0, np.nan if back < 0 else back])
    assert run(f"{x}, {at}", 'G.take(x, i, axis=0, mode="clip")', LONG, i).tolist() == [5, 100, 0, max(back, 0)]
    put = LONG.copy()
    put[wanted] = 1
    for value in (
        "G.scatter_elements(x, i, u, axis=0)",
        "G.scatter_nd(x, G.expand_dims(i, axis=1), u)",
        "G.index_put(x, (i,), u)",
    ):
        assert run(updates, value, LONG, i, ones).tolist() == put.tolist()


def test_far_indices_are_counted_round_at_once() -> None:
    i = np.array([4, -1, 2**63 - 1, -(2**63)], "int64")
    given = 'x: G.Tensor((3,), "float32"), i: G.Tensor((4,), "int64")'
    found = run(given, 'G.take(x, i, axis=0, mode="wrap")', np.arange(3, dtype="float32"), i)
    assert found.tolist() == [1, 2, (2**63 - 1) % 3, -(2**63) % 3]


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_one_hot_of_more_classes_than_the_indices_hold(kind: str) -> None:
    found = run(f'i: G.Tensor((2,), "{kind}")', "G.one_hot(i, 1, 0, depth=300)", np.array([5, 100], kind))
    assert np.argwhere(found).tolist() == [[0, 5], [1, 100]]


@pytest.mark.parametrize("kind", ["float16", "float32", "int8", "int32", "uint8"])
def test_scalars_keep_their_dtype(kind: str) -> None:
    i, at = np.array([1, 0]), 'i: G.Tensor((2,), "int64")'
    one, two = (f"G.prim_value(T.{kind}({number}))" for number in (1, 2))
    assert run(at, f"G.one_hot(i, {two}, {one}, depth=2)", i).dtype == kind
    assert run(at, f"G.full((2,), {two})", i).dtype == kind
    found = run(at, f'G.where(G.greater(i, G.const(0, "int64")), {two}, {one})', i)
    assert found.dtype == kind and found.tolist() == [2, 1]


def test_a_taken_index_that_is_a_scalar() -> None:
    assert run('x: G.Tensor((300,), "float32")', 'G.take(x, G.prim_value(T.int8(7)), axis=0, mode="clip")', LONG) == 7


def test_bounds_beyond_the_integers_of_a_dtype() -> None:
    x = np.array([0, 1, 200, 255], "uint8")
    for low, high, wanted in ((-1, 100, [0, 1, 100, 100]), (1, 300, [1, 1, 200, 255]), (-5, 1e9, [0, 1, 200, 255])):
        assert run('x: G.Tensor((4,), "uint8")', f"G.clip(x, {low}, {high})", x).tolist() == wanted
    sizes = 'x: G.Tensor((4,), "uint8"), y: G.Tensor(("n",), "float32")'
    assert run(sizes, "G.clip(x, -n, n)", x, LONG).tolist() == [0, 1, 200, 255]


def test_nan_within_bounds() -> None:
    x = np.array([np.nan, -1, 7, np.inf, -np.inf], "float32")
    for value in ("G.clip(x, 0, 6)", "G.nn.relu6(x)"):
        assert run('x: G.Tensor((5,), "float32")', value, x).tolist() == [0, 0, 6, 6, 0]


def test_a_grid_of_one_vector() -> None:
    x = np.arange(3, dtype="float32")
    found = run('x: G.Tensor((3,), "float32")', "G.meshgrid((x,))", x)
    assert isinstance(found, tuple) and [one.tolist() for one in found] == [[0, 1, 2]]


def test_a_window_of_one_number() -> None:
    given = 'x: G.Tensor(("n",), "float32")'
    assert run(given, "G.hamming_window(n, False)", np.zeros(1, "float32")).tolist() == pytest.approx([0.08])


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("padding", [(0, 0), (2, 0), (2, 1)])
@pytest.mark.parametrize("length", ["7", '"n"'])
def test_what_ceil_mode_adds_does_not_count(dilation: int, padding: tuple[int, int], length: str) -> None:
    """As in TVM 0.27, and in PyTorch, which has no dilation here; padding that was asked for counts."""
    x = np.arange(1, 8, dtype="float32")
    attrs = f"pool_size=[3], strides=[3], padding={list(padding)}, dilation=[{dilation}], ceil_mode=True"
    value = f"G.nn.avg_pool1d(x, {attrs}, count_include_pad=True)"
    found = run(f'x: G.Tensor((1, 1, {length}), "float32")', value, x.reshape(1, 1, -1)).reshape(-1)
    assert found.size >= 2
    for at, one in enumerate(found):
        start = 3 * at - padding[0]
        places = [place for place in range(start, start + 3 * dilation, dilation) if place < 7 + padding[1]]
        assert one == pytest.approx(sum(x[place] for place in places if 0 <= place < 7) / len(places))


def test_quotients_of_the_largest_integers() -> None:
    least, most = -(2**63), 2**63 - 1
    a, b = np.array([least, least, most, 7, -7]), np.array([-2, 3, -3, -2, 2])
    given = 'a: G.Tensor((5,), "int64"), b: G.Tensor((5,), "int64")'
    assert run(given, "G.divide(a, b)", a, b).tolist() == [2**62, -(2**63 // 3), -(most // 3), -3, -3]
    assert run('a: G.Tensor((2,), "int64")', "G.mean(a)", np.array([most, 0])) == 2**62 - 1


def test_grids_of_more_than_the_coordinates_of_a_place() -> None:
    """The first ones of axis 1 are read, as TVM does: models of PyTorch come with the coordinates last."""
    image, grid = np.arange(16, dtype="float32").reshape(1, 1, 4, 4), (np.arange(18, dtype="float32") % 9 - 4) / 4
    params = 'x: G.Tensor((1, 1, 4, 4), "float32"), g: G.Tensor((1, {}, 3, 2), "float32")'
    wide = run(params.format(3), "G.image.grid_sample(x, g)", image, grid.reshape(1, 3, 3, 2))
    plain = run(params.format(2), "G.image.grid_sample(x, g)", image, grid[:12].reshape(1, 2, 3, 2))
    np.testing.assert_array_equal(wide, plain)
    with pytest.raises(DiagnosticError, match="axis 1 of `grid` holds 2 coordinates of a place, and has 1"):
        parse(f"@G.graph_func\ndef main({params.format(1)}):\n    return G.image.grid_sample(x, g)\n")


@pytest.mark.parametrize("kind", ["int64", "int8", "float16"])
def test_comparisons_of_two_dtypes(kind: str) -> None:
    """In the one that holds both, as in tensor functions."""
    x = np.array([-1, 0, 1, 2]).astype(kind)
    value = "G.equal(x, G.const(0)), G.less(G.const(1), x), G.greater_equal(x, G.const(1))"
    found = run(f'x: G.Tensor((4,), "{kind}")', f"({value})", x)
    assert [one.tolist() for one in found] == [(x == 0).tolist(), (x > 1).tolist(), (x >= 1).tolist()]


def test_comparisons_are_of_the_wider_dtype() -> None:
    x, y = np.array([2**24 + 1, -(2**24) - 1], "int32"), np.array([2**24, -(2**24)], "float32")
    given = 'x: G.Tensor((2,), "int32"), y: G.Tensor((2,), "float32")'
    assert run(given, "G.equal(x, y)", x, y).tolist() == [True, True]  # float32 has no such number
    assert run('x: G.Tensor((1,), "int64")', "G.less(x, G.const(5))", np.array([-(2**40)])).tolist() == [True]


@pytest.mark.parametrize("kind", ["bool", "int32", "float32"])
def test_bools_are_compared_as_0_and_1(kind: str) -> None:
    x, y = np.array([False, False, True, True]), np.array([0, 1, 0, 1], kind)
    given = f'x: G.Tensor((4,), "bool"), y: G.Tensor((4,), "{kind}")'
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        np.testing.assert_array_equal(run(given, f"G.{name}(x, y)", x, y), getattr(np, name)(x, y))
        np.testing.assert_array_equal(run(given, f"G.{name}(y, x)", x, y), getattr(np, name)(y, x))
    found = run('x: G.Tensor((4,), "bool")', 'G.greater(x, G.const(0.0, "float32"))', x)
    assert found.tolist() == x.tolist()


@pytest.mark.parametrize(("one", "other"), [("int8", "uint8"), ("float16", "bfloat16")])
def test_dtypes_that_are_not_compared(one: str, other: str) -> None:
    with pytest.raises(DiagnosticError, match=f"`G.less(_equal)?` of {one} and {other}|`G.equal` of {one} and {other}"):
        parse(
            f'@G.graph_func\ndef main(x: G.Tensor((4,), "{one}"), y: G.Tensor((4,), "{other}")):\n    return G.equal(x, y)\n'
        )


def test_boundaries_are_compared_with_elements() -> None:
    with pytest.raises(DiagnosticError, match=r"`G.bucketize` of uint8 and int64: signed with unsigned"):
        parse(
            '@G.graph_func\ndef main(x: G.Tensor((4,), "uint8"), b: G.Tensor((3,), "int64")):\n'
            "    return G.bucketize(x, b)\n"
        )
    given = 'x: G.Tensor((4,), "int8"), b: G.Tensor((3,), "int64")'
    x, b = np.array([-3, 0, 5, 9], "int8"), np.array([-2, 5, 300])
    assert run(given, "G.bucketize(x, b)", x, b).tolist() == [0, 1, 1, 2]


def test_indices_taken_do_not_count_from_the_back() -> None:
    given = '@G.graph_func\ndef main(x: G.Tensor((3,), "float32")):\n    return '
    for index in (-1, 3):
        with pytest.raises(DiagnosticError, match=f"index {index} is out of bounds for axis 0 with size 3"):
            parse(f"{given}G.take(x, G.prim_value({index}), axis=0)\n")
        with pytest.raises(DiagnosticError, match=f"index {index} is out of bounds for axis 0 with size 3"):
            interpret(parse(f"{given}G.take(x, G.const([{index}]), axis=0)\n"), LONG[:3])
    x = 'x: G.Tensor((3,), "float32")'
    assert run(x, "G.take(x, G.prim_value(2), axis=0)", LONG[:3]).tolist() == 2
    assert run(x, 'G.take(x, G.prim_value(-1), axis=0, mode="wrap")', LONG[:3]).tolist() == 2


def test_bools_have_sums_products_and_extremes() -> None:
    x = np.array([[True, False, True], [False, False, False], [True, True, True]])
    given = 'x: G.Tensor((3, 3), "bool")'
    for name, wanted in (("sum", x.any), ("max", x.any), ("prod", x.all), ("min", x.all)):
        for axis, along in (("[1]", 1), ("[0]", 0), ("None", None)):
            found = run(given, f"G.{name}(x, axis={axis})", x)
            assert found.dtype == bool and found.tolist() == wanted(axis=along).tolist()
    assert run(given, "G.cumsum(x, axis=1)", x).tolist() == np.logical_or.accumulate(x, 1).tolist()
    assert run(given, "G.cumprod(x, axis=1)", x).tolist() == np.logical_and.accumulate(x, 1).tolist()
    for name in ("mean", "variance", "std"):
        with pytest.raises(DiagnosticError, match="`x` is a tensor of numbers, not of bool"):
            parse(f"@G.graph_func\ndef main({given}):\n    return G.{name}(x, axis=[1])\n")


@pytest.mark.parametrize("kind", ["float32", "float16", "int8", "int32", "int64"])
def test_scalar_parameters_are_operands(kind: str) -> None:
    x, a = np.arange(4).astype(kind), np.dtype(kind).type(3)
    given = f'x: G.Tensor((4,), "{kind}"), a: G.Prim("{kind}")'
    found = run(given, "(G.add(G.multiply(x, a), a), G.clip(x, 1, a))", x, a)
    assert [one.tolist() for one in found] == [[3, 6, 9, 12], [1, 1, 2, 3]]


def test_quotients_by_zero_are_errors_where_they_are_executed() -> None:
    for value in ("G.floor_divide(x, G.const([1, 0]))", "G.mod(x, G.floor_divide(G.const([1, 2]), G.const([0, 1])))"):
        graph = parse(f'@G.graph_func\ndef main(x: G.Tensor((2,), "int32")):\n    return {value}\n')
        with pytest.raises(DiagnosticError, match=r"T304.*division by zero"):
            interpret(graph, np.array([1, 2], "int32"))
        build(graph)  # nothing is folded


def test_regions_far_outside_of_an_image_are_reflected_into_it() -> None:
    graph = parse("""
@G.graph_func
def main(x: G.Tensor((1, 1, 2, 3), "float32"), g: G.Tensor((1, 2, 1, 4), "float32")):
    return G.image.grid_sample(x, g, method="nearest", padding_mode="reflection")
""")
    grid = np.array([1e37, -1e37, 1e9, 7.25, 0, 0, 0, 0], "float32").reshape(1, 2, 1, 4)
    found = interpret(graph, np.arange(6, dtype="float32").reshape(1, 1, 2, 3), grid)
    assert found[0, 0, 0, 3] == 0 and set(found.ravel()) <= {0, 1, 2}


def test_reversed_sequences_end_where_the_axis_does() -> None:
    x, lengths = np.arange(6, dtype="float32").reshape(2, 3), np.array([2**62, -1])
    given = 'x: G.Tensor((2, 3), "float32"), n: G.Tensor((2,), "int64")'
    assert run(given, "G.reverse_sequence(x, n)", x, lengths).tolist() == [[2, 1, 0], [3, 4, 5]]
    longer = 'x: G.Tensor((2, "k"), "float32"), n: G.Tensor((2,), "int8")'
    assert run(longer, "G.reverse_sequence(x, n)", x, lengths.astype("int8") + 100).tolist() == [[2, 1, 0], [5, 4, 3]]


@pytest.mark.parametrize(
    ("value", "right", "wrong", "message"),
    [
        ("G.reshape(x, (4,))", 4, (3, 5), r"\(4,\) has not as many elements as \(n,\)"),
        ("G.exp(G.reshape(G.exp(x), (-1, 4)))", 8, (7,), r"\(n // 4, 4\) has not as many elements as \(n,\)"),
        ("G.exp(G.squeeze(G.exp(x), [0]))", 1, (0, 2), r"\(\) has not as many elements as \(n,\)"),
    ],
)
def test_sizes_that_only_the_call_knows_are_asked_for(
    value: str, right: int, wrong: tuple[int, ...], message: str
) -> None:
    """A kernel would read behind its argument, or leave some of it out."""
    graph = parse(f'@G.graph_func\ndef main(x: G.Tensor(("n",), "float32")):\n    return {value}\n')
    built = build(graph)
    x = np.arange(right, dtype="float32")
    np.testing.assert_allclose(built(x), interpret(graph, x), rtol=1e-6)
    for count in wrong:
        with pytest.raises(AssertionError, match=message):
            built(np.zeros(count, "float32"))
        with pytest.raises(DiagnosticError):
            interpret(graph, np.zeros(count, "float32"))


@pytest.mark.parametrize("call", ["conv2d(x, k, strides=3, padding=[0, 2, 0, 1])", "conv2d_transpose(x, k, strides=2)"])
def test_images_without_pixels(call: str) -> None:
    x, k = np.zeros((3, 2, 7, 0), "float32"), np.ones((2, 2, 3, 4), "float32")
    params = 'x: G.Tensor((3, 2, "h", "w"), "float32"), k: G.Tensor((2, 2, 3, 4), "float32")'
    assert not run(params, f"G.nn.{call}", x, k).any()


def test_zeros_in_a_target_shape_are_dimensions_that_stay() -> None:
    x = np.arange(60, dtype="float32").reshape(3, 5, 4)
    given = 'x: G.Tensor(("n", 5, 4), "float32")'
    assert run(given, "G.reshape(x, (0, -1))", x).shape == (3, 20)
    assert run(given, "G.reshape(x, (0, 0, 2, 2))", x).shape == (3, 5, 2, 2)
    # where nothing is moved, a zero is one
    assert run('x: G.Tensor((3, 0), "float32")', "G.reshape(x, (0, 7))", x[:, 0, :0]).shape == (0, 7)


def test_padding_below_zero_cuts_off() -> None:
    x = np.arange(18, dtype="float32").reshape(3, 6)
    given = 'x: G.Tensor((3, 6), "float32")'
    assert run(given, "G.nn.pad(x, (1, 0, -1, -2))", x).tolist() == [[0] * 3, *x[:, 1:4].tolist()]
    found = run(given, 'G.nn.pad(x, (0, 0, -1, 2), pad_mode="reflect")', x)
    assert found.tolist() == np.pad(x, ((0, 0), (0, 2)), mode="reflect")[:, 1:].tolist()


@pytest.mark.parametrize(("kind", "wanted"), [("float32", [4.25, 2.0, 3.0]), ("int8", [4, 2, 3]), ("uint8", [4, 2, 3])])
def test_scattered_means_are_taken_one_after_the_other(kind: str, wanted: list[float]) -> None:
    x, i, u = np.array([1, 2, 3], kind), np.array([0, 0], "int64"), np.array([4, 6], kind)
    params = f'x: G.Tensor((3,), "{kind}"), i: G.Tensor((2,), "int64"), u: G.Tensor((2,), "{kind}")'
    assert run(params, 'G.scatter_elements(x, i, u, axis=0, reduction="mean")', x, i, u).tolist() == wanted


@pytest.mark.parametrize(("periodic", "kind"), [(True, "bool"), (False, "bool"), (3, "int64"), (0, "int64")])
def test_a_window_whose_numbers_the_call_gives(periodic: int, kind: str) -> None:
    params = f'p: G.Prim("{kind}"), a: G.Prim("float64"), b: G.Prim("float64")'
    graph = parse(f"@G.graph_func\ndef main({params}):\n    return G.hamming_window(8, p, a, b)\n")
    wanted = interpret(graph, periodic, 0.5, 0.25)
    np.testing.assert_allclose(build(graph)(periodic, 0.5, 0.25), wanted, rtol=1e-6)
    np.testing.assert_allclose(wanted[-1], 0.5 - 0.25 * np.cos(2 * np.pi * 7 / (8 if periodic else 7)), rtol=1e-6)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint64"])
def test_a_diagonal_of_any_dtype_of_integers(kind: str) -> None:
    x, most = np.arange(12, dtype="float32").reshape(3, 4), 2
    for value in ("G.tril(x, k)", "G.triu(x, k)", "G.eye_like(x, k)"):
        run(f'x: G.Tensor((3, 4), "float32"), k: G.Prim("{kind}")', value, x, most)


def test_products_and_extremes_of_bools() -> None:
    a, b = np.array([[True, False, True], [False, False, True]]), np.array([True, True, False])
    text = """
@G.graph_func
def f(x: G.Tensor((2, 3), "bool"), y: G.Tensor((3,), "bool")):
    return (G.multiply(x, y), x * y, G.maximum(x, y), G.minimum(x, y))
"""
    made = parse(text)
    for found in (interpret(made, a, b), build(made)(a, b)):
        for one, wanted in zip(found, (a & b, a & b, a | b, a & b), strict=True):
            assert one.dtype == bool
            np.testing.assert_array_equal(one, wanted)
    for call in ("G.add(x, y)", "x - y", "G.divide(x, y)"):
        with pytest.raises(DiagnosticError, match="`x1` is a tensor of numbers, not of bool"):
            parse(text.replace("(G.multiply(x, y), x * y, G.maximum(x, y), G.minimum(x, y))", call))


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("G.nn.conv2d_transpose(x, w, padding=[9, 1, 1, 1])", -4),
        ("G.nn.pad(x, [0, 0, 0, 0, -3, -2, 0, 0])", -1),
        ("G.image.resize2d(x, (-7, 3))", -7),
    ],
)
def test_an_operator_refuses_to_give_fewer_than_no_elements(value: str, size: int) -> None:
    """Where the value is made, so that models that are imported are refused as text is."""
    params = 'x: G.Tensor((1, 3, 4, 5), "float32"), w: G.Tensor((3, 2, 3, 3), "float32")'
    with pytest.raises(DiagnosticError, match=f"dimension 2 of the result would be {size}"):
        parse(f"@G.graph_func\ndef main({params}):\n    return {value}\n")
