"""How type checkers are told not to look into kernels, whose annotations hold calls and strings that are no types.

The standard way is `typing.no_type_check`, but a decorator of one's own cannot say that it is that, and that one takes
no options. pyright goes by the name of the function and of the stub file that defines it, so this file and these
functions have the names that they have. mypy knows `typing.no_type_check` alone (tir.pyi gives it that), so it takes
the decorators without options; the rest it is told by `mypy_plugin.py`.

`_Given` is no argument that anyone passes: by its default, a call that gives options only is again a decorator.
"""

from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

from tirscript.ir.func import PrimFunc

_Result = TypeVar("_Result", default=PrimFunc)
_Macro = TypeVar("_Macro", default=Any)

class _Given(Generic[_Result]):
    def __init__(self, then: _Result) -> None: ...

class _PrimFunc:
    @staticmethod
    def no_type_check(function: Callable[..., Any], /) -> PrimFunc:
        """Read the decorated function as a tensor function."""

class _Inline:
    @staticmethod
    def no_type_check(function: Callable[..., Any], /) -> Any:
        """Read the decorated function as a macro."""

class _Macros:
    @staticmethod
    def no_type_check(
        function: Callable[..., Any] | _Given[_Macro] = _Given(_Inline.no_type_check),  # type: ignore[arg-type]
        *,
        hygienic: bool = True,
    ) -> _Macro:
        """Read the decorated function as a macro: its statements are written out where a kernel calls it.

        A hygienic macro sees its parameters and the names where it is defined; another one also the names at the call.
        """

def no_type_check(
    function: Callable[..., Any] | _Given[_Result] = _Given(_PrimFunc.no_type_check),  # type: ignore[arg-type]
    *,
    private: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = True,
) -> _Result:
    """Read the decorated function as a tensor function; the name then stands for its `PrimFunc`.

    `private` functions are seen only inside their module; `check_well_formed=False` leaves the verifier out;
    `s_tir` is TVM's and means nothing here. Raises DiagnosticError with every mistake that was found.
    """

inline = _Macros.no_type_check
macro = _Macros.no_type_check
