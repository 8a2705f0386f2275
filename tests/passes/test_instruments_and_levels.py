"""Levels of contexts, required passes, folders of stages, and finding the pass that breaks a check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.kinds import module
from helpers.passes import program

import tirscript
from tirscript.ir import Const, DiagnosticError, PrimFunc, structural_equal
from tirscript.ir.rewrite import rewrite
from tirscript.passes import (
    PASSES,
    DumpEach,
    Instrument,
    PassContext,
    PrintAfter,
    PrintBefore,
    PrintChanged,
    Sequential,
    Skip,
    VerifyEach,
    bisect,
    get_pass,
    prim_func_pass,
)

TEXT = """
def f(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(1)
"""
GRAPH = """
@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4, 8), "float32")):
        with G.dataflow():
            a = G.exp(x)
            b = G.exp(x)
            y = G.add(a, G.nn.relu(b))
            G.output(y)
        return y
"""


@pytest.fixture
def table() -> Iterator[None]:
    """The table of passes, put back as it was afterwards; it has `doubling`, which makes 2 of 1."""
    before = dict(PASSES)

    @prim_func_pass(opt_level=2)
    def doubling(func: PrimFunc) -> PrimFunc:
        """`1` becomes `2`."""
        return rewrite(func, {Const: lambda node: node.replace(value=2.0) if node.value == 1.0 else node})

    yield
    PASSES.clear()
    PASSES.update(before)


def test_passes_of_a_higher_level_do_nothing_unless_they_are_required(table: None) -> None:
    func = program(TEXT)
    doubling = get_pass("doubling")
    assert doubling.opt_level == 2 and "2.0" in doubling(func).script()
    for level in (2, 3):
        with PassContext(opt_level=level):
            assert doubling(func) is not func
    for level in (0, 1):
        with PassContext(opt_level=level):
            assert doubling(func) is func
        with PassContext(opt_level=level, required=["doubling"]):
            assert doubling(func) is not func
    with PassContext(opt_level=0, disabled=["doubling"]) as context:
        assert not context.runs(doubling) and context.runs(get_pass("simplify"))


def test_contexts_are_checked(table: None) -> None:
    for options, words in (
        ({"opt_level": 4}, "opt_level is an int from 0 to 3, not 4"),
        ({"opt_level": True}, "opt_level is an int"),
        ({"required": ["nothing"]}, "no pass `nothing`"),
        ({"required": ["doubling"], "disabled": ["doubling"]}, "`doubling` is disabled and required"),
        ({"disabled": "doubling"}, "disabled is a list of names"),
    ):
        given: Any = options
        with pytest.raises(DiagnosticError, match=words):
            PassContext(**given)


@pytest.mark.parametrize("made", [PrintBefore, PrintAfter, PrintChanged, lambda name: Skip([name])])
def test_instruments_are_for_passes_that_there_are(made: Any) -> None:
    """A name that was misspelt printed and left out nothing."""
    with pytest.raises(DiagnosticError, match=r"no pass `lower-blokcs`(.|\n)*did you mean `lower_blocks`"):
        made("lower-blokcs")
    assert made("lower-blocks").names == {"lower_blocks"}


def test_skip_takes_a_list() -> None:
    with pytest.raises(DiagnosticError, match=r"names is a list of names(.|\n)*names=\['simplify'\]"):
        Skip("simplify")


@pytest.mark.parametrize(
    ("failing", "seen"),
    [("enter", "enter a, enter b, leave a"), ("leave", "enter a, enter b, enter c, leave c, leave b, leave a")],
)
def test_what_was_entered_is_left(failing: str, seen: str) -> None:
    heard: list[str] = []

    class Hearing(Instrument):
        def __init__(self, name: str) -> None:
            self.name = name

        def hear(self, hook: str) -> None:
            heard.append(f"{hook} {self.name}")
            if (hook, self.name) == (failing, "b"):
                raise RuntimeError("b fails")

        def enter(self) -> None:
            self.hear("enter")

        def leave(self) -> None:
            self.hear("leave")

    with pytest.raises(RuntimeError, match="b fails"), PassContext(list(map(Hearing, "abc"))):
        assert len(PassContext.current().instruments) == 3
    assert ", ".join(heard) == seen
    assert PassContext.current().instruments == ()


def test_a_build_at_level_0_computes_the_same_by_more_kernels() -> None:
    x = np.linspace(-1, 1, 32, dtype="float32").reshape(4, 8)
    wanted = tirscript.interpret(module(GRAPH), x)
    counts = []

    class Count(Instrument):
        def before(self, entry: Any, given: Any) -> None:
            if entry.name == "graph_to_tensor":
                counts.append(len(given.functions))

    for level in (0, 1, 3):
        with PassContext([Count(), VerifyEach()], opt_level=level):
            np.testing.assert_allclose(tirscript.build(module(GRAPH))(x), wanted, rtol=1e-6)
    assert counts == [4, 2, 2]


def test_a_lone_function_goes_through_passes_over_graphs_too() -> None:
    func = program(TEXT)
    made = Sequential.parse("canonicalize_bindings,lower_blocks,bind_targets")(func)
    assert structural_equal(made, get_pass("lower_blocks")(func))
    with pytest.raises(DiagnosticError, match="takes a graph function or a module"):
        get_pass("canonicalize_bindings")(func)


def test_every_stage_in_a_folder(tmp_path: Path, table: None) -> None:
    func = program(TEXT)
    folder = tmp_path / "stages"
    pipeline = Sequential.parse("lower_init_block,doubling,lower_blocks")
    with PassContext([DumpEach(folder)]):
        made = pipeline(func)
    files = sorted(one.name for one in folder.iterdir())
    assert files == ["00_input.py", "02_doubling.py", "03_lower_blocks.py"]
    read = [tirscript.parse((folder / name).read_text()) for name in files]
    assert structural_equal(read[0], func) and structural_equal(read[-1], made)
    with pytest.raises(FileExistsError, match="not empty"), PassContext([DumpEach(folder)]):
        pass
    assert PassContext.current().instruments == ()


def test_the_pass_that_breaks_a_check_is_found(table: None) -> None:
    func = program(TEXT)
    pipeline = Sequential.parse("lower_init_block,simplify,doubling,lower_blocks,simplify,flatten_buffer")
    tried: list[Any] = []

    def check(made: Any) -> bool:
        tried.append(made)
        A = np.zeros((4, 4), "float32")
        tirscript.interpret(made, A)
        return bool((A == 1).all())

    found = bisect(pipeline, func, check)
    assert found is not None and (found.at, found.entry) == (2, get_pass("doubling"))
    assert found.before is func and structural_equal(found.after, get_pass("doubling")(func))  # type: ignore[arg-type]
    assert len(tried) <= 5 and str(found) == "pass 3, `doubling`, makes a program that fails the check"
    assert bisect(Sequential.parse("simplify,lower_blocks"), func, check) is None
    assert bisect(Sequential.parse("canonicalize_bindings,doubling"), func, check).at == 1  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="before any pass"):
        bisect(pipeline, func, lambda made: False)


def test_a_pass_that_raises_is_found_too(table: None) -> None:
    func = program(TEXT)
    found = bisect(Sequential.parse("simplify,flatten_buffer,lower_blocks"), func, lambda made: True)
    assert found is not None and found.at == 1 and found.after is None
    assert "pass 2, `flatten_buffer`, raises: " in str(found)
    assert str(found).count("apply pass `lower_blocks` before") == 1

    def refuse(made: Any) -> None:
        if "2.0" in made.script():
            raise ValueError("two")

    told = bisect(Sequential.parse("simplify,doubling"), func, refuse)
    assert told is not None and str(told) == "pass 2, `doubling`, makes a program that fails the check: two"


def test_a_crash_shows_the_function_in_the_source(table: None) -> None:
    @prim_func_pass(name="test_crash")
    def crash(func: PrimFunc) -> PrimFunc:
        """Becomes nothing."""
        raise RuntimeError("oops")

    with pytest.raises(DiagnosticError) as info:
        crash(program(TEXT))
    text = str(info.value)
    assert "pass `test_crash` failed on function `f`: RuntimeError: oops" in text
    assert 'def f(A: T.Buffer((4, 4), "float32")):' in text and "^^^" in text


def test_options_that_may_be_left_open(table: None) -> None:
    @prim_func_pass(name="test_open")
    def left_open(func: PrimFunc, *, tiles: bool | None = None, name: str = "") -> PrimFunc:
        """Becomes itself."""
        return func

    for given in ({"tiles": True}, {"tiles": None}, {"tiles": False, "name": "none"}, {"name": "true"}):
        options: Any = given
        made = left_open.configure(**options)
        assert Sequential.parse(str(made)).passes == (made,)
        assert dict(Sequential.parse(str(made)).passes[0].given) == given
    with pytest.raises(DiagnosticError, match=r"T404.*`tiles` of pass `test_open` is of type bool or none, not int"):
        left_open.configure(tiles=1)


def test_every_pass_says_what_it_does_and_has_a_name_for_the_command_line() -> None:
    for name, entry in PASSES.items():
        assert entry.name == name and name.isidentifier() and 0 <= entry.opt_level <= 3
        assert get_pass(name.replace("_", "-")) is entry and Sequential.parse(name).passes == (entry,)
        plain = {int, str, bool, float, type(None)}
        assert all(set(option.kinds) <= plain for option in entry.options.values()), name
        assert all(required in PASSES and PASSES[required].removes is not None for required in entry.requires)
