"""What apache-tvm prints in its own way: bindings in expressions, symbols, messages of assertions, axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.script import function, mistakes

import tirscript
from tirscript.ir import (
    Assert,
    Attr,
    Bind,
    Buffer,
    Call,
    DeclBuffer,
    DiagnosticError,
    MatchBuffer,
    Module,
    PrimFunc,
    free_vars,
    structural_equal,
    verify,
    walk,
)
from tirscript.passes import simplified
from tirscript.script import parse
from tirscript.script import tir as T

HEADER = "from tvm.script import tirx as T\n\n\n@T.prim_func(s_tir=True)\n"


def test_their_let_is_ours() -> None:
    theirs = function("x = T.float32()\nA[0] = T.Let(x * x, where={x: A[1] + 1})")
    assert structural_equal(theirs, function('A[0] = T.let("x", A[1] + 1, lambda x: x * x)'))


def test_one_name_may_be_bound_twice_and_inside_of_itself() -> None:
    theirs = function("x = T.float32()\nA[0] = T.Let(T.Let(x, where={x: x + 1.0}) * x, where={x: A[1]})")
    ours = function('A[0] = T.let("x", A[1], lambda x: T.let("y", x + 1.0, lambda y: y) * x)')
    assert structural_equal(theirs, ours)


def test_a_name_that_is_declared_later_or_never_is_a_variable_of_its_value() -> None:
    """TVM's printer declares the variables of a loop's extent in the loop."""
    theirs = function(
        "for i in range(T.Let(T.Let(r + d, where={d: 2}), where={r: T.Cast('int32', A[0])})):\n"
        "    r = T.int32()\n    A[i] = T.Let(T.Cast('float32', r), where={r: i})"
    )
    ours = function(
        'for i in range(T.let("r", T.cast(A[0], "int32"), lambda r: T.let("d", 2, lambda d: r + d))):\n'
        '    A[i] = T.let("r", i, lambda r: T.cast(r, "float32"))'
    )
    assert structural_equal(theirs, ours)
    found = mistakes("A[0] = T.Let(y, where={z: A[1]})")
    assert found[0].code == "T010" and "`y`" in found[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T.Let(x * x)", "`where` is missing"),
        ("T.Let(x, where={})", "a dict of one variable and its value"),
        ("T.Let(x, where={**A})", "a dict of one variable and its value"),
        ("T.Let(x, where=[x, 1])", "a dict of one variable and its value"),
        ("T.Let(x, where={1: x})", "`T.Let` binds a variable"),
        ('T.Let(x, where={x: "a"})', "a string"),
    ],
)
def test_mistakes_in_let(text: str, message: str) -> None:
    found = mistakes(f"x = T.float32()\nA[0] = {text}")
    assert message in found[0].message


def theirs(text: str) -> PrimFunc:
    """A function in TVM's dialect."""
    found = parse(HEADER + text)
    assert isinstance(found, PrimFunc)
    return found


def test_the_body_says_the_dtype_of_a_symbol() -> None:
    found = theirs(
        'def f(A: T.Buffer(("v", "w"), "float32")):\n    v = T.int32()\n    w = T.int64()\n'
        "    A[v - 1, w] = T.float32(1)\n"
    )
    assert [(each.name, str(each.dtype)) for each in found.symbols] == [("v", "int32"), ("w", "int64")]
    text = "n = T.int32()\n\n\n@T.prim_func\ndef f(A: T.Buffer((n, 'w'), 'float32')):\n    A[n - 1, w] = 1.0\n"
    assert structural_equal(found, parse(text))


def test_what_the_body_declares_beside_the_symbols_is_its_own() -> None:
    found = theirs(
        'def f(a: T.handle, A: T.Buffer(("v",), "float32")):\n    n = T.int32()\n    v = T.float32()\n'
        '    B = T.match_buffer(a, (n,), "float32")\n    A[0] = B[n - 1]\n'
    )
    assert [(each.name, str(each.dtype)) for each in found.symbols] == [("n", "int32"), ("v", "int64")]


