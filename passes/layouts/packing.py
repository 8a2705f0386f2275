"""A tensor function on buffers in other layouts, whose loops run over the packed places, padding too.

before:                                            after, with A and B in tiles of 4:
    for i in range(14):                                for i0, i1 in T.grid(4, 4):
        with T.block("B"):                                 with T.block("B"):
            vi = T.axis.spatial(14, i)                         v0, v1 = T.axis.remap("SS", [i0, i1])
            B[vi] = A[vi] + 1                                  B[v0, v1] = A[v0, v1] + 1

What is computed in the padding is never looked at by what the function computed before. An iteration over padding is
left as it is where it can neither fail nor change a sum; else it gets a condition. Where B's padding must hold a
number, it is proved that it does, or a select or a stage of its own stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, INT64
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, Var, const, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Attrs
from tirscript.ir.op import OPS, cast, get_op
from tirscript.ir.rewrite import rewrite, substitute, walk
from tirscript.ir.stmt import AllocBuffer, Axis, BufferStore, Stmt

from ..layout import index_dtype
from ..statements import conjunction
from ..trapping import may_trap
from .filling import fill_statements
from .groups import Group, Layouts, groups_of, keeps_order
from .mapping import PadMapping, resized
from .padding import (
    Known,
    OrNan,
    alternatives,
    candidates,
    in_padding,
    is_neutral,
    one_of,
    reduced,
    same_value,
    update_of,
)
from .stages import Stage, Staged, known_axes, statement
from .value_layouts import stores_all, with_layouts

_CHOICES = (OPS["if_then_else"],)


class Packed(Struct, frozen=True, eq=False):
    """A packed function: its statements, what is known of each written buffer's padding, and what it costs.

    `selects` are values chosen by whether a place is padding, `branches` conditions in loops, `fills` stages that
    store padding.
    """

    func: PrimFunc
    padding: dict[Buffer, Known | None]
    selects: int
    branches: int
    fills: int


class Plan(Struct, frozen=True, eq=False):
    """The packed axes of a stage, what the old ones are in them, and where each group is padding."""

    stage: Stage
    groups: tuple[Group, ...]
    axes: tuple[Axis, ...]
    replaced: dict[Any, Any]
    padding: tuple[Expr, ...]

    def real(self, kind: str | None = None) -> Expr | None:
        """The condition that no group (of a kind) is padding; None where none has padding."""
        return conjunction(
            known_axes(self.axes).simplify(get_op("logical_not")(free))
            for group, free in zip(self.groups, self.padding, strict=True)
            if not is_const(free, False) and kind in (None, group.kind)
        )

    def padded(self, kind: str) -> list[tuple[Group, Expr]]:
        """The groups of a kind that have padding, with its condition."""
        pairs = zip(self.groups, self.padding, strict=True)
        return [(group, free) for group, free in pairs if group.kind == kind and not is_const(free, False)]


def plan(stage: Stage, layouts: Layouts) -> Plan:
    """How a stage runs over packed places."""
    groups = [group for group in groups_of(stage, layouts)[0] if not group.has_gaps()]
    leads: dict[Var, list[tuple[Var, Expr]]] = {}
    behind: list[tuple[Var, Expr]] = []
    replaced: dict[Any, Any] = {}
    padding: list[Expr] = []
    grouped: set[Var] = set()
    for group in groups:
        dtype = group.axes[0].dtype
        fresh = [Var("v", dtype) for _ in group.component.outs]
        sized = list(zip(fresh, group.sizes(), strict=True))
        # sums keep their order: what is reduced stays where its axis was
        first = len(sized) if group.kind == "reduce" else 1
        leads[group.axes[0]] = sized[:first]
        behind += sized[first:]
        grouped.update(group.axes)
        mapping = group.mapping
        places = tuple(
            fresh[group.component.outs.index(out)] if out in group.component.outs else const(0, dtype)
            for out in range(len(mapping.packed_shape))
        )
        known = Analyzer()
        for var, size in sized:
            known.bind(var, (const(0, dtype), resized(size, dtype)))
        back = mapping.back(places, dtype)
        inside = []
        for dim, old in zip(group.component.dims, group.axes, strict=True):
            index = known.simplify(back[dim])
            replaced[old] = index
            for part in (index >= 0, get_op("less")(index, resized(mapping.shape[dim], dtype))):
                if not known.can_prove(part):
                    inside.append(part)
        held = conjunction(inside)
        padding.append(const(False) if held is None else known.simplify(get_op("logical_not")(known.simplify(held))))
    axes: list[Axis] = []
    for kind in ("spatial", "reduce"):
        for axis in stage.axes:
            if axis.kind != kind:
                continue
            if axis.var in leads:
                axes += [_axis(var, kind, size) for var, size in leads[axis.var]]
            elif axis.var not in grouped:
                axes.append(axis)
        if kind == "spatial":
            axes += [_axis(var, kind, size) for var, size in behind]
    axes = _in_order(axes, stage, layouts, replaced)
    names: dict[Any, Any] = {axis.var: Var(f"v{at}", axis.var.dtype) for at, axis in enumerate(axes)}
    renamed = tuple(axis.replace(var=names[axis.var]) for axis in axes)
    moved = {var: substitute(value, names) for var, value in replaced.items()}
    for axis in stage.axes:
        if axis.var not in grouped:
            moved[axis.var] = names[axis.var]
    return Plan(stage, tuple(groups), renamed, moved, tuple(substitute(free, names) for free in padding))


def _axis(var: Var, kind: str, size: Expr) -> Axis:
    zero = const(0, var.dtype)
    return Axis(var, kind, zero, resized(size, var.dtype), zero)


def _in_order(axes: list[Axis], stage: Stage, layouts: Layouts, replaced: Mapping[Any, Any]) -> list[Axis]:
    """The axes with the spatial ones in the order of the packed buffer that is written, where they are its indices."""
    mapping = layouts.get(stage.buffer)
    if mapping is None:
        return axes
    known = known_axes(tuple(axes))
    places = [known.simplify(index) for index in _places(stage.store.indices, mapping, replaced)]
    spatial = [axis for axis in axes if axis.kind == "spatial"]
    order = {index: at for at, index in enumerate(places) if type(index) is Var}
    if not all(axis.var in order or is_const(axis.stop, 1) for axis in spatial):
        return axes
    spatial.sort(key=lambda axis: order.get(axis.var, -1))
    return [*spatial, *(axis for axis in axes if axis.kind != "spatial")]


def _places(indices: tuple[Expr, ...], mapping: PadMapping | None, replaced: Mapping[Any, Any]) -> tuple[Expr, ...]:
    moved: tuple[Expr, ...] = substitute(indices, replaced)
    if mapping is None:
        return moved
    wide = [index.dtype.bits > 32 for index in moved]
    if all(wide) or not any(wide):
        return mapping.apply(moved, INT64 if any(wide) else INT32)
    # each component in the dtype of its own indices
    placed = {dtype: mapping.apply(moved, dtype) for dtype in (INT32, INT64)}
    found = list(placed[INT64])
    for component in mapping.components():
        dtype = INT64 if any(wide[dim] for dim in component.dims) else INT32
        for out in component.outs:
            found[out] = placed[dtype][out]
    return tuple(found)


class Packing:
    """One function on its way to packed buffers. `padding` says what stands in the padding of the parameters read."""

    def __init__(self, program: Staged, layouts: Layouts, padding: Mapping[Buffer, Known | None]) -> None:
        self.program = program
        self.layouts = dict(layouts)
        self.padding: dict[Buffer, Known | None] = dict(padding)
        self.new = {buffer: _renewed(buffer, self.layouts.get(buffer)) for buffer in _buffers(program)}
        self.plans = [plan(stage, self.layouts) for stage in program.stages]
        self.selects = self.branches = self.fills = 0
        self.body: list[Stmt] = []
        self.needed: set[Buffer] = set()
        # buffers in whose padding nothing is stored yet, and how many stages are emitted
        self.unfilled: set[Buffer] = set()
        self.emitted = 0
        self.old = {new: old for old, new in self.new.items()}

    # wanting

    def wants(self, wanted: Mapping[Buffer, Const]) -> dict[Buffer, Const]:
        """What should stand in the padding of buffers, so that `wanted` is there and reductions are right.

        `needed` then has those that a reduction needs; for the others another number is as right.
        """
        found = dict(wanted)
        for one in reversed(self.plans):
            out = found.get(one.stage.buffer)
            for group, free in one.padded("reduce"):
                self.needed.update(self._want(one, group, free, None, found))
            if out is not None:
                for group, free in one.padded("spatial"):
                    self._want(one, group, free, out, found)
        return found

    def _want(self, one: Plan, group: Group, free: Expr, out: Const | None, found: dict[Buffer, Const]) -> list[Buffer]:
        """Find padding of what is read with which a group's padding does not matter, or gives `out`; of what."""
        buffers = [buffer for buffer, _ in group.members if buffer is not one.stage.buffer]
        if not buffers:
            return []
        dtype = buffers[0].dtype
        if any(buffer.dtype is not dtype for buffer in buffers):
            return []
        weak: Const | None = None
        for value in candidates(dtype, out):
            made = self._made(one, group, free, {buffer: found.get(buffer, value) for buffer in buffers})
            if made is True if out is None else same_value(out, made):  # type: ignore[arg-type]
                break
            if weak is None and type(made) is OrNan and same_value(out, made.value):
                weak = value
        else:
            if weak is None:
                return []
            value = weak
        for buffer in buffers:
            found.setdefault(buffer, value)
        return buffers

    def _made(self, one: Plan, group: Group, free: Expr, values: Mapping[Buffer, Known]) -> Known | bool | None:
        """What a stage stores in a group's padding; for a reduced group, True where it changes nothing."""
        known = known_axes(one.axes)
        found: list[Known] = []
        with known.scope(free):
            for numbers in alternatives(values):
                made = self._made_of(one, group, numbers, known)
                if made is None:
                    return None
                if made is not True:
                    found.append(made)  # type: ignore[arg-type]
        return one_of(found) if found else True

    def _made_of(self, one: Plan, group: Group, values: Mapping[Buffer, Const], known: Analyzer) -> Known | bool | None:
        """What is made of numbers in the padding of what is read."""
        stage = one.stage
        update = update_of(stage)
        if group.kind == "reduce":
            if update is None:
                return None
            term = in_padding(update[1], group, values, one.replaced, known)
            return True if is_neutral(stage, term) else None
        if update is not None and (stage.init is not None or stage.buffer in self.padding):
            begin = self.padding.get(stage.buffer) if stage.init is None else _number(stage.init.value)
            return reduced(stage, begin, in_padding(update[1], group, values, one.replaced, known))
        if any(load.buffer is stage.buffer for load in stage.loads()):
            return None
        return _number(in_padding(stage.store.value, group, values, one.replaced, known))

    # making

    def function(self, name: str, wanted: Mapping[Buffer, Const], needed: Collection[Buffer] = ()) -> Packed | None:
        """The function under a new name; None where it cannot be packed.

        `wanted` should be in the padding of its results, and is there for those that are `needed`.
        """
        self.needed.update(needed)
        aims = self.wants(wanted)
        last = {one.stage.buffer: at for at, one in enumerate(self.plans)}
        for at, one in enumerate(self.plans):
            buffer = one.stage.buffer
            if not self._may_move(one):
                return None
            mapping = self.layouts.get(buffer)
            padded = mapping is not None and mapping.padded
            alone = sum(other.stage.buffer is buffer for other in self.plans) == 1
            before = self.padding.get(buffer)
            self.emitted = at
            stored = self._stage(one, aims.get(buffer) if alone and padded else None, buffer in self.needed)
            if not padded:
                continue
            first = not any(other.stage.buffer is buffer for other in self.plans[:at])
            if stored is False:
                self.unfilled.add(buffer)
            elif first or same_value(before, stored):  # type: ignore[arg-type]
                self.padding[buffer] = stored  # type: ignore[assignment]
            else:
                self.padding[buffer] = None
            if at == last[buffer]:
                aim = aims.get(buffer)
                missed = aim is not None and not same_value(self.padding.get(buffer), aim)
                if buffer in self.unfilled or (missed and buffer in self.needed):
                    value = const(0, buffer.dtype) if aim is None else aim
                    self._fill(buffer, value)
                    self.padding[buffer] = value
                    self.unfilled.discard(buffer)
        params = tuple(self.new[param] for param in self.program.params)
        allocated = tuple(AllocBuffer(self.new[buffer]) for buffer in self.program.temporaries)
        func = self.program.func
        attrs = with_layouts(
            func.attrs.without("op_pattern", "global_symbol"),
            {new: self.layouts.get(old) for old, new in zip(self.program.params, params, strict=True)},
        )
        made = PrimFunc(name, params, (*self.program.constants, *allocated, *self.body), attrs, private=True)
        written = {buffer: self.padding.get(buffer) for buffer in self.program.written()}
        return Packed(made, written, self.selects, self.branches, self.fills)

    def _may_move(self, one: Plan) -> bool:
        """Whether the iterations of a stage may run in another order."""
        stage = one.stage
        for load in stage.loads():
            if load.buffer is stage.buffer and (load.indices != stage.store.indices or update_of(stage) is None):
                return False
        if any(group.kind == "reduce" and not keeps_order(group) for group in one.groups):
            from ..schedule.reducers import IDENTITIES

            # max and min of floats have an order too, where there is nan
            update = update_of(stage)
            if stage.buffer.dtype.is_float or update is None or update[0].op not in IDENTITIES:
                return False
        used = {node for index in stage.store.indices for node in walk(index, Var)}
        if any(group.kind == "spatial" and not set(group.axes) <= used for group in one.groups):
            return False
        # a beginning of another reduction might be stored over
        aligned = all(group.owner is stage.buffer for group, _ in one.padded("spatial"))
        return aligned or stage.init is None

    def _stage(self, one: Plan, aim: Const | None, needed: bool) -> Known | bool | None:
        """Emit one stage, with `aim` in the padding where that is `needed`.

        What then stands in the padding of its buffer: a number, None where that is unknown, False where nothing does.
        """
        stage, known = one.stage, known_axes(one.axes)
        mapping = self.layouts.get(stage.buffer)
        spatial, reduce = one.padded("spatial"), one.padded("reduce")
        where = None if stage.where is None else known.simplify(substitute(stage.where, one.replaced))
        aligned = all(group.owner is stage.buffer for group, _ in spatial)
        whole = mapping is not None and self._is_whole(one, mapping)
        indices = self._simple(_places(stage.store.indices, mapping, one.replaced), known)
        value = self._moved(stage.store.value, one, known)
        init = None
        if stage.init is not None:
            init = BufferStore(self.new[stage.buffer], indices, self._moved(stage.init.value, one, known))
        real = {kind: one.real(kind) for kind in ("spatial", "reduce")}
        needs = {"spatial": bool(spatial) and aligned, "reduce": bool(reduce)}
        neutral = all(self._made(one, group, free, self._values(group)) is True for group, free in reduce)
        if needs["spatial"]:
            needs["spatial"] = not self._is_safe(one, value, known, where, real["reduce"])
        if needs["reduce"]:
            needs["reduce"] = not neutral or not self._is_safe(one, value, known, where, real["spatial"])
        if spatial and not aligned:
            where = conjunction(part for part in (where, real["spatial"]) if part is not None)
        given = [real[kind] for kind in needs if needs[kind]]
        if not self._is_safe(one, value, known, where, conjunction(part for part in given if part is not None)):
            needs = {kind: real[kind] is not None and (kind == "reduce" or aligned) for kind in needs}
        state: Known | bool | None = None
        if (spatial and (not aligned or where is not None or not whole)) or (
            mapping is not None and mapping.padded and not whole
        ):
            state = False
        elif spatial:
            state = self._state(one, spatial)
        guard = None
        update = update_of(stage)
        if update is None and not reduce:
            if needs["spatial"]:
                held = real["spatial"]
                assert held is not None
                fill = const(0, stage.buffer.dtype) if aim is None else aim
                value = get_op("if_then_else")(held, value, fill)
                state = fill if state is not False else False
                self.branches += 1
            elif needed and aim is not None and state is not False and not same_value(state, aim):  # type: ignore[arg-type]
                held = real["spatial"]
                if held is not None:
                    value = get_op("Select")(held, value, aim)
                    state = aim
                    self.selects += 1
        else:
            guard = conjunction(part for kind in needs if needs[kind] and (part := real[kind]) is not None)
            if guard is not None:
                self.branches += 1
                if needs["spatial"] and state is not False:
                    # only the beginning of the reduction is stored there
                    state = self.padding.get(stage.buffer) if stage.init is None else _number(stage.init.value)
        if where is not None:
            self.branches += 1
        store = BufferStore(self.new[stage.buffer], indices, value)
        made = Stage(stage.name, one.axes, store, init, where, _kept(stage.annotations))
        self.body.append(statement(made, guard))
        return state

    def _values(self, group: Group) -> dict[Buffer, Known]:
        found = ((buffer, self.padding.get(buffer)) for buffer, _ in group.members)
        return {buffer: value for buffer, value in found if value is not None}

    def _state(self, one: Plan, spatial: list[tuple[Group, Expr]]) -> Known | None:
        """What is known of all of the padding that a stage stores."""
        found = [self._made(one, group, free, self._values(group)) for group, free in spatial]
        return one_of(found) if all(type(made) in (Const, OrNan) for made in found) else None  # type: ignore[arg-type]

    def _is_whole(self, one: Plan, mapping: PadMapping) -> bool:
        """Whether a stage reaches all padding that lies beside what it stores."""
        owned = {group.component for group in one.groups if group.owner is one.stage.buffer}
        kept = {(component.dims, component.outs) for component in owned}
        for component in mapping.components():
            if (component.dims, component.outs) in kept:
                continue
            if any(not _is_same(mapping, dim, out) for dim, out in zip(component.dims, component.outs, strict=False)):
                return False
            if len(component.dims) != len(component.outs):
                return False
        return True

    def _moved(self, value: Expr, one: Plan, known: Analyzer) -> Expr:
        """An expression on packed axes and buffers, its indices simplified."""

        def load(node: BufferLoad) -> BufferLoad:
            places = _places(node.indices, self.layouts.get(node.buffer), {})
            return BufferLoad(self.new.get(node.buffer, node.buffer), places, span=node.span)

        moved: Expr = rewrite(substitute(value, _typed(one.replaced)), {BufferLoad: load})
        return known.simplify(moved)

    @staticmethod
    def _simple(places: tuple[Expr, ...], known: Analyzer) -> tuple[Expr, ...]:
        return tuple(known.simplify(place) for place in places)

    def _is_safe(self, one: Plan, value: Expr, known: Analyzer, *conditions: Expr | None) -> bool:
        """Whether an expression can be evaluated in all iterations in which the conditions hold."""
        padded = {node for free in one.padding for node in walk(free, Var)}

        def stored(load: BufferLoad) -> bool:
            return self._is_stored(one.stage, load, padded, known)

        with known.scope(*(part for part in conditions if part is not None)):
            return known.facts.unreachable or _is_safe(value, known, stored)

    def _is_stored(self, stage: Stage, load: BufferLoad, padded: set[Var], known: Analyzer) -> bool:
        """Whether what is read of the function's own buffers was stored before, where `padded` axes are padding too."""
        old = self.old.get(load.buffer, load.buffer)
        begun = old is stage.buffer and stage.init is not None
        if begun or old not in self.program.written() or not any(node in padded for node in walk(load.indices)):
            return True
        if old in self.unfilled and not known.can_refute(self.layouts[old].pads(load.indices, load.indices[0].dtype)):
            return False
        return stores_all([other for other in self.program.stages[: self.emitted] if other.buffer is old])

    def _fill(self, buffer: Buffer, value: Const) -> None:
        """Emit stages that store a number in the padding of a buffer."""
        self.fills += 1
        self.body += fill_statements(self.layouts[buffer], self.new[buffer], value)


