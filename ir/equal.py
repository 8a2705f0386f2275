"""Equality of programs, exact or up to the renaming of what they define."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

from .align import pairs
from .check import public
from .module import Module
from .node import NO_ATTRS, Attrs, Node, Shape, recursion_room, shape_of
from .rewrite import MANY, refuse_too_large
from .span import Span
from .stmt import Stmt

# what can be compared: a node, a body, attributes
Program = Node | tuple[Node, ...] | Attrs
_FEW = 1 << 14


class Difference(Struct, frozen=True, eq=False):
    """One place in which two programs differ: its path (`body[2].stop`), both sides, and what is wrong.

    `right_path` is the path in the right program, which is another where statements were inserted or removed. A side
    that lacks the place is None, and its path that of the body where the place would be.
    """

    path: str
    left: Any
    right: Any
    reason: str
    right_path: str

    @property
    def spans(self) -> tuple[Span | None, Span | None]:
        """Where the two sides were written, as far as is known."""
        return getattr(self.left, "span", None), getattr(self.right, "span", None)

    def __str__(self) -> str:
        return f"{self.path or '.'}: {self.reason}"


F = TypeVar("F", bound=Callable[..., Any])


def telling_unreadable(function: F) -> F:
    """Where programs cannot be compared since nodes made by hand are not what they declare or have no end, say that."""

    @wraps(function)
    def compared(*programs: Any, **options: Any) -> Any:
        try:
            return function(*programs, **options)
        except Exception:
            from .wellformed.fields import refuse_unreadable

            refuse_unreadable(*programs, *options.values())
            raise

    return compared  # type: ignore[return-value]


@public
@telling_unreadable
def structural_equal(a: Program, b: Program, *, map_free_vars: bool = False) -> bool:
    """Whether two programs are the same up to the names of what they define.

    Variables and buffers that neither defines must be identical, unless `map_free_vars`. Spans, comments and
    docstrings do not count.
    """
    with recursion_room():
        return _same(a, b, {}, _Names(map_free_vars, _ALPHA, (a, b)))


def exactly_equal(a: Any, b: Any) -> bool:
    """Whether two programs are the same with the very same variables and buffers."""
    with recursion_room():
        return _same(a, b, {}, _Names(False, _EXACT))


# whether two nodes of one class are the same, given what left names stand for so far and the rest of the state
Comparison = Callable[[Any, Any, dict[int, Any], "_Names"], bool]


class _Table(dict[type, Comparison]):
    """The comparison of each class, derived from its declaration when it is first met."""

    def __init__(self, alpha: bool) -> None:
        self.alpha = alpha

    def __missing__(self, cls: type) -> Comparison:
        made = self[cls] = _comparison(cls, self.alpha)
        return made


_ALPHA, _EXACT = _Table(True), _Table(False)


class _Names:
    """What right names were taken, whether free names may be mapped, and the comparisons by class."""

    __slots__ = ("backward", "free", "left", "programs", "same", "table")

    def __init__(self, free: bool, table: _Table, programs: tuple[Any, ...] = ()) -> None:
        self.backward: set[int] = set()
        self.same: set[tuple[int, int]] = set()  # pairs of nodes that were compared
        self.programs = programs
        # nodes with others in them, behind which the programs are measured, or nodes are compared once
        self.left = MANY if table is _ALPHA else _FEW
        self.free = free
        self.table = table

    def met(self, x: Any, y: Any) -> bool:
        """Whether two nodes were compared already: asked where as many were as a large program has, or as a few stand
        for that are shared. Names may have got other counterparts since, so that only exact ones are known again."""
        if self.table is _ALPHA:
            if not self.left:
                refuse_too_large(self.programs)
            return False
        pair = id(x), id(y)
        if x is y or pair in self.same:
            return True
        self.same.add(pair)  # if they are not the same, neither are the programs
        return False


def _comparison(cls: type, alpha: bool) -> Comparison:
    if not issubclass(cls, Node):
        return _same
    shape = shape_of(cls)
    fields = _fields(cls, shape)
    if shape.binder:
        return _binder(fields) if alpha else _very_same
    return _defining(cls, fields) if alpha and cls.defines else fields


def _very_same(x: Any, y: Any, forward: dict[int, Any], names: _Names) -> bool:
    return x is y


def _binder(fields: Comparison) -> Comparison:
    """Of a variable or buffer: one that was defined stands for its counterpart, another only for itself."""

    def binder(x: Any, y: Any, forward: dict[int, Any], names: _Names) -> bool:
        known = forward.get(id(x))
        if known is not None:
            return known is y
        if id(y) in names.backward:
            return False
        if not names.free:
            return x is y
        forward[id(x)] = y
        names.backward.add(id(y))
        return fields(x, y, forward, names)

    return binder


def _defining(cls: type[Node], fields: Comparison) -> Comparison:
    """Of a node that defines: its definitions stand for each other from here on."""
    name = cls.defines[0]
    one = attrgetter(name) if len(cls.defines) == 1 and name in dict(shape_of(cls).children) else None
    if one is not None and (dict(shape_of(cls).children)[name] != 0 or hasattr(cls, "defined_symbols")):
        one = None

    def defining(x: Any, y: Any, forward: dict[int, Any], names: _Names) -> bool:
        if one is None:
            return _define(defined_by(x), defined_by(y), forward, names) and fields(x, y, forward, names)
        p, q = one(x), one(y)
        if id(p) in forward or id(q) in names.backward:
            if forward.get(id(p)) is not q:
                return False
        else:
            forward[id(p)] = q
            names.backward.add(id(q))
            kind: Any = type(p)
            if kind is not type(q) or not _own_fields(kind)(p, q, forward, names):
                return False
        return fields(x, y, forward, names)

    return defining


def _define(left: Any, right: Any, forward: dict[int, Any], names: _Names) -> bool:
    """Map definitions to each other, then compare them: a parameter's shape may use a later parameter."""
    if len(left) != len(right):
        return False
    for p, q in zip(left, right):
        if id(p) in forward or id(q) in names.backward:
            if forward.get(id(p)) is not q:
                return False
        forward[id(p)] = q
        names.backward.add(id(q))
    for p, q in zip(left, right):
        kind: Any = type(p)
        if kind is not type(q) or not _own_fields(kind)(p, q, forward, names):
            return False
    return True


