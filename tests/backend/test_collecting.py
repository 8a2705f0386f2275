"""The collector of garbage while programs are built: it waits longer, and is as it was behind."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.collecting import OBJECTS, fewer_collections
from tirscript.ir import DiagnosticError
from tirscript.passes import Instrument, PassContext
from tirscript.script import parse

TEXT = """
from tirscript.script import tir as T

@T.prim_func
def scale(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        B[i] = A[i] * 2.0
"""


@pytest.fixture(autouse=True)
def _usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_collector_waits_inside_and_is_as_it_was_behind() -> None:
    with fewer_collections():
        assert gc.get_threshold() == (OBJECTS, 10, 10)
        with fewer_collections():
            pass
        assert gc.get_threshold() == (OBJECTS, 10, 10)  # the inner one ended nothing
    assert gc.get_threshold() == (700, 10, 10)
    with pytest.raises(KeyError), fewer_collections():
        raise KeyError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (OBJECTS + 1, 5, 5)])
def test_what_the_user_set_is_left(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with fewer_collections():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_is_set_meanwhile_stays() -> None:
    with fewer_collections():
        gc.set_threshold(900)
    assert gc.get_threshold()[0] == 900


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_child_has_the_collector_as_it_was() -> None:
    inside, done = threading.Event(), threading.Event()

    def build() -> None:
        with fewer_collections():
            inside.set()
            done.wait()

    thread = threading.Thread(target=build)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        usual = gc.get_threshold()
        with fewer_collections():
            raised = gc.get_threshold()[0]
        os._exit(usual != (700, 10, 10) or raised != OBJECTS or gc.get_threshold() != usual)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.get_threshold() == (700, 10, 10)


def test_builds_collect_less_and_leave_the_collector_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIRSCRIPT_CACHE", "0")
    seen: list[Any] = []

    class Look(Instrument):
        def before(self, entry: Any, program: Any) -> None:
            seen.append(gc.get_threshold()[0])

    with PassContext(instruments=[Look()]):
        scale = tirscript.build(parse(TEXT))
    a, b = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    scale(a, b)
    np.testing.assert_array_equal(b, a * 2)
    assert set(seen) == {OBJECTS}
    assert gc.get_threshold() == (700, 10, 10)
    with pytest.raises(DiagnosticError):
        tirscript.build(parse(TEXT), pipeline=["vectorize_loop", "no_such_pass"])
    assert gc.get_threshold() == (700, 10, 10)
