"""Which functions of a module are compiled together, as one object file, and which apart, on several threads.

LLVM sees the functions of one file at once: it puts callees in the place of their calls, and numbers that are known in
a call into the callee. So those stay together where that may pay. What is left are kernels that their callers, as graph
functions become, run once one after the other. The answer is that of the program alone, so that its code is the same
on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import CallFunction, Const, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import is_larger, walk
from tirscript.ir.stmt import For, MatchBuffer, While

from .aliasing import CallSite

CALL = 50  # what a call adds to its caller, in nodes: checks, and views of what is passed
SMALL = 150  # nodes of a function that LLVM may put in the place of its calls, wherever they stand
LEAST = 24_000  # bytes of LLVM IR that are worth an object file of their own: some 20 ms, beside 3 that it costs anyhow


def groups(functions: Sequence[PrimFunc], sites: Sequence[CallSite]) -> list[list[str]]:
    """The names of functions that must be compiled together, the largest group first; functions as they stand."""
    by_name = {func.name: func for func in functions}
    leader = {name: name for name in by_name}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = name = leader[leader[name]]
        return name

    repeated: dict[str, set[int]] = {}
    for caller, call in sites:
        callee = by_name.get(call.function)
        if callee is None or find(caller.name) == find(callee.name):
            continue
        if caller.name not in repeated:
            repeated[caller.name] = _repeated(caller)
        if id(call) in repeated[caller.name] or _is_small(callee) or _specializes(call, callee):
            leader[find(callee.name)] = find(caller.name)
    found: dict[str, list[str]] = {}
    for name in by_name:
        found.setdefault(find(name), []).append(name)
    if len(found) == 1:
        return list(found.values())
    sizes = {name: sum(1 for _ in walk(func)) for name, func in by_name.items()}
    for caller, _ in sites:
        sizes[caller.name] += CALL
    return sorted(found.values(), key=lambda names: -sum(sizes[name] for name in names))


def _repeated(func: PrimFunc) -> set[int]:
    """The calls inside of loops, by id."""
    found: set[int] = set()
    for loop in (node for node in walk(func.body) if type(node) is For or type(node) is While):
        found.update(id(node) for node in walk(loop, CallFunction))
    return found


def _is_small(func: PrimFunc) -> bool:
    return not is_larger(func, SMALL)


def _specializes(call: CallFunction, callee: PrimFunc) -> bool:
    """Whether a call passes a number that the program knows: the value of a scalar, or the size of a dimension."""
    matched = {
        stmt.source: stmt.buffer for stmt in callee.body if type(stmt) is MatchBuffer and isinstance(stmt.source, Var)
    }
    for param, given in zip(callee.params, call.args, strict=False):
        if type(given) is Const:
            return True
        buffer = param if isinstance(param, Buffer) else matched.get(param)
        if buffer is None or not any(isinstance(dim, Var) for dim in buffer.shape):
            continue
        if not isinstance(given, Buffer):
            return True  # a region, whose sizes are differences
        if any(isinstance(dim, Var) and type(size) is Const for dim, size in zip(buffer.shape, given.shape)):
            return True
    return False


__all__ = ["LEAST", "groups"]
