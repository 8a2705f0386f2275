"""Tensors that are part of a program: their values, known by what they hold, and the stores that keep them.

A constant is its digest: the sha256 of its dtype, its shape and its bytes. Programs hold small objects that name the
digest; the data is one read-only array, shared by all programs of the process that use it, and goes away with them.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakValueDictionary

from .check import describe, public
from .diagnostic import DiagnosticError, error
from .dtype import KEPT, DType, dtype
from .forks import renew_in_children
from .node import Node
from .words import call_it, counted, parenthesized

if TYPE_CHECKING:
    import numpy as np

CACHE_LINE = 64  # bytes
PREFIX = "sha256:"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class _Data:
    """The elements of one digest: a read-only array without gaps, in row-major order and little-endian."""

    __slots__ = ("__weakref__", "array", "copies")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.copies: dict[int, np.ndarray[Any, Any]] = {}  # at addresses that are multiples of the key


# the data of every constant that some program or store of this process holds
_KNOWN: WeakValueDictionary[str, _Data] = WeakValueDictionary()
_lock = threading.Lock()
renew_in_children(globals(), "_lock", threading.Lock)


class ConstantTensor:
    """A tensor whose elements never change: equal to another one where both digests are.

    Without data it is *unresolved*: programs with it are printed, compared and rewritten, but not run. It finds its
    data as soon as anything in the process holds it.
    """

    __slots__ = ("__weakref__", "_data", "_digest", "_dtype", "_shape")

    def __init__(self, digest: str, shape: tuple[int, ...], kind: object, data: _Data | None = None) -> None:
        """An unresolved constant; `constant` makes one of data. DiagnosticError T115 for a malformed digest."""
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            message = f"{_brief(digest)} is no digest of a constant"
            raise DiagnosticError([error("T115", message, hint='it is "sha256:" and 64 hexadecimal digits')])
        self._digest = digest
        self._shape = shape
        self._dtype = dtype(kind)
        self._data = data
        if math.prod(filter(None, shape)) * self._dtype.itemsize >= 1 << 63:
            raise DiagnosticError([error("T114", f"no memory holds a constant of the shape {parenthesized(shape)}")])
        if data is None and 0 in shape:  # nothing is missing, unless the digest is that of something else
            import numpy as np

            empty = np.empty(shape, numpy_dtype(self._dtype))
            if digest_of(empty, self._dtype) == digest:
                self._data = _Data(empty)

    @property
    def digest(self) -> str:
        """`sha256:` and 64 hexadecimal digits."""
        return self._digest

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        return self.size * self._dtype.itemsize

    @property
    def resolved(self) -> bool:
        """Whether the elements are at hand in this process."""
        return self._find() is not None

    def kept(self) -> ConstantTensor:
        """Itself, with the elements if they are at hand: they are not freed before it is."""
        self._find()
        return self

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements: a read-only numpy array, the same for all constants of this digest.

        DiagnosticError T312 where they are not at hand.
        """
        data = self._find()
        if data is None:
            raise DiagnosticError([missing(self)])
        return data.array

    def aligned(self, align: int) -> np.ndarray[Any, Any]:
        """The array, or the one copy of it whose address is a multiple of `align` bytes."""
        array = self.array
        if align <= 1 or array.__array_interface__["data"][0] % align == 0:
            return array
        data = self._find()
        assert data is not None
        with _lock:
            found = data.copies.get(align)
            if found is None:
                found = room(array.shape, array.dtype, align)
                found[...] = array
                found.flags.writeable = False
                data.copies[align] = found
        return found

    def _find(self) -> _Data | None:
        data = self._data
        if data is None:
            data = _KNOWN.get(self._digest)
            if data is not None and (data.array.shape, data.array.dtype) == (self._shape, numpy_dtype(self._dtype)):
                self._data = data
            else:
                data = None
        return data

    def __eq__(self, other: object) -> bool:
        if type(other) is not ConstantTensor:
            return NotImplemented
        return self._digest == other._digest and self._shape == other._shape and self._dtype is other._dtype

    def __hash__(self) -> int:
        return hash(self._digest)

    def __copy__(self) -> ConstantTensor:
        return self

    def __deepcopy__(self, memo: object) -> ConstantTensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return ConstantTensor, (self._digest, self._shape, self._dtype)  # pickles name the data and do not hold it

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        import numpy as np

        return np.array(self.array, dtype=dtype, copy=copy) if dtype is not None or copy else self.array

    def __repr__(self) -> str:
        return f"<constant {self}>"

    def __str__(self) -> str:
        return f"{self._dtype} {parenthesized(self._shape)} {self._digest[:15]}…"


