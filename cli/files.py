"""What the commands read: files, folders and standard input, and the functions in them. Nothing is ever run."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from tirscript.ir import DiagnosticError, GraphFunc, Module, PrimFunc, error, suggest
from tirscript.ir.whole_files import reason, write_file

Program = PrimFunc | GraphFunc | Module
STDIN = "-"
_GOLDEN = re.compile(r"# --- .+ ---\s*$")
SEPARATOR = "# -----"  # between the programs of one file, as `// -----` is for mlir-opt
# those of other names (TVM's `@R.function`, macros) are everyday words, which other libraries decorate with, too
_DECORATORS = re.compile(
    r"prim_func|graph_func|ir_module|@\s*(?:\w+\.)*(?:[TIGR]|tir|graph|relax)\.(?:function|func|macro|inline)\b"
)
# folders that hold no sources of the user's own
_PASSED_OVER = frozenset(("__pycache__", "node_modules", "site-packages", "venv", "build", "dist"))


def unreadable(path: str, why: str, hint: str | None = None) -> DiagnosticError:
    """That a file cannot be read."""
    return DiagnosticError([error("T002", f"{path} cannot be read: {why}", hint=hint)])


@contextmanager
def writing(path: str | None, beside: str | None = None) -> Iterator[None]:
    """What is done in it writes to this file, if to any, and perhaps to another one `beside` it: that this is not
    possible is told with the file's name."""
    try:
        yield
    except OSError as problem:
        if path is None:
            raise
        where = problem.filename
        if beside is not None and isinstance(where, str) and os.path.realpath(where) == os.path.realpath(beside):
            path = beside
        message = f"{path} cannot be written: {reason(problem)}"
        raise DiagnosticError([error("T002", message)]) from None


def save(path: str, text: str) -> None:
    """Write a file whole, or leave it as it is."""
    with writing(path):
        write_file(path, text.encode())


def spare(argument: str, *outputs: str | None) -> None:
    """Raise T002 where one of the files that are to be written is that of the programs, `FILE[:name]`."""
    source = split_name(argument)[0]
    for path in outputs if source != STDIN and os.path.exists(source) else ():
        if path and os.path.exists(path) and os.path.samefile(path, source):
            message = f"{path} cannot be written: it holds the programs that are read"
            raise DiagnosticError([error("T002", message, hint="give what is written another name")])


