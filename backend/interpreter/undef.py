"""The mark for "any value", which `T.undef` makes and which arithmetic carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn


class Undef:
    """Any value. There is one such object, UNDEF; it refuses to be used as a truth value or a number."""

    __slots__ = ()

    def _refuse(self, *args: object) -> NoReturn:
        raise UndefUsed

    __bool__ = __index__ = __int__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse

    def __repr__(self) -> str:
        return "undef"


class UndefUsed(Exception):
    """A decision, an index or an effect would depend on an undefined value."""


UNDEF: Final = Undef()


def has_undef(value: Any) -> bool:
    """Whether a value, or a lane of it, is the mark."""
    return value is UNDEF or (type(value) is tuple and any(lane is UNDEF for lane in value))


def _zero(a: Any, b: Any) -> Any:
    known = b if a is UNDEF else a
    return known if known is not UNDEF and known == 0 else UNDEF


def _absorb(absorbing: Callable[[Any], bool]) -> Callable[[Any, Any], Any]:
    def rule(a: Any, b: Any) -> Any:
        known = b if a is UNDEF else a
        return known if known is not UNDEF and absorbing(known) else UNDEF

    return rule


# what an operator gives where an argument is the mark; all others give the mark
UNDEF_RULES: dict[str, Callable[..., Any]] = {
    "mul": _zero,
    "bitwise_and": _zero,
    "bitwise_or": _absorb(lambda known: known is True or known == -1),
    "logical_and": _absorb(lambda known: known is False),
    "logical_or": _absorb(lambda known: known is True),
    "Select": lambda c, a, b: UNDEF if c is UNDEF else a if c else b,
    "if_then_else": lambda c, a, b: UNDEF if c is UNDEF else a if c else b,
    # two undefined values are not the same value
    "equal": lambda a, b: False if a is b else UNDEF,
    "not_equal": lambda a, b: True if a is b else UNDEF,
}


def with_undef(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """The scalar rule of operator `name`, extended to the mark."""
    special = UNDEF_RULES.get(name)

    def extended(*args: Any) -> Any:
        for arg in args:
            if arg is UNDEF:
                return UNDEF if special is None else special(*args)
        return rule(*args)

    return extended
