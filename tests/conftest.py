"""All tests run with every node's fields and every function's arguments checked (`TIRSCRIPT_CHECK=0` turns that off)."""

from __future__ import annotations

import os

if os.environ.setdefault("TIRSCRIPT_CHECK", "1") != "0":
    # before anything of tirscript is imported
    import typeguard

    # names imported for type checkers only cannot be looked up at run time
    typeguard.config.forward_ref_policy = typeguard.ForwardRefPolicy.IGNORE
    typeguard.install_import_hook(["tirscript"])
