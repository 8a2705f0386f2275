"""The rule of every class of statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from tirscript.backend.runtime.arguments import condition_words
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import Call, Const, Var
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Bind,
    Block,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)

from . import constants, divisions, memory, parallel, quotients, temporaries
from .expr import bind
from .lookups import one_by_one
from .moves import in_a_loop
from .ranges import Ranges
from .state import Targets, internal
from .types import lane_bytes, memory_type, value_type

if TYPE_CHECKING:
    from .codegen import Codegen


class HasRanges(Protocol):
    """A code generator that knows bounds of integers."""

    ranges: Ranges


# a T.unroll loop is written out when all its copies together have at most this many nodes
UNROLLED_NODES = 6000
THREADS = ("thread_extent", "virtual_thread")
NONTEMPORAL = "pragma_nontemporal"  # the annotation of a loop or block whose stores go past the caches
# annotations of a loop whose iterations are to be written behind each other, as often as they say, or are not to be
UNROLL, NO_UNROLL = "pragma_unroll", "disable_unroll"
MOST_UNROLLED = 1024
# so many where the length of a loop is not known: LLVM may find no number, and warns then on the user's terminal
UNKNOWN_UNROLLED = 4


# loops


def _for(g: Codegen, stmt: For) -> None:
    before = g.nontemporal
    if stmt.annotations and NONTEMPORAL in stmt.annotations:
        g.nontemporal = _switched(stmt, NONTEMPORAL, stmt.annotations[NONTEMPORAL])
    quotients.loop(g, stmt, lambda: _loop(g, stmt))
    g.nontemporal = before
    temporaries.free_kept(g)


def _switched(stmt: Stmt, key: str, value: Any) -> bool:
    """What an annotation that is on or off says."""
    value = value.value if type(value) is Const else value
    if value not in (0, 1):
        message = f"the annotation {key!r} is {value!r}"
        raise DiagnosticError([error("T404", message, stmt.span, hint="write True or False")])
    return bool(value)


def _loop(g: Codegen, stmt: For) -> None:
    if stmt.kind == "thread_binding":
        raise DiagnosticError(
            [
                error(
                    "T402",
                    f"a loop bound to {stmt.thread or 'a thread'} is not supported by the target, a CPU",
                    stmt.span,
                    hint="use T.serial or T.parallel, or a target that has such threads",
                )
            ]
        )
    step = 1 if stmt.step is None else int(stmt.step.value) if type(stmt.step) is Const else None
    if step == 0:
        raise DiagnosticError([error("T304", "the step of the loop is zero", stmt.span)])
    values = constant_values(stmt, step)
    if values is not None and not values:
        return
    if stmt.kind == "unroll" and values is not None and _fits(g, stmt, len(values)):
        _unrolled(g, stmt, values)
        return
    enter_range(g, stmt, step, values)
    if stmt.kind == "parallel" and parallel.loop(g, stmt, step, None if values is None else len(values)):
        return
    bits, signed = stmt.var.dtype.bits, stmt.var.dtype.kind == "int"
    with divisions.ahead(g, stmt):
        if step is not None and (bits < 64 or (signed and step == 1)):
            _counted(g, stmt, step, values is not None)
        else:
            _general(g, stmt)


def constant_values(stmt: For, step: int | None) -> range | None:
    """The values of a loop's variable, where they are known."""
    if type(stmt.start) is Const and type(stmt.stop) is Const and step is not None:
        return range(int(stmt.start.value), int(stmt.stop.value), step)
    return None


def _fits(g: Codegen, stmt: For, count: int) -> bool:
    limit = UNROLLED_NODES // max(1, count * g.copies)
    for _ in walk(stmt.body):
        limit -= 1
        if limit < 0:
            return False
    return True


def _unrolled(g: Codegen, stmt: For, values: range) -> None:
    """The body once for every value."""
    b = g.b
    end = b.block("unrolled")
    g.copies *= len(values)
    for value in values:
        after = b.block("next")
        g.ranges.forget()
        g.ranges.enter(stmt.var, (value, value))
        g.values[stmt.var] = g.wides[stmt.var] = str(value)
        _loop_body(g, stmt, end, after)
        b.start(after)
    g.ranges.forget()
    g.copies //= len(values)
    b.start(end)


