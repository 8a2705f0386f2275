"""Graph functions as text: statements, branches, local functions, signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Var
from tirscript.ir.graph import (
    CallableType,
    Dataflow,
    ExternFunction,
    FunctionCall,
    GraphBind,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    OpCall,
    PrimType,
    PrimValue,
    ShapeType,
    TensorType,
    TupleType,
    plain_dimensions,
    scalar_symbols,
)
from tirscript.ir.graph_ops.calls import DESTINATION_PASSING
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_types import join
from tirscript.ir.rewrite import free_vars, walk
from tirscript.ir.span import Trivia
from tirscript.ir.stmt import Stmt

from .core import Printer
from .expr import top
from .func import comment_beside, define_function, docstring, trivia_after, trivia_before
from .graph_values import is_placed_by_tvm, prim_text, type_text
from .layout import fit
from .literals import dtype_annotation
from .names import Names
from .stmt import TAB, beside, comment_line, comments, head, value

if TYPE_CHECKING:
    from collections.abc import Iterable

# values that are calls: what a branch may end with in one line
_CALLS = (OpCall, FunctionCall)


# --- statements -------------------------------------------------------------------------------------------------------


def body(p: Printer, stmts: tuple[Stmt, ...], indent: str, headed: bool = False, nested: bool = False) -> None:
    """The statements of a body, with a blank line on both sides of local functions, as ruff wants them.

    A function that opens a body has one above it where the body is `nested` in another one.
    """
    out = p.out
    if not stmts:
        out.append(f"{indent}pass")
    first, behind = not headed, False
    for stmt in stmts:
        trivia = stmt.trivia
        local = is_local_function(stmt)
        apart = (local and nested) if first else (local or behind) and not _opens_blank(trivia)
        if apart:
            out.append("")
        if trivia is not None:
            comments(out, trivia.before, indent, blank=not first, keep_last=True)
        start = len(out)
        p.graph_indent = indent
        GRAPH_STMT_RULES[type(stmt)](p, stmt, indent)
        if trivia is not None and trivia.beside:
            # what is named before a statement stands above it, and so do its comments
            line = len(out) - 1 if type(stmt) in (GraphBind, MatchCast) and not local else start
            beside(p, line, trivia.beside, indent, start)
        if trivia is not None and trivia.after:
            if local and trivia.after[0]:
                out.append("")
            comments(out, trivia.after, indent, blank=True, keep_last=False)
        first, behind = False, local


def _last_line(
    p: Printer, text: str, indent: str, trivia: Trivia | None, stmts: tuple[Stmt, ...], headed: bool = False
) -> None:
    """The line that says what a body gives, apart from a local function above it."""
    if stmts and is_local_function(stmts[-1]) and not _opens_blank(trivia):
        p.out.append("")
    head(p, text, indent, trivia, len(p.out) - (headed or bool(stmts)))


def _opens_blank(trivia: Trivia | None) -> bool:
    return trivia is not None and trivia.before[:1] == ("",)


def is_local_function(stmt: Stmt) -> bool:
    """Whether a statement defines a function."""
    return type(stmt) is GraphBind and type(stmt.value) is GraphFunc


def define(p: Printer, var: GraphVar) -> str:
    """Name a variable, and the expression by which dimensions know a scalar."""
    known = p.names.known.get(id(var))
    name = p.names.define(var, var.name) if known is None else known
    for symbol in scalar_symbols((var,)):
        p.names.known.setdefault(id(symbol), name)
    return name


def annotated(p: Printer, var: GraphVar, new: bool) -> str:
    """`name: type` of a binding; a scalar's own symbol is no value that it is known to have."""
    kind: GraphType = var.type
    if new and type(kind) is PrimType and type(kind.value) is Var:
        kind = PrimType(kind.dtype)
    name = define(p, var)
    return f"{name}: {type_text(p, kind)}"