def test_a_scalar_parameter_is_named_in_later_annotations() -> None:
    body = "    A[n - 1] = T.float32(1)\n"
    found = theirs(f'def f(n: T.int32, A: T.Buffer((n,), "float32")):\n{body}')
    (buffer,) = (each for each in found.params if isinstance(each, Buffer))
    assert buffer.shape[0] is found.params[0]
    with pytest.raises(DiagnosticError, match="`n` is not defined"):
        parse(f'@T.prim_func\ndef f(n: T.int32, A: T.Buffer((n,), "float32")):\n{body}')


def test_the_message_of_an_assertion() -> None:
    head = 'def f(A: T.Buffer((4,), "float32")):\n    assert A[0] > T.float32(0), '
    (found,) = theirs(f'{head}("RuntimeError", ["the ", "words"])\n').body
    assert isinstance(found, Assert)
    assert found.message == "the words"
    (plain,) = theirs(f'{head}"words"\n').body
    assert isinstance(plain, Assert)
    assert plain.message == "words"
    for text, message in (
        ('("Type Error", ["words"])', "or the name of an error and a list"),
        ('("RuntimeError", "words")', "or the name of an error and a list"),
        ('("RuntimeError", [1])', "or the name of an error and a list"),
        ('("RuntimeError",)', "or the name of an error and a list"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            theirs(f"{head}{text}\n")


def test_axes_that_their_remap_does_not_know_are_printed_one_by_one() -> None:
    found = function(
        'for i, j in T.grid(2, 4):\n    with T.block("b"):\n'
        '        vi, vj = T.axis.remap("RC", [i, j])\n        B[vi, vj] = 0.0'
    )
    assert 'T.axis.remap("RC", [i, j])' in found.script()
    assert "vj = T.axis.scan(4, j)" in found.script(dialect="tvm")


@pytest.mark.parametrize(
    "text",
    [
        'def f(A: T.Buffer((2, 2), "float32", axis_separators=[1])):\n    A[0, 0] = 1.0\n',
        'def f(a: T.handle):\n    A = T.match_buffer(a, (2, 2), "float32", axis_separators=[1])\n    A[0, 0] = 1.0\n',
        'def f():\n    A = T.alloc_buffer((2, 2), "float32", axis_separators=[1])\n    A[0, 0] = 1.0\n',
    ],
)
def test_axis_separators_are_refused_for_tvm(text: str) -> None:
    """Neither its parameters nor its other buffers have any since 2025."""
    found = parse(f"@T.prim_func\n{text}")
    with pytest.raises(DiagnosticError, match="axis separators"):
        found.script(dialect="tvm")


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            "T203",
            'for i in range(8):\n    with T.block("b"):\n        v = T.axis.spatial(16, i)\n        A[v] = T.float32(1)',
        ),
        (
            "T203",
            'for i in range(8):\n    with T.block("b"):\n        v = T.axis.spatial(4, i)\n        A[v] = T.float32(1)',
        ),
        ("T208", 'C = T.alloc_buffer((4,), "float32")\nA[0] = C[1]'),
        ("T113", "A[16] = A[-1]"),
    ],
)
def test_what_their_parser_does_not_look_at(code: str, lines: str) -> None:
    body = 'def f(A: T.Buffer((16,), "float32")):\n' + "".join(f"    {line}\n" for line in lines.split("\n"))
    found = theirs(body)
    assert {each.code for each in verify(found)} == {code}
    assert not found.check_well_formed and structural_equal(parse(found.script()), found)
    for text in (f"@T.prim_func\n{body}", HEADER + body.replace("A[", "A[0, ")):
        with pytest.raises(DiagnosticError):
            parse(text)
    other = "@T.prim_func\ndef g(A: T.Buffer((4,), 'float32')):\n    A[0] = T.float32(0)\n"
    lines = "".join(f"    {line}\n" for line in f"@T.prim_func\n{body}\n{other}".split("\n"))
    module = parse(f"from tvm.script import ir as I, tir as T\n\n\n@I.ir_module\nclass M:\n{lines}")
    assert isinstance(module, Module) and not module["f"].check_well_formed and module["g"].check_well_formed


def test_symbols_declared_together() -> None:
    found = theirs(
        'def f(A: T.Buffer(("v", "w"), "float32"), B: T.Buffer((v,), "float32")):\n'
        "    v, w = T.int32(), T.int64()\n    A[v - 1, w] = B[0]\n"
    )
    assert [(each.name, str(each.dtype)) for each in found.symbols] == [("v", "int32"), ("w", "int64")]


