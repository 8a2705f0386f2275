"""The arguments of a call from the command line: arrays of files, random ones, scalars and sizes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from tirscript.ir import Buffer, Const, DiagnosticError, DType, PrimFunc, Var, error, free_vars, suggest

from .files import unreadable

DEFAULT_SIZE = 16  # of a symbolic dimension that nothing tells
LARGEST_RANDOM = 100  # random integers are below this and below the least dimension, so that they can be indices


class Argument(NamedTuple):
    """One argument: its name, its value, the dtype of the program, and whether the kernel may write it."""

    name: str
    value: Any
    dtype: DType
    written: bool


class Request(NamedTuple):
    """What the command line says of the arguments."""

    inputs: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    random: bool = False
    seed: int = 0


def _once(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """What names things, each of them once."""
    names = [text.partition("=")[0].strip() for text in texts if "=" in text]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise click.BadParameter(f"{twice!r} is given twice", context, option)
    return texts


def options(function: Any) -> Any:
    """The options of a call, for the commands that call."""
    for option in (
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random numbers."),
        click.option("--random", is_flag=True, help="Random numbers for what is not given."),
        click.option(
            "--set",
            "values",
            multiple=True,
            callback=_once,
            metavar="NAME=VALUE",
            help="The value of a scalar parameter.",
        ),
        click.option(
            "--size",
            "sizes",
            multiple=True,
            callback=_once,
            metavar="NAME=SIZE",
            help=f"A symbolic dimension; {DEFAULT_SIZE} where neither this nor an array tells.",
        ),
        click.option(
            "--input",
            "inputs",
            multiple=True,
            metavar="[NAME=]FILE",
            help="An array of a .npy file, for a parameter or the next one; or the arrays of a .npz file by name.",
        ),
    ):
        function = option(function)
    return function


def arguments(func: PrimFunc, written: Callable[[Any], bool], request: Request) -> tuple[list[Argument], list[str]]:
    """The arguments of a call of `func`, in the order of its parameters, and words about sizes that nothing told.

    Arrays that are not given are random where that is asked for; else those that the kernel writes are zeros, and the
    others an error. Raises DiagnosticError.
    """
    from tirscript.backend.runtime.arguments import buffer_of

    params = {(buffer_of(func, param) or param).name: param for param in func.params}
    buffers = {name: buffer_of(func, param) for name, param in params.items()}
    given = _given(func, params, buffers, request)
    sizes = _sizes(func, params, buffers, given, request)
    told = _defaults(func, buffers, given, sizes)
    made: list[Argument] = []
    rng: Any = None
    below = _least(buffers.values(), given, sizes)
    missing: list[str] = []
    for name, param in params.items():
        buffer = buffers[name]
        kind: DType = (buffer or param).dtype
        if name in given:
            value = given[name]
        elif buffer is None and isinstance(param, Var) and param in sizes:
            value = sizes[param]
        elif not request.random and not (buffer is not None and written(param)):
            missing.append(name)
            continue
        else:
            import numpy as np

            rng = rng or np.random.default_rng(request.seed)
            value = _made(buffer, kind, sizes, rng if request.random else None, below, name)
        made.append(Argument(name, value, kind, written(param)))
    if missing:
        words = ", ".join(f"`{name}`" for name in missing)
        flag = "--input" if buffers[missing[0]] is not None else "--set"
        hint = f"give {flag} {missing[0]}=..., or --random for random numbers"
        raise DiagnosticError([error("T301", f"no value is given for {words} of `{func.name}`", func.span, hint=hint)])
    return made, told


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=f"'{option}'")
    return name.strip(), value.strip()


def _named(name: str, known: Mapping[str, Any], func: PrimFunc, what: str) -> Any:
    if name in known:
        return known[name]
    near = suggest(name, known)
    hint = f"did you mean `{near}`?" if near else f"it has {', '.join(known)}" if known else None
    raise DiagnosticError([error("T301", f"`{func.name}` has no {what} `{name}`", func.span, hint=hint)])


# --- arrays of files


def _given(
    func: PrimFunc, params: Mapping[str, Any], buffers: Mapping[str, Buffer | None], request: Request
) -> dict[str, Any]:
    """The arrays and scalars that the command line gives, by the names of the parameters."""
    found: dict[str, Any] = {}
    arrays = [name for name, param in params.items() if buffers[name] is not None or param.dtype.is_handle]

    def put(name: str, array: Any) -> None:
        _named(name, dict.fromkeys(arrays), func, "array parameter")
        if name in found:
            raise DiagnosticError([error("T301", f"`{name}` is given twice", func.span)])
        found[name] = _viewed(array, buffers[name])

    for text in request.inputs:
        name, equals, path = text.partition("=")
        if equals and name.isidentifier() and not os.path.exists(text):
            _named(name, dict.fromkeys(arrays), func, "array parameter")
        elif name not in params:
            name, path = "", text  # a path that has `=` in it, or none
        loaded = _load(path)
        if not isinstance(loaded, dict):
            free = [one for one in arrays if one not in found]
            if not name and not free:
                raise DiagnosticError(
                    [error("T301", f"`{func.name}` has no array parameter left for {path}", func.span)]
                )
            put(name or free[0], loaded)
        elif name:
            if len(loaded) != 1:
                raise DiagnosticError([error("T301", f"{path} has {len(loaded)} arrays, and `{name}` is one")])
            put(name, next(iter(loaded.values())))
        else:
            for number, (key, array) in enumerate(loaded.items()):
                free = [one for one in arrays if one not in found]
                put(free[0] if key == f"arr_{number}" and key not in params and free else key, array)
    scalars = {name: param for name, param in params.items() if buffers[name] is None and not param.dtype.is_handle}
    for text in request.values:
        name, value = _pair(text, "--set")
        found[name] = scalar(value, _named(name, scalars, func, "scalar parameter").dtype)
    return found


def scalar(text: str, kind: DType) -> Any:
    """A number as it is written on the command line. Raises click.BadParameter."""
    try:
        if kind.is_bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return int(text, 0) if kind.is_int else float(text)
    except (ValueError, KeyError):
        raise click.BadParameter(f"{text!r} is no value of {kind}", param_hint="'--set'") from None


def _load(path: str) -> Any:
    """An array, or the arrays of a .npz by name; nothing in the file is executed."""
    import zipfile

    import numpy as np

    from tirscript.script.source import is_named_pipe

    expected = "it should be a .npy or .npz file of numpy"
    try:
        if is_named_pipe(path):
            raise unreadable(path, "it is a named pipe", expected)
        with open(path, "rb") as file:
            begin = file.read(6)
        # numpy would call it pickled, and say how to trust it
        if begin and not begin.startswith((b"\x93NUMPY", b"PK")):
            raise unreadable(path, "it holds no arrays", expected)
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, MemoryError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem).split("\n")[0]
        raise unreadable(path, f"{why[:1].lower()}{why[1:]}", expected) from None


def _viewed(array: Any, buffer: Buffer | None) -> Any:
    """An array as a kernel takes it: without gaps, and as bfloat16 or float8 where the file could not say so."""
    import numpy as np

    from tirscript.backend.runtime.arrays import numpy_dtype

    if buffer is None:
        return np.ascontiguousarray(array)
    want = numpy_dtype(buffer.dtype)
    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize == want.itemsize:
        array = array.view(want)
    return np.array(array, order="C", ndmin=array.ndim)


# --- sizes


def _sizes(
    func: PrimFunc,
    params: Mapping[str, Any],
    buffers: Mapping[str, Buffer | None],
    given: Mapping[str, Any],
    request: Request,
) -> dict[Var, int]:
    """The values of symbolic dimensions and of scalars in shapes, as the options and the given arrays tell them."""
    sizes: dict[Var, int] = {}
    known = {symbol.name: symbol for symbol in func.symbols}
    scalars = {name: param for name, param in params.items() if buffers[name] is None and param.dtype.is_int}
    for text in request.sizes:
        name, value = _pair(text, "--size")
        var = _named(name, {**known, **scalars}, func, "symbolic dimension")
        try:
            sizes[var] = int(value, 0)
        except ValueError:
            raise click.BadParameter(f"{value!r} is no size", param_hint="'--size'") from None
        if sizes[var] < 0:
            raise click.BadParameter(f"{value} is negative", param_hint="'--size'")
    for name, value in given.items():
        buffer = buffers[name]
        if buffer is None:
            if isinstance(value, int) and not isinstance(value, bool):
                sizes[params[name]] = value
            continue
        for dim, extent in zip(buffer.shape, value.shape, strict=False):
            if isinstance(dim, Var):
                sizes.setdefault(dim, extent)
    return sizes


def _defaults(
    func: PrimFunc, buffers: Mapping[str, Buffer | None], given: Mapping[str, Any], sizes: dict[Var, int]
) -> list[str]:
    """Give the sizes that nothing told, and say so; strides follow from the shapes."""
    needed: dict[Var, None] = dict.fromkeys(func.symbols)
    shapes: dict[Var, None] = {}
    strides: set[Var] = set()
    for name, buffer in buffers.items():
        if buffer is not None and name not in given:
            shapes.update((var, None) for dim in buffer.shape for var in free_vars(dim))
        if buffer is not None:
            parts = (*(buffer.strides or ()), *([] if buffer.elem_offset is None else [buffer.elem_offset]))
            strides |= {var for part in parts for var in free_vars(part)}
    told = []
    for var in needed | shapes:
        if var not in sizes and (var in shapes or var not in strides):
            sizes[var] = DEFAULT_SIZE
            told.append(f"{var.name} = {DEFAULT_SIZE}")
    return told


def _value(expr: Any, sizes: Mapping[Var, int]) -> int:
    from tirscript.backend.interpreter.ops import evaluate

    return int(expr.value) if isinstance(expr, Const) else int(evaluate(expr, dict(sizes)))


# --- arrays that are made


def _shape(buffer: Buffer, sizes: Mapping[Var, int]) -> tuple[int, ...]:
    try:
        return tuple(_value(dim, sizes) for dim in buffer.shape)
    except ZeroDivisionError:
        message = f"the shape of `{buffer.name}` divides by zero"
        raise DiagnosticError([error("T301", message, buffer.span)]) from None


def _least(buffers: Iterable[Buffer | None], given: Mapping[str, Any], sizes: Mapping[Var, int]) -> int:
    """The least dimension of the arrays, given or not."""
    shapes = [given[one.name].shape if one.name in given else _shape(one, sizes) for one in buffers if one is not None]
    return min([LARGEST_RANDOM, *(size for shape in shapes for size in shape if size > 0)])


def _made(buffer: Buffer | None, kind: DType, sizes: Mapping[Var, int], rng: Any, below: int, name: str) -> Any:
    """A random array or number, integers below `below`; zeros where there is no `rng`."""
    if buffer is None:
        if kind.is_handle:
            raise DiagnosticError([error("T301", f"`{name}` is a handle: give an array, --input {name}=FILE")])
        return _numbers((), kind, rng, below)[()].item()
    shape = _shape(buffer, sizes)
    if any(size < 0 for size in shape):
        raise DiagnosticError([error("T301", f"the shape of `{name}` would be {shape}", buffer.span)])
    try:
        return _strided(buffer, shape, sizes, lambda made: _numbers(made, kind, rng, below))
    except (MemoryError, ValueError) as problem:
        message = f"`{name}` of shape {shape} cannot be made: {problem}"
        raise DiagnosticError([error("T301", message, buffer.span, hint="use a smaller --size")]) from None


def _strided(buffer: Buffer, shape: tuple[int, ...], sizes: Mapping[Var, int], make: Any) -> Any:
    """An array of a buffer's shape, laid out with the strides that it declares as numbers."""
    lanes = () if buffer.dtype.lanes == 1 else (buffer.dtype.lanes,)
    if buffer.strides is None or lanes:
        return make(shape + lanes)
    strides: list[int] = []
    step = 1
    for size, stride in zip(reversed(shape), reversed(buffer.strides), strict=True):
        if all(var in sizes for var in free_vars(stride)):
            step = _value(stride, sizes)
        strides.insert(0, step)
        step *= max(size, 1)
    if min(strides, default=0) < 0:
        message = f"`{buffer.name}` has negative strides, {tuple(strides)}, which arrays of the command line have not"
        hint = "call the kernel from Python, with a view of an array"
        raise DiagnosticError([error("T301", message, buffer.span, hint=hint)])
    span = 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    from tirscript.ir.constant import strided

    memory = make((span,))
    return strided(memory, shape, [stride * memory.itemsize for stride in strides])


def _numbers(shape: Sequence[int], kind: DType, rng: Any, below: int) -> Any:
    """Numbers of a dtype: floats in [-1, 1), integers from 0 to below `below`, bools; zeros where there is no `rng`."""
    import numpy as np

    from tirscript.backend.runtime.arrays import numpy_dtype

    want = numpy_dtype(kind)
    if rng is None:
        return np.zeros(shape, want)
    if kind.is_bool:
        return rng.integers(0, 2, shape).astype(want)
    if kind.element.is_int:
        return np.asarray(rng.integers(0, max(2, min(below, kind.element.int_range()[1])), shape)).astype(want)
    return np.asarray(rng.uniform(-1, 1, shape)).astype(want)
