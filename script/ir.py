"""`import tirscript.script.ir` gives the namespace I itself. What type checkers know of it is in ir.pyi."""

import sys
from typing import Any

from .entry import I

# the import system hands out, and keeps, what stands here when a module has been executed
modules: dict[str, Any] = sys.modules
modules[__name__] = I
