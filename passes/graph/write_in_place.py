"""A kernel that works element by element writes into an argument that is not needed any more.

before:                                            after:
    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def grow(A: ..., B: ...):                          def grow_in_place(A: ...):
        ... B[i] = A[i] * 2.0                              ... A[i] = A[i] * 2.0

    @T.prim_func                                       @T.prim_func
    def main(x: ..., y: ...):                          def main(x: ..., y: ...):
        h = T.alloc_buffer((64,), "float32")               h = T.alloc_buffer((64,), "float32")
        cls.first(x, h)                                    cls.first(x, h)
        k = T.alloc_buffer((64,), "float32")               cls.grow_in_place(h)
        cls.grow(h, k)                                     cls.last(h, y)
        cls.last(k, y)

The argument is a temporary of the same shape and dtype, whose last use is the call, and of which the kernel's one block
reads the element that it stores and no other. The kernel in place is one of its own, so that no two parameters of a
call are the same memory.
"""

from __future__ import annotations

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, BufferLoad, CallFunction, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef
from tirscript.ir.graph_ops import dims
from tirscript.ir.module import Module
from tirscript.ir.node import Node, are_same
from tirscript.ir.rewrite import refresh, substitute, walk
from tirscript.ir.stmt import AllocBuffer, Block, BufferStore, DeclBuffer, Evaluate, For, Stmt

from ..names import Names
from ..pipeline import module_pass
from ..targets import TARGET


@module_pass()
def write_in_place(module: Module) -> Module:
    """`cls.grow(h, k)` becomes `cls.grow_in_place(h)` where `h` is not used any more, and `k` is `h` from there on."""
    rewriting = _InPlace(module)
    functions = tuple(rewriting.function(one) if isinstance(one, PrimFunc) else one for one in module.functions)
    if are_same(functions, module.functions):
        return module
    made = (*rewriting.made.values(), *functions)
    called = {node.function for one in made for node in walk(one) if isinstance(node, (CallFunction, FunctionRef))}
    replaced = {name for name, _, _ in rewriting.made} - called
    return module.replace(functions=tuple(one for one in made if one.name not in replaced))


class _Uses(Struct, frozen=True, eq=False):
    """The first and the last statement of a body that names a buffer or a view of it, by the buffer that is allocated.

    `roots` tell the allocation of a buffer, `merged` in which other one it lies by now.
    """

    roots: dict[Buffer, Buffer]
    first: dict[Buffer, int]
    last: dict[Buffer, int]
    merged: dict[Buffer, Buffer]

    def root(self, buffer: Buffer) -> Buffer | None:
        """The allocation in which a buffer lies; None where it is no temporary."""
        found = self.roots.get(buffer)
        while found in self.merged:
            found = self.merged[found]
        return found

    def merge(self, inner: Buffer, outer: Buffer) -> None:
        """The first allocation lies in the second from now on."""
        self.merged[inner] = outer
        self.last[outer] = max(self.last[outer], self.last[inner])


