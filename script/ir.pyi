"""Modules.

Written by `.ci/stubs.py` from the tables that the parser reads; `make stubs` writes it again.
"""

from typing import Any

from tirscript.ir.module import Module

from .graph_names import TypeForm

def ir_module(cls: type) -> Module:
    """Read the decorated class as a module; the name then stands for its `Module`."""

def dummy_global_info() -> Any:
    """an empty entry of `I.module_global_infos`"""

def module_attrs(attributes: dict[str, Any], /) -> None:
    """attributes of the module: `I.module_attrs({...})`"""

def module_global_infos(infos: dict[str, Any], /) -> None:
    """devices: `I.module_global_infos({...})`"""

def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> Any:
    """a device of the module: `I.vdevice("llvm", 0, "global")`"""

StringType: TypeForm
"""the type of a string"""
