"""Short lines beside each other that a function goes through together are one line for the default schedule."""

from __future__ import annotations

import numpy as np
import pytest

import tirscript
from tirscript.ir import AllocateConst, DeclBuffer, PrimFunc, structural_equal, walk
from tirscript.ir.verify import verify
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.schedule.default_cpu import CpuFacts, default_schedule, scheduled
from tirscript.passes.schedule.default_cpu.joined_lines import _nests, with_joined_lines
from tirscript.script import parse
from tirscript.testing import assert_same_result

WIDE = CpuFacts(vector_bits=512)


def kernel(parameters: str, *nests: tuple[str, str, str], head: str = "") -> PrimFunc:
    """Nests of extents, kinds of their axes a, b, c, ..., and what they store."""
    text = f"from tirscript.script import tir as T\n\n@T.prim_func\ndef main({parameters}):\n{head}"
    for at, (extents, kinds, store) in enumerate(nests):
        loops, axes = ", ".join("ijklm"[: len(kinds)]), ", ".join("abcde"[: len(kinds)])
        one = "," if len(kinds) == 1 else ""
        init = store.split(" = ")[0]
        begin = f"            with T.init():\n                {init} = 0.0\n" if "R" in kinds else ""
        text += f"""
    for {loops}{one} in T.grid({extents}):
        with T.block("block_{at}"):
            {axes}{one} = T.axis.remap("{kinds}", [{loops}])
{begin}            {store}
"""
    found = parse(text, names={"table": [float(one) for one in range(6)]})
    assert isinstance(found, PrimFunc)
    return found


def shapes(func: PrimFunc) -> dict[str, tuple[int, ...] | None]:
    """The shapes of what blocks read and write."""
    buffers = {
        node for stmt in func.body for node in walk(stmt) if type(node).__name__ in ("BufferLoad", "BufferStore")
    }
    return {node.buffer.name: node.buffer.constant_shape() for node in buffers}


def compared(func: PrimFunc) -> None:
    """Native code with and without the schedule leaves the same, which small whole numbers make exact."""
    rng = np.random.default_rng(0)
    given = [rng.integers(-3, 4, one.constant_shape()).astype("float32") for one in func.param_buffers]
    plain = [one.copy() for one in given]
    tirscript.build(func)(*given)
    tirscript.build(func, pipeline=DEFAULT_LOWERING)(*plain)
    for found, wanted in zip(given, plain, strict=True):
        np.testing.assert_array_equal(found, wanted)


def buffers(**shapes: tuple[int, ...]) -> str:
    return ", ".join(f'{name}: T.Buffer({shape}, "float32")' for name, shape in shapes.items())


SCALED = kernel(
    buffers(X=(2, 6, 7, 7), G=(2, 6, 1, 1), Y=(2, 6, 7, 7)),
    ("2, 6, 1, 1", "SSSS", "H[a, b, c, d] = T.max(G[a, b, c, d] + K[b, 0], 0.0)"),
    ("2, 6, 7, 7", "SSSS", "Y[a, b, c, d] = X[a, b, c, d] * H[a, b, 0, 0]"),
    head='    K = T.allocate_const(table, "float32", (6, 1))\n    H = T.alloc_buffer((2, 6, 1, 1), "float32")\n',
)
MEAN = kernel(
    buffers(X=(1, 64, 14, 14), Y=(1, 64, 1, 1)),
    ("1, 64, 14, 14", "SSRR", "S[a, b, 0, 0] = S[a, b, 0, 0] + X[a, b, c, d]"),
    ("1, 64, 1, 1", "SSSS", "Y[a, b, c, d] = S[a, b, c, d] / 196.0"),
    head='    S = T.alloc_buffer((1, 64, 1, 1), "float32")\n',
)
PRODUCT = kernel(
    buffers(X=(1, 240, 1, 1), W=(60, 240, 1, 1), Y=(1, 60, 1, 1)),
    ("1, 60, 1, 1, 240", "SSSSR", "Y[a, b, c, d] = Y[a, b, c, d] + X[a, e, c, d] * W[b, e, 0, 0]"),
)


