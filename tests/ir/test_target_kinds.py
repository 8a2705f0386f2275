"""What targets mean: kinds and their options, machines by name, composites, this machine."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tirscript
from tirscript.ir import Attrs, DiagnosticError, Target, structural_equal
from tirscript.ir.target_host import cache_sizes
from tirscript.ir.target_kinds import (
    TARGET_KINDS,
    TargetKind,
    TargetOption,
    check_target,
    register_target_kind,
    target_kind,
    unregister_target_kind,
)
from tirscript.ir.target_tags import PROCESSORS, TAGS


@pytest.fixture
def npu() -> Iterator[TargetKind]:
    options = (
        TargetOption("tile", int, "rows of a tile", least=4),
        TargetOption("mode", str, "the mode", choices=("a", "b")),
    )
    yield register_target_kind(TargetKind("test_npu", "a kind", options, keys=("npu",)))
    unregister_target_kind("test_npu")


def told(spec: Any) -> list[str]:
    """What is wrong with a target: code, message and hint of each mistake."""
    with pytest.raises(DiagnosticError) as info:
        check_target(Target.parse(spec))
    return [f"{one.code} {one.message} | {one.hint}" for one in info.value.diagnostics]


def test_a_class_that_reads_strings_dicts_and_json() -> None:
    made = Target("llvm -mcpu=cascadelake -num-cores=2")
    assert made == Target.parse({"kind": "llvm", "mcpu": "cascadelake", "num-cores": 2})
    given: Any = {"kind": "llvm", "num-cores": 2, "mcpu": "cascadelake"}
    assert made == Target(given)
    assert made == Target.parse(made.json()) == Target('  {"kind": "llvm", "mcpu": "cascadelake", "num-cores": 2}')
    assert hash(made) == hash(Target.parse(made.json())) and pickle.loads(pickle.dumps(made)) == made
    assert Target("llvm") == Target(kind="llvm") == Target("llvm", ()) != made
    assert (made.cpu, made.cores, made.vector_bits, made.triple, made.abi) == ("cascadelake", 2, 512, None, None)
    with pytest.raises(ValueError, match="no JSON of a target"):
        Target.parse('{"kind": ')


@pytest.mark.parametrize("tag", list(TAGS))
def test_machines_by_name(tag: str) -> None:
    made = Target.parse(tag)
    assert made.kind == tag and made.text() == tag and Target.parse(str(made.text())) == made
    meant = made.resolved()
    assert meant.kind == "llvm" and meant.resolved() is meant
    assert meant == Target.parse(TAGS[tag]) and Target.parse({"kind": "llvm", "tag": tag}).resolved() == meant
    assert (made.cpu, made.triple, made.abi) == (meant.cpu, meant.triple, meant.abi)
    check_target(made)
    assert Target.parse(f"{tag} -mcpu=x -num-cores=3").cpu == "x" and Target.parse(f"{tag} -num-cores=3").cores == 3


def test_what_machines_are() -> None:
    pi = Target.parse("raspberry-pi/4b-aarch64")
    assert (pi.cpu, pi.cores, pi.vector_bits, pi.all_keys) == ("cortex-a72", 4, 128, ("arm_cpu", "cpu"))
    assert Target.parse("apple/m1").triple == "arm64-apple-macos" and Target.parse("riscv64/generic").abi == "lp64d"
    assert Target.parse("intel/cascadelake").vector_bits == 512 and Target.parse("intel/haswell").vector_bits == 256
    assert Target.parse({"kind": "test/none", "tag": "apple/m1"}).resolved().kind == "test/none"
    assert Target.parse("llvm -tag=nowhere").cpu is None


def test_features_are_the_processors_and_those_that_are_said() -> None:
    assert set(PROCESSORS["cascadelake"].split(",")) - set(PROCESSORS["skylake-avx512"].split(",")) == {"avx512vnni"}
    made = Target.parse("llvm -mcpu=haswell -mattr=-avx2,+avx512f")
    assert "+avx2" not in made.features and made.features[-2:] == ("-avx2", "+avx512f") and "+fma" in made.features
    assert made.vector_bits == 512 and Target.parse("llvm -mattr=-avx").vector_bits == 128
    assert Target.parse("llvm -mcpu=haswell -vector-width=128").vector_bits == 128
    assert Target.parse("llvm").vector_bits is None and Target.parse("llvm").features == ()
    assert Target.parse("llvm -num-cores=8 -threads=none").cores == 1
    assert Target.parse("llvm -l2-cache=1024").caches == (None, 1024, None)


def test_every_processor_is_one_of_llvms(capfd: pytest.CaptureFixture[str]) -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triples = {"cortex": "aarch64-linux", "neoverse": "aarch64-linux", "apple": "arm64-apple-macos"}
    for name, features in PROCESSORS.items():
        usual = "riscv64-linux-gnu" if name == "generic-rv64" else "x86_64-linux-gnu"
        triple = triples.get(name.partition("-")[0], usual)
        words = ",".join(f"+{one}" for one in features.split(","))
        llvm.Target.from_triple(triple).create_target_machine(cpu=name, features=words)
    assert "not a recognized" not in capfd.readouterr().err


def test_unknown_kinds_and_options_are_told_with_what_is_near(npu: TargetKind) -> None:
    assert told("test_npo -tile=4") == ["T402 there is no kind of target `test_npo` | did you mean `test_npu`?"]
    assert told("zzz")[0].startswith("T402 there is no kind of target `zzz` | there are ")
    assert told("intel/haswel")[0].endswith("| did you mean `intel/haswell`?")
    assert told("native")[0].endswith("| `llvm` without options is the processor that this runs on")
    assert told("llvm -mcup=x") == ["T404 the target `llvm` has no option `mcup` | did you mean `-mcpu`?"]
    assert told("test_npu -tile=2 -mode=c -tiel=3") == [
        "T404 the option `tile` of the target `test_npu` is 4 or more, not 2 | rows of a tile",
        "T404 the option `mode` of the target `test_npu` is 'a' or 'b', not 'c' | the mode",
        "T404 the target `test_npu` has no option `tiel` | did you mean `-tile`?",
    ]
    for wrong, words in (("-tile=x", "an int"), ("-tile", "an int"), ("-mode=3", "a word")):
        assert f"is {words}, not" in told(f"test_npu {wrong}")[0]
    assert "is a list of words" in told({"kind": "llvm", "mattr": "+avx"})[0]
    assert "`tile`" in told({"kind": "llvm", "host": {"kind": "test_npu", "tile": 1}})[0]
    assert check_target(Target.parse("test_npu -tile=8 -mode=a -tag=x -libs=blas")) is npu
    # what TVM has found out of the other options
    check_target(Target.parse({"kind": "llvm", "feature.has_sve": False, "tag": "", "keys": ["cpu"]}))


def test_kinds_are_registered_once(npu: TargetKind) -> None:
    with pytest.raises(ValueError, match="'test_npu' already"):
        register_target_kind(npu)
    with pytest.raises(ValueError, match="is one word, not 'two words'"):
        register_target_kind(TargetKind("two words", "which no text could name"))
    other = TargetKind("test_npu", "another")
    assert register_target_kind(other, override=True) is target_kind("test_npu") is other
    assert Target.parse("test_npu").all_keys == () and Target.parse("llvm").all_keys == ("cpu",)


def test_every_kind_says_what_it_is_and_its_hooks_are_there() -> None:
    for name, kind in TARGET_KINDS.items():
        assert kind.name == name and kind.doc.endswith(".")
        assert len({one.name for one in kind.options}) == len(kind.options) and all(one.doc for one in kind.options)
        for hook in ("lowering", "graph_to_tir", "tir_to_runtime", "graph_to_runtime", "load"):
            assert getattr(kind, hook) is None or callable(kind.hook(hook))


def test_composites_hold_targets_by_name() -> None:
    made = Target.composite(host="llvm -mcpu=haswell", accel={"kind": "test_npu", "host": {"kind": "llvm"}})
    assert made.main == Target("llvm -mcpu=haswell") and list(made.targets) == ["host", "accel"]
    assert made.targets["accel"].host == Target("llvm") and made.main.main == made.main and made.main.targets == {}
    assert Target.parse(made.json()) == made and json.loads(made.json())["kind"] == "composite"
    assert made != Target.composite(host="llvm", accel={"kind": "test_npu", "host": {"kind": "llvm"}})
    assert pickle.loads(pickle.dumps(made)) == made and hash(made) == hash(Target.parse(made.json()))
    program = tirscript.parse(f"""
