"""Write the tables of docs/language.md from docs/language_examples.py and from the tables of the language itself.

Each example is parsed, verified, printed, read again, printed for TVM, read again from that, and, where it has a
result, run in the interpreter and natively. With --check only compare.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import io
import linecache
import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tirscript
from tirscript.ir import OPS, Module, PrimFunc, Var, structural_equal
from tirscript.ir.dtype import KEPT, DType, dtype, scalar_names
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.op import _WORDS as WORDS
from tirscript.ir.op import ALIASES, FOREIGN, Op
from tirscript.script import ir, tir
from tirscript.script.tvm import FORMS, FUNCTIONS, OPERATORS

sys.path.insert(0, str(Path(__file__).resolve().parent))
from language_examples import SECTIONS, Example

FILE = Path(__file__).resolve().parent / "language.md"
MARK = "<!-- what follows is written by docs/make_language.py -->\n"
HEAD = """
## 7. Every construct

Each row is executed by `docs/make_language.py`: the example is parsed and verified, what is printed of it is read
again and is the same program, and so is what is printed for TVM; where it has a result, the interpreter and the
native code give it. CI checks that this is what it does today (with Python 3.12 and later, of what only they can
read). Bodies stand in a function of the buffers
`A: T.Buffer((4,), "float32")`, `X: T.Buffer((4,), "int32")` or `B: T.Buffer((4, 4), "float32")`.
"""


class Outcome(NamedTuple):
    """What an example is, and what TVM's dialect lacks for it; "" where it has a text."""

    program: PrimFunc | Module
    lacks: str


def is_read(example: Example) -> bool:
    """Whether this Python can read an example."""
    return not example.syntax or sys.version_info >= (3, 12)


def is_body(example: Example) -> bool:
    """Whether the code is the body of a function that is left away."""
    return not example.live and not any(line.startswith(("@", "def ", "class ")) for line in example.code.split("\n"))


def text_of(example: Example) -> str:
    """The whole text of an example."""
    if is_body(example):
        return f"@T.prim_func\ndef f({example.params}):\n{textwrap.indent(example.code, '    ')}"
    return example.code


def program_of(example: Example) -> PrimFunc | Module:
    """The program of an example."""
    if not example.live:
        return tirscript.parse(text_of(example), filename="example.py")
    where = f"<{example.what}>"
    linecache.cache[where] = (len(example.code), None, example.code.splitlines(keepends=True), where)
    names: dict[str, Any] = {"T": tir, "I": ir, "tirscript": tirscript, "Path": Path}
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile(example.code, where, "exec"), names)  # one of the texts of language_examples.py
        finally:
            os.chdir(home)
    found: PrimFunc | Module = names["f"]
    return found


def same(program: Any, text: str, what: str) -> Any:
    """What a text holds, which must be this program."""
    again = tirscript.parse(text)
    assert structural_equal(program, again), f"{what} is another program:\n{text}\n{program.script()}"
    return again


def outcome(example: Example) -> Outcome:
    """Do with an example all but run it; AssertionError where a law does not hold."""
    program = program_of(example)
    printed = program.script()
    assert same(program, printed, "what is printed").script() == printed
    try:
        tvm = program.script(dialect="tvm")
    except tirscript.DiagnosticError as problem:
        assert not example.tvm, f"TVM's dialect cannot say `{example.what}`: {problem}"
        return Outcome(program, problem.diagnostics[0].message)
    assert example.tvm, f"TVM's dialect can say `{example.what}`"
    same(program, tvm, "what is printed for TVM")
    return Outcome(program, "")


def results(example: Example, program: PrimFunc | Module) -> Iterator[tuple[str, Any]]:
    """What an example leaves in its last argument, or returns, in each way to run it."""
    ways = (("interpreter", tirscript.interpret), ("native", native))
    for way, run in ways if example.native else ways[:1]:
        arguments = eval(f"({example.args},)", {"np": np})
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                returned = run(program, *arguments)
        except (AssertionError, tirscript.DiagnosticError) as problem:
            yield way, type(problem).__name__
            continue
        yield way, returned if returned is not None else arguments[-1].tolist()


def native(program: PrimFunc | Module, *arguments: Any) -> Any:
    """Build a program, with checks, and call it."""
    return tirscript.build(program, debug=True)(*arguments)


