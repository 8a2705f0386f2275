"""Expressions as text: strings, with the precedence that the place asks for passed down.

A rule takes the printer, the node and the least precedence that needs no parentheses. Rules are found by the node's
class, those of calls by the operator, whose entry in the table says symbol and precedence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32
from tirscript.ir.expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    Const,
    Expr,
    Let,
    Ramp,
    Range,
    StringImm,
    Var,
)
from tirscript.ir.op import FOREIGN, OPS, Op

from .literals import alone, bare, dtype_name, explicit, quote

if TYPE_CHECKING:
    from .core import Printer

ExprRule = Callable[["Printer", Any, int], str]

TERNARY, ARITH, UNARY, ATOM = 2, 11, 13, 15
# what a `**` is written tight around, as ruff does
_SIMPLE = re.compile(r"[-~]?[^\W\d]\w*|-?\d+(\.\d*)?(e[-+]?\d+)?")


# --- leaves -----------------------------------------------------------------------------------------------------------


def binder(p: Printer, node: Any, prec: int) -> str:
    """A variable or buffer by its name; one that nothing in the text defines is named when it is met first."""
    return p.get(id(node)) or p.names.fix(node, node.name)


def constant(p: Printer, node: Const, prec: int) -> str:
    """A constant that stands alone."""
    text = alone(node)
    return f"({text})" if prec > UNARY and text[0] == "-" else text


def _string(p: Printer, node: StringImm, prec: int) -> str:
    return quote(node.value)


def _data(p: Printer, node: BufferData, prec: int) -> str:
    return f"{binder(p, node.buffer, 0)}.data"


# --- places in buffers ------------------------------------------------------------------------------------------------


def load(p: Printer, node: BufferLoad, prec: int) -> str:
    """`A[i, j]`, `x` for a scalar variable."""
    get = p.get
    buffer = node.buffer
    name = get(id(buffer)) or p.names.fix(buffer, buffer.name)
    if node.predicate is not None:
        return f"{name}.vload({index_list(p, node.indices)}, predicate={top(p, node.predicate)})"
    indices = node.indices
    if len(indices) == 2:
        i, j = indices
        rules = p.indices
        text = f"{name}[{get(id(i)) or rules[type(i)](p, i, 0)}, {get(id(j)) or rules[type(j)](p, j, 0)}]"
        if len(text) > p.longest:
            p.measure()
        return text
    return place(p, name, buffer, indices)


def place(p: Printer, name: str, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
    """`name[indices]`."""
    get, rules = p.get, p.indices
    if len(indices) == 1:
        i = indices[0]
        return f"{name}[{get(id(i)) or rules[type(i)](p, i, 0)}]"
    if indices:
        return f"{name}[{', '.join([get(id(i)) or rules[type(i)](p, i, 0) for i in indices])}]"
    return name if buffer.scope == "scalar" else f"{name}[()]"


def index_list(p: Printer, indices: tuple[Expr, ...]) -> str:
    """`[i, j]`, as vload and vstore take them."""
    return f"[{', '.join([top(p, i) for i in indices])}]"


def top(p: Printer, node: Any) -> str:
    """An expression in a place that needs no parentheses."""
    return p.get(id(node)) or p.exprs[type(node)](p, node, 0)


def _slice_index(p: Printer, node: Ramp, prec: int) -> str:
    """`i : i + 4` as an index, where reading it gives this very ramp."""
    base, stride = node.base, node.stride
    if (
        node.scalable
        or type(stride) is not Const
        or stride.value != 1
        or stride.dtype is not INT32
        or base.dtype is not INT32
    ):
        return _ramp(p, node, prec)
    if type(base) is Const:
        stop = str(base.value + node.lanes)
        return slice_text(str(base.value), stop)
    return slice_text(top(p, base), f"{p.get(id(base)) or p.exprs[type(base)](p, base, ARITH)} + {node.lanes}")


def slice_text(start: str, stop: str) -> str:
    """`a:b`, with blanks around the colon where ruff has them."""
    simple = _SIMPLE.fullmatch(start) and _SIMPLE.fullmatch(stop)
    return f"{start}:{stop}" if simple else f"{start} : {stop}"


def range_text(p: Printer, node: Range, prec: int = 0) -> str:
    """One dimension of a region."""
    start = top(p, node.start)
    return start if node.stop is None else slice_text(start, top(p, node.stop))


def region(p: Printer, node: BufferRegion, prec: int = 0) -> str:
    """`A[0:4, i]`."""
    name = binder(p, node.buffer, 0)
    if not node.ranges:
        return name if node.buffer.scope == "scalar" else f"{name}[()]"
    get, exprs = p.get, p.exprs
    parts = []
    for item in node.ranges:
        if item.stop is None:
            start = item.start
            parts.append(get(id(start)) or exprs[type(start)](p, start, 0))
        else:
            parts.append(range_text(p, item))
    return f"{name}[{', '.join(parts)}]"


# --- vectors, let, calls of functions ---------------------------------------------------------------------------------


def _ramp(p: Printer, node: Ramp, prec: int) -> str:
    return f"T.ramp({top(p, node.base)}, {top(p, node.stride)}, {lanes(node)})"


def _broadcast(p: Printer, node: Broadcast, prec: int) -> str:
    return f"T.broadcast({top(p, node.value)}, {lanes(node)})"


def lanes(node: Ramp | Broadcast) -> str:
    return f"T.vscale() * {node.lanes}" if node.scalable else str(node.lanes)


def _let(p: Printer, node: Let, prec: int) -> str:
    value = top(p, node.value)
    mark = len(p.names.stack)
    name = p.names.define(node.var, node.var.name)
    body = top(p, node.body)
    p.names.release(mark)
    return f'T.let("{name}", {value}, lambda {name}: {body})'


def call_function(p: Printer, node: CallFunction, prec: int) -> str:
    """`Module.g(A, B[0:4])`, or `g(...)` outside of a module."""
    if p.module is not None:
        name = f"{p.module}.{node.function}"
    else:
        name = node.function
        p.called.add(name)
    return f"{name}({', '.join([top(p, arg) for arg in node.args])})"


# --- operators --------------------------------------------------------------------------------------------------------


def call(p: Printer, node: Call, prec: int) -> str:
    """A call of an operator of the table, by the operator's own rule."""
    rule = p.ops[node.op]
    text: str = rule[0](p, node, prec, rule)
    if len(text) > p.longest:
        p.measure()
    return text


