"""The calls of a dataflow written anew for the layouts that were planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct

from tirscript.ir.arith.analyzer import Analyzer
from tirscript.ir.buffer import Buffer
from tirscript.ir.constant import constant
from tirscript.ir.dtype import DType
from tirscript.ir.equal import structural_equal
from tirscript.ir.expr import Call, Const, Expr, Var, const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import Dataflow, GraphBind, GraphConst, GraphExpr, GraphVar, TensorType, TupleExpr, TupleItem
from tirscript.ir.node import are_same
from tirscript.ir.op import get_op
from tirscript.ir.rewrite import holds, refresh, substitute, walk
from tirscript.ir.span import Span
from tirscript.ir.stmt import AllocateConst, AllocBuffer, Assume, If, Stmt

from ..graph.replacing import variables
from ..names import Names
from ..overcompute import remove_branching_through_overcompute
from ..remove_assume import remove_assume
from .calls import call, closed
from .converters import claim_of, crop_function, pad_function, refill_function
from .filling import fill_statements
from .flow import Fixed, Kernel, Value
from .mapping import Conversion, PadMapping
from .packing import Packing
from .padding import Known, same_value
from .planning import Key, Plan
from .stages import Staged


class Stored(Struct, frozen=True, eq=False):
    """A value in one form: where it is, what is in its padding, and whether anything is."""

    value: Value
    padding: Known | None = None
    written: bool = True


class Callee(Struct, frozen=True, eq=False):
    """A function by name, and the dimensions that are passed behind its tensors."""

    name: str
    scalars: tuple[Expr, ...] = ()

    def bind(self, name: str, args: Sequence[GraphExpr], *kinds: TensorType, span: Span | None = None) -> GraphBind:
        """A call of it that is bound to a name."""
        return call(name, self.name, args, *kinds, span=span, scalars=self.scalars)


class Report(Struct):
    """What is left in a graph: `conversions` of tensors, `folded` into constants, and what packed kernels hold.

    `before` is how many conversions there were. `edges` are, by the name of a variable, the
    layout of what it holds.
    """

    conversions: int = 0
    before: int = 0
    folded: int = 0
    selects: int = 0
    branches: int = 0
    fills: int = 0
    edges: dict[str, str] = {}


class Functions:
    """The functions that are made, equal ones once."""

    def __init__(self, names: Names, old: list[PrimFunc]) -> None:
        self.names = names
        self.old = old
        self.made: list[PrimFunc] = []

    def shared(self, func: PrimFunc) -> Callee:
        """A function equal to this one, or this one under a name of its own."""
        func, scalars = closed(func.replace(private=True))
        for other in self.made:
            if structural_equal(func.replace(name=other.name), other):
                return Callee(other.name, scalars)
        named = refresh(func.replace(name=self.names.fresh(func.name)))
        self.made.append(named)
        return Callee(named.name, scalars)


class Emitting:
    """One dataflow on its way. `instead` are variables of before with what stands for them now."""

    def __init__(self, plan: Plan, functions: Functions, report: Report) -> None:
        self.plan, self.flow, self.keys = plan, plan.flow, plan.keys
        self.functions, self.report = functions, report
        self.stored: dict[Key, Stored] = {}
        self.refilled: dict[tuple[Key, Any], Stored] = {}
        self.body: list[Stmt] = []
        self.instead: dict[GraphVar, Value] = {}
        self.aims: dict[Key, Const] = {}
        self.needed: set[Key] = set()
        need, _ = plan.needs(plan.packed)
        self.used = {key for keys in need.values() for key in keys}
        own = {getattr(stmt, "var", None) for stmt in self.flow.block.body}
        for var in variables(self.flow.block) - own:
            self._name_constant(var)

    def block(self) -> Dataflow:
        """The dataflow as planned."""
        self._aim()
        flow = self.flow
        used = {node for step in flow.steps if step is not None for node in walk(_value(step), GraphVar)}
        for stmt, step in zip(flow.block.body, flow.steps, strict=True):
            if step is None:
                var: Any = getattr(stmt, "var", None)
                if var in used or var in flow.block.outputs:
                    continue
            elif type(step) is Kernel:
                self._kernel(step)
            elif type(step) is Fixed:
                self._fixed(step)
            else:
                self._other(step)
        outputs: list[GraphVar] = []
        own = set()
        for var in flow.block.outputs:
            found = self.get(var)
            if found is not var:
                self.instead[var] = found
            if type(found) is GraphVar:
                outputs.append(found)
        own = {stmt.var for stmt in self.body if hasattr(stmt, "var")}
        kept = tuple(dict.fromkeys(var for var in outputs if var in own))
        self.report.before += len(flow.conversions)
        return flow.block.replace(body=tuple(self.body), outputs=kept)

    # wanting

    def _aim(self) -> None:
        """What the padding of each packed value should hold, asked backward."""
        flow = self.flow
        for step in reversed(flow.steps):
            if type(step) is Fixed:
                for at, arg in enumerate(step.args):
                    form = flow.form(arg)  # type: ignore[arg-type]
                    if form.mapping is not None and form.mapping.padded and form.mapping.pad_value is not None:
                        if self.looks_at(step, at):
                            key = self.keys.key(form.value, form.mapping)
                            self.aims.setdefault(key, form.mapping.pad_value)
                            self.needed.add(key)
            elif type(step) is Kernel and step.bind.var in self.plan.packed:
                layouts = self.plan.layouts[step.bind.var]
                packing = Packing(step.program, layouts, {})
                aims = packing.wants(self._wanted(step, layouts))
                for buffer, value in step.inputs():
                    if buffer in aims and buffer in layouts:
                        key = self.keys.key(flow.owner(value), layouts[buffer])
                        self.aims.setdefault(key, aims[buffer])
                        if buffer in packing.needed:
                            self.needed.add(key)

    def _wanted(self, step: Kernel, layouts: Mapping[Buffer, PadMapping]) -> dict[Buffer, Const]:
        """What the padding of a kernel's results should hold."""
        found: dict[Buffer, Const] = {}
        for out, var in step.results():
            aim = self.aims.get(self.keys.key(var, layouts[out])) if out in layouts else None
            if aim is not None:
                found[out] = aim
        return found

    def looks_at(self, step: Fixed, at: int) -> bool:
        """Whether what a function on packed tensors stores, padding aside, may depend on the padding of an argument."""
        if step.program is None:
            return True
        mapping = self.flow.form(step.args[at]).mapping  # type: ignore[arg-type]
        assert mapping is not None
        buffer = step.program.params[at]
        return _looks(step.program, buffer, mapping, None if step.native is None else step.native.mapping)

    # values

    def _name_constant(self, var: GraphVar) -> None:
        """Let a variable that is bound to a constant stand for it from here on."""
        data = self.flow.constants.get(var)
        if data is not None:
            self.stored[self.keys.key(data, None)] = Stored(var)

    def get(self, var: Any) -> Value:
        """What stands for a variable now."""
        form = self.flow.form(var)
        if form.mapping is None or not form.mapping.padded:
            return self.form_of(self.flow.owner(var), None).value
        found = self.form_of(form.value, form.mapping, form.mapping.pad_value)
        return found.value

    def form_of(self, value: Value, mapping: PadMapping | None, padding: Const | None = None) -> Stored:
        """A value in a layout, with `padding` where that is given: as it is there, or converted here."""
        key = self.keys.key(value, mapping)
        found = self.stored.get(key)
        if found is None:
            found = self._made(value, key, mapping, padding)
            self.stored[key] = found
        if mapping is None or not mapping.padded or padding is None or same_value(found.padding, padding):
            return found
        again = (key, (padding.value, padding.dtype))
        if again not in self.refilled:
            dtype = _dtype(found.value)
            func = self.functions.shared(refill_function("refill", mapping, dtype, padding))
            var = self._call(f"{_name(value)}_refilled", func, (found.value,), mapping, dtype)
            self.refilled[again] = Stored(var, padding)
            self.report.selects += 1
        return self.refilled[again]

    def _made(self, value: Value, key: Key, mapping: PadMapping | None, padding: Const | None) -> Stored:
        view = self.flow.form(value)
        if view.mapping is not None and not view.mapping.padded:
            if mapping is None:
                return Stored(self.form_of(view.value, view.mapping).value)
            if view.mapping.turned().same_layout(mapping):
                return Stored(self.form_of(view.value, None).value)
        if mapping is None:
            for other, stored in list(self.stored.items()):
                if other[0] == key[0] and other[1] is not None:
                    return self._cropped(value, stored, self.keys.mapping(other))
            return Stored(value)
        plain = self.form_of(value, None).value
        fill = padding if padding is not None else self.aims.get(key)
        if mapping.padded and fill is None:
            fill = const(0, _dtype(plain))
        known = self.flow.constants.get(plain) if type(plain) is GraphVar else plain
        numbers = all(type(dim) is Const for dim in mapping.packed_shape)
        if type(known) is GraphConst and known.data.resolved and numbers:
            self.report.folded += 1
            return Stored(GraphConst(constant(mapping.packed(known.data.array, fill))), fill)
        dtype = _dtype(plain)
        for old in self.functions.old:
            same = self.flow.conversion(old)
            if same is not None and same.packs and same.mapping.same_layout(mapping) and not _says_more(old, same):
                if _takes(old, dtype) and (not mapping.padded or same_value(same.mapping.pad_value, fill)):
                    func = Callee(old.name)
                    break
        else:
            func = self.functions.shared(pad_function("pack", mapping, dtype, fill))
        self.report.conversions += 1
        return Stored(self._call(f"{_name(value)}_packed", func, (plain,), mapping, dtype), fill)

    def _cropped(self, value: Value, stored: Stored, mapping: PadMapping | None) -> Stored:
        assert mapping is not None
        dtype = _dtype(stored.value)
        for old in self.functions.old:
            same = self.flow.conversion(old)
            if same is None or same.packs or not _takes(old, dtype) or not same.mapping.same_layout(mapping):
                continue
            if _says_more(old, same):
                continue
            claim = same.mapping.pad_value
            # what it assumes of the padding must still be so
            if claim is None or same_value(claim, stored.padding):
                func = Callee(old.name)
                break
        else:
            func = self.functions.shared(crop_function("crop", mapping, dtype))
        self.report.conversions += 1
        var = value if type(value) is GraphVar else None
        made = func.bind(_name(value), (stored.value,), _type(mapping.shape, dtype))
        if var is not None and type(var.type) is TensorType:
            made = GraphBind(var, made.value)
        self.body.append(made)
        return Stored(made.var)

    def _call(self, name: str, func: Callee, args: tuple[Value, ...], mapping: PadMapping, dtype: DType) -> GraphVar:
        made = func.bind(name, args, _type(mapping.packed_shape, dtype))
        self.report.edges[made.var.name] = str(mapping)
        self.body.append(made)
        return made.var

    # steps

    def _kernel(self, step: Kernel) -> None:
        var = step.bind.var
        if var not in self.plan.packed:
            args = tuple(self.form_of(self.flow.owner(value), None).value for value in step.args)
            self.body.append(_with_args(step.bind, step.args, args))
            for at, (_, one) in enumerate(step.results()):
                if one is not var:
                    self.body.append(GraphBind(one, TupleItem(var, at), span=step.bind.span))
                self.stored[self.keys.key(one, None)] = Stored(one)
            return
        layouts = self.plan.layouts[var]
        given: list[Stored] = []
        padding: dict[Buffer, Known | None] = {}
        for buffer, value in step.inputs():
            mapping = layouts.get(buffer)
            found = self.form_of(self.flow.owner(value), mapping)
            if not found.written:
                assert mapping is not None
                found = self.form_of(self.flow.owner(value), mapping, const(0, buffer.dtype))
            given.append(found)
            if mapping is not None:
                padding[buffer] = found.padding
        keys = {out: self.keys.key(one, layouts.get(out)) for out, one in step.results()}
        needed = [out for out, key in keys.items() if out in layouts and key in self.needed]
        packing = Packing(step.program, layouts, padding)
        made = packing.function(f"{step.func.name}_packed", self._wanted(step, layouts), needed)
        assert made is not None, "a kernel that was packed in the plan cannot be packed"
        func = self.functions.shared(made.func)
        self.report.selects += made.selects
        self.report.branches += made.branches
        self.report.fills += made.fills
        results = step.results()
        kinds = []
        for out, one in results:
            assert type(one.type) is TensorType
            kinds.append(_type(layouts[out].packed_shape, out.dtype) if out in layouts else one.type)
        packed = any(out in layouts for out, _ in results)
        bind = func.bind(f"{var.name}_packed", [one.value for one in given], *kinds, span=step.bind.span)
        if not packed:
            bind = step.bind.replace(value=bind.value)
        self.body.append(bind)
        for at, ((out, one), kind) in enumerate(zip(results, kinds, strict=True)):
            here = bind.var
            if len(results) > 1:
                here = GraphVar(f"{one.name}_packed", kind) if out in layouts else one
                self.body.append(GraphBind(here, TupleItem(bind.var, at), span=step.bind.span))
            if out in layouts:
                self.report.edges[here.name] = str(layouts[out])
            self.stored[keys[out]] = Stored(here, made.padding[out] if out in layouts else None)

    def _fixed(self, step: Fixed) -> None:
        args: list[GraphExpr] = []
        facts: list[tuple[Any, PadMapping, Const]] = []
        as_before = True
        for at, arg in enumerate(step.args):
            form = self.flow.form(arg)  # type: ignore[arg-type]
            if form.mapping is None or not form.mapping.padded:
                args.append(self.form_of(self.flow.owner(arg), None).value)
                continue
            before = form.mapping.pad_value
            looks = self.looks_at(step, at)
            found = self.form_of(form.value, form.mapping, before if looks else None)
            if not found.written and not looks:
                found = self.form_of(form.value, form.mapping, const(0, _dtype(found.value)))
            as_before = as_before and (before is None or same_value(found.padding, before))
            if type(found.padding) is Const:
                facts.append((step.func.params[at], form.mapping, found.padding))
            args.append(found.value)
        straight = self._straight(step.func, facts)
        bind = _with_args(step.bind, step.args, tuple(args))
        if straight is not step.func:
            step = Fixed(step.bind, straight, step.program, step.args, step.native)
            kinds = bind.value.types  # type: ignore[attr-defined]
            callee = self.functions.shared(straight)
            bind = bind.replace(value=callee.bind(bind.var.name, args, kinds[0], span=bind.span).value)
        self.body.append(bind)
        if step.native is None:
            self.stored[self.keys.key(step.bind.var, None)] = Stored(step.bind.var)
            return
        claim = self.flow.claims.get(step.bind.var) if as_before else None
        written = claim is not None or (step.program is not None and _writes_all(step.program))
        assert step.native.mapping is not None
        stored = Stored(step.bind.var, claim, written)
        key = self.keys.key(step.native.value, step.native.mapping)
        if not written and key in self.used:
            stored = Stored(step.bind.var, self._filled(step, bind, self.aims.get(key)))
        self.report.edges[step.bind.var.name] = str(step.native.mapping)
        self.stored[key] = stored

    def _straight(self, func: PrimFunc, facts: list[tuple[Any, PadMapping, Const]]) -> PrimFunc:
        """The function without branches that what is in the padding of its arguments makes needless."""
        branches = _branches(func)
        if not facts or not branches or holds(func.body, Assume):
            return func
        at = sum(1 for _ in takewhile(lambda stmt: type(stmt) in (AllocBuffer, AllocateConst), func.body))
        claims = tuple(claim_of(buffer, mapping, value) for buffer, mapping, value in facts)
        told = func.replace(body=(*func.body[:at], *claims, *func.body[at:]))
        made = remove_assume.function(remove_branching_through_overcompute.function(told))
        if _branches(made) >= branches:
            return func
        return made.replace(name=f"{func.name}_straight")

    def _filled(self, step: Fixed, bind: GraphBind, aim: Const | None) -> Const:
        """Let a function on packed tensors store padding too, for those that read it; what it stores."""
        assert step.native is not None and step.native.mapping is not None
        out = step.func.params[-1]
        assert type(out) is Buffer
        value = const(0, out.dtype) if aim is None else aim
        fills = fill_statements(step.native.mapping, out, value)
        func = self.functions.shared(step.func.replace(name=f"{step.func.name}_filled", body=(*step.func.body, *fills)))
        made = func.bind(bind.var.name, bind.value.args[1].fields, bind.value.types[0])  # type: ignore[attr-defined]
        self.body[-1] = bind.replace(value=made.value)
        self.report.fills += 1
        return value

    def _other(self, stmt: Any) -> None:
        read = dict.fromkeys(walk(_value(stmt), GraphVar))
        values = {var: found for var in read if (found := self.get(var)) is not var}
        self.body.append(stmt.replace(value=substitute(stmt.value, values)) if values else stmt)
        if type(stmt) is GraphBind:
            self._name_constant(stmt.var)


