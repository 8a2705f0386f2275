"""Products of matrices, of sums over named axes (einsum), of all pairs (outer)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import DType
from ..expr import Expr
from ..graph import GraphType, OpCall, TensorType
from ..graph_op import BROADCAST, CONTRACTION, GraphOp, Parameter
from ..words import counted
from . import dims
from .attrs import OUT_DTYPE, attr, text
from .kernel import T, kernel, part, size
from .reduce import accumulator, summed_in
from .reference import numpy_dtype, wide
from .rules import (
    NUMBERS,
    Types,
    common_device,
    common_dtype,
    of_rank,
    rank_of,
    refuse,
    tensor,
    tensors,
)
from .table import register

# -- matmul


def _infer_matmul(call: OpCall, types: Types) -> GraphType:
    a, b = (tensor(call, types, at, NUMBERS) for at in (0, 1))
    kind = call.attrs["out_dtype"]
    if kind is None:
        kind = common_dtype(call, (a, b), ("`x1`", "`x2`"))
    device = common_device((a, b))
    for at, one in enumerate((a, b)):
        if one.rank == 0:
            refuse(call, f"`{call.op.values[at].name}` is a scalar", "`G.multiply` scales a tensor")
    rank = None
    if a.rank is not None and b.rank is not None:
        rank = max(a.rank, b.rank, 2) - (a.rank == 1) - (b.rank == 1)
    if a.shape is None or b.shape is None:
        return of_rank(rank, kind, device)
    depth = (a.shape[-1], b.shape[-2] if len(b.shape) > 1 else b.shape[0])
    if dims.differ(*depth):
        shapes = f"{dims.text(a.shape)} and {dims.text(b.shape)}"
        inner = f"the last dimension of `x1` is {dims.text(depth[0])}, and `x2` is summed over {dims.text(depth[1])}"
        refuse(call, f"{shapes} are not multiplied: {inner}", "`G.permute_dims` turns one around")
    try:
        batch = dims.broadcast(a.shape[:-2], b.shape[:-2])
    except dims.Mismatch as problem:
        shapes = f"{dims.text(a.shape)} and {dims.text(b.shape)}"
        refuse(call, f"the batches of {shapes} do not broadcast: {problem} are neither equal nor 1")
    if batch is None:
        return of_rank(rank, kind, device)
    ends = [*([] if len(a.shape) == 1 else [a.shape[-2]]), *([] if len(b.shape) == 1 else [b.shape[-1]])]
    return TensorType((*batch, *ends), kind, None, device)


@part
def multiply_matrices(a: Any, b: Any, total: Any, *, acc: Any) -> None:
    """total = a @ b, of any numbers of dimensions that broadcast."""
    for *i, k in T.grid(*total.shape, size(a, a.ndim - 1)):
        with T.block("matmul"):
            *v, vk = T.axis.remap("S" * len(i) + "R", [*i, k])
            with T.init():
                total[*v] = T.cast(0, acc)
            total[*v] = total[*v] + T.cast(a[*left_place(v, vk, a, b)], acc) * T.cast(b[*right_place(v, vk, a, b)], acc)


def left_place(v: Sequence[Any], k: Any, a: Any, b: Any) -> list[Any]:
    """The place in the left factor of the product's element `v`."""
    if a.ndim == 1:
        return [k]
    row = v[len(v) - (2 if b.ndim > 1 else 1)]
    return [*_batch_place(v[: _batches(v, a, b)], a), row, k]


def right_place(v: Sequence[Any], k: Any, a: Any, b: Any) -> list[Any]:
    """The place in the right factor."""
    if b.ndim == 1:
        return [k]
    return [*_batch_place(v[: _batches(v, a, b)], b), k, v[-1]]


def _batches(v: Sequence[Any], a: Any, b: Any) -> int:
    return len(v) - (a.ndim > 1) - (b.ndim > 1)


def _batch_place(v: Sequence[Any], x: Any) -> list[Any]:
    own = v[len(v) - (x.ndim - 2) :] if x.ndim > 2 else []
    return [0 if dims.number(x.shape[at]) == 1 else one for at, one in enumerate(own)]


