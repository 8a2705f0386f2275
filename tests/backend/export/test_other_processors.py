"""Code for other processors: the example kernels run under qemu where Debian has it, else their instructions are read."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.processor import has

import tirscript
from tirscript import Target
from tirscript.backend.export.code import struct_layout
from tirscript.backend.export.entries import entry_of
from tirscript.backend.llvm.files import ahead_of_time
from tirscript.backend.llvm.machine import machine
from tirscript.script import tir as T
from tirscript.testing.compare import copies, largest_error, tolerance
from tirscript.testing.example_kernels import Example, examples

TARGETS = {
    "sse4.2": ("llvm -mtriple=x86_64-linux-gnu -mcpu=nehalem", "EM_X86_64"),
    "avx2": ("intel/haswell", "EM_X86_64"),
    "avx512": ("intel/skylake-avx512", "EM_X86_64"),
    "aarch64": ("aarch64/generic", "EM_AARCH64"),
    "riscv64": ("riscv64/generic", "EM_RISCV"),
}
MACHINES = {62: "EM_X86_64", 183: "EM_AARCH64", 243: "EM_RISCV"}
TEN = [
    *("addone", "bit_hash", "conv2d", "histogram", "layer_norm", "matmul", "prefix_sum", "softmax", "stencil"),
    "transpose",
]
_EXAMPLES = {example.name: example for example in examples()}


def foreign(program: Any, target: str) -> Any:
    with ahead_of_time():
        return tirscript.build(program, target=target)


@T.prim_func
def scaled(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for i in range(4096):
        B[i] = T.exp(A[i]) * 2.0


REGISTERS = {"sse4.2": r"%xmm\d", "avx2": r"%ymm\d", "avx512": r"%zmm\d", "aarch64": r"v\d+\.4s", "riscv64": r"fmul\.s"}
WIDER = {"sse4.2": "ymm", "avx2": "zmm", "avx512": "no such", "aarch64": "xmm", "riscv64": "xmm"}


@pytest.mark.parametrize("name", TARGETS)
def test_instructions_are_those_of_the_processor(tmp_path: Path, name: str) -> None:
    target, machine = TARGETS[name]
    built = foreign(scaled, target)
    assembly = built.assembly()
    assert re.search(REGISTERS[name], assembly), assembly[:2000]
    assert WIDER[name] not in assembly
    path = built.export(tmp_path / "k.o")
    header = path.read_bytes()[:20]
    assert header[:4] == b"\x7fELF" and MACHINES[int.from_bytes(header[18:20], "little")] == machine


def test_wasm_objects_are_wasm(tmp_path: Path) -> None:
    path = foreign(scaled, "wasm32/generic").export(tmp_path / "k.o")
    assert path.read_bytes()[:4] == b"\0asm"


@pytest.mark.parametrize("target", ["wasm32/generic", "llvm -mtriple=armv7-linux-gnueabihf", "aarch64/generic"])
def test_memory_is_allocated_by_sizes_of_the_processor(tmp_path: Path, target: str) -> None:
    text = "@T.prim_func\ndef f(n: T.int64, A: T.Buffer(('n',), 'int32')):\n    X = T.alloc_buffer((n,), 'int32')\n"
    text += "    for i in range(n):\n        X[i] = A[i]\n    for i in range(n):\n        A[i] = X[n - 1 - i]\n"
    program = tirscript.parse(text)
    path = foreign(program, target).export(tmp_path / "k.ll")
    size = "i64" if target == "aarch64/generic" else "i32"
    assert re.search(rf"declare [^\n]*@aligned_alloc\({size} [^\n]*, {size}[^\n]*\)", path.read_text())
    foreign(program, target).export(tmp_path / "k.o")


def test_functions_for_another_processor_are_not_called() -> None:
    built = tirscript.build(scaled, target="aarch64/generic")
    with pytest.raises(tirscript.DiagnosticError, match=r"T402.*aarch64.*does not run in this process"):
        built(np.zeros(4096, "float32"), np.zeros(4096, "float32"))
    assert 'target triple = "aarch64' in built.llvm_ir()


DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include "k.h"

static void *contents(const char *path, size_t bytes) {
  FILE *file = fopen(path, "rb");
  void *memory = malloc(bytes + 1);
  if (file == NULL || memory == NULL || fread(memory, 1, bytes, file) != bytes) exit(3);
  fclose(file);
  return memory;
}

int main(void) {
  int32_t status;
@ARRAYS@
  status = @CALL@;
  if (status != 0) {
    fprintf(stderr, "%s\\n", k_message());
    return status;
  }
@WRITE@
  return 0;
}
"""


