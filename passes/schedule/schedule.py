"""Schedules: a program transformed step by step.

    sch = tirscript.Schedule(matmul)
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, 8])
    print(sch.func)

Each step takes blocks and loops by handle or by name, leaves a valid program that means the same, or is refused with a
`ScheduleError` and changes nothing. The primitives are the functions of the table `PRIMITIVES`.
"""

from __future__ import annotations

import functools
from typing import Any

from tirscript.ir.check import public
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.node import CHECK, recursion_room
from tirscript.ir.rewrite import substitute, uses
from tirscript.ir.stmt import Block
from tirscript.ir.wellformed.fields import refuse_unreadable
from tirscript.ir.words import counted, words

from ..pipeline import REPORT
from .edit import Edit
from .naming import name_apart
from .primitive import PRIMITIVES, BlockHandle, LoopHandle, Primitive, check_names, readers_of, to_handle
from .refusal import ScheduleError, refusal
from .trace import Mark, Recorder, Trace
from .tree import Tree


class Schedule:
    """A module or function under transformation.

    Names of blocks and loops are of the only function, of "main", or of the one that `work_on` says. With `verify` the
    verifier checks the program after each step (always in tests); what it finds is a fault of the
    primitive. `seed` makes what the samplers draw repeatable.

    Blocks of one name in a function get numbers behind it, `C`, `C_1`, so that every block has a name of its own.
    """

    @public
    def __init__(self, program: PrimFunc | Module, *, seed: int | None = None, verify: bool | None = None) -> None:
        self._program = program
        functions = program.functions if isinstance(program, Module) else (program,)
        self._functions = {function.name: function for function in functions}
        self._trees: dict[str, Tree] = {}
        # by function, the new names of blocks by those in handles
        self._renamed: dict[str, dict[str, str]] = {name: {} for name in self._functions}
        self._recorder = Recorder()
        # for each step that changed the program: its function, that before it, the record and the work_on before it
        self._past: list[tuple[str, PrimFunc, Any, str | None]] = []
        self._verify = CHECK if verify is None else verify
        self._random: Any = None
        self._seed = seed
        scheduled = [f.name for f in functions if isinstance(f, PrimFunc)]
        if not scheduled:
            raise DiagnosticError([error("T502", f"the module `{program.name}` has no tensor function to schedule")])
        public = [name for name in scheduled if not self._functions[name].private]
        self._current: str | None = (
            scheduled[0] if len(scheduled) == 1 else "main" if "main" in scheduled else next(iter(public), None)
        )
        if len(public) > 1 and "main" not in scheduled:
            self._current = None

    # the program

    @property
    def func(self) -> PrimFunc:
        """The function that the schedule works on, as it is now."""
        return self._function(self._name())

    @property
    def mod(self) -> Module:
        """The module as it is now; a function alone is in a module of its own."""
        if isinstance(self._program, PrimFunc):
            return Module((self.func,), name="Module")
        functions = tuple(
            self._function(one.name) if isinstance(one, PrimFunc) else one for one in self._program.functions
        )
        return self._program.replace(functions=functions)

    def work_on(self, func_name: str) -> None:
        """Take names of blocks and loops to be of the function of that name from now on."""
        self._current = self._known(func_name)
        self._recorder.record("work_on", (func_name,), {}, None)

    def _known(self, name: object) -> str:
        """The name of a function, refused where there is none of that name."""
        if isinstance(name, str) and name in self._functions:
            return name
        near = suggest(str(name), self._functions)
        hint = f"did you mean `{near}`?" if near else f"it has {', '.join(self._functions)}"
        raise refusal("T502", f"the module has no function `{name}`", None, hint=hint)

    def get(self, handle: object) -> Any:
        """The statement that a handle stands for now, or a number that was drawn; ScheduleError where there is none."""
        if isinstance(handle, (int, float)) and not isinstance(handle, bool):
            return handle
        if not isinstance(handle, (BlockHandle, LoopHandle)):
            hint = "`sch.get_block(name)` and `sch.get_loops(block)` give handles"
            raise refusal("T502", f"{words(handle)} is no handle of a block or loop", None, hint=hint)
        renamed = self._renamed[self._of_handle(handle)]
        edit = Edit(self._tree(handle.function), "get", handle.function, renamed=renamed)
        return (edit.handled(handle.name) if isinstance(handle, BlockHandle) else edit.loop(handle.var)).stmt

    def _name(self) -> str:
        if self._current is None:
            raise refusal(
                "T502",
                f"the module has {len(self._functions)} functions and none is called main",
                None,
                hint=f"say which with `sch.work_on(name)`: {', '.join(self._functions)}",
            )
        return self._current

    def _function(self, name: str) -> PrimFunc:
        tree = self._trees.get(name)
        return tree.func if tree is not None else self._functions[name]

    def _tree(self, name: str) -> Tree:
        tree = self._trees.get(name)
        if tree is None:
            tree = Tree(self._functions[name])
            say_by_loops(tree)
            if name_apart(tree):
                tree = Tree(tree.func)  # which finds each block by its new name
            self._trees[name] = tree
        return tree

    # steps

    def _call(self, entry: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parameters = entry.signature.parameters
        unknown = next((name for name in kwargs if name not in parameters), None)
        if unknown is not None:
            near = suggest(unknown, parameters)
            hint = f"did you mean `{near}`?" if near else f"it is `{entry.usage}`"
            raise refusal("T503", f"`{entry.name}`: there is no argument `{unknown}`", None, hint=hint)
        try:
            arguments = entry.signature.bind(*args, **kwargs).arguments
        except TypeError as problem:
            raise refusal("T503", f"`{entry.name}`: {problem}", None, hint=f"it is `{entry.usage}`") from None
        function = self._of(arguments)
        tree = self._tree(function)
        renamed = dict(self._renamed[function])
        edit = Edit(tree, entry.name, function, lambda: self.random, renamed)
        readers = readers_of(entry)
        before, mark, current = tree.func, self._recorder.mark(), self._current
        try:
            with recursion_room():
                values = _read(entry, arguments, readers, edit)
                check_names(tuple(arguments.values()), edit)
                result = entry.function(edit, *values[0], **values[1])
                if tree.func is not before and self._verify:
                    self._checked(entry, tree.func)
        except BaseException as problem:
            # whatever was changed before the refusal is undone
            if tree.func is not before:
                self._trees[function] = Tree(before)
            if isinstance(problem, DiagnosticError) or not isinstance(problem, Exception):
                raise
            refuse_unreadable(before)
            message = f"schedule primitive `{entry.name}` failed: {type(problem).__name__}: {problem}"
            raise DiagnosticError([error("T499", message, notes=(f"{before}",), hint=REPORT)]) from problem
        self._renamed[function] = renamed
        result = to_handle(result, function)
        self._recorder.record(entry.name, args, {**kwargs, **edit.decisions}, result, edit.called)
        if not entry.query:
            self._past.append((function, before, mark, current))
        return result

    def _of(self, arguments: dict[str, Any]) -> str:
        """The function that a step is on: the one it names, that of its handles, or the one worked on."""
        named = arguments.get("func_name")
        if named is not None:
            return self._known(named)
        for value in arguments.values():
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, (BlockHandle, LoopHandle)):
                    return self._of_handle(item)
        return self._name()

    def _of_handle(self, handle: BlockHandle | LoopHandle) -> str:
        """The function that a handle is of, refused where this schedule has none of that name."""
        if handle.function in self._functions:
            return handle.function
        kind = "block" if isinstance(handle, BlockHandle) else "loop"
        hint = f"take a {kind} of this schedule, of {' or '.join(f'`{name}`' for name in self._functions)}"
        raise refusal("T502", f"{handle} is a {kind} of another schedule", None, hint=hint)

    def _checked(self, entry: Primitive, func: PrimFunc) -> None:
        from tirscript.ir.verify import verify

        found = verify(func) if isinstance(self._program, PrimFunc) else verify(self.mod)
        if found:
            message = f"schedule primitive `{entry.name}` made an illegal program: {found[0].message}"
            raise DiagnosticError([error("T499", message, found[0].span, notes=(f"{func}",), hint=REPORT)])

    # looking back

    @property
    def trace(self) -> Trace:
        """The steps so far, as a program that can be printed, saved, edited and replayed."""
        return Trace(tuple(self._recorder.steps))

    def undo(self) -> None:
        """Take the last step that changed the program back, and the steps after it; T504 where there is none."""
        if not self._past:
            raise DiagnosticError([error("T504", "there is no step to undo")])
        function, before, mark, self._current = self._past.pop()
        self._trees[function] = Tree(before)
        self._recorder.reset(mark)

    def mark(self) -> Mark:
        """The state as it is now, for `reset`."""
        functions = {name: tree.func for name, tree in self._trees.items()}
        return Mark(functions, len(self._past), self._recorder.mark(), self._current)

    def reset(self, mark: Mark) -> None:
        """Take all steps since `mark` back; handles from before are good again. T504 where the steps before it are not
        those of this schedule, as after `undo` further back."""
        if not isinstance(mark, Mark):
            message = f"`reset` takes what `mark` gave, not {words(mark)}"
            raise DiagnosticError([error("T503", message, hint="`before = sch.mark()`, and later `sch.reset(before)`")])
        if not self._recorder.led_to(mark.record):
            message = "the steps before the mark were taken back, or are those of another schedule"
            raise DiagnosticError([error("T504", message, hint="take a new mark of this schedule with `mark`")])
        for name, tree in list(self._trees.items()):
            func = mark.functions.get(name)
            if func is None:
                del self._trees[name]
            elif tree.func is not func:
                self._trees[name] = Tree(func)
        del self._past[mark.changes :]
        self._recorder.reset(mark.record)
        self._current = mark.current

    def diff(self, *, context: int = 3) -> str:
        """The last step that changed the program as a unified source diff; empty where there is none."""
        from tirscript.printer import diff

        if not self._past:
            return ""
        function, before, _, _ = self._past[-1]
        return diff(before, self._function(function), context=context)

    def copy(self) -> Schedule:
        """A schedule of the same state that goes on by itself; the handles of this one are good for it."""
        other = Schedule(self.mod if isinstance(self._program, Module) else self.func, seed=self._seed)
        other._current = self._current
        other._past = list(self._past)
        other._recorder = self._recorder.copy()
        other._verify = self._verify
        other._renamed = {name: dict(renamed) for name, renamed in self._renamed.items()}
        if self._random is not None:
            other.random.setstate(self._random.getstate())
        return other

    def _now(self) -> PrimFunc | Module:
        """The program as it is now."""
        return self.func if isinstance(self._program, PrimFunc) else self.mod

    def script(self, **options: Any) -> str:
        """The program as source text; the options are those of `tirscript.printer.script`."""
        return self._now().script(**options)

    def show(self, **options: Any) -> None:
        """Print the program, highlighted where the output is a terminal."""
        self._now().show(**options)

    def _repr_html_(self) -> str:
        """The source text highlighted, as notebooks show it."""
        return self._now()._repr_html_()

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        count = len(self._recorder.steps)
        return f"<Schedule of {self._program.name}, {counted(count, 'step')}>"

    @property
    def random(self) -> Any:
        """The generator of random numbers that the samplers draw from."""
        if self._random is None:
            import random

            self._random = random.Random(self._seed)
        return self._random

    def __getattr__(self, name: str) -> Any:
        entry = PRIMITIVES.get(name)
        if entry is None:
            near = suggest(name, [*PRIMITIVES, *vars(Schedule)])
            way = f"did you mean `{near}`?" if near else None
            if name in ("build", "compile", "lower"):
                way = "`tirscript.build(schedule.func)` makes code of what it has made"
            message = f"there is no schedule primitive `{name}`" + (f"; {way}" if way else "")
            raise AttributeError(message, name=name)

        @functools.wraps(entry.function)
        def step(schedule: Schedule, *args: Any, **kwargs: Any) -> Any:
            return schedule._call(entry, args, kwargs)

        return step.__get__(self)  # a method, so that signature and help begin after the edit

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *PRIMITIVES})


def _read(
    entry: Primitive, arguments: dict[str, Any], readers: dict[str, Any], edit: Edit
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call as the primitive gets them."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in arguments.items():
        parameter = entry.signature.parameters[name]
        reader = readers[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            if len(value) == 1 and isinstance(value[0], (list, tuple)):
                edit.wrong(f"`{name}` stands in brackets", hint=f"take them away: `{entry.usage}`")
            positional += [reader(name, item, edit) for item in value]
        else:
            named[name] = reader(name, value, edit)
    return positional, named


def say_by_loops(tree: Tree) -> None:
    """Replace the axes in predicates of blocks by their values: the primitives move and split loops."""
    for place in list(tree.root.below(Block)):
        stmt: Block = place.stmt
        if stmt.predicate is None:
            continue
        values = {axis.var: axis.value for axis in stmt.axes}
        if any(uses(stmt.predicate, var) for var in values):
            tree.update(place, stmt.replace(predicate=substitute(stmt.predicate, values)))


__all__ = ["Schedule", "ScheduleError"]
