"""What was measured of kernels as an SVG: bars of speed relative to ours, and rooflines."""

from __future__ import annotations

import math
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from kernels_report import CASES_BY_NAME, HAND, OURS, PLAIN, time_of

COLOURS = {
    OURS: "#1b6ca8",
    HAND: "#0b3c5d",
    PLAIN: "#a9c9e0",
    "numpy": "#7a9e3f",
    "numba": "#3f9e8c",
    "torch": "#d1602f",
    "onnxruntime": "#8c6bb1",
    "tvm": "#c9c9c9",
    "tvm scheduled": "#9a9a9a",
    "tvm tuned": "#5c5c5c",
}
WIDTH, LEFT, RIGHT, BAR, GAP = 1000, 220, 60, 7, 14
LONGEST = 2.0  # bars of what is faster than so many times ours are cut


def tag(name: str, inside: str = "", **attributes: Any) -> str:
    """An element; numbers are written with one digit, `_` in a name stands for `-`."""
    words = [
        f"{key.rstrip('_').replace('_', '-')}={quoteattr(f'{value:.1f}' if isinstance(value, float) else str(value))}"
        for key, value in attributes.items()
    ]
    return f"<{' '.join([name, *words])}>{inside}</{name}>"


def text(x: float, y: float, words: str, **attributes: Any) -> str:
    """Words at a place."""
    return tag("text", escape(words), x=x, y=y, **{"font_size": 12, **attributes})


def picture(result: dict[str, Any]) -> str:
    """The whole picture: for each number of threads, bars and a roofline."""
    parts: list[str] = []
    y = 30.0
    for threads, part in result["threads"].items():
        word = f"{threads} thread{'s' * (threads != '1')}"
        y = bars(parts, y, part["kernels"], f"Speed relative to tirscript, {word}")
        if "limits" in part:
            title = f"Roofline, {word}: GFLOP/s over FLOP per byte"
            y = roofline(parts, y + 20, part["kernels"], part["limits"], title)
        y += 30
    inside = "\n".join(["", tag("rect", width="100%", height="100%", fill="white"), *parts, ""])
    return (
        tag("svg", inside, xmlns="http://www.w3.org/2000/svg", width=WIDTH, height=y, font_family="sans-serif") + "\n"
    )


def bars(parts: list[str], y: float, kernels: dict[str, Any], title: str) -> float:
    """A bar for each variant beside ours, as long as it is fast; a line stands at our speed. Returns where it ends."""
    parts.append(text(10, y, title, font_weight="bold"))
    x, y = 10.0, y + 20
    for name, colour in COLOURS.items():
        if name != OURS and any(name in found for found in kernels.values()):
            parts.append(tag("rect", x=x, y=y - 9, width=10, height=10, fill=colour))
            parts.append(text(x + 14, y, name))
            x += 24 + 7.5 * len(name)
    y += 12
    scale = (WIDTH - LEFT - RIGHT) / LONGEST
    top = y
    for kernel, variants in kernels.items():
        mine = time_of(variants, OURS)
        if mine is None:
            continue
        speeds = {name: mine / time for name in COLOURS if name != OURS and (time := time_of(variants, name))}
        parts.append(text(10, y + len(speeds) * BAR / 2 + 4, kernel))
        for name, speed in speeds.items():
            hint = tag("title", escape(f"{kernel}: {name} {speed:.2f}"))
            width = min(speed, LONGEST) * scale
            parts.append(tag("rect", hint, x=LEFT, y=y, width=width, height=BAR - 1, fill=COLOURS[name]))
            y += BAR
        y += GAP
    line = LEFT + scale
    parts.append(tag("line", x1=line, y1=top, x2=line, y2=y, stroke=COLOURS[OURS], stroke_width=2))
    return y


def roofline(parts: list[str], y: float, kernels: dict[str, Any], limits: dict[str, float], title: str) -> float:
    """GFLOP/s over FLOP per byte, both logarithmic: the two limits, and a point for each kernel that computes."""
    points = []
    for kernel, variants in kernels.items():
        case, mine = CASES_BY_NAME.get(kernel), time_of(variants, OURS)
        if case is not None and mine is not None and case.flops and case.counted:
            points.append((case.flops / case.bytes, case.flops / mine, kernel))
    if not points:
        return y
    parts.append(text(10, y, title, font_weight="bold"))
    bandwidth = max(limits["copy"], limits["triad"], limits["read"])
    width, height, top = WIDTH - LEFT - RIGHT, 320, y + 15
    low, high = math.log10(0.05), math.log10(max(200.0, 2 * max(at for at, _, _ in points)))
    ceiling = math.log10(limits["flops"] * 2)
    floor = min(ceiling - 3, math.log10(min(speed for _, speed, _ in points)) - 0.1)

    def place(intensity: float, speed: float) -> tuple[float, float]:
        across = (math.log10(intensity) - low) / (high - low)
        up = (math.log10(speed) - floor) / (ceiling - floor)
        return LEFT + across * width, top + (1 - up) * height

    start = max(10**low, 10**floor / bandwidth)
    corner = limits["flops"] / bandwidth
    path = [place(start, start * bandwidth), place(corner, limits["flops"]), place(10**high, limits["flops"])]
    parts.append(tag("rect", x=LEFT, y=top, width=width, height=height, fill="none", stroke="#999"))
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in path)
    parts.append(tag("polyline", points=line, fill="none", stroke="black"))
    parts.append(text(LEFT + width - 150.0, path[1][1] - 6, f"{limits['flops'] / 1e9:.0f} GFLOP/s"))
    parts.append(text(LEFT + 6, top + 16, f"{bandwidth / 1e9:.1f} GB/s"))
    for intensity, speed, kernel in points:
        a, b = place(intensity, speed)
        hint = tag("title", escape(f"{kernel}: {speed / 1e9:.1f} GFLOP/s"))
        parts.append(tag("circle", hint, cx=a, cy=b, r=4, fill=COLOURS[OURS]))
        parts.append(text(a + 5, b + 3, kernel, font_size=8))
    return top + height + 20