def driver(example: Example, given: list[Any], folder: Path) -> str:
    """A C program that reads the arrays from files, calls the kernel and writes the arrays out."""
    arrays, words, write = [], [], []
    for at, value in enumerate(given):
        if not isinstance(value, np.ndarray):
            words.append(repr(value).lower())
            continue
        (folder / f"in{at}").write_bytes(value.tobytes())
        dims = ", ".join(map(str, value.shape)) or "0"
        kind = str(value.dtype).upper()
        arrays.append(
            f'  int64_t shape{at}[] = {{{dims}}};\n  void *data{at} = contents("in{at}", {value.nbytes});\n'
            f"  tirscript_array A{at} = tirscript_array_of(data{at}, TIRSCRIPT_{kind}, {value.ndim}, shape{at});"
        )
        words.append(f"&A{at}")
        write.append(f"  fwrite(data{at}, 1, {value.nbytes}, stdout);")
    call = f"{example.kernel.name}({', '.join(words)})"
    text = DRIVER.replace("@ARRAYS@", "\n".join(arrays)).replace("@CALL@", call)
    return text.replace("@WRITE@", "\n".join(write))


def links_for_32_bits(folder: Path) -> bool:
    """Whether C programs of 32 bits can be made and run here."""
    if shutil.which("gcc") is None or platform.machine() != "x86_64":
        return False
    (folder / "any.c").write_text("#include <stdlib.h>\nint main(void) { return sizeof(void *) != 4; }\n")
    made = subprocess.run(["gcc", "-m32", "-static", folder / "any.c", "-o", folder / "any"], capture_output=True)
    return made.returncode == 0 and subprocess.run([folder / "any"]).returncode == 0


def emulated(example: Example, arch: str, folder: Path, *, c: bool) -> tuple[list[Any], list[Any]]:
    """The arrays after the kernel ran on the emulated processor, and what numpy makes of them."""
    if arch == "i686":  # what processors of 64 bits run, too
        compiler, emulator = ["gcc", "-m32"], []
        if not links_for_32_bits(folder):
            pytest.skip("there is no compiler and C library for programs of 32 bits")
    else:
        compiler, emulator = [f"{arch}-linux-gnu-gcc"], [f"qemu-{arch}"]
        if any(shutil.which(one) is None for one in (*compiler, *emulator)):
            pytest.skip(f"there is no {compiler[0]} with {emulator[0]}")
    given = list(example.inputs(np.random.default_rng(0)))
    if c:
        kernel = tirscript.build(example.kernel, target="c").export(folder / "k.c", header=folder / "k.h")
    else:
        target = "llvm -mtriple=i686-linux-gnu -mcpu=haswell" if arch == "i686" else TARGETS[arch][0]
        kernel = foreign(example.kernel, target).export(folder / "k.o", header=folder / "k.h")
    (folder / "main.c").write_text(driver(example, given, folder))
    made = [*compiler, "-static", "-O1", "-ffp-contract=off", f"-I{folder}", folder / "main.c", kernel, "-lm"]
    subprocess.run([*made, "-o", folder / "program"], check=True)
    done = subprocess.run([*emulator, folder / "program"], check=True, capture_output=True, cwd=folder)
    expected, found, at = copies(given), [], 0
    example.reference(*expected)
    for value in given:
        if isinstance(value, np.ndarray):
            found.append(np.frombuffer(done.stdout[at : at + value.nbytes], value.dtype).reshape(value.shape))
            at += value.nbytes
        else:
            found.append(value)
    return found, expected


