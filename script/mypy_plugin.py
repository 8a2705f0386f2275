"""A plugin of mypy, by which it sees what decorators make of kernels, and does not look into these.

```toml
[tool.mypy]
plugins = ["tirscript.script.mypy_plugin"]
```

Annotations of kernels hold calls and strings, and names in shapes are defined by standing there, which no type checker
can know. pyright is told by the stubs (`typing_extensions.pyi`); mypy knows of no decorator but `typing.no_type_check`,
and goes on looking up names under that one too. So definitions give way to the values that they become, before mypy
looks: `@T.prim_func def k` is `k = cast(PrimFunc, ...)`, a class under `@I.ir_module` is a `Module`. Other decorators
above are called with that.
"""

from __future__ import annotations

from mypy.nodes import (
    ARG_POS,
    AssignmentStmt,
    Block,
    CallExpr,
    CastExpr,
    ClassDef,
    Decorator,
    EllipsisExpr,
    Expression,
    Import,
    ImportFrom,
    MemberExpr,
    MypyFile,
    NameExpr,
    Statement,
)
from mypy.plugin import Plugin
from mypy.types import AnyType, Type, TypeOfAny, UnboundType

# what decorators make: the class and its module
_MADE = {
    "prim_func": ("PrimFunc", "tirscript.ir.func"),
    **dict.fromkeys(("graph_func", "func", "function"), ("GraphFunc", "tirscript.ir.graph")),
    "ir_module": ("Module", "tirscript.ir.module"),
    "jit": ("LazyFunction", "tirscript.backend.runtime.function"),
    **dict.fromkeys(("macro", "inline"), ("", "")),  # called in kernels only
}
# how the namespaces are called where another module of the user's gives them
_LETTERS = frozenset("TGIR")
_PRIORITY = 10  # mypy's for an import on the top of a file


class KernelPlugin(Plugin):
    """Puts values in the place of the definitions that a file decorates with tirscript's decorators."""

    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        found = _Definitions(_imported(file))
        found.replace_in(file.defs)
        for name, module in sorted(found.used):
            line = ImportFrom(module, 0, [(name, _hidden(name))])
            line.set_line(1, 0)
            file.defs.insert(0, line)
            file.imports.append(line)
        return [(_PRIORITY, module, -1) for _, module in sorted(found.used)]


def plugin(version: str) -> type[Plugin]:
    """What mypy calls, with its version."""
    return KernelPlugin


def _hidden(name: str) -> str:
    return f"_tirscript_{name}"


def _imported(file: MypyFile) -> dict[str, str]:
    """The names that a file imports and what they stand for: `T` for `tirscript.script.tir`."""
    names = {}
    for line in file.imports:
        if isinstance(line, Import):
            for module, alias in line.ids:
                root = module.partition(".")[0]
                names[alias or root] = module if alias else root
        elif isinstance(line, ImportFrom) and not line.relative:
            names.update({alias or name: f"{line.id}.{name}" for name, alias in line.names})
    return names


# the fields of statements that hold others: of functions, classes, loops, branches, `with`, `try` and `match`
_BODIES = ("func", "body", "defs", "else_body", "handlers", "finally_body", "bodies")


class _Definitions:
    """Replaces definitions wherever statements stand: in files, functions, classes and branches."""

    def __init__(self, imported: dict[str, str]) -> None:
        self.imported = imported
        self.used: set[tuple[str, str]] = set()

    def replace_in(self, statements: list[Statement]) -> None:
        statements[:] = [self.value_of(statement) for statement in statements]
        pending: list[object] = list(statements)
        while pending:
            node = pending.pop()
            if isinstance(node, list):
                pending.extend(node)
            elif isinstance(node, Block):
                self.replace_in(node.body)
            elif isinstance(node, Statement):
                pending.extend(getattr(node, field, None) for field in _BODIES)

    def value_of(self, statement: Statement) -> Statement:
        """The assignment in whose place a definition stands, or the statement itself."""
        if isinstance(statement, Decorator):
            decorators, name = statement.original_decorators, statement.func.name
        elif isinstance(statement, ClassDef):
            decorators, name = statement.decorators, statement.name
        else:
            return statement
        ours = [at for at, decorator in enumerate(decorators) if self.called(decorator)]
        if not ours:
            return statement
        value: Expression = CastExpr(EllipsisExpr(), self.kind(*_MADE[self.called(decorators[ours[0]])]))
        value.set_line(statement)
        for outer in reversed(decorators[: ours[0]]):
            value = CallExpr(outer, [value], [ARG_POS], [None])
            value.set_line(statement)
        target = NameExpr(name)
        target.set_line(statement)
        made = AssignmentStmt([target], value)
        made.set_line(statement)
        return made

    def kind(self, name: str, module: str) -> Type:
        if not name:
            return AnyType(TypeOfAny.special_form)
        self.used.add((name, module))
        return UnboundType(_hidden(name))

    def called(self, decorator: Expression) -> str:
        """The name of a decorator of ours, as `prim_func`; empty for any other."""
        node = decorator.callee if isinstance(decorator, CallExpr) else decorator
        parts: list[str] = []
        while isinstance(node, MemberExpr):
            parts.append(node.name)
            node = node.expr
        if not isinstance(node, NameExpr):
            return ""
        whole = ".".join([self.imported.get(node.name, node.name), *reversed(parts)])
        root, _, last = whole.rpartition(".")
        return last if last in _MADE and (root.split(".")[0] == "tirscript" or node.name in _LETTERS) else ""
