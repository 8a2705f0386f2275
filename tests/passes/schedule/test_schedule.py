"""The schedule itself: handles, refusals, traces, undo."""

from __future__ import annotations

import math
from inspect import Signature

import numpy as np
import pytest

import tirscript
from tirscript.ir.diagnostic import DiagnosticError
from tirscript.ir.equal import structural_equal
from tirscript.passes import get_pass
from tirscript.passes.schedule import Schedule, ScheduleError, Trace
from tirscript.passes.schedule.primitive import PRIMITIVES, Primitive, primitive
from tirscript.script import ir as I
from tirscript.script import parse
from tirscript.script import tir as T


@T.prim_func
def matmul(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    # a comment that stays
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]


@I.ir_module
class Two:
    @T.prim_func
    def first(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("S"):
                vi = T.axis.spatial(8, i)
                A[vi] = 1.0

    @T.prim_func
    def second(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("S"):
                vi = T.axis.spatial(8, i)
                A[vi] = 2.0


def tiled(sch: Schedule) -> None:
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, 4])
    j0, j1 = sch.split(j, [4, None])
    sch.reorder(i0, j0, k, i1, j1)
    sch.vectorize(j1)
    sch.parallel(i0)


def product(kernel) -> np.ndarray:
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 16), np.float32), rng.random((16, 16), np.float32)
    c = np.full((16, 16), np.nan, np.float32)
    tirscript.build(kernel)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    return c


def test_steps_change_the_program_and_not_its_meaning():
    sch = Schedule(matmul)
    tiled(sch)
    text = sch.script()
    assert "for i_0 in T.parallel(4):" in text and "T.vectorized(4)" in text
    assert "# a comment that stays" in text
    assert structural_equal(parse(text), sch.func)
    product(sch.func)


def test_notebooks_and_prompts_show_the_program_and_the_steps():
    sch = Schedule(matmul)
    assert (repr(sch), repr(sch.trace)) == ("<Schedule of matmul, 0 steps>", "<Trace of 0 steps>")
    sch.split("i", [None, 4])
    assert (repr(sch), repr(sch.trace)) == ("<Schedule of matmul, 1 step>", "<Trace of 1 step>")
    assert sch._repr_html_() == sch.func._repr_html_()
    assert Schedule(sch.mod)._repr_html_() == sch.mod._repr_html_()


def test_trace_replays_to_the_same_bytes():
    sch = Schedule(matmul)
    tiled(sch)
    text = str(sch.trace)
    assert 'l0, l1, l2 = sch.get_loops("C")'.replace('"', "'") in text
    again = Trace.parse(text)
    assert str(again) == text
    assert again.replay(Schedule(matmul)).script() == sch.script()
    space: dict = {}
    exec(text, space)
    other = Schedule(matmul)
    space["apply"](other)
    assert other.script() == sch.script()


def test_undo_takes_back_one_step():
    sch = Schedule(matmul)
    i, _, _ = sch.get_loops("C")
    before = sch.script()
    i0, _ = sch.split(i, [None, 4])
    assert "+            vi = T.axis.spatial(16, i_0 * 4 + i_1)" in sch.diff() and sch.diff().startswith("---")
    sch.undo()
    assert sch.script() == before
    assert len(sch.trace) == 1
    with pytest.raises(ScheduleError, match="not in the function any more"):
        sch.parallel(i0)
    sch.split(i, [2, None])
    with pytest.raises(tirscript.DiagnosticError, match="no step to undo"):
        Schedule(matmul).undo()


def test_steps_since_a_mark_are_taken_back():
    sch = Schedule(matmul)
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, factors=[None, 4])
    before, text = sch.func, str(sch.trace)
    mark = sch.mark()
    sch.reorder(i0, k, i1, j)
    j0, _ = sch.split(j, factors=[None, 8])
    inner = sch.mark()
    sch.unroll(j0)
    sch.reset(inner)
    assert "T.unroll" not in sch.script() and sch.get(j0).kind == "serial"
    sch.reset(mark)
    assert sch.func is before and str(sch.trace) == text
    sch.vectorize(j)  # a handle from before the mark
    assert str(sch.trace).splitlines()[-1].endswith("sch.vectorize(l1)")
    sch.undo()
    assert sch.func is before
    sch.undo()  # the split
    assert structural_equal(sch.func, matmul)


