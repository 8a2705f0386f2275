"""Arrays of one dimension that loops go through as matrices are seen as matrices, which schedules know.

before:                                            after:
    for i, j, k in T.grid(4, 5, 6):                    A_2d = T.decl_buffer((4, 6), data=A.data)
        C[i * 5 + j] += A[i * 6 + k] * B[k * 5 + j]    ...
                                                       for i, j, k in T.grid(4, 5, 6):
                                                           C_2d[i, j] += A_2d[i, k] * B_2d[k, j]

The sizes of the dimensions are the numbers that variables are multiplied with in indices. They are taken where each
divides the one before, and all indices are proved to stay within each dimension.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from tirscript.ir.arith.bounds import exact, linear_bounds
from tirscript.ir.arith.linear import Linear, expression, linear
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import BufferData, BufferLoad, Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import free_buffers, map_except_buffers, walk
from tirscript.ir.stmt import AllocBuffer, BufferStore, DeclBuffer, For

from ..statements import may_overlap

# accesses of a buffer, and different factors in them, that are looked at
MOST_ACCESSES, MOST_FACTORS = 64, 6
_ACCESSES = (BufferLoad, BufferStore)


def with_dimensions(func: PrimFunc) -> PrimFunc:
    """The function with matrices for arrays of one dimension that it goes through so; itself where there are none."""
    if may_overlap(func) or not any(type(stmt) is For for stmt in func.body):
        return func
    flat = _flat(func)
    if not flat:
        return func
    found = _Accesses(flat)
    found.function(func)
    views: dict[Buffer, tuple[Buffer, tuple[int, ...]]] = {}
    for buffer, forms in found.forms.items():
        steps = None if buffer in found.refused else _steps(int(buffer.shape[0].value), forms)  # type: ignore[attr-defined]
        if steps is not None:
            dtype = buffer.shape[0].dtype
            sizes = (int(buffer.shape[0].value) // steps[0], *(a // b for a, b in itertools.pairwise(steps)))  # type: ignore[attr-defined]
            shape = tuple(Const(size, dtype) for size in sizes)
            views[buffer] = Buffer(f"{buffer.name}_{len(shape)}d", shape, buffer.dtype, scope=buffer.scope), steps
    if not views:
        return func
    return _Rewritten(views).function(_declared(func, views))


def _flat(func: PrimFunc) -> set[Buffer]:
    """Parameters and allocations of one dimension of known size that nothing but loads and stores reach."""
    owners = {
        *func.param_buffers,
        *(stmt.buffer for stmt in func.body if type(stmt) is AllocBuffer and not stmt.annotations),
    }
    flat = {buffer for buffer in owners if _is_flat(buffer)}
    if not flat:
        return flat
    count = dict.fromkeys(flat, 0)
    for node in walk(func.body):
        if type(node) is Buffer and node in count:
            count[node] += 1
        elif type(node) in _ACCESSES and node.buffer in count:  # type: ignore[attr-defined]
            count[node.buffer] -= 1  # type: ignore[attr-defined]
    return {buffer for buffer in flat if count[buffer] == (0 if buffer in func.param_buffers else 1)}


def _is_flat(buffer: Buffer) -> bool:
    return (
        len(buffer.shape) == 1
        and type(buffer.shape[0]) is Const
        and buffer.shape[0].value > 1
        and buffer.strides is None
        and buffer.elem_offset is None
        and not buffer.axis_separators
        and not buffer.allocated_addr
        and not buffer.dtype.is_vector
    )


class _Accesses(Scoped):
    """Collects the indices of buffers as sums, with the bounds of what is summed."""

    def __init__(self, flat: set[Buffer]) -> None:
        super().__init__()
        self.flat = flat
        self.forms: dict[Buffer, list[tuple[Linear, Any]]] = {}
        self.refused: set[Buffer] = set()

    def access(self, node: Any) -> Any:
        if node.buffer in self.flat:
            form = linear(node.indices[0])
            known = dict(self.analyzer.known)
            forms = self.forms.setdefault(node.buffer, [])
            forms.append((form, known))
            if node.predicate is not None or not exact(form, known) or len(forms) > MOST_ACCESSES:
                self.refused.add(node.buffer)
        return map_except_buffers(node, self.visit)

    rules = dict.fromkeys(_ACCESSES, access)


def _steps(size: int, forms: list[tuple[Linear, Any]]) -> tuple[int, ...] | None:
    """How many elements an index of each dimension goes on; None where there are no dimensions."""
    factors = sorted({abs(c) for form, _ in forms for c in form.terms.values() if abs(c) > 1}, reverse=True)
    if not factors or len(factors) > MOST_FACTORS:
        return None
    for count in range(len(factors), 0, -1):
        for chosen in itertools.combinations(factors, count):
            steps = (*chosen, 1)
            if size % steps[0] or any(a % b for a, b in itertools.pairwise(steps)):
                continue
            if all(_split(form, known, size, steps) is not None for form, known in forms):
                return steps
    return None


def _split(form: Linear, known: Any, size: int, steps: tuple[int, ...]) -> list[Linear] | None:
    """An index as one for each dimension, None where they are not proved to stay within it."""
    parts: list[dict[Expr, int]] = [{} for _ in steps]
    for atom, factor in form.terms.items():
        at = next(at for at, step in enumerate(steps) if factor % step == 0)
        parts[at][atom] = factor // steps[at]
    sizes = (size // steps[0], *(a // b for a, b in itertools.pairwise(steps)))
    for constants in _digits(form.constant, steps):
        found = [Linear(part, constant, form.dtype) for part, constant in zip(parts, constants, strict=True)]
        ends = [linear_bounds(one, known) for one in found]
        if all(low >= 0 and high < limit for (low, high), limit in zip(ends, sizes, strict=True)):
            return found
    return None


def _digits(constant: int, steps: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The ways to make a constant of multiples of the steps, with rests of either sign."""
    if len(steps) == 1:
        yield (constant,)
        return
    for digit in (constant // steps[0], constant // steps[0] + 1):
        for rest in _digits(constant - digit * steps[0], steps[1:]):
            yield (digit, *rest)


class _Rewritten(Scoped):
    """Loads and stores of the views."""

    def __init__(self, views: dict[Buffer, tuple[Buffer, tuple[int, ...]]]) -> None:
        super().__init__()
        self.views = views

    def access(self, node: Any) -> Any:
        new = map_except_buffers(node, self.visit)
        if node.buffer not in self.views:
            return new
        view, steps = self.views[node.buffer]
        parts = _split(linear(node.indices[0]), self.analyzer.known, int(node.buffer.shape[0].value), steps)
        assert parts is not None, "what was proved of an index is known no more"
        indices: list[Expr] = [self.visit(expression(part)) for part in parts]
        return new.replace(buffer=view, indices=tuple(indices))

    rules = dict.fromkeys(_ACCESSES, access)


def _declared(func: PrimFunc, views: dict[Buffer, tuple[Buffer, tuple[int, ...]]]) -> PrimFunc:
    """The function with the views of parameters, and other allocations."""
    body = [
        stmt.replace(buffer=views[stmt.buffer][0]) if type(stmt) is AllocBuffer and stmt.buffer in views else stmt
        for stmt in func.body
    ]
    given = [buffer for buffer in func.param_buffers if buffer in views]
    declared = [DeclBuffer(views[one][0], BufferData(one)) for one in given]
    at = next((at for at, stmt in enumerate(func.body) if not {*free_buffers(stmt)}.isdisjoint(given)), 0)
    return func.replace(body=(*body[:at], *declared, *body[at:]))


__all__ = ["with_dimensions"]