def test_views_of_another_dtype() -> None:
    head = 'def f(A: T.Buffer((4, 8), "float16"), B: T.Buffer((4, 8), "int8", elem_offset=8)):\n'
    found = theirs(
        f'{head}    C = A.view("float32")\n    D = A.view(-1, 16)\n    E = B.view("int64")\n    C[0, 3] = T.float32(1)\n'
    )
    shapes = {stmt.buffer.name: stmt.buffer for stmt in found.body if isinstance(stmt, DeclBuffer)}
    assert {name: (str(each.dtype), each.constant_shape()) for name, each in shapes.items()} == {
        "C": ("float32", (4, 4)),
        "D": ("float16", (2, 16)),
        "E": ("int64", (4, 1)),
    }
    assert str(shapes["E"].elem_offset) == "1"
    for text, message in (
        ('A.view("float64", 3)', "T.view"),
        ("A.view(-1, 3)", "are not divided by 3"),
        ("A.view()", "new shape or dtype"),
    ):
        with pytest.raises(DiagnosticError, match=message if message != "T.view" else None):
            theirs(f"{head}    C = {text}\n    A[0, 0] = T.float16(1)\n")


def test_a_buffer_of_one_element_by_its_name_is_that_element() -> None:
    signature = 'def f(A: T.Buffer((1,), "float32"), B: T.Buffer((8,), "float32"), n: T.Buffer((1,), "int32")):\n'
    written = [
        "A = T.float32(0.0)",
        "for i in range(n):",
        "    A = A + B[i] * -A",
        "    B[n] = T.exp(A)",
        "if n > 2 and not n == 5:",
        '    A = T.Cast("float32", n)',
        "B[0:2] = T.Broadcast(A, 2)",
        "n += 1",
        "while n:",
        "    n = n // 2",
        'T.call_extern("int32", "g", A.source.data, T.address_of(A))',
    ]
    plain = [
        "A[0] = T.float32(0.0)",
        "for i in range(n[0]):",
        "    A[0] = A[0] + B[i] * -A[0]",
        "    B[n[0]] = T.exp(A[0])",
        "if n[0] > 2 and not n[0] == 5:",
        '    A[0] = T.Cast("float32", n[0])',
        "B[0:2] = T.Broadcast(A[0], 2)",
        "n[0] += 1",
        "while n[0]:",
        "    n[0] = n[0] // 2",
        'T.call_extern("int32", "g", A.data, T.address_of(A[0]))',
    ]
    one, other = (theirs(signature + "".join(f"    {line}\n" for line in lines)) for lines in (written, plain))
    assert structural_equal(one, other)
    with pytest.raises(DiagnosticError, match="the whole buffer `B` is not a value"):
        theirs(f"{signature}    A = B\n")
    with pytest.raises(DiagnosticError, match="cannot be assigned as a whole"):
        theirs(f"{signature}    B = A\n")
    for text in ("A = 1.0", "B[0] = A", "B[0] = A + 1.0"):  # ours has other words for that
        with pytest.raises(DiagnosticError, match=r"as a whole|is not a value"):
            parse(f"@T.prim_func\n{signature}    {text}\n")


def test_the_memory_of_a_scalar_has_an_address_and_views() -> None:
    found = theirs(
        """def f(A: T.Buffer((4,), "uint8"), B: T.Buffer((2,), "float32")):
    x: T.float32 = T.float32(1.5)
    D = x.view("uint8")
    for i in range(4):
        A[i] = D[i]
    E = T.decl_scalar(T.float32, data=x.source.data, elem_offset=0, scope="local")
    E = E * T.float32(2)
    W = x.view(1, 1)
    B[0] = x
    B[1] = W[0, 0]
"""
    )
    for dialect in ("tirscript", "tvm"):
        assert structural_equal(parse(found.script(dialect=dialect)), found)
    assert 'data=x.source.data, scope="local"' in found.script(dialect="tvm")
    for run in (found_by_interpreter(found), tirscript.build(found)):
        a, b = np.zeros(4, dtype="uint8"), np.zeros(2, dtype="float32")
        run(a, b)
        assert a.tobytes() == np.float32(1.5).tobytes()
        assert b.tolist() == [3.0, 3.0]


