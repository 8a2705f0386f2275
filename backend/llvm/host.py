"""This machine as a target of LLVM."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from msgspec import Struct

from tirscript.backend.runtime import tiles
from tirscript.ir.forks import renew_in_children

_lock = threading.Lock()
renew_in_children(globals(), "_lock", threading.Lock)


class Host(Struct, frozen=True):
    """A processor as LLVM names it: triple, cpu, features, and the convention of calls where it has several.

    `width` is that of the widest vectors where the target says it; without `threads`, parallel loops run serially.
    """

    triple: str
    cpu: str
    features: str
    abi: str = ""
    width: int = 0
    threads: bool = True

    @property
    def vector_bits(self) -> int:
        """The width of the widest vectors that loops should use."""
        return self.width or (512 if "+avx512f" in self.features.split(",") else 0)

    @property
    def fuses(self) -> bool:
        """Whether it is known to round a product that is added to something once."""
        return "+fma" in self.features.split(",") or self.triple.startswith(("aarch64", "arm64"))

    @property
    def converts_half(self) -> bool:
        """Whether it is known to have instructions between float16 and float32: elsewhere LLVM calls functions of a
        compiler's library, which a process need not have."""
        there = self.features.split(",")
        known = any(f"+{feature}" in there for feature in ("f16c", "avx512f", "zfhmin", "zfh"))
        return known or self.triple.startswith(("aarch64", "arm64"))

    @property
    def classifies(self) -> bool:
        """Whether it has an instruction that finds infinities, denormal numbers and nan in vectors (`vfpclass`)."""
        there = self.features.split(",")
        return "+avx512dq" in there and "+avx512vl" in there

    @property
    def scales(self) -> bool:
        """Whether LLVM has one instruction for vectors of floats times powers of two, rounded once (`vscalef`)."""
        import llvmlite.binding as llvm

        there = self.features.split(",")
        return "+avx512f" in there and "+avx512vl" in there and llvm.llvm_version_info >= SCALES

    def masks(self, bits: int) -> bool:
        """Whether it loads and stores vectors of elements of so many bits through masks."""
        there = self.features.split(",")
        return (bits >= 32 and "+avx" in there) or "+avx512bw" in there

    @property
    def register_bits(self) -> int:
        """The width of a vector register."""
        return self.vector_bits or (256 if "+avx" in self.features.split(",") else 128)


# nothing is known of it
UNKNOWN = Host("", "", "")
# LLVM makes instructions of `llvm.ldexp` since then, before calls of C's library
SCALES = (22, 0, 0)
# LLVM looks for loops that compute a CRC since then, in time that doubles with each choice among floats in a body:
# a maximum over 36 unrolled elements does not end
HASHES = (21, 0, 0)


@cache
def initialize() -> None:
    """Make LLVM ready for this machine, once."""
    import llvmlite.binding as llvm

    from tirscript.backend.runtime import packed

    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        if llvm.llvm_version_info >= HASHES:
            llvm.set_option("", "-disable-loop-idiom-hashrecognize")
        _load_mathematics()
        llvm.add_symbol(packed.CALLBACK, packed.address())


def _load_mathematics() -> None:
    """Let code find C's mathematics: by the name that glibc gives it, else as the system's tools know it, which are
    processes."""
    import llvmlite.binding as llvm

    try:
        llvm.load_library_permanently("libm.so.6")
    except RuntimeError:
        from ctypes.util import find_library

        library = find_library("m")
        if library is not None and llvm.address_of_symbol("erff") is None:
            llvm.load_library_permanently(library)


@cache
def initialize_all() -> None:
    """Make LLVM ready for the processors that code may be made for here, once."""
    import llvmlite.binding as llvm

    with _lock:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


@cache
def host() -> Host:
    """The processor this runs on."""
    import llvmlite.binding as llvm

    initialize()
    features = llvm.get_host_cpu_features()
    if features.get("amx-tile") and not tiles.supported():
        for name in features:
            features[name] = features[name] and not name.startswith("amx-")
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features.flatten())


def target_machine(target: Host, opt_level: int, *, jit: bool = True) -> Any:
    """A new LLVM TargetMachine; the execution engine that gets it owns it.

    Without `jit` it makes object files whose code may lie at any address.
    """
    import llvmlite.binding as llvm

    initialize()
    if not jit:
        initialize_all()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=opt_level,
        reloc="default" if jit else "pic",
        codemodel="jitdefault" if jit else "default",
        jit=jit,
        abiname=target.abi,
    )


def symbol_exists(name: str) -> bool:
    """Whether this process has a C function of that name."""
    import llvmlite.binding as llvm

    initialize()
    if name.startswith("tirscript_"):
        from tirscript.backend.runtime import threads

        if name == threads.PARALLEL:
            threads.require_pool()
    if name == tiles.SYMBOL:
        return tiles.permitted()
    return llvm.address_of_symbol(name) is not None
