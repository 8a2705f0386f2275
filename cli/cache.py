"""`tirscript cache`: what compiled kernels are kept on disk, and how to be rid of them."""

from __future__ import annotations

import time
from typing import Any

import click

from tirscript.ir.words import counted

from .output import machine, write

EPILOG = """\b
Examples:
  tirscript cache info          where it is, how much it holds, whether it works
  tirscript cache info --json
  tirscript cache clean         remove all of it

TIRSCRIPT_CACHE=0 turns the cache off, TIRSCRIPT_CACHE_DIR says where it is, TIRSCRIPT_CACHE_SIZE how much it may hold
(512M). What was not used for longest goes first. TIRSCRIPT_BUILD_THREADS says how many threads compile what is not in
the cache."""


@click.group(name="cache", epilog=EPILOG)
def command() -> None:
    """Show or empty the cache of compiled kernels."""


@command.command(name="info")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def info(as_json: bool) -> None:
    """Show where the cache is, how much it holds, whether it can be used, and how many threads compile."""
    found = described()
    if as_json:
        machine(found)
        return
    last = found["last_used"]
    used = "never" if last is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last))
    rows = [
        ("folder", found["folder"]),
        ("state", found["state"]),
        ("holds", f"{counted(found['kernels'], 'build')}, {size(found['bytes'])} of at most {size(found['limit'])}"),
        ("last used", used),
        ("builds", counted(found["threads"], "thread") + (f": {found['in_turn']}" if found["in_turn"] else "")),
    ]
    for name, text in rows:
        write(f"{name:<10} {text}\n")


@command.command(name="clean")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def clean(as_json: bool) -> None:
    """Remove all compiled kernels; what runs keeps running."""
    count, freed = _cache().clean()
    if as_json:
        machine({"removed": count, "bytes": freed})
    else:
        write(f"removed {counted(count, 'file')}, {size(freed)}\n")


def described() -> dict[str, Any]:
    """The cache as JSON has it."""
    from tirscript.backend import cache
    from tirscript.backend.llvm.compiling import build_threads, why_in_turn

    one = _cache()
    entries = one.entries()
    trouble = one.trouble() if cache.enabled() else None
    state = "used" if cache.enabled() else "off (TIRSCRIPT_CACHE)"
    return {
        "folder": str(one.folder),
        "enabled": cache.enabled(),
        "usable": cache.enabled() and trouble is None,
        "state": state if trouble is None else f"not used: {trouble}",
        "kernels": len(entries),
        "bytes": sum(entry.size for entry in entries),
        "limit": one.limit,
        "last_used": max((entry.used for entry in entries), default=None),
        "threads": build_threads(),
        "in_turn": why_in_turn(),
    }


def _cache() -> Any:
    from tirscript.backend import cache

    return cache.Cache(cache.folder(), cache.limit())


def size(count: int) -> str:
    """Bytes in the unit that suits: `12 KiB`."""
    if count < 1024:
        return counted(count, "byte")
    unit, factor = next(
        (pair for pair in (("KiB", 1 << 10), ("MiB", 1 << 20)) if count < 1000 * pair[1]), ("GiB", 1 << 30)
    )
    value = count / factor
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
