"""Compiled code as the cache keeps it, and how it becomes functions of this process again.

An image is object files and the names of all that must be added when they are linked: C functions and constants by
symbol, the slots of the table of addresses. Nothing in it belongs to the process that made it. What is not worth
keeping (the IR, what failing checks say, how Python is called back) is made again from the program when asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Struct, ValidationError, msgpack

from tirscript.backend.runtime.packed import Numbered
from tirscript.ir.node import Node

from .host import Host, initialize, symbol_exists
from .linking import answer_calls, executable, find, find_libraries, link, link_libraries

if TYPE_CHECKING:
    from .module import CompiledModule, Generated
    from .sites import Site
    from .state import ModuleState


class ImageEntry(Struct, frozen=True, array_like=True):
    """The entry of one public function: its symbol and its kernel's, and what its slow path must know, by the
    positions in the function's parameters and symbolic dimensions."""

    symbol: str
    kernel: str
    symbols: tuple[int, ...]
    written: tuple[int, ...]
    noalias: bool
    release: bool


class Image(Struct, frozen=True, array_like=True):
    """Object files with what they need; `checks` is what `fingerprint` says of the program they were made from."""

    code: tuple[bytes, ...]
    entries: dict[str, ImageEntry]
    slots: tuple[str, ...]
    externs: tuple[str, ...]
    constants: tuple[str, ...]
    calls: int
    checks: str

    def encoded(self) -> bytes:
        """As bytes."""
        return msgpack.encode(self)

    @staticmethod
    def decoded(data: bytes) -> Image | None:
        """The image that bytes hold, None where they hold none."""
        try:
            return msgpack.decode(data, type=Image)
        except (DecodeError, ValidationError):
            return None


def image_of(
    compiled: CompiledModule, entries: dict[str, ImageEntry], slots: Sequence[str], *programs: Node
) -> Image | None:
    """The image of code that was compiled with `keep_code`; None where it has constants that none of `programs` holds,
    and that could therefore not be found again."""
    state = compiled.written.state
    if not compiled.code or all(find(state.constants, program) is None for program in programs):
        return None
    return Image(
        compiled.code,
        entries,
        tuple(slots),
        state.declared(),
        tuple(state.constants),
        len(state.python_calls),
        fingerprint(state),
    )


def fingerprint(state: ModuleState) -> str:
    """A digest of what native code says by number: its checks and its calls of Python, without names and places."""
    said = [
        *((site.kind, site.function, *map(str, site.dtypes), site.loops) for site in state.sites),
        *((call.kind, call.name, *(kind for kind, _ in call.args)) for call in state.python_calls),
    ]
    return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def load(
    image: Image,
    program: Node,
    lowered: Callable[[], Node],
    generate: Callable[[], Generated],
    opt_level: int,
    target: Host,
) -> LoadedModule | None:
    """Link an image into this process; None where something that it refers to is not there.

    `lowered` is the program after its passes, which is asked where these have made constants of others; `generate`
    writes its IR again.
    """
    initialize()
    constants, libraries = find(image.constants, program), find_libraries(image.externs)
    if constants is None:
        constants = find(image.constants, lowered())
    if constants is None or libraries is None:
        return None
    link(constants)
    link_libraries(libraries)
    if not all(map(symbol_exists, image.externs)):
        return None
    engine = executable(image.code, target, opt_level)
    loaded = LoadedModule(engine, constants, image.checks, generate, opt_level, target)
    loaded.libraries = libraries
    answer_calls(loaded, engine, _Again(loaded.again, lambda made: made.state.python_calls, image.calls))
    return loaded


class _Again:
    """A list of what is made again with the IR; its length may be known before."""

    def __init__(self, again: Callable[[], Generated], get: Callable[..., list[Any]], size: int | None = None) -> None:
        self.again = again
        self.get = get
        self.size = size

    def __len__(self) -> int:
        return len(self.get(self.again())) if self.size is None else self.size

    def __getitem__(self, at: Any) -> Any:
        return self.get(self.again())[at]


class _Generator:
    """Writes the IR of a program once, when it is needed, and sees that it is that of the code."""

    def __init__(self, generate: Callable[[], Generated], checks: str) -> None:
        self.generate = generate
        self.checks = checks
        self.made: Generated | None = None

    def __call__(self) -> Generated:
        # two threads may both write it, the same; a lock would stay held in a child that is forked meanwhile
        if self.made is None:
            made = self.generate()
            if fingerprint(made.state) != self.checks:
                from .state import internal

                raise internal("a cached kernel is not what its program compiles to (TIRSCRIPT_CACHE=0 avoids it)")
            self.made = made
        return self.made


class LoadedModule:
    """Functions in machine code that came from the cache, alive as long as this object."""

    def __init__(
        self,
        engine: Any,
        constants: dict[str, Any],
        checks: str,
        generate: Callable[[], Generated],
        opt_level: int,
        target: Host,
    ) -> None:
        self.engine = engine
        self.constants = constants
        self.libraries: dict[str, Any] = {}  # the C functions that the code calls, by symbol
        self.again = _Generator(generate, checks)
        self.opt_level = opt_level
        self.target = target
        self.held: list[str] = []  # what the table of addresses names

    def address(self, symbol: str) -> int:
        """The address of a function or global of the module."""
        return int(self.engine.get_function_address(symbol) or self.engine.get_global_value_address(symbol))

    @property
    def text(self) -> str:
        """The IR before optimization, of one object file after the other."""
        return self.again().text

    @property
    def sites(self) -> Numbered[Site]:
        """The checks by number."""
        return _Again(self.again, lambda made: made.state.sites)

    def llvm_ir(self) -> str:
        """The IR after optimization."""
        from .module import optimized_ir

        return optimized_ir(self.again().parts, self.target, self.opt_level)

    def assembly(self) -> str:
        """The machine code as assembly text."""
        from .module import assembly_of

        return assembly_of(self.again().parts, self.target, self.opt_level)

    def failure(self, record: int) -> Exception:
        """What to raise after a kernel returned 1: `record` is the address of its error record."""
        from .module import failure

        return failure(self.sites, record)


__all__ = ["Image", "ImageEntry", "LoadedModule", "fingerprint", "image_of", "load"]
