"""Element types: what a scalar, a vector lane or a buffer element is.

`dtype("float32x8")` returns the one object of that name, so types are compared with `is`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from msgspec import Struct

# name -> (kind, bits); the integer families are added below
_SCALARS: dict[str, tuple[str, int]] = {
    "bool": ("bool", 1),
    "float16": ("float", 16),
    "float32": ("float", 32),
    "float64": ("float", 64),
    "bfloat16": ("bfloat", 16),
    "float8_e4m3fn": ("float8", 8),
    "float8_e5m2": ("float8", 8),
    "handle": ("handle", 64),
    "void": ("void", 0),
}
for _bits in (8, 16, 32, 64):
    _SCALARS[f"int{_bits}"] = ("int", _bits)
    _SCALARS[f"uint{_bits}"] = ("uint", _bits)

# element types of TVM and ml_dtypes that programs may hold, with what they are: they are read, checked, kept and
# printed, and a program that holds one is not run (computed.py)
_NARROW_INT = "an integer narrower than a byte, which has no one layout in memory"
_NARROW_FLOAT = "a float narrower than a byte, which has no one layout in memory: TVM packs it, numpy does not"
_OTHER_FLOAT8 = "a float of 8 bits other than float8_e4m3fn and float8_e5m2"
KEPT: dict[str, str] = {
    **{f"{word}{bits}": _NARROW_INT for word in ("int", "uint") for bits in (2, 4)},
    **dict.fromkeys(("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"), _NARROW_FLOAT),
    **{f"float8_{name}": _OTHER_FLOAT8 for name in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")},
}


def _kind_and_bits(name: str) -> tuple[str, int]:
    """Of a name such as int4 or float6_e2m3fn; floats narrower than a byte are of the kind of those of a byte."""
    word, _, form = name.partition("_")
    return "float8" if form else word[:-1], int(word[-1])


# those that it has not
MISSING: dict[str, str] = {f"{word}128": "an integer of more than 64 bits" for word in ("int", "uint")}

_KEPT_SCALARS = {name: _kind_and_bits(name) for name in KEPT}

_NAME = re.compile(r"^(?P<base>[a-z0-9_]*?)(?:x(?P<scale>vscalex)?(?P<lanes>[1-9][0-9]{0,5}))?$")
_NAMES = ", ".join(sorted(_SCALARS))
_FLOATING = frozenset(("float", "bfloat", "float8"))


class DType(Struct, frozen=True, eq=False, weakref=True):
    """A scalar or vector element type. Get one with `dtype(...)`; never construct it directly.

    `kind` is one of bool, int, uint, float, bfloat, float8, handle, void; `bits` is the width of
    one lane; `lanes` is 1 for scalars; `scalable` says that lanes are a multiple of `vscale`.
    A handle may know what it points to (`pointee`) and in which storage `scope`.
    """

    name: str
    kind: str
    bits: int
    lanes: int = 1
    scalable: bool = False
    pointee: DType | None = None
    scope: str = "global"

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integer (bool is neither)."""
        return self.kind == "int" or self.kind == "uint"

    @property
    def is_signed(self) -> bool:
        return self.kind == "int" or self.kind in _FLOATING

    @property
    def is_float(self) -> bool:
        """Any floating-point type, bfloat16 and float8 included."""
        return self.kind in _FLOATING

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"

    @property
    def is_kept(self) -> bool:
        """Whether programs may hold it and are then not run."""
        return self.element.name in KEPT

    @property
    def is_handle(self) -> bool:
        return self.kind == "handle"

    @property
    def is_vector(self) -> bool:
        return self.lanes != 1 or self.scalable

    @property
    def element(self) -> DType:
        """The type of one lane."""
        return dtype(self.name.split("x", 1)[0]) if self.is_vector else self

    @property
    def itemsize(self) -> int:
        """Bytes one value takes in memory (a bool takes one)."""
        return max(1, self.bits // 8) * self.lanes if self.kind != "void" else 0

    def with_lanes(self, lanes: int, scalable: bool = False) -> DType:
        """The same element with `lanes` lanes."""
        base = self.element.name
        if lanes == 1 and not scalable:
            return dtype(base)
        return dtype(f"{base}xvscalex{lanes}" if scalable else f"{base}x{lanes}")

    def int_range(self) -> tuple[int, int]:
        """Least and greatest value of an integer or bool type."""
        if self.kind == "bool":
            return 0, 1
        if self.kind == "uint":
            return 0, (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1

    def __repr__(self) -> str:
        return f"dtype({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        if self.pointee is not None:
            return pointer, (self.pointee, self.scope)
        return dtype, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self


_INTERNED: dict[Any, DType] = {}
# the interned ones that are kept: programs are looked through for them only where there are some
_INTERNED_KEPT: set[DType] = set()


# what TVM reads beside the names that it prints: older ones, and those without a width, which is 32 as that of the
# classes int and float
_OTHER_NAMES = (
    (re.compile(r"^(u?int|float)(?=x|$)"), r"\g<1>32"),
    (re.compile(r"^bfloat(?=x|$)"), "bfloat16"),
    (re.compile(r"^u?int1(?=x|$)"), "bool"),
    (re.compile(r"^e4m3_float8(?=x|$)"), "float8_e4m3fn"),
    (re.compile(r"^e5m2_float8(?=x|$)"), "float8_e5m2"),
)


def dtype(value: object) -> DType:
    """The element type called `value`: a name, a DType, a numpy dtype or scalar class, or int, float, bool.

    Raises ValueError where there is no such type.
    """
    if type(value) is DType:
        return value
    known = _INTERNED.get(value) if isinstance(value, str) else None
    return known if known is not None else _make(value)


def _make(value: object) -> DType:
    name = _name_of(value)
    if name in _INTERNED:
        return _INTERNED[name]
    match = _NAME.match(name)
    scalar = (_SCALARS.get(match["base"]) or _KEPT_SCALARS.get(match["base"])) if match else None
    if match is not None and match["base"] in MISSING:
        raise ValueError(f"{name!r} is not supported: it is {MISSING[match['base']]}; the types are {_NAMES}")
    if match is None or scalar is None:
        raise ValueError(f"{name!r} is not an element type; the types are {_NAMES}")
    lanes = int(match["lanes"] or 1)
    scalable = match["scale"] is not None
    if lanes == 1 and not scalable and match["lanes"]:
        return dtype(match["base"])
    if match["lanes"] and scalar[0] == "void":
        raise ValueError("void has no lanes")
    made = _INTERNED.setdefault(name, DType(name, scalar[0], scalar[1], lanes, scalable))
    if match["base"] in KEPT:
        _INTERNED_KEPT.add(made)
    return made


def _name_of(value: object) -> str:
    if isinstance(value, str):
        spelt = value
        for other, printed in _OTHER_NAMES:
            spelt = other.sub(printed, spelt)
        return spelt
    if value is bool:
        return "bool"
    if value is int:
        return "int32"
    if value is float:
        return "float32"
    if isinstance(value, type):  # np.float32, ml_dtypes.bfloat16
        return value.__name__
    name = getattr(value, "name", None)  # np.dtype("float32")
    if isinstance(name, str):
        return name
    from .words import words

    said = words(value)
    if isinstance(value, (int, float, tuple, list, dict, bytes)):
        with suppress(Exception):  # what is nested too deeply, or raises, has no text
            said = repr(value)
    raise ValueError(f"{said} is not an element type")


def pointer(pointee: object, scope: str = "global") -> DType:
    """A handle that points to elements of `pointee` in storage `scope`."""
    to = dtype(pointee)
    key = (to, scope)
    if key not in _INTERNED:
        _INTERNED[key] = DType("handle", "handle", 64, 1, False, to, scope)
    return _INTERNED[key]


_WORDS = {
    "half": "float16",
    "double": "float64",
    "long": "int64",
    "bf16": "bfloat16",
    **{f"{word[0]}{bits}": f"{word}{bits}" for word in ("float", "int", "uint") for bits in (16, 32, 64)},
    "i8": "int8",
    "u8": "uint8",
}


def advice(value: object) -> str:
    """What somebody who wrote `value` for a dtype probably wants."""
    if isinstance(value, str):
        from .diagnostic import suggest

        near = _WORDS.get(value) or (suggest(value, {**_SCALARS, **KEPT}) if value not in MISSING else None)
        return f"did you mean `{near}`?" if near else f"the types are {', '.join(_SCALARS)}"
    if isinstance(value, (tuple, list)) and len(value) == 1 and isinstance(value[0], str):
        return f'write it without the brackets: `"{value[0]}"`'
    return 'a dtype is a string such as "float32", or a name of T such as `T.float32`'


# the lanes of the vectors that T has names for, `T.float32x4`, as TVM's has
NAMED_LANES = (2, 4, 8, 16, 32, 64)


def scalar_names() -> tuple[str, ...]:
    """The names of all scalar element types that are computed."""
    return tuple(_SCALARS)


def any_kept() -> bool:
    """Whether an element type that is kept was ever asked for: only then a program can hold one."""
    return bool(_INTERNED_KEPT)


BOOL = dtype("bool")
INT32 = dtype("int32")
INT64 = dtype("int64")
FLOAT32 = dtype("float32")
FLOAT64 = dtype("float64")
HANDLE = dtype("handle")
VOID = dtype("void")
