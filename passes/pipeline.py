"""Passes by name, pipelines of them, and the context they run in.

A pass is a function from program to program with a name, typed options and a docstring that shows the rewrite:

    @prim_func_pass(requires=("lower_blocks",))
    def flatten_buffer(func: PrimFunc, *, limit: int = 16) -> PrimFunc: ...

It is registered in the one table `PASSES` under the function's name and is applied by calling it; the keyword-only
parameters are its options. A prim_func pass runs on each function of a module. Ours are listed in `table.py`.
"""

from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Protocol, TypeVar, cast, overload

from msgspec import Struct, structs

from tirscript.ir.check import describe, held_in, keywords_known
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, error, suggest
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphFunc
from tirscript.ir.module import Module
from tirscript.ir.node import Node, are_same, recursion_room
from tirscript.ir.rewrite import walk, walks_kept
from tirscript.ir.wellformed.fields import refuse_unreadable
from tirscript.ir.wellformed.size import refuse_endless
from tirscript.ir.words import documentation, words

from .options import Option, check_option
from .pipeline_text import entries_of, options_text
from .table import PassTable
from .targets import EXTERNAL, passing_over, under_free_names

Program = TypeVar("Program", PrimFunc, GraphFunc, Module)
REPORT = "this is a fault of tirscript, not of your program; please report it with the program and this message"


