"""C functions as library functions: what each of their parameters is made from, and how Python calls them.

A signature is a list of strings, one a parameter of the C function. Some take the next argument of the program's call:

    "int64"            a scalar of that dtype
    "float32*"         the address of an array of any shape
    "float32[m, 4]"    the address of an array of this shape; a name stands for one size throughout the signature

Others are passed beside:

    "m: int32"         a size that a shape names
    "max(m, 1): int32" the same, and at least 1
    "101: int32"       a number

Arrays lie row by row without gaps, which every call checks, as it does dtypes and shapes.
"""

from __future__ import annotations

import ctypes
import re
from _ctypes import CFuncPtr
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import literal
from tirscript.ir.span import Span
from tirscript.ir.words import counted, words

C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_POINTER = re.compile(r"(\w+)\s*\*")
_SHAPED = re.compile(r"(\w+)\s*\[([^\[\]]*)\]")
_BESIDE = re.compile(r"(.+?)\s*:\s*(\w+)")
_AT_LEAST = re.compile(r"max\(\s*([^\W\d]\w*)\s*,\s*(\d+)\s*\)")


class Parameter(Struct, frozen=True):
    """One parameter of a C function: kind is "scalar", "array", "size" or "number".

    `shape` holds names and numbers, None for an array of any shape; `value` is the name of a size, or a number; a size
    is at least `least`.
    """

    kind: str
    dtype: DType
    text: str
    shape: tuple[str | int, ...] | None = None
    value: Any = None
    least: int = 0

    @property
    def given(self) -> bool:
        """Whether it takes an argument of the program's call."""
        return self.kind in ("scalar", "array")


class CFunction:
    """A C function with its signature; called from Python with arrays and numbers, it returns an int or None.

    `owner` is what its code lives in, and is kept; `symbol` is what it is called there, None where that is not known.
    Raises DiagnosticError for arguments that the signature does not take.
    """

    def __init__(
        self,
        name: str,
        address: int,
        signature: tuple[Parameter, ...],
        returns: DType | None,
        owner: Any,
        symbol: str | None = None,
    ) -> None:
        self.name, self.address, self.signature, self.returns, self.owner = name, address, signature, returns, owner
        self.symbol = symbol
        self.given = tuple(parameter for parameter in signature if parameter.given)

    @property
    def described(self) -> str:
        """The signature as text, which decides how native code calls the function."""
        return f"{self.name}({', '.join(one.text for one in self.signature)}) -> {self.returns}"

    @cached_property
    def _symbol(self) -> Any:
        kinds = [C_TYPES[one.dtype.name] if one.kind != "array" else ctypes.c_void_p for one in self.signature]
        result = None if self.returns is None else C_TYPES[self.returns.name]
        return ctypes.CFUNCTYPE(result, *kinds)(self.address)

    def __call__(self, *args: Any) -> Any:
        return self.call(args)

    def call(self, args: Sequence[Any], span: Span | None = None, kinds: Sequence[DType | None] = ()) -> Any:
        """Call it; mistakes are told at `span`. `kinds` are the dtypes of the scalars, where a program tells them."""
        self.check_count(len(args), span)
        for at, (one, kind) in enumerate(zip(self.given, kinds, strict=False)):
            if one.kind == "scalar" and kind not in (None, one.dtype):
                raise self.wrong(at, str(kind), span)
        sizes: dict[str, int] = {}
        for at, (one, arg) in enumerate(zip(self.given, args, strict=True)):
            _CHECKS[one.kind](self, at, arg, sizes, span)
        rest = iter(args)
        return self._symbol(*[_VALUES[one.kind](self, one, rest, sizes, span) for one in self.signature])

    def check_count(self, count: int, span: Span | None) -> None:
        """Raise unless a call has as many arguments as the signature takes."""
        if count != len(self.given):
            takes = counted(len(self.given), "argument")
            raise DiagnosticError([error("T101", f"`{self.name}` takes {takes}, not {count}", span)])

    def wrong(self, at: int, got: str, span: Span | None) -> DiagnosticError:
        """What to raise for an argument that is not what the signature says."""
        one = self.given[at]
        message = f"argument {at + 1} of `{self.name}` is `{one.text}`, not {got}"
        hint = f"a number of that dtype is written `T.{one.dtype}(2)`" if one.kind == "scalar" else None
        return DiagnosticError([error("T301", message, span, hint=hint)])

    def too_large(self, one: Parameter) -> str:
        """What to say where a size is larger than its C type holds."""
        return f"`{one.value}` of `{self.name}` is larger than {one.dtype} holds"

    def _scalar(self, at: int, arg: Any, sizes: dict[str, int], span: Span | None) -> None:
        want = self.given[at].dtype
        fits = isinstance(arg, (float, int)) if want.is_float else isinstance(arg, int)
        if not fits or want.is_bool is not isinstance(arg, bool):
            raise self.wrong(at, f"{arg!r}" if isinstance(arg, (int, float)) else f"a {type(arg).__name__}", span)

    def _array(self, at: int, arg: Any, sizes: dict[str, int], span: Span | None) -> None:
        import numpy as np

        from .arrays import numpy_dtype

        one = self.given[at]
        if not isinstance(arg, np.ndarray):
            raise self.wrong(at, f"a {type(arg).__name__}", span)
        if arg.dtype != numpy_dtype(one.dtype):
            raise self.wrong(at, f"an array of {arg.dtype}", span)
        if not arg.flags.c_contiguous:
            raise self.wrong(at, "an array with gaps, or in another order", span)
        if one.shape is None:
            return
        fits = len(one.shape) == arg.ndim and all(
            (sizes.setdefault(want, got) if isinstance(want, str) else want) == got
            for want, got in zip(one.shape, arg.shape, strict=True)
        )
        if not fits:
            known = "".join(f", {name} = {size}" for name, size in sizes.items())
            raise self.wrong(at, f"an array of the shape {arg.shape}{known}", span)

    def _size(self, one: Parameter, rest: Any, sizes: dict[str, int], span: Span | None) -> int:
        size = max(sizes[one.value], one.least)
        if size > largest(one.dtype):
            raise DiagnosticError([error("T301", self.too_large(one), span)])
        return size


