"""`tirscript passes`: the passes and what can be set for them."""

from __future__ import annotations

from typing import Any

import click

from .completion import PASS
from .output import machine, write

EPILOG = """\b
Examples:
  tirscript passes                  all, a line each
  tirscript passes unroll-loop      one, with its rewrite and its options
  tirscript passes --json"""


@click.command(name="passes", epilog=EPILOG)
@click.argument("names", nargs=-1, type=PASS)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List the passes, or show those of NAMES with the rewrite each makes."""
    from tirscript.passes import DEFAULT_LOWERING, PASSES, Pass, get_pass

    found: list[Pass] = [get_pass(name) for name in names] if names else sorted(PASSES.values(), key=lambda p: p.name)
    if as_json:
        machine([described(entry) for entry in found])
    elif names:
        write("\n".join(map(_page, found)))
    else:
        width = max(len(entry.name) for entry in found)
        for entry in found:
            write(f"{entry.name:<{width}}  {_summary(entry)}\n")
        write(f"\n`default` is {DEFAULT_LOWERING}\n")


def _type_name(kind: Any) -> str:
    """`int`, or `int | None` of a type that has no name."""
    return getattr(kind, "__name__", str(kind))


def described(entry: Any) -> dict[str, Any]:
    """A pass as JSON has it."""
    options = [
        {"name": one.name, "type": _type_name(one.type), "default": one.default} for one in entry.options.values()
    ]
    return {
        "name": entry.name,
        "kind": entry.kind,
        "summary": _summary(entry),
        "doc": entry.doc,
        "requires": list(entry.requires),
        "opt_level": entry.opt_level,
        "options": options,
    }


def _summary(entry: Any) -> str:
    return " ".join(entry.doc.partition("\n\n")[0].split())


def _page(entry: Any) -> str:
    lines = [f"{entry.name} (on a {entry.kind.replace('prim_func', 'function')})", ""]
    lines += [f"    {line}".rstrip() for line in entry.doc.splitlines()]
    if entry.requires:
        lines += ["", f"    after: {', '.join(entry.requires)}"]
    if entry.opt_level:
        lines += ["", f"    at opt_level {entry.opt_level} and above"]
    for option in entry.options.values():
        lines += ["", f"    option {option.name}: {_type_name(option.type)} = {option.default!r}"]
    return "\n".join(lines) + "\n"
