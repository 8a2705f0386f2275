"""Equality and hashing of programs, exact or up to the renaming of what they define."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from .node import Attrs, Node, recursion_room, shape_of
from .span import Span


class Difference(Struct, frozen=True, eq=False):
    """One place in which two programs differ: its path (`body[2].extent`), both sides, and what is wrong."""

    path: str
    left: Any
    right: Any
    reason: str

    @property
    def spans(self) -> tuple[Span | None, Span | None]:
        """Where the two sides were written, as far as is known."""
        return getattr(self.left, "span", None), getattr(self.right, "span", None)

    def __str__(self) -> str:
        return f"{self.path or '.'}: {self.reason}"


def structural_equal(a: Any, b: Any, *, map_free_vars: bool = False) -> bool:
    """Whether two programs are the same up to the names of what they define.

    Variables and buffers that neither defines must be identical, unless `map_free_vars`. Spans, comments and
    docstrings do not count.
    """
    return _equal(a, b, alpha=True, free=map_free_vars)


def exactly_equal(a: Any, b: Any) -> bool:
    """Whether two programs are the same with the very same variables and buffers."""
    return _equal(a, b, alpha=False, free=False)


# per class: (scalars, single children, tuples, attributes, binder, defining fields), all derived from the declarations
_PLANS: dict[type, Any] = {}


def _plan(cls: type) -> Any:
    shape = shape_of(cls)
    scalars = getattr(cls, "scalar_key", None) or shape.get_scalars
    plan = (
        scalars if shape.scalars else None,
        shape.get_children if shape.children else None,
        tuple(many for _, many in reversed(shape.children)),
        shape.binder,
        bool(getattr(cls, "defines", ())),
    )
    _PLANS[cls] = plan
    return plan


def _equal(a: Any, b: Any, *, alpha: bool, free: bool) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            return False
        pairs: list[Any] = [item for pair in zip(reversed(b), reversed(a), strict=True) for item in pair]
    else:
        pairs = [b, a]
    forward: dict[int, Any] = {}
    backward: dict[int, Any] = {}
    bound = _Bound()
    plans = _PLANS
    pop = pairs.pop
    while pairs:
        x = pop()
        y = pop()
        cls = type(x)
        if cls is not type(y):
            return False
        plan = plans.get(cls)
        if plan is None:
            if not isinstance(x, Node):
                if x != y:
                    return False
                continue
            plan = _plan(cls)
        scalars, get, kinds, binder, defines = plan
        if binder:
            if not alpha:
                if x is not y:
                    return False
                continue
            known = forward.get(id(x))
            if known is not None:
                if known is not y:
                    return False
                continue
            if id(y) in backward:
                return False
            if not (free or bound.defined(x, y)):
                if x is not y:
                    return False
                continue
            forward[id(x)] = y
            backward[id(y)] = x
        elif defines and alpha:
            bound.enter(x, y)
        if scalars is not None and scalars(x) != scalars(y):
            return False
        if get is None:
            continue
        xs = get(x)
        ys = get(y)
        at = len(kinds)
        for many in kinds:
            at -= 1
            p = xs[at]
            q = ys[at]
            if p is None or q is None:
                if p is not q:
                    return False
            elif many == 1:
                if len(p) != len(q):
                    return False
                if len(p) == 1:
                    pairs += (q[0], p[0])
                elif p:
                    for k in range(len(p) - 1, -1, -1):
                        pairs += (q[k], p[k])
            elif many == 0:
                pairs += (q, p)
            elif p is not q and not _flatten(p, q, pairs):
                return False
    return True


class _Bound:
    """Which binders the compared programs define; filled where a defining node is entered."""

    def __init__(self) -> None:
        self.left: set[int] = set()
        self.right: set[int] = set()

    def enter(self, x: Node, y: Node) -> None:
        _define(x, self.left)
        _define(y, self.right)

    def defined(self, x: Node, y: Node) -> bool:
        return id(x) in self.left and id(y) in self.right


def _define(node: Any, into: set[int]) -> None:
    for name in node.defines:
        value = getattr(node, name)
        if type(value) is tuple:
            into.update(map(id, value))
        else:
            into.add(id(value))
    symbols = getattr(node, "defined_symbols", None)
    if symbols is not None:
        into.update(map(id, symbols()))


def _flatten(p: Any, q: Any, pairs: list[Any]) -> bool:
    """Compare nested attribute values, leaving the nodes inside for later; False where they differ."""
    if isinstance(p, Node) or isinstance(q, Node):
        if type(p) is not type(q):
            return False
        pairs += (q, p)
        return True
    if isinstance(p, dict) and isinstance(q, dict):
        return p.keys() == q.keys() and all(_flatten(p[key], q[key], pairs) for key in p)
    if isinstance(p, (tuple, list)) and isinstance(q, (tuple, list)):
        return len(p) == len(q) and all(_flatten(i, j, pairs) for i, j in zip(p, q, strict=True))
    return same_value(p, q)


def same_value(p: Any, q: Any) -> bool:
    """Whether two plain attribute values are the same: of one type, nan equal to nan."""
    return type(p) is type(q) and bool(p == q or (p != p and q != q))


def differences(a: Any, b: Any, *, map_free_vars: bool = False, limit: int = 100) -> list[Difference]:
    """Every difference of two programs, in source order, at most `limit`; empty where they are structurally equal."""
    found: list[Difference] = []
    with recursion_room():
        _Explainer(found, map_free_vars, limit).compare(a, b, "")
    return found


class _Explainer:
    """The slow twin of `_equal` that says where and why."""

    def __init__(self, found: list[Difference], free: bool, limit: int) -> None:
        self.found, self.free, self.limit = found, free, limit
        self.forward: dict[int, Any] = {}
        self.backward: dict[int, Any] = {}
        self.bound = _Bound()

    def report(self, path: str, left: Any, right: Any, reason: str) -> None:
        if len(self.found) < self.limit:
            self.found.append(Difference(path, left, right, reason))

    def compare(self, a: Any, b: Any, path: str) -> None:
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            self.compare_many(a, b, path, (a, b))
        elif isinstance(a, dict) and isinstance(b, dict):
            for key in [*a, *(k for k in b if k not in a)]:
                where = f"{path}[{key!r}]"
                if key not in a or key not in b:
                    self.report(where, a.get(key), b.get(key), f"only the {'left' if key in a else 'right'} has it")
                else:
                    self.compare(a[key], b[key], where)
        elif isinstance(a, Node) and isinstance(b, Node):
            self.compare_nodes(a, b, path)
        elif isinstance(a, Node) or isinstance(b, Node) or not same_value(a, b):
            self.report(path, a, b, f"{_brief(a)} against {_brief(b)}")

    def compare_many(self, a: Any, b: Any, path: str, at: tuple[Any, Any]) -> None:
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            self.compare(x, y, f"{path}[{index}]")
        if len(a) != len(b):
            self.report(path, *at, f"{len(a)} against {len(b)} items")

    def compare_nodes(self, a: Any, b: Any, path: str) -> None:
        if type(a) is not type(b):
            self.report(path, a, b, f"{_brief(a)} against {_brief(b)}")
            return
        shape = shape_of(type(a))
        if shape.binder:
            known = self.forward.get(id(a))
            if known is not None or id(b) in self.backward:
                if known is not b:
                    other = known if known is not None else self.backward[id(b)]
                    self.report(path, a, b, f"`{a.name}` against `{b.name}`: elsewhere the counterpart is `{other.name}`")
                return
            if not (self.free or self.bound.defined(a, b)):
                if a is not b:
                    self.report(path, a, b, f"`{a.name}` and `{b.name}` are different free names")
                return
            self.forward[id(a)] = b
            self.backward[id(b)] = a
        elif getattr(type(a), "defines", ()):
            self.bound.enter(a, b)
        key = getattr(type(a), "scalar_key", None)
        if key is not None and shape.scalars:
            if key(a) != key(b):
                self.report(path, a, b, f"{_brief(a)} against {_brief(b)}")
        else:
            for name, p, q in zip(shape.scalars, shape.get_scalars(a), shape.get_scalars(b), strict=True):
                if p != q:
                    self.report(_join(path, name), a, b, f"{_brief(p)} against {_brief(q)}")
        for (name, _), p, q in zip(shape.children, shape.get_children(a), shape.get_children(b), strict=True):
            where = _join(path, name)
            if isinstance(p, tuple) and isinstance(q, tuple):
                self.compare_many(p, q, where, (a, b))
            elif p is None or q is None:
                if p is not q:
                    self.report(where, a, b, f"{_brief(p)} against {_brief(q)}")
            else:
                self.compare(p, q, where)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _brief(value: Any) -> str:
    if isinstance(value, Node):
        text = value.script(fragment=True).strip().split("\n")
        return f"{type(value).__name__} `{text[0][:60]}{'…' if len(text) > 1 or len(text[0]) > 60 else ''}`"
    if value is None:
        return "nothing"
    return f"{value}" if type(value).__module__.startswith("tirscript") else f"{value!r}"


def exact_hash(node: Node) -> int:
    """A hash that agrees with `exactly_equal`."""
    return hash(tuple(_tokens(node, alpha=False)))


def structural_hash(node: Any) -> int:
    """A hash that agrees with `structural_equal`: the same for programs that differ in names only."""
    return hash(tuple(_tokens(node, alpha=True)))


def _tokens(root: Any, *, alpha: bool) -> list[Any]:
    out: list[Any] = []
    stack: list[Any] = [root]
    numbers: dict[int, int] = {}
    defined: set[int] = set()
    while stack:
        node = stack.pop()
        cls = type(node)
        if cls is tuple or cls is list:
            out.append(len(node))
            stack.extend(reversed(node))
            continue
        if isinstance(node, dict):
            out += sorted(node)
            stack += [node[key] for key in sorted(node)]
            continue
        if not isinstance(node, Node):
            out.append(node if _is_hashable(node) else repr(node))
            continue
        shape = shape_of(cls)
        out.append(cls)
        if shape.binder:
            if not alpha or id(node) not in defined:
                out.append(node)
                continue
            number = numbers.get(id(node))
            if number is not None:
                out.append(number)
                continue
            numbers[id(node)] = len(numbers)
        elif alpha and getattr(cls, "defines", ()):
            _define(node, defined)
        if shape.scalars:
            out.append((getattr(cls, "scalar_key", None) or shape.get_scalars)(node))
        stack.extend(reversed(shape.get_children(node)))
    return out


def _is_hashable(value: Any) -> bool:
    return type(value) in (str, int, float, bool, bytes, type(None))


__all__ = ["Attrs", "Difference", "differences", "exact_hash", "exactly_equal", "structural_equal", "structural_hash"]
