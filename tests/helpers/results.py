"""What graph functions give: arrays, numbers and tuples of them."""

from __future__ import annotations

from typing import Any

import numpy as np


def same(found: Any, wanted: Any) -> None:
    """Fail where results differ by more than rounding, or are of other shapes and dtypes."""
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    else:
        assert (np.shape(found), np.asarray(found).dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def listed(found: Any) -> list[Any]:
    """The results of a function, of which one is no tuple."""
    return list(found) if isinstance(found, tuple) else [found]
