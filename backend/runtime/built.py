"""What all that `build` gives has in common: how it is shown, written to files, and that it stays in its process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

from tirscript.ir.check import keywords_known
from tirscript.ir.diagnostic import DiagnosticError, error

if TYPE_CHECKING:
    from pathlib import Path


class Built:
    """Machine code of this process, made from a program: it is copied as itself, and not pickled."""

    __slots__ = ()

    _program = "func"  # the attribute that holds what it was built from
    _what = "function"

    def _called(self) -> str:
        return str(getattr(self, self._program).name)

    def _functions_of(self) -> list[Any]:
        """The functions that are written to a file."""
        return [self]

    def script(self, **options: Any) -> str:
        """The program it was built from as source text; the options are those of `tirscript.printer.script`."""
        text: str = getattr(self, self._program).script(**options)
        return text

    def show(self, **options: Any) -> None:
        """Print the source text, highlighted where the output is a terminal."""
        getattr(self, self._program).show(**options)

    @keywords_known
    def export(self, path: str | Path, *, header: str | Path | None = None, prefix: str | None = None) -> Path:
        """Write it to a file for other programs, of a module the public functions, and a header for C.

        The suffix of `path` says what is written: a library (.so, .a), an object (.o), assembly (.s), LLVM IR (.ll,
        .bc), or C source (.c); see docs/backends.md. Raises DiagnosticError where the program needs Python, or a
        linker is not there.
        """
        from ..export.built import export_functions

        return export_functions(self._functions_of(), self._called(), path, header=header, prefix=prefix)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"the built {self._what} {self._called()!r} is machine code of this process and cannot be pickled; "
            f"pickle the program (its `.{self._program}`) and build it again where it is loaded"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class BuiltFunction(Built):
    """A built function, which shows its code, too."""

    __slots__ = ()

    if TYPE_CHECKING:
        __name__: str
        _code: Any  # what holds the code

    def _called(self) -> str:
        return self.__name__

    def __getitem__(self, name: object) -> Any:
        """The function itself by its name, as a built module has its functions."""
        if name != self.__name__:
            called = f"`{self.__name__}(...)`"
            raise KeyError(f"`{self.__name__}` is all that was built: call it as it is, {called}, without [{name!r}]")
        return self

    __iter__ = None  # what has items by name is no sequence

    def llvm_ir(self) -> str:
        """The LLVM IR of the optimized code."""
        text: str = self._code.llvm_ir()
        return text

    def assembly(self) -> str:
        """The machine code as assembly text."""
        text: str = self._code.assembly()
        return text

    def source(self) -> str:
        """The source that the code generator wrote, where it writes one, as that of the target `c` does."""
        source = getattr(self._code, "source", None)
        if source is None:
            hint = 'build it for C: `build(program, target="c")`, `tirscript build FILE --target c --emit source`'
            raise DiagnosticError([error("T402", "the target of this function writes no source", hint=hint)])
        text: str = source()
        return text


__all__ = ["Built", "BuiltFunction"]
