"""What a call accepts, what it binds, and what it tells about the rest."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirscript.backend.build import build
from tirscript.backend.interpreter import interpret
from tirscript.backend.runtime.arguments import bind_arguments, written_params
from tirscript.backend.runtime.arrays import ArrayProblem, as_array, numpy_dtype
from tirscript.ir import Buffer, DiagnosticError, const, dtype
from tirscript.script import parse

HEADER = "from tirscript.script import ir as I, tir as T\n\n\n"


def program(text: str) -> Any:
    return parse(HEADER + text.lstrip("\n"))


def refusals(func: Any, *args: Any, **kwargs: Any) -> list[str]:
    """What is told about a call that is wrong."""
    with pytest.raises(DiagnosticError) as caught:
        bind_arguments(func, args, kwargs)
    assert all(found.code in ("T301", "T206") for found in caught.value.diagnostics)
    return [found.message for found in caught.value.diagnostics]


def refusal(func: Any, *args: Any, **kwargs: Any) -> str:
    (message,) = refusals(func, *args, **kwargs)
    return message


ADD = program("""
@T.prim_func
def add(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n", 4), "float32"), alpha: T.float32, k: T.int8, flag: T.bool):
    for i, j in T.grid(n, 4):
        B[i, j] = A[i, j] * alpha
""")
GOOD = (np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32), 0.5, 3, True)


def zeros(*shape: int, kind: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.zeros(shape, kind)


def test_a_good_call_is_bound() -> None:
    bound = bind_arguments(ADD, GOOD, {})
    assert [array is given for array, given in zip(bound.arrays.values(), GOOD, strict=False)] == [True, True]
    assert {var.name: value for var, value in bound.symbols.items()} == {"n": 3}
    assert {var.name: value for var, value in bound.scalars.items()} == {"alpha": 0.5, "k": 3, "flag": True}
    by_name = bind_arguments(ADD, GOOD[:2], {"flag": False, "k": np.int64(-4), "alpha": np.float64(0.1)})
    assert {var.name: value for var, value in by_name.scalars.items()} == {
        "alpha": float(np.float32(0.1)),
        "k": -4,
        "flag": False,
    }


def test_counts_and_names() -> None:
    assert refusal(ADD, *GOOD[:3]) == "`add` takes 5 arguments (A, B, alpha, k, flag), but `k`, `flag` are missing"
    assert refusal(ADD, *GOOD[:4]).endswith("but `flag` is missing")
    with pytest.raises(DiagnosticError, match=r"help: unpack it: `f\(\*arguments\)`"):
        bind_arguments(ADD, [list(GOOD)], {})
    assert refusal(ADD, *GOOD, 1) == "`add` takes 5 arguments (A, B, alpha, k, flag), but 6 are given"
    assert refusal(ADD, *GOOD, A=1) == "argument `A` of `add` is given twice"
    with pytest.raises(DiagnosticError) as caught:
        bind_arguments(ADD, GOOD[:2], {"alpa": 1})
    assert caught.value.diagnostics[0].hint == "did you mean `alpha`?"


def test_dtypes() -> None:
    good = GOOD[1:]
    assert (
        refusal(ADD, zeros(3, 4, kind=np.float64), *good)
        == "argument `A` of `add`: expected an array of float32, got an array of float64"
    )
    swapped = zeros(3, 4).astype(">f4")
    assert refusal(ADD, swapped, *good).endswith("got an array of float32 in foreign byte order")
    with pytest.raises(DiagnosticError) as caught:
        bind_arguments(ADD, (zeros(3, 4, kind=np.int32), *good), {})
    (found,) = caught.value.diagnostics
    assert found.hint is not None and 'array.astype("float32")' in found.hint
    assert found.span is not None and found.span.line == 5 and found.span.text.startswith("A: T.Buffer")


def test_dimensions_and_shapes() -> None:
    good = GOOD[1:]
    assert (
        refusal(ADD, zeros(12), *good)
        == "argument `A` of `add`: expected 2 dimensions, of shape (n, 4), got 1 dimension, of shape (12,)"
    )
    assert refusal(ADD, zeros(3, 5), *good) == "argument `A` of `add`: expected shape (n, 4) = (3, 4), got (3, 5)"
    assert (
        refusal(ADD, zeros(2, 4), *good)
        == "argument `B` of `add`: expected shape (n, 4) = (2, 4), got (3, 4); `n` is 2, dimension 0 of `A`"
    )
    assert len(refusals(ADD, zeros(2, 5), zeros(4, 6), *GOOD[2:])) == 2


def test_shape_expressions() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer(("n * 2", "m"), "int32"), B: T.Buffer(("n", "m + 1"), "int32"), m: T.int64):
    for i in range(n):
        B[i, 0] = A[i, 0]
""")
    bound = bind_arguments(f, (zeros(6, 5, kind=np.int32), zeros(3, 6, kind=np.int32), 5), {})
    assert {var.name: value for var, value in bound.symbols.items()} == {"n": 3}
    message = refusal(f, zeros(7, 5, kind=np.int32), zeros(3, 6, kind=np.int32), 5)
    assert (
        message == "argument `A` of `f`: expected shape (n * 2, m) = (6, 5), got (7, 5); `n` is 3, dimension 0 of `B`"
    )
    assert "`m` is 4" in refusal(f, zeros(6, 4, kind=np.int32), zeros(3, 6, kind=np.int32), 4)


