"""Writing LLVM IR as text: the functions of a module, their blocks and instructions.

Text is parsed by LLVM in less time than llvmlite.ir needs to build its objects, and it reaches every instruction and
attribute.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from .host import UNKNOWN, Host
from .types import splat, vector

_PLAIN = re.compile(r"[^A-Za-z0-9_]")


class ModuleText:
    """The pieces of a module that functions share: declarations, strings, metadata."""

    def __init__(self) -> None:
        self.declarations: dict[str, str] = {}
        self.functions: list[str] = []
        self.kernels: dict[str, int] = {}  # the functions of the program, by symbol: their places in `functions`
        self.strings: dict[bytes, str] = {}
        self.globals: list[str] = []
        self.metadata: list[str] = []
        self._shared: dict[str, str] = {}
        self.groups: list[str] = []

    def declare(self, name: str, result: str, params: Sequence[str], attributes: str = "") -> str:
        """Declare a function once and return how it is called: its quoted name."""
        if name not in self.declarations:
            self.declarations[name] = (
                f'declare {result} @"{name}"({", ".join(params)}){" " + attributes if attributes else ""}'
            )
        return f'@"{name}"'

    def define(self, symbol: str, text: str) -> None:
        """Add a function of the program, `define i32 @...`, which others may call wherever they are."""
        self.kernels[symbol] = len(self.functions)
        self.functions.append(text)

    def hide(self, symbol: str) -> None:
        """Let only this text see a function of the program, so that LLVM knows all calls of it."""
        at = self.kernels[symbol]
        self.functions[at] = self.functions[at].replace("define ", "define internal ", 1)

    def size(self) -> int:
        """The bytes of its functions."""
        return sum(map(len, self.functions))

    def string(self, text: str) -> str:
        """A pointer to `text` as a C string."""
        data = text.encode() + b"\0"
        if data not in self.strings:
            name = f"@.str.{len(self.strings)}"
            escaped = "".join(
                chr(byte) if 32 <= byte < 127 and byte not in (34, 92) else f"\\{byte:02X}" for byte in data
            )
            self.globals.append(f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{escaped}"')
            self.strings[data] = name
        return self.strings[data]

    def group(self, attributes: str) -> str:
        """How a function says that it has these attributes, rather than those of the module, `#0`."""
        if attributes not in self.groups:
            self.groups.append(attributes)
        return f"#{1 + self.groups.index(attributes)}"

    def node(self, text: str) -> str:
        """A metadata node."""
        self.metadata.append(text)
        return f"!{len(self.metadata) - 1}"

    def once(self, text: str) -> str:
        """A metadata node that all who ask for the same text share."""
        if text not in self._shared:
            self._shared[text] = self.node(text)
        return self._shared[text]

    def unlikely(self) -> str:
        """Branch weights that say the first target is rarely taken."""
        return self.once('!{!"branch_weights", i32 1, i32 1048575}')

    def text(self, attributes: str) -> str:
        """The whole module."""
        groups = [f"attributes #{at} = {{ {text} }}" for at, text in enumerate((attributes, *self.groups))]
        declared = [line for name, line in self.declarations.items() if name not in self.kernels]
        parts = [*self.globals, *declared, *self.functions, *groups]
        parts += [f"!{number} = {text}" for number, text in enumerate(self.metadata)]
        return "\n".join(parts) + "\n"


# in an instruction that every way out of a function ends with, the number of the way
WAY = "{way}"


class _Exit(Struct, frozen=True):
    """A block on the way out of a function: its label, and the (status, label) pairs that come in."""

    label: str
    incoming: list[tuple[str, str]]


class FunctionText:
    """One function under construction. `op` writes an instruction with a result at the end of the current block."""

    def __init__(self, module: ModuleText, host: Host = UNKNOWN) -> None:
        self.module = module
        self.host = host
        self.allocas: list[str] = []
        self.lines: list[str] = []
        self.label = "entry"
        self.terminated = False
        self.prologue: list[str] = []  # lines before the first block, where the frame is made
        self.before_return: list[str] = []  # instructions that every way out ends with, `WAY` for its number
        self.fails = False  # whether it may return anything but 0
        self._exits: dict[tuple[str, ...], _Exit] = {}
        self._count = 0

    def name(self, hint: str = "v") -> str:
        """A fresh name of a value."""
        self._count += 1
        plain = _PLAIN.sub("_", hint)
        return f"%{'_' if plain[:1].isdigit() else ''}{plain}.{self._count}"

    def block(self, hint: str) -> str:
        """A fresh label of a block, to be `start`ed."""
        self._count += 1
        return f"{hint}.{self._count}"

    def start(self, label: str) -> None:
        """Go on in the block `label`, entered from the current one where that has not ended."""
        if not self.terminated:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.label = label
        self.terminated = False

    def op(self, text: str, hint: str = "v") -> str:
        """An instruction with a result."""
        self._count += 1
        name = f"%{hint}.{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def end(self, text: str) -> None:
        """The instruction that ends the current block."""
        self.lines.append(f"  {text}")
        self.terminated = True

    def branch(self, condition: str, yes: str, no: str, *, unlikely: bool = False) -> None:
        """Go to `yes` where the condition holds, to `no` otherwise."""
        weights = f", !prof {self.module.unlikely()}" if unlikely else ""
        self.end(f"br i1 {condition}, label %{yes}, label %{no}{weights}")

    def jump(self, label: str) -> None:
        """Go to `label`."""
        self.end(f"br label %{label}")

    def leave(self, status: str, blocks: tuple[str, ...] = ()) -> None:
        """Return an i32, after freeing blocks of the heap, the last one first."""
        self.fails |= status != "0"
        if not blocks:
            self.end(f"ret i32 {status}")
            return
        # ways out that free the same share their ends, or a function with n blocks would have n * n calls of free
        for count in range(len(blocks), -1, -1):
            if blocks[:count] not in self._exits:
                self._exits[blocks[:count]] = _Exit(self.block("leave"), [])
        way = self._exits[blocks]
        way.incoming.append((status, self.label))
        self.jump(way.label)

    def _written_exits(self) -> list[str]:
        lines = []
        incoming = {blocks: list(way.incoming) for blocks, way in self._exits.items()}
        for blocks, way in sorted(self._exits.items(), key=lambda item: -len(item[0])):
            status = f"%status.{way.label}"
            comes = ", ".join(f"[{value}, %{label}]" for value, label in incoming[blocks])
            lines += [f"{way.label}:", f"  {status} = phi i32 {comes}"]
            if blocks:
                after = self._exits[blocks[:-1]]
                incoming[blocks[:-1]].append((status, way.label))
                lines += [f"  call void @free(ptr {blocks[-1]})", f"  br label %{after.label}"]
            else:
                lines.append(f"  ret i32 {status}")
        return lines

    def alloca(self, type_: str, align: int, hint: str = "slot") -> str:
        """Memory of the function's frame, made once at its entry."""
        name = self.name(hint)
        self.allocas.append(f"  {name} = alloca {type_}, align {align}")
        return name

    def phi(self, type_: str, *incoming: tuple[str, str]) -> str:
        """The value that comes with the block we came from: (value, label) pairs."""
        return self.op(f"phi {type_} " + ", ".join(f"[{value}, %{label}]" for value, label in incoming))

    def select(self, condition: str, type_: str, yes: str, no: str, *, vector_condition: int = 1) -> str:
        """`yes` where the condition holds, else `no`; the condition has `vector_condition` lanes."""
        return self.op(f"select {vector('i1', vector_condition)} {condition}, {type_} {yes}, {type_} {no}")

    def broadcast(self, scalar: str, value: str, lanes: int) -> str:
        """A scalar in every lane."""
        if lanes == 1:
            return value
        if not value.startswith("%"):
            return splat(scalar, value, lanes)
        kind = vector(scalar, lanes)
        first = self.op(f"insertelement {kind} poison, {scalar} {value}, i64 0")
        return self.op(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")

    def lane(self, scalar: str, value: str, lanes: int, index: int) -> str:
        """One lane of a value."""
        return value if lanes == 1 else self.op(f"extractelement {vector(scalar, lanes)} {value}, i64 {index}")

    def gather_lanes(self, scalar: str, values: Sequence[str]) -> str:
        """A vector of the given lanes."""
        if len(values) == 1:
            return values[0]
        kind = vector(scalar, len(values))
        whole = "poison"
        for index, value in enumerate(values):
            whole = self.op(f"insertelement {kind} {whole}, {scalar} {value}, i64 {index}")
        return whole

    def call(
        self, result: str, name: str, args: Sequence[tuple[str, str]], attributes: str = "", flags: str = ""
    ) -> str:
        """Call a declared function on (type, value) pairs."""
        given = ", ".join(f"{kind} {value}" for kind, value in args)
        text = f"call {flags}{result} {name}({given}){attributes}"
        if result == "void":
            self.do(text)
            return ""
        return self.op(text)

    def kernel(self, symbol: str, args: Sequence[tuple[str, str]], attributes: str = "") -> str:
        """Call a function of the program, which may stand in another text, on (type, value) pairs; its status."""
        name = self.module.declare(symbol, "i32", [kind for kind, _ in args], "nounwind")
        return self.call("i32", name, args, attributes)

    def intrinsic(
        self, base: str, kinds: Sequence[str], result: str, args: Sequence[tuple[str, str]], flags: str = ""
    ) -> str:
        """Call `llvm.base` overloaded on `kinds`."""
        name = ".".join([base, *map(mangle, kinds)])
        return self.call(result, self.module.declare(name, result, [kind for kind, _ in args]), args, flags=flags)

    def text(self, head: str) -> str:
        """The function under the line `head`."""
        lines = [*self.lines, *self._written_exits()]
        if self.before_return:
            last = "".join(f"  {text}\n" for text in self.before_return)
            ways = enumerate(lines)
            lines = [last.replace(WAY, str(at)) + line if line.startswith("  ret ") else line for at, line in ways]
        start = ["entry:", *self.allocas]
        if self.prologue:
            start = ["frame:", *self.allocas, *self.prologue, "  br label %entry", "entry:"]
        return "\n".join([f"{head} {{", *start, *lines, "}"])


_MANGLED = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}
_VECTOR = re.compile(r"<(\d+) x (\w+)>")


def mangle(kind: str) -> str:
    """A type as it stands in the name of an overloaded intrinsic."""
    match = _VECTOR.fullmatch(kind)
    if match:
        return f"v{match[1]}{mangle(match[2])}"
    return _MANGLED.get(kind, kind)