def _matmul(x1: Any, x2: Any, out: Any, *, acc: Any) -> None:
    if acc is out.dtype:
        multiply_matrices(x1, x2, out, acc=acc)
    else:
        total = T.alloc_buffer(out.shape, acc)
        multiply_matrices(x1, x2, total, acc=acc)
        for (*i,) in T.grid(*out.shape):
            with T.block("finish"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(total[*v], out.dtype)


def _np_matmul(a: Any, b: Any, out_dtype: DType | None) -> Any:
    import numpy as np

    to = a.dtype if out_dtype is None else numpy_dtype(out_dtype)
    wider = np.dtype(np.float32) if to.kind not in "fiu" or (to.itemsize < 4 and to.kind == "f") else to
    return np.asarray(np.matmul(a.astype(wider), b.astype(wider))).astype(to)


register(
    GraphOp(
        "matmul",
        (Parameter("x1"), Parameter("x2"), OUT_DTYPE),
        _infer_matmul,
        "The product of matrices; the dimensions before the last two are a batch and broadcast.",
        "G.matmul(x1: (2, 3, 4), x2: (4, 5))",
        reference=_np_matmul,
        legalize=kernel(_matmul, summed_in, exact=True),
        fusion=CONTRACTION,
        symbol="@",
    )
)

# -- linear: what apache-tvm writes as a transposition, a product and a sum


def _infer_linear(call: OpCall, types: Types) -> GraphType:
    data, weight = (tensor(call, types, at, NUMBERS) for at in (0, 1))
    rank_of(call, weight, 1, 1, 2)
    given = (data, weight) if len(types) < 3 else (data, weight, tensor(call, types, 2))
    kind = call.attrs["out_dtype"] or common_dtype(call, given[:2], ("`data`", "`weight`"))
    if data.rank is None or weight.rank is None or data.shape is None or weight.shape is None:
        rank = None if data.rank is None or weight.rank is None else data.rank + weight.rank - 2
        return of_rank(rank, kind, common_device(given))
    if not data.shape:
        refuse(call, "`data` is a scalar")
    if dims.differ(data.shape[-1], weight.shape[-1]):
        depth = f"{dims.text(data.shape[-1])} and {dims.text(weight.shape[-1])}"
        refuse(call, f"the last dimensions of `data` and `weight` differ: {depth}", "`weight` is (outputs, inputs)")
    shape = (*data.shape[:-1], *weight.shape[:-1])
    if len(given) > 2 and given[2].shape is not None and not dims.broadcasts_to(given[2].shape, shape):
        refuse(call, f"`bias` {dims.text(given[2].shape)} does not broadcast to {dims.text(shape)}")
    return TensorType(shape, kind, None, common_device(given))


def _linear(data: Any, weight: Any, bias: Any, out: Any, *, acc: Any) -> None:
    total = T.alloc_buffer(out.shape, acc)
    for *i, k in T.grid(*total.shape, size(data, data.ndim - 1)):
        with T.block("linear"):
            *v, vk = T.axis.remap("S" * len(i) + "R", [*i, k])
            with T.init():
                total[*v] = T.cast(0, acc)
            total[*v] = total[*v] + T.cast(data[*v[: data.ndim - 1], vk], acc) * T.cast(
                weight[*v[data.ndim - 1 :], vk], acc
            )
    for (*i,) in T.grid(*out.shape):
        with T.block("bias"):
            (*v,) = T.axis.remap("S" * len(i), i)
            out[*v] = with_bias(total[*v], bias, v, out)


def with_bias(total: Expr, bias: Any, v: Sequence[Expr], out: Any) -> Expr:
    """The sum of a product and of the element of a bias that broadcasts to it."""
    from ..op import cast as cast_to
    from .kernel import element

    if bias is None:
        return cast_to(total, out.dtype)
    return cast_to(total + cast_to(element(bias, v, out.shape), total.dtype), out.dtype)


def _np_linear(data: Any, weight: Any, bias: Any = None, *, out_dtype: DType | None) -> Any:
    import numpy as np

    to = data.dtype if out_dtype is None else numpy_dtype(out_dtype)
    wider = np.dtype(np.float32) if to.kind not in "fiu" or (to.itemsize < 4 and to.kind == "f") else to
    found = np.matmul(data.astype(wider), weight.T.astype(wider))
    return np.asarray(found if bias is None else found + bias.astype(wider)).astype(to)


register(
    GraphOp(
        "linear",
        (Parameter("data"), Parameter("weight"), Parameter("bias", "tensor", None), OUT_DTYPE),
        _infer_linear,
        "data @ weight transposed, plus a bias.",
        "G.linear(data: (2, 4), weight: (3, 4), bias: (3,))",
        reference=_np_linear,
        legalize=kernel(_linear, summed_in, exact=True),
        fusion=CONTRACTION,
    )
)

# -- outer


def _infer_outer(call: OpCall, types: Types) -> GraphType:
    a, b = (tensor(call, types, at, NUMBERS) for at in (0, 1))
    rank_of(call, a, 0, 1)
    rank_of(call, b, 1, 1)
    kind = common_dtype(call, (a, b), ("`x1`", "`x2`"))
    if a.shape is None or b.shape is None:
        return of_rank(2, kind, common_device((a, b)))
    return TensorType((a.shape[0], b.shape[0]), kind, None, common_device((a, b)))


def _outer(x1: Any, x2: Any, out: Any) -> None:
    for i, j in T.grid(*out.shape):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vi, vj] = x1[vi] * x2[vj]


