"""The spellings of TVM's dialect that differ from ours, as one table of names that T has beside its own."""

from __future__ import annotations

from typing import Any

from tirscript.ir.expr import Expr
from tirscript.ir.op import OPS, as_expr

# their name -> our construct of the same meaning
FORMS = {
    "sblock": "block",
    "sblock_attr": "block_attr",
    "sblock_alloc_buffer": "alloc_buffer",
    "Ramp": "ramp",
    "Broadcast": "broadcast",
    "LetStmt": "let",
    "reduce": "Reduce",
}
# their constructs that we read as something else (dialect.py), with what that is
CONSTRUCTS = {
    "alloc_scalar": "a mutable scalar; `x: T.float32` of ours",
    "local_scalar": "a mutable scalar; `x: T.float32` of ours",
    "shared_scalar": 'a scalar that threads share; `T.alloc_buffer((1,), scope="shared")` of ours',
    "decl_scalar": "a name for one element of memory; `T.decl_buffer((1,), data=)` of ours",
    "iter_var": 'an axis of a reduction: `T.iter_var(k, T.Range(0, 16), "CommReduce", "")`',
    "Range": "the values of an axis: `T.Range(0, 16)`",
    "allocate": "memory; `T.alloc_buffer` of ours",
    "alloc_local": 'memory of scope "local"; `T.alloc_buffer(..., scope="local")` of ours',
    "alloc_shared": 'memory of scope "shared"; `T.alloc_buffer(..., scope="shared")` of ours',
    "break_loop": "`break`",
    "continue_loop": "`continue`",
    "ret": "`return value`",
}
# their name -> our operator of the same meaning
OPERATORS = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "Min": "min",
    "Max": "max",
}


def _cast(to: Any, value: Any) -> Expr:
    """`T.Cast("int64", x)`: the dtype stands first."""
    return OPS["cast"](value, to)


def _div(a: Any, b: Any) -> Expr:
    """`T.Div(a, b)`: their node divides integers rounding toward zero."""
    integers = as_expr(a).dtype.is_int and as_expr(b).dtype.is_int
    return OPS["truncdiv" if integers else "div"](a, b)


def _mod(a: Any, b: Any) -> Expr:
    """`T.Mod(a, b)`: the remainder of their division."""
    integers = as_expr(a).dtype.is_int and as_expr(b).dtype.is_int
    return OPS["truncmod" if integers else "fmod"](a, b)


FUNCTIONS = {"Cast": _cast, "Div": _div, "Mod": _mod}


def tvm_names(names: dict[str, Any]) -> dict[str, Any]:
    """What T has of TVM's dialect, over the table of its own names."""
    return {
        **{theirs: names[ours] for theirs, ours in FORMS.items()},
        **{theirs: OPS[ours] for theirs, ours in OPERATORS.items()},
        **{theirs: DialectFunction(theirs, function) for theirs, function in FUNCTIONS.items()},
    }


class DialectFunction:
    """A function of the dialect that builds expressions of ours."""

    def __init__(self, name: str, function: Any) -> None:
        self.name = name
        self.__doc__ = function.__doc__
        self.function = function

    def __call__(self, *args: Any) -> Expr:
        made: Expr = self.function(*args)
        return made

    def __repr__(self) -> str:
        return f"<T.{self.name}>"
