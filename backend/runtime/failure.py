"""Checks that fail while native code runs: what the code leaves behind becomes an exception."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NoReturn, Protocol

from .packed import Numbered, take_exception

RAISED = -1  # stands for a site where Python code that the kernel called has raised


class FailureRecord(ctypes.Structure):
    """What a kernel fills in before it returns 1, or 2: then the site is RAISED, and the one value a ticket."""

    _fields_ = [("site", ctypes.c_int32), ("count", ctypes.c_int32), ("values", ctypes.c_int64 * 8)]


class FailedCheck(Protocol):
    """A check that code was compiled for."""

    def exception(self, values: Sequence[int]) -> Exception:
        """What to raise where it failed with these values."""


class Failure:
    """Raises what ended a kernel: the entry calls it with the address of the record."""

    __slots__ = ("sites",)

    def __init__(self, sites: Numbered[FailedCheck]) -> None:
        self.sites = sites

    def __call__(self, address: int) -> NoReturn:
        record = FailureRecord.from_address(address)
        if record.site == RAISED:
            raised = take_exception(record.values[0])
            raise raised or SystemError("a kernel says that Python raised, but nothing was raised")
        raise self.sites[record.site].exception(tuple(record.values[: record.count]))
