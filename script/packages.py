"""What the packages of tirscript and of TVM stand for in a text: `import tvm`, `from tvm import relax`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from .graph_names import GraphNamespace
from .namespace import Namespace

Parts = Mapping[str, Callable[[], Any]]

_TYPE_WORDS = ("Tensor", "Shape", "Tuple", "Object", "Prim")
# TVM's packages of tensor programs, whose functions are those of T: `tvm.tirx.exp(x)`, and `tvm.tir.exp(x)` until 2025
_TENSOR_PACKAGES = ("tir", "tirx", "s_tir")
# parts of TVM that text has no use for
_PLAIN = ("ir", "te", "topi", "arith", "sym", "dlight", "meta_schedule", "runtime", "testing")


class Packages(Struct, frozen=True, eq=False):
    """The packages that hold the namespaces and the decorators, by their names."""

    tensor: Namespace
    modules: Namespace
    graphs: GraphNamespace
    decorators: Mapping[str, Any]

    def parts(self, module: str) -> tuple[Parts, tuple[str, ...]]:
        """What `from module import` may name: what means something here, and what text has no use for."""
        if module == "tvm":
            own = {"relax": self.relax, "script": lambda: self.package("tvm.script"), "target": self.target}
            return {**own, **dict.fromkeys(_TENSOR_PACKAGES, lambda: self.tensor)}, _PLAIN
        if module == "tvm.target":
            return {"Target": lambda: vars(self.tensor)["target"]}, ()
        return {}, ()

    def package(self, name: str) -> Namespace:
        """What `import tirscript` or `import tvm` stands for."""
        tensor, graphs = dict.fromkeys(_TENSOR_PACKAGES, self.tensor), dict.fromkeys(("graph", "relax"), self.graphs)
        names = {**tensor, "ir": self.modules, **graphs, "ir_module": self.decorators["ir_module"]}
        script = Namespace("script", names, "The script namespaces.")
        if ".script" in name:
            return script
        if name == "tvm.target":
            return self.target()
        parts = {**tensor, "relax": self.relax(), "target": self.target()} if name == "tvm" else {}
        return Namespace(name, {"script": script, **parts, **self.decorators}, "The package.")

    def relax(self) -> Namespace:
        """What `from tvm import relax` stands for: `relax.op.add(x, y)` is `R.add(x, y)`, as was `relax.add`.

        Types have longer names there: `relax.TensorStructInfo((4,), "float32")`, since 2026 `relax.TensorType(...)`.
        """
        types = {f"{name}{word}": getattr(self.graphs, name) for name in _TYPE_WORDS for word in ("StructInfo", "Type")}
        names = {**vars(self.graphs), **types, "op": self.graphs}
        return GraphNamespace("relax", "", names, "TVM's package of graphs.")

    def target(self) -> Namespace:
        """`tvm.target.Target("llvm")`, as T spells it."""
        return Namespace("tvm.target", {"Target": vars(self.tensor)["target"]}, "TVM's package of targets.")


__all__ = ["Packages"]