def test_scalars() -> None:
    a, b = GOOD[:2]
    assert (
        refusal(ADD, a, b, 0.5, 300, True)
        == "argument `k` of `add`: expected an integer of int8, which holds -128 to 127, got 300"
    )
    assert refusal(ADD, a, b, 0.5, 1.5, True) == "argument `k` of `add`: expected an integer (int8), got 1.5"
    assert refusal(ADD, a, b, "x", 1, True) == "argument `alpha` of `add`: expected a number (float32), got 'x'"
    assert refusal(ADD, a, b, 1.0, 1, 1) == "argument `flag` of `add`: expected a bool, got 1"
    assert (
        refusal(ADD, a, b, a, 1, True)
        == "argument `alpha` of `add`: expected a number (float32), got an array of float32 and shape (3, 4)"
    )
    assert refusal(ADD, None, b, 1.0, 1, True) == "argument `A` of `add`: expected an array for `A`, got None"
    assert refusal(ADD, [1.0], b, 1.0, 1, True) == "argument `A` of `add`: expected an array for `A`, got a list"
    assert len(refusals(ADD, None, b, "x", 1.5, 1)) == 4


def test_scalars_that_are_too_large_to_write() -> None:
    """Python makes no float of 10**400, and writes no integer of over 4,300 digits."""
    a, b = GOOD[:2]
    huge = 10**5000
    for value in (10**400, huge, -huge):
        said = refusal(ADD, a, b, value, 1, True)
        assert said.startswith("argument `alpha` of `add`: expected a number (float32), got an integer of 1"), said
    assert refusal(ADD, a, b, 1.0, huge, True).endswith("which holds -128 to 127, got an integer of 16610 bits")
    assert refusal(ADD, a, b, 1.0, 1, huge) == "argument `flag` of `add`: expected a bool, got an integer of 16610 bits"
    assert len(refusal(ADD, a, b, "x" * 100_000, 1, True)) < 500


class Evasive:
    """An object that does not say what class it is of."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no answer")


class Silent(float):
    def __float__(self) -> float:
        raise RuntimeError("no value")

    __repr__ = __float__  # type: ignore[assignment]


class Numberless:
    def __index__(self) -> int:
        raise RuntimeError("no number")


def test_what_a_scalar_raises_is_told() -> None:
    a, b = GOOD[:2]
    assert refusal(ADD, a, b, 0.5, Numberless(), True).endswith(
        "expected an integer (int8), got a Numberless: no number"
    )
    assert refusal(ADD, a, b, Silent(), 1, True).endswith("expected a number (float32), got a Silent: no value")
    assert refusal(ADD, a, b, 0.5, 1, Silent()).endswith("expected a bool, got a Silent: no value")
    (*said,) = refusals(ADD, Evasive(), b, Evasive(), Evasive(), Evasive())
    assert [one.rpartition(", ")[2] for one in said] == [
        "got an Evasive: no answer",
        *["got an Evasive"] * 3,
    ]


@pytest.mark.parametrize("value", [np.complex64(1 + 2j), np.timedelta64(5, "s"), np.ma.masked])
def test_numbers_that_are_not_real_are_no_floats(value: Any) -> None:
    """Of a complex number half would be lost; a time is an integer to numpy, and no number."""
    a, b = GOOD[:2]
    assert "argument `alpha` of `add`: expected a number (float32), got" in refusal(ADD, a, b, value, 3, True)


def test_float_scalars_are_rounded_to_their_dtype() -> None:
    f = program("""
