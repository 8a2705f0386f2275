"""Builds by several threads: the same code as by one, errors and interrupts, the number of threads, forks."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite.binding import ffi

import tirscript
from tirscript.backend.llvm import compile_functions, compiling, module, parts
from tirscript.backend.llvm.compiling import build_threads, object_of, why_in_turn
from tirscript.backend.llvm.host import host
from tirscript.ir import DiagnosticError, Module
from tirscript.passes import DEFAULT_LOWERING

KERNEL = """
    @T.prim_func(private=True)
    def f{at}(A: T.Buffer((64,), "float32")):
        for i in range(64):
            A[i] = A[i] * {at}.0 + T.exp(A[i])
"""
COUNT = 6


def program(start: int = 0) -> Module:
    """Functions that become an object file each, where `apart` says so."""
    names = range(start, start + COUNT)
    calls = "".join(f"        M.f{at}(A)\n" for at in names)
    text = "from tirscript.script import ir as I\nfrom tirscript.script import tir as T\n\n@I.ir_module\nclass M:"
    text += "".join(KERNEL.format(at=at) for at in names)
    text += f'\n    @T.prim_func\n    def main(A: T.Buffer((64,), "float32")):\n{calls}'
    found = tirscript.parse(text)
    assert isinstance(found, Module)
    return DEFAULT_LOWERING(found)


def helpers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tirscript build"]


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "LEAST", 0)
    monkeypatch.setattr(parts, "SMALL", 0)
    monkeypatch.setenv("TIRSCRIPT_BUILD_THREADS", "3")
    yield
    assert helpers() == []


def replaced(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], None]) -> None:
    """Do something before each text is compiled."""

    def run(text: str, *rest: Any) -> bytes:
        change(text)
        return object_of(text, *rest)

    monkeypatch.setattr(compiling, "object_of", run)


# -- the same code


@pytest.mark.parametrize("threads", ["2", "5"])
def test_the_code_does_not_depend_on_threads(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    replaced(monkeypatch, lambda text: ran.append(threading.current_thread().name))
    monkeypatch.setenv("TIRSCRIPT_BUILD_THREADS", "1")
    expected = compile_functions(program(), keep_code=True).code
    assert ran == [threading.current_thread().name] * (COUNT + 1)
    assert len(expected) == len(set(expected)) == COUNT + 1

    monkeypatch.setenv("TIRSCRIPT_BUILD_THREADS", threads)
    ran.clear()

    def delay(text: str) -> None:  # what is started first is done last
        ran.append(text)
        time.sleep(0.2 / len(ran))

    replaced(monkeypatch, delay)
    assert compile_functions(program(), keep_code=True).code == expected
    assert len(ran) == COUNT + 1


def test_texts_are_compiled_while_others_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    replaced(monkeypatch, lambda text: begun.set())
    write, written = module._function, []

    def function(g: Any) -> Any:
        written.append(g.func.name)
        if len(written) == COUNT:
            assert begun.wait(30), "nothing is compiled before everything is written"
        return write(g)

    monkeypatch.setattr(module, "_function", function)
    compile_functions(program())
    assert len(written) == COUNT + 1


def test_the_long_calls_of_llvm_go_past_the_lock_of_llvmlite() -> None:
    """As two threads can be in LLVM at once only so."""
    found = compiling._unlocked()
    assert found is not None and why_in_turn() is None
    context = llvm.create_context()
    made = llvm.parse_assembly("define i32 @f() {\n  ret i32 7\n}", context)
    machine = compiling.target_machine(host(), 3)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(3))
    manager = builder.getModulePassManager()
    with ffi.OutputString() as problem:
        for name, given in ((compiling._RUN, (manager, made, builder)), (compiling._EMIT, (machine, made, 1, problem))):
            results: list[Any] = []
            thread = threading.Thread(
                target=lambda name=name, given=given, results=results: results.append(found[name](*given))
            )
            with ffi.lib._lock:
                thread.start()
                thread.join(30)
                assert not thread.is_alive()
        ffi.lib.LLVMPY_DisposeMemoryBuffer(results[0])
    made.close()
    context.close()


# -- how many


def most_at_once(monkeypatch: pytest.MonkeyPatch, builders: int, meet: int) -> int:
    """How many threads compile at the same time while so many threads build; the first `meet` wait for each other."""
    lock, now, most, count = threading.Lock(), 0, 0, 0
    barrier = threading.Barrier(meet)

    def seen(text: str) -> None:
        nonlocal now, most, count
        with lock:
            now, count = now + 1, count + 1
            most, early = max(most, now), count <= meet
        if early:
            barrier.wait(30)
        else:
            time.sleep(0.03)
        with lock:
            now -= 1

    replaced(monkeypatch, seen)
    problems: list[BaseException] = []

    def build(source: Module) -> None:
        try:
            compile_functions(source)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=build, args=(program(10 * at),)) for at in range(builders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    return most


def test_as_many_threads_as_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_at_once(monkeypatch, 1, 3) == 3
    monkeypatch.setenv("TIRSCRIPT_BUILD_THREADS", "1")
    assert most_at_once(monkeypatch, 1, 1) == 1


def test_builds_at_once_share_the_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 3 <= most_at_once(monkeypatch, 3, 3) <= 3 + 2


def test_a_system_without_threads_compiles_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    expected = compile_functions(program(), keep_code=True).code
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert compile_functions(program(), keep_code=True).code == expected


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_threads() == 3
    monkeypatch.delenv("TIRSCRIPT_BUILD_THREADS")
    monkeypatch.setattr(compiling, "processors", lambda: 7)
    assert build_threads() == 7
    monkeypatch.setattr(compiling, "processors", lambda: 1000)
    assert build_threads() == compiling.MOST_THREADS
    for wrong in ("0", "-1", "many", "257", "1.5"):
        monkeypatch.setenv("TIRSCRIPT_BUILD_THREADS", wrong)
        with pytest.raises(DiagnosticError, match=f"TIRSCRIPT_BUILD_THREADS is '{wrong}'") as caught:
            compile_functions(program())
        assert caught.value.diagnostics[0].code == "T404"


# -- another llvmlite


@pytest.mark.parametrize("missing", [compiling._RUN, compiling._EMIT])
def test_an_llvmlite_that_is_made_otherwise_compiles_in_turn(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ffi.lib

    class Other:
        def __getattr__(self, name: str) -> Any:
            found = getattr(real, name)
            return (lambda *given: found(*given)) if name == missing else found

    expected = compile_functions(program(), keep_code=True).code
    with monkeypatch.context() as patch:
        patch.setattr(ffi, "lib", Other())
        assert compiling._unlocked.__wrapped__() is None
    monkeypatch.setattr(compiling, "_unlocked", lambda: None)
    assert build_threads() == 1 and why_in_turn() == f"llvmlite {_version()} keeps its lock to itself"
    assert most_at_once(monkeypatch, 1, 1) == 1
    monkeypatch.setattr(compiling, "object_of", object_of)
    assert compile_functions(program(), keep_code=True).code == expected


def _version() -> str:
    import llvmlite

    return str(llvmlite.__version__)


# -- what goes wrong


def test_the_first_bad_text_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def fail(text: str) -> None:
        if "kernel_f3" in text and "define i32" in text and "kernel_main" not in text:
            release.wait(30)
            raise DiagnosticError([compiling.error("T499", "the fourth is bad")])
        if "kernel_f4" in text and "kernel_main" not in text:
            release.set()
            raise DiagnosticError([compiling.error("T499", "the fifth is bad")])

    replaced(monkeypatch, fail)
    order = [list(names) for names in parts.groups(program().prim_funcs, module.call_sites(program()))]
    assert order.index(["f3"]) < order.index(["f4"])
    with pytest.raises(DiagnosticError, match="the fourth is bad"):
        compile_functions(program())
    assert helpers() == []
    monkeypatch.setattr(compiling, "object_of", object_of)
    compile_functions(program())  # and the next one is none the worse


def test_text_that_is_no_ir_is_told_as_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    write = module._finish
    monkeypatch.setattr(
        module,
        "_finish",
        lambda state, target: write(state, target) + ("oops" if "tirscript_kernel_f2" in state.text.kernels else ""),
    )
    with pytest.raises(DiagnosticError, match="LLVM did not accept the IR") as caught:
        compile_functions(program())
    assert caught.value.diagnostics[0].code == "T499"


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_waits_for_what_is_in_llvm_and_leaves_nothing(
    raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, ended = threading.Event(), []

    def slow(text: str) -> None:
        inside.set()
        time.sleep(0.2)
        ended.append(text)

    replaced(monkeypatch, slow)
    write = module._function

    def function(g: Any) -> Any:
        if g.func.name == "f5":
            assert inside.wait(30)
            raise raised
        return write(g)

    monkeypatch.setattr(module, "_function", function)
    with pytest.raises(raised):
        compile_functions(program())
    assert helpers() == []
    assert 1 <= len(ended) <= 2, "what was waiting is not begun"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that a shell started in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_the_caller_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    compiles = threading.Event()

    def interrupt(text: str) -> None:
        if threading.current_thread() is threading.main_thread():
            compiles.set()
            signal.raise_signal(signal.SIGINT)
        assert compiles.wait(60)  # or the helpers might do it all

    replaced(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        compile_functions(program())
    assert helpers() == []


INTERRUPTED = """
import gc
import tirscript
from tirscript.backend.llvm import compiling

