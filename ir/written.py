"""Which parameters a function may write: by a store, through a view, in a function it calls, or in foreign code."""

from __future__ import annotations

from typing import Any

from . import attributes
from .buffer import Buffer
from .effects import has_effect
from .expr import BufferData, BufferLoad, BufferRegion, Call, CallFunction, Var
from .func import PrimFunc
from .module import Module
from .node import Node
from .rewrite import walk
from .stmt import BufferStore, DeclBuffer, MatchBuffer

Param = Var | Buffer
_Known = dict[str, frozenset[Param]]


class _Reading(_Known):
    """What the functions read so far write. `before` is taken of one that is being read; `met` tells of such."""

    def __init__(self, before: _Known) -> None:
        self.before, self.met = before, False
        self.open: set[str] = set()


def written_params(func: PrimFunc, module: Module | None = None, *, foreign: bool = True) -> frozenset[Param]:
    """The parameters whose memory `func` may write: by a store, through a view, in a function it calls, or in
    foreign code. Without `foreign`, code that is called by name is taken to only read what nothing else writes."""
    functions = {} if module is None else {one.name: one for one in module.prim_funcs}
    # functions that call themselves: what the last reading found, until another one finds no more
    before: _Known = {}
    while True:
        found = _Reading(before)
        result = _written(func, functions, found, foreign)
        if not found.met or found == before:
            return result
        before = dict(found)


def noalias(func: PrimFunc) -> bool:
    """Whether a buffer argument that is written must overlap no other: unless the attributes say otherwise."""
    return attributes.noalias(func.attrs)


def only_reads(func: PrimFunc) -> bool:
    """Whether a call of a function does nothing but give a value: it writes memory of its own alone, and calls none."""
    calls = (node for node in walk(func.body) if type(node) in (Call, CallFunction))
    return not written_params(func) and not any(map(has_effect, calls))


def _written(func: PrimFunc, functions: dict[str, PrimFunc], known: _Reading, foreign: bool) -> frozenset[Param]:
    if func.name in known:
        return known[func.name]
    if func.name in known.open:
        known.met = True
        return known.before.get(func.name, frozenset())
    known.open.add(func.name)
    source: dict[Node, list[Node]] = {}  # a buffer or variable -> what it is a view of
    written: list[Node] = []
    for found in walk(func):
        node: Any = found
        cls = type(node)
        if cls is BufferStore:
            written.append(node.buffer)
        elif cls is DeclBuffer:
            source.setdefault(node.buffer, []).extend(roots(node.data))
        elif cls is MatchBuffer:
            origin = node.source
            source.setdefault(node.buffer, []).append(origin.buffer if type(origin) is BufferRegion else origin)
        elif cls is CallFunction:
            written += _passed(node, functions, known, foreign)
        elif foreign and cls is Call and node.op.name in ("call_extern", "call_packed"):
            for arg in node.args:
                written += roots(arg)
        elif getattr(cls, "defines", ()) == ("var",) and hasattr(node, "value"):  # Bind, Let: a name for an address
            source.setdefault(node.var, []).extend(roots(node.value))
    marked: set[Node] = set()
    while written:
        node = written.pop()
        if node not in marked:
            marked.add(node)
            written += source.get(node, ())
    matched = {id(stmt.source): stmt.buffer for stmt in func.body if type(stmt) is MatchBuffer}
    result = frozenset(param for param in func.params if param in marked or matched.get(id(param)) in marked)
    known[func.name] = result
    return result


def roots(value: Any) -> list[Node]:
    """The buffers and handles whose address a value is made of."""
    if isinstance(value, Buffer):
        return [value]
    if type(value) is BufferRegion:
        return [value.buffer]
    if not value.dtype.is_handle:
        return []
    found: list[Node] = []
    for node in walk(value):
        if type(node) is BufferData or type(node) is BufferLoad:
            found.append(node.buffer)
        elif type(node) is Var and node.dtype.is_handle:
            found.append(node)
    return found


def _passed(node: CallFunction, functions: dict[str, PrimFunc], known: _Reading, foreign: bool) -> list[Node]:
    callee = functions.get(node.function)
    found: list[Node] = []
    inner = None if callee is None else _written(callee, functions, known, foreign)
    for at, arg in enumerate(node.args):
        if callee is None or inner is None or at >= len(callee.params) or callee.params[at] in inner:
            found += roots(arg)
    return found
