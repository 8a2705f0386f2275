"""The objects that built functions are: called by CPython's vectorcall, straight into the native entry.

A class with `__call__` costs 75 ns more a call than a built-in function, which in turn can carry no attributes. So the
type is made with `PyType_FromSpecWithBases` (its struct is `layout.FUNCTION_*`): its vectorcall slot holds the address
of the compiled entry, and its attributes are ordinary Python.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from tirscript.ir.forks import renew_in_children

from . import layout
from .built import BuiltFunction


class _Slot(ctypes.Structure):
    """PyType_Slot."""

    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    """PyType_Spec."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    ]


class _Member(ctypes.Structure):
    """PyMemberDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


# numbers of CPython's stable ABI
_TP_CALL, _TP_MEMBERS = 50, 72
_OBJECT, _ADDRESS, _SIZE, _READONLY = 16, 18, 19, 1
_DEFAULT, _BASETYPE, _VECTORCALL = 1 << 18, 1 << 10, 1 << 11
_kept: list[Any] = []  # what the types point to


def _make_type(
    name: str, base: type, flags: int, members: list[tuple[str, int, int, int]], call: int | None = None
) -> Any:
    table = (_Member * (len(members) + 1))(
        *[_Member(word.encode(), kind, at, flag, None) for word, kind, at, flag in members]
    )
    slots = [_Slot(_TP_MEMBERS, ctypes.addressof(table))]
    if call is not None:
        slots.append(_Slot(_TP_CALL, call))
    array = (_Slot * (len(slots) + 1))(*slots)
    spec = _Spec(f"tirscript.{name}".encode(), layout.FUNCTION_SIZE, 0, _DEFAULT | flags, ctypes.addressof(array))
    _kept.extend((table, array, spec))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object)
    return prototype(ctypes.cast(make, ctypes.c_void_p).value or 0)(ctypes.addressof(spec), (base,))


if TYPE_CHECKING:

    class _Memory:
        """The struct of a function object."""

        _entry: int
        _slow: Callable[..., Any]
        _fail: Callable[[int], NoReturn]

else:
    _Memory = _make_type(
        "_Memory",
        object,
        _BASETYPE,
        [
            ("_entry", _ADDRESS, layout.FUNCTION_ENTRY, 0),
            ("_slow", _OBJECT, layout.FUNCTION_SLOW, 0),
            ("_fail", _OBJECT, layout.FUNCTION_FAIL, 0),
            ("__dictoffset__", _SIZE, layout.FUNCTION_DICT, _READONLY),
            ("__weaklistoffset__", _SIZE, layout.FUNCTION_WEAK, _READONLY),
        ],
    )


class FunctionBase(_Memory, BuiltFunction):
    """What all function objects share: what they were built from, and how they show themselves."""

    __slots__ = ()

    if TYPE_CHECKING:
        __name__: str
        __qualname__: str
        __doc__: str | None
        _core: Any

    @property
    def _code(self) -> Any:
        return self._core

    @property
    def func(self) -> Any:
        """The program it was built from."""
        return self._core.func

    @property
    def lowered(self) -> Any:
        """The program after the lowering passes, as it was compiled."""
        return self._core.lowered

    @property
    def __signature__(self) -> Any:
        return self._core.signature()

    def __repr__(self) -> str:
        return f"<tirscript function {self.__name__}{self._core.signature()}>"


if TYPE_CHECKING:

    class Function(FunctionBase):
        """A built prim_func: call it with arrays and numbers, by position or by name."""

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

else:
    Function = _make_type(
        "Function",
        FunctionBase,
        _VECTORCALL,
        [("__vectorcalloffset__", _SIZE, layout.FUNCTION_ENTRY, _READONLY)],
        ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value,
    )
    Function.__doc__ = "A built prim_func: call it with arrays and numbers, by position or by name."


class PortableFunction(FunctionBase):
    """A built prim_func where entries cannot read this Python's structs: every call goes the slow path."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._slow(*args, **kwargs)


_building = threading.RLock()
renew_in_children(globals(), "_building", threading.RLock)


class LazyFunction(FunctionBase):
    """A function of `@tirscript.jit` before its first call, at which it is built and becomes a Function."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        self._settle()
        return self(*args, **kwargs)

    def _settle(self) -> None:
        """Build it once, whichever thread comes first."""
        with _building:
            if type(self) is LazyFunction:
                become(self, self._core.build())

    @property
    def lowered(self) -> Any:
        """The program after the lowering passes, as it is compiled; builds the function."""
        self._settle()
        return self._core.lowered

    def llvm_ir(self) -> str:
        """The LLVM IR of the optimized code; builds the function."""
        self._settle()
        return self.llvm_ir()

    def assembly(self) -> str:
        """The machine code as assembly text; builds the function."""
        self._settle()
        return self.assembly()


_set_entry = _Memory.__dict__["_entry"].__set__
_get_entry = _Memory.__dict__["_entry"].__get__
if not TYPE_CHECKING:
    del _Memory._entry  # an address that anybody could write would be a way to crash


def make_function(
    kind: type[FunctionBase],
    core: Any,
    entry: int = 0,
    slow: Callable[..., Any] | None = None,
    fail: Callable[[int], NoReturn] | None = None,
) -> Any:
    """A function object of `kind` with the address of its entry and its slow path; `core` is kept alive and asked for
    the program."""
    made = object.__new__(kind)
    made._core = core
    if slow is not None:
        made._slow = slow
    if fail is not None:
        made._fail = fail
    func = core.func
    made.__name__ = made.__qualname__ = func.name
    made.__doc__ = func.docstring
    _set_entry(made, entry)
    return made


def become(lazy: FunctionBase, built: FunctionBase) -> None:
    """Make a LazyFunction the function that was built for it; calls that follow go straight to the entry."""
    lazy._slow = built._slow
    if hasattr(built, "_fail"):
        lazy._fail = built._fail
    lazy._core = built._core
    _set_entry(lazy, _get_entry(built))
    lazy.__class__ = type(built)  # last: from here on other threads may call the entry
