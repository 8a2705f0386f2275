"""From LLVM IR to object files, several at once where a program is written as several texts.

llvmlite holds one lock around every call of LLVM. LLVM itself needs none between threads that each have a context, a
target machine and a pass builder of their own, so the two long calls (the passes, and the object file) go past the
lock. Where llvmlite does not have what that takes, `why_in_turn` says so, and texts are compiled one after the other.

A text becomes the same object file whatever is compiled beside it, and by however many threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.forks import renew_in_children
from tirscript.ir.processors import processors

from .host import Host, target_machine
from .state import internal
from .tile_values import has_casts, without_casts
from .wide_vectors import may_break

Result = TypeVar("Result")
VARIABLE = "TIRSCRIPT_BUILD_THREADS"
MOST_THREADS = 256
# texts from this length on are compiled on a stack of their own, of as many bytes a character, up to a size
DEEP, ROOM, MOST_ROOM = 1 << 16, 128, 1 << 30
_RUN, _EMIT = "LLVMPY_RunNewModulePassManager", "LLVMPY_TargetMachineEmitToMemory"


def build_threads() -> int:
    """How many threads of this process compile at once, those that call `build` among them.

    What TIRSCRIPT_BUILD_THREADS says, else the processors that this process may use; 1 where llvmlite lets only one.
    Raises DiagnosticError T404 for what is no number of threads.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given and not (given.isdecimal() and 1 <= int(given) <= MOST_THREADS):
        message = f"{VARIABLE} is {given!r}, which is no number of threads"
        raise DiagnosticError([error("T404", message, hint=f"write a number from 1 to {MOST_THREADS}")])
    if _unlocked() is None:
        return 1
    return int(given) if given else min(processors(), MOST_THREADS)


def why_in_turn() -> str | None:
    """Why functions are compiled one after the other in this process; None where several threads can."""
    if _unlocked() is not None:
        return None
    import llvmlite

    return f"llvmlite {llvmlite.__version__} keeps its lock to itself"


@cache
def _unlocked() -> dict[str, Any] | None:
    """The functions of llvmlite's library that may run without its lock, by name; None where they are not found.

    In llvmlite 0.46 to 0.50 `ffi.lib` wraps each function of the library in an object with the attribute `_cfn`.
    """
    from llvmlite.binding import ffi

    found = {}
    for name in (_RUN, _EMIT):
        wrapped = getattr(ffi.lib, name, None)
        plain = getattr(wrapped, "_cfn", None)
        if not callable(plain) or not getattr(plain, "argtypes", None):
            return None
        found[name] = plain
    _keep_lock_over_forks(getattr(getattr(ffi.lib, "_lock", None), "_lock", None))
    return found


