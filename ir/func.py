"""Tensor functions."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from .buffer import Buffer
from .dtype import DType
from .expr import Const, Var
from .node import NO_ATTRS, Attrs, Node
from .span import Heads, Trivia
from .stmt import MatchBuffer, Stmt
from .words import call_it, refuse_call


class PrimFunc(Node, frozen=True, eq=False):
    """A kernel, as `@T.prim_func` reads it: `print` shows it, `tirscript.build` makes it native code.

    `params` are scalars, handles and buffers in the order of the call. A handle is given its shape by a MatchBuffer at
    the head of the body. A variable in a parameter's shape that is no parameter is a symbolic dimension, bound at the
    call.
    `returns` is the dtype of the returned scalar. `private` functions are seen only inside their module.
    `heads` holds the trivia at "func_attr".
    `s_tir` is TVM's: False for a function of its tile dialect. It means nothing here, but TVM's text needs it back.
    """

    defines: ClassVar[tuple[str, ...]] = ("params",)
    not_compared: ClassVar[tuple[str, ...]] = ("s_tir",)

    name: str
    params: tuple[Var | Buffer, ...]
    body: tuple[Stmt, ...]
    attrs: Attrs = NO_ATTRS
    returns: DType | None = None
    private: bool = False
    check_well_formed: bool = True
    s_tir: bool = True
    docstring: str | None = None
    trivia: Trivia | None = None
    heads: Heads = ()

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: a program is built, or interpreted. Raises TypeError, which says so."""
        refuse_call(self.name)

    @property
    def param_buffers(self) -> tuple[Buffer, ...]:
        """The buffers that the caller passes, in the order of the parameters."""
        matched = {id(stmt.source): stmt.buffer for stmt in self.body if type(stmt) is MatchBuffer}
        if not matched:
            return tuple([param for param in self.params if type(param) is Buffer])
        found = [param if type(param) is Buffer else matched.get(id(param)) for param in self.params]
        return tuple([buffer for buffer in found if buffer is not None])

    def defined_symbols(self) -> tuple[Var, ...]:
        """What the function defines besides its parameters (asked by equality)."""
        return self.symbols

    @property
    def symbols(self) -> tuple[Var, ...]:
        """The symbolic dimensions: variables of the parameters' shapes, strides and offsets that are no parameters."""
        from .rewrite import walk

        given: set[int] | None = None
        found: dict[int, Var] = {}
        for buffer in self.param_buffers:
            parts = buffer.shape
            if buffer.strides is not None or buffer.elem_offset is not None:
                offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
                parts = (*parts, *(buffer.strides or ()), *offset)
            for part in parts:
                # dimensions are mostly constants and plain variables, and this is asked often
                if type(part) is Const:
                    continue
                if given is None:
                    given = set(map(id, self.params))
                for var in (part,) if type(part) is Var else walk(part):
                    if type(var) is Var and id(var) not in given:
                        found.setdefault(id(var), var)
        return tuple(found.values())


call_it(PrimFunc, "tensor function", lambda program: program.name)
