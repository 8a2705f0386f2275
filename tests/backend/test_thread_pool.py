"""The pool of threads: how many there are, who may use them at once, forks, sleep, and the end of the process."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirscript
from tests.helpers.processes import python
from tests.helpers.threads import most_threads
from tirscript.backend.llvm.host import host, target_machine
from tirscript.backend.runtime import threads
from tirscript.backend.runtime.fork_join import ERROR_BYTES, MOST_THREADS, pool_text
from tirscript.backend.runtime.library import unregister_library
from tirscript.backend.runtime.waiting import FUTEX
from tirscript.ir import processors
from tirscript.script import parse

ADD = """
@T.prim_func
def add(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "uint64")):
    for i in T.parallel(n, annotations={"grain": 1}):
        assert A[i] >= 0, "negative"
        A[i] = A[i] + 1
        B[i] = T.call_extern("uint64", "pthread_self")
        T.evaluate(T.call_extern("int32", "usleep", 200))
"""


PROGRAM = f"""
import os, sys, threading, numpy as np, tirscript
tirscript.set_num_threads(4)
add = tirscript.build(tirscript.parse('''{ADD}'''))
a, b = np.zeros(50, "int32"), np.zeros(50, "uint64")
for _ in range(100):  # a call may be over before all threads have woken up
    a[:] = 0
    add(a, b)
    if len(np.unique(b)) == 4:
        break
