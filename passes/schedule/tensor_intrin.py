"""Tensor intrinsics: what a block computes (`desc`), and how a machine does it (`impl`), both as tensor functions."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from tirscript.ir.buffer import Buffer
from tirscript.ir.check import describe
from tirscript.ir.diagnostic import DiagnosticError, error, suggest
from tirscript.ir.func import PrimFunc
from tirscript.ir.rewrite import holds
from tirscript.ir.stmt import Block, MatchBuffer, Return, Stmt
from tirscript.ir.words import counted

from .refusal import refusal


class TensorIntrin(Struct, frozen=True, eq=False):
    """A tensor intrinsic: `impl` does to buffers of the same shapes what `desc` does."""

    name: str
    desc: PrimFunc
    impl: PrimFunc

    @staticmethod
    def get(name: str) -> TensorIntrin:
        """The intrinsic registered under that name; ScheduleError (T502) where there is none."""
        found = _REGISTERED.get(name)
        if found is None and name in BUILT_IN:
            desc, impl = BUILT_IN[name]()
            found = register_tensor_intrin(name, desc, impl)
        if found is None:
            known = tensor_intrins()
            near = suggest(name, known)
            parts = [one for one in known if name and name.casefold() in one.casefold()]
            listed = parts or known
            others = f"{', '.join(listed[:8])} and {len(listed) - 8} others" if len(listed) > 9 else ", ".join(listed)
            which = f"with {name!r} in their names there are" if parts else "they are"
            hint = f"did you mean `{near}`?" if near else f"{which} {others}: `tensor_intrins()` lists all"
            raise refusal("T502", f"there is no tensor intrinsic `{name}`", None, hint=hint)
        return found


_REGISTERED: dict[str, TensorIntrin] = {}
# intrinsics that come with the package, made when first asked for
BUILT_IN: dict[str, Callable[[], tuple[PrimFunc, PrimFunc]]] = {}


def tensor_intrins() -> list[str]:
    """The names of all tensor intrinsics."""
    return sorted({*_REGISTERED, *BUILT_IN})


def register_tensor_intrin(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
    """Make an intrinsic known to `Schedule.tensorize` by a name.

    `desc` is the loops and blocks that it replaces, `impl` what comes in their place. Their parameters are buffers of
    the same shapes and dtypes. That they compute the same is the caller's word:
    `tirscript.testing.assert_same_result(desc, impl)` tests it. Raises a Diagnostic (T503) where the two do not fit
    together, or another intrinsic has the name and `override` is False.
    """
    for word, func in (("desc", desc), ("impl", impl)):
        if not isinstance(func, PrimFunc):
            raise _wrong(name, f"`{word}` is a tensor function, not {describe(func)}")
        if len(func.param_buffers) != len(func.params):
            raise _wrong(name, f"the parameters of `{word}` are not all buffers")
        if holds(func.body, Return):
            raise _wrong(name, f"`{word}` returns")
    if len(desc.params) != len(impl.params):
        raise _wrong(name, f"`desc` has {counted(len(desc.params), 'parameter')} and `impl` {len(impl.params)}")
    for one, other in zip(desc.param_buffers, impl.param_buffers, strict=True):
        if one.constant_shape() is None or one.constant_shape() != other.constant_shape():
            raise _wrong(name, f"the shapes of `{one.name}` are not the same constants in `desc` and `impl`")
        if one.dtype is not other.dtype:
            raise _wrong(name, f"`{one.name}` is {one.dtype} in `desc` and {other.dtype} in `impl`")
    if not override and name in _REGISTERED:
        raise _wrong(name, "the name is taken", hint="`override=True` replaces it")
    found = _REGISTERED[name] = TensorIntrin(name, desc, impl)
    return found


def body_of(func: PrimFunc) -> tuple[Stmt, ...]:
    """The statements of a function without what gives its parameters their shapes, and without a root block."""
    body = tuple(stmt for stmt in func.body if type(stmt) is not MatchBuffer)
    while len(body) == 1 and type(body[0]) is Block and not body[0].axes and body[0].init is None:
        if body[0].predicate is not None:
            break
        body = body[0].body
    return body


def pairs_of(intrin: TensorIntrin) -> list[tuple[Buffer, Buffer]]:
    """The buffers of `desc` with those of `impl`."""
    return list(zip(intrin.desc.param_buffers, intrin.impl.param_buffers, strict=True))


def _wrong(name: str, message: str, hint: str | None = None) -> DiagnosticError:
    return DiagnosticError([error("T503", f"tensor intrinsic `{name}`: {message}", hint=hint)])


__all__ = ["BUILT_IN", "TensorIntrin", "body_of", "pairs_of", "register_tensor_intrin", "tensor_intrins"]
