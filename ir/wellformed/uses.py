"""The rules of expressions and regions: each returns the dtype of what it looked at."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..buffer import Buffer
from ..diagnostic import suggest
from ..dtype import BOOL, INT32, VOID, DType
from ..expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Const,
    Let,
    Ramp,
    Range,
    StringImm,
    Var,
    is_const,
)
from ..func import PrimFunc
from ..op_sets import DIVISIONS, LAZY
from ..rewrite import walk
from ..stmt import Block
from ..words import counted
from .places import is_undef, place_of, pointing, spot
from .scopes import Scopes, Unresolved
from .signature import argument_problem, bad_constant, call_problem

# dtypes of the arguments and the result of calls that were found right: (op, result, *arguments)
_RIGHT_CALLS: set[Any] = set()


class Uses(Scopes):
    """What is used: variables, buffers, elements, calls."""

    def var(self, var: Var) -> DType:
        if id(var) not in self.vars:
            block = self.hidden.get(id(var))
            if block is None:
                self.found.append(Unresolved(var, self.stmt))
            else:
                self.outer_loop(var, block)
        return var.dtype

    def outer_loop(self, var: Var, block: Block) -> None:
        message = f"the block `{block.name}` uses the variable `{var.name}` of a loop around it"
        notes = pointing(self.bindings.loops[id(var)].span, f"the loop over `{var.name}` is here")
        self.report(
            "T203",
            message,
            place_of(self.stmt, var),
            notes=notes,
            hint=f"bind it to an axis and use that: `v{var.name} = T.axis.spatial(..., {var.name})`",
        )

    def mentioned(self, buffer: Buffer) -> None:
        """A buffer used other than by reading an element: it may be written there."""
        if id(buffer) not in self.buffers:
            self.found.append(Unresolved(buffer, self.stmt))
        self.written.add(id(buffer))

    def condition(self, expr: Any, what: str) -> None:
        kind = self.rules[type(expr)](expr)
        if kind is not BOOL:
            self.report("T102", f"the condition of {what} is {kind}, not bool", expr, hint="compare it: `x != 0`")

    def string(self, node: StringImm) -> DType:
        if any("\ud800" <= char <= "\udfff" for char in node.value):
            self.report(
                "T210", f"the string {node.value!r} holds half a character, which no text does", spot(node, self.stmt)
            )
        return node.dtype

    def const(self, node: Const) -> DType:
        key = (node.value, node.dtype, type(node.value))
        if key not in self.constants:
            self.constants.add(key)
            why = bad_constant(node)
            if why is not None:
                self.report("T210", why, node)
        return node.dtype

    def access(self, node: Any) -> DType:
        """The dtype of `buffer[indices]` of a load or store, all of it checked."""
        buffer, indices = node.buffer, node.indices
        known = self.buffers.get(id(buffer))
        if known is None:
            self.found.append(Unresolved(buffer, self.stmt))
            for index in indices:
                self.any(index)
            return buffer.dtype
        if not indices and known.ndim == 0:
            return buffer.dtype
        if len(indices) != known.ndim:
            self.rank(node, buffer, len(indices), known.ndim, "index")
        rules, undefs = self.rules, self.undefs
        kind: Any = INT32
        last = len(indices) - 1
        for at, index in enumerate(indices):
            cls = type(index)
            kind = rules[cls](index)
            if (cls is Const or cls is Ramp) and kind.is_int:
                if at < known.ndim:
                    self.bounds(node, index, at, known.extents[at])
            if not kind.is_int or (kind.is_vector and at != last):
                self.wrong_index(node, index, kind)
        if self.undefs != undefs:
            for index in indices:
                if is_undef(index):
                    self.report(
                        "T112",
                        f"an index of `{buffer.name}` is undefined: `T.undef` may be stored, not used as an index",
                        spot(index, node),
                    )
        if node.predicate is not None:
            have = self.any(node.predicate)
            if not have.element.is_bool or (have.lanes, have.scalable) != (kind.lanes, kind.scalable):
                wanted = BOOL.with_lanes(kind.lanes, kind.scalable)
                self.report("T102", f"the predicate is {have}, not {wanted}", spot(node.predicate, node))
        if kind.is_vector:
            return buffer.dtype.with_lanes(kind.lanes * buffer.dtype.lanes, kind.scalable)
        return buffer.dtype

    def wrong_index(self, node: Any, index: Any, kind: DType) -> None:
        name = node.buffer.name
        if kind.is_int:
            self.report(
                "T112",
                f"only the last index of `{name}` may be a vector",
                spot(index, node),
                notes=self.declared(node.buffer),
                hint="loop over the other dimensions: `for i in range(n):`",
            )
        else:
            hint = None if kind.is_bool else 'cast it: `x.astype("int32")`'
            self.report(
                "T112",
                f"an index of `{name}` is {kind}, not an integer",
                spot(index, node),
                notes=self.declared(node.buffer),
                hint=hint,
            )

    def rank(self, node: Any, buffer: Buffer, have: int, ndim: int, what: str) -> None:
        given = f"{counted(have, what)} {'is' if have == 1 else 'are'} given"
        self.report(
            "T111",
            f"`{buffer.name}` has {counted(ndim, 'dimension')}, but {given}",
            node,
            notes=self.declared(buffer),
        )

    def _runs_on(self, buffer: Buffer, axis: int, high: int) -> bool:
        """Whether a vector in the last dimension may run on into the next rows, as TVM's tensor intrinsics have it."""
        shape = buffer.constant_shape()
        return axis == buffer.ndim - 1 and buffer.strides is None and shape is not None and high < prod(shape)

    def bounds(self, node: Any, index: Any, axis: int, extent: int | None) -> None:
        if type(index) is Const:
            low = high = int(index.value)
        elif (
            type(index.base) is Const
            and type(index.stride) is Const
            and index.base.dtype.is_int
            and not index.scalable
            and node.predicate is None
        ):
            from ..arith.linear import wrap

            first, step = int(index.base.value), int(index.stride.value)
            lanes = [wrap(first + step * lane, index.base.dtype) for lane in range(index.lanes)]
            low, high = min(lanes), max(lanes)
        else:
            return
        if type(index) is not Const and low >= 0 and self._runs_on(node.buffer, axis, high):
            return
        if node.predicate is None:
            self.inside(node.buffer, axis, (low, high), extent, spot(index, node))

    def inside(self, buffer: Buffer, axis: int, ends: tuple[int, int], extent: int | None, at: Any) -> None:
        """The first and the last index of an access lie in a dimension; one of unknown extent begins at 0, too."""
        low, high = ends
        if extent is not None and extent < 0:
            return  # told at the declaration
        if 0 <= low <= high and (extent is None or high < extent or (extent == 0 and self.unreached)):
            return
        odd = low if low < 0 else high
        if extent is None:
            size = buffer.shape[axis].script().strip()
            self.report(
                "T113",
                f"index {odd} is outside of dimension {axis} of `{buffer.name}`, which begins at 0",
                at,
                notes=self.declared(buffer),
                hint=f"indices do not wrap around; the last element is `{size} - 1`",
            )
            return
        hint = f"indices do not wrap around; the last element is `{extent - 1}`" if odd < 0 < extent else None
        self.report(
            "T113",
            f"index {odd} is outside of dimension {axis} of `{buffer.name}`, which has {counted(extent, 'element')}",
            at,
            notes=self.declared(buffer),
            hint=hint,
        )

    def load(self, node: BufferLoad) -> DType:
        self.count()
        key = id(node.buffer)
        if key in self.allocated and key not in self.read:
            self.read[key] = (node, self.stmt)
        return self.access(node)

    def data(self, node: BufferData) -> DType:
        self.mentioned(node.buffer)
        return node.dtype

    def ramp(self, node: Ramp) -> DType:
        base = self.any(node.base)
        stride = self.any(node.stride)
        if base.is_vector or not base.is_int or stride is not base:
            self.report(
                "T204", f"the base of a ramp is {base} and its stride {stride}: both are integers of one dtype", node
            )
        if node.lanes < 1:
            self.report("T210", f"a ramp has {node.lanes} lanes", node)
            return base
        return node.dtype

    def broadcast(self, node: Broadcast) -> DType:
        value = self.any(node.value)
        if value.is_vector or value is VOID:
            self.report("T204", f"a broadcast takes a scalar, not {value}", node)
            return value
        if node.lanes < 1:
            self.report("T210", f"a broadcast has {node.lanes} lanes", node)
            return value
        return node.dtype

    def let(self, node: Let) -> DType:
        self.count()
        self.same(self.any(node.value), node.var.dtype, f"the value of `{node.var.name}`", node.value)
        self.some_value(node.var, node.value)
        before = len(self.local)
        self.define(node.var, node)
        kind = self.any(node.body)
        self.close(before)
        return kind

    def some_value(self, var: Var, value: Any) -> None:
        """A name stands for a value, which calls of dtype void have none of."""
        if var.dtype is VOID:
            message = f"what `{var.name}` would stand for is of dtype void, which has no values"
            self.report("T104", message, spot(value, var), hint="write the call as a statement")

    def region(self, node: BufferRegion) -> None:
        buffer = node.buffer
        if id(buffer) not in self.buffers:
            self.found.append(Unresolved(buffer, self.stmt))
        elif len(node.ranges) != len(buffer.shape):
            self.rank(node, buffer, len(node.ranges), len(buffer.shape), "range")
        for part in node.ranges:
            self.range(part)

    def view(self, node: BufferRegion) -> None:
        """A region whose memory is used under another name, which no index of the buffer would check."""
        self.region(node)
        for axis, (part, extent) in enumerate(zip(node.ranges, node.buffer.shape, strict=False)):
            ends = [end.value for end in (part.start, part.stop) if type(end) is Const and end.dtype.is_int]
            if type(extent) is not Const or len(ends) != 2 - (part.stop is None):
                continue
            low, high = int(ends[0]), int(ends[-1]) - (part.stop is not None)
            if low <= high and not (low >= 0 and self._runs_on(node.buffer, axis, high)):
                wrong = part.start if low < 0 or part.stop is None else part.stop
                self.inside(node.buffer, axis, (low, high), int(extent.value), spot(wrong, node))

    def range(self, node: Range) -> None:
        for end in (node.start, node.stop):
            if end is not None:
                kind = self.any(end)
                if not kind.is_int or kind.is_vector:
                    self.report("T112", f"an end of a range is {kind}, not an integer", spot(end, node))

    def call(self, node: Call) -> DType:
        self.count()
        rules = self.rules
        args = node.args
        if len(args) == 2:  # without a comprehension, for speed and for depth: it takes a frame of its own
            a, b = args
            signature: Any = (node.op, node.dtype, rules[type(a)](a), rules[type(b)](b))
            if is_const(b, 0) and node.op in DIVISIONS and b.dtype.is_int:
                self.zero_divisor(node)
        else:
            kinds = []
            for arg in args:
                kinds.append(rules[type(arg)](arg))
            signature = (node.op, node.dtype, *kinds)
        if signature not in _RIGHT_CALLS:
            self.signature(node, signature[2:])
        return node.dtype

    def signature(self, node: Call, kinds: Any) -> None:
        """Check a call whose combination of dtypes was not met before, or whose operator looks at more than dtypes."""
        rule = _SPECIAL_CALLS.get(node.op.name)
        if rule is not None:
            rule(self, node)
        problem = call_problem(node.op, kinds, node.dtype)
        if problem is not None:
            self.report(problem[0], problem[1], node, hint=problem[2])
        elif rule is None:
            if len(_RIGHT_CALLS) > 50_000:
                _RIGHT_CALLS.clear()
            _RIGHT_CALLS.add((node.op, node.dtype, *kinds))

    def zero_divisor(self, node: Call) -> None:
        """A division by a literal 0, where it is certain that it is computed."""
        if self.bindings.depth or self.unreached:
            return
        lazy = (arg for call in walk(self.stmt, Call) if call.op in LAZY for arg in call.args[1:])
        if not any(part is node for arg in lazy for part in walk(arg)):
            hint = "a divisor is never 0; an `if` or `T.if_then_else` around the division keeps it from being computed"
            self.report("T304", f"`{node.op.symbol or node.op.spelling}` divides by 0", node, hint=hint)

    def undef(self, node: Call) -> None:
        self.undefs += 1

    def address(self, node: Call) -> None:
        place = node.args[0] if node.args else None
        if type(place) is BufferLoad:
            self.written.add(id(place.buffer))
        else:
            self.report("T104", "`T.address_of` takes an element of a buffer, as in `T.address_of(A[0])`", node)

    def results(self, node: Call) -> None:
        """A reduction over threads writes the elements that are its arguments."""
        self.written.update(id(arg.buffer) for arg in node.args if type(arg) is BufferLoad)

    def same(self, have: Any, wanted: DType, what: str, at: Any) -> None:
        if have is not wanted and not (have is not None and have.is_handle and wanted.is_handle):
            self.report(
                "T204", f"{what} is {have}, but its place holds {wanted}", at, hint=f'cast it: `x.astype("{wanted}")`'
            )

    def call_function(self, node: CallFunction) -> DType:
        self.count()
        given: list[Any] = []
        for arg in node.args:
            if type(arg) is Buffer:
                self.mentioned(arg)
            elif type(arg) is BufferRegion:
                self.view(arg)
                self.written.add(id(arg.buffer))
            given.append(arg if isinstance(arg, (Buffer, BufferRegion)) else self.any(arg))
        if self.functions is not None:
            callee = self.functions.get(node.function)
            if callee is None:
                near = suggest(node.function, self.functions)
                self.report(
                    "T307",
                    f"the module has no function `{node.function}`",
                    node,
                    hint=f"did you mean `{near}`?" if near else None,
                )
            elif isinstance(callee, PrimFunc):
                self.arguments(node, callee, given)
        return node.dtype

    def arguments(self, node: CallFunction, callee: PrimFunc, given: list[Any]) -> None:
        notes = pointing(callee.span, f"`{callee.name}` is defined here")
        if len(given) != len(callee.params):
            wanted = counted(len(callee.params), "argument")
            self.report("T101", f"`{callee.name}` takes {wanted}, not {len(given)}", node, notes=notes)
            return
        for arg, have, param in zip(node.args, given, callee.params, strict=True):
            problem = argument_problem(have, param)
            if problem is not None:
                at = node if type(arg) is Buffer else spot(arg, node)  # a buffer's place is where it is declared
                self.report("T204", f"argument `{param.name}` of `{callee.name}` is {problem}", at, notes=notes)
        returns = callee.returns or VOID
        if node.dtype is not returns:
            self.report(
                "T204", f"`{callee.name}` returns {returns}, but the call is of dtype {node.dtype}", node, notes=notes
            )


_SPECIAL_CALLS: dict[str, Callable[[Uses, Call], None]] = {
    "undef": Uses.undef,
    "address_of": Uses.address,
    "tvm_thread_allreduce": Uses.results,
}