def _binary(p: Printer, node: Call, prec: int, rule: Any) -> str:
    _, text, own, right_prec = rule
    a, b = node.args
    if type(b) is Const:
        right = p.second(b, a)
        left = p.first(a) if type(a) is Const else p.get(id(a)) or p.exprs[type(a)](p, a, own)
    elif type(a) is Const:
        left = p.second(a, b)
        right = p.get(id(b)) or p.exprs[type(b)](p, b, right_prec)
    else:
        get, exprs = p.get, p.exprs
        left = get(id(a)) or exprs[type(a)](p, a, own)
        right = get(id(b)) or exprs[type(b)](p, b, right_prec)
    return f"({left}{text}{right})" if own < prec else f"{left}{text}{right}"


def first_const(node: Const) -> str:
    """The first of operands that are all constants: says the dtype of all."""
    return explicit(node)


def second_const(node: Const, other: Expr) -> str:
    """A constant operand beside `other`, whose dtype it takes where it can."""
    if node.dtype is other.dtype:
        text = bare(node)
        if text is not None:
            return text
    return explicit(node)


def _compare(p: Printer, node: Call, prec: int, rule: Any) -> str:
    _, text, own, right_prec = rule
    a, b = node.args
    if type(a) is Const:
        left = p.first(a) if type(b) is Const else p.second(a, b)
    else:
        left = p.get(id(a)) or p.exprs[type(a)](p, a, right_prec)
    if type(b) is Const:
        right = p.second(b, a)
    else:
        right = p.get(id(b)) or p.exprs[type(b)](p, b, right_prec)
    return f"({left}{text}{right})" if own < prec else f"{left}{text}{right}"


