"""Parallel loops in native code: what they compute, what ends them, and which ones run in order."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import tirscript
from tests.helpers.threads import PAUSE, PAUSES, most_threads
from tirscript.backend.llvm import parallel
from tirscript.backend.llvm.effects import releases_gil
from tirscript.backend.runtime import packed
from tirscript.backend.runtime.library import unregister_library
from tirscript.ir import DiagnosticError, For, PrimFunc, walk
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.lower.serialize_races import serialize_races
from tirscript.script import parse
from tirscript.testing import copies

THREADS = (1, 2, 3, 4, 7)
ONE = 'annotations={"grain": 1}'


def text(body: str, params: str, returns: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"@T.prim_func\ndef f({params}){returns}:\n{lines}\n"


def func(body: str, params: str, returns: str = "") -> PrimFunc:
    made = parse(text(body, params, returns))
    assert isinstance(made, PrimFunc)
    return made


@pytest.fixture(autouse=True)
def threads() -> Any:
    before = tirscript.get_num_threads()
    tirscript.set_num_threads(4)
    yield
    tirscript.set_num_threads(before)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop is worth threads, as it stands."""
    monkeypatch.setattr(parallel, "WORK", 0.0)
    monkeypatch.setattr(parallel, "ROUSE", 0.0)


def array(*shape: int, dtype: str = "float32") -> np.ndarray:
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 101).astype(dtype).reshape(shape)


