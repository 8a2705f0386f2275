"""The rules of launches of threads, and of expressions and attributes that define names of their own."""

from __future__ import annotations

from typing import Any

from ..dtype import DType
from ..expr import CommReducer, Const, Reduce, Shuffle
from ..index_map import IndexMap
from ..stmt import For, LaunchThread
from ..threads import is_thread, thread_hint
from ..words import counted
from .places import pointing, spot
from .uses import Uses


class Values(Uses):
    """What they check."""

    def shuffle(self, node: Shuffle) -> DType | None:
        self.count()
        kinds = [self.any(vector) for vector in node.vectors]
        lanes = sum(kind.lanes for kind in kinds)
        if not node.vectors or not node.indices:
            self.report("T210", "a shuffle has no vectors or no indices", node)
            return None
        if any(kind.element is not kinds[0].element or kind.scalable for kind in kinds):
            self.report("T204", f"a shuffle of {', '.join(map(str, kinds))}: one dtype of fixed lanes is wanted", node)
        for index in node.indices:
            if not 0 <= index < lanes:
                self.report("T113", f"lane {index} is outside of the {lanes} lanes of a shuffle", node)
        return node.dtype

    def comm_reducer(self, node: CommReducer) -> None:
        kinds = [self.any(item) for item in node.identity]
        before = len(self.local)
        for var in (*node.lhs, *node.rhs):
            self.define(var, node)
        counts = {len(node.lhs), len(node.rhs), len(node.results), len(kinds)}
        if len(counts) != 1 or not kinds:
            self.report("T210", "a combiner has as many identities and results as names on each side", node)
        for at, result in enumerate(node.results):
            have = self.any(result)
            if len(counts) == 1:
                self.same(have, kinds[at], f"result {at} of the combiner", spot(result, node))
        if len(counts) == 1:
            for at, var in enumerate((*node.lhs, *node.rhs)):
                self.same(var.dtype, kinds[at % len(kinds)], f"the name `{var.name}` of the combiner", node)
        self.close(before)

    def reduce(self, node: Reduce) -> DType | None:
        self.count()
        self.any(node.combiner)
        kinds = [item.dtype for item in node.combiner.identity]
        for group, what in ((node.init, "an initial value"),):
            for at, item in enumerate(group):
                have = self.any(item)
                if len(group) == len(kinds):
                    self.same(have, kinds[at], what, spot(item, node))
        if len(node.init) not in (0, len(kinds)) or len(node.source) != len(kinds):
            self.report(
                "T210", f"a reduction of {counted(len(kinds), 'value')} has {counted(len(node.source), 'source')}", node
            )
        if len(node.axes) != len(node.domains):
            self.report(
                "T210",
                f"a reduction has {counted(len(node.axes), 'axis')} and {counted(len(node.domains), 'domain')}",
                node,
            )
        if not 0 <= node.value_index < len(node.source):
            self.report("T210", f"a reduction has no value {node.value_index}", node)
            return None
        for var, domain in zip(node.axes, node.domains):
            for end in (domain.start, domain.stop):
                if end is None:
                    self.report("T210", f"the axis `{var.name}` of a reduction has no end", node)
                else:
                    self.same(self.any(end), var.dtype, f"an end of the axis `{var.name}`", spot(end, node))
            if not var.dtype.is_int or var.dtype.is_vector:
                self.report("T204", f"the axis `{var.name}` of a reduction is {var.dtype}, not an integer", node)
        before = len(self.local)
        for var in node.axes:
            self.define(var, node)
        for at, item in enumerate(node.source):
            have = self.any(item)
            if at < len(kinds):
                self.same(have, kinds[at], f"source {at} of the reduction", spot(item, node))
        if node.condition is not None:
            self.condition(node.condition, "the reduction")
        self.close(before)
        return node.dtype

    def index_map(self, node: IndexMap) -> None:
        before = len(self.local)
        for var in node.params:
            self.define(var, node)
        for index in node.indices:
            kind = self.any(index)
            if not kind.is_int or kind.is_vector:
                self.report("T112", f"an index of an index map is {kind}, not an integer", spot(index, node))
        self.close(before)
        if node.inverse is not None:
            self.any(node.inverse)
            if (len(node.inverse.params), len(node.inverse.indices)) != (len(node.indices), len(node.params)):
                self.report("T210", "the inverse of an index map does not take what the map makes", node)

    def thread_tag(self, node: For | LaunchThread) -> None:
        tag = node.thread or ""
        if not is_thread(tag):
            what = f"there is no thread {tag!r}" if tag else f"the thread `{node.var.name}` has no tag"
            self.report("T210", what, node, hint=thread_hint(tag))

    def launch(self, node: LaunchThread) -> None:
        var = node.var
        if not var.dtype.is_int or var.dtype.is_vector:
            self.report("T204", f"the thread `{var.name}` is {var.dtype}, not an integer", node)
        self.same(self.any(node.extent), var.dtype, f"the number of threads of `{var.name}`", spot(node.extent, node))
        self.thread_tag(node)
        before, key = len(self.local), id(var)
        first: Any = self.defined.get(key, (None, None))[1]
        if type(first) is not LaunchThread:
            self.define(var, node)
        elif key not in self.vars:  # launched again; inside of another launch of it, it is in scope already
            self.vars.add(key)
            self.local.append(key)
        if type(first) is LaunchThread and first.thread != node.thread:
            notes = pointing(first.span, "it is launched here first")
            words = f"`{var.name}` is the thread {first.thread!r} and cannot be {node.thread!r} too"
            self.report("T202", words, node, notes=notes)
        if type(node.extent) is Const and node.extent.value > 0:
            self.bindings.ranges[key] = (0, int(node.extent.value) - 1, self.bindings.depth)
        loops, self.loops = self.loops, 0  # no loop around a launch can be left from inside
        self.body(node.body)
        self.loops = loops
        self.close(before)
