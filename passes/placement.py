"""Functions for several targets in one module: which each is for, and where one calls over to another.

before:                                            after `bind_targets,split_targets`, for the target "llvm":
    @T.prim_func                                       @T.prim_func
    def main(A, B):                                    def main(A, B):
        cls.grow(A, B)                                     T.call_packed("my_npu.grow", A.data, B.data)

    @T.prim_func                                       @T.prim_func
    def grow(A, B):                                    def grow(A, B):
        T.func_attr({"target": T.target("my_npu")})        T.func_attr({"target": ..., "external": "my_npu.grow"})
        cls.one(A, B)                                      cls.one(A, B)

    @T.prim_func(private=True)                         @T.prim_func(private=True)
    def one(A, B): ...                                 def one(A, B):
                                                           T.func_attr({"target": ..., "external": "my_npu.one"})

What stays between functions of one target are calls. The functions for other targets stay in the module as they are:
`build` gives them to the kinds of their targets, the interpreter runs them, and passes that follow leave them alone.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.dtype import INT32
from tirscript.ir.expr import BufferData, BufferRegion, Call, CallFunction, Expr, StringImm
from tirscript.ir.func import PrimFunc
from tirscript.ir.graph import FunctionRef
from tirscript.ir.module import Function, Module
from tirscript.ir.node import Attrs
from tirscript.ir.op import OPS
from tirscript.ir.rewrite import refresh, rewrite, walk
from tirscript.ir.target import Target

from .names import Names
from .pipeline import module_pass
from .targets import EXTERNAL, TARGET, outer_target, own_target


def called(func: Function) -> list[str]:
    """The names of the functions of the module that a function calls or names."""
    found = (node.function for node in walk(func) if type(node) in (FunctionRef, CallFunction))  # type: ignore[attr-defined]
    return list(dict.fromkeys(found))


def has_targets(module: Module) -> bool:
    """Whether a function of the module says what it is for."""
    return any(name in one.attrs for one in module.functions for name in (TARGET, "codegen", "Codegen"))


@module_pass()
def bind_targets(module: Module) -> Module:
    """A private function that only functions for `my_npu` call gets `"target": T.target("my_npu")`, too.

    One that others call as well is copied. A name of a target in a composite becomes the target.
    """
    said_by_module = own_target(module, Target.current())
    if said_by_module is not None:
        module = _with_target(module, said_by_module)
    if not has_targets(module):
        return module
    names = outer_target(module)
    own = {one.name: own_target(one, names) for one in module.functions}
    by_name = {one.name: one for one in module.functions}
    reached = {name: _reached(name, by_name, own) for name, target in own.items() if target is not None}
    main = {one.name for one in module.functions if own[one.name] is None and not one.private}
    host = main.union(*(_reached(name, by_name, own) for name in main))
    takers: dict[str, dict[Target, None]] = {}  # the targets whose functions need an unmarked function
    for name, helpers in reached.items():
        for helper in helpers:
            takers.setdefault(helper, {})[own[name]] = None  # type: ignore[index]
    renamed: dict[tuple[Target, str], str] = {}
    free = Names(by_name)
    for helper, targets in takers.items():
        for at, target in enumerate(targets):
            if helper in host or at > 0:
                renamed[target, helper] = free.fresh(f"{helper}_{target.kind}")
    functions: list[Function] = []
    for one in module.functions:
        said = own[one.name]
        if said is not None:
            functions.append(_with_target(_calling(one, said, renamed), said))
            continue
        wanted = list(takers.get(one.name, ()))
        kept = None if one.name in host or not wanted else wanted[0]
        functions.append(one if kept is None else _with_target(_calling(one, kept, renamed), kept))
        for target in wanted:
            if (target, one.name) in renamed:
                copy = refresh(_calling(one, target, renamed)).replace(name=renamed[target, one.name], private=True)
                functions.append(_with_target(copy, target))
    same = len(functions) == len(module.functions) and all(map(lambda a, b: a is b, functions, module.functions))
    return module if same else module.replace(functions=tuple(functions))


def _reached(name: str, functions: dict[str, Function], own: dict[str, Target | None]) -> list[str]:
    """The functions without a target that one calls, by others without a target too."""
    found: dict[str, None] = {}
    waiting = called(functions[name])
    while waiting:
        one = waiting.pop()
        if one in functions and one not in found and own[one] is None and one != name:
            found[one] = None
            waiting += called(functions[one])
    return list(found)


def _calling(func: Any, target: Target, renamed: dict[tuple[Target, str], str]) -> Any:
    """A function that calls the copies that are for its target."""
    if not any((target, name) in renamed for name in called(func)):
        return func

    def rename(node: Any) -> Any:
        other = renamed.get((target, node.function))
        return node if other is None else node.replace(function=other)

    return rewrite(func, {FunctionRef: rename, CallFunction: rename})


def _with_target(func: Any, target: Target) -> Any:
    kept = func.attrs.without("codegen", "Codegen")
    if kept.get(TARGET) == target and len(kept) == len(func.attrs):
        return func
    return func.replace(attrs=Attrs({**kept, TARGET: target}))


@module_pass()
def split_targets(module: Module) -> Module:
    """`cls.grow(A, B)` becomes `T.call_packed("my_npu.grow", A.data, B.data)` where `grow` is for another target.

    Functions for targets of the kind of the module's stay, each with the options of its own target.
    """
    if not has_targets(module):
        return module
    outer = outer_target(module)
    host = "llvm" if outer is None else outer.main.resolved().kind
    own = {one.name: own_target(one, outer) for one in module.functions}
    # None for what is compiled with the module
    unit = {name: None if one is None or one.resolved().kind == host else one for name, one in own.items()}
    names = {name: external_name(name, target) for name, target in unit.items() if target is not None}
    if not names:
        return module
    by_name = {one.name: one for one in module.functions}

    def split(func: Function) -> Function:
        """One function, whose calls of other units go through their names."""
        here = unit[func.name]
        kind = "" if here is None else here.kind

        def over(call: CallFunction) -> Expr:
            callee = by_name.get(call.function)
            if callee is None or unit[call.function] == here:
                return call
            if call.function not in names:
                message = f"`{func.name}` is for `{kind}` and calls `{call.function}`, which is for the host"
                hint = f"give `{call.function}` the same target, or call it from the host"
                raise DiagnosticError([error("T402", message, call.span, hint=hint)])
            return _library_call(call, callee, names[call.function])

        crosses = any(name in unit and unit[name] != here for name in called(func))
        made: Any = rewrite(func, {CallFunction: over}) if crosses and isinstance(func, PrimFunc) else func
        name = names.get(func.name)
        if name is None or made.attrs.get(EXTERNAL) == name:
            return made  # type: ignore[no-any-return]
        return made.replace(attrs=Attrs({**made.attrs, EXTERNAL: name}))  # type: ignore[no-any-return]

    functions = tuple(map(split, module.functions))
    same = all(map(lambda a, b: a is b, functions, module.functions))
    return module if same else module.replace(functions=functions)


def external_name(function: str, target: Target) -> str:
    """How a function for another target is called by the others."""
    return f"{target.resolved().kind}.{function}"


def _library_call(call: CallFunction, callee: Function, name: str) -> Call:
    """The call of a function of another target."""

    def refuse(message: str, hint: str) -> NoReturn:
        raise DiagnosticError([error("T402", f"{message}, which is for another target", call.span, hint=hint)])

    if not isinstance(callee, PrimFunc):
        refuse(f"`{callee.name}` is a graph function", "apply `run_codegen` before the graph is lowered")
    if callee.returns is not None and callee.returns is not INT32:
        refuse(f"`{callee.name}` returns {callee.returns}", "let it write its result into a buffer")
    passed: list[Expr] = []
    for arg in call.args:
        if isinstance(arg, BufferRegion):
            refuse(f"a part of `{arg.buffer.name}` is passed to `{callee.name}`", "pass whole buffers")
        passed.append(BufferData(arg) if isinstance(arg, Buffer) else arg)
    return Call(OPS["call_packed"], (StringImm(name), *passed), INT32, span=call.span)


__all__ = ["bind_targets", "called", "external_name", "has_targets", "split_targets"]
