"""Constructs of the graph language that are values, and what calls of tensor functions leave to be found out."""

from __future__ import annotations

import ast
from typing import Any

from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.dtype import FLOAT32, VOID
from tirscript.ir.expr import Const, Expr
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
    CallableType,
    DeviceValue,
    DTypeValue,
    ExternFunction,
    FunctionCall,
    FunctionRef,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    PrimType,
    ShapeExpr,
    ShapeType,
    StringValue,
    TensorType,
    TupleExpr,
)
from tirscript.ir.graph_calls import Signature
from tirscript.ir.graph_ops import GraphOp
from tirscript.ir.graph_ops.calls import several
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.graph_types import conflict
from tirscript.ir.words import counted

from .graph_call import GraphCallLowering
from .graph_expr import NUMBERS
from .graph_marks import Matched, plain_value
from .graph_names import DEVICE_KINDS
from .python import is_numpy_scalar

_NO_NUMBERS = ("inf", "-inf", "nan")


# names of arguments in text of TVM's dialect before 2025
_OLDER_FIELDS = {"device": {"dev_type": "device_type", "dev_id": "index"}, "dist.const": {"struct_info": "ty"}}


class GraphFormLowering(GraphCallLowering):
    """Lowers constructs."""

    def form(self, node: ast.Call, name: str, fields: tuple[str, ...], needed: int) -> dict[str, Any]:
        """The arguments of a construct by name."""
        args, kwargs = self.arguments(node)
        if len(args) > len(fields):
            raise self.fail(
                "T101", f"`G.{name}` takes at most {counted(len(fields), 'argument')}, not {len(args)}", node
            )
        given = dict(zip(fields, args, strict=False))
        older = _OLDER_FIELDS.get(name, {}) if self.theirs else {}
        for word, value in kwargs.items():
            key = older.get(word, word)
            if key not in fields or key in given:
                what = "is given twice" if key in given else "is no argument"
                hint = f"they are {', '.join(fields)}"
                raise self.fail("T032", f"`{key}` {what} of `G.{name}`", node, hint=hint)
            given[key] = value
        for field in fields[:needed]:
            if field not in given:
                raise self.fail("T101", f"`G.{name}` needs `{field}`", node, hint=self.doc(name))
        return given

    def doc(self, name: str) -> str | None:
        """What a construct is for."""
        from .graph_names import construct_doc

        return construct_doc(name)

    def _const(self, node: ast.Call) -> GraphExpr:
        given = self.form(node, "const", ("value", "dtype"), 1)
        return self._constant_of(given["value"], given.get("dtype"), node)

    def _constant_of(self, given: Any, kind: Any, node: ast.Call) -> GraphConst:
        """A constant of what a program gives as one, of a dtype that it may say."""
        value = plain_value(self.scalar(given))
        named = self.lookup(node.args[0].id) if node.args and isinstance(node.args[0], ast.Name) else None
        if is_numpy_scalar(named):
            value = named  # with its dtype, also where names are plain numbers
        if isinstance(value, GraphConst):
            value = value.data
        if isinstance(value, GraphExpr) or (isinstance(value, Expr) and type(value) is not Const):
            raise self.fail("T114", "a constant is a number, an array or lists of numbers", node)
        elements = None if kind is None else self.dtype_of(kind, node)
        if (
            self.theirs
            and isinstance(value, str)
            and value in _NO_NUMBERS
            and elements is not None
            and elements.is_float
        ):
            value = float(value)  # TVM writes infinities and nan as strings
        if elements is not None and (elements.is_handle or elements is VOID or elements.is_vector):
            raise self.fail("T109", f"a constant holds numbers, not {elements}", node)
        if self.theirs and elements is not None and elements.is_float and type(value) is int:
            value = float(value)
        if isinstance(value, str):
            raise self.fail("T114", "a constant is a number, an array or lists of numbers, no string", node)
        if is_numpy_scalar(value) and elements is not None and str(value.dtype) != str(elements):
            value = value.item()  # a number as another, which becomes of the dtype that is declared
        return self.constant(value, elements, node)

    def _sharded_const(self, node: ast.Call) -> GraphExpr:
        """`G.dist.const(1.0, G.DTensor((), "float32", "mesh[0]", "R"))`"""
        given = self.form(node, "dist.const", ("value", "ty"), 2)
        kind = self.type_of_value(given["ty"], node)
        if type(kind) is not TensorType or kind.sharding is None or kind.dtype is None:
            hint = 'G.dist.const(1.0, G.DTensor((), "float32", "mesh[0]", "R"))'
            raise self.fail("T032", "the type of this constant is a `G.DTensor` with a dtype", node, hint=hint)
        made = self._constant_of(given["value"], kind.dtype, node)
        other = conflict(self.type_at_place(made, node), kind)
        if other is not None:
            raise self.fail(other[0], f"the constant {other[1]}", node)
        return made.replace(sharding=kind.sharding)

    def _constant_form(self, node: ast.Call) -> GraphExpr:
        value, _ = self.read_constant(node)
        return GraphConst(value, span=self.span(node))

    def _shape(self, node: ast.Call) -> GraphExpr:
        given = self.form(node, "shape", ("values",), 1)["values"]
        if type(given) is ShapeExpr:
            return given
        place = node.args[0] if node.args else node
        return ShapeExpr(self.dimensions(given, place), span=self.span(node))

    def _prim_value(self, node: ast.Call) -> GraphExpr:
        given = self.form(node, "prim_value", ("value",), 1)["value"]
        value = self.scalar(given)
        if self.theirs and isinstance(given, GraphVar) and type(self.type_at_place(given, node)) is PrimType:
            return given  # in TVM's text a variable that is a scalar is its own value
        if isinstance(value, GraphVar):
            return value
        if not isinstance(value, (Expr, bool, int, float)):
            raise self.fail("T104", "a scalar is a number or an expression", node)
        made = self.as_graph(value, node)
        return self.at(made, node)

    def _string(self, node: ast.Call) -> GraphExpr:
        value = self.form(node, "str", ("value",), 1)["value"]
        if not isinstance(value, str):
            raise self.fail("T032", "`G.str` takes a string", node)
        return StringValue(value, span=self.span(node))

    def _dtype(self, node: ast.Call) -> GraphExpr:
        given = self.form(node, "dtype", ("value",), 1)["value"]
        if given == "" and self.theirs:
            given = "void"  # of a tensor whose dtype is not known
        return DTypeValue(self.dtype_of(plain_value(given), node), span=self.span(node))

    def _device(self, node: ast.Call) -> GraphExpr:
        given = self.form(node, "device", ("device_type", "index"), 1)
        kind, index = given["device_type"], given.get("index", 0)
        if type(kind) is not int or type(index) is not int:
            raise self.fail("T032", "a device is two ints, its type and its number", node, hint=self.doc("device"))
        return DeviceValue(kind, index, span=self.span(node))

    def _device_of_kind(self, node: ast.Call) -> GraphExpr:
        """`R.cuda(1)` of TVM is `R.device(2, 1)`."""
        assert isinstance(node.func, ast.Attribute)
        index = self.form(node, node.func.attr, ("index",), 0).get("index", 0)
        if type(index) is not int:
            raise self.fail("T032", "the number of a device is an int", node, hint=f"`R.{node.func.attr}(0)`")
        return DeviceValue(DEVICE_KINDS[node.func.attr], index, span=self.span(node))

    def _vdevice(self, node: ast.Call) -> Any:
        """`R.vdevice("llvm", 0, "global")`, which an attribute may be."""
        from .module import global_info

        return global_info(self, node)

    def _tuple_form(self, node: ast.Call) -> GraphExpr:
        args, kwargs = self.arguments(node)
        if kwargs:
            raise self.fail("T032", "`G.tuple` takes the fields", node)
        if self.theirs:  # as arguments of operators, and unlike the fields of `(1, x)`, which are int64
            args = [self.number(arg, None, node) if type(arg) in NUMBERS else arg for arg in args]
        return TupleExpr(tuple(self.leaf(arg, node) for arg in args), span=self.span(node))

    def _item_form(self, node: ast.Call) -> GraphExpr:
        given = self.form(node, "TupleGetItem", ("tuple_value", "index"), 2)
        owner = self.as_graph(given["tuple_value"], node)
        if type(given["index"]) is not int:
            raise self.fail("T112", "the index of a tuple is an int known while parsing", node)
        return self.field_of(owner, self.type_at_place(owner, node), given["index"], node)

    def _extern(self, node: ast.Call) -> GraphExpr:
        given = self.form(node, "ExternFunc", ("name", "type"), 1)
        if not isinstance(given["name"], str):
            raise self.fail("T032", "the name of a function is a string", node)
        kind = None if given.get("type") is None else self.type_of_value(given["type"], node)
        if kind is not None and not isinstance(kind, CallableType):
            raise self.fail("T041", "the type of a function is `G.Callable(...)`", node)
        return ExternFunction(given["name"], kind, span=self.span(node))

    def _call_packed(self, node: ast.Call) -> GraphExpr:
        if not node.args or not isinstance(name := self.value(node.args[0]), str):
            what = "`G.call_packed` takes the name of a function first"
            raise self.fail("T032", what, node, hint=self.doc("call_packed"))
        function = ExternFunction(name, span=self.span(node.args[0]))
        rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
        return self.value_call(function, rest)

    def _match_cast(self, node: ast.Call) -> Matched:
        if len(node.args) != 2 or node.keywords:
            raise self.fail("T101", "`G.match_cast` takes a value and a type", node, hint=self.doc("match_cast"))
        value = self.leaf(self.value(node.args[0]), node.args[0])
        return Matched(value, self.type_at(node.args[1]))

    def _match_shape(self, node: ast.Call) -> Matched:
        """What Relax of 2022 wrote for `R.match_cast` to a tensor or shape of these dimensions."""
        self.old = True
        for part in node.args[1:2]:
            self.introduce(part)
        given = self.form(node, "match_shape", ("value", "shape"), 2)
        value = self.leaf(given["value"], node.args[0] if node.args else node)
        dims = self.dimensions(given["shape"], node.args[1] if len(node.args) > 1 else node)
        kind = self.type_at_place(value, node)
        if type(kind) is not TensorType:
            return Matched(value, ShapeType(dims))
        return Matched(value, TensorType(dims, kind.dtype, None, kind.vdevice))

    # -- calls of tensor functions

    def _packed_call(self, node: ast.Call) -> GraphExpr:
        """`R.call_tir_packed(cls.f, (x, y))` of TVM is `cls.f(x, y)`."""
        match node:
            case ast.Call(args=[function, ast.Tuple(elts=args) | ast.List(elts=args)], keywords=[]):
                return self.value(ast.copy_location(ast.Call(function, args, []), node))
        raise self.fail("T032", "`R.call_tir_packed` takes a function and a tuple of arguments", node)

    def _prepare_call(self, entry: GraphOp, args: list[Any], named: dict[str, Any], node: ast.expr) -> None:
        """Give `call_tir` and its kind a tuple of arguments, and result types where they are left to be found out."""
        names = [one.name for one in entry.parameters]
        for name, value in zip(names, args, strict=False):
            if name in named:
                raise self.fail("T032", f"`{entry.spelling}` is given `{name}` twice", node)
            named[name] = value
        del args[:]
        called = named.get(names[0])
        if isinstance(called, (str, StringValue)) and entry.name != "call_dps_packed":
            text = called if isinstance(called, str) else called.value
            module = self.module.name if self.module is not None else "cls"
            raise self.fail(
                "T032",
                f"`{entry.spelling}` takes a function of the module, not a name",
                node.args[0] if isinstance(node, ast.Call) and node.args else node,
                hint=f"`{module}.{text}`, without quotes; a library's function is called by `G.call_dps_packed`",
            )
        if "args" in named:
            given = several(named)["args"]
            if type(given) is not TupleExpr:
                given = TupleExpr(tuple(self.leaf(one, node) for one in given))
            named["args"] = given
        lone = self.scalar(named.get("tir_vars"))
        if isinstance(lone, (int, Expr)) and not isinstance(lone, GraphExpr):
            named["tir_vars"] = (lone,)
        kind = named.pop("dtype", None)
        told = named.get("out")
        if told is None:
            named["out"] = self._results(entry, named, node)
        elif not isinstance(told, GraphType) and not _types(told):
            named["out"] = self._of_shapes(named, told, kind, node)

    def _prepare_check(self, entry: GraphOp, args: list[Any], named: dict[str, Any], node: ast.expr) -> None:
        """`R.assert_op(c, "x: {}", x)` of TVM since 2026 is `R.assert_op(c, x, format="x: {}")`."""
        shown = args[1].fields if self.theirs and len(args) == 2 and type(args[1]) is TupleExpr else ()
        if shown and type(shown[0]) is StringValue and "format" not in named:
            named["format"] = shown[0].value
            args[1] = TupleExpr(shown[1:])

    def _callee(self, named: dict[str, Any]) -> PrimFunc | None:
        callee = named.get("func")
        found = self.known.body_of(callee.function) if type(callee) is FunctionRef else None
        return found if isinstance(found, PrimFunc) else None

    def calls_kernel(self, value: Any) -> bool:
        """Whether a value is what a tensor function that returns nothing gives: to TVM, the empty tuple."""
        function = value.function if type(value) is FunctionCall else None
        found = self.known.body_of(function.function) if type(function) is FunctionRef else None
        return isinstance(found, PrimFunc) and found.returns is None

    def _results(self, entry: GraphOp, named: dict[str, Any], node: ast.expr) -> tuple[GraphType, ...]:
        """The results of a call by the buffers of the function."""
        callee, given = named.get("func"), named.get("args")
        body = self.known.body_of(callee.function) if type(callee) is FunctionRef else None
        if isinstance(body, GraphFunc):
            message = f"`{body.name}` is a graph function, but `{entry.spelling}` calls tensor functions"
            raise self.fail("T022", message, node, hint=f"call it as `cls.{body.name}(...)`")
        func = self._callee(named)
        if func is None or type(given) is not TupleExpr:
            hint = 'out=G.Tensor((4, 4), "float32")'
            raise self.fail("T101", f"`{entry.spelling}` needs `out`, the types of its results", node, hint=hint)
        found: list[GraphType] = []
        try:
            kinds = tuple(type_of(one, self.known.module) for one in given.fields)
            if entry.name == "call_tir_inplace":
                places = named.get("inplace_indices", ())
                places = places if isinstance(places, (tuple, list)) else (places,)
                fresh = iter(Signature(func).results(kinds, self._tir_vars(named, node)))
                for place in places:
                    known = type(place) is int and 0 <= place < len(kinds)
                    found += [kinds[place]] if known else [next(fresh)]
            else:
                found = list(Signature(func).results(kinds, self._tir_vars(named, node)))
        except (DiagnosticError, StopIteration) as problem:
            if isinstance(problem, DiagnosticError):
                raise self.located(problem, node) from None
            found = []
        if not found and entry.name == "call_tir":
            message = f"`{func.name}` has no parameter for a result behind {counted(len(given.fields), 'argument')}"
            raise self.fail("T101", message, node, hint=Signature(func).order())
        if not found or not all(type(one) is TensorType and one.shape is not None for one in found):
            message = f"what `{func.name}` writes is not known from its arguments"
            hint = 'say it: `out=G.Tensor((4, 4), "float32")`'
            raise self.fail("T101", message, node, hint=hint)
        return tuple(found)

    def _tir_vars(self, named: dict[str, Any], node: ast.expr) -> tuple[Expr, ...]:
        given = named.get("tir_vars")
        if isinstance(given, ShapeExpr):
            return given.values
        if not isinstance(given, (tuple, list)):
            return ()
        keywords = node.keywords if isinstance(node, ast.Call) else []
        return self.dimensions(given, next((one.value for one in keywords if one.arg == "tir_vars"), node))

    def _of_shapes(self, named: dict[str, Any], told: Any, kind: Any, node: ast.expr) -> tuple[GraphType, ...]:
        """`(14,)`, or a list of shapes, as the types of results."""
        self.old = self.theirs
        several = isinstance(told, (tuple, list)) and bool(told) and isinstance(told[0], (tuple, list, ShapeExpr))
        shapes = told if several else [told]
        func = self._callee(named)
        outputs = [] if func is None else [buffer.dtype for buffer in func.param_buffers][-len(shapes) :]
        kinds = list(kind) if isinstance(kind, (tuple, list)) else [kind] * len(shapes)
        made: list[GraphType] = []
        for at, one in enumerate(shapes):
            values = one.values if isinstance(one, ShapeExpr) else self.dimensions(one, node)
            own = kinds[at] if at < len(kinds) else None
            if own is not None:
                elements = self.dtype_of(own, node)
            else:
                elements = outputs[at] if at < len(outputs) else self._first_dtype(named)
            made.append(TensorType(values, elements))
        return tuple(made)

    def _first_dtype(self, named: dict[str, Any]) -> Any:
        given = named.get("args")
        for one in given.fields if type(given) is TupleExpr else ():
            kind = type_of(one, self.known.module)
            if type(kind) is TensorType and kind.dtype is not None:
                return kind.dtype
        return FLOAT32


