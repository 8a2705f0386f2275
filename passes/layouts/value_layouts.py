"""The layouts of a graph's values, read in the functions that make and take them.

Conversions tell theirs by their statements. A function on packed tensors names the layouts of its parameters in an
attribute, `{"layouts": {"A": (T.index_map(lambda i, j: (i // 4, j, i % 4)), (14, 3))}}`: an index map and the shape
that was packed, for those who read the program. Nothing else reads it, and what stands in the padding is never taken
from it, but proved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import BufferLoad, Const, Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphBind, GraphConst, GraphFunc, GraphVar, TupleItem
from tirscript.ir.index_map import IndexMap
from tirscript.ir.module import Module
from tirscript.ir.node import Attrs, recursion_room
from tirscript.ir.rewrite import rewrite, walk

from .calls import called_for
from .mapping import Conversion, PadMapping, conversion_of
from .numbers import values_at
from .padding import Known, alternatives, evaluated, one_of, reduced, same_value, update_of
from .stages import Stage, staged

LAYOUTS = "layouts"
LETTERS = "ijklmnopqrstuvwxyz"
LARGEST = 1 << 20  # places that are looked at one by one


def with_layouts(attrs: Attrs, params: Mapping[Buffer, PadMapping | None]) -> Attrs:
    """The attributes of a function with what they say of the layouts of its parameters, where shapes are numbers."""
    told = {}
    for param, mapping in params.items():
        shape = () if mapping is None else tuple(int(dim.value) for dim in mapping.shape if type(dim) is Const)
        if mapping is not None and len(shape) == len(mapping.shape):
            told[param.name] = (lettered(mapping.index_map), shape)
    return Attrs({**attrs.without(LAYOUTS), **({LAYOUTS: told} if told else {})})


def lettered(index_map: IndexMap) -> IndexMap:
    """An index map with parameters of its own, named i, j, k, ..."""
    names = [LETTERS[at : at + 1] or f"i{at}" for at in range(len(index_map.params))]
    params = tuple(Var(name, INT64) for name in names)
    return IndexMap(params, index_map.with_dtype(INT64).apply(params))


def value_layouts(func: GraphFunc, module: Module) -> dict[GraphVar | GraphConst, PadMapping]:
    """The layouts of the values of a graph function that are in another one than the plain.

    Values without padding, transposed or reshaped by a function of their own, are among them. `pad_value` is what is
    proved to be in the padding, None where that is not known.
    """
    with recursion_room():
        return _Reading(func, module).found


class _Reading:
    def __init__(self, func: GraphFunc, module: Module) -> None:
        self.found: dict[GraphVar | GraphConst, PadMapping] = {}
        self.pads: dict[GraphVar | GraphConst, Known] = {}
        self.conversions: dict[str, Conversion | None] = {}
        self.declared: dict[str, dict[Buffer, PadMapping]] = {}
        self.parts: dict[Any, dict[int, tuple[PadMapping, Known | None]]] = {}
        for node in walk(func):
            if type(node) is not GraphBind:
                continue
            target = called_for(node.value, module)
            if target is not None:
                self._call(node.var, *target)
            elif type(node.value) is TupleItem:
                self._take(node.var, self.parts.get(node.value.value, {}).get(node.value.index))

    def _call(self, var: GraphVar, func: PrimFunc, args: tuple[Any, ...]) -> None:
        if func.name not in self.conversions:
            self.conversions[func.name] = conversion_of(func) if len(func.params) == 2 and len(args) == 1 else None
            self.declared[func.name] = _declared(func)
        conversion, declared = self.conversions[func.name], self.declared[func.name]
        if conversion is not None:
            before = self.found.get(args[0])
            if conversion.packs:
                both = None if before is None or conversion.mapping.padded else before.then(conversion.mapping)
                whole = conversion.mapping if both is None else both
                if not whole.is_plain():
                    self.found[var] = whole
            else:
                self.found.setdefault(args[0], conversion.mapping.with_value(None))
            return
        pads: dict[Buffer, Known] = {}
        for param, arg in zip(func.params, args, strict=False):
            mapping = declared.get(param) if type(param) is Buffer else None
            if mapping is None or type(arg) not in (GraphVar, GraphConst):
                continue
            known = self.found.setdefault(arg, _with_data(mapping, arg))
            if not known.same_layout(mapping):
                continue
            # what was asked for reads better than what is found in a conversion: `j // 16` is 0 there for 3 channels
            self.found[arg] = mapping.with_value(known.pad_value)
            value = self.pads.get(arg, known.pad_value)
            if value is not None:
                pads[param] = value  # type: ignore[index]
        outs = func.params[len(args) :]
        made = {
            at: (declared[out], _stored(func, out, declared, pads))
            for at, out in enumerate(outs)
            if type(out) is Buffer and out in declared
        }
        if len(outs) == 1:
            self._take(var, made.get(0))
        else:
            self.parts[var] = made

    def _take(self, var: GraphVar, made: tuple[PadMapping, Known | None] | None) -> None:
        if made is None:
            return
        mapping, value = made
        self.found[var] = mapping.with_value(value if type(value) is Const else None)
        if value is not None:
            self.pads[var] = value


def _declared(func: PrimFunc) -> dict[Buffer, PadMapping]:
    """What the attribute says of the parameters of a function, where it is true of their shapes."""
    said = func.attrs.get(LAYOUTS)
    found: dict[Buffer, PadMapping] = {}
    if not isinstance(said, Mapping):
        return found
    for param in func.params:
        one = said.get(param.name) if type(param) is Buffer else None
        if type(param) is not Buffer or not isinstance(one, (tuple, list)) or len(one) != 2:
            continue
        index_map, shape = one
        if type(index_map) is not IndexMap or not isinstance(shape, (tuple, list)):
            continue
        if len(shape) != len(index_map.params) or len(index_map.indices) != param.ndim:
            continue
        packed = param.constant_shape()
        if packed is not None and all(type(dim) is int for dim in shape) and len(shape) <= len(_PARAMS):
            params = _PARAMS[: len(shape)]
            mapping = _mapping(params, index_map.with_dtype(INT64).apply(params), tuple(shape), packed)
            if mapping is not None:
                found[param] = mapping
    return found


# a drawing of every stage of a model asks for the same few layouts again and again
_PARAMS = tuple(Var(letter, INT64) for letter in LETTERS)


@lru_cache(maxsize=256)
def _mapping(
    params: tuple[Var, ...], indices: tuple[Expr, ...], shape: tuple[int, ...], packed: tuple[int, ...]
) -> PadMapping | None:
    index_map = IndexMap(params, indices)
    least = index_map.map_shape(shape)
    sizes = [] if least is None else [int(dim.value) for dim in least if type(dim) is Const]
    if len(sizes) != len(packed) or any(size > place for size, place in zip(sizes, packed, strict=True)):
        return None
    return PadMapping.of(index_map, shape, None, packed)


def _with_data(mapping: PadMapping, value: GraphVar | GraphConst) -> PadMapping:
    """The layout of an argument, with what is in the padding of a constant."""
    if type(value) is not GraphConst or not value.data.resolved or not mapping.padded:
        return mapping
    import numpy as np

    free = padding_places(mapping)
    if free is None:
        return mapping
    held = np.unique(value.data.array[free])
    return mapping.with_value(const(held[0].item(), value.data.dtype)) if len(held) == 1 else mapping


def _stored(
    func: PrimFunc, target: Buffer, layouts: Mapping[Buffer, PadMapping], pads: Mapping[Buffer, Known]
) -> Known | None:
    """The number that a function stores in all of the padding of a result, None where that is not proved."""
    program = staged(func)
    if program is None or not layouts[target].padded:
        return None
    stages = [stage for stage in program.stages if stage.buffer is target]
    if len(stages) == 1 and stages[0].where is None and _reaches_all(stages[0]):
        return _made(stages[0], layouts, pads, None)
    free = padding_places(layouts[target])
    if free is None:
        return None
    state: Known | None = None
    bare = free.copy()  # padding that nothing is stored in yet
    for stage in stages:
        try:
            reached = free & _reached(stage)
        except LookupError:
            return None
        if not reached.any():
            continue
        made = _made(stage, layouts, pads, state)
        same = reached[free].all() or bare[free].all() or same_value(state, made)
        if made is None or not same:
            return None
        state = made
        bare &= ~reached
    return None if bare.any() else state


def padding_places(mapping: PadMapping) -> Any:
    """Where a packed tensor has padding, as an array; None where it is large."""
    import numpy as np

    sizes = [int(dim.value) for dim in mapping.packed_shape if type(dim) is Const]
    if len(sizes) != len(mapping.packed_shape) or np.prod(sizes) > LARGEST:
        return None
    places = dict(zip(mapping.inverse.params, np.indices(sizes, sparse=True), strict=True))
    return np.broadcast_to(values_at(mapping.pad_predicate, places), sizes)


def _reached(stage: Stage) -> Any:
    """Which elements a stage stores, as an array. Raises LookupError where that is not told by its indices."""
    import numpy as np

    sizes = [int(axis.stop.value) for axis in stage.axes if type(axis.stop) is Const]
    shape = stage.buffer.constant_shape()
    if len(sizes) != len(stage.axes) or shape is None or np.prod(sizes) > LARGEST:
        raise LookupError("iterations that are not few")
    axes = dict(zip((axis.var for axis in stage.axes), np.indices(sizes, sparse=True), strict=True))
    held = True if stage.where is None else values_at(stage.where, axes)
    found = np.zeros(shape, bool)
    chosen = np.broadcast_to(held, sizes)
    found[tuple(np.broadcast_to(values_at(index, axes), sizes)[chosen] for index in stage.store.indices)] = True
    return found


def stores_all(stages: Sequence[Stage]) -> bool:
    """Whether stages that store one buffer are known to store every element of it."""
    import numpy as np

    if any(stage.where is None and _reaches_all(stage) for stage in stages):
        return True
    try:
        return bool(stages) and bool(np.logical_or.reduce([_reached(stage) for stage in stages]).all())
    except LookupError:
        return False


def _made(
    stage: Stage, layouts: Mapping[Buffer, PadMapping], pads: Mapping[Buffer, Known], before: Known | None
) -> Known | None:
    """What a stage stores in the padding that it reaches, with `before` there."""
    found: list[Known] = []
    for values in alternatives(pads):
        made = _made_of(stage, layouts, values, before)
        if made is None:
            return None
        found.append(made)
    return one_of(found)


def _made_of(
    stage: Stage, layouts: Mapping[Buffer, PadMapping], pads: Mapping[Buffer, Const], before: Known | None
) -> Known | None:
    indices, mapping = stage.store.indices, layouts[stage.buffer]
    known = stage.analyzer()

    def load(node: BufferLoad) -> Expr:
        layout, value = layouts.get(node.buffer), pads.get(node.buffer)
        if layout is None or value is None:
            return node
        return value if known.can_prove(layout.pads(node.indices, node.indices[0].dtype)) else node

    def seen(expr: Expr) -> Expr:
        return evaluated(known.simplify(rewrite(known.simplify(expr), {BufferLoad: load})))

    conditions = () if stage.where is None else (stage.where,)
    with known.scope(mapping.pads(indices, indices[0].dtype), *conditions):
        update = update_of(stage)
        if update is None:
            value = seen(stage.store.value)
            return value if type(value) is Const else None
        begin: Expr | Known | None = before if stage.init is None else seen(stage.init.value)
        return reduced(stage, begin, seen(update[1])) if type(begin) is Const else None


def _reaches_all(stage: Stage) -> bool:
    """Whether a stage stores every element, its indices plain axes."""
    axes = {axis.var: axis.stop for axis in stage.axes}
    known = stage.analyzer()
    return len(set(stage.store.indices)) == stage.buffer.ndim and all(
        type(index) is Var and index in axes and known.prove_equal(axes[index], dim)
        for index, dim in zip(stage.store.indices, stage.buffer.shape, strict=True)
    )


__all__ = ["LAYOUTS", "lettered", "padding_places", "stores_all", "value_layouts", "with_layouts"]
