"""What a pattern finds becomes a function of its own, by which it is known from then on.

before:                                            after:
    with G.dataflow():                                 @G.graph_func(private=True)
        a = G.nn.conv2d(x, w)                          def conv2d_relu(x, w):
        b = G.nn.relu(a)                                   G.func_attr({"composite": "my.conv2d_relu"})
        G.output(b)                                        with G.dataflow():
                                                               a = G.nn.conv2d(x, w)
                                                               b = G.nn.relu(a)
                                                               G.output(b)
                                                           return b
                                                       ...
                                                       with G.dataflow():
                                                           b = cls.conv2d_relu(x, w)
                                                           G.output(b)

Only the last value of what is found may be used elsewhere, and its symbolic dimensions must be those of parameters
that hold them plainly. Earlier patterns come first, and later bindings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirscript.ir.check import public
from tirscript.ir.graph import Dataflow, GraphBind, GraphExpr, GraphVar
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Stmt

from .outline import Outlining, is_closed
from .patterns import Match, Pattern

COMPOSITE = "composite"


@public
def fuse_by_pattern(
    module: Module, patterns: Mapping[str, Pattern], *, attrs: Mapping[str, Any] | None = None
) -> Module:
    """The module with a private function for each place at which one of `patterns` is found.

    The function has the attribute "composite", the name of the pattern, and those of `attrs`.
    """
    return _Fusion(module, patterns, dict(attrs or {})).outlining.run()


class _Fusion:
    def __init__(self, module: Module, patterns: Mapping[str, Pattern], attrs: dict[str, Any]) -> None:
        self.patterns, self.attrs = patterns, attrs
        self.outlining = Outlining(module, COMPOSITE, self.dataflow)

    def dataflow(self, block: Dataflow) -> Dataflow:
        for name, pattern in self.patterns.items():
            block = self.every(block, name, pattern)
        return block

    def every(self, block: Dataflow, name: str, pattern: Pattern) -> Dataflow:
        """The block with a call for each place at which the pattern is found, from the last to the first."""
        free = (one for one in block.body if type(one) is GraphBind and not self.outlining.stays(one))
        binds = {one.var: one for one in free}
        values: dict[GraphVar, GraphExpr] = {var: bind.value for var, bind in binds.items()}
        users: dict[GraphVar, list[GraphVar | None]] = {var: [None] for var in block.outputs}
        for one in block.body:
            for node in walk(getattr(one, "value", one)):
                if type(node) is GraphVar:
                    users.setdefault(node, []).append(one.var if type(one) is GraphBind else None)
        taken: set[GraphVar] = set()
        calls: dict[GraphVar, GraphBind] = {}
        for root in reversed(list(binds)):
            match = Match(values)
            if root in taken or not pattern.match(root, match) or root not in match.inside:
                continue
            inside = set(match.inside)
            closed = all(user in inside for var in inside if var is not root for user in users.get(var, []))
            members = [bind for var, bind in binds.items() if var in inside]
            if not closed or inside & taken or not is_closed(members):
                continue
            taken |= inside
            calls[root] = self.outlining.call(members, name.rpartition(".")[2], {COMPOSITE: name, **self.attrs})
        if not calls:
            return block
        body: list[Stmt] = []
        for one in block.body:
            var = one.var if type(one) is GraphBind else None
            if var in calls:
                body.append(calls[var])
            elif var not in taken:
                body.append(one)
        return block.replace(body=tuple(body))


__all__ = ["COMPOSITE", "fuse_by_pattern"]
