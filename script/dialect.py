"""Older and other spellings of statements, read as ours: allocations, views, bindings and attributes over a body.

| text | reads as |
|---|---|
| `C = T.allocate([16], "float32", "global")`, `with T.allocate(...) as C:` | `C = T.alloc_buffer((16,), "float32")` |
| `T.call_extern("int32", "f", C)` of such a C | `T.call_extern("int32", "f", C.data)` |
| `C = T.alloc_local((16,), "float32")`, `T.alloc_shared` | `T.alloc_buffer(..., scope="local")`, `"shared"` |
| `C = T.Buffer((16,), "float32", data=p)`, `T.buffer_decl(...)` | `T.decl_buffer(..., data=p)` |
| `with T.decl_buffer([16], "float32") as C:` | `C = T.decl_buffer((16,), "float32")` and the body |
| `p = T.handle("float32")`, `C = T.decl_buffer(..., data=p)`, `p = T.allocate(...)` | the memory, then its buffer C |
| `x = T.alloc_scalar("float32", "local")`, `T.local_scalar` | `x: T.float32` |
| `x = T.decl_scalar("float32", p, "global", 3)` | `x = T.decl_buffer((1,), ..., data=p, elem_offset=3)`, uses `x[0]` |
| `C = A.view(4, 4)`, `A.view(4, -1)`, `A.view("int32")` | `C = T.decl_buffer((4, 4), A.dtype, data=A.data)` |
| `with T.LetStmt(value) as x:`, `with T.let(x, value):`, `with T.LetStmt(value, var=x):` | `x = value` and the body |
| `with T.LetStmt(value, T.handle("float32")) as x:` | `x: T.let[T.handle("float32")] = value` and the body |
| `T.attr({"key": value})` | `with T.attr(0, "key", value):` |
| `T.attr(node, key, value)` | `with T.attr(node, key, value):` over the rest of the body |
| `assert c, ("RuntimeError", ["the ", "words"])` | `assert c, "the words"` |
| `T.hint("words", n=1)` | `with T.attr({"message": "words", "n": 1}, "tirx_hint", 1):` over the rest of the body |
| `T.evaluate(T.break_loop())`, `T.continue_loop()`, `T.ret(x)` | `break`, `continue`, `return x` |
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from msgspec.structs import force_setattr

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import FLOAT32, DType
from tirscript.ir.expr import BufferData, Const, Expr, Var, const
from tirscript.ir.op import OPS
from tirscript.ir.stmt import (
    AllocBuffer,
    Assert,
    Attr,
    Bind,
    Break,
    Continue,
    DeclBuffer,
    Evaluate,
    LaunchThread,
    Return,
    ScalarDecl,
    Stmt,
)

from .context import ScalarView
from .expr import Method
from .namespace import BufferForm, Form, LetType, TypeName
from .stmt import StmtLowering, attr_value
from .value import IterVar

HINT = "tirx_hint"  # TVM's key of the attribute that `T.hint` is
_SCOPES = {"alloc_local": "local", "alloc_shared": "shared"}


class DialectLowering(StmtLowering):
    """Lowers the other spellings. `opened` holds statements whose body is the rest of the one they stand in."""

    opened: list[tuple[Stmt, int]]
    waiting: dict[Var, list[DeclBuffer]]  # buffers of pointers that get their memory below, by the pointer
    made_below: set[str] | None = None  # the names to which the function gives memory, found when first asked

    def decl_buffer(self, target: ast.Name, given: dict[str, Any], call: ast.Call, node: ast.stmt) -> None:
        """`C = T.decl_buffer(..., data=p)`. Until 2026 TVM printed it, with `p = T.handle(...)`, at the top of the body
        that holds all uses of C, in front of the `T.allocate` or `T.LetStmt` that makes p: there C is declared."""
        place = given.get("data")
        if self.theirs and isinstance(place, ast.Name) and self._is_made_below(place.id):
            buffer = self.make_buffer(target, given, call)
            self.define(target.id, buffer)
            pointer = self.symbols[place.id]
            self.waiting.setdefault(pointer, []).append(DeclBuffer(buffer, pointer, span=self.span(node)))
            return
        super().decl_buffer(target, given, call, node)

    def _is_made_below(self, name: str) -> bool:
        """Whether a name is a pointer without a value, to which the function gives one."""
        pointer = self.lookup(name)
        if type(pointer) is not Var or not pointer.dtype.is_handle or self.symbols.get(name) is not pointer:
            return False
        if self.made_below is None:
            self.made_below = names_given_memory(self.definition)
        return name in self.made_below

    def _declare_waiting(self, pointer: Any, data: Expr) -> None:
        """Declare the buffers that waited for a pointer, which has a value now."""
        if type(pointer) is Var:
            for declared in self.waiting.pop(pointer, ()):
                self.emit(declared.replace(data=data))

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
        if isinstance(function, BufferForm) and (
            len(call.args) > 2 or any(keyword.arg == "data" for keyword in call.keywords)
        ):
            given = self.buffer_arguments("decl_buffer", call)
            if "data" in given and self.value(given["data"]) is not None:
                self.check_assignable(target.id, target)
                self.decl_buffer(target, given, call, node)
                return True
        if isinstance(function, Method) and function.name == "view":
            self.check_assignable(target.id, target)
            self._view(function.owner, target, call, node)
            return True
        if isinstance(function, Form) and function.name in _SCALARS:
            self.check_assignable(target.id, target)
            _SCALARS[function.name](self, function.name, target, call, node)
            return True
        return super().define_construct(target, call, node)

    def _alloc_scalar(self, name: str, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        fields = ("dtype", "scope") if name == "alloc_scalar" else ("dtype",)
        given = self.named(call, name, fields, 0)
        kind = self.dtype_of(self.value(given["dtype"]), call) if "dtype" in given else FLOAT32
        default = "shared" if name == "shared_scalar" else "local"
        scope = self.python(given["scope"], "the scope", (str,)) if "scope" in given else default
        if scope == "local":
            buffer = Buffer(target.id, (), kind, scope="scalar", span=self.span(target))
            self.define(target.id, buffer)
            self.emit(ScalarDecl(buffer, span=self.span(node)))
            return
        buffer = self.buffer_of(target.id, (1,), kind, call, target, scope=scope)
        self.define(target.id, ScalarView(buffer))
        self.emit(AllocBuffer(buffer, span=self.span(node)))

    def _decl_scalar(self, name: str, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        given = self.named(call, name, ("dtype", "data", "scope", "elem_offset", "byte_offset"), 2)
        data = self.value(given["data"])
        data = data.data if isinstance(data, Buffer) else data
        if not isinstance(data, Expr) or not data.dtype.is_handle:
            raise self.fail("T104", "`data` is an address", given["data"], hint="such as `A.data`")
        kind = self.dtype_of(self.value(given["dtype"]), call)
        place = None if "elem_offset" not in given else self.value(given["elem_offset"])
        if "byte_offset" in given and place is None:
            count = self.python(given["byte_offset"], "the offset in bytes", (int,))
            if count * 8 % kind.bits:
                raise self.fail("T207", f"{count} bytes are no whole number of {kind}", given["byte_offset"])
            place = count * 8 // kind.bits
        scope = self.python(given["scope"], "the scope", (str,)) if "scope" in given else "global"
        buffer = self.buffer_of(target.id, (1,), kind, call, target, elem_offset=place, scope=scope)
        self.define(target.id, ScalarView(buffer))
        self.emit(DeclBuffer(buffer, data, span=self.span(node)))

    def _allocate(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        given: dict[str, Any] = self.named(call, "allocate", ("shape", "dtype", "scope", "condition", "annotations"), 2)
        given.pop("condition", None)
        pointer = self.lookup(target.id)
        self.alloc_buffer(target, given, call, node)
        made = self.lookup(target.id)
        assert isinstance(made, Buffer)
        self.addresses.add(made)
        self._declare_waiting(pointer, BufferData(made))

    def _view(self, buffer: Buffer, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        args, kwargs = self.arguments(call)
        if kwargs.pop("layout", None) is not None or kwargs or not args:
            raise self.fail("T032", "`view` takes the new shape or dtype", call, hint="C = A.view(4, 4)")
        data = BufferData(buffer)
        if buffer.is_scalar:  # which is memory of one element to TVM
            buffer = buffer.replace(shape=(const(1),), scope="local")
        kind, offset = buffer.dtype, buffer.elem_offset
        if len(args) == 1 and isinstance(args[0], (str, TypeName, DType)):
            kind = self.dtype_of(args[0], call)
            shape, offset = self._recast(buffer, kind, call)
        else:
            given = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
            shape = self._whole_shape(buffer, list(given), call)
        made = self.buffer_of(
            target.id,
            shape,
            kind,
            call,
            target,
            elem_offset=offset,
            scope=buffer.scope,
            allocated_addr=buffer.allocated_addr,
        ).replace(layout="view")
        self.define(target.id, made)
        self.emit(DeclBuffer(made, data, span=self.span(node)))

    def _recast(self, buffer: Buffer, kind: DType, call: ast.Call) -> tuple[tuple[Any, ...], Any]:
        """The shape and offset of a buffer's memory as elements of another dtype."""
        wide, narrow = max(kind.bits, buffer.dtype.bits), min(kind.bits, buffer.dtype.bits)
        if not buffer.shape or wide % narrow:
            raise self.fail("T207", f"elements of {buffer.dtype} are no whole number of {kind}", call)
        entry = OPS["floordiv" if kind.bits > buffer.dtype.bits else "mul"]

        def scaled(size: Expr) -> Any:
            if type(size) is not Const:
                return entry(size, wide // narrow) if wide != narrow else size
            return size.value * narrow // wide if kind.bits > buffer.dtype.bits else size.value * wide // narrow

        offset = None if buffer.elem_offset is None else scaled(buffer.elem_offset)
        return (*buffer.shape[:-1], scaled(buffer.shape[-1])), offset

    def _whole_shape(self, buffer: Buffer, shape: list[Any], call: ast.Call) -> tuple[Any, ...]:
        """A shape with one -1 replaced by what is left of the elements."""
        if shape.count(-1) != 1:
            return tuple(shape)
        sizes = [dim.value if type(dim) is Const else dim for dim in (*buffer.shape, *shape) if dim != -1]
        if not all(type(size) is int for size in sizes):
            raise self.fail("T032", "`-1` stands for a dimension where all others are known", call)
        left, given = math.prod(sizes[: len(buffer.shape)]), math.prod(sizes[len(buffer.shape) :])
        if not given or left % given:
            raise self.fail("T207", f"{left} elements are not divided by {given}", call)
        shape[shape.index(-1)] = left // given
        return tuple(shape)

    def _allocate_context(
        self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With
    ) -> None:
        if not isinstance(name, ast.Name):
            raise self.fail("T022", "the memory needs a name", call, hint='with T.allocate([16], "float32") as C:')
        self._allocate(name, call, node)
        inner()

    def _let_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        self._let_bound(call, name, node)
        inner()

    def _let_bound(self, call: ast.Call, name: ast.expr | None, node: ast.stmt) -> None:
        nodes = call.args
        if self.theirs and name is None and len(nodes) == 1 and [word.arg for word in call.keywords] == ["var"]:
            nodes = [call.keywords[0].value, *nodes]  # `T.LetStmt(value, var=x)`
        typed = [*nodes[1:], *(word.value for word in call.keywords if word.arg == "type_annotation")]
        if self.theirs and isinstance(name, ast.Name) and len(typed) == 1 and nodes:
            kind = self.value(typed[0])
            if isinstance(kind, TypeName):  # `with T.LetStmt(value, T.handle("float32")) as x:`
                declared = ast.AnnAssign(name, typed[0], nodes[0], 1)
                self._let_binding(name, LetType(kind.dtype), ast.copy_location(declared, node))
                return
        if name is None and len(nodes) == 2:
            name, nodes = nodes[0], nodes[1:]
        if not isinstance(name, ast.Name) or len(nodes) != 1:
            raise self.fail("T032", "a binding has a name and a value", call, hint="x = value")
        value = self.expr(nodes[0])
        known = self.lookup(name.id)
        kind = known.dtype if type(known) is Var and not value.dtype.is_handle else value.dtype
        var = Var(name.id, kind, span=self.span(name))  # an address is of what it was made for
        self.define(name.id, var)
        self.emit(Bind(var, value, span=self.span(node)))
        self._declare_waiting(known, var)

    def _let_statement(self, call: ast.Call, node: ast.stmt) -> None:
        """`T.LetStmt(value, var=x)` over the rest of the body; `T.evaluate(T.let(...))` is a value."""
        if isinstance(node, ast.Expr) and node.value is not call:
            self.emit(Evaluate(self.expr(call), span=self.span(node)))
        elif self.theirs:
            self._let_bound(call, None, node)
        else:
            hint = f"it opens a body: `with {self.span(call).text}:`"
            raise self.fail("T022", "`T.let` is not a statement", node, hint=hint)

    def _decl_buffer_context(
        self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With
    ) -> None:
        if not isinstance(name, ast.Name):
            hint = 'with T.decl_buffer([16], "float32") as C:'
            raise self.fail("T022", "the buffer needs a name", call, hint=hint)
        self.check_assignable(name.id, name)
        self.decl_buffer(name, self.buffer_arguments("decl_buffer", call), call, node)
        inner()

    def _attr(self, call: ast.Call, node: ast.stmt) -> None:
        if self.theirs and len(call.args) == 1 and not call.keywords:
            for key, value in self.attr_pairs(call.args[0]):
                self.open_rest(Attr(const(0), key, value, (), span=self.span(node)))
            return
        target, key, value = self.form_arguments(call, "attr", ("node", "key", "value"))
        if not isinstance(key, str):
            raise self.fail("T032", "the key of `T.attr` is a string", call)
        if isinstance(target, IterVar):
            self.open_rest(self.attr_of_axis(target, key, value, call))
            return
        self.open_rest(Attr(self.attr_node(target, key), key, attr_value(value), (), span=self.span(node)))

    def assertion(self, test: Expr, node: ast.Assert) -> Assert:
        if not isinstance(node.msg, ast.Tuple):
            return super().assertion(test, node)
        found = self.python(node.msg, "the message", (tuple,))
        kind, parts = found if len(found) == 2 else ("", None)
        named = isinstance(kind, str) and kind.isidentifier()
        if not named or not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            message = "the message is a string, or the name of an error and a list of strings"
            raise self.fail("T032", message, node.msg)
        pieces = tuple(parts) if len(parts) > 1 else ()
        return Assert(test, "".join(parts), kind, pieces, span=self.span(node))

    def attr_pairs(self, node: ast.expr) -> list[tuple[str, Any]]:
        """The attributes of `T.attr({...})`, which stand at no node."""
        found = self.value(node)
        if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
            raise self.fail("T032", "`T.attr` takes node, key, value, or one dict with strings as keys", node)
        return [(key, attr_value(value)) for key, value in found.items()]

    def hint_of(self, call: ast.Call, node: ast.stmt) -> Attr:
        args, kwargs = self.arguments(call)
        if len(args) > 1 or not all(isinstance(arg, str) for arg in args):
            raise self.fail("T032", "`T.hint` takes a message and named values", call)
        told = {"message": args[0] if args else "", **kwargs}
        return Attr(told, HINT, const(1), (), span=self.span(node))

    def _hint(self, call: ast.Call, node: ast.stmt) -> None:
        self.open_rest(self.hint_of(call, node))

    def _hint_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        self.emit(self.hint_of(call, node).replace(body=self.nested(inner)))

    def _attr_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        if not self.theirs or len(call.args) != 1 or call.keywords:
            target = self.value(call.args[0]) if len(call.args) == 3 else None
            if not isinstance(target, IterVar):
                super()._attr_context(call, name, inner, node)
                return
            _, key, worth = self.form_arguments(call, "attr", ("node", "key", "value"))
            self.emit(self.attr_of_axis(target, str(key), worth, call).replace(body=self.nested(inner)))
            return
        made = self.nested(inner)
        for key, value in reversed(self.attr_pairs(call.args[0])):
            made = (Attr(const(0), key, value, made, span=self.span(node)),)
        self.out.extend(made)

    def attr_of_axis(self, axis: IterVar, key: str, value: Any, call: ast.Call) -> Stmt:
        """An attribute of an axis, `T.iter_var(...)`: of a thread how many there are, else of its variable."""
        var = axis.var
        if type(var) is Var and not var.name:
            var = Var(axis.tag.replace(".", "_") or "i", var.dtype)
        if type(var) is not Var:
            raise self.fail("T032", "the axis of an attribute is a variable", call, hint="T.iter_var(i, None, ...)")
        if axis.kind == "ThreadIndex" and key in ("thread_extent", "virtual_thread"):
            extent = self.single(value, call, "the number of threads", var.dtype)
            return LaunchThread(var, axis.tag, extent, (), span=self.span(call))
        if var is not axis.var:
            message = f"the axis of the attribute `{key}` is a new variable, which nothing defines"
            hint = 'the kind of a thread is "ThreadIndex", its keys are "thread_extent" and "virtual_thread"'
            raise self.fail("T032", message, call, hint=hint)
        return Attr(var, key, attr_value(value), (), span=self.span(call))

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


def names_given_memory(body: list[ast.stmt]) -> set[str]:
    """The names that `p = T.allocate(...)`, `with T.allocate(...) as p:` or `T.LetStmt(value, var=p)` give a value."""
    found: set[ast.expr | None] = set()
    for node in (node for stmt in body for node in ast.walk(stmt)):
        if isinstance(node, ast.Assign) and _is_allocate(node.value):
            found.update(node.targets)
        elif isinstance(node, ast.withitem) and _is_allocate(node.context_expr):
            found.add(node.optional_vars)
        elif isinstance(node, ast.Call):
            found.update(word.value for word in node.keywords if word.arg == "var")
    return {target.id for target in found if isinstance(target, ast.Name)}


def _is_allocate(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "allocate"


_SCALARS: dict[str, Callable[..., None]] = {
    "alloc_scalar": DialectLowering._alloc_scalar,
    "local_scalar": DialectLowering._alloc_scalar,
    "shared_scalar": DialectLowering._alloc_scalar,
    "decl_scalar": DialectLowering._decl_scalar,
}
DialectLowering.definition_forms = {**StmtLowering.definition_forms, "decl_buffer": DialectLowering.decl_buffer}
DialectLowering.statement_forms = {
    **StmtLowering.statement_forms,
    "attr": DialectLowering._attr,
    "let": DialectLowering._let_statement,
    "hint": DialectLowering._hint,
    "break_loop": DialectLowering._break_loop,
    "continue_loop": DialectLowering._continue_loop,
    "ret": DialectLowering._ret,
}
DialectLowering.context_forms = {
    **StmtLowering.context_forms,
    "allocate": DialectLowering._allocate_context,
    "decl_buffer": DialectLowering._decl_buffer_context,
    "let": DialectLowering._let_context,
    "attr": DialectLowering._attr_context,
    "hint": DialectLowering._hint_context,
}
