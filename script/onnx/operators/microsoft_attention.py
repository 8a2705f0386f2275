"""Attention of onnxruntime's own domain: its layers with projections, heads, masks, keys of before and rotations."""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.expr import Expr
from tirscript.ir.graph import GraphExpr, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.words import counted

from ..node import Node
from .table import microsoft_op


class _Heads:
    """Queries, keys and values by heads, (batch, length, heads, size), and what is added to their scores."""

    def __init__(self, node: Node, query: GraphExpr, key: GraphExpr, value: GraphExpr) -> None:
        self.node, self.query, self.key, self.value = node, query, key, value
        self.batch, self.length = node.shape(query)[:2]
        self.bias: list[GraphExpr] = []

    @property
    def total(self) -> Expr:
        """The number of keys."""
        return self.node.shape(self.key)[1]

    def mixed(self, causal: bool) -> GraphExpr:
        """What the layer gives: (batch, length, heads * size of a value)."""
        node, scale = self.node, float(self.node.attr("scale", 0.0))
        attrs = {"scale": scale or None, "causal_mask": "BottomRight" if causal else None}
        given: tuple[GraphExpr, ...] = (self.query, self.key, self.value)
        if self.bias:
            total = self.bias[0]
            for one in self.bias[1:]:
                total = node.op("add", total, one)
            found = node.op("nn.attention_bias", *given, total, **attrs)
        else:
            found = node.op("nn.attention", *given, **attrs)
        heads, size = node.shape(found)[2:]
        return node.last("reshape", found, ShapeExpr((self.batch, self.length, dims.mul(heads, size))))

    def mask(self, at: int) -> None:
        """Let an input hide keys: their numbers, their ends and starts, or whether each is seen."""
        node = self.node
        if not node.has(at):
            return
        mask = node.tensor(at)
        shape = node.shape(mask)
        if len(shape) == 1:
            seen = self.between(mask, shape[0])
        elif len(shape) in (2, 3):
            rows = dims.ONE if len(shape) == 2 else shape[1]
            whole = node.op("reshape", mask, ShapeExpr((shape[0], dims.ONE, rows, shape[-1])))
            seen = node.op("astype", whole, "bool")
        else:
            raise node.wrong(f"a mask of {counted(len(shape), 'dimension')} is not supported")
        hidden = float(node.attr("mask_filter_value", -10000.0))
        self.hide(seen, hidden)

    def between(self, mask: GraphExpr, size: Expr) -> GraphExpr:
        """Whether a key is before the end that its line has and not before its start."""
        node, column = self.node, ShapeExpr((self.batch, dims.ONE, dims.ONE, dims.ONE))
        twice = dims.mul(self.batch, 2)
        if not (dims.same(size, self.batch) or dims.same(size, twice)):
            raise node.wrong("a mask whose length is neither that of the batch nor twice as much is not supported")
        places = node.op("arange", 0, PrimValue(self.total), 1, str(node.dtype(mask)))
        if dims.same(size, self.batch):
            return node.op("less", places, node.op("reshape", mask, column))
        ends, starts = (node.op("reshape", one, column) for one in split(node, mask, [self.batch], 0))
        return node.op("logical_and", node.op("less", places, ends), node.op("greater_equal", places, starts))

    def hide(self, seen: GraphExpr, hidden: float) -> None:
        """Add something to the scores of keys that are not seen."""
        node, kind = self.node, self.node.dtype(self.query)
        self.bias.append(node.op("where", seen, node.constant(0, kind), node.constant(hidden, kind)))

    def add(self, at: int) -> None:
        """Add an input to the scores."""
        if self.node.has(at):
            self.bias.append(self.node.tensor(at))


def split(node: Node, x: GraphExpr, places: Sequence[Expr | int], axis: int) -> tuple[GraphExpr, ...]:
    """Parts of a tensor that begin at 0 and at these places of an axis."""
    size = node.shape(x)[axis]
    ends = [*(dims.dim(one) for one in places), size]
    starts = [dims.dim(0), *ends[:-1]]
    return tuple(
        node.op("strided_slice", x, [axis], ShapeExpr((start,)), ShapeExpr((end,)), [1], assume_inbound=True)
        for start, end in zip(starts, ends, strict=True)
    )


