"""Copies of constants that are made when a function is compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.build import lowered_module
from tirscript.ir import AllocateConst, ConstantStore, Module, PrimFunc, constant, verify
from tirscript.ir.expr import CallFunction
from tirscript.ir.rewrite import rewrite
from tirscript.passes import DEFAULT_LOWERING, get_pass
from tirscript.passes.constants import mark_constant_parameters, pack_constants
from tirscript.passes.constants.constant_parameters import MARK, is_constant
from tirscript.passes.graph import bind_params
from tirscript.script import parse

W = np.arange(64 * 32, dtype="float32").reshape(64, 32)
TEXT = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((32,), "float32")):
    # weights
    W = T.constant("{digest}", (64, 32), "float32")
    # panels
    P = T.alloc_buffer((2, 64, 16), "float32")
    for i, j in T.grid(64, 32):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            {store} = {value}
    for j, i in T.grid(32, 64):
        with T.block("B"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                B[vj] = 0.0
            B[vj] += A[vi] * P[vj // 16, vi, vj % 16]
"""


def program(store: str = "P[vj // 16, vi, vj % 16]", value: str = "W[vi, vj]", extra: str = "") -> PrimFunc:
    data = constant(W)
    text = TEXT.format(digest=data.digest, store=store, value=value) + extra
    found = parse(text, constants=ConstantStore.of(data) if hasattr(ConstantStore, "of") else _store(data))
    assert isinstance(found, PrimFunc)
    return found


def _store(data: object) -> ConstantStore:
    store = ConstantStore()
    store.add(data)
    return store


def test_a_copy_is_made_once() -> None:
    func = program()
    made = pack_constants(func)
    text = made.script()
    assert text.count("T.constant") == 1 and 'T.block("P")' not in text and "(2, 64, 16)" in text
    assert "# panels" in text
    a = np.random.default_rng(3).random(64, "float32")
    results = []
    for one in (func, made):
        b = np.zeros(32, "float32")
        tirscript.interpret(one, a, b)
        results.append(b)
    np.testing.assert_array_equal(results[0], results[1])
    assert pack_constants(made) is made


def test_the_constant_stays_where_it_is_read_too() -> None:
    made = pack_constants(program(extra="    B[0] = W[0, 0]\n"))
    assert made.script().count("T.constant") == 2


@pytest.mark.parametrize(
    ("store", "value", "extra"),
    [
        ("P[0, vi, vj % 16]", "W[vi, vj]", ""),  # not all of the target
        ("P[vj // 16, vi, vj % 16]", "W[vi, vj] * 2.0", ""),
        ("P[vj // 16, vi, vj % 16]", "A[vi]", ""),
        ("P[vj // 16, vi, vj % 16]", "W[vi, vj]", "    P[0, 0, 0] = 1.0\n"),
        ("P[vj // 16, vi, vj % 16]", "W[vi, vj]", '    T.evaluate(T.call_packed("f", P.data))\n'),
    ],
)
def test_what_is_no_copy_stays(store: str, value: str, extra: str) -> None:
    func = program(store, value, extra)
    assert pack_constants(func) is func
    assert get_pass("pack_constants", limit=10)(program()) is not None


def test_large_copies_stay() -> None:
    func = program()
    assert pack_constants(func, limit=64 * 32 - 1) is func


def test_schedules_copy_constants() -> None:
    sch = tirscript.Schedule(program())
    copied = sch.cache_read("P", "W", "global")
    assert sch.get(copied).name == "W_global"


