"""The steps of a schedule as a Python program.

    def apply(sch):
        b0 = sch.get_block("C")
        l0, l1, l2 = sch.get_loops(b0)
        l3, l4 = sch.split(l0, factors=[None, 8])

The text can be saved and edited, and `Trace.parse` reads it back without executing it. `replay` does the steps again on
another schedule.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.expr import BufferLoad, Const, Expr, Var
from tirscript.ir.func import PrimFunc
from tirscript.ir.index_map import IndexMap
from tirscript.ir.node import Node
from tirscript.ir.rewrite import definitions, walk
from tirscript.ir.stmt import Block
from tirscript.ir.words import counted, parenthesized

from .primitive import PRIMITIVES, BlockHandle, LoopHandle

if TYPE_CHECKING:
    from .schedule import Schedule


EMPTY: Mapping[Any, IndexMap | Expr] = {}


class Name(Struct, frozen=True):
    """A handle in a step: the name of the result of an earlier one."""

    name: str


class Written(Struct, frozen=True):
    """An expression as text: what it names are results of earlier steps no more than variables of the program."""

    text: str


class Step(Struct, frozen=True, eq=False):
    """One call of a primitive: its arguments, with `Name`s for handles, and the names of its results.

    `results` of a string is one result, of a tuple as many; `()` is none.
    """

    primitive: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: str | tuple[str, ...]

    def __str__(self) -> str:
        args = [*map(value_text, self.args), *(f"{name}={value_text(v)}" for name, v in self.kwargs.items())]
        call = f"sch.{self.primitive}({', '.join(args)})"
        if not self.results:
            return call
        if isinstance(self.results, str):
            return f"{self.results} = {call}"
        comma = "," if len(self.results) == 1 else ""
        return f"{', '.join(self.results)}{comma} = {call}"


class Recorded(NamedTuple):
    """How much a recorder held: steps, names given, the last step, numbers of names by kind."""

    steps: int
    named: int
    last: Step | None
    counts: dict[str, int]


class Mark(Struct, frozen=True, eq=False):
    """Where a schedule was: its functions as far as steps asked for them, how many steps changed one, the record."""

    functions: dict[str, PrimFunc]
    changes: int
    record: Recorded
    current: str | None


class Trace:
    """The steps of a schedule in order."""

    def __init__(self, steps: tuple[Step, ...] = ()) -> None:
        self.steps = steps

    def __len__(self) -> int:
        return len(self.steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """The steps as the Python function `apply(sch)`."""
        lines = [f"    {step}" for step in self.steps] or ["    pass"]
        return "\n".join(["def apply(sch):", *lines, ""])

    def __repr__(self) -> str:
        return f"<Trace of {counted(len(self), 'step')}>"

    def replay(self, schedule: Schedule) -> Schedule:
        """Do the steps on `schedule`, which is returned; ScheduleError where one is refused there."""
        known: dict[str, Any] = {}
        for step in self.steps:
            args = [_filled(arg, known, schedule) for arg in step.args]
            kwargs = {name: _filled(value, known, schedule) for name, value in step.kwargs.items()}
            result = getattr(schedule, step.primitive)(*args, **kwargs)
            if isinstance(step.results, str):
                known[step.results] = result
                continue
            several = isinstance(result, (list, tuple))
            if step.results and not (several and len(result) == len(step.results)):
                many = f"{len(result)} here, not {len(step.results)}" if several else "no tuple here"
                raise DiagnosticError([error("T503", f"`{step}` gives {many}: the trace is of another program")])
            known.update(zip(step.results, result if step.results else ()))
        return schedule

    @staticmethod
    def parse(text: str) -> Trace:
        """The trace that a text says; T503 where it holds anything but calls of primitives on plain values."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            raise DiagnosticError([error("T503", f"the trace is not Python: {problem}")]) from None
        functions = [stmt for stmt in tree.body if isinstance(stmt, ast.FunctionDef)]
        if len(functions) != 1 or len(tree.body) != 1 or len(functions[0].args.args) != 1:
            raise DiagnosticError([error("T503", "a trace is one function: `def apply(sch):`")])
        schedule = functions[0].args.args[0].arg
        body = [stmt for stmt in functions[0].body if not isinstance(stmt, ast.Pass)]
        return Trace(tuple(_step(stmt, schedule) for stmt in body if not _is_docstring(stmt)))


