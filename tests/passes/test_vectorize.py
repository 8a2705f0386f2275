"""Vector loops: what becomes vector code, what is predicated, and what stays a loop."""

from __future__ import annotations

import textwrap
from functools import partial

import numpy as np
import pytest
from helpers.passes import program, rewrites, same

import tirscript
from tirscript.ir import BufferLoad, For, PrimFunc, Ramp, walk
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.lower import vectorize_loop
from tirscript.script import parse
from tirscript.testing import Golden, assert_same_result

PARAMS = (
    'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), I: T.Buffer((16,), "int32"), '
    'M: T.Buffer((4, 8), "float32"), n: T.int32'
)


def text(body: str) -> str:
    return f"def f({PARAMS}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"


def vectorizes(golden: Golden, before: str) -> None:
    rewrites(golden, vectorize_loop, text(before))


def stays(body: str) -> None:
    """The loop becomes a serial loop and nothing more."""
    found = vectorize_loop(program(text(body)))
    same(found, program(text(body.replace("T.vectorized", "T.serial"))))


def lanes(func: PrimFunc) -> set[int]:
    return {node.lanes for node in walk(func) if type(node) is Ramp}


def test_loads_stores_and_constants(golden: Golden) -> None:
    vectorizes(
        golden,
        "for i in T.vectorized(8):\n    B[i] = A[i + n] * T.float32(2) + A[3]",
    )


def test_ramps_stay_ramps(golden: Golden) -> None:
    vectorizes(
        golden,
        "for i in T.vectorized(4):\n    j = 2 * i + 1\n    B[j * 1 + n - 3] = A[n - i] + A[i + i]",
    )


def test_a_gather_and_values_of_the_index(golden: Golden) -> None:
    vectorizes(
        golden,
        'for i in T.vectorized(4):\n    B[i] = A[I[i]] + T.cast(i // 2, "float32")',
    )


def test_the_last_index_of_a_matrix(golden: Golden) -> None:
    vectorizes(
        golden,
        "for i in range(4):\n    for j in T.vectorized(8):\n        M[i, j] = T.float32(0)",
    )


def test_start_and_widening_casts(golden: Golden) -> None:
    vectorizes(
        golden,
        'for i in T.vectorized(4, 8):\n    A[T.cast(i * 2, "int64") + T.int64(1)] = T.float32(1)',
    )


def test_a_condition_that_differs_between_lanes_is_a_predicate(golden: Golden) -> None:
    vectorizes(
        golden,
        "for i in T.vectorized(4):\n    if i < n:\n        B[i] = A[i + 1]\n    else:\n        B[i] = T.float32(0)",
    )


def test_a_condition_that_is_the_same_for_all_stays_an_if(golden: Golden) -> None:
    vectorizes(
        golden,
        "for i in T.vectorized(4):\n    if n < 3:\n        B[i] = A[i]",
    )


def test_a_choice_that_is_the_same_for_all_loads_what_is_chosen_only() -> None:
    func = parse("""
@T.prim_func
def f(A: T.Buffer((12, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i in range(16):
        for j in T.vectorized(8):
            B[i, j] = A[i, j] if i < 12 else 0.0
""")
    assert isinstance(func, PrimFunc)
    lowered = DEFAULT_LOWERING(func)
    assert "if i < 12" in lowered.script()
    a = np.arange(96, dtype="float32").reshape(12, 8)
    ways = (partial(tirscript.interpret, lowered), tirscript.build(lowered, pipeline=None, debug=True))
    for way in ways:
        b = np.full((16, 8), 9, "float32")
        way(a, b)
        np.testing.assert_array_equal(b, np.concatenate([a, np.zeros((4, 8), "float32")]))


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ("1.0 if B[i] > 0.0 or B[i] == 0.0 and i < n else 0.0", False),
        ("B[i] if B[i] > 0.0 else 0.0", False),
        ("1.0 if B[i] > 0.0 and B[i + 1] > 0.0 else 0.0", True),
        ("B[i] if i < n else 0.0", True),
        ("B[i] if B[i] > 0.0 or i < n and M[0, i] > 0.0 else M[0, i]", True),
        ("1.0 if (I[i] if i < n else 1) > 0 and I[i] > 1 else 0.0", True),  # not all lanes have loaded it
    ],
)
def test_what_all_lanes_have_loaded_is_no_load_of_some(value: str, masked: bool) -> None:
    before = program(text(f"for i in T.vectorized(8):\n    A[i] = {value}"))
    made = vectorize_loop(before)
    assert any(type(node) is BufferLoad and node.predicate is not None for node in walk(made.body)) == masked
    assert_same_result(before, made)