def check(example: Example) -> None:
    """Run an example that has a result; AssertionError where it gives another one."""
    program = program_of(example)
    if example.gives is None:
        return
    for way, found in results(example, program):
        expected = example.gives
        equal = found == expected if isinstance(expected, str) else np.allclose(found, expected, rtol=1e-6, atol=0)
        assert equal, f"{example.what}: {way} gives {found}, not {expected}\n{program.script()}"


# --- the page ---------------------------------------------------------------------------------------------------------


def shown(program: PrimFunc | Module, dialect: str, body: bool) -> str:
    """What is printed of a program, without its imports, or of a function only its body."""
    text = program.script(dialect=dialect, header=False)
    if not body:
        return text
    lines = text.split("\n")
    head = next(at for at, line in enumerate(lines) if line.startswith(("def ", ")")) and line.endswith(":"))
    return textwrap.dedent("\n".join(lines[head + 1 :]))


DIALECTS = ("tirscript", "tvm")


def code(text: str) -> str:
    """Code in a cell. An empty line would end the table, so it holds a comment."""
    lines = html.escape(text.strip("\n"), quote=False).split("\n")
    return f"<pre>{chr(10).join(line or '<!-- -->' for line in lines)}</pre>"


def row(example: Example) -> str:
    """The row of an example."""
    body = is_body(example)
    if is_read(example):
        found = outcome(example)
        texts = [shown(found.program, name, body) if name == "tirscript" or example.tvm else "" for name in DIALECTS]
        assert not example.syntax or texts == list(example.syntax), f"`{example.what}` is printed as {texts}"
        lacks = found.lacks
    else:
        texts, lacks = list(example.syntax), ""  # of another Python, which compares it
    printed, tvm = texts
    cells = [prose(example.what), code(example.code)]
    cells.append("the same" if printed.strip() == example.code.strip() else code(printed))
    if example.tvm:
        cells.append("the same as printed" if tvm.strip() == printed.strip() else code(tvm))
    else:
        cells.append(prose(lacks))
    if isinstance(example.gives, str):
        result = f"raises <code>{example.gives}</code>"
    else:
        result = "" if example.gives is None else f"<code>{html.escape(str(example.gives))}</code>"
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in [*cells, result]) + "</tr>"


def prose(text: str) -> str:
    """Markdown of one line as HTML: code between backquotes."""
    parts = html.escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def constructs() -> str:
    """The tables of examples."""
    parts = []
    head = "<tr><th>construct</th><th>example</th><th>printed</th><th>for TVM</th><th>gives</th></tr>"
    for name, examples in SECTIONS.items():
        rows = "\n".join(map(row, examples))
        parts.append(f"### {name}\n\n<table>\n{head}\n{rows}\n</table>\n")
    return "\n".join(parts)


KINDS = {
    "floats": "float32",
    "ints": "int32",
    "nums": "float32",
    "bools": "bool",
    "any": "float32",
    "intbools": "int32",
}
# the operators that are not simply applied to values: one call of each
BUFFER = tirscript.parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 0.0\n')


def sample(entry: Op) -> Expr:
    """A call of an operator."""
    kind: DType = dtype(KINDS[entry.operands])
    values: list[Any] = [Var(name, kind) for name in "xyz"]
    buffer = BUFFER.params[0]  # type: ignore[union-attr]
    special: dict[str, tuple[Any, ...]] = {
        "cast": (values[0], "int32"),
        "reinterpret": ("int32", values[0]),
        "undef": ("float32",),
        "call_extern": ("float32", "name", values[0]),
        "call_pure_extern": ("float32", "name", values[0]),
        "call_llvm_intrin": ("float32", "llvm.name", values[0]),
        "call_llvm_pure_intrin": ("float32", "llvm.name", values[0]),
        "prefetch": (OPS["address_of"](BufferLoad(buffer, (tir.int32(0),))),),
        "call_packed": ("name", values[0]),
        "address_of": (BufferLoad(buffer, (tir.int32(0),)),),
        "isnullptr": (Var("p", dtype("handle")),),
        "print": (values[0],),
        "breakpoint": (),
    }
    if entry.name in special:
        return entry(*special[entry.name])
    if entry.name == "likely":
        kind = dtype("bool")
    if entry.make is None:
        values = [Var(name, kind) for name in entry.parameters]
    alike = range(entry.arity[0])[slice(*entry.group)]
    other = dtype("bool" if 0 not in alike else "int32")  # a condition, or how often
    arguments = [one if at in alike else Var(one.name, other) for at, one in enumerate(values[: entry.arity[0]])]
    return entry(*arguments)


