"""Scopes of memory: known ones, those of targets, and misspelt ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tirscript
from tirscript import DiagnosticError
from tirscript.ir.scopes import SCOPES
from tirscript.ir.target_kinds import unregister_target_kind

KERNEL = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32"{scope})
    for i in range(4):
        with T.block("b"):
            v = T.axis.spatial(4, i)
            B[v] = A[v] + 1.0
    for i in range(4):
        with T.block("c"):
            v = T.axis.spatial(4, i)
            C[v] = B[v] + 1.0
"""
PLACES: dict[str, Callable[[str], Any]] = {
    "alloc_buffer": lambda scope: tirscript.parse(KERNEL.format(scope=f', scope="{scope}"')),
    "parameter": lambda scope: tirscript.parse(
        f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32", scope="{scope}")):\n    A[0] = 1.0\n'
    ),
    "handle": lambda scope: tirscript.parse(
        f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    p = T.handle("float32", "{scope}")\n    A[0] = 1.0\n'
    ),
    "set_scope": lambda scope: _scheduled(lambda sch: sch.set_scope("b", 0, scope)),
    "cache_read": lambda scope: _scheduled(lambda sch: sch.cache_read("b", "A", scope)),
    "reindex_cache_read": lambda scope: _scheduled(lambda sch: sch.reindex_cache_read("b", "A", scope, lambda i: (i,))),
    "read_at": lambda scope: _scheduled(lambda sch: sch.read_at(sch.get_loops("c")[0], "c", 0, scope)),
}
each_place = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


def _scheduled(step: Callable[[Any], Any]) -> None:
    step(tirscript.Schedule(tirscript.parse(KERNEL.format(scope=""))))


@each_place
@pytest.mark.parametrize(
    ("scope", "hint"),
    [
        ("locl", 'did you mean "local"?'),
        ("Shared", 'did you mean "shared"?'),
        ("shared.dny", 'did you mean "shared.dyn"?'),
        ("wmma.acumulator", 'did you mean "wmma.accumulator"?'),
        ("m16n8k8.matrix_A", 'did you mean "m16n8k8.matrixA"?'),
        ("l1", 'one of a target\'s own has a dot, as in "npu.l1", or is registered'),
    ],
)
def test_an_unknown_scope_is_told_with_what_it_may_be(place: Callable[[str], Any], scope: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        place(scope)
    (one,) = caught.value.diagnostics
    assert scope in one.message and hint in str(one.hint)


@each_place
@pytest.mark.parametrize(
    "scope",
    [
        *sorted({*SCOPES} - {"scalar"}),
        *("shared.dyn", "wmma.matrix_a", "wmma.accumulator", "m16n8k8.matrixC", "global.texture-weight", "npu.sram"),
    ],
)
def test_known_scopes_and_those_of_targets_are_taken(place: Callable[[str], Any], scope: str) -> None:
    place(scope)


@each_place
def test_a_target_registers_scopes_of_its_own(place: Callable[[str], Any]) -> None:
    tirscript.register_target_kind(tirscript.TargetKind("scoped", "For this test.", scopes=("sram", "shared.dyn2")))
    try:
        place("sram")
        place("shared.dyn2")
        with pytest.raises(DiagnosticError, match='did you mean "sram"'):
            place("sarm")
    finally:
        unregister_target_kind("scoped")
    with pytest.raises(DiagnosticError):
        place("shared.dyn2")
