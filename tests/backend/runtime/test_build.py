"""`build`: functions and modules as Python calls them."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.calls import Two, grow, text, told

import tirscript
from tirscript.backend.build import BuiltModule
from tirscript.backend.llvm.effects import estimated_cost, needs_gil, releases_gil
from tirscript.backend.not_programs import SEVERAL
from tirscript.backend.runtime import layout
from tirscript.backend.runtime.function import Function, PortableFunction
from tirscript.backend.runtime.library import get_library, unregister_library
from tirscript.ir import Attrs, DiagnosticError, Module, PrimFunc
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import parse
from tirscript.script import tir as T

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=["native", "portable"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Both ways to call: through the entry, and where this Python's structs cannot be read."""
    if request.param == "portable":
        monkeypatch.setattr(layout, "direct_calls", lambda: False)
    return {"native": Function, "portable": PortableFunction}[request.param]


def test_a_function_is_built_and_called(way: Any) -> None:
    f = tirscript.build(grow)
    assert type(f) is way
    a, b = np.random.rand(4, 5).astype(np.float32), np.zeros((4, 5), np.float32)
    assert f(a, b, 2.5) is None
    np.testing.assert_array_equal(b, a + np.float32(2.5))
    f(a, by=1, B=b)
    np.testing.assert_array_equal(b, a + np.float32(1))
    assert told(f, a, b[:, :3], 1.0).startswith(
        "T301 argument `B` of `grow`: expected shape (4, n) = (4, 5), got (4, 3)"
    )


def test_what_a_function_knows_of_itself(way: Any) -> None:
    f = tirscript.build(grow)
    assert f.__name__ == "grow" and f.__doc__ == "Add a number." and f.func is grow
    assert str(inspect.signature(f)) == (
        '(A: T.Buffer((4, n), "float32"), B: T.Buffer((4, n), "float32"), by: T.float32) -> None'
    )
    assert repr(f).startswith("<tirscript function grow(A: T.Buffer(")
    assert f.script() == grow.script() and 'T.block("grow")' in f.script()
    assert isinstance(f.lowered, PrimFunc) and "T.block" not in f.lowered.script()
    assert "define" in f.llvm_ir() and "fadd" in f.llvm_ir()
    assert "ret" in f.assembly()


def test_results(way: Any) -> None:
    f = tirscript.build(
        text("""
        @T.prim_func
        def f(A: T.Buffer(("n",), "float32"), x: T.float32) -> T.int32:
            for i in range(n):
                if A[i] == x:
                    return T.cast(i, "int32")
            return -1
        """)
    )
    a = np.arange(5, dtype=np.float32)
    assert [f(a, x) for x in (0, 3.0, 9)] == [0, 3, -1]
    assert str(inspect.signature(f)).endswith("-> T.int32")


def test_an_assert_of_the_program(way: Any) -> None:
    f = tirscript.build(
        text("""
        @T.prim_func
        def f(n: T.int32):
            assert n > 3, "n is too small"
        """)
    )
    assert f(4) is None
    with pytest.raises(AssertionError, match="n is too small"):
        f(3)


def test_options() -> None:
    for level in range(4):
        f = tirscript.build(grow, opt_level=level, target="llvm")
        b = np.zeros((4, 2), np.float32)
        f(b.copy(), b, 1.0)
        assert (b == 1).all()
    assert told(tirscript.build, grow, target="cuda").startswith("T402 there is no kind of target `cuda` | there are ")
    assert told(tirscript.build, grow, "cuda") == told(tirscript.build, grow, target="cuda")
    assert told(tirscript.build, grow, opt_level=4) == "T404 opt_level is an int from 0 to 3, not 4"
    assert told(tirscript.build, grow, opt_level=True).startswith("T404")
    assert told(tirscript.build, grow, pipeline=3).startswith('T404 pipeline is "default", passes, their text, or None')
    assert told(tirscript.build, grow, pipeline="lower_block").startswith("T404 there is no pass `lower_block`")


@pytest.mark.parametrize(
    ("target", "message"), [("lvm", "no kind of target `lvm`"), ("llvm -mcpu=x -y=1", "option `y`")]
)
def test_the_place_of_a_wrong_target_is_that_of_what_says_it(target: str, message: str) -> None:
    """That of `build` underlined the head of the program, which says nothing of it."""
    kernel = text("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0")
    for program in (kernel, Module((kernel,))):
        with pytest.raises(DiagnosticError, match=message) as caught:
            tirscript.build(program, target=target)
        assert caught.value.diagnostics[0].span is None
    with pytest.raises(DiagnosticError, match=message) as caught:
        tirscript.build(kernel.replace(attrs=Attrs({"target": target})), target="llvm")
    assert caught.value.diagnostics[0].span is kernel.span


