"""Statements: branches, calls, contexts, and the table of the rules of all."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Call, CallFunction, Expr, Var, const
from tirscript.ir.op import Op, as_expr, fail
from tirscript.ir.span import Span
from tirscript.ir.stmt import (
    LOOP_KINDS,
    Assert,
    Assume,
    Attr,
    Evaluate,
    If,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
)

from .assign import AssignLowering
from .block import BlockFrame
from .call import _VALUE_FORMS
from .context import Abort, Macro, Pending, Poison, Stale
from .expr import Method
from .loop import LoopLowering
from .namespace import BufferType, Form, TypeName
from .plain import inside, of_the_program, plain_string, refuse_depth
from .scope import targets_of
from .trivia import header_end

_RESULTS = "a kernel writes its results into the elements of a parameter"


class StmtLowering(LoopLowering):
    """Lowers statements."""

    stores: tuple[list[ast.stmt], dict[str, list[ast.Name]]] | None = None  # of a definition: what assigns each name

    # branches

    def _if(self, node: ast.If) -> None:
        hoisted = self.names.hoisted.get(id(node), ())
        test = self.condition(node.test)
        if not isinstance(test, Expr):
            branch = node.body if test else node.orelse
            if branch:
                opener = header_end(node) if test else self.open_else(node, node.body[-1].end_lineno or 0)
                self.statements(branch, opener, 0)
            return
        for name in hoisted:
            self.define(name, Pending())
        place = len(self.out)
        last = self.end
        end = self.else_line(node) - 1 if node.orelse else last
        then = self.body(node.body, header_end(node), end)
        opener = self.open_else(node, max(node.body[-1].end_lineno or 0, self.taken))
        elif_ = bool(node.orelse) and node.orelse[0].col_offset == node.col_offset
        left, self.orphans = self.orphans, []  # a branch without statements leaves its comments to the whole
        orelse = self.body(node.orelse, opener, last, elif_) if node.orelse else ()
        self.orphans = left + self.orphans
        for name in hoisted:
            buffer = self.scopes[-1].get(name)
            if isinstance(buffer, Buffer):
                self.out.insert(place, ScalarDecl(buffer, span=buffer.span))
                place += 1
            elif type(buffer) is not Stale:
                self.define(name, Poison())
        self.emit(If(test, then, orelse, span=self.span(node)))

    # the rest

    def _expression(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Constant) and (isinstance(call.value, str) or call.value is Ellipsis):
            return
        if not isinstance(call, ast.Call):
            value = self.value(call)
            if isinstance(value, Expr) and self.theirs:
                self.emit(Evaluate(value, span=self.span(node)))
                return
            if isinstance(value, Expr):
                raise self.fail("T020", "this value is not used", node, hint=self._unused_hint(call))
            if isinstance(value, (Buffer, Form, TypeName, Op)):
                hint = f"call it: `T.{value.name}(...)`" if isinstance(value, (Form, Op)) else None
                raise self.fail("T020", f"a name alone does nothing: `{self.span(node).text}`", node, hint=hint)
            if isinstance(value, (list, tuple, dict)) and of_the_program(value) and not self.theirs:
                hint = "assign them"
                if isinstance(call, (ast.ListComp, ast.DictComp, ast.GeneratorExp)):
                    loop = call.generators[0]
                    heading = f"`for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}:`"
                    hint = f"a loop is a statement: {heading}, and below it, indented, what it repeats"
                raise self.fail("T020", "these values are not used", node, hint=hint)
            return
        self.callee = call.func
        function = self.value(call.func)
        if isinstance(function, Form):
            rule = self.statement_forms.get(function.name)
            if rule is not None:
                rule(self, call, node)
                return
            if not self.theirs or function.name not in _VALUE_FORMS:
                raise self.no_statement(function, call, node)
        if type(function) is Macro:
            self.call_macro(function, call)
            return
        if type(function) is Method and function.name == "vstore":
            self._vstore(function, call, node)
            return
        value = self.value(call)
        if isinstance(value, (BufferType, TypeName)):
            raise self.fail(
                "T020", "this type declares nothing here", node, hint='memory is `C = T.alloc_buffer((16,), "float32")`'
            )
        if isinstance(value, Expr) and self.theirs:  # TVM prints no `T.evaluate` around a call
            self.emit(Evaluate(value, span=self.span(node)))
            return
        if isinstance(value, Expr):
            if type(value) is Call and value.op.effect == "pure":
                raise self.fail("T020", "this value is not used", node, hint="assign it, or `T.evaluate(...)` it")
            if not isinstance(value, (Call, CallFunction)):
                raise self.fail("T020", "this value is not used", node)
            self.emit(Evaluate(value, span=self.span(node)))

    def _unused_hint(self, value: ast.expr) -> str:
        """What is meant by a value that stands as a statement; where it is a comparison, probably an assignment."""
        if isinstance(value, ast.Compare) and len(value.ops) == 1 and isinstance(value.ops[0], ast.Eq):
            left, right = self.span(value.left).text, self.span(value.comparators[0]).text
            return f"`==` compares; to assign, write `{left} = {right}`"
        return "assign it, or `T.evaluate(...)` it"

    def no_statement(self, function: Form, call: ast.Call, node: ast.Expr) -> Abort:
        """What to say of a construct that stands as a statement and is none."""
        if function.name in ("alloc_buffer", "decl_buffer", "match_buffer", "allocate_const"):
            message, hint = f"`T.{function.name}` defines a buffer: give it a name", f"A = T.{function.name}(...)"
            return self.fail("T022", message, node, hint=hint)
        opens = function.name in self.context_forms
        hint = f"it opens a body: `with {self.span(call).text}:`" if opens else function.__doc__ or ""
        return self.fail("T022", f"`T.{function.name}` is not a statement", node, hint=hint)

    def leave_macro(self, node: ast.Return, out: list[Stmt]) -> None:
        """Leave the macro whose statements go to `out`."""
        raise AssertionError("given by MacroLowering")

    def call_macro(self, macro: Macro, call: ast.Call) -> None:
        """Write out a macro's statements."""
        raise AssertionError("given by MacroLowering")

    def _assert(self, node: ast.Assert) -> None:
        test = self.condition(node.test)
        made = self.assertion(test if isinstance(test, Expr) else const(bool(test)), node)
        if not isinstance(test, Expr):
            if not test:
                said = f": {made.message}" if made.message else ""
                raise self.fail("T403", f"this assertion fails while parsing{said}", node.test)
            return
        self.emit(made)

    def assertion(self, test: Expr, node: ast.Assert) -> Assert:
        """An assertion with what it says when it fails."""
        message = "" if node.msg is None else self.python(node.msg, "the message", (str,))
        return Assert(test, message, span=self.span(node))

    def _static_assert(self, call: ast.Call, node: ast.stmt) -> None:
        if not 1 <= len(call.args) <= 2 or call.keywords:
            raise self.fail("T032", "`T.static_assert` takes a condition and a message", call)
        test = self.condition(call.args[0])
        message = self.python(call.args[1], "the message", (str,)) if len(call.args) == 2 else ""
        if not isinstance(test, Expr):
            if not test:
                raise self.fail("T403", f"this assertion is false{': ' + message if message else ''}", call.args[0])
            return
        self.emit(StaticAssert(test, message, span=self.span(node)))

    def _assume(self, call: ast.Call, node: ast.stmt) -> None:
        if len(call.args) != 1 or call.keywords:
            raise self.fail("T032", "`T.assume` takes a condition", call)
        test = self.condition(call.args[0])
        if not isinstance(test, Expr):
            if not test:
                raise self.fail("T403", "this assumption is false", call.args[0])
            return
        self.emit(Assume(test, span=self.span(node)))

    def _evaluate(self, call: ast.Call, node: ast.stmt) -> None:
        if len(call.args) != 1 or call.keywords:
            raise self.fail("T032", "`T.evaluate` takes one value", call)
        inner = call.args[0]
        if isinstance(inner, ast.Call):
            function = self.value(inner.func)
            if isinstance(function, Form) and function.name in self.statement_forms:
                self.statement_forms[function.name](self, inner, node)
                return
        self.emit(Evaluate(self.expr(call.args[0]), span=self.span(node)))

    def _return(self, node: ast.Return) -> None:
        if self.macro_out is not None and not (self.theirs and node.value is not None):  # TVM's leaves the kernel
            self.leave_macro(node, self.macro_out)
        if node.value is None:
            self.emit(Return(span=self.span(node)))
            return
        if self.returns is None:
            value = self.value(node.value)
            if isinstance(value, Buffer):
                raise self.fail("T022", "a buffer cannot be returned", node, hint=_RESULTS)
            if isinstance(value, (tuple, list)):
                raise self.fail("T022", "several values cannot be returned", node, hint=_RESULTS)
            kind = (
                value.dtype if isinstance(value, Expr) else {float: "float32", bool: "bool"}.get(type(value), "int32")
            )
            if self.theirs:  # TVM's functions that return say so in the body only
                made = self.expr(node.value)
                self.returns = made.dtype
                self.emit(Return(made, span=self.span(node)))
                return
            if self.result_is_told:
                raise Abort(node)
            hint = "write the result into a parameter"
            if isinstance(kind, str) or not kind.is_vector:
                hint += f", or annotate the scalar it returns: `-> T.{kind}`"
            raise self.fail("T022", "this function returns nothing", node, hint=hint)
        value = self.value(node.value)
        if isinstance(value, Buffer):
            raise self.fail("T022", "a buffer cannot be returned", node, hint=_RESULTS)
        self.emit(Return(self.converted(node.value, self.returns, "the returned value"), span=self.span(node)))

    def _pass(self, node: ast.Pass) -> None:
        """`pass` does nothing."""

    def _with(self, node: ast.With) -> None:
        self.open_context(node, 0)

    def open_context(self, node: ast.With, at: int) -> None:
        """Lower the contexts of a `with` from the one at place `at` inward."""
        item = node.items[at]
        call = item.context_expr
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "open":
            raise self.fail(
                "T020", "a kernel opens no files", call, hint="read the data before, and pass it as an array"
            )
        function = self.value(call.func if isinstance(call, ast.Call) else call)
        rule = self.context_forms.get(function.name) if isinstance(function, Form) else None
        if rule is None or not isinstance(call, ast.Call):
            hint = 'such as `with T.block("name"):`'
            if rule is not None:
                raise self.fail("T022", f"`T.{function.name}` is called in a `with`", call, hint=function.__doc__)
            if isinstance(function, Form) and function.name in (*LOOP_KINDS, "grid"):
                hint = f"`T.{function.name}` is a loop: `for i in T.{function.name}(...):`"
            elif isinstance(function, Form):
                hint = function.__doc__ or hint
            raise self.fail("T020", "`with` opens blocks and attributes only", call, hint=hint)

        def inner() -> None:
            if at + 1 < len(node.items):
                self.open_context(node, at + 1)
            else:
                self.statements(node.body, header_end(node), self.end)

        rule(self, call, item.optional_vars, inner, node)

    def nested(self, inner: Callable[[], None]) -> tuple[Stmt, ...]:
        """What `inner` lowers, as a body of its own."""
        outer, self.out = self.out, []
        self.scopes.append({})
        try:
            inner()
            return tuple(self.out)
        finally:
            self.scopes.pop()
            self.out = outer

    def _attr_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        target, key, value = self.form_arguments(call, "attr", ("node", "key", "value"))
        if not isinstance(key, str):
            raise self.fail("T032", "the key of `T.attr` is a string", call)
        made = attr_value(value)
        self.emit(Attr(self.attr_node(target, key), plain_string(key), made, self.nested(inner), span=self.span(node)))

    def attr_node(self, value: Any, key: str) -> Any:
        """What an attribute stands at."""
        return attr_value(value)

    def takes_values(self, function: ast.expr) -> bool:
        try:
            found = self.value(function)
        except Abort:
            return False
        return (
            isinstance(found, (Op, TypeName))
            or (isinstance(found, Form) and found.name in (*LOOP_KINDS, "grid"))
            or found is self.builtins_range
        )

    def read_bodies(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.For, ast.While)):
            self.loop_body(node, dict.fromkeys(targets_of(node), Poison()))
        elif isinstance(node, ast.With):
            # it may be a block
            outer, self.block = self.block, BlockFrame(node, len(self.scopes) + 2)
            fixed, self.fixed = self.fixed, dict(self.fixed)
            self.scopes.append(dict.fromkeys(_opened(node), Poison()))
            try:
                self.body(node.body, header_end(node), self.end)
            finally:
                self.scopes.pop()
                self.block, self.fixed = outer, fixed
        elif isinstance(node, ast.If) and self.runs(node.test):
            for name in self.names.hoisted.get(id(node), ()):
                self.define(name, Poison())
            self.body(node.body, header_end(node))
            self.body(node.orelse, header_end(node))

    def runs(self, test: ast.expr) -> bool:
        """Whether a condition that cannot be read speaks of values of the program, not of Python's alone."""
        names = (part.id for part in ast.walk(test) if isinstance(part, ast.Name))
        return any(isinstance(self.lookup(name), (Var, Buffer)) for name in names)

    def assigned_later(self, use: ast.Name) -> Span | None:
        if self.stores is None or self.stores[0] is not self.definition:
            found: dict[str, list[ast.Name]] = {}
            for stmt in self.definition:
                # the only names that an assignment stores to are among its targets
                places = stmt.targets if type(stmt) is ast.Assign else [stmt]
                for place in places:
                    for node in () if type(place) is ast.Subscript else ast.walk(place):
                        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                            found.setdefault(node.id, []).append(node)
            self.stores = self.definition, found
        other = next((node for node in self.stores[1].get(use.id, ()) if node is not use), None)
        return None if other is None else self.span(other)


