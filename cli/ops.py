"""`tirscript ops`: the operators and intrinsics of T, from the one table of them."""

from __future__ import annotations

from typing import Any

import click

from tirscript.ir import DiagnosticError, error, suggest
from tirscript.ir.words import counted

from .completion import OPERATOR
from .output import machine, write

EPILOG = """\b
Examples:
  tirscript ops                  all
  tirscript ops exp shift        those with `exp` or `shift` in their name
  tirscript ops --graph conv     those of graphs with `conv` in their name
  tirscript ops --json"""


_NAMES = ("x", "y", "z")


@click.command(name="ops", epilog=EPILOG)
@click.argument("words", nargs=-1, type=OPERATOR)
@click.option("--foreign", is_flag=True, help="Also those that programs may hold and that do not run here.")
@click.option("--graph", is_flag=True, help="The operators of graphs instead: calls, how they fuse, and meaning.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(words: tuple[str, ...], foreign: bool, graph: bool, as_json: bool) -> None:
    """List the operators, or those with one of WORDS in their name: signature, dtypes and meaning."""
    from tirscript.ir.op import ALIASES, FOREIGN, OPS

    if graph:
        graph_operators(words, foreign, as_json)
        return
    table = {**OPS, **FOREIGN} if foreign else OPS
    aliases: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        aliases.setdefault(name, []).append(alias)

    def named(name: str, entry: Any) -> bool:
        return any(
            word.removeprefix("T.") in (text, text.rstrip("_")) or word.removeprefix("T.").lower() in text
            for word in words
            for text in (name, entry.symbol or name, *aliases.get(name, ()))
        )

    found = [entry for name, entry in table.items() if not words or named(name, entry)]
    if not found:
        near = suggest(words[0], [*table, *ALIASES])
        hint = f"did you mean `{near}`?" if near else "`tirscript ops` lists them all"
        raise DiagnosticError([error("T031", f"there is no operator named like `{words[0]}`", hint=hint)])
    if as_json:
        machine([described(entry, aliases.get(entry.name, [])) for entry in found])
        return
    heads = [signature(entry) for entry in found]
    width = min(34, max(map(len, heads)))
    for entry, head in zip(found, heads, strict=True):
        other = aliases.get(entry.name)
        also = f" Also {', '.join(f'T.{name}' for name in other)}." if other else ""
        write(f"{head:<{width}}  {rule(entry):<28}  {entry.doc}{also}\n")
    write(f"\n{counted(len(found), 'operator')}\n")


def graph_operators(words: tuple[str, ...], foreign: bool, as_json: bool) -> None:
    """List operators of graphs."""
    from tirscript.ir.graph_ops import GRAPH_OPS
    from tirscript.ir.graph_ops.call import signature as called
    from tirscript.ir.graph_ops.table import FOREIGN_GRAPH_OPS

    table = {**FOREIGN_GRAPH_OPS, **GRAPH_OPS} if foreign else GRAPH_OPS
    wanted = [word.removeprefix("G.").removeprefix("R.").lower() for word in words]
    found = [table[name] for name in sorted(table) if not words or any(word in name for word in wanted)]
    if not found:
        near = suggest(wanted[0], table)
        hint = f"did you mean `{near}`?" if near else "`tirscript ops --graph` lists them all"
        raise DiagnosticError([error("T031", f"there is no operator of graphs named like `{words[0]}`", hint=hint)])
    if as_json:
        machine([graph_described(entry) for entry in found])
        return
    heads = [called(entry) for entry in found]
    width = min(48, max(map(len, heads)))
    for entry, head in zip(found, heads, strict=True):
        write(f"{head:<{width}}  {entry.fusion:<11}  {entry.doc}\n")
    write(f"\n{counted(len(found), 'operator')}\n")


def graph_described(entry: Any) -> dict[str, Any]:
    """An operator of graphs as JSON has it; `kernel` says whether it becomes a tensor function."""
    from tirscript.ir.graph_ops.call import signature as called
    from tirscript.ir.graph_ops.foreign import is_foreign

    return {
        "name": entry.name,
        "signature": called(entry),
        "symbol": entry.symbol,
        "values": [one.name for one in entry.values],
        "attributes": [one.name for one in entry.attributes],
        "fusion": entry.fusion,
        "kernel": entry.legalize is not None,
        "foreign": is_foreign(entry),
        "pure": entry.pure,
        "example": entry.example,
        "doc": entry.doc,
    }


def described(entry: Any, aliases: list[str]) -> dict[str, Any]:
    """An operator as JSON has it; `arity` is its least and greatest number of arguments."""
    return {
        "name": entry.name,
        "signature": signature(entry),
        "symbol": entry.symbol,
        "aliases": aliases,
        "arity": list(entry.arity),
        "operands": entry.operands,
        "result": entry.result,
        "dtypes": rule(entry),
        "effect": entry.effect,
        "doc": entry.doc,
    }


def signature(entry: Any) -> str:
    """How an operator is written: `x + y`, `T.exp(x)`."""
    low, high = entry.arity
    if high > len(_NAMES):
        names = [*_NAMES[:low], "..."]
    else:
        names = [name if at < low else f"{name}?" for at, name in enumerate(_NAMES[:high])]
    if entry.symbol and len(names) == 2:
        return f"{names[0]} {entry.symbol} {names[1]}"
    if entry.symbol and len(names) == 1:
        return f"{entry.symbol}{' ' if entry.symbol.isalpha() else ''}{names[0]}"
    if entry.dtype_arg == "first":
        names.insert(0, "dtype")
    elif entry.dtype_arg == "last":
        names.append("dtype")
    return f"T.{entry.name}({', '.join(entry.parameters or names)})"


def rule(entry: Any) -> str:
    """What an operator does to dtypes: `floats -> same`."""
    from tirscript.ir.op import _WORDS

    return f"{_WORDS[entry.operands]} -> {entry.result}"
