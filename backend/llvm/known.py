"""Whether LLVM has the architecture, the processor and the features of a target.

LLVM ends the process on some that it has not, and passes over others with a line on standard error. So what is not in
the table of processors is tried in a child process first, once for each target.
"""

from __future__ import annotations

import re
import sys
from functools import cache

from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.span import Span
from tirscript.ir.target_tags import PROCESSORS

from .host import Host, initialize_all

# architecture -> a feature that all of its processors in the table have
_SIGNS = {"x86-64": "sse2", "aarch64": "neon"}

# architectures whose numbers begin with the highest byte
_HIGH_FIRST = frozenset(
    """aarch64_be armeb armebv7 m68k mips mips64 powerpc powerpc64 ppc ppc64 s390x sparc sparc64 sparcv9""".split()  # noqa: SIM905
)

# those that run no functions of C, or none with addresses of 32 or 64 bits; LLVM ends the process on some of our code
_NO_C = frozenset("amdgcn avr bpf bpfeb bpfel msp430 nvptx nvptx64 r600 spirv spirv32 spirv64".split())  # noqa: SIM905


def require_known(found: Host, here: Host, architecture: str, given: tuple[str, ...], span: Span | None) -> None:
    """Raise DiagnosticError unless LLVM can make code for a processor; `given` are the features that a target names."""
    unsigned = next((one for one in given if one[:1] not in ("+", "-")), None)
    if unsigned is not None:
        message = f"the feature `{unsigned}` of a target is neither asked for nor left out"
        raise _wrong(message, span, f"write `+{unsigned}` or `-{unsigned}`", code="T404")
    if found.triple != here.triple:
        import llvmlite.binding as llvm

        initialize_all()
        try:
            llvm.Target.from_triple(found.triple)
        except RuntimeError:
            message = f"LLVM makes no code for `{found.triple}`"
            raise _wrong(message, span, "such as `x86_64-linux-gnu` or `aarch64-linux-gnu`") from None
        first = found.triple.partition("-")[0]
        if first in _NO_C:
            raise _wrong(f"`{found.triple}` is no processor that runs functions of C, which kernels become", span, None)
        if first in _HIGH_FIRST:
            # entries read fields of arrays, and constants are written, with the lowest byte first
            message = f"processors of `{found.triple}` read the highest byte of a number first, which is not supported"
            raise _wrong(message, span, "write C source for it: `-o k.c --target c`")
    same = (found.triple, found.cpu) == (here.triple, here.cpu)
    kin = [features.split(",") for features in PROCESSORS.values() if _SIGNS.get(architecture) in features.split(",")]
    listed = PROCESSORS.get(found.cpu, "").split(",") in kin
    features = {one for each in kin for one in each}
    plain = same or listed or found.cpu == "generic"
    if plain and not found.abi and (found.features == here.features or all(one[1:] in features for one in given)):
        return
    failed, said = _tried(found.triple, found.cpu, found.features, found.abi)
    for what, sign in (("processor", ""), ("feature", "[+-]")):
        unknown = re.search(rf"'{sign}(.*)' is not a recognized {what}", said)
        if unknown is not None:
            message = f"LLVM has no {what} `{unknown[1]}` for {found.triple}"
            if unknown[1] in PROCESSORS:
                raise _wrong(message, span, "say what system it is in, such as `-mtriple=aarch64-linux-gnu`")
            near = suggest(unknown[1], _listed(found.triple, what))
            raise _wrong(message, span, f"did you mean `{near}`?" if near else None)
    if failed or said:
        message = f"LLVM cannot make code for the processor `{found.cpu}` with these options"
        lines = [line for line in said.splitlines() if line.strip()]
        raise _wrong(message, span, None, lines[-1:])


def _wrong(
    message: str, span: Span | None, hint: str | None, notes: list[str] | None = None, code: str = "T402"
) -> DiagnosticError:
    return DiagnosticError([error(code, message, span, hint=hint, notes=notes or ())])


@cache
def _tried(triple: str, cpu: str, features: str, abi: str) -> tuple[bool, str]:
    """Whether code cannot be made, and what LLVM says."""
    import subprocess

    words = [sys.executable or "", "-c", _CHILD, "\n".join(sys.path), triple, cpu, features, abi]
    try:
        child = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as problem:  # an interpreter inside of another program has no executable
        return True, f"it cannot be tried, since no other process of Python can be started: {problem}"
    return child.returncode != 0, child.stderr


def _listed(triple: str, what: str) -> list[str]:
    """The processors or features that LLVM has for an architecture."""
    said = _tried(triple, "help", "", "")[1]
    _, _, processors = said.partition("Available CPUs for this target:")
    processors, _, features = processors.partition("Available features for this target:")
    return re.findall(r"^  (\S+) +- ", processors if what == "processor" else features, re.MULTILINE)


_CHILD = r"""
import sys
sys.path[:] = sys.argv[1].split("\n")
import llvmlite.binding as llvm
llvm.initialize_all_targets(); llvm.initialize_all_asmprinters()
triple, cpu, features, abi = sys.argv[2:]
machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, abiname=abi)
text = "define float @f(float %a) {\n%b = fadd float %a, %a\nret float %b\n}"
machine.emit_assembly(llvm.parse_assembly(f'target triple = "{triple}"\n{text}'))
"""

__all__ = ["require_known"]
