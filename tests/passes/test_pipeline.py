"""Passes by name, pipelines as text, contexts, instruments, and errors inside passes."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import typeguard
from helpers.passes import program

from tirscript import passes
from tirscript.ir import Const, Evaluate, Module, PrimFunc, Var, structural_equal
from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.passes import (
    DEFAULT_LOWERING,
    PASSES,
    Instrument,
    PassContext,
    PrintAfter,
    PrintBefore,
    PrintChanged,
    RoundTripEach,
    Sequential,
    Skip,
    Timing,
    get_pass,
    module_pass,
    prim_func_pass,
)

TEXT = """
def f(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(1)
"""


@pytest.fixture
def table() -> Iterator[dict[str, passes.Pass]]:
    """The table of passes, put back as it was afterwards."""
    before = dict(PASSES)
    yield PASSES
    PASSES.clear()
    PASSES.update(before)


def code(info: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return info.value.diagnostics[0].code


def test_a_pass_is_found_by_either_spelling_and_shows_its_rewrite() -> None:
    assert get_pass("lower-blocks") is get_pass("lower_blocks")
    for entry in PASSES.values():
        assert entry.doc
        assert any(word in entry.doc for word in ("becomes", "become", "gets"))


def test_unknown_pass_is_t404_with_a_suggestion() -> None:
    with pytest.raises(DiagnosticError, match="did you mean `lower_blocks`") as info:
        get_pass("lower_block")
    assert code(info) == "T404"


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("unroll_loop", {"limt": 4}, "did you mean `limit`"),
        ("unroll_loop", {"limit": "4"}, "of type int, not str"),
        ("unroll_loop", {"limit": True}, "of type int, not bool"),
        ("lower_init_block", {"x": 1}, "it has none"),
    ],
)
def test_options_are_checked(name: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(DiagnosticError, match=words) as info:
        get_pass(name, **options)
    assert code(info) == "T404"


@pytest.mark.parametrize(("item", "words"), [(lambda f: f, "`<lambda>`"), (3, "a Python int"), (None, "None")])
def test_what_is_no_pass_is_t404(item: object, words: str) -> None:
    with pytest.raises(DiagnosticError, match="T404.*a pipeline is made of passes.*" + words):
        Sequential((item,))  # type: ignore[arg-type]


def test_pipelines_print_and_parse() -> None:
    pipeline = Sequential([get_pass("lower_blocks"), get_pass("unroll_loop", limit=4), DEFAULT_LOWERING])
    assert str(pipeline) == f"lower_blocks,unroll_loop{{limit=4}},{DEFAULT_LOWERING}"
    assert Sequential.parse(str(pipeline)) == pipeline
    assert Sequential.parse(" lower-blocks , unroll_loop { limit = 4 } ") == Sequential(pipeline.passes[:2])
    assert Sequential.parse("") == Sequential(())
    assert (
        Sequential(["lower_blocks,simplify", "simplify"]).passes
        == Sequential.parse("lower_blocks,simplify,simplify").passes
    )
    assert Sequential.parse("unroll_loop{limit=4}") != Sequential.parse("unroll_loop{limit=5}")


@pytest.mark.parametrize(
    "text",
    [
        "a b",
        "lower_blocks,,simplify",
        "unroll_loop{limit}",
        "unroll_loop{limit=4",
        "unroll_loop{limit=}",
        "lower_blocks,",
        "{",
        "unroll_loop{}",
        "unroll_loop{limit=4,limit=5}",
        'compress_constants{codec="\\q"}',
    ],
)
def test_broken_pipeline_text_is_t404(text: str) -> None:
    with pytest.raises(DiagnosticError) as info:
        Sequential.parse(text)
    assert code(info) == "T404"


def test_option_values_of_every_type_survive_the_text(table: object) -> None:
    @prim_func_pass()
    def configured(func: PrimFunc, *, a: bool = False, b: str = "", c: float = 0.5, d: int = 0) -> PrimFunc:
        """Becomes itself."""
        return func

    for options in (
        {"a": True, "b": 'x,{}="\\', "c": 1.5, "d": -3},
        {"b": "true"},
        {"b": "12"},
        {"b": "plain"},
        {"b": ""},
    ):
        one = configured.configure(**options)
        assert Sequential.parse(str(one)).passes == (one,)
        assert dict(Sequential.parse(str(one)).passes[0].given) == options


def test_a_prim_func_stays_a_prim_func_and_a_module_a_module() -> None:
    func = program(TEXT)
    module = Module((func, func.replace(name="g")))
    lowered = get_pass("lower_blocks")(module)
    assert isinstance(lowered, Module)
    assert [f.name for f in lowered.functions] == ["f", "g"]
    assert isinstance(get_pass("lower_blocks")(func), PrimFunc)
    assert get_pass("lower_blocks")(lowered) is lowered


def test_a_module_pass_takes_a_lone_function(table: object) -> None:
    @module_pass()
    def renamed(module: Module) -> Module:
        """`f` becomes `f2`."""
        return module.replace(functions=tuple(f.replace(name=f.name + "2") for f in module.functions))

    @module_pass()
    def doubled(module: Module) -> Module:
        """`f` becomes `f` twice."""
        return module.replace(functions=module.functions * 2)

    func = program(TEXT)
    assert renamed(func).name == "f2"
    assert [f.name for f in renamed(Module((func,)))] == ["f2"]
    with pytest.raises(DiagnosticError, match="makes 2 functions of one"):
        doubled(func)


def test_a_pass_is_registered_once_with_a_docstring_and_keyword_options(table: object) -> None:
    with pytest.raises(ValueError, match="defined twice"):
        prim_func_pass(name="lower_blocks")(lambda func: func)
    with pytest.raises(ValueError, match="docstring"):
        prim_func_pass(name="nothing")(lambda func: func)

    def positional(func: PrimFunc, limit: int = 3) -> PrimFunc:
        """Becomes itself."""
        return func

    with pytest.raises(ValueError, match="keyword-only"):
        prim_func_pass()(positional)


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(
        (DiagnosticError, typeguard.TypeCheckError),
        match=r"PrimFunc|takes a tensor function or a module, not a Python str",
    ):
        get_pass("simplify")("x")  # type: ignore[type-var]


def test_a_text_is_no_list_of_passes() -> None:
    with pytest.raises(DiagnosticError) as info:
        Sequential("simplify")
    assert info.value.diagnostics[0].hint == "`Sequential.parse('simplify')` reads a text"


def test_what_watches_passes_is_an_instrument() -> None:
    with pytest.raises(DiagnosticError, match="`print` is no instrument"):
        PassContext(instruments=[print])  # type: ignore[list-item]
    with pytest.raises(DiagnosticError) as info:
        PassContext(instruments=[Timing])  # type: ignore[list-item]
    assert info.value.diagnostics[0].hint == "make one of this class: `Timing()`"


@pytest.mark.skipif(os.environ.get("TIRSCRIPT_CHECK") == "arguments", reason="typeguard refuses it before")
def test_one_instrument_is_no_list_of_them() -> None:
    with pytest.raises(DiagnosticError, match="instruments is a list of instruments") as info:
        PassContext(instruments=Timing())  # type: ignore[arg-type]
    assert info.value.diagnostics[0].hint == "instruments=[Timing(...)]"
    with pytest.raises(DiagnosticError, match="instruments is a list of instruments") as info:
        PassContext(instruments=Timing)  # type: ignore[arg-type]
    assert info.value.diagnostics[0].hint == "instruments=[Timing(...)]"
    with pytest.raises(DiagnosticError, match="instruments is a list of instruments"):
        PassContext(instruments=print)  # type: ignore[arg-type]


@pytest.mark.parametrize(("given", "meant"), [("optlevel", "opt_level"), ("disabled_pass", "disabled")])
def test_a_misspelt_word_of_a_context_is_told_with_the_right_one(given: str, meant: str) -> None:
    message = rf"^PassContext\(\) got an unexpected keyword argument '{given}'; did you mean `{meant}`\?$"
    words: dict[str, Any] = {given: 3}
    with pytest.raises(TypeError, match=message):
        PassContext(**words)


def test_a_pass_is_made_of_a_function_and_found_without_its_options() -> None:
    said = "a pass is made of a function, not a str; another name is `name=`|is not callable"
    with pytest.raises((TypeError, typeguard.TypeCheckError), match=said):
        prim_func_pass("simplify")  # type: ignore[call-overload]
    with pytest.raises(DiagnosticError, match=r"`get_pass\(name, option=value\)`"):
        get_pass("simplify{contents=true}")


def test_a_missing_step_is_named() -> None:
    with pytest.raises(DiagnosticError) as info:
        get_pass("flatten_buffer")(program(TEXT))
    (one,) = info.value.diagnostics
    assert (one.code, one.hint) == ("T401", "apply pass `lower_blocks` before")
    assert one.span is not None
    assert "in pass `flatten_buffer` on function `f`" in one.notes


def test_a_crash_inside_a_pass_names_pass_and_function_and_whose_it_is(table: object) -> None:
    @prim_func_pass()
    def crashing(func: PrimFunc) -> PrimFunc:
        """Becomes nothing."""
        raise KeyError("oops")

    with pytest.raises(DiagnosticError) as info:
        crashing(program(TEXT))
    (one,) = info.value.diagnostics
    assert one.code == "T499"
    assert "pass `crashing` failed on function `f`: KeyError: 'oops'" in one.message
    line = crashing.function.__code__.co_firstlineno
    assert one.hint == f"the fault is in the pass itself, which is defined at {__file__}:{line}"
    assert isinstance(info.value.__cause__, KeyError)
    crashing.function.__module__ = "tirscript.passes.crashing"
    with pytest.raises(DiagnosticError) as info:
        crashing(program(TEXT))
    assert "report" in (info.value.diagnostics[0].hint or "")


def test_a_result_of_another_kind_is_an_internal_error(table: object) -> None:
    @prim_func_pass()
    def forgetful(func: PrimFunc) -> None:
        """Becomes nothing."""

    with pytest.raises(DiagnosticError, match="`forgetful` made nothing: it returns None") as info:
        forgetful(program(TEXT))
    assert code(info) == "T499"


def test_a_users_mistake_gets_a_note_with_the_pass_once(table: object) -> None:
    @prim_func_pass()
    def refusing(func: PrimFunc) -> PrimFunc:
        """Becomes an error."""
        raise DiagnosticError([error("T401", "no")])

    @prim_func_pass()
    def outer(func: PrimFunc) -> PrimFunc:
        """Becomes what `refusing` makes."""
        return refusing(func)

    with pytest.raises(DiagnosticError) as info:
        outer(program(TEXT))
    assert info.value.diagnostics[0].notes == ("in pass `refusing` on function `f`",)


def test_the_context_disables_and_configures() -> None:
    func = program("""
    def f(A: T.Buffer((8,), "float32")):
        for i in T.unroll(8):
            A[i] = T.float32(1)
    """)
    unroll = get_pass("unroll_loop")
    assert len(unroll(func).body) == 8
    with PassContext(config={"unroll_loop.limit": 4}):
        assert unroll(func) is func
        assert len(unroll(func, limit=8).body) == 8
        with PassContext():
            assert len(unroll(func).body) == 8
        assert unroll(func) is func
    with PassContext(disabled=["unroll-loop"]):
        assert unroll(func) is func
    assert len(unroll(func).body) == 8
    with pytest.raises(DiagnosticError, match="no pass"):
        PassContext(disabled=["nothing"])
    with pytest.raises(DiagnosticError, match="no option"):
        PassContext(config={"unroll_loop.depth": 4})


def test_the_context_is_of_its_thread() -> None:
    seen: list[frozenset[str]] = []
    with PassContext(disabled=["simplify"]):
        thread = threading.Thread(target=lambda: seen.append(PassContext.current().disabled))
        thread.start()
        thread.join()
        assert PassContext.current().disabled == {"simplify"}
    assert seen == [frozenset()]
    assert PassContext.current().disabled == frozenset()


def test_instruments_see_every_pass_in_order() -> None:
    class Watch(Instrument):
        def __init__(self) -> None:
            self.log: list[str] = []

        def enter(self) -> None:
            self.log.append("enter")

        def leave(self) -> None:
            self.log.append("leave")

        def before(self, entry: object, program: object) -> None:
            self.log.append(f"before {entry}")

        def after(self, entry: object, before: object, program: object) -> None:
            self.log.append(f"after {entry} {before is program}")

    watch = Watch()
    with PassContext(instruments=[watch]):
        Sequential.parse("lower_init_block,lower_blocks")(program(TEXT))
    assert watch.log == [
        "enter",
        "before lower_init_block",
        "after lower_init_block True",
        "before lower_blocks",
        "after lower_blocks False",
        "leave",
    ]


def test_skip_and_timing() -> None:
    timing = Timing()
    with PassContext(instruments=[timing, Skip(["lower-blocks"])]):
        func = program(TEXT)
        assert Sequential.parse("lower_init_block,lower_blocks")(func) is func
    assert [name for name, _ in timing.seconds] == ["lower_init_block"]
    assert "total" in timing.report()
    assert "lower_init_block" in timing.report()


def test_printing_instruments() -> None:
    func = program(TEXT)
    out = io.StringIO()
    with PassContext(instruments=[PrintBefore("lower-blocks", file=out)]):
        Sequential.parse("lower_init_block,lower_blocks")(func)
    assert out.getvalue() == f"# before lower_blocks\n{func.script()}\n"
    out = io.StringIO()
    with PassContext(instruments=[PrintAfter(file=out)]):
        after = get_pass("lower_blocks")(func)
    assert out.getvalue() == f"# after lower_blocks\n{after.script()}\n"
    out = io.StringIO()
    with PassContext(instruments=[PrintChanged(file=out)]):
        Sequential.parse("lower_init_block,lower_blocks")(func)
    assert out.getvalue() == f"# lower_init_block: no change\n# after lower_blocks\n{after.script()}\n"


def test_verify_each_blames_the_pass(table: object) -> None:
    @prim_func_pass()
    def breaking(func: PrimFunc) -> PrimFunc:
        """Becomes illegal."""
        return func.replace(body=(Evaluate(Var("nowhere")),))

    func = program(TEXT)
    with PassContext(verify=True):
        get_pass("lower_blocks")(func)
        with pytest.raises(DiagnosticError, match="pass `breaking` made an illegal program") as info:
            breaking(func)
    assert code(info) == "T499"


def test_round_trip_each_blames_the_pass(table: object, monkeypatch: pytest.MonkeyPatch) -> None:
    @prim_func_pass()
    def emptied(func: PrimFunc) -> PrimFunc:
        """Becomes empty."""
        return func.replace(body=(Evaluate(Const(0, Var("x").dtype)),))

    func = program(TEXT)
    with PassContext(instruments=[RoundTripEach()]):
        lowered = get_pass("lower_blocks")(func)
        text = lowered.script()
        monkeypatch.setattr(PrimFunc, "script", lambda self, **options: text)
        with pytest.raises(DiagnosticError, match="is not what its text says"):
            emptied(func)
        monkeypatch.setattr(PrimFunc, "script", lambda self, **options: "def (")
        with pytest.raises(DiagnosticError, match="prints as a text that does not parse"):
            emptied(func)


def test_the_default_lowering_can_be_cut() -> None:
    assert (
        str(DEFAULT_LOWERING.until("lower-init-block"))
        == "check_constraints,lower_reduce,plan_buffer_allocation,lower_init_block"
    )
    assert len(list(DEFAULT_LOWERING)) == len(DEFAULT_LOWERING)
    with pytest.raises(DiagnosticError, match="the pipeline has no pass `infer_regions`"):
        DEFAULT_LOWERING.until("infer_regions")
    func = program(TEXT)
    assert structural_equal(DEFAULT_LOWERING.until("lower_blocks")(func), get_pass("lower_blocks")(func))


def test_a_pass_may_be_registered_without_brackets() -> None:
    try:

        @prim_func_pass
        def stands_bare(func: PrimFunc) -> PrimFunc:
            """Leaves everything."""
            return func

        @module_pass
        def stands_bare_of_modules(module: Module) -> Module:
            """Leaves everything."""
            return module

        func = program(TEXT)
        assert get_pass("stands_bare")(func) is func and str(stands_bare) == "stands_bare"
        assert Sequential(["stands_bare", "stands_bare_of_modules"])(func) is func
    finally:
        for name in ("stands_bare", "stands_bare_of_modules"):
            PASSES.pop(name, None)


def test_an_option_of_a_pass_has_a_type() -> None:
    def untyped(func: PrimFunc, *, limit=3) -> PrimFunc:  # type: ignore[no-untyped-def]
        """Nothing."""
        return func

    with pytest.raises(ValueError, match="option limit of pass untyped has no type: write `limit: int = 3`"):
        passes.prim_func_pass(untyped)
    assert "untyped" not in passes.PASSES


def test_passes_and_pipelines_are_copied_and_pickled_by_name() -> None:
    limited = passes.get_pass("unroll_loop", limit=3)
    for made in (copy.copy(limited), copy.deepcopy(limited), pickle.loads(pickle.dumps(limited))):
        assert made == limited and str(made) == "unroll_loop{limit=3}"
    pipeline = Sequential([passes.get_pass("simplify"), limited])
    assert str(pickle.loads(pickle.dumps(pipeline))) == str(copy.deepcopy(pipeline)) == "simplify,unroll_loop{limit=3}"


def test_a_timing_prints_as_its_table() -> None:
    timing = Timing()
    timing.seconds = [("simplify", 0.003), ("flatten_buffer", 0.001)]
    assert str(timing) == timing.report() and "75.0%" in str(timing).splitlines()[0]
    assert repr(timing) == "<timing of 2 passes>" and repr(Timing()) == "<timing of 0 passes>"


def test_a_context_says_what_is_set_in_it() -> None:
    assert repr(PassContext()) == "<pass context opt_level=3>"
    context = PassContext(opt_level=1, disabled=["simplify"], config={"unroll_loop.limit": 4}, required=["fuse_ops"])
    expected = "opt_level=1, disabled=['simplify'], config={'unroll_loop.limit': 4}, required=['fuse_ops']"
    assert repr(context) == f"<pass context {expected}>"