# programs, with their parameters and arguments: native code on any number of threads is the interpreter
PROGRAMS: dict[str, tuple[str, str, list[Any]]] = {
    "elementwise": (
        "for i in T.parallel(n):\n    B[i] = A[i] * a + 1.0",
        'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), a: T.float32',
        [array(1000), array(1000), 3.0],
    ),
    "a scalar that changes before and after": (
        "s = a\ns = s + 1.0\nfor i in T.parallel(n):\n    A[i] = A[i] * s\ns = s * 2.0\n"
        "for i in T.parallel(n):\n    A[i] = A[i] + s",
        'A: T.Buffer(("n",), "float32"), a: T.float32',
        [array(10), 3.0],
    ),
    "values of every kind": (
        "k = n // 2 + 1\nflag = a > 1.0\nv = T.broadcast(a, 4)\nh = T.cast(a, 'float16')\nb: T.bool = flag\nb = not b\n"
        "u = T.cast(n, 'uint8')\n"
        "for i in T.parallel(n // 4):\n"
        "    A[T.ramp(i * 4, 1, 4)] = A[T.ramp(i * 4, 1, 4)] * v\n"
        "    if flag and not b:\n        A[i * 4] = A[i * 4] + T.cast(h, 'float32') + T.cast(k, 'float32') + T.cast(u, 'float32')",
        'A: T.Buffer(("n",), "float32"), a: T.float32',
        [array(64), 3.0],
    ),
    "nested, the inner one in order": (
        "for i in T.parallel(n):\n    for j in T.parallel(m):\n        A[i, j] = A[i, j] + T.cast(i * 10 + j, 'float32')",
        'A: T.Buffer(("n", "m"), "float32")',
        [array(9, 11)],
    ),
    "in a loop that is not": (
        "for k in range(3):\n    for i in T.parallel(n):\n        A[i] = A[i] * 2.0 + T.cast(k, 'float32')",
        'A: T.Buffer(("n",), "float32")',
        [array(10)],
    ),
    "memory of its own": (
        "for i in T.parallel(n):\n    t = T.alloc_buffer((m,), 'float32')\n    x: T.float32 = 0.0\n"
        "    for j in range(m):\n        t[j] = A[i, j] * 2.0\n"
        "    for j in range(m):\n        x = x + t[m - 1 - j] * T.cast(j, 'float32')\n    B[i] = x",
        'A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n",), "float32")',
        [array(9, 11), array(9)],
    ),
    "large memory of its own": (
        "for i in T.parallel(8):\n    t = T.alloc_buffer((20000,), 'float32')\n"
        "    for j in range(20000):\n        t[j] = A[i] + T.cast(j % 7, 'float32')\n    B[i] = t[i * 1000] + t[19999]",
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")',
        [array(8), array(8)],
    ),
    "memory around it": (
        "t = T.alloc_buffer((n,), 'float32')\nfor i in T.parallel(n):\n    t[i] = A[i] + 1.0\n"
        "for i in T.parallel(n):\n    B[i] = t[n - 1 - i]",
        'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")',
        [array(100), array(100)],
    ),
    "views of one memory": (
        "V = T.decl_buffer((50,), 'float32', data=A.data)\nW = T.decl_buffer((100,), 'float32', data=T.address_of(B[0]))\n"
        "for i in T.parallel(50):\n    W[i] = V[i] + A[i + 50]\n    V[i] = W[i] * 2.0",
        'A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")',
        [array(100), array(100)],
    ),
    "a constant": (
        "C = T.allocate_const([3, 1, 4, 1], 'int32', [4])\nfor i in T.parallel(4):\n    A[i] = A[i] + C[3 - i]",
        'A: T.Buffer((4,), "int32")',
        [array(4, dtype="int32")],
    ),
    "leaving an iteration, and loops inside": (
        "for i in T.parallel(n):\n    if A[i] > 50:\n        continue\n    k = 0\n    while True:\n        k += 1\n"
        "        if k > i:\n            break\n    A[i] = k",
        'A: T.Buffer(("n",), "int32")',
        [array(40, dtype="int32")],
    ),
    "from another start": (
        "for i in T.parallel(3, n - 2):\n    A[i] = A[i] + 1",
        'A: T.Buffer(("n",), "int32")',
        [array(40, dtype="int32")],
    ),
    "from a start that is read": (
        "for i in T.parallel(B[0], B[1]):\n    A[i] = A[i] + 1",
        'A: T.Buffer(("n",), "int32"), B: T.Buffer((2,), "int32")',
        [array(40, dtype="int32"), np.array([5, 31], "int32")],
    ),
    "by threes": (
        "for i in T.parallel(1, n, step=3):\n    A[i] = A[i] + i",
        'A: T.Buffer((41,), "int32"), n: T.int32',
        [array(41, dtype="int32"), 38],
    ),
    "backwards": (
        "for i in T.parallel(n - 1, 2, step=-2):\n    A[i] = A[i] + i",
        'A: T.Buffer((41,), "int32"), n: T.int32',
        [array(41, dtype="int32"), 38],
    ),
    "64 bits by threes": (
        "for i in T.parallel(1, n, step=3):\n    A[i] = A[i] + 1",
        'A: T.Buffer(("n",), "int32")',
        [array(41, dtype="int32")],
    ),
    "64 bits": (
        "for i in T.parallel(T.int64(2), T.int64(40)):\n    A[i] = A[i] + T.cast(i, 'int32')",
        'A: T.Buffer((40,), "int32")',
        [array(40, dtype="int32")],
    ),
    "8 bits without a sign": (
        "for i in T.parallel(T.uint8(2), T.uint8(250)):\n    A[i] = A[i] + T.cast(i, 'int32')",
        'A: T.Buffer((250,), "int32")',
        [array(250, dtype="int32")],
    ),
    "64 bits without a sign": (
        "for i in T.parallel(T.uint64(2), T.uint64(40)):\n    A[T.cast(i, 'int64')] = 5",
        'A: T.Buffer((40,), "int32")',
        [array(40, dtype="int32")],
    ),
    "a row each": (
        "for i in T.parallel(n):\n    for j in range(m):\n        C[i, j] = 0.0\n        for k in range(p):\n"
        "            C[i, j] = C[i, j] + A[i, k] * B[k, j]",
        'A: T.Buffer(("n", "p"), "float32"), B: T.Buffer(("p", "m"), "float32"), C: T.Buffer(("n", "m"), "float32")',
        [array(7, 5), array(5, 6), array(7, 6)],
    ),
    "through a permutation": (
        "for i in T.parallel(8):\n    B[P[i]] = A[i]",
        'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32")',
        [array(8), array(8), np.array([3, 1, 4, 0, 5, 7, 2, 6], "int32")],
    ),
    "a block": (
        "for i in T.parallel(n):\n    for j in range(m):\n        with T.block('C'):\n"
        "            vi, vj = T.axis.remap('SR', [i, j])\n            with T.init():\n                B[vi] = 0.0\n"
        "            B[vi] = B[vi] + A[vi, vj]",
        'A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n",), "float32")',
        [array(9, 11), array(9)],
    ),
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", PROGRAMS)
@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
def test_a_program_on_any_number_of_threads_is_the_interpreter(case: str, debug: bool) -> None:
    body, params, arguments = PROGRAMS[case]
    program = func(body, params)
    expected = copies(arguments)
    tirscript.interpret(program, *expected)
    kernel = tirscript.build(program, debug=debug)
    for count in THREADS:
        tirscript.set_num_threads(count)
        given = copies(arguments)
        kernel(*given)
        for want, got in zip(expected, given):
            np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8, 9])
