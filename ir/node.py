"""The base of all IR nodes, and what is known of a class from its field declarations.

Nodes are frozen `msgspec.Struct`s: slots without the 0.5 µs a frozen dataclass costs to construct (0.08 µs measured).
Children, equality, hashing, walking and rewriting are derived from the annotations: a new class declares fields only.
"""

from __future__ import annotations

import os
import sys
import threading
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, is_
from typing import Any, ClassVar

from msgspec import Struct, structs

from .forks import in_children
from .span import Span

CHECK = os.environ.get("TIRSCRIPT_CHECK", "") not in ("", "0")


class Attrs(dict[str, Any]):
    """An immutable, hashable mapping of attribute names to values; a value may be nested and may hold nodes.

    A sequence is a tuple, whatever it was given as: that is what its text is read as.
    """

    __slots__ = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, value in self.items():
            frozen = _frozen(value)
            if frozen is not value:
                dict.__setitem__(self, name, frozen)

    def _refuse(self, *args: object, **kwargs: object) -> typing.NoReturn:
        raise TypeError("Attrs are immutable; make new ones with Attrs({**attrs, ...})")

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted((key, _hashable(value)) for key, value in self.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Attrs, (dict(self),)

    def without(self, *names: str) -> Attrs:
        """These attributes without `names`."""
        return Attrs({key: value for key, value in self.items() if key not in names})


def are_same(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two sequences hold the very same objects, one by one."""
    return len(one) == len(other) and all(map(is_, one, other))


def _frozen(value: Any) -> Any:
    """An attribute value with tuples for lists; itself where it has none."""
    if isinstance(value, dict):
        inner = {key: _frozen(item) for key, item in value.items()}
        return value if all(inner[key] is item for key, item in value.items()) else inner
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if type(value) is tuple:
        items = tuple(map(_frozen, value))
        return value if are_same(items, value) else items
    return value


def _hashable(value: Any) -> int:
    if isinstance(value, dict):
        return hash(Attrs(value))
    if isinstance(value, (list, tuple)):
        return hash(tuple(map(_hashable, value)))
    try:
        return hash(value)
    except TypeError:
        return hash(repr(value))


NO_ATTRS = Attrs()


class Node(Struct, frozen=True, eq=False, kw_only=True, weakref=True):
    """A piece of a program. Immutable; `span` says where it was written and is never compared."""

    # the fields that hold what this node defines; the fields that equality leaves out
    defines: ClassVar[tuple[str, ...]] = ()
    not_compared: ClassVar[tuple[str, ...]] = ()

    span: Span | None = None

    if CHECK:

        def __post_init__(self) -> None:
            from .check import check_fields

            check_fields(self)

    def __eq__(self, other: object) -> bool:
        """Exactly the same program, spans and trivia aside; binders are equal only to themselves."""
        if self is other:
            return True
        from .equal import exactly_equal

        return exactly_equal(self, other) if isinstance(other, Node) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other  # msgspec's own does not ask __eq__

    def __hash__(self) -> int:
        from .hashing import exact_hash

        return exact_hash(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from .flat import flattened, restored

        return restored, (flattened(self),)

    def replace(self, **fields: Any) -> typing.Self:
        """A copy with some fields changed; span and trivia stay."""
        try:
            return structs.replace(self, **fields)
        except TypeError:
            unknown = [name for name in fields if name not in self.__struct_fields__]
            if not unknown:
                raise
            from .diagnostic import suggest

            near = suggest(unknown[0], self.__struct_fields__)
            hint = f"did you mean `{near}`?" if near else f"its fields are {', '.join(self.__struct_fields__)}"
            raise TypeError(f"{type(self).__name__} has no field `{unknown[0]}`; {hint}") from None

    def script(self, **options: Any) -> str:
        """This node as source text; the options are those of `tirscript.printer.script`."""
        from tirscript.printer import script

        return script(self, **options)

    def show(self, **options: Any) -> None:
        """Print the source text, highlighted where the output is a terminal."""
        from tirscript.printer import show

        show(self, **options)

    def _repr_html_(self) -> str:
        """The source text highlighted, as notebooks show it."""
        from tirscript.printer.html import to_html

        return to_html(self)

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        name = getattr(self, "name", None)
        return f"<{type(self).__name__}{f' {name}' if isinstance(name, str) else ''}>"


class Binder(Node, frozen=True, eq=False):
    """A node that is a definition: equal only to itself, whatever its fields."""

    not_compared: ClassVar[tuple[str, ...]] = ("name",)

    def __eq__(self, other: object) -> bool:
        return self is other

    # in C: variables and buffers are looked up in dictionaries more than anything else
    __hash__ = object.__hash__

    def __copy__(self) -> typing.Self:
        return self


# fields that never take part in comparison; so are those a class names in `not_compared`
_NOT_COMPARED = frozenset(("span", "trivia", "heads", "docstring"))


class Shape(Struct, frozen=True, eq=False):
    """What the generic drivers need to know of a node class.

    `children` are (field, many) pairs in declaration order: many is 0 for a node or None, 1 for a tuple of nodes,
    2 for attributes or other values that may hold nodes anywhere. `scalars` are compared with `==`.
    """

    children: tuple[tuple[str, int], ...]
    scalars: tuple[str, ...]
    get_children: Callable[[Any], Any]
    get_scalars: Callable[[Any], Any]
    binder: bool


_SHAPES: dict[type, Shape] = {}


def shape_of(cls: type) -> Shape:
    """The field plan of a node class, read once from its annotations."""
    plan = _SHAPES.get(cls)
    return plan if plan is not None else _SHAPES.setdefault(cls, _read_shape(cls))


def _read_shape(cls: type) -> Shape:
    hints = typing.get_type_hints(cls)
    binder = issubclass(cls, Binder)
    children, scalars = [], []
    for name in cls.__struct_fields__:  # type: ignore[attr-defined]
        if name in _NOT_COMPARED or name in cls.not_compared:  # type: ignore[attr-defined]
            continue
        many = _holds_nodes(hints[name])
        if many is not None:
            children.append((name, many))
        else:
            scalars.append(name)
    names = [name for name, _ in children]
    return Shape(tuple(children), tuple(scalars), _getter(names), _getter(scalars), binder)


def _getter(names: list[str]) -> Callable[[Any], Any]:
    if not names:
        return lambda node: ()
    if len(names) == 1:
        one = attrgetter(names[0])
        return lambda node: (one(node),)
    return attrgetter(*names)


def _holds_nodes(hint: Any) -> int | None:
    if hint is Attrs or hint is Any:
        return 2
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        kinds = [_holds_nodes(arg) for arg in typing.get_args(hint) if arg is not type(None)]
        found = [kind for kind in kinds if kind is not None]
        return max(found) if found else None
    if origin is tuple:
        inner = [_holds_nodes(arg) for arg in typing.get_args(hint) if arg is not ...]
        if not any(kind is not None for kind in inner):
            return None
        return 1 if inner == [0] else 2
    return 0 if isinstance(hint, type) and issubclass(hint, Node) else None


def nodes_in(value: Any) -> Iterator[Node]:
    """The outermost nodes inside a nested attribute value."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from nodes_in(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from nodes_in(item)


DEPTH = 200_000


class _Room:
    """What `recursion_room` returns; one object serves all, as nothing but the number of users counts."""

    __slots__ = ("lock", "users", "usual")

    def __init__(self) -> None:
        self.renew()
        self.users = 0
        self.usual = 0

    def renew(self) -> None:
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.usual = sys.getrecursionlimit()
                if self.usual < DEPTH:
                    sys.setrecursionlimit(DEPTH)

    def __exit__(self, *exc: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                sys.setrecursionlimit(self.usual)


_room = _Room()
in_children(_room.renew)


def recursion_room() -> _Room:
    """Let pure-Python recursion go as deep as programs are nested, inside of a `with`.

    Since Python 3.11 a call from Python to Python takes no C stack, so the limit, made against C stack overflow,
    may be raised while code runs that recurses through Python frames only.
    """
    return _room