def test_a_mark_of_steps_that_are_no_more_is_refused():
    sch = Schedule(matmul)
    i, j, _ = sch.get_loops("C")
    sch.parallel(i)
    mark = sch.mark()
    copied = sch.copy()
    sch.undo()
    sch.vectorize(j)
    text = str(sch.trace)
    for schedule in (sch, Schedule(matmul)):
        with pytest.raises(tirscript.DiagnosticError, match=r"T504.*were taken back, or are those of another schedule"):
            schedule.reset(mark)
    assert str(sch.trace) == text
    copied.unroll(copied.get_loops("C")[2])
    copied.reset(mark)  # whose steps a copy shares
    assert "T.parallel" in copied.script() and "T.unroll" not in copied.script()
    # a diagnostic, or typeguard's error where tests run with it
    with pytest.raises(
        Exception, match=r"T503.*takes what `mark` gave, not a Python int|\(int\) is not an instance of"
    ):
        sch.reset(3)


def test_functions_without_steps_since_a_mark_keep_their_places():
    sch = Schedule(Two)
    sch.work_on("first")
    (i,) = sch.get_loops("S")
    tree = sch._tree("first")
    mark = sch.mark()
    sch.work_on("second")
    sch.vectorize(sch.get_loops("S")[0])
    assert "T.vectorized" in sch.script()
    sch.reset(mark)
    assert sch._tree("first") is tree
    assert structural_equal(sch.mod, Two)
    sch.parallel(i)
    assert "T.parallel" in sch._function("first").script() and "T.parallel" not in sch._function("second").script()


def test_a_refused_step_changes_nothing():
    sch = Schedule(matmul)
    k = sch.get_loops("C")[2]
    before, trace = sch.script(), str(sch.trace)
    with pytest.raises(ScheduleError):
        sch.parallel(k)
    assert sch.script() == before and str(sch.trace) == trace


def test_a_refusal_underlines_the_place():
    sch = Schedule(matmul)
    k = sch.get_loops("C")[2]
    with pytest.raises(ScheduleError) as caught:
        sch.parallel(k)
    (found,) = caught.value.diagnostics
    assert found.code == "T501"
    text = str(found)
    assert "the program now:" in text
    assert "for i, j, k in T.grid(16, 16, 16):" in text


@pytest.mark.parametrize(
    ("step", "code", "words"),
    [
        (lambda s: s.get_loops("D"), "T502", "has no block named `D`"),
        (lambda s: s.get_loops("c"), "T502", "did you mean `C`?"),
        (lambda s: s.get_loops("i"), "T502", "= help: `i` is a loop"),
        (lambda s: s.get_block("A"), "T502", "= help: `A` is a buffer, used in `C`"),
        (
            lambda s: s.cache_write("i", 0, "local"),
            "T502",
            "`i` is a loop: it is `cache_write(block, write_buffer_index,",
        ),
        (lambda s: s.cache_read("A", "local", ["C"]), "T502", "`A` is a buffer, used in `C`: it is `cache_read(block,"),
        (lambda s: s.cache_read("C", 5, "local"), "T501", "= help: it reads `A`, `B`, `C`"),
        (lambda s: s.split("C", [2, None]), "T502", "`C` is a block: `sch.get_loops('C')` gives the loops around it"),
        (lambda s: s.bind("threadIdx.x", "i"), "T502", "it is `bind(loop, thread_axis)`"),
        (lambda s: s.bind("i", "threadidx.x"), "T503", "did you mean 'threadIdx.x'?"),
        (lambda s: s.bind("i", "blockIdx"), "T503", "they are blockIdx.x, blockIdx.y, blockIdx.z"),
        (lambda s: s.tensorize("i", "vnni"), "T502", "with 'vnni' in their names there are "),
        (lambda s: s.transform_layout("C", "A", lambda i, j: (i / 4, j)), "T503", "use `//` (floor)"),
        (lambda s: s.split("x", [2, None]), "T502", "has no loop named `x`"),
        (lambda s: s.split("i", [2, 2]), "T501", "fewer than the 16"),
        (lambda s: s.split("i", [None, None]), "T503", "only one factor"),
        (lambda s: s.split("i", [0, None]), "T503", "at least 1"),
        (lambda s: s.split("i", 4), "T503", "`factors` takes"),
        (lambda s: s.split("i", ["a"]), "T503", "`factors` takes"),
        (lambda s: s.split("i"), "T503", "missing a required argument: 'factors'"),
        (lambda s: s.split(s.get_block("C"), [2, None]), "T503", "takes a loop, not the block `C`"),
        (lambda s: s.get_loops(3), "T503", "takes a block or the name of one, not an int"),
        (lambda s: s.fuse("j", "i"), "T503", "from the outermost to the innermost"),
        (lambda s: s.fuse("i", "k"), "T501", "`j` stands between"),
        (lambda s: s.reorder("i", "i"), "T501", "given twice"),
        (lambda s: s.bind("i", "threadIdx.q"), "T503", "no thread axis"),
        (lambda s: s.unannotate("C", "x"), "T501", "no annotation 'x'"),
        (lambda s: s.split("i", [3, None], disable_predication=True), "T501", "do not divide"),
        (lambda s: s.annotate("root", "a", 1), "T503", '"root" is the function'),
    ],
)
def test_mistakes(step, code, words):
    sch = Schedule(matmul)
    before = sch.script()
    with pytest.raises(ScheduleError) as caught:
        step(sch)
    assert caught.value.diagnostics[0].code == code
    assert words in str(caught.value)
    assert sch.script() == before


