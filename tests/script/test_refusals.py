"""Forms that are almost the language's: each is refused with its own sentence, at its own place."""

from __future__ import annotations

import pytest
from helpers.script import one_mistake

from tirscript.ir import DiagnosticError
from tirscript.script import parse

# body, code, the underlined text, a part of the message
BLOCK = 'with T.block("b"):\n    '
CASES = [
    # blocks
    ('with T.block("b") as b:\n    A[0] = 1.0', "T022", "b", "a block is not bound to a name"),
    (BLOCK + "with T.init():\n        A[0] = 1.0\n    with T.init():\n        A[0] = 2.0", "T202", None, "two inits"),
    (BLOCK + "A[0] = T.axis.spatial(4, 0)", "T022", None, "does not stand in an expression"),
    (BLOCK + "vi = T.axis.spatial((0, 4, 8), 0)", "T032", "(0, 4, 8)", "an extent or a pair"),
    (BLOCK + "vi = T.axis.spatial(4, X)", "T104", "X", "the whole buffer `X`"),
    (BLOCK + "vi = T.axis.spatial(4, 0.5)", "T112", None, "an axis is an integer"),
    (BLOCK + "vi = T.axis.spatial(4, T.uint8(1) + T.uint8(2))\n    T.where(n + 1)", "T102", None, "int32, not bool"),
    (BLOCK + 'vi, vj = T.axis.remap("SS")', "T032", None, "remap"),
    (BLOCK + "X[0], vj = T.axis.remap('SS', [n, n])", "T012", "X[0]", "an axis is bound to a name"),
    (BLOCK + "T.where(n > 0, n < 1)", "T032", "T.where(n > 0, n < 1)", "takes one condition"),
    (BLOCK + "T.reads(A[0], to=A[1])", "T032", None, "`T.reads` takes regions"),
    (BLOCK + "T.writes(A[0])\n    T.writes(A[1])\n    A[0] = 1.0", "T202", None, "two `T.writes`"),
    (BLOCK + "T.reads(A[0:4:2])", "T022", "0:4:2", "a region has no step"),
    (BLOCK + "T.reads(n)", "T022", "n", "a region is a buffer or a slice"),
    (BLOCK + "T.reads(n[0])", "T022", "n[0]", "a region is a buffer or a slice"),
    (BLOCK + "T.reads(B[0])", "T111", "B[0]", "2 dimensions"),
    (BLOCK + "T.block_attr(1, 2, 3)", "T032", None, "a dict, or a key and a value"),
    (BLOCK + "C = T.match_buffer(shape=(4,))", "T032", None, "a handle or a region first"),
    (BLOCK + "C = T.match_buffer(n, (4,))", "T022", "n", "`n` is int32, not a handle"),
    (BLOCK + "C = T.match_buffer(4, (4,))", "T022", "4", "a handle or a region first"),
    # buffers
    ("C = T.alloc_buffer((4,), " + "0, " * 30 + ")", "T032", None, "at most"),
    ("C = T.alloc_buffer((4,), 'int8', scope=4)", "T032", "4", "the scope must be a string"),
    ("C = T.alloc_buffer((4,), shape=(4,))", "T032", None, "`shape` is given twice"),
    ("C = T.alloc_buffer(dtype='int8')", "T032", None, "the shape is missing"),
    ("C = T.alloc_buffer((4,), scope='scalar')", "T205", None, "that of scalar variables"),
    ("C = T.alloc_buffer((4,), offset_factor=-2)", "T207", None, "the offset factor -2 is negative"),
    ("C = T.alloc_buffer((T.int64(),))", "T206", None, "needs a name"),
    ("C = T.decl_buffer((4,), data=n)", "T104", "n", "`data` is an address"),
    ("T.decl_buffer((4,), data=A.data, elem_offset=A[0])", "T022", None, "give it a name"),
    # assignments
    ("a, b = c = 1, 2", "T012", "c", "single targets"),
    ("A.data = 1", "T012", "A.data", "an attribute cannot be assigned"),
    ("A.data[0] = 1", "T012", None, "is an address"),
    ("x = T.float32", "T104", "T.float32", "is a dtype, not a value"),
    ("x = T.serial", "T104", "T.serial", "is a construct, not a value"),
    ("a, b = n", "T033", "n", "one value for 2 targets"),
    ("a, *b, c = [1]", "T033", None, "1 value for at least 2 targets"),
    ("a, A.x = 1, 2", "T012", "A.x", "cannot be assigned"),
    ("a, (b, c) = 1, (2, 3, 4)", "T033", None, "3 values for 2 targets"),
    ("a, (A.shape, c) = 1, (2, 3)", "T012", "A.shape", "this cannot be assigned"),
    ("A @= A", "T021", None, "`@=` is not part"),
    ("A.shape += 1", "T012", "A.shape", "cannot be assigned"),
    ("A[0]: T.float32 = 1.0", "T012", "A[0]", "only a name can be annotated"),
    ("x: T.float32[4] = 1.0", "T022", None, ""),
    ("x: T.float32 = 1.0\nx: T.float32 = 2.0", "T202", "x", "declared twice"),
    ("x: T.let[T.float32]", "T022", None, "needs a value"),
    ("A.vstore([0])", "T032", None, "vstore"),
    # expressions
    ("A[0] = A[0] @ A[1]", "T021", "A[0] @ A[1]", "`@` is not an operator"),
    ("A[0] = n[0]", "T104", "n[0]", "cannot be indexed"),
    ("A[0] = B[...]", "T111", None, "2 dimensions"),
    ("A[0] = B[*[0, 1, 2]]", "T111", None, "3 indices"),
    ("A[0] = 1.0 if 2 > 1 and n else 2.0", "T102", "n", "not bool"),
    ("x = A[0:n]", "T022", "0:n", "not known while parsing"),
    ("x = T.target('nonsense -')", "T032", None, "an option of a target"),
    # parse-time Python
    ("for x in [1, 2]:\n    for A[0] in [1]:\n        pass", "T012", "A[0]", "only names can be assigned here"),
    ("for x, y in [(1, 2, 3)]:\n    pass", "T033", "x, y", "3 values for 2 targets"),
    ("T.func_attr({**n})", "T032", "n", "`**` takes a dict"),
    ("T.print(**n)", "T032", "n", "`**` takes a dict"),
    ("x = [i for i in [1, 2] if n > i]", "T033", "n > i", "known while parsing"),
    ("A[(k := n)] = 1.0", "T021", None, "`:=` takes values known while parsing"),
    ("x = {1, *[2]}", "T021", None, "a set"),
    ("x = sum([[1], 'a'], [])", "T033", None, "does not continue a list"),
    ("x = 'a %s' % 1", "T033", None, "use an f-string"),
    ("x = [1] * 2000000", "T004", None, "a sequence of over"),
    ("x = [0] * 900000 + [1] * 900000", "T004", None, "a sequence of over"),
    ("x = list(range(2000000))", "T004", None, "a range of over"),
    ("x = 2 ** 100000", "T004", None, "bits"),
    ("x = round(1.5, 9999)", "T004", None, "over 4,000 digits"),
    ("x = 'a' * 600000\ny = f'{x}{x}'", "T004", None, "a string of over"),
    ("x = [y for a in range(999) for y in range(999)]", "T004", None, "more work"),
    ("x = sum([[0] * 900000, [0] * 900000], [])", "T004", None, "a value of over"),
    # statements
    ("T.static_assert(n > 0, 'm', 1)", "T032", None, "a condition and a message"),
    ("T.assume(n > 0, 'm')", "T032", None, "takes a condition"),
    ("T.assume(1 > 2)", "T403", "1 > 2", "this assumption is false"),
    ("T.static_assert(1 > 2, 'm')", "T403", "1 > 2", "this assertion is false: m"),
    ("assert 1 > 2, 'm'", "T403", "1 > 2", "fails while parsing: m"),
    ("T.evaluate(n, n)", "T032", None, "takes one value"),
    ("with T.attr(0, 1, 2):\n    pass", "T032", None, "is a string"),
    ("for i in range(1, 2, 3, 4):\n    pass", "T032", None, "one to three bounds"),
    ("for i in range(n=4):\n    pass", "T032", "4", "no keyword arguments"),
    ("for i in T.serial(4, annotation={}):\n    pass", "T032", "{}", "takes no `annotation`"),
    ("for i in T.grid(4, x=4):\n    pass", "T032", None, "no keyword arguments"),
    ("for i, i in T.grid(4, 4):\n    pass", "T202", "i, i", "one name"),
    ("for i, j in T.grid(4, 0.5):\n    pass", "T112", None, "not an integer"),
    ("for i in range(n, T.uint8(4)):\n    pass", "T107", None, "signed with unsigned"),
    ("for i in range(A):\n    pass", "T104", "A", "the whole buffer"),
    ("for n in range(4):\n    pass", "T012", "n", "cannot be a loop variable too"),
]