def _np_outer(a: Any, b: Any) -> Any:
    import numpy as np

    return np.outer(a, b)


register(
    GraphOp(
        "outer",
        (Parameter("x1"), Parameter("x2")),
        _infer_outer,
        "The products of all pairs of elements of two vectors.",
        "G.outer(x1: (2,), x2: (3,))",
        reference=wide(_np_outer),
        legalize=kernel(_outer),
        fusion=BROADCAST,
    )
)

# -- einsum


class Subscripts:
    """`"ij,jk->ik"` read: the letters of each operand and of the result; `...` is spelled out by digits."""

    def __init__(self, call: OpCall, given: str, ranks: Sequence[int | None]) -> None:
        operands, arrow, result = given.replace(" ", "").partition("->")
        self.operands = operands.split(",")
        if len(self.operands) != len(ranks):
            refuse(call, f"`subscripts` names {len(self.operands)} operands, and {len(ranks)} are given", None, "T032")
        dots = self._dots(call, ranks)
        self.operands = [
            one.replace("...", dots[len(dots) - n :]) for one, n in zip(self.operands, self.extra, strict=True)
        ]
        letters = "".join(self.operands)
        if not arrow:
            result = ("..." if dots else "") + "".join(
                sorted(x for x in set(letters) if letters.count(x) == 1 and x.isalpha())
            )
        self.result = result.replace("...", dots)
        for letter in self.result:
            if letter not in letters or self.result.count(letter) > 1:
                refuse(call, f"`{letter}` of the result of `{given}` stands once and in an operand", None, "T032")
        for letter in letters:
            if not (letter.isalpha() or letter.isdigit()):
                refuse(call, f"`{letter}` is no subscript in `{given}`", "subscripts are letters", "T032")
        self.reduced = [letter for letter in dict.fromkeys(letters) if letter not in self.result]

    def _dots(self, call: OpCall, ranks: Sequence[int | None]) -> str:
        self.extra = [0] * len(ranks)
        for at, (operand, rank) in enumerate(zip(self.operands, ranks, strict=True)):
            count = len(operand.replace("...", ""))
            if "..." in operand and rank is not None:
                self.extra[at] = max(rank - count, 0)
            if rank is not None and rank != count + self.extra[at]:
                refuse(
                    call,
                    f"`{operand}` names {counted(count, 'dimension')} of operand {at}, which has {rank}",
                    None,
                    "T032",
                )
        return "0123456789"[: max(self.extra, default=0)]


def _read(call: OpCall, types: Types) -> tuple[Subscripts, tuple[TensorType, ...]] | None:
    found = tensors(call, types, 0)
    if found is None or any(one.rank is None for one in found):
        return None
    return Subscripts(call, call.attrs["subscripts"], [one.rank for one in found]), found


