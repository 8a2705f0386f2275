"""A block that stores what the sum behind it begins with becomes its init."""

from __future__ import annotations

import pytest

from tirscript.ir import Block, PrimFunc, structural_equal, walk
from tirscript.ir.verify import verify
from tirscript.passes.plain_loops.blocks_from_loops import blocks_from_loops
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

PARAMS = 'A: T.Buffer((8, 12), "float32"), B: T.Buffer((12, 6), "float32"), C: T.Buffer((8, 6), "float32")'
UPDATE = """
with T.block("sum"):
    {axes}
    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
PLAIN = 'vi, vj, vk = T.axis.remap("SSR", [i, j, k])'
INIT = """
with T.block("begin"):
    vi, vj = T.axis.remap("SS", [{loops}])
    C[vi, vj] = {value}
"""


def nest(loops: str, *parts: str) -> str:
    body = "\n".join("    " + line for part in parts for line in part.strip("\n").splitlines())
    return f"{loops}\n{body}\n"


def init(loops: str = "i, j", value: str = "T.float32(0)") -> str:
    return INIT.format(loops=loops, value=value)


def update(axes: str = PLAIN) -> str:
    return UPDATE.format(axes="\n    ".join(axes.splitlines()))


def kernel(*parts: str, attrs: str = "") -> PrimFunc:
    found = parse(nest(f"@T.prim_func\ndef main({PARAMS}):", attrs, *parts))
    assert isinstance(found, PrimFunc)
    return found


I, J, K = "for i in range(8):", "for j in range(6):", "for k in range(12):"
IJ, IJK = "for i, j in T.grid(8, 6):", "for i, j, k in T.grid(8, 6, 12):"
JOINED = {
    "inside of the same loops": kernel(nest(IJ, init(), nest(K, update()))),
    "in loops of its own": kernel(nest("for a, b in T.grid(8, 6):", init("a, b")), nest(IJK, update())),
    "in another order": kernel(
        nest("for b, a in T.grid(6, 8):", init("a, b")), nest("for k, j, i in T.grid(12, 6, 8):", update())
    ),
    "in some of the same": kernel(nest(I, nest(J, init()), nest("for k, j in T.grid(12, 6):", update()))),
    "tiles": kernel(
        nest(
            "for i, jo in T.grid(8, 2):",
            nest(
                "for jt in range(3):",
                'with T.block("begin"):\n    vi = T.axis.spatial(8, i)\n    vj = T.axis.spatial(6, jo * 3 + jt)\n'
                "    C[vi, vj] = B[3, vj]",
            ),
            nest(
                "for ko, ji, ki in T.grid(4, 3, 3):",
                update(
                    "vi = T.axis.spatial(8, i)\nvj = T.axis.spatial(6, jo * 3 + ji)\nvk = T.axis.reduce(12, ko * 3 + ki)"
                ),
            ),
        )
    ),
    "steps": kernel(nest("for t in range(3):", nest(IJ, init(value="B[1, vj]"), nest(K, update())))),
}
APART = {
    "a loop around that sums": kernel(nest(K, nest(IJ, init(), update()))),
    "other elements": kernel(nest(IJ, init("i, j").replace("C[vi, vj]", "C[7 - vi, vj]"), nest(K, update()))),
    "fewer elements": kernel(
        nest("for i, j in T.grid(8, 6):", init().replace("    C[", "    T.where(i < 4)\n    C[")), nest(IJK, update())
    ),
    "something between": kernel(nest(IJ, init(), "B[0, j] = C[i, j]", nest(K, update()))),
    "overlapping arguments": kernel(nest(IJ, init(), nest(K, update())), attrs='T.func_attr({"tir.noalias": False})'),
}


@pytest.mark.parametrize("name", JOINED)
def test_it_becomes_the_init(name: str) -> None:
    func = JOINED[name]
    made = blocks_from_loops(func)
    (block,) = [node for node in walk(made.body) if type(node) is Block]
    assert block.name == "sum" and block.init is not None
    assert not verify(made) and structural_equal(parse(made.script()), made)
    assert_same_result(func, made)
    assert_same_result(func, scheduled(func, CpuFacts(vector_bits=512)), tolerance=1e-5)


@pytest.mark.parametrize("name", APART)
def test_it_stays_where_it_does_something_else(name: str) -> None:
    func = APART[name]
    assert all(node.init is None for node in walk(blocks_from_loops(func).body) if type(node) is Block)
