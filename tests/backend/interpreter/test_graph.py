"""Graph functions under the interpreter: values, control flow, calls, and mistakes at the user's line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirscript import build, interpret, parse, register_library
from tirscript.backend.runtime.library import unregister_library
from tirscript.ir import DiagnosticError
from tirscript.passes.graph import fold_graph_constant


def one(*values: float, kind: str = "float32") -> Any:
    return np.array(values, kind)


def module(*functions: str) -> Any:
    return parse("@I.ir_module\nclass M:\n" + "\n".join(functions))


def mistake(program: Any, *args: Any, **kwargs: Any) -> Any:
    with pytest.raises(DiagnosticError) as caught:
        interpret(program, *args, **kwargs)
    return caught.value.diagnostics[0]


BRANCH = """
@G.graph_func
def main(x: G.Tensor(("n",), "float32"), flag: G.Tensor((), "bool")):
    if flag:
        y = G.add(x, x)
    else:
        y = G.negative(x)
    return y
"""


@pytest.mark.parametrize(("flag", "expected"), [(True, 4.0), (False, -2.0)])
def test_a_branch_is_chosen_by_its_condition(flag: bool, expected: float) -> None:
    assert interpret(parse(BRANCH), one(2), np.array(flag)).tolist() == [expected]


def test_functions_call_each_other() -> None:
    program = module(
        """
    @G.graph_func
    def double(x: G.Tensor(("n",), "float32")):
        return G.add(x, x)

    @G.graph_func
    def main(x: G.Tensor(("m",), "float32")):
        cls = M
        y = cls.double(x)
        z = cls.double(G.concat((y, y)))
        return z
"""
    )
    assert interpret(program, one(1, 2)).tolist() == [4, 8, 4, 8]
    assert interpret(program, one(1, 2), entry="double").tolist() == [2, 4]
    assert interpret(program, one(1, 2), max_steps=6).tolist() == [4, 8, 4, 8]
    assert mistake(program, one(1, 2), max_steps=3).code == "T309"


MATCH = """
@G.graph_func
def main(x: G.Tensor(ndim=2, dtype="float32")):
    n = T.int64()
    y = G.match_cast(x, G.Tensor((n, n), "float32"))
    return G.full((n * 2,), G.const(1.0, "float32"))
"""


def test_match_cast_binds_dimensions_and_checks_them() -> None:
    assert interpret(parse(MATCH), np.zeros((3, 3), np.float32)).shape == (6,)
    found = mistake(parse(MATCH), np.zeros((3, 4), np.float32))
    assert found.code == "T207" and "expected `n`, which is 3, got 4" in found.message
    assert found.span is not None and found.span.line == 5


ADD = """
@G.graph_func
def main(x: G.Tensor(("n", 3), "float32"), pair: G.Tuple(G.Tensor(("n",), "float32"), G.Shape(["n"])), k: G.Prim("int64")):
    return G.sum(x, axis=[1]) + pair[0]
"""


def test_arguments_of_all_kinds() -> None:
    x, y = np.ones((2, 3), np.float32), one(1, 2)
    assert interpret(parse(ADD), x, (y, (2,)), 7).tolist() == [4, 5]
    assert interpret(parse(ADD), pair=(y, [2]), k=7, x=x).tolist() == [4, 5]


class Silent:
    """It answers nothing."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": np.ones((2, 4), np.float32)}, "dimension 1 of argument `x` of `main`: expected 3, got 4"),
        ({"x": np.ones((2, 3))}, "expected a tensor of float32, got one of float64"),
        ({"x": np.ones((2, 3), ">f4")}, "expected a tensor of float32, got one of float32 in foreign byte order"),
        ({"x": np.ma.masked_array(np.ones((2, 3), np.float32))}, "expected an array without a mask"),
        ({"x": np.ones(3, np.float32)}, "expected 2 dimensions, got the shape (3,)"),
        ({"x": [[1, 2, 3]]}, "expected an array for `x`, got a list"),
        ({"pair": (one(1, 2),)}, "expected a tuple of 2, got one of 1"),
        ({"pair": (Silent(),)}, "expected a tuple of 2, got one of 1"),
        ({"pair": (one(1, 2), 2, 3)}, "expected a tuple of 2, got one of 3"),
        ({"pair": (one(1, 2, 3), (2,))}, "expected `n`, which is 2, got 3"),
        (
            {"pair": (one(1, 2), (10**5000,))},
            "dimension 0 of field 1 of argument `pair` of `main`: expected an integer",
        ),
        ({"pair": (one(1, 2), (2.7,))}, "expected an integer (int64), got 2.7"),
        ({"pair": (one(1, 2), ("2",))}, "expected an integer (int64), got '2'"),
        ({"pair": (one(1, 2), 2)}, "expected a shape, which is a tuple of ints, got 2"),
        ({"pair": Silent()}, "argument `pair` of `main`: expected a tuple, got a Silent"),
        ({"pair": (one(1, 2), (3,))}, "expected `n`, which is 2, got 3"),
        ({"k": None}, "expected an integer (int64), got None"),
    ],
)
def test_wrong_arguments_are_refused_by_name(change: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"x": np.ones((2, 3), np.float32), "pair": (one(1, 2), (2,)), "k": 1, **change}
    found = mistake(parse(ADD), **given)
    assert found.code == "T301" and said in found.message and found.span is not None


