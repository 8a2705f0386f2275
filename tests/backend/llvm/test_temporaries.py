"""Large temporaries: which share a block of the heap, which must not, and that the blocks are given back."""

from __future__ import annotations

import platform
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers.passes import program
from helpers.script import function
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.backend.llvm.temporaries import plan
from tirscript.ir import PrimFunc
from tirscript.passes import DEFAULT_LOWERING

N = 6000  # float32: more than a frame takes
PARAMS = f'A: T.Buffer(({N},), "float32"), B: T.Buffer(({N},), "float32"), n: T.int32'


def alloc(*names: str) -> str:
    return "".join(f'{name} = T.alloc_buffer(({N},), "float32")\n' for name in names)


def fill(to: str, of: str, more: int = 1) -> str:
    return f"for i in range({N}):\n    {to}[i] = {of}[{N - 1} - i] + T.float32({more})\n"


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def blocks(func: PrimFunc) -> dict[str, int]:
    """The number of the block of each buffer."""
    return {buffer.name: slot.number for buffer, slot in plan(func, lambda buffer: (4 * N, 64)).items()}


def same_result(func: PrimFunc, n: int = 3) -> None:
    a = np.random.default_rng(0).random(N, "float32")
    want, got = np.zeros(N, "float32"), np.zeros(N, "float32")
    tirscript.interpret(func, a, want, n)
    tirscript.build(func)(a, got, n)
    assert (want == got).all()


def test_those_that_are_done_make_room() -> None:
    func = function(alloc("X", "Y", "Z") + fill("X", "A") + fill("Y", "X") + fill("Z", "Y") + fill("B", "Z"), PARAMS)
    assert blocks(func) == {"X": 0, "Y": 1, "Z": 0}
    text = emit_ir(DEFAULT_LOWERING(func), optimized=False)
    assert text.count("call ptr @aligned_alloc") == 2
    # each way out frees what is allocated by then
    main = text[text.index("define") :]
    freed = [re.findall(r"free\(ptr %block.(\d)\)", way) for way in main.split("  ret ")[:-1]]
    assert freed == [[], ["0"], ["0", "1"]]
    same_result(func)


def test_what_a_loop_uses_from_outside_lives_as_long_as_the_loop() -> None:
    first = fill("X", "A")
    body = indented(fill("Y", "X") + fill("X", "Y") + fill("Z", "A") + fill("B", "Z", 2)) + indented(fill("B", "X"))
    func = function(alloc("X", "Y", "Z") + first + "for k in range(n):\n" + body, PARAMS)
    found = blocks(func)
    assert len(set(found.values())) == 3
    same_result(func)
    # allocated in the loop, Y is done before Z begins, in each iteration
    inside = "for k in range(n):\n" + indented(alloc("Y", "Z")) + body
    func = function(alloc("X") + first + inside, PARAMS)
    found = blocks(func)
    assert found["Y"] == found["Z"] != found["X"]
    same_result(func)


def test_one_whose_address_is_taken_lives_as_long_as_its_body() -> None:
    view = 'V = T.decl_buffer((6000,), "float32", data=X.data)\n'
    func = function(alloc("X", "Y") + view + fill("X", "A") + fill("Y", "A") + fill("B", "Y") + fill("B", "V"), PARAMS)
    assert len(set(blocks(func).values())) == 2
    same_result(func)
    address = "p = T.address_of(X[0])\n"
    func = function(alloc("X", "Y") + fill("X", "A") + address + fill("Y", "A") + fill("B", "Y"), PARAMS)
    assert len(set(blocks(func).values())) == 2


def test_the_branches_of_an_if_share() -> None:
    branch = indented(alloc("X") + fill("X", "A") + fill("B", "X"))
    other = indented(alloc("Y") + fill("Y", "A", 5) + fill("B", "Y"))
    func = function(f"if n > 3:\n{branch}else:\n{other}", PARAMS)
    assert set(blocks(func).values()) == {0}
    same_result(func, 3)
    same_result(func, 4)


def test_early_ways_out_and_recursion_keep_nothing() -> None:
    early = "if n < 0:\n    return\n" + alloc("X") + fill("X", "A") + fill("B", "X")
    text = emit_ir(DEFAULT_LOWERING(function(early, PARAMS)), optimized=False)
    main = text[text.index("define") :]
    assert [way.count("free(ptr %block.0)") for way in main.split("  ret ")[:-1]] == [0, 1, 1]
    same_result(function(early, PARAMS), -1)
    same_result(function(early, PARAMS))