def _infer_einsum(call: OpCall, types: Types) -> GraphType:
    read = _read(call, types)
    if read is None:
        return TensorType()
    names, found = read
    kind = common_dtype(call, found, [f"operand {at}" for at in range(len(found))])
    sizes: dict[str, Expr] = {}
    for letters, one in zip(names.operands, found, strict=True):
        for letter, extent in zip(letters, one.shape or (), strict=False):
            other = sizes.get(letter)
            if other is None or (letter.isdigit() and dims.number(other) == 1):
                sizes[letter] = extent
            elif not (letter.isdigit() and dims.number(extent) == 1) and dims.differ(other, extent):
                refuse(call, f"the dimensions of `{letter}` differ: {dims.text(other)} and {dims.text(extent)}")
    device = common_device(found)
    if any(letter not in sizes for letter in names.result) or any(one.shape is None for one in found):
        return of_rank(len(names.result), kind, device)
    return TensorType(tuple(sizes[letter] for letter in names.result), kind, None, device)


@part
def sum_products(operands: Any, total: Any, *, acc: Any, result: Any, reduced: Any, letters: Any, sizes: Any) -> None:
    """total = the products of the operands' elements, summed over the reduced subscripts."""
    for (*i,) in T.grid(*[sizes[one] for one in result], *[sizes[one] for one in reduced]):
        with T.block("einsum"):
            (*v,) = T.axis.remap("S" * len(result) + "R" * len(reduced), i)
            with T.init():
                total[*v[: len(result)]] = T.cast(0, acc)
            total[*v[: len(result)]] = total[*v[: len(result)]] + product(
                operands, letters, [*result, *reduced], v, acc
            )


def _einsum(operands: Any, out: Any, *, acc: Any, result: Any, reduced: Any, letters: Any, sizes: Any) -> None:
    if acc is out.dtype:
        sum_products(operands, out, acc=acc, result=result, reduced=reduced, letters=letters, sizes=sizes)
    else:
        total = T.alloc_buffer(out.shape, acc)
        sum_products(operands, total, acc=acc, result=result, reduced=reduced, letters=letters, sizes=sizes)
        for (*i,) in T.grid(*out.shape):
            with T.block("finish"):
                (*v,) = T.axis.remap("S" * len(i), i)
                out[*v] = T.cast(total[*v], out.dtype)


def product(operands: Any, letters: Sequence[str], order: Sequence[str], v: Sequence[Expr], acc: DType) -> Expr:
    """The product of the operands' elements that belong to the values `v` of the subscripts in `order`."""
    from ..expr import BufferLoad, const
    from ..op import cast as cast_to

    values = dict(zip(order, v, strict=True))
    found: Expr | None = None
    for operand, names in zip(operands, letters, strict=True):
        place = tuple(
            const(0, values[name].dtype) if name.isdigit() and dims.number(operand.shape[at]) == 1 else values[name]
            for at, name in enumerate(names)
        )
        factor = cast_to(BufferLoad(operand, place), acc)
        found = factor if found is None else found * factor
    assert found is not None
    return found


def _einsum_parts(call: OpCall, types: Types) -> Mapping[str, Any] | None:
    read, kind = _read(call, types), call.op.infer(call, types)
    if read is None or type(kind) is not TensorType or kind.dtype is None:
        return None
    names, found = read
    sizes: dict[str, Expr] = {}
    for letters, one in zip(names.operands, found, strict=True):
        for letter, extent in zip(letters, one.shape or (), strict=True):
            if letter not in sizes or dims.number(sizes[letter]) == 1:
                sizes[letter] = extent
    return {
        "acc": accumulator(kind.dtype),
        "result": tuple(names.result),
        "reduced": tuple(names.reduced),
        "letters": tuple(names.operands),
        "sizes": sizes,
    }


def _np_einsum(operands: Sequence[Any], subscripts: str) -> Any:
    import numpy as np

    return np.asarray(np.einsum(subscripts, *operands)).astype(operands[0].dtype)


register(
    GraphOp(
        "einsum",
        (Parameter("operands", "tensors"), attr("subscripts", text)),
        _infer_einsum,
        "Sums of products over named axes: `ij,jk->ik` is a product of matrices.",
        'G.einsum((a: (2, 3), b: (3, 4)), subscripts="ij,jk->ik")',
        reference=wide(_np_einsum),
        legalize=kernel(_einsum, _einsum_parts, exact=True),
        fusion=CONTRACTION,
    )
)
