"""The fixture `golden`: programs and texts compared with files that a person has read."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .golden_files import SUFFIXES, safe, write_atomically
from .golden_session import GoldenError, Session

if TYPE_CHECKING:
    from tirscript.ir import GraphFunc, Module, PrimFunc

    from .places import Text

    Program = PrimFunc | GraphFunc | Module

BEFORE, AFTER = "# --- before ---", "# --- after "
ACCEPT = "if it is right, run this test again with --golden-update"


class GoldenMismatch(AssertionError):
    """What was found is not what the golden holds."""


class Golden:
    """Compares what a test makes with files of its own in the folder of goldens.

    The files are `<golden_dir>/<module>/<test>[-name].py`, and `.txt` for texts. One that does not exist yet fails with
    the text to review; `--golden-update` writes it.
    """

    def __init__(self, session: Session, folder: Path, stem: str, test: str) -> None:
        self.session = session
        self.folder = folder
        self.stem = stem
        self.test = test
        self.used: set[str] = set()

    def path(self, name: str | None = None, suffix: str = ".py") -> Path:
        """The file of a golden of this test."""
        return self.folder / f"{self.stem}{'' if name is None else f'-{safe(name)}'}{suffix}"

    def check(self, ir: Program, name: str | None = None, *, names: bool = False, comments: bool = False) -> None:
        """Compare a function or module with its golden, a Python file.

        They must be structurally equal; `names` and `comments` ask that these agree too. AssertionError with every
        difference otherwise.
        """
        __tracebackhide__ = True
        _program(ir, "golden.check() takes")
        path = self._claim(name, ".py")
        text = ir.script()
        old = self._old(path, text, "")
        if old is None:
            return
        golden = self._read(old, path)
        self._same(golden, ir, path, names, comments, "found")
        self._text(path, old, text, [(golden.program, ir)])

    def check_pass(
        self,
        before: Program,
        pass_: Callable[[Any], Any],
        after: Program | None = None,
        name: str | None = None,
        *,
        names: bool = False,
        comments: bool = False,
    ) -> Program:
        """Compare a program and what a pass makes of it with their golden, one Python file that holds both; returns
        what the pass made.

        `after`, where it is given, is what the pass must make, whatever the golden says. A mismatch and a new golden
        show the diff that the pass is.
        """
        __tracebackhide__ = True
        from .asserts import assert_structural_equal

        _program(before, "golden.check_pass() takes")
        path = self._claim(name, ".py")
        made = pass_(before)
        _program(made, f"the pass {_title(pass_)} must return")
        if after is not None:
            assert_structural_equal(made, after, names=names, comments=comments)
        title = _title(pass_)
        text = both(before, made, title)
        old = self._old(path, text, _rewrite(before, made, title))
        if old is None:
            return made
        first, second = halves(old)
        golden_before, golden_after = self._read(first, path), self._read(second, path)
        self._same(golden_before, before, path, names, comments, "given to the pass")
        rewrite = _rewrite(before, made, title)
        self._same(golden_after, made, path, names, comments, f"made by {title}", rewrite)
        self._text(path, old, text, [(golden_before.program, before), (golden_after.program, made)])
        return made

    def check_text(self, text: str, name: str | None = None) -> None:
        """Compare any text with its golden, character by character but for newlines at the end."""
        __tracebackhide__ = True
        if not isinstance(text, str):
            raise TypeError(f"golden.check_text() takes a string, not a {type(text).__name__}")
        path = self._claim(name, ".txt")
        text = text.rstrip("\n") + "\n"
        old = self._old(path, text, "")
        if old is None or old.rstrip("\n") == text.rstrip("\n"):
            return
        blank = "only white space differs: " if "".join(old.split()) == "".join(text.split()) else ""
        lines = difflib.unified_diff(old.splitlines(), text.splitlines(), "expected", "found", lineterm="")
        where = self.session.relative(path)
        raise GoldenMismatch("\n".join([f"the text is not that of {where} ({blank}{ACCEPT})", *lines]))

    # --- the file -----------------------------------------------------------------------------------------------------

    def _claim(self, name: str | None, suffix: str) -> Path:
        if name is not None and not (isinstance(name, str) and name):
            raise TypeError("the name of a golden is a string that is not empty")
        path = self.path(name, suffix)
        key = path.name
        if key in self.used:
            raise GoldenError(
                f"this test checks {'its golden' if name is None else f'the golden `{name}`'} twice; "
                "give each a `name=` of its own"
            )
        self.used.add(key)
        self.session.claim(path, f"{self.test} (name={name!r})" if name is not None else self.test)
        return path

    def _old(self, path: Path, text: str, more: str) -> str | None:
        """The golden's text; None where the test is done since the golden was written."""
        __tracebackhide__ = True
        session = self.session
        old = path.read_text(encoding="utf-8") if path.exists() else None
        if session.update:
            if old != text:
                write_atomically(path, text)
                session.written.add(str(path))
            return None
        if old is None:
            where = session.relative(path)
            raise GoldenMismatch(
                f"there is no golden {where} yet; read what it would hold, and {ACCEPT}:\n{text}{more}"
            )
        return old

    def _read(self, text: str, path: Path) -> Text:
        __tracebackhide__ = True
        from tirscript.ir import DiagnosticError

        from .places import read_text

        try:
            return read_text(text, self.session.relative(path))
        except DiagnosticError as problem:
            message = f"the golden {self.session.relative(path)} cannot be read ({ACCEPT}){problem}"
            raise GoldenMismatch(message) from None

    def _same(
        self,
        golden: Text,
        found: Program,
        path: Path,
        names: bool,
        comments: bool,
        label: str,
        more: str = "",
    ) -> None:
        __tracebackhide__ = True
        from .mismatch import Side, compare, explain

        problems = compare(golden.program, found, names=names, comments=comments)
        if problems:
            said = explain(Side("expected", golden.program, golden), Side(label, found), problems, names=names)
            where = self.session.relative(path)
            raise GoldenMismatch(f"the program is not that of {where} ({ACCEPT})\n{said}{more}")

    def _text(self, path: Path, old: str, text: str, pairs: list[tuple[Any, Any]]) -> None:
        """The programs mean the same; remember, or (strict) refuse, that the text is another."""
        __tracebackhide__ = True
        if old == text:
            return
        from .mismatch import surface

        kinds = [
            word
            for word in ("names", "comments")
            if any(surface(a, b, names=word == "names", comments=word == "comments") for a, b in pairs)
        ]
        kind = " and ".join(kinds) or "layout"
        where = self.session.relative(path)
        if self.session.strict:
            lines = difflib.unified_diff(old.splitlines(), text.splitlines(), "expected", "found", lineterm="")
            message = f"{where} holds this program with other {kind}, and --golden-strict is given ({ACCEPT})"
            raise GoldenMismatch("\n".join([message, *lines]))
        self.session.outdated[str(path)] = kind


