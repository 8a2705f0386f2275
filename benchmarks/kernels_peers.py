"""An environment of its own for numba, torch and onnxruntime, and processes that measure in it on command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import tvm_process

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv-peers"
PACKAGES = ("numpy", "numba>=0.61", "torch==2.13.0+cpu", "onnxruntime>=1.20", "onnx>=1.16,<2")
# where an index has no build for the CPU alone, the ordinary one computes the same, and is much larger
LARGER = tuple("torch==2.13.0" if name.startswith("torch") else name for name in PACKAGES)
TUNING = ("xgboost>=2,<4", "psutil>=5,<8", "cloudpickle>=3,<4", "tornado>=6,<7", "scipy>=1.11,<2")
QUIET, SPIN = 0.03, 2.0  # seconds without a tick after which a process counts as idle, and how long that is waited for
# the peers, and whose Python runs them
PEERS = {"tirscript": "own", "numpy": "peers", "numba": "peers", "torch": "peers", "onnxruntime": "peers", "tvm": "tvm"}


def python() -> str | None:
    """A Python that has the peers, or None (and why, on the standard error). TIRSCRIPT_PEERS_PYTHON names one."""
    given = tvm_process.named("TIRSCRIPT_PEERS_PYTHON")
    if given:
        return given
    ready, inside = ENVIRONMENT / "ready", str(ENVIRONMENT / "bin" / "python")
    if ready.exists():
        return inside
    base = sys.executable if sys.version_info[:2] == (3, 11) else shutil.which("python3.11") or sys.executable
    print("making an environment for numba, torch and onnxruntime, once ...", file=sys.stderr)
    install = [inside, "-m", "pip", "install", "--quiet"]
    done = subprocess.run([base, "-m", "venv", str(ENVIRONMENT)], capture_output=True, text=True)
    if not done.returncode:
        done = subprocess.run([*install, *PACKAGES], capture_output=True, text=True)
    if done.returncode:
        done = subprocess.run([*install, *LARGER], capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        print(f"the peers cannot be installed ({why}); their columns stay empty", file=sys.stderr)
        return None
    ready.touch()
    return inside


def for_tuning(interpreter: str) -> bool:
    """Whether apache-tvm can tune there; what it needs beside itself is installed where that is missing."""
    look = [interpreter, "-c", "import xgboost, psutil, cloudpickle"]
    if subprocess.run(look, capture_output=True).returncode == 0:
        return True
    done = subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *TUNING], capture_output=True, text=True)
    if done.returncode:
        print("what apache-tvm needs for tuning cannot be installed; that column stays empty", file=sys.stderr)
    return done.returncode == 0


def pythons() -> dict[str, str]:
    """The Python of each peer that can be had."""
    found = {"own": sys.executable, "peers": python(), "tvm": tvm_process.python()}
    return {peer: path for peer, where in PEERS.items() if (path := found[where]) is not None}


class Peer:
    """A process that measures one peer with so many threads."""

    def __init__(self, name: str, interpreter: str, threads: int) -> None:
        count = str(threads)
        names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "TVM", "TIRSCRIPT")
        environment = {**os.environ, **{f"{one}_NUM_THREADS": count for one in names}, "TIRSCRIPT_CACHE": "0"}
        self.name = name
        self.process = subprocess.Popen(
            [interpreter, str(HERE / "kernels_side.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self.version: str = self._answer()["version"]

    def ask(self, do: str, **given: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **given}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def settle(self) -> None:
        """Wait until the process does nothing: threads of a pool that spin for more work would take a processor from
        whoever is measured next. For SPIN seconds at most."""
        start = time.monotonic()
        before = self._ticks()
        while time.monotonic() - start < SPIN:
            time.sleep(QUIET)
            now = self._ticks()
            if now == before:
                break
            before = now

    def _ticks(self) -> int:
        """The processor time of all threads in ticks of the system (mostly 10 ms); 0 where it does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0
        return int(fields[11]) + int(fields[12])  # user and system time

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.name} ended; its message stands above")
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