@T.prim_func
def f(A: T.Buffer((4,), "int8")):
    T.func_attr({{"target": {str(made).strip()}}})
    A[0] = T.int8(1)
""")
    assert program.attrs["target"] == made and structural_equal(tirscript.parse(program.script()), program)
    with pytest.raises(ValueError, match="has a `host`"):
        Target.composite(accel="llvm")
    with pytest.raises(ValueError, match="not made of composites"):
        Target.composite(host=made)
    for wrong in (3, {"a b": "llvm"}, ["llvm"]):
        with pytest.raises(ValueError, match="a dict by name"):
            Target.parse({"kind": "composite", "targets": wrong})
    # TVM's own form is kept
    assert Target.parse({"kind": "composite", "devices": ["a"]}).attrs == Attrs({"devices": ("a",)})


def test_the_target_around() -> None:
    outer, inner = Target("llvm"), Target("llvm -mcpu=x")
    assert Target.current() is None
    with outer:
        with inner as entered:
            assert Target.current() is inner is entered
        assert Target.current() is outer
    assert Target.current() is None


def test_this_machine() -> None:
    llvm = pytest.importorskip("llvmlite.binding")
    made = Target.host()
    assert made is Target.host() and made.kind == "llvm" and Target.parse(made.json()) == made
    assert made.cpu == llvm.get_host_cpu_name() and made.triple == llvm.get_process_triple()
    assert set(made.features) == set(llvm.get_host_cpu_features().flatten().split(","))
    assert made.cores is not None and made.cores >= 1 and made.vector_bits in (128, 256, 512)
    check_target(made)


def test_sizes_of_caches_are_those_that_the_system_tells(tmp_path: Path) -> None:
    told = {
        0: ("Data", "1", "48K"),
        1: ("Instruction", "1", "64K"),
        2: ("Unified", "2", "2M"),
        3: ("Unified", "3", "?"),
    }
    for index, (kind, level, size) in told.items():
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    assert cache_sizes(tmp_path) == {1: 48 << 10, 2: 2 << 20}
    assert cache_sizes(tmp_path / "nowhere") == {}


words = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_.", min_size=1, max_size=6).filter(
    lambda w: w[0] not in "-0123456789."
)
plain = st.recursive(
    st.one_of(st.integers(-9, 9), st.booleans(), words, st.floats(-1, 1)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=5,
)


@given(st.dictionaries(words.filter(lambda w: w not in ("kind", "host", "keys", "targets", "tag")), plain, max_size=4))
def test_any_options_survive_json_text_and_programs(options: dict[str, Any]) -> None:
    made = Target.parse({"kind": "llvm", **options})
    assert Target.parse(made.json()) == made and hash(Target.parse(made.json())) == hash(made)
    assert made.text() is None or Target.parse(str(made.text())) == made
    program = tirscript.parse(
        f'@T.prim_func\ndef f(A: T.Buffer((4,), "int8")):\n    T.func_attr({{"target": {made}}})\n    A[0] = T.int8(1)\n'
    )
    assert program.attrs["target"] == made


def test_fields_of_a_kind_are_checked_where_it_is_made() -> None:
    with pytest.raises(TypeError, match="the type of the option `level` is one of str, int, bool, tuple, not 'int'"):
        tirscript.TargetOption("level", "int", "How much.")  # type: ignore[arg-type]
    level = tirscript.TargetOption("level", int, "How much.")
    with pytest.raises(
        TypeError, match=r"`options` of a TargetKind is a tuple, not a TargetOption: `.*options=\(\.\.\.,\)\)`"
    ):
        tirscript.register_target_kind(tirscript.TargetKind("unmade", "Nothing.", options=level))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`scopes` of a TargetKind is a tuple, not a str"):
        tirscript.register_target_kind(tirscript.TargetKind("unmade", "Nothing.", scopes="sram"))  # type: ignore[arg-type]
    assert "unmade" not in TARGET_KINDS


def test_the_help_of_an_option_says_what_its_fields_are() -> None:
    """Its field `type` hides Python's."""
    assert inspect.signature(TargetOption).parameters["type"].annotation is type
