"""Threads: `T.launch_thread` in its three spellings, and `T.env_thread`.

with T.launch_thread("blockIdx.x", 64) as bx:      ours
bx = T.launch_thread("blockIdx.x", 64)             over the rest of the body
bx = T.env_thread("blockIdx.x")                    a thread that several statements launch
with T.launch_thread(bx, 64):
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tirscript.ir.dtype import DType
from tirscript.ir.expr import Const, Var, const
from tirscript.ir.stmt import LaunchThread
from tirscript.ir.threads import is_thread
from tirscript.ir.words import call_it

from .dialect import DialectLowering
from .namespace import Form
from .plain import argument_place

_HINT = 'with T.launch_thread("blockIdx.x", 64) as bx:'


class EnvThread:
    """A thread that has a name and is not launched yet. Its variable is made by the first launch."""

    def __init__(self, name: str, thread: str, dtype: DType | None) -> None:
        self.name = name
        self.thread = thread
        self.dtype = dtype
        self.var: Var | None = None


call_it(EnvThread, "thread", lambda thread: thread.name)


class LaunchLowering(DialectLowering):
    """Lowers them."""

    def define_construct(self, target: ast.Name, call: ast.Call, node: ast.stmt) -> bool:
        function = self.value(call.func) if isinstance(call.func, (ast.Attribute, ast.Name)) else None
        if isinstance(function, Form) and function.name == "launch_thread":
            self.check_assignable(target.id, target)
            self.open_launch(self.launch(call, target), target, node)
            return True
        if isinstance(function, Form) and function.name == "env_thread":
            self.check_assignable(target.id, target)
            args, kwargs = self.arguments(call)
            tag, kind = (*args, *kwargs.values(), None)[:2] if args else (None, None)
            if not isinstance(tag, str) or len(args) + len(kwargs) > 2 or set(kwargs) - {"dtype"}:
                raise self.fail("T032", "`T.env_thread` takes the tag of a thread, and a dtype", call)
            self.thread_tag(call.args[0] if call.args else call.keywords[0].value, tag)
            self.define(target.id, EnvThread(target.id, tag, None if kind is None else self.dtype_of(kind, call)))
            return True
        return super().define_construct(target, call, node)

    def launch(self, call: ast.Call, name: ast.Name | None) -> LaunchThread:
        """What a call of `T.launch_thread` opens, its body to come; `name` is bound to the thread."""
        thread, size = self.form_arguments(call, "launch_thread", ("thread", "extent"))
        at = argument_place(call, 1, "extent")
        extent = self.single(size, at, "the number of threads")
        if not extent.dtype.is_int or extent.dtype.is_vector:
            raise self.fail("T112", f"the number of threads is {extent.dtype}, not an integer", at)
        if type(thread) is Var:  # inside of a launch its name stands for the variable
            threads = [found for scope in self.scopes for found in scope.values() if isinstance(found, EnvThread)]
            thread = next((found for found in threads if found.var is thread), thread)
        if isinstance(thread, EnvThread):
            if thread.var is None:
                thread.var = Var(thread.name, thread.dtype or extent.dtype, span=self.span(call))
            var = thread.var
            if type(extent) is Const and extent.dtype is not var.dtype:
                extent = self.placed(const(extent.value, var.dtype), at)
            return LaunchThread(var, thread.thread, extent, (), span=self.span(call))
        if type(thread) is Var:
            tag = thread.name.replace("_", ".", 1)  # as TVM names the variables of threads
            tag = tag if is_thread(tag) else "threadIdx.x"
            raise self.fail(
                "T032",
                f"`{thread.name}` is a variable, not a thread: its tag is not known",
                call,
                hint=f'declare it as `{thread.name} = T.env_thread("{tag}")`',
            )
        if not isinstance(thread, str) or not thread:
            message = "`T.launch_thread` takes the tag of a thread and how many there are"
            raise self.fail("T032", message, call, hint=_HINT)
        self.thread_tag(argument_place(call, 0, "thread"), thread)
        label = thread.replace(".", "_") if name is None else name.id
        var = Var(label, extent.dtype, span=self.span(call if name is None else name))
        return LaunchThread(var, thread, extent, (), span=self.span(call))

    def attr_node(self, value: Any, key: str) -> Any:
        # TVM says around a loop how to unroll what is in it, also around one that becomes a thread
        early = isinstance(value, EnvThread) and key.startswith("pragma_")
        return const(0) if early else super().attr_node(value, key)

    def open_launch(self, stmt: LaunchThread, name: ast.Name | None, node: ast.stmt) -> None:
        """A launch over the rest of the body."""
        label = name.id if name is not None else stmt.var.name
        self.define(label, stmt.var)
        self.fixed.setdefault(label, "a thread")
        self.open_rest(stmt.replace(span=self.span(node)))

    def close_rest(self, first: int) -> None:
        for stmt, _ in self.opened[first:]:
            if type(stmt) is LaunchThread and self.fixed.get(stmt.var.name) == "a thread":
                del self.fixed[stmt.var.name]
        super().close_rest(first)

    def _launch_statement(self, call: ast.Call, node: ast.stmt) -> None:
        self.open_launch(self.launch(call, None), None, node)

    def _launch_context(self, call: ast.Call, name: ast.expr | None, inner: Callable[[], None], node: ast.With) -> None:
        if name is not None and not isinstance(name, ast.Name):
            raise self.fail("T022", "the thread is bound to one name", name, hint=_HINT)
        if name is not None:
            self.check_assignable(name.id, name)
        made = self.launch(call, name)
        label = name.id if name is not None else made.var.name
        fresh = label not in self.fixed

        def named() -> None:
            self.define(label, made.var)
            inner()

        if fresh:
            self.fixed[label] = "a thread"
        try:
            self.emit(made.replace(body=self.nested(named), span=self.span(node)))
        finally:
            if fresh:
                self.fixed.pop(label, None)


LaunchLowering.statement_forms = {
    **DialectLowering.statement_forms,
    "launch_thread": LaunchLowering._launch_statement,
}
LaunchLowering.context_forms = {
    **DialectLowering.context_forms,
    "launch_thread": LaunchLowering._launch_context,
}
__all__ = ["EnvThread", "LaunchLowering"]
