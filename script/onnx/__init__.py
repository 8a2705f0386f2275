"""ONNX models as modules of graph functions: `from_onnx`."""

from .importer import from_onnx

__all__ = ["from_onnx"]
