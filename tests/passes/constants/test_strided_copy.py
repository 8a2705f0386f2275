"""Copies as views with other strides: which are, and that they copy what the loops copy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Block, BufferLoad, BufferStore, Call, For, PrimFunc, walk
from tirscript.passes.constants.pack_constants import _copy
from tirscript.passes.constants.strided_copy import Padding, strided_copy
from tirscript.script import parse

TEXT = """
@T.prim_func
def f(W: T.Buffer({given}, "int32"), P: T.Buffer({shape}, "int32")):
    for {names} in T.grid({sizes}):
        with T.block("P"):
            {axes} = T.axis.remap("{kinds}", [{names}])
            P[{store}] = {value}
"""


def program(
    given: tuple[int, ...], shape: tuple[int, ...], sizes: tuple[int, ...], store: str, load: str, inside: str = ""
) -> PrimFunc:
    names = [f"i{at}" for at in range(len(sizes))]
    found = parse(
        TEXT.format(
            given=given,
            shape=shape,
            names=", ".join(names),
            sizes=", ".join(map(str, sizes)),
            axes=", ".join(f"v{at}" for at in range(len(sizes))),
            kinds="S" * len(sizes),
            store=store,
            value=f"T.if_then_else({inside}, W[{load}], 7)" if inside else f"W[{load}]",
        )
    )
    assert isinstance(found, PrimFunc)
    return found


def strided(func: PrimFunc) -> Any:
    """The function that copies, None where there is none."""
    block = next(node for node in walk(func) if type(node) is Block)
    store = next(node for node in walk(func) if type(node) is BufferStore)
    load = next(node for node in walk(func) if type(node) is BufferLoad)
    loops = {node.var: np.arange(node.start.value, node.stop.value) for node in walk(func) if type(node) is For}
    axes = [(axis.var, axis.value) for axis in block.axes]
    shapes = [one.buffer.constant_shape() for one in (store, load)]
    padding = Padding(store.value.args[0], 7) if type(store.value) is Call else None
    return strided_copy(loops, axes, (store.indices, shapes[0]), (load.indices, shapes[1]), padding)


def check(func: PrimFunc) -> bool:
    """Whether the nest is such a copy; if it is, the elements are those that the interpreter and the way by the place of
    each element copy."""
    shapes = [param.constant_shape() for param in func.params]
    source = np.random.default_rng(2).integers(0, 1 << 20, shapes[0]).astype("int32")
    wanted = np.full(shapes[1], -1, "int32")
    tirscript.interpret(func, source, wanted)
    copied = strided(func)
    nest = _copy(func.body[0], ())
    assert nest is not None
    steps = {loop.var: np.arange(loop.start.value, loop.stop.value) for loop in nest.loops}
    gathered = nest._gathered(steps, shapes[1], shapes[0])
    for one in (copied, gathered):
        if one is not None:
            np.testing.assert_array_equal(one(source.reshape(-1)), wanted)
    assert copied is None or gathered is not None
    return copied is not None


@pytest.mark.parametrize(
    ("given", "shape", "sizes", "store", "load"),
    [
        ((64, 32), (2, 64, 16), (64, 32), "v1 // 16, v0, v1 % 16", "v0, v1"),
        ((64, 32), (32, 64), (32, 64), "v0, v1", "v1, v0"),
        ((64, 32), (64, 32), (64, 32), "63 - v0, v1", "v0, v1"),  # below
        ((64, 32), (64, 32), (64, 32), "v0, v1", "63 - v0, 31 - v1"),
        ((60, 12), (4, 5, 3, 12), (4, 5, 3, 12), "v0, v1, v2, v3", "v0 * 15 + v1 * 3 + v2, v3"),
        ((24,), (2, 4, 3), (24,), "v0 % 2, v0 // 6, v0 // 2 % 3", "v0"),
        ((7, 5), (3, 5), (3, 5), "v0, v1", "v0 * 2 + 1, v1"),
        ((5,), (3, 5), (3, 5), "v0, v1", "v1"),
        ((1, 8), (8, 1), (1, 8), "v1, v0", "v0, v1"),
        ((3, 3), (3,), (3,), "v0", "v0, v0"),
    ],
)
def test_what_is_copied_by_strides(
    given: tuple[int, ...], shape: tuple[int, ...], sizes: tuple[int, ...], store: str, load: str
) -> None:
    assert check(program(given, shape, sizes, store, load)) is ("63 - v0" not in store)


@pytest.mark.parametrize(
    ("given", "shape", "sizes", "store", "load"),
    [
        ((8,), (8,), (8,), "v0 // 2 * 2", "v0"),  # not all of the target
        ((8,), (4,), (8,), "v0 // 2", "v0"),
        ((10,), (10,), (10,), "(v0 + 3) % 10", "v0"),
        ((4, 4), (4, 4), (4, 4), "v0, v1", "(v0 + v1) % 4, v1"),
        ((4, 4), (4, 4), (4, 4), "v0, v1", "v0 * v1 // 4, v1"),
        ((7,), (2, 4), (2, 4), "v0, v1", "T.min(v0 * 4 + v1, 6)"),
    ],
)
def test_what_is_not(
    given: tuple[int, ...], shape: tuple[int, ...], sizes: tuple[int, ...], store: str, load: str
) -> None:
    assert strided(program(given, shape, sizes, store, load)) is None


@pytest.mark.parametrize(
    ("given", "shape", "sizes", "store", "load", "inside", "taken"),
    [
        ((5, 30), (2, 5, 16), (5, 32), "v1 // 16, v0, v1 % 16", "v0, v1", "v1 < 30", True),
        ((5, 30), (2, 5, 16), (5, 32), "v1 // 16, v0, v1 % 16", "v0, v1", "v1 <= 20", True),
        ((5, 30), (6, 32), (6, 32), "v0, v1", "v0, v1", "v0 < 5 and v1 < 30", True),
        ((5, 30), (6, 32), (6, 32), "v0, v1", "v0, v1 - 0", "v1 < 30 and v0 + 1 < 6", True),
        ((30, 5), (8, 4, 5), (8, 4, 5), "v0, v1, v2", "v0 * 4 + v1, v2", "v0 * 4 + v1 < 30", True),
        ((5,), (8,), (8,), "v0", "v0", "v0 < -3", True),
        ((5,), (8,), (8,), "v0", "v0", "2 < v0 and v0 < 5", False),
        ((5, 5), (5, 5), (5, 5), "v0, v1", "v0, v1", "v0 + v1 < 5", False),
        ((5,), (8,), (8,), "v0", "v0 * 9", "v0 * 9 < 5", False),  # mostly padding
    ],
)
def test_what_is_padded(
    given: tuple[int, ...],
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    store: str,
    load: str,
    inside: str,
    taken: bool,
) -> None:
    assert check(program(given, shape, sizes, store, load, inside)) is taken


def test_what_is_not_there_is_not_copied() -> None:
    for sizes, load, inside in (((8,), "v0", "v0 < 6"), ((5, 8), "v0, v1", "v0 < 5")):
        assert strided(program((5,) * len(sizes), sizes, sizes, load, load, inside)) is None


def test_elements_of_another_number_are_refused() -> None:
    copied = strided(program((64, 32), (32, 64), (32, 64), "v0, v1", "v1, v0"))
    with pytest.raises(ValueError, match="5 elements, and not 2048"):
        copied(np.zeros(5, "int32"))


def test_no_index_of_an_element_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    arange = np.arange
    monkeypatch.setattr(np, "arange", lambda *args: made.append(args) or arange(*args))
    func = program((4096, 4096), (256, 4096, 16), (4096, 4096), "v1 // 16, v0, v1 % 16", "v0, v1")
    nest = _copy(func.body[0], ())
    assert nest is not None and nest.copied(1 << 28) is not None
    assert made == [(0, 4096), (0, 4096)]


@settings(deadline=None)
@given(data=st.data())
def test_random_layouts(data: st.DataObject) -> None:
    """Every dimension of a source is cut into digits, and the digits are put together to other dimensions."""
    cuts = data.draw(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=3))
    sizes = tuple(math.prod(one) for one in cuts)
    digits = []
    for dim, cut in enumerate(cuts):
        below = sizes[dim]
        for extent in cut:
            below //= extent
            digits.append((extent, f"v{dim} // {below} % {extent}"))
    order = data.draw(st.permutations(digits))
    shape, store = [], []
    while order:
        taken = data.draw(st.integers(1, len(order)))
        part, order = order[:taken], order[taken:]
        text = "0"
        for extent, digit in part:
            text = f"({text}) * {extent} + {digit}"
        shape.append(math.prod(extent for extent, _ in part))
        store.append(text)
    load = ", ".join(f"v{dim}" for dim in range(len(sizes)))
    assert check(program(sizes, tuple(shape), sizes, ", ".join(store), load))
