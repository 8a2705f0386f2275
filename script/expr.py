"""Expressions: a syntax node becomes an IR expression, or a plain Python value where all of it is known while parsing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, suggest
from tirscript.ir.dtype import INT32, DType
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
    Var,
    const,
)
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import OPS, Op, as_expr, build, convert

from .context import _MISSING, Abort, Context, FunctionRef, ModuleRef
from .namespace import BufferForm, Form, Namespace, TypeName, special_float
from .python import BINARY, BUILTINS, COMPARE, MAX_ITEMS, UNARY, TooLarge

_BINARY_OPS = {
    ast.Add: OPS["add"],
    ast.Sub: OPS["sub"],
    ast.Mult: OPS["mul"],
    ast.Div: OPS["div"],
    ast.FloorDiv: OPS["floordiv"],
    ast.Mod: OPS["floormod"],
    ast.Pow: OPS["pow"],
    ast.LShift: OPS["shift_left"],
    ast.RShift: OPS["shift_right"],
    ast.BitAnd: OPS["bitwise_and"],
    ast.BitOr: OPS["bitwise_or"],
    ast.BitXor: OPS["bitwise_xor"],
}
_UNARY_OPS = {ast.USub: OPS["negative"], ast.Invert: OPS["bitwise_not"], ast.Not: OPS["logical_not"]}
_COMPARE_OPS = {
    ast.Eq: OPS["equal"],
    ast.NotEq: OPS["not_equal"],
    ast.Lt: OPS["less"],
    ast.LtE: OPS["less_equal"],
    ast.Gt: OPS["greater"],
    ast.GtE: OPS["greater_equal"],
}
_BUFFER_ATTRIBUTES = ("data", "shape", "dtype", "strides", "elem_offset", "scope", "ndim", "name", "vload", "vstore", "align", "offset_factor")
MAX_LANES = 1 << 16
_IS_OP = {id(entry) for entry in OPS.values()}
_PLAIN = (int, float, bool, str, bytes, type(None), tuple, list, dict)


class Method:
    """A method of a buffer or an expression, waiting for its call."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


