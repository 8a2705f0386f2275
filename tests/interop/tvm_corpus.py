"""Programs that apache-tvm makes of itself beyond its operators: workloads, their designs, kernels of its models, and each of
these at every stage of its pipelines. Runs in the process of tvm_server.py."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tvm
from tvm import relax, te, topi

Pairs = Iterator[tuple[str, Any]]
GREATEST = 60_000  # characters of a text; the greatest are tens of thousands of lines of one unrolled loop
# workloads of its tuner, by sizes that run at once
WORKLOADS = {
    "conv1d_nlc": (1, 16, 4, 8, 3, 2, 1),
    "conv2d_nhwc": (1, 8, 8, 4, 8, 3, 2, 1),
    "conv3d_ndhwc": (1, 4, 6, 6, 4, 4, 3, 1, 1),
    "depthwise_conv2d_nhwc": (1, 8, 8, 8, 3, 1, 1),
    "conv2d_transpose_nhwc": (1, 4, 4, 8, 8, 4, 2, 1),
    "conv2d_capsule_nhwijc": (1, 6, 6, 4, 4, 3, 2, 1),
    "norm_bmn": (2, 8, 8),
    "conv2d_nhwc_bn_relu": (1, 8, 8, 4, 8, 3, 1, 1),
    "transpose_batch_matmul": (1, 16, 4, 16),
    "batch_matmul_nkkm": (2, 16, 16, 16),
    "matmul": (32, 32, 32),
    "matmul_relu": (32, 32, 32),
    "conv2d_nchw": (1, 8, 8, 4, 8, 3, 1, 1),
    "conv2d_nchw_bias_bn_relu": (1, 8, 8, 4, 8, 3, 1, 1),
    "max_pool2d_nchw": (1, 8, 8, 4, 1),
    "softmax_mn": (16, 16),
}
GPU = "nvidia/geforce-rtx-3090-ti"


def of_module(name: str, module: Any) -> Pairs:
    """The tensor functions of a module; all of it where they are several, since they call each other."""
    found = [(key, value) for key, value in module.functions.items() if isinstance(value, tvm.tirx.PrimFunc)]
    if len(found) > 1 and len(found) == len(module.functions):
        yield name, module
        return
    for variable, function in found:
        yield f"{name}.{variable.name_hint}", function


def stages(name: str, module: Any, target: str, pipeline: Any) -> Pairs:
    """The functions of a module after each pass of a pipeline, as far as it goes."""
    seen: list[tuple[str, Any]] = []

    @tvm.instrument.pass_instrument
    class Keep:
        def run_after_pass(self, module: Any, info: Any) -> None:
            seen.append((str(info.name), module))

    try:
        with tvm.target.Target(target), tvm.transform.PassContext(instruments=[Keep()]):
            pipeline(module)
    except Exception as problem:  # a device that this build has no code for: what came before counts
        seen.append((type(problem).__name__, tvm.IRModule()))
    for step, made in seen:
        if isinstance(made, tvm.IRModule):
            yield from of_module(f"{name}.{step}", made)
        elif isinstance(made, tvm.tirx.PrimFunc):
            yield f"{name}.{step}", made


def bound(function: Any, target: str) -> Any:
    """A module of a function for a machine."""
    described = tvm.target.Target(target, host="llvm")
    return tvm.IRModule({"main": function.with_attr({"global_symbol": "main", "target": described})})


def workloads() -> Iterator[tuple[str, Any]]:
    """The tuner's workloads as functions."""
    from tvm.s_tir.meta_schedule.testing import te_workload

    for name, sizes in WORKLOADS.items():
        try:
            yield name, te.create_prim_func(list(getattr(te_workload, name)(*sizes)))
        except Exception:
            continue