def _power(p: Printer, node: Call, prec: int, rule: Any) -> str:
    a, b = node.args
    if type(a) is Const:
        left = p.first(a) if type(b) is Const else p.second(a, b)
        if left[0] == "-":
            left = f"({left})"
    else:
        left = p.get(id(a)) or p.exprs[type(a)](p, a, ATOM)
    if type(b) is Const:
        right = p.second(b, a)
    else:
        right = p.get(id(b)) or p.exprs[type(b)](p, b, UNARY)
    text = f"{left}**{right}" if is_tight(left, right) else f"{left} ** {right}"
    return f"({text})" if rule[2] < prec else text


def is_tight(left: str, right: str) -> bool:
    """Whether ruff writes `left**right` without blanks: both operands are names or numbers."""
    return bool(_SIMPLE.fullmatch(left) and _SIMPLE.fullmatch(right.split("**", 1)[0].rstrip()))


def _logic(p: Printer, node: Call, prec: int, rule: Any) -> str:
    _, text, own, right_prec = rule
    a, b = node.args
    left = condition(p, a, own)
    right = condition(p, b, right_prec)
    return f"({left}{text}{right})" if own < prec else f"{left}{text}{right}"


def _unary(p: Printer, node: Call, prec: int, rule: Any) -> str:
    _, text, own, below = rule
    a = node.args[0]
    inner = p.first(a) if type(a) is Const else p.get(id(a)) or p.exprs[type(a)](p, a, below)
    return f"({text}{inner})" if own < prec else f"{text}{inner}"


def condition(p: Printer, node: Any, prec: int = 0) -> str:
    """A condition; a constant one says its dtype, so that it is no parse-time value."""
    if type(node) is Const:
        return p.first(node)
    return p.get(id(node)) or p.exprs[type(node)](p, node, prec)


def _ternary(p: Printer, node: Call, prec: int, rule: Any) -> str:
    test, a, b = node.args
    if type(test) is Const:
        return f"T.if_then_else({p.first(test)}, {', '.join(group(p, node.args[1:]))})"
    left, right = group(p, (a, b), TERNARY + 1)
    text = f"{left} if {p.get(id(test)) or p.exprs[type(test)](p, test, TERNARY + 1)} else {right}"
    return f"({text})" if prec > TERNARY else text


def group(p: Printer, args: tuple[Any, ...], prec: int = 0) -> list[str]:
    """Operands that share a dtype: constants are bare beside one that is none; of constants only, the first says it."""
    get, exprs = p.get, p.exprs
    other = next((arg for arg in args if type(arg) is not Const), None)
    texts = []
    for arg in args:
        if type(arg) is not Const:
            texts.append(get(id(arg)) or exprs[type(arg)](p, arg, prec))
        elif other is not None:
            texts.append(p.second(arg, other))
        else:
            texts.append(p.second(arg, args[0]) if texts else p.first(arg))
    return texts


def _named(p: Printer, node: Call, prec: int, rule: Any) -> str:
    """`T.name(args)`, of an operator whose arguments do not share a dtype."""
    get, exprs = p.get, p.exprs
    return f"{rule[1]}{', '.join([get(id(a)) or exprs[type(a)](p, a, 0) for a in node.args])})"


def _named_one(p: Printer, node: Call, prec: int, rule: Any) -> str:
    a = node.args[0]
    inner = p.first(a) if type(a) is Const else p.get(id(a)) or p.exprs[type(a)](p, a, 0)
    return f"{rule[1]}{inner})"