def test_each_iteration_runs_once_by_one_thread(size: int) -> None:
    body = (
        f"for i in T.parallel(n):\n    A[i] = A[i] + 1\n    B[i] = T.call_extern('uint64', 'pthread_self')\n    {PAUSE}"
    )
    kernel = tirscript.build(func(body, 'A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "uint64")'))
    for count in THREADS:
        tirscript.set_num_threads(count)

        def run() -> int:
            a, b = np.zeros(size, "int32"), np.zeros(size, "uint64")
            kernel(a, b)
            assert (a == 1).all()
            assert size == 0 or b[0] == threading.get_ident()  # the caller takes the first
            return len(np.unique(b))

        assert most_threads(run, min(count, size)) == min(count, size)


def who(body: str, size: int, grain: str = "", *, wanted: int = 4) -> int:
    """How many threads run a parallel loop of `size` iterations at most."""
    program = func(
        f"for i in T.parallel({size}{grain}):\n    B[i] = T.call_extern('uint64', 'pthread_self')\n    {PAUSES.format(n=size)}\n{body}",
        f'A: T.Buffer(({size}, 400), "float32"), B: T.Buffer(({size},), "uint64")',
    )
    kernel, found = tirscript.build(program), np.zeros(size, "uint64")

    def run() -> int:
        kernel(np.zeros((size, 400), "float32"), found)
        return len(np.unique(found))

    return most_threads(run, wanted)


def test_small_loops_run_in_their_caller_and_large_ones_on_all_threads() -> None:
    row = "    for j in range(400):\n        A[i, j] = T.exp(A[i, j]) * 2.0"
    assert who("", 4, wanted=2) == 1
    assert who(row, 8, wanted=2) == 1
    assert who(row, 4000) == 4


def test_the_grain_is_the_least_that_a_thread_is_given() -> None:
    assert who("", 8, f", {ONE}") == 4
    assert who("", 8, ', annotations={"grain": 3}', wanted=2) == 2
    assert who("", 8, ', annotations={"grain": 4}', wanted=2) == 2
    assert who("", 8, ', annotations={"grain": 5}', wanted=2) == 1
    row = "    for j in range(400):\n        A[i, j] = T.exp(A[i, j])"
    assert who(row, 4000, ', annotations={"grain": 2000}', wanted=2) == 2


@pytest.mark.parametrize("grain", ["0", "-1", '"many"', "1.5", "True"])
def test_a_wrong_grain_is_told(grain: str) -> None:
    body = f'for i in T.parallel(8, annotations={{"grain": {grain}}}):\n    A[i] = 0.0'
    with pytest.raises(DiagnosticError, match=r"T404.*\"grain\" of the loop over `i`(.|\n)*an int from 1"):
        tirscript.build(func(body, 'A: T.Buffer((8,), "float32")'))


