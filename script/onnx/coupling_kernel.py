"""The tensor function that makes probabilities of classes of those of pairs of classes, as libsvm does.

It is the second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise
coupling".
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from tirscript.ir.func import PrimFunc

from .kernel import functions_in, rows_of


class Coupling(Struct, frozen=True):
    """What decides the function: `rows` is a number or the name of a symbolic dimension."""

    rows: int | str
    classes: int
    kind: ClassVar[str] = "Coupling"

    def functions(self, name: str) -> tuple[PrimFunc, ...]:
        """The function: of how probable the first of each pair of classes is beside the second, how probable each is.

        It goes over the classes in turn, until no error is above a limit: a minimum of a quadratic form is sought among
        what adds up to one.
        """
        rows = rows_of(self.rows)
        count = self.classes
        return functions_in(
            f"""
@I.ir_module
class Classes:
    @T.prim_func(private=True)
    def {name}(
        pair: T.Buffer(({rows}, {count * (count - 1) // 2}), "float32"),
        p: T.Buffer(({rows}, {count}), "float32"),
    ):
        beside = T.alloc_buffer(({count}, {count}), "float32")
        q = T.alloc_buffer(({count}, {count}), "float32")
        qp = T.alloc_buffer(({count},), "float32")
        for n in range({self.rows}):
            for i, j in T.grid({count}, {count}):
                if i < j:
                    at: T.let[T.int32] = i * (2 * {count} - i - 1) // 2 + j - i - 1
                    beside[i, j] = pair[n, at]
                    beside[j, i] = 1.0 - pair[n, at]
            for i in range({count}):
                p[n, i] = 1.0 / {count}
                q[i, i] = 0.0
                for j in range({count}):
                    if i != j:
                        q[i, i] = q[i, i] + beside[j, i] * beside[j, i]
                        q[i, j] = -beside[j, i] * beside[i, j]
            form: T.float32 = 0.0
            worst: T.float32 = 0.0
            for step in range({max(100, count)}):
                form = 0.0
                for i in range({count}):
                    qp[i] = 0.0
                    for j in range({count}):
                        qp[i] = qp[i] + q[i, j] * p[n, j]
                    form = form + p[n, i] * qp[i]
                worst = 0.0
                for i in range({count}):
                    worst = T.max(worst, T.abs(qp[i] - form))
                if worst < {0.005 / count!r}:
                    break
                for i in range({count}):
                    change: T.float32 = (form - qp[i]) / q[i, i]
                    p[n, i] = p[n, i] + change
                    whole: T.float32 = 1.0 + change
                    form = (form + change * (change * q[i, i] + 2.0 * qp[i])) / whole / whole
                    for j in range({count}):
                        qp[j] = (qp[j] + change * q[i, j]) / whole
                        p[n, j] = p[n, j] / whole
""",
            name,
        )


__all__ = ["Coupling"]