def _named_group(p: Printer, node: Call, prec: int, rule: Any) -> str:
    args = node.args
    first, last = node.op.group
    stop = len(args) if last is None else last
    texts = [condition(p, arg) for arg in args[:first]]
    texts += group(p, args[first:stop])
    texts += [top(p, arg) for arg in args[stop:]]
    return f"{rule[1]}{', '.join(texts)})"


def _dtype_first(p: Printer, node: Call, prec: int, rule: Any) -> str:
    return f"{rule[1]}{', '.join([_dtype(p, node), *(top(p, arg) for arg in node.args)])})"


def _dtype_last(p: Printer, node: Call, prec: int, rule: Any) -> str:
    texts = [p.first(arg) if type(arg) is Const else top(p, arg) for arg in node.args]
    return f"{rule[1]}{', '.join([*texts, _dtype(p, node)])})"


def _cast(p: Printer, node: Call, prec: int, rule: Any) -> str:
    value = node.args[0]
    if value.dtype is node.dtype:  # a cast that `T.cast` leaves out
        return f"T.Cast({_dtype(p, node)}, {p.first(value) if type(value) is Const else top(p, value)})"
    return _dtype_last(p, node, prec, rule)


def _launch(p: Printer, node: Call, prec: int, rule: Any) -> str:
    """`T.call_ffi_kernel(name, args, launch_params=["threadIdx.x"], ret_ty="int32")`."""
    names: Any = node.args[-1]
    tags = ", ".join([quote(tag) for tag in names.value.split(", ") if tag])
    args = ", ".join([top(p, arg) for arg in node.args[:-1]])
    return f"{rule[1]}{args}, launch_params=[{tags}], ret_ty={_dtype(p, node)})"


def _dtype(p: Printer, node: Call) -> str:
    """The dtype of a call as its argument."""
    name = dtype_name(node.dtype)
    return name if node.dtype.pointee is None else name + p.words["pointer"]


def rule_of(op: Op) -> tuple[Any, ...]:
    """The printing rule of an operator, read from its entry: (function, text, precedence, precedence on the right)."""
    own = op.precedence
    if op.symbol == "if":
        return _ternary, "", own, own
    if op.symbol == "**":
        return _power, "", own, UNARY
    if op.symbol is not None and op.arity == (1, 1):
        # ruff puts a power under a sign in parentheses; so is everything else that is not tighter than a sign
        return _unary, "not " if op.symbol == "not" else op.symbol, own, own if op.symbol == "not" else ATOM
    if op.symbol is not None:
        rule = _logic if op.symbol in ("and", "or") else _compare if op.result == "bool" else _binary
        return rule, f" {op.symbol} ", own, own + 1
    text = f"T.{op.name}("
    if op.dtype_arg is not None:
        return (_dtype_first if op.dtype_arg == "first" else _dtype_last), text, ATOM, ATOM
    if op.make is not None or op.arity == (0, 0):
        return _named, text, ATOM, ATOM
    return (_named_one if op.arity == (1, 1) else _named_group), text, ATOM, ATOM


class OpRules(dict[Op, tuple[Any, ...]]):
    """The rules by operator; one that is added to the table later gets its rule when it is met."""

    def __missing__(self, op: Op) -> tuple[Any, ...]:
        rule = self[op] = rule_of(op)
        return rule


OP_RULES = OpRules({op: rule_of(op) for op in OPS.values()})
OP_RULES[OPS["cast"]] = (_cast, *OP_RULES[OPS["cast"]][1:])
OP_RULES[FOREIGN["call_ffi_kernel"]] = (_launch, *rule_of(FOREIGN["call_ffi_kernel"])[1:])

EXPR_RULES: dict[type, ExprRule] = {
    Var: binder,
    Buffer: binder,
    Const: constant,
    StringImm: _string,
    Call: call,
    CallFunction: call_function,
    BufferLoad: load,
    BufferData: _data,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Let: _let,
    Range: range_text,
    BufferRegion: region,
}
# an index may be a slice; everything else is as elsewhere
INDEX_RULES: dict[type, ExprRule] = {**EXPR_RULES, Ramp: _slice_index}