def _keep_lock_over_forks(lock: Any) -> None:
    """Fork while no other thread holds llvmlite's lock: nobody would give it back in the child."""
    if hasattr(os, "register_at_fork") and hasattr(lock, "acquire") and hasattr(lock, "release"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


# What LLVM 22 takes for marks of its own where it makes vectors of statements: its assertion then ends the process
_KEYS = re.compile(r"\b922337203685477580[67]\b")


def optimize(
    text: str,
    target: Host,
    opt_level: int,
    *,
    machine: Any = None,
    prepare: Callable[[Any], None] | None = None,
    space: Space | None = None,
) -> tuple[Any, Any]:
    """Parse and optimize; returns the module and the target machine.

    The machine is one for code in this process unless another is given; `prepare` changes the module before passes.
    The module is in a `space`, which is to live as long, or without one in LLVM's global context.
    """
    machine = machine or target_machine(target, opt_level)
    return with_stack(len(text), lambda: _optimized(text, target, opt_level, machine, prepare, space))


def _optimized(
    text: str,
    target: Host,
    opt_level: int,
    machine: Any,
    prepare: Callable[[Any], None] | None,
    space: Space | None,
) -> tuple[Any, Any]:
    # whether vectors are made of statements, and of loops
    for statements, loops in ((True, True), (False, True), (False, False))[bool(_KEYS.search(text)) :]:
        module = _passed(text, target, opt_level, machine, prepare, space, statements, loops)
        wrong = why_illegal(module)
        if wrong is None and (opt_level < 2 or not may_break(str(module))):
            break
        if loops:
            module.close()
    if wrong is not None:
        raise internal(f"LLVM's passes made illegal code: {wrong}")
    if has_casts(text):
        with_tiles = _parsed(without_casts(str(module)), space)
        with_tiles.verify()
        module.close()
        module = with_tiles
    return module, machine


def why_illegal(module: Any) -> str | None:
    """What is wrong with a module; None where nothing is.

    Where LLVM 22 makes vectors of statements whose values are parts of vectors already, it may use one before it is
    there. What generates code does not look, and ends the process.
    """
    try:
        module.verify()
    except RuntimeError as wrong:
        return str(wrong).strip()
    return None


def _passed(
    text: str,
    target: Host,
    opt_level: int,
    machine: Any,
    prepare: Callable[[Any], None] | None,
    space: Space | None,
    statements: bool,
    loops: bool,
) -> Any:
    """A text as a module, after LLVM's passes."""
    import llvmlite.binding as llvm

    try:
        module = _parsed(text, space)
    except RuntimeError as wrong:
        raise internal(f"LLVM did not accept the IR: {str(wrong).strip()}") from wrong
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    if prepare is not None:
        prepare(module)
    options = llvm.create_pipeline_tuning_options(opt_level)
    options.loop_interleaving = options.loop_unrolling = opt_level > 1
    options.slp_vectorization = opt_level > 1 and statements
    options.loop_vectorization = opt_level > 1 and loops
    builder = llvm.create_pass_builder(machine, options)
    try:
        manager = builder.getModulePassManager()
        plain = _unlocked()
        if space is None or plain is None:
            manager.run(module, builder)
        else:
            plain[_RUN](manager, module, builder)
        _dispose(manager)
    finally:
        builder.close()  # before the module, of which it knows much
    return module


class Space:
    """A context of LLVM and the modules in it, which are freed before it at the end of a `with` block.

    Where something is raised, as by Ctrl-C, what it leaves may be freed much later, and by Python's collector in any
    order: a module that is freed after its context ends the process.
    """

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        self.context = llvm.create_context()
        self.modules: list[Any] = []

    def __enter__(self) -> Space:
        return self

    def __exit__(self, *raised: object) -> None:
        for module in self.modules:
            module.close()
        self.context.close()


def _parsed(text: str, space: Space | None) -> Any:
    """A text as a module."""
    import llvmlite.binding as llvm

    if space is None:
        return llvm.parse_assembly(text)
    module = llvm.parse_assembly(text, space.context)
    space.modules.append(module)
    return module


def _dispose(manager: Any) -> None:
    """Free a pass manager: in llvmlite 0.50 its class inherits a `_dispose` that does nothing, 50 KB a build."""
    from llvmlite.binding.ffi import ObjectRef
    from llvmlite.binding.newpassmanagers import NewPassManager

    if type(manager)._dispose is ObjectRef._dispose:
        NewPassManager._dispose(manager)


def object_of(text: str, target: Host, opt_level: int) -> bytes:
    """The object file of a text for this process. Other threads may do the same at the same time."""

    def made() -> bytes:
        with Space() as space:
            module, machine = _optimized(text, target, opt_level, target_machine(target, opt_level), None, space)
            return _emit(machine, module)

    return with_stack(len(text), made)


def assembly_text(machine: Any, module: Any) -> str:
    """The assembly text of a module."""
    found: str = with_stack(len(str(module)), lambda: machine.emit_assembly(module))
    return found


def object_file(machine: Any, module: Any) -> bytes:
    """The object file of a module in LLVM's global context."""
    found: bytes = with_stack(len(str(module)), lambda: machine.emit_object(module))
    return found


def with_stack(length: int, work: Callable[[], Result]) -> Result:
    """What `work` returns or raises, where LLVM works on a text of that length.

    LLVM recurses over values that are made of values: a condition of 20,000 comparisons takes 10 MB of stack, and where
    the stack ends, the process does. Threads have 8 MB or less, but one may be started with more.
    """
    if length < DEEP:
        return work()
    results: list[Result] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, name="tirscript build")
    if not _started(thread, min(length * ROOM, MOST_ROOM) >> 20 << 20):
        return work()
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as interrupt:  # what LLVM works on is freed when it has come to its end
            problems.append(interrupt)
    if problems:
        raise problems[-1]
    return results[0]


