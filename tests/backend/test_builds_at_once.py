"""Builds from many threads at once, and builds that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.cache import Cache
from tirscript.script import parse

ROOT = Path(__file__).resolve().parent.parent.parent
SCALE = """
from tirscript.script import tir as T

@T.prim_func
def scale(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for i in range(4096):
        with T.block("scale"):
            vi = T.axis.spatial(4096, i)
            B[vi] = A[vi] * {factor}.0
"""


def at_once(work: Callable[[int], None], count: int) -> None:
    """Do the work in so many threads that start together; raise what one of them raised."""
    barrier = threading.Barrier(count)
    problems: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def check(function: Any, factor: int) -> None:
    A, B = np.arange(4096, dtype="float32"), np.zeros(4096, "float32")
    function(A, B)
    np.testing.assert_array_equal(B, A * factor)


@pytest.mark.parametrize("cached", [False, True])
def test_threads_that_build_and_call_at_once(cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE", "1" if cached else "0")
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path))

    def work(number: int) -> None:
        for factor in (2, 3 + number, 2):
            check(tirscript.build(parse(SCALE.format(factor=factor))), factor)

    at_once(work, 6)
    assert len(Cache(tmp_path, 1 << 30).entries()) == (7 if cached else 0)


def test_threads_that_call_a_function_of_jit_for_the_first_time() -> None:
    for factor in range(2, 6):
        function = tirscript.jit(parse(SCALE.format(factor=factor)))
        at_once(lambda _, function=function, factor=factor: check(function, factor), 6)  # type: ignore[misc]


BUILDS = """
import sys
import numpy as np
import tirscript
from tirscript.script import parse
text = sys.stdin.read()
A, B = np.ones(4096, "float32"), np.zeros(4096, "float32")
print("ready", flush=True)
for factor in range(2, int(sys.argv[1])):
    tirscript.build(parse(text.replace("FACTOR", str(factor))))(A, B)
    assert (B == factor).all()
print("done", flush=True)
"""


def building(folder: Path, count: int) -> subprocess.Popen[str]:
    """A process that builds so many kernels, which has read its text."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TIRSCRIPT_CHECK": "0", "TIRSCRIPT_CACHE": "1"}
    environment["TIRSCRIPT_CACHE_DIR"] = str(folder)
    worker = subprocess.Popen(
        [sys.executable, "-c", BUILDS, str(count)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(SCALE.format(factor="FACTOR"))
    worker.stdin.close()
    assert worker.stdout.readline() == "ready\n"
    return worker


def test_a_build_that_is_killed_leaves_no_damage(tmp_path: Path) -> None:
    for wait in (0.05, 0.4, 0.6):
        worker = building(tmp_path, 1000)
        time.sleep(wait)
        worker.send_signal(signal.SIGKILL)
        assert worker.wait() == -signal.SIGKILL
        assert worker.stdout is not None
        worker.stdout.close()
        store = Cache(tmp_path, 1 << 30)
        for entry in store.entries():
            assert store.read(Path(entry.path).name) is not None, "a file that is there is whole"
    worker = building(tmp_path, 5)
    assert worker.stdout is not None
    assert worker.stdout.read() == "done\n" and worker.wait() == 0
    worker.stdout.close()


INTERRUPTED = """
import gc
import tirscript
from tirscript.backend.llvm import compiling
from tirscript.examples import matmul

def interrupt(manager):
    raise KeyboardInterrupt

kept, compiling._dispose = compiling._dispose, interrupt
for _ in range(3):
    try:
        tirscript.build(matmul.matmul)
    except KeyboardInterrupt:
        gc.collect()
        print("interrupted")
compiling._dispose = kept
tirscript.build(matmul.matmul)
print("built")
"""


def test_a_build_that_is_interrupted_leaves_the_process_whole() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TIRSCRIPT_CACHE": "0", "TIRSCRIPT_CHECK": "0"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["interrupted"] * 3 + ["built"]), done.stderr