class ExprLowering(Context):
    """Lowers expressions. `value` gives whatever a node means, `expr` an IR expression."""

    def value(self, node: ast.expr) -> Any:
        """The IR expression, buffer or Python value that a syntax node means."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise self.fail("T021", f"{_describe(node)} is not part of the language", node, hint=_HINTS.get(type(node)))
        return rule(self, node)

    def expr(self, node: ast.expr, to: DType | None = None) -> Expr:
        """The IR expression that a syntax node means; a bare number takes dtype `to`, or int32, float32 or bool alone."""
        value = self.value(node)
        if isinstance(value, Expr):
            return value
        if type(value) is TypeName:
            raise self.fail("T104", f"`T.{value.name}` is a dtype, not a value", node)
        try:
            return self.placed(as_expr(value, to), node)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def converted(self, node: ast.expr, to: DType, what: str) -> Expr:
        """A value as stored into a place of dtype `to`."""
        value = self.value(node)
        try:
            return self.placed(convert(value, to, what), node)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def condition(self, node: ast.expr) -> Any:
        """A condition: a bool expression, or a Python value that decides while parsing."""
        value = self.value(node)
        if isinstance(value, Expr) and not value.dtype.is_bool:
            raise self.fail("T102", f"the condition is {value.dtype}, not bool", node, hint="compare it: `x != 0`")
        if isinstance(value, Buffer):
            raise self.fail("T102", f"the condition is the whole buffer `{value.name}`", node, hint="index it and compare")
        return value

    def index(self, node: ast.expr) -> Expr:
        """An integer expression."""
        found = self.expr(node)
        if not found.dtype.is_int:
            raise self.fail("T112", f"the index is {found.dtype}, not an integer", node, hint="cast it: `x.astype(\"int32\")`")
        return found

    def python(self, node: ast.expr, what: str, kinds: tuple[type, ...]) -> Any:
        """A value that must be known while parsing."""
        value = self.value(node)
        if isinstance(value, Const):
            value = value.value
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.fail("T032", f"{what} must be {_kinds(kinds)} known while parsing", node)
        return value

    # leaves

    def _constant(self, node: ast.Constant) -> Any:
        if node.value is Ellipsis:
            raise self.fail("T021", "`...` is not part of the language", node)
        if isinstance(node.value, complex):
            raise self.fail("T021", "complex numbers are not part of the language", node)
        return node.value

    def _name(self, node: ast.Name) -> Any:
        return self.name_value(node)

    # operators

    def _binary(self, node: ast.BinOp) -> Any:
        left = self.value(node.left)
        right = self.value(node.right)
        kind = type(node.op)
        if isinstance(left, Expr) or isinstance(right, Expr):
            entry = _BINARY_OPS.get(kind)
            if entry is None:
                raise self.fail("T021", "`@` is not an operator of tensor functions", node, hint="write the loops, or call a matmul")
            return self.operator(entry, [left, right], node, (node.left, node.right))
        return self.plain(lambda: BINARY[kind](left, right), node, (left, right))

    def operator(self, entry: Op, args: list[Any], node: ast.expr, nodes: tuple[ast.expr, ...] = ()) -> Expr:
        """A call of the table with the typing rules, at the span of `node`."""
        try:
            made = build(entry, args)
        except DiagnosticError as problem:
            at: ast.expr = node
            if problem.diagnostics[0].code in ("T103", "T104"):
                at = next((n for n, a in zip(nodes, args, strict=False) if not isinstance(a, Expr)), node)
            raise self.located(problem, at) from None
        return self.placed(made, node)

    def plain(self, work: Callable[[], Any], node: ast.expr, operands: tuple[Any, ...]) -> Any:
        """Run an operation of parse-time Python within its bounds."""
        for operand in operands:
            if isinstance(operand, (Buffer, Form, Op, TypeName, Namespace)):
                name = getattr(operand, "name", repr(operand))
                kind = f"the whole buffer `{name}`" if isinstance(operand, Buffer) else f"`{operand!r}`"
                raise self.fail("T104", f"{kind} is not a value here", node, hint="index it" if isinstance(operand, Buffer) else None)
            if not self.trusted and not isinstance(operand, _PLAIN):
                raise self.fail("T003", f"a {type(operand).__name__} takes no part in parse-time Python", node)
        try:
            return work()
        except TooLarge as problem:
            raise self.fail("T004", f"this makes {problem}", node) from None
        except (DiagnosticError, Abort):
            raise
        except Exception as problem:
            raise self.fail("T033", f"{type(problem).__name__} while parsing: {problem}", node) from None

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(operand, Expr):
            if isinstance(node.op, ast.UAdd):
                return operand
            return self.operator(_UNARY_OPS[type(node.op)], [operand], node)
        return self.plain(lambda: UNARY[type(node.op)](operand), node, (operand,))

    def _boolean(self, node: ast.BoolOp) -> Any:
        entry = OPS["logical_and" if isinstance(node.op, ast.And) else "logical_or"]
        decides = isinstance(node.op, ast.Or)
        result = self.condition(node.values[0])
        for item in node.values[1:]:
            if not isinstance(result, Expr):
                if bool(result) == decides:
                    return result
                result = self.condition(item)
                continue
            right = self.condition(item)
            result = self.operator(entry, [result, right if isinstance(right, Expr) else bool(right)], node)
        return result

    def _compare(self, node: ast.Compare) -> Any:
        values = [self.value(node.left), *map(self.value, node.comparators)]
        result: Any = None
        for at, kind in enumerate(map(type, node.ops)):
            left, right = values[at], values[at + 1]
            if isinstance(left, Expr) or isinstance(right, Expr):
                entry = _COMPARE_OPS.get(kind)
                if entry is None:
                    raise self.fail("T021", "`is` and `in` do not apply to values of the program", node, hint="use `==`, or a chain of comparisons")
                nodes = (node.left, *node.comparators)[at : at + 2]
                part: Any = self.operator(entry, [left, right], node, nodes)
            else:
                part = self.plain(lambda k=kind, a=left, b=right: COMPARE[k](a, b), node, ())  # type: ignore[misc]
            if result is None:
                result = part
            elif isinstance(result, Expr) or isinstance(part, Expr):
                result = self.operator(OPS["logical_and"], [result, part], node)
            else:
                result = result and part
        return result

    def _conditional(self, node: ast.IfExp) -> Any:
        test = self.condition(node.test)
        if not isinstance(test, Expr):
            return self.value(node.body if test else node.orelse)
        args = [test, self.value(node.body), self.value(node.orelse)]
        return self.operator(OPS["if_then_else"], args, node, (node.test, node.body, node.orelse))

    # attributes and indices

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.name_value(node.value) if type(node.value) is ast.Name else self.value(node.value)
        if type(owner) is BufferLoad and owner.buffer.scope == "scalar" and node.attr not in ("dtype", "astype"):
            owner = owner.buffer
        return self.attribute(owner, node.attr, node)

    def attribute(self, owner: Any, name: str, node: ast.Attribute) -> Any:
        """`owner.name` for the owners that the language knows; anything of the user's own in a decorated function."""
        cls = type(owner)
        if cls is Namespace:
            found = owner.__dict__.get(name, _MISSING)
            if found is _MISSING or name.startswith("_"):
                letter = owner._letter
                near = suggest(name, owner.__dict__)
                raise self.fail(
                    "T031", f"`{letter}.{name}` is not a function of {letter}", node, hint=f"did you mean `{letter}.{near}`?" if near else None
                )
            return found
        if cls is Buffer:
            return self._buffer_attribute(owner, name, node)
        if isinstance(owner, Expr):
            if name == "dtype":
                return owner.dtype
            if name == "astype":
                return Method(owner, name)
            raise self.fail("T030", f"an expression has no `{name}`", node, hint="it has `astype` and `dtype`")
        if cls is ModuleRef:
            if name in owner.functions:
                return owner.functions[name]
            near = suggest(name, owner.functions)
            raise self.fail("T030", f"the module has no function `{name}`", node, hint=f"did you mean `{near}`?" if near else None)
        if cls is TypeName and name == "dtype":
            return owner.dtype
        if not self.trusted:
            raise self.fail("T003", f"the attribute `{name}` is not available to text that is parsed", node, hint="attributes are those of T, G, I, buffers and expressions")
        return self.plain(lambda: getattr(owner, name), node, ())

    def _buffer_attribute(self, buffer: Buffer, name: str, node: ast.Attribute) -> Any:
        if name not in _BUFFER_ATTRIBUTES:
            near = suggest(name, _BUFFER_ATTRIBUTES)
            raise self.fail("T030", f"a buffer has no `{name}`", node, hint=f"did you mean `{near}`?" if near else f"it has {', '.join(_BUFFER_ATTRIBUTES)}")
        if name == "data":
            return BufferData(buffer, span=self.span(node))
        if name in ("vload", "vstore"):
            return Method(buffer, name)
        if name == "shape":
            return tuple(dim.value if type(dim) is Const else dim for dim in buffer.shape)
        if name == "strides":
            return tuple(dim.value if type(dim) is Const else dim for dim in buffer.strides or ())
        return getattr(buffer, name)

    def _subscript(self, node: ast.Subscript) -> Any:
        owner = self.value(node.value)
        if type(owner) is BufferLoad and owner.buffer.scope == "scalar":
            owner = owner.buffer
        if type(owner) is Buffer:
            indices = self.indices(owner, node)
            return BufferLoad(owner, indices, span=self.span(node))
        if isinstance(owner, Expr):
            raise self.fail("T104", f"this is a value of {owner.dtype}, not a buffer: it cannot be indexed", node)
        item = self._item(node.slice)
        if isinstance(item, Const):
            item = item.value
        return self.plain(lambda: owner[item], node, () if isinstance(owner, (TypeName, Form, BufferForm)) else (owner,))

    def _item(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            parts = [None if part is None else self.python(part, "a bound of a slice", (int,)) for part in (node.lower, node.upper, node.step)]
            return slice(*parts)
        return self.value(node)

    def indices(self, buffer: Buffer, node: ast.Subscript) -> tuple[Expr, ...]:
        """The indices of an access; a slice in the last place is a vector index."""
        items = index_nodes(node)
        if len(items) != len(buffer.shape):
            self._count(buffer, len(items), node)
        found = []
        for item in items:
            if type(item) is ast.Slice:
                found.append(self._vector_index(item, buffer, len(found)))
            elif type(item) is ast.Starred:
                for value in self.unpacked(item):
                    found.append(as_expr(value))
            else:
                found.append(self.index(item))
        if len(found) != len(buffer.shape):
            self._count(buffer, len(found), node)
        return tuple(found)

    def _count(self, buffer: Buffer, count: int, node: ast.Subscript) -> None:
        if any(isinstance(item, ast.Starred) for item in index_nodes(node)) and count < len(buffer.shape):
            return
        from tirscript.ir.diagnostic import Label

        notes = (Label(buffer.span, f"`{buffer.name}` is declared here"),) if buffer.span is not None else ()
        number = len(buffer.shape)
        raise self.fail(
            "T111", f"`{buffer.name}` has {number} dimension{'s' if number != 1 else ''}, but {count} {'index' if count == 1 else 'indices'} stand here", node, notes=notes
        )

    def _vector_index(self, node: ast.Slice, buffer: Buffer, at: int) -> Expr:
        lower: Any = self.value(node.lower) if node.lower is not None else 0
        upper: Any = self.value(node.upper) if node.upper is not None else buffer.shape[at]
        step = 1 if node.step is None else self.python(node.step, "the step of a slice", (int,))
        length = _difference(upper, lower)
        if length is None:
            raise self.fail("T022", "the length of this slice is not known while parsing", node, hint="write `i:i + 4`, or `T.ramp(i, 1, 4)`")
        lanes = -(-length // step) if step else 0
        if not 0 < lanes <= MAX_LANES:
            raise self.fail("T022", f"this slice has {max(lanes, 0)} elements; a vector has 1 to {MAX_LANES}", node)
        base = as_expr(lower)
        if lanes == 1:
            return base
        return Ramp(base, as_expr(step, base.dtype), lanes, span=self.span(node))

    def region(self, node: ast.expr) -> BufferRegion:
        """A region: `A[0:4, i]`, or a whole buffer by name."""
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
                    lower, upper = _same_dtype(lower, upper)
                found.append(Range(lower, upper))
            else:
                found.append(Range(self.index(item)))
        return BufferRegion(buffer, tuple(found), span=self.span(node))

    # calls

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        cls = type(function)
        if cls is Op:
            return self._call_op(function, node)
        if cls is TypeName:
            return self._call_type(function, node)
        if isinstance(function, Form):
            rule = _VALUE_FORMS.get(function.name)
            if rule is None:
                raise self.fail("T022", f"`T.{function.name}` does not stand in an expression", node, hint=function.__doc__)
            return rule(self, node)
        if cls is BufferForm:
            args, kwargs = self.arguments(node)
            return self.plain(lambda: function(*args, **kwargs), node, ())
        if cls is Method:
            return self._call_method(function, node)
        if cls is FunctionRef:
            return self._call_function(function, node)
        if cls is PrimFunc:
            raise self.fail("T022", f"`{function.name}` is a tensor function outside of this module", node, hint="put both in one `@I.ir_module` and call it as `cls.name(...)`")
        return self._call_python(function, node)

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The argument values of a call."""
        args: list[Any] = []
        for arg in node.args:
            if type(arg) is ast.Starred:
                args += self.unpacked(arg)
            else:
                args.append(self.value(arg))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                extra = self.value(keyword.value)
                if not isinstance(extra, dict):
                    raise self.fail("T032", "`**` takes a dict known while parsing", keyword.value)
                kwargs.update(extra)
            else:
                kwargs[keyword.arg] = self.value(keyword.value)
        return args, kwargs

    def unpacked(self, node: ast.Starred) -> list[Any]:
        """The items of `*values`."""
        return self.iterate(self.value(node.value), node)

    def iterate(self, values: Any, node: ast.AST) -> list[Any]:
        """The items of a parse-time sequence, within bounds."""
        if isinstance(values, (Expr, Buffer)) or not hasattr(values, "__iter__"):
            raise self.fail("T032", "this is not a sequence known while parsing", node)
        items = []
        for item in values:
            items.append(item)
            if len(items) > MAX_ITEMS:
                raise self.fail("T004", f"a sequence of over {MAX_ITEMS} items", node)
        return items

    def _call_op(self, entry: Op, node: ast.Call) -> Expr:
        args, kwargs = self.arguments(node)
        if entry.make is None and not kwargs:
            return self.operator(entry, args, node, tuple(node.args))
        for at, arg in enumerate(args):
            if type(arg) is BufferLoad or not isinstance(arg, Buffer):
                continue
            raise self.fail("T104", f"the whole buffer `{arg.name}` is not a value", node.args[min(at, len(node.args) - 1)], hint=f"pass an element `{arg.name}[...]`, or its address `{arg.name}.data`")
        try:
            return self.placed(entry(*args, **kwargs), node)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None
        except TypeError as problem:
            raise self.fail("T032", f"wrong arguments for `T.{entry.name}`: {_argument_error(problem)}", node, hint=entry.doc) from None

    def _call_type(self, name: TypeName, node: ast.Call) -> Any:
        args, kwargs = self.arguments(node)
        if not args and not kwargs and not name.dtype.is_handle:
            return Var("", name.dtype)
        if name.dtype.is_handle:
            return self.plain(lambda: name(*args, **kwargs), node, ())
        if len(args) != 1 or kwargs:
            raise self.fail("T032", f"`T.{name.name}` takes one value", node)
        value = args[0]
        if isinstance(value, str):
            try:
                value = special_float(value)
            except ValueError as problem:
                raise self.fail("T032", str(problem), node) from None
        try:
            if isinstance(value, (int, float)) and not name.dtype.is_vector:
                made: Expr = const(value, name.dtype)
            else:
                made = OPS["cast"](value, name.dtype)
        except ValueError as problem:
            raise self.fail("T103", str(problem), node) from None
        except DiagnosticError as problem:
            raise self.located(problem, node) from None
        return self.placed(made, node)

    def _call_method(self, method: Method, node: ast.Call) -> Expr:
        args, kwargs = self.arguments(node)
        try:
            if method.name == "astype":
                return self.placed(OPS["cast"](method.owner, *args, **kwargs), node)
        except TypeError:
            raise self.fail("T032", "`astype` takes one dtype", node) from None
        except DiagnosticError as problem:
            raise self.located(problem, node) from None
        if method.name == "vstore":
            raise self.fail("T022", "`vstore` is a statement, not a value", node)
        indices, predicate = self.vector_access(method.owner, args, kwargs, node, 1)
        return BufferLoad(method.owner, indices, predicate, span=self.span(node))

    def vector_access(self, buffer: Buffer, args: list[Any], kwargs: dict[str, Any], node: ast.Call, count: int) -> tuple[tuple[Expr, ...], Expr | None]:
        """The indices and predicate of `A.vload(...)` and `A.vstore(...)`."""
        predicate = kwargs.pop("predicate", None)
        if kwargs or len(args) != count or not isinstance(args[0], (list, tuple)):
            raise self.fail("T032", "write `A.vload([indices], predicate=)` or `A.vstore([indices], value, predicate=)`", node)
        if len(args[0]) != len(buffer.shape):
            raise self.fail("T111", f"`{buffer.name}` has {len(buffer.shape)} dimensions, but {len(args[0])} indices stand here", node)
        return tuple(as_expr(item) for item in args[0]), predicate

    def _call_function(self, function: FunctionRef, node: ast.Call) -> Expr:
        if node.keywords:
            raise self.fail("T032", "calls between tensor functions take no keyword arguments", node)
        params, returns = function.signature
        if len(params) != len(node.args):
            raise self.fail("T032", f"`{function.name}` takes {len(params)} arguments, not {len(node.args)}", node)
        args: list[Any] = []
        for param, arg in zip(params, node.args, strict=True):
            if isinstance(param, Buffer):
                sliced = isinstance(arg, ast.Subscript)
                value: Any = self.region(arg) if sliced else self.value(arg)
                if not isinstance(value, (Buffer, BufferRegion)):
                    raise self.fail("T032", f"parameter `{param.name}` of `{function.name}` takes a buffer", arg)
                args.append(value)
            elif param.dtype.is_handle:
                value = self.value(arg)
                args.append(BufferData(value) if type(value) is Buffer else as_expr(value))
            else:
                args.append(self.converted(arg, param.dtype, f"parameter `{param.name}`"))
        return CallFunction(function.name, tuple(args), returns, span=self.span(node))

    def _call_python(self, function: Any, node: ast.Call) -> Any:
        if not callable(function):
            raise self.fail("T022", f"this is a {type(function).__name__}, which cannot be called", node)
        if not self.trusted and function not in _SAFE:
            name = getattr(function, "__name__", type(function).__name__)
            raise self.fail("T003", f"`{name}` is not available to text that is parsed", node)
        args, kwargs = self.arguments(node)
        special = _EXPR_BUILTINS.get(function) if function.__hash__ is not None else None
        if special is not None and not kwargs:
            items = args if len(args) != 1 else self.iterate(args[0], node) if hasattr(args[0], "__iter__") else args
            if any(isinstance(item, Expr) for item in items):
                return self._fold(special, items, node)
        return self.plain(lambda: function(*args, **kwargs), node, ())

    def _fold(self, name: str, items: list[Any], node: ast.Call) -> Expr:
        if name == "abs":
            return self.operator(OPS["abs"], items, node)
        result = items[0]
        for item in items[1:]:
            result = self.operator(OPS[name], [result, item], node) if isinstance(result, Expr) or isinstance(item, Expr) else BUILTINS["sum" if name == "add" else name]((result, item))
        return result

    # sequences and other parse-time Python

    def _tuple(self, node: ast.Tuple | ast.List) -> Any:
        items: list[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                items += self.unpacked(item)
            else:
                items.append(self.value(item))
        return tuple(items) if isinstance(node, ast.Tuple) else items

    def _dict(self, node: ast.Dict) -> Any:
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                extra = self.value(item)
                if not isinstance(extra, dict):
                    raise self.fail("T032", "`**` takes a dict known while parsing", item)
                found.update(extra)
            else:
                name = self.value(key)
                value = self.value(item)
                self.plain(lambda n=name, v=value: found.__setitem__(n, v), key, ())  # type: ignore[misc]
        return found

    def _joined(self, node: ast.JoinedStr) -> str:
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.value(part.value)
                if isinstance(value, (Expr, Buffer)):
                    raise self.fail("T033", "an f-string holds values known while parsing", part)
                spec = self._joined(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else ""
                if any(int(digits) > 1000 for digits in _numbers(spec)):
                    raise self.fail("T004", "a format of over 1,000 characters", part)
                form = {115: str, 114: repr, 97: ascii}.get(part.conversion)
                parts.append(self.plain(lambda v=value, s=spec, f=form: format(f(v) if f else v, s), part, (value,)))  # type: ignore[misc]
            else:
                parts.append(self.value(part))
        return "".join(parts)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Any:
        items: list[Any] = []
        self._loops(node.generators, lambda: items.append(self.value(node.elt)), node)
        return set(items) if isinstance(node, ast.SetComp) else items

    def _dict_comprehension(self, node: ast.DictComp) -> Any:
        found: dict[Any, Any] = {}
        self._loops(node.generators, lambda: found.__setitem__(self.value(node.key), self.value(node.value)), node)
        return found

    def _loops(self, generators: list[ast.comprehension], work: Callable[[], Any], node: ast.expr) -> None:
        if not generators:
            work()
            return
        first, rest = generators[0], generators[1:]
        for item in self.iterate(self.value(first.iter), first.iter):
            self.scopes.append({})
            try:
                self.unpack(first.target, item)
                tests = [self.condition(test) for test in first.ifs]
                if any(isinstance(test, Expr) for test in tests):
                    raise self.fail("T033", "the condition of a comprehension must be known while parsing", first.ifs[0])
                if all(tests):
                    self._loops(rest, work, node)
            finally:
                self.scopes.pop()

    def unpack(self, target: ast.expr, value: Any) -> None:
        """Define the names of a target of parse-time Python."""
        if isinstance(target, ast.Name):
            self.define(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = self.iterate(value, target)
            if len(items) != len(target.elts):
                raise self.fail("T033", f"{len(items)} values for {len(target.elts)} names", target)
            for name, item in zip(target.elts, items, strict=True):
                self.unpack(name, item)
        else:
            raise self.fail("T012", "only names can be assigned here", target)

    def _walrus(self, node: ast.NamedExpr) -> Any:
        value = self.value(node.value)
        if isinstance(value, Expr):
            raise self.fail("T021", "`:=` takes values known while parsing", node, hint="assign the value in a statement of its own")
        self.define(node.target.id, value)
        return value

    def _starred(self, node: ast.Starred) -> Any:
        raise self.fail("T021", "`*` unpacks only in a call, an index or a sequence", node)

    # constructs that are values

    def _ramp(self, node: ast.Call) -> Expr:
        base, stride, lanes = self.form_arguments(node, "ramp", ("base", "stride", "lanes"))
        first = as_expr(base)
        try:
            step = as_expr(stride, first.dtype)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None
        if step.dtype is not first.dtype:
            first, step = _same_dtype(first, step)
        return Ramp(first, step, self._lanes(lanes, node), span=self.span(node))

    def _broadcast(self, node: ast.Call) -> Expr:
        value, lanes = self.form_arguments(node, "broadcast", ("value", "lanes"))
        return Broadcast(as_expr(value), self._lanes(lanes, node), span=self.span(node))

    def _lanes(self, lanes: Any, node: ast.Call) -> int:
        count = lanes.value if isinstance(lanes, Const) else lanes
        if type(count) is not int or not 1 < count <= MAX_LANES:
            raise self.fail("T032", f"the number of lanes must be an int of 2 to {MAX_LANES}", node)
        return count

    def form_arguments(self, node: ast.Call, name: str, names: tuple[str, ...]) -> list[Any]:
        """The values of a construct's arguments, by place or keyword, all of them required."""
        args, kwargs = self.arguments(node)
        for field in names[len(args) :]:
            if field not in kwargs:
                raise self.fail("T032", f"`T.{name}` takes {', '.join(names)}; `{field}` is missing", node)
            args.append(kwargs.pop(field))
        if kwargs or len(args) != len(names):
            raise self.fail("T032", f"`T.{name}` takes {', '.join(names)}", node)
        return args

    def _let(self, node: ast.Call) -> Expr:
        if len(node.args) == 1 and len(node.keywords) == 1 and node.keywords[0].arg == "where":
            raise self.fail("T022", 'write `T.let("x", value, lambda x: body)`', node)
        if len(node.args) != 3 or node.keywords or not isinstance(node.args[2], ast.Lambda):
            raise self.fail("T032", 'write `T.let("x", value, lambda x: body)`', node)
        name = self.python(node.args[0], "the name", (str,))
        value = self.expr(node.args[1])
        function = node.args[2]
        if len(function.args.args) != 1:
            raise self.fail("T032", "the lambda of `T.let` takes one name", function)
        var = Var(name, value.dtype)
        self.scopes.append({function.args.args[0].arg: var})
        try:
            body = self.expr(function.body)
        finally:
            self.scopes.pop()
        return Let(var, value, body, span=self.span(node))

    def _limit(self, node: ast.Call) -> Expr:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id  # type: ignore[attr-defined]
        (kind,) = self.form_arguments(node, name, ("dtype",))
        try:
            return self.placed(limit(name, kind), node)
        except ValueError as problem:
            raise self.fail("T109", str(problem), node) from None

    def _var(self, node: ast.Call) -> Var:
        (kind,) = self.form_arguments(node, "var", ("dtype",))
        return TypeName(self.dtype_of(kind, node))()

    def dtype_of(self, value: Any, node: ast.AST) -> DType:
        """A dtype given as a string, a name of T or a numpy dtype."""
        from tirscript.ir.dtype import dtype

        if isinstance(value, TypeName):
            return value.dtype
        try:
            return dtype(value)
        except ValueError as problem:
            from tirscript.ir.dtype import scalar_names

            near = suggest(str(value), scalar_names())
            raise self.fail("T109", str(problem).split(";")[0], node, hint=f"did you mean `{near}`?" if near else None) from None


def limit(name: str, kind: Any) -> Const:
    """`T.min_value`, `T.max_value` and `T.infinity` of a dtype."""
    from tirscript.ir.dtype import dtype

    to = kind.dtype if isinstance(kind, TypeName) else dtype(kind)
    if name == "infinity" or to.is_float:
        if not to.is_float:
            raise ValueError(f"{to} has no infinity")
        value = float("inf")
        if name != "infinity":
            value = _LARGEST[to.name]
        return const(-value if name == "min_value" else value, to)
    if not (to.is_int or to.is_bool):
        raise ValueError(f"{to} has no least or greatest value")
    low, high = to.int_range()
    return const(low if name == "min_value" else high, to)


_LARGEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float.fromhex("0x1.fffffep127"),
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
}


def index_nodes(node: ast.Subscript) -> list[ast.expr]:
    """The syntax nodes of the indices of a subscript; none for `A[()]`."""
    return node.slice.elts if type(node.slice) is ast.Tuple else [node.slice]


def _difference(upper: Any, lower: Any) -> int | None:
    """`upper - lower` where it is a known number: of constants, or of one expression plus constants."""
    base_u, off_u = _offset(upper)
    base_l, off_l = _offset(lower)
    if (base_u is None) != (base_l is None) or (base_u is not None and not base_u == base_l):
        return None
    return off_u - off_l


def _offset(value: Any) -> tuple[Expr | None, int]:
    total = 0
    while type(value) is Call and value.op.name in ("add", "sub") and type(value.args[1]) is Const:
        step = int(value.args[1].value)
        total += step if value.op.name == "add" else -step
        value = value.args[0]
    if type(value) is Const:
        return None, total + int(value.value)
    if isinstance(value, Expr):
        return value, total
    return None, total + int(value)


def _same_dtype(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    from tirscript.ir.op import unify

    first, second = unify(OPS["add"], [_bare(a), _bare(b)])
    return first, second


def _bare(value: Expr) -> Any:
    return value.value if type(value) is Const and value.dtype is INT32 else value


def _numbers(text: str) -> list[str]:
    import re

    return re.findall(r"\d+", text)


def _argument_error(problem: TypeError) -> str:
    return str(problem).replace("_make.<locals>.", "").split("() ", 1)[-1]


def _kinds(kinds: tuple[type, ...]) -> str:
    words = {int: "an int", str: "a string", float: "a float", bool: "a bool", dict: "a dict", tuple: "a tuple", list: "a list"}
    return " or ".join(words.get(kind, kind.__name__) for kind in kinds)


def _describe(node: ast.AST) -> str:
    return _NAMES.get(type(node), type(node).__name__)


_NAMES: dict[type, str] = {
    ast.Lambda: "`lambda` here",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.Slice: "a slice here",
    ast.Set: "a set",
}
_HINTS: dict[type, str] = {
    ast.Lambda: "a lambda stands only as an index map or in `T.let`",
    ast.Yield: "a kernel writes its results into buffers",
    ast.Slice: "index a buffer with it: `A[i:i + 4]`",
}
_SAFE = set(BUILTINS.values())
_EXPR_BUILTINS: dict[Any, str] = {min: "min", max: "max", sum: "add", abs: "abs"}
_VALUE_FORMS: dict[str, Callable[[Any, ast.Call], Any]] = {
    "ramp": ExprLowering._ramp,
    "broadcast": ExprLowering._broadcast,
    "let": ExprLowering._let,
    "min_value": ExprLowering._limit,
    "max_value": ExprLowering._limit,
    "infinity": ExprLowering._limit,
    "var": ExprLowering._var,
}
_RULES: dict[type, Callable[[Any, Any], Any]] = {
    ast.Constant: ExprLowering._constant,
    ast.Name: ExprLowering._name,
    ast.BinOp: ExprLowering._binary,
    ast.UnaryOp: ExprLowering._unary,
    ast.BoolOp: ExprLowering._boolean,
    ast.Compare: ExprLowering._compare,
    ast.IfExp: ExprLowering._conditional,
    ast.Attribute: ExprLowering._attribute,
    ast.Subscript: ExprLowering._subscript,
    ast.Call: ExprLowering._call,
    ast.Tuple: ExprLowering._tuple,
    ast.List: ExprLowering._tuple,
    ast.Dict: ExprLowering._dict,
    ast.JoinedStr: ExprLowering._joined,
    ast.ListComp: ExprLowering._comprehension,
    ast.GeneratorExp: ExprLowering._comprehension,
    ast.SetComp: ExprLowering._comprehension,
    ast.DictComp: ExprLowering._dict_comprehension,
    ast.NamedExpr: ExprLowering._walrus,
    ast.Starred: ExprLowering._starred,
}