def bind(p: Printer, node: GraphBind, indent: str) -> None:
    """`y: G.Tensor((4,), "float32") = G.add(x, x)`"""
    if type(node.value) is GraphFunc:
        local_function(p, node, node.value, indent)
        return
    var = node.var
    text = top(p, node.value)
    if var.name == "_" and p.graph_uses[id(var)] < 2 and id(var) not in p.names.known:
        if type(var.type) is TupleType and not var.type.fields and _is_statement(p, node.value):
            p.out.append(f"{indent}{text}")
        else:
            p.out.append(f"{indent}_: {type_text(p, var.type)} = {text}")
        return
    # the symbol of a scalar that is bound here is new, unless something before has it
    new = not any(id(symbol) in p.names.known for symbol in scalar_symbols((var,)))
    if _tells_its_type(node, p.words["graph"]):
        p.out.append(f"{indent}{define(p, var)} = {text}")
    else:
        p.out.append(f"{indent}{annotated(p, var, new)} = {text}")


def _is_statement(p: Printer, value: Any) -> bool:
    """Whether a call of no result may stand alone: apache-tvm takes an external function's result for anything, unless
    its type is told."""
    unknown = type(value) is FunctionCall and type(value.function) is ExternFunction and not value.types
    return type(value) in _CALLS and not (unknown and p.words["graph"] == "R")


def _tells_its_type(node: GraphBind, letter: str) -> bool:
    """Whether the value spells the type out, as the result types of a call do, and functions of libraries, or TVM finds
    out more than is known here."""
    made = node.value
    if type(made) is ExternFunction:
        return structural_equal(made.type or CallableType(), node.var.type)
    if letter == "R" and (is_placed_by_tvm(node.var.type) or _is_shaped_by_tvm(node)):
        return True
    if type(made) is not OpCall or made.op not in DESTINATION_PASSING or not made.types:
        return False
    return structural_equal(made.op.infer(made, ()), node.var.type)


def _is_shaped_by_tvm(node: GraphBind) -> bool:
    """Whether a tensor gets its unknown shape from a variable, `y = R.reshape(x, s)`: TVM's type of it names `s`."""
    kind, made = node.var.type, node.value
    if type(kind) is not TensorType or kind.shape is not None or type(made) not in (OpCall, GraphVar):
        return False
    given = [part.type for part in walk(made, GraphVar)]
    if not any(type(one) is ShapeType or (type(one) is TensorType and one.shape is None) for one in given):
        return False
    try:
        return structural_equal(type_of(made, None), kind)
    except DiagnosticError:
        return False


def match_cast(p: Printer, node: MatchCast, indent: str) -> None:
    """`y = G.match_cast(x, G.Tensor((m, 4)))`"""
    cast = f"{p.words['graph']}.match_cast({top(p, node.value)}, {type_text(p, node.type)})"
    if structural_equal(node.type, node.var.type):
        p.out.append(f"{indent}{define(p, node.var)} = {cast}")
    else:
        new = not any(id(symbol) in p.names.known for symbol in scalar_symbols((node.var,)))
        p.out.append(f"{indent}{annotated(p, node.var, new)} = {cast}")


def dataflow(p: Printer, node: Dataflow, indent: str) -> None:
    """`with G.dataflow():`, whose outputs alone keep their names behind it."""
    names, letter = p.names, p.words["graph"]
    mark = len(names.stack)
    p.out.append(f"{indent}with {letter}.dataflow():")
    if node.body or not node.outputs:
        body(p, node.body, indent + TAB, nested=True)
    outputs = [top(p, var) for var in node.outputs]
    if outputs:
        text = f"{indent}{TAB}{letter}.output({', '.join(outputs)})"
        _last_line(p, text, indent + TAB, dict(node.heads).get("output"), node.body)
    names.release(mark)
    for name in outputs:
        if name not in names.taken:
            names.taken.add(name)
            names.stack.append(name)


