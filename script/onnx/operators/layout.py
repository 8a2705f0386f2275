"""Tensors in other shapes: reshape, transpose, concat, split, slice, pad; and new ones."""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.constant import constant
from tirscript.ir.dtype import dtype
from tirscript.ir.expr import Call, Const, Expr, is_const
from tirscript.ir.graph import GraphConst, GraphExpr, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims

from ..importer import MOST
from ..node import Node, is_at_most_one
from .table import OPERATORS, onnx_op

_LARGEST = 1 << 40  # no dimension is as large: what is beyond it means the end


@onnx_op("Constant")
def constant_of(node: Node) -> GraphExpr:
    import numpy as np

    for name, kind in (
        ("value_int", "int64"),
        ("value_float", "float32"),
        ("value_ints", "int64"),
        ("value_floats", "float32"),
    ):
        if name in node.attrs:
            return node.kept(np.array(node.attr(name), kind))
    if "value" not in node.attrs:
        raise node.wrong("a constant of text or sparse data is not supported")
    return node.kept(node.attr("value"))


@onnx_op("ConstantOfShape")
def constant_of_shape(node: Node) -> GraphExpr:
    import numpy as np

    shape = node.sizes(0, "the sizes of its result")
    value = node.attr("value", np.zeros(1, np.float32))
    return node.last("full", ShapeExpr(shape), GraphConst(constant(value.reshape(()))), str(value.dtype))


@onnx_op("Range")
def range_of(node: Node) -> GraphExpr:
    parts: list[PrimValue | float] = []
    for at, what in enumerate(("its start", "its limit", "its step")):
        known = node.single(at)
        given = node.scalar(at) if known is None else PrimValue(known)
        if given is None and at == 2:
            raise node.wrong(f"{what} is not known before the model runs")
        parts.append(PrimValue(node.one(at, what)) if given is None else given)
    limit = node.ints(1)
    kind = node.dtype(node.tensor(1)) if limit is None else limit.dtype
    whole = [one if isinstance(one, PrimValue) else int(one) for one in parts if _is_whole(one)]
    if limit is not None and kind.is_float and len(whole) == len(parts):
        # whole numbers up to one that is known: counted as integers
        return node.last("astype", node.op("arange", *whole, "int64"), str(kind))
    return node.last("arange", *parts, str(kind))


def _is_whole(number: PrimValue | float) -> bool:
    return isinstance(number, PrimValue) or float(number).is_integer()


@onnx_op("Reshape")
def reshape(node: Node) -> GraphExpr:
    x = node.tensor(0)
    if "shape" not in node.attrs and node.ints(1) is None:
        return _reshape_as_computed(node, x)
    wanted = node.attr("shape") if "shape" in node.attrs else list(node.sizes(1, "the sizes it reshapes to"))
    own = node.shape(x)
    sizes: list[Expr | None] = []
    for at, size in enumerate(map(dims.dim, wanted)):
        if is_const(size, 0) and not node.attr("allowzero", 0):
            if at >= len(own):
                raise node.wrong(f"dimension {at} is to be copied, and its input has {len(own)}")
            size = own[at]
        sizes.append(None if type(size) is Const and size.value == -1 else size)
    if sizes.count(None) > 1:
        raise node.wrong("more than one size is -1")
    if None in sizes:
        rest = _quotient(list(own), [one for one in sizes if one is not None])
        sizes[sizes.index(None)] = rest
    return node.last("reshape", x, ShapeExpr(tuple(one for one in sizes if one is not None)))


def _reshape_as_computed(node: Node, x: GraphExpr) -> GraphExpr:
    """A reshape to sizes that the model computes, of which one may be -1, and 0 means that of the input."""
    own = node.shape(x)
    wanted = node.op("astype", node.tensor(1), "int64")
    (count,) = (dims.number(one) for one in node.shape(wanted, 1))
    if count is None:
        raise node.wrong("how many sizes it reshapes to is not known before the model runs")
    zero, one, rest = (node.constant(value, dtype("int64")) for value in (0, 1, -1))
    if not node.attr("allowzero", 0):
        sizes = node.op("shape_to_tensor", ShapeExpr((*own, *[dims.dim(0)] * count)[:count]))
        wanted = node.op("where", node.op("equal", wanted, zero), sizes, wanted)
    is_rest = node.op("equal", wanted, rest)
    others = node.op("prod", node.op("where", is_rest, one, wanted))
    whole = node.op("reshape", node.op("shape_to_tensor", ShapeExpr((dims.product(own),))), ())
    left = node.op("floor_divide", whole, node.op("maximum", others, one))
    # what is above 0 is the dimension that it says
    known = [
        one if one is not None and node.importer.not_negative(dims.sub(one, 1)) else None
        for one in node.importer.partly.get(node.proto.input[1], (None,) * count)
    ]
    made = node.named_sizes(node.op("where", is_rest, left, wanted), "the sizes it reshapes to", known)
    return node.last("reshape", x, ShapeExpr(made))


