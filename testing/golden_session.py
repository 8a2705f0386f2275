"""What a run of tests did to its goldens: which were used, written or outdated, and which nothing owns any more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .golden_files import SUFFIXES, module_folder, remove


class GoldenError(Exception):
    """A test uses goldens in a way that cannot work."""


class Session:
    """The state of one process; under pytest-xdist that of a worker, which `merge` brings to the controller."""

    def __init__(self, golden: Path, root: Path, *, update: bool = False, prune: bool = False, strict: bool = False):
        self.golden = golden
        self.root = root
        self.update = update
        self.prune = prune
        self.strict = strict
        self.owners: dict[str, str] = {}  # file -> what checks it: the test and the name it gave
        self.written: set[str] = set()
        self.outdated: dict[str, str] = {}  # file -> what differs in the text alone
        self.modules: set[str] = set()  # collected test files
        self.partial: set[str] = set()  # those of which not every test was asked for
        self.passed: set[str] = set()
        self.open_stems: list[tuple[str, str]] = []  # of tests that did not pass: the folder and stem of their goldens
        self.clashes: set[str] = set()
        self.merged = False
        self.whole = True  # whether nothing was left away by options

    def relative(self, path: Path) -> str:
        """A path as messages show it."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def claim(self, path: Path, owner: str) -> None:
        """Say that a check owns a file; GoldenError where another does."""
        other = self.owners.setdefault(str(path), owner)
        if other == owner:
            return
        raise GoldenError(self._clash(str(path), other, owner))

    def _clash(self, path: str, one: str, other: str) -> str:
        both = one if one == other else f"{one} and {other}"
        return f"{both} would keep two goldens in {self.relative(Path(path))}; give one of them another `name=`"

    # --- merging ------------------------------------------------------------------------------------------------------

    _MERGED = ("written", "modules", "partial", "clashes")

    def state(self) -> dict[str, Any]:
        """What the controller needs of a worker, in plain values."""
        sets = {name: sorted(getattr(self, name)) for name in self._MERGED}
        return {**sets, "owners": self.owners, "outdated": self.outdated, "open_stems": self.open_stems}

    def merge(self, state: dict[str, Any] | None) -> None:
        """Add what a worker did; None of one that died, of which nothing is known."""
        if state is None:
            self.whole = False
            self.partial |= self.modules
            return
        for name in self._MERGED:
            getattr(self, name).update(state[name])
        for path, owner in state["owners"].items():
            other = self.owners.setdefault(path, owner)
            if other != owner:
                self.clashes.add(self._clash(path, other, owner))
        self.outdated.update(state["outdated"])
        # a test that did not pass in one worker ran in another, unless it is open in all of them
        mine = {tuple(item) for item in state["open_stems"]}
        self.open_stems = [item for item in self.open_stems if item in mine] if self.merged else sorted(mine)
        self.merged = True

    # --- orphans ------------------------------------------------------------------------------------------------------

    def orphans(self, asked: list[Path]) -> list[Path]:
        """The goldens that no test owns: of a module all of whose tests were asked for, where the owner could only be a
        test that passed; of a module that is gone, where the whole suite (`asked` holds it) was."""
        if not self.whole:
            return []
        complete = {str(module_folder(self.golden, self.root, Path(path))) for path in self.modules - self.partial}
        suite = not self.partial and any(self.golden.parent.is_relative_to(path) for path in asked)
        found = []
        for folder, _, names in os.walk(self.golden):
            if folder not in complete and not (suite and self.is_gone(Path(folder))):
                continue
            for name in names:
                stem, suffix = os.path.splitext(name)
                path = Path(folder, name)
                if suffix not in SUFFIXES or name.startswith(".") or str(path) in self.owners:
                    continue
                open_here = [one for where, one in self.open_stems if where == folder]
                if not any(stem == one or stem.startswith(f"{one}-") for one in open_here):
                    found.append(path)
        return sorted(found)

    def is_gone(self, folder: Path) -> bool:
        """Whether no test module, and no folder of such, stands behind a folder of goldens."""
        if folder == self.golden:
            return False
        place = folder.relative_to(self.golden)
        return not any(
            (base / place).is_dir() or (base / place).with_name(f"{place.name}.py").exists()
            for base in (self.golden.parent, self.root)
        )

    def remove(self, paths: list[Path]) -> None:
        """Remove orphans."""
        for path in paths:
            remove(path, self.golden)


__all__ = ["GoldenError", "Session"]
