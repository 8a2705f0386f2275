"""Source text as a piece of HTML, highlighted, for notebooks: `_repr_html_` of nodes.

It needs neither IPython nor pygments: printed text is regular, so that one expression finds its words. Colors follow
the notebook's theme where it tells it (Jupyter, VS Code), else the system's.
"""

from __future__ import annotations

import html
import keyword
import re
from collections.abc import Iterator
from typing import Any

from tirscript.ir.check import public
from tirscript.ir.node import Node

SHOWN = 2_000  # lines; more are left out of a notebook's output, which keeps all that it shows

_WORDS = re.compile(
    r'(?P<comment>#[^\n]*)|(?P<string>"""(?:\\.|(?!""").)*"""|"(?:\\.|[^"\\\n])*"'
    + r"|'(?:\\.|[^'\\\n])*')|(?P<decorator>@[\w.]+)|(?P<builtin>\b[TI]\.\w+)"
    + r"|(?P<number>\b\d[\w.]*(?:(?<=e)[-+]?\d+)?)|(?P<defined>(?<=def )\w+|(?<=class )\w+)"
    + rf"|(?P<keyword>\b(?:{'|'.join(keyword.kwlist)})\b)",
    re.DOTALL,
)
_LIGHT = {
    "comment": "#687183",
    "string": "#17703a",
    "decorator": "#687183",
    "builtin": "#0f62a8",
    "number": "#a84a00",
    "defined": "inherit",
    "keyword": "#8636c9",
}
_DARK = {
    "comment": "#8a94a6",
    "string": "#9fd08a",
    "decorator": "#8a94a6",
    "builtin": "#7cc4f0",
    "number": "#f2ab72",
    "defined": "inherit",
    "keyword": "#c99bf5",
}
# what notebooks write on their pages when they are dark, and when they are light
_DARK_PAGES = ('[data-jp-theme-light="false"]', ".vscode-dark", '[theme="dark"]', '[data-theme="dark"]')
_LIGHT_PAGES = ('[data-jp-theme-light="true"]', ".vscode-light", '[theme="light"]', '[data-theme="light"]')


@public
def highlighted(text: str) -> str:
    """Printed source text as HTML, each word of a kind in a `<span class="tir-kind">`; nothing in it is markup."""
    return "".join(
        f'<span class="tir-{kind}">{html.escape(piece)}</span>' if kind else html.escape(piece)
        for kind, piece in words(text)
    )


def words(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a text and their kinds ("" for what has none)."""
    done = 0
    for match in _WORDS.finditer(text):
        if match.start() > done:
            yield "", text[done : match.start()]
        yield str(match.lastgroup), match[0]
        done = match.end()
    if done < len(text):
        yield "", text[done:]


def _rules(colors: dict[str, str], pages: tuple[str, ...] = ("",)) -> str:
    return "".join(
        f"{', '.join(f'{page} .tir-source .tir-{kind}'.strip() for page in pages)} {{ color: {color} }}\n"
        for kind, color in colors.items()
    )


def style() -> str:
    """The style sheet of highlighted texts."""
    return (
        ".tir-source { white-space: pre; overflow-x: auto; margin: 0; line-height: 1.45; background: none }\n"
        ".tir-source .tir-defined { font-weight: bold }\n"
        ".tir-source .tir-comment { font-style: italic }\n"
        + _rules(_LIGHT)
        + f"@media (prefers-color-scheme: dark) {{\n{_rules(_DARK)}}}\n"
        + _rules(_LIGHT, _LIGHT_PAGES)
        + _rules(_DARK, _DARK_PAGES)
    )


@public
def to_html(node: Node, **options: Any) -> str:
    """`node` as a piece of HTML with its style sheet; `options` are those of `script`.

    Of a text of more than `SHOWN` lines the first are shown, and how many there are.
    """
    from . import script

    text = script(node, **options)
    lines = text.rstrip("\n").split("\n")
    rest = ""
    if len(lines) > SHOWN:
        text = "\n".join(lines[:SHOWN])
        rest = f"\n<i>… {len(lines) - SHOWN:,} more lines; print(x.script()) shows all</i>"
    return f'<style>\n{style()}</style>\n<pre class="tir-source">{highlighted(text.rstrip(chr(10)))}{rest}</pre>'


__all__ = ["SHOWN", "highlighted", "style", "to_html", "words"]
