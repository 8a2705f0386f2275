"""Graph functions whose results have sizes that they compute: measured, split into steps, built and called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.results import same

import tirscript
from tirscript.ir import DiagnosticError, Module, structural_equal
from tirscript.ir.graph import GraphFunc
from tirscript.passes import DEFAULT_LOWERING, Sequential
from tirscript.passes.graph import GRAPH_LOWERING, measure_sizes, split_at_sizes
from tirscript.script import parse

HEAD = "from tirscript.script import graph as G, ir as I, tir as T\n\n@I.ir_module\nclass M:\n"


def program(params: str, *body: str, before: str = "", options: str = "") -> Module:
    lines = "".join(f"        {line}\n" for line in body)
    made = parse(f"{HEAD}{before}    @G.graph_func{options}\n    def main({params}):\n{lines}")
    assert isinstance(made, Module)
    return made


def flags(*shape: int) -> Any:
    return (np.arange(int(np.prod(shape))) % 3 % 2).reshape(shape).astype("float32")


WORDS = np.array([[3, 1, 3], [2, 2, 1]], "int32")
NANS = np.array([np.nan, 1, -0.0, np.nan, 0.0, 1, -np.inf], "float32")
ALL = "return_index=True, return_inverse=True, return_counts=True"
OPERATORS: dict[str, tuple[str, str, list[list[Any]]]] = {
    "places": ('x: G.Tensor(("n",), "float32")', "G.nonzero(x)", [[flags(7)], [flags(1)], [flags(0)]]),
    "places of two axes": ('x: G.Tensor(("n", "m"), "float32")', "G.nonzero(x)", [[flags(3, 5)], [flags(2, 0)]]),
    "places of three": ('x: G.Tensor((2, "n", 3), "bool")', "G.nonzero(x)", [[flags(2, 4, 3) > 0]]),
    "the place of a scalar": ('x: G.Tensor((), "int32")', "G.nonzero(x)", [[np.int32(0)], [np.int32(4)]]),
    "values": (
        'x: G.Tensor((2, "n"), "int32")',
        f"G.unique(x, {ALL})",
        [[WORDS], [WORDS[:, :1].copy()], [WORDS[:, :0].copy()]],
    ),
    "values as they come": ('x: G.Tensor((2, 3), "int32")', f"G.unique(x, sorted=False, {ALL})", [[WORDS]]),
    "values with nan": ('x: G.Tensor(("n",), "float32")', f"G.unique(x, {ALL})", [[NANS], [NANS[:1]]]),
    "bools": ('x: G.Tensor((4,), "bool")', "G.unique(x)", [[np.array([1, 0, 1, 1], bool)], [np.ones(4, bool)]]),
    "counts alone": (
        'x: G.Tensor((2, 3), "int32")',
        "G.unique(x, return_counts=True)",
        [[WORDS]],
    ),
    "a slice": (
        'x: G.Tensor((6, "n"), "float32"), b: G.Tensor((2,), "int64"), e: G.Tensor((2,), "int64"), s: G.Tensor((2,), "int64")',
        "G.dynamic_strided_slice(x, b, e, s)",
        [
            [flags(6, 5), np.array(begin), np.array(end), np.array(step)]
            for begin, end, step in (
                ((0, 1), (6, 4), (2, 1)),
                ((-1, -9), (-99, 99), (-2, 3)),
                ((3, 4), (1, 1), (1, -1)),
                ((9, 0), (0, 0), (-1, 1)),
            )
        ],
    ),
    "a shape": (
        'x: G.Tensor((2, 6), "float32"), s: G.Tensor((2,), "int64")',
        "G.reshape(x, G.tensor_to_shape(s))",
        [[flags(2, 6), np.array([3, 4])], [flags(2, 6), np.array([12, 1])]],
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_results_of_operators_are_as_long_as_they_turn_out(name: str) -> None:
    params, value, draws = OPERATORS[name]
    module = program(params, f"y = {value}", "return y")
    built = tirscript.build(module)["main"]
    debug = tirscript.build(module, debug=True)["main"]
    for args in draws:
        wanted = tirscript.interpret(module, *args)
        same(built(*args), wanted)
        same(debug(*args), wanted)


CHAIN = program(
    'x: G.Tensor(("n", 3), "float32"), w: G.Tensor((2,), "float32")',
    "with G.dataflow():",
    "    k = G.const([[1.0], [2.0]], 'float32')",
    "    a = G.nonzero(x)",
    "    b = G.match_cast(a, G.Tensor((2, 'm'), 'int64'))",
    "    c = G.multiply(G.astype(b, 'float32'), k)",
    "    d = G.sum(c)",
    "    e = G.unique(c)",
    "    f = G.add(w, d)",
    "    G.output(b, c, d, e, f, k)",
    "return (c, (e, d)), f, x, k, b",
).functions[0]


def chain() -> tuple[Module, list[Any]]:
    return Module((CHAIN,), name="M"), [flags(5, 3), np.array([1, 2], "float32")]


@pytest.mark.long
@pytest.mark.parametrize("count", range(1, len(GRAPH_LOWERING.passes) + 1))
def test_every_stage_is_printed_read_and_executed(count: int) -> None:
    module, args = chain()
    stage = Sequential(GRAPH_LOWERING.passes[:count])(module)
    again = parse(stage.script())
    assert structural_equal(again, stage)
    main = next(one for one in again.functions if one.name == "main")
    assert isinstance(main, GraphFunc)  # at the end too
    wanted = tirscript.interpret(module, *args)
    same(tirscript.interpret(again, *args, entry="main"), wanted)
    same(tirscript.build(again)["main"](*args), wanted)


def test_steps_are_lowered_as_other_functions_are() -> None:
    """Where the memory of `size` was flat, reading it was taken for an effect (T216)."""
    module, args = chain()
    stage, wanted = Sequential(GRAPH_LOWERING.passes)(module), tirscript.interpret(module, *args)
    for entry in DEFAULT_LOWERING:
        stage = entry(stage)
        again = parse(stage.script())
        assert structural_equal(again, stage)
        same(tirscript.interpret(again, *args, entry="main"), wanted)
    built = tirscript.build(again, pipeline=None)
    same(built["main"](*args), wanted)
    assert {one.name for one in again.functions if not one.private} == {one.__name__ for one in built}


def test_steps_are_private_to_the_module_that_is_built() -> None:
    module, args = chain()
    built = tirscript.build(module)
    assert [one.__name__ for one in built] == ["main"]
    found = built["main"](w=args[1], x=args[0])
    same(found, tirscript.interpret(module, *args))
    assert found[2] is not args[0] and not np.shares_memory(found[2], args[0])  # a result is an array of its own
    found[3][:] = 9  # that of a constant, too
    same(built["main"](*args), tirscript.interpret(module, *args))
    assert "define" in built["main"].llvm_ir() and built["main"].assembly()


def test_arguments_are_checked_before_the_first_step() -> None:
    module, args = chain()
    built = tirscript.build(module)["main"]
    with pytest.raises(DiagnosticError, match=r"T301.*`x`"):
        built(args[0][:, :2], args[1])
    with pytest.raises(DiagnosticError, match="`w` is missing"):
        built(args[0])


def test_sizes_that_are_told_twice_are_compared() -> None:
    module = program(
        'x: G.Tensor(("n",), "float32"), y: G.Tensor(("m",), "float32")',
        "a = G.nonzero(x)",
        "b = G.match_cast(a, G.Tensor((1, 'm'), 'int64'))",
        "c = G.add(G.astype(G.reshape(b, (m,)), 'float32'), y)",
        "d = G.unique(c)",
        "return d",
    )
    built = tirscript.build(module)["main"]
    same(built(flags(6), np.zeros(2, "float32")), np.array([1, 4], "float32"))
    with pytest.raises(AssertionError, match=r"dimension 1 of the value of `G.match_cast`"):
        built(flags(6), np.zeros(3, "float32"))


def test_what_computes_no_size_of_a_result_stays_whole() -> None:
    module = program('x: G.Tensor(("n",), "float32")', "return G.sum(G.nonzero(x))")
    lowered = Sequential(GRAPH_LOWERING.passes)(module)
    assert not any(type(one) is GraphFunc for one in lowered.functions)
    assert split_at_sizes(module) is module
    plain = program('x: G.Tensor(("n",), "float32")', "return G.exp(x)")
    assert measure_sizes(plain) is plain


COUNT = """    @T.prim_func
    def count(x: T.Buffer(("n",), "float32")) -> T.int64:
        found: T.int64 = 0
        for i in range(n):
            if x[i] != 0.0:
                found = found + 1
        return found

