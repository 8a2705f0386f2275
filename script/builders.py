"""What TVMScript takes from TVM's builders: nodes by their names, and loops and branches that `with` opens.

| text | reads as |
|---|---|
| `T.BufferLoad(A, [i, j])`, `T.buffer_store(A, x, [i, j])` | `A[i, j]`, `A[i, j] = x` |
| `T.masked_load("float32x4", A, i, mask)` | `A.vload([i], predicate=mask)` |
| `T.masked_store(A, x, i, mask)` | `A.vstore([i], x, predicate=mask)` |
| `T.StringImm("words")` | `"words"` |
| `T.Call("float32", "tir.exp", [x])` | `T.exp(x)` |
| `with T.serial(4) as i:`, `with T.grid(4, 4) as (i, j):` | `for i in T.serial(4):`, `for i, j in T.grid(4, 4):` |
| `with T.If(c):` with `with T.Then():` and `with T.Else():` in it | `if c:` and `else:` |
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferLoad, Expr
from tirscript.ir.words import words

from .call import _VALUE_FORMS
from .legacy import LegacyLowering
from .loop import LOOP_KINDS
from .namespace import Form


class BuilderLowering(LegacyLowering):
    """Lowers them."""

    # elements of memory

    def _whole_buffer(self, node: ast.expr) -> Buffer:
        found = self.value(node)
        if not isinstance(found, Buffer):
            raise self.fail("T104", f"this takes a buffer, not {words(found)}", node)
        return found

    def _place(self, given: dict[str, ast.expr], call: ast.Call) -> tuple[Buffer, tuple[tuple[Expr, ...], Expr | None]]:
        """The buffer of a load or store, and its indices and predicate."""
        buffer = self._whole_buffer(given["buffer"])
        indices = self.value(given["indices"])
        mask = {"predicate": self.value(given["predicate"])} if "predicate" in given else {}
        one = indices if isinstance(indices, (list, tuple)) else [indices]
        return buffer, self.vector_access(buffer, [one], mask, call)

    def _buffer_load(self, call: ast.Call) -> Expr:
        given = self.named(call, "BufferLoad", ("buffer", "indices", "predicate"), 2)
        buffer, (indices, predicate) = self._place(given, call)
        return BufferLoad(buffer, indices, predicate, span=self.span(call))

    def _buffer_store(self, call: ast.Call, node: ast.stmt) -> None:
        given = self.named(call, "buffer_store", ("buffer", "value", "indices", "predicate"), 3)
        buffer, (indices, predicate) = self._place(given, call)
        self.store_value(buffer, indices, self.value(given["value"]), given["value"], node, predicate)

    def _masked_place(
        self, call: ast.Call, name: str, at: int
    ) -> tuple[Buffer, Any, tuple[tuple[Expr, ...], Expr | None]]:
        """The buffer of a masked access, which stands at a place, the argument beside it, the indices and the mask."""
        args, kwargs = self.arguments(call)
        if kwargs or len(call.args) < 3 or any(isinstance(arg, ast.Starred) for arg in call.args):
            said = "a dtype, a buffer" if at else "a buffer, a value"
            raise self.fail("T032", f"`T.{name}` takes {said}, the indices and a mask", call)
        buffer = self._whole_buffer(call.args[at])
        return buffer, args[1 - at], self.vector_access(buffer, [args[2:-1]], {"predicate": args[-1]}, call)

    def _masked_load(self, call: ast.Call) -> Expr:
        buffer, kind, (indices, mask) = self._masked_place(call, "masked_load", 1)
        made = BufferLoad(buffer, indices, mask, span=self.span(call))
        wanted = self.dtype_of(kind, call.args[0])
        if made.dtype is not wanted:
            raise self.fail("T108", f"what is loaded here is {made.dtype}, not {wanted}", call.args[0])
        return made

    def _masked_store(self, call: ast.Call, node: ast.stmt) -> None:
        buffer, value, (indices, mask) = self._masked_place(call, "masked_store", 0)
        self.store_value(buffer, indices, value, call.args[1], node, mask)

    # nodes by their names

    def _string_value(self, call: ast.Call) -> str:
        (text,) = self.form_arguments(call, "StringImm", ("value",))
        if not isinstance(text, str):
            raise self.fail("T032", "`T.StringImm` takes a string", call)
        return text

    def _call_node(self, call: ast.Call) -> Expr:
        kind, name, args = self.form_arguments(call, "Call", ("dtype", "op", "args"))
        if not isinstance(name, str) or not isinstance(args, (list, tuple)):
            raise self.fail("T032", "`T.Call` takes a dtype, a name and a list of arguments", call)
        return self.intrinsic(kind, name, list(args), call)

    # frames

    def open_context(self, node: ast.With, at: int) -> None:
        item = node.items[at]
        call = item.context_expr
        function = self.loop_function(call) if self.theirs and isinstance(call, ast.Call) else None
        if not isinstance(function, Form) or function.name not in (*LOOP_KINDS, "grid"):
            super().open_context(node, at)
            return
        body: list[ast.stmt] = node.body
        if at + 1 < len(node.items):
            body = [ast.copy_location(ast.With(node.items[at + 1 :], body), node)]
        target = item.optional_vars or ast.copy_location(ast.Name("_", ast.Store()), call)
        self.statement(ast.copy_location(ast.For(target, call, body, []), node))

    def _if_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        (test,) = self.named(call, "If", ("condition",), 1).values()
        branches = [self._branch(part) for part in node.body]
        if [word for word, _ in branches] not in (["Then"], ["Then", "Else"]):
            hint = "such as `with T.Then():`, and `with T.Else():` behind it"
            raise self.fail("T022", "in `T.If` stand its branches", node.body[0], hint=hint)
        bodies = [body for _, body in branches]
        self.statement(ast.copy_location(ast.If(test, bodies[0], bodies[1] if bodies[1:] else []), node))

    def _branch(self, node: ast.stmt) -> tuple[str, list[ast.stmt]]:
        """What kind of branch a statement is, and its body."""
        if isinstance(node, ast.With) and len(node.items) == 1 and isinstance(node.items[0].context_expr, ast.Call):
            function = self.value(node.items[0].context_expr.func)
            if isinstance(function, Form):
                return function.name, node.body
        return "", []


BuilderLowering.statement_forms = {
    **LegacyLowering.statement_forms,
    "buffer_store": BuilderLowering._buffer_store,
    "masked_store": BuilderLowering._masked_store,
}
BuilderLowering.context_forms = {**LegacyLowering.context_forms, "If": BuilderLowering._if_context}
_VALUE_FORMS.update(
    {
        "BufferLoad": BuilderLowering._buffer_load,
        "masked_load": BuilderLowering._masked_load,
        "StringImm": BuilderLowering._string_value,
        "Call": BuilderLowering._call_node,
    }
)
