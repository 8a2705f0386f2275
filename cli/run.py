"""`tirscript run`: a kernel called on random or given arrays."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from tirscript.ir import DiagnosticError, GraphFunc, Module, error
from tirscript.ir.graph import PrimType, TensorType
from tirscript.ir.whole_files import written

from .arguments import Argument, Request, arguments, options
from .files import FILE, Chosen, choose, spare, writing
from .output import duration, machine, note, write

EPILOG = """\b
Examples:
  tirscript run kernel.py --random --check           native code against the interpreter
  tirscript run kernel.py:matmul --random --size m=64 --size n=64 --size k=8
  tirscript run kernel.py --input A=a.npy --set alpha=0.5 --output b.npy
  tirscript run kernel.py --input arrays.npz --interpret --json"""


@click.command(name="run", epilog=EPILOG)
@click.argument("file", type=FILE, metavar="FILE[:NAME]")
@options
@click.option("--output", metavar="FILE", help="Write what the kernel wrote: one array as .npy, several as .npz.")
@click.option("--interpret", is_flag=True, help="Run under the interpreter in place of native code.")
@click.option("--check", is_flag=True, help="Run both and compare; exit with 1 where they differ.")
@click.option("--unchecked", is_flag=True, help="Leave the checks of indices and the like out of the native code.")
@click.option("--json", "as_json", is_flag=True, help="What came out as JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    output: str | None,
    interpret: bool,
    check: bool,
    unchecked: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Run a function of FILE and show what it writes, or gives if it is a graph function.

    Arrays come from .npy and .npz files or are random: floats from -1 to 1, integers from 0 to below the least
    dimension. What only the kernel writes is zeros before. Native code checks its indices unless --unchecked.
    """
    spare(file, output)
    _known_suffix(output)
    chosen = choose(file)
    made, told = prepared(chosen, Request(**given))
    if told:
        note(f"taking {', '.join(told)} (--size sets others)")
    report: dict[str, Any] = {"function": chosen.entry}
    found = [argument._replace(value=copied(argument.value)) for argument in made]
    function = callable_(chosen, interpret=interpret, debug=not unchecked)
    start = time.perf_counter()
    result = function(*[argument.value for argument in found])
    report["seconds"] = time.perf_counter() - start
    found, result = with_results(chosen, found, result)
    report["parameters"] = [_described(argument) for argument in found]
    if result is not None:
        report["returned"] = _number(result)
    same = True
    if check:
        other = [argument._replace(value=copied(argument.value)) for argument in made]
        function = callable_(chosen, interpret=not interpret, debug=not unchecked)
        again = function(*[argument.value for argument in other])
        other, again = with_results(chosen, other, again)
        report["check"] = compared(found, other, result, again)
        same = report["check"]["same"]
    if output is not None:
        _save(output, chosen.entry, found)
    if as_json:
        machine(report)
    else:
        _show(report, found)
    ctx.exit(0 if same else 1)


def prepared(chosen: Chosen, request: Request) -> tuple[list[Argument], list[str]]:
    """The arguments for a function."""
    from tirscript.backend.runtime.arguments import written_params

    if isinstance(chosen.func, GraphFunc):
        from tirscript.passes.graph.graph_to_tensor import signature
        from tirscript.testing.draw import told_sizes

        taken = signature(chosen.func, chosen.module or Module((chosen.func,)))
        told = [size for param in chosen.func.params for size in told_sizes(param.type)]
        known = (f"{one.name}={size}" for one, size in zip(taken.params, told, strict=True) if size is not None)
        return arguments(taken, lambda param: False, request._replace(sizes=(*known, *request.sizes)))
    written = written_params(chosen.func, chosen.module)
    return arguments(chosen.func, written.__contains__, request)


def with_results(chosen: Chosen, found: list[Argument], result: Any) -> tuple[list[Argument], Any]:
    """The arguments of a call and what it returned; what a graph function gives is behind its arguments."""
    if not isinstance(chosen.func, GraphFunc):
        return found, result
    import numpy as np

    from tirscript.ir.dtype import dtype
    from tirscript.testing.compare import leaves

    arrays = [np.asarray(one) for one in leaves(result)]
    names = ["result"] if len(arrays) == 1 else [f"result_{at}" for at in range(len(arrays))]
    made = [Argument(name, array, dtype(str(array.dtype)), True) for name, array in zip(names, arrays, strict=True)]
    return [*found, *made], None


