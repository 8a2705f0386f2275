"""What dependences make of memory that is shared, seen through views, handed away, or not known."""

from __future__ import annotations

from typing import Any

import pytest

from tirscript.ir import Attrs, For, PrimFunc, walk
from tirscript.ir.arith.presburger import (
    Dependences,
    Verdict,
    carried,
    dead_stores,
    dependences,
    is_parallel,
    may_merge,
    may_parallel,
    may_permute,
    may_swap,
    uncovered_reads,
)
from tirscript.ir.arith.presburger.steps import Step
from tirscript.script import parse

HEADER = "from tirscript.script import tir as T\n\n\n@T.prim_func(check_well_formed=False)\n"
PARAMS = 'A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "int32")'


def func_of(body: str, params: str = PARAMS) -> PrimFunc:
    lines = body.strip("\n").split("\n")
    found = parse(HEADER + f"def f({params}):\n" + "".join(f"    {line}\n" for line in lines))
    assert isinstance(found, PrimFunc)
    return found


def loops(func: PrimFunc) -> list[For]:
    return [node for node in walk(func) if type(node) is For]


def parallel(body: str, params: str = PARAMS, at: int = 0) -> Verdict:
    func = func_of(body, params)
    found = may_parallel(Dependences(func), loops(func)[at])
    assert is_parallel(Dependences(func), loops(func)[at]) is (found.legal is True)
    certain = [str(one) for one in carried(Dependences(func), loops(func)[at], perhaps=False) if one.exact]
    assert sorted(certain) == sorted(str(one) for one in found.violations if one.exact)
    return found


SYMBOLIC = 'A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n * m",), "float32"), n: T.int32, m: T.int32'
# a loop and whether it may be parallel: True, False (certainly not) or None (not known)
LOOPS = {
    "apart": ("for i in range(16):\n    A[i, 0] = B[i, 0]", PARAMS, True),
    "one element": ("for i in range(16):\n    A[0, 0] = B[i, 0]", PARAMS, False),
    "what is never equal": ("for i in range(8):\n    A[2 * i, 0] = A[2 * i + 1, 0]", PARAMS, True),
    "a shifted read": ("for i in range(15):\n    A[i + 1, 0] = A[i, 0]", PARAMS, False),
    "an index that is read": ("for i in range(16):\n    A[C[i], 0] = B[i, 0]", PARAMS, None),
    "reads at an index that is read": ("for i in range(16):\n    A[i, 0] = B[C[i], 0]", PARAMS, True),
    "a product as index": ("for i in range(4):\n    A[i * i % 16, 0] = 1.0", PARAMS, None),
    "a break": ("for i in range(16):\n    if A[i, 0] > 0.0:\n        break\n    B[i, 0] = 1.0", PARAMS, None),
    "a continue": ("for i in range(16):\n    if A[i, 0] > 0.0:\n        continue\n    B[i, 0] = 1.0", PARAMS, True),
    "a return": ("for i in range(16):\n    if A[i, 0] > 0.0:\n        return\n    B[i, 0] = 1.0", PARAMS, None),
    "a print": ('for i in range(16):\n    T.print("x", i)', PARAMS, None),
    "an address given away": (
        'for i in range(16):\n    T.evaluate(T.call_extern("int32", "g", A.data))',
        PARAMS,
        None,
    ),
    "a private scalar": ("for i in range(16):\n    x = A[i, 0]\n    x = x + 1.0\n    B[i, 0] = x", PARAMS, True),
    "a scalar around": ("x: T.float32 = 0.0\nfor i in range(16):\n    x = x + A[i, 0]\nB[0, 0] = x", PARAMS, False),
    "a private buffer": (
        'for i in range(16):\n    t = T.alloc_buffer((4,), "float32")\n    t[0] = A[i, 0]\n    B[i, 0] = t[0]',
        PARAMS,
        True,
    ),
    "a shared buffer": (
        't = T.alloc_buffer((4,), "float32")\nfor i in range(16):\n    t[0] = A[i, 0]\n    B[i, 0] = t[0]',
        PARAMS,
        False,
    ),
    "a guard that keeps them apart": (
        "for i in range(15):\n    if i < 1:\n        A[i + 1, 0] = A[i, 0]",
        PARAMS,
        True,
    ),
    "a guard that is read": ("for i in range(15):\n    if C[i] > 0:\n        A[i + 1, 0] = A[i, 0]", PARAMS, None),
    "a read that a guard keeps apart": (
        "for i in range(15):\n    A[i, 0] = T.if_then_else(i > 20, A[i + 1, 0], 0.0)",
        PARAMS,
        True,
    ),
    "vectors apart": ("for i in range(4):\n    A[0, T.ramp(i * 4, 1, 4)] = T.broadcast(T.float32(1), 4)", PARAMS, True),
    "vectors that overlap": (
        "for i in range(4):\n    A[0, T.ramp(i * 3, 1, 4)] = T.broadcast(T.float32(1), 4)",
        PARAMS,
        False,
    ),
    "lanes that miss each other": (
        "for i in range(2):\n    A[0, T.ramp(i, 2, 4)] = T.broadcast(T.float32(1), 4)",
        PARAMS,
        True,
    ),
    "regions passed on apart": (
        "for i in range(4):\n    A[i, 0] = 1.0\n    B[i, T.ramp(0, 1, 4)] = A[i, T.ramp(0, 1, 4)]",
        PARAMS,
        True,
    ),
    "bounds that are read": ("for i in range(C[0], C[1]):\n    A[i, 0] = B[i, 0]", PARAMS, True),
    "symbolic rows": ("for i in range(n):\n    for j in range(m):\n        A[i, j] = 1.0", SYMBOLIC, True),
    "a symbolic product": ("for i in range(n):\n    for j in range(m):\n        B[i * m + j] = 1.0", SYMBOLIC, None),
    # the view alone is accessed: its indices are coordinates, whatever the parameter's shape is
    "rows of a flat view": (
        't = T.decl_buffer((n * m, 16), "float32", data=A.data)\nfor i in range(n * m):\n    t[i, 0] = 1.0',
        'A: T.Buffer(("n", "m", 16), "float32")',
        True,
    ),
    "multiples that do not wrap": (
        "for i in range(n):\n    A[i * 4] = A[i * 4 + 1]",
        'A: T.Buffer(("n * 4",), "float32"), n: T.int32',
        True,
    ),
    "an index that wraps": (
        "for i in range(T.int8(0), T.int8(65)):\n    A[T.max(i * T.int8(4), T.int8(0))] = 1.0",
        'A: T.Buffer((128,), "float32")',
        False,
    ),
    "an offset of which little is known": (
        "for i in range(8):\n    A[i + k] = A[i + k + 8]",
        'A: T.Buffer((64,), "float32"), k: T.int32',
        True,
    ),
}


