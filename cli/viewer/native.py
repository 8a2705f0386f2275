"""LLVM IR and assembly of a program, apart by function."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tirscript.backend.llvm.located import Located, locate
from tirscript.ir import Module, PrimFunc

from .stages import functions

Lines = list[tuple[str, int]]  # (line, number of the statement)

_DEFINE = re.compile(r'define [^@]*@("[^"]*"|[\w.$-]+)\(')
_SHARED = re.compile(r'attributes (#\d+) =|(!\d+) =|(@"[^"]*"|@[\w.$-]+) =|declare [^@]*(@"[^"]*"|@[\w.$-]+)\(')
_MENTION = re.compile(r'@"[^"]*"|@[\w.$-]+|#\d+|!\d+')
_LABEL = re.compile(r'("[^"]*"|[\w.$]+):')
_NAME = re.compile(r"\.L[\w.$]+")
_PLACE = re.compile(r"\s*\.(?:section|text|data|bss)\b")


def native(
    program: PrimFunc | Module, numbers: Mapping[int, int], opt_level: int = 3
) -> dict[str, dict[str, dict[str, Any]]]:
    """By function and view: a text, and for each of its lines the line of the function's last listing (0: none).

    `numbers` are the lines of statements in these listings, by id. A function that LLVM put into its callers has no
    text. Raises DiagnosticError for what cannot be compiled.
    """
    code = locate(program, numbers, opt_level=opt_level)
    made: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in functions(program)}
    for view, split in (("written", _split_ir), ("optimized", _split_ir), ("assembly", _split_assembly)):
        pieces = split(getattr(code, view))
        for name in made:
            found = pieces.get(code.symbols[name])
            if found is not None:
                made[name][view] = {"text": "\n".join(line for line, _ in found), "ir": [number for _, number in found]}
    return made


def _split_ir(code: Located) -> dict[str, Lines]:
    """The functions of a module of LLVM IR, each with the declarations, globals and attributes that it mentions."""
    found: dict[str, Lines] = {}
    shared: dict[str, Lines] = {}
    lines = zip(code.lines, code.numbers, strict=True)
    above: Lines = []
    for line, number in lines:
        define = _DEFINE.match(line)
        if define is not None:
            piece = [*above, (line, number)]
            for inner in lines:
                piece.append(inner)
                if inner[0] == "}":
                    break
            found[define[1].strip('"')] = piece
        else:
            match = _SHARED.match(line)
            if match is not None:
                shared[(match[1] or match[2] or match[3] or match[4]).replace('"', "")] = [*above, (line, number)]
        above = [(line, number)] if line.startswith("; ") and define is None else []
    return {name: [*piece, *_mentioned(piece, shared)] for name, piece in found.items()}


def _mentioned(piece: Lines, shared: dict[str, Lines]) -> Iterator[tuple[str, int]]:
    """The shared lines that a function mentions, and those that these mention, in their order."""
    seen: set[str] = set()
    todo = [piece]
    while todo:
        for line, _ in todo.pop():
            for word in _MENTION.findall(line):
                key = word.replace('"', "")
                if key in shared and key not in seen:
                    seen.add(key)
                    todo.append(shared[key])
    if seen:
        yield "", 0
    for key, lines in shared.items():
        if key in seen:
            yield from lines


def _split_assembly(code: Located) -> dict[str, Lines]:
    """The functions of an assembly text, each with the constants that it mentions."""
    chunks: list[Lines] = [[]]
    for line, number in zip(code.lines, code.numbers, strict=True):
        if _PLACE.match(line):
            chunks.append([])
        chunks[-1].append((line, number))
        if line.lstrip().startswith(".size"):
            chunks.append([])
    labels = [[match[1].strip('"') for line, _ in chunk if (match := _LABEL.match(line))] for chunk in chunks]
    data = {name: at for at, names in enumerate(labels) for name in names if name.startswith(".L")}
    found = {}
    for at, names in enumerate(labels):
        for name in names:
            if not name.startswith(".L"):
                mentioned = {data.get(word, at) for line, _ in chunks[at] for word in _NAME.findall(line)} - {at}
                found[name] = [*(one for other in sorted(mentioned) for one in chunks[other]), *chunks[at]]
    return found