def found_by_interpreter(func: PrimFunc) -> Any:
    return lambda *arrays: tirscript.interpret(func, *arrays)


def test_slices_times_vscale() -> None:
    head = 'def f(A: T.Buffer((200,), "float32")):\n'
    value = "T.Broadcast(T.float32(1), T.vscale() * 4)"
    for piece, ramp in (
        ("11:11 + T.vscale() * 4 * 2:2", "T.Ramp(11, 2, T.vscale() * 4)"),
        ("0:T.vscale() * 8:2", "T.Ramp(0, 2, T.vscale() * 4)"),
        ("3:3 + 4 * T.vscale()", "T.Ramp(3, 1, T.vscale() * 4)"),
    ):
        assert structural_equal(theirs(f"{head}    A[{piece}] = {value}\n"), theirs(f"{head}    A[{ramp}] = {value}\n"))
    for piece in ("4:3 + T.vscale() * 4", "0:T.vscale() * 4:3"):
        with pytest.raises(DiagnosticError, match="the length of this slice is not known"):
            theirs(f"{head}    A[{piece}] = {value}\n")


def test_a_binding_says_its_type() -> None:
    head = 'def f(A: T.Buffer((4,), "float32")):\n'
    rest = '    B = T.decl_buffer((4,), "float32", data=p)\n    B[0] = T.float32(1)\n'
    bound = theirs(f'{head}    p = T.bind(T.address_of(A[0]), T.handle("float32"))\n{rest}')
    assert structural_equal(bound, theirs(f'{head}    p: T.let[T.handle("float32")] = T.address_of(A[0])\n{rest}'))
    with pytest.raises(DiagnosticError, match="binds one value"):
        theirs(f"{head}    p = T.bind(T.address_of(A[0]), 1)\n")


def test_a_buffer_that_regions_name_stands_in_front_of_their_block() -> None:
    head = 'def f(A: T.Buffer((16,), "float32"), B: T.Buffer((4, 4), "float32")):\n    for i in range(16):\n'
    made = "B_1 = T.Buffer((16,), data=B.data)\n"
    block = '        with T.sblock("b"):\n            vi = T.axis.spatial(16, i)\n'
    regions = "            T.reads(A[vi])\n            T.writes(B_1[vi])\n            B_1[vi] = A[vi]\n"
    within, before = (
        theirs(text) for text in (f"{head}{block}{' ' * 12}{made}{regions}", f"{head}{' ' * 8}{made}{block}{regions}")
    )
    assert structural_equal(within, before)
    of_axis = "            B_1 = T.decl_buffer((16,), data=B.data, elem_offset=vi)\n"
    with pytest.raises(DiagnosticError, match="outside of its scope"):
        theirs(head + block + of_axis + regions)


def test_a_reduction_over_threads_writes_its_results() -> None:
    found = theirs(
        'def f(A: T.Buffer((4,), "float32")):\n    t = T.alloc_local((1,), "float32")\n'
        '    tx = T.launch_thread("threadIdx.x", 4)\n'
        "    T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), t[0], tx)\n    A[tx] = t[0]\n"
    )
    assert "tvm_thread_allreduce" in found.script()


def test_functions_of_the_tile_dialect_say_so() -> None:
    body = 'def f(A: T.Buffer((4,), "float32", layout=None)):\n    B = T.alloc_buffer((4,), "float32", scope="shared.dyn", layout=None, allocated_addr=16)\n    B[0] = A[0]\n    A[1] = B[0]\n'
    tile = parse(f"from tvm.script import tirx as T\n\n\n@T.prim_func\n{body}")
    assert isinstance(tile, PrimFunc) and not tile.s_tir
    text = tile.script(dialect="tvm")
    assert "@T.prim_func\n" in text and text.count("layout=None") == 2 and "allocated_addr=16" in text
    ours = tile.script()
    assert "@T.prim_func(s_tir=False)" in ours
    again = parse(ours)
    assert structural_equal(again, tile) and again.script(dialect="tvm") == text
    plain = theirs(body)
    assert plain.s_tir and structural_equal(plain, tile)  # what these words say means nothing
    assert "layout" not in plain.script(dialect="tvm")