def _by_heads(node: Node, x: GraphExpr, heads: int) -> GraphExpr:
    """(batch, length, heads * size) as (batch, length, heads, size)."""
    batch, length, hidden = node.shape(x, 3)
    return node.op("reshape", x, ShapeExpr((batch, length, dims.dim(heads), dims.floordiv(hidden, heads))))


def _turned(node: Node, x: GraphExpr) -> GraphExpr:
    """(batch, length, heads, size) as (batch, heads, length, size), and back."""
    return node.op("permute_dims", x, [0, 2, 1, 3])


def _behind(node: Node, past: GraphExpr | None, x: GraphExpr) -> GraphExpr:
    """Keys or values, (batch, length, heads, size), behind those of before, (batch, heads, length, size)."""
    if past is None:
        return x
    return node.op("concat", TupleExpr((_turned(node, past), x)), 1)


def _refuse(node: Node, inputs: dict[int, str], attrs: Sequence[str], outputs: Sequence[int] = ()) -> None:
    """Refuse what is not supported: inputs by number, attributes that are set, outputs that are wanted."""
    for at, what in inputs.items():
        if node.has(at):
            raise node.wrong(f"its input {at}, {what}, is not supported")
    for name in attrs:
        if node.attr(name, 0) not in (0, 0.0, -1, "NONE"):
            raise node.wrong(f"its attribute `{name}` is not supported")
    for at in outputs:
        if at < len(node.proto.output) and node.proto.output[at]:
            raise node.wrong(f"its output {at} is not supported")


@microsoft_op("Attention")
def attention(node: Node) -> tuple[GraphExpr, ...]:
    """Queries, keys and values are one product with merged weights; those of before are one tensor, too."""
    _refuse(node, {6: "the length of before"}, ("do_rotary", "past_present_share_buffer"))
    heads = int(node.needed("num_heads"))
    x, weights = node.tensor(0), node.tensor(1)
    width = node.shape(weights)[1]
    sizes = [int(one) for one in node.attr("qkv_hidden_sizes", [])]
    places = [sizes[0], sizes[0] + sizes[1]] if sizes else [dims.floordiv(dims.mul(width, at), 3) for at in (1, 2)]
    product = node.op("matmul", x, weights)
    if node.has(2):
        product = node.op("add", product, node.tensor(2))
    query, key, value = (_by_heads(node, one, heads) for one in split(node, product, places, 2))
    pasts: list[GraphExpr | None] = [None, None]
    if node.has(4):
        pasts = [node.op("squeeze", one, [0]) for one in split(node, node.tensor(4), [1], 0)]
    key, value = (_behind(node, past, one) for past, one in zip(pasts, (key, value), strict=True))
    own = _Heads(node, query, key, value)
    own.mask(3)
    own.add(5)
    found = own.mixed(bool(node.attr("unidirectional", 0)))
    if not any(node.proto.output[1:]):
        return (found,)
    return found, node.op("stack", TupleExpr((_turned(node, key), _turned(node, value))), 0)


@microsoft_op("MultiHeadAttention")
def multi_head_attention(node: Node) -> tuple[GraphExpr, ...]:
    _refuse(node, {8: "the length of before", 9: "which beam keys are of"}, (), (3,))
    heads = int(node.needed("num_heads"))
    query, key, value = _projected(node, heads)
    causal = bool(node.attr("unidirectional", 0))
    if causal and not dims.same(node.shape(query)[1], node.shape(key)[1]):
        raise node.wrong("attention in one direction with other numbers of queries and new keys is not supported")
    pasts = [node.tensor(at) if node.has(at) else None for at in (6, 7)]
    key, value = (_behind(node, past, one) for past, one in zip(pasts, (key, value), strict=True))
    own = _Heads(node, query, key, value)
    own.mask(4)
    own.add(5)
    found = own.mixed(causal)
    if not any(node.proto.output[1:]):
        return (found,)
    return found, _turned(node, key), _turned(node, value)


