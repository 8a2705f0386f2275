"""`python benchmarks models`: three published architectures end to end, beside onnxruntime in the same run."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measure import interleaved, seconds
from msgspec import Struct

Feeds = dict[str, np.ndarray[Any, Any]]


class Case(Struct, frozen=True):
    """A model and what it is run on; the small one has the same nodes in fewer layers."""

    make: Callable[[], Any]
    feeds: Callable[[], Feeds]
    fixed: bool = False  # whether the sizes of the inputs are told before it is built


class Row(Struct, frozen=True):
    """What was measured of a model; bytes are those of temporaries, kernels the calls of one run."""

    error: float
    ours: float
    peer: float
    build: float
    arena: int
    separate: int
    before: int
    after: int


def cases(small: bool) -> dict[str, Case]:
    """The models by name."""
    from tirscript.testing import models

    random = np.random.default_rng(1)

    def image(size: int) -> Feeds:
        return {"image": random.standard_normal((1, 3, size, size)).astype(np.float32)}

    def tokens(count: int, vocabulary: int) -> Feeds:
        mask = np.ones((1, count), np.float32)
        mask[:, count - count // 4 :] = 0
        return {"tokens": random.integers(0, vocabulary, (1, count)), "mask": mask}

    def step(layers: int, heads: int, size: int, past: int, vocabulary: int) -> Feeds:
        names = [f"past_{part}_{layer}" for layer in range(layers) for part in ("key", "value")]
        caches = {name: random.standard_normal((1, heads, past, size)).astype(np.float32) for name in names}
        return {"token": random.integers(0, vocabulary, (1, 1)), **caches}

    if small:
        tiny = {"layers": 2, "hidden": 32, "heads": 4, "vocabulary": 50, "longest": 40}
        return {
            "ResNet-18": Case(lambda: models.resnet18(size=32, width=8, classes=10), lambda: image(32)),
            "BERT": Case(lambda: models.bert(**tiny), lambda: tokens(12, 50), fixed=True),
            "GPT-2": Case(lambda: models.gpt2(**tiny), lambda: step(2, 4, 8, 9, 50)),
        }
    return {
        "ResNet-18": Case(models.resnet18, lambda: image(224)),
        "BERT": Case(models.bert, lambda: tokens(128, 30522), fixed=True),
        "GPT-2": Case(models.gpt2, lambda: step(12, 12, 64, 128, 50257)),
    }


def measured(case: Case, rounds: int) -> Row:
    """Import, build, run and compare one model."""
    import onnxruntime

    import tirscript

    model, feeds = case.make(), case.feeds()
    shapes = {name: array.shape for name, array in feeds.items()} if case.fixed else None
    module = tirscript.from_onnx(model, shapes=shapes)
    start = time.perf_counter()
    built = tirscript.build(module)
    taken = time.perf_counter() - start
    order = [feeds[param.name] for param in module["main"].params]  # type: ignore[union-attr]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peer = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found, wanted = built(*order), peer.run(None, feeds)
    pairs = zip(found if isinstance(found, tuple) else (found,), wanted, strict=True)
    error = max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in pairs)
    runs = {
        "ours": lambda: seconds(lambda: built(*order)),
        "peer": lambda: seconds(lambda: peer.run(None, feeds)),
    }
    times = interleaved(runs, rounds)
    arena, separate = memory(module, feeds)
    before, after = calls(module, stop="annotate_pattern"), calls(module, stop="graph_to_tensor")
    return Row(error, times["ours"], times["peer"], taken, arena, separate, before, after)


def memory(module: Any, feeds: Feeds) -> tuple[int, int]:
    """Bytes of the temporaries of `main` in one arena, and each by itself, for the sizes of the inputs at hand.

    By itself each has memory of its own, without views and work in place.
    """
    from tirscript.passes.graph import GRAPH_LOWERING, bind_symbolic_vars
    from tirscript.passes.graph.static_memory_plan import lifetimes, plan

    main = module["main"]
    sizes: dict[str, int] = {}
    for param in main.params:
        for dim, size in zip(param.type.shape, feeds[param.name].shape, strict=True):
            if hasattr(dim, "name"):
                sizes[dim.name] = size
    bound = bind_symbolic_vars(module, sizes)

    def lowered(*without: str) -> Any:
        found = bound
        for one in GRAPH_LOWERING.passes:
            if one.name not in ("static_memory_plan", *without):
                found = one(found)
        return plan(lifetimes(found["main"]))

    return lowered().total, lowered("rewrite_reshape", "write_in_place").separate


def calls(module: Any, *, stop: str) -> int:
    """How many kernels `main` calls before the pass of that name."""
    from tirscript.ir.graph import OpCall
    from tirscript.ir.rewrite import walk
    from tirscript.passes.graph import GRAPH_LOWERING

    for one in GRAPH_LOWERING.passes:
        if one.name == stop:
            break
        module = one(module)
    return sum(type(node) is OpCall and node.op.name == "call_tir" for node in walk(module["main"]))


def main(arguments: Sequence[str]) -> None:
    """Measure the models, print the table; exit with 1 where an output is off by more than 1e-4."""
    parser = argparse.ArgumentParser(prog="benchmarks models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", help="ResNet-18, BERT or GPT-2 (all, where none is named)")
    parser.add_argument("--small", action="store_true", help="the same nodes in fewer layers and channels")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run (the median counts)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args(arguments)
    os.environ.setdefault("TIRSCRIPT_NUM_THREADS", "1")  # as onnxruntime is told
    known = cases(given.small)
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"there is no model {unknown[0]!r}; they are {', '.join(known)}")
    from __main__ import table

    rows = {
        name: measured(case, given.rounds) for name, case in known.items() if not given.names or name in given.names
    }
    cells = [
        (
            name, f"{row.error:.1e}", f"{row.ours * 1e3:,.2f}", f"{row.peer * 1e3:,.2f}",
            f"{row.peer / row.ours:.2f}",
            f"{row.build:.1f}", f"{row.arena / 1e6:,.2f}", f"{row.separate / 1e6:,.2f}",
            str(row.before), str(row.after),
        )
        for name, row in rows.items()
    ]  # fmt: skip
    head = ("", "max error", "ms", "onnxruntime", "ratio", "build s", "arena MB", "tensors MB", "kernels", "fused")
    table("Models, one thread, error relative to the largest output", head, cells)
    if given.json is not None:
        from msgspec import to_builtins

        given.json.write_text(json.dumps(to_builtins(rows), indent=1) + "\n")
    if any(row.error > 1e-4 for row in rows.values()):
        raise SystemExit(1)