CALLED = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((64,), "float32"), W: T.Buffer((64, 32), "float32"), B: T.Buffer((32,), "float32")):
        P = T.alloc_buffer((2, 64, 16), "float32")
        for i, j in T.grid(64, 32):
            with T.block("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vj // 16, vi, vj % 16] = W[vi, vj]
        for j, i in T.grid(32, 64):
            with T.block("B"):
                vj, vi = T.axis.remap("SR", [j, i])
                with T.init():
                    B[vj] = 0.0
                B[vj] += A[vi] * P[vj // 16, vi, vj % 16]
        {extra}

    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((3, 32), "float32"), V: T.Buffer((64, 32), "float32")):
        # first
        W = T.constant("{first}", (64, 32), "float32")
        # second
        W2 = T.constant("{second}", (64, 32), "float32")
        b = T.alloc_buffer((32,), "float32")
        for k in range(3):
            if k == 0:
                M.f(A, {given}, b)
            else:
                M.f(A, W2, b)
            for j in range(32):
                B[k, j] = b[j]
"""


def called(given: str = "W", extra: str = "") -> Module:
    first, second = constant(W.copy()), constant(W + 1)
    store = ConstantStore()
    store.add(first)
    store.add(second)
    text = CALLED.format(first=first.digest, second=second.digest, given=given, extra=extra)
    found = parse(text, constants=store)
    assert isinstance(found, Module)
    return found


def results(module: Module) -> list[np.ndarray[Any, Any]]:
    assert not verify(module)
    a = np.random.default_rng(3).random(64, "float32")
    found = [np.zeros((3, 32), "float32") for _ in range(2)]
    tirscript.interpret(module, a, found[0], W)
    tirscript.build(module, pipeline=DEFAULT_LOWERING)(a, found[1], W)
    return found


@pytest.mark.parametrize("extra", ["", "B[0] = W[0, 1]"])
def test_a_function_that_is_called_with_constants_takes_the_copies(extra: str) -> None:
    module = called(extra=extra)
    made = pack_constants(module)
    inner, main = made["f"], made["main"]
    assert isinstance(inner, PrimFunc) and isinstance(main, PrimFunc)
    assert [param.name for param in inner.params] == ["A", *(["W"] if extra else []), "B", "P"]
    constants = [stmt for stmt in main.body if type(stmt) is AllocateConst]
    assert [stmt.buffer.name for stmt in constants if stmt.buffer.ndim == 3] == ["W_packed", "W2_packed"]
    assert len(constants) == (4 if extra else 2)
    text = made.script()
    assert 'T.block("P")' not in text and text.index("# first") < text.index("# second")
    for one in results(made):
        np.testing.assert_array_equal(one, results(module)[0])
    assert pack_constants(made) is made


@pytest.mark.parametrize(("given", "wanted"), [("W", (1,)), ("V", ())])
def test_functions_say_which_parameters_are_constants(given: str, wanted: tuple[int, ...]) -> None:
    module = mark_constant_parameters(called(given=given))
    assert module["f"].attrs[MARK] == wanted and MARK not in module["main"].attrs
    assert not verify(module) and MARK in module.script()
    assert MARK not in pack_constants(module)["f"].attrs  # the copy is another parameter


@pytest.mark.parametrize(
    ("attribute", "wanted"),
    [
        ('"constant_parameters": (1,)', True),
        ('"constant_parameters": ()', False),
        ('"constant_parameters": 5', True),
        ("", True),
    ],
)
@pytest.mark.parametrize("private", [True, False])
def test_what_a_mark_says_to_schedules(attribute: str, wanted: bool, private: bool) -> None:
    func = parse(f"""
@T.prim_func(private={private})
def f(A: T.Buffer((64,), "float32"), W: T.Buffer((64, 32), "float32")):
    T.func_attr({{{attribute}}})
    A[0] = W[0, 0]
""")
    assert isinstance(func, PrimFunc)
    assert is_constant(func, 1) is (wanted and private)


def test_what_is_handed_on_is_marked_as_well() -> None:
    module = mark_constant_parameters(handed_on(called()))
    assert [one.attrs[MARK] for one in module.functions if isinstance(one, PrimFunc) and one.private] == [(1,), (1,)]
    assert mark_constant_parameters(module) is module
    plain = program()
    assert mark_constant_parameters(plain) is plain


def test_each_parameter_is_asked_for_once_however_many_calls_lead_to_it() -> None:
    functions = [
        f"""
    @T.prim_func(private=True)
    def f{at}(w: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        M.f{at + 1}(w, y)
        M.f{at + 1}(w, y)
"""
        for at in range(40)
    ]
    module = parse(f"""
@I.ir_module
class M:
    @T.prim_func
    def main(y: T.Buffer((4,), "float32")):
        w = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", (4,))
        M.f0(w, y)
{"".join(functions)}
    @T.prim_func(private=True)
    def f40(w: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] += w[i]
""")
    assert isinstance(module, Module)
    made = mark_constant_parameters(module)
    assert [one.attrs[MARK] for one in made.prim_funcs if one.private] == 41 * [(0,)]


@pytest.mark.parametrize("constants", [True, False])
def test_products_of_weights_that_are_no_constants_have_versions_for_few_rows(constants: bool) -> None:
    module = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", 512), "float32"), w: G.Tensor((512, 512), "float32")):
        with G.dataflow():
            y = G.matmul(x, w)
            G.output(y)
        return y
""")
    assert isinstance(module, Module)
    if constants:
        module = bind_params(module, {"w": np.ones((512, 512), "float32")})
    lowered = lowered_module(module, target="llvm", pipeline="default", debug=False)
    assert ("n == 1" in lowered.script()) is not constants


def test_a_function_that_is_once_called_with_something_else_makes_the_copy() -> None:
    module = called(given="V")
    assert pack_constants(module) is module
    public = called().functions[0].replace(private=False)
    module = called()
    module = module.replace(functions=(public, *module.functions[1:]))
    assert pack_constants(module) is module


def handed_on(module: Module, private: bool = True) -> Module:
    """The module with a function between `main` and `f`, which hands on what `main` has."""
    inner, main = module.functions
    text = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((64,), "float32"), W: T.Buffer((64, 32), "float32"), B: T.Buffer((32,), "float32")):
        B[0] = 0.0

    @T.prim_func(private=True)
    def between(A: T.Buffer((64,), "float32"), W: T.Buffer((64, 32), "float32"), B: T.Buffer((32,), "float32")):
        M.f(A, W, B)
