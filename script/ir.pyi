"""Modules.

Written by `.ci/stubs.py` from the tables that the parser reads; `make stubs` writes it again.
"""

from collections.abc import Callable
from typing import Any, overload

from tirscript.ir.module import Module

from .graph_names import TypeForm

@overload
def ir_module(cls: type) -> Module:
    """Read the decorated class as a module; the name then stands for its `Module`.

    `check_well_formed=False` leaves the verifier out for functions that do not say it themselves; `s_tir` is TVM's and
    means nothing here. Raises DiagnosticError with every mistake that was found.
    """

@overload
def ir_module(*, check_well_formed: bool = True, s_tir: bool = True) -> Callable[[type], Module]:
    """Read the decorated class as a module; the name then stands for its `Module`.

    `check_well_formed=False` leaves the verifier out for functions that do not say it themselves; `s_tir` is TVM's and
    means nothing here. Raises DiagnosticError with every mistake that was found.
    """

def Range(begin: Any, end: Any) -> Any:
    """numbers of devices: `I.Range(0, 4)`"""

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
