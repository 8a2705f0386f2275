"""The page that shows what every pass of a pipeline does, down to assembly. The command is `tirscript view`."""

from .page import page
from .stages import Stage, run_stages

__all__ = ["Stage", "page", "run_stages"]
