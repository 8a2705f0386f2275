"""The state in which one function becomes LLVM IR: names, buffers, scopes, and the ways out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tirscript.backend.recursion import FRAME as RECURSIVE_FRAME
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.dtype import FLOAT64, INT64, DType
from tirscript.ir.expr import BufferLoad, Call, Const, Expr, StringImm, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import Op
from tirscript.ir.op_sets import LAZY
from tirscript.ir.rewrite import children
from tirscript.ir.span import Span
from tirscript.ir.stmt import Stmt

from . import memory, vector_math
from .builder import FunctionText
from .convert import convert
from .expr import EXPRS, WIDE
from .ranges import Ranges
from .sites import ERROR_TYPE, VALUES, Report, Site
from .state import FAILED, FRAME_TOTAL, ModuleState, Place, Targets
from .stmt import STMTS
from .types import scalar_type, splat, value_type, vector

LOOPS = 3  # loops around a failed check whose variables are reported
DEEPEST = 128  # loops in each other that LLVM optimizes
CHEAP = 12  # nodes of an expression that is evaluated where a branch would do


class Codegen:
    """One function under construction. `value` gives the operand that holds an expression."""

    def __init__(self, state: ModuleState, func: PrimFunc) -> None:
        self.state = state
        self.func = func
        self.b = FunctionText(state.text, state.target)
        self.ranges = Ranges()
        self.values: dict[Var, str] = {}
        self.wides: dict[Var, str] = {}
        self.places: dict[Buffer, Place] = {}
        self.slots: dict[Buffer, str] = {}
        self.roots: dict[Var, Any] = {}  # what handles point into
        recursive = func.name in state.recursive
        self.depth = "%depth" if recursive else "0"  # how deep this call is nested in calls of its cycle
        self.frame = FRAME_TOTAL - RECURSIVE_FRAME if recursive else 0  # bytes that are taken
        self.blocks: list[str] = []  # of the heap, in the order of their allocation
        self.kept: dict[Buffer, str] = {}  # where the address of a buffer that a loop allocates once is
        self.scopes: list[list[str]] = []
        self.loops: list[Targets] = []
        self.deepest = 0  # loops in each other
        self.loop_vars: list[Var] = []
        self.params: list[str] = []
        self.copies = 1  # of the code now written, by unrolled loops around it
        self.in_part = False  # of a parallel loop, in a function of its own
        self.nontemporal = False  # whether stores go past the caches
        self.steady: tuple[tuple[Expr, Expr], ...] = ()  # what the innermost loop divides by in all iterations
        self.divisions: dict[Call, str] = {}  # those that stand ahead of a loop
        self.debug = state.debug
        self.flags = fast_math_flags(func)
        self.math = vector_math.mode(func)
        self.span: Span | None = func.span

    def another(self) -> Codegen:
        """A generator for one more function of the same program."""
        return type(self)(self.state, self.func)

    @property
    def group(self) -> str:
        """The attributes of the function. LLVM's time grows with the cube of how deep its loops are in each other: 200
        take it 4 seconds, 400 already 22."""
        return f"{self.state.group} noinline optnone" if self.deepest > DEEPEST else self.state.group

    # values

    def value(self, expr: Expr) -> str:
        """The operand that holds `expr`."""
        return EXPRS[type(expr)](self, expr)

    def wide(self, expr: Expr) -> str:
        """A scalar integer as an i64 of the same value, computed in 64 bits where that cannot differ."""
        kind = type(expr)
        if kind is Const:
            return str(int(expr.value))  # type: ignore[attr-defined]
        if kind is Var and expr in self.wides:
            return self.wides[expr]  # type: ignore[index]
        dtype: DType = expr.dtype
        if dtype.bits == 64:
            return self.value(expr)
        if kind is Call:
            rule = WIDE.get(expr.op.name)  # type: ignore[attr-defined]
            found = rule(self, expr) if rule is not None else None  # type: ignore[arg-type]
            if found is not None:
                return found
        return self.b.op(f"{'sext' if dtype.kind == 'int' else 'zext'} {value_type(dtype)} {self.value(expr)} to i64")

    def wide_lanes(self, expr: Expr) -> str:
        """A vector of integers as a vector of i64."""
        dtype: DType = expr.dtype
        value = self.value(expr)
        if dtype.bits == 64:
            return value
        extend = "sext" if dtype.element.kind == "int" else "zext"
        return self.b.op(f"{extend} {value_type(dtype)} {value} to {vector('i64', dtype.lanes)}")

    def bits(self, value: str, dtype: DType) -> str:
        """A float as the integer of its bits."""
        kind, integer = value_type(dtype), vector(f"i{dtype.bits}", dtype.lanes)
        return value if kind == integer else self.b.op(f"bitcast {kind} {value} to {integer}")

    def choose(self, condition: str, kind: str, yes: Callable[[], str], no: Callable[[], str]) -> str:
        """`yes()` or `no()`, of which only one is evaluated."""
        b = self.b
        then, other, end = b.block("then"), b.block("else"), b.block("end")
        b.branch(condition, then, other)
        b.start(then)
        first = yes()
        first_label = b.label
        b.jump(end)
        b.start(other)
        second = no()
        second_label = b.label
        b.jump(end)
        b.start(end)
        if kind == "void":
            return ""
        return b.phi(kind, (first, first_label), (second, second_label))

    def is_cheap(self, expr: Expr, *, loads: bool = False) -> bool:
        """Whether evaluating `expr` needlessly costs about as little as a branch, and cannot be noticed. With `loads`
        it may read elements that are certainly in memory."""
        todo: list[Expr] = [expr]
        seen = 0
        while todo:
            node = todo.pop()
            seen += 1
            if seen > CHEAP:
                return False
            kind = type(node)
            if kind is Const or kind is Var:
                continue
            if kind is Call and _is_cheap(node.op, node.dtype):  # type: ignore[attr-defined]
                todo += node.args  # type: ignore[attr-defined]
            elif kind is not BufferLoad:
                return False
            elif not node.buffer.is_scalar:  # type: ignore[attr-defined]
                if not (loads and memory.is_there(self, node)):  # type: ignore[arg-type]
                    return False
                todo += node.indices  # type: ignore[attr-defined]
        return True

    # scopes and the ways out

    def body(self, stmts: Sequence[Stmt]) -> None:
        """Statements in a scope of their own, whose allocations end with it."""
        self.scopes.append([])
        for stmt in stmts:
            if self.b.terminated:
                break
            self.stmt(stmt)
        if not self.b.terminated:
            self.release(len(self.scopes) - 1)
        self.scopes.pop()

    def stmt(self, stmt: Stmt) -> None:
        """One statement."""
        self.span = stmt.span or self.span
        STMTS[type(stmt)](self, stmt)

    def release(self, depth: int) -> None:
        """Free what the scopes above `depth` allocated."""
        for scope in reversed(self.scopes[depth:]):
            for pointer in reversed(scope):
                self.b.do(f"call void @free(ptr {pointer})")

    def leave(self, code: str) -> None:
        """Return `code` to the caller."""
        self.b.leave(code, tuple(pointer for scope in self.scopes for pointer in scope))

    @contextmanager
    def pointing(self, span: Span | None) -> Iterator[None]:
        """Checks that are made in the block point at this place."""
        before, self.span = self.span, span or self.span
        yield
        self.span = before

    def check(
        self,
        condition: str,
        kind: str,
        message: str,
        values: Callable[[], Sequence[Report]] = tuple,
        *,
        hint: str | None = None,
        buffer: Buffer | None = None,
    ) -> None:
        """Go on where the condition holds; else report the values and return."""
        b = self.b
        good, bad = b.block("checked"), b.block("failed")
        b.branch(b.op(f"xor i1 {condition}, true"), bad, good, unlikely=True)
        b.start(bad)
        self.fail(kind, message, values(), hint, buffer)
        b.start(good)

    def fail(self, kind: str, message: str, values: Sequence[Report], hint: str | None, buffer: Buffer | None) -> None:
        """Report a failed check with these values and those of the loops around, and return."""
        around = [Report(var.name, self.wides[var], INT64) for var in self.loop_vars][-LOOPS:]
        shown = [*values[: VALUES - len(around)], *around]
        names, dtypes = tuple(value.name for value in shown), tuple(value.dtype for value in shown)
        self.state.sites.append(
            Site(kind, message, self.func.name, self.span, names, dtypes, len(around), hint, buffer)
        )
        self.record(len(self.state.sites) - 1, [report.value for report in shown])
        self.leave(str(FAILED))

    def record(self, site: int, values: Sequence[str]) -> None:
        """Fill in the error record: a site and the values of its report."""
        b = self.b
        b.do(f"store i32 {site}, ptr %error, align 8")
        count = b.op(f"getelementptr inbounds {ERROR_TYPE}, ptr %error, i64 0, i32 1")
        b.do(f"store i32 {len(values)}, ptr {count}, align 4")
        for at, value in enumerate(values):
            where = b.op(f"getelementptr inbounds {ERROR_TYPE}, ptr %error, i64 0, i32 2, i64 {at}")
            b.do(f"store i64 {value}, ptr {where}, align 8")

    def passes(self, status: str) -> None:
        """Go on where a call returned 0; else return what it returned."""
        b = self.b
        good, bad = b.block("passed"), b.block("broken")
        b.branch(b.op(f"icmp ne i32 {status}, 0"), bad, good, unlikely=True)
        b.start(bad)
        self.leave(status)
        b.start(good)

    def carried(self, value: str, dtype: DType) -> str:
        """A scalar as the i64 that an error record or a call of Python carries: floats as the bits of a double."""
        if dtype.is_float:
            double = convert(self.b, value, dtype, FLOAT64)
            return self.b.op(f"bitcast double {double} to i64")
        if dtype.is_handle:
            return self.b.op(f"ptrtoint ptr {value} to i64")
        if dtype.bits == 64:
            return value
        return self.b.op(f"{'sext' if dtype.kind == 'int' else 'zext'} {value_type(dtype)} {value} to i64")

    def mentioned(self, expr: Expr) -> list[Report]:
        """The variables and elements that a condition is made of, with their values, for a report of its failure."""
        found: list[Report] = []
        seen: set[Any] = set()
        todo: list[Expr] = [expr]
        while todo:
            node = todo.pop()
            if isinstance(node, Var):
                if node in self.values and not node.dtype.is_vector and not node.dtype.is_handle and node not in seen:
                    seen.add(node)
                    found.append(Report(node.name, self.carried(self.values[node], node.dtype), node.dtype))
            elif isinstance(node, BufferLoad):
                if not node.dtype.is_vector and not node.dtype.is_handle and node.buffer not in seen:
                    found += self._element(node, len(found))
                    if node.buffer.is_scalar:
                        seen.add(node.buffer)
            else:
                below = [child for child in children(node) if isinstance(child, Expr)]
                if isinstance(node, Call) and node.op in LAZY:
                    below = below[:1]  # the other sides may not be evaluable
                todo += reversed(below)
        return found

    def _element(self, node: BufferLoad, at: int) -> list[Report]:
        """The value of an element, called by its indices."""
        value = Report(node.buffer.name, self.carried(self.value(node), node.dtype), node.dtype)
        if not node.indices:
            return [value]
        indices = [Report("", self.wide(index), INT64) for index in node.indices]
        inside = ", ".join(f"{{{at + k}}}" for k in range(len(indices)))
        return [*indices, Report(f"{node.buffer.name}[{inside}]", value.value, node.dtype)]

    def check_divisor(self, call: Call, kind: str, divisor: str) -> None:
        """In a debug build: report a divisor that is zero."""
        lanes = call.dtype.lanes
        scalar = kind if lanes == 1 else scalar_type(call.dtype)
        nonzero = self.b.op(f"icmp ne {kind} {divisor}, {splat(scalar, '0', lanes)}")
        if lanes > 1:
            nonzero = self.b.intrinsic(
                "llvm.vector.reduce.and", [vector("i1", lanes)], "i1", [(vector("i1", lanes), nonzero)]
            )
        with self.pointing(call.span):
            self.check(nonzero, "division", "integer division by zero", lambda: self.mentioned(call))


_FLAGS = ("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc")


def fast_math_flags(func: PrimFunc) -> str:
    """The fast-math flags that the attribute "fastmath" of a function asks for, as they stand before an operand's
    type: none unless it is True, which is all of them, or names some of LLVM's."""
    asked = _plain(func.attrs.get("fastmath", False))
    if asked is None or isinstance(asked, bool):
        return "fast " if asked else ""
    names = [asked] if isinstance(asked, str) else asked
    if not isinstance(names, (list, tuple)):
        raise _no_flags(func, f"`fastmath` is {asked!r}")
    for name in names:
        if name not in _FLAGS:
            near = suggest(name, _FLAGS) if isinstance(name, str) else None
            raise _no_flags(func, f"{name!r} is no fast-math flag", near)
    return "".join(f"{name} " for name in dict.fromkeys(names))


def _plain(value: Any) -> Any:
    """An attribute as Python's value."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if type(value) is Const:
        return bool(value.value) if value.dtype.is_bool else value.value
    return value.value if type(value) is StringImm else value


def _no_flags(func: PrimFunc, message: str, near: str | None = None) -> DiagnosticError:
    hint = f"did you mean {near!r}?" if near else 'write True, False, or a tuple as in `("contract", "reassoc")`'
    return DiagnosticError([error("T404", message, func.span, notes=[f"the flags are {', '.join(_FLAGS)}"], hint=hint)])


def _is_cheap(op: Op, dtype: DType) -> bool:
    """Whether evaluating `op` needlessly costs about as little as a branch, and cannot be noticed."""
    if dtype.is_float and dtype.bits < 32:
        return False
    return op.name in _CHEAP


_CHEAP = frozenset(
    [
        "add",
        "sub",
        "mul",
        "negative",
        "min",
        "max",
        "abs",
        "fma",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "logical_and",
        "logical_or",
        "logical_not",
        "if_then_else",
        "Select",
        "isnan",
        "isinf",
        "isfinite",
        "likely",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_not",
        "shift_left",
        "shift_right",
        "cast",
        "reinterpret",
        "copysign",
        "undef",
    ]
)