@pytest.mark.parametrize(("body", "code", "place", "message"), CASES, ids=[case[0][:40] for case in CASES])
def test_refused(body: str, code: str, place: str | None, message: str) -> None:
    found = one_mistake(body)
    assert (found.code, message in found.message) == (code, True), str(found)
    assert found.span is not None and place in (None, found.span.text)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('vi, vj = T.axis.remap("SSR", [i, j])', 'vi, vj = T.axis.remap("SS", [i, j])'),
        ('vi, vj = T.axis.remap("R", [i, j])', 'vi, vj = T.axis.remap("RS", [i, j])'),
        ('vi, vj, vk = T.axis.remap("SR", [i, j])', 'vi, vj = T.axis.remap("SR", [i, j])'),
        ('vi = T.axis.remap("SS", [i, j])', 'vi, vj = T.axis.remap("SS", [i, j])'),
        ('vi, vj = T.axis.remap([i, j], "SS")', 'T.axis.remap("SS", [i, j])'),
        ('vi, vj, vk = T.axis.remap("SSS", [i, j])', "give each name a loop"),
    ],
)
def test_a_remap_is_mended_with_what_it_says(line: str, hint: str) -> None:
    found = one_mistake(f'for i, j in T.grid(4, 4):\n    with T.block("b"):\n        {line}')
    assert (found.code, found.hint) == ("T032", hint)