def _types(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and bool(value) and all(isinstance(one, GraphType) for one in value)


GraphFormLowering.form_values = {
    "const": GraphFormLowering._const,
    "constant": GraphFormLowering._constant_form,
    "dist.const": GraphFormLowering._sharded_const,
    "shape": GraphFormLowering._shape,
    "prim_value": GraphFormLowering._prim_value,
    "str": GraphFormLowering._string,
    "dtype": GraphFormLowering._dtype,
    "device": GraphFormLowering._device,
    "device_of_kind": GraphFormLowering._device_of_kind,
    "vdevice": GraphFormLowering._vdevice,
    "tuple": GraphFormLowering._tuple_form,
    "TupleGetItem": GraphFormLowering._item_form,
    "ExternFunc": GraphFormLowering._extern,
    "call_packed": GraphFormLowering._call_packed,
    "match_cast": GraphFormLowering._match_cast,
    "match_shape": GraphFormLowering._match_shape,
    "call_tir_packed": GraphFormLowering._packed_call,
}
GraphFormLowering.prepared = dict.fromkeys(
    ("call_tir", "call_tir_inplace", "call_tir_with_grad", "call_dps_packed"), GraphFormLowering._prepare_call
)
GraphFormLowering.prepared["assert_op"] = GraphFormLowering._prepare_check