def read_bytes(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`. Raises DiagnosticError."""
    from tirscript.script.source import MAX_TEXT, read_source

    try:
        if path == STDIN:
            if sys.stdin is None:  # `<&-`
                raise unreadable(name_of(path), "it is closed")
            data = sys.stdin.buffer.read(MAX_TEXT + 1)
        else:
            if not path:
                raise unreadable("the file ''", "its name is empty")
            if stat.S_ISDIR(os.stat(path).st_mode):
                raise unreadable(path, "it is a folder", "name a file")
            return read_source(path)
    except (OSError, ValueError) as problem:
        why, hint = reason(problem), None
        if isinstance(problem, FileNotFoundError) and os.path.islink(path):
            why = f"it is a link to {os.readlink(path)}, which does not exist"
        elif isinstance(problem, FileNotFoundError):
            hint = _near_file(path)
        raise unreadable(path, why, hint) from None
    if len(data) > MAX_TEXT:
        raise DiagnosticError([error("T004", f"{name_of(path)} is larger than {MAX_TEXT:,} bytes")])
    return data


def _near_file(path: str) -> str | None:
    """The file of a name that is near: all end in .py, so that the names without it are compared."""
    folder, name = os.path.split(path)
    try:
        stems = {os.path.splitext(one)[0]: one for one in sorted(os.listdir(folder or ".")) if one.endswith(".py")}
    except (OSError, ValueError):
        return None
    near = suggest(os.path.splitext(name)[0], stems)
    return f"did you mean {os.path.join(folder, stems[near])}?" if near else None


def read_text(path: str, *, searched: bool = False) -> str:
    """The text of a file or of standard input; T001 where it is no UTF-8.

    `searched`: the file was found in a folder, and "" is its text where it holds nothing of ours.
    """
    from tirscript.script.source import decode

    data = read_bytes(path)
    if searched and not may_hold_programs(data.decode("utf-8", "replace")):
        return ""
    return decode(data, name_of(path))


def name_of(path: str) -> str:
    """How messages call a file."""
    return "<stdin>" if path == STDIN else path


def programs(path: str) -> dict[str, Program]:
    """The functions and modules of a file, by name. Raises DiagnosticError."""
    return read_programs(read_text(path), path)


def read_programs(text: str, path: str) -> dict[str, Program]:
    """The functions and modules of the text of a file; files of constants lie beside it. Raises DiagnosticError."""
    from tirscript.script import parse_python

    folder = "." if path == STDIN else os.path.dirname(path) or "."
    return dict(parse_python(text, filename=name_of(path), folder=folder))


def every_program(text: str, path: str) -> list[tuple[str, Program]]:
    """The functions and modules of a file with their names, of a golden file those of each of its sections.

    A text may define none. Raises DiagnosticError.
    """
    from tirscript.script import extract

    found = extract(text, filename=name_of(path))
    if not found.places:
        return []
    texts = [piece for piece in pieces(text, golden=True) if may_hold_programs(piece)] if found.repeated else [text]
    return [item for one in texts for item in read_programs(one, path).items()]


def pieces(text: str, *, golden: bool = False) -> list[str]:
    """The programs of a text that are separated by lines `# -----`, each at the lines it has in the whole.

    `golden`: by the lines `# --- after simplify ---` of golden files.
    """
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    cuts = [at for at, line in enumerate(lines) if (_GOLDEN.match(line) if golden else line.rstrip() == SEPARATOR)]
    found = []
    for start, stop in zip([0, *(cut + 1 for cut in cuts)], [*cuts, len(lines)], strict=True):
        found.append("\n" * start + "".join(lines[start:stop]))
    return found


def split_name(argument: str) -> tuple[str, str | None]:
    """`FILE:function` as its parts. A file whose own name has colons is found first."""
    if argument == STDIN or os.path.exists(argument):
        return argument, None
    path, colon, name = argument.rpartition(":")
    if colon and path and all(part.isidentifier() for part in name.split(".")):
        return path, name
    return argument, None


class Chosen(NamedTuple):
    """What `FILE[:function]` names: the function, and the module that it is in and may call functions of."""

    func: PrimFunc | GraphFunc
    module: Module | None

    @property
    def program(self) -> Program:
        """What is built or interpreted."""
        return self.func if self.module is None else self.module

    @property
    def entry(self) -> str:
        """The name of the function."""
        return self.func.name


def choose(argument: str) -> Chosen:
    """The one function that `FILE[:name]` names; of a file or module `main`, or the only one that is public."""
    path, name = split_name(argument)
    found = programs(path)
    known = {key: chosen for program in found.values() for key, chosen in _callable(program).items()}
    where = name_of(path)
    if name is not None:
        chosen = known.get(name) or next((one for key, one in known.items() if key.endswith(f".{name}")), None)
        if chosen is not None:
            return chosen
        if name not in found:
            raise _not_there(name, {**found, **known}, path)
        known = _callable(found[name])
        where = f"`{name}` of {where}"
    public = {key: one for key, one in known.items() if not one.func.private} or known
    mains = [one for key, one in public.items() if key.rpartition(".")[2] == "main"]
    if len(public) == 1 or len(mains) == 1:
        return mains[0] if len(mains) == 1 else next(iter(public.values()))
    example = next(iter(public), "function")
    message = f"{where} has {len(public)} functions: {', '.join(public) or 'none'}"
    hint = f"name one: {path}:{example}" if public else "a module without functions cannot be run"
    if path == STDIN and public:
        hint = f"name one, behind the options: -- -:{example}"  # click takes `-:` for an option
    raise DiagnosticError([error("T307", message, hint=hint)])


def _callable(program: Program) -> dict[str, Chosen]:
    """The functions of a program by the names that the command line has for them."""
    if isinstance(program, (PrimFunc, GraphFunc)):
        return {program.name: Chosen(program, None)}
    return {f"{program.name}.{func.name}": Chosen(func, program) for func in program.functions}


def some(argument: str) -> tuple[str, dict[str, Program]]:
    """The file that `FILE[:name]` names, and all its programs or the one of that name."""
    path, name = split_name(argument)
    return path, named(programs(path), name, path)


def named(found: dict[str, Program], name: str | None, path: str) -> dict[str, Program]:
    """The programs of a file, or the one of that name: a function of a module by itself. Raises DiagnosticError."""
    if name is None:
        return found
    if name in found:
        return {name: found[name]}
    known = {key: chosen.func for program in found.values() for key, chosen in _callable(program).items()}
    match = known.get(name) or next((func for key, func in known.items() if key.endswith(f".{name}")), None)
    if match is None:
        raise _not_there(name, {**found, **known}, path)
    return {name: match}


def _not_there(name: str, known: Iterable[str], path: str) -> DiagnosticError:
    near = suggest(name, known)
    hint = f"did you mean `{near}`?" if near else f"it has {', '.join(known)}"
    return DiagnosticError([error("T307", f"{name_of(path)} has no function or module `{name}`", hint=hint)])


def expand(paths: Sequence[str]) -> list[str]:
    """The files that arguments name: files and `-` as they are, of a folder the Python files in it, sorted.

    As black does, it passes over what is in a folder and is no file: pipes, which may never end, and links to nothing.
    """
    found: dict[str, None] = {}
    for path in paths:
        if path != STDIN and os.path.isdir(path):
            found.update(dict.fromkeys(_files_in(path)))
        else:
            found[path] = None
    return list(found)


def _files_in(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER and not name.startswith("."))
        found = (os.path.join(place, name) for name in sorted(files) if name.endswith(".py"))
        yield from filter(os.path.isfile, found)


def may_hold_programs(text: str) -> bool:
    """Whether a file of a folder is worth parsing: it says one of the decorators somewhere."""
    return _DECORATORS.search(text) is not None


def has_graphs(program: Program) -> bool:
    """Whether there are graph functions in a program."""
    return isinstance(program, GraphFunc) or (isinstance(program, Module) and bool(program.graph_funcs))


class FileName(click.ParamType):
    """An argument that names a file, for shells to complete."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What the shell finds."""
        return [CompletionItem(incomplete, type="file")]


FILE = FileName()