def test_the_dimensions_of_tensors_are_signed_numbers() -> None:
    for kind, words in (("int8x4", "int64, and `m` is int8x4"), ("uint8", "int64, and `m` is uint8")):
        text = f"""
@G.graph_func
def f(x: G.Tensor((4, 6), "float32")):
    m = T.{kind}()
    return G.match_cast(x, G.Tensor((m, 6), "float32"))
"""
        with pytest.raises(DiagnosticError) as caught:
            parse(text)
        (found,) = caught.value.diagnostics
        assert found.code == "T207" and words in found.message
        assert found.span is not None and found.span.text == "m"


def test_a_slice_of_a_tensor_is_told_as_an_index_of_it_is() -> None:
    text = '@G.graph_func\ndef f(x: G.Tensor((4, 6), "float32")):\n    return x[0, :]\n'
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert (found.code, found.hint) == ("T022", "`G.take(x, 0, axis=0)`")


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        ("G.call_packed('log', x, ty_args=(G.add,))", "T041", "is not a type of G"),
        ("G.call_packed('log', x, ty_args=(4,))", "T041", "is not a type of G"),
        ("G.astype(x, 'int8x4')", "T109", "a tensor holds numbers, not int8x4"),
        ("G.zeros((4,), 'float32x2')", "T109", "a tensor holds numbers, not float32x2"),
    ],
)
def test_what_is_no_type_of_a_tensor(value: str, code: str, words: str) -> None:
    text = f'@G.graph_func(pure=False)\ndef f(x: G.Tensor((4,), "float32")):\n    y = {value}\n    return y\n'
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.code == code and words in found.message and found.span is not None


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ("(4,)", "`inplace_indices` has 4, but the arguments are 0 to 1"),
        ("[-2]", "`inplace_indices` has -2"),
        ("[0, 0]", "names an argument twice: [0, 0]"),
        ("[]", "the call has 1 result, and `inplace_indices` has 0"),
        ("[0, -1]", "the call has 1 result, and `inplace_indices` has 2"),
    ],
)
def test_arguments_that_a_call_writes_are_its_own_and_one_for_each_result(places: str, words: str) -> None:
    text = f"""
@I.ir_module
class M:
    @T.prim_func
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        A[0] = B[0]

    @G.graph_func
    def main(x: G.Tensor((4,), "float32"), y: G.Tensor((4,), "float32")):
        z = G.call_tir_inplace(M.k, (x, y), {places}, G.Tensor((4,), "float32"))
        return z
"""
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.code == "T032" and words in found.message


@pytest.mark.parametrize(
    ("returns", "body"), [("", "T.ret(A[0:4])"), (" -> T.float32x4", "return A[0:4]"), ("", "return A[0:4]")]
)
def test_a_function_returns_no_vector(returns: str, body: str) -> None:
    text = f'@T.prim_func\ndef f(A: T.Buffer((16,), "float32")){returns}:\n    {body}\n'
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.code in ("T204", "T022") and found.hint is not None and "float32x4" not in found.hint


@pytest.mark.parametrize("shape", ['"float32"', '(8, "float32")', '["n", "int8"]'])
def test_a_dtype_in_the_place_of_a_dimension(shape: str) -> None:
    for text in (f"def f(A: T.Buffer({shape})):\n    pass\n", f"def f():\n    A = T.alloc_buffer({shape})\n"):
        with pytest.raises(DiagnosticError) as caught:
            parse(f"@T.prim_func\n{text}")
        (found,) = caught.value.diagnostics
        assert found.code == "T032" and "is an element type, and stands for a dimension" in found.message
        assert found.span is not None and found.span.text == shape
    parse(f'@T.prim_func\ndef f(A: T.Buffer({shape}, "int8")):\n    pass\n')


@pytest.mark.parametrize("private", ["", "(private=True)"])
def test_a_parameter_is_no_vector(private: str) -> None:
    text = f'@T.prim_func{private}\ndef f(A: T.Buffer((16,), "float32"), z: T.float32x4):\n    A[0:4] = z\n'
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    (found,) = caught.value.diagnostics
    assert found.code == "T204" and "`z` is float32x4" in found.message
    assert found.span is not None and found.span.text == "z: T.float32x4"
    assert found.hint == 'pass a buffer: `z: T.Buffer((4,), "float32")`'


@pytest.mark.parametrize("test", ["T.equal('a', 'b')", "A.data == 'b'", "T.not_equal('a', A.data)"])
def test_strings_are_not_compared(test: str) -> None:
    found = one_mistake(f"if {test}:\n    A[0] = 1.0")
    assert found.code == "T104" and "takes numbers and pointers, not a string" in found.message


@pytest.mark.parametrize(("value", "kind"), [("A[0]", "float32"), ("'a'", "a string"), ("n", "int32"), ("0", "int32")])
def test_only_pointers_are_null(value: str, kind: str) -> None:
    found = one_mistake(f"if T.isnullptr({value}):\n    A[0] = 1.0")
    assert found.code == "T104" and f"takes a pointer, not {kind}" in found.message
