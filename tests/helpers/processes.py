"""Programs that tests run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in another process."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    path = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**kept, "PYTHONPATH": path, "TIRSCRIPT_CHECK": "0", **environment},
    )
