"""Graph functions that apache-tvm makes: its own models, every operator, and what its passes make of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend import nn
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

NAMES = {"R": R, "T": T, "I": I, "np": np, "tvm": tvm, "TypeVar": TypeVar}
PARAMS = (
    'x: R.Tensor((2, 3, 4), "float32"), y: R.Tensor((2, 3, 4), "float32"), v: R.Tensor((4,), "float32"), '
    'w: R.Tensor((4, 5), "float32"), i: R.Tensor((2, 3, 4), "int32"), ix: R.Tensor((2,), "int64"), '
    'image: R.Tensor((1, 3, 8, 8), "float32"), kernel: R.Tensor((4, 3, 3, 3), "float32"), '
    's: R.Tensor(("n", "k"), "float32"), b: R.Tensor((), "bool"), c: R.Tensor((3,), "float32")'
)
# the same parameters with less that is known of them
KNOWN_LESS = (
    PARAMS.replace("(2, 3, 4)", '("p", "q", 4)')
    .replace("(1, 3, 8, 8)", '("p", 3, "h", "h * 2")')
    .replace("(2,)", '("r",)'),
    PARAMS.replace("R.Tensor((2, 3, 4), ", "R.Tensor(ndim=3, dtype=").replace(
        "R.Tensor((1, 3, 8, 8), ", "R.Tensor(ndim=4, dtype="
    ),
    PARAMS.replace('"float32"', '"float16"'),
)
UNARY = "abs acos asinh ceil cos erf exp floor isnan log negative round rsqrt sigmoid sign sqrt tanh trunc"
BINARY = "add subtract multiply divide power maximum floor_divide mod equal less greater_equal atan2"
CALLS = (
    *(f"R.{name}(x)" for name in UNARY.split()),
    *(f"R.{name}(x, y)" for name in BINARY.split()),
    *(f"R.{name}(x, axis=[0, -1], keepdims=True)" for name in ("sum", "mean", "max", "min", "prod", "variance", "std")),
    "R.add(x, R.const(1.0))",
    "R.add(R.prim_value(3), R.prim_value(4))",
    "R.less(x, R.prim_value(T.float32(2)))",
    "R.take(x, R.prim_value(1), axis=0)",
    "R.const(float('-inf'))",
    "R.tuple()",
    "(x, (y, R.tuple()))",
    "R.hint_on_device(x, R.device(2, 1))",
    "R.call_dps_packed('f', (x, R.str('s'), R.shape([2])), out_ty=[R.Tensor((2,), 'int8'), R.Tensor((3,), 'int8')])",
    "R.image.grid_sample(image, R.ones((1, 2, 4, 4), 'float32'), padding_mode='border')",
    "R.vision.get_valid_counts(R.ones((1, 5, 6), 'float32'), 0.5)",
    "R.argmax(x, axis=1)",
    "R.cumsum(x, axis=1)",
    "R.reshape(x, R.shape([6, 4]))",
    "R.permute_dims(x, [2, 0, 1])",
    "R.concat((x, y), axis=1)",
    "R.split(x, [1, 2], axis=2)",
    "R.squeeze(R.expand_dims(x, axis=[0, 2]))",
    "R.broadcast_to(v, R.shape([3, 4]))",
    "R.tile(x, [1, 2, 1])",
    "R.take(v, ix, axis=0, mode='clip')",
    "R.strided_slice(s, axes=[0], begin=[0], end=[2], strides=[1])",
    "R.where(b, x, y)",
    "R.layout_transform(v, index_map=lambda i: (i // 2, i % 2))",
    "R.matmul(x, w, out_dtype='float32')",
    "R.einsum((w, w), 'ij,ij->i')",
    "R.full((2,), R.const(1, 'int32'), 'int32')",
    "R.arange(0, 10, 2, 'int64')",
    "R.clip(x, 0.5, 6)",
    "R.one_hot(ix, R.prim_value(1.0), R.prim_value(0.0), 10, axis=0)",
    "R.topk(x, 3)",
    "R.nn.conv2d(image, kernel, strides=2, padding=(1, 1))",
    "R.nn.max_pool2d(image, pool_size=(2, 2), ceil_mode=True)",
    "R.nn.adaptive_avg_pool2d(image)",
    "R.nn.leakyrelu(x, 0.2)",
    "R.nn.softmax(x, axis=1)",
    "R.nn.pad(image, (0, 0, 0, 0, 1, 1, 1, 1), pad_value=0.5)",
    "R.nn.batch_norm(image, c, c, c, c, axis=1)",
    "R.nn.layer_norm(x, v, v, axes=[-1])",
    "R.image.resize2d(image, R.shape([4, 4]))",
    "R.quantize(x, R.const(0.5), R.const(0, 'int8'), axis=-1, out_dtype='int8')",
    "R.shape_of(s)",
    "R.null_value()",
    "R.memory.view(x, R.shape([24]), 'float32')",
    "R.ccl.allreduce(x, 'sum', True)",
    "R.nn.attention(*[R.ones((1, 4, 2, 8), 'float32') for _ in range(3)], scale=0.5, causal_mask='TopLeft')",
)
PROGRAMS = (
    """@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    if c:
        y = R.add(x, x)
        z = R.multiply(y, y)
    else:
        if c:
            z = R.exp(x)
        else:
            z = x
    R.print(x, z, format="a {} b {}")
    q = R.call_packed("foo", x, (x, z), R.prim_value(3), R.str("s"), ty_args=R.Tensor((4,), "float32"))
    w = R.call_packed("bar", x, ty_args=[R.Tensor, R.Any])
    return (z, q)
""",
    """@R.function
