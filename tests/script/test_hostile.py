"""Hostile texts end in diagnostics within 1 GB each and do not hang, read by a process of their own under limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import hostile

SECONDS = 10.0  # none takes 2 on an idle machine; what grows with the square of a text takes minutes
GROUPS = 4
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
@pytest.mark.parametrize("group", range(GROUPS))
def test_hostile_texts_end_in_diagnostics(group: int) -> None:
    names = list(hostile.HOSTILE)[group::GROUPS]
    command = [sys.executable, hostile.__file__, *names]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TIRSCRIPT_CHECK": "0"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, errors="replace")
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, *_ in outcomes] == names, done.stderr
    wrong = [
        (name, outcome) for name, outcome, _ in outcomes if not outcome.startswith("diagnostics") or "T4" in outcome
    ]
    assert not wrong, done.stderr
    # seconds of the processor, so that a busy machine fails nothing
    assert [(name, seconds) for name, _, seconds in outcomes if seconds > SECONDS] == []