def test_debug_adds_checks() -> None:
    program = text("""
    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), i: T.int32):
        A[i] = 1
    """)
    a = np.zeros(4, np.int32)
    assert told(tirscript.build(program, debug=True), a, 4).startswith("T302")
    assert tirscript.build(program, debug=True)(a, 3) is None and a[3] == 1


@pytest.mark.parametrize("options", [{"debug": True}, {"bounds_check": True}, {"debug": True, "target": "c"}])
def test_debug_checks_assumptions(options: dict[str, Any]) -> None:
    """They are what other checks rely on: no index would be checked here."""
    program = text("""
    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32):
        T.assume(0 <= n and n < 4)
        for i in T.vectorized(4):
            T.assume(A[i] != T.undef("int32"))
            T.assume(A[i] > 0)
        B[0] = A[n]
    """)
    a, b = np.array([1, 2, 3, 4], np.int32), np.zeros(4, np.int32)
    built = tirscript.build(program, **options)
    built(a, b, 3)
    assert b[0] == 4
    with pytest.raises(AssertionError, match=r"the assumption does not hold: 0 <= n and n < 4(.|\n)*n = 100000000"):
        built(a, b, 100_000_000)
    a[2] = -1
    with pytest.raises(AssertionError, match=r"the assumption does not hold: A\[i\] > 0(.|\n)*A\[2\] = -1(.|\n)*i = 2"):
        built(a, b, 0)
    assert b[0] == 4


def test_pipelines() -> None:
    a, b = np.ones((4, 3), np.float32), np.zeros((4, 3), np.float32)
    lowered = DEFAULT_LOWERING(grow)
    for x, pipeline in (
        (grow, DEFAULT_LOWERING),
        (grow, list(DEFAULT_LOWERING)),
        (grow, str(DEFAULT_LOWERING)),
        (lowered, None),
    ):
        b[:] = 0
        f = tirscript.build(x, pipeline=pipeline)
        f(a, b, 1.0)
        assert (b == 2).all()
    assert tirscript.build(lowered, pipeline=None).lowered is lowered


class InClass:
    """A class that is no module."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        A[0] = 1.0


def test_what_build_takes() -> None:
    def plain() -> None: ...

    for wrong, words in (
        (3, "not an int"),
        (plain, "not a function; decorate it with `@T.prim_func`"),
        (
            InClass.kernel,
            "not a function; decorate its class `InClass` with `@I.ir_module`, or define it outside of the class",
        ),
        (ROOT, "not a PosixPath"),
        ([grow, grow], f"not a list; {SEVERAL}"),
        ({"grow": grow}, f"not a dict; {SEVERAL}"),
        (tirscript.testing, f"not a module; {SEVERAL}"),
        (int, "not the class int; decorate it with `@I.ir_module`"),
        ("def f(): ...", "not a str; read a text with `tirscript.parse`"),
        (tirscript.Schedule(grow), "not a Schedule; build the function that it has made, `schedule.func`"),
    ):
        with pytest.raises(TypeError) as caught:
            tirscript.build(wrong)
        assert str(caught.value) == f"build takes a PrimFunc, a GraphFunc or a Module, {words}"
        if not isinstance(wrong, tirscript.Schedule):
            with pytest.raises(TypeError) as caught:
                tirscript.interpret(wrong)
            assert str(caught.value) == f"interpret takes a PrimFunc, a GraphFunc or a Module, {words}"
    with pytest.raises(DiagnosticError, match="several functions are a class"):
        tirscript.build(grow, grow)
    again = tirscript.build(tirscript.build(grow))
    assert again.func is grow


def test_programs_are_verified() -> None:
    broken = grow.replace(
        body=(*grow.body, grow.body[0].body[0].body[0].body[0])
    )  # uses the block's axes outside of it
    assert "T201" in told(tirscript.build, broken)


def test_a_symbol_that_no_argument_gives() -> None:
    program = text("""
    @T.prim_func(check_well_formed=False)
    def f(A: T.Buffer(("n + m", "n"), "float32")):
        A[0, 0] = 1.0
    """)
    assert told(tirscript.build, program) == (
        "T206 no argument of `f` gives the symbolic dimension `m` a value"
        " | use it alone as one dimension of a parameter, or make it a scalar parameter"
    )


def test_modules(way: Any, capsys: pytest.CaptureFixture[str]) -> None:
    m = tirscript.build(Two)
    assert isinstance(m, BuiltModule) and m.module is Two
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    m(a, b)
    assert (b == a * 4).all()
    m["double"](a, b)
    assert (b == a * 2).all()
    m.main(a, B=b)
    assert (b == a * 4).all()
    assert [f.__name__ for f in m] == ["double", "main"] and len(m) == 2
    assert "main" in m and "hidden" not in m and "double" in dir(m)
    assert repr(m) == "<tirscript module Two: double, main>" and m.script() == Two.script()
    with pytest.raises(KeyError, match="no public function 'mian'; did you mean 'main'"):
        m["mian"]
    with pytest.raises(KeyError, match="function 'hidden' of module Two is private; leave `private=True` out"):
        m["hidden"]
    assert str(inspect.signature(m)) == str(inspect.signature(m["main"]))
    with pytest.raises(AttributeError, match="no public function 'xyz'; its functions: double, main"):
        m.xyz
    with pytest.raises(TypeError, match=r"module 'Two' is machine code of this process .*\(its `\.module`\)"):
        pickle.dumps(m)
    assert copy.copy(m) is copy.deepcopy(m) is m
    capsys.readouterr()
    m.show()
    assert capsys.readouterr().out.strip() == Two.script().strip()


def test_modules_without_main() -> None:
    one = tirscript.build(Module((Two["double"],), name="One"))
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    one(a, b)
    assert (b == a * 2).all()
    second = Two["double"].replace(name="second")
    several = tirscript.build(Module((Two["double"], second), name="Several"))
    assert told(several, a, b) == (
        "T307 module `Several` has no function `main` to call; its functions: `double`, `second`"
        ' | pick one: `module["name"](...)`'
    )


def test_private_functions_can_be_built_alone() -> None:
    a = np.zeros(4, np.int32)
    tirscript.build(Two["hidden"])(a)
    assert a[0] == 1


def test_built_functions_keep_their_code() -> None:
    f = tirscript.build(Two)["main"]
    gc.collect()
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    f(a, b)
    assert (b == a * 4).all()


def test_functions_go_when_they_are_dropped() -> None:
    program = text("""
    @T.prim_func
    def f(A: T.Buffer((4,), "int32")):
        A[0] = A[0] + 1
    """)
    gc.collect()
    gc.disable()  # nothing may wait for it
    try:
        a = np.zeros(4, np.int32)
        for _ in range(50):
            f = tirscript.build(program, opt_level=0)
            f(a)
            code, function = weakref.ref(f._core.compiled), weakref.ref(f)
            del f
            assert code() is None and function() is None
        assert a[0] == 50
    finally:
        gc.enable()


def test_pass_managers_are_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite.binding.newpassmanagers import NewPassManager

    freed: list[int] = []
    dispose = NewPassManager._dispose
    monkeypatch.setattr(NewPassManager, "_dispose", lambda self: (freed.append(1), dispose(self)))
    tirscript.build(grow)
    assert freed == [1]


GRAPH = """
from tirscript.script import graph as G, ir as I

