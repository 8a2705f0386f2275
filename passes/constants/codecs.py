"""Codecs that constants are compressed with: how the bytes are packed, and the tensor function that unpacks them.

    zero_run  stretches of zero bytes by their length, other bytes as they are
    palette   at most 256 different elements in a table, and an index of 1, 2, 4 or 8 bits for each element

A codec of one's own is `register_codec(Codec("mine", pack, unpack))`: `pack(data, itemsize)` gets the bytes of a
constant and returns those to keep, as bytes or a flat array of uint8 (None where it cannot). `unpack` is a prim_func
with the parameters `packed: T.Buffer(("m",), "uint8"), out: T.Buffer(("n",), "uint8")`, which writes all of `out`. What
it packs is unpacked at once, and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.check import public
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.func import PrimFunc
from tirscript.ir.words import words

from ..pipeline import PassContext

if TYPE_CHECKING:
    import numpy as np

# (the bytes of a constant, the bytes of one element) -> the packed bytes, or None
Pack = Callable[[Any, int], Any]


class Codec(Struct, frozen=True, eq=False):
    """A way to compress constants: its name, `pack` in Python, and `unpack`, a prim_func (or what makes it when it is
    asked for)."""

    name: str
    pack: Pack
    unpack: PrimFunc | Callable[[], PrimFunc]

    def function(self) -> PrimFunc:
        """The prim_func that unpacks."""
        return self.unpack if isinstance(self.unpack, PrimFunc) else self.unpack()


CODECS: dict[str, Codec] = {}


@public
def register_codec(codec: Codec) -> Codec:
    """Add a codec to the table; T404 where its name is taken or its prim_func has other parameters."""
    if codec.name in CODECS:
        raise DiagnosticError([error("T404", f"the codec `{codec.name}` is there already")])
    params = codec.function().params
    right = len(params) == 2 and all(
        isinstance(param, Buffer) and param.ndim == 1 and param.dtype.name == "uint8" for param in params
    )
    if not right:
        message = f"the function that unpacks `{codec.name}` takes other parameters"
        hint = 'they are `packed: T.Buffer(("m",), "uint8"), out: T.Buffer(("n",), "uint8")`'
        raise DiagnosticError([error("T404", message, codec.function().span, hint=hint)])
    CODECS[codec.name] = codec
    return codec


def packed_by(codec: Codec, data: np.ndarray[Any, Any], itemsize: int) -> np.ndarray[Any, Any] | None:
    """Bytes as a codec packs them; None where it does not. T404 for what is neither bytes nor an array of them."""
    import numpy as np

    made = codec.pack(data, itemsize)
    if made is None:
        return None
    found = np.frombuffer(made, np.uint8) if isinstance(made, (bytes, bytearray)) else made
    if not isinstance(found, np.ndarray) or found.dtype != np.uint8 or found.ndim != 1:
        message = f"the codec `{codec.name}` packs into {words(found)}, which is no flat array of uint8"
        raise DiagnosticError([error("T404", message)])
    return np.ascontiguousarray(found)


def give_back(codec: Codec, pairs: Iterable[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]) -> None:
    """See that a codec of the user's unpacks each of (packed, data) to its data; T404 where it does not."""
    if codec.name in _OWN:
        return  # which tests show
    import numpy as np

    from tirscript.backend.build import build

    with PassContext():  # nobody watches these passes
        call = build(codec.function(), debug=True)
    for packed, data in pairs:
        out = np.zeros_like(data)
        call(packed, out)
        if not np.array_equal(out, data):
            at = int(np.flatnonzero(out != data)[0])
            what = f"byte {at} is {out[at]}, not {data[at]}"
            message = f"the codec `{codec.name}` does not give back what it packed: {what}"
            raise DiagnosticError([error("T404", message, codec.function().span)])


def get_codec(name: str) -> Codec:
    """The codec of that name; T404 where there is none."""
    found = CODECS.get(name)
    if found is None:
        near = suggest(name, CODECS)
        hint = f"did you mean `{near}`?" if near else f"the codecs are {', '.join(CODECS)}"
        raise DiagnosticError([error("T404", f"there is no codec `{name}`", hint=hint)])
    return found


def _read(text: str) -> PrimFunc:
    from tirscript.script import parse

    found = parse(text)
    assert isinstance(found, PrimFunc)
    return found


# -- zero_run

_LONGEST = 255  # of a stretch
_WORTH = 3  # shorter stretches of zeros cost less as they are
_ZERO_RUN = """
from tirscript.script import tir as T


@T.prim_func(private=True)
def unpack_zero_run(packed: T.Buffer(("m",), "uint8"), out: T.Buffer(("n",), "uint8")):
    \"\"\"Stretches: the number of zeros, the number of other bytes, these bytes.\"\"\"
    at: T.int64 = 0
    to: T.int64 = 0
    while to < n:
        zeros: T.let[T.int64] = packed[at].astype("int64")
        kept: T.let[T.int64] = packed[at + 1].astype("int64")
        for i in range(zeros):
            out[to + i] = 0
        for j in range(kept):
            out[to + zeros + j] = packed[at + 2 + j]
        at = at + 2 + kept
        to = to + zeros + kept
"""