class Pass(Struct, frozen=True, eq=False):
    """One pass, with the options `given` to it. Call it on a PrimFunc, a GraphFunc or a Module.

    `requires` names passes whose work must be done before: what they remove (`removes`, a test of a node and the words
    for it) may not be in the program any more. It runs in contexts of its `opt_level` and above.
    """

    name: str
    kind: str
    function: Callable[..., Any]
    doc: str
    options: Mapping[str, Option]
    requires: tuple[str, ...] = ()
    removes: tuple[Callable[[Node], bool], str] | None = None
    opt_level: int = 0
    given: Mapping[str, Any] = types.MappingProxyType({})

    def __call__(self, program: Program, **options: Any) -> Program:
        """The rewritten program; the identical object where nothing changed."""
        return _apply(self.configure(**options) if options else self, program)

    def configure(self, **options: Any) -> Pass:
        """This pass with options set; T404 for one that it does not have or of another type."""
        for name, value in options.items():
            check_option(self, name, value)
        return structs.replace(self, given={**self.given, **options})

    @property
    def fault(self) -> str:
        """What a message says where the pass fails: to report it, or where it stands if it is not one of ours."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        if code is None or (self.function.__module__ or "").partition(".")[0] == "tirscript":
            return REPORT
        return f"the fault is in the pass itself, which is defined at {code.co_filename}:{code.co_firstlineno}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pass) and self.name == other.name and dict(self.given) == dict(other.given)

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(map(repr, self.given.items())))))

    def __str__(self) -> str:
        if not self.given:
            return self.name
        return f"{self.name}{{{options_text(self.given)}}}"

    def __repr__(self) -> str:
        return f"<pass {self}>"

    def __reduce__(self) -> Any:
        """A pass is known by its name, in copies and in other processes, too, which have to define one of their own."""
        return _again, (self.name, dict(self.given))


def _again(name: str, given: dict[str, Any]) -> Pass:
    return get_pass(name, **given)


PASSES = PassTable()


class _Decorator(Protocol):
    def __call__(self, function: Callable[..., Any], /) -> Pass: ...


@overload
def prim_func_pass(function: Callable[..., Any], /) -> Pass: ...
@overload
def prim_func_pass(
    *,
    name: str | None = None,
    requires: tuple[str, ...] = (),
    removes: tuple[Callable[[Node], bool], str] | None = None,
    opt_level: int = 0,
) -> _Decorator: ...
def prim_func_pass(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    requires: tuple[str, ...] = (),
    removes: tuple[Callable[[Node], bool], str] | None = None,
    opt_level: int = 0,
) -> Pass | _Decorator:
    """Register a function from PrimFunc to PrimFunc as a pass.

    name:      what it is called in pipelines; the function's name where it is not given
    requires:  passes whose work must be done before: what they remove may not be in the program any more
    removes:   what is gone behind it: a test of nodes, and how messages call what it finds
    opt_level: the least `opt_level` of a PassContext at which it runs

    Without options the brackets may be left out: `@prim_func_pass`. Raises ValueError where the name is taken, the
    docstring is missing, or an option is not keyword-only.
    """
    register = _registrar("prim_func", name, requires, removes, opt_level)
    return register if function is None else register(function)


@overload
def graph_func_pass(function: Callable[..., Any], /) -> Pass: ...
@overload
def graph_func_pass(
    *,
    name: str | None = None,
    requires: tuple[str, ...] = (),
    removes: tuple[Callable[[Node], bool], str] | None = None,
    opt_level: int = 0,
) -> _Decorator: ...
def graph_func_pass(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    requires: tuple[str, ...] = (),
    removes: tuple[Callable[[Node], bool], str] | None = None,
    opt_level: int = 0,
) -> Pass | _Decorator:
    """Register a function from GraphFunc to GraphFunc as a pass; the tensor functions of a module stay as they are.

    The options are those of `prim_func_pass`.
    """
    register = _registrar("graph_func", name, requires, removes, opt_level)
    return register if function is None else register(function)


@overload
def module_pass(function: Callable[..., Any], /) -> Pass: ...
@overload
def module_pass(
    *,
    name: str | None = None,
    requires: tuple[str, ...] = (),
    removes: tuple[Callable[[Node], bool], str] | None = None,
    opt_level: int = 0,
) -> _Decorator: ...
def module_pass(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    requires: tuple[str, ...] = (),
    removes: tuple[Callable[[Node], bool], str] | None = None,
    opt_level: int = 0,
) -> Pass | _Decorator:
    """Register a function from Module to Module as a pass; one function is given to it as a module of its own.

    The options are those of `prim_func_pass`.
    """
    register = _registrar("module", name, requires, removes, opt_level)
    return register if function is None else register(function)


def _registrar(
    kind: str,
    name: str | None,
    requires: tuple[str, ...],
    removes: tuple[Callable[[Node], bool], str] | None,
    opt_level: int,
) -> _Decorator:
    def register(function: Callable[..., Any]) -> Pass:
        if not callable(function):
            raise TypeError(f"a pass is made of a function, not {describe(function)}; another name is `name=`")
        called = name or function.__name__
        PASSES.check(called, function.__module__ or "")
        doc = documentation(function, f"pass {called}")
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
        options = {p.name: Option(p.name, p.annotation, p.default) for p in parameters[1:]}
        for parameter in parameters[1:]:
            if parameter.kind is not parameter.KEYWORD_ONLY or parameter.default is parameter.empty:
                raise ValueError(f"option {parameter.name} of pass {called} is not keyword-only with a default")
            if parameter.annotation is parameter.empty:
                said = f"`{parameter.name}: {type(parameter.default).__name__} = {parameter.default!r}`"
                raise ValueError(f"option {parameter.name} of pass {called} has no type: write {said}")
        entry = PASSES[called] = Pass(called, kind, function, doc, options, requires, removes, opt_level)
        return entry

    return register


def get_pass(name: str, /, **options: Any) -> Pass:
    """The pass of that name (`lower-blocks` is `lower_blocks`) with the given options; T404 where there is none."""
    entry = PASSES[pass_name(name)]
    return entry.configure(**options) if options else entry


def pass_name(name: str) -> str:
    """The name of a pass in its one spelling; T404 where there is none. Nothing is loaded for it."""
    found = name.replace("-", "_")
    if found not in PASSES:
        near = suggest(found, PASSES)
        hint = f"did you mean `{near}`?" if near else "`tirscript passes` lists them"
        if "{" in name:
            hint = "options stand beside the name, `get_pass(name, option=value)`; `Sequential.parse` reads a text"
        raise DiagnosticError([error("T404", f"there is no pass `{name}`", hint=hint)])
    return found


class Sequential:
    """A pipeline: passes one after the other. Prints as `a,b{x=1}`, which `Sequential.parse` reads.

    Passes that are named and have no options are loaded when the pipeline is applied or looked into.
    """

    __slots__ = ("_entries",)
    _entries: tuple[Pass | str, ...]  # the text of a pass that is not loaded yet

    def __init__(self, passes: Iterable[Pass | Sequential | str]) -> None:
        if isinstance(passes, str):
            hint = f"`Sequential.parse({passes!r})` reads a text"
            raise DiagnosticError([error("T404", "a pipeline is a list of passes, not a text", hint=hint)])
        flat: list[Pass | str] = []
        for item in passes:
            if isinstance(item, str):
                flat += _parse_passes(item)
            elif isinstance(item, Sequential):
                flat += item._entries
            elif isinstance(item, Pass):
                flat.append(item)
            else:
                hint = (
                    "make one of a function: `@module_pass` or `@prim_func_pass` above it" if callable(item) else None
                )
                message = f"a pipeline is made of passes, their names and pipelines, not of {words(item)}"
                raise DiagnosticError([error("T404", message, hint=hint)])
        self._entries = tuple(flat)

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes in their order."""
        if any(isinstance(entry, str) for entry in self._entries):
            self._entries = tuple(_loaded(entry) if isinstance(entry, str) else entry for entry in self._entries)
        return cast("tuple[Pass, ...]", self._entries)

    def modules(self) -> Iterator[str]:
        """The name of the module that defines each pass, "" without one; none is loaded for it."""
        for entry in self._entries:
            yield PASSES.module(entry.partition("{")[0]) if isinstance(entry, str) else entry.function.__module__ or ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequential) and self.passes == other.passes

    def __hash__(self) -> int:
        return hash(self.passes)

    def __call__(self, program: Program) -> Program:
        """The program after all passes.

        A lone function goes through passes over functions of both kinds as a module of its own.
        """
        if self.needs_module(program):
            alone: Any = program
            made = self(Module((alone,), name=alone.name))
            if len(made.functions) == 1:
                return made.functions[0]  # type: ignore[return-value]
            message = f"the pipeline makes {len(made.functions)} functions of `{program.name}`; apply it to a module"
            raise DiagnosticError([error("T404", message)])
        for entry in self.passes:
            program = entry(program)
        return program

    def needs_module(self, program: Any) -> bool:
        """Whether a program is a lone function and a pass is over functions of the other kind."""
        return isinstance(program, (PrimFunc, GraphFunc)) and any(not _takes(entry, program) for entry in self.passes)

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.passes)

    def __len__(self) -> int:
        return len(self._entries)

    def __str__(self) -> str:
        return ",".join(map(str, self._entries))

    def __repr__(self) -> str:
        return f"<pipeline {self}>"

    def until(self, name: str) -> Sequential:
        """The pipeline up to and with the pass `name`."""
        wanted = pass_name(name)
        names = [entry.name for entry in self.passes]
        if wanted not in names:
            raise DiagnosticError([error("T404", f"the pipeline has no pass `{name}`; it is {str(self) or 'empty'}")])
        return Sequential(self.passes[: names.index(wanted) + 1])

    def configured(self, name: str, **options: Any) -> Sequential:
        """The pipeline with options set for the passes `name` in it that do not say them; none is loaded for it."""
        text = f"{name}{{{options_text(options)}}}"
        entries: list[Pass | str] = []
        for entry in self._entries:
            if isinstance(entry, Pass) and entry.name == name:
                entry = entry.configure(**{**options, **entry.given})
            entries.append(text if entry == name else entry)
        made = Sequential(())
        made._entries = tuple(entries)
        return made

    @staticmethod
    def parse(text: str) -> Sequential:
        """The pipeline that `text` names: `lower_blocks,unroll_loop{limit=4}`."""
        return Sequential((text,))