class _InPlace:
    def __init__(self, module: Module) -> None:
        # a kernel for a target of its own is called as it is
        kernels = [one for one in module.functions if isinstance(one, PrimFunc) and TARGET not in one.attrs]
        self.kernels = {one.name: one for one in kernels if one.private}
        self.names = Names(one.name for one in module.functions)
        self.made: dict[tuple[str, int, int], PrimFunc] = {}
        self.fits: dict[str, list[tuple[int, int]]] = {}

    def function(self, func: PrimFunc) -> PrimFunc:
        """A function whose calls write in place where they may."""
        if not any(type(stmt) is Evaluate and type(stmt.value) is CallFunction for stmt in func.body):
            return func
        uses = _uses(func.body)
        instead: dict[Buffer, Buffer] = {}
        gone: set[Buffer] = set()
        body: list[Stmt] = []
        for at, stmt in enumerate(func.body):
            made: Stmt = substitute(stmt, instead) if instead else stmt
            if type(stmt) is Evaluate and type(stmt.value) is CallFunction and type(made) is Evaluate:
                found = self.place(stmt.value, at, uses)
                if found is not None:
                    source, target = found
                    given, out = stmt.value.args[source], stmt.value.args[target]
                    assert isinstance(given, Buffer) and isinstance(out, Buffer) and type(made.value) is CallFunction
                    other = instead.get(given, given)
                    instead[out] = other
                    gone.add(out)
                    root = uses.root(given)
                    assert root is not None
                    uses.merge(out, root)
                    name = self.kernel(stmt.value.function, source, target)
                    args = tuple(arg for number, arg in enumerate(made.value.args) if number != target)
                    made = made.replace(value=made.value.replace(function=name, args=args))
            body.append(made)
        if not gone:
            return func
        kept = (stmt for stmt in body if not (type(stmt) is AllocBuffer and stmt.buffer in gone))
        return func.replace(body=tuple(kept))

    def place(self, call: CallFunction, at: int, uses: _Uses) -> tuple[int, int] | None:
        """Which argument of a call its result may be written into: the numbers of both."""
        for source, target in self.pairs(call.function):
            given, out = call.args[source], call.args[target]
            if type(given) is not Buffer or type(out) is not Buffer:
                continue
            root = uses.root(given)
            if root is None or uses.root(out) is not out or root is out:
                continue
            if uses.last[root] != at or uses.first.get(out) != at:
                continue
            same = given.dtype is out.dtype and _same_shape(given, out)
            others = [arg for number, arg in enumerate(call.args) if number != source and type(arg) is Buffer]
            if same and not any(uses.root(arg) is root for arg in others) and given.align >= out.align:
                return source, target
        return None

    def pairs(self, name: str) -> list[tuple[int, int]]:
        """Pairs of a parameter that is read, and one that is written, of a kernel that may share their memory."""
        found = self.fits.get(name)
        if found is None:
            func = self.kernels.get(name)
            found = self.fits[name] = [] if func is None else element_by_element(func)
        return found

    def kernel(self, name: str, source: int, target: int) -> str:
        """The name of the kernel in place."""
        known = self.made.get((name, source, target))
        if known is None:
            func = self.kernels[name]
            params = tuple(param for at, param in enumerate(func.params) if at != target)
            made = substitute(func.replace(params=params), {func.params[target]: func.params[source]})
            known = self.made[name, source, target] = refresh(made.replace(name=self.names.fresh(f"{name}_in_place")))
        return known.name


def element_by_element(func: PrimFunc) -> list[tuple[int, int]]:
    """The pairs (read, written) of parameters of a kernel that may be one: only the same element is read before it.

    The kernel has one block, with one store at the values of axes of its own, each iteration at another element.
    """
    blocks = [node for node in walk(func.body, Block) if (node.axes or node.init is not None)]
    stores = list(walk(func.body, BufferStore))
    if len(blocks) != 1 or len(stores) != 1 or len(blocks[0].body) != 1 or stores[0] is not blocks[0].body[0]:
        return []
    block, store = blocks[0], stores[0]
    axes = {axis.var for axis in block.axes if axis.kind == "spatial"}
    plain = all(type(index) is Var and index in axes for index in store.indices)
    if not plain or len(set(store.indices)) != len(axes) or len(axes) != len(block.axes) or block.init is not None:
        return []
    loops = {node.var for node in walk(func.body, For)}
    if loops != {axis.value for axis in block.axes} or len(loops) != len(block.axes):
        return []
    if any(type(node) in (BufferData, CallFunction) for node in walk(func.body)) or store.predicate is not None:
        return []
    target = store.buffer
    loads: dict[Buffer, list[tuple[Expr, ...]]] = {}
    for node in walk(func.body):
        if type(node) is BufferLoad:
            loads.setdefault(node.buffer, []).append(node.indices)
    if target not in func.params or target in loads:
        return []
    return [
        (at, func.params.index(target))
        for at, param in enumerate(func.params)
        if type(param) is Buffer
        and all(indices == store.indices for indices in loads.get(param, [()]))
        and param.dtype is target.dtype
        and _same_shape(param, target)
        and param.is_plain
        and target.is_plain
    ]


def _same_shape(one: Buffer, other: Buffer) -> bool:
    return dims.same_shapes(tuple(map(dims.dim, one.shape)), tuple(map(dims.dim, other.shape)))


def _uses(body: tuple[Stmt, ...]) -> _Uses:
    roots: dict[Buffer, Buffer] = {}
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for at, stmt in enumerate(body):
        if type(stmt) is AllocBuffer and stmt.buffer.scope == "global" and not stmt.annotations:
            roots[stmt.buffer] = stmt.buffer
            last[stmt.buffer] = at
            continue
        found = {roots[buffer] for buffer in _buffers(stmt) if buffer in roots}
        last.update(dict.fromkeys(found, at))
        for root in found:
            first.setdefault(root, at)
        if type(stmt) is DeclBuffer:
            lies_in = {roots[buffer] for buffer in _buffers(stmt.data) if buffer in roots}
            if len(lies_in) == 1:
                roots[stmt.buffer] = lies_in.pop()
    return _Uses(roots, first, last, {})


def _buffers(node: Node) -> set[Buffer]:
    return set(walk(node, Buffer))


__all__ = ["element_by_element", "write_in_place"]
