"""A model's nodes become bindings of one graph function.

Tensors keep their names (made identifiers), so that the printed function reads like the model. What is computed of
shapes becomes expressions of symbolic dimensions at once, and never a tensor, unless a tensor is asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from msgspec import Struct

from tirscript.ir.check import public
from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.diagnostic import Diagnostic, DiagnosticError, suggest
from tirscript.ir.dtype import DType, dtype
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import (
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
)
from tirscript.ir.graph_ops import GRAPH_OPS, dims
from tirscript.ir.graph_ops.infer import seen_from_outside, type_of
from tirscript.ir.module import Module
from tirscript.ir.rewrite import is_larger, substitute, walk
from tirscript.ir.stmt import Stmt
from tirscript.ir.words import counted, identifier

from .branches import branch, flows
from .kernel import Kernel
from .loops import loop, outputs_of, scan
from .model_file import NEWEST, OLDEST, model_of, newer, told_texts, wrong
from .optionals import OPTIONALS, Missing, tensor_type
from .sequences import SEQUENCES, Stacked

if TYPE_CHECKING:
    from .node import Node

MOST = 64  # elements of a constant that may be a shape
LONG = 48  # nodes of a dimension that gets a name
_INT64 = dtype("int64")
_NAME = re.compile(r"\W+")


class Ints(Struct, frozen=True, eq=False):
    """A tensor of whole numbers, each known as an expression: a shape, or a part of one. `scalar` has no axis."""

    values: tuple[Expr, ...]
    dtype: DType
    scalar: bool = False

    def fit(self) -> bool:
        """Whether those that are numbers are of the type: what overflows is computed as tensors are."""
        low, high = _INT64.int_range() if self.dtype.is_float else self.dtype.int_range()
        return all(type(one) is not Const or low <= one.value <= high for one in self.values)

    def array(self) -> Any | None:
        """Them as an array; None where one is not a number."""
        import numpy as np

        numbers = [int(one.value) for one in self.values if type(one) is Const]
        if len(numbers) < len(self.values):
            return None
        return np.array(numbers, str(self.dtype)).reshape(() if self.scalar else -1)


@public
def from_onnx(
    model: Any,
    *,
    shapes: Mapping[str, Sequence[SupportsIndex | str | None]] | None = None,
    values: Mapping[str, Any] | None = None,
    name: str = "Model",
    keep_params: bool = False,
) -> Module:
    """The module of an ONNX model: a path, its bytes, or an `onnx.ModelProto`. Its function is `main`.

    `shapes` are the shapes of inputs, by name, with numbers or names of symbolic dimensions; they take the place of
    what the model says, also of sizes that it fixes. Inputs that are not named keep theirs. `values` are arrays for
    inputs that are to be constants: a shape, an axis or a scale that the model leaves to its caller, and that decides
    what it computes; None is for an optional input that is not given. With `keep_params` the weights that the model
    computes with are parameters of `main`, behind its inputs, for other weights, or for
    `bind_params(module, onnx_params(model), strict=False)`: what only shapes are computed of is none of them.
    Functions, of the model or of the standard, are written out where no rule is for them; a branch whose condition is
    known is taken. Raises DiagnosticError for an operator that is not known, with the node it is at, and for a file
    that is no model.
    """
    with told_texts():
        return Importer(model_of(model), dict(shapes or {}), dict(values or {}), keep_params).module(name)


@public
def onnx_params(model: Any) -> dict[str, ConstantTensor]:
    """The weights of an ONNX model by their names in it; the model is what `from_onnx` takes."""
    with told_texts():
        return Importer(model_of(model)).read_weights()


class Importer:
    """The state of one import: what the model's tensors are so far, and the bindings made."""

    def __init__(
        self,
        model: Any,
        shapes: dict[str, Sequence[SupportsIndex | str | None]] | None = None,
        given: dict[str, Any] | None = None,
        keep_params: bool = False,
    ) -> None:
        versions = {entry.domain: entry.version for entry in model.opset_import}
        self.opset = versions.get("", versions.get("ai.onnx", NEWEST))
        if self.opset < OLDEST:
            model, self.opset = newer(model, self.opset), OLDEST
        if self.opset > NEWEST:
            raise wrong(f"the model has version {self.opset} of the operators; 1 to {NEWEST} are known")
        self.model = model
        self.graph = model.graph
        self.kept = {tensor.name for tensor in self.graph.initializer} if keep_params else frozenset[str]()
        self.params: list[GraphVar] = []
        self.shapes, self.given = shapes or {}, given or {}
        self.values: dict[str, GraphExpr] = {}
        self.ints: dict[str, Ints] = {}
        self.weights: dict[str, ConstantTensor] = {}
        self.packed: dict[str, str] = {}  # what integers of less than 8 bits are, which are bytes here
        self.partly: dict[str, tuple[Expr | None, ...]] = {}  # integers of a vector, some of which are known
        self.sequences: dict[str, tuple[tuple[Any, ...], ...] | Stacked | Missing] = {}  # what is known of each
        self.least: dict[Var, int] = {}  # what dimensions are at least, as a window fits in them
        self.body: list[Stmt] = []
        self.long: list[tuple[Expr, Var]] = []  # dimensions that are computed at length, and their names
        self.symbols: dict[str | tuple[str, int], Var] = {}
        self.taken: set[str] = set()
        self.kernels: dict[Kernel, str] = {}
        self.functions: list[PrimFunc | GraphFunc] = []
        self.rounds: list[GraphVar] = []  # the numbers of the rounds of the running loops around a node
        self.drawn: Counter[str] = Counter()  # how often random numbers were drawn from a seed

    def module(self, name: str) -> Module:
        from .expansion import nodes_of
        from .operators import OPERATORS
        from .shapes import INTEGERS

        self.read_weights()
        names = [one.name for one in self.graph.input]
        twice = next((one for one in names if names.count(one) > 1), None)
        if twice is not None:
            raise wrong(f"the model has two inputs `{twice}`")
        if not self.graph.output:
            raise wrong("the model has no output")
        for unknown in (one for one in (*self.shapes, *self.given) if one not in names):
            near = suggest(unknown, names)
            raise wrong(
                f"the model has no input `{unknown}`",
                f"did you mean `{near}`?" if near else f"its inputs are {', '.join(names)}",
            )
        for info in self.graph.input:
            if info.name in self.given and self.given[info.name] is None and info.type.HasField("optional_type"):
                self.sequences[info.name] = Missing()
            elif info.name in self.given:
                self.keep(info.name, self.value_of(info))
        known = self.weights.keys() | self.sequences.keys()
        self.params = [self.parameter(one) for one in self.graph.input if one.name not in known]
        self.nodes(self.once(nodes_of(self.model, {*OPERATORS, *INTEGERS, *CONTROL})))
        for one in self.graph.output:
            if one.name in self.packed:
                raise wrong(f"the output `{one.name}` is of the type {self.packed[one.name]}, which is not supported")
        outs = tuple(self.output(one.name) for one in self.graph.output)
        value: GraphExpr = outs[0] if len(outs) == 1 else TupleExpr(outs)
        leaves = [leaf for one in outs for leaf in (one.fields if type(one) is TupleExpr else (one,))]
        told = {id(one) for param in self.params for one in walk(param.type, Var)}
        result = seen_from_outside(type_of(value), told)  # without what the model computes, which no caller knows
        main = GraphFunc("main", tuple(self.params), flows(self.body, leaves), value, result)
        return Module((*self.functions, main), name=name)

    def output(self, name: str) -> GraphExpr:
        """What the model gives: a variable, or of a sequence the tuple of its tensors."""
        whole = self.sequences.get(name)
        if type(whole) is Stacked:
            hint = "`ConcatFromSequence` makes one tensor of it"
            raise wrong(f"the output `{name}` is a sequence whose length is known only when the model runs", hint)
        if type(whole) is tuple:
            parts = []
            for at, known in enumerate(whole):
                self.take(part := f"{name}_{at}", known)
                parts.append(self.output(part))
            return TupleExpr(tuple(parts))
        found = self.tensor(name)
        return found if type(found) is GraphVar else self.emit(found, "out")

    def once(self, nodes: Iterable[Any]) -> Iterator[Any]:
        """The nodes of the model; refused where two of them, or one and an input, give one tensor."""
        given = {one.name for one in (*self.graph.input, *self.graph.initializer)}
        for node in nodes:
            for name in filter(None, node.output):
                if name in given:
                    raise wrong(f"the model gives `{name}` twice")
                given.add(name)
            yield node

    def read_weights(self) -> dict[str, ConstantTensor]:
        """Take the tensors that the model holds."""
        from onnx import numpy_helper

        for tensor in self.graph.initializer:
            self.keep(tensor.name, self.array(tensor, numpy_helper))
        if self.graph.sparse_initializer:
            raise wrong("the model has sparse constants, which are not supported")
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

    def dimension(self, value: Any, unnamed: tuple[str, int]) -> Expr:
        """A dimension: a number, or the variable of a name; each that has no name is one of its own."""
        if isinstance(value, int) and value >= 0:
            return dims.dim(value)
        key = value if isinstance(value, str) and value else unnamed
        if key not in self.symbols:
            word = _NAME.sub("_", key if isinstance(key, str) else f"{key[0]}_{key[1]}").strip("_") or "n"
            # names that are alike as identifiers, such as `n + 1` and `n - 1`, are others
            self.symbols[key] = Var(self.name(f"n{word}" if word[0].isdigit() else word), _INT64)
        return self.symbols[key]

    def told(self, info: Any) -> list[int | str | None]:
        """The shape that the caller says for an input."""
        said = self.shapes[info.name]
        if isinstance(said, str) or not isinstance(said, Sequence):
            raise wrong(f"`shapes` have {said!r} for the input `{info.name}`, which is no list of dimensions")
        kind = tensor_type(info)
        if kind.HasField("shape") and len(said) != len(kind.shape.dim):
            have = f"`shapes` have {counted(len(said), 'axis')}"
            raise wrong(f"{have} for the input `{info.name}`, which has {len(kind.shape.dim)}")
        found: list[int | str | None] = []
        for one in said:
            if one is not None and not isinstance(one, str):
                try:
                    one = index(one)
                except TypeError:
                    hint = "a dimension is a number, a name, or None"
                    raise wrong(f"`shapes` have {one!r} in that of the input `{info.name}`", hint) from None
            found.append(one)
        return found

    def size(self, name: str) -> Var:
        """A size that the model computes, under a name that no other one has."""
        return Var(self.name(name), _INT64)

    def fits(self, size: Expr, least: int) -> None:
        """Note that a dimension is at least so much, as a window fits in it."""
        if type(size) is Var:
            self.least[size] = max(least, self.least.get(size, 0))

    def not_negative(self, value: Expr) -> bool:
        """Whether a value made of dimensions is 0 or more, with what is known of them."""
        known = {var: dims.add(var, least) for var, least in self.least.items()}
        return dims.not_negative(substitute(value, known) if known else value)

    def parameter(self, info: Any) -> GraphVar:
        kind = tensor_type(info)
        if info.name in self.shapes:
            given = self.told(info)
        elif kind.HasField("shape"):
            given = [one.dim_value if one.HasField("dim_value") else one.dim_param for one in kind.shape.dim]
        else:
            raise wrong(
                f"the shape of the input `{info.name}` is not known", f"say it: `shapes={{{info.name!r}: (1, 8)}}`"
            )
        shape = tuple(self.dimension(one, (info.name, axis)) for axis, one in enumerate(given))
        var = GraphVar(self.name(info.name), TensorType(shape, self.dtype(kind.elem_type, f"the input `{info.name}`")))
        self.values[info.name] = var
        return var

    def value_of(self, info: Any) -> Any:
        """The array that the caller has for an input, which must be of its type and rank."""
        import numpy as np

        if self.given[info.name] is None:
            raise wrong(f"`values` have None for the input `{info.name}`, which is not optional")
        kind = tensor_type(info)
        wanted = self.dtype(kind.elem_type, f"the input `{info.name}`")
        data = constant(np.asarray(self.given[info.name]))
        if data.dtype is not wanted:
            raise wrong(f"`values` have {data.dtype} for the input `{info.name}`, which is {wanted}")
        if kind.HasField("shape") and data.ndim != len(kind.shape.dim):
            have = f"`values` have {counted(data.ndim, 'axis')}"
            raise wrong(f"{have} for the input `{info.name}`, which has {len(kind.shape.dim)}")
        return data.array

    def dtype(self, code: int, what: str) -> DType:
        """The dtype that ONNX has a number for."""
        import onnx

        if code not in onnx.TensorProto.DataType.values():
            raise wrong(f"{what} is of the type {code}, which ONNX does not have")
        word = onnx.TensorProto.DataType.Name(code).lower()
        known = _DTYPES.get(word)
        if known is None:
            raise wrong(f"{what} is of the type {word}, which is not supported")
        return dtype(known)

    # constants

    def array(self, tensor: Any, helper: Any) -> Any:
        try:
            return helper.to_array(tensor)
        except Exception as problem:  # external files that are missing, data of the wrong size
            hint = "data in files of their own are found by the path of the model" if tensor.external_data else None
            raise wrong(f"the data of `{tensor.name}` cannot be read: {problem}", hint) from None

    def keep(self, name: str, array: Any) -> None:
        """Take an array as the tensor of that name; integers of less than 8 bits become bytes."""
        self.take(name, ())
        if array.dtype.name in PACKED:
            self.packed[name] = array.dtype.name
            array = array.astype(PACKED[array.dtype.name])
        try:
            self.weights[name] = data = constant(array)
        except DiagnosticError:
            raise wrong(f"the constant `{name}` is of the type {array.dtype.name}, which is not supported") from None
        if data.dtype.is_int and data.ndim <= 1 and data.size <= MOST:
            numbers = [int(one) for one in array.reshape(-1)]
            if max(numbers, default=0) <= _INT64.int_range()[1]:  # dimensions are int64
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
        elif data is not None and not data.size:  # which a list of its elements does not say the shape of
            shape = ShapeExpr(tuple(map(dims.dim, data.shape)))
            self.values[name] = self.op("zeros", shape, str(data.dtype), name=name)
        elif data is not None:
            value = GraphConst(data)
            self.values[name] = value if data.ndim == 0 else self.emit(value, name)
        elif name in self.ints:
            self.values[name] = self.of_ints(self.ints[name], name)
        elif name in self.sequences:
            what = "nothing" if type(self.sequences[name]) is Missing else "a sequence of tensors"
            raise wrong(f"`{name}` is {what}, which is not supported here")
        else:
            raise wrong(f"the model uses `{name}` before anything gives it")
        return self.values[name]

    def of_ints(self, ints: Ints, name: str) -> GraphExpr:
        """Known integers as a tensor."""
        data = ints.array()
        if data is not None:
            return self.emit(GraphConst(constant(data)), name)
        below = [min(dims.number(one) or 0, 0) for one in ints.values]  # what stands for a size, and is none
        sizes = (dims.dim(0) if less else one for less, one in zip(below, ints.values, strict=True))
        value = self.op("shape_to_tensor", self.emit(ShapeExpr(tuple(sizes)), "shape"))
        if any(below):
            value = self.op("add", value, GraphConst(constant(below, "int64")))
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
        kind = self.short(var.type, name)
        return var if kind is var.type else self.match_cast(var, kind, name)

    def short(self, kind: GraphType, name: str) -> GraphType:
        """The type of a tensor with names for dimensions that are computed at length, as of those of many layers."""
        shape = kind.shape if type(kind) is TensorType else None
        if shape is None or not any(map(_is_long, shape)):
            return kind
        made = (self.shortened(dim, f"{name}_{axis}") if _is_long(dim) else dim for axis, dim in enumerate(shape))
        return kind.replace(shape=tuple(made))

    def shortened(self, dim: Expr, name: str) -> Var:
        """The name of a dimension that is computed at length, which is one wherever it is computed so."""
        known = next((var for long, var in self.long if dims.same(long, dim)), None)
        if known is None:
            self.long.append((dim, known := self.size(name)))
        return known

    def match_cast(self, value: GraphExpr, kind: GraphType, name: str) -> GraphExpr:
        """A binding of a value whose type is checked when the model runs."""
        var = GraphVar(self.name(name), kind)
        self.body.append(MatchCast(var, value, kind))
        return var

    def function(self, kernel: Kernel) -> str:
        """The tensor function of a kernel, by its name."""
        if kernel not in self.kernels:
            kind = kernel.kind.lower()
            others = sum(one.kind == kernel.kind for one in self.kernels)
            self.kernels[kernel] = name = f"{kind}_{others}" if others else kind
            self.functions += kernel.functions(name)
        return self.kernels[kernel]

    # nodes

    def nodes(self, nodes: Iterable[Any]) -> None:
        """Nodes in their order, of which each uses what those before it give."""
        for node in nodes:
            self.node(node)

    def known(self, name: str) -> tuple[Any, ...]:
        """All that is known of a tensor: its value, its data, its integers; of each None where it is not."""
        if name not in self.weights and name not in self.ints and name not in self.sequences:
            self.tensor(name)
        return tuple(table.get(name) for table in self.tables)

    def take(self, name: str, known: tuple[Any, ...]) -> None:
        """Let a name stand for a tensor of which that is known, and no more for what it was."""
        for table in self.tables:
            table.pop(name, None)
        for table, found in zip(self.tables, known, strict=False):
            if found is not None:
                table[name] = found

    @contextmanager
    def inside(self, graph: Any) -> Iterator[None]:
        """In a graph that a node holds: the names that it gives are its own, as another graph may have them too."""
        from onnx import numpy_helper

        names = {one.name for one in (*graph.input, *graph.initializer)} | outputs_of(graph)
        before = {name: tuple(table.get(name) for table in self.tables) for name in names}
        for name in names:
            self.take(name, ())
        for tensor in graph.initializer:
            self.keep(tensor.name, self.array(tensor, numpy_helper))
        yield
        for name, known in before.items():
            self.take(name, known)

    def state(self) -> tuple[Any, ...]:
        """What was made so far, for `back_to`."""
        tables = tuple(dict(table) for table in self.tables)
        return len(self.body), len(self.functions), len(self.long), dict(self.kernels), dict(self.least), tables

    def back_to(self, state: tuple[Any, ...]) -> None:
        """Forget what was made since, but for parameters."""
        bindings, functions, long, self.kernels, self.least, tables = state
        del self.body[bindings:], self.functions[functions:], self.long[long:]
        params = {name: one for name, one in self.values.items() if one in self.params}
        for table, before in zip(self.tables, tables, strict=True):
            table.clear()
            table.update(before)
        self.values.update(params)

    @property
    def tables(self) -> tuple[dict[str, Any], ...]:
        """What is known of tensors by their names."""
        return self.values, self.weights, self.ints, self.packed, self.partly, self.sequences

    def node(self, proto: Any) -> None:
        """One node: known values where its inputs are, else the rule of its operator."""
        packed = next((self.packed[name] for name in proto.input if name in self.packed), None)
        if packed is not None and proto.op_type not in (*READ_PACKED, *MOVE_PACKED):
            hint = "`DequantizeLinear` reads them, and what puts them in another shape"
            raise wrong(f"{_named(proto)}: it takes numbers of the type {packed}, which is not supported", hint)
        self.rule(proto)
        if packed is not None and proto.op_type in MOVE_PACKED:
            self.packed |= dict.fromkeys(filter(None, proto.output), packed)

    def rule(self, proto: Any) -> None:
        """What the operator of a node gives of it."""
        from .folding import folded
        from .node import Node
        from .operators import OPERATORS
        from .shapes import INTEGERS

        what = _named(proto)
        ours = proto.domain in ("", "ai.onnx")
        node = Node(self, proto, what)
        node.check()
        control = CONTROL.get(proto.op_type) if ours else None
        full = proto.op_type if ours else f"{proto.domain}.{proto.op_type}"
        entry = OPERATORS.get(full)
        rule = INTEGERS.get(full)
        if control is None and entry is None and rule is None:
            near = suggest(full, (*OPERATORS, *INTEGERS))
            hint = f"near to it is `{near}`, which is known" if near else "rewrite the model without it"
            if proto.domain == "com.microsoft.nchwc":
                hint = 'its layout is that of one processor: let onnxruntime optimize at the level "extended" only'
            raise wrong(f"the operator `{full}` of the node {what} is not supported", hint)
        try:
            if control is not None:
                control(self, node)
                return
            ints = None if rule is None else rule(node)
            if ints is not None and ints.fit():
                data = ints.array()
                if data is not None:  # rules that want numbers ask for data
                    self.keep(proto.output[0], data)
                self.ints[proto.output[0]] = ints
                return
            arrays = folded(node) if ours else None
            if arrays is not None:
                for name, array in zip((one for one in proto.output if one), arrays, strict=True):
                    self.keep(name, array)
                return
            if entry is None:
                raise node.wrong("what it gives depends on values that are known only when the model runs")
            found = entry(node)
        except DiagnosticError as problem:
            raise DiagnosticError(_at(one, what) for one in problem.diagnostics) from problem.__cause__
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as problem:
            # a rule reads what it is given as the operator has it, and a model may have anything
            check = "`onnx.checker.check_model(model, full_check=True)` tells what a model has wrong"
            hint = f"{check}; if it finds nothing, please report this as a fault of tirscript"
            message = f"its inputs and attributes do not fit: {type(problem).__name__}: {problem}"
            raise node.wrong(message, hint) from problem
        results = found if isinstance(found, tuple) else (found,)
        for name, result in zip(proto.output, results, strict=False):
            if name:
                self.values[name] = result if type(result) in (GraphVar, GraphConst) else self.emit(result, name)
        lost = [name for name in proto.output[len(results) :] if name]
        if lost:
            raise wrong(f"the output `{lost[0]}` of the node {what} is not supported")


# operators that hold graphs, sequences or optional tensors, and give what is known of tensors
CONTROL: dict[str, Callable[[Importer, Node], None]] = {
    "If": branch,
    "Loop": loop,
    "Scan": scan,
    **SEQUENCES,
    **OPTIONALS,
}


# integers of less than 8 bits, which constants hold, as the bytes that they become; and the operators that take them
PACKED = {"int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8"}
READ_PACKED = ("DequantizeLinear", "Cast")
MOVE_PACKED = (
    "Concat", "Constant", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Tile",
    "Transpose", "Unsqueeze",
)  # fmt: skip


def _is_long(dim: Expr) -> bool:
    return type(dim) not in (Const, Var) and is_larger(dim, LONG)


def _named(proto: Any) -> str:
    """A node as messages call it."""
    return f"`{proto.name or (proto.output[0] if proto.output else '?')}` ({proto.op_type})"


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

__all__ = ["Importer", "Ints", "from_onnx", "onnx_params"]