def _program(ir: object, what: str) -> None:
    from tirscript.ir import GraphFunc, Module, Node, PrimFunc
    from tirscript.ir.words import words

    if isinstance(ir, (PrimFunc, GraphFunc, Module)):
        return
    if isinstance(ir, (Node, tuple)):
        hint = "compare its text, `golden.check_text(x.script())`"
        raise TypeError(f"{what} a whole function or module, not a piece of one; {hint}")
    raise TypeError(f"{what} a function or module, not {words(ir)}")


# --- two programs in a file -------------------------------------------------------------------------------------------


def both(before: Program, after: Program, title: str) -> str:
    """The text of a golden of `check_pass`: a file in which one program stands after the other."""
    from tirscript.printer.core import imports

    heads = "".join(program.script().partition("\n")[0] for program in (before, after))
    parts = [
        *imports(*(f" as {letter}" in heads for letter in "ITG")),
        f"{BEFORE}\n\n",
        before.script(header=False),
        f"\n{AFTER}{title} ---\n\n",
        after.script(header=False),
    ]
    return "\n".join([parts[0], "", *parts[1:]])


def halves(text: str) -> tuple[str, str]:
    """The two programs of such a file, each in its own lines of it."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith(BEFORE)), None)
    second = next((at for at, line in enumerate(lines) if line.startswith(AFTER)), None)
    if first is None or second is None or second < first:
        return text, text  # neither marker: reading it says what is wrong
    header = lines[:first]
    before = [*header, "", *lines[first + 1 : second]]
    after = [*header, *[""] * (second + 1 - first), *lines[second + 1 :]]
    return "\n".join(before).rstrip("\n") + "\n", "\n".join(after)


def _title(pass_: Any) -> str:
    """What a pass is called; of a pipeline, its passes where that is short."""
    name = getattr(pass_, "name", None) or getattr(pass_, "__name__", None)
    passes = getattr(pass_, "passes", None)
    if name is None and passes is not None:
        name = str(pass_)
        name = name if len(name) <= 60 else f"a pipeline of {len(passes)} passes"
    return " ".join(str(name or type(pass_).__name__).split())


def _rewrite(before: Program, after: Program, title: str) -> str:
    from tirscript.printer import diff

    changes = diff(before, after)
    return f"\nwhat {title} changed:\n{changes}" if changes else f"\n{title} changed nothing\n"


__all__ = ["SUFFIXES", "Golden", "GoldenMismatch", "both", "halves"]
