"""What every statement prints; each text is also read back, compared and formatted."""

from __future__ import annotations

import pytest
from helpers.printer import assert_body, body_text, function_of

from tirscript.ir import (
    AllocBuffer,
    Attrs,
    Axis,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    DiagnosticError,
    For,
    Var,
    const,
    dtype,
    structural_equal,
)
from tirscript.printer import script
from tirscript.script import parse


def test_loops() -> None:
    assert_body(
        """
        for i, j in T.grid(4, 4):
            B[i, j] = 0.0
        for i in range(T.int64(4)):
            A[i] = 1.0
        for i in range(2, n):
            A[i] = 2.5
        for i in range(0, 16, 4):
            A[i] = 0.0
        for i in range(T.int64(2), 4):
            A[i] = 1.0
        for i in T.parallel(4):
            A[i] = 1.0
        for i in T.vectorized(2, 4):
            A[i] = 1.0
        for i in T.unroll(0, 4, step=2):
            A[i] = 1.0
        for i in T.thread_binding(4, thread="threadIdx.x"):
            A[i] = 1.0
        for i in T.serial(4, annotations={"k": 1, "s": "x"}):
            A[i] = 1.0
        """
    )


def test_nests_become_grids_where_nothing_stands_between() -> None:
    found = assert_body(
        """
        for i in range(4):
            for j in range(4):
                B[i, j] = 0.0
        for i in range(4):
            # a comment
            for j in range(4):
                B[i, j] = 0.0
        for i in range(4):
            for j in range(i):
                B[i, j] = 0.0
        for i in range(4):
            for j in range(T.int64(4)):
                B[i, j] = 0.0
        for i in range(4):
            for j in range(1, 4):
                B[i, j] = 0.0
        for i in range(4):
            for j in T.parallel(4):
                B[i, j] = 0.0
        """,
        to="""
        for i, j in T.grid(4, 4):
            B[i, j] = 0.0
        for i in range(4):
            # a comment
            for j in range(4):
                B[i, j] = 0.0
        for i in range(4):
            for j in range(i):
                B[i, j] = 0.0
        for i in range(4):
            for j in range(T.int64(4)):
                B[i, j] = 0.0
        for i in range(4):
            for j in range(1, 4):
                B[i, j] = 0.0
        for i in range(4):
            for j in T.parallel(4):
                B[i, j] = 0.0
        """,
    )
    assert isinstance(found.body[0], For)


def test_branches_and_loops_that_end_early() -> None:
    assert_body(
        """
        while n > 3 and A[0] < 2.0:
            A[0] = A[0] + 1.0
            if A[0] > 4.0:
                break
            elif A[0] > 3.0:
                continue
            else:
                A[0] = 0.0
        while True:
            break
        if T.bool(True):
            pass
        return
        """
    )


def test_return_of_a_value() -> None:
    assert_body("return 3", returns=" -> T.int32")
    assert_body("return T.float32(3.0)", returns=" -> T.float32")
    assert_body("return n + 1", returns=" -> T.int32")


def test_bindings_and_scalars() -> None:
    assert_body(
        """
        x = A[0]
        y: T.let[T.float32] = 2.0
        z: T.float32 = x + y
        z = z * 2.0
        w: T.int32
        w = 3
        u = n
        p = A.data
        A[0] = z + T.cast(w, "float32")
        """
    )


def test_constraints_and_effects() -> None:
    assert_body(
        """
        assert n > 3, 'he said "hi"'
        assert n > 3
        T.static_assert(n < 4, "message")
        T.static_assert(n < 5)
        T.assume(n > 2)
        T.evaluate(T.call_extern("int32", "f", A[0]))
        T.evaluate(T.call_packed("my.f", A[0], "text"))
        T.print("x", A[0])
        breakpoint()
        T.evaluate(n)
        """
    )


def test_vector_access() -> None:
    assert_body(
        """
        A[0:4] = A[4:8] * T.broadcast(T.float32(2.0), 4)
        A[T.ramp(0, 2, 4)] = A[n : n + 4]
        A[n * 2 : n * 2 + 4] = T.broadcast(T.float32(2.0), 4)
        B[n, 0:4] = B[0, 0:4]
        A.vstore([0], A.vload([1], predicate=n > 2), predicate=n > 2)
        """
    )


def test_buffers() -> None:
    assert_body(
        """
        C = T.alloc_buffer((4, n), "float16")
        D = T.alloc_buffer((), "int64", scope="local")
        D[()] = 3
        E = T.decl_buffer((16,), "float32", data=A.data, strides=(1,))
        E[0] = T.cast(C[0, 0], "float32")
        F = T.alloc_buffer(
            (4,),
            "bool",
            strides=(2,),
            elem_offset=n,
            scope="shared",
            align=64,
            offset_factor=4,
            axis_separators=[1],
        )
        F[0] = True
        """
    )


def test_annotated_allocation() -> None:
    buffer = Buffer("C", (const(4),))
    assert script(AllocBuffer(buffer, Attrs({"k": 1}))) == 'C = T.alloc_buffer((4,), "float32", annotations={"k": 1})'