def test_lines_are_joined_and_single_elements_left_out() -> None:
    assert shapes(with_joined_lines(SCALED)) == {
        "X_3d": (2, 6, 49), "Y_3d": (2, 6, 49), "G_2d": (2, 6), "H_2d": (2, 6), "K_1d": (6,),
    }  # fmt: skip
    assert shapes(with_joined_lines(MEAN)) == {"X_3d": (1, 64, 196), "S_2d": (1, 64), "Y_2d": (1, 64)}
    assert shapes(with_joined_lines(PRODUCT)) == {"X_2d": (1, 240), "W_2d": (60, 240), "Y_2d": (1, 60)}
    assert "rfactor" in str(default_schedule(MEAN, WIDE).trace)
    assert "contract" in str(default_schedule(PRODUCT, WIDE).trace)


@pytest.mark.parametrize("func", [SCALED, MEAN, PRODUCT])
def test_the_results_are_the_same(func: PrimFunc) -> None:
    joined = with_joined_lines(func)
    assert any(type(stmt) is DeclBuffer for stmt in joined.body)
    assert not verify(joined)
    assert_same_result(func, joined, tolerance=1e-5)
    compared(func)


def test_several_dimensions_become_one() -> None:
    func = kernel(
        buffers(X=(3, 4, 5, 6), Y=(3, 4, 5, 6)), ("3, 4, 5, 6", "SSSS", "Y[a, b, c, d] = X[a, b, c, d] + 1.0")
    )
    assert shapes(with_joined_lines(func)) == {"X_1d": (360,), "Y_1d": (360,)}
    compared(func)
    long = kernel(buffers(X=(3, 200), Y=(3, 200)), ("3, 200", "SS", "Y[a, b] = X[a, b] + 1.0"))
    assert with_joined_lines(long) is long


@pytest.mark.parametrize(
    ("shape", "extents", "store"),
    [
        ((5, 6, 7), "5, 6, 7", "Y[a, b, c] = X[a, c % 6, b]"),  # read another way
        ((5, 6, 7), "5, 6, 7", "Y[a, b, c] = X[a, b, c] + T.cast(b, 'float32')"),  # needed by itself
        ((5, 6, 7), "5, 6, 7", "Y[a, b, c] = X[a, b, 6 - c]"),  # goes backward
        ((5, 7, 7), "5, 7, 7", "Y[a, b, c] = X[a, c, b]"),
        ((5, 6, 7), "5, 6, 6", "Y[a, b, c] = X[a, b, c]"),  # not to the end
        ((5, 6, 7), "5, 6, 7", "Y[a, b, c] = X[a, b, c] + X[a, 0, c]"),
    ],
)
def test_what_goes_through_lines_otherwise_stays(shape: tuple[int, ...], extents: str, store: str) -> None:
    func = kernel(buffers(X=shape, Y=shape), (extents, "SSS", store))
    assert with_joined_lines(func) is func
    compared(func)


def test_one_way_through_a_buffer_keeps_all_others() -> None:
    head = '    S = T.alloc_buffer((5, 6, 7), "float32")\n'
    func = kernel(
        buffers(X=(5, 6, 7), Y=(5, 6, 7)),
        ("5, 6, 7", "SSS", "S[a, b, c] = X[a, b, c] + 1.0"),
        ("5, 6, 7", "SSS", "Y[a, b, c] = S[a, 5 - b, c]"),
        head=head,
    )
    assert with_joined_lines(func) is func
    compared(func)


def test_lines_of_more_elements_than_indices_count_stay() -> None:
    func = kernel(buffers(X=(200_000_000, 14), Y=(200_000_000, 14)), ("200000000, 14", "SS", "Y[a, b] = X[a, b] + 1.0"))
    assert with_joined_lines(func) is func


def test_loops_in_another_order_stay() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((5, 6, 7), "float32"), Y: T.Buffer((5, 6, 7), "float32")):
    for i, k, j in T.grid(5, 7, 6):
        with T.block("Y"):
            a, c, b = T.axis.remap("SSS", [i, k, j])
            Y[a, b, c] = X[a, b, c] + 1.0
