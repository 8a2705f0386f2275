"""What is known of the arrays of a graph that are not defined everywhere, from the kernel that leaves them so on.

before:  y = G.call_tir(M.pack, (x,), ...)      # the padding of y is `T.undef`
after:   M.crop may read the rest of y; who uses the padding is told, and a result of the graph that holds it

The results of a kernel are new memory: it, and those behind it, are told where they read what none has written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tirscript.ir.func import PrimFunc
from tirscript.passes.layouts.unwritten import bare_padding
from tirscript.passes.layouts.value_layouts import padding_places

from ..runtime.arrays import address_of
from .memory import EMPTY, WRITTEN
from .program import Watched, report_undefined


class Marks:
    """The arrays of one execution that are not defined everywhere. `states` are what kernels know of them."""

    def __init__(self) -> None:
        self.arrays: dict[int, Any] = {}  # so that no other array gets their address
        self.states: dict[int, bytearray] = {}
        self.left: dict[int, tuple[PrimFunc, Watched]] = {}  # those with elements that depend on undef

    def allocate(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Remember new arrays, of which nothing is written."""
        for array in arrays:
            if array.size:
                address = address_of(array)
                self.arrays[address], self.states[address] = array, bytearray(array.size)

    def settle(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Forget those of new arrays of which a kernel has written every element."""
        for address in map(address_of, arrays):
            state = self.states.get(address)
            if state is not None and state.count(WRITTEN) == len(state):
                del self.arrays[address], self.states[address]

    def forget(self, values: Sequence[Any]) -> None:
        """Forget what is not written of arrays, alone or in tuples, that a library function is given: it may store."""
        for one in values:
            if isinstance(one, tuple):
                self.forget(one)
            elif isinstance(one, np.ndarray) and (address := address_of(one)) not in self.left:
                self.arrays.pop(address, None)
                self.states.pop(address, None)

    def pack(self, func: PrimFunc, packed: np.ndarray[Any, Any]) -> None:
        """Remember the padding that a function which packs an array has not stored."""
        mapping = bare_padding(func)
        free = None if mapping is None else padding_places(mapping)
        if free is not None:
            address = address_of(packed)
            self.arrays[address] = packed
            self.states[address] = bytearray(np.where(free, EMPTY, WRITTEN).astype("uint8").tobytes())

    def leave(self, func: PrimFunc, array: np.ndarray[Any, Any], watched: Watched) -> None:
        """Remember the elements of an array that a kernel has made any value."""
        address, storage = address_of(array), watched[1].pointer.storage
        assert storage.state is not None
        if self.states.get(address) is storage.state and address in self.left and not storage.blame:
            return  # the kernel only reads it
        self.arrays[address], self.states[address], self.left[address] = array, storage.state, (func, watched)

    def check(self, value: Any) -> None:
        """Report an array, alone or in a tuple, that depends on undef where it is used as a whole."""
        if not self.left:
            return
        if isinstance(value, tuple):
            for one in value:
                self.check(one)
        elif isinstance(value, np.ndarray) and (found := self.left.get(address_of(value))) is not None:
            report_undefined(*found)