def branch(p: Printer, node: GraphIf, indent: str) -> None:
    """`if`, `elif`, `else`, each branch of which ends with a value for one name."""
    word = "if"
    name = define(p, node.var)
    while True:
        start = len(p.out)
        p.out.append(f"{indent}{word} {_computed(p, node.condition)}:")
        if word == "elif" and node.trivia is not None:
            if node.trivia.beside:
                beside(p, start, node.trivia.beside, indent)
            p.out[start:start] = [indent + comment_line(line) for line in node.trivia.before if line]
        told = _needs_type(node)
        _branch_body(p, node.then_body, node.then_value, name, node.var if told else None, indent + TAB)
        orelse, last = node.else_body, node.else_body[-1] if node.else_body else None
        if len(orelse) == 1 and type(last) is GraphIf and last.var is node.else_value:
            if not (last.trivia and last.trivia.after) and p.graph_uses[id(last.var)] == 2:
                p.names.known[id(last.var)] = name
                node, word = last, "elif"
                continue
        p.out.append(f"{indent}else:")
        _branch_body(p, orelse, node.else_value, name, None, indent + TAB)
        return


def _computed(p: Printer, value: GraphExpr) -> str:
    """A value where one of Python's, which is known while parsing, would mean another thing."""
    return prim_text(p, value) if type(value) is PrimValue else top(p, value)


def _needs_type(node: GraphIf) -> bool:
    """Whether the type of the variable says something else than the values of the branches."""
    try:
        found = join(type_of(node.then_value), type_of(node.else_value))
    except DiagnosticError:
        return True
    kind = node.var.type
    if type(kind) is PrimType and type(found) is PrimType:
        return kind.dtype is not found.dtype
    return not structural_equal(found, kind)


def _branch_body(
    p: Printer, stmts: tuple[Stmt, ...], result: GraphExpr, name: str, typed: GraphVar | None, indent: str
) -> None:
    """One branch: its last statement gives the name its value."""
    mark = len(p.names.stack)
    last: Any = stmts[-1] if stmts else None
    ends = typed is None and getattr(last, "var", None) is result and p.graph_uses[id(result)] == 2
    if ends and (type(last) in (GraphIf, MatchCast) or (type(last) is GraphBind and type(last.value) in _CALLS)):
        p.names.known[id(result)] = name
        body(p, stmts, indent, nested=True)
    else:
        if stmts:
            body(p, stmts, indent, nested=True)
        p.graph_indent = indent
        kind = "" if typed is None else f": {_own_type(p, typed)}"
        text = _computed(p, result)
        p.out.append(f"{indent}{name}{kind} = {text}")
    p.names.release(mark)


def _own_type(p: Printer, var: GraphVar) -> str:
    kind = var.type
    return type_text(p, PrimType(kind.dtype) if type(kind) is PrimType else kind)


# --- functions --------------------------------------------------------------------------------------------------------


def graph_function(p: Printer, func: GraphFunc, indent: str, outer: Names) -> None:
    """One function definition, of a module or alone."""
    define_function(p, func, indent, outer, _whole)


def _whole(p: Printer, func: GraphFunc, indent: str) -> None:
    p.graph_uses = Counter(id(node) for node in walk(func, GraphVar))
    trivia_before(p.out, func.trivia, indent)
    options: dict[str, Any] = {}
    if func.private:
        options["private"] = True
    if not func.pure:
        options["pure"] = False
    if not func.check_well_formed:
        options["check_well_formed"] = False
    definition(p, func, func.name, options, indent)
    trivia_after(p.out, func.trivia, indent)


