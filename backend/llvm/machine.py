"""Which processor a target of the kind "llvm" means, and whether its code runs here."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import structs

from tirscript.ir.diagnostic import DiagnosticError, error
from tirscript.ir.func import PrimFunc
from tirscript.ir.node import Attrs
from tirscript.ir.span import Span
from tirscript.ir.target import Target
from tirscript.ir.target_host import host_target
from tirscript.ir.target_tags import PROCESSORS
from tirscript.passes.targets import own_target

from .host import Host, host
from .known import require_known

# how architectures are called, and how we call them
_ARCHITECTURES = {"x86_64": "x86-64", "amd64": "x86-64", "arm64": "aarch64", "aarch64": "aarch64", "i686": "x86"}
_SYSTEMS = ("linux", "darwin", "macos", "ios", "windows", "wasi", "freebsd", "none", "unknown")


def architecture(triple: str) -> str:
    """The architecture that a triple names, each by one name."""
    first = triple.partition("-")[0]
    return _ARCHITECTURES.get(first, first)


def system(triple: str) -> str:
    """The system that a triple names."""
    rest = triple.partition("-")[2]
    found = next((one for one in _SYSTEMS if one in rest), "unknown")
    return "darwin" if found == "macos" else found


@cache
def machine(target: Target) -> Host:
    """The processor that a target means, with LLVM's names; what it leaves open is that of this machine.

    Raises DiagnosticError where LLVM has no such processor.
    """
    found, here = _meant(target), host()
    require_known(found, here, architecture(found.triple), tuple(target.get("mattr", ())), target.span)
    return found


def _meant(target: Target) -> Host:
    here = host()
    triple = target.triple or here.triple
    same = architecture(triple) == architecture(here.triple) and system(triple) == system(here.triple)
    more: dict[str, Any] = {
        "width": int(target.get("vector-width", 0)),
        "abi": target.abi or "",
        "threads": target.get("threads") != "none",
    }
    given = target.get("mattr", ())
    if target.cpu is None or (target.cpu in ("native", here.cpu) and same):
        if not same:
            return Host(triple, "generic", ",".join(given), **more)
        changed = {one[1:] for one in given}
        kept = [one for one in here.features.split(",") if one[1:] not in changed]
        features = here.features if tuple(given) == tuple(here.features.split(",")) else ",".join((*kept, *given))
        return Host(here.triple, here.cpu, features, **more)
    return Host(here.triple if same else triple, target.cpu, ",".join(target.features), **more)


def own_machine(func: PrimFunc, module: Host) -> Host:
    """The processor of a function that names one itself, else that of its module. T402 where they are no kin."""
    own = own_target(func)
    if own is None or own.resolved().kind != "llvm":
        return module
    own = own.resolved()
    if own.triple is not None and architecture(own.triple) != architecture(module.triple):
        message = f"`{func.name}` is for {own.triple} in a module for {module.triple}"
        raise DiagnosticError([error("T402", message, func.span, hint="build it by itself")])
    found = machine(own.replace(attrs=Attrs({**own.attrs, "mtriple": module.triple})))
    if own.cpu is None and not own.get("mattr"):
        found = structs.replace(found, cpu=module.cpu, features=module.features)
    return structs.replace(found, triple=module.triple, abi=module.abi, threads=found.threads and module.threads)


def complete(target: Target) -> Target:
    """A target for this machine with all that is known of it; one for another is told as it was given."""
    if target.cpu is None and target.triple is None:
        found = host_target()
        given: dict[str, Any] = dict(target.resolved().attrs)
        if "mattr" in given:
            given["mattr"] = tuple(machine(target).features.split(","))
        return target.replace(attrs=Attrs({**found.attrs, **given}))
    here = host()
    if architecture(target.triple or here.triple) != architecture(here.triple) or target.get("num-cores") is not None:
        return target
    return target.replace(attrs=Attrs({**target.attrs, "num-cores": host_target().attrs["num-cores"]}))


def require_here(target: Target, span: Span | None = None) -> Host:
    """The processor of a target whose code is to run in this process; T402 where it would not."""
    found, here = machine(target), host()
    if found.triple != here.triple:
        message = f"code for {found.triple} does not run in this process, which is {here.triple}"
        hint = "write it to a file: `tirscript build FILE -o libk.so --target ...`"
        raise DiagnosticError([error("T402", message, target.span or span, hint=hint)])
    problem = beyond(target, span)
    if problem is not None:
        raise problem
    return found


def beyond(target: Target, span: Span | None = None) -> DiagnosticError | None:
    """What a target may use of a processor of this architecture that this one does not have; None where it has all."""
    found, here = machine(target), host()
    span = target.span or span
    if found.cpu == here.cpu:
        wanted = [one for one in target.get("mattr", ()) if one.startswith("+")]
    elif found.cpu in PROCESSORS or found.cpu == "generic":
        wanted = [one for one in found.features.split(",") if one.startswith("+")]
    else:
        message = f"whether code for the processor `{found.cpu}` runs on this one, `{here.cpu}`, is not known"
        hint = "say what it may use: `llvm -mcpu=x86-64-v2 -mattr=+avx2`"
        return DiagnosticError([error("T402", message, span, hint=hint)])
    there = set(here.features.split(","))
    missing = [one[1:] for one in wanted if one not in there]
    if not missing:
        return None
    message = f"this processor, `{here.cpu}`, does not have {', '.join(missing)}, which the target asks for"
    hint = "leave the processor away to build for this one, or `export` the function for another"
    return DiagnosticError([error("T402", message, span, hint=hint)])


__all__ = ["architecture", "beyond", "complete", "machine", "own_machine", "require_here", "system"]