def designs(name: str, function: Any, count: int = 2) -> Pairs:
    """What the tuner's rules make of a workload for a host, a GPU, and one with matrix units."""
    from tvm.s_tir import meta_schedule

    for target, kind in (("llvm", "llvm"), (GPU, "cuda"), (GPU, "cuda-tensorcore")):
        try:
            context = meta_schedule.TuneContext(
                mod=tvm.IRModule({"main": function}),
                target=tvm.target.Target({"kind": "llvm", "num-cores": 4} if target == "llvm" else target),
                space_generator=meta_schedule.space_generator.PostOrderApply(
                    sch_rules=kind, postprocs=kind, mutator_probs=kind
                ),
                num_threads=1,
                rand_state=7,
            )
            spaces = context.generate_design_space()
        except Exception:
            continue
        for at, schedule in enumerate(itertools.islice(spaces, count)):
            yield f"{name}.{kind}.{at}", schedule.mod["main"]


def kernels() -> Pairs:
    """The kernels of its language models, made for a host and for a GPU."""
    rope: dict[str, Any] = {}
    gpu = tvm.target.Target(GPU)
    package = "tvm.relax.frontend.nn.llm"
    makers: list[tuple[str, str, tuple[Any, ...]]] = [
        ("_page_kernels", "_kv_cache_transpose_append", (4, 16, "float16")),
        ("_page_kernels", "_kv_cache_transpose_append_mla", (16, "float16")),
        ("_page_kernels", "_kv_cache_debug_get_kv", (2, 4, 16, "float16")),
        ("_page_kernels", "_kv_cache_debug_get_kv_mla", (2, 16, "float16")),
        ("_page_kernels", "_copy_single_page", (4, 16, 16, "float16", gpu)),
        ("_page_kernels", "_copy_single_page_mla", (16, 16, "float16", gpu)),
        ("_page_kernels", "_copy_single_page_cpu", (4, 16, 16, "float32")),
        ("_page_kernels", "_compact_kv_copy", (4, 16, "float16", gpu)),
        ("_page_kernels", "_compact_kv_copy_cpu", (4, 16, "float32")),
        ("_decode_kernels", "_attention_decode_cpu", (2, 4, 16, "float32", False, rope)),
        ("_decode_kernels", "_attention_decode_cpu", (2, 4, 16, "float32", True, rope)),
        ("_decode_kernels", "_attention_decode", (4, 8, 64, "float16", False, rope, gpu)),
        ("_decode_kernels", "_merge_state_inplace_cpu", ("float32",)),
        ("_decode_kernels", "_merge_state_inplace", (4, 64, "float16", gpu)),
        ("_prefill_kernels", "_attention_prefill_cpu", (2, 4, 16, "float32", False, rope)),
        ("_prefill_kernels", "_attention_prefill", (4, 8, 64, "float16", False, rope, gpu)),
        ("_prefill_kernels", "_attention_sequence_prefill", (4, 8, 64, "float16", gpu)),
        ("_prefill_kernels", "_attention_sequence_prefill_with_mask", (4, 8, 64, "float16", gpu)),
        ("_prefill_kernels", "_attention_prefill_ragged_cpu", (2, 4, 16, 16, "float32", rope)),
        ("_prefill_kernels", "_attention_prefill_ragged", (4, 8, 64, 64, "float16", rope, gpu)),
        ("_prefill_kernels", "_attention_prefill_mla", (8, 128, 64, "float16", False, gpu)),
        ("tree_attn", "tree_attn_cpu", (2, 4, 16, "float32", rope)),
        ("tree_attn", "tree_attn", (4, 8, 64, "float16", rope, gpu)),
        ("tree_attn", "tree_attn_with_paged_kv_cache_cpu", (2, 4, 16, "float32", rope)),
        ("tree_attn", "tree_attn_with_paged_kv_cache", (4, 8, 64, "float16", rope, gpu)),
        ("position_embedding", "llama_rope_with_position_map", (10000.0, 1.0, 64, 4, 2, "float16", rope)),
        ("position_embedding", "llama4_rope_with_position_map", (10000.0, 1.0, 64, 4, 2, "float16", rope)),
    ]
    for module, maker, arguments in makers:
        try:
            made = getattr(importlib.import_module(f"{package}.{module}"), maker)(*arguments)
        except Exception:
            continue
        if isinstance(made, tvm.tirx.PrimFunc):
            yield f"{maker}{len(arguments)}", made
    for module, maker, arguments in (
        ("tvm.relax.backend.gpu_generic.cumsum", "gpu_2d_continuous_cumsum", ()),
        ("tvm.relax.backend.gpu_generic.sampling", "gpu_multinomial_from_uniform", ()),
        ("tvm.relax.backend.gpu_generic.sampling", "generic_get_sample_index", ()),
    ):
        try:
            yield maker, getattr(importlib.import_module(module), maker)(*arguments)
        except Exception:
            continue


