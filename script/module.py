"""Modules: a class with its functions, whose signatures are read before their bodies."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from tirscript.ir.diagnostic import Diagnostic
from tirscript.ir.dtype import VOID
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import ExternFunction, GraphFunc, ObjectType, TupleExpr
from tirscript.ir.module import DeviceMesh, DummyInfo, ExternEntry, Module, VDevice
from tirscript.ir.node import NO_ATTRS, Attrs
from tirscript.ir.rewrite import refresh
from tirscript.ir.span import Source, Span
from tirscript.ir.target import Target
from tirscript.ir.verify import verify
from tirscript.ir.words import counted

from .context import Abort, Called, FunctionRef, ModuleRef
from .function import FunctionLowering, read_options
from .known import Function, Known
from .namespace import Form
from .trivia import Comments, trivia

if TYPE_CHECKING:
    from .graph_function import GraphLowering

_OPTIONS = ("check_well_formed", "s_tir")  # of modules
HAS_PYTHON = "base_py_module"  # the attribute by which TVM knows modules that may hold Python functions
FUNCTIONS = ("prim_func", "graph_func", "other")  # decorators of functions; "other" is one of the user's own


class ModuleReader:
    """Reads modules; `Reader` gives the rest."""

    source: Source
    diagnostics: list[Diagnostic]
    comments: Comments | None
    theirs: bool  # whether the text is in TVM's dialect
    seen: int
    names: dict[str, Any]
    called: dict[str, Called]  # of live Python: by name, the decorators whose options the text may not say
    block_names: set[str]  # under which TVM's `s_tir` is imported, whose functions are of no tile dialect

    def report(self, code: str, message: str, node: ast.AST, hint: str | None = None) -> None:
        raise NotImplementedError

    def decorator(self, node: Any) -> str | None:
        raise NotImplementedError

    def lowering(
        self, node: ast.FunctionDef | None, module: ModuleRef | None = None, cls: Any = FunctionLowering
    ) -> FunctionLowering:
        raise NotImplementedError

    def assignment(self, node: ast.Assign | ast.AnnAssign) -> None:
        raise NotImplementedError

    def header(self, node: ast.Import | ast.ImportFrom) -> None:
        raise NotImplementedError

    def lower(self, lowering: FunctionLowering, last: int) -> Function | None:
        raise NotImplementedError

    def begin(
        self, item: ast.FunctionDef, decorator: str, module: ModuleRef | None = None, known: Known | None = None
    ) -> FunctionLowering:
        """The lowering of a function, its options read."""
        called = self.called.get(item.name)
        if decorator == "graph_func":
            from .graph_function import OPTIONS, GraphLowering

            graph = self.lowering(item, module, GraphLowering)
            assert isinstance(graph, GraphLowering)
            graph.known = known or Known()
            graph.options = (
                called.options if called else read_options(item.decorator_list[0], graph, "G.graph_func", OPTIONS)
            )
            return graph
        made = self.lowering(item, module)
        if called is not None:
            made.options = called.options
        elif decorator == "prim_func":
            place = item.decorator_list[0]
            if self.block_names:
                match place.func if isinstance(place, ast.Call) else place:
                    case ast.Attribute(value=ast.Name(id=name)) if name in self.block_names:
                        made.options["s_tir"] = True
            made.options |= read_options(place, made)
        return made

    def module(self, node: ast.ClassDef, last: int) -> Module | None:
        """`class Name:` with its functions."""
        refs: dict[str, Any] = {}
        externs: list[ExternEntry] = []
        module = ModuleRef(node.name, refs)
        attrs: dict[str, Any] = {}
        infos: dict[str, Any] = {}
        docstring: str | None = None
        pending: list[tuple[ast.FunctionDef, str]] = []
        taken: list[tuple[int, Function]] = []
        if self.has_python(node):
            attrs[HAS_PYTHON] = True
        elif node.bases or node.keywords:
            self.report("T022", "a module has no base classes", node)
        before = len(self.diagnostics)
        first, self.seen = self.seen + 1, node.lineno
        above: Any = node.decorator_list[0] if node.decorator_list else node
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                if not item.decorator_list and isinstance(above, ast.Attribute) and above.attr == "tir":
                    # `@tvm.script.tir` above a class of 2021 was that of its functions too
                    item.decorator_list = [ast.copy_location(ast.Attribute(above.value, "tir"), item)]
                if not item.decorator_list:
                    self.called.pop(item.name, None)  # called by an assignment, which is no function of the module
                python = self.python_function(item)
                decorator = None if python else self.decorator(item)
                if not python and decorator not in FUNCTIONS:
                    continue
                if item.name in refs:
                    self.report("T202", f"`{item.name}` is defined twice", item)
                if decorator is None:
                    span = Span(self.source, item.lineno, item.col_offset, item.lineno, item.col_offset + len("def"))
                    refs[item.name] = ExternFunction(item.name, span=span)
                    externs.append(ExternEntry(item.name, refs[item.name], span=span))
                    continue
                refs[item.name] = FunctionRef(item.name)
                pending.append((item, decorator))
            elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
                if isinstance(item.value.value, str) and item is node.body[0]:
                    docstring = item.value.value
            elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
                self.module_construct(item.value, attrs, infos)
            elif (entry := self.extern(item, refs)) is not None:
                externs += entry
            elif isinstance(item, (ast.Assign, ast.AnnAssign)):
                self.assignment(item)
                self.adopt(item, refs, taken, len(pending))
            elif isinstance(item, (ast.Import, ast.ImportFrom)):
                self.header(item)
            elif isinstance(item, ast.AsyncFunctionDef):
                self.refuse_async(item)
            elif not isinstance(item, ast.Pass):
                self.report("T020", "a module holds functions and `I.module_attrs`", item)
        functions = self.functions(pending, module, last, self.options_of(node.name, above), taken)
        if len(self.diagnostics) > before:
            for function in functions:  # those of the module that were read, by themselves
                if isinstance(function, PrimFunc) and function.check_well_formed:
                    self.diagnostics += verify(function)
            return None
        header = None
        if self.comments is not None:
            inside, beside = self.comments.head(node, above.lineno, node.lineno)
            header = trivia([*self.comments.above(first, above.lineno - 1), *inside], beside)
        span = Span(self.source, node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
        found, held = (Attrs(each) if each else NO_ATTRS for each in (attrs, infos))
        return Module(tuple(functions), node.name, found, held, docstring, header, tuple(externs), span=span)

    def refuse_async(self, node: ast.AsyncFunctionDef) -> None:
        """Refuse `async def`, at the top of a text or in a module."""
        self.report("T020", "`async def` is not part of the language", node, hint="write `def`")

    def has_python(self, node: ast.ClassDef) -> bool:
        """Whether a module is TVM's `class M(BasePyModule):`, which may hold Python functions."""
        match node.bases:
            case [ast.Name(id="BasePyModule") | ast.Attribute(attr="BasePyModule")] if not node.keywords:
                return self.theirs
        return False

    def python_function(self, item: ast.FunctionDef) -> bool:
        """Whether a function is one of TVM's `@I.pyfunc`. Its Python is not read: who runs the module names it."""
        match item.decorator_list:
            case [ast.Attribute(value=ast.Name(), attr="pyfunc")]:
                return self.theirs
        return False

    def extern(self, item: ast.stmt, refs: dict[str, Any]) -> list[ExternEntry] | None:
        """`name = G.ExternFunc("symbol")`; nothing where it is wrong, None for any other statement."""
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="ExternFunc"))):
                from .graph_function import GraphLowering

                evaluator = self.lowering(None, cls=GraphLowering)
                function: Any = None
                with contextlib.suppress(Abort):
                    function = evaluator.value(item.value)
                self.diagnostics += evaluator.diagnostics
                if name in refs:
                    self.report("T202", f"`{name}` is defined twice", item)
                elif function is not None:
                    refs[name] = function
                    return [ExternEntry(name, function, span=evaluator.span(item))]
                return []
        return None

    def options_of(self, name: str, decorator: ast.expr | ast.ClassDef) -> dict[str, bool]:
        """What `@I.ir_module(check_well_formed=False)` says of functions that do not say it themselves."""
        if name in self.called:
            return self.called[name].options
        assert isinstance(decorator, ast.expr)  # a class that has none above it was given to a call
        evaluator = self.lowering(None)
        found = read_options(decorator, evaluator, "I.ir_module", _OPTIONS)
        self.diagnostics += evaluator.diagnostics
        found.pop("s_tir", None)  # TVM's, which says nothing of the functions
        return found

    def adopt(
        self, item: ast.Assign | ast.AnnAssign, refs: dict[str, Any], taken: list[tuple[int, Function]], at: int
    ) -> None:
        """`name = function`: a function that was read before becomes one of the module, before its function `at`."""
        target = item.targets[0] if isinstance(item, ast.Assign) else item.target
        found = self.names.get(target.id) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name) or not isinstance(found, (PrimFunc, GraphFunc)):
            return
        if target.id in refs:
            self.report("T202", f"`{target.id}` is defined twice", item)
            return
        function = refresh(found.replace(name=target.id))
        ref = refs[target.id] = FunctionRef(target.id)
        if isinstance(function, PrimFunc):
            ref.signature = (function.params, function.returns or VOID)
        else:
            ref.graph = function
        taken.append((at + len(taken), function))

    def functions(
        self,
        pending: list[tuple[ast.FunctionDef, str]],
        module: ModuleRef,
        last: int,
        options: dict[str, bool],
        taken: Sequence[tuple[int, Function]] = (),
    ) -> list[Function]:
        """The functions of a module, in the order of the text, with those `taken` from elsewhere at their places;
        `options` are theirs where they say nothing else."""
        refs = module.functions
        nodes = {item.name: (item, decorator) for item, decorator in pending}

        def read(name: str) -> Function | None:
            if name not in nodes:
                return None
            lowering = self.begin(*nodes[name], module, known)
            lowering.comments = None
            lowering.signature()
            return None if lowering.diagnostics else lowering.lower(0, 0)

        known = Known(read)
        for _, function in taken:
            known.add(function, True)
        lowerings = [self.begin(item, decorator, module, known) for item, decorator in pending]
        for lowering in lowerings:
            lowering.options = {**options, **lowering.options}
        # tensor functions first: graph functions ask for their parameters
        for (item, decorator), lowering in sorted(
            zip(pending, lowerings, strict=True), key=lambda pair: pair[0][1] == "graph_func"
        ):
            lowering.signature()
            ref = refs[item.name]
            if decorator == "graph_func":
                graph = cast("GraphLowering", lowering)
                result = graph.result_type
                ref.graph = GraphFunc(
                    item.name,
                    tuple(graph.graph_params),
                    (),
                    TupleExpr(()),
                    ObjectType() if result is None else result,
                    pure=graph.pure(),
                )
                known.add(ref.graph, result is not None)
            else:
                ref.signature = (lowering.params, lowering.returns or VOID)
                returns = lowering.returns
                signature = PrimFunc(item.name, tuple(lowering.params), (), returns=returns)
                known.add(signature, returns is not None or not lowering.theirs)
        functions: list[Function] = []
        for at, lowering in enumerate(lowerings):
            stop = pending[at + 1][0].decorator_list[0].lineno - 1 if at + 1 < len(pending) else last
            made = self.lower(lowering, stop)
            if made is not None:
                functions.append(made)
        for place, function in taken:
            functions.insert(place, function)
        return functions

    def module_construct(self, call: ast.Call, attrs: dict[str, Any], infos: dict[str, Any]) -> None:
        """`I.module_attrs({...})`, `I.module_global_infos({...})`."""
        evaluator = self.lowering(None)
        try:
            function = evaluator.value(call.func)
            name = function.name if isinstance(function, Form) else ""
            if name not in ("module_attrs", "module_global_infos") or len(call.args) != 1 or call.keywords:
                self.report("T020", "a module holds functions and `I.module_attrs({...})`", call)
            elif name == "module_attrs":
                attrs.update(evaluator.attrs(call.args[0]))
            else:
                infos.update(global_infos(evaluator, call.args[0]))
        except Abort:
            pass
        self.diagnostics += evaluator.diagnostics


