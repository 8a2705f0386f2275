"""Exported functions as one LLVM module: kernels, their C entries, messages, threads and constants."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct, json
from msgspec.structs import replace

from tirscript.ir import DiagnosticError, Module, error
from tirscript.ir.dtype import dtype
from tirscript.ir.node import recursion_room

from ..llvm.builder import ModuleText
from ..llvm.codegen import Codegen
from ..llvm.compiling import optimize
from ..llvm.host import Host, target_machine
from ..llvm.module import _finish, _function, _write
from ..llvm.sites import ERROR_TYPE
from ..llvm.state import ModuleState
from ..llvm.symbols import ALLOCATE
from ..llvm.types import call_type
from ..runtime import tiles
from ..runtime.c_library import CFunction
from ..runtime.fork_join import pool_text
from ..runtime.threads import PARALLEL
from .entries import ENTRY, StructLayout
from .messages import MESSAGE, TEXT_BYTES, message_function
from .plan import CFunctionPlan, LibraryPlan

INCBIN = 1 << 20  # bytes from which a constant is read from a file by the assembler, rather than as text


class ExportedCode(Struct, frozen=True, eq=False):
    """The IR of a library before optimization, the C functions it calls, and the symbols that others may see."""

    text: str
    plan: LibraryPlan
    libraries: tuple[CFunction, ...]
    public: frozenset[str]
    constants: dict[str, Any]


def pointer_bytes(target: Host) -> int:
    """How many bytes an address has."""
    return struct_layout(target).pointer


@cache
def struct_layout(target: Host) -> StructLayout:
    """How C lays out structs for a processor, as LLVM knows it."""
    # such as "e-m:e-p:32:32-i64:64-n32-S128"; an i64 that is not in it is aligned to 4 bytes
    told = dict(part.partition(":")[::2] for part in str(target_machine(target, 0, jit=False).target_data).split("-"))
    pointer = int(told.get("p", "64").partition(":")[0]) // 8
    return StructLayout(pointer, int(told.get("i64", "32").partition(":")[0]) // 8)


def library_code(module: Module, plan: LibraryPlan, target: Host, *, bounds_check: bool, threads: bool) -> ExportedCode:
    """The IR of a library of lowered functions and their entries; `threads` says that parallel loops have some.

    Raises DiagnosticError for what cannot leave Python.
    """
    state, _ = _write(module, bounds_check, target)
    with recursion_room():
        refuse_python(state)
        message = message_function(state.sites, pointer_bytes(target))
        state.symbols[MESSAGE] = "tirscript_kernel_c message"
        state.noalias[MESSAGE] = True
        _function(Codegen(state, message))
        state.text.hide(state.symbols[MESSAGE])
    if pointer_bytes(target) == 4 and ALLOCATE in state.text.declarations:
        _narrow_sizes(state.text)
    parallel = PARALLEL in state.externs
    plan = replace(plan, threads=parallel and threads)
    public = set()
    for function in plan.functions:
        public |= _add_wrapper(state, function)
    public |= _add_own(state, plan)
    if parallel:
        del state.text.declarations[PARALLEL]
        if not threads:
            state.text.functions.append(_SERIAL)
    text, libraries = _named_libraries(_finish(state, target), state)
    if parallel and threads:
        text += _pool(target, plan.prefix, state.text.declarations)
    asks = tiles.SYMBOL in state.text.declarations
    if asks:
        text += _ASK
    begins = [name for name, wanted in (("start", parallel and threads), ("ask", asks)) if wanted]
    if begins:
        entries = ", ".join(f"{{ i32, ptr, ptr }} {{ i32 65535, ptr @tirscript_{name}, ptr null }}" for name in begins)
        text += f"@llvm.global_ctors = appending global [{len(begins)} x {{ i32, ptr, ptr }}] [{entries}]\n"
    return ExportedCode(text, plan, libraries, frozenset(public), dict(state.constants))


def _narrow_sizes(text: ModuleText) -> None:
    """Let functions allocate by a `size_t` of 32 bits: what does not fit into it is not there."""
    text.declarations[ALLOCATE] = text.declarations[ALLOCATE].replace("i64", "i32")
    for at, function in enumerate(text.functions):
        text.functions[at] = function.replace(f"@{ALLOCATE}(", f"@tirscript_{ALLOCATE}(")
    text.functions.append(_ALLOCATE_32)


_ALLOCATE_32 = f"""define internal noalias ptr @tirscript_{ALLOCATE}(i64 %align, i64 %size) #0 {{
  %fits = icmp ult i64 %size, 2147483648
  br i1 %fits, label %take, label %none
take:
  %narrow.align = trunc i64 %align to i32
  %narrow.size = trunc i64 %size to i32
  %memory = call noalias ptr @{ALLOCATE}(i32 %narrow.align, i32 %narrow.size)
  ret ptr %memory
