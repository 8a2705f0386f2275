"""Statements as text. A rule appends logical lines to the printer's output; long ones are laid out at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, DType
from tirscript.ir.expr import BufferData, BufferRegion, Call, CallFunction, Const, Expr, StringImm, Var, is_const
from tirscript.ir.graph import GraphConst
from tirscript.ir.node import Node
from tirscript.ir.rewrite import walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import (
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Bind,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    If,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    Stmt,
    While,
)
from tirscript.ir.words import parenthesized

from .expr import binder, condition, group, index_list, place, region, top
from .layout import text_width
from .literals import dtype_annotation, dtype_name, explicit, plain, quote

if TYPE_CHECKING:
    from .core import Printer

StmtRule = Callable[["Printer", Any, str], None]
TAB = "    "
MOST_LOOPS = 1000  # of one nest, behind which it is made sure that the nest has an end


# --- bodies and trivia ------------------------------------------------------------------------------------------------


def body(p: Printer, stmts: tuple[Stmt, ...], indent: str, headed: bool = False) -> None:
    """The statements of a body. Blank lines do not stand first in one, unless it is `headed` by other lines."""
    if not stmts:
        p.out.append(f"{indent}pass")
        return
    if len(p.out) > p.longest:
        p.measure()
    rules = p.stmts
    first = not headed
    for stmt in stmts:
        if stmt.trivia is not None:
            _with_trivia(p, stmt, stmt.trivia, indent, first)
        else:
            rules[type(stmt)](p, stmt, indent)
        first = False


def scope(p: Printer, stmts: tuple[Stmt, ...], indent: str) -> None:
    """A body whose names end with it."""
    mark = len(p.names.stack)
    body(p, stmts, indent)
    p.names.release(mark)


def _with_trivia(p: Printer, stmt: Stmt, trivia: Trivia, indent: str, first: bool) -> None:
    out = p.out
    comments(out, trivia.before, indent, blank=not first, keep_last=True)
    start = len(out)
    p.stmts[type(stmt)](p, stmt, indent)
    if trivia.beside:
        # the symbols of a match_buffer are declared above it, and its comments stand above them
        beside(p, len(out) - 1 if type(stmt) is MatchBuffer else start, trivia.beside, indent, start)
    if trivia.after:
        comments(out, trivia.after, indent, blank=True, keep_last=False)


def _said(trivia: Trivia | None) -> bool:
    """Whether anything is printed of the trivia of the only statement of a body: blank lines are not."""
    return trivia is not None and any(map(str.strip, (*trivia.before, trivia.beside, *trivia.after)))


def beside(p: Printer, start: int, text: str, indent: str, above: int | None = None) -> None:
    """The comment behind the line that was put at `start`; above `above` (that line) where both are too long."""
    out = p.out
    comment = comment_line(text)
    line = f"{out[start]}  {comment}"
    if text_width(line) > p.width:
        out.insert(start if above is None else above, indent + comment)
    else:
        out[start] = line


def comments(out: list[str], lines: Iterable[str], indent: str, blank: bool, keep_last: bool) -> None:
    """Comment and blank lines, at most one blank line in a row; `blank` says whether one may come first."""
    made: list[str] = []
    for text in lines:
        for line in text.split("\n"):
            if line.strip():
                made.append(indent + comment_line(line))
            elif made[-1] if made else blank:
                made.append("")
    if not keep_last and made and not made[-1]:
        made.pop()
    out += made


def head(p: Printer, text: str, indent: str, trivia: Trivia | None, begun: int) -> None:
    """A line that is no statement, in a body that began at the line `begun`, with its comments."""
    out = p.out
    if trivia is not None:
        comments(out, trivia.before, indent, blank=len(out) > begun, keep_last=True)
    out.append(text)
    if trivia is not None:
        if trivia.beside:
            beside(p, len(out) - 1, trivia.beside, indent)
        comments(out, trivia.after, indent, blank=True, keep_last=False)


def comment_line(text: str) -> str:
    """A comment as ruff writes it: with a blank behind the #."""
    text = " ".join(text.split("\n")).strip()
    content = text.removeprefix("#")
    return f"#{content}" if content[:1] in ("", " ", "!", ":", "#", "'") else f"# {content}"


# --- loops and branches -----------------------------------------------------------------------------------------------


def _plain_loop(node: For) -> bool:
    """A serial loop from 0, such as T.grid makes."""
    start = node.start
    return (
        node.kind == "serial"
        and node.step is None
        and type(start) is Const
        and start.value == 0
        and start.dtype is node.var.dtype
        and start.dtype is node.stop.dtype
        and not node.annotations
        and node.thread is None
    )


