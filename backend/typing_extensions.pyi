"""How type checkers are told not to look into kernels that `tirscript.jit` decorates.

The names are those that pyright goes by; `script/typing_extensions.pyi` says why.
"""

from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

from tirscript.ir.func import PrimFunc

from .runtime.function import LazyFunction

_Result = TypeVar("_Result", default=LazyFunction)

class _Given(Generic[_Result]):
    def __init__(self, then: _Result) -> None: ...

class _Jit:
    @staticmethod
    def no_type_check(function: Callable[..., Any] | PrimFunc, /) -> LazyFunction:
        """Make a decorated Python function a native function."""

def no_type_check(
    function: Callable[..., Any] | PrimFunc | _Given[_Result] = _Given(_Jit.no_type_check),  # type: ignore[arg-type]
    *,
    target: Any = None,
    pipeline: Any = "default",
    opt_level: int = 3,
    debug: bool = False,
    bounds_check: bool = False,
) -> _Result:
    """Make a decorated Python function, or a PrimFunc, a native function that is built at its first call.

    The options are those of `build`. The program is read at once, so its mistakes are told where it is defined. It may
    stand above `@T.prim_func`: what reads files without running them, as the command line does, finds the kernel then.
    """

jit = no_type_check
