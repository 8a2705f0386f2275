"""Which kernels run on packed tensors: layouts spread from where they are asked for, and a cost decides who keeps them.

A layout is asked for by functions that were lifted, by the caller, and by transposes and reshapes. It spreads over all
kernels whose statements it goes through, forward and backward; then each kernel is taken back to the plain layout
where that makes the whole cheaper. What is counted is bytes moved: conversions that are left, the larger tensors of
packed kernels, what conditions in loops cost, terms of padding that are summed up, and operands of products that are
copied where lines are no whole vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.arith.evaluate import Undecided, evaluate
from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const, Expr, Var
from tirscript.ir.graph import GraphBind, GraphConst, GraphVar, TensorType, TupleType
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Axis

from .flow import Fixed, Flow, Kernel, Value
from .groups import inferred
from .mapping import PadMapping, size_of
from .packing import Packed, Packing
from .padding import update_of
from .stages import Stage, loads_of

# bytes that a condition, a select and a stored padding cost for each element, as bytes moved
BRANCH, SELECT = 4, 1
# bytes that a term of a sum costs, where padding is summed up too; bytes of a vector, and how often an operand of a
# product is moved where lines of the result are no whole vectors: it is copied, to be padded
TERM, VECTOR, COPIED = 0.5, 64, 2
# what is assumed of a dimension that is known when the program runs
NOMINAL = 128
# what the edge of the graph counts: the caller can convert an input once
EDGE = 0.5
ATTRIBUTE, PACKED, PLAIN = "layout", "packed", "plain"
ROUNDS = 4
# why a kernel stays as it is, whatever it costs
ORDER = "its iterations cannot run in the order of the packed tensor"
UNREAD = "its statements are no loops around blocks that store one element each"
WHOLE = "the tuple that it gives is used itself, not only the tensors in it"

Key = tuple[Any, int | None]


class Decision(Struct, frozen=True, eq=False):
    """What was decided of one kernel: bytes moved by the whole graph with it packed, and with it plain.

    Both are counted from the graph whose kernels are all plain, so that less than 0 is a gain.

    `by` says who decided: "cost", "annotation", "callback" or "caller". Where nobody could, `reason` says why the
    layouts that reach the kernel are converted in front of it.
    """

    name: str
    function: str
    packed: bool
    packed_cost: float
    plain_cost: float
    layouts: dict[str, str]
    by: str = "cost"
    reason: str | None = None

    def __str__(self) -> str:
        kind = PACKED if self.packed else PLAIN
        if self.reason is not None:
            return f"{self.name} = {self.function}: {kind} ({self.reason})"
        costs = f"{self.packed_cost:,.0f} bytes packed, {self.plain_cost:,.0f} plain"
        return f"{self.name} = {self.function}: {kind} ({costs}; by {self.by})"


Decide = Callable[[Decision], bool | None]


class Keys:
    """Layouts of values by number, so that equal ones are one."""

    def __init__(self) -> None:
        self.mappings: dict[Any, list[PadMapping]] = {}

    def key(self, value: Value, mapping: PadMapping | None) -> Key:
        """The value in a layout; the plain one has no number."""
        name = identity(value)
        if mapping is None:
            return name, None
        known = self.mappings.setdefault(name, [])
        for at, other in enumerate(known):
            if other.same_layout(mapping):
                return name, at
        known.append(mapping)
        return name, len(known) - 1

    def mapping(self, key: Key) -> PadMapping | None:
        """The layout of a key."""
        return None if key[1] is None else self.mappings[key[0]][key[1]]


def identity(value: Value) -> Any:
    """What a value is known by: equal constants are one."""
    return value.data if type(value) is GraphConst else value


class Plan:
    """The layouts of one dataflow: of the parameters of each kernel, by the kernel's variable."""

    def __init__(self, flow: Flow, asked: Mapping[GraphVar, Mapping[str, PadMapping]], decide: Decide | None) -> None:
        self.flow, self.decide = flow, decide
        self.keys = Keys()
        self.kernels = [step for step in flow.steps if type(step) is Kernel]
        self.layouts: dict[GraphVar, dict[Any, PadMapping]] = {}
        self.trials: dict[GraphVar, Packed] = {}
        self.sums: dict[GraphVar, float] = {}
        self.refused: set[GraphVar] = set()
        self.asked = set(asked)
        self.wanted: dict[Any, PadMapping] = {}
        self.forced: dict[GraphVar, bool] = {}
        self.decisions: list[Decision] = []
        # what the cost of many choices asks for again and again
        self._known: dict[tuple[int, bool], tuple[list[Key], dict[Any, Key]]] = {}
        self._elements: dict[PadMapping, float] = {}
        self._works: dict[GraphVar, float] = {}
        self._inside = {getattr(stmt, "var", None) for stmt in flow.block.body}
        self._ask(asked)
        self._spread()
        for var in flow.conversions:
            form = flow.form(var)
            if form.mapping is not None and not form.mapping.padded:
                self.wanted.setdefault(identity(var), form.mapping.turned())
                self.wanted.setdefault(identity(form.value), form.mapping)
        self._spread()
        self.packed = self._chosen()

    # spreading

    def _ask(self, asked: Mapping[GraphVar, Mapping[str, PadMapping]]) -> None:
        for step in self.flow.steps:
            if type(step) is Fixed:
                for value in (*step.args, step.bind.var):
                    form = self.flow.form(value)  # type: ignore[arg-type]
                    if form.mapping is not None and form.mapping.padded:
                        self.wanted.setdefault(identity(form.value), form.mapping)
            elif type(step) is Kernel and step.bind.var in asked:
                given = asked[step.bind.var]
                buffers = {buffer.name: buffer for buffer in step.program.params}
                found = inferred(step.program, {buffers[name]: one for name, one in given.items()})
                self._take(step, found)
                self.forced[step.bind.var] = step.bind.var in self.layouts

    def _spread(self) -> None:
        changed = True
        while changed:
            changed = False
            for kernel in (*self.kernels, *reversed(self.kernels)):
                if kernel.bind.var in self.forced:
                    continue
                given = {
                    buffer: self.wanted[name]
                    for buffer, value in kernel.values()
                    if (name := identity(self.flow.owner(value))) in self.wanted
                }
                given = {buffer: one for buffer, one in given.items() if fits(one, buffer)}
                before = self.layouts.get(kernel.bind.var, {})
                if not given or all(before.get(buffer) is one for buffer, one in given.items()):
                    continue
                changed |= self._take(kernel, inferred(kernel.program, given))

    def _take(self, kernel: Kernel, found: dict[Any, PadMapping]) -> bool:
        """Remember the layouts of a kernel, where it can have them, and want them of its values."""
        # what its sums want in the padding is mostly there, or costs a select in front
        wanted = Packing(kernel.program, found, {}).wants({})
        packing = Packing(kernel.program, found, {buffer: wanted.get(buffer) for buffer, _ in kernel.inputs()})
        trial = packing.function("trial", {})
        if trial is None:
            self.refused.add(kernel.bind.var)
            return False
        self.layouts[kernel.bind.var] = found
        self.trials[kernel.bind.var] = trial
        self.sums[kernel.bind.var] = sum(_sums(one.axes, one.stage, found) for one in packing.plans)
        self.sums[kernel.bind.var] -= sum(_sums(stage.axes, stage, {}) for stage in kernel.program.stages)
        for buffer, value in kernel.values():
            if buffer in found:
                self.wanted.setdefault(identity(self.flow.owner(value)), found[buffer])
        return True

    # choosing

    def _chosen(self) -> set[GraphVar]:
        able = [kernel for kernel in self.kernels if kernel.bind.var in self.layouts]
        fixed: dict[GraphVar, str] = {}
        chosen = {kernel.bind.var for kernel in able}
        for kernel in able:
            said = kernel.func.attrs.get(ATTRIBUTE)
            if said in (PACKED, PLAIN):
                fixed[kernel.bind.var] = "annotation"
                if said == PLAIN:
                    chosen.discard(kernel.bind.var)
            elif self.forced.get(kernel.bind.var):
                fixed[kernel.bind.var] = "caller"
        free = [kernel.bind.var for kernel in able if kernel.bind.var not in fixed]
        start = chosen - set(free)
        best = min((self._improved(chosen, free), self._improved(start, free)), key=self.cost)
        if self.decide is not None:
            for kernel in able:
                answer = self.decide(self._decision(kernel, best, fixed.get(kernel.bind.var, "cost")))
                if answer is not None:
                    fixed[kernel.bind.var] = "callback"
                    best = best | {kernel.bind.var} if answer else best - {kernel.bind.var}
            free = [var for var in free if var not in fixed]
            best = self._improved(best, free)
        self.decisions = [self._decision(kernel, best, fixed.get(kernel.bind.var, "cost")) for kernel in able]
        self.decisions += self._refusals(best)
        return best

    def _refusals(self, chosen: set[GraphVar]) -> list[Decision]:
        """The calls that a layout was asked for, or reached, and that nobody could pack."""
        kernels = {step.bind.var for step in self.kernels}
        found: list[Decision] = []
        for stmt in self.flow.block.body:
            if type(stmt) is not GraphBind or stmt.var in self.layouts:
                continue
            var = stmt.var
            reason = ORDER if var in self.refused else UNREAD if var in self.asked and var not in kernels else None
            if reason is UNREAD and type(var.type) is TupleType and var not in self.flow.tuples:
                reason = WHOLE
            target = self.flow.instances.called_for(stmt.value)
            if reason is not None and target is not None:
                cost = self.cost(chosen)
                found.append(Decision(var.name, target[0].name, False, cost, cost, {}, reason=reason))
        return found

    def _decision(self, kernel: Kernel, chosen: set[GraphVar], by: str) -> Decision:
        var = kernel.bind.var
        layouts = {buffer.name: str(one) for buffer, one in self.layouts[var].items() if buffer in kernel.func.params}
        with_it, without = self.cost(chosen | {var}), self.cost(chosen - {var})
        return Decision(var.name, kernel.func.name, var in chosen, with_it, without, layouts, by)

    def _improved(self, chosen: set[GraphVar], free: list[GraphVar]) -> set[GraphVar]:
        """The choice with kernels turned while that makes it cheaper."""
        best, least = chosen, self.cost(chosen)
        for _ in range(ROUNDS):
            before = least
            for var in (*free, *reversed(free)):
                other = best ^ {var}
                cost = self.cost(other)
                if cost < least:
                    best, least = other, cost
            if least == before:
                break
        return best

    def needs(self, chosen: set[GraphVar]) -> tuple[dict[Any, set[Key]], dict[Any, Key]]:
        """The forms in which values are used, and in which they are made, with these kernels packed."""
        flow, keys = self.flow, self.keys
        need: dict[Any, set[Key]] = {}
        made: dict[Any, Key] = {}

        def use(value: Value, mapping: PadMapping | None) -> None:
            need.setdefault(identity(value), set()).add(keys.key(value, mapping))

        for step in flow.steps:
            if step is None:
                continue
            read, written = self._forms(step, type(step) is Kernel and step.bind.var in chosen)
            for key in read:
                need.setdefault(key[0], set()).add(key)
            made.update(written)
        for var in flow.block.outputs:
            form = flow.form(var)
            if form.mapping is not None and form.mapping.padded:
                use(form.value, form.mapping)
            else:
                use(flow.owner(var), None)
        bound = [getattr(stmt, "var", None) for stmt in flow.block.body]
        for var in reversed([one for one in bound if one in flow.conversions]):
            assert var is not None
            form = flow.form(var)
            if form.mapping is None or form.mapping.padded or var not in need:
                continue
            source = keys.key(var, form.mapping.turned())
            if need[var] - {source}:
                use(form.value, form.mapping)
            if source in need[var]:
                use(form.value, None)
        return need, made

    def _forms(self, step: Any, packed: bool) -> tuple[list[Key], dict[Any, Key]]:
        """The forms of values that a step reads, and those in which it makes them; remembered."""
        found = self._known.get((id(step), packed))
        if found is not None:
            return found
        flow, key = self.flow, self.keys.key
        read: list[Key] = []
        made: dict[Any, Key] = {}
        if type(step) is Kernel:
            layouts = self.layouts[step.bind.var] if packed else {}
            read = [key(flow.owner(value), layouts.get(buffer)) for buffer, value in step.inputs()]
            made = {var: key(var, layouts.get(buffer)) for buffer, var in step.results()}
        else:
            for value in dict.fromkeys(walk(_read(step), GraphVar)):
                form = flow.form(value)
                if form.mapping is not None and form.mapping.padded:
                    read.append(key(form.value, form.mapping))
                else:
                    read.append(key(flow.owner(value), None))
            if type(step) is Fixed and step.native is not None:
                made[step.native.value] = key(step.native.value, step.native.mapping)
        self._known[id(step), packed] = read, made
        return read, made

    def cost(self, chosen: set[GraphVar]) -> float:
        """Bytes moved by conversions and packed kernels, with these kernels packed."""
        need, made = self.needs(chosen)
        inside = self._inside
        total = 0.0
        for name, keys in need.items():
            if not isinstance(name, GraphVar):
                continue  # constants are packed when the model is compiled
            form = self.flow.form(name)
            views: set[Key] = {(name, None)}
            if form.mapping is not None and not form.mapping.padded:
                views.add(self.keys.key(name, form.mapping.turned()))
            else:
                views = {made.get(name, (name, None))}
            left = keys - views
            if any(key[1] is not None for key in left) and not views & {(name, None)}:
                left = left | {(name, None)}
            at_edge = name not in inside or name in self.flow.block.outputs
            for key in left:
                mapping = self.keys.mapping(key) or self.keys.mapping(next(iter(views)))
                if mapping is not None:
                    if mapping not in self._elements:
                        self._elements[mapping] = _size(mapping.shape) + _size(mapping.packed_shape)
                    total += self._elements[mapping] * _width(name) * (EDGE if at_edge else 1)
        for var in chosen:
            if var not in self._works:
                self._works[var] = self._work(var)
            total += self._works[var]
        return total

    def _work(self, var: GraphVar) -> float:
        """What a packed kernel costs more than the plain one."""
        kernel = next(kernel for kernel in self.kernels if kernel.bind.var is var)
        layouts, trial = self.layouts[var], self.trials[var]
        more, largest = self.sums[var], 0.0
        for buffer in kernel.program.params:
            mapping = layouts.get(buffer)
            width = buffer.dtype.bits / 8
            if mapping is not None:
                largest = max(largest, _size(mapping.packed_shape) * width)
                more += (_size(mapping.packed_shape) - _size(mapping.shape)) * width
        return more + (BRANCH * trial.branches + SELECT * trial.selects) * largest


