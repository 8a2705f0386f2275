"""Loops run only over the iterations that do something.

before:                                            after:
    for i in range(16):                                for i in range(2, 14):
        if i >= 2 and i < 14:                              B[i] = A[i]
            B[i] = A[i]

The condition of an `if` that is all of a loop's body, or the T.where of a block that is, is taken into the loop's ends
as far as it bounds the variable. Ends that are no numbers, such as `T.min(4, n - i * 4)`, are made only with the option
`symbolic`: loops of constant extent are easier for the passes behind.
"""

from __future__ import annotations

from typing import Any

from tirscript.ir.arith.linear import expression, linear
from tirscript.ir.arith.logic import conjuncts
from tirscript.ir.arith.scoped import Scoped
from tirscript.ir.expr import Call, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, get_op
from tirscript.ir.rewrite import uses, walk
from tirscript.ir.stmt import Block, For, If, Stmt

from .fitted_axes import fit_axes
from .pipeline import prim_func_pass
from .statements import conjunction, keep_comments, reads_memory

_LESS = {OPS["less"]: 0, OPS["less_equal"]: 1}
_GREATER = {OPS["greater"]: 0, OPS["greater_equal"]: 1}


@prim_func_pass()
def reduce_loop_extents(func: PrimFunc, *, symbolic: bool = False) -> PrimFunc:
    """`for i in range(16): if i < 14: S` becomes `for i in range(14): S`."""
    return fit_axes(func, _Reduce(symbolic).function(func))


class _Reduce(Scoped):
    def __init__(self, symbolic: bool) -> None:
        super().__init__()
        self.symbolic = symbolic

    def visit(self, node: Any) -> Any:
        return self.reduced(node) if type(node) is For else self.descend(node)

    def reduced(self, loop: For) -> Any:
        new = self.loop(loop)
        if new.step is not None or len(new.body) != 1 or new.kind == "thread_binding":
            return new
        inner: Stmt = new.body[0]
        if type(inner) is If and not inner.orelse:
            condition: Expr | None = inner.condition
        elif type(inner) is Block and _axes_stay(inner, new.var):
            condition = inner.predicate
        else:
            return new
        if condition is None or reads_memory(condition):
            return new
        start, stop = new.start, new.stop
        kept: list[Expr] = []
        for part in conjuncts(condition):
            with self.analyzer.scope():
                self.analyzer.enter_loop(new)
                end = self._bound(part, new.var)
            if end is None:
                kept.append(part)
                continue
            side, value = end
            if side == "stop":
                narrowed = self.analyzer.simplify(get_op("min")(stop, value))
            else:
                narrowed = self.analyzer.simplify(get_op("max")(start, value))
            if type(narrowed) is not Const and not self.symbolic:
                kept.append(part)
            elif side == "stop":
                stop = narrowed
            else:
                start = narrowed
        if start is new.start and stop is new.stop:
            return new
        if not self.analyzer.can_prove(stop >= start):
            if self.analyzer.can_prove(stop <= start):
                return ()
            if not self.symbolic:
                return new
        rest = conjunction(kept)
        if type(inner) is If:
            body = keep_comments(inner, inner.then if rest is None else (inner.replace(condition=rest),))
        else:
            body = (inner.replace(predicate=rest),)
        return new.replace(start=start, stop=stop, body=body)

    def _bound(self, part: Expr, var: Var) -> tuple[str, Expr] | None:
        """What a comparison says of the loop's variable: its least value, or the one behind its greatest."""
        if type(part) is not Call or not (part.op in _LESS or part.op in _GREATER):
            return None
        left, right = part.args
        if not left.dtype.is_int or left.dtype.is_vector or left.dtype is not var.dtype or not left.dtype.is_signed:
            return None
        if any(self.analyzer.can_overflow(side) for side in (left, right)):
            return None
        # the condition is `form < 0`, or `form > 0` for the other comparisons, one further where equality is allowed
        form = linear(left) - linear(right)
        factor = form.terms.get(var, 0)
        rest = form.without(var)
        if not factor or any(uses(atom, var) for atom in rest.terms):
            return None
        upper = part.op in _LESS
        slack = _LESS.get(part.op, _GREATER.get(part.op, 0))
        if not upper:
            form, factor, rest = form.scaled(-1), -factor, rest.scaled(-1)
        # factor * var + rest < slack: either var < ceil((slack - rest) / factor) or var > (rest - slack) / -factor
        value = expression(rest.scaled(-1).shifted(slack) if factor > 0 else rest.shifted(-slack))
        if factor > 0:
            value = value if factor == 1 else get_op("ceildiv")(value, factor)
        else:
            value = (value if factor == -1 else value // -factor) + 1
        if any(self.analyzer.can_overflow(part) for part in walk(value, Call)):
            return None
        return "stop" if factor > 0 else "start", value


def _axes_stay(block: Block, var: Var) -> bool:
    """Whether no axis of a block is the loop's variable itself: its domain would have to change with the loop."""
    return all(axis.value is not var for axis in block.axes)