def test_layouts_of_the_tile_dialect_are_refused() -> None:
    for layout in ('"wgmma"', "T.TileLayout(T.S[4])"):
        with pytest.raises(DiagnosticError, match="is not supported"):
            theirs(f'def f(A: T.Buffer((4,), "float32", layout={layout})):\n    A[0] = T.float32(1)\n')


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ("(4, n)", "(4, n):(n, T.int64(1))"),
        ("(n, 4, n)", "(n, T.int64(4), n):(T.int64(4) * n, n, 1)"),
        ("(n, 4, n)", "(n, 4, n):(n * 4, n, 1)"),
        ("(n + 1, n - 1)", "(n + 1, n - 1):(n - 1, 1)"),
        ("(n,)", "n:1"),
        ("(2, 3, 4)", "(2, 3, 4):(12, 4, 1)"),
    ],
)
def test_a_layout_of_rows_is_the_one_of_buffers_without_any(shape: str, layout: str) -> None:
    """TVM prints it of symbolic sizes that it had not folded."""
    head = "def f(a: T.handle, b: T.handle, n: T.int64):\n"
    lines = "    A = T.match_buffer(a, {0}, 'float32'{1})\n    B: T.let[T.handle] = b\n    T.evaluate(A.data)\n"
    assert structural_equal(
        theirs(head + lines.format(shape, f", layout=T.TileLayout(T.S[{layout}])")),
        theirs(head + lines.format(shape, "")),
    )
    in_type = "def f(n: T.int64, A: T.Buffer({0}, 'float32'{1})):\n    T.evaluate(A.data)\n"
    assert structural_equal(
        theirs(in_type.format(shape, f", layout=T.TileLayout(T.S[{layout}])")), theirs(in_type.format(shape, ""))
    )


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ("(4, n)", "(4, n):(1, 4)"),
        ("(4, n)", "(4, n):(n * n, 1)"),
        ("(4, n)", "(n, 4):(4, 1)"),
        ("(4, n)", "(4, 2, n):(n * 2, n, 1)"),
        ("(4, 6)", "(4, 6):(8, 1)"),
        ("(4, n)", "(4, n):(n + 1, 1)"),
    ],
)
def test_another_layout_is_refused_with_a_way_out(shape: str, layout: str) -> None:
    with pytest.raises(DiagnosticError, match=r"T021(.|\n)*by `strides`"):
        theirs(f"def f(n: T.int64, A: T.Buffer({shape}, 'float32', layout=T.TileLayout(T.S[{layout}]))):\n    pass\n")


def test_strides_by_name_are_new_for_each_buffer() -> None:
    found = theirs(
        'def f(A: T.Buffer((16,), "int8")):\n    with T.sblock("a"):\n'
        '        C = T.match_buffer(A[0:16], (16,), "int8", strides=("s",), offset_factor=1)\n        with T.sblock("b"):\n'
        '            D = T.match_buffer(A[0:16], (16,), "int8", strides=("s",), offset_factor=1)\n            D[0] = C[1]\n'
    )
    first, second = (node.buffer.strides for node in walk(found) if type(node) is MatchBuffer)
    assert first is not None and second is not None and first[0] is not second[0]
    assert structural_equal(parse(found.script()), found)
    assert structural_equal(parse(found.script(dialect="tvm")), found)


def test_strides_and_offsets_without_a_name_get_one_of_the_buffer() -> None:
    found = theirs(
        'def f(a: T.handle, B: T.Buffer((8, 4), "int8", strides=("", ""))):\n'
        '    A = T.match_buffer(a, (8, 4), "int8", strides=("", 1), elem_offset=T.int32())\n    A[0, 0] = B[0, 0]\n'
        '    with T.sblock("b"):\n'
        '        C = T.match_buffer(A[0:8, 0:4], (8, 4), "int8", strides=[T.int64(), 1])\n        C[1, 1] = B[1, 1]\n'
    )
    ours, text = found.script(), found.script(dialect="tvm")
    for named in ("strides=(B_s0, B_s1)", "strides=(A_s0, 1)", "elem_offset=A_elem_offset", "C_s0 = T.int64()"):
        assert named in ours
    assert structural_equal(parse(ours), found) and structural_equal(parse(text), found)
    with pytest.raises(DiagnosticError, match="'' is not an expression"):
        parse('@T.prim_func\ndef f(A: T.Buffer((4,), "int8", strides=("",))):\n    A[0] = 1\n')