def operators() -> str:
    """The table of operators."""
    aliases: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        aliases.setdefault(name, []).append(f"`T.{alias}`")
    lines = [
        "### Operators\n",
        "All of the one table `tirscript.ir.OPS`. An operator that Python has is printed as Python writes it.\n",
        "| name | takes | dtypes | printed | for TVM | numpy | meaning |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, entry in OPS.items():
        call = sample(entry)
        printed = call.script()
        try:
            tvm = f"`{call.script(dialect='tvm')}`"
        except tirscript.DiagnosticError:
            tvm = "none"
        names = ", ".join([f"`T.{name}`", *aliases.get(name, ())])
        cells = [
            names,
            arity(entry),
            WORDS[entry.operands],
            f"`{printed}`",
            "the same" if f"`{printed}`" == tvm else tvm,
            f"`{entry.numpy}`" if entry.numpy else "",
            entry.doc,
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def arity(entry: Op) -> str:
    """How many arguments an operator takes, in words."""
    low, high = entry.arity
    return str(low) if low == high else f"{low} or more" if high > 100 else f"{low} to {high}"


def foreign() -> str:
    """The table of intrinsics of other machines."""
    lines = [
        "### Intrinsics of other machines\n",
        "They are read, verified, kept and printed, and refused by name where something is to run them, but for\n"
        "fixed-point multiplications (`q_multiply_shift`) and `T.ignore_loop_partition`, which are computed, and the\n"
        "arrays that `T.call_packed` is given by `T.tvm_stack_make_array`, which the library gets.\n",
        "| name | takes | meaning |",
        "|---|---|---|",
    ]
    for name, entry in FOREIGN.items():
        first = "a dtype and " if entry.dtype_arg == "first" else ""
        lines.append(f"| `T.{name}` | {first}{arity(entry)} | {entry.doc} |")
    return "\n".join(lines) + "\n"


def theirs() -> str:
    """The table of TVM's names that stand for one of ours."""
    lines = ["### TVM's names of operators and constructs\n", "| name | reads as |", "|---|---|"]
    lines += [f"| `T.{name}` | `T.{ours}` |" for name, ours in sorted({**FORMS, **OPERATORS}.items())]
    for name, function in sorted(FUNCTIONS.items()):
        lines.append(f"| `T.{name}` | {(function.__doc__ or '').partition(chr(10))[0]} |")
    return "\n".join(lines) + "\n"


def dtypes() -> str:
    """The table of dtypes."""
    lines = ["### Dtypes\n", "| dtype | bits | kind |", "|---|---|---|"]
    for name in scalar_names():
        kind = dtype(name)
        word = "a float" if kind.is_float else "an address" if kind.is_handle else "nothing"
        if kind.is_int or kind.is_bool:
            word = "true or false" if kind.is_bool else "an integer"
        lines.append(f"| `T.{name}` | {kind.bits} | {word} |")
    lines.append('\nEach has lanes too: `T.float32x8` by name, or any number in a string, `"float32x3"`.')
    names = ", ".join(f"`{name}`" for name in KEPT)
    lines.append(
        f"\nOf TVM's others, programs may hold {names}: they are read, checked, kept and printed, and not run."
    )
    return "\n".join(lines) + "\n"


def page() -> str:
    """The text of docs/language.md: what is written by hand, then the tables."""
    before, mark, _ = FILE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{FILE.name} has lost the line {MARK}"
    return before + mark + "\n".join([HEAD, constructs(), dtypes(), operators(), theirs(), foreign()]).rstrip() + "\n"


def main() -> int:
    """Write the page, or compare it with what is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not up to date")
    text = page()
    if parser.parse_args().check:
        if FILE.read_text(encoding="utf-8") == text:
            return 0
        print("docs/language.md is not what the examples give; run `make docs`", file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
