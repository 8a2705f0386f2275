"""Tensors over several devices, as apache-tvm has them: where their parts lie is kept, and one machine holds them whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tirscript import build, interpret, parse_file
from tirscript.ir import DiagnosticError, GraphFunc, Module, structural_equal
from tirscript.ir.graph import GraphBind, Sharding, TensorType
from tirscript.ir.module import DeviceMesh
from tirscript.script import parse

HEAD = (
    "from tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import tirx as T\n\n"
    "@I.ir_module\nclass M:\n"
    '    I.module_global_infos({"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((2,), [3, 5])]})\n'
)
KERNEL = """
    @T.prim_func(private=True, s_tir=True)
    def doubled(x: T.Buffer((T.int64(4), T.int64(6)), "float32"), y: T.Buffer((T.int64(4), T.int64(6)), "float32")):
        for i, j in T.grid(T.int64(4), T.int64(6)):
            with T.sblock("doubled"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(2)
"""
CALLED = f"""{KERNEL}
    @R.function
    def main(x: R.DTensor((4, 6), "float32", "mesh[0]", "S[0], R")) -> R.DTensor((4, 6), "float32", "mesh[0]", "R, R"):
        cls = M
        wish = R.dist.annotate_sharding(x, device_mesh="mesh[0]", placement="S[0], R")
        a = R.dist.call_tir(cls.doubled, (wish,), R.DTensor((4, 6), "float32", "mesh[0]", "S[0], R"))
        b: R.DTensor((4, 6), "float32", "mesh[0]", "S[0], R") = R.add(
            a, R.dist.const(1.5, R.DTensor((), "float32", "mesh[0]", "R, R"))
        )
        c = R.dist.redistribute(b, device_mesh="mesh[0]", placement="R, R")
        return c
"""

SIZED = """
    @T.prim_func(s_tir=True)
    def put(x: T.handle, y: T.handle, m: T.int64):
        n = T.int64()
        A = T.match_buffer(x, (n,), "float32")
        B = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            B[i] = A[i] + T.Cast("float32", m)

    @R.function
    def main(x: R.DTensor(("n",), "float32", "mesh[1]", "S[0]")):
        n = T.int64()
        y = R.dist.call_tir(M.put, x, R.DTensor((n,), "float32", "mesh[1]", "S[0]"), tir_vars=R.shape([n]))
        return y
"""


def read(text: str) -> Module:
    """The program, which both dialects give back."""
    made = parse(HEAD + text)
    assert isinstance(made, Module)
    for printed in (made.script(), made.script(dialect="tvm")):
        assert structural_equal(made, parse(printed))
    assert parse(made.script()).script() == made.script()
    return made


def bound(module: Module) -> dict[str, TensorType]:
    """The types of the tensors that `main` binds, by name."""
    main = module["main"]
    assert isinstance(main, GraphFunc)
    binds = [stmt for stmt in main.body if isinstance(stmt, GraphBind)]
    return {bind.var.name: bind.var.type for bind in binds if isinstance(bind.var.type, TensorType)}


def test_parts_and_devices_are_kept() -> None:
    made = read(CALLED)
    first, second = made.global_infos["mesh"]
    assert first == DeviceMesh((2, 2), first=0) and second == DeviceMesh((2,), (3, 5))
    kinds = bound(made)
    assert kinds["wish"].sharding == kinds["a"].sharding == Sharding("mesh[0]", ("S[0]", "R"))
    assert kinds["c"].sharding == Sharding("mesh[0]", ("R", "R"))
    text = made.script(dialect="tvm")
    assert "R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((2,), [3, 5])" in text
    assert 'R.dist.const(1.5, R.DTensor((), "float32", "mesh[0]", "R, R"))' in text
    assert 'out_ty=R.DTensor((4, 6), "float32", "mesh[0]", "S[0], R")' in text


def test_one_machine_computes_them_whole() -> None:
    made = read(CALLED)
    x = np.random.default_rng(0).random((4, 6), np.float32)
    np.testing.assert_allclose(interpret(made, x), x * 2 + 1.5, rtol=1e-6)
    np.testing.assert_allclose(build(made)(x), x * 2 + 1.5, rtol=1e-6)


def test_sizes_behind_the_results() -> None:
    """As `R.call_tir` had them until 2026; TVM takes them among the arguments."""
    made = parse(HEAD + SIZED)
    assert structural_equal(parse(made.script()), made)
    assert "cls.put, (x, n), out_ty=" in made.script(dialect="tvm").replace("M.put", "cls.put")
    x = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(interpret(made, x), x + 6)
    np.testing.assert_array_equal(build(made)(x), x + 6)


@pytest.mark.parametrize(
    "line",
    [
        'R.dist.call_tir_local_view(M.doubled, x, R.DTensor((8, 6), "float32", "mesh[1]", "S[0]"))',
        "R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)",
    ],
)
def test_what_one_device_does_with_its_part_is_refused_where_it_would_be_executed(line: str) -> None:
    made = read(
        f'{KERNEL}\n    @R.function\n    def main(x: R.DTensor((8, 6), "float32", "mesh[1]", "S[0]")):\n'
        f"        y = {line}\n        return y\n"
    )
    for run in (lambda: interpret(made, np.zeros((8, 6), np.float32)), lambda: build(made)):
        with pytest.raises(DiagnosticError, match=r"G\.dist\.(call_tir_local_view|redistribute_replica_to_shard)"):
            run()


def test_a_worker_gets_its_part() -> None:
    whole = read(
        '    @R.function\n    def main(x: R.Tensor((8, 6), "float32"), y: R.DTensor((8, 6), "float32", "mesh[1]", "R")):\n'
        "        part = R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)\n"
        "        spread = R.dist.redistribute_replica_to_shard(y, num_workers=2, axis=1)\n"
        "        return (part, spread)\n"
    )
    kinds = bound(whole)
    assert kinds["part"].script(fragment=True).strip() == 'G.Tensor((8, 3), "float32")'
    assert kinds["spread"].script(fragment=True).strip() == 'G.DTensor((8, 6), "float32", "mesh[1]", "S[1]")'


def test_what_nobody_says_where_it_lies_is_left_to_apache_tvm_to_place() -> None:
    made = read(
        '    @R.function\n    def main(x: R.DTensor((4, 4), "float32", "mesh[0]", "S[0], R")):\n'
        "        y = R.nn.relu(x)\n        z = R.sum(y, axis=0)\n        both = (y, z)\n        return both\n"
    )
    assert bound(made)["z"].sharding == Sharding("mesh[0]")
    assert 'z: G.DTensor((4,), "float32", "mesh[0]") = G.sum(y, axis=[0])' in made.script()
    printed = made.script(dialect="tvm")
    assert "y = R.nn.relu(x)" in printed and '"S[0], R")):' in printed


def test_a_printed_module_runs_as_a_file(tmp_path: Path) -> None:
    made = read(
        '    @R.function\n    def main(x: R.DTensor(ndim=2, dtype="float32", device_mesh="mesh[1]", placement="R")):\n        return x\n'
    )
    file = tmp_path / "spread.py"
    file.write_text(made.script())
    names: dict[str, object] = {"__name__": "spread", "__file__": str(file)}
    exec(compile(made.script(), str(file), "exec"), names)
    assert isinstance(names["M"], Module) and structural_equal(names["M"], made)
    assert structural_equal(parse_file(file)["M"], made)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ('R.DTensor((4,), "float32", "mesh", "R")', "the devices of a tensor are a mesh of the module"),
        ('R.DTensor((4,), "float32", "mesh[0]", "S[0")', "the placement of a tensor says for each axis of the mesh"),
        ('R.DTensor((4,), "float32", "mesh[0]", 3)', "the placement of a tensor says for each axis of the mesh"),
    ],
)
def test_places_that_are_none(kind: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        parse(f"{HEAD}    @R.function\n    def main(x: {kind}):\n        return x\n")


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ("R.device_mesh((2,), I.Range(0, 3))", r"a mesh of shape \(2,\) has 2 devices, not 3"),
        ("R.device_mesh((2, 2))", "a mesh of devices has a shape and their numbers"),
        ("R.device_mesh((2,), [0, -1])", "these are numbers of 0 or more"),
        ("R.device_mesh((10**9, 10**9), I.Range(0, 10**8))", "a mesh of shape .* has 1000000000000000000 devices"),
    ],
)
def test_meshes_that_are_none(mesh: str, message: str) -> None:
    infos = f'I.module_global_infos({{"mesh": [{mesh}]}})'
    text = f"from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass M:\n    {infos}\n"
    with pytest.raises(DiagnosticError, match=message):
        parse(text)


def test_constants_without_a_place() -> None:
    text = HEAD + "    @R.function\n    def main():\n        return R.dist.const([1.0], R.KIND)\n"
    with pytest.raises(DiagnosticError, match=r"the type of this constant is a `G\.DTensor` with a dtype"):
        parse(text.replace("KIND", 'Tensor((1,), "float32")'))
    with pytest.raises(DiagnosticError, match=r"the constant has the shape \(1,\), not \(2,\)"):
        parse(text.replace("KIND", 'DTensor((2,), "float32", "mesh[1]", "R")'))
