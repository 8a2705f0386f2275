"""What the whole lowering makes of every example."""

from __future__ import annotations

from typing import Any

import pytest

from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.testing import Example, Golden, assert_round_trip, examples

# what schedules make is kept by the tests of schedules
EXAMPLES = [example for example in examples() if not example.name.startswith("scheduled_")]


def lowered(func: PrimFunc) -> Any:
    return DEFAULT_LOWERING(func)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example(golden: Golden, example: Example) -> None:
    assert_round_trip(example.kernel)
    assert_round_trip(golden.check_pass(example.kernel, lowered, comments=True))
