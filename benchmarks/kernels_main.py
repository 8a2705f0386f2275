"""`make bench-kernels`: the kernels of kernels_cases.py beside their peers and the machine's limits, in one run.

Each peer is a process of its own. They take turns: of every kernel each variant is prepared and compared with numpy,
then measured once a round, and the median of the rounds counts, first with one thread, then with all.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import kernels_picture
import kernels_report
from kernels_cases import CASES, SMALL, Case
from kernels_peers import PEERS, Peer, for_tuning, pythons
from kernels_report import CASES_BY_NAME
from kernels_side import SLOW


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="benchmarks kernels", description=__doc__)
    parser.add_argument("--kernels", metavar="PATTERN,...", help="only kernels whose names match, as in `matmul*,sum*`")
    parser.add_argument("--peers", metavar="NAME,...", help=f"only these of {', '.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=7, help="how often each variant is measured (7)")
    parser.add_argument("--threads", metavar="N,...", help="numbers of threads (1 and all)")
    parser.add_argument(
        "--patience", type=float, metavar="SECONDS", default=20, help="leave out what takes longer for a run (20)"
    )
    parser.add_argument("--quick", action="store_true", help="small kernels and two rounds: to see that it works")
    parser.add_argument(
        "--tune", type=float, metavar="SECONDS", default=0, help="let apache-tvm tune each kernel, a round at least"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="write bars and rooflines as SVG")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table of docs/benchmarks.md")
    parser.add_argument("--from", type=Path, metavar="FILE", dest="measured", help="show what --json wrote before")
    return parser.parse_args(given)


def cases(options: argparse.Namespace) -> list[Case]:
    """The kernels that are asked for; SystemExit where the patterns match none."""
    every = SMALL if options.quick else CASES
    patterns = options.kernels.split(",") if options.kernels else ["*"]
    chosen = [case for case in every if any(fnmatch.fnmatch(case.name, pattern) for pattern in patterns)]
    if not chosen:
        raise SystemExit(f"no kernel matches {options.kernels}; there are: {', '.join(case.name for case in every)}")
    return chosen


def measure(case: Case, peers: dict[str, Peer], options: dict[str, Any], rounds: int) -> dict[str, Any]:
    """All variants of one kernel: their times by round, or what is wrong with them."""
    found: dict[str, dict[str, Any]] = {}
    owners: dict[str, Peer] = {}
    for peer in peers.values():
        prepared = peer.ask("prepare", case=case.name, options=options)
        peer.settle()
        for variant, answer in prepared.items():
            found[variant] = answer
            if "wrong" not in answer and answer["seconds"][0] < SLOW:
                owners[variant] = peer
                answer["seconds"] = []
    for _ in range(rounds):
        for variant, peer in owners.items():
            found[variant]["seconds"].append(peer.ask("run", variant=variant)["seconds"])
            peer.settle()
    for answer in found.values():
        if "wrong" not in answer:
            answer["median"] = median(answer["seconds"])
    return found


def too_slow(case: Case, done: dict[str, Any], patience: float) -> list[str]:
    """The variants that would take longer than `patience` seconds a run, by what each took for the largest kernel of
    the kind that was measured."""
    expected: dict[str, float] = {}
    alike = [CASES_BY_NAME[name] for name in done if CASES_BY_NAME[name].kind == case.kind]
    for other in sorted(alike, key=lambda one: one.flops):
        for variant, times in done[other.name].items():
            if "median" in times and other.flops:
                expected[variant] = times["median"] * case.flops / other.flops
    return sorted(variant for variant, seconds in expected.items() if seconds > patience)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything."""
    chosen, rounds = cases(options), 2 if options.quick else options.rounds
    everybody = pythons()
    if options.peers:
        everybody = {name: path for name, path in everybody.items() if name in options.peers.split(",")}
    all_threads = len(os.sched_getaffinity(0))
    counts = [int(n) for n in options.threads.split(",")] if options.threads else sorted({1, all_threads})
    tune = options.tune if options.tune and "tvm" in everybody and for_tuning(everybody["tvm"]) else 0
    result: dict[str, Any] = {"machine": machine(), "rounds": rounds, "tuned_seconds": tune, "threads": {}}
    result["started"] = time.strftime("%Y-%m-%d %H:%M:%S")
    for threads in counts:
        peers = {name: Peer(name, path, threads) for name, path in everybody.items()}
        result["versions"] = {name: peer.version for name, peer in peers.items()}
        try:
            part: dict[str, Any] = {"kernels": {}}
            if "tirscript" in peers:
                part["limits"] = peers["tirscript"].ask("limits", threads=threads)
            result["threads"][str(threads)] = part
            for case in chosen:
                print(f"{case.name}, {threads} thread{'s' * (threads > 1)} ...", file=sys.stderr, flush=True)
                skip = too_slow(case, part["kernels"], options.patience)
                given = {"threads": threads, "tune": tune, "skip": skip, **target(case)}
                part["kernels"][case.name] = measure(case, peers, given, rounds)
                if options.json:
                    options.json.write_text(json.dumps(result, indent=1) + "\n")
            if "tirscript" in peers:  # again, as others may have used the machine at the first time
                again = peers["tirscript"].ask("limits", threads=threads)
                part["limits"] = {name: max(value, again[name]) for name, value in part["limits"].items()}
        finally:
            for peer in peers.values():
                peer.close()
        result["load_at_end"] = os.getloadavg()[0]
    return result


def target(case: Case) -> dict[str, Any]:
    """What apache-tvm must know: the loops as text, and the processor as tirscript sees it."""
    from kernels_ours import naive

    from tirscript.backend.llvm.host import host

    here = host()
    text = naive(case).script(dialect="tvm")
    return {"text": text, "triple": here.triple, "cpu": here.cpu, "features": here.features}


def machine() -> dict[str, Any]:
    """What the measurements were made on."""
    name = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    return {
        "processor": name or platform.processor(),
        "processors": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_at_start": os.getloadavg()[0],
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def main(given: Sequence[str]) -> None:
    """Measure and show, or show what was measured."""
    options = arguments(given)
    for file in filter(None, (options.json, options.picture, options.markdown)):
        file.parent.mkdir(parents=True, exist_ok=True)
    result = json.loads(options.measured.read_text()) if options.measured else run(options)
    if options.json and not options.measured:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    kernels_report.show(result)
    if options.markdown:
        options.markdown.write_text(kernels_report.markdown(result))
    if options.picture:
        options.picture.write_text(kernels_picture.picture(result))


if __name__ == "__main__":
    main(sys.argv[1:])
