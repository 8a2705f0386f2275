"""Constant tensors: what comes in and how, equality by digest, stores and their files."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import ConstantStore, ConstantTensor, DiagnosticError, constant, dtype
from tirscript.ir.constant import _KNOWN
from tirscript.ir.constant_file import ConstantFile, load_tensors, save_tensors
from tirscript.script import parse

KINDS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
)


def numpy_of(kind: str) -> Any:
    return np.dtype(getattr(ml_dtypes, kind, kind))


def code(problem: pytest.ExceptionInfo[DiagnosticError]) -> str:
    (found,) = problem.value.diagnostics
    return found.code


# -- coming in


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_come_in_without_a_copy_and_are_locked(kind: str) -> None:
    array = np.arange(6).astype(numpy_of(kind)).reshape(2, 3)
    value = constant(array)
    assert (value.dtype.name, value.shape, value.size, value.nbytes) == (kind, (2, 3), 6, array.nbytes)
    assert np.shares_memory(value.array, array)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        value.array[0, 0] = 1


def test_the_owner_of_a_reshaped_array_is_locked_too() -> None:
    owner = np.arange(401, 407)
    constant(owner.reshape(2, 3))
    with pytest.raises(ValueError, match="read-only"):
        owner[0] = 1


def test_a_part_of_a_larger_array_is_copied() -> None:
    whole = np.arange(100, dtype=np.int32)
    value = constant(whole[3:7])
    whole[3] = -1
    assert value.array.tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize("view", [lambda a: a[:, ::2], lambda a: a.T, lambda a: a[::-1]])
def test_arrays_with_gaps_or_in_another_order_are_copied(view: Any) -> None:
    array = view(np.arange(24, dtype=np.int16).reshape(4, 6))
    value = constant(array)
    assert not np.shares_memory(value.array, array)
    assert np.array_equal(value.array, array) and value.array.flags.c_contiguous
    array[0, 0] += 1
    assert not np.array_equal(value.array, array)


def test_memory_that_somebody_else_can_write_is_copied() -> None:
    memory = bytearray(b"\1\2\3\4")
    value = constant(np.frombuffer(memory, np.uint8))
    memory[0] = 9
    assert value.array.tolist() == [1, 2, 3, 4]


def test_foreign_byte_order_is_the_same_constant() -> None:
    assert constant(np.array([1, 2, 300], ">i4")) == constant(np.array([1, 2, 300], "<i4"))


def test_memory_mapped_arrays_stay_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(5000.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    value = constant(mapped)
    assert np.shares_memory(value.array, mapped)


def test_odd_bools_are_made_plain() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    assert constant(odd) == constant([False, True, True, True])


def test_torch_like_objects_and_scalars() -> None:
    class Other:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.5, 2.5], np.float32)

    assert constant(Other()) == constant([1.5, 2.5])
    assert constant(np.float32(1.5)).shape == ()
    assert constant(7).array == 7


# -- lists


@pytest.mark.parametrize(
    ("data", "kind", "shape", "flat"),
    [
        (3, "int32", (), [3]),
        (True, "bool", (), [True]),
        (0.5, "float32", (), [0.5]),
        ([1, 2], "int32", (2,), [1, 2]),
        ([1, 2.5], "float32", (2,), [1.0, 2.5]),
        ([[True], [False]], "bool", (2, 1), [True, False]),
        ([], "float32", (0,), []),
        ([[], []], "float32", (2, 0), []),
        (((1, 2), (3, 4)), "int32", (2, 2), [1, 2, 3, 4]),
    ],
)
def test_lists(data: Any, kind: str, shape: tuple[int, ...], flat: list[Any]) -> None:
    value = constant(data)
    assert (value.dtype.name, value.shape, value.array.reshape(-1).tolist()) == (kind, shape, flat)


def test_numbers_round_as_literals_do() -> None:
    assert constant([0.1], "float16").array.tobytes() == np.float16(0.1).tobytes()
    assert constant([1e39, -1e39], "float32").array.tolist() == [float("inf"), float("-inf")]
    assert constant([(1 << 64) - 1], "uint64").array.tolist() == [(1 << 64) - 1]
    assert float(constant([449.0], "float8_e4m3fn").array[0]) == 448.0


def nested(depth: int) -> list[Any]:
    data: list[Any] = []
    for _ in range(depth - 1):
        data = [data]
    return data


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "ragged": ([[1, 2], [3]], {}, "ragged"),
    "ragged deeper": ([[[1]], [[1, 2]]], {}, r"item \[1\]\[0\] is a list of 2"),
    "a number beside a list": ([[1], 2], {}, r"item \[1\] is a number"),
    "a list beside a number": ([1, [2]], {}, r"item \[1\] is a list"),
    "a string in a list": ([1, "2"], {}, "a Python str"),
    "None in a list": ([None], {}, "None"),
    "objects": (np.array([1, None], object), {}, "Python objects"),
    "strings": (np.array(["a"]), {}, "str"),
    "complex numbers": (np.array([1j]), {}, "complex"),
    "masked numbers": (np.ma.array([1.0, 2.0], mask=[False, True]), {}, "is a masked array"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), {}, "datetime"),
    "a record": (np.zeros(2, [("a", "i4")]), {}, "void"),
    "a dict": ({}, {}, "dict"),
    "a string": ("1, 2", {}, "not '1, 2'"),
    "too large": ([300], {"kind": "int8"}, "300 does not fit int8"),
    "negative": ([-1], {"kind": "uint8"}, "-1 does not fit"),
    "no integer": ([1.5], {"kind": "int32"}, "1.5"),
    "nan as an integer": ([float("nan")], {"kind": "int32"}, "nan"),
    "beyond all floats": ([10**400], {"kind": "float64"}, "too large"),
    "another dtype": (np.zeros(2), {"kind": "float32"}, "is float64, but it is declared float32"),
    "another shape": (np.zeros((2, 2)), {"shape": (4,)}, r"the shape \(2, 2\), but \(4,\)"),
    "vectors": ([1], {"kind": "int32x4"}, "not int32x4"),
    "handles": ([1], {"kind": "handle"}, "not handle"),
    "many dimensions": (nested(40), {}, "32 dimensions"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data(case: str) -> None:
    data, options, words = BAD[case]
    with pytest.raises(DiagnosticError, match=words) as problem:
        constant(data, **options)
    assert code(problem) == "T114"


# -- identity


def test_equality_is_by_digest_and_the_data_is_there_once() -> None:
    first = constant(np.arange(2000, dtype=np.int32))
    second = constant(np.arange(2000, dtype=np.int32))
    assert first == second and hash(first) == hash(second) and first is not second
    assert first.array is second.array
    assert first != constant(np.arange(2000, dtype=np.uint32))
    assert first != constant(np.arange(2000, dtype=np.int32).reshape(2, 1000))
    assert first != first.digest


def test_the_digest_is_what_is_documented() -> None:
    import hashlib

    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert constant(array).digest == "sha256:" + hashlib.sha256(b"float32[2,3]\0" + array.tobytes()).hexdigest()


def test_copies_and_pickles_hold_no_data() -> None:
    value = constant(np.arange(100_000, dtype=np.int64))
    text = pickle.dumps(value)
    assert len(text) < 1000
    for again in (pickle.loads(text), copy.copy(value), copy.deepcopy(value)):
        assert again == value and again.array is value.array


def test_data_goes_with_the_last_that_holds_it() -> None:
    value = constant(np.arange(12345))
    digest, shape = value.digest, value.shape
    del value
    gc.collect()
    assert digest not in _KNOWN
    lost = ConstantTensor(digest, shape, "int64")
    assert not lost.resolved
    with pytest.raises(DiagnosticError, match=digest) as problem:
        lost.array
    assert code(problem) == "T312"
    again = constant(np.arange(12345))
    assert lost.resolved and lost == again and lost.array is again.array


def test_a_digest_does_not_stand_for_another_shape() -> None:
    value = constant(np.arange(6))
    assert not ConstantTensor(value.digest, (2, 3), "int64").resolved
    assert not ConstantTensor(value.digest, (6,), "uint64").resolved


def test_nothing_is_missing_from_an_empty_constant() -> None:
    empty = constant(np.zeros((0, 3), np.int8))
    again = ConstantTensor(empty.digest, (0, 3), "int8")
    assert again.resolved and again.array.shape == (0, 3)


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:" + "g" * 64, "sha256:" + "0" * 63, "md5:" + "0" * 64])
def test_malformed_digests(digest: Any) -> None:
    with pytest.raises(DiagnosticError, match="no digest") as problem:
        ConstantTensor(digest, (2,), "int32")
    assert code(problem) == "T115"


def test_an_aligned_copy_is_made_once() -> None:
    value = constant(np.arange(5000, dtype=np.int8))
    array = value.aligned(8192)
    assert array.__array_interface__["data"][0] % 8192 == 0
    assert array is constant(np.arange(5000, dtype=np.int8)).aligned(8192)
    assert array.tolist() == value.array.tolist() and not array.flags.writeable
    assert value.aligned(1) is value.array


# -- stores


def test_a_store_keeps_its_constants() -> None:
    store = ConstantStore()
    digest = store.add(np.arange(777)).digest
    store.add(np.arange(777))
    gc.collect()
    assert list(store) == [digest] and digest in store and len(store) == 1 and store.nbytes == 777 * 8
    assert store[digest].array[5] == 5 and store.get("other") is None
    with pytest.raises(DiagnosticError, match="no constant") as problem:
        store["sha256:" + "0" * 64]
    assert code(problem) == "T115"
    with pytest.raises(DiagnosticError, match="missing"):
        store.add(ConstantTensor("sha256:" + "0" * 64, (2,), "int32"))


def test_a_store_is_saved_and_not_pickled() -> None:
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(ConstantStore())


@pytest.mark.skipif(os.environ.get("TIRSCRIPT_CHECK") == "arguments", reason="the arguments of functions are checked")
def test_a_store_is_made_of_programs_and_keeps_arrays_one_by_one() -> None:
    message = r"ConstantStore\(\) takes programs \(Node\), not a ndarray; `store.add\(data\)` keeps an array"
    with pytest.raises(TypeError, match=message):
        ConstantStore(np.ones(3))  # type: ignore[arg-type]


def sample_store() -> ConstantStore:
    store = ConstantStore()
    for at, kind in enumerate(KINDS):
        store.add([[1, 0], [1, at % 2]], kind)
    store.add(np.zeros((0, 3), np.int8))
    store.add(np.float32(3))
    store.add(np.arange(1 << 18, dtype=np.float64))
    return store


def test_files_hold_every_dtype(tmp_path: Path) -> None:
    store = sample_store()
    arrays = {value.digest: value.array.copy() for value in store.values()}
    store.save(tmp_path / "a.safetensors")
    del store
    gc.collect()
    again = ConstantStore.load(tmp_path / "a.safetensors")
    assert set(again) == set(arrays)
    for digest, array in arrays.items():
        found = again[digest].array
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_files_are_those_of_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    store = ConstantStore()
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    digest = store.add(array).digest
    store.save(tmp_path / "a.safetensors")
    assert np.array_equal(library.load_file(tmp_path / "a.safetensors")[digest], array)
    library.save_file({"weight": array, "bias": np.ones(3, np.float16)}, tmp_path / "b.safetensors")
    assert set(ConstantStore.load(tmp_path / "b.safetensors")) == {digest, constant(np.ones(3, np.float16)).digest}


def test_a_file_that_is_mapped_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    store = ConstantStore()
    digest = store.add(np.arange(1 << 18, dtype=np.int64)).digest
    store.save(path)
    del store
    gc.collect()
    mapped = ConstantStore.load(path)
    ConstantStore().save(path)
    assert int(mapped[digest].array[-1]) == (1 << 18) - 1
    assert len(ConstantStore.load(path)) == 0
    assert [item.name for item in tmp_path.iterdir()] == ["a.safetensors"]


def test_every_flipped_byte_and_every_cut_is_found(tmp_path: Path) -> None:
    store = ConstantStore()
    store.add(np.arange(8, dtype=np.int32))
    store.add([True, False])
    path = tmp_path / "a.safetensors"
    store.save(path)
    good = path.read_bytes()
    known = set(store)
    del store
    gc.collect()
    for at in range(len(good)):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        try:
            assert set(ConstantStore.load(path)) <= known or b'"sha256' not in path.read_bytes()
        except DiagnosticError as problem:
            assert [found.code for found in problem.diagnostics] == ["T115"]
    for at in range(len(good)):
        path.write_bytes(good[:at])
        with pytest.raises(DiagnosticError) as cut:
            ConstantStore.load(path)
        assert code(cut) == "T115"


HEADERS: dict[str, Any] = {
    "no object": [],
    "an entry that is none": {"a": 5},
    "an unknown dtype": {"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}},
    "a negative dimension": {"a": {"dtype": "I8", "shape": [-1], "data_offsets": [0, 8]}},
    "offsets beyond the file": {"a": {"dtype": "I8", "shape": [1 << 40], "data_offsets": [0, 1 << 40]}},
    "offsets in the wrong order": {"a": {"dtype": "I8", "shape": [0], "data_offsets": [8, 0]}},
    "offsets that are another size": {"a": {"dtype": "I32", "shape": [3], "data_offsets": [0, 8]}},
    "many dimensions": {"a": {"dtype": "I8", "shape": [1] * 50, "data_offsets": [0, 1]}},
    "no elements of a huge array": {"a": {"dtype": "F32", "shape": [0, 1 << 62], "data_offsets": [0, 0]}},
    "data of another digest": {"sha256:" + "0" * 64: {"dtype": "I8", "shape": [8], "data_offsets": [0, 8]}},
    "a false digest": {"sha256:0": {"dtype": "I8", "shape": [8], "data_offsets": [0, 8]}},
}


@pytest.mark.parametrize("case", HEADERS)
def test_hostile_headers(case: str, tmp_path: Path) -> None:
    text = json.dumps(HEADERS[case]).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\1" * 8)
    with pytest.raises(DiagnosticError) as problem:
        ConstantStore.load(path)
    assert code(problem) == "T115"


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("none", ".", "pipe", "a\0b"):
        with pytest.raises(DiagnosticError) as problem:
            ConstantFile(tmp_path / name)
        assert code(problem) == "T115"
    deep = tmp_path / "deep"
    text = b"[" * 100_000
    deep.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(DiagnosticError):
        ConstantFile(deep)
    deep.write_bytes((1 << 62).to_bytes(8, "little"))
    with pytest.raises(DiagnosticError, match="header"):
        ConstantFile(deep)


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.integers(0, 255), max_size=40), st.booleans())
def test_any_bits_survive_a_file(kind: str, data: list[int], flat: bool) -> None:
    import tempfile

    size = dtype(kind).itemsize
    raw = bytes(item & 1 for item in data) if kind == "bool" else bytes(data)
    array = np.frombuffer(raw[: len(raw) // size * size], numpy_of(kind))
    value = constant(array if flat else array.reshape(-1, 1))
    with tempfile.TemporaryDirectory() as folder:
        store = ConstantStore()
        store.add(value)
        store.save(f"{folder}/a")
        again = ConstantFile(f"{folder}/a").read(value.digest, value.shape, value.dtype)
    assert again.array.tobytes() == array.tobytes()


# -- graphs

GRAPH = """
@G.graph_func
def main(x: G.Tensor((20,), "float32")):
    with G.dataflow():
        y = G.add(x, G.constant("sha256:{0}", (20,), "float32"))
        z = G.add(y, G.constant("sha256:{1}", (20,), "float32"))
        G.output(z)
    return z
