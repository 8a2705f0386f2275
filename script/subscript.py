"""Subscripts: elements and vectors of buffers, regions, and items of Python's values."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import Label
from tirscript.ir.expr import BufferLoad, BufferRegion, Const, Expr, Ramp, Range, Var, const
from tirscript.ir.op import as_expr
from tirscript.ir.words import counted, words

from .advice import element_of, matched
from .expr import MAX_LANES, ExprLowering, same_dtype
from .item_nodes import index_nodes
from .lengths import difference, scalable_length
from .namespace import TILE_NAMESPACES, BufferForm, Form, Namespace, PointerType, TypeName, Unsupported
from .python import is_numpy_array, is_numpy_scalar


class SubscriptLowering(ExprLowering):
    """Lowers subscripts, of values and of what regions are of."""

    definition: list[ast.stmt]

    def _subscript(self, node: ast.Subscript) -> Any:
        if self.theirs and isinstance(node.value, ast.Attribute) and node.value.attr == "source":
            scalar = self.scalar_source(node)
            if scalar is not None:
                return scalar
        return self.item_of(self.value(node.value), node)

    def item_of(self, owner: Any, node: ast.Subscript) -> Any:
        """What the subscript of a value means."""
        if type(owner) is BufferLoad and owner.buffer.scope == "scalar":
            owner = owner.buffer
        if type(owner) is Buffer:
            indices = self.indices(owner, node)
            return BufferLoad(owner, indices, span=self.span(node))
        if isinstance(owner, Expr):
            hint = matched(owner.name) if type(owner) is Var and owner.dtype.is_handle else None
            message = f"this is a value of {owner.dtype}, not a buffer: it cannot be indexed"
            raise self.fail("T104", message, node, hint=hint)
        self.not_called(owner, node)
        if type(owner) is Namespace and owner._letter.removeprefix("T.") in TILE_NAMESPACES:  # T.ptx["cp.async.cg"]
            what = Unsupported(self.span(node).text).what
            raise self.fail("T021", f"`{self.span(node).text}`, {what}, is not supported", node)
        item = self._item(node.slice)
        if isinstance(item, Const):
            item = item.value
        if type(owner) is tuple and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            self._dimension_number(owner, item, node)
        parts = item if type(item) is tuple else (item,)
        if isinstance(owner, (list, tuple, str, dict)) or hasattr(type(owner), "__array__"):
            late = next((part for part in parts if isinstance(part, Expr)), None)
            if late is not None:
                raise self.fail(
                    "T033",
                    f"{words(owner)} is indexed while parsing, when this index has no value yet",
                    node.slice,
                    hint=_constant_of(owner, self.span(node.value).text)
                    if _is_table(owner)
                    else "index a buffer, or loop over the sequence: `for x in values:`",
                )
        if is_numpy_array(owner) and all(isinstance(part, (int, slice)) for part in parts):
            found = self.plain(lambda: owner[item], node, ())
            return self.used(found.item() if is_numpy_scalar(found) and not self.trusted else found, node)
        found = self.plain(
            lambda: owner[item], node, () if isinstance(owner, (TypeName, Form, BufferForm, PointerType)) else (owner,)
        )
        return self.used(found, node)

    def _dimension_number(self, shape: tuple[Any, ...], item: Any, node: ast.Subscript) -> None:
        if isinstance(item, int) and not -len(shape) <= item < len(shape):
            count = counted(len(shape), "dimension")
            raise self.fail("T113", f"there is no dimension {item}: the buffer has {count}", node.slice)

    def _item(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            parts = [
                None if part is None else self.python(part, "a bound of a slice", (int,))
                for part in (node.lower, node.upper, node.step)
            ]
            return slice(*parts)
        return self.value(node)

    def indices(self, buffer: Buffer, node: ast.Subscript) -> tuple[Expr, ...]:
        """The indices of an access; a slice in the last place is a vector index."""
        items = index_nodes(node)
        several = self.indices_of_one(items)
        if len(items) != len(buffer.shape) and not several and not any(type(item) is ast.Starred for item in items):
            self._count(buffer, len(items), node)
        found: list[Expr] = []
        for item in items:
            if type(item) is ast.Slice:
                found.append(self._vector_index(item, buffer, len(found)))
            elif type(item) is ast.Starred or several:
                values = self.unpacked(item) if type(item) is ast.Starred else list(several or ())
                if len(found) + len(values) > len(buffer.shape):
                    self._count(buffer, len(found) + len(values), node)
                found += map(as_expr, values)
            else:
                found.append(self.index(item))
        if len(found) != len(buffer.shape):
            self._count(buffer, len(found), node)
        return tuple(found)

    def _count(self, buffer: Buffer, count: int, node: ast.Subscript) -> NoReturn:
        notes = (Label(buffer.span, f"`{buffer.name}` is declared here"),) if buffer.span is not None else ()
        number = len(buffer.shape)
        verb = "stands" if count == 1 else "stand"
        has = f"`{buffer.name}` has {counted(number, 'dimension')}"
        given = counted(count, "index")
        name, hint = buffer.name, None
        if any(isinstance(item, ast.Constant) and item.value is Ellipsis for item in index_nodes(node)):
            hint = f"`...` stands for no indices: write a loop over the elements of `{name}`"
        elif count < number and self._indexed_again(node):
            hint = f"all indices stand in one pair of brackets: `{element_of(buffer)}`"
        elif 0 < count < number:
            hint = f"write a loop over the elements: `{element_of(buffer)}`"
        raise self.fail("T111", f"{has}, but {given} {verb} here", node, notes=notes, hint=hint)

    def _indexed_again(self, node: ast.Subscript) -> bool:
        """Whether `A[i]` stands in `A[i][j]`."""
        return any(
            isinstance(outer, ast.Subscript) and outer.value is node
            for stmt in self.definition
            for outer in ast.walk(stmt)
        )

    def _vector_index(self, node: ast.Slice, buffer: Buffer, at: int) -> Expr:
        lower: Any = self._bound_of_slice(node.lower) if node.lower is not None else 0
        upper: Any = self._bound_of_slice(node.upper) if node.upper is not None else buffer.shape[at]
        step = 1 if node.step is None else self.python(node.step, "the step of a slice", (int,))
        for bound, place in ((lower, node.lower), (upper, node.upper)):
            # the one behind the last element of a slice that goes down to the first is -1
            if type(bound) is int and bound < (0 if place is node.lower or step > 0 else -1):
                size = buffer.shape[at]
                known = type(size) is Const and size.value + bound >= 0
                count = f"`{size.value + bound}`" if known else "a number from 0"  # type: ignore[attr-defined]
                message = f"the bound {bound} of a slice of `{buffer.name}` is negative: indices do not wrap around"
                raise self.fail("T113", message, place or node, hint=f"count from the start: write {count}")
        length = difference(upper, lower)
        scalable = scalable_length(upper, lower) if length is None and step > 0 else None
        if scalable is not None and scalable % step == 0:
            scalable //= step
            if not 0 < scalable <= MAX_LANES:
                message = f"this slice has {scalable} times vscale elements; a vector has 1 to {MAX_LANES}"
                raise self.fail("T022", message, node)
            base = as_expr(lower)
            return Ramp(base, const(step, base.dtype), scalable, True, span=self.span(node))
        if length is None:
            raise self.fail(
                "T022",
                "the length of this slice is not known while parsing",
                node,
                hint="write a loop over the elements; `i:i + 4` is a vector of 4",
            )
        lanes = -(-length // step) if step else 0
        if not 0 < lanes <= MAX_LANES:
            hint = None
            if step == -1 and node.lower is None and node.upper is None:
                hint = f"the index from the last element to the first is `T.ramp({length - 1}, -1, {length})`"
            message = f"this slice has {max(lanes, 0)} elements; a vector has 1 to {MAX_LANES}"
            raise self.fail("T022", message, node, hint=hint)
        base = as_expr(lower)
        if lanes == 1:
            return base
        return Ramp(base, as_expr(step, base.dtype), lanes, span=self.span(node))

    def _bound_of_slice(self, node: ast.expr) -> Any:
        """An integer known while parsing, or an integer expression."""
        value = self.value(node)
        if not isinstance(value, Expr):
            return self.python(node, "a bound of a slice", (int,)) if type(value) is not int else value
        if not value.dtype.is_int:
            raise self.fail("T112", f"the bound of a slice is {value.dtype}, not an integer", node)
        return value

    def scalar_source(self, node: ast.expr) -> BufferLoad | None:
        """The scalar that a region names: `x`, or `x.source[0]` as TVM prints it."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "source":
            node = node.value.value
        if not isinstance(node, ast.Name):
            return None
        found = self.value(node)
        return found if type(found) is BufferLoad else None

    def region(self, node: ast.expr) -> BufferRegion:
        """A region: `A[0:4, i]`, or a whole buffer by name."""
        scalar = self.scalar_source(node)
        if scalar is not None:
            return BufferRegion(scalar.buffer, tuple(map(Range, scalar.indices)), span=self.span(node))
        if not isinstance(node, ast.Subscript):
            buffer = self.value(node)
            if type(buffer) is not Buffer:
                raise self.fail("T022", "a region is a buffer or a slice of one, such as `A[0:4, i]`", node)
            ranges = tuple(Range(const(0, dim.dtype), dim) for dim in buffer.shape)
            return BufferRegion(buffer, ranges, span=self.span(node))
        buffer = self.value(node.value)
        if type(buffer) is not Buffer:
            raise self.fail("T022", "a region is a buffer or a slice of one, such as `A[0:4, i]`", node)
        items = index_nodes(node)
        if len(items) != len(buffer.shape):
            self._count(buffer, len(items), node)
        found: list[Range] = []
        for item in items:
            if type(item) is ast.Slice:
                if item.step is not None:
                    raise self.fail("T022", "a region has no step", item)
                upper = self.index(item.upper) if item.upper is not None else buffer.shape[len(found)]
                lower = self.index(item.lower) if item.lower is not None else const(0, upper.dtype)
                if lower.dtype is not upper.dtype:
                    lower, upper = same_dtype(lower, upper)
                found.append(Range(lower, upper))
            else:
                found.append(Range(self.index(item)))
        return BufferRegion(buffer, tuple(found), span=self.span(node))


SubscriptLowering.rules = {**ExprLowering.rules, ast.Subscript: SubscriptLowering._subscript}


def _is_table(value: Any) -> bool:
    """Whether a constant of the program can hold it: an array, or a list of numbers or of lists of them."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_table, value))
    return isinstance(value, (int, float)) or hasattr(type(value), "__array__")


def _constant_of(table: Any, text: str) -> str:
    """The way out for a table that is indexed when the kernel runs: the constant that holds it."""
    shape: list[int] = list(getattr(table, "shape", ()))
    kind = str(getattr(table, "dtype", "int32"))
    if isinstance(table, (list, tuple)):
        while isinstance(table, (list, tuple)):
            shape.append(len(table))
            kind = "float32" if any(isinstance(item, float) for item in table) else kind
            table = table[0]
        kind = "bool" if isinstance(table, bool) else kind
    name = text if text.isidentifier() else "table"
    return f'index a constant of the program instead: `K = T.allocate_const({name}, "{kind}", {tuple(shape)})`'
