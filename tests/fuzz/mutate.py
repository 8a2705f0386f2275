"""A mutator that knows Python: it exchanges expressions and statements between texts, beside libFuzzer's own."""

from __future__ import annotations

import ast
import random
import re
import warnings
from collections.abc import Callable

from seeds import DICTIONARY, HEADER  # type: ignore[import-not-found]

Mutate = Callable[[bytes, int], bytes]
_POOL = 4000
_NUMBERS = (
    *("0", "1", "2", "3", "4", "7", "8", "16", "31", "32", "64", "127", "128", "255", "256", "65535", "65536", "-1"),
    *("2147483647", "2147483648", "-2147483648", "-2147483649", "4294967296", "9223372036854775807"),
    *("9223372036854775808", "18446744073709551615", "18446744073709551616", "1e400", "-0.0", "5e-324", "0.1", "1e38"),
    *("3.4028235677973366e38", "65504.0", "65520.0", "1j", "True", "None", "10**30", "1 << 80"),
)


class Pool:
    """Pieces of the texts that were seen."""

    def __init__(self) -> None:
        self.exprs: list[str] = ["x", "A[i]", "1", "()", "[1, 2]", "{}", "'s'", "T.float32(1)", "lambda x: x"]
        self.stmts: list[str] = ["pass", "x = 1", "A[0] = 1.0", "break", "return", "for i in range(4):\n    pass"]

    def learn(self, text: str, tree: ast.Module) -> None:
        """Take some pieces of a text."""
        lines = text.split("\n")
        for node in ast.walk(tree):
            if random.random() > 0.2:
                continue
            if isinstance(node, ast.expr):
                piece = segment(lines, node)
                if piece and len(piece) < 200:
                    _put(self.exprs, piece)
            elif isinstance(node, ast.stmt):
                piece = block(lines, node)
                if len(piece) < 600:
                    _put(self.stmts, piece)


def _put(pool: list[str], piece: str) -> None:
    if len(pool) < _POOL:
        pool.append(piece)
    else:
        pool[random.randrange(_POOL)] = piece


def segment(lines: list[str], node: ast.expr) -> str:
    """The source of an expression that stands on one line."""
    if node.end_lineno != node.lineno or node.lineno > len(lines):
        return ""
    return lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode(errors="replace")


def block(lines: list[str], node: ast.stmt) -> str:
    """The lines of a statement, with no indentation before the first."""
    indent = node.col_offset
    found = lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in found)


def indented(piece: str, indent: int) -> list[str]:
    """The lines of a statement at an indentation."""
    return [" " * indent + line if line else line for line in piece.split("\n")]


def mutate(native: Mutate) -> Callable[[bytes, int, int], bytes]:
    """The custom mutator for atheris; `native` is libFuzzer's."""
    pool = Pool()

    def mutated(data: bytes, limit: int, seed: int) -> bytes:
        random.seed(seed)
        if random.random() < 0.15:
            return native(data, limit)
        try:
            text = data.decode()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return native(data, limit)
        if not tree.body:
            return (HEADER + random.choice(pool.stmts)).encode(errors="replace")[:limit]
        pool.learn(text, tree)
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            try:
                text = _RULES[random.randrange(len(_RULES))](text, tree, pool)
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
                break
        made = text.encode(errors="replace")
        return made if len(made) <= limit else data[:limit]

    return mutated


def _some(tree: ast.Module, kind: type) -> ast.AST:
    return random.choice([node for node in ast.walk(tree) if isinstance(node, kind)])


def _replace_expr(text: str, tree: ast.Module, pool: Pool) -> str:
    return _put_expr(text, _some(tree, ast.expr), lambda old: random.choice(pool.exprs))  # type: ignore[arg-type]


def _wrap_expr(text: str, tree: ast.Module, pool: Pool) -> str:
    """An expression in a call, an operator, a conditional, a comprehension."""
    other = random.choice(pool.exprs)
    forms: tuple[Callable[[str], str], ...] = (
        lambda old: f"T.{random.choice(('exp', 'max', 'cast', 'abs', 'min', 'let', 'Select', 'ramp'))}({old}, {other})",
        lambda old: f"({old} {random.choice('+-*/%&|^<>')} {other})",
        lambda old: f"({old} if {other} else {old})",
        lambda old: f"[{old} for x in {other}]",
        lambda old: f"-({old})",
        lambda old: f"({old}, {other})",
        lambda old: f"{other}({old})",
        lambda old: f"{other}[{old}]",
        lambda old: f"({old}).{random.choice(('astype', 'data', 'shape', 'dtype', 'vload'))}",
        lambda old: f"({old} and {other})",
    )
    return _put_expr(text, _some(tree, ast.expr), random.choice(forms))  # type: ignore[arg-type]