"""


@pytest.fixture(autouse=True)
def limit() -> Any:
    before = tirscript.get_num_threads()
    tirscript.set_num_threads(4)
    yield
    tirscript.set_num_threads(before)


@pytest.fixture(scope="module")
def add() -> Any:
    return tirscript.build(parse(ADD))


def used(add: Any, size: int = 50) -> int:
    """How many threads calls take at most; each must do what it should."""
    return most_threads(lambda: once(add, size), min(size, tirscript.get_num_threads()))


def once(add: Any, size: int = 50) -> int:
    """How many threads a call takes."""
    a, b = np.zeros(size, "int32"), np.zeros(size, "uint64")
    add(a, b)
    assert (a == 1).all()
    return len(np.unique(b))


# how many


def test_the_number_of_threads_is_what_was_set(add: Any) -> None:
    for count in (1, 2, 5, 3, 1):
        tirscript.set_num_threads(count)
        assert tirscript.get_num_threads() == count
        assert used(add) == count


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (0, ValueError),
        (-1, ValueError),
        (MOST_THREADS + 1, ValueError),
        (True, TypeError),
        (2.0, TypeError),
        ("2", TypeError),
    ],
)
def test_a_wrong_number_is_refused(wrong: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"number of threads|takes an int"):
        tirscript.set_num_threads(wrong)
    assert tirscript.get_num_threads() == 4


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ({"TIRSCRIPT_NUM_THREADS": "3"}, "3"),
        ({"TIRSCRIPT_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, "3"),
        ({"OMP_NUM_THREADS": "5"}, "5"),
        ({"OMP_NUM_THREADS": "5,2"}, "5"),
        ({"OMP_NUM_THREADS": "100000"}, str(MOST_THREADS)),
    ],
)
def test_the_environment_says_how_many(environment: dict[str, str], count: str) -> None:
    found = python("import tirscript; print(tirscript.get_num_threads())", **environment)
    assert (found.stdout.strip(), found.returncode) == (count, 0), found.stderr


def test_an_environment_that_says_nothing_leaves_the_processors() -> None:
    code = "import tirscript; from tirscript.backend.runtime.threads import processors; "
    for environment in ({}, {"OMP_NUM_THREADS": "many"}, {"TIRSCRIPT_NUM_THREADS": " "}):
        found = python(code + "print(tirscript.get_num_threads() == processors())", **environment)
        assert found.stdout.strip() == "True", found.stderr


@pytest.mark.parametrize("wrong", ["0", "-2", "two", "1.5", "100000"])
def test_an_environment_that_is_wrong_is_told(wrong: str) -> None:
    found = python("import tirscript; tirscript.get_num_threads()", TIRSCRIPT_NUM_THREADS=wrong)
    assert f"TIRSCRIPT_NUM_THREADS is {wrong!r}, which is no number of threads" in found.stderr
    assert f"write a number from 1 to {MOST_THREADS}" in found.stderr


def test_a_process_that_may_run_on_one_processor_has_one_thread() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("the system does not bind processes to processors")
    code = "import os, tirscript; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(tirscript.get_num_threads())"
    assert python(code).stdout.strip() == "1"


def test_threadpoolctl_sees_and_limits_the_threads(add: Any) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def ours() -> list[dict[str, Any]]:
        return [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "tirscript"]

    assert [pool["num_threads"] for pool in ours()] == [4]
    assert ours()[0]["version"] == tirscript.__version__
    with threadpoolctl.threadpool_limits(2, user_api="tirscript"):
        assert ours()[0]["num_threads"] == tirscript.get_num_threads() == used(add) == 2
    assert tirscript.get_num_threads() == used(add) == 4
    with threadpoolctl.threadpool_limits(1):
        assert used(add) == 1


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = """
        import sys, tirscript
        tirscript.set_num_threads(2)
        assert tirscript.get_num_threads() == 2
        print([name for name in ("threadpoolctl", "llvmlite", "numpy") if name in sys.modules])
    """
    assert python(code).stdout.strip() == "[]"


CACHED = """
import llvmlite.binding as llvm
texts, parse = [], llvm.parse_assembly
llvm.parse_assembly = lambda text, *context: (texts.append(text), parse(text, *context))[1]
{}
print(type(add._core.compiled).__name__, len(np.unique(b)), sum("define i32 @tirscript_parallel" in text for text in texts))
"""


def test_the_pool_and_its_callers_come_from_the_cache(tmp_path: Path) -> None:
    code, where = CACHED.format(PROGRAM), {"TIRSCRIPT_CACHE": "1", "TIRSCRIPT_CACHE_DIR": str(tmp_path)}
    first, second = python(code, **where), python(code, **where)
    assert first.stdout.strip() == "CompiledModule 4 1", first.stderr
    assert second.stdout.strip() == "LoadedModule 4 0", second.stderr
    stored = [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".")]
    assert len(stored) == 2
    for path in stored:
        path.write_bytes(path.read_bytes()[:-9])
    assert python(code, **where).stdout == first.stdout


# many callers


def test_calls_from_many_threads_at_once(add: Any) -> None:
    def work(seed: int) -> None:
        for at in range(200):
            if (seed + at) % 50 == 7:
                a = np.zeros(30, "int32")
                a[(seed * 7) % 30] = -1
                with contextlib.suppress(AssertionError):
                    add(a, np.zeros(30, "uint64"))
                    raise SystemError("it should have failed")
            once(add, 1 + (seed * 31 + at) % 20)

    with ThreadPoolExecutor(12) as pool:
        for done in [pool.submit(work, seed) for seed in range(12)]:
            done.result(timeout=100)
    assert used(add) == 4


def test_the_number_of_threads_may_change_while_they_work(add: Any) -> None:
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            for count in (1, 3, 6, 2):
                tirscript.set_num_threads(count)

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for size in range(1, 400):
            once(add, size % 60 + 1)
    finally:
        stop.set()
        changer.join()


def test_a_kernel_called_by_a_kernel_runs_in_its_caller(add: Any) -> None:
    found: list[int] = []
    tirscript.register_library("pool.inner", lambda: found.append(once(add, 10)))
    try:
        outer = tirscript.build(
            parse(
                "@T.prim_func\ndef f():\n"
                '    for i in T.parallel(20, annotations={"grain": 1}):\n'
                '        T.evaluate(T.call_packed("pool.inner"))\n'
            )
        )
        outer()
        assert found == [1] * 20
    finally:
        unregister_library("pool.inner")
    assert used(add) == 4


def test_calls_that_need_the_lock_and_calls_that_keep_it(add: Any) -> None:
    """Iterations that take the GIL, while other threads of Python call kernels that do not let go of it."""
    tirscript.register_library("pool.touch", lambda value: None)
    try:
        outer = tirscript.build(
            parse(
                "@T.prim_func\ndef f():\n"
                '    for i in T.parallel(40, annotations={"grain": 1}):\n'
                '        T.evaluate(T.call_packed("pool.touch", i))\n'
            )
        )
        small = tirscript.build(
            parse(
                '@T.prim_func\ndef g(A: T.Buffer((8,), "int32")):\n'
                '    for i in T.parallel(8, annotations={"grain": 1}):\n        A[i] = i\n'
            )
        )
        a = [np.zeros(8, "int32") for _ in range(4)]
        with ThreadPoolExecutor(8) as pool:
            runs = [pool.submit(lambda: [outer() for _ in range(20)]) for _ in range(4)]
            runs += [pool.submit(lambda at=at: [small(a[at]) for _ in range(300)]) for at in range(4)]
            for run in runs:
                run.result(timeout=100)
        assert all((one == np.arange(8)).all() for one in a)
    finally:
        unregister_library("pool.touch")


# processes


def test_the_child_of_a_fork_has_a_pool_of_its_own(add: Any) -> None:
    assert used(add) == 4
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                code = 0 if used(add) == 4 and used(add) == 4 else 2
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert used(add) == 4


def test_a_fork_while_other_threads_are_in_the_pool(add: Any) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            once(add)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                code = 1
                with contextlib.suppress(BaseException):
                    code = 0 if used(add) == 4 else 2
                os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for worker in workers:
            worker.join()


_shared: Any = None


def _in_child(size: int) -> int:
    return used(_shared, size)


def test_multiprocessing_by_fork(add: Any) -> None:
    global _shared
    _shared = add
    assert used(add) == 4
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_in_child, [1, 3, 20, 30]) == [1, 3, 4, 4]


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("a[:] = -1; add(a, b)", 1),
        ("del add", 0),
        ("import atexit; atexit.register(lambda: add(a, b))", 0),
        ("threading.Thread(target=lambda: [add(a, b) for _ in range(10**9)], daemon=True).start()", 0),
        ("import time; time.sleep(0.05)", 0),
    ],
    ids=["ends", "exit", "_exit", "raises", "kernel gone", "atexit", "daemon", "asleep"],
)
def test_the_end_of_a_process(end: str, code: int) -> None:
    found = python(PROGRAM + end)
    assert found.returncode == code, found.stderr
    assert ("AssertionError" in found.stderr) == (code == 1)
    assert code == 1 or not found.stderr


def test_threads_without_work_sleep() -> None:
    code = (
        PROGRAM
        + """
