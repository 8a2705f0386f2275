"""A coverage-guided fuzzer of `tirscript.parse`: `make fuzz-parse MINUTES=30`.

Any bytes are a text. The property: reading it ends in programs or in diagnostics that render, and each program prints,
reads again, is equal, and prints the same; all of that in bounded time and 1 GB. What breaks it is written to
`build/fuzz/findings`, one file for each place that fails, and the exit status is 1.

The process started by hand makes the corpus and watches; the one it starts (`--child`) runs libFuzzer through atheris.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 10.0  # of the processor: code that counts its branches takes five times as long
MEGABYTES = 1024
LONGEST = 6000  # bytes of an input


class Finding(Exception):
    """The property does not hold."""


def check(data: bytes) -> int:
    """Raise where reading these bytes does anything but what it may; the number of programs they hold."""
    from tirscript.ir import DiagnosticError, structural_equal
    from tirscript.ir.verify import verify
    from tirscript.printer import script
    from tirscript.script import parse
    from tirscript.script.entry import parse_all
    from tirscript.script.source import decode

    try:
        found = parse_all(decode(data, "fuzz.py"))
    except DiagnosticError as problem:
        for diagnostic in problem.diagnostics:
            diagnostic.render()
            if diagnostic.code == "T499":
                raise (problem.__cause__ or problem) from None
        return 0
    for program in found.values():
        if verify(program):
            continue  # `check_well_formed=False` asked for no promises
        try:
            text = script(program)
        except DiagnosticError as problem:
            if all(diagnostic.code == "T004" for diagnostic in problem.diagnostics):
                continue  # nested too deeply to be text
            raise Finding(f"no text: {problem}") from problem
        try:
            again = parse(text)
        except DiagnosticError as problem:
            raise Finding(f"the text is refused: {problem}") from problem
        if not structural_equal(program, again):
            raise Finding("the text is another program")
        if script(again) != text:
            raise Finding("the text changes when it is printed again")
    return len(found)


def signature(problem: BaseException) -> str:
    """What tells findings apart: the kind of failure and where it is."""
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "tirscript" in frame.filename or "/script/" in frame.filename]
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours and not isinstance(problem, Finding) else ""
    words = re.sub(r"`[^`]*`|'[^']*'|\d+", "_", str(problem))
    if isinstance(problem, Finding):
        # the message of a diagnostic, without its place and source lines
        words = " ".join(line for line in words.split("\n") if "error[" in line) or words.split("\n")[0]
    return f"{type(problem).__name__} {where} {words[:120]}"


# --- the process that fuzzes ------------------------------------------------------------------------------------------


def fuzz(findings: Path, arguments: list[str]) -> None:
    """Run libFuzzer in this process."""
    import atheris

    # not what counts the items of long sequences, which takes a hundred times as long when its branches are counted
    with atheris.instrument_imports(include=["tirscript"], exclude=["tirscript.script.budget"]):
        import tirscript.printer
        import tirscript.script
        import tirscript.script.entry
    from mutate import mutate  # type: ignore[import-not-found]

    import tirscript.printer.tvm  # noqa: F401

    seen: set[str] = set()

    def one(data: bytes) -> None:
        started = time.thread_time()
        try:
            check(data)
            taken = time.thread_time() - started
            if taken > SECONDS:
                raise Finding(f"it takes more than {SECONDS} s")
        except Exception as problem:
            name = signature(problem)
            if name in seen:
                return
            seen.add(name)
            stem = hashlib.sha256(name.encode()).hexdigest()[:12]
            (findings / f"{stem}.py").write_bytes(data)
            report = "".join(traceback.format_exception(problem))
            (findings / f"{stem}.txt").write_text(f"{name}\n\n{report}", errors="replace")
            print(f"FINDING {stem}: {name}", file=sys.stderr, flush=True)

    atheris.Setup(
        [sys.argv[0], *arguments], one, custom_mutator=mutate(lambda data, limit: atheris.Mutate(data, limit))
    )
    atheris.Fuzz()


# --- the process that watches -----------------------------------------------------------------------------------------


def watch(minutes: float, folder: Path) -> int:
    """Make the corpus, fuzz for so long, report; the exit status."""
    from seeds import DICTIONARY, seeds  # type: ignore[import-not-found]

    corpus, findings = folder / "corpus", folder / "findings"
    for one in (corpus, findings):
        one.mkdir(parents=True, exist_ok=True)
    for old in findings.iterdir():
        old.unlink()
    if not any(corpus.iterdir()):
        for text in seeds():
            data = text.encode(errors="replace")
            if len(data) <= LONGEST:
                (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    (folder / "tokens").write_text("".join(f'"{_quoted(token)}"\n' for token in DICTIONARY))
    print(f"{len(list(corpus.iterdir()))} texts to begin with", flush=True)
    stop = time.monotonic() + minutes * 60
    runs = 0
    status = 0
    while (left := stop - time.monotonic()) > 5:
        done, ended = _child(folder, corpus, findings, left)
        runs += done
        if ended:
            print(f"the process ended with {ended}", flush=True)
            status = 1
            break
    found = sorted(findings.glob("*.txt"))
    for one in found:
        print(f"{one.with_suffix('.py')}: {one.read_text(errors='replace').splitlines()[0]}")
    print(f"{runs:,} executions in {minutes:g} minutes, {len(found)} findings")
    return 1 if found else status


def _quoted(token: str) -> str:
    return "".join(
        char
        if char.isascii() and char.isprintable() and char not in '"\\'
        else "".join(f"\\x{b:02x}" for b in char.encode())
        for char in token
    )


def _child(folder: Path, corpus: Path, findings: Path, seconds: float) -> tuple[int, int]:
    """One process that fuzzes: the number of its executions, and its exit status."""
    arguments = [
        f"-max_total_time={int(seconds)}",
        f"-max_len={LONGEST}",
        f"-rss_limit_mb={MEGABYTES}",
        "-timeout=300",  # wall-clock, on a machine that may be busy; SECONDS are of the processor
        f"-dict={folder / 'tokens'}",
        f"-artifact_prefix={findings}/",
        "-print_final_stats=1",
        "-use_value_profile=0",
        "-len_control=0",
        str(corpus),
    ]
    command = [sys.executable, __file__, "--child", str(findings), *arguments]
    here = str(Path(__file__).parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), here])}
    log = folder / "log"
    with log.open("a", errors="replace") as out:
        begun = out.tell()
        ended = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=env, check=False).returncode
    with log.open(errors="replace") as text:
        text.seek(begun)
        counts = re.findall(r"^(?:stat::number_of_executed_units:\s+|Done |#)(\d+)", text.read(), re.MULTILINE)
    return max(map(int, counts), default=0), ended


def main() -> int:
    """Fuzz, or check the files named."""
    if sys.argv[1:2] == ["--child"]:
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        fuzz(Path(sys.argv[2]), sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("files", nargs="*", type=Path, help="check these files only")
    given: Any = parser.parse_args()
    if given.files:
        for path in given.files:
            print(f"{path}: {check(path.read_bytes())} programs")
        return 0
    return watch(given.minutes, given.folder)


if __name__ == "__main__":
    sys.exit(main())
