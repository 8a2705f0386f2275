"""Programs of Relax as they stand elsewhere: of early 2022, of hand, and what passes of apache-tvm leave."""

from __future__ import annotations

import numpy as np
import pytest

from tirscript import interpret
from tirscript.ir import DiagnosticError, GraphFunc, Module, structural_equal, walk
from tirscript.ir.graph import DeviceValue, ExternFunction, GraphBind, GraphVar, PrimType, TensorType
from tirscript.ir.module import VDevice
from tirscript.ir.node import Attrs
from tirscript.script import graph as G
from tirscript.script import ir as I
from tirscript.script import parse

HEAD = (
    "from typing import TypeVar\n"
    "from tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import tirx as T\n\n"
)


def read(text: str) -> Module | GraphFunc:
    """The program, which both dialects give back."""
    made = parse(HEAD + text)
    assert isinstance(made, (Module, GraphFunc))
    for printed in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(made, parse(printed))
    assert parse(made.script()).script() == made.script()
    return made


def mistakes(text: str) -> list[str]:
    with pytest.raises(DiagnosticError) as problem:
        parse(HEAD + text)
    return [f"{found.code} {found.message}" for found in problem.value.diagnostics]


# --- early 2022: no `R.`, no declarations -----------------------------------------------------------------------------

THEN = """
@R.function
def f(x: Tensor((32, m), "float32"), y: Tensor((m, k), _), r: Tensor(_, "int64")) -> Tuple(Tensor, Shape):
    with relax.dataflow():
        z: Tensor((32, k), "float32") = matmul(x, y)
        w = exp(multiply(z, z))
        relax.match_shape(r.shape, (a, b))
        v: Tensor((p, q), "float32") = relax.call_packed("lib.f", w, mp=False, type_args=Tensor(ndim=2))
        relax.output(w, v)
    h: Shape = w.shape
    t = relax.Tuple((v, h))
    s = relax.TupleGetItem(t, 1)
    return (t[0], s)
"""
NOW = """
@R.function(pure=False)
def f(
    x: R.Tensor(("32", "m"), "float32"), y: R.Tensor(("m", "k")), r: R.Tensor(dtype="int64")
) -> R.Tuple(R.Tensor, R.Shape):
    a, b, p, q = T.int64(), T.int64(), T.int64(), T.int64()
    m, k = T.int64(), T.int64()
    with R.dataflow():
        z: R.Tensor((32, k), "float32") = R.matmul(x, y)
        lv = R.multiply(z, z)
        w = R.exp(lv)
        lv1 = R.shape_of(r)
        _ = R.match_cast(lv1, R.Shape((a, b)))
        lv2 = R.call_packed("lib.f", w, mp=False, ty_args=R.Tensor(ndim=2))
        v = R.match_cast(lv2, R.Tensor((p, q), "float32"))
        R.output(w, v)
    h: R.Shape = R.shape([32, k])
    t = (v, h)
    s = t[1]
    return (t[0], s)
"""


def test_relax_of_early_2022() -> None:
    assert structural_equal(read(THEN), read(NOW.replace('"32"', "32")))


def test_only_functions_with_types_of_early_2022_have_operators_alone() -> None:
    text = '@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    y = add(x, x)\n    return y\n'
    assert mistakes(text) == ["T010 `add` is not defined"]
    read(text.replace("x: R.Tensor", "x: Tensor"))
    assert "T010 `k` is not defined" in mistakes(text.replace("R.Tensor((4,)", "R.Tensor((k,)"))


@pytest.mark.parametrize(
    ("line", "pure"),
    [
        ('y = R.call_packed("lib.f", x, type_args=R.Tensor((4,), "float32"))', False),
        ('y = R.call_dps_packed("lib.f", (x,), (4,), dtype="float32")', True),
        ('z = R.call_dps_packed("lib.f", (x,), (4,), dtype="float32")\n    y = R.call_packed("lib.f", z, ty_args=R.Any)', False),
    ],
)  # fmt: skip
def test_functions_of_2022_say_nothing_of_effects(line: str, pure: bool) -> None:
    made = read(f'@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    {line}\n    return y\n')
    assert isinstance(made, GraphFunc) and made.pure is pure