def test_the_address_of_a_buffer_is_that_of_its_first_element() -> None:
    head = 'def f(A: T.Buffer((4, 4), "int8")):\n    T.evaluate(T.address_of('
    assert structural_equal(theirs(f"{head}A))\n"), theirs(f"{head}A[0, 0]))\n"))


def test_lowered_kernels_name_a_buffer_where_they_mean_its_address() -> None:
    head = 'def f(A: T.Buffer((4, 4), "int8")):\n    T.evaluate(T.'
    for call in (
        'tvm_access_ptr(T.type_annotation("int8"), {}, 0, 16, 1)',
        "tvm_mma_sync({0}, 0, {0}, 0, {0}, 0, {0}, 0)",
        'tvm_struct_get({}, 0, 1, "int32")',
    ):
        found = theirs(f"{head}{call.format('A')})\n")
        assert structural_equal(found, theirs(f"{head}{call.format('A.data')})\n"))
        assert "A.data" in found.script(dialect="tvm")
        with pytest.raises(DiagnosticError, match="whole buffer `A` is not a value"):
            parse(f"@T.prim_func\n{head}{call.format('A')})\n")
    for name in ("call_packed", "call_cpacked"):
        assert "T.tvm_stack_make_array(A.data" in theirs(f'{head}{name}("g", A))\n').script()


def test_a_call_without_a_dtype_is_void() -> None:
    head = 'def f(A: T.Buffer((4,), "int8")):\n    T.evaluate(T.call_extern('
    found = theirs(f'{head}"void", "g", A.data))\n')
    assert structural_equal(theirs(f'{head}"g", A.data, dtype=""))\n'), found)
    assert structural_equal(theirs(f'{head}"", "g", A.data))\n'), found)
    with pytest.raises(DiagnosticError, match="is not an element type"):
        parse(f'@T.prim_func\n{head}"", "g", A.data))\n')


def test_vectors_of_any_number_of_lanes_have_names() -> None:
    found = theirs(
        'def f(A: T.Buffer((256,), "int8"), B: T.Buffer((256,), "int8")):\n'
        "    x: T.let[T.int8x128] = A[0:128]\n    B[3:131] = x\n"
    )
    assert str(next(node.var.dtype for node in walk(found) if type(node) is Bind)) == "int8x128"
    text = found.script(dialect="tvm")
    assert "x = T.bind(A[T.Ramp(0, 1, 128)])" in text and structural_equal(parse(text), found)
    for kind in ("int8x2", "int8xvscalex4", "bfloat16x8"):
        other = theirs(
            f'def f(A: T.Buffer((8,), "int8")):\n    x: T.let[T.{kind}] = T.call_llvm_pure_intrin("{kind}", "llvm.x")\n    T.evaluate(x)\n'
        )
        assert "x = T.bind(" in other.script(dialect="tvm") and structural_equal(
            parse(other.script(dialect="tvm")), other
        )
    narrow = theirs('def f(A: T.Buffer((8,), "int8")):\n    x: T.let[T.int8x4] = A[0:4]\n    A[4:8] = x\n')
    assert "x: T.let[T.int8x4] = " in narrow.script(dialect="tvm")
    assert repr(T.uint16x12) == "<T.uint16x12>"
    for name in ("int8x0", "int9x4", "int8x", "float32x99999999999"):
        with pytest.raises(AttributeError, match="does not exist"):
            getattr(T, name)


