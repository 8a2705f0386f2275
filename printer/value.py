"""Reductions, index maps, targets and shuffles as text; see script/value.py, which reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirscript.ir.dtype import INT32, INT64, DType
from tirscript.ir.expr import CommReducer, Const, Expr, Range, Reduce, Shuffle, Var, is_const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.target import Target
from tirscript.ir.words import parenthesized

from .expr import condition, top
from .literals import dtype_name, plain, quote
from .stmt import joint

if TYPE_CHECKING:
    from .core import Printer


def listed(texts: list[str]) -> str:
    """`[a, b]`."""
    return f"[{', '.join(texts)}]"


def typed(p: Printer, node: Expr, kind: DType) -> str:
    """A value whose place gives a bare constant the dtype `kind`."""
    return p.literal(node, kind) if type(node) is Const else top(p, node)


def _names(p: Printer, params: tuple[Var, ...]) -> str:
    return ", ".join([p.names.define(var, var.name) for var in params])


def comm_reducer(p: Printer, node: CommReducer, prec: int) -> str:
    """`T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`."""
    identity = [top(p, item) for item in node.identity]
    mark = len(p.names.stack)
    names = _names(p, (*node.lhs, *node.rhs))
    results = [typed(p, item, own.dtype) for item, own in zip(node.results, node.identity, strict=True)]
    p.names.release(mark)
    body = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"T.comm_reducer(lambda {names}: {body}, {listed(identity)})"


def domain(p: Printer, node: Range) -> str:
    """The values of an axis: an extent, or (start, stop)."""
    start, stop = node.start, node.stop
    assert stop is not None
    if is_const(start, 0) and start.dtype is stop.dtype:
        return top(p, stop)
    return f"({', '.join(joint(p, start, stop))})"


def reduce(p: Printer, node: Reduce, prec: int) -> str:
    """`T.Reduce(combiner, lambda k: [A[k]], [16], condition=lambda k: k < n)`."""
    kinds = [item.dtype for item in node.combiner.identity]
    parts = [top(p, node.combiner)]
    domains = [domain(p, item) for item in node.domains]
    init = [typed(p, item, kind) for item, kind in zip(node.init, kinds)]
    mark = len(p.names.stack)
    names = _names(p, node.axes)
    head = f"lambda {names}: " if node.axes else ""
    parts.append(head + listed([typed(p, item, kind) for item, kind in zip(node.source, kinds, strict=True)]))
    if node.axes:
        parts.append(listed(domains))
    if node.condition is not None:
        parts.append(f"condition={head}{condition(p, node.condition)}")
    p.names.release(mark)
    if node.value_index:
        parts.append(f"value_index={node.value_index}")
    if init:
        parts.append(f"init={listed(init)}")
    return f"T.Reduce({', '.join(parts)})"


def index_map(p: Printer, node: IndexMap, prec: int) -> str:
    """`T.index_map(lambda i, j: (i // 4, j, i % 4), inverse_index_map=lambda ...)`."""
    kind = node.params[0].dtype if node.params else INT64
    parts = [_mapping(p, node, kind)]
    if node.inverse is not None:
        parts.append(f"inverse_index_map={_mapping(p, node.inverse, kind)}")
    if kind is not INT64:
        parts.append(f"index_dtype={dtype_name(kind)}")
    return f"T.index_map({', '.join(parts)})"


def _mapping(p: Printer, node: IndexMap, kind: DType) -> str:
    mark = len(p.names.stack)
    names = _names(p, node.params)
    indices = [typed(p, item, kind) for item in node.indices]
    p.names.release(mark)
    head = f"lambda {names}" if names else "lambda"
    return f"{head}: {parenthesized(indices)}"


def target(p: Printer, node: Target, prec: int) -> str:
    """`T.target("llvm -mcpu=skylake")`, or the dict where a string does not say it."""
    text = node.text()
    parts = [quote(text) if text is not None else _plain(node.options())]
    if node.host is not None:
        other = node.host.text() if node.host.host is None else None
        parts.append(f"host={quote(other) if other is not None else _plain(node.host.as_dict())}")
    return f"T.target({', '.join(parts)})"


def target_dict(p: Printer, node: Target, prec: int) -> str:
    """The target as TVM reads it: strings with options are no longer, and the host stands in the dict."""
    if not node.attrs and not node.keys and node.host is None:
        return f"T.target({quote(node.kind)})"
    if "/" in node.kind and not node.attrs and not node.keys and node.host is not None:
        return f"T.target({quote(node.kind)}, host={_plain(_by_tag(node.host.as_dict()))})"
    return f"T.target({_plain(_by_tag(node.as_dict()))})"


def _by_tag(given: dict[str, Any]) -> dict[str, Any]:
    """A target where the name of a machine stands for its kind as TVM says it."""
    word = "tag" if "/" in given["kind"] else "kind"
    found = {word if key == "kind" else key: item for key, item in given.items()}
    return {**found, "host": _by_tag(found["host"])} if "host" in found else found


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join([f'{quote(key)}: {_plain(item)}' for key, item in value.items()])}}}"
    if isinstance(value, (tuple, list)):
        return listed([_plain(item) for item in value])
    return plain(value) or repr(value)


def shuffle(p: Printer, node: Shuffle, prec: int) -> str:
    """`T.Shuffle([a, b], [1, 0])`."""
    vectors = [typed(p, item, INT32) for item in node.vectors]
    return f"T.Shuffle({listed(vectors)}, {listed([str(index) for index in node.indices])})"


VALUE_RULES: dict[type, Any] = {
    CommReducer: comm_reducer,
    Reduce: reduce,
    IndexMap: index_map,
    Target: target,
    Shuffle: shuffle,
}
