"""Exported libraries in Python: `load` opens one with ctypes and calls its C functions with arrays.

Neither the front end nor LLVM is loaded for it; what the functions take stands in the library itself.
"""

from __future__ import annotations

import ctypes
import inspect
import itertools
import shutil
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from msgspec import ValidationError, json

from tirscript.ir.check import public
from tirscript.ir.diagnostic import DiagnosticError, assertion, error, suggest
from tirscript.ir.dtype import dtype
from tirscript.ir.words import miscounted

from ..export.plan import (
    ARGUMENT,
    ASSERTION,
    BOUNDS,
    DEPTH,
    DIVISION,
    MEMORY,
    VERSION,
    CFunctionPlan,
    CParam,
    LibraryPlan,
)
from .arrays import new_array, numpy_dtype
from .c_library import C_TYPES

_CODES = {ARGUMENT: "T301", BOUNDS: "T302", DIVISION: "T304", MEMORY: "T301", DEPTH: "T309"}
# narrow floats cross as their bits
_BITS = {16: ctypes.c_uint16, 8: ctypes.c_uint8}


class _Array(ctypes.Structure):
    """struct tirscript_array."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype_code", ctypes.c_uint8),
        ("dtype_bits", ctypes.c_uint8),
        ("dtype_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


@public
def load(path: str | Path, *, target: Any = None) -> Any:
    """The functions of a library that was exported: a `LoadedLibrary`, `library["name"]` or `library.name`.

    A tensor function writes into the arrays it is called with; a graph function returns new ones. A `target`, such as
    "my_npu", says that the file is one of its kind, which loads it by its hook `load` and decides what that gives.
    Raises OSError where the file cannot be loaded, DiagnosticError where it is no such library, one that was cut off,
    or its kind loads none.
    """
    if target is None:
        return load_library(path)
    from tirscript.ir.target import Target
    from tirscript.ir.target_kinds import check_target

    made = Target.parse(target).resolved()
    hook = check_target(made).hook("load")
    if hook is None:
        raise DiagnosticError([error("T402", f"files for the target `{made.kind}` are not loaded here")])
    return hook(Path(path), made)


def load_library(path: str | Path, target: Any = None) -> LoadedLibrary:
    """A library with entries for C, for this processor."""
    file = Path(path)
    _check_whole(file)
    library = ctypes.CDLL(str(_fresh(file)))
    about = _about(library, file)
    try:
        plan = json.decode(about, type=LibraryPlan)
    except ValidationError as problem:
        raise _no_library(file, str(problem)) from None
    if plan.version != VERSION:
        raise _no_library(file, f"it is of the version {plan.version}, and this tirscript reads {VERSION}")
    return LoadedLibrary(file, plan, library)


def _check_whole(file: Path) -> None:
    """Refuse a library that was cut off: the system's loader maps what is not there, and the process ends by a signal.

    The segments of an ELF file say where they end (System V ABI, chapter 5); other files are left to the system.
    """
    if not file.is_file():
        if file.exists():  # the system's loader would wait for the writer of a pipe
            raise DiagnosticError([error("T307", f"`{file.name}` cannot be loaded: it is no regular file")])
        return
    with file.open("rb") as opened:
        head = opened.read(64)
        if head[:5] != b"\x7fELF\x02" or len(head) < 64:
            return
        order = "<" if head[5] == 1 else ">"
        (at,) = struct.unpack_from(f"{order}Q", head, 32)
        width, count = struct.unpack_from(f"{order}HH", head, 54)
        size = file.stat().st_size
        end = at + width * count
        if end <= size and width >= 56:
            opened.seek(at)
            table = opened.read(width * count)
            for one in range(count):
                offset, _, _, filled = struct.unpack_from(f"{order}4Q", table, one * width + 8)
                end = max(end, offset + filled)
    if end > size:
        message = f"`{file.name}` is cut off: it has {size:,} bytes, and its parts end at {end:,}"
        raise DiagnosticError([error("T307", message, hint="copy it or export it again")])


_loaded: dict[Path, tuple[int, int, int]] = {}  # what was loaded, by inode, size and time
_copies: list[tempfile.TemporaryDirectory[str]] = []


def _fresh(file: Path) -> Path:
    """The file to load: a copy where another one was loaded from the same place before, since the system would take
    that one again."""
    if not file.exists():
        return file  # a name that the system's loader looks for
    file = file.resolve()
    about = file.stat()
    now = (about.st_ino, about.st_size, about.st_mtime_ns)
    if _loaded.setdefault(file, now) == now:
        return file
    folder = tempfile.TemporaryDirectory()
    _copies.append(folder)
    return Path(shutil.copy(file, folder.name))


def _about(library: ctypes.CDLL, file: Path) -> bytes:
    """What the library says of itself; its prefix is made of the file's name, unless it was given."""
    from ..export.names import c_name

    guess = c_name(file.name.split(".")[0].removeprefix("lib") or "library") + "_"
    for name in (f"{guess}functions", "tirscript_functions"):
        function = getattr(library, name, None)
        if function is not None:
            function.restype = ctypes.c_char_p
            found: bytes = function()
            return found
    raise _no_library(file, f"it has no function `{guess}functions`")