@pytest.mark.parametrize(
    "step",
    [
        lambda sch, loop, block: sch.split(loop, [2, 4]),
        lambda sch, loop, block: sch.fuse(loop, loop),
        lambda sch, loop, block: sch.get_loops(block),
        lambda sch, loop, block: sch.get(loop),
        lambda sch, loop, block: sch.get(block),
    ],
)
def test_a_handle_of_another_schedule_is_told_to_be_one(step):
    other = Schedule(Two["first"])
    sch = Schedule(matmul)
    with pytest.raises(ScheduleError) as caught:
        step(sch, other.get_loops("S")[0], other.get_block("S"))
    (found,) = caught.value.diagnostics
    assert found.code == "T502" and "of first> is a " in found.message and "of another schedule" in found.message
    assert found.hint is not None and found.hint.endswith("of this schedule, of `matmul`")


def test_a_function_without_blocks_is_told_how_to_get_some():
    plain = parse(
        "@T.prim_func\ndef plain(A: T.Buffer((8,), 'float32'), D: T.Buffer((8,), 'float32')):\n"
        "    for i in range(8):\n        D[i] = A[i] + 1.0\n"
    )
    with pytest.raises(ScheduleError, match="it has no blocks") as caught:
        Schedule(plain).get_block("D")
    assert 'get_pass("blocks_from_loops")(func)' in str(caught.value)
    sch = Schedule(get_pass("blocks_from_loops")(plain))
    assert sch.get(sch.get_block("D")).name == "D"


def test_an_unknown_primitive_is_suggested():
    with pytest.raises(AttributeError, match="did you mean `vectorize`"):
        Schedule(matmul).vectorise("j")
    for name in ("build", "lower"):
        with pytest.raises(AttributeError, match=r"`tirscript\.build\(schedule\.func\)` makes code"):
            getattr(Schedule(matmul), name)
    with pytest.raises(Exception, match="PrimFunc"):  # a TypeError, or typeguard's where tests run with it
        Schedule("matmul")
    with pytest.raises(
        TypeError, match=r"^Schedule\(\) got an unexpected keyword argument 'debug_mask'; it takes `seed`, "
    ):
        Schedule(matmul, debug_mask="all")  # type: ignore[call-arg]


def test_functions_of_a_module():
    sch = Schedule(Two)
    with pytest.raises(ScheduleError, match="none is called main"):
        sch.get_loops("S")
    sch.work_on("second")
    sch.parallel(*sch.get_loops("S"))
    block = sch.get_block("S", func_name="first")
    sch.vectorize(sch.get_loops(block)[0])
    assert "T.vectorized(8)" in sch.mod["first"].script()
    assert "T.parallel(8)" in sch.mod["second"].script()
    with pytest.raises(ScheduleError, match="did you mean `second`"):
        sch.work_on("secnd")
    with pytest.raises(ScheduleError, match="is not of the function"):
        sch.fuse(sch.get_loops(block)[0], *Schedule(Two["second"]).get_loops("S"))
    with pytest.raises(ScheduleError, match="did you mean `first`"):
        sch.get_block("S", "frist")
    assert sch.get_block("S", "first") == block


