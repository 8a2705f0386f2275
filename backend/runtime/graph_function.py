"""Built graph functions: called with arrays, they return new ones.

The native function takes every tensor apart and writes its results (`passes/graph/graph_to_tensor.py`). Here tuples and
shapes are taken apart, memory for the results is made, and what was written is put together again.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import numpy_dtype
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.expr import Const, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import GraphFunc, GraphType, ObjectType, PrimType, ShapeType, TensorType, TupleType
from tirscript.ir.node import are_same
from tirscript.ir.rewrite import walk
from tirscript.ir.words import arguments_named, miscounted

from ..interpreter.ops import evaluator, number
from .arguments import bind_arguments, described, has_parts, unpacking
from .arrays import in_rows, new_array
from .built import BuiltFunction
from .signature import graph_signature

MOST = (1 << 63) - 1  # bytes of an array


class GraphFunction(BuiltFunction):
    """A built graph function: call it with arrays and numbers, by position or by name; it returns what it gives.

    Tensors are numpy arrays (or anything that speaks DLPack or the buffer protocol), tuples Python tuples, shapes
    tuples of ints. Arrays with gaps or in another order are copied.

    Raises DiagnosticError before anything runs where an argument is not what its parameter says.
    """

    def __init__(self, func: GraphFunc, lowered: PrimFunc, native: Callable[..., None]) -> None:
        self.func, self.native = func, native
        self._code = native
        self.__name__ = self.__qualname__ = func.name
        self.__doc__ = func.docstring
        self.results = _count(func.result)
        inputs = lowered.params[: len(lowered.params) - self.results]
        # what a call is checked against: the parameters alone
        self._head = PrimFunc(func.name, inputs, (), span=func.span)
        outs = lowered.params[len(inputs) :]
        assert all(isinstance(out, Buffer) for out in outs)
        self._outs = [_maker(out, func) for out in outs if isinstance(out, Buffer)]
        self._sizes = _places(inputs, [out for out in outs if isinstance(out, Buffer)])
        self._flat = all(type(param.type) is TensorType for param in func.params)
        self.lowered = lowered

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = self._given(args, kwargs)
        try:
            return self._result_of(given)
        except DiagnosticError:
            pairs = zip(given, self.func.params, strict=True)
            copied = [_in_rows(value, param.type, param.name) for value, param in pairs]
            if are_same(copied, given):
                raise
        return self._result_of(copied)

    def _result_of(self, given: Sequence[Any]) -> Any:
        flat = self._tensors(given)
        try:
            values = self._values(flat)
            outs = [make(values) for make in self._outs]
            self.native(*flat, *outs)
        except DiagnosticError:
            self._check(flat)
            raise
        return _together(self.func.result, iter(outs))

    def _check(self, flat: Sequence[Any]) -> None:
        """Say what is wrong with arguments by the names that the caller knows, `x[0]`, where some were taken apart."""
        if not self._flat:
            names = [name for param in self.func.params for name in _places_in(param.type, param.name)]
            bind_arguments(_renamed(self._head, names), flat, {})

    def _tensors(self, given: Sequence[Any]) -> Sequence[Any]:
        """The tensors and numbers of all arguments."""
        if self._flat:
            return given
        pairs = zip(given, self.func.params, strict=True)
        return [leaf for value, param in pairs for leaf in self._apart(value, param.type, param.name)]

    def _values(self, flat: Sequence[Any]) -> dict[Var, Any]:
        """The values of the dimensions that the shapes of results are made of."""
        values: dict[Var, Any] = {}
        for var, (at, rank, axis) in (self._sizes or {}).items():
            array = flat[at]
            if type(array) is not np.ndarray or array.ndim != rank:
                break
            values[var] = array.shape[axis]
        else:
            if self._sizes is not None:
                return values  # the native function checks the arguments
        bound = bind_arguments(self._head, flat, {})
        return {**bound.symbols, **bound.scalars}

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The arguments in the order of the parameters."""
        params = self.func.params
        if not kwargs and len(args) == len(params):
            return args
        names = [param.name for param in params]
        if len(args) > len(params):
            self._wrong(miscounted(names, len(args)))
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                near = suggest(name, names)
                self._wrong(f"has no parameter `{name}`", f"did you mean `{near}`?" if near else None)
            if name in given:
                self._wrong(f"is given `{name}` twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            words = ", ".join(f"`{name}`" for name in missing)
            self._wrong(f"takes {arguments_named(names)}, but {words} {verb} missing", unpacking(args, len(names)))
        return [given[name] for name in names]

    def _apart(self, value: Any, kind: GraphType, name: str) -> Iterator[Any]:
        """The tensors and numbers of an argument."""
        if type(kind) is TupleType:
            if not has_parts(value) or len(value) != len(kind.fields):
                self._wrong(f"takes a tuple of {len(kind.fields)} as `{name}`, not {_describe(value)}")
            for at, (one, field) in enumerate(zip(value, kind.fields, strict=True)):
                yield from self._apart(one, field, f"{name}[{at}]")
        elif type(kind) is ShapeType:
            if not has_parts(value) or len(value) != kind.rank:
                self._wrong(f"takes a tuple of {kind.rank} ints as `{name}`, not {_describe(value)}")
            for at, (one, dim) in enumerate(zip(value, kind.values or (), strict=False)):
                if type(dim) is Const and issubclass(type(one), (int, np.integer)) and one != dim.value:
                    self._wrong(f"takes {dim.value} as `{name}[{at}]`, not {one}")
            yield from value
        else:
            yield value

    def _wrong(self, message: str, hint: str | None = None) -> NoReturn:
        raise DiagnosticError([error("T301", f"`{self.func.name}` {message}", self.func.span, hint=hint)])

    @property
    def __signature__(self) -> inspect.Signature:
        return graph_signature(self.func)

    def __repr__(self) -> str:
        return f"<tirscript graph function {self.__name__}{self.__signature__}>"


def _in_rows(value: Any, kind: GraphType, name: str) -> Any:
    """An argument whose tensors kernels take as they lie: copies where they do not."""
    if type(kind) is TupleType and has_parts(value) and len(value) == len(kind.fields):
        pairs = enumerate(zip(value, kind.fields, strict=True))
        parts = [_in_rows(one, field, f"{name}[{at}]") for at, (one, field) in pairs]
        return value if are_same(parts, value) else tuple(parts)
    if type(kind) is not TensorType or kind.dtype is None or kind.shape is None:
        return value
    sizes = [int(dim.value) if type(dim) is Const else None for dim in kind.shape]
    return in_rows(value, Buffer(name, kind.shape, kind.dtype), sizes)


def _describe(value: Any) -> str:
    if has_parts(value):
        return f"a {type(value).__name__} of {len(value)}"
    return described(value)


def _places_in(kind: GraphType, name: str) -> Iterator[str]:
    """How the caller names the tensors and numbers of an argument."""
    if type(kind) is TupleType:
        for at, field in enumerate(kind.fields):
            yield from _places_in(field, f"{name}[{at}]")
    elif type(kind) is ShapeType:
        yield from (f"{name}[{at}]" for at in range(kind.rank or 0))
    else:
        yield name


def _renamed(head: PrimFunc, names: Sequence[str]) -> PrimFunc:
    """The parameters of a function under other names, but for those that shapes of others are told by."""
    sizes = {node for param in head.params if isinstance(param, Buffer) for dim in param.shape for node in walk(dim)}
    pairs = zip(head.params, names, strict=True)
    return head.replace(params=tuple(param if param in sizes else param.replace(name=name) for param, name in pairs))


def _count(kind: GraphType) -> int:
    """How many tensors a result is made of; what a call of a function that returns nothing gives is made of none."""
    return sum(map(_count, kind.fields)) if type(kind) is TupleType else int(type(kind) is not ObjectType)


def _is_static(buffer: Buffer) -> bool:
    return all(type(dim) is Const for dim in buffer.shape)


def _places(inputs: Sequence[Var | Buffer], outs: Sequence[Buffer]) -> dict[Var, tuple[int, int, int]] | None:
    """Where a call finds the values of the variables in the shapes of results: the number of an array among the inputs,
    how many dimensions it has, and which of them is the variable, the first one; None where some is in no array."""
    found: dict[Var, tuple[int, int, int]] = {}
    for at, given in enumerate(inputs):
        shape = given.shape if isinstance(given, Buffer) else ()
        for axis, dim in enumerate(shape):
            if type(dim) is Var:
                found.setdefault(dim, (at, len(shape), axis))
    needed = {node for out in outs for dim in out.shape for node in walk(dim, Var)}
    return {var: place for var, place in found.items() if var in needed} if needed <= found.keys() else None


def _maker(buffer: Buffer, func: GraphFunc) -> Callable[[dict[Var, Any]], np.ndarray[Any, Any]]:
    """What makes memory for a result of `func`, given the values of the symbolic dimensions."""
    dtype, what = numpy_dtype(buffer.dtype), f"a result of `{func.name}`"
    if _is_static(buffer):
        shape = tuple(int(dim.value) for dim in buffer.shape if type(dim) is Const)
        return lambda values: new_array(shape, dtype, what, func.span)
    return memory(buffer, func)


def memory(kind: Buffer | TensorType, func: GraphFunc) -> Callable[[dict[Any, Any]], np.ndarray[Any, Any]]:
    """What makes memory for a tensor of `func` of a known shape and dtype, given the values of the symbolic
    dimensions."""
    assert kind.shape is not None and kind.dtype is not None
    dtype, span = numpy_dtype(kind.dtype), kind.span or func.span
    sizes, what = [evaluator(dim) for dim in kind.shape], f"a result of `{func.name}`"

    def make(values: dict[Any, Any]) -> np.ndarray[Any, Any]:
        try:
            shape = tuple([int(size(values)) for size in sizes])
        except ZeroDivisionError:
            shape = tuple([int(number(dim, values, span)) for dim in kind.shape or ()])  # which says what divides
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > MOST:
            given = ", ".join(f"`{var.name}` is {value}" for var, value in values.items() if type(var) is Var)
            message = f"{what} would have the shape {shape}, where {given}"
            hint = f"give {'larger' if min(shape) < 0 else 'smaller'} arrays"
            raise DiagnosticError([error("T301", message, span, hint=hint)])
        return new_array(shape, dtype, what, span)

    return make


def _together(kind: GraphType, outs: Iterator[np.ndarray[Any, Any]]) -> Any:
    """The value of a result from its tensors."""
    if type(kind) is TupleType:
        return tuple(_together(field, outs) for field in kind.fields)
    if type(kind) is PrimType:
        return next(outs).item()
    if type(kind) is ShapeType:
        return tuple(next(outs).tolist())
    return next(outs) if type(kind) is TensorType else ()


__all__ = ["GraphFunction", "memory"]
