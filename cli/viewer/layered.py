"""Places for the nodes of a drawing: layers from top to bottom, few crossings, straight edges.

The method of Sugiyama, Tagawa and Toda ("Methods for visual understanding of hierarchical system structures", 1981):
nodes are put into layers, edges over several layers get a bend in each of these, the order within the layers is
improved by the mean places of the neighbors, and each layer then lies as near below and above its neighbors as its
widths allow (isotonic regression, by pooling adjacent violators).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

GAP = 26.0  # between nodes of a layer, pixels
BEND_GAP = 14.0  # beside an edge that passes through a layer
LAYER_GAP = 30.0  # between layers
LONGEST = 24  # layers that an edge may pass; what goes farther is `cut`
SWEEPS = 8


class Layout(NamedTuple):
    """`places` are the middle and the top of each node; `paths` the points between the ends of each edge.

    A path goes straight down beside the nodes of a layer and turns between two layers: its points are the bottom of the
    layer of the first node, then the top and the bottom of each layer that it passes.
    """

    places: list[tuple[float, float]]
    paths: list[list[tuple[float, float]]]
    width: float
    height: float


def layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node, below all that it takes.

    What the source of the longest path leads to stands as high as it can; all else, such as what is made of weights,
    just above what takes it. Nodes come in an order in which edges go forward.
    """
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for start, stop in edges:
        above[stop].append(start)
        below[start].append(stop)
    found: list[int] = []
    for node in range(count):
        found.append(max((found[one] + 1 for one in above[node]), default=0))
    if not count:
        return found
    source = max(range(count), key=found.__getitem__)
    while above[source]:
        source = max(above[source], key=found.__getitem__)
    led = {source}
    for node in range(count):
        if any(one in led for one in above[node]):
            led.add(node)
    for node in reversed(range(count)):
        if node not in led and below[node]:
            found[node] = min(found[one] for one in below[node]) - 1
    return found


def cut(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The edges that pass too many layers to be followed by the eye: numbers in `edges`."""
    found = layers(count, edges)
    return [at for at, (start, stop) in enumerate(edges) if found[stop] - found[start] > LONGEST]


def layout(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Places for nodes of these widths and heights."""
    layer = layers(len(sizes), edges)
    widths = [width for width, _ in sizes]
    gaps = [GAP] * len(sizes)
    of = list(layer)
    chains: list[list[int]] = []  # the nodes of each edge, with its bends
    for start, stop in edges:
        chain = [start]
        for at in range(layer[start] + 1, layer[stop]):
            widths.append(0.0)
            gaps.append(BEND_GAP)
            of.append(at)
            chain.append(len(of) - 1)
        chains.append([*chain, stop])
    above: list[list[int]] = [[] for _ in of]
    below: list[list[int]] = [[] for _ in of]
    for chain in chains:
        for one, two in pairwise(chain):
            below[one].append(two)
            above[two].append(one)
    rows: list[list[int]] = [[] for _ in range(max(of, default=-1) + 1)]
    for node in _depth_first(of, below):
        rows[of[node]].append(node)
    _ordered(rows, above, below)
    x = _spread(rows, widths, gaps, above, below, len(sizes))
    tops, bottoms, height = [], [], 0.0
    for row in rows:
        tops.append(height)
        bottoms.append(height + max((sizes[node][1] for node in row if node < len(sizes)), default=0.0))
        height = bottoms[-1] + LAYER_GAP
    left = min((x[node] - widths[node] / 2 for node in range(len(of))), default=0.0)
    right = max((x[node] + widths[node] / 2 for node in range(len(of))), default=0.0)
    places = [(x[node] - left, tops[layer[node]]) for node in range(len(sizes))]
    paths = [
        [
            (x[chain[0]] - left, bottoms[of[chain[0]]]),
            *((x[node] - left, y) for node in chain[1:-1] for y in (tops[of[node]], bottoms[of[node]])),
        ]
        for chain in chains
    ]
    return Layout(places, paths, right - left, max(0.0, height - LAYER_GAP))


def _depth_first(of: list[int], below: list[list[int]]) -> list[int]:
    """All nodes, what hangs together near each other."""
    seen = [False] * len(of)
    found = []
    for root in sorted(range(len(of)), key=lambda node: of[node]):
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if not seen[node]:
                seen[node] = True
                found.append(node)
                waiting.extend(reversed(below[node]))
    return found


def _ordered(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Order each row by where the neighbors are, down and up in turns; the order with the fewest crossings stays."""
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        near = above if down else below
        at = {node: place for row in rows for place, node in enumerate(row)}
        for row in rows if down else reversed(rows):
            keys = {
                node: sum(at[one] for one in near[node]) / len(near[node]) if near[node] else at[node] for node in row
            }
            row.sort(key=keys.__getitem__)
            at.update((node, place) for place, node in enumerate(row))
        count = _crossings(rows, below)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    rows[:] = best


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    total = 0
    for row, following in pairwise(rows):
        at = {node: place for place, node in enumerate(following)}
        seen: list[int] = []
        for node in row:
            ends = sorted(at[one] for one in below[node])
            total += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _spread(
    rows: list[list[int]],
    widths: list[float],
    gaps: list[float],
    above: list[list[int]],
    below: list[list[int]],
    real: int,
) -> list[float]:
    """The middle of each node and bend: near its neighbors, and apart from those beside it."""
    x = [0.0] * len(widths)
    for row in rows:
        edge = 0.0
        for node in row:
            x[node] = edge + widths[node] / 2
            edge += widths[node] + gaps[node]
        middle = edge / 2
        for node in row:
            x[node] -= middle
    for sweep in range(3 * SWEEPS):
        near = (above, below)[sweep % 2]
        both = sweep >= 2 * SWEEPS
        for row in rows if near is above else reversed(rows):
            wanted, weights = [], []
            for node in row:
                others = [*above[node], *below[node]] if both else near[node]
                # bends weigh more, so that long edges are straight
                each = [8.0 if one >= real and node >= real else 1.0 for one in others]
                wanted.append(
                    sum(w * x[one] for w, one in zip(each, others, strict=True)) / sum(each) if each else x[node]
                )
                weights.append(sum(each) if each else 0.1)
            apart = [(widths[a] + widths[b]) / 2 + max(gaps[a], gaps[b]) for a, b in pairwise(row)]
            for node, place in zip(row, _apart(wanted, weights, apart), strict=True):
                x[node] = place
    return x


def _apart(wanted: list[float], weights: list[float], apart: list[float]) -> list[float]:
    """The places nearest to those `wanted`, by weighted squares, that ascend by at least `apart`."""
    offsets = [0.0]
    for distance in apart:
        offsets.append(offsets[-1] + distance)
    blocks: list[list[float]] = []  # mean, weight, count
    for at, weight in enumerate(weights):
        blocks.append([wanted[at] - offsets[at], weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, weight_, count = blocks.pop()
            last = blocks[-1]
            total = last[1] + weight_
            last[0] = (last[0] * last[1] + mean * weight_) / total
            last[1], last[2] = total, last[2] + count
    flat = [mean for mean, _, count in blocks for _ in range(int(count))]
    return [place + offset for place, offset in zip(flat, offsets, strict=True)]


__all__ = ["LONGEST", "Layout", "cut", "layers", "layout"]