def test_the_trace_of_a_module_replays():
    sch = Schedule(Two)
    sch.work_on("second")
    sch.split(sch.get_loops("S")[0], [None, 4])
    sch.work_on("first")
    sch.parallel(sch.get_loops("S")[0])
    replayed = Trace.parse(str(sch.trace)).replay(Schedule(Two))
    assert replayed.script() == sch.script()
    assert replayed.func.name == "first"
    sch.work_on("second")
    sch.undo()
    assert (len(sch.trace), sch.func.name) == (5, "first")
    sch.undo()
    assert sch.func.name == "second"
    assert sch.mod == Two


def test_a_copy_draws_what_the_schedule_would():
    sch = Schedule(matmul, seed=3)
    sch.sample_perfect_tile(sch.get_loops("C")[0], 2)
    other = sch.copy()
    draws = [[s.sample_perfect_tile(s.get_loops("C")[1], 3) for _ in range(5)] for s in (sch, other)]
    assert draws[0] == draws[1]
    assert str(sch.trace) == str(other.trace)


def test_factors_are_drawn_of_more_tuples_than_memory_holds():
    sch = Schedule(matmul, seed=5)
    loop = sch.get_loops("C")[0]
    size = math.prod(sch.sample_perfect_tile(loop, 1))
    for count in (2, 5, 100):
        drawn = {tuple(sch.sample_perfect_tile(loop, count, 4)) for _ in range(20)}
        assert all(math.prod(one) == size and len(one) == count and one[-1] <= 4 for one in drawn)
        assert len(drawn) > 1
    with pytest.raises(ScheduleError, match=r"up to 256 factors: this is 1000 factors of"):
        sch.sample_perfect_tile(loop, 1000)