none:
  ret ptr null
}}"""

# asks Linux for the tile registers when the library is loaded: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
_ASK = """
define internal void @tirscript_ask() {
  %answer = call i64 asm sideeffect "syscall", "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}"(
    i64 158, i64 4131, i64 18)
  ret void
}
"""


def refuse_python(state: ModuleState) -> None:
    """Raise for calls of Python, which an exported library has none of."""
    for call in state.python_calls:
        what = "prints" if call.kind == "print" else f"calls the Python function `{call.name}`"
        message = f"the program {what}, and an exported library runs without Python"
        hint = "register a C function: `tirscript.register_library(name, symbol=..., library=..., signature=...)`"
        raise DiagnosticError([error("T402", message, call.span, hint=None if call.kind == "print" else hint)])


def _add_wrapper(state: ModuleState, plan: CFunctionPlan) -> set[str]:
    """`int32_t f(...)`: calls the entry, and keeps the words of what went wrong."""
    kinds = ["ptr" if one.kind != "scalar" else call_type(dtype(one.dtype)) for one in plan.params]
    if plan.returns is not None:
        kinds.append("ptr")
    heads = ", ".join(f"{kind} %a{at}" for at, kind in enumerate(kinds))
    passed = "".join(f"{kind} %a{at}, " for at, kind in enumerate(kinds))
    entry = state.symbols[ENTRY + plan.name]
    state.text.functions.append(
        f'define i32 @"{plan.symbol}"({heads}) #0 {{\n'
        f"  %error = alloca {ERROR_TYPE}, align 8\n"
        f'  %status = call i32 @"{entry}"({passed}ptr %error)\n'
        "  %good = icmp eq i32 %status, 0\n"
        "  br i1 %good, label %done, label %failed\n"
        "failed:\n"
        "  %code = call i32 @tirscript_tell(ptr %error)\n"
        "  ret i32 %code\n"
        "done:\n"
        "  ret i32 0\n"
        "}"
    )
    return {plan.symbol}


def _add_own(state: ModuleState, plan: LibraryPlan) -> set[str]:
    """The library's own functions: the last message, and what `tirscript.load` reads."""
    metadata = json.encode(plan)
    local = "" if state.target.triple.startswith("wasm") else "thread_local "
    spelled = "".join(f"\\{byte:02X}" for byte in metadata + b"\0")
    message, about = f"{plan.prefix}message", f"{plan.prefix}functions"
    state.text.globals += [
        f"@tirscript_text = internal {local}global [{TEXT_BYTES} x i8] zeroinitializer, align 16",
        f'@tirscript_about = internal constant [{len(metadata) + 1} x i8] c"{spelled}"',
    ]
    state.text.functions += [
        "define internal i32 @tirscript_tell(ptr %record) noinline cold #0 {\n"
        f"  %error = alloca {ERROR_TYPE}, align 8\n"
        "  %code = alloca i32, align 8\n"
        f'  call i32 @"{state.symbols[MESSAGE]}"(ptr %record, ptr @tirscript_text, ptr %code, ptr %error)\n'
        "  %found = load i32, ptr %code, align 8\n"
        "  ret i32 %found\n"
        "}",
        f'define ptr @"{message}"() #0 {{\n  ret ptr @tirscript_text\n}}',
        f'define ptr @"{about}"() #0 {{\n  ret ptr @tirscript_about\n}}',
    ]
    return {message, about, *([f"{plan.prefix}set_num_threads"] if plan.threads else [])}


# `T.parallel` without threads: one part holds all iterations
_SERIAL = f"""define internal i32 @{PARALLEL}(
    ptr %body, ptr %closure, i64 %count, i64 %grain, i64 %unit, i64 %rouse, i64 %piece, ptr %error) #0 {{
  %none = alloca i32, align 4
  store i32 -1, ptr %none, align 4
  %result = call i32 %body(ptr %closure, i64 0, i64 %count, ptr %error, ptr %none, i32 0)
  ret i32 %result
}}"""