""")
    assert isinstance(func, PrimFunc)
    assert with_joined_lines(func) is func


def test_views_of_constants_hold_the_same_elements() -> None:
    (constant,) = (stmt for stmt in with_joined_lines(SCALED).body if type(stmt) is AllocateConst)
    assert constant.buffer.constant_shape() == (6,) and constant.data.shape in ((6,), (6, 1))


@pytest.mark.parametrize(
    ("line", "vectors"), [(49, True), (14, True), (25, True), (64, False), (150, False), (6, False)]
)
def test_lines_of_a_few_vectors_are_written_out(line: int, vectors: bool) -> None:
    func = kernel(buffers(X=(40, line), G=(40,), Y=(40, line)), (f"40, {line}", "SS", "Y[a, b] = X[a, b] * G[a]"))
    made = default_schedule(func, WIDE)
    assert ("vectorize" in str(made.trace)) == vectors
    assert_same_result(func, made.func)
    compared(func)


def test_rows_of_products_are_joined_but_not_their_columns() -> None:
    func = kernel(
        buffers(X=(3, 7, 5, 48), W=(48, 20), Y=(3, 7, 5, 20)),
        ("3, 7, 5, 20, 48", "SSSSR", "S[a, b, c, d] = S[a, b, c, d] + X[a, b, c, e] * W[e, d]"),
        ("3, 7, 5, 20", "SSSS", "Y[a, b, c, d] = T.max(S[a, b, c, d], 0.0)"),
        head='    S = T.alloc_buffer((3, 7, 5, 20), "float32")\n',
    )
    assert shapes(with_joined_lines(func)) == {"X_2d": (105, 48), "W": (48, 20), "S_2d": (105, 20), "Y_2d": (105, 20)}
    compared(func)


def test_filters_and_pixels_of_convolutions_stay() -> None:
    func = kernel(
        buffers(X=(2, 16, 7, 7), W=(24, 16), Y=(2, 24, 7, 7)),
        ("2, 24, 7, 7, 16", "SSSSR", "Y[a, b, c, d] = Y[a, b, c, d] + X[a, e, c, d] * W[b, e]"),
    )
    assert with_joined_lines(func) is func
    compared(func)


def test_a_reader_with_an_axis_of_one_number() -> None:
    """Which is no dimension any more of what it reads: it does not take the place of the copy of joined columns."""
    func = parse("""
@T.prim_func
def main(X: T.Buffer((3, 4, 3)), W: T.Buffer((1, 3)), B: T.Buffer((1,)), Y: T.Buffer((3, 4, 1))):
    S = T.alloc_buffer((3, 4, 1))
    for i, j, c, k in T.grid(3, 4, 1, 3):
        with T.block("S"):
            vi, vj, vc, vk = T.axis.remap("SSSR", [i, j, c, k])
            with T.init():
                S[vi, vj, vc] = 0.0
            S[vi, vj, vc] = S[vi, vj, vc] + X[vi, vj, vk] * W[vc, vk]
    for i, j, c in T.grid(3, 4, 1):
        with T.block("Y"):
            vi, vj, vc = T.axis.remap("SSS", [i, j, c])
            Y[vi, vj, vc] = S[vi, vj, vc] + B[vc]
""")
    assert_same_result(func, default_schedule(func, CpuFacts(512, 1)).func, tolerance=1e-5)


def test_rows_of_unknown_number_in_lines_of_unknown_length_are_one() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer(("t", "b", 24), "float32"), W: T.Buffer((24, 40), "float32"), C: T.Buffer(("t", "b", 40), "float32")):
    S = T.alloc_buffer((t, b, 40), "float32")
    for i, j, k, l in T.grid(t, b, 40, 24):
        with T.block("S"):
            i, j, k, l = T.axis.remap("SSSR", [i, j, k, l])
            with T.init():
                S[i, j, k] = 0.0
            S[i, j, k] += A[i, j, l] * W[l, k]
    for i, j, k in T.grid(t, b, 40):
        with T.block("C"):
            i, j, k = T.axis.remap("SSS", [i, j, k])
            C[i, j, k] = T.max(S[i, j, k], 0.0)
""")
    assert isinstance(func, PrimFunc)
    # three rows of a batch would be rounded up to eight each
    text = default_schedule(func, CpuFacts(512, 1)).func.script()
    assert "T.ceildiv(t * b, 8)" in text
    native = tirscript.build(func)
    for t, b in ((20, 3), (1, 1), (0, 5), (4, 0), (3, 8)):
        random = np.random.default_rng(t)
        A, W = (random.integers(-4, 5, shape).astype("float32") for shape in ((t, b, 24), (24, 40)))
        C = np.full((t, b, 40), np.nan, "float32")
        native(A, W, C)
        np.testing.assert_array_equal(C, np.maximum(A @ W, 0))


