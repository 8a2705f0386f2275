"""Quotients and remainders of one number, put together again."""

from __future__ import annotations

from ..expr import Call, Const, is_const
from ..op import OPS
from .bounds import whole
from .linear import Linear, linear, wrap

_DIV, _MOD = OPS["floordiv"], OPS["floormod"]


def merge_quotients(form: Linear) -> Linear:
    """`x // 4 * 4 + x % 4` is x, and `x - x // 4 * 4` is `x % 4`; the same form where there is no such pair."""
    found = merge_digits(form)
    for atom in found.terms:
        if type(atom) is not Call or atom.op is not _DIV or not is_const(atom.args[1]):
            continue
        x, by = atom.args
        divisor = int(by.value)  # type: ignore[attr-defined]
        rest = Call(_MOD, (x, by), atom.dtype)
        terms = dict(found.terms)
        quotients, remainders = terms.get(atom, 0), terms.get(rest, 0)
        if not divisor or not quotients:
            continue
        if remainders and quotients == wrap(remainders * divisor, form.dtype):
            del terms[atom], terms[rest]
            found = Linear(terms, found.constant, form.dtype) + linear(x).scaled(remainders)
            continue
        alone = linear(x)
        if len(alone.terms) != 1 or alone.constant:
            continue
        ((name, factor),) = alone.terms.items()
        times = found.terms.get(name, 0)
        if factor == 1 and times and wrap(-times * divisor, form.dtype) == quotients:
            del terms[atom], terms[name]
            terms[rest] = wrap(terms.get(rest, 0) + times, form.dtype)
            found = Linear(terms, found.constant, form.dtype).clean()
    return found


def merge_digits(form: Linear) -> Linear:
    """`x // 4 % 8 * 4 + x % 4` is `x % 32`; the same form where there is no such pair."""
    for atom in form.terms:
        inner = atom.args[0] if type(atom) is Call and atom.op is _MOD and is_const(atom.args[1]) else None
        if type(atom) is not Call or type(inner) is not Call or inner.op is not _DIV or not is_const(inner.args[1]):
            continue
        x, by = inner.args
        divisor, modulus = int(by.value), int(atom.args[1].value)  # type: ignore[attr-defined]
        rest = Call(_MOD, (x, by), atom.dtype)
        remainders = form.terms.get(rest, 0)
        if divisor <= 0 or modulus <= 0 or divisor * modulus > whole(atom.dtype)[1] or not remainders:
            continue
        if form.terms[atom] == wrap(remainders * divisor, form.dtype):
            terms = dict(form.terms)
            del terms[atom], terms[rest]
            both = Call(_MOD, (x, Const(divisor * modulus, by.dtype)), atom.dtype)
            terms[both] = wrap(terms.get(both, 0) + remainders, form.dtype)
            return merge_digits(Linear(terms, form.constant, form.dtype).clean())
    return form


__all__ = ["merge_quotients"]