def global_infos(evaluator: FunctionLowering, node: ast.expr) -> dict[str, Any]:
    """`{"vdevice": [I.vdevice("llvm", 0, "global")]}`"""
    hint = 'I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})'
    if not isinstance(node, ast.Dict):
        raise evaluator.fail("T032", "`I.module_global_infos` takes a dict of lists", node, hint=hint)
    found: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None or not isinstance(value, (ast.List, ast.Tuple)):
            raise evaluator.fail("T032", "`I.module_global_infos` takes a dict of lists", value, hint=hint)
        found[evaluator.python(key, "the name", (str,))] = tuple(global_info(evaluator, item) for item in value.elts)
    return found


def global_info(evaluator: FunctionLowering, node: ast.expr) -> VDevice | DummyInfo | DeviceMesh:
    """`I.vdevice("llvm", 0, "global")`, `I.dummy_global_info()`, `G.device_mesh((2,), I.Range(0, 2))`"""
    match node:
        case ast.Call(func=ast.Attribute(attr="dummy_global_info"), args=[], keywords=[]):
            return DummyInfo(span=evaluator.span(node))
        case ast.Call(func=ast.Attribute(attr="vdevice")):
            args, kwargs = evaluator.arguments(node)
            given = {**dict(zip(("target", "vdevice_id", "memory_scope"), args, strict=False)), **kwargs}
            target, index = given.get("target"), given.get("vdevice_id", 0)
            scope = given.get("memory_scope", "global")
            if isinstance(target, (str, dict, Target)) and type(index) is int and isinstance(scope, str):
                held = Attrs(target) if isinstance(target, dict) else target
                return VDevice(held, index, scope, span=evaluator.span(node))
        case ast.Call(func=ast.Attribute(attr="device_mesh")):
            return device_mesh(evaluator, node)
    raise evaluator.fail("T032", "this describes no device", node, hint='I.vdevice("llvm", 0, "global")')


