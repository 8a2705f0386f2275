"""What is in scope: definitions, their checks, and the uses that found nothing."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from ..buffer import Buffer
from ..diagnostic import Diagnostic, Label, error
from ..dtype import VOID
from ..expr import Const, Var
from ..func import PrimFunc
from ..graph import Dataflow, GraphBind, GraphExpr, GraphIf, MatchCast
from ..node import nodes_in, shape_of
from ..scopes import scope_advice
from ..span import Span
from ..stmt import Block, For, MatchBuffer, ScalarDecl, Stmt
from ..words import counted
from .bindings import Bindings
from .places import bad_attrs, bad_function_attrs, binding_parts, first_place, named, place_of, pointing, spot
from .size import FEW, too_large

_BIND = 'use it alone as a dimension of a parameter, as in `T.Buffer(("{}",), ...)`, or make it a parameter'


def _bind(var: Var) -> str:
    """The way out for a variable that nothing defines: only of integers there are symbolic dimensions."""
    if var.dtype.is_int and not var.dtype.is_vector:
        return _BIND.format(var.name)
    if var.dtype.is_handle:
        return f"give it an address, as in `{var.name} = A.data`, or make it a parameter"
    return f"give it a value, as in `{var.name} = T.{var.dtype}(0)`, or make it a parameter"


_OF_GRAPHS = (GraphExpr, GraphBind, MatchCast, Dataflow, GraphIf)


class TooLarge(Exception):
    """A function is too large to be checked: the diagnostic of it."""


class Known(Struct):
    """What is known of a buffer in scope: its constant dimensions, and how many loops run at once around it."""

    ndim: int
    extents: tuple[int | None, ...]
    at_once: int


class Unresolved(Struct, frozen=True, eq=False):
    """A use of something not in scope; what to say is known when the whole function has been seen."""

    binder: Any
    stmt: Any


class Rules(dict[type, Any]):
    """The bound rules of a verifier by class; `other` for a class that has none."""

    def __init__(self, verifier: Scopes) -> None:
        super().__init__({cls: getattr(verifier, name) for cls, name in verifier.table.items()})
        self.default = verifier.other

    def __missing__(self, cls: type) -> Any:
        return self.default


class Scopes:
    """The state of one function's check: what is in scope, what was defined at all, what was found."""

    # the name of the rule of each class, filled where all rules are known
    table: ClassVar[dict[type, str]] = {}

    def __init__(self, function: PrimFunc, functions: dict[str, PrimFunc] | None) -> None:
        self.function = function
        self.functions = functions
        self.found: list[Diagnostic | Unresolved] = []
        self.vars: set[int] = set()  # in scope
        self.buffers: dict[int, Known] = {}  # in scope
        self.defined: dict[int, tuple[Any, Any]] = {}  # ever: the binder and what defined it
        self.local: list[int] = []  # defined by the statements of the open bodies
        self.stmt: Any = function
        self.loops = 0
        self.unreached = 0  # loops around that run no iteration
        self.at_once_at = 0  # the number of loops around the body of the innermost parallel one
        self.at_once: list[For] = []
        self.undefs = 0
        self.left = FEW  # nodes with several others below them, behind which the function is measured
        self.handles: dict[int, MatchBuffer] = {}
        self.read: dict[int, tuple[Any, Any]] = {}  # allocated: where it is read first
        self.allocated: dict[int, Buffer] = {}
        self.written: set[int] = set()
        self.constants: set[Any] = set()
        self.has_constants = False
        self.bindings = Bindings()
        self.hidden: dict[int, Block] = {}  # loop variables that the block at hand may not use
        self.rules = Rules(self)

    # -- reporting

    def report(self, code: str, message: str, at: Any, *, notes: Any = (), hint: str | None = None) -> None:
        """A diagnostic at a node, or at the statement where the node has no place."""
        span = at if isinstance(at, Span) else getattr(at, "span", None) or self.stmt.span
        self.found.append(error(code, message, span, notes=notes, hint=hint))

    def declared(self, binder: Any) -> list[Label]:
        """A note that points at the declaration."""
        where = self.defined.get(id(binder))
        span = binder.span or (where[1].span if where is not None else None)
        return pointing(span, f"`{binder.name}` is declared here")

    def resolve(self, use: Unresolved) -> Diagnostic:
        binder, stmt = use.binder, use.stmt
        kind = "buffer" if type(binder) is Buffer else "variable"
        span = place_of(stmt, binder)
        known = self.defined.get(id(binder))
        if known is None:
            if type(binder) is Var and not binder.name:
                return error(
                    "T206",
                    f"`T.{binder.dtype}()` is a variable that has neither a name nor a value",
                    binder.span or span,
                    hint=f"give it a value, `T.{binder.dtype}(0)`, or a name in a statement of its own",
                )
            if type(binder) is Var:
                return error(
                    "T206",
                    f"nothing defines the variable `{binder.name}`",
                    span,
                    notes=pointing(binder.span, f"`{binder.name}` is made here"),
                    hint=_bind(binder),
                )
            return error(
                "T201",
                f"nothing defines the {kind} `{binder.name}`",
                span,
                notes=pointing(binder.span, f"`{binder.name}` is made here"),
            )
        where = known[1].span or binder.span
        early = (
            where is not None
            and span is not None
            and (span.start_line, span.start_column) < (where.start_line, where.start_column)
        )
        what = "before its definition" if early else "outside of its scope"
        return error(
            "T201",
            f"the {kind} `{binder.name}` is used {what}",
            span,
            notes=pointing(where, f"`{binder.name}` is defined here"),
        )

    # -- definitions and scopes

    def define(self, binder: Any, by: Any) -> None:
        key = id(binder)
        known = self.defined.get(key)
        if known is not None:
            kind = "buffer" if type(binder) is Buffer else "variable"
            notes = pointing(known[1].span, f"`{binder.name}` is defined here first")
            self.report("T202", f"the {kind} `{binder.name}` is defined twice", by, notes=notes)
        else:
            self.defined[key] = (binder, by)
        if type(binder) is Buffer:
            self.buffers[key] = self.describe(binder, by)
        else:
            self.vars.add(key)
        self.local.append(key)

    def describe(self, buffer: Buffer, by: Any) -> Known:
        """Check a buffer's own fields; what its accesses need to know."""
        at = buffer if buffer.span is not None else by
        rules = self.rules
        extents: list[int | None] = []
        for dim in buffer.shape:
            value = None
            if type(dim) is Const:
                value = dim.value
                kind: Any = dim.dtype
                if type(value) is not int or value < 0:
                    self.report(
                        "T207",
                        f"a dimension of the buffer `{buffer.name}` is {value!r}",
                        spot(dim, at),
                        hint="a dimension is 0 or more" + ("; one that is not known has a name" if value == -1 else ""),
                    )
            else:
                kind = rules[type(dim)](dim)
            if kind is None or not kind.is_int or kind.is_vector:
                self.report(
                    "T207",
                    f"a dimension of the buffer `{buffer.name}` is {kind or named(dim)}, not an integer",
                    spot(dim, at),
                )
            extents.append(value if type(value) is int else None)
        if buffer.strides is not None:
            if len(buffer.strides) != len(extents):
                dims, strides = counted(len(extents), "dimension"), counted(len(buffer.strides), "stride")
                self.report("T207", f"the buffer `{buffer.name}` has {dims} and {strides}", at)
            for stride in buffer.strides:
                self.integer(stride, f"a stride of the buffer `{buffer.name}`", at, "T207")
        if buffer.elem_offset is not None:
            self.integer(buffer.elem_offset, f"the element offset of the buffer `{buffer.name}`", at, "T207")
        for place in buffer.allocated_addr:
            self.integer(place, f"the place of the buffer `{buffer.name}` in its pool", at, "T207")
        scope = buffer.scope
        if scope != "global":
            advice = scope_advice(scope)
            if advice is not None:
                self.report("T205", f'the buffer `{buffer.name}` is in the unknown scope "{scope}"', at, hint=advice)
            elif scope == "scalar" and (buffer.shape or type(by) is not ScalarDecl):
                self.report(
                    "T205",
                    f'the buffer `{buffer.name}` of scope "scalar" is not a scalar variable',
                    at,
                    hint=f'declare it as `{buffer.name}: T.{buffer.dtype} = ...`, or use scope "local"',
                )
        if buffer.dtype is VOID:
            self.report("T204", f"the buffer `{buffer.name}` has elements of dtype void", at)
        if buffer.align < 0 or buffer.offset_factor < 0:
            self.report("T207", f"the alignment or offset factor of the buffer `{buffer.name}` is negative", at)
        if any(not 0 < cut < len(extents) for cut in buffer.axis_separators) or list(buffer.axis_separators) != sorted(
            set(buffer.axis_separators)
        ):
            self.report(
                "T207",
                f"the axis separators of the buffer `{buffer.name}` are {list(buffer.axis_separators)}",
                at,
                hint="they ascend, between 0 and the number of dimensions",
            )
        return Known(len(extents), tuple(extents), len(self.at_once))

    def body(self, stmts: Any) -> None:
        """Statements and the scope they make."""
        rules, before = self.rules, len(self.local)
        for stmt in stmts:
            self.stmt = stmt
            self.count()
            rules[type(stmt)](stmt)
        if len(self.local) > before:
            self.close(before)

    def count(self) -> None:
        """Note that a node with several others below it is gone through; end where the function has too many parts."""
        self.left -= 1
        if not self.left:
            problem = too_large(self.function)
            if problem is not None:
                raise TooLarge(problem)

    def close(self, before: int) -> None:
        """End the scope of what was defined since `before`."""
        for key in self.local[before:]:
            self.vars.discard(key)
            self.buffers.pop(key, None)
        del self.local[before:]

    def head(self) -> None:
        """Parameters, symbolic dimensions and attributes."""
        function = self.function
        seen: set[int] = set()
        for param in function.params:
            if id(param) in seen:
                notes = pointing(param.span, f"`{param.name}` is declared here")
                self.report(
                    "T202",
                    f"the function `{function.name}` has the parameter `{param.name}` twice",
                    function,
                    notes=notes,
                )
            seen.add(id(param))
            if type(param) is Var:
                self.vars.add(id(param))
                self.defined[id(param)] = (param, param if param.span is not None else function)
                if param.dtype.is_vector:
                    what = (
                        f"the parameter `{param.name}` is {param.dtype}, one value for each lane, and takes one value"
                    )
                    hint = f'pass a buffer: `{param.name}: T.Buffer(({param.dtype.lanes},), "{param.dtype.element}")`'
                    self.report("T204", what, param if param.span is not None else function, hint=hint)
        symbols = {id(var): var for var in function.symbols}
        alone = {id(dim) for buffer in function.param_buffers for dim in binding_parts(buffer)}
        for key, var in symbols.items():
            self.vars.add(key)
            self.defined[key] = (var, var)
            if key not in alone:
                self.report(
                    "T206",
                    f"the symbolic dimension `{var.name}` is bound nowhere",
                    first_place(function.param_buffers, var) or var.span or function,
                    hint=_BIND.format(var.name),
                )
        for param in function.params:
            if type(param) is Buffer and id(param) not in self.defined:
                self.defined[id(param)] = (param, param if param.span is not None else function)
                self.buffers[id(param)] = self.describe(param, function)
        for name, why, way in bad_function_attrs(function.attrs):
            self.report("T210", f"attribute {name} of the function: {why}", function, hint=way)
        for node in nodes_in(function.attrs):
            self.any(node)

    def attrs(self, attrs: Any, of: str) -> None:
        for name, why in bad_attrs(attrs):
            self.report("T210", f"attribute {name} of the {of}: {why}", self.stmt)
        for node in nodes_in(attrs):
            self.any(node)

    # -- any node

    def any(self, node: Any) -> Any:
        """Any node; the dtype of an expression."""
        return self.rules[type(node)](node)

    def other(self, node: Any) -> Any:
        """A class without a rule: its children in order, its definitions in scope for the rest of it."""
        if isinstance(node, _OF_GRAPHS):
            self.report("T210", f"a tensor function holds a {type(node).__name__}, which is of graph functions", node)
            return None
        before = len(self.local)
        for name in type(node).defines:
            value = getattr(node, name)
            for binder in value if isinstance(value, tuple) else (value,):
                self.define(binder, node)
        for (name, many), value in zip(
            shape_of(type(node)).children, shape_of(type(node)).get_children(node), strict=True
        ):
            if value is None or name in type(node).defines:
                continue
            if many == 1 and value and isinstance(value[0], Stmt):
                self.body(value)
                self.stmt = node if isinstance(node, Stmt) else self.stmt
                continue
            for item in value if many == 1 else nodes_in(value):
                self.any(item)
        if not isinstance(node, Stmt):
            self.close(before)
        return getattr(node, "dtype", None)

    def integer(self, expr: Any, what: str, at: Any, code: str) -> Any:
        kind = self.any(expr)
        if kind is None or not kind.is_int or kind.is_vector:
            self.report(code, f"{what} is {kind}, not an integer", spot(expr, at))
        return kind
