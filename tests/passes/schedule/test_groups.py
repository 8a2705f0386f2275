"""Convolutions of groups: in each style in which they are written, equal to plain loops, and in register tiles."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse

WIDE = CpuFacts(512, 2)
HEAD = """
@T.prim_func
def main(X: T.Buffer({data}, "float32"), W: T.Buffer({weights}, "float32"), Y: T.Buffer({shape}, "float32")):
"""
STYLES = {
    "loops": """
    for f, y, x in T.grid({filters}, {size}, {size}):
        Y[{at}] = 0.0
        for c, i, j in T.grid({each_in}, {window}, {window}):
            Y[{at}] += X[{source}] * W[f, c, i, j]
""",
    "block": """
    for f, y, x, c, i, j in T.grid({filters}, {size}, {size}, {each_in}, {window}, {window}):
        with T.block("conv"):
            f, y, x, c, i, j = T.axis.remap("SSSRRR", [f, y, x, c, i, j])
            with T.init():
                Y[{at}] = 0.0
            Y[{at}] += X[{source}] * W[f, c, i, j]
""",
    "groups": """
    for g, e, y, x, c, i, j in T.grid({groups}, {each_out}, {size}, {size}, {each_in}, {window}, {window}):
        with T.block("conv"):
            g, e, y, x, c, i, j = T.axis.remap("SSSSRRR", [g, e, y, x, c, i, j])
            with T.init():
                Y[{at}] = 0.0
            Y[{at}] += X[{source}] * W[g * {each_out} + e, c, i, j]
""",
    "other order": """
    for y, x, g, e, c, i, j in T.grid({size}, {size}, {groups}, {each_out}, {each_in}, {window}, {window}):
        with T.block("conv"):
            y, x, g, e, c, i, j = T.axis.remap("SSSSRRR", [y, x, g, e, c, i, j])
            with T.init():
                Y[{at}] = 0.0
            Y[{at}] += W[e + g * {each_out}, c, i, j] * X[{source}]
""",
}
BEHIND = """
    for f, y, x in T.grid({filters}, {size}, {size}):
        with T.block("relu"):
            f, y, x = T.axis.remap("SSS", [f, y, x])
            R[{whole}] = T.max(Y[{whole}], 0.0)
"""


def grouped(
    style: str,
    groups: int,
    each_in: int,
    each_out: int,
    size: int,
    window: int,
    *,
    last: bool = False,
    relu: bool = False,
) -> PrimFunc:
    """A convolution over images that have their borders; `last` puts channels behind the pixels."""
    wide, two = size + window - 1, style in ("groups", "other order")
    group, filters = ("g", f"g * {each_out} + e") if two else (f"f // {each_out}", "f")
    channel = f"{group} * {each_in} + c"
    text = HEAD + STYLES[style]
    if relu:
        text = text.replace('Y: T.Buffer({shape}, "float32")', 'R: T.Buffer({shape}, "float32")')
        text = text.replace("):\n", '):\n    Y = T.alloc_buffer({shape}, "float32")\n', 1) + BEHIND
    found = parse(
        text.format(
            data=(wide, wide, groups * each_in) if last else (groups * each_in, wide, wide),
            weights=(groups * each_out, each_in, window, window),
            shape=(size, size, groups * each_out) if last else (groups * each_out, size, size),
            at=f"y, x, {filters}" if last else f"{filters}, y, x",
            whole="y, x, f" if last else "f, y, x",
            source=f"y + i, x + j, {channel}" if last else f"{channel}, y + i, x + j",
            filters=groups * each_out,
            groups=groups,
            each_in=each_in,
            each_out=each_out,
            size=size,
            window=window,
        )
    )
    assert isinstance(found, PrimFunc)
    return found


def results(func: PrimFunc) -> list[np.ndarray]:
    """What the default schedule and plain loops compute of small whole numbers, whose sums are exact in any order."""
    rng, made = np.random.default_rng(3), []
    given = [rng.integers(-4, 5, param.constant_shape()).astype("float32") for param in func.params]
    for pipeline in ("default", DEFAULT_LOWERING):
        out = np.full_like(given[-1], np.nan)
        tirscript.build(func, pipeline=pipeline)(*given[:-1], out)
        made.append(out)
    return made


@pytest.mark.long
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("groups", "each_in", "each_out", "size", "window"),
    [
        (4, 16, 16, 14, 3),
        (2, 3, 32, 9, 3),
        (3, 5, 48, 8, 1),
        (8, 4, 8, 12, 3),
        (2, 7, 16, 13, 5),
        (5, 3, 3, 11, 3),
        (4, 5, 29, 9, 3),
        (2, 6, 13, 8, 1),
    ],
)
@pytest.mark.parametrize("last", [False, True])
def test_the_results_are_those_of_plain_loops(
    style: str, groups: int, each_in: int, each_out: int, size: int, window: int, last: bool
) -> None:
    got, plain = results(grouped(style, groups, each_in, each_out, size, window, last=last))
    np.testing.assert_array_equal(got, plain)


@pytest.mark.parametrize("style", STYLES)
def test_what_reads_them_takes_them(style: str) -> None:
    got, plain = results(grouped(style, 4, 8, 16, 14, 3, relu=True))
    np.testing.assert_array_equal(got, plain)
    assert (got >= 0).all() and (got > 0).any()


@pytest.mark.parametrize("style", STYLES)
def test_each_group_is_a_convolution(style: str) -> None:
    made = default_schedule(grouped(style, 4, 16, 16, 14, 3), WIDE)
    assert [step.primitive for step in made.trace.steps].count("reindex") == 2
    text = made.func.script()
    assert "T.fma" in text and 'scope="local"' in text and "W_reindex" in text


def test_groups_without_vectors_of_filters_stay_what_they_were() -> None:
    made = default_schedule(grouped("block", 5, 3, 3, 11, 3), WIDE)
    assert "reindex" not in [step.primitive for step in made.trace.steps]
    uneven = grouped("block", 4, 16, 16, 14, 3).script().replace("// 16 * 16", "// 24 * 16")
    assert "// 24 * 16" in uneven
    assert "reindex" not in [step.primitive for step in default_schedule(parse(uneven), WIDE).trace.steps]


@pytest.mark.parametrize("style", STYLES)
def test_filters_of_a_group_are_rounded_up(style: str) -> None:
    made = default_schedule(grouped(style, 4, 5, 29, 9, 3), WIDE)
    assert "pad_einsum" in [step.primitive for step in made.trace.steps]
    assert "W_reindex = " not in made.func.script()  # the copy by groups is made in that with zeros
