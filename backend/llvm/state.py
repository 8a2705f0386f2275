"""What the code generator keeps: where buffers are, where jumps go, what the functions of a module share."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tirscript.backend.runtime.c_library import CFunction
from tirscript.backend.runtime.packed import PythonCall
from tirscript.ir.buffer import Buffer
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.func import PrimFunc
from tirscript.ir.module import Module
from tirscript.ir.span import Span

from .builder import ModuleText
from .host import Host
from .sites import Site

# a function's frame holds at most this much; what is larger, or comes on top, is allocated
FRAME_BUFFER = 16 * 1024
FRAME_TOTAL = 256 * 1024
FAILED, RAISED = 1, 2  # what a kernel returns after a failed check, and after a Python exception


class Limit(Struct, frozen=True, eq=False):
    """The memory that a view stays in: its address, how many bytes there are from it on, and whose it is."""

    base: str
    size: str
    owner: Buffer


class Place(Struct, frozen=True, eq=False):
    """Where a buffer is: its data pointer, dims, strides and offset in elements (i64 values), its alignment in bytes.

    `root` is what it is a part of: an allocation or a parameter; two places with different roots do not overlap.
    `limit` is what a debug build compares each access of a view with.
    """

    data: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]
    offset: str
    align: int
    root: Any
    limit: Limit | None = None


class Targets(Struct, frozen=True, eq=False):
    """Where `break` and `continue` go, and how many scopes stay open there."""

    on_break: str
    on_continue: str
    depth: int


class ModuleState:
    """What the functions of one module share while they are compiled."""

    def __init__(
        self, module: Module, *, debug: bool, symbols: dict[str, str], noalias: dict[str, bool], target: Host
    ) -> None:
        self.module = module
        self.functions = {func.name: func for func in module.functions if type(func) is PrimFunc}
        self.texts = [ModuleText()]  # what becomes an object file each, in their order
        self.sites: list[Site] = []
        self.python_calls: list[PythonCall] = []
        self.externs: dict[str, Span | None] = {}
        self.constants: dict[str, Any] = {}  # by symbol: the array that the symbol names
        self.libraries: dict[str, CFunction] = {}  # by symbol
        self.debug = debug
        self.symbols = symbols
        self.noalias = noalias
        self.recursive: frozenset[str] = frozenset()  # the functions that are told how deep their calls are nested
        self.target = target  # of the function at hand
        self.group = "#0"  # its attributes
        self.temporaries: dict[str, Any] = {}  # by function, the blocks of the heap that its buffers share

    @property
    def text(self) -> ModuleText:
        """What is being written."""
        return self.texts[-1]

    def begin(self) -> None:
        """What is written from here on becomes another object file."""
        self.texts.append(ModuleText())

    def declared(self) -> tuple[str, ...]:
        """The functions of C that the program calls."""
        names = dict.fromkeys(name for text in self.texts for name in text.declarations)
        own = set(self.symbols.values())
        return tuple(name for name in names if not name.startswith("llvm.") and name not in own)


def internal(message: str, span: Span | None = None) -> DiagnosticError:
    """A mistake of ours, not of the user."""
    return DiagnosticError([error("T499", f"code generation: {message}", span, hint="please report this program")])
