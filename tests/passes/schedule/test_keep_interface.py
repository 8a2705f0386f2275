"""transform_layout of parameters, with the function's interface unchanged: copies in, copies out, and padding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Block, BufferLoad, PrimFunc
from tirscript.ir.rewrite import rewrite, walk
from tirscript.passes.schedule import Schedule, ScheduleError
from tirscript.script import parse


def function(text: str) -> PrimFunc:
    made = parse("from tirscript.script import tir as T\n\n\n" + text)
    assert isinstance(made, PrimFunc)
    return made


GROW = function("""
@T.prim_func
def grow(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("grow"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi] * 2
""")
UPDATE = function("""
@T.prim_func
def update(A: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("update"):
            vi = T.axis.spatial(14, i)
            A[vi] = A[vi] * 2
""")


def attributes(func: PrimFunc) -> dict[str, dict[str, object]]:
    return {node.name: dict(node.annotations) for node in walk(func.body) if type(node) is Block and node.annotations}


def bare(func: PrimFunc) -> PrimFunc:
    """The function without the hints."""
    return rewrite(func, {Block: lambda block: block.replace(annotations=type(block.annotations)())})


@pytest.mark.parametrize(
    "mapping",
    [
        lambda i: (i // 4, i % 4),
        lambda i: (i % 4, i // 4),
        lambda i: i + 3,
        lambda i: ((i + 1) // 4, (i + 1) % 4),
        lambda i: (i // 8, i % 8 // 2, i % 2),
        lambda i: 2 * i,
    ],
    ids=["tiles", "turned", "offset", "padded at both ends", "three", "gaps"],
)
@pytest.mark.parametrize("pad_value", [0, 7, None])
@pytest.mark.parametrize("hints", [True, False])
def test_the_interface_and_the_result_stay(mapping, pad_value, hints) -> None:
    sch = Schedule(GROW)
    for name in "AB":
        sch.transform_layout("grow", name, mapping, pad_value=pad_value, keep_interface=True)
    made = sch.func if hints else bare(sch.func)
    assert made.params == GROW.params
    text = sch.func.script()
    assert parse(text).script() == text
    marks = attributes(sch.func)
    assert marks["A_pad"] == {"preproc": "pad"}
    assert marks["B_crop"]["postproc"] in (("crop",), ("crop", pad_value))
    given, out = np.arange(14, dtype="int32"), np.zeros(14, "int32")
    tirscript.interpret(made, given, out)
    assert (out == given * 2).all()
    if hints and pad_value == 7:
        native = np.zeros(14, "int32")
        tirscript.build(made)(given, native)
        assert (native == out).all()


def test_what_it_looks_like(golden) -> None:
    sch = Schedule(GROW)
    for name in "AB":
        sch.transform_layout("grow", name, lambda i: (i // 4, i % 4), pad_value=0, keep_interface=True)
    golden.check(sch.func)


def test_a_parameter_that_is_updated_is_copied_both_ways() -> None:
    sch = Schedule(UPDATE)
    sch.transform_layout("update", "A", lambda i: (i // 4, i % 4), pad_value=0, keep_interface=True)
    assert set(attributes(sch.func)) == {"A_pad", "A_crop"}
    values = np.arange(14, dtype="int32")
    tirscript.interpret(sch.func, values)
    assert (values == np.arange(14) * 2).all()


def test_the_padding_may_repeat_elements() -> None:
    total = function("""
@T.prim_func
def total(A: T.Buffer((14,), "int32"), B: T.Buffer((4, 4), "int32")):
    for i, j in T.grid(4, 4):
        with T.block("total"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[(vi * 4 + vj) % 14]
""")
    given = total.param_buffers[0]
    sch = Schedule(total)
    sch.transform_layout(
        "total",
        "A",
        lambda i: (i // 4, i % 4),
        pad_value=lambda i, j: BufferLoad(given, (i * 4 + j - 14,)),
        keep_interface=True,
    )
    packed = next(node for node in walk(sch.func.body) if type(node) is Block and node.name == "A_pad")
    assert sum(type(node) is BufferLoad for node in walk(packed)) == 2
    values, out = np.arange(14, dtype="int32") + 1, np.zeros((4, 4), "int32")
    tirscript.interpret(sch.func, values, out)
    assert (out.reshape(16) == [*values, 1, 2]).all()


def test_padding_that_repeats_floats_may_be_nan() -> None:
    """The parameter itself changes, so its padding is assumed: nan is not equal to nan."""
    grow = parse(GROW.script().replace("int32", "float32"))
    assert isinstance(grow, PrimFunc)
    given = grow.param_buffers[0]
    sch = Schedule(grow)
    repeated = lambda i, j: BufferLoad(given, (i * 4 + j - 14,))
    sch.transform_layout("grow", "A", lambda i: (i // 4, i % 4), pad_value=repeated)
    values = np.arange(16, dtype="float32")
    values[[0, 14]] = np.nan
    values[15] = 1
    for run in (lambda *args: tirscript.interpret(sch.func, *args), tirscript.build(sch.func, debug=True)):
        out = np.zeros(14, "float32")
        run(values.reshape(4, 4), out)
        assert np.array_equal(out, values[:14] * 2, equal_nan=True)


def test_two_indices_that_collide_are_named() -> None:
    with pytest.raises(
        ScheduleError, match=r"(?s)two elements of `A` at one place.*\(6,\) and \(13,\) both go to \(6,\)"
    ):
        Schedule(GROW).transform_layout("grow", "A", lambda i: i % 7, keep_interface=True)


@pytest.mark.parametrize(
    ("text", "buffer", "message"),
    [
        ("B[vi] = A[vi]", "P", "`keep_interface` is for parameters, and `P` is none"),
        ("B[vi // 2] = A[vi]", "B", "B"),
        ("if A[vi] > 0:\n                B[vi] = A[vi]", "B", "may leave elements of `B` out"),
    ],
    ids=["no parameter", "not proved to be written whole", "written where a condition holds"],
)
def test_refusals(text: str, buffer: str, message: str) -> None:
    func = function(f"""
@T.prim_func
def f(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    P = T.alloc_buffer((14,), "int32")
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            P[vi] = 0
            {text}
""")
    with pytest.raises(ScheduleError, match=message):
        Schedule(func).transform_layout("B", buffer, lambda i: (i // 4, i % 4), keep_interface=True)


def test_a_pad_value_may_read_that_buffer_alone() -> None:
    other = GROW.param_buffers[1]
    with pytest.raises(ScheduleError, match="`pad_value` reads `B`; it may read `A` alone"):
        Schedule(GROW).transform_layout(
            "grow", "A", lambda i: (i // 4, i % 4), pad_value=lambda i, j: BufferLoad(other, (i,)), keep_interface=True
        )
    with pytest.raises(ScheduleError, match="would repeat elements of `A`, which the function writes"):
        Schedule(UPDATE).transform_layout(
            "update",
            "A",
            lambda i: (i // 4, i % 4),
            pad_value=lambda i, j: BufferLoad(UPDATE.param_buffers[0], (i,)),
            keep_interface=True,
        )


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 5), st.booleans(), st.sampled_from([0, -3, None]))
def test_any_tiles(size: int, tile: int, offset: int, turned: bool, pad_value: int | None) -> None:
    func = function(f"""
@T.prim_func
def grow(A: T.Buffer(({size},), "int32"), B: T.Buffer(({size},), "int32")):
    for i in range({size}):
        with T.block("grow"):
            vi = T.axis.spatial({size}, i)
            B[vi] = A[vi] * 2
""")
    sch = Schedule(func)

    def mapping(i):
        outer, inner = (i + offset) // tile, (i + offset) % tile
        return (inner, outer) if turned else (outer, inner)

    for name in "AB":
        sch.transform_layout("grow", name, mapping, pad_value=pad_value, keep_interface=True)
    given, out = np.arange(size, dtype="int32"), np.zeros(size, "int32")
    tirscript.interpret(sch.func, given, out)
    assert (out == given * 2).all()