def largest(kind: DType) -> int:
    """The largest value of an integer dtype."""
    return int((1 << (kind.bits - (kind.kind == "int"))) - 1)


_CHECKS: dict[str, Callable[..., None]] = {"scalar": CFunction._scalar, "array": CFunction._array}
_VALUES: dict[str, Callable[..., Any]] = {
    "scalar": lambda function, one, rest, sizes, span: next(rest),
    "array": lambda function, one, rest, sizes, span: next(rest).ctypes.data,
    "size": CFunction._size,
    "number": lambda function, one, rest, sizes, span: one.value,
}


def c_function(
    name: str, function: Any, symbol: str | None, library: Any, signature: Sequence[str] | None, returns: str | None
) -> CFunction:
    """The C function that `register_library` is told of.

    Raises ValueError for a signature that cannot be read, OSError for a library that cannot be loaded, AttributeError
    for a symbol that it does not have, TypeError for arguments that do not go together.
    """
    if function is not None:
        if symbol is not None or library is not None:
            raise TypeError(f"{name} is given a function; a symbol and its library are for C functions without one")
        if not isinstance(function, CFuncPtr):
            raise TypeError(f"{name} has a signature, so it is a function of ctypes, not {function!r}")
        if signature is None:
            signature, returns = _of_ctypes(name, function)
        found: Any = function
        owner: Any = function
    else:
        if symbol is None or signature is None:
            raise TypeError(f"{name} is a C function by its `symbol` and `signature`; one of them is missing")
        owner = library if isinstance(library, ctypes.CDLL) else ctypes.CDLL(None if library is None else str(library))
        try:
            found = owner[symbol]
        except AttributeError:
            where = "this process" if library is None else f"{owner._name}"
            raise AttributeError(f"{where} has no C function {symbol!r}") from None
    address = ctypes.cast(found, ctypes.c_void_p).value
    assert address
    if returns not in (None, "int32"):
        raise ValueError(f"{name} returns {returns!r}: library functions return nothing, or a status of int32")
    result = None if returns is None else dtype(returns)
    known = symbol or getattr(function, "__name__", None)
    return CFunction(name, address, read_signature(name, signature), result, owner, known)