def test_sizes_that_are_known_at_run_time_decide_then() -> None:
    body = (
        f"for i in T.parallel(n):\n    B[i] = T.call_extern('uint64', 'pthread_self')\n    {PAUSES.format(n='n')}\n"
        "    for j in range(m):\n        A[i, j] = A[i, j] * 2.0"
    )
    kernel = tirscript.build(func(body, 'A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n",), "uint64")'))
    for n, m, threads in ((8, 3, 1), (8, 1 << 18, 4), (1 << 12, 1 << 9, 4), (2, 1 << 18, 2), (1, 1 << 18, 1)):
        found, array = np.zeros(n, "uint64"), np.zeros((n, m), "float32")

        def run(found: Any = found, array: Any = array) -> int:
            kernel(array, found)
            return len(np.unique(found))

        assert most_threads(run, threads) == threads


def test_results_have_the_same_bits_on_any_number_of_threads() -> None:
    body = (
        'T.func_attr({"fastmath": True})\n'
        f"for i in T.parallel(n, {ONE}):\n    B[i] = A[i] / 3.7 / A[i] * A[i] + T.rsqrt(A[i] + 1.5) * T.exp(A[i] * 0.01)"
    )
    kernel = tirscript.build(func(body, 'A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")'))
    a = np.random.default_rng(0).random(3001, "float32") + 1
    found = []
    for count in range(1, 9):
        tirscript.set_num_threads(count)
        b = np.zeros_like(a)
        kernel(a, b)
        found.append(b.tobytes())
    assert len(set(found)) == 1


# what ends a loop

FAIL = (
    f"for i in T.parallel(100, {ONE}):\n    t = T.alloc_buffer((40000,), 'int32')\n    t[i] = A[i]\n"
    "    for j in range(2):\n        assert t[i] < n, 'too big'\n        A[i] = t[i] + j + 1"
)
PARAMS = 'A: T.Buffer((100,), "int32"), n: T.int32'


@pytest.mark.parametrize("count", THREADS)
def test_the_first_iteration_that_fails_is_told(count: int) -> None:
    tirscript.set_num_threads(count)
    kernel = tirscript.build(func(FAIL, PARAMS))
    for limit in (0, 37, 74, 99):
        for _ in range(5):
            with pytest.raises(AssertionError, match="too big") as caught:
                kernel(np.arange(100, dtype="int32"), limit)
            assert f"i = {limit}, j = 0" in str(caught.value) and f"n = {limit}" in str(caught.value)
    a = np.arange(100, dtype="int32")
    kernel(a, 100)
    assert (a == np.arange(100) + 2).all()


@pytest.mark.parametrize("count", THREADS)
def test_an_index_out_of_bounds_is_told_in_debug_builds(count: int) -> None:
    tirscript.set_num_threads(count)
    body = f"for i in T.parallel(10, {ONE}):\n    A[P[i]] = i"
    kernel = tirscript.build(func(body, 'A: T.Buffer((10,), "int32"), P: T.Buffer((10,), "int32")'), debug=True)
    with pytest.raises(DiagnosticError, match=r"T302(.|\n)*i = 6"):
        kernel(np.zeros(10, "int32"), np.array([0, 1, 2, 3, 4, 5, 10, 7, -1, 9], "int32"))


