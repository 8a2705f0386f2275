"""The one table of tensor-IR operators and intrinsics.

An operator is one entry (`ops/*.py`, by family). The parser resolves `T.name` here, the printer spells and
parenthesizes from it, typing, interpreter, LLVM and the documentation read it. The table imports neither numpy nor
llvmlite: it holds names.
"""

from __future__ import annotations

import inspect
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from msgspec import Struct

from .diagnostic import Diagnostic, DiagnosticError
from .dtype import BOOL, FLOAT32, INT32, VOID, DType, dtype
from .expr import Broadcast, BufferData, Call, CommReducer, Expr, Var, literal, round_float
from .expr import const as const  # passes find it beside the operators
from .words import EntryDoc, EntrySignature, call_it, counted, without_annotations, words

Operand = Any  # an Expr or a Python number

ANY, INTS, FLOATS, NUMS, BOOLS, INTBOOLS = "any", "ints", "floats", "nums", "bools", "intbools"
_ACCEPTS: dict[str, Callable[[DType], bool]] = {
    ANY: lambda d: d is not VOID,
    INTS: lambda d: d.is_int,
    FLOATS: lambda d: d.is_float,
    NUMS: lambda d: d.is_int or d.is_float,
    BOOLS: lambda d: d.is_bool,
    INTBOOLS: lambda d: d.is_int or d.is_bool,
}
_WORDS = {
    INTS: "integers",
    FLOATS: "floats",
    NUMS: "numbers",
    BOOLS: "bools",
    ANY: "values",
    INTBOOLS: "integers or bools",
}


