"""`python benchmarks threads`: what a fork-join costs, what threads gain, and from which size of a loop on.

A fork-join is a parallel loop of one iteration for each of two threads, which do nothing but wait until both are there,
called again and again from native code: our pool, with and without spinning, sleeping by futex or by a condition
variable; the OpenMP library of GCC where it is installed; numba's prange, whose iterations are empty.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import json
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import tirscript
from tirscript.backend.llvm.host import host, target_machine
from tirscript.backend.runtime import threads
from tirscript.script import tir as T

CALLS = 100  # fork-joins in one measurement: so short that one in some is not interrupted
_kept: list[Any] = []

_REPEAT = """
define void @repeat(i64 %times) {{
entry:
  %error = alloca [72 x i8], align 8
  br label %loop
loop:
  %at = phi i64 [0, %entry], [%next, %loop]
  {call}
  %next = add i64 %at, 1
  %more = icmp ult i64 %next, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
# two threads meet: the count of those who came is even again
_MEET = """
@came = internal global i32 0, align 128
define internal void @meet() {{
entry:
  %before = atomicrmw add ptr @came, i32 1 acq_rel
  %pair = or i32 %before, 1
  br label %look
look:
  %now = load atomic i32, ptr @came acquire, align 4
  %alone = icmp ule i32 %now, %pair
  br i1 %alone, label %look, label %done
done:
  ret void
}}
"""
_OURS = (
    _MEET
    + """
define i32 @body(ptr %c, i64 %b, i64 %e, ptr %error, ptr %failed, i32 %number) {{
  call void @meet()
  ret i32 0
}}
"""
    + _REPEAT.replace(
        "{call}", "%status = call i32 %pool(ptr @body, ptr null, i64 2, i64 1, i64 1, i64 0, i64 1, ptr %error)"
    ).replace("br label %loop\nloop", "%pool = inttoptr i64 {address} to ptr\n  br label %loop\nloop", 1)
)
_OPENMP = (
    _MEET
    + "define void @body(ptr %c) {{\n  call void @meet()\n  ret void\n}}\n"
    + _REPEAT.replace("{call}", "call void %pool(ptr @body, ptr null, i32 2, i32 0)").replace(
        "br label %loop\nloop", "%pool = inttoptr i64 {address} to ptr\n  br label %loop\nloop", 1
    )
)


def _native(text: str, address: int) -> Callable[[int], None]:
    """A function that calls the pool at an address so many times."""
    machine = target_machine(host(), 2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text.format(address=address)), machine)
    engine.finalize_object()
    _kept.append(engine)
    call: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_int64)(engine.get_function_address("repeat"))
    return call


def _numba() -> Callable[[int], None] | None:
    try:
        import numba
    except ImportError:
        return None

    @numba.njit(parallel=True)
    def repeat(times, out):  # type: ignore[no-untyped-def]
        for _ in range(times):
            for i in numba.prange(2):
                out[i] = i

    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
    out = np.zeros(2, "int64")
    return lambda times: repeat(times, out)