def _sums(axes: tuple[Axis, ...], stage: Stage, layouts: Mapping[Any, PadMapping]) -> float:
    """What the terms of a stage's sums cost over these axes, with buffers in these layouts."""
    update = update_of(stage)
    if update is None or all(axis.kind == "spatial" for axis in stage.axes):
        return 0.0
    total = TERM * _size(tuple(axis.stop for axis in axes))
    operands = {load.buffer for load in loads_of(update[1])}
    width = stage.buffer.dtype.bits / 8
    line = _shape(stage.buffer, layouts)[-1:]
    if len(operands) > 1 and line and _size(line) * width % VECTOR:
        total += sum(COPIED * _size(_shape(one, layouts)) * one.dtype.bits / 8 for one in operands)
    return total


def _shape(buffer: Buffer, layouts: Mapping[Any, PadMapping]) -> tuple[Expr, ...]:
    return layouts[buffer].packed_shape if buffer in layouts else buffer.shape


def _read(step: Any) -> Any:
    return step.bind.value if type(step) is Fixed else getattr(step, "value", step)


def fits(mapping: PadMapping, buffer: Any) -> bool:
    """Whether a layout is one of a buffer of this shape."""
    if len(mapping.shape) != buffer.ndim:
        return False
    known = Analyzer()
    return all(known.prove_equal(a, size_of(b)) for a, b in zip(mapping.shape, buffer.shape, strict=True))


def _size(shape: tuple[Expr, ...]) -> float:
    """The elements of a shape; a dimension that is not known counts as `NOMINAL`."""
    return float(math.prod(map(_extent, shape)))


def _extent(dim: Expr) -> int:
    if type(dim) is Const:
        return int(dim.value)
    try:
        return evaluate(dim, dict.fromkeys(walk(dim, Var), NOMINAL))
    except Undecided:
        return NOMINAL


def _width(var: GraphVar) -> float:
    kind = var.type
    return kind.dtype.bits / 8 if type(kind) is TensorType and kind.dtype is not None else 4


__all__ = ["Decide", "Decision", "Keys", "Plan", "fits", "identity"]
