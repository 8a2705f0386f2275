"""Schedules: what the steps cost, and how fast the scheduled examples run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from measure import interleaved, per_call, seconds

import tirscript
from tirscript.examples import scheduled_conv2d, scheduled_matmul, scheduled_softmax, scheduled_sum
from tirscript.ir import Module, PrimFunc
from tirscript.passes.schedule import Schedule
from tirscript.script import parse

FUNCTIONS = (1, 100, 1_000)
BLOCKS = (10, 100, 1_000)


def _cases() -> dict[str, tuple[Any, Any, tuple[Any, ...], Callable[..., None]]]:
    """The unscheduled and the scheduled kernel, arguments, and numpy's way."""
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return rng.random(shape, "float32")

    n = 512
    return {
        f"matmul {n}": (
            scheduled_matmul.matmul(n),
            scheduled_matmul.schedule(n).func,
            (random(n, n), random(n, n), random(n, n)),
            scheduled_matmul.reference,
        ),
        "conv2d 64 channels, 56 x 56": (
            scheduled_conv2d.conv2d(64, 64, 56),
            scheduled_conv2d.schedule(64, 64, 56).func,
            (random(64, 56, 56), random(64, 64, 3, 3), random(64, 56, 56)),
            scheduled_conv2d.reference,
        ),
        "softmax 1024 x 1024": (
            scheduled_softmax.softmax(1024, 1024),
            scheduled_softmax.schedule(1024, 1024).func,
            (random(1024, 1024), random(1024, 1024)),
            scheduled_softmax.reference,
        ),
        "sum of 1M": (
            scheduled_sum.total(1_000_000),
            scheduled_sum.schedule(1_000_000).func,
            (random(1_000_000), random(1)),
            scheduled_sum.reference,
        ),
    }


def kernels(rounds: int) -> dict[str, dict[str, float]]:
    """Seconds a call of each example, unscheduled, scheduled and in numpy, medians of interleaved runs."""
    found: dict[str, dict[str, float]] = {}
    for name, (plain, scheduled, arguments, reference) in _cases().items():
        built = tirscript.build(plain), tirscript.build(scheduled)
        runs = {
            "unscheduled": lambda f=built[0], a=arguments: per_call(f, a),
            "scheduled": lambda f=built[1], a=arguments: per_call(f, a),
            "numpy": lambda f=reference, a=arguments: per_call(f, a),
        }
        found[name] = interleaved(runs, rounds)
    return found


def _one(name: str, blocks: int) -> str:
    lines = [f"@T.prim_func(private=False)\ndef {name}(A: T.Buffer((64, 64), 'float32')):"]
    for at in range(blocks):
        lines += [
            "    for i, j in T.grid(64, 64):",
            f"        with T.block('B{at}'):",
            "            vi, vj = T.axis.remap('SS', [i, j])",
            f"            A[vi, vj] = A[vi, vj] + T.float32({at})",
        ]
    return "\n".join(lines)


def _step(program: PrimFunc | Module) -> float:
    """Seconds of one split of a schedule that has found its way in the function already."""
    schedule = Schedule(program, verify=False)
    schedule.work_on("main")
    first, second = schedule.get_loops("B0")
    schedule.split(first, factors=[None, 4])
    return seconds(lambda: schedule.split(second, factors=[None, 4]))


def growth(rounds: int) -> dict[str, dict[int, float]]:
    """Seconds of one step by the number of functions in the module, and of blocks in the function."""
    by_functions: dict[int, float] = {}
    main = parse(_one("main", 10))
    for count in FUNCTIONS:
        others = tuple(main.replace(name=f"other_{at}") for at in range(count - 1))
        module = Module((main, *others))
        by_functions[count] = interleaved({"step": lambda m=module: _step(m)}, rounds)["step"]
    by_blocks: dict[int, float] = {}
    for count in BLOCKS:
        func = parse(_one("main", count))
        by_blocks[count] = interleaved({"step": lambda f=func: _step(f)}, rounds)["step"]
    return {"functions in the module": by_functions, "blocks in the function": by_blocks}
