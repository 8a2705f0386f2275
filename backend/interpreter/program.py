"""A program made ready to be executed: its functions as closures, made when first called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tirscript.ir import (
    BufferLoad,
    Call,
    DiagnosticError,
    Label,
    Module,
    Node,
    PrimFunc,
    Stmt,
    Var,
    dtype,
    error,
    recursion_room,
    suggest,
    walk,
)
from tirscript.ir.buffer import Buffer
from tirscript.ir.computed import require_computed
from tirscript.ir.constant import require_constants
from tirscript.ir.wellformed.size import refuse_endless
from tirscript.ir.words import counted
from tirscript.ir.written import noalias
from tirscript.passes.lower.empty_reductions import init_empty_reductions

from ..recursion import ADDRESS_ALONE, DEEPEST_CALL, HINT, too_deep
from ..runtime.arguments import Actual, BoundArguments, Param, bind_arguments, buffer_of, match_shapes, written_params
from ..runtime.overlap import check_overlap
from .access import byte_of
from .context import Closure, Context
from .errors import UNSET, element, malformed, undefined_used
from .memory import DERIVED, NOTHING, Pointer, View, of_array, view_of
from .ops import float_converter
from .undef import UNDEF, has_undef

if TYPE_CHECKING:
    from .marks import Marks

Watched = tuple[Buffer, View]  # a buffer whose elements the caller sees


class Run:
    """One execution: the steps that are left (None: not counted) and the depth of calls."""

    __slots__ = ("depth", "left", "limit")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.left = limit or 0
        self.depth = 0

    def step(self, stmt: Stmt) -> None:
        """Count one statement."""
        self.left -= 1
        if self.left < 0:
            message = f"the program was stopped after {self.limit} steps, at this statement"
            raise DiagnosticError(
                [error("T309", message, stmt.span, hint="raise `max_steps=`, or look for a loop that does not end")]
            )


class Program:
    """A function or module; `undef` says that undefined values may occur, `counted` that steps are counted."""

    def __init__(self, functions: tuple[PrimFunc, ...], module: Module | None, counted: bool) -> None:
        self.functions = {func.name: func for func in functions}
        self.module = module
        self.counted = counted
        self.undef = any(_makes_undef(node) for func in functions for node in walk(func))
        self._codes: dict[str, Code] = {}

    def names(self) -> list[str]:
        """The names of the functions."""
        return list(self.functions)

    def function(self, name: str) -> PrimFunc | None:
        """The function of that name, or None."""
        return self.functions.get(name)

    def code(self, name: str) -> Code:
        """The closures of a function."""
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = Code(self.functions[name], self)
        return found


def _makes_undef(node: Node) -> bool:
    if type(node) is Call:
        return node.op.name == "undef"
    return type(node) is BufferLoad and node.predicate is not None


class Code:
    """One function as a closure over a frame."""

    def __init__(self, func: PrimFunc, program: Program) -> None:
        self.func = func
        self.program = program
        self.written = written_params(func, program.module)
        ctx = Context(func, program)
        self.slots = [ctx.define(param) for param in func.params]
        self.buffers = [buffer_of(func, param) for param in func.params]
        self.symbols = {symbol: ctx.define(symbol) for symbol in func.symbols}
        self.body: Closure = ctx.body(init_empty_reductions(func).body)[0]
        self.size = ctx.size

    def start(self, run: Run, values: list[Any], symbols: dict[Var, int]) -> Any:
        """Execute with bound parameters and return the value of `return`."""
        frame: list[Any] = [UNSET] * self.size
        frame[0] = run
        frame[1] = None
        for slot, value in zip(self.slots, values, strict=True):
            frame[slot] = value
        for symbol, value in symbols.items():
            frame[self.symbols[symbol]] = value
        self.body(frame)
        result = frame[1]
        if result is None and self.func.returns is not None and self.func.returns.kind != "void":
            message = f"`{self.func.name}` returns {self.func.returns}, but its end was reached without `return`"
            raise malformed(self.func, "T311", message)
        return result

    def call(self, run: Run, values: list[Any], node: Node) -> Any:
        """A call from another function: buffers are matched as arrays are at the outermost call."""
        func = self.func
        actuals: dict[Any, Actual] = {}
        scalars: dict[Var, Any] = {}
        ready = list(values)
        for at, (param, buffer, value) in enumerate(zip(func.params, self.buffers, values, strict=True)):
            if has_undef(value):
                raise undefined_used(node, f"argument `{param.name}` of `{func.name}`")
            if buffer is None:
                if type(value) is View:
                    ready[at] = value.pointer
                elif isinstance(param, Var) and not param.dtype.is_handle:
                    scalars[param] = value
                continue
            if type(value) is View:
                self._check_buffer(buffer, value, node, param is not buffer)
                actuals[buffer] = Actual(value.shape, value.element_strides())
            elif param is buffer:
                what = "null" if value is None else "an address"
                raise DiagnosticError(
                    [
                        error(
                            "T301",
                            f"argument `{buffer.name}` of `{func.name}`: expected a buffer, got {what}",
                            node.span,
                        )
                    ]
                )
        symbols = match_shapes(func, actuals, scalars, place=node.span)
        for at, (buffer, value) in enumerate(zip(self.buffers, values, strict=True)):
            if buffer is not None and type(value) is View and value.start() != 0:
                ready[at] = _rebased(value)
        run.depth += 1
        if run.depth > DEEPEST_CALL:
            raise DiagnosticError([error("T309", too_deep(), node.span, hint=HINT)])
        try:
            return self.start(run, ready, symbols)
        finally:
            run.depth -= 1

    def _check_buffer(self, buffer: Any, view: View, node: Node, matched: bool) -> None:
        func = self.func
        wrong = None
        if view.kind is not buffer.dtype:
            wrong = f"a buffer of {buffer.dtype}, got one of {view.kind}"
        elif len(view.shape) != buffer.ndim:
            wrong = f"{counted(buffer.ndim, 'dimension')}, got shape {view.shape}"
        if wrong is not None:
            notes = [] if buffer.span is None else [Label(buffer.span, "the parameter is declared here")]
            what = f"argument `{buffer.name}` of `{func.name}`: expected {wrong}"
            hint = ADDRESS_ALONE if matched else None
            raise DiagnosticError([error("T301", what, node.span, notes=notes, hint=hint)])


def _rebased(view: View) -> View:
    """A region as a buffer of its own: its address is that of its first element."""
    pointer = Pointer(view.pointer.storage, byte_of(view, view.offset), view.kind)
    return View(pointer, view.kind, view.shape, view.element_strides())


# -- from outside


def run_program(
    program: Program,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    max_steps: int | None,
    marks: Marks | None = None,
    *,
    apart: bool = False,
) -> Any:
    """Bind the caller's arguments, execute, and give back the returned scalar as Python's.

    `marks` are what is known of arrays that are not defined everywhere, and take what the function leaves of them;
    without them that is a mistake. `apart` says that the call is the user's: arrays may overlap where the function
    expects it only, as in native code.
    """
    func = program.functions[name]
    with recursion_room(), np.errstate(all="ignore"):
        code = program.code(name)
        bound = bind_arguments(func, args, kwargs, written=code.written)
        if apart and noalias(func):
            check_overlap(func, bound.arrays, code.written)
        values, watched = _values(code, bound, NOTHING if marks is None else marks.states)
        result = code.start(Run(max_steps), values, bound.symbols)
        for param, buffer, view in watched if program.undef else ():
            if not _depends_on_undef(view):
                continue
            if marks is None:
                report_undefined(func, (buffer, view))
            else:
                array = bound.arrays[param]
                assert array is not None
                marks.leave(func, array, (buffer, view))
    if result is UNDEF:
        raise undefined_used(func, f"the value that `{name}` returns")
    return float(result) if func.returns is not None and func.returns.is_float else result


def _values(
    code: Code, bound: BoundArguments, states: Mapping[int, bytearray]
) -> tuple[list[Any], list[tuple[Param, Buffer, View]]]:
    tracked = code.program.undef
    values: list[Any] = []
    watched: list[tuple[Param, Buffer, View]] = []
    for param, buffer in zip(code.func.params, code.buffers, strict=True):
        if param not in bound.arrays:
            scalar = bound.scalars[param]  # type: ignore[index]
            values.append(_scalar(scalar, param))
            continue
        array = bound.arrays[param]
        if array is None:
            values.append(None)
        elif buffer is None:
            pointee = param.dtype.pointee
            kind = pointee if pointee is not None and pointee.itemsize else dtype("uint8")
            storage, first = of_array(array, kind, param.name, param.span, tracked=tracked, states=states)
            values.append(Pointer(storage, first, pointee))
        else:
            view = view_of(array, buffer.dtype, buffer.name, buffer.span, tracked=tracked, states=states)
            values.append(view)
            watched.append((param, buffer, view))
    return values, watched


def _scalar(value: Any, param: Param) -> Any:
    return float_converter(param.dtype)(value) if param.dtype.is_float else value


def _depends_on_undef(view: View) -> bool:
    state = view.pointer.storage.state
    return state is not None and DERIVED in state


def report_undefined(func: PrimFunc, watched: Watched) -> None:
    """Raise a diagnostic at what stored the first element that depends on undef in a buffer of a function."""
    buffer, view = watched
    storage = view.pointer.storage
    if not _depends_on_undef(view):
        return
    for indices, at in view.positions():
        for lane in range(view.lanes):
            if view.state[at + lane] == DERIVED:
                node = storage.blame.get(byte_of(view, at + lane))
                what = f"`{element(buffer, indices)}`, which `{func.name}` leaves behind,"
                raise undefined_used(node or func, what)


_programs: dict[tuple[int, bool], tuple[PrimFunc | Module, Program]] = {}
_KEPT = 128


def program_of(x: PrimFunc | Module, counted: bool) -> Program:
    """The program of a function or module; the last ones are kept, so that a kernel called again is not made again."""
    key = (id(x), counted)
    found = _programs.get(key)
    if found is not None and found[0] is x:
        return found[1]
    refuse_endless(x)
    require_constants(x)
    require_computed(x, "T308")
    functions = x.functions if isinstance(x, Module) else (x,)
    module = x if isinstance(x, Module) else None
    program = Program(tuple([func for func in functions if isinstance(func, PrimFunc)]), module, counted)
    while len(_programs) >= _KEPT:
        _programs.pop(next(iter(_programs)), None)
    _programs[key] = (x, program)
    return program


def entry_of(module: Module, entry: str | None) -> str:
    """The function of a module that runs: `entry`, `main`, or the only public one."""
    names = [func.name for func in module.functions]
    if entry is not None:
        if entry in names:
            return entry
        near = suggest(entry, names)
        hint = f"did you mean `{near}`?" if near else f"it has {', '.join(names)}" if names else None
        raise DiagnosticError(
            [error("T307", f"module `{module.name}` has no function `{entry}`", module.span, hint=hint)]
        )
    if "main" in names:
        return "main"
    public = [func.name for func in module.functions if not getattr(func, "private", False)]
    if len(public) == 1:
        return public[0]
    what = f"has {len(public)} public functions and no `main`" if public else "has no public function"
    hint = f"name one: `entry={public[0]!r}`" if public else None
    raise DiagnosticError([error("T307", f"module `{module.name}` {what}", module.span, hint=hint)])
