"""The caller's arguments, checked against a function's parameters: arrays, scalars and symbolic dimensions.

Both the interpreter and the native entry's slow path bind here, so that a mistake is told in the same words.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tirscript.ir import (
    Buffer,
    Diagnostic,
    DiagnosticError,
    DType,
    Expr,
    MatchBuffer,
    PrimFunc,
    Span,
    Var,
    error,
    free_vars,
    recursion_room,
    suggest,
)
from tirscript.ir.words import arguments_named, counted, miscounted, parenthesized, with_article
from tirscript.ir.written import written_params

from .arrays import ArrayProblem, address_of, as_array, plain_array, raised

MAX_BITS = 1 << 10  # of an integer that a message shows; Python refuses to write over 4,300 digits
MAX_TEXT = 400  # characters of any other value

Param = Var | Buffer


class BoundArguments(Struct, frozen=True, eq=False):
    """What a call passes: the array of each buffer and handle parameter (None for a null handle), the values of the
    scalars, rounded
    to their dtypes, and the values of the symbolic dimensions."""

    arrays: dict[Param, np.ndarray[Any, Any] | None]
    scalars: dict[Var, int | float | bool]
    symbols: dict[Var, int]


class Actual(Struct, frozen=True, eq=False):
    """A buffer as it comes to a parameter: shape and strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


def bind_arguments(
    func: PrimFunc, args: Sequence[Any], kwargs: Mapping[str, Any], *, written: Iterable[Param] | None = None
) -> BoundArguments:
    """The arguments of a call of `func`, checked: count, names, dtype, dimensions, shape, strides, alignment, writable.

    `written` are the parameters that must be writable (found by `written_params` where None). Raises DiagnosticError
    with all
    that is wrong.
    """
    given = _assign(func, args, kwargs)
    needs_write = written_params(func) if written is None else frozenset(written)
    problems: list[Diagnostic] = []
    arrays: dict[Param, np.ndarray[Any, Any] | None] = {}
    scalars: dict[Var, int | float | bool] = {}
    actuals: dict[Buffer, Actual] = {}
    for param, value in given.items():
        buffer = buffer_of(func, param)
        try:
            if buffer is not None:
                array = as_array(value, buffer, param in needs_write)
                arrays[param] = array
                actual = _actual(array, buffer)
                _check_alignment(array, buffer)
                actuals[buffer] = actual
            elif param.dtype.is_handle:
                arrays[param] = handle_argument(value, param.name, param.dtype.pointee, param in needs_write)
            else:
                scalars[param] = scalar_argument(value, param.dtype)  # type: ignore[index]
        except ArrayProblem as problem:
            problems.append(_problem(func, param, problem, param in needs_write))
    if problems:
        raise DiagnosticError(problems)
    symbols = match_shapes(func, actuals, scalars, written=needs_write)
    return BoundArguments(arrays, scalars, symbols)


def buffer_of(func: PrimFunc, param: Param) -> Buffer | None:
    """The buffer a parameter stands for: itself, or what a handle is matched to at the head of the body; else None."""
    if isinstance(param, Buffer):
        return param
    for stmt in func.body:
        if type(stmt) is MatchBuffer and stmt.source is param:
            return stmt.buffer
    return None