def test_each_part_of_a_parallel_loop_has_its_own() -> None:
    body = indented(alloc("X") + fill("X", "A").replace("+ T.float32(1)", '* T.cast(k + 1, "float32")'))
    store = indented(f"for i in range({N // 4}):\n    B[k * {N // 4} + i] = X[i]\n")
    func = function('for k in T.parallel(4, annotations={"grain": 1}):\n' + body + store, PARAMS)
    text = emit_ir(DEFAULT_LOWERING(func), optimized=False)
    part = next(piece for piece in text.split("define ") if ".part." in piece.splitlines()[0])
    assert "call ptr @aligned_alloc" in part and text.count("call ptr @aligned_alloc") == 1
    for _ in range(3):
        same_result(func)


def test_memory_that_is_not_there_is_told() -> None:
    # a block of the greatest size that is allocated at once, and a process that may have no more
    code = f"""
import resource, numpy, tirscript
from tirscript.ir import DiagnosticError
func = tirscript.parse('''{TOO_MUCH}''')
built = tirscript.build(func)
a = numpy.zeros(4, "float32")
built(a, 4)
resource.setrlimit(resource.RLIMIT_AS, (int(open("/proc/self/statm").read().split()[0]) * 4096 + (64 << 20),) * 2)
try:
    built(a, 4)
except DiagnosticError as problem:
    assert "no memory for the buffer `X`" in str(problem) and "bytes = 268435456" in str(problem), problem
    print("told")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "told", done.stderr


TOO_MUCH = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), n: T.int32):
    X = T.alloc_buffer((67108864,), "float32")
    for i in range(n):
        X[i * i * n] = A[i]
    for i in range(n):
        A[i] = X[i * n * i]
"""


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_random_chains_give_what_the_interpreter_gives(data: st.DataObject) -> None:
    names = [f"X{k}" for k in range(5)]
    size = 5000

    def steps(depth: int, known: list[str]) -> str:
        out = ""
        for _ in range(data.draw(st.integers(1, 4))):
            if depth < 2 and data.draw(st.booleans()):
                inner = steps(depth + 1, known)
                out += f"for k{depth} in range(2):\n{indented(inner)}"
                continue
            to, of = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(known))
            out += f"for i in range(8):\n    {to}[i * 600] = {of}[(7 - i) * 600] + {to}[i * 600] + T.float32(1)\n"
        return out

    allocs = "".join(f'{name} = T.alloc_buffer(({size},), "float32")\n' for name in names)
    clear = "".join(f"for i in range(8):\n    {name}[i * 600] = T.float32({k})\n" for k, name in enumerate(names))
    ends = "".join(f"for i in range(8):\n    A[{k * 8} + i] = {name}[i * 600]\n" for k, name in enumerate(names[:2]))
    func = function(allocs + clear + steps(0, names) + ends, 'A: T.Buffer((16,), "float32")')
    want, got = np.zeros(16, "float32"), np.zeros(16, "float32")
    tirscript.interpret(func, want)
    tirscript.build(func, opt_level=1)(got)
    assert (want == got).all()


def test_sizes_of_a_block_are_those_of_its_largest() -> None:
    func = function(alloc("X", "Y") + fill("X", "A") + fill("B", "X") + fill("Y", "A") + fill("B", "Y"), PARAMS)
    sizes = {"X": (100, 64), "Y": (300, 128)}
    found = plan(func, lambda buffer: sizes[buffer.name])
    assert {(slot.number, slot.size, slot.align) for slot in found.values()} == {(0, 300, 128)}
    assert plan(func, lambda buffer: None) == {}


def test_attributes_of_any_value_stand_around_temporaries() -> None:
    inner = alloc("X") + fill("X", "A") + fill("B", "X")
    for value in ('"text"', '{"sizes": [1, 2]}', "n"):
        same_result(function(f'with T.attr("key", "note", {value}):\n' + indented(inner), PARAMS))