def taking_all(chosen: Chosen, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes each array and number by itself."""
    func = chosen.func
    if not isinstance(func, GraphFunc) or all(isinstance(one.type, (TensorType, PrimType)) for one in func.params):
        return function
    from tirscript.testing.draw import together

    def call(*values: Any) -> Any:
        rest = iter(values)
        return function(*[together(param.type, rest) for param in func.params])

    return call


def compiled(chosen: Chosen, *, debug: bool = False, opt_level: int = 3) -> Any:
    """The native function."""
    from tirscript.backend.build import build

    if chosen.module is None:
        return taking_all(chosen, build(chosen.func, debug=debug, opt_level=opt_level))
    func = chosen.func
    if func.private:
        message = f"`{func.name}` is private: only functions of its module call it"
        raise DiagnosticError([error("T307", message, func.span, hint="--interpret runs it, or leave `private` out")])
    return taking_all(chosen, build(chosen.module, debug=debug, opt_level=opt_level)[func.name])


@contextmanager
def native_code() -> Iterator[None]:
    """Let Ctrl-C end the process at once: Python's own handler waits until native code has returned."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def callable_(chosen: Chosen, *, interpret: bool, debug: bool) -> Callable[..., Any]:
    """The function under the interpreter, or compiled."""
    if not interpret:
        made: Callable[..., Any] = compiled(chosen, debug=debug)

        def call(*values: Any) -> Any:
            with native_code():
                return made(*values)

        return call
    from tirscript.backend.interpreter import interpret as run

    return taking_all(chosen, lambda *values: run(chosen.program, *values, entry=chosen.entry))


def copied(value: Any) -> Any:
    """A copy of an array with its strides."""
    import numpy as np

    from tirscript.ir.constant import strided

    if not isinstance(value, np.ndarray) or value.flags.c_contiguous:
        return value.copy() if isinstance(value, np.ndarray) else value
    strides = value.strides
    span = sum((size - 1) * stride for size, stride in zip(value.shape, strides, strict=True)) // value.itemsize + 1
    made = strided(np.zeros(span, value.dtype), value.shape, strides)
    made[...] = value
    return made


def compared(native: list[Argument], interpreted: list[Argument], left: Any, right: Any) -> dict[str, Any]:
    """Whether two calls left the same: integers equal, floats within what their dtype allows."""
    import numpy as np

    from tirscript.testing import largest_error, tolerance

    values = [[one.value for one in given] for given in (native, interpreted)]
    if left is not None:
        kind = next((one.dtype for one in native if one.dtype.is_float), None)
        dtype = type(left) if not isinstance(left, float) else ("float64" if kind is None else kind.element.name)
        for given, result in zip(values, (left, right), strict=True):
            given.append(np.array(result, dtype if dtype not in ("bfloat16",) else "float32"))
    error_ = largest_error(*values)
    allowed = tolerance(values[0])
    return {"same": bool(error_ <= allowed), "largest_error": _number(error_), "allowed": allowed}


def _number(value: Any) -> Any:
    """A number as JSON has it, which has no nan and no infinity."""
    import math

    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _described(argument: Argument) -> dict[str, Any]:
    import numpy as np

    value = argument.value
    found: dict[str, Any] = {"name": argument.name, "dtype": str(argument.dtype), "written": argument.written}
    if not isinstance(value, np.ndarray):
        return {**found, "value": _number(value)}
    found["shape"] = list(value.shape)
    if value.size:
        wide = value.astype("float64") if value.dtype.kind not in "biu" else value
        with np.errstate(all="ignore"):
            found.update(
                min=_number(wide.min().item()), max=_number(wide.max().item()), mean=_number(float(wide.mean()))
            )
    return found


def _show(report: dict[str, Any], found: list[Argument]) -> None:
    import numpy as np

    for about, argument in zip(report["parameters"], found, strict=True):
        if "shape" not in about:
            write(f"{about['name']}: {about['dtype']} = {about['value']}\n")
            continue
        shape = ", ".join(map(str, about["shape"])) + ("," if len(about["shape"]) == 1 else "")
        written = ", written" if argument.written else ""
        figures = f": {about['min']:.6g} to {about['max']:.6g}, mean {about['mean']:.6g}" if _plain(about) else ""
        write(f"{about['name']}: {about['dtype']} ({shape}){written}{figures}\n")
        if argument.written:
            text = np.array2string(argument.value, threshold=64, edgeitems=3, max_line_width=100)
            write("".join(f"    {line}\n" for line in text.split("\n")))
    if "returned" in report:
        write(f"returned {report['returned']}\n")
    if "check" in report:
        check = report["check"]
        words = "the same" if check["same"] else "DIFFERENT"
        write(f"native and interpreted: {words} (largest error {check['largest_error']}, allowed {check['allowed']})\n")
    note(f"{report['function']} ran in {duration(report['seconds'])}")


def _plain(about: dict[str, Any]) -> bool:
    return all(isinstance(about.get(key), (int, float)) for key in ("min", "max", "mean"))


def _known_suffix(path: str | None) -> None:
    """Raise T404 for a file whose name does not say which of numpy's formats it is in; devices have no suffix."""
    if path is None or path.endswith((".npy", ".npz")) or (os.path.exists(path) and not os.path.isfile(path)):
        return
    message = f"{path} does not say by its suffix what to write: one array as .npy, several as .npz"
    raise DiagnosticError([error("T404", message, hint=f"`--output {os.path.splitext(path)[0]}.npy`")])


def _save(path: str, name: str, found: list[Argument]) -> None:
    import numpy as np

    arrays = {one.name: one.value for one in found if one.written and isinstance(one.value, np.ndarray)}
    if not arrays:
        raise DiagnosticError([error("T301", f"`{name}` writes no array, so there is nothing for {path}")])
    if len(arrays) > 1 and path.endswith(".npy"):
        message = f"`{name}` writes {len(arrays)} arrays ({', '.join(arrays)}), and {path} holds one"
        raise DiagnosticError([error("T404", message, hint=f"`--output {path.removesuffix('.npy')}.npz`")])
    with writing(path), written(path) as file:
        made = file if file.seekable() else io.BytesIO()  # numpy asks where it is in a file, which pipes do not know
        if len(arrays) == 1 and not path.endswith(".npz"):
            np.save(made, next(iter(arrays.values())))
        else:
            np.savez(made, **arrays)  # type: ignore[arg-type]
        if isinstance(made, io.BytesIO):
            file.write(made.getbuffer())
    note(f"wrote {', '.join(arrays)} to {path}")
