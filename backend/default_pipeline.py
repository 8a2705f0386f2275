"""What `build` does before LLVM where it is not told: the default schedule for this machine, and the lowering."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirscript.passes import Sequential

# the feature that a processor has where its vectors are so wide, widest first
VECTORS = (("+avx512f", 512), ("+avx", 256))


def default_pipeline(*, schedule: bool = True) -> Sequential:
    """The passes of `pipeline="default"`. Without `schedule` each statement stays where it was written."""
    from tirscript.passes import DEFAULT_LOWERING, Sequential, get_pass

    if not schedule:
        return DEFAULT_LOWERING
    from .llvm.host import host
    from .runtime.threads import processors

    features = host().features.split(",")
    bits = next((bits for feature, bits in VECTORS if feature in features), 128)
    scheduled = get_pass("default_cpu", vector_bits=bits, threads=processors())
    return Sequential((scheduled, get_pass("pack_constants"), DEFAULT_LOWERING))