"""
    (_, between) = parse(text).functions  # type: ignore[union-attr]
    renamed = rewrite(main, {CallFunction: lambda node: node.replace(function="between")})
    return module.replace(functions=(inner, between.replace(private=private), renamed))


def test_a_function_that_hands_a_constant_on_takes_the_copy() -> None:
    made = pack_constants(handed_on(called()))
    inner, between, main = made.functions
    assert [[param.name for param in one.params] for one in (inner, between)] == [  # type: ignore[union-attr]
        ["A", "B", "P"],
        ["A", "B", "W_packed"],
    ]
    constants = [stmt for stmt in main.body if type(stmt) is AllocateConst]  # type: ignore[union-attr]
    assert [stmt.buffer.name for stmt in constants] == ["W_packed", "W2_packed"]
    for one in results(made):
        np.testing.assert_array_equal(one, results(called())[0])
    assert pack_constants(made) is made


def test_what_is_handed_on_stays_where_it_may_be_no_constant() -> None:
    for module in (handed_on(called(given="V")), handed_on(called(), private=False)):
        assert pack_constants(module) is module


def test_what_a_graph_or_the_function_itself_hands_on_stays() -> None:
    text = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((64,), "float32"), W: T.Buffer((64, 32), "float32"), B: T.Buffer((32,), "float32")):
        B[0] = 0.0

    @T.prim_func(private=True)
    def between(A: T.Buffer((64,), "float32"), W: T.Buffer((64, 32), "float32"), B: T.Buffer((32,), "float32")):
        M.f(A, W, B)
        if A[0] < 0.0:
            M.between(A, W, B)

    @G.graph_func
    def graph(A: G.Tensor((64,), "float32"), W: G.Tensor((64, 32), "float32")):
        return G.call_tir(M.f, (A, W), out=G.Tensor((32,), "float32"))
"""
    _, itself, graph = parse(text).functions  # type: ignore[union-attr]
    inner, between, main = handed_on(called()).functions
    assert itself.name == between.name
    for module in ((inner, itself, main), (*called().functions, graph)):
        given = called().replace(functions=module)
        assert pack_constants(given) is given


def test_copies_with_overlaps_stay() -> None:
    """Elements that are written twice, as many as the target has elements altogether."""
    func = program("P[vj // 16, vi // 2 * 2, vj % 16]")
    assert pack_constants(func) is func


NESTED = """
@T.prim_func
def f(A: T.Buffer(("n", 64), "float32"), B: T.Buffer(("n", 32), "float32")):
    W = T.constant("{digest}", (64, 32), "float32")
    P = T.alloc_buffer((2, 64, 16), "float32")
    for r in range(n):
        for jo in range(2):
            # a panel
            for i, ji in T.grid(64, 16):
                with T.block("P"):
                    vo, vi, vj = T.axis.remap("SSS", [jo, i, ji])
                    P[{place}, vi, vj] = W[vi, vo * 16 + vj]
            for ji in range(16):
                B[r, jo * 16 + ji] = 0.0
                for i in range(64):
                    B[r, jo * 16 + ji] += A[r, i] * P[{read}, i, ji]
"""


def nested(place: str) -> PrimFunc:
    data = constant(W)
    found = parse(
        NESTED.format(digest=data.digest, place=place, read=place.replace("vo", "jo")), constants=_store(data)
    )
    assert isinstance(found, PrimFunc)
    return found


