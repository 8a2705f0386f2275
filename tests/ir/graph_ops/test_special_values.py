"""Every operator on what is no ordinary number: its kernels give what its reference does, of nan, infinities and ends too.

The elements of one argument at a time are such values; that of one place where sums of several would depend on their
order. What a reference refuses, as places beyond an axis, kernels are not given.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.graph_calls import REFERENCED, drawn, expected, legalized, value_of

from tirscript import build, interpret
from tirscript.ir.constant import numpy_dtype
from tirscript.ir.graph import OpCall
from tirscript.ir.graph_op import BROADCAST, ELEMENTWISE, Legalized
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.reference import REFUSALS
from tirscript.ir.verify import check_well_formed

# arguments whose size says how much is computed: a region of 1e38 pixels has as many samples
SIZES = {"vision.roi_align": 1}
ROUNDS = 3  # random calls of each operator
TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 2e-4, "float64": 1e-6}


def specials(kind: Any) -> tuple[list[Any], list[Any]]:
    """Values of a dtype for several places, and for one."""
    if kind.kind == "b":
        return [], []
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return [0], [limits.min, limits.max]
    limits = ml_dtypes.finfo(kind)
    return [np.nan, np.inf, -np.inf, -0.0, limits.smallest_subnormal], [limits.min, limits.max, limits.tiny]


def variants(
    values: dict[int, Any], fixed: int | None, random: np.random.Generator, chosen: slice
) -> Iterator[tuple[str, dict[int, Any]]]:
    """The arrays of a call, and with special values (those chosen of them) among the elements of one array."""
    yield "ordinary values", values
    for key, array in values.items():
        if not array.size or key == fixed:
            continue
        several, single = specials(array.dtype)
        for value in [*several, *single][chosen]:
            changed = array.copy()
            count = 1 if value in single else max(1, array.size // 3)
            changed.reshape(-1)[random.permutation(array.size)[:count]] = value
            yield f"{array.dtype} {value}", {**values, key: changed}


def results(found: Legalized, values: dict[int, Any], how: Any) -> list[Any]:
    outs = [np.zeros(dims.numbers(kind.shape or ()), numpy_dtype(kind.dtype)) for kind in found.results if kind.dtype]
    how(*[value_of(arg, values).copy() for arg in found.args], *outs)
    return outs


def assert_same(found: Any, wanted: Any, what: str, signs: bool) -> None:
    """Equal, floats nearly, with nan, infinities and, where `signs` count, zeros of each sign at the same places."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, what
    if wanted.dtype.kind in "iub":
        np.testing.assert_array_equal(found, wanted, err_msg=what)
        return
    tolerance = TOLERANCE[wanted.dtype.name]
    a, b = (one.astype(np.float64) for one in (found, wanted))
    room = tolerance * max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=room, err_msg=what)
    if signs:
        zeros = (a == 0) & (b == 0)
        np.testing.assert_array_equal(np.signbit(a[zeros]), np.signbit(b[zeros]), err_msg=f"signs of zeros: {what}")


def assert_form_gives_what_the_reference_does(
    call: OpCall, values: dict[int, Any], found: Legalized, form: Any, seed: int, chosen: slice
) -> None:
    name = call.op.name
    signs = call.op.fusion in (ELEMENTWISE, BROADCAST)  # in sums that begin at 0.0 there is no -0.0
    fixed = id(call.args[SIZES[name]]) if name in SIZES else None
    random = np.random.default_rng(zlib.crc32(name.encode()) + seed)
    for what, changed in variants(values, fixed, random, chosen):
        try:
            wanted = expected(call, changed)
        except REFUSALS:
            assert changed is not values
            continue
        for out, one in zip(results(found, changed, form), wanted, strict=True):
            assert_same(out, np.asarray(one), f"{name} {dict(call.attrs)} of {what}: {found.func}", signs)


LEGALIZED = [name for name in REFERENCED if GRAPH_OPS[name].legalize is not None]


@pytest.mark.long
@pytest.mark.parametrize("name", LEGALIZED)
def test_the_interpreted_kernel_gives_what_the_reference_does(name: str) -> None:
    made = 0
    for seed in range(ROUNDS):
        call, values = drawn(name, seed)
        found = legalized(call)
        if found is None:
            continue
        made += 1
        check_well_formed(found.func)
        form = partial(interpret, found.func)
        assert_form_gives_what_the_reference_does(call, values, found, form, seed, slice(seed, None, ROUNDS))
    assert made


@pytest.mark.long
@pytest.mark.parametrize("name", LEGALIZED)
def test_the_native_kernel_gives_what_the_reference_does(name: str) -> None:
    for seed in range(ROUNDS, ROUNDS + 6):
        call, values = drawn(name, seed)
        found = legalized(call)
        # numpy's narrow floats are compared above; here they would only take time to compile
        if found is None or any(kind.dtype is not None and "16" in kind.dtype.name for kind in found.results):
            continue
        assert_form_gives_what_the_reference_does(call, values, found, build(found.func), seed, slice(None))
        return