def test_pixels_of_unknown_lines_are_columns_together() -> None:
    func = parse("""
@T.prim_func
def main(X: T.Buffer((24, "h", "w"), "float32"), W: T.Buffer((40, 24), "float32"), Y: T.Buffer((40, "h", "w"), "float32")):
    for f, y, x, c in T.grid(40, h, w, 24):
        with T.block("Y"):
            f, y, x, c = T.axis.remap("SSSR", [f, y, x, c])
            with T.init():
                Y[f, y, x] = 0.0
            Y[f, y, x] += W[f, c] * X[c, y, x]
""")
    assert isinstance(func, PrimFunc)
    assert "T.ceildiv(h * w, 32)" in default_schedule(func, WIDE).func.script()
    native = tirscript.build(func)
    for h, w in ((14, 14), (1, 1), (0, 3), (5, 0), (3, 33)):
        random = np.random.default_rng(h)
        X, W = (random.integers(-4, 5, shape).astype("float32") for shape in ((24, h, w), (40, 24)))
        Y = np.full((40, h, w), np.nan, "float32")
        native(X, W, Y)
        np.testing.assert_array_equal(Y, np.einsum("fc,cyx->fyx", W, X))


def test_what_unrolled_code_accesses_again_and_again_is_looked_at_once() -> None:
    # hundreds of accesses, each looked for among all others in a walk of its own, took half a minute
    terms = " + ".join(f"A[a, b, c] * {at}.0" for at in range(60))
    func = kernel(buffers(A=(8, 6, 5), B=(8, 6, 5)), ("8, 6, 5", "SSS", f"B[a, b, c] = {terms}"))
    (nest,) = _nests(func) or []
    assert len(nest.accesses()) == 2
    assert shapes(with_joined_lines(func)) == {"A_1d": (240,), "B_1d": (240,)}
    compared(func)


def test_a_cast_to_the_dtype_that_a_value_has_changes_no_schedule() -> None:
    plain = kernel(buffers(A=(64, 512), B=(64,)), ("64, 512", "SR", "B[a] = B[a] + A[a, b]"))
    cast = kernel(buffers(A=(64, 512), B=(64,)), ("64, 512", "SR", 'B[a] = B[a] + T.Cast("float32", A[a, b])'))
    assert not structural_equal(plain, cast)
    assert structural_equal(scheduled(plain, WIDE), scheduled(cast, WIDE))
    compared(cast)


def test_two_axes_of_one_loop_leave_a_loop_without_one() -> None:
    func = kernel(
        buffers(X=(4, 3), W=(3, 3), Y=(4, 3)),
        ("4, 3, 3", "SSR", "C[a, b] = C[a, b] + X[a, c] * W[c, b]"),
        ("4, 3", "SS", "Y[a, b] = T.max(C[a, b], 0.0)"),
        head='    C = T.alloc_buffer((4, 3), "float32")\n',
    )
    text = func.script()
    second = text.rindex('T.axis.remap("SS", [i, j])')
    wrong = parse(text[:second] + text[second:].replace("[i, j]", "[j, j]"))
    assert isinstance(wrong, PrimFunc)
    assert _nests(func) is not None and _nests(wrong) is None
    x, w = np.ones((4, 3), "float32"), np.ones((3, 3), "float32")
    native, interpreted = np.zeros((4, 3), "float32"), np.zeros((4, 3), "float32")
    tirscript.build(wrong)(x, w, native)
    tirscript.interpret(wrong, x, w, interpreted)
    assert np.array_equal(native, interpreted)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("value", ["A[i, h, j] * 2 + B[i, h, j]", "A[i, h, j] / 3 + B[i, h, j]", "T.sin(A[i, h, j])"])
