"""How many processors this process may keep busy."""

from __future__ import annotations

import math
import os
from pathlib import Path


def processors() -> int:
    """How many processors this process may keep busy: those it may run on, no more than its control groups grant."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(allowed, cpu_quota())))


def cpu_quota(root: Path = Path("/")) -> float:
    """The processors' time a second that the control groups of this process grant it; infinite where they do not say.

    Reads the files of Linux (cgroups(7)), of both versions, below `root`.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return math.inf
    least = math.inf
    for line in lines:
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        folder = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        # each group around ours has a limit of its own; in a container, ours may be the root of what is mounted
        inner = Path(group.strip("/"))
        for part in (inner, *inner.parents):
            if ".." not in part.parts:
                least = min(least, _quota_of(folder / part))
    return least


def _quota_of(group: Path) -> float:
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()[:2]
        else:
            quota, period = ((group / f"cpu.cfs_{what}_us").read_text().strip() for what in ("quota", "period"))
        return math.inf if quota == "max" or int(quota) <= 0 or int(period) <= 0 else int(quota) / int(period)
    except (OSError, ValueError):
        return math.inf


__all__ = ["cpu_quota", "processors"]
