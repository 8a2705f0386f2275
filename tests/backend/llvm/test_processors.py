"""Code for the processors that targets name, as far as this machine is one of their kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.llvm import emit_ir
from tirscript.backend.llvm.host import host
from tirscript.backend.llvm.machine import architecture, complete, machine, require_here, system
from tirscript.ir import DiagnosticError, Module, Target

pytestmark = pytest.mark.skipif(architecture(host().triple) != "x86-64", reason="names processors of x86-64")

KERNEL = """
@T.prim_func
def f(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for i in T.parallel(4096, annotations={"grain": 64}):
        B[i] = A[i] * T.float32(3)
"""
MODULE = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((640,), "float32"), B: T.Buffer((640,), "float32")):
        M.narrow(A, B)
        M.wide(B)

    @T.prim_func
    def narrow(A: T.Buffer((640,), "float32"), B: T.Buffer((640,), "float32")):
        T.func_attr({"target": T.target("llvm -mcpu=x86-64-v2")})
        for i in range(640):
            B[i] = A[i] * T.float32(3)

    @T.prim_func
    def wide(B: T.Buffer((640,), "float32")):
        for i in range(640):
            B[i] = B[i] + T.float32(1)
"""


def run(target: Any) -> Any:
    made = tirscript.build(tirscript.parse(KERNEL), target=target)
    A, B = np.arange(4096, dtype="float32"), np.zeros(4096, "float32")
    made(A, B)
    assert (B == 3 * A).all()
    return made


def told(target: Any) -> str:
    with pytest.raises(DiagnosticError) as info:
        run(target)
    found = info.value.diagnostics[0]
    assert found.span is not None
    return f"{found.code} {found.message} | {found.hint}"


def test_code_is_for_the_processor_that_is_named() -> None:
    text = run("llvm -mcpu=x86-64-v2").assembly()
    assert "ymm" not in text and "zmm" not in text
    assert "zmm" not in run({"kind": "llvm", "vector-width": 256}).assembly()
    assert run("llvm -mcpu=native").assembly() == run(None).assembly() == run(Target.host()).assembly()
    assert "zmm" not in run("llvm -mattr=-avx512f").assembly()


def test_threads_and_entries_are_the_targets() -> None:
    assert "tirscript_parallel" in run("llvm").llvm_ir()
    alone = run("llvm -threads=none")
    assert "tirscript_parallel" not in alone.llvm_ir()
    assert type(run("llvm -entry=c")).__name__ == "PortableFunction" != type(run("llvm")).__name__


def test_functions_of_one_module_are_each_for_their_own() -> None:
    made = tirscript.build(tirscript.parse(MODULE))
    A, B = np.arange(640, dtype="float32"), np.zeros(640, "float32")
    made(A, B)
    assert (B == 3 * A + 1).all()
    lines = made["main"].llvm_ir().splitlines()
    head = next(line for line in lines if line.startswith("define") and "kernel_narrow" in line)
    group = next(line for line in lines if line.startswith(f"attributes {head.split()[-2]} "))
    assert '"target-cpu"="x86-64-v2"' in group and "avx" not in group
    assert sum("target-cpu" in line for line in lines) == 1
    other = tirscript.parse(MODULE.replace("llvm -mcpu=x86-64-v2", "aarch64/generic"))
    with pytest.raises(DiagnosticError, match=r"T402.*code for aarch64-linux-gnu does not run in this process"):
        tirscript.build(other)
    with pytest.raises(DiagnosticError, match=r"T402.*`narrow` is for aarch64-linux-gnu in a module for"):
        assert isinstance(other, Module)
        emit_ir(other)


@pytest.fixture
def poor_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine with a processor that has next to nothing."""
    from tirscript.backend.llvm import machine as module

    real = host()
    poor = type(real)(real.triple, "x86-64", "+cx8,+sse2,-avx")
    monkeypatch.setattr(module, "host", lambda: poor)
    machine.cache_clear()
    yield
    machine.cache_clear()


@pytest.mark.usefixtures("poor_host")
def test_a_processor_that_has_more_than_this_one_is_refused() -> None:
    require_here(Target("llvm"))
    with pytest.raises(DiagnosticError, match=r"T402.*does not have .*avx2.*, which the target asks for"):
        require_here(Target("llvm -mcpu=haswell"))
    with pytest.raises(DiagnosticError, match=r"T402.*does not have avx512f, which"):
        require_here(Target("llvm -mattr=+avx512f"))
    unknown = told("llvm -mcpu=bdver2")
    assert unknown.startswith("T402 whether code for the processor `bdver2` runs on this one")


@pytest.mark.usefixtures("poor_host")
@pytest.mark.parametrize("text", [KERNEL, MODULE.replace("x86-64-v2", "haswell")])
def test_code_for_a_processor_that_has_more_is_looked_at_and_exported(text: str, tmp_path: Path) -> None:
    built = tirscript.build(tirscript.parse(text), target="llvm -mcpu=haswell" if text is KERNEL else "llvm")
    function = built["narrow"] if text is not KERNEL else built
    assert "ymm" in function.assembly() and "define" in function.llvm_ir()
    assert built.export(tmp_path / "k.o").read_bytes()[:4] == b"\x7fELF"
    size = 4096 if text is KERNEL else 640
    with pytest.raises(DiagnosticError, match=r"T402.*does not have .*avx2.*which the target asks for"):
        function(np.zeros(size, "float32"), np.zeros(size, "float32"))


@pytest.mark.parametrize("target", ["llvm", "aarch64/generic"])
def test_the_text_of_one_function_has_all_of_its_module(target: str) -> None:
    built = tirscript.build(tirscript.parse(MODULE.replace(" -mcpu=x86-64-v2", "")), target=target)
    for function in built:
        defined = "".join(line for line in function.llvm_ir().splitlines() if line.startswith("define"))
        assert all(name in defined for name in ("main", "narrow", "wide"))


@pytest.mark.parametrize(
    ("options", "message", "help_"),
    [
        ("-mcpu=haswel", "T402 LLVM has no processor `haswel` for x86_64", "did you mean `haswell`?"),
        ("-mtriple=aarch64-linux-gnu -mcpu=nobody", "T402 LLVM has no processor `nobody` for aarch64", None),
        ("-mtriple=riscv64-linux-gnu -mcpu=nobody", "T402 LLVM has no processor `nobody` for riscv64", None),
        ("-mcpu=cortex-a72", "T402 LLVM has no processor `cortex-a72` for x86_64", "-mtriple=aarch64-linux-gnu"),
        ("-mattr=+avx512ff", "T402 LLVM has no feature `avx512ff` for x86_64", "did you mean `avx512f`?"),
        ("-mattr=avx2", "T404 the feature `avx2` of a target is neither", "write `+avx2` or `-avx2`"),
        ("-mtriple=riscv64-linux-gnu -mabi=soft", "T402 LLVM cannot make code for the processor `generic`", None),
        ("-mtriple=s390x-linux-gnu", "T402 processors of `s390x-linux-gnu` read the highest byte", "--target c"),
        ("-mtriple=mips64-linux-gnu -mcpu=mips64", "T402 processors of `mips64-linux-gnu` read", "--target c"),
        ("-mtriple=nvptx64-nvidia-cuda -mcpu=sm_80", "T402 `nvptx64-nvidia-cuda` is no processor that runs", None),
        ("-mtriple=nowhere", "T402 LLVM makes no code for `nowhere`", "such as `x86_64-linux-gnu`"),
        # LLVM would end the process on these
        ("-mcpu=i386", "T402 LLVM cannot make code for the processor `i386`", None),
        ("-mcpu=x86-64 -mattr=-64bit", "T402 LLVM cannot make code for the processor `x86-64`", None),
        ("-mtriple=riscv64-linux-gnu -mabi=lp64d", "T402 LLVM cannot make code for the processor `generic`", None),
    ],
)
def test_what_llvm_does_not_have_is_told(
    options: str, message: str, help_: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DiagnosticError) as caught:
        build_for(f"llvm {options}").export(tmp_path / "k.o")
    (found,) = caught.value.diagnostics
    assert f"{found.code} {found.message}".startswith(message)
    assert (found.hint is None) == (help_ is None) and (help_ or "") in (found.hint or "")
    assert capfd.readouterr().err == ""


def build_for(target: str) -> Any:
    return tirscript.build(tirscript.parse(KERNEL), target=target)


def test_known_processors_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from tirscript.backend.llvm import known

    def refuse(*words: str) -> None:
        raise AssertionError(f"asked for {words}")

    monkeypatch.setattr(known, "_tried", refuse)
    machine.cache_clear()
    for options in ("", "-mcpu=haswell", "-mattr=-avx2", "-mcpu=haswell -mattr=+avx512f", "-mtriple=aarch64-linux-gnu"):
        machine(Target(f"llvm {options}"))
    for name in ("apple/m1", "aws/graviton2", "raspberry-pi/4b-aarch64", "wasm32/generic"):
        machine(Target.parse(name))
    machine(Target.host())
    with pytest.raises(AssertionError, match="asked for"):
        machine(Target("llvm -mcpu=bdver2"))


def test_a_target_is_completed_by_this_machine() -> None:
    whole = complete(Target("llvm"))
    assert whole.attrs == Target.host().attrs
    assert complete(Target("llvm -num-cores=7")).cores == 7 and complete(Target("llvm -num-cores=7")).cpu == host().cpu
    assert complete(Target("llvm -mcpu=haswell")).cores == Target.host().cores
    assert complete(Target("llvm -mcpu=haswell")).vector_bits == 256
    cross = Target.parse("riscv64/generic")
    assert complete(cross) is cross
    removed = complete(Target("llvm -mattr=-avx2"))
    assert "+avx2" not in removed.features and "-avx2" in removed.features and "+sse2" in removed.features


def test_triples_of_the_same_machine() -> None:
    assert (
        machine(Target("llvm -mtriple=x86_64-pc-linux-gnu")).triple == host().triple or system(host().triple) != "linux"
    )
    assert architecture("arm64-apple-macos") == architecture("aarch64-linux-gnu") == "aarch64"
    assert system("arm64-apple-macos11") == system("x86_64-apple-darwin20") == "darwin"
    assert machine(Target.parse("riscv64/generic")).abi == "lp64d"
    assert machine(Target.parse("riscv64/generic")).features.startswith("+64bit,")


def test_libraries_that_a_target_allows() -> None:
    program = tirscript.parse("""
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    T.evaluate(T.call_packed("test_mine.fill", A.data))
""")
    tirscript.register_library("test_mine.fill", lambda a: a.fill(2), override=True)
    A = np.zeros(4, "float32")
    tirscript.build(program, target="llvm -libs=test_mine,blas")(A)
    assert A.tolist() == [2] * 4
    with pytest.raises(DiagnosticError, match=r"T402.*no calls of the library `test_mine`(.|\n)*names blas"):
        tirscript.build(program, target="llvm -libs=blas")
