"""The table of passes: complete, and without loading what nobody asks for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tirscript.ir import DiagnosticError
from tirscript.passes import PASSES, Sequential, get_pass, prim_func_pass, table
from tirscript.passes.table import MODULES, PACKAGE, PassTable

ROOT = Path(__file__).resolve().parent.parent.parent


def fresh(code: str) -> list[str]:
    """What code prints in a process of its own, then the modules of passes that it loaded."""
    start = f"from tirscript.passes.pipeline import *\nbefore = set(sys.modules)\n{code}\n"
    end = f"print(*sorted(name for name in set(sys.modules) - before if name.startswith('{PACKAGE}')))"
    environment = {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{start}{end}"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_pass_is_where_the_table_says() -> None:
    for path in sorted((ROOT / "passes").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        import_module(".".join(("tirscript", *(parts[:-1] if parts[-1] == "__init__" else parts))))
    own = {name for name in PASSES if PASSES.module(name).startswith(f"{PACKAGE}.")}
    assert own == set(MODULES)
    assert {name: PASSES[name].function.__module__ for name in MODULES} == {
        name: f"{PACKAGE}.{module}" for name, module in MODULES.items()
    }
    assert list(MODULES) == sorted(MODULES)


@pytest.mark.parametrize(
    ("code", "printed", "loaded"),
    [
        ("print(len(PASSES) > 60, 'simplify' in PASSES, 'simplfy' in PASSES)", "True True False", ""),
        ("print(Sequential.parse('lower-blocks , contract'))", "lower_blocks,contract", ""),
        (
            "p = Sequential(('contract', Sequential(('remove_assume',)))); print(p, len(p))",
            "contract,remove_assume 2",
            "",
        ),
        ("print(*Sequential(('contract',)).modules())", f"{PACKAGE}.contract", ""),
        (
            "print(PassContext(disabled=['contract'], required=['lower-blocks']).disabled)",
            "frozenset({'contract'})",
            "",
        ),
        ("from tirscript.passes import DEFAULT_LOWERING as p; print(len(p))", "13", f"{PACKAGE}.lowering"),
        ("print(get_pass('contract'))", "contract", f"{PACKAGE}.contract"),
        ("print(Sequential(('contract',)).passes)", "(<pass contract>,)", f"{PACKAGE}.contract"),
        ("import tirscript; print(tirscript.passes.Skip.__name__)", "Skip", f"{PACKAGE}.instruments"),
    ],
)
def test_names_load_nothing(code: str, printed: str, loaded: str) -> None:
    assert fresh(code) == [printed, loaded]


def test_packages_of_passes_are_attributes_before_anything_of_them_is_loaded() -> None:
    code = "import tirscript.passes as p; print(p.graph.fuse_ops.name, p.lower.unroll_loop.name, hasattr(p, 'nothing'))"
    assert fresh(code)[0] == "fuse_ops unroll_loop False"


def test_names_of_a_pipeline_are_checked_when_it_is_made() -> None:
    with pytest.raises(DiagnosticError, match=r"T404.*no pass `lower_block`"):
        Sequential(("lower_block",))
    with pytest.raises(DiagnosticError, match="did you mean `contract`"):
        Sequential.parse("simplify,contrct")


def test_a_pipeline_has_the_passes_that_it_names() -> None:
    lazy = Sequential("simplify,unroll_loop{limit=4},lower-blocks".split(","))
    assert lazy.passes == (get_pass("simplify"), get_pass("unroll_loop", limit=4), get_pass("lower_blocks"))
    assert str(lazy) == "simplify,unroll_loop{limit=4},lower_blocks" == ",".join(map(str, lazy))
    assert lazy == Sequential(lazy.passes) and lazy.until("unroll-loop") == Sequential(lazy.passes[:2])


def test_nobody_takes_the_name_of_a_pass_that_is_not_loaded() -> None:
    code = (
        "from tirscript.ir import PrimFunc\ntry:\n    @prim_func_pass()\n    def contract(func: PrimFunc) -> PrimFunc:\n"
        "        '''`x` becomes `y`.'''\n        return func\nexcept ValueError as problem:\n    print(problem)"
    )
    assert fresh(code) == ["pass contract is defined twice", ""]


def test_a_pass_of_ours_must_be_in_the_table() -> None:
    def forgotten(func: object) -> object:
        """`x` becomes `y`."""
        return func

    forgotten.__module__ = f"{PACKAGE}.forgotten"
    with pytest.raises(ValueError, match=r"pass forgotten of tirscript\.passes\.forgotten is not in passes/table\.py"):
        prim_func_pass()(forgotten)
    assert "forgotten" not in PASSES


def test_a_pass_of_no_module() -> None:
    def nameless(func: object) -> object:
        """`x` becomes `y`."""
        return func

    nameless.__module__ = None  # type: ignore[assignment]  # as of what `exec` makes
    try:
        made = prim_func_pass()(nameless)
        assert PASSES.module("nameless") == "" and list(Sequential((made,)).modules()) == [""]
    finally:
        PASSES.pop("nameless", None)


def test_a_module_that_lacks_its_pass_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table.MODULES, "nowhere", "simplify")
    made = PassTable()
    assert "nowhere" in made and made.module("nowhere") == f"{PACKAGE}.simplify" and not made.loaded("nowhere")
    with pytest.raises(ImportError, match=r"tirscript\.passes\.simplify does not define the pass nowhere"):
        made["nowhere"]
    del made["nowhere"]
    assert made.get("nowhere") is None
