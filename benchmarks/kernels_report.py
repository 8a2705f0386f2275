"""What was measured of kernels, as numbers and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from kernels_cases import CASES, SMALL, Case
from rich.console import Console
from rich.table import Table

OURS, HAND, PLAIN = "tirscript", "by hand", "plain loops"
PEERS = ("numpy", "numba", "torch", "onnxruntime", "tvm", "tvm scheduled", "tvm tuned")
# what issue and reader ask for: how many times faster than a peer, as the geometric mean over the kernels
GOALS = {"torch": 1.15, "numba": 3.0, "tvm": 10.0, "tvm tuned": 1.5}
CASES_BY_NAME = {case.name: case for case in (*CASES, *SMALL)}
_READS = frozenset(("total", "argmax", "gemv", "histogram"))  # kinds that write next to nothing


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def time_of(variants: dict[str, Any], name: str) -> float | None:
    """The median time of a variant, None where it has none."""
    found = variants.get(name, {}).get("median")
    return None if found is None else float(found)


def ratio(variants: dict[str, Any], peer: str, ours: str = OURS) -> float | None:
    """How many times faster than a peer we are; None where one of both has no time."""
    mine, other = time_of(variants, ours), time_of(variants, peer)
    return None if mine is None or other is None else other / mine


def best_peer(variants: dict[str, Any]) -> str | None:
    """The fastest of the peers."""
    times = {name: time for name in PEERS if (time := time_of(variants, name)) is not None}
    return min(times, key=lambda name: times[name]) if times else None


def means(kernels: dict[str, Any], ours: str = OURS) -> dict[str, float]:
    """The geometric mean over the kernels of how many times faster than each peer we are."""
    found = {}
    for peer in PEERS:
        ratios = [ratio(variants, peer, ours) for name, variants in kernels.items() if _counted(name)]
        mean = geometric_mean(value for value in ratios if value is not None)
        if mean is not None:
            found[peer] = mean
    return found


def _counted(name: str) -> bool:
    return name not in CASES_BY_NAME or CASES_BY_NAME[name].counted


def least_time(case: Case, limits: dict[str, float]) -> tuple[float, str]:
    """The seconds in which the machine could do what a kernel cannot do without, and what bounds it: "compute" or
    "memory"."""
    bandwidth = limits["read"] if case.kind in _READS else max(limits["copy"], limits["triad"])
    compute, memory = case.flops / limits["flops"], case.bytes / bandwidth
    return (compute, "compute") if compute > memory else (memory, "memory")


def share_of_limit(case: Case, variants: dict[str, Any], limits: dict[str, float]) -> float | None:
    """Which part of the machine's limit ours reaches; above 1 where caches hold what is counted as memory."""
    mine = time_of(variants, OURS)
    return None if mine is None else least_time(case, limits)[0] / mine


def duration(seconds: float | None) -> str:
    """A time in three digits."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _number(value: float | None, form: str = "{:.2f}") -> str:
    return "-" if value is None else form.format(value)


def tables(result: dict[str, Any]) -> list[Table]:
    """Times of all variants, then how many times faster we are, for each number of threads."""
    made = []
    for threads, part in result["threads"].items():
        kernels, limits = part["kernels"], part.get("limits")
        present = [name for name in (PLAIN, OURS, HAND, *PEERS) if any(name in found for found in kernels.values())]
        word = f"{threads} thread{'s' * (threads != '1')}"
        times = Table(title=f"Median time of a call, {word}", title_justify="left")
        times.add_column("")
        for name in present:
            times.add_column(name, justify="right")
        for kernel, variants in kernels.items():
            times.add_row(
                kernel,
                *("wrong" if "wrong" in variants.get(n, {}) else duration(time_of(variants, n)) for n in present),
            )
        made.append(times)
        ratios = Table(title=f"Times faster than, {word}", title_justify="left")
        for name in ("", *(n for n in present if n in PEERS), PLAIN, "best peer", "of the limit", "bound by"):
            ratios.add_column(name, justify="left" if name in ("", "bound by") else "right")
        for kernel, variants in kernels.items():
            best = best_peer(variants)
            row = [_number(ratio(variants, name)) for name in present if name in PEERS]
            row += [_number(ratio(variants, PLAIN)), _number(None if best is None else ratio(variants, best))]
            if limits and kernel in CASES_BY_NAME:
                share = share_of_limit(CASES_BY_NAME[kernel], variants, limits)
                row += [_number(share, "{:.0%}"), least_time(CASES_BY_NAME[kernel], limits)[1]]
            else:
                row += ["-", ""]
            ratios.add_row(kernel, *row)
        mean = means(kernels)
        ratios.add_section()
        ratios.add_row("geometric mean", *(_number(mean.get(name)) for name in present if name in PEERS))
        ratios.add_row("goal", *(_number(GOALS.get(name)) for name in present if name in PEERS))
        made.append(ratios)
        first = Table(title=f"Until the first result, {word}: building, and one run", title_justify="left")
        first.add_column("")
        for name in present:
            first.add_column(name, justify="right")
        for kernel, variants in kernels.items():
            first.add_row(kernel, *(duration(variants.get(name, {}).get("first")) for name in present))
        made.append(first)
    return made


def markdown(result: dict[str, Any]) -> str:
    """The times of ours and how many times faster they are than each peer's, as tables for a page."""
    lines = []
    for threads, part in result["threads"].items():
        kernels, limits = part["kernels"], part.get("limits")
        peers = [name for name in PEERS if any(time_of(found, name) is not None for found in kernels.values())]
        lines += [f"{'one thread' if threads == '1' else f'{threads} threads'}:", ""]
        lines.append(f"| | {OURS} | {' | '.join(peers)} | {PLAIN} | {HAND} | of the limit |")
        lines.append("| --- |" + " --: |" * (len(peers) + 4))
        for kernel, variants in kernels.items():
            cells = [
                duration(time_of(variants, OURS)),
                *(_number(ratio(variants, name)) for name in (*peers, PLAIN, HAND)),
            ]
            case = CASES_BY_NAME.get(kernel)
            share = share_of_limit(case, variants, limits) if case is not None and limits and case.counted else None
            lines.append(f"| {kernel} | {' | '.join(cells)} | {_number(share, '{:.0%}')} |")
        mean = means(kernels)
        cells = ["", *(_number(mean.get(name)) for name in peers), "", "", ""]
        lines += [f"| geometric mean | {' | '.join(cells)} |", ""]
    return "\n".join(lines)


def show(result: dict[str, Any], console: Console | None = None) -> None:
    """Print everything."""
    out = console or Console()
    if not out.is_terminal:
        out = Console(file=out.file, width=200)
    about = result["machine"]
    out.print(f"{about['processor']}, {about['processors']} processors, load {about['load_at_start']:.1f} at the start")
    out.print(", ".join(f"{name} {version}" for name, version in result["versions"].items()))
    for threads, part in result["threads"].items():
        if "limits" in part:
            found = part["limits"]
            out.print(
                f"limits with {threads}: {found['flops'] / 1e9:.0f} GFLOP/s, read {found['read'] / 1e9:.1f}, "
                f"copy {found['copy'] / 1e9:.1f}, triad {found['triad'] / 1e9:.1f} GB/s"
            )
    for table in tables(result):
        out.print()
        out.print(table)
    for threads, part in result["threads"].items():
        for kernel, variants in part["kernels"].items():
            for name, found in variants.items():
                if "wrong" in found:
                    out.print(f"{kernel}, {threads}: {name}: {found['wrong']}", markup=False)
