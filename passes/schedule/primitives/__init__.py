"""The schedule primitives, one file a concept; importing this fills the table `PRIMITIVES`."""

from __future__ import annotations

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
