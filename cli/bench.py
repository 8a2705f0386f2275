"""`tirscript bench`: how long a kernel takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import click

from tirscript.ir import BufferLoad, DiagnosticError, GraphFunc, error, walk

from .arguments import Argument, Request, options
from .files import FILE, Chosen, choose
from .output import duration, machine, note, write
from .run import callable_, compared, compiled, copied, native_code, prepared, with_results

EPILOG = """\b
Examples:
  tirscript bench kernel.py:matmul --size m=256 --size n=256 --size k=256
  tirscript bench new.py --against old.py              the same call, in turns
  tirscript bench kernel.py --against interpreter --json"""
INTERPRETER = "interpreter"
ROUND = 0.01  # seconds that a round takes at least
Function = Callable[..., Any]


@click.command(name="bench", epilog=EPILOG)
@click.argument("file", type=FILE, metavar="FILE[:NAME]")
@options
@click.option("--against", metavar="FILE[:NAME]", help="Another kernel with the same parameters, or `interpreter`.")
@click.option("--rounds", type=click.IntRange(3), default=20, show_default=True, help="How often to measure.")
@click.option("--opt-level", type=click.IntRange(0, 3), default=3, show_default=True, help="How hard LLVM tries.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON, times in seconds.")
def command(
    file: str, against: str | None, rounds: int, opt_level: int, as_json: bool, random: bool, **given: Any
) -> None:
    """Measure a function of FILE on random arrays (or those of --input): median time of a call, spread, bytes a second.

    A round is as many calls as take 10 ms; the arrays are set back before each. The first call, which is not measured,
    runs with every index checked. The bytes are those of the arrays it reads and of those it writes, each counted once.
    """
    chosen = choose(file)
    made, told = prepared(chosen, Request(random=True, **given))
    if told:
        note(f"taking {', '.join(told)} (--size sets others)")
    first = [argument._replace(value=copied(argument.value)) for argument in made]
    result = callable_(chosen, interpret=False, debug=True)(*[one.value for one in first])
    first, _ = with_results(chosen, first, result)
    names = [file]
    functions: list[Function] = [compiled(chosen, opt_level=opt_level)]
    if against is not None:
        names.append(against)
        functions.append(_other(against, chosen, made, first, opt_level))
    with native_code():
        times = measure(functions, [argument.value for argument in made], rounds)
    moved = touched(chosen, [*made, *first[len(made) :]])
    results = [figures(name, seconds, moved) for name, seconds in zip(names, times, strict=True)]
    if as_json:
        sizes = [{"name": one.name, "shape": list(getattr(one.value, "shape", ()))} for one in made]
        machine({"function": chosen.entry, "bytes": moved, "parameters": sizes, "results": results})
        return
    for result in results:
        write(_line(result))
    if len(results) == 2:
        ratio = results[1]["median"] / results[0]["median"]
        write(f"{names[0]} is {ratio:.3g} times as fast as {names[1]}\n")


def _other(against: str, chosen: Chosen, made: list[Argument], first: list[Argument], opt_level: int) -> Function:
    """What to compare with, after seeing that it leaves the same."""
    given = [argument._replace(value=copied(argument.value)) for argument in made]
    second = chosen if against == INTERPRETER else choose(against)
    interpreted = against == INTERPRETER
    checked = callable_(second, interpret=interpreted, debug=True)
    given, _ = with_results(second, given, checked(*[one.value for one in given]))
    other: Function = checked if interpreted else compiled(second, opt_level=opt_level)
    check = compared(first, given, None, None)
    if not check["same"]:
        message = (
            f"{against} does not compute what `{chosen.entry}` computes: the largest error is {check['largest_error']}"
        )
        raise DiagnosticError([error("T301", message)])
    return other


def measure(functions: list[Function], values: list[Any], rounds: int) -> list[list[float]]:
    """The time of a call of each function, in seconds, in each round; the functions take turns."""
    given = [[copied(value) for value in values] for _ in functions]
    counts = [_calls(function, values) for function in functions]
    found: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, mine, count, results in zip(functions, given, counts, found, strict=True):
            for to, source in zip(mine, values, strict=True):
                if hasattr(to, "shape"):
                    to[...] = source
            start = time.perf_counter()
            for _ in range(count):
                function(*mine)
            results.append((time.perf_counter() - start) / count)
    return found


def _calls(function: Function, values: list[Any]) -> int:
    """How many calls make a round."""
    mine = [copied(value) for value in values]
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            function(*mine)
        seconds = time.perf_counter() - start
        if seconds >= ROUND / 2 or count >= 1_000_000:
            return max(1, round(count * ROUND / max(seconds, 1e-9)))
        count *= 4


def touched(chosen: Chosen, made: list[Argument]) -> int:
    """The bytes of the arrays that a call reads and of those that it writes."""
    graph = isinstance(chosen.func, GraphFunc)  # whose results are written and never read
    loaded = {node.buffer.name for node in walk(chosen.program) if isinstance(node, BufferLoad) and not graph}
    total = 0
    for argument in made:
        size = getattr(argument.value, "nbytes", 0)
        total += size * (argument.written + (not argument.written or argument.name in loaded))
    return total


def figures(name: str, seconds: list[float], moved: int) -> dict[str, Any]:
    """What a list of times amounts to; the quartiles show the spread."""
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return {
        "name": name,
        "median": median,
        "least": min(seconds),
        "quartiles": [low, high],
        "rounds": len(seconds),
        "bytes_per_second": moved / median,
    }


def _line(result: dict[str, Any]) -> str:
    low, high = result["quartiles"]
    return (
        f"{result['name']}: {duration(result['median'])} "
        f"(quartiles {duration(low)} to {duration(high)}, least {duration(result['least'])}, "
        f"{result['rounds']} rounds), {result['bytes_per_second'] / 1e9:.3g} GB/s\n"
    )