def device_mesh(evaluator: FunctionLowering, node: ast.Call) -> DeviceMesh:
    """`G.device_mesh((2, 2), I.Range(0, 4))`, or with the numbers of the devices in a list"""
    hint = "`G.device_mesh((2, 2), I.Range(0, 4))` or `G.device_mesh((2,), [3, 5])`"
    given = dict(zip(("shape", "device_ids"), node.args, strict=False))
    given |= {word.arg: word.value for word in node.keywords if word.arg is not None}
    if set(given) != {"shape", "device_ids"} or len(given) != len(node.args) + len(node.keywords):
        raise evaluator.fail("T101", "a mesh of devices has a shape and their numbers", node, hint=hint)
    shape = _integers(evaluator, given["shape"], hint)
    count, first, devices = math.prod(shape), 0, None
    match given["device_ids"]:
        case ast.Call(func=ast.Attribute(attr="Range"), args=[begin, end], keywords=[]):
            first, behind = (evaluator.python(one, "the number of a device", (int,)) for one in (begin, end))
            found = behind - first
        case listed:
            devices = _integers(evaluator, listed, hint)
            found = len(devices)
    if found != count:
        message = f"a mesh of shape {shape} has {counted(count, 'device')}, not {found}"
        raise evaluator.fail("T032", message, node, hint=hint)
    return DeviceMesh(shape, devices, first, span=evaluator.span(node))


def _integers(evaluator: FunctionLowering, node: ast.expr, hint: str) -> tuple[int, ...]:
    """A list or tuple of numbers that are not negative."""
    given = evaluator.python(node, "this", (tuple, list))
    if not all(type(one) is int and one >= 0 for one in given):
        raise evaluator.fail("T032", "these are numbers of 0 or more", node, hint=hint)
    return tuple(given)
