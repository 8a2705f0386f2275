"""The commands that read and print programs: print, textconv, roundtrip, opt, explain, passes, ops."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers.cli import DOUBLE, HEADER, ROOT, run

from tirscript.ir.codes import CODES
from tirscript.ir.op import OPS
from tirscript.passes import DEFAULT_LOWERING, PASSES
from tirscript.script import parse_all

CROP = ROOT / "examples" / "crop.py"
MODULE = """from tirscript.script import ir as I, tir as T


@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        A[0] = 1.0
"""


@pytest.fixture
def double(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(DOUBLE)
    return path


# --- print


def test_print_joins_files(double: Path, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    result = run("print", double, tmp_path / "m.py")
    assert result.exit_code == 0
    assert result.output.startswith("from tirscript.script import ir as I, tir as T\n\n\n@T.prim_func\ndef double(")
    assert list(parse_all(result.output)) == ["double", "M"]
    assert result.output.count("import") == 1


def test_print_for_tvm(double: Path) -> None:
    result = run("print", "--dialect", "tvm", double)
    assert "from tvm.script import tirx as T" in result.output
    assert list(parse_all(result.output)) == ["double"]


def test_print_narrow_and_one_function(double: Path, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    assert max(map(len, run("print", "--width", 40, double).output.splitlines())) <= 40
    assert "def main(" in run("print", f"{tmp_path}/m.py:M.main").output
    assert run("print", f"{tmp_path}/m.py:main").output == run("print", f"{tmp_path}/m.py:M.main").output


def test_print_constants(tmp_path: Path) -> None:
    numbers = ", ".join(f"{number}.0" for number in range(32))
    body = '(A: T.Buffer((32,), "float32")):\n    W = T.allocate_const([%s], "float32", (32,))\n    for i in range(32):\n        A[i] = W[i]\n'
    text = HEADER + "".join(f"@T.prim_func\ndef {name}{body % numbers}\n\n" for name in "fg")
    (tmp_path / "k.py").write_text(text)
    for constants in ("elide", "inline"):
        printed = run("print", tmp_path / "k.py", "--constants", constants).output
        assert ("base64=" in printed) == (constants == "inline")
        (tmp_path / "p.py").write_text(printed)
        assert run("diff", "--exit-code", tmp_path / "k.py", tmp_path / "p.py").exit_code == 0
        assert run("roundtrip", tmp_path / "p.py").exit_code == 0
    missing = run("run", f"{tmp_path}/k.py:f", "--check")
    assert missing.exit_code == 0
    file = tmp_path / "w.safetensors"
    (tmp_path / "p.py").write_text(
        run("print", tmp_path / "k.py", "--constants", "file", "--constants-file", file).output
    )
    assert {path.name for path in tmp_path.glob("*.safetensors")} == {"w.f.safetensors", "w.g.safetensors"}
    for name in ("run", "build", "textconv"):
        target = tmp_path / "p.py" if name == "textconv" else f"{tmp_path}/p.py:g"
        assert run(name, target).exit_code == 0
    run("print", f"{tmp_path}/k.py:f", "--constants", "file", "--constants-file", file)
    assert file.exists()
    assert run("print", tmp_path / "k.py", "--constants", "file").exit_code == 2
    assert run("print", tmp_path / "k.py", "--constants-file", file).exit_code == 2


# --- textconv


def test_textconv_prints_programs_in_place(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "import os\nN = 4\n\n\n" + DOUBLE.replace("(4,)", "(N,)").replace("A[i] * 2.0", "A[i]*2.") + "\nx=1\n"
    )
    assert run("textconv", path).output == "import os\nN = 4\n\n\n" + DOUBLE + "\nx=1\n"


@pytest.mark.parametrize("text", ["x = 1", "@T.prim_func\ndef f(:", HEADER + "@T.prim_func\ndef f():\n    A[0] = y\n"])
def test_textconv_never_fails_on_a_text(text: str, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(text)
    result = run("textconv", path)
    assert result.exit_code == 0 and result.output == text


# --- roundtrip


def test_roundtrip_of_the_examples_at_every_stage() -> None:
    result = run("roundtrip", "-v", "--passes", "default", CROP, ROOT / "examples" / "pad.py")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == f"{CROP}:crop: as read: exact"
    assert any(line.endswith("crop: after lower_blocks: exact") for line in lines)
    assert re.fullmatch(rf"{len(lines)} programs exact \(2 files, [\d.]+ s\)\n", result.stderr)


def test_roundtrip_says_what_does_not_come_back(double: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tirscript.ir import PrimFunc
    from tirscript.printer import script

    monkeypatch.setattr(PrimFunc, "script", lambda self, **options: script(self, **options).replace("2.0", "3.0"))
    result = run("roundtrip", double)
    assert result.exit_code == 1
    assert f"{double}:double: as read: the text reads as another program: body[0].body[0].value" in result.stdout
    assert "0 programs exact, 1 not (1 file" in result.stderr


def test_roundtrip_of_what_cannot_be_printed_or_read(double: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tirscript.ir import DiagnosticError, PrimFunc, error

    def fail(self: PrimFunc, **options: object) -> str:
        raise DiagnosticError([error("T405", "no words for it")])

    monkeypatch.setattr(PrimFunc, "script", fail)
    result = run("roundtrip", "--json", double, "missing.py")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["programs"] == [
        {"file": str(double), "name": "double", "stage": "as read", "ok": False, "why": "T405: no words for it"}
    ]
    assert found["errors"][0]["code"] == "T002"


def test_roundtrip_tells_texts_that_change(double: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tirscript.ir import PrimFunc
    from tirscript.printer import script

    count = iter(range(10))
    monkeypatch.setattr(PrimFunc, "script", lambda self, **options: script(self, **options) + f"# {next(count)}\n")
    assert "printed again, it is another text" in run("roundtrip", double).stdout


def test_roundtrip_split_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"{DOUBLE}# -----\n{DOUBLE}# -----\n{DOUBLE.replace('2.0', 'y')}# -----\n{HEADER}")
    (tmp_path / "none.py").write_text("x = '@T.prim_func'\n")
    result = run("roundtrip", "--split", tmp_path)
    assert result.exit_code == 1
    assert "error[T010]" in result.stderr and "2 programs exact, 1 file not read (2 files" in result.stderr
    named = run("roundtrip", tmp_path / "none.py")
    assert named.exit_code == 1 and "there are no programs in" in named.stderr
    assert "there are no programs in <stdin>" in run("roundtrip", "-", stdin="").stderr


# --- opt


def test_opt_applies_passes(double: Path) -> None:
    result = run("opt", CROP, "--passes=lower_blocks")
    assert result.exit_code == 0
    assert "T.block" not in result.stdout and "if io * 4 + ii < 14:" in result.stdout
    assert result.stderr == ""
    assert run("opt", double).output == DOUBLE


def test_opt_default_until_and_disable() -> None:
    listed = run("opt", CROP, "-p", "default", "--list").stdout.split()
    assert listed == [str(entry) for entry in DEFAULT_LOWERING]
    until = run("opt", CROP, "-p", "default", "--until", "lower-blocks", "--list").stdout.split()
    assert until == listed[: listed.index("lower_blocks") + 1]
    assert "no pass `simplify`; it is empty" in run("opt", CROP, "--until", "simplify").stderr
    disabled = run("opt", CROP, "-p", "default", "--disable", "lower_blocks", "--until", "lower_blocks")
    assert "T.block" in disabled.stdout


def test_opt_takes_whole_lowerings_among_passes() -> None:
    default = [str(entry) for entry in DEFAULT_LOWERING]
    assert run("opt", CROP, "-p", "lower_reduce, default,simplify", "--list").stdout.split() == [
        "lower_reduce",
        *default,
        "simplify",
    ]
    build = run("opt", CROP, "-p", "build", "--list").stdout.split()
    assert run("opt", CROP, "-p", "build,unroll-loop", "--list").stdout.split() == [*build, "unroll_loop"]
    assert "there is no pass `default`" in run("opt", CROP, "-p", "default{limit=4}").stderr


def test_opt_options_of_passes(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(DOUBLE.replace("range(4)", "T.unroll(4)"))
    assert run("opt", path, "--passes", "unroll_loop").stdout.count("B[") == 4
    assert run("opt", path, "--passes", "unroll_lop").stderr.startswith("error[T404]: there is no pass `unroll_lop`")
    assert "has no option `x`" in run("opt", path, "--passes", "simplify{x=1}").stderr


def test_opt_tells_what_passes_do() -> None:
    result = run(
        "opt",
        CROP,
        "-p",
        "lower_reduce,lower_blocks",
        "--print-changed",
        "--timing",
        "--verify-each",
        "--roundtrip-each",
    )
    assert result.exit_code == 0
    assert "# lower_reduce: no change\n# after lower_blocks\nfrom tirscript" in result.stderr
    assert re.search(r"^lower_blocks +[\d.]+ ms +[\d.]+%$", result.stderr, re.M)
    assert "# after" not in result.stdout
    shown = run("opt", CROP, "-p", "lower_reduce,lower_blocks", "--diff").stderr
    assert "# lower_reduce: no change\n# after lower_blocks\n--- a/crop\n" in shown
    before = run("opt", CROP, "-p", "lower_reduce,lower_blocks", "--print-before", "lower_blocks").stderr
    assert before.startswith("# before lower_blocks\n") and before.count("# before") == 1
    after = run("opt", CROP, "-p", "lower_reduce,lower_blocks", "--print-after", "all").stderr
    assert after.count("# after") == 2


def test_opt_verifies_each(double: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tirscript.passes import prim_func_pass

    @prim_func_pass(name="break_it")
    def break_it(func):  # type: ignore[no-untyped-def]
        """`A` becomes nothing at all."""
        return func.replace(params=func.params[1:])

    try:
        result = run("opt", double, "-p", "break_it", "--verify-each")
    finally:
        del PASSES["break_it"]
    assert result.exit_code == 1 and "pass `break_it` made an illegal program" in result.stderr


def test_opt_splits(tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    bad = DOUBLE.replace("A[i] * 2.0", "y")
    path.write_text(f"{DOUBLE}# -----\n{bad}# ----- \n\n# -----\n{DOUBLE.replace('2.0', '4.0')}")
    result = run("opt", "--split", path)
    assert result.exit_code == 1
    line = len(DOUBLE.splitlines()) + 1 + bad.splitlines().index("        B[i] = y") + 1
    assert f"{path}:{line}:" in result.stderr
    first, second = result.stdout.split("\n# -----\n\n")
    assert first == DOUBLE and second == DOUBLE.replace("2.0", "4.0")
    again = run("opt", "--split", "-", stdin=result.stdout)
    assert again.exit_code == 0 and again.stdout == result.stdout
    assert run("opt", path).exit_code == 1
    header = '"""Cases."""\n\nfrom tirscript.script import tir as T\n\n# -----\n'
    assert run("opt", "--split", "-", stdin=header + result.stdout).stdout == result.stdout
    assert run("opt", "--split", "-", stdin=header).exit_code == 0
    assert "defines no function" in run("opt", "--split", "-", stdin=f"{header}x = 1\n").stderr
    refused = run("opt", "--split", f"{path}:double")
    assert refused.exit_code == 1 and "leave `:double` out" in refused.stderr


# --- explain


@pytest.mark.parametrize("word", ["T113", "t113", "error[T113]", "error[T113]: index"])
def test_explain(word: str) -> None:
    result = run("explain", word)
    assert result.exit_code == 0
    assert result.output.startswith("### T113: index out of bounds\n")
    assert "```text\nerror[T113]:" in result.output and "### T20" not in result.output


def test_explain_has_every_code() -> None:
    found = json.loads(run("explain", "--json").output)
    assert [one["code"] for one in found] == list(CODES)
    assert all(one["text"].startswith(f"### {one['code']}: {one['title']}\n") for one in found)
    assert run("explain").output.splitlines() == [f"{code}  {title}" for code, title in CODES.items()]


def test_explain_lists_codes_by_their_beginning() -> None:
    lines = [f"{code}  {title}" for code, title in CODES.items() if code.startswith("T6")]
    assert run("explain", "t6").output.splitlines() == lines
    both = run("explain", "T113", "T60").output
    assert re.findall(r"(?m)^### (T\d+)", both) == ["T113", *(code for code in CODES if code.startswith("T60"))]


def test_explain_an_unknown_code() -> None:
    for word in ("T99", ""):
        result = run("explain", word)
        assert result.exit_code == 1 and f"there is no diagnostic code {word!r}" in result.stderr


def test_the_packaged_page_is_that_of_the_docs() -> None:
    assert (ROOT / "cli" / "codes.md").read_text() == (ROOT / "docs" / "codes.md").read_text()


# --- passes and ops


def test_passes_lists_all() -> None:
    lines = run("passes").output.splitlines()
    assert sorted(line.split()[0] for line in lines[:-2]) == sorted(PASSES)
    page = run("passes", "unroll-loop").output
    assert page.startswith("unroll_loop (on a function)\n") and "becomes" in page
    found = {one["name"]: one for one in json.loads(run("passes", "--json").output)}
    assert sorted(found) == sorted(PASSES)
    for name, entry in PASSES.items():
        assert [option["name"] for option in found[name]["options"]] == list(entry.options)
        for option in entry.options:
            assert f"option {option}: " in run("passes", name).output
    result = run("passes", "unrol_loop")
    assert result.exit_code == 1 and "did you mean `unroll_loop`?" in result.stderr


def test_ops_lists_all() -> None:
    found = json.loads(run("ops", "--json").output)
    assert [one["name"] for one in found] == list(OPS)
    assert all(one["doc"] == OPS[one["name"]].doc for one in found)
    assert run("ops").output.endswith(f"\n{len(OPS)} operators\n")
    assert len(json.loads(run("ops", "--json", "--foreign").output)) > len(found)


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("T.exp", "T.exp(x) "),
        ("//", "x // y "),
        ("if_then_else", "T.if_then_else(cond, t, f) "),
        ("ldexp", "T.ldexp(x1, x2) "),  # as its description calls them
        ("logical_not", "not x "),
        ("call_extern", "T.call_extern(dtype, x, ...) "),
        ("cast", "T.cast(x, dtype) "),
    ],
)
def test_ops_by_name(word: str, line: str) -> None:
    shown = run("ops", word).output
    assert line in shown


def test_an_unknown_op() -> None:
    result = run("ops", "exq")
    assert result.exit_code == 1 and "did you mean `exp`?" in result.stderr
