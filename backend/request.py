"""What a kind of target is asked to make code of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from tirscript.ir import DiagnosticError, Module, PrimFunc, Target, error
from tirscript.ir.computed import require_computed
from tirscript.ir.constant import require_constants
from tirscript.ir.verify import check_well_formed

if TYPE_CHECKING:
    from tirscript.passes import Sequential


class Request:
    """Tensor functions of one target, and how code is made of them.

    program:   the functions, before the passes that are still to be applied
    public:    those of them that callers may see; each is to be in what `tir_to_runtime` gives
    target:    what they are for, with options that its kind has
    opt_level: how hard the code generator is to try, 0 to 3
    debug:     whether checks of indices, axes, divisors and assumptions are wanted
    externals: functions for other targets by the names with which the program calls them
    """

    def __init__(
        self,
        program: PrimFunc | Module,
        passes: Sequential | None,
        target: Target,
        opt_level: int = 3,
        debug: bool = False,
        externals: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.program = program
        self.passes = passes
        self.target = target
        self.opt_level = opt_level
        self.debug = debug
        self.externals = dict(externals or {})
        self.module = program if isinstance(program, Module) else Module((program,), name=program.name)
        alone = isinstance(program, PrimFunc)
        self.public = [func for func in self.module.prim_funcs if alone or not func.private]

    @cached_property
    def lowered(self) -> PrimFunc | Module:
        """The program after the passes, which run when this is first asked for; everything that is wrong with it is
        told here."""
        require_right(self.program)
        if self.passes is None:
            return self.program
        with self.target:
            lowered: PrimFunc | Module = self.passes(cast(Any, self.program))
        left = {func.name for func in (lowered.functions if isinstance(lowered, Module) else (lowered,))}
        hint = "callers know it by that name, which passes keep"
        lost = [
            error("T401", f"the passes leave no function `{func.name}`", func.span, hint=hint)
            for func in self.public
            if func.name not in left
        ]
        if lost:
            raise DiagnosticError(lost)
        return lowered

    def after(self, name: str) -> PrimFunc:
        """A function after the passes."""
        found = self.lowered[name] if isinstance(self.lowered, Module) else self.lowered
        assert isinstance(found, PrimFunc)
        return found


def require_right(program: PrimFunc | Module) -> None:
    """Raise DiagnosticError with what is wrong with a program that code is to be made of."""
    # with the analyzer, which code from the cache does without
    from tirscript.ir.out_of_bounds import require_in_bounds

    check_well_formed(program)
    require_constants(program)
    require_computed(program, "T402")
    require_in_bounds(program)


__all__ = ["Request", "require_right"]
