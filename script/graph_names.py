"""What `G` is at run time: types, constructs and the operators of the table, found by name when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tirscript.ir.words import call_it

from .namespace import Namespace

_TYPES = {
    "Tensor": 'a tensor: `G.Tensor((4, "n"), "float32")`, `G.Tensor(ndim=2, dtype="float32")`',
    "DTensor": 'a tensor over several devices: `G.DTensor((4, 4), "float32", "mesh[0]", "S[0]")`',
    "Shape": 'a shape: `G.Shape(("n", 4))`, `G.Shape(ndim=2)`',
    "Prim": 'a scalar: `G.Prim("int64")`',
    "Tuple": "a tuple: `G.Tuple(G.Tensor((4,)), G.Shape(ndim=2))`",
    "Object": "any value: `G.Object`",
    "Callable": "a function: `G.Callable((G.Tensor((4,)),), G.Tensor((4,)))`",
}
_TYPE_ALIASES = {"Any": "Object"}
# constructs that are no operators; graph_expr.py and graph_stmt.py have a rule for each
_CONSTRUCTS = {
    "dataflow": "bindings without effects: `with G.dataflow():`",
    "output": "what is in scope behind a dataflow: `G.output(y)`",
    "func_attr": "attributes of the function: `G.func_attr({...})`",
    "match_cast": "a value checked at run time: `y = G.match_cast(x, G.Tensor((m, 4)))`",
    "const": 'a constant: `G.const(1.0, "float32")`, `G.const(array)`',
    "constant": 'a constant by its digest: `G.constant("sha256:…", (64, 64), "float32")`',
    "shape": "a shape as a value: `G.shape([n, 4])`",
    "prim_value": "a scalar as a value: `G.prim_value(n * 2)`",
    "str": 'a string as a value: `G.str("text")`',
    "dtype": 'a dtype as a value: `G.dtype("float32")`',
    "device": "a device as a value: `G.device(device_type=1, index=0)`",
    "tuple": "a tuple: `G.tuple(x, y)`",
    "TupleGetItem": "a field of a tuple, as in `t[0]`",
    "ExternFunc": 'a function of a library: `G.ExternFunc("name")`',
    "call_packed": 'a call of a library function for its effect: `G.call_packed("name", x)`',
    "device_mesh": "devices of the module that tensors lie on: `G.device_mesh((2, 2), I.Range(0, 4))`",
}
_IN_MODULES = ("ExternFunc", "device_mesh")  # they stand in the class of a module, too
# constructs among the operators of a group
_GROUPED: dict[str, dict[str, str]] = {
    "dist": {"const": 'a constant over several devices: `G.dist.const(1.0, G.DTensor((), "float32", "mesh[0]", "R"))`'},
}
# what TVM has beside its programs
UNSUPPORTED = {
    "rewriter": "a rewrite rule of TVM",
    "emit_te": "a tensor expression of TVM",
}


def construct_doc(name: str) -> str | None:
    """What a construct is for."""
    group, _, word = name.rpartition(".")
    return (_GROUPED.get(group, {}) if group else _CONSTRUCTS).get(word)


class GraphForm:
    """A construct of the graph language. Calling one outside of a graph function is a mistake, and says so."""

    def __init__(self, name: str, doc: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"`G.{self.name}` stands inside a function decorated with @G.graph_func: {self.__doc__}")

    def __repr__(self) -> str:
        return f"<G.{self.name}>"


class EntryForm(GraphForm):
    """A construct that stands in the class of a module, too, where Python runs it: it does nothing there."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The parser reads the construct from the source."""


