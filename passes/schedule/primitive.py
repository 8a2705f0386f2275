"""The table of schedule primitives, and how a call of one is read.

A primitive is one function in one file:

    @primitive
    def fuse(edit: Edit, *loops: LoopAt, preserve_unit_iters: bool = True) -> Place: ...

Its annotations say what it takes: for `BlockAt` and `LoopAt` a user gives a handle or a name and the primitive gets the
place. The places that it returns become handles. `sch.fuse(...)` and its row in the trace follow from the table.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.check import describe, fits, in_words
from tirscript.ir.expr import Expr, Var
from tirscript.ir.index_map import IndexMap
from tirscript.ir.rewrite import definitions, free_buffers, free_vars
from tirscript.ir.scopes import scope_advice
from tirscript.ir.stmt import Block, For
from tirscript.ir.wellformed.places import MAX_DEPTH
from tirscript.ir.words import documentation

from .edit import Edit
from .tree import Place

BLOCK, LOOP, SCOPE, STORAGE = "block", "loop", "scope", "storage"
BlockAt = Annotated[Place, BLOCK]
LoopAt = Annotated[Place, LOOP]
# a block, or the function itself, which is called "root"
ScopeAt = Annotated[Place, SCOPE]
# the name of a memory, "" for the global one
StorageScope = Annotated[str, STORAGE]


class BlockHandle(Struct, frozen=True):
    """A block of a schedule: the block of that name in the function of that name."""

    function: str
    name: str

    def __repr__(self) -> str:
        return f"<block {self.name} of {self.function}>"


class LoopHandle(Struct, frozen=True, eq=False):
    """A loop of a schedule: the loop of that variable in the function of that name."""

    function: str
    var: Var

    def __eq__(self, other: object) -> bool:
        return type(other) is LoopHandle and self.var is other.var

    def __hash__(self) -> int:
        return hash(self.var)

    def __repr__(self) -> str:
        return f"<loop {self.var.name} of {self.function}>"


class Primitive(Struct, frozen=True, eq=False):
    """One primitive: `query` ones change nothing; `record` of False keeps calls out of the trace."""

    name: str
    function: Callable[..., Any]
    doc: str
    signature: inspect.Signature
    readers: dict[str, Reader]
    query: bool

    @property
    def usage(self) -> str:
        """How it is called, without the types."""
        bare = [parameter.replace(annotation=parameter.empty) for parameter in self.signature.parameters.values()]
        return f"{self.name}{inspect.Signature(bare)}"


# how an argument is read: what the user gave and the edit, to what the primitive gets
Reader = Callable[[str, Any, Edit], Any]
PRIMITIVES: dict[str, Primitive] = {}


def primitive(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function of an edit as a primitive that changes the program."""
    return _register(function, query=False)


