"""The interpreter gives the same results on a kernel at every stage of its lowering."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirscript.backend.interpreter import interpret
from tirscript.passes import DEFAULT_LOWERING
from tirscript.testing import Example, examples
from tirscript.testing.compare import copies, largest_error, tolerance

EXAMPLES = list(examples())


@pytest.mark.long
@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_example_at_every_stage(example: Example) -> None:
    given = example.inputs(np.random.default_rng(0))
    want = copies(given)
    example.reference(*want)
    first: list[Any] | None = None
    program: Any = example.kernel
    for step in (None, *DEFAULT_LOWERING.passes):
        lowered = program if step is None else step(program)
        if step is not None and lowered is program:
            continue
        program = lowered
        got = copies(given)
        interpret(program, *got)
        stage = "as written" if step is None else f"after {step.name}"
        assert largest_error(got, want) <= tolerance(given), stage
        if first is None:
            first = got
        assert largest_error(got, first) == 0.0, f"{stage}: not the very same numbers"
