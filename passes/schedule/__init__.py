"""Schedules: primitives that transform a program step by step."""

from . import intrinsics as _intrinsics  # noqa: F401  (fills the table of intrinsics)
from . import primitives as _primitives  # noqa: F401  (fills the table of primitives)
from .primitive import PRIMITIVES, BlockHandle, LoopHandle
from .refusal import ScheduleError
from .schedule import Schedule
from .tensor_intrin import TensorIntrin, register_tensor_intrin, tensor_intrins
from .trace import Trace

__all__ = [
    "PRIMITIVES",
    "BlockHandle",
    "LoopHandle",
    "Schedule",
    "ScheduleError",
    "TensorIntrin",
    "Trace",
    "register_tensor_intrin",
    "tensor_intrins",
]
