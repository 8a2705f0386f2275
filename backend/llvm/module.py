"""From a module of prim_funcs to machine code: writing the IR, optimizing, linking into this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from tirscript.backend.recursion import recursive_functions
from tirscript.backend.runtime import packed
from tirscript.backend.runtime.arguments import written_params
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import INT64, DType
from tirscript.ir.expr import Var, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.node import recursion_room
from tirscript.ir.rewrite import walks_kept
from tirscript.ir.stmt import MatchBuffer

from . import memory
from .aliasing import CallSite, call_sites, noalias_functions
from .builder import ModuleText
from .codegen import Codegen
from .compiling import Objects, assembly_text, optimize
from .host import Host, host, initialize, symbol_exists
from .linking import answer_calls, executable, link, link_libraries
from .machine import own_machine
from .parts import LEAST, groups
from .sites import Report, Site, nothing_returned
from .state import ModuleState
from .types import call_type, lane_bytes, value_type

LARGEST = 1 << 56  # elements in a dimension whose number is not in the program


class ParamInfo(Struct, frozen=True, eq=False):
    """One parameter of a kernel: kind is "buffer", "handle", "scalar" or "symbol".

    `buffer` is the one passed, for handles the one they are matched to; `llvm` is how the parameter crosses the
    call; `align` what its address must be a multiple of.
    """

    kind: str
    var: Var | Buffer
    name: str
    dtype: DType
    llvm: str
    buffer: Buffer | None = None
    align: int = 0
    written: bool = False


class CompiledFunction(Struct, eq=False):
    """One function: its native symbol and address, and what its caller must know.

    `i32 kernel(params..., symbols..., ptr out where `returns`, ptr error)`: 0 is success; after 1 the error record
    names a site; after 2 the exception is `runtime.packed.take_exception()`.
    """

    func: PrimFunc
    symbol: str
    params: tuple[ParamInfo, ...]
    sites: list[Site]
    noalias: bool
    recursive: bool = False  # `i32 depth` is behind the error record then
    address: int = 0

    @property
    def name(self) -> str:
        return self.func.name

    @property
    def returns(self) -> DType | None:
        return self.func.returns

    @property
    def written(self) -> frozenset[Var | Buffer]:
        """The parameters whose memory may be written."""
        return frozenset(param.var for param in self.params if param.written)


class CompiledModule:
    """Functions in machine code, alive as long as this object."""

    def __init__(
        self,
        written: Generated,
        code: tuple[bytes, ...],
        engine: Any,
        target: Host,
        opt_level: int,
    ) -> None:
        self.written = written
        self.functions = written.functions
        self.code = code  # the object files, where they were to be kept
        self.engine = engine
        self.target = target
        self.opt_level = opt_level
        self.sites = written.state.sites
        self.constants = written.state.constants  # the arrays that the code reads, by symbol
        self.held: list[str] = []  # what the table of addresses names

    def address(self, symbol: str) -> int:
        """The address of a function or global of the module."""
        return int(self.engine.get_function_address(symbol) or self.engine.get_global_value_address(symbol))

    @property
    def text(self) -> str:
        """The IR as it was written, before optimization, of one object file after the other."""
        return self.written.text

    def llvm_ir(self) -> str:
        """The IR after optimization."""
        return optimized_ir(self.written.parts, self.target, self.opt_level)

    def assembly(self) -> str:
        """The machine code as assembly text."""
        return assembly_of(self.written.parts, self.target, self.opt_level)

    def failure(self, record: Any) -> Exception:
        """What to raise after a kernel returned 1: `record` is the address of its error record."""
        return failure(self.sites, record)


def failure(sites: packed.Numbered[Site], record: int) -> Exception:
    """The exception for the error record at an address."""
    number = ctypes.c_int32.from_address(record).value
    count = ctypes.c_int32.from_address(record + 4).value
    return sites[number].exception(list((ctypes.c_int64 * count).from_address(record + 8)))


# more functions for the module, written next to the kernels they call
Extension = Callable[[ModuleText, "dict[str, CompiledFunction]"], None]


def compile_functions(
    source: Module | PrimFunc,
    *,
    target: Host | None = None,
    opt_level: int = 3,
    debug: bool = False,
    extend: Extension | None = None,
    keep_code: bool = False,
) -> CompiledModule:
    """Machine code for the functions of a module, which must be lowered: without blocks and matched regions.

    `debug` adds checks: of indices, divisors and assumptions. `extend` may write more functions into the module before
    it is optimized. `keep_code` keeps the object files. Large modules are compiled by several threads (`compiling.py`).
    Raises DiagnosticError for what cannot be compiled.
    """
    initialize()
    chosen = target or host()
    with Objects(chosen, opt_level) as objects:
        written = generate(source, chosen, debug, extend, objects.add)
        _check_symbols(written.state)
        code = objects.finish(written.parts[-1])
    state = written.state
    link(state.constants)
    link_libraries(state.libraries)
    engine = executable(code, chosen, opt_level)
    compiled = CompiledModule(written, code if keep_code else (), engine, chosen, opt_level)
    answer_calls(compiled, engine, state.python_calls)
    for function in written.functions.values():
        function.address = compiled.address(function.symbol)
    return compiled


def _check_symbols(state: ModuleState) -> None:
    """T307 where the program calls a C function that is not there."""
    for name, span in state.externs.items():
        if not symbol_exists(name):
            raise DiagnosticError(
                [
                    error(
                        "T307",
                        f"there is no C function `{name}` in this process",
                        span,
                        hint="load its library first: `ctypes.CDLL(path, ctypes.RTLD_GLOBAL)`",
                    )
                ]
            )


class Generated(Struct, frozen=True, eq=False):
    """The IR of a module before optimization, a text for each object file, with what its functions are and share."""

    state: ModuleState
    functions: dict[str, CompiledFunction]
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """All texts."""
        return "\n".join(self.parts)


def generate(
    source: Module | PrimFunc,
    target: Host,
    debug: bool,
    extend: Extension | None = None,
    ready: Callable[[str], None] = lambda text: None,
) -> Generated:
    """Write the IR of lowered functions. `ready` is called with every text but the last one as soon as it is there."""
    parts: list[str] = []

    def done(text: str) -> None:
        parts.append(text)
        ready(text)

    with walks_kept():
        state, functions = _write(source, debug, target, done=done)
        if extend is not None:
            extend(state.text, functions)
    return Generated(state, functions, (*parts, _finish(state, target)))


def emit_ir(
    source: Module | PrimFunc,
    *,
    target: Host | None = None,
    opt_level: int = 3,
    debug: bool = False,
    optimized: bool = True,
) -> str:
    """The LLVM IR of lowered functions, before or after optimization."""
    chosen = target or host()
    text = _finish(_write(source, debug, chosen)[0], chosen)
    return optimized_ir((text,), chosen, opt_level) if optimized else text


def emit_assembly(
    source: Module | PrimFunc, *, target: Host | None = None, opt_level: int = 3, debug: bool = False
) -> str:
    """The assembly text of lowered functions."""
    chosen = target or host()
    return assembly_of((_finish(_write(source, debug, chosen)[0], chosen),), chosen, opt_level)


def _write(
    source: Module | PrimFunc,
    debug: bool,
    target: Host,
    codegen: Callable[[ModuleState, PrimFunc], Codegen] = Codegen,
    done: Callable[[str], None] | None = None,
) -> tuple[ModuleState, dict[str, CompiledFunction]]:
    """The IR of all functions: in one text, or with `done` in as many as are worth it, of which it is given all but the
    last one, to which more may be added."""
    module = source if isinstance(source, Module) else Module((source,), name=source.name)
    symbols = {func.name: "tirscript_kernel_" + _escaped(func.name) for func in module.functions}
    with recursion_room():
        sites = call_sites(module)
        noalias = noalias_functions(module, sites)
        state = ModuleState(module, debug=debug, symbols=symbols, noalias=noalias, target=target)
        state.recursive = recursive_functions((caller.name, call.function) for caller, call in sites)
        together = [list(state.functions)] if done is None else groups(tuple(state.functions.values()), sites)
        compiled = {}
        said = 0  # calls of Python in earlier texts
        for at, names in enumerate(together, 1):
            for name in names:
                func = state.functions[name]
                state.target = own_machine(func, target)
                state.group = "#0" if state.target == target else state.text.group(_attributes(state.target, own=True))
                compiled[name] = _function(codegen(state, func))
            if done is not None and at < len(together) and state.text.size() >= LEAST:
                _hide(state, sites)
                if len(state.python_calls) > said:
                    said = len(state.python_calls)
                    state.text.globals.append(f'@"{packed.MODULE_TOKEN}" = external global i64, align 8')
                done(_finish(state, target))
                state.begin()
    _hide(state, sites)
    if state.python_calls:
        state.text.globals.append(f'@"{packed.MODULE_TOKEN}" = global i64 0, align 8')
    return state, {name: compiled[name] for name in state.functions}


def _hide(state: ModuleState, sites: list[CallSite]) -> None:
    """Tell LLVM which functions of a text nobody calls from elsewhere."""
    here = [func for name, func in state.functions.items() if state.symbols[name] in state.text.kernels]
    outside = {call.function for caller, call in sites if state.symbols[caller.name] not in state.text.kernels}
    for func in here:
        if func.private and func.name not in outside and len(state.functions) > 1:
            state.text.hide(state.symbols[func.name])


def _escaped(name: str) -> str:
    """A name without the characters that end or escape a quoted name in LLVM's text."""
    kept = [char.isascii() and (char.isalnum() or char in "_. $-") for char in name]
    return "".join(char if plain else f"%{ord(char):x}" for char, plain in zip(name, kept, strict=True))