def for_loop(p: Printer, node: For, indent: str) -> None:
    """`for i in range(n):`, `for i, j in T.grid(n, m):`, `for i in T.parallel(n):`."""
    names = p.names
    mark = len(names.stack)
    inner: tuple[Stmt, ...] = node.body
    if _plain_loop(node):
        nest = [node]
        while len(inner) == 1:
            below = inner[0]
            if type(below) is not For or _said(below.trivia) or not _plain_loop(below):
                break
            if below.var.dtype is not node.var.dtype or not _independent(below.stop, nest):
                break
            nest.append(below)
            if len(nest) == MOST_LOOPS:
                p.measure()
            inner = below.body
        get, exprs = p.get, p.exprs
        stops = ", ".join([get(id(one.stop)) or exprs[type(one.stop)](p, one.stop, 0) for one in nest])
        variables = []
        for one in nest:
            var = one.var
            variables.append(names.define(var, var.name))
            p.loops[id(var)] = one
        word = "range" if len(nest) == 1 else "T.grid"
        p.out.append(f"{indent}for {', '.join(variables)} in {word}({stops}):")
    else:
        call = loop_call(p, node)
        name = names.define(node.var, node.var.name)
        p.loops[id(node.var)] = node
        p.out.append(f"{indent}for {name} in {call}:")
    body(p, inner, indent + TAB)
    names.release(mark)


def _independent(stop: Expr, nest: list[For]) -> bool:
    if type(stop) is Const:
        return True
    outer = {id(one.var) for one in nest}
    return not any(id(node) in outer for node in walk(stop))


def loop_call(p: Printer, node: For) -> str:
    """What a loop that is not plain runs over."""
    start, stop, step = node.start, node.stop, node.step
    from_zero = is_const(start, 0) and start.dtype is stop.dtype
    bounds = [top(p, stop)] if from_zero and step is None else joint(p, start, stop, *(() if step is None else (step,)))
    if node.kind == "serial" and not node.annotations:
        return f"range({', '.join(bounds)})"
    if step is not None:
        bounds[-1] = f"step={bounds[-1]}"
    if node.thread is not None:
        bounds.append(f"thread={quote(node.thread)}")
    if node.annotations:
        bounds.append(f"annotations={value(p, node.annotations)}")
    return f"T.{node.kind}({', '.join(bounds)})"


def joint(p: Printer, *args: Expr) -> list[str]:
    """Values that the reader brings to one dtype; int32 constants alone need not say it."""
    if all(type(arg) is Const and arg.dtype is INT32 for arg in args):
        return [top(p, arg) for arg in args]
    return group(p, args)


def _while(p: Printer, node: While, indent: str) -> None:
    test = node.condition
    text = "True" if type(test) is Const and test.value is True else condition(p, test)
    p.out.append(f"{indent}while {text}:")
    scope(p, node.body, indent + TAB)


def branch(p: Printer, node: If, indent: str) -> None:
    """`if`, `elif`, `else`. A name defined in a branch is not used again in what follows the `if`."""
    names, out = p.names, p.out
    mark = len(names.stack)
    inner = indent + TAB
    word = "if"
    used: list[str] = []
    while True:
        start = len(out)
        out.append(f"{indent}{word} {condition(p, node.condition)}:")
        if word == "elif" and node.trivia is not None:
            if node.trivia.beside:
                beside(p, start, node.trivia.beside, indent)
            out[start:start] = [indent + comment_line(line) for line in node.trivia.before if line]
        body(p, node.then, inner)
        used += names.stack[mark:]
        names.release(mark)
        orelse = node.orelse
        if len(orelse) == 1 and type(orelse[0]) is If and not (orelse[0].trivia and orelse[0].trivia.after):
            node, word = orelse[0], "elif"
            continue
        if orelse:
            out.append(f"{indent}else:")
            body(p, orelse, inner)
            used += names.stack[mark:]
            names.release(mark)
        break
    if used and (orelse or word == "elif"):
        # the reader hoists a name that all branches assign and a later line mentions
        fresh = dict.fromkeys(used)
        names.taken.update(fresh)
        names.stack += fresh


def _break(p: Printer, node: Break, indent: str) -> None:
    p.out.append(f"{indent}break")


def _continue(p: Printer, node: Continue, indent: str) -> None:
    p.out.append(f"{indent}continue")


