"""Modules in code without a file, as in a notebook: the class is found by where its functions were compiled."""

from __future__ import annotations

import linecache

import pytest

from tirscript.ir import DiagnosticError, Module
from tirscript.script import ir as I
from tirscript.script import tir as T

TEXT = '''
x = 1

@I.ir_module
class M:
    """Two of them."""

    @T.prim_func
    def f(A: T.Buffer((4,), "int32")):
        A[0] = {value}

class N:
    def f(self):
        pass
'''


@pytest.mark.parametrize("value", ["x", "missing"])
def test_a_class_in_code_that_linecache_knows(value: str) -> None:
    text, name = TEXT.format(value=value), f"<cell {value}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"__name__": "no_such_module", "I": I, "T": T}
    if value == "missing":
        with pytest.raises(DiagnosticError, match="`missing` is not defined") as caught:
            exec(compile(text, name, "exec"), namespace)
        assert str(caught.value.diagnostics[0].span) == "<cell missing>:10:16"
        return
    exec(compile(text, name, "exec"), namespace)
    module = namespace["M"]
    assert isinstance(module, Module)
    assert module["f"].body[0].value.value == 1
    assert module["f"].span is not None and module["f"].span.filename == name


def test_a_class_without_any_source_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="the source of `M` cannot be read"):
        exec(TEXT.format(value="x"), {"__name__": "no_such_module", "I": I, "T": T})
