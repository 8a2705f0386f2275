"""What few calls need, natively: arguments by keyword put in order, and tensors of other libraries read.

Entries call the two functions below through cells that are empty until the slow path first meets such a call; then they
are compiled, once a process. Tensors are read by DLPack's C exchange API (`__dlpack_c_exchange_api__` of their type,
dlpack.h), which fills in a struct on the stack: no capsule, no Python object. What it cannot tell stays with the slow
path: tensors whose memory was given back, and those with gaps between their elements or of a single one, since torch
has real views of complex numbers whose sign is still to be changed, and only those look like that.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from tirscript.ir import DType
from tirscript.ir.forks import renew_in_children

from . import layout
from .layout import ArrayFields, offset

VIEW, ORDER = 0, 1  # the cells
_CPU = 1  # kDLCPU
_MOST_TYPES = 16
# DLDataTypeCode by the kind of a dtype, or by its name
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6, "float8_e4m3fn": 10, "float8_e5m2": 12}
_MAJOR = 1  # of the DLPack version whose structs these are

_lock = threading.Lock()
renew_in_children(globals(), "_lock", threading.Lock)
_cells = (ctypes.c_void_p * 2)()
# of each known type: its address, the function that reads its objects, the flags that its arrays have at least
_types = (ctypes.c_uint64 * (3 * (_MOST_TYPES + 1)))()
_known: list[type] = []  # keeps them alive
_engine: Any = None


class _ExchangeAPI(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("to_object", ctypes.c_void_p),
        ("tensor_from_object", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


def cell(name: str) -> int:
    """The address of the cell of "view" or "order"."""
    return ctypes.addressof(_cells) + ctypes.sizeof(ctypes.c_void_p) * {"view": VIEW, "order": ORDER}[name]


def type_code(kind: DType) -> int | None:
    """A dtype's element as DLPack's DLDataType: code, bits and one lane, from the lowest byte; None where it has
    none."""
    element = kind.element
    code = _CODES.get(element.name, _CODES.get(element.kind))
    return None if code is None else code | (8 if element.is_bool else element.bits) << 8 | 1 << 16


def enable() -> None:
    """Compile the two functions, and let entries call them."""
    global _engine
    with _lock:
        if _engine is not None:
            return
        import llvmlite.binding as llvm

        from tirscript.backend.llvm.host import host, target_machine

        module = llvm.parse_assembly(_text())
        engine = llvm.create_mcjit_compiler(module, target_machine(host(), 2))
        engine.finalize_object()
        _engine = engine
        _cells[VIEW], _cells[ORDER] = (engine.get_function_address(name) for name in ("view", "order"))


def learn(kind: type) -> None:
    """Let entries read the tensors of a type themselves, if it has DLPack's C exchange API."""
    if getattr(kind, "__dlpack_c_exchange_api__", None) is None or kind in _known:
        return
    function = _reader(kind)
    if function is None:
        return
    enable()
    with _lock:
        if kind in _known or len(_known) == _MOST_TYPES:
            return
        at = 3 * len(_known)
        flags = layout.C_CONTIGUOUS | layout.ALIGNED
        # the struct does not say whether memory may be written; that of torch always may
        _types[at + 1], _types[at + 2] = function, flags | (layout.WRITEABLE if _is_torch(kind) else 0)
        _types[at] = id(kind)  # last, as another thread may read the table
        _known.append(kind)