call_it(ConstantTensor, "constant tensor")


def missing(value: ConstantTensor, span: Any = None) -> Any:
    """The diagnostic about a constant whose data is not at hand."""
    message = f"the data of a constant is missing: {value.digest}, {value.dtype} {parenthesized(value.shape)}"
    hint = "parse the text with `constants=store`, or load a store that holds it: `ConstantStore.load(path)`"
    return error("T312", message, span, hint=hint)


# -- from arrays


def numpy_dtype(kind: DType) -> np.dtype[Any]:
    """The numpy dtype of the elements of `kind`, little-endian; bfloat16 and float8 are those of ml_dtypes."""
    import numpy as np

    if kind.is_kept:
        message = f"constants of {kind} have no data here: it is {KEPT[kind.element.name]}"
        raise DiagnosticError([error("T109", message, hint="make them of another type, such as int8 or float8_e4m3fn")])
    if kind.kind in ("bfloat", "float8"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, kind.name))
    found: np.dtype[Any] = np.dtype(kind.name).newbyteorder("<")
    return found


def digest_of(array: np.ndarray[Any, Any], kind: DType) -> str:
    """The digest of an array as `constant` keeps them: sha256 of `float32[2,3]`, a zero byte, and its bytes."""
    head = f"{kind.name}[{','.join(map(str, array.shape))}]\0"
    found = hashlib.sha256(head.encode())
    if array.size:
        found.update(_bytes(array))
    return PREFIX + found.hexdigest()


def _bytes(array: np.ndarray[Any, Any]) -> memoryview:
    """The memory of an array without gaps."""
    import numpy as np

    return array.reshape(-1).view(np.uint8).data


@public
def constant(data: Any, kind: Any = None, shape: tuple[int, ...] | None = None) -> ConstantTensor:
    """A constant tensor of an array, a number, or nested lists of numbers.

    kind:  the dtype (of an array: its own; of plain numbers: int32, float32 or bool)
    shape: what the shape must be (of an array or lists: their own)

    An array without gaps comes in without a copy and belongs to the constant from then on: it is made read-only, so
    that writing to it fails (pass `array.copy()` to keep it). Memory-mapped arrays stay mapped. Other arrays, and parts
    of larger ones that can be written, are copied. Raises DiagnosticError T114 for data of another dtype or shape,
    ragged lists, and what holds no numbers, ValueError for what is no dtype.
    """
    import numpy as np

    to = None if kind is None else _element_dtype(kind)
    if type(data) is ConstantTensor:
        _same(data.dtype, to or data.dtype, data.shape, shape)
        return data
    if not isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (list, tuple, range, int, float)):
        data = _foreign(data)
    if isinstance(data, (np.ndarray, np.generic)):
        if is_masked(data):
            hint = "`array.filled(value)` is a copy without a mask"
            raise DiagnosticError([error("T114", "the data of a constant is a masked array", hint=hint)])
        array = np.asarray(data)
        own = _array_dtype(array)
        _same(own, to or own, array.shape, shape)
        return known(_owned(array, own), own)
    from .constant_lists import array_of

    array, own = array_of(list(data) if isinstance(data, range) else data, to)
    _same(own, own, array.shape, shape)
    return known(array, own)


def is_masked(array: object) -> bool:
    """Whether elements of an array are marked as invalid, by numpy's own class."""
    masked = sys.modules.get("numpy.ma")  # which numpy loads when it is first used
    return masked is not None and isinstance(array, masked.MaskedArray)


def room(shape: tuple[int, ...], kind: np.dtype[Any], align: int = CACHE_LINE) -> np.ndarray[Any, Any]:
    """A new array without values, whose address is a multiple of `align` bytes: where that is a line of the cache, no
    vector lies in two."""
    import numpy as np

    size = math.prod(shape) * kind.itemsize
    memory = np.empty(size + align, np.uint8)
    start = -memory.__array_interface__["data"][0] % align
    return memory[start : start + size].view(kind).reshape(shape)


def strided(memory: np.ndarray[Any, Any], shape: Sequence[int], strides: Sequence[int]) -> np.ndarray[Any, Any]:
    """The elements of flat memory at such strides, in bytes: `as_strided`, which does not know all of our dtypes."""
    import numpy as np

    plain = memory.view(f"u{memory.itemsize}")
    return np.lib.stride_tricks.as_strided(plain, tuple(shape), tuple(strides)).view(memory.dtype)


