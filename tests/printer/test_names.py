"""Names are the user's, made unique by a suffix only where they clash."""

from __future__ import annotations

import pytest
from helpers.printer import HEADER, assert_body

from tirscript.ir import (
    Bind,
    Buffer,
    BufferLoad,
    BufferStore,
    CallFunction,
    Evaluate,
    Expr,
    For,
    If,
    PrimFunc,
    Stmt,
    Var,
    const,
    dtype,
    get_op,
    structural_equal,
    substitute,
)
from tirscript.printer.names import spelled
from tirscript.script import parse
from tirscript.testing import assert_round_trip

A = Buffer("A", (const(16),))


def nested(*hints: str) -> list[str]:
    """The names that loops inside of each other get."""
    body: tuple[Stmt, ...] = (BufferStore(A, (const(0),), const(1.0)),)
    for hint in reversed(hints):
        body = (For(Var(hint), const(0), const(4), body, kind="parallel"),)
    return names_of(PrimFunc("f", (A,), body))


def names_of(func: PrimFunc) -> list[str]:
    """What stands behind `for` or before ` = ` in a function's lines; its text is read back."""
    text = func.script()
    again = parse(text)
    assert structural_equal(func, again)
    assert again.script() == text
    lines = [line.strip() for line in text.split("\n")]
    return [
        line.split()[1] if line.startswith("for ") else line.split(" = ")[0]
        for line in lines
        if line.startswith("for ") or (" = " in line and "[" not in line.split(" = ")[0])
    ]


def copy(hint: str) -> Bind:
    return Bind(Var(hint, dtype("float32")), BufferLoad(A, (const(0),)))


def test_clashes_get_a_suffix_that_is_nobodys_hint() -> None:
    assert nested("i", "i", "i_1", "i") == ["i", "i_2", "i_1", "i_3"]
    assert nested("A", "f") == ["A_1", "f_1"]


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        ("T", "T_1"),
        ("I", "I"),
        ("cls", "cls_1"),
        ("for", "for_1"),
        ("None", "None_1"),
        ("range", "range_1"),
        ("max", "max_1"),
        ("input", "input"),
        ("match", "match"),
        ("1x", "_1x"),
        ("a b", "a_b"),
        ("vi.0", "vi_0"),
        ("", "v"),
        ("%", "_"),
        ("_", "_"),
        ("größe", "größe"),
        ("ﬁ", "fi"),
        ("é", "é"),
        ("²", "_2"),
    ],
)
def test_hints_become_identifiers(hint: str, name: str) -> None:
    assert spelled(hint) == name
    assert nested(hint) == [name]


def test_names_are_free_again_behind_their_scope() -> None:
    one = For(Var("i"), const(0), const(4), (copy("x"),), kind="parallel")
    two = For(Var("i"), const(0), const(4), (copy("x"), copy("x")), kind="parallel")
    assert names_of(PrimFunc("f", (A,), (one, two, copy("x"), copy("i")))) == ["i", "x", "i", "x", "x_1", "x", "i"]


def test_a_name_of_an_outer_scope_is_not_used_inside() -> None:
    loop = For(Var("x"), const(0), const(4), (copy("x"),), kind="parallel")
    assert names_of(PrimFunc("f", (A,), (copy("x"), loop))) == ["x", "x_1", "x_2"]


def test_names_of_branches_are_not_used_behind_them() -> None:
    # `x` in both branches and behind the `if` would be read as one mutable scalar
    test = get_op("less")(BufferLoad(A, (const(0),)), 1.0)
    assert names_of(PrimFunc("f", (A,), (If(test, (copy("x"),), (copy("x"),)), copy("x")))) == ["x", "x", "x_1"]
    assert names_of(PrimFunc("f", (A,), (If(test, (copy("x"),)), copy("x")))) == ["x", "x"]
    chain = If(test, (copy("x"),), (If(test, (copy("y"),), (copy("x"),)),))
    assert names_of(PrimFunc("f", (A,), (chain, copy("x"), copy("y")))) == ["x", "y", "x", "x_1", "y_1"]


def test_a_variable_does_not_hide_a_function_that_is_called() -> None:
    call = Evaluate(CallFunction("g", (A,), dtype("void")))
    func = PrimFunc("f", (A,), (copy("g"), call))
    text = func.script()
    assert "    g_1 = A[0]\n    g(A)\n" in text


def test_symbols_of_one_hint_differ() -> None:
    n, m, k = Var("n", dtype("int64")), Var("n", dtype("int64")), Var("n", dtype("int32"))
    b = Buffer("B", (n, m, k, m * 2, k * 2))
    func = PrimFunc("f", (A, b), ())
    text = func.script()
    assert text == (
        "from tirscript.script import tir as T\n\nn = T.int32()\n\n\n@T.prim_func\n"
        'def f(A: T.Buffer((16,), "float32"), B: T.Buffer(("n_1", "n_2", n, "n_2 * 2", n * 2), "float32")):\n    pass\n'
    )
    assert structural_equal(func, parse(text))


