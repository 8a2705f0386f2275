"""Source to IR. `from tirscript.script import ir as I, tir as T` is the header of every program."""

from .entry import I as ir
from .entry import T as tir
from .entry import ir_module, parse, parse_all, parse_file, prim_func

__all__ = ["ir", "ir_module", "parse", "parse_all", "parse_file", "prim_func", "tir"]
