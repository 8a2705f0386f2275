"""Axes of a stage that are packed together, found from the layouts of the buffers that it accesses, and back.

A buffer whose dimensions are indexed by plain axes gives them its layout: `C[vi] = A[vi] + 1.0` with A in tiles of 4
runs over the tiles. The other buffers that these axes index get the layout from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.linear import linear
from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT64
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Const, Expr, Var, const
from tirscript.ir.index_map import IndexMap
from tirscript.ir.rewrite import substitute

from .mapping import Component, PadMapping, size_of
from .numbers import values_at
from .stages import Stage, Staged

Access = tuple[Buffer, tuple[Expr, ...]]
Layouts = Mapping[Buffer, PadMapping]
LARGEST = 1 << 16  # places that are looked at one by one


class Group(Struct, frozen=True, eq=False):
    """Axes `axes` that the dimensions of one component of `mapping` are indexed by.

    `members` are the accesses that lie in padding where the axes do; `owner` is the buffer the layout was taken from.
    """

    axes: tuple[Var, ...]
    kind: str
    mapping: PadMapping
    component: Component
    owner: Buffer
    members: list[Access]

    def forward(self) -> tuple[Expr, ...]:
        """The packed indices, of axes as int64 variables of the mapping."""
        return tuple(self.mapping.index_map.indices[out] for out in self.component.outs)

    def sizes(self) -> tuple[Expr, ...]:
        """How many values each packed index has."""
        return tuple(self.mapping.packed_shape[out] for out in self.component.outs)

    def params(self) -> tuple[Var, ...]:
        """The variables of the mapping that stand for the axes."""
        return tuple(self.mapping.index_map.params[dim] for dim in self.component.dims)

    def has_gaps(self) -> bool:
        """Whether packed indices leave out places between elements: the axes then stay as they are."""
        return self.mapping.has_gaps(self.component)

    def is_like(self, mapping: PadMapping, component: Component) -> bool:
        """Whether a component packs its dimensions in the same way."""
        if len(component.dims) != len(self.component.dims) or len(component.outs) != len(self.component.outs):
            return False
        known = Analyzer()
        ours = self.params()
        for dim, param in zip(self.component.dims, ours, strict=True):
            known.bind(param, (const(0, INT64), self.mapping.shape[dim]))
        theirs = {mapping.index_map.params[dim]: param for dim, param in zip(component.dims, ours, strict=True)}
        pairs = zip(self.forward(), self.sizes(), component.outs, strict=True)
        return all(
            known.prove_equal(index, substitute(mapping.index_map.indices[out], theirs))
            and known.prove_equal(size, mapping.packed_shape[out])
            for index, size, out in pairs
        )


def is_trivial(mapping: PadMapping, component: Component) -> bool:
    """Whether a component is one dimension as it was, perhaps at another place."""
    if len(component.dims) != 1 or len(component.outs) != 1:
        return False
    (dim,), (out,) = component.dims, component.outs
    same = Analyzer().prove_equal(mapping.shape[dim], mapping.packed_shape[out])
    return same and mapping.index_map.indices[out] is mapping.index_map.params[dim]


def accesses(stage: Stage) -> list[Access]:
    """What a stage accesses, what it writes first."""
    return [(stage.buffer, stage.store.indices), *((load.buffer, load.indices) for load in stage.loads())]


def groups_of(stage: Stage, layouts: Layouts) -> tuple[list[Group], list[Access]]:
    """The groups of axes that layouts make, and the accesses of buffers with layouts that make none of them."""
    axes = {axis.var: axis for axis in stage.axes}
    known = Analyzer()
    found: list[Group] = []
    others: list[Access] = []
    for buffer, indices in accesses(stage):
        mapping = layouts.get(buffer)
        if mapping is None:
            continue
        for component in mapping.components():
            if is_trivial(mapping, component):
                continue
            named = tuple(indices[dim] for dim in component.dims)
            plain = [index for index in named if type(index) is Var and index in axes]
            kinds = {axes[index].kind for index in plain}
            whole = len(set(plain)) == len(named) and all(
                known.prove_equal(size_of(axes[index].stop), mapping.shape[dim])
                for index, dim in zip(plain, component.dims, strict=True)
            )
            if not whole or len(kinds) != 1:
                others.append((buffer, indices))
                continue
            same = next((one for one in found if set(one.axes) & set(plain)), None)
            if same is None:
                found.append(Group(tuple(plain), kinds.pop(), mapping, component, buffer, [(buffer, indices)]))
            elif same.axes == tuple(plain) and same.is_like(mapping, component):
                same.members.append((buffer, indices))
            else:
                others.append((buffer, indices))
    return found, others


def inferred(program: Staged, given: Layouts) -> dict[Buffer, PadMapping]:
    """The layouts of all buffers of a function that follow from those of some, `given` among them."""
    layouts = dict(given)
    changed = True
    while changed:
        changed = False
        for stage in (*program.stages, *reversed(program.stages)):
            groups, _ = groups_of(stage, layouts)
            for buffer, indices in accesses(stage):
                if buffer in layouts or _is_held(program, buffer):
                    continue
                made = _induced(stage, buffer, indices, groups, layouts)
                if made is not None:
                    layouts[buffer] = made
                    changed = True
    return layouts


def _is_held(program: Staged, buffer: Buffer) -> bool:
    return any(stmt.buffer is buffer for stmt in program.constants)


def _induced(
    stage: Stage, buffer: Buffer, indices: tuple[Expr, ...], groups: Iterable[Group], layouts: Layouts
) -> PadMapping | None:
    """The layout of a buffer that axes in groups index, None where it stays as it is."""
    axes = {axis.var: axis for axis in stage.axes}
    dims = {index: at for at, index in enumerate(indices) if type(index) is Var and index in axes}
    if len(dims) != sum(type(index) is Var and index in axes for index in indices):
        return None
    params = tuple(Var(f"i{at}", INT64) for at in range(buffer.ndim))
    sizes = tuple(size_of(dim) for dim in buffer.shape)
    known = Analyzer()

    def whole(var: Var) -> bool:
        return var in dims and known.prove_equal(size_of(axes[var].stop), sizes[dims[var]])

    inside = [group for group in groups if all(whole(var) for var in group.axes)]
    # (the dimension that it leads, the index, its size) in the order of the packed buffer; what is inside of tiles
    # comes last, what is reduced first
    items: list[tuple[int | None, Expr, Expr]] = []
    covered: set[int] = set()
    template = next(((b, at) for b, at in accesses(stage) if b in layouts and b is not buffer), None)
    if template is not None:
        items, covered = _in_order(template, layouts[template[0]], inside, dims, whole, params, sizes)
    for dim in range(buffer.ndim):
        if dim in covered:
            continue
        group = next((one for one in inside if dims[one.axes[0]] == dim), None)
        if any(indices[dim] in one.axes for one in inside if one is not group):
            continue
        before = [at for at, item in enumerate(items) if item[0] is not None and item[0] < dim]
        place = before[-1] + 1 if before else 0
        if group is None:
            items.insert(place, (dim, params[dim], sizes[dim]))
            continue
        made = _packed(group, dims, params)
        items.insert(place, (dim, *made[0]))
        items += [(None, *one) for one in made[1:]]
    leads = [item for item in items if item[0] is not None]
    summed = {axes[var].kind for group in inside for var in group.axes} == {"spatial", "reduce"}
    if summed:
        reduced = [index for group in inside if group.kind == "reduce" for index, _ in _packed(group, dims, params)]
        inner = [item for item in items if item[0] is None]
        first = [item for item in inner if any(structural_equal(item[1], one, map_free_vars=False) for one in reduced)]
        items = [*leads, *first, *(item for item in inner if item not in first)]
    if len(items) == buffer.ndim and all(
        index is param and known.prove_equal(place, size)
        for (_, index, place), param, size in zip(items, params, sizes, strict=True)
    ):
        return None
    mapping = IndexMap(params, tuple(index for _, index, _ in items))
    return PadMapping.of(mapping, sizes, None, tuple(size for _, _, size in items))


def _packed(group: Group, dims: Mapping[Var, int], params: tuple[Var, ...]) -> list[tuple[Expr, Expr]]:
    values = {mine: params[dims[axis]] for mine, axis in zip(group.params(), group.axes, strict=True)}
    return [(substitute(index, values), size) for index, size in zip(group.forward(), group.sizes(), strict=True)]


def _in_order(
    template: Access,
    mapping: PadMapping,
    inside: list[Group],
    dims: Mapping[Var, int],
    whole: Any,
    params: tuple[Var, ...],
    sizes: tuple[Expr, ...],
) -> tuple[list[tuple[int | None, Expr, Expr]], set[int]]:
    """The packed dimensions that another buffer has too, in its order, and the dimensions that they are made of."""
    found: list[tuple[int, tuple[int | None, Expr, Expr]]] = []
    covered: set[int] = set()
    for component in mapping.components():
        named = tuple(template[1][dim] for dim in component.dims)
        if not all(type(index) is Var and whole(index) for index in named):
            continue
        if is_trivial(mapping, component):
            if not any(named[0] in group.axes for group in inside):
                dim = dims[named[0]]  # type: ignore[index]
                covered.add(dim)
                found.append((component.outs[0], (dim, params[dim], sizes[dim])))
            continue
        group = next((one for one in inside if one.axes == named and one.is_like(mapping, component)), None)
        if group is None:
            continue
        lead: int | None = dims[group.axes[0]]
        covered.update(dims[axis] for axis in group.axes)
        for out, made in zip(component.outs, _packed(group, dims, params), strict=True):
            found.append((out, (lead, *made)))
            lead = None
    return [item for _, item in sorted(found, key=lambda one: one[0])], covered


def keeps_order(group: Group) -> bool:
    """Whether the packed axes of a group, the first outermost, reach its elements in the order of its axes."""
    import numpy as np

    mapping, (dims, outs) = group.mapping, (group.component.dims, group.component.outs)
    sizes = [int(size.value) for size in group.sizes() if type(size) is Const]
    if len(dims) != 1:
        return False
    if len(sizes) != len(outs):
        return _counts_up(
            mapping.inverse.indices[dims[0]], [mapping.inverse.params[out] for out in outs], group.sizes()
        )
    if np.prod(sizes) > LARGEST:
        return False
    values: dict[Var, Any] = dict.fromkeys(mapping.inverse.params, 0)
    values.update({mapping.inverse.params[out]: axis for out, axis in zip(outs, np.indices(sizes), strict=True)})
    found = np.broadcast_to(values_at(mapping.inverse.indices[dims[0]], values), sizes).reshape(-1)
    size = mapping.shape[dims[0]]
    real = found[(found >= 0) & (found < int(size.value))] if type(size) is Const else found
    return bool((np.diff(real) > 0).all())


def _counts_up(index: Expr, places: Sequence[Var], sizes: Sequence[Expr]) -> bool:
    """Whether an index grows from each place to the next, the first outermost, whose size alone is not known."""
    found = linear(index)
    if set(found.terms) - set(places) or not all(type(size) is Const for size in sizes[1:]):
        return False
    reach = 0
    for place, size in reversed(list(zip(places, sizes, strict=True))):
        step = found.terms.get(place, 0)
        if step <= reach:
            return False
        reach += step * (int(size.value) - 1) if type(size) is Const else 0
    return True


__all__ = ["Access", "Group", "Layouts", "accesses", "groups_of", "inferred", "is_trivial", "keeps_order"]