def pack_zero_run(data: np.ndarray[Any, Any], itemsize: int) -> np.ndarray[Any, Any]:
    """Bytes as stretches: the number of zeros, the number of other bytes, these bytes."""
    import numpy as np

    raw = data.tobytes()
    # where stretches of zeros begin and end
    zero = np.concatenate(([False], data == 0, [False]))
    edges = np.flatnonzero(zero[1:] != zero[:-1]).reshape(-1, 2)
    runs = [(int(a), int(b)) for a, b in edges if b - a >= _WORTH]
    out = bytearray()
    at = 0
    for start, stop in [*runs, (len(raw), len(raw))]:
        _stretch(out, 0, raw[at:start])
        zeros = stop - start
        while zeros > _LONGEST:
            out += bytes((_LONGEST, 0))
            zeros -= _LONGEST
        if zeros:
            out += bytes((zeros, 0))
        at = stop
    return np.frombuffer(bytes(_joined(out)), np.uint8)


def _stretch(out: bytearray, zeros: int, kept: bytes) -> None:
    for first in range(0, len(kept), _LONGEST):
        part = kept[first : first + _LONGEST]
        out += bytes((zeros, len(part))) + part
        zeros = 0


def _joined(stretches: bytearray) -> bytearray:
    """Stretches of zeros alone joined with the bytes behind them."""
    out = bytearray()
    at, zeros = 0, -1
    while at < len(stretches):
        count, kept = stretches[at], stretches[at + 1]
        body = stretches[at + 2 : at + 2 + kept]
        if zeros >= 0 and count == 0 and kept:
            out += bytes((zeros, kept)) + body
            zeros = -1
        else:
            if zeros >= 0:
                out += bytes((zeros, 0))
            zeros = -1
            if kept:
                out += bytes((count, kept)) + body
            else:
                zeros = count
        at += 2 + kept
    if zeros >= 0:
        out += bytes((zeros, 0))
    return out


@cache
def _unpack_zero_run() -> PrimFunc:
    return _read(_ZERO_RUN)


# -- palette

_PALETTE = """
from tirscript.script import tir as T


@T.prim_func(private=True)
def unpack_palette(packed: T.Buffer(("m",), "uint8"), out: T.Buffer(("n",), "uint8")):
    \"\"\"Bytes of an element, bits of an index, the last index, the elements, the indices.\"\"\"
    size: T.let[T.int64] = packed[0].astype("int64")
    bits: T.let[T.int64] = packed[1].astype("int64")
    start: T.let[T.int64] = (packed[2].astype("int64") + 1) * size + 3
    mask: T.let[T.int64] = (T.int64(1) << bits) - 1
    for element in range(n // size):
        place: T.let[T.int64] = element * bits
        index: T.let[T.int64] = (packed[start + place // 8].astype("int64") >> (place % 8)) & mask
        for byte in range(size):
            out[element * size + byte] = packed[index * size + byte + 3]
"""


def pack_palette(data: np.ndarray[Any, Any], itemsize: int) -> np.ndarray[Any, Any] | None:
    """Elements as indices into a table of those that occur; None where these are over 256."""
    import numpy as np

    table, indices = np.unique(data.view(f"<u{itemsize}"), return_inverse=True)
    if not 1 <= table.size <= 256:
        return None
    bits = next(bits for bits in (1, 2, 4, 8) if table.size <= 1 << bits)
    lanes = 8 // bits
    padded = np.zeros(-(-indices.size // lanes) * lanes, np.uint8)
    padded[: indices.size] = indices.reshape(-1)
    shifted = padded.reshape(-1, lanes) << (np.arange(lanes, dtype=np.uint8) * bits)
    packed = np.bitwise_or.reduce(shifted, axis=1).astype(np.uint8)
    head = np.array([itemsize, bits, table.size - 1], np.uint8)
    found: np.ndarray[Any, Any] = np.concatenate([head, table.view(np.uint8), packed])
    return found


@cache
def _unpack_palette() -> PrimFunc:
    return _read(_PALETTE)


CODECS["zero_run"] = Codec("zero_run", pack_zero_run, _unpack_zero_run)
CODECS["palette"] = Codec("palette", pack_palette, _unpack_palette)
_OWN = frozenset(CODECS)

__all__ = ["CODECS", "Codec", "get_codec", "give_back", "pack_palette", "pack_zero_run", "packed_by", "register_codec"]
