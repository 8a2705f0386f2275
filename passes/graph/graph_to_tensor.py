"""Graph functions become tensor functions that write their results, so that all of a module is compiled alike.

before:                                            after:
    @G.graph_func                                      @T.prim_func
    def main(x: G.Tensor((4,), "int32")):              def main(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
        with G.dataflow():                                 h = T.alloc_buffer((4,), "int32")
            h = G.call_tir(cls.grow, (x,), ...)            cls.grow(x, h)
            y = G.call_tir(cls.addone, (h,), ...)          cls.addone(h, y)
            G.output(y)
        return y

Tuples come apart, one parameter for each tensor; results are parameters behind those of the function. What a
`match_cast` says is an assertion. Reshapes are views. Operators that are no kernels must be gone (`legalize_ops`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import ConstantTensor
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import BOOL, INT64, VOID
from tirscript.ir.effects import reads_memory
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import BufferLoad, Call, CallFunction, Const, Expr, StringImm, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    Dataflow,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphIf,
    GraphType,
    GraphVar,
    MatchCast,
    OpCall,
    PrimType,
    PrimValue,
    ShapeExpr,
    ShapeType,
    StringValue,
    TensorType,
    TupleExpr,
    TupleItem,
    TupleType,
)
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_ops.kernel import check_as_many
from tirscript.ir.graph_types import NO_SIZE, scalars_in_shapes
from tirscript.ir.module import Module
from tirscript.ir.node import Node, recursion_room
from tirscript.ir.op import OPS, cast, get_op
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Axis,
    Bind,
    Block,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    If,
    Stmt,
)
from tirscript.ir.words import counted

from ..lowering import STEPS
from ..pipeline import module_pass
from .tensor_values import Shape, Value, flat, formed, packed, refilled

# operators whose result is the memory of their argument in another shape
VIEWS = frozenset(("reshape", "flatten", "expand_dims", "squeeze"))

# the way out for what no native code is made of, such as functions as values
_PUBLIC = (
    "functions give tensors as long as they turn out to callers outside of the module and, by pass `measure_sizes`, "
    "to those of the same target: let the caller do what is called for"
)
_INTERPRET = "`tirscript.interpret` executes it"


@module_pass()
def graph_to_tensor(module: Module) -> Module:
    """`y = G.call_tir(cls.f, (x,), ...)` becomes `y = T.alloc_buffer(...); cls.f(x, y)`."""
    graphs = [one for one in module.functions if type(one) is GraphFunc and not one.attrs.get(STEPS)]
    if not graphs:
        return module
    made = {one.name: lowered(one, module) for one in graphs}
    functions = tuple(made.get(one.name, one) for one in module.functions)
    return module.replace(functions=functions)


def lowered(func: GraphFunc, module: Module) -> PrimFunc:
    """One graph function of a module as a tensor function."""
    with recursion_room():
        return _Lowering(func, module).function()


def signature(func: GraphFunc, module: Module) -> PrimFunc:
    """What a graph function takes, as a tensor function with no body: a parameter a tensor, number and dimension.

    Raises DiagnosticError T401 where a parameter's type does not say enough.
    """
    lowering = _Lowering(func, module)
    for param in func.params:
        lowering.parameter(param.name, param.type, param)
    return PrimFunc(func.name, tuple(lowering.params), (), span=func.span)


class _Lowering:
    """One graph function on its way."""

    def __init__(self, func: GraphFunc, module: Module) -> None:
        self.func, self.module = func, module
        self.values: dict[GraphVar, Value] = {}
        self.symbols: dict[Var, Expr] = {}  # what a match_cast has found a variable to be
        self.known: set[Var] = set()
        self.computed: set[Var] = set()  # what a tensor function returned
        self.constants: dict[ConstantTensor, AllocateConst] = {}  # at the head of the function
        self.params: list[Var | Buffer] = []
        self.body: list[Stmt] = []

    def function(self) -> PrimFunc:
        func = self.func
        for param in func.params:
            self.values[param] = self.parameter(param.name, param.type, param)
        # kernels of layers that differ in their names alone are one
        whose = "" if func.private else f" of `{func.name}`"
        for name, scalar in scalars_in_shapes(func):
            text = f"argument `{name}`{whose} {NO_SIZE}"
            self.body.append(Assert(const(0, scalar.dtype) <= scalar, text, span=func.span))
        self.block(func.body)
        result = self.value(func.value)
        outs = [self.out(buffer) for buffer in self.leaves(result, func.value)]
        moved = self.delivered(self.body, self.leaves(result, func.value), outs)
        return PrimFunc(
            func.name,
            (*self.params, *outs),
            (*self.constants.values(), *moved),
            attrs=func.attrs,
            private=func.private,
            docstring=func.docstring,
            trivia=func.trivia,
            span=func.span,
        )

    # parameters and results

    def parameter(self, name: str, kind: GraphType, node: Node) -> Value:
        """A parameter of a type, taken apart into those of the tensor function."""
        if type(kind) is TensorType:
            if kind.dtype is None or kind.rank is None:
                missing = "dtype" if kind.dtype is None else "number of dimensions"
                raise self.refused(f"the {missing} of the parameter `{name}` is not known", node, "annotate it")
            shape = kind.shape or tuple(Var(f"{name}_{axis}", INT64) for axis in range(kind.rank))
            shape = tuple(map(_plain, shape))
            self.known.update(dim for dim in shape if type(dim) is Var)
            buffer = Buffer(name, shape, kind.dtype, span=node.span)
            self.params.append(buffer)
            return buffer
        if type(kind) is PrimType:
            scalar = kind.value if type(kind.value) is Var else Var(name, kind.dtype, span=node.span)
            self.params.append(scalar)
            self.known.add(scalar)
            return scalar
        if type(kind) is ShapeType and kind.rank is not None:
            sizes = kind.values or tuple(Var(f"{name}_{axis}", INT64) for axis in range(kind.rank))
            taken = tuple(
                dim if type(dim) is Var and dim not in self.params else Var(f"{name}_{axis}", INT64)
                for axis, dim in enumerate(sizes)
            )
            self.params.extend(taken)
            self.known.update(taken)
            for axis, (dim, given) in enumerate(zip(sizes, taken, strict=True)):
                if dim is not given:
                    self.same(dim, given, f"dimension {axis} of `{name}`", node)
            return Shape(taken)
        if type(kind) is TupleType:
            return tuple(self.parameter(f"{name}_{at}", field, node) for at, field in enumerate(kind.fields))
        message = f"the parameter `{name}` is neither tensor, scalar, shape nor tuple of them"
        raise self.refused(message, node, _INTERPRET)

    def out(self, leaf: Buffer) -> Buffer:
        """The parameter that a result is written to."""
        for part in walk(leaf.shape):
            if type(part) is Var and part in self.computed:
                message = f"the size `{part.name}` of a result is known only when the function has run"
                raise self.refused(message, leaf, _PUBLIC)
        return Buffer(leaf.name, leaf.shape, leaf.dtype)

    def leaves(self, value: Value, node: Node) -> list[Buffer]:
        """The tensors of a value, from first to last."""
        if isinstance(value, Buffer):
            return [value]
        if isinstance(value, tuple):
            return [leaf for field in value for leaf in self.leaves(field, node)]
        if isinstance(value, Expr) and not isinstance(value, StringImm):
            scalar = self.allocated("value", (), value)
            self.body.append(BufferStore(scalar, (), value))
            return [scalar]
        if isinstance(value, Shape):
            made = self.allocated("shape", (const(len(value.dims), INT64),), const(0, INT64))
            stores = (BufferStore(made, (const(at, INT64),), cast(dim, INT64)) for at, dim in enumerate(value.dims))
            self.body.extend(stores)
            return [made]
        message = "a function that is compiled returns tensors, scalars, shapes and tuples of them"
        raise self.refused(message, node, _INTERPRET)

    def allocated(self, name: str, shape: tuple[Expr, ...], like: Expr) -> Buffer:
        buffer = Buffer(name, shape, like.dtype)
        self.body.append(AllocBuffer(buffer))
        return buffer

    def delivered(self, body: list[Stmt], leaves: list[Buffer], targets: list[Buffer]) -> list[Stmt]:
        """`body` with its results in `targets`: allocations become the targets, anything else is copied there."""
        own = {stmt.buffer: at for at, stmt in enumerate(body) if type(stmt) is AllocBuffer}
        instead: dict[Buffer, Buffer] = {}
        copies: list[Stmt] = []
        for leaf, target in zip(leaves, targets, strict=True):
            if leaf in own and leaf not in instead and _same_shape(leaf, target):
                instead[leaf] = target
            else:
                copies.append(copy_of(instead.get(leaf, leaf), target))
        kept = [stmt for stmt in body if not (type(stmt) is AllocBuffer and stmt.buffer in instead)]
        return [*(substitute(stmt, instead) for stmt in kept), *copies] if instead else [*kept, *copies]

    # statements

    def block(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            rule = _STATEMENTS.get(type(stmt))
            if rule is None:
                raise self.refused("this statement has no tensor form", stmt)
            before = len(self.body)
            rule(self, stmt)
            if stmt.trivia is not None and len(self.body) > before:
                # memory for a result may go, and what writes it stays
                made = range(before, len(self.body))
                place = next((at for at in made if type(self.body[at]) is not AllocBuffer), before)
                self.body[place] = self.body[place].replace(trivia=stmt.trivia)

    def bind(self, stmt: GraphBind) -> None:
        value = self.values[stmt.var] = self.value(stmt.value, stmt.var)
        kind = stmt.var.type
        if type(kind) is PrimType and type(kind.value) is Var and isinstance(value, Expr) and not reads_memory(value):
            self.symbols.setdefault(kind.value, value)  # dimensions may name it

    def match_cast(self, stmt: MatchCast) -> None:
        value = self.value(stmt.value)
        self.match(value, stmt.type, stmt)
        self.values[stmt.var] = value

    def match(self, value: Value, kind: GraphType, node: Node) -> None:
        """Assert that a value is of a type, and take the variables that the type names first."""
        if type(kind) is TupleType and isinstance(value, tuple) and len(value) == len(kind.fields):
            for one, field in zip(value, kind.fields, strict=True):
                self.match(one, field, node)
        elif type(kind) is TensorType and isinstance(value, Buffer):
            if kind.dtype is not None and kind.dtype is not value.dtype:
                raise self.refused(f"`{value.name}` holds {value.dtype}, not {kind.dtype}", node)
            if kind.rank is not None and kind.rank != len(value.shape):
                raise self.refused(
                    f"`{value.name}` has {counted(len(value.shape), 'dimension')}, not {kind.rank}", node
                )
            name = "the value of `G.match_cast`" if type(node) is MatchCast else f"`{value.name}`"
            for axis, (want, given) in enumerate(zip(kind.shape or (), value.shape, strict=False)):
                self.same(want, given, f"dimension {axis} of {name}", node)
        elif type(kind) is ShapeType and isinstance(value, Shape):
            if kind.rank is not None and kind.rank != len(value.dims):
                raise self.refused(f"the shape has {counted(len(value.dims), 'dimension')}, not {kind.rank}", node)
            for axis, (want, given) in enumerate(zip(kind.values or (), value.dims, strict=False)):
                self.same(want, given, f"dimension {axis} of the shape", node)
        elif type(kind) is PrimType and isinstance(value, Expr):
            if kind.value is not None:
                self.same(kind.value, value, "the value", node)
        elif type(kind) in (TupleType, TensorType, ShapeType, PrimType):
            raise self.refused("the value is never of this type", node)

    def same(self, want: Expr, given: Expr, what: str, node: Node) -> None:
        """Say that two dimensions are one, or take `given` for the variable that `want` names first."""
        if type(want) is Var and want not in self.known and want not in self.symbols:
            self.symbols[want] = cast(given, want.dtype)
            return
        want, given = dims.dim(self.dim(want)), dims.dim(given)
        if dims.same(want, given):
            return
        if type(want) is Const and type(given) is Const:
            raise self.refused(f"{what} is {given.value}, not {want.value}", node)
        condition = get_op("equal")(want, given)
        words = str(want.value) if type(want) is Const else f"`{want.script().strip()}`"
        self.body.append(Assert(condition, f"{what}: expected {words}", span=node.span))

    def truth(self, expr: GraphExpr, node: Node) -> Expr:
        """A value as a condition."""
        value = self.value(expr)
        if isinstance(value, Buffer) and value.shape == ():
            value = BufferLoad(value, ())
        if not isinstance(value, Expr) or value.dtype is not BOOL:
            raise self.refused("the condition is no single bool", node)
        return value

    def condition(self, stmt: GraphIf) -> None:
        value = self.truth(stmt.condition, stmt)
        then, then_leaves, shape = self.branch(stmt.then_body, stmt.then_value)
        orelse, else_leaves, _ = self.branch(stmt.else_body, stmt.else_value)
        if len(then_leaves) != len(else_leaves) or not all(map(_same_shape, then_leaves, else_leaves)):
            raise self.refused("the branches give tensors of different shapes or dtypes", stmt)
        targets = [Buffer(stmt.var.name, leaf.shape, leaf.dtype) for leaf in then_leaves]
        self.body.extend(map(AllocBuffer, targets))
        bodies = (self.delivered(then, then_leaves, targets), self.delivered(orelse, else_leaves, targets))
        self.body.append(If(value, *map(tuple, bodies), span=stmt.span))
        self.values[stmt.var] = refilled(shape, iter(targets))

    def branch(self, body: tuple[Stmt, ...], value: GraphExpr) -> tuple[list[Stmt], list[Buffer], Value]:
        """The statements of a branch, the tensors of its value, and the value."""
        outside, self.body = self.body, []
        symbols = dict(self.symbols)
        self.block(body)
        result = self.value(value)
        leaves = self.leaves(result, value)
        inside, self.body, self.symbols = self.body, outside, symbols
        return inside, leaves, result

    # values

    def value(self, expr: GraphExpr, var: GraphVar | None = None) -> Value:
        """A value, for the variable that it is bound to."""
        rule = _VALUES.get(type(expr))
        if rule is None:
            hint = "run `lambda_lift` before" if type(expr) is GraphFunc else _INTERPRET
            raise self.refused("this value has no tensor form", expr, hint)
        return rule(self, expr, var)

    def variable(self, expr: GraphVar, var: GraphVar | None) -> Value:
        return self.values[expr]

    def constant(self, expr: GraphConst, var: GraphVar | None) -> Buffer:
        shape = tuple(_plain(const(size, INT64)) for size in expr.data.shape)
        known = self.constants.get(expr.data)
        if known is None:
            buffer = Buffer("const" if var is None else var.name, shape, expr.data.dtype)
            known = self.constants[expr.data] = AllocateConst(buffer, expr.data, span=expr.span)
        return known.buffer

    def item(self, expr: TupleItem, var: GraphVar | None) -> Value:
        value = self.value(expr.value)
        if not isinstance(value, tuple):
            raise self.refused("the value is no tuple whose fields are known", expr)
        return value[expr.index]

    def function_call(self, expr: FunctionCall, var: GraphVar | None) -> Value:
        if type(expr.function) is ExternFunction:
            name = expr.function.symbol
            raise self.refused(
                f"`{name}` is called for a value of its own making",
                expr,
                f'let it write into a tensor: `G.call_dps_packed("{name}", args, out=G.Tensor(...))`',
            )
        if type(expr.function) is not FunctionRef:
            raise self.refused("a function that is a value is called", expr, _INTERPRET)
        callee = self.callee(expr.function, expr)
        args = [arg for value in expr.args for arg in self.arguments(self.value(value), value)]
        if isinstance(callee, PrimFunc):
            call = CallFunction(callee.name, tuple(args), callee.returns or VOID, span=expr.span)
            if callee.returns is None:
                self.body.append(Evaluate(call, span=expr.span))
                return ()
            found = Var(callee.name if var is None else var.name, callee.returns)
            self.body.append(Bind(found, call, span=expr.span))
            self.computed.add(found)
            return found
        kind = callee.result if var is None else var.type
        types = kind.fields if type(kind) is TupleType else (kind,)
        outs = self.results(types, var, expr)
        self.body.append(Evaluate(CallFunction(callee.name, (*args, *outs), VOID), span=expr.span))
        return packed(outs, types) if type(kind) is not TupleType else formed(kind, iter(outs))

    def operator(self, expr: OpCall, var: GraphVar | None) -> Value:
        rule = _OPERATORS.get(expr.op.name)
        if rule is not None:
            return rule(self, expr, var)
        if expr.op.name in VIEWS:
            return self.view(expr, var)
        raise self.refused(f"`{expr.op.spelling}` is no kernel", expr, self.way_out(expr))

    def way_out(self, expr: OpCall) -> str:
        """What to do with an operator that is left."""
        types = tuple(type_of(arg, self.module) for arg in expr.args)
        if expr.op.measured is not None and all(getattr(kind, "shape", ()) is not None for kind in types):
            return "run `measure_sizes` before; what it leaves, `tirscript.interpret` executes"
        if expr.op.legalize is None and expr.op.measured is None:
            return f"none is made of it; {_INTERPRET}"
        if expr.op.legalize is not None and expr.op.legalize(expr, types, expr.op.name.rpartition(".")[2]) is not None:
            return "run `legalize_ops` before"
        known = "one takes shapes and dtypes that are known, and dimensions with one name where they have to be equal"
        return f"{known}: `G.match_cast` gives them"

    def view(self, expr: OpCall, var: GraphVar | None) -> Buffer:
        source = self.value(expr.args[0])
        if var is None or type(var.type) is not TensorType or var.type.shape is None:
            raise self.refused(f"the shape that `{expr.op.spelling}` gives is not known", expr)
        assert isinstance(source, Buffer)
        buffer = Buffer(var.name, self.dims(var.type.shape), source.dtype)
        check = check_as_many(expr, source.shape, buffer.shape)
        if check is not None:
            self.body.append(check)
        self.body.append(DeclBuffer(buffer, source.data, span=expr.span))
        return buffer

    def call_tir(self, expr: OpCall, var: GraphVar | None) -> Value:
        reference, given, *rest = expr.args
        if type(reference) is not FunctionRef:
            raise self.refused(f"`{expr.op.spelling}` takes a function of the module", expr)
        callee = self.callee(reference, expr)
        args = self.arguments(self.value(given), given)
        sizes = [dim for value in rest for dim in self.scalars(self.value(value), value)]
        wanted = callee.params[len(callee.params) - len(sizes) :]
        scalars = [self.narrowed(size, param, callee.name, expr) for size, param in zip(sizes, wanted, strict=True)]
        places = expr.attrs.get("inplace_indices", (-1,) * len(expr.types))
        fresh = iter(self.results(tuple(kind for kind, at in zip(expr.types, places) if at < 0), var, expr))
        outs = [next(fresh) if at < 0 else args[at] for at in places]
        written = [out for out, at in zip(outs, places) if at < 0]
        self.body.append(Evaluate(CallFunction(callee.name, (*args, *written, *scalars), VOID), span=expr.span))
        return packed(outs, expr.types)

    def call_dps_packed(self, expr: OpCall, var: GraphVar | None) -> Value:
        library, given = expr.args
        if type(library) is not ExternFunction:
            raise self.refused("`G.call_dps_packed` takes the name of a function", expr)
        args = self.arguments(self.value(given), given)
        outs = self.results(expr.types, var, expr)
        passed = [arg.data if isinstance(arg, Buffer) else arg for arg in (*args, *outs)]
        call = Call(OPS["call_packed"], (StringImm(library.symbol), *passed), get_op("call_packed")("f").dtype)
        self.body.append(Evaluate(call, span=expr.span))
        return packed(outs, expr.types)

    def require(self, expr: OpCall, var: GraphVar | None) -> Value:
        """`G.assert_op` as an assertion, whose message names the values that the program would show."""
        test, *shown = expr.args
        text = expr.attrs["format"] or f"the condition of `{expr.op.spelling}` is false"
        fields = [one for arg in shown for one in (arg.fields if type(arg) is TupleExpr else (arg,))]
        names = [one.value if type(one) is StringValue else getattr(one, "name", "?") for one in fields]
        with suppress(IndexError, KeyError, ValueError):
            text = text.format(*names)
        self.body.append(Assert(self.truth(test, expr), text, span=expr.span))
        return ()

    def shape_of(self, expr: OpCall, var: GraphVar | None) -> Value:
        source = self.value(expr.args[0])
        if not isinstance(source, Buffer):
            raise self.refused(f"`{expr.op.spelling}` takes a tensor", expr)
        return Shape(source.shape)

    # calls

    def results(self, types: tuple[GraphType, ...], var: GraphVar | None, node: Node) -> list[Buffer]:
        """Memory for the results of a call."""
        name = "out" if var is None else var.name
        found = []
        for at, kind in enumerate(flat(types)):
            if type(kind) is not TensorType or kind.shape is None or kind.dtype is None:
                hint = _PUBLIC if type(node) is FunctionCall else "say it with `out=`"
                raise self.refused("the shape or the dtype of a result is not known", node, hint)
            buffer = Buffer(name if len(types) == 1 else f"{name}_{at}", self.dims(kind.shape), kind.dtype)
            self.body.append(AllocBuffer(buffer))
            found.append(buffer)
        return found

    def arguments(self, value: Value, node: Node) -> list[Any]:
        if isinstance(value, tuple):
            return [arg for field in value for arg in self.arguments(field, node)]
        if isinstance(value, Shape):
            return list(value.dims)
        if isinstance(value, (Buffer, Expr)):
            return [value]
        raise self.refused("this is no argument of a kernel", node)

    def scalars(self, value: Value, node: Node) -> list[Expr]:
        found = self.arguments(value, node)
        if not all(isinstance(one, Expr) for one in found):
            raise self.refused("`tir_vars` are scalars", node)
        return found

    def narrowed(self, size: Expr, param: Any, callee: str, node: Node) -> Expr:
        """A size, which is int64 in graphs, in the integer type of the parameter that takes it."""
        kind = param.dtype
        if not isinstance(param, Var) or not kind.is_int or kind is size.dtype:
            return size
        least, most = kind.int_range()
        if type(size) is Const and least <= size.value <= most:
            return const(int(size.value), kind)
        if type(size) is Call and size.op is OPS["cast"] and size.args[0].dtype is kind:
            return size.args[0]  # it was made an int64 on its way into the graph
        most = min(most, INT64.int_range()[1])
        holds = OPS["logical_and"](const(least, INT64) <= size, size <= const(most, INT64))
        text = f"argument `{param.name}` of `{callee}`: {kind} holds {least} to {most}"
        self.body.append(Assert(holds, text, span=node.span))
        return cast(size, kind)

    def callee(self, reference: FunctionRef, node: Node) -> PrimFunc | GraphFunc:
        if reference.function not in self.module:
            raise self.refused(f"the module has no function `{reference.function}`", node, code="T307")
        found: Any = self.module[reference.function]
        return found  # type: ignore[no-any-return]

    def dims(self, shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(_plain(self.dim(value)) for value in shape)

    def dim(self, value: Expr) -> Expr:
        found: Expr = substitute(value, self.symbols)
        for part in walk(found):
            if type(part) is Var and part not in self.known and part not in self.computed:
                raise self.refused(f"the size `{part.name}` is known only when the function has run", value)
        return found

    def refused(self, message: str, node: Node, hint: str | None = None, code: str = "T401") -> DiagnosticError:
        return DiagnosticError([error(code, f"`{self.func.name}`: {message}", node.span or self.func.span, hint=hint)])


def _plain(dim: Expr) -> Expr:
    """A dimension as a kernel's source would have it: a number is an int32 where it fits."""
    return const(dim.value) if type(dim) is Const and dim.value < 1 << 31 else dim