def known(array: np.ndarray[Any, Any], kind: DType, digest: str | None = None) -> ConstantTensor:
    """The constant of an array that is read-only and without gaps; the data that the process has already is kept."""
    name: str = digest or digest_of(array, kind)
    with _lock:
        data = _KNOWN.get(name)
        if data is None:
            array.flags.writeable = False
            data = _KNOWN[name] = _Data(array)
    return ConstantTensor(name, array.shape, kind, data)


def _element_dtype(kind: Any) -> DType:
    to = dtype(kind)
    if to.is_vector or to.is_handle or to.kind == "void":
        message = f"a constant holds numbers, not {to}"
        hint = f'make it one dimension more of "{to.element}"' if to.is_vector else None
        raise DiagnosticError([error("T114", message, hint=hint)])
    return to


def _same(have: DType, want: DType, shape: tuple[int, ...], wanted: tuple[int, ...] | None) -> None:
    if have is not want:
        message = f"the data of the constant is {have}, but it is declared {want}"
        hint = f'convert it: `array.astype("{want}")`, or declare it "{have}"'
        raise DiagnosticError([error("T114", message, hint=hint)])
    if wanted is not None and wanted != shape:
        message = (
            f"the data of the constant has the shape {parenthesized(shape)}, but {parenthesized(wanted)} is declared"
        )
        way = "reshape it" if math.prod(shape) == math.prod(wanted) else None
        raise DiagnosticError([error("T114", message, hint=way)])


def _foreign(value: Any) -> np.ndarray[Any, Any]:
    """Another library's array."""
    import numpy as np

    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        try:
            return np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as problem:
            why = f"{type(problem).__name__}: {problem}"
            raise DiagnosticError([error("T114", "the data of the constant is no array", notes=[why])]) from None
    message = f"the data of a constant is an array, a number or nested lists, not {_brief(value)}"
    raise DiagnosticError([error("T114", message)])


def _brief(value: object) -> str:
    from .words import words

    return f"{value!r:.40}" if isinstance(value, (str, int, float, type(None))) else words(value)


def _array_dtype(array: np.ndarray[Any, Any]) -> DType:
    """The dtype of an array's elements."""
    name = array.dtype.name
    hint = "the elements are integers, floats or bools, all of one dtype"
    if array.dtype.kind in "biuf" or array.dtype.type.__module__.partition(".")[0] == "ml_dtypes":
        try:
            return dtype(name)
        except ValueError as problem:
            hint = str(problem)
    what = "Python objects" if array.dtype.kind == "O" else name
    raise DiagnosticError([error("T114", f"the data of a constant is an array of {what}", hint=hint)])


def _owned(array: np.ndarray[Any, Any], kind: DType) -> np.ndarray[Any, Any]:
    """The array as a constant keeps it: itself, made read-only, or a copy where it is part of what can be written."""
    import numpy as np

    array = array.view(np.ndarray) if type(array) is not np.ndarray else array
    want = numpy_dtype(kind)
    if not array.flags.c_contiguous or not array.flags.aligned or array.dtype != want:
        return canonical(np.array(array, dtype=want, order="C"), kind)
    chain: list[np.ndarray[Any, Any]] = []
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            chain.append(base)
        base = base.base
    if any(one.nbytes != array.nbytes for one in chain) or (isinstance(base, memoryview) and not base.readonly):
        return canonical(array.copy(), kind)
    plain = canonical(array, kind)
    if plain is array:
        for one in chain:
            one.flags.writeable = False
    made: np.ndarray[Any, Any] = plain[...]
    return made


def canonical(array: np.ndarray[Any, Any], kind: DType) -> np.ndarray[Any, Any]:
    """The array, its bools being bytes of 0 and 1."""
    import numpy as np

    if kind.is_bool and array.size and int(array.view(np.uint8).max()) > 1:
        found: np.ndarray[Any, Any] = array.view(np.uint8) != 0
        return found
    return array


def view_of(data: Any, shape: tuple[int, ...], kind: DType) -> np.ndarray[Any, Any]:
    """Bytes as a read-only array that shares them where they are aligned."""
    import numpy as np

    if not memoryview(data).nbytes:
        return np.empty(shape, numpy_dtype(kind))
    array = np.frombuffer(data, numpy_dtype(kind)).reshape(shape)
    array = array if array.flags.aligned else array.copy()
    array.flags.writeable = False
    return array


