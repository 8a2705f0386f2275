"""Layouts move through the graph until they meet and cancel, or reach a constant or the graph's edge.

before:                                            after:
    with G.dataflow():                                 with G.dataflow():
        a = G.call_tir(cls.grow, (x,))                     x_packed = G.call_tir(cls.pack, (x,))
        p = G.call_tir(cls.pad, (a,))                      a_packed = G.call_tir(cls.grow_packed, (x_packed,))
        q = G.call_tir(cls.addone, (p,))                   q = G.call_tir(cls.addone, (a_packed,))
        b = G.call_tir(cls.crop, (q,))                     c_packed = G.call_tir(cls.grow_packed, (q,))
        c = G.call_tir(cls.grow, (b,))                     c = G.call_tir(cls.crop, (c_packed,))
        G.output(c)                                        G.output(c)

What a kernel does with a layout is read in its statements (`packing.py`); which kernels take one is a matter of cost
(`planning.py`), and what has to stand in the padding is asked backward and proved forward (`emitting.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.check import public
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.graph import Dataflow, GraphBind, GraphConst, GraphFunc, GraphIf, GraphVar, OpCall, TupleItem
from tirscript.ir.graph_ops.calls import CALL_TIR
from tirscript.ir.index_map import IndexMap
from tirscript.ir.module import Module
from tirscript.ir.node import are_same, recursion_room
from tirscript.ir.rewrite import substitute, walk
from tirscript.ir.stmt import Stmt
from tirscript.ir.words import counted, words

from ..graph.dead_code import dead_code_elimination
from ..graph.replacing import written_in_place
from ..names import Names
from ..pipeline import module_pass
from .calls import Instances
from .emitting import Emitting, Functions, Report
from .flow import Flow
from .mapping import PadMapping
from .planning import Decide, Decision, Plan, fits
from .unwritten import padding_errors

Params = Mapping[str, IndexMap | PadMapping | Callable[..., Any]]
Asked = Mapping[str, Params] | Mapping[GraphVar, Params]


class Reflowed(Struct, frozen=True, eq=False):
    """The module with its layouts moved, what was decided of each kernel, and what is left."""

    module: Module
    decisions: tuple[Decision, ...]
    report: Report

    def __str__(self) -> str:
        left = self.report
        lines = [str(one) for one in self.decisions]
        lines.append(
            f"{left.conversions} conversions left of {left.before} and {left.folded} constants packed; "
            f"{left.selects} selects, {left.branches} branches, {left.fills} stages that fill padding"
        )
        return "\n".join(lines)


@module_pass()
def reflow_layouts(module: Module) -> Module:
    """`q = pad(grow(x))` becomes `q = grow_packed(pad(x))`; a pad that meets the crop of the same layout goes."""
    return reflow(module).module


@public
def reflow(module: Module, *, layouts: Asked | None = None, decide: Decide | None = None) -> Reflowed:
    """Move layouts through the dataflows of a module.

    `layouts` asks for layouts: by the variable that a call of a tensor function is bound to, or its name, and the name
    of a parameter, an index map or a PadMapping; these calls are packed where they can be. `decide` is asked of every
    kernel that a layout reaches, with what the cost says: True packs it, False keeps it plain, None leaves it to the
    cost. The attribute `"layout"` of a tensor function, "packed" or "plain", does the same.

    Raises DiagnosticError (T301) where `layouts` names no such call or parameter, or a map that is not injective, and
    (T612) where a function certainly reads padding in which nothing is stored.
    """
    with recursion_room():
        unwritten = padding_errors(module)
        if unwritten:
            raise DiagnosticError(unwritten)
        return _Reflow(module, layouts or {}, decide).run()


class _Reflow:
    def __init__(self, module: Module, asked: Asked, decide: Decide | None) -> None:
        self.module, self.decide = module, decide
        self.asked: dict[Any, Params] = dict(asked)
        self.known: dict[Any, Any] = {}
        self.instances = Instances(module)
        names = Names(function.name for function in module.functions)
        self.functions = Functions(names, list(module.prim_funcs))
        self.report = Report(edges={})
        self.decisions: list[Decision] = []
        self.unseen = set(self.asked)
        self.written: frozenset[GraphVar] = frozenset()
        self.constants: dict[GraphVar, GraphConst] = {}

    def run(self) -> Reflowed:
        functions = tuple(self._function(one) if type(one) is GraphFunc else one for one in self.module.functions)
        if self.unseen:
            name = min(one.name if type(one) is GraphVar else str(one) for one in self.unseen)
            raise _wrong(f"no call of a tensor function in a dataflow is bound to `{name}`", self._way_out(name))
        if are_same(functions, self.module.functions):
            return Reflowed(self.module, tuple(self.decisions), self.report)
        made = self.module.replace(functions=(*self.functions.made, *functions))
        tidy = dead_code_elimination.function(made)
        return Reflowed(tidy, tuple(self.decisions), self.report)

    def _way_out(self, name: str) -> str:
        """What a layout should be asked for instead of a name."""
        binds = [node for one in self.module.graph_funcs for node in walk(one, GraphBind)]
        here = next((bind.value for bind in binds if bind.var.name == name), None)
        if type(here) is TupleItem and type(here.value) is GraphVar:
            return f"it is item {here.index} of `{here.value.name}`: ask at that call, by the name of a parameter"
        if type(here) is OpCall and here.op is CALL_TIR:
            return "layouts are for functions of tensors that are known to have the shapes of what is passed"
        if here is not None:
            return "`legalize_ops` makes calls of operators; what stands outside of dataflows stays as it is"
        near = suggest(name, [bind.var.name for bind in binds])
        return f"did you mean `{near}`?" if near else "the name is that of the variable the call is bound to"

    def _function(self, func: GraphFunc) -> GraphFunc:
        instead: dict[Any, Any] = {}
        self.written = frozenset(written_in_place(func, self.module))
        self.constants = {
            node.var: node.value
            for node in walk(func)
            if type(node) is GraphBind and type(node.value) is GraphConst
            if node.value.data.resolved and node.var not in self.written
        }
        body = self._body(func.body, instead)
        if body is func.body:
            return func
        return func.replace(body=body, value=substitute(func.value, instead) if instead else func.value)

    def _body(self, body: tuple[Stmt, ...], instead: dict[Any, Any]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            now: Stmt = substitute(stmt, instead) if instead else stmt
            if type(now) is Dataflow:
                now = self._block(now, instead)
            elif type(now) is GraphIf:
                now = self._branches(now)
            made.append(now)
        return body if are_same(made, body) else tuple(made)

    def _branches(self, stmt: GraphIf) -> GraphIf:
        sides = []
        for body, value in ((stmt.then_body, stmt.then_value), (stmt.else_body, stmt.else_value)):
            inside: dict[Any, Any] = {}
            inner = self._body(body, inside)
            sides.append((inner, substitute(value, inside) if inside else value))
        (then, one), (orelse, other) = sides
        if then is stmt.then_body and orelse is stmt.else_body:
            return stmt
        return stmt.replace(then_body=then, then_value=one, else_body=orelse, else_value=other)

    def _block(self, block: Dataflow, instead: dict[Any, Any]) -> Dataflow:
        flow = Flow(block, self.module, self.known, self.instances, self.written, self.constants)
        plan = Plan(flow, self._mappings(flow), self.decide)
        self.decisions += plan.decisions
        if not plan.layouts and not flow.conversions:
            return block
        emitting = Emitting(plan, self.functions, self.report)
        made = emitting.block()
        instead.update(emitting.instead)
        return made

    def _mappings(self, flow: Flow) -> dict[GraphVar, dict[str, PadMapping]]:
        found: dict[GraphVar, dict[str, PadMapping]] = {}
        for stmt in flow.block.body:
            if type(stmt) is not GraphBind:
                continue
            key = next((one for one in (stmt.var, stmt.var.name) if one in self.asked), None)
            target = None if key is None else self.instances.called_for(stmt.value)
            if key is None or target is None:
                continue
            name = stmt.var.name
            self.unseen.discard(key)
            params = {param.name: param for param in target[0].params if type(param) is Buffer}
            wanted = found[stmt.var] = {}
            layouts = self.asked[key]
            if not isinstance(layouts, Mapping):
                hint = f"they are by its parameters, {{{next(iter(params), 'x')!r}: lambda i, j: ...}}"
                raise _wrong(f"the layouts of `{name}` are {words(layouts)}, not a dict", hint)
            for param, given in layouts.items():
                if param not in params:
                    hint = f"its parameters are {', '.join(f'`{one}`' for one in params)}"
                    raise _wrong(f"`{target[0].name}`, called for `{name}`, has no parameter `{param}`", hint)
                wanted[param] = _mapping(given, params[param], name)
        return found


def _mapping(given: IndexMap | PadMapping | Callable[..., Any], buffer: Buffer, name: str) -> PadMapping:
    """The layout that is asked for, on the shape of a parameter of the call that `name` is bound to."""
    what = f"the layout of `{buffer.name}` of `{name}`"
    if isinstance(given, PadMapping):
        if not fits(given, buffer):
            raise _wrong(f"{what} is one of another shape")
        return given
    try:
        made = given if isinstance(given, IndexMap) else IndexMap.of(given)
    except DiagnosticError as problem:
        raise _wrong(f"{what} cannot be made: {problem.diagnostics[0].message}", problem.diagnostics[0].hint) from None
    except Exception as problem:  # a user's function raises what it likes
        raise _wrong(f"{what} cannot be made: {type(problem).__name__}: {problem}") from None
    odd = made.odd_place()
    if odd is not None:
        raise _wrong(f"{what} cannot be made: a place is an integer, not {odd}")
    if len(made.params) != buffer.ndim:
        dims = counted(buffer.ndim, "dimension")
        raise _wrong(f"{what} takes {counted(len(made.params), 'index')}, and the parameter has {dims}")
    mapping = PadMapping.of(made, buffer.shape)
    if mapping is None:
        raise _wrong(f"{what} is not proved to keep its elements apart, at places from 0")
    return mapping


def _wrong(message: str, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([error("T301", message, None, hint=hint)])


__all__ = ["Reflowed", "reflow", "reflow_layouts"]
