"""The text of every example, character by character: in this language, and in TVM's dialect."""

from __future__ import annotations

import pytest

from tirscript.ir.constant import constants_of
from tirscript.testing import Example, Golden, examples

# what schedules make is kept by the tests of schedules
EXAMPLES = [example for example in examples() if not example.name.startswith("scheduled_")]


# apache-tvm has no constants in tensor functions
@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if not constants_of(one.kernel)], ids=lambda example: example.name
)
def test_tvm_dialect(golden: Golden, example: Example) -> None:
    golden.check_text(example.kernel.script(dialect="tvm"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_narrow(golden: Golden, example: Example) -> None:
    golden.check_text(example.kernel.script(width=40))
