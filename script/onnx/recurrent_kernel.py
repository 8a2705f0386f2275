"""The tensor functions of a recurrent layer: a loop over its steps, of which each is a product with the state and what
the gates make of it."""

from __future__ import annotations

from msgspec import Struct

from tirscript.ir.func import PrimFunc

from .kernel import functions_in

# columns of a panel of weights: a known number of rows reads them fastest where they lie one behind the other
PANEL = 32


class Layer(Struct, frozen=True):
    """What decides the functions of one direction of a layer; equal layers have the same ones.

    `length` and `batch` are numbers, or the names of symbolic dimensions. An activation is an expression
    with `{x}` for what it is of.
    """

    kind: str
    length: int | str
    batch: int | str
    hidden: int
    dtype: str
    activations: tuple[str, ...]
    clip: float | None = None
    backward: bool = False
    masked: bool = False
    peepholes: bool = False
    coupled: bool = False
    linear: bool = False

    def functions(self, name: str) -> tuple[PrimFunc, ...]:
        """The functions of the layer: that of this name, and those it calls, whose names begin with it.

        It takes the products of all steps with the input, (length, batch, gates * hidden), their biases added; the
        matrices that `weights` has the widths of, from the state to gates, laid out as `matrix` says; lengths, if it is
        masked; the vectors that a
        step uses; and the states before the first step. It writes the outputs and the states behind the last step.
        """
        return functions_in(_Text(self, name).module(), name)

    @property
    def weights(self) -> tuple[int, ...]:
        """The number of gates of each matrix: a GRU's candidate waits for the gate that resets the state."""
        return {"RNN": (1,), "GRU": (3,) if self.linear else (2, 1), "LSTM": (4,)}[self.kind]

    def matrix(self, width: int) -> tuple[int, ...]:
        """The shape of a matrix to so many gates: panels of its columns, or for rows of unknown number the matrix."""
        columns = width * self.hidden
        whole = columns % PANEL == 0 and type(self.batch) is int
        return (columns // PANEL, self.hidden, PANEL) if whole else (self.hidden, columns)

    @property
    def vectors(self) -> int:
        """The length, in states, of the vector that a step uses beside its products; 0 where there is none."""
        return 3 if self.peepholes else 1 if self.linear else 0

    @property
    def states(self) -> tuple[str, ...]:
        return ("state", "cell") if self.kind == "LSTM" else ("state",)


class _Text:
    """The functions as a text. Gates are computed in float32 at least."""

    def __init__(self, layer: Layer, name: str) -> None:
        self.layer, self.name = layer, name
        self.wide = "float32" if layer.dtype in ("float16", "bfloat16") else layer.dtype
        self.gates = sum(layer.weights)

    def module(self) -> str:
        parts = [self.product(at, width) for at, width in enumerate(self.layer.weights)]
        if len(parts) > 1:
            parts.append(self.reset())
        parts += [self.step(), self.loop()]
        return "@I.ir_module\nclass Layer:\n" + "\n".join(parts)

    # parts of the text

    def buffer(self, name: str, *shape: int | str, kind: str = "") -> str:
        return f'{name}: T.Buffer({(*shape,)!r}, "{kind or self.layer.dtype}")'

    def function(self, name: str, params: list[str], body: str) -> str:
        lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
        return f"    @T.prim_func(private=True)\n    def {name}({', '.join(params)}):\n{lines}\n"

    def matrix(self, name: str, width: int, kind: str = "") -> str:
        """A parameter with a row for each of the batch."""
        return self.buffer(name, self.layer.batch, width * self.layer.hidden, kind=kind)

    def product(self, at: int, width: int) -> str:
        """The state times a matrix."""
        shape = self.layer.matrix(width)
        if len(shape) == 2:
            columns, sizes, weight, place = "j", f"{shape[1]}", "weights[k, j]", "j"
        else:
            columns, sizes, weight, place = "p, j", f"{shape[0]}, {PANEL}", "weights[p, k, j]", f"p * {PANEL} + j"
        params = [self.matrix("state", 1), self.buffer("weights", *shape), self.matrix("sums", width, self.wide)]
        return self.function(
            f"{self.name}_product{at or ''}",
            params,
            f"""
for b, {columns} in T.grid({self.layer.batch}, {sizes}):
    total: T.{self.wide} = 0.0
    for k in range({self.layer.hidden}):
        total += {self.read("state[b, k]")} * {self.read(weight)}
    sums[b, {place}] = total
""",
        )

    def read(self, element: str) -> str:
        return element if self.wide == self.layer.dtype else f"T.{self.wide}({element})"

    def active(self, at: int, value: str) -> str:
        """An activation of a value, which `clip` bounds."""
        clip = self.layer.clip
        return self.activation(at, value if clip is None else f"T.min(T.max({value}, {-clip!r}), {clip!r})")

    def activation(self, at: int, value: str) -> str:
        return f"({self.layer.activations[at].format(x=f'({value})')})"

    def gate(self, at: int, more: str = "") -> str:
        """The sum of a gate: of the input, of the state, and more."""
        return f"{self.read(f'given[b, j + {at * self.layer.hidden}]')} + sums[b, j + {at * self.layer.hidden}]{more}"

    def reset(self) -> str:
        """The state that a GRU's candidate sees."""
        params = [self.matrix("given", 3), self.matrix("sums", 2, self.wide), self.matrix("state", 1)]
        return self.function(
            f"{self.name}_reset",
            [*params, self.matrix("seen", 1)],
            f"""
for b, j in T.grid({self.layer.batch}, {self.layer.hidden}):
    seen[b, j] = {self.stored(f"{self.active(0, self.gate(1))} * {self.read('state[b, j]')}")}
""",
        )

    def stored(self, value: str) -> str:
        return value if self.wide == self.layer.dtype else f"T.cast({value}, {self.layer.dtype!r})"

    def step(self) -> str:
        """What the gates make of their sums: the new states."""
        layer = self.layer
        lines = []
        for name, value in {"RNN": self.rnn, "GRU": self.gru, "LSTM": self.lstm}[layer.kind]().items():
            own = f"{name}[b, j]"
            lines.append(f"{own} = {self.kept(self.stored(value), own)}")
        zero = f"T.{layer.dtype}(0)"
        lines.append(f"out[b, j] = {self.kept('state[b, j]', zero)}")
        params = [self.matrix("given", self.gates), self.matrix("sums", layer.weights[0], self.wide)]
        if len(layer.weights) > 1:
            params.append(self.matrix("candidate", 1, self.wide))
        params += self.options()
        params += [*(self.matrix(one, 1) for one in (*layer.states, "out")), *(["at: T.int64"] if layer.masked else [])]
        inner = "\n    ".join(lines)
        return self.function(
            f"{self.name}_step", params, f"for b, j in T.grid({layer.batch}, {layer.hidden}):\n    {inner}"
        )

    def options(self) -> list[str]:
        """Parameters that only some layers have."""
        found = [self.buffer("lengths", self.layer.batch, kind="int32")] if self.layer.masked else []
        if self.layer.vectors:
            found.append(self.buffer("vector", self.layer.vectors * self.layer.hidden))
        return found

    def kept(self, value: str, other: str) -> str:
        """A value, or another one where the line of the batch has ended."""
        return f"T.if_then_else(at < lengths[b], {value}, {other})" if self.layer.masked else value

    # the new states in their order, of which each reads those before it and what it was itself

    def rnn(self) -> dict[str, str]:
        return {"state": self.active(0, self.gate(0))}

    def gru(self) -> dict[str, str]:
        hidden = self.layer.hidden
        held = "candidate[b, j]"
        if self.layer.linear:
            bias = self.read("vector[j]")
            held = f"{self.active(0, self.gate(1))} * (sums[b, j + {2 * hidden}] + {bias})"
        fresh = self.active(1, f"{self.read(f'given[b, j + {2 * hidden}]')} + {held}")
        update = self.active(0, self.gate(0))
        return {"state": f"(1.0 - {update}) * {fresh} + {update} * {self.read('state[b, j]')}"}

    def lstm(self) -> dict[str, str]:
        """The gates stand in the order input, output, forget, cell; the peepholes input, output, forget."""
        cell = self.read("cell[b, j]")
        enter = self.active(0, self.gate(0, self.look(0, cell)))
        forget = f"1.0 - {enter}" if self.layer.coupled else self.active(0, self.gate(2, self.look(2, cell)))
        leave = self.active(0, self.gate(1, self.look(1, cell)))
        return {
            "cell": f"({forget}) * {cell} + {enter} * {self.active(1, self.gate(3))}",
            "state": f"{leave} * {self.activation(2, cell)}",
        }

    def look(self, at: int, cell: str) -> str:
        """What a gate sees of the cell."""
        return f" + {self.read(f'vector[j + {at * self.layer.hidden}]')} * {cell}" if self.layer.peepholes else ""

    def loop(self) -> str:
        """All steps, from the first or from the last."""
        layer = self.layer
        batch, hidden, widths = layer.batch, layer.hidden, layer.weights
        weights = [f"weights{at or ''}" for at in range(len(widths))]
        params = [self.buffer("given", layer.length, batch, self.gates * hidden)]
        params += [self.buffer(one, *layer.matrix(width)) for one, width in zip(weights, widths, strict=True)]
        params += self.options()
        params += [self.matrix(f"first_{one}", 1) for one in layer.states]
        params += [self.buffer("out", layer.length, batch, hidden), *(self.matrix(one, 1) for one in layer.states)]
        rooms = [f'sums = T.alloc_buffer(({batch}, {widths[0] * hidden}), "{self.wide}")']
        given = f"given[t, 0:{batch}, 0:{self.gates * hidden}]"
        steps = [f"cls.{self.name}_product(state, weights, sums)"]
        between = ["sums"]
        if len(widths) > 1:
            rooms.append(f'candidate = T.alloc_buffer(({batch}, {hidden}), "{self.wide}")')
            rooms.append(f'seen = T.alloc_buffer(({batch}, {hidden}), "{layer.dtype}")')
            steps.append(f"cls.{self.name}_reset({given}, sums, state, seen)")
            steps.append(f"cls.{self.name}_product1(seen, weights1, candidate)")
            between.append("candidate")
        between += [one.partition(":")[0] for one in self.options()]
        args = [given, *between, *layer.states, f"out[t, 0:{batch}, 0:{hidden}]", *(["t"] if layer.masked else [])]
        steps.append(f"cls.{self.name}_step({', '.join(args)})")
        first = "\n    ".join(f"{one}[b, j] = first_{one}[b, j]" for one in layer.states)
        place = f"{layer.length} - 1 - T.int64(s)" if layer.backward else "T.int64(s)"
        lines = "\n    ".join([f"t: T.let[T.int64] = {place}", *steps])
        head = "\n".join(rooms)
        body = f"""
cls = Layer
{head}
for b, j in T.grid({batch}, {hidden}):
    {first}
for s in range({layer.length}):
    {lines}
"""
        return self.function(self.name, params, body)


__all__ = ["Layer"]
