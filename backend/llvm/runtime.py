"""The kind of target "llvm": functions that Python calls, in machine code of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirscript.ir import Call, DiagnosticError, Module, PrimFunc, StringImm, Var, error, walk

from ..core import Core
from ..request import Request
from ..runtime import layout
from ..runtime.failure import Failure
from ..runtime.function import Function, FunctionBase, PortableFunction, make_function
from .host import Host
from .machine import require_here

if TYPE_CHECKING:
    from ..cache import Cache
    from ..runtime.arguments import Param
    from .builder import ModuleText
    from .entry_plan import EntryPlan
    from .image import LoadedModule
    from .module import CompiledFunction, CompiledModule, Generated


class _Core(Core):
    """What a function object keeps: its program and its code."""

    def __init__(self, func: PrimFunc, request: Request, compiled: CompiledModule | LoadedModule) -> None:
        super().__init__(func, request)
        self.compiled = compiled

    def llvm_ir(self) -> str:
        return self.compiled.llvm_ir()

    def assembly(self) -> str:
        return self.compiled.assembly()


def direct_calls(request: Request) -> bool:
    """Whether CPython calls the functions straight; else by ctypes, through entries of plain C."""
    return layout.direct_calls() and request.target.get("entry", "packed") == "packed"


class _Extension:
    """Writes the entries of the public functions into the module of their kernels."""

    def __init__(self, request: Request) -> None:
        from .entry import Table

        self.request = request
        self.native = direct_calls(request)
        self.table = Table()
        self.plans: dict[str, EntryPlan] = {}
        self.symbols: dict[str, str] = {}

    def __call__(self, text: ModuleText, kernels: dict[str, CompiledFunction]) -> None:
        from tirscript.ir.written import noalias, written_params

        from .effects import releases_gil
        from .entry import add_entry, add_portable_entry
        from .entry_plan import EntryPlan

        request, lowered = self.request, self.request.lowered
        for func in request.public:
            kernel = kernels[func.name]
            symbols = tuple(info.var for info in kernel.params if info.kind == "symbol" and isinstance(info.var, Var))
            written: frozenset[Param] = written_params(func, request.module)
            release = releases_gil(request.after(func.name), lowered if isinstance(lowered, Module) else None)
            plan = EntryPlan(func, kernel.symbol, symbols, written, noalias(func), release, kernel.recursive)
            self.plans[func.name] = plan
            add = add_entry(text, self.table, plan) if self.native else add_portable_entry(text, plan)
            self.symbols[func.name] = add
        if self.native:
            self.table.finish(text)


def compile_request(request: Request) -> dict[str, Any]:
    """The function objects of the public functions by name: from the cache, or compiled and put there.

    Those for another processor or system can be exported, and not called. Raises DiagnosticError T402 for libraries
    that the target forbids.
    """
    from .files import foreign_functions, is_foreign, own_targets

    if is_foreign(request):
        check_libraries(request)
        _ = request.lowered  # what is wrong is told here
        return foreign_functions(request)
    from ..cache import cache
    from ..cache_key import key as key_of

    machine = require_here(request.target, request.program.span)
    for own, span in own_targets(request):
        require_here(own, span)
    check_libraries(request)
    store = cache()
    key = key_of(request) if store is not None else None
    if store is not None and key is not None:
        data = store.read(key)
        if data is not None:
            found = _from_image(request, data, machine)
            if found is not None:
                return found
            store.remove(key)
    return _compiled(request, store if key is not None else None, key, machine)


def check_libraries(request: Request) -> None:
    """T402 where a program calls a function of a library that its target does not allow."""
    allowed = request.target.get("libs")
    if allowed is None:
        return
    for node in walk(request.program):
        name = node.args[0] if type(node) is Call and node.op.name == "call_packed" else None
        if type(name) is StringImm and name.value not in request.externals:
            library = name.value.partition(".")[0]
            if library not in allowed:
                message = f"the target allows no calls of the library `{library}`"
                hint = f"its option `libs` names {', '.join(allowed) or 'none'}"
                raise DiagnosticError([error("T402", message, node.span, hint=hint)])


def _compiled(request: Request, store: Cache | None, key: str | None, machine: Host) -> dict[str, Any]:
    """The functions, compiled now; their code is stored under the key."""
    from .entry_plan import TABLE
    from .image import ImageEntry, image_of
    from .module import compile_functions

    extension = _Extension(request)
    compiled = compile_functions(
        request.lowered,
        target=machine,
        opt_level=request.opt_level,
        debug=request.debug,
        extend=extension,
        keep_code=store is not None,
    )
    if store is not None and key is not None:
        entries = {}
        for func in request.public:
            plan, symbols = extension.plans[func.name], list(func.symbols)
            entries[func.name] = ImageEntry(
                extension.symbols[func.name],
                plan.kernel,
                tuple(symbols.index(var) for var in plan.symbols),
                tuple(at for at, param in enumerate(func.params) if param in plan.written),
                plan.noalias,
                plan.release,
            )
        image = image_of(compiled, entries, extension.table.slots, request.program, request.lowered)
        if image is not None:
            store.write(key, image.encoded())
    if extension.native:
        compiled.held = layout.fill_table(compiled.address(TABLE), extension.table.slots, _names(extension.plans))
    return _objects(request, compiled, extension.plans, extension.symbols, extension.native)


def _from_image(request: Request, data: bytes, machine: Host) -> dict[str, Any] | None:
    """The functions from what the cache holds; None where that cannot be used here."""
    from .entry_plan import TABLE, EntryPlan
    from .image import Image, load

    image = Image.decoded(data)
    if image is None or any(func.name not in image.entries for func in request.public):
        return None

    def again() -> Generated:
        from tirscript.passes import PassContext

        from .module import generate

        with PassContext():  # as it was when the code was made
            return generate(request.lowered, machine, request.debug, _Extension(request))

    loaded = load(image, request.program, lambda: request.lowered, again, request.opt_level, machine)
    if loaded is None:
        return None
    native = direct_calls(request)
    plans, entries = {}, {}
    for func in request.public:
        entry, symbols = image.entries[func.name], func.symbols
        written: frozenset[Param] = frozenset(func.params[at] for at in entry.written)
        order = tuple(symbols[at] for at in entry.symbols)
        plans[func.name] = EntryPlan(func, entry.kernel, order, written, entry.noalias, entry.release)
        entries[func.name] = entry.symbol
    if native:
        loaded.held = layout.fill_table(loaded.address(TABLE), image.slots, _names(plans))
    return _objects(request, loaded, plans, entries, native)


def _names(plans: dict[str, EntryPlan]) -> dict[str, list[str | None]]:
    """By the symbol of a kernel, how its parameters are called; None where two have the same name."""
    from ..runtime.arguments import buffer_of

    found = {}
    for plan in plans.values():
        words = [(buffer_of(plan.func, param) or param).name for param in plan.func.params]
        found[plan.kernel] = [word if words.count(word) == 1 else None for word in words]
    return found


def _objects(
    request: Request,
    compiled: CompiledModule | LoadedModule,
    plans: dict[str, EntryPlan],
    entries: dict[str, str],
    native: bool,
) -> dict[str, Any]:
    fail = Failure(compiled.sites)
    found = {}
    for func in request.public:
        core = _Core(func, request, compiled)
        found[func.name] = _function(core, plans[func.name], compiled.address(entries[func.name]), fail, native)
    return found


def _function(core: _Core, plan: EntryPlan, address: int, fail: Failure, native: bool) -> FunctionBase:
    """The function object for an entry."""
    from ..runtime.slow import PortablePath, SlowPath

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