@pytest.mark.parametrize("case", LOOPS)
def test_parallel(case: str) -> None:
    body, params, expected = LOOPS[case]
    verdict = parallel(body, params)
    assert verdict.legal is expected, str(verdict)
    assert bool(verdict) is (expected is True)
    assert bool(verdict.violations) is (expected is not True)


def test_a_violation_shows_two_iterations() -> None:
    verdict = parallel(LOOPS["a shifted read"][0])
    assert str(verdict) == "`A` is read after it was written: i = 0 and i = 1"
    only = verdict.violations[0]
    assert only.kind == "flow" and only.name == "A" and only.level == 0 and type(only.loop) is For
    perhaps = parallel(LOOPS["an index that is read"][0])
    assert str(perhaps).startswith("perhaps `A` is written twice: i = ")


VIEWS = {
    "a region": "t = T.match_buffer(A[8:16, 0:16], (8, 16))\nfor i in range(8):\n    A[i, 0] = t[i, 0]",
    "a region of a region": (
        "t = T.match_buffer(A[8:16, 0:16], (8, 16))\nu = T.match_buffer(t[0:4, 4:8], (4, 4))\n"
        "for i in range(4):\n    A[8, i] = u[i, 0]"
    ),
    "a view of another shape": 't = T.decl_buffer((256,), "float32", data=A.data)\nfor i in range(8):\n    A[i, 0] = t[128 + i]',
}
OVERLAPS = {
    "a region": "t = T.match_buffer(A[1:16, 0:16], (15, 16))\nfor i in range(15):\n    t[i, 0] = A[i, 0]",
    "a region of a region": (
        "t = T.match_buffer(A[8:16, 0:16], (8, 16))\nu = T.match_buffer(t[0:4, 4:8], (4, 4))\n"
        "for i in range(4):\n    A[9, 4] = u[i, 0]"
    ),
    "a view of another shape": 't = T.decl_buffer((256,), "float32", data=A.data)\nfor i in range(8):\n    A[i, 0] = t[16 + i]',
}