def defined_by(node: Any) -> tuple[Any, ...]:
    """What a node defines, in order."""
    found: tuple[Any, ...] = ()
    for name in node.defines:
        value = getattr(node, name)
        if type(value) is not tuple:
            found = (*found, value)
        else:
            found = (*found, *value) if found else value
    symbols = getattr(node, "defined_symbols", None)
    return found if symbols is None else (*found, *symbols())


def _own(cls: Any) -> Comparison:
    return _fields(cls, shape_of(cls))


# the comparison of a binder's own fields
_own_fields: Callable[[Any], Comparison] = cache(_own)


def _fields(cls: type, shape: Shape) -> Comparison:
    """Of everything that counts in a class: plain values, then the nodes in order."""
    same = getattr(cls, "same_scalars", None)
    scalars = attrgetter(*shape.scalars) if shape.scalars and same is None else None
    if not shape.children:
        return _of_leaf(scalars, same)
    plan = [(attrgetter(name), many) for name, many in shape.children]

    def fields(x: Any, y: Any, forward: dict[int, Any], names: _Names) -> bool:
        names.left -= 1
        if names.left <= 0 and names.met(x, y):
            return True
        if scalars is not None and scalars(x) != scalars(y):
            return False
        table = names.table
        for get, many in plan:
            p = get(x)
            q = get(y)
            if many == 1:
                if p is None or q is None:
                    if p is not q:
                        return False
                    continue
                size = len(p)
                if size != len(q):
                    return False
                if size < 3:  # most tuples; pairing them up costs more than comparing them
                    if size:
                        i, j = p[0], q[0]
                        kind = type(i)
                        if kind is not type(j) or not table[kind](i, j, forward, names):
                            return False
                        if size == 2:
                            i, j = p[1], q[1]
                            kind = type(i)
                            if kind is not type(j) or not table[kind](i, j, forward, names):
                                return False
                    continue
                for i, j in zip(p, q):
                    kind = type(i)
                    if kind is not type(j) or not table[kind](i, j, forward, names):
                        return False
            elif many == 0:
                if p is None and q is None:
                    continue
                kind = type(p)
                if kind is not type(q) or not table[kind](p, q, forward, names):
                    return False
            elif (p is not NO_ATTRS or q is not NO_ATTRS) and not _same(p, q, forward, names):
                return False
        return True

    return fields


def _of_leaf(scalars: Any, same: Any) -> Comparison:
    if same is not None:
        return same  # type: ignore[no-any-return]
    if scalars is None:
        return lambda x, y, forward, names: True
    return lambda x, y, forward, names: scalars(x) == scalars(y)


