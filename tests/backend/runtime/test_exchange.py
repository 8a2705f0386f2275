"""Calls by keyword and with tensors of other libraries, which entries take without the slow path."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.runtime import exchange, layout
from tirscript.ir import DiagnosticError, dtype
from tirscript.script import tir as T

pytestmark = pytest.mark.skipif(not layout.direct_calls(), reason="entries do not read this Python's structs")


@T.prim_func
def mixed(A: T.Buffer(("n",), "float32"), k: T.int32, B: T.Buffer(("n",), "float32"), x: T.float64) -> T.int64:
    for i in range(n):
        B[i] = A[i] * T.cast(x, "float32") + T.cast(k, "float32")
    return T.int64(n)


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError(f"the slow path was taken for {args} {kwargs}")


@pytest.fixture
def native() -> Callable[..., Any]:
    """Builds a function that has no slow path any more."""
    exchange.enable()

    def make(program: Any) -> Any:
        function = tirscript.build(program)
        function._slow = refuse
        return function

    return make


# -- keywords


def test_every_way_to_give_arguments_by_name(native: Callable[..., Any]) -> None:
    f = native(mixed)
    A, B = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    given = {"A": A, "k": 5, "B": B, "x": 2.0}
    for count in range(5):
        rest = list(given)[count:]
        for order in itertools.permutations(rest):
            B[:] = 0
            assert f(*list(given.values())[:count], **{name: given[name] for name in order}) == 3
            assert B.tolist() == [5, 7, 9]


def test_the_first_call_by_name_makes_the_next_ones_native() -> None:
    f = tirscript.build(mixed)
    A, B = np.ones(2, "float32"), np.zeros(2, "float32")
    assert f(A, x=1.0, B=B, k=1) == 2
    f._slow = refuse
    assert f(A, x=1.0, B=B, k=2) == 2 and B.tolist() == [3, 3]


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda f, A: f(A, 1, A, x=1.0, A=A), "argument `A` of `mixed` is given twice"),
        (lambda f, A: f(A, k=1, B=A), "`x` is missing"),
        (lambda f, A: f(A, k=1, B=A, y=1.0), "has no parameter `y`"),
        (lambda f, A: f(A, A, A, 1.0, k=2), "is given twice"),
        (lambda f, A: f(A, 1, A, 1.0, 2.0), "but 5 are given"),
        (lambda f, A: f(A, A=A), "is given twice"),
        (lambda f, A: f(), "are missing"),
    ],
)
def test_mistakes_are_told(call: Any, message: str) -> None:
    exchange.enable()
    with pytest.raises(DiagnosticError, match=message):
        call(tirscript.build(mixed), np.ones(2, "float32"))


def test_names_that_are_made_at_run_time_are_taken_too() -> None:
    exchange.enable()
    f, B = tirscript.build(mixed), np.zeros(2, "float32")
    words = {"".join(["", name]): value for name, value in {"k": 1, "B": B, "x": 2.0}.items()}
    assert f(np.ones(2, "float32"), **words) == 2 and B.tolist() == [3, 3]


def test_a_function_without_parameters_takes_no_names(native: Callable[..., Any]) -> None:
    @T.prim_func
    def nothing() -> T.int32:
        return T.int32(7)

    assert native(nothing)() == 7
    with pytest.raises(DiagnosticError, match="has no parameter `a`"):
        tirscript.build(nothing)(a=1)


def test_parameters_of_one_name_cannot_be_told_apart() -> None:
    exchange.enable()
    x, y = tirscript.ir.Var("x"), tirscript.ir.Var("x")
    f = tirscript.build(tirscript.ir.PrimFunc("f", (x, y), (tirscript.ir.Return(x - y),), returns=x.dtype))
    assert f(5, 3) == 2
    with pytest.raises(DiagnosticError):
        f(x=5)


def test_a_cached_function_is_called_by_the_names_of_its_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, native: Callable[..., Any]
) -> None:
    monkeypatch.delenv("TIRSCRIPT_CACHE")
    monkeypatch.setenv("TIRSCRIPT_CACHE_DIR", str(tmp_path))
    native(mixed)
    text = mixed.script().replace("A", "Given").replace("B:", "Result:").replace("B[", "Result[")
    f = native(tirscript.parse(text.replace("T.Given", "T.A")))
    assert type(f._core.compiled).__name__ == "LoadedModule"
    B = np.zeros(2, "float32")
    assert f(Result=B, x=1.0, k=0, Given=np.ones(2, "float32")) == 2 and B.tolist() == [1, 1]


# -- tensors of a library that has the C exchange API


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


def _fill(tensor: Any, out: int) -> int:
    tensor.reads += 1
    if tensor.status:
        return int(tensor.status)
    ctypes.memmove(out, ctypes.addressof(tensor.head), ctypes.sizeof(_DLTensor))
    return 0


_FILL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(_fill)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def api(major: int = 1) -> tuple[Any, Any]:
    made = exchange._ExchangeAPI(major=major, minor=3, tensor_from_object=ctypes.cast(_FILL, ctypes.c_void_p).value)
    return made, _new_capsule(ctypes.addressof(made), b"dlpack_exchange_api", None)


_HELD = api()


class Tensor:
    """An array of numpy as another library would hand it out; `head` can be bent."""

    __dlpack_c_exchange_api__ = _HELD[1]

    def __init__(self, array: np.ndarray[Any, Any], **bent: Any) -> None:
        self.array, self.reads, self.status = array, 0, bent.pop("status", 0)
        count = max(1, array.ndim)
        self.shape = (ctypes.c_int64 * count)(*array.shape)
        self.strides = (ctypes.c_int64 * count)(*[step // array.itemsize for step in array.strides])
        self.head = _DLTensor(
            data=array.ctypes.data,
            device=1,
            ndim=array.ndim,
            dtype=exchange.type_code(dtype(array.dtype.name)),
            shape=ctypes.addressof(self.shape),
            strides=ctypes.addressof(self.strides),
        )
        for name, value in bent.items():
            setattr(self.head, name, value)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@T.prim_func
def total(A: T.Buffer(("n", "m"), "float32")) -> T.float32:
    s = T.float32(0)
    for i, j in T.grid(n, m):
        s += A[i, j] * T.cast(j + 1, "float32")
    return s


@pytest.fixture
def known() -> None:
    exchange.learn(Tensor)


def sum_of(array: Any) -> float:
    return float((array * (np.arange(array.shape[1]) + 1)).sum())


@pytest.mark.parametrize("shape", [(2, 3), (1, 5), (5, 1), (0, 3), (3, 0), (64, 64)])
def test_tensors_are_read(native: Callable[..., Any], known: None, shape: tuple[int, int]) -> None:
    array = (np.arange(shape[0] * shape[1], dtype="float32") % 7).reshape(shape)
    for tensor in (Tensor(array), Tensor(array, strides=None)):
        assert native(total)(tensor) == sum_of(array)
        assert tensor.reads == 1


def test_strides_of_single_rows_and_of_empty_tensors_do_not_count(native: Callable[..., Any], known: None) -> None:
    single = Tensor(np.arange(4, dtype="float32").reshape(1, 4))
    single.strides[0] = 77
    empty = Tensor(np.zeros((0, 4), "float32"))
    empty.strides[1] = 77
    assert native(total)(single) == 0 + 2 + 6 + 12 and native(total)(empty) == 0


def test_a_tensor_begins_at_its_offset(native: Callable[..., Any], known: None) -> None:
    array = np.arange(8, dtype="float32")
    tensor = Tensor(array[2:].reshape(2, 3), data=array.ctypes.data, byte_offset=8)
    assert native(total)(tensor) == sum_of(array[2:].reshape(2, 3))


@pytest.mark.parametrize(
    "bent",
    [
        {"device": 2},
        {"data": 0},
        {"dtype": 0x14002},
        {"dtype": 0x12000},
        {"dtype": 0x22002},
        {"ndim": 1},
        {"status": -1},
    ],
    ids=str,
)
def test_what_the_head_says_decides(known: None, bent: dict[str, int]) -> None:
    array = np.arange(6, dtype="float32").reshape(2, 3)
    f, tensor = tirscript.build(total), Tensor(array, **bent)
    f._slow = lambda *args: "slow"
    assert f(tensor) == "slow" and tensor.reads == 1
    assert tirscript.build(total)(tensor) == sum_of(array), "the slow path asks by __dlpack__"


def test_gaps_single_elements_and_odd_addresses_go_the_slow_path(known: None) -> None:
    wide = np.arange(12, dtype="float32").reshape(2, 6)
    odd = np.zeros(25, "uint8")[1:].view("float32").reshape(2, 3)
    f = tirscript.build(total)
    f._slow = lambda *args: "slow"
    for array in (wide[:, ::2], wide[:, :3], wide.T, wide[:1, :1], odd):
        assert f(Tensor(array)) == "slow", array.shape
    assert f(Tensor(wide)) == sum_of(wide)


def test_what_a_type_does_not_promise_is_not_written(known: None) -> None:
    f = tirscript.build(mixed)
    f._slow = lambda *args: "slow"
    A, B = Tensor(np.ones(2, "float32")), np.zeros(2, "float32")
    assert f(A, 1, B, 2.0) == 2 and B.tolist() == [3, 3]
    assert f(B, 1, A, 2.0) == "slow"


def test_tensors_and_arrays_mix_and_overlap_is_seen(known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_is_torch", lambda kind: True)

    class Written(Tensor):
        __dlpack_c_exchange_api__ = _HELD[1]

    exchange.learn(Written)
    f = tirscript.build(mixed)
    A, B = np.ones(4, "float32"), np.zeros(4, "float32")
    slow = f._slow
    f._slow = refuse
    assert f(A, 1, Written(B), 2.0) == 4 and B.tolist() == [3, 3, 3, 3]
    assert f(Written(B), 0, Written(A), x=1.0) == 4 and A.tolist() == [3, 3, 3, 3]
    f._slow = slow
    with pytest.raises(DiagnosticError, match="overlap in memory"):
        f(Written(B[:3]), 1, Written(B[1:]), 2.0)
    with pytest.raises(DiagnosticError, match=r"expected shape \(n,\) = \(3,\), got \(4,\)"):
        f(Written(B[:3]), 1, Written(A), 2.0)


def test_only_types_that_have_the_api_themselves_are_read(known: None) -> None:
    class Wrapped(Tensor):
        pass

    class Newer(Tensor):
        held = api(major=2)
        __dlpack_c_exchange_api__ = held[1]

    class Strange(Tensor):
        __dlpack_c_exchange_api__ = "none"

    before = list(exchange._known)
    array = np.arange(6, dtype="float32").reshape(2, 3)
    for kind in (Wrapped, Newer, Strange):
        tensor = kind(array)
        assert tirscript.build(total)(tensor) == sum_of(array) and tensor.reads == 0
    exchange.learn(Tensor)
    assert exchange._known == before and Tensor in before


def test_the_table_of_types_is_bounded(monkeypatch: pytest.MonkeyPatch, known: None) -> None:
    monkeypatch.setattr(exchange, "_MOST_TYPES", len(exchange._known))
    before = list(exchange._known)
    exchange.learn(type("Other", (Tensor,), {"__dlpack_c_exchange_api__": _HELD[1]}))
    assert exchange._known == before


def test_codes_of_dtypes() -> None:
    codes = {name: exchange.type_code(dtype(name)) for name in ("float32", "int8", "uint64", "bool", "bfloat16")}
    assert codes == {"float32": 0x12002, "int8": 0x10800, "uint64": 0x14001, "bool": 0x10806, "bfloat16": 0x11004}
    assert exchange.type_code(dtype("float8_e4m3fn")) == 0x1080A and exchange.type_code(dtype("float32x4")) == 0x12002
    assert exchange.type_code(dtype("handle")) is None


# -- torch itself, where it is installed


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    f = tirscript.build(mixed)
    A, B = torch.arange(4.0), torch.zeros(4)
    assert f(A, 1, B, 2.0) == 4 and B.tolist() == [1, 3, 5, 7]
    slow = f._slow
    f(torch.nn.Parameter(A), 2, B, 2.0)
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        f._slow = refuse
    assert f(torch.nn.Parameter(A), 2, B, x=2.0) == 4 and B.tolist() == [2, 4, 6, 8]
    assert f(A[1:3], 0, B[2:], 1.0) == 2 and B.tolist() == [2, 4, 1, 2]
    f._slow = slow
    negated = torch.complex(A, A).conj().imag
    assert negated.is_neg()
    for tensor in (negated, A.to_sparse(), torch.empty(4, device="meta")):
        with pytest.raises(DiagnosticError, match="expected a tensor"):
            f(tensor, 0, B, 1.0)
    gone = torch.zeros(4)
    gone.untyped_storage().resize_(0)
    with pytest.raises(DiagnosticError, match="one whose memory was given back"):
        f(gone, 0, B, 1.0)
    one = torch.complex(A, A).conj().imag[1:2]
    with pytest.raises(DiagnosticError, match="negative bit"):
        f(one, 0, B[:1], 1.0)
    with pytest.raises(DiagnosticError, match="expected an array of float32, got an array of float64"):
        f(A.double(), 0, B, 1.0)
