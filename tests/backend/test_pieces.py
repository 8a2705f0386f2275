"""The pieces of a thread's part: others take them where it is slow, or has not come."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import tirscript
from tests.helpers.threads import most_threads
from tirscript.backend.runtime import packed
from tirscript.backend.runtime.library import unregister_library
from tirscript.script import parse


@pytest.fixture(autouse=True)
def limit() -> Any:
    before = tirscript.get_num_threads()
    yield
    tirscript.set_num_threads(before)


# iterations that are worth a piece each; the one of number `slow` takes long
SLOW = """
@T.prim_func
def work(A: T.Buffer((16, 200000), "float32"), B: T.Buffer((16,), "uint64"), slow: T.int32):
    for i in T.parallel(16):
        B[i] = T.call_extern("uint64", "pthread_self")
        if i == slow:
            T.evaluate(T.call_extern("int32", "usleep", 50000))
        for j in range(200000):
            A[i, j] = A[i, j] + T.float32(1)
"""


@pytest.mark.parametrize(("slow", "rest"), [(0, range(1, 8)), (8, range(9, 16))], ids=["caller", "worker"])
def test_others_do_what_a_slow_thread_has_left(slow: int, rest: range) -> None:
    tirscript.set_num_threads(2)
    work = tirscript.build(parse(SLOW))

    def run() -> int:
        """How many of the iterations after the slow one, of the same part, another thread does."""
        a, b = np.zeros((16, 200000), "float32"), np.zeros(16, "uint64")
        work(a, b, slow)
        assert (a == 1).all()
        return int((b[list(rest)] != b[slow]).sum())

    assert most_threads(run, 7) == 7


FAILS = """
@T.prim_func
def work(A: T.Buffer((24, 100000), "float32"), L: T.Buffer((24,), "int32")):
    for i in T.parallel(24):
        assert L[i] == 0, "bad"
        for j in range(100000):
            A[i, j] = A[i, j] + T.float32(1)
"""


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_first_piece_that_fails_is_told_whoever_ran_it(count: int) -> None:
    tirscript.set_num_threads(count)
    work, rng = tirscript.build(parse(FAILS)), np.random.default_rng(count)
    for _ in range(30):
        a, marks = np.zeros((24, 100000), "float32"), np.zeros(24, "int32")
        bad = np.sort(rng.choice(24, rng.integers(1, 20), replace=False))
        marks[bad] = 1
        with pytest.raises(AssertionError, match=rf"note: i = {bad[0]}\b"):
            work(a, marks)
        assert (a[: bad[0]] == 1).all()


RAISES = """
@T.prim_func
def work(A: T.Buffer((16, 100000), "float32")):
    for i in T.parallel(16):
        T.evaluate(T.call_packed("pieces.check", i))
        for j in range(100000):
            A[i, j] = A[i, j] + T.float32(1)
"""


def test_exceptions_of_pieces_that_come_later_are_forgotten() -> None:
    """The caller takes the last pieces of a slow thread first, so it meets several exceptions, the first one last."""
    caller = threading.get_ident()

    def check(value: int) -> None:
        if threading.get_ident() != caller:
            time.sleep(0.02)
        if value > 9:
            raise KeyError(int(value))

    tirscript.register_library("pieces.check", check)
    tirscript.set_num_threads(2)
    try:
        work = tirscript.build(parse(RAISES))
        for _ in range(10):
            a = np.zeros((16, 100000), "float32")
            with pytest.raises(KeyError, match="10"):
                work(a)
            assert not packed._raised
            assert (a[:10] == 1).all()
    finally:
        unregister_library("pieces.check")