@T.prim_func
def f(x: T.bfloat16, y: T.float64, z: T.float16):
    pass
""")
    bound = bind_arguments(f, (1.00390625000001, 1 / 3, 1e9), {})
    assert list(bound.scalars.values()) == [1.0078125, 1 / 3, float("inf")]
    assert list(bind_arguments(f, (ml_dtypes.bfloat16(2), 1, np.float16(0.5)), {}).scalars.values()) == [2.0, 1.0, 0.5]


def test_strides() -> None:
    good = GOOD[1:]
    message = refusal(ADD, zeros(4, 3).T, *good)
    assert message.startswith(
        "argument `A` of `add`: expected an array without gaps in row-major order, got strides (1, 3)"
    )
    assert "strides" in refusal(ADD, zeros(3, 8)[:, ::2], *good)
    bind_arguments(ADD, (zeros(2, 4)[:1], zeros(1, 8)[:, :4], *GOOD[2:]), {})  # strides of single rows do not matter
    declared = program("""
@T.prim_func
def f(a: T.handle, b: T.handle):
    s = T.int64()
    A = T.match_buffer(a, (4, 4), "float32", strides=(s, 1))
    B = T.match_buffer(b, (4, 4), "float32", strides=(s * 2, 1))
    B[0, 0] = A[0, 0]
""")
    bound = bind_arguments(declared, (zeros(4, 6)[:, :4], zeros(4, 12)[:, :4]), {})
    assert list(bound.symbols.values()) == [6]
    message = refusal(declared, zeros(4, 6)[:, :4], zeros(4, 4))
    assert message == "argument `B` of `f`: expected stride s * 2 = 12 in dimension 0, got 4 (in elements)"
    raw = np.zeros(100, np.uint8)[: 6 * 4 * 4].view(np.dtype([("x", "<f4"), ("pad", "u1", 2)]))["x"][:16].reshape(4, 4)
    message = refusal(declared, raw, zeros(4, 12)[:, :4])
    assert "aligned" in message or "whole elements" in message


def test_a_copy_of_what_is_written_has_the_result() -> None:
    good: Any = GOOD[1]
    locked = good.copy()
    locked.flags.writeable = False
    for wrong in (locked, good[::-1], good.astype(">f4"), good.tolist()):
        for at, notes in ((1, ("`B` is written: the result is in the array that is passed",)), (0, ())):
            given = list(GOOD)
            given[at] = wrong
            try:
                bind_arguments(ADD, given, {})
            except DiagnosticError as problem:
                (found,) = problem.diagnostics
                assert found.hint is not None and found.notes == notes
            else:
                assert at == 0 and wrong is locked  # what is only read may be locked


def test_readonly_arrays() -> None:
    frozen = zeros(3, 4)
    frozen.flags.writeable = False
    bind_arguments(ADD, (frozen, *GOOD[1:]), {})
    assert (
        refusal(ADD, GOOD[0], frozen, *GOOD[2:])
        == "argument `B` of `add`: expected an array that can be written, got a read-only one"
    )


def test_unaligned_arrays() -> None:
    raw = np.zeros(3 * 4 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(3, 4)
    assert "aligned to 4 bytes" in refusal(ADD, raw, *GOOD[1:])


def test_symbol_that_no_buffer_determines() -> None:
    f = program("""
@T.prim_func(check_well_formed=False)
def f(A: T.Buffer(("n + m", "n"), "int32")):
    A[0, 0] = 1