def test_wrong_counts_and_names() -> None:
    program = parse(BRANCH)
    assert "is not given `flag`" in mistake(program, one(1)).message
    assert "takes 2 arguments (x, flag), but 3" in mistake(program, one(1), np.array(True), 3).message
    assert mistake(program, one(1), flg=np.array(True)).hint == "did you mean `flag`?"


def test_an_index_beyond_the_tensor_is_told_at_its_line() -> None:
    program = parse(
        """
@G.graph_func
def main(x: G.Tensor((4,), "float32"), i: G.Tensor((2,), "int64")):
    y = G.exp(x)
    return G.take(y, i, axis=0)
"""
    )
    found = mistake(program, one(1, 2, 3, 4), np.array([0, 9]))
    assert found.code == "T302" and found.span is not None and found.span.line == 5


KERNEL = """
    @T.prim_func
    def scale(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), k: T.int64):
        for i in range(n):
            B[i] = A[i] * T.cast(k, "float32")
"""


def test_kernels_get_inputs_results_and_then_numbers() -> None:
    program = module(
        KERNEL,
        """
    @G.graph_func
    def main(x: G.Tensor(("n",), "float32")):
        n = T.int64()
        cls = M
        return G.call_tir(cls.scale, (x,), out=G.Tensor((n,), "float32"), tir_vars=(n * 2,))
""",
    )
    assert interpret(program, one(1, 2, 3)).tolist() == [6, 12, 18]


def test_a_mistake_in_a_kernel_names_the_call() -> None:
    program = module(
        """
    @T.prim_func
    def last(A: T.Buffer(("n",), "float32"), B: T.Buffer((1,), "float32")):
        B[0] = A[n]

    @G.graph_func
    def main(x: G.Tensor(("n",), "float32")):
        cls = M
        return G.call_tir(cls.last, (x,), out=G.Tensor((1,), "float32"))
"""
    )
    found = mistake(program, one(1, 2))
    assert found.code == "T302" and any("`last` is called here" in label.message for label in found.labels)


LIBRARY = """
@G.graph_func(pure=False)
def main(x: G.Tensor((2,), "float32")):
    y = G.call_dps_packed("test.twice", (x,), out=G.Tensor((2,), "float32"))
    z = G.call_pure_packed("test.negative", y, ty_args=(G.Tensor((2,), "float32"),))
    return z
"""


def test_library_functions() -> None:
    def twice(x: Any, out: Any) -> None:
        out[:] = x * 2

    register_library("test.twice", twice)
    register_library("test.negative", lambda x: -x)
    try:
        assert interpret(parse(LIBRARY), one(1, 2)).tolist() == [-2, -4]
    finally:
        unregister_library("test.twice")
        unregister_library("test.negative")
    found = mistake(parse(LIBRARY), one(1, 2))
    assert found.code == "T307" and "test.twice" in found.message


def test_a_failed_assertion_and_printing(capsys: pytest.CaptureFixture[str]) -> None:
    program = parse(
        """
@G.graph_func(pure=False)
def main(x: G.Tensor((), "bool"), y: G.Tensor((), "int32")):
    a = G.print(y, format="y is {}")
    b = G.assert_op(x, y, format="wrong: {}")
    return y
"""
    )
    assert interpret(program, np.array(True), np.array(3, "int32")).item() == 3
    assert capsys.readouterr().out == "y is 3\n"
    with pytest.raises(AssertionError, match="wrong: 3"):
        interpret(program, np.array(False), np.array(3, "int32"))


def test_what_has_no_meaning_here_is_refused_by_name() -> None:
    program = parse(
        """
@G.graph_func(pure=False)
def main(x: G.Tensor((2, 2), "float32")):
    y = G.ccl.allreduce(x, op_type="sum")
    return y
"""
    )
    found = mistake(program, np.ones((2, 2), np.float32))
    assert found.code == "T308" and "G.ccl.allreduce" in found.message


@pytest.mark.parametrize("name", ["divide", "atan2", "log_add_exp", "power", "logical_xor", "floor_mod"])
@pytest.mark.parametrize("order", ["G.prim_value(n), x", "x, G.prim_value(n)"])
def test_a_scalar_beside_a_tensor_is_one(name: str, order: str) -> None:
    """References of operators were given Python's own numbers, which have no dtype."""
    text = f'@G.graph_func\ndef main(x: G.Tensor(("n",), "int64")):\n    return G.{name}({order})\n'
    x = np.arange(1, 5)
    func = parse(text)
    found, built = interpret(func, x), build(func)(x)
    np.testing.assert_allclose(found, built)
    assert found.dtype == built.dtype