class Op(Struct, frozen=True, eq=False, weakref=True):
    """One operator or intrinsic. Calling it builds a `Call` with the language's typing rules.

    name:       what T calls it (`T.name`), unless it has a `symbol`
    arity:      least and greatest number of arguments
    operands:   which dtypes the arguments of the unified group take (ANY, INTS, FLOATS, NUMS, BOOLS)
    group:      slice of the arguments that must agree in dtype: literals adapt, narrower ones are cast; what stands
                before it is a condition, and what stands behind it are integers, one for each lane
    params:     the names of the arguments, which are those of apache-tvm's function (see `parameters`)
    result:     "same" as the group, or a dtype name
    numpy:      the numpy function of that meaning, by name (None: the interpreter has a rule under the op's name)
    llvm:       an LLVM intrinsic ("llvm.exp"), a libm symbol ("libm:tan"), or None: the backend has a rule of that name
    symbol:     Python's operator, with its `precedence` as the printer counts it
    method:     the special methods of Expr that build it
    dtype_arg:  "first" or "last" where the call carries its dtype as an argument (`T.cast(x, "float32")`)
    make:       builds the Call from the user's arguments where the general rule does not fit
    effect:     "pure", "read", "write" or "opaque"
    tvm:        its name in TVM's dialect where that differs
    """

    name: str
    arity: tuple[int, int]
    operands: str
    doc: str
    group: tuple[int, int | None] = (0, None)
    params: str = ""
    result: str = "same"
    numpy: str | None = None
    llvm: str | None = None
    symbol: str | None = None
    precedence: int = 0
    method: str | None = None
    dtype_arg: str | None = None
    make: Callable[..., Expr] | None = None
    effect: str = "pure"
    tvm: str | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Expr:
        try:
            if self.make is not None:
                return self.make(*args, **kwargs)
            return build(self, self.by_place(args, kwargs) if kwargs else list(args))
        except (AttributeError, TypeError):
            from .wellformed.fields import refuse_unreadable

            refuse_unreadable(args, tuple(kwargs.values()))  # of nodes made by hand
            raise

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments, where the general rule builds the call: x alone, two a and b."""
        low, high = self.arity
        if low != high or self.make is not None:
            return ()
        return tuple(self.params.split()) or (("x",) if high == 1 else tuple("abcdefgh"[:high]))

    def by_place(self, args: Sequence[Any], named: Mapping[str, Any], called: str | None = None) -> list[Any]:
        """All arguments by place; TypeError where the names do not complete them, of the function as it is `called`."""
        if not named:
            return [*args]
        names, called = self.parameters, called or f"T.{self.name}"
        wrong = self.misfit(len(args), named)
        if wrong in names:
            raise TypeError(f"`{called}`: `{wrong}` is given twice")
        if wrong is not None:
            takes = ", ".join(f"`{name}`" for name in names) or "its arguments by place"
            raise TypeError(f"`{called}` has no argument `{wrong}`; it takes {takes}")
        for name in names[len(args) :]:
            if name not in named:
                raise TypeError(f"`{called}`: `{name}` is missing")
        return [*args, *(named[name] for name in names[len(args) :])]

    def misfit(self, count: int, named: Iterable[str]) -> str | None:
        """The first name that is given beside `count` arguments by place and is one of theirs, or of no argument."""
        free = self.parameters[count:]
        return next((name for name in named if name not in free), None)

    @property
    def spelling(self) -> str:
        """How messages name it."""
        return self.symbol or f"T.{self.name}"

    def _signature(self) -> inspect.Signature:
        if self.make is not None:
            return without_annotations(inspect.signature(self.make))
        if not self.parameters and self.arity[1]:
            return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in self.parameters])

    __signature__ = EntrySignature(_signature)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return get_op, (self.name,)


Op.__doc__ = EntryDoc(Op.__doc__, lambda entry: f"T.{entry.name}")  # type: ignore[assignment]
call_it(Expr, "value of the program")
call_it(BufferData, "address")
call_it(DType, "dtype", str)
call_it(Op, "function", lambda entry: f"T.{entry.name}")
call_it(CommReducer, "combiner of a reduction")

OPS: dict[str, Op] = {}
ALIASES: dict[str, str] = {}
# intrinsics that programs may hold and that are not run here (ops/foreign.py)
FOREIGN: dict[str, Op] = {}


def op(name: str, arity: int | tuple[int, int], operands: str, *, aliases: tuple[str, ...] = (), **fields: Any) -> Op:
    """Add an entry to the table and return it."""
    low, high = (arity, arity) if isinstance(arity, int) else arity
    if name in OPS:
        raise ValueError(f"operator {name} is defined twice")
    entry = OPS[name] = Op(name, (low, high), operands, **fields)
    for alias in aliases:
        ALIASES[alias] = name
    if entry.method is not None:
        _install(entry, entry.method)
    return entry


def get_op(name: str) -> Op:
    """The entry of that name or alias; KeyError where there is none."""
    found = OPS.get(ALIASES.get(name, name))
    return FOREIGN[name] if found is None else found


_computing = threading.local()


@contextmanager
def comparisons_as_values() -> Iterator[None]:
    """While a Python function of the user's computes with values of a program, its own `==` and `!=` make expressions,
    as `<` does; those of this package go on comparing programs."""
    before = getattr(_computing, "on", False)
    _computing.on = True
    try:
        yield
    finally:
        _computing.on = before


def _install(entry: Op, method: str) -> None:
    if method in ("eq", "ne"):
        for cls in (Expr, Var):
            _install_comparison(cls, entry, f"__{method}__")
        return
    if entry.arity == (1, 1):
        setattr(Expr, f"__{method}__", lambda self: entry(self))
        return
    setattr(Expr, f"__{method}__", lambda self, other: entry(self, other))
    if method not in ("lt", "le", "gt", "ge"):
        setattr(Expr, f"__r{method}__", lambda self, other: entry(other, self))


def _install_comparison(cls: type[Expr], entry: Op, method: str) -> None:
    programs = getattr(cls, method)

    def compared(self: Expr, other: object) -> Any:
        if getattr(_computing, "on", False) and isinstance(other, (Expr, int, float)):
            asked_by = str(sys._getframe(1).f_globals.get("__name__"))
            if asked_by.partition(".")[0] != __name__.partition(".")[0]:
                return entry(self, other)
        return programs(self, other)

    setattr(cls, method, compared)


def fail(code: str, message: str, hint: str | None = None) -> DiagnosticError:
    """A diagnostic without a place; the front end adds the span of the expression it was building."""
    return DiagnosticError([Diagnostic(code, message, hint=hint)])


def build(entry: Op, args: list[Operand]) -> Expr:
    """The Call of `entry` on `args`: literals take the dtype of the other operands, narrower operands are cast."""
    low, high = entry.arity
    if not low <= len(args) <= high:
        wanted = str(low) if low == high else f"{low} to {high}"
        raise fail("T101", f"`{entry.spelling}` takes {counted(wanted, 'argument')}, not {len(args)}")
    if entry.operands != ANY or entry.symbol in ("==", "!="):
        for arg in args:
            if isinstance(arg, str):
                kinds = "numbers and pointers" if entry.operands == ANY else _WORDS[entry.operands]
                raise fail("T104", f"`{entry.spelling}` takes {kinds}, not a string")
    first, last = entry.group
    stop = len(args) if last is None else last
    joint = unify(entry, args[first:stop])
    if first:
        joint = _chosen(entry, as_expr(args[0]).dtype, joint)
    kind = joint[0].dtype
    whole = joint
    if len(joint) != len(args):
        whole = [*map(as_expr, args[:first]), *joint, *_integers(entry, args[stop:], kind)]
    if entry.result == "same":
        result: DType = kind
    else:
        result = dtype(entry.result)
        if kind.is_vector:
            result = result.with_lanes(kind.lanes, kind.scalable)
    if first and whole[0].dtype.element is not BOOL:
        raise fail("T102", f"the condition of `{entry.spelling}` is {whole[0].dtype}, not bool", "compare it: `x != 0`")
    return Call(entry, tuple(whole), result)


def as_expr(value: Operand, to: DType | None = None) -> Expr:
    """An operand as an expression; a bare number becomes a constant of dtype `to` (int32, float32 or bool alone)."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, str):
        from .expr import StringImm

        return StringImm(str.__str__(value))  # also of a class of its own
    try:
        return literal(value, to)
    except ValueError as error:
        raise fail("T103", str(error), literal_hint(value, to)) from None
    except TypeError:
        from .buffer import Buffer

        hint = f"take an element: `{value.name}[...]`" if isinstance(value, Buffer) else None
        if value is None:
            hint = "elements are numbers, and always have a value"
        if isinstance(value, Op):
            hint = f"call it: `T.{value.name}(...)`"
        if isinstance(value, (tuple, list)):
            hint = "a value is one number: take its items one by one"
        if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "strides") and hint is None:
            hint = "take elements of a constant of the program: `K = T.allocate_const(array, dtype, shape)`"
        raise fail("T104", f"{words(value)} is not a value of the program", hint) from None


