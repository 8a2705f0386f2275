"""What is known of LLVM's intrinsics, which programs call by name: `T.call_llvm_pure_intrin(dtype, name, ...)`.

Those that an operator of the language stands for (its entry in `ir/ops` names the intrinsic) are that operator. The
dot products of x86 are a table here, with the processor features that they need and what they compute. All others are
checked by LLVM itself when they are compiled (`llvm/intrinsics.py`), and the interpreter does not know them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import Struct

from tirscript.ir import Call, Const, DType, Expr, StringImm
from tirscript.ir.dtype import dtype
from tirscript.ir.op import OPS, Op


class Intrinsic(Struct, frozen=True, eq=False):
    """An intrinsic whose operands are vectors of fixed sizes.

    features: the processor features of which every one of one group must be there
    compute:  the result of numpy arrays of the dtypes `params`
    tile:     the numbers that the first operands must be, the size of a tile; the others and the result are tiles then,
              which LLVM has a type of their own for. Empty for vectors
    """

    result: DType
    params: tuple[DType, ...]
    features: tuple[tuple[str, ...], ...]
    compute: Callable[..., Any]
    tile: tuple[int, ...] = ()


def name_of(call: Call) -> str | None:
    """The name of the intrinsic that is called; None where it is given by a number, which says nothing here."""
    first = call.args[0]
    return first.value if type(first) is StringImm else None


def operands(call: Call) -> list[tuple[Expr, ...]]:
    """What may be the operands of a call, the likeliest first: TVM may print their number before them."""
    args = call.args[1:]
    found = [args]
    if args and type(args[0]) is Const and args[0].dtype.name == "uint32" and 0 <= args[0].value <= len(args) - 1:
        found.insert(0 if args[0].value == len(args) - 1 else 1, args[1:])
    return found


def as_operator(call: Call) -> Call | None:
    """The same call by an operator of the language, where there is one of that meaning."""
    name = name_of(call)
    entry = None if name is None else _operators().get(_TYPES.sub("", name))
    if entry is None:
        return None
    for args in operands(call):
        if len(args) == entry.arity[0] and all(arg.dtype is call.dtype for arg in args):
            return Call(entry, args, call.dtype, span=call.span)
    return None


def fitting(known: Intrinsic, call: Call) -> tuple[Expr, ...] | None:
    """The operands of a call of a known intrinsic, None where they do not fit. Integer vectors of as many bits do:
    older versions of LLVM wanted the bytes of a dot product as int32."""
    if call.dtype is not known.result:
        return None
    for args in operands(call):
        if len(args) == len(known.params) and all(map(_same_bits, args, known.params)):
            sizes = [arg.value if type(arg) is Const else None for arg in args[: len(known.tile)]]
            return args if sizes == list(known.tile) else None
    return None


def _same_bits(arg: Expr, want: DType) -> bool:
    have: DType = arg.dtype
    if have is want:
        return True
    return have.element.is_int and want.element.is_int and have.bits * have.lanes == want.bits * want.lanes


# the types that an overloaded intrinsic has in its name
_TYPES = re.compile(r"(\.(v\d+)?(f|i|bf)\d+)+$")


@cache
def _operators() -> dict[str, Op]:
    same = [entry for entry in OPS.values() if entry.llvm is not None and entry.llvm.startswith("llvm.")]
    # of the intrinsics that the backend's own rules write, those with one result of the operands' dtype
    others = {"llvm.fma": "fma", "llvm.copysign": "copysign", "llvm.ctpop": "popcount"}
    return {**{entry.llvm or "": entry for entry in same}, **{name: OPS[mine] for name, mine in others.items()}}


def _saturated(values: Any, low: int, high: int) -> Any:
    import numpy

    return numpy.clip(values, low, high)


def _dot(group: int, *, saturates: bool = False) -> Callable[..., Any]:
    """The sums of `group` products of neighbours, added to an accumulator."""

    def compute(total: Any, a: Any, b: Any) -> Any:
        products = (a.astype("int64") * b.astype("int64")).reshape(-1, group).sum(axis=1)
        exact = total.astype("int64") + products
        return (_saturated(exact, -(1 << 31), (1 << 31) - 1) if saturates else exact).astype("int32")

    return compute


def _pairs(result: str) -> Callable[..., Any]:
    """The sums of two products of neighbours; of int16 they saturate, of int32 they wrap."""

    def compute(a: Any, b: Any) -> Any:
        exact = (a.astype("int64") * b.astype("int64")).reshape(-1, 2).sum(axis=1)
        return (_saturated(exact, -(1 << 15), (1 << 15) - 1) if result == "int16" else exact).astype(result)

    return compute


def _tiles(*sizes_and_tiles: Any) -> Any:
    """The product of 16 rows of 64 bytes and of 16 lines of 16 times 4 bytes, added to 16 by 16 numbers."""
    total, a, b = sizes_and_tiles[len(TILE) :]
    right = b.reshape(16, 16, 4).transpose(0, 2, 1).reshape(64, 16).astype("int64")
    exact = total.astype("int64") + (a.reshape(16, 64).astype("int64") @ right).reshape(-1)
    return exact.astype("int32")


def _float_tiles(*sizes_and_tiles: Any) -> Any:
    """The product of 16 rows of 32 bfloat16 and of 16 lines of 16 pairs, added to 16 by 16 float32.

    The terms at even and at odd places are added up apart, each rounded once a product; then both sums are added. What
    is denormal counts as zero, before and behind each step.
    """
    import numpy

    total, a, b = (_flushed(given.astype("float32")) for given in sizes_and_tiles[len(TILE) :])
    a, b = a.reshape(16, 16, 2), b.reshape(16, 16, 2)
    sums = numpy.zeros((16, 16, 2), "float32")
    for k in range(16):
        sums = _added(sums, a[:, None, k], b[None, k])
    with numpy.errstate(all="ignore"):
        return _flushed(total + _flushed(sums[..., 0] + sums[..., 1]).reshape(-1))


def _float_pairs(total: Any, a: Any, b: Any) -> Any:
    """The sums of two products of bfloat16 beside each other, added to an accumulator of float32: first that at the odd
    place, then the other, each rounded once. What is denormal counts as zero, before and behind each step."""
    found, a, b = _flushed(total), _flushed(a.astype("float32")), _flushed(b.astype("float32"))
    for place in (1, 0):
        found = _added(found, a[place::2], b[place::2])
    return found


def _flushed(values: Any) -> Any:
    """float32 with zeros for what is denormal."""
    import numpy

    return numpy.where(numpy.abs(values) < 2.0**-126, numpy.copysign(numpy.float32(0), values), values)


def _added(total: Any, a: Any, b: Any) -> Any:
    """total + a * b of bfloat16 as float32, rounded once and flushed: such products are exact in float64, and sums of
    two such numbers are rounded to float32 as if at once."""
    import numpy

    with numpy.errstate(all="ignore"):
        return _flushed((total.astype("float64") + a.astype("float64") * b.astype("float64")).astype("float32"))


# rows, bytes of a row of the result, bytes of a row of the left operand
TILE = (16, 64, 64)


def _made() -> dict[str, Intrinsic]:
    found: dict[str, Intrinsic] = {}
    kinds = {"s": dtype("int8x1024"), "u": dtype("uint8x1024")}
    sums, sizes = dtype("int32x256"), (dtype("int16"),) * len(TILE)
    for left, right in ("ss", "su", "us", "uu"):
        found[f"llvm.x86.tdpb{left}{right}d.internal"] = Intrinsic(
            sums, (*sizes, sums, kinds[left], kinds[right]), (("amx-int8", "amx-tile"),), _tiles, TILE
        )

    floats, halves = dtype("float32x256"), dtype("bfloat16x512")
    found["llvm.x86.tdpbf16ps.internal"] = Intrinsic(
        floats, (*sizes, floats, halves, halves), (("amx-bf16", "amx-tile"),), _float_tiles, TILE
    )

    def enter(name: str, result: str, params: tuple[str, ...], bits: int, features: Any, compute: Any) -> None:
        kinds = [dtype(f"{kind}x{bits // dtype(kind).bits}") for kind in (result, *params)]
        found[name] = Intrinsic(kinds[0], tuple(kinds[1:]), features, compute)

    for bits in (128, 256, 512):
        vnni = (("avx512vnni",),) if bits == 512 else (("avx512vnni", "avx512vl"), ("avxvnni",))
        for suffix in ("", "s"):
            enter(
                f"llvm.x86.avx512.vpdpbusd{suffix}.{bits}",
                "int32",
                ("int32", "uint8", "int8"),
                bits,
                vnni,
                _dot(4, saturates=bool(suffix)),
            )
            enter(
                f"llvm.x86.avx512.vpdpwssd{suffix}.{bits}",
                "int32",
                ("int32", "int16", "int16"),
                bits,
                vnni,
                _dot(2, saturates=bool(suffix)),
            )
        name, pairs = f"llvm.x86.avx512bf16.dpbf16ps.{bits}", ("float32", "bfloat16", "bfloat16")
        enter(name, "float32", pairs, bits, (("avx512bf16", "avx512vl"),), _float_pairs)
    for name, bits, feature in (
        ("llvm.x86.sse2.pmadd.wd", 128, "sse2"),
        ("llvm.x86.avx2.pmadd.wd", 256, "avx2"),
        ("llvm.x86.avx512.pmaddw.d.512", 512, "avx512bw"),
    ):
        enter(name, "int32", ("int16", "int16"), bits, ((feature,),), _pairs("int32"))
    for name, bits, feature in (
        ("llvm.x86.ssse3.pmadd.ub.sw.128", 128, "ssse3"),
        ("llvm.x86.avx2.pmadd.ub.sw", 256, "avx2"),
        ("llvm.x86.avx512.pmaddubs.w.512", 512, "avx512bw"),
    ):
        enter(name, "int16", ("uint8", "int8"), bits, ((feature,),), _pairs("int16"))
    return found


KNOWN = _made()
