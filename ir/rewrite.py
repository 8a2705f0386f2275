"""Walking and rewriting any program, derived from the field declarations of the nodes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any, TypeVar, overload

from msgspec import structs

from .buffer import Buffer
from .check import public
from .expr import Const, Let, Reduce, Var
from .func import PrimFunc
from .graph import GraphBind, GraphFunc, GraphIf, MatchCast
from .node import NO_ATTRS, Attrs, Node, are_same, nodes_in, recursion_room, shape_of
from .stmt import MatchBuffer

N = TypeVar("N", bound=Node)
# a rule gets a node whose children are rewritten already and returns what stands in its place:
# a node, or, for a statement, a tuple of statements (empty to delete it)
Rule = Callable[[Any], Any]


def children(node: Node) -> Iterator[Node]:
    """The direct children of a node in the order of its fields; binders that are only used are children too."""
    plan = shape_of(type(node))
    for (_, many), value in zip(plan.children, plan.get_children(node), strict=True):
        if value is None:
            continue
        if many == 1:
            yield from value
        elif many == 2:
            yield from nodes_in(value)
        else:
            yield value


@overload
def walk(root: Node | tuple[Node, ...]) -> Iterator[Node]: ...
@overload
def walk(root: Node | tuple[Node, ...], kind: type[N]) -> Iterator[N]: ...
def walk(root: Node | tuple[Node, ...], kind: type[Node] | None = None) -> Iterator[Node]:
    """Every node below and with `root`, parents before children, in source order; with `kind` those of that class.

    A buffer's own fields are entered once, where it is met first.
    """
    if kind is not None:
        return (node for node in walk(root) if type(node) is kind)
    way = _WAYS.get(type(root))
    if way is not None and not way[1]:
        return iter((root,))  # type: ignore[arg-type]
    kept = _walks.kept
    if kept is None:
        return _walk(root, None)
    found = kept.get(id(root))
    return _walk(root, kept) if found is None else iter(found)


def holds(root: Node | tuple[Node, ...], kind: type[Node]) -> bool:
    """Whether a node of that very class is below or with `root`."""
    return any(type(node) is kind for node in walk(root))


def _walk(root: Any, kept: dict[int, list[Any]] | None) -> Iterator[Node]:
    """The nodes of `walk`, which are kept when they are all there."""
    stack: list[Any] = list(reversed(root)) if isinstance(root, tuple) else [root]
    seen: set[int] = set()
    count = 0
    nodes: list[Any] = []
    while stack:
        node = stack.pop()
        if kept is not None:
            nodes.append(node)
        yield node
        way = _WAYS.get(type(node))
        if way is None:
            way = _way(type(node))
        binder, fields = way
        if not fields:
            continue
        if binder:
            if id(node) in seen:
                continue
            seen.add(id(node))
        count += 1
        if count == MANY:
            refuse_too_large(root)
        for get, many in fields:
            value = get(node)
            if value is None:
                continue
            if many == 0:
                stack.append(value)
            elif many == 1:
                if value:
                    stack += value[::-1]
            elif value is not NO_ATTRS:
                stack += reversed(list(nodes_in(value)))
    if kept is not None and len(nodes) >= LEAST:
        _walks.keep(root, nodes)


def refuse_too_large(root: Any) -> None:
    """Raise DiagnosticError where a program that was walked for long has few nodes, which stand for too many."""
    from .wellformed.size import refuse_too_large

    refuse_too_large(root)


MANY = 1 << 20  # parts of a program that are met before it is measured
# walks of fewer nodes are not kept; all are forgotten where they come to MOST
LEAST, MOST = 12, 100_000


class _Walks(threading.local):
    """The nodes of each root that this thread walked, by the id of the root, inside of `walks_kept`."""

    kept: dict[int, list[Any]] | None = None
    roots: list[object]
    count: int

    def begin(self) -> None:
        self.kept, self.roots, self.count = {}, [], 0

    def keep(self, root: object, nodes: list[Any]) -> None:
        if self.kept is None:
            return  # a walk that goes on behind the `with`
        if self.count > MOST:
            self.begin()
        self.kept[id(root)] = nodes
        self.roots.append(root)  # so that its id stays taken
        self.count += len(nodes)


_walks = _Walks()


def is_larger(root: Node | tuple[Node, ...], most: int) -> bool:
    """Whether a program has more than `most` nodes; asks no further than to the first of them."""
    return next(islice(walk(root), most, None), None) is not None


@contextmanager
def walks_kept() -> Iterator[None]:
    """Inside of a `with`, walking a program again takes no more than going through a list.

    A pass asks many questions of one function, of which most walk the whole of it. Programs do not change.
    """
    if _walks.kept is not None:
        yield
        return
    _walks.begin()
    try:
        yield
    finally:
        _walks.kept = None
        _walks.roots = []


# of a class: whether it is a binder, and its fields that hold nodes, the last first: getter, how many
_Way = tuple[bool, tuple[tuple[Callable[[Any], Any], int], ...]]
_WAYS: dict[type, _Way] = {}


def _way(cls: Any) -> _Way:
    binder, plan = _plan(cls)
    return _WAYS.setdefault(cls, (binder, tuple((get, many) for _, get, many in reversed(plan))))


@cache
def _plan(cls: Any) -> tuple[bool, tuple[tuple[str, Callable[[Any], Any], int], ...]]:
    """Whether a class is a binder, and its fields that hold nodes: name, getter, how many."""
    shape = shape_of(cls)
    return shape.binder, tuple((name, attrgetter(name), many) for name, many in shape.children)


def map_children(node: N, function: Callable[[Any], Any]) -> N:
    """`node` with `function` applied to its direct children; the same object where none changed.

    A result that is a tuple is spliced into a tuple field.
    """
    changed: dict[str, Any] = {}
    for name, get, many in _plan(type(node))[1]:
        value = get(node)
        if value is None:
            continue
        if many == 0:
            new = function(value)
        elif many == 1:
            new = map_tuple(value, function)
        else:
            new = map_value(value, function)
        if new is not value:
            changed[name] = new
    return structs.replace(node, **changed) if changed else node


def map_except_buffers(node: N, function: Callable[[Any], Any]) -> N:
    """`map_children` that leaves buffers alone: a buffer is a definition, changed where it is defined."""
    return map_children(node, lambda child: child if type(child) is Buffer else function(child))


def map_tuple(values: tuple[Any, ...], function: Callable[[Any], Any]) -> tuple[Any, ...]:
    """`function` over a tuple of nodes; the same tuple where none changed; tuples that come back are spliced."""
    out: list[Any] | None = None
    for at, value in enumerate(values):
        new = function(value)
        if out is None:
            if new is value:
                continue
            out = list(values[:at])
        if type(new) is tuple:
            out += new
        else:
            out.append(new)
    return values if out is None else tuple(out)


def map_value(value: Any, function: Callable[[Any], Any]) -> Any:
    """`function` on every node inside a nested attribute value."""
    if isinstance(value, Node):
        return function(value)
    if isinstance(value, dict):
        new = {key: map_value(item, function) for key, item in value.items()}
        same = all(new[key] is value[key] for key in new)
        return value if same else Attrs(new) if isinstance(value, Attrs) else new
    if isinstance(value, (tuple, list)):
        items = [map_value(item, function) for item in value]
        return value if are_same(items, value) else type(value)(items)
    return value


_NOTHING: frozenset[int] = frozenset()
_LEAVES = (Var, Buffer, Const)


@public
def rewrite(root: Node | tuple[Node, ...], rules: Mapping[type, Rule]) -> Any:
    """`root` with the rules applied bottom up, by exact class; what is unchanged stays the same object.

    A rule for Var or Buffer sees every variable or buffer once, and what it returns stands at every occurrence.
    A buffer whose shape changes is rebuilt once and replaced everywhere. TypeError for what is no class of nodes.
    """
    for cls in rules:
        if not (isinstance(cls, type) and issubclass(cls, Node)):
            raise TypeError(f"rules are by classes of nodes, such as `Const`, not by {cls!r}")
    return _rewrite(root, rules, {})


def _rewrite(root: Any, rules: Mapping[type, Rule], binders: dict[int, Any], copied: frozenset[int] = _NOTHING) -> Any:
    """`binders` maps the ids of variables and buffers to what stands for them; of those `copied`, at each place a copy
    that defines names of its own."""
    keep: list[Any] = []  # the ids in `binders` stay taken
    count = 0

    def visit(node: Any) -> Any:
        nonlocal count
        cls: Any = type(node)
        binder, plan = _plan(cls)
        if binder:
            found = binders.get(id(node))
            if found is not None:
                return distinct(found) if copied and id(node) in copied else found
        count += 1
        if count == MANY:
            refuse_too_large(root)
        changed = None
        for name, get, many in plan:
            value = get(node)
            if value is None:
                continue
            if many == 1:
                new = map_tuple(value, visit)
            elif many == 0:
                new = visit(value)
            elif value is NO_ATTRS:
                continue
            else:
                new = map_value(value, visit)
            if new is not value:
                if changed is None:
                    changed = {}
                changed[name] = new
        new = node if changed is None else structs.replace(node, **changed)
        rule = rules.get(cls)
        if rule is not None:
            new = rule(new)
            if new is None:
                raise TypeError(f"the rule for {cls.__name__} returned None, not what stands in the node's place")
        if binder:
            binders[id(node)] = new
            keep.append(node)
        return new

    with recursion_room():
        return map_tuple(root, visit) if isinstance(root, tuple) else visit(root)


@public
def substitute(root: Node | tuple[Node, ...], mapping: Mapping[Any, Any]) -> Any:
    """`root` with variables and buffers replaced: {Var: Expr, Buffer: Buffer}.

    An expression that defines names (`T.let`) defines names of its own wherever it stands.
    """
    if not mapping:
        return root
    copied = frozenset(id(binder) for binder, value in mapping.items() if defines_names(value))
    return _rewrite(root, {}, {id(binder): value for binder, value in mapping.items()}, copied)


def defines_names(value: Any) -> bool:
    """Whether an expression defines names: two copies of it in a program would define them twice."""
    return type(value) not in _LEAVES and any(type(node) in _NAMING for node in walk(value))


def distinct(expr: Any) -> Any:
    """An expression of which each copy of what defines a name defines one of its own."""
    return rewrite(expr, _NAMING)


def _renamed_let(let: Let) -> Let:
    var = let.var.replace()
    return let.replace(var=var, body=substitute(let.body, {let.var: var}))


def definitions(root: Node | tuple[Node, ...]) -> list[Any]:
    """The variables and buffers that `root` defines, in source order; those of graph functions too."""
    found: dict[Any, None] = {}
    for node in walk(root):
        cls = type(node)
        if cls.defines or cls in _WITH_SYMBOLS:
            found.update(dict.fromkeys(defined_by(node)))
    return list(found)


def defined_by(node: Node) -> Iterator[Any]:
    """The variables and buffers that a node defines itself, not by what stands in it."""
    for name in type(node).defines:
        value = getattr(node, name)
        yield from value if isinstance(value, tuple) else (value,)
    if type(node) in _WITH_SYMBOLS:
        yield from node.defined_symbols()  # type: ignore[attr-defined]


# what defines more than its fields say: symbolic dimensions, and the strides and offsets of matched regions
_WITH_SYMBOLS = frozenset((PrimFunc, GraphFunc, GraphBind, GraphIf, MatchBuffer, MatchCast))


def refresh(root: Any) -> Any:
    """`root` with everything it defines renamed to fresh variables and buffers of the same name hints."""
    binders = definitions(root)
    if not binders:
        return root
    renamed = substitute(root, {binder: binder.replace() for binder in binders if isinstance(binder, Var)})
    others = {binder: binder.replace() for binder in definitions(renamed) if not isinstance(binder, Var)}
    return substitute(renamed, others)


# the expressions that define names, and how one is given names of its own
_NAMING: dict[type, Rule] = {Let: _renamed_let, Reduce: refresh}


def free_vars(root: Node | tuple[Node, ...]) -> list[Var]:
    """The variables that `root` uses and does not define, in order of first use."""
    defined = set(definitions(root))
    found: dict[Var, None] = {}
    for node in walk(root):
        if type(node) is Var and node not in defined:
            found.setdefault(node)
    return list(found)


def free_buffers(root: Node | tuple[Node, ...]) -> list[Buffer]:
    """The buffers that `root` uses and does not define, in order of first use."""
    defined = set(definitions(root))
    found: dict[Buffer, None] = {}
    for node in walk(root):
        if type(node) is Buffer and node not in defined:
            found.setdefault(node)
    return list(found)


def uses(root: Node | tuple[Node, ...], binder: Node) -> bool:
    """Whether `binder` occurs in `root`."""
    return any(node is binder for node in walk(root))
