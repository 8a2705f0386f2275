"""`tirscript targets`: the kinds of targets, the machines that have a name, and this one."""

from __future__ import annotations

from typing import Any

import click

from tirscript.ir import Target
from tirscript.ir.target_kinds import COMMON, TARGET_KINDS, TargetKind, target_kind
from tirscript.ir.target_tags import TAGS

from .completion import KIND, TARGET
from .opt import read_target
from .output import machine, write

EPILOG = """\b
Examples:
  tirscript targets                                  kinds and machines, a line each
  tirscript targets --kind llvm                      a kind with its options
  tirscript targets "llvm -mcpu=haswell"             what a target says, after a check
  tirscript targets host --json                      this machine"""


@click.command(name="targets", epilog=EPILOG)
@click.argument("targets", nargs=-1, type=TARGET, metavar="[TARGET]...")
@click.option("--kind", "kinds", multiple=True, type=KIND, help="Show a kind with its options.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(targets: tuple[str, ...], kinds: tuple[str, ...], as_json: bool) -> None:
    """List what programs can be built for, or show what each TARGET says. `host` is this machine."""
    if targets:
        found = [Target.host() if text == "host" else read_target(text) for text in targets]
        if as_json:
            machine([one.resolved().as_dict() for one in found])
        else:
            write("\n".join(_said(text, one) for text, one in zip(targets, found, strict=True)))
        return
    chosen = [target_kind(name) for name in kinds] or sorted(TARGET_KINDS.values(), key=lambda kind: kind.name)
    if as_json:
        tags = {} if kinds else {name: Target.parse(name).resolved().as_dict() for name in TAGS}
        machine({"kinds": [described(kind) for kind in chosen], "machines": tags})
    elif kinds:
        write("\n".join(map(_page, chosen)))
    else:
        width = max(map(len, [*TARGET_KINDS, *TAGS]))
        for kind in chosen:
            write(f"{kind.name:<{width}}  {kind.doc}\n")
        write("\n")
        for name in TAGS:
            write(f"{name:<{width}}  {Target.parse(name).resolved().text()}\n")


def described(kind: TargetKind) -> dict[str, Any]:
    """A kind as JSON has it."""
    return {
        "name": kind.name,
        "doc": kind.doc,
        "takes": _takes(kind),
        "options": [
            {"name": one.name, "type": one.type.__name__, "doc": one.doc, "choices": list(one.choices)}
            for one in (*kind.options, *COMMON)
        ],
    }


def _takes(kind: TargetKind) -> list[str]:
    """What a kind makes code of."""
    words = {"tir_to_runtime": "tensor functions", "graph_to_runtime": "graph functions", "export": "files"}
    return [word for hook, word in words.items() if getattr(kind, hook) is not None]


def _page(kind: TargetKind) -> str:
    lines = [f"{kind.name}: {kind.doc}", "", f"    makes: {', '.join(_takes(kind)) or 'nothing by itself'}"]
    for one in (*kind.options, *COMMON):
        takes = (
            "|".join(one.choices) or {"str": "WORD", "int": "INT", "bool": "", "tuple": "WORD,..."}[one.type.__name__]
        )
        lines.append(f"    -{one.name}={takes}".ljust(36) + one.doc)
    return "\n".join(lines) + "\n"


def _said(text: str, target: Target) -> str:
    """What a target means, a line each."""
    meant = target.resolved()
    facts: list[tuple[str, Any]] = [
        ("kind", meant.kind),
        ("keys", ", ".join(meant.all_keys)),
        ("processor", meant.cpu),
        ("triple", meant.triple),
        ("abi", meant.abi),
        ("vectors", f"{meant.vector_bits} bits" if meant.vector_bits else None),
        ("cores", meant.cores),
        ("caches", ", ".join(f"{size >> 10} KiB" for size in meant.caches if size) or None),
        ("features", ", ".join(one[1:] for one in meant.features if one.startswith("+")) or None),
        *((f"target {name}", one.text() or one.json()) for name, one in meant.targets.items()),
    ]
    return f"{text}\n" + "".join(f"    {name}: {value}\n" for name, value in facts if value not in (None, ""))
