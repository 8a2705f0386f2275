"""What the default schedule knows of a processor."""

from __future__ import annotations

from msgspec import Struct


class CpuFacts(Struct, frozen=True):
    """The sizes that tiles are cut to.

    vector_bits: the width of a vector register; 512, 256, 128
    threads:     how many iterations of a parallel loop run at once
    reassociate: whether sums of floats may be rounded in another order, and products added without being rounded
    tiles:       whether there are instructions for products of tiles of bytes (AMX)
    float_tiles: what multiplies tiles of bfloat16 and takes denormal numbers for zero: "amx" whole ones, "avx512" two
                 terms in each lane; "" where nothing does
    dots:        what adds up products of neighbouring bytes in a lane: "vnni" four, "madd" two; "" where nothing does
    cache:       bytes of results that are written past the caches, as none holds them until they are read
    fuses:       whether an instruction adds a product to something and rounds once: elsewhere it would be a function
    long_lines:  whether lines of symbolic length are as long as several vectors; short ones are reduced one by one
    """

    vector_bits: int = 256
    threads: int = 1
    reassociate: bool = True
    tiles: bool = False
    float_tiles: str = ""
    dots: str = ""
    cache: int = 24 << 20
    fuses: bool = True
    long_lines: bool = True

    @property
    def registers(self) -> int:
        """How many vector registers there are: 32 of 512 bits with AVX-512, else 16."""
        return 32 if self.vector_bits >= 512 else 16

    def lanes(self, bits: int) -> int:
        """How many elements of so many bits a vector holds."""
        return max(1, self.vector_bits // max(bits, 8))


__all__ = ["CpuFacts"]