def enter_range(g: HasRanges, stmt: For, step: int | None, values: range | None) -> None:
    """Tell what the loop variable can be."""
    if values is not None:
        found = (min(values[0], values[-1]), max(values[0], values[-1]))
    else:
        start, stop = g.ranges.of(stmt.start), g.ranges.of(stmt.stop)
        upward = (start[0], max(start[0], stop[1] - 1))
        downward = (min(start[1], stop[0] + 1), start[1])
        if step is None:
            found = (min(upward[0], downward[0]), max(upward[1], downward[1]))
        else:
            found = upward if step > 0 else downward
    low, high = stmt.var.dtype.int_range()
    g.ranges.enter(stmt.var, (max(low, found[0]), min(high, found[1])))
    if step is not None and step > 0:
        g.ranges.stops[stmt.var] = stmt.stop


def _counted(g: Codegen, stmt: For, step: int, certain: bool) -> None:
    """A loop whose variable is counted in 64 bits, in which it cannot overflow."""
    b = g.b
    start, stop = g.wide(stmt.start), g.wide(stmt.stop)
    before = "slt" if step > 0 else "sgt"
    loop, after, end = b.block("loop"), b.block("next"), b.block("done")
    if certain:
        b.jump(loop)
    else:
        # LLVM keeps the condition of entry in mind through this form
        b.branch(b.op(f"icmp {before} i64 {start}, {stop}"), loop, end)
    entered = b.label
    b.start(loop)
    counter, following = b.name(stmt.var.name), b.name(f"{stmt.var.name}_next")
    b.lines.append(f"  {counter} = phi i64 [{start}, %{entered}], [{following}, %{after}]")
    _name_counter(g, stmt.var, counter)
    _loop_body(g, stmt, end, after)
    b.start(after)
    unsigned = "nuw " if g.ranges.of(stmt.start)[0] >= 0 and step > 0 else ""
    b.lines.append(f"  {following} = add {unsigned}nsw i64 {counter}, {step}")
    again = b.op(f"icmp {before} i64 {following}, {stop}")
    b.end(f"br i1 {again}, label %{loop}, label %{end}, !llvm.loop {_loop_node(g, stmt)}")
    b.start(end)


def _name_counter(g: Codegen, var: Var, counter: str) -> None:
    g.wides[var] = counter
    g.values[var] = counter if var.dtype.bits == 64 else g.b.op(f"trunc i64 {counter} to {value_type(var.dtype)}")


def _general(g: Codegen, stmt: For) -> None:
    """A loop that counts its iterations: for steps that are not constant, and variables that could overflow."""
    b = g.b
    start, stop = g.wide(stmt.start), g.wide(stmt.stop)
    step = "1" if stmt.step is None else g.wide(stmt.step)
    signed = stmt.var.dtype.kind == "int"
    letter = "s" if signed else "u"
    if stmt.step is not None and type(stmt.step) is not Const:
        nonzero = b.op(f"icmp ne i64 {step}, 0")
        g.check(nonzero, "step", "the step of the loop is zero")
    up = b.op(f"icmp sgt i64 {step}, 0") if signed else "true"
    upward, downward = b.op(f"icmp {letter}lt i64 {start}, {stop}"), b.op(f"icmp {letter}gt i64 {start}, {stop}")
    some = b.select(up, "i1", upward, downward)
    rise, fall = b.op(f"sub i64 {stop}, {start}"), b.op(f"sub i64 {start}, {stop}")
    distance = b.select(up, "i64", rise, fall)
    stride = b.select(up, "i64", step, b.op(f"sub i64 0, {step}"))
    loop, after, end, enter = b.block("loop"), b.block("next"), b.block("done"), b.block("enter")
    b.branch(some, enter, end)
    b.start(enter)
    last = b.op(f"udiv i64 {b.op(f'add i64 {distance}, -1')}, {stride}")
    entered = b.label
    b.start(loop)
    count, following = b.name("count"), b.name("count_next")
    b.lines.append(f"  {count} = phi i64 [0, %{entered}], [{following}, %{after}]")
    _name_counter(g, stmt.var, b.op(f"add i64 {start}, {b.op(f'mul i64 {count}, {step}')}", "at"))
    _loop_body(g, stmt, end, after)
    b.start(after)
    b.lines.append(f"  {following} = add nuw i64 {count}, 1")
    again = b.op(f"icmp ult i64 {count}, {last}")
    b.end(f"br i1 {again}, label %{loop}, label %{end}, !llvm.loop {_loop_node(g, stmt)}")
    b.start(end)