def _parse_passes(text: str) -> list[Pass | str]:
    """The passes that a text names; those without options as their names, where they are not loaded yet."""
    if text in PASSES:
        return [PASSES[text] if PASSES.loaded(text) else text]
    found: list[Pass | str] = []
    for name, options in entries_of(text):
        known = pass_name(name)
        found.append(get_pass(known, **options) if options or PASSES.loaded(known) else known)
    return found


def _loaded(text: str) -> Pass:
    """The pass that a text names, with the options there."""
    (found,) = _parse_passes(text)
    return get_pass(found) if isinstance(found, str) else found


class Instrument:
    """Something that watches passes run. Override the hooks of interest; all do nothing here."""

    def enter(self) -> None:
        """The context is entered."""

    def leave(self) -> None:
        """The context is left."""

    def should_run(self, entry: Pass, program: PrimFunc | Module) -> bool:
        """Whether the pass may run on the program."""
        return True

    def before(self, entry: Pass, program: PrimFunc | Module) -> None:
        """The pass is about to run."""

    def after(self, entry: Pass, before: PrimFunc | Module, program: PrimFunc | Module) -> None:
        """The pass made `program` from `before`."""


MOST = 3  # the highest level of optimization
_contexts = threading.local()


def pass_names(what: str, given: Iterable[str]) -> frozenset[str]:
    """Names of passes in their one spelling; T404 for those that there are none of, and for one without a list."""
    if isinstance(given, str):
        raise DiagnosticError([error("T404", f"{what} is a list of names of passes", hint=f"{what}=[{given!r}]")])
    return frozenset(map(pass_name, given))


