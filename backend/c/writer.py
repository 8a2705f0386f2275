"""One function under construction in C: its names, buffers, scopes and ways out. `value` writes expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tirscript.ir import (
    Broadcast,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    CallFunction,
    Const,
    DiagnosticError,
    DType,
    Expr,
    Let,
    PrimFunc,
    Ramp,
    Reduce,
    Shuffle,
    Span,
    Stmt,
    StringImm,
    Var,
    children,
    error,
    walk,
)
from tirscript.ir.dtype import INT64
from tirscript.ir.expr import is_const
from tirscript.ir.op import FOREIGN
from tirscript.ir.op_sets import LAZY
from tirscript.ir.ops.fixed_point import written_out

from ..export.messages import code_of, form, told
from ..export.names import c_name, commented
from ..export.plan import CODES
from ..llvm.ranges import Ranges
from ..llvm.sites import VALUES, Site
from ..llvm.state import internal
from . import memory, ops
from .code import PLUS, TIMES, UNARY, Code, Lines, binary, call, cast, within
from .types import c_type, declared, literal, number

if TYPE_CHECKING:
    from .module import CModule

LOOPS = 3  # loops around a failed check whose variables are reported


class Report(Struct, frozen=True, eq=False):
    """A value that a failed check shows: its name, its text in C, its dtype."""

    name: str
    value: str
    dtype: DType


class Deferred(Struct, frozen=True, eq=False):
    """A value that takes statements, which must run only where it is wanted."""

    lines: list[str]
    value: str


class Writer:
    """Writes one function."""

    def __init__(self, module: CModule, func: PrimFunc) -> None:
        self.module, self.func = module, func
        self.helpers = module.helpers
        self.out = Lines()
        self.ranges = Ranges()
        self.debug = module.debug
        self.span: Span | None = func.span
        self.depth = ""  # the parameter that tells how deep a call of a recursive function is nested
        self.values: dict[Var, str] = {}
        self.places: dict[Buffer, memory.Place] = {}
        self.scopes: list[set[str]] = [set()]
        self.heap: list[list[str]] = []  # what each open body allocated
        self.loops: list[int] = []  # how many bodies are open around each loop
        self.loop_vars: list[Var] = []
        self.lane = ""  # the variable of the lane that is written
        self.careful = False  # whether memory may change while an expression is evaluated

    # names

    def name(self, hint: str) -> str:
        """A name that is new here."""
        base = c_name(hint)
        made, count = base, 0
        while made in self.module.taken or any(made in scope for scope in self.scopes):
            count += 1
            made = f"{base}_{count}"
        self.scopes[-1].add(made)
        return made

    def open(self, head: str) -> None:
        """Begin a block with names of its own."""
        self.out.open(head)
        self.scopes.append(set())

    def close(self, after: str = "") -> None:
        """End a block."""
        self.scopes.pop()
        self.out.close(after)
        if after.endswith("{"):
            self.scopes.append(set())

    # values

    def value(self, expr: Expr) -> Code:
        """The expression in C; of a vector, the lane `self.lane`."""
        found = _EXPRS[type(expr)](self, expr)
        return found if isinstance(found, Code) else Code(found)

    def exact(self, expr: Expr) -> bool:
        """Whether an integer operation is proved not to overflow."""
        return self.ranges.exact(expr)

    def once(self, expr: Expr) -> Code:
        """The value, in a variable where writing it twice would compute it twice."""
        if type(expr) in (Var, Const):
            return self.value(expr)
        return self.keep(self.value(expr), expr.dtype, "value")

    def keep(self, text: str, dtype: DType, hint: str) -> Code:
        """A variable that holds a value."""
        made = self.name(hint)
        kind = c_type(dtype)
        self.out.add(f"{kind if kind.endswith('*') else f'const {kind} '}{made} = {text};")
        return Code(made)

    def index(self, expr: Expr) -> Code:
        """An index: where 64 bits may wrap, they do so as unsigned numbers, which an address does not tell apart."""
        if type(expr) is Call and expr.dtype is INT64 and expr.op.name in ops._SIGNS and not self.exact(expr):
            sign, prec = ops._SIGNS[expr.op.name]
            a, b = (self.index(arg) for arg in expr.args)
            first = a if "(uint64_t)" in a or "(uint64_t)" in b else cast("uint64_t", a)
            return binary(first, sign, b, prec)
        if type(expr) is Const:
            return number(int(expr.value), expr.dtype)
        return self.value(expr)

    def lazily(self, expr: Expr) -> Code | Deferred:
        """A value that is evaluated only where its text stands."""
        outer, self.out = self.out, Lines()
        value = self.value(expr)
        lines = self.out.lines
        self.out = outer
        return Deferred(lines, value) if lines else value

    def branches(self, test: str, yes: str | Deferred, no: str | Deferred, dtype: DType) -> Code:
        """One of two values by an `if`, for values that take statements."""
        made = self.name("chosen")
        self.out.add(f"{declared(dtype, made)};")
        self.out.open(f"if ({test})")
        for at, side in enumerate((yes, no)):
            if at:
                self.out.close(" else {")
            if isinstance(side, Deferred):
                self.out.add("\n".join(line[2:] for line in side.lines))
            self.out.add(f"{made} = {side.value if isinstance(side, Deferred) else side};")
        self.out.close()
        return Code(made)

    def branch(self, test: str, second: Deferred, yes: str | None, no: str | None, dtype: DType) -> Code:
        """`and` and `or` whose second operand takes statements."""
        return self.branches(test, yes or second, no or second, dtype)

    def materialized(self, expr: Expr, hint: str = "lanes") -> Code:
        """A vector as an array of its lanes."""
        made = self.name(hint)
        self.out.add(f"{declared(expr.dtype, made)}[{expr.dtype.lanes}];")
        self.each_lane(expr.dtype.lanes, lambda: self.out.add(f"{made}[{self.lane}] = {self.value(expr)};"))
        return Code(made)

    def each_lane(self, lanes: int, write: Callable[[], None]) -> None:
        """A loop over lanes around what `write` writes."""
        before = self.lane
        self.scopes.append(set())
        self.lane = self.name("lane")
        self.out.open(f"for (int {self.lane} = 0; {self.lane} < {lanes}; ++{self.lane})")
        write()
        self.out.close()
        self.scopes.pop()
        self.lane = before

    def repacked(self, source: Expr, want: DType) -> Code:
        """The bytes of a vector as another number of lanes."""
        held = self.materialized(source) if source.dtype.is_vector else self.once(source)
        made = self.name("bytes")
        lanes = f"[{want.lanes}]" if want.is_vector else ""
        self.out.add(f"{declared(want, made)}{lanes};")
        first = "" if want.is_vector else "&"
        second = "" if source.dtype.is_vector else "&"
        self.out.add(f"memcpy({first}{made}, {second}{held}, {want.itemsize});")
        return Code(f"{made}[{self.lane}]" if want.is_vector else made)

    def address(self, expr: Expr) -> Code:
        """The address of an element."""
        assert isinstance(expr, BufferLoad)
        return memory.address(self, expr.buffer, expr.indices)

    # scopes and the ways out

    def body(self, stmts: Sequence[Stmt]) -> None:
        """Statements whose allocations end with them."""
        from .stmts import STMTS

        self.heap.append([])
        ended = False
        for stmt in stmts:
            self.span = stmt.span or self.span
            if stmt.trivia is not None:
                self.comments(stmt)
            ended = bool(STMTS[type(stmt)](self, stmt))
            if ended:
                break
        if not ended:
            self.release(len(self.heap) - 1)
        self.heap.pop()

    def comments(self, stmt: Stmt) -> None:
        """The comments above and beside a statement."""
        assert stmt.trivia is not None
        for line in (*stmt.trivia.before, stmt.trivia.beside):
            text = line.strip().lstrip("#").strip()
            if text:
                self.out.add(f"/* {commented(text)} */")

    def release(self, depth: int) -> None:
        """Free what the bodies from `depth` on have allocated."""
        for scope in reversed(self.heap[depth:]):
            for pointer in reversed(scope):
                self.out.add(f"{self.helpers.need('release')}({pointer});")

    def leave(self, code: str) -> None:
        """Return a status."""
        self.release(0)
        self.out.add(f"return {code};")

    def passes(self, call_text: str) -> None:
        """Go on where a call returned 0, else return what it returned."""
        status = self.name("status")
        self.out.add(f"const int32_t {status} = {call_text};")
        self.out.open(f"if ({status} != 0)")
        self.leave(status)
        self.out.close()

    def check(
        self,
        condition: str,
        kind: str,
        message: str,
        values: Callable[[], Sequence[Report]] = tuple,
    ) -> None:
        """Go on where the condition holds, else say what was wrong and return."""
        self.out.open(f"if (!{within(condition, UNARY)})")
        self.fail(kind, message, values)
        self.out.close()

    def fail(self, kind: str, message: str, values: Callable[[], Sequence[Report]] = tuple) -> None:
        """Say what was wrong and return."""
        around = [Report(var.name, self.values[var], INT64) for var in self.loop_vars][-LOOPS:]
        shown = [*list(values())[: VALUES - len(around)], *around]
        names, dtypes = tuple(one.name for one in shown), tuple(one.dtype for one in shown)
        site = Site(kind, message, self.func.name, self.span, names, dtypes, len(around))
        text, pieces = told(site)
        args = [self.carried(shown[piece.at].value, piece.plus, piece.dtype) for piece in pieces]
        code = f"TIRSCRIPT_{CODES[code_of(site)][0]}"
        self.leave(f"fail({', '.join([code, quoted(text), *args])})")

    def carried(self, value: str, plus: int, kind: DType) -> str:
        """A value as the variable arguments of printf take it."""
        if kind.is_float:
            return cast("double", ops.widen(self, value, kind))
        made = cast("unsigned long long" if form(kind) == "%llu" else "long long", value)
        return binary(made, "-", str(-plus), PLUS) if plus else made

    def check_divisor(self, node: Call) -> None:
        """In a debug build: say where a divisor is zero."""
        divisor = node.args[1]
        if divisor.dtype.is_vector and not self.lane:
            raise internal("a division of vectors outside of their lanes", self.span)
        value = self.value(divisor)
        self.check(
            Code(f"{within(value, PLUS)} != 0", 9), "division", "integer division by zero", lambda: self.mentioned(node)
        )

    def mentioned(self, expr: Expr) -> list[Report]:
        """The variables and elements that a condition is made of, with their values."""
        found: dict[str, Report] = {}
        todo: list[Expr] = [expr]
        while todo:
            node = todo.pop()
            plain = isinstance(node, Expr) and not node.dtype.is_vector and not node.dtype.is_handle
            if type(node) is Var:
                if plain and node in self.values:
                    found.setdefault(node.name, Report(node.name, self.values[node], node.dtype))
            elif type(node) is BufferLoad:
                if plain and node.buffer.is_scalar:
                    found.setdefault(node.buffer.name, Report(node.buffer.name, self.value(node), node.dtype))
                elif plain and all(not index.dtype.is_vector for index in node.indices):
                    self._element(node, found)
            else:
                below = [child for child in children(node) if isinstance(child, Expr)]
                if type(node) is Call and node.op in LAZY:
                    below = below[:1]  # the other sides may not be evaluable
                todo += reversed(below)
        return list(found.values())

    def _element(self, node: BufferLoad, found: dict[str, Report]) -> None:
        """The value of an element, called by its indices."""
        at = len(found)
        key = f"{node.buffer.name}[{', '.join(f'{{{at + k}}}' for k in range(len(node.indices)))}]"
        for index in node.indices:
            found[f"{key} {len(found)}"] = Report("", self.value(index), index.dtype)
        found[key] = Report(key, self.value(node), node.dtype)


def quoted(text: str) -> str:
    """A string literal of C."""
    parts = []
    for byte in text.encode("utf-8", "replace"):
        char = chr(byte)
        parts.append(f"\\{char}" if char in '"\\' else char if 32 <= byte < 127 and char != "?" else f"\\{byte:03o}")
    return f'"{"".join(parts)}"'


# expressions


def _const(w: Writer, expr: Const) -> str:
    text = literal(expr.value, expr.dtype)
    return Code(text, UNARY) if text.startswith("-") else text


def _var(w: Writer, expr: Var) -> str:
    found = w.values.get(expr)
    if found is None:
        raise internal(f"`{expr.name}` is used where it has no value", expr.span or w.span)
    return f"{found}[{w.lane}]" if expr.dtype.is_vector else found


def _string(w: Writer, expr: StringImm) -> str:
    return cast("void *", quoted(expr.value))


def _call(w: Writer, expr: Call) -> str:
    rule = ops.rule_of(expr.op)
    if rule is None and expr.op.name in FOREIGN:
        meaning = written_out(expr)
        if meaning is not None:
            return w.value(meaning)
        message = f"`{expr.op.spelling}` is not supported by the target, C for a CPU"
        raise DiagnosticError([error("T402", message, expr.span or w.span)])
    if rule is None:
        raise internal(f"there is no rule for `{expr.op.spelling}`", expr.span or w.span)
    return rule(w, expr)


def _call_function(w: Writer, expr: CallFunction) -> str:
    from .calls import call_function

    return call_function(w, expr)


def _load(w: Writer, expr: BufferLoad) -> str:
    return memory.load(w, expr)


def _data(w: Writer, expr: BufferData) -> str:
    return memory.place(w, expr.buffer).data


def _ramp(w: Writer, expr: Ramp) -> str:
    base, stride, kind = w.value(expr.base), expr.stride, expr.dtype.element
    if w.exact(expr) and kind.bits >= 32:
        step: str = Code(w.lane) if is_const(stride, 1) else binary(w.lane, "*", w.index(stride), TIMES)
        if is_const(expr.base, 0) and kind.bits == 32:
            return step
        return binary(base, "+", step, PLUS)
    product = call(w.helpers.need("mul", kind), cast(c_type(kind), w.lane), w.value(stride))
    return call(w.helpers.need("add", kind), base, product)


def _broadcast(w: Writer, expr: Broadcast) -> str:
    c_type(expr.dtype)  # refuses scalable vectors
    return w.value(expr.value)


def _let(w: Writer, expr: Let) -> str:
    bind(w, expr.var, expr.value)
    return w.value(expr.body)


def _shuffle(w: Writer, expr: Shuffle) -> str:
    held = []
    for vector in expr.vectors:
        held.append((w.materialized(vector), vector.dtype.lanes) if vector.dtype.is_vector else (w.once(vector), 0))
    lanes = [f"{text}[{lane}]" if count else text for text, count in held for lane in range(max(1, count))]
    if not expr.dtype.is_vector:
        return lanes[expr.indices[0]]
    made = w.name("shuffled")
    chosen = ", ".join(lanes[index] for index in expr.indices)
    w.out.add(f"{declared(expr.dtype, made)}[{expr.dtype.lanes}] = {{{chosen}}};")
    return f"{made}[{w.lane}]"


def _reduce(w: Writer, expr: Reduce) -> str:
    message = "a `T.Reduce` must be lowered before code generation"
    hint = "run the lowering passes, or build with the default pipeline"
    raise DiagnosticError([error("T401", message, expr.span or w.span, hint=hint)])


def bind(w: Writer, var: Var, value: Expr) -> None:
    """Give a variable its value."""
    if var.dtype.is_int and not var.dtype.is_vector:
        w.ranges.enter(var, w.ranges.of(value))
    if var.dtype.is_handle:
        w.module.roots[var] = memory.root_of(w, value)
    if var.dtype.is_vector:
        w.values[var] = w.materialized(value, var.name)
        return
    text = w.value(value)
    w.values[var] = w.keep(text, var.dtype, var.name)


def is_opaque(expr: Any) -> bool:
    """Whether evaluating may change memory."""
    return any(type(node) is CallFunction or (type(node) is Call and node.op.effect == "opaque") for node in walk(expr))


_EXPRS: dict[type, Callable[[Writer, Any], str]] = {
    Const: _const,
    Var: _var,
    StringImm: _string,
    Call: _call,
    CallFunction: _call_function,
    BufferLoad: _load,
    BufferData: _data,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Let: _let,
    Shuffle: _shuffle,
    Reduce: _reduce,
}

__all__ = ["Deferred", "Report", "Writer", "bind", "is_opaque", "quoted"]
