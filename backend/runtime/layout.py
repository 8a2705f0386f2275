"""What a native entry must know of this process: where CPython and numpy keep their fields, where their objects are.

An entry reads numpy's array struct directly. The offsets come from ctypes structures and are verified once on a known
array; where they do not hold (another Python, a free-threaded build), functions are called through `slow.PortablePath`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from tirscript.ir import DType, dtype
from tirscript.ir.dtype import FLOAT32

HEAD = object.__basicsize__  # of an object: reference count and type
OB_TYPE = HEAD - ctypes.sizeof(ctypes.c_void_p)
FLOAT_VALUE = HEAD

# where the slots of a function object are, see function.py
FUNCTION_ENTRY, FUNCTION_SLOW, FUNCTION_FAIL, FUNCTION_DICT, FUNCTION_WEAK, FUNCTION_SIZE = (
    HEAD + 8 * at for at in range(6)
)


class ArrayFields(ctypes.Structure):
    """numpy's PyArrayObject_fields, the same in numpy 1 and 2."""

    _fields_ = [
        ("head", ctypes.c_char * HEAD),
        ("data", ctypes.c_void_p),
        ("nd", ctypes.c_int),
        ("dimensions", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    ]


class DescrFields(ctypes.Structure):
    """The head of numpy's PyArray_Descr, the same in numpy 1 and 2."""

    _fields_ = [
        ("head", ctypes.c_char * HEAD),
        ("typeobj", ctypes.c_void_p),
        ("kind", ctypes.c_char),
        ("type", ctypes.c_char),
        ("byteorder", ctypes.c_char),
        ("flags", ctypes.c_char),
        ("type_num", ctypes.c_int),
    ]


C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # numpy's NPY_ARRAY_* flags
OBJECTS, RECORDS = 17, 20  # numpy's NPY_OBJECT and NPY_VOID


def offset(structure: type[ctypes.Structure], field: str) -> int:
    """Where a field of a C struct begins."""
    return int(getattr(structure, field).offset)


def _numpy_dtype(kind: DType) -> Any:
    from .arrays import numpy_dtype  # cached: the dtype objects whose addresses entries hold stay alive

    return numpy_dtype(kind)


@cache
def type_number(kind: DType) -> int | None:
    """numpy's number of a built-in dtype; None for one that a library registered, known by its address only."""
    number = int(_numpy_dtype(kind).num)
    return number if number < 256 else None


@cache
def direct_calls() -> bool:
    """Whether entries may read Python's and numpy's structs in this process: the layouts hold on known objects."""
    if sys.implementation.name != "cpython" or "t" in sys.abiflags:
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    return check_layout()


def check_layout() -> bool:
    """Whether the structs above describe a known array, dtype and float. Reads memory of CPython objects only."""
    import numpy

    def type_of(value: object) -> int | None:
        return ctypes.c_void_p.from_address(id(value) + OB_TYPE).value

    array = numpy.arange(24, dtype=numpy.int16).reshape(4, 6)[1:, ::2]
    fields = ArrayFields.from_address(id(array))
    if type(array).__basicsize__ < ctypes.sizeof(ArrayFields) or type_of(array) != id(numpy.ndarray):
        return False
    good = (fields.data, fields.nd, fields.descr) == (array.__array_interface__["data"][0], array.ndim, id(array.dtype))
    good = good and fields.flags == array.flags.num and not fields.flags & C_CONTIGUOUS
    if not good or not fields.dimensions or not fields.strides:
        return False
    pair = ctypes.c_ssize_t * 2
    good = (
        tuple(pair.from_address(fields.dimensions)) == array.shape
        and tuple(pair.from_address(fields.strides)) == array.strides
    )
    pair_of = (array,)  # a tuple: its size, then its items
    for kind in (numpy.dtype(">i4"), numpy.dtype("f2"), numpy.dtype("bool")):
        descr = DescrFields.from_address(id(kind))
        good = good and descr.type_num == kind.num and descr.byteorder == kind.byteorder.encode()
    return bool(
        good
        and (numpy.dtype(object).num, numpy.dtype("V4").num) == (OBJECTS, RECORDS)
        and type_of(1) == id(int)
        and tuple((ctypes.c_ssize_t * 2).from_address(id(pair_of) + HEAD)) == (1, id(pair_of[0]))
        and type_of(1.5) == id(float)
        and ctypes.c_double.from_address(id(1.5) + FLOAT_VALUE).value == 1.5
        and numpy.dtype("float32") is _numpy_dtype(FLOAT32)
    )


def address(slot: str) -> int:
    """The address that a slot of an entry's table holds, by its name: `api:NAME`, `type:NAME`, `object:NAME`,
    `dtype:NAME`, `cell:NAME`."""
    kind, _, name = slot.partition(":")
    if kind == "cell":
        from .exchange import cell

        return cell(name)
    if kind == "api":
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    if kind == "dtype":
        return id(_numpy_dtype(dtype(name)))
    return id(_OBJECTS[name]()) if kind == "object" else id(_TYPES[name]())


def _ndarray() -> type:
    import numpy

    return numpy.ndarray


def _refuse() -> object:
    from .slow import REFUSE

    return REFUSE


_OBJECTS = {"None": lambda: None, "True": lambda: True, "False": lambda: False, "refuse": _refuse}
_TYPES = {"int": lambda: int, "float": lambda: float, "ndarray": _ndarray}


def fill_table(where: int, slots: Iterable[str], names: Mapping[str, Sequence[str | None]] | None = None) -> list[str]:
    """Write the addresses of `slots` into the table of a compiled module, before anything of it is called.

    names: of a kernel's symbol the names of its parameters, None for one that cannot be given by name; these are the
           slots `param:SYMBOL:NUMBER`. What is returned must live as long as the table.
    """
    addresses, held = [], []
    for slot in slots:
        if not slot.startswith("param:"):
            addresses.append(address(slot))
            continue
        _, kernel, number = slot.split(":")
        name = (names or {}).get(kernel, {int(number): None})[int(number)]
        if name is None:
            addresses.append(0)
        else:
            held.append(sys.intern(name))  # as the words of a call are
            addresses.append(id(held[-1]))
    (ctypes.c_uint64 * len(addresses)).from_address(where)[:] = addresses  # type: ignore[assignment]
    return held
