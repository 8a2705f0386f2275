"""The kernels of kernels_cases.py in apache-tvm, from the same plain loops: compiled as they are, with a schedule that
takes no search, and tuned where a time for that is given. Runs in an environment with apache-tvm.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from kernels_cases import Case
from tvm.s_tir import dlight
from tvm.script import from_source

VERSION = tvm.__version__
TRIALS = 32  # candidates between two looks at the clock
FAILED = 1e9  # seconds that the database has for a candidate that did not run
TIMEOUT = 120.0  # seconds for one candidate, of which loading TVM into a new worker may take many


def target(options: dict[str, Any]) -> Any:
    """This processor as tirscript sees it, so that both may use the same instructions."""
    features = [word for word in options["features"].split(",") if word.startswith("+")]
    return tvm.target.Target(
        {
            "kind": "llvm",
            "mtriple": options["triple"],
            "mcpu": options["cpu"],
            "mattr": features,
            "num-cores": options["threads"],
        }
    )


def module(text: str) -> Any:
    """The kernel as a module with the one function `main`."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("from "))  # its parser takes no imports
    func = from_source(body).without_attr("global_symbol").with_attr("global_symbol", "main")
    return tvm.IRModule({"main": func})


def own_schedule(text: str, machine: Any) -> Any:
    """A schedule that needs no search: TVM's rules for CPUs (dlight) where one of them takes the kernel, else of every
    block the spatial loops in parallel and 16 lanes of the last of them innermost."""
    plain = module(text)
    with machine:  # the pass changes the module that it is given
        made = dlight.ApplyDefaultSchedule(dlight.cpu.GEMV(), dlight.cpu.Reduction())(module(text))
    if not tvm_ffi.structural_equal(made["main"].body, plain["main"].body):
        return made
    schedule = tvm.s_tir.Schedule(plain)
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        loops = schedule.get_loops(block)
        kinds = [var.iter_type for var in schedule.get(block).iter_vars]
        spatial = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == 0]
        reduced = [loop for loop, kind in zip(loops, kinds, strict=True) if kind == 2]
        if not spatial or len(spatial) + len(reduced) != len(loops):
            continue
        outer, lanes = schedule.split(spatial[-1], [None, 16])
        schedule.reorder(*spatial[:-1], outer, *reduced, lanes)
        schedule.parallel(schedule.fuse(*spatial[:-1], outer))
        schedule.vectorize(lanes)
        if reduced and schedule.get(block).init is not None:
            schedule.decompose_reduction(block, reduced[0])
    return schedule.mod


def tuned(plain: Any, machine: Any, seconds: float) -> Any:
    """The best that meta_schedule finds in about so many seconds, one round of TRIALS at least; None where it finds
    nothing that runs."""
    from tvm.s_tir import meta_schedule

    with tempfile.TemporaryDirectory() as folder:
        database = meta_schedule.database.MemoryDatabase()
        builder = meta_schedule.builder.LocalBuilder(timeout_sec=TIMEOUT)
        runner = meta_schedule.runner.LocalRunner(timeout_sec=TIMEOUT)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            meta_schedule.tune_tir(
                plain["main"],  # functions and modules are different workloads to the database
                machine,
                folder,
                max_trials_global=TRIALS,
                num_trials_per_iter=TRIALS // 2,
                database=database,
                builder=builder,
                runner=runner,
                cost_model="xgb",
            )
    return best_of(database.get_all_tuning_records())


def best_of(records: list[Any]) -> Any:
    """The module of the fastest record of a search; None where none of them ran."""
    times = [fmean(float(getattr(one, "value", one)) for one in record.run_secs) for record in records]
    ran = [(time, at) for at, time in enumerate(times) if 0 < time < FAILED]
    if not ran:
        return None
    record = records[min(ran)[1]]
    schedule = tvm.s_tir.Schedule(record.workload.mod)
    record.trace.apply_to_schedule(schedule, remove_postproc=False)
    return schedule.mod


def prepare(case: Case, arguments: list[Any], options: dict[str, Any]) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What makes a runner of a case, by the name of the variant; the runner returns the results."""
    machine, text = target(options), options["text"]
    plain = module(text)
    variants: dict[str, Callable[[], Any]] = {
        "tvm": lambda: plain,
        "tvm scheduled": lambda: own_schedule(text, machine),
    }
    if options["tune"]:
        variants["tvm tuned"] = lambda: tuned(module(text), machine, options["tune"])
    return {name: lambda make=make: _runner(make(), machine, case, arguments) for name, make in variants.items()}  # type: ignore[misc]


def _runner(mod: Any, machine: Any, case: Case, arguments: list[Any]) -> Callable[[], Any]:
    if mod is None:
        raise RuntimeError("nothing that runs was found")
    function = tvm.compile(mod, machine)["main"]
    given = [tvm.runtime.tensor(np.ascontiguousarray(one)) for one in arguments]
    results = [tvm.runtime.tensor(one) for one in case.results()]

    def run() -> Any:
        function(*given, *results)
        return results

    run.direct = (function, (*given, *results))  # type: ignore[attr-defined]
    return run