@pytest.mark.parametrize("count", THREADS)
def test_an_exception_in_python_is_that_of_the_first_iteration(count: int) -> None:
    tirscript.set_num_threads(count)
    seen: list[tuple[int, int]] = []

    def check(value: int) -> None:
        seen.append((int(value), threading.get_ident()))
        time.sleep(0.0002)
        if value % 5 == 3:
            raise KeyError(int(value))

    tirscript.register_library("threads.check", check)
    try:
        body = f"for i in T.parallel(40, {ONE}):\n    T.evaluate(T.call_packed('threads.check', A[i]))"
        program = func(body, 'A: T.Buffer((40,), "int32")')
        kernel = tirscript.build(program)
        for _ in range(5):
            with pytest.raises(KeyError, match="13"):
                kernel(np.arange(11, 51, dtype="int32"))
            assert not packed._raised  # those of other iterations are forgotten

        def run() -> int:
            seen.clear()
            kernel(np.full(40, 5, "int32"))
            assert len(seen) == 40
            return len({thread for _, thread in seen})

        assert most_threads(run, count) == count
    finally:
        unregister_library("threads.check")


def test_the_lock_is_let_go_where_iterations_call_python_at_once() -> None:
    serial = func("for i in range(4):\n    T.evaluate(T.call_packed('f', i))", "")
    at_once = func("for i in T.parallel(4):\n    T.evaluate(T.call_packed('f', i))", "")
    short = func("for i in T.parallel(4):\n    A[i] = 1", 'A: T.Buffer((4,), "int32")')
    assert [releases_gil(one) for one in (serial, at_once, short)] == [False, True, False]
    module = parse(
        "@I.ir_module\nclass M:\n    @T.prim_func(private=True)\n    def g(i: T.int32):\n"
        "        T.evaluate(T.call_packed('f', i))\n    @T.prim_func\n    def main():\n"
        "        for i in T.parallel(4):\n            M.g(i)\n"
    )
    assert releases_gil(module["main"], module)


def test_functions_of_the_module_run_in_order_inside() -> None:
    module = parse(
        "@I.ir_module\nclass M:\n    @T.prim_func(private=True)\n"
        '    def row(A: T.Buffer(("m",), "int32"), k: T.int64):\n'
        f"        for j in T.parallel(m, {ONE}):\n            assert A[j] < 100, 'large'\n            A[j] = A[j] + T.cast(k, 'int32')\n"
        '    @T.prim_func\n    def main(A: T.Buffer(("n", "m"), "int32")):\n'
        f"        for i in T.parallel(n, {ONE}):\n            M.row(A[i, 0:m], i)\n"
    )
    kernel = tirscript.build(module)
    a = np.zeros((20, 30), "int32")
    kernel(a)
    assert (a == np.arange(20)[:, None]).all()
    a[7, 3] = a[15, 2] = 100
    with pytest.raises(AssertionError, match="j = 3"):
        kernel(a)


def test_a_function_that_calls_itself() -> None:
    module = parse(
        "@I.ir_module\nclass M:\n    @T.prim_func\n"
        '    def f(A: T.Buffer(("n",), "int32"), depth: T.int32):\n'
        f"        for i in T.parallel(n, {ONE}):\n            A[i] = A[i] + T.cast(n, 'int32')\n"
        "            if depth > 0 and i == 0:\n                M.f(A[1:n], depth - 1)\n"
    )
    a = np.zeros(5, "int32")
    tirscript.build(module, pipeline=[])["f"](a, 2)
    assert a.tolist() == [5, 9, 12, 12, 12]


# what runs in order

