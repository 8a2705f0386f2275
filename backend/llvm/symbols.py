"""The symbols of an object file in ELF's format, the one of most systems."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

ALLOCATE = "aligned_alloc"  # the function of C that kernels take large temporaries of
_HEADER = struct.Struct("<40xQ10xHH")  # where the section headers are, the size of one, how many
_SECTION = struct.Struct("<4xI16xQQI")  # kind, offset, size, and of symbols the section with their names
_SYMBOL = struct.Struct("<IBxH16x")  # name, binding and kind, section
_SYMBOLS, _WEAK = 2, 2


def undefined(objects: Iterable[bytes]) -> set[str]:
    """The functions and variables that 64-bit ELF files need and none of them has; none of other files."""
    needed, there = set(), set()
    for code in objects:
        for name, section, binding in _symbols(code):
            if section:
                there.add(name)
            elif name and binding != _WEAK:
                needed.add(name)
    return needed - there


def _symbols(code: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, section (0 for what is not in the file) and binding of each symbol."""
    if code[:6] != b"\x7fELF\x02\x01":  # 64 bits, the least significant byte first
        return
    start, size, count = _HEADER.unpack_from(code)
    sections = [_SECTION.unpack_from(code, start + at * size) for at in range(count)]
    for kind, offset, length, names in sections:
        if kind == _SYMBOLS:
            words = sections[names][1]
            for word, info, section in _SYMBOL.iter_unpack(code[offset : offset + length]):
                begin = words + word
                yield code[begin : code.index(b"\0", begin)].decode("utf-8", "replace"), section, info >> 4


__all__ = ["undefined"]
