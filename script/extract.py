"""The definitions of a Python file that holds other Python too: the text without it, every line at its place.

A kernel often stands in an ordinary module, between imports of numpy, helpers and tests. Text is never run, so what
is not of the language is masked: its lines become blank, and what is left is a text that `parse_all` reads. Kept are
the decorated definitions, the header's imports, and the plain values that the definitions use.
"""

from __future__ import annotations

import ast
import os
from typing import Any

from msgspec import Struct, structs

from tirscript.ir.check import public
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, Label, error
from tirscript.ir.span import Source, Span

from .entry import _DECORATORS, _IGNORED_IMPORTS, _IMPORTED, _MODULES, _NAMED, _PACKAGES, Definition, parse_all
from .meet import is_header, is_tvm
from .source import normalize, syntax_tree
from .trivia import first_line

_MACROS = ("macro", "inline")
_ROOTS = ("tirscript", "tvm")


class Place(Struct, frozen=True, eq=False):
    """The lines of a definition in its file, from its decorator to its end, counted from 1."""

    first: int
    last: int


class Extract(Struct, frozen=True, eq=False):
    """What a file holds of the language.

    `text` has the lines of the file, those of other Python blank; `places` are the functions and modules in it, by
    name, `definitions_at` those and the macros in the order of the file; `skipped` maps the names that the other Python
    defines to where it does; `tvm` says that the file is in TVM's dialect, `repeated` that a name is defined again.
    """

    filename: str
    text: str
    places: dict[str, Place]
    definitions_at: tuple[Place, ...]
    skipped: dict[str, Span]
    tvm: bool
    repeated: bool

    def definitions(self, folder: str | os.PathLike[str] | None = None) -> dict[str, Definition]:
        """The functions and modules, by name; files of constants lie in `folder`.

        Raises DiagnosticError with every mistake.
        """
        try:
            return parse_all(self.text, filename=self.filename, folder=folder)
        except DiagnosticError as problem:
            raise DiagnosticError(self._explained(one) for one in problem.diagnostics) from problem.__cause__

    def _explained(self, found: Diagnostic) -> Diagnostic:
        """A diagnostic about a name that other Python defines says so."""
        if found.code != "T010" or found.span is None:
            return found
        name = found.span.text.partition(".")[0]
        place = self.skipped.get(name)
        if place is None:
            return found
        label = Label(place, f"`{name}` is made here by Python, which is not run when a file is read")
        hint = "write the value itself, or run the file as Python"
        return structs.replace(found, labels=(*found.labels, label), hint=hint)


@public
def extract(text: str, *, filename: str = "<text>", comments: bool = True) -> Extract:
    """Find the definitions of a Python file without running it; `comments` keeps those above a definition.

    Raises DiagnosticError where the text is no Python at all.
    """
    source = Source(filename, normalize(text.removeprefix("\ufeff")))
    return _Extractor(source, syntax_tree(source), comments).run()


@public
def parse_python(
    text: str, *, filename: str = "<text>", folder: str | os.PathLike[str] | None = None
) -> dict[str, Definition]:
    """Every function and module of a Python file that may hold other Python, by name; none of it is run.

    Files of constants lie in `folder`. Raises DiagnosticError with every mistake found, T022 where it defines none.
    """
    found = extract(text, filename=filename)
    if not found.places:
        message = f"{filename} is empty" if not text.strip() else f"{filename} defines no function and no module"
        hint = "above a function stands `@T.prim_func` or `@G.graph_func`, above a module `@I.ir_module`"
        raise DiagnosticError([error("T022", message, hint=hint)])
    return found.definitions(folder)


