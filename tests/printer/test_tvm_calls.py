"""TVM's text of what it reads by another rule than ours: strings and numbers in calls, memory of the root block."""

from __future__ import annotations

import pytest

from tirscript.ir import structural_equal
from tirscript.script import parse

HEAD = "from tvm.script import tirx as T\nfrom tvm.script import relax as R\n"
MEMORY = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")):
    s = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
    a: R.Tensor((2, 4), "float32") = R.memory.alloc_tensor(s, 0, R.shape([2, 4]), "float32")
    b = R.builtin.alloc_tensor(R.shape([2, 4]), R.dtype("float32"), 0, R.str("global"))
    c = R.ccl.allreduce(x, "sum", True)
    d = R.memory.view(x, relative_byte_offset=R.prim_value(0))
    return (a, b, c, d)
"""
CALLS = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), put: R.Callable([R.Prim("int64"), R.Any], R.Tuple([]), purity=False)):
    put(R.prim_value(1), x)
    y = R.call_packed("f", x, R.prim_value(3), True, ty_args=R.Tensor((4,), "float32"))
    return y
"""
BRANCH = """
@R.function
def main(c: R.Tensor((), "bool")):
    if c:
        n = R.prim_value(5)
    else:
        n = R.prim_value(T.int64(10))
    return n
"""


@pytest.mark.parametrize("text", [MEMORY, CALLS, BRANCH])
def test_both_texts_come_back(text: str) -> None:
    made = parse(HEAD + text)
    for printed in (made.script(), made.script(dialect="tvm")):
        again = parse(printed)
        assert structural_equal(again, made) and again.script() == made.script()


def test_strings_of_operators_are_plain() -> None:
    text = parse(HEAD + MEMORY).script(dialect="tvm")
    assert 'alloc_storage(R.shape([32]), 0, "global", "float32")' in text
    assert 'R.ccl.allreduce(x, "sum", True)' in text and "R.str" not in text
    assert "relative_byte_offset=R.prim_value(T.int64(0))" in text


def test_numbers_tell_their_dtype_where_a_function_of_the_program_is_called() -> None:
    text = parse(HEAD + CALLS).script(dialect="tvm")
    assert "put(R.prim_value(T.int64(1)), x)" in text and 'call_packed("f", x, 3, True,' in text.replace(
        "\n        ", ""
    )


def test_a_branch_that_gives_a_number() -> None:
    made = parse(HEAD + BRANCH)
    assert "n: G.Prim" not in made.script() and "n = G.prim_value(T.int64(5))" in made.script()


ROOT = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((4,), "float32")):
    B = T.{}((4,), "float32")
    for i in range(4):
        B[i] = A[i]
        A[i] = B[i] + T.float32(1)
"""


@pytest.mark.parametrize("word", ["alloc_buffer", "sblock_alloc_buffer"])
def test_memory_of_a_root_without_blocks(word: str) -> None:
    """TVM makes a root block of what says `sblock`, also where no other block stands in it."""
    made = parse(HEAD + ROOT.format(word))
    assert f"B = T.{word}((4,)" in made.script(dialect="tvm")
    assert structural_equal(made, parse(made.script()))


PREFETCH = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            for j in range(8):
                own = T.alloc_buffer((1,), "float32")
                T.evaluate(T.prefetch(T.address_of(A[vi, j])))
                own[0] = A[vi, j]
                B[vi] = own[0]
"""


def test_what_tvm_reads_by_name_and_says_what_a_block_with_memory_of_a_loop_reads() -> None:
    made = parse(PREFETCH)
    text = made.script(dialect="tvm")
    assert 'T.call_intrin("void", "tirx.prefetch", T.address_of(A[vi, j]), 0, 3, 1)' in text
    assert "T.reads(A[0:4, 0:8])" in text and "T.writes(B[0:4])" in text
    assert "T.prefetch(T.address_of(A[vi, j]), 0, 3, 1)" in parse(text).script()


SIZES = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer([T.int64(4), T.int64(8)], "float32"), B: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(*A.shape):
        A[i, j] = T.float32(1)
    for i, j in T.grid(*B.shape):
        B[i, j] = T.float32(1)
"""
KERNEL = """
@I.ir_module
class M:
    @T.prim_func(s_tir=True)
    def copy(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        B[0] = A[0]

    @T.prim_func(s_tir=True)
    def one(A: T.Buffer((2,), "float32")) -> T.float32:
        return A[0]

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        cls = M
        _ = cls.copy(x, y)
        gv = cls.copy(x, y)
        _ = cls.one(x)
        return gv
"""


def test_loops_to_the_sizes_of_a_buffer_count_in_their_dtype() -> None:
    made = parse(HEAD + SIZES)
    for text in (made.script(), made.script(dialect="tvm")):
        assert "T.grid(T.int64(4), T.int64(8))" in text and "T.grid(4, 8)" in text
        assert structural_equal(parse(text), made)


def test_a_kernel_that_is_called_for_what_it_writes_gives_an_empty_tuple() -> None:
    made = parse("from tvm.script import ir as I\n" + HEAD + KERNEL)
    text = made.script(dialect="tvm")
    assert "        M.copy(x, y)\n        gv: R.Tuple() = M.copy(x, y)\n" in text
    assert '        _: R.Prim("float32") = M.one(x)\n' in text
    assert structural_equal(parse(text), made) and structural_equal(parse(made.script()), made)


def test_scalars_stand_among_the_arguments() -> None:
    import numpy as np

    import tirscript
    from tirscript.passes.graph import legalize_ops

    module = parse("""
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor(("n", "m", 4), "float32")):
        y = G.nn.relu(G.reshape(x, (n * m, 4)))
        return y
""")
    text = legalize_ops(module).script(dialect="tvm")  # type: ignore[attr-defined]
    assert "tir_vars" not in text
    assert text.index("n_1: T.int64") < text.index('out: T.Buffer(("n_1 * m_1", 4)')
    x = np.arange(24, dtype="float32").reshape(3, 2, 4) - 12
    np.testing.assert_array_equal(tirscript.interpret(parse(text), x), np.maximum(x, 0).reshape(6, 4))


SHAPED = """
@R.function
def main(x: R.Tensor((4, 6), "float32"), s: R.Shape(ndim=2), u: R.Tensor(ndim=2, dtype="float32")):
    a: R.Tensor(s, "float32") = R.reshape(x, s)
    b: R.Tensor(s, "float32") = R.exp(a)
    c = b
    d: R.Tensor(dtype="float32", ndim=2) = R.add(x, x)
    e: R.Tensor(dtype="int64", ndim=2) = R.nonzero(x)
    f: R.Tensor(dtype="float32") = R.reshape(x, s)
    return (c, d, e, f)
"""


def test_a_tensor_whose_shape_is_that_of_a_variable_has_no_annotation() -> None:
    """TVM's type of it names the variable, and an annotation of less would take its place."""
    made = parse(HEAD + SHAPED)
    text = made.script(dialect="tvm")
    for line in ("a = R.reshape(x, s)", "b = R.exp(a)", "c = b"):
        assert f"    {line}\n" in text
    # what the value does not tell stands in the text, and so does what no shape is given for
    assert 'd: R.Tensor(dtype="float32", ndim=2) = R.add(x, x)' in text
    assert 'e: R.Tensor(dtype="int64", ndim=2) = R.nonzero(x)' in text
    assert 'f: R.Tensor(dtype="float32") = R.reshape(x, s)' in text
    assert structural_equal(parse(text), made) and structural_equal(parse(made.script()), made)
