"""Which functions may promise LLVM that their pointer parameters do not overlap.

The entry checks the arguments that come from Python; here are the calls between functions of one module.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

from tirscript.backend.runtime.arguments import written_params
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, BufferLoad, BufferRegion, Call, CallFunction, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Bind, DeclBuffer, MatchBuffer
from tirscript.ir.written import noalias

_UNKNOWN = "unknown"


CallSite = tuple[PrimFunc, CallFunction]


def call_sites(module: Module) -> list[CallSite]:
    """The calls between the functions of a module, each with the function that makes it."""
    functions = [func for func in module.functions if type(func) is PrimFunc]
    return [(func, node) for func in functions for node in walk(func, CallFunction)]


def noalias_functions(module: Module, sites: list[CallSite] | None = None) -> dict[str, bool]:
    """For every function whether its pointers are disjoint in all calls, where one of them is written.

    `sites` are the calls, where they are known already.
    """
    functions = {func.name: func for func in module.functions if type(func) is PrimFunc}
    found = {name: noalias(func) for name, func in functions.items()}
    sites = call_sites(module) if sites is None else sites
    if not sites:
        return found
    callers = {func.name: func for func, _ in sites}
    roots = {name: _roots(func) for name, func in callers.items()}
    parts = {name: _parts(func) for name, func in callers.items()}
    called = {call.function for _, call in sites} & functions.keys()
    written = {name: written_params(functions[name], module) for name in called}
    changed = True
    while changed:
        changed = False
        for caller, call in sites:
            callee = functions.get(call.function)
            if callee is None or not found[callee.name] or len(call.args) != len(callee.params):
                continue
            if _may_overlap(
                callee, call, written[callee.name], roots[caller.name], parts[caller.name], found[caller.name]
            ):
                found[callee.name] = False
                changed = True
    return found


def _may_overlap(
    callee: PrimFunc,
    call: CallFunction,
    written: frozenset[Var | Buffer],
    roots: dict[Any, Any],
    parts: dict[Any, tuple[int, int]],
    disjoint: bool,
) -> bool:
    passed = [
        (param in written, _root(arg, roots), parts.get(arg) if isinstance(arg, Buffer) else None)
        for param, arg in zip(callee.params, call.args, strict=True)
        if isinstance(param, Buffer) or param.dtype.is_handle
    ]
    for (writes, one, part), (also, other, there) in combinations(passed, 2):
        if not writes and not also:
            continue
        if one is other and part and there and (part[1] <= there[0] or there[1] <= part[0]):
            continue  # two places of an arena
        if one is other or _UNKNOWN in (one, other):
            return True
        if not disjoint and type(one) is tuple and type(other) is tuple:  # two parameters
            return True
    return False


def _roots(func: PrimFunc) -> dict[Any, Any]:
    """What each buffer and handle is a part of: an allocation (the buffer itself) or a parameter (in a tuple)."""
    roots: dict[Any, Any] = {param: (param,) for param in func.params}
    for node in walk(func):
        if type(node) is AllocBuffer or type(node) is AllocateConst:
            roots[node.buffer] = node.buffer
        elif type(node) is MatchBuffer:
            roots[node.buffer] = _root(node.source, roots)
        elif type(node) is DeclBuffer:
            roots[node.buffer] = _root(node.data, roots)
        elif type(node) is Bind and node.var.dtype.is_handle:
            roots[node.var] = _root(node.value, roots)
    return roots


def _parts(func: PrimFunc) -> dict[Any, tuple[int, int]]:
    """The bytes of its allocation that a buffer is, where it is a view of one at a constant place."""
    found: dict[Any, tuple[int, int]] = {}
    whole = {node.buffer for node in walk(func, AllocBuffer) if node.buffer.elem_offset is None}
    for node in walk(func):
        if type(node) is not DeclBuffer or node.buffer.strides is not None or node.buffer.elem_offset is not None:
            continue
        first, shape = _offset(node.data, whole), node.buffer.constant_shape()
        if shape is not None and first is not None:
            found[node.buffer] = (first, first + math.prod(shape) * node.buffer.dtype.itemsize)
    return found


def _offset(data: Expr, whole: set[Buffer]) -> int | None:
    """How many bytes into an allocation an address is: `arena.data`, `T.address_of(arena[256])`."""
    if type(data) is BufferData and data.buffer in whole:
        return 0
    if type(data) is Call and data.op is OPS["address_of"] and type(data.args[0]) is BufferLoad:
        load = data.args[0]
        if load.buffer in whole and len(load.indices) == 1 and type(load.indices[0]) is Const:
            return int(load.indices[0].value) * load.buffer.dtype.itemsize
    return None


def _root(value: Any, roots: dict[Any, Any]) -> Any:
    if isinstance(value, (Buffer, Var)):
        return roots.get(value, _UNKNOWN)
    if isinstance(value, BufferRegion):
        return roots.get(value.buffer, _UNKNOWN)
    assert isinstance(value, Expr)
    found: list[Any] = []
    for node in walk(value):
        if type(node) is BufferData or type(node) is BufferLoad:
            found.append(roots.get(node.buffer, _UNKNOWN))
        elif type(node) is Var and node.dtype.is_handle:
            found.append(roots.get(node, _UNKNOWN))
    return found[0] if found and all(root is found[0] for root in found) else _UNKNOWN
