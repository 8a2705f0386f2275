"""Code that LLVM 22 compiles wrongly for x86: two parts of a vector of several registers, side by side.

Take a vector of an odd number of registers, as a loop over rows of that length loads it at once: three, say, with parts
0 to 5 of half a register each. Where one value takes its elements from part 3 alone and another from part 4, and the
two are put side by side after some arithmetic, the processor gets other elements. The IR is right. In general it is
part m and the next one, of vectors of 2 m parts or one element more, m odd; parts may be smaller than half a register.
The passes leave such pairs where they write small loops out; when they make no vectors of statements, or of loops, they
do not.
"""

from __future__ import annotations

import re

_SHUFFLE = re.compile(
    r"shufflevector <(\d+) x \w+> (%[^,]+), <\d+ x \w+> (?:poison|undef), "
    r"<(\d+) x i32> (zeroinitializer|<[^>]*>|splat[^\n]*)"
)
_PLACE = re.compile(r"i32 (\d+)")


def may_break(ir: str) -> bool:
    """Whether IR has two values that take elements of such parts. Whether they are put side by side is not asked."""
    seen: set[tuple[str, int, int]] = set()
    for lanes, source, taken, mask in _SHUFFLE.findall(ir):
        size = int(taken)
        middle = int(lanes) // (2 * size)
        if middle < 3 or middle % 2 == 0:
            continue
        parts = {int(place) // size for place in _PLACE.findall(mask)}
        part = parts.pop() if len(parts) == 1 else None
        if part in (middle, middle + 1):
            seen.add((source, size, part))
            if (source, size, 2 * middle + 1 - part) in seen:
                return True
    return False


__all__ = ["may_break"]