def _is_same(mapping: PadMapping, dim: int, out: int) -> bool:
    same = Analyzer().prove_equal(mapping.shape[dim], mapping.packed_shape[out])
    return same and mapping.index_map.indices[out] is mapping.index_map.params[dim]


def _number(expr: Expr) -> Const | None:
    return expr if type(expr) is Const else None


def _typed(replaced: Mapping[Any, Any]) -> dict[Any, Any]:
    return {var: cast(value, var.dtype) for var, value in replaced.items()}


def _kept(annotations: Attrs) -> Attrs:
    return annotations.without("preproc", "postproc")


def _buffers(program: Staged) -> list[Buffer]:
    return [*program.params, *program.temporaries]


def _renewed(buffer: Buffer, mapping: PadMapping | None) -> Buffer:
    """A buffer in its layout."""
    if mapping is None:
        return buffer.replace()
    dtype = index_dtype(buffer.shape)
    return buffer.replace(shape=tuple(resized(dim, dtype) for dim in mapping.packed_shape))


def _is_safe(expr: Expr, known: Analyzer, stored: Callable[[BufferLoad], bool]) -> bool:
    """Whether an expression can be evaluated: every element in range and `stored`, no division that could fail."""
    kind = type(expr)
    if kind is Call:
        if expr.op in _CHOICES:  # type: ignore[attr-defined]
            condition, yes, no = expr.args  # type: ignore[attr-defined]
            if not _is_safe(condition, known, stored):
                return False
            for held, arm in ((condition, yes), (get_op("logical_not")(condition), no)):
                with known.scope(held):
                    if not (known.facts.unreachable or _is_safe(arm, known, stored)):
                        return False
            return True
        if may_trap(expr.replace(args=tuple(map(_bare, expr.args)))):  # type: ignore[attr-defined]
            return False
        return all(_is_safe(arg, known, stored) for arg in expr.args)  # type: ignore[attr-defined]
    if kind is BufferLoad:
        for index, dim in zip(expr.indices, expr.buffer.shape, strict=True):  # type: ignore[attr-defined]
            if not _is_safe(index, known, stored):
                return False
            if not (known.can_prove(index >= 0) and known.can_prove(get_op("less")(index, resized(dim, index.dtype)))):
                return False
        return stored(expr)  # type: ignore[arg-type]
    return kind in (Const, Var) or all(_is_safe(child, known, stored) for child in _parts(expr))


def _bare(expr: Expr) -> Expr:
    """An operand in whose place a variable stands, unless it is a constant: the operator alone is asked about."""
    return expr if type(expr) is Const else Var("x", expr.dtype)


def _parts(expr: Expr) -> list[Expr]:
    from tirscript.ir.rewrite import children

    return [child for child in children(expr) if isinstance(child, Expr)]


__all__ = ["Packed", "Packing", "Plan", "plan"]
