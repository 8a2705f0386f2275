"""The scopes of memory: which names are known, and what a misspelt one was to be."""

from __future__ import annotations

from .diagnostic import suggest

SCOPES = ("global", "local", "shared", "warp", "scalar", "texture", "constant", "param", "tmem")
# parts of targets that TVM names
_OF_TARGETS = (
    "shared.dyn", "shared.tmem", "global.vtcm", "global.texture", "global.texture-nhwc", "global.texture-weight",
    "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator", "m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC",
    "metal.simdgroup", "trn.sbuf", "trn.psum",
)  # fmt: skip
_MISSPELT = 0.85  # how like a known name one with a dot is that nobody means for a target's own


def scope_advice(scope: str) -> str | None:
    """What to write in place of an unknown scope; None for one that is known.

    A name with a dot is a target's own (`"npu.sram"`), unless it is all but one that is known.
    """
    if scope in SCOPES or scope in _OF_TARGETS:
        return None
    from .target_kinds import TARGET_KINDS

    registered = tuple(name for kind in TARGET_KINDS.values() for name in kind.scopes)
    if scope in registered:
        return None
    known = (*SCOPES, *_OF_TARGETS, *registered)
    if "." in scope:
        near = suggest(scope, [name for name in known if "." in name], _MISSPELT)
        return f'did you mean "{near}"? `TargetKind(..., scopes=...)` registers others' if near else None
    near = suggest(scope, known)
    if near:
        return f'did you mean "{near}"?'
    own = f'"npu.{scope}", or is registered: `TargetKind(..., scopes=("{scope}",))`'
    return f"the scopes are {', '.join(SCOPES)}; one of a target's own has a dot, as in {own}"


__all__ = ["SCOPES", "scope_advice"]