def literal_hint(value: object, to: DType | None) -> str | None:
    """The way out for a literal that does not fit its type `to`, which is that of a literal alone where it is None."""
    kind = FLOAT32 if to is None and isinstance(value, float) else to or INT32
    if kind.is_float:
        return None if isinstance(value, Expr) else _float_hint(value, kind.element)
    if not isinstance(value, Integral):  # numpy's integers are, too
        return None
    number = int(value)
    low, high = (number, number) if to is None else to.int_range()
    wider = next((kind for kind in map(dtype, _WIDER) if _within(kind, min(low, number), max(high, number))), None)
    if to is None:
        return None if wider is None else f"give the literal a type that holds it, such as `T.{wider}(...)`"
    hints = []
    if wider is not None:
        hints.append(f'{wider} holds it: cast what stands beside it, `x.astype("{wider}")`, or declare that so')
    if not to.is_bool and -(1 << to.bits - 1) <= number < 1 << to.bits:
        hints.append(f"as {to} its bits are `{(number - low) % (1 << to.bits) + low}`")
    return "; ".join(hints) or None


def _float_hint(value: Any, to: DType) -> str:
    """The way out for a number, of numpy's too, that a float type has no value near to."""
    number = int(value) if isinstance(value, Integral) else float(value)
    if number <= 0 and math.isnan(round_float(-1.0, to)):
        return f"{to} holds numbers above 0 alone; `T.float32(...)` holds others"
    below = number < 0
    if math.isinf(round_float(math.inf, to)):
        hint = f'an infinity is `float("{"-inf" if below else "inf"}")`'
    else:
        limit = f'`T.{"min" if below else "max"}_value("{to}")`'
        hint = f"it has no infinity: {limit} is the {'least' if below else 'greatest'} value"
    greater = to.bits < 64 and abs(number) < 1 << 1023
    return hint + ("; `T.float64(...)` holds greater numbers" if greater else "")


_WIDER = ("int16", "int32", "int64", "uint64")


def _within(kind: DType, least: int, greatest: int) -> bool:
    """Whether an integer type holds the numbers between two."""
    low, high = kind.int_range()
    return low <= least and greatest <= high


