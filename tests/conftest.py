"""All tests run with every node's fields and every function's arguments checked (`TIRSCRIPT_CHECK=0` turns that off),
and compile what they run: some change what the compiler does, which no key of the cache tells."""

from __future__ import annotations

import os

os.environ["TIRSCRIPT_CACHE"] = "0"
if os.environ.setdefault("TIRSCRIPT_CHECK", "1") != "0":
    # before anything of tirscript is imported
    import typeguard
    from helpers import quick_checks

    quick_checks.install()
    # names imported for type checkers only cannot be looked up at run time
    typeguard.config.forward_ref_policy = typeguard.ForwardRefPolicy.IGNORE

    class Finder(typeguard.TypeguardFinder):
        """Leaves out the closures that the interpreter runs for every element: a check would take ten times their time."""

        closures = frozenset(
            f"tirscript.backend.interpreter.{name}" for name in ("access", "expressions", "memory", "ops", "statements")
        )

        def should_instrument(self, module_name: str) -> bool:
            return module_name not in self.closures and super().should_instrument(module_name)

    typeguard.install_import_hook(["tirscript"], cls=Finder)

# also the entry point of an installed tirscript; pytest loads it once
pytest_plugins = ["pytester", "tirscript.testing.plugin"]