@pytest.mark.parametrize("name", TEN)
def test_kernels_on_an_emulated_aarch64(tmp_path: Path, name: str) -> None:
    found, expected = emulated(_EXAMPLES[name], "aarch64", tmp_path, c=False)
    assert largest_error(found, expected) <= tolerance(expected)


@pytest.mark.parametrize("name", TEN)
def test_kernels_of_32_bits(tmp_path: Path, name: str) -> None:
    found, expected = emulated(_EXAMPLES[name], "i686", tmp_path, c=False)
    assert largest_error(found, expected) <= tolerance(expected)


@pytest.mark.skipif(not has("avx512vnni"), reason="the example has the instruction where the processor has it")
@pytest.mark.parametrize("target", ["aarch64/generic", "intel/haswell", "c"])
def test_instructions_of_one_processor_are_refused_for_others(target: str, tmp_path: Path) -> None:
    with pytest.raises(tirscript.DiagnosticError, match=r"T402.*llvm\.x86\.avx512\.vpdpbusd\.512"):
        foreign(_EXAMPLES["scheduled_int8_matmul"].kernel, target).export(tmp_path / "k.o")


@pytest.mark.parametrize("name", ["softmax", "histogram", "matmul"])
def test_kernels_on_an_emulated_riscv64(tmp_path: Path, name: str) -> None:
    found, expected = emulated(_EXAMPLES[name], "riscv64", tmp_path, c=False)
    assert largest_error(found, expected) <= tolerance(expected)


def test_c_source_on_an_emulated_aarch64(tmp_path: Path) -> None:
    found, expected = emulated(_EXAMPLES["layer_norm"], "aarch64", tmp_path, c=True)
    assert largest_error(found, expected) <= tolerance(expected)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("name", TEN)
def test_kernels_exported_for_this_processor(tmp_path: Path, name: str, target: str) -> None:
    example = _EXAMPLES[name]
    built = tirscript.build(example.kernel, target=target) if target == "c" else foreign(example.kernel, target)
    if target == "c":
        strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        subprocess.run(["cc", *strict, built.export(tmp_path / "k.c")], check=True)
    given = list(example.inputs(np.random.default_rng(0)))
    expected = copies(given)
    example.reference(*expected)
    tirscript.load(built.export(tmp_path / "libk.so"))[example.kernel.name](*given)
    assert largest_error(given, expected) <= tolerance(expected)


@pytest.mark.parametrize(
    ("triple", "layout", "offset"),
    [
        ("x86_64-linux-gnu", (8, 8), "_fields[5]"),
        ("wasm32-unknown-unknown", (4, 8), "_fields[4]"),
        ("thumbv7em-none-eabihf", (4, 8), "_fields[4]"),
        ("armv6-linux-gnueabihf", (4, 8), "_fields[4]"),
        ("i686-pc-windows-msvc", (4, 8), "_fields[4]"),
        ("i586-linux-gnu", (4, 4), "_words[7]"),  # an int64 is aligned to 4 bytes there
        ("i386-linux-gnu", (4, 4), "_words[7]"),
    ],
)
def test_the_struct_of_an_array_is_laid_out_as_c_does(triple: str, layout: tuple[int, int], offset: str) -> None:
    found = struct_layout(machine(Target.parse(f"llvm -mtriple={triple}")))
    assert (found.pointer, found.wide) == layout
    func = tirscript.parse('@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = 1.0\n')
    made = entry_of(func, func, frozenset(func.params), found).func.replace(name="entry")
    text = made.script().replace("T.int64(", "").replace(")]", "]")
    assert f"A{offset}" in text, text
