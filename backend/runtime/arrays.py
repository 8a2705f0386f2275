"""Arrays as memory: element types in numpy's words, and views of whatever the caller passes, without copies."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from tirscript.ir import Buffer, DiagnosticError, DType, error
from tirscript.ir.computed import not_computed
from tirscript.ir.constant import ConstantTensor, is_masked
from tirscript.ir.span import Span
from tirscript.ir.words import parenthesized, with_article


class ArrayProblem(Exception):
    """Why a value cannot stand for a buffer: what was `expected`, what was `got`, and a way out."""

    def __init__(self, expected: str, got: str, hint: str | None = None) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got
        self.hint = hint


@cache
def numpy_dtype(kind: DType) -> np.dtype[Any]:
    """The numpy dtype of one lane of `kind`; bfloat16 and float8 are those of ml_dtypes."""
    element = kind.element
    if element.is_kept:
        raise DiagnosticError([not_computed(element, "T402")])
    if element.kind in ("bfloat", "float8"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, element.name))
    if element.is_handle:
        return np.dtype(np.uint64)
    if element.kind == "void":
        raise ArrayProblem("a dtype with values", "void")
    return np.dtype(element.name)


def as_array(value: Any, buffer: Buffer, writable: bool = False) -> np.ndarray[Any, Any]:
    """`value` as an array of the buffer's dtype that shares its memory.

    numpy arrays, constants, objects with DLPack (torch tensors on the CPU too), objects with an array interface, and
    bytes-like objects, whose bytes are read as elements of the buffer's dtype. Shape and strides are not checked here.
    Raises ArrayProblem.
    """
    want = numpy_dtype(buffer.dtype)
    # not `isinstance`, which asks the object
    array = plain_array(value) if issubclass(type(value), np.ndarray) else _view(value, buffer, want)
    if array.dtype != want:
        raise ArrayProblem(
            f"an array of {want.name}", f"an array of {_dtype_name(array.dtype)}", _dtype_hint(array.dtype, want)
        )
    if not array.flags.aligned:
        at = address_of(array)
        got = f"one at address {at:#x}" if at % want.alignment else f"one with strides of {array.strides} bytes"
        raise ArrayProblem(f"an array aligned to {want.alignment} bytes", got, "pass a copy: `array.copy()`")
    if writable and not array.flags.writeable:
        raise ArrayProblem("an array that can be written", "a read-only one", "pass a copy: `array.copy()`")
    return array


def new_array(
    shape: tuple[int, ...], dtype: np.dtype[Any], what: str, span: Span | None = None, *, zeros: bool = False
) -> np.ndarray[Any, Any]:
    """Memory for `what`. Raises DiagnosticError where there is none."""
    try:
        return np.zeros(shape, dtype) if zeros else np.empty(shape, dtype)
    except (MemoryError, ValueError):  # more than there is, and more than numpy counts
        message = f"there is no memory for {what} of shape {parenthesized(shape)}"
        raise DiagnosticError([error("T301", message, span)]) from None


def in_rows(value: Any, buffer: Buffer, sizes: Sequence[int | None]) -> Any:
    """An argument that is only read, as kernels take it: a copy of an array whose rows are apart or in another order,
    or whose elements are at odd addresses. What does not have the buffer's dtype and `sizes` (None is any) stays."""
    try:
        array = value if type(value) is np.ndarray else as_array(value, buffer)
        same = array.dtype == numpy_dtype(buffer.dtype) and array.ndim == len(sizes)
        if not same or any(one not in (None, size) for one, size in zip(sizes, array.shape, strict=True)):
            return value
        return value if array.flags.c_contiguous and array.flags.aligned else array.copy("C")
    except (ArrayProblem, MemoryError):
        return value  # which is told where it is refused


