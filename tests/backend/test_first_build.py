"""What the first build of a process loads where the cache has the code: no pass, no code generator, no analysis."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import llvmlite.binding as llvm
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = """
import sys
import numpy as np, tirscript
from tirscript.script import ir as I, tir as T
"""
KERNEL = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("exp"):
            vi = T.axis.spatial(64, i)
            B[vi] = T.exp(A[vi]) + T.float32(1)
"""
PARALLEL = KERNEL.replace("(64,)", '("n",)').replace("64", "n")  # by the default schedule
MODULE = """
@I.ir_module
class main:
    @T.prim_func(private=True)
    def half(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            B[i] = A[i] / T.float32(2)

    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        C = T.alloc_buffer((64,), "float32")
        main.half(A, C)
        for i in range(64):
            B[i] = T.if_then_else(i % 2 == 0, C[i] + T.float32(2), T.float32(2))
"""
TAIL = """
f = tirscript.build(main, **OPTIONS)
A, B = np.zeros(64, "float32"), np.zeros(64, "float32")
(f["main"] if hasattr(f, "module") else f)(A, B)
assert (B == 2).all()
core = (f["main"] if hasattr(f, "module") else f)._core
print(type(core.compiled).__name__)
print(*sorted(sys.modules))
"""
# of our passes, those that say what there is and what a function is for
LIGHT = {
    "tirscript.passes",
    *(
        f"tirscript.passes.{name}"
        for name in ("lowering", "names", "options", "pipeline", "pipeline_text", "table", "targets")
    ),
}
# what compiles, proves, interprets and exports
HEAVY = (
    *("tirscript.ir.arith", "tirscript.ir.graph_ops", "tirscript.ir.wellformed.graph", "tirscript.printer"),
    *(
        "tirscript.backend.interpreter",
        "tirscript.backend.export",
        "tirscript.backend.c",
        "tirscript.backend.llvm_intrinsics",
    ),
    *(
        f"tirscript.backend.llvm.{name}"
        for name in ("builder", "codegen", "compiling", "entry", "module", "parts", "state")
    ),
    *("islpy", "libcst", "ml_dtypes", "typeguard", "rich", "click", "subprocess", "sysconfig", "filelock"),
)


def run(folder: Path, program: str, *, options: str = "", tail: str = TAIL) -> tuple[str, set[str]]:
    """Whether a fresh process compiled the program or loaded it, and the modules that it has in the end."""
    text = f"{HEAD}{program}{tail.replace('**OPTIONS', options)}"
    script = folder / "kernel.py"
    script.write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TIRSCRIPT_")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "TIRSCRIPT_CACHE_DIR": str(folder / "kernels")}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    kind, names = done.stdout.splitlines()
    return kind, set(names.split())


def within(loaded: set[str], heads: tuple[str, ...]) -> set[str]:
    return {name for name in loaded for head in heads if name == head or name.startswith(f"{head}.")}


@pytest.mark.parametrize(
    ("program", "options", "more"),
    [
        (KERNEL, "", ()),
        (KERNEL, "opt_level=1, debug=True", ()),
        (KERNEL, "pipeline='simplify,lower_init_block,lower_blocks,flatten_buffer'", ()),
        (MODULE, "", ("tirscript.passes.placement",)),
    ],
    ids=["kernel", "options", "pipeline", "module"],
)
def test_code_from_the_cache_needs_no_pass(tmp_path: Path, program: str, options: str, more: tuple[str, ...]) -> None:
    kind, loaded = run(tmp_path, program, options=options)
    assert kind == "CompiledModule"
    assert {"tirscript.passes.lower", "tirscript.backend.llvm.module"} <= loaded  # what the next process does without
    kind, loaded = run(tmp_path, program, options=options)
    assert kind == "LoadedModule"
    assert {name for name in loaded if name.startswith("tirscript.passes")} <= LIGHT | set(more)
    assert within(loaded, HEAVY) == set()
    assert "tirscript.backend.runtime.threads" not in loaded


PRODUCT = """
@T.prim_func
def main(A: T.Buffer((DIM, DIM), "float32"), B: T.Buffer((DIM, DIM), "float32"), C: T.Buffer((DIM, DIM), "float32")):
    for i, j, k in T.grid(DIM, DIM, DIM):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
PRODUCT_TAIL = """
f = tirscript.build(main)
A, B, C = np.ones((DIM, DIM), "float32"), np.ones((DIM, DIM), "float32"), np.zeros((DIM, DIM), "float32")
f(A, B, C)
assert (C == DIM).all()
print(type(f._core.compiled).__name__)
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize("size", ["128", "250"])
def test_the_first_product_is_scheduled_without_what_other_programs_need(tmp_path: Path, size: str) -> None:
    kind, loaded = run(tmp_path, PRODUCT.replace("DIM", size), tail=PRODUCT_TAIL.replace("DIM", size))
    assert kind == "CompiledModule" and "tirscript.passes.schedule.default_cpu.contraction" in loaded
    # libraries that take as long to load as the product takes to schedule
    assert within(loaded, ("islpy", "typeguard", "importlib.metadata", "subprocess", "tirscript.ir.graph_ops")) == set()


def test_the_pool_of_threads_is_loaded_where_code_calls_it(tmp_path: Path) -> None:
    run(tmp_path, PARALLEL)
    kind, loaded = run(tmp_path, PARALLEL)
    assert kind == "LoadedModule"
    assert "tirscript.backend.runtime.threads" in loaded
    assert {name for name in loaded if name.startswith("tirscript.passes")} <= LIGHT
    assert within(loaded, HEAVY) == set()


@pytest.mark.parametrize(
    ("library", "known", "loaded"),
    [("libm.dylib", None, ["libm.dylib"]), ("libm.dylib", 1, []), (None, None, [])],
    ids=["library", "known", "nowhere"],
)
def test_c_mathematics_where_the_library_has_another_name(
    monkeypatch: pytest.MonkeyPatch, library: str | None, known: int | None, loaded: list[str]
) -> None:
    found: list[str] = []

    def load(name: str) -> None:
        if name == "libm.so.6":
            raise RuntimeError("cannot open shared object file")
        found.append(name)

    monkeypatch.setattr(llvm, "load_library_permanently", load)
    monkeypatch.setattr(llvm, "address_of_symbol", {"erff": known}.get)
    monkeypatch.setattr("ctypes.util.find_library", {"m": library}.get)
    import_module("tirscript.backend.llvm.host")._load_mathematics()
    assert found == loaded
