"""Kernels that move nothing become reshapes, which are memory seen with another shape: no copy, no kernel.

before:                                            after:
    y = G.call_tir(                                    y = G.reshape(x, (2, 12))
        cls.flat, (x,), out=G.Tensor((2, 12), "float32")
    )

A kernel moves nothing where each element of its result is the element of its argument at the same place in row-major
order; this is proved from its indices. It runs after kernels were fused, so that it meets those that are left alone.
A function in which memory is written in place, or that has other effects, stays as it is.
"""

from __future__ import annotations

from collections import Counter

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, CallFunction, Const, Expr, Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef, GraphExpr, GraphFunc, OpCall, PrimValue, ShapeExpr, TensorType, TupleExpr
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import rewrite, walk
from tirscript.ir.stmt import AllocBuffer, Axis, Block, BufferStore, For, Stmt

from ..pipeline import module_pass
from .replacing import each_graph_func, is_pure

_ADD, _MUL, _DIV, _MOD = map(get_op, ("add", "mul", "floordiv", "floormod"))


@module_pass()
def rewrite_reshape(module: Module) -> Module:
    """`y = G.call_tir(cls.flat, (x,), out=...)` becomes `y = G.reshape(x, (2, 12))`, which is a view."""
    still = {one.name for one in module.functions if isinstance(one, PrimFunc) and moves_nothing(one)}
    if not still:
        return module
    made = each_graph_func(module, lambda func: _rewritten(func, still, module))
    if made is module:
        return module
    nodes = (node for one in made.functions for node in walk(one))  # fused kernels call kernels too
    called = Counter(node.function for node in nodes if isinstance(node, (CallFunction, FunctionRef)))
    kept = (one for one in made.functions if one.name not in still or called[one.name] or not one.private)
    return made.replace(functions=tuple(kept))


def _rewritten(func: GraphFunc, still: set[str], module: Module) -> GraphFunc:
    if not is_pure(func, module):
        return func

    def reshaped(call: OpCall) -> GraphExpr:
        if call.op is not CALL_TIR or len(call.types) != 1:
            return call
        function, given, kind = call.args[0], call.args[1], call.types[0]
        if type(function) is not FunctionRef or function.function not in still or type(kind) is not TensorType:
            return call
        fields = given.fields if type(given) is TupleExpr else ()
        tensors = [field for field in fields if type(field) is not PrimValue]  # what else it takes are sizes
        if len(tensors) != 1 or kind.shape is None or type(type_of(tensors[0], module)) is not TensorType:
            return call
        made: GraphExpr = GRAPH_OPS["reshape"](tensors[0], ShapeExpr(kind.shape))
        return made

    return rewrite(func, {OpCall: reshaped})


def moves_nothing(func: PrimFunc) -> bool:
    """Whether a kernel of one tensor, sizes and one result copies all elements in row-major order."""
    buffers = [param for param in func.params if type(param) is Buffer]
    sizes = [param for param in func.params if type(param) is not Buffer]
    if len(buffers) != 2 or func.returns is not None or not all(size.dtype.is_int for size in sizes):
        return False
    source, target = buffers
    if source.dtype is not target.dtype:
        return False
    if not (source.is_plain and target.is_plain):
        return False
    found = _the_block(func.body, {})
    if found is None:
        return False
    block, loops = found
    store = block.body[0] if len(block.body) == 1 else None
    if block.init is not None or block.predicate is not None or type(store) is not BufferStore:
        return False
    load = store.value
    if store.buffer is not target or store.predicate is not None:
        return False
    if type(load) is not BufferLoad or load.buffer is not source or load.predicate is not None:
        return False
    if not dims.same(_count(source), _count(target)) or not _covers(store, block.axes, loops):
        return False
    analyzer = Analyzer()
    for axis in block.axes:
        analyzer.enter_axis(axis)
    return analyzer.prove_equal(_place(load.indices, source), _place(store.indices, target))


def _the_block(body: tuple[Stmt, ...], loops: dict[Var, For]) -> tuple[Block, dict[Var, For]] | None:
    """The one block of a nest of plain loops, and the loops."""
    stmts = [stmt for stmt in body if type(stmt) is not AllocBuffer]
    if len(stmts) != 1:
        return None
    (stmt,) = stmts
    if type(stmt) is For and stmt.kind in ("serial", "parallel", "vectorized", "unroll") and stmt.step is None:
        return _the_block(stmt.body, {**loops, stmt.var: stmt})
    if type(stmt) is not Block:
        return None
    inner = not stmt.axes and stmt.init is None and stmt.predicate is None and len(stmt.body) == 1
    if inner and type(stmt.body[0]) in (For, Block):
        return _the_block(stmt.body, loops)
    return stmt, loops


def _covers(store: BufferStore, axes: tuple[Axis, ...], loops: dict[Var, For]) -> bool:
    """Whether the iterations store every element: an axis of its own, or 0, for each dimension, over all of it."""
    known = {axis.var: axis for axis in axes if axis.kind == "spatial"}
    if len(known) != len(axes):
        return False
    for index, size in zip(store.indices, store.buffer.shape, strict=True):
        if type(index) is Const:
            if index.value != 0 or dims.number(dims.dim(size)) != 1:
                return False
            continue
        axis = known.pop(index, None) if type(index) is Var else None
        if axis is None or not _is_whole(axis.start, axis.stop, size):
            return False
        if type(axis.value) is Const:  # a loop of one iteration that went
            if axis.value.value != 0 or dims.number(dims.dim(size)) != 1:
                return False
            continue
        loop = loops.pop(axis.value, None) if type(axis.value) is Var else None
        if loop is None or not _is_whole(loop.start, loop.stop, size):
            return False
    return True


def _is_whole(start: Expr, stop: Expr, size: Expr) -> bool:
    return is_const(start, 0) and dims.same(dims.dim(stop), dims.dim(size))


def _count(buffer: Buffer) -> Expr:
    return dims.product(tuple(map(dims.dim, buffer.shape)))


def _place(indices: tuple[Expr, ...], buffer: Buffer) -> Expr:
    """The place of an element in row-major order."""
    place: Expr | None = None
    for index, size in zip(indices, buffer.shape, strict=True):
        wide = index if index.dtype is INT64 else index.astype(INT64)
        if place is None:
            place = wide
            continue
        together = _joined(place, wide, dims.dim(size))
        place = together if together is not None else _ADD(_MUL(place, dims.dim(size)), wide)
    return dims.dim(0) if place is None else place


def _joined(place: Expr, index: Expr, size: Expr) -> Expr | None:
    """What `place * size + index` is where both are parts of it: `a // d`, and `b % size` of `b = a // (d // size)`.

    The analyzer knows it of numbers; a dimension that is not known divides as well, since it is none of 0 where there
    is an element.
    """
    if type(place) is Call and place.op is _ADD:
        last = _joined(place.args[1], index, size)
        return None if last is None else _ADD(_MUL(place.args[0], size), last)
    if type(place) is not Call or place.op is not _DIV or type(index) is not Call or index.op is not _MOD:
        return None
    (whole, by), (rest, modulus) = place.args, index.args
    if not dims.same(modulus, size):
        return None
    if structural_equal(rest, whole):
        return rest if dims.same(by, size) else None
    if type(rest) is Call and rest.op is _DIV and structural_equal(rest.args[0], whole):
        return rest if dims.same(by, dims.mul(rest.args[1], size)) else None
    return None


__all__ = ["moves_nothing", "rewrite_reshape"]
