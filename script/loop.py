"""Loops: those of the program, and those over Python sequences, which are written out."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, suggest
from tirscript.ir.expr import Expr, Var, const
from tirscript.ir.node import Attrs
from tirscript.ir.op import OPS, as_expr, unify
from tirscript.ir.span import Source
from tirscript.ir.stmt import LOOP_KINDS, Break, Continue, For, Stmt, While
from tirscript.ir.threads import is_thread, thread_hint
from tirscript.ir.words import counted, with_article, words

from .body import BodyLowering
from .context import Pending, Poison, Round, ScalarView, Stale
from .meet import together
from .namespace import Form
from .scope import stored_in
from .trivia import header_end

LOOP_VARIABLE = "a loop variable"
_OF_PROGRAM = frozenset((Var, Buffer, ScalarView, Pending, Poison, Stale))
_BOUNDS = ("start", "stop", "step")
MAX_UNROLLED = 1 << 16  # statements that loops over Python sequences may make


@lru_cache(4)
def _has_walrus(source: Source) -> bool:
    """Whether a text holds `:=` at all."""
    return ":=" in source.text


class Leave(Exception):
    """A `break` of a loop that is written out, or a `continue`: the rest of the round makes no statements."""

    def __init__(self, last: bool) -> None:
        self.last = last


def several_extents(given: ast.expr) -> str:
    """Several extents, given as one value, as the arguments of `T.grid` that they should be."""
    if isinstance(given, (ast.Tuple, ast.List)):
        return ", ".join(map(ast.unparse, given.elts))
    return f"*{ast.unparse(given)}"


def _is_extent(value: Any) -> bool:
    """Whether a value is an integer, known while parsing or not."""
    return isinstance(value, int) or (isinstance(value, Expr) and value.dtype.is_int)


class LoopLowering(BodyLowering):
    """Lowers loops."""

    macro_out: list[Stmt] | None = None  # where the statements of the macro go that is being written out
    written: tuple[int, list[Stmt]] | None = (
        None  # of the loop that is being written out: the loops around it, its body
    )

    def _for(self, node: ast.For) -> None:
        self._no_else(node)
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
            named = self.theirs and keyword.arg == "annotations"  # TVM's `range` is its `T.serial`
            if kind == "serial" and isinstance(call.func, ast.Name) and not named:
                way = "write `range(start, stop, step)`"
                if keyword.arg == "annotations":
                    way = "use `T.serial(n, annotations={...})`"
                raise self.fail("T032", "`range` takes no keyword arguments", keyword.value, hint=way)
            if self.theirs and kind == "serial" and keyword.arg == "unroll":
                options["unroll"] = keyword.value
                continue
            if keyword.arg not in ("annotations", "thread", *_BOUNDS) or (
                (keyword.arg == "thread") != (kind == "thread_binding") and keyword.arg == "thread"
            ):
                near = suggest(str(keyword.arg), ("annotations", "thread", *_BOUNDS))
                raise self.fail(
                    "T032",
                    f"{with_article(kind)} loop takes no `{keyword.arg}`",
                    keyword.value,
                    hint=f"did you mean `{near}`?" if near and near != keyword.arg else None,
                )
            if keyword.arg in options:
                raise self.fail("T032", f"`{keyword.arg}` is given twice", keyword)
            options[keyword.arg] = keyword.value
        nodes = list(call.args)
        if kind == "thread_binding" and len(nodes) > 1 and "thread" not in options:
            if isinstance(self.value(nodes[-1]), str):
                options["thread"] = nodes.pop()  # TVM takes it by place too
        start, stop, step = self.bounds(self._bound_nodes(nodes, options, call), call)
        thread = self.thread_tag(options["thread"]) if "thread" in options else None
        if kind == "thread_binding" and thread is None:
            raise self.fail(
                "T032",
                "`T.thread_binding` needs the thread it binds to",
                call,
                hint='write `T.thread_binding(n, thread="threadIdx.x")`',
            )
        annotations = self.attrs(options["annotations"]) if "annotations" in options else None
        if "unroll" in options:
            wanted = self.python(options["unroll"], "`unroll`", (bool,))
            annotations = Attrs({**(annotations or {}), "pragma_unroll" if wanted else "disable_unroll": True})
        name = self.loop_name(node.target)
        var = Var(name, stop.dtype, span=self.span(node.target))
        if step is None:
            self.domains[var] = (start, stop)
        else:
            self.stepped.add(var)
        body = self.loop_body(node, {name: var})
        made = For(var, start, stop, body, step=step, kind=kind, thread=thread, span=self.span(node))
        self.emit(made if annotations is None else made.replace(annotations=annotations))

    def thread_tag(self, node: ast.expr, given: Any = None) -> str:
        """The tag of a thread, such as "threadIdx.x"."""
        tag: str = self.python(node, "the tag of a thread", (str,)) if given is None else given
        if not is_thread(tag):
            raise self.fail("T032", f'there is no thread "{tag}"', node, hint=thread_hint(tag))
        return tag

    def _bound_nodes(self, nodes: list[ast.expr], options: dict[str, Any], call: ast.Call) -> list[ast.expr]:
        """The bounds of a loop in order, those given by name taken out of `options`. One alone is where it stops."""
        given: dict[str, ast.expr] = dict(zip(_BOUNDS, nodes, strict=False))
        named = [name for name in _BOUNDS if name in options]
        if not 1 <= len(nodes) + len(named) <= 3 or any(isinstance(item, ast.Starred) for item in nodes):
            count = len(nodes) + len(named)
            raise self.fail(
                "T032", f"a loop takes one to three bounds, not {count}", call, hint="`for i in range(16):`"
            )
        for name in named:
            if name in given:
                raise self.fail("T032", f"`{name}` is given twice", options[name])
            given[name] = options.pop(name)
        if "stop" not in given:
            if "start" not in given:
                raise self.fail("T032", "this loop has a step and no end", call, hint="`for i in range(0, 16, 4):`")
            given["stop"] = given.pop("start")
        if "step" in given and "start" not in given:
            given["start"] = ast.copy_location(ast.Constant(0), call)
        return [given[name] for name in _BOUNDS if name in given]

    def bounds(self, nodes: list[ast.expr], call: ast.Call) -> tuple[Expr, Expr, Expr | None]:
        """Start, stop and step of a loop, of one integer dtype."""
        given = [self.bound(self.operand(item), item) for item in nodes]
        try:
            exprs = unify(OPS["add"], together(given) if self.theirs else given)
        except DiagnosticError as problem:
            raise self.located(problem, call) from None
        for expr, item in zip(exprs, nodes, strict=True):
            self.placed(expr, item)
        if len(exprs) == 1:
            return const(0, exprs[0].dtype), exprs[0], None
        return exprs[0], exprs[1], exprs[2] if len(exprs) == 3 else None

    def bound(self, value: Any, item: ast.expr) -> Expr | int:
        """A bound of a loop, which is one integer."""
        if isinstance(value, Expr) and value.dtype.is_vector:
            raise self.fail("T112", f"the bound of a loop is {value.dtype}, one value for each lane", item)
        if (isinstance(value, Expr) and not value.dtype.is_int) or isinstance(value, float):
            kind = value.dtype if isinstance(value, Expr) else "a float"
            divided = isinstance(item, ast.BinOp) and isinstance(item.op, ast.Div)
            number = "`//` gives an integer" if divided else "write an int"
            way = 'cast it: `x.astype("int32")`' if isinstance(value, Expr) else number
            raise self.fail("T112", f"the bound of a loop is {kind}, not an integer", item, hint=way)
        if isinstance(value, Buffer):
            raise self.whole(value, item, f"the extent of a dimension is `{value.name}.shape[0]`")
        if not isinstance(value, Expr) and (isinstance(value, bool) or not hasattr(type(value), "__index__")):
            hint = self.symbol_advice(value) if isinstance(value, str) else None
            if isinstance(value, str) and is_thread(value):
                hint = f"the extent comes before it: `T.thread_binding(n, thread={value!r})`"
            if isinstance(value, range):
                hint = f"an extent is a number: `{len(value)}`"
            elif isinstance(item, ast.Attribute) and item.attr == "shape":
                hint = f"one dimension of it is `{ast.unparse(item)}[0]`"
            elif isinstance(value, (tuple, list)):
                hint = f"loops over each of several extents are `T.grid({several_extents(item)})`"
            raise self.fail("T112", f"the bound of a loop is {words(value)}, not an integer", item, hint=hint)
        return value if isinstance(value, Expr) else self.ask(lambda: int(value), item)  # type: ignore[no-any-return]

    def loop_name(self, target: ast.expr) -> str:
        """The name of a loop variable."""
        if not isinstance(target, ast.Name):
            hint = "use `T.grid` for several: `for i, j in T.grid(4, 4):`"
            raise self.fail("T012", "a loop has one variable", target, hint=hint)
        what = self.fixed.get(target.id)
        if (what == LOOP_VARIABLE and target.id == "_") or (what in (LOOP_VARIABLE, "a parameter") and self.theirs):
            return target.id  # the inner loop's until that ends
        if what is not None and any(target.id in scope for scope in self.scopes):
            already = "the variable of a loop around this one already"
            why = already if what == LOOP_VARIABLE else f"{what} and cannot be a loop variable too"
            raise self.fail("T012", f"`{target.id}` is {why}", target, hint="use another name")
        return target.id

    def loop_body(self, node: ast.For | ast.While, names: dict[str, Any]) -> tuple[Stmt, ...]:
        """The body of a loop with its variables in scope."""
        self.scopes.append({**self._carried(node), **names})
        added = [name for name in names if name not in self.fixed]
        self.fixed.update(dict.fromkeys(added, LOOP_VARIABLE))
        self.loops += 1
        try:
            return self.body(node.body, header_end(node), self.end)
        finally:
            self.loops -= 1
            self.leave()
            for name in added:
                del self.fixed[name]

    def _carried(self, node: ast.For | ast.While) -> dict[str, Any]:
        """The names of values known while parsing that a loop assigns: from its second turn on they would be others."""
        if self.theirs:
            return {}
        names = stored_in(node.body)
        if _has_walrus(self.source):
            names |= {part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)}
        why = "is known while parsing, and would change from turn to turn of the loop"
        found: dict[str, Any] = {}
        for name in names:
            scope = next((scope for scope in reversed(self.scopes) if name in scope), None)
            if scope is not None and type(scope[name]) not in _OF_PROGRAM:
                found[name] = Stale(scope[name], why)
        return found

    def _grid(self, node: ast.For, call: ast.Call) -> None:
        if call.keywords:
            raise self.fail("T032", "`T.grid` takes no keyword arguments", call)
        extents: list[Any] = []
        several = [
            isinstance(arg, (ast.Tuple, ast.List)) or (isinstance(arg, ast.Attribute) and arg.attr == "shape")
            for arg in call.args
        ]
        if any(several):
            message = "each extent of `T.grid` is an argument of its own"
            parts = [
                several_extents(arg) if many else ast.unparse(arg) for arg, many in zip(call.args, several, strict=True)
            ]
            raise self.fail("T032", message, call.args[several.index(True)], hint=f"`T.grid({', '.join(parts)})`")
        for arg in call.args:
            if isinstance(arg, ast.Starred):
                extents += [(self.bound(value, arg), arg) for value in self.unpacked(arg)]
            else:
                extents.append((self.bound(self.operand(arg), arg), arg))
        targets = self.loop_targets(node.target, len(extents))
        if len(targets) != len(extents) or (not extents and not isinstance(node.target, (ast.Tuple, ast.List))):
            counts = f"{counted(len(extents), 'extent')} for {counted(len(targets), 'variable')}"
            names = ", ".join("ijklmnop"[: len(extents)]) or "i"
            raise self.fail(
                "T032",
                f"`T.grid` has {counts}",
                call,
                hint=f"each extent has a variable: `for {names} in T.grid(...):`" if len(extents) < 9 else None,
            )
        made = []
        for (target, name), (given, place) in zip(targets, extents, strict=True):
            try:
                extent = self.placed(as_expr(given), place)
            except DiagnosticError as problem:
                raise self.located(problem, place) from None
            made.append((name, Var(name, extent.dtype, span=self.span(target)), extent))
            self.domains[made[-1][1]] = (const(0, extent.dtype), extent)
        names_of: dict[str, Any] = {name: var for name, var, _ in made}
        named = [name for name, _, _ in made if name != "_"]
        if len(set(named)) != len(named):
            raise self.fail("T202", "two variables of this loop have one name", node.target)
        if self.theirs and isinstance(node.target, ast.Name) and len(made) > 1:
            names_of[node.target.id] = [var for _, var, _ in made]
        for item in getattr(node.target, "elts", ()):
            if isinstance(item, ast.Starred):
                held = [var for (target, _), (_, var, _) in zip(targets, made, strict=True) if target is item.value]
                names_of[self.loop_name(item.value)] = held
        inner = self.loop_body(node, names_of)
        span = self.span(node)
        if not made:  # no extents: the body, once
            for stmt in inner:
                self.emit(stmt)
            return
        for _, var, extent in reversed(made):
            inner = (For(var, const(0, extent.dtype), extent, inner, span=span),)
        self.emit(inner[0])

    def loop_targets(self, target: ast.expr, count: int) -> list[tuple[ast.expr, str]]:
        """The variables of a loop over `count` extents with their names; `*i` is `i0`, `i1` and so on."""
        items = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        if sum(isinstance(item, ast.Starred) for item in items) > 1:
            raise self.fail("T012", "one variable of a loop takes what the others leave, not several", target)
        if self.theirs and isinstance(target, ast.Name) and count > 1:  # one name for the list of all variables
            name = self.loop_name(target)
            return [(target, f"{name}_{at}") for at in range(count)]
        found: list[tuple[ast.expr, str]] = []
        for item in items:
            if isinstance(item, ast.Starred):
                name = self.loop_name(item.value)
                found += [(item.value, f"{name}{at}") for at in range(count - len(items) + 1)]
            else:
                found.append((item, self.loop_name(item)))
        return found

    def _static_for(self, node: ast.For) -> None:
        hint = node.target.id if isinstance(node.target, ast.Name) else "item"
        values = self.iterate(self.value(node.iter), node.iter)
        if isinstance(node.target, (ast.Tuple, ast.List)) and values and all(map(_is_extent, values)):
            count = counted(len(node.target.elts), "target")
            names = ", ".join(map(ast.unparse, node.target.elts))
            loops = f"nested loops are `for {names} in T.grid({several_extents(node.iter)}):`"
            raise self.fail("T033", f"one value for {count}", node.target, hint=loops)
        if not any(isinstance(part, ast.GeneratorExp) for part in ast.walk(node.iter)):
            values = self.settled(values, hint, node)  # the whole sequence is there before the first round
        mistakes = len(self.diagnostics)
        outer, self.written = self.written, (self.loops, self.out)
        try:
            self._rounds(node, values, hint, mistakes)
        finally:
            self.written = outer

    def _rounds(self, node: ast.For, values: list[Any], hint: str, mistakes: int) -> None:
        for value in values:
            self.scopes.append(Round())
            self.copies += 1
            left, self.orphans = self.orphans, []
            try:
                self.unpack(node.target, self.settled(value, hint, node))
                self.statements(node.body, header_end(node), node.end_lineno or 0)
            except Leave as left_by:
                if left_by.last:
                    return
            finally:
                self.copies -= 1
                self.leave()
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

    def _no_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            message, hint = "`else` on a loop is not part of the language", "put the statements behind the loop"
            self.report("T020", message, node.orelse[0], hint=hint)

    def _while(self, node: ast.While) -> None:
        self._no_else(node)
        test = self.condition(node.test)
        if not isinstance(test, Expr):
            if not test:
                return
            test = const(True)
        body = self.loop_body(node, {})
        self.emit(While(test, body, span=self.span(node)))

    def _break(self, node: ast.Break) -> None:
        self._leave_round(node, "break")
        self.emit(Break(span=self.span(node)))

    def _continue(self, node: ast.Continue) -> None:
        self._leave_round(node, "continue")
        self.emit(Continue(span=self.span(node)))

    def _leave_round(self, node: ast.stmt, word: str) -> None:
        """Leave the round of a loop that is written out, if that is the loop of a `break` or a `continue`."""
        if self.written is None or self.written[0] != self.loops:
            if not self.loops and self.macro_out is not None:  # the verifier does not know where a macro is called
                hint = "a macro is written out where it is called, and no loop is around that call"
                raise self.fail("T022", f"`{word}` outside of a loop", node, hint=hint)
            return
        if self.written[1] is self.out:
            raise Leave(word == "break")
        hint = "a loop over `range` stays a loop, which values may end"
        what = f"this loop is written out while parsing, where no value of the program can decide on a `{word}`"
        raise self.fail("T022", what, node, hint=hint)
