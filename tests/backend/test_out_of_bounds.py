"""Programs that are certainly out of bounds are refused before code is made of them, and no others are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import DiagnosticError, PrimFunc
from tirscript.ir.out_of_bounds import out_of_bounds

FAR = """
@T.prim_func
def far(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(17):
        B[0] = A[i]
"""
MODULE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def far(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("b"):
                v = T.axis.spatial(16, i)
                B[v] = A[v + 1]

    {}
"""
CALLER = """@T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        M.far(A, B)
"""
GRAPH = """@G.graph_func
    def main(x: G.Tensor((16,), "float32")):
        y = G.call_tir(M.far, (x,), out_ty=G.Tensor((16,), "float32"))
        return y
"""


def refused(run: Callable[[], Any]) -> str:
    """The message of the one mistake of a program that is not built."""
    with pytest.raises(DiagnosticError) as caught:
        run()
    (one,) = caught.value.diagnostics
    assert one.code == "T113" and one.span is not None
    return one.message


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"target": "c"},
        {"pipeline": "simplify,lower_init_block,lower_blocks,flatten_buffer"},
        {"pipeline": None},
        {"debug": True},
        {"bounds_check": True},
        {"opt_level": 0},
    ],
    ids=str,
)
def test_build_refuses(options: dict[str, Any]) -> None:
    func = tirscript.parse(FAR)
    assert refused(lambda: tirscript.build(func, **options)) == "the index of `A` is out of bounds: i = 16 is not < 16"


def test_jit_refuses_at_the_first_call() -> None:
    func = tirscript.parse(FAR)
    assert isinstance(func, PrimFunc)
    made = tirscript.jit(func)
    assert "i = 16" in refused(lambda: made(np.zeros(16, "float32"), np.zeros(16, "float32")))


@pytest.mark.parametrize("main", [CALLER, GRAPH], ids=["tensor", "graph"])
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_kernels_of_modules(main: str, target: str, tmp_path: Path) -> None:
    module = tirscript.parse(MODULE.format(main))
    message = refused(lambda: tirscript.build(module, target=target).export(tmp_path / "libm.so"))
    assert message == "the index of `A` is out of bounds: i = 15 gives `v + 1` = 16, not < 16"


def test_the_interpreter_tells_when_it_is_there() -> None:
    with pytest.raises(DiagnosticError) as caught:
        tirscript.interpret(tirscript.parse(FAR), np.zeros(16, "float32"), np.zeros(16, "float32"))
    assert caught.value.diagnostics[0].code == "T302"


# -- what is refused is out of bounds whenever it runs

LEAVES = {
    "if X[{}] > 1:": ("return", "break", "continue", "X[1] = 3", "X[{}] = 0"),
    "": ("assert X[{}] < 3", "T.evaluate(X[{}])", "X[0] = 2"),
}


@st.composite
def kernels(draw: Any, leaving: bool) -> str:
    """A nest of loops over sums of their variables, which may go out of bounds or leave before it does."""

    def number(low: int, high: int) -> int:
        return int(draw(st.integers(low, high)))

    def index(names: list[str]) -> str:
        terms = [f"{name} * {number(-2, 3)}" for name in names if number(0, 2)]
        return " + ".join([*terms, str(number(0, 8))])

    def lines(depth: int, names: list[str]) -> list[str]:
        found: list[str] = []
        for _ in range(number(1, 2)):
            kind = number(0, 5 if leaving else 2)
            if kind == 0 and depth < 3:
                low, step = number(-2, 2), number(1, 3)
                name = f"i{len(names)}"
                head = draw(st.sampled_from(("range", "T.serial")))
                found.append(f"for {name} in {head}({low}, {low + number(0, 5)}, {step}):")
                found += [f"    {line}" for line in lines(depth + 1, [*names, name])]
            elif kind < 3:
                found.append(f"A[{index(names)}] = A[{index(names)}] + 1")
            elif kind == 3:
                found += [f"x{depth} = {index(names)}", f"A[x{depth} + {number(0, 2)}] = X[0]"]
            else:
                head = draw(st.sampled_from([*LEAVES]))
                line = draw(st.sampled_from(LEAVES[head])).format(number(0, 3))
                if line in ("break", "continue") and not names:
                    continue
                found += [head, f"    {line}"] if head else [line]
        return found or ["X[0] = 1"]

    return "\n".join(f"    {line}" for line in lines(0, []))


def parsed(body: str) -> PrimFunc | None:
    """The function with a body; None where a constant is out of bounds or a name is given twice."""
    head = '@T.prim_func\ndef f(A: T.Buffer((16,), "int32"), X: T.Buffer((4,), "int32")):\n'
    try:
        func = tirscript.parse(f"{head}{body}\n")
    except DiagnosticError:
        return None
    assert isinstance(func, PrimFunc)
    return func


def goes_out(func: PrimFunc, start: int) -> bool:
    """Whether a run goes out of bounds, from these values in X."""
    try:
        tirscript.interpret(func, np.zeros(16, "int32"), np.full(4, start, "int32"))
    except DiagnosticError as problem:
        return problem.diagnostics[0].code == "T302"
    except AssertionError:
        return False
    return False


@given(body=kernels(leaving=True))
@settings(max_examples=150, deadline=None)
def test_what_is_certain_happens_in_every_run(body: str) -> None:
    func = parsed(body)
    if func is not None and out_of_bounds(func):
        assert all(goes_out(func, start) for start in range(4)), body


@given(body=kernels(leaving=False))
@settings(max_examples=100, deadline=None)
def test_what_nothing_leaves_is_told(body: str) -> None:
    func = parsed(body)
    if func is not None:
        assert bool(out_of_bounds(func)) == goes_out(func, 0), body