@I.ir_module
class M:
    @G.graph_func
    def main(x: G.Tensor((4,), "float32")):
        return G.exp(x)
"""


def test_pickling_is_refused() -> None:
    f = tirscript.build(grow)
    module = tirscript.build(tirscript.parse(GRAPH))
    for made in (f, module, module["main"]):
        with pytest.raises(TypeError, match="pickle the program"):
            pickle.dumps(made)
        assert copy.copy(made) is made and copy.deepcopy([made])[0] is made


# -- what is called from inside


def test_python_functions_are_called_and_raise(way: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program = text("""
    @T.prim_func
    def f(A: T.Buffer((4,), "int32")):
        T.evaluate(T.call_packed("test.build.fill", A.data, 7))
        T.print("done", A[0])
    """)

    def fill(array: Any, value: int) -> None:
        if value != 7 or array[1]:
            raise ValueError("not again")
        array[:] = value

    tirscript.register_library("test.build.fill", fill)
    try:
        f = tirscript.build(program)
        a = np.zeros(4, np.int32)
        f(a)
        assert (a == 7).all() and capsys.readouterr().out == "done 7\n"
        for _ in range(3):
            with pytest.raises(ValueError, match="not again"):
                f(a)
    finally:
        unregister_library("test.build.fill")
    assert "T307" in told(f, a)


def test_a_library_function_is_registered_by_a_decorator() -> None:
    @tirscript.register_library("test.build.ones")
    def ones(array: Any) -> None:
        array[:] = 1

    try:
        assert ones.__name__ == "ones" and get_library("test.build.ones") is ones
        with pytest.raises(ValueError, match="registered already"):
            tirscript.register_library("test.build.ones")(lambda array: None)
        assert tirscript.register_library("test.build.ones", override=True)(abs) is abs
    finally:
        unregister_library("test.build.ones")


def test_a_function_that_was_not_found_is_no_decorator() -> None:
    with pytest.raises(TypeError, match="is to be registered, but None cannot be called"):
        tirscript.register_library("test.build.none", None)


def test_cost_decides_about_the_lock() -> None:
    head = "from tirscript.script import tir as T\n@T.prim_func\ndef f(A: T.Buffer((64,), 'float32'), n: T.int32):\n"

    def cost(body: str) -> Any:
        return parse(head + "\n".join(f"    {line}" for line in body.splitlines()))

    short = cost("for i in range(64):\n    A[i] = A[i] + 1.0")
    assert 64 <= estimated_cost(short) < 1000 and not releases_gil(short)
    stepped = cost("for i in range(0, 64, 2):\n    A[i] = A[i] + 1.0")
    assert estimated_cost(stepped) * 2 == estimated_cost(short)
    nested = cost("for i, j, k in T.grid(64, 64, 64):\n    A[i] = A[i] + T.exp(A[j])")
    assert releases_gil(nested) and estimated_cost(nested) > 64**3
    assert releases_gil(cost("for i in range(n):\n    A[i] = A[i] + 1.0"))
    assert releases_gil(cost("i: T.int32 = 0\nwhile i < 3:\n    i = i + 1"))
    assert estimated_cost(cost("for i in range(3, 2):\n    A[i] = 1.0")) == 0
    branches = cost("if n > 3:\n    for i in range(64):\n        A[i] = 1.0\nelse:\n    A[0] = 2.0")
    assert 64 <= estimated_cost(branches) < 200
    loud = cost("for i in range(n):\n    T.print(i)")
    assert needs_gil(loud) and not releases_gil(loud)
    assert not releases_gil(Two["main"], Two) and releases_gil(Two["main"])
    assert estimated_cost(grow) == float("inf")


def test_the_lock_is_let_go_while_a_kernel_runs() -> None:
    spin = tirscript.build(
        text("""
        @T.prim_func
        def spin(A: T.Buffer((1,), "int32"), n: T.int64):
            i: T.int64 = 0
            while i < n:
                i = i + 1
                A[0] = A[0] * 3 + T.cast(i, "int32")
        """)
    )
    seen, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            seen[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for _ in range(20):  # the other thread may get no processor during one call
            before = seen[0]
            spin(np.zeros(1, np.int32), 50_000_000)
            if seen[0] > before:
                break
        assert seen[0] > before
    finally:
        stop.set()
        thread.join()


# -- the public names


def test_public_names() -> None:
    for name in tirscript.__all__:
        assert getattr(tirscript, name) is not None
        assert name in dir(tirscript)
    for package in (tirscript, tirscript.passes, tirscript.testing):
        shown = {name for name in dir(package) if not name.startswith("__")}
        assert set(package.__all__) <= shown and not shown & {"Any", "TYPE_CHECKING", "_NAMES", "annotations"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tirscript.nothing


def test_importing_build_loads_nothing_heavy() -> None:
    code = "import sys; from tirscript import jit; print(*sorted({'numpy', 'llvmlite', 'libcst'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")}
    )
    assert done.stdout.split() == []


def test_a_call_is_quick() -> None:
    import timeit

    f = tirscript.build(Two["double"])
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    best = min(timeit.repeat(lambda: f(a, b), number=2000, repeat=5)) / 2000
    assert best < 2e-6  # 50 ns on an idle machine; the slow path takes more than this


def test_torch_tensors_share_their_memory() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.arange(8, dtype=torch.float32).reshape(4, 2), torch.zeros(4, 2)
    tirscript.build(grow)(a, b, 1.0)
    assert torch.equal(b, a + 1)


def test_a_private_graph_function_alone_is_built() -> None:
    text = '@G.graph_func(private=True)\ndef f(x: G.Tensor((4,), "int32")):\n    return G.add(x, x)\n'
    assert tirscript.build(parse(text))(np.arange(4, dtype="int32")).tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize(
    "use", ["B[n] = 1.0", 'A = T.decl_buffer((n * 16,), "float32", data=B.data); A[0] = 1.0'], ids=["index", "size"]
)
def test_what_was_not_checked_is_told_where_no_code_can_be_made_of_it(use: str, target: str) -> None:
    head = '@T.prim_func(check_well_formed=False)\ndef f(B: T.Buffer((4,), "float32")):\n    n = T.int32()\n'
    with pytest.raises(DiagnosticError) as raised:
        tirscript.build(parse(f"{head}    {use}\n"), target)
    assert [(one.code, one.message) for one in raised.value.diagnostics] == [
        ("T206", "nothing defines the variable `n`")
    ]


def test_a_module_has_one_function_of_a_name() -> None:
    again = grow.replace(attrs=Attrs({"fastmath": False}))
    for functions in ((grow, grow), (grow, again)):
        with pytest.raises(DiagnosticError, match="the module has two functions named `grow`") as caught:
            tirscript.build(Module(functions))
        assert [one.code for one in caught.value.diagnostics] == ["T202"]
