"""What is defined and never used: buffers, variables, parameters; and what is written and never read."""

from __future__ import annotations

from collections.abc import Iterator

from tirscript.ir import (
    AllocateConst,
    AllocBuffer,
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    DeclBuffer,
    Diagnostic,
    MatchBuffer,
    Node,
    PrimFunc,
    ScalarDecl,
    Var,
    walk,
)

from .table import lint_check, meant, warning, without_regions

_ALLOCATING = (AllocBuffer, AllocateConst, DeclBuffer, MatchBuffer)
_DEFINING = (*_ALLOCATING, ScalarDecl, PrimFunc)


def _mentions(func: PrimFunc) -> dict[int, int]:
    """How often each buffer and variable stands in a function beside the statement that defines it, by id."""
    found: dict[int, int] = {}
    for node in walk(without_regions(func)):
        for name in type(node).__struct_fields__:
            if name in type(node).defines:
                continue
            value = getattr(node, name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, (Var, Buffer)):
                    found[id(item)] = found.get(id(item), 0) + 1
    return found


@lint_check("T601")
def unused_buffer(func: PrimFunc) -> Iterator[Diagnostic]:
    """A buffer that is allocated, declared or matched and never used."""
    used = _mentions(func)
    params = {id(param) for param in func.params}
    for node in walk(func):
        if not isinstance(node, _ALLOCATING) or id(node.buffer) in used or meant(node.buffer.name):
            continue
        if isinstance(node, MatchBuffer) and id(node.source) in params:
            continue  # an unused parameter
        yield warning("T601", f"the buffer `{node.buffer.name}` is never used", node.span, hint="leave it out")


@lint_check("T602")
def never_read(func: PrimFunc) -> Iterator[Diagnostic]:
    """A buffer or variable of the function that is written, and that nothing but its own updates reads."""
    plain = without_regions(func)
    stores = [node for node in walk(plain) if isinstance(node, BufferStore)]
    written = {id(store.buffer) for store in stores}
    updates = {
        id(part)
        for store in stores
        for part in walk(store.value)
        if type(part) is BufferLoad and part.buffer is store.buffer
    }
    read: set[int] = set()
    for node in walk(plain):
        if id(node) not in updates and not isinstance(node, (BufferStore, *_DEFINING)):
            read.update(map(id, _buffers(node)))
    for node in walk(func):
        if not isinstance(node, (AllocBuffer, ScalarDecl)) or id(node.buffer) in read or meant(node.buffer.name):
            continue
        if id(node.buffer) not in written and isinstance(node, AllocBuffer):
            continue  # unused altogether
        what = "variable" if isinstance(node, ScalarDecl) else "buffer"
        message = f"the {what} `{node.buffer.name}` is written and never read"
        yield warning("T602", message, node.span, hint="leave it and what writes it out, or use its value")


def _buffers(node: Node) -> Iterator[Buffer]:
    """The buffers that stand directly in a node."""
    for name in type(node).__struct_fields__:
        value = getattr(node, name)
        yield from (item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, Buffer))


@lint_check("T603")
def unused_variable(func: PrimFunc) -> Iterator[Diagnostic]:
    """A name that is assigned once and never used."""
    used = _mentions(func)
    for node in walk(func):
        if isinstance(node, Bind) and id(node.var) not in used and not meant(node.var.name):
            hint = f"leave it out, or call it `_{node.var.name}` where that is meant"
            yield warning("T603", f"the variable `{node.var.name}` is never used", node.span, hint=hint)


@lint_check("T604")
def unused_parameter(func: PrimFunc) -> Iterator[Diagnostic]:
    """A parameter that neither the body nor another parameter's shape uses."""
    used = _mentions(func)
    for param in func.params:
        matched = next((s.buffer for s in func.body if isinstance(s, MatchBuffer) and s.source is param), None)
        name = (matched or param).name
        count = used.get(id(param), 0) - (matched is not None)
        if count <= 0 and (matched is None or id(matched) not in used) and not meant(name):
            yield warning(
                "T604",
                f"the parameter `{name}` of `{func.name}` is never used",
                param.span or func.span,
                hint="leave it out",
            )
