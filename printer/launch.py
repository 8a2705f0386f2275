"""Launches of threads as text; see script/launch.py, which reads them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tirscript.ir.dtype import INT32
from tirscript.ir.func import PrimFunc
from tirscript.ir.stmt import LaunchThread, Stmt

from .expr import top
from .literals import dtype_name, quote
from .stmt import TAB, body, scope

if TYPE_CHECKING:
    from .core import Printer


def env_threads(p: Printer, func: PrimFunc, indent: str) -> bool:
    """Note what a function launches, and declare the threads that several statements launch; whether there are any."""
    first: dict[int, LaunchThread] = {}
    stack: list[tuple[Stmt, ...]] = [func.body]
    bodies = 0
    while stack:
        stmts = stack.pop()
        bodies += 1
        if bodies > p.longest:
            p.measure()
        if stmts and type(stmts[-1]) is LaunchThread:
            p.flat.add(id(stmts[-1]))
        for stmt in stmts:
            cls = type(stmt)
            if isinstance(stmt, LaunchThread):
                known = first.setdefault(id(stmt.var), stmt)
                if known is not stmt:
                    p.env[id(stmt.var)] = known.extent
            for name in fields_of_bodies(cls):
                inner = getattr(stmt, name)
                if inner:
                    stack.append(inner)
    for key, node in first.items():
        if key in p.env:
            kind = "" if node.var.dtype is INT32 else f", {dtype_name(node.var.dtype)}"
            name = p.names.define(node.var, node.var.name)
            p.out.append(f"{indent}{name} = T.env_thread({quote(node.thread)}{kind})")
    return bool(p.env)


@cache
def fields_of_bodies(cls: type) -> tuple[str, ...]:
    """The fields of a class of statement that are bodies."""
    return tuple(name for name in cls.__struct_fields__ if name in ("body", "then", "orelse", "init"))  # type: ignore[attr-defined]


def launch(p: Printer, node: LaunchThread, indent: str) -> None:
    """`with T.launch_thread("blockIdx.x", 64) as bx:`."""
    extent = top(p, node.extent)
    if id(node.var) in p.env:
        p.out.append(f"{indent}with T.launch_thread({p.names.known[id(node.var)]}, {extent}):")
        scope(p, node.body, indent + TAB)
        return
    mark = len(p.names.stack)
    name = p.names.define(node.var, node.var.name)
    p.out.append(f"{indent}with T.launch_thread({quote(node.thread)}, {extent}) as {name}:")
    body(p, node.body, indent + TAB)
    p.names.release(mark)


def launch_flat(p: Printer, node: LaunchThread, indent: str) -> None:
    """`bx = T.launch_thread("blockIdx.x", 64)` where nothing follows the launch in its body, as TVM prints it."""
    from .core import refuse

    known = p.env.get(id(node.var))
    if known is not None and known != node.extent:
        raise refuse(f"TVM launches `{node.var.name}` with one number of threads only", node.span)
    if id(node) not in p.flat or id(node.var) in p.env or not node.body:
        launch(p, node, indent)
        return
    extent = top(p, node.extent)
    name = p.names.define(node.var, node.var.name)
    p.out.append(f"{indent}{name} = T.launch_thread({quote(node.thread)}, {extent})")
    body(p, node.body, indent, headed=True)


LAUNCH_RULES: dict[type, Any] = {LaunchThread: launch}
