"""Which memory a buffer is: its root, and how indices of a view become coordinates there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ...buffer import Buffer
from ...dtype import INT64
from ...expr import BufferData, BufferRegion, Const, Expr, Range, Var
from ...op import cast
from ...stmt import DeclBuffer, MatchBuffer

Place = tuple[Expr, ...]


class Root(Struct, eq=False):
    """A piece of memory that overlaps no other: an allocation, a parameter, or an order that must be kept.

    `depth` is the number of loops in whose iterations it is another each time. `escapes` says that its contents are
    seen after the program, or known before; `shared` that it may overlap other roots of which this is true. `forms` are
    the ways in which accesses count its elements; one way makes indices coordinates, several make addresses of them.
    """

    name: str
    buffer: Buffer | None
    depth: int = 0
    escapes: bool = False
    shared: bool = False
    forms: list[Any] = []


class View(Struct, frozen=True, eq=False):
    """A buffer as a part of a root; `place` turns its indices into those of `base`, which counts the elements."""

    root: Root
    base: Buffer | None
    place: Callable[[Place], Place] = lambda indices: indices

    def coordinates(self, indices: Place) -> Place | None:
        """Where an element lies in the root; None where that cannot be said."""
        if self.base is None:
            return None
        indices = self.place(indices)
        if len(self.root.forms) == 1:
            return indices
        first = self.root.forms[0]
        if any(form[0] is not first[0] for form in self.root.forms):
            return None
        return (_address(self.base, indices),)


def form_of(buffer: Buffer) -> Any:
    """How a buffer counts its elements."""
    offset = None if buffer.elem_offset is None or _is(buffer.elem_offset, 0) else buffer.elem_offset
    return buffer.dtype, buffer.shape, buffer.strides, offset


def _is(expr: Expr, value: int) -> bool:
    return type(expr) is Const and expr.value == value


def _address(buffer: Buffer, indices: Place) -> Expr:
    """The number of elements before the one at `indices`."""
    address: Expr = Const(0, INT64) if buffer.elem_offset is None else cast(buffer.elem_offset, INT64)
    stride: Expr = Const(1, INT64)
    strides: list[Expr] = []
    for dim in reversed(buffer.shape):
        strides.insert(0, stride)
        stride = stride * cast(dim, INT64)
    for index, step in zip(indices, buffer.strides or strides):
        address = address + cast(index, INT64) * cast(step, INT64)
    return address


class Memory:
    """The views of all buffers of a program."""

    def __init__(self, noalias: bool) -> None:
        self.noalias = noalias
        self.views: dict[Any, View] = {}  # by buffer, or handle variable
        self.effects = Root("the order of effects", None)
        # memory behind a pointer of which nothing is known
        self.anywhere = Root("memory behind a pointer", None, escapes=True, shared=True)

    def parameter(self, param: Buffer | Var) -> None:
        """A parameter of the function."""
        if type(param) is Buffer:
            root = Root(param.name, param, 0, True, not self.noalias)
            self._add(param, View(root, param))
        elif param.dtype.is_handle:
            self.views[param] = View(Root(param.name, None, 0, True, not self.noalias), None)

    def free(self, buffer: Buffer) -> View:
        """A buffer that is defined around the statements that are looked at."""
        return self._add(buffer, View(Root(buffer.name, buffer, 0, True, not self.noalias), buffer))

    def allocate(self, buffer: Buffer, depth: int, *, constant: bool = False) -> None:
        """A buffer of its own in every iteration of the `depth` loops around; a constant's has contents before."""
        self._add(buffer, View(Root(buffer.name, buffer, depth, escapes=constant), buffer))

    def match(self, stmt: MatchBuffer) -> None:
        """`B = T.match_buffer(...)` of a handle or a region."""
        source = stmt.source
        if type(source) is Var:
            known = self.views.get(source)
            root = self.anywhere if known is None else known.root
            self._add(stmt.buffer, View(root, stmt.buffer))
            return
        assert type(source) is BufferRegion
        outer = self.view(source.buffer)
        dims = _kept(source.ranges, stmt.buffer.ndim)
        if dims is None or outer.base is None:
            self.views[stmt.buffer] = View(outer.root, None)
            return
        starts = tuple(one.start for one in source.ranges)

        def place(indices: Place) -> Place:
            found = list(starts)
            for dim, index in zip(dims, indices):
                found[dim] = index if _is(found[dim], 0) else found[dim] + index
            return outer.place(tuple(found))

        self.views[stmt.buffer] = View(outer.root, outer.base, place)

    def declare(self, stmt: DeclBuffer) -> None:
        """`B = T.decl_buffer(shape, dtype, data=A.data)`."""
        data = stmt.data
        outer = None
        if type(data) is BufferData:
            outer = self.view(data.buffer)
            if outer.base is not None and outer.base is not data.buffer:
                # the address of a matched region: the view does not begin where the root does
                self.views[stmt.buffer] = View(outer.root, None)
                return
        elif type(data) is Var:
            outer = self.views.get(data)
        self._add(stmt.buffer, View(self.anywhere if outer is None else outer.root, stmt.buffer))

    def pointer(self, var: Var, value: Expr) -> None:
        """`p = A.data` and the like: a name for an address."""
        if type(value) is BufferData:
            found = self.view(value.buffer)
            same = found.base is value.buffer
            self.views[var] = View(found.root if same else self.anywhere, None)
        elif type(value) is Var and value in self.views:
            self.views[var] = self.views[value]

    def view(self, buffer: Buffer) -> View:
        """What a buffer is."""
        found = self.views.get(buffer)
        return self.free(buffer) if found is None else found

    def accessed(self, buffer: Buffer) -> View:
        """What a buffer is of which elements are read or written: its way of counting them is one of the root's.

        One that is only looked at by others, as a parameter by views in other shapes, has no say in that.
        """
        view = self.view(buffer)
        if view.base is not None and (form := form_of(view.base)) not in view.root.forms:
            view.root.forms.append(form)
        return view

    def _add(self, buffer: Buffer, view: View) -> View:
        if view.root is self.anywhere:
            view = View(view.root, None)
        self.views[buffer] = view
        if view.root.buffer is None and view.root is not self.anywhere:
            view.root.buffer = buffer
        return view


def _kept(ranges: tuple[Range, ...], ndim: int) -> tuple[int, ...] | None:
    """The dimensions of a region that a matched buffer has, None where that is not plain."""
    kept = tuple(at for at, one in enumerate(ranges) if one.stop is not None)
    if len(kept) == ndim:
        return kept
    return tuple(range(len(ranges))) if len(ranges) == ndim else None


def overlap(a: Root, b: Root, anywhere: Root) -> bool:
    """Whether two roots may be the same memory."""
    if a is b or (a.shared and b.shared):
        return True
    return (a is anywhere or b is anywhere) and a.buffer is not None and b.buffer is not None


__all__ = ["Memory", "Place", "Root", "View", "overlap"]
