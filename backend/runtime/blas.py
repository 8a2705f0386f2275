"""Matrix products of the BLAS that is at hand, as library functions.

A BLAS is looked for in the packages scipy-openblas64 and scipy-openblas32, in the wheels of numpy, which bring one, and
among the libraries of the system. What its functions are called tells how wide their integers are.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from .library import register_library

# prefix and suffix of the symbols, and the integers of the functions
_NAMINGS = (("scipy_", "64_", "int64"), ("", "64_", "int64"), ("scipy_", "", "int32"), ("", "", "int32"))
_ROUTINES = {"float32": "cblas_sgemm", "float64": "cblas_dgemm"}
_ROW_MAJOR, _NOT_TRANSPOSED = 101, 111


def register_blas(library: str | Path | None = None) -> str:
    """Register `blas.matmul_float32` and `blas.matmul_float64`, which write the product of matrices of the shapes
    (m, k) and (k, n) into a third, (m, n); returns the path of the library that has them.

    `library` is a BLAS with C's interface, found by itself where it is not given. Raises OSError where there is none.
    """
    tried = []
    for path in _candidates() if library is None else [str(library)]:
        tried.append(path)
        try:
            loaded = ctypes.CDLL(path)
        except OSError:
            continue
        for prefix, suffix, integer in _NAMINGS:
            symbols = {dtype: f"{prefix}{name}{suffix}" for dtype, name in _ROUTINES.items()}
            if all(hasattr(loaded, symbol) for symbol in symbols.values()):
                for dtype, symbol in symbols.items():
                    signature = matmul_signature(dtype, integer)
                    name = f"blas.matmul_{dtype}"
                    register_library(name, symbol=symbol, library=loaded, signature=signature, override=True)
                return path
    looked = f"looked at {', '.join(tried)}" if tried else "no library is called like one"
    raise OSError(f"there is no BLAS with C's interface ({looked}); install scipy-openblas64, or pass `library`")


def matmul_signature(dtype: str, integer: str) -> list[str]:
    """The signature of `cblas_?gemm(order, transA, transB, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc)` as
    C = A B."""
    sizes = [f"{size}: {integer}" for size in ("m", "n", "k")]
    return [
        *(f"{value}: int32" for value in (_ROW_MAJOR, _NOT_TRANSPOSED, _NOT_TRANSPOSED)),
        *sizes,
        f"1.0: {dtype}",
        *(f"{dtype}[m, k]", f"max(k, 1): {integer}"),
        *(f"{dtype}[k, n]", f"max(n, 1): {integer}"),
        f"0.0: {dtype}",
        *(f"{dtype}[m, n]", f"max(n, 1): {integer}"),
    ]


def _candidates() -> Iterator[str]:
    """Paths and names of libraries that may be a BLAS, the most likely ones first."""
    for package, folder in (("scipy_openblas64", "lib"), ("scipy_openblas32", "lib"), ("numpy", ".dylibs")):
        found = find_spec(package)
        if found is None or found.origin is None:
            continue
        home = Path(found.origin).parent
        for place in (home / folder, home.with_name(f"{package}.libs")):
            if place.is_dir():
                yield from sorted(str(path) for path in place.iterdir() if "openblas" in path.name)
    for name in ("openblas", "cblas", "blas"):
        path = ctypes.util.find_library(name)
        if path is not None:
            yield path