def _return(p: Printer, node: Return, indent: str) -> None:
    p.out.append(f"{indent}return" if node.value is None else f"{indent}return {top(p, node.value)}")


# --- stores and definitions -------------------------------------------------------------------------------------------


def store(p: Printer, node: BufferStore, indent: str) -> None:
    """`A[i] = value`; a constant of the buffer's dtype is bare."""
    get = p.get
    buffer = node.buffer
    name = get(id(buffer)) or p.names.fix(buffer, buffer.name)
    v = node.value
    if type(v) is Const:
        text = p.literal(v, buffer.dtype)
    else:
        text = get(id(v)) or p.exprs[type(v)](p, v, 0)
    if node.predicate is not None:
        p.out.append(
            f"{indent}{name}.vstore({index_list(p, node.indices)}, {text}, predicate={top(p, node.predicate)})"
        )
        return
    indices = node.indices
    if len(indices) == 2:
        i, j = indices
        rules = p.indices
        p.out.append(
            f"{indent}{name}[{get(id(i)) or rules[type(i)](p, i, 0)}, {get(id(j)) or rules[type(j)](p, j, 0)}] = {text}"
        )
    else:
        p.out.append(f"{indent}{place(p, name, buffer, indices)} = {text}")


def bind(p: Printer, node: Bind, indent: str, annotated: bool = False) -> None:
    """`x = value`; with its annotation where the value alone would be read as parse-time Python."""
    v = node.value
    if type(v) is Const:
        text = p.literal(v, node.var.dtype)
    else:
        text = top(p, v)
    name = p.names.define(node.var, node.var.name)
    if annotated or type(v) is Const or type(v) is StringImm:
        name = f"{name}: T.let[{dtype_annotation(node.var.dtype)}]"
    p.out.append(f"{indent}{name} = {text}")


def scalar(p: Printer, node: ScalarDecl, indent: str) -> None:
    """`x: T.float32 = value`."""
    v = node.value
    if v is None:
        text = ""
    elif type(v) is Const:
        text = f" = {p.literal(v, node.buffer.dtype)}"
    else:
        text = f" = {top(p, v)}"
    name = p.names.define(node.buffer, node.buffer.name)
    p.out.append(f"{indent}{name}: {dtype_annotation(node.buffer.dtype)}{text}")


def buffer_arguments(
    p: Printer, buffer: Buffer, dim: Callable[..., str], before_scope: str = "", part: Callable[..., str] | None = None
) -> str:
    """Shape, dtype and what differs from the defaults; `part` prints strides and offset, where `dim` does not."""
    part = part or dim
    parts = [parenthesized([dim(p, one) for one in buffer.shape]), dtype_name(buffer.dtype)]
    if before_scope:
        parts.append(before_scope)
    if buffer.strides is not None:
        parts.append(f"strides={parenthesized([part(p, one) for one in buffer.strides])}")
    if buffer.elem_offset is not None:
        parts.append(f"elem_offset={part(p, buffer.elem_offset)}")
    if buffer.scope != "global":
        parts.append(f"scope={quote(buffer.scope)}")
    if buffer.align:
        parts.append(f"align={buffer.align}")
    if buffer.offset_factor:
        parts.append(f"offset_factor={buffer.offset_factor}")
    if buffer.axis_separators:
        parts.append(f"axis_separators=[{', '.join(map(str, buffer.axis_separators))}]")
    if buffer.layout is None:
        parts.append("layout=None")
    if buffer.allocated_addr:
        places = ", ".join([dim(p, one) for one in buffer.allocated_addr])
        parts.append(f"allocated_addr={places if len(buffer.allocated_addr) == 1 else f'[{places}]'}")
    return ", ".join(parts)


def alloc_buffer(p: Printer, node: AllocBuffer, indent: str) -> None:
    """`A = T.alloc_buffer(shape, dtype, scope=)`."""
    text = buffer_arguments(p, node.buffer, top)
    if node.annotations:
        text += f", annotations={value(p, node.annotations)}"
    p.out.append(f"{indent}{p.names.define(node.buffer, node.buffer.name)} = {p.words['alloc_buffer']}({text})")


def decl_buffer(p: Printer, node: DeclBuffer, indent: str) -> None:
    """`B = T.decl_buffer(shape, dtype, data=A.data)`, or `B = A.view(shape)` where it was written so."""
    made, source = node.buffer, node.data
    if made.layout == "view" and type(source) is BufferData and is_view(made, source.buffer):
        text = f"{top(p, source).removesuffix('.data')}.view({', '.join([top(p, dim) for dim in made.shape])})"
    else:
        text = f"T.decl_buffer({buffer_arguments(p, made, top, before_scope=f'data={top(p, source)}')})"
    p.out.append(f"{indent}{p.names.define(made, made.name)} = {text}")


