"""Build the sdist and the wheel, look at what is in them, and use the wheel outside the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = sorted(link.name for link in (ROOT / "src" / "tirscript").iterdir() if link.is_symlink())

USE = """
import sys, tirscript
assert tirscript.__file__.startswith({target!r}), tirscript.__file__
import numpy
from tirscript.examples import addone
arguments = addone.inputs(numpy.random.default_rng(0))
tirscript.build(addone.addone)(*arguments)
assert (arguments[1] == arguments[0] + 1).all()
print("the wheel runs a kernel from", tirscript.__file__)
"""


def sources() -> set[str]:
    """The files of the package, by their names in a wheel, as git knows them."""
    package = [name for name in _tracked(*FOLDERS) if not name.startswith("examples/downstream/")]
    own = [name for name in _tracked("src/tirscript") if not (ROOT / name).is_symlink()]
    return {f"tirscript/{name}" for name in package} | {name.removeprefix("src/") for name in own}


def _tracked(*folders: str) -> list[str]:
    """The files of folders that git knows."""
    command = ["git", "ls-files", *folders]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def build(into: Path) -> tuple[Path, Path]:
    """An sdist, and the wheel that is built from it."""
    done = subprocess.run([sys.executable, "-m", "build", "--outdir", into, ROOT], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the packages cannot be built\n{done.stdout}\n{done.stderr}")
    (sdist,), (wheel,) = into.glob("*.tar.gz"), into.glob("*.whl")
    return sdist, wheel


def check_wheel(wheel: Path) -> None:
    """The wheel holds the package, all of it and nothing else."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    package = {name for name in names if ".dist-info/" not in name}
    missing, surplus = sources() - package, package - sources()
    assert not missing, f"not in the wheel: {sorted(missing)}"
    assert not surplus, f"should not be in the wheel: {sorted(surplus)}"
    assert any(name.endswith("licenses/LICENSE") for name in names), "the wheel has no license"
    assert any(name.endswith("entry_points.txt") for name in names), "the wheel has no console script"


def check_sdist(sdist: Path) -> None:
    """The sdist holds the package and what is needed to test it."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {f"src/{name}" for name in sources()}
    wanted |= {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml"}
    wanted |= {"tests/test_layers.py", "docs/architecture.md", "docs/errors.md", "benchmarks/__main__.py", ".ci/run"}
    assert not wanted - names, f"not in the sdist: {sorted(wanted - names)}"
    stray = [name for name in names if "__pycache__" in name or ".venv" in name or "benchmarks/results" in name]
    assert not stray, f"should not be in the sdist: {len(stray)} files, {sorted(stray)[:5]} first"


def check_use(wheel: Path, scratch: Path) -> None:
    """The wheel alone, away from the checkout, builds and runs a kernel."""
    target = scratch / "target"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(pip, check=True)
    environment = {**os.environ, "PYTHONPATH": str(target)}
    code = USE.format(target=str(target))
    subprocess.run([sys.executable, "-P", "-c", code], cwd=scratch, env=environment, check=True)
    explain = [sys.executable, "-P", "-m", "tirscript.cli", "explain", "T012"]
    page = subprocess.run(explain, cwd=scratch, env=environment, check=True, capture_output=True, text=True).stdout
    assert page.startswith("### T012: "), f"`tirscript explain` of the wheel says\n{page}"


def main() -> None:
    """Raise where something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        sdist, wheel = build(scratch / "dist")
        check_wheel(wheel)
        check_sdist(sdist)
        check_use(wheel, scratch)
    print(f"{wheel.name}: {', '.join(FOLDERS)}")


if __name__ == "__main__":
    main()
