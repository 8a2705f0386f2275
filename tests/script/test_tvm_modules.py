"""What stands around functions in TVM's text: metadata, graph functions, devices, and its names for tiles of GPUs."""

from __future__ import annotations

import json

import pytest

from tirscript.ir import Assert, DiagnosticError, Module, PrimFunc, structural_equal
from tirscript.script import parse

TEXT = "x\ny\"z'"
NODES = [
    {"type": "ffi.String", "data": "ffi.String"},
    {"type": "ffi.String", "data": TEXT},
    {"type": "ffi.String", "data": "second"},
    {"type": "ffi.Array", "data": [1, 2]},
    {"type": "ffi.String", "data": "relax.Constant"},
    {"type": "relax.Constant", "data": {"value": 7}},
    {"type": "ffi.Array", "data": [5]},
    {"type": "ffi.Map", "data": [0, 3, 4, 6]},
]


def with_metadata(graph: object, body: str = 'T.func_attr({"f": metadata["ffi.String"][0]})') -> str:
    """A text with metadata as TVM prints it before the function."""
    stored = json.dumps(graph, indent=2).replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'metadata = tvm.ir.load_json("""{stored}""")\n# from tvm.script import tirx as T\n\n'
        f'@T.prim_func(s_tir=True)\ndef main(A: T.Buffer((4,), "float32")):\n    {body}\n'
        '    for i in T.serial(4, annotations={"a": metadata["ffi.String"][1]}):\n        A[i] = T.float32(1)\n'
    )


def test_strings_that_are_printed_apart() -> None:
    made = parse(with_metadata({"root_index": 7, "nodes": NODES}))
    assert isinstance(made, PrimFunc)
    assert made.attrs["f"] == TEXT
    assert '"a": "second"' in made.script()


OLD_NODES = [
    {"type_key": ""},
    {"type_key": "Map", "keys": ["tir.StringImm", "runtime.String"], "data": [2, 5]},
    {"type_key": "Array", "data": [3]},
    {"type_key": "tir.StringImm", "attrs": {"dtype": "handle", "span": "0", "value": "4"}},
    {"type_key": "runtime.String", "repr_b64": "CQAAAAAAAAB0d28KbGluZXM="},
    {"type_key": "Array", "data": [6, 7]},
    {"type_key": "runtime.String", "repr_str": "plain"},
    {"type_key": "IntImm", "attrs": {"dtype": "int64", "span": "0", "value": "2"}},
]
OLD_GRAPH = {"root": 1, "nodes": OLD_NODES, "b64ndarrays": [], "attrs": {"tvm_version": "0.17.0"}}


def test_strings_of_the_form_until_2025() -> None:
    body = 'T.func_attr({"f": metadata["tir.StringImm"][0]})'
    made = parse(with_metadata(OLD_GRAPH, body).replace("ffi.String", "runtime.String").replace("][1]", "][0]"))
    assert isinstance(made, PrimFunc)
    assert made.attrs["f"] == "two\nlines"
    assert '"a": "plain"' in made.script()


