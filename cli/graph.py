"""`tirscript graph`: graph functions as a drawing for Graphviz, or as JSON."""

from __future__ import annotations

import json
from typing import Any

import click

from tirscript.ir import DiagnosticError, GraphFunc, Module, error
from tirscript.ir.node import recursion_room

from .drawing import Drawing
from .files import FILE, some
from .output import machine, write

EPILOG = """\b
Examples:
  tirscript graph model.py --dot | dot -Tsvg > model.svg
  tirscript graph model.py:main --json"""

_SHAPES = {"input": "ellipse", "output": "ellipse", "constant": "note", "if": "diamond", "kernel": "box3d"}


@click.command(name="graph", epilog=EPILOG)
@click.argument("file", type=FILE, metavar="FILE[:NAME]")
@click.option("--dot", is_flag=True, help="As text for Graphviz (what it does without options).")
@click.option("--json", "as_json", is_flag=True, help="As JSON: nodes and edges of each graph function.")
def command(file: str, dot: bool, as_json: bool) -> None:
    """Draw the graph functions of a file: operators and kernels as nodes, shapes on the edges."""
    if dot and as_json:
        raise click.UsageError("--dot and --json are two forms of one drawing; choose one")
    _, found = some(file)
    parts = [part for program in found.values() for part in _parts(program)]
    if not parts:
        raise DiagnosticError([error("T307", f"{file} has no graph function", hint="`@G.graph_func` makes one")])
    with recursion_room():
        drawn = [Drawing(*part).described() for part in parts]
    if as_json:
        machine(drawn)
    else:
        write(dot_text(drawn))


def _parts(program: Any) -> list[tuple[GraphFunc, Module | None]]:
    """The graph functions of a program, with the module that they are in."""
    if isinstance(program, Module):
        return [(func, program) for func in program.graph_funcs]
    return [(program, None)] if isinstance(program, GraphFunc) else []


def dot_text(drawn: list[dict[str, Any]]) -> str:
    """Graphviz's text: a cluster for each function."""
    lines = ["digraph {", "  compound=true"]
    for at, one in enumerate(drawn):
        lines += [f"  subgraph cluster_{at} {{", f"    label={json.dumps(one['function'])}"]
        for number, node in enumerate(one["nodes"]):
            shape = _SHAPES.get(node["kind"], "box")
            lines.append(f"    f{at}_{number} [label={json.dumps(node['label'])}, shape={shape}]")
        for edge in one["edges"]:
            label = "\n".join(filter(None, (edge["role"], edge["label"])))
            lines.append(f"    f{at}_{edge['from']} -> f{at}_{edge['to']} [label={json.dumps(label)}]")
        lines.append("  }")
    places = {one["function"]: at for at, one in enumerate(drawn)}
    for at, one in enumerate(drawn):
        for number, node in enumerate(one["nodes"]):
            to = places.get(node["calls"])
            if to is not None:
                lines.append(f"  f{at}_{number} -> f{to}_0 [style=dashed, lhead=cluster_{to}]")
    return "\n".join([*lines, "}"]) + "\n"