def main(s: R.Tensor(("n", "m"), "float32"), u: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
    n, m = T.int64(), T.int64()
    k, l = T.int64(), T.int64()
    with R.dataflow():
        g = R.match_cast(u, R.Tensor((k, l), "float32"))
        t = R.reshape(s, R.shape([n * m]))
        p = R.call_pure_packed("lib", g, R.shape([n, k + 1]), ty_args=R.Tensor((n, k + 1), "float32"))
        R.output(p)
    with R.dataflow():
        h = R.multiply(p, p)
        R.output(h)
    return h
""",
    """@I.ir_module
class M:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})
    @T.prim_func(s_tir=True)
    def f(x: T.handle, n: T.int64, y: T.handle):
        A = T.match_buffer(x, (n,), "float32")
        B = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            B[i] = A[i] + T.float32(1)
    @R.function
    def main(x: R.Tensor(("n",), "float32", "llvm")) -> R.Tensor(("n",), "float32", "llvm"):
        n = T.int64()
        with R.dataflow():
            a = R.call_tir(M.f, (x, n), out_ty=R.Tensor((n,), "float32", "llvm"))
            b = M.g(a)
            R.output(b)
        return b
    @R.function(private=True)
    def g(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.func_attr({"Primitive": True, "Codegen": "x"})
        @R.function
        def inner(z: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            r = R.exp(z)
            return r
        q = inner(x)
        return q
""",
    """@R.function
def main(x: R.Tensor((4,), "float32"), w: R.Tensor((2,), "float32")):
    R.func_attr({"num_input": 1, "params": [R.const([0.5, 2.0]).value]})
    y = R.exp(x)
    return y
""",
    """@R.function
def main(n: R.Prim("int64"), x: R.Tensor(("n",), "float32"), f: R.Callable((R.Tensor((4,)),), R.Tensor((4,))), o: R.Any, t: R.Tuple(R.Tensor, R.Tuple(R.Shape(ndim=2), R.Any))):
    m = n * 2
    y = R.zeros(R.shape([m + 1]), "float32")
    c = R.const([[1.5, 2], [3, 4]], "float16")
    k = t[1]
    return (y, m, c, k[0], R.const(np.arange(40)))
""",
)


class Attention(nn.Module):
    """A layer of a transformer."""

    def __init__(self) -> None:
        self.embed = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)
        self.query = nn.Linear(16, 16)

    def forward(self, ids: Any) -> Any:
        x = self.norm(self.embed(ids))
        q = self.query(x)
        a = nn.op.softmax(nn.op.matmul(q, nn.op.permute_dims(q, [0, 2, 1])), axis=-1)
        return nn.op.silu(nn.op.matmul(a, x))


class Convolution(nn.Module):
    """A convolution with what follows it."""

    def __init__(self) -> None:
        self.conv = nn.Conv2D(3, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x: Any) -> Any:
        return nn.op.relu(self.norm(self.conv(x)))


MODELS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "attention": (Attention, {"ids": nn.spec.Tensor([1, "s"], "int32")}),
    "convolution": (Convolution, {"x": nn.spec.Tensor([1, 3, 8, 8], "float32")}),
}
_LOWERED = ["LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite"]
PASSES = {
    "legalized": ["LegalizeOps"],
    "fused": ["LegalizeOps", "AnnotateTIROpPattern", "FuseOps"],
    "kernels": ["LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"],
    "decomposed": ["DecomposeOpsForInference"],
    "canonical": ["CanonicalizeBindings", "DeadCodeElimination"],
    "planned": [*_LOWERED, "StaticPlanBlockMemory"],
    "virtual": [*_LOWERED, "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin"],
    "mixed": ["ToMixedPrecision"],
    "flat": ["ConvertToDataflow", "ToNonDataflow", "AttachGlobalSymbol"],
    "lifted": ["LambdaLift"],
    "bundled": ["BundleModelParams"],
    "requested": ["LazyGetInput"],
    "split": ["LiftTransformParams"],
    "shapes": [*_LOWERED, "StaticPlanBlockMemory", "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower"],
}


def stages(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    """A module and what passes make of it, where they take it."""
    yield name, module
    for stage, passes in PASSES.items():
        made = module
        try:
            with tvm.target.Target("llvm"):
                for each in passes:
                    made = getattr(relax.transform, each)()(made)
        except Exception:
            continue
        yield f"{name}.{stage}", made


def graphs(step: int) -> Iterator[tuple[str, Any]]:
    """Modules with graph functions; of the operators one in `step`."""
    for name, (model, spec) in MODELS.items():
        module, _ = model().export_tvm(spec={"forward": spec})
        yield from stages(name, module)
    bodies = [f"@R.function\ndef main({PARAMS}):\n    z = {call}\n    return z\n" for call in CALLS[::step]]
    for at, text in enumerate((*PROGRAMS, *bodies)):
        made = from_source(text, extra_vars=NAMES)
        module = made if isinstance(made, tvm.IRModule) else tvm.IRModule({"main": made})
        yield from stages(f"graph{at}", module) if at % 8 == 0 else [(f"graph{at}", module)]
    for kind, params in enumerate(KNOWN_LESS):
        for at, call in enumerate(CALLS[:: step * 2]):
            try:
                made = from_source(
                    f"@R.function\ndef main({params}):\n    z = {call}\n    return z\n", extra_vars=NAMES
                )
            except Exception:
                continue  # it asks for more, or for another dtype
            yield f"known{kind}.{at}", tvm.IRModule({"main": made})


def names() -> list[str]:
    """What R has: functions, and those of its namespaces with dots."""
    found = [name for name in dir(R) if not name.startswith("_")]
    for group in ("nn", "builtin", "ccl", "grad", "image", "memory", "vision", "vm"):
        found += [f"{group}.{name}" for name in dir(getattr(R, group)) if not name.startswith("_")]
    return found