ORDERED = {
    "reads what the one before wrote": "for i in T.parallel(15):\n    A[i + 1] = A[i]",
    "writes one element": "for i in T.parallel(16):\n    B[0] = B[0] + A[i]",
    "writes one element now and then": "for i in T.parallel(16):\n    if A[i] > 5:\n        B[0] = A[i]",
    "counts": "for i in T.parallel(16):\n    B[A[i] % 4] = B[A[i] % 4] + 1",
    "counts, by a name": "for i in T.parallel(16):\n    k = A[i] % 4\n    l = k + 1\n    B[l] = B[l] + 1",
    "returns": "for i in T.parallel(16):\n    if A[i] == 7:\n        return",
    "shares memory": (
        "t = T.alloc_buffer((4,), 'int32')\nt[0] = 0\nfor i in T.parallel(16):\n    t[0] = t[0] + A[i]\n    B[i] = t[0]"
    ),
    "writes through a view": "V = T.decl_buffer((16,), 'int32', data=A.data)\nfor i in T.parallel(15):\n    V[i] = A[i + 1]",
    "prints": "for i in T.parallel(16):\n    T.print(A[i])",
    "gives a scalar away": (
        "s: T.int32 = 5\nfor i in T.parallel(16):\n    T.evaluate(T.call_extern('int32', 'f', T.address_of(s)))"
    ),
}
AT_ONCE = {
    "its own element": "for i in T.parallel(16):\n    A[i] = A[i] + 1",
    "one iteration that does more": "for i in T.parallel(16):\n    A[i] = 1\n    if i == 3:\n        B[0] = 1",
    "through a permutation": "for i in T.parallel(16):\n    B[A[i]] = i",
    "memory of its own": "for i in T.parallel(16):\n    t = T.alloc_buffer((1,), 'int32')\n    t[0] = i\n    B[i] = t[0]",
    "a scalar of its own": "for i in T.parallel(16):\n    s = i\n    s = s + 1\n    B[i] = s",
    "a scalar that is read": "s = A[0]\ns = s + 1\nfor i in T.parallel(16):\n    B[i] = s",
    "C functions": "for i in T.parallel(16):\n    B[i] = T.call_extern('int32', 'abs', A[i])",
    "bounds that are read": "for i in T.parallel(A[0], A[1]):\n    B[i] = 1",
}
PAIR = 'A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")'


def kinds(program: PrimFunc) -> set[str]:
    return {node.kind for node in walk(program) if type(node) is For}


@pytest.mark.parametrize("case", ORDERED)
def test_iterations_that_meet_run_in_order(case: str) -> None:
    program = func(ORDERED[case], PAIR)
    assert kinds(serialize_races(program)) == {"serial"}
    assert kinds(DEFAULT_LOWERING(program)) == {"serial"}
    assert serialize_races(serialize_races(program)) == serialize_races(program)


@pytest.mark.parametrize("case", AT_ONCE)
def test_other_iterations_run_at_once(case: str) -> None:
    program = func(AT_ONCE[case], PAIR)
    assert serialize_races(program) is program
    assert kinds(DEFAULT_LOWERING(program)) == {"parallel"}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("pipeline", ["default", None])
@pytest.mark.parametrize("case", [name for name in ORDERED if name not in ("prints", "gives a scalar away")])
def test_what_runs_in_order_leaves_what_the_interpreter_leaves(case: str, pipeline: str | None) -> None:
    program = func(ORDERED[case], PAIR)
    kernel = tirscript.build(program, pipeline=pipeline)
    for _ in range(10):
        want, got = [array(16, dtype="int32"), array(16, dtype="int32")], [array(16, dtype="int32") for _ in range(2)]
        tirscript.interpret(program, *want)
        kernel(*got)
        np.testing.assert_array_equal(got, want)


def test_what_is_printed_comes_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    body = f"for i in T.parallel(50, {ONE}):\n    T.print(A[i])"
    for pipeline in ("default", None):
        tirscript.build(func(body, 'A: T.Buffer((50,), "int32")'), pipeline=pipeline)(np.arange(50, dtype="int32"))
        assert capsys.readouterr().out.split() == [str(at) for at in range(50)]


def test_symbolic_rows_are_told_apart_before_they_are_flat() -> None:
    params = 'A: T.Buffer(("n", "m"), "float32")'
    shift = func("for i in T.parallel(n - 1):\n    for j in range(m):\n        A[i + 1, j] = A[i, j]", params)
    own = func("for i in T.parallel(n):\n    for j in range(m):\n        A[i, j] = 1.0", params)
    assert kinds(DEFAULT_LOWERING(shift)) == {"serial"}
    assert kinds(DEFAULT_LOWERING(own)) == {"serial", "parallel"}
