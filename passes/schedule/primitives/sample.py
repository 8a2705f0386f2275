"""Samplers: choices that a search varies, repeatable by the seed and fixed by `decision`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb
from random import Random
from typing import Any

from tirscript.ir.expr import Const
from tirscript.ir.words import counted

from ..blocks import writes_of
from ..dataflow import readers, scope_of
from ..edit import Edit
from ..primitive import BlockAt, LoopAt, query
from ..tree import Place

MOST, MOST_FACTORS = 1 << 40, 256  # what is quickly taken apart


@query
def sample_perfect_tile(
    edit: Edit, loop: LoopAt, n: int, max_innermost_factor: int = 16, decision: list[int] | None = None
) -> list[int]:
    """`n` factors whose product is the extent of a loop, the last at most `max_innermost_factor`.

    All such tuples of factors are equally likely. `decision` is what was drawn; a replay gives it.
    """
    extent = edit.analyzer(loop).simplify(loop.stmt.extent)
    if type(extent) is not Const or int(extent.value) < 1:
        edit.refuse(f"the extent of `{loop.stmt.var.name}` is not a number", loop)
    size = int(extent.value)
    if n < 1 or max_innermost_factor < 1:
        edit.wrong("`n` and `max_innermost_factor` are at least 1")
    if n > MOST_FACTORS or size > MOST:
        edit.wrong(
            f"loops of up to {MOST:,} have up to {MOST_FACTORS} factors: this is {counted(n, 'factor')} of {size:,}"
        )
    if decision is not None:
        product = 1
        for factor in decision:
            product *= factor
        if len(decision) != n or product != size or min(decision) < 1:
            edit.wrong(f"`decision` is {decision}, not {n} factors of {size}")
        return list(decision)
    found = _tiling(edit.random, size, n, max_innermost_factor)
    edit.decisions["decision"] = found
    return found


def _tiling(random: Random, size: int, n: int, innermost: int) -> list[int]:
    """One of the tuples of `n` factors of `size` whose last is at most `innermost`, all equally likely.

    There may be more of them than memory holds, so that they are counted, and the one of a number is found.
    """
    if n == 1:
        return [size]
    primes = _primes(size)

    def ways(value: int, count: int) -> int:
        """How many tuples of `count` factors a divisor has: for each prime, those of its exponent as a sum."""
        found = 1
        for prime in primes:
            exponent = 0
            while value % prime == 0:
                value //= prime
                exponent += 1
            found *= comb(exponent + count - 1, exponent)
        return found

    lasts = [(one, ways(size // one, n - 1)) for one in _divisors(size, primes) if one <= innermost]
    last, number = _found(random.randrange(sum(count for _, count in lasts)), lasts)
    left, factors = size // last, []
    for more in range(n - 2, 0, -1):
        factor, number = _found(number, ((one, ways(left // one, more)) for one in _divisors(left, primes)))
        factors.append(factor)
        left //= factor
    return [*factors, left, last]


def _found(number: int, factors: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The factor of the tuple of a number, where each factor begins so many tuples, and its number among these."""
    for factor, count in factors:
        if number < count:
            return factor, number
        number -= count
    raise IndexError(f"there are {number} tuples less")


def _primes(size: int) -> list[int]:
    found, left, at = [], size, 2
    while at * at <= left:
        if left % at == 0:
            found.append(at)
            while left % at == 0:
                left //= at
        at += 1
    return [*found, left] if left > 1 else found


def _divisors(size: int, primes: list[int]) -> list[int]:
    """Those of a number made of these primes, the least first."""
    found = [1]
    for prime in primes:
        powers = [1]
        while size % (powers[-1] * prime) == 0:
            powers.append(powers[-1] * prime)
        found = [one * power for one in found for power in powers]
    return sorted(found)


@query
def sample_categorical(
    edit: Edit, candidates: Sequence[Any], probs: Sequence[float], decision: int | None = None
) -> Any:
    """One of the candidates, drawn with the given probabilities. `decision` is the number of the one that was drawn."""
    if len(candidates) != len(probs) or not candidates:
        edit.wrong(f"there are {len(candidates)} candidates and {len(probs)} probabilities")
    if min(probs) < 0 or abs(sum(probs) - 1) > 1e-6:
        edit.wrong("the probabilities are not negative and their sum is 1")
    if decision is None:
        decision = edit.random.choices(range(len(candidates)), probs)[0]
        edit.decisions["decision"] = decision
    if not 0 <= decision < len(candidates):
        edit.wrong(f"`decision` is {decision}, and there are {len(candidates)} candidates")
    return candidates[decision]


@query
def sample_compute_location(edit: Edit, block: BlockAt, decision: int | None = None) -> Place | int:
    """A loop that the block could be computed at: one around its first reader, or -1 where it stays where it is.

    `decision` is the number of the loop among those of the reader, -1 for staying, -2 for being inlined, which is not
    drawn. compute_at takes what is returned.
    """
    scope = scope_of(edit, block)
    consumers = [r for buffer in writes_of(block.stmt) for r in readers(scope, buffer) if r is not block]
    loops = [place for place in (consumers[0].loops() if consumers else []) if not place.contains(block)]
    loops = [place for place in loops if all(place.contains(consumer) for consumer in consumers)]
    if decision is None:
        decision = edit.random.randrange(-1, len(loops))
        edit.decisions["decision"] = decision
    if not -2 <= decision < len(loops):
        edit.wrong(f"`decision` is {decision}, and the reader has {counted(len(loops), 'loop')} around it")
    return decision if decision < 0 else loops[decision]
