"""Neighbouring composites for one target become one function for it, so that values between them stay there.

before:                                            after:
    @G.graph_func                                      @G.graph_func(private=True)
    def main(x, w, v):                                 def dense_dense(x, w, v):
        with G.dataflow():                                 G.func_attr({"target": T.target("my_npu")})
            a = cls.dense(x, w)                            with G.dataflow():
            b = cls.dense(a, v)                                a = cls.dense(x, w)
            G.output(b)                                        b = cls.dense(a, v)
        return b                                               G.output(b)
                                                           return b
                                                       @G.graph_func
                                                       def main(x, w, v):
                                                           with G.dataflow():
                                                               b = cls.dense_dense(x, w, v)
                                                               G.output(b)
                                                           return b

A composite is a function with the attribute "composite" (`fuse_by_pattern`) and a target. A group gives one value: of
what it computes, nothing but the last value is used outside of it, so no way leads out of it and back.
"""

from __future__ import annotations

from tirscript.ir.graph import Dataflow, FunctionCall, FunctionRef, GraphBind, GraphFunc, GraphVar
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk
from tirscript.ir.target import Target

from ..pipeline import module_pass
from ..targets import TARGET, outer_target, own_target
from .fuse_by_pattern import COMPOSITE
from .outline import Outlining, is_closed


@module_pass()
def merge_composite(module: Module) -> Module:
    """`a = cls.dense(x, w); b = cls.dense(a, v)`, composites for one target, becomes `b = cls.dense_dense(x, w, v)`."""
    outer = outer_target(module)
    targets: dict[str, Target] = {}
    for one in module.functions:
        target = own_target(one, outer) if isinstance(one, GraphFunc) and COMPOSITE in one.attrs else None
        if target is not None:
            targets[one.name] = target
    return _Merging(module, targets, outer).run() if targets else module


class _Merging(Outlining):
    def __init__(self, module: Module, targets: dict[str, Target], outer: Target | None) -> None:
        super().__init__(module, COMPOSITE, self.dataflow)
        self.targets, self.outer = targets, outer

    def function(self, func: GraphFunc) -> GraphFunc:
        """What is for a target already is a group."""
        own = own_target(func, self.outer)
        return func if own is not None and own in self.targets.values() else super().function(func)

    def target(self, stmt: GraphBind) -> Target | None:
        """The target of the composite that a binding calls."""
        call = stmt.value
        if type(call) is not FunctionCall or type(call.function) is not FunctionRef or self.stays(stmt):
            return None
        return self.targets.get(call.function.function)

    def dataflow(self, block: Dataflow) -> Dataflow:
        users: dict[GraphVar, list[GraphVar | None]] = {var: [None] for var in block.outputs}
        for stmt in block.body:
            bound = stmt.var if type(stmt) is GraphBind else None
            for node in walk(getattr(stmt, "value", stmt)):
                if type(node) is GraphVar:
                    users.setdefault(node, []).append(bound)
        groups: dict[GraphVar, list[GraphBind]] = {}  # by the value that each gives
        for stmt in block.body:
            target = self.target(stmt) if type(stmt) is GraphBind else None
            if target is None or type(stmt) is not GraphBind:
                continue
            made = [stmt]
            # a group joins when nothing but the new one uses what it gives
            for var in dict.fromkeys(walk(stmt.value, GraphVar)):
                group = groups.get(var)
                if group is None or self.target(group[-1]) != target or set(users.get(var, [])) != {stmt.var}:
                    continue
                if is_closed([*group, *made]):
                    del groups[var]
                    made = [*group, *made]
            groups[stmt.var] = made
        order = {stmt.var: at for at, stmt in enumerate(block.body) if type(stmt) is GraphBind}
        merged: dict[GraphVar, GraphBind | None] = {}
        for root, members in groups.items():
            if len(members) == 1:
                continue
            members.sort(key=lambda stmt: order[stmt.var])
            merged.update({stmt.var: None for stmt in members})
            called = [stmt.value.function.function for stmt in members]  # type: ignore[attr-defined]
            merged[root] = self.call(members, "_".join(called), {TARGET: self.target(members[-1])})
        if not merged:
            return block
        body = [merged.get(stmt.var, stmt) if type(stmt) is GraphBind else stmt for stmt in block.body]
        return block.replace(body=tuple(stmt for stmt in body if stmt is not None))


__all__ = ["merge_composite"]
