"""What apache-tvm prints in graph functions beyond plain calls: scalars, strings for numbers, values left out."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tirscript.ir import DiagnosticError, GraphFunc, structural_equal
from tirscript.ir.graph import (
    FunctionCall,
    GraphBind,
    GraphConst,
    MetadataConst,
    OpCall,
    PrimType,
    PrimValue,
    StringValue,
    TupleExpr,
)
from tirscript.passes import get_pass
from tirscript.script import parse

HEAD = (
    "from tvm.script import relax as R\nfrom tvm.script import tirx as T\n\n"
    '@R.function(pure=False)\ndef main(x: R.Tensor((2, 3), dtype="float32"), n: T.int64):\n    '
)


def bound(line: str, result: str = "x") -> GraphBind:
    """The first statement of a function with this line, which both dialects give back."""
    made = parse(f"{HEAD}{line}\n    return {result}\n")
    assert isinstance(made, GraphFunc)
    for text in (made.script(), made.script(dialect="tvm")):
        again = parse(text)
        assert structural_equal(made, again)
    assert parse(made.script()).script() == made.script()
    statement = made.body[0]
    assert isinstance(statement, GraphBind)
    return statement


@pytest.mark.parametrize(
    ("line", "dtype"),
    [
        ("y: T.int64 = R.add(n, n)", "int64"),
        ("y: T.int64 = R.multiply(3, 1)", "int64"),
        ("y: T.int64 = R.power(n, 2)", "int64"),
        ("y: T.bool = R.less(n, 7)", "bool"),
    ],
)
def test_operators_of_scalars_give_scalars(line: str, dtype: str) -> None:
    statement = bound(line)
    kind = statement.var.type
    assert isinstance(kind, PrimType) and str(kind.dtype) == dtype


@pytest.mark.parametrize("line", ["y = x % x", "y = x\n    y %= x", "y = 2.0 % x"])
def test_a_remainder_of_tensors_is_theirs(line: str) -> None:
    statement = parse(f"{HEAD}{line}\n    return y\n").body[-1]  # type: ignore[union-attr]
    assert isinstance(statement, GraphBind) and isinstance(statement.value, OpCall)
    assert statement.value.op.name == "mod"


def test_a_number_is_a_scalar_and_a_tensor_with_it_is_one() -> None:
    call = bound('y: R.Tensor((3,), dtype="float32") = R.take(x, 1, axis=0, mode="fast")').value
    assert isinstance(call, OpCall) and type(call.args[1]) is PrimValue
    call = bound('y: R.Tensor((2, 3), dtype="float32") = R.add(x, T.float32(1.0))').value
    assert isinstance(call, OpCall) and type(call.args[1]) is PrimValue


@pytest.mark.parametrize(
    ("line", "dtypes"),
    [
        ("y = R.add(1, 2)", ["int32", "int32"]),
        ("y: T.int64 = R.add(1, 2)", ["int64", "int64"]),
        ("y = R.less(300, x)", ["int32"]),
        ("y = R.power(x, 2.0)", ["float32"]),
        ("y = R.add(x, 1)", ["float32"]),
        ("y = R.add(n, 1)", ["int64"]),
        ("y = R.equal(n, 1)", ["int32"]),
        ("y = R.take(x, indices=1, axis=0)", ["int32"]),
        ("y = R.add(x.astype('uint8'), 255)", ["uint8"]),
        ("y = R.equal(x.astype('uint8'), 255)", ["uint8"]),
        ("y = R.add(x.astype('float16'), 0.5)", ["float16"]),
        ("y = R.where(R.const(True), x, 1.0)", ["float32"]),
    ],
)
def test_the_dtype_of_a_number_is_what_their_parser_gives_it(line: str, dtypes: list[str]) -> None:
    """Those int32 and float32, as far as the operator takes it; else that of what stands beside."""
    bound(line)
    made = parse(f"{HEAD}{line}\n    return x\n")
    assert isinstance(made, GraphFunc) and isinstance(call := made.body[-1], GraphBind)
    assert isinstance(call.value, OpCall)
    assert [str(arg.value.dtype) for arg in call.value.args if type(arg) is PrimValue] == dtypes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y = R.add(x.astype('uint8'), -1)", "`x1` is of uint8 and `x2` of int32"),
        ("y = R.add(x.astype('int8'), 300)", "`x1` is of int8 and `x2` of int32"),
        ("y = R.add(n, 0.5)", "`x1` is of int64 and `x2` of float32"),
        (f"y = R.add(n, {1 << 70})", "does not fit int64"),
    ],
)
def test_numbers_that_no_dtype_suits_are_refused(line: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as problem:
        parse(f"{HEAD}{line}\n    return x\n")
    assert message in str(problem.value)


def test_numbers_of_tuples_and_calls_are_what_their_parser_makes_them() -> None:
    plain, named = (bound(f"y = {text}").value for text in ("(1, x)", "R.tuple(1, x)"))
    for value, dtype in ((plain, "int64"), (named, "int32")):
        assert isinstance(value, TupleExpr) and type(value.fields[0]) is PrimValue
        assert str(value.fields[0].value.dtype) == dtype
    for dtype in ("int32", "int8"):
        text = HEAD.replace("n: T.int64", f'f: R.Callable((R.Prim("{dtype}"),), R.Tensor((4,), "float32"))')
        made = parse(f"{text}y = f(1)\n    return y\n")
        assert isinstance(made, GraphFunc) and structural_equal(parse(made.script(dialect="tvm")), made)
        assert isinstance(call := made.body[0], GraphBind) and isinstance(call.value, FunctionCall)
        assert type(call.value.args[0]) is PrimValue and str(call.value.args[0].value.dtype) == dtype
    with pytest.raises(DiagnosticError, match="300 does not fit int8"):
        parse(f"{text}y = f(300)\n    return y\n")


@pytest.mark.parametrize(("word", "value"), [("inf", math.inf), ("-inf", -math.inf), ("nan", math.nan)])
def test_infinities_are_written_as_strings(word: str, value: float) -> None:
    made = bound(f'y: R.Tensor((), dtype="float32") = R.const("{word}", "float32")').value
    assert isinstance(made, GraphConst)
    found = float(made.data.array)
    assert found == value or (math.isnan(found) and math.isnan(value))


@pytest.mark.parametrize("text", ['R.const("inf", "int32")', 'R.const("one", "float32")', 'R.const("inf")'])
def test_other_strings_are_no_constants(text: str) -> None:
    with pytest.raises(DiagnosticError, match="no string"):
        parse(f"{HEAD}y = {text}\n    return x\n")


def test_calls_of_libraries_keep_what_they_are_told() -> None:
    line = '_: R.Tensor = R.call_packed("f", x, attrs_type_key="ir.DictAttrs", y=1, s="a", ty_args=(R.Tensor,))'
    call = bound(line).value
    assert isinstance(call, FunctionCall)
    assert dict(call.attrs) == {"attrs_type_key": "ir.DictAttrs", "y": 1, "s": "a"}


def test_the_scope_of_a_device_is_a_plain_string_for_tvm() -> None:
    line = 'y: R.Tensor((2, 3), dtype="float32") = R.hint_on_device(x, R.device(device_type=1, index=0), "global")'
    made = parse(f"{HEAD}{line}\n    return x\n")
    assert isinstance(made, GraphFunc)
    assert 'index=0), "global")' in made.script(dialect="tvm") and 'G.str("global")' in made.script()
    call = bound(line).value
    assert isinstance(call, OpCall) and isinstance(call.args[2], StringValue)


def test_a_dtype_that_is_not_known_is_void_or_empty() -> None:
    for word in ("", "void"):
        call = bound(f'y = R.call_packed("f", R.dtype("{word}"), ty_args=R.Tensor(dtype="{word}", ndim=2))').value
        assert isinstance(call, FunctionCall) and "void" in str(call.args[0])
        assert parse(f'{HEAD}y: R.Tensor(dtype="{word}") = x\n    return y\n') is not None
    with pytest.raises(DiagnosticError, match="a tensor holds numbers"):
        parse('@G.graph_func\ndef main(x: G.Tensor((2,), "void")):\n    return x\n')


def test_an_empty_tuple_needs_no_value() -> None:
    value = bound("y: R.Tuple", "y").value
    assert isinstance(value, TupleExpr) and not value.fields


def test_other_variables_do() -> None:
    with pytest.raises(DiagnosticError, match="declared by its value"):
        parse(f"{HEAD}y: R.Tensor\n    return x\n")


def test_a_scalar_that_is_checked_is_a_condition() -> None:
    text = (
        f"{HEAD}a: R.Any = R.call_packed('f', ty_args=(R.Any,))\n    z: T.bool = R.match_cast(a, T.bool)\n"
        "    if z:\n        y = R.add(x, x)\n    else:\n        y = R.multiply(x, x)\n    return y\n"
    )
    made = parse(text)
    assert isinstance(made, GraphFunc)
    for printed in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(made, parse(printed)) and "T.bool()" not in printed


def test_a_scalar_for_a_tensor_is_called_one() -> None:
    text = (
        "from tvm.script import ir as I, relax as R, tirx as T\n\n@I.ir_module\nclass M:\n"
        '    @T.prim_func\n    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n        B[0] = A[0]\n\n'
        "    @R.function\n    def main(n: T.int64):\n"
        '        y = R.call_tir(M.f, (n,), out_ty=R.Tensor((4,), "float32"))\n        return y\n'
    )
    with pytest.raises(DiagnosticError, match="argument 1 of `f` is a tensor, not a scalar"):
        parse(text)


def test_vectors_are_joined_along_no_axis() -> None:
    vector = 'v = R.const([1.0, 2.0], "float32")\n    '
    made = parse(f"{HEAD}{vector}y = R.concat((v, v), axis=None)\n    return y\n")
    assert isinstance(made, GraphFunc) and 'R.Tensor((4,), "float32")' in made.script(dialect="tvm")
    assert structural_equal(made, parse(made.script()))
    with pytest.raises(DiagnosticError, match="`axis` is None, which is for tensors of 1 dimension"):
        parse(f"{HEAD}y = R.concat((x, x), axis=None)\n    return y\n")


RELAX = """from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @T.prim_func
    def half(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] / T.float32(2)

    @R.function
    def main(x: {tensor}((4,), "float32")) -> {tensor}(None, "float32", ndim=1):
        with R.dataflow():
            y = R.call_tir({half}, (x,), {out})
            z = R.{library}("lib.relu", (y,), {out})
            R.output(z)
        return z