class _Extractor:
    def __init__(self, source: Source, tree: ast.Module, comments: bool) -> None:
        self.source = source
        self.tree = tree
        self.lines = source.text.split("\n")
        self.comments = comments
        self.namespaces = {"T", "I", "G", "R"}  # which stand for T, I and G without an import too
        self.packages: set[str] = set()
        self.decorators: set[str] = set()
        self.skipped: dict[str, Span] = {}

    def run(self) -> Extract:
        for node in self.tree.body:
            self.bind(node)
        kept = [node for node in self.tree.body if self.is_definition(node)]
        whole = not sum(map(self.pass_over, kept))  # each of them
        needed = set().union(*map(_taken, kept))
        values = self.values(needed)
        out: list[str] = [""] * len(self.lines)
        for node in self.tree.body:
            if self.is_definition(node):
                self.copy(out, node)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                whole &= self.header(out, node, needed)
            elif id(node) in values:
                whole &= self.value(out, node)
            elif not _is_text(node):
                whole = False
                for name in _bound(node):
                    self.skipped.setdefault(name, self.span(node))
        at = [Place(first_line(node), node.end_lineno or node.lineno) for node in kept]
        named = [
            (node.name, place)
            for node, place in zip(kept, at, strict=True)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not self.is_macro(node)
        ]
        places = dict(named)
        if self.comments:
            for line, text in enumerate(self.lines):
                if is_header(text):
                    out[line] = text
        text = self.source.text if whole and self.comments else "\n".join(out)
        return Extract(
            self.source.name,
            text,
            places,
            tuple(at),
            self.skipped,
            is_tvm(self.source.text, self.tree),
            len(places) < len(named),
        )

    def span(self, node: ast.AST) -> Span:
        n: Any = node
        return Span(self.source, n.lineno, n.col_offset, n.end_lineno, n.end_col_offset)

    def bind(self, node: ast.stmt) -> None:
        """Note what an import of the language binds."""
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name in _MODULES and item.asname:
                    self.namespaces.add(item.asname)
                elif item.name.split(".")[0] in _ROOTS:
                    self.packages.add(item.asname or item.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module in _PACKAGES and not node.level:
            for item in node.names:
                if item.name in _NAMED:
                    self.namespaces.add(item.asname or item.name)
                elif item.name in _DECORATORS:
                    self.decorators.add(item.asname or item.name)

    def is_definition(self, node: ast.stmt) -> bool:
        """Whether a statement is a function, a module or a macro of the language."""
        return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and any(map(self.is_ours, node.decorator_list))

    def pass_over(self, node: Any) -> bool:
        """Take decorators of other Python from above the language's own, which they get the program of; whether there
        were any."""
        *above, last = node.decorator_list
        if not above or not self.is_ours(last) or any(map(self.is_ours, above)):
            return False
        node.decorator_list = [last]
        return True

    def is_ours(self, decorator: ast.expr) -> bool:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(target, ast.Name):
            return target.id in self.decorators
        last, root = target, target
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or not isinstance(last, ast.Attribute):
            return False
        # whatever is said of T is kept, so that a misspelt `@T.prim_fun` is told and not passed over
        return root.id in self.namespaces or (root.id in self.packages and last.attr in (*_DECORATORS, *_MACROS, "tir"))

    def is_macro(self, node: ast.FunctionDef | ast.ClassDef) -> bool:
        decorator = node.decorator_list[0]
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        return isinstance(target, ast.Attribute) and target.attr in _MACROS

    def values(self, needed: set[str]) -> set[int]:
        """The assignments (by id) that make the values which definitions use; `needed` grows by what these use."""
        found: set[int] = set()
        for node in reversed(self.tree.body):
            pairs = _targets(node) or ()
            if any(name in needed for name, _ in pairs):
                found.add(id(node))
                needed |= {item.id for _, value in pairs for item in ast.walk(value) if isinstance(item, ast.Name)}
        return found

    def copy(self, out: list[str], node: ast.stmt) -> None:
        """Keep the lines of a definition, the comments right above it and those at its end."""
        first, last = first_line(node), node.end_lineno or node.lineno
        out[first - 1 : last] = self.lines[first - 1 : last]
        if not self.comments:
            return
        line = first - 2
        while line >= 0 and self.lines[line].startswith("#"):
            out[line] = self.lines[line]
            line -= 1
        line = last
        while line < len(self.lines) and (not self.lines[line].strip() or self.lines[line].lstrip()[0] == "#"):
            if self.lines[line][:1] == "#":
                break
            out[line] = self.lines[line]
            line += 1

    def header(self, out: list[str], node: ast.Import | ast.ImportFrom, needed: set[str]) -> bool:
        """Keep what an import has of the language; whether that is all of it."""
        names = [item for item in node.names if self.imported(node, item, needed)]
        for item in node.names:
            if item not in names:
                self.skipped.setdefault((item.asname or item.name).split(".")[0], self.span(node))
        if names:
            if isinstance(node, ast.Import):  # `import tirscript.testing` binds `tirscript`
                for item in names:
                    if item.asname is None:
                        item.name = item.name.split(".")[0]
            line = ast.unparse(type(node)(**{**vars(node), "names": names}))
            out[node.lineno - 1] = f"{out[node.lineno - 1]}; {line}" if out[node.lineno - 1] else line
        return len(names) == len(node.names)

    def imported(self, node: ast.Import | ast.ImportFrom, item: ast.alias, needed: set[str]) -> bool:
        if isinstance(node, ast.Import):
            root, (package, _, part) = item.name.split(".")[0], item.name.rpartition(".")
            if item.asname is not None and part in _IMPORTED.parts(package)[0]:
                return item.asname in needed
            return root in _ROOTS and (item.asname is None or item.name in (*_PACKAGES, *_MODULES, root))
        if node.level:
            return False
        if item.name in _IMPORTED.parts(node.module or "")[0]:
            return (item.asname or item.name) in needed
        if node.module in _IGNORED_IMPORTS:
            return True
        # what the language does not have is kept where a definition uses it, so that it is told
        known = item.name in _NAMED or item.name in _DECORATORS
        return node.module in _PACKAGES and (known or (item.asname or item.name) in needed)

    def value(self, out: list[str], node: ast.stmt) -> bool:
        """Keep an assignment, several targets as assignments of their own; whether it is as it was."""
        pairs = _targets(node)
        assert pairs is not None
        first, last = node.lineno, node.end_lineno or node.lineno
        beyond = self.lines[last - 1].encode()[node.end_col_offset or 0 :].strip()
        if len(pairs) == 1 and node.col_offset == 0 and beyond[:1] in (b"", b"#"):
            out[first - 1 : last] = self.lines[first - 1 : last]
            return True
        line = "; ".join(f"{name} = {ast.unparse(value)}" for name, value in pairs)
        out[first - 1] = f"{out[first - 1]}; {line}" if out[first - 1] else line
        return len(pairs) == 1


def _targets(node: ast.stmt) -> list[tuple[str, ast.expr]] | None:
    """The names that an assignment binds, each with its value; None where it is not as plain as that."""
    if isinstance(node, ast.AnnAssign):
        return [(node.target.id, node.value)] if isinstance(node.target, ast.Name) and node.value else None
    if not isinstance(node, ast.Assign):
        return None
    pairs: list[tuple[str, ast.expr]] = []
    for target in node.targets:
        if isinstance(target, ast.Name):
            pairs.append((target.id, node.value))
        elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List)):
            if len(target.elts) != len(node.value.elts):
                return None
            for part, value in zip(target.elts, node.value.elts, strict=True):
                if not isinstance(part, ast.Name) or isinstance(value, ast.Starred):
                    return None
                pairs.append((part.id, value))
        else:
            return None
    return pairs