def _started(thread: threading.Thread, stack: int) -> bool:
    """Start a thread with a stack of that size; whether the system gives one."""
    with _lock:
        before = threading.stack_size(stack)
        try:
            thread.start()
        except RuntimeError:
            return False
        finally:
            threading.stack_size(before)
    return True


def _emit(machine: Any, module: Any) -> bytes:
    plain = _unlocked()
    if plain is None:
        found: bytes = machine.emit_object(module)
        return found
    from llvmlite.binding import ffi

    with ffi.OutputString() as problem:
        buffer = plain[_EMIT](machine, module, 1, problem)
        if not buffer:
            raise internal(f"LLVM wrote no object file: {problem}")
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


_lock = threading.Lock()
renew_in_children(globals(), "_lock", threading.Lock)
_helpers: list[threading.Thread] = []  # those of this process that compile for others


class Objects:
    """The object files of texts that are added one by one, in their order.

    While the thread that adds them writes the next one, others compile; in `finish` it compiles, too. No thread is
    left when `finish` returns or the `with` block ends, whatever happened: those that are in LLVM come to the end of
    their text.
    """

    def __init__(self, target: Host, opt_level: int) -> None:
        self.target, self.opt_level = target, opt_level
        self.threads: list[threading.Thread] = []
        self.limit = build_threads() - 1
        self.waiting: deque[tuple[int, str]] = deque()
        self.made: dict[int, bytes] = {}
        self.problems: dict[int, BaseException] = {}
        self.count = 0

    def __enter__(self) -> Objects:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.waiting.clear()
        self._join()

    def add(self, text: str) -> None:
        """Compile a text by a thread beside this one, as soon as one is free."""
        self.waiting.append((self.count, text))
        self.count += 1
        thread = threading.Thread(target=self._work, args=(BaseException,), name="tirscript build")
        self.threads.append(thread)
        _start(thread, self.limit)

    def finish(self, last: str) -> tuple[bytes, ...]:
        """The object files of all texts, of which this is the last one. Raises what the first bad text raised."""
        self.waiting.append((self.count, last))
        self.count += 1
        self._work(Exception)
        self._join()
        if self.problems:
            raise self.problems[min(self.problems)]
        return tuple(self.made[at] for at in range(self.count))

    def _work(self, kept: type[BaseException]) -> None:
        """Compile what is waiting, until nothing is. What is raised is kept for the thread that builds."""
        while True:
            try:
                at, text = self.waiting.popleft()
            except IndexError:
                return
            try:
                self.made[at] = object_of(text, self.target, self.opt_level)
            except kept as problem:
                self.problems[at] = problem
                self.waiting.clear()

    def _join(self) -> None:
        for thread in self.threads:
            if thread.ident is not None:  # it was started
                thread.join()
        self.threads.clear()


def _start(thread: threading.Thread, limit: int) -> None:
    """Start a helper, unless `limit` of them are at work in this process, for whatever builds, or the system gives no
    thread: the one that builds does the work then."""
    with _lock:
        _helpers[:] = [one for one in _helpers if one.is_alive()]
        if len(_helpers) < limit:
            with contextlib.suppress(RuntimeError):
                thread.start()
                _helpers.append(thread)


__all__ = ["Objects", "build_threads", "object_of", "optimize", "why_in_turn"]
