"""A model's nodes become bindings of one graph function.

Tensors keep their names (made identifiers), so that the printed function reads like the model. What is computed of
shapes becomes expressions of symbolic dimensions at once, and never a tensor, unless a tensor is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tirscript.ir.check import public
from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, error, suggest
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.graph import (
    Dataflow,
    GraphBind,
    GraphConst,
    GraphExpr,
    GraphFunc,
    GraphType,
    GraphVar,
    MatchCast,
    ShapeExpr,
    TensorType,
    TupleExpr,
    TupleType,
)
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.module import Module
from tirscript.ir.stmt import Stmt
from tirscript.ir.words import identifier

OLDEST, NEWEST = 7, 26  # versions of the operators
MOST = 64  # elements of a constant that may be a shape
_NAME = re.compile(r"\W+")


class Ints(Struct, frozen=True, eq=False):
    """A tensor of integers of which each is known as an expression: a shape, or a part of one. `scalar` has no axis."""

    values: tuple[Expr, ...]
    dtype: DType
    scalar: bool = False


@public
def from_onnx(
    model: Any,
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    name: str = "Model",
    keep_params: bool = False,
) -> Module:
    """The module of an ONNX model: a path, its bytes, or an `onnx.ModelProto`. Its function is `main`.

    `shapes` are the shapes of inputs, by name, with numbers or names of symbolic dimensions; those that the model says
    stay where it has none. With `keep_params` the weights that the model computes with are parameters of `main`, behind
    its inputs, for `bind_params(module, onnx_params(model))` or other weights. Raises DiagnosticError for an operator
    that is not known, with the node it is at, and for a file that is no model.
    """
    return Importer(_proto(model), dict(shapes or {}), keep_params).module(name)


@public
def onnx_params(model: Any) -> dict[str, ConstantTensor]:
    """The weights of an ONNX model by their names in it; the model is what `from_onnx` takes."""
    return Importer(_proto(model), {}).read_weights()


def _proto(model: Any) -> Any:
    """The model as an `onnx.ModelProto`."""
    try:
        import onnx
    except ImportError:
        raise DiagnosticError(
            [error("T402", "models are read by the package onnx", hint="pip install tirscript[onnx]")]
        ) from None
    return model if isinstance(model, onnx.ModelProto) else _read(model)


def _read(model: Any) -> Any:
    import onnx
    from google.protobuf.message import DecodeError

    try:
        if isinstance(model, (bytes, bytearray)):
            found = onnx.load_model_from_string(bytes(model))
        elif isinstance(model, (str, os.PathLike)):
            found = onnx.load(model)
        else:
            raise TypeError(f"from_onnx takes a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    except DecodeError:
        raise _wrong("the file is no ONNX model, or not all of one") from None
    except (OSError, onnx.checker.ValidationError) as problem:
        raise _wrong(f"the model cannot be read: {problem}") from None
    if not found.graph.node and not found.graph.output:
        raise _wrong("the file is no ONNX model, or not all of one")
    return found


def _wrong(message: str, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([error("T402", message, hint=hint)])


class Importer:
    """The state of one import: what the model's tensors are so far, and the bindings made."""

    def __init__(self, model: Any, shapes: dict[str, Sequence[int | str]], keep_params: bool = False) -> None:
        self.graph = model.graph
        self.kept = {tensor.name for tensor in self.graph.initializer} if keep_params else frozenset[str]()
        self.params: list[GraphVar] = []
        versions = {entry.domain: entry.version for entry in model.opset_import}
        self.opset = versions.get("", versions.get("ai.onnx", 0))
        if not OLDEST <= self.opset <= NEWEST:
            raise _wrong(
                f"the model has version {self.opset} of the operators; {OLDEST} to {NEWEST} are known",
                "convert it with `onnx.version_converter`",
            )
        self.shapes = shapes
        self.values: dict[str, GraphExpr] = {}
        self.ints: dict[str, Ints] = {}
        self.weights: dict[str, ConstantTensor] = {}
        self.body: list[Stmt] = []
        self.symbols: dict[str, Var] = {}
        self.taken: set[str] = set()

    def module(self, name: str) -> Module:
        self.read_weights()
        self.params = [self.parameter(one) for one in self.graph.input if one.name not in self.weights]
        left = [given for given in self.shapes if given not in {one.name for one in self.graph.input}]
        if left:
            names = [one.name for one in self.graph.input]
            near = suggest(left[0], names)
            raise _wrong(f"the model has no input `{left[0]}`", f"did you mean `{near}`?" if near else ", ".join(names))
        for node in self.graph.node:
            self.node(node)
        outputs = tuple(self.tensor(one.name) for one in self.graph.output)
        outs = tuple(one if type(one) is GraphVar else self.emit(one, "out") for one in outputs)
        inside = tuple(dict.fromkeys(one for one in outs if type(one) is GraphVar and one not in self.params))
        value: GraphExpr = outs[0] if len(outs) == 1 else TupleExpr(outs)
        result: GraphType = type_of(outs[0]) if len(outs) == 1 else TupleType(tuple(map(type_of, outs)))
        body = (Dataflow(tuple(self.body), inside),) if self.body else ()
        return Module((GraphFunc("main", tuple(self.params), body, value, result),), name=name)

    def read_weights(self) -> dict[str, ConstantTensor]:
        """Take the tensors that the model holds."""
        from onnx import numpy_helper

        for tensor in self.graph.initializer:
            self.keep(tensor.name, self.array(tensor, numpy_helper))
        if self.graph.sparse_initializer:
            raise _wrong("the model has sparse constants, which are not supported")
        return self.weights

    # names

    def name(self, name: str) -> str:
        """An identifier like the name of a tensor, which no other one has."""
        base = identifier(name)
        made, number = base, 0
        while made in self.taken:
            number += 1
            made = f"{base}_{number}"
        self.taken.add(made)
        return made

    def dimension(self, value: int | str, default: str) -> Expr:
        """A dimension: a number, or the variable of a name."""
        if isinstance(value, int) and value >= 0:
            return dims.dim(value)
        word = _NAME.sub("_", str(value) if isinstance(value, str) and value else default).strip("_") or "n"
        word = f"n{word}" if word[0].isdigit() else word
        if word not in self.symbols:
            self.symbols[word] = Var(word, dtype("int64"))
            self.taken.add(word)
        return self.symbols[word]

    def parameter(self, info: Any) -> GraphVar:
        kind = info.type.tensor_type
        if not info.type.HasField("tensor_type"):
            raise _wrong(f"the input `{info.name}` is no tensor")
        if info.name in self.shapes:
            given: list[int | str] = list(self.shapes[info.name])
        elif kind.HasField("shape"):
            given = [one.dim_value if one.HasField("dim_value") else one.dim_param for one in kind.shape.dim]
        else:
            raise _wrong(
                f"the shape of the input `{info.name}` is not known", f"say it: `shapes={{{info.name!r}: (1, 8)}}`"
            )
        shape = tuple(self.dimension(one, f"{info.name}_{axis}") for axis, one in enumerate(given))
        var = GraphVar(self.name(info.name), TensorType(shape, self.dtype(kind.elem_type, f"the input `{info.name}`")))
        self.values[info.name] = var
        return var

    def dtype(self, code: int, what: str) -> DType:
        """The dtype that ONNX has a number for."""
        import onnx

        word = onnx.TensorProto.DataType.Name(code).lower()
        known = _DTYPES.get(word)
        if known is None:
            raise _wrong(f"{what} is of the type {word}, which is not supported")
        return dtype(known)

    # constants

    def array(self, tensor: Any, helper: Any) -> Any:
        try:
            return helper.to_array(tensor)
        except Exception as problem:  # external files that are missing, data of the wrong size
            raise _wrong(f"the data of `{tensor.name}` cannot be read: {problem}") from None

    def keep(self, name: str, array: Any) -> None:
        """Take an array as the tensor of that name."""
        self.weights[name] = data = constant(array)
        if data.dtype.is_int and data.ndim <= 1 and data.size <= MOST:
            numbers = [int(one) for one in array.reshape(-1)]
            self.ints[name] = Ints(tuple(map(dims.dim, numbers)), data.dtype, data.ndim == 0)

    # values

    def tensor(self, name: str) -> GraphExpr:
        """The value of a tensor of the model, as a leaf."""
        found = self.values.get(name)
        if found is not None:
            return found
        data = self.weights.get(name)
        if data is not None and name in self.kept:
            var = GraphVar(self.name(name), TensorType(tuple(map(dims.dim, data.shape)), data.dtype))
            self.params.append(var)
            self.values[name] = var
        elif data is not None:
            value = GraphConst(data)
            self.values[name] = value if data.ndim == 0 else self.emit(value, name)
        elif name in self.ints:
            self.values[name] = self.of_ints(self.ints[name], name)
        else:
            raise _wrong(f"the model uses `{name}` before anything gives it")
        return self.values[name]

    def of_ints(self, ints: Ints, name: str) -> GraphExpr:
        """Known integers as a tensor."""
        if all(type(one) is Const for one in ints.values):
            import numpy as np

            numbers = np.array([int(one.value) for one in ints.values if type(one) is Const], str(ints.dtype))
            return self.emit(GraphConst(constant(numbers.reshape(() if ints.scalar else -1))), name)
        value = self.op("shape_to_tensor", self.emit(ShapeExpr(ints.values), "shape"))
        if ints.scalar:
            value = self.op("reshape", value, ())
        return value if str(ints.dtype) == "int64" else self.op("astype", value, str(ints.dtype))

    def op(self, op: str, *args: Any, name: str = "", **attrs: Any) -> GraphExpr:
        """A binding of an operator's call; its variable."""
        return self.emit(GRAPH_OPS[op](*args, **attrs), name or op.rpartition(".")[2])

    def emit(self, value: GraphExpr, name: str) -> GraphExpr:
        """A binding of a value; its variable."""
        var = GraphVar(self.name(name), type_of(value))
        self.body.append(GraphBind(var, value))
        return var

    def match_cast(self, value: GraphExpr, kind: GraphType, name: str) -> GraphExpr:
        """A binding of a value whose type is checked when the model runs."""
        var = GraphVar(self.name(name), kind)
        self.body.append(MatchCast(var, value, kind))
        return var

    # nodes

    def node(self, proto: Any) -> None:
        """One node: known integers where its inputs are, else the rule of its operator."""
        from .node import Node
        from .operators import OPERATORS
        from .shapes import INTEGERS

        what = f"`{proto.name or (proto.output[0] if proto.output else '?')}` ({proto.op_type})"
        ours = proto.domain in ("", "ai.onnx")
        entry = OPERATORS.get(proto.op_type) if ours else None
        rule = INTEGERS.get(proto.op_type) if ours else None
        if entry is None and rule is None:
            full = proto.op_type if ours else f"{proto.domain}.{proto.op_type}"
            near = suggest(proto.op_type, (*OPERATORS, *INTEGERS))
            hint = f"near to it is `{near}`, which is known" if near else "rewrite the model without it"
            raise _wrong(f"the operator `{full}` of the node {what} is not supported", hint)
        node = Node(self, proto, what)
        try:
            ints = None if rule is None else rule(node)
            if ints is not None:
                self.ints[proto.output[0]] = ints
                return
            if entry is None:
                raise node.wrong("what it gives depends on values that are known only when the model runs")
            found = entry(node)
        except DiagnosticError as problem:
            raise DiagnosticError(_at(one, what) for one in problem.diagnostics) from problem.__cause__
        results = found if isinstance(found, tuple) else (found,)
        for name, result in zip(proto.output, results, strict=False):
            if name:
                self.values[name] = result if type(result) in (GraphVar, GraphConst) else self.emit(result, name)
        lost = [name for name in proto.output[len(results) :] if name]
        if lost:
            raise _wrong(f"the output `{lost[0]}` of the node {what} is not supported")


def _at(found: Diagnostic, what: str) -> Diagnostic:
    from msgspec import structs

    note = f"at the node {what}"
    return found if note in found.notes else structs.replace(found, notes=(*found.notes, note))


_DTYPES = {
    "float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16",
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "bool": "bool",
    "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2",
}  # fmt: skip

__all__ = ["Importer", "Ints", "from_onnx"]
