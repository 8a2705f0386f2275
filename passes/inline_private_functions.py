"""Calls of private functions become what these do: of tensor functions here, of graph functions as
`inline_graph_functions` does.

before:                                            after:
    @T.prim_func(private=True)                         @T.prim_func
    def addone(A: ..., B: ...):                        def main(x: ..., y: ...):
        for i in range(4):                                 for i in range(4):
            B[i] = A[i] + 1                                    y[i] = x[i] + 1

    @T.prim_func
    def main(x: ..., y: ...):
        cls.addone(x, y)

A tensor function that returns early or a value, calls itself, or takes its buffers with strides, offsets or as handles
stays a function; so does one that nobody but Python may call.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import CallFunction, Const, Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.rewrite import refresh, rewrite, substitute, walk
from tirscript.ir.stmt import Block, Evaluate, MatchBuffer, Return, Stmt

from .names import Names
from .pipeline import module_pass
from .statements import keep_comments
from .targets import TARGET


@module_pass()
def inline_private_functions(module: Module, *, most: int = 1_000) -> Module:
    """`cls.addone(x, y)` becomes `for i in range(4): y[i] = x[i] + 1` where `addone` is private; of graph functions no
    more than `most` statements."""
    if module.graph_funcs:
        from .graph.inline_graph_functions import in_place_of_calls

        module = in_place_of_calls(module, most, private=True)
    candidates = {
        one.name: one for one in module.functions if type(one) is PrimFunc and one.private and can_inline(one)
    }
    candidates = {name: one for name, one in candidates.items() if not _reaches(one, name, candidates)}
    if not candidates:
        return module
    functions = tuple(inlined(one, candidates) if type(one) is PrimFunc else one for one in module.functions)
    called = {node.function for one in functions for node in walk(one) if hasattr(node, "function")}
    kept = tuple(one for one in functions if one.name not in candidates or one.name in called)
    same = len(kept) == len(module.functions) and all(map(lambda a, b: a is b, kept, module.functions))
    return module if same else module.replace(functions=kept)


def can_inline(func: PrimFunc) -> bool:
    """Whether a call of a function may be replaced by its body; not where it is for a target of its own."""
    if TARGET in func.attrs:
        return False
    plain = all(
        param.strides is None and param.elem_offset is None if type(param) is Buffer else not param.dtype.is_handle
        for param in func.params
    )
    unusual = any(type(node) in (Return, MatchBuffer) and _of_function(node) for node in walk(func.body))
    return plain and func.returns is None and not unusual


def _of_function(node: Any) -> bool:
    return type(node) is Return or type(node.source) is Var


def _reaches(func: PrimFunc, name: str, functions: dict[str, PrimFunc]) -> bool:
    """Whether a function calls the one of that name, by others or at once."""
    seen: set[str] = set()
    waiting = [func]
    while waiting:
        for node in walk(waiting.pop()):
            if type(node) is CallFunction and node.function not in seen:
                if node.function == name:
                    return True
                seen.add(node.function)
                if node.function in functions:
                    waiting.append(functions[node.function])
    return False


def inlined(func: PrimFunc, functions: dict[str, PrimFunc]) -> PrimFunc:
    """`func` with the calls of `functions` that stand as statements replaced by what these do."""
    names = Names(node.name for node in walk(func.body, Block))

    def evaluate(stmt: Evaluate) -> Stmt | tuple[Stmt, ...]:
        call = stmt.value
        callee = functions.get(call.function) if type(call) is CallFunction else None
        if callee is None or type(call) is not CallFunction:
            return stmt
        body = _applied(inlined(callee, functions), call, names)
        return stmt if body is None else keep_comments(stmt, body)

    body: tuple[Stmt, ...] = rewrite(func.body, {Evaluate: evaluate})
    return func if body is func.body else func.replace(body=body)


def _applied(callee: PrimFunc, call: CallFunction, names: Names) -> tuple[Stmt, ...] | None:
    """The body of a function for the arguments of a call; None where they are not whole buffers of its very shapes."""
    if len(call.args) != len(callee.params):
        return None
    mapping: dict[Any, Any] = {}
    buffers: list[tuple[Buffer, Buffer]] = []
    for param, arg in zip(callee.params, call.args, strict=True):
        if type(param) is Buffer:
            if type(arg) is not Buffer or not _is_alike(param, arg):
                return None
            buffers.append((param, arg))
        elif not isinstance(arg, Expr) or type(arg) not in (Var, Const):
            return None  # it would be evaluated again at each use
        mapping[param] = arg
    # scalars come first, then dimensions that stand alone: those of any buffer may be computed from them
    if not all(_tells(param, arg, mapping) for param, arg in buffers):
        return None
    if not all(_fits(param, arg, mapping) for param, arg in buffers):
        return None
    body: tuple[Stmt, ...] = refresh(substitute(callee.body, mapping))
    return tuple(_named(stmt, names) for stmt in body)


def _is_alike(param: Buffer, arg: Buffer) -> bool:
    one, other = ((len(buffer.shape), buffer.dtype, buffer.scope) for buffer in (param, arg))
    return one == other and arg.strides is None


def _tells(param: Buffer, arg: Buffer, mapping: dict[Any, Any]) -> bool:
    """Find what the symbolic dimensions are that stand alone in a parameter; False where they are of another dtype."""
    for dim, given in zip(param.shape, arg.shape, strict=True):
        if type(dim) is Var and dim not in mapping:
            # loops to the dimension count in its dtype
            size = const(int(given.value), dim.dtype) if type(given) is Const else given
            if size.dtype is not dim.dtype:
                return False
            mapping[dim] = size
    return True


def _fits(param: Buffer, arg: Buffer, mapping: dict[Any, Any]) -> bool:
    """Whether a buffer has the shape that the parameter says."""
    for dim, given in zip(param.shape, arg.shape, strict=True):
        wanted = substitute(dim, mapping)
        same = wanted.value == given.value if type(wanted) is Const and type(given) is Const else None
        if not (structural_equal(wanted, given) if same is None else same):
            return False
    return True


def _named(stmt: Stmt, names: Names) -> Stmt:
    """A statement whose blocks have names of their own."""

    def block(node: Block) -> Block:
        name = names.fresh(node.name)
        return node if name == node.name else node.replace(name=name)

    renamed: Stmt = rewrite(stmt, {Block: block})
    return renamed


__all__ = ["can_inline", "inline_private_functions", "inlined"]