def _projected(node: Node, heads: int) -> list[GraphExpr]:
    """Queries, keys and values by heads, of tensors of their own or packed together, with their biases."""
    query = node.tensor(0)
    if len(node.shape(query)) == 5:
        parts = [node.op("squeeze", one, [3]) for one in split(node, query, [1, 2], 3)]
    elif len(node.shape(node.tensor(1))) == 5:
        both = [node.op("squeeze", one, [3]) for one in split(node, node.tensor(1), [1], 3)]
        parts = [_by_heads(node, query, heads), *both]
    else:
        parts = [_by_heads(node, query, heads)]
        for at in (1, 2):
            one = node.tensor(at)
            parts.append(_turned(node, one) if len(node.shape(one)) == 4 else _by_heads(node, one, heads))
    if not node.has(3):
        return parts
    widths = [dims.mul(*node.shape(one)[2:]) for one in parts]
    biases = split(node, node.tensor(3), [widths[0], dims.add(widths[0], widths[1])], 0)
    # keys by heads already come from elsewhere, and have none
    own = [True, *(node.has(at) is False or len(node.shape(node.tensor(at))) != 4 for at in (1, 2))]
    return [
        node.op("add", one, node.op("reshape", bias, ShapeExpr(node.shape(one)[2:]))) if mine else one
        for one, bias, mine in zip(parts, biases, own, strict=True)
    ]


@microsoft_op("RotaryEmbedding")
def rotary_embedding(node: Node) -> GraphExpr:
    _refuse(node, {}, ("is_packed_batching",))
    x, cos, sin = node.tensor(0), node.tensor(2), node.tensor(3)
    shape = node.shape(x)
    if float(node.attr("scale", 1.0)) != 1.0:
        raise node.wrong("its attribute `scale` is not supported")
    if len(shape) == 4:
        whole = _turned(node, x)
    else:
        heads = int(node.attr("num_heads", 0))
        size = dims.floordiv(shape[2], heads) if heads else dims.mul(node.shape(cos)[1], 2)
        count = dims.dim(heads) if heads else dims.floordiv(shape[2], size)
        whole = node.op("reshape", x, ShapeExpr((shape[0], shape[1], count, size)))
    places = node.tensor(1)
    if len(node.shape(places)) == 1:  # where the first one is
        steps = node.op("arange", 0, PrimValue(node.shape(whole)[1]), 1, str(node.dtype(places)))
        places = node.op("expand_dims", node.op("add", steps, places), 0)
    found = rotated(node, whole, cos, sin, places, bool(node.attr("interleaved", 0)))
    if len(shape) == 4:
        return _turned(node, found)
    return node.last("reshape", found, ShapeExpr(shape))


def rotated(
    node: Node, x: GraphExpr, cos: GraphExpr, sin: GraphExpr, places: GraphExpr, interleaved: bool
) -> GraphExpr:
    """Pairs of elements turned by the angles that tables have for their places: (batch or 1, length).

    Pairs are an element of the first half and one of the second, or neighbours; what is behind them stays.
    """
    shape, half = node.shape(x), node.shape(cos)[1]
    reach = dims.mul(half, 2)
    partly = not dims.same(reach, shape[3])
    turning, rest = split(node, x, [reach], 3) if partly else (x, None)
    rows, length = node.shape(places, 2)
    c, s = (
        node.op("reshape", node.op("take", table, places, 0), ShapeExpr((rows, length, dims.ONE, half)))
        for table in (cos, sin)
    )
    if interleaved:
        pairs = node.op("reshape", turning, ShapeExpr((*shape[:3], half, dims.dim(2))))
        a, b = (node.op("squeeze", one, [4]) for one in split(node, pairs, [1], 4))
    else:
        a, b = split(node, turning, [half], 3)
    first = node.op("subtract", node.op("multiply", a, c), node.op("multiply", b, s))
    second = node.op("add", node.op("multiply", b, c), node.op("multiply", a, s))
    if interleaved:
        both = node.op("stack", TupleExpr((first, second)), 4)
        found = node.op("reshape", both, ShapeExpr((*shape[:3], reach)))
    else:
        found = node.op("concat", TupleExpr((first, second)), 3)
    return found if rest is None else node.op("concat", TupleExpr((found, rest)), 3)