"""


def test_values_of_graphs_are_kept_and_missed() -> None:
    arrays = [np.arange(20, dtype=np.float32), np.arange(20, 40, dtype=np.float32)]
    store = ConstantStore()
    digests = [store.add(array).digest for array in arrays]
    text = GRAPH.format(*(digest.removeprefix("sha256:") for digest in digests))
    program = parse(text, constants=store)
    assert list(ConstantStore(program)) == digests
    lost = parse(GRAPH.format("0" * 64, "1" * 64))
    x = np.zeros(20, np.float32)
    for run in (lambda: tirscript.build(lost), lambda: tirscript.interpret(lost, x)):
        with pytest.raises(DiagnosticError) as problem:
            run()
        found = problem.value.diagnostics
        assert [one.code for one in found] == ["T312", "T312"]
        assert "0" * 64 in found[0].message and "1" * 64 in found[1].message


def test_tensors_of_files_lie_where_their_dtype_may(tmp_path: Path) -> None:
    path = tmp_path / "mixed.safetensors"
    tensors = {
        "bytes": np.arange((1 << 20) + 1, dtype=np.uint8),
        "wide": np.arange(1 << 18, dtype=np.float64),
        "half": np.arange(3, dtype=np.float16),
        "none": np.zeros((0, 3), np.int32),
    }
    save_tensors(path, {name: array.copy() for name, array in tensors.items()})
    found = load_tensors(path)
    for name, array in tensors.items():
        assert found[name].array.flags.aligned and np.array_equal(found[name].array, array)
    assert not any(found[name].array.flags.owndata for name in ("bytes", "wide"))  # mapped


def test_odd_bools_of_files_are_made_plain(tmp_path: Path) -> None:
    header = b'{"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}'
    path = tmp_path / "odd.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes((0, 1, 7)))
    (value,) = ConstantStore.load(path).values()
    assert value == constant(np.array([False, True, True]))
    assert value.array.tobytes() == bytes((0, 1, 1))


def test_dtypes_that_are_not_supported_say_why() -> None:
    with pytest.raises(DiagnosticError) as problem:
        constant(np.zeros(4, ml_dtypes.int4))
    (found,) = problem.value.diagnostics
    assert found.code == "T109" and found.message.startswith(
        "constants of int4 have no data here: it is an integer narrower"
    )


@pytest.mark.skipif(os.environ.get("TIRSCRIPT_CHECK") == "arguments", reason="the arguments of functions are checked")
def test_a_name_in_a_file_is_a_string(tmp_path: Path) -> None:
    names: Any = {3: np.zeros(3)}
    with pytest.raises(DiagnosticError, match="a tensor in a file cannot be called 3"):
        save_tensors(tmp_path / "a.safetensors", names)


@pytest.mark.parametrize("name", ["__metadata__", "sha256:0", "half of a pair \ud800"])
def test_names_that_no_tensor_in_a_file_has(name: str, tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="cannot be called") as problem:
        save_tensors(tmp_path / "a.safetensors", {name: np.zeros(3)})
    assert code(problem) == "T114"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="of POSIX's files")
def test_only_files_are_replaced_by_constants(tmp_path: Path) -> None:
    """A pipe, a device or a folder stays what it is, and a link goes on pointing to its file."""
    pipe, folder, file, link = (tmp_path / name for name in ("pipe", "folder", "a.safetensors", "link.safetensors"))
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (pipe, folder):
        with pytest.raises(DiagnosticError, match=r"T115.*cannot be written to .*: it is no regular file"):
            save_tensors(path, {"x": [1.0]})
    for path, why in ((tmp_path / "no" / "x", "no such file"), ("a\0b", "embedded null"), (file / "x", "no such file")):
        with pytest.raises(DiagnosticError, match=rf"T115.*cannot be written to .*: {why}"):
            save_tensors(path, {"x": [1.0]})
    assert pipe.is_fifo() and folder.is_dir()
    link.symlink_to(file)
    save_tensors(link, {"x": [1.0]})
    assert link.is_symlink() and file.is_file() and list(load_tensors(file)) == ["x"]
