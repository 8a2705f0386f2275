"""`jit`: a function that is built at its first call."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest
from helpers.calls import Two, grow, text, told

import tirscript
from tirscript.backend.runtime import layout
from tirscript.backend.runtime.function import Function, LazyFunction, PortableFunction
from tirscript.ir import DiagnosticError
from tirscript.script import tir as T


@tirscript.jit
def twice(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        B[i] = A[i] * 2.0


def test_a_misspelt_option_is_told_with_the_right_one() -> None:
    with pytest.raises(
        TypeError, match=r"^jit\(\) got an unexpected keyword argument 'traget'; did you mean `target`\?$"
    ):
        tirscript.jit(traget="llvm")  # type: ignore[call-arg]


def test_a_function_has_itself_by_its_name_and_nothing_else() -> None:
    built = tirscript.build(twice)
    assert built["twice"] is built and twice["twice"] is twice
    for wrong in ("main", (4,)):
        with pytest.raises(KeyError, match=r"`twice` is all that was built: call it as it is, `twice\(...\)`"):
            built[wrong]
    with pytest.raises(TypeError, match="not iterable"):
        iter(built)


def test_a_misspelt_option_of_export_is_told_with_the_right_one() -> None:
    with pytest.raises(
        TypeError, match=r"^export\(\) got an unexpected keyword argument 'headr'; did you mean `header`"
    ):
        tirscript.build(twice).export("k.so", headr="k.h")  # type: ignore[call-arg]


def test_jit_builds_at_the_first_call() -> None:
    @tirscript.jit
    def inner(A: T.Buffer((4,), "int32"), by: T.int32):
        for i in range(4):
            A[i] = A[i] + by

    assert type(inner) is LazyFunction and inner.__name__ == "inner"
    assert str(inspect.signature(inner)) == '(A: T.Buffer((4,), "int32"), by: T.int32) -> None'
    a = np.zeros(4, np.int32)
    inner(a, by=3)
    assert type(inner) is Function
    inner(a, 4)
    assert (a == 7).all()
    x = np.ones(3, np.float32)
    y = np.zeros_like(x)
    twice(x, y)
    assert (y == 2).all()


def test_jit_takes_the_options_of_build() -> None:
    def options(function: Any) -> dict[str, Any]:
        return {
            name: (one.kind, one.default)
            for name, one in inspect.signature(function).parameters.items()
            if one.kind is one.KEYWORD_ONLY and name != "target"
        }

    assert options(tirscript.jit) == options(tirscript.build)
    checked = tirscript.jit(
        text("""
    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), i: T.int32):
        A[i] = 1
    """),
        bounds_check=True,
    )
    assert told(checked, np.zeros(4, np.int32), 4).startswith("T302")


def test_jit_sees_the_names_around_a_function() -> None:
    size = 3

    def make(by: int) -> Any:
        @tirscript.jit(opt_level=1)
        def inner(A: T.Buffer((size,), "int32")):
            for i in range(size):
                A[i] = by

        return inner

    a = np.zeros(3, np.int32)
    make(5)(a)
    assert (a == 5).all()


def test_jit_of_programs_and_its_mistakes() -> None:
    f = tirscript.jit(grow)
    assert f.func is grow and "T.block" not in f.lowered.script() and type(f) is Function
    assert "define" in tirscript.jit(grow).llvm_ir() and "ret" in tirscript.jit(grow).assembly()
    assert tirscript.jit(f).func is grow
    with pytest.raises(TypeError, match="jit decorates a function or takes a PrimFunc, not an int"):
        tirscript.jit(3)
    with pytest.raises(TypeError, match=r"not a Module; build it with `tirscript.build`"):
        tirscript.jit(Two)
    assert "T402" in told(tirscript.jit, grow, target="cuda")
    with pytest.raises(DiagnosticError) as caught:

        @tirscript.jit
        def wrong(A: T.Buffer((4,), "int32")):
            A[0] = unknown

    assert caught.value.diagnostics[0].code == "T010"


def test_jit_builds_once_for_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    import tirscript.backend.build as module

    built: list[object] = []
    original = module.build

    def counting(x: Any, **options: Any) -> Any:
        built.append(x)
        return original(x, **options)

    monkeypatch.setattr(module, "build", counting)
    f = tirscript.jit(grow)
    start = threading.Barrier(4)
    results: list[bool] = []

    def work() -> None:
        a, b = np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32)
        start.wait()
        f(a, b, 1.0)
        results.append(bool((b == 2).all()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [grow] and results == [True] * 4


def test_jit_where_structs_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "direct_calls", lambda: False)
    f = tirscript.jit(Two["double"])
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    f(a, b)
    f(a, B=b)
    assert type(f) is PortableFunction and (b == a * 2).all()
