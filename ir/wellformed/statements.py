"""The rules of statements, and the table of all rules by class."""

from __future__ import annotations

from typing import Any

from ..buffer import Buffer
from ..diagnostic import Diagnostic, suggest
from ..dtype import VOID
from ..expr import (
    Broadcast,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    CallFunction,
    CommReducer,
    Const,
    Let,
    Ramp,
    Range,
    Reduce,
    Shuffle,
    StringImm,
    Var,
    is_const,
)
from ..index_map import IndexMap
from ..node import nodes_in
from ..rewrite import walk
from ..stmt import (
    AXIS_KINDS,
    LOOP_KINDS,
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Bind,
    Block,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LaunchThread,
    MatchBuffer,
    Return,
    ScalarDecl,
    StaticAssert,
    While,
)
from .bindings import axis_problems
from .constants import constant_problems, written_constants
from .places import extent_of, in_order, named, pointing, spot, unrepresentable
from .scopes import Known, TooLarge, Unresolved
from .values import Values

# loop kinds whose iterations run at once
_AT_ONCE = ("parallel",)


class Verifier(Values):
    """The check of one function."""

    def run(self) -> list[Diagnostic]:
        function = self.function
        try:
            self.head()
            self.body(function.body)
        except TooLarge as problem:
            return list(problem.args)
        self.never_written()
        if self.has_constants:
            for message, node, buffer in written_constants(function, self.functions or {}):
                self.stmt = node
                hint = "a constant is never written: copy it into a buffer of `T.alloc_buffer` first"
                self.report("T213", message, node, notes=self.declared(buffer), hint=hint)
        return in_order([self.resolve(item) if type(item) is Unresolved else item for item in self.found])  # type: ignore[misc]

    # -- statements

    def store(self, node: BufferStore) -> None:
        buffer = node.buffer
        self.written.add(id(buffer))
        kind = self.access(node)
        have = self.any(node.value)
        if have is not kind:
            self.same(have, kind, f"the value stored into `{buffer.name}`", spot(node.value, node))
        if self.at_once and buffer.scope == "scalar":
            known = self.buffers.get(id(buffer))
            if known is not None and known.at_once < len(self.at_once):
                loop = self.at_once[known.at_once]
                notes = [
                    *self.declared(buffer),
                    *pointing(loop.span, f"the iterations of `{loop.var.name}` run at once"),
                ]
                self.report(
                    "T209",
                    f"the parallel loop over `{loop.var.name}` races on the scalar `{buffer.name}`",
                    node,
                    notes=notes,
                    hint=f"declare `{buffer.name}` inside of the loop, or make the loop serial",
                )

    def bind(self, node: Bind) -> None:
        self.same(self.any(node.value), node.var.dtype, f"the value of `{node.var.name}`", node.value)
        self.some_value(node.var, node.value)
        known = self.defined.get(id(node.var))
        if known is not None and known[1] is node.var:  # it stands in the shape of a parameter
            name = node.var.name
            self.report(
                "T202",
                f"`{name}` is computed here, but it is a dimension of a parameter, bound before the body",
                node,
                hint=f"write its value in the shape, or make it a symbolic dimension, `{name} = T.{node.var.dtype}()`",
            )
            return
        self.define(node.var, node)

    def scalar_decl(self, node: ScalarDecl) -> None:
        buffer = node.buffer
        if node.value is not None:
            self.same(self.any(node.value), buffer.dtype, f"the value of `{buffer.name}`", node.value)
        else:
            self.allocated[id(buffer)] = buffer
        self.define(buffer, node)
        if buffer.scope != "scalar":
            self.report("T205", f'the scalar variable `{buffer.name}` is in scope "{buffer.scope}"', node)

    def alloc(self, node: AllocBuffer) -> None:
        self.define(node.buffer, node)
        self.allocated[id(node.buffer)] = node.buffer
        if node.annotations:
            self.attrs(node.annotations, "buffer")

    def allocate_const(self, node: AllocateConst) -> None:
        self.define(node.buffer, node)
        self.has_constants = True
        for message in constant_problems(node):
            self.report("T114", message, node)
        if node.annotations:
            self.attrs(node.annotations, "constant")

    def decl(self, node: DeclBuffer) -> None:
        kind = self.any(node.data)
        if not kind.is_handle:
            self.report(
                "T204",
                f"the data of the buffer `{node.buffer.name}` is {kind}, not a handle",
                spot(node.data, node),
                hint="pass `A.data`",
            )
        self.define(node.buffer, node)

    def match(self, node: MatchBuffer) -> None:
        source = node.source
        if type(source) is BufferRegion:
            if source.buffer.dtype is not node.buffer.dtype:
                self.report(
                    "T204",
                    f"`{node.buffer.name}` is {node.buffer.dtype}, but it matches a region of `{source.buffer.name}`, "
                    f"which is {source.buffer.dtype}",
                    spot(source, node),
                    notes=self.declared(source.buffer),
                    hint="leave the dtype out, or reinterpret memory with `T.decl_buffer(..., data=)`",
                )
            self.view(source)
            self.written.add(id(source.buffer))
            for var in node.defined_symbols():
                if id(var) not in self.vars:
                    self.define(var, node)
        else:
            self.match_parameter(node)
        self.define(node.buffer, node)

    def match_parameter(self, node: MatchBuffer) -> None:
        source, name = node.source, node.buffer.name
        if not any(param is source for param in self.function.params):
            self.report(
                "T210",
                f"`{name}` is matched to `{named(source)}`, which is no parameter of the function",
                node,
                hint="for an address use `T.decl_buffer(..., data=...)`",
            )
        elif type(source) is Var and not source.dtype.is_handle:  # type: ignore[union-attr]
            self.report(
                "T204",
                f"`{name}` is matched to the parameter `{named(source)}` of dtype {source.dtype}, which is no handle",
                node,
            )  # type: ignore[union-attr]
        elif not any(stmt is node for stmt in self.function.body):
            self.report(
                "T210",
                f"`{name}` matches a parameter inside of a nested body",
                node,
                hint="match parameters at the head of the function",
            )
        first = self.handles.setdefault(id(source), node)
        if first is not node:
            notes = pointing(first.span, "it is matched here first")
            self.report("T202", f"the parameter `{named(source)}` is matched to two buffers", node, notes=notes)

    def evaluate(self, node: Evaluate) -> None:
        self.any(node.value)

    def assertion(self, node: Any) -> None:
        self.condition(node.condition, _CONDITIONS[type(node)])

    def conditional(self, node: If) -> None:
        self.condition(node.condition, "`if`")
        self.bindings.depth += 1
        self.body(node.then)
        if node.orelse:
            self.body(node.orelse)
        self.bindings.depth -= 1

    def loop(self, node: For) -> None:
        var, start, stop, step = node.var, node.start, node.stop, node.step
        kind = var.dtype
        rules = self.rules
        if not kind.is_int or kind.is_vector:
            self.report("T204", f"the loop variable `{var.name}` is {kind}, not an integer", node)
        for what, end in (("start", start), ("stop", stop), ("step", step)):
            if end is not None:
                have = rules[type(end)](end)
                if have is not kind:
                    self.report(
                        "T204",
                        f"the {what} of the loop is {have}, but its variable `{var.name}` is {kind}",
                        spot(end, node),
                        hint=f'cast it: `x.astype("{kind}")`',
                    )
        if is_const(step, 0):
            self.report("T304", "the step of a loop is 0", spot(step, node), hint="a step is 1 or more, or -1 or less")
        if node.kind not in LOOP_KINDS:
            near = suggest(node.kind, LOOP_KINDS)
            self.report(
                "T210",
                f"no loop is of kind {node.kind!r}",
                node,
                hint=f"did you mean `T.{near}`?" if near else f"the kinds are {', '.join(LOOP_KINDS)}",
            )
        elif (node.thread is not None) != (node.kind == "thread_binding"):
            self.report("T210", "a thread is given exactly where a loop is a thread_binding", node)
        elif node.thread is not None:
            self.thread_tag(node)
        if node.annotations:
            self.attrs(node.annotations, "loop")
        before = len(self.local)
        self.define(var, node)
        at_once = node.kind in _AT_ONCE
        self.loops += 1
        outer = self.at_once_at
        if at_once:
            self.at_once.append(node)
            self.at_once_at = self.loops
        self.bindings.enter(node)
        empty = type(start) is Const and type(stop) is Const and step is None and stop.value <= start.value
        self.unreached += empty
        self.body(node.body)
        self.unreached -= empty
        self.loops -= 1
        if at_once:
            self.at_once.pop()
            self.at_once_at = outer
        self.close(before)

    def while_(self, node: While) -> None:
        self.condition(node.condition, "`while`")
        self.loops += 1
        self.bindings.depth += 1
        self.body(node.body)
        self.bindings.depth -= 1
        self.loops -= 1

    def leave(self, node: Any) -> None:
        word = "break" if type(node) is Break else "continue"
        if not self.loops:
            self.report("T022", f"`{word}` outside of a loop", node)
        elif self.at_once and self.loops == self.at_once_at and word == "break":
            self.report("T022", "`break` in a parallel loop: its iterations run at once", node)
        self.bindings.leaves()

    def return_(self, node: Return) -> None:
        returns = self.function.returns
        name = self.function.name
        self.bindings.leaves()
        if node.value is None:
            if returns is not None and returns is not VOID:
                self.report("T204", f"`{name}` returns {returns}, but this `return` has no value", node)
            return
        have = self.any(node.value)
        if have is not None and have.is_vector:
            what = f"`{name}` returns {have}, one value for each lane, and a function returns one"
            self.report("T204", what, node, hint="write the lanes into a parameter")
        elif returns is None:
            self.report(
                "T204",
                f"`{name}` returns nothing, but this `return` has a value of dtype {have}",
                node,
                hint=f"annotate the function with `-> T.{have}`",
            )
        else:
            self.same(have, returns, "the value returned", spot(node.value, node))

    def attr(self, node: Attr) -> None:
        before = len(self.local)
        for value in (node.target, node.value):
            why = unrepresentable(value)
            if why is not None:
                self.report("T210", f"the attribute `{node.key}`: {why}", node)
            elif type(value) in (int, float):  # a text's numbers are constants of a dtype
                hint = f"make it a constant: `const({value})`"
                self.report("T210", f"the attribute `{node.key}` holds the bare number {value}", node, hint=hint)
        if (
            type(node.target) is Var
            and id(node.target) not in self.vars
            and node.key in ("thread_extent", "virtual_thread")
        ):
            self.define(node.target, node)
        else:
            for part in nodes_in(node.target):
                self.any(part)
        for part in nodes_in(node.value):
            self.any(part)
        self.body(node.body)
        self.close(before)

    def block(self, node: Block) -> None:
        rules, bindings, before = self.rules, self.bindings, len(self.local)
        for axis in node.axes:
            var = axis.var
            kind = var.dtype
            if axis.kind not in AXIS_KINDS:
                near = suggest(axis.kind, AXIS_KINDS)
                self.report(
                    "T203",
                    f"no axis is of kind {axis.kind!r}",
                    axis,
                    hint=f"did you mean `T.axis.{near}`?" if near else None,
                )
            if not kind.is_int or kind.is_vector:
                self.report("T204", f"the axis `{var.name}` is {kind}, not an integer", axis)
            for what, part in (("start", axis.start), ("stop", axis.stop), ("value", axis.value)):
                have = rules[type(part)](part)
                if have is not kind:
                    self.report(
                        "T204",
                        f"the {what} of the axis `{var.name}` is {have}, but the axis is {kind}",
                        spot(part, axis),
                        hint=f'cast it: `x.astype("{kind}")`',
                    )
        for axis, message, hint, places in () if self.unreached else axis_problems(node, bindings):
            labels = [label for place, words in places for label in pointing(place.span, words)]
            self.report("T203", message, axis, notes=labels, hint=hint)
        for axis in node.axes:
            self.define(axis.var, axis)
        if node.predicate is not None:
            self.condition(node.predicate, "`T.where`")
            bindings.depth += 1
        hidden = self.hide_loops(node) if node.axes else None
        self.regions(node)
        if node.annotations:
            self.attrs(node.annotations, "block")
        if node.init is not None:
            self.init(node)
        self.body(node.body)
        if hidden is not None:
            self.vars.update(hidden)
            for key in hidden:
                del self.hidden[key]
        if node.predicate is not None:
            bindings.depth -= 1
        self.close(before)

    def hide_loops(self, node: Block) -> list[int]:
        """Take the loops around a block with axes out of scope: its body sees them through the axes only."""
        keys = [key for key in self.bindings.loops if key in self.vars]
        self.vars.difference_update(keys)
        self.hidden.update(dict.fromkeys(keys, node))
        return keys

    def regions(self, node: Block) -> None:
        for region in node.reads or ():
            self.region(region)
        for region in node.writes or ():
            self.region(region)
            self.written.add(id(region.buffer))

    def init(self, node: Block) -> None:
        own = []
        for stmt in node.body:
            # the init runs before all but the definitions at the head of the body
            if type(stmt) not in (AllocBuffer, AllocateConst, MatchBuffer, DeclBuffer, Bind):
                break
            if type(stmt) is AllocBuffer or type(stmt) is MatchBuffer:
                own.append(stmt.buffer)
        if node.writes is not None:
            named = {id(region.buffer) for region in node.writes} | set(map(id, own))
            for inner in walk(node.init or ()):
                if type(inner) is BufferStore and id(inner.buffer) not in named and id(inner.buffer) in self.buffers:
                    self.report(
                        "T203",
                        f"the `T.init` of the block `{node.name}` writes `{inner.buffer.name}`, "
                        "which is not in its `T.writes`",
                        inner,
                    )
        # memory of the block itself is there before its init runs
        for buffer in own:
            self.buffers[id(buffer)] = Known(
                len(buffer.shape), tuple(extent_of(dim) for dim in buffer.shape), len(self.at_once)
            )
        self.body(node.init or ())
        for buffer in own:
            del self.buffers[id(buffer)]

    # -- the end

    def never_written(self) -> None:
        for key, (node, stmt) in self.read.items():
            if key not in self.written:
                buffer = self.allocated[key]
                self.stmt = stmt
                self.report("T208", f"`{buffer.name}` is read but never written", node, notes=self.declared(buffer))


Verifier.table = {
    Var: "var",
    Const: "const",
    StringImm: "string",
    Call: "call",
    CallFunction: "call_function",
    BufferLoad: "load",
    BufferData: "data",
    Ramp: "ramp",
    Broadcast: "broadcast",
    Let: "let",
    Range: "range",
    BufferRegion: "region",
    Buffer: "mentioned",
    Shuffle: "shuffle",
    CommReducer: "comm_reducer",
    Reduce: "reduce",
    IndexMap: "index_map",
    LaunchThread: "launch",
    BufferStore: "store",
    Bind: "bind",
    ScalarDecl: "scalar_decl",
    AllocBuffer: "alloc",
    AllocateConst: "allocate_const",
    DeclBuffer: "decl",
    MatchBuffer: "match",
    Evaluate: "evaluate",
    Assert: "assertion",
    StaticAssert: "assertion",
    Assume: "assertion",
    Attr: "attr",
    Block: "block",
    For: "loop",
    While: "while_",
    If: "conditional",
    Break: "leave",
    Continue: "leave",
    Return: "return_",
}
_CONDITIONS: dict[type, str] = {Assert: "`assert`", StaticAssert: "`T.static_assert`", Assume: "`T.assume`"}