def copy_of(source: Buffer, target: Buffer) -> Stmt:
    """Loops that copy a tensor."""
    loops = [Var(f"i{at}", dim.dtype) for at, dim in enumerate(target.shape)]
    axes = tuple(
        Axis(Var(f"v{at}", dim.dtype), "spatial", const(0, dim.dtype), dim, loop)
        for at, (dim, loop) in enumerate(zip(target.shape, loops, strict=True))
    )
    at = tuple(axis.var for axis in axes)
    stmt: Stmt = Block(f"{target.name}_copy", axes, (BufferStore(target, at, BufferLoad(source, at)),))
    for loop, dim in reversed(list(zip(loops, target.shape, strict=True))):
        stmt = For(loop, const(0, dim.dtype), dim, (stmt,))
    return stmt


def _same_shape(a: Buffer, b: Buffer) -> bool:
    return a.dtype is b.dtype and structural_equal(a.shape, b.shape)


_STATEMENTS: dict[type, Callable[[_Lowering, Any], None]] = {
    GraphBind: _Lowering.bind,
    MatchCast: _Lowering.match_cast,
    GraphIf: _Lowering.condition,
    Dataflow: lambda lowering, stmt: lowering.block(stmt.body),
}
_VALUES: dict[type, Callable[[_Lowering, Any, GraphVar | None], Value]] = {
    GraphVar: _Lowering.variable,
    GraphConst: _Lowering.constant,
    TupleExpr: lambda lowering, expr, var: tuple(lowering.value(field) for field in expr.fields),
    TupleItem: _Lowering.item,
    ShapeExpr: lambda lowering, expr, var: Shape(tuple(map(lowering.dim, expr.values))),
    PrimValue: lambda lowering, expr, var: lowering.dim(expr.value),
    StringValue: lambda lowering, expr, var: StringImm(expr.value),
    OpCall: _Lowering.operator,
    FunctionCall: _Lowering.function_call,
}
_OPERATORS: dict[str, Callable[[_Lowering, OpCall, GraphVar | None], Value]] = {
    "call_tir": _Lowering.call_tir,
    "call_tir_inplace": _Lowering.call_tir,
    "call_tir_with_grad": _Lowering.call_tir,
    "call_dps_packed": _Lowering.call_dps_packed,
    "shape_of": _Lowering.shape_of,
    "assert_op": _Lowering.require,
}
