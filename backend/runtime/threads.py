"""How many threads run `T.parallel` loops, and the pool of them: compiled, started, made new after a fork.

The pool (fork_join.py) is compiled when the first code that needs it is loaded; its threads start at the first loop
that is worth it. Nothing here imports LLVM or threadpoolctl before that.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import sys
import threading
import time
from functools import cache
from typing import Any

from msgspec import Struct

from tirscript.ir.check import public
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.forks import renew_in_children
from tirscript.ir.processors import processors

from . import packed
from .fork_join import MOST_THREADS, pool_text

PARALLEL = "tirscript_parallel"  # the native function that kernels call
SPIN_SECONDS = 200e-6  # how long at most a thread that waits looks for news before it sleeps, see docs/threads.md

_lock = threading.RLock()
renew_in_children(globals(), "_lock", threading.RLock)
_chosen: int | None = None  # by set_num_threads
_pool: Pool | None = None


@public
def set_num_threads(n: int) -> None:
    """Let at most `n` threads run the iterations of a `T.parallel` loop, the caller among them; 1 is serial.

    It holds for the whole process, from the next loop on. Results do not depend on it. Raises ValueError for less than
    1 or more than 256.
    """
    global _chosen
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"the number of threads is an int, not {n!r}")
    if not 1 <= n <= MOST_THREADS:
        raise ValueError(f"the number of threads is 1 to {MOST_THREADS}, not {n}")
    with _lock:
        _chosen = n
        if _pool is not None:
            _pool.limit(n)


def get_num_threads() -> int:
    """How many threads at most run the iterations of a `T.parallel` loop, the caller among them.

    What set_num_threads was given; else the environment's TIRSCRIPT_NUM_THREADS, else its OMP_NUM_THREADS, else the
    processors that this process may use. Raises DiagnosticError T404 where TIRSCRIPT_NUM_THREADS is no such number.
    """
    with _lock:
        return _chosen if _chosen is not None else _default()


@cache
def _default() -> int:
    own = os.environ.get("TIRSCRIPT_NUM_THREADS", "").strip()
    if own:
        if not own.isdecimal() or not 1 <= int(own) <= MOST_THREADS:
            message = f"TIRSCRIPT_NUM_THREADS is {own!r}, which is no number of threads"
            raise DiagnosticError([error("T404", message, hint=f"write a number from 1 to {MOST_THREADS}")])
        return int(own)
    # a list has a number for each level of nesting; what OpenMP would not take is not ours to complain of
    other = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if other.isdecimal() and int(other) >= 1:
        return min(int(other), MOST_THREADS)
    return min(processors(), MOST_THREADS)


class Pool(Struct, eq=False):
    """The compiled pool: its engine, its function's address, what Python sets, and the looks at a word a second."""

    engine: Any
    parallel: int
    threads: ctypes.c_int32
    spins: ctypes.c_int32
    looks: float
    processors: int

    def limit(self, n: int) -> None:
        """Let `n` threads run loops. Where they share processors they sleep at once, so that others can work."""
        self.spins.value = int(SPIN_SECONDS * self.looks) if n <= self.processors else 0
        self.threads.value = n


def require_pool() -> None:
    """Make the symbol PARALLEL known to LLVM, before code that calls it is loaded. Compiles the pool once a process."""
    global _pool
    if _pool is not None:
        return
    with _lock:
        if _pool is None:
            made = compile_pool()
            made.limit(get_num_threads())
            _link(made)
            _pool = made


def compile_pool(*, threads: bool | None = None, futex: bool = True) -> Pool:
    """A pool of its own, which lives as long as the process: its threads may be in its code at any time.

    threads: whether it has any; None where the system does
    futex:   sleep by the system call futex, where there is one
    """
    from tirscript.backend.llvm.host import host, symbol_exists

    if threads is None:
        threads = symbol_exists("pthread_create")
    engine = _compiled(pool_text(host().triple, threads=threads, futex=futex and symbol_exists("syscall")))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))  # never freed, not even when Python ends
    functions = {name: engine.get_function_address(f"tirscript_{name}") for name in ("prepare", "forked", "look")}
    count, spins = (
        ctypes.c_int32.from_address(engine.get_global_value_address(f"tirscript_{name}"))
        for name in ("threads", "spins")
    )
    ctypes.c_void_p.from_address(engine.get_global_value_address("tirscript_forget")).value = packed.forget_address()
    ctypes.CFUNCTYPE(None)(functions["prepare"])()
    _at_fork(functions["forked"])
    looks = _speed(ctypes.CFUNCTYPE(None, ctypes.c_int32)(functions["look"]))
    return Pool(engine, engine.get_function_address(PARALLEL), count, spins, looks, processors())


def _compiled(text: str) -> Any:
    """An engine with the code of the pool, from the cache where it holds that."""
    import llvmlite.binding as llvm

    from tirscript.backend.cache import cache
    from tirscript.backend.cache_key import surroundings
    from tirscript.backend.llvm.host import host, target_machine

    target, store = host(), cache()
    key = hashlib.sha256("\n".join((text, *surroundings())).encode()).hexdigest() if store is not None else ""
    code = store.read(key) if store is not None else None
    machine = target_machine(target, 0)  # its loops wait: optimized code takes 27 ms more to make and no less to run
    module = llvm.parse_assembly(text if code is None else "")
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    if code is not None:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    elif store is not None:
        engine.set_object_cache(lambda _, made: store.write(key, bytes(made)))
    engine.finalize_object()
    engine.run_static_constructors()
    return engine


def _speed(look: Any) -> float:
    """How many looks at a word a thread takes a second; the fastest of some runs, which nothing interrupted."""
    least = math.inf
    for _ in range(5):
        start = time.perf_counter()
        look(200)
        least = min(least, time.perf_counter() - start)
    return 200 / least


def _at_fork(child: int) -> None:
    """Call the C function at an address in the child of every fork, whoever forks."""
    for name in ("pthread_atfork", "__register_atfork"):
        function = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            pointers = [ctypes.c_void_p(address) for address in (None, None, child)]
            function(*pointers, *([ctypes.c_void_p(None)] if name.startswith("__") else []))
            return
    renew = ctypes.CFUNCTYPE(None)(child)
    os.register_at_fork(after_in_child=renew)


def _link(pool: Pool) -> None:
    import llvmlite.binding as llvm

    llvm.add_symbol(PARALLEL, pool.parallel)
    _tell_threadpoolctl()


def _tell_threadpoolctl() -> None:
    """Let threadpoolctl, where it is installed, see and limit our threads.

    It knows pools by the files of shared libraries; ours has none, so it stands beside LLVM's, which compiled it.
    """
    from importlib.util import find_spec

    if "threadpoolctl" not in sys.modules and find_spec("threadpoolctl") is None:
        return
    import threadpoolctl

    if not hasattr(threadpoolctl, "register"):  # before version 3.2
        return

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        """The threads of `T.parallel` loops."""

        user_api = "tirscript"
        internal_api = "tirscript"
        filename_prefixes = ("libllvmlite",)

        def get_num_threads(self) -> int:
            return get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            set_num_threads(min(num_threads, MOST_THREADS))

        def get_version(self) -> str:
            return str(sys.modules["tirscript"].__version__)

    threadpoolctl.register(Controller)


__all__ = ["PARALLEL", "compile_pool", "get_num_threads", "processors", "require_pool", "set_num_threads"]
