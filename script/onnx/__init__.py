"""ONNX models as modules of graph functions: `from_onnx`, and their weights: `onnx_params`."""

from .importer import from_onnx, onnx_params

__all__ = ["from_onnx", "onnx_params"]
