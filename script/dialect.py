"""Older and other spellings of statements, read as ours: allocations, views, bindings and attributes over a body.

| text | reads as |
|---|---|
| `C = T.allocate([16], "float32", "global")`, `with T.allocate(...) as C:` | `C = T.alloc_buffer((16,), "float32")` |
| `C = T.alloc_local((16,), "float32")`, `T.alloc_shared` | `T.alloc_buffer(..., scope="local")`, `"shared"` |
| `C = T.Buffer((16,), "float32", data=p)`, `T.buffer_decl(...)` | `T.decl_buffer(..., data=p)` |
| `C = A.view(4, 4)` | `C = T.decl_buffer((4, 4), A.dtype, data=A.data)` |
| `with T.LetStmt(value) as x:`, `with T.let(x, value):` | `x = value` and the body |
| `T.attr(node, key, value)` | `with T.attr(node, key, value):` over the rest of the body |
| `T.evaluate(T.break_loop())`, `T.continue_loop()`, `T.ret(x)` | `break`, `continue`, `return x` |
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec.structs import force_setattr

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, Var
from tirscript.ir.stmt import Attr, Bind, Break, Continue, DeclBuffer, Return, Stmt

from .expr import Method
from .namespace import BufferForm, Form
from .stmt import StmtLowering, attr_value

_SCOPES = {"alloc_local": "local", "alloc_shared": "shared"}


class DialectLowering(StmtLowering):
    """Lowers the other spellings. `opened` holds statements whose body is the rest of the one they stand in."""

    opened: list[tuple[Stmt, int]]

    def define_construct(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> bool:
        function = self.value(call.func) if isinstance(call.func, (ast.Attribute, ast.Name)) else None
        if isinstance(function, Form) and function.name in _SCOPES:
            self.check_assignable(target.id, target)
            given = self.buffer_arguments("alloc_buffer", call)
            given.setdefault("scope", ast.Constant(_SCOPES[function.name]))
            self.alloc_buffer(target, given, call, node)
            return True
        if isinstance(function, Form) and function.name == "allocate":
            self.check_assignable(target.id, target)
            self._allocate(target, call, node)
            return True
        if isinstance(function, BufferForm) and any(keyword.arg == "data" for keyword in call.keywords):
            self.check_assignable(target.id, target)
            self.decl_buffer(target, self.buffer_arguments("decl_buffer", call), call, node)
            return True
        if isinstance(function, Method) and function.name == "view":
            self.check_assignable(target.id, target)
            self._view(function.owner, target, call, node)
            return True
        return super().define_construct(target, call, node)

    def _allocate(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        names = ("shape", "dtype", "scope", "condition")
        given = dict(zip(names, call.args, strict=False))
        given.update(
            {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in (*names, "annotations")}
        )
        given.pop("condition", None)
        self.alloc_buffer(target, given, call, node)

    def _view(self, buffer: Buffer, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        args, kwargs = self.arguments(call)
        shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if kwargs or not shape:
            raise self.fail("T032", "`view` takes the new shape", call, hint="C = A.view(4, 4)")
        made = self.buffer_of(target.id, tuple(shape), buffer.dtype, call, target, scope=buffer.scope)
        self.define(target.id, made)
        self.emit(DeclBuffer(made, BufferData(buffer), span=self.span(node)))

    def _allocate_context(
        self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With
    ) -> None:
        if not isinstance(name, ast.Name):
            raise self.fail("T022", "the memory needs a name", call, hint='with T.allocate([16], "float32") as C:')
        self._allocate(name, call, node)
        inner()

    def _let_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        nodes = call.args
        if name is None and len(nodes) == 2:
            name, nodes = nodes[0], nodes[1:]
        if not isinstance(name, ast.Name) or len(nodes) != 1:
            raise self.fail("T032", "a binding has a name and a value", call, hint="x = value")
        value = self.expr(nodes[0])
        known = self.lookup(name.id)
        var = Var(name.id, known.dtype if type(known) is Var else value.dtype, span=self.span(name))
        self.define(name.id, var)
        self.emit(Bind(var, value, span=self.span(node)))
        inner()

    def _attr(self, call: ast.Call, node: ast.stmt) -> None:
        target, key, value = self.form_arguments(call, "attr", ("node", "key", "value"))
        if not isinstance(key, str):
            raise self.fail("T032", "the key of `T.attr` is a string", call)
        self.open_rest(Attr(attr_value(target), key, attr_value(value), (), span=self.span(node)))

    def open_rest(self, stmt: Stmt) -> None:
        """Emit a statement whose body is all that follows in the current one."""
        self.emit(stmt)
        self.opened.append((stmt, len(self.out)))

    def close_rest(self, first: int) -> None:
        """Give the statements opened since `first` their bodies."""
        while len(self.opened) > first:
            stmt, start = self.opened.pop()
            force_setattr(stmt, "body", tuple(self.out[start:]))
            del self.out[start:]

    def statements(self, stmts: list[ast.stmt], opener: int, end: int = 0, elif_: bool = False) -> None:
        first = len(self.opened)
        super().statements(stmts, opener, end, elif_)
        self.close_rest(first)

    def _break_loop(self, call: ast.Call, node: ast.stmt) -> None:
        self.emit(Break(span=self.span(node)))

    def _continue_loop(self, call: ast.Call, node: ast.stmt) -> None:
        self.emit(Continue(span=self.span(node)))

    def _ret(self, call: ast.Call, node: ast.stmt) -> None:
        if len(call.args) != 1:
            raise self.fail("T032", "`T.ret` takes one value", call)
        value = (
            self.expr(call.args[0]) if self.returns is None else self.converted(call.args[0], self.returns, "the value")
        )
        if self.returns is None:
            self.returns = value.dtype  # TVM's functions that return say so in the body only
        self.emit(Return(value, span=self.span(node)))


DialectLowering.statement_forms = {
    **StmtLowering.statement_forms,
    "attr": DialectLowering._attr,
    "break_loop": DialectLowering._break_loop,
    "continue_loop": DialectLowering._continue_loop,
    "ret": DialectLowering._ret,
}
DialectLowering.context_forms = {
    **StmtLowering.context_forms,
    "allocate": DialectLowering._allocate_context,
    "let": DialectLowering._let_context,
}