def fork_joins(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of a fork-join over two threads, for each pool: quantiles of interleaved runs."""
    runs: dict[str, Callable[[int], None]] = {}
    for name, futex, seconds in (
        ("tirscript", True, threads.SPIN_SECONDS),
        ("tirscript, without spinning", True, 0.0),
        ("tirscript, a condition variable", False, threads.SPIN_SECONDS),
        ("tirscript, a condition variable, without spinning", False, 0.0),
    ):
        pool = threads.compile_pool(futex=futex)
        pool.threads.value = 2
        pool.spins.value = int(seconds * pool.looks)
        runs[name] = _native(_OURS, pool.parallel)
    library = ctypes.util.find_library("gomp")
    if library is not None:
        function = ctypes.CDLL(library).GOMP_parallel
        runs["libgomp"] = _native(_OPENMP, ctypes.cast(function, ctypes.c_void_p).value or 0)
    numba = _numba()
    if numba is not None:
        runs["numba"] = numba
    found: dict[str, list[float]] = {name: [] for name in runs}
    for at in range(20 * rounds + 1):
        for name, run in runs.items():
            time.sleep(0.01)  # until the threads of the pool before do not spin any more
            run(10)  # the first starts threads, and compiles
            start = time.perf_counter()
            run(CALLS)
            if at:
                found[name].append((time.perf_counter() - start) / CALLS)
    return {name: dict(zip(QUANTILES, _quantiles(times), strict=True)) for name, times in found.items()}


QUANTILES = ("least", "a tenth", "median")


def _quantiles(times: list[float]) -> tuple[float, float, float]:
    ordered = sorted(times)
    return ordered[0], ordered[len(ordered) // 10], median(ordered)


@T.prim_func
def scale(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in T.parallel(n):  # noqa: F821
        B[i] = A[i] * T.float32(1.5) + T.float32(2)


@T.prim_func
def forced(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in T.parallel(n, annotations={"grain": 1}):  # noqa: F821
        B[i] = A[i] * T.float32(1.5) + T.float32(2)


@T.prim_func
def gauss(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in T.parallel(n):  # noqa: F821
        B[i] = T.exp(A[i] * A[i] * T.float32(-0.5))


@T.prim_func
def softmax(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    for i in T.parallel(n):  # noqa: F821
        largest = T.min_value("float32")
        for j in range(m):  # noqa: F821
            largest = T.max(largest, A[i, j])
        total = T.float32(0)
        for j in range(m):  # noqa: F821
            B[i, j] = T.exp(A[i, j] - largest)
            total += B[i, j]
        for j in range(m):  # noqa: F821
            B[i, j] = B[i, j] / total


@T.prim_func
def matmul(A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32"), C: T.Buffer((512, 512), "float32")):
    for i in T.parallel(512):
        for j in range(512):
            C[i, j] = T.float32(0)
        for k in range(512):
            for j in range(512):
                C[i, j] += A[i, k] * B[k, j]


def _arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.random(shape, dtype="float32") for shape in shapes]


def _seconds(function: Callable[..., Any], arguments: list[Any]) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def speedups(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of kernels on one thread and on all, the least of interleaved runs, and how many times faster."""
    most = threads.processors()
    kernels: dict[str, tuple[Any, list[np.ndarray]]] = {
        "elementwise, 16M (bandwidth)": (tirscript.build(scale), _arrays((1 << 24,), (1 << 24,))),
        "exp, 4M": (tirscript.build(gauss), _arrays((1 << 22,), (1 << 22,))),
        "softmax, 1024x1024": (tirscript.build(softmax), _arrays((1024, 1024), (1024, 1024))),
        "matmul, 512, plain loops": (tirscript.build(matmul), _arrays((512, 512), (512, 512), (512, 512))),
    }
    found: dict[str, dict[str, float]] = {}
    for name, (kernel, arguments) in kernels.items():
        times: dict[int, list[float]] = {1: [], most: []}
        for _ in range(rounds + 1):
            for count, taken in times.items():
                tirscript.set_num_threads(count)
                taken.append(_seconds(kernel, arguments))
        one, all_ = min(times[1][1:]), min(times[most][1:])
        found[name] = {"one thread": one, f"{most} threads": all_, "times faster": one / all_}
    return found


def sizes(rounds: int) -> dict[int, dict[str, float]]:
    """Seconds of an elementwise loop by its size: on one thread, split in any case, and as the estimate decides."""
    most = threads.processors()
    plain, split = tirscript.build(scale), tirscript.build(forced)
    found: dict[int, dict[str, float]] = {}
    for bits in (10, 12, 14, 15, 16, 17, 18, 20):
        arguments = _arrays((1 << bits,), (1 << bits,))
        runs = {"one thread": (1, plain), "always split": (most, split), "by estimate": (most, plain)}
        taken: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds * 30):
            for name, (count, kernel) in runs.items():
                tirscript.set_num_threads(count)
                kernel(*arguments)
                taken[name].append(_seconds(kernel, arguments))
        found[1 << bits] = {name: median(times) for name, times in taken.items()}
    return found


def beside_numpy(rounds: int) -> dict[str, float]:
    """Seconds of numpy's matmul of 512, alone and right after a kernel of ours, whose threads might still spin."""
    kernel, arguments = tirscript.build(scale), _arrays((1 << 18,), (1 << 18,))
    a, b, out = _arrays((512, 512), (512, 512), (512, 512))
    tirscript.set_num_threads(threads.processors())
    alone, after = [], []
    for _ in range(rounds * 20):
        alone.append(_seconds(np.matmul, [a, b, out]))
        kernel(*arguments)
        after.append(_seconds(np.matmul, [a, b, out]))
        time.sleep(0.001)
    return {"alone": median(alone), "after a kernel": median(after), "ratio": median(after) / median(alone)}


def main(argv: list[str]) -> None:
    """Measure, print, and write JSON where asked."""
    from __main__ import table

    parser = argparse.ArgumentParser(prog="benchmarks threads", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="how often each thing is measured")
    parser.add_argument("--json", help="a file for the figures")
    given = parser.parse_args(argv)
    before = tirscript.get_num_threads()
    results: dict[str, Any] = {"processors": threads.processors(), "load": os.getloadavg()[0]}

    joins = results["fork-join"] = fork_joins(given.rounds)
    rows = [(name, *(f"{value * 1e9:,.0f}" for value in values.values())) for name, values in joins.items()]
    table("A fork-join over two threads, ns", ("", *QUANTILES), rows)

    found = results["speedups"] = speedups(given.rounds)
    head = ("", *next(iter(found.values())))
    rows = [
        (n, *(f"{v * 1e6:,.0f} us" for v in list(r.values())[:2]), f"{r['times faster']:.2f}") for n, r in found.items()
    ]
    table("Kernels on one thread and on all", head, rows)

    grown = results["sizes"] = sizes(given.rounds)
    rows = [(f"{n:,}", *(f"{value * 1e6:,.2f}" for value in values.values())) for n, values in grown.items()]
    table("B[i] = A[i] * 1.5 + 2 by size, us", ("", *next(iter(grown.values()))), rows)

    numpy = results["numpy"] = beside_numpy(given.rounds)
    rows = [
        (
            "matmul of 512, us",
            f"{numpy['alone'] * 1e6:,.0f}",
            f"{numpy['after a kernel'] * 1e6:,.0f}",
            f"{numpy['ratio']:.2f}",
        )
    ]
    table("numpy beside our threads", ("", *numpy), rows)
    print(f"\nload of the machine before: {results['load']:.1f} on {results['processors']} processors")
    tirscript.set_num_threads(before)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