def _opened(node: ast.With) -> list[str]:
    """The names that the contexts of a `with` give."""
    found = (part for item in node.items if item.optional_vars is not None for part in ast.walk(item.optional_vars))
    return [part.id for part in found if isinstance(part, ast.Name)]


def attr_value(value: Any) -> Any:
    """An operand of `T.attr`: bare numbers become constants; an operator without its arguments is no value."""
    refuse_depth(value)
    for item in inside(value):
        if isinstance(item, Op):
            raise fail("T104", f"`{item.spelling}` is an operator, not a value", "call it with its arguments")
        if isinstance(item, BufferType):
            hint = "make the buffer before it is named, as by `T.alloc_buffer` or `T.decl_buffer`"
            raise fail("T104", "this is the type of a buffer, which is in no memory yet", hint)
    return as_expr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else plain_string(value)


StmtLowering.stmt_rules = {
    ast.For: StmtLowering._for,
    ast.While: StmtLowering._while,
    ast.Break: StmtLowering._break,
    ast.Continue: StmtLowering._continue,
    ast.If: StmtLowering._if,
    ast.Assign: AssignLowering._assign,
    ast.AugAssign: AssignLowering._augmented,
    ast.AnnAssign: AssignLowering._annotated,
    ast.Expr: StmtLowering._expression,
    ast.Assert: StmtLowering._assert,
    ast.Return: StmtLowering._return,
    ast.Pass: StmtLowering._pass,
    ast.With: StmtLowering._with,
}
StmtLowering.statement_forms = {
    **AssignLowering.statement_forms,
    "evaluate": StmtLowering._evaluate,
    "static_assert": StmtLowering._static_assert,
    "assume": StmtLowering._assume,
}
StmtLowering.context_forms = {**AssignLowering.context_forms, "attr": StmtLowering._attr_context}