TEXT = 'from tirscript.script import tir as T\\n\\n@T.prim_func\\ndef f(A: T.Buffer((16,), "float32")):\\n    A[0] = 1.0\\n'

def interrupt(*args):
    raise KeyboardInterrupt

compiling.WHERE = interrupt

def stopped():
    try:
        tirscript.build(tirscript.parse(TEXT))
    except KeyboardInterrupt as problem:
        kept = problem  # a circle, since the problem holds this frame: the collector frees all of it, in any order

for _ in range(4):
    stopped()
    gc.collect()
print("alive")
"""


@pytest.mark.parametrize("where", ["_dispose", "_emit", "may_break"])
def test_what_an_interrupt_leaves_is_freed_in_any_order(where: str) -> None:
    environment = {**os.environ, "TIRSCRIPT_CACHE": "0"}
    command = [sys.executable, "-c", INTERRUPTED.replace("WHERE", where)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


# -- forks


def child(work: Callable[[], None]) -> int:
    """The exit status of a forked process that does the work, which may take a minute."""
    number = os.fork()
    if number == 0:
        signal.alarm(60)
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def builds() -> None:
    A = np.ones(64, "float32")
    tirscript.build(program(), pipeline=None)["main"](A)
    assert (A > 1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_has_locks_of_its_own() -> None:
    """What another thread holds at the fork is given back by nobody in the child."""
    builds()
    owners = {"ir.node": "_room", "backend.runtime.function": "_building"}
    plain = ("ir.constant", *(f"backend.{name}" for name in ("runtime.threads", "runtime.library", "runtime.exchange")))
    owners |= dict.fromkeys((*plain, "backend.llvm.host", "backend.llvm.compiling"), "_lock")
    found = [getattr(import_module(f"tirscript.{name}"), place) for name, place in owners.items()]
    locks = [getattr(one, "lock", one) for one in found]
    held, forked = threading.Event(), threading.Event()

    def holds() -> None:
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            held.set()
            forked.wait(90)

    thread = threading.Thread(target=holds)
    thread.start()
    try:
        assert held.wait(60)
        assert child(builds) == 0
    finally:
        forked.set()
        thread.join()
    builds()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_builds_whatever_its_parent_did_at_the_fork() -> None:
    builds()
    assert child(builds) == 0
    stop, problems, done = threading.Event(), [], threading.Event()

    def others() -> None:
        try:
            while not stop.is_set():
                compile_functions(program(100))
                done.set()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=others)
    thread.start()
    try:
        assert done.wait(60)
        assert [child(builds) for _ in range(4)] == [0] * 4
    finally:
        stop.set()
        thread.join()
    assert not problems
