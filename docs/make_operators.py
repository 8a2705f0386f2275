"""Write the table in docs/operators.md from the entries of the graph operators. With --check only compare.

What stands above the mark is written by hand; CI runs its examples.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tirscript.ir.graph_ops import GRAPH_OPS, GraphOp
from tirscript.ir.graph_ops.call import signature

FILE = Path(__file__).resolve().parent / "operators.md"
MARK = "<!-- from here on written by docs/make_operators.py -->\n"


def family(entry: GraphOp) -> str:
    """The file of an entry's type rule, which is that of its family."""
    module = sys.modules[entry.infer.__module__]
    return (module.__doc__ or "").partition("\n")[0].rstrip(".")


def row(entry: GraphOp) -> str:
    """One operator as a line of a table."""
    symbol = f" `{entry.symbol}`" if entry.symbol else ""
    kernel = "yes" if entry.legalize is not None or entry.measured is not None else "no"
    cells = [f"`{signature(entry)}`{symbol}", entry.doc, entry.fusion, kernel]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def listing() -> str:
    """The part of the page that is written from the table."""
    families: dict[str, list[GraphOp]] = {}
    for entry in GRAPH_OPS.values():
        families.setdefault(family(entry), []).append(entry)
    count = sum(entry.reference is not None for entry in GRAPH_OPS.values())
    parts = [MARK, f"## The table\n\n{len(GRAPH_OPS)} operators, {count} of them with a meaning of their own.\n"]
    for title, entries in families.items():
        parts.append(f"### {title}\n\n| call | meaning | fusion | kernel |\n| --- | --- | --- | --- |")
        parts += [row(entry) for entry in entries]
        parts.append("")
    return "\n".join(parts)


def main() -> int:
    """Write the page, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    check = parser.parse_args().check
    old = FILE.read_text(encoding="utf-8")
    new = old.partition(MARK)[0] + listing()
    if not check:
        FILE.write_text(new, encoding="utf-8")
    elif new != old:
        print("docs/operators.md is not what the operators say; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
