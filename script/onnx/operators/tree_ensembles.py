"""`TreeEnsemble` of `ai.onnx.ml` from version 5 on, which has nodes and leaves apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tirscript.ir.graph import GraphExpr

from ..node import Node
from .ensembles import AGGREGATES, COMPARISONS, MOST, Trees, after_totals, totals
from .learning import learning_op

_MODES = (*COMPARISONS, "MEMBER")  # by their numbers
_AFTER = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@learning_op("TreeEnsemble")
def tree_ensemble(node: Node) -> GraphExpr:
    targets = int(node.attr("n_targets", 0))
    trees = _Nodes(node).trees(targets)
    found = totals(node, trees, _word(node, "aggregate_function", AGGREGATES, 1))
    after, kind = _word(node, "post_transform", _AFTER, 0), node.dtype(node.tensor(0))
    found = after_totals(node, found, targets, after)
    return found if node.dtype(found) is kind else node.last("astype", found, str(kind))


def _word(node: Node, name: str, words: tuple[str, ...], default: int) -> str:
    """An attribute that is the number of a word."""
    found = int(node.attr(name, default))
    if not 0 <= found < len(words):
        raise node.wrong(f"its attribute `{name}` is {found}; the numbers are 0 to {len(words) - 1}")
    return words[found]


class _Nodes:
    """The attributes of nodes and leaves, as lists of one length each."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.modes = self.tensor("nodes_modes").astype(int).tolist()
        self.splits = self.tensor("nodes_splits")
        self.weights = self.tensor("leaf_weights")
        count, leaves = len(self.modes), len(self.weights)
        self.features = self.listed("nodes_featureids", count)
        self.targets = self.listed("leaf_targetids", leaves)
        nan = "nodes_missing_value_tracks_true"
        self.nan = self.listed(nan, count) if node.attr(nan, []) else [0] * count
        self.roots = [int(one) for one in node.attr("tree_roots", [])]
        if not count or not leaves or len(self.splits) != count:
            raise node.wrong(f"it has {count} nodes with {len(self.splits)} values, and {leaves} leaves")
        if any(not 0 <= mode < len(_MODES) for mode in self.modes):
            raise node.wrong(f"the modes of its nodes are 0 to {max(self.modes)}, of which only 0 to 6 are known")
        if not self.roots or any(not 0 <= root < count for root in self.roots):
            raise node.wrong(f"its roots are {self.roots}, of {count} nodes")
        self.yes, self.no = self.branches("true"), self.branches("false")
        self.check_ends()

    def tensor(self, name: str) -> Any:
        import numpy as np

        found = self.node.attr(name)
        return np.zeros(0, np.float32) if found is None else found.reshape(-1)

    def listed(self, name: str, count: int) -> list[int]:
        found: list[int] = self.node.attr(name, [])
        if len(found) != count:
            raise self.node.wrong(f"its attribute `{name}` has {len(found)} numbers, not {count}")
        return found

    def branches(self, side: str) -> list[int]:
        """The numbers of what nodes go to: those of leaves come behind those of nodes."""
        count, leaves = len(self.modes), len(self.weights)
        places, leaf = self.listed(f"nodes_{side}nodeids", count), self.listed(f"nodes_{side}leafs", count)
        for place, ends in zip(places, leaf, strict=True):
            if not 0 <= place < (leaves if ends else count):
                raise self.node.wrong(f"there is no {'leaf' if ends else 'node'} {place}, to which a node goes")
        return [place + count if ends else place for place, ends in zip(places, leaf, strict=True)]

    def check_ends(self) -> None:
        """Refuse nodes that go round in a circle."""
        count = len(self.modes)
        waits = [0] * count
        for target in (*self.yes, *self.no):
            if target < count:
                waits[target] += 1
        ready = [at for at in range(count) if not waits[at]]
        for at in ready:  # which gets longer
            for target in (self.yes[at], self.no[at]):
                if target < count:
                    waits[target] -= 1
                    if not waits[target]:
                        ready.append(target)
        if len(ready) < count:
            raise self.node.wrong("its nodes are no trees: they go round in a circle")

    def trees(self, targets: int) -> Trees:
        """The nodes, then the leaves, then what is made of a node that asks for one of several values: each but the
        first of them is a node behind that of the one before it.
        """
        import numpy as np

        count, leaves = len(self.modes), len(self.weights)
        value, yes, no = list(map(float, self.splits)), [*self.yes], [*self.no]
        source = [*range(count), *range(count, count + leaves)]
        own = list(range(count, count + leaves))
        value, yes, no = [*value, *[0.0] * leaves], [*yes, *own], [*no, *own]
        sets = self.members()
        for at in range(count):
            if _MODES[self.modes[at]] == "MEMBER":
                first, *others = next(sets, None) or self.without_set()
                value[at], last, end = first, at, no[at]
                for other in others:
                    no[last] = last = len(value)
                    source.append(at)
                    value.append(other)
                    yes.append(yes[at])
                    no.append(end)
        if any(True for _ in sets):
            raise self.node.wrong("its attribute `membership_values` has more sets than it has nodes that ask for one")
        modes = [*("EQ" if mode == 6 else _MODES[mode] for mode in self.modes), *["LEAF"] * leaves]
        if len(value) * targets > MOST or targets < 1:
            raise self.node.wrong(f"its {len(value)} nodes and {targets} targets are none, or more than is supported")
        weight = np.full((len(value), targets), np.nan, self.weights.dtype)
        for at, (target, amount) in enumerate(zip(self.targets, self.weights, strict=True)):
            if not 0 <= target < targets:
                raise self.node.wrong(f"there is no target {target}: it has {targets}")
            weight[count + at, target] = amount
        of = np.asarray(source)
        padding = [0] * leaves
        return Trees(
            np.asarray([*self.features, *padding])[of],
            np.asarray(value, self.splits.dtype),
            np.asarray(yes),
            np.asarray(no),
            of >= count,
            [modes[at] for at in source],
            np.asarray([*self.nan, *padding])[of] != 0,
            self.roots,
            weight,
        )

    def without_set(self) -> list[float]:
        raise self.node.wrong("its attribute `membership_values` has no set for a node that asks for one")

    def members(self) -> Iterator[list[float]]:
        """The sets of values, each of which ends at nan."""
        found: list[float] = []
        for one in map(float, self.tensor("membership_values")):
            if one == one:
                found.append(one)
            else:
                yield found or [one]  # what is of no set is nothing
                found = []
        if found:
            yield found


__all__ = ["tree_ensemble"]