def test_variables_that_nothing_defines_are_declared_where_they_may_be() -> None:
    text = (
        'def f(a: T.handle, C: T.Buffer(("k",), "int32")):\n    m, n = T.int32(), T.int64()\n    yes = T.bool()\n'
        '    p = T.handle("float32")\n    q = T.handle()\n    v = T.float32x4()\n    A = T.match_buffer(a, (m,), "float32")\n'
        '    B = T.decl_buffer((n,), "float32", data=p)\n    T.evaluate(q)\n    T.evaluate(v)\n'
        "    for i in range(m):\n        C[i] = T.Select(yes, T.int32(1), k)\n        B[i] = A[0]\n"
    )
    with pytest.raises(DiagnosticError, match="T206"):
        theirs(text)
    found = parse(HEADER.replace("s_tir=True", "s_tir=True, check_well_formed=False") + text)
    assert [var.name for var in free_vars(found)] == ["n", "p", "q", "v", "yes"]
    choices: tuple[dict[str, Any], ...] = ({}, {"dialect": "tvm"})
    for options in choices:
        again = parse(found.script(**options))
        assert structural_equal(again, found, map_free_vars=True)
        assert again.script(**options) == found.script(**options)
    assert (
        '    n = T.int64()\n    p = T.handle("float32")\n    q = T.handle()\n    v = T.float32x4()\n' in found.script()
    )


def test_comments_tell_the_prefixes_of_their_printer() -> None:
    text = (
        "# from tvm.script import ir as {I}\n# from tvm.script import tirx as {T}\n# from tvm.script import relax as {R}\n\n"
        '@{I}.ir_module\nclass M:\n    @{T}.prim_func(s_tir=True)\n    def f(a: {T}.Buffer((4,), "float32")):\n'
        '        with {T}.sblock("b"):\n            a[0] = {T}.float32(1)\n'
        '    @{R}.function\n    def main(x: {R}.Tensor((4,), "float32")):\n        y = {R}.add(x, x)\n        return y\n'
    )
    plain = parse(text.format(I="I", T="T", R="R"))
    for names in ({"I": "IR", "T": "X", "R": "relax"}, {"I": "T", "T": "R", "R": "I"}):
        found = parse(text.format(**names))
        assert structural_equal(found, plain) and found.script() == plain.script()
    with pytest.raises(DiagnosticError, match="`X` is not defined"):
        parse(text.format(I="I", T="X", R="R").replace("as X\n", "as Y\n"))
    with pytest.raises(DiagnosticError, match="`Y` is not defined"):  # these comments are no text of TVM's
        parse("# from tirscript.script import tir as Y\n@Y.prim_func\ndef f(n: Y.int32):\n    pass\n")


def test_an_extent_of_int32_beside_a_value_of_int64_is_printed_so() -> None:
    block = (
        'def f(A: T.Buffer((), "float32"), n: T.int64):\n    with T.sblock("b"):\n        v = T.axis.spatial({}, {})\n'
    )
    found = theirs(block.format("1", "T.int64(0)") + "        A[()] = T.float32(1.0)\n")
    assert "v = T.axis.spatial(1, T.int64(0))" in found.script(dialect="tvm")
    assert structural_equal(parse(found.script()), found)
    found = theirs(block.format("T.int64(1)", "T.int64(0)") + "        A[()] = T.float32(1.0)\n")
    assert "v = T.axis.spatial(T.int64(1), T.int64(0))" in found.script(dialect="tvm")
    # what the axis stands in is of int64 here
    found = theirs(block.format("1", "n") + '        A[()] = T.Cast("float32", v + T.int64(2))\n')
    assert "v = T.axis.spatial(T.int64(1), n)" in found.script(dialect="tvm")


def test_memory_of_a_function_and_of_its_blocks_are_told_apart() -> None:
    text = (
        'def f(A: T.Buffer((4,), "float32")):\n    B = T.alloc_buffer((4,))\n    C = T.sblock_alloc_buffer((4,))\n'
        '    with T.sblock("b"):\n        D = T.alloc_buffer((4,))\n        E = T.sblock_alloc_buffer((4,))\n'
        "        D[0] = A[0]\n        E[0] = D[0]\n        B[0] = E[0]\n        C[0] = B[0]\n"
    )
    found = theirs(text)
    for name, word in (("B", "alloc"), ("C", "sblock_alloc"), ("D", "alloc"), ("E", "sblock_alloc")):
        assert f" {name} = T.{word}_buffer((4,), " in found.script(dialect="tvm"), name
    ours = parse(found.script()).script(dialect="tvm")  # where nothing tells, blocks have it
    assert ours.count("= T.sblock_alloc_buffer(") == 4
    old = "from tvm.script import tir as T\n@T.prim_func\n" + text.replace("sblock", "block").replace(
        "block_alloc", "alloc"
    )
    assert parse(old).script(dialect="tvm").count("= T.sblock_alloc_buffer(") == 4