import time
def states():
    found = []
    for task in os.listdir("/proc/self/task"):
        if int(task) != os.getpid():
            found.append(open(f"/proc/self/task/{task}/stat").read().rsplit(")")[1].split()[0])
    return found
for _ in range(1000):
    if set(states()) == {"S"}:
        break
    time.sleep(0.01)
before = sum(os.times()[:2])
time.sleep(0.3)
print(len(states()), set(states()), sum(os.times()[:2]) - before < 0.1)
add(a, b)
print((a == 2).all())
"""
    )
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("the system does not tell what threads do")
    found = python(code, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    assert found.stdout.split("\n")[:2] == ["3 {'S'} True", "True"], found.stderr


# other systems

HARNESS = """
; adds 1 to its elements; fails from the element on that the closure's first word names, with its number as value
define i32 @body(ptr %closure, i64 %begin, i64 %end, ptr %error, ptr %failed, i32 %part) {
entry:
  %limit = load i64, ptr %closure, align 8
  br label %check
check:
  %at = phi i64 [%begin, %entry], [%next, %go]
  %more = icmp ult i64 %at, %end
  br i1 %more, label %look, label %done
look:
  %bad = icmp uge i64 %at, %limit
  br i1 %bad, label %fail, label %go
fail:
  %value = getelementptr i8, ptr %error, i64 8
  store i64 %at, ptr %value, align 8
  ret i32 1
go:
  %where = getelementptr i64, ptr %closure, i64 %at
  %element = getelementptr i64, ptr %where, i64 1
  %old = load i64, ptr %element, align 8
  %new = add i64 %old, 1
  store i64 %new, ptr %element, align 8
  %next = add i64 %at, 1
  br label %check
done:
  ret i32 0
}