def test_a_side_takes_what_the_condition_has_loaded(golden: Golden) -> None:
    vectorizes(
        golden,
        """
        for i in T.vectorized(8):
            most: T.float32 = 0.0
            if A[I[i]] > most and A[2 * i] > 0.0:
                most = A[I[i]]
            elif A[I[i]] < 0.0:
                most = -A[I[i]]
            B[i] = most
        """,
    )


@pytest.mark.parametrize(
    "body",
    [
        "if A[i] > 0.0:\n    A[i] = -A[i]\n    A[i] = A[i] + 1.0\n    B[i] = A[i]\nelse:\n    B[i] = A[i]",
        "k: T.int32 = i\nif A[k] > 0.0:\n    k = 15 - i\n    B[i] = A[k]",
        "if A[i] > 0.0:\n    if B[i] > 0.0:\n        A[i] = 0.0\n    B[i] = A[i]",
        "if A[i] > 0.0:\n    if A[i] > 1.0:\n        A[i] = 1.0\n    else:\n        B[i] = A[i]\n    B[i] += A[i]",
        "if I[i] > 3 and A[I[i]] > 0.0:\n    B[i] = A[I[i]]\n    I[i] = 0",
    ],
)
def test_what_a_side_has_stored_is_loaded_again(body: str) -> None:
    func = program(text("for i in T.vectorized(8):\n" + textwrap.indent(body, "    ")))
    assert lanes(vectorize_loop(func)) == {8}

    def arguments(rng: np.random.Generator) -> list[object]:
        a, b, m = (rng.standard_normal(shape).astype("float32") for shape in (16, 16, (4, 8)))
        return [a, b, rng.permutation(16).astype("int32"), m, 3]

    assert_same_result(func, vectorize_loop(func), inputs=arguments, tolerance=0.0)


def test_a_condition_that_the_branch_changes_is_asked_once() -> None:
    found = vectorize_loop(
        program(
            text("""
    for i in T.vectorized(4):
        if A[i] < T.float32(1):
            A[i] = T.float32(2)
        else:
            A[i] = T.float32(3)
    """)
        )
    )
    same(
        found,
        program(
            text("""
    mask: T.let[T.boolx4] = A[0:4] < T.broadcast(T.float32(1), 4)
    A.vstore([T.ramp(0, 1, 4)], T.broadcast(T.float32(2), 4), predicate=mask)
    A.vstore([T.ramp(0, 1, 4)], T.broadcast(T.float32(3), 4), predicate=T.logical_not(mask))
    """)
        ),
    )


def test_mutable_scalars_become_vectors(golden: Golden) -> None:
    vectorizes(
        golden,
        """
        for i in T.vectorized(4):
            s: T.float32 = A[i]
            for k in range(3):
                s = s + A[k]
            B[i] = s
        """,
    )


def test_long_loops_are_cut() -> None:
    func = program(
        'def f(A: T.Buffer((192,), "float32")):\n    for i in T.vectorized(192):\n        A[i] = T.float32(1)'
    )
    assert lanes(vectorize_loop(func)) == {64}
    assert lanes(get_pass("vectorize_loop", lanes=16)(func)) == {16}
    (loop,) = vectorize_loop(func).body
    assert isinstance(loop, For)
    assert (loop.kind, loop.extent) == ("serial", loop.extent.__class__(3, loop.var.dtype))


@pytest.mark.parametrize(
    "extent, wanted",
    [(67, {64, 3}), (65, {64}), (129, {64}), (200, {40}), (66, {64, 2}), (48, {48}), (96, {48}), (104, {64, 40}), (7, {7})],
)  # fmt: skip
def test_what_does_not_divide_is_one_shorter_vector(extent: int, wanted: set[int]) -> None:
    func = program(
        f'def f(A: T.Buffer(({extent},), "float32"), B: T.Buffer(({extent + 3},), "int32")):\n'
        f"    for i in T.vectorized(3, {extent} + 3):\n        x = i * 2\n        y = A[i - 3]\n"
        '        B[i] = x + T.cast(y, "int32")'
    )
    made = vectorize_loop(func)
    assert lanes(made) == wanted
    given = np.arange(extent, dtype="float32")
    outs = [np.zeros(extent + 3, "int32") for _ in range(3)]
    tirscript.interpret(func, given, outs[0])
    tirscript.interpret(made, given, outs[1])
    tirscript.build(func)(given, outs[2])
    assert (outs[0] == outs[1]).all() and (outs[0] == outs[2]).all() and outs[0][-1] == 3 * extent + 3