def _put_expr(text: str, node: ast.expr, make: Callable[[str], str]) -> str:
    lines = text.split("\n")
    old = segment(lines, node)
    if not old:
        raise IndexError
    line = lines[node.lineno - 1].encode()
    new = make(old).encode(errors="replace")
    lines[node.lineno - 1] = (line[: node.col_offset] + new + line[node.end_col_offset :]).decode(errors="replace")
    return "\n".join(lines)


def _insert_stmt(text: str, tree: ast.Module, pool: Pool) -> str:
    node = _some(tree, ast.stmt)
    lines = text.split("\n")
    at = node.lineno - 1 if random.random() < 0.5 else node.end_lineno  # type: ignore[attr-defined]
    lines[at:at] = indented(random.choice(pool.stmts), node.col_offset)  # type: ignore[attr-defined]
    return "\n".join(lines)


def _replace_stmt(text: str, tree: ast.Module, pool: Pool) -> str:
    node = _some(tree, ast.stmt)
    lines = text.split("\n")
    lines[node.lineno - 1 : node.end_lineno] = indented(random.choice(pool.stmts), node.col_offset)  # type: ignore[attr-defined]
    return "\n".join(lines)


def _delete_stmt(text: str, tree: ast.Module, pool: Pool) -> str:
    node = _some(tree, ast.stmt)
    lines = text.split("\n")
    del lines[node.lineno - 1 : node.end_lineno]  # type: ignore[attr-defined]
    return "\n".join(lines)


def _wrap_stmt(text: str, tree: ast.Module, pool: Pool) -> str:
    """A statement inside of a loop, branch or block."""
    node = _some(tree, ast.stmt)
    lines = text.split("\n")
    head = random.choice(
        (
            "for i in range(4):",
            "for i, j in T.grid(4, 4):",
            "if n > 0:",
            "while n > 0:",
            'with T.block("b"):',
            "with T.init():",
            "for x in [1, 2]:",
            "if True:",
            'with T.attr(0, "k", 1):',
            "for i in T.parallel(4, annotations={'a': 1}):",
        )
    )
    piece = f"{head}\n" + "\n".join(indented(block(lines, node), 4))  # type: ignore[arg-type]
    lines[node.lineno - 1 : node.end_lineno] = indented(piece, node.col_offset)  # type: ignore[attr-defined]
    return "\n".join(lines)


def _number(text: str, tree: ast.Module, pool: Pool) -> str:
    found = list(re.finditer(r"\b\d+(\.\d*)?\b", text))
    match = random.choice(found)
    return text[: match.start()] + random.choice(_NUMBERS) + text[match.end() :]


def _name(text: str, tree: ast.Module, pool: Pool) -> str:
    """One name, here or everywhere, by another."""
    found = list(re.finditer(r"(?:T\.)?[^\W\d]\w*", text))
    match = random.choice(found)
    if random.random() < 0.6:
        new = random.choice(found)[0] if random.random() < 0.5 else random.choice(DICTIONARY)
        return text[: match.start()] + new + text[match.end() :]
    new = random.choice(
        (*(one[0] for one in found), "T", "I", "min", "\ufb01", "\u00e9", "f", "int", "cls", "breakpoint")
    )
    return re.sub(rf"(?<![\w.]){re.escape(match[0])}\b", lambda _: new, text)


def _comment(text: str, tree: ast.Module, pool: Pool) -> str:
    lines = text.split("\n")
    at = random.randrange(len(lines))
    if random.random() < 0.5:
        lines[at] += random.choice(("  # c", " #", "  #!x", " # é\u3000", "  #\tq '", "; pass", " \\"))
    else:
        lines.insert(at, random.choice(("", "    # c", "        # d", "# e", "\x0c", "    '''s'''", "    #")))
    return "\n".join(lines)


_RULES: tuple[Callable[[str, ast.Module, Pool], str], ...] = (
    *(_replace_expr, _replace_expr, _wrap_expr, _insert_stmt, _insert_stmt, _replace_stmt, _delete_stmt, _wrap_stmt),
    *(_number, _name, _name, _comment),
)
