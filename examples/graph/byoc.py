"""Bring your own code generator: parts of a graph run on an accelerator of one's own, the rest on this processor.

The accelerator is simulated in Python: it multiplies tiles of 16x16 int8 and adds them up in int32, and nothing else. A
pass of one's own finds what it can do by a pattern and marks it; `merge_composite` joins neighbours, so that what lies
between them stays on the accelerator; `run_codegen` has the rest call it by name; and `build` gives each function to
the kind of its target. One function of the module is for C source, which the system's compiler compiles. The module is
a program at every step: it is printed, read back and executed between every two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tirscript
from tirscript.ir import DiagnosticError, Module, Target, error
from tirscript.ir.graph import FunctionCall, FunctionRef, GraphBind, GraphFunc, GraphVar, OpCall, TensorType
from tirscript.ir.rewrite import walk
from tirscript.passes import Sequential, module_pass
from tirscript.passes.graph import fuse_by_pattern
from tirscript.passes.graph.patterns import is_op, wildcard

TILE = 16

PROGRAM = """
@I.ir_module
class Model:
    @T.prim_func(private=True)
    def scaled(d: T.Buffer((40, 20), "int32"), scale: T.Buffer((20,), "float32"), y: T.Buffer((40, 20), "float32")):
        T.func_attr({"target": "device"})
        for i, j in T.grid(40, 20):
            y[i, j] = T.cast(d[i, j], "float32") * scale[j]

    @G.graph_func
    def main(
        x: G.Tensor((40, 48), "int8"), w0: G.Tensor((48, 32), "int8"), w1: G.Tensor((32, 20), "int8"),
        scale: G.Tensor((20,), "float32"),
    ):
        with G.dataflow():
            a = G.matmul(x, w0, out_dtype="int32")
            b = G.nn.relu(a)
            c = G.astype(G.clip(G.right_shift(b, G.const(7, "int32")), 0, 127), "int8")
            d = G.matmul(c, w1, out_dtype="int32")
            e = G.call_tir(Model.scaled, (d, scale), out=G.Tensor((40, 20), "float32"))
            y = G.nn.relu(e)
            G.output(y)
        return y
"""


# -- the accelerator


class Accelerator:
    """A machine with one instruction: `sums += left @ right`, where left and right are 16x16 int8, sums 16x16 int32."""

    def __init__(self) -> None:
        self.instructions = 0

    def multiply_add(self, left: np.ndarray, right: np.ndarray, sums: np.ndarray) -> None:
        assert left.shape == right.shape == sums.shape == (TILE, TILE)
        assert left.dtype == right.dtype == np.int8 and sums.dtype == np.int32
        sums += left.astype(np.int32) @ right.astype(np.int32)
        self.instructions += 1


MACHINE = Accelerator()


def tiled(array: np.ndarray) -> np.ndarray:
    """A matrix in tiles, the last ones filled up with zeros."""
    rows, columns = (-(-size // TILE) for size in array.shape)
    full = np.zeros((rows * TILE, columns * TILE), array.dtype)
    full[: array.shape[0], : array.shape[1]] = array
    return full.reshape(rows, TILE, columns, TILE).swapaxes(1, 2)


def matmul(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product of two int8 matrices, tile by tile."""
    a, b = tiled(left), tiled(right)
    sums = np.zeros((a.shape[0], b.shape[1], TILE, TILE), np.int32)
    for i, j, k in np.ndindex(a.shape[0], b.shape[1], a.shape[1]):
        MACHINE.multiply_add(a[i, k], b[k, j], sums[i, j])
    return sums.swapaxes(1, 2).reshape(a.shape[0] * TILE, -1)[: left.shape[0], : right.shape[1]]


# what the accelerator does to values that are in its memory already
AFTER: dict[str, Callable[..., np.ndarray]] = {
    "nn.relu": lambda x: np.maximum(x, 0),
    "right_shift": lambda x, by: x >> by,
    "clip": lambda x, low, high: np.clip(x, low, high),
    "astype": lambda x, dtype: x.astype(str(dtype)),
}


