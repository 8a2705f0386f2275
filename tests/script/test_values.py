"""Reductions, index maps, targets, shuffles, scalar views, dotted intrinsics, scalable vectors: read and printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.script import HEADER, function, one_mistake

import tirscript
from tirscript.ir import Attr, CommReducer, DiagnosticError, IndexMap, Reduce, Shuffle, Target, structural_equal
from tirscript.printer import script
from tirscript.script import graph as G
from tirscript.script import parse
from tirscript.script import tir as T

SUM = "T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)])"
ARGMAX = "T.comm_reducer(lambda i0, v0, i1, v1: (i0 if v0 >= v1 else i1, T.max(v0, v1)), [-1, T.int32(-2147483648)])"
PRINTED = [
    f"A[0] = T.Reduce({SUM}, [A[n]])",
    f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [16])",
    f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [(2, 16)], condition=lambda k: k < n)",
    f"A[0] = T.Reduce({SUM}, lambda k, j: [B[k, j]], [4, T.int64(4)], init=[1.0])",
    f"A[0] = T.Reduce({SUM}, [A[n]], condition=n > 0)",
    'T.func_attr({"m": T.index_map(lambda i: (i // 4, i % 4))})',
    'T.func_attr({"m": T.index_map(lambda i, j: (i, 3), index_dtype="int32")})',
    'T.func_attr({"m": T.index_map(lambda i, j: (j, i), inverse_index_map=lambda a, b: (b, a))})',
    'T.func_attr({"m": (T.index_map(lambda i: (i,)), {"k": T.index_map(lambda: (0,))})})',
    'T.func_attr({"target": T.target("llvm -mcpu=skylake -num-cores=4 -mattr=+a,+b -fast")})',
    'T.func_attr({"target": T.target("cuda -keys=cuda,gpu", host="llvm -mcpu=x")})',
    'T.func_attr({"target": T.target({"kind": "llvm", "keys": ["cpu"], "tag": ""})})',
    'T.func_attr({"target": T.target({"kind": "q", "x": [1, "a"]}, host={"kind": "c", "y": {"z": 0.5}})})',
    "A[0:2] = T.Shuffle([A[0], A[1]], [1, 0])",
    "A[0:2] = T.Shuffle([A[4:8], A[1]], [4, 2])",
    "A[0] = T.Shuffle([A[4:8]], [2])",
    "A[T.ramp(0, 1, T.vscale() * 4)] = T.broadcast(T.float32(1.0), T.vscale() * 4)",
    "A[0] = T.webgpu.subgroup_shuffle(A[0], 0)",
    "T.evaluate(T.s_tir.ldg32(A.data, True, 0, 0))",
    "A[0] = T.custom_op.ignore_second_argument(A[0], 0)",
]


@pytest.mark.parametrize("text", PRINTED)
def test_what_is_printed_is_what_was_read(text: str) -> None:
    made = function(text)
    printed = made.script(width=200)
    assert text in printed
    again = parse(printed)
    assert structural_equal(again, made) and again.script(width=200) == printed
    narrow = made.script(width=60)
    assert structural_equal(parse(narrow), made)


# text of TVM's dialect, what it reads as
READ = [
    ("x = T.decl_scalar('float32', A.data, 'global', 3)\nx = 3.0\nx += 2.0\nA[0] = x",
     "x = T.decl_buffer((1,), 'float32', data=A.data, elem_offset=3)\nx[0] = 3.0\nx[0] = x[0] + 2.0\nA[0] = x[0]"),
    ("x = T.decl_scalar('float32', A.data, 'global', byte_offset=8)\nA[0] = x",
     "x = T.decl_buffer((1,), 'float32', data=A.data, elem_offset=2)\nA[0] = x[0]"),
    ("x = T.alloc_scalar('float32', 'local')\nx = 3.0\nA[1] = x", "x: T.float32\nx = 3.0\nA[1] = x"),
    ("x = T.local_scalar('int32')\nx = 3\nX[1] = x", "x: T.int32\nx = 3\nX[1] = x"),
    ("x = T.shared_scalar('int32')\nx = 3\nX[1] = x",
     "x = T.alloc_buffer((1,), 'int32', scope='shared')\nx[0] = 3\nX[1] = x[0]"),
    (f"k = T.int32()\nA[0] = T.reduce({SUM}, source=[A[k]], init=[], axis=[T.iter_var(k, T.Range(0, 16), 'CommReduce', '')],"
     " condition=k > 3, value_index=0)",
     f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [16], condition=lambda k: k > 3)"),
    (f"A[0] = T.Reduce({SUM}, [A[n]], [], True, 0, [])", f"A[0] = T.Reduce({SUM}, [A[n]])"),
    ("A[0:T.vscale() * 4] = T.Broadcast(T.float32(1), T.vscale() * 4)",
     "A[T.ramp(0, 1, T.vscale() * 4)] = T.broadcast(T.float32(1), T.vscale() * 4)"),
    ("A[n:n + T.vscale() * 4] = T.Broadcast(T.float32(1), T.vscale() * 4)",
     "A[T.ramp(n, 1, T.vscale() * 4)] = T.broadcast(T.float32(1), T.vscale() * 4)"),
    ("T.attr(T.comm_reducer(lambda x, y: x + y, [0]), 'reduce_scope', T.reinterpret(T.handle().ty, T.uint64(0)))\nX[0] = 1",
     "with T.attr(T.comm_reducer(lambda x, y: x + y, [0]), 'reduce_scope', T.reinterpret('handle', T.uint64(0))):\n    X[0] = 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "same"), READ)
def test_other_spellings(text: str, same: str) -> None:
    assert structural_equal(function(text), function(same))


def test_a_reduction_has_parts() -> None:
    (store,) = function(f"X[0] = T.Reduce({ARGMAX}, lambda k: [k, X[k]], [(1, 15)], value_index=1, init=[0, n])").body
    made = store.value
    assert type(made) is Reduce and type(made.combiner) is CommReducer
    assert [var.name for var in (*made.combiner.lhs, *made.combiner.rhs)] == ["i0", "v0", "i1", "v1"]
    assert (made.axes[0].name, made.value_index, len(made.init), made.dtype.name) == ("k", 1, 2, "int32")
    assert [made.domains[0].start.value, made.domains[0].stop.value] == [1, 15]


def test_axes_that_share_a_name_in_tvms_text_are_two() -> None:
    text = (
        f"k = T.int32()\nA[0] = T.reduce({SUM}, source=[A[k]], axis=[T.iter_var(k, T.Range(0, 4), 'CommReduce', '')])"
    )
    one, two = function(f"{text}\n{text.splitlines()[1].replace('A[0]', 'A[1]')}").body
    assert one.value.axes[0] is not two.value.axes[0]


def test_names_of_the_program_stay_clear_of_those_in_a_lambda() -> None:
    made = function(f"for k in range(4):\n    A[k] = T.Reduce({SUM}, lambda k: [A[k]], [16])")
    text = made.script()
    assert "lambda k_1: [A[k_1]]" in text and structural_equal(parse(text), made)


def test_index_maps_from_python() -> None:
    def swap(i, j):  # type: ignore[no-untyped-def]
        return j, i * 2

    made = function('T.func_attr({"m": T.index_map(lambda i, j: (j, i * 2))})').attrs["m"]
    assert structural_equal(IndexMap.of(swap), made) and structural_equal(T.index_map(swap), made)

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):  # type: ignore[no-untyped-def]
        T.func_attr({"m": T.index_map(swap)})
        A[0] = 1.0

    assert structural_equal(kernel.attrs["m"], made)
    (a, b) = made.apply(made.params[::-1])
    assert a is made.params[0] and b.args[0] is made.params[1]
    with pytest.raises(ValueError, match="takes 2 indices, not 1"):
        made.apply(made.params[:1])


def test_a_target_can_be_given_from_outside() -> None:
    chosen = T.target("llvm -mcpu=x")

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):  # type: ignore[no-untyped-def]
        T.func_attr({"target": chosen})
        A[0] = 1.0

    assert kernel.attrs["target"] == Target.parse({"kind": "llvm", "mcpu": "x"})


@pytest.mark.parametrize(
    ("text", "code", "words", "place"),
    [
        ('T.func_attr({"m": T.index_map(lambda i: (i, k))})', "T010", "`k` is not defined", "k"),
        ('T.func_attr({"m": T.index_map(3)})', "T032", "an index map is a lambda", "3"),
        ('T.func_attr({"m": T.index_map(lambda *i: i)})', "T032", "plain names", "lambda *i: i"),
        ('T.func_attr({"m": T.index_map(lambda i: (i, T.float32(1)))})', "T112", "makes integers", "(i, T.float32(1))"),
        ('T.func_attr({"m": T.index_map(lambda i: (i,), inverse_index_map=lambda a, b: (a,))})', "T032",
         "the inverse takes what the map makes", "lambda a, b: (a,)"),
        ('T.func_attr({"m": T.index_map(lambda i: (i,), inverse=3)})', "T032", "no argument `inverse`", "3"),
        ('T.func_attr({"t": T.target("-mcpu=x")})', "T032", "begins with its kind", 'T.target("-mcpu=x")'),
        ('T.func_attr({"t": T.target("llvm mcpu")})', "T032", "-name=value", 'T.target("llvm mcpu")'),
        ('T.func_attr({"t": T.target({"mcpu": "x"})})', "T032", "names its kind", 'T.target({"mcpu": "x"})'),
        ('T.func_attr({"t": T.target(3)})', "T032", "a string, a dict or a Target", "T.target(3)"),
        ('T.func_attr({"t": T.target()})', "T032", "no target: `spec` is missing", "T.target()"),
        ('T.func_attr({"t": T.target(kind="c")})', "T032", "no target: it has no `kind`", 'T.target(kind="c")'),
        ('T.func_attr({"t": T.target("c", "llvm", "c")})', "T032", "no target", 'T.target("c", "llvm", "c")'),
        ("A[0:2] = T.Shuffle([A[0], A[1]], [2, 0])", "T113", "lane 2", "T.Shuffle([A[0], A[1]], [2, 0])"),
        ("A[0:2] = T.Shuffle([A[0], X[1]], [1, 0])", "T107", "one dtype", "T.Shuffle([A[0], X[1]], [1, 0])"),
        ("A[0:2] = T.Shuffle([A[0]], [n, 0])", "T032", "known while parsing", "T.Shuffle([A[0]], [n, 0])"),
        ("A[0:2] = T.Shuffle([], [0])", "T032", "a list of vectors", "T.Shuffle([], [0])"),
        ("A[0] = T.Reduce(T.comm_reducer(lambda x: x, [T.float32(0)]), [A[0]])", "T032", "2 names", "lambda x: x"),
        (f"A[0] = T.Reduce({SUM}, lambda k, j: [A[k]], [4])", "T032", "takes 2 names, not 1", "lambda k, j: [A[k]]"),
        (f"A[0] = T.Reduce({SUM}, lambda k: [X[k]], [4])", "T204", "source 0 of the reduction is int32", "X[k]"),
        (f"A[0] = T.Reduce({SUM}, [A[0]], [4])", "T032", "a lambda over them", "[A[0]]"),
        (f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [A[0]])", "T112", "runs over integers", "[A[0]]"),
        (f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [4], condition=lambda k: k)", "T102", "not bool", "lambda k: k"),
        (f"A[0] = T.Reduce({SUM}, [A[0]], value_index=1)", "T032", "value index 1",
         f"T.Reduce({SUM}, [A[0]], value_index=1)"),
        ("A[0] = T.Reduce(3, [A[0]])", "T032", "`T.comm_reducer`", "3"),
        ("x = T.decl_scalar('float32', 3, 'global')", "T104", "`data` is an address", "3"),
        ("x = T.decl_scalar('float32', A.data, 'global', byte_offset=5)", "T207", "5 bytes", "5"),
        ("T.s_tir.lgd32(A.data, True, 0, 0)", "T031", "`T.s_tir.lgd32` is not a function", "T.s_tir.lgd32"),
        ("T.ptx.wgmma_fence()", "T021", "`T.ptx.wgmma_fence`, a tile primitive of TVM for GPUs", "T.ptx.wgmma_fence"),
        ("T.ptx['cp.async.cg'](A.data)", "T021", "a tile primitive of TVM for GPUs", "T.ptx['cp.async.cg']"),
        ("T.nki.load(A.data)", "T021", "`T.nki`, a tile primitive of TVM for GPUs, is not supported", "T.nki"),
        ("T.cuda.__shfl_dwn_sync(0, 0, 0, 0)", "T031", "is not a function of T.cuda", "T.cuda.__shfl_dwn_sync"),
        ("f = lambda i: i", "T021", "`lambda` here", "lambda i: i"),
    ],
)  # fmt: skip
def test_mistakes(text: str, code: str, words: str, place: str) -> None:
    found = one_mistake(text)
    assert found.code == code and found.span is not None
    assert words in found.message and found.span.text == place


def test_near_names_in_dotted_namespaces_are_suggested() -> None:
    assert one_mistake("T.s_tir.lgd32(A.data, True, 0, 0)").hint == "did you mean `T.s_tir.ldg32`?"


def test_text_runs_no_python_for_an_index_map() -> None:
    text = f'{HEADER}@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    T.func_attr({{"m": T.index_map(abs)}})\n'
    with pytest.raises(DiagnosticError, match="an index map is a lambda"):
        parse(text)


def test_vectors_of_a_scalable_length_do_not_run() -> None:
    made = function("A[T.ramp(0, 1, T.vscale() * 4)] = T.broadcast(T.float32(1.0), T.vscale() * 4)")
    arrays = (np.zeros(16, "float32"), np.zeros((4, 4), "float32"), np.zeros(16, "int32"), 0)
    with pytest.raises(DiagnosticError, match="vectors of a scalable length"):
        tirscript.interpret(made, *arrays)
    with pytest.raises(DiagnosticError, match=r"scalable vectors \(.*\) are not supported"):
        tirscript.build(made)


def test_a_combiner_may_be_what_an_attribute_speaks_of() -> None:
    (attr,) = function(f"with T.attr({SUM}, 'reduce_scope', n):\n    A[0] = 1.0").body
    assert type(attr) is Attr and type(attr.target) is CommReducer


def test_a_shuffle_runs() -> None:
    made = function(
        "A[0:2] = T.Shuffle([A[4:8], A[1]], [4, 2])\nA[2] = T.Shuffle([A[4:8]], [3])\nA[3] = T.Shuffle([A[9]], [0])"
    )
    for run in (lambda *args: tirscript.interpret(made, *args), tirscript.build(made)):
        array = np.arange(16, dtype="float32")
        run(array, np.zeros((4, 4), "float32"), np.zeros(16, "int32"), 0)
        assert array[:4].tolist() == [1.0, 6.0, 7.0, 9.0]
    assert type(made.body[0].value) is Shuffle and made.body[0].value.dtype.lanes == 2


class TestTvm:
    """Texts that apache-tvm 0.27 read when they were written down."""

    def test_a_reduction_is_the_class_with_all_fields(self) -> None:
        made = function(f"A[0] = T.Reduce({SUM}, lambda k: [A[k]], [16], condition=lambda k: k < n)")
        text = script(made, dialect="tvm", width=300)
        assert "    k = T.int32()\n" in text
        wanted = f'T.Reduce({SUM}, [A[k]], [T.iter_var(k, T.Range(0, 16), "CommReduce", "")], k < n, 0, [])'
        assert wanted in text and structural_equal(parse(text), made)

    def test_an_index_map_says_its_constants_dtype(self) -> None:
        text = script(function('T.func_attr({"m": T.index_map(lambda i: (i // 4, 3))})'), dialect="tvm")
        assert "T.index_map(lambda i: (i // T.int64(4), T.int64(3)))" in text

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ('"llvm"', '"llvm"'),
            ('"llvm -mcpu=x"', '{"kind": "llvm", "mcpu": "x"}'),
            ('"cuda", host="llvm -mcpu=x"', '{"kind": "cuda", "host": {"kind": "llvm", "mcpu": "x"}}'),
            ('{"kind": "llvm", "keys": ["cpu"]}', '{"kind": "llvm", "keys": ["cpu"]}'),
        ],
    )
    def test_a_target_is_a_dict(self, ours: str, theirs: str) -> None:
        made = function(f'T.func_attr({{"target": T.target({ours})}})')
        text = script(made, dialect="tvm")
        assert f"T.target({theirs})" in text and structural_equal(parse(text), made)


def is_mark(x: Any, mark: Any) -> Any:
    return T.if_then_else(x == mark, 1, T.if_then_else(0 != x, 2, 3))


def choice(x: Any) -> int:
    return 1 if x == 3 else 2


def test_comparisons_in_python_functions_of_kernels_are_values() -> None:
    """They were False or True while the program was read: as programs, `A[i]` and 62 differ."""

    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = is_mark(A[i], 62) + is_mark(i, A[i]) * 10

    found = np.zeros(4, "int32")
    tirscript.build(main)(np.array([62, 0, 2, 5], "int32"), found)
    assert found.tolist() == [31, 23, 12, 22]
    load = main.body[0].body[0].value.args[0]
    assert not load == 62 and load == load.replace()  # elsewhere they compare programs


def test_a_choice_by_a_value_of_the_kernel_is_none_of_python() -> None:
    with pytest.raises(DiagnosticError, match=r"T033.*`choice` is Python"):

        @T.prim_func
        def main(A: T.Buffer((4,), "int32")):
            for i in range(4):
                A[i] = choice(i)


@pytest.mark.parametrize("held", ["i", "[i, 1]", "(0, [A[0]])", "held", "A"])
def test_no_value_of_the_program_in_an_f_string(held: str) -> None:
    found = one_mistake(
        f"for i in range(4):\n    held = {{'k': i}}\n    with T.block(f'b{{{held}}}'):\n        A[i] = 0.0"
    )
    assert found.code == "T033" and found.span is not None and found.span.text == held


def test_no_tensor_of_a_graph_in_an_f_string() -> None:
    text = '@G.graph_func\ndef f(x: G.Tensor((4,), "float32")):\n    return G.str(f"a{x}")\n'
    with pytest.raises(DiagnosticError, match="an f-string holds values known while parsing"):
        parse(HEADER.replace("tir as T", "tir as T, graph as G") + text)


def test_shapes_and_dtypes_in_an_f_string() -> None:
    func = function("with T.block(f'b_{B.shape[0]}_{A.dtype}'):\n    A[0] = 0.0")
    assert 'with T.block("b_4_float32"):' in func.script()


@pytest.mark.parametrize("text", [str, repr, ascii, format, "b{}".format])
def test_no_value_of_the_program_in_a_text_of_python(text: Any) -> None:
    with pytest.raises(DiagnosticError, match=r"T033.*`i` has no value yet"):

        @T.prim_func
        def main(A: T.Buffer((4,), "int32")):
            for i in range(4):
                with T.block(text(i)):
                    A[i] = 1


def test_a_list_that_holds_itself_in_an_f_string() -> None:
    held: list[Any] = []
    held.append(held)

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        with T.block(f"b{held}"):
            A[0] = 1

    assert main.body[0].name == "b[[...]]"


def test_products_of_arrays_while_parsing() -> None:
    square = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        A[0] = (square @ square)[1, 0]

    @G.graph_func
    def graph(x: G.Tensor((2, 2), "float32")):
        return G.add(x, G.const(square @ square))

    assert "A[0] = 15.0" in kernel.script() and "[[7.0, 10.0], [15.0, 22.0]]" in graph.script()


@pytest.mark.parametrize("shape", [np.array([2, 2]), np.ones((1, 2), "int64")])
def test_an_array_is_no_shape(shape: object) -> None:
    def make() -> None:
        @G.graph_func
        def graph(x: G.Tensor((4,), "float32")):
            return G.reshape(x, shape)

    with pytest.raises(DiagnosticError, match="this is a number, not a numpy array"):
        make()


def test_a_module_is_no_data() -> None:
    def make() -> None:
        @T.prim_func
        def kernel(A: T.Buffer((4,), "float32")):
            K = T.allocate_const(np, "float32", (4,))  # numpy itself, which has a `shape`
            A[0] = K[0]

    with pytest.raises(DiagnosticError, match="T114"):
        make()
