"""Constants in text: every form, both round trips, and what is refused."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.script import HEADER, body_text, function, mistakes, one_mistake, statements
from hypothesis import given, settings
from hypothesis import strategies as st

import tirscript
from tirscript.ir import (
    AllocateConst,
    Buffer,
    ConstantStore,
    DiagnosticError,
    PrimFunc,
    constant,
    dtype,
    structural_equal,
    structural_hash,
)
from tirscript.ir import const as number
from tirscript.passes import DEFAULT_LOWERING
from tirscript.printer import save, script
from tirscript.script import parse, parse_file
from tirscript.script import tir as T

ZEROS = "sha256:" + "0" * 64
KINDS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
)


def defined(body: str, **names: Any) -> AllocateConst:
    found = statements(body, **names)[0]
    assert type(found) is AllocateConst
    return found


def holding(*stmts: AllocateConst) -> PrimFunc:
    return PrimFunc("f", (), stmts)


def both_laws(program: PrimFunc, **options: Any) -> str:
    """The text of a program, which is read back equal and printed as the same bytes."""
    folder = os.path.dirname(options.get("constants_file", "")) or None
    text = script(program, **options)
    again = parse(text, folder=folder)
    assert structural_equal(program, again) and structural_hash(program) == structural_hash(again)
    assert script(again, **options) == text
    return text


def unchanged_by_ruff(text: str) -> None:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "100", "-"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert found.stdout == text


# -- reading


@pytest.mark.parametrize(
    ("text", "shape", "data"),
    [
        ('T.allocate_const([1, 2, 3, 4], "int32", (4,))', (4,), [1, 2, 3, 4]),
        ('T.allocate_const([1, 2, 3, 4], "int32", 4)', (4,), [1, 2, 3, 4]),
        ('T.allocate_const([1, 2, 3, 4], dtype="int32", extents=[2, 2])', (2, 2), [1, 2, 3, 4]),
        ('T.allocate_const([[1, -2], [3, 4]], "int8", shape=(2, 2))', (2, 2), [[1, -2], [3, 4]]),
        ('T.allocate_const([[1, 2], [3, 4]], "int8", (4,))', (4,), [[1, 2], [3, 4]]),
        ("T.allocate_const([T.int16(1), 2], T.int16, (2,))", (2,), [1, 2]),
        ('T.allocate_const(7, "uint8", ())', (), 7),
        ('T.allocate_const(range(3), "int8", (3,))', (3,), [0, 1, 2]),
        ('T.allocate_const([True, False], "bool", (2,))', (2,), [True, False]),
        ('T.allocate_const([i * i for i in range(4)], "int32", (4,))', (4,), [0, 1, 4, 9]),
        ('T.allocate_const([float("inf"), -float("inf")], "float32", (2,))', (2,), [np.inf, -np.inf]),
    ],
)
def test_literals(text: str, shape: tuple[int, ...], data: Any) -> None:
    found = defined(f"K = {text}")
    assert found.buffer.name == "K" and found.buffer.constant_shape() == shape
    assert np.array_equal(found.data.array, np.array(data))
    assert found.buffer.dtype is found.data.dtype


def test_arrays_of_names_and_what_python_makes_of_them() -> None:
    weights = big(7, (3, 4))
    found = defined('K = T.allocate_const(w, "float32", (3, 4))', w=weights)
    assert np.shares_memory(found.data.array, weights)
    scale = defined("K = T.allocate_const(w, T.bfloat16, (2,))", w=np.ones(2, ml_dtypes.bfloat16))
    assert scale.data.dtype is dtype("bfloat16")
    metadata = {"runtime.NDArray": [weights]}
    text = 'K = T.allocate_const(metadata["runtime.NDArray"][0], "float32", (3, 4))'
    assert defined(text, metadata=metadata).data == found.data


def test_live_python() -> None:
    weights = np.arange(6, dtype=np.int32).reshape(2, 3)

    @T.prim_func
    def f(B: T.Buffer((3, 2), "int32")):
        K = T.allocate_const(weights.T, "int32", (3, 2))
        for i, j in T.grid(3, 2):
            B[i, j] = K[i, j]

    result = np.zeros((3, 2), np.int32)
    tirscript.interpret(f, result)
    assert np.array_equal(result, weights.T)


def test_options_of_the_buffer() -> None:
    found = defined('K = T.allocate_const([1], "int8", (1,), annotations={"a": 1}, scope="global.const", align=64)')
    assert (found.buffer.scope, found.buffer.align, dict(found.annotations)) == ("global.const", 64, {"a": 1})


def test_forms_of_tvm_of_2021_to_2024() -> None:
    text = """
    from tvm.script import tir as T

    @T.prim_func
    def f(A: T.Buffer((10,), "int32"), B: T.Buffer((10,), "int32")):
        K_data = T.allocate_const([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "int32", [10])
        K = T.Buffer(shape=(10), dtype="int32", data=K_data)
        with T.allocate_const([2], "int32", [1]) as two:
            K_1 = T.decl_buffer((1,), "int32", data=two)
            for x in T.serial(0, 10):
                B[x] = A[x] + K[x] + K_1[0]
    """
    import textwrap

    func = parse(textwrap.dedent(text))
    result = np.zeros(10, np.int32)
    tirscript.interpret(func, np.arange(10, dtype=np.int32), result)
    assert result.tolist() == list(range(3, 13))
    with pytest.raises(DiagnosticError, match="TVM has no text for the constant `K_data`") as problem:
        func.script(dialect="tvm")
    assert problem.value.diagnostics[0].code == "T405"


@pytest.mark.parametrize(
    ("body", "hint", "fixed"),
    [
        (
            'K = T.constant([1.0, 2.0], (2,), "float32")',
            '`K = T.allocate_const([1, 2, 3, 4], "int32", (4,))`',
            'K = T.allocate_const([1.0, 2.0], "float32", (2,))',
        ),
        (
            'K = T.allocate_const([T.int8(1)], "int32", (1,))',
            "write the number without its type, as it is read as int32",
            'K = T.allocate_const([1], "int32", (1,))',
        ),
    ],
)
def test_the_way_out_of_a_mistake_in_a_constant(body: str, hint: str, fixed: str) -> None:
    (found,) = mistakes(body)
    assert hint in str(found.hint)
    function(fixed)


MISTAKES = [
    ('K = T.allocate_const([1, 2], "int32", (3,))', "T114", "the shape (2,), but (3,)"),
    ('K = T.allocate_const(w, "int32", (3, 2))', "T114", "the shape (2, 3), but (3, 2)"),
    ('K = T.allocate_const(w, "float32", (2, 3))', "T114", "is int32, but it is declared float32"),
    ('K = T.allocate_const([1, 300], "int8", (2,))', "T114", "300 does not fit int8"),
    ('K = T.allocate_const([[1], [1, 2]], "int8", (2,))', "T114", "ragged"),
    ('K = T.allocate_const([T.int8(1)], "int32", (1,))', "T114", "is int8, but it is declared int32"),
    ('K = T.allocate_const([A[0]], "float32", (1,))', "T114", "not a value of the program"),
    ('K = T.allocate_const(objects, "int32", (2,))', "T114", "Python objects"),
    ('K = T.allocate_const("AAAA", "int32", (1,))', "T114", "not 'AAAA'"),
    ('K = T.allocate_const([1], "int32x4", (1,))', "T114", "not int32x4"),
    ('K = T.allocate_const([1, 2], "int32")', "T032", "the shape is missing"),
    ('K = T.allocate_const([1, 2], (2,), "int32")', "T032", "the second argument"),
    ('K = T.allocate_const([1], "int32", (1,), 1, 2, 3, 4)', "T032", "takes data, dtype, shape"),
    ('K = T.allocate_const([1], "int32", (1,), strides=[1])', "T032", "`strides` is no argument"),
    ('K = T.allocate_const([1], "int32", (1,), shape=(1,))', "T032", "given twice"),
    ('K = T.allocate_const([1], "integer", (1,))', "T109", "'integer'"),
    ('K = T.allocate_const([1], "int32", (n,))', "T207", "ints of 0 or more"),
    ('K = T.allocate_const([1], "int32", (-1,))', "T207", "ints of 0 or more"),
    ('K = T.allocate_const([1], "int32", (1.0,))', "T207", "ints of 0 or more"),
    ('K = T.allocate_const([1], "int32", (1,), scope="scalar")', "T205", "scalar"),
    ('K = T.allocate_const([1], "int32", (1,), align=3)', "T207", "power of two"),
    ('K = T.allocate_const(A, "float32", (16,))', "T104", "the whole buffer `A`"),
    ('A = T.allocate_const([1], "int32", (1,))', "T012", "`A` is a parameter"),
    ('T.allocate_const([1], "int32", (1,))', "T022", "give it a name"),
    ('A[0] = T.allocate_const([1], "int32", (1,))', "T022", "does not stand in an expression"),
    ('with T.allocate_const([1], "int32", (1,)):\n    pass', "T022", "needs a name"),
    ('K = T.allocate_const(metadata["a"][0], "int32", (1,))', "T010", "`metadata` is not defined"),
    ('K = T.allocate_const([1, 2], "float32", (2,))\nK[0] = 1.0', "T213", "the constant `K` is written"),
    ('K = T.allocate_const([1, 2], "float32", (2,))\nK[0] += 1.0', "T213", "the constant `K` is written"),
    (
        'K = T.allocate_const([1, 2], "float32", (2,))\nL = T.decl_buffer((2,), "float32", data=K.data)\nL[0] = 1.0',
        "T213",
        "through its view `L`",
    ),
    (
        'K = T.allocate_const([1, 2], "float32", (2,))\np = K.data\nL = T.decl_buffer((2,), data=p)\nL[0] = 1.0',
        "T213",
        "through its view `L`",
    ),
    ('K = T.allocate_const([1, 2], "float32", (2,))\nA[0] = K[2]', "T113", "index 2 is outside"),
    ('K = T.constant("sha256:00", (2,), "int32")', "T115", "no digest"),
    (f'K = T.constant("{ZEROS}", (2,))', "T032", "the dtype is missing"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", fil="a")', "T032", "`fil` is no argument"),
    (f'K = T.constant("{ZEROS}", (n,), "int32")', "T207", "ints of 0 or more"),
    (f'K = T.constant("{ZEROS}", (1 << 70,), "int32")', "T207", "no shape"),
    (f'K = T.constant("{ZEROS}", (0, 1 << 62, 1 << 62), "int32")', "T114", "no memory holds"),
    (f'K = T.constant("{ZEROS}", (1 << 62, 1 << 62), "int32")', "T114", "no memory holds"),
    (f'K = T.constant("{ZEROS}", (2,), "handle")', "T109", "not handle"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", base64="A$AA")', "T115", "no base64"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", base64="AAA")', "T115", "no base64"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", base64="größe")', "T115", "no base64"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", base64="AAAA")', "T115", "has 3 bytes, but int32 (2,) takes 8"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", base64="AAAAAAAAAAA=")', "T115", "is damaged"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", base64=5)', "T032", "a string"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", base64="", file="a")', "T032", "not both"),
    (f'K = T.constant("{ZEROS}", (2,), "int32", file="a")', "T003", "no folder"),
    (f'A[0] = T.constant("{ZEROS}", (2,), "int32")', "T104", "a constant tensor"),
]


@pytest.mark.parametrize(("body", "code", "words"), MISTAKES)
def test_mistakes(body: str, code: str, words: str) -> None:
    names = {"w": np.arange(6, dtype=np.int32).reshape(2, 3), "objects": np.array([1, None], object)}
    found = mistakes(body, **names)
    assert [one.code for one in found] == [code]
    assert words in found[0].message
    assert found[0].span is not None


def test_a_callee_that_writes_a_constant() -> None:
    text = (
        HEADER
        + """@I.ir_module
class M:
    @T.prim_func(private=True)
    def fill(B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = C[i]

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        K = T.allocate_const([1, 2, 3, 4], "int32", (4,))
        M.fill(A, K)
        M.fill({}, A)
"""
    )
    parse(text.format("A"))
    for argument in ("K", "K[0:4]"):
        with pytest.raises(DiagnosticError, match="`K` is passed to `fill`, which writes `B`"):
            parse(text.format(argument))


# -- printing


PRINTED = [
    'K = T.allocate_const([1, -2, 3], "int32", (3,))',
    'K = T.allocate_const([[1, 2], [3, 4]], "int32", (4,))',
    'K = T.allocate_const([1, 2, 3, 4], "int32", (2, 2))',
    'K = T.allocate_const([], "int32", (0,))',
    'K = T.allocate_const([1], "int32", (T.int64(1),))',
    'K = T.allocate_const(True, "bool", ())',
    'K = T.allocate_const([0.1, -0.0, 1e-45, 3.4028235e38, 16777217], "float32", (5,))',
    'K = T.allocate_const([float("nan"), -float("nan"), float("inf"), -float("inf")], "float32", (4,))',
    'K = T.allocate_const([float("nan"), 6e-08, 65504.0], "float16", (3,))',
    'K = T.allocate_const([float("nan"), 448.0, 0.002], "float8_e4m3fn", (3,))',
    'K = T.allocate_const([float("nan"), float("inf"), 1.5e-05], "float8_e5m2", (3,))',
    'K = T.allocate_const([float("nan"), 3.39e38, 9e-41], "bfloat16", (3,))',
    'K = T.allocate_const([5e-324, 1.7976931348623157e308, 0.1], "float64", (3,))',
    'K = T.allocate_const([1], "int8", (1,), annotations={"a": (1, 2)}, scope="global.const", align=64)',
    "K = T.allocate_const([0] * 16, 'int8', (16,))",
]


@pytest.mark.parametrize("body", PRINTED)
def test_short_constants_are_lists_that_read_back(body: str) -> None:
    both_laws(function(body))
    text = both_laws(holding(defined(body)))
    assert "T.allocate_const(" in text and "T.constant" not in text
    unchanged_by_ruff(text)


def test_empty_constants_need_no_data() -> None:
    text = both_laws(function('K = T.allocate_const([[], []], "int32", (2, 0))'))
    assert "T.constant(" in text
    tirscript.build(parse(text))


def test_the_text_of_lists() -> None:
    text = function(PRINTED[0]).script()
    assert PRINTED[0] in text
    floats = 'K = T.allocate_const([0.1, -0.0, float("nan"), -float("inf")], "float32", (4,))'
    assert floats in function(floats).script()


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=25)
@given(data=st.binary(min_size=1, max_size=64), rows=st.sampled_from((1, 2)), flat=st.booleans())
def test_any_bits_of_any_dtype(kind: str, data: bytes, rows: int, flat: bool) -> None:
    size = dtype(kind).itemsize * rows
    raw = bytes(item & 1 for item in data) if kind == "bool" else data
    raw = raw[: len(raw) // size * size]
    array = np.frombuffer(raw, np.dtype(getattr(ml_dtypes, kind, kind))).reshape(rows, -1)
    dims = (array.size,) if flat else array.shape
    buffer = Buffer("K", tuple(map(number, dims)), dtype(kind))
    program = holding(AllocateConst(buffer, constant(array)))
    for mode in ("elide", "inline"):
        text = both_laws(program, constants=mode)
        assert parse(text).body[0].data.array.tobytes() == raw


def test_nans_with_bits_of_their_own_are_written_in_the_text() -> None:
    array = np.array([0x7FC00001, 0xFFC12345], np.uint32).view(np.float32)
    text = both_laws(holding(AllocateConst(Buffer("K", (number(2),)), constant(array))))
    assert 'base64="""' in text
    unchanged_by_ruff(text)


def big(seed: int = 0, shape: tuple[int, ...] = (8, 40)) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


LONG = """
W = T.allocate_const(w, "float32", (8, 40))  # the weights
V = T.allocate_const(w, "float32", (320,), align=64)
for i in range(16):
    A[i] = W[0, i] + V[i]
"""


@pytest.mark.parametrize("mode", ["elide", "inline", "file"])
def test_long_constants(mode: str, tmp_path: Path) -> None:
    program = function(LONG, w=big())
    options = {"constants_file": str(tmp_path / "w.safetensors")} if mode == "file" else {}
    text = both_laws(program, constants=mode, **options)
    assert max(map(len, text.split("\n"))) <= 100
    assert text.count("sha256:") == 2 and "# the weights" in text
    assert text.count('base64="""') == (mode == "inline")
    assert text.count('file="w.safetensors"') == 2 * (mode == "file")
    unchanged_by_ruff(text)
    assert (tmp_path / "w.safetensors").exists() == (mode == "file")


def test_data_stands_in_a_text_once() -> None:
    """A function of it that is all that is left has the data, though the text has it in another one."""
    weights = np.arange(3000, dtype="float32") * 0.37
    kernel = '    @T.prim_func\n    def {}(A: T.Buffer((3000,), "float32")):\n        K = T.allocate_const(w, "float32", (3000,))\n        A[0] = K[2]\n'
    text = f"@I.ir_module\nclass M:\n{kernel.format('f')}{kernel.format('g')}"
    program = parse(text, names={"w": weights})
    inline = program.script(constants="inline")
    assert inline.count('base64="""') == 1 and len(inline) < 1.5 * len(program["f"].script(constants="inline"))
    del program
    gc.collect()
    again = parse(inline)
    assert again.script(constants="inline") == inline
    last = again["g"]
    del again
    gc.collect()
    assert last.body[0].data.array.tolist() == weights.tolist() and 'base64="""' in last.script(constants="inline")


def test_elided_text_is_resolved_by_a_store() -> None:
    program = function(LONG, w=big())
    text, store = program.script(), ConstantStore(program)
    del program
    kept = store.values()[0].array.copy()
    again = parse(text, constants=store)
    del store
    gc.collect()
    assert again.body[0].data.array.tobytes() == kept.tobytes()
    digest = again.body[0].data.digest
    del again
    gc.collect()
    lost = parse(text)  # legal: printed, compared, transformed
    assert lost.script() == text and structural_equal(lost, parse(text))
    lowered = DEFAULT_LOWERING(lost)
    assert digest in lowered.script()
    zeros = np.zeros(16, np.float32), np.zeros((4, 4), np.float32), np.zeros(16, np.int32), 1
    for run in (lambda: tirscript.build(lost), lambda: tirscript.interpret(lost, *zeros)):
        with pytest.raises(DiagnosticError) as problem:
            run()
        (found,) = problem.value.diagnostics  # both definitions miss one digest
        assert found.code == "T312" and digest in found.message


def test_every_missing_digest_is_named() -> None:
    other = "sha256:" + "1" * 64
    program = function(f'K = T.constant("{ZEROS}", (2,), "int32")\nL = T.constant("{other}", (2,), "int32")')
    with pytest.raises(DiagnosticError) as problem:
        tirscript.build(program)
    assert [digest in found.message for digest, found in zip((ZEROS, other), problem.value.diagnostics)] == [True, True]
    with pytest.raises(DiagnosticError, match="missing"):
        program.script(constants="inline")


def test_a_store_with_another_tensor_under_the_digest() -> None:
    store = ConstantStore()
    digest = store.add(big()).digest
    with pytest.raises(DiagnosticError, match="the store holds float32"):
        parse(body_text(f'K = T.constant("{digest}", (40, 8), "float32")'), constants=store)


# -- files


def test_files_beside_the_text(tmp_path: Path) -> None:
    program = function(LONG, w=big())
    save(program, tmp_path / "k.py", constants="file")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["k.py", "k.safetensors"]
    expected = program.body[0].data.array.tobytes()
    del program
    gc.collect()
    again = parse_file(tmp_path / "k.py")["f"]
    assert again.body[0].data.array.tobytes() == expected
    # and in a process of its own, as Python
    path = Path(tirscript.__file__).parent.parent
    code = "import runpy; print(float(runpy.run_path('k.py')['f'].body[0].data.array[0, 0]))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip() == str(float(again.body[0].data.array[0, 0])), found.stderr


def file_text(name: str, digest: str = ZEROS) -> str:
    return body_text(f'K = T.constant("{digest}", (8, 40), "float32", file={name!r})')


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../w", "a/../../w", "..", "C:\\w", "\\\\host\\w", "..\\w", "", "\0", "link/w", "link_to_file"],
)
def test_files_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    store = ConstantStore()
    digest = store.add(big()).digest
    store.save(outside / "w")
    store.save(tmp_path / "w")
    (folder / "link").symlink_to(outside)
    (folder / "link_to_file").symlink_to(outside / "w")
    with pytest.raises(DiagnosticError) as problem:
        parse(file_text(name, digest), folder=folder)
    assert [found.code for found in problem.value.diagnostics] == ["T003"]


def test_a_file_deeper_is_read(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    store = ConstantStore()
    digest = store.add(big()).digest
    store.save(tmp_path / "data" / "w.safetensors")
    found = parse(file_text("data/w.safetensors", digest), folder=tmp_path)
    assert found.body[0].data == store[digest]


def test_damaged_files(tmp_path: Path) -> None:
    program = function(LONG, w=big())
    path = tmp_path / "k.safetensors"
    text = program.script(constants="file", constants_file=path)
    good = path.read_bytes()

    def read() -> str:
        with pytest.raises(DiagnosticError) as problem:
            parse(text, folder=tmp_path)
        assert {found.code for found in problem.value.diagnostics} == {"T115"}
        assert all(found.span is not None for found in problem.value.diagnostics)
        return problem.value.diagnostics[0].message

    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert "damaged: its digest is" in read()
    path.write_bytes(good[:-1])
    assert "not all there" in read()
    ConstantStore().save(path)
    assert "has no constant" in read()
    path.unlink()
    assert "cannot be read" in read()
    path.mkdir()
    assert "no regular file" in read()


def test_options_that_are_missing() -> None:
    with pytest.raises(ValueError, match="constants_file"):
        function(LONG, w=big()).script(constants="file")


def test_the_spans_of_mistakes() -> None:
    found = one_mistake('K = T.allocate_const([1, 300], "int8", (2,))')
    assert found.span is not None and found.span.text == "[1, 300]"


def test_a_long_text_of_data_is_read() -> None:
    from tirscript.script import source

    text = function(LONG, w=big()).script(constants="inline")
    source.MAX_TEXT, most = 1500, source.MAX_TEXT
    try:
        assert len(text) > 1500
        parse(text)
        with pytest.raises(DiagnosticError, match="characters"):
            parse(text.replace('base64="""', 'base64="""$', 1))
    finally:
        source.MAX_TEXT = most


def test_a_callee_that_hands_a_constant_to_a_library() -> None:
    """As a library that is called with the constant itself, it is taken to read what it is given."""
    parse(
        HEADER
        + """@I.ir_module
class M:
    @T.prim_func(private=True)
    def part(B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        T.evaluate(T.call_packed("lib.copy", C.data, B.data))

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        K = T.allocate_const([1, 2, 3, 4], "int32", (4,))
        M.part(A, K)
"""
    )
