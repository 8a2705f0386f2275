"""Statements as the parser reads them."""

from __future__ import annotations

import pytest
from helpers.script import PARAMS, function, statements

from tirscript.ir import (
    AllocBuffer,
    Assert,
    Assume,
    Attr,
    Bind,
    Block,
    Break,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Const,
    Continue,
    DeclBuffer,
    DiagnosticError,
    Evaluate,
    For,
    If,
    MatchBuffer,
    Ramp,
    Return,
    ScalarDecl,
    StaticAssert,
    Var,
    While,
    dtype,
    structural_equal,
)
from tirscript.script import parse


def test_range_is_a_loop_with_the_dtype_of_its_bounds() -> None:
    (loop,) = statements("for i in range(16):\n    A[i] = 0.0")
    assert isinstance(loop, For)
    assert (loop.kind, loop.var.name, loop.var.dtype.name, loop.start.value, loop.stop.value) == (
        "serial",
        "i",
        "int32",
        0,
        16,
    )
    assert loop.step is None
    loop = function("for i in range(m):\n    A[0] = 0.0", PARAMS + ", m: T.int64").body[0]
    assert loop.var.dtype is dtype("int64") and loop.start.dtype is dtype("int64")


def test_range_takes_start_and_step() -> None:
    (loop,) = statements("for i in range(2, n, 3):\n    A[i] = 0.0")
    assert loop.start.value == 2 and loop.stop.name == "n" and loop.step.value == 3
    assert loop.stop.dtype is loop.start.dtype is loop.step.dtype


@pytest.mark.parametrize("kind", ["serial", "parallel", "vectorized", "unroll"])
def test_kinds_of_loop(kind: str) -> None:
    (loop,) = statements(f'for i in T.{kind}(1, 4, annotations={{"k": 1}}):\n    A[i] = 0.0')
    assert (loop.kind, loop.start.value, loop.stop.value, dict(loop.annotations)) == (kind, 1, 4, {"k": 1})


def test_thread_binding_names_its_thread() -> None:
    (loop,) = statements('for i in T.thread_binding(4, thread="threadIdx.x"):\n    A[i] = 0.0')
    assert (loop.kind, loop.thread) == ("thread_binding", "threadIdx.x")


def test_grid_is_nested_loops() -> None:
    (outer,) = statements("for i, j in T.grid(4, n):\n    A[i] = 0.0")
    (inner,) = outer.body
    assert (outer.var.name, inner.var.name, inner.stop.name) == ("i", "j", "n")
    assert isinstance(inner.body[0], BufferStore)


def test_a_loop_over_a_python_sequence_is_written_out() -> None:
    stores = statements(
        "for k, name in enumerate(['a', 'b']):\n    A[k] = 1.0\nfor v in values:\n    A[v] = 2.0", values=[5, 6]
    )
    assert [store.indices[0].value for store in stores] == [0, 1, 5, 6]


def test_while_break_continue() -> None:
    (decl, loop) = statements("i = 0\nwhile i < n:\n    i += 1\n    if i == 3:\n        continue\n    break")
    assert isinstance(decl, ScalarDecl) and isinstance(loop, While)
    store, branch, end = loop.body
    assert isinstance(store, BufferStore) and isinstance(branch.then[0], Continue) and isinstance(end, Break)


def test_if_elif_else_nest() -> None:
    (branch,) = statements("if n > 1:\n    A[0] = 1.0\nelif n > 0:\n    A[0] = 2.0\nelse:\n    A[0] = 3.0")
    assert isinstance(branch, If)
    (inner,) = branch.orelse
    assert isinstance(inner, If) and inner.orelse[0].value.value == 3.0


def test_a_known_condition_decides_while_parsing() -> None:
    (store,) = statements("if flag:\n    A[0] = 1.0\nelse:\n    A[0] = 2.0", flag=False)
    assert store.value.value == 2.0
    assert statements("if 1 > 2:\n    A[0] = 1.0") == ()


