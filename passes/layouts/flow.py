"""The values of a dataflow with the layouts they are stored in, and the calls that make and read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.expr import Const
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import Dataflow, GraphBind, GraphConst, GraphExpr, GraphVar, TupleItem
from tirscript.ir.module import Module
from tirscript.ir.rewrite import walk
from tirscript.ir.stmt import Block

from ..graph.replacing import variables
from .calls import Instances
from .mapping import Conversion, PadMapping, conversion_of
from .stages import Staged, staged

# what a tensor is known by: the variable of its plain form, or a constant
Value = GraphVar | GraphConst


class Form(Struct, frozen=True, eq=False):
    """A variable as `value` in a layout; None is the plain one."""

    value: Value
    mapping: PadMapping | None = None


class Kernel(Struct, frozen=True, eq=False):
    """A call of a function as stages, whose last parameters are its results: `outs`, where several those of a tuple."""

    bind: GraphBind
    func: PrimFunc
    program: Staged
    args: tuple[Value, ...]
    outs: tuple[GraphVar, ...]

    def inputs(self) -> list[tuple[Buffer, Value]]:
        """The parameters that it reads with what is passed."""
        return list(zip(self.program.params, self.args, strict=False))

    def results(self) -> list[tuple[Buffer, GraphVar]]:
        """The parameters that it writes with the variables of the results."""
        return list(zip(self.program.params[len(self.args) :], self.outs, strict=True))

    def values(self) -> list[tuple[Buffer, Value]]:
        """All parameters with their values."""
        return [*self.inputs(), *self.results()]


class Fixed(Struct, frozen=True, eq=False):
    """A call of a function on packed tensors, which stays as it is; `native` is the value that its result holds."""

    bind: GraphBind
    func: PrimFunc
    program: Staged | None
    args: tuple[GraphExpr, ...]
    native: Form | None


class Flow:
    """The bindings of a dataflow: conversions, kernels, functions on packed tensors, and all others.

    `forms` tells for each variable what it is a layout of. `items` are the single tensors of kernels that give several.
    `constants` are variables that are bound to constants, which calls then take.
    """

    def __init__(
        self,
        block: Dataflow,
        module: Module,
        known: dict[Any, Any],
        instances: Instances,
        written: frozenset[GraphVar] = frozenset(),
        constants: Mapping[GraphVar, GraphConst] | None = None,
    ) -> None:
        self.block, self.module, self.known, self.instances = block, module, known, instances
        # what calls write in place: nothing that makes or uses it may move
        self.written = written
        self.constants = constants or {}
        self.forms: dict[GraphVar, Form] = {}
        self.claims: dict[GraphVar, Const] = {}
        self.steps: list[Kernel | Fixed | GraphBind | Any] = []
        self.conversions: set[GraphVar] = set()
        self.items: set[GraphVar] = set()
        self._native = self._natives()
        self.tuples = self._parted()
        for stmt in block.body:
            self.steps.append(self._step(stmt))

    def form(self, var: Value) -> Form:
        """What a variable is."""
        return self.forms.get(var, Form(var)) if type(var) is GraphVar else Form(var)

    def is_padded(self, value: Any) -> bool:
        """Whether a variable is a value with padding around it."""
        mapping = self.form(value).mapping
        return mapping is not None and mapping.padded

    def owner(self, value: Any) -> Value:
        """The value that a variable holds: one that is a view of another without padding counts by itself."""
        form = self.form(value)
        return form.value if form.mapping is None or form.mapping.padded else value  # type: ignore[no-any-return]

    def conversion(self, func: PrimFunc) -> Conversion | None:
        """The mapping that a function carries out, one that can be moved."""
        key = ("conversion", func)
        if key not in self.known:
            self.known[key] = conversion_of(func)
        found = self.known[key]
        assert found is None or type(found) is Conversion
        return found

    def program(self, func: PrimFunc, results: int = 1) -> Staged | None:
        """A function as stages that write its last parameters and nothing else of the caller's."""
        key = ("stages", results, func)
        if key not in self.known:
            found = staged(func)
            if found is not None and found.written() & set(found.params) != set(found.params[-results:]):
                found = None
            self.known[key] = found
        found = self.known[key]
        assert found is None or type(found) is Staged
        return found

    def _natives(self) -> dict[GraphVar, tuple[GraphVar, Conversion]]:
        """Results of calls that only crops take, one mapping each, with what the first crop makes of them."""
        made: dict[GraphVar, GraphBind] = {}
        uses: dict[GraphVar, list[Any]] = {}
        for stmt in self.block.body:
            for node in walk(stmt.value) if type(stmt) is GraphBind else walk(stmt):
                if type(node) is GraphVar:
                    uses.setdefault(node, []).append(stmt)
            if type(stmt) is GraphBind and not self._stays(stmt) and self.instances.called(stmt.value) is not None:
                made[stmt.var] = stmt
        found: dict[GraphVar, tuple[GraphVar, Conversion]] = {}
        packed: set[GraphVar] = set()
        for var, stmt in made.items():
            func, args = self.instances.called(stmt.value) or (None, ())
            assert func is not None
            conversion = self.conversion(func) if len(args) == 1 else None
            pads = conversion is not None and conversion.packs and conversion.mapping.padded
            if pads or (conversion is None and any(arg in packed for arg in args)):
                packed.add(var)
        for var in made:
            if var in self.block.outputs or (var not in packed and not self._is_hinted(uses.get(var, []))):
                continue
            crops = [self._crop(user) for user in uses.get(var, [])]
            first = crops[0] if crops else None
            if first is None or any(one is None or not one[1].mapping.same_layout(first[1].mapping) for one in crops):
                continue
            func, args = self.instances.called(made[var].value) or (None, ())
            own = None if func is None or len(args) != 1 else self.conversion(func)
            if own is None:
                found[var] = first
        return found

    def _parted(self) -> dict[GraphVar, list[GraphBind]]:
        """Results of calls that give several tensors, where only these are used, with their bindings."""
        found: dict[GraphVar, list[GraphBind]] = {}
        for stmt in self.block.body:
            if type(stmt) is not GraphBind:
                continue
            several = None if self._stays(stmt) else self.instances.called_for(stmt.value)
            if several is not None and self.instances.called(stmt.value) is None and stmt.var not in self.block.outputs:
                found[stmt.var] = []
        for stmt in self.block.body:
            item = stmt.value if type(stmt) is GraphBind else None
            if type(stmt) is GraphBind and type(item) is TupleItem and item.value in found:
                found[item.value].append(stmt)  # type: ignore[index]
                continue
            for node in walk(item if item is not None else stmt):
                if type(node) is GraphVar:
                    found.pop(node, None)
        return found

    def _stays(self, stmt: GraphBind) -> bool:
        """Whether a binding makes or uses a value that is written in place."""
        return bool(self.written) and not self.written.isdisjoint(variables(stmt.value) | {stmt.var})

    def _several(self, stmt: GraphBind) -> Kernel | None:
        """A call that gives several tensors."""
        items = self.tuples.get(stmt.var)
        target = None if items is None else self.instances.called_for(stmt.value)
        if items is None or target is None:
            return None
        func, args = target[0], self._known_args(target[1])
        count = len(func.params) - len(args)
        program = self.program(func, count)
        plain = all(type(arg) in (GraphVar, GraphConst) and not self.is_padded(arg) for arg in args)
        if program is None or not plain:
            return None
        outs: dict[int, GraphVar] = {}
        for bind in items:
            assert type(bind.value) is TupleItem
            first = outs.setdefault(bind.value.index, bind.var)
            if first is not bind.var:
                self.forms[bind.var] = Form(first)
        kinds = stmt.value.types  # type: ignore[attr-defined]
        named = tuple(outs.get(at) or GraphVar(f"{stmt.var.name}_{at}", kind) for at, kind in enumerate(kinds))
        self.items |= {bind.var for bind in items}
        return Kernel(stmt, func, program, args, named)  # type: ignore[arg-type]

    def _known_args(self, args: tuple[GraphExpr, ...]) -> tuple[GraphExpr, ...]:
        """What a call is given, constants in place of the variables that are bound to them."""
        return tuple(self.constants.get(arg, arg) if type(arg) is GraphVar else arg for arg in args)

    def _crop(self, stmt: Any) -> tuple[GraphVar, Conversion] | None:
        found = self.instances.called(stmt.value) if type(stmt) is GraphBind else None
        if found is None or len(found[1]) != 1 or self._stays(stmt):
            return None
        conversion = self.conversion(found[0])
        return None if conversion is None or conversion.packs else (stmt.var, conversion)

    def _is_hinted(self, users: list[Any]) -> bool:
        """Whether a function that takes a value says that it crops."""
        for user in users:
            found = self.instances.called(user.value) if type(user) is GraphBind else None
            if found is not None and any(type(n) is Block and "postproc" in n.annotations for n in walk(found[0])):
                return True
        return False

    def _step(self, stmt: Any) -> Any:
        if type(stmt) is GraphBind and self._stays(stmt):
            return stmt
        found = self.instances.called(stmt.value) if type(stmt) is GraphBind else None
        if type(stmt) is GraphBind and stmt.var in self.items:
            return None
        if type(stmt) is GraphBind and stmt.var in self.tuples:
            return self._several(stmt) or stmt
        if found is None or not all(type(arg) in (GraphVar, GraphConst) for arg in found[1]):
            return stmt
        func, args = found[0], self._known_args(found[1])
        if len(args) == 1 and self._is_conversion(stmt, func, args[0]):
            self.conversions.add(stmt.var)
            return None
        native = None
        if stmt.var in self._native:
            value, conversion = self._native[stmt.var]
            native = self.forms[stmt.var] = Form(value, conversion.mapping)
            if conversion.mapping.pad_value is not None:
                self.claims[stmt.var] = conversion.mapping.pad_value
        program = self.program(func)
        packed = any(self.is_padded(arg) for arg in args)
        if native is not None or packed:
            return Fixed(stmt, func, program, args, native)
        if program is None or not all(type(arg) in (GraphVar, GraphConst) for arg in args):
            return stmt
        return Kernel(stmt, func, program, args, (stmt.var,))  # type: ignore[arg-type]

    def _is_conversion(self, stmt: GraphBind, func: PrimFunc, given: Any) -> bool:
        """Whether a call gives another form of its argument; `forms` then tells which."""
        conversion = self.conversion(func)
        if conversion is None or (type(given) is GraphConst and not given.data.resolved):
            return False
        form, mapping = self.form(given), conversion.mapping
        if not conversion.packs:
            if form.mapping is None or not form.mapping.same_layout(mapping):
                return False
            self.forms[stmt.var] = self.form(form.value)
            return True
        if form.mapping is None:
            self.forms[stmt.var] = Form(form.value, mapping)
            return True
        if mapping.padded:
            return False
        made = form.mapping.then(mapping)
        if made is None:
            return False
        plain = len(made.shape) == len(made.packed_shape) and all(
            index is param for index, param in zip(made.index_map.indices, made.index_map.params, strict=True)
        )
        same = plain and not made.padded
        self.forms[stmt.var] = self.form(form.value) if same else Form(form.value, made)
        return True


__all__ = ["Fixed", "Flow", "Form", "Kernel", "Value"]
