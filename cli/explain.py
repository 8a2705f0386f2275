"""`tirscript explain`: what a diagnostic code means, from the page that CI makes of examples."""

from __future__ import annotations

import re
from importlib.resources import files

import click

from tirscript.ir import suggest
from tirscript.ir.codes import CODES

from .completion import CODE
from .output import coloured, machine, write

EPILOG = """\b
Examples:
  tirscript explain T203
  tirscript explain T6           the codes that begin so, a line each
  tirscript explain              every code, a line each"""
PAGE = "codes.md"  # beside this file; docs/make_codes.py writes it


def explanation(code: str) -> str:
    """The section of a code: what it means, a program that gives it, and what is said of that."""
    text = files(__package__).joinpath(PAGE).read_text(encoding="utf-8")
    match = re.search(rf"^### {code}: .*?(?=^##|\Z)", text, re.M | re.S)
    assert match is not None, f"{PAGE} has no section {code}"
    return match[0].strip() + "\n"


@click.command(name="explain", epilog=EPILOG)
@click.argument("codes", nargs=-1, type=CODE)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(codes: tuple[str, ...], as_json: bool) -> None:
    """Explain each of CODES, such as the T203 of `error[T203]`; list those of a beginning such as T2, or all."""
    wanted = [code for word in codes for code in _known(word)] or list(CODES)
    if as_json:
        machine([{"code": code, "title": CODES[code], "text": explanation(code)} for code in wanted])
        return
    if not any(_bare(word) in CODES for word in codes):
        write("".join(f"{code}  {CODES[code]}\n" for code in wanted))
        return
    import sys

    text = "\n".join(map(explanation, wanted))
    if not coloured(sys.stdout):
        write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(force_terminal=True).print(Markdown(text.replace("```py\n", "```python\n"), code_theme="ansi_dark"))


def _bare(word: str) -> str:
    """A code as the table has it; `error[T203]` is meant as well."""
    return re.sub(r"^\w+\[(\w+)\].*", r"\1", word.strip()).upper()


def _known(word: str) -> list[str]:
    """The code that is meant, or all that begin so."""
    wanted = _bare(word)
    found = [wanted] if wanted in CODES else [code for code in CODES if wanted and code.startswith(wanted)]
    if found:
        return found
    near = suggest(wanted, CODES)
    hint = f"did you mean {near}?" if near else "`tirscript explain` lists them"
    raise click.ClickException(f"there is no diagnostic code {word!r}; {hint}")