def test_a_name_assigned_once_is_a_binding() -> None:
    bind, store = statements("x = n + 1\nA[0] = x * 2.0")
    assert isinstance(bind, Bind) and isinstance(bind.var, Var) and bind.var.name == "x"
    assert bind.var.dtype is dtype("int32")
    assert isinstance(store, BufferStore)


def test_a_name_assigned_again_is_a_scalar() -> None:
    decl, store, again = statements("x = 1.0\nx = x * 2\nx += A[0]")
    assert isinstance(decl, ScalarDecl) and decl.buffer.is_scalar and decl.buffer.dtype is dtype("float32")
    assert isinstance(store, BufferStore) and store.buffer is decl.buffer and store.indices == ()
    assert isinstance(again.value, Call) and again.value.op.name == "add"


def test_bodies_that_do_not_contain_each_other_have_their_own_names() -> None:
    first, second = statements(
        "for i in range(4):\n    x = A[i]\n    A[i] = x\nfor i in range(4):\n    x = X[i]\n    X[i] = x"
    )
    assert isinstance(first.body[0], Bind) and isinstance(second.body[0], Bind)
    assert (first.body[0].var.dtype.name, second.body[0].var.dtype.name) == ("float32", "int32")


def test_a_name_that_all_branches_assign_is_declared_before_the_if() -> None:
    decl, branch, store = statements("if n > 0:\n    x = 1.0\nelse:\n    x = 2.0\nA[0] = x")
    assert isinstance(decl, ScalarDecl) and decl.value is None and decl.buffer.dtype is dtype("float32")
    assert branch.then[0].buffer is decl.buffer is branch.orelse[0].buffer
    assert store.value.buffer is decl.buffer


def test_names_of_one_branch_stay_in_it() -> None:
    (branch,) = statements("if n > 0:\n    x = A[0]\n    A[1] = x\nelse:\n    x = X[0]\n    X[1] = x")
    assert isinstance(branch.then[0], Bind) and isinstance(branch.orelse[0], Bind)


def test_annotated_declarations() -> None:
    let, scalar, empty, local, store = statements(
        "x: T.let[T.int64] = 3\ny: T.float64 = 1\nz: T.int32\nw: T.float16[4, n]\nw[0, 0] = 1.0"
    )
    assert isinstance(let, Bind) and let.value == Const(3, dtype("int64"))
    assert isinstance(scalar, ScalarDecl) and scalar.value == Const(1.0, dtype("float64"))
    assert isinstance(empty, ScalarDecl) and empty.value is None
    assert (
        isinstance(local, AllocBuffer) and local.buffer.shape[0].value == 4 and local.buffer.dtype is dtype("float16")
    )
    assert isinstance(store, BufferStore)


def test_several_targets() -> None:
    a, b = statements("a, b = n, n + 1")
    assert isinstance(a, Bind) and isinstance(b, Bind)
    c, d = statements("c, *d = 1, 2, 3\nA[d[1]] = 1.0")
    assert isinstance(c, Bind) and d.indices[0].value == 3


def test_the_right_side_of_several_targets_is_evaluated_first() -> None:
    body = statements("a = 1\nb = 2\na, b = b, a + b\nX[0] = a")
    temporary, first, second = body[2:5]
    assert isinstance(temporary, Bind) and temporary.value.op.name == "add"
    assert isinstance(first.value, BufferLoad) and second.value is temporary.var


def test_chains_of_targets() -> None:
    first, second = statements("X[0] = X[1] = n")
    assert first.indices[0].value == 0 and first.value.name == "n"
    assert second.indices[0].value == 1 and second.value is first.value
    bound, first, second = statements("X[X[0]] = X[0] = X[n]")
    assert isinstance(bound, Bind) and first.value is second.value is bound.var


def test_augmented_elements() -> None:
    (store,) = statements("B[1, n] *= 2")
    assert store.value.op.name == "mul" and store.value.args[0].indices == store.indices
    assert store.value.args[1] == Const(2.0, dtype("float32"))


def test_stores_convert_what_loses_nothing() -> None:
    integer, cast = statements("A[0] = 1\nA[1] = n")
    assert integer.value == Const(1.0, dtype("float32"))
    assert cast.value.op.name == "cast" and cast.value.dtype is dtype("float32")


