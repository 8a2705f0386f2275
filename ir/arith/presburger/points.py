"""Concrete points of sets: what a counterexample is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .limits import as_int

if TYPE_CHECKING:
    import islpy

# a point is looked for among these values first, so that it is one a person can follow
SMALL = ((0, 3), (0, 16), (-16, 16), (-128, 128), (-4096, 4096))


def point_in(found: islpy.Set, limit: tuple[int, int] | None = None, count: int | None = None) -> list[int] | None:
    """The first `count` coordinates of a point (all), parameters first; None where there is none.

    Those coordinates are within `limit`.
    """
    import islpy

    kind = islpy.dim_type
    parameters = found.dim(kind.param)
    if parameters:
        found = found.move_dims(kind.set, 0, kind.param, 0, parameters)
    size = found.dim(kind.set) if count is None else count
    if limit is not None:
        low, high = (islpy.Val.int_from_si(found.get_ctx(), end) for end in limit)
        for at in range(size):
            found = found.lower_bound_val(kind.set, at, low).upper_bound_val(kind.set, at, high)
    point = found.sample_point()
    if point.is_void():
        return None
    return [as_int(point.get_coordinate_val(kind.set, at)) for at in range(size)]


def small_point(found: islpy.Set) -> list[int] | None:
    """The coordinates of a point, parameters first, with small values where there are such; None for an empty set."""
    for limit in (*SMALL, None):
        point = point_in(found, limit)
        if point is not None:
            return point
    return None


__all__ = ["SMALL", "point_in", "small_point"]
