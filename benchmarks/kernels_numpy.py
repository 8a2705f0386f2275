"""The kernels of kernels_cases.py in numpy, with results written into arrays that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kernels_cases import EPSILON, GELU, Case

VERSION = np.__version__


def _conv3x3(X: Any, W: Any, Y: Any) -> None:
    padded = np.pad(X, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    columns = windows.transpose(0, 3, 4, 1, 2).reshape(X.shape[0] * 9, -1)
    np.matmul(W.reshape(W.shape[0], -1), columns, out=Y.reshape(W.shape[0], -1))


def _depthwise(X: Any, W: Any, Y: Any) -> None:
    padded = np.pad(X, ((0, 0), (1, 1), (1, 1)))
    rows, columns = X.shape[1:]
    Y[:] = 0
    for dy in range(3):
        for dx in range(3):
            Y += padded[:, dy : dy + rows, dx : dx + columns] * W[:, dy, dx, None, None]


def _softmax(A: Any, B: Any) -> None:
    np.subtract(A, A.max(axis=-1, keepdims=True), out=B)
    np.exp(B, out=B)
    B /= B.sum(axis=-1, keepdims=True)


def _layer_norm(A: Any, weight: Any, bias: Any, B: Any) -> None:
    np.subtract(A, A.mean(axis=1, keepdims=True), out=B)
    B *= 1 / np.sqrt(np.square(B).mean(axis=1, keepdims=True) + np.float32(EPSILON))
    B *= weight
    B += bias


def _gelu(a: Any, b: Any, c: Any, y: Any) -> None:
    x = a * b
    x += c
    np.multiply(x, x, out=y)
    y *= np.float32(0.044715)
    y += 1
    y *= x
    y *= np.float32(GELU)
    np.tanh(y, out=y)
    y += 1
    x *= np.float32(0.5)
    y *= x


def _attention(Q: Any, K: Any, V: Any, O: Any) -> None:
    scores = np.matmul(Q, K.transpose(0, 2, 1))
    scores *= np.float32(Q.shape[-1] ** -0.5)
    _softmax(scores, scores)
    np.matmul(scores, V, out=O)


def _stencil(A: Any, B: Any) -> None:
    np.add(A[:-2, 1:-1], A[2:, 1:-1], out=B)
    B += A[1:-1, :-2]
    B += A[1:-1, 2:]
    B *= np.float32(0.125)
    B += np.float32(0.5) * A[1:-1, 1:-1]


def _int8(A: Any, B: Any, C: Any) -> None:
    np.matmul(A.astype("int32"), B, out=C)


def _total(A: Any, S: Any) -> None:
    S[0] = A.sum()


def _argmax(A: Any, at: Any) -> None:
    at[0] = A.argmax()


def _histogram(A: Any, H: Any) -> None:
    H[:] = np.bincount(A, minlength=len(H))


def _transpose(A: Any, B: Any) -> None:
    B[:] = A.T


def _matmul(A: Any, B: Any, C: Any) -> None:
    np.matmul(A, B, out=C)


def _gather(A: Any, at: Any, B: Any) -> None:
    np.take(A, at, axis=0, out=B, mode="clip")


def _conv1x1(X: Any, W: Any, Y: Any) -> None:
    np.matmul(W, X.reshape(len(X), -1), out=Y.reshape(len(Y), -1))


def _cumsum(A: Any, B: Any) -> None:
    np.cumsum(A, out=B)


def _call(A: Any, B: Any) -> None:
    np.multiply(A, 2, out=B)


KERNELS: dict[str, Callable[..., None]] = {
    "matmul": _matmul,
    "batch_matmul": _matmul,
    "gemv": _matmul,
    "int8_matmul": _int8,
    "conv3x3": _conv3x3,
    "conv1x1": _conv1x1,
    "depthwise": _depthwise,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "fused_gelu": _gelu,
    "total": _total,
    "argmax": _argmax,
    "cumsum": _cumsum,
    "transpose": _transpose,
    "attention": _attention,
    "stencil": _stencil,
    "histogram": _histogram,
    "gather": _gather,
    "call": _call,
}


def prepare(case: Case, arguments: list[Any], options: dict[str, Any]) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What makes a runner of a case, by the name of the variant; the runner returns the results."""
    kernel, results = KERNELS[case.kind], case.results()

    def run() -> Any:
        kernel(*arguments, *results)
        return results

    run.direct = (kernel, (*arguments, *results))  # type: ignore[attr-defined]
    return {"numpy": lambda: run}
