"""What type checkers say of programs: of the files that are printed, of the examples, and of names that are not there."""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.programs import random_texts

from tirscript.backend.build import jit
from tirscript.script import ir, tir
from tirscript.script.entry import macro, prim_func
from tirscript.script.namespace import Namespace, Unsupported
from tirscript.testing import examples

ROOT = Path(__file__).resolve().parent.parent.parent
STUBS = ROOT / "script"

OWN = """\
import tirscript
from tirscript.script import ir as I, tir as T


@T.macro(hygienic=False)
def clear(A: T.Buffer((n,), "float32"), n: T.int64):
    A[m] = undefined_here


@T.prim_func(private=True, check_well_formed=False)
def hidden(A: T.Buffer(("n",), "float32")) -> T.float32:
    x: T.float32 = A[n]
    x: T.int32
    return x


@tirscript.prim_func
def shown(A: T.Buffer(("n",), "float32")):
    A[n - 1] = T.exp(A[0])


@tirscript.jit
def quick(A: T.Buffer(("n",), "float32")):
    x: T.float32 = A[n - 1]
    A[0] = x


@tirscript.jit(debug=True, opt_level=1)
def checked(A: T.Buffer(("n",), "float32")):
    A[n - 1] = 1.0


quick([1.0])
checked([1.0])


@I.ir_module
class M:
    @T.prim_func(private=True)
    def helper():
        T.evaluate(0)

    @T.prim_func
    def main(A: T.Buffer(("n",), "float32")):
        M.helper()
        A[n - 1] = T.float32(1)


reveal_type(hidden)
reveal_type(shown)
reveal_type(quick)
reveal_type(checked)
reveal_type(tirscript.jit(hidden))
reveal_type(M)
reveal_type(T.axis.remap)
reveal_type(T.float32)
T.exq(1)
"""


STRICT = """\
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import tirscript as ts
from tirscript.script import graph as G, ir as I, tir as T

K = TypeVar("K")


def registered(kernel: K) -> list[K]:
    return [kernel]


@T.macro(hygienic=False)
def clear(A: T.Buffer((n,), "float32"), n: T.int64):
    A[m] = undefined_here


@registered
@T.prim_func(private=True, check_well_formed=False)
def hidden(A: T.Buffer(("n",), "float32")) -> T.float32:
    return A[n]


@ts.jit(debug=True)
def quick(A: T.Buffer(("n",), "float32")):
    A[0] = A[n - 1]


@functools.cache
def make(size: int) -> ts.ir.PrimFunc:
    if size > 3:

        @T.prim_func
        def kernel(A: T.Buffer((size, "n"), "float32")):
            A[0, n - 1] = T.exp(A[0, 0])

    else:
        raise ValueError(size)
    return kernel


@I.ir_module
class M:
    @T.prim_func(private=True)
    def helper():
        T.evaluate(0)

    @G.graph_func
    def main(x: G.Tensor(("n",), "float32")):
        return G.call_tir(M.helper, (x,), out=G.Tensor((n,), "float32"))


class Library:
    @T.prim_func
    def scale(A: T.Buffer(("n",), "float32")):
        A[n - 1] = 1.0

    def run(self) -> None:
        reveal_type(self.scale)


reveal_type(hidden)
reveal_type(quick)
reveal_type(make(4))
reveal_type(M)
reveal_type(ts.build(make(4)))
reveal_type(ts.build(M))
ts.biuld(M)
wrong: int = M
nowhere
"""


def stub_names(name: str) -> dict[str, ast.stmt]:
    """What a stub declares, by name."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse((STUBS / name).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: node for alias in node.names})
    return found


def test_the_stubs_know_every_name() -> None:
    for namespace, name in ((tir, "tir.pyi"), (ir, "ir.pyi")):
        known = stub_names(name)
        held = {
            each: value
            for each, value in vars(namespace).items()
            if not each.startswith("_") and not isinstance(value, Unsupported)
        }
        assert not held.keys() - known.keys()
        for each, value in held.items():
            node = known[each]
            if isinstance(node, ast.FunctionDef):
                assert ast.get_docstring(node) == inspect.cleandoc(getattr(value, "doc", None) or value.__doc__)
            if isinstance(value, Namespace):
                (title,) = (node.annotation.id,) if isinstance(node, ast.AnnAssign) else ("",)
                members = known[title]
                assert isinstance(members, ast.ClassDef)
                names = {item.name for item in members.body if isinstance(item, ast.FunctionDef)}
                assert names == {each for each in vars(value) if not each.startswith("_")}


def test_the_decorators_say_the_same_to_readers_and_to_type_checkers() -> None:
    tree = ast.parse((STUBS / "typing_extensions.pyi").read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    native = ast.parse((ROOT / "backend" / "typing_extensions.pyi").read_text(encoding="utf-8"))
    (jitted,) = (node for node in native.body if isinstance(node, ast.FunctionDef))
    macros = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "_Macros")
    assert isinstance(macros.body[0], ast.FunctionDef)
    for function, stub in (
        (prim_func, functions["no_type_check"]),
        (macro, macros.body[0]),
        (jit, jitted),
    ):
        assert ast.get_docstring(stub) == ast.get_docstring(_source(function))
        assert _options(stub) == _options(_source(function))


def _options(function: ast.FunctionDef) -> list[str]:
    """The names of all parameters but the function's."""
    return [arg.arg for arg in (*function.args.args[1:], *function.args.kwonlyargs)]


