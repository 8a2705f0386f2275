"""The kernels of kernels_cases.py in tirscript: the plain loops as they are, by the default pipeline, and by the
schedules of examples/."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels_cases import Case
from kernels_ours import by_hand, naive

import tirscript
from tirscript.backend.default_pipeline import default_pipeline
from tirscript.passes import DEFAULT_LOWERING

VERSION = tirscript.__version__


def prepare(case: Case, arguments: list[Any], options: dict[str, Any]) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What makes a runner of a case, by the name of the variant; the runner returns the results."""
    plain, scheduled = naive(case), by_hand(case)

    def runner(function: Any) -> Callable[[], Any]:
        results = case.results()

        def run() -> Any:
            function(*arguments, *results)
            return results

        run.direct = (function, (*arguments, *results))  # type: ignore[attr-defined]
        return run

    variants: dict[str, Callable[[], Callable[[], Any]]] = {
        "plain loops": lambda: runner(tirscript.build(plain, pipeline=DEFAULT_LOWERING)),
        "tirscript": lambda: runner(tirscript.build(plain, pipeline=default_pipeline())),
    }
    if scheduled is not None:
        variants["by hand"] = lambda: runner(tirscript.build(scheduled))
    return variants