def from_bytes(data: bytes | memoryview, digest: str, shape: tuple[int, ...], kind: DType) -> ConstantTensor:
    """The constant of raw little-endian bytes, whose digest is checked; DiagnosticError T115 where it is another."""
    import numpy as np

    value = ConstantTensor(digest, shape, kind)
    size = memoryview(data).nbytes
    if size != value.nbytes:
        message = (
            f"the constant {digest[:15]}… has {size} bytes, but {kind} {parenthesized(shape)} takes {value.nbytes}"
        )
        raise DiagnosticError([error("T115", message)])
    array = view_of(data, shape, kind)
    found = digest_of(array, kind)
    if found != digest:
        message = f"the data of the constant {digest[:15]}… is damaged: its digest is {found[:15]}…"
        raise DiagnosticError([error("T115", message, hint="write it again from the original data")])
    if kind.is_bool and array.size and int(array.view(np.uint8).max()) > 1:
        raise DiagnosticError([error("T115", f"the constant {digest[:15]}… holds bools that are no 0 or 1")])
    return known(array, kind, digest)


# -- stores


class ConstantStore:
    """Constants by digest; it keeps their data. `store[digest]`, `digest in store`, `len(store)`, iteration.

    The data of equal constants is there once, whatever stores and programs hold it.
    """

    def __init__(self, *programs: Node) -> None:
        """A store with the constants of these programs."""
        self._constants: dict[str, ConstantTensor] = {}
        for program in programs:
            if not isinstance(program, Node):
                kept = "; `store.add(data)` keeps an array"
                raise TypeError(f"ConstantStore() takes programs (Node), not {describe(program)}{kept}")
            self.collect(program)

    def add(self, data: Any, kind: Any = None) -> ConstantTensor:
        """Keep the data; the options and the errors are those of `constant`."""
        value = constant(data, kind)
        if not value.resolved:
            raise DiagnosticError([missing(value)])
        self._constants[value.digest] = value
        return value

    @public
    def collect(self, program: Node) -> ConstantStore:
        """Keep all constants of a program whose data is at hand; this store."""
        for node in constant_nodes(program):
            if node.data.resolved:
                self._constants[node.data.digest] = node.data
        return self

    def get(self, digest: str) -> ConstantTensor | None:
        """The constant of that digest, or None."""
        return self._constants.get(digest)

    def __getitem__(self, digest: str) -> ConstantTensor:
        found = self._constants.get(digest)
        if found is None:
            many = f"it holds {counted(len(self._constants), 'constant')}"
            raise DiagnosticError([error("T115", f"the store has no constant {_brief(digest)}; {many}")])
        return found

    def __contains__(self, digest: object) -> bool:
        return digest in self._constants

    def __iter__(self) -> Iterator[str]:
        return iter(self._constants)

    def __len__(self) -> int:
        return len(self._constants)

    def values(self) -> list[ConstantTensor]:
        """The constants."""
        return list(self._constants.values())

    @property
    def nbytes(self) -> int:
        """The bytes of all constants."""
        return sum(value.nbytes for value in self._constants.values())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all constants into a safetensors file, each under its digest. The file is replaced at once."""
        from .constant_file import write

        write(path, self._constants.values())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ConstantStore:
        """A store with every tensor of a safetensors file, large ones mapped; DiagnosticError T115 for a damaged file.

        Tensors under a digest are checked; others, as in a model's file, come under the digest that they have.
        """
        from .constant_file import read_all

        store = ConstantStore()
        for value in read_all(path):
            store._constants[value.digest] = value
        return store

    def __reduce__(self) -> NoReturn:
        raise TypeError("a store is not pickled: `store.save(path)` writes it, and `ConstantStore.load(path)` reads it")

    def __repr__(self) -> str:
        return f"<store of {len(self)} constants, {self.nbytes} bytes>"


def constants_of(program: Node) -> list[Any]:
    """The statements of a program's tensor functions that define constants, in source order."""
    from .rewrite import walk
    from .stmt import AllocateConst

    return list(walk(program, AllocateConst))


def constant_nodes(program: Node) -> list[Any]:
    """All that holds a constant as `data`, in source order: the statements of `constants_of`, and values of graphs."""
    from .graph import GraphConst
    from .rewrite import walk
    from .stmt import AllocateConst

    return [node for node in walk(program) if type(node) is AllocateConst or type(node) is GraphConst]


def require_constants(program: Node) -> None:
    """Raise DiagnosticError T312, once for each digest, where the data of constants is not at hand."""
    found: dict[str, Any] = {}
    for node in constant_nodes(program):
        if not node.data.resolved:
            found.setdefault(node.data.digest, missing(node.data, node.span))
    if found:
        raise DiagnosticError(found.values())


__all__ = ["ConstantStore", "ConstantTensor", "constant", "constant_nodes", "constants_of", "require_constants"]
