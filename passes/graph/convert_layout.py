"""Convolutions compute in another layout, and what is between them follows: few tensors are turned.

before:                                            after:
    h = G.nn.conv2d(x, w, padding=1)                   x_1 = G.permute_dims(x, axes=[0, 2, 3, 1])
    a = G.nn.relu(h)                                   w_1 = G.permute_dims(w, axes=[2, 3, 1, 0])
    p = G.nn.max_pool2d(a, pool_size=2)                h = G.nn.conv2d(x_1, w_1, padding=1, data_layout="NHWC",
    y = G.reshape(p, (1, 64))                                          kernel_layout="HWIO", out_layout="NHWC")
                                                       a = G.nn.relu(h)
                                                       p = G.nn.max_pool2d(a, pool_size=2, layout="NHWC")
                                                       p_1 = G.permute_dims(p, axes=[0, 3, 1, 2])
                                                       y = G.reshape(p_1, (1, 64))

`ops` names the operators, separated by spaces: convolutions and transposed ones, of as many dimensions as the layouts
have. Which others follow, and how, is in `orders.py`; those that do not get what they had, and so does what leaves a
dataflow. `G.permute_dims` that undo each other go. Weights that are constants are turned by `fold_graph_constant`.

Layouts in blocks, and those of tensor functions, are moved by `reflow_layouts`. A function that writes some of its
tensors in place stays: what was turned before would be out of date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    OpCall,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS
from tirscript.ir.graph_ops.axes import axes_of
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from ..pipeline import module_pass
from .legalize_ops import named_ops
from .orders import Following, Order, following, inverse, is_plain
from .replacing import each_graph_func, variables, written_in_place


@module_pass()
def convert_layout(
    module: Module,
    *,
    ops: str = "nn.conv2d",
    data_layout: str = "NHWC",
    kernel_layout: str = "HWIO",
    out_layout: str = "",
) -> Module:
    """`h = G.nn.conv2d(x, w)` of NCHW becomes one of NHWC, and `G.nn.relu(h)` is computed of what it gives.

    Without an `out_layout` results have the layout of the data.
    """
    layouts = (data_layout, kernel_layout, out_layout or data_layout)

    def converted(func: GraphFunc) -> GraphFunc:
        wanted = _Wanted(func, ops, *layouts)
        if not any(type(node) is OpCall and wanted.converts(node) for node in walk(func)):
            return func
        if written_in_place(func, module):
            return func
        return func.replace(body=_Converting(wanted).block(func.body, variables(func.value)))

    return each_graph_func(module, converted)


class _Wanted:
    """The operators that are asked for, and their layouts: of data, weights and results."""

    def __init__(self, func: GraphFunc, ops: str, *layouts: str) -> None:
        self.ops = named_ops(ops)
        self.layouts = dict(zip(("data_layout", "kernel_layout", "out_layout"), layouts, strict=True))
        for name in sorted(self.ops):
            parameters = {one.name: one for one in GRAPH_OPS[name].parameters}
            if not self.layouts.keys() <= parameters.keys():
                message = f"`convert_layout` converts convolutions, and `{name}` is none"
                raise DiagnosticError([error("T404", message, func.span)])
            for attribute, layout in self.layouts.items():
                usual = "kernel_layout" if attribute == "kernel_layout" else "data_layout"
                self.check(func, name, attribute, layout, parameters[usual].default)

    def check(self, func: GraphFunc, name: str, attribute: str, layout: str, letters: str) -> None:
        """Raise T404 unless a layout names the axes that the operator's usual one does, each once."""
        if sorted(layout) == sorted(letters):
            return
        blocks = any(count for _, count in axes_of(layout))
        hint = "`reflow_layouts` moves layouts in blocks (docs/layouts.md)" if blocks else f'"{letters}" in any order'
        message = f"`{attribute}` of `{name}` names the axes {', '.join(letters)}, each once; {layout!r} does not"
        raise DiagnosticError([error("T404", message, func.span, hint=hint)])

    def converts(self, call: OpCall) -> bool:
        """Whether a call is one that is asked for, and has other layouts, none of them in blocks."""
        if call.op.name not in self.ops:
            return False
        given = {name: call.attrs[name] for name in self.layouts}
        blocks = any(count for layout in given.values() for _, count in axes_of(layout))
        return given != self.layouts and not blocks

    def following(self, call: OpCall) -> Following:
        """The call in the layouts that are asked for."""
        orders = [tuple(map(call.attrs[name].index, wanted)) for name, wanted in self.layouts.items()]
        return Following((orders[0], orders[1]), (orders[2],), self.layouts)


class _Whole(Struct, frozen=True, eq=False):
    """A tuple of which only the form of turned tensors stands there: `G.split` of turned data."""

    var: GraphVar
    orders: tuple[Order, ...]


