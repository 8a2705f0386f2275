"""Which functions are compiled together, and that what is compiled apart works as one program."""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.backend.llvm import compile_functions, module, parts
from tirscript.backend.llvm.aliasing import call_sites
from tirscript.ir import DiagnosticError, Module
from tirscript.passes import DEFAULT_LOWERING

HEAD = """
from tirscript.script import ir as I
from tirscript.script import tir as T


@I.ir_module
class M:
"""
LONG = "".join(f"            A[i] = A[i] * {at}.0 + {at}.5\n" for at in range(20))
KERNEL = """
    @T.prim_func(private=True)
    def {name}({params}):
        for i in range({size}):
{body}"""


def kernel(name: str, params: str = 'A: T.Buffer((8,), "float32")', size: str = "8", body: str = LONG) -> str:
    """A function that is not small."""
    return KERNEL.format(name=name, params=params, size=size, body=body)


def main(body: str, params: str = 'A: T.Buffer((8,), "float32")') -> str:
    lines = "".join(f"        {line}\n" for line in body.strip().split("\n"))
    return f"\n    @T.prim_func\n    def main({params}):\n{lines}"


def read(*texts: str) -> Module:
    found = tirscript.parse(HEAD + "".join(texts))
    assert isinstance(found, Module)
    return found


def groups(program: Module) -> list[list[str]]:
    return parts.groups(program.prim_funcs, call_sites(program))


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that may be compiled apart is, however little it is."""
    monkeypatch.setattr(module, "LEAST", 0)
    monkeypatch.setattr(parts, "SMALL", 0)


# -- which


def test_kernels_that_run_one_after_the_other_are_apart() -> None:
    program = read(main("M.one(A)\nM.two(A)\nM.one(A)"), kernel("one"), kernel("two"))
    assert sorted(groups(program)) == [["main"], ["one"], ["two"]]


@pytest.mark.parametrize(
    "call",
    ["for k in range(3):\n    M.one(A)", "for k in T.parallel(3):\n    M.one(A)", "while A[0] < 1.0:\n    M.one(A)"],
)
def test_what_is_called_in_a_loop_stays_with_its_caller(call: str) -> None:
    program = read(kernel("one"), main(call), kernel("two"), main("M.two(A)").replace("main", "other"))
    assert sorted(groups(program)) == [["one", "main"], ["other"], ["two"]]


def test_small_functions_stay_with_all_their_callers() -> None:
    little = kernel("little", body="            A[i] = A[i] + 1.0\n")
    program = read(little, main("M.one(A)\nM.little(A)"), kernel("one"), main("M.little(A)").replace("main", "other"))
    assert sorted(groups(program)) == [["little", "main", "other"], ["one"]]


@pytest.mark.parametrize(
    "params,size,given_,call,together",
    [
        ('A: T.Buffer((8,), "float32"), n: T.int32', "n", 'A: T.Buffer((8,), "float32")', "M.one(A, 5)", True),
        ('A: T.Buffer((8,), "float32"), n: T.int32', "n", 'A: T.Buffer((8,), "float32"), m: T.int32', "M.one(A, m)", False),
        ('A: T.Buffer(("n",), "float32")', "n", 'A: T.Buffer((8,), "float32")', "M.one(A)", True),
        ('A: T.Buffer(("n",), "float32")', "n", 'A: T.Buffer(("m",), "float32")', "M.one(A)", False),
        ('A: T.Buffer(("n",), "float32")', "n", 'A: T.Buffer(("m",), "float32")', "M.one(A[0:4])", True),
    ],
)  # fmt: skip
def test_numbers_that_a_call_tells_are_told_to_llvm(
    params: str, size: str, given_: str, call: str, together: bool
) -> None:
    program = read(main(call, given_), kernel("one", params, size))
    assert (len(groups(program)) == 1) is together


def test_the_largest_are_compiled_first() -> None:
    program = read(main("M.one(A)\nM.two(A)"), kernel("one"), kernel("two", body=LONG + LONG))
    assert groups(program) == [["two"], ["one"], ["main"]]
    calls = main("\n".join(["M.one(A)", "M.two(A)"] * 10))
    assert groups(read(calls, kernel("one"), kernel("two", body=LONG + LONG)))[0] == ["main"], "calls cost most"


def test_small_modules_are_one_file() -> None:
    program = DEFAULT_LOWERING(read(main("M.one(A)\nM.two(A)"), kernel("one"), kernel("two")))
    compiled = compile_functions(program, keep_code=True)
    assert len(compiled.code) == 1 and compiled.text.count("define internal i32") == 2


def test_functions_are_gathered_until_a_file_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"f{at}" for at in range(6)]
    program = DEFAULT_LOWERING(read(*map(kernel, names), main("\n".join(f"M.{name}(A)" for name in names))))
    monkeypatch.setattr(module, "LEAST", 9000)
    compiled = compile_functions(program, keep_code=True)
    sizes = [list(map(len, re.findall(r"(?s)define .*?\n}", text))) for text in compiled.written.parts]
    assert len(compiled.code) == len(sizes) > 1 and sum(map(len, sizes)) == 7 and len(sizes[0]) > 1
    assert all(sum(size) >= 9000 > sum(size[:-1]) for size in sizes[:-1])


# -- what they are


def test_a_function_is_hidden_where_all_its_callers_are(apart: None) -> None:
    program = read(
        main("M.one(A)\nfor k in range(2):\n    M.inside(A)"), kernel("one"), kernel("inside"), kernel("nobody")
    )
    texts = compile_functions(DEFAULT_LOWERING(program)).written.parts
    (caller,) = [text for text in texts if '@"tirscript_kernel_main"(' in text]
    assert 'define internal i32 @"tirscript_kernel_inside"' in caller
    assert re.search(r'declare i32 @"tirscript_kernel_one"\(ptr, ptr\) nounwind', caller)
    assert sum('define i32 @"tirscript_kernel_one"' in text for text in texts) == 1
    assert sum('define internal i32 @"tirscript_kernel_nobody"' in text for text in texts) == 1
    assert all("declare" not in text for text in texts if text is not caller)


SHARED = """
    @T.prim_func(private=True)
    def {name}(A: T.Buffer((64,), "float32")):
        W = T.allocate_const(w, "float32", (64,))
        S = T.allocate_const(s, "int8", (4,))
        for i in T.parallel(64, annotations={{"grain": 1}}):
            A[i] = T.sin(A[i] + W[i]) * {factor}.0 + T.exp(A[i]) + T.cast(S[i % 4], "float32")
        assert A[0] < 1e6, "{name} is too large"
        T.call_packed("test_parts.seen", "{name}", A[1])