def _no_library(file: Path, why: str) -> DiagnosticError:
    hint = "a library that was renamed keeps its functions where it is exported with a prefix of its own"
    return DiagnosticError([error("T307", f"`{file.name}` is no library that tirscript exported: {why}", hint=hint)])


class LoadedLibrary:
    """The functions of an exported library, by `library["name"]` or `library.name`."""

    def __init__(self, path: Path, plan: LibraryPlan, library: ctypes.CDLL) -> None:
        self.path, self.plan = path, plan
        self._library = library
        self._message = library[f"{plan.prefix}message"]
        self._message.restype = ctypes.c_char_p
        helpers = {one.graph.shapes for one in plan.functions if one.graph is not None}
        found = {one.symbol: LoadedFunction(self, one) for one in plan.functions}
        self._functions = {one.plan.name: one for symbol, one in found.items() if symbol not in helpers}
        for one in found.values():
            if one.plan.graph is not None and one.plan.graph.shapes is not None:
                one.teller = found[one.plan.graph.shapes]

    @property
    def handle(self) -> int:
        """The library as the system's loader knows it."""
        return self._library._handle

    def message(self) -> str:
        """What was wrong in the last call of this thread."""
        return str(self._message().decode(errors="replace"))

    def set_num_threads(self, n: int) -> None:
        """Let `n` threads run the parallel loops of this library; nothing where it has none."""
        if self.plan.threads:
            self._library[f"{self.plan.prefix}set_num_threads"](ctypes.c_int32(n))

    def __getitem__(self, name: str) -> LoadedFunction:
        if name not in self._functions:
            raise KeyError(self._missing(name))
        return self._functions[name]

    def __getattr__(self, name: str) -> LoadedFunction:
        functions: dict[str, LoadedFunction] = self.__dict__.get("_functions", {})
        if name not in functions:
            raise AttributeError(self._missing(name) if functions else name)
        return functions[name]

    def _missing(self, name: str) -> str:
        near = suggest(name, self._functions)
        more = f"; did you mean {near!r}?" if near else f"; its functions: {', '.join(self._functions)}"
        return f"{self.path.name} has no function {name!r}{more}"

    def __iter__(self) -> Iterator[LoadedFunction]:
        return iter(self._functions.values())

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._functions]

    def __repr__(self) -> str:
        return f"<tirscript library {self.path.name}: {', '.join(self._functions)}>"


