"""Spellings of TVMScript from 2021 to 2024, most of which apache-tvm itself no longer reads.

| text | reads as |
|---|---|
| `T.exp(x, dtype="float32")`, `T.call_extern("f", x, dtype="int32")` | the dtype first, where it takes one |
| `T.store(A.data, i, x)`, `T.load("float32", A.data, i)` | an element of a flat view of `A` |
| `T.preflattened_buffer(A, (4, 4), data=A.data)` | the parameter has that shape, `A` is a flat view of it |
| `C = T.buffer_decl(...)`, `T.match_buffer_region(A[0:4])` | `T.Buffer(...)`, `T.match_buffer(...)` |
| `with T.block([16, T.reduce_axis(0, 4)], "b") as [vi, vk]:`, `T.bind(vi, i)` | axes of the block |
| such a block without bindings | the loops around it are their values, or loops of its own where there are none |
| `@tvm.script.tir`, `ty.handle` | `@T.prim_func`, `@I.ir_module`; `T.handle` |
| `with T.let("x", value) as x:`, `x = T.bind(value)` | `x = value` |
| `x = T.bind(value, T.handle("float32"))` | `x: T.let[T.handle("float32")] = value` |
| `with T.Assert(c, "words"):`, `with T.While(c):` | `assert`, `while` |
| `T.evaluate(T.call_intrin("float32", "tir.exp", x))` | `T.exp(x)` |
| `with T.attr(i, "pragma_unroll_explicit", 1): for i in range(4):` | `with T.attr(0, "pragma_unroll_explicit", 1):` |
| `p: T.Ptr[T.float32]`, `T.Ptr(T.float32, "shared")` | `T.handle("float32")` |
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import suggest
from tirscript.ir.dtype import VOID, DType
from tirscript.ir.expr import BufferData, BufferLoad, Expr, StringImm, Var, const, is_const
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import FOREIGN, OPS, as_expr
from tirscript.ir.rewrite import free_vars, rewrite
from tirscript.ir.stmt import Assert, Attr, Axis, Bind, DeclBuffer, For, MatchBuffer, Stmt, While
from tirscript.ir.words import call_it, counted, words

from .block import BlockFrame
from .call import _VALUE_FORMS
from .launch import LaunchLowering
from .namespace import BufferType, Form, LetType, TypeName


class AxisDomain:
    """`T.reduce_axis(0, 16)`: the domain of an axis that a block of 2021 declares in its head."""

    def __init__(self, kind: str, start: Any, stop: Any) -> None:
        self.kind, self.start, self.stop = kind, start, stop


call_it(AxisDomain, "domain of an axis")
_AXIS_DOMAINS = {"reduce_axis": "reduce", "scan_axis": "scan", "opaque_axis": "opaque"}


class LegacyLowering(LaunchLowering):
    """Lowers them."""

    params: list[Var | Buffer]
    early: bool  # whether a pragma stands at a variable, which may be that of a loop inside

    # definitions

    def define_construct(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> bool:
        function = self.value(call.func) if isinstance(call.func, (ast.Attribute, ast.Name)) else None
        if isinstance(function, Form) and function.name in _DEFINITIONS:
            self.check_assignable(target.id, target)
            _DEFINITIONS[function.name](self, target, call, node)
            return True
        return super().define_construct(target, call, node)

    def _buffer_decl(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        self.decl_buffer(target, self.buffer_arguments("decl_buffer", call), call, node)

    def _match_region(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        self.definition_forms["match_buffer"](self, target, self.buffer_arguments("match_buffer", call), call, node)

    def _bound_value(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> None:
        kind = self.value(call.args[1]) if len(call.args) == 2 else None
        if isinstance(kind, TypeName) and not call.keywords:
            declared = ast.copy_location(ast.AnnAssign(target, call.args[1], call.args[0], 1), node)
            self._let_binding(target, LetType(kind.dtype), declared)
            return
        if len(call.args) != 1 or call.keywords:
            raise self.fail("T032", "`T.bind` binds one value to the name", call, hint="x = value")
        value = self.expr(call.args[0])
        var = Var(target.id, value.dtype, span=self.span(target))
        self.define(target.id, var)
        self.emit(Bind(var, value, span=self.span(node)))

    # memory behind an address

    def _flat(self, data: Any, kind: DType, node: ast.expr) -> Buffer:
        """A buffer of one dimension over the memory that an address names."""
        owner = data if isinstance(data, Buffer) else data.buffer if type(data) is BufferData else None
        if owner is None:
            hint = 'name the memory: `A = T.match_buffer(a, (16,), "float32")`'
            raise self.fail("T104", f"this takes the address of a buffer, not {words(data)}", node, hint=hint)
        element = kind.element
        if len(owner.shape) == 1 and owner.strides is None and owner.dtype is element:
            return owner
        if owner.strides is not None:
            raise self.fail("T020", f"`{owner.name}` has strides: its elements do not stand in one row", node)
        known = f"{owner.name}.data as {element}"  # no name that a program could have
        found = self.lookup(known)
        if isinstance(found, Buffer):
            return found
        size: Expr = const(1)
        for dim in owner.shape:
            size = dim if is_const(size, 1) else OPS["mul"](size, dim)
        flat = Buffer(owner.name, (size,), element, scope=owner.scope, span=self.span(node))
        self.define(known, flat)
        self.emit(DeclBuffer(flat, BufferData(owner), span=self.span(node)))
        return flat

    def _load(self, call: ast.Call) -> Expr:
        given = self.named(call, "load", ("dtype", "var", "index", "predicate"), 3)
        kind = self.dtype_of(self.value(given["dtype"]), given["dtype"])
        buffer = self._flat(self.value(given["var"]), kind, given["var"])
        return BufferLoad(buffer, (self.index(given["index"]),), self._predicate(given), span=self.span(call))

    def _store(self, call: ast.Call, node: ast.stmt) -> None:
        given = self.named(call, "store", ("var", "index", "value", "predicate"), 3)
        value = self.value(given["value"])
        data = self.value(given["var"])
        kind = value.dtype if isinstance(value, Expr) else None
        if kind is None:
            kind = getattr(data if isinstance(data, Buffer) else getattr(data, "buffer", None), "dtype", None)
        buffer = self._flat(data, kind or as_expr(value).dtype, given["var"])
        index = self.index(given["index"])
        self.store_value(buffer, (index,), value, given["value"], node, self._predicate(given))

    def _predicate(self, given: dict[str, ast.expr]) -> Expr | None:
        """The predicate of a load or store, where it is not simply true."""
        test = self.value(given["predicate"]) if "predicate" in given else True
        if getattr(test, "value", test) is True or getattr(getattr(test, "value", None), "value", None) is True:
            return None
        if not isinstance(test, Expr) or not test.dtype.is_vector:
            raise self.fail("T102", "the predicate is a vector of bools, one for each lane", given["predicate"])
        return test

    def _preflattened(self, call: ast.Call, node: ast.stmt) -> None:
        if not call.args:
            raise self.fail("T032", "`T.preflattened_buffer` takes a parameter and its shape", call)
        flat = self.value(call.args[0])
        at = next((place for place, param in enumerate(self.params) if param is flat), None)
        match = next((place for place, stmt in enumerate(self.out) if _matches(stmt, flat)), None)
        if (at is None and match is None) or not isinstance(flat, Buffer):
            message = "`T.preflattened_buffer` takes a parameter that is a buffer"
            raise self.fail("T022", message, call.args[0])
        rest = ast.copy_location(ast.Call(call.func, call.args[1:], call.keywords), call)
        given = self.buffer_arguments("decl_buffer", rest)
        data = self.value(given.pop("data")) if "data" in given else flat.data
        if type(data) is not BufferData or data.buffer is not flat:
            raise self.fail("T022", f"the data of this buffer is `{flat.name}.data`", call)
        given.setdefault("dtype", ast.copy_location(ast.Constant(flat.dtype.name), call))
        name = ast.copy_location(ast.Name(flat.name), call.args[0])
        whole = self.make_buffer(name, given, rest)
        if whole.shape == flat.shape and whole.dtype is flat.dtype:
            return
        if at is not None:
            self.params[at] = whole
        elif match is not None:
            self.out[match] = self.out[match].replace(buffer=whole)
        self.emit(DeclBuffer(flat, BufferData(whole), span=self.span(node)))

    # blocks of 2021

    def _axis_domain(self, call: ast.Call) -> AxisDomain:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        values = [self.value(arg) for arg in call.args]
        if not 1 <= len(values) <= 2 or call.keywords:
            raise self.fail("T032", f"`T.{name}` takes a start and a stop", call)
        return AxisDomain(_AXIS_DOMAINS[name], values[0] if len(values) == 2 else 0, values[-1])

    def _block(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        first = self.value(call.args[0]) if call.args else None
        if not isinstance(first, (list, tuple)):
            super()._block(call, name, inner, node)
            return
        if name is None and first:
            raise self.fail("T032", "the axes of this block need names", call, hint="... as [vi, vj]:")
        targets = name.elts if isinstance(name, (ast.Tuple, ast.List)) else [name] if name is not None else []
        if len(targets) != len(first) or not all(isinstance(item, ast.Name) for item in targets):
            raise self.fail("T032", f"{len(targets)} names stand here for {counted(len(first), 'axis')}", name or call)
        rest = ast.copy_location(ast.Call(call.func, call.args[1:], call.keywords), call)
        domains = [item if isinstance(item, AxisDomain) else AxisDomain("spatial", 0, item) for item in first]
        around = self._values_around(targets, call, node)
        loops: list[For] = []

        def axes() -> None:
            assert isinstance(self.block, BlockFrame)
            for target, domain in zip(targets, domains, strict=True):
                assert isinstance(target, ast.Name)
                start, stop = self.exprs((domain.start, domain.stop), call)
                var = Var(target.id, stop.dtype, span=self.span(target))
                value: Expr = start
                if around:
                    start, stop, value = self._one_dtype([start, stop, around[len(self.block.axes)]], call)
                    var = Var(target.id, stop.dtype, span=self.span(target))
                elif around is not None:  # no loops stand around the block: it has its own
                    loop = Var(target.id.removeprefix("v"), stop.dtype)
                    loops.append(For(loop, start, stop, ()))
                    value = loop
                self.define(target.id, var)
                self.fixed[target.id] = "an axis"
                self.block.axes.append(Axis(var, domain.kind, start, stop, value, span=self.span(target)))
            inner()

        at = len(self.out)
        super()._block(rest, None, axes, node)
        for loop in reversed(loops):
            self.out[at:] = [loop.replace(body=tuple(self.out[at:]), span=self.span(node))]

    def _values_around(self, targets: list[Any], call: ast.Call, node: ast.With) -> list[Var] | None:
        """The loops between this block and the one around it, the values of its axes; None where it binds them."""
        bound = {
            part.args[0].id
            for stmt in node.body
            for part in ast.walk(stmt)
            if isinstance(part, ast.Call) and _is_bind(part) and isinstance(part.args[0], ast.Name)
        }
        names = [target.id for target in targets]
        missing = [name for name in names if name not in bound]
        if not missing:
            return None
        if len(missing) < len(names):
            message = f"the axis `{missing[0]}` has no value, though others of this block have"
            raise self.fail("T022", message, call, hint=f"T.bind({missing[0]}, i)")
        scopes = self.scopes[self.block.depth :] if self.block is not None else self.scopes
        loops = [
            value
            for scope in scopes
            for value in scope.values()
            if type(value) is Var and (value in self.domains or value in self.stepped)
        ]
        if loops and len(loops) != len(names):
            message = (
                f"{len(loops)} loops stand around a block of {counted(len(names), 'axis')}, none of which has a value"
            )
            raise self.fail("T022", message, call, hint=f"T.bind({names[0]}, {loops[0].name})")
        return loops

    def _bind_statement(self, call: ast.Call, node: ast.stmt) -> None:
        """`T.bind(vi, i)` in a block, or `T.bind(value, var=x)`, the value of a declared variable."""
        if [word.arg for word in call.keywords] == ["var"]:
            self._let_bound(call, None, node)
            return
        frame = self.frame("`T.bind`", node)
        if len(call.args) != 2 or call.keywords:
            raise self.fail("T032", "`T.bind` takes an axis and its value", call, hint="T.bind(vi, i)")
        var = self.value(call.args[0])
        at = next((place for place, axis in enumerate(frame.axes) if axis.var is var), None)
        if at is None:
            raise self.fail("T022", "this is no axis of the block", call.args[0])
        axis = frame.axes[at]
        parts = self._one_dtype([axis.start, axis.stop, self.index(call.args[1])], call)
        frame.axes[at] = axis.replace(start=parts[0], stop=parts[1], value=parts[2])

    # statements by the names of TVM's builders

    def _let_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        if name is not None and len(call.args) == 2 and isinstance(getattr(call.args[0], "value", None), str):
            call = ast.copy_location(ast.Call(call.func, call.args[1:], []), call)  # `T.let("x", value) as x`
        super()._let_context(call, name, inner, node)

    def _assert_call(self, call: ast.Call, node: ast.stmt) -> None:
        given = self.named(call, "Assert", ("condition", "message"), 2)
        test = self.condition(given["condition"])
        text = self.python(given["message"], "the message", (str,))
        self.emit(Assert(test if isinstance(test, Expr) else const(bool(test)), text, span=self.span(node)))

    def _assert_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        self._assert_call(call, node)
        inner()

    def _while_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        given = self.named(call, "While", ("condition",), 1)
        test = self.condition(given["condition"])
        loop = ast.copy_location(ast.While(given["condition"], node.body, []), node)
        body = self.loop_body(loop, {})
        self.emit(While(test if isinstance(test, Expr) else const(bool(test)), body, span=self.span(node)))

    # attributes

    def attr_node(self, value: Any, key: str) -> Any:
        self.early |= self.theirs and type(value) is Var and key.startswith("pragma_")
        if self.theirs and isinstance(value, BufferType):
            # the text of what a function of C does with its arguments names their buffers before it has their memory:
            # `A = T.Buffer((4,))`, `with T.attr(A, "storage_alignment", 64):`, and in it `A = T.decl_buffer(...)`
            names = (name for scope in reversed(self.scopes) for name, found in scope.items() if found is value)
            value = next(names, value)
        return super().attr_node(value, key)

    def without_loops(self, made: PrimFunc) -> PrimFunc:
        """A function whose pragmas at variables that nothing defines stand at no node.

        TVM says around a loop how to unroll what is in it, and some passes leave only that of the loop:

            i = T.int32()
            with T.attr(i, "pragma_auto_unroll_max_step", 16):
                for i in range(4):
        """
        if not self.early:
            return made
        free = set(free_vars(made))

        def settled(stmt: Attr) -> Attr:
            early = type(stmt.target) is Var and stmt.target in free and stmt.key.startswith("pragma_")
            return stmt.replace(target=const(0)) if early else stmt

        found: PrimFunc = rewrite(made, {Attr: settled})
        return found

    # calls by name

    def _call_intrin(self, call: ast.Call) -> Expr:
        args, kwargs = self.arguments(call)
        if "dtype" in kwargs:
            args = [kwargs.pop("dtype"), *args]
        if kwargs or len(args) < 2 or not isinstance(args[1], str):
            raise self.fail("T032", "`T.call_intrin` takes a dtype, a name and the arguments", call)
        return self.intrinsic(args[0], args[1], args[2:], call)

    def intrinsic(self, kind: Any, full: str, args: list[Any], call: ast.Call) -> Expr:
        """A call of an intrinsic by TVM's name of it, which gives a dtype."""
        name = full.split(".", 1)[1] if full.startswith(("tir.", "tirx.")) else full
        entry = OPS.get(name) or FOREIGN.get(name)
        if entry is None:
            near = suggest(name, [*OPS, *FOREIGN])
            message = f"{full!r} is not an intrinsic"
            raise self.fail("T031", message, call, hint=f"did you mean `T.{near}`?" if near else None)
        wanted = self.dtype_of(kind, call)
        made = self.call_entry(entry, args, {"dtype": wanted}, call)
        if made.dtype is not wanted and made.dtype is not VOID:  # nobody uses what these give
            raise self.fail("T108", f"`T.{name}` of these gives {made.dtype}, not {wanted}", call)
        return made

    def _intrinsic_name(self, call: ast.Call) -> StringImm:
        (name,) = self.form_arguments(call, "llvm_lookup_intrinsic_id", ("name",))
        if not isinstance(name, str):
            raise self.fail("T032", "`T.llvm_lookup_intrinsic_id` takes the name of an LLVM intrinsic", call)
        return StringImm(name, span=self.span(call))

    def _named_var(self, call: ast.Call) -> Var:
        name, kind = self.form_arguments(
            call, call.func.attr if isinstance(call.func, ast.Attribute) else "Var", ("name", "dtype")
        )
        if not isinstance(name, str):
            raise self.fail("T032", '`T.Var` takes a name and a dtype: `n = T.Var("n", "int64")`', call)
        return Var("", self.dtype_of(kind, call))

    def _dynamic(self, call: ast.Call) -> Var:
        args, kwargs = self.arguments(call)
        kind = args[1] if len(args) == 2 else kwargs.pop("dtype", "int64")
        if kwargs or not 1 <= len(args) <= 2 or not isinstance(args[0], str):
            raise self.fail("T032", '`I.dynamic` takes a name and a dtype: `n = I.dynamic("n", "int64")`', call)
        return Var("", self.dtype_of(kind, call))