def _value(step: Any) -> Any:
    return step.bind.value if type(step) in (Kernel, Fixed) else step.value if hasattr(step, "value") else step


def _with_args(bind: GraphBind, old: tuple[GraphExpr, ...], args: tuple[GraphExpr, ...]) -> GraphBind:
    if are_same(old, args):
        return bind
    value: Any = bind.value
    return bind.replace(value=value.replace(args=(value.args[0], TupleExpr(args), *value.args[2:])))


def _branches(func: PrimFunc) -> int:
    return sum(type(node) is If or (type(node) is Call and node.op.name == "if_then_else") for node in walk(func.body))


def _looks(program: Staged, buffer: Buffer, mapping: PadMapping, out: PadMapping | None) -> bool:
    """Whether the result, padding aside, may depend on the padding of a buffer."""
    target = program.params[-1]
    for stage in program.stages:
        for load in stage.loads():
            if load.buffer is target and (stage.buffer is not target or load.indices != stage.store.indices):
                return True  # what is stored in the padding may be read again
            if load.buffer is not buffer:
                continue
            known = stage.analyzer()
            if stage.where is not None:
                known.assume(stage.where)
            if out is not None and stage.buffer is target:
                dtype = stage.store.indices[0].dtype
                known.assume(get_op("logical_not")(out.pads(stage.store.indices, dtype)))
            free = mapping.pads(load.indices, load.indices[0].dtype)
            if not (known.facts.unreachable or known.can_refute(free)):
                return True
    return False