def test_messages_that_are_printed_apart() -> None:
    """TVM keeps a part of a message that has several lines as a literal, which names its string."""
    nodes = [
        {"type": "ffi.String", "data": "ir.StringImm"},
        {"type": "ffi.String", "data": TEXT},
        {"type": "ir.StringImm", "data": {"span": 3, "ty": 3, "value": 1}},
        {"type": "None"},
        {"type": "ffi.Array", "data": [2]},
        {"type": "ffi.Map", "data": [0, 4]},
    ]
    body = 'assert A[0] > T.float32(0), ("TypeError", ["wrong ", metadata["ir.StringImm"][0]])'
    text = with_metadata({"root_index": 5, "nodes": nodes}, body).replace('metadata["ffi.String"][1]', '"b"')
    made = parse(text)
    assert isinstance(made, PrimFunc)
    (told,) = [stmt for stmt in made.body if isinstance(stmt, Assert)]
    assert (told.kind, told.message) == ("TypeError", "wrong " + TEXT)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"root_index": 70, "nodes": NODES}, "no metadata of TVM: IndexError"),
        ({"root_index": 7}, "no metadata of TVM: KeyError"),
        ({"root": 1}, "no metadata of TVM: KeyError"),
        ({"root": 70, "nodes": OLD_NODES, "b64ndarrays": []}, "no metadata of TVM: IndexError"),
        (
            {"root": 0, "nodes": [{"type_key": "runtime.String", "repr_b64": "?"}], "b64ndarrays": []},
            "no metadata of TVM",
        ),
        ({"root_index": 1, "nodes": NODES}, "no map from classes to lists"),
        ([], "no metadata of TVM: TypeError"),
        ({"root_index": 0, "nodes": [{"type": "ffi.Array", "data": [0]}]}, "nested more than 64 deep"),
        (
            {"root_index": 40, "nodes": [NODES[0], *({"type": "ffi.Array", "data": [at, at]} for at in range(40))]},
            "over 100,000 items",
        ),
    ],
)
def test_metadata_that_is_none(graph: object, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(with_metadata(graph))
    (found,) = caught.value.diagnostics
    assert message in found.message


def test_metadata_of_other_classes_is_named_where_it_is_used() -> None:
    text = with_metadata({"root_index": 7, "nodes": NODES}, 'T.func_attr({"f": metadata["relax.Constant"][0]})')
    with pytest.raises(DiagnosticError, match=r"metadata of the class relax\.Constant"):
        parse(text)


TENSORS = '    @T.prim_func(private=True, s_tir=True)\n    def add(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):\n        y[0] = x[0]\n'
GRAPH = (
    '    @R.function\n    def {}(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):\n'
    "        cls = Module\n        with R.dataflow():\n"
    '            gv = R.call_tir(cls.add, (x,), out_ty=R.Tensor((4,), dtype="float32"))\n'
    "            R.output(gv)\n        return gv\n"
)


@pytest.mark.parametrize(
    "header",
    [
        "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n# from tvm.script import relax as R\n\n",
        "from tvm.script import ir as I, relax as R, tirx as T\n\n",
    ],
)
def test_graph_functions_stand_beside_tensor_functions(header: str) -> None:
    text = f"{header}@I.ir_module\nclass Module:\n{TENSORS}\n{GRAPH.format('main')}\n{GRAPH.format('other')}"
    made = parse(text, filename="<graph>")
    assert isinstance(made, Module)
    assert [func.name for func in made.prim_funcs] == ["add"]
    assert [func.name for func in made.graph_funcs] == ["main", "other"]


def test_devices_of_a_module_are_kept() -> None:
    text = (
        "from tvm.script import ir as I, tirx as T\n\n@I.ir_module\nclass Module:\n"
        f'    I.module_global_infos({{"vdevice": [I.vdevice("llvm")]}})\n{TENSORS}'
    )
    made = parse(text)
    assert isinstance(made, Module)
    assert 'I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})' in made.script()
    assert structural_equal(parse(made.script()), made)


@pytest.mark.parametrize("name", ["ptx.mma", "cta", "thread_id", "TileLayout", "smem", "cuda.cta_sync"])
def test_tile_primitives_are_refused_by_name(name: str) -> None:
    text = (
        "from tvm.script import tirx as T\n\n@T.prim_func\n"
        f'def main(A: T.Buffer((4,), "float32")):\n    T.{name}(A)\n    A[0] = T.float32(1)\n'
    )
    with pytest.raises(DiagnosticError, match=f"`T.{name}`, a tile primitive of TVM for GPUs, is not supported"):
        parse(text)


def test_rules_of_its_rewriter_are_refused_by_name() -> None:
    text = (
        "from tvm.script import relax as R\n\n@R.rewriter\nclass Rule:\n    @R.function\n"
        '    def pattern(x: R.Tensor((4,), "float32")):\n        return R.add(x, x)\n'
    )
    with pytest.raises(DiagnosticError, match=r"`G.rewriter`, a rewrite rule of TVM, is not supported"):
        parse(text)


PYTHON = """
from tvm.script import ir as I, relax as R, tirx as T
from tvm.relax.base_py_module import BasePyModule


@I.ir_module
class M(BasePyModule):
    @I.pyfunc
    def silu(self, x: "torch.Tensor", *rest, **more):
        import torch

        async def other():
            yield 1
        return self.call_tir(self.twice, [torch.sigmoid(x) * x], out_sinfo=R.Tensor((4,), "float32"))

    # writes twice of it
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_py_func("silu", x, out_ty=R.Tensor((4,), "float32"))
        return y
"""


def test_python_functions_of_a_module_are_known_by_name_and_not_read() -> None:
    made = parse(PYTHON)
    assert isinstance(made, Module) and [each.name for each in made.functions] == ["twice", "main"]
    assert dict(made.attrs) == {"base_py_module": True}
    ours, theirs = made.script(), made.script(dialect="tvm")
    assert 'silu = G.ExternFunc("silu")' in ours and "    # writes twice of it\n    @T.prim_func" in ours
    assert 'silu = R.ExternFunc("silu")' in theirs and "torch" not in theirs
    assert structural_equal(parse(ours), made) and structural_equal(parse(theirs), made)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("(BasePyModule)", "(BasePyModule, Other)", "T022"),
        ("def twice", "def silu", "T202"),
        ("@I.pyfunc", "@I.pyfunction", "T031"),
    ],
)
def test_mistakes_in_modules_with_python_functions(old: str, new: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse(PYTHON.replace(old, new))
    assert code in {found.code for found in caught.value.diagnostics}
