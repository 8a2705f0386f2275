"""Targets by the name of a machine, and the features of processors by LLVM's names.

The features are those that decide what code for a processor may do: the levels of x86-64 of its psABI, and what
processors have beyond their level, as LLVM 20 has them. A processor that is not here is known to LLVM alone.
"""

from __future__ import annotations

from typing import Any

_V1 = "cx8,fxsr,mmx,sse,sse2"
_V2 = f"{_V1},cx16,popcnt,sahf,sse3,sse4.1,sse4.2,ssse3"
_V3 = f"{_V2},avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,xsave"
_V4 = f"{_V3},avx512bw,avx512cd,avx512dq,avx512f,avx512vl"
_ICE = f"{_V4},avx512bitalg,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni,avx512vpopcntdq,gfni,vaes,vpclmulqdq"
_SAPPHIRE = f"{_ICE},amx-bf16,amx-int8,amx-tile,avx512bf16,avx512fp16,avxvnni"

# processor -> its features
PROCESSORS: dict[str, str] = {
    "x86-64": _V1,
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": _V4,
    "nehalem": _V2,
    "westmere": _V2,
    "sandybridge": f"{_V2},avx,xsave",
    "ivybridge": f"{_V2},avx,f16c,xsave",
    "haswell": _V3,
    "core-avx2": _V3,
    "broadwell": _V3,
    "skylake": _V3,
    "skylake-avx512": _V4,
    "cascadelake": f"{_V4},avx512vnni",
    "cooperlake": f"{_V4},avx512bf16,avx512vnni",
    "icelake-client": _ICE,
    "icelake-server": _ICE,
    "tigerlake": _ICE,
    "rocketlake": _ICE,
    "alderlake": f"{_V3},avxvnni,gfni,vaes,vpclmulqdq",
    "raptorlake": f"{_V3},avxvnni,gfni,vaes,vpclmulqdq",
    "sapphirerapids": _SAPPHIRE,
    "emeraldrapids": _SAPPHIRE,
    "graniterapids": f"{_SAPPHIRE},amx-fp16",
    "znver1": _V3,
    "znver2": _V3,
    "znver3": f"{_V3},vaes,vpclmulqdq",
    "znver4": f"{_ICE},avx512bf16",
    "znver5": f"{_ICE},avx512bf16,avxvnni",
    "cortex-a53": "neon,fp-armv8",
    "cortex-a72": "neon,fp-armv8",
    "cortex-a76": "neon,fp-armv8,dotprod,fullfp16,lse",
    "neoverse-n1": "neon,fp-armv8,dotprod,fullfp16,lse",
    "apple-m1": "neon,fp-armv8,dotprod,fullfp16,lse",
    "apple-m2": "neon,fp-armv8,bf16,dotprod,fullfp16,i8mm,lse",
    "generic-rv64": "64bit",
}

# the name of a machine -> its target; a target's options go before those of its tag
TAGS: dict[str, dict[str, Any]] = {
    **{
        f"intel/{name}": {"kind": "llvm", "keys": ("x86", "cpu"), "mtriple": "x86_64-linux-gnu", "mcpu": name}
        for name in (
            "haswell",
            "skylake",
            "skylake-avx512",
            "cascadelake",
            "cooperlake",
            "icelake-server",
            "sapphirerapids",
            "graniterapids",
        )
    },
    **{
        f"amd/{name}": {"kind": "llvm", "keys": ("x86", "cpu"), "mtriple": "x86_64-linux-gnu", "mcpu": name}
        for name in ("znver2", "znver3", "znver4", "znver5")
    },
    **{
        f"apple/{chip}": {
            "kind": "llvm",
            "keys": ("arm_cpu", "cpu"),
            "mtriple": "arm64-apple-macos",
            "mcpu": f"apple-{chip}",
            "num-cores": 8,
        }
        for chip in ("m1", "m2")
    },
    "raspberry-pi/4b-aarch64": {
        "kind": "llvm",
        "keys": ("arm_cpu", "cpu"),
        "mtriple": "aarch64-linux-gnu",
        "mcpu": "cortex-a72",
        "mattr": ("+neon",),
        "num-cores": 4,
    },
    "aws/graviton2": {
        "kind": "llvm",
        "keys": ("arm_cpu", "cpu"),
        "mtriple": "aarch64-linux-gnu",
        "mcpu": "neoverse-n1",
    },
    "x86_64/generic": {"kind": "llvm", "keys": ("x86", "cpu"), "mtriple": "x86_64-linux-gnu", "mcpu": "x86-64"},
    "aarch64/generic": {"kind": "llvm", "keys": ("arm_cpu", "cpu"), "mtriple": "aarch64-linux-gnu", "mcpu": "generic"},
    "riscv64/generic": {
        "kind": "llvm",
        "keys": ("cpu",),
        "mtriple": "riscv64-linux-gnu",
        "mcpu": "generic-rv64",
        "mattr": ("+m", "+a", "+f", "+d", "+c"),
        "mabi": "lp64d",
    },
    "wasm32/generic": {"kind": "llvm", "keys": ("cpu",), "mtriple": "wasm32-unknown-unknown", "mcpu": "generic"},
}

__all__ = ["PROCESSORS", "TAGS"]
