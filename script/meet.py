"""The conversions that TVM makes without saying so, made explicit: text in its dialect gets them while it is read.

| text | reads as |
|---|---|
| `i32 + i64`, `i8 + u8`, `f16 * f32`, `b < i32` | the other one cast to the wider, the unsigned, the float |
| `i8 + 1`, `f16 * 1.5` | a literal alone is int32, int64 where it is great, or float32 |
| `i8 == 1`, `i8 & 1`, `i8 << 1`, `i8 - True`, `1 < i8` | here it takes the dtype of the other operand |
| `u8 / u8`, `i32 / u8`, `u8 / 3` | `T.truncdiv` |
| `T.floor(i32)` | `i32` |
| `T.exp(i32)`, `T.pow(i32, i32)` | of the integers as float32; beside a float, `T.pow(i32, f64)`, as that |
| `f32_buffer[i] = i64` | the value cast; of a literal the whole part where the place holds integers |
| `if i32:` | `if i32 != 0:` |
| `b < b` | of bools as int8 |
| `b + b`, `b - b`, `b * b`, `T.max(b, b)`, `T.min(b, b)` | numbers of one bit, which wrap: `^`, `^`, `&`, `|`, `&` |
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from tirscript.ir.dtype import FLOAT32, INT32, INT64, DType, dtype
from tirscript.ir.expr import Broadcast, Call, Const, Expr, const
from tirscript.ir.op import FLOATS, NUMS, OPS, Op, as_expr, build, cast

INT8 = dtype("int8")
_ADAPTING = frozenset(
    OPS[name]
    for name in ("equal", "not_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
)
_ROUNDING = frozenset(OPS[name] for name in ("floor", "ceil", "round", "trunc", "nearbyint"))
_OF_BITS = {
    OPS[name]: OPS[f"bitwise_{bits}"]
    for name, bits in (("add", "xor"), ("sub", "xor"), ("mul", "and"), ("max", "or"), ("min", "and"))
}
_DIV, _TRUNCDIV, _NOT_EQUAL = OPS["div"], OPS["truncdiv"], OPS["not_equal"]


def meet(entry: Op, args: list[Any]) -> Expr:
    """An operator of the table on operands that TVM would bring together."""
    if entry in _ROUNDING and len(args) == 1 and isinstance(args[0], Expr) and not args[0].dtype.is_float:
        return args[0]
    first, last = entry.group
    stop = len(args) if last is None else last
    given = args[first:stop]
    if entry.operands == FLOATS and entry is not _DIV and not any(_is_float(arg) for arg in given):
        # TVM gives the result the dtype of the integers, and has no code for that
        args = [cast(arg, FLOAT32) if isinstance(arg, Expr) and arg.dtype.is_int else arg for arg in args]
        given = args[first:stop]
    kinds = [arg.dtype for arg in given if isinstance(arg, Expr)]
    if len(given) < 2 or not kinds:
        return build(entry, args)
    common: DType = kinds[0]
    for kind in kinds[1:]:
        common = _wider(common, kind)
    adapting = entry in _ADAPTING or (entry.result == "bool" and not isinstance(given[0], Expr))
    for arg in given:
        if type(arg) in (int, float) and not (adapting and _fits(arg, common)):
            common = _wider(common, _alone(arg))
    if common.is_bool and entry.operands == NUMS and entry.result == "bool":
        common = INT8.with_lanes(common.lanes, common.scalable)
    elif common.is_bool:
        entry = _OF_BITS.get(entry, entry)
    if entry is _DIV and common.is_int and not all(kind.is_signed for kind in kinds):
        entry = _TRUNCDIV  # of signed integers alone TVM asks which division is meant
    return build(entry, [*args[:first], *(fit(arg, common) for arg in given), *args[stop:]])


def _is_float(value: Any) -> bool:
    return value.dtype.is_float if isinstance(value, Expr) else type(value) is float


def together(values: list[Any]) -> list[Any]:
    """Bounds of loops and axes in one dtype; literals stay as they are."""
    kinds = [value.dtype for value in values if isinstance(value, Expr)]
    if not kinds:
        return values
    common = kinds[0]
    for kind in kinds[1:]:
        common = _wider(common, kind)
    return [fit(value, common) if isinstance(value, Expr) else value for value in values]


def _fits(literal: int | float, to: DType) -> bool:
    """Whether a literal is one of a dtype's values, or rounds to one."""
    if not to.element.is_int:
        return to.element.is_float or literal in (0, 1)
    low, high = to.element.int_range()
    return type(literal) is int and low <= literal <= high