def test_a_loop_may_hide_a_parameter_until_it_ends() -> None:
    text = 'def f(A: T.Buffer((4, 9), "int32"), k: T.int32):\n    for i, {k} in T.grid(4, k):\n        A[i, {k}] = {k}\n    A[0, 0] = k\n'
    assert structural_equal(theirs(text.format(k="k")), theirs(text.format(k="j")))
    with pytest.raises(DiagnosticError, match="cannot be a loop variable too"):
        parse("from tirscript.script import tir as T\n@T.prim_func\n" + text.format(k="k"))


def test_a_cast_to_the_dtype_that_a_value_has_stays() -> None:
    found = theirs(
        'def f(A: T.Buffer((4,), "int32"), n: T.int32):\n'
        '    A[T.Cast("int32", n)] = T.Cast("int32", A[0] + T.Cast("int32", 3)) + T.cast(n, "int32")\n'
    )
    casts = [node for node in walk(found) if isinstance(node, Call) and node.op.name == "cast"]
    assert len(casts) == 3  # `T.cast` leaves out what converts nothing
    assert 'A[T.Cast("int32", n)] = T.Cast("int32", A[0] + T.Cast("int32", T.int32(3))) + n' in found.script()
    for text in (found.script(), found.script(dialect="tvm")):
        assert structural_equal(parse(text), found)
    simple = simplified(casts[0])
    assert not any(isinstance(node, Call) and node.op.name == "cast" for node in walk(simple))


def test_their_least_bfloat16_is_that_of_float32() -> None:
    number = 'def f(A: T.Buffer((1,), "bfloat16")):\n    A[0] = T.bfloat16({})\n'
    for text, value in (("-3.4028234663852886e+38", "-inf"), ("3.4028234663852886e+38", "inf"), ("1.5", None)):
        found = theirs(number.format(text))
        assert structural_equal(found, theirs(number.format(f'"{value}"' if value else "1.5"))), text
    for refused in (HEADER + number.format("3.5e+38"), HEADER.replace("tvm.", "tirscript.").replace("tirx", "tir")):
        text = refused if "3.5" in refused else refused.replace("(s_tir=True)", "") + number.format("3.4028e+38")
        with pytest.raises(DiagnosticError, match="does not fit bfloat16"):
            parse(text)


def test_an_attribute_of_a_buffer_that_has_no_memory_yet_keeps_its_name() -> None:
    # so stands what TVM makes of the arguments of a function of C
    found = theirs(
        'def f(p: T.handle("float32")):\n    A = T.Buffer((4,))\n    with T.attr(A, "storage_alignment", 64):\n'
        "        A = T.decl_buffer((4,), data=p)\n        A[0] = T.float32(1.0)\n"
    )
    (attr,) = [node for node in walk(found) if isinstance(node, Attr)]
    assert (attr.target, attr.key) == ("A", "storage_alignment")
    for text in (found.script(), found.script(dialect="tvm")):
        assert structural_equal(parse(text), found)


@pytest.mark.parametrize(
    "params",
    [
        'c: T.handle):\n    C = T.match_buffer(c, (5,), "int32", elem_offset=0, align=64, offset_factor=1)',
        'C: T.Buffer((5,), "int32", align=64)):',
    ],
)
def test_the_alignment_that_tvm_once_wrote_out_is_asked_of_no_call(params: str) -> None:
    """Texts before `tirx` say `align=64`, its default, of each buffer, and arrays of numpy begin at any multiple of 16."""
    text = f"@T.prim_func\ndef f({params}\n    C[0] = 1\n    D = T.alloc_buffer((4,), align=64)\n"
    found = parse("from tvm.script import tir as T\n\n\n" + text)
    assert isinstance(found, PrimFunc)
    assert {each.name: each.align for each in walk(found) if isinstance(each, Buffer)} == {"C": 0, "D": 64}
    for header in ("from tvm.script import tirx as T", "from tirscript.script import tir as T"):
        assert parse(f"{header}\n\n\n{text}").script().count("align=64") == 2
    memory = np.zeros(64, "int32")
    start = (-memory.ctypes.data % 64) // 4 + 4
    tirscript.build(found)(memory[start : start + 5])
    assert memory[start] == 1
