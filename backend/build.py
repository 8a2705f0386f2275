"""`build` and `jit`: from programs to functions that Python calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, overload

from tirscript.ir import DiagnosticError, Module, PrimFunc, Target, error, suggest
from tirscript.ir.check import keywords_known, public
from tirscript.ir.graph import GraphFunc
from tirscript.ir.verify import telling_mistakes
from tirscript.ir.wellformed.fields import telling_unreadable

from .collecting import fewer_collections
from .not_programs import kind_of, no_program
from .request import Request
from .runtime.built import Built
from .runtime.function import FunctionBase, LazyFunction, make_function
from .runtime.signature import signature

if TYPE_CHECKING:
    from tirscript.passes import Sequential

    from .runtime.function import Function
    from .runtime.graph_function import GraphFunction


@overload
def build(
    x: PrimFunc | FunctionBase,
    target: Any = None,
    *,
    pipeline: Any = "default",
    opt_level: int = 3,
    debug: bool = False,
    bounds_check: bool = False,
) -> Function: ...
@overload
def build(
    x: GraphFunc,
    target: Any = None,
    *,
    pipeline: Any = "default",
    opt_level: int = 3,
    debug: bool = False,
    bounds_check: bool = False,
) -> GraphFunction: ...
@overload
def build(
    x: Module,
    target: Any = None,
    *,
    pipeline: Any = "default",
    opt_level: int = 3,
    debug: bool = False,
    bounds_check: bool = False,
) -> BuiltModule: ...
@public
def build(
    x: Any,
    target: Any = None,
    *,
    pipeline: Any = "default",
    opt_level: int = 3,
    debug: bool = False,
    bounds_check: bool = False,
) -> Any:
    """Native code for a program: a function for a PrimFunc or a GraphFunc, a BuiltModule for a Module.

    A tensor function writes into the arrays it is called with; a graph function returns new ones.

    target:    what functions are for that say nothing themselves, nor their module: a Target, or its string, dict or
               tag. None is the innermost `with target:`, else "llvm", this machine
    pipeline:  "default" (`default_pipeline(target)`), passes (a Sequential, a list of them or their text), or None for
               a lowered program
    opt_level: how hard LLVM tries, 0 to 3
    debug:     add checks of indices, axes, divisors and assumptions to the code, and run each statement where it
               was written
    bounds_check: add those checks, and schedule as without them

    Raises DiagnosticError with what is wrong with the program or the target, or cannot be compiled; TypeError for what
    is no program.
    """
    if isinstance(x, FunctionBase):
        x = x.func
    if not isinstance(x, (PrimFunc, GraphFunc, Module)):
        raise TypeError(f"build takes a PrimFunc, a GraphFunc or a Module, {no_program(x)}")
    _check_level(opt_level)
    from .targets import build_request, chosen_target

    with telling_mistakes(x), telling_unreadable(x), fewer_collections():
        chosen = chosen_target(x, target)
        passes = _pipeline(pipeline, chosen.main, bool(debug))
        debug = bool(debug or bounds_check)
        if debug:
            passes = _checked(passes)
        if isinstance(x, PrimFunc):
            return build_request(Request(x, passes, chosen.main, opt_level, debug))[x.name]
        from .stages import Stages

        built = Stages(_module(x), chosen, passes, opt_level, debug, pipeline == "default").functions()
    return BuiltModule(x, built) if isinstance(x, Module) else built[x.name]


def lowered_module(x: Module | GraphFunc, *, target: Any, pipeline: Any, debug: bool) -> Module:
    """What `build` with these options makes code of: a module of tensor functions. Raises DiagnosticError."""
    from .stages import Stages
    from .targets import chosen_target

    chosen = chosen_target(x, target)
    passes = _pipeline(pipeline, chosen.main, debug)
    if debug:
        passes = _checked(passes)
    module, rest = Stages(_module(x), chosen, passes, 3, debug, pipeline == "default").lowered()
    with chosen:
        return module if rest is None else rest(module)


def _module(x: Module | GraphFunc) -> Module:
    """A graph function alone is in a module of its own, whose callers see it."""
    return Module((x.replace(private=False),), name=x.name) if isinstance(x, GraphFunc) else x


@keywords_known
def jit(
    function: Any = None,
    *,
    target: Any = None,
    pipeline: Any = "default",
    opt_level: int = 3,
    debug: bool = False,
    bounds_check: bool = False,
) -> Any:
    """Make a decorated Python function, or a PrimFunc, a native function that is built at its first call.

    The options are those of `build`. The program is read at once, so its mistakes are told where it is defined. It may
    stand above `@T.prim_func`: what reads files without running them, as the command line does, finds the kernel then.
    """
    options = {
        "target": target,
        "pipeline": pipeline,
        "opt_level": opt_level,
        "debug": debug,
        "bounds_check": bounds_check,
    }
    if function is None:
        return lambda given: jit(given, **options)
    _check_level(opt_level)
    if target is not None:
        from .targets import chosen_target

        chosen_target(None, target)
    if isinstance(function, FunctionBase):
        function = function.func
    if isinstance(function, FunctionType):
        from tirscript.script import prim_func

        function = prim_func(function)
        if isinstance(function, FunctionType):
            return function  # in the class of a module, which reads it
    if not isinstance(function, PrimFunc):
        raise TypeError(f"jit decorates a function or takes a PrimFunc, {no_program(function)}")
    return make_function(LazyFunction, _LazyCore(function, options))


def _check_level(opt_level: Any) -> None:
    if type(opt_level) is not int or not 0 <= opt_level <= 3:
        raise DiagnosticError([error("T404", f"opt_level is an int from 0 to 3, not {opt_level!r}")])


def _pipeline(pipeline: Any, target: Target | None = None, debug: bool = False) -> Sequential | None:
    """The passes that the argument asks for; None for none. Of the default, those over tensor functions."""
    if pipeline is None:
        return None
    from tirscript.passes import Pass, Sequential
    from tirscript.passes.pipeline import PASSES

    from .default_pipeline import lowering_of

    if isinstance(pipeline, str):
        if pipeline != "default":
            if pipeline not in PASSES and suggest(pipeline, ("default",)):
                raise DiagnosticError([error("T404", f"there is no pass `{pipeline}`", hint='did you mean "default"?')])
            return Sequential.parse(pipeline)
        return lowering_of(target or Target.parse("llvm"), schedule=not debug)
    if isinstance(pipeline, (Pass, Sequential)):
        return Sequential((pipeline,))
    if not isinstance(pipeline, Iterable):
        message = f'pipeline is "default", passes, their text, or None, not {kind_of(pipeline)}'
        raise DiagnosticError([error("T404", message)])
    return Sequential(tuple(pipeline))


def _checked(passes: Sequential | None) -> Sequential | None:
    """Passes that leave for each index whether it lies in its dimension, and check axes while there are some."""
    if passes is None:
        return None
    for name in ("lower_match_buffer", "lower_blocks", "flatten_buffer", "vectorize_loop"):
        passes = passes.configured(name, checked=True)
    return passes


class _LazyCore:
    """What a function of `jit` keeps before it is built."""

    def __init__(self, func: PrimFunc, options: dict[str, Any]) -> None:
        self.func = func
        self.options = options

    def signature(self) -> inspect.Signature:
        return signature(self.func)

    def build(self) -> FunctionBase:
        made: FunctionBase = build(self.func, **self.options)
        return made


# -- modules


class BuiltModule(Built):
    """The public functions of a module: by `m["name"]` or `m.name`. Calling it runs `main`, or its only function."""

    __slots__ = ("__call__", "_functions", "module")

    _program = "module"
    _what = "module"
    __call__: Callable[..., Any]

    def __init__(self, module: Module, functions: dict[str, Any]) -> None:
        self.module = module
        self._functions = functions
        only = next(iter(functions.values())) if len(functions) == 1 else self._unclear
        self.__call__ = functions.get("main", only)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__call__)

    def _unclear(self, *args: object, **kwargs: object) -> NoReturn:
        names = ", ".join(f"`{name}`" for name in self._functions) or "none"
        message = f"module `{self.module.name}` has no function `main` to call; its functions: {names}"
        hint = (
            'pick one: `module["name"](...)`' if self._functions else "functions with `private=True` are not callable"
        )
        raise DiagnosticError([error("T307", message, self.module.span, hint=hint)])

    def __getitem__(self, name: str) -> Any:
        function = self._functions.get(name)
        if function is None:
            raise KeyError(self._missing(name))
        return function

    def __getattr__(self, name: str) -> Any:
        functions = object.__getattribute__(self, "_functions")
        if name not in functions:
            raise AttributeError(self._missing(name), name=name)
        return functions[name]

    def _functions_of(self) -> list[Any]:
        return [*self._functions.values()]

    def _missing(self, name: object) -> str:
        if name in self.module:
            return f"function {name!r} of module {self.module.name} is private; leave `private=True` out to call it"
        near = suggest(str(name), self._functions)
        names = ", ".join(self._functions) or "none"
        more = f"; did you mean {near!r}?" if near else f"; its functions: {names}"
        return f"module {self.module.name} has no public function {name!r}{more}"

    def __iter__(self) -> Iterator[Any]:
        return iter(self._functions.values())

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._functions]

    def __repr__(self) -> str:
        return f"<tirscript module {self.module.name}: {', '.join(self._functions)}>"