def _writes_all(program: Staged) -> bool:
    """Whether a stage stores every element of the result."""
    target = program.params[-1]
    known = Analyzer()
    for stage in program.stages:
        axes = {axis.var: axis.stop for axis in stage.axes}
        plain = [index for index in stage.store.indices if type(index) is Var and index in axes]
        if stage.buffer is target and stage.where is None and len(set(plain)) == target.ndim:
            if all(known.prove_equal(axes[index], dim) for index, dim in zip(plain, target.shape, strict=True)):
                return True
    return False


def _dtype(value: Value) -> DType:
    if type(value) is GraphConst:
        return value.data.dtype
    assert type(value) is GraphVar
    kind = value.type
    assert type(kind) is TensorType and kind.dtype is not None
    return kind.dtype


def _type(shape: Any, dtype: DType) -> TensorType:
    return TensorType(tuple(shape), dtype)


def _name(value: Value) -> str:
    return value.name if type(value) is GraphVar else "constant"


def _says_more(func: PrimFunc, conversion: Conversion) -> bool:
    """Whether a conversion assumes more of its argument than what is in the padding: it may not be so of others."""
    told = not conversion.packs and conversion.mapping.pad_value is not None
    return sum(type(node) is Assume for node in walk(func.body)) > told


def _takes(func: PrimFunc, dtype: DType) -> bool:
    param = func.params[0]
    return type(param) is Buffer and param.dtype is dtype


__all__ = ["Emitting", "Functions", "Report"]