def test_vector_accesses() -> None:
    store, strided, predicated = statements(
        "B[0, 0:4] = A[n:n + 4] + 1.0\nA[0:8:2] = T.broadcast(1.0, 4)\nA.vstore([T.ramp(0, 1, 4)], T.broadcast(2.0, 4), predicate=T.broadcast(n > 0, 4))"
    )
    ramp = store.indices[1]
    assert isinstance(ramp, Ramp) and ramp.lanes == 4 and store.value.dtype is dtype("float32x4")
    assert strided.indices[0].stride.value == 2
    assert predicated.predicate is not None


def test_block_with_everything() -> None:
    (loop,) = statements(
        """
        for i, j in T.grid(4, 4):
            with T.block("update"):
                vi, vj = T.axis.remap("SR", [i, j])
                vk = T.axis.spatial((0, 16), i * 4 + j)
                T.where(i * 4 + j < 14)
                T.reads(A[vk], B[0:4, vj])
                T.writes(X[vi])
                T.block_attr({"a": [1, "x", {"y": 2.5}]})
                T.block_attr("preproc", "pad")
                with T.init():
                    X[vi] = 0
                X[vi] = X[vi] + T.cast(A[vk] * B[vi, vj], "int32")
        """
    )
    block = loop.body[0].body[0]
    assert isinstance(block, Block) and block.name == "update"
    assert [(axis.var.name, axis.kind) for axis in block.axes] == [
        ("vi", "spatial"),
        ("vj", "reduce"),
        ("vk", "spatial"),
    ]
    assert [axis.stop.value for axis in block.axes] == [4, 4, 16]
    assert block.axes[0].value is loop.var
    assert block.predicate is not None
    assert [region.buffer.name for region in block.reads] == ["A", "B"] and [len(r.ranges) for r in block.reads] == [
        1,
        2,
    ]
    assert block.reads[0].ranges[0].stop is None and block.reads[1].ranges[0].stop.value == 4
    assert dict(block.annotations) == {"a": (1, "x", {"y": 2.5}), "preproc": "pad"}
    assert isinstance(block.init[0], BufferStore) and len(block.body) == 1


def test_reads_and_writes_are_left_to_inference() -> None:
    (block,) = statements('with T.block("b"):\n    A[0] = 1.0')
    assert block.reads is None and block.writes is None and block.init is None and block.axes == ()


def test_a_domain_keeps_its_start_and_the_dtype_of_the_loop() -> None:
    (loop,) = function(
        'for i in range(2, m):\n    with T.block("b"):\n        vi = T.axis.remap("S", [i])\n        A[vi] = 1.0',
        PARAMS + ", m: T.int64",
    ).body
    (axis,) = loop.body[0].axes
    assert axis.start.value == 2 and axis.stop.name == "m" and axis.var.dtype is dtype("int64")


def test_definitions_of_buffers() -> None:
    alloc, decl, block = statements(
        """
        C = T.alloc_buffer((4, n), "float16", scope="shared", align=64)
        D = T.decl_buffer((16,), "float32", data=A.data, elem_offset=2)
        with T.block("b"):
            E = T.match_buffer(B[0:2, n:n + 2], (2, 2), "float32", strides=("s", 1), offset_factor=1)
            E[0, 0] = D[0]
            C[0, 0] = 1.0
        """
    )
    assert isinstance(alloc, AllocBuffer) and (alloc.buffer.scope, alloc.buffer.align) == ("shared", 64)
    assert isinstance(decl, DeclBuffer) and decl.data.buffer.name == "A" and decl.buffer.elem_offset.value == 2
    match = block.body[0]
    assert isinstance(match, MatchBuffer) and isinstance(match.source, BufferRegion)
    assert match.buffer.strides[0].name == "s" and match.buffer.offset_factor == 1


def test_handles_are_matched_with_symbols() -> None:
    made = function(
        'm = T.int32()\nC = T.match_buffer(c, (m, 4), "int8", strides=[4, 1])\nC[0, 0] = T.cast(m, "int8")',
        "c: T.handle",
    )
    (match, store) = made.body
    assert isinstance(match, MatchBuffer) and match.source is made.params[0]
    assert made.symbols == (match.buffer.shape[0],) and made.symbols[0].dtype is dtype("int32")
    assert made.param_buffers == (match.buffer,)
    assert isinstance(store, BufferStore)