"""


def test_relax_of_2022_named_functions_types_and_libraries_alone() -> None:
    then = RELAX.format(tensor="Tensor", half="half", out='(4,), dtype="float32"', library="call_tir")
    out = 'out_sinfo=R.Tensor((4,), "float32")'
    now = RELAX.format(tensor="R.Tensor", half="M.half", out=out, library="call_dps_packed")
    assert structural_equal(parse(then), parse(now))
    ours = RELAX.replace("tvm.script", "tirscript.script").replace("relax as R", "graph as G").replace("R.", "G.")
    ours = ours.replace("G.function", "G.graph_func")
    with pytest.raises(DiagnosticError, match=r"the functions of the module are called as `M\.half"):
        parse(
            ours.format(tensor="G.Tensor", half="half", out='out=G.Tensor((4,), "float32")', library="call_dps_packed")
        )


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ('Tensor[(n, 4), "float32"]', 'Tensor((n, 4), "float32")'),
        ('Tensor[_, "float32"]', 'Tensor(_, "float32")'),
        ("Tuple[Tensor[(n, 4), _], Shape]", "Tuple(Tensor((n, 4), _), Shape)"),
    ],
)
def test_types_stood_in_brackets_first(then: str, now: str) -> None:
    text = "from tvm.script import relax as R\n@R.function\ndef f(x: {}):\n    return x\n"
    assert structural_equal(parse(text.format(then)), parse(text.format(now)))
    with pytest.raises(DiagnosticError):
        parse(text.replace("tvm", "tirscript").replace("R.function", "R.graph_func").format(then))


def test_arguments_that_are_no_more_may_be_empty() -> None:
    call = "R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)), pad_value=None{})"
    now, then = (parse(f"{HEAD}y = {call.format(more)}\n    return x\n") for more in ("", ", axis_separators=[]"))
    assert structural_equal(now, then)
    with pytest.raises(DiagnosticError, match="takes no argument `axis_separators`"):
        bound(f"y = {call.format(', axis_separators=[1]')}")


def test_arguments_that_are_none_are_not_given() -> None:
    call = 'R.cumsum(x, axis=0, dtype="void"{})'
    now, then = (parse(f"{HEAD}y = {call.format(more)}\n    return x\n") for more in ("", ", exclusive=None"))
    assert structural_equal(now, then)
    with pytest.raises(DiagnosticError, match="this is True or False, not"):
        bound('y = R.cumsum(x, axis=0, exclusive="no")')


def test_a_field_of_a_tuple_that_stands_there_stays_one() -> None:
    made = parse(f"{HEAD}y = R.TupleGetItem(R.tuple(x), 0)\n    return y\n")
    assert "G.TupleGetItem((x,), 0)" in str(made)
    assert structural_equal(parse(str(made)), made)


LAZY = """
@R.function(pure={pure})
def transform_params(
    A: R.Tensor((16,), dtype="float32"), fset_output: R.Callable((T.int64, R.Any), R.Tuple, False)
) -> R.Tuple:
    with R.dataflow():
        lv: R.Any = R.call_packed("get_item", 0, ty_args=(R.Any,))
        B: R.Tensor((16,), dtype="float32") = R.match_cast(lv, R.Tensor((16,), dtype="float32"))
        C: R.Tensor((16,), dtype="float32") = R.add(A, B)
        fset_output(0, C)
        R.output(C)
    return R.tuple()
