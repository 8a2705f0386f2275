"""What the machine can do at most, by loops of LLVM IR that do nothing else: fused multiply-adds, and moving memory.

Every loop takes (pointers, count) and runs on each of some threads over its own part; ctypes lets go of the GIL. Those
that move memory take it so often that it does not matter how Python's threads begin one after the other.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

ACCUMULATORS = 24  # independent sums, enough to hide the latency of a multiply-add
STEPS = 2_000_000
ELEMENTS = 1 << 24  # float32, the size of the kernels that are bound by memory
ROUNDS = 7
TIMES = 4  # that a thread goes through its part of the memory, for each thread that there is


def _fma_loop(lanes: int) -> str:
    kind = f"<{lanes} x float>"
    lines = [f"define void @fma(ptr %out, i64 %n) {{\nentry:\n  %x = load {kind}, ptr %out, align 64"]
    lines.append("  br label %loop\nloop:")
    lines.append("  %i = phi i64 [0, %entry], [%next, %loop]")
    for at in range(ACCUMULATORS):
        lines.append(f"  %a{at} = phi {kind} [zeroinitializer, %entry], [%b{at}, %loop]")
    for at in range(ACCUMULATORS):
        lines.append(f"  %b{at} = call {kind} @llvm.fma.v{lanes}f32({kind} %a{at}, {kind} %x, {kind} %x)")
    lines += [
        "  %next = add i64 %i, 1",
        "  %more = icmp ult i64 %next, %n",
        "  br i1 %more, label %loop, label %end\nend:",
    ]
    total = "%b0"
    for at in range(1, ACCUMULATORS):
        lines.append(f"  %s{at} = fadd {kind} {total}, %b{at}")
        total = f"%s{at}"
    lines.append(f"  store {kind} {total}, ptr %out, align 64\n  ret void\n}}")
    lines.append(f"declare {kind} @llvm.fma.v{lanes}f32({kind}, {kind}, {kind})")
    return "\n".join(lines)


def _memory_loop(name: str, lanes: int, reads: int, stream: bool) -> str:
    """`a[i] = b[i] + c[i] * c[i]` (two reads), `a[i] = b[i]` (one); without a store, the sum of b; so many `times`."""
    kind, unrolled = f"<{lanes} x float>", 8
    writes = name != "read"
    pointers = ", ".join(f"ptr noalias %p{at}" for at in range(3))
    lines = [f"define void @{name}({pointers}, i64 %n, i64 %times) {{\nentry:\n  br label %again\nagain:"]
    lines.append("  %time = phi i64 [0, %entry], [%time.next, %end]\n  br label %loop\nloop:")
    lines.append("  %i = phi i64 [0, %again], [%next, %loop]")
    if not writes:
        for at in range(unrolled):
            lines.append(f"  %a{at} = phi {kind} [zeroinitializer, %again], [%b{at}, %loop]")
    hint = ", !nontemporal !0" if stream else ""
    for at in range(unrolled):
        lines.append(f"  %i{at} = add i64 %i, {at * lanes}")
        for source in range(1, reads + 1):
            lines.append(f"  %g{at}.{source} = getelementptr float, ptr %p{source}, i64 %i{at}")
            lines.append(f"  %v{at}.{source} = load {kind}, ptr %g{at}.{source}, align 64")
        value = f"%v{at}.1"
        if reads == 2:
            lines.append(
                f"  %t{at} = call {kind} @llvm.fma.v{lanes}f32({kind} %v{at}.2, {kind} %v{at}.2, {kind} {value})"
            )
            value = f"%t{at}"
        if writes:
            lines.append(f"  %o{at} = getelementptr float, ptr %p0, i64 %i{at}")
            lines.append(f"  store {kind} {value}, ptr %o{at}, align 64{hint}")
        else:
            lines.append(f"  %b{at} = fadd {kind} %a{at}, {value}")
    lines.append(f"  %next = add i64 %i, {unrolled * lanes}")
    lines += ["  %more = icmp ult i64 %next, %n", "  br i1 %more, label %loop, label %end\nend:"]
    if not writes:
        total = "%b0"
        for at in range(1, unrolled):
            lines.append(f"  %s{at} = fadd {kind} {total}, %b{at}")
            total = f"%s{at}"
        lines.append(f"  store {kind} {total}, ptr %p0, align 64")
    lines += ["  %time.next = add i64 %time, 1", "  %once.more = icmp ult i64 %time.next, %times"]
    lines += ["  br i1 %once.more, label %again, label %done\ndone:", "  ret void\n}"]
    return "\n".join(lines)


class Loops:
    """The loops, compiled for this processor."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        from tirscript.backend.llvm.host import host, target_machine

        machine = host()
        lanes = max(machine.vector_bits, 256) // 32
        self.lanes = lanes
        parts = [_fma_loop(lanes)]
        for name, reads in (("read", 1), ("copy", 1), ("triad", 2)):
            parts.append(_memory_loop(name, lanes, reads, False))
            if name != "read":
                parts.append(_memory_loop(f"{name}_streamed", lanes, reads, True))
        parts.append("!0 = !{i32 1}")
        module = llvm.parse_assembly("\n".join(parts))
        self.engine = llvm.create_mcjit_compiler(module, target_machine(machine, 2))
        self.engine.finalize_object()

    def loop(self, name: str, pointers: int) -> Callable[..., None]:
        """A loop as a function of addresses, a count, and how many times for those that move memory."""
        counts = [ctypes.c_int64] * (1 if pointers == 1 else 2)
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * pointers, *counts)
        return kind(self.engine.get_function_address(name))


