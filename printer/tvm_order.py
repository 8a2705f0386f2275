"""What stands elsewhere for TVM.

Scalars in calls of tensor functions: ours are behind the results, those of TVM among the arguments.

before:                                             after:
    def relu(x, out, n): ...                            def relu(x, n, out): ...
    y = G.call_tir(relu, (x,), tir_vars=(n,))           y = G.call_tir(relu, (x, n))

Buffers that are matched: TVM takes no `T.match_buffer` behind a `T.decl_buffer` or an `assert` of the same body.

before:                                             after:
    D = T.decl_buffer((4,), data=A.data)                B = T.match_buffer(b, (4,))
    B = T.match_buffer(b, (4,))                         D = T.decl_buffer((4,), data=A.data)
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.effects import reads_memory
from tirscript.ir.expr import BufferRegion, CallFunction
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef, OpCall, PrimValue, ShapeExpr, TupleExpr
from tirscript.ir.module import Module
from tirscript.ir.node import Node
from tirscript.ir.rewrite import definitions, rewrite, walk
from tirscript.ir.stmt import Assert, Block, DeclBuffer, MatchBuffer, Stmt
from tirscript.ir.wellformed.size import refuse_endless

from .core import refuse
from .launch import fields_of_bodies

_CALLS = frozenset(("call_tir", "call_tir_inplace", "dist.call_tir", "dist.call_tir_local_view"))


def in_order_of_tvm(program: Node) -> Node:
    """A program as it stands in TVM's text."""
    if _matches(program):
        refuse_endless(program)
        program = rewrite(program, {PrimFunc: _matches_first, Block: _matches_first})
    return scalars_among_arguments(program) if type(program) is Module else program


def _matches(program: Node) -> bool:
    """Whether a body of a program matches buffers: expressions, which are most of it, are not looked at."""
    functions = program.functions if type(program) is Module else (program,)
    waiting: list[tuple[Stmt, ...]] = [one.body for one in functions if type(one) is PrimFunc]
    seen: set[int] = set()
    while waiting:
        for stmt in waiting.pop():
            if type(stmt) is MatchBuffer:
                return True
            for name in fields_of_bodies(type(stmt)):
                inner = getattr(stmt, name)
                if inner and id(inner) not in seen:
                    seen.add(id(inner))
                    waiting.append(inner)
    return False


def _matches_first(node: PrimFunc | Block) -> PrimFunc | Block:
    """A function or a block whose matched buffers stand above what TVM lets none stand behind."""
    body = node.body
    above = next((at for at, stmt in enumerate(body) if type(stmt) is DeclBuffer or type(stmt) is Assert), len(body))
    matched = tuple(stmt for stmt in body[above:] if type(stmt) is MatchBuffer)
    if not matched:
        return node
    rest = tuple(stmt for stmt in body[above:] if type(stmt) is not MatchBuffer)
    defined = set(definitions(rest))
    for stmt in matched:
        source = stmt.source.ranges if type(stmt.source) is BufferRegion else ()
        if any(part in defined for part in walk(stmt)) or any(map(reads_memory, source)):
            what = f"TVM matches buffers above what a body declares and asserts, and `{stmt.buffer.name}` needs some"
            raise refuse(what, stmt.span, "open a block for it behind what it needs")
    return node.replace(body=(*body[:above], *matched, *rest))


def scalars_among_arguments(module: Module) -> Module:
    """The module with scalars that graphs pass behind the results as the last of the arguments.

    A function that is called in both ways, or with unknown scalars, stays.
    """
    counts: dict[str, set[tuple[int, int]]] = {}
    for func in module.graph_funcs:
        for node in walk(func):
            if type(node) is OpCall and node.op.name in _CALLS:
                given, more = node.args[1], node.args[2] if len(node.args) > 2 else None
                if type(node.args[0]) is not FunctionRef:
                    continue
                ways = counts.setdefault(node.args[0].function, set())
                if type(given) is TupleExpr and (more is None or type(more) is ShapeExpr):
                    ways.add((len(given.fields), 0 if more is None else len(more.values)))
                else:
                    ways.update(((-1, 0), (0, -1)))
    moved: dict[str, tuple[int, int]] = {}
    for name, found in counts.items():
        (first, many), *others = found
        if not others and many > 0 and name in module and type(module[name]) is PrimFunc:
            moved[name] = (first, many)
    if not moved:
        return module

    def in_order(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        first, many = moved[name]
        return (*values[:first], *values[len(values) - many :], *values[first : len(values) - many])

    def of_graph(call: OpCall) -> OpCall:
        if call.op.name not in _CALLS or call.args[0].function not in moved:  # type: ignore[attr-defined]
            return call
        function, given, sizes = call.args[:3]
        fields = (*given.fields, *map(PrimValue, sizes.values))  # type: ignore[attr-defined]
        return call.replace(args=(function, given.replace(fields=fields)))

    def of_function(call: CallFunction) -> CallFunction:
        return call.replace(args=in_order(call.function, call.args)) if call.function in moved else call

    functions = []
    for one in module.functions:
        if type(one) is PrimFunc and one.name in moved:
            one = one.replace(params=in_order(one.name, one.params))
        functions.append(rewrite(one, {OpCall: of_graph, CallFunction: of_function}))
    return module.replace(functions=tuple(functions))


__all__ = ["in_order_of_tvm"]
