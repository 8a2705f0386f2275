"""The side with apache-tvm: reads a JSON command a line, answers a JSON line. It imports nothing of tirscript.

| command | answer |
|---|---|
| `["parse", text]` | `{"text": what TVM prints of it}` |
| `["equal", a, b]` | `{"equal": whether it parses both texts to equal functions}` |
| `["accepts", texts]` | `{"accepts": [whether TVM reads each text]}` |
| `["corpus", step]` | `{"texts": [[name, text]]}` of programs that the package makes: legalized operators, its tensor intrinsics, scheduled and lowered functions; of what tvm_corpus.py has one in `step` |
| `["same", number, text]` | `{"equal": whether a text is the function of that number of the corpus}` |
| `["readable", number]` | `{"readable": whether TVM reads its own text of it as that function}` |
| `["idle", number]` | `{"idle": whether it casts a value to the dtype that it has}` |
| `["buildable", number]` | `{"buildable": whether TVM compiles it for a CPU}` |
| `["graphs", step]` | `{"texts": [[name, text]]}` of modules with graph functions (tvm_graphs.py), of the operators one in `step` |
| `["same_graph", number, text]` | `{"equal": whether a text is the module of that number of them}` |
| `["readable_graph", number]` | `{"readable": whether TVM reads its own text of it as that module}` |
| `["graph_names"]` | `{"names": [what R has, with dots]}` |
| `["builds", text]` | the same of the function of a text |
| `["run", number, inputs]` | `{"outputs": the arrays after TVM has run it}`; an array is [dtype, shape, base64 of its bytes] |

Anything that fails answers {"error": message}. Functions are compared with each literal rounded to its dtype: TVM keeps
the digits of `T.float16(0.1)` beyond that, though they mean nothing.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import pkgutil
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import tvm
import tvm_corpus
import tvm_ffi
import tvm_graphs
from tvm import relax
from tvm.script import from_source

FLOATS = (((4, 8), "float32"), (("n", 8), "float32"), ((2, 3, 8, 8), "float16"), ((16,), "float64"))
OTHERS = (((16,), "int32"), ((3, 5), "int64"), ((7,), "bool"), ((4, 8), "uint8"), ((6,), "int8"))
LOWERING = (
    "LowerInitBlock",
    "PlanAndUpdateBufferAllocationLocation",
    "ConvertBlocksToOpaque",
    "CompactBufferAllocation",
    "LowerOpaqueBlock",
    "FlattenBuffer",
    "VectorizeLoop",
    "UnrollLoop",
)
CORPUS: list[Any] = []  # the functions of the texts that were handed out
GRAPHS: list[Any] = []  # and the modules


# --- making programs --------------------------------------------------------------------------------------------------


def functions(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    """The tensor functions of a module."""
    for variable, function in module.functions.items():
        if isinstance(function, tvm.tirx.PrimFunc):
            yield f"{name}.{variable.name_hint}", function


def legalized(operator: Callable[..., Any], arguments: tuple[tuple[Any, str], ...]) -> Any:
    """A module with one operator, made into tensor functions."""
    size = tvm.tirx.Var("n", "int64")
    builder = relax.BlockBuilder()
    variables = [
        relax.Var(f"x{at}", relax.TensorType([size if dim == "n" else dim for dim in shape], kind))
        for at, (shape, kind) in enumerate(arguments)
    ]
    with builder.function("main", variables):
        with builder.dataflow():
            output = builder.emit_output(builder.emit(operator(*variables)))
        builder.emit_func_output(output)
    return relax.transform.LegalizeOps()(builder.get())


def operators() -> Iterator[tuple[str, Any]]:
    """Every operator on several shapes and dtypes, as far as it takes them."""
    for space in (relax.op, relax.op.nn, relax.op.image):
        for name in sorted(dir(space)):
            operator = getattr(space, name)
            if name.startswith("_") or not callable(operator):
                continue
            for kind in (*FLOATS, *OTHERS):
                for count in (1, 2, 3):
                    try:
                        yield f"{name}/{count}", legalized(operator, (kind,) * count)
                    except Exception:
                        continue


def known() -> Iterator[tuple[str, Any]]:
    """Operators whose arguments need more than arrays of one shape; these are scheduled too."""
    f32, f16 = "float32", "float16"
    op, nn, image = relax.op, relax.op.nn, relax.op.image
    for name, operator, arguments in (
        ("matmul", op.matmul, ((("n", 64), f32), ((64, 128), f32))),
        ("batch_matmul", op.matmul, (((2, 16, 32), f32), ((2, 32, 16), f32))),
        ("gemv", op.matmul, (((1, 64), f16), ((64, 128), f16))),
        ("softmax", lambda a: nn.softmax(a, -1), ((("n", 64), f32),)),
        ("log_softmax", lambda a: nn.log_softmax(a, -1), (((4, 16), f32),)),
        ("layer_norm", lambda a, b, c: nn.layer_norm(a, b, c, [-1]), ((("n", 64), f32), ((64,), f32), ((64,), f32))),
        ("rms_norm", lambda a, b: nn.rms_norm(a, b, [-1]), (((4, 64), f16), ((64,), f16))),
        ("group_norm", lambda a, b, c: nn.group_norm(a, b, c, 2, 1, [2, 3]), (((2, 4, 6, 6), f32), ((4,), f32), ((4,), f32))),
        ("conv1d", nn.conv1d, (((1, 4, 16), f32), ((8, 4, 3), f32))),
        ("conv2d", nn.conv2d, (((1, 8, 16, 16), f32), ((16, 8, 3, 3), f32))),
        ("conv2d_strided", lambda a, b: nn.conv2d(a, b, strides=2, padding=1, dilation=2), (((1, 4, 15, 15), f32), ((6, 4, 3, 3), f32))),
        ("conv2d_grouped", lambda a, b: nn.conv2d(a, b, groups=2), (((1, 4, 8, 8), f32), ((6, 2, 3, 3), f32))),
        ("conv2d_nhwc", lambda a, b: nn.conv2d(a, b, data_layout="NHWC", kernel_layout="HWIO"), (((1, 8, 8, 4), f16), ((3, 3, 4, 6), f16))),
        ("conv2d_transpose", nn.conv2d_transpose, (((1, 4, 6, 6), f32), ((4, 6, 3, 3), f32))),
        ("conv3d", nn.conv3d, (((1, 2, 5, 5, 5), f32), ((3, 2, 3, 3, 3), f32))),
        ("max_pool2d", lambda a: nn.max_pool2d(a, (3, 3), padding=(1, 1)), (((1, 2, 8, 8), f32),)),
        ("avg_pool2d", lambda a: nn.avg_pool2d(a, (2, 2), strides=(2, 2)), (((1, 2, 8, 8), f32),)),
        ("adaptive_avg_pool2d", lambda a: nn.adaptive_avg_pool2d(a, (3, 3)), (((1, 2, 8, 8), f32),)),
        ("resize2d", lambda a: image.resize2d(a, (6, 6), method="linear"), (((1, 2, 4, 4), f32),)),
        ("resize2d_cubic", lambda a: image.resize2d(a, (6, 6), method="cubic"), (((1, 2, 4, 4), f32),)),
        ("attention", nn.attention, (((1, 8, 2, 16), f32),) * 3),
        ("pad", lambda a: nn.pad(a, [1, 1, 2, 2]), (((4, 8), f32),)),
        ("sum", lambda a: op.sum(a, axis=[1], keepdims=True), (((64, 64), f32),)),
        ("mean", lambda a: op.mean(a, axis=[0, 2]), (((4, 6, 8), f32),)),
        ("variance", lambda a: op.variance(a, axis=[1]), (((8, 8), f32),)),
        ("prod", lambda a: op.prod(a, axis=[-1]), (((4, 8), f32),)),
        ("argmax", lambda a: op.argmax(a, axis=1), (((4, 8), f32),)),
        ("cumsum", lambda a: op.cumsum(a, axis=1), (((4, 8), f32),)),
        ("cumprod", lambda a: op.cumprod(a, axis=0, dtype="int64"), (((4, 8), "int32"),)),
        ("topk", lambda a: op.topk(a, k=3), (((4, 8), f32),)),
        ("sort", lambda a: op.sort(a), (((4, 8), f32),)),
        ("transpose", lambda a: op.permute_dims(a, [1, 0]), (((64, 64), f32),)),
        ("reshape", lambda a: op.reshape(a, (8, 2, 4)), (((8, 8), f32),)),
        ("flip", lambda a: op.flip(a, axis=1), (((4, 8), f32),)),
        ("tile", lambda a: op.tile(a, (2, 3)), (((2, 4), f32),)),
        ("repeat", lambda a: op.repeat(a, 2, 1), (((2, 4), "int64"),)),
        ("strided_slice", lambda a: op.strided_slice(a, [0, 1], [1, 0], [3, 8], [1, 2]), (((4, 8), f32),)),
        ("split", lambda a: op.split(a, 2, 1), (((4, 8), f32),)),
        ("stack", lambda a, b: op.stack([a, b], 1), (((4, 8), f32), ((4, 8), f32))),
        ("concat", lambda a, b: op.concat([a, b], 0), (((4, 8), f32), ((3, 8), f32))),
        ("take", lambda a, b: op.take(a, b, 0), (((4, 8), f32), ((3,), "int32"))),
        ("gather_elements", lambda a, b: op.gather_elements(a, b, 1), (((4, 8), f32), ((4, 8), "int64"))),
        ("scatter_elements", lambda a, b, c: op.scatter_elements(a, b, c, 0), (((4, 8), f32), ((4, 8), "int64"), ((4, 8), f32))),
        ("gather_nd", lambda a, b: op.gather_nd(a, b), (((4, 8), f32), ((3, 2), "int64"))),
        ("one_hot", lambda a: op.one_hot(a, relax.PrimValue(1), relax.PrimValue(0), 8), (((4,), "int64"),)),
        ("where", op.where, (((4, 8), "bool"), ((4, 8), f32), ((4, 8), f32))),
        ("clip", lambda a: op.clip(a, 0, 6), (((4, 8), f32),)),
        ("astype", lambda a: op.astype(a, "int8"), (((4, 8), f32),)),
        ("astype_bool", lambda a: op.astype(a, "float16"), (((4, 8), "bool"),)),
        ("broadcast_to", lambda a: op.broadcast_to(a, (3, 4, 8)), (((4, 1), f32),)),
        ("einsum", lambda a, b: op.einsum((a, b), "ij,kj->ik"), (((4, 8), f32), ((5, 8), f32))),
        ("layout_transform", lambda a: op.layout_transform(a, index_map=lambda i, j: (j, i // 2, i % 2)), (((4, 8), f32),)),
        ("quantize", lambda a, b, c: op.quantize(a, b, c, 0, "int8"), (((4, 8), f32), ((4,), f32), ((4,), "int8"))),
        ("dequantize", lambda a, b, c: op.dequantize(a, b, c, 0, "float32"), (((4, 8), "int8"), ((4,), f32), ((4,), "int8"))),
        ("triu", lambda a: op.triu(a, 1), (((4, 8), f32),)),
        ("nll_loss", lambda a, b: nn.nll_loss(a, b), (((4, 8), f32), ((4,), "int64"))),
        ("leakyrelu", lambda a: nn.leakyrelu(a, 0.1), (((4, 8), f32),)),
        ("prelu", lambda a, b: nn.prelu(a, b), (((4, 8), f32), ((8,), f32))),
    ):  # fmt: skip
        try:
            yield name, legalized(operator, arguments)
        except Exception as problem:
            print(f"{name}: {problem}", file=sys.stderr)


def scheduled(name: str, module: Any) -> Iterator[tuple[str, Any]]:
    """A module scheduled for a GPU and for the host, and its functions at each step of lowering."""
    from tvm.s_tir import dlight

    for place, target, rules in (
        (
            "gpu",
            "nvidia/geforce-rtx-3090-ti",
            ("Matmul", "GEMV", "Reduction", "GeneralReduction", "Transpose", "Fallback"),
        ),
        ("cpu", "llvm", ("GEMV", "Reduction")),
    ):
        space = getattr(dlight, place)
        chosen = [getattr(space, rule)() for rule in rules if hasattr(space, rule)]
        with tvm.target.Target(target):
            try:
                made = dlight.ApplyDefaultSchedule(*chosen)(module)
            except Exception:
                continue
            yield from functions(f"{name}.{place}", made)
            for step in LOWERING:
                apply = getattr(tvm.s_tir.transform, step, None) or getattr(tvm.tirx.transform, step)
                try:
                    made = apply()(made)
                except Exception:
                    break
                yield from functions(f"{name}.{place}.{step}", made)


def intrinsics() -> Iterator[tuple[str, Any]]:
    """The library of tensor intrinsics: what each does, and how."""
    import tvm.s_tir.tensor_intrin as library

    for entry in pkgutil.iter_modules(library.__path__):
        try:
            module = importlib.import_module(f"{library.__name__}.{entry.name}")
        except Exception:
            continue
        for name, value in vars(module).items():
            if isinstance(value, tvm.tirx.PrimFunc):
                yield f"{entry.name}.{name}", value
            elif isinstance(value, str) and name.isupper():
                try:
                    intrinsic = tvm.s_tir.TensorIntrin.get(value)
                except Exception:
                    continue
                yield from ((f"{value}.desc", intrinsic.desc), (f"{value}.impl", intrinsic.impl))


def text_of(function: Any) -> str:
    """What TVM prints of a function, with what it prints apart: its strings of several lines."""
    return str(function.script(show_meta=True))


def corpus(step: int) -> list[tuple[str, str]]:
    """The name and text of each program, each text once; of tvm_corpus.py one in `step`."""
    found: dict[str, tuple[str, Any]] = {}

    def add(pairs: Iterator[tuple[str, Any]]) -> None:
        for name, function in pairs:
            found.setdefault(text_of(function), (name, function))

    add(intrinsics())
    for name, module in operators():
        add(functions(name, module))
    for name, module in known():
        add(functions(name, module))
        add(scheduled(name, module))
    more: dict[str, tuple[str, Any]] = {}
    for name, function in tvm_corpus.programs():
        text = text_of(function)
        if len(text) <= tvm_corpus.GREATEST and text not in found:
            more.setdefault(text, (name, function))
    found.update(list(more.items())[::step])
    CORPUS[:] = [function for _, function in found.values()]
    return [(name, text) for text, (name, _) in found.items()]


def graphs(step: int) -> list[tuple[str, str]]:
    """The name and text of each module with graph functions."""
    found = list(tvm_graphs.graphs(step))
    GRAPHS[:] = [module for _, module in found]
    return [(name, text_of(module)) for name, module in found]


def same_modules(left: Any, right: Any) -> bool:
    """Whether two modules are structurally equal, their literals rounded."""
    if tvm_ffi.structural_equal(left, right):
        return True
    return bool(tvm_ffi.structural_equal(rounded(left), rounded(right)))


def readable_graph(number: int) -> bool:
    """Whether TVM reads its own text as the module that it printed."""
    try:
        return same_modules(GRAPHS[number], graph_of(text_of(GRAPHS[number])))
    except BaseException:
        return False


def graph_of(text: str) -> Any:
    """The module that a text is."""
    return from_source(text, extra_vars=tvm_graphs.NAMES, check_well_formed=False)


# --- comparing and running --------------------------------------------------------------------------------------------


def rounded(function: Any) -> Any:
    """A function with each float literal as a number that stands for its value in its dtype, by way of its JSON."""
    graph = json.loads(tvm.ir.save_json(function))
    for node in graph["nodes"]:
        if node["type"] == "ir.FloatImm":
            kind = graph["nodes"][node["data"]["ty"]]["data"]["dtype"]
            with np.errstate(over="ignore"):
                value = float(np.dtype(getattr(ml_dtypes, kind, kind)).type(node["data"]["value"]))
            # a plain number for each pattern of bits: TVM writes infinities and denormals that it does not read
            node["data"]["value"] = float(int.from_bytes(struct.pack("<d", value), "little") % 4503599627370449)
    return tvm.ir.load_json(json.dumps(graph))


def same(left: Any, right: Any) -> bool:
    """Whether two functions are structurally equal."""
    if tvm_ffi.structural_equal(left, right):
        return True
    if not all(isinstance(side, tvm.tirx.PrimFunc) for side in (left, right)):
        return False
    return bool(tvm_ffi.structural_equal(rounded(left), rounded(right)))


def array(given: list[Any]) -> Any:
    """An array as the tests send it."""
    kind, shape, data = given
    dtype = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()


def compiled(function: Any) -> Any:
    """A function built for the CPU."""
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    return tvm.tirx.build(module, target="llvm")


def run(function: Any, inputs: list[Any]) -> list[list[Any]]:
    """The arrays after TVM has run a function on them."""
    tensors = [tvm.runtime.tensor(array(given)) for given in inputs]
    compiled(function)["main"](*tensors)
    outputs = [tensor.numpy() for tensor in tensors]
    return [[str(out.dtype), list(out.shape), base64.b64encode(out.tobytes()).decode()] for out in outputs]


def buildable(function: Any) -> bool:
    """Whether TVM compiles a function for the CPU."""
    try:
        compiled(function)
    except BaseException:
        return False
    return True


def idle(function: Any) -> bool:
    """Whether a function casts a value to the dtype that it has, by its JSON."""
    nodes = json.loads(tvm.ir.save_json(function))["nodes"]

    def dtype(node: Any) -> Any:
        return nodes[node["data"]["ty"]]["data"].get("dtype")

    casts = [node for node in nodes if node["type"] == "prim.Cast"]
    return any(dtype(node) == dtype(nodes[node["data"]["value"]]) for node in casts)


def accepts(text: str) -> bool:
    """Whether TVM reads a text, and may make a function of it that it can print."""
    try:
        from_source(text).script()
    except BaseException:
        return False
    return True


def readable(function: Any) -> bool:
    """Whether TVM reads its own text as the function that it printed."""
    try:
        return same(from_source(text_of(function)), function)
    except BaseException:
        return False


ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "parse": lambda text: {"text": from_source(text).script()},
    "equal": lambda left, right: {"equal": same(from_source(left), from_source(right))},
    "accepts": lambda texts: {"accepts": [accepts(text) for text in texts]},
    "corpus": lambda step: {"texts": corpus(step)},
    "same": lambda number, text: {"equal": same(CORPUS[number], from_source(text))},
    "readable": lambda number: {"readable": readable(CORPUS[number])},
    "idle": lambda number: {"idle": idle(CORPUS[number])},
    "buildable": lambda number: {"buildable": buildable(CORPUS[number])},
    "graphs": lambda step: {"texts": graphs(step)},
    "readable_graph": lambda number: {"readable": readable_graph(number)},
    "graph_names": lambda: {"names": tvm_graphs.names()},
    "same_graph": lambda number, text: {"equal": same_modules(GRAPHS[number], graph_of(text))},
    "builds": lambda text: {"buildable": buildable(from_source(text))},
    "run": lambda number, inputs: {"outputs": run(CORPUS[number], inputs)},
}


def main() -> None:
    """Answer until the input ends. TVM writes warnings where it likes; the answers have a stream of their own."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            what, *arguments = json.loads(line)
            reply = ANSWERS[what](*arguments)
        except BaseException as problem:  # TVM raises what is no Exception
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(reply), file=answers, flush=True)


main()
