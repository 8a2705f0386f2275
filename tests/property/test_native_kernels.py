"""Random kernels with the default schedule, natively, in the ways that they are called: the code checks each index, no
byte beside the arguments changes, and the results are the interpreter's, for sizes that are known at the call only, for
views, for one array as several arguments, and for nan, infinities and denormal numbers. `make fuzz-native` runs 1,000
of each."""

from __future__ import annotations

import os
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from msgspec import Struct

import tirscript
from tirscript.backend.default_pipeline import lowering_of
from tirscript.backend.interpreter import interpret
from tirscript.backend.llvm import parallel
from tirscript.backend.runtime.arguments import written_params
from tirscript.ir import Attrs, Block, Buffer, Call, DiagnosticError, Module, PrimFunc, Var, substitute, walk
from tirscript.ir.dtype import INT64
from tirscript.ir.target import Target
from tirscript.passes.schedule.default_cpu import work
from tirscript.testing import copies
from tirscript.testing.random_kernels import kernels, whole_arguments

CASES = int(os.environ.get("TIRSCRIPT_CASES", "0")) or 6
SIZES = (0, 1, 2, 3, 5, 7, 13, 16, 17, 31, 32, 33)
many = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, scope="module")
def eager() -> Any:
    """Loops that can run in parallel do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "PARALLEL_WORK", 64)
        patch.setattr(parallel, "WORK", 0.0)
        patch.setattr(parallel, "ROUSE", 0.0)
        patch.setenv("TIRSCRIPT_CACHE", "0")
        yield


def checked(kernel: PrimFunc) -> Any:
    """The kernel as it is scheduled by default, with a check of each index and divisor in the code."""
    return tirscript.build(kernel, pipeline=lowering_of(Target.parse("llvm")), debug=True)


def agree(wanted: list[Array], found: list[Array]) -> bool:
    """Whether arrays hold the same: signs of zeros and the smallest numbers depend on the order of a sum."""
    return all(np.allclose(a, b, rtol=0, atol=1e-30, equal_nan=True) for a, b in zip(wanted, found, strict=True))


def interpreted(kernel: PrimFunc, arguments: list[Array]) -> list[Array]:
    """What the interpreter leaves; another kernel is drawn where it reads what a sum of nothing did not store."""
    wanted = copies(arguments)
    try:
        interpret(kernel, *wanted)
    except DiagnosticError as problem:
        assume(any(one.code != "T303" for one in problem.diagnostics))
        raise
    return wanted


def numbers(kernel: PrimFunc, seed: int, odd: float = 0.0, sizes: Any = None) -> list[Array]:
    """Arguments, without nan where the kernel has a maximum or minimum: which numbers on the two sides of a nan come
    through depends on the order, as `T.max(nan, x)` is x and `T.max(x, nan)` is nan. Where such a kernel computes
    something else, too, it gets no infinities either, since `inf - inf` is nan."""
    arguments = whole_arguments(kernel, seed, sizes, odd)
    operators = {node.op.name for node in walk(kernel) if type(node) is Call and node.dtype.is_float}
    if operators & {"max", "min"}:
        for array in arguments:
            array[array != array] = 1
            if operators - {"max", "min"} and array.dtype.kind == "f":
                array[np.isinf(array)] = 1
    return arguments


def fenced(array: Array, offset: int) -> tuple[Array, Array]:
    """A copy of an array in the middle of other bytes, `offset` elements behind a boundary of 64 bytes; and its bytes
    with those around."""
    around = 256
    raw = np.full(array.nbytes + 3 * around, 0xA5, np.uint8)
    start = around + -(raw.ctypes.data + around) % 64 + offset * array.itemsize
    view = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view, raw


def check_call(function: Any, arguments: list[Array], wanted: list[Array], offset: int) -> None:
    """Call a function on fenced copies; fail where it leaves something else, or anything beside them."""
    views = [fenced(array, offset + at) for at, array in enumerate(arguments)]
    function(*(view for view, _ in views))
    assert agree(wanted, [view for view, _ in views])
    for array, (view, raw) in zip(arguments, views, strict=True):
        start = view.ctypes.data - raw.ctypes.data if view.size else 0
        assert (np.delete(raw, slice(start, start + array.nbytes)) == 0xA5).all()


@given(kernels(), st.integers(0, 99), st.integers(0, 15), st.sampled_from((0.0, 0.0, 0.02, 0.2)))
@many
def test_every_index_is_in_its_buffer(kernel: PrimFunc, seed: int, offset: int, odd: float) -> None:
    note(kernel.script())
    arguments = numbers(kernel, seed, odd)
    wanted = interpreted(kernel, arguments)
    for function in (tirscript.build(kernel), checked(kernel)):
        check_call(function, arguments, wanted, offset)


@given(kernels(), st.integers(0, 99), st.sampled_from((0.02, 0.2)))
@many
def test_the_order_is_kept_where_it_is_to_be(kernel: PrimFunc, seed: int, odd: float) -> None:
    """With `fastmath` of False all results are those of the loops as they stand, nan and signs of zeros among them."""
    kernel = kernel.replace(attrs=Attrs({"fastmath": False}))
    note(kernel.script())
    arguments = whole_arguments(kernel, seed, odd=odd)
    wanted, found = interpreted(kernel, arguments), copies(arguments)
    tirscript.build(kernel)(*found)
    for a, b in zip(wanted, found, strict=True):
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        assert (np.signbit(a) == np.signbit(b))[a == 0].all()


@pytest.mark.long
@given(kernels(symbolic=True), st.data())
@many
def test_sizes_that_are_known_at_the_call(kernel: PrimFunc, data: Any) -> None:
    note(kernel.script())
    functions = (tirscript.build(kernel), checked(kernel))
    # a block's sum over nothing has no iteration that makes its init: what is left there is nobody's promise
    sums = any(type(node) is Block and node.init is not None for node in walk(kernel))
    for seed in range(4):
        sizes = {symbol: data.draw(st.sampled_from(SIZES[1:] if sums else SIZES)) for symbol in kernel.symbols}
        arguments = numbers(kernel, seed, 0.02 * (seed % 2), sizes)
        wanted = interpreted(kernel, arguments)
        for function in functions:
            check_call(function, arguments, wanted, seed)


def strided(kernel: PrimFunc) -> PrimFunc:
    """The kernel for arrays with any strides."""
    views: dict[Any, Any] = {
        param: param.replace(strides=tuple(Var(f"{param.name}_{at}", INT64) for at in range(param.ndim)))
        for param in kernel.params
        if isinstance(param, Buffer)
    }
    params = tuple(views.get(param, param) for param in kernel.params)
    return kernel.replace(params=params, body=substitute(kernel.body, views))


class Layout(Struct, frozen=True):
    """Where the elements of an array are in memory: the order of its axes, the steps along them, and whether the first
    row stands for all."""

    order: tuple[int, ...]
    steps: tuple[int, ...]
    repeated: bool

    def of(self, array: Array) -> tuple[Array, Array]:
        """The elements of an array in memory of this layout, and all of that memory."""
        large = np.full([array.shape[axis] * abs(self.steps[axis]) for axis in self.order], 99, array.dtype)
        view = np.transpose(large, np.argsort(self.order))[tuple(slice(None, None, step) for step in self.steps)]
        view[...] = array
        return (np.broadcast_to(view[:1], view.shape) if self.repeated else view), large


@st.composite
def layouts(draw: Any, param: Any, written: bool) -> Layout:
    order = draw(st.permutations(range(param.ndim)))
    steps = draw(st.tuples(*(st.sampled_from((1, 1, 2, 3, -1, -2)) for _ in order)))
    return Layout(tuple(order), steps, not written and draw(st.integers(0, 4)) == 0)


@given(kernels(), st.integers(0, 99), st.data())
@many
def test_views(kernel: PrimFunc, seed: int, data: Any) -> None:
    kernel = strided(kernel)
    note(kernel.script())
    written = written_params(kernel, Module((kernel,)))
    values = whole_arguments(kernel, seed)
    chosen = [data.draw(layouts(param, param in written)) for param in kernel.params]
    arguments = [np.array(layout.of(value)[0]) for layout, value in zip(chosen, values, strict=True)]
    wanted = interpreted(kernel, arguments)
    for function in (tirscript.build(kernel), checked(kernel)):
        views = [layout.of(value) for layout, value in zip(chosen, values, strict=True)]
        function(*(view for view, _ in views))
        assert agree(wanted, [view for view, _ in views])
        for param, (view, memory) in zip(kernel.params, views, strict=True):
            if param in written:
                view[...] = 99
                assert (memory == 99).all(), "what lies between the elements has changed"


@given(kernels(), st.integers(0, 99), st.integers(0, 5), st.data())
@many
def test_arguments_that_overlap(kernel: PrimFunc, seed: int, shift: int, data: Any) -> None:
    note(kernel.script())
    arguments = whole_arguments(kernel, seed)
    written = written_params(kernel, Module((kernel,)))
    params = kernel.params
    pairs = [
        pair
        for pair in combinations(range(len(params)), 2)
        if arguments[pair[0]].dtype == arguments[pair[1]].dtype and all(arguments[at].size > shift for at in pair)
    ]
    assume(pairs)
    first, second = data.draw(st.sampled_from(pairs))
    memory = np.concatenate([arguments[first].reshape(-1), arguments[second].reshape(-1), arguments[first].reshape(-1)])

    def overlapping() -> list[Array]:
        base, made = memory.copy(), copies(arguments)
        for at, start in ((first, 0), (second, shift)):
            made[at] = base[start : start + made[at].size].reshape(made[at].shape)
        return made

    given_arguments = overlapping()
    if params[first] in written or params[second] in written:
        before = copies(given_arguments)
        with pytest.raises(DiagnosticError, match="overlap in memory"):
            tirscript.build(kernel)(*given_arguments)
        assert all(map(np.array_equal, before, given_arguments))
        kernel = kernel.replace(attrs=Attrs({"noalias": False}))  # whose statements run as they stand
    wanted = overlapping()
    interpret(kernel, *wanted)  # in their memory, not in copies
    tirscript.build(kernel)(*given_arguments)
    assert agree(wanted, given_arguments)