"""


def test_a_computed_scalar_needs_no_steps(tmp_path: Path) -> None:
    body = ("m = M.count(x)", "y = G.full((m,), 2.0, 'float32')", "return G.sum(y), m, G.shape_of(y)")
    built = tirscript.build(program('x: G.Tensor(("n",), "float32")', *body, before=COUNT))
    same(built["main"](flags(7)), (np.float32(4), 2, (2,)))
    built.export(tmp_path / "main.so")


def test_libraries_say_that_they_have_no_memory_for_them(tmp_path: Path) -> None:
    module, _ = chain()
    built = tirscript.build(module)
    for made in (built, built["main"]):
        with pytest.raises(DiagnosticError, match="the sizes of what `main` returns are known only when it has run"):
            made.export(tmp_path / "main.so")


def test_a_kernel_that_only_reads_has_no_effects() -> None:
    body = (
        "with G.dataflow():",
        "    m = M.count(x)",
        "    y = G.full((m,), 2.5, 'float32')",
        "    G.output(m, y)",
        "return y",
    )
    module = program('x: G.Tensor(("n",), "float32")', *body, before=COUNT)
    same(tirscript.build(module)["main"](flags(7)), np.full(2, 2.5, "float32"))
    with pytest.raises(DiagnosticError, match="`count` has effects"):
        program('x: G.Tensor(("n",), "float32")', *body, before=COUNT.replace("found = found + 1", "x[i] = 1.0"))


FILL = """    @T.prim_func
    def fill(x: T.Buffer((4,), "float32")):
        for i in range(4):
            x[i] = 7.0

