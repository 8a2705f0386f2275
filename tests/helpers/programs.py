"""The same random programs at every run, for tests that look at many at once."""

from __future__ import annotations

import functools

from hypothesis import HealthCheck, Phase, given, settings

from tirscript.ir import PrimFunc
from tirscript.testing import programs


@functools.cache
def random_programs(count: int) -> tuple[PrimFunc, ...]:
    """So many random programs, which need not be runnable."""
    found: list[PrimFunc] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(runnable=False))
    def collect(program: PrimFunc) -> None:
        found.append(program)

    collect()
    return tuple(found)


def random_texts(count: int) -> list[str]:
    """Their texts."""
    return [program.script() for program in random_programs(count)]
