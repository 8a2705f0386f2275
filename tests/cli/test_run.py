"""`tirscript run`, `bench` and `build`: kernels called from the command line."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.cli import DOUBLE, HEADER, ROOT, process, run

EXAMPLES = ROOT / "examples"
GATHER = (
    HEADER
    + """@T.prim_func
def gather(A: T.Buffer(("n",), "float32"), index: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[index[i]]
"""
)
SCALE = (
    HEADER
    + """@T.prim_func
def scale(A: T.Buffer(("n",), "float32"), alpha: T.float32, k: T.int32, on: T.bool, B: T.Buffer(("n * 2",), "float32")):
    for i in range(n * 2):
        B[i] = A[i // 2] * alpha + T.cast(k, "float32") if on else 0.0
"""
)


@pytest.fixture
def kernel(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "k.py"
        path.write_text(text)
        return path

    return write


def report(*arguments: object) -> Any:
    result = run("run", "--json", *arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", ["softmax", "histogram", "crop", "stencil"])
def test_the_examples_run_on_random_numbers(name: str) -> None:
    found = report(EXAMPLES / f"{name}.py", "--random", "--check", "--seed", 3)
    assert found["function"] == name and found["check"]["same"] and found["seconds"] > 0


def test_arrays_of_files(kernel: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(4, dtype="float32"))
    output = tmp_path / "b.npy"
    result = run("run", kernel(DOUBLE), "--input", tmp_path / "a.npy", "--output", output)
    assert result.exit_code == 0
    np.testing.assert_array_equal(np.load(output), np.arange(4, dtype="float32") * 2)
    assert "A: float32 (4,): 0 to 3, mean 1.5\n" in result.stdout
    assert "B: float32 (4,), written: 0 to 6, mean 3\n    [0. 2. 4. 6.]\n" in result.stdout
    assert "double ran in " in result.stderr and f"wrote B to {output}" in result.stderr


def test_npz_by_name_and_by_place(kernel: Any, tmp_path: Path) -> None:
    path = kernel(GATHER)
    a, index = np.arange(8, dtype="float32"), np.array([7, 0, 1, 2], "int32")
    for arrays in ({"index": index, "A": a}, {"arr_0": a, "arr_1": index}):
        np.savez(tmp_path / "x.npz", **arrays)
        run("run", path, "--input", tmp_path / "x.npz", "--output", tmp_path / "out.npz")
        np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["B"], [7, 0, 1, 2])
    np.save(tmp_path / "i.npy", index)
    np.save(tmp_path / "a.npy", a)
    named = ["--input", f"index={tmp_path}/i.npy", "--input", tmp_path / "a.npy"]
    assert report(path, *named)["parameters"][2]["max"] == 7.0


def test_sizes_and_scalars(kernel: Any, tmp_path: Path) -> None:
    path = kernel(SCALE)
    np.save(tmp_path / "a.npy", np.ones(3, "float32"))
    given = ["--input", tmp_path / "a.npy", "--set", "alpha=0.5", "--set", "k=0x10", "--set", "on=true"]
    found = {one["name"]: one for one in report(path, *given, "--interpret")["parameters"]}
    assert found["B"]["shape"] == [6] and found["B"]["min"] == found["B"]["max"] == 16.5
    assert found["alpha"]["value"] == 0.5 and found["on"]["value"] is True
    random = {one["name"]: one for one in report(path, "--random", "--size", "n=7")["parameters"]}
    assert random["A"]["shape"] == [7] and random["B"]["shape"] == [14]
    assert -1 <= random["A"]["min"] < random["A"]["max"] < 1
    told = run("run", path, "--random")
    assert "taking n = 16 (--size sets others)\n" in told.stderr
    assert run("run", path, "--random", "--seed", 1).stdout != told.stdout == run("run", path, "--random").stdout


def test_scalars_that_are_sizes(kernel: Any) -> None:
    text = (
        HEADER
        + '@T.prim_func\ndef f(n: T.int32, A: T.Buffer(("n", 2), "int8")):\n    for i in range(n):\n        A[i, 0] = 1\n'
    )
    found = report(kernel(text), "--size", "n=3")["parameters"]
    assert found[1]["shape"] == [3, 2] and found[0]["value"] == 3
    assert report(kernel(text), "--set", "n=5")["parameters"][1]["shape"] == [5, 2]
    assert report(kernel(text))["parameters"][0]["value"] == 16


def test_random_integers_can_be_indices(kernel: Any) -> None:
    for seed in range(5):
        found = report(kernel(GATHER), "--random", "--size", "n=3", "--seed", seed)
        assert 0 <= found["parameters"][1]["min"] <= found["parameters"][1]["max"] < 3


def test_an_empty_array_leaves_random_integers_as_they_are(kernel: Any, tmp_path: Path) -> None:
    body = "    for i in range(4):\n        C[i] = index[i]\n"
    text = GATHER.replace('B: T.Buffer((4,), "float32")):', 'C: T.Buffer((4,), "int32")):')
    text, output = text[: text.index("    for")] + body, tmp_path / "c.npy"
    for size, least, most in ((0, 2, 100), (3, 0, 3)):
        report(kernel(text), "--random", "--seed", 1, "--size", f"n={size}", "--output", output)
        assert least <= np.load(output).max() < most


def test_a_wrong_index_is_told_and_does_not_crash(kernel: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "i.npy", np.array([0, 1, 2**30, 3], "int32"))
    done = process("run", kernel(GATHER), "--random", "--input", f"index={tmp_path}/i.npy")
    assert done.returncode == 1 and b"error[T302]" in done.stderr and b"k.py:7:" in done.stderr
    done = process("bench", kernel(GATHER), "--input", f"index={tmp_path}/i.npy")
    assert done.returncode == 1 and b"error[T302]" in done.stderr


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("bfloat16", ""), ("float8_e4m3fn", ""), ("bool", ""), ("uint8", ""), ("float32x4", ""), ("float16", "")],
)
def test_every_dtype(dtype: str, shape: str, kernel: Any, tmp_path: Path) -> None:
    text = (
        HEADER
        + f'@T.prim_func\ndef f(A: T.Buffer((4,), "{dtype}"), B: T.Buffer((4,), "{dtype}")):\n    for i in range(4):\n        B[i] = A[i]\n'
    )
    output = tmp_path / "b.npy"
    assert report(kernel(text), "--random", "--check", "--output", output)["check"]["same"]
    again = report(kernel(text), "--input", output, "--check")
    assert again["parameters"][0]["min"] == again["parameters"][1]["min"]


def test_strides(kernel: Any) -> None:
    text = (
        HEADER
        + '@T.prim_func\ndef f(a: T.handle):\n    s = T.int64()\n    A = T.match_buffer(a, (3, 2), "int32", strides=(s, 1))\n    A[2, 1] = 5\n'
    )
    assert report(kernel(text), "--check")["check"]["same"]
    fixed = text.replace("    s = T.int64()\n", "").replace("(s, 1)", "(8, 2)")
    assert report(kernel(fixed), "--check", "--random")["parameters"][0]["max"] == 5


@pytest.mark.parametrize("dtype", ["bool", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_strides_of_narrow_types(kernel: Any, dtype: str) -> None:
    text = f"""{HEADER}@T.prim_func
def f(A: T.Buffer((3, 2), "{dtype}", strides=(8, 2)), B: T.Buffer((3, 2), "{dtype}")):
    for i, j in T.grid(3, 2):
        B[i, j] = A[i, j]
"""
    made = report(kernel(text), "--check", "--random")
    assert made["check"]["same"] and made["parameters"][0]["max"] == made["parameters"][1]["max"]


def test_a_stride_that_is_a_dimension_is_the_size_of_one(kernel: Any) -> None:
    text = (
        HEADER
        + '@T.prim_func\ndef f(a: T.handle):\n    k = T.int64()\n    A = T.match_buffer(a, (3, k), "int32", strides=(k, 1))\n    A[2, 1] = 5\n'
    )
    assert report(kernel(text), "--check", "--size", "k=4")["parameters"][0]["shape"] == [3, 4]
    result = run("run", kernel(text.replace("(k, 1)", "(8, -1)")), "--size", "k=4", "--random")
    assert result.exit_code == 1 and "`A` has negative strides, (8, -1)" in result.stderr


def test_what_is_returned_and_asserted(kernel: Any) -> None:
    text = HEADER + '@T.prim_func\ndef f(n: T.int32) -> T.int32:\n    assert n > 0, "n is positive"\n    return n * 2\n'
    assert report(kernel(text), "--set", "n=21", "--check")["returned"] == 42
    result = run("run", kernel(text), "--set", "n=-1")
    assert result.exit_code == 1 and "error[T310]" in result.stderr and "n is positive" in result.stderr


def test_modules(kernel: Any) -> None:
    text = """from tirscript.script import ir as I, tir as T


@I.ir_module
class M:
    @T.prim_func(private=True)
    def g(A: T.Buffer((4,), "float32")):
        A[0] = 3.0

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        M.g(A)

    @T.prim_func
    def other(A: T.Buffer((4,), "float32")):
        A[1] = 4.0
"""
    path = kernel(text)
    assert report(path, "--check")["function"] == "main"
    assert report(f"{path}:other")["parameters"][0]["max"] == 4.0
    assert report(f"{path}:M.g", "--interpret")["parameters"][0]["max"] == 3.0
    refused = run("run", f"{path}:g")
    assert refused.exit_code == 1 and "`g` is private" in refused.stderr
    path = kernel(text.replace("def main", "def third"))
    unclear = run("run", path)
    assert unclear.exit_code == 1 and f"name one: {path}:M.third" in unclear.stderr
    text = text.replace("def main", "def third")
    assert "name one, behind the options: -- -:M.third" in run("run", "-", stdin=text).stderr
    assert run("run", "--random", "--", "-:M.third", stdin=text).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 1, "no value is given for `A` of `double`"),
        (["--size", "n=3"], 1, "has no symbolic dimension `n`"),
        (["--random", "--size", "n"], 2, "is not NAME=VALUE"),
        (["--random", "--size", "n=3", "--size", "n=4"], 2, "'n' is given twice"),
        (["--random", "--set", "x=1", "--set", "x = 2"], 2, "'x' is given twice"),
        (["--random", "--set", "A=1"], 1, "has no scalar parameter `A`"),
        (["--input", "missing.npy"], 1, "missing.npy cannot be read: no such file"),
        (
            ["--input", "{kernel}"],
            1,
            "k.py cannot be read: it holds no arrays\n  = help: it should be a .npy or .npz file",
        ),
        (["--input", "C={array}"], 1, "`double` has no array parameter `C`"),
        (["--input", "C=missing.npy"], 1, "`double` has no array parameter `C`"),
        (["--input", "{array}", "--input", "A={array}"], 1, "`A` is given twice"),
        (["--input", "{array}", "--input", "{array}", "--input", "{array}"], 1, "no array parameter left"),
        (["--input", "{wrong}"], 1, "error[T301]: argument `A` of `double`"),
        (["--input", "{pickle}"], 1, "cannot be read"),
        (["--random", "--output", "/nowhere/x.npy"], 1, "/nowhere/x.npy cannot be written"),
        (["--random", "--output", "x.csv"], 1, "x.csv does not say by its suffix"),
        (["--random", "--output", "x"], 1, "= help: `--output x.npy`"),
    ],
)
def test_wrong_arguments(arguments: list[str], code: int, said: str, kernel: Any, tmp_path: Path) -> None:
    path = kernel(DOUBLE)
    np.save(tmp_path / "a.npy", np.ones(4, "float32"))
    np.save(tmp_path / "wrong.npy", np.ones((4, 2), "float64"))
    np.save(tmp_path / "pickle.npy", np.array([{}], object), allow_pickle=True)
    names = {
        "kernel": path,
        **{name: tmp_path / f"{name}.npy" for name in ("wrong", "pickle")},
        "array": tmp_path / "a.npy",
    }
    result = run("run", path, *(argument.format(**names) for argument in arguments))
    assert result.exit_code == code, result.output
    assert said in result.stderr


def test_several_arrays_are_no_npy(kernel: Any, tmp_path: Path) -> None:
    two = DOUBLE.replace("B[i] =", "A[i] = B[i]\n        B[i] =")
    assert two != DOUBLE
    result = run("run", kernel(two), "--random", "--output", tmp_path / "both.npy")
    assert result.exit_code == 1 and "writes 2 arrays (A, B)" in result.stderr, result.stderr
    assert f"--output {tmp_path / 'both.npz'}" in result.stderr and not (tmp_path / "both.npy").exists()
    assert run("run", kernel(two), "--random", "--output", tmp_path / "both.npz").exit_code == 0
    assert set(np.load(tmp_path / "both.npz")) == {"A", "B"}


def test_sizes_beyond_memory(kernel: Any) -> None:
    result = run("run", kernel(SCALE), "--random", "--size", f"n={10**15}")
    assert result.exit_code == 1 and "cannot be made" in result.stderr and "smaller --size" in result.stderr
    assert run("run", kernel(SCALE), "--random", "--size", "n=-1").exit_code == 2


def test_a_difference_is_told_and_fails(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirscript.testing.largest_error", lambda a, b: 0.5)
    result = run("run", kernel(DOUBLE), "--random", "--check")
    assert result.exit_code == 1
    assert "native and interpreted: DIFFERENT (largest error 0.5, allowed 2e-05)" in result.stdout


# --- bench


def test_bench(kernel: Any) -> None:
    result = run("bench", kernel(DOUBLE), "--rounds", 3, "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["function"] == "double" and found["bytes"] == 32
    (one,) = found["results"]
    low, high = one["quartiles"]
    assert 0 < one["least"] <= low <= one["median"] <= high and one["rounds"] == 3
    assert one["bytes_per_second"] == pytest.approx(32 / one["median"])


def test_bytes_that_are_read_and_written_count_twice(kernel: Any) -> None:
    text = DOUBLE.replace("B[i] = A[i] * 2.0", "B[i] += A[i] * 2.0")
    assert json.loads(run("bench", kernel(text), "--rounds", 3, "--json").stdout)["bytes"] == 48


def test_bench_against_another_and_the_interpreter(kernel: Any, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(DOUBLE.replace("A[i] * 2.0", "A[i] + A[i]"))
    result = run("bench", kernel(DOUBLE), "--against", other, "--rounds", 3)
    assert result.exit_code == 0 and " times as fast as " in result.stdout and "GB/s" in result.stdout
    result = run("bench", kernel(DOUBLE), "--against", "interpreter", "--rounds", 3, "--json")
    native, interpreted = json.loads(result.stdout)["results"]
    assert native["median"] < interpreted["median"]
    other.write_text(DOUBLE.replace("2.0", "3.0"))
    result = run("bench", kernel(DOUBLE), "--against", other, "--rounds", 3)
    assert result.exit_code == 1 and "does not compute what `double` computes" in result.stderr


def test_a_round_begins_with_the_same_numbers() -> None:
    from tirscript.cli.bench import measure

    seen: list[float] = []

    def function(array: Any) -> None:
        seen.append(float(array[0]))
        array[0] += 1.0

    measure([function], [np.zeros(1)], 3)
    assert seen.count(0.0) >= 4 and max(seen) > 1


def test_a_number_of_threads_that_is_none_is_no_fault_of_ours(kernel: Any) -> None:
    path = kernel(
        f"{HEADER}@T.prim_func\ndef f(A: T.Buffer((4096, 256), 'float32')):\n"
        "    for i in T.parallel(4096, annotations={'grain': 1}):\n        for j in range(256):\n            A[i, j] = 1.0\n"
    )
    found = process("run", path, "--unchecked", TIRSCRIPT_NUM_THREADS="many", TIRSCRIPT_CACHE="0")
    assert found.returncode == 1
    assert b"error[T404]: TIRSCRIPT_NUM_THREADS is 'many', which is no number of threads" in found.stderr


# --- build


def test_build(kernel: Any) -> None:
    path = kernel(DOUBLE)
    result = run("build", path)
    assert result.exit_code == 0
    assert result.stdout.startswith("double: ") and "(lowering " in result.stdout
    assert '    double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"))' in result.stdout
    (program,) = json.loads(run("build", path, "--json").stdout)["programs"]
    assert program["entry_points"][0]["parameters"][0] == {"name": "A", "type": 'T.Buffer((4,), "float32")'}
    assert program["seconds"]["total"] >= program["seconds"]["code"] > 0


def test_build_emits_each_stage(kernel: Any) -> None:
    path = kernel(DOUBLE)
    assert "def double(" in run("build", path, "--emit", "ir").stdout
    assert "define" in run("build", path, "--emit", "llvm").stdout
    assert "tirscript_kernel_double:" in run("build", path, "--emit", "asm").stdout
    assert "fmul" in run("build", path, "--emit", "llvm", "--opt-level", 0).stdout


def test_build_shows_the_code_that_programs_run(kernel: Any) -> None:
    path = kernel(
        HEADER
        + '@T.prim_func\ndef f(A: T.Buffer((64, 64), "int32"), B: T.Buffer((64, 64), "int32"), C: T.Buffer((64, 64), "int32")):\n'
        + "    for i, j, k in T.grid(64, 64, 64):\n        if k == 0:\n            C[i, j] = 0\n        C[i, j] += A[i, k] * B[k, j]\n"
    )
    assert "C_local" in run("build", path, "--emit", "ir").stdout
    assert "C_local" not in run("build", path, "--emit", "ir", "--debug").stdout
    assert "C_local" not in run("build", path, "--emit", "ir", "--passes", "lower_blocks").stdout


def test_build_refuses(kernel: Any) -> None:
    path = kernel(DOUBLE)
    assert "there is no kind of target `cuda`" in run("build", path, "--target", "cuda").stderr
    assert run("build", path, "--passes", "nonsense").exit_code == 1


def test_build_writes_libraries(kernel: Any, tmp_path: Path) -> None:
    path = kernel(DOUBLE)
    made = run("build", path, "-o", tmp_path / "k.o", "--header", tmp_path / "k.h", "--prefix", "own_", "-O1")
    assert made.stdout == f"{tmp_path / 'k.o'}: double\n"
    assert (tmp_path / "k.o").read_bytes()[:4] == b"\x7fELF"
    assert "const char *own_message(void);" in (tmp_path / "k.h").read_text()
    assert run("build", path, "-o", tmp_path / "arm.s", "--target", "aarch64/generic").exit_code == 0
    assert "v0.4s" in (tmp_path / "arm.s").read_text()
    assert run("build", path, "-o", tmp_path / "k.c", "--target", "c").exit_code == 0
    assert "static int32_t double_kernel(" in (tmp_path / "k.c").read_text()
    assert "static int32_t double_kernel(" in run("build", path, "--target", "c", "--emit", "source").stdout
    assert "go with -o" in run("build", path, "--header", tmp_path / "k.h").stderr
    for more in (("--json",), ("--emit", "ir"), ("--emit", "asm", "--json")):
        several = run("build", path, "-o", tmp_path / "l.o", *more)
        assert several.exit_code == 2 and "one of them is given" in several.stderr
        assert not (tmp_path / "l.o").exists()


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="files that are open have no names here")
def test_arrays_are_written_into_pipes(kernel: Any) -> None:
    read, write = os.pipe()
    result = run("run", kernel(DOUBLE), "--random", "--output", f"/dev/fd/{write}")
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    assert result.exit_code == 0, result.stderr
    assert np.load(io.BytesIO(data)).shape == (4,)