def read_signature(name: str, signature: Sequence[str]) -> tuple[Parameter, ...]:
    """The parameters that the texts of a signature describe; raises ValueError for what is none."""
    if isinstance(signature, str):
        raise TypeError(f"the signature of {name} is a list of strings, not one string")
    odd = next((text for text in signature if not isinstance(text, str)), None)
    if odd is not None:
        raise TypeError(f"the signature of {name} is a list of strings; one is {words(odd)}")
    found = tuple(_parameter(name, text) for text in signature)
    known = {dim for one in found for dim in one.shape or () if isinstance(dim, str)}
    for one in found:
        if one.kind == "size" and one.value not in known:
            raise ValueError(f"{one.text!r} in the signature of {name}: no shape in it has a dimension {one.value!r}")
    return found


def _parameter(name: str, text: str) -> Parameter:
    match = _POINTER.fullmatch(text) or _SHAPED.fullmatch(text)
    if match is not None:
        shape = None
        if match.re is _SHAPED:
            dims = [word.strip() for word in match[2].split(",")] if match[2].strip() else []
            if not all(word.isdecimal() or word.isidentifier() for word in dims):
                raise ValueError(f"{text!r} in the signature of {name}: dimensions are names and numbers")
            shape = tuple(int(word) if word.isdecimal() else word for word in dims)
        element = _dtype(name, text, match[1])
        if element.lanes != 1 or element.is_handle or element.kind == "void":
            raise ValueError(f"{text!r} in the signature of {name}: there are no arrays of {element}")
        return Parameter("array", element, text, shape)
    match = _BESIDE.fullmatch(text)
    kind = _dtype(name, text, text if match is None else match[2])
    if kind.name not in C_TYPES:
        raise ValueError(f"{text!r} in the signature of {name}: C has no scalar like {kind}")
    if match is None:
        return Parameter("scalar", kind, text)
    word, least = match[1], 0
    bounded = _AT_LEAST.fullmatch(word)
    if bounded is not None:
        word, least = bounded[1], int(bounded[2])
    if word.isidentifier():
        if not kind.is_int or kind.is_bool:
            raise ValueError(f"{text!r} in the signature of {name}: sizes are integers")
        return Parameter("size", kind, text, value=word, least=least)
    try:
        value = literal(float(word) if kind.is_float else int(word), kind).value
    except ValueError:
        raise ValueError(f"{text!r} in the signature of {name}: {word!r} is no size and no {kind}") from None
    return Parameter("number", kind, text, value=value)


def _dtype(name: str, text: str, word: str) -> DType:
    try:
        return dtype(word)
    except ValueError as problem:
        raise ValueError(f"{text!r} in the signature of {name}: {problem}") from None


def _of_ctypes(name: str, function: Any) -> tuple[list[str], str | None]:
    """The signature that the `argtypes` and the `restype` of a function of ctypes tell."""
    if function.argtypes is None:
        raise TypeError(f"{name} is a function of ctypes without `argtypes`: set them, or pass `signature`")
    words = {kind: word for word, kind in reversed(C_TYPES.items())}
    pointers = {ctypes.POINTER(kind): f"{word}*" for kind, word in words.items()}
    known = {**words, **pointers}
    for kind in (*function.argtypes, *([function.restype] if function.restype is not None else [])):
        if kind not in known:
            raise TypeError(f"{name} has a parameter or result {kind.__name__}, which no array or number is passed as")
    return [known[kind] for kind in function.argtypes], None if function.restype is None else known[function.restype]
