"""Passes over the constants of tensor functions."""

from __future__ import annotations

from .codecs import CODECS, Codec, register_codec
from .compress_constants import Compressed, compress_constants, compression_report, compression_table
from .compress_slices import compress_slices
from .constant_arena import constant_arena
from .constant_parameters import mark_constant_parameters
from .deduplicate_constants import deduplicate_constants
from .fold_constant import fold_constant
from .lift_constants import lift_constants, sink_constants
from .pack_constants import pack_constants
from .placement import FunctionMemory, MemoryReport, memory_report, place_of
from .slice_constants import slice_constants
from .sparsify_report import ConstantReport, constants_report, sparsify_report

__all__ = [
    "CODECS",
    "Codec",
    "Compressed",
    "ConstantReport",
    "FunctionMemory",
    "MemoryReport",
    "compress_constants",
    "compress_slices",
    "compression_report",
    "compression_table",
    "constant_arena",
    "constants_report",
    "deduplicate_constants",
    "fold_constant",
    "lift_constants",
    "mark_constant_parameters",
    "memory_report",
    "pack_constants",
    "place_of",
    "register_codec",
    "sink_constants",
    "slice_constants",
    "sparsify_report",
]
