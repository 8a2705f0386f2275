"""isl is loaded once, when it is first asked, and whole."""

from __future__ import annotations

import os
import subprocess
import sys

LOADED = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("islpy"):
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupts())
from tirscript.ir.arith.presburger.limits import context
try:
    context()
except KeyboardInterrupt:
    print("interrupted", "islpy._isl" in sys.modules)
sys.meta_path.pop(0)
context()
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_an_interrupt_waits_until_isl_is_loaded() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TIRSCRIPT_CHECK": "0"}
    done = subprocess.run([sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "interrupted True\nTrue\n"), done.stderr
