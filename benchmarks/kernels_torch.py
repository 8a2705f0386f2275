"""The kernels of kernels_cases.py in torch, on the CPU; results go into tensors that are there if torch has `out`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from kernels_cases import EPSILON, Case

VERSION = torch.__version__


def _stencil(A: Any) -> Any:
    around = A[:-2, 1:-1] + A[2:, 1:-1]
    around += A[1:-1, :-2]
    around += A[1:-1, 2:]
    return torch.add(A[1:-1, 1:-1] * 0.5, around, alpha=0.125)


KERNELS: dict[str, Callable[..., Any]] = {
    "matmul": lambda out, A, B: torch.matmul(A, B, out=out),
    "batch_matmul": lambda out, A, B: torch.bmm(A, B, out=out),
    "gemv": lambda out, A, x: torch.mv(A, x, out=out),
    "int8_matmul": lambda out, A, B: torch._int_mm(A, B, out=out),
    "conv3x3": lambda out, X, W: F.conv2d(X[None], W, padding=1)[0],
    "conv1x1": lambda out, X, W: F.conv2d(X[None], W[:, :, None, None])[0],
    "depthwise": lambda out, X, W: F.conv2d(X[None], W[:, None], padding=1, groups=len(W))[0],
    "softmax": lambda out, A: torch.softmax(A, -1, out=out),
    "layer_norm": lambda out, A, weight, bias: F.layer_norm(A, weight.shape, weight, bias, EPSILON),
    "fused_gelu": lambda out, a, b, c: F.gelu(torch.addcmul(c, a, b), approximate="tanh"),
    "total": lambda out, A: A.sum().reshape(1),
    "argmax": lambda out, A: A.argmax().reshape(1),
    "cumsum": lambda out, A: torch.cumsum(A, 0, out=out),
    "transpose": lambda out, A: out.copy_(A.T),
    "attention": lambda out, Q, K, V: F.scaled_dot_product_attention(Q[None], K[None], V[None])[0],
    "stencil": lambda out, A: _stencil(A),
    "histogram": lambda out, A: torch.bincount(A, minlength=len(out)).to(torch.int32),
    "call": lambda out, A: torch.mul(A, 2, out=out),
    "gather": lambda out, A, at: torch.index_select(A, 0, at, out=out),
}


def prepare(case: Case, arguments: list[Any], options: dict[str, Any]) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What makes a runner of a case, by the name of the variant; the runner returns the results."""
    torch.set_num_threads(options["threads"])
    kernel = KERNELS[case.kind]
    tensors, out = [torch.from_numpy(one) for one in arguments], torch.from_numpy(case.results()[0])

    @torch.inference_mode()
    def run() -> Any:
        return kernel(out, *tensors)

    return {"torch": lambda: run}