def test_later_ones_do() -> None:
    text = (
        '@R.function{}\ndef f(x: R.Tensor((4,), "float32")):\n    y = R.call_packed("f", x, {}=R.Any)\n    return y\n'
    )
    assert mistakes(text.format("", "ty_args")) == ["T216 `f` has effects, but `f` is a pure function"]
    assert mistakes(text.format("(pure=True)", "type_args")) == ["T216 `f` has effects, but `f` is a pure function"]


# --- of hand ----------------------------------------------------------------------------------------------------------


def test_a_return_in_a_dataflow_gives_its_values_out() -> None:
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        z = R.multiply(y, y)
        return {}
"""
    made = read(text.format("(z, x)"))
    then = text.format("(z, x)").replace("        return", "        R.output(z)\n    return")
    assert structural_equal(made, parse(HEAD + then))
    found = interpret(made, np.ones(4, "float32"))
    assert (found[0] == 4).all() and (found[1] == 1).all()
    read(text.format("R.exp(z)"))
    assert mistakes(text.format("z") + "        w = R.add(y, y)\n") == [
        "T605 this statement stands behind the `return`"
    ]
    inner = "    if b:\n        with R.dataflow():\n            z = R.add(x, x)\n            return z\n    else:\n        z = x\n    return z\n"
    head = '@R.function\ndef main(b: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):\n'
    assert mistakes(head + inner)[0] == "T020 `return` stands at the end of a graph function"


def test_what_a_wrong_value_gives_out_is_no_second_mistake() -> None:
    text = """
@R.function
def main(x: R.Tensor((4,), "float32"), y: R.Tensor((3,), "float32")):
    with R.dataflow():
        z = R.add(x, y)
        w = R.exp(x)
        R.output(z, w)
    return (z, w)
"""
    assert [one[:4] for one in mistakes(text)] == ["T207"]


ENTRIES = """
@I.ir_module
class M:
    I.module_attrs({"a": 1})
    norm = R.ExternFunc("lib.norm", R.Callable((R.Tensor(ndim=1),), R.Tensor(ndim=1, dtype="float32"), True))
    other = R.ExternFunc("lib.other")

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        cls = M
        y = M.norm(x)
        z = cls.other(y, ty_args=R.Tensor((2,), "float32"))
        return z
