"""Random calls of every operator of the graph: arguments and attributes that it takes, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.graph_draw import FLOATS, INTS, Draw
from tirscript.ir import IndexMap

Call = tuple[tuple[Any, ...], dict[str, Any]]


def _unary(kinds: str, low: float = -3, high: float = 3, **attrs: Callable[[Draw], Any]) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        kind = {"floats": d.floats, "numbers": d.numbers, "bools": lambda: "bool"}[kinds]()
        return (d.array(d.shape(), kind, low, high),), {name: value(d) for name, value in attrs.items()}

    return draw


def _binary(kinds: str, low: float = -3, high: float = 3, second: tuple[float, float] | None = None) -> Any:
    def draw(d: Draw) -> Call:
        kind = {
            "floats": d.floats,
            "numbers": d.numbers,
            "ints": lambda: str(d.one(*INTS)),
            "any": lambda: str(d.one(*FLOATS, *INTS, "bool")),
            "bits": lambda: str(d.one(*INTS, "bool")),
        }[kinds]()
        a, b = d.broadcast(2)
        return (d.array(a, kind, low, high), d.array(b, kind, *(second or (low, high)))), {}

    return draw


def _nonzero(d: Draw) -> Call:
    (a, b), attrs = _binary("numbers")(d)
    return (a, np.where(b == 0, np.ones_like(b), b)), attrs


def _reduce(d: Draw) -> Call:
    shape = d.shape(0, 3)
    kind = d.one(*FLOATS, "int32", "int64", "uint8")
    return (d.array(shape, kind, -2, 2),), {"axis": d.axes(len(shape)), "keepdims": d.chance()}


def _place(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis = d.one(None, d.axis(len(shape)))
    return (d.array(shape, d.numbers()),), {"axis": axis, "keepdims": d.chance()}


def _scan(d: Draw) -> Call:
    shape = d.shape(1, 3)
    attrs = {"axis": d.one(None, d.axis(len(shape))), "exclusive": d.chance(), "dtype": d.one(None, None, "float32")}
    return (d.array(shape, d.one("float32", "float64", "int32", "float16"), 1, 2),), attrs


def _conv(rank: int, transposed: bool) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        groups = d.one(1, 1, 2)
        inner, outer = groups * d.int(1, 2), groups * d.int(1, 2)
        space = [d.int(3, 5) for _ in range(rank)]
        window = [d.int(1, 2) for _ in range(rank)]
        kind = d.one("float32", "float32", "float64", "float16", "int8")
        weight = (inner, outer // groups, *window) if transposed else (outer, inner // groups, *window)
        letters = {1: "W", 2: "HW", 3: "DHW"}[rank]
        layout = d.one("NC" + letters, "N" + letters + "C")
        kernel = d.one("IO" + letters, letters + "IO") if transposed else d.one("OI" + letters, letters + "IO")
        plain = ("IO" if transposed else "OI") + letters
        data = d.array((d.int(1, 2), inner, *space), kind, -2, 2).transpose(
            ["NC".find(x) if x in "NC" else 2 + letters.index(x) for x in layout]
        )
        taps = d.array(weight, kind, -2, 2).transpose([plain.index(x) for x in kernel])
        attrs = {
            "strides": d.one(1, [d.int(1, 2) for _ in range(rank)]),
            "padding": d.one(0, 1, [d.int(0, 1) for _ in range(2 * rank)]),
            "dilation": d.one(1, 2),
            "groups": groups,
            "data_layout": layout,
            "kernel_layout": kernel,
            "out_layout": d.one(None, "NC" + letters),
            "out_dtype": "int32" if kind == "int8" else d.one(None, None, "float32"),
        }
        return (np.ascontiguousarray(data), np.ascontiguousarray(taps)), attrs

    return draw


def _pool(rank: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        letters = {1: "W", 2: "HW", 3: "DHW"}[rank]
        layout = d.one("NC" + letters, "N" + letters + "C")
        space = [d.int(3, 5) for _ in range(rank)]
        shape = [d.int(1, 2), d.int(1, 2), *space] if layout[1] == "C" else [d.int(1, 2), *space, d.int(1, 2)]
        attrs = {
            "pool_size": [d.int(1, 3) for _ in range(rank)],
            "strides": d.int(1, 2),
            "padding": d.one(0, 1, [d.int(0, 1) for _ in range(2 * rank)]),
            "ceil_mode": d.chance(),
            "count_include_pad": d.chance(),
            "layout": layout,
            "out_layout": d.one(None, "NC" + letters),
        }
        if rank < 3 and max(attrs["pool_size"]) < 3:
            attrs["dilation"] = d.int(1, 2)
        return (d.array(shape, d.one("float32", "float32", "float64", "float16", "int32"), -3, 3),), attrs

    return draw


def _adaptive(rank: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = [d.int(1, 2), d.int(1, 2), *[d.int(2, 5) for _ in range(rank)]]
        return (d.array(shape, d.floats()),), {"output_size": d.one(None, 1, [d.int(1, 4) for _ in range(rank)])}

    return draw


def _reshape(d: Draw) -> Call:
    shape = d.shape(0, 3)
    total = int(np.prod(shape))
    parts: list[int] = []
    while total > 1 and len(parts) < 3:
        part = d.one(*[one for one in range(1, total + 1) if total % one == 0])
        parts.append(part)
        total //= part
    parts.append(total)
    target = [parts[at] for at in d.rng.permutation(len(parts))]
    if d.chance():
        target[d.int(0, len(target) - 1)] = -1
    return (d.array(shape), tuple(target)), {}


def _slice(d: Draw) -> Call:
    shape = d.shape(1, 3, 5)
    axes = [int(at) for at in d.rng.permutation(len(shape))[: d.int(1, len(shape))]]
    begin, end = ([d.int(-6, 6) for _ in axes] for _ in range(2))
    strides = [d.one(1, 2, -1, -2) for _ in axes]
    return (d.array(shape), axes, begin, end, strides), {}


def _slice_scatter(d: Draw) -> Call:
    shape = d.shape(1, 3, 5)
    axis = d.axis(len(shape))
    start, end, step = d.int(-6, 6), d.int(-6, 6), d.int(1, 2)
    x = d.array(shape)
    part = list(shape)
    part[axis] = len(range(*slice(start, end, step).indices(shape[axis])))
    return (x, d.array(part), start, end, step), {"axis": axis}


def _split(d: Draw) -> Call:
    shape = d.shape(1, 3, 6)
    axis = d.axis(len(shape))
    where = d.one(d.int(2, 3), sorted(d.int(0, shape[axis]) for _ in range(d.int(1, 2))))
    return (d.array(shape),), {"indices_or_sections": where, "axis": axis}


def _concat(d: Draw) -> Call:
    shape = list(d.shape(1, 3))
    axis = d.axis(len(shape))
    parts = []
    for _ in range(d.int(1, 3)):
        shape[axis] = d.int(1, 3)
        parts.append(d.array(shape))
    return (tuple(parts),), {"axis": axis}


def _pad(d: Draw) -> Call:
    shape = d.shape(1, 3)
    mode = d.one("constant", "reflect", "replicate", "circular")
    most = min(shape) - 1 if mode == "reflect" else 3
    width = [d.int(0, max(most, 0)) for _ in range(2 * len(shape))]
    return (d.array(shape, d.one("float32", "int32")),), {
        "pad_width": width,
        "pad_mode": mode,
        "pad_value": d.int(-2, 2),
    }


def _layout(d: Draw) -> Call:
    mapping = d.one(
        IndexMap.of(lambda i, j: (j, i)),
        IndexMap.of(lambda i, j: (j // 4, i, j % 4)),
        IndexMap.of(lambda i, j: (i // 2, j // 2, i % 2, j % 2)),
    )
    return (d.array((d.int(1, 5), d.int(1, 6))),), {"index_map": mapping, "pad_value": d.one(None, 3)}


def _matmul(d: Draw) -> Call:
    kind = d.one(*FLOATS, "int32", "int8")
    m, k, n = d.int(1, 4), d.int(1, 4), d.int(1, 4)
    a, b = d.broadcast(2)
    left = (k,) if d.int(0, 4) == 0 else (*a, m, k)
    right = (k,) if d.int(0, 4) == 0 else (*b, k, n)
    out = (
        "int32"
        if kind == "int8"
        else d.one(None, None, "float32")
        if kind.endswith("float16") or "16" in kind
        else None
    )
    return (d.array(left, kind), d.array(right, kind)), {"out_dtype": out}


def _einsum(d: Draw) -> Call:
    text = d.one(
        "ij,jk->ik", "ij,jk", "ii->i", "ij->", "...ij,...jk->...ik", "bhqd,bhkd->bhqk", "i,j->ij", "ij,ij,j->i"
    )
    sizes = {letter: d.int(1, 4) for letter in "ijkbhqd"}
    operands = text.partition("->")[0].split(",")
    shapes = [(*([2] if "..." in one else []), *(sizes[x] for x in one if x.isalpha())) for one in operands]
    kind = d.floats()
    return (tuple(d.array(shape, kind) for shape in shapes),), {"subscripts": text}


def _linear(d: Draw) -> Call:
    k, n = d.int(1, 4), d.int(1, 4)
    kind = d.floats()
    args = [d.array((*d.shape(0, 2), k), kind), d.array((n, k), kind)]
    return tuple([*args, d.array((n,), kind)] if d.chance() else args), {}


def _over_axes(count: int) -> Callable[[Draw], Call]:
    def draw(d: Draw) -> Call:
        shape = d.shape(1, 3)
        axes = d.axes(len(shape)) or [-1]
        kind = d.floats()
        sizes = [shape[axis] for axis in axes]
        return (d.array(shape, kind), *[d.array(sizes, kind) for _ in range(count)]), {"axes": axes}

    return draw


def _layer(d: Draw) -> Call:
    args, attrs = _over_axes(2)(d)
    return args, {**attrs, "center": d.chance(), "scale": d.chance()}


def _group(d: Draw) -> Call:
    groups, kind = d.int(1, 3), d.floats()
    channels = groups * d.int(1, 2)
    last = d.chance()
    shape = (d.int(1, 2), d.int(1, 3), channels) if last else (d.int(1, 2), channels, d.int(1, 3), d.int(1, 3))
    attrs = {"num_groups": groups, "channel_axis": -1 if last else 1, "axes": [1] if last else [2, 3]}
    return (d.array(shape, kind), d.array((channels,), kind), d.array((channels,), kind)), attrs


def _instance(d: Draw) -> Call:
    args, attrs = _group(d)
    del attrs["num_groups"]
    return args, attrs


def _batch(d: Draw) -> Call:
    shape = d.shape(2, 4, 3)
    axis, kind = d.axis(len(shape)), d.one("float32", "float64", "float16")
    vectors = [d.array((shape[axis],), kind, low, 2) for low in (-2, -2, -2, 0.5)]
    attrs = {"axis": axis, "training": d.chance(), "center": d.chance(), "scale": d.chance(), "momentum": 0.25}
    return (d.array(shape, kind), *vectors), attrs


def _attention(d: Draw) -> Call:
    b, s, t, shared = d.int(1, 2), d.int(1, 3), d.int(3, 4), d.int(1, 2)
    heads, size, value = shared * d.int(1, 2), d.int(1, 4), d.int(1, 4)
    kind = d.floats()
    args = [
        d.array((b, s, heads, size), kind),
        d.array((b, t, shared, size), kind),
        d.array((b, t, shared, value), kind),
    ]
    args.append(d.array((d.one(1, b), d.one(1, heads), s, t), kind))
    attrs = {"causal_mask": d.one(None, "TopLeft", "BottomRight"), "scale": d.one(None, 0.5)}
    if attrs["causal_mask"]:
        attrs["window_size"] = d.one(None, 2)
    return tuple(args), attrs


def _take(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis = d.axis(len(shape))
    mode = d.one("fast", "clip", "wrap", "nan")
    indices = d.indices(d.shape(0, 2), shape[axis]) if mode == "fast" else d.array(d.shape(0, 2), "int64", -9, 9)
    return (d.array(shape, d.floats() if mode == "nan" else d.numbers()), indices), {"axis": axis, "mode": mode}


def _gather_elements(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis = d.axis(len(shape))
    part = [d.int(1, one) for one in shape]
    part[axis] = d.int(1, 4)
    return (d.array(shape), d.indices(part, shape[axis], True)), {"axis": axis}


def _gather_nd(d: Draw) -> Call:
    batch = d.int(0, 1)
    shape = [3, *d.shape(1, 2)] if batch else list(d.shape(1, 3))
    depth = d.int(1, len(shape) - batch)
    least = min(shape[batch : batch + depth])
    lead = (3, *d.shape(0, 1)) if batch else d.shape(0, 2)
    return (d.array(shape), d.indices((*lead, depth), least, True)), {"batch_dims": batch}


def _scatter_elements(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis = d.axis(len(shape))
    part = [d.int(1, one) for one in shape]
    reduction = d.one("update", "add", "mul", "max", "min")
    indices = d.indices(part, shape[axis], True)
    if reduction == "update":  # each place once: which of two updates stays is not said
        order = d.rng.permutation(shape[axis])[: part[axis]]
        indices = np.broadcast_to(
            order.reshape([-1 if at == axis % len(shape) else 1 for at in range(len(shape))]), part
        )
    return (d.array(shape), np.ascontiguousarray(indices), d.array(part)), {"axis": axis, "reduction": reduction}


def _scatter_nd(d: Draw) -> Call:
    shape = d.shape(1, 3)
    reduction = d.one("update", "add", "mul", "max", "min")
    count = d.int(1, shape[0])
    indices = d.rng.permutation(shape[0])[:count].reshape(count, 1)
    if reduction != "update":
        indices = d.indices((count, 1), shape[0], True)
    return (d.array(shape), indices, d.array((count, *shape[1:]))), {"reduction": reduction}


def _index_put(d: Draw) -> Call:
    shape = d.shape(2, 3)
    if d.chance():
        count = d.int(1, 4)
        indices = tuple(d.indices((count,), shape[at], True) for at in range(2))
        return (d.array(shape), indices, d.array((count, *shape[2:]))), {"accumulate": True}
    rows = d.rng.permutation(shape[0])[: d.int(1, shape[0])]
    return (d.array(shape), (rows,), d.array(shape[1:])), {"accumulate": False}


def _index_tensor(d: Draw) -> Call:
    shape = d.shape(1, 3)
    count = d.int(1, len(shape))
    places = d.broadcast(count)
    return (d.array(shape), tuple(d.indices(one, shape[at], True) for at, one in enumerate(places))), {}


def _one_hot(d: Draw) -> Call:
    shape = d.shape(0, 2)
    on, off = d.one((1.0, 0.0), (7, -1))
    return (d.indices(shape, 5), on, off), {"depth": d.int(1, 4), "axis": d.axis(len(shape) + 1)}


def _sort(d: Draw) -> Call:
    shape = d.shape(1, 3, 6)
    return (d.array(shape, d.numbers()),), {"axis": d.axis(len(shape)), "descending": d.chance()}


def _topk(d: Draw) -> Call:
    (x,), attrs = _sort(d)
    more = {"k": d.int(0, 4), "ret_type": d.one("both", "values", "indices"), "largest": attrs["descending"]}
    return (x,), {"axis": attrs["axis"], "dtype": d.one("int32", "int64"), **more}


def _quantize(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis = d.axis(len(shape))
    kind = d.one("int8", "uint8", "int32")
    by = () if d.chance() else (shape[axis],)
    scale = d.array(by, "float32", 0.01, 0.2)
    return (d.array(shape, d.one("float32", "float16")), scale, d.array(by, kind)), {"axis": axis, "out_dtype": kind}


def _dequantize(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis = d.axis(len(shape))
    kind = d.one("int8", "uint8", "int32")
    by = () if d.chance() else (shape[axis],)
    args = d.array(shape, d.one(kind, "float32", "float16")), d.array(by, "float32", 0.01, 0.2), d.array(by, kind)
    return args, {"axis": axis, "out_dtype": d.one("float32", "float16")}


def _collapse(d: Draw) -> tuple[Any, tuple[int, ...]]:
    shape = d.shape(0, 3)
    part = shape[d.int(0, len(shape)) :]
    return d.array(shape, d.floats()), tuple(1 if d.chance() else one for one in part)


def _collapse_like(d: Draw) -> Call:
    x, shape = _collapse(d)
    return (x, d.array(shape)), {}


def _collapse_to(d: Draw) -> Call:
    return _collapse(d), {}


def _expand(d: Draw) -> Call:
    shape = d.shape(0, 2)
    count = d.int(1, 2)
    axes = [int(at) for at in d.rng.permutation(len(shape) + count)[:count]]
    return (d.array(shape),), {"axis": axes}


def _squeeze(d: Draw) -> Call:
    shape = [d.one(1, 1, 3) for _ in range(d.int(0, 3))]
    axes = [int(at) for at in d.rng.permutation(len(shape))]
    return (d.array(shape),), {"axis": d.one(None, axes[: d.int(1, len(axes))] if axes else None)}


def _permute(d: Draw) -> Call:
    shape = d.shape(0, 4)
    order = [int(at) - (len(shape) if d.chance() else 0) for at in d.rng.permutation(len(shape))]
    return (d.array(shape),), {"axes": d.one(None, order)}


def _broadcast_to(d: Draw) -> Call:
    whole = d.shape()
    part = whole[d.int(0, len(whole)) :]
    return (d.array(tuple(1 if d.chance() else one for one in part)), whole), {}


def _reverse(d: Draw) -> Call:
    shape = d.shape(2, 3)
    batch, seq = (int(at) for at in d.rng.permutation(len(shape))[:2])
    return (d.array(shape), d.array((shape[batch],), "int64", 0, shape[seq])), {"seq_axis": seq, "batch_axis": batch}


def _arange(d: Draw) -> Call:
    if d.chance():
        return (d.int(0, 6),), {}
    step = d.one(1, 2, -1, -3)
    return (d.int(-5, 5), d.int(-5, 5), step), {"dtype": d.one("int64", "int32", "float32")}


def _prelu(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis, kind = d.axis(len(shape)), d.floats()
    return (d.array(shape, kind), d.array((d.one(shape[axis], 1),), kind)), {"axis": axis}


def _where(d: Draw) -> Call:
    c, a, b = d.broadcast(3)
    kind = d.one(*FLOATS, *INTS, "bool")
    return (d.array(c, "bool"), d.array(a, kind), d.array(b, kind)), {}


def _fma(d: Draw) -> Call:
    shape, kind = d.shape(), d.numbers()
    return tuple(d.array(shape, kind) for _ in range(3)), {}


def _cast(d: Draw) -> Call:
    to = d.one("float32", "float16", "float64", "bfloat16", "int32", "int8", "bool", "uint8")
    kind = d.one("float32", "float64", "int32", "int8", "bool", "bfloat16")
    return (d.array(d.shape(), kind, 0, 3),), {"dtype": to}


def _dims(d: Draw, low: int = 2, high: int = 3) -> Call:
    shape = d.shape(low, high)
    return (d.array(shape, d.one("float32", "int8")), d.int(-2, 2)), {}


def _like(d: Draw) -> Call:
    return (d.array(d.shape(), d.numbers()),), {"dtype": d.one(None, "int8", "float32")}


def _flat_axis(d: Draw) -> Call:
    shape = d.shape(1, 3)
    return (d.array(shape),), {"repeats": d.int(0, 3), "axis": d.one(None, d.axis(len(shape)))}


def _dynamic_slice(d: Draw) -> Call:
    shape = d.shape(1, 3, 5)
    begin, end = (np.array([d.int(-6, 6) for _ in shape]) for _ in range(2))
    return (d.array(shape), begin, end, np.array([d.one(1, 2, -1) for _ in shape])), {}


SAMPLES: dict[str, Callable[[Draw], Call]] = {
    **{name: _binary("numbers") for name in ("add", "subtract", "multiply", "maximum", "minimum")},
    **dict.fromkeys(("divide", "floor_divide", "floor_mod", "mod"), _nonzero),
    **{name: _binary("floats") for name in ("atan2", "log_add_exp")},
    "power": lambda d: (_binary("floats", 0.5, 2) if d.chance() else _binary("ints", -3, 3, (0, 4)))(d),
    **{
        name: _binary("any", -1, 1) for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    **{name: _binary("any", -1, 1) for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: _binary("bits") for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: _binary("ints", -9, 9, (0, 9)) for name in ("left_shift", "right_shift")},
    "logical_not": _unary("numbers", -1, 1),
    "bitwise_not": lambda d: ((d.array(d.shape(), d.one(*INTS, "bool")),), {}),
    **{name: _unary("floats") for name in ("exp", "sin", "cos", "sinh", "cosh", "tanh", "atan", "asinh", "sigmoid")},
    **{name: _unary("floats", -1.2, 1.2) for name in ("tan", "erf")},
    **{name: _unary("floats", -0.9, 0.9) for name in ("asin", "acos", "atanh")},
    **{name: _unary("floats", 0.2, 5) for name in ("log", "sqrt", "rsqrt")},
    "acosh": _unary("floats", 1.1, 5),
    **{name: _unary("numbers") for name in ("abs", "negative", "square", "sign", "floor", "ceil", "trunc", "round")},
    **{name: _unary("floats") for name in ("isnan", "isinf", "isfinite")},
    **{name: _unary("numbers") for name in ("nn.relu", "nn.relu6")},
    **{f"nn.{name}": _unary("floats") for name in ("gelu", "gelu_tanh", "silu", "selu")},
    "nn.leakyrelu": _unary("floats", alpha=lambda d: d.one(0.1, 0.5)),
    "nn.softplus": _unary("floats", beta=lambda d: d.one(1.0, 2.0), threshold=lambda d: d.one(20.0, 1.0)),
    "nn.prelu": _prelu,
    "astype": _cast,
    "where": _where,
    "ewise_fma": _fma,
    "clip": lambda d: ((d.array(d.shape(), d.numbers(), 0, 9), d.int(0, 3), d.one(5, 7)), {}),
    **dict.fromkeys(("sum", "mean", "prod", "max", "min", "variance", "std"), _reduce),
    **dict.fromkeys(("argmax", "argmin"), _place),
    **dict.fromkeys(("cumsum", "cumprod"), _scan),
    **{name: lambda d: ((d.shape(),), {"dtype": d.one("float32", "int8", "bool")}) for name in ("zeros", "ones")},
    **dict.fromkeys(("zeros_like", "ones_like"), _like),
    "full": lambda d: ((d.shape(), d.array((), d.numbers(), 0, 3)), {"dtype": d.one(None, "float32", "int32")}),
    "full_like": lambda d: ((d.array(d.shape()), d.array((), "float32", 0, 3)), {"dtype": d.one(None, "int32")}),
    "arange": _arange,
    "eye": lambda d: ((d.int(1, 4), d.one(None, d.int(1, 4)), d.int(-2, 2)), {"dtype": d.one("float32", "int8")}),
    "eye_like": lambda d: _dims(d, 2, 2),
    **dict.fromkeys(("tril", "triu"), _dims),
    "hamming_window": lambda d: ((d.int(2, 8), d.chance(), 0.54, 0.46), {"dtype": d.one("float32", "float64")}),
    "reshape": _reshape,
    "flatten": lambda d: ((d.array(d.shape()),), {}),
    "nn.batch_flatten": lambda d: ((d.array(d.shape(2, 4)),), {}),
    "permute_dims": _permute,
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "broadcast_to": _broadcast_to,
    "repeat": _flat_axis,
    "tile": lambda d: ((d.array(d.shape()),), {"repeats": [d.int(0, 3) for _ in range(d.int(1, 3))]}),
    "flip": lambda d: (lambda s: ((d.array(s),), {"axis": d.axis(len(s))}))(d.shape(1, 3)),
    "reverse_sequence": _reverse,
    "concat": _concat,
    "stack": lambda d: (lambda s: ((tuple(d.array(s) for _ in range(d.int(1, 3))),), {"axis": d.axis(len(s) + 1)}))(
        d.shape(0, 2)
    ),
    "split": _split,
    "strided_slice": _slice,
    "dynamic_strided_slice": _dynamic_slice,
    "slice_scatter": _slice_scatter,
    "nn.pad": _pad,
    "layout_transform": _layout,
    "nn.pixel_shuffle": lambda d: (lambda r: ((d.array((d.int(1, 2), 2 * r * r, 2, 3)),), {"upscale_factor": r}))(
        d.int(1, 2)
    ),
    "collapse_sum_to": _collapse_to,
    "collapse_sum_like": _collapse_like,
    "meshgrid": lambda d: (
        (tuple(d.array((d.int(1, 3),)) for _ in range(d.int(1, 3))),),
        {"indexing": d.one("ij", "xy")},
    ),
    "shape_of": lambda d: ((d.array(d.shape()),), {}),
    "shape_to_tensor": lambda d: ((d.shape(1, 3),), {}),
    "tensor_to_shape": lambda d: ((d.array((3,), "int64", 1, 4),), {}),
    "size": lambda d: ((d.array(d.shape()),), {}),
    "matmul": _matmul,
    "linear": _linear,
    "outer": lambda d: (lambda k: ((d.array((d.int(1, 4),), k), d.array((d.int(1, 4),), k)), {}))(d.numbers()),
    "einsum": _einsum,
    **{f"nn.conv{rank}d": _conv(rank, False) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": _conv(rank, True) for rank in (1, 2, 3)},
    **{f"nn.{kind}_pool{rank}d": _pool(rank) for rank in (1, 2, 3) for kind in ("max", "avg")},
    **{f"nn.adaptive_avg_pool{rank}d": _adaptive(rank) for rank in (1, 2, 3)},
    **{
        name: lambda d: (lambda s: ((d.array(s, d.floats()),), {"axis": d.axis(len(s))}))(d.shape(1, 3))
        for name in ("nn.softmax", "nn.log_softmax")
    },
    "nn.layer_norm": _layer,
    "nn.rms_norm": _over_axes(1),
    "nn.group_norm": _group,
    "nn.instance_norm": _instance,
    "nn.batch_norm": _batch,
    "nn.dropout": lambda d: ((d.array(d.shape(), d.floats()),), {"rate": 0.5}),
    "nn.cross_entropy_with_logits": lambda d: (lambda s: ((d.array(s), d.array(s)), {}))(d.shape(1, 2)),
    "nn.attention": _attention,
    "nn.attention_bias": _attention,
    "take": _take,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "index_tensor": _index_tensor,
    "one_hot": _one_hot,
    "bucketize": lambda d: (
        (d.array(d.shape()), np.sort(d.array((d.int(1, 4),)))),
        {"out_int32": d.chance(), "right": d.chance()},
    ),
    "nonzero": lambda d: ((d.array(d.shape(1, 3), "int32", 0, 1),), {}),
    "unique": lambda d: (
        (d.array(d.shape(2, 2), "int32", 0, 2),),
        {"sorted": d.chance(), "return_index": d.chance(), "return_counts": d.chance()},
    ),
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "index_put": _index_put,
    "sort": _sort,
    "argsort": _sort,
    "topk": _topk,
    "quantize": _quantize,
    "dequantize": _dequantize,
}
