"""Kernels of several constructs at once, as they are written elsewhere, beside plain Python: interpreted, lowered, native."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import tirscript
from tirscript.passes import DEFAULT_LOWERING
from tirscript.script import tir as T


@T.prim_func
def distance(a: T.Buffer(("n",), "uint8"), b: T.Buffer(("m",), "uint8")) -> T.int32:
    D = T.alloc_buffer((n + 1, m + 1), "int32")
    for i in range(n + 1):
        D[i, 0] = T.cast(i, "int32")
    for j in range(m + 1):
        D[0, j] = T.cast(j, "int32")
    for i, j in T.grid(n, m):
        kept = D[i, j] + (0 if a[i] == b[j] else 1)
        D[i + 1, j + 1] = T.min(T.min(D[i, j + 1], D[i + 1, j]) + 1, kept)
    return D[n, m]


@T.prim_func
def crc32(data: T.Buffer(("n",), "uint8")) -> T.uint32:
    crc = T.uint32(0xFFFFFFFF)
    for i in range(n):
        crc ^= T.cast(data[i], "uint32")
        for _ in range(8):
            crc = T.Select((crc & 1) != 0, (crc >> 1) ^ T.uint32(0xEDB88320), crc >> 1)
    return ~crc


@T.prim_func
def collatz(n: T.int64) -> T.int32:
    x = n
    steps = 0
    while True:
        if x <= 1:
            break
        steps += 1
        if x % 2 == 0:
            x //= 2
            continue
        x = 3 * x + 1
    return steps


@T.prim_func
def sieve(n: T.int32, keep: T.Buffer(("n",), "bool")) -> T.int32:
    count = 0
    for i in range(n):
        keep[i] = i >= 2
    for i in range(2, n):
        if not keep[i]:
            continue
        count += 1
        for j in range(i * i, n, i):
            keep[j] = False
    return count


def bytes_of(text: bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8).copy()


KERNELS: list[tuple[Any, tuple[Any, ...], int]] = [
    (distance, (bytes_of(b"kitten"), bytes_of(b"sitting")), 3),
    (distance, (bytes_of(b""), bytes_of(b"abc")), 3),
    (distance, (bytes_of(b""), bytes_of(b"")), 0),
    (crc32, (bytes_of(b"123456789"),), zlib.crc32(b"123456789")),
    (crc32, (bytes_of(b""),), 0),
    (collatz, (27,), 111),
    (collatz, (-5,), 0),
    (sieve, (30, np.zeros(30, bool)), 10),
    (sieve, (0, np.zeros(0, bool)), 0),
]


@pytest.mark.parametrize(("kernel", "args", "wanted"), KERNELS, ids=range(len(KERNELS)))
def test_kernels_give_what_python_gives(kernel: Any, args: tuple[Any, ...], wanted: int) -> None:
    assert tirscript.interpret(kernel, *args) == wanted
    assert tirscript.interpret(DEFAULT_LOWERING(kernel), *args) == wanted
    assert tirscript.build(kernel)(*args) == wanted
    assert tirscript.parse(kernel.script()).script() == kernel.script()


def test_memory_beyond_64_bits_is_refused_and_not_wrapped() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int32):
    C = T.alloc_buffer((2**62,), "float32")
    for i in range(n):
        C[i * 1000] = A[i]
    for i in range(n):
        A[i] = C[(7 - i) * 1000]
"""
    with pytest.raises(tirscript.DiagnosticError, match="no memory for the buffer `C`"):
        tirscript.build(tirscript.parse(text))(np.zeros(8, np.float32), 8)


@pytest.mark.parametrize(("n", "m"), [(1 << 31, 1), (1 << 31, 4), (3, 1 << 62), (1 << 32, 1)])
def test_dynamic_sizes_beyond_64_bits_are_refused_too(n: int, m: int) -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((1,), "float32"), n: T.int64, m: T.int64):
    C = T.alloc_buffer((n * n, m), "float32")
    C[0, 0] = 2.0
    C[n, m - 1] = 1.0
    A[0] = C[n, m - 1]
"""
    kernel = tirscript.build(tirscript.parse(text))
    given = np.zeros(1, np.float32)
    kernel(given, 2, 3)
    assert given[0] == 1
    with pytest.raises(tirscript.DiagnosticError, match="no memory for the buffer `C`"):
        kernel(given, n, m)


@pytest.mark.parametrize("options", [{}, {"bounds_check": True}, {"debug": True}, {"target": "c"}], ids=str)
def test_negative_sizes_of_memory_are_refused(options: dict[str, object]) -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), n: T.int64, k: T.int64):
    C = T.alloc_buffer((n,), "float32")
    for i in range(k):
        C[i] = A[i]
    for i in range(k):
        A[i] = C[k - 1 - i] + 1.0
"""
    kernel = tirscript.build(tirscript.parse(text), **options)
    given = np.arange(8, dtype="float32")
    kernel(given, 3, 3)
    assert given.tolist() == [3, 2, 1, 3, 4, 5, 6, 7]
    for size in (-1, -5, -16, -(1 << 40), -(1 << 62)):
        with pytest.raises(tirscript.DiagnosticError, match="the buffer `C`"):
            kernel(given, size, 3)
    assert given.tolist() == [3, 2, 1, 3, 4, 5, 6, 7]
