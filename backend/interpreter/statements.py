"""Statements as closures over a frame. A closure returns None, or the signal with which its body is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Axis,
    Bind,
    Block,
    Break,
    BufferLoad,
    BufferStore,
    Const,
    Continue,
    DeclBuffer,
    DiagnosticError,
    Evaluate,
    Expr,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    Var,
    While,
    definitions,
    error,
    walk,
)
from tirscript.ir.rewrite import holds

from ..runtime.arguments import condition_words
from .access import compile_store
from .context import Closure, Context
from .errors import UNSET, division_by_zero, element, failed_assertion, loop_values, malformed, show, undefined_used
from .memory import Pointer, View, allocate
from .regions import compile_alloc, compile_constant, compile_decl, compile_match
from .undef import UNDEF, UndefUsed

# a statement's closure, and whether it may leave the body
Compiled = tuple[Closure, bool]
Rule = Callable[[Context, Any], Compiled]

BREAK: Final = 1
CONTINUE: Final = 2
RETURN: Final = 3


def compile_body(ctx: Context, stmts: tuple[Stmt, ...]) -> Compiled:
    """The closure of a body, in a scope of its own."""
    with ctx.scope():
        return join([compile_stmt(ctx, stmt) for stmt in stmts])


def compile_stmt(ctx: Context, stmt: Stmt) -> Compiled:
    """The closure of one statement, with the checks that the mode of the program asks for."""
    run, leaves = STATEMENTS[type(stmt)](ctx, stmt)
    if ctx.undef:
        run = _report_undef(stmt, run)
    if ctx.counted:
        run = _count_step(stmt, run)
    return run, leaves


def join(parts: list[Compiled]) -> Compiled:
    """Closures one after the other."""
    leaves = any(leaving for _, leaving in parts)
    runs = [run for run, _ in parts]
    if not runs:
        return (lambda f: None), False
    if len(runs) == 1:
        return runs[0], leaves
    if leaves:

        def run_until(f: list[Any]) -> Any:
            for run in runs:
                signal = run(f)
                if signal is not None:
                    return signal
            return None

        return run_until, True
    if len(runs) == 2:
        first, second = runs

        def run_two(f: list[Any]) -> None:
            first(f)
            second(f)

        return run_two, False

    def run_all(f: list[Any]) -> None:
        for run in runs:
            run(f)

    return run_all, False


_UNDEF_WORDS: dict[type, str] = {
    If: "the condition",
    While: "the condition",
    Assert: "the condition",
    For: "the range of the loop",
    Return: "the returned value",
}


def _report_undef(stmt: Stmt, run: Closure) -> Closure:
    what = _UNDEF_WORDS.get(type(stmt), "an index or a decision")

    def guarded(f: list[Any]) -> Any:
        try:
            return run(f)
        except UndefUsed:
            raise undefined_used(stmt, what) from None

    return guarded


def _count_step(stmt: Stmt, run: Closure) -> Closure:
    def counted(f: list[Any]) -> Any:
        f[0].step(stmt)
        return run(f)

    return counted


# -- loops and branches


def _for(ctx: Context, node: For) -> Compiled:
    start, stop = ctx.expr(node.start), ctx.expr(node.stop)
    step = None if node.step is None else ctx.expr(node.step)
    loops = ctx.loops
    with ctx.scope():
        slot = ctx.enter_loop(node.var)
        body, leaves = ctx.body(node.body)
    if ctx.counted and not node.body:
        body = _count_step(node, body)

    def values(f: list[Any]) -> range:
        if step is None:
            return range(start(f), stop(f))
        by = step(f)
        if by == 0:
            raise division_by_zero(node, f, loops, "the step of the loop is zero")
        return range(start(f), stop(f), by)

    if not leaves:

        def run(f: list[Any]) -> None:
            for f[slot] in values(f):  # noqa: B020 (an item of f, not f)
                body(f)

        return run, False

    def run_leaving(f: list[Any]) -> Any:
        for f[slot] in values(f):  # noqa: B020
            signal = body(f)
            if signal is not None:
                if signal == BREAK:
                    return None
                if signal == RETURN:
                    return signal
        return None

    return run_leaving, _has(node.body, Return)


def _has(stmts: tuple[Stmt, ...], cls: type) -> bool:
    return holds(stmts, cls)


def _launch(ctx: Context, node: LaunchThread) -> Compiled:
    """The threads one after the other."""
    loop = For(node.var, Const(0, node.var.dtype), node.extent, node.body, span=node.span)
    return _for(ctx, loop)


def _while(ctx: Context, node: While) -> Compiled:
    condition = ctx.expr(node.condition)
    body, leaves = ctx.body(node.body)
    if ctx.counted and not node.body:
        body = _count_step(node, body)

    if not leaves:

        def run(f: list[Any]) -> None:
            while condition(f):
                body(f)

        return run, False

    def run_leaving(f: list[Any]) -> Any:
        while condition(f):
            signal = body(f)
            if signal is not None:
                if signal == BREAK:
                    return None
                if signal == RETURN:
                    return signal
        return None

    return run_leaving, _has(node.body, Return)


def _if(ctx: Context, node: If) -> Compiled:
    condition = ctx.expr(node.condition)
    then, then_leaves = ctx.body(node.then)
    if not node.orelse:

        def run(f: list[Any]) -> Any:
            if condition(f):
                return then(f)
            return None

        return run, then_leaves
    orelse, else_leaves = ctx.body(node.orelse)
    return (lambda f: then(f) if condition(f) else orelse(f)), then_leaves or else_leaves


def _break(ctx: Context, node: Break) -> Compiled:
    return (lambda f: BREAK), True


def _continue(ctx: Context, node: Continue) -> Compiled:
    return (lambda f: CONTINUE), True


def _return(ctx: Context, node: Return) -> Compiled:
    if node.value is None:
        return (lambda f: RETURN), True
    value = ctx.expr(node.value)
    returns = ctx.func.returns
    if returns is not node.value.dtype:
        raise malformed(
            node, "T204", f"`{ctx.func.name}` returns {returns or 'nothing'}, but {node.value.dtype} is returned"
        )

    def run(f: list[Any]) -> int:
        f[1] = value(f)
        return RETURN

    return run, True


# -- definitions and stores


def _store(ctx: Context, node: BufferStore) -> Compiled:
    return compile_store(ctx, node), False


def _bind(ctx: Context, node: Bind) -> Compiled:
    value = ctx.expr(node.value)
    slot = ctx.define(node.var)

    def run(f: list[Any]) -> None:
        f[slot] = value(f)

    return run, False


def _scalar(ctx: Context, node: ScalarDecl) -> Compiled:
    buffer = node.buffer
    if buffer in ctx.registers:
        value: Closure = (lambda f: UNSET) if node.value is None else ctx.expr(node.value)
        slot = ctx.define(buffer)

        def run(f: list[Any]) -> None:
            f[slot] = value(f)

        return run, False
    # its address is taken: it lives in memory
    slot = ctx.define(buffer)
    store = None if node.value is None else compile_store(ctx, BufferStore(buffer, (), node.value, span=node.span))

    def make(f: list[Any]) -> None:
        f[slot] = View(
            Pointer(allocate(buffer.dtype, 1, buffer.name, node.span), 0, buffer.dtype), buffer.dtype, (), None
        )
        if store is not None:
            store(f)

    return make, False


def _alloc(ctx: Context, node: AllocBuffer) -> Compiled:
    return compile_alloc(ctx, node), False


def _constant(ctx: Context, node: AllocateConst) -> Compiled:
    return compile_constant(ctx, node), False


def _decl(ctx: Context, node: DeclBuffer) -> Compiled:
    return compile_decl(ctx, node), False


def _match(ctx: Context, node: MatchBuffer) -> Compiled:
    return compile_match(ctx, node), False


def _evaluate(ctx: Context, node: Evaluate) -> Compiled:
    value = ctx.expr(node.value)

    def run(f: list[Any]) -> None:
        value(f)

    return run, False


# -- conditions that must hold


def _assert(ctx: Context, node: Assert | StaticAssert | Assume) -> Compiled:
    condition = ctx.expr(node.condition)
    message = getattr(node, "message", "") or f"{_ASSERTS[type(node)]}: {condition_words(node.condition)}"
    describe = _describe(ctx, node.condition)
    loops = ctx.loops
    assumed = type(node) is Assume

    def run(f: list[Any]) -> None:
        holds = condition(f)
        if holds is UNDEF and assumed:
            return
        if not holds:
            raise failed_assertion(node, message, describe(f), f, loops)

    return run, False


_ASSERTS: dict[type, str] = {
    Assert: "the condition does not hold",
    StaticAssert: "the condition does not hold",
    Assume: "the assumption does not hold",
}


def _describe(ctx: Context, condition: Expr) -> Callable[[list[Any]], list[str]]:
    """The values of what a condition is made of: `n = 5`, `A[3] = 0`."""
    parts: list[tuple[Any, Any, Closure]] = []
    inner = set(definitions(condition))  # what a `T.let` in the condition binds has no value outside of it
    for node in walk(condition):
        if inner and any(part in inner for part in walk(node)):
            continue
        if type(node) is Var and ctx.knows(node) and not node.dtype.is_handle:
            parts.append((node, None, ctx.expr(node)))
        elif type(node) is BufferLoad:
            parts.append((node, [ctx.expr(index) for index in node.indices], ctx.expr(node)))

    def describe(f: list[Any]) -> list[str]:
        words = []
        for node, indices, value in parts:
            try:
                name = node.name if indices is None else element(node.buffer, [index(f) for index in indices])
                words.append(f"{name} = {show(value(f))}")
            except (DiagnosticError, UndefUsed):  # a part that the condition had not come to
                continue
        return words

    return describe


# -- blocks and attributes


def _attr(ctx: Context, node: Attr) -> Compiled:
    return ctx.body(node.body)


def _block(ctx: Context, node: Block) -> Compiled:
    with ctx.scope():
        values = [(ctx.expr(axis.value), ctx.expr(axis.start), ctx.expr(axis.stop)) for axis in node.axes]
        slots = [ctx.enter_loop(axis.var) for axis in node.axes]
        predicate = None if node.predicate is None else ctx.expr(node.predicate)
        init = None if node.init is None else ctx.body(node.init)[0]
        body, leaves = ctx.body(node.body)
        loops = ctx.loops
    if not node.axes and predicate is None and init is None:
        return body, leaves
    bindings = tuple(zip(slots, [value for value, _, _ in values], strict=True))
    every = [(slot, start, stop, axis) for slot, axis, (_, start, stop) in zip(slots, node.axes, values)]
    reduced = [(slot, start) for slot, start, _, axis in every if axis.kind == "reduce"]
    fixed = [(slot, *_constant_domain(axis)) for slot, _, _, axis in every if _constant_domain(axis)]
    open_ended = [(slot, start, stop) for slot, start, stop, axis in every if not _constant_domain(axis)]

    def outside(f: list[Any]) -> Exception:
        for slot, axis, (_, start, stop) in zip(slots, node.axes, values, strict=True):
            low, high = start(f), stop(f)
            if not low <= f[slot] < high:
                domain = f"{low} to {high - 1}"
                what = f"axis `{axis.var.name}` of block `{node.name}` is {show(f[slot])}, which is not within {domain}"
                return DiagnosticError([error("T302", what, axis.span or node.span, notes=loop_values(f, loops))])
        raise AssertionError("the axes are within their domains")

    def run(f: list[Any]) -> Any:
        for slot, value in bindings:
            f[slot] = value(f)
        if predicate is not None and not predicate(f):
            return None
        for slot, low, high in fixed:
            if not low <= f[slot] < high:
                raise outside(f)
        for slot, start, stop in open_ended:
            if not start(f) <= f[slot] < stop(f):
                raise outside(f)
        if init is not None:
            for slot, start in reduced:
                if f[slot] != start(f):
                    break
            else:
                init(f)
        return body(f)

    return run, leaves


def _constant_domain(axis: Axis) -> tuple[int, int] | tuple[()]:
    if type(axis.start) is Const and type(axis.stop) is Const:
        return int(axis.start.value), int(axis.stop.value)
    return ()


STATEMENTS: dict[type[Stmt], Rule] = {
    For: _for,
    While: _while,
    If: _if,
    Break: _break,
    Continue: _continue,
    Return: _return,
    BufferStore: _store,
    Bind: _bind,
    ScalarDecl: _scalar,
    AllocBuffer: _alloc,
    AllocateConst: _constant,
    DeclBuffer: _decl,
    MatchBuffer: _match,
    Evaluate: _evaluate,
    Assert: _assert,
    StaticAssert: _assert,
    Assume: _assert,
    Attr: _attr,
    Block: _block,
    LaunchThread: _launch,
}
