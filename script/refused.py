"""The statements of Python that are not part of the language: code, message, way out."""

from __future__ import annotations

import ast

REFUSED: dict[type, tuple[str, str, str | None]] = {
    ast.FunctionDef: (
        "T020",
        "a function inside a function is not part of the language",
        "define it outside; a `@T.macro` there can be called here",
    ),
    ast.AsyncFunctionDef: ("T020", "`async def` is not part of the language", "define it outside, as a `@T.macro`"),
    ast.ClassDef: ("T020", "a class inside a function is not part of the language", "define it outside"),
    ast.Match: ("T020", "`match` is not part of the language", "use `if` and `elif`"),
    ast.Try: ("T020", "`try` is not part of the language", "check the condition with `if`, or `assert` it"),
    ast.Raise: ("T020", "`raise` is not part of the language", 'use `assert cond, "message"`'),
    ast.Import: ("T020", "an import inside a function is not part of the language", "import outside of the function"),
    ast.ImportFrom: (
        "T020",
        "an import inside a function is not part of the language",
        "import outside of the function",
    ),
    ast.Global: ("T020", "`global` is not part of the language", "state that lasts is a buffer that is passed in"),
    ast.Nonlocal: ("T020", "`nonlocal` is not part of the language", "names of the outer function can be read only"),
    ast.Delete: (
        "T020",
        "`del` is not part of the language",
        "memory is freed at the end of the body that allocates it",
    ),
    ast.AsyncFor: ("T020", "`async for` is not part of the language", "iterations run at once in `T.parallel(n)`"),
    ast.AsyncWith: ("T020", "`async with` is not part of the language", 'such as `with T.block("name"):`'),
}