@pytest.mark.parametrize("case", VIEWS)
def test_views_that_miss_each_other(case: str) -> None:
    assert parallel(VIEWS[case]).legal is True


@pytest.mark.parametrize("case", OVERLAPS)
def test_views_that_overlap(case: str) -> None:
    assert parallel(OVERLAPS[case]).legal is False


def test_a_view_of_another_dtype_is_the_same_memory() -> None:
    verdict = parallel(
        't = T.decl_buffer((256,), "int32", data=A.data)\nfor i in range(8):\n    A[i, 0] = T.float32(t[200])'
    )
    assert verdict.legal is None


def test_a_pointer_of_which_nothing_is_known_may_be_anywhere() -> None:
    verdict = parallel(
        'p: T.handle = T.call_extern("handle", "g")\nt = T.decl_buffer((16,), "float32", data=p)\n'
        "for i in range(15):\n    t[i] = A[i, 0]\n    A[i, 1] = 0.0"
    )
    assert verdict.legal is None


def test_one_dependence_is_enough_to_know_that_a_loop_is_not_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many statements, all pairs would take long."""
    func = func_of("for i in range(15):\n" + "\n".join(f"    A[i + 1, {at}] = A[i, {at}]" for at in range(12)))
    asked: list[object] = []
    pairs = Dependences.pairs

    def counted(self: Dependences, *args: Any) -> Any:
        asked.append(args)
        return pairs(self, *args)

    monkeypatch.setattr(Dependences, "pairs", counted)
    assert not is_parallel(Dependences(func), loops(func)[0])
    few = len(asked)
    assert len(may_parallel(Dependences(func), loops(func)[0]).violations) == 12 and len(asked) >= 12 * few


def test_statements_know_the_views_of_their_function() -> None:
    func = func_of('t = T.decl_buffer((256,), "float32", data=A.data)\nfor i in range(8):\n    A[i, 0] = t[16 + i]')
    (loop,) = loops(func)
    assert may_parallel(Dependences((loop,), within=func), loop).legal is False
    aliased = func.replace(attrs=Attrs({"noalias": False}))
    (only,) = func_of("for i in range(15):\n    A[i, 0] = B[i + 1, 0]").body
    assert type(only) is For
    assert may_parallel(Dependences((only,)), only).legal is True
    assert may_parallel(Dependences((only,), within=aliased), only).legal is None


def test_parameters_overlap_only_where_the_function_says_so() -> None:
    body = "for i in range(15):\n    A[i, 0] = B[i + 1, 0]"
    assert parallel(body).legal is True
    assert parallel('T.func_attr({"noalias": False})\n' + body).legal is None
    func = func_of(body)
    assert may_parallel(Dependences(func, noalias=False), loops(func)[0]).legal is None
    local = 't = T.alloc_buffer((16,), "float32")\nfor i in range(15):\n    t[i] = B[i + 1, 0]'
    assert parallel('T.func_attr({"noalias": False})\n' + local).legal is True


def test_one_handle_matched_twice_is_one_memory() -> None:
    body = 'A = T.match_buffer(a, (16,), "float32")\nB = T.match_buffer(a, (16,), "float32")\nfor i in range(15):\n    A[i] = B[i + 1]'
    assert parallel(body, "a: T.handle").legal is False
    apart = body.replace('match_buffer(a, (16,), "float32")\nfor', 'match_buffer(b, (16,), "float32")\nfor')
    assert parallel(apart, "a: T.handle, b: T.handle").legal is True


REDUCTION = """
for i, k in T.grid(16, 16):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            A[vi, 0] = 0.0
        A[vi, 0] = A[vi, 0] + B[vi, vk]