class PassContext:
    """What holds for the passes that run inside `with PassContext(...)` in this thread.

    instruments: watch every pass
    verify:      check the program after every pass
    disabled:    names of passes that do nothing
    config:      {"pass.option": value}, for options that are not given to the pass itself
    opt_level:   0 to 3; passes of a higher level do nothing
    required:    names of passes that run at every level

    Raises DiagnosticError T404 for passes, options and levels that are not there.
    """

    @keywords_known
    def __init__(
        self,
        instruments: Iterable[Instrument] = (),
        verify: bool = False,
        disabled: Iterable[str] = (),
        config: Mapping[str, Any] | None = None,
        opt_level: int = MOST,
        required: Iterable[str] = (),
    ) -> None:
        if isinstance(instruments, Instrument) or not isinstance(instruments, Iterable):
            kind = instruments if isinstance(instruments, type) else type(instruments)
            hint = f"instruments=[{kind.__name__}(...)]" if issubclass(kind, Instrument) else None
            raise DiagnosticError([error("T404", "instruments is a list of instruments", hint=hint)])
        self.instruments = tuple(instruments)
        for one in self.instruments:
            if not isinstance(one, Instrument):
                hint = "make a class of it: `class Mine(Instrument): def after(self, entry, before, program): ...`"
                if isinstance(one, type) and issubclass(one, Instrument):
                    hint = f"make one of this class: `{one.__name__}()`"
                raise DiagnosticError([error("T404", f"{words(one)} is no instrument", hint=hint)])
        if type(opt_level) is not int or not 0 <= opt_level <= MOST:
            raise DiagnosticError([error("T404", f"opt_level is an int from 0 to {MOST}, not {opt_level!r}")])
        self.opt_level = opt_level
        self.required = pass_names("required", required)
        if verify:
            from .instruments import VerifyEach

            self.instruments += (VerifyEach(),)
        self.disabled = pass_names("disabled", disabled)
        both = sorted(self.disabled & self.required)
        if both:
            raise DiagnosticError([error("T404", f"pass `{both[0]}` is disabled and required")])
        self.config: dict[str, dict[str, Any]] = {}
        for key, value in (config or {}).items():
            name, _, option = key.partition(".")
            entry = get_pass(name)
            check_option(entry, option, value)
            self.config.setdefault(entry.name, {})[option] = value

    def __repr__(self) -> str:
        options = {f"{name}.{option}": value for name, given in self.config.items() for option, value in given.items()}
        said = {
            "instruments": [type(one).__name__ for one in self.instruments],
            "disabled": sorted(self.disabled),
            "config": options,
            "required": sorted(self.required),
        }
        parts = [f"opt_level={self.opt_level}", *(f"{name}={value}" for name, value in said.items() if value)]
        return f"<pass context {', '.join(parts)}>"

    @property
    def plain(self) -> bool:
        """Whether passes do here what they do outside of any context."""
        return not (self.instruments or self.disabled or self.config) and self.opt_level == MOST

    def runs(self, entry: Pass) -> bool:
        """Whether a pass does anything here, for all that is known of it by name."""
        return entry.name not in self.disabled and (entry.opt_level <= self.opt_level or entry.name in self.required)

    @staticmethod
    def current() -> PassContext:
        """The innermost context of this thread, or one in which nothing is set."""
        stack = getattr(_contexts, "stack", None)
        return stack[-1][0] if stack else PassContext()

    def __enter__(self) -> PassContext:
        if not hasattr(_contexts, "stack"):
            _contexts.stack = []
        with ExitStack() as entered:  # where one cannot be entered, those before it are left
            for instrument in self.instruments:
                instrument.enter()
                entered.callback(instrument.leave)
            _contexts.stack.append((self, entered.pop_all()))
        return self

    def __exit__(self, *exception: object) -> None:
        _, entered = _contexts.stack.pop()
        entered.close()


