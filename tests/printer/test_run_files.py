"""A printed file is a Python program: it runs, and defines what was printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from helpers.programs import random_programs

from tirscript.ir import Module, PrimFunc
from tirscript.script import parse
from tirscript.testing import examples

ROOT = Path(__file__).resolve().parent.parent.parent
# each file runs as `python file.py` does; the last line prints what it defined, as text again
RUN = """
import runpy, sys
for path in sys.argv[1:]:
    names = runpy.run_path(path, run_name="__main__")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    (found,) = (value for value in names.values() if type(value).__name__ in ("PrimFunc", "Module"))
    assert found.script() == text, path
print("ran", len(sys.argv) - 1)
"""
MODULE = '''\
from tirscript.script import ir as I, tir as T


@I.ir_module
class Mod:
    """Functions that name each other, and a symbol that they share."""

    k = T.int32()
    I.module_attrs({"version": 1})

    @T.prim_func(private=True)
    def clear(A: T.Buffer((k,), "float32"), n: T.int32):
        for i in range(n):
            A[i] = 0.0

    @T.prim_func(check_well_formed=False)
    def main(A: T.Buffer(("n",), "float32"), h: T.handle) -> T.int32:
        s = T.int64()
        C = T.match_buffer(h, (4, "n"), "float32", strides=(s, 1))
        Mod.clear(A, 3)
        return 3
'''

NAMED_T = """\
from tirscript.script import ir as I, tir as T


@I.ir_module
class Mod:
    k_1 = T.int32()

    @T.prim_func
    def T(A: T.Buffer((k_1,), "float32")):
        A[k_1 - 1] = 0.0

    from tirscript.script import tir as T

    @T.prim_func
    def I(A: T.Buffer(("n",), "float32")):
        A[0] = 1.0

    @T.prim_func
    def k(A: T.Buffer(("n",), "float32")):
        A[0] = 2.0
"""


def run(folder: Path, programs: list[PrimFunc | Module]) -> None:
    paths = []
    for at, program in enumerate(programs):
        paths.append(folder / f"program_{at}.py")
        paths[-1].write_text(program.script(), encoding="utf-8")
    command = [sys.executable, "-W", "error", "-X", "utf8", "-c", RUN, *map(str, paths)]
    environment = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"ran {len(programs)}\n"


def test_printed_examples_and_modules_run(tmp_path: Path) -> None:
    run(tmp_path, [*(each.kernel for each in examples()), parse(MODULE)])


def test_functions_with_the_names_of_namespaces_and_symbols_run(tmp_path: Path) -> None:
    module = parse(NAMED_T.replace("k_1", "k"))
    assert module.script() == NAMED_T
    run(tmp_path, [module])


def test_printed_random_programs_run(tmp_path: Path) -> None:
    run(tmp_path, list(random_programs(200)))


def test_a_printed_file_runs_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "alone.py"
    path.write_text(MODULE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