"""


def test_reductions_are_told_apart() -> None:
    func = func_of(REDUCTION)
    outer, inner = loops(func)
    deps = Dependences(func)
    assert may_parallel(deps, outer).legal is True
    assert may_parallel(deps, inner).legal is False
    # the init still comes first
    violations = may_parallel(deps, inner, reductions=True).violations
    assert violations and all(one.source.path[-1].value.dtype for one in violations)  # type: ignore[attr-defined]
    assert {one.source.number for one in violations} == {0}
    plain = func_of("for i, k in T.grid(16, 16):\n    A[i, 0] = A[i, 0] + B[i, k]")
    assert may_parallel(Dependences(plain), loops(plain)[1], reductions=True).legal is True
    other = func_of("for i, k in T.grid(16, 16):\n    A[i, 0] = A[i, 0] - B[i, k]")
    assert may_parallel(Dependences(other), loops(other)[1], reductions=True).legal is False
    twice = func_of("for i, k in T.grid(16, 16):\n    A[i, 0] = A[i, 0] + A[k, 0]")
    assert may_parallel(Dependences(twice), loops(twice)[1], reductions=True).legal is False


def test_reasons_that_are_no_dependences() -> None:
    func = func_of("for i in range(4):\n    for j in range(i, 4):\n        A[i, j] = 1.0")
    outer, inner = loops(func)
    verdict = may_permute(Dependences(func), [outer, inner], [inner, outer])
    assert verdict.legal is False and str(verdict) == "the range of `j` depends on `i`, which would run inside of it"
    func = func_of("for i in range(4):\n    B[i, 0] = 0.0\n    for j in range(4):\n        A[i, j] = 1.0")
    outer, inner = loops(func)
    verdict = may_permute(Dependences(func), [outer, inner], [inner, outer])
    assert verdict.legal is False and "not perfectly nested" in str(verdict)
    func = func_of("for i in range(4):\n    A[i, 0] = 1.0\nfor j in range(5):\n    B[j, 0] = 1.0")
    verdict = may_merge(Dependences(func), *loops(func))
    assert verdict.legal is False and "do not run over the same range" in str(verdict)
    func = func_of("for i in range(C[0]):\n    A[i, 0] = 1.0\nfor j in range(C[0]):\n    B[j, 0] = 1.0")
    verdict = may_merge(Dependences(func), *loops(func))
    assert verdict.legal is None and str(verdict) == "the range of `i` is read from memory"


def test_ranges_that_are_equal_in_other_words() -> None:
    func = func_of(
        "for i in range(n + n):\n    A[i] = 1.0\nfor j in range(2 * n):\n    B[j] = 1.0",
        'A: T.Buffer(("n + n",), "float32"), B: T.Buffer(("n * 2",), "float32"), n: T.int32',
    )
    assert may_merge(Dependences(func), *loops(func)).legal is True


def test_stencil_and_copy_cannot_merge() -> None:
    func = func_of("for i in range(15):\n    A[i, 0] = B[i, 0]\nfor j in range(15):\n    B[j, 1] = A[j + 1, 0]")
    verdict = may_merge(Dependences(func), *loops(func))
    assert verdict.legal is False and "i = 1 and j = 0" in str(verdict)


def test_swapping_statements() -> None:
    func = func_of("A[0, 0] = 1.0\nB[0, 0] = 2.0\nA[0, 1] = A[0, 0]")
    deps = Dependences(func)
    first, second, third = func.body
    assert may_swap(deps, first, second).legal is True
    assert may_swap(deps, first, third).legal is False
    assert may_swap(deps, [first, second], third).legal is False


def test_what_reads_cannot_be_proved_dead() -> None:
    func = func_of('t = T.alloc_buffer((4,), "float32")\nt[0] = 1.0\nT.evaluate(T.call_extern("int32", "g", t.data))')
    assert dead_stores(Dependences(func)) == []
    func = func_of("if C[0] > 0:\n    A[0, 0] = 1.0\nA[0, 0] = 2.0")
    assert [step.number for step in dead_stores(Dependences(func))] == [1]
    func = func_of("A[0, 0] = 1.0\nif C[0] > 0:\n    A[0, 0] = 2.0")
    assert dead_stores(Dependences(func)) == []
    func = func_of("A[0, 0] = 1.0\nif C[0] > 0:\n    return\nA[0, 0] = 2.0")
    assert dead_stores(Dependences(func)) == []
    func = func_of("A[0, 0] = 1.0\nB[0, 0] = A[C[0], 0]\nA[0, 0] = 2.0")
    assert dead_stores(Dependences(func)) == []


def test_uncovered_reads_name_an_iteration() -> None:
    func = func_of(
        't = T.alloc_buffer((16,), "float32")\nfor i in range(8):\n    t[i] = 1.0\nfor j in range(9):\n    B[j, 0] = t[j]'
    )
    (only,) = uncovered_reads(Dependences(func))
    assert list(only.values.values()) == [8]
    params = 'A: T.Buffer(("n",), "float32"), B: T.Buffer((4,), "float32")'
    empty = func_of('t = T.alloc_buffer((1,), "float32")\nfor i in range(n):\n    t[0] = A[i]\nB[0] = t[0]', params)
    (only,) = uncovered_reads(Dependences(empty))
    (size,) = empty.symbols
    assert only.symbols == {size: 0}
    assert uncovered_reads(Dependences(empty, {size: (1, 1 << 20)})) == []
    undef = func_of('t = T.alloc_buffer((16,), "float32")\nt[0] = T.undef("float32")\nB[0, 0] = t[0]')
    assert len(uncovered_reads(Dependences(undef))) == 1
    known = func_of(
        'k = T.allocate_const([1.0, 2.0], "float32", (2,))\nv = T.decl_buffer((2,), "float32", data=k.data)\n'
        't = T.alloc_buffer((2,), "float32")\nt[0] = k[1] + v[0]\nB[0, 0] = t[0]'
    )
    assert uncovered_reads(Dependences(known)) == []


def test_a_while_loop_keeps_its_order() -> None:
    func = func_of("x: T.int32 = 0\nwhile x < 4:\n    A[x, 0] = 1.0\n    x = x + 1")
    found = dependences(func)
    assert {one.kind for one in found if one.name == "x"} == {"flow", "anti", "output"}
    assert any(one.name == "the condition of a loop" and one.level == 0 for one in found)


def test_values_that_change_are_not_mistaken_for_one() -> None:
    # what guards the store is read before the index changes
    body = "for i in range(16):\n    if C[0] < 4:\n        C[0] = 9\n        A[C[0], 0] = A[9, 0]"
    deps = Dependences(func_of(body))
    assert any(one.name == "A" for one in deps.all())
    # a bound name keeps its value
    body = "for i in range(16):\n    k = C[i]\n    A[k, 0] = A[k, 1]"
    assert parallel(body).legal is None


def test_a_step_larger_than_is_looked_at_is_not_proved() -> None:
    index = " + ".join(f"T.min(i, {at}) % {at + 2}" for at in range(1200))
    verdict = parallel(f"for i in range(16):\n    A[({index}) % 16, 0] = 1.0")
    assert verdict.legal is None and verdict.violations[0].relation is None


CALLER = """from tirscript.script import ir as I, tir as T