"""


def test_a_module_names_functions_of_libraries() -> None:
    made = read(ENTRIES)
    assert isinstance(made, Module)
    assert [(entry.name, entry.function.symbol) for entry in made.externs] == [
        ("norm", "lib.norm"),
        ("other", "lib.other"),
    ]
    assert [node.symbol for node in walk(made["main"]) if type(node) is ExternFunction] == ["lib.norm", "lib.other"]
    assert not structural_equal(made, made.replace(externs=made.externs[:1]))
    read("@I.ir_module\nclass M:\n    norm = R.ExternFunc('lib.norm')\n")
    wrong = "@I.ir_module\nclass M:\n    f = R.ExternFunc('a')\n    f = R.ExternFunc('b')\n    g = R.ExternFunc(3)\n"
    assert mistakes(wrong) == ["T202 `f` is defined twice", "T032 the name of a function is a string"]


def test_a_module_of_python_names_them_too() -> None:
    @I.ir_module
    class Live:
        norm = G.ExternFunc("lib.norm")

        @G.graph_func
        def main(x: G.Tensor((2,), "float32")):
            return G.add(x, x)

    assert isinstance(Live, Module)
    assert [entry.name for entry in Live.externs] == ["norm"]


def test_devices() -> None:
    made = read("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    a = R.hint_on_device(x, R.cpu())
    b = R.hint_on_device(a, R.device(dev_type=2, dev_id=1))
    c = R.to_vdevice(R.hint_on_device(b, R.cuda(1)), R.vdevice("cuda", 1))
    d = R.to_vdevice(c, I.vdevice({"kind": "llvm", "mcpu": "x"}, 0, "global"))
    e = R.add(d, d)
    return e
""")
    assert isinstance(made, GraphFunc)
    devices = [(node.device_type, node.index) for node in walk(made) if type(node) is DeviceValue]
    assert sorted(devices) == [(1, 0), (2, 1), (2, 1)]
    held = [node for node in walk(made) if type(node) is VDevice]
    assert [(one.target, one.index) for one in held] == [("cuda", 1), (Attrs({"kind": "llvm", "mcpu": "x"}), 0)]
    text = '@R.function\ndef f(x: R.Tensor((4,), "float32")):\n    y = R.hint_on_device(x, R.cuda("a"))\n    return y\n'
    assert mistakes(text) == ["T032 the number of a device is an int"]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ('R.wrap_param(x, "float16")', '(4, 6), "float16"'),
        ("R.ccl.allgather(x, 2)", '(8, 6), "float32"'),
        ("R.ccl.scatter_from_worker0(x, 2)", '(2, 6), "float32"'),
        ("R.ccl.scatter_from_worker0(x, 3, axis=1)", '(4, 2), "float32"'),
        ("R.ccl.scatter_from_worker0(x, 2, 5)", 'dtype="float32", ndim=2'),
        ('R.memory.view(x, R.shape([12]), "float64")', '(12,), "float64"'),
        ("R.memory.view(x, R.shape([2, 12]))", '(2, 12), "float32"'),
        ('R.memory.view(x, dtype="int32")', '(4, 6), "int32"'),
        ("R.memory.view(x, s)", 'dtype="float32", ndim=1'),
        ('R.to_vdevice(x, "llvm:0")', '(4, 6), "float32", vdevice="llvm:0"'),
        ('R.to_vdevice(x, R.vdevice("llvm"))', '(4, 6), "float32"'),
    ],
)
def test_types_of_operators_that_are_kept(call: str, kind: str) -> None:
    head = 'x: R.Tensor((4, 6), "float32"), s: R.Shape(ndim=1)'
    made = read(f"@R.function\ndef f({head}):\n    y = {call}\n    return y\n")
    want = read(f"@R.function\ndef f(x: R.Tensor({kind})):\n    return x\n")
    assert isinstance(made, GraphFunc) and isinstance(want, GraphFunc)
    assert type(made.result) is TensorType and structural_equal(made.result, want.result)


def test_functions_of_libraries_have_names_without_annotations() -> None:
    made = read("""
@R.function
def f(x: R.Tensor((4,), "float32")):
    func = R.ExternFunc("lib.f")
    y = R.call_dps_packed(func, (x,), out_ty=R.Tensor((4,), "float32"))
    return y
""")
    assert 'func = R.ExternFunc("lib.f")' in made.script(dialect="tvm")


def test_the_message_of_a_check_may_stand_first() -> None:
    text = """
@R.function(pure=False)
def f(x: R.Tensor((), "int32")):
    R.assert_op(R.const(False), {})
    return x
"""
    made = read(text.format('"x: {}", x'))
    assert structural_equal(made, read(text.format('x, format="x: {}"')))
    with pytest.raises(AssertionError, match="x: 5"):
        interpret(made, np.array(5, "int32"))


def test_a_scalar_of_the_graph_is_its_own_value() -> None:
    made = read("""
@R.function
def f(n: R.Prim("int64"), x: R.Tensor((4,), "float32")):
    m = n + 1
    k = R.prim_value(m)
    b: R.Prim("bool") = True
    return x
""")
    assert isinstance(made, GraphFunc)
    kept = made.body[1]
    assert isinstance(kept, GraphBind) and type(kept.value) is GraphVar