class TypeForm:
    """`G.Tensor` and the like: an annotation, alone or called."""

    def __init__(self, name: str, doc: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> TypeSpec:
        return TypeSpec(self.name, args, kwargs)

    def __getitem__(self, item: Any) -> Any:
        raise TypeError(f"`G.{self.name}` takes its arguments in round brackets: {self.__doc__}")

    def __repr__(self) -> str:
        return f"<G.{self.name}>"


class TypeSpec:
    """A type as it was written; `graph_types.py` makes a type of it where it stands."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name, self.args, self.kwargs = name, args, kwargs

    def is_plain_scalar(self) -> bool:
        """Whether it is a scalar of which no value is said."""
        return self.name == "Prim" and all(one is None for one in (*self.args[1:], self.kwargs.get("value")))

    def __repr__(self) -> str:
        return f"<G.{self.name}(...)>"


# the kinds of devices by their names, with their numbers in DLPack
DEVICE_KINDS = {
    "cpu": 1,
    "cuda": 2,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "ext_dev": 12,
    "webgpu": 15,
    "hexagon": 16,
}
# what only text in TVM's dialect may say, some of it no more since 2022, some of it since 2026
THEIR_FORMS: dict[str, GraphForm | TypeForm] = {
    "ShapeExpr": GraphForm("shape", _CONSTRUCTS["shape"]),
    "match_shape": GraphForm("match_shape", "a tensor or shape checked at run time: `y = R.match_shape(x, (n, m))`"),
    "call_tir_packed": GraphForm("call_tir_packed", "a call of a tensor function: `R.call_tir_packed(cls.f, (x, y))`"),
    "Void": TypeForm("Tuple", _TYPES["Tuple"]),
    "vdevice": GraphForm("vdevice", 'a device that tensors name: `R.vdevice("llvm", 0, "global")`'),
    **{name: GraphForm("device_of_kind", f"a device by its number: `R.{name}(0)`") for name in DEVICE_KINDS},
}


class UnsupportedForm:
    """A name of TVM's for what is not part of the language."""

    def __init__(self, name: str, what: str) -> None:
        self.name, self.what = name, what


class GraphNamespace(Namespace):
    """G, or a part of it such as `G.nn`: its own names, then the operators by their dotted names."""

    def __init__(self, letter: str, prefix: str, names: dict[str, Any], doc: str) -> None:
        super().__init__(letter, names, doc)
        self._prefix = prefix

    def find(self, name: str) -> Any:
        """What a name stands for: a construct, an operator, a namespace of operators; None where it is nothing."""
        found = self.__dict__.get(name)
        if found is not None and not name.startswith("_"):
            return found
        from tirscript.ir.graph_ops import GRAPH_OPS
        from tirscript.ir.graph_ops.foreign import find_op
        from tirscript.ir.graph_ops.table import FOREIGN_GRAPH_OPS

        dotted = f"{self._prefix}{name}"
        entry = find_op(dotted)
        if entry is not None:
            return entry
        if any(known.startswith(f"{dotted}.") for known in (*GRAPH_OPS, *FOREIGN_GRAPH_OPS)):
            forms = {word: GraphForm(f"{dotted}.{word}", doc) for word, doc in _GROUPED.get(dotted, {}).items()}
            return GraphNamespace(f"G.{dotted}", f"{dotted}.", forms, "Graph operators.")
        return None

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("_") else self.find(name)
        return super().__getattr__(name) if found is None else found

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(name.partition(".")[0] for name in self.names())})

    def names(self) -> Iterator[str]:
        """Every name that it has; those of operators with dots in the namespace around."""
        from tirscript.ir.graph_ops import GRAPH_OPS

        yield from (name for name in self.__dict__ if not name.startswith("_"))
        for known in GRAPH_OPS:
            if known.startswith(self._prefix):
                yield known.removeprefix(self._prefix)


def graph_names(decorators: dict[str, Any]) -> dict[str, Any]:
    """Everything that `G` holds beside the operators."""
    names: dict[str, Any] = dict(decorators)
    for name, doc in _TYPES.items():
        names[name] = TypeForm(name, doc)
    for alias, name in _TYPE_ALIASES.items():
        names[alias] = names[name]
    for name, doc in _CONSTRUCTS.items():
        names[name] = (EntryForm if name in _IN_MODULES else GraphForm)(name, doc)
    for name, what in UNSUPPORTED.items():
        names.setdefault(name, UnsupportedForm(name, what))
    return names


call_it(GraphForm, "construct", lambda form: f"G.{form.name}")
call_it(TypeForm, "type", lambda form: f"G.{form.name}")
call_it(TypeSpec, "type", lambda spec: f"G.{spec.name}")
call_it(GraphNamespace, "namespace", lambda namespace: namespace._letter)
