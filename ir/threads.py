"""The tags of threads, such as "threadIdx.x": those that TVM knows."""

from __future__ import annotations

from .diagnostic import suggest

THREADS = (
    *(f"{kind}.{axis}" for kind in ("threadIdx", "blockIdx", "vthread", "clusterCtaIdx") for axis in "xyz"),
    *("vthread", "cthread"),
)
_KNOWN = frozenset(THREADS)


def is_thread(tag: str) -> bool:
    """Whether a tag is that of a thread; virtual ones may have any name behind `vthread`."""
    return tag in _KNOWN or tag.startswith("vthread")


def thread_hint(tag: str) -> str:
    """The way out for a tag that is none."""
    near = suggest(tag, THREADS)
    return f'did you mean "{near}"?' if near is not None else f"the threads are {', '.join(THREADS)}"