@pytest.mark.parametrize(
    "body",
    [
        # one lane reads what another writes
        "for i in T.vectorized(8):\n    A[i + 1] = A[i]",
        # all lanes write one element
        "for i in T.vectorized(8):\n    A[0] = A[0] + B[i]",
        # lanes may write the same element
        "for i in T.vectorized(8):\n    A[I[i]] = B[i]",
        "for i in T.vectorized(8):\n    A[i // 2] = B[i]",
        "for i in T.vectorized(4):\n    for k in range(2):\n        A[i + k] = A[i + k] + B[i]",
        # the same memory under two names
        'V = T.decl_buffer((16,), "float32", data=A.data)\nfor i in T.vectorized(8):\n    V[i] = A[i + 1]',
        # an unknown number of lanes
        "for i in T.vectorized(n):\n    A[i] = T.float32(1)",
        # nothing that has a vector form
        'for i in T.vectorized(8):\n    T.evaluate(T.call_extern("int32", "g", i))',
        'for i in T.vectorized(8):\n    X = T.alloc_buffer((1,), "float32")\n    X[0] = A[i]\n    B[i] = X[0]',
        "for i in T.vectorized(8):\n    while A[i] < T.float32(1):\n        A[i] = A[i] + T.float32(1)",
        "for i in T.vectorized(8):\n    for k in range(i):\n        A[i] = B[i]",
        # a lane that is off must not divide by zero
        'for i in T.vectorized(8):\n    if I[i] != 0:\n        A[i] = T.cast(n // I[i], "float32")',
        # a vector in the first index
        "for i in T.vectorized(4):\n    M[i, 0] = A[i]",
        # it is vector code already
        "for i in T.vectorized(2):\n    A[i * 4:i * 4 + 4] = B[0:4]",
        # an assignment to a scalar of outside
        "s: T.float32 = T.float32(0)\nfor i in T.vectorized(8):\n    s = s + A[i]\nB[0] = s",
    ],
)
def test_what_has_no_vector_form_is_a_serial_loop(body: str) -> None:
    stays(body)


def test_stretches_that_do_not_meet_are_vectors() -> None:
    func = vectorize_loop(
        program(
            text("""
    for i in T.vectorized(4):
        for k in range(2):
            A[i * 2 + k] = A[i * 2 + k] + A[i * 2]
    """)
        )
    )
    assert lanes(func) == {4}


@pytest.mark.parametrize(
    "store, vectors",
    [
        ("U[(t + 1) % 2 * 40 + i + 1] = U[t % 2 * 40 + i] + U[t % 2 * 40 + i + 2]", True),  # the other plane
        ("U[(t + 2) % 2 * 40 + i + 1] = U[t % 2 * 40 + i] + U[t % 2 * 40 + i + 2]", False),  # the same one
        ("U[2 * i] = U[2 * i + 1] + U[2 * i + 3]", True),
        ("U[2 * i] = U[2 * i + 1] + U[2 * i + 2]", False),
        ("V[i + 1] = U[t % 2 * 40 + i] + U[t % 2 * 40 + i + 2]", True),
        ("W[40 * ((t + 1) % 2) + i] = U[t % 2 * 40 + i + 1]", True),  # of the same memory
        ("W[40 * (t % 2) + i] = U[t % 2 * 40 + i + 1]", False),
    ],
)
def test_what_is_proved_not_to_meet_is_vectors(store: str, vectors: bool) -> None:
    func = program(
        'def f(U: T.Buffer((80,), "float32"), V: T.Buffer((80,), "float32"), steps: T.int32):\n'
        '    W = T.decl_buffer((80,), "float32", data=U.data)\n'
        f"    for t in range(steps):\n        for i in T.vectorized(37):\n            {store}"
    )
    made = vectorize_loop(func)
    assert lanes(made) == ({37} if vectors else set())
    rng = np.random.default_rng(5)
    given = rng.standard_normal((2, 80)).astype("float32")
    want, *outs = [given.copy() for _ in range(3)]
    tirscript.interpret(func, *want, 5)
    tirscript.interpret(made, *outs[0], 5)
    tirscript.build(func)(*outs[1], 5)
    assert (outs[0] == want).all() and (outs[1] == want).all()


def test_a_vector_loop_inside_of_a_serial_one_that_stays() -> None:
    func = vectorize_loop(
        program(
            text("""
    for i in T.vectorized(n):
        for k in T.vectorized(4):
            A[k] = B[k]
    """)
        )
    )
    assert lanes(func) == {4}
    assert [node.kind for node in walk(func) if type(node) is For] == ["serial"]


def test_no_iteration_no_code() -> None:
    assert vectorize_loop(program(text("for i in T.vectorized(0):\n    A[i] = B[i]"))).body == ()