def _matches(stmt: Stmt, flat: Any) -> bool:
    """Whether a statement makes a buffer of a handle that is a parameter."""
    return type(stmt) is MatchBuffer and stmt.buffer is flat and type(stmt.source) is Var


def _is_bind(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "bind" and len(call.args) == 2


_DEFINITIONS: dict[str, Callable[..., None]] = {
    "buffer_decl": LegacyLowering._buffer_decl,
    "match_buffer_region": LegacyLowering._match_region,
    "bind": LegacyLowering._bound_value,
}
LegacyLowering.statement_forms = {
    **LaunchLowering.statement_forms,
    "store": LegacyLowering._store,
    "preflattened_buffer": LegacyLowering._preflattened,
    "bind": LegacyLowering._bind_statement,
    "Assert": LegacyLowering._assert_call,
}
LegacyLowering.context_forms = {
    **LaunchLowering.context_forms,
    "block": LegacyLowering._block,
    "let": LegacyLowering._let_context,
    "Assert": LegacyLowering._assert_context,
    "While": LegacyLowering._while_context,
}
_VALUE_FORMS.update(
    {
        "load": LegacyLowering._load,
        "call_intrin": LegacyLowering._call_intrin,
        "llvm_lookup_intrinsic_id": LegacyLowering._intrinsic_name,
        "Var": LegacyLowering._named_var,
        "dynamic": LegacyLowering._dynamic,
        "SizeVar": LegacyLowering._named_var,
        **dict.fromkeys(_AXIS_DOMAINS, LegacyLowering._axis_domain),
    }
)