class Recorder:
    """Names the handles of a schedule and writes down its steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._names: dict[Any, str] = {}
        # each handle that was named, with the name that it had before
        self._named: list[tuple[Any, str | None]] = []
        self._counts = {"b": 0, "l": 0, "v": 0}

    def mark(self) -> Recorded:
        """Where the record is now, for `reset`."""
        return Recorded(len(self.steps), len(self._named), self.steps[-1] if self.steps else None, dict(self._counts))

    def led_to(self, mark: Recorded) -> bool:
        """Whether the steps before `mark` are the first ones here."""
        return not mark.steps or self.steps[mark.steps - 1 : mark.steps] == [mark.last]

    def reset(self, mark: Recorded) -> None:
        """Forget what was recorded since `mark`."""
        for handle, before in reversed(self._named[mark.named :]):
            if before is None:
                del self._names[handle]
            else:
                self._names[handle] = before
        del self.steps[mark.steps :], self._named[mark.named :]
        self._counts = dict(mark.counts)

    def copy(self) -> Recorder:
        """A record of the same steps that goes on by itself."""
        other = Recorder()
        other.steps, other._named = list(self.steps), list(self._named)
        other._names, other._counts = dict(self._names), dict(self._counts)
        return other

    def record(
        self,
        primitive: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        called: Mapping[Any, IndexMap | Expr] = EMPTY,
    ) -> None:
        """Write down one call; `called` are what the functions among its arguments make of indices."""
        args = tuple(self._argument(arg, called) for arg in args)
        kwargs = {name: self._argument(value, called) for name, value in kwargs.items()}
        if isinstance(result, (list, tuple)):
            results: str | tuple[str, ...] = tuple(self._name(item) for item in result)
        else:
            results = () if result is None else self._name(result)
        self.steps.append(Step(primitive, args, kwargs, results))

    def _name(self, result: Any) -> str:
        kinds: dict[Any, str] = {BlockHandle: "b", LoopHandle: "l"}
        kind = kinds.get(type(result), "v")
        name = f"{kind}{self._counts[kind]}"
        self._counts[kind] += 1
        if kind != "v":
            self._named.append((result, self._names.get(result)))
            self._names[result] = name
        return name

    def _argument(self, value: Any, called: Mapping[Any, IndexMap | Expr]) -> Any:
        if type(value) in (BlockHandle, LoopHandle):
            return Name(self._names[value]) if value in self._names else value
        if isinstance(value, (list, tuple)):
            return type(value)(self._argument(item, called) for item in value)
        if isinstance(value, dict):
            return {key: self._argument(item, called) for key, item in value.items()}
        if inspect.isfunction(value):
            # an index map, or padding in terms of the indices
            return called[value] if value in called else IndexMap.of(value)
        return value


def _filled(value: Any, known: dict[str, Any], schedule: Schedule) -> Any:
    """An argument of a step: with the results of earlier ones, and of the program that is worked on."""
    if type(value) is Name:
        if value.name in known:
            return known[value.name]
        found = _program_names(schedule).get(value.name)
        if found is None:
            raise DiagnosticError([error("T503", f"the trace uses `{value.name}` before it is made")])
        return found
    if type(value) is Written:
        return _program(value.text, _program_names(schedule))
    if isinstance(value, Expr) and any(type(node) is Var or type(node) is BufferLoad for node in walk(value)):
        return _program(_expression(value), _program_names(schedule))
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(item, known, schedule) for item in value)
    if isinstance(value, dict):
        return {key: _filled(item, known, schedule) for key, item in value.items()}
    return value


def _program_names(schedule: Schedule) -> dict[str, Any]:
    """What expressions in a trace may name: the variables and buffers of the program, each by a name of its own."""
    defined = definitions(schedule.func)
    counts = Counter(one.name for one in defined)
    return {one.name: one for one in defined if counts[one.name] == 1}


def value_text(value: Any) -> str:
    """An argument as Python source."""
    rule = _TEXTS.get(type(value))
    if rule is not None:
        return rule(value)
    if isinstance(value, Expr):
        return _expression(value)
    number = value.item() if getattr(value, "shape", None) == () else value  # one of numpy's as Python's
    return repr(value) if type(number) is type(value) else value_text(number)


def _index_map(value: IndexMap) -> str:
    from tirscript.printer import script

    # a lambda is what Python runs and what is read back
    text = script(value, width=10_000).strip()
    return text.removeprefix("T.index_map(").removesuffix(")") if value.inverse is None else text


def _expression(value: Expr) -> str:
    from tirscript.printer import script

    return ast.unparse(ast.parse(script(value).strip(), mode="eval"))  # as it is when it has been read


def _constant(value: Const) -> str:
    from tirscript.printer.literals import explicit

    return explicit(value)  # an annotation gives a number no dtype


def _items(value: Any) -> str:
    texts = map(value_text, value)
    return f"[{', '.join(texts)}]" if isinstance(value, list) else parenthesized(texts)


_TEXTS: dict[type, Callable[[Any], str]] = {
    Name: lambda value: value.name,
    Written: lambda value: value.text,
    BlockHandle: lambda value: repr(value.name),
    LoopHandle: lambda value: repr(value.var.name),
    IndexMap: _index_map,
    Buffer: lambda value: value.name,
    Const: _constant,
    list: _items,
    tuple: _items,
    dict: lambda value: "{" + ", ".join(f"{k!r}: {value_text(v)}" for k, v in value.items()) + "}",
    float: lambda value: repr(value) if math.isfinite(value) else f"float({str(value)!r})",
}


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _step(stmt: ast.stmt, schedule: str) -> Step:
    call = stmt.value if isinstance(stmt, (ast.Assign, ast.Expr)) else None
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Attribute)
        or not isinstance(call.func.value, ast.Name)
        or call.func.value.id != schedule
        or call.func.attr not in (*PRIMITIVES, "work_on")
    ):
        raise _unreadable(stmt, "is not a call of a schedule primitive")
    results: str | tuple[str, ...] = ()
    if isinstance(stmt, ast.Assign):
        target = stmt.targets[0]
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        if len(stmt.targets) != 1 or not all(isinstance(name, ast.Name) for name in names):
            raise _unreadable(stmt, "assigns to something else than names")
        ids = tuple(name.id for name in names if isinstance(name, ast.Name))
        results = ids if names is not None and isinstance(target, (ast.Tuple, ast.List)) else ids[0]
    if any(keyword.arg is None for keyword in call.keywords):
        raise _unreadable(stmt, "has `**` arguments")
    kwargs = {keyword.arg: _value(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    return Step(call.func.attr, tuple(map(_value, call.args)), kwargs, results)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return Name(node.id)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return list(map(_value, node.elts))
    if isinstance(node, ast.Tuple):
        return tuple(map(_value, node.elts))
    if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
        return {_key(key): _value(value) for key, value in zip(node.keys, node.values) if key is not None}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand)
        if isinstance(value, (int, float)):
            return -value
    if isinstance(node, ast.Lambda):
        return _program(f"T.index_map({ast.unparse(node)})")
    if not isinstance(node, ast.expr) or not isinstance(node, _EXPRESSIONS):
        raise _unreadable(node, "is not a plain value")
    special = _SPECIAL.get(ast.unparse(node))
    if special is not None:
        return special
    called = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    if any(not (isinstance(one, ast.Attribute) and ast.unparse(one.value) == "T") for one in called):
        raise _unreadable(node, "calls something else than functions of T")
    named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - {"T"}
    return Written(ast.unparse(node)) if named else _program(ast.unparse(node))


def _key(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    raise _unreadable(node, "is not a plain key")


# floats that have no literal
_SPECIAL = {f"float({name!r})": float(name) for name in ("inf", "-inf", "nan")}
_EXPRESSIONS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Subscript)


def _program(text: str, names: dict[str, Any] | None = None) -> Any:
    """An index map or an expression, by the parser of fragments; T503 where it is neither, or names what is missing."""
    from tirscript.script import parse

    where = f"    with T.block('value'):\n        T.block_attr({{'value': {text}}})\n"
    try:
        func = parse(f"@T.prim_func(check_well_formed=False)\ndef value():\n{where}", names=names)
    except DiagnosticError as problem:
        why = problem.diagnostics[0].message
        raise DiagnosticError([error("T503", f"`{text[:80]}` in the trace is no value: {why}")]) from None
    assert isinstance(func, PrimFunc)
    value = next(item.annotations["value"] for item in func.body if type(item) is Block)
    if isinstance(value, Node):
        return value
    raise DiagnosticError([error("T503", f"`{text[:80]}` in the trace is not a plain value")])


def _unreadable(node: ast.AST, why: str) -> DiagnosticError:
    line = getattr(node, "lineno", 1)
    return DiagnosticError([error("T503", f"line {line} of the trace, `{ast.unparse(node)[:80]}`, {why}")])


__all__ = ["Mark", "Name", "Recorder", "Step", "Trace"]
