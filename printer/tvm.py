"""The text that apache-tvm 0.27 reads: the same rules, with those overridden in which its TVMScript differs.

Constants say their dtype wherever TVM would choose one, scalars are bound with `T.let`, all symbolic dimensions are
declared before the function. What TVM has no text for raises T402.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.dtype import INT32, NAMED_LANES, DType
from tirscript.ir.expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    CommReducer,
    Const,
    Let,
    Ramp,
    Reduce,
    const,
    is_const,
)
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import FOREIGN, OPS
from tirscript.ir.rewrite import holds, substitute, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Attr,
    Bind,
    Block,
    BufferStore,
    DeclBuffer,
    For,
    LaunchThread,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
)
from tirscript.ir.target import Target

from .blocks import block
from .core import Dialect, refuse
from .expr import ATOM, EXPR_RULES, OP_RULES, OpRules, binder, call_function, condition, lanes, load, top
from .graph import GRAPH_STMT_RULES, body, graph_function
from .graph_values import GRAPH_VALUE_RULES
from .launch import launch_flat
from .literals import decimal, dtype_annotation, dtype_name, explicit, quote
from .stmt import STMT_RULES, TAB, assert_message, bind, buffer_arguments, match_buffer, scope, store, value
from .tvm_blocks import DEFINING, accessed, indexes_by_let
from .tvm_order import in_order_of_tvm
from .value import VALUE_RULES, comm_reducer, listed, target_dict, typed

if TYPE_CHECKING:
    from .core import Printer

# TVM reads every float literal as one of float32 first, and wants the greatest to the last digit
_SEPARATORS = "TVM has no text for axis separators"
_NO_SEPARATORS = "drop `axis_separators` where the memory is flat"
_FLOAT32_MAX = float.fromhex("0x1.fffffep127")


def tvm_dialect() -> Dialect:
    """TVMScript as apache-tvm 0.27 reads it."""
    return Dialect(
        name="tvm",
        imports=_imports,
        exprs=_EXPRS,
        indices=_EXPRS,
        ops=_OPS,
        stmts=_STMTS,
        first=_first,
        second=lambda node, other: _typed(node),
        literal=lambda node, kind: _typed(node),
        decorator=_decorator,
        words={
            "block": "T.sblock",
            "block_attr": "T.sblock_attr",
            "alloc_buffer": "T.alloc_buffer",
            "remap": "SR",
            "pointer": ".ty",  # `T.handle("float32")` alone is a variable
            "graph": "R",
        },
        graph=graph_function,
        graph_body=body,
        graph_stmts=GRAPH_STMT_RULES,
        strings=False,
        prepare=_prepare,
        rearranged=in_order_of_tvm,
    )


def _imports(module: bool, functions: bool, graphs: bool) -> list[str]:
    used = (("ir as I", module), ("tirx as T", functions), ("relax as R", graphs))
    return [f"from tvm.script import {name}" for name, is_used in used if is_used]


def _decorator(func: PrimFunc, options: dict[str, Any]) -> str:
    if func.private and "global_symbol" in func.attrs:
        raise refuse(
            f"TVM has no private function with a global symbol, as {func.name!r} is", func.span, "drop one of both"
        )
    options.pop("s_tir", None)
    given = ", ".join(
        f"{name}={value}" for name, value in {**options, **({"s_tir": True} if func.s_tir else {})}.items()
    )
    return f"@T.prim_func({given})" if given else "@T.prim_func"


def _prepare(p: Printer, func: PrimFunc, indent: str) -> None:
    """Declare the variables of `T.Let`, and note which buffers are allocated by a block."""
    if any(type(param) is Buffer and param.axis_separators for param in func.params):
        raise refuse(_SEPARATORS, func.span, _NO_SEPARATORS)
    has_blocks = False
    for node in walk(func.body):
        if isinstance(node, (AllocBuffer, DeclBuffer, MatchBuffer)) and node.buffer.axis_separators:
            raise refuse(_SEPARATORS, node.span, _NO_SEPARATORS)
        if type(node) is Let:
            # one for each, since TVM defines no variable twice
            name = p.names.fix(node.var, node.var.name)
            p.let_names.setdefault(id(node.var), []).append(name)
            p.out.append(f"{indent}{name} = {dtype_annotation(node.var.dtype)}()")
        elif type(node) is Reduce:
            for var in node.axes:
                name = p.names.fix(var, var.name)
                p.let_names.setdefault(id(var), []).append(name)
                p.out.append(f"{indent}{name} = {dtype_annotation(var.dtype)}()")
        elif type(node) is Block:
            has_blocks = True
            bare = [axis for axis in node.axes if axis.bare]
            if bare:  # an axis of int32 among values of int64 would get casts
                used = {one for part in (*(node.init or ()), *node.body) for one in walk(part)}
                p.bare.update(id(axis) for axis in bare if axis.var not in used)
            p.of_blocks.update(
                id(stmt)
                for stmt in node.body
                if type(stmt) is MatchBuffer or (type(stmt) is AllocBuffer and stmt.of_block is not False)
            )
    p.of_blocks.update(
        id(stmt)
        for stmt in func.body
        if type(stmt) is AllocBuffer and (has_blocks if stmt.of_block is None else stmt.of_block)
    )


# --- constants and expressions ----------------------------------------------------------------------------------------


def _typed(node: Const) -> str:
    value = node.value
    if node.dtype is INT32:
        return str(value)
    if type(value) is float and _FLOAT32_MAX <= abs(value) < math.inf:
        if abs(value) > _FLOAT32_MAX:
            return f'T.FloatImm("{node.dtype.name}", {decimal(value)})'
        return f"T.{node.dtype.name}({decimal(value)})"
    if node.told is not None and math.isfinite(node.told):
        return f"T.{node.dtype.name}({decimal(node.told)})"
    if type(value) is int and value >= 1 << 63:
        return f'T.IntImm("{node.dtype.name}", {value})'
    return explicit(node)


def _first(node: Const) -> str:
    return f"T.int32({node.value})" if node.dtype is INT32 else _typed(node)


def _constant(p: Printer, node: Const, prec: int) -> str:
    text = _typed(node)
    return f"({text})" if prec == ATOM and text[0] == "-" else text


def _load(p: Printer, node: BufferLoad, prec: int) -> str:
    if node.predicate is not None:
        return f'T.masked_load("{node.dtype.name}", {_masked(p, node)})'
    return load(p, node, prec)


def _masked(p: Printer, node: BufferLoad | BufferStore, value: str = "") -> str:
    """The buffer of a predicated access, what is stored, the indices and the predicate."""
    buffer = p.get(id(node.buffer)) or p.names.fix(node.buffer, node.buffer.name)
    assert node.predicate is not None
    parts = [top(p, part) for part in (*node.indices, node.predicate)]
    return ", ".join([buffer, *([value] if value else []), *parts])


def _ramp(p: Printer, node: Ramp, prec: int) -> str:
    return f"T.Ramp({top(p, node.base)}, {top(p, node.stride)}, {lanes(node)})"


def _broadcast(p: Printer, node: Broadcast, prec: int) -> str:
    return f"T.Broadcast({top(p, node.value)}, {lanes(node)})"


def _let(p: Printer, node: Let, prec: int) -> str:
    left = p.let_names.get(id(node.var))
    name = left.pop() if left else p.names.fix(node.var, node.var.name)
    p.names.known[id(node.var)] = name
    return f"T.Let({top(p, node.body)}, where={{{name}: {top(p, node.value)}}})"


def _reduce(p: Printer, node: Reduce, prec: int) -> str:
    """TVM's text for one, `T.reduce(...)`, is none that it reads: this is its class with all fields."""
    if any(type(item) is not Const for item in node.init):
        raise refuse("TVM has no text for a reduction that begins with what is no constant", node.span)
    kinds = [item.dtype for item in node.combiner.identity]
    combiner = top(p, node.combiner)
    ranges = [f"T.Range({top(p, item.start)}, {top(p, item.stop)})" for item in node.domains]
    axes = []
    for var, text in zip(node.axes, ranges, strict=True):
        left = p.let_names.get(id(var))
        name = left.pop() if left else p.names.fix(var, var.name)
        p.names.known[id(var)] = name
        axes.append(f'T.iter_var({name}, {text}, "CommReduce", "")')
    source = listed([typed(p, item, kind) for item, kind in zip(node.source, kinds, strict=True)])
    init = listed([typed(p, item, kind) for item, kind in zip(node.init, kinds)])
    test = "T.bool(True)" if node.condition is None else condition(p, node.condition)
    return f"T.Reduce({combiner}, {source}, {listed(axes)}, {test}, {node.value_index}, {init})"