@pytest.mark.parametrize("argument", ["G.const([1, 2], 'int32')", "G.negative(G.const([-1, -2], 'int32'))"])
def test_what_cannot_be_written_is_handed_to_a_library_by_a_kernel(argument: str) -> None:
    """Passes make constants of arguments, and so of what a kernel passes on, where the verifier takes it to be read."""
    name = "tests.interpreter.opposite"
    register_library(name, lambda a, out: np.negative(a, out=out), override=True)
    module = parse(f"""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def f(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
        T.evaluate(T.call_packed("{name}", A.data, B.data))

    @G.graph_func
    def main(x: G.Tensor((2,), "int32")):
        with G.dataflow():
            y = G.call_tir(M.f, ({argument},), out=G.Tensor((2,), "int32"))
            G.output(y)
        return y
""")
    x = np.zeros(2, "int32")
    for one in (module, fold_graph_constant(module)):
        assert interpret(one, x).tolist() == [-1, -2]
        assert build(one)(x).tolist() == [-1, -2]


def test_strings_are_no_tensors() -> None:
    """Their methods were missed where the operator was computed."""
    with pytest.raises(DiagnosticError, match=r"T104.*`G.divide`: `x2` is a tensor, not a string"):
        parse('@G.graph_func\ndef f(x: G.Tensor((2,), "int32")):\n    return G.divide(x, G.str("a"))\n')


@pytest.mark.parametrize("value", ["2", '"a"', "G.shape([2, 3])", "(x, 2)"])
def test_marks_give_back_any_value(value: str) -> None:
    text = '@G.graph_func\ndef f(x: G.Tensor((2,), "int32")):\n    return G.grad.start_checkpoint({})\n'
    x = np.arange(2, dtype="int32")
    found = interpret(parse(text.replace("{}", value)), x)
    wanted = {"2": 2, '"a"': "a", "G.shape([2, 3])": (2, 3)}.get(value)
    assert found == wanted if wanted is not None else (found[0].tolist(), found[1]) == ([0, 1], 2)


def test_what_is_no_closure_is_not_called() -> None:
    func = parse('@G.graph_func\ndef f(x: G.Tensor((2,), "int32")):\n    return G.invoke_pure_closure("f", (x,))\n')
    with pytest.raises(DiagnosticError, match=r"T308.*`G.invoke_pure_closure` takes what `G.make_closure` gives"):
        interpret(func, np.zeros(2, "int32"))


UNWRITTEN = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def total(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            C[i] = C[i] + A[i, k]

    @T.prim_func(private=True)
    def half(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(2):
            C[i] = A[i, 0]

    @T.prim_func(private=True)
    def first(A: T.Buffer((4,), "float32"), n: T.int64, C: T.Buffer((1,), "float32")):
        C[0] = A[n]

    @G.graph_func
    def own(x: G.Tensor((4, 8), "float32")):
        cls = M
        return G.call_tir(cls.total, (x,), out=G.Tensor((4,), "float32"))

    @G.graph_func
    def in_place(x: G.Tensor((4, 8), "float32"), y: G.Tensor((4,), "float32")):
        cls = M
        return G.call_tir_inplace(cls.total, (x, y), inplace_indices=[1], out=[G.Tensor((4,), "float32")])

    @G.graph_func
    def of_another(x: G.Tensor((4, 8), "float32"), n: G.Prim("int64")):
        cls = M
        y = G.call_tir(cls.half, (x,), out=G.Tensor((4,), "float32"))
        return G.call_tir(cls.first, (y, n), out=G.Tensor((1,), "float32"))
"""


def test_results_of_kernels_are_new_memory() -> None:
    module = parse(UNWRITTEN)
    x, y = np.ones((4, 8), "float32"), np.zeros(4, "float32")
    with pytest.raises(DiagnosticError, match=r"`C\[0\]` is read, but nothing was stored there"):
        interpret(module, x, entry="own")
    assert interpret(module, x, y, entry="in_place").tolist() == [8.0] * 4
    assert interpret(module, x, 1, entry="of_another").tolist() == [1.0]
    with pytest.raises(DiagnosticError, match=r"`A\[n\]` is read|`A\[2\]` is read") as told:
        interpret(module, x, 2, entry="of_another")
    assert told.value.diagnostics[0].code == "T303"


def test_a_library_function_may_store_what_a_kernel_has_not() -> None:
    module = parse("""
@I.ir_module
class M:
    @T.prim_func(private=True)
    def half(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(2):
            C[i] = A[i]

    @T.prim_func(private=True)
    def twice(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            C[i] = A[i] * 2.0

    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        cls = M
        y = G.call_tir(cls.half, (x,), out=G.Tensor((4,), "float32"))
        z = G.call_inplace_packed("test.interpreter.fill", y, inplace_indices=[0], ty_args=G.Tensor((4,), "float32"))
        return G.call_tir(cls.twice, (z,), out=G.Tensor((4,), "float32"))
""")

    def fill(array: Any) -> Any:
        array[2:] = 3
        return array

    register_library("test.interpreter.fill", fill)
    try:
        assert interpret(module, np.ones(4, "float32")).tolist() == [2.0, 2.0, 6.0, 6.0]
    finally:
        unregister_library("test.interpreter.fill")