def _quotient(whole: list[Expr], parts: list[Expr]) -> Expr:
    """The product of dimensions divided by that of others, of which the factors that both have go.

    They go where they may be 0 too: `(b * 4, 30)` as `(b, 4, -1)` has 30 columns, of no rows as well.
    """
    above, below = ([factor for one in dimensions for factor in _factors(one)] for dimensions in (whole, parts))
    for one in list(below):
        other = next((factor for factor in above if dims.same(one, factor)), None)
        if other is not None:
            above.remove(other)
            below.remove(one)
    total = dims.product(above)
    return dims.floordiv(total, dims.product(below)) if below else total


def _factors(dimension: Expr) -> list[Expr]:
    """What a dimension is the product of."""
    if type(dimension) is Call and dimension.op.name == "mul":
        return [factor for one in dimension.args for factor in _factors(one)]
    return [dimension]


@onnx_op("Flatten")
def flatten(node: Node) -> GraphExpr:
    x = node.tensor(0)
    shape = node.shape(x)
    axis = int(node.attr("axis", 1))
    at = axis + len(shape) if axis < 0 else axis
    return node.last("reshape", x, ShapeExpr((dims.product(shape[:at]), dims.product(shape[at:]))))


@onnx_op("Transpose")
def transpose(node: Node) -> GraphExpr:
    perm = node.attr("perm")
    return node.last("permute_dims", node.tensor(0), None if perm is None else [int(one) for one in perm])


@onnx_op("Concat")
def concat(node: Node) -> GraphExpr:
    given = node.tensors()
    if len(given) == 1:
        return given[0]
    _note_parts(node, given)
    return node.last("concat", TupleExpr(tuple(given)), int(node.attr("axis")))


def _note_parts(node: Node, given: Sequence[GraphExpr]) -> None:
    """Keep the integers of a vector that are known, where not all of them are."""
    importer, found = node.importer, list[Expr | None]()
    for at, one in enumerate(given):
        shape = node.shape(one)
        count = dims.number(shape[0]) if len(shape) == 1 and node.dtype(one).is_int else None
        if count is None or len(found) + count > MOST:
            return
        known = node.ints(at)
        partly = importer.partly.get(node.proto.input[at], (None,) * count)
        found += partly if known is None else known.values
    if any(one is not None for one in found):
        importer.partly[node.output] = tuple(found)


