"""What the fuzzer begins with: the examples, every program in the tests, printed random programs; and its dictionary."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = "from tirscript.script import ir as I, tir as T\n\n\n"
PARAMS = 'A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32"), X: T.Buffer((16,), "int32"), n: T.int32'


def seeds() -> Iterator[str]:
    """Texts, most of them programs."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield from _definitions(path)
    for path in [*sorted((ROOT / "docs").glob("language_*.py")), *sorted((ROOT / "tests").rglob("*.py"))]:
        if "fuzz" in path.parts:
            continue
        if "errors" in path.parts:
            yield path.read_text()  # programs with mistakes, some of them no Python
            continue
        yield from _definitions(path)
        yield from _strings(path)
    yield from printed()


def _definitions(path: Path) -> Iterator[str]:
    """The decorated functions and classes of a file, each as a text."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.decorator_list:
            if any(word in ast.unparse(node.decorator_list[0]) for word in ("prim_func", "ir_module", "macro")):
                first = node.decorator_list[0].lineno
                yield HEADER + textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))


def _strings(path: Path) -> Iterator[str]:
    """The strings of a test file: whole texts, and what may be the body of a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = textwrap.dedent(node.value)
            if "@T.prim_func" in text or "@I.ir_module" in text:
                yield text if "import" in text else HEADER + text
            elif ("\n" in text or "[" in text or "=" in text) and len(text) < 2000:
                body = textwrap.indent(text.strip("\n"), "    ")
                yield f"{HEADER}@T.prim_func\ndef f({PARAMS}):\n{body}\n"


def printed(count: int = 150) -> list[str]:
    """Random programs as text, in both dialects."""
    from hypothesis import HealthCheck, Phase, given, settings

    from tirscript.ir import DiagnosticError, PrimFunc
    from tirscript.testing import programs

    found: list[str] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(budget=40))
    def collect(program: PrimFunc) -> None:
        found.append(program.script())
        try:
            found.append(program.script(dialect="tvm"))
        except DiagnosticError:
            return

    collect()
    return found


# --- the dictionary ---------------------------------------------------------------------------------------------------

_WORDS = """
False None True and as assert break class continue def del elif else except finally for from global if import in is
lambda nonlocal not or pass raise return try while with yield async await match case
range len min max abs int float bool tuple list zip enumerate round sum breakpoint TypeVar cls
global_symbol target noalias private check_well_formed hygienic annotations thread start stop step strides elem_offset
scope align offset_factor axis_separators predicate dtype shape data where name value
threadIdx.x blockIdx.x shared local SSR float32 float32x4 float16 bfloat16 float8_e4m3fn float64 int8 int32 int64 uint8
uint64 bool handle void float32xvscalex4
"""
_SYMBOLS = """
@ ( ) [ ] { } , : ; . -> = += -= *= //= **= >>= := == != <= >= < > + - * / // % ** << >> & | ^ ~ ... \\ # ' " \"\"\"
f' r' b' 0 1 -1 2147483647 -2147483648 2147483648 9223372036854775807 18446744073709551615 1e400 5e-324 0x10 0b1 1_0 1j
nan inf -inf -0.0
"""
_TEXTS = (
    "@T.prim_func\n",
    "@T.prim_func(private=True)\n",
    "@T.macro\n",
    "@T.macro(hygienic=False)\n",
    "@I.ir_module\n",
    "class M:\n    ",
    "def f(A: T.Buffer((16,), 'float32')):\n    ",
    "from tvm.script import tirx as T\n",
    "I.module_attrs({'a': 1})\n",
    "\n    ",
    "\n        ",
    "\n            ",
    "  # comment\n",
    "lambda x: ",
    " for x in [1, 2]",
    "A[i]",
    "B[i, j]",
    "A[0:4]",
    "\u00e9",
    "\ufb01",
    "\u2028",
    "\x0c",
    "\r",
    "\x00",
    "\ufeff",
)


def _names() -> list[str]:
    from tirscript.script import ir, tir

    names = [f"T.{name}" for name in vars(tir) if not name.startswith("_") and "x" not in name]
    axes = [f"T.axis.{name}" for name in ("spatial", "reduce", "scan", "opaque", "remap")]
    return [
        *names,
        *axes,
        *(f"I.{name}" for name in vars(ir) if not name.startswith("_")),
        "T.float32x4",
        "T.max(",
        "T.exp(",
    ]


DICTIONARY = [*_WORDS.split(), *_SYMBOLS.split(), *_TEXTS, *_names()]
