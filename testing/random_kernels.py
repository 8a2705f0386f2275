"""Random kernels of the kinds that the default schedule knows, for hypothesis: blocks or plain loops, of any size.

Arguments that are small whole numbers make all sums exact, so that results are equal bits in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tirscript.ir.expr import Var
from tirscript.ir.func import PrimFunc
from tirscript.script import parse

from .draw import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[st.SearchStrategy[Any]], Any]

SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 33, 40, 0)
# instances of a block, so that the interpreter is quick
MOST = 12_000
DTYPES = ("float32", "float32", "float64", "int32")
COMBINERS = ("{} + {}", "T.max({}, {})", "T.min({}, {})")


class Extent(int):
    """A size that is called by a name in the text, so that it is known at the call only."""

    name: str

    def __str__(self) -> str:
        return self.name

    __format__ = object.__format__

    def __repr__(self) -> str:
        return f'"{self.name}"'

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


class Kernel:
    """The text of a kernel: parameters, allocations and lines; with names for its sizes where `symbolic`."""

    def __init__(self, draw: Draw, symbolic: bool = False) -> None:
        self.draw = draw
        self.symbolic = symbolic
        self.extents = 0
        self.dtype: str = self.pick(DTYPES)
        self.params: list[str] = []
        self.lines: list[str] = []
        self.blocks: bool = self.pick((True, False))

    def pick(self, items: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(items))

    def sizes(self, count: int) -> list[int]:
        """Extents of loops, their product bounded."""
        found = [self.pick(SIZES) for _ in range(count)]
        while math.prod(found) > MOST:
            found[found.index(max(found))] = self.pick((1, 2, 3, 4))
        return [self.extent(size) for size in found]

    def extent(self, size: int) -> int:
        """A size as the text says it."""
        if not self.symbolic:
            return size
        named = Extent(size)
        named.name = f"n{self.extents}"
        self.extents += 1
        return named

    def param(self, name: str, shape: Sequence[int], dtype: str | None = None) -> None:
        self.params.append(f'{name}: T.Buffer({tuple(shape)}, "{dtype or self.dtype}")')

    def alloc(self, name: str, shape: Sequence[int]) -> None:
        dims = "".join(f"{size}, " for size in shape)
        self.lines.insert(0, f'{name} = T.alloc_buffer(({dims}), "{self.dtype}")')

    def number(self, value: int) -> str:
        return f"T.{self.dtype}({value})"

    def nest(
        self, element: str, axes: dict[str, tuple[int, str]], value: str, init: str | None = None, order: bool = True
    ) -> None:
        """`element = value` for all values of the axes, in loops of any order; `init` for what comes before a sum."""
        names = list(axes)
        loops = list(self.draw(st.permutations(names))) if order and self.pick((True, False)) else names
        buffer = element.partition("[")[0]
        if self.blocks or init is None:
            self.lines.append(f"for {', '.join(loops)} in T.grid({', '.join(str(axes[n][0]) for n in loops)}):")
        if self.blocks:
            kinds = "".join(axes[name][1] for name in names)
            bound = ", ".join(names)
            variables = ", ".join(f"v{name}" for name in names)
            body = [f'with T.block("{buffer}"):', f'    {variables} = T.axis.remap("{kinds}", [{bound}])']
            named = {name: f"v{name}" for name in names}
            if init is not None:
                body += ["    with T.init():", f"        {_renamed(element, named)} = {init}"]
            self.lines += [
                f"    {line}" for line in [*body, f"    {_renamed(element, named)} = {_renamed(value, named)}"]
            ]
        elif init is None:
            self.lines.append(f"    {element} = {value}")
        else:
            self.sums(element, axes, value, init)

    def sums(self, element: str, axes: dict[str, tuple[int, str]], value: str, init: str) -> None:
        """Plain loops of a reduction: with the init in front of its loops, or in loops of its own."""
        spatial = [name for name in axes if axes[name][1] == "S"]
        reduced = [name for name in axes if axes[name][1] == "R"]
        pad = ""
        if spatial:
            self.lines.append(f"for {', '.join(spatial)} in T.grid({', '.join(str(axes[n][0]) for n in spatial)}):")
            pad = "    "
        inner = f"for {', '.join(reduced)} in T.grid({', '.join(str(axes[n][0]) for n in reduced)}):"
        style = self.pick(("element", "variable", "apart")) if spatial else "element"
        if style == "apart":
            self.lines.append(f"    {element} = {init}")
            loops = list(self.draw(st.permutations(list(axes))))
            self.lines.append(f"for {', '.join(loops)} in T.grid({', '.join(str(axes[n][0]) for n in loops)}):")
            self.update("    ", element, value)
        elif style == "variable":
            name = f"sum_{len(self.lines)}"
            self.lines += [f"    {name}: T.{self.dtype} = {init}", f"    {inner}"]
            self.update("        ", name, value.replace(element, name))
            self.lines.append(f"    {element} = {name}")
        else:
            self.lines += [f"{pad}{element} = {init}", f"{pad}{inner}"]
            self.update(f"{pad}    ", element, value)

    def update(self, pad: str, element: str, value: str) -> None:
        """`element = value`, where it keeps the greater or less of two by a condition, too."""
        other = value[len(f"T.max({element}, ") : -1]
        sign = {f"T.max({element}, ": ">", f"T.min({element}, ": "<"}.get(value[: -1 - len(other)])
        style = self.pick(("call", "if", "turned", "choice")) if sign else "call"
        lines = {
            "if": [f"if {other} {sign}{self.pick(('', '='))} {element}:", f"    {element} = {other}"],
            "turned": [f"if {element} {'<' if sign == '>' else '>'} {other}:", f"    {element} = {other}"],
            "choice": [f"{element} = {other} if {other} {sign} {element} else {element}"],
        }.get(style, [f"{element} = {value}"])
        self.lines += [pad + line for line in lines]

    def function(self) -> PrimFunc:
        """The kernel, parsed."""
        body = "\n".join(f"    {line}" for line in self.lines)
        func = parse(f"@T.prim_func\ndef main({', '.join(self.params)}):\n{body}\n")
        assert isinstance(func, PrimFunc)
        return func


def _renamed(text: str, names: dict[str, str]) -> str:
    import re

    return re.sub(r"\b[a-z]\b", lambda match: names.get(match[0], match[0]), text)


def _contraction(k: Kernel) -> None:
    batch = k.pick((False, False, True))
    m, n, depth, b = k.sizes(4 if batch else 3) + ([] if batch else [1])
    lead, index = ((b,), "b, ") if batch else ((), "")
    turned = k.pick((False, True))
    narrow = k.dtype == "int32" and k.pick((True, False))
    kind = "int8" if narrow else k.dtype
    k.param("A", (*lead, m, depth), kind)
    k.param("B", (*lead, n, depth) if turned else (*lead, depth, n), kind)
    right = f"B[{index}j, k]" if turned else f"B[{index}k, j]"
    product = f"A[{index}i, k] * {right}"
    if narrow:
        product = f'T.cast(A[{index}i, k], "int32") * T.cast({right}, "int32")'
    axes = {**({"b": (b, "S")} if batch else {}), "i": (m, "S"), "j": (n, "S"), "k": (depth, "R")}
    # a sum over nothing leaves nothing to read
    target, epilogue = f"C[{index}i, j]", k.pick((None, None, "T.max({}, {})", "{} * {}")) if depth else None
    k.param("C", (*lead, m, n))
    if epilogue is not None:
        k.alloc("D", (*lead, m, n))
        target = f"D[{index}i, j]"
    k.nest(target, axes, f"{target} + {product}", k.number(0))
    if epilogue is not None:
        spatial = {name: axis for name, axis in axes.items() if axis[1] == "S"}
        k.nest(f"C[{index}i, j]", spatial, epilogue.format(target, k.number(2)))


def _convolution(k: Kernel) -> None:
    filters, channels, size = k.pick((4, 8, 16, 6, 32)), k.pick((1, 2, 3, 4)), k.pick((3, 4, 7, 8, 14))
    window, stride = k.pick((1, 2, 3)), k.pick((1, 1, 2))
    last = k.pick((False, True))
    edge = (size - 1) * stride + window
    while filters * channels * size * size * window * window > 4 * MOST:
        size, edge = size // 2, (size // 2 - 1) * stride + window
    k.param("P", (edge, edge, channels) if last else (channels, edge, edge))
    k.param("W", (window, window, channels, filters) if last else (filters, channels, window, window))
    k.param("Y", (size, size, filters) if last else (filters, size, size))
    place = f"y * {stride} + u, x * {stride} + v"
    read = f"P[{place}, c] * W[u, v, c, f]" if last else f"P[c, {place}] * W[f, c, u, v]"
    target = "Y[y, x, f]" if last else "Y[f, y, x]"
    spatial = {"y": (size, "S"), "x": (size, "S"), "f": (filters, "S")}
    if not last:
        spatial = {"f": (filters, "S"), "y": (size, "S"), "x": (size, "S")}
    axes = {**spatial, "c": (channels, "R"), "u": (window, "R"), "v": (window, "R")}
    k.nest(target, axes, f"{target} + {read}", k.number(0))


def _border(k: Kernel) -> None:
    """Windows that reach over the border of an image, of which a condition leaves out what is not there."""
    filters, channels, size = k.pick((0, 1, 4, 5, 8, 16)), k.pick((1, 2, 3)), k.pick((3, 4, 7, 8, 11, 16))
    window, stride, gap, edge = k.pick((2, 3)), k.pick((1, 1, 2)), k.pick((1, 1, 2)), k.pick((0, 1, 2))
    wide = (size - 1) * stride + 1 + (window - 1) * gap - edge - k.pick((0, 1, edge))
    if wide < 1:
        wide = 1
    last = k.pick((False, True))
    k.param("P", (wide, wide, channels) if last else (channels, wide, wide))
    spatial = {"f": filters or channels, "y": size, "x": size}
    if last:
        spatial = {"y": size, "x": size, "f": filters or channels}
    k.param("Y", tuple(spatial.values()))
    channel = "c" if filters else "f"
    weights = ("f",) if not filters else ("f", "c")
    k.param("W", (*(({"f": filters or channels, "c": channels})[name] for name in weights), window, window))
    target = f"Y[{', '.join(spatial)}]"
    style = k.pick(("named", "inline", "nested", "rows", "choice", "value", "or"))
    y, x = f"y * {stride} + u * {gap} - {edge}", f"x * {stride} + v * {gap} - {edge}"
    named = style != "inline"
    p, q = ("p", "q") if named else (f"({y})", f"({x})")
    element = f"P[{p}, {q}, {channel}]" if last else f"P[{channel}, {p}, {q}]"
    product = f"{element} * W[{', '.join(weights)}, u, v]"
    tests = [f"{p} >= 0", f"{p} < {wide}", f"0 <= {q}", f"{q} < {wide}"]
    variable = k.pick((True, False))
    total = "total" if variable else target
    added = k.pick(
        (
            f"{total} += {product}",
            f"{total} += {product}",
            f"{total} -= {product}",
            f"{total} = T.max({total}, {element})",
        )
    )
    names = ([f"p = {y}"], [f"q = {x}"]) if named else ([], [])
    summed = {"c": channels} if filters else {}
    lines = [f"for {', '.join(spatial)} in T.grid({', '.join(map(str, spatial.values()))}):"]
    lines.append(f"    total: T.{k.dtype} = {k.number(0)}" if variable else f"    {target} = {k.number(0)}")
    loops = [f"for {name} in range({size}):" for name, size in {**summed, "u": window, "v": window}.items()]
    depth = 1
    for at, loop in enumerate(loops):
        lines.append("    " * depth + loop)
        depth += 1
        if at == len(loops) - 2 and style == "rows":
            lines += ["    " * depth + line for line in (*names[0], f"if {tests[0]} and {tests[1]}:")]
            depth += 1
    inside = " and ".join(tests)
    body = {
        "named": [*names[0], *names[1], f"if {inside}:", f"    {added}"],
        "inline": [f"if {inside}:", f"    {added}"],
        "nested": [
            *names[0],
            *names[1],
            f"if {tests[0]}:",
            f"    if {tests[1]}:",
            f"        if {tests[2]} and {tests[3]}:",
            f"            {added}",
        ],
        "rows": [*names[1], f"if {tests[2]} and {tests[3]}:", f"    {added}"],
        "choice": [
            *names[0],
            *names[1],
            f"{total} += T.if_then_else({inside}, {element}, {k.number(0)}) * W[{', '.join(weights)}, u, v]",
        ],
        "value": [
            *names[0],
            *names[1],
            f"value: T.{k.dtype} = {k.number(0)}",
            f"if {inside}:",
            f"    value = {element}",
            f"{total} += value * W[{', '.join(weights)}, u, v]",
        ],
        "or": [*names[0], *names[1], f"if not ({p} < 0 or {p} >= {wide} or {q} < 0 or {q} >= {wide}):", f"    {added}"],
    }[style]
    lines += ["    " * depth + line for line in body]
    k.lines += [*lines, *([f"    {target} = total"] if variable else [])]


def _reduction(k: Kernel) -> None:
    m, n = k.sizes(2)
    n = k.extent(int(n) * k.pick((1, 1, 5)))
    combine, element = k.pick(COMBINERS), k.pick(("A[{}]", "A[{}] * A[{}]", "A[{}] - x[k]"))
    k.param("A", (m, n))
    k.param("x", (n,))
    rows = k.pick(("rows", "columns", "all"))
    if rows == "all":
        k.param("S", (1,))
        target, axes, at = "S[0]", {"i": (m, "R"), "k": (n, "R")}, "i, k"
    elif rows == "rows":
        k.param("S", (m,))
        target, axes, at = "S[i]", {"i": (m, "S"), "k": (n, "R")}, "i, k"
    else:
        k.param("S", (n,))
        target, axes, at = "S[k]", {"k": (n, "S"), "i": (m, "R")}, "i, k"
    k.nest(target, axes, combine.format(target, element.replace("{}", at)), k.number(k.pick((0, 1, -3))))


def _rows(k: Kernel) -> None:
    """Two reductions of each row, and what is made of the row with them."""
    m, n = k.sizes(2)
    k.param("A", (m, n))
    k.param("B", (m, n))
    for name in ("most", "total"):
        k.alloc(name, (m,))
    k.alloc("P", (m, n))
    axes = {"i": (m, "S"), "j": (n, "R")}
    both = {"i": (m, "S"), "j": (n, "S")}
    k.nest("most[i]", axes, "T.max(most[i], A[i, j])", k.number(-99), order=False)
    k.nest("P[i, j]", both, "(A[i, j] - most[i]) * (A[i, j] + " + k.number(1) + ")", order=False)
    k.nest("total[i]", axes, "total[i] + P[i, j]", k.number(0), order=False)
    k.nest("B[i, j]", both, k.pick(("P[i, j] * total[i]", "P[i, j] - total[i] + most[i]")), order=False)


def _elements(k: Kernel) -> None:
    """A chain of elementwise blocks, with a broadcast, a transpose or a shift."""
    m, n = k.sizes(2)
    k.param("A", (m, n))
    k.param("b", (n,))
    corner = "A[0, 0]" if m * n else k.number(1)
    names, source, shape = ["X", "Y", "Z"][: k.pick((1, 2, 3))], "A", (m, n)
    for name in names:
        kind = k.pick(("scale", "broadcast", "transpose", "square"))
        turned = kind == "transpose"
        made = shape[::-1] if turned else shape
        if name == names[-1]:
            k.param(name, made)
        else:
            k.alloc(name, made)
        read = f"{source}[j, i]" if turned else f"{source}[i, j]"
        value = {
            "scale": f"{read} * {k.number(2)}",
            "broadcast": f"{read} + b[j]" if made[1] == n else f"{read} + {k.number(1)}",
            "transpose": f"{read} - {k.number(1)}",
            "square": f"{read} * {read} - {corner}" if source != "A" else f"{read} + {corner}",
        }[kind]
        k.nest(f"{name}[i, j]", {"i": (made[0], "S"), "j": (made[1], "S")}, value)
        source, shape = name, made


def _order(k: Kernel) -> None:
    """Loops whose order matters: running sums, stencils in place, counts."""
    k.blocks = False
    n = k.pick(SIZES) + 2
    kind = k.pick(("scan", "stencil", "copy", "count"))
    k.param("A", (n,))
    k.param("B", (n,))
    if kind == "scan":
        k.lines += ["B[0] = A[0]", f"for i in range(1, {n}):", "    B[i] = B[i - 1] + A[i]"]
    elif kind == "stencil":
        k.lines += [f"for i in range(1, {n - 1}):", "    A[i] = A[i - 1] + A[i + 1]", "    B[i] = A[i]"]
    elif kind == "copy":
        k.lines += [f"for i in range({n - 1}):", "    B[i] = A[i]", "    A[i + 1] = B[i] + A[i + 1]"]
    else:
        zero = k.number(0)
        k.lines += [f"for i in range({n}):", f"    B[i] = {zero}", f"for i in range({n}):"]
        k.lines += [f"    for j in range({n}):", "        if A[j] <= A[i]:", f"            B[i] += {k.number(1)}"]


# those whose sizes are all independent of each other
SYMBOLIC = (_contraction, _contraction, _reduction, _reduction, _rows, _rows, _elements)
KINDS = (_contraction, _contraction, _convolution, _border, _reduction, _reduction, _rows, _rows, _elements, _order)


@st.composite
def kernels(draw: Any, symbolic: bool = False) -> PrimFunc:
    """Functions with one kernel of a kind that schedules know, its buffers of constant shapes, or of symbolic ones."""
    kernel = Kernel(draw, symbolic)
    kernel.pick(SYMBOLIC if symbolic else KINDS)(kernel)
    return kernel.function()


def whole_arguments(func: PrimFunc, seed: int, sizes: Mapping[Var, int] | None = None, odd: float = 0.0) -> list[Any]:
    """Arrays for the parameters of a kernel that hold whole numbers from -3 to 3.

    `sizes` are those of its symbolic dimensions. A part of `odd` of the floats are infinities, nan, -0.0 and the
    smallest denormal numbers.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    made = []
    for buffer in func.param_buffers:
        array = rng.integers(-3, 4, shape_of(buffer, sizes or {})).astype(str(buffer.dtype))
        if odd and buffer.dtype.is_float:
            tiny = np.finfo(array.dtype).smallest_subnormal
            strange = np.array([np.inf, -np.inf, np.nan, -0.0, tiny, -tiny], array.dtype)
            array = np.where(rng.random(array.shape) < odd, rng.choice(strange, array.shape), array)
        made.append(array)
    return made


__all__ = ["kernels", "whole_arguments"]
