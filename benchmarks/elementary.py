"""`python benchmarks math`: the errors of the elementary functions over all inputs, and what an element takes.

Values come from the native code of a kernel as it is by default, references from the C library in float64 (a kernel
with the attribute "math": "accurate"). The unit is that of the last place of the reference rounded to float32. A walk
of 2^32 inputs takes a minute or two for each function; what was found is kept in benchmarks/results/elementary.json,
so that a walk that was interrupted goes on with the functions that are missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from measure import interleaved

import tirscript
import tirscript.script
from tirscript.backend.llvm import host, vector_math
from tirscript.backend.llvm.builder import FunctionText, ModuleText

RESULTS = Path(__file__).resolve().parent / "results" / "elementary.json"
# every function of one argument, with the interval that its speed is measured on
FUNCTIONS = {
    "exp": (-20, 20),
    "exp2": (-20, 20),
    "exp10": (-20, 20),
    "expm1": (-20, 20),
    "log": (0, 100),
    "log2": (0, 100),
    "log10": (0, 100),
    "log1p": (0, 100),
    "sqrt": (0, 100),
    "rsqrt": (0, 100),
    "tanh": (-5, 5),
    "sigmoid": (-20, 20),
    "erf": (-4, 4),
    "sin": (-100, 100),
    "cos": (-100, 100),
    "tan": (-100, 100),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-10, 10),
    "sinh": (-20, 20),
    "cosh": (-20, 20),
    "asinh": (-100, 100),
    "acosh": (1, 100),
    "atanh": (-1, 1),
}
PAIRS = {"pow": ((0, 10), (-8, 8)), "atan2": ((-10, 10), (-10, 10)), "hypot": ((-10, 10), (-10, 10))}
CHUNK = 1 << 16
MEASURE = """
from tirscript.script import tir as T
@T.prim_func
def values(A: T.Buffer((CHUNK,), "float32"), B: T.Buffer((CHUNK,), "float32")):
    for i in range(CHUNK // 16):
        for j in T.vectorized(16):
            B[i * 16 + j] = T.NAME(A[i * 16 + j])
@T.prim_func
def looped(A: T.Buffer((CHUNK,), "float32"), B: T.Buffer((CHUNK,), "float32")):
    for i in range(CHUNK):
        B[i] = T.NAME(A[i])
@T.prim_func
def references(A: T.Buffer((CHUNK,), "float32"), B: T.Buffer((CHUNK,), "float64")):
    T.func_attr({"math": "accurate"})
    for i in range(CHUNK):
        B[i] = T.NAME(T.cast(A[i], "float64"))
"""
COMPARE = """
from tirscript.script import tir as T
@T.prim_func
def compare(G: T.Buffer((CHUNK,), "float32"), R: T.Buffer((CHUNK,), "float64"), E: T.Buffer((CHUNK,), "float64")):
    # the error in units of the last place; infinite where a special value or a sign is wrong
    for i in range(CHUNK):
        limit = T.float64(2.0) ** 128
        true: T.let[T.float64] = R[i]
        found: T.let[T.float64] = T.cast(G[i], "float64")
        bits = T.reinterpret("int64", true)
        exponent = T.min(T.max((bits >> T.int64(52)) & T.int64(2047), T.int64(897)), T.int64(1150))
        inverse = T.reinterpret("float64", (T.int64(2046 + 23) - exponent) << T.int64(52))
        bounded = T.max(T.min(true, limit), -limit)
        error = T.abs(T.max(T.min(found, limit), -limit) - bounded) * inverse
        special = T.isinf(true) or T.isnan(true) or T.isnan(found)
        same = (true == found) or (T.isnan(true) and T.isnan(found))
        signs = T.isnan(true) or ((bits < T.int64(0)) == (T.reinterpret("int32", G[i]) < 0))
        wrong = (special and not same) or (not signs)
        E[i] = T.Select(wrong, T.infinity("float64"), T.Select(same, T.float64(0), error))
"""


def kernels(name: str) -> dict[str, Any]:
    """The native functions that measure one operator."""
    text = (MEASURE.replace("NAME", name) + COMPARE[COMPARE.index("@") :]).replace("CHUNK", str(CHUNK))
    return {func: tirscript.build(program) for func, program in tirscript.script.parse_all(text).items()}


def walk(name: str, stride: int, threads: int, looped: bool = False) -> dict[str, Any]:
    """The greatest error over every `stride`th float32, and where it is."""
    functions = kernels(name)
    total = -(-(1 << 32) // stride)
    offsets = np.arange(CHUNK, dtype=np.uint32) * np.uint32(stride)
    own = threading.local()  # each thread's memory, used again for every part

    def part(first: int) -> tuple[float, int, int]:
        if not hasattr(own, "memory"):
            own.memory = [np.empty(CHUNK, kind) for kind in (np.uint32, np.float32, np.float64, np.float64)]
        bits, got, true, errors = own.memory
        np.add(offsets, np.uint32(first * stride & 0xFFFFFFFF), out=bits)
        x = bits.view(np.float32)
        functions["looped" if looped else "values"](x, got)
        functions["references"](x, true)
        functions["compare"](got, true, errors)
        at = int(errors.argmax())
        wrong = int(np.isinf(errors).sum()) if np.isinf(errors[at]) else 0
        return float(errors[at]), int(bits[at]), wrong

    start = time.perf_counter()
    worst, where, wrong = -1.0, 0, 0
    with ThreadPoolExecutor(threads) as pool:
        for error, at, count in pool.map(part, range(0, total, CHUNK)):
            wrong += count
            if error > worst:
                worst, where = error, at
    x = np.array([where], np.uint32).view(np.float32)[0]
    return {"ulp": worst, "at": float(x), "wrong": wrong, "inputs": total, "seconds": time.perf_counter() - start}


def digest(name: str) -> str:
    """What a function is made of: results of other instructions are measured again."""
    module = ModuleText()
    text = FunctionText(module, host())
    vector_math.inline(text, name, "float", ["%x"], 16)
    return hashlib.sha256("\n".join([*module.globals, *text.lines]).encode()).hexdigest()[:16]


def walks(
    names: list[str], stride: int, threads: int, again: bool, looped: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk for each function, except where the same walk of the same code was done already."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names:
        key = f"{name}/{stride}/{'looped' if looped else 'values'}/{digest(name)}"
        if again or key not in known:
            known[key] = walk(name, stride, threads, looped)
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        yield name, known[key]


def speeds(names: list[str], rounds: int, count: int = 8192) -> dict[str, dict[str, float]]:
    """Nanoseconds an element of float32 in the first cache, beside numpy, numba and torch where they are there."""
    rng = np.random.default_rng(0)
    found = {}
    for name in names:
        spans = PAIRS.get(name) or (FUNCTIONS[name],)
        given = [rng.uniform(low, high, count).astype(np.float32) for low, high in spans]
        runs = {}
        for what, function in _contestants(name, given, count).items():
            function()  # numba compiles at the first call
            runs[what] = _timed(function, count)
        found[name] = interleaved(runs, rounds)
    return found


def _timed(function: Callable[[], Any], count: int) -> Callable[[], float]:
    """Runs short enough that most of them are not interrupted, even on a busy machine."""
    calls = 8

    def run() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            function()
        return (time.perf_counter() - start) / (calls * count) * 1e9

    return run


def _kernel(name: str, arguments: int, count: int, vector: bool, mode: str) -> Any:
    names = "ABC"[:arguments]
    params = ", ".join(f'{letter}: T.Buffer(({count},), "float32")' for letter in [*names, "R"])
    index = "i * 16 + j" if vector else "i"
    value = f"R[{index}] = T.{name}({', '.join(f'{letter}[{index}]' for letter in names)})"
    lines = ["from tirscript.script import tir as T", "@T.prim_func", f"def kernel({params}):"]
    lines.append(f'    T.func_attr({{"math": "{mode}"}})')
    if vector:
        lines += [f"    for i in range({count // 16}):", "        for j in T.vectorized(16):", f"            {value}"]
    else:
        lines += [f"    for i in range({count}):", f"        {value}"]
    return tirscript.build(tirscript.parse("\n".join(lines) + "\n"))


_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
_NUMPY |= {"atanh": "arctanh", "atan2": "arctan2", "pow": "power"}


def _contestants(name: str, given: list[Any], count: int) -> dict[str, Callable[[], Any]]:
    into = np.empty(count, np.float32)
    made = {
        "16 lanes": _kernel(name, len(given), count, True, "fast"),
        "loop": _kernel(name, len(given), count, False, "fast"),
        "libm": _kernel(name, len(given), count, False, "accurate"),
    }
    found: dict[str, Callable[[], Any]] = {
        what: lambda function=function: function(*given, into) for what, function in made.items()
    }
    universal = getattr(np, _NUMPY.get(name, name), None)
    if universal is not None:
        found["numpy"] = lambda: universal(*given, out=into)
        try:
            import numba
        except ImportError:
            pass
        else:
            plain = numba.njit(fastmath=True)(_loop(universal, len(given)))
            found["numba"] = lambda: plain(*given, into)
    try:
        import torch
    except ImportError:
        return found
    torch.set_num_threads(1)
    ours = getattr(torch, name, None) or getattr(torch.special, name, None)
    if ours is not None:
        tensors, result = [torch.from_numpy(array) for array in given], torch.from_numpy(into)
        found["torch"] = lambda: ours(*tensors, out=result)
    return found


def _loop(universal: Any, arguments: int) -> Callable[..., None]:
    def one(a: Any, into: Any) -> None:
        for i in range(len(a)):
            into[i] = universal(a[i])

    def two(a: Any, b: Any, into: Any) -> None:
        for i in range(len(a)):
            into[i] = universal(a[i], b[i])

    return one if arguments == 1 else two


def main(arguments: list[str]) -> None:
    """Measure what is asked for, and print it."""
    parser = argparse.ArgumentParser(prog="benchmarks math", description=__doc__)
    parser.add_argument("--functions", help="names of functions, with commas between (all)")
    parser.add_argument("--stride", type=int, default=1, help="measure every so many-th float32 only; best a prime")
    parser.add_argument("--threads", type=int, default=1, help="how many threads walk")
    parser.add_argument("--again", action="store_true", help="also what was measured already")
    parser.add_argument("--loops", action="store_true", help="walk with loops of scalars instead of 16 lanes")
    parser.add_argument("--speed", action="store_true", help="measure nanoseconds an element instead")
    parser.add_argument("--rounds", type=int, default=101, help="how often each speed is measured (the median counts)")
    given = parser.parse_args(arguments)
    known = [*FUNCTIONS, *PAIRS] if given.speed else [*FUNCTIONS]
    names = given.functions.split(",") if given.functions else known
    wrong = [name for name in names if name not in known]
    if wrong or given.stride < 1 or given.threads < 1 or given.rounds < 1:
        parser.error(f"no function {wrong[0]}; there are {', '.join(known)}" if wrong else "counts begin at 1")
    if given.speed:
        show_speeds(speeds(names, given.rounds))
        return
    print(f"{'':8} {'ulp':>7}  {'at':<24} {'wrong':>5} {'inputs':>13} {'s':>6}")
    for name, found in walks(names, given.stride, given.threads, given.again, given.loops):
        at = f"{found['at']!r} ({float(found['at']).hex()})"
        print(
            f"{name:8} {found['ulp']:7.4f}  {at:<24} {found['wrong']:5} {found['inputs']:13,} {found['seconds']:6.0f}",
            flush=True,
        )


def show_speeds(found: dict[str, dict[str, float]]) -> None:
    """A line a function, in nanoseconds an element."""
    columns = ["16 lanes", "loop", "libm", "numpy", "numba", "torch"]
    columns = [column for column in columns if any(column in times for times in found.values())]
    print("ns an element of float32, one thread: " + ", ".join(columns))
    for name, times in found.items():
        print(f"{name:8} " + " ".join(f"{times[c]:8.2f}" if c in times else f"{'-':>8}" for c in columns))