def _loop_body(g: Codegen, stmt: For | While, end: str, after: str) -> None:
    g.loops.append(Targets(end, after, len(g.scopes)))
    g.deepest = max(g.deepest, len(g.loops))
    variables = [stmt.var] if isinstance(stmt, For) else []
    g.loop_vars += variables
    g.body(stmt.body)
    del g.loop_vars[len(g.loop_vars) - len(variables) :]
    g.loops.pop()


def unrolling(loop: For) -> int | str | None:
    """What compilers are asked for: so many iterations behind each other, "enable", "disable" or nothing."""
    asked = loop.annotations.get(UNROLL) if loop.annotations else None
    asked = asked.value if type(asked) is Const else asked
    if loop.annotations and NO_UNROLL in loop.annotations and _switched(loop, NO_UNROLL, loop.annotations[NO_UNROLL]):
        return "disable"
    if asked is None or asked == 0:
        return "enable" if loop.kind == "unroll" else None  # one that is too long to be written out
    if not isinstance(asked, int) or not 0 < asked <= MOST_UNROLLED:
        message = f"the annotation {UNROLL!r} is {asked!r}"
        hint = f"write True, or how many iterations behind each other, from 1 to {MOST_UNROLLED}"
        raise DiagnosticError([error("T404", message, loop.span, hint=hint)])
    return "enable" if asked is True else asked


def _loop_node(g: Codegen, stmt: For) -> str:
    """Metadata of a loop: it ends, is another loop than all others, and how it is to be unrolled."""
    text = g.b.module
    hints = [text.once('!{!"llvm.loop.mustprogress"}')]
    hints += divisions.without_vectors(g, stmt) or one_by_one(text, stmt)
    asked = unrolling(stmt)
    if asked == "enable" and not (type(stmt.start) is type(stmt.stop) is Const):
        asked = UNKNOWN_UNROLLED
    if isinstance(asked, int):
        hints.append(text.once(f'!{{!"llvm.loop.unroll.count", i32 {asked}}}'))
    elif asked is not None:
        hints.append(text.once(f'!{{!"llvm.loop.unroll.{asked}"}}'))
    else:
        hints += in_a_loop(text, stmt)
    return text.node(f"distinct !{{!{len(text.metadata)}, {', '.join(hints)}}}")


def _while(g: Codegen, stmt: While) -> None:
    b = g.b
    head, inside, end = b.block("while"), b.block("body"), b.block("done")
    with divisions.ahead(g, stmt):
        b.start(head)
        condition = g.value(stmt.condition)
        b.branch(condition, inside, end)
        b.start(inside)
        _loop_body(g, stmt, end, head)
        if not b.terminated:
            b.jump(head)
        b.start(end)
    temporaries.free_kept(g)


def _break(g: Codegen, stmt: Break) -> None:
    _jump(g, stmt, "on_break", "break")


def _continue(g: Codegen, stmt: Continue) -> None:
    _jump(g, stmt, "on_continue", "continue")


def _jump(g: Codegen, stmt: Stmt, where: str, word: str) -> None:
    if not g.loops:
        raise internal(f"`{word}` outside of a loop", stmt.span)
    targets = g.loops[-1]
    g.release(targets.depth)
    g.b.jump(getattr(targets, where))


def _if(g: Codegen, stmt: If) -> None:
    b = g.b
    known = g.ranges.proves(stmt.condition)
    if known is not None:
        g.body(stmt.then if known else stmt.orelse)
        return
    then, end = b.block("then"), b.block("end")
    other = b.block("else") if stmt.orelse else end
    b.branch(g.value(stmt.condition), then, other)
    b.start(then)
    g.body(stmt.then)
    if stmt.orelse:
        if not b.terminated:
            b.jump(end)
        b.start(other)
        g.body(stmt.orelse)
    b.start(end)


