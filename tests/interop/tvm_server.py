"""The side with apache-tvm: reads a JSON command a line, answers a JSON line. It imports nothing of tirscript.

["parse", text] -> {"text": what TVM prints of it}; ["equal", a, b] -> {"equal": bool}; ["corpus"] -> {"texts": [[name, text]]},
programs that the package itself makes: legalized operators, its tensor intrinsics, scheduled and lowered functions.
Anything that fails answers {"error": message}.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.script import from_source

FLOATS = (((4, 8), "float32"), (("n", 8), "float32"), ((2, 3, 8, 8), "float16"), ((16,), "float64"))
OTHERS = (((16,), "int32"), ((3, 5), "int64"), ((7,), "bool"))
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


def function_texts(name: str, module: Any) -> Iterator[tuple[str, str]]:
    """The texts of the tensor functions of a module."""
    for variable, function in module.functions.items():
        if type(function).__name__ == "PrimFunc":
            yield f"{name}.{variable.name_hint}", function.script()


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
    f32 = "float32"
    nn = relax.op.nn
    for name, operator, arguments in (
        ("matmul", relax.op.matmul, ((("n", 64), f32), ((64, 128), f32))),
        ("gemv", relax.op.matmul, (((1, 64), "float16"), ((64, 128), "float16"))),
        ("softmax", lambda a: nn.softmax(a, -1), ((("n", 64), f32),)),
        ("layer_norm", lambda a, b, c: nn.layer_norm(a, b, c, [-1]), ((("n", 64), f32), ((64,), f32), ((64,), f32))),
        ("conv2d", nn.conv2d, (((1, 8, 16, 16), f32), ((16, 8, 3, 3), f32))),
        ("sum", lambda a: relax.op.sum(a, axis=[1], keepdims=True), (((64, 64), f32),)),
        ("transpose", lambda a: relax.op.permute_dims(a, [1, 0]), (((64, 64), f32),)),
        ("concat", lambda a, b: relax.op.concat([a, b], 0), (((4, 8), f32), ((3, 8), f32))),
        ("take", lambda a, b: relax.op.take(a, b, 0), (((4, 8), f32), ((3,), "int32"))),
    ):
        try:
            yield name, legalized(operator, arguments)
        except Exception:
            continue


def scheduled(name: str, module: Any) -> Iterator[tuple[str, str]]:
    """A module scheduled for a GPU and for the host, and its functions at each step of lowering."""
    from tvm.s_tir import dlight

    for place, target, rules in (
        ("gpu", "nvidia/geforce-rtx-3090-ti", ("Matmul", "GEMV", "Reduction", "GeneralReduction", "Transpose", "Fallback")),
        ("cpu", "llvm", ("GEMV", "Reduction", "Fallback")),
    ):
        space = getattr(dlight, place)
        chosen = [getattr(space, rule)() for rule in rules if hasattr(space, rule)]
        with tvm.target.Target(target):
            try:
                made = dlight.ApplyDefaultSchedule(*chosen)(module)
            except Exception:
                continue
            yield from function_texts(f"{name}.{place}", made)
            for step in LOWERING:
                apply = getattr(tvm.s_tir.transform, step, None) or getattr(tvm.tirx.transform, step, None)
                if apply is None:
                    continue
                try:
                    made = apply()(made)
                except Exception:
                    break
                yield from function_texts(f"{name}.{place}.{step}", made)


def corpus() -> list[tuple[str, str]]:
    """All texts, each once."""
    import tvm.s_tir.tensor_intrin as intrinsics

    found: list[tuple[str, str]] = []
    for entry in pkgutil.iter_modules(intrinsics.__path__):
        try:
            module = importlib.import_module(f"{intrinsics.__name__}.{entry.name}")
        except Exception:
            continue
        found += [(f"{entry.name}.{k}", v.script()) for k, v in vars(module).items() if type(v).__name__ == "PrimFunc"]
    for name, module in operators():
        found += function_texts(name, module)
        if "/" not in name:
            found += scheduled(name, module)
    return list({text: (name, text) for name, text in found}.values())


def answer(command: list[Any]) -> dict[str, Any]:
    """The answer to one command."""
    what, *arguments = command
    if what == "parse":
        return {"text": from_source(arguments[0]).script()}
    if what == "equal":
        left, right = map(from_source, arguments)
        return {"equal": bool(tvm_ffi.structural_equal(left, right))}
    return {"texts": corpus()}


def main() -> None:
    """Answer until the input ends. TVM writes warnings where it likes; the answers have a stream of their own."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except BaseException as problem:  # TVM raises what is no Exception
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(reply), file=answers, flush=True)


main()