def _taken(node: ast.AST) -> set[str]:
    """The names that a definition may take from the file: not the parameters of its functions, nor what they assign
    before any use."""
    if isinstance(node, ast.ClassDef):
        return set().union(*map(_taken, (*node.decorator_list, *node.body)))
    if not isinstance(node, ast.FunctionDef):
        return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    parameters = {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}
    used: dict[str, tuple[int, int]] = {}
    assigned: dict[str, tuple[int, int]] = {}
    for item in (each for stmt in node.body for each in ast.walk(stmt)):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            used[item.id] = min(used.get(item.id, _END), (item.lineno, item.col_offset))
        for targets, value in _assigned(item):
            for name in (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)):
                assigned[name] = min(assigned.get(name, _END), (value.end_lineno or 0, value.end_col_offset or 0))
    own = {name for name, place in assigned.items() if used.get(name, _END) >= place} | parameters
    outer = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
    return (used.keys() - own).union(*map(_taken, outer))


_END = (1 << 30, 0)


def _assigned(node: ast.AST) -> list[tuple[list[ast.expr], ast.expr]]:
    """The targets of a statement, each with the value behind whose end they have it."""
    if isinstance(node, ast.Assign):
        return [(node.targets, node.value)]
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [([node.target], node.value)]
    if isinstance(node, ast.For):
        return [([node.target], node.iter)]
    if isinstance(node, ast.With):
        return [([item.optional_vars], item.context_expr) for item in node.items if item.optional_vars is not None]
    return []


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a file may bind."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    found = set()
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            found.add(item.id)
        elif isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            found.add(item.name)
        elif isinstance(item, ast.alias):
            found.add((item.asname or item.name).split(".")[0])
    return found


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, `pass` or the like, which a text may hold."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
