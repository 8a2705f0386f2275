"""Small arrays that an iteration fills before it reads them."""

from __future__ import annotations

import pytest

from tirscript.ir import AllocBuffer, PrimFunc, ScalarDecl, walk
from tirscript.ir.verify import verify
from tirscript.passes.plain_loops.variables_from_arrays import variables_from_arrays
from tirscript.passes.schedule.default_cpu import CpuFacts, scheduled
from tirscript.script import parse
from tirscript.testing import assert_same_result

TAKEN = {
    "a vector": """
d = T.alloc_buffer((3,), "int32")
for i in range(20):
    for c in range(3):
        d[c] = P[i, c] - P[0, c]
    B[i] = d[0] * d[1] - d[2]
""",
    "a matrix": """
d = T.alloc_buffer((2, 3), "int32")
for i in range(20):
    for r, c in T.grid(2, 3):
        d[r, c] = P[i, c] * r + c
    d[1, 2] += d[0, 1]
    B[i] = d[1, 2] * d[1, 0]
""",
    "sorted": """
w = T.alloc_buffer((4,), "int32", scope="local")
for i in range(20):
    for k in range(4):
        w[3 - k] = P[i, k]
    for p in range(3):
        for q in range(p + 1, 4):
            low = T.min(w[p], w[q])
            high = T.max(w[p], w[q])
            w[p] = low
            w[q] = high
    B[i] = w[1] * 100 + w[2]
""",
    "in the loop": """
for i in range(20):
    d = T.alloc_buffer((3,), "int32")
    for c in range(3):
        d[c] = P[i, c]
    if d[0] > d[1]:
        for c in range(2):
            d[c] = d[c + 1]
    B[i] = d[0] + d[1]
""",
    "in a long loop": """
d = T.alloc_buffer((2,), "int32")
for i in range(20):
    for j in range(20):
        d[0] = P[j, 0]
        d[1] = P[i, 1] * d[0]
        B[i] += d[1] * d[0]
""",
    "in two loops": """
d = T.alloc_buffer((2,), "int32")
for i in range(20):
    d[0] = P[i, 0]
    B[i] = d[0]
for i in range(20):
    d[1] = P[i, 1]
    d[0] = d[1] + 1
    B[i] += d[1] * d[0]
""",
}
LEFT = {
    "what an iteration before left": """
d = T.alloc_buffer((2,), "int32")
for i in range(20):
    d[0] = P[i, 0]
    if i == 0:
        d[1] = 3
    B[i] = d[0] + d[1]
""",
    "an index from memory": """
d = T.alloc_buffer((4,), "int32")
for i in range(20):
    for c in range(4):
        d[c] = P[i, c]
    B[i] = d[T.max(T.min(P[i, 0], 3), 0)]
""",
    "a long loop": """
d = T.alloc_buffer((4,), "int32")
for i in range(20):
    for c in range(20):
        d[c % 4] = P[i, 1] + c
    B[i] = d[0]
""",
    "a large array": """
d = T.alloc_buffer((17,), "int32")
for i in range(20):
    d[3] = P[i, 1]
    B[i] = d[3]
""",
    "another name": """
d = T.alloc_buffer((2,), "int32")
e = T.decl_buffer((2,), "int32", data=d.data)
for i in range(20):
    d[0] = P[i, 1]
    B[i] = d[0] + e[0]
""",
    "what is read behind the loop": """
d = T.alloc_buffer((2,), "int32")
for i in range(20):
    d[0] = P[i, 1]
    B[i] = d[0]
B[0] = d[0]
""",
    "a loop that is left": """
d = T.alloc_buffer((3,), "int32")
for i in range(20):
    d[0] = 0
    d[1] = 0
    d[2] = 0
    for c in range(3):
        if P[i, c] > 2:
            break
        d[c] = P[i, c]
    B[i] = d[0] + d[2]
""",
    "a loop that goes back": """
d = T.alloc_buffer((3,), "int32")
for i in range(20):
    for c in range(2, -1, -1):
        d[c] = P[i, c]
    B[i] = d[0] + d[2]
""",
    "its address": """
d = T.alloc_buffer((3,), "int32")
for i in range(20):
    for c in range(3):
        d[c] = P[i, c]
    B[i] = T.call_extern("int32", "memcmp", T.address_of(d[0]), T.address_of(P[i, 0]), T.int64(12))
""",
    "blocks": """
d = T.alloc_buffer((2,), "int32")
for i in range(20):
    for c in range(2):
        with T.block("d"):
            vi, vc = T.axis.remap("SS", [i, c])
            d[vc] = P[vi, vc]
    B[i] = d[0]
""",
}


def kernel(body: str) -> PrimFunc:
    lines = "\n    ".join(body.strip("\n").split("\n"))
    head = 'P: T.Buffer((20, 4), "int32"), B: T.Buffer((20,), "int32")'
    func = parse(f"@T.prim_func\ndef f({head}):\n    {lines}\n")
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.parametrize("name", TAKEN)
def test_an_array_as_variables(name: str) -> None:
    func = kernel(TAKEN[name])
    body = variables_from_arrays(func.body)
    assert not any(type(node) is AllocBuffer for node in walk(body))
    assert any(type(node) is ScalarDecl for node in walk(body))
    made = func.replace(body=body)
    assert not verify(made)
    assert_same_result(func, made)


@pytest.mark.parametrize("name", LEFT)
def test_an_array_that_stays(name: str) -> None:
    func = kernel(LEFT[name])
    assert variables_from_arrays(func.body) is func.body


@pytest.mark.parametrize("place", ["", "        "])
def test_lanes_have_variables_of_their_own(place: str) -> None:
    alloc = f'{place}d = T.alloc_buffer((3,), "float32")\n'
    func = parse(f"""
@T.prim_func
def forces(P: T.Buffer((40, 3), "float32"), F: T.Buffer((40, 3), "float32")):
    {"" if place else alloc.strip()}
    for i in range(40):
        for c in range(3):
            F[i, c] = 0.0
        for j in range(40):
            {alloc.strip() if place else ""}
            r: T.float32 = 0.5
            for c in range(3):
                d[c] = P[j, c] - P[i, c]
                r += d[c] * d[c]
            for c in range(3):
                F[i, c] += d[c] / r
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(512, 1))
    assert "T.vectorized(" in made.script() and "alloc_buffer" not in made.script()
    assert not verify(made)
    assert_same_result(func, made, tolerance=1e-5)


def test_where_nothing_has_lanes_the_array_stays() -> None:
    func = kernel(TAKEN["a vector"])
    assert scheduled(func, CpuFacts(512, 1)) is func