def test_blocks() -> None:
    assert_body(
        """
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.where(i + j < 5)
                T.reads(B[vi, 0:4], A[vi])
                T.writes(B[vi, vj])
                T.block_attr({"a": 1, "b": (1, (2,)), "c": "x", "d": {"e": 1.5, "f": None}})
                with T.init():
                    B[vi, vj] = 0.0
                B[vi, vj] = B[vi, vj] + 1.0
        for i in range(4):
            with T.block("one"):
                vi = T.axis.spatial(4, i)
                A[vi] = 1.0
            with T.block("domains"):
                vi = T.axis.spatial((1, 4), i + 1)
                vj = T.axis.opaque(8, 0)
                vk = T.axis.scan(4, i)
                A[vi] = 1.0
            with T.block(""):
                pass
            with T.block("nothing"):
                T.reads()
                T.writes()
        for i in range(T.int64(4)):
            with T.block("wide"):
                vi = T.axis.spatial(T.int64(4), i)
                A[vi] = 1.0
        """
    )


def test_an_init_stands_behind_the_buffers_it_uses() -> None:
    assert_body(
        """
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                C = T.match_buffer(B[vi, 0:4], (4,), "float32", strides=(1,), elem_offset=n)
                with T.init():
                    C[0] = 0.0
                D = T.alloc_buffer((4,), "float32")
                D[0] = C[0]
        """
    )


def test_axes_are_remapped_only_over_the_very_loop() -> None:
    found = function_of(
        """
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = 0.0
        """
    )
    text = found.script()
    loop = found.body[0]
    assert isinstance(loop, For)
    inner = loop.body[0]
    assert isinstance(inner, For)
    (block,) = inner.body
    assert isinstance(block, Block)
    first, second = block.axes
    for changed in (
        second.replace(stop=const(3)),
        second.replace(start=const(1)),
        second.replace(value=second.value + 0),
        second.replace(var=second.var.replace(dtype=dtype("int64"))),
    ):
        other = body_text((loop.replace(body=(inner.replace(body=(block.replace(axes=(first, changed)),)),)),))
        assert "remap" not in other
        assert "vi = T.axis.spatial(4, i)" in other
    assert 'vi, vj = T.axis.remap("SS", [i, j])' in text


def test_attributes_around_statements() -> None:
    assert_body(
        """
        with T.attr(A.data, "k", T.int32(3)):
            A[0] = 1.0
        with T.attr(T.int32(0), "pragma", "unroll"):
            A[0] = 1.0
        """
    )


def test_constants_in_attributes_say_their_dtype() -> None:
    block = Block(
        "b", (), (), annotations=Attrs({"a": const(1), "b": const(True), "c": 1, "d": True, "e": float("inf")})
    )
    assert script(block).split("\n")[1] == (
        '    T.block_attr({"a": T.int32(1), "b": T.bool(True), "c": 1, "d": True, "e": float("inf")})'
    )


def test_lists_that_were_given_as_attributes_print_as_they_are_read() -> None:
    text = script(Block("b", (), (), annotations=Attrs({"a": [1, ["x"]], "b": {"c": []}})))
    assert 'T.block_attr({"a": (1, ("x",)), "b": {"c": ()}})' in text


def test_an_attribute_without_text_is_a_diagnostic() -> None:
    with pytest.raises(DiagnosticError) as caught:
        script(Block("b", (), (), annotations=Attrs({"a": b"bytes"})))
    assert caught.value.diagnostics[0].code == "T405"


def test_a_loop_over_an_axis_of_another_function_is_not_remapped() -> None:
    i, v, w = Var("i"), Var("v"), Var("w")
    block = Block("b", (Axis(v, "spatial", const(0), const(4), i), Axis(w, "spatial", const(0), const(4), i)), ())
    assert script(block).split("\n")[1:] == ["    v = T.axis.spatial(4, i)", "    w = T.axis.spatial(4, i)"]


def test_deep_programs() -> None:
    a = Buffer("A", (const(4),))
    body: tuple[For | BufferStore, ...] = (BufferStore(a, (const(0),), const(0.0)),)
    for _ in range(200):
        body = (For(Var("i"), const(0), const(4), body, kind="parallel"),)
    assert script(body, width=2000).count("\n") == 200
    value = BufferLoad(a, (const(0),))
    total = value
    for _ in range(1000):
        total = total + value  # type: ignore[assignment]
    text = script(BufferStore(a, (const(0),), total))
    assert text.count("+ A[0]") == 1000
    head = 'from tirscript.script import tir as T\n\n\n@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    '
    whole = parse(head + script(BufferStore(a, (const(0),), total), width=1 << 20) + "\n")
    assert structural_equal(whole, parse(whole.script()))


@pytest.mark.parametrize("dialect", ["tirscript", "tvm"])
@pytest.mark.parametrize(
    "above", ["X[0] = n", "if n > 0:\n        X[0] = n * m", "for i in range(m):\n        X[i] = 1"]
)
def test_a_size_that_is_used_above_its_match_is_declared_above_it(above: str, dialect: str) -> None:
    program = parse(f"""
@T.prim_func
def f(a: T.handle, X: T.Buffer((4,), "int64"), b: T.handle):
    n, m = T.int64(), T.int64()
    {above}
    A = T.match_buffer(a, (n,), "int64")
    B = T.match_buffer(b, (m, n), "int64")
    A[0] = B[0, 0]
""")
    again = parse(program.script(dialect=dialect))
    assert structural_equal(again, program) and again.script(dialect=dialect) == program.script(dialect=dialect)