def expressions() -> Pairs:
    """What its library of operators computes, without the graph around it."""
    f = te.placeholder((4, 8), "float32", "f")
    g = te.placeholder((4, 8), "float32", "g")
    i = te.placeholder((4, 8), "int32", "i")
    picture = te.placeholder((1, 4, 8, 8), "float32", "picture")
    weight = te.placeholder((4, 4, 3, 3), "float32", "weight")
    n = te.var("n", "int64")
    open_ = te.placeholder((n, 8), "float32", "open")
    unary = "exp log sqrt rsqrt tanh sigmoid erf floor ceil round trunc abs sin cos tan asin acos atan sinh cosh asinh acosh atanh log2 log10 isnan isinf isfinite sign negative identity fast_exp fast_tanh fast_erf"
    binary = "add subtract multiply divide floor_divide mod floor_mod maximum minimum power left_shift right_shift bitwise_and bitwise_or bitwise_xor greater less equal not_equal greater_equal less_equal logical_and"
    reduced = "sum max min prod argmax argmin all any"
    makers: list[tuple[str, Callable[[], Any], list[Any]]] = []
    for word in unary.split():
        for place in (f, open_, i):
            makers.append(
                (f"{word}.{place.op.name}", lambda word=word, place=place: getattr(topi, word)(place), [place])
            )
    for word in binary.split():
        for a, b in ((f, g), (i, i), (f, open_)):
            makers.append(
                (
                    f"{word}.{a.op.name}",
                    lambda word=word, a=a, b=b: getattr(topi, word)(a, b),
                    list(dict.fromkeys((a, b))),
                )
            )
    for word in reduced.split():
        for place, axis in itertools.product((f, i), (0, 1, None)):
            makers.append(
                (f"{word}.{axis}", lambda word=word, place=place, axis=axis: getattr(topi, word)(place, axis), [place])
            )
    makers += [
        ("conv2d", lambda: topi.nn.conv2d(picture, weight, 1, 1, 1), [picture, weight]),
        ("depthwise", lambda: topi.nn.depthwise_conv2d_nchw(picture, te.placeholder((4, 1, 3, 3), "float32", "depth"), 1, 1, 1), [picture]),
        ("dense", lambda: topi.nn.dense(f, g), [f, g]),
        ("pool", lambda: topi.nn.pool2d(picture, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"), [picture]),
        ("softmax", lambda: topi.nn.softmax(f), [f]),
        ("lrn", lambda: topi.nn.lrn(picture, 3), [picture]),
        ("upsampling", lambda: topi.nn.upsampling(picture, 2, 2, method="bilinear"), [picture]),
        ("space_to_depth", lambda: topi.nn.space_to_depth(picture, 2), [picture]),
        ("dilate", lambda: topi.nn.dilate(f, (2, 2)), [f]),
        ("matmul", lambda: topi.matmul(f, topi.transpose(g)), [f, g]),
        ("scan", lambda: topi.cumsum(f, 1), [f]),
        ("sort", lambda: topi.sort(f), [f]),
        ("topk", lambda: topi.topk(f, 2), [f]),
        ("searchsorted", lambda: topi.searchsorted(f, g), [f, g]),
        ("sequence_mask", lambda: topi.sequence_mask(f, te.placeholder((8,), "int32", "valid"), axis=0), [f]),
        ("einsum", lambda: topi.einsum("ij,kj->ik", f, g), [f, g]),
        ("tile", lambda: topi.tile(f, (2, 2)), [f]),
        ("meshgrid", lambda: topi.meshgrid([te.placeholder((3,), "float32", "p")], "ij"), []),
        ("matrix_set_diag", lambda: topi.matrix_set_diag(f, te.placeholder((4,), "float32", "d")), [f]),
        ("unravel", lambda: topi.unravel_index(te.placeholder((4,), "int32", "flat"), te.placeholder((2,), "int32", "dims")), []),
    ]  # fmt: skip
    for name, make, places in makers:
        try:
            made = make()
            outputs = list(made) if isinstance(made, (list, tuple)) else [made]
            inputs = _placeholders(outputs) or places
            yield f"topi.{name}", te.create_prim_func([*inputs, *outputs])
        except Exception:
            continue


def _placeholders(outputs: list[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    stack = list(outputs)
    while stack:
        tensor = stack.pop()
        if isinstance(tensor.op, te.PlaceholderOp):
            found.setdefault(tensor.op.name, tensor)
        stack += list(tensor.op.input_tensors)
    return list(found.values())


def models() -> Pairs:
    """Graphs of several operators, which its pipelines fuse into functions."""
    x = relax.Var("x", relax.TensorType((2, 16), "float32"))
    w = relax.Var("w", relax.TensorType((16, 16), "float32"))
    b = relax.Var("b", relax.TensorType((16,), "float32"))
    op = relax.op
    bodies: list[tuple[str, Callable[[Any], Any]]] = [
        ("linear", lambda emit: emit(op.nn.relu(emit(op.add(emit(op.matmul(x, w)), b))))),
        ("gate", lambda emit: emit(op.multiply(emit(op.nn.silu(emit(op.matmul(x, w)))), x))),
        ("norm", lambda emit: emit(op.add(emit(op.nn.layer_norm(x, b, b, [-1])), x))),
        ("soft", lambda emit: emit(op.nn.softmax(emit(op.divide(emit(op.matmul(x, w)), relax.const(4.0, "float32")))))),
        ("sum", lambda emit: emit(op.sqrt(emit(op.sum(emit(op.square(x)), axis=[1]))))),
        ("turned", lambda emit: emit(op.add(emit(op.permute_dims(emit(op.add(x, x)))), relax.const(1.0, "float32")))),
    ]
    for name, body in bodies:
        builder = relax.BlockBuilder()
        try:
            with builder.function("main", [x, w, b]):
                with builder.dataflow():
                    output = builder.emit_output(body(builder.emit))
                builder.emit_func_output(output)
            module = builder.get()
        except Exception:
            continue
        yield from stages(f"model.{name}", module, "llvm", relax.get_pipeline("zero"))


def programs() -> Pairs:
    """All of these, and what the pipelines make of some."""

    def lowering(kind: str) -> Any:
        pipeline, host, _ = tvm.tirx.get_tir_pipeline(kind)
        return lambda module: host()(pipeline(module))

    small: list[tuple[str, Any]] = []
    for name, function in workloads():
        yield name, function
        small.append((name, function))
        for design, made in designs(name, function):
            yield design, made
            if design.endswith(".0"):
                target = "llvm" if ".llvm." in design else GPU
                yield from stages(f"{design}.s_tir", bound(made, target), target, lowering("s_tir"))
    for name, function in expressions():
        yield name, function
        small.append((name, function))
    for name, function in small[::6]:
        yield from stages(f"{name}.s_tir", bound(function, "llvm"), "llvm", lowering("s_tir"))
        tiles = function.without_attr("s_tir") if "s_tir" in function.attrs else function
        yield from stages(f"{name}.default", bound(tiles, "llvm"), "llvm", lowering("default"))
    for name, function in kernels():
        yield name, function
        target = "llvm" if "_cpu" in name else GPU
        yield from stages(f"{name}.s_tir", bound(function, target), target, lowering("s_tir"))
    yield from models()