def unify(entry: Op, args: list[Operand]) -> list[Expr]:
    """Operands brought to one dtype by the rules of docs/language.md, "Meaning"."""
    accepts = _ACCEPTS[entry.operands]
    common: DType | None = None
    mixed = False
    literals: list[Operand] = []
    for arg in args:
        if isinstance(arg, Expr):
            kind = arg.dtype
            if common is None:
                common = kind
            elif kind is not common:
                common = join(entry.spelling, common, kind)
                mixed = True
        else:
            literals.append(arg)
    if common is None:
        common = _literal_dtype(entry, literals)
    elif literals and any(isinstance(arg, float) for arg in literals) and common.is_int:
        common, mixed = FLOAT32.with_lanes(common.lanes, common.scalable), True
    if not accepts(common.element):
        kinds = _WORDS[entry.operands]
        hint = 'cast it: `x.astype("float32")`, or `T.float32(...)` for a literal' if entry.operands == FLOATS else None
        if entry.name == "pow" and common.is_int:
            hint = "multiply, as in `x * x`, or cast it to a float"
        if entry.operands == BOOLS:
            hint = f"compare it: `x {'==' if entry.name == 'logical_not' else '!='} 0`"
        elif (entry.operands == INTS and common.is_float) or (entry.operands == NUMS and common.is_bool):
            hint = 'cast it: `x.astype("int32")`'
        if entry.operands == INTBOOLS and entry.symbol in ("&", "|"):
            word = "and" if entry.symbol == "&" else "or"
            hint = f"join conditions with `{word}`: `{entry.symbol}` binds more tightly than comparisons"
        if entry.symbol == "^" and common.is_float:
            hint = "a power is `x ** y`"
        if entry.name == "div" and common.is_int:
            hint = "use `//` (floor), `T.truncdiv`, or cast an operand to a float"
        raise fail("T105", f"`{entry.spelling}` takes {kinds}, not {common}", hint)
    if not mixed and not literals:
        return args
    return [_adapt(entry, arg, common) for arg in args]


def _chosen(entry: Op, test: DType, values: list[Expr]) -> list[Expr]:
    """The values that a condition chooses between, one for each of its lanes."""
    kind = values[0].dtype
    if not test.is_vector or (test.lanes, test.scalable) == (kind.lanes, kind.scalable):
        return values
    if kind.is_vector:
        raise fail("T106", f"`{entry.spelling}` of {test} and {kind}: the numbers of lanes differ")
    return [Broadcast(value, test.lanes, test.scalable) for value in values]


def _integers(entry: Op, args: list[Operand], kind: DType) -> list[Expr]:
    """The arguments behind the group, of dtype `kind`."""
    found = []
    for arg in map(as_expr, args):
        if kind.is_vector and not arg.dtype.is_vector:
            arg = Broadcast(arg, kind.lanes, kind.scalable)
        problem = integer_problem(entry, arg.dtype, kind)
        if problem is not None:
            raise fail(*problem)
        found.append(arg)
    return found


def integer_problem(entry: Op, have: DType, kind: DType) -> tuple[str, str, str | None] | None:
    """What is wrong with an argument behind the group, of dtype `kind`: code, message and way out."""
    if not have.is_int:
        return (
            "T105",
            f"the last argument of `{entry.spelling}` is an integer, not {have}",
            'cast it: `n.astype("int32")`',
        )
    if (have.lanes, have.scalable) != (kind.lanes, kind.scalable):
        return "T106", f"`{entry.spelling}` of {kind} and {have}: the numbers of lanes differ", None
    return None


def _literal_dtype(entry: Op, literals: list[Operand]) -> DType:
    if any(isinstance(arg, float) for arg in literals):
        return FLOAT32
    if literals and all(isinstance(arg, bool) for arg in literals):
        return BOOL
    if entry.operands == FLOATS:
        return FLOAT32
    return as_expr(literals[0]).dtype if literals else INT32


def _adapt(entry: Op, arg: Operand, to: DType) -> Expr:
    if isinstance(arg, Expr):
        if arg.dtype is to:
            return arg
        if to.is_vector and not arg.dtype.is_vector:
            return Broadcast(cast(arg, to.element), to.lanes, to.scalable)
        return cast(arg, to)
    if isinstance(arg, bool) and not to.element.is_bool:
        raise fail("T105", f"`{entry.spelling}` of a bool and {to}", "write 1 or 0")
    if to.is_vector:
        return Broadcast(as_expr(arg, to.element), to.lanes, to.scalable)
    return as_expr(arg, to)


