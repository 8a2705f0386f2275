"""Kernels that can be one loop nest are put into one function each: element by element they need no memory between.

before:                                            after:
    with G.dataflow():                                 @G.graph_func(private=True)
        a = G.call_tir(cls.matmul, (x, w), ...)        def fused_matmul_relu(x, w):
        b = G.call_tir(cls.relu, (a,), ...)                G.func_attr({"primitive": True})
        G.output(b)                                        with G.dataflow():
                                                               a = G.call_tir(cls.matmul, (x, w), ...)
                                                               b = G.call_tir(cls.relu, (a,), ...)
                                                               G.output(b)
                                                           return b
                                                       ...
                                                       with G.dataflow():
                                                           b = cls.fused_matmul_relu(x, w)
                                                           G.output(b)

A kernel joins the function of its consumers where they are all in one, nothing else needs its result, and the kinds
(`annotate_pattern`) allow it: elementwise, broadcast and injective ones join such, or a reduction that they feed; a
contraction joins the elementwise work behind it, one for a function, even where that feeds a reduction. A tensor
whose dimensions change places for a product alone is read by the product as it lies. `fuse_tir` makes one kernel of
each function.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct

from tirscript.ir.equal import structural_equal
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    Dataflow,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphVar,
    OpCall,
    ShapeExpr,
    TensorType,
    TupleExpr,
)
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk

from ..pipeline import module_pass
from .annotate_pattern import (
    BROADCAST,
    CONTRACTION,
    ELEMENTWISE,
    INJECTIVE,
    OPAQUE,
    PATTERN,
    REDUCTION,
    is_permutation,
    is_product,
    pattern_of,
)
from .outline import Outlining, inputs_of, is_closed

PRIMITIVE = "primitive"
MOST = 32  # kernels in one function


class Group:
    """The bindings that go into one function; the last of them gives its result."""

    def __init__(self, bind: GraphBind, kind: int) -> None:
        self.members = [bind]
        self.kinds = [kind]

    @property
    def anchor(self) -> int | None:
        """Its reduction or contraction, where it has one."""
        return next((kind for kind in self.kinds if kind in (REDUCTION, CONTRACTION)), None)


class _Use(Struct, frozen=True, eq=False):
    group: Group | None
    bind: GraphBind | None


@module_pass(opt_level=1)
def fuse_ops(module: Module, *, most: int = MOST) -> Module:
    """`a = G.call_tir(cls.f, (x,)); b = G.call_tir(cls.g, (a,))` becomes `b = cls.fused_f_g(x)`.

    `most` is how many kernels one function may hold.
    """
    return _Fusion(module, most).outlining.run()


class _Fusion:
    def __init__(self, module: Module, most: int) -> None:
        self.most = most
        self.functions = {function.name: function for function in module.functions}
        self.finishing: set[GraphVar] = set()
        self.outlining = Outlining(module, PRIMITIVE, self.dataflow)

    def dataflow(self, stmt: Dataflow) -> Dataflow:
        groups = self.groups(stmt)
        fused = [group for group in groups if len(group.members) > 1 and _tells_sizes(group)]
        if not fused:
            return stmt
        calls = {id(group.members[-1]): self.call(group) for group in fused}
        inside = {id(bind) for group in fused for bind in group.members}
        body = tuple(calls.get(id(one), one) for one in stmt.body if id(one) in calls or id(one) not in inside)
        return stmt.replace(body=body)

    def groups(self, stmt: Dataflow) -> list[Group]:
        """The bindings of a dataflow block in groups, from the last to the first."""
        of: dict[GraphVar, Group] = {}
        users: dict[GraphVar, list[_Use]] = {var: [_Use(None, None)] for var in stmt.outputs}
        groups: list[Group] = []
        self.finishing = self.behind_contractions(stmt)
        for bind in reversed(stmt.body):
            group = self.placed(bind, users) if type(bind) is GraphBind else None
            if type(bind) is GraphBind and group is not None:
                of[bind.var] = group
                if len(group.members) == 1:
                    groups.append(group)
            for var in dict.fromkeys(walk(bind, GraphVar)):
                if var is not getattr(bind, "var", None):
                    use = _Use(group, bind) if type(bind) is GraphBind else _Use(None, None)
                    users.setdefault(var, []).append(use)
        for group in groups:
            group.members.reverse()
        return groups

    def behind_contractions(self, stmt: Dataflow) -> set[GraphVar]:
        """What is done element by element to results of contractions that nothing else uses."""
        uses = Counter(stmt.outputs)
        for bind in stmt.body:
            uses.update(set(walk(bind, GraphVar)) - {getattr(bind, "var", None)})
        results: dict[GraphVar, GraphBind] = {}
        found: set[GraphVar] = set()
        for bind in stmt.body:
            kind = self.kind(bind) if type(bind) is GraphBind else None
            if type(bind) is not GraphBind or kind not in (CONTRACTION, ELEMENTWISE, BROADCAST):
                continue
            before = [results[node] for node in walk(bind.value, GraphVar) if node in results]
            if kind != CONTRACTION and any(_same_shape(bind, one) for one in before):
                found.add(bind.var)
            if (kind == CONTRACTION or bind.var in found) and uses[bind.var] == 1:
                results[bind.var] = bind
        return found

    def placed(self, bind: GraphBind, users: dict[GraphVar, list[_Use]]) -> Group | None:
        """The group of a binding: that of its consumers if it may join, else one of its own; None for no kernel."""
        kind = self.kind(bind)
        if kind is None:
            return None
        uses = users.get(bind.var, [])
        group = uses[0].group if uses else None
        joins = group is not None and all(use.group is group for use in uses)
        if group is not None and joins and len(group.members) < self.most and self.may_join(bind, kind, group, uses):
            group.members.append(bind)
            group.kinds.append(kind)
            return group
        return Group(bind, kind)

    def may_join(self, bind: GraphBind, kind: int, group: Group, uses: list[_Use]) -> bool:
        """Whether a kernel may be made where its result is used."""
        maps = kind in (ELEMENTWISE, BROADCAST, INJECTIVE)
        products = [use.bind for use in uses if use.bind is not None and self.kind(use.bind) == CONTRACTION]
        if maps and products:
            # what feeds a contraction is read many times, and would be made as often; another order costs nothing
            return is_permutation(self.callee(bind)) and all(is_product(self.callee(one)) for one in products)
        if bind.var in self.finishing and group.anchor == REDUCTION:
            return False  # a contraction does it in its tiles, once
        if self.is_beside(bind, uses):
            return False  # what is smaller is made once ahead of the contraction, which then takes what follows it
        if maps:
            return True
        if kind == CONTRACTION and group.anchor is None:
            tails = all(one in (ELEMENTWISE, BROADCAST) for one in group.kinds)
            return tails and all(
                structural_equal(bind.var.type, one.var.type) or _same_shape(bind, one) for one in group.members
            )
        return False

    def is_beside(self, bind: GraphBind, uses: list[_Use]) -> bool:
        """Whether a result is spread over that of a contraction, as the scale that a norm makes of its weights is."""
        behind = [use.bind for use in uses if use.bind is not None and use.bind.var in self.finishing]
        return bind.var not in self.finishing and any(not _same_shape(bind, one) for one in behind)

    def kind(self, bind: GraphBind) -> int | None:
        """How the kernel of a binding may be fused; None where it is no call of one."""
        value = bind.value
        if type(value) is not OpCall or value.op.name != "call_tir" or type(bind.var.type) is not TensorType:
            return None
        if self.outlining.stays(bind):
            return None
        reference, given, *rest = value.args
        if type(reference) is not FunctionRef or type(given) is not TupleExpr:
            return None
        if any(type(sizes) is not ShapeExpr for sizes in rest):
            return None
        callee = self.callee(bind)
        if type(callee) is not PrimFunc or not all(type(arg) in (GraphVar, GraphConst) for arg in given.fields):
            return None
        kind = callee.attrs.get(PATTERN, None)
        kind = int(getattr(kind, "value", kind)) if kind is not None else pattern_of(callee)
        return None if kind == OPAQUE else kind

    def callee(self, bind: GraphBind) -> Any:
        """The kernel that the value of a binding calls."""
        return self.functions.get(bind.value.args[0].function)  # type: ignore[attr-defined]

    def call(self, group: Group) -> GraphBind:
        """The call of a new function that does what the group does."""
        names = [bind.value.args[0].function for bind in group.members]  # type: ignore[attr-defined]
        return self.outlining.call(group.members, "fused_" + "_".join(names), {PRIMITIVE: True})


def _tells_sizes(group: Group) -> bool:
    """Whether the tensors that a group takes tell all sizes in it, or it takes tensors alone, and sizes behind them."""
    members = group.members
    return is_closed(members) or all(type(var.type) is TensorType for var in inputs_of(members))


def _same_shape(a: GraphBind, b: GraphBind) -> bool:
    one, other = a.var.type, b.var.type
    return (
        type(one) is TensorType
        and type(other) is TensorType
        and one.shape is not None
        and other.shape is not None
        and structural_equal(one.shape, other.shape)
    )


__all__ = ["MOST", "PRIMITIVE", "Group", "fuse_ops"]