def is_view(made: Buffer, of: Buffer) -> bool:
    """Whether a buffer differs from the one whose memory it names in its shape alone."""
    return (
        (made.dtype, made.scope, made.align, made.offset_factor) == (of.dtype, of.scope, 0, 0)
        and made.strides is None
        and made.elem_offset is of.elem_offset
        and made.allocated_addr == of.allocated_addr
        and not made.axis_separators
    )


def match_buffer(p: Printer, node: MatchBuffer, indent: str) -> None:
    """`A = T.match_buffer(a, shape, dtype)`; symbols that occur first in it are declared before."""
    source, buffer = node.source, node.buffer
    text = region(p, source) if type(source) is BufferRegion else binder(p, source, 0)
    for part in walk(buffer):
        if type(part) is Var and id(part) not in p.names.known:
            p.out.append(f"{indent}{p.names.define(part, part.name)} = {dtype_annotation(part.dtype)}()")
    text = f"{text}, {buffer_arguments(p, buffer, top)}"
    p.out.append(f"{indent}{p.names.define(buffer, buffer.name)} = T.match_buffer({text})")


# --- for effect -------------------------------------------------------------------------------------------------------


def evaluate(p: Printer, node: Evaluate, indent: str) -> None:
    """`T.evaluate(value)`; prints, breakpoints and calls of functions stand for themselves."""
    v = node.value
    text = top(p, v)
    if type(v) is Call and v.op.name == "breakpoint":
        text = "breakpoint()"
    elif not (type(v) is CallFunction or (type(v) is Call and v.op.name == "print")):
        text = f"T.evaluate({text})"
    p.out.append(indent + text)


def _assert(p: Printer, node: Assert, indent: str) -> None:
    p.out.append(f"{indent}assert {condition(p, node.condition)}{assert_message(node)}")


def assert_message(node: Assert, always: bool = False) -> str:
    """What follows the condition: the message, or TVM's error and pieces where these say more."""
    if node.parts or node.kind != "RuntimeError":
        pieces = ", ".join(map(quote, node.parts or [node.message]))
        return f", ({quote(node.kind)}, [{pieces}])"
    return f", {quote(node.message)}" if node.message or always else ""


def _static_assert(p: Printer, node: StaticAssert, indent: str) -> None:
    message = f", {quote(node.message)}" if node.message else ""
    p.out.append(f"{indent}T.static_assert({condition(p, node.condition)}{message})")


def _assume(p: Printer, node: Assume, indent: str) -> None:
    p.out.append(f"{indent}T.assume({condition(p, node.condition)})")


def _attr(p: Printer, node: Attr, indent: str) -> None:
    p.out.append(f"{indent}with T.attr({value(p, node.target)}, {quote(node.key)}, {value(p, node.value)}):")
    scope(p, node.body, indent + TAB)


def value(p: Printer, item: Any) -> str:
    """An attribute value: plain Python, or an expression whose constants say their dtype."""
    if isinstance(item, Node):
        if type(item) is Const:
            return explicit(item)
        written = top(p, item)
        return f"{written}.value" if type(item) is GraphConst and p.words["graph"] == "R" else written
    text = plain(item)
    if text is not None:
        return text
    if isinstance(item, dict):
        return f"{{{', '.join([f'{value(p, key)}: {value(p, one)}' for key, one in item.items()])}}}"
    if isinstance(item, list):
        return f"[{', '.join([value(p, one) for one in item])}]"
    if isinstance(item, tuple):
        return parenthesized([value(p, one) for one in item])
    if isinstance(item, DType):
        return dtype_annotation(item)
    from .core import refuse

    raise refuse(
        f"an attribute holds a Python {type(item).__name__}, which has no source text",
        None,
        "attributes hold numbers, strings, tuples, lists, dicts and expressions",
    )


STMT_RULES: dict[type, StmtRule] = {
    For: for_loop,
    While: _while,
    If: branch,
    Break: _break,
    Continue: _continue,
    Return: _return,
    BufferStore: store,
    Bind: bind,
    ScalarDecl: scalar,
    AllocBuffer: alloc_buffer,
    DeclBuffer: decl_buffer,
    MatchBuffer: match_buffer,
    Evaluate: evaluate,
    Assert: _assert,
    StaticAssert: _static_assert,
    Assume: _assume,
    Attr: _attr,
}