def _takes(entry: Pass, program: Any) -> bool:
    return isinstance(program, (_TAKES[entry.kind], Module))


def _apply(entry: Pass, program: Any) -> Any:
    if not _takes(entry, program):
        message = f"pass `{entry.name}` takes {_WORDS[entry.kind]} or a module, not {words(program)}"
        hint = held_in(program, (_TAKES[entry.kind], Module))
        raise DiagnosticError([error("T404", message, hint=hint)])
    context = PassContext.current()
    if not context.runs(entry):
        return program
    if not all(instrument.should_run(entry, program) for instrument in context.instruments):
        return program
    for instrument in context.instruments:
        instrument.before(entry, program)
    options = {**context.config.get(entry.name, {}), **entry.given}
    with recursion_room():
        result = _on_kind(entry, program, options)
    for instrument in context.instruments:
        instrument.after(entry, program, result)
    return result


# what passes of a kind are applied to, apart from modules
_TAKES: dict[str, Any] = {"prim_func": PrimFunc, "graph_func": GraphFunc, "module": (PrimFunc, GraphFunc)}
_WORDS = {"prim_func": "a tensor function", "graph_func": "a graph function", "module": "a function"}


def _on_kind(entry: Pass, program: Any, options: Mapping[str, Any]) -> Any:
    if isinstance(program, Module):
        with passing_over(program):
            return _on_module(entry, program, options)
    if entry.kind != "module":
        return _guarded(entry, program, options)
    alone = Module((program,))
    with passing_over(alone):
        result = _guarded(entry, alone, options)
    if result is alone:
        return program
    if len(result.functions) != 1:
        message = f"pass `{entry.name}` makes {len(result.functions)} functions of one; apply it to a module"
        raise DiagnosticError([error("T404", message)])
    return result.functions[0]


def _on_module(entry: Pass, program: Module, options: Mapping[str, Any]) -> Module:
    """The module after a pass. Functions that are compiled by themselves, for other targets, stay as they are."""
    outside = [one for one in program.functions if EXTERNAL in one.attrs]
    if entry.kind != "module":
        kind = _TAKES[entry.kind]
        functions = tuple(
            _guarded(entry, func, options) if isinstance(func, kind) and EXTERNAL not in func.attrs else func
            for func in program.functions
        )
        return program if are_same(functions, program.functions) else program.replace(functions=functions)
    if not outside:
        return _guarded(entry, program, options)  # type: ignore[no-any-return]
    inner = program.replace(functions=tuple(one for one in program.functions if EXTERNAL not in one.attrs))
    made: Module = _guarded(entry, inner, options)
    if made is inner:
        return program
    return made.replace(functions=(*under_free_names(outside, made), *made.functions))


def _guarded(entry: Pass, program: Any, options: Mapping[str, Any]) -> Any:
    what = f"{'module' if isinstance(program, Module) else 'function'} `{program.name}`"
    try:
        with walks_kept():
            refuse_endless(program)
            _check_requirements(entry, program)
            result = entry.function(program, **options)
    except DiagnosticError as problem:
        note = f"in pass `{entry.name}` on {what}"
        raise DiagnosticError(_noted(one, note) for one in problem.diagnostics) from problem.__cause__
    except Exception as problem:
        refuse_unreadable(program)
        message = f"pass `{entry.name}` failed on {what}: {type(problem).__name__}: {problem}"
        raise DiagnosticError([error("T499", message, program.span, hint=entry.fault)]) from problem
    if type(result) is not type(program):
        made = "nothing: it returns None" if result is None else f"{words(result)} of {what}"
        message = f"pass `{entry.name}` made {made}"
        raise DiagnosticError([error("T499", message, program.span, hint=entry.fault)])
    return result


def _noted(diagnostic: Diagnostic, note: str) -> Diagnostic:
    if any(text.startswith("in pass `") for text in diagnostic.notes):
        return diagnostic
    return structs.replace(diagnostic, notes=(*diagnostic.notes, note))


def _check_requirements(entry: Pass, program: Any) -> None:
    tests = {name: get_pass(name).removes for name in entry.requires}
    if not tests:
        return
    for node in walk(program):
        for name, removes in tests.items():
            if removes is not None and removes[0](node):
                message = f"pass `{entry.name}` does not take programs with {removes[1]}"
                raise DiagnosticError([error("T401", message, node.span, hint=f"apply pass `{name}` before")])