def _call_function(p: Printer, node: CallFunction, prec: int) -> str:
    if p.module is None:
        raise refuse(f"TVM has no text for the call of `{node.function}` outside of a module", node.span)
    if any(type(arg) is BufferRegion for arg in node.args):
        raise refuse("TVM has no text for a region as the argument of a call", node.span, "pass the whole buffer")
    return call_function(p, node, prec)


def _if_then_else(p: Printer, node: Call, prec: int, entry: Any) -> str:
    return f"T.if_then_else({', '.join([top(p, arg) for arg in node.args])})"


def _power(p: Printer, node: Call, prec: int, entry: Any) -> str:
    if node.dtype.kind != "float":
        raise refuse(f"TVM has no power of {node.dtype}", node.span, "cast the operands to float32")
    return f"T.pow({', '.join([top(p, arg) for arg in node.args])})"


def _finiteness(p: Printer, node: Call, prec: int, entry: Any) -> str:
    if type(node.args[0]) is Const:
        # TVM makes an int32 of it
        return f"T.bool({_FINITE[node.op.name](node.args[0].value)})"
    if node.args[0].dtype.kind != "float":
        raise refuse(f"TVM has no `{node.op.spelling}` of {node.args[0].dtype}", node.span, "cast it to float32")
    if node.op.name != "isnan":
        once(node)  # an infinity is what equals itself and whose magnitude is one
    return f"T.{node.op.name}({top(p, node.args[0])})"


