"""The machine that this runs on, as a target."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from .processors import processors
from .target import Target

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@cache
def host_target() -> Target:
    """This machine: its triple, processor and features as LLVM finds them, its cores and the sizes of its caches.

    Loads llvmlite. Sizes are those that the system tells; where it tells none, the options are left out.
    """
    import llvmlite.binding as llvm

    attrs: dict[str, Any] = {
        "mtriple": llvm.get_process_triple(),
        "mcpu": llvm.get_host_cpu_name(),
        "mattr": tuple(llvm.get_host_cpu_features().flatten().split(",")),
        "num-cores": processors(),
        **{f"l{level}-cache": size for level, size in cache_sizes(_CACHES).items()},
    }
    return Target.parse({"kind": "llvm", "keys": ["cpu"], **attrs})


def cache_sizes(folder: Path) -> dict[int, int]:
    """The bytes of the caches that hold data, by level, as Linux tells them in `folder`; none where it does not."""
    found: dict[int, int] = {}
    for one in sorted(folder.glob("index*")):
        try:
            kind = (one / "type").read_text().strip()
            level = int((one / "level").read_text())
            size = (one / "size").read_text().strip()
            if kind != "Instruction":
                found[level] = int(size.rstrip("KMG")) * _UNITS.get(size[-1:], 1)
        except (OSError, ValueError):
            continue
    return found


__all__ = ["cache_sizes", "host_target"]
