"""Where the parts of a program stand in a text that is read: what carets point at.

The path of a node in a printed program is its path in the program that the text is read back to. Statements and most
expressions know their span from reading. For the rest, such as the use of a variable or the dtype of a parameter,
`_STEPS` says which part of Python's tree a field was read from.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from tirscript.ir import (
    AllocBuffer,
    Assert,
    Assume,
    Axis,
    Bind,
    Binder,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    CallFunction,
    DeclBuffer,
    Evaluate,
    For,
    GraphFunc,
    If,
    Let,
    MatchBuffer,
    Module,
    Node,
    PrimFunc,
    Ramp,
    Range,
    Return,
    ScalarDecl,
    Source,
    Span,
    StaticAssert,
    While,
    recursion_room,
)

_TOKEN = re.compile(r"""\[(\d+)\]|\[('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")\]|\.?([^\W\d]\w*)""")


class Text:
    """A program, the text that it was read from, and where the parts of one stand in the other."""

    def __init__(self, program: PrimFunc | GraphFunc | Module, text: str, filename: str) -> None:
        self.program = program
        self.source = Source(filename, text)
        self._tree: dict[tuple[int, int, int, int], ast.AST] | None = None

    def span(self, path: str) -> Span | None:
        """The stretch of the text that a path of `differences` (`body[2].stop`) leads to, or the smallest that is known
        to hold it; None where not even that is known."""
        with recursion_room():
            return self._span(path)

    def _span(self, path: str) -> Span | None:
        if self._tree is None:
            nodes = [node for node in ast.walk(ast.parse(self.source.text)) if hasattr(node, "lineno")]
            self._tree = {_place(node): node for node in reversed(nodes)}  # the outermost of those at one place
        here: Any = None
        found: Span | None = None
        parent: Node | None = None
        for node, field, index in steps(self.program, path):
            step = _STEPS.get((type(parent), field))
            inner = step(here, index, parent) if step is not None and here is not None else None
            own = own_span(node, parent, field)
            if inner is not None:
                here = inner
                found = Span(self.source, *_place(inner))
            elif own is not None:
                at = (own.start_line, own.start_column, own.end_line, own.end_column)
                found = Span(self.source, *at)
                here = self._tree.get(at)
            else:
                here = None
            parent = node if isinstance(node, Node) else parent
        return found


def read_text(text: str, filename: str, shown: str | None = None) -> Text:
    """The one definition of a text, with its places. DiagnosticError where the text cannot be read.

    `shown` is the text to point into, where it differs in options of the decorators only.
    """
    from tirscript.script import parse

    program = parse(text, filename=filename)
    assert isinstance(program, (PrimFunc, GraphFunc, Module))
    same_lines = shown is not None and shown.count("\n") == text.count("\n")
    return Text(program, shown if shown is not None and same_lines else text, filename)


def printed_text(program: PrimFunc | GraphFunc | Module, filename: str) -> Text:
    """A program as it is printed, with its places, whether or not the verifier would take it.

    DiagnosticError where the text cannot be read, which happens where the program uses what it does not define.
    """
    return read_text(_unchecked(program).script(), filename, program.script())


def _unchecked(program: PrimFunc | GraphFunc | Module) -> PrimFunc | GraphFunc | Module:
    if not isinstance(program, Module):
        return program.replace(check_well_formed=False)
    return program.replace(functions=tuple(one.replace(check_well_formed=False) for one in program.functions))


# --- along a path -----------------------------------------------------------------------------------------------------


def steps(root: Any, path: str) -> Iterator[tuple[Any, str, int]]:
    """What a path passes, from the root on, as far as it leads: (value, the field it is in, its place there)."""
    yield root, "", 0
    here = root
    field = ""
    for number, key, name in _TOKEN.findall(path):
        index = 0
        if name:
            field = name
            if isinstance(here, Module) and name in here:
                here, field = here[name], "functions"
            elif isinstance(here, Node) and hasattr(here, name):
                here = getattr(here, name)
            else:
                return
        else:
            index = int(number) if number else 0
            try:
                here = here[index if number else ast.literal_eval(key)]
            except (LookupError, TypeError):
                return
        if not isinstance(here, (tuple, list)):
            yield here, field, index


def own_span(node: Any, parent: Any, field: str) -> Span | None:
    """The span of a node at its place: a variable or buffer knows where it is defined, not where it is used."""
    if not isinstance(node, Node):
        return None
    if isinstance(node, Binder) and parent is not None and field not in type(parent).defines:
        return None
    return node.span


def _place(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


# --- from a field to Python's tree ------------------------------------------------------------------------------------

# the part of Python's tree, given the part that the node was read from, the index in the field, and the node
Step = Callable[[Any, int, Any], Any]


def _at(items: Any, index: int) -> Any:
    return items[index] if index < len(items) else None


def _field(name: str, *kinds: type[ast.AST]) -> Step:
    return lambda here, index, node: getattr(here, name) if isinstance(here, kinds) else None


def _call(here: Any) -> ast.Call | None:
    """The call that a statement or expression is, or that it assigns."""
    if isinstance(here, (ast.Expr, ast.Assign, ast.AnnAssign)):
        here = here.value
    return here if isinstance(here, ast.Call) else None


def _callee(call: ast.Call) -> str:
    return ast.unparse(call.func)


def _argument(number: int | None = None) -> Step:
    def step(here: Any, index: int, node: Any) -> Any:
        call = _call(here)
        return _at(call.args, index if number is None else number) if call is not None else None

    return step


def _operand(here: Any, index: int, node: Call) -> Any:
    """An operand of an operator, or an argument of `T.name`."""
    rule = _OPERANDS.get(type(here))
    return rule(here, index, node) if rule is not None else None


_OPERANDS: dict[type[ast.AST], Step] = {
    ast.BinOp: lambda here, index, node: here.right if index else here.left,
    ast.Compare: lambda here, index, node: _at([here.left, *here.comparators], index),
    # Python reads `a and b and c` as one operation, this language as two
    ast.BoolOp: lambda here, index, node: _at(here.values, index) if len(here.values) == 2 else None,
    ast.UnaryOp: lambda here, index, node: here.operand,
    ast.IfExp: lambda here, index, node: _at([here.test, here.body, here.orelse], index),
    ast.Call: lambda here, index, node: _at(here.args, index + (node.op.dtype_arg == "first")),
}


def _index(here: Any, index: int, node: Any) -> Any:
    """An index of `A[i, j]`."""
    if not isinstance(here, ast.Subscript):
        return None
    return _at(here.slice.elts, index) if isinstance(here.slice, ast.Tuple) else here.slice


def _loaded(here: Any, index: int, node: Any) -> Any:
    return here.value if isinstance(here, ast.Subscript) else here if isinstance(here, ast.Name) else None


def _stored_index(here: Any, index: int, node: Any) -> Any:
    return _index(here.targets[0], index, node) if isinstance(here, ast.Assign) else None


def _stored_buffer(here: Any, index: int, node: Any) -> Any:
    return _loaded(here.targets[0], index, node) if isinstance(here, ast.Assign) else None


def _bound(number: int) -> Step:
    """The start, stop or step of a loop; a loop of `T.grid` knows its stop from reading."""

    def step(here: Any, index: int, node: For) -> Any:
        call = here.iter if isinstance(here, ast.For) else None
        if not isinstance(call, ast.Call) or _callee(call) == "T.grid":
            return None
        return _at(call.args, number) if len(call.args) > 1 else call.args[0] if number == 1 else None

    return step


def _end(which: str) -> Step:
    """One end of a range: `a` or `b` of `a:b`, or an index."""

    def step(here: Any, index: int, node: Range) -> Any:
        if isinstance(here, ast.Slice):
            return getattr(here, which)
        return here if which == "lower" else None

    return step


def _ramp(here: Any, index: int, node: Ramp) -> Any:
    return here.lower if isinstance(here, ast.Slice) else _argument(0)(here, index, node)


def _whole(here: Any, index: int, node: Any) -> Any:
    """A buffer where it is made: the statement holds its shape."""
    return here if isinstance(here, ast.Assign) else None


def _declared(number: int | None, word: str) -> Step:
    """What a buffer is declared with: an argument of `T.Buffer`, or of the function that makes it."""

    def step(here: Any, index: int, node: Buffer) -> Any:
        call = here.annotation if isinstance(here, ast.arg) else _call(here)
        if not isinstance(call, ast.Call):
            return None
        args = call.args[1:] if _callee(call) == "T.match_buffer" else call.args
        given = _at(args, number) if number is not None else None
        if given is None:
            given = next((keyword.value for keyword in call.keywords if keyword.arg == word), None)
        return _at(given.elts, index) if isinstance(given, ast.Tuple) else given

    return step


def _domain(here: Any, index: int, node: Axis) -> Any:
    call = _call(here)
    return _at(call.args, 0) if call is not None and _callee(call) != "T.axis.remap" else None


def _axis_value(here: Any, index: int, node: Axis) -> Any:
    call = _call(here)
    if call is None or len(call.args) < 2:
        return None
    values = call.args[1]
    if _callee(call) != "T.axis.remap":
        return values
    targets = here.targets[0]
    names = [ast.unparse(one) for one in targets.elts] if isinstance(targets, ast.Tuple) else [ast.unparse(targets)]
    if node.var.name not in names or not isinstance(values, ast.List):
        return None
    return _at(values.elts, names.index(node.var.name))


def _evaluated(here: Any, index: int, node: Evaluate) -> Any:
    """The argument of `T.evaluate`, or a call that stands for itself."""
    call = here.value if isinstance(here, ast.Expr) else None
    return call.args[0] if isinstance(call, ast.Call) and _callee(call) == "T.evaluate" else call


_STEPS: dict[tuple[Any, str], Step] = {
    (Call, "args"): _operand,
    (CallFunction, "args"): _argument(),
    (BufferLoad, "indices"): _index,
    (BufferLoad, "buffer"): _loaded,
    (BufferRegion, "buffer"): _loaded,
    (BufferRegion, "ranges"): _index,
    (Range, "start"): _end("lower"),
    (Range, "stop"): _end("upper"),
    (Ramp, "base"): _ramp,
    (Broadcast, "value"): _argument(0),
    (Let, "value"): _argument(1),
    (BufferStore, "indices"): _stored_index,
    (BufferStore, "buffer"): _stored_buffer,
    (BufferStore, "value"): _field("value", ast.Assign),
    (Bind, "value"): _field("value", ast.Assign, ast.AnnAssign),
    (ScalarDecl, "value"): _field("value", ast.AnnAssign),
    (For, "start"): _bound(0),
    (For, "stop"): _bound(1),
    (For, "step"): _bound(2),
    (While, "condition"): _field("test", ast.While),
    (If, "condition"): _field("test", ast.If),
    (Assert, "condition"): _field("test", ast.Assert),
    (StaticAssert, "condition"): _argument(0),
    (Assume, "condition"): _argument(0),
    (Evaluate, "value"): _evaluated,
    (Return, "value"): _field("value", ast.Return),
    (AllocBuffer, "buffer"): _whole,
    (DeclBuffer, "buffer"): _whole,
    (MatchBuffer, "buffer"): _whole,
    (MatchBuffer, "source"): _argument(0),
    (Buffer, "shape"): _declared(0, "shape"),
    (Buffer, "dtype"): _declared(1, "dtype"),
    **{
        (Buffer, word): _declared(None, word)
        for word in ("strides", "elem_offset", "scope", "align", "offset_factor", "axis_separators")
    },
    (Axis, "start"): _domain,
    (Axis, "stop"): _domain,
    (Axis, "value"): _axis_value,
}

__all__ = ["Text", "own_span", "printed_text", "read_text", "steps"]