def _same(p: Any, q: Any, forward: dict[int, Any], names: _Names) -> bool:
    """Compare nodes, or values that may hold nodes anywhere."""
    if isinstance(p, Node):
        return type(p) is type(q) and names.table[type(p)](p, q, forward, names)
    if isinstance(p, dict) and isinstance(q, dict):
        if p.keys() != q.keys():
            return False
        for key in p:  # noqa: SIM110  (a generator would recurse through C)
            if not _same(p[key], q[key], forward, names):
                return False
        return True
    if isinstance(p, (tuple, list)) and isinstance(q, (tuple, list)):
        if len(p) != len(q):
            return False
        for i, j in zip(p, q):  # noqa: SIM110
            if not _same(i, j, forward, names):
                return False
        return True
    return same_value(p, q)


def same_value(p: Any, q: Any) -> bool:
    """Whether two plain attribute values are the same: of one type, nan equal to nan, -0.0 not to 0.0."""
    if type(p) is float and type(q) is float:
        return repr(p) == repr(q)
    return type(p) is type(q) and bool(p == q or (p != p and q != q))


@public
@telling_unreadable
def differences(a: Program, b: Program, *, map_free_vars: bool = False, limit: int = 100) -> list[Difference]:
    """Every difference of two programs, in source order, at most `limit`; empty where they are structurally equal."""
    from .wellformed.size import refuse_endless

    refuse_endless(a, b)
    found: list[Difference] = []
    with recursion_room():
        _Explainer(found, map_free_vars, limit).compare(a, b, None)
    return found


# a path: the one it goes on from, and its last step in the left and in the right program
Path = tuple[Any, str, str] | None


def _spell(path: Path, side: int) -> str:
    steps: list[str] = []
    while path is not None:
        steps.append(path[side])
        path = path[0]
    return "".join(reversed(steps)).removeprefix(".")


