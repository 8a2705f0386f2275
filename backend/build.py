"""`build` and `jit`: from programs to functions that Python calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, cast

from tirscript.ir import Buffer, DiagnosticError, MatchBuffer, Module, PrimFunc, Var, error, suggest
from tirscript.ir.check import public
from tirscript.ir.constant import require_constants
from tirscript.ir.graph import GraphFunc
from tirscript.ir.verify import check_well_formed as check

from .runtime import layout
from .runtime.failure import Failure
from .runtime.function import Function, FunctionBase, LazyFunction, PortableFunction, make_function

if TYPE_CHECKING:
    from tirscript.passes import Sequential

    from .cache import Cache
    from .llvm import CompiledFunction, CompiledModule
    from .llvm.builder import ModuleText
    from .llvm.entry import EntryPlan
    from .llvm.image import LoadedModule
    from .llvm.module import Generated
    from .runtime.arguments import Param


@public
def build(x: Any, *, target: Any = None, pipeline: Any = "default", opt_level: int = 3, debug: bool = False) -> Any:
    """Native code for a program: a function for a PrimFunc or a GraphFunc, a BuiltModule for a Module.

    A tensor function writes into the arrays it is called with; a graph function returns new ones.

    pipeline:  "default" (the default schedule and the lowering), passes (a Sequential, a list of them or their text),
               or None for a lowered program
    opt_level: how hard LLVM tries, 0 to 3
    debug:     add checks of indices and divisors to the code, and run each statement where it was written
    target:    None or "llvm", this machine

    Raises DiagnosticError with what is wrong with the program or cannot be compiled.
    """
    if isinstance(x, FunctionBase):
        x = x.func
    if not isinstance(x, (PrimFunc, GraphFunc, Module)):
        raise TypeError(f"build takes a PrimFunc, a GraphFunc or a Module, not {_kind(x)}{_hint(x)}")
    _check_options(target, opt_level)
    passes = _pipeline(pipeline, bool(debug))
    module = Module((x,), name=x.name) if isinstance(x, GraphFunc) else x
    if isinstance(module, Module) and any(isinstance(one, GraphFunc) for one in module.functions):
        from .graph_build import graph_functions, lower_graphs, wrapped

        tensors, rest = lower_graphs(module, passes, pipeline == "default")
        native = _functions(_Recipe(tensors, rest, opt_level, bool(debug)))
        built = wrapped(graph_functions(module), tensors, native)
    else:
        built = _functions(_Recipe(module, passes, opt_level, bool(debug)))
    return BuiltModule(x, built) if isinstance(x, Module) else built[x.name]


def jit(
    function: Any = None, *, target: Any = None, pipeline: Any = "default", opt_level: int = 3, debug: bool = False
) -> Any:
    """Make a decorated Python function, or a PrimFunc, a native function that is built at its first call.

    The options are those of `build`. The program is read at once, so its mistakes are told where it is defined.
    """
    options = {"target": target, "pipeline": pipeline, "opt_level": opt_level, "debug": debug}
    if function is None:
        return lambda given: jit(given, **options)
    _check_options(target, opt_level)
    if isinstance(function, FunctionBase):
        function = function.func
    if isinstance(function, FunctionType):
        from tirscript.script import prim_func

        function = prim_func(function)
        if isinstance(function, FunctionType):
            return function  # in the class of a module, which reads it
    if not isinstance(function, PrimFunc):
        raise TypeError(f"jit decorates a function or takes a PrimFunc, not {_kind(function)}{_hint(function)}")
    return make_function(LazyFunction, _LazyCore(function, options))


def _kind(x: object) -> str:
    name = x.__name__ if isinstance(x, type) else type(x).__name__
    return f"the class {name}" if isinstance(x, type) else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _hint(x: object) -> str:
    if isinstance(x, FunctionType):
        return "; decorate it with `@T.prim_func`"
    if isinstance(x, type):
        return "; decorate it with `@I.ir_module`"
    if isinstance(x, str):
        return "; read a text with `tirscript.parse`"
    return "; build it with `tirscript.build`" if isinstance(x, Module) else ""


def _check_options(target: Any, opt_level: Any) -> None:
    if target not in (None, "llvm"):
        hint = 'leave it away, or write "llvm": both are the processor this runs on'
        raise DiagnosticError([error("T402", f"target {target!r} is not supported", hint=hint)])
    if type(opt_level) is not int or not 0 <= opt_level <= 3:
        raise DiagnosticError([error("T404", f"opt_level is an int from 0 to 3, not {opt_level!r}")])


def _pipeline(pipeline: Any, debug: bool = False) -> Sequential | None:
    """The passes that the argument asks for; None for none."""
    if pipeline is None:
        return None
    from tirscript.passes import Pass, Sequential

    from .default_pipeline import default_pipeline

    if isinstance(pipeline, str):
        return default_pipeline(schedule=not debug) if pipeline == "default" else Sequential.parse(pipeline)
    if isinstance(pipeline, (Pass, Sequential)):
        return Sequential((pipeline,))
    if not isinstance(pipeline, Iterable):
        message = f'pipeline is "default", passes, their text, or None, not {_kind(pipeline)}'
        raise DiagnosticError([error("T404", message)])
    return Sequential(tuple(pipeline))


# -- functions


class _Recipe:
    """What is built, and how."""

    def __init__(self, program: PrimFunc | Module, passes: Sequential | None, opt_level: int, debug: bool) -> None:
        self.program = program
        self.passes = passes
        self.opt_level = opt_level
        self.debug = debug
        self.module = program if isinstance(program, Module) else Module((program,), name=program.name)
        alone = isinstance(program, PrimFunc)
        self.public = [func for func in self.module.prim_funcs if alone or not func.private]

    @cached_property
    def lowered(self) -> PrimFunc | Module:
        """The program after the passes; everything that is wrong with it is told here."""
        check(self.program)
        require_constants(self.program)
        lowered: PrimFunc | Module = self.program if self.passes is None else self.passes(cast(Any, self.program))
        return lowered

    def after(self, name: str) -> PrimFunc:
        """A function after the passes."""
        found = self.lowered[name] if isinstance(self.lowered, Module) else self.lowered
        assert isinstance(found, PrimFunc)
        return found

    def key(self) -> str | None:
        """The name of its code in the cache; None where only this process knows what it is."""
        from .cache_key import key

        return key(self.program, self.passes, lambda: self.lowered, self.opt_level, self.debug)


class _Core:
    """What a function object keeps: its program and its code."""

    def __init__(self, func: PrimFunc, recipe: _Recipe, compiled: CompiledModule | LoadedModule) -> None:
        self.func = func
        self.recipe = recipe
        self.compiled = compiled

    @property
    def lowered(self) -> PrimFunc:
        return self.recipe.after(self.func.name)

    def signature(self) -> inspect.Signature:
        return signature(self.func)

    def llvm_ir(self) -> str:
        return self.compiled.llvm_ir()

    def assembly(self) -> str:
        return self.compiled.assembly()


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


def signature(func: PrimFunc) -> inspect.Signature:
    """The parameters by the names that a call may give them, annotated with the program's types."""
    matched = {stmt.source: stmt.buffer for stmt in func.body if type(stmt) is MatchBuffer}
    parameters = []
    for param in func.params:
        buffer = param if isinstance(param, Buffer) else matched.get(param)
        words = _buffer_words(buffer) if buffer is not None else f"T.{param.dtype}"
        parameters.append(inspect.Parameter(_identifier((buffer or param).name), _POSITION, annotation=_Words(words)))
    returns = None if func.returns is None else _Words(f"T.{func.returns}")
    return inspect.Signature(parameters, return_annotation=returns)


