"""`import tirscript.script.tir` gives the namespace T itself. What type checkers know of it is in tir.pyi."""

import sys
from typing import Any

from .entry import T

# the import system hands out, and keeps, what stands here when a module has been executed
modules: dict[str, Any] = sys.modules
modules[__name__] = T