def _return(g: Codegen, stmt: Return) -> None:
    if stmt.value is not None:
        if g.func.returns is None:
            raise internal("a value is returned from a function without a returned dtype", stmt.span)
        value = memory.in_memory(g, g.value(stmt.value), stmt.value.dtype)
        g.b.do(f"store {memory_type(g.func.returns)} {value}, ptr %out, align {lane_bytes(g.func.returns)}")
    g.leave("0")


# checks


def _assert(g: Codegen, stmt: Assert) -> None:
    if g.ranges.proves(stmt.condition):
        return
    message = stmt.message or f"the condition does not hold: {condition_words(stmt.condition)}"
    g.check(g.value(stmt.condition), "assert", message, lambda: g.mentioned(stmt.condition))


def checked_assumption(stmt: Assume) -> Assert | None:
    """In a debug build: the check that an assumption holds, on which what follows relies, checks of indices too."""
    if any(type(node) is Call and node.op is OPS["undef"] for node in walk(stmt.condition)):
        return None  # any value holds what is said of it
    return Assert(stmt.condition, f"the assumption does not hold: {condition_words(stmt.condition)}", span=stmt.span)


def prove(g: HasRanges, stmt: StaticAssert) -> None:
    """Raise T403 unless the assertion is proved."""
    known = g.ranges.proves(stmt.condition)
    if known:
        return
    message = "a static_assert is false" if known is False else "a static_assert could not be proved"
    if stmt.message:
        message += f": {stmt.message}"
    notes = []
    for node in walk(stmt.condition):
        if type(node) is Var and node.dtype.is_int:
            low, high = g.ranges.of(node)
            note = f"`{node.name}` is known to be between {low} and {high}"
            if note not in notes:
                notes.append(note)
    raise DiagnosticError(
        [
            error(
                "T403",
                message,
                stmt.span,
                notes=notes,
                hint=None if known is False else "use `assert` to check it at run time",
            )
        ]
    )


def _assume(g: Codegen, stmt: Assume) -> None:
    check = checked_assumption(stmt) if g.debug else None
    if check is not None:
        _assert(g, check)
    elif g.ranges.proves(stmt.condition) is None and g.is_cheap(stmt.condition):
        g.b.module.declare("llvm.assume", "void", ["i1"])
        g.b.do(f"call void @llvm.assume(i1 {g.value(stmt.condition)})")


# the rest


def _evaluate(g: Codegen, stmt: Evaluate) -> None:
    g.value(stmt.value)


def _attr(g: Codegen, stmt: Attr) -> None:
    if stmt.key in THREADS:
        raise _no_threads(stmt)
    before = g.nontemporal
    if stmt.key == NONTEMPORAL:
        g.nontemporal = _switched(stmt, NONTEMPORAL, stmt.value)
    g.body(stmt.body)
    g.nontemporal = before


def _launch(g: Codegen, stmt: LaunchThread) -> None:
    raise _no_threads(stmt)


def _no_threads(stmt: Stmt) -> DiagnosticError:
    message = "launching threads is not supported by the target, which is this machine's CPU"
    return DiagnosticError([error("T402", message, stmt.span, hint="use T.serial or T.parallel")])


def _bind(g: Codegen, stmt: Bind) -> None:
    bind(g, stmt.var, stmt.value)


def _block(g: Codegen, stmt: Block) -> None:
    raise DiagnosticError(
        [
            error(
                "T401",
                f"block `{stmt.name}` must be lowered before code generation",
                stmt.span,
                hint="run the lowering passes, or build with the default pipeline",
            )
        ]
    )


STMTS: dict[type, Callable[[Codegen, Any], None]] = {
    For: _for,
    While: _while,
    If: _if,
    Break: _break,
    Continue: _continue,
    Return: _return,
    BufferStore: memory.store,
    Bind: _bind,
    ScalarDecl: memory.scalar,
    AllocBuffer: memory.allocate,
    AllocateConst: constants.define,
    DeclBuffer: memory.declare,
    MatchBuffer: memory.match,
    Evaluate: _evaluate,
    Assert: _assert,
    StaticAssert: prove,
    Assume: _assume,
    Attr: _attr,
    Block: _block,
    LaunchThread: _launch,
}
