"""Random kernels with the default schedule, natively, leave what the interpreter leaves without it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.interpreter import interpret
from tirscript.ir import PrimFunc, structural_equal
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.plain_loops.blocks_from_loops import with_blocks
from tirscript.passes.schedule import Schedule, Trace
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, with_clamped_lines
from tirscript.passes.schedule.default_cpu.joined_lines import with_joined_lines
from tirscript.script import parse
from tirscript.testing import copies
from tirscript.testing.random_kernels import kernels, whole_arguments

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 60
FACTS = st.builds(
    CpuFacts,
    vector_bits=st.sampled_from((128, 256, 512)),
    threads=st.sampled_from((1, 2)),
    cache=st.sampled_from((1, 1 << 24)),
)


@pytest.mark.long
@given(kernels(), FACTS, st.integers(0, 99))
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_scheduled_kernel_is_the_kernel(kernel: PrimFunc, facts: CpuFacts, seed: int) -> None:
    note(kernel.script())
    schedule = default_schedule(kernel, facts)
    note(schedule.script())
    assert not verify(schedule.func)
    assert structural_equal(parse(schedule.script()), schedule.func)
    arguments = whole_arguments(kernel, seed)
    wanted = copies(arguments)
    interpret(kernel, *wanted)
    for function in (tirscript.build(schedule.func, pipeline=DEFAULT_LOWERING), tirscript.build(kernel)):
        found = copies(arguments)
        function(*found)
        assert all(map(same, wanted, found))


def same(left: Any, right: Any) -> bool:
    return bool(np.array_equal(left, right))


@given(kernels(), FACTS)
@settings(max_examples=max(20, CASES // 10), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_trace_is_the_schedule(kernel: PrimFunc, facts: CpuFacts) -> None:
    schedule = default_schedule(kernel, facts)
    again = Trace.parse(str(schedule.trace)).replay(
        Schedule(with_joined_lines(with_clamped_lines(with_blocks(kernel))))
    )
    assert again.script() == schedule.script()
