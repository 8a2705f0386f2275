"""What C source is made of: operators that keep their operands, checks where they are asked for, and no warnings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.backend.runtime.arrays import numpy_dtype
from tirscript.ir import dtype
from tirscript.testing import copies

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def both(text: str, *args: Any) -> tuple[list[Any], list[Any]]:
    """The arrays after the interpreter and after C."""
    program = tirscript.parse(text)
    first, second = copies(args), copies(args)
    tirscript.interpret(program, *first)
    tirscript.build(program, target="c", opt_level=0)(*second)
    arrays = [[arg for arg in some if isinstance(arg, np.ndarray)] for some in (first, second)]
    return arrays[0], arrays[1]


@needs_compiler
@pytest.mark.parametrize(
    "value",
    [
        "(-i + 3) * (i + 2)",
        "T.truncmod(-5 - i, i + 1)",
        "(-9 - i) * (i + 1)",
        "(i + 2) * (-i - 6)",
        "T.cast((i > 2) == (-5 == n), 'int32')",
    ],
)
def test_what_begins_with_a_minus_is_bracketed_as_other_operands_are(value: str) -> None:
    text = f'@T.prim_func\ndef f(A: T.Buffer((8,), "int32"), n: T.int32):\n    for i in range(8):\n        A[i] = {value}\n'
    (wanted,), (found,) = both(text, np.zeros(8, "int32"), 3)
    assert wanted.tolist() == found.tolist()


@needs_compiler
@pytest.mark.parametrize("stop", ["n >> 1", "T.Select(n > 10, n, k + 1)", "n & 7"])
def test_the_length_of_a_region_may_be_any_expression(stop: str) -> None:
    text = f"""
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((16,), "int64"), n: T.int64, k: T.int64):
        M.fill(A[k:{stop}])

    @T.prim_func(private=True)
    def fill(X: T.Buffer(("m",), "int64")):
        for i in range(m):
            X[i] = m
"""
    (wanted,), (found,) = both(text, np.zeros(16, "int64"), 12, 2)
    assert wanted.tolist() == found.tolist() and wanted.any()


WARNED_OF = '''
@T.prim_func
def f(A: T.Buffer((8,), "int64"), U: T.Buffer((4,), "uint64"), B: T.Buffer((4,), "bool")):
    """Ends in /* here, and */ there."""
    # see /* there
    for i in T.serial(T.int64(-9223372036854775808), T.int64(-9223372036854775804)):
        A[i + T.int64(9223372036854775807) + T.int64(1)] = i
    for j in T.serial(T.uint64(18446744073709551612), T.uint64(18446744073709551615)):
        U[j - T.uint64(18446744073709551612)] = j
    B[0] = U[0] == U[0]
'''


@needs_compiler
@pytest.mark.parametrize("flags", [["-std=c99", "-x", "c"], ["-std=c++11", "-x", "c++"]])
def test_compilers_have_nothing_to_warn_of(flags: list[str], tmp_path: Path) -> None:
    built = tirscript.build(tirscript.parse(WARNED_OF), target="c")
    source = built.export(tmp_path / "k.c", header=tmp_path / "k.h")
    given = source if "c" in flags else tmp_path / "k.h"
    compiler = "cc" if "c" in flags else "c++"
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", given], check=True)
    wanted, found = both(WARNED_OF, np.zeros(8, "int64"), np.zeros(4, "uint64"), np.zeros(4, "bool"))
    assert all((a == b).all() for a, b in zip(wanted, found, strict=True))


@needs_compiler
def test_addresses_that_are_only_prefetched_are_checked() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), k: T.int32):
    T.prefetch(T.address_of(A[k]), 0, 3, 1)
    A[0] = 1.0
"""
    function = tirscript.build(tirscript.parse(text), target="c", opt_level=0, debug=True)
    function(np.zeros(8, "float32"), 7)
    with pytest.raises(tirscript.DiagnosticError, match=r"T302.*:4: address of `A\[8\]` is out of bounds"):
        function(np.zeros(8, "float32"), 8)


@needs_compiler
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float8_e5m2", "float64"])
def test_messages_show_what_floats_are(kind: str) -> None:
    text = f"""
@T.prim_func
def f(A: T.Buffer((8,), "{kind}"), low: T.{kind}):
    assert A[7] > low
"""
    function = tirscript.build(tirscript.parse(text), target="c", opt_level=0)
    with pytest.raises(AssertionError, match=r"A\[7\] = 0, low = 1.5"):
        function(np.zeros(8, numpy_dtype(dtype(kind))), 1.5)


@needs_compiler
def test_comments_stand_above_their_statements() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    # one more */ for all /* of them

    for i in range(4):  # in order
        with T.block("one"):
            # as it is
            v = T.axis.spatial(4, i)
            A[v] = A[v] + 1.0
"""
    source = tirscript.build(tirscript.parse(text), target="c").source()
    found = [line.strip() for line in source.split("\n")]
    at = found.index("/* one more * / for all / * of them */")
    assert found[at + 1] == "/* in order */" and found[at + 2].startswith("for (")
    assert found[at + 3] == "/* as it is */" and found[at + 4].startswith("A[i]")