class _Explainer:
    """The slow twin of `_same` that says where and why."""

    def __init__(self, found: list[Difference], free: bool, limit: int) -> None:
        self.found, self.free, self.limit = found, free, limit
        self.forward: dict[int, Any] = {}
        self.backward: dict[int, Any] = {}

    def report(self, path: Path, left: Any, right: Any, reason: str) -> None:
        if len(self.found) < self.limit:
            self.found.append(Difference(_spell(path, 1), left, right, reason, _spell(path, 2)))

    def only(self, side: str, item: Any, body: Path, at: int) -> None:
        """A statement without a counterpart."""
        if len(self.found) < self.limit:
            here = f"{_spell(body, 1 if side == 'left' else 2)}[{at}]"
            reason = f"only the {side} has {_brief(item)}"
            if side == "left":
                self.found.append(Difference(here, item, None, reason, _spell(body, 2)))
            else:
                self.found.append(Difference(_spell(body, 1), None, item, reason, here))

    def compare(self, a: Any, b: Any, path: Path) -> None:
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            self.compare_many(a, b, path, (a, b))
        elif isinstance(a, dict) and isinstance(b, dict):
            for key in [*a, *(k for k in b if k not in a)]:
                where = _step(path, f"[{key!r}]")
                if key not in a or key not in b:
                    self.report(where, a.get(key), b.get(key), f"only the {'left' if key in a else 'right'} has it")
                else:
                    self.compare(a[key], b[key], where)
        elif isinstance(a, Node) and isinstance(b, Node):
            self.compare_nodes(a, b, path)
        elif isinstance(a, Node) or isinstance(b, Node) or not same_value(a, b):
            self.report(path, a, b, f"{_brief(a)} against {_brief(b)}")

    def compare_many(self, a: Any, b: Any, path: Path, at: tuple[Any, Any]) -> None:
        """Two sequences; statements that were inserted or removed do not shift those behind them."""
        if all(isinstance(item, Stmt) for item in (*a, *b)):
            self.compare_bodies(a, b, path)
            return
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            self.compare(x, y, _step(path, f"[{index}]"))
        if len(a) != len(b):
            self.report(path, *at, f"{len(a)} against {len(b)} items")

    def compare_bodies(self, a: Any, b: Any, path: Path) -> None:
        i = j = 0
        for left, right in (*pairs(a, b), (len(a), len(b))):
            for at in range(i, left):
                self.only("left", a[at], path, at)
            for at in range(j, right):
                self.only("right", b[at], path, at)
            if left < len(a):
                self.compare(a[left], b[right], (path, f"[{left}]", f"[{right}]"))
            i, j = left + 1, right + 1

    def compare_nodes(self, a: Any, b: Any, path: Path) -> None:
        if type(a) is not type(b):
            self.report(path, a, b, f"{_brief(a)} against {_brief(b)}")
            return
        shape = shape_of(type(a))
        if shape.binder:
            known = self.forward.get(id(a))
            other = known if known is not None else self.backward.get(id(b))
            if other is not None:
                if known is not b:
                    self.report(path, a, b, f"{_pair(a, b)}: elsewhere the counterpart is `{other.name}`")
                return
            if not self.free:
                if a is b:
                    return
                self.report(path, a, b, f"{_pair(a, b)}: different free names")
                return
            self.meet(a, b)
        elif type(a).defines:
            self.define(a, b, path)
        self.compare_fields(a, b, path, shape)

    def meet(self, a: Any, b: Any) -> None:
        self.forward[id(a)] = b
        self.backward[id(b)] = a

    def define(self, a: Node, b: Node, path: Path) -> None:
        """Map what two nodes define to each other, then compare it."""
        fresh: list[tuple[Path, Any, Any]] = []
        for name in type(a).defines:
            left, right = getattr(a, name), getattr(b, name)
            where = _step(path, f".{name}")
            if type(left) is tuple:
                fresh += [(_step(where, f"[{at}]"), p, q) for at, (p, q) in enumerate(zip(left, right))]
            else:
                fresh.append((where, left, right))
        if type(a) is type(b) and hasattr(a, "defined_symbols"):
            left, right = a.defined_symbols(), b.defined_symbols()  # type: ignore[attr-defined]
            if len(left) != len(right):
                words = (" ".join(f"`{var.name}`" for var in side) or "none" for side in (left, right))
                self.report(path, a, b, "symbolic dimensions: {} against {}".format(*words))
            fresh += [(_step(path, ".symbols"), p, q) for p, q in zip(left, right)]
        new = [pair for pair in fresh if type(pair[1]) is type(pair[2])]
        new = [pair for pair in new if id(pair[1]) not in self.forward and id(pair[2]) not in self.backward]
        for _, p, q in new:
            self.meet(p, q)
        for where, p, q in new:
            self.compare_fields(p, q, where, shape_of(type(p)))

    def compare_fields(self, a: Any, b: Any, path: Path, shape: Shape) -> None:
        key = getattr(type(a), "scalar_key", None)
        if key is not None and shape.scalars:
            if key(a) != key(b):
                self.report(path, a, b, f"{_brief(a)} against {_brief(b)}")
        else:
            for name, p, q in zip(shape.scalars, shape.get_scalars(a), shape.get_scalars(b), strict=True):
                if p != q and not (name == "dtype" and _follows(a, b)):
                    self.report(_step(path, f".{name}"), a, b, f"{_brief(p)} against {_brief(q)}")
        if isinstance(a, Module):
            self.compare_functions(a, b, path)
            shape_children: Any = (("attrs", a.attrs, b.attrs),)
        else:
            names = (name for name, _ in shape.children)
            shape_children = zip(names, shape.get_children(a), shape.get_children(b), strict=True)
        for name, p, q in shape_children:
            where = _step(path, f".{name}")
            if isinstance(p, tuple) and isinstance(q, tuple):
                self.compare_many(p, q, where, (a, b))
            elif p is None or q is None:
                if p is not q:
                    self.report(where, a, b, f"{_brief(p)} against {_brief(q)}")
            else:
                self.compare(p, q, where)

    def compare_functions(self, a: Module, b: Module, path: Path) -> None:
        """The functions of two modules, by name."""
        for function in a:
            if function.name in b:
                self.compare(function, b[function.name], _step(path, f".{function.name}"))
            else:
                self.report(_step(path, f".{function.name}"), function, None, "only the left has this function")
        for function in b:
            if function.name not in a:
                self.report(_step(path, f".{function.name}"), None, function, "only the right has this function")
        left, right = [f.name for f in a if f.name in b], [f.name for f in b if f.name in a]
        if left != right:
            self.report(_step(path, ".functions"), a, b, f"in the order {', '.join(left)} against {', '.join(right)}")


def _step(path: Path, step: str) -> Path:
    return path, step, step


def _follows(a: Node, b: Node) -> bool:
    """Whether two values differ in dtype because their operands do, which is told there."""
    operands = zip(getattr(a, "args", ()), getattr(b, "args", ()), strict=False)
    return any(getattr(p, "dtype", None) is not getattr(q, "dtype", None) for p, q in operands)


def _pair(a: Any, b: Any) -> str:
    return f"`{a.name}` against `{b.name}`"


def _brief(value: Any) -> str:
    if isinstance(value, Node):
        text = value.script(fragment=True).strip().split("\n")
        return f"{type(value).__name__} `{text[0][:60]}{'…' if len(text) > 1 or len(text[0]) > 60 else ''}`"
    if value is None:
        return "nothing"
    return f"{value}" if type(value).__module__.startswith("tirscript") else f"{value!r}"


__all__ = ["Attrs", "Difference", "differences", "exactly_equal", "structural_equal"]