def join(spelling: str, a: DType, b: DType) -> DType:
    """The dtype that operands of dtypes `a` and `b` of an operator meet in, or a diagnostic."""
    if a is b:
        return a
    if a.lanes != b.lanes or a.scalable != b.scalable:
        if a.is_vector and b.is_vector:
            raise fail("T106", f"`{spelling}` of {a} and {b}: the numbers of lanes differ")
        element = join(spelling, a.element, b.element)
        wide = a if a.is_vector else b
        return element.with_lanes(wide.lanes, wide.scalable)
    if a.is_vector:
        return join(spelling, a.element, b.element).with_lanes(a.lanes, a.scalable)
    if a.is_float and b.is_float:
        if a.bits == b.bits:
            raise fail("T107", f"`{spelling}` of {a} and {b}: neither holds the other", "cast one of them")
        return a if a.bits > b.bits else b
    if a.is_float and b.is_int:
        return a
    if b.is_float and a.is_int:
        return b
    if a.is_int and b.is_int and a.kind == b.kind:
        return a if a.bits > b.bits else b
    if a.is_int and b.is_int:
        raise fail("T107", f"`{spelling}` of {a} and {b}: signed with unsigned", _signed_hint(a, b))
    raise fail("T107", f"`{spelling}` of {a} and {b}", "cast one of them")


def _signed_hint(a: DType, b: DType) -> str:
    """The way out for a signed and an unsigned integer: the least signed type that holds the values of both."""
    signed, unsigned = (b, a) if a.kind == "uint" else (a, b)
    if signed.bits > unsigned.bits:
        return f'cast the unsigned one: `x.astype("{signed}")` keeps its value'
    if unsigned.bits < 64:
        return f'cast both: `x.astype("int{2 * unsigned.bits}")` keeps the value of either'
    return f'cast one of them, as in `x.astype("{a}")`'


def cast(value: Operand, to: object) -> Expr:
    """`value` converted to the dtype `to`; itself where it already has that dtype."""
    kind = dtype(to)
    expr = as_expr(value)
    have: DType = expr.dtype
    if have is kind:
        return expr
    if VOID in (have, kind):
        raise fail("T108", f"cannot cast {have} to {kind}: void has no values")
    if have.is_handle != kind.is_handle:
        raise fail("T108", f"cannot cast {have} to {kind}", "use `T.reinterpret`")
    if kind.lanes != have.lanes:
        if not have.is_vector:
            return Broadcast(cast(expr, kind.element), kind.lanes, kind.scalable)
        if kind.is_vector:
            raise fail("T106", f"cannot cast {have} to {kind}: the numbers of lanes differ")
        kind = kind.with_lanes(have.lanes, have.scalable)
    return Call(OPS["cast"], (expr,), kind)


def wraps(value: object) -> bool:
    """Whether it is a sum, difference or product of integers of 16 bits or less, which are soon too few."""
    return (
        isinstance(value, Call)
        and value.op.name in ("add", "sub", "mul")
        and value.dtype.element.is_int
        and value.dtype.bits <= 16
    )


def convert(value: Operand, to: DType, what: str = "the value") -> Expr:
    """`value` as stored into `to`: int to float and wider of one kind are implicit, losing conversions a diagnostic."""
    if not isinstance(value, Expr):
        if isinstance(value, str):
            raise fail("T104", f"{what} is a string, but its place holds {to}")
        if isinstance(value, float) and not to.element.is_float:
            least, most = to.element.int_range() if to.element.is_int else (1, 0)
            whole = value.is_integer() and least <= value <= most
            hint = f"write `{int(value)}`" if whole else f'cast it: `T.cast({value!r}, "{to}")`'
            raise fail("T110", f"{what} is the float {value!r}, but its place holds {to}", hint)
        if isinstance(value, bool) and not to.element.is_bool:
            raise fail("T110", f"{what} is a bool, but its place holds {to}", "write 1 or 0")
        if to.is_vector:
            return Broadcast(as_expr(value, to.element), to.lanes, to.scalable)
        return as_expr(value, to)
    have: DType = value.dtype
    if have is to:
        return value
    if to.is_vector and not have.is_vector:
        return Broadcast(convert(value, to.element, what), to.lanes, to.scalable)
    if have.lanes == to.lanes and have.scalable == to.scalable:
        if have.is_handle and to.is_handle:
            return value
        widens = have.kind == to.kind and have.bits < to.bits
        widens |= have.is_float and to.is_float and have.bits < to.bits
        if widens or (have.is_int and to.is_float):
            return cast(value, to)
    hint = f'cast it: `x.astype("{to.element}")`'
    if to.is_int and have.bits < to.bits and wraps(value):
        hint = f'cast what it combines, as in `a.astype("{to.element}")`: in {have} it wraps'
    if have is VOID:
        hint = "what a function without a result gives stands in the elements of its parameters"
    elif have.lanes != to.lanes:  # which no cast changes
        hint = f"lanes of the place: {to.lanes}, of the value: {have.lanes}; give both as many"
    raise fail("T110", f"{what} is {have}, but its place holds {to}", hint)