def test_string_dimensions_are_symbols() -> None:
    made = function(
        "for i in range(n):\n    A[i * 2] = 1.0",
        'A: T.Buffer(("n * 2", "m"), "float32"), B: T.Buffer(("n",), "float32"), k: T.int32'.replace(
            '"m"', "1"
        ).replace('("n * 2", 1)', '("n * 2",)'),
    )
    a, b = made.param_buffers
    assert a.shape[0].op.name == "mul" and a.shape[0].args[0] is b.shape[0]
    assert b.shape[0].name == "n" and b.shape[0].dtype is dtype("int64")
    assert made.body[0].stop is b.shape[0]


def test_a_scalar_parameter_gives_a_dimension_its_dtype_wherever_it_stands() -> None:
    made = function("A[0] = 1.0", 'A: T.Buffer(("k",), "float32"), k: T.int32')
    assert made.params[0].shape[0] is made.params[1] and made.symbols == ()


def test_constraints_and_effects() -> None:
    assertion, bare, static, assume, extern, printed, stop, attr = statements(
        """
        assert n > 0, "positive"
        assert n > 1
        T.static_assert(n < 1000, "small")
        T.assume(A[0] == 0.0)
        T.evaluate(T.call_extern("int32", "rand"))
        T.print("n is", n)
        breakpoint()
        with T.attr(n, "key", 3):
            A[0] = 1.0
        """
    )
    assert isinstance(assertion, Assert) and assertion.message == "positive" and bare.message == ""
    assert isinstance(static, StaticAssert) and isinstance(assume, Assume)
    assert isinstance(extern, Evaluate) and extern.value.op.name == "call_extern"
    assert printed.value.op.name == "print" and stop.value.op.name == "breakpoint"
    assert isinstance(attr, Attr) and attr.key == "key" and len(attr.body) == 1


def test_function_attributes_and_options() -> None:
    made = function('T.func_attr({"noalias": True, "list": [1, 2]})\npass')
    assert dict(made.attrs) == {"noalias": True, "list": (1, 2)} and made.body == ()


def test_return_converts_to_the_annotation() -> None:
    made = function("if n > 0:\n    return n\nreturn 3", returns=" -> T.int64")
    assert made.returns is dtype("int64")
    first, second = made.body
    assert isinstance(first.then[0], Return) and first.then[0].value.dtype is dtype("int64")
    assert second.value == Const(3, dtype("int64"))
    assert function("return").body[0].value is None


def test_scalars_declared_twice_in_other_bodies_read_the_same_again() -> None:
    text = "for i in range(4):\n    x = 0.0\n    x += A[i]\n    A[i] = x"
    assert structural_equal(function(text), function(text))
    assert isinstance(function(text).params[0], Buffer)


@pytest.mark.parametrize(
    ("unpacked", "written"),
    [
        ('tx = T.launch_thread(*["threadIdx.x", 4])', 'tx = T.launch_thread("threadIdx.x", 4)'),
        ('T.launch_thread("threadIdx.x", *[4])', 'T.launch_thread("threadIdx.x", 4)'),
        ("A.vstore(*[[0], 1.0])", "A.vstore([0], 1.0)"),
        ("A.vstore([0], *[1.0], **{})", "A.vstore([0], 1.0)"),
    ],
)
def test_arguments_that_are_unpacked_are_those_written_out(unpacked: str, written: str) -> None:
    first, second = (
        parse(f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    {line}\n    A[1] = 2.0\n')
        for line in (unpacked, written)
    )
    assert structural_equal(first, second)


def test_masked_access_takes_its_arguments_one_by_one() -> None:
    with pytest.raises(DiagnosticError, match="takes a dtype, a buffer, the indices and a mask"):
        parse(
            "from tvm.script import tirx as T\n@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n"
            "    A[0] = T.masked_load(*['float32', A, 0, True])\n"
        )