@microsoft_op("GroupQueryAttention")
def group_query_attention(node: Node) -> tuple[GraphExpr, ...]:
    """Heads share keys; each line of the batch has a number of keys of its own, behind which its new ones come."""
    names = {11: "what is added to a softmax", 12: "a scale", 13: "a scale", 14: "a norm", 15: "a norm", 16: "lengths"}
    unsupported = ("softcap", "smooth_softmax", "sliding_window_cache", "qk_output", "k_quant_type", "v_quant_type")
    _refuse(node, names, unsupported, (3,))
    if not node.attr("causal", 1):
        raise node.wrong("attention to what comes behind is not supported")
    heads, shared = int(node.needed("num_heads")), int(node.needed("kv_num_heads"))
    query, key, value = _grouped(node, heads, shared)
    batch, length = node.shape(query)[:2]
    # how many keys each line has before its new ones: none, where its first ones are shorter than the longest line
    count = node.op("reshape", node.tensor(5), ShapeExpr((batch, dims.ONE)))
    counts = node.op("astype", count, "int64")
    new = node.op("arange", 0, PrimValue(length), 1, "int64")
    one = node.op("shape_to_tensor", node.importer.emit(ShapeExpr((dims.sub(length, 1),)), "shape"))
    before = node.op("maximum", node.op("subtract", counts, one), node.constant(0, node.dtype(counts)))
    places = node.op("add", before, new)
    if node.attr("do_rotary", 0):
        turns = node.tensor(9) if node.has(9) else places
        cos, sin, paired = node.tensor(7), node.tensor(8), bool(node.attr("rotary_interleaved", 0))
        query, key = (rotated(node, one, cos, sin, turns, paired) for one in (query, key))
    if node.has(3):
        past = node.shape(node.tensor(3))[2]
        known = node.ints(6)
        if known is None:
            raise node.wrong("its total length is not known before the model runs")
        total = dims.maximum(known.values[0], past)
        at = _sources(node, before, past, length, total)
        key, value = (
            node.op("gather_nd", _behind(node, node.tensor(3 + side), new), at, batch_dims=1)
            for side, new in enumerate((key, value))
        )
    own = _Heads(node, query, key, value)
    window = int(node.attr("local_window_size", -1))
    # batch, 1, length, 1; queries of padding see what the line has
    column = node.op("expand_dims", node.op("minimum", places, counts), [1, 3])
    keys = node.op("arange", 0, PrimValue(own.total), 1, "int64")
    seen = node.op("less_equal", keys, column)
    if window >= 0:
        near = node.op("greater", keys, node.op("subtract", column, node.constant(window, node.dtype(column))))
        seen = node.op("logical_and", seen, near)
    own.hide(seen, float("-inf"))
    own.add(10)
    found = own.mixed(causal=False)
    return found, _turned(node, key), _turned(node, value)


def _grouped(node: Node, heads: int, shared: int) -> list[GraphExpr]:
    """Queries, keys and values by their heads; without keys they are packed together, head by head."""
    if node.has(1):
        return [_by_heads(node, node.tensor(at), count) for at, count in enumerate((heads, shared, shared))]
    parts = _by_heads(node, node.tensor(0), heads + 2 * shared)
    return list(split(node, parts, [heads, heads + shared], 2))


def _sources(node: Node, before: GraphExpr, past: Expr, length: Expr, total: Expr) -> GraphExpr:
    """Where each key comes from, of those of before and the new ones behind them: (batch, total, 1)."""
    kind = node.dtype(before)
    keys = node.op("arange", 0, PrimValue(total), 1, "int64")
    gap, end = (
        node.op("shape_to_tensor", node.importer.emit(ShapeExpr((one,)), "shape"))
        for one in (past, dims.sub(dims.add(past, length), 1))
    )
    new = node.op("add", node.op("subtract", keys, before), gap)
    at = node.op("where", node.op("less", keys, before), keys, new)
    # behind the last one is nothing that anything sees
    near = node.op("minimum", node.op("maximum", at, node.constant(0, kind)), end)
    return node.op("expand_dims", near, 2)


__all__ = ["rotated", "split"]