FAULTS = '''
import resource
import numpy as np
import pytest
import tirscript
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import parse

chain = tirscript.build(parse("""
@T.prim_func
def chain(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    X = T.alloc_buffer((n,), "float32")
    Y = T.alloc_buffer((n,), "float32")
    Z = T.alloc_buffer((n,), "float32")
    for i in range(n):
        X[i] = A[i] + 1.0
    for i in range(n):
        Y[i] = X[n - 1 - i] * 2.0
    for i in range(n):
        Z[i] = Y[n - 1 - i] + X[i]
    for i in range(n):
        B[i] = Z[n - 1 - i]
"""), pipeline=DEFAULT_LOWERING)
a, b = np.ones((2, 200_000), "float32")
for _ in range(3):
    chain(a, b)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    chain(a, b)
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 10)
'''


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library decides what it keeps")
def test_freed_memory_stays_for_the_next_call() -> None:
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # of 586 pages
    assert int(done.stdout) < 50


IN_A_LOOP = """
def rows(A: T.Buffer(("m", "n"), "float32"), D: T.Buffer(("m",), "int32"), B: T.Buffer(("m", "n"), "float32")):
    for i in {loop}(m):
        X = T.alloc_buffer((n,), "float32")
        for j in range(n):
            X[j] = A[i, n - 1 - j]
        assert D[i] >= 0, "negative"
        if D[i] > 5:
            continue
        Y = T.alloc_buffer((n, n), "float32")
        for j, k in T.grid(n, n):
            Y[j, k] = X[j] * X[k]
        for j in range(n):
            B[i, j] = Y[j, j]
"""


@pytest.mark.parametrize("loop", ["range", "T.parallel"])
def test_what_a_loop_allocates_in_one_size_is_allocated_once(loop: str) -> None:
    func = program(IN_A_LOOP.format(loop=loop))
    kernel = tirscript.build(func, pipeline=DEFAULT_LOWERING)
    for rows, columns in ((300, 7), (0, 3), (3, 0), (1, 1)):
        a, b = np.random.default_rng(0).random((rows, columns), "float32"), np.zeros((rows, columns), "float32")
        d = np.zeros(rows, "int32")
        d[1:2] = 6
        kernel(a, d, b)
        assert np.array_equal(b, np.where(d[:, None] > 5, 0, a[:, ::-1] ** 2))
    d = np.zeros(300, "int32")
    d[200] = -1
    with pytest.raises(AssertionError, match="negative"):
        kernel(np.ones((300, 7), "float32"), d, np.zeros((300, 7), "float32"))
    text = emit_ir(DEFAULT_LOWERING(func), optimized=False)
    part = next(part for part in text.split("\ndefine ") if "@aligned_alloc" in part)
    # every way out frees both, whether or not they were allocated, and so does the end of the loop; the end of an
    # iteration frees neither
    ways = part.split("\n  ret ")[:-1]
    freed = [len(re.findall(r"free\(ptr %left\.kept", way)) for way in ways]
    ending = 2 if loop == "range" else 0  # a part of a parallel loop returns then
    assert len(ways) >= 2 and set(freed) == {2} and part.count("@free(") == sum(freed) + ending


def test_the_next_loop_has_room_for_its_own() -> None:
    func = program("""
def rows(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(3):
        X = T.alloc_buffer((n,), "float32")
        for j in range(n):
            X[j] = A[n - 1 - j]
        B[i] = X[n - 1 - i]
    for i in range(3):
        Y = T.alloc_buffer((n,), "float32")
        for j in range(n):
            Y[j] = B[n - 1 - j]
        A[i] = Y[n - 1 - i] + 1.0
""")
    main = emit_ir(DEFAULT_LOWERING(func), optimized=False)
    first, second = (at.start() for at in re.finditer(r"call ptr @aligned_alloc", main))
    assert "call void @free" in main[first:second]
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(a, b)
    assert a.tolist() == [1, 2, 3, 3] and b.tolist() == [0, 1, 2, 0]


def test_what_a_loop_allocates_in_other_sizes_is_given_back_each_time() -> None:
    func = program("""
def rows(A: T.Buffer(("m",), "float32"), B: T.Buffer(("m",), "float32")):
    for i in range(m):
        X = T.alloc_buffer((i + 1,), "float32")
        for j in range(i + 1):
            X[j] = A[j]
        B[i] = X[i]
""")
    assert "%kept" not in emit_ir(DEFAULT_LOWERING(func), optimized=False)
    a, b = np.arange(50, dtype="float32"), np.zeros(50, "float32")
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(a, b)
    assert np.array_equal(a, b)
