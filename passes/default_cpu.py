"""The default schedule as a pass: `build` schedules with it what says nothing of how it runs.

before:                                            after `default_cpu{vector_bits=512,threads=2}`:
    for i, j, k in T.grid(64, 64, 64):                 for j_0 in T.parallel(2):
        with T.block("C"):                                 ... the columns of B that the tiles need, in a row
            vi, vj, vk = T.axis.remap("SSR", ...)          for i_0 in range(8):
            with T.init():                                     ... 8 rows of 2 vectors, in registers
                C[vi, vj] = 0.0
            C[vi, vj] += A[vi, vk] * B[vk, vj]

The work is done by `passes/schedule/default_cpu/`, which is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.func import PrimFunc
from tirscript.ir.target import Target

from .pipeline import prim_func_pass
from .targets import target_of

# what is taken where neither the options nor a target say it
VECTOR_BITS, THREADS = 256, 1
# what a reader finds in the caches at most: docs/schedule_rules.md tells how it was measured; the third cache may
# be that of many processors, so it counts only up to some times the second, for every two threads
CACHE, SECONDS = 24 << 20, 12
TILES = "+amx-int8"
# what multiplies tiles of bfloat16, and the features for it, the better first
FLOAT_TILES = (("amx", {"+amx-bf16"}), ("avx512", {"+avx512bf16", "+avx512vl"}))
# by the width of the vectors, the features that add up products of bytes, the better ones first
DOTS = {
    512: (("vnni", (("+avx512vnni",),)), ("madd", (("+avx512bw",),))),
    256: (("vnni", (("+avx512vnni", "+avx512vl"), ("+avxvnni",))), ("madd", (("+avx2",),))),
    128: (("vnni", (("+avx512vnni", "+avx512vl"), ("+avxvnni",))), ("madd", (("+sse2",),))),
}
# what these options name
WAYS = {"float_tiles": [way for way, _ in FLOAT_TILES], "dots": [way for way, _ in DOTS[512]]}


@prim_func_pass(opt_level=1)
def default_cpu(
    func: PrimFunc,
    *,
    vector_bits: int = 0,
    threads: int = 0,
    reassociate: bool = True,
    tiles: bool | None = None,
    float_tiles: str | None = None,
    dots: str | None = None,
    cache: int = 0,
    fuses: bool | None = None,
) -> PrimFunc:
    """`for i: for j: C[i, j] = A[i, j]` becomes `for i in T.parallel(n): ...`; sums become tiles and vectors.

    vector_bits: the width of a vector register: 512, 256, 128; 0 is that of the function's target, 256 without one
    threads:     how many iterations of a parallel loop run at once; 1 leaves loops serial; 0 is the cores of the
                 function's target, else of the one around, 1 without one
    reassociate: whether sums of floats may be rounded in another order, and products be added without being rounded
    tiles:       whether there are instructions for products of tiles of bytes (AMX); None asks the function's target
    float_tiles: what multiplies tiles of bfloat16: "amx", "avx512", "" nothing; None asks the function's target
    dots:        what adds up products of neighbouring bytes in a lane: "vnni" four, "madd" two, "" nothing; None asks
                 the function's target
    cache:       bytes of results that are written past the caches; 0 is what the caches of the function's target hold
    fuses:       whether an instruction adds a product to something and rounds once; None asks the function's target,
                 and is yes where that does not say
    """
    from .schedule.default_cpu import CpuFacts, scheduled

    for name, given in (("float_tiles", float_tiles), ("dots", dots)):
        if given and given not in WAYS[name]:
            message = f"option `{name}` of pass `default_cpu` is {' or '.join(map(repr, WAYS[name]))}, not {given!r}"
            raise DiagnosticError([error("T404", message, hint="an empty one leaves them out")])
    known = [one for one in (target_of(func), Target.current()) if one is not None]
    bits = vector_bits or next((one.main.vector_bits for one in known if one.main.vector_bits), VECTOR_BITS)
    cores = threads or next((one.main.cores for one in known if one.main.cores), THREADS)
    if tiles is None:
        tiles = any(TILES in one.main.features for one in known[:1])
    if float_tiles is None:
        found = [kind for kind, wanted in FLOAT_TILES if known and wanted <= set(known[0].main.features)]
        float_tiles = found[0] if found else ""
    if dots is None:
        dots = next((_dots(one.main.features, bits) for one in known[:1]), "")
    held = cache or next((_held(one, cores) for one in known), CACHE)
    if fuses is None:
        fuses = next((_fuses(one.main) for one in known), True)
    return scheduled(func, CpuFacts(bits, cores, reassociate, tiles, float_tiles, dots, held, fuses=fuses))


def _fuses(target: Target) -> bool:
    """Whether to write `T.fma` for a target: in C it is a function, which need not become an instruction."""
    said = target.fuses
    return target.kind != "c" if said is None else said


def _dots(features: Sequence[str], bits: int) -> str:
    """The instructions for products of bytes that a processor has for vectors of so many bits."""
    return next((kind for kind, wanted in DOTS.get(bits, ()) if any(set(one) <= set(features) for one in wanted)), "")


def _held(target: Target, threads: int) -> int:
    """The bytes of a result of which a reader finds some in the caches of so many processors."""
    second, third = (int(target.main.get(f"l{level}-cache", 0)) for level in (2, 3))
    return max(CACHE, min(third, SECONDS * second * max(1, threads // 2)))
