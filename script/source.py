"""From a text or a live function to a syntax tree, with syntax errors as diagnostics."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import stat
import sys
import warnings
from types import FunctionType
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.span import Source, Span

MAX_TEXT = 64 << 20  # bytes; more is refused before Python's parser sees it
MAX_LINE = 8 << 20
MAX_DATA = 1 << 30  # characters of base64 that come on top
_DATA = re.compile(r'(?<=base64=""")[A-Za-z0-9+/=\s]*(?=""")')

_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def syntax_tree(source: Source) -> ast.Module:
    """The syntax tree of a text. Every way in which Python refuses it is one diagnostic."""
    text = source.text
    if len(text) > MAX_TEXT and len(text) - _data_length(text) > MAX_TEXT:
        raise DiagnosticError([error("T004", f"the text has {len(text):,} characters; the limit is {MAX_TEXT:,}")])
    if max(map(len, text.split("\n"))) > MAX_LINE:
        raise DiagnosticError([error("T004", f"a line of the text has over {MAX_LINE:,} characters")])
    if (found := _NO_TEXT.search(text)) is not None:
        at = found.start()
        line = text.count("\n", 0, at) + 1
        column = _bytes(text[text.rfind("\n", 0, at) + 1 : at], at)
        what = "a NUL byte" if found[0] == "\0" else f"U+{ord(found[0]):04X}, which is half a character"
        raise DiagnosticError([error("T001", f"the text holds {what}", Span(source, line, column, line, column + 1))])
    try:
        return quiet_parse(text)
    except SyntaxError as problem:
        raise DiagnosticError([_syntax_error(source, problem)]) from None
    except (RecursionError, MemoryError):
        message = "the program is nested too deeply for Python's parser"
        raise DiagnosticError([error("T004", message, hint="bind parts of the expression to names")]) from None
    except ValueError as problem:
        raise DiagnosticError([error("T001", str(problem))]) from None


def quiet_parse(text: str, mode: str = "exec") -> Any:
    """`ast.parse` without Python's warnings, which are of what the text says, not of a program that runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return ast.parse(text, mode=mode)


def _data_length(text: str) -> int:
    """How many characters are the data of constants, which is no syntax; up to MAX_DATA of them."""
    found = sum(match.end() - match.start() for match in _DATA.finditer(text))
    return found if found <= MAX_DATA else 0


def _syntax_error(source: Source, problem: SyntaxError) -> Any:
    line = min(problem.lineno or 1, source.text.count("\n") + 1)
    text = source.text.split("\n")[line - 1]
    start = _bytes(text, max(0, (problem.offset or 1) - 1))
    stop = (
        _bytes(text, problem.end_offset - 1)
        if problem.end_offset and problem.end_lineno == problem.lineno
        else start + 1
    )
    span = Span(source, line, start, line, max(stop, start + 1))
    message = problem.msg or "invalid syntax"
    brace = next((found for found in _BRACE.finditer(source.text) if not found[0].rstrip("{ ").endswith(" in")), None)
    if brace is not None and source.text.count("\n", 0, brace.start("brace")) < line:
        at = source.text.count("\n", 0, brace.start("brace")) + 1
        column = len(source.text[source.text.rfind("\n", 0, brace.start("brace")) + 1 : brace.start("brace")].encode())
        place = Span(source, at, column, at, column + 1)
        return error("T001", "expected ':'", place, hint="a body stands behind `:`, indented, without braces")
    if message.startswith("Exceeds the limit"):  # Python's words are of its own settings
        message = f"an integer of over {sys.get_int_max_str_digits():,} digits"
    if message.startswith("cannot assign to function call"):  # of which Python thinks that `==` was meant
        message = "a call cannot be assigned"
    hint = path_hint(source.text) or _pasted_hint(source.text, text) or _syntax_hint(message) or _foreign_hint(text)
    before, rest = (part.decode(errors="replace") for part in (text.encode()[:start], text.encode()[start:]))
    rest = rest.partition("#")[0].rstrip()
    if message == "invalid syntax" and rest == ":" and _is_open(text):
        hint = "check the parentheses: one before this `:` is open"
    elif message == "invalid syntax" and rest.startswith("for ") and hint is None and not _is_open(before):
        hint = f"a loop is a statement: `{rest.rstrip(':')}:`, and below it, indented, what it repeats"
    return error("T001", message, span, hint=hint)


def _is_open(line: str) -> bool:
    """Whether a line opens more brackets than it closes."""
    code = re.sub(r"\"[^\"]*\"|'[^']*'|#.*", "", line)
    return sum(map(code.count, "([{")) > sum(map(code.count, ")]}"))


def _pasted_hint(text: str, line: str) -> str | None:
    """What else came with a program that was copied out of a session, a file or a message."""
    if line.lstrip().startswith((">>>", "... ", "In [")):
        return "take the prompts at the start of the lines away"
    if line.strip() and not line.strip().strip("^"):
        return "take this line away, with which a message pointed at the one above"
    if all(row[:1] in ("", " ", "\t") for row in text.split("\n")):
        return "all lines are indented: `textwrap.dedent(text)` takes that away"
    return None


def _bytes(text: str, characters: int) -> int:
    return len(text[:characters].encode(errors="replace"))


def _syntax_hint(message: str) -> str | None:
    if "expected an indented block" in message or "unindent" in message or "unexpected indent" in message:
        return "check the indentation of this line"
    if "was never closed" in message or "does not match" in message or "unmatched" in message:
        return "check the parentheses"
    if "expected 'else' after 'if'" in message:
        return "`if cond:` is a statement with a body; as a value it is `a if cond else b`"
    if message == "a call cannot be assigned":
        return "an element of a buffer stands in brackets: `A[i] = value`; `==` compares"
    if "too many nested" in message:
        return "bind parts of the expression to names"
    if message == "invalid decimal literal":
        return "a number has no suffix, `3.0`, and a product has its sign, `2 * x`"
    return None


_C_WORDS = "const|static|let|var|auto|unsigned|int|long|float|double|half|bool|char"


def path_hint(text: str) -> str | None:
    """The way out where the path of a file stands for the text in it."""
    return "`parse_file` reads a file" if re.fullmatch(r"[\w ./\\:~-]+\.py", text.strip()) else None


def _foreign_hint(line: str) -> str | None:
    """The way out where a line has the spelling of another language."""
    start = line[:_SEARCHED]
    return next((hint for spelling, hint in _FOREIGN if re.search(spelling, start)), None)


_SEARCHED = 200  # characters of a line that are looked at: some patterns take the square of them


_FOREIGN = (
    (r"^\s*(//|/\*)", "`#` begins a comment"),
    (r"^\s*@[\w.]+(\(.*\))?\s+def\b", "the decorator has a line of its own, above `def`"),
    (
        r"^\s*(fn|func|function|kernel|void|__global__|static|inline)\s+\w+[^=]*\(",
        "write `def f(...):` below `@T.prim_func`",
    ),
    (r"^\s*def\s.*[(,]\s*(\w+\s+\w+|T\.\w+(\(.*\))?\s+\w+)\s*[,):]", "a type stands behind its name: `x: T.float32`"),
    (r"\bfor\s*\(.*;", "write `for i in range(n):`"),
    (r"[\w\])]\+\+|\+\+\w|[\w\])]\s+\+\+\s*;?\s*$", "write `i += 1`"),
    (r"[\w\])]\s*--\s*;?\s*$|--\w+\s*$", "write `i -= 1`"),
    (r"[\w\])]\s*>>>", '`>>` of an unsigned value lets zeros in: `x.astype("uint32") >> n`'),
    (r"&&", "write `and`"),
    (r"\|\|", "write `or`"),
    (r"!\s*[\w(]", "write `not`"),
    (r"\bfor\s*\(|^\s*for\s+\w+\s*=|^\s*for\b.*(\.\.|\bin\s*\[[^\]]*:)", "write `for i in range(start, stop):`"),
    (r"\bif\b.*\bthen\b.*\belse\b", "write `a if cond else b`"),
    (r"^\s*(if|elif|while|for)\b.*\b(then|do)\s*:?\s*$", "write `if cond:` or `for i in range(n):`"),
    (
        r"^\s*(if|while)\s*\(.*\)\s*\w+[\w.]*(\[.*\])?\s*[-+*/]?=[^=]",
        "a condition ends with `:`, and its body stands below it, indented",
    ),
    (r"^\s*if\b.*:.*\belse\s*:", "`else:` has a line of its own; as a value it is `a if cond else b`"),
    (r"^\s*switch\b", "write `if` and `elif`"),
    (r"^\s*do\s*[:{]", "write `while cond:`"),
    (r"\?.*:", "write `a if cond else b`"),
    (rf"^\s*((?:{_C_WORDS})\s+)+\*?\w+\s*(=|;|$)", "write `x = value`, or with a dtype `x: T.float32 = value`"),
    (rf"\((?:{_C_WORDS})\)\s*\w", 'cast it: `x.astype("float32")`'),
    (r"\b(else\s+if|elseif|elsif)\b", "write `elif`"),
    (r"^\s*[\w.]+(\[.*\])?\s*:=", "write `x = value`"),
    (r"=\s*&\s*\w", "the address of an element is `T.address_of(A[0])`"),
    (r"\w::\w", "the functions of kernels are those of `T`: `T.max(x, y)`"),
)
# the head of a body of C, whose mistake Python sees in the lines below
_BRACE = re.compile(
    r"^[ \t]*(?:(?:for|while|if|elif|def|with)\b[^\n#\"'{]*[\w)\]]|else)[ \t]*(?P<brace>\{)[ \t]*$", re.MULTILINE
)


def is_named_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether opening the file may wait for ever, for a writer; a pipe that is open, as of `<(...)`, has one."""
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return False
    return not os.path.realpath(path).startswith(("/dev/fd/", "/proc/"))


def read_source(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file of programs. Raises OSError, and DiagnosticError for a named pipe and for too many bytes."""
    name = os.fspath(path)
    if is_named_pipe(name):
        message = f"{name} cannot be read: it is a named pipe, which may never have a writer"
        raise DiagnosticError([error("T002", message, hint="read it as standard input, or pass its text to `parse`")])
    with open(name, "rb") as file:
        status, limit = os.fstat(file.fileno()), MAX_TEXT
        size = limit  # memory for so many bytes is taken at once
        if stat.S_ISREG(status.st_mode):
            limit += MAX_DATA
            size = min(status.st_size, limit)
        data = file.read(size + 1)
        if size < len(data) <= limit:  # the system told no size, as of a file in /proc
            data += file.read(MAX_TEXT)
    if len(data) > limit:
        raise DiagnosticError([error("T004", f"{name} is larger than {limit:,} bytes")])
    return data


def decode(data: bytes, filename: str) -> str:
    """The text of a file's bytes; a diagnostic where they are no UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        message = f"{filename} is not UTF-8: {problem.reason} at byte {problem.start}"
        raise DiagnosticError([error("T001", message, hint="save the file as UTF-8")]) from None


def normalize(text: str) -> str:
    """The text with newlines as Python's parser counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def definition_source(target: FunctionType | type) -> Source:
    """The source of a decorated function or class, as one piece with its place in the file.

    Works for files, the interactive interpreter and IPython, and for text that was registered in linecache. An indented
    definition comes under a line `if True:` of our own, which keeps every line of it as it is.
    """
    filename: str | None
    if isinstance(target, FunctionType) and target.__code__.co_name == "<lambda>":
        hint = "write it as a `def`, below the decorator"
        raise DiagnosticError([error("T022", "a lambda has no statements to be a program of", hint=hint)])
    try:
        lines, first = inspect.getsourcelines(target)
        filename = inspect.getsourcefile(target)
    except (OSError, TypeError, IndentationError, SyntaxError):
        found = _class_lines(target) or _typed_lines(target)
        if found is None:
            raise DiagnosticError([_no_source(target)]) from None
        lines, first, filename = found
    filename = filename or "<stdin>"
    above, below = _comments_around(linecache.getlines(filename), lines, first)
    text = normalize("".join([*above, *lines, *below]))
    first = max(first - len(above), 1)
    if lines[0][:1] in (" ", "\t"):
        return Source(filename, f"if True:\n{text}", first - 1)
    return Source(filename, text, first)


def _comments_around(file: list[str], lines: list[str], first: int) -> tuple[list[str], list[str]]:
    """The comments directly above a definition, and those below it where nothing else comes in its file."""
    last = first - 1 + len(lines)
    if file[first - 1 : last] != lines:
        return [], []
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    start = at = first - 1
    while at and (not file[at - 1].strip() or file[at - 1].startswith(f"{indent}#")):
        at -= 1
        if file[at].strip():
            start = at
    rest = file[last:] if not indent and all(line[:1] == "#" or not line.strip() for line in file[last:]) else []
    return file[start : first - 1], rest


def definition_of(target: FunctionType | type) -> tuple[Source, ast.Module, Any]:
    """The source of a decorated function or class, its syntax tree, and the definition in it."""
    source = definition_source(target)
    tree, lines = syntax_tree(source), source.text.split("\n")
    node: Any = next(iter(tree.body), None)
    if type(node) is ast.If:
        node = node.body[0]
    code = getattr(inspect.unwrap(target), "__code__", None)
    name = target.__name__ if code is None else code.co_name
    if getattr(node, "name", None) != name:
        # the lines were counted when it was compiled, and the file has others now
        place = Span(source, node.lineno, 0, node.lineno, len(lines[node.lineno - 1])) if node else None
        message = f"the source of `{name}` has changed since Python read it: something else stands in its place"
        hint = f"load {os.path.basename(source.name)} again"
        raise DiagnosticError([error("T002", message, place, hint=hint)])
    return source, tree, node


def _no_source(target: Any) -> Any:
    where = getattr(getattr(target, "__code__", None), "co_filename", "its file")
    return error(
        "T002",
        f"the source of `{target.__qualname__}` cannot be read from {where}",
        notes=["a decorator reads the definition as text, and this one was made without a file"],
        hint="put it in a file, register its text in `linecache`, or pass the text to `tirscript.script.parse`",
    )


def _class_lines(target: Any) -> tuple[list[str], int, str] | None:
    """The lines of a class whose module has no file, as in a notebook: its functions know where they were compiled."""
    for item in vars(target).values() if isinstance(target, type) else ():
        code = getattr(item, "__code__", None)
        if code is None:
            continue
        lines = linecache.getlines(code.co_filename)
        try:
            tree = quiet_parse("".join(lines))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == target.__name__:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                last = node.end_lineno or first
                if first <= code.co_firstlineno <= last:
                    return lines[first - 1 : last], first, code.co_filename
    return None


def _typed_lines(target: Any) -> tuple[list[str], int, str] | None:
    """The lines of a definition typed at the plain interpreter's prompt, which keeps them in readline only."""
    readline = sys.modules.get("readline")
    if readline is None or getattr(target, "__module__", None) != "__main__":
        return None
    lines: list[str] = []
    for at in range(readline.get_current_history_length(), 0, -1):
        lines.insert(0, (readline.get_history_item(at) or "") + "\n")
        text = "".join(lines)
        if not text.startswith("@"):
            continue
        try:
            found = quiet_parse(text).body
        except SyntaxError:
            return None
        whole = len(found) == 1 and getattr(found[0], "name", None) == target.__name__
        return (lines, 1, "<stdin>") if whole else None
    return None