_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD


class _Words(str):
    """An annotation that shows as it was written."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "_"


def _buffer_words(buffer: Buffer) -> str:
    from .runtime.arguments import shape_words

    return f'T.Buffer({shape_words(buffer)}, "{buffer.dtype}")'


class _Extension:
    """Writes the entries of the public functions into the module of their kernels."""

    def __init__(self, recipe: _Recipe) -> None:
        from .llvm.entry import Table

        self.recipe = recipe
        self.native = layout.direct_calls()
        self.table = Table()
        self.plans: dict[str, EntryPlan] = {}
        self.symbols: dict[str, str] = {}

    def __call__(self, text: ModuleText, kernels: dict[str, CompiledFunction]) -> None:
        from .llvm.effects import noalias, releases_gil
        from .llvm.entry import EntryPlan, add_entry, add_portable_entry
        from .runtime.arguments import written_params

        recipe, lowered = self.recipe, self.recipe.lowered
        for func in recipe.public:
            kernel = kernels[func.name]
            symbols = tuple(info.var for info in kernel.params if info.kind == "symbol" and isinstance(info.var, Var))
            written: frozenset[Param] = written_params(func, recipe.module)
            release = releases_gil(recipe.after(func.name), lowered if isinstance(lowered, Module) else None)
            plan = EntryPlan(func, kernel.symbol, symbols, written, noalias(func), release)
            self.plans[func.name] = plan
            add = add_entry(text, self.table, plan) if self.native else add_portable_entry(text, plan)
            self.symbols[func.name] = add
        if self.native:
            self.table.finish(text)


def _functions(recipe: _Recipe) -> dict[str, Any]:
    """The function objects of the public functions by name: from the cache, or compiled and put there."""
    from .cache import cache

    store = cache()
    key = recipe.key() if store is not None else None
    if store is not None and key is not None:
        data = store.read(key)
        if data is not None:
            found = _from_image(recipe, data)
            if found is not None:
                return found
            store.remove(key)
    return _compiled(recipe, store if key is not None else None, key)


def _compiled(recipe: _Recipe, store: Cache | None, key: str | None) -> dict[str, Any]:
    """The functions, compiled now; their code is stored under the key."""
    from .llvm import compile_functions
    from .llvm.entry import TABLE
    from .llvm.image import ImageEntry, image_of

    extension = _Extension(recipe)
    compiled = compile_functions(
        recipe.lowered, opt_level=recipe.opt_level, debug=recipe.debug, extend=extension, keep_code=store is not None
    )
    if store is not None and key is not None:
        entries = {}
        for func in recipe.public:
            plan, symbols = extension.plans[func.name], list(func.symbols)
            entries[func.name] = ImageEntry(
                extension.symbols[func.name],
                plan.kernel,
                tuple(symbols.index(var) for var in plan.symbols),
                tuple(at for at, param in enumerate(func.params) if param in plan.written),
                plan.noalias,
                plan.release,
            )
        image = image_of(compiled, entries, extension.table.slots, recipe.program)
        if image is not None:
            store.write(key, image.encoded())
    if extension.native:
        compiled.held = layout.fill_table(compiled.address(TABLE), extension.table.slots, _names(extension.plans))
    return _objects(recipe, compiled, extension.plans, extension.symbols, extension.native)


def _from_image(recipe: _Recipe, data: bytes) -> dict[str, Any] | None:
    """The functions from what the cache holds; None where that cannot be used here."""
    from .llvm.entry import TABLE, EntryPlan
    from .llvm.image import Image, load

    image = Image.decoded(data)
    if image is None or any(func.name not in image.entries for func in recipe.public):
        return None

    def again() -> Generated:
        from tirscript.passes import PassContext

        from .llvm.host import host
        from .llvm.module import generate

        with PassContext():  # as it was when the code was made
            return generate(recipe.lowered, host(), recipe.debug, _Extension(recipe))

    loaded = load(image, recipe.program, again, recipe.opt_level)
    if loaded is None:
        return None
    native = layout.direct_calls()
    plans, entries = {}, {}
    for func in recipe.public:
        entry, symbols = image.entries[func.name], func.symbols
        written: frozenset[Param] = frozenset(func.params[at] for at in entry.written)
        order = tuple(symbols[at] for at in entry.symbols)
        plans[func.name] = EntryPlan(func, entry.kernel, order, written, entry.noalias, entry.release)
        entries[func.name] = entry.symbol
    if native:
        loaded.held = layout.fill_table(loaded.address(TABLE), image.slots, _names(plans))
    return _objects(recipe, loaded, plans, entries, native)


def _names(plans: dict[str, EntryPlan]) -> dict[str, list[str | None]]:
    """By the symbol of a kernel, how its parameters are called; None where two have the same name."""
    from .runtime.arguments import buffer_of

    found = {}
    for plan in plans.values():
        words = [(buffer_of(plan.func, param) or param).name for param in plan.func.params]
        found[plan.kernel] = [word if words.count(word) == 1 else None for word in words]
    return found


def _objects(
    recipe: _Recipe,
    compiled: CompiledModule | LoadedModule,
    plans: dict[str, EntryPlan],
    entries: dict[str, str],
    native: bool,
) -> dict[str, Any]:
    fail = Failure(compiled.sites)
    found = {}
    for func in recipe.public:
        core = _Core(func, recipe, compiled)
        found[func.name] = _function(core, plans[func.name], compiled.address(entries[func.name]), fail, native)
    return found


def _function(core: _Core, plan: EntryPlan, address: int, fail: Failure, native: bool) -> FunctionBase:
    """The function object for an entry."""
    from .runtime.slow import PortablePath, SlowPath

    func, written, noalias = core.func, plan.written, plan.noalias
    made: FunctionBase
    if native:
        # the slow path must not hold the function that holds it: it calls twins of the same entry
        slow = SlowPath(func, written, noalias, lambda slow: make_function(Function, core, address, slow, fail))
        made = make_function(Function, core, address, slow, fail)
    else:
        path = PortablePath(func, written, noalias, address, plan.symbols, fail, plan.release)
        made = make_function(PortableFunction, core, slow=path, fail=fail)
    return made


# -- modules


class BuiltModule:
    """The public functions of a module: by `m["name"]` or `m.name`. Calling it runs `main`, or its only function."""

    __slots__ = ("__call__", "_functions", "module")

    __call__: Callable[..., Any]

    def __init__(self, module: Module, functions: dict[str, Any]) -> None:
        self.module = module
        self._functions = functions
        only = next(iter(functions.values())) if len(functions) == 1 else self._unclear
        self.__call__ = functions.get("main", only)

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
            raise AttributeError(self._missing(name))
        return functions[name]

    def _missing(self, name: object) -> str:
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

    def script(self, **options: Any) -> str:
        """The module it was built from as source text; the options are those of `tirscript.printer.script`."""
        text: str = self.module.script(**options)
        return text

    def __repr__(self) -> str:
        return f"<tirscript module {self.module.name}: {', '.join(self._functions)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"the built module {self.module.name!r} is machine code of this process and cannot be pickled; "
            "pickle the program (its `.module`) and build it again where it is loaded"
        )