""")
    with pytest.raises(DiagnosticError) as caught:
        bind_arguments(f, (zeros(4, 2, kind=np.int32),), {})
    assert caught.value.diagnostics[0].code == "T206" and "`m`" in caught.value.diagnostics[0].message


def names(func: Any, module: Any = None) -> set[str]:
    return {param.name for param in written_params(func, module)}


def test_which_parameters_are_written() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), d: T.handle, E: T.Buffer((4,), "int32"), X: T.Buffer((4,), "int32")):
    D = T.match_buffer(d, (4,), "int32")
    V = T.decl_buffer((2, 2), "int32", data=B.data)
    R = T.decl_buffer((2, 2), "int32", data=A.data)
    W = T.match_buffer(C[1:3], (2,), "int32")
    V[0, 0] = R[0, 0]
    W[0] = 1
    D[0] = 1
    T.evaluate(T.call_extern("int32", "touch", T.address_of(E[0]), X[0]))
""")
    assert names(f) == {"B", "C", "d", "E"}
    m = program("""
@I.ir_module
class M:
    @T.prim_func
    def g(P: T.Buffer((4,), "int32"), Q: T.Buffer((4,), "int32")):
        Q[0] = P[0]

    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        M.g(A, B)
""")
    assert names(m["main"], m) == {"B"}
    assert names(m["main"]) == {"A", "B"}


class Exporter:
    """What a DLPack producer looks like; without `versioned` it is one of the first version."""

    def __init__(self, array: np.ndarray[Any, Any], versioned: bool) -> None:
        self.array = array
        if versioned:
            self.__class__ = VersionedExporter

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.array.__dlpack__()


VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # numpy makes capsules of later versions than the first


class VersionedExporter(Exporter):
    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        return self.array.__dlpack__(max_version=max_version) if VERSIONED else self.array.__dlpack__()


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_shares_memory(versioned: bool) -> None:
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = zeros(3, 4)
    interpret(ADD, Exporter(data, versioned), Exporter(out, versioned), 2.0, 1, True)
    assert np.array_equal(out, data * 2)
    view = as_array(Exporter(out[:, 1:], versioned), Buffer("B", (const(3), const(3))), writable=True)
    view[...] = 5
    assert out[0].tolist() == [0, 5, 5, 5] and view.strides == (16, 4)


