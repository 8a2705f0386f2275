"""The ways in: the decorators for live Python, and `parse` for text alone."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

from msgspec.structs import force_setattr

from tirscript.ir.check import public
from tirscript.ir.constant import ConstantStore
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, Label, error, suggest
from tirscript.ir.expr import Expr
from tirscript.ir.module import Module
from tirscript.ir.span import Source, Span, Trivia
from tirscript.ir.verify import check_well_formed
from tirscript.ir.whole_files import reason

from .budget import Budget
from .constant import Sources
from .context import MAX_MISTAKES, Abort, Called, Macro, ModuleRef, OfSymbols, Poison
from .function import FunctionLowering
from .graph_names import GraphNamespace, TypeForm, graph_names
from .known import Function
from .live import caller, in_class, locals_of, method_of_module, names_of, wrongly_decorated
from .meet import is_header, is_tile_dialect, is_tvm
from .metadata import read_metadata, stored_metadata
from .module import FUNCTIONS, ModuleReader
from .namespace import ModuleForm, Namespace, tir_names
from .packages import Packages
from .python import BUILTINS
from .source import decode, definition_of, normalize, path_hint, read_source, syntax_tree
from .trivia import Comments
from .tvm_allows import Definition, tvm_allows


def prim_func(
    function: Any = None,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = True,
) -> Any:
    """Read the decorated function as a tensor function; the name then stands for its `PrimFunc`.

    `private` functions are seen only inside their module; `check_well_formed=False` leaves the verifier out;
    `s_tir` is TVM's and means nothing here. Raises DiagnosticError with every mistake that was found.
    """
    options = {"private": private, "check_well_formed": check_well_formed, "s_tir": s_tir}
    return _decorated(function, prim_func, "T.prim_func", options)


def graph_func(
    function: Any = None,
    *,
    private: bool = False,
    pure: bool = True,
    check_well_formed: bool = True,
) -> Any:
    """Read the decorated function as a graph function; the name then stands for its `GraphFunc`.

    `private` functions are seen only inside their module; `pure=False` says that a call does more than give its value;
    `check_well_formed=False` leaves the verifier out. Raises DiagnosticError with every mistake that was found.
    """
    options = {"private": private, "pure": pure, "check_well_formed": check_well_formed}
    return _decorated(function, graph_func, "G.graph_func", options)


def _decorated(function: Any, decorator: Callable[..., Any], written: str, options: dict[str, bool]) -> Any:
    """What a decorator, `written` so in programs, makes of a live function; without one, what does so when called."""
    if function is None:
        return lambda given: decorator(given, **options)
    if not isinstance(function, FunctionType):
        raise wrongly_decorated(written, "function", function)
    # by what name it was called, and with what, its line need not say: `kernel = T.prim_func(private=True)`
    said = {name: value for name, value in options.items() if value is not (name != "private")}
    called = Called(decorator.__name__, said)
    if in_class(function):
        method = method_of_module(function)
        setattr(method, _CALLED, called)
        return method  # I.ir_module reads the whole class
    source, tree, node = definition_of(function)
    reader = Reader(source, tree, names_of(function), trusted=True)
    reader.called = {node.name: called}
    return reader.one()


# the attribute of methods that `I.ir_module` will read: the decorator that was called
_CALLED = "__called__"


def ir_module(cls: Any = None, *, check_well_formed: bool = True, s_tir: bool = True) -> Any:
    """Read the decorated class as a module; the name then stands for its `Module`.

    `check_well_formed=False` leaves the verifier out for functions that do not say it themselves; `s_tir` is TVM's and
    means nothing here. Raises DiagnosticError with every mistake that was found.
    """
    if cls is None:
        return lambda given: ir_module(given, check_well_formed=check_well_formed, s_tir=s_tir)
    if not isinstance(cls, type):
        raise wrongly_decorated("I.ir_module", "class", cls)
    source, tree, _ = definition_of(cls)
    frame = caller()
    names = {**frame.f_globals, **frame.f_locals} if frame is not None else {}
    for value in vars(cls).values():
        if isinstance(value, FunctionType):
            names.update(names_of(inspect.unwrap(value)))
    reader = Reader(source, tree, names, trusted=True)
    reader.called = {name: getattr(value, _CALLED) for name, value in vars(cls).items() if hasattr(value, _CALLED)}
    reader.called[cls.__name__] = Called("ir_module", {} if check_well_formed else {"check_well_formed": False})
    found = reader.one()
    assert isinstance(found, Module)
    return found


@public
def parse(
    text: str,
    *,
    names: dict[str, Any] | None = None,
    filename: str = "<text>",
    constants: ConstantStore | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Definition:
    """The one function or module that a text defines. Never runs any Python of the text.

    `names` are values that the text may use beside T, G and I: numbers, strings, dtypes, sequences, arrays, parsed
    functions. `filename` is what messages call it. `constants` holds the data of constants that the text names by their
    digest; `folder` is where the files of constants lie that it names. Raises DiagnosticError with every mistake found.
    """
    found = parse_all(text, names=names, filename=filename, constants=constants, folder=folder)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise DiagnosticError(
            [
                error(
                    "T022",
                    f"{filename} defines no function and no module",
                    hint="decorate one with `@T.prim_func`, `@G.graph_func` or `@I.ir_module`",
                )
            ]
        )
    message = f"{filename} defines {len(found)} functions and modules: {', '.join(found)}"
    raise DiagnosticError([error("T022", message, hint="`parse_all` and `parse_file` return all of them by name")])


@public
def parse_all(
    text: str,
    *,
    names: dict[str, Any] | None = None,
    filename: str = "<text>",
    constants: ConstantStore | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> dict[str, Definition]:
    """Every function and module that a text defines, by name; as safe as `parse`, whose options it has."""
    source = Source(filename, normalize(text.removeprefix("\ufeff")))
    tree = syntax_tree(source)
    try:
        reader = Reader(source, tree, dict(names or {}), trusted=False)
        reader.sources = Sources(constants, folder)
        return reader.all()
    except DiagnosticError:
        raise
    except Exception as problem:
        # a mistake of ours: text raises diagnostics only, and what went wrong stays in view as the cause
        message = f"the parser failed on this text: {type(problem).__name__}: {problem}"
        raise DiagnosticError([error("T499", message, hint="please report it, with the text")]) from problem


@public
def parse_file(
    path: str | os.PathLike[str],
    *,
    names: dict[str, Any] | None = None,
    constants: ConstantStore | None = None,
) -> dict[str, Definition]:
    """Every function and module of the file at `path`, by name; as safe as `parse`. Files of constants lie beside it.

    `names` and `constants` are those of `parse`. Raises DiagnosticError with every mistake found, or T002 where the
    file cannot be read.
    """
    try:
        text = decode(read_source(path), str(path))
    except (OSError, ValueError) as problem:  # ValueError: a zero byte in the path
        raise DiagnosticError([error("T002", f"{path} cannot be read: {reason(problem)}")]) from problem
    return parse_all(text, names=names, filename=str(path), constants=constants, folder=Path(path).parent)


# the modules whose import a text may hold, and what their names stand for
_PACKAGES = (
    *("tirscript", "tirscript.script"),
    *("tvm.script", "tvm.script.parser", "tvm.script.tirx", "tvm.script.tir", "tvm.script.ir", "tvm.script.relax"),
)
_NAMED = {"tir": "T", "tirx": "T", "s_tir": "T", "ir": "I", "graph": "G", "relax": "G"}
# those that are a namespace: `import tvm.script.relax as R`
_MODULES = {f"{package}.{name}": name for package in ("tirscript.script", *_PACKAGES[2:4]) for name in _NAMED}
# what files import from `tvm.script` for the Python around their programs
_NOT_NAMED = ("from_source", "ir_builder", "parser", "printer")
_APART = ("tvm.script.ir_builder", "tvm.script.printer", "tvm.relax.base_py_module")
_PREFIX = re.compile(r"from tvm\.script import (\w+) as (\w+)\s*$")
_IGNORED_IMPORTS = ("__future__", "typing")
# values of graphs that stand outside of functions in TVM's dialect
_PLAIN_VALUES = ("const", "dtype", "prim_value", "shape", "str")
_DECORATORS = ("prim_func", "graph_func", "ir_module")


def macro(function: Any = None, *, hygienic: bool = True) -> Any:
    """Read the decorated function as a macro: its statements are written out where a kernel calls it.

    A hygienic macro sees its parameters and the names where it is defined; another one also the names at the call.
    """
    if function is None:
        return lambda given: macro(given, hygienic=hygienic)
    if not isinstance(function, FunctionType):
        raise wrongly_decorated("T.macro", "function", function)
    source, tree, node = definition_of(function)
    local = locals_of(function)
    comments = Comments(source.text, tree)
    return Macro(node, source, lambda: python_names(names_of(function, local)), hygienic=hygienic, comments=comments)


def python_names(names: dict[str, Any]) -> dict[str, Any]:
    """The names of live Python as the parser sees them: builtins within bounds, unless the user has others."""
    plain = {**vars(builtins), **BUILTINS, "breakpoint": T.breakpoint}
    own = {name: value for name, value in names.items() if value is not vars(builtins).get(name, _NOTHING)}
    return {**plain, **own}


_NOTHING = object()


class Reader(ModuleReader):
    """Reads the definitions of one text."""

    def __init__(self, source: Source, tree: ast.Module, names: dict[str, Any], *, trusted: bool) -> None:
        self.source = source
        self.tree = tree
        self.trusted = trusted
        self.diagnostics: list[Diagnostic] = []
        found = Comments(source.text, tree)
        self.comments = found if found.any else None
        self.lines = source.text.count("\n") + 1
        self.theirs = is_tvm(source.text, tree)
        self.older = self.theirs and "tirx" not in source.text
        self.tiles = self.theirs and is_tile_dialect(source.text)
        headers = {line: text for line, (_, text) in found.whole.items() if is_header(text)} if self.theirs else {}
        for line in headers:
            del found.whole[line]
        if trusted:
            self.names = python_names(names)
        else:
            own = {"breakpoint": T.breakpoint, "TypeVar": T.var, "T": T, "I": I, "G": G, "R": G}
            if self.theirs:  # pieces of their files come without the imports
                own |= {"tvm": _IMPORTED.package("tvm"), "relax": _IMPORTED.relax(), "tir": T, "ty": T}
                # its printer has other prefixes, too, which only these comments tell
                matches = map(_PREFIX.search, headers.values())
                own |= {one[2]: _NAMESPACES[_NAMED[one[1]]] for one in matches if one is not None and one[1] in _NAMED}
            self.names = {**BUILTINS, **own, **names}
        self.budget = Budget(trusted)
        # of live Python: the files of constants lie beside the file of the definition
        self.sources = Sources(folder=os.path.dirname(source.name) if trusted and os.path.isfile(source.name) else None)
        self.definitions: dict[str, Definition] = {}
        self.seen = 0  # the last line that belongs to a definition
        self.block_names = set()
        self.called = {}

    def lowering(
        self, node: ast.FunctionDef | None, module: ModuleRef | None = None, cls: Any = FunctionLowering
    ) -> FunctionLowering:
        """A lowering for a definition of this text, or (None) for the expressions around them."""
        made: FunctionLowering = cls(
            node, self.source, self.names, trusted=self.trusted, comments=self.comments, namespace=T, module=module
        )
        made.budget = self.budget
        made.theirs = self.theirs
        made.sources = self.sources
        made.older = self.older
        made.tiles = self.tiles
        return made

    def one(self) -> Definition:
        """The decorated definition that a piece of source holds."""
        node = self.tree.body[0]
        made = self.read(node.body[0] if isinstance(node, ast.If) else node, [])
        if made is not None and self.comments is not None:
            self.last_comments(made)
        self.finish([made] if made is not None else [])
        assert made is not None
        return made

    def all(self) -> dict[str, Definition]:
        """The definitions of a whole text, by name."""
        body = self.tree.body
        for at, node in enumerate(body):
            kind = type(node)
            if kind is ast.Import or kind is ast.ImportFrom:
                self.header(node)  # type: ignore[arg-type]
            elif kind is ast.FunctionDef or kind is ast.ClassDef:
                made = self.read(node, body[at + 1 : at + 2])
                if made is not None:
                    if made.name in self.definitions:
                        self.report("T202", f"`{made.name}` is defined twice", node)
                    self.definitions[made.name] = made
                    self.names[made.name] = made
            elif kind is ast.Pass or (kind is ast.Expr and isinstance(node.value, ast.Constant)):  # type: ignore[attr-defined]
                continue
            elif kind is ast.Assign or kind is ast.AnnAssign:
                self.assignment(node)  # type: ignore[arg-type]
            elif isinstance(node, ast.AsyncFunctionDef):
                self.refuse_async(node)
            else:
                ways = "a text is read, not run: call what `parse` returns, or use the decorators in Python"
                hint = path_hint(self.source.text) or ways
                message = "only imports, definitions and plain values stand at the top of a text"
                self.report("T003", message, node, hint=hint)
        if self.definitions and self.comments is not None:
            self.last_comments(list(self.definitions.values())[-1])
        self.finish(list(self.definitions.values()))
        return self.definitions

    def last_comments(self, definition: Definition) -> None:
        """The comments at the end of a text belong to its last definition."""
        assert self.comments is not None
        after = self.comments.above(self.seen + 1, self.lines)
        if after:
            old = definition.trivia or Trivia()
            force_setattr(definition, "trivia", Trivia(old.before, old.beside, (*old.after, *after)))

    def finish(self, made: list[Definition]) -> None:
        """Verify what was read; raise where anything is wrong."""
        for definition in made:
            try:
                check_well_formed(definition)
            except DiagnosticError as problem:
                if not (self.theirs and tvm_allows(definition, problem)):
                    self.diagnostics += problem.diagnostics
        if self.diagnostics:
            # several names of one failed definition may be blamed on one place; each message is said once
            unique = {(found.code, found.message, _position(found)): found for found in self.diagnostics}
            raise DiagnosticError(sorted(unique.values(), key=_position)[: MAX_MISTAKES + 1])

    def report(self, code: str, message: str, node: ast.AST, hint: str | None = None) -> None:
        """Report a mistake outside of functions."""
        span = Span(self.source, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        self.diagnostics.append(Diagnostic(code, message, (Label(span),), (), hint))

    def header(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import line of the header."""
        if isinstance(node, ast.Import):
            for item in node.names:
                shown = item.name if item.asname else item.name.split(".")[0]
                package, _, part = item.name.rpartition(".")
                read, plain = _IMPORTED.parts(package)
                if item.name in _MODULES and item.asname:
                    self.names[item.asname] = _NAMESPACES[_NAMED[_MODULES[item.name]]]
                elif item.name in (*_PACKAGES, *_MODULES, "tvm") or (part in (*read, *plain) and not item.asname):
                    self.names[item.asname or shown] = _IMPORTED.package(shown)
                elif part in read:  # `import tvm.relax as relax`, as `from tvm import relax`
                    self.names[item.asname or part] = read[part]()
                elif part not in plain:
                    self.not_read(f"import {item.name}", node)
            return
        module = node.module or ""
        if (module in _IGNORED_IMPORTS or module.startswith(_APART)) and not node.level:
            return
        read, plain = _IMPORTED.parts(module)
        if not node.level and all(item.name in (*read, *plain) for item in node.names):
            self.names.update((item.asname or item.name, read[item.name]()) for item in node.names if item.name in read)
            return
        if module not in _PACKAGES or node.level:
            self.not_read(f"from {'.' * node.level}{module} import", node)
            return
        for item in node.names:
            if item.name in _NAMED:
                self.names[item.asname or item.name] = _NAMESPACES[_NAMED[item.name]]
                if item.name == "s_tir":
                    self.block_names.add(item.asname or item.name)
            elif item.name in _DECORATORS:
                self.names[item.asname or item.name] = _DECORATOR_OBJECTS[item.name]
            elif item.name == "ty" and self.theirs:  # where types were in 2021
                self.names[item.asname or item.name] = T
            elif not (self.theirs and item.name in _NOT_NAMED):
                near = suggest(item.name, [*_NAMED, *_DECORATORS])
                self.report(
                    "T003",
                    f"`{item.name}` is not a name of {module} that text may import",
                    node,
                    hint=f"did you mean `{near}`?" if near else None,
                )

    def not_read(self, written: str, node: ast.stmt) -> None:
        """Refuse an import."""
        hint = "only the header `from tirscript.script import ir as I, tir as T` does"
        self.report("T003", f"`{written}` does not stand in text that is parsed", node, hint=hint)

    def assignment(self, node: ast.Assign | ast.AnnAssign) -> None:
        """`N = 128` or `n = T.int32()` at the top of a text or class."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None or len(targets) != 1 or not isinstance(targets[0], ast.Name):
            self.report("T003", "only `name = value` stands at the top of a text", node)
            return
        evaluator = self.evaluator(node.value)
        stored = stored_metadata(node.value) if self.theirs else None
        if stored is not None:
            try:
                self.names[targets[0].id] = read_metadata(stored)
            except ValueError as problem:
                self.report("T032", f"this is no metadata of TVM: {problem}", node)
                self.names[targets[0].id] = Poison()
            return
        try:
            value = evaluator.value(node.value)
            if isinstance(value, Expr) and getattr(value, "name", None) == "":
                value = value.replace(name="")
            self.names[targets[0].id] = OfSymbols(node.value) if evaluator.symbols else value
        except Abort:
            self.names[targets[0].id] = Poison()
        self.diagnostics += evaluator.diagnostics

    def evaluator(self, node: ast.expr) -> FunctionLowering:
        """What reads a value outside of functions: in TVM's dialect that may be one of a graph, `R.prim_value(2)`."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="R" | "relax"), attr=name)) if (
                self.theirs and name in _PLAIN_VALUES
            ):
                from .graph_function import GraphLowering

                return self.lowering(None, cls=GraphLowering)
        return self.lowering(None)

    def lower(self, lowering: FunctionLowering, last: int) -> Function | None:
        """A function whose signature is read; comments between what was read before and line `last` may be its."""
        made = lowering.lower(self.seen + 1, last)
        self.seen = max(lowering.node.end_lineno or 0, lowering.taken)
        self.diagnostics += lowering.diagnostics
        return made

    def read(self, node: ast.stmt, following: list[ast.stmt]) -> Definition | None:
        """The function or module of a definition, by its decorator."""
        decorator = self.decorator(node)
        if decorator is None:
            return None
        last = following[0].lineno - 1 if following else self.lines
        if following and getattr(following[0], "decorator_list", None):
            last = following[0].decorator_list[0].lineno - 1  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef) and decorator in FUNCTIONS:
            lowering = self.begin(node, decorator)
            lowering.signature()
            return self.lower(lowering, last)
        if isinstance(node, ast.FunctionDef) and decorator == "macro":
            self.names[node.name] = self.macro(node, last)
            return None
        if isinstance(node, ast.ClassDef) and decorator == "ir_module":
            return self.module(node, last)
        if isinstance(node, ast.AsyncFunctionDef):
            self.refuse_async(node)
        elif isinstance(node, ast.ClassDef):
            self.report("T022", "this decorator does not fit a class", node, hint="that of a module is `@I.ir_module`")
        else:
            hint = "that of a function is `@T.prim_func` or `@G.graph_func`"
            self.report("T022", "this decorator does not fit a function", node, hint=hint)
        return None

    def macro(self, node: ast.FunctionDef, last: int) -> Macro:
        """A macro; comments between it and line `last` may be its."""
        comments = self.comments
        if comments is not None:
            end = node.end_lineno or node.lineno
            comments = comments.moved(node.lineno, comments.split_after(end + 1, last, node.body[0].col_offset) - 1)
        return Macro(node, self.source, lambda: self.names, hygienic=self.hygienic(node), comments=comments)

    def hygienic(self, node: ast.FunctionDef) -> bool:
        """The option of `@T.macro(hygienic=...)`."""
        call = node.decorator_list[0]
        if not isinstance(call, ast.Call):
            return True
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        value = given.pop("hygienic", ast.Constant(True))
        if given or call.args or not isinstance(value, ast.Constant) or not isinstance(value.value, bool):
            self.report("T032", "`T.macro` has one option, `hygienic=True` or `False`", call)
            return True
        return value.value

    def of_graphs(self, node: ast.FunctionDef) -> bool:
        """Whether the annotations of a function name types of G."""
        names = (item.id for item in ast.walk(node.args) if isinstance(item, ast.Name))
        return any(isinstance(self.names.get(name), GraphNamespace) for name in names)

    def is_ours(self, expr: ast.expr) -> bool:
        """Whether a decorator is one of the language."""
        target = expr.func if isinstance(expr, ast.Call) else expr
        with suppress(Abort):
            found = self.lowering(None).value(target) if isinstance(target, (ast.Name, ast.Attribute)) else None
            return any(found is one for one in _DECORATOR_OBJECTS.values())
        return False

    def decorator(self, node: Any) -> str | None:
        """What the one decorator of a definition is."""
        called = self.called.get(node.name)
        if called is not None and not node.decorator_list:
            return called.decorator
        if called is not None and not any(map(self.is_ours, node.decorator_list[:-1])):
            node.decorator_list = node.decorator_list[-1:]  # Python hands what ours makes to those above it
        if len(node.decorator_list) != 1:
            what = "class" if isinstance(node, ast.ClassDef) else "function"
            wanted = "@I.ir_module" if what == "class" else "@G.graph_func" if self.of_graphs(node) else "@T.prim_func"
            place, hint = node, f"write `{wanted}` above it"
            if node.decorator_list:
                foreign = next((one for one in node.decorator_list if not self.is_ours(one)), None)
                place, hint = foreign or node.decorator_list[1], "leave this one out"
                if called is not None and foreign is not None:
                    hint = "write this one above it, where it takes what that one makes"
            self.report("T022", f"a {what} of a program has one decorator, `{wanted}`", place, hint=hint)
            return None
        expr = node.decorator_list[0]
        target = expr.func if isinstance(expr, ast.Call) else expr
        evaluator = self.lowering(None)
        if not isinstance(target, (ast.Name, ast.Attribute)):
            if called is not None:
                return called.decorator
            self.report("T003", "a decorator is a name such as `T.prim_func`", expr)
            return None
        try:
            found = evaluator.value(target)
        except Abort:
            self.diagnostics += evaluator.diagnostics
            return None
        if found is T and self.theirs:  # `@tvm.script.tir` of 2021, above functions and classes
            return "ir_module" if isinstance(node, ast.ClassDef) else "prim_func"
        for name, value in _DECORATOR_OBJECTS.items():
            if found is value:
                self.called.pop(node.name, None)  # its options are those of the text
                return name
        if called is not None:
            return called.decorator
        if self.trusted and isinstance(node, ast.FunctionDef):
            return "other"  # a decorator of the user's own, such as `tirscript.jit`, that asked for the function
        self.report("T003", "this is not a decorator of the language", expr, hint="`@T.prim_func` or `@I.ir_module`")
        return None


