"""Models with constants as text: the golden of one, and every place of a constant in every mode."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tirscript
from tirscript.ir import ConstantStore, Module, structural_equal
from tirscript.passes import DEFAULT_LOWERING
from tirscript.passes.constants import compress_slices, sink_constants
from tirscript.passes.graph import legalize_ops
from tirscript.printer import CONSTANTS
from tirscript.script import parse
from tirscript.testing import Golden

MODEL = """
@I.ir_module
class Model:
    @T.prim_func(private=True)
    def project(x: T.Buffer((16, 64), "int8"), y: T.Buffer((16, 20), "int32")):
        # three tiles of eight rows
        w = T.allocate_const(weights, "int8", (20, 64))
        scale = T.allocate_const([3, 5, 7], "int32", (3,))
        for t in range(3):
            for n in range(16):
                for i in range(T.min(8, 20 - t * 8)):
                    y[n, t * 8 + i] = 0
                    for j in range(64):
                        y[n, t * 8 + i] += w[t * 8 + i, j].astype("int32") * x[n, j].astype("int32") * scale[t]

    @G.graph_func
    def main(x: G.Tensor((16, 64), "int8"), taken: G.Tensor((), "bool")):
        with G.dataflow():
            h = G.call_tir(Model.project, (x,), out=G.Tensor((16, 20), "int32"))
            f = G.astype(h, "float32")
            y = G.nn.relu(G.add(G.matmul(f, G.const(dense)), G.const([0.5, -1.5, 2.0, float("inf")])))
            G.output(y)
        if taken:
            z = G.add(y, G.const(table))
            u = (z, (G.const(halves), G.const(2)))
        else:
            z = G.add(y, G.const([0.0, -0.0, 1.0, 1e-45]))
            u = (z, (G.const(halves), G.const(3)))
        return u
"""


def model() -> Module:
    rng = np.random.default_rng(0)
    names = {
        "weights": (rng.integers(-9, 9, (20, 64)) * (rng.random((20, 64)) < 0.2)).astype("int8"),
        "dense": np.linspace(-1, 1, 80, dtype="float32").reshape(20, 4),
        "table": np.arange(64, dtype="float32").reshape(16, 4),
        "halves": np.arange(40).astype(ml_dtypes.bfloat16),
    }
    found = parse(MODEL, names=names)
    assert isinstance(found, Module)
    return found


def test_elided(golden: Golden) -> None:
    text = model().script()
    assert max(map(len, text.split("\n"))) <= 100
    golden.check_text(text)


def test_constants_sunk_and_compressed(golden: Golden) -> None:
    lowered = DEFAULT_LOWERING.until("lower_blocks")(sink_constants(legalize_ops(model(), only="matmul")))
    made = compress_slices(lowered)
    text = made.script()
    assert max(map(len, text.split("\n"))) <= 100
    golden.check_text(text)


@pytest.mark.parametrize("mode", CONSTANTS)
def test_both_laws_hold_in_every_mode(mode: str, tmp_path: Path) -> None:
    module = model()
    options = {"constants": mode, "constants_file": tmp_path / "m.safetensors"}
    text = module.script(**options)
    again = parse(text, folder=tmp_path)
    assert structural_equal(again, module) and again.script(**options) == text
    if mode == "inline":
        assert "sha256" in text and "file=" not in text
        assert len(ConstantStore(again)) == len(ConstantStore(module)) == 9
    x = np.arange(16 * 64, dtype="int8").reshape(16, 64)
    for taken in (False, True):
        wanted = tirscript.interpret(module, x, np.array(taken))
        found = tirscript.interpret(again, x, np.array(taken))
        assert wanted[0].tobytes() == found[0].tobytes() and wanted[1][0].tobytes() == found[1][0].tobytes()