@I.ir_module
class M:
    @T.prim_func
    def g(X: T.Buffer((WIDTH, 16), "float32")):
        X[0, 0] = 1.0

    @T.prim_func
    def f(A: T.Buffer((16, 16), "float32")):
        for i in range(4):
            M.g(A[STEP * i : STEP * i + WIDTH, 0:16])
"""


@pytest.mark.parametrize(("width", "step", "meets"), [(2, 1, True), (2, 2, False)])
def test_regions_passed_to_functions(width: int, step: int, meets: bool) -> None:
    module = parse(CALLER.replace("WIDTH", str(width)).replace("STEP", str(step)))
    func = module["f"]
    verdict = may_parallel(Dependences(func), loops(func)[0])
    assert verdict.legal is None  # what a call prints or raises has an order too
    assert ("A" in {one.name for one in verdict.violations}) is meets


# -- many statements at once


def unrolled(count: int, last: str = "", params: str = PARAMS) -> str:
    rows = [f"    B[{at}, i] = B[{at}, i] + A[i, {at}]" for at in range(count)]
    return "\n".join(["for i in range(16):", *rows, *([f"    {last}"] if last else [])])


def test_unrolled_statements_are_proved_apart_together(monkeypatch: pytest.MonkeyPatch) -> None:
    func = func_of(unrolled(8))
    deps = Dependences(func)
    assert deps.apart(deps.steps, 0)
    with monkeypatch.context() as patch:  # and the verdict needs no look at the pairs
        patch.setattr(Dependences, "among", None)
        assert parallel(unrolled(8)).legal is True
    for last in ("B[0, i + 1 - i // 15] = A[0, i]", "C[0] = C[0] + 1"):
        verdict = parallel(unrolled(8, last))
        assert verdict.legal is False and verdict.violations
    read = "C[i] = T.int32(0) + T.cast(A[i, 3], 'int32')"
    assert parallel(unrolled(8, read)).legal is True


def test_what_is_not_known_is_not_proved_apart() -> None:
    func = func_of(unrolled(8))
    aliased = Dependences(func, noalias=False)
    assert not aliased.apart(aliased.steps, 0)
    assert may_parallel(aliased, loops(func)[0]).legal is None
    indirect = func_of(unrolled(8, "B[C[i], 0] = 1.0"))
    deps = Dependences(indirect)
    assert not deps.apart(deps.steps, 0) and may_parallel(deps, loops(indirect)[0]).legal is None
    turned = func_of(unrolled(8).replace("B[0, i]", "B[0, i * 5 % 16]"))
    enough, short = Dependences(turned), Dependences(turned, operations=10)
    assert enough.apart(enough.steps, 0) and not short.apart(short.steps, 0)


def test_the_outer_loops_are_the_same_iteration() -> None:
    func = func_of(
        "for i in range(4):\n    for j in range(4):\n        B[i, j] = A[i, j]\n        B[i, 3 - j] = A[j, i]"
    )
    deps = Dependences(func)
    assert deps.apart(deps.steps, 0) and not deps.apart(deps.steps, 1)


def test_memory_of_each_iteration_is_no_dependence_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    body = """
for i in range(4):
    L = T.alloc_buffer((8,), "float32")
    for j in range(8):
        L[j] = A[i, j]
    for j in range(1, 8):
        L[0] = L[0] + L[j]
    B[i, 0] = L[0]
