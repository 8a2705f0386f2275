"""What is known of the variables and buffers of a function, in the words that are shown beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tirscript.ir import Buffer, PrimFunc, Var, walk
from tirscript.ir.arith.bounds import Interval, Known, bounds, whole
from tirscript.ir.arith.modular import modular_set
from tirscript.ir.expr import BufferLoad, Const, Expr, Let, Reduce
from tirscript.ir.stmt import (
    AllocateConst,
    AllocBuffer,
    Assert,
    Assume,
    Axis,
    Bind,
    DeclBuffer,
    For,
    LaunchThread,
    MatchBuffer,
    ScalarDecl,
    StaticAssert,
)

Words = Callable[[Any], str]  # an expression as it stands in the listing


class Symbol(NamedTuple):
    """A variable or buffer: its name in the listing, what it is, its type, and lines of what is known of it."""

    name: str
    kind: str
    type: str
    facts: list[str]


class _Facts:
    """What is known, by the id of the variable or buffer."""

    def __init__(self, func: PrimFunc, words: Words) -> None:
        self.words = words
        self.ranges = Known()
        self.kinds: dict[int, str] = {}
        self.facts: dict[int, list[str]] = {}
        given = {id(param) for param in func.params}
        for param in func.params:
            self.kinds[id(param)] = "parameter"
        for var in func.symbols:
            self.kinds[id(var)] = "symbolic dimension, bound at the call"
        dims = {id(dim): dim for buffer in func.param_buffers for dim in buffer.shape if type(dim) is Var}
        for var in dims.values():
            self.ranges[var] = 0, whole(var.dtype)[1]
            if id(var) in given:
                self.note(var, "a dimension of a parameter")

    def define(self, binder: Var | Buffer, kind: str, *facts: str) -> None:
        self.kinds[id(binder)] = kind
        self.facts.setdefault(id(binder), []).extend(facts)

    def note(self, binder: Var | Buffer, fact: str) -> None:
        noted = self.facts.setdefault(id(binder), [])
        if fact not in noted:
            noted.append(fact)

    def bound(self, var: Var, interval: Interval, step: tuple[int, int] = (1, 0)) -> None:
        """`var` is within an interval; of several, within the least around all."""
        low, high = whole(var.dtype)
        old = self.ranges.get(var)
        if old is not None:
            interval = min(old[0], interval[0]), max(old[1], interval[1])
        self.ranges[var] = max(low, interval[0]), min(high, interval[1])
        if step[0] > 1 and old is None:
            self.ranges.step(var, *step)

    def over(self, var: Var, start: Expr, stop: Expr) -> str:
        """`0 ≤ i < n`, where `var` runs over a range."""
        low, high = bounds(start, self.ranges)[0], bounds(stop, self.ranges)[1] - 1
        if low <= high:
            self.bound(var, (low, high))
        return f"{self.words(start)} ≤ {{}} < {self.words(stop)}"


def symbols(func: PrimFunc, names: dict[int, str], words: Words) -> dict[int, Symbol]:
    """What is known of everything that has a name in a listing, by id; `names` are these names."""
    known = _Facts(func, words)
    binders: dict[int, Any] = {}
    for node in walk(func):
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(known, node)
        if isinstance(node, (Var, Buffer)):
            binders[id(node)] = node
    return {key: _symbol(known, node, names[key]) for key, node in binders.items() if key in names}


def _symbol(known: _Facts, node: Any, name: str) -> Symbol:
    kind = known.kinds.get(id(node), "buffer" if isinstance(node, Buffer) else "variable")
    facts = [fact.replace("{}", name) for fact in known.facts.get(id(node), ())]
    if isinstance(node, Buffer):
        return Symbol(name, kind, _buffer_type(node, known.words), [*_buffer_facts(node, known.words), *facts])
    interval = known.ranges.get(node)
    if interval is not None and node.dtype.is_int:
        facts += _interval_words(name, interval, whole(node.dtype), facts)
        coefficient, base = known.ranges.steps.get(node, (1, 0))
        if coefficient > 1:
            facts.append(f"{name} % {coefficient} == {base % coefficient}")
    return Symbol(name, kind, str(node.dtype), list(dict.fromkeys(facts)))


def _interval_words(name: str, interval: Interval, every: Interval, said: list[str]) -> list[str]:
    """The bounds of a name in words; without those that its type has anyhow, and what was said already."""
    low, high = interval
    bounded = high < every[1] - 1  # one less than the greatest is what `i < n` gives for any n
    if low == high:
        return [f"{name} == {low}"]
    if low > every[0] and bounded:
        return [f"{low} ≤ {name} ≤ {high}"]
    if low > every[0]:
        return [] if any(fact.startswith(f"{low} ≤ {name} <") for fact in said) else [f"{name} ≥ {low}"]
    return [f"{name} ≤ {high}"] if bounded else []


def _buffer_type(buffer: Buffer, words: Words) -> str:
    if buffer.is_scalar:
        return str(buffer.dtype)
    return f"{buffer.dtype}[{', '.join(words(dim) for dim in buffer.shape)}]"


def _buffer_facts(buffer: Buffer, words: Words) -> list[str]:
    facts = []
    shape = buffer.constant_shape()
    if shape is not None and not buffer.is_scalar:
        size = buffer.dtype.itemsize
        for dim in shape:
            size *= dim
        facts.append(f"{size:,} bytes")
    if buffer.scope not in ("global", "scalar"):
        facts.append(f"scope {buffer.scope}")
    if buffer.strides is not None:
        facts.append(f"strides ({', '.join(map(words, buffer.strides))})")
    if buffer.elem_offset is not None:
        facts.append(f"first element at {words(buffer.elem_offset)}")
    if buffer.align:
        facts.append(f"aligned to {buffer.align} bytes")
    if buffer.offset_factor:
        facts.append(f"first element at a multiple of {buffer.offset_factor}")
    return facts


# --- what defines and what tells --------------------------------------------------------------------------------------


def _loop(known: _Facts, node: For) -> None:
    kind = "loop variable" if node.kind == "serial" else f"{node.kind} loop variable"
    if node.thread is not None:
        kind += f" ({node.thread})"
    step = node.step
    if step is None:
        known.define(node.var, kind, known.over(node.var, node.start, node.stop))
        return
    known.define(node.var, kind, f"range({', '.join(map(known.words, (node.start, node.stop, step)))})")
    low, high = bounds(step, known.ranges)
    if low > 0:
        known.over(node.var, node.start, node.stop)
    elif high < 0:
        known.bound(node.var, (bounds(node.stop, known.ranges)[0] + 1, bounds(node.start, known.ranges)[1]))
    if type(step) is Const and type(node.start) is Const:
        coefficient = abs(int(step.value))
        if coefficient > 1:
            known.ranges.step(node.var, coefficient, int(node.start.value) % coefficient)


def _axis(known: _Facts, node: Axis) -> None:
    fact = known.over(node.var, node.start, node.stop)
    known.define(node.var, f"{node.kind} axis of a block", fact, f"{{}} = {known.words(node.value)}")


def _launch(known: _Facts, node: LaunchThread) -> None:
    known.define(node.var, f"thread {node.thread}")
    high = bounds(node.extent, known.ranges)[1]
    known.bound(node.var, (0, max(0, high - 1)))
    known.note(node.var, f"0 ≤ {{}} < {known.words(node.extent)}")


def _value(known: _Facts, var: Var, kind: str, value: Expr) -> None:
    known.define(var, kind, f"{{}} = {known.words(value)}")
    if value.dtype.is_int and not value.dtype.is_vector and value.dtype is var.dtype:
        known.bound(var, bounds(value, known.ranges), modular_set(value, known.ranges))


def _bind(known: _Facts, node: Bind) -> None:
    _value(known, node.var, "value", node.value)


def _let(known: _Facts, node: Let) -> None:
    _value(known, node.var, "value of a T.let", node.value)


def _reduction(known: _Facts, node: Reduce) -> None:
    for var, domain in zip(node.axes, node.domains, strict=True):
        assert domain.stop is not None
        known.define(var, "axis of a reduction", known.over(var, domain.start, domain.stop))


def _condition(word: str) -> Callable[[_Facts, Any], None]:
    def note(known: _Facts, node: Any) -> None:
        for part in walk(node.condition):
            if type(part) is Var:
                known.note(part, f"{word}: {known.words(node.condition)}")
            elif type(part) is BufferLoad and part.buffer.is_scalar:
                known.note(part.buffer, f"{word}: {known.words(node.condition)}")

    return note


def _scalar(known: _Facts, node: ScalarDecl) -> None:
    known.define(node.buffer, "mutable scalar")


def _allocation(known: _Facts, node: AllocBuffer) -> None:
    known.define(node.buffer, "allocated buffer")


def _constant(known: _Facts, node: AllocateConst) -> None:
    known.define(node.buffer, "constant data")


def _view(known: _Facts, node: DeclBuffer) -> None:
    known.define(node.buffer, "buffer", f"its memory: {known.words(node.data)}")


def _match(known: _Facts, node: MatchBuffer) -> None:
    known.define(node.buffer, "matched buffer", f"matched to {known.words(node.source)}")


_RULES: dict[type, Callable[[_Facts, Any], None]] = {
    For: _loop,
    Axis: _axis,
    LaunchThread: _launch,
    Bind: _bind,
    Let: _let,
    Reduce: _reduction,
    ScalarDecl: _scalar,
    AllocBuffer: _allocation,
    AllocateConst: _constant,
    DeclBuffer: _view,
    MatchBuffer: _match,
    Assert: _condition("asserted"),
    StaticAssert: _condition("asserted"),
    Assume: _condition("assumed"),
}