def _position(found: Diagnostic) -> tuple[int, int]:
    return (found.span.line, found.span.start_column) if found.span is not None else (0, 0)


_DECORATOR_OBJECTS: dict[str, Callable[..., Any]] = {
    "prim_func": prim_func,
    "graph_func": graph_func,
    "ir_module": ir_module,
    "macro": macro,
}
T: Namespace = Namespace(
    "T",
    tir_names({"prim_func": prim_func, "macro": macro, "inline": macro}),
    "The tensor language: operators, dtypes, loops, blocks and buffers.",
)
I = Namespace(
    "I",
    {
        "ir_module": ir_module,
        "module_attrs": ModuleForm("module_attrs", "attributes of the module: `I.module_attrs({...})`"),
        "module_global_infos": ModuleForm("module_global_infos", "devices: `I.module_global_infos({...})`"),
        "vdevice": ModuleForm("vdevice", 'a device of the module: `I.vdevice("llvm", 0, "global")`'),
        "dummy_global_info": ModuleForm("dummy_global_info", "an empty entry of `I.module_global_infos`"),
        "Range": ModuleForm("Range", "numbers of devices: `I.Range(0, 4)`"),
        "StringType": TypeForm("Object", "the type of a string"),
    },
    "Modules.",
)
G = GraphNamespace(
    "G",
    "",
    graph_names({**dict.fromkeys(("graph_func", "function", "func"), graph_func), "macro": macro}),
    "The graph language: types, constructs and operators.",
)
_NAMESPACES = {"T": T, "I": I, "G": G}
_IMPORTED = Packages(T, I, G, _DECORATOR_OBJECTS)