# --- what passes leave ------------------------------------------------------------------------------------------------


def test_calls_in_scalars_are_steps() -> None:
    made = read("""
@R.function(pure=False)
def f(h: R.Tensor(dtype="int64", ndim=1)):
    R.call_packed("lib.f", R.call_packed("vm.builtin.make_prim_value", h, 1, 0, ty_args=(T.int64,)) * 2, ty_args=(R.Any,))
    return h
""")
    assert isinstance(made, GraphFunc)
    first = made.body[0]
    assert isinstance(first, GraphBind) and type(first.var.type) is PrimType


CAPTURED = """
@I.ir_module
class M:
    @R.function(private=True, pure=False)
    def alloc() -> R.Tuple(R.Any):
        R.func_attr({"relax.force_pure": True})
        s: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        return (s,)

    @R.function(private=True, pure=False)
    def capture(a: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")) -> R.Tuple:
        r: R.Tuple = R.tuple()
        return r

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        cls = M
        g: R.Tuple(R.Any) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.get_cached_alloc", (cls.alloc, 0), ty_args=(R.Tuple(R.Any),))
        h: R.Tuple = R.call_builtin_with_ctx("vm.builtin.cuda_graph.run_or_capture", (cls.capture, (x, x), R.prim_value(0)), ty_args=(R.Tuple,))
        return x
"""


def test_functions_are_arguments_beside_numbers_and_tuples() -> None:
    read(CAPTURED)


def test_local_functions_have_symbols_of_their_own() -> None:
    made = read("""
@R.function
def f(x: R.Tensor(("n", 4), "float32")):
    n_1 = TypeVar("n_1")
    @R.function
    def g(a: R.Tensor((n_1, 4), "float32")) -> R.Tensor((n_1, 4), "float32"):
        r: R.Tensor((n_1, 4), "float32") = R.exp(a)
        return r
    y = g(x)
    n_1 = TypeVar("n_1")
    @R.function
    def h(a: R.Tensor((n_1, 4), "float32")) -> R.Tensor((n_1, 4), "float32"):
        r: R.Tensor((n_1, 4), "float32") = R.exp(a)
        return r
    z = h(y)
    return z
""")
    found = interpret(made, np.zeros((2, 4), "float32"))
    assert np.allclose(found, np.exp(np.ones((2, 4))))


KERNEL = """
@I.ir_module
class M:
    @T.prim_func(s_tir=True)
    def sort(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        {}
        T.call_packed("lib.sort", T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(4), 0, 1, T.float32(0), 0), T.tvm_stack_make_array(B.data, T.tvm_stack_make_shape(4), 0, 1, T.float32(0), 0))

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = M
        y = R.call_tir(cls.sort, (x,), out_ty=R.Tensor((4,), "float32"))
        return y
"""


def test_what_a_kernel_hands_to_a_library_may_only_be_read() -> None:
    read(KERNEL.format("B[0] = T.float32(0)"))
    assert mistakes(KERNEL.format("A[0] = T.float32(0)")) == ["T214 `x` is an argument, but `sort` writes it"]


@pytest.mark.parametrize(
    "call",
    [
        'R.matmul(x, x, out_dtype="void")',
        'R.cumsum(x, axis=0, dtype="void", exclusive=False)',
        'R.nn.conv2d(R.reshape(x, (1, 1, 4, 4)), R.reshape(x, (1, 1, 4, 4)), out_dtype="void")',
        'R.zeros_like(x, dtype="void")',
    ],
)
def test_a_dtype_that_was_not_told_was_void_until_2026(call: str) -> None:
    text = '@R.function\ndef f(x: R.Tensor((4, 4), "float32")):\n    y = {}\n    return y\n'
    now = call.replace(', out_dtype="void"', "").replace(', dtype="void"', "")
    made = read(text.format(call))
    assert structural_equal(made, read(text.format(now)))
    # TVM keeps the two apart
    assert '"void"' in made.script(dialect="tvm") and "void" not in made.script()
    assert '"void"' not in read(text.format(now)).script(dialect="tvm")