def query(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function of an edit as a primitive that only finds blocks and loops."""
    return _register(function, query=True)


def _register(function: Callable[..., Any], *, query: bool) -> Callable[..., Any]:
    from .schedule import Schedule  # which reads this table

    name = function.__name__
    if name in PRIMITIVES:
        raise ValueError(f"schedule primitive {name} is defined twice")
    if hasattr(Schedule, name):  # which would be found before the primitive
        raise ValueError(f"a schedule has a method {name} of its own; give the primitive another name")
    doc = documentation(function, f"schedule primitive {name}")
    signature = inspect.signature(function)
    signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    PRIMITIVES[name] = Primitive(name, function, doc, signature, {}, query)
    return function


def readers_of(entry: Primitive) -> dict[str, Reader]:
    """How the arguments of a primitive are read, worked out at its first call."""
    if not entry.readers:
        hints = typing.get_type_hints(entry.function, localns=_names(entry.function), include_extras=True)
        entry.readers.update({name: _reader(hints.get(name, Any)) for name in entry.signature.parameters})
    return entry.readers


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    import collections.abc

    import tirscript.ir

    return {
        **vars(collections.abc),
        **vars(typing),
        **vars(tirscript.ir),
        "Edit": Edit,
        "BlockAt": BlockAt,
        "LoopAt": LoopAt,
        "ScopeAt": ScopeAt,
        "StorageScope": StorageScope,
        **getattr(function, "__globals__", {}),
    }


def _reader(hint: Any) -> Reader:
    if typing.get_origin(hint) is Annotated:
        return _READERS[typing.get_args(hint)[1]]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    marked = [arg for arg in args if _marked(arg)]
    if marked and origin in (typing.Union, types.UnionType):
        inner = [_reader(arg) for arg in marked]
        others = tuple(arg for arg in args if not _marked(arg))
        return functools.partial(_one_of, inner, others)
    if marked and origin in (list, tuple, Sequence):
        return functools.partial(_each, _reader(marked[0]))
    return functools.partial(_plain, hint)


def _marked(hint: Any) -> bool:
    return typing.get_origin(hint) is Annotated or any(_marked(arg) for arg in typing.get_args(hint))


def _one_of(readers: list[Reader], others: tuple[Any, ...], name: str, value: Any, edit: Edit) -> Any:
    if type(value) is LoopHandle and _loop in readers:
        return _loop(name, value, edit)
    for hint in others:
        if fits(value, hint) is None:
            return value
    if isinstance(value, (list, tuple)):
        for reader in readers:
            if isinstance(reader, functools.partial) and reader.func is _each:
                return reader(name, value, edit)
    if isinstance(value, str) and _loop in readers and value not in edit.tree.blocks:
        # a name that no block has may be that of a loop
        if any(var.name == value for var in edit.tree.loops):
            return _loop(name, value, edit)
    return readers[0](name, value, edit)


def _each(reader: Reader, name: str, value: Any, edit: Edit) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        edit.wrong(f"`{name}` takes a list, not {describe(value)}")
    return [reader(name, item, edit) for item in value]


def check_names(value: Any, edit: Edit, depth: int = 0) -> None:
    """Refuse expressions and index maps, in lists too, of variables and buffers that are not of the function."""
    if isinstance(value, (list, tuple, dict)):
        # values in themselves are refused by who takes values of any kind
        for item in () if depth > MAX_DEPTH else value.values() if isinstance(value, dict) else value:
            check_names(item, edit, depth + 1)
    elif isinstance(value, (Expr, IndexMap)):
        named: list[Var | Buffer] = [*free_vars(value), *free_buffers(value)]
        foreign = {id(one): one.name for one in named}
        for one in definitions(edit.func) if foreign else ():
            foreign.pop(id(one), None)
        for name in foreign.values():
            edit.wrong(f"`{edit.function}` has no such variable as `{name}`", hint="take those of its own")


def _plain(hint: Any, name: str, value: Any, edit: Edit) -> Any:
    if hint is Any or (isinstance(hint, type) and type(value) is hint) or fits(value, hint) is None:
        return value
    lists = () if isinstance(value, (list, tuple)) else ([None, value], [value])  # with None, the other is worked out
    meant = next((each for each in lists if fits(each, hint) is None), None)
    edit.wrong(
        f"`{name}` takes {in_words(hint)}, not {describe(value)}", hint=None if meant is None else f"write `{meant!r}`"
    )


def _block(name: str, value: Any, edit: Edit) -> Place:
    place = _scope(name, value, edit)
    if place.parent is None:
        edit.wrong(f'`{name}` takes a block, and "root" is the function `{edit.function}` itself')
    return place


def _scope(name: str, value: Any, edit: Edit) -> Place:
    if isinstance(value, str):
        return edit.block(value)
    if type(value) is BlockHandle:
        edit.same_function(value.function, value)
        return edit.handled(value.name)
    if type(value) is LoopHandle:
        edit.wrong(f"`{name}` takes a block, not the loop `{value.var.name}`", hint="give a block, or its name")
    edit.wrong(f"`{name}` takes a block or the name of one, not {describe(value)}")


def _loop(name: str, value: Any, edit: Edit) -> Place:
    if isinstance(value, str):
        return edit.loop_named(value)
    if type(value) is LoopHandle:
        edit.same_function(value.function, value)
        return edit.loop(value.var)
    if type(value) is BlockHandle:
        edit.wrong(
            f"`{name}` takes a loop, not the block `{value.name}`",
            hint=f'its loops are `sch.get_loops("{value.name}")`',
        )
    edit.wrong(f"`{name}` takes a loop or the name of one, not {describe(value)}")


def _storage(name: str, value: Any, edit: Edit) -> str:
    scope: str = _plain(str, name, value, edit)
    advice = scope_advice(scope) if scope else None
    if advice is not None:
        edit.wrong(f'`{name}` is the unknown scope "{scope}"', hint=advice)
    return scope


_READERS: dict[str, Reader] = {BLOCK: _block, LOOP: _loop, SCOPE: _scope, STORAGE: _storage}


def to_handle(result: Any, function: str) -> Any:
    """What a primitive returned with handles for places."""
    if type(result) is Place:
        stmt = result.stmt
        if type(stmt) is For:
            return LoopHandle(function, stmt.var)
        if type(stmt) is Block:
            return BlockHandle(function, stmt.name)
        return BlockHandle(function, "root")
    if isinstance(result, (list, tuple)):
        return type(result)(to_handle(item, function) for item in result)
    return result


__all__ = [
    "PRIMITIVES",
    "BlockAt",
    "BlockHandle",
    "LoopAt",
    "LoopHandle",
    "Primitive",
    "ScopeAt",
    "StorageScope",
    "primitive",
    "query",
]
