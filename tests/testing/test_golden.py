"""The fixture `golden`, in runs of pytest of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tirscript
from tirscript.passes import get_pass
from tirscript.script import prim_func
from tirscript.script import tir as T
from tirscript.testing import Golden, asserts, mismatch, places, plugin

GRAPH = """\
@G.graph_func
def main(x: G.Tensor((4,), "float32")):
    y = G.nn.relu(x)  # one
    return y
"""
# loaded once: what a run imports is forgotten at its end
LOADED = (get_pass("simplify"), prim_func, T, Golden, asserts, mismatch, places, tirscript.parse(GRAPH))

Run = Callable[..., pytest.RunResult]

HEAD = """
import pytest
from tirscript.passes import get_pass
from tirscript.script import ir as I, tir as T


@T.prim_func
def scale(A: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        A[i] = A[i] * 2.0  # twice
    A[0] = A[n * 1]
"""
ONE = f"{HEAD}\n\ndef test_scale(golden):\n    golden.check(scale)\n"
SCALE = """\
from tirscript.script import tir as T


@T.prim_func
def scale(A: T.Buffer((16,), "float32"), n: T.int32):
    for i in range(16):
        A[i] = A[i] * 2.0  # twice
    A[0] = A[n * 1]
"""

MISMATCH = """\
2 differences between what is expected and what is found, the most specific first:

scale.body[0].body[0].value.args[1]: Const `T.float32(2.0)` against Const `T.float32(3.0)`
  --> tests/golden/test_a/test_scale.py:7:23 (expected)
   |
 7 |         A[i] = A[i] * 2.0  # twice
   |                       ^^^
  --> <found>:7:23 (found)
   |
 7 |         A[i] = A[i] * 3.0  # twice
   |                       ^^^
  --> /tests/test_a.py:10:16 (found, as written)
   |
10 |         A[i] = A[i] * 3.0  # twice
   |                ^^^^^^^^^^

scale.body[1].indices[0]: Const `0` against Const `1`
  --> tests/golden/test_a/test_scale.py:8:7 (expected)
   |
 8 |     A[0] = A[n * 1]
   |       ^
  --> <found>:8:7 (found)
   |
 8 |     A[1] = A[n * 1]
   |       ^
  --> /tests/test_a.py:11:7 (found, as written)
   |
11 |     A[1] = A[n * 1]
   |       ^

--- a/scale
+++ b/scale
@@ -4,5 +4,5 @@
 @T.prim_func
 def scale(A: T.Buffer((16,), "float32"), n: T.int32):
     for i in range(16):
-        A[i] = A[i] * 2.0  # twice
-    A[0] = A[n * 1]
+        A[i] = A[i] * 3.0  # twice
+    A[1] = A[n * 1]"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest with the plugin and no other on the tests given as `module=text`; they lie in `tests`."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CI", raising=False)
    pytester.makeini("[pytest]\ntestpaths = tests\n")

    def run(*args: str, **modules: str) -> pytest.RunResult:
        write(pytester, **modules)
        pytester.syspathinsert()
        # this process has the plugin loaded
        quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
        return pytester.runpytest_inprocess("-p", "tirscript.testing.plugin", "-p", "no:cacheprovider", *quiet, *args)

    return run


def write(pytester: pytest.Pytester, **modules: str) -> None:
    for name, text in modules.items():
        path = pytester.path / "tests" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            old.unlink()  # rewritten within the resolution of time stamps


def goldens(pytester: pytest.Pytester) -> dict[str, str]:
    """The goldens by their path."""
    top = pytester.path / "tests" / "golden"
    return {str(path.relative_to(top)): path.read_text() for path in sorted(top.rglob("*")) if path.is_file()}


def passed(result: pytest.RunResult, **counts: int) -> str:
    """The output of a run whose outcomes are these."""
    assert result.parseoutcomes() == counts, result.stdout.str()
    return result.stdout.str()


def test_pytest_need_not_compile_tirscript_anew(request: pytest.FixtureRequest) -> None:
    marked = request.config.pluginmanager.rewrite_hook._must_rewrite  # type: ignore[union-attr]
    assert isinstance(marked, set) and "tirscript" not in marked
    marked.add("tirscript")
    plugin._keep_compiled(request.config.pluginmanager)
    assert "tirscript" not in marked
    plugin._keep_compiled(object())  # a pytest that does this otherwise


class TestFiles:
    def test_a_new_golden_fails_with_its_text_until_it_is_written(self, run: Run, pytester: pytest.Pytester) -> None:
        said = passed(run(test_a=ONE), failed=1)
        assert "no golden tests/golden/test_a/test_scale.py yet" in said and "--golden-update" in said
        assert "E           A[0] = A[n * 1]" in said
        assert goldens(pytester) == {}
        said = passed(run("--golden-update"), passed=1)
        assert re.search(r"1 golden written:\n +tests/golden/test_a/test_scale.py\n", said)
        assert goldens(pytester) == {"test_a/test_scale.py": SCALE}
        assert "goldens" not in passed(run(), passed=1)
        assert "goldens" not in passed(run("--golden-update"), passed=1)

    def test_a_golden_is_a_program_that_runs(self, run: Run, pytester: pytest.Pytester) -> None:
        run(
            "--golden-update",
            test_a=f"{ONE}\n\ndef test_pass(golden):\n    golden.check_pass(scale, get_pass('simplify'))\n",
        )
        path = os.pathsep.join([str(Path(each).parent) for each in tirscript.__path__])
        for name in goldens(pytester):
            file = pytester.path / "tests" / "golden" / name
            subprocess.run([sys.executable, str(file)], check=True, env={"PYTHONPATH": path})

    def test_goldens_of_graphs(self, run: Run, pytester: pytest.Pytester) -> None:
        text = f"""{HEAD}
from tirscript.ir import Module
from tirscript.script import graph as G


{GRAPH}

def test_check(golden):
    golden.check(main, comments=True)


def test_pass(golden):
    golden.check_pass(main, lambda func: func.replace(name="other"))


def test_lowered(golden):
    golden.check_pass(Module((main,), name="M"), lambda module: Module((scale,), name="M"))
"""
        passed(run("--golden-update", test_a=text), passed=3)
        passed(run(), passed=3)
        path = os.pathsep.join([str(Path(each).parent) for each in tirscript.__path__])
        for name in goldens(pytester):
            file = pytester.path / "tests" / "golden" / name
            subprocess.run([sys.executable, str(file)], check=True, env={"PYTHONPATH": path})
        run(test_a=text.replace("# one", "# two")).assert_outcomes(passed=2, failed=1)

    def test_only_tests_that_run_are_touched(self, run: Run, pytester: pytest.Pytester) -> None:
        more = f"{ONE}\n\ndef test_other(golden):\n    golden.check(scale)\n"
        passed(run("--golden-update", "-k", "scale", test_a=more), passed=1, deselected=1)
        assert list(goldens(pytester)) == ["test_a/test_scale.py"]

    def test_names_of_files(self, run: Run, pytester: pytest.Pytester) -> None:
        text = f"""{HEAD}

@pytest.mark.parametrize("word", ["a/b", "a:b", "float32", "../x", "größe"])
def test_word(golden, word):
    golden.check_text(word)

class TestClass:
    def test_in(self, golden):
        golden.check_text("one", name="first")
        golden.check_text("two", name="the/second")
        golden.check(scale)
"""
        passed(run("--golden-update", test_a=text, sub__test_b=text), passed=12)
        found = [name for name in goldens(pytester) if name.startswith("test_a")]
        plain = [re.sub(r"-[0-9a-f]{8}(?=\.)", "-#", name) for name in found]
        assert sorted(plain) == sorted(
            [
                "test_a/TestClass.test_in-first.txt",
                "test_a/TestClass.test_in-the_second-#.txt",
                "test_a/TestClass.test_in.py",
                "test_a/test_word-.._x-#.txt",
                "test_a/test_word-a_b-#.txt",
                "test_a/test_word-a_b-#.txt",
                "test_a/test_word-float32.txt",
                # pytest itself escapes the letters of an identifier
                "test_a/test_word-gr_xf6_xdfe-#.txt",
            ]
        )
        assert [name.replace("sub/test_b", "test_a") for name in goldens(pytester) if name[:3] == "sub"] == found
        passed(run(), passed=12)

    def test_the_folder_is_an_option_and_holds_no_tests(self, run: Run, pytester: pytest.Pytester) -> None:
        pytester.makeini("[pytest]\ntestpaths = tests\ngolden_dir = tests/data/goldens\n")
        passed(run("--golden-update", test_a=ONE), passed=1)
        assert (pytester.path / "tests/data/goldens/tests/test_a/test_scale.py").read_text() == SCALE
        passed(run(), passed=1)  # the golden itself is called test_scale.py

    def test_the_folder_is_one_of_its_own(self, run: Run, pytester: pytest.Pytester) -> None:
        pytester.makeini("[pytest]\ngolden_dir = .\n")
        result = run(test_a=ONE)
        assert result.ret == pytest.ExitCode.USAGE_ERROR and "a folder of its own" in result.stderr.str()

    def test_nothing_else_is_left_behind(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=ONE)
        (file,) = (pytester.path / "tests/golden/test_a").iterdir()
        assert file.name == "test_scale.py"
        assert file.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


class TestComparison:
    def test_names_comments_and_layout_are_free_but_told(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=ONE)
        for change, kind in (
            (lambda text: text.replace("[i]", "[j]").replace("for i", "for j"), "names"),
            (lambda text: text.replace("  # twice", ""), "comments"),
            (lambda text: text.replace(" * 2.0", " * (2.0)"), None),
        ):
            said = passed(run(test_a=change(ONE)), passed=1)
            note = f"tests/golden/test_a/test_scale.py ({kind})"
            assert (note in said) == (kind is not None)
            if kind is not None:
                assert "1 golden with the right meaning" in said
                assert f"other {kind}, and --golden-strict" in passed(run("--golden-strict"), failed=1)
        path = pytester.path / "tests/golden/test_a/test_scale.py"
        path.write_text(SCALE.replace("A[i] * 2.0", "(A[i] * 2.0)"))
        assert "test_scale.py (layout)" in passed(run(test_a=ONE), passed=1)
        passed(run("--golden-strict"), failed=1)
        passed(run("--golden-update", "--golden-strict"), passed=1)
        assert path.read_text() == SCALE

    def test_names_and_comments_on_request(self, run: Run) -> None:
        asking = ONE.replace("check(scale)", "check(scale, names=True, comments=True)")
        run("--golden-update", test_a=asking)
        passed(run(), passed=1)
        said = passed(run(test_a=asking.replace("[i]", "[j]").replace("for i", "for j")), failed=1)
        assert "scale.body[0].var: named `i` against `j`" in said
        assert re.search(r"-    for i in range\(16\):\nE +-.*\nE +\+    for j in range\(16\)", said)
        said = passed(run(test_a=asking.replace("# twice", "# double")), failed=1)
        assert "scale.body[0].body[0]: # twice against # double" in said

    def test_a_mismatch_lists_every_difference_with_its_places(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=ONE)
        said = passed(run(test_a=ONE.replace("* 2.0", "* 3.0").replace("A[0] =", "A[1] =")), failed=1)
        lines = [line[8:] for line in said.split("\n") if line.startswith("E")]
        text = "\n".join(lines)
        start = text.index("2 differences")
        assert text[start:].replace(str(pytester.path), "") == MISMATCH

    def test_the_golden_cannot_be_read(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=ONE)
        path = pytester.path / "tests/golden/test_a/test_scale.py"
        path.write_text(SCALE.replace("A[0]", "B[0]"))
        said = passed(run(), failed=1)
        assert "the golden tests/golden/test_a/test_scale.py cannot be read" in said
        assert "tests/golden/test_a/test_scale.py:8:5" in said
        path.write_text("import os\nos.abort()\n")
        assert "T003" in passed(run(), failed=1)  # read, never run

    def test_texts(self, run: Run, pytester: pytest.Pytester) -> None:
        text = "def test_t(golden):\n    golden.check_text({!r})\n"
        passed(run("--golden-update", test_a=text.format("a b\nc")), passed=1)
        assert goldens(pytester) == {"test_a/test_t.txt": "a b\nc\n"}
        passed(run(test_a=text.format("a b\nc\n")), passed=1)
        said = passed(run(test_a=text.format("a  b\nc")), failed=1)
        assert "only white space differs" in said and "E       -a b\n" in said and "E       +a  b\n" in said
        said = passed(run(test_a=text.format("a b\nd")), failed=1)
        assert "white space" not in said and "E       +d\n" in said

    @pytest.mark.parametrize(
        ("call", "reason"),
        [
            ("check(scale.body[0])", "golden.check() takes a whole function or module, not a piece of one"),
            ("check('x')", "golden.check() takes a function or module, not a Python str"),
            ("check_text(scale)", r"takes a string, not a PrimFunc|\(.*PrimFunc\) is not an instance of str"),
            ("check_pass(scale, lambda func: None)", "the pass <lambda> must return a function or module, not `None`"),
            ("check(scale, name='')", "the name of a golden is a string that is not empty"),
        ],
    )
    def test_misuse(self, run: Run, pytester: pytest.Pytester, call: str, reason: str) -> None:
        said = passed(run("--golden-update", test_a=ONE.replace("check(scale)", call)), failed=1)
        assert re.search(reason if "|" in reason else re.escape(reason), said)
        assert goldens(pytester) == {}


class TestPass:
    TEXT = f"{HEAD}\n\ndef test_pass(golden):\n    golden.check_pass(scale, get_pass('simplify'))\n"

    def test_both_sides_are_kept_in_one_file(self, run: Run, pytester: pytest.Pytester) -> None:
        said = passed(run(test_a=self.TEXT), failed=1)
        assert re.search(
            r"what simplify changed:\n(E.*\n)+E +-    A\[0\] = A\[n \* 1\]\nE +\+    A\[0\] = A\[n\]", said
        )
        passed(run("--golden-update"), passed=1)
        after = SCALE.partition("\n\n\n")[2].replace("n * 1", "n")
        text = goldens(pytester)["test_a/test_pass.py"]
        assert text == (
            SCALE.replace("\n\n\n", "\n\n# --- before ---\n\n\n") + f"\n\n# --- after simplify ---\n\n\n{after}"
        )
        passed(run(), passed=1)

    def test_a_mismatch_says_which_side_it_is(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=self.TEXT)
        said = passed(run(test_a=self.TEXT.replace("2.0", "3.0")), failed=1)
        assert "between what is expected and what is given to the pass" in said
        path = pytester.path / "tests/golden/test_a/test_pass.py"
        old = path.read_text()
        path.write_text(old.replace("A[n]", "A[n + 1]"))
        said = passed(run(test_a=self.TEXT), failed=1)
        assert "between what is expected and what is made by simplify" in said
        number = old.split("\n").index("    A[0] = A[n]") + 1
        assert f"tests/golden/test_a/test_pass.py:{number}:" in said
        assert "what simplify changed:" in said
        path.write_text(old.replace("# --- after simplify ---", ""))
        assert "`scale` is defined twice" in passed(run(), failed=1)

    def test_what_the_test_says_that_the_pass_makes_counts_too(self, run: Run) -> None:
        text = self.TEXT.replace("simplify')", "simplify'), after=scale")
        said = passed(run("--golden-update", test_a=text), failed=1)
        assert "1 difference between what is expected and what is found" in said

    def test_what_passes_are_called(self, run: Run, pytester: pytest.Pytester) -> None:
        text = f"""{HEAD}
from tirscript.passes import DEFAULT_LOWERING, Sequential

def test_short(golden):
    golden.check_pass(scale, Sequential([get_pass("simplify"), get_pass("lower_blocks")]))

def test_long(golden):
    golden.check_pass(scale, DEFAULT_LOWERING)

def test_function(golden):
    golden.check_pass(scale, lambda func: func)
"""
        run("--golden-update", test_a=text)
        titles = [re.findall("# --- after (.*) ---", golden)[0] for golden in goldens(pytester).values()]
        assert titles[0] == "<lambda>" and titles[2] == "simplify,lower_blocks"
        assert re.fullmatch(r"a pipeline of \d+ passes", titles[1])

    def test_modules(self, run: Run, pytester: pytest.Pytester) -> None:
        module = """

@I.ir_module
class Mod:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), n: T.int32):
        A[0] = A[n * 1]

def test_pass(golden):
    made = golden.check_pass(Mod, get_pass("simplify"), name="module")
    assert "A[0] = A[n]\\n" in made.script()
"""
        passed(run("--golden-update", test_a=HEAD + module), passed=1)
        assert "class Mod" in goldens(pytester)["test_a/test_pass-module.py"]
        passed(run(), passed=1)


class TestOwnership:
    def test_orphans_are_listed_and_pruned(self, run: Run, pytester: pytest.Pytester) -> None:
        two = f"{ONE}\n\ndef test_gone(golden):\n    golden.check(scale)\n    golden.check(scale, name='x')\n"
        run("--golden-update", test_a=two, test_b=ONE)
        assert len(goldens(pytester)) == 4
        said = passed(run(test_a=ONE), passed=2)
        assert re.search(
            r"2 goldens of no test \(--golden-prune removes such\):\n"
            r" +tests/golden/test_a/test_gone-x.py\n +tests/golden/test_a/test_gone.py\n",
            said,
        )
        assert len(goldens(pytester)) == 4
        assert "2 goldens of no test, now removed" in passed(run("--golden-prune"), passed=2)
        assert list(goldens(pytester)) == ["test_a/test_scale.py", "test_b/test_scale.py"]

    @pytest.mark.parametrize(
        "args",
        [
            ["-k", "scale"],
            ["tests/test_a.py::test_scale"],
            ["--deselect", "tests/test_a.py::test_bad"],
            ["tests/test_b.py"],
        ],
    )
    def test_a_module_that_did_not_run_whole_has_no_orphans(
        self, run: Run, pytester: pytest.Pytester, args: list[str]
    ) -> None:
        old = f"{ONE}    golden.check(scale, name='old')\n"
        run("--golden-update", test_a=old, test_b=ONE)
        more = f"{ONE}\n\ndef test_bad():\n    pass\n"
        result = run(*args, "--golden-prune", test_a=more)
        assert "no test" not in result.stdout.str()
        assert len(goldens(pytester)) == 3
        assert "removed" in run("--golden-prune", "tests/test_a.py").stdout.str()
        assert list(goldens(pytester)) == ["test_a/test_scale.py", "test_b/test_scale.py"]

    @pytest.mark.parametrize("end", ["assert False", "pytest.skip()"])
    def test_what_a_test_that_did_not_pass_may_own_is_no_orphan(
        self, run: Run, pytester: pytest.Pytester, end: str
    ) -> None:
        text = f"{HEAD}\n\ndef test_scale(golden):\n    golden.check(scale)\n    golden.check(scale, name='late')\n"
        run("--golden-update", test_a=f"{text}\ndef test_scaled(golden):\n    golden.check(scale)\n")
        assert len(goldens(pytester)) == 3
        run("--golden-prune", test_a=text.replace("    golden.check(scale, name='late')", f"    {end}"))
        assert list(goldens(pytester)) == ["test_a/test_scale-late.py", "test_a/test_scale.py"]

    def test_a_module_that_does_not_load_keeps_its_goldens(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=ONE, test_b=ONE)
        passed(run("--golden-prune", test_a="import pytest; pytest.importorskip('no_such')"), passed=1, skipped=1)
        assert len(goldens(pytester)) == 2
        passed(run("--golden-prune", test_a="import nothing_of_this_name"), errors=1)
        assert len(goldens(pytester)) == 2

    def test_nothing_is_pruned_where_nothing_runs(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=f"{ONE}\n\ndef test_gone(golden):\n    golden.check(scale)\n")
        result = run("--golden-prune", "--collect-only", test_a=ONE)
        assert "no test" not in result.stdout.str() and len(goldens(pytester)) == 2

    def test_goldens_of_a_module_that_is_gone(self, run: Run, pytester: pytest.Pytester) -> None:
        run("--golden-update", test_a=ONE, sub__test_c=ONE)
        (pytester.path / "tests/sub/test_c.py").unlink()
        assert "no test" not in passed(run("tests/test_a.py"), passed=1)
        assert "tests/golden/sub/test_c/test_scale.py" in passed(run(), passed=1)
        passed(run("--golden-prune"), passed=1)
        assert list(goldens(pytester)) == ["test_a/test_scale.py"]
        assert not (pytester.path / "tests/golden/sub").exists()

    def test_one_golden_for_two_checks(self, run: Run) -> None:
        twice = f"{ONE}    golden.check(scale)\n"
        assert "this test checks its golden twice" in passed(run("--golden-update", test_a=twice), failed=1)
        clash = f"""{HEAD}

@pytest.mark.parametrize("word", ["a"])
def test_word(golden, word):
    golden.check_text(word)

def test_word_2(golden):
    golden.stem = "test_word"
    golden.check_text("a", name="a")
"""
        said = passed(run("--golden-update", test_a=clash), passed=1, failed=1)
        assert "would keep two goldens in tests/golden/test_a/test_word-a.txt" in said

    @pytest.mark.parametrize("option", ["--golden-update", "--golden-prune"])
    def test_continuous_integration_writes_nothing(
        self, run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, option: str
    ) -> None:
        monkeypatch.setenv("CI", "true")
        result = run(option, test_a=ONE)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert f"{option} is refused where CI is set" in result.stderr.str()
        assert goldens(pytester) == {}
        passed(run(), failed=1)
        monkeypatch.setenv("CI", "false")
        passed(run("--golden-update"), passed=1)


class TestWorkers:
    """Under pytest-xdist, in processes of their own."""

    TESTS = f"""{HEAD}

@pytest.mark.parametrize("number", range(8))
def test_text(golden, number):
    golden.check_text(str(number))

def test_pass(golden):
    golden.check_pass(scale, get_pass("simplify"))
"""

    def run(self, pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(
            *("-p", "xdist", "-p", "tirscript.testing.plugin", "-p", "no:cacheprovider", "-n", "2", *args)
        )

    def test_two_workers_tell_one_story(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, run: Run
    ) -> None:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(Path(each).parent) for each in tirscript.__path__))
        write(pytester, test_a=self.TESTS)
        said = passed(self.run(pytester, "--golden-update"), passed=9)
        assert said.count("9 goldens written") == 1
        (pytester.path / "tests/golden/test_a/test_text-9.txt").write_text("9\n")
        path = pytester.path / "tests/golden/test_a/test_text-3.txt"
        path.write_text("4\n")
        said = passed(self.run(pytester), passed=8, failed=1)
        assert re.search(r"1 golden of no test.*\n +tests/golden/test_a/test_text-9.txt", said)
        said = passed(self.run(pytester, "--golden-prune", "-k", "text"), passed=7, failed=1)
        assert "no test" not in said
        passed(self.run(pytester, "--golden-prune"), passed=8, failed=1)
        assert sorted(goldens(pytester)) == [
            "test_a/test_pass.py",
            *(f"test_a/test_text-{number}.txt" for number in range(8)),
        ]