@pytest.mark.parametrize(
    "given", ["x, lambda i: (i // 4, i % 4)", "x, index_map=lambda i: (i // 4, i % 4), pad_value=None"]
)
def test_a_map_of_indices_may_be_a_lambda(given: str) -> None:
    text = '@R.function\ndef f(x: R.Tensor((16,), "float32")):\n    y = R.layout_transform({})\n    return y\n'
    told = read(text.format("x, index_map=T.index_map(lambda i: (i // 4, i % 4))"))
    assert structural_equal(read(text.format(given)), told)
    assert any("an index map is a lambda" in one for one in mistakes(text.format("x, x")))


def test_tensors_are_made_of_some_dtype() -> None:
    text = '@R.function\ndef f(x: R.Tensor((4, 4), "float32")):\n    y = R.zeros((4,), dtype="void")\n    return y\n'
    assert any("a tensor holds numbers, not void" in one for one in mistakes(text))


METADATA = """metadata = tvm.ir.load_json(\"\"\"{{
  \\"root_index\\": 5,
  \\"nodes\\": [
    {{\\"type\\": \\"None\\"}},
    {{\\"type\\": \\"ffi.String\\", \\"data\\": \\"relax.expr.Constant\\"}},
    {{\\"type\\": \\"ffi.Tensor\\", \\"data\\": \\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAgD8=\\"}},
    {{\\"type\\": \\"relax.expr.Constant\\", \\"data\\": {{\\"span\\": 0, \\"{}\\": 2}}}},
    {{\\"type\\": \\"ffi.Array\\", \\"data\\": [3]}},
    {{\\"type\\": \\"ffi.Map\\", \\"data\\": [1, 4]}}
  ]
}}\"\"\")
@R.function
def f(x: R.Tensor((2,), "float32")):
    y = R.add(x, metadata["relax.expr.Constant"][0])
    return y
"""


@pytest.mark.parametrize("name", ["value", "data"])
def test_constants_of_the_metadata_of_older_versions(name: str) -> None:
    made = read(METADATA.format(name))
    assert (interpret(made, np.zeros(2, "float32")) == 1).all()


PARAMETERS = """metadata = tvm.ir.load_json(\"\"\"{
  \\"root_index\\": 3,
  \\"nodes\\": [
    {\\"type\\": \\"ffi.String\\", \\"data\\": \\"ffi.Tensor\\"},
    {\\"type\\": \\"ffi.Tensor\\", \\"data\\": \\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAgD8=\\"},
    {\\"type\\": \\"ffi.Array\\", \\"data\\": [1]},
    {\\"type\\": \\"ffi.Map\\", \\"data\\": [0, 2]}
  ]
}\"\"\")
@R.function
def f(x: R.Tensor((2,), "float32")):
    R.func_attr({"num_input": 1, "params": [metadata["ffi.Tensor"][0]]})
    y = R.exp(x)
    return y
"""


def test_parameters_that_a_model_keeps_in_an_attribute() -> None:
    made = read(PARAMETERS)
    (kept,) = made.attrs["params"]
    assert kept.data.array.tolist() == [1.0, 1.0]
    ours, theirs = made.script(), made.script(dialect="tvm")
    assert 'G.const([1.0, 1.0], "float32")' in ours and 'R.const([1.0, 1.0], "float32").value' in theirs
    assert structural_equal(parse(ours), made) and structural_equal(parse(theirs), made)
    other = PARAMETERS.replace("AAgD8=", "AAAEA=")  # 1.0 and 2.0
    assert not structural_equal(read(other), made)