"""


def shared() -> Module:
    """Kernels with the same constants, tables and strings, checks, threads and calls of Python."""
    text = HEAD + SHARED.format(name="one", factor=2) + SHARED.format(name="two", factor=3)
    text += main("M.one(A)\nM.two(A)\nM.one(A)", 'A: T.Buffer((64,), "float32")')
    names = {"w": np.linspace(0, 1, 64, dtype="float32"), "s": np.arange(4, dtype="int8")}
    found = tirscript.parse(text, names=names)
    assert isinstance(found, Module)
    return found


@pytest.fixture
def seen() -> Any:
    calls: list[tuple[str, float]] = []
    tirscript.register_library("test_parts.seen", lambda name, value: calls.append((name, float(value))))
    yield calls
    tirscript.backend.runtime.library.unregister_library("test_parts.seen")


def run(function: Any, seen: list[tuple[str, float]]) -> tuple[bytes, list[tuple[str, float]], list[str]]:
    """What a call leaves and says, and what calls that fail say."""
    start = np.linspace(-1, 1, 64, dtype="float32")
    seen.clear()
    function(start)
    said, wrong = list(seen), []
    for value in (1e8, 400000.0):  # `one` finds the first at once; `two` what the first `one` makes of the second
        bad = np.full(64, value, "float32")
        with pytest.raises(AssertionError) as caught:
            function(bad)
        wrong.append(str(caught.value).split("\n")[0])
    return start.tobytes(), said, wrong


@pytest.mark.parametrize("cached", [False, True])
def test_parts_agree_with_the_whole(
    cached: bool, apart: None, seen: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shared()
    with monkeypatch.context() as patch:
        patch.setattr(module, "LEAST", 1 << 60)
        whole = tirscript.build(program, pipeline=DEFAULT_LOWERING)
        assert len(whole["main"]._core.compiled.written.parts) == 1
    if cached:
        monkeypatch.setenv("TIRSCRIPT_CACHE", "1")
        monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path))
    built = tirscript.build(program, pipeline=DEFAULT_LOWERING)
    assert len(built["main"]._core.compiled.written.parts) == 3
    if cached:
        built = tirscript.build(program, pipeline=DEFAULT_LOWERING)
        assert type(built["main"]._core.compiled).__name__ == "LoadedModule"
    expected = run(whole, seen)
    assert run(built, seen) == expected
    assert [name for name, _ in expected[1]] == ["one", "two", "one"]
    assert "one is too large" in expected[2][0]


def test_the_ir_of_parts_is_one_module(apart: None, seen: Any) -> None:
    function = tirscript.build(shared(), pipeline=DEFAULT_LOWERING)["main"]
    text = function.llvm_ir()
    llvm.parse_assembly(text).verify()
    for name in ("one", "two", "main"):
        assert len(re.findall(rf'(?m)^define (?!internal).*@"?tirscript_kernel_{name}"?\(', text)) == 1
        assert function.assembly().count(f"\ntirscript_kernel_{name}:") == 1
        assert f'define i32 @"tirscript_kernel_{name}"' in function._core.compiled.text


# -- random programs


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[tuple[int, int]]]]]:
    """The text of a module in which functions call earlier ones, and what each does: factor, and (callee, times)."""
    text, plan = "", []
    for at in range(draw(st.integers(2, 5))):
        calls = draw(st.lists(st.tuples(st.integers(0, at - 1), st.integers(1, 3)), max_size=3)) if at else []
        private = draw(st.booleans()) and at != 0
        body = LONG if draw(st.booleans()) else "            A[i] = A[i] + 1.0\n"
        lines = "".join(
            f"        M.f{callee}(A)\n"
            if times == 1
            else f"        for k in range({times}):\n            M.f{callee}(A)\n"
            for callee, times in calls
        )
        made = kernel(f"f{at}", body=body + f"            A[i] = A[i] * 0.001 + {at}.0\n") + lines
        text += made if private else made.replace("(private=True)", "")
        plan.append((body, calls))
    return text, plan


def meaning(plan: list[tuple[str, list[tuple[int, int]]]], at: int, a: Any) -> None:
    body, calls = plan[at]
    for k in range(20) if body is LONG else ():
        a[:] = a * np.float32(k) + np.float32(k + 0.5)
    if body is not LONG:
        a += np.float32(1)
    a[:] = a * np.float32(0.001) + np.float32(at)
    for callee, times in calls:
        for _ in range(times):
            meaning(plan, callee, a)


@settings(max_examples=10, deadline=None)
@given(programs())
def test_functions_that_call_each_other_over_files(drawn: Any) -> None:
    text, plan = drawn
    program = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LEAST", 0)
        built = tirscript.build(program, pipeline=DEFAULT_LOWERING)
    for at in range(len(plan)):
        if f"f{at}" in built:
            found, wanted = np.linspace(0, 1, 8, dtype="float32"), np.linspace(0, 1, 8, dtype="float32")
            built[f"f{at}"](found)
            with np.errstate(all="ignore"):
                meaning(plan, at, wanted)
            np.testing.assert_array_equal(found, wanted)


def test_a_c_function_that_is_not_there_is_told_while_others_compile(apart: None) -> None:
    lost = '            A[i] = T.call_extern("float32", "no_such_function_here", A[i])\n'
    program = read(main("M.one(A)\nM.two(A)"), kernel("one", body=LONG + lost), kernel("two"))
    with pytest.raises(DiagnosticError, match="no_such_function_here"):
        tirscript.build(program)
