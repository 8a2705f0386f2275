"""Tiles as values: what is left of the calls that make them of vectors, line by line and in programs that run."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest
from helpers.processor import has

import tirscript
from tirscript.backend.llvm.compiling import optimize
from tirscript.backend.llvm.host import host, initialize_all
from tirscript.backend.llvm.tile_values import has_casts, without_casts
from tirscript.ir import DiagnosticError
from tirscript.script import parse

HERE = has("amx-int8")
VECTOR = "<256 x i32>"
INTO, OUT = "@llvm.x86.cast.vector.to.tile.v256i32", "@llvm.x86.cast.tile.to.vector.v256i32"
PRODUCT = "call x86_amx @llvm.x86.tdpbssd.internal(i16 16, i16 64, i16 64, x86_amx {}, x86_amx {}, x86_amx {})"
DECLARED = f"""
declare x86_amx {INTO}({VECTOR})
declare {VECTOR} {OUT}(x86_amx)
declare x86_amx @llvm.x86.tdpbssd.internal(i16, i16, i16, x86_amx, x86_amx, x86_amx)
"""


def into(name: str, vector: str) -> str:
    return f"{name} = call x86_amx {INTO}({VECTOR} {vector})"


def out(name: str, tile: str) -> str:
    return f"{name} = call {VECTOR} {OUT}(x86_amx {tile})"


def load(name: str, place: str) -> str:
    return f"{name} = load {VECTOR}, ptr {place}, align 64"


def found(*lines: str) -> list[str]:
    """The lines of a function without casts, which LLVM accepts and makes code of; short names for what they call."""
    body = "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
    text = f"{DECLARED}\ndefine void @f(ptr %a, ptr %b, ptr %c, i1 %which, {VECTOR} %v) {{\nstart:\n{body}\n  ret void\n}}\n"
    initialize_all()
    module = llvm.parse_assembly(text)
    module.verify()
    rewritten = without_casts(str(module))
    again = llvm.parse_assembly(rewritten)
    again.verify()
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu="sapphirerapids", opt=3)
    assert "tdpb" in (assembly := machine.emit_assembly(again)) or "tile" in assembly
    made = rewritten[rewritten.index("start:") : rewritten.index("\n}")].split("\n")[1:-1]
    short = [re.sub(r"@llvm\.x86\.(\w+)\.internal\(i16 16, i16 64(, )?", r"\1(", line) for line in made]
    return [line.partition(";")[0].strip() for line in short if line]


def product(name: str, *operands: str) -> str:
    return f"{name} = {PRODUCT.format(*operands)}"


def test_loads_and_stores_are_of_tiles() -> None:
    assert found(
        load("%x", "%a"),
        load("%y", "%b"),
        into("%s", "%x"),
        into("%t", "%y"),
        into("%u", "%x"),
        product("%d", "%s", "%t", "%u"),
        out("%r", "%d"),
        f"store {VECTOR} %r, ptr %c, align 64",
    ) == [
        "%x = call x86_amx tileloadd64(ptr %a, i64 64)",
        "%y = call x86_amx tileloadd64(ptr %b, i64 64)",
        "%d = call x86_amx tdpbssd(i16 64, x86_amx %x, x86_amx %y, x86_amx %x)",
        "call void tilestored64(ptr %c, i64 64, x86_amx %d)",
    ]


def test_what_is_made_of_a_tile_is_that_tile_and_each_zero_its_own() -> None:
    """A zero that several products begin with would be copied through memory."""
    assert found(
        into("%z", "zeroinitializer"),
        product("%d", "%z", "%z", "%z"),
        out("%r", "%d"),
        into("%s", "%r"),
        product("%e", "%s", "%s", "%s"),
        out("%t", "%e"),
        f"store {VECTOR} %t, ptr %c, align 64",
    ) == [
        *(f"%tile0.{n} = call x86_amx tilezero()" for n in (1, 2, 3)),
        "%d = call x86_amx tdpbssd(i16 64, x86_amx %tile0.1, x86_amx %tile0.2, x86_amx %tile0.3)",
        "%e = call x86_amx tdpbssd(i16 64, x86_amx %d, x86_amx %d, x86_amx %d)",
        "call void tilestored64(ptr %c, i64 64, x86_amx %e)",
    ]


def test_other_vectors_go_through_memory() -> None:
    """A parameter, a sum, and what is loaded and used as a vector, too."""
    assert found(
        load("%x", "%a"),
        f"%y = add {VECTOR} %x, %v",
        into("%s", "%x"),
        into("%t", "%y"),
        into("%u", "%v"),
        product("%d", "%s", "%t", "%u"),
        out("%r", "%d"),
        f"store {VECTOR} %r, ptr %c, align 64",
        f"%w = add {VECTOR} %r, %y",
        f"store {VECTOR} %w, ptr %b, align 64",
    ) == [
        *(f"%tile0.{n} = alloca [1024 x i8], align 64" for n in (1, 2, 3, 4)),
        "%x = load <256 x i32>, ptr %a, align 64",
        "%y = add <256 x i32> %x, %v",
        "store <256 x i32> %x, ptr %tile0.1, align 64",
        "%s = call x86_amx tileloadd64(ptr %tile0.1, i64 64)",
        "store <256 x i32> %y, ptr %tile0.2, align 64",
        "%t = call x86_amx tileloadd64(ptr %tile0.2, i64 64)",
        "store <256 x i32> %v, ptr %tile0.3, align 64",
        "%u = call x86_amx tileloadd64(ptr %tile0.3, i64 64)",
        "%d = call x86_amx tdpbssd(i16 64, x86_amx %s, x86_amx %t, x86_amx %u)",
        "call void tilestored64(ptr %tile0.4, i64 64, x86_amx %d)",
        "%r = load <256 x i32>, ptr %tile0.4, align 64",
        "call void tilestored64(ptr %c, i64 64, x86_amx %d)",
        "%w = add <256 x i32> %r, %y",
        "store <256 x i32> %w, ptr %b, align 64",
    ]


@pytest.mark.parametrize("start", ["zeroinitializer", "undef", "poison", "%x"])
def test_sums_of_a_loop_stay_tiles(start: str) -> None:
    """Two phis that hand over to each other, and the label of a block in quotes."""
    lines = found(
        load("%x", "%a"),
        'br label %"a loop"',
        '"a loop":',
        f'%p = phi {VECTOR} [ {start}, %start ], [ %r, %"a loop" ]',
        f'%q = phi {VECTOR} [ {start}, %start ], [ %p, %"a loop" ]',
        into("%s", "%p"),
        into("%t", "%q"),
        product("%d", "%s", "%t", "%t"),
        out("%r", "%d"),
        'br i1 %which, label %"a loop", label %"behind"',
        '"behind":',
        f"store {VECTOR} %r, ptr %c, align 64",
    )
    zeros = [] if start == "%x" else ["%tile0.1", "%tile0.2"]
    first, second = zeros or ("%x", "%x")
    assert [line for line in lines if "tile0" in line and "phi" not in line] == [
        f"{name} = call x86_amx tilezero()" for name in zeros
    ]
    assert lines[1 + len(zeros) :] == [
        'br label %"a loop"',
        '"a loop":',
        f'%p = phi x86_amx [ {first}, %start ], [ %d, %"a loop" ]',
        f'%q = phi x86_amx [ {second}, %start ], [ %p, %"a loop" ]',
        "%d = call x86_amx tdpbssd(i16 64, x86_amx %p, x86_amx %q, x86_amx %q)",
        'br i1 %which, label %"a loop", label %behind',
        "behind:",
        "call void tilestored64(ptr %c, i64 64, x86_amx %d)",
    ]


def test_phis_that_are_used_as_vectors_stay_vectors() -> None:
    """What is behind the loop reads the phi itself, so it stays one of vectors, and all that meets in it."""
    lines = found(
        load("%x", "%a"),
        "br label %loop",
        "loop:",
        f"%p = phi {VECTOR} [ %x, %start ], [ %r, %loop ]",
        f"%q = phi {VECTOR} [ zeroinitializer, %start ], [ %p, %loop ]",
        into("%s", "%q"),
        product("%d", "%s", "%s", "%s"),
        out("%r", "%d"),
        "br i1 %which, label %loop, label %behind",
        "behind:",
        f"store {VECTOR} %p, ptr %c, align 64",
    )
    assert lines == [
        "%tile0.1 = alloca [1024 x i8], align 64",
        "%tile0.2 = alloca [1024 x i8], align 64",
        "%x = load <256 x i32>, ptr %a, align 64",
        "br label %loop",
        "loop:",
        "%p = phi <256 x i32> [ %x, %start ], [ %r, %loop ]",
        "%q = phi <256 x i32> [ zeroinitializer, %start ], [ %p, %loop ]",
        "store <256 x i32> %q, ptr %tile0.1, align 64",
        "%s = call x86_amx tileloadd64(ptr %tile0.1, i64 64)",
        "%d = call x86_amx tdpbssd(i16 64, x86_amx %s, x86_amx %s, x86_amx %s)",
        "call void tilestored64(ptr %tile0.2, i64 64, x86_amx %d)",
        "%r = load <256 x i32>, ptr %tile0.2, align 64",
        "br i1 %which, label %loop, label %behind",
        "behind:",
        "store <256 x i32> %p, ptr %c, align 64",
    ]


def test_phis_of_tiles_get_zeros_where_they_come_from() -> None:
    """LLVM moves casts, too, so that tiles themselves meet."""
    assert found(
        load("%x", "%a"),
        into("%s", "%x"),
        into("%z", "zeroinitializer"),
        "br i1 %which, label %one, label %other",
        "one:",
        product("%d", "%s", "%s", "%s"),
        "br label %other",
        "other:",
        "%p = phi x86_amx [ %z, %start ], [ %d, %one ]",
        out("%r", "%p"),
        f"store {VECTOR} %r, ptr %c, align 64",
    ) == [
        "%x = call x86_amx tileloadd64(ptr %a, i64 64)",
        "%tile0.1 = call x86_amx tilezero()",
        "br i1 %which, label %one, label %other",
        "one:",
        "%d = call x86_amx tdpbssd(i16 64, x86_amx %x, x86_amx %x, x86_amx %x)",
        "br label %other",
        "other:",
        "%p = phi x86_amx [ %tile0.1, %start ], [ %d, %one ]",
        "call void tilestored64(ptr %c, i64 64, x86_amx %p)",
    ]


def test_vectors_that_never_were_tiles_are_left_alone() -> None:
    lines = [load("%x", "%a"), f"store {VECTOR} %x, ptr %c, align 64", f"store {VECTOR} %v, ptr %b, align 64"]
    tile = [load("%tile0.1", "%b"), into("%t", "%tile0.1"), product("%d", "%t", "%t", "%t")]
    assert found(*tile, *lines)[2:] == lines  # names that are there already are not taken
    text = "define void @f() {\n  ret void\n}\n"
    assert without_casts(text) == text and not has_casts(text)


def test_a_cast_that_is_not_understood_is_told() -> None:
    text = f"define void @f() {{\n  %t = call fast x86_amx {INTO}({VECTOR} zeroinitializer)\n  ret void\n}}\n"
    with pytest.raises(DiagnosticError, match="a tile is still made of a vector"):
        without_casts(text)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_no_casts_are_left_for_code(level: int) -> None:
    """Whatever LLVM's passes have made of the vectors."""
    lines = [*(f"%{name} = getelementptr i8, ptr %{name[0]}, i64 {int(name[1]) * 1024}" for name in ("a1", "b1"))]
    lines += [load(f"%v{name}", f"%{name}") for name in ("a", "a1", "b", "b1")]
    lines += [into(f"%t{name}", f"%v{name}") for name in ("a", "a1", "b", "b1")]
    lines += [load("%sum", "%c"), into("%tsum", "%sum"), product("%d", "%tsum", "%ta", "%tb")]
    lines += [out("%vd", "%d"), into("%td", "%vd"), product("%e", "%td", "%ta1", "%tb1"), out("%ve", "%e")]
    lines += [f"store {VECTOR} %ve, ptr %c, align 64", "ret void"]
    body = "\n".join(f"  {line}" for line in lines)
    text = f"{DECLARED}\ndefine void @f(ptr %a, ptr %b, ptr %c) {{\nstart:\n{body}\n}}\n"
    module, _ = optimize(text, host(), level)
    assert has_casts(text) and not has_casts(str(module)) and "tilestored64" in str(module)