"""
    func = func_of(body)
    deps = Dependences(func)
    outer, _, inner = loops(func)
    local = [step for step in deps.steps if any(access.root.name == "L" and access.write for access in step.accesses)]
    asked: list[str] = []
    pairs = Dependences.pairs

    def seen(self: Dependences, a: Step, i: int, b: Step, j: int) -> Any:
        asked.append(a.accesses[i].root.name)
        return pairs(self, a, i, b, j)

    monkeypatch.setattr(Dependences, "pairs", seen)
    assert list(deps.among(local, 0)) == [] and asked == [], "which needs no relation"
    assert may_parallel(deps, outer).legal is True and may_parallel(deps, inner).legal is False
    assert {one.level for one in deps.all() if one.name == "L"} == {None, 1}


def test_what_is_certain_is_asked_of_no_accesses_whose_place_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    func = func_of(
        "for i in range(4):\n    A[i, 0] = B[i, 0]\n    A[i, 1] = B[i, 1]\n    T.evaluate(T.call_extern('int32', 'f', A.data))"
    )
    asked: list[Step] = []
    pairs = Dependences.pairs

    def seen(self: Dependences, a: Step, i: int, b: Step, j: int) -> Any:
        asked.append(a)
        return pairs(self, a, i, b, j)

    monkeypatch.setattr(Dependences, "pairs", seen)
    (loop,) = loops(func)
    found = list(carried(Dependences(func), loop))
    assert any(one.source.node is not one.sink.node for one in found) and len(asked) > 1
    asked.clear()
    own = list(carried(Dependences(func), loop, perhaps=False))
    assert own and all(one.source.node is one.sink.node for one in own), "of a statement with itself, they are told"
    assert len(asked) == len(own) < len(found)


def test_symbols_beyond_the_range_of_int64() -> None:
    func = func_of(
        "for i in range(16):\n    if T.uint64(1) < n:\n        C[i] = 1\nfor i in range(16):\n    C[i] = 2",
        f"{PARAMS}, n: T.uint64",
    )
    deps = Dependences(func)
    assert [step.node for step in dead_stores(deps)] == [step.node for step in deps.steps if step.guards]
