"""A node of a model, as the rules of operators see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tirscript.ir.constant import ConstantTensor, constant
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.dtype import DType
from tirscript.ir.expr import Const, Expr, Var, is_const
from tirscript.ir.graph import FunctionRef, GraphConst, GraphExpr, OpCall, ShapeType, TensorType, TupleExpr
from tirscript.ir.graph_ops import dims
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.words import counted

if TYPE_CHECKING:
    from .importer import Importer, Ints
    from .kernel import Kernel


_KINDS = {int: "integer", float: "number", str: "text", list: "list"}


class Node:
    """Inputs by number, attributes by name; `op` binds a call and gives its variable."""

    def __init__(self, importer: Importer, proto: Any, what: str) -> None:
        self.importer, self.proto, self.what = importer, proto, what
        self.opset = importer.opset
        self.attrs = {one.name: one for one in proto.attribute}
        self.output = proto.output[0] if proto.output else proto.op_type

    # attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value: numbers, text, lists of them, or an array."""
        from onnx import helper, numpy_helper

        found = self.attrs.get(name)
        if found is None:
            return default
        value = helper.get_attribute_value(found)
        if value is None:
            raise self.wrong(f"its attribute `{name}` has no type, and so no value")
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif hasattr(value, "raw_data"):
            value = self.importer.array(value, numpy_helper)
        elif hasattr(value, "__iter__") and not isinstance(value, str):
            value = list(value)
        # what stands for it where it is left out says its kind, which no schema says of operators of other domains
        wanted = (int, float) if type(default) is float else type(default)
        if type(default) in (int, float, str, list) and not isinstance(value, wanted):
            raise self.wrong(f"its attribute `{name}` is {value!r}, which is no {_KINDS[type(default)]}")
        return value

    def listed(self, name: str, count: int, default: int = 0) -> list[int]:
        """An attribute that has a number for each of so many axes or tensors."""
        found = [int(one) for one in self.attr(name, [default] * count)]
        if len(found) != count:
            raise self.wrong(f"its attribute `{name}` has {len(found)} numbers, not {count}")
        return found

    def needed(self, name: str) -> Any:
        """An integer that has no default."""
        if name not in self.attrs:
            raise self.wrong(f"its attribute `{name}` is missing")
        return self.attr(name, 0)

    def check(self) -> None:
        """Refuse a node with other numbers of inputs and outputs than the standard says, or attributes that are
        missing, of another kind, or none of its own.
        """
        from onnx import defs

        schema = self._schema()
        if schema is None:
            return
        self._check_count("input", self.proto.input, schema.min_input, schema.max_input)
        self._check_count("output", self.proto.output, schema.min_output, schema.max_output)
        for at, (said, name) in enumerate(zip(schema.inputs, self.proto.input, strict=False)):
            if said.option == defs.OpSchema.FormalParameterOption.Single and not name:
                raise self.wrong(f"its input {at} is missing")
        for name, attribute in schema.attributes.items():
            if name in self.attrs:
                self._check_kind(self.attrs[name], attribute.type)
            elif attribute.required:
                raise self.wrong(f"its attribute `{name}` is missing")
        for name in self.attrs if schema.since_version <= self.opset else ():
            if name not in schema.attributes and not name.startswith("__"):  # those are notes, which onnx leaves alone
                near = suggest(name, schema.attributes)
                hint = f"did you mean `{near}`?" if near else None
                raise self.wrong(f"`{self.proto.op_type}` has no attribute `{name}`", hint)

    def _schema(self) -> Any | None:
        """What the standard says of the operator; in a version that has it, where that of the model has not."""
        from onnx import defs

        kind, domain = self.proto.op_type, self.proto.domain.removeprefix("ai.onnx")
        if not defs.has(kind, domain):
            return None
        known = defs.has(kind, self.opset, domain)
        return defs.get_schema(kind, self.opset, domain) if known else defs.get_schema(kind, domain)

    def _check_count(self, what: str, names: Sequence[str], least: int, most: int) -> None:
        """Refuse too few and too many names; empty ones at the end are none."""
        last = max((at + 1 for at, name in enumerate(names) if name), default=0)
        if least and not names:
            raise self.wrong(f"it has no {what}")
        if len(names) < least or last > most:
            wanted = f"at least {least}" if len(names) < least else f"at most {most}"
            raise self.wrong(f"it has {counted(len(names), what)}, not {wanted}")

    def _check_kind(self, attribute: Any, said: Any) -> None:
        """Refuse an attribute of another kind than the standard says."""
        from onnx import AttributeProto

        code = int(getattr(said, "value", said))  # an enumeration whose members are numbers of protobuf's
        if attribute.type and code != attribute.type:
            names = [AttributeProto.AttributeType.Name(one).lower() for one in (code, attribute.type)]
            raise self.wrong(f"its attribute `{attribute.name}` is of the kind {names[0]}, not {names[1]}")

    # inputs

    def has(self, at: int) -> bool:
        """Whether an input is given."""
        return at < len(self.proto.input) and bool(self.proto.input[at])

    def count(self) -> int:
        return len(self.proto.input)

    def tensor(self, at: int) -> GraphExpr:
        """An input as a tensor."""
        if not self.has(at):
            raise self.wrong(f"its input {at} is missing")
        return self.importer.tensor(self.proto.input[at])

    def tensors(self) -> list[GraphExpr]:
        return [self.tensor(at) for at in range(len(self.proto.input))]

    def ints(self, at: int) -> Ints | None:
        """An input as integers that are known; None where it is a tensor."""
        return self.importer.ints.get(self.proto.input[at]) if self.has(at) else None

    def single(self, at: int) -> Expr | None:
        """An input that is one integer, which is known; None where it is not known."""
        found = self.ints(at)
        if found is not None and len(found.values) != 1:
            raise self.wrong(f"its input {at} has {counted(len(found.values), 'element')}, not 1")
        return None if found is None else found.values[0]

    def one(self, at: int, what: str) -> Expr:
        """An input that is one integer; what is known only when the model runs gets a name."""
        known = self.single(at)
        values = self.sizes(at, what) if known is None else (known,)
        if len(values) != 1:
            raise self.wrong(f"its input {at} has {counted(len(values), 'element')}, not 1")
        return values[0]

    def sizes(self, at: int, what: str) -> tuple[Expr, ...]:
        """An input as sizes; those that are known only when the model runs get names. Refused where it has more axes
        than one, or is of unknown length."""
        found = self.ints(at)
        return self.computed(self.tensor(at), what, self.proto.input[at]) if found is None else found.values

    def computed(self, value: GraphExpr, what: str, name: str = "") -> tuple[Expr, ...]:
        """The elements of a tensor as sizes, which have names from here on; those of the tensor `name` are kept."""
        return self.named_sizes(value, what, self.importer.partly.get(name, ()), name)

    def named_sizes(
        self, value: GraphExpr, what: str, known: Sequence[Expr | None], name: str = ""
    ) -> tuple[Expr, ...]:
        """`computed`, but for the elements that are `known`."""
        shape = self.shape(value)
        count = dims.number(shape[0]) if shape else 1
        if len(shape) > 1 or count is None or not self.dtype(value).is_int:
            raise self.wrong(f"{what} are not known before the model runs")
        flat = value if shape else self.op("reshape", value, (1,))
        given = known or (None,) * count
        # what is below 0 is no dimension, and may stand for one
        matched = tuple(
            self.importer.size(f"{self.output}_{at}") if one is None or not dims.not_negative(one) else one
            for at, one in enumerate(given)
        )
        self.importer.match_cast(self.op("tensor_to_shape", flat), ShapeType(matched), f"{self.output}_sizes")
        values = tuple(size if one is None else one for one, size in zip(given, matched, strict=True))
        if name:
            from .importer import Ints

            self.importer.ints[name] = Ints(values, self.dtype(value), not shape)
        return values

    def counted(self, value: GraphExpr, shape: Sequence[Expr | None]) -> GraphExpr:
        """A result with dimensions that only the model knows when it runs: they get names, where `shape` has None."""
        made = tuple(
            self.importer.size(f"{self.output}_{axis}") if one is None else one for axis, one in enumerate(shape)
        )
        return self.importer.match_cast(value, TensorType(made, self.dtype(value)), self.output)

    def numbers(self, at: int, name: str, default: list[int] | None = None) -> list[int] | None:
        """Integers that older versions have as an attribute and newer ones as an input."""
        if name in self.attrs:
            return [int(one) for one in self.attr(name)]
        if not self.has(at):
            return default
        found = self.ints(at)
        if found is None:
            raise self.wrong(f"`{name}` are not known before the model runs")
        if not all(type(one) is Const for one in found.values):
            raise self.wrong(f"`{name}` are not numbers")
        return [int(one.value) for one in found.values if type(one) is Const]

    def data(self, at: int) -> ConstantTensor | None:
        """The data of an input that is constant."""
        return self.importer.weights.get(self.proto.input[at]) if self.has(at) else None

    def scalar(self, at: int) -> float | int | None:
        """The number that an input always is; None where it is not known."""
        data = self.data(at)
        if data is not None and data.size == 1:
            value: float | int = data.array.reshape(-1)[0].item()
            return value
        return None

    def type(self, value: GraphExpr) -> TensorType:
        kind = type_of(value)
        assert isinstance(kind, TensorType)
        return kind

    def shape(self, value: GraphExpr, rank: int | None = None) -> tuple[Expr, ...]:
        """The shape of a tensor; refused where it is not known, or not of `rank` dimensions where that is given."""
        found = self.type(value).shape
        if found is None:
            raise self.wrong("the shape of its input is not known")
        if rank is not None and len(found) != rank:
            raise self.wrong(f"its input must have {counted(rank, 'dimension')}, not {len(found)}")
        return found

    def dtype(self, value: GraphExpr) -> DType:
        found = self.type(value).dtype
        if found is None:
            raise self.wrong("the type of its input is not known")
        return found

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front."""
        if not -rank <= axis < rank:
            raise self.wrong(f"axis {axis} is none of the {rank} of its input")
        return axis % rank

    def agreeing(self, *given: GraphExpr) -> list[GraphExpr]:
        """Tensors that go together element by element: dimensions not known to be one are checked when the model runs.

        A dimension of 1 that goes with all of another is known as such only where it is a number.
        """
        if not given:
            raise self.wrong("it has no input")
        wanted = together(map(self.shape, given))
        return [self.checked(one, wanted) for one in given]

    def checked(self, value: GraphExpr, wanted: Sequence[Expr]) -> GraphExpr:
        """A tensor whose last dimensions are `wanted` or 1, checked at run time where that is not known."""
        shape = self.shape(value)
        goal = [
            dims.ONE if is_at_most_one(have) and not dims.same(have, want) else want
            for have, want in zip(shape, wanted[len(wanted) - len(shape) :], strict=True)
        ]
        unsure = [
            not is_const(have, 1) and not dims.same(have, want) and not dims.differ(have, want)
            for have, want in zip(shape, goal, strict=True)
        ]
        if not any(unsure):
            return value
        made = tuple(want if flag else have for have, want, flag in zip(shape, goal, unsure, strict=True))
        kind = TensorType(made, self.type(value).dtype)
        return self.importer.match_cast(value, kind, f"{self.output}_checked")

    # results

    def op(self, op: str, *args: Any, **attrs: Any) -> GraphExpr:
        """A binding of an operator's call; its variable."""
        return self.importer.op(op, *args, name=f"{self.output}_{op.rpartition('.')[2]}", **attrs)

    def last(self, op: str, *args: Any, **attrs: Any) -> GraphExpr:
        """A binding of the call that gives the node's output, by whose name it is known."""
        return self.importer.op(op, *args, name=self.output, **attrs)

    def call(self, kernel: Kernel, args: Sequence[GraphExpr], kinds: Sequence[TensorType], name: str) -> GraphExpr:
        """A binding of what a tensor function gives of tensors: one of a kind, or a tuple of several."""
        called = FunctionRef(self.importer.function(kernel)), TupleExpr(tuple(args))
        return self.importer.emit(OpCall(CALL_TIR, called, types=tuple(kinds)), f"{self.output}_{name}")

    def kept(self, array: Any) -> GraphExpr:
        """An array as the node's output, known to what comes."""
        self.importer.keep(self.output, array)
        return self.importer.tensor(self.output)

    def constant(self, value: Any, kind: DType) -> GraphExpr:
        """A number as a tensor without dimensions."""
        import numpy as np

        from tirscript.ir.constant import numpy_dtype

        return GraphConst(constant(np.array(value).astype(numpy_dtype(kind))))

    def item(self, value: GraphExpr, index: int) -> GraphExpr:
        """A field of a tuple, bound to the name of the output of that number."""
        from tirscript.ir.graph import TupleItem

        names = self.proto.output
        return self.importer.emit(TupleItem(value, index), names[index] if index < len(names) else self.output)

    def wrong(self, message: str, hint: str | None = None) -> DiagnosticError:
        return DiagnosticError([error("T402", f"{self.what}: {message}", hint=hint)])


def together(shapes: Iterable[Sequence[Expr]]) -> list[Expr]:
    """The dimensions of what is done to tensors element by element, if none of them is 1 that is not known to be."""
    given = list(shapes)
    wanted: list[Expr] = []
    for axis in range(-max(map(len, given)), 0):
        own = [shape[axis] for shape in given if len(shape) >= -axis and not is_const(shape[axis], 1)]
        own = [dim for dim in own if not is_at_most_one(dim)] or own
        # a number or a name rather than what is computed of them
        wanted.append(min(own, key=lambda dim: (type(dim) is not Const, type(dim) is not Var), default=dims.ONE))
    return wanted


def is_at_most_one(dim: Expr) -> bool:
    """Whether a size that is no number is at most 1, as that of a slice is; beside a dimension it is taken for 1."""
    return type(dim) not in (Const, Var) and dims.not_negative(dims.sub(1, dim))


__all__ = ["Node", "is_at_most_one", "together"]
