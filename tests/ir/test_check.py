"""Arguments of public functions: right ones pass quickly, wrong ones are refused in the user's words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import pytest

import tirscript
from tirscript import BlockBuilder, ConstantStore
from tirscript.ir import Buffer, DiagnosticError, Expr, Node, PrimFunc, Stmt, Var, const, structural_equal
from tirscript.ir.check import describe, fits, in_words, public
from tirscript.ir.check import test_of as quick_test

T = TypeVar("T")


@public
def script(
    node: Node | tuple[Stmt, ...], *, width: int = 100, dialect: str | None = None, mode: Literal["a", "b"] = "a"
) -> str:
    """Doc."""
    return "done"


@public
def parse(text: str, names: dict[str, Any] | None = None, /, path: str | Path = "") -> str:
    return "done"


@public
def variadic(first: int, *rest: Any, **options: Any) -> int:
    return first


@public
def loose(x, y: Any, z: object, t: T, scale: float = 1.0) -> T:  # type: ignore[no-untyped-def]
    return t


def test_right_arguments_pass() -> None:
    x = Var(name="x")
    assert script(x) == script((), width=3, dialect=None, mode="b") == "done"
    assert parse("x") == parse("x", {"a": 1}, path=Path()) == "done"
    assert variadic(1, "a", b=3) == 1
    assert loose(1, 2, 3, "t", 2) == "t"
    assert (script.__name__, script.__doc__) == ("script", "Doc.")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: script("x"),
            "script() takes a program (Node) or a tuple of statements (Stmt) as its first argument, not a str; did you mean parse(text)?",
        ),
        (lambda: script(len), "not the Python function len; decorate it with @T.prim_func first"),
        (lambda: script(None), "as its first argument, not None"),
        (lambda: script((1, 2)), "not a tuple of int"),
        (lambda: script(Var), "not the class Var"),
        (lambda: script(sys), "not the Python module sys"),
        (lambda: script(const(1), width="3"), "script() takes an int as `width`, not a str"),
        (lambda: script(const(1), dialect=3), "script() takes a string or None as `dialect`, not an int"),
        (lambda: script(const(1), mode="c"), "script() takes 'a' or 'b' as `mode`, not a str"),
        (lambda: script(node=5), "as `node`, not an int"),
        (lambda: parse(const(1)), "parse() takes a string as its first argument, not a Const; it is a program already"),
        (lambda: parse(print), "not the Python function print; decorate it with @T.prim_func instead"),
        (lambda: parse("x", [1]), "parse() takes a dict or None as its second argument, not a list of int"),
        (lambda: ConstantStore().collect(3), "collect() takes a program (Node) as its first argument, not an int"),
        (lambda: BlockBuilder().emit(3), "emit() takes a GraphExpr as its first argument, not an int"),
        (lambda: BlockBuilder().emit(value=3), "emit() takes a GraphExpr as `value`, not an int"),
        (lambda: parse("x", {1: 2}), ""),
        (lambda: parse("x", path=3), "parse() takes a string or a path as `path`, not an int"),
        (lambda: variadic("1"), "variadic() takes an int as its first argument, not a str"),
        (lambda: loose(1, 2, 3, 4, scale="1"), "loose() takes a float as `scale`, not a str"),
    ],
)
def test_wrong_arguments(make: Callable[[], Any], message: str) -> None:
    if not message:  # keys and values of a mapping are not looked at
        make()
        return
    with pytest.raises(TypeError) as caught:
        make()
    assert message in str(caught.value)


def test_missing_arguments_are_pythons_business() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'node'"):
        script()
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        script(const(1), q=1)


class Sized(Protocol):
    def __len__(self) -> int: ...


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (list[int], [1, 2], [1, "a"]),
        (tuple[Expr | Buffer, ...], (const(1), Buffer(name="A", shape=())), (1,)),
        (tuple[int, str], (1, "a"), ("a", 1)),
        (tuple[int, str], (1, "a"), (1, "a", "b")),
        (str | tuple[str, int | str], ("a", 1), ("a", 1.5)),
        (tuple[list[int], Any], ([1], 3), (["a"], 3)),
        (tuple[list[int], ...], ([1],), (["a"],)),
        (Sequence[str], ["a"], 3),
        (Iterable[str], iter("a"), 3),
        (Mapping[str, int], {"a": 1}, [1]),
        (Callable[[int], int], len, 3),
        (Callable[..., Any], len, 3),
        (str | Callable[..., Any], len, 3),
        (type[Node], Var, 3),
        (set[int], {1}, {"a"}),
        (complex, 1, "a"),
        (None, None, 1),
        (tuple, (1,), [1]),
        (int | list[str], ["a"], [1]),
    ],
)
def test_annotations(hint: Any, right: Any, wrong: Any) -> None:
    def accepts(value: Any) -> bool:
        test = quick_test(hint)
        quick = test is None or (isinstance(value, test) if isinstance(test, tuple) else test(value))
        assert not quick or fits(value, hint) is None
        return quick or fits(value, hint) is None

    assert accepts(right)
    assert not accepts(wrong)


def test_protocols_are_left_to_typeguard() -> None:
    test = quick_test(Sized)
    assert callable(test)
    assert not test([])
    assert fits([], Sized) is None
    assert fits(3, Sized) is not None


def test_what_a_dict_holds_is_left_to_typeguard() -> None:
    assert fits({"a": 1}, Mapping[str, int]) is None
    assert fits({"a": "b"}, Mapping[str, int]) is not None
    assert fits([{"a": "b"}], list[Mapping[str, int] | None]) is not None


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Any, "any value"),
        (None, "None"),
        (Node | None, "a program (Node) or None"),
        (PrimFunc | str | None, "a function (PrimFunc), a string or None"),
        (tuple[Stmt, ...], "a tuple of statements (Stmt)"),
        (list[int | str], "a list of an int or a string"),
        (dict[str, int], "a dict"),
        (Callable[..., Any], "a function"),
        (Literal["x"], "'x'"),
        (bytearray, "a bytearray"),
        (OSError, "an OSError"),
        (list, "a list"),
    ],
)
def test_words(hint: Any, words: str) -> None:
    assert in_words(hint) == words


def test_descriptions() -> None:
    assert [describe(value) for value in (1, "a", [1, "a"], (), OSError())] == [
        "an int",
        "a str",
        "a list of int and str",
        "a tuple",
        "an OSError",
    ]


def test_no_typeguard_for_right_arguments() -> None:
    code = (
        "import sys\nfrom tirscript.ir import Var, structural_equal, verify, rewrite, PrimFunc\nx = Var(name='x')\n"
        "structural_equal(x, x); rewrite(x, {}); verify(PrimFunc(name='f', params=(), body=()))\n"
        "from collections.abc import Sequence\nfrom tirscript.ir.check import fits\n"
        "for value, hint in (([1, None], Sequence[int | None]), ('a', int | str), (None, None), ({1}, set[int])):\n"
        "    assert fits(value, hint) is None\nassert fits([1], None) == 'list is not None'\n"
        "print('typeguard' in sys.modules)"
    )
    path = str(Path(tirscript.__path__[0]).parent)
    result = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


def test_a_keyword_that_is_not_taken_is_told_with_the_nearest_one() -> None:
    @public
    def build(x: int, *, target: str = "", width: int = 3) -> str:
        return f"{x}{target}{width}"

    with pytest.raises(
        TypeError, match=r"^build\(\) got an unexpected keyword argument 'targt'; did you mean `target`\?$"
    ):
        build(1, targt="c")  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"^build\(\) got an unexpected keyword argument 'colour'; it takes `target`, `width`$"
    ):
        build(1, colour="c")  # type: ignore[call-arg]

    @public
    def anything(x: int, **others: Any) -> int:
        return x + len(others)

    assert anything(1, targt="c", width=2) == 3 and build(1, width=4) == "14"


@pytest.mark.skipif(os.environ.get("TIRSCRIPT_CHECK") == "arguments", reason="the arguments of functions are checked")
def test_what_holds_a_program_is_told_to_hold_it() -> None:
    from tirscript import Schedule
    from tirscript.passes import get_pass

    func = PrimFunc("f", (), ())
    with pytest.raises(TypeError, match=r"not a Schedule; its function is `.func`$"):
        structural_equal(func, Schedule(func))  # type: ignore[arg-type]
    with pytest.raises(DiagnosticError) as caught:
        get_pass("simplify")(Schedule(func))  # type: ignore[type-var]
    assert caught.value.diagnostics[0].hint == "its function is `.func`"
    with pytest.raises(DiagnosticError) as caught:
        get_pass("legalize_ops")(3)  # type: ignore[type-var]
    assert caught.value.diagnostics[0].hint is None


def test_a_variable_of_types_is_told_by_what_it_stands_for() -> None:
    assert in_words(TypeVar("Program", PrimFunc, Var)) == "a function (PrimFunc) or a variable (Var)"
    assert in_words(TypeVar("Value", bound=Stmt)) == "a statement (Stmt)"
    assert in_words(TypeVar("Any")) == "any value"


def test_quick() -> None:
    node = const(1)
    calls: list[str] = []
    sys.setprofile(lambda frame, event, what: calls.append(event) if event == "call" else None)
    try:
        script(node, width=3)
    finally:
        sys.setprofile(None)
    assert len(calls) <= 4, calls  # the function, what checks it, and one test of a class