class _Converting:
    """One function on its way. Each block converts what stands in it; between blocks tensors are as they were."""

    def __init__(self, wanted: _Wanted) -> None:
        self.wanted = wanted
        self.forms: dict[GraphVar, dict[Order, GraphVar]] = {}  # by their orders, tensors that stand in the block
        self.wholes: dict[GraphVar, _Whole] = {}
        self.permutes: set[GraphVar] = set()  # those that the program turns by itself: nothing follows them
        self.native: set[GraphVar] = set()  # those that were made in another order: what uses them may follow
        self.out: list[Stmt] = []

    def block(self, body: tuple[Stmt, ...], outside: set[GraphVar]) -> tuple[Stmt, ...]:
        """The statements of a block, after which `outside` are used."""
        before = self.forms, self.wholes, self.out
        self.forms, self.wholes, self.out = {}, {}, []
        for stmt in body:
            if type(stmt) is GraphBind:
                self.bind(stmt)
                continue
            if type(stmt) is MatchCast and self.cast(stmt):
                continue
            for var in variables(stmt):
                self.plain(var)
            if type(stmt) is Dataflow:
                stmt = stmt.replace(body=self.block(stmt.body, set(stmt.outputs)))
            elif type(stmt) is GraphIf:
                then = self.block(stmt.then_body, variables(stmt.then_value))
                orelse = self.block(stmt.else_body, variables(stmt.else_value))
                stmt = stmt.replace(then_body=then, else_body=orelse)
            self.out.append(stmt)
        for var in dict.fromkeys(_bound(body)):
            if var in outside:
                self.plain(var)
        made = tuple(self.out)
        self.forms, self.wholes, self.out = before
        return made

    def bind(self, stmt: GraphBind) -> None:
        value = stmt.value
        whole = self.wholes.get(value.value) if type(value) is TupleItem and type(value.value) is GraphVar else None
        if type(value) is TupleItem and whole is not None:
            self.turned(stmt.var, whole.orders[value.index], value.replace(value=whole.var))
        elif type(value) is OpCall and value.op.name == "permute_dims" and self.permuted(stmt.var, value):
            pass  # it is bound where somebody asks for it as it is
        elif type(value) is OpCall and (found := self.followed(value)) is not None:
            self.follow(stmt, value, found)
        else:
            for var in variables(value):
                self.plain(var)
            self.out.append(stmt)

    def cast(self, stmt: MatchCast) -> bool:
        """Check the type of a tensor in the order in which it stands there, if that is another one."""
        forms = self.forms.get(stmt.value) if type(stmt.value) is GraphVar else None
        shape = stmt.type.shape if type(stmt.type) is TensorType else None
        if not forms or shape is None or any(map(is_plain, forms)) or type(stmt.type) is not TensorType:
            return False
        order, source = next(iter(forms.items()))
        kind = stmt.type.replace(shape=tuple(shape[axis] for axis in order))
        var = GraphVar(stmt.var.name, kind)
        self.out.append(MatchCast(var, source, kind))
        self.forms[stmt.var] = {order: var}
        return True

    # what calls become

    def followed(self, call: OpCall) -> Following | None:
        """The call in another layout: one that is asked for, or one that follows its tensors."""
        found = self.wanted.following(call) if self.wanted.converts(call) else self.behind(call)
        if found is None:
            return None
        # axes of which nobody knows how many there are cannot be turned
        wanted = [arg for arg, order in zip(call.args, found.args, strict=True) if order is not None]
        leaves = (leaf for arg in wanted for leaf in _leaves(arg))
        return found if all(getattr(type_of(leaf), "rank", None) is not None for leaf in leaves) else None

    def behind(self, call: OpCall) -> Following | None:
        """How a call follows the first of its tensors that stands there in another order."""
        types = [_of_tuple(type_of(arg)) for arg in call.args]
        ranks = [kind.rank if type(kind) is TensorType else None for kind in types]
        for leaf in (leaf for arg in call.args for leaf in _leaves(arg)):
            order = self.standing(leaf)
            found = None if order is None else following(call, ranks, order)
            if found is not None:
                return found
        return None

    def standing(self, tensor: GraphExpr) -> Order | None:
        """The other order in which a tensor stands there, if what uses it may follow."""
        forms = self.forms.get(tensor) if type(tensor) is GraphVar else None
        if not forms or tensor in self.permutes or (tensor not in self.native and any(map(is_plain, forms))):
            return None
        return next((order for order in forms if not is_plain(order)), None)

    def follow(self, stmt: GraphBind, call: OpCall, found: Following) -> None:
        args = tuple(
            found.instead.get(at) or self.argument(arg, order)
            for at, (arg, order) in enumerate(zip(call.args, found.args, strict=True))
        )
        made = call.replace(args=args, attrs=type(call.attrs)({**call.attrs, **found.attrs}))
        if type(stmt.var.type) is not TupleType:
            self.turned(stmt.var, found.results[0], made)
        elif all(map(is_plain, found.results)):
            self.out.append(stmt.replace(value=made))
        else:
            var = GraphVar(stmt.var.name, type_of(made))
            self.out.append(GraphBind(var, made))
            self.wholes[stmt.var] = _Whole(var, found.results)

    def turned(self, var: GraphVar, order: Order, value: GraphExpr) -> None:
        """Bind what `var` is in an order."""
        made = var if is_plain(order) else GraphVar(var.name, type_of(value))
        if made is not var:
            self.native.add(var)
        self.out.append(GraphBind(made, value))
        self.forms[var] = {order: made}

    def permuted(self, var: GraphVar, call: OpCall) -> bool:
        """Say of the result of `G.permute_dims` in which order it stands there: what it is made of is that."""
        source = call.args[0]
        rank = source.type.rank if type(source) is GraphVar and type(source.type) is TensorType else None
        if type(source) is not GraphVar or rank is None:
            return False
        axes = call.attrs["axes"]
        order = inverse(tuple(reversed(range(rank))) if axes is None else tuple(axis % rank for axis in axes))
        forms = self.forms.get(source) or {tuple(range(rank)): source}
        self.forms[var] = {tuple(order[axis] for axis in form): made for form, made in forms.items()}
        if source in self.permutes or any(map(is_plain, forms)):
            self.permutes.add(var)
        return True

    # the forms of values

    def argument(self, arg: GraphExpr, order: Order | None) -> GraphExpr:
        """An argument of a call, in an order."""
        if order is None:
            for var in variables(arg):
                self.plain(var)
            return arg
        if type(arg) is TupleExpr:
            return arg.replace(fields=tuple(self.form(one, order) for one in arg.fields))
        return self.form(arg, order)

    def form(self, tensor: GraphExpr, order: Order) -> GraphExpr:
        """A tensor in an order; one with fewer axes gets axes of 1 before its own."""
        kind: Any = type_of(tensor)
        missing = len(order) - kind.rank
        if not kind.rank:
            return tensor
        if missing:
            if type(tensor) is GraphVar:
                self.plain(tensor)
            return self.permute(self.emit(GRAPH_OPS["expand_dims"](tensor, tuple(range(missing))), tensor), order)
        forms = self.forms.setdefault(tensor, {tuple(range(kind.rank)): tensor}) if type(tensor) is GraphVar else {}
        if order not in forms:
            known, source = next(iter(forms.items())) if forms else (tuple(range(kind.rank)), tensor)
            made = self.permute(source, tuple(known.index(axis) for axis in order), tensor)
            if type(tensor) is not GraphVar:
                return made
            forms[order] = made
        return forms[order]

    def plain(self, var: GraphVar) -> None:
        """Have a variable bound as it was."""
        whole = self.wholes.pop(var, None)
        if whole is not None:
            items = [self.emit(TupleItem(whole.var, at), var) for at in range(len(whole.orders))]
            turned = zip(items, whole.orders, strict=True)
            fields = tuple(one if is_plain(order) else self.permute(one, inverse(order)) for one, order in turned)
            self.out.append(GraphBind(var, TupleExpr(fields)))
        forms = self.forms.get(var)
        if not forms:
            return
        straight = next((one for order, one in forms.items() if is_plain(order)), None)
        if straight is var:
            return
        if straight is not None:
            self.out.append(GraphBind(var, straight))
        else:
            order, source = next(iter(forms.items()))
            self.out.append(GraphBind(var, GRAPH_OPS["permute_dims"](source, inverse(order))))
        forms[tuple(range(len(next(iter(forms)))))] = var

    def permute(self, value: GraphExpr, order: Order, like: GraphExpr | None = None) -> GraphVar:
        return self.emit(GRAPH_OPS["permute_dims"](value, order), like or value)

    def emit(self, value: GraphExpr, like: GraphExpr) -> GraphVar:
        var = GraphVar(like.name if type(like) is GraphVar else "turned", type_of(value))
        self.out.append(GraphBind(var, value))
        return var


def _of_tuple(kind: GraphType) -> GraphType:
    """The type of a tensor, of the first one where it is of a tuple."""
    return kind.fields[0] if type(kind) is TupleType and kind.fields else kind


def _leaves(arg: GraphExpr) -> tuple[GraphExpr, ...]:
    return arg.fields if type(arg) is TupleExpr else (arg,)


def _bound(body: Sequence[Stmt]) -> Iterator[GraphVar]:
    return (stmt.var for stmt in body if isinstance(stmt, (GraphBind, MatchCast)))


__all__ = ["convert_layout"]
