"""Write the tables of docs/targets.md, of kinds, of machines, and of what was tried. With --check only compare.

What stands above the mark is written by hand; CI runs its examples.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tirscript
from tirscript import Target
from tirscript.ir.target_kinds import COMMON, TARGET_KINDS
from tirscript.ir.target_tags import TAGS
from tirscript.testing import examples

FILE = Path(__file__).resolve().parent / "targets.md"
MARK = "<!-- from here on written by docs/make_targets.py -->\n"
KERNELS = (
    "addone",
    "bit_hash",
    "conv2d",
    "crop",
    "histogram",
    "layer_norm",
    "matmul",
    "softmax",
    "transpose",
    "vector_add",
)
TRIED = (
    "llvm",
    "llvm -mcpu=x86-64",
    "llvm -mcpu=x86-64-v2 -num-cores=1",
    "llvm -vector-width=128",
    "llvm -threads=none",
    "llvm -entry=c",
)
HOOKS = {"tir_to_runtime": "tensor functions", "graph_to_runtime": "graph functions", "export": "files"}
GRAPH = """
@G.graph_func
def main(x: G.Tensor(("n", 4), "float32"), w: G.Tensor((4, 3), "float32")):
    with G.dataflow():
        y = G.nn.relu(G.matmul(x, w))
        G.output(y)
    return y
"""
BESIDE = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        M.grow(A, B)

    @T.prim_func
    def grow(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({{"target": {target}}})
        for i in range(64):
            B[i] = A[i] * T.float32(3)
"""
PARALLEL = """
@T.prim_func
def f(A: T.Buffer((100000,), "float32"), B: T.Buffer((100000,), "float32")):
    for i in T.parallel(100000):
        B[i] = T.exp(A[i])
"""


def kernels(target: str) -> bool:
    """Whether the ten kernels compute what their references do."""
    for example in examples():
        if example.name in KERNELS:
            inputs = list(example.inputs(np.random.default_rng(0)))
            wanted = [np.copy(one) for one in inputs]
            example.reference(*wanted)
            tirscript.build(example.kernel, target=target)(*inputs)
            for found, array in zip(inputs, wanted, strict=True):
                np.testing.assert_allclose(found, array, rtol=1e-3, atol=1e-4)
    return True


def graph(target: str) -> bool:
    """Whether a graph function computes what its references say."""
    program = tirscript.parse(GRAPH)
    x, w = np.linspace(-1, 1, 20, dtype="float32").reshape(5, 4), np.ones((4, 3), "float32")
    return bool(np.allclose(tirscript.build(program, target=target)(x, w), tirscript.interpret(program, x, w)))


def beside(target: str) -> bool:
    """Whether a module for this machine may hold a function for the target."""
    program = tirscript.parse(BESIDE.format(target=Target.parse(target)))
    A, B = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    tirscript.build(program)(A, B)
    return bool((B == 3 * A).all())


def threads(target: str) -> bool:
    """Whether parallel loops run on the pool."""
    return "tirscript_parallel" in tirscript.build(tirscript.parse(PARALLEL), target=target).llvm_ir()


COLUMNS: dict[str, Callable[[str], bool]] = {
    "ten kernels": kernels,
    "a graph": graph,
    "beside functions for this machine": beside,
    "parallel loops on threads": threads,
}


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)) + "\n"


def listing() -> str:
    """The part of the page that is written."""
    parts = [MARK, "## What was tried\n", f"The ten kernels are {', '.join(KERNELS)}, of examples/.\n"]
    tried = [[f"`{one}`", *("yes" if works(one) else "no" for works in COLUMNS.values())] for one in TRIED]
    parts.append(table(["target", *COLUMNS], tried))
    parts.append("## Kinds\n")
    kinds: list[list[str]] = []
    options: dict[str, dict[str, Any]] = {}
    for kind in sorted(TARGET_KINDS.values(), key=lambda kind: kind.name):
        makes = ", ".join(word for hook, word in HOOKS.items() if getattr(kind, hook) is not None)
        kinds.append([f"`{kind.name}`", kind.doc, makes or "nothing by itself"])
        for option in kind.options:
            options.setdefault(option.name, {})[kind.name] = option
    parts.append(table(["kind", "", "makes code of"], kinds))
    parts.append("## Options\n")
    rows = [
        [f"`-{name}`", ", ".join(f"`{kind}`" for kind in given), next(iter(given.values())).doc]
        for name, given in options.items()
    ]
    rows += [[f"`-{option.name}`", "all", option.doc] for option in COMMON]
    parts.append(table(["option", "of", ""], rows))
    parts.append("## Machines by name\n")
    parts.append(table(["name", "target"], [[f"`{tag}`", f"`{Target.parse(tag).resolved().text()}`"] for tag in TAGS]))
    return "\n".join(parts)


def main() -> int:
    """Write the page, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    check = parser.parse_args().check
    old = FILE.read_text(encoding="utf-8")
    new = old.partition(MARK)[0] + listing()
    if not check:
        FILE.write_text(new, encoding="utf-8")
    elif new != old:
        print("docs/targets.md is not what the tables and trials say; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
