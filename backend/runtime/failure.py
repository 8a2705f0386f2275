"""Checks that fail while native code runs: what the code leaves behind becomes an exception."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NoReturn, Protocol

from .packed import take_exception


class FailureRecord(ctypes.Structure):
    """What a kernel fills in before it returns 1."""

    _fields_ = [("site", ctypes.c_int32), ("count", ctypes.c_int32), ("values", ctypes.c_int64 * 8)]


class FailedCheck(Protocol):
    """A check that code was compiled for."""

    def exception(self, values: Sequence[int]) -> Exception:
        """What to raise where it failed with these values."""


class Failure:
    """Raises what ended a kernel: the entry calls it with the address of the record of a failed check, or with 0 where
    Python code that the kernel called has raised."""

    __slots__ = ("sites",)

    def __init__(self, sites: Sequence[FailedCheck]) -> None:
        self.sites = sites

    def __call__(self, address: int) -> NoReturn:
        if not address:
            raise take_exception() or SystemError("a kernel says that Python raised, but nothing was raised")
        record = FailureRecord.from_address(address)
        raise self.sites[record.site].exception(tuple(record.values[: record.count]))
