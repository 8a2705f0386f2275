"""Indices that are certainly out of bounds, and those that only may be."""

from __future__ import annotations

import pytest
from helpers.script import function

from tirscript.ir import (
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    DiagnosticError,
    For,
    Module,
    PrimFunc,
    Stmt,
    Var,
    const,
    structural_equal,
)
from tirscript.ir.out_of_bounds import out_of_bounds, require_in_bounds
from tirscript.script import parse

PARAMS = (
    'A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32"), S: T.Buffer(("n",), "float32"), k: T.int32, '
    'X: T.Buffer((16,), "int32")'
)


def told(body: str) -> list[str]:
    """The messages about a function with this body, without their common beginnings."""
    found = [one.diagnostic() for one in out_of_bounds(function(body, PARAMS))]
    assert all(one.code == "T113" and one.severity == "error" and one.hint for one in found)
    assert all(one.message.startswith("the index of `") for one in found)
    return [one.message.removeprefix("the index of ").replace(" is out of bounds", "") for one in found]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        # every kind of loop, with what it goes over
        ("for i in range(17):\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ("for i in range(-1, 3):\n    A[i] = 1.0", "`A`: i = -1 is not >= 0"),
        ("for i in range(0, 18, 4):\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ("for i in T.serial(20, -4, step=-6):\n    A[i + 4] = 1.0", "`A`: i = 20 gives `i + 4` = 24, not < 16"),
        ("for i in T.parallel(17):\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ("for i in T.unroll(17):\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ("for i in T.vectorized(17):\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ('for i in T.thread_binding(17, "threadIdx.x"):\n    A[i] = 1.0', "`A`: i = 16 is not < 16"),
        ('with T.launch_thread("threadIdx.x", 17) as i:\n    A[i] = 1.0', "`A`: i = 16 is not < 16"),
        # sums of several, each at its end
        (
            "for i, j in T.grid(4, 5):\n    B[0, i * 2 - j] = 1.0",
            "`B` in dimension 1: i = 0, j = 4 gives `i * 2 - j` = -4, not >= 0",
        ),
        ("for i, j in T.grid(4, 5):\n    B[j, i] = 1.0", "`B` in dimension 0: j = 4 is not < 4"),
        ("for i in range(17):\n    A[i - i + 16 * 1] = A[0]", "`A`: `i - i + 16` = 16 is not < 16"),
        (
            "for i in range(T.int8(17)):\n    A[T.int64(i) * 200] = 1.0",
            'gives `T.cast(i, "int64") * 200` = 3200, not < 16',
        ),
        # names and axes
        ("for i in range(16):\n    x = i + 1\n    y = x * 2\n    A[y] = 1.0", "`A`: i = 15 gives `y` = 32, not < 16"),
        ("x = 8\nA[x * 2] = 1.0", "`A`: `x * 2` = 16 is not < 16"),
        (
            'for i in range(5):\n    with T.block("b"):\n        v = T.axis.spatial(5, i)\n        B[v, 0] = 1.0',
            "`B` in dimension 0: i = 4 gives `v` = 4, not < 4",
        ),
        (
            'for i, j in T.grid(16, 2):\n    with T.block("b"):\n        v, r = T.axis.remap("SR", [i, j])\n'
            "        with T.init():\n            A[v] = 0.0\n        A[v] = A[v] + A[v + r]",
            "`A`: i = 15, j = 1 gives `v + r` = 16, not < 16",
        ),
        ("A[0] = T.Let(A[x], where={x: 3 + 13})", "`A`: `x` = 16 is not < 16"),
        # vectors
        (
            "for i in range(4):\n    A[T.ramp(i * 4, 2, 4)] = T.broadcast(T.float32(1), 4)",
            "`A`: i = 3 gives lane 3 of `T.ramp(i * 4, 2, 4)` = 18, not < 16",
        ),
        (
            "for i in range(4):\n    A[T.ramp(i, -1, 2)] = T.broadcast(T.float32(1), 2)",
            "`A`: i = 0 gives lane 1 of `T.ramp(i, -1, 2)` = -1, not >= 0",
        ),
        (
            "for i in range(17):\n    A[T.broadcast(i, 2)] = T.broadcast(T.float32(1), 2)",
            "`A`: i = 16 gives lane 0 of `T.broadcast(i, 2)` = 16, not < 16",
        ),
        ("for i in range(5):\n    B[i, 0:4] = T.broadcast(T.float32(1), 4)", "`B` in dimension 0: i = 4 is not < 4"),
        # wherever something is evaluated
        ("for i in range(17):\n    T.evaluate(A[i])", "`A`: i = 16 is not < 16"),
        ("for i in range(17):\n    x: T.float32 = A[i] + 1.0\n    A[0] = x", "`A`: i = 16 is not < 16"),
        ("for i in range(17):\n    if A[i] > 0.0:\n        A[0] = 1.0", "`A`: i = 16 is not < 16"),
        ("for i in range(17):\n    while A[i] > 0.0:\n        A[0] = 1.0", None),
        ("x = 16\nwhile A[x] > 0.0:\n    A[0] = 1.0", "`A`: `x` = 16 is not < 16"),
        ("for i in range(17):\n    for j in range(X[i]):\n        A[0] = 1.0", "`X`: i = 16 is not < 16"),
        ("for i in range(17):\n    A[X[i]] = 1.0", "`X`: i = 16 is not < 16"),
        ("for i in range(17):\n    A[0] = T.if_then_else(A[i] > 0.0, 1.0, 2.0)", "`A`: i = 16 is not < 16"),
        ('for i in range(17):\n    with T.attr(0, "key", 1):\n        A[i] = 1.0', "`A`: i = 16 is not < 16"),
        # what goes on does not hide it, nor does what comes behind
        ("if k > 0:\n    A[k] = 1.0\nfor i in range(17):\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ("for i in range(n):\n    S[i] = 1.0\nfor i in range(17):\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ("T.print(k)\nfor i in range(17):\n    T.print(k)\n    A[i] = 1.0", "`A`: i = 16 is not < 16"),
        ("for i in range(17):\n    A[i] = 1.0\nreturn", "`A`: i = 16 is not < 16"),
        ("for i in range(17):\n    A[i] = 1.0\nassert k > 0", "`A`: i = 16 is not < 16"),
        (
            "for i in range(17):\n    for j in range(4):\n        if A[j] > 0.0:\n            break\n    A[i] = 1.0",
            "`A`: i = 16 is not < 16",
        ),
        # behind what is launched the thread is free again, and of the same one the outer range counts
        (
            'with T.launch_thread("threadIdx.x", 8) as i:\n    A[i] = 1.0\n'
            'with T.launch_thread("threadIdx.x", 17) as j:\n    A[j] = 1.0',
            "`A`: j = 16 is not < 16",
        ),
        (
            'i = T.env_thread("threadIdx.x")\nwith T.launch_thread(i, 17):\n    x = i + 0\n'
            "    with T.launch_thread(i, 17):\n        A[x] = 1.0\n    A[i] = 1.0",
            "`A`: i = 16 is not < 16",
        ),
        # what is asked once, where the rest may not be
        ("x = 16\nassert A[x] > 0.0", "`A`: `x` = 16 is not < 16"),
        ("x = 16\nT.assume(A[x] > 0.0)", "`A`: `x` = 16 is not < 16"),
        ('x = 16\nwith T.launch_thread("threadIdx.x", X[x]) as i:\n    A[0] = 1.0', "`X`: `x` = 16 is not < 16"),
        ('x = 16\nwith T.block("b"):\n    v = T.axis.spatial(4, X[x])\n    A[v] = 1.0', "`X`: `x` = 16 is not < 16"),
        ('x = 16\nwith T.block("b"):\n    T.where(X[x] > 0)\n    A[0] = 1.0', "`X`: `x` = 16 is not < 16"),
        # what is the same for all iterations is told without them
        ("for i in range(4):\n    x = i + 16\n    A[x - i] = 1.0", "`A`: `x - i` = 16 is not < 16"),
        (
            "for i in range(16, 18):\n    A[T.ramp(i, -1, 2)] = T.broadcast(T.float32(1), 2)",
            "lane 0 of `T.ramp(i, -1, 2)` = 17, not < 16",
        ),
        # views count by their own shape
        ("V = T.decl_buffer((4,), data=A.data)\nfor i in range(8):\n    V[i] = 1.0", "`V`: i = 7 is not < 4"),
        ("V = T.alloc_buffer((0,))\nfor i in range(1):\n    V[i] = 1.0", "`V`: i = 0 is not < 0"),
    ],
)
def test_certain(body: str, message: str | None) -> None:
    found = told(body)
    if message is None:
        assert found == []
    else:
        assert len(found) == 1 and found[0].endswith(message), found


@pytest.mark.parametrize(
    "body",
    [
        # in bounds
        "for i in range(16):\n    A[i] = A[15 - i]",
        "for i in range(0, 17, 3):\n    A[i] = 1.0",
        "for i in range(4, 4):\n    A[i + 40] = 1.0",
        "for i in range(4, 0):\n    A[i + 40] = 1.0",
        "for i, j in T.grid(4, 4):\n    A[i * 4 + j] = B[i, j]",
        "for i in range(17):\n    A[i - i] = 1.0",
        # sizes and places that are not known
        "for i in range(n):\n    A[i + 16] = 1.0",
        "for i in range(17):\n    S[i] = 1.0",
        "for i in range(17):\n    for j in range(k):\n        A[i] = 1.0",
        "for i in range(17):\n    for j in range(i):\n        A[j + 16] = 1.0",
        "for i in range(17):\n    A[i + k] = 1.0",
        "for i in range(17):\n    A[i // 2 + 9] = 1.0",
        "for i in range(17):\n    A[i % 16] = A[i * i - 16 * i]",
        "for i in range(17):\n    A[X[0] + i] = 1.0",
        "for i in range(T.uint8(17)):\n    A[i * T.uint8(16)] = 1.0",
        "for i in range(17):\n    A[T.int64(i * 2**28)] = 1.0",
        # sums that wrap around, to what is in bounds
        "for i in range(T.uint8(16), T.uint8(17)):\n    x = i * T.uint8(16)\n    A[T.int32(x)] = 1.0",
        "for i in range(T.uint8(10), T.uint8(12)):\n    A[T.ramp(i, T.uint8(250), 2)] = T.broadcast(T.float32(1), 2)",
        # conditions
        "for i in range(17):\n    if i < 16:\n        A[i] = 1.0",
        "for i in range(17):\n    if k > 0:\n        A[0] = 1.0\n    else:\n        A[i] = 1.0",
        "for i in range(17):\n    A[0] = T.if_then_else(i < 16, A[i], 0.0)",
        "for i in range(17):\n    A[0] = T.Select(i < 16, A[i], 0.0)",
        "for i in range(17):\n    if i < 16 and A[i] > 0.0:\n        A[0] = 1.0",
        "for i in range(17):\n    if i == 16 or A[i] > 0.0:\n        A[0] = 1.0",
        'for i in range(17):\n    with T.block("b"):\n        v = T.axis.spatial(17, i)\n        T.where(i < 16)\n'
        "        A[v] = 1.0",
        'for i in range(2):\n    with T.block("b"):\n        v = T.axis.reduce(2, i)\n        with T.init():\n'
        "            A[v * 16] = 0.0\n        A[v] = A[v] + 1.0",
        # ways out, before it and around it
        "assert k > 0\nfor i in range(17):\n    A[i] = 1.0",
        "T.assume(k > 0)\nfor i in range(17):\n    A[i] = 1.0",
        "for i in range(17):\n    A[i] = 1.0\n    T.assume(i < 16)",
        "for i in range(17):\n    A[i] = 1.0\n    assert i < 15",
        "if k > 0:\n    return\nfor i in range(17):\n    A[i] = 1.0",
        "for j in range(n):\n    if k > j:\n        return\nfor i in range(17):\n    A[i] = 1.0",
        "for i in range(17):\n    A[i] = 1.0\n    if A[i] > 0.0:\n        break",
        "for i in range(17):\n    if i == 16:\n        continue\n    A[i] = 1.0",
        "while k > 0:\n    A[0] = 1.0\nfor i in range(17):\n    A[i] = 1.0",
        'T.call_extern("int32", "leave", k)\nfor i in range(17):\n    A[i] = 1.0',
        'for i in range(17):\n    A[i] = 1.0\n    T.call_extern("int32", "leave", i)',
        'for i in range(17):\n    A[0] = A[i] + T.call_extern("float32", "leave", i)',
        'for i in range(17):\n    A[i] = T.if_then_else(k > 0, T.call_extern("float32", "leave", i), 1.0)',
        'x = 16\nA[0] = A[x] + T.call_extern("float32", "leave", k)',
        'x = 16\nA[0] = T.call_extern("float32", "leave", k) + A[x]',
        'x = 16\nT.call_extern("int32", "leave", A[x])',
        'x = 16\nV = T.decl_buffer((4,), data=T.call_extern("handle", "leave"))\nA[x] = 1.0',
        'x = 16\nA.vstore([T.ramp(0, 1, 4)], T.broadcast(T.call_extern("float32", "leave"), 4), '
        "predicate=T.ramp(k, 1, 4) < 4)\nA[x] = 1.0",
        'x = 16\nB[0, 0:4] = A.vload([T.ramp(T.call_extern("int32", "leave"), 1, 4)], predicate=T.ramp(k, 1, 4) < 4)\n'
        "A[x] = 1.0",
        'x = 16\nfor i in range(4):\n    with T.block("b"):\n        v = T.axis.reduce(4, i)\n        with T.init():\n'
        '            T.call_extern("int32", "leave", 1)\n        A[x] = 1.0',
        'x = 16\nwith T.block("b"):\n    v = T.axis.spatial(4, T.call_extern("int32", "leave"))\n    A[x] = 1.0',
        'x = 16\nwith T.block("b"):\n    T.where(T.call_extern("bool", "leave"))\n    A[0] = 1.0\nA[x] = 1.0',
        'x = 16\nif T.call_extern("bool", "leave"):\n    A[0] = 1.0\nA[x] = 1.0',
        'x = 16\nfor i in range(T.call_extern("int32", "leave")):\n    A[0] = 1.0\nA[x] = 1.0',
        'x = 16\nwith T.launch_thread("threadIdx.x", T.call_extern("int32", "leave")) as i:\n    A[0] = 1.0\nA[x] = 1.0',
        # what is combined over no or not all values
        "x = 16\nA[0] = T.Reduce(T.comm_reducer(lambda x, y: x + y, [0.0]), lambda j: [A[x]], [n])",
        # a thread that is launched again is the same
        'with T.launch_thread("threadIdx.x", 8) as i:\n    for j in T.thread_binding(8, "threadIdx.x"):\n'
        "        A[i + j + 2] = 1.0",
        # no accesses
        "for i in range(17):\n    T.prefetch(T.address_of(A[i]))",
        'for i in range(17):\n    T.call_extern("int32", "f", T.address_of(A[i]))',
        'for i in range(17):\n    with T.block("b"):\n        T.reads(A[i])\n        T.writes(A[i])\n        A[0] = 1.0',
        "for i in range(8):\n    A.vstore([T.ramp(i * 4, 1, 4)], T.broadcast(T.float32(1), 4), "
        "predicate=T.ramp(i * 4, 1, 4) < 16)",
        "for i in range(8):\n    B[0, 0:4] = A.vload([T.ramp(i * 4, 1, 4)], predicate=T.ramp(i * 4, 1, 4) < 16)",
        # a vector may run on into the next row
        "for i in range(4):\n    B[0, T.ramp(i * 4, 1, 4)] = T.broadcast(T.float32(1), 4)",
    ],
)
def test_not_certain(body: str) -> None:
    assert told(body) == []


def test_a_call_of_a_function_may_leave() -> None:
    text = """@I.ir_module
class M:
    @T.prim_func(private=True)
    def leave(k: T.int32):
        assert k > 0

    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), k: T.int32):
        {}
        for i in range(17):
            A[i] = 1.0
"""
    for line, count in (("A[0] = 1.0", 1), ("M.leave(k)", 0)):
        module = parse(text.format(line))
        assert isinstance(module, Module)
        assert len(out_of_bounds(module.prim_func("main"))) == count


def test_what_a_function_returns() -> None:
    func = function("x = 16\nreturn A[x]", PARAMS, " -> T.float32")
    assert [one.values for one in out_of_bounds(func)] == ["`x` = 16 is not < 16"]


def test_messages_are_in_the_order_of_the_text() -> None:
    with pytest.raises(DiagnosticError) as caught:
        require_in_bounds(function("for i in range(17):\n    A[i] = A[i + 1] * A[i + 2]", PARAMS))
    columns = [one.span.column for one in caught.value.diagnostics if one.span is not None]
    assert len(columns) == 3 and columns == sorted(columns)


def test_programs_made_by_hand() -> None:
    A, i, x = Buffer("A", (const(16),)), Var("i"), Var("x")
    store = BufferStore(A, (x,), const(1.0))
    # one name for two values
    names = (Bind(x, i + 1), Bind(x, BufferLoad(A, (const(0),)).astype("int32")), store)
    assert out_of_bounds(PrimFunc("f", (A,), (For(i, const(0), const(17), names),))) == []
    # a loop that stays where it is, which the verifier refuses
    still = For(x, const(0), const(17), (store,), step=const(0))
    assert out_of_bounds(PrimFunc("f", (A,), (still,))) == []
    # deeper than Python's own stack
    body: tuple[Stmt, ...] = (For(x, const(0), const(17), (store,)),)
    for _ in range(2000):
        body = (For(Var("i"), const(0), const(2), body),)
    assert [one.values for one in out_of_bounds(PrimFunc("f", (A,), body))] == ["x = 16 is not < 16"]


def test_the_place_is_the_index() -> None:
    func = function("for i, j in T.grid(5, 5):\n    B[i, j + 1] = A[4 * j]", PARAMS)
    found = [one.diagnostic() for one in out_of_bounds(func)]
    assert sorted(one.span.text for one in found if one.span is not None) == ["4 * j", "i", "j + 1"]
    assert all(one.labels[1].message.endswith("is declared here") for one in found)


def test_a_thread_that_is_launched_again_keeps_what_it_was_outside() -> None:
    inner = '    for j in T.thread_binding(8, "threadIdx.x"):\n        A[j] = 1.0\n'
    text = f'with T.launch_thread("threadIdx.x", 17) as i:\n{inner}    A[i] = 1.0'
    assert told(text) == ["`A`: i = 16 is not < 16"]


def test_functions_that_ask_for_no_check() -> None:
    func = function("for i in range(17):\n    A[i] = 1.0", PARAMS)
    with pytest.raises(DiagnosticError):
        require_in_bounds(func)
    unchecked = func.replace(check_well_formed=False)
    require_in_bounds(unchecked)
    assert structural_equal(unchecked.replace(check_well_formed=True), func)


def test_names_of_names_are_no_sums_of_their_own() -> None:
    """Each name is a sum of loop variables; written out, the last one would be of 2**60 terms."""
    lines = "".join(f"    x{at + 1} = x{at} + x{at}\n" for at in range(60))
    text = f"for i in T.serial(T.int64(2)):\n    x0 = i\n{lines}    A[x60] = 1.0"
    assert told(text) == [f"`A`: i = 1 gives `x60` = {2**60}, not < 16"]


def test_one_element_at_an_address_is_all_that_lie_behind_it() -> None:
    """As lowered code of TVM has it; a view of a buffer of the program has the elements that it says."""
    text = "@T.prim_func\ndef f(p: T.handle('float32'), A: T.Buffer((16,), 'float32')):\n"
    text += "    V = T.decl_buffer((1,), data={data})\n    for i in range(16):\n        V[i] = 1.0\n"
    assert out_of_bounds(parse(text.format(data="p"))) == []
    assert len(out_of_bounds(parse(text.format(data="A.data")))) == 1
