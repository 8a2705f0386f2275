"""tirscript: tensor programs as Python source you can read, transform and run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import backend, ir, passes, printer, script, testing
    from .backend.build import build
    from .backend.default_pipeline import default_pipeline
    from .backend.interpreter import interpret
    from .backend.runtime.blas import register_blas
    from .backend.runtime.library import register_library
    from .backend.runtime.loaded import load
    from .backend.runtime.threads import get_num_threads, set_num_threads
    from .backend.typing_extensions import jit
    from .ir.constant import ConstantStore, constant
    from .ir.constant_file import load_tensors, save_tensors
    from .ir.diagnostic import Diagnostic, DiagnosticError
    from .ir.graph_builder import BlockBuilder
    from .ir.target import Target
    from .ir.target_kinds import TargetKind, TargetOption, register_target_kind
    from .passes.schedule import Schedule, ScheduleError
    from .script import graph_func, ir_module, parse, parse_file, prim_func
    from .script.onnx import from_onnx, onnx_params

__version__ = "0.1.0"

# public names and where they are; loaded when asked for, so that importing this is quick
_NAMES = {
    "BlockBuilder": "ir.graph_builder",
    "ConstantStore": "ir.constant",
    "Diagnostic": "ir.diagnostic",
    "DiagnosticError": "ir.diagnostic",
    "Schedule": "passes.schedule",
    "ScheduleError": "passes.schedule",
    "Target": "ir.target",
    "TargetKind": "ir.target_kinds",
    "TargetOption": "ir.target_kinds",
    "build": "backend.build",
    "constant": "ir.constant",
    "default_pipeline": "backend.default_pipeline",
    "from_onnx": "script.onnx",
    "graph_func": "script",
    "get_num_threads": "backend.runtime.threads",
    "interpret": "backend.interpreter",
    "ir_module": "script",
    "jit": "backend.build",
    "load": "backend.runtime.loaded",
    "load_tensors": "ir.constant_file",
    "onnx_params": "script.onnx",
    "parse": "script",
    "parse_file": "script",
    "prim_func": "script",
    "register_blas": "backend.runtime.blas",
    "register_library": "backend.runtime.library",
    "save_tensors": "ir.constant_file",
    "register_target_kind": "ir.target_kinds",
    "set_num_threads": "backend.runtime.threads",
}

__all__ = [
    "BlockBuilder",
    "ConstantStore",
    "Diagnostic",
    "DiagnosticError",
    "Schedule",
    "ScheduleError",
    "Target",
    "TargetKind",
    "TargetOption",
    "build",
    "constant",
    "default_pipeline",
    "from_onnx",
    "get_num_threads",
    "graph_func",
    "interpret",
    "ir_module",
    "jit",
    "load",
    "load_tensors",
    "onnx_params",
    "parse",
    "parse_file",
    "prim_func",
    "register_blas",
    "register_library",
    "save_tensors",
    "register_target_kind",
    "set_num_threads",
]


# so that `import tirscript` is enough for `tirscript.script.parse` and `tirscript.passes.get_pass`
_PACKAGES = frozenset(("backend", "ir", "passes", "printer", "script", "testing"))


if not TYPE_CHECKING:  # who would take any name for one of ours

    def __getattr__(name: str) -> Any:
        where = _NAMES.get(name)
        if where is None and name not in _PACKAGES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        if where is None:
            return import_module(f".{name}", __name__)
        value = globals()[name] = getattr(import_module(f".{where}", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