@pytest.mark.parametrize("middle", ["16", "k"])
def test_lines_of_unknown_length_are_joined_as_well(middle: str, value: str, threads: int) -> None:
    """Those that are short would be no whole vectors, and a batch of one would be all that threads share."""
    size, kind = middle if middle == "16" else '"k"', "int32" if "*" in value else "float32"
    buffer = f'T.Buffer(("n", {size}, "m"), "{kind}")'
    func = parse(f"""
@T.prim_func
def main(A: {buffer}, B: {buffer}, C: {buffer}):
    for i, h, j in T.grid(n, {middle}, m):
        C[i, h, j] = {value}
""")
    assert isinstance(func, PrimFunc)
    made = scheduled(func, CpuFacts(512, threads))
    assert f"C_1d = T.decl_buffer((n * ({middle} * m),)" in made.script() and not verify(made)
    assert structural_equal(parse(made.script()), made)
    built, plain = tirscript.build(made, bounds_check=True), tirscript.build(func, pipeline=DEFAULT_LOWERING)
    for n, m in ((1, 1), (3, 5), (0, 7), (7, 0), (2, 33), (1, 4000)):
        random = np.random.default_rng(n + m)
        given = [random.integers(-9, 9, (n, 16, m)).astype(kind) for _ in range(2)]
        found, wanted = np.zeros((n, 16, m), kind), np.zeros((n, 16, m), kind)
        built(*given, found)
        plain(*given, wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_lines_that_something_goes_along_alone_stay() -> None:
    func = parse("""
@T.prim_func
def main(A: T.Buffer(("n", "m")), s: T.Buffer(("n",)), C: T.Buffer(("n", "m"))):
    for i, j in T.grid(n, m):
        C[i, j] = A[i, j] * s[i]
""")
    assert isinstance(func, PrimFunc)
    assert "_1d" not in scheduled(func, WIDE).script()


def test_lines_of_unknown_columns_of_products_stay_whatever_the_dtype_of_their_number() -> None:
    """The rules for products join columns by themselves."""
    made = [
        parse(f"""
@T.prim_func
def main(X: T.Buffer((24, {lines}, "w")), W: T.Buffer((40, 24)), Y: T.Buffer((40, {lines}, "w"))):
    for f, y, x, c in T.grid(40, {lines}, w, 24):
        with T.block("Y"):
            f, y, x, c = T.axis.remap("SSSR", [f, y, x, c])
            with T.init():
                Y[f, y, x] = 0.0
            Y[f, y, x] += W[f, c] * X[c, y, x]
""")
        for lines in ("14", "T.int64(14)")
    ]
    for func in made:
        assert isinstance(func, PrimFunc)
        assert with_joined_lines(func) is func


@pytest.mark.parametrize("shape", ['"n", "m"', "3, 4"])
def test_lines_along_which_another_loop_becomes_longer_stay(shape: str) -> None:
    """Each line begins again with a loop of one."""
    func = parse(f"""
from tirscript.script import tir as T

@T.prim_func
def main(A: T.Buffer(({shape}), "int32"), W: T.Buffer((8,), "int32"), C: T.Buffer(({shape}), "int32")):
    for i, j in T.grid(*A.shape):
        for k in range(j + 1):
            with T.block("sum"):
                vi, vj = T.axis.remap("SS", [i, j])
                vk = T.axis.reduce(j + 1, k)
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] += A[vi, vj] * W[vk]
""")
    assert isinstance(func, PrimFunc)
    a, w, c = np.arange(12, dtype="int32").reshape(3, 4), np.arange(8, dtype="int32"), np.zeros((3, 4), "int32")
    tirscript.build(func)(a, w, c)
    np.testing.assert_array_equal(c, a * np.cumsum(w)[:4])