def _alone(literal: int | float) -> DType:
    """The dtype of a literal that nothing else gives one."""
    if type(literal) is float:
        return FLOAT32
    return INT32 if -(1 << 31) <= literal < 1 << 31 else INT64


def _wider(a: DType, b: DType) -> DType:
    """What operands of two dtypes meet in."""
    if a is b or a.is_handle or b.is_handle:
        return a
    if a.is_vector or b.is_vector:
        wide = a if a.is_vector else b
        return _wider(a.element, b.element).with_lanes(wide.lanes, wide.scalable)
    if a.is_float and b.is_float and a.bits == b.bits:
        return a if a.kind == "float" else b
    if a.is_float or b.is_float:
        return a if not b.is_float or (a.is_float and a.bits > b.bits) else b
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    if a.bits == b.bits:
        return b if a.is_signed else a
    return a if a.bits > b.bits else b


def fit(value: Any, to: DType) -> Any:
    """A value in a place of dtype `to`, where TVM converts whatever stands there; constants are converted at once."""
    number = value.value if type(value) is Const else value
    if isinstance(number, (int, float)) and (type(value) is not Const or value.dtype is not to) and not to.is_handle:
        if isinstance(number, float) and not to.element.is_float and math.isfinite(number):
            number = int(number)
        if not to.is_vector:
            return as_expr(number, to) if to.is_float or type(number) is not float else value
        return Broadcast(as_expr(number, to.element), to.lanes, to.scalable)
    if not isinstance(value, Expr) or value.dtype is to or value.dtype.is_handle or to.is_handle:
        return value
    return cast(value, to)


def truth(value: Any) -> Any:
    """A condition: a number is true where it is not zero."""
    if isinstance(value, Expr) and (value.dtype.is_int or value.dtype.is_float) and not value.dtype.is_vector:
        return Call(_NOT_EQUAL, (value, const(0, value.dtype)), OPS["not_equal"](value, 0).dtype)
    return value


_WORDS = ("sblock", "sblock_attr", "sblock_alloc_buffer", "preflattened_buffer", "buffer_decl", "match_buffer_region")
_HINT = re.compile(rf"tvm|s_tir|\b(R|relax)\.function|{'|'.join(_WORDS)}")
_COMMENT = re.compile(r"^\s*# (from tvm\.|import tvm\b|from typing import TypeVar)", re.MULTILINE)


def is_tvm(text: str, tree: ast.AST) -> bool:
    """Whether a text is in TVM's dialect, by its imports (commented ones too), its options or its words."""
    if not _HINT.search(text):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            root = (node.module or "").split(".")[0]
            if root in ("tvm", "tirscript"):
                return root == "tvm"
        elif (
            (isinstance(node, ast.Import) and any(item.name.split(".")[0] == "tvm" for item in node.names))
            or (isinstance(node, ast.keyword) and node.arg == "s_tir")
            or (isinstance(node, ast.Attribute) and (node.attr in _WORDS or _is_theirs(node)))
        ):
            return True
    return _COMMENT.search(text) is not None


def _is_theirs(node: ast.Attribute) -> bool:
    """`R.function`, which ours calls `G.graph_func`, or `tvm.script`."""
    named = node.value.id if isinstance(node.value, ast.Name) else None
    return (node.attr, named) in (("function", "R"), ("function", "relax"), ("script", "tvm"))


_TILES = re.compile(r"^\s*(# *)?(from tvm\.script import .*\btirx\b|from tvm\.script\.tirx import )", re.MULTILINE)


def is_tile_dialect(text: str) -> bool:
    """Whether a text in TVM's dialect imports `tirx`, whose functions are of the tile dialect unless `s_tir=True`."""
    return _TILES.search(text) is not None


def is_header(comment: str) -> bool:
    """Whether a comment is an import line of TVM's printer."""
    return _COMMENT.match(comment) is not None
