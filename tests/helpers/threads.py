"""How many threads work on a loop."""

from __future__ import annotations

from collections.abc import Callable

# an iteration that takes so long that a thread which is woken for the loop finds some left; and only some that do
PAUSE = 'T.evaluate(T.call_extern("int32", "usleep", 2000))'
PAUSES = "if i % T.max({n} // 32, 1) == 0:\n        T.evaluate(T.call_extern('int32', 'usleep', 2000))"


def most_threads(run: Callable[[], int], wanted: int, tries: int = 100) -> int:
    """The most threads that one of some runs has, which `run` tells; no more runs once it has had `wanted`.

    One run may be over before all threads have woken up, as others do what they would have done.
    """
    most = 0
    while tries and most < wanted:
        most, tries = max(most, run()), tries - 1
    return most
