"""What `tirscript view` puts into its page; that a browser shows it is in test_viewer_browser.py."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner
from helpers.viewer import EVIL, EXAMPLES, HEAD, MODULE, Page, hostile, make
from hypothesis import given, settings

from tirscript import default_pipeline
from tirscript.cli import commands
from tirscript.cli.viewer import run_stages
from tirscript.ir import structural_equal
from tirscript.ir.rewrite import definitions
from tirscript.passes import DEFAULT_LOWERING, Pass, Sequential
from tirscript.printer.diff import rename
from tirscript.script import parse, parse_python
from tirscript.testing import programs


def names(listing):
    """(text, symbol, whether defined) of every place of a name."""
    raw = listing["text"].encode("utf-16-le")
    found, at = [], 0
    for distance, length, number in zip(*[iter(listing["places"])] * 3, strict=True):
        at += distance
        found.append((raw[2 * at : 2 * (at + length)].decode("utf-16-le"), listing["symbols"][number >> 1], number & 1))
    return found


def known(listing, name):
    (found,) = (one for one in listing["symbols"] if one[0] == name)
    return found


def test_the_stages_of_matmul():
    source = (EXAMPLES / "matmul.py").read_text()
    found = make(source)
    assert found.manifest["file"] == "kernel.py" and found.value(found.manifest["source"])["text"] == source
    passes = [one["name"] for one in found.manifest["passes"]]
    assert passes == ["", *map(str, DEFAULT_LOWERING)]
    stages = found.function("matmul")["stages"]
    changed = [passes[at] for at in range(1, len(passes)) if stages[at] != stages[at - 1]]
    assert changed == ["lower_init_block", "lower_blocks", "flatten_buffer"]
    assert all(one["seconds"] > 0 and one["doc"] for one in found.manifest["passes"][1:])
    kernel = parse_python(source)["matmul"]
    assert found.listing("matmul", 0)["text"] == kernel.script(header=False)
    assert found.listing("matmul", -1)["text"] == DEFAULT_LOWERING(kernel).script(header=False)


def test_names_stay_the_same_through_the_stages():
    source = HEAD + 'def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):\n'
    source += (
        "    for x, y in T.grid(8, 8):\n        with T.block():\n            vx, vy = T.axis.remap('SS', [x, y])\n"
    )
    source += "            B[vx, vy] = A[vx, vy]\n"
    kernel = parse(source)
    stages = run_stages(kernel, Sequential.parse("lower_blocks,flatten_buffer"))
    for stage in stages:
        assert {"x", "y"} <= set(re.findall(r"\w+", stage.program.script()))
    assert structural_equal(stages[-1].program, Sequential.parse("lower_blocks,flatten_buffer")(kernel))
    assert [stage.changed for stage in stages] == [False, True, True]


def test_what_a_pass_calls_anew_keeps_its_name():
    def rename_all(func):
        """`i` becomes `other`."""
        made = rename(func, {id(one): "other" for one in definitions(func)})
        return made.replace(body=made.body * 2)

    kernel = parse(HEAD + "def f(A: T.Buffer((8,), 'int32')):\n    for i in range(8):\n        A[i] = i\n")
    entry = Pass("rename_all", "prim_func", rename_all, "`i` becomes `other`.", {})
    (_, stage) = run_stages(kernel, Sequential([entry]))
    assert "other" in entry(kernel).script()
    assert stage.changed and stage.program.script() == kernel.replace(body=kernel.body * 2).script()


@given(programs())
@settings(max_examples=20, deadline=None)
def test_places_and_lines_of_any_program(func):
    listing = make(func.script()).listing(func.name, 0)
    for text, symbol, _ in names(listing):
        assert text == symbol[0]
    assert len(listing["source"]) == len(listing["text"].split("\n"))
    assert sum(len(symbol) != 4 for symbol in listing["symbols"]) == 0


def test_offsets_count_as_browsers_do():
    source = HEAD + 'def f(A: T.Buffer((4,), "int32")):\n    # 𝔸𝔹 😀\n    A[0] = 1  # 😀\n    A[1] = A[0]\n'
    found = names(make(source, "simplify").listing("f", 0))
    assert [(text, defined) for text, _, defined in found] == [("A", 1), ("A", 0), ("A", 0), ("A", 0)]


def test_lines_know_their_source():
    source = HEAD + (
        'def f(A: T.Buffer((8,), "float32")):\n'
        "    for i in T.serial(8):\n\n"
        '        with T.block("b"):\n'
        "            v = T.axis.spatial(8, i)\n"
        "            A[v] = (\n                A[v] + 1.0\n            )\n"
    )
    for at, wanted in ((0, [5, 5, 6, 8, 9, 10]), (-1, [5, 5, 6, 10])):
        listing = make(source, "lower_blocks").listing("f", at)
        assert [line for line in listing["source"] if line] == wanted


def test_a_line_that_joins_several_has_the_source_of_the_first():
    source = HEAD + (
        'def f(A: T.Buffer((8, 8), "float32")):\n'
        "    for i in T.serial(8):\n"
        "        for j in T.serial(8):\n"
        '            with T.block("b"):\n'
        "                v = T.axis.spatial(8, i)\n"
        "                w = T.axis.spatial(8, j)\n"
        "                A[v, w] = 1.0\n"
    )
    listing = make(source, "simplify").listing("f", 0)
    lines = dict(zip(map(str.strip, listing["text"].split("\n")), listing["source"], strict=False))
    assert lines["for i, j in T.grid(8, 8):"] == 6 and lines['v, w = T.axis.remap("SS", [i, j])'] == 9


def test_ranges_that_the_type_has_anyhow_are_not_told():
    source = HEAD + (
        'def f(A: T.Buffer((32,), "int32"), n: T.int32):\n'
        "    for i in range(n):\n        A[0] = i\n"
        "    for j in range(1, n):\n        A[1] = j\n"
        "    k = T.max(n, 2)\n    A[2] = k\n    m = T.min(n, 5)\n    A[3] = m\n"
    )
    listing = make(source, "simplify").listing("f", 0)
    assert known(listing, "i")[3] == ["0 ≤ i < n"] and known(listing, "j")[3] == ["1 ≤ j < n"]
    assert known(listing, "k")[3] == ["k = T.max(n, 2)", "k ≥ 2"]
    assert known(listing, "m")[3] == ["m = T.min(n, 5)", "m ≤ 5"]


def test_threads_that_are_launched_twice_have_the_range_of_both():
    source = HEAD + (
        'def f(A: T.Buffer((32,), "int32")):\n'
        '    tx = T.env_thread("threadIdx.x")\n'
        "    with T.launch_thread(tx, 32):\n        A[tx] = 1\n"
        "    with T.launch_thread(tx, 8):\n        A[tx] = 2\n"
    )
    facts = known(make(source, "simplify").listing("f", 0), "tx")
    assert facts[1:] == ["thread threadIdx.x", "int32", ["0 ≤ tx < 32", "0 ≤ tx < 8", "0 ≤ tx ≤ 31"]]


def test_what_is_known_of_names():
    source = HEAD + (
        'def f(A: T.Buffer((128, "n"), "float32", align=64), m: T.int32):\n'
        '    B = T.alloc_buffer((4, 4), "int8", scope="shared")\n'
        "    T.assume(m % 8 == 0)\n"
        "    for i in T.parallel(128):\n"
        "        for k in range(0, 64, 16):\n"
        "            j = i * 4\n"
        "            s: T.float32 = 1.0\n"
        '            with T.block("b"):\n'
        "                v = T.axis.reduce(128, i)\n"
        "                A[v, 0] = 2.0\n"
        "            A[0, j + k] = s\n"
        "            B[0, 0] = T.cast(m, 'int8')\n"
    )
    listing = make(source, "simplify").listing("f", 0)
    assert known(listing, "A") == ["A", "parameter", "float32[128, n]", ["aligned to 64 bytes"]]
    assert known(listing, "B") == ["B", "allocated buffer", "int8[4, 4]", ["16 bytes", "scope shared"]]
    assert known(listing, "n")[1:] == ["symbolic dimension, bound at the call", "int64", ["n ≥ 0"]]
    assert known(listing, "m")[1:] == ["parameter", "int32", ["assumed: m % 8 == 0"]]
    assert known(listing, "i") == ["i", "parallel loop variable", "int32", ["0 ≤ i < 128", "0 ≤ i ≤ 127"]]
    assert known(listing, "k")[3] == ["range(0, 64, 16)", "0 ≤ k ≤ 63", "k % 16 == 0"]
    assert known(listing, "j") == ["j", "value", "int32", ["j = i * 4", "0 ≤ j ≤ 508", "j % 4 == 0"]]
    assert known(listing, "s")[1:3] == ["mutable scalar", "float32"]
    assert known(listing, "v") == ["v", "reduce axis of a block", "int32", ["0 ≤ v < 128", "v = i", "0 ≤ v ≤ 127"]]


def test_code_knows_the_lines_of_the_last_stage():
    found = make((EXAMPLES / "matmul.py").read_text(), compiled=True)
    listing = found.listing("matmul", -1)
    lines = listing["text"].split("\n")
    for view, pattern in (("written", "fmul"), ("optimized", "fmul"), ("assembly", r"\bv?mul[sp]s|\bfmul")):
        numbers = {number for line, number in found.code_of("matmul", view) if re.search(pattern, line)}
        assert numbers and all(
            lines[number - 1].strip().startswith("C_1[i * n + j] = C_1") for number in numbers if number
        )
    loops = {number for line, number in found.code_of("matmul", "written") if " phi " in line}
    inner = ["for i in range(m):", "for j in range(n):", "for p, j in T.grid(k, n):"]
    assert sorted(lines[number - 1].strip() for number in loops) == inner
    heads = {number for line, number in found.code_of("matmul", "written") if line.startswith("  ret")}
    assert [lines[number - 1] for number in heads] == ["def matmul("]


def test_modules_are_shown_by_function():
    found = make(MODULE, compiled=True)
    assert [one["name"] for one in found.manifest["functions"]] == ["M.scale", "M.main"]
    text = found.listing("M.main", 0)["text"]
    assert text.startswith("@T.prim_func\ndef main(") and "\n    M.scale(A, 3)\n" in text
    compile(found.listing("M.scale", 0)["text"], "scale", "exec")
    stages = found.function("M.scale")["stages"]
    assert stages[1] == stages[0], "a function that a pass left alone is kept once"
    assert found.function("M.main")["stages"][-1] != found.function("M.main")["stages"][0]
    main = "\n".join(line for line, _ in found.code_of("M.main", "written"))
    assert main.count("\ndefine ") + main.startswith("define ") == 1 and "kernel_main" in main
    assert "attributes #0" in main and "declare" in main
    for text, symbol, _ in names(found.listing("M.main", 0)):
        assert text == symbol[0]
    for line, number in found.code_of("M.main", "written"):
        if "call" in line and "kernel_scale" in line:
            assert "M.scale" in found.listing("M.main", -1)["text"].split("\n")[number - 1]


def test_lines_of_an_elif_and_of_inner_loops():
    source = HEAD + (
        'def f(A: T.Buffer((8, 8), "float32"), n: T.int32):\n'
        "    for i, j in T.grid(8, 8):\n"
        "        if n > 3:\n            A[i, j] = A[i, j] * 2.0\n"
        "        elif n < -77:\n            A[i, j] = A[i, j] + 3.0\n"
    )
    found = make(source, "simplify", compiled=True)
    lines = found.listing("f", -1)["text"].split("\n")
    (number,) = {number for line, number in found.code_of("f", "written") if "icmp" in line and "-77" in line}
    assert lines[number - 1].strip() == "elif n < -77:"


def test_files_of_any_name(tmp_path):
    (tmp_path / "b\udcff.py").write_text(MODULE)
    result = run(tmp_path / "b\udcff.py", "-o", tmp_path / "page.html", "--no-native")
    assert result.exit_code == 0 and "b?.py" in Page((tmp_path / "page.html").read_text()).title


def test_several_programs_in_one_file():
    found = make(MODULE + "\n\n" + HEAD.split("\n\n\n")[1] + "def alone(n: T.int32):\n    T.evaluate(n)\n")
    assert [one["name"] for one in found.manifest["functions"]] == ["M.scale", "M.main", "alone"]


def test_what_is_not_lowered_has_its_reason():
    found = make((EXAMPLES / "matmul.py").read_text(), "simplify", compiled=True)
    assert not found.function("matmul")["code"] and "must be lowered" in found.function("matmul")["problem"]


def test_constants_of_assembly_are_with_their_function():
    source = HEAD + 'def f(A: T.Buffer((8,), "float64")):\n    A[0] = A[0] * T.float64(0.1)\n'
    code = "\n".join(line for line, _ in make(source, compiled=True).code_of("f", "assembly"))
    for label in set(re.findall(r"\.LCPI\d+_\d+", code)):
        assert f"\n{label}:" in f"\n{code}"


def test_nothing_of_a_program_is_markup():
    plain, evil = make(HEAD + "def f(n: T.int32):\n    T.evaluate(n)\n"), make(hostile(), filename=f"{EVIL}.py")
    tags = [tag for tag in evil.tags if not tag[1].get("id", "").startswith("s")]
    assert tags == [tag for tag in plain.tags if not tag[1].get("id", "").startswith("s")]
    assert evil.title == f"{EVIL}.py · tirscript"
    assert evil.code.split("\n", 3)[3] == plain.code.split("\n", 3)[3]
    assert evil.listing("f", 0)["text"].count(EVIL) >= 5 and evil.manifest["file"] == f"{EVIL}.py"


def test_the_page_asks_nothing_of_the_network():
    found = make(MODULE)
    for tag, attrs in found.tags:
        assert not {"src", "href", "action", "srcset"} & set(attrs), tag
        assert tag not in ("link", "img", "iframe", "object", "base")
    (policy,) = (attrs["content"] for tag, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    assert not re.search(
        r"https?://|@import|url\(|fetch\(|XMLHttp|innerHTML|outerHTML|insertAdjacent|eval\(", found.code
    )


# --- the command ------------------------------------------------------------------------------------------------------


def run(*args, **options):
    return CliRunner().invoke(commands, ["view", *map(str, args)], **options)


def test_the_command_writes_the_page(tmp_path):
    target = tmp_path / "page.html"
    result = run(EXAMPLES / "addone.py", "-o", target, "--no-native")
    assert result.exit_code == 0, result.output
    assert str(target) in result.output and "MB" in result.output
    found = Page(target.read_text(encoding="utf-8"))
    assert not found.manifest["compiled"] and not found.function("addone")["code"]


@pytest.mark.parametrize(
    ("options", "passes"), [((), "build"), (("-p", "build"), "build"), (("-p", "default"), "default")]
)
def test_without_passes_the_page_shows_what_is_built(options, passes):
    result = run(EXAMPLES / "softmax.py", "-o", "-", "--no-native", *options)
    assert result.exit_code == 0, result.output
    shown = [one["name"] for one in Page(result.stdout).manifest["passes"]]
    wanted = default_pipeline() if passes == "build" else DEFAULT_LOWERING
    assert shown == ["", *map(str, wanted)]


def test_the_page_lies_here_under_the_name_of_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(EXAMPLES / "addone.py", "--no-native", "--passes=simplify").exit_code == 0
    found = Page((tmp_path / "addone.html").read_text(encoding="utf-8"))
    assert [one["name"] for one in found.manifest["passes"]] == ["", "simplify"]


def test_standard_input_and_output():
    result = run("-", "-o", "-", "--no-native", input=MODULE)
    assert result.exit_code == 0 and Page(result.stdout).manifest["file"] == "<stdin>"


def test_one_function_of_a_file(tmp_path):
    (tmp_path / "m.py").write_text(MODULE)
    result = run(f"{tmp_path / 'm.py'}:scale", "-o", "-", "--no-native")
    assert [one["name"] for one in Page(result.stdout).manifest["functions"]] == ["scale"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.py"], "cannot be read"),
        ([str(EXAMPLES / "addone.py"), "--passes=simplfy"], "did you mean `simplify`"),
        ([f"{EXAMPLES / 'addone.py'}:addtwo"], "no function or module `addtwo`"),
        ([str(EXAMPLES / "__init__.py")], "defines no function and no module"),
        ([str(EXAMPLES / "addone.py"), "-o", "/nowhere/at/all.html", "--no-native"], "cannot be written"),
    ],
)
def test_mistakes_have_messages(args, words):
    result = run(*args)
    assert result.exit_code == 1 and words in result.output and "Traceback" not in result.output
