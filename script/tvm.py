"""The spellings of TVM's dialect that differ from ours, as one table of names that T has beside its own."""

from __future__ import annotations

from typing import Any

from tirscript.ir.dtype import VOID
from tirscript.ir.dtype import dtype as as_dtype
from tirscript.ir.expr import Call, Expr, const
from tirscript.ir.op import OPS, as_expr, cast, fail

# their name -> our construct of the same meaning
FORMS = {
    "sblock": "block",
    "sblock_attr": "block_attr",
    "sblock_alloc_buffer": "alloc_buffer",
    "Ramp": "ramp",
    "Broadcast": "broadcast",
    "LetStmt": "let",
    "reduce": "Reduce",
    "tvm_call_cpacked": "call_cpacked",
    "tvm_call_cpacked_lowered": "call_cpacked_lowered",
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
    "Mod": "truncmod",
    "Min": "min",
    "Max": "max",
    "LShift": "shift_left",
    "RShift": "shift_right",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "BitwiseNot": "bitwise_not",
}


def _cast(dtype: Any, value: Any) -> Expr:
    """`T.Cast("int64", x)`: the dtype stands first; a cast, too, where x has that dtype."""
    if type(value) is int and not -(1 << 31) <= value < 1 << 31:
        value = const(value, "int64")
    value, kind = as_expr(value), as_dtype(dtype)
    if value.dtype is kind and not (kind is VOID or kind.is_handle):
        return Call(OPS["cast"], (value,), kind)
    return cast(value, kind)  # TVM keeps the literal of `T.Cast("int8", 0)` what it is, an int32 or int64


def _div(a: Any, b: Any) -> Expr:
    """`T.Div(a, b)`: their node divides integers rounding toward zero."""
    integers = as_expr(a).dtype.is_int and as_expr(b).dtype.is_int
    return OPS["truncdiv" if integers else "div"](a, b)


def _number(dtype: Any, value: Any) -> Expr:
    """`T.IntImm("int64", 3)`: a literal of a dtype."""
    return const(value, dtype)


FUNCTIONS = {"Cast": _cast, "Div": _div, "IntImm": _number, "FloatImm": _number}


# what only text in their dialect may say, much of it no more since 2024 (legacy.py, builders.py), with what that is
THEIRS = {
    "hint": 'words for the compiler: `T.hint("words", n=1)`',
    "store": "an element of memory is written; `A[i] = x` of ours",
    "load": "an element of memory; `A[i]` of ours",
    "preflattened_buffer": "the shape of a parameter before it was flattened",
    "buffer_decl": "a buffer; `T.decl_buffer` of ours",
    "match_buffer_region": "`T.match_buffer` of a region",
    "bind": "`x = T.bind(value)`, also with a type or `var=x`, a binding; or `T.bind(vi, i)`, the value of an axis",
    "reduce_axis": "the domain of an axis of a block: `T.axis.reduce(16, k)` of ours",
    "scan_axis": "the domain of an axis of a block: `T.axis.scan(16, k)` of ours",
    "opaque_axis": "the domain of an axis of a block: `T.axis.opaque(16, k)` of ours",
    "Assert": "`assert condition, message`",
    "While": "`while condition:`",
    "call_intrin": 'an intrinsic by name: `T.call_intrin("float32", "tirx.exp", x)`',
    "Var": 'a symbolic variable: `n = T.Var("n", "int64")`; `n = T.var("int64")` of ours',
    "SizeVar": "a symbolic variable of a size, as `T.Var`",
    "dynamic": 'a symbolic variable: `n = T.dynamic("n")`; `n = T.var("int64")` of ours',
    "BufferLoad": "an element of memory; `A[i]` of ours",
    "buffer_store": "an element of memory is written; `A[i] = x` of ours",
    "masked_load": "some lanes of a vector in memory; `A.vload([i], predicate=mask)` of ours",
    "masked_store": "some lanes of a vector in memory are written; `A.vstore([i], x, predicate=mask)` of ours",
    "StringImm": "a string, which stands as one in our dialect",
    "Call": 'an intrinsic by name: `T.Call("float32", "tir.exp", [x])`',
    "If": "a condition: `with T.If(c):`, and in it `with T.Then():`; `if c:` of ours",
    "Then": "what stands in `with T.If(c):`",
    "Else": "what stands in `with T.If(c):` behind `with T.Then():`",
    "pyfunc": "a Python function of a module, which its graph functions call by name: `G.ExternFunc` of ours",
    "llvm_lookup_intrinsic_id": "an LLVM intrinsic, which stands here by its name",
}
# their intrinsics for GPUs before 2025, by the names of today
OLDER_INTRINSICS = {
    "ptx_mma": "ptx_legacy.mma",
    "ptx_ldmatrix": "ptx_legacy.ldmatrix",
    "ptx_cp_async": "s_tir.cp_async_raw",
    "ptx_commit_group": "ptx.cp_async_commit_group",
    "ptx_wait_group": "ptx.cp_async_wait_group",
    "mma_fill": "cuda.mma_fill_legacy",
    "mma_store": "cuda.mma_store_legacy",
    **{
        name: f"metal.{name}"
        for name in (
            "make_filled_simdgroup_matrix",
            "simdgroup_load",
            "simdgroup_store",
            "simdgroup_multiply_accumulate",
        )
    },
}
# their name -> our dtype
DTYPES = {
    **dict.fromkeys(("boolean", "int1", "uint1"), "bool"),
    "bf16": "bfloat16",
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{
        f"{letter}{bits}": f"{word}{bits}" for letter, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)
    },
}


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

    def __call__(self, *args: Any, **kwargs: Any) -> Expr:
        try:
            made: Expr = self.function(*args, **kwargs)
        except ValueError as problem:
            raise fail("T109", str(problem).partition(";")[0]) from None
        return made

    def __repr__(self) -> str:
        return f"<T.{self.name}>"
