"""Memory as the interpreter sees it: storages that know what was written, pointers into them, and views with a
shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from tirscript.ir import DType, Span

from ..runtime.arrays import address_of, bytes_of, extent_of, numpy_dtype

# what is known of a granule: never written; a value; any value because T.undef itself was stored; because a value
# computed from one was
EMPTY, WRITTEN, ANY_VALUE, DERIVED = 0, 1, 2, 3
NOTHING: Mapping[int, bytearray] = MappingProxyType({})

_FORMATS = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "bool": "?",
}


class Storage:
    """A stretch of bytes. `state` has one entry for each `granule` bytes, or is None where all is known to be
    written."""

    __slots__ = ("blame", "data", "granule", "name", "span", "state", "typed")

    def __init__(
        self, data: np.ndarray[Any, Any], granule: int, name: str, state: bytearray | None, span: Span | None = None
    ) -> None:
        self.data = data
        self.granule = granule
        self.name = name
        self.span = span
        self.state = state
        self.typed: dict[tuple[str, int], Any] = {}
        self.blame: dict[int, Any] = {}  # granule -> the statement that stored a value derived from undef

    @property
    def nbytes(self) -> int:
        return int(self.data.size)

    @property
    def address(self) -> int:
        return address_of(self.data)

    def elements(self, kind: DType, phase: int) -> Any:
        """The bytes from `phase` on as elements of a scalar dtype: a memoryview for integers, an array for floats."""
        key = (kind.name, phase)
        found = self.typed.get(key)
        if found is None:
            found = self.typed[key] = self._elements(kind, phase)
        return found

    def _elements(self, kind: DType, phase: int) -> Any:
        size = kind.itemsize
        count = max(0, (self.nbytes - phase) // size)
        raw = self.data[phase : phase + count * size]
        form = _FORMATS.get(kind.name)
        if form is None:
            return raw.view(numpy_dtype(kind))
        return memoryview(raw).cast(form) if count else memoryview(b"").cast("B")  # type: ignore[arg-type, call-overload]

    def states(self, size: int, phase: int) -> Any:
        """The states of the elements of `size` bytes that begin at `phase`."""
        if self.state is None or (size == self.granule and phase == 0):
            return self.state
        return _States(self, size, phase)

    def mark_written(self) -> None:
        """Take everything as written, after foreign code had the address."""
        if self.state is not None:
            self.state[:] = bytes([WRITTEN]) * len(self.state)
            self.blame.clear()


class _States:
    """States of elements whose size or place is not that of the storage's granules."""

    __slots__ = ("granule", "phase", "size", "state")

    def __init__(self, storage: Storage, size: int, phase: int) -> None:
        assert storage.state is not None
        self.state = storage.state
        self.granule = storage.granule
        self.size = size
        self.phase = phase

    def _range(self, at: int) -> tuple[int, int]:
        start = self.phase + at * self.size
        return start // self.granule, -(-(start + self.size) // self.granule)

    def __len__(self) -> int:
        return max(0, (len(self.state) * self.granule - self.phase) // self.size)

    def __getitem__(self, at: int) -> int:
        low, high = self._range(at)
        part = self.state[low:high]
        if EMPTY in part:
            return EMPTY
        return max(part, default=EMPTY)

    def __setitem__(self, at: int, value: int) -> None:
        low, high = self._range(at)
        self.state[low:high] = bytes([value]) * (high - low)


class Guarded:
    """Elements of a view that is larger than its memory: an IndexError where there is none, below zero too."""

    __slots__ = ("items", "size")

    def __init__(self, items: Any) -> None:
        self.items = items
        self.size = len(items)

    def __getitem__(self, at: int) -> Any:
        if not 0 <= at < self.size:
            raise IndexError
        return self.items[at]

    def __setitem__(self, at: int, value: Any) -> None:
        if not 0 <= at < self.size:
            raise IndexError
        self.items[at] = value


class Pointer:
    """An address: `offset` bytes into a storage, pointing to elements of `kind` (None: not known)."""

    __slots__ = ("kind", "offset", "storage")

    def __init__(self, storage: Storage, offset: int, kind: DType | None) -> None:
        self.storage = storage
        self.offset = offset
        self.kind = kind

    @property
    def address(self) -> int:
        return self.storage.address + self.offset

    def array(self) -> np.ndarray[Any, Any]:
        """The memory from here to the end as a flat array of what it points to."""
        kind = numpy_dtype(self.kind) if self.kind is not None and self.kind.kind != "void" else np.dtype(np.uint8)
        rest = self.storage.data[self.offset :] if self.offset >= 0 else self.storage.data[:0]
        return rest[: rest.size // kind.itemsize * kind.itemsize].view(kind)

    def __repr__(self) -> str:
        return f"<pointer to {self.storage.name} + {self.offset} bytes>"


class View:
    """A buffer at run time: where it lies, and its shape and strides in elements (of all lanes together).

    `mem` and `state` are indexed by lane; element (i, j) begins at lane `offset + i * strides[0] + j * strides[1]`.
    """

    __slots__ = ("kind", "lanes", "mem", "n0", "n1", "offset", "pointer", "s0", "s1", "shape", "state", "strides")

    def __init__(
        self, pointer: Pointer, kind: DType, shape: tuple[int, ...], strides: tuple[int, ...] | None, start: int = 0
    ) -> None:
        element = kind.element
        lanes = kind.lanes
        size = element.itemsize
        if strides is None:
            strides = compact_strides(shape)
        self.kind = kind
        self.lanes = lanes
        self.pointer = pointer
        self.shape = shape
        self.strides = strides if lanes == 1 else tuple([stride * lanes for stride in strides])
        storage = pointer.storage
        first, phase = divmod(pointer.offset, size)
        self.offset = first + start * lanes
        self.mem = storage.elements(element, phase)
        self.state = storage.states(size, phase)
        self.n0 = self.n1 = self.s0 = self.s1 = 0
        if shape:
            self.n0, self.s0 = shape[0], self.strides[0]
            if len(shape) > 1:
                self.n1, self.s1 = shape[1], self.strides[1]
        if 0 not in shape:
            self._guard()

    def _guard(self) -> None:
        low = high = self.offset
        for size, stride in zip(self.shape, self.strides, strict=True):
            if stride < 0:
                low += (size - 1) * stride
            else:
                high += (size - 1) * stride
        if low < 0 or high + self.lanes > len(self.mem):
            self.mem = Guarded(self.mem)
            if self.state is not None:
                self.state = Guarded(self.state)

    def at(self, indices: tuple[int, ...]) -> int:
        """The lane of an element, whatever the bounds."""
        return self.offset + sum([i * stride for i, stride in zip(indices, self.strides, strict=True)])

    def region(self, starts: tuple[int, ...], shape: tuple[int, ...], kept: tuple[int, ...]) -> View:
        """The box at `starts`, with the dimensions `kept` and their sizes `shape`."""
        first = (self.at(starts) - self.pointer.offset // self.kind.element.itemsize) // self.lanes
        strides = self.element_strides()
        return View(self.pointer, self.kind, shape, tuple([strides[dim] for dim in kept]), first)

    def element_strides(self) -> tuple[int, ...]:
        """The strides in elements."""
        return self.strides if self.lanes == 1 else tuple([stride // self.lanes for stride in self.strides])

    def start(self) -> int:
        """The first element's distance from the pointer, in elements."""
        return (self.offset - self.pointer.offset // self.kind.element.itemsize) // self.lanes

    def array(self) -> np.ndarray[Any, Any]:
        """The elements as an array that shares the memory; vectors are one dimension more."""
        kind = numpy_dtype(self.kind)
        shape, strides = self.shape, self.strides
        if self.lanes != 1:
            shape, strides = (*shape, self.lanes), (*strides, 1)
        storage = self.pointer.storage
        begin = self.pointer.offset % kind.itemsize + self.offset * kind.itemsize
        if 0 in shape:
            return np.empty(shape, kind)
        return np.ndarray(shape, kind, storage.data, begin, tuple([stride * kind.itemsize for stride in strides]))

    def positions(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Every element's indices and lane."""
        for indices in product(*map(range, self.shape)):
            yield indices, self.at(indices)

    def __repr__(self) -> str:
        return f"<view {self.kind} {self.shape} of {self.pointer.storage.name}>"


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides without gaps, in elements."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * shape[dim]
    return tuple(strides)


def allocate(kind: DType, count: int, name: str, span: Span | None) -> Storage:
    """New memory for `count` elements, of which nothing is written."""
    lanes = count * kind.lanes
    size = kind.element.itemsize
    return Storage(np.empty(lanes * size, np.uint8), size, name, bytearray(lanes), span)


def constant_storage(array: np.ndarray[Any, Any], kind: DType, name: str, span: Span | None) -> Storage:
    """A storage over the read-only array of a constant."""
    return Storage(bytes_of(array), kind.element.itemsize, name, None, span)


def of_array(
    array: np.ndarray[Any, Any],
    kind: DType,
    name: str,
    span: Span | None,
    *,
    tracked: bool,
    states: Mapping[int, bytearray] = NOTHING,
) -> tuple[Storage, int]:
    """A storage over a caller's array and the byte at which its first element lies; `tracked` where undef may be
    stored. `states` are, by address, what is known of arrays that are not written everywhere."""
    data = bytes_of(array)
    size = kind.element.itemsize or 1
    state = states.get(address_of(array)) if states else None
    if state is None or len(state) * size != data.size:
        state = bytearray([WRITTEN]) * -(-data.size // size) if tracked else None
    return Storage(data, size, name, state, span), address_of(array) - extent_of(array)[0]


def view_of(
    array: np.ndarray[Any, Any],
    kind: DType,
    name: str,
    span: Span | None,
    *,
    tracked: bool,
    states: Mapping[int, bytearray] = NOTHING,
) -> View:
    """A caller's array, of the buffer's dtype, as a view."""
    storage, first = of_array(array, kind, name, span, tracked=tracked, states=states)
    size = kind.element.itemsize
    dims = array.shape if kind.lanes == 1 else array.shape[:-1]
    strides = tuple([stride // (size * kind.lanes) for stride in array.strides[: len(dims)]])
    return View(Pointer(storage, first, kind), kind, dims, strides)