def compile_graph(func: GraphFunc, module: Module, target: Target) -> Callable[..., None]:
    """What `build` asks of the kind: a function that takes the arrays of a graph function and writes its result."""
    functions = {one.name: one for one in module.graph_funcs}
    for one in functions.values():
        for node in walk(one):
            if type(node) is OpCall and node.op.name not in ("matmul", *AFTER):
                message = f"the accelerator has no instruction for `{node.op.spelling}`"
                raise DiagnosticError([error("T402", message, node.span)])

    def call(callee: GraphFunc, args: tuple[np.ndarray, ...]) -> np.ndarray:
        values: dict[Any, Any] = dict(zip(callee.params, args, strict=True))

        def value(expr: Any) -> Any:
            if type(expr) is GraphVar:
                return values[expr]
            if type(expr) is FunctionCall and type(expr.function) is FunctionRef:
                return call(functions[expr.function.function], tuple(map(value, expr.args)))
            if type(expr) is OpCall:
                given = [value(arg) for arg in expr.args]
                if expr.op.name == "matmul":
                    return matmul(*given)
                return AFTER[expr.op.name](*given, **expr.attrs)
            return expr.data.array if hasattr(expr, "data") else expr.value.value

        for bind in (node for node in walk(callee.body) if type(node) is GraphBind):
            values[bind.var] = value(bind.value)
        return value(callee.value)

    def run(*arrays: np.ndarray) -> None:
        *args, out = arrays
        out[...] = call(func, tuple(args))

    return run


def register() -> None:
    """Tell tirscript of the accelerator."""
    tirscript.register_target_kind(
        tirscript.TargetKind(
            "accel16",
            "A simulated accelerator that multiplies tiles of 16x16 int8.",
            (tirscript.TargetOption("tile", int, "rows and columns of a tile", least=TILE),),
            keys=("accel",),
            graph_to_runtime=compile_graph,
        ),
        override=True,
    )


# -- the pass of one's own


@module_pass(name="take_accel16")
def take(module: Module) -> Module:
    """Products of int8 matrices, and what follows them there, become functions for `accel`."""
    x, w = (wildcard().has_dtype("int8") for _ in range(2))
    product = is_op("matmul")(x, w).where(is_matrix)
    narrowed = is_op("astype")(is_op("clip")(is_op("right_shift")(is_op("nn.relu")(product), wildcard())))
    patterns = {"accel16.layer": narrowed.has_dtype("int8"), "accel16.matmul": product}
    return fuse_by_pattern(module, patterns, attrs={"target": "accel"})


# one value says how all of the module is built: what names no target, and what the names mean
def targets() -> Target:
    """This processor, the accelerator, and C source."""
    return Target.composite(host="llvm", accel="accel16 -tile=16", device="c")


def is_matrix(expr: Any) -> bool:
    """Whether a value is a matrix of int32."""
    kind = expr.type if type(expr) is GraphVar else None
    return type(kind) is TensorType and kind.shape is not None and len(kind.shape) == 2 and str(kind.dtype) == "int32"


def read(text: str) -> Module:
    """The module that a text says."""
    module = tirscript.parse(text)
    assert isinstance(module, Module)
    return module


def main() -> None:
    """Take the model through every step, and compare each with the model as it was."""
    register()
    module = read(PROGRAM)
    rng = np.random.default_rng(0)
    args = [rng.integers(-20, 20, shape).astype("int8") for shape in ((40, 48), (48, 32), (32, 20))]
    args.append(rng.standard_normal(20, dtype="float32"))
    expected = tirscript.interpret(module, *args)

    for step in Sequential.parse("canonicalize_bindings,take_accel16,merge_composite,run_codegen"):
        with targets():
            module = read(step(module).script(constants="inline"))
        np.testing.assert_array_equal(tirscript.interpret(module, *args), expected)
        MACHINE.instructions = 0
        np.testing.assert_allclose(tirscript.build(module, target=targets())(*args), expected, rtol=1e-6)
        functions = ", ".join(one.name for one in module.functions)
        print(f"{step.name}: {functions}; {MACHINE.instructions} tiles multiplied there")
    print(module["main"])


if __name__ == "__main__":
    main()
