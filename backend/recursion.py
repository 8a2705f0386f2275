"""Functions that call each other in a cycle, and how deep their calls may be nested.

The interpreter counts all calls. Compiled functions of a cycle are told how deep they are by one more parameter, and
keep their frames small, so that the deepest nesting fits the stack of any usual thread; others pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

DEEPEST_CALL = 2_000  # nested calls
FRAME = 1024  # bytes of buffers in the frame of a function that calls itself; 2,000 frames are to fit in 8 MiB


def too_deep() -> str:
    """What the call that goes too deep is told."""
    return f"calls are nested more than {DEEPEST_CALL} deep"


HINT = "see that the recursion ends, or write a loop"
ADDRESS_ALONE = "its shape is compared with what the handle is matched as; `.data` of it passes the address alone"


def recursive_functions(calls: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The functions that may call themselves, directly or through others, of (caller, callee) pairs."""
    callees: dict[str, set[str]] = {}
    for caller, callee in calls:
        callees.setdefault(caller, set()).add(callee)
    callers: dict[str, set[str]] = {}
    for caller, below in callees.items():
        for callee in below:
            callers.setdefault(callee, set()).add(caller)
    left = _core(_core(callees.keys() & callers.keys(), callees, callers), callers, callees)
    return frozenset(name for name in left if name in _reached(name, callees, left))


def _core(names: set[str], out: dict[str, set[str]], back: dict[str, set[str]]) -> set[str]:
    """`names` without those from which every way along `out` ends."""
    count = {name: len(out.get(name, ())) for name in (*out, *back)}
    ended = [name for name, below in count.items() if not below]
    for name in ended:
        for before in back.get(name, ()):
            count[before] -= 1
            if not count[before]:
                ended.append(before)
    return names.difference(ended)


def _reached(name: str, callees: dict[str, set[str]], within: set[str]) -> set[str]:
    """What calls of `name` may lead to among `within`."""
    found: set[str] = set()
    todo = [name]
    while todo:
        new = callees.get(todo.pop(), set()) & within - found
        found |= new
        todo += new
    return found


__all__ = ["DEEPEST_CALL", "FRAME", "HINT", "recursive_functions", "too_deep"]