# a library's own pool: as many threads as TIRSCRIPT_NUM_THREADS or the processors say, made new in a forked child.
# Threads that wait look 2,000 times before they sleep, with pauses of 40 to 140 cycles, where each has a processor.
_START = """
@tirscript_variable = internal constant [22 x i8] c"TIRSCRIPT_NUM_THREADS\\00"
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i64 @sysconf(i32)
declare i32 @pthread_atfork(ptr, ptr, ptr)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)

define internal void @tirscript_start() {{
entry:
  call void @tirscript_prepare()
  call i32 @pthread_atfork(ptr null, ptr null, ptr @tirscript_forked)
  %text = call ptr @getenv(ptr @tirscript_variable)
  %given = icmp ne ptr %text, null
  br i1 %given, label %read, label %count
read:
  %number = call i32 @atoi(ptr %text)
  %fine = icmp sgt i32 %number, 0
  br i1 %fine, label %set, label %count
count:
  %processors.wide = call i64 @sysconf(i32 {processors})
  %processors = trunc i64 %processors.wide to i32
  br label %set
set:
  %wanted = phi i32 [%number, %read], [%processors, %count]
  call void @"{prefix}set_num_threads"(i32 %wanted)
  ret void
}}

define void @"{prefix}set_num_threads"(i32 %n) {{
  %least = call i32 @llvm.smax.i32(i32 %n, i32 1)
  %most = call i32 @llvm.smin.i32(i32 %least, i32 256)
  %there = call i64 @sysconf(i32 {processors})
  %wide = zext i32 %most to i64
  %own = icmp sle i64 %wide, %there
  %spins = select i1 %own, i32 2000, i32 0
  store atomic i32 %spins, ptr @tirscript_spins monotonic, align 4
  store atomic i32 %most, ptr @tirscript_threads monotonic, align 4
  ret void
}}
"""


def _pool(target: Host, prefix: str, declared: Container[str]) -> str:
    """The fork-join pool with its start, for code that declares these functions already.

    Its symbols are seen by this library only; its own ones are called what no function of a program is.
    """
    darwin = "darwin" in target.triple or "macos" in target.triple
    text = pool_text(target.triple) + _START.format(prefix=prefix, processors=58 if darwin else 84)
    own = set(_INTERNAL.findall(text))
    lines = [line for line in text.splitlines() if (known := _DECLARED.match(line)) is None or known[1] not in declared]
    return _SYMBOL.sub(lambda found: f"@.pool.{found[1]}" if found[1] in own else found[0], "\n".join(lines)) + "\n"


_SYMBOL = re.compile(r"@([\w.]+)")
_INTERNAL = re.compile(r"^(?:define internal [^@]*)?@(?!tirscript_)([\w.]+)(?=\(| = internal)", re.MULTILINE)
_DECLARED = re.compile(r"declare [^@]*@([\w.]+)\(")


def _named_libraries(text: str, state: ModuleState) -> tuple[str, tuple[CFunction, ...]]:
    """The text with C functions of libraries by their own symbols, which the linker resolves."""
    for symbol, function in state.libraries.items():
        if function.symbol is None:
            message = f"`{function.name}` is a C function without a symbol, so no linker can find it"
            hint = 'register it by name: `register_library(name, symbol="...", library="...", signature=[...])`'
            raise DiagnosticError([error("T402", message, hint=hint)])
        # one C function may be registered under several names, and is declared once
        declared = re.compile(rf'declare [^\n]*@"{re.escape(symbol)}"[^\n]*\n')
        line = declared.search(text)
        again = line is not None and f'@"{function.symbol}"(' in text.replace(line[0], "")
        if again:
            text = declared.sub("", text)
        text = text.replace(f'@"{symbol}"', f'@"{function.symbol}"')
    return text, (*state.libraries.values(),)


def optimized(code: ExportedCode, target: Host, opt_level: int, spill: Path | None = None) -> tuple[Any, Any]:
    """The LLVM module after optimization, and its target machine. Long constants stand in it, or in files in the folder
    `spill` that the assembler reads when the object file is written."""
    text = code.text
    for name, array in code.constants.items():
        text = _with_constant(text, name, array, spill)

    def hide(module: Any) -> None:
        for function in module.functions:
            if not function.is_declaration and function.name not in code.public:
                function.linkage = "internal"
        for variable in module.global_variables:
            if not variable.is_declaration and not variable.name.startswith("llvm."):
                variable.linkage = "internal"

    machine = target_machine(target, opt_level, jit=False)
    return optimize(text, target, opt_level, machine=machine, prepare=hide)


def _with_constant(text: str, name: str, array: Any, spill: Path | None) -> str:
    declared = re.search(rf'@"{re.escape(name)}" = external constant \[\d+ x i8\], align (\d+)\n', text)
    assert declared is not None
    if spill is not None and array.nbytes >= INCBIN:
        file = spill / f"constant{len(list(spill.iterdir()))}.bin"
        array.tofile(file)
        lines = [
            '.section .rodata,"a"',
            f".balign {max(64, int(declared[1]))}",
            f'.hidden "{name}"',
            f'.globl "{name}"',
            f'"{name}":',
            f'.incbin "{file}"',
            ".text",
        ]
        spelled = "".join(f'module asm "{_quoted(line)}"\n' for line in lines)
        return spelled + text.replace(declared[0], declared[0].replace("external", "external hidden"))
    data = "".join([f"\\{byte:02X}" for byte in array.tobytes()])
    line = f'@"{name}" = internal constant [{array.nbytes} x i8] c"{data}", align {max(64, int(declared[1]))}\n'
    return text.replace(declared[0], line)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "\\22")


__all__ = ["ExportedCode", "library_code", "optimized", "pointer_bytes"]
