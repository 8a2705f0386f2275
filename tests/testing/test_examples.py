"""Each example is what it says: round trip exact, and the interpreter, native code and numpy agree."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import structural_equal
from tirscript.ir.verify import verify
from tirscript.script import parse
from tirscript.testing import Example, copies, examples, largest_error, tolerance, try_example

EXAMPLES = {example.name: example for example in examples()}
WANTED = (
    *("grow", "addone", "pad", "crop", "vector_add", "matmul", "softmax", "layer_norm", "conv2d", "transpose"),
    *("histogram", "prefix_sum", "stencil", "bit_hash", "winograd"),
    *("scheduled_conv2d", "scheduled_int8_matmul", "scheduled_matmul", "scheduled_softmax", "scheduled_sum"),
)


def test_the_examples_are_all_there() -> None:
    assert sorted(EXAMPLES) == sorted(WANTED)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=list(EXAMPLES))
def test_the_text_is_the_kernel(example: Example) -> None:
    text = example.kernel.script()
    again = parse(text)
    assert structural_equal(example.kernel, again)
    assert again.script() == text
    assert verify(example.kernel) == []


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=list(EXAMPLES))
@pytest.mark.parametrize("seed", [0, 1])
def test_interpreter_native_and_numpy_agree(example: Example, seed: int) -> None:
    given = example.inputs(np.random.default_rng(seed))
    interpreted, native, expected = copies(given), copies(given), copies(given)
    tirscript.interpret(example.kernel, *interpreted)
    tirscript.build(example.kernel)(*native)
    example.reference(*expected)
    assert largest_error(given, expected) > tolerance(given), "the reference changes nothing"
    assert largest_error(interpreted, expected) <= tolerance(given)
    assert largest_error(native, expected) <= tolerance(given)
    assert largest_error(native, interpreted) <= tolerance(given)


@pytest.mark.parametrize("name", ["vector_add", "histogram", "softmax", "transpose"])
def test_large_inputs_are_right_too(name: str) -> None:
    example = EXAMPLES[name]
    given = example.inputs(np.random.default_rng(3), large=True)
    native, expected = copies(given), copies(given)
    tirscript.build(example.kernel)(*native)
    example.reference(*expected)
    assert largest_error(native, expected) <= tolerance(given)


def test_comments_of_the_examples_are_printed() -> None:
    assert "# the greatest element of the row, so that exp cannot overflow" in EXAMPLES["softmax"].kernel.script()


def test_an_example_can_be_tried(capsys: pytest.CaptureFixture[str]) -> None:
    example = EXAMPLES["grow"]
    try_example(example.kernel, example.inputs, example.reference)
    output = capsys.readouterr().out
    assert "def grow(" in output
    assert "grow agrees with numpy (largest error 0)" in output
    with pytest.raises(AssertionError, match="grow differs from numpy"):
        try_example(example.kernel, example.inputs, lambda A, B: None)