def plain_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array without what a subclass makes of it: its own words about its shape and strides need not be true."""
    if is_masked(array):
        hint = "`array.filled(value)` is a copy without a mask, `array.data` the elements as they are, masked or not"
        raise ArrayProblem("an array without a mask", "a masked array", hint)
    return array if type(array) is np.ndarray else np.asarray(array)


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """An array of any dtype, or what numpy makes one of. Raises ArrayProblem."""
    if issubclass(type(value), np.ndarray):
        return plain_array(value)
    try:
        return np.asarray(value)
    except Exception as problem:
        raise ArrayProblem("an array", raised(value, problem)) from None


def _dtype_name(kind: np.dtype[Any]) -> str:
    return kind.name if kind.isnative else f"{kind.name} in foreign byte order"


def _dtype_hint(have: np.dtype[Any], want: np.dtype[Any]) -> str:
    if want.kind == "V" or want.name not in np.sctypeDict:
        view = f"`array.view(ml_dtypes.{want.name})` shares the memory, " if have.itemsize == want.itemsize else ""
        return f"{view}`array.astype(ml_dtypes.{want.name})` converts the values into a new array"
    return f'`array.astype("{want.name}")` converts the values into a new array'


def _view(value: Any, buffer: Buffer, want: np.dtype[Any]) -> np.ndarray[Any, Any]:
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(type(value), torch.Tensor):
        return _from_torch(value, torch)
    words = f"an array for `{buffer.name}`"
    if type(value) is ConstantTensor:
        return value.array
    if _offers(value, "__dlpack__", words):
        return _from_dlpack(value)
    if _offers(value, "__array_interface__", words):
        return _from_interface(value)
    try:
        memory = memoryview(value)
    except TypeError:
        if value is None:
            raise ArrayProblem(words, "None") from None
        hint = None
        if issubclass(type(value), (list, tuple, int, float)):
            hint = f'make an array of it: `numpy.array(..., dtype="{want.name}")`'
        raise ArrayProblem(words, with_article(type(value).__name__), hint) from None
    except Exception as problem:
        raise ArrayProblem(words, raised(value, problem)) from None
    return _from_memory(memory, buffer, want)


def _from_interface(value: Any) -> np.ndarray[Any, Any]:
    words = "an object whose `__array_interface__` describes an array"
    try:
        array = np.asarray(value)
    except Exception as problem:
        raise ArrayProblem(words, raised(value, problem)) from None
    try:
        memory = np.frombuffer(array.base, np.uint8)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # an address: the object's word is all there is
        return array
    # numpy takes shape, strides and offset on trust here, too
    (low, high), (first, end) = extent_of(array), extent_of(memory)
    if low < high and not (first <= low and high <= end):
        what = f"one that describes {high - low} bytes at {low - first} of an object of {memory.size} bytes"
        raise ArrayProblem(words, what)
    return array


def _offers(value: Any, name: str, words: str) -> bool:
    """Whether an object has an attribute; what asking it raises is told."""
    try:
        return hasattr(value, name)
    except Exception as problem:
        raise ArrayProblem(words, raised(value, problem)) from None


def raised(value: Any, problem: Exception) -> str:
    """An object that raised something when it was asked for its memory or value."""
    try:
        why = str(problem)
    except Exception:
        why = type(problem).__name__
    return f"{with_article(type(value).__name__)}: {why}"


def _from_torch(value: Any, torch: Any) -> np.ndarray[Any, Any]:
    if value.device.type != "cpu":
        raise ArrayProblem("a tensor on the CPU", f"one on {value.device}", "copy it: `tensor.cpu()`")
    try:
        array = _numpy_of(value.detach(), torch)
        freed = array.size and not value.data_ptr()  # numpy has made memory of its own for it
    except (RuntimeError, TypeError) as problem:  # sparse, quantized, conjugated or negated when it is read
        got = f"one that it cannot: {str(problem).splitlines()[0]}"
        raise ArrayProblem("a tensor that numpy can view", got) from None
    if freed:
        raise ArrayProblem("a tensor that has memory", "one whose memory was given back")
    return array


def _numpy_of(tensor: Any, torch: Any) -> np.ndarray[Any, Any]:
    name = str(tensor.dtype).rpartition(".")[2]
    same_size = {1: torch.uint8, 2: torch.int16}
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):  # numpy has no such dtype: the bits are shared
        import ml_dtypes

        array: np.ndarray[Any, Any] = (
            tensor.view(same_size[tensor.element_size()]).numpy().view(getattr(ml_dtypes, name))
        )
        return array
    return np.asarray(tensor.numpy())


def _from_dlpack(value: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.from_dlpack(value)
    except Exception as problem:
        raise ArrayProblem("a DLPack object that numpy can view", raised(value, problem)) from None
    if not array.flags.writeable and not _is_read_only(value):
        # a producer of the first DLPack version has no word for read-only, and its memory is taken to be writable;
        # numpy before 2.1 asks every producer for that version
        return _Memory(address_of(array), array.shape, array.strides, array.dtype, array).array()
    return array


def _is_read_only(value: Any) -> bool:
    """Whether a DLPack producer says that its memory may not be written."""
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:
        return False
    except (BufferError, RuntimeError, ValueError):
        return True
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    try:
        address = pointer_of(capsule, b"dltensor_versioned")
    except ValueError:  # a capsule of the first version
        return False
    # DLManagedTensorVersioned: two 32-bit versions, two pointers, the flags
    flags = ctypes.c_uint64.from_address(address + 8 + 2 * ctypes.sizeof(ctypes.c_void_p)).value
    return bool(flags & _DLPACK_READ_ONLY)


_DLPACK_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY of dlpack.h


class _Memory:
    """Foreign memory as numpy can view it; keeps its owner alive."""

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        kind: np.dtype[Any],
        owner: Any,
        readonly: bool = False,
    ) -> None:
        self.owner = owner
        self.kind = kind
        self.__array_interface__ = {
            "version": 3,
            "data": (address, readonly),
            "shape": (*shape, kind.itemsize),
            "strides": (*strides, 1),
            "typestr": "|u1",
        }
        self.shape = shape

    def array(self) -> np.ndarray[Any, Any]:
        raw = np.asarray(self)
        return raw.view(self.kind)[..., 0] if raw.size else np.empty(self.shape, self.kind)


def _from_memory(memory: memoryview, buffer: Buffer, want: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if memory.format not in ("B", "b", "c") or memory.ndim != 1:
        try:
            return np.asarray(memory)
        except Exception as problem:  # such as a pointer of ctypes: it does not say how many elements it points to
            hint = None
            if "&" in (memory.format or ""):
                hint = "say how many elements there are: `numpy.ctypeslib.as_array(pointer, shape)`"
            got = f"elements of the format {memory.format!r}: {problem}"
            raise ArrayProblem(f"an array for `{buffer.name}`", got, hint) from None
    if memory.nbytes % want.itemsize:
        raise ArrayProblem(
            f"bytes for whole elements of {want.name} ({want.itemsize} bytes each)", f"{memory.nbytes} bytes"
        )
    if not memory.c_contiguous:
        raise ArrayProblem("bytes without gaps", f"a memoryview with stride {memory.strides}")
    array = np.frombuffer(memory, dtype=want)
    shape = buffer.constant_shape()
    if shape is not None and len(shape) != 1 and buffer.dtype.lanes == 1 and math.prod(shape) == array.size:
        array = array.reshape(shape)
    return array


def address_of(array: np.ndarray[Any, Any]) -> int:
    """The address of an array's first element."""
    address: int = array.__array_interface__["data"][0]
    return address


def extent_of(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The first byte and the byte after the last that the elements of `array` take, as addresses."""
    low = high = address_of(array)
    if array.size == 0:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        span = (size - 1) * stride
        if span < 0:
            low += span
        else:
            high += span
    return low, high + array.itemsize


def bytes_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All the memory between an array's first and last byte, as one flat array of uint8 that shares it."""
    low, high = extent_of(array)
    if high == low:
        return np.empty(0, np.uint8)
    return _Memory(low, (high - low,), (1,), np.dtype(np.uint8), array, not array.flags.writeable).array()
