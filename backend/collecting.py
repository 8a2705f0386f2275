"""Fewer collections of garbage while programs are built.

A build makes some hundred thousand nodes and drops most of them; nearly all are freed as soon as nobody refers to them.
Python's collector looks at what is new every 700 objects, and at all that the process holds every now and then.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tirscript.ir.forks import in_children

# new objects until the collector looks for garbage: a few megabytes of nodes
OBJECTS = 50_000

_lock = threading.Lock()
_users = 0
_usual = gc.get_threshold()


def _begin_anew() -> None:
    """In a child that was forked, where the threads that built are not."""
    global _lock, _users
    _lock = threading.Lock()
    if _users:
        _leave()
    _users = 0


def _leave() -> None:
    if gc.get_threshold()[0] == OBJECTS:
        gc.set_threshold(*_usual)


in_children(_begin_anew)


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Let the collector wait for OBJECTS new objects, inside of a `with`. One that is off, or waits longer, is left."""
    global _users, _usual
    with _lock:
        _users += 1
        if _users == 1:
            _usual = gc.get_threshold()
            if 0 < _usual[0] < OBJECTS:
                gc.set_threshold(OBJECTS, *_usual[1:])
    try:
        yield
    finally:
        with _lock:
            _users = max(0, _users - 1)
            if _users == 0:
                _leave()


__all__ = ["fewer_collections"]