def _aligned(elements: int) -> np.ndarray[Any, Any]:
    raw = np.ones(elements + 16, "float32")
    start = -raw.ctypes.data % 64 // 4
    return raw[start : start + elements]


def _measure(jobs: list[Callable[[], None]]) -> float:
    """The median time in which all jobs are done, one thread each."""
    if len(jobs) == 1:
        return median(_timed(jobs[0]) for _ in range(ROUNDS))
    with ThreadPoolExecutor(len(jobs)) as pool:
        return median(_together(pool, jobs) for _ in range(ROUNDS))


def _timed(job: Callable[[], None]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def _together(pool: ThreadPoolExecutor, jobs: list[Callable[[], None]]) -> float:
    gate = threading.Barrier(len(jobs))

    def run(job: Callable[[], None]) -> tuple[float, float]:
        gate.wait()
        start = time.perf_counter()
        job()
        return start, time.perf_counter()

    spans = list(pool.map(run, jobs))
    return max(end for _, end in spans) - min(start for start, _ in spans)


def limits(threads: int) -> dict[str, float]:
    """Multiply-adds in FLOP/s (two each), and bytes a second of reading, copying and `a = b + c * c`."""
    loops = Loops()
    fma = loops.loop("fma", 1)
    outs = [_aligned(64) for _ in range(threads)]
    taken = _measure([lambda out=out: fma(out.ctypes.data, STEPS) for out in outs])  # type: ignore[misc]
    found = {"flops": 2.0 * loops.lanes * ACCUMULATORS * STEPS * threads / taken}
    arrays = [_aligned(ELEMENTS) for _ in range(3)]
    step, times_each = loops.lanes * 8, TIMES * threads
    bounds = [ELEMENTS * at // threads // step * step for at in range(threads + 1)]
    for name, moved in (("read", 1), ("copy", 2), ("triad", 3)):
        times = []
        for kind in (name,) if name == "read" else (name, f"{name}_streamed"):
            loop = loops.loop(kind, 3)
            jobs = []
            for low, high in pairwise(bounds):
                where = [array[low:].ctypes.data for array in arrays]
                jobs.append(lambda loop=loop, where=where, n=high - low: loop(*where, n, times_each))
            times.append(_measure(jobs))
        found[name] = 4.0 * moved * bounds[-1] * times_each / min(times)
    return found
