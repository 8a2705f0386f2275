"""Calls in expressions: operators, dtypes, methods, other functions, and the constructs that are values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, suggest
from tirscript.ir.dtype import BOOL, INT64, VOID, DType, advice, dtype, scalar_names
from tirscript.ir.expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    CallFunction,
    Const,
    Expr,
    Let,
    Ramp,
    Var,
    const,
    literal,
)
from tirscript.ir.func import PrimFunc
from tirscript.ir.op import FOREIGN, OPS, Op, as_expr, literal_hint
from tirscript.ir.scopes import scope_advice
from tirscript.ir.words import counted, words

from .advice import ADVICE, taken_in
from .call_mistakes import argument_error, dtype_place
from .context import Abort, FunctionRef, Macro
from .expr import MAX_LANES, Method, same_dtype
from .lengths import vscale_factor
from .limits import limit, special_float, tvm_literal
from .namespace import BufferForm, BufferType, Form, PointerType, StridedLayout, TypeName, buffer_places
from .plain import argument_place, called_name
from .pointer import METHODS, array_of, first_element
from .python import BUILTINS, is_numpy_scalar
from .python_calls import PythonCallLowering
from .tvm import DialectFunction

# what TVM passes a whole buffer as a descriptor of it
_PACKED = ("call_packed", "call_cpacked", "call_packed_lowered", "call_cpacked_lowered")


class CallLowering(PythonCallLowering):
    """Lowers calls. `addresses` are the buffers whose names TVM's `T.allocate` bound to an address."""

    addresses: set[Buffer]

    def _call(self, node: ast.Call) -> Any:
        self.callee = node.func
        if self.theirs and type(node.func) is ast.Attribute and node.func.attr == "TileLayout":
            made = self._strided_layout(node)
            if made is not None:
                return made
        function = self.value(node.func)
        try:
            return self.called(function, node)
        except DiagnosticError as problem:
            raise self.located(problem, node) from None

    def misplaced(self, function: Form, node: ast.Call) -> Abort:
        """What is wrong with a statement that stands where values do."""
        hint = ADVICE["where"] if function.name == "where" else function.__doc__
        return self.fail("T022", f"`T.{function.name}` does not stand in an expression", node, hint=hint)

    def called(self, function: Any, node: ast.Call) -> Any:
        """What the call of a function means."""
        cls = type(function)
        if cls is Op:
            return self._call_op(function, node)
        if cls is TypeName:
            return self._call_type(function, node)
        if isinstance(function, Form):
            rule = _VALUE_FORMS.get(function.name)
            if rule is None:
                raise self.misplaced(function, node)
            return rule(self, node)
        if cls is DialectFunction:
            args, kwargs = self.arguments(node, self.operand)
            try:
                return self.placed(function(*args, **kwargs), node)
            except DiagnosticError as problem:
                raise self.located(problem, node) from None
            except TypeError as problem:
                raise self.fail(
                    "T032",
                    f"wrong arguments for `T.{function.name}`: {argument_error(problem)}",
                    node,
                    hint=function.__doc__,
                ) from None
        if cls is BufferForm:
            return self._buffer_type(node)
        if cls is PointerType:
            args, kwargs = self.arguments(node)
            return self.plain(lambda: function(*args, **kwargs), node, ())
        if cls is Method:
            return self._call_method(function, node)
        if cls is FunctionRef:
            return self._call_function(function, node)
        if cls is Macro:
            hint = "call it on a line of its own, with a buffer whose elements it writes"
            last = function.node.body[-1]
            if self.trusted and type(last) is ast.Return and last.value is not None:
                hint = (
                    f"take `@T.macro` away: `{function.name}` is Python then, which may return a value of the program"
                )
            raise self.fail("T022", f"the macro `{function.name}` is a statement, not a value", node, hint=hint)
        if cls is Buffer:
            name = function.name
            raise self.fail(
                "T022", f"`{name}` is a buffer: it is indexed, not called", node, hint=f"write `{name}[...]`"
            )
        if cls is PrimFunc:
            name = function.name
            message = f"`{name}` is a tensor function outside of this module"
            raise self.fail("T022", message, node, hint=taken_in(name, "(...)"))
        return self.closed(self.open_python(function, node))

    def _strided_layout(self, node: ast.Call) -> StridedLayout | None:
        """`T.TileLayout(T.S[(4, n):(n, 1)])`, None where it is another of TVM's layouts."""
        match node:
            case ast.Call(
                ast.Attribute(ast.Name("T")),
                [
                    ast.Subscript(
                        ast.Attribute(ast.Name("T"), "S"), ast.Slice(ast.expr() as lower, ast.expr() as upper, None)
                    )
                ],
                [],
            ):
                sizes, steps = (
                    tuple(found) if isinstance(found, (tuple, list)) else (found,)
                    for found in (self.value(lower), self.value(upper))
                )
                return StridedLayout(sizes, steps)
        return None

    def _buffer_type(self, node: ast.Call) -> BufferType:
        """`T.Buffer(shape, dtype, ...)`."""
        args, kwargs = self.arguments(node)
        fields = BufferType.FIELDS
        places = buffer_places(fields, args)
        nodes: dict[str | None, ast.expr] = dict(zip(places, node.args, strict=False))
        nodes.update({keyword.arg: keyword.value for keyword in node.keywords})
        for keyword in kwargs:
            if keyword not in fields:
                near = suggest(keyword, fields)
                hint = f"did you mean `{near}`?" if near else f"it has {', '.join(fields)}"
                raise self.fail("T032", f"`T.Buffer` has no `{keyword}`", nodes.get(keyword, node), hint=hint)
        given = {**dict(zip(places, args, strict=False)), **kwargs}
        if "shape" not in given or len(args) > len(places):
            what = "needs a shape" if "shape" not in given else f"takes at most {len(places)} arguments by place"
            raise self.fail("T032", f"`T.Buffer` {what}", node, hint='T.Buffer((128, 128), "float32")')
        for name in places[: len(args)]:
            if name in kwargs:
                raise self.fail("T032", f"`{name}` is given twice of `T.Buffer`", nodes[name])
        for name in ("strides", "axis_separators"):
            if name in given and not isinstance(given[name], (tuple, list, str, type(None))):
                what = f"`{name}` of `T.Buffer` is {words(given[name])}, not a tuple"
                raise self.fail("T032", what, nodes.get(name, node))
        self.check_order("T.Buffer", given, nodes, node)
        data = given.get("data")
        if data is not None:
            words_for: dict[type, str] = {str: "scope", tuple: "strides", list: "strides"}
            word = words_for.get(type(data)) if len(args) > 2 else None
            raise self.fail(
                "T032",
                "the memory of a parameter is its caller's: it takes no `data`",
                nodes.get("data", node),
                hint=f"the third argument is `data`: write `{word}=...`" if word else None,
            )
        if isinstance(given.get("strides"), str):
            raise self.fail("T032", "the strides of a buffer are a tuple, not a str", nodes.get("strides", node))
        if "dtype" in given:
            given["dtype"] = self.dtype_of(given["dtype"], nodes.get("dtype", node))
        return self.plain(lambda: BufferType(**given), node, ())  # type: ignore[no-any-return]

    def check_order(self, name: str, given: dict[str, Any], nodes: Mapping[Any, ast.expr], node: ast.expr) -> None:
        """Refuse the shape and the dtype of a buffer where they stand for each other."""
        shape, kind = given.get("shape"), given.get("dtype")
        sizes = kind if isinstance(kind, (tuple, list)) else [kind]
        if isinstance(shape, (int, Expr)) and all(type(size) is int or isinstance(size, Expr) for size in sizes):
            both = ", ".join(one.script().strip() if isinstance(one, Expr) else str(one) for one in (shape, *sizes))
            hint = f'the shape is one tuple: `{name}(({both}), "float32")`'
            place = nodes.get("dtype", node)
            raise self.fail("T109", f"{self.span(place).text} is not an element type", place, hint=hint)
        dims = shape if isinstance(shape, (tuple, list)) else (shape,)
        if kind is None and dims and isinstance(dims[-1], str) and dims[-1] in scalar_names():
            hint = f'the shape is one tuple, and the dtype follows it: `{name}((128,), "{dims[-1]}")`'
            place = nodes.get("shape", node)
            raise self.fail("T032", f"{dims[-1]!r} is an element type, and stands for a dimension", place, hint=hint)
        if isinstance(shape, TypeName) or (isinstance(shape, str) and isinstance(kind, (tuple, list, int))):
            before = "a, " if name == "T.match_buffer" else ""
            raise self.fail(
                "T032",
                f"the shape comes first in `{name}`, then the dtype",
                node,
                hint=f'{name}({before}(128,), "float32")',
            )

    def _call_op(self, entry: Op, node: ast.Call) -> Expr:
        node = self.by_place(entry, node)
        args, kwargs = self.arguments(node, self.open_value if entry.make is None and not node.keywords else None)
        return self.call_entry(entry, args, kwargs, node)

    def call_entry(self, entry: Op, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Expr:
        """A call of an operator of the table."""
        if entry.name == "undef" and self.theirs and not args and not kwargs:
            args = ["int32"]  # TVM knows no other
        if "dtype" in kwargs:
            kind = kwargs.pop("dtype")
            if entry.dtype_arg == "first":
                args = [kind, *args]
            elif entry.dtype_arg == "last":
                kwargs["dtype"] = _plain_type(kind)
            elif not self.theirs:
                return self._of_dtype(self.call_entry(entry, args, kwargs, node), kind, entry, node)
        if self.theirs and entry.dtype_arg == "first" and args and args[0] == "":
            args[0] = "void"
        if kwargs and entry.make is None:
            args = self.completed(entry, args, kwargs, node)
        if self.addresses:
            args = [BufferData(arg) if type(arg) is Buffer and arg in self.addresses else arg for arg in args]
        low, high = entry.arity
        if entry.make is None and not low <= len(args) <= high:
            name = called_name(entry, node)
            wanted = f"{low}" if low == high else f"{low} to {high}"
            nested = name in ("T.min", "T.max") and len(args) > 2
            raise self.fail(
                "T101",
                f"`{name}` takes {counted(wanted, 'argument')}, not {len(args)}",
                node,
                hint=f"nest it: `{name}({name}(a, b), c)`" if nested else f"it is: {entry.doc.rstrip('.')}",
            )
        if entry.make is None:
            return self.operator(entry, args, node, tuple(node.args))
        if self.theirs and entry.name in _PACKED:
            args = [array_of(arg) if isinstance(arg, Buffer) else arg for arg in args]
        elif self.theirs and entry.name in FOREIGN:  # its lowered kernels name a buffer where they mean `A.data`
            args = [BufferData(arg) if type(arg) is Buffer else arg for arg in args]
        if self.theirs and entry.name == "address_of":
            args = [first_element(arg) if isinstance(arg, Buffer) else arg for arg in args]
        args = [self.element(arg, node) for arg in args]
        for at, arg in enumerate(args):
            if type(arg) is BufferLoad or not isinstance(arg, Buffer):
                continue
            raise self.whole(
                arg,
                node.args[min(at, len(node.args) - 1)] if node.args else node,
                f"pass an element `{arg.name}[...]`, or its address `{arg.name}.data`",
            )
        if entry.dtype_arg is not None:
            args = [_plain_type(arg) for arg in args]
        if entry.name == "cast" and len(args) == 1 and not kwargs:
            raise self.fail("T032", "`T.cast` takes a value and a dtype", node, hint='T.cast(x, "float32")')
        if entry.name == "cast" and len(args) == 2 and isinstance(args[0], (str, TypeName)):
            turned = 'T.cast(x, "float32")'
            if len(node.args) == 2:
                turned = f"T.cast({', '.join(self.span(arg).text for arg in reversed(node.args))})"
            raise self.fail("T032", "`T.cast` takes the value first, then the dtype", node, hint=turned)
        try:
            return self.placed(entry(*args, **kwargs), node)
        except DiagnosticError as problem:
            raise self.located(problem, dtype_place(problem, node, args, kwargs)) from None
        except TypeError as problem:
            raise self.fail(
                "T032", f"wrong arguments for `T.{entry.name}`: {argument_error(problem)}", node, hint=entry.doc
            ) from None

    def _of_dtype(self, made: Expr, kind: Any, entry: Op, node: ast.Call) -> Expr:
        """A result that its call says the dtype of, `T.exp(x, dtype="float32")`, where it has that."""
        wanted = self.dtype_of(kind, node)
        if made.dtype is not wanted:
            hint = f'leave `dtype` out, or cast the result: `.astype("{wanted}")`'
            raise self.fail("T108", f"`T.{entry.name}` of these gives {made.dtype}, not {wanted}", node, hint=hint)
        return made

    def _call_type(self, name: TypeName, node: ast.Call) -> Any:
        args, kwargs = self.arguments(node)
        place = node.args[0] if node.args else node
        if name.dtype is VOID:
            raise self.fail("T109", "void has no values", node)
        if self.theirs and type(kwargs.get("is_size_var")) is bool:
            del kwargs["is_size_var"]  # that a variable is not negative, which nothing here asks
        if not args and not kwargs and not name.dtype.is_handle:
            return Var("", name.dtype, span=self.span(node))
        if name.dtype.is_handle:
            return self._handle(name, args, kwargs, node)
        if len(args) != 1 or kwargs:
            raise self.fail("T032", f"`T.{name.name}` takes one value", node)
        value = self.element(args[0], place)
        if isinstance(value, Buffer):
            raise self.whole(value, place)
        if isinstance(value, str):
            if not name.dtype.is_float:
                raise self.fail("T032", f"`T.{name.name}` takes a number, not a string", place)
            try:
                value = special_float(value, name.dtype)
            except ValueError as problem:
                raise self.fail("T032", str(problem), place) from None
        if is_numpy_scalar(value):
            value = value.item()
        try:
            if isinstance(value, (int, float)) and not name.dtype.is_vector:
                made: Expr = (tvm_literal if self.theirs else literal)(value, name.dtype)
            else:
                made = OPS["cast"](value, name.dtype)
        except ValueError as problem:
            hint = literal_hint(value, name.dtype) if name.dtype.is_float else None
            raise self.fail("T103", str(problem), place, hint=hint) from None
        except DiagnosticError as problem:
            raise self.located(problem, node) from None
        return self.placed(made, node)

    def _handle(self, name: TypeName, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> TypeName:
        """`T.handle(dtype, storage_scope)`: a pointer, typed where an element type stands there."""
        given = {**dict(zip(("dtype", "storage_scope"), args, strict=False)), **kwargs}
        if len(given) < len(args) + len(kwargs) or not {"dtype", "storage_scope", "scope"}.issuperset(given):
            hint = 'such as `T.handle("float32")` or `T.handle("float32", "shared")`'
            raise self.fail("T032", "`T.handle` takes an element type and a scope", node, hint=hint)
        nodes = dict(zip(("dtype", "storage_scope"), node.args, strict=False))
        nodes.update({str(keyword.arg): keyword.value for keyword in node.keywords})
        for key in ("storage_scope", "scope"):
            if key in given and not isinstance(given[key], str):
                raise self.fail(
                    "T032", "the scope of memory is a string", nodes.get(key, node), hint='such as "global"'
                )
            advice = scope_advice(given[key]) if given.get(key) else None
            if advice is not None:
                raise self.fail("T205", f'"{given[key]}" is no scope of memory', nodes.get(key, node), hint=advice)
        if given.get("dtype") is not None:
            given["dtype"] = self.dtype_of(given["dtype"], nodes.get("dtype", node))
        return name(given.pop("dtype", None), **given)

    def _call_method(self, method: Method, node: ast.Call) -> Expr:
        args, kwargs = self.arguments(node)
        try:
            if method.name == "astype":
                return self.placed(OPS["cast"](method.owner, *map(_plain_type, args), **kwargs), node)
        except TypeError:
            raise self.fail("T032", "`astype` takes one dtype", node) from None
        except DiagnosticError as problem:
            raise self.located(problem, node.args[0] if node.args else node) from None
        if method.name in ("vstore", "view"):
            raise self.fail("T022", f"`{method.name}` is a statement, not a value", node)
        if method.name in METHODS:
            try:
                return METHODS[method.name](method.owner, *args, **kwargs)
            except TypeError as problem:
                raise self.fail(
                    "T032", f"wrong arguments for `{method.name}`: {argument_error(problem)}", node
                ) from None
            except DiagnosticError as problem:
                raise self.located(problem, node) from None
        if self.theirs and args:  # `A.vload([i], "float32x4")` says how many lanes; a single index stands alone too
            kind = args.pop(1) if len(args) == 2 else kwargs.pop("dtype", None)
            indices = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
            args = [indices if kind is None else self.widened(indices, self.dtype_of(kind, node).lanes)]
        indices, predicate = self.vector_access(method.owner, args, kwargs, node)
        return BufferLoad(method.owner, indices, predicate, span=self.span(node))

    def widened(self, indices: Any, lanes: int) -> Any:
        """Indices of a vector of so many lanes from that of its first element."""
        if lanes == 1 or not isinstance(indices, (list, tuple)) or not indices:
            return indices
        last = as_expr(indices[-1])
        return indices if last.dtype.is_vector else [*indices[:-1], Ramp(last, const(1, last.dtype), lanes)]

    def vector_access(
        self, buffer: Buffer, args: list[Any], kwargs: dict[str, Any], node: ast.Call
    ) -> tuple[tuple[Expr, ...], Expr | None]:
        """The indices and predicate of `A.vload(...)` and `A.vstore(...)`."""
        predicate = kwargs.pop("predicate", None)
        if kwargs or len(args) != 1 or not isinstance(args[0], (list, tuple)):
            raise self.fail(
                "T032", "write `A.vload([indices], predicate=)` or `A.vstore([indices], value, predicate=)`", node
            )
        if len(args[0]) != len(buffer.shape):
            has, given = counted(len(buffer.shape), "dimension"), counted(len(args[0]), "index")
            raise self.fail("T111", f"`{buffer.name}` has {has}, but {given} stand here", node)
        indices = tuple(as_expr(item) for item in args[0])
        if predicate is None:
            return indices, None
        test = as_expr(predicate)
        kind = indices[-1].dtype if indices else test.dtype
        if kind.is_vector and test.dtype is BOOL:
            test = Broadcast(test, kind.lanes, kind.scalable, span=test.span)  # one for all lanes
        return indices, test

    def _call_function(self, function: FunctionRef, node: ast.Call) -> Expr:
        if node.keywords:
            raise self.fail("T032", "calls between tensor functions take no keyword arguments", node)
        if function.graph is not None:
            message = f"`{function.name}` is a graph function, which a tensor function does not call"
            raise self.fail("T022", message, node, hint="call both from a graph function")
        if function.signature is None:
            raise self.fail("T021", "a call of a function of the module cannot stand in an annotation", node)
        params, returns = function.signature
        if len(params) != len(node.args):
            wanted = counted(len(params), "argument")
            names = ", ".join(f"`{param.name}`" for param in params)
            raise self.fail(
                "T101",
                f"`{function.name}` takes {wanted}, not {len(node.args)}",
                node,
                hint=f"they are {names}" if names else None,
            )
        args: list[Any] = []
        for param, arg in zip(params, node.args, strict=True):
            if isinstance(param, Buffer):
                sliced = isinstance(arg, ast.Subscript)
                value: Any = self.region(arg) if sliced else self.value(arg)
                if not isinstance(value, (Buffer, BufferRegion)):
                    raise self.fail("T032", f"parameter `{param.name}` of `{function.name}` takes a buffer", arg)
                args.append(value)
            elif param.dtype.is_handle:
                self.refuse_elements(arg, param, function.name)
                value = self.value(arg)
                args.append(value if type(value) is Buffer else as_expr(value))  # whole: its shape gives dimensions
            else:
                args.append(self.converted(arg, param.dtype, f"the argument for `{param.name}`"))
        return CallFunction(function.name, tuple(args), returns, span=self.span(node))

    def refuse_elements(self, arg: ast.expr, param: Var, function: str) -> None:
        """Refuse elements of a buffer where an address is taken."""
        owner = self.value(arg.value) if isinstance(arg, ast.Subscript) else None
        if type(owner) is not Buffer or owner.dtype.is_handle:
            return
        assert isinstance(arg, ast.Subscript)
        parts = arg.slice.elts if isinstance(arg.slice, ast.Tuple) else [arg.slice]
        begins = [part.lower or ast.Constant(0) if isinstance(part, ast.Slice) else part for part in parts]
        first = f"{owner.name}[{', '.join(map(ast.unparse, begins))}]"
        raise self.fail(
            "T204",
            f"parameter `{param.name}` of `{function}` is {param.dtype}, not elements of `{owner.name}`",
            arg,
            hint=f"pass the address of the first, `T.address_of({first})`, or let the parameter be a `T.Buffer`",
        )

    def _ramp(self, node: ast.Call) -> Expr:
        base, stride, lanes = self.form_arguments(node, "ramp", ("base", "stride", "lanes"))
        first = as_expr(self.element(base, node))
        try:
            step = as_expr(self.element(stride, node), first.dtype)
        except DiagnosticError as problem:
            raise self.located(problem, argument_place(node, 1, "stride")) from None
        if step.dtype is not first.dtype:
            first, step = same_dtype(first, step)
        return Ramp(first, step, *self._lanes(lanes, node), span=self.span(node))

    def _broadcast(self, node: ast.Call) -> Expr:
        value, lanes = self.form_arguments(node, "broadcast", ("value", "lanes"))
        scalar = as_expr(self.element(value, node))
        if scalar.dtype is VOID:
            raise self.fail("T104", "void has no values", node)
        return Broadcast(scalar, *self._lanes(lanes, node), span=self.span(node))

    def _lanes(self, lanes: Any, node: ast.Call) -> tuple[int, bool]:
        """The number of lanes, and whether it is times vscale."""
        count = lanes.value if isinstance(lanes, Const) else lanes
        scalable = vscale_factor(count)
        if scalable is not None:
            if not 0 < scalable <= MAX_LANES:
                place = argument_place(node, -1, "lanes")
                raise self.fail("T032", f"the number of lanes must be vscale times 1 to {MAX_LANES}", place)
            return scalable, True
        if type(count) is not int or not 1 < count <= MAX_LANES:
            place = argument_place(node, -1, "lanes")
            raise self.fail("T032", f"the number of lanes must be an int of 2 to {MAX_LANES}", place)
        return count, False

    def form_arguments(self, node: ast.Call, name: str, names: tuple[str, ...]) -> list[Any]:
        """The values of a construct's arguments, by place or keyword, all of them required."""
        args, kwargs = self.arguments(node)
        for field in names[len(args) :]:
            if field not in kwargs:
                doc = getattr(vars(self.namespace).get(name), "__doc__", None)
                message = f"`T.{name}` takes {', '.join(names)}; `{field}` is missing"
                raise self.fail("T032", message, node, hint=doc)
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
        of = self.dtype_of(kind, [*node.args, *(keyword.value for keyword in node.keywords)][0])
        try:
            return self.placed(limit(name, of), node)
        except ValueError as problem:
            raise self.fail("T109", str(problem), node) from None

    def _var(self, node: ast.Call) -> Var:
        if isinstance(node.func, ast.Name):  # `n = TypeVar("n")`
            return Var("", INT64)
        (kind,) = self.form_arguments(node, "var", ("dtype",))
        return Var("", self.dtype_of(kind, node))

    def dtype_of(self, value: Any, node: ast.AST) -> DType:
        """A dtype given as a string, a name of T or a numpy dtype."""
        value = _plain_type(value)
        try:
            return dtype(value)
        except ValueError as problem:
            raise self.fail("T109", str(problem).split(";")[0], node, hint=advice(value)) from None


def _plain_type(value: Any) -> Any:
    """What stands for a dtype as one: T's own, of which pointers say more than their name, and Python's int, float and
    bool, of which the parser has bounded ones in their places."""
    return value.dtype if isinstance(value, TypeName) else _PYTHON_TYPES.get(id(value), value)


_PYTHON_TYPES = {id(BUILTINS[kind.__name__]): kind for kind in (int, float, bool)}
_VALUE_FORMS: dict[str, Callable[[Any, ast.Call], Any]] = {
    "ramp": CallLowering._ramp,
    "broadcast": CallLowering._broadcast,
    "let": CallLowering._let,
    "min_value": CallLowering._limit,
    "max_value": CallLowering._limit,
    "infinity": CallLowering._limit,
    "var": CallLowering._var,
}
CallLowering.rules = {**PythonCallLowering.rules, ast.Call: CallLowering._call}
