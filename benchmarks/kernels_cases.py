"""The kernels of `make bench-kernels`: what they are given, what they must give, how much they compute and move.

This imports numpy only, so that every peer reads it in an environment of its own. What runs a kernel stands in
kernels_ours.py, kernels_numpy.py, kernels_numba.py, kernels_torch.py, kernels_onnxruntime.py and kernels_tvm.py.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

EPSILON = 1e-5
GELU = 0.7978845608028654  # sqrt(2 / pi)


@dataclass(frozen=True)
class Case:
    """One kernel at one size.

    `inputs` makes the arguments, `outputs` says shape and dtype of what is computed, `reference` computes it with numpy
    (in float64 where rounding counts). `error` is how far an element may be off, relative to the largest of the
    reference. `flops` and `bytes` are what the kernel cannot do without. `kind` and `sizes` say which loops it is.
    """

    name: str
    kind: str
    sizes: tuple[int, ...]
    inputs: Callable[[np.random.Generator], list[Any]]
    outputs: tuple[tuple[tuple[int, ...], str], ...]
    reference: Callable[..., Any]
    flops: float
    bytes: float
    error: float = 1e-5
    counted: bool = True  # in the means over all kernels

    def arguments(self) -> list[Any]:
        """The inputs, the same in every process."""
        return self.inputs(np.random.default_rng(zlib.crc32(self.name.encode())))

    def results(self) -> list[Any]:
        """Arrays for what is computed."""
        return [np.zeros(shape, dtype) for shape, dtype in self.outputs]

    def wrong(self, arguments: list[Any], got: Any) -> str | None:
        """What is wrong with results; None where they are right."""
        want = self.reference(*arguments)
        wants = list(want) if isinstance(want, tuple) else [want]
        found = list(got) if isinstance(got, (tuple, list)) else [got]
        if len(wants) != len(found):
            return f"{len(found)} results instead of {len(wants)}"
        for value, expected in zip(found, wants, strict=True):
            array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
            message = difference(array, np.asarray(expected), self.error)
            if message is not None:
                return message
        return None


def difference(got: Any, want: Any, allowed: float) -> str | None:
    """How an array differs from another by more than `allowed` times the largest magnitude; None where it does not.
    Integers must be equal."""
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if want.dtype.kind in "iu":
        bad = int((got != want).sum())
        return f"{bad} of {want.size} integers differ" if bad else None
    with np.errstate(invalid="ignore"):
        off = np.abs(got.astype("float64") - want)
    bound = allowed * max(1e-30, float(np.abs(want).max(initial=0.0)))
    bad = int((~(off <= bound)).sum())
    if not bad:
        return None
    largest = np.fmax.reduce(off, axis=None, initial=0.0)  # of those that are numbers
    return f"{bad} of {want.size} elements are off by up to {largest:.3g} (allowed {bound:.3g})"


def _normal(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Any]]:
    return lambda rng: [rng.standard_normal(shape, "float32") for shape in shapes]


def _wide(x: Any) -> Any:
    return x.astype("float64")


F32 = 4


def matmul(m: int, n: int, k: int, name: str) -> Case:
    return Case(
        name,
        "matmul",
        (m, n, k),
        _normal((m, k), (k, n)),
        (((m, n), "float32"),),
        lambda A, B: _wide(A) @ _wide(B),
        2.0 * m * n * k,
        F32 * (m * k + k * n + m * n),
    )


def int8_matmul(n: int) -> Case:
    def inputs(rng: np.random.Generator) -> list[Any]:
        return [rng.integers(-128, 128, (n, n), "int8") for _ in range(2)]

    return Case(
        f"int8 matmul {n}",
        "int8_matmul",
        (n, n, n),
        inputs,
        (((n, n), "int32"),),
        lambda A, B: (_wide(A) @ _wide(B)).astype("int32"),
        2.0 * n**3,
        2 * n * n + 4 * n * n,
    )


def batch_matmul(b: int, n: int) -> Case:
    return Case(
        f"batch matmul {b}x{n}",
        "batch_matmul",
        (b, n),
        _normal((b, n, n), (b, n, n)),
        (((b, n, n), "float32"),),
        lambda A, B: _wide(A) @ _wide(B),
        2.0 * b * n**3,
        F32 * 3 * b * n * n,
    )


def gemv(n: int) -> Case:
    return Case(
        f"gemv {n}",
        "gemv",
        (n,),
        _normal((n, n), (n,)),
        (((n,), "float32"),),
        lambda A, x: _wide(A) @ _wide(x),
        2.0 * n * n,
        F32 * (n * n + 2 * n),
    )


def _windows(X: Any, size: int) -> Any:
    """Every 3 by 3 window of an image with a border of zeros: channels, rows, columns, 3, 3."""
    padded = np.pad(_wide(X), ((0, 0), (1, 1), (1, 1)))
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))


def conv3x3(channels: int, filters: int, size: int) -> Case:
    return Case(
        f"conv2d 3x3 {channels}ch {size}x{size}",
        "conv3x3",
        (channels, filters, size),
        _normal((channels, size, size), (filters, channels, 3, 3)),
        (((filters, size, size), "float32"),),
        lambda X, W: np.tensordot(_wide(W), _windows(X, size), axes=([1, 2, 3], [0, 3, 4])),
        2.0 * filters * channels * 9 * size * size,
        F32 * (channels * size * size + filters * channels * 9 + filters * size * size),
    )


def conv1x1(channels: int, filters: int, size: int) -> Case:
    return Case(
        f"conv2d 1x1 {channels}ch {size}x{size}",
        "conv1x1",
        (channels, filters, size),
        _normal((channels, size, size), (filters, channels)),
        (((filters, size, size), "float32"),),
        lambda X, W: np.tensordot(_wide(W), _wide(X), axes=1),
        2.0 * filters * channels * size * size,
        F32 * (channels * size * size + filters * channels + filters * size * size),
    )


def depthwise(channels: int, size: int) -> Case:
    return Case(
        f"depthwise 3x3 {channels}ch {size}x{size}",
        "depthwise",
        (channels, size),
        _normal((channels, size, size), (channels, 3, 3)),
        (((channels, size, size), "float32"),),
        lambda X, W: np.einsum("cyxij,cij->cyx", _windows(X, size), _wide(W)),
        2.0 * channels * 9 * size * size,
        F32 * (2 * channels * size * size + channels * 9),
    )


def _softmax(A: Any) -> Any:
    powers = np.exp(_wide(A) - A.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def softmax(m: int, n: int) -> Case:
    size = m * n
    return Case(
        f"softmax {m}x{n}",
        "softmax",
        (m, n),
        _normal((m, n)),
        (((m, n), "float32"),),
        _softmax,
        5.0 * size,
        2 * F32 * size,
    )


def _layer_norm(A: Any, weight: Any, bias: Any) -> Any:
    A = _wide(A)
    return (A - A.mean(1, keepdims=True)) / np.sqrt(A.var(1, keepdims=True) + EPSILON) * weight + bias


def layer_norm(m: int, n: int) -> Case:
    return Case(
        f"layer norm {m}x{n}",
        "layer_norm",
        (m, n),
        _normal((m, n), (n,), (n,)),
        (((m, n), "float32"),),
        _layer_norm,
        7.0 * m * n,
        F32 * (2 * m * n + 2 * n),
    )


def _gelu(a: Any, b: Any, c: Any) -> Any:
    x = _wide(a) * b + c
    return 0.5 * x * (1 + np.tanh(GELU * (x + 0.044715 * x**3)))


def fused_gelu(n: int) -> Case:
    return Case(
        f"a*b+c, gelu {n >> 20}M",
        "fused_gelu",
        (n,),
        _normal((n,), (n,), (n,)),
        (((n,), "float32"),),
        _gelu,
        12.0 * n,
        4 * F32 * n,
    )


def total(n: int) -> Case:
    return Case(
        f"sum {n >> 20}M",
        "total",
        (n,),
        # all of one sign, but small enough that adding them one by one in float32 stays near
        lambda rng: [rng.standard_normal(n, "float32") + np.float32(0.01)],
        (((1,), "float32"),),
        lambda A: np.array([_wide(A).sum()]),
        1.0 * n,
        F32 * n,
        error=1e-4,
    )


def argmax(n: int) -> Case:
    return Case(
        f"argmax {n >> 20}M",
        "argmax",
        (n,),
        _normal((n,)),
        (((1,), "int64"),),
        lambda A: np.array([A.argmax()], "int64"),
        1.0 * n,
        F32 * n,
    )


def cumsum(n: int) -> Case:
    return Case(
        f"cumsum {n >> 20}M",
        "cumsum",
        (n,),
        _normal((n,)),
        (((n,), "float32"),),
        lambda A: np.cumsum(_wide(A)),
        1.0 * n,
        2 * F32 * n,
        error=1e-3,
    )


def transpose(n: int) -> Case:
    return Case(
        f"transpose {n}x{n}",
        "transpose",
        (n,),
        _normal((n, n)),
        (((n, n), "float32"),),
        lambda A: A.T,
        0.0,
        2 * F32 * n * n,
        error=0.0,
    )


def _attention(Q: Any, K: Any, V: Any) -> Any:
    scores = _wide(Q) @ _wide(K).transpose(0, 2, 1) / np.sqrt(Q.shape[-1])
    return _softmax(scores) @ _wide(V)


def attention(heads: int, length: int, width: int) -> Case:
    shape = (heads, length, width)
    return Case(
        f"attention {heads} heads {length}x{width}",
        "attention",
        shape,
        _normal(shape, shape, shape),
        ((shape, "float32"),),
        _attention,
        heads * (4.0 * length * length * width + 5.0 * length * length),
        4 * F32 * heads * length * width,
    )


def _stencil(A: Any) -> Any:
    A = _wide(A)
    return 0.5 * A[1:-1, 1:-1] + 0.125 * (A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])


def stencil(n: int) -> Case:
    return Case(
        f"stencil {n}x{n}",
        "stencil",
        (n,),
        _normal((n, n)),
        (((n - 2, n - 2), "float32"),),
        _stencil,
        6.0 * n * n,
        2 * F32 * n * n,
    )


def histogram(n: int, bins: int) -> Case:
    return Case(
        f"histogram {n >> 20}M, {bins} bins",
        "histogram",
        (n, bins),
        lambda rng: [rng.integers(0, bins, n, "int32")],
        (((bins,), "int32"),),
        lambda A: np.bincount(A, minlength=bins).astype("int32"),
        1.0 * n,
        4 * n,
    )


def gather(rows: int, width: int, count: int) -> Case:
    return Case(
        f"gather {count} rows of {width}",
        "gather",
        (rows, width, count),
        lambda rng: [rng.standard_normal((rows, width), "float32"), rng.integers(0, rows, count, "int32")],
        (((count, width), "float32"),),
        lambda A, at: A[at],
        0.0,
        2 * F32 * count * width + 4 * count,
        error=0.0,
    )


def call() -> Case:
    return Case(
        "a call, 16 floats",
        "call",
        (),
        _normal((16,)),
        (((16,), "float32"),),
        lambda A: _wide(A) * 2,
        16.0,
        128.0,
        counted=False,
    )


_M16 = 1 << 24
CASES: tuple[Case, ...] = (
    matmul(256, 256, 256, "matmul 256"),
    matmul(512, 512, 512, "matmul 512"),
    matmul(1024, 1024, 1024, "matmul 1024"),
    matmul(2048, 2048, 2048, "matmul 2048"),
    matmul(1000, 1000, 1000, "matmul 1000"),
    matmul(16384, 64, 128, "matmul 16384x64x128"),
    int8_matmul(512),
    batch_matmul(32, 128),
    gemv(4096),
    conv3x3(64, 64, 56),
    conv1x1(64, 256, 56),
    depthwise(256, 56),
    softmax(1024, 1024),
    softmax(64, 50000),
    layer_norm(1024, 1024),
    layer_norm(64, 50000),
    fused_gelu(_M16),
    total(_M16),
    argmax(_M16),
    cumsum(_M16),
    transpose(4096),
    attention(8, 256, 64),
    stencil(4096),
    histogram(1 << 22, 256),
    gather(100_000, 128, 40_000),
    call(),
)
# the same kinds, small: for tests, and to see that everything works
SMALL: tuple[Case, ...] = (
    matmul(33, 17, 29, "matmul small"),
    int8_matmul(48),
    batch_matmul(3, 16),
    gemv(64),
    conv3x3(3, 16, 9),
    conv1x1(5, 7, 9),
    depthwise(6, 9),
    softmax(5, 77),
    layer_norm(5, 77),
    fused_gelu(1000),
    total(1000),
    argmax(1000),
    cumsum(1000),
    transpose(48),
    attention(2, 16, 8),
    stencil(34),
    histogram(1000, 16),
    gather(50, 12, 30),
)


def find(name: str) -> Case:
    """The case of that name."""
    return next(case for case in (*CASES, *SMALL) if case.name == name)
