"""Whether two programs compute the same: by the interpreter and natively, on arguments that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tirscript.ir import DiagnosticError, GraphFunc, Module, PrimFunc
from tirscript.ir.check import public

# what a call may raise because its arguments are outside of what the program is made for
REFUSALS = (DiagnosticError, AssertionError)
# how arguments are drawn, until the interpreter takes them: integers from -20 to 20, or as indices need them
PROFILES = (False, True, True, True)


@public
def assert_same_result(
    a: PrimFunc | GraphFunc | Module,
    b: PrimFunc | GraphFunc | Module,
    *,
    inputs: Callable[[Any], Sequence[Any]] | None = None,
    runs: int = 3,
    seed: int = 0,
    tolerance: float | None = None,
    edges: bool = False,
    native: bool = True,
    entry: str | None = None,
) -> None:
    """Fail where `b` does not leave in its arguments, and return, what `a` does.

    Both are executed `runs` times by the interpreter and natively (unless not `native`), on arguments that `inputs`
    makes from a numpy generator, or that are drawn: symbolic dimensions are 1 to 8, `edges` mixes in infinities and
    other ends of the types. Arguments that the interpreter refuses to run `a` on are drawn again. Of modules, `main`,
    the only public function or `entry` runs; where that is a graph function in `a` and a tensor function in `b`, the
    latter takes arrays for its results behind the arguments.

    `tolerance` is the greatest difference of floats, relative to the largest magnitude in their array (at least 1); by
    default what two orders of evaluation may show for their dtype, 0.0 for the same bits but for the sign of zero.
    Integers are always equal.
    ValueError where no arguments are found that `a` runs on.
    """
    __tracebackhide__ = True
    import numpy as np

    from tirscript.backend.build import build
    from tirscript.backend.default_pipeline import default_pipeline
    from tirscript.backend.interpreter import interpret

    from .compare import copies
    from .compare import tolerance as usual

    if runs < 1:
        raise ValueError(f"runs is {runs}; a comparison takes at least one")
    rng = np.random.default_rng(seed)
    ways: list[tuple[str, Callable[..., Any]]] = [("`b`, interpreted,", lambda *args: _interpret(b, entry, args))]
    if native:
        as_written = default_pipeline(schedule=False)
        for name, program in (("a", a), ("b", b)):
            made = build(program, pipeline=as_written)  # the order of its sums is its own
            way = made[entry] if entry is not None and isinstance(program, Module) else made
            ways.append((f"`{name}`, run natively,", way))
    graph = isinstance(_entry(a, entry), GraphFunc)
    done = 0
    refusal: BaseException | None = None
    for _ in range(runs):
        for small in PROFILES if inputs is None else (False,):
            given = list(inputs(rng)) if inputs is not None else _draw(a, entry, rng, small, edges)
            wanted = copies(given)
            try:
                result = interpret(a, *wanted, entry=entry)
            except REFUSALS as problem:
                refusal = problem
                continue
            done += 1
            allowed = usual(given) if tolerance is None else tolerance
            for label, way in ways:
                lowered = label.startswith("`b`") and graph and not isinstance(_entry(b, entry), GraphFunc)
                _compare(a, b, label, way, given, wanted, result, allowed, lowered)
            break
    if not done:
        said = str(refusal).partition("\n")[0]
        if isinstance(refusal, DiagnosticError):
            said = refusal.diagnostics[0].message
        hint = "give arguments that it takes by `inputs=`"
        text = f"the interpreter ran `a` on none of the arguments that were tried: {said}; {hint}"
        raise ValueError(text) from refusal


def _interpret(program: Any, entry: str | None, args: tuple[Any, ...]) -> Any:
    from tirscript.backend.interpreter import interpret

    return interpret(program, *args, entry=entry)


def _entry(program: Any, entry: str | None) -> Any:
    """The function that runs."""
    from tirscript.backend.interpreter.program import entry_of

    return program[entry_of(program, entry)] if isinstance(program, Module) else program


def _draw(program: Any, entry: str | None, rng: Any, small: bool, edges: bool) -> list[Any]:
    from .draw import Arguments, graph_arguments

    func = _entry(program, entry)
    try:
        if isinstance(func, GraphFunc):
            return graph_arguments(func, program, rng, small=small, edges=edges)
        return Arguments(func, rng, small=small, edges=edges).draw()
    except (ValueError, DiagnosticError) as problem:
        raise ValueError(f"{problem}; give arguments by `inputs=`") from None


def _compare(
    a: Any,
    b: Any,
    label: str,
    way: Callable[..., Any],
    given: list[Any],
    wanted: list[Any],
    result: Any,
    allowed: float,
    lowered: bool,
) -> None:
    """Run one way on copies of the arguments and compare all that it left; `lowered` if it takes its results, too."""
    __tracebackhide__ = True
    import numpy as np

    from .compare import copies, leaves

    found, outs = copies(given), []
    if lowered:
        wanted, found = leaves(tuple(wanted)), leaves(tuple(found))
        outs = [np.zeros_like(leaf) for leaf in leaves(result)]
    try:
        returned = way(*found, *outs)
    except REFUSALS as problem:
        raise AssertionError(
            f"{label} fails where `a`, interpreted, does not:\n{problem}{_context(a, b, given)}"
        ) from None
    for number, (mine, theirs) in enumerate(zip(wanted, found, strict=True)):
        for left, right in zip(leaves(mine), leaves(theirs), strict=True):
            if isinstance(left, np.ndarray) and not _agree(left, right, allowed):
                what = f"{label} leaves another value than `a`, interpreted, in argument {number}"
                raise AssertionError(f"{what}: {_element(left, right)}{_context(a, b, given)}")
    if lowered and returned is None:
        returned = tuple(outs)
    if (result is None) != (returned is None) or (
        result is not None and not _all_agree(leaves(result), leaves(returned), allowed)
    ):
        raise AssertionError(f"{label} returns {returned!r}, `a` {result!r}{_context(a, b, given)}")


def _all_agree(wanted: list[Any], found: list[Any], allowed: float) -> bool:
    import numpy as np

    pairs = zip(map(np.asarray, wanted), map(np.asarray, found), strict=False)
    return len(wanted) == len(found) and all(_agree(left, right, allowed) for left, right in pairs)


def _agree(wanted: Any, found: Any, allowed: float) -> bool:
    from .compare import largest_error

    return largest_error([found], [wanted]) <= (0.0 if wanted.dtype.kind in "biu" else allowed)


def _element(wanted: Any, found: Any) -> str:
    """The worst element."""
    import numpy as np

    wide = [side.astype("float64") for side in (wanted, found)]
    same = (wanted == found) | ((wanted != wanted) & (found != found))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(same, -1.0, np.nan_to_num(np.abs(wide[0] - wide[1]), nan=np.inf, posinf=np.inf))
    at = np.unravel_index(int(np.argmax(apart)), wanted.shape)
    place = "".join(f"[{', '.join(map(str, at))}]" if at else "")
    return f"{place} is {found[at]!r} instead of {wanted[at]!r} ({int((~same).sum())} of {wanted.size} elements differ)"


def _context(a: Any, b: Any, given: list[Any]) -> str:
    from tirscript.printer import diff

    words = [f"{item.dtype}{list(item.shape)}" if hasattr(item, "shape") else repr(item) for item in given]
    return f"\nthe arguments were {', '.join(words)}\n{diff(a, b)}".rstrip()


__all__ = ["assert_same_result"]