def definition(p: Printer, func: GraphFunc, name: str, options: dict[str, Any], indent: str) -> None:
    """Decorator, signature and body."""
    out, letter = p.out, p.words["graph"]
    start = len(out)
    given = ", ".join(f"{key}={item}" for key, item in options.items())
    word = "graph_func" if p.dialect.strings else "function"
    out.append(f"{indent}@{letter}.{word}({given})" if given else f"{indent}@{letter}.{word}")
    declared, p.declared = p.declared, dict(p.names.known)
    own = set(map(id, scalar_symbols(func.params)))
    for param in func.params:
        define(p, param)
    params = [f"{p.names.known[id(param)]}: {_parameter(p, param, own)}" for param in func.params]
    told = func.result if p.dialect.strings else func.told_result or func.result
    left = letter == "R" and is_placed_by_tvm(told)
    result = "" if left else f" -> {type_text(p, told, quoted=True)}"
    p.declared = declared
    lines = [fit(f"{indent}def {name}({', '.join(params)}){result}:", p.width)]
    out += lines
    comment_beside(p, func, start, lines, indent)
    inner = indent + TAB
    headed = docstring(out, func.docstring, inner)
    heads = dict(func.heads)
    if func.attrs:
        p.graph_indent = inner
        text = f"{inner}{letter}.func_attr({value(p, func.attrs)})"
        head(p, text, inner, heads.get("func_attr"), len(out) - headed)
        headed = True
    for var in _declared_symbols(func, p.names.known):
        out.append(f"{inner}{p.names.define(var, var.name)} = {dtype_annotation(var.dtype)}()")
        headed = True
    undefined = [] if func.check_well_formed else [var for var in free_vars(func) if id(var) not in p.names.known]
    for var in undefined:  # the text declares what a function that is not checked uses
        out.append(f"{inner}{p.names.define(var, var.name)} = {dtype_annotation(var.dtype)}()")
        headed = True
    if func.body:
        body(p, func.body, inner, headed)
    p.graph_indent = inner
    text = top(p, func.value)
    _last_line(p, f"{inner}return {text}", inner, heads.get("return"), func.body, headed)


def _parameter(p: Printer, param: GraphVar, own: set[int]) -> str:
    kind = param.type
    if type(kind) is PrimType and id(kind.value) in own:
        kind = PrimType(kind.dtype)
    return type_text(p, kind, quoted=True)


def _declared_symbols(func: GraphFunc, known: Any) -> Iterator[Var]:
    """The symbols that a function's match_casts define, its local functions aside, or that several such share, and
    those of the functions that are values in it."""
    found: set[int] = set()
    local: set[int] = set()
    for stmt in _statements(func.body):
        if is_local_function(stmt):
            own = {id(node): node for node in walk(stmt, Var) if id(node) not in known}
            yield from (var for at, var in own.items() if at in local and at not in found)
            found |= own.keys() & local
            local |= own.keys()
        elif type(stmt) is MatchCast:
            for var in plain_dimensions((stmt.type,)):
                if id(var) not in known and id(var) not in found:
                    found.add(id(var))
                    yield var
        elif type(stmt) in (GraphBind, GraphIf):
            var = stmt.var  # type: ignore[attr-defined]
            found.update(map(id, scalar_symbols((var,))))
            for symbol in _function_symbols(var.type):
                if id(symbol) not in known and id(symbol) not in found:
                    found.add(id(symbol))
                    yield symbol


def _function_symbols(kind: GraphType) -> Iterator[Var]:
    """The dimensions that functions bind by whose types a type is made up."""
    if type(kind) in (CallableType, TupleType):
        for node in walk(kind):
            if type(node) is CallableType:
                yield from node.symbols


def _statements(stmts: Iterable[Stmt]) -> Iterator[Stmt]:
    for stmt in stmts:
        if type(stmt) is Dataflow:
            yield from _statements(stmt.body)
        elif type(stmt) is GraphIf:
            yield from _statements(stmt.then_body)
            yield from _statements(stmt.else_body)
        yield stmt


def local_function(p: Printer, node: GraphBind, func: GraphFunc, indent: str) -> None:
    """A function in a function."""
    name = define(p, node.var)
    mark, known = len(p.names.stack), p.names.known
    own = {id(node) for node in walk(func, Var) if id(node) not in known}
    options = {} if func.pure else {"pure": False}
    if not func.check_well_formed:
        options["check_well_formed"] = False
    definition(p, func, name, options, indent)
    p.names.release(mark)
    for symbol in own:  # another function may declare the same
        known.pop(symbol, None)


GRAPH_STMT_RULES: dict[type, Any] = {
    GraphBind: bind,
    MatchCast: match_cast,
    Dataflow: dataflow,
    GraphIf: branch,
}