def test_copies_in_loops_are_made_once_too() -> None:
    func = nested("vo")
    made = pack_constants(func)
    text = made.script()
    assert 'T.block("P")' not in text and "(2, 64, 16)" in text and "(64, 32)" not in text
    assert "# a panel" in text and not verify(made)
    a = np.random.default_rng(3).random((3, 64), "float32")
    found = []
    for one in (func, made):
        for way in (partial(tirscript.interpret, one), tirscript.build(one, pipeline=DEFAULT_LOWERING)):
            b = np.zeros((3, 32), "float32")
            way(a, b)
            found.append(b)
    for b in found[1:]:
        np.testing.assert_array_equal(b, found[0])


def test_a_buffer_that_each_iteration_fills_anew_stays() -> None:
    func = nested("0")
    assert pack_constants(func) is func


PADDED = """
@T.prim_func
def f(A: T.Buffer((5,), "{kind}"), B: T.Buffer((3,), "{kind}")):
    W = T.constant("{digest}", (5, 3), "{kind}")
    P = T.alloc_buffer((2, 5, 2), "{kind}")
    for i, j in T.grid(5, 4):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vj // 2, vi, vj % 2] = {value}
    for j, i in T.grid(3, 5):
        with T.block("B"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                B[vj] = 0
            B[vj] += A[vi] * P[vj // 2, vi, vj % 2]
"""


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize(
    ("value", "packed"),
    [
        ("W[vi, vj] if vj < 3 else 7", True),
        ("T.if_then_else(0 <= vi and vj <= 2, W[vi, vj], 7)", True),
        ("W[vi, vj % 3] if vj < 3 else 7", True),
        ("W[vi, vj] if vj < 4 else 7", False),  # an element that is not there
        ("W[vi, vj % 3] if vj < 3 else A[vi]", False),  # known at the call only
        ("7 if vj < 3 else W[vi, vj % 3]", False),
    ],
)
def test_a_copy_may_be_padded(kind: str, value: str, packed: bool) -> None:
    data = constant(np.arange(15).reshape(5, 3).tolist(), kind)
    text = PADDED.format(digest=data.digest, value=value.replace("7", f"T.{kind}(7)"), kind=kind)
    func = parse(text.replace("= 0\n", f"= T.{kind}(0)\n"), constants=_store(data))
    made = pack_constants(func)
    assert ('T.block("P")' not in made.script()) is packed
    if packed:
        (stmt,) = (one for one in made.body if type(one) is AllocateConst)
        padded = np.pad(data.array.astype("float32"), ((0, 0), (0, 1)), constant_values=7)
        np.testing.assert_array_equal(stmt.data.array.astype("float32"), padded.reshape(5, 2, 2).transpose(1, 0, 2))


BYTES = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((16, 64), "int8"), W: T.Buffer((64, 32), "{w}"), C: T.Buffer((16, 32), "int32")):
        for i, j, k in T.grid(16, 32, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += T.cast(A[vi, vk], "int32") * T.cast(W[vk, vj], "int32")

    @T.prim_func
    def main(A: T.Buffer((16, 64), "int8"), C: T.Buffer((16, 32), "int32")):
        W = T.constant("{digest}", (64, 32), "{w}")
        M.f(A, W, C)
"""


@pytest.mark.parametrize("kind", ["tiles", "vnni", "madd"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_panels_of_bytes_are_made_when_a_program_is_compiled(dtype: str, kind: str) -> None:
    """Also where they are of the other sign, and are read through views by instructions."""
    facts = {"tiles": {"tiles": True}}.get(kind, {"dots": kind})
    rng = np.random.default_rng(4)
    info = np.iinfo(dtype)
    weights = rng.integers(info.min, info.max + 1, (64, 32)).astype(dtype)
    data = constant(weights)
    module = parse(BYTES.format(w=dtype, digest=data.digest), constants=_store(data))
    assert isinstance(module, Module)
    made = pack_constants(get_pass("default_cpu", vector_bits=512, threads=2, **facts)(module))
    f = made["f"]
    assert not any(param.name == "W" for param in f.params) and "interleave" not in f.script()
    verify(made)
    A = rng.integers(-128, 128, (16, 64)).astype("int8")
    C = np.zeros((16, 32), "int32")
    tirscript.interpret(made, A, C)
    np.testing.assert_array_equal(C, A.astype("int32") @ weights.astype("int32"))


def test_a_view_that_is_written_is_no_copy() -> None:
    """Nor is one whose address goes elsewhere."""
    view = '    V = T.decl_buffer((16,), "float32", data=T.address_of(P[0, 0, 0]))\n'
    for extra, stays in (
        ("    B[0] = V[3]\n", False),
        ("    V[3] = 1.0\n", True),
        ('    T.evaluate(T.call_packed("f", V.data))\n', True),
    ):
        func = program(extra=view + extra)
        assert (pack_constants(func) is func) is stays