"""


def test_what_a_kernel_wrote_is_read_behind_it() -> None:
    """`G.sum(y)` was computed once, as if no call stood between."""
    module = program(
        'x: G.Tensor((4,), "float32")',
        "y = G.add(x, x)",
        "a = G.sum(y)",
        "M.fill(y)",
        "b = G.sum(y)",
        "return a, b",
        before=FILL,
        options="(pure=False)",
    )
    same(tirscript.build(module)["main"](np.ones(4, "float32")), (np.float32(8), np.float32(28)))


PLACES = """
    @G.graph_func(private=True)
    def places(x: G.Tensor(("n",), "float32"), k: G.Prim("int64")):
        a = G.nonzero(x)
        return a, G.full((k,), 2, "int64")

"""
CALLS = {
    "one": (
        "    @G.graph_func\n    def inner(x: G.Tensor((4,), 'float32')):\n        return G.nonzero(x)\n\n",
        'x: G.Tensor((4,), "float32")',
        ["a = M.inner(x)", "return G.add(a, a)"],
        [flags(4)],
    ),
    "twice, with other sizes": (
        PLACES,
        'x: G.Tensor(("m",), "float32"), y: G.Tensor((2, 3), "float32")',
        [
            "with G.dataflow():",
            "    a = M.places(x, G.prim_value(3))",
            "    b = M.places(G.reshape(y, (6,)), G.prim_value(2))",
            "    c = G.sum(b[0])",
            "    d = G.add(a[0], c)",
            "    e = a[1]",
            "    G.output(b, d, e)",
            "return d, (e, b[1])",
        ],
        [flags(5), flags(2, 3)],
    ),
    "through another": (
        PLACES
        + """
    @G.graph_func(private=True)
    def some(x: G.Tensor(("n",), "float32")):
        a = M.places(G.concat([x, x]), G.prim_value(1))
        b = G.unique(a[0])
        return b