define i32 @run(ptr %closure, i64 %count, i64 %grain, i64 %unit, i64 %rouse, i64 %piece, ptr %error) {
  %pool = inttoptr i64 POOL to ptr
  %status = call i32 %pool(ptr @body, ptr %closure, i64 %count, i64 %grain, i64 %unit, i64 %rouse, i64 %piece, ptr %error)
  ret i32 %status
}
"""


@pytest.fixture(params=[{}, {"futex": False}, {"threads": False}], ids=["futex", "condition", "no threads"])
def harness(request: pytest.FixtureRequest) -> Any:
    """A pool of its own, and a function that calls it."""
    import llvmlite.binding as llvm

    pool = threads.compile_pool(**request.param)
    module = llvm.parse_assembly(HARNESS.replace("POOL", str(pool.parallel)))
    engine = llvm.create_mcjit_compiler(module, target_machine(host(), 2))
    engine.finalize_object()
    kinds = (ctypes.c_void_p, *(ctypes.c_int64,) * 5, ctypes.c_void_p)
    return pool, engine, ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(engine.get_function_address("run"))


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_the_pool_by_itself(harness: Any, piece: int) -> None:
    pool, _, run = harness
    error = ctypes.create_string_buffer(ERROR_BYTES)
    for count in (1, 2, 5):
        pool.limit(count)
        for size, grain, unit in [
            (0, 1, 1),
            (1, 1, 1),
            (7, 1, 1),
            (100, 1, 1),
            (100, 8, 8),
            (1000, 300, 256),
            (9, 4, 1),
        ]:
            for spins in (0, 1000):
                pool.spins.value = spins
                data = np.zeros(size + 1, "int64")
                data[0] = size
                assert run(data.ctypes.data, size, grain, unit, 0, piece, ctypes.addressof(error)) == 0
                assert (data[1:] == 1).all()
        data = np.zeros(101, "int64")
        data[0] = 63
        assert run(data.ctypes.data, 100, 1, 1, 0, piece, ctypes.addressof(error)) == 1
        assert ctypes.c_int64.from_buffer(error, 8).value == 63
        assert (data[1:64] == 1).all() and (data[64:] == 0).all()


@pytest.mark.parametrize(
    ("threads", "loops", "hired"),
    [
        (3, [5] * 9, [0] * 8 + [2]),  # too short to wake anybody for, but not more than 8 times in a row
        (4, [5, 4, 3, 0], [0, 1, 2, 3]),  # as many as are worth it
    ],
)
def test_sleepers_are_woken_for_loops_that_are_worth_it(
    harness: Any, request: pytest.FixtureRequest, threads: int, loops: list[int], hired: list[int]
) -> None:
    """Each loop has 9 iterations, and `loops` says how many a thread must get to be woken."""
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("the system does not tell what threads there are")
    pool, _, run = harness
    pool.limit(threads)
    data, error = np.zeros(10, "int64"), ctypes.create_string_buffer(ERROR_BYTES)
    data[0] = 9
    before, found = len(os.listdir("/proc/self/task")), []
    for rouse in loops:
        assert run(data.ctypes.data, 9, 1, 1, rouse, 9, ctypes.addressof(error)) == 0
        found.append(len(os.listdir("/proc/self/task")) - before)
    assert (data[1:] == len(loops)).all()
    assert found == ([0] * len(loops) if "no threads" in request.node.name else hired)


@pytest.mark.parametrize("spins", [0, 1])
def test_threads_that_sleep_between_all_jobs(harness: Any, spins: int) -> None:
    pool, _, run = harness
    pool.limit(3)
    pool.spins.value = spins
    data = np.zeros(10, "int64")
    data[0] = 9
    anywhere = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    before, error = tasks(), ctypes.create_string_buffer(ERROR_BYTES)
    for at in range(300):
        if at % 100 == 0:
            time.sleep(0.002)
        assert run(data.ctypes.data, 9, 1, 1, 0, 9, ctypes.addressof(error)) == 0
    assert (data[1:] == 300).all()
    if anywhere is not None:  # who waits is woken on a processor of its own, and may run anywhere again
        assert os.sched_getaffinity(0) == anywhere
    deadline = time.monotonic() + 20
    while any(map(is_awake, tasks() - before)):
        assert time.monotonic() < deadline, "a thread looks for work without end"
        time.sleep(0.01)


def tasks() -> set[str]:
    """The threads of this process, none where the system does not tell."""
    return set(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else set()


def is_awake(task: str) -> bool:
    with open(f"/proc/self/task/{task}/stat") as file:
        return file.read().rsplit(")")[1].split()[0] != "S"


UNEVEN = """
@T.prim_func
def uneven(A: T.Buffer((2,), "float64"), n: T.int64):
    for i in T.parallel(2, annotations={"grain": 1}):
        for j in range(T.if_then_else(i == 0, n, T.int64(1))):
            A[i] = T.sqrt(A[i] + 1.0)
"""


@pytest.mark.skipif(
    not os.path.isdir("/proc/self/task") or processors.processors() < 2, reason="threads that share never look"
)
def test_a_thread_that_is_done_does_not_sleep_before_the_loop_has_ended() -> None:
    code = f"""
import os, numpy as np, tirscript
tirscript.set_num_threads(2)
before = set(os.listdir("/proc/self/task"))
uneven = tirscript.build(tirscript.parse({UNEVEN!r}))
a = np.zeros(2)
uneven(a, 10)
(worker,) = set(os.listdir("/proc/self/task")) - before

def slept():
    with open(f"/proc/self/task/{{worker}}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))

def batch():
    start = slept()
    for _ in range(10):
        uneven(a, 100_000)  # longer than a thread looks for another loop
    return slept() - start

# the system may stop the caller for so long that its worker sleeps all the same, but not always
assert any(batch() < 5 for _ in range(100))
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("processor", [*FUTEX, "wasm32"])
@pytest.mark.parametrize("system", ["unknown-linux-gnu", "apple-darwin"])
def test_the_text_is_valid_for_every_processor(processor: str, system: str) -> None:
    import llvmlite.binding as llvm

    host()
    for options in ({}, {"futex": False}, {"threads": False}):
        text = pool_text(f"{processor}-{system}", **options)
        llvm.parse_assembly(text).verify()
        slept = "@syscall" in text
        assert slept == (processor != "wasm32" and "linux" in system and not options)
