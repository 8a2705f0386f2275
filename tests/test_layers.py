"""Imports go one way: ir <- printer, script, passes <- backend <- cli, testing, examples."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = {
    "ir": 0,
    "printer": 1,
    "script": 1,
    "passes": 1,
    "backend": 2,
    "cli": 3,
    "testing": 3,
    "examples": 3,
}
# convenience methods (`node.script()`) look up to a layer above or beside, inside a function, when they are called
LOOKUPS = {
    "ir/graph_ops/kernel.py": {"script"},
    "ir/node.py": {"printer"},
    "passes/constants/codecs.py": {"backend", "script"},
    "passes/constants/running.py": {"backend"},
    "passes/instruments.py": {"script"},
    "passes/schedule/intrinsics.py": {"script"},
    "passes/schedule/refusal.py": {"printer"},
    "passes/schedule/schedule.py": {"printer"},
    "passes/schedule/trace.py": {"printer", "script"},
}
HEAVY = (
    *("numpy", "llvmlite", "libcst", "typeguard", "ml_dtypes", "rich", "click"),
    *("tirscript.ir.arith", "tirscript.ir.graph_ops", "tirscript.passes", "tirscript.backend"),
)


def files() -> list[Path]:
    return sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def imports(path: Path) -> list[tuple[str, bool]]:
    """The folders of tirscript that a file imports, and whether it does so as soon as it is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, loaded: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            loaded = False
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            loaded = False
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found.extend((parts[1] if len(parts) > 1 else "", loaded) for parts in names if parts[0] == "tirscript")
        elif isinstance(node, ast.ImportFrom):
            found.extend((name, loaded) for name in imported(node, package))
        for child in ast.iter_child_nodes(node):
            visit(child, loaded)

    visit(tree, True)
    return found


def imported(node: ast.ImportFrom, package: tuple[str, ...]) -> list[str]:
    parts = node.module.split(".") if node.module else []
    if node.level:
        base = ["tirscript", *package][: len(package) + 2 - node.level]
        parts = [*base, *parts]
    if parts[:1] != ["tirscript"]:
        return []
    if len(parts) > 1:
        return [parts[1]]
    return [alias.name if alias.name in LAYERS else "" for alias in node.names]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    layer = name.partition("/")[0]
    for folder, at_load in imports(path):
        if folder == layer:
            continue
        if folder == "":
            assert LAYERS[layer] == 3, f"{name} imports the whole of tirscript from below its top"
        elif LAYERS[folder] >= LAYERS[layer] and LAYERS[layer] < 3:
            assert not at_load, f"{name} imports {folder}, which is above or beside it"
            assert folder in LOOKUPS.get(name, ()), f"{name} looks up to {folder} without being in the table of those"


def test_the_table_of_layers_names_every_folder() -> None:
    package = ROOT / "src" / "tirscript"
    assert {link.name for link in package.iterdir() if link.is_symlink()} == set(LAYERS)
    for link in package.iterdir():
        if link.is_symlink():
            assert link.resolve() == ROOT / link.name, f"src/tirscript/{link.name} does not point at the folder beside"


def test_a_wrong_import_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ir").mkdir()
    file = tmp_path / "ir" / "bad.py"
    file.write_text(
        "import tirscript.backend.llvm\nfrom ..printer import script\nfrom tirscript import passes\n"
        "from . import node\ndef f():\n    from tirscript.script import parse\n"
    )
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    assert imports(file) == [("backend", True), ("printer", True), ("passes", True), ("ir", True), ("script", False)]


@pytest.mark.parametrize("statement", ["import tirscript", "from tirscript.script import tir as T"])
def test_import_loads_nothing_heavy(statement: str) -> None:
    code = f"import sys; {statement}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")}
    )
    assert result.stdout.split() == []


def test_the_packages_are_there_when_they_are_asked_for() -> None:
    code = (
        "import sys, tirscript\n"
        "assert 'tirscript.script' not in sys.modules and 'tirscript.passes' not in sys.modules\n"
        "print(tirscript.script.parse.__name__, tirscript.passes.get_pass.__name__, tirscript.printer.diff.__name__)\n"
        "print('testing' in dir(tirscript), hasattr(tirscript, 'cli'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "src")}
    )
    assert done.stdout.split() == ["parse", "get_pass", "diff", "True", "False"]
