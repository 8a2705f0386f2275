"""Values of the tile registers of x86 (AMX) in optimized IR: what was made of vectors is loaded as tiles instead.

Code is generated with tiles as vectors, by calls that make a tile of a vector and the other way around; so all of
LLVM's passes can move them from memory to values. Where such calls are left, the pass of LLVM's that comes next, before
it selects instructions, appends to a list while it goes through it: with as many of them as the list has room for, 17
or 35, it reads what is freed, and mostly ends with the process (LLVM 22 and before, `combineAMXcast` in
X86LowerAMXType.cpp). Here they are all replaced, as that pass does where nothing goes wrong:

%v = load <256 x i32>, ptr %p                    ->  %v = tileloadd64(16, 64, %p, 64)
%t = vector.to.tile(%v)
%u = tdpbssd(16, 64, 64, %c, %t, %s)                 %u = tdpbssd(16, 64, 64, %c, %v, %s)

Loads and phis that are used as tiles alone become tiles, a zero a tile of its own for each use; all other vectors go
through memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .state import internal

_NAME = r'%(?:"[^"]*"|[-$._a-zA-Z0-9]+)'
_VECTOR, _SHAPE, _STRIDE = "<256 x i32>", "i16 16, i16 64", "i64 64"
_NAMES = re.compile(_NAME)
_CAST = "llvm.x86.cast."
_CALL = re.compile(r'  .*@"?llvm\.x86\.cast\.')
_REST = r"(?: #\d+)?(?:, !.*)?$"
_DEFINED = re.compile(rf"  ({_NAME}) = ")
_INTO = re.compile(
    rf"  ({_NAME}) = (?:\w+ )?call x86_amx @llvm\.x86\.cast\.vector\.to\.tile\.v256i32\({_VECTOR} (.+?)\){_REST}"
)
_OUT = re.compile(
    rf"  ({_NAME}) = (?:\w+ )?call {_VECTOR} @llvm\.x86\.cast\.tile\.to\.vector\.v256i32\(x86_amx ({_NAME})\)"
)
_LOAD = re.compile(rf"  ({_NAME}) = load {_VECTOR}, ptr ([^,]+|getelementptr .+\)), align \d+(?:, !.*)?$")
_STORE = re.compile(rf"  store {_VECTOR} ({_NAME}), ptr ([^,]+|getelementptr .+\)), align \d+(?:, !.*)?$")
_PHI = re.compile(rf"  ({_NAME}) = phi (x86_amx|{_VECTOR}) (\[.*\])(?:, !.*)?$")
_INCOMING = re.compile(rf"\[ (.+?), ({_NAME}) \]")
_LABEL = re.compile(r'("[^"]*"|[-$._a-zA-Z0-9]+):')
# the first line of what ends a block of code that cannot unwind
_END = re.compile(r"  (?:br|switch|ret|indirectbr|unreachable)\b")
_ZEROS = ("zeroinitializer", "undef", "poison")

_DECLARATIONS = {
    "tilezero": "declare x86_amx @llvm.x86.tilezero.internal(i16, i16)",
    "tileloadd64": "declare x86_amx @llvm.x86.tileloadd64.internal(i16, i16, ptr, i64)",
    "tilestored64": "declare void @llvm.x86.tilestored64.internal(i16, i16, ptr, i64, x86_amx)",
}


def has_casts(text: str) -> bool:
    """Whether IR makes tiles of vectors or vectors of tiles."""
    return _CAST in text and any(_CALL.match(line) for line in text.split("\n"))


def without_casts(text: str) -> str:
    """IR, as LLVM prints it, that has tiles where vectors are used as such; the same where there are none."""
    made: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if not line.startswith("define "):
            made.append(line)
            continue
        body: list[str] = []
        for inner in lines:
            if inner == "}":
                break
            body.append(inner)
        mentions = any(_CALL.match(inner) for inner in body)
        made += [line, *(_Function(body).rewritten() if mentions else body), "}"]
    found = "\n".join(made)
    for name, declaration in _DECLARATIONS.items():
        if f"@llvm.x86.{name}.internal(" in found and declaration not in found:
            found += f"{declaration}\n"
    if has_casts(found):
        raise internal("a tile is still made of a vector")
    return found


@dataclass
class _Function:
    """The lines of a function between its braces."""

    lines: list[str]
    # the lines that go in front of the first one, of a line, and of what ends a block
    slots: list[str] = field(default_factory=list)
    ahead: dict[int, list[str]] = field(default_factory=dict)
    # tiles under another name
    same: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = "\n".join(self.lines)
        self.prefix = next(f"%tile{n}." for n in range(len(text) + 1) if f"%tile{n}." not in text)
        self.count = 0
        self.into: dict[str, str] = {}  # the tile that is made, and of which vector
        self.out: dict[str, str] = {}  # the vector that is made, and of which tile
        self.loads: dict[str, str] = {}  # the vector that is loaded, and where from
        self.phis: dict[str, list[tuple[str, str]]] = {}
        self.tile_phis: set[str] = set()  # those of tiles already
        self.users: dict[str, list[int]] = {}
        self.ends: dict[str, int] = {}  # the line that ends a block
        self.defined: dict[int, str] = {}
        block = ""
        for at, line in enumerate(self.lines):
            if not line.startswith(" "):
                label = _LABEL.match(line)
                block = f"%{label[1]}" if label else block
                continue
            if _END.match(line):
                self.ends[block] = at
            self._note(at, line)

    def _note(self, at: int, line: str) -> None:
        defined = _DEFINED.match(line)
        if defined:
            self.defined[at] = defined[1]
        for name in dict.fromkeys(_NAMES.findall(line[defined.end() :] if defined else line)):
            self.users.setdefault(name, []).append(at)
        if found := _INTO.match(line):
            self.into[found[1]] = found[2]
        elif found := _OUT.match(line):
            self.out[found[1]] = found[2]
        elif found := _LOAD.match(line):
            self.loads[found[1]] = found[2]
        elif found := _PHI.match(line):
            self.phis[found[1]] = _INCOMING.findall(found[3])
            if found[2] == "x86_amx":
                self.tile_phis.add(found[1])

    def rewritten(self) -> list[str]:
        """The lines without casts."""
        tiles = self._tiles()
        for tile, vector in self.into.items():
            if vector in tiles or vector in self.out:
                self.same[tile] = vector if vector in tiles else self.out[vector]
        made: list[tuple[int, list[str]]] = [
            (at, list(self._line(at, line, tiles))) for at, line in enumerate(self.lines)
        ]
        # behind the label of the first block, where it has one
        first = next(at for at, line in enumerate(self.lines) if line.startswith(" "))
        self.ahead.setdefault(first, [])[:0] = self.slots
        return [line for at, lines in made for line in (*self.ahead.get(at, ()), *lines)]

    def _tiles(self) -> set[str]:
        """The loads and phis of vectors that are used as tiles, directly or by another phi, and as nothing else."""
        tiles = {*self.loads, *(self.phis.keys() - self.tile_phis)}
        while True:
            wanted = {vector for vector in self.into.values() if vector in tiles}
            todo = list(wanted)
            while todo:
                for value, _ in self.phis.get(todo.pop(), ()):
                    if value in tiles and value not in wanted:
                        wanted.add(value)
                        todo.append(value)
            kept = {name for name in wanted if self._stays(name, wanted)}
            if kept == tiles:
                return tiles
            tiles = kept

    def _stays(self, name: str, tiles: set[str]) -> bool:
        users = (self.defined.get(at, "") for at in self.users.get(name, ()))
        makers = (value for value, _ in self.phis.get(name, ()))
        return all(user in self.into or user in tiles for user in users) and all(
            value in tiles or value in self.out or value in _ZEROS for value in makers
        )

    def _line(self, at: int, line: str, tiles: set[str]) -> Iterator[str]:
        """What a line becomes."""
        name = self.defined.get(at, "")
        if name in self.into:
            vector = self.into[name]
            if name not in self.same and vector not in _ZEROS:
                slot = self._slot()
                yield f"  store {_VECTOR} {vector}, ptr {slot}, align 64"
                yield _loaded(name, slot)
        elif name in self.out:
            yield from self._vector(at, name, tiles)
        elif name in self.tile_phis or (name in self.phis and name in tiles):
            given = ", ".join(f"[ {self._incoming(value, block)}, {block} ]" for value, block in self.phis[name])
            yield f"  {name} = phi x86_amx {given}"
        elif name in tiles:
            yield _loaded(name, self.loads[name])
        elif (store := _STORE.match(line)) and store[1] in self.out:
            yield _stored(store[2], self._tile(self.out[store[1]], at))
        else:
            start = len(name) + 5 if name else 0
            yield line[:start] + _NAMES.sub(lambda found: self._tile(found[0], at), line[start:])

    def _vector(self, at: int, name: str, tiles: set[str]) -> Iterator[str]:
        """What makes a vector of a tile: memory, where it is used as a vector and not only stored."""
        others = [
            user
            for user in self.users.get(name, ())
            if self.defined.get(user, "") not in tiles
            and self.defined.get(user, "") not in self.into
            and not ((store := _STORE.match(self.lines[user])) and store[1] == name)
        ]
        if others:
            slot = self._slot()
            yield _stored(slot, self._tile(self.out[name], at))
            yield f"  {name} = load {_VECTOR}, ptr {slot}, align 64"

    def _incoming(self, value: str, block: str) -> str:
        """The tile that a phi gets from a block."""
        if value in _ZEROS:
            return self._zero(self.ends[block])
        return self._tile(self.out.get(value, value), self.ends[block])

    def _tile(self, name: str, at: int) -> str:
        """The tile that stands for another in a line; zeros are made in front of it."""
        while name in self.same:
            name = self.same[name]
        return self._zero(at) if self.into.get(name) in _ZEROS else name

    def _zero(self, at: int) -> str:
        name = self._fresh()
        self.ahead.setdefault(at, []).append(f"  {name} = call x86_amx @llvm.x86.tilezero.internal({_SHAPE})")
        return name

    def _slot(self) -> str:
        """Memory for one tile."""
        name = self._fresh()
        self.slots.append(f"  {name} = alloca [1024 x i8], align 64")
        return name

    def _fresh(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"


def _loaded(name: str, place: str) -> str:
    return f"  {name} = call x86_amx @llvm.x86.tileloadd64.internal({_SHAPE}, ptr {place}, {_STRIDE})"


def _stored(place: str, tile: str) -> str:
    return f"  call void @llvm.x86.tilestored64.internal({_SHAPE}, ptr {place}, {_STRIDE}, x86_amx {tile})"


__all__ = ["has_casts", "without_casts"]