""",
        'x: G.Tensor(("m",), "float32")',
        ["a = M.some(x)", "return G.multiply(a, a)"],
        [flags(3)],
    ),
    "a branch in a dataflow": (
        """
    @G.graph_func(private=True)
    def either(x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")):
        if c:
            y = G.exp(x)
        else:
            y = G.negative(x)
        return G.nonzero(y), y

""",
        'x: G.Tensor((4,), "float32"), c: G.Tensor((), "bool")',
        ["with G.dataflow():", "    a = M.either(x, c)", "    b = a[1]", "    G.output(a, b)", "return a, b"],
        [flags(4), np.bool_(0)],
    ),
    "with what another computed": (
        PLACES + PLACES.replace("def places", "def again").replace('("n",), "float32"', '(4,), "float32"'),
        'x: G.Tensor((6,), "float32")',
        [
            "a = M.places(x, G.prim_value(1))",
            "b = G.astype(G.flatten(a[0]), 'float32')",
            "c = M.again(b, G.prim_value(2))",
            "return c, M.places(b, G.prim_value(2))[0]",
        ],
        [np.array([0, 1, 2, 0, 3, 4], "float32")],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_the_module_give_them_to_each_other(name: str) -> None:
    before, params, body, args = CALLS[name]
    module = program(params, *body, before=before)
    wanted = tirscript.interpret(module, *args, entry="main")
    measured = measure_sizes(module)
    again = parse(measured.script())
    assert structural_equal(again, measured)
    assert all(one.name in ("main", "inner") or not isinstance(one, GraphFunc) for one in measured.functions)
    same(tirscript.interpret(again, *args, entry="main"), wanted)
    same(tirscript.build(module)["main"](*args), wanted)


def test_sizes_of_parameters_are_compared_where_a_function_is_written_out() -> None:
    before, params, body, _ = CALLS["with what another computed"]
    module = program(params, *body, before=before)
    with pytest.raises(AssertionError, match="expected 4"):
        tirscript.build(module)["main"](np.ones(6, "float32"))


def test_functions_for_another_target_are_not_written_out() -> None:
    inner = "    @G.graph_func(private=True)\n    def inner(x: G.Tensor((4,), 'float32')):\n        {}return G.nonzero(x)\n\n"
    target = "G.func_attr({'target': T.target('c')})\n        "
    module = program('x: G.Tensor((4,), "float32")', "return G.sum(M.inner(x))", before=inner.format(target))
    assert "inner" in measure_sizes(module)
    with pytest.raises(DiagnosticError, match="to those of the same target"):
        tirscript.build(module)


def test_sizes_that_no_memory_is_made_for_are_told() -> None:
    module = program('s: G.Tensor((2,), "int64")', "return G.full(G.tensor_to_shape(s), 1.0, 'float32')")
    built = tirscript.build(module)["main"]
    same(built(np.array([2, 3])), np.ones((2, 3), "float32"))
    for sizes in ((-1, -3), (1 << 40, 1 << 40)):
        with pytest.raises(DiagnosticError, match=r"T301.*\n?.*would have the shape"):
            built(np.array(sizes))


@pytest.mark.parametrize("statement", ["y = G.exp(x)", "y = G.match_cast(x, G.Tensor((4,), 'float32'))"])
def test_what_says_that_it_runs_steps_and_does_not_is_told(statement: str) -> None:
    module = program('x: G.Tensor((4,), "float32")', 'G.func_attr({"runs_steps": True})', statement, "return y")
    with pytest.raises(DiagnosticError, match="is no series of calls of tensor functions"):
        tirscript.build(module)


def test_narrow_scalars_are_sizes_of_steps() -> None:
    """What stands in `tir_vars` is int64, in the text as in the program."""
    made = program(
        'x: G.Tensor((3,), "bool"), q: G.Prim("int32")',
        "places = G.nonzero(x)",
        'ones = G.full((q, 1), G.const(1.0, "float32"), "float32")',
        'y = G.multiply(G.astype(places, "float32"), ones)',
        "return y",
    )
    names = [entry.name for entry in GRAPH_LOWERING]
    split = Sequential(GRAPH_LOWERING.passes[: names.index("split_at_sizes") + 1])(made)
    assert structural_equal(parse(split.script()), split)
    x = np.array([0, 0, 1], bool)
    same(tirscript.interpret(split, x, 4), np.full((4, 1), 2, "float32"))
    same(tirscript.build(made)(x, 4), np.full((4, 1), 2, "float32"))


@pytest.mark.parametrize(
    ("x", "y"),
    [((6, 4), (3,)), ((3, 5), (3,)), ((3, 4, 1), (3,))],
    ids=["one size twice", "a number", "the rank"],
)
def test_arguments_of_steps_are_those_of_the_function(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    """Whether any step looks at them or not, and by its name."""
    built = tirscript.build(
        parse("""
@G.graph_func
def main(x: G.Tensor(("n", 4), "float32"), y: G.Tensor(("n",), "float32")):
    p = G.nonzero(x)
    return p, y
""")
    )
    given = np.eye(6, dtype="float32")[::2, :4], np.ones(3, "float32")
    for first in (np.asfortranarray(given[0]), np.ascontiguousarray(given[0])):
        places, same = built(first, given[1])
        assert places.tolist() == [[0, 1], [0, 2]] and same.tolist() == [1, 1, 1] and same is not given[1]
    with pytest.raises(DiagnosticError, match=r"of `main`"):
        built(np.ones(x, "float32"), np.ones(y, "float32"))


CAST = "q = G.match_cast(G.nonzero(x), G.Tensor((1, 'm'), 'int64'))"
GIVEN: dict[str, tuple[str, tuple[str, ...], list[Any]]] = {
    "numbers of other types": (
        'x: G.Tensor(("n",), "float32"), k: G.Prim("float64"), b: G.Prim("bool"), u: G.Prim("uint8")',
        (CAST, "t = (k, u)", "return G.astype(q, 'float64') * k, b, G.full((m,), 2, 'int8'), t"),
        [flags(6), 1.5, True, 200],
    ),
    "a number in a tuple": (
        'x: G.Tensor((8,), "float32"), t: G.Tuple(G.Tuple(G.Prim("int32"), G.Prim("float32")), G.Prim("int64"))',
        (CAST, "return q, t, t[0][1]"),
        [flags(8), ((7, 2.5), -1)],
    ),
    "a tuple that is made of one": (
        'x: G.Tensor((8,), "float32"), k: G.Prim("int32")',
        ("t = (x, k)", CAST, "return G.full((m,), 1, 'int8'), t"),
        [flags(8), 7],
    ),
    "a rank alone": (
        'x: G.Tensor(ndim=1, dtype="float32")',
        ("y = G.match_cast(x, G.Tensor(('n',), 'float32'))", "p = G.nonzero(y)", "return p, y * y"),
        [flags(9)],
    ),
    "a rank alone, as another parameter says": (
        'x: G.Tensor(("n",), "float32"), w: G.Tensor(ndim=2, dtype="float32")',
        (
            "y = G.match_cast(w, G.Tensor(('n', 'k'), 'float32'))",
            CAST,
            "return G.take(y, G.reshape(q, (m,)), axis=0)",
        ),
        [flags(6), flags(6, 3)],
    ),
    "ranks in a tuple": (
        'x: G.Tensor(("n",), "float32"), t: G.Tuple(G.Tensor(ndim=1, dtype="float32"), G.Prim("int32"))',
        ("y = G.match_cast(t[0], G.Tensor(('k',), 'float32'))", CAST, "return G.take(y, q, axis=0), t[1]"),
        [flags(4), (flags(5), 3)],
    ),
    "a shape": (
        'x: G.Tensor(("n",), "float32"), s: G.Shape(ndim=2)',
        (CAST, "return q, G.ones(s, 'float32'), s"),
        [flags(4), (2, 3)],
    ),
    "a number that a kernel returns": (
        'x: G.Tensor(("n",), "float32")',
        ("k = M.largest(x)", CAST, "r = G.astype(q, 'float32') * k", "return (k, r), k"),
        [flags(6) * np.float32(1.5)],
    ),
}
LARGEST = """    @T.prim_func
    def largest(x: T.Buffer(("n",), "float32")) -> T.float32:
        found: T.float32 = 0.0
        for i in range(n):
            found = T.max(found, x[i])
        return found

"""


@pytest.mark.parametrize("case", GIVEN)
def test_steps_take_what_the_function_takes(case: str) -> None:
    params, body, args = GIVEN[case]
    module = program(params, *body, before=LARGEST)
    wanted = tirscript.interpret(module, *args)
    assert_equal_results(tirscript.build(module)["main"](*args), wanted)
    names = [entry.name for entry in GRAPH_LOWERING]
    split = Sequential(GRAPH_LOWERING.passes[: names.index("split_at_sizes") + 1])(module)
    assert structural_equal(parse(split.script()), split)
    assert_equal_results(tirscript.interpret(split, *args), wanted)


def assert_equal_results(found: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray):
        return same(found, wanted)
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            assert_equal_results(one, other)
        return None
    assert type(found) is type(wanted) and found == wanted
    return None


def test_a_rank_alone_is_a_shape_with_names() -> None:
    """Operators had no kernel where a parameter said only how many dimensions it has."""
    module = program('x: G.Tensor(ndim=2, dtype="float32")', "return G.exp(x) / G.sum(x * x, axis=1, keepdims=True)")
    x = np.arange(6, dtype="float32").reshape(2, 3)
    same(tirscript.build(module)["main"](x), tirscript.interpret(module, x))
    with pytest.raises(DiagnosticError, match="`x` of `main`: expected 2 dimensions"):
        tirscript.build(module)["main"](x[0])


def test_a_cast_that_fails_between_steps_is_said_of_the_function() -> None:
    params, body, args = GIVEN["a rank alone, as another parameter says"]
    built = tirscript.build(program(params, *body))["main"]
    with pytest.raises(AssertionError, match=r"dimension 0 of the value of `G.match_cast`: expected `n`"):
        built(args[0], flags(5, 3))


@pytest.mark.parametrize(
    ("params", "body"),
    [
        ('A: G.Tensor(("n",), "float32"), m: G.Prim("int64")', "return G.reshape(A, (n // m, m))"),
        ('A: G.Tensor(("n",), "float32"), m: G.Prim("int64")', "return G.full((n % m,), 1, 'int8')"),
        (
            'A: G.Tensor(("n",), "float32"), m: G.Prim("int64")',
            "q = G.match_cast(G.nonzero(A), G.Tensor((1, 'k'), 'int64')); return G.full((k // m,), 1, 'int8')",
        ),
    ],
)
def test_sizes_that_divide_by_zero_are_diagnostics(params: str, body: str) -> None:
    """They were Python's own ZeroDivisionError."""
    module = program(params, *body.split("; "))
    args = np.zeros(4, "float32"), 0
    with pytest.raises(DiagnosticError, match=r"T304.*` divides by zero"):
        tirscript.interpret(module, *args)
    with pytest.raises(DiagnosticError, match=r"T304.*` divides by zero"):
        tirscript.build(module)["main"](*args)


FORM = '    @G.graph_func(private=True)\n    def g(x: G.Tensor(ndim=2, dtype="float32")):\n'
BRANCHES = "        if G.less(G.sum(x), G.const(0.0)):\n            y = G.add(x, x)\n        else:\n            y = G.multiply(x, x)\n"


@pytest.mark.parametrize(
    ("callee", "body"),
    [
        ("        return G.add(x, x)\n", ["return M.g(x)"]),
        ("        return G.add(x, x)\n", ["y = M.g(G.reshape(M.g(x), (3, 4)))", "return G.nn.relu(y)"]),
        ("        return (G.add(x, x), G.sum(x, axis=0))\n", ["return M.g(x)[1]"]),
        (f"{BRANCHES}        return y\n", ["return M.g(x)"]),
        (
            "        return G.add(x, x)\n",
            ["if G.less(G.sum(x), G.const(0.0)):", "    y = M.g(x)", "else:", "    y = G.exp(x)", "return G.exp(y)"],
        ),
        (
            '        return G.add(x, x)\n    @G.graph_func(private=True)\n    def h(t: G.Tuple(G.Tensor(ndim=2, dtype="float32"))):\n'
            "        return G.matmul(M.g(t[0]), G.permute_dims(t[0]))\n",
            ["return M.h((x,))"],
        ),
        ('        G.func_attr({"target": T.target("llvm")})\n        return G.add(x, x)\n', ["return M.g(x)"]),
    ],
)
@pytest.mark.parametrize("shape", ["(2, 6)", '("n", 6)'])
def test_functions_that_others_call_take_tensors_of_a_rank(callee: str, body: list[str], shape: str) -> None:
    """The caller knew nothing of the sizes of their results, and there was no kernel for what they do."""
    for form in (FORM, FORM.replace("(private=True)", "")):
        made = program(f'x: G.Tensor({shape}, "float32")', *body, before=form + callee)
        x = np.arange(12, dtype="float32").reshape(2, 6) / 8 - 1
        same(tirscript.build(made)(x), tirscript.interpret(made, x))


@pytest.mark.parametrize("value", ['"int32"', 'G.dtype("int32")'])
def test_a_text_beside_a_computed_size_is_refused(value: str) -> None:
    """It was an AssertionError."""
    module = program('x: G.Tensor((4,), "float32")', f"return (G.nonzero(x), {value})")
    with pytest.raises(DiagnosticError, match=r"T401.*returns tensors, scalars, shapes and tuples") as caught:
        tirscript.build(module)
    assert caught.value.diagnostics[0].hint == "`tirscript.interpret` executes it"
