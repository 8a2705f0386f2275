"""Which parameters functions may write that call each other in a cycle."""

from __future__ import annotations

from tirscript.ir import Module
from tirscript.ir.written import written_params
from tirscript.script import parse


def test_functions_of_a_cycle_write_what_one_of_them_does() -> None:
    module = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def turn(n: T.int32, only: T.Buffer((4,), "int32"), a: T.Buffer((4,), "int32"), b: T.Buffer((4,), "int32")):
        if n > only[0]:
            M.back(n, only, a, b)

    @T.prim_func(private=True)
    def back(n: T.int32, only: T.Buffer((4,), "int32"), a: T.Buffer((4,), "int32"), b: T.Buffer((4,), "int32")):
        a[0] = n
        M.turn(n - 1, only, b, a)

    @T.prim_func
    def main(only: T.Buffer((4,), "int32"), a: T.Buffer((4,), "int32"), b: T.Buffer((4,), "int32")):
        M.turn(9, only, a, b)
""")
    assert isinstance(module, Module)
    for name in ("main", "turn", "back"):
        assert {param.name for param in written_params(module[name], module)} == {"a", "b"}  # type: ignore[arg-type]
