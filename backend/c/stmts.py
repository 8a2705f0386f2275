"""The rule of every class of statement. A rule tells whether nothing runs behind its statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Bind,
    Block,
    Break,
    BufferLoad,
    BufferStore,
    Call,
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
    While,
    error,
    walk,
)

from ..llvm.state import internal
from ..llvm.stmt import THREADS, checked_assumption, constant_values, enter_range, prove, unrolling
from ..runtime.arguments import condition_words
from . import memory
from .code import EQUAL, Code, cast, within
from .types import c_type, declared, number
from .writer import bind, is_opaque

if TYPE_CHECKING:
    from .writer import Writer


def _for(w: Writer, stmt: For) -> bool:
    if stmt.kind == "thread_binding":
        message = f"a loop bound to {stmt.thread or 'a thread'} is not supported by the target, a CPU"
        hint = "use T.serial or T.parallel, or a target that has such threads"
        raise DiagnosticError([error("T402", message, stmt.span, hint=hint)])
    step = 1 if stmt.step is None else int(stmt.step.value) if type(stmt.step) is Const else None
    if step == 0:
        raise DiagnosticError([error("T304", "the step of the loop is zero", stmt.span)])
    values = constant_values(stmt, step)
    if values is not None and not values:
        return False
    start, stop = _fixed(w, stmt.start, "start"), _fixed(w, stmt.stop, "stop")
    stride = "" if step is not None else _fixed(w, stmt.step, "step") if stmt.step is not None else ""
    enter_range(w, stmt, step, values)
    if step == 1:
        _counted(w, stmt, start, stop)
    elif step is not None and stmt.var.dtype.bits < 64:
        _stepped(w, stmt, start, stop, step)
    else:
        _general(w, stmt, start, stop, str(step) if step is not None else stride)
    return False


def _fixed(w: Writer, expr: Expr | None, hint: str) -> str:
    """A bound, which is evaluated before the loop and stays as it is."""
    assert expr is not None
    if type(expr) is Const:
        return number(int(expr.value), expr.dtype)
    text = w.value(expr)
    if any(type(node) is BufferLoad or (type(node) is Call and node.op.effect != "pure") for node in walk(expr)):
        return w.keep(text, expr.dtype, hint)
    return text


def _counted(w: Writer, stmt: For, start: str, stop: str) -> None:
    w.scopes.append(set())
    name = w.values[stmt.var] = w.name(stmt.var.name)
    _unrolled(w, stmt)
    w.out.open(f"for ({declared(stmt.var.dtype, name)} = {start}; {name} < {within(stop, EQUAL)}; ++{name})")
    _loop_body(w, stmt)
    w.out.close()
    w.scopes.pop()


def _stepped(w: Writer, stmt: For, start: str, stop: str, step: int) -> None:
    """Counted in 64 bits, in which the variable cannot overflow."""
    w.scopes.append(set())
    at = w.name(f"{stmt.var.name}_at")
    sign, move = ("<", f"{at} += {step}") if step > 0 else (">", f"{at} -= {-step}")
    _unrolled(w, stmt)
    w.out.open(f"for (int64_t {at} = {start}; {at} {sign} {within(stop, EQUAL)}; {move})")
    w.values[stmt.var] = w.keep(cast(c_type(stmt.var.dtype), at), stmt.var.dtype, stmt.var.name)
    _loop_body(w, stmt)
    w.out.close()
    w.scopes.pop()


def _general(w: Writer, stmt: For, start: str, stop: str, step: str) -> None:
    """A loop that counts its iterations: for steps that are not constant, and variables that could overflow."""
    signed = stmt.var.dtype.kind == "int"
    kind = "int64_t" if signed else "uint64_t"
    w.open("")
    first, last, stride = (w.name(word) for word in ("first", "last", "stride"))
    w.out.add(f"const {kind} {first} = {start}, {last} = {stop}, {stride} = {step};")
    if not step.lstrip("-").isdigit():
        w.check(Code(f"{stride} != 0", 9), "step", "the step of the loop is zero")
    up = f"{stride} > 0" if signed else "true"
    count, at = w.name("count"), w.name("turn")
    w.out.add(
        f"const uint64_t {count} = {up}\n"
        f"  ? {first} < {last} ? ((uint64_t){last} - (uint64_t){first} - 1) / (uint64_t){stride} + 1 : 0\n"
        f"  : {first} > {last} ? ((uint64_t){first} - (uint64_t){last} - 1) / (0 - (uint64_t){stride}) + 1 : 0;"
    )
    _unrolled(w, stmt)
    w.open(f"for (uint64_t {at} = 0; {at} < {count}; ++{at})")
    moved = f"(uint64_t){first} + {at} * (uint64_t){stride}"
    w.values[stmt.var] = w.keep(f"({c_type(stmt.var.dtype)})({moved})", stmt.var.dtype, stmt.var.name)
    _loop_body(w, stmt)
    w.close()
    w.close()


def _unrolled(w: Writer, stmt: For) -> None:
    """Ask for iterations behind each other, which GCC does to no loop of its own accord; Clang reads it, too."""
    asked = unrolling(stmt)
    if asked == "disable" or isinstance(asked, int):
        w.out.add(f"#pragma GCC unroll {1 if asked == 'disable' else asked}")


def _loop_body(w: Writer, stmt: For | While) -> None:
    variables = [stmt.var] if type(stmt) is For else []
    w.loops.append(len(w.heap))
    w.loop_vars += variables
    w.body(stmt.body)
    del w.loop_vars[len(w.loop_vars) - len(variables) :]
    w.loops.pop()


def _while(w: Writer, stmt: While) -> bool:
    condition = w.lazily(stmt.condition)
    if isinstance(condition, str):
        w.open(f"while ({condition})")
    else:  # it takes statements, which run before each iteration
        w.open("for (;;)")
        w.out.open(f"if (!{within(w.value(stmt.condition), 14)})")
        w.out.add("break;")
        w.out.close()
    _loop_body(w, stmt)
    w.close()
    return False


def _break(w: Writer, stmt: Break) -> bool:
    return _jump(w, stmt, "break")


def _continue(w: Writer, stmt: Continue) -> bool:
    return _jump(w, stmt, "continue")


def _jump(w: Writer, stmt: Stmt, word: str) -> bool:
    if not w.loops:
        raise internal(f"`{word}` outside of a loop", stmt.span)
    w.release(w.loops[-1])
    w.out.add(f"{word};")
    return True


def _if(w: Writer, stmt: If) -> bool:
    known = w.ranges.proves(stmt.condition)
    if known is not None:
        w.open("")
        w.body(stmt.then if known else stmt.orelse)
        w.close()
        return False
    w.open(f"if ({w.value(stmt.condition)})")
    w.body(stmt.then)
    rest = stmt.orelse
    while len(rest) == 1 and type(rest[0]) is If and w.ranges.proves(rest[0].condition) is None:
        condition = w.lazily(rest[0].condition)
        if not isinstance(condition, str):
            break
        w.close(f" else if ({condition}) {{")
        w.body(rest[0].then)
        rest = rest[0].orelse
    if rest:
        w.close(" else {")
        w.body(rest)
    w.close()
    return False


def _return(w: Writer, stmt: Return) -> bool:
    if stmt.value is not None:
        w.out.add(f"*{w.module.result} = {w.value(stmt.value)};")
    w.leave("0")
    return True


def _assert(w: Writer, stmt: Assert) -> bool:
    if w.ranges.proves(stmt.condition) is True:
        return False
    message = stmt.message or f"the condition does not hold: {condition_words(stmt.condition)}"
    w.check(w.value(stmt.condition), "assert", message, lambda: w.mentioned(stmt.condition))
    return False


def _static_assert(w: Writer, stmt: StaticAssert) -> bool:
    prove(w, stmt)
    return False


def _assume(w: Writer, stmt: Assume) -> bool:
    check = checked_assumption(stmt) if w.debug else None
    return check is not None and _assert(w, check)


def _evaluate(w: Writer, stmt: Evaluate) -> bool:
    w.careful = any(is_opaque(arg) for arg in getattr(stmt.value, "args", ()) if isinstance(arg, Expr))
    text = w.value(stmt.value)
    w.careful = False
    if text and not text.isidentifier() and not text.lstrip("-").isdigit():
        w.out.add(f"{text};" if stmt.value.dtype.kind == "void" else f"(void){within(text, 14)};")
    return False


def _attr(w: Writer, stmt: Attr) -> bool:
    if stmt.key in THREADS:
        raise _no_threads(stmt)
    w.open("")
    w.body(stmt.body)
    w.close()
    return False


def _launch(w: Writer, stmt: LaunchThread) -> bool:
    raise _no_threads(stmt)


def _no_threads(stmt: Stmt) -> DiagnosticError:
    message = "launching threads is not supported by the target, C for a CPU"
    return DiagnosticError([error("T402", message, stmt.span, hint="use T.serial or T.parallel")])


def _bind(w: Writer, stmt: Bind) -> bool:
    w.careful = is_opaque(stmt.value)
    bind(w, stmt.var, stmt.value)
    w.careful = False
    return False


def _block(w: Writer, stmt: Block) -> bool:
    message = f"block `{stmt.name}` must be lowered before code generation"
    hint = "run the lowering passes, or build with the default pipeline"
    raise DiagnosticError([error("T401", message, stmt.span, hint=hint)])


def _plain(rule: Callable[..., Any]) -> Callable[..., Any]:
    def run(w: Writer, stmt: Any) -> bool:
        rule(w, stmt)
        return False

    return run


STMTS: dict[type, Callable[..., Any]] = {
    For: _for,
    While: _while,
    If: _if,
    Break: _break,
    Continue: _continue,
    Return: _return,
    BufferStore: _plain(memory.store),
    Bind: _bind,
    ScalarDecl: _plain(memory.scalar),
    AllocBuffer: _plain(memory.allocate),
    AllocateConst: _plain(memory.constant),
    DeclBuffer: _plain(memory.declare),
    MatchBuffer: _plain(memory.match),
    Evaluate: _evaluate,
    Assert: _assert,
    StaticAssert: _static_assert,
    Assume: _assume,
    Attr: _attr,
    Block: _block,
    LaunchThread: _launch,
}