"""


def test_effects_stand_in_the_dataflow_of_a_function_that_has_some() -> None:
    """As LazySetOutput and LazyTransformParams of apache-tvm put them."""
    found = parse(LAZY.format(pure=False))
    assert structural_equal(parse(found.script(dialect="tvm")), found)
    with pytest.raises(DiagnosticError, match="has effects, which a dataflow has not"):
        parse(LAZY.format(pure=True))


WRITES = """from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class M:
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = M
        with R.dataflow():
            y = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), runtime_device_index=0)
            _: R.Tuple() = cls.twice(x, y)
            z = R.add(y, y)
            R.output(z)
        {line}
        return z
"""


def test_a_pure_function_may_call_tensor_functions_as_in_tvm() -> None:
    made = parse(WRITES.format(line=""))
    assert structural_equal(parse(made.script()), made)
    assert structural_equal(parse(made.script(dialect="tvm")), made)
    kept = get_pass("dead_code_elimination")(made)
    assert "twice(x, y)" in kept.script()
    with pytest.raises(DiagnosticError, match=r"`G\\.call_packed`|`lib.log` has effects"):
        parse(
            WRITES.format(line='R.call_packed("lib.log", z, ty_args=(R.Tuple,))').replace(
                "cls.twice(x, y)", "R.tuple()"
            )
        )


@pytest.mark.parametrize("said", ["R.Tuple", "R.Tensor((9,), dtype='float32')", "R.Tensor", "R.Shape(ndim=2)"])
def test_a_result_that_is_of_another_type_than_its_text_says(said: str) -> None:
    text = (
        "from tvm.script import relax as R\n@R.function\n"
        'def f(x: R.Tensor((4, 2), "float32")) -> {}:\n    y = R.split(x, 2)\n    z = {}\n    return z\n'
    )
    value = "R.add(x, x)" if "9" in said or "Shape" in said else "y"
    found = parse(text.format(said, value))
    honest = (
        "R.Tensor((4, 2), 'float32')"
        if value != "y"
        else "R.Tuple(R.Tensor((2, 2), 'float32'), R.Tensor((2, 2), 'float32'))"
    )
    assert structural_equal(found, parse(text.format(honest, value)))
    assert isinstance(found, GraphFunc) and found.told_result is not None
    assert structural_equal(parse(found.script()), found)
    again = parse(found.script(dialect="tvm"))
    assert again.script(dialect="tvm") == found.script(dialect="tvm")
    with pytest.raises(DiagnosticError, match="what `f` returns"):
        parse(text.format(said, value).replace("tvm.script", "tirscript.script"))


def test_symbols_of_other_dtypes_keep_other_names_for_tvm() -> None:
    found = parse(
        "from tvm.script import ir as I, relax as R, tirx as T\n\n@I.ir_module\nclass M:\n    @T.prim_func(s_tir=True)\n"
        '    def k(A: T.Buffer(("n",), "float32")):\n        n = T.int32()\n        A[n - 1] = T.float32(0)\n\n'
        "    @R.function\n    def main(x: R.Any):\n        n = T.int64()\n"
        '        y = R.match_cast(x, R.Tensor((n,), "float32"))\n        return y\n'
    )
    text = found.script(dialect="tvm")
    # TVM would take the symbol of the graph for the one that is declared above the module
    assert "\nn = T.int32()\n" in text and "        n_1 = T.int64()\n" in text
    assert "        n = T.int64()\n" in found.script()
    assert structural_equal(parse(text), found)


def test_operators_of_tvm_without_a_meaning_here_are_kept() -> None:
    text = (
        "@R.function(pure=False)\ndef main(x: R.Tensor((4,), dtype='float32')) -> R.Any:\n"
        "    s: R.Any = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype('uint8'), R.str('global'))\n"
        "    R.vm.kill_object(x)\n    return s\n"
    )
    made = parse(text)
    assert isinstance(made, GraphFunc)
    ours, theirs = made.script(), made.script(dialect="tvm")
    assert 'G.vm.alloc_storage(G.shape([16]), 0, G.dtype("uint8"), G.str("global"))' in ours
    assert "    R.vm.kill_object(x)\n" in theirs
    assert structural_equal(parse(ours), made) and structural_equal(parse(theirs), made)


@pytest.mark.parametrize(
    "line",
    [
        'y: R.Any = R.call_builtin_with_ctx("vm.builtin.x", (x, 1), ty_args=(R.Any,))',
        'y: R.Any = R.call_inplace_packed("f", x, inplace_indices=[0], ty_args=(R.Any,))',
        'y: R.Any = R.make_closure("a", (x,))',
        'y: R.Any = R.call_py_func(R.str("f"), x, (x, x), out_ty=R.Any)',
        'y: R.Any = R.hint_on_device(x, R.device(device_type=2, index=0), "global")',
        'y: R.Any = R.ExternFunc("name", R.Callable((R.Tensor((4,)),), R.Any, True))',
        "y: R.Any = R.null_value()",
    ],
)
def test_what_tvm_prints_of_calls_comes_back_as_it_was(line: str) -> None:
    made = parse(f"@R.function(pure=False)\ndef main(x: R.Tensor((4,), 'float32')):\n    {line}\n    return y\n")
    assert isinstance(made, GraphFunc)
    theirs = made.script(dialect="tvm", width=400)
    assert f"    {line}\n" in theirs
    assert structural_equal(parse(theirs), made) and structural_equal(parse(made.script()), made)


def test_calls_of_python_functions_are_read_as_tvm_prints_them_too() -> None:
    head = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y: R.Any = R.call_py_func("
    wanted = parse(f"{head}'f', x, out_ty=R.Any)\n    return y\n")
    for call in ('R.str("f"), (x,), ty_args=(R.Any,))', '"f", (x,), sinfo_args=R.Object)', '"f", x, out_sinfo=R.Any)'):
        assert structural_equal(parse(f"{head}{call}\n    return y\n"), wanted)


def test_constants_that_tvm_printed_apart_are_kept_without_their_data() -> None:
    made = parse(
        "@R.function\ndef main(x: R.Tensor((4,), dtype='float32')):\n"
        '    y: R.Tensor((4,), dtype="float32") = R.add(x, metadata["ir.GenericConst"][3])\n    return y\n'
    )
    assert isinstance(made, GraphFunc)
    value: Any = made.body[0].value  # type: ignore[attr-defined]
    assert isinstance(value.args[1], MetadataConst) and value.args[1].index == 3
    assert structural_equal(parse(made.script()), made)


def test_numbers_of_tvm_are_constants() -> None:
    made = parse("@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    k = 3\n    return (x, k)\n")
    assert 'k: G.Tensor((), "int32") = G.const(3, "int32")' in made.script()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("R.prim_value(R.exp(R.const(1.0)))", "T104.*a scalar is a number or an expression"),
        ("R.prim_value(R.exp(R.exp(R.const(1.0))))", "T022.*this is computed when the program runs"),
        ("R.shape([R.const(1) + 1])", "T207.*a dimension is a value of the graph"),
        ("R.prim_value(R.const(1.0)(2))", "T022.*a value of the graph is no function"),
    ],
)
def test_outside_of_functions_nothing_is_computed(value: str, words: str) -> None:
    """It was an internal error."""
    head = "from tvm.script import ir as I, relax as R\n"
    function = '@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    return x\n'
    with pytest.raises(DiagnosticError, match=words):
        parse(f"{head}K = {value}\n{function}")
    with pytest.raises(DiagnosticError) as caught:
        parse(f"{head}@I.ir_module\nclass M:\n    f = R.ExternFunc({value})\n")
    assert all(one.code != "T499" for one in caught.value.diagnostics)
