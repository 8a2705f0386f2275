"""`tirscript targets`, and what `opt` does with targets, folders of stages, levels, and passes that break something."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.cli import ROOT, run

from tirscript.ir.target_kinds import TARGET_KINDS
from tirscript.ir.target_tags import TAGS

KERNEL = ROOT / "examples" / "matmul.py"


def refused(*arguments: object) -> str:
    """What a command says that does not work."""
    found = run(*arguments)
    assert found.exit_code == 1
    return str(found.stderr)


def test_kinds_and_machines_are_listed() -> None:
    text = run("targets").output
    assert all(f"\n{name}" in f"\n{text}" for name in (*TARGET_KINDS, *TAGS))
    told = json.loads(run("targets", "--json").output)
    assert [kind["name"] for kind in told["kinds"]] == sorted(TARGET_KINDS)
    assert told["machines"]["apple/m1"]["mcpu"] == "apple-m1"
    llvm = next(kind for kind in told["kinds"] if kind["name"] == "llvm")
    assert llvm["takes"][0] == "tensor functions" and "num-cores" in [one["name"] for one in llvm["options"]]


def test_a_kind_with_its_options() -> None:
    text = run("targets", "--kind", "llvm").output
    assert "-num-cores=INT" in text and "-threads=pool|none" in text and "-mattr=WORD,..." in text
    assert "did you mean `llvm`" in refused("targets", "--kind", "lvm")


def test_what_a_target_says() -> None:
    text = run("targets", "intel/haswell", "llvm -num-cores=3").output
    assert "processor: haswell" in text and "vectors: 256 bits" in text and "cores: 3" in text and "avx2" in text
    (host,) = json.loads(run("targets", "host", "--json").output)
    assert host["kind"] == "llvm" and host["num-cores"] >= 1
    composite = '{"kind": "composite", "targets": {"host": "llvm", "other": "c -num-cores=1"}}'
    assert "target other: c -num-cores=1" in run("targets", composite).output
    for wrong, words in (("llvm -a=", "no target: "), ("llvm -mcup=x", "did you mean `-mcpu`?")):
        assert words in refused("targets", wrong)


def test_every_stage_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "stages"
    run("opt", KERNEL, "-p", "build", "--target", "llvm -num-cores=1 -vector-width=128", "--dump", folder)
    names = sorted(one.name for one in folder.iterdir())
    assert names[0] == "00_input.py" and any(name.endswith("_default_cpu.py") for name in names)
    assert "T.parallel" not in (folder / names[-1]).read_text()
    assert "new or empty, which" in refused("opt", KERNEL, "-p", "build", "--dump", folder)


def test_levels(tmp_path: Path) -> None:
    usual = run("opt", KERNEL, "-p", "build", "--list").output.split()
    low = run("opt", KERNEL, "-p", "build", "--list", "--opt-level", "0").output.split()
    assert set(usual) - set(low) >= {"default_cpu", "fuse_ops"} and "lower_blocks" in low
    asked = run("opt", KERNEL, "-p", "build", "--list", "--opt-level", "0", "--require", "fuse-ops").output.split()
    assert set(asked) - set(low) == {"fuse_ops"}
    assert "at opt_level 1 and above" in run("passes", "fuse_ops").output


def test_the_pass_that_breaks_a_program() -> None:
    for what in ("results", "verify", "roundtrip"):
        assert "matmul: holds after every pass" in run("opt", KERNEL, "-p", "build", "--bisect", what).output
    broken = run("opt", KERNEL, "-p", "simplify,flatten_buffer,lower_blocks", "--bisect", "verify")
    assert broken.exit_code == 1 and "matmul: pass 2, `flatten_buffer`, raises: " in broken.output


MIXED = """from tirscript.script import graph as G, ir as I, tir as T


@T.prim_func
def scale(A: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("scale"):
            vi = T.axis.spatial(8, i)
            A[vi] = A[vi] * 2.0


@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        return G.nn.relu(G.add(x, x))
"""


def test_the_pipeline_of_build_goes_over_graphs_and_single_functions_in_every_command(tmp_path: Path) -> None:
    path = tmp_path / "mixed.py"
    path.write_text(MIXED)
    for target in (), ("--target", "c"):
        built = run("build", path, "-p", "build", *target)
        assert built.exit_code == 0 and "scale(A: " in built.output and "main(x: " in built.output
    tripped = run("roundtrip", "-v", "--passes", "build", path)
    assert tripped.exit_code == 0
    assert "scale: after lower_blocks: exact" in tripped.output and "M: after graph_to_tensor: exact" in tripped.output
    found = run("opt", path, "-p", "build", "--bisect", "results")
    assert found.exit_code == 0 and found.stdout == "scale: holds after every pass\nM: holds after every pass\n"