def _finish(state: ModuleState, target: Host) -> str:
    return state.text.text(_attributes(target))


def _attributes(target: Host, own: bool = False) -> str:
    """The attributes of functions for a processor, which they name where it is not that of the module."""
    words = ["nounwind"]
    if own:
        words += [f'"target-cpu"="{target.cpu}"', f'"target-features"="{target.features}"']
    if target.vector_bits:
        words.append(f'"prefer-vector-width"="{target.vector_bits}"')
    return " ".join(words)


def optimized_ir(parts: Sequence[str], target: Host, opt_level: int) -> str:
    """The IR after optimization; made anew, as generating code changes the module that it is generated from."""
    return str(_optimized(parts, target, opt_level)[0])


def assembly_of(parts: Sequence[str], target: Host, opt_level: int) -> str:
    """The assembly text of IR."""
    module, machine = _optimized(parts, target, opt_level)
    return assembly_text(machine, module)


def _optimized(parts: Sequence[str], target: Host, opt_level: int) -> tuple[Any, Any]:
    """The texts of a program as one module, each optimized by itself, as it is compiled; and the target machine."""
    module, machine = optimize(parts[0], target, opt_level)
    for text in parts[1:]:
        module.link_in(optimize(text, target, opt_level)[0])
    return module, machine