_FINITE = {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite}


def _round(p: Printer, node: Call, prec: int, entry: Any) -> str:
    (value,) = node.args
    if type(value) is Const and value.dtype.is_float and abs(value.value) < 1 << 53:
        # TVM would round the literal half to even
        whole = math.copysign(math.floor(abs(value.value) + 0.5), value.value)
        return _typed(const(whole, value.dtype))
    return f"T.round({top(p, value)})"


def _negative(p: Printer, node: Call, prec: int, entry: Any) -> str:
    (value,) = node.args
    kind = node.dtype
    if kind.kind == "uint" and not kind.is_vector:
        return f"T.Sub({_typed(const(0, kind))}, {top(p, value)})"  # TVM's `-x` is a product with -1
    if type(value) is Const and value.dtype is not INT32:
        return f"T.Mul({_typed(value)}, {_typed(const(-1, kind))})"
    rule = OP_RULES[node.op]
    return rule[0](p, node, prec, rule)


def _abs(p: Printer, node: Call, prec: int, entry: Any) -> str:
    if not node.dtype.is_float:
        once(node)
    rule = OP_RULES[node.op]
    return rule[0](p, node, prec, rule)


def once(node: Call) -> None:
    """Refuse what TVM cannot write out twice, where it makes several uses of an argument."""
    if holds(node, Let):
        message = f"TVM writes the arguments of `{node.op.spelling}` out twice, and defines no variable twice"
        raise refuse(message, node.span, "bind the value in a statement before")


