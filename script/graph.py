"""`import tirscript.script.graph` gives the namespace G itself. What type checkers know of it is in graph.pyi."""

import sys
from typing import Any

from .entry import G

# the import system hands out, and keeps, what stands here when a module has been executed
modules: dict[str, Any] = sys.modules
modules[__name__] = G
