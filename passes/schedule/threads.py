"""The names of the axes that loops can be bound to."""

from __future__ import annotations

THREAD_TAGS = (
    *(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz"),
    *(f"vthread{axis}" for axis in ("", ".x", ".y", ".z")),
    *(f"clusterCtaIdx.{axis}" for axis in "xyz"),
)
