"""What shells offer behind a command: words of the tables that it takes names from, loaded when a shell asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Table = Callable[[], Iterable[tuple[str, str]]]


class Word(click.ParamType):
    """A word of a table of words with what they mean. What is none of them is left to the command, which has a hint."""

    def __init__(self, name: str, table: Table) -> None:
        self.name, self.table = name, table

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words that begin so."""
        return [CompletionItem(word, help=doc) for word, doc in self.table() if word.startswith(incomplete)]


class Words(Word):
    """Words of a table with commas between them."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What the last word may be."""
        before, comma, last = incomplete.rpartition(",")
        found = super().shell_complete(ctx, param, last)
        return [CompletionItem(before + comma + item.value, help=item.help) for item in found]


def _passes() -> list[tuple[str, str]]:
    from tirscript.passes import PASSES

    return [(name, " ".join(entry.doc.partition("\n\n")[0].split())) for name, entry in sorted(PASSES.items())]


def _pipelines() -> list[tuple[str, str]]:
    whole = ("build", "all that `build` does"), ("default", "the lowering of tensor functions")
    return [*whole, *_passes()]


def _codes() -> list[tuple[str, str]]:
    from tirscript.ir.codes import CODES

    return list(CODES.items())


def _operators() -> list[tuple[str, str]]:
    from tirscript.ir.op import OPS

    return [(name, entry.doc) for name, entry in sorted(OPS.items())]


def _kinds() -> list[tuple[str, str]]:
    from tirscript.ir.target_kinds import TARGET_KINDS

    return [(name, kind.doc) for name, kind in sorted(TARGET_KINDS.items())]


def _targets() -> list[tuple[str, str]]:
    from tirscript.ir import Target
    from tirscript.ir.target_tags import TAGS

    return [*_kinds(), *((name, Target.parse(name).resolved().text() or "") for name in TAGS)]


def _examples() -> list[tuple[str, str]]:
    import pkgutil

    import tirscript.examples as folder

    return sorted((found.name, "") for found in pkgutil.iter_modules(folder.__path__) if not found.ispkg)


PASS = Word("pass", _passes)
PASSES = Words("passes", _pipelines)
CODE = Word("code", _codes)
OPERATOR = Word("operator", _operators)
KIND = Word("kind", _kinds)
TARGET = Word("target", _targets)
EXAMPLE = Word("example", _examples)