@pytest.mark.parametrize("constants", ["elide", "inline"])
def test_long_parameters_of_a_model_come_back(constants: str) -> None:
    weights = np.arange(40, dtype="float32")

    @G.graph_func
    def f(x: G.Tensor((2,), "float32")) -> G.Tensor((2,), "float32"):
        G.func_attr({"params": [G.const(weights), G.const(2.5, "float16")]})
        return G.exp(x)

    text = f.script(constants=constants)
    again = parse(text)
    assert structural_equal(again, f) and again.script(constants=constants) == text


OLD_METADATA = """metadata = tvm.ir.load_json(\"\"\"{
  \\"root\\": 1,
  \\"nodes\\": [
    {\\"type_key\\": \\"\\"},
    {\\"type_key\\": \\"Map\\", \\"keys\\": [\\"relax.expr.Constant\\"], \\"data\\": [2]},
    {\\"type_key\\": \\"Array\\", \\"data\\": [3, 4]},
    {\\"type_key\\": \\"relax.expr.Constant\\", \\"attrs\\": {\\"data\\": \\"1\\", \\"span\\": \\"0\\"}},
    {\\"type_key\\": \\"relax.expr.Constant\\", \\"attrs\\": {\\"data\\": \\"0\\", \\"span\\": \\"0\\"}}
  ],
  \\"b64ndarrays\\": [
    \\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAgD8=\\",
    \\"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAAAAQAAAQEA=\\"
  ],
  \\"attrs\\": {\\"tvm_version\\": \\"0.17.0\\"}
}\"\"\")
@R.function
def f(x: R.Tensor((2,), "float32")):
    y = R.multiply(x, metadata["relax.expr.Constant"][0])
    z = R.add(y, metadata["relax.expr.Constant"][1])
    return z
"""


def test_constants_of_the_form_until_2025() -> None:
    made = read(OLD_METADATA)
    assert interpret(made, np.ones(2, "float32")).tolist() == [3.0, 4.0]


def test_what_is_padded_with_stood_second_until_2025() -> None:
    text = '# from tvm.script import relax as R\n@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = {}\n    return y\n'
    made = read(text.format('R.nn.pad(x, R.const(0.5, "float32"), pad_width=[1, 0], pad_mode="constant")'))
    assert structural_equal(made, read(text.format("R.nn.pad(x, pad_width=[1, 0], pad_value=0.5)")))
    assert interpret(made, np.ones(2, "float32")).tolist() == [0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    "kind",
    ['relax.TensorStructInfo((2,), "float32")', 'relax.TensorType((2,), "float32")', 'R.Tensor((2,), "float32")'],
)
def test_types_by_their_names_in_the_package(kind: str) -> None:
    made = parse(
        "# from tvm.script import relax as R\n@I.ir_module\nclass M:\n"
        '    @T.prim_func\n    def g(x: T.Buffer((2,), "float32"), y: T.Buffer((2,), "float32")):\n'
        "        for i in range(2):\n            y[i] = x[i] + T.float32(1)\n"
        '    @R.function\n    def main(x: R.Tensor((2,), "float32")):\n'
        f"        y = R.call_tir(M.g, [x], {kind})\n        return y\n"
    )
    assert interpret(made, np.zeros(2, "float32")).tolist() == [1.0, 1.0]


def test_a_tensor_function_inside_of_a_graph_function_is_told_as_that() -> None:
    """Relax took them in 2022; the message was about the first statement of its body."""
    text = """
from tvm.script import relax as R, tir as T

@R.function
def f(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
    @T.prim_func
    def twice(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (8,))
        B = T.match_buffer(b, (8,))
        for i in range(8):
            B[i] = A[i] * 2.0

    return R.call_tir(twice, (x,), out_sinfo=R.Tensor((8,), "float32"))
"""
    with pytest.raises(DiagnosticError) as caught:
        parse(text)
    found = caught.value.diagnostics[0]
    assert found.message == "the tensor function `twice` stands in a graph function"
    assert found.span is not None and found.span.line == 6
    assert found.hint == "define it beside the graph function, in a module, and call `cls.twice` with `call_tir`"