def _function(g: Codegen) -> CompiledFunction:
    """One function of the module."""
    state, func = g.state, g.func
    infos = _params(state, func)
    heads = [_parameter(g, info) for info in infos]
    if func.returns is not None:
        heads.append("ptr noalias noundef %out")
    heads.append("ptr noalias noundef nonnull align 8 %error")
    if g.depth.startswith("%"):
        heads.append(f"i32 noundef {g.depth}")
    _check_dimensions(g, infos)
    for info in infos:  # all scalars have their values before shapes are computed from them
        if info.kind == "buffer":
            assert isinstance(info.var, Buffer)
            memory.enter_buffer(g, info.var, f"%${infos.index(info)}", lane_bytes(info.dtype), info.var)
    g.body(func.body)
    nothing = nothing_returned(func)
    if nothing is not None:
        g.span = func.span
        g.fail("return", nothing, (), None, None)
    elif not g.b.terminated:
        g.b.end("ret i32 0")
    symbol = state.symbols[func.name]
    state.text.define(symbol, g.b.text(f'define i32 @"{symbol}"({", ".join(heads)}) {g.group}'))
    return CompiledFunction(func, symbol, infos, state.sites, state.noalias[func.name], func.name in state.recursive)


def _check_dimensions(g: Codegen, infos: tuple[ParamInfo, ...]) -> None:
    """Look once that sizes of 64 bits leave room for index arithmetic, which is then proved not to wrap."""
    large = [
        info for info in infos if info.dtype.bits == 64 and isinstance(info.var, Var) and _is_dimension(g, info.var)
    ]
    if not large:
        return
    together = g.wide(large[0].var)  # type: ignore[arg-type]
    for info in large[1:]:
        together = g.b.op(f"or i64 {together}, {g.wide(info.var)}")  # type: ignore[arg-type]
    g.check(
        g.b.op(f"icmp ult i64 {together}, {LARGEST}"),
        "shape",
        f"a dimension of an argument is {LARGEST} or more, which no memory holds",
        lambda: [Report(info.name, g.wide(info.var), INT64) for info in large],  # type: ignore[arg-type]
    )
    for info in large:
        assert isinstance(info.var, Var)
        g.ranges.enter(info.var, (0, LARGEST - 1))