def _source(function: object) -> ast.FunctionDef:
    import inspect

    node = ast.parse(inspect.getsource(function)).body[0]  # type: ignore[arg-type]
    assert isinstance(node, ast.FunctionDef)
    return node


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def pyright(folder: Path) -> list[dict[str, object]]:
    """What pyright finds in the files of a folder."""
    pytest.importorskip("pyright", reason="`make pyright` installs it")
    settings = {"typeCheckingMode": "basic", "extraPaths": [str(ROOT / "src")], "pythonVersion": "3.12"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-W", "ignore", "-m", "pyright", "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=folder)
    assert done.stdout, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)["generalDiagnostics"]
    return found


def test_pyright_accepts_printed_files(tmp_path: Path) -> None:
    write(tmp_path, {f"example_{each.name}": each.kernel.script() for each in examples()})
    write(tmp_path, {f"random_{at}": text for at, text in enumerate(random_texts(200))})
    assert pyright(tmp_path) == []


def test_pyright_knows_what_decorators_make_and_what_t_holds(tmp_path: Path) -> None:
    write(tmp_path, {"own": OWN})
    found = pyright(tmp_path)
    revealed = [str(each["message"]) for each in found if each["severity"] == "information"]
    assert revealed == [
        'Type of "hidden" is "PrimFunc"',
        'Type of "shown" is "PrimFunc"',
        'Type of "quick" is "LazyFunction"',
        'Type of "checked" is "LazyFunction"',
        'Type of "tirscript.jit(hidden)" is "LazyFunction"',
        'Type of "M" is "Module"',
        'Type of "T.axis.remap" is "(kinds: str, bindings: Any) -> Any"',
        'Type of "T.float32" is "TypeName"',
    ]
    (problem,) = (each for each in found if each["severity"] != "information")
    assert '"exq" is not a known attribute of module' in str(problem["message"])


def mypy(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What mypy says of the files of a folder."""
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "--follow-imports=silent", *options]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src"), "PYTHONPATH": str(ROOT / "src")}
    command += map(str, sorted(folder.glob("*.py")))
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_mypy_accepts_the_printed_examples(tmp_path: Path) -> None:
    write(tmp_path, {each.name: each.kernel.script() for each in examples()})
    done = mypy(tmp_path, "--config-file=")
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_knows_by_the_plugin_what_decorators_make(tmp_path: Path) -> None:
    write(tmp_path, {"own": STRICT, **{each.name: each.kernel.script() for each in examples()}})
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\nplugins = tirscript.script.mypy_plugin\n")
    for _ in range(2):  # at last with what mypy has kept
        done = mypy(tmp_path)
        found = [line.partition(": ")[2] for line in done.stdout.splitlines()]
        assert [line.removeprefix("note: Revealed type is ") for line in found[:-2] if "Revealed" in line] == [
            '"tirscript.ir.func.PrimFunc"',
            '"list[tirscript.ir.func.PrimFunc]"',
            '"tirscript.backend.runtime.function.LazyFunction"',
            '"tirscript.ir.func.PrimFunc"',
            '"tirscript.ir.module.Module"',
            '"tirscript.backend.runtime.function.Function"',
            '"tirscript.backend.build.BuiltModule"',
        ], done.stdout + done.stderr
        assert [line for line in found if line.startswith("error")] == [
            'error: Module has no attribute "biuld"; maybe "build"?  [attr-defined]',
            'error: Incompatible types in assignment (expression has type Module, variable has type "int")  [assignment]',
            'error: Name "nowhere" is not defined  [name-defined]',
        ]