@pytest.mark.skipif(not VERSIONED, reason="this numpy makes no capsules that can say read-only")
@pytest.mark.parametrize("read_only", [False, True])
def test_dlpack_says_what_is_read_only(read_only: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = zeros(3)
    data.flags.writeable = not read_only
    exporter = Exporter(data, versioned=True)
    frozen = data.view()
    frozen.flags.writeable = False
    monkeypatch.setattr(np, "from_dlpack", lambda value: frozen)  # as numpy before 2.1 views every producer
    buffer = Buffer("B", (const(3),))
    if read_only:
        with pytest.raises(ArrayProblem, match="a read-only one"):
            as_array(exporter, buffer, writable=True)
    else:
        as_array(exporter, buffer, writable=True)[...] = 5
    assert data.tolist() == ([0, 0, 0] if read_only else [5, 5, 5])


def test_bytes_and_memoryviews() -> None:
    f = program("""
@T.prim_func
def f(A: T.Buffer(("n",), "int32"), B: T.Buffer((2, 2), "int32")):
    for i in range(n):
        B[i // 2, i % 2] = A[i] + 1
""")
    out = bytearray(16)
    interpret(f, np.arange(4, dtype=np.int32).tobytes(), out)
    assert np.frombuffer(out, np.int32).tolist() == [1, 2, 3, 4]
    assert "read-only" in refusal(f, bytes(16), bytes(16))
    assert "whole elements of int32" in refusal(f, bytes(15), out)
    import array

    interpret(f, memoryview(np.zeros(2, np.int32)), np.zeros((2, 2), np.int32))
    assert "float32" in refusal(f, array.array("f", [1.0]), out)
    assert as_array(array.array("i", [1, 2]), Buffer("A", (const(2),), dtype("int32"))).tolist() == [1, 2]


def test_small_floats_only_as_themselves() -> None:
    buffer = Buffer("H", (const(2),), dtype("bfloat16"))
    half = np.zeros(2, ml_dtypes.bfloat16)
    assert as_array(half, buffer) is half
    with pytest.raises(ArrayProblem) as caught:
        as_array(np.zeros(2, np.uint16), buffer)
    assert "array.view(ml_dtypes.bfloat16)" in (caught.value.hint or "")
    assert numpy_dtype(dtype("float8_e4m3fnx4")) == ml_dtypes.float8_e4m3fn


def test_handles() -> None:
    f = program("""
@T.prim_func
def f(p: T.handle("float32"), n: T.int32):
    P = T.decl_buffer((n,), "float32", data=p)
    for i in range(n):
        P[i] = 1.0
""")
    a = zeros(2, 3)
    interpret(f, a, 6)
    assert a.sum() == 6
    assert "an array of float32" in refusal(f, zeros(3, kind=np.int32), 3)
    assert "without gaps" in refusal(f, zeros(3, 4)[:, :2], 3)
    with pytest.raises(DiagnosticError, match="is null"):
        interpret(f, None, 3)


def test_the_strides_that_an_array_has_are_how_a_kernel_takes_it() -> None:
    flat = program("@T.prim_func\ndef f(A: T.Buffer(('n',), 'float32')):\n    A[1] = 1.0\n")
    square = program("@T.prim_func\ndef f(A: T.Buffer((4, 4), 'float32')):\n    A[0, 1] = 1.0\n")
    cases = [
        (square, np.asfortranarray(zeros(4, 4)), "(4, 4)", "s = T.int64()", "(1, s)"),
        (square, zeros(8, 8)[::2, ::2], "(4, 4)", "s0, s1 = T.int64(), T.int64()", "(s0, s1)"),
        (flat, zeros(8)[::2], "(4,)", "s = T.int64()", "(s,)"),
    ]
    for kernel, array, shape, made, strides in cases:
        with pytest.raises(DiagnosticError) as caught:
            build(kernel)(array)
        hint = caught.value.diagnostics[0].hint or ""
        assert f"`{made}`, `T.match_buffer(a, shape, strides={strides})`" in hint
        place = "A[1]" if kernel is flat else "A[0, 1]"
        followed = program(
            f"@T.prim_func\ndef f(a: T.handle):\n    {made}\n    A = T.match_buffer(a, {shape}, strides={strides})\n    {place} = 1.0\n"
        )
        build(followed)(array)
        assert array.sum() == 1


def test_a_shape_is_told_with_its_parentheses() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer(("n",), "int32"), B: T.Buffer(("16 // (n - 8) * (n + 1)",), "int32")):\n    A[0] = 1\n'
    with pytest.raises(DiagnosticError) as caught:
        build(parse(text))(np.zeros(8, "int32"), np.zeros(8, "int32"))
    assert "its shape (16 // (n - 8) * (n + 1),) divides by zero" in caught.value.diagnostics[0].message


@pytest.mark.parametrize("options", [{}, {"target": "c"}], ids=["llvm", "c"])
def test_a_parameter_may_have_any_name(options: dict[str, Any]) -> None:
    text = '@T.prim_func\ndef f(self: T.Buffer((4,), "int32"), args: T.int32, kwargs: T.int32):\n    self[0] = args - kwargs\n'
    array = np.zeros(4, "int32")
    build(parse(text), **options)(self=array, kwargs=2, args=9)
    assert array[0] == 7
    graph = parse('@G.graph_func\ndef f(self: G.Tensor((4,), "int32")):\n    return G.add(self, self)\n')
    assert build(graph, **options)(self=array).tolist() == [14, 0, 0, 0]


def test_arguments_of_graph_functions_are_told_at_the_parameter() -> None:
    text = '@G.graph_func\ndef f(x: G.Tensor((4,), "float32"), y: G.Tensor((4,), "float32")):\n    return G.add(x, y)\n'
    function = build(parse(text))
    with pytest.raises(DiagnosticError) as caught:
        function(np.zeros(4, "float32"), np.zeros(4, "float64"))
    assert caught.value.diagnostics[0].labels[0].span.text.startswith("y: G.Tensor")
    with pytest.raises(DiagnosticError, match=r"help: unpack it: `f\(\*arguments\)`"):
        function([1, 2])
    with pytest.raises(DiagnosticError, match="but `x`, `y` are missing"):
        function()
    with pytest.raises(DiagnosticError, match="but `y` is missing"):
        function(np.zeros(4, "float32"))
