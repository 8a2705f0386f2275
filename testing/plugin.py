"""The pytest plugin: the fixture `golden`, its options, and what is told at the end of a run.

Loaded by every run of pytest where tirscript is installed, so that nothing of tirscript is imported before it is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .golden import Golden
    from .golden_session import Session

_SESSION: pytest.StashKey[Session] = pytest.StashKey()
_COLLECTED: pytest.StashKey[dict[Path, int]] = pytest.StashKey()  # how many tests of a file were collected


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _keep_compiled(pluginmanager)
    group = parser.getgroup("golden", "golden files of tirscript")
    group.addoption("--golden-update", action="store_true", help="write the goldens of the tests that run")
    group.addoption(
        "--golden-prune", action="store_true", help="remove the goldens that no test owns, where all of a module ran"
    )
    group.addoption(
        "--golden-strict",
        action="store_true",
        help="fail where a golden means the same but has other names, comments or layout than would be written now",
    )
    parser.addini("golden_dir", "the folder of the golden files, below the root of the project", default="tests/golden")


def _keep_compiled(pluginmanager: Any) -> None:
    """Let Python import tirscript as it is. pytest would compile all modules of a distribution that has a plugin anew,
    for the sake of their asserts, and at every run where no bytecode is kept."""
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("tirscript")


def pytest_configure(config: pytest.Config) -> None:
    update, prune = config.getoption("golden_update"), config.getoption("golden_prune")
    if (update or prune) and os.environ.get("CI", "").lower() not in ("", "0", "false"):
        option = "--golden-update" if update else "--golden-prune"
        raise pytest.UsageError(f"{option} is refused where CI is set: goldens are read by a person before they count")
    from .golden_session import Session

    root = config.rootpath
    folder = Path(os.path.normpath(root / config.getini("golden_dir")))
    if root.is_relative_to(folder):
        raise pytest.UsageError(
            "golden_dir is a folder of its own below the root of the project: no tests are looked for in it"
        )
    config.stash[_SESSION] = Session(folder, root, update=update, prune=prune, strict=config.getoption("golden_strict"))
    config.stash[_COLLECTED] = {}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Goldens of `test_*` are named so too, and are no tests; likewise the snapshots of `ProgramExtension`."""
    if collection_path.is_relative_to(config.stash[_SESSION].golden):
        return True
    return True if collection_path.name == "__snapshots__" and config.pluginmanager.hasplugin("syrupy") else None


# --- which tests there are, and which of them passed ------------------------------------------------------------------


def pytest_itemcollected(item: pytest.Item) -> None:
    counts = item.config.stash[_COLLECTED]
    counts[item.path] = counts.get(item.path, 0) + 1


class _Reports:
    """What hooks tell that are not given the configuration."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.session = config.stash[_SESSION]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        file, _, inside = report.nodeid.partition("::")
        path = os.path.normpath(self.config.rootpath / file)
        if path.endswith(".py") and not inside:
            self.session.modules.add(path)
        if not report.passed:  # an error, or a module that skips itself
            self.session.partial.add(path)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.session.passed.add(report.nodeid)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(_Reports(session.config), "tirscript-golden-reports")


def pytest_collection_finish(session: pytest.Session) -> None:
    """A test that was collected and will not run, by whichever option, makes its module partial."""
    left = session.config.stash[_COLLECTED].copy()
    for item in session.items:
        left[item.path] = left.get(item.path, 0) - 1
    session.config.stash[_SESSION].partial.update(str(path) for path, count in left.items() if count)


# --- the end ----------------------------------------------------------------------------------------------------------


def pytest_sessionfinish(session: pytest.Session) -> None:
    config: Any = session.config
    state = config.stash[_SESSION]
    if state.golden.is_dir():
        for item in getattr(session, "items", ()):
            if item.nodeid not in state.passed:
                folder, stem = _home(state, item)
                state.open_stems.append((str(folder), stem))
    if hasattr(config, "workeroutput"):
        config.workeroutput["tirscript_golden"] = state.state()


def _home(session: Session, item: Any) -> tuple[Path, str]:
    """The folder of the goldens of a test, and how their names begin."""
    from .golden_files import module_folder, stem_of

    classes = item.nodeid.split("[", 1)[0].split("::")[1:-1]
    function = getattr(item, "originalname", None) or item.name
    callspec = getattr(item, "callspec", None)
    stem = stem_of(classes, function, None if callspec is None else callspec.id)
    return module_folder(session.golden, session.root, item.path), stem


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker of pytest-xdist ended."""
    output = getattr(node, "workeroutput", None) or {}
    node.config.stash[_SESSION].merge(output.get("tirscript_golden"))


def _asked(config: pytest.Config, session: Session) -> list[Path]:
    """The files and folders that were asked for; a single test makes its module partial."""
    if any(config.getoption(option, False) for option in ("lf", "stepwise", "pyargs", "collectonly")):
        session.whole = False  # these leave away tests that are never collected, or run none
    found = []
    for arg in config.args:
        path, _, test = arg.partition("::")
        place = Path(os.path.normpath(config.invocation_params.dir / path))
        if test:
            session.partial.add(str(place))
        found.append(place)
    return found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    session = config.stash[_SESSION]
    orphans = session.orphans(_asked(config, session))
    notes: list[tuple[str, list[str]]] = [
        ("written", [session.relative(Path(path)) for path in sorted(session.written)]),
        (
            "with the right meaning, but another text than would be written now (--golden-update writes it)",
            [f"{session.relative(Path(path))} ({kind})" for path, kind in sorted(session.outdated.items())],
        ),
    ]
    if orphans and session.prune:
        session.remove(orphans)
        notes.append(("of no test, now removed", list(map(session.relative, orphans))))
    else:
        notes.append(("of no test (--golden-prune removes such)", list(map(session.relative, orphans))))
    notes.append(("claimed twice, by tests that ran in different processes", sorted(session.clashes)))
    if any(lines for _, lines in notes):
        terminalreporter.section("goldens")
    for word, lines in notes:
        if lines:
            terminalreporter.line(f"{len(lines)} golden{'s' * (len(lines) != 1)} {word}:")
            for line in lines:
                terminalreporter.line(f"  {line}")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare programs and texts with golden files: `golden.check(ir)`, `golden.check_pass(before, pass_)`,
    `golden.check_text(text)`."""
    from .golden import Golden

    session = request.config.stash[_SESSION]
    folder, stem = _home(session, request.node)
    return Golden(session, folder, stem, request.node.nodeid)