@onnx_op("Split")
def split(node: Node) -> tuple[GraphExpr, ...] | GraphExpr:
    x = node.tensor(0)
    count = len(node.proto.output)
    axis = node.axis(int(node.attr("axis", 0)), len(node.shape(x)))
    sizes = node.numbers(1, "split")
    size = dims.number(node.shape(x)[axis])
    if sizes is None:
        if size is None:
            raise node.wrong("the dimension it splits is symbolic, and the sizes are not given")
        each = -(-size // count)
        sizes = [min(each, size - at * each) for at in range(count)]
    if len(sizes) != count or (size is not None and sum(sizes) != size):
        raise node.wrong(f"it splits {size} into {sizes} for {count} outputs")
    if count == 1:
        return x
    places = [sum(sizes[: at + 1]) for at in range(count - 1)]
    whole = node.op("split", x, places, axis)
    return tuple(node.item(whole, at) for at in range(count))


@onnx_op("Slice")
def slice_of(node: Node) -> GraphExpr:
    x = node.tensor(0)
    shape = node.shape(x)
    if "starts" not in node.attrs and any(node.has(at) and node.ints(at) is None for at in (1, 2, 4)):
        return _slice_as_computed(node, x)
    starts, ends = (_parts(node, at, name) for at, name in ((1, "starts"), (2, "ends")))
    axes = node.numbers(3, "axes") or list(range(len(starts)))
    steps = node.numbers(4, "steps", [1] * len(starts)) or []
    if not len(starts) == len(ends) == len(axes) == len(steps):
        counts = f"{len(starts)} starts, {len(ends)} ends, {len(axes)} axes and {len(steps)} steps"
        raise node.wrong(f"it has {counts}, not as many of each")
    axes = [node.axis(axis, len(shape)) for axis in axes]
    begin: list[Expr] = []
    end: list[Expr] = []
    sure = True
    for axis, first, last, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0:
            raise node.wrong("its step is 0")
        for bound, places in ((first, begin), (last, end)):
            place = _place(bound, shape[axis], step, places is begin)
            # the number of elements is known where the bounds are, and lie in the dimension
            sure = sure and place is not None and step > 0
            places.append(bound if place is None else place)
    values = [TupleExpr(tuple(PrimValue(one) for one in part)) for part in (begin, end)]
    return node.last("strided_slice", x, axes, *values, steps, assume_inbound=sure)


def _slice_as_computed(node: Node, x: GraphExpr) -> GraphExpr:
    """A slice whose bounds or steps the model computes."""
    shape = node.shape(x)
    (count,) = (dims.number(one) for one in node.shape(node.tensor(1), 1))
    if count is None:
        raise node.wrong("how many axes it slices is not known before the model runs")
    given = node.numbers(3, "axes", list(range(count))) or []
    at = {node.axis(axis, len(shape)): place for place, axis in enumerate(given)}
    bounds = []
    for number, default in ((1, 0), (2, _LARGEST), (4, 1)):
        vector = node.op("astype", node.tensor(number), "int64") if node.has(number) else None
        parts: list[GraphExpr] = []
        for axis in range(len(shape)):
            if vector is None or axis not in at:
                parts.append(node.op("full", (1,), node.constant(default, dtype("int64")), "int64"))
            else:
                parts.append(node.op("strided_slice", vector, (0,), (at[axis],), (at[axis] + 1,), (1,)))
        bounds.append(parts[0] if len(parts) == 1 else node.op("concat", TupleExpr(tuple(parts)), 0))
    sliced = node.op("dynamic_strided_slice", x, *bounds)
    return node.counted(sliced, [None if axis in at else size for axis, size in enumerate(shape)])


def _parts(node: Node, at: int, name: str) -> list[Expr]:
    if name in node.attrs:
        return [dims.dim(int(one)) for one in node.attr(name)]
    return list(node.sizes(at, f"its `{name}`"))


def _place(value: Expr, size: Expr, step: int, begins: bool) -> Expr | None:
    """A bound of a slice, counted from the front and within the dimension; None where that is not known."""
    if type(value) is not Const:
        return dims.minimum(value, size) if step > 0 and dims.not_negative(value) else None
    number = int(value.value)
    if number > _LARGEST:
        return size
    if step < 0 and not begins:  # what is before the front ends a slice that goes down, and is no index from the back
        return value if number >= -_LARGEST else dims.sub(-1, size)
    if number < -_LARGEST:
        return dims.dim(0)
    counted = value if number >= 0 else dims.add(size, number)
    return dims.maximum(dims.minimum(counted, size), 0)


@onnx_op("Squeeze")
def squeeze(node: Node) -> GraphExpr:
    data, axes = node.tensor(0), node.numbers(1, "axes")
    shape = node.shape(data)
    for axis in axes or ():
        if -len(shape) <= axis < len(shape) and dims.number(shape[axis]) not in (None, 1):
            raise node.wrong(f"dimension {axis % len(shape)} is {dims.text(shape[axis])} and cannot be left out")
    return node.last("squeeze", data, axes)


@onnx_op("Unsqueeze")
def unsqueeze(node: Node) -> GraphExpr:
    return node.last("expand_dims", node.tensor(0), node.numbers(1, "axes"))


@onnx_op("Expand")
def expand(node: Node) -> GraphExpr:
    x = node.tensor(0)
    wanted = [dims.dim(one) for one in node.sizes(1, "the sizes it expands to")]
    for axis in range(-min(len(wanted), len(node.shape(x))), 0):
        own = node.shape(x)[axis]
        known, size = dims.number(own), dims.number(wanted[axis])
        one = size == 1 or (known != 1 and is_at_most_one(wanted[axis]))
        # a size beside a number is that or 1; a dimension beside a size is 1 or that, and the latter, checked
        if one or (known not in (None, 1) and size is None):
            wanted[axis] = own
    x = node.checked(
        x, [*node.shape(x)[: -len(wanted) or None], *wanted] if len(wanted) < len(node.shape(x)) else wanted
    )
    try:
        shape = dims.broadcast(node.shape(x), tuple(wanted))
    except dims.Mismatch:
        shape = None
    if shape is None:
        raise node.wrong(f"{dims.text(node.shape(x))} cannot be expanded to {dims.text(tuple(wanted))}")
    return node.last("broadcast_to", x, ShapeExpr(shape))


@onnx_op("Tile")
def tile(node: Node) -> GraphExpr:
    x, times = node.tensor(0), node.sizes(1, "`repeats`")
    shape = node.shape(x)
    if dims.numbers(times) is not None or len(times) != len(shape):
        return node.last("tile", x, node.numbers(1, "repeats"))
    apart = node.op("reshape", x, ShapeExpr(tuple(one for size in shape for one in (dims.ONE, size))))
    pairs = list(zip(times, shape, strict=True))
    wide = node.op("broadcast_to", apart, ShapeExpr(tuple(one for pair in pairs for one in pair)))
    return node.last("reshape", wide, ShapeExpr(tuple(dims.mul(*pair) for pair in pairs)))


@onnx_op("Pad")
def pad(node: Node) -> GraphExpr:
    x = node.tensor(0)
    rank = len(node.shape(x))
    amounts = _parts(node, 1, "pads")
    axes = [node.axis(axis, rank) for axis in (node.numbers(3, "axes") or range(rank))]
    if len(amounts) != 2 * len(axes):
        raise node.wrong(f"{len(amounts)} pads for {len(axes)} axes")
    widths: list[Expr] = [dims.dim(0)] * (2 * rank)
    for at, axis in enumerate(axes):
        widths[2 * axis], widths[2 * axis + 1] = amounts[at], amounts[at + len(axes)]
    mode = str(node.attr("mode", "constant"))
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise node.wrong(f"padding by `{mode}` is not supported")
    known = dims.numbers(widths)
    if known is None:
        return _padded_by(node, x, widths, mode)
    width = list(known)
    if min(width) < 0:
        x, width = _cut(node, x, width), [max(one, 0) for one in width]
    if mode == "wrap":
        return _wrapped(node, x, width)
    value = node.attr("value", 0.0) if "value" in node.attrs else node.scalar(2) if node.has(2) else 0
    # a number is padded with as a float, which not all of the integers are
    if mode == "constant" and (value is None or (isinstance(value, int) and int(float(value)) != value)):
        return _padded_with(node, x, width, node.tensor(2))
    return node.last("nn.pad", x, width, {"edge": "replicate"}.get(mode, mode), float(value or 0))


def _padded_with(node: Node, x: GraphExpr, width: list[int], value: GraphExpr) -> GraphExpr:
    """The data with a tensor of one element around it."""
    inside = node.op("nn.pad", node.op("ones", ShapeExpr(node.shape(x)), "bool"), width)
    return node.last("where", inside, node.op("nn.pad", x, width), node.op("reshape", value, ShapeExpr(())))


def _padded_by(node: Node, x: GraphExpr, widths: list[Expr], mode: str) -> GraphExpr:
    """The data with as much around it as the model computes, along one axis after the other."""
    for axis in range(len(node.shape(x))):
        own = widths[2 * axis : 2 * axis + 2]
        if all(dims.number(one) == 0 for one in own):
            continue
        if mode != "constant":
            x = _around(node, x, axis, own, mode)
            continue
        if not all(map(dims.not_negative, own)):
            raise node.wrong(f"whether the `pads` of axis {axis} are below 0 is not known before the model runs")
        before, behind = ([_filled(node, x, axis, one)] if dims.number(one) != 0 else [] for one in own)
        x = node.op("concat", TupleExpr((*before, x, *behind)), axis)
    return x


def _filled(node: Node, x: GraphExpr, axis: int, size: Expr) -> GraphExpr:
    """What `Pad` puts beside the data, of a size along an axis."""
    shape, value = list(node.shape(x)), node.scalar(2)
    shape[axis] = size
    if node.has(2) and value is None:
        one = node.op("reshape", node.tensor(2), ShapeExpr(()))
    else:
        one = node.constant(value or 0, node.dtype(x))
    return node.op("full", ShapeExpr(tuple(shape)), one, str(node.dtype(x)))


def _around(node: Node, x: GraphExpr, axis: int, widths: Sequence[Expr], mode: str) -> GraphExpr:
    """The data with what it has itself around it along an axis: elements by their places, which may lie outside."""
    size, (before, behind) = node.shape(x)[axis], widths
    first, end = PrimValue(dims.sub(0, before)), PrimValue(dims.add(size, behind))
    places = node.op("arange", first, end, 1, "int64")
    if mode == "reflect":
        # there and back: the period is that of both ways, whose ends are not repeated
        last = dims.sub(size, 1)
        period = dims.maximum(dims.mul(last, 2), 1)
        turn, whole = (node.op("shape_to_tensor", ShapeExpr((one,))) for one in (last, period))
        away = node.op("subtract", node.op("floor_mod", places, whole), turn)
        places = node.op("subtract", turn, node.op("abs", away))
    return node.op("take", x, places, axis, mode="wrap" if mode == "wrap" else "clip")


def _cut(node: Node, x: GraphExpr, width: list[int]) -> GraphExpr:
    """The elements that negative pads leave."""
    for axis, size in enumerate(node.shape(x)):
        first, last = (max(-one, 0) for one in width[2 * axis : 2 * axis + 2])
        if first or last:
            if dims.number(size) is not None and first + last > (dims.number(size) or 0):
                raise node.wrong(f"it takes {first + last} of the {dims.text(size)} elements of axis {axis}")
            x = _part(node, x, axis, dims.dim(first), dims.sub(size, last))
    return x


def _wrapped(node: Node, x: GraphExpr, width: list[int]) -> GraphExpr:
    """The data with its end before it and its beginning behind it."""
    for axis, size in enumerate(node.shape(x)):
        before, behind = width[2 * axis : 2 * axis + 2]
        if not before and not behind:
            continue
        known = dims.number(size)
        if known is None:
            x = _around(node, x, axis, (dims.dim(before), dims.dim(behind)), "wrap")
            continue
        if max(before, behind) > known:
            raise node.wrong(f"it pads axis {axis} of {dims.text(size)} elements by more than there may be")
        parts = [_part(node, x, axis, dims.dim(known - before), size)] if before else []
        parts.append(x)
        if behind:
            parts.append(_part(node, x, axis, dims.dim(0), dims.dim(behind)))
        x = node.op("concat", parts, axis)
    return x


def _part(node: Node, x: GraphExpr, axis: int, first: Expr, last: Expr) -> GraphExpr:
    begin, end = (TupleExpr((PrimValue(one),)) for one in (first, last))
    return node.op("strided_slice", x, [axis], begin, end, [1], assume_inbound=True)


@onnx_op("Trilu")
def trilu(node: Node) -> GraphExpr:
    x, known = node.tensor(0), node.single(1)
    if len(node.shape(x)) < 2:
        raise node.wrong(f"its input must have 2 dimensions or more, not {len(node.shape(x))}")
    upper = bool(node.attr("upper", 1))
    if known is not None or not node.has(1):
        return node.last("triu" if upper else "tril", x, 0 if known is None else PrimValue(known))
    # the diagonal is an input: an element is on it, or above, where its column less the diagonal is its row or more
    kind = str(node.dtype(node.tensor(1)))
    rows, columns = (node.op("arange", PrimValue(one), dtype=kind) for one in node.shape(x)[-2:])
    moved = node.op("subtract", columns, node.op("reshape", node.tensor(1), ShapeExpr(())))
    kept = node.op("greater_equal" if upper else "less_equal", moved, node.op("expand_dims", rows, [1]))
    return node.last("where", kept, x, node.constant(0, node.dtype(x)))


@onnx_op("DepthToSpace")
def depth_to_space(node: Node) -> GraphExpr:
    x, size = node.tensor(0), int(node.attr("blocksize"))
    n, c, h, w = node.shape(x, 4)
    deep = dims.floordiv(c, size * size)
    first = str(node.attr("mode", "DCR")) == "DCR"
    inner = (n, size, size, deep, h, w) if first else (n, deep, size, size, h, w)
    apart = node.op("reshape", x, ShapeExpr(dims.shape(inner)))
    turned = node.op("permute_dims", apart, [0, 3, 4, 1, 5, 2] if first else [0, 1, 4, 2, 5, 3])
    return node.last("reshape", turned, ShapeExpr((n, deep, dims.mul(h, size), dims.mul(w, size))))


@onnx_op("SpaceToDepth")
def space_to_depth(node: Node) -> GraphExpr:
    x, size = node.tensor(0), int(node.attr("blocksize"))
    n, c, h, w = node.shape(x, 4)
    high, wide = dims.floordiv(h, size), dims.floordiv(w, size)
    apart = node.op("reshape", x, ShapeExpr(dims.shape((n, c, high, size, wide, size))))
    deep = str(node.attr("mode", "DCR")) == "DCR"
    turned = node.op("permute_dims", apart, [0, 3, 5, 1, 2, 4] if deep else [0, 1, 3, 5, 2, 4])
    return node.last("reshape", turned, ShapeExpr((n, dims.mul(c, size * size), high, wide)))


@onnx_op("EyeLike")
def eye_like(node: Node) -> GraphExpr:
    x = node.tensor(0)
    code = node.attr("dtype")
    kind = node.dtype(x) if code is None else node.importer.dtype(int(code), "its result")
    return node.last("eye_like", x, int(node.attr("k", 0)), str(kind))


__all__ = ["OPERATORS"]