def _is_dimension(g: Codegen, var: Var) -> bool:
    return any(var is dim for buffer in g.func.param_buffers for dim in buffer.shape)


def _params(state: ModuleState, func: PrimFunc) -> tuple[ParamInfo, ...]:
    matched = {
        stmt.source: stmt.buffer for stmt in func.body if type(stmt) is MatchBuffer and isinstance(stmt.source, Var)
    }
    written = written_params(func, state.module)
    infos = []
    for param in func.params:
        buffer = param if isinstance(param, Buffer) else matched.get(param)
        if isinstance(param, Buffer) or param.dtype.is_handle:
            align = max(buffer.align, lane_bytes(buffer.dtype)) if buffer is not None else 0
            kind = "buffer" if isinstance(param, Buffer) else "handle"
            infos.append(ParamInfo(kind, param, param.name, param.dtype, "ptr", buffer, align, param in written))
        else:
            infos.append(ParamInfo("scalar", param, param.name, param.dtype, call_type(param.dtype)))
    return (*infos, *(ParamInfo("symbol", var, var.name, var.dtype, call_type(var.dtype)) for var in func.symbols))


def _parameter(g: Codegen, info: ParamInfo) -> str:
    """The parameter in the head of a kernel; scalars get their values, handles their roots."""
    number = len(g.params)
    operand = f"%${number}"
    g.params.append(operand)
    if info.llvm == "ptr":
        if isinstance(info.var, Var):
            g.values[info.var] = operand
            g.roots[info.var] = info.var
        words = ["ptr", *(["noalias"] if g.state.noalias[g.func.name] else []), "noundef"]
        if info.buffer is not None:
            words.append(f"align {info.align}")
            size = _bytes(info.buffer)
            if size > 0:
                words.append(f"dereferenceable({size})")
        return f"{' '.join(words)} {operand}"
    var = info.var
    assert isinstance(var, Var)
    kind = value_type(var.dtype)
    if kind != info.llvm:
        operand_value = g.b.op(
            f"icmp ne i8 {operand}, 0" if var.dtype.is_bool else f"bitcast {info.llvm} {operand} to {kind}"
        )
    else:
        operand_value = operand
    g.values[var] = operand_value
    extra = ""
    if var.dtype.is_int and _is_dimension(g, var):
        # a dimension is never negative
        high = (1 << (var.dtype.bits - 1)) - 1
        g.ranges.enter(var, (0, high))
        extra = f" range({kind} 0, {-high - 1})"
    return f"{info.llvm} noundef{extra} {operand}"


def _bytes(buffer: Buffer) -> int:
    """How many bytes a parameter of constant shape has at least; 0 where that is not known."""
    dims = buffer.constant_shape()
    if (
        dims is None
        or buffer.strides is not None
        or (buffer.elem_offset is not None and not is_const(buffer.elem_offset, 0))
    ):
        return 0
    size = buffer.dtype.itemsize
    for dim in dims:
        size *= dim
    return size