DEEP = """
@T.prim_func
def main(A: T.Buffer(({m}, {k}), "int8"), B: T.Buffer(({k}, {m}), "int8"), C: T.Buffer(({m}, {m}), "int32")):
    for i, j in T.grid({m}, {m}):
        total: T.int32 = 0
        for p in range({k}):
            total += T.cast(A[i, p], "int32") * T.cast(B[p, j], "int32")
        C[i, j] = total
"""
RUN = """
import numpy as np, sys, tirscript
from tirscript.script import parse
function = tirscript.build(parse(sys.argv[1]))
rng, C = np.random.default_rng(0), np.zeros((96, 96), "int32")
A, B = rng.integers(-128, 128, (96, 192), "int8"), rng.integers(-128, 128, (192, 96), "int8")
function(A, B, C)
print("tdpb" in function.assembly(), np.array_equal(C, A.astype("int32") @ B.astype("int32")))
"""


@pytest.mark.skipif(not HERE, reason="the processor has no tiles")
def test_seventeen_casts_do_not_end_the_process() -> None:
    """Three tiles deep, LLVM's list of casts was full when it was appended to: with memory handed out as here, each
    build of this product ended in a segmentation fault."""
    settings = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "TIRSCRIPT_CACHE": "0"}
    command = [sys.executable, "-c", RUN, DEEP.format(m=96, k=192)]
    done = subprocess.run(command, capture_output=True, text=True, env=settings, check=False)
    assert done.stdout.split() == ["True", "True"], done.stderr


@pytest.mark.skipif(not HERE, reason="the processor has no tiles")
@pytest.mark.parametrize("depth", range(1, 11))
def test_products_of_any_depth(depth: int) -> None:
    """LLVM unrolls the loop over the tiles of small ones."""
    k = 64 * depth - 5
    function = tirscript.build(parse(DEEP.format(m=40, k=k)))
    rng, C = np.random.default_rng(depth), np.zeros((40, 40), "int32")
    A, B = rng.integers(-128, 128, (40, k), "int8"), rng.integers(-128, 128, (k, 40), "int8")
    function(A, B, C)
    assert np.array_equal(C, A.astype("int32") @ B.astype("int32"))
    text = function.llvm_ir()
    assert "llvm.x86.tdpbssd" in text and not has_casts(text)
