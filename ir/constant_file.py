"""Constants in safetensors files: https://github.com/huggingface/safetensors.

A file is a length of 8 bytes, that many bytes of JSON which tell every tensor's dtype, shape and place, and the data.
This reads and writes it rather than the library of that name, which copies what it reads (a gigabyte of weights takes
two) and reads no float8 into numpy.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from .check import public
from .constant import PREFIX, ConstantTensor, _bytes, canonical, constant, from_bytes, known, missing, view_of
from .diagnostic import DiagnosticError, error
from .dtype import DType, dtype
from .whole_files import reason, replacing

_NAMES = {
    "bool": "BOOL",
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}
_DTYPES = {name: dtype(ours) for ours, name in _NAMES.items()}
MAX_HEADER = 64 << 20
MAPPED = 1 << 20  # tensors of at least so many bytes stay in the file; smaller ones are read, and are safe from changes
ALIGN = 64


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def write(path: str | os.PathLike[str], constants: Iterable[ConstantTensor]) -> None:
    """Write constants under their digests. The file is written beside and then takes the place of an older one, whose
    data may be mapped."""
    _write(path, {value.digest: value for value in constants})


@public
def save_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Any]) -> None:
    """Write tensors under their names into a safetensors file, which other programs read as well.

    The values are what `constant` takes. Raises DiagnosticError: T114 for what is no tensor, or for a name that stands
    for something else in such a file, T115 where the file cannot be written.
    """
    for name in tensors:
        if not isinstance(name, str) or name == "__metadata__" or name.startswith(PREFIX) or not _is_text(name):
            raise DiagnosticError([error("T114", f"a tensor in a file cannot be called {name!r}")])
    _write(path, {name: constant(value) for name, value in tensors.items()})


def _is_text(name: str) -> bool:
    """Whether a name is Unicode that can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= char <= "\udfff" for char in name)


def _write(path: str | os.PathLike[str], named: Mapping[str, ConstantTensor]) -> None:
    # wider elements first: there are no gaps in such a file, and so each begins where its dtype may
    unique = sorted(named.items(), key=lambda item: (-item[1].dtype.itemsize, -item[1].nbytes, item[0]))
    lost = [missing(value) for _, value in unique if not value.resolved]
    if lost:
        raise DiagnosticError(lost)
    header: dict[str, Any] = {"__metadata__": {"format": "tirscript"}}
    at = 0
    for name, value in unique:
        end = at + value.nbytes
        header[name] = {
            "dtype": _NAMES[value.dtype.name],
            "shape": list(value.shape),
            "data_offsets": [at, end],
        }
        at = end
    text = msgspec.json.encode(header)
    text += b" " * (-(len(text) + 8) % ALIGN)
    try:
        target = Path(os.path.realpath(path))  # links go on pointing to it
        if target.exists() and not target.is_file():  # a device would be replaced by a file
            raise _unwritten(path, "it is no regular file", "give the path of a file")
        with replacing(target) as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            for _, value in unique:
                if value.nbytes:
                    file.write(_bytes(value.array))
    except (OSError, ValueError) as problem:  # ValueError: a zero byte in the path
        raise _unwritten(path, reason(problem)) from problem


def _unwritten(path: str | os.PathLike[str], why: str, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([error("T115", f"the constants cannot be written to {os.fspath(path)!r}: {why}", hint=hint)])


class ConstantFile:
    """A safetensors file that is open for reading; every way in which it can be damaged is a DiagnosticError T115."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            status = os.stat(self.path)
            if not stat.S_ISREG(status.st_mode):
                self.damaged("it is no regular file")
            with open(self.path, "rb") as file:
                head = file.read(8)
                length = int.from_bytes(head, "little")
                self.size = status.st_size
                if len(head) < 8 or length > MAX_HEADER or 8 + length > self.size:
                    self.damaged("its header is cut off or too long")
                text = file.read(length)
        except (OSError, ValueError) as problem:  # ValueError: a zero byte in the path
            message = f"the constants in {str(self.path)!r} cannot be read: {reason(problem)}"
            raise DiagnosticError([error("T115", message)]) from None
        self.start = 8 + length
        self.entries = self.parse(text)

    def damaged(self, why: str) -> NoReturn:
        raise DiagnosticError([error("T115", f"the file of constants {self.path} is damaged: {why}")]) from None

    def parse(self, text: bytes) -> dict[str, tuple[DType, tuple[int, ...], int]]:
        """By name: dtype, shape and where the data begins in the file."""
        try:
            raw = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
            raw.pop("__metadata__", None)
            found = {name: msgspec.json.decode(entry, type=_Entry) for name, entry in raw.items()}
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
            self.damaged(f"its header is no table of tensors ({problem})")
        entries = {}
        for name, entry in found.items():
            begin, end = entry.data_offsets
            kind = _DTYPES.get(entry.dtype)
            if kind is None:
                self.damaged(f"{name!r} is of the unknown dtype {entry.dtype!r}")
            most = math.prod(dim for dim in entry.shape if dim)  # numpy counts the bytes without the dimensions of 0
            if any(dim < 0 for dim in entry.shape) or len(entry.shape) > 32 or most * kind.itemsize >= 1 << 63:
                self.damaged(f"{name!r} has the shape {entry.shape}")
            if not 0 <= begin <= end <= self.size - self.start or end - begin != math.prod(entry.shape) * kind.itemsize:
                self.damaged(f"the data of {name!r} is not all there")
            entries[name] = kind, tuple(entry.shape), self.start + begin
        return entries

    def data(self, name: str) -> Any:
        """The bytes of a tensor: read, or a map of the file where they are many."""
        kind, shape, at = self.entries[name]
        size = math.prod(shape) * kind.itemsize
        try:
            with open(self.path, "rb") as file:
                if size < MAPPED:
                    file.seek(at)
                    found = file.read(size)
                    if len(found) != size:
                        self.damaged(f"the data of {name!r} is not all there")
                    return found
                first = at - at % mmap.ALLOCATIONGRANULARITY
                return memoryview(mmap.mmap(file.fileno(), at - first + size, access=mmap.ACCESS_READ, offset=first))[
                    at - first :
                ]
        except (OSError, ValueError) as problem:
            self.damaged(str(problem))

    def read(self, digest: str, shape: tuple[int, ...], kind: DType) -> ConstantTensor:
        """The constant of that digest, checked."""
        found = self.entries.get(digest)
        if found is None:
            message = f"{self.path} has no constant {digest[:15]}…; it has {len(self.entries)} tensors"
            raise DiagnosticError([error("T115", message)])
        if found[:2] != (kind, shape):
            self.damaged(f"{digest[:15]}… is {found[0]} {found[1]} there, and {kind} {shape} in the text")
        return from_bytes(self.data(digest), digest, shape, kind)


def read_all(path: str | os.PathLike[str]) -> Iterator[ConstantTensor]:
    """Every tensor of a file."""
    return iter(load_tensors(path).values())


@public
def load_tensors(path: str | os.PathLike[str]) -> dict[str, ConstantTensor]:
    """The tensors of a safetensors file by their names there, large ones mapped and not read.

    DiagnosticError T115 for a file that cannot be read or is damaged; a tensor whose name is a digest is checked.
    """
    file = ConstantFile(path)
    found = {}
    for name, (kind, shape, _) in file.entries.items():
        if name.startswith(PREFIX):
            found[name] = file.read(name, shape, kind)
            continue
        array = view_of(file.data(name), shape, kind)
        found[name] = known(canonical(array, kind), kind)
    return found


__all__ = ["ConstantFile", "load_tensors", "read_all", "save_tensors", "write"]