def test_all_tuples_of_factors_are_drawn():
    sch = Schedule(matmul, seed=1)
    loop = sch.split("i", factors=[None, 12])[1]
    wanted = {(a, 12 // a // c, c) for a in range(1, 13) for c in range(1, 5) if 12 % (a * c) == 0}
    assert {tuple(sch.sample_perfect_tile(loop, 3, 4)) for _ in range(600)} == wanted


def test_what_a_users_function_raises_is_a_refusal():
    sch = Schedule(matmul)
    with pytest.raises(ScheduleError, match="modulo by zero"):
        sch.transform_layout("C", ("write", 0), lambda i, j: (i // 4, j, 1 // 0))
    assert len(sch.trace) == 0


def test_a_fault_of_a_primitive_names_it(monkeypatch):
    def broken(edit):
        raise KeyError("lost")

    monkeypatch.setitem(PRIMITIVES, "get_block", Primitive("get_block", broken, "", Signature(), {}, True))
    with pytest.raises(DiagnosticError, match="schedule primitive `get_block` failed: KeyError: 'lost'") as caught:
        Schedule(matmul).get_block()
    assert caught.value.diagnostics[0].code == "T499"


@pytest.mark.parametrize(("name", "why"), [("split", "is defined twice"), ("mark", "has a method mark of its own")])
def test_a_primitive_has_a_name_that_is_free(name, why):
    def another(edit):
        """Do nothing."""

    another.__name__ = name
    before = dict(PRIMITIVES)
    with pytest.raises(ValueError, match=why):
        primitive(another)
    assert before == PRIMITIVES


def test_blocks_of_one_name_are_told_apart():
    text = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            A[vi] = 1.0
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] + 1.0
"""
    sch = Schedule(parse(text))
    assert [block.name for block in sch.get_child_blocks("root")] == ["B", "B_1"]
    with pytest.raises(ScheduleError, match="2 loops are named `i`"):
        sch.split("i", [2, None])
    assert sch.get_producers("B_1") == [sch.get_block("B")]
    assert sch.get_consumers("B") == [sch.get_block("B_1")]
    assert sch.get_output_blocks("root") == [sch.get_block("B"), sch.get_block("B_1")]


def test_copies_go_on_by_themselves():
    sch = Schedule(matmul)
    i, j, _ = sch.get_loops("C")
    other = sch.copy()
    other.fuse(i, j)
    assert "i_j_fused" in other.script() and "i_j_fused" not in sch.script()
    sch.parallel(i)
    assert "parallel" not in other.script()


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "def apply(sch):\n    import os",
        "def apply(sch):\n    sch.nothing(1)",
        "def apply(sch):\n    open('x')",
        "def apply(sch):\n    sch.split(__import__('os'), [1])",
        "def (",
        "def apply(sch):\n    sch.split(*x)",
        "def apply(sch):\n    sch.annotate('i', 'k', {[1]: 2})",
        "def apply(sch):\n    sch.annotate('i', 'k', {x: 2})",
    ],
)
def test_texts_that_are_no_traces(text):
    with pytest.raises(tirscript.DiagnosticError) as caught:
        Trace.parse(text)
    assert caught.value.diagnostics[0].code in ("T503", "T003", "T030", "T010")


@pytest.mark.parametrize("step", ["a, b = sch.get_block('C')", "a, = sch.get_block('C')", "a, b = sch.parallel('i')"])
def test_traces_that_take_one_result_apart(step):
    trace = Trace.parse(f"def apply(sch):\n    {step}\n")
    with pytest.raises(tirscript.DiagnosticError) as caught:
        trace.replay(Schedule(matmul))
    (found,) = caught.value.diagnostics
    assert found.code == "T503" and "gives no tuple here" in found.message


def test_effects_outside_of_blocks_keep_their_order():
    sch = Schedule(
        parse("""
@T.prim_func
def f(A: T.Buffer((8,), "int32"), P: T.Buffer((8,), "int32")):
    for i in range(8):
        x: T.let = T.call_packed("next", i)
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            A[P[vi]] = x
""")
    )
    with pytest.raises(ScheduleError, match="stands outside of blocks, which would say so"):
        sch.parallel("i")


def test_an_index_that_runs_behind_the_loop_is_needed_whole():
    func = parse("""
@T.prim_func
def f(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 6), "float32")):
    P = T.alloc_buffer((2, 3), "float32")
    for i, j in T.grid(2, 3):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j, k in T.grid(2, 1, 6):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vk] = P[vi, vk // 2]
""")
    sch = Schedule(func)
    sch.compute_at("P", sch.get_loops("B")[1])
    a = np.arange(6, dtype="float32").reshape(2, 3)
    b = np.zeros((2, 6), "float32")
    tirscript.interpret(sch.func, a, b)
    np.testing.assert_array_equal(b, np.repeat(a + 1, 2, axis=1))


ONE_BLOCK = """@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("p"):
            v = T.axis.spatial(16, i)
            A[v] = T.float32(2)
"""


@pytest.mark.parametrize("value", [1.5, None, "x", [1, "x"], {"a": [1, (2,)]}, np.int64(3), [np.float32(0.5)]])
def test_annotations_are_kept_as_they_are_read(value):
    sch = Schedule(parse(ONE_BLOCK))
    sch.annotate("p", "key", value)
    text = str(sch.mod)
    again = parse(text)
    assert structural_equal(sch.mod, again)
    assert str(again) == text


@pytest.mark.parametrize("value", [object(), np.zeros(2), {1: 2}, [len], {"a": {3}}])
def test_what_has_no_text_is_no_annotation(value):
    sch = Schedule(parse(ONE_BLOCK))
    with pytest.raises(ScheduleError, match="cannot be an annotation"):
        sch.annotate("p", "key", value)
    with pytest.raises(ScheduleError, match="cannot be an annotation"):
        sch.annotate("p", "key", sch.get_loops("p")[0])
    assert "key" not in str(sch.mod)


@pytest.mark.parametrize("value", ["p", None, [1]])
def test_only_handles_stand_for_statements(value):
    with pytest.raises(ScheduleError, match="is no handle of a block or loop"):
        Schedule(parse(ONE_BLOCK)).get(value)
