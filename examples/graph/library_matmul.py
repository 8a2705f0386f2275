"""One graph, two ways to multiply its matrices: by the kernel that is generated for them, or by the BLAS at hand.

The graph says `G.matmul`. A pass of one's own makes these calls of a library function, which native code calls without
Python in between; the interpreter calls the same function through ctypes.
"""

from __future__ import annotations

import numpy as np

import tirscript
from tirscript.ir import Module
from tirscript.ir.graph import OpCall, TensorType
from tirscript.ir.graph_ops.calls import CALL_DPS_PACKED
from tirscript.ir.graph_ops.infer import type_of
from tirscript.ir.rewrite import rewrite
from tirscript.passes import module_pass

PROGRAM = """
@I.ir_module
class Layers:
    @G.graph_func
    def main(
        x: G.Tensor(("n", 64), "float32"), w0: G.Tensor((64, 96), "float32"), w1: G.Tensor((96, 32), "float32")
    ):
        with G.dataflow():
            h = G.matmul(x, w0)
            r = G.nn.relu(h)
            y = G.matmul(r, w1)
            G.output(y)
        return y
"""
LIBRARY = {"float32": "blas.matmul_float32", "float64": "blas.matmul_float64"}


@module_pass()
def matmul_by_library(mod: Module) -> Module:
    """Products of two matrices of the same dtype become calls of BLAS; those of stacks of matrices stay."""

    def replaced(call: OpCall) -> OpCall:
        if call.op.name != "matmul":
            return call
        types = [type_of(arg, mod) for arg in call.args]
        if not all(type(kind) is TensorType and kind.shape is not None and len(kind.shape) == 2 for kind in types):
            return call
        name = LIBRARY.get(str(types[0].dtype))
        if name is None or types[0].dtype is not types[1].dtype:
            return call
        return CALL_DPS_PACKED(name, call.args, out=type_of(call, mod))

    return rewrite(mod, {OpCall: replaced})


def main() -> None:
    """Build both, and compare them with numpy and the interpreter."""
    graph = tirscript.parse(PROGRAM)
    library = matmul_by_library(graph)
    print(library)
    print("the library is", tirscript.register_blas())
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape, dtype="float32") for shape in ((10, 64), (64, 96), (96, 32))]
    expected = np.maximum(args[0] @ args[1], 0) @ args[2]
    for word, run in (
        ("generated", tirscript.build(graph)),
        ("library", tirscript.build(library)),
        ("library, interpreted", lambda *given: tirscript.interpret(library, *given)),
    ):
        error = np.abs(run(*args) - expected).max() / np.abs(expected).max()
        print(f"{word}: relative error {error:.1e}")
        assert error < 1e-5, word


if __name__ == "__main__":
    main()
