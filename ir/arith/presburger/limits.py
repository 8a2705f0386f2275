"""The bound on the work of one question, and what is raised where it is reached.

isl counts its operations itself; the sizes of what is handed to it are bounded before. All bounds are counts, so that
the same question has the same answer on every machine. A context of isl is made for one question or one analysis:
nothing is shared between threads, and errors stay in it instead of being printed.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import islpy

# operations of isl for one question; a usual one takes 1,000 to 10,000
OPERATIONS = 50_000
# of one proof, whose sets are simpler: a usual one takes 300 to 2,000; hard ones cost up to 0.1 ms each
PROVING = 4_000
# how many nodes a question may be made of, and how many pieces its sets and functions may fall into
NODES = 4_000
PIECES = 400

# no memory holds more elements: what symbols that are sizes are bounded by, so that sums of them fit int64
LARGEST = 1 << 56

T = TypeVar("T")


class Unknown(Exception):
    """There is no answer: not affine, or more work than is allowed. It never means yes or no."""


def context() -> islpy.Context:
    """A context of its own, silent about its errors."""
    _load()
    import islpy

    fresh = islpy.Context()
    fresh.set_on_error(islpy.on_error.CONTINUE)
    return fresh


@cache
def _load() -> None:
    """Load isl whole before Ctrl-C is heard: of an extension module that is interrupted, Python keeps the half."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is None or threading.current_thread() is not threading.main_thread():
        import islpy

        return
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        import islpy  # noqa: F401 (to have it)
    finally:
        signal.signal(signal.SIGINT, handler)
    if heard:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def bounded(ctx: islpy.Context, operations: int = OPERATIONS) -> Iterator[None]:
    """Let isl work on `ctx` for `operations` at most; Unknown where that is not enough.

    Inside of another it is a part of that one's work.
    """
    import islpy

    if ctx.get_max_operations():
        yield
        return
    ctx.reset_operations()
    ctx.set_max_operations(operations)
    try:
        yield
    except islpy.Error as problem:
        raise Unknown(str(problem)) from None
    finally:
        ctx.set_max_operations(0)


def as_int(value: islpy.Val) -> int:
    """A value of isl as an int; Unknown where the bound was reached before its digits were written."""
    text = value.to_str()
    if text is None:
        raise Unknown("maximal number of operations exceeded")
    return int(text)


def value_of(ctx: islpy.Context, number: int) -> islpy.Val:
    """A number as isl has it."""
    import islpy

    if -(1 << 62) < number < 1 << 62:
        return islpy.Val.int_from_si(ctx, number)
    return islpy.Val.read_from_str(ctx, str(number))


def or_none(question: Callable[[], T]) -> T | None:
    """The answer to `question`, None where it is unknown."""
    try:
        return question()
    except Unknown:
        return None
