"""Statements: a body of syntax nodes becomes a tuple of IR statements."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from msgspec.structs import force_setattr

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, suggest
from tirscript.ir.expr import Call, CallFunction, Expr, Var, const
from tirscript.ir.op import OPS, Op, as_expr, unify
from tirscript.ir.span import Span
from tirscript.ir.stmt import (
    LOOP_KINDS,
    Assert,
    Assume,
    Attr,
    Break,
    Continue,
    Evaluate,
    For,
    If,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)
from tirscript.ir.words import words

from .assign import AssignLowering
from .context import MAX_MISTAKES, Abort, Macro, Pending, Poison
from .expr import Method
from .meet import together
from .namespace import BufferType, Form, TypeName
from .python import TooLarge
from .refused import REFUSED
from .scope import targets_of
from .trivia import Comments, first_line, header_end, trivia

_RESULTS = "a kernel writes its results into the elements of a parameter"
MAX_UNROLLED = 1 << 16  # statements that loops over Python sequences may make


class StmtLowering(AssignLowering):
    """Lowers statements. `out` is the list that the body being lowered appends to."""

    comments: Comments | None = None
    end = 0  # the last line that may belong to the statement being lowered, comments behind it included
    lead: list[str]  # comments that stand above the first statement of the next body
    orphans: list[str]  # comments of a body without statements, for what encloses it
    stores: tuple[list[ast.stmt], dict[str, list[ast.Name]]] | None = None  # of a definition: what assigns each name
    taken = 0  # the last line whose comments stand in a body already

    # bodies

    def body(self, stmts: list[ast.stmt], opener: int, end: int = 0, elif_: bool = False) -> tuple[Stmt, ...]:
        """The statements of one body in a scope of its own. `opener` is the last line of what opens it, `end` the last
        line before what follows it (0: unknown)."""
        outer, self.out = self.out, []
        self.scopes.append({})
        try:
            self.statements(stmts, opener, end, elif_)
            return tuple(self.out)
        finally:
            self.scopes.pop()
            self.out = outer

    def statements(self, stmts: list[ast.stmt], opener: int, end: int = 0, elif_: bool = False) -> None:
        """Lower statements into the current body, with the comments between them."""
        comments = self.comments
        if comments is None:
            for stmt in stmts:
                self.statement(stmt)
            return
        pending, self.lead = self.lead, []
        last = opener
        made = len(self.out)
        for place, stmt in enumerate(stmts):
            at = len(self.out)
            first = first_line(stmt)
            self.end = first_line(stmts[place + 1]) - 1 if place + 1 < len(stmts) else end
            before = comments.lines(last + 1, first - 1)
            header = header_end(stmt)
            above, beside = comments.within(first, header)
            self.statement(stmt)
            last = max(stmt.end_lineno or first, self.taken)
            lines = [*pending, *before, *above, *self.orphans]
            self.orphans = []
            if len(self.out) > at:
                if lines or beside:
                    self.attach(at, trivia(lines, beside))
                pending = []
            else:
                pending = [*lines, *([beside] if beside else [])]
        # an `elif` stands where its `if` does: what follows it at that level belongs to the body around both
        if end > last and not elif_:
            stop = comments.split_after(last + 1, end, stmts[0].col_offset)
            pending += comments.lines(last + 1, stop - 1)
            self.taken = max(self.taken, stop - 1)
        if any(pending):
            if len(self.out) > made:
                self.attach(len(self.out) - 1, trivia([], "", pending))
            else:
                self.orphans += filter(None, pending)

    def attach(self, at: int, found: Any) -> None:
        """Give trivia to the statement at a place of the current body, beside what it has."""
        stmt = self.out[at]
        old = stmt.trivia
        if old is not None:
            found = trivia([*found.before, *old.before], old.beside or found.beside, [*old.after, *found.after])
        force_setattr(stmt, "trivia", found)

    def statement(self, node: ast.stmt) -> None:
        """Lower one statement; its mistakes are reported and the next one is read."""
        if self.diagnostics and (len(self.diagnostics) > MAX_MISTAKES or self.budget.left < 0):
            return
        rule = _RULES.get(type(node))
        try:
            if self.copies:
                self.budget.again(node)
            if rule is None:
                code, what, hint = REFUSED.get(
                    type(node), ("T020", f"{type(node).__name__} is not a statement of the language", None)
                )
                raise self.fail(code, what, node, hint=hint)
            rule(self, node)
        except Abort:
            for name in targets_of(node):
                if name not in self.scopes[-1]:
                    self.define(name, Poison())
        except DiagnosticError as problem:
            self.located(problem, node)
        except TooLarge as problem:
            self.report("T004", f"this makes {problem}", node)

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the current body."""
        self.out.append(stmt)

    # loops

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            self.report(
                "T020",
                "`else` on a loop is not part of the language",
                node.orelse[0],
                hint="put the statements behind the loop",
            )
        call = node.iter
        if isinstance(call, ast.Call):
            function = self.loop_function(call)
            name = "serial" if function is range else function.name if isinstance(function, Form) else ""
            if name == "grid":
                self._grid(node, call)
                return
            if name in LOOP_KINDS:
                self._loop(node, call, name)
                return
        self._static_for(node)

    def loop_function(self, call: ast.Call) -> Any:
        """What the iterator of a loop calls, where that is a name or an attribute of a namespace."""
        if isinstance(call.func, ast.Name):
            found = self.lookup(call.func.id)
            return range if found is self.builtins_range else found
        if isinstance(call.func, ast.Attribute):
            return self.value(call.func)
        return None

    def _loop(self, node: ast.For, call: ast.Call, kind: str) -> None:
        options: dict[str, Any] = {}
        for keyword in call.keywords:
            if kind == "serial" and isinstance(call.func, ast.Name):
                way = "write `range(start, stop, step)`"
                if keyword.arg == "annotations":
                    way = "use `T.serial(n, annotations={...})`"
                raise self.fail("T032", "`range` takes no keyword arguments", keyword.value, hint=way)
            if keyword.arg not in ("annotations", "thread", "start", "stop", "step") or (
                (keyword.arg == "thread") != (kind == "thread_binding") and keyword.arg == "thread"
            ):
                near = suggest(str(keyword.arg), ("annotations", "thread", "start", "stop", "step"))
                raise self.fail(
                    "T032",
                    f"a {kind} loop takes no `{keyword.arg}`",
                    keyword.value,
                    hint=f"did you mean `{near}`?" if near and near != keyword.arg else None,
                )
            options[keyword.arg] = keyword.value
        nodes = list(call.args)
        nodes += [options.pop(name) for name in ("start", "stop", "step") if name in options]
        if not 1 <= len(nodes) <= 3 or any(isinstance(item, ast.Starred) for item in nodes):
            raise self.fail(
                "T032", f"a loop takes one to three bounds, not {len(nodes)}", call, hint="`for i in range(16):`"
            )
        start, stop, step = self.bounds(nodes, call)
        thread = self.python(options["thread"], "`thread`", (str,)) if "thread" in options else None
        if kind == "thread_binding" and thread is None:
            raise self.fail(
                "T032",
                "`T.thread_binding` needs the thread it binds to",
                call,
                hint='write `T.thread_binding(n, thread="threadIdx.x")`',
            )
        annotations = self.attrs(options["annotations"]) if "annotations" in options else None
        name = self.loop_name(node.target)
        var = Var(name, stop.dtype, span=self.span(node.target))
        if step is None:
            self.domains[var] = (start, stop)
        body = self.loop_body(node, {name: var})
        made = For(var, start, stop, body, step=step, kind=kind, thread=thread, span=self.span(node))
        self.emit(made if annotations is None else made.replace(annotations=annotations))

    def bounds(self, nodes: list[ast.expr], call: ast.Call) -> tuple[Expr, Expr, Expr | None]:
        """Start, stop and step of a loop, of one integer dtype."""
        values = [self.value(item) for item in nodes]
        for value, item in zip(values, nodes, strict=True):
            if (isinstance(value, Expr) and not value.dtype.is_int) or isinstance(value, float):
                kind = value.dtype if isinstance(value, Expr) else "a float"
                way = 'cast it: `x.astype("int32")`' if isinstance(value, Expr) else "write an int"
                raise self.fail("T112", f"the bound of a loop is {kind}, not an integer", item, hint=way)
            if isinstance(value, Buffer):
                raise self.whole(value, item, f"the extent of a dimension is `{value.name}.shape[0]`")
            if not isinstance(value, Expr) and (isinstance(value, bool) or not hasattr(type(value), "__index__")):
                hint = f"name it: `thread={value!r}`" if isinstance(value, str) else None
                raise self.fail("T112", f"the bound of a loop is {words(value)}, not an integer", item, hint=hint)
        try:
            given = [value if isinstance(value, Expr) else int(value) for value in values]
            exprs = unify(OPS["add"], together(given) if self.theirs else given)
        except DiagnosticError as problem:
            raise self.located(problem, call) from None
        for expr, item in zip(exprs, nodes, strict=True):
            self.placed(expr, item)
        if len(exprs) == 1:
            return const(0, exprs[0].dtype), exprs[0], None
        return exprs[0], exprs[1], exprs[2] if len(exprs) == 3 else None

    def loop_name(self, target: ast.expr) -> str:
        """The name of a loop variable."""
        if not isinstance(target, ast.Name):
            hint = "use `T.grid` for several: `for i, j in T.grid(4, 4):`"
            raise self.fail("T012", "a loop has one variable", target, hint=hint)
        what = self.fixed.get(target.id)
        if what is not None and any(target.id in scope for scope in self.scopes):
            raise self.fail(
                "T012", f"`{target.id}` is {what} and cannot be a loop variable too", target, hint="use another name"
            )
        return target.id

    def loop_body(self, node: ast.For | ast.While, names: dict[str, Any]) -> tuple[Stmt, ...]:
        """The body of a loop with its variables in scope."""
        self.scopes.append(names)
        added = [name for name in names if name not in self.fixed]
        self.fixed.update(dict.fromkeys(added, "a loop variable"))
        self.loops += 1
        try:
            return self.body(node.body, header_end(node), self.end)
        finally:
            self.loops -= 1
            self.scopes.pop()
            for name in added:
                del self.fixed[name]

    def _grid(self, node: ast.For, call: ast.Call) -> None:
        if call.keywords:
            raise self.fail("T032", "`T.grid` takes no keyword arguments", call)
        extents: list[Any] = []
        for arg in call.args:
            if isinstance(arg, ast.Starred):
                extents += [(value, arg) for value in self.unpacked(arg)]
            else:
                extents.append((self.index(arg), arg))
        targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
        if len(targets) != len(extents) or not extents:
            counts = f"{len(extents)} extent{'s' if len(extents) != 1 else ''} for {len(targets)} variable"
            names = ", ".join("ijklmnop"[: len(extents)]) or "i"
            raise self.fail(
                "T032",
                f"`T.grid` has {counts}{'s' if len(targets) != 1 else ''}",
                call,
                hint=f"each extent has a variable: `for {names} in T.grid(...):`" if len(extents) < 9 else None,
            )
        made = []
        for target, (given, _) in zip(targets, extents, strict=True):
            extent = as_expr(given)
            if not extent.dtype.is_int:
                raise self.fail("T112", f"the bound of a loop is {extent.dtype}, not an integer", call)
            name = self.loop_name(target)
            made.append((name, Var(name, extent.dtype, span=self.span(target)), extent))
            self.domains[made[-1][1]] = (const(0, extent.dtype), extent)
        if len({name for name, _, _ in made}) != len(made):
            raise self.fail("T202", "two variables of this loop have one name", node.target)
        inner = self.loop_body(node, {name: var for name, var, _ in made})
        span = self.span(node)
        for _, var, extent in reversed(made):
            inner = (For(var, const(0, extent.dtype), extent, inner, span=span),)
        self.emit(inner[0])

    def _static_for(self, node: ast.For) -> None:
        values = self.iterate(self.value(node.iter), node.iter)
        mistakes = len(self.diagnostics)
        for value in values:
            self.scopes.append({})
            self.copies += 1
            left, self.orphans = self.orphans, []
            try:
                self.unpack(node.target, value)
                self.statements(node.body, header_end(node), node.end_lineno or 0)
            finally:
                self.copies -= 1
                self.scopes.pop()
            self.orphans = left or self.orphans  # of the rounds that make no statement, the comments of the first
            if len(self.diagnostics) > mistakes:
                return  # the next round would make the same ones
            if len(self.out) > MAX_UNROLLED:
                raise self.fail(
                    "T004",
                    f"this loop writes out over {MAX_UNROLLED:,} statements",
                    node,
                    hint="use `range`, which stays a loop",
                )

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            self.report(
                "T020",
                "`else` on a loop is not part of the language",
                node.orelse[0],
                hint="put the statements behind the loop",
            )
        test = self.condition(node.test)
        if not isinstance(test, Expr):
            if not test:
                return
            test = const(True)
        body = self.loop_body(node, {})
        self.emit(While(test, body, span=self.span(node)))

    def _break(self, node: ast.Break) -> None:
        self.emit(Break(span=self.span(node)))

    def _continue(self, node: ast.Continue) -> None:
        self.emit(Continue(span=self.span(node)))

    # branches

    def _if(self, node: ast.If) -> None:
        hoisted = self.names.hoisted.get(id(node), ())
        test = self.condition(node.test)
        if not isinstance(test, Expr):
            branch = node.body if test else node.orelse
            opener = header_end(node) if test else (node.body[-1].end_lineno or 0)
            if branch:
                self.statements(branch, opener, 0)
            return
        for name in hoisted:
            self.define(name, Pending())
        place = len(self.out)
        last = self.end
        end = self._else_line(node) - 1 if node.orelse else last
        then = self.body(node.body, header_end(node), end)
        opener = max(node.body[-1].end_lineno or 0, self.taken)
        if (
            self.comments is not None
            and end + 1 in self.comments.beside
            and node.orelse
            and node.orelse[0].lineno > end + 1
        ):
            self.lead = [self.comments.beside[end + 1]]  # behind `else:`
        elif_ = bool(node.orelse) and node.orelse[0].col_offset == node.col_offset
        orelse = self.body(node.orelse, opener, last, elif_) if node.orelse else ()
        for name in hoisted:
            buffer = self.scopes[-1].get(name)
            if isinstance(buffer, Buffer):
                self.out.insert(place, ScalarDecl(buffer, span=buffer.span))
                place += 1
            else:
                self.define(name, Poison())
        self.emit(If(test, then, orelse, span=self.span(node)))

    def _else_line(self, node: ast.If) -> int:
        """The line of an `else:` or `elif`: the first behind the branch that is neither blank nor a comment."""
        line = (node.body[-1].end_lineno or 0) + 1
        if self.comments is not None:
            while line in self.comments.whole or line in self.comments.blank:
                line += 1
        return line

    # the rest

    def _expression(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Constant) and (isinstance(call.value, str) or call.value is Ellipsis):
            return
        if not isinstance(call, ast.Call):
            value = self.value(call)
            if isinstance(value, Expr):
                raise self.fail("T020", "this value is not used", node, hint="assign it, or `T.evaluate(...)` it")
            if isinstance(value, (Buffer, Form, TypeName, Op)):
                hint = f"call it: `T.{value.name}(...)`" if isinstance(value, (Form, Op)) else None
                raise self.fail("T020", f"a name alone does nothing: `{self.span(node).text}`", node, hint=hint)
            return
        function = self.value(call.func)
        if isinstance(function, Form):
            rule = self.statement_forms.get(function.name)
            if rule is not None:
                rule(self, call, node)
                return
            if function.name in ("alloc_buffer", "decl_buffer", "match_buffer"):
                raise self.fail(
                    "T022",
                    f"`T.{function.name}` defines a buffer: give it a name",
                    node,
                    hint=f"A = T.{function.name}(...)",
                )
            hint = function.__doc__
            if function.name in self.context_forms:
                hint = f"it opens a body: `with {self.span(call).text}:`"
            raise self.fail("T022", f"`T.{function.name}` is not a statement", node, hint=hint)
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
        if isinstance(value, Expr):
            if type(value) is Call and value.op.effect == "pure":
                raise self.fail("T020", "this value is not used", node, hint="assign it, or `T.evaluate(...)` it")
            if not isinstance(value, (Call, CallFunction)):
                raise self.fail("T020", "this value is not used", node)
            self.emit(Evaluate(value, span=self.span(node)))

    def call_macro(self, macro: Macro, call: ast.Call) -> None:
        """Write out a macro's statements."""
        raise AssertionError("given by MacroLowering")

    def _assert(self, node: ast.Assert) -> None:
        test = self.condition(node.test)
        message = self.message(node.msg)
        if not isinstance(test, Expr):
            if not test:
                raise self.fail(
                    "T403", f"this assertion fails while parsing{': ' + message if message else ''}", node.test
                )
            return
        self.emit(Assert(test, message, span=self.span(node)))

    def message(self, node: ast.expr | None) -> str:
        """What a failed assertion says."""
        return "" if node is None else self.python(node, "the message", (str,))  # type: ignore[no-any-return]

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
            hint = f"write the result into a parameter, or annotate the scalar it returns: `-> T.{kind}`"
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
        self.emit(Attr(attr_value(target), key, attr_value(value), self.nested(inner), span=self.span(node)))

    def assigned_later(self, use: ast.Name) -> Span | None:
        if self.stores is None or self.stores[0] is not self.definition:
            found: dict[str, list[ast.Name]] = {}
            for stmt in self.definition:
                for node in ast.walk(stmt):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        found.setdefault(node.id, []).append(node)
            self.stores = self.definition, found
        other = next((node for node in self.stores[1].get(use.id, ()) if node is not use), None)
        return None if other is None else self.span(other)


def attr_value(value: Any) -> Any:
    """An operand of `T.attr`: bare numbers become constants."""
    return as_expr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


_RULES: dict[type, Callable[[Any, Any], None]] = {
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
