"""Modules.

Written by `.ci/stubs.py` from the tables that the parser reads; `make stubs` writes it again.
"""

from typing import Any

from tirscript.ir.module import Module

def ir_module(cls: type) -> Module:
    """Read the decorated class as a module; the name then stands for its `Module`."""

def module_attrs(attributes: dict[str, Any], /) -> None:
    """attributes of the module: `I.module_attrs({...})`"""
