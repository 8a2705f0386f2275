"""All tests run with every node's fields checked (`TIRSCRIPT_CHECK=0` turns that off), and compile what they run: some
change what the compiler does, which no key of the cache tells.

With `TIRSCRIPT_CHECK=arguments` every function's arguments are checked too, but for the innermost modules': that takes
more than twice as long."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

os.environ["TIRSCRIPT_CACHE"] = "0"
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    # else each of the many processes that tests start would compile all of tirscript again
    bytecode = tempfile.mkdtemp(prefix="tirscript-bytecode-")
    os.environ["PYTHONPYCACHEPREFIX"] = bytecode
    atexit.register(shutil.rmtree, bytecode, ignore_errors=True)
if os.environ.setdefault("TIRSCRIPT_CHECK", "1") == "arguments":
    # before anything of tirscript is imported
    import typeguard
    from helpers import quick_checks

    quick_checks.install()
    # names imported for type checkers only cannot be looked up at run time
    typeguard.config.forward_ref_policy = typeguard.ForwardRefPolicy.IGNORE

    class Finder(typeguard.TypeguardFinder):
        """Leaves out what runs for every element or node: a check would take ten times its time."""

        innermost = frozenset(
            (
                *(
                    f"tirscript.backend.interpreter.{n}"
                    for n in ("access", "expressions", "memory", "ops", "statements")
                ),
                *(f"tirscript.ir.{n}" for n in ("dtype", "equal", "rewrite")),
                *(f"tirscript.ir.arith.{n}" for n in ("bounds", "evaluate", "folding")),
                *(f"tirscript.printer.{n}" for n in ("layout", "syntax")),
            )
        )

        def should_instrument(self, module_name: str) -> bool:
            return module_name not in self.innermost and super().should_instrument(module_name)

    typeguard.install_import_hook(["tirscript"], cls=Finder)

if os.environ.get("HYPOTHESIS_PROFILE") != "fuzz":
    # hypothesis also draws constants of the modules loaded so far: without them the programs of a test are the same in
    # whatever order the tests run, and in one process or several
    from hypothesis.internal.conjecture import providers

    if hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants

# also the entry point of an installed tirscript; pytest loads it once
pytest_plugins = ["pytester", "tirscript.testing.plugin"]


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    return function(**arguments)


# CPython's frames lie in pieces of 16 KiB, and a call that begins a new piece maps memory and unmaps it at its return: in
# recursion below pytest and hypothesis a fifth of the time. A frame that wants much gets a piece that has room for all.
_call.__code__ = _call.__code__.replace(co_stacksize=1 << 16)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Call a test function, as pytest does; one that returns something asserts nothing of it."""
    result = _call(pyfuncitem.obj, {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames})
    assert result is None, f"{pyfuncitem.nodeid} returned {result!r}"
    return True