class LoadedFunction:
    """A function of an exported library: call it with arrays and numbers, by position or by name."""

    def __init__(self, library: LoadedLibrary, plan: CFunctionPlan) -> None:
        self.library, self.plan = library, plan
        self.__name__ = self.__qualname__ = plan.name
        self.__doc__ = plan.doc
        self.teller: LoadedFunction | None = None
        self._function = library._library[plan.symbol]
        self._function.restype = ctypes.c_int32
        outs = 0 if plan.graph is None else plan.graph.outs
        self._inputs = plan.params[: len(plan.params) - outs]
        self._results = plan.params[len(plan.params) - outs :]
        names = (
            [one.name for one in self._inputs] if plan.graph is None else _tree_names(self._inputs, plan.graph.takes)
        )
        self._names = names

    @property
    def __signature__(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(c if c.isidentifier() else "_", kind) for c in self._names])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        given = self._given(args, kwargs)
        graph = self.plan.graph
        if graph is None:
            return self._call(self.plan.params, given)
        flat = [leaf for value, tree in zip(given, graph.takes, strict=True) for leaf in self._apart(value, tree)]
        flat = [_in_rows(one, value) for one, value in zip(self._inputs, flat, strict=True)]
        what, shapes = f"a result of `{self.plan.name}`", self._shapes(flat)
        outs = [new_array(shape, _dtype(one), what) for shape, one in zip(shapes, self._results, strict=True)]
        self._call(self.plan.params, [*flat, *outs])
        return _together(graph.gives, iter(outs))

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = self._names
        if len(args) > len(names) or len(args) + len(kwargs) != len(names):
            self._wrong(miscounted(names, len(args) + len(kwargs)))
        found = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in found:
                self._wrong(f"is given `{name}` twice" if name in found else f"has no parameter `{name}`")
            found[name] = value
        return [found[name] for name in names]

    def _apart(self, value: Any, tree: Any) -> Iterator[Any]:
        """The tensors and numbers of an argument."""
        rank = int(tree.partition(":")[2] or -1) if isinstance(tree, str) else len(tree)
        if isinstance(tree, list) or rank >= 0:
            if not isinstance(value, (tuple, list)) or len(value) != rank:
                self._wrong(f"takes a tuple of {rank}, not {value!r}")
            if isinstance(tree, str):
                yield from value
            else:
                for one, field in zip(value, tree, strict=True):
                    yield from self._apart(one, field)
        else:
            yield value

    def _shapes(self, flat: Sequence[Any]) -> list[tuple[int, ...]]:
        """The shapes of the results."""
        graph = self.plan.graph
        assert graph is not None
        if self.teller is None:
            return [tuple(dim for dim in dims if dim is not None) for dims in graph.dims]
        told = np.empty(sum(map(len, graph.dims)), np.int64)
        self.teller._call(self.teller.plan.params, [*flat, told])
        rest = iter(told.tolist())
        return [tuple(itertools.islice(rest, len(dims))) for dims in graph.dims]

    def _call(self, params: Sequence[CParam], given: Sequence[Any]) -> Any:
        keep: list[Any] = []
        passed = [_PASSED[one.kind](self, one, value, keep) for one, value in zip(params, given, strict=True)]
        result = None
        if self.plan.returns is not None:
            result = _scalar_type(self.plan.returns)()
            passed.append(ctypes.byref(result))
        code = self._function(*passed)
        if code == ASSERTION:
            raise assertion(error("T310", self.library.message()))
        if code:
            raise DiagnosticError([error(_CODES.get(code, "T301"), self.library.message())])
        return None if result is None else _python(result, self.plan.returns or "")

    def _wrong(self, message: str) -> NoReturn:
        raise DiagnosticError([error("T301", f"`{self.plan.name}` {message}")])

    def _array(self, one: CParam, value: Any, keep: list[Any]) -> Any:
        """The struct of an array."""
        from .arrays import ArrayProblem, as_array

        want = _dtype(one)
        try:  # what the struct does not say is looked at here, the rest by the entry in the library
            array = as_array(value, _buffer(one), one.written)
        except ArrayProblem as problem:
            self._refused(one, problem)
        if any(step % want.itemsize for step in array.strides):
            self._wrong(f"takes elements of {want.name} as `{one.name}`, and these overlap each other")
        code = _code(one.dtype)
        sizes = ctypes.c_int64 * array.ndim
        shape, strides = sizes(*array.shape), sizes(*(step // want.itemsize for step in array.strides))
        made = _Array(array.ctypes.data, 1, 0, array.ndim, code & 255, code >> 8 & 255, code >> 16, shape, strides, 0)
        keep += [array, shape, strides, made]
        return ctypes.byref(made)

    def _refused(self, one: CParam, problem: Any) -> NoReturn:
        message = f"argument `{one.name}` of `{self.plan.name}`: expected {problem.expected}, got {problem.got}"
        raise DiagnosticError([error("T301", message, hint=problem.hint)])

    def _scalar(self, one: CParam, value: Any, keep: list[Any]) -> Any:
        from .arguments import scalar_argument
        from .arrays import ArrayProblem

        kind = dtype(one.dtype)
        try:
            number = scalar_argument(value, kind)
        except ArrayProblem as problem:
            self._refused(one, problem)
        if kind.name in C_TYPES:
            return C_TYPES[kind.name](number)
        bits = np.array(number, numpy_dtype(kind)).view(np.uint16 if kind.bits == 16 else np.uint8)
        return _BITS[kind.bits](int(bits))

    def _pointer(self, one: CParam, value: Any, keep: list[Any]) -> Any:
        from .arguments import handle_argument
        from .arrays import ArrayProblem

        try:
            array = handle_argument(value, one.name, dtype(one.dtype), one.written)
        except ArrayProblem as problem:
            self._refused(one, problem)
        keep.append(array)
        return ctypes.c_void_p(None if array is None else array.ctypes.data)

    def __repr__(self) -> str:
        return f"<function {self.__name__}{self.__signature__} of {self.library.path.name}>"


def _in_rows(one: CParam, value: Any) -> Any:
    from .arrays import in_rows

    return in_rows(value, _buffer(one), _sizes(one)) if one.kind == "array" else value


def _sizes(one: CParam) -> list[int | None]:
    return [int(size) if size.isdecimal() else None for size in one.shape]


def _buffer(one: CParam) -> Any:
    """A parameter as a buffer; dimensions that are no numbers are all unknown."""
    from tirscript.ir import Buffer, Var, const

    sizes = [Var("n", dtype("int64")) if size is None else const(size, "int64") for size in _sizes(one)]
    return Buffer(one.name, tuple(sizes), dtype(one.dtype))


_PASSED = {"array": LoadedFunction._array, "scalar": LoadedFunction._scalar, "pointer": LoadedFunction._pointer}


def _code(name: str) -> int:
    from .exchange import type_code

    found = type_code(dtype(name))
    assert found is not None
    return found


def _dtype(one: CParam) -> np.dtype[Any]:
    return numpy_dtype(dtype(one.dtype))


def _scalar_type(name: str) -> Any:
    return C_TYPES.get(name) or _BITS[dtype(name).bits]


def _python(value: Any, name: str) -> Any:
    """A returned scalar as Python's."""
    if name in C_TYPES:
        return value.value
    kind = dtype(name)
    bits = np.array(value.value, np.uint16 if kind.bits == 16 else np.uint8)
    return float(bits.view(numpy_dtype(kind)))


def _tree_names(params: Sequence[CParam], trees: Sequence[Any]) -> list[str]:
    """The names of a graph function's parameters, of which one may be several arrays."""
    rest, names = list(params), list[str]()
    for tree in trees:
        count = _leaves(tree)
        name = rest[0].name if count else f"arg{len(names)}"
        names.append(name if count == 1 else name.rpartition("_")[0] or name)
        del rest[:count]
    return names


def _leaves(tree: Any) -> int:
    if isinstance(tree, list):
        return sum(map(_leaves, tree))
    return int(tree.partition(":")[2] or 1)


def _together(tree: Any, outs: Iterator[np.ndarray[Any, Any]]) -> Any:
    """The value of a result from its arrays."""
    if isinstance(tree, list):
        return tuple(_together(field, outs) for field in tree)
    if tree == "prim":
        return next(outs).item()
    return tuple(next(outs).tolist()) if tree != "tensor" else next(outs)


__all__ = ["LoadedFunction", "LoadedLibrary", "load"]
