"""Schedules: primitives that transform a program step by step."""

from . import primitives as _primitives  # noqa: F401  (fills the table of primitives)
from .primitive import PRIMITIVES, BlockHandle, LoopHandle
from .refusal import ScheduleError
from .schedule import Schedule
from .trace import Trace

__all__ = ["PRIMITIVES", "BlockHandle", "LoopHandle", "Schedule", "ScheduleError", "Trace"]
