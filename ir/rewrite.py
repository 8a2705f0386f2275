"""Walking and rewriting any program, derived from the field declarations of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import structs

from .buffer import Buffer
from .expr import Expr, Var
from .func import PrimFunc
from .node import Attrs, Binder, Node, nodes_in, recursion_room, shape_of

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


def walk(root: Node | tuple[Node, ...]) -> Iterator[Node]:
    """Every node below and with `root`, parents before children, in source order. Shapes of used buffers are not entered:
    a buffer's own children are walked once, where it is met first."""
    stack: list[Node] = list(reversed(root)) if isinstance(root, tuple) else [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        plan = shape_of(type(node))
        if plan.binder:
            if id(node) in seen:
                yield node
                continue
            seen.add(id(node))
        yield node
        below: list[Node] = []
        for (_, many), value in zip(plan.children, plan.get_children(node), strict=True):
            if value is None:
                continue
            if many == 1:
                below += value
            elif many == 2:
                below += nodes_in(value)
            else:
                below.append(value)
        below.reverse()
        stack += below


def map_children(node: N, function: Callable[[Any], Any]) -> N:
    """`node` with `function` applied to its direct children; the same object where none changed.

    A result that is a tuple is spliced into a tuple field.
    """
    plan = shape_of(type(node))
    changed: dict[str, Any] = {}
    for (name, many), value in zip(plan.children, plan.get_children(node), strict=True):
        if value is None:
            continue
        if many == 1:
            new = map_tuple(value, function)
        elif many == 2:
            new = map_value(value, function)
        else:
            new = function(value)
        if new is not value:
            changed[name] = new
    return structs.replace(node, **changed) if changed else node


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
        same = all(a is b for a, b in zip(items, value, strict=True))
        return value if same else type(value)(items)
    return value


def rewrite(root: Any, rules: Mapping[type, Rule]) -> Any:
    """`root` (a node or a body) with the rules applied bottom up, by exact class; nodes without a change stay the same objects.

    A rule for Var or Buffer sees every occurrence. A buffer whose shape changes is rebuilt once and replaced everywhere.
    """
    binders: dict[int, Any] = {}
    keep: list[Any] = []  # the ids in `binders` stay taken

    def visit(node: Any) -> Any:
        cls = type(node)
        if issubclass(cls, Binder):
            found = binders.get(id(node))
            if found is None:
                found = map_children(node, visit)
                rule = rules.get(cls)
                if rule is not None:
                    found = rule(found)
                binders[id(node)] = found
                keep.append(node)
            return found
        new = map_children(node, visit)
        rule = rules.get(cls)
        return new if rule is None else rule(new)

    with recursion_room():
        return map_tuple(root, visit) if isinstance(root, tuple) else visit(root)


def substitute(root: Any, mapping: Mapping[Any, Any]) -> Any:
    """`root` with variables and buffers replaced: {Var: Expr, Buffer: Buffer}."""
    if not mapping:
        return root
    swap: Rule = lambda node: mapping.get(node, node)
    return rewrite(root, {Var: swap, Buffer: swap})


def definitions(root: Node | tuple[Node, ...]) -> list[Var | Buffer]:
    """The variables and buffers that `root` defines, in source order."""
    found: dict[Any, None] = {}
    for node in walk(root):
        for name in type(node).defines:
            value = getattr(node, name)
            for binder in value if isinstance(value, tuple) else (value,):
                found.setdefault(binder)
        if type(node) is PrimFunc:
            found.update(dict.fromkeys(node.symbols))
    return list(found)


def refresh(root: Any) -> Any:
    """`root` with everything it defines renamed to fresh variables and buffers of the same name hints."""
    fresh: dict[Any, Any] = {}
    for binder in definitions(root):
        if isinstance(binder, Var):
            fresh[binder] = binder.replace()
    renamed = substitute(root, fresh)
    buffers = {binder: binder.replace() for binder in definitions(renamed) if isinstance(binder, Buffer)}
    return substitute(renamed, buffers)


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


def uses(root: Node | tuple[Node, ...], binder: Expr | Buffer) -> bool:
    """Whether `binder` occurs in `root`."""
    return any(node is binder for node in walk(root))
