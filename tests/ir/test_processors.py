"""How many processors this process may use: those it is bound to, and what its control groups leave of them."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from tirscript.ir import processors

GROUPS: dict[str, tuple[str, dict[str, str], float]] = {
    "none": ("0::/", {}, math.inf),
    "no limit": ("0::/a", {"a/cpu.max": "max 100000\n"}, math.inf),
    "a limit": ("0::/a", {"a/cpu.max": "150000 100000\n"}, 1.5),
    "that of a group around": ("0::/a/b", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "300000 100000"}, 1.5),
    "that of the whole": ("0::/a/b", {"cpu.max": "50000 100000"}, 0.5),
    "of version 1": (
        "4:memory:/a\n3:cpu,cpuacct:/a\n0::/",
        {"cpu/a/cpu.cfs_quota_us": "250000\n", "cpu/a/cpu.cfs_period_us": "100000\n"},
        2.5,
    ),
    "none in version 1": (
        "3:cpu,cpuacct:/a",
        {"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"},
        math.inf,
    ),
    "of another controller": ("4:memory:/a", {"cpu/a/cpu.max": "50000 100000"}, math.inf),
    "what nobody can read": ("0::/a\nnonsense\n", {"a/cpu.max": "much\n"}, math.inf),
    "a group that is not visible": ("0::/../../a", {"cpu.max": "max 100000"}, math.inf),
}


@pytest.mark.parametrize("case", GROUPS)
def test_control_groups_limit_the_processors(case: str, tmp_path: Path) -> None:
    groups, files, expected = GROUPS[case]
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, content in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    assert processors.cpu_quota(tmp_path) == expected
    assert processors.cpu_quota(tmp_path / "nowhere") == math.inf


def test_a_quota_is_rounded_up_to_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for quota, count in ((math.inf, 8), (0.2, 1), (2.0, 2), (2.5, 3), (100.0, 8)):
        monkeypatch.setattr(processors, "cpu_quota", lambda quota=quota: quota)
        assert processors.processors() == count