def _is_torch(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "torch"


def _reader(kind: type) -> int | None:
    """The function that reads objects of the type, by the API that it has itself or is known to share."""
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    # what inherits the API may keep its elements elsewhere; parameters do not
    own = "__dlpack_c_exchange_api__" in vars(kind) or (_is_torch(kind) and kind.__name__ == "Parameter")
    if not own:
        return None
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    try:
        where = pointer_of(capsule, b"dlpack_exchange_api")
    except (TypeError, ValueError):
        return None
    api = _ExchangeAPI.from_address(where)
    return api.tensor_from_object if api.major == _MAJOR else None


def _text() -> str:
    """The functions:

    view:  an array of numpy as it is; a tensor as the head of such an array, in %out; null for the slow path
    order: the arguments by position and keyword in the order of the parameters, in %out; whether they fit
    """
    return "\n".join(
        (
            "%DLTensor = type { i64, i32, i32, i32, i32, ptr, ptr, i64 }\n",
            _found(),
            _CHECKED + _WITHOUT_GAPS,
            _filled(),
            _ordered(),
        )
    )


def _found() -> str:
    """The beginning of `view`: an array of numpy is itself, another type has a function that reads it."""
    types = ctypes.addressof(_types)
    clear, ndarray = layout.address("api:PyErr_Clear"), layout.address("type:ndarray")
    return f"""\
define ptr @view(ptr %object, ptr %out, i32 %dtype, i64 %itemsize, i32 %flags, ptr %descr) {{
entry:
  %tensor = alloca %DLTensor, align 8
  %head = getelementptr i8, ptr %object, i64 {layout.OB_TYPE}
  %type = load i64, ptr %head, align 8
  %numpy = icmp eq i64 %type, {ndarray}
  br i1 %numpy, label %same, label %look
same:
  ret ptr %object
look:
  %entry.at = phi ptr [inttoptr (i64 {types} to ptr), %entry], [%entry.next, %other]
  %known = load i64, ptr %entry.at, align 8
  %end = icmp eq i64 %known, 0
  br i1 %end, label %no, label %compare
compare:
  %found = icmp eq i64 %known, %type
  br i1 %found, label %read, label %other
other:
  %entry.next = getelementptr i64, ptr %entry.at, i64 3
  br label %look
no:
  ret ptr null
read:
  %function.at = getelementptr i64, ptr %entry.at, i64 1
  %function = load ptr, ptr %function.at, align 8
  %status = call i32 %function(ptr %object, ptr %tensor)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %check, label %clear
clear:
  call void inttoptr (i64 {clear} to ptr)()
  ret ptr null"""


# in `view`: whether what was read is on this CPU, of the dtype that is asked for, and aligned
_CHECKED = f"""\
check:
  %have.at = getelementptr i64, ptr %entry.at, i64 2
  %have = load i32, ptr %have.at, align 8
  %masked = and i32 %have, %flags
  %allowed = icmp eq i32 %masked, %flags
  %start = load i64, ptr %tensor, align 8
  %device.at = getelementptr %DLTensor, ptr %tensor, i64 0, i32 1
  %device = load i32, ptr %device.at, align 8
  %cpu = icmp eq i32 %device, {_CPU}
  %nd.at = getelementptr %DLTensor, ptr %tensor, i64 0, i32 3
  %nd = load i32, ptr %nd.at, align 8
  %dtype.at = getelementptr %DLTensor, ptr %tensor, i64 0, i32 4
  %given = load i32, ptr %dtype.at, align 4
  %right = icmp eq i32 %given, %dtype
  %dims.at = getelementptr %DLTensor, ptr %tensor, i64 0, i32 5
  %dims = load ptr, ptr %dims.at, align 8
  %strides.at = getelementptr %DLTensor, ptr %tensor, i64 0, i32 6
  %strides = load ptr, ptr %strides.at, align 8
  %offset.at = getelementptr %DLTensor, ptr %tensor, i64 0, i32 7
  %offset = load i64, ptr %offset.at, align 8
  %data = add i64 %start, %offset
  %low = sub i64 %itemsize, 1
  %rest = and i64 %data, %low
  %aligned = icmp eq i64 %rest, 0
  %one = and i1 %allowed, %cpu
  %two = and i1 %right, %aligned
  %all = and i1 %one, %two
  %rank = sext i32 %nd to i64
  br i1 %all, label %dimensions, label %no
"""

# in `view`: whether its elements lie one after the other, going through the dimensions from the last
_WITHOUT_GAPS = """\
dimensions:
  %left = phi i64 [%rank, %check], [%axis, %step]
  %count = phi i64 [1, %check], [%product, %step]
  %gaps = phi i1 [false, %check], [%gap, %step]
  %done = icmp sle i64 %left, 0
  br i1 %done, label %counted, label %axis.of
axis.of:
  %axis = sub i64 %left, 1
  %dim.at = getelementptr i64, ptr %dims, i64 %axis
  %dim = load i64, ptr %dim.at, align 8
  %product = mul i64 %count, %dim
  %plain = icmp eq ptr %strides, null
  br i1 %plain, label %step, label %stride.of
stride.of:
  %stride.at = getelementptr i64, ptr %strides, i64 %axis
  %stride = load i64, ptr %stride.at, align 8
  %wrong = icmp ne i64 %stride, %count
  %more = icmp ne i64 %dim, 1
  %both = and i1 %wrong, %more
  %now = or i1 %gaps, %both
  br label %step
step:
  %gap = phi i1 [%gaps, %axis.of], [%now, %stride.of]
  br label %dimensions
counted:
  %single = icmp eq i64 %count, 1
  %none = icmp eq i64 %count, 0
  %filled = xor i1 %none, true
  %holes = and i1 %gaps, %filled
  %null = icmp eq i64 %start, 0
  %freed = and i1 %null, %filled
  %odd = or i1 %single, %holes
  %refused = or i1 %odd, %freed
  br i1 %refused, label %no, label %fill"""


def _filled() -> str:
    """The end of `view`: the fields of an array of numpy."""
    values = (
        ("data", "i64", "%data"),
        ("nd", "i32", "%nd"),
        ("dimensions", "ptr", "%dims"),
        ("strides", "ptr", "null"),
        ("descr", "ptr", "%descr"),
        ("flags", "i32", "%have"),
    )
    stores = "\n".join(
        f"  %at.{name} = getelementptr i8, ptr %out, i64 {offset(ArrayFields, name)}\n"
        f"  store {kind} {value}, ptr %at.{name}, align 4"
        for name, kind, value in values
    )
    return f"""\
fill:
{stores}
  ret ptr %out
}}
"""


def _ordered() -> str:
    """`order`: the arguments by position are copied, then each keyword is looked for among the names."""
    size, items = layout.HEAD, layout.HEAD + 8  # of a tuple
    return f"""\
define i1 @order(ptr %args, i64 %given, ptr %kwnames, ptr %names, i64 %params, ptr %out) {{
entry:
  %size.at = getelementptr i8, ptr %kwnames, i64 {size}
  %words = load i64, ptr %size.at, align 8
  %all = add i64 %given, %words
  %fits = icmp eq i64 %all, %params
  br i1 %fits, label %copy, label %bad
copy:
  %i = phi i64 [0, %entry], [%i.next, %copy.one]
  %copied = icmp eq i64 %i, %params
  br i1 %copied, label %keyword, label %copy.one
copy.one:
  %positional = icmp ult i64 %i, %given
  %from = getelementptr ptr, ptr %args, i64 %i
  %value = load ptr, ptr %from, align 8
  %kept = select i1 %positional, ptr %value, ptr null
  %to = getelementptr ptr, ptr %out, i64 %i
  store ptr %kept, ptr %to, align 8
  %i.next = add i64 %i, 1
  br label %copy
keyword:
  %j = phi i64 [0, %copy], [%j.next, %put]
  %finished = icmp eq i64 %j, %words
  br i1 %finished, label %good, label %name
name:
  %items = getelementptr i8, ptr %kwnames, i64 {items}
  %key.at = getelementptr ptr, ptr %items, i64 %j
  %key = load ptr, ptr %key.at, align 8
  br label %search
search:
  %p = phi i64 [%given, %name], [%p.next, %different]
  %nowhere = icmp eq i64 %p, %params
  br i1 %nowhere, label %bad, label %try
try:
  %param.at = getelementptr ptr, ptr %names, i64 %p
  %param = load ptr, ptr %param.at, align 8
  %same = icmp eq ptr %param, %key
  br i1 %same, label %matched, label %different
different:
  %p.next = add i64 %p, 1
  br label %search
matched:
  %place = getelementptr ptr, ptr %out, i64 %p
  %before = load ptr, ptr %place, align 8
  %free = icmp eq ptr %before, null
  br i1 %free, label %put, label %bad
put:
  %word.at = add i64 %given, %j
  %word.from = getelementptr ptr, ptr %args, i64 %word.at
  %word = load ptr, ptr %word.from, align 8
  store ptr %word, ptr %place, align 8
  %j.next = add i64 %j, 1
  br label %keyword
good:
  ret i1 true
bad:
  ret i1 false
}}
"""
