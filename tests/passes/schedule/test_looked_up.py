"""Rows that are looked up are copied past the caches where they are many, and not prefetched by themselves."""

from __future__ import annotations

from tirscript.ir import PrimFunc
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule
from tirscript.script import parse


def test_rows_that_are_looked_up_are_left_to_the_processor() -> None:
    func = parse("""
@T.prim_func
def main(W: T.Buffer((50, 256)), at: T.Buffer((30,), "int64"), P: T.Buffer((30, 256)), B: T.Buffer((30, 256))):
    for i, j in T.grid(30, 256):
        B[i, j] = W[at[i], j] + P[i, j]
""")
    assert isinstance(func, PrimFunc)
    text = default_schedule(func, CpuFacts(512, 1, cache=1)).func.script().replace("\n", "").replace(" ", "")
    assert "T.prefetch(T.address_of(P[" in text and "T.address_of(W[" not in text and "pragma_nontemporal" in text