def _assign(func: PrimFunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[Param, Any]:
    params = func.params
    names = [_param_name(func, param) for param in params]
    wanted = arguments_named(names)
    if len(args) > len(params):
        raise DiagnosticError([error("T301", f"`{func.name}` {miscounted(names, len(args))}", func.span)])
    given: dict[Param, Any] = dict(zip(params, args, strict=False))
    problems = []
    by_name = dict(zip(names, params, strict=True)) | {param.name: param for param in params}
    for name, value in kwargs.items():
        param = by_name.get(name)
        if param is None:
            near = suggest(name, by_name)
            hint = f"did you mean `{near}`?" if near else None
            problems.append(
                error("T301", f"`{func.name}` has no parameter `{name}`; it takes {wanted}", func.span, hint=hint)
            )
        elif param in given:
            problems.append(error("T301", f"argument `{name}` of `{func.name}` is given twice", param.span))
        else:
            given[param] = value
    missing = [param for param in params if param not in given]
    if missing and not problems:
        words = ", ".join(f"`{_param_name(func, param)}`" for param in missing)
        verb = "is" if len(missing) == 1 else "are"
        problems.append(
            error(
                "T301",
                f"`{func.name}` takes {wanted}, but {words} {verb} missing",
                missing[0].span or func.span,
                hint=unpacking(args, len(params)),
            )
        )
    if problems:
        raise DiagnosticError(problems)
    return {param: given[param] for param in params}


def unpacking(args: Sequence[Any], count: int) -> str | None:
    """The way out where one list or tuple is given for all arguments."""
    whole = len(args) == 1 and isinstance(args[0], (list, tuple)) and len(args[0]) == count
    return "unpack it: `f(*arguments)`" if whole else None


def _param_name(func: PrimFunc, param: Param) -> str:
    """The user's name for a parameter: that of the buffer where a handle is matched to one."""
    buffer = buffer_of(func, param)
    return (buffer or param).name


def _problem(func: PrimFunc, param: Param, problem: ArrayProblem, written: bool) -> Diagnostic:
    name = _param_name(func, param)
    message = f"argument `{name}` of `{func.name}`: expected {problem.expected}, got {problem.got}"
    return error("T301", message, param.span, notes=_of_copies(name, problem.hint, written), hint=problem.hint)


def _of_copies(name: str, hint: str | None, written: bool) -> tuple[str, ...]:
    """What to know before one follows a hint to pass another array: that the result is not in the first one."""
    return (f"`{name}` is written: the result is in the array that is passed",) if written and hint else ()


# -- scalars


def scalar_argument(value: Any, to: DType) -> int | float | bool:
    """A Python or numpy scalar as the value of a parameter of dtype `to`: integers must fit, floats are rounded.
    Raises ArrayProblem."""
    kind = type(value)  # not `isinstance`, which asks the object
    if to.is_bool:
        if issubclass(kind, (bool, np.bool_)):
            return bool(value)
        raise ArrayProblem("a bool", described(value))
    if to.is_int:
        try:
            number = operator.index(value)
        except TypeError:
            hint = "convert it: `int(x)`" if issubclass(kind, (float, np.floating)) else None
            raise ArrayProblem(f"an integer ({to})", described(value), hint) from None
        except Exception as problem:
            raise ArrayProblem(f"an integer ({to})", raised(value, problem)) from None
        low, high = to.int_range()
        if not low <= number <= high:
            raise ArrayProblem(f"an integer of {to}, which holds {low} to {high}", described(number))
        return number
    if (to.is_float and _is_real(kind)) or _is_small_float(kind):
        from ..interpreter.ops import float_converter

        try:
            with np.errstate(all="ignore"):
                return float(float_converter(to)(float(value)))
        except OverflowError:
            raise ArrayProblem(f"a number ({to})", described(value), 'an infinity is `float("inf")`') from None
        except Exception as problem:
            raise ArrayProblem(f"a number ({to})", raised(value, problem)) from None
    raise ArrayProblem(f"a number ({to})", described(value))


def _is_real(kind: type) -> bool:
    """Whether values of a type are real numbers: times are integers to numpy, and complex numbers have two parts."""
    return issubclass(kind, (int, float, np.integer, np.floating)) and not issubclass(kind, np.timedelta64)


def _is_small_float(kind: type) -> bool:
    return issubclass(kind, np.generic) and kind.__module__.partition(".")[0] == "ml_dtypes"


def has_parts(value: Any) -> bool:
    """Whether an argument is a tuple or a list."""
    return issubclass(type(value), (tuple, list))  # not `isinstance`, which asks the object


def described(value: Any) -> str:
    """How a message calls an argument that is not what is expected."""
    kind = type(value)
    if value is None:
        return "None"
    if issubclass(kind, np.ndarray):
        array: np.ndarray[Any, Any] = np.asarray(value)
        return f"an array of {array.dtype.name} and shape {array.shape}"
    if issubclass(kind, int) and int.bit_length(value) > MAX_BITS:
        return f"an integer of {int.bit_length(value)} bits"
    if issubclass(kind, (bool, int, float, str, np.generic)):
        try:
            text = repr(value)
        except Exception as problem:
            return raised(value, problem)
        return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."
    return with_article(type(value).__name__)


def handle_argument(value: Any, name: str, pointee: DType | None, writable: bool) -> np.ndarray[Any, Any] | None:
    """What a call passes to a handle: the memory of an array, None for a null pointer. Raises ArrayProblem."""
    if value is None:
        return None
    if pointee is None or pointee.kind == "void":
        if issubclass(type(value), np.ndarray):
            array: np.ndarray[Any, Any] = plain_array(value)
            if array.dtype.hasobject:  # what is written there would be taken for objects
                raise ArrayProblem("an array of numbers", f"an array of {array.dtype.name}")
        else:
            from tirscript.ir import dtype

            array = as_array(value, Buffer(name, (), dtype("uint8")), writable)
    else:
        array = as_array(value, Buffer(name, (), pointee), writable)
    if not array.flags.c_contiguous:
        raise ArrayProblem(
            "an array without gaps", f"one with strides {array.strides} bytes", "pass `numpy.ascontiguousarray(array)`"
        )
    if writable and not array.flags.writeable:
        raise ArrayProblem("an array that can be written", "a read-only one", "pass a copy: `array.copy()`")
    return array


# -- shapes


def _actual(array: np.ndarray[Any, Any], buffer: Buffer) -> Actual:
    lanes = buffer.dtype.lanes
    shape, strides = array.shape, array.strides
    if lanes != 1:
        if array.ndim != buffer.ndim + 1 or shape[-1] != lanes:
            raise ArrayProblem(
                f"{counted(buffer.ndim + 1, 'dimension')}, the last of {lanes} lanes, for elements of {buffer.dtype}",
                f"an array of shape {parenthesized(array.shape)}",
            )
        if strides[-1] != array.itemsize:
            raise ArrayProblem(
                "lanes that lie next to each other",
                f"strides of {strides} bytes",
                "pass `numpy.ascontiguousarray(array)`",
            )
        shape, strides = shape[:-1], strides[:-1]
    elif array.ndim != buffer.ndim:
        raise ArrayProblem(
            f"{counted(buffer.ndim, 'dimension')}, of shape {shape_words(buffer)}",
            f"{counted(array.ndim, 'dimension')}, of shape {parenthesized(array.shape)}",
        )
    size = array.itemsize * lanes
    for count, stride in zip(shape, strides, strict=True):
        if stride % size and count > 1:
            raise ArrayProblem(
                f"strides that are whole elements of {size} bytes",
                f"strides of {array.strides} bytes",
                "pass `numpy.ascontiguousarray(array)`",
            )
    return Actual(tuple(shape), tuple([stride // size for stride in strides]))


def shape_words(buffer: Buffer) -> str:
    """A buffer's shape as the user wrote it: `(n, 4)`."""
    return parenthesized([expr_words(dim) for dim in buffer.shape])


def expr_words(expr: Expr) -> str:
    """An expression on one line, for a message."""
    from tirscript.ir import Const

    if type(expr) is Const:
        return str(expr.value)
    if type(expr) is Var:
        return expr.name
    return " ".join(expr.script(fragment=True).split())


def condition_words(condition: Expr) -> str:
    """A condition as it was written, for a message that has no words of its own."""
    return condition.span.text if condition.span is not None else expr_words(condition)


def _check_alignment(array: np.ndarray[Any, Any], buffer: Buffer) -> None:
    if buffer.align > 1 and array.size and address_of(array) % buffer.align:
        hint = f"leave `align={buffer.align}` out of the parameter: arrays of numpy begin at any multiple of 16"
        got = f"one at address {address_of(array):#x}"
        raise ArrayProblem(f"an array aligned to {buffer.align} bytes", got, hint)


def match_shapes(
    func: PrimFunc,
    actuals: Mapping[Buffer, Actual],
    scalars: Mapping[Var, Any],
    *,
    place: Span | None = None,
    written: frozenset[Param] = frozenset(),
) -> dict[Var, int]:
    """The values of the symbolic dimensions of `func`, with every shape, stride and offset checked.

    A dimension is bound by the first buffer that has it alone, then every expression is compared. `place` is the call,
    where another function makes it; `written` are the parameters that must be writable. Raises DiagnosticError.
    """
    values: dict[Var, Any] = dict(scalars)
    symbols: dict[Var, int] = {}
    origin: dict[Var, str] = {}
    problems: list[Diagnostic] = []

    def report(buffer: Buffer, message: str, hint: str | None = None) -> None:
        param = _param_of(func, buffer)
        notes = () if place is None else _labels(param)
        notes += _of_copies(buffer.name, hint, param in written)
        message = f"argument `{buffer.name}` of `{func.name}`: {message}"
        problems.append(error("T301", message, place or param.span, notes=notes, hint=hint))

    def bind(buffer: Buffer, expr: Expr, actual: int, what: str) -> None:
        if type(expr) is not Var or expr in values:
            return
        low, high = expr.dtype.int_range()
        if not low <= actual <= high:
            report(buffer, f"{what} is {actual}, which does not fit `{expr.name}` of {expr.dtype}")
        values[expr] = symbols[expr] = actual
        origin[expr] = f"`{expr.name}` is {actual}, {what} of `{buffer.name}`"

    for buffer, actual in actuals.items():
        for dim, (expr, size) in enumerate(zip(buffer.shape, actual.shape, strict=True)):
            bind(buffer, expr, size, f"dimension {dim}")
    for buffer, actual in actuals.items():
        for dim, (expr, stride) in enumerate(zip(buffer.strides or (), actual.strides, strict=bool(buffer.strides))):
            bind(buffer, expr, stride, f"stride {dim}")
        if buffer.elem_offset is not None:
            bind(buffer, buffer.elem_offset, 0, "the offset")

    for buffer, actual in actuals.items():
        try:
            _check_buffer(buffer, actual, values, origin, report)
        except ZeroDivisionError:
            report(buffer, f"its shape {shape_words(buffer)} divides by zero")
    unknown = next((symbol for symbol in func.symbols if symbol not in values), None)
    if unknown is not None and not problems:
        problems.append(_undetermined(unknown, func, place))
    if problems:
        raise DiagnosticError(problems)
    return symbols


def _undetermined(symbol: Var, func: PrimFunc, place: Span | None) -> Diagnostic:
    message = f"the symbolic dimension `{symbol.name}` of `{func.name}` cannot be determined"
    hint = f"add a parameter `{symbol.name}: T.{symbol.dtype}`"
    where = place or symbol.span or func.span
    return error("T206", f"{message}: no buffer has it alone in its shape", where, hint=hint)


def _labels(param: Param) -> tuple[Any, ...]:
    from tirscript.ir import Label

    return () if param.span is None else (Label(param.span, "the parameter is declared here"),)


def _param_of(func: PrimFunc, buffer: Buffer) -> Param:
    for param in func.params:
        if buffer_of(func, param) is buffer:
            return param
    return buffer


def _declared(strides: Sequence[int]) -> str:
    """How a kernel says that it takes an array of such strides: those that are not 1 are variables."""
    many = sum(stride != 1 for stride in strides) > 1
    names = ["1" if stride == 1 else f"s{dim}" if many else "s" for dim, stride in enumerate(strides)]
    variables = [name for name in names if name != "1"]
    made = f"{', '.join(variables)} = {', '.join(['T.int64()'] * len(variables))}"
    return f"`{made}`, `T.match_buffer(a, shape, strides={parenthesized(names)})`"


def _check_buffer(
    buffer: Buffer, actual: Actual, values: dict[Var, Any], origin: dict[Var, str], report: Callable[..., None]
) -> None:
    want = [_value(dim, values) for dim in buffer.shape]
    bad = [dim for dim, size in enumerate(actual.shape) if want[dim] is not None and want[dim] != size]
    if bad:
        words = shape_words(buffer)
        known = dict.fromkeys(var for dim in bad for var in free_vars(buffer.shape[dim]))
        because = [origin.get(var, f"`{var.name}` is {values[var]}") for var in known]
        plain = parenthesized(["?" if size is None else size for size in want])
        expected = f"shape {words}" if words == plain else f"shape {words} = {plain}"
        why = f"; {', '.join(because)}" if because else ""
        report(buffer, f"expected {expected}, got {parenthesized(actual.shape)}{why}")
        return
    empty = 0 in actual.shape
    if buffer.strides is None:
        step = 1
        for size, stride in zip(reversed(actual.shape), reversed(actual.strides), strict=True):
            if size != 1 and stride != step and not empty:
                got = f"strides {parenthesized(actual.strides)} for shape {parenthesized(actual.shape)} (in elements)"
                report(
                    buffer,
                    f"expected an array without gaps in row-major order, got {got}",
                    f"pass `numpy.ascontiguousarray(array)`, or declare the strides: {_declared(actual.strides)}",
                )
                return
            step *= size
    else:
        for dim, expr in enumerate(buffer.strides):
            wanted = _value(expr, values)
            if wanted is not None and wanted != actual.strides[dim] and actual.shape[dim] > 1 and not empty:
                words = expr_words(expr)
                report(
                    buffer,
                    f"expected stride {words if words == str(wanted) else f'{words} = {wanted}'} in dimension {dim}, "
                    f"got {actual.strides[dim]} (in elements)",
                )
                return
    if buffer.elem_offset is not None and _value(buffer.elem_offset, values) not in (0, None):
        report(
            buffer,
            f"it declares elem_offset {expr_words(buffer.elem_offset)}, but an array begins at its first element",
        )


def _value(expr: Expr, values: dict[Var, Any]) -> Any:
    from ..interpreter.ops import evaluate

    try:
        with recursion_room():
            return evaluate(expr, values)
    except KeyError:
        return None