def test_free_names_of_fragments_are_kept_apart() -> None:
    i, j = Var("i"), Var("i")
    loop = For(i, const(0), j, (Evaluate(i + j),))
    assert str(loop) == "for i_1 in range(i):\n    T.evaluate(i_1 + i)"


def test_an_unknown_variable_is_named_when_it_is_met() -> None:
    lost: Expr = Var("i")
    loop = For(Var("i"), const(0), const(4), (Evaluate(lost + 1),))
    func = PrimFunc("f", (A,), (loop, For(Var("i"), const(0), const(4), ())))
    assert [line for line in func.script().split("\n") if "for" in line or "evaluate" in line] == [
        "    for i in range(4):",
        "        T.evaluate(i_1 + 1)",
        "    for i in range(4):",
    ]


def test_names_survive_a_round_trip() -> None:
    assert_body(
        """
        for i in range(4):
            x = A[i]
            A[i] = x
        for i in range(4):
            x = A[i]
            for x_1 in range(4):
                B[i, x_1] = x
        """
    )
    assert HEADER.startswith("from tirscript")


def test_words_that_mean_nothing_where_they_stand_are_names() -> None:
    func = parse(
        """
@T.prim_func
def f(R: T.Buffer(("I",), "float32"), G: T.int32):
    for relax in range(4):
        R[relax] = T.cast(G, "float32")
"""
    )
    assert 'def f(R: T.Buffer(("I",), "float32"), G: T.int32):' in assert_round_trip(func).script()
    assert "def f(R: T.Buffer((I,)" in func.script(dialect="tvm")
    assert parse(func.script(dialect="tvm")).script() == func.script()


def test_words_that_the_text_around_has_are_left_to_it() -> None:
    module = parse(
        """
@I.ir_module
class M:
    N = T.int32()

    @T.prim_func(private=True)
    def f(R: T.Buffer((N, 4), "float32"), I: T.Buffer((4,), "float32")):
        for i in range(4):
            I[i] = R[0, i]

    @G.graph_func
    def main(I: G.Tensor((1, 4), "float32"), R: G.Tensor((1, 4), "float32")):
        return G.call_tir(M.f, (G.add(I, R),), out=G.Tensor((4,), "float32"))
"""
    )
    symbol = module["f"].params[0].shape[0]
    parts = (substitute(one, {symbol: Var("G", symbol.dtype)}) for one in module.functions)
    renamed = module.replace(functions=tuple(parts))
    text = assert_round_trip(renamed).script()
    assert "    G_1 = T.int32()" in text and "R: T.Buffer((G_1, 4)" in text and "I: T.Buffer((4,)" in text
    assert "def main(I_1: G.Tensor" in text and "R: G.Tensor" in text
    text = renamed.script(dialect="tvm")
    assert "def main(I_1: R.Tensor" in text and "R_1: R.Tensor" in text
    assert parse(text).script(dialect="tvm") == text


@pytest.mark.parametrize("dialect", ["tirscript", "tvm"])
@pytest.mark.parametrize("name", ["I", "G", "R"])
def test_modules_leave_their_words_to_the_text(name: str, dialect: str) -> None:
    module = parse(
        """
@I.ir_module
class M:
    @T.prim_func
    def f(a: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = 1.0

    @T.prim_func
    def main(a: T.Buffer((4,), "float32")):
        M.f(a)

    @G.graph_func
    def graph(x: G.Tensor((4,), "float32")):
        return G.add(x, x)
"""
    )
    f, main, graph = module.functions
    main = substitute(main, {main.params[0]: main.params[0].replace(name=name)})
    again = module.replace(name=name, functions=(f, main, graph))
    text = again.script(dialect=dialect)
    assert structural_equal(parse(text), again) and parse(text).script(dialect=dialect) == text


def test_fragments_of_graphs_leave_their_words_to_the_text() -> None:
    func = parse('@G.graph_func\ndef f(x: G.Tensor((4,), "float32")):\n    y = G.add(x, x)\n    return y\n')
    (x,), (stmt,) = func.params, func.body
    for hint, name, theirs in (("G", "G_1", "G"), ("I", "I_1", "I_1"), ("R", "R", "R_1")):
        value = substitute(stmt.value, {x: x.replace(name=hint)})
        assert value.script(fragment=True).strip() == f"G.add({name}, {name})"
        assert value.script(fragment=True, dialect="tvm").strip() == f"R.add({theirs}, {theirs})"
        assert stmt.replace(value=value).script(fragment=True).strip().endswith(f"= G.add({name}, {name})")
