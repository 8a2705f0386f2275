"""Targets as values: read from strings and dicts, equal by value, written back."""

from __future__ import annotations

from typing import Any

import pytest

from tirscript.ir import Attrs, Target, const


def test_a_string_names_the_kind_and_options() -> None:
    made = Target.parse("llvm -mcpu=skylake -num-cores=4 -mattr=+a,+b -fast -keys=cpu,arm_cpu")
    assert made.kind == "llvm" and made.keys == ("cpu", "arm_cpu") and made.host is None
    assert made.attrs == Attrs({"mcpu": "skylake", "num-cores": 4, "mattr": ("+a", "+b"), "fast": True})
    assert list(made.attrs) == ["mcpu", "num-cores", "mattr", "fast"]


def test_a_dict_says_the_same() -> None:
    given: dict[str, Any] = {"mattr": ["+a"], "keys": ["cpu"], "kind": "llvm", "mcpu": "x"}
    made, other = Target.parse(given), Target.parse("llvm -mcpu=x -mattr=+a -keys=cpu")
    assert made == other and hash(made) == hash(other)
    assert made != Target.parse("llvm -mcpu=y -mattr=+a -keys=cpu") and made != Target.parse("llvm -mcpu=x")
    assert given == {"mattr": ["+a"], "keys": ["cpu"], "kind": "llvm", "mcpu": "x"}


def test_hosts_are_targets() -> None:
    made = Target.parse("cuda", host={"kind": "llvm", "mcpu": "x"})
    assert made.host == Target.parse("llvm -mcpu=x")
    assert made == Target.parse({"kind": "cuda", "host": "llvm -mcpu=x"})
    assert made == Target.parse(Target.parse("cuda"), Target.parse("llvm -mcpu=x"))
    assert made != Target.parse("cuda")
    with pytest.raises(ValueError, match="the host is given twice"):
        Target.parse(made, "llvm")


def test_a_machine_may_stand_as_its_tag() -> None:
    made = Target.parse({"tag": "nvidia/nvidia-a100", "host": {"kind": "llvm"}})
    assert made == Target.parse("nvidia/nvidia-a100", host="llvm")
    assert Target.parse({"kind": "cuda", "tag": "nvidia/nvidia-a100"}).kind == "cuda"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"kind": "llvm"}, "llvm"),
        ({"kind": "apple/m1", "mcpu": "x"}, "apple/m1 -mcpu=x"),
        ({"kind": "llvm", "keys": ["cpu"], "n": -3}, "llvm -keys=cpu -n=-3"),
        ({"kind": "llvm", "tag": ""}, None),
        ({"kind": "llvm", "n": "3"}, None),
        ({"kind": "llvm", "n": "a b"}, None),
        ({"kind": "llvm", "n": False}, None),
        ({"kind": "llvm", "n": 0.5}, None),
        ({"kind": "llvm", "n": ["a"]}, None),
        ({"kind": "llvm", "mattr": []}, None),
        ({"kind": "llvm", "mattr": ["+a,+b"]}, None),
        ({"kind": "llvm", "a=b": "c"}, None),
        ({"kind": "llvm", "n": 'a"b'}, None),
    ],
)
def test_text_is_what_reads_as_the_same(given: dict[str, Any], text: str | None) -> None:
    made = Target.parse(given)
    assert made.text() == text
    assert text is None or Target.parse(text) == made
    assert repr(made) == f"<Target {text or 'llvm'}>"
    assert Target.parse(made.options()) == made


def test_options_may_be_constants_of_the_program() -> None:
    """TVM prints them so from 2023 on."""
    given = {"kind": "vulkan", "supports_float16": const(True), "max_num_threads": const(256), "keys": ["gpu"]}
    plain = {"kind": "vulkan", "supports_float16": True, "max_num_threads": 256, "keys": ["gpu"]}
    assert Target.parse(given) == Target.parse(plain)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "begins with its kind"),
        ("-mcpu=x", "begins with its kind"),
        ("llvm mcpu=x", "-name=value"),
        ("llvm -", "-name=value"),
        ("llvm -a=", "-name=value"),
        ("llvm -mcpu haswell", "not 'haswell'; did you mean `-mcpu=haswell`"),
        ("llvm -mcpu=x86-64 haswell", "not 'haswell'$"),
        ("llvm -a=1 -a=2", "given twice"),
        ({"kind": 3}, "names its kind"),
        ({"kind": "a b"}, "names its kind"),
        ({"kind": "llvm", "keys": "cpu"}, "a list of strings"),
        ({"kind": "llvm", "x": object()}, "not plain data"),
    ],
)
def test_what_is_no_target(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Target.parse(given)


def test_an_option_of_a_target_is_no_keyword() -> None:
    with pytest.raises(TypeError, match=r"'num_cores'; an option stands in the text: `Target\(.llvm -num-cores=4.\)`"):
        Target("llvm", num_cores=4)  # type: ignore[call-arg]
    assert Target("llvm", keys=("cpu",), attrs=Attrs({"num-cores": 4})).cores == 4


def test_a_target_that_holds_itself_is_refused() -> None:
    host: dict[str, Any] = {"kind": "llvm"}
    host["host"] = host
    option: dict[str, Any] = {"kind": "llvm", "mattr": []}
    option["mattr"].append(option["mattr"])
    targets: dict[str, Any] = {"kind": "composite", "targets": {"host": "llvm"}}
    targets["targets"]["accel"] = targets
    deep: Any = "llvm"
    for _ in range(10_000):
        deep = {"kind": "llvm", "host": deep}
    for given in (host, option, targets, deep):
        with pytest.raises(ValueError, match="holds itself, or nests more than 32 deep"):
            Target.parse(given)
    assert Target.parse({"kind": "llvm", "mattr": ("+avx2",), "host": "llvm"}).host is not None


def test_a_target_prints_as_the_language_writes_it() -> None:
    assert str(Target.parse("llvm -mcpu=x")).strip() == 'T.target("llvm -mcpu=x")'


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("llvm -mcpu=\udc80", "has characters that stand in no file"),
        ("llvm -mtriple=x86_64\0", "has characters that stand in no file"),
        ('{"kind": "llvm", "mattr": ["+avx\\ud800"]}', "has characters that stand in no file"),
        ({"kind": "llvm", "keys": ["\udc80"]}, "has characters that stand in no file"),
        ({"kind": "llvm", "\udc80": 1}, "has characters that stand in no file"),
        ("llvm -num-cores=" + "9" * 5000, "is too large"),
        ('{"kind": "llvm", "num-cores": 99999999999999999999999}', "an integer of 77 bits"),
        ({"kind": "llvm", "x": object()}, "is a Python object, not plain data"),
    ],
)
def test_what_no_compiler_can_be_told_is_refused(said: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Target.parse(said)  # type: ignore[arg-type]