def _ceildiv(p: Printer, node: Call, prec: int, entry: Any) -> str:
    once(node)
    a, b = node.args
    if type(a) is Const and type(b) is Const and b.value:
        return _typed(const(-(-a.value // b.value), node.dtype))  # TVM folds it, and fails where that passes below zero
    rule = OP_RULES[node.op]
    return rule[0](p, node, prec, rule)


def _not(p: Printer, node: Call, prec: int, entry: Any) -> str:
    if type(node.args[0]) is Const:
        return f"T.Not({_typed(node.args[0])})"
    rule = OP_RULES[node.op]
    return rule[0](p, node, prec, rule)


def _cast(p: Printer, node: Call, prec: int, entry: Any) -> str:
    return f"T.Cast({dtype_name(node.dtype)}, {top(p, node.args[0])})"


def _undef(p: Printer, node: Call, prec: int, entry: Any) -> str:
    if node.dtype is not INT32:
        raise refuse(f"TVM has no text for `T.undef` of {node.dtype}: its own is int32", node.span)
    return "T.undef()"


def _prefetch(p: Printer, node: Call, prec: int, entry: Any) -> str:
    # TVM prints `T.prefetch`, and reads it by this name alone
    return f'T.call_intrin("void", "tirx.prefetch", {", ".join([top(p, arg) for arg in node.args])})'


def _lane_mask(p: Printer, node: Call, prec: int, entry: Any) -> str:
    """TVM's lanes of a mask are no `bool`, which is a dtype of its own there."""
    kind = node.dtype.name.replace("bool", "uint1")
    return f"T.get_active_lane_mask({quote(kind)}, {', '.join([top(p, arg) for arg in node.args])})"


def _refused(p: Printer, node: Call, prec: int, entry: Any) -> str:
    raise refuse(f"TVM has no text for `{node.op.spelling}`", node.span)


def _reducer(p: Printer, node: CommReducer, prec: int) -> str:
    """TVM runs a lambda as Python, whose `and`, `or` and `not` its expressions do not take."""
    outside, p.ops = p.ops, _LAMBDA_OPS
    try:
        return comm_reducer(p, node, prec)
    finally:
        p.ops = outside


def _data(p: Printer, node: BufferData, prec: int) -> str:
    """`A.data`; TVM's scalars are elements, which have no address, of memory, which has one: `x.source.data`."""
    name = binder(p, node.buffer, 0)
    return f"{name}.source.data" if node.buffer.is_scalar else f"{name}.data"


_EXPRS: dict[type, Any] = {
    **EXPR_RULES,
    **VALUE_RULES,
    **GRAPH_VALUE_RULES,
    Target: target_dict,
    Reduce: _reduce,
    CommReducer: _reducer,
    Const: _constant,
    BufferLoad: _load,
    BufferData: _data,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Let: _let,
    CallFunction: _call_function,
}


def _unfolded(p: Printer, node: Call, prec: int, entry: Any) -> str:
    """`T.Mul(n, 1)` where TVM would make something else of `n * 1` when it reads it."""
    a, b = node.args
    if _folds(node.op.name, a, b):
        return f"T.{_CLASSES[node.op.name]}({top(p, a)}, {top(p, b)})"
    rule = OP_RULES[node.op]
    return rule[0](p, node, prec, rule)


def _by_class(p: Printer, node: Call, prec: int, entry: Any) -> str:
    return f"T.{_CLASSES[node.op.name]}({', '.join([condition(p, arg) for arg in node.args])})"


def _folds(name: str, a: Any, b: Any) -> bool:
    if type(a) is Const and type(b) is Const:
        return True
    if name in ("min", "max"):
        return a is b
    if name in ("logical_and", "logical_or"):
        return type(a) is Const or type(b) is Const
    if name in ("shift_left", "shift_right"):
        return type(b) is Const and not 0 < b.value < b.dtype.bits
    left, right = _NEUTRAL.get(name, ((), ()))
    return (type(a) is Const and a.value in left) or (type(b) is Const and b.value in right)


# TVM's classes, whose calls it reads as they are
_CLASSES = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "floordiv": "FloorDiv",
    "floormod": "FloorMod",
    "min": "Min",
    "max": "Max",
    "truncdiv": "Div",
    "truncmod": "Mod",
    "equal": "EQ",
    "not_equal": "NE",
    "less": "LT",
    "less_equal": "LE",
    "greater": "GT",
    "greater_equal": "GE",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_not": "Not",
    "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
    "shift_left": "LShift",
    "shift_right": "RShift",
}
# constants on the left and on the right that TVM folds away
_NEUTRAL: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "add": ((0,), (0,)),
    "sub": ((), (0,)),
    "mul": ((0, 1), (0, 1)),
    "div": ((0,), (1,)),
    "floordiv": ((0,), (1,)),
    "floormod": ((0,), (1,)),
    "truncdiv": ((0,), (1,)),
    "truncmod": ((0,), (1,)),
}
_OPS = OpRules(OP_RULES)
for _name in _CLASSES:
    _OPS[OPS[_name]] = (_unfolded, "", ATOM, ATOM)
_OPS[OPS["cast"]] = (_cast, "", ATOM, ATOM)
_OPS[OPS["pow"]] = (_power, "", ATOM, ATOM)
_OPS[OPS["abs"]] = (_abs, "", ATOM, ATOM)
_OPS[OPS["ceildiv"]] = (_ceildiv, "", ATOM, ATOM)
_OPS[OPS["round"]] = (_round, "", ATOM, ATOM)
_OPS[OPS["logical_not"]] = (_not, "", ATOM, ATOM)
_OPS[OPS["negative"]] = (_negative, "", ATOM, ATOM)
_OPS[OPS["if_then_else"]] = (_if_then_else, "", ATOM, ATOM)
for _name in ("isnan", "isinf", "isfinite"):
    _OPS[OPS[_name]] = (_finiteness, "", ATOM, ATOM)
_OPS[OPS["prefetch"]] = (_prefetch, "", ATOM, ATOM)
_OPS[FOREIGN["get_active_lane_mask"]] = (_lane_mask, "", ATOM, ATOM)
_LAMBDA_OPS = OpRules(_OPS)
for _name in ("logical_and", "logical_or", "logical_not"):
    _LAMBDA_OPS[OPS[_name]] = (_by_class, "", ATOM, ATOM)
_OPS[OPS["undef"]] = (_undef, "", ATOM, ATOM)
for _name in ("print", "breakpoint", "expm1"):
    _OPS[OPS[_name]] = (_refused, "", ATOM, ATOM)


# --- statements -------------------------------------------------------------------------------------------------------


# of the vectors that TVM has names for, it reads annotations of these
_ANNOTATED_LANES = tuple(lanes for lanes in NAMED_LANES if lanes > 2)
_UNNAMED = ("bool", "bfloat16", "int2", "int4", "uint2", "uint4")


def _named(kind: DType) -> bool:
    """Whether TVM reads this dtype as an annotation."""
    if not kind.is_vector:
        return True
    return kind.lanes in _ANNOTATED_LANES and not kind.scalable and kind.element.name not in _UNNAMED


def _bind(p: Printer, node: Bind, indent: str) -> None:
    # what memory on the stack holds follows from its purpose in TVM, which takes no other annotation
    on_stack = type(node.value) is Call and node.value.op.name in ("tvm_stack_alloca", "tvm_stack_make_shape")
    if on_stack or not _named(node.var.dtype):
        text = top(p, node.value)
        p.out.append(f"{indent}{p.names.define(node.var, node.var.name)} = T.bind({text})")
        return
    bind(p, node, indent, annotated=True)


def _scalar(p: Printer, node: ScalarDecl, indent: str) -> None:
    if _named(node.buffer.dtype):
        STMT_RULES[ScalarDecl](p, node, indent)
        return
    text = f"T.local_scalar({dtype_name(node.buffer.dtype)})" if node.value is None else top(p, node.value)
    p.out.append(f"{indent}{p.names.define(node.buffer, node.buffer.name)} = {text}")


def _store(p: Printer, node: BufferStore, indent: str) -> None:
    if node.predicate is not None:
        p.out.append(f"{indent}T.masked_store({_masked(p, node, top(p, node.value))})")
        return
    store(p, node, indent)


def _match_buffer(p: Printer, node: MatchBuffer, indent: str) -> None:
    if type(node.source) is BufferRegion and id(node) not in p.of_blocks:
        raise refuse(
            "TVM has no text for a region that is matched outside of a block", node.span, "open a block for it"
        )
    match_buffer(p, node, indent)


def _alloc_buffer(p: Printer, node: AllocBuffer, indent: str) -> None:
    word = "T.sblock_alloc_buffer" if id(node) in p.of_blocks else "T.alloc_buffer"
    if node.buffer.scope == "tmem" and node.buffer.allocated_addr:
        word = "T.decl_buffer"  # memory of a pool that somebody else allocates
    text = buffer_arguments(p, node.buffer, top)
    if node.annotations:
        text += f", annotations={value(p, node.annotations)}"
    p.out.append(f"{indent}{p.names.define(node.buffer, node.buffer.name)} = {word}({text})")


def _assert(p: Printer, node: Assert, indent: str) -> None:
    p.out.append(f"{indent}assert {condition(p, node.condition)}{assert_message(node, always=True)}")


def _static_assert(p: Printer, node: StaticAssert, indent: str) -> None:
    raise refuse("TVM has no text for `T.static_assert`", node.span, "a plain `assert` is checked at run time")


def _for(p: Printer, node: For, indent: str) -> None:
    STMT_RULES[For](p, _unit_steps(node), indent)


def _unit_steps(node: For) -> For:
    """Loops directly in one another, which may be one grid: TVM tells a step of one from none, but prints neither."""
    if is_const(node.step, 1):
        node = node.replace(step=None)
    inner = node.body[0] if len(node.body) == 1 else None
    if type(inner) is For and (made := _unit_steps(inner)) is not inner:
        return node.replace(body=(made,))
    return node


def _allocate_const(p: Printer, node: AllocateConst, indent: str) -> None:
    hint = "pass the tensor as a parameter: apache-tvm 0.27 has no constants in tensor functions"
    raise refuse(f"TVM has no text for the constant `{node.buffer.name}`", node.span, hint)


def _return(p: Printer, node: Return, indent: str) -> None:
    if node.value is None:
        raise refuse("TVM has no text for a return without a value", node.span)
    STMT_RULES[Return](p, node, indent)


def _attr(p: Printer, node: Attr, indent: str) -> None:
    if node.key == "tirx_hint" and type(node.target) is dict and is_const(node.value, 1):
        told = [f"{key}={value(p, item)}" for key, item in node.target.items() if key != "message"]
        text = ", ".join([quote(node.target.get("message", "")), *told])
        p.out.append(f"{indent}with T.hint({text}):")
        scope(p, node.body, indent + TAB)
        return
    if is_const(node.target, 0) and node.target.dtype is INT32:
        # what stands at no node, for which TVM has its own form
        p.out.append(f"{indent}with T.attr({{{quote(node.key)}: {value(p, node.value)}}}):")
        scope(p, node.body, indent + TAB)
        return
    STMT_RULES[Attr](p, node, indent)


def _block(p: Printer, node: Block, indent: str) -> None:
    if node.predicate is not None and node.axes:
        # TVM's predicate stands outside of the block, where its axes are not known yet
        values = {axis.var: axis.value for axis in node.axes}
        node = node.replace(predicate=substitute(node.predicate, values))
    parts: list[Any] = list(walk(node.body + (node.init or ())))
    inner = [one for one in parts if type(one) in DEFINING]
    if (node.reads is None or node.writes is None) and (
        any(type(one) in (ScalarDecl, BufferData) for one in parts)
        or indexes_by_let(parts)
        or any(type(one) is AllocBuffer and not any(one is stmt for stmt in node.body) for one in inner)
    ):
        # TVM would count the scalar to what the block reads or writes, and then find it undeclared there, as it would
        # the variable of a `T.Let` and memory of a loop; and it finds out nothing about a block that uses an address
        reads, writes = accessed(node, {id(one.buffer) for one in inner})
        node = node.replace(
            reads=reads if node.reads is None else node.reads, writes=writes if node.writes is None else node.writes
        )
    block(p, node, indent)


_STMTS: dict[type, Any] = {
    **STMT_RULES,
    LaunchThread: launch_flat,
    Bind: _bind,
    ScalarDecl: _scalar,
    Block: _block,
    BufferStore: _store,
    AllocBuffer: _alloc_buffer,
    MatchBuffer: _match_buffer,
    AllocateConst: _allocate_const,
    Assert: _assert,
    StaticAssert: _static_assert,
    Return: _return,
    For: _for,
    Attr: _attr,
}

__all__ = ["tvm_dialect"]
